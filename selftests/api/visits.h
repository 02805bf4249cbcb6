/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that call while providers come, change what they have, and leave:
 * what the suites threads and kthreads share. Every call is counted by the
 * function that served it, in the memory of the provider that brought the
 * function; a provider that has left poisons that memory and frees it.
 */
#ifndef _SELFTESTS_API_VISITS_H
#define _SELFTESTS_API_VISITS_H

#include "../world.h"
#include "test.h"

DK_OP(count, "visits::count", (struct dk_obj *x), (x), (x));
DK_OP(swift, "visits::swift", (struct dk_obj *x), (x), (x));	/* atomic */

/* What a provider counts in: the priv of its functions. */
struct counter {
	u32 alive;
	struct w_count served;
};

/* None has served yet. */
void counting_begin(void);
struct counter *counter_new(void);
/* Nobody is inside of who counted here any more. NULL is fine. */
void counter_end(struct counter *c);

int count_here(struct dk_call *c, struct dk_obj *x);
int swift_here(struct dk_call *c, struct dk_obj *x);

/* Calls that found their provider gone, and those that the gone ones served. */
extern struct w_count visits_poisoned, visits_served_by_the_gone;

/* A host that stays, and threads that call. */
void visits_begin(void);
/*
 * A provider comes with functions and two cards, changes them, and leaves;
 * @meanwhile is called before and after the changes, if it is not NULL.
 */
void visit(unsigned int round, void (*meanwhile)(void));
/* The threads end. All calls have been served, also those that others made. */
void visits_end(unsigned int rounds, u64 sent_by_others, u64 lost_by_others);
/* One call of the atomic operator, with an object on the CPU. */
int visits_swift(void);

#endif /* _SELFTESTS_API_VISITS_H */
