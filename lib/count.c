// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Implements the counters in userspace. A block of counters has one part for each thread, in which
 * only this thread counts. So that calls do not allocate, a thread's parts are allocated with its
 * record at the gate, and the thread that makes a new block allocates the parts of all threads. If
 * an allocation fails, the thread lacks a part. It then gets no slots, so that its calls take the
 * slow path, and calls that would count in the missing part are counted as lost. When a thread
 * ends, its counts remain.
 *
 * In this file, "threads" are threads with a record at the gate.
 */
#include "private.h"

#include <dispatchkey.h>

/*
 * A block of counters. @n has the counts of the threads that have ended; it is protected by the
 * gate's lock.
 */
struct dkc_ended {
	struct dkc_ended *next;
	u32 id;
	u64 n[DKC_COUNTS];
};

#define CACHE_LINE	64

static struct dkc_ended *blocks;	/* ordered by id; protected by the lock of the threads */
static u64 lost;	/* calls lost by threads that ended or have no record; atomic */

/* ---- counting --------------------------------------------------------------- */

static void add_lost(u64 more)
{
	__atomic_fetch_add(&lost, more, __ATOMIC_RELAXED);
}

/*
 * Returns a thread's part of a block, or NULL. Called by the thread itself, or by another thread
 * with one of the locks held, so that the thread's record is not freed.
 */
static u64 *part_of(const struct dkc_thread_counts *t, u32 id)
{
	/* pairs with rcu_assign_pointer() of t->parts in parts_reserve() */
	const struct dkc_parts *p = smp_load_acquire(&t->parts);

	/* pairs with rcu_assign_pointer() in part_give() */
	return p && id < p->size ? smp_load_acquire(&p->part[id]) : NULL;
}

void dkc_count_add(const struct dk__count *at)
{
	struct dkc_thread_counts *t;
	u64 *n;

	if (dkc_record_make()) {
		add_lost(1);
		return;
	}
	t = dkc_counts_self();
	/*
	 * Pairs with rcu_assign_pointer() in part_give(): the parts of a new block are published
	 * before any table whose calls count in it. So if the caller has read such a table, the
	 * part is found below.
	 */
	smp_rmb();
	n = part_of(t, at->block);
	/* atomic, because a signal handler may count, too */
	__atomic_fetch_add(n ? &n[at->n] : &t->lost, 1, __ATOMIC_RELAXED);
}

u64 dkc_counts_sum(const struct dkc_counts *c, unsigned int i)
{
	const struct dkc_thread_counts *t = NULL;
	const u64 *n;
	sigset_t mask;
	u64 sum;

	dkc_gate_lock(&mask);
	sum = c->block->n[i];
	while ((t = dkc_counts_next(t))) {
		n = part_of(t, c->id);
		sum += n ? READ_ONCE(n[i]) : 0;
	}
	dkc_gate_unlock(&mask);
	return sum;
}

u64 dkc_counts_lost(void)
{
	const struct dkc_thread_counts *t = NULL;
	sigset_t mask;
	u64 sum;

	dkc_gate_lock(&mask);
	sum = READ_ONCE(lost);
	while ((t = dkc_counts_next(t)))
		sum += READ_ONCE(t->lost);
	dkc_gate_unlock(&mask);
	return sum;
}

/* ---- memory; the lock of the threads is held ------------------------------------ */

/*
 * Makes space for @size parts. The thread may be counting at the same time. So if the array is
 * replaced, the old one is freed only when the thread ends.
 */
static bool parts_reserve(struct dkc_thread_counts *t, u32 size)
{
	struct dkc_parts *old = t->parts, *p;

	if (old && old->size >= size)
		return true;
	if (old && size < 2 * old->size)
		size = 2 * old->size;
	p = kvzalloc(offsetof(struct dkc_parts, part) + size * sizeof(p->part[0]), GFP_KERNEL);
	if (!p)
		return false;
	p->size = size;
	p->before = old;
	if (old)
		memcpy(p->part, old->part, old->size * sizeof(p->part[0]));
	rcu_assign_pointer(t->parts, p);		/* pairs with part_of() */
	rcu_assign_pointer(t->by_block, p->part);	/* pairs with dk__add_count() */
	return true;
}

/* Allocates a part. It is padded, so that it shares no cache line with memory of other threads. */
static u64 *part_alloc(void)
{
	char *memory = kvzalloc(CACHE_LINE + DKC_COUNTS * sizeof(u64) + CACHE_LINE, GFP_KERNEL);

	return memory ? (u64 *)(memory + CACHE_LINE) : NULL;
}

static void part_free(u64 *part)
{
	kvfree((char *)part - CACHE_LINE);
}

static bool part_give(struct dkc_thread_counts *t, u32 id)
{
	u64 *part;

	if (!parts_reserve(t, id + 1))
		return false;
	part = part_alloc();
	/*
	 * Pairs with part_of(): readers find the part zeroed. dk__add_count() loads this pointer
	 * with a plain load, but after a load-acquire of @incomplete or of a table, both of which
	 * are stored after this pointer.
	 */
	rcu_assign_pointer(t->parts->part[id], part);
	return part;
}

/* Frees the parts of a block whose counters are no longer used. */
static void parts_take(u32 id)
{
	struct dkc_thread_counts *t = NULL;

	while ((t = dkc_counts_next(t))) {
		if (!part_of(t, id))
			continue;
		part_free(part_of(t, id));
		t->parts->part[id] = NULL;
	}
}

/* Allocates the parts that a thread lacks. Returns false if an allocation fails. */
static bool parts_give(struct dkc_thread_counts *t)
{
	const struct dkc_ended *b;

	for (b = blocks; b; b = b->next)
		if (!part_of(t, b->id) && !part_give(t, b->id))
			return false;
	return true;
}

/* Retries the allocation for threads that lack parts. A thread with all parts gets slots. */
static void threads_complete(void)
{
	struct dkc_thread_counts *t = NULL;

	while ((t = dkc_counts_next(t)))
		if (t->incomplete)
			/* pairs with limit_raise() in lib/gate.c */
			smp_store_release(&t->incomplete, !parts_give(t));
}

/* Adds a block with the lowest free id. Returns false if the allocation of a part fails. */
static bool block_link(struct dkc_ended *b)
{
	struct dkc_ended **at = &blocks;
	struct dkc_thread_counts *t = NULL;

	for (; *at && (*at)->id == b->id; at = &(*at)->next)
		b->id++;
	while ((t = dkc_counts_next(t)))
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
	struct dkc_ended *b = kvzalloc(sizeof(*b), GFP_KERNEL);
	sigset_t mask;
	bool all;

	if (!b)
		return false;
	dkc_threads_lock(&mask);
	all = block_link(b);
	dkc_threads_unlock(&mask);
	if (!all) {
		kvfree(b);
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

	dkc_threads_lock(&mask);
	while (*at != c->block)
		at = &(*at)->next;
	*at = c->block->next;
	parts_take(c->id);
	threads_complete();
	dkc_threads_unlock(&mask);
	kvfree(c->block);
}

/* ---- threads -------------------------------------------------------------------- */

void dkc_counts_alloc(struct dkc_thread_counts *t)
{
	t->incomplete = !parts_give(t);
}

void dkc_counts_thread_end(const struct dkc_thread_counts *t)
{
	struct dkc_ended *b;
	const u64 *part;
	unsigned int i;

	for (b = blocks; b; b = b->next) {
		part = part_of(t, b->id);
		for (i = 0; part && i < DKC_COUNTS; i++)
			b->n[i] += part[i];
	}
	add_lost(t->lost);
}

void dkc_counts_free(struct dkc_thread_counts *t)
{
	struct dkc_parts *p = t->parts, *before;
	u32 id;

	for (id = 0; p && id < p->size; id++)
		if (p->part[id])
			part_free(p->part[id]);
	for (; p; p = before) {
		before = p->before;
		kvfree(p);
	}
}
