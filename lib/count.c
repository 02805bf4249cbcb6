// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Counters of the userspace world. A thread counts in memory of its own: it gets
 * a part of every block with its record at the gate, or from the thread that makes
 * the block, so that none of its later calls allocates. Without memory for one of them
 * it has no slots: the slow path counts what it can, and adds up the rest as lost. What
 * a thread has counted stays when it ends.
 *
 * The threads are those of the gate, and so is the lock.
 */
#include "world.h"

#include <dispatchkey.h>

/* A block, and what threads that have ended have counted in it. */
struct dkc_ended {
	struct dkc_ended *next;
	u32 id;
	u64 n[DKC_COUNTS];
};

#define CACHE_LINE	64

static __thread DKC_INITIAL_EXEC struct dkc_thread_counts *dkc_counts_self;

/* Under the lock. */
static struct dkc_thread_counts *threads;
static struct dkc_ended *blocks;	/* by id */
static u64 lost;	/* of threads that have ended, or have no record */

/* ---- counting --------------------------------------------------------------- */

static void add_lost(u64 more)
{
	__atomic_fetch_add(&lost, more, __ATOMIC_RELAXED);
}

/* The thread's part of a block, or NULL. Other threads call it with the gate's lock held. */
static u64 *part_of(const struct dkc_thread_counts *t, u32 id)
{
	const struct dkc_parts *p = dkc_load_acquire(t->parts);

	return p && id < p->size ? dkc_load_acquire(p->part[id]) : NULL;
}

void dkc_count_add(const struct dk__count *at)
{
	struct dkc_thread_counts *t;
	u64 *n;

	if (!dkc_counts_self && dkc_gate_thread_init()) {
		add_lost(1);
		return;
	}
	t = dkc_counts_self;
	/* pairs with dkc_publish() of parts: a table of a new block comes after them */
	dkc_read_barrier();
	n = part_of(t, at->block);
	/* a signal handler may count, too */
	__atomic_fetch_add(n ? &n[at->n] : &t->lost, 1, __ATOMIC_RELAXED);
}

u64 dkc_counts_sum(const struct dkc_counts *c, unsigned int i)
{
	const struct dkc_thread_counts *t;
	const u64 *n;
	sigset_t mask;
	u64 sum;

	dkc_gate_lock(&mask);
	sum = c->block->n[i];
	for (t = threads; t; t = t->next) {
		n = part_of(t, c->id);
		sum += n ? dkc_load(n[i]) : 0;
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
	dkc_publish(t->by_block, p->part);	/* pairs with dk__add_count() */
	return true;
}

/* A part keeps the cache lines of other threads away on both sides. */
static u64 *part_alloc(void)
{
	char *memory = dkc_alloc(CACHE_LINE + DKC_COUNTS * sizeof(u64) + CACHE_LINE);

	return memory ? (u64 *)(memory + CACHE_LINE) : NULL;
}

static void part_free(u64 *part)
{
	dkc_free((char *)part - CACHE_LINE);
}

static bool part_give(struct dkc_thread_counts *t, u32 id)
{
	u64 *part;

	if (!parts_reserve(t, id + 1))
		return false;
	part = part_alloc();
	/* pairs with part_of(): it is zero; with dk__add_count() as @incomplete or a table says */
	dkc_publish(dkc_deref_locked(t->parts)->part[id], part);
	return part;
}

/* Of a block that nobody counts in. */
static void parts_take(u32 id)
{
	struct dkc_thread_counts *t;

	for (t = threads; t; t = t->next) {
		if (!part_of(t, id))
			continue;
		part_free(part_of(t, id));
		dkc_deref_locked(t->parts)->part[id] = NULL;
	}
}

/* The parts of all blocks; false if there is no memory for one. */
static bool parts_give(struct dkc_thread_counts *t)
{
	const struct dkc_ended *b;

	for (b = blocks; b; b = b->next)
		if (!part_of(t, b->id) && !part_give(t, b->id))
			return false;
	return true;
}

/* Threads that lack parts may have slots as soon as they have all of them. */
static void threads_complete(void)
{
	struct dkc_thread_counts *t;

	for (t = threads; t; t = t->next)
		if (t->incomplete)
			/* pairs with limit_raise() in lib/gate.c */
			dkc_store_release(t->incomplete, !parts_give(t));
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
	threads_complete();
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
	threads_complete();
	dkc_gate_unlock(&mask);
	dkc_free(c->block);
}

/* ---- threads; under the lock -------------------------------------------------- */

void dkc_counts_thread_begin(struct dkc_thread_counts *t)
{
	t->incomplete = !parts_give(t);
	t->next = threads;
	t->link = &threads;
	if (t->next)
		t->next->link = &t->next;
	threads = t;
	dkc_counts_self = t;
}

static void keep(struct dkc_ended *b, u64 *part)
{
	unsigned int i;

	for (i = 0; i < DKC_COUNTS; i++)
		b->n[i] += part[i];
	part_free(part);
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
