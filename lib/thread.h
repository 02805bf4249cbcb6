/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Declares the records of threads. thread.c makes and frees them, gate.c records calls in their
 * slots, and replaced.c finds out from the slots which tables are in use.
 */
#ifndef _DKC_THREAD_H
#define _DKC_THREAD_H

#include "private.h"

/* A thread with about this number of calls in flight takes a lock to enter another call. */
#define GATE_SLOTS	64
#define CACHE_LINE	64

/* For functions that most calls do not need. */
#define COLD		noinline __cold

struct gate_record {
	char pad_before[CACHE_LINE];	/* no cache line is shared with other threads */
	const void *slots[GATE_SLOTS];
	pid_t tid;
	unsigned int rounds;		/* runs of thread_exit() that kept the record */
	struct urcu_bp_reader *const *reader;	/* see dkc_thread_set_reader() */
	struct gate_record *next;	/* read with one of the two locks held, changed with both */
	struct gate_record **link;
	struct dkc_thread_counts counts;
	char pad_after[CACHE_LINE];
};

extern struct gate_record *dkc_records DKC_HIDDEN;
/*
 * Called with the gate's lock held. Returns false if the record was freed, because its thread has
 * ended or does not exist in this child.
 */
bool dkc_is_record(const struct gate_record *r);

/* Tags of the address in a slot. An address without a tag points to an entry of a table. */
#define SLOT_TABLE	1	/* a table, stored by dk__begin() */
#define SLOT_REG	2	/* a registration */

static inline bool is_table_slot(const void *slot)
{
	return (uintptr_t)slot & SLOT_TABLE;
}

/*
 * gate.c: true if the thread is inside a call that found no free slot. Called with the gate's lock
 * held.
 */
bool dkc_has_overflow(const struct gate_record *r);
void dkc_calls_before_fork(void);
void dkc_calls_after_fork(void);	/* in the child */

/* replaced.c */
void dkc_replaced_after_fork(void);	/* in the child */

#endif /* _DKC_THREAD_H */
