// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Counters of the userspace world. A thread counts in memory of its own: it gets
 * a part of every block with its record at the gate, or from the one who makes
 * the block, so that none of its later calls allocates. What it has counted
 * stays when it ends.
 *
 * The threads are those of the gate, and so is the lock.
 */
#include "world.h"

/* A block, and what threads that have ended have counted in it. */
struct dkc_ended {
	struct dkc_ended *next;
	u32 id;
	u64 n[DKC_COUNTS];
};

__thread DKC_INITIAL_EXEC struct dkc_thread_counts *dkc_counts_self;

/* Under the lock. */
static struct dkc_thread_counts *threads;
static struct dkc_ended *blocks;	/* by id */
static u64 lost;	/* of threads that have ended, or have no record */

/* ---- counting --------------------------------------------------------------- */

static void add_lost(u64 more)
{
	__atomic_fetch_add(&lost, more, __ATOMIC_RELAXED);
}

/* The thread has no record or no part of the block, for lack of memory. */
__attribute__((noinline, cold)) void dkc_count_slowly(const struct dkc_count_at *at)
{
	/* pairs with dkc_publish() of parts: a table of a new block comes after them */
	dkc_read_barrier();
	if ((dkc_counts_self || !dkc_gate_thread_init()) && dkc_count_here(at))
		return;
	if (dkc_counts_self)
		dkc_add_own(&dkc_counts_self->lost);
	else
		add_lost(1);
}

/* Under the lock: a thread's part of a block, or NULL. */
static struct dkc_part *part_of(const struct dkc_thread_counts *t, u32 id)
{
	const struct dkc_parts *p = dkc_deref_locked(t->parts);

	return p && id < p->size ? p->part[id] : NULL;
}

u64 dkc_counts_sum(const struct dkc_counts *c, unsigned int i)
{
	const struct dkc_thread_counts *t;
	const struct dkc_part *p;
	sigset_t mask;
	u64 sum;

	dkc_gate_lock(&mask);
	sum = c->block->n[i];
	for (t = threads; t; t = t->next) {
		p = part_of(t, c->id);
		sum += p ? dkc_load(p->n[i]) : 0;
	}
	dkc_gate_unlock(&mask);
	return sum;
}

u64 dkc_counts_lost(void)
{
	const struct dkc_thread_counts *t;
	sigset_t mask;
	u64 sum;

	dkc_gate_lock(&mask);
	sum = dkc_load(lost);
	for (t = threads; t; t = t->next)
		sum += dkc_load(t->lost);
	dkc_gate_unlock(&mask);
	return sum;
}

/* ---- memory; under the lock --------------------------------------------------- */

/* The thread may be counting in other blocks meanwhile. */
static bool parts_reserve(struct dkc_thread_counts *t, u32 size)
{
	struct dkc_parts *old = dkc_deref_locked(t->parts), *p;

	if (old && old->size >= size)
		return true;
	if (old && size < 2 * old->size)
		size = 2 * old->size;
	p = dkc_alloc(offsetof(struct dkc_parts, part) + size * sizeof(p->part[0]));
	if (!p)
		return false;
	p->size = size;
	p->before = old;
	if (old)
		memcpy(p->part, old->part, old->size * sizeof(p->part[0]));
	dkc_publish(t->parts, p);
	return true;
}

static bool part_give(struct dkc_thread_counts *t, u32 id)
{
	struct dkc_part *part;

	if (!parts_reserve(t, id + 1))
		return false;
	part = dkc_alloc(sizeof(*part));
	dkc_deref_locked(t->parts)->part[id] = part;
	return part;
}

/* Of a block that nobody counts in. */
static void parts_take(u32 id)
{
	struct dkc_thread_counts *t;

	for (t = threads; t; t = t->next) {
		if (!part_of(t, id))
			continue;
		dkc_free(part_of(t, id));
		dkc_deref_locked(t->parts)->part[id] = NULL;
	}
}

/* With the lowest number that is free. */
static bool block_link(struct dkc_ended *b)
{
	struct dkc_ended **at = &blocks;
	struct dkc_thread_counts *t;

	for (; *at && (*at)->id == b->id; at = &(*at)->next)
		b->id++;
	for (t = threads; t; t = t->next)
		if (!part_give(t, b->id))
			break;
	if (t) {
		parts_take(b->id);
		return false;
	}
	b->next = *at;
	*at = b;
	return true;
}

bool dkc_counts_init(struct dkc_counts *c, bool may_sleep)
{
	struct dkc_ended *b = dkc_alloc(sizeof(*b));
	sigset_t mask;
	bool all;

	if (!b)
		return false;
	dkc_gate_lock(&mask);
	all = block_link(b);
	dkc_gate_unlock(&mask);
	if (!all) {
		dkc_free(b);
		return false;
	}
	c->block = b;
	c->id = b->id;
	return true;
}

void dkc_counts_destroy(struct dkc_counts *c)
{
	struct dkc_ended **at = &blocks;
	sigset_t mask;

	dkc_gate_lock(&mask);
	while (*at != c->block)
		at = &(*at)->next;
	*at = c->block->next;
	parts_take(c->id);
	dkc_gate_unlock(&mask);
	dkc_free(c->block);
}

/* ---- threads; under the lock -------------------------------------------------- */

void dkc_counts_thread_begin(struct dkc_thread_counts *t)
{
	struct dkc_ended *b;

	/* where there is no memory, its calls are told as not counted */
	for (b = blocks; b; b = b->next)
		part_give(t, b->id);
	t->next = threads;
	t->link = &threads;
	if (t->next)
		t->next->link = &t->next;
	threads = t;
	dkc_counts_self = t;
}

static void keep(struct dkc_ended *b, struct dkc_part *p)
{
	unsigned int i;

	for (i = 0; i < DKC_COUNTS; i++)
		b->n[i] += p->n[i];
	dkc_free(p);
}

void dkc_counts_thread_end(struct dkc_thread_counts *t)
{
	struct dkc_parts *p = dkc_deref_locked(t->parts), *before;
	struct dkc_ended *b;

	if (t == dkc_counts_self)
		dkc_counts_self = NULL;
	for (b = blocks; b; b = b->next)
		if (part_of(t, b->id))
			keep(b, part_of(t, b->id));
	add_lost(t->lost);
	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	for (; p; p = before) {
		before = p->before;
		dkc_free(p);
	}
}
