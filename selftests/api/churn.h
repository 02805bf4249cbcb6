/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that call operators while providers register, change their functions and
 * unregister; for the suites threads and kthreads. Each function counts its calls in the
 * memory of its provider. When a provider is unregistered, it poisons that memory and frees
 * it.
 */
#ifndef _SELFTESTS_API_CHURN_H
#define _SELFTESTS_API_CHURN_H

#include "../world.h"
#include "test.h"

DK_OP(count, "churn::count", (struct dk_obj *x), (x), (x));
DK_OP(swift, "churn::swift", (struct dk_obj *x), (x), (x));	/* atomic */

/* The counters of a provider: the priv of its functions. */
struct counter {
	u32 alive;
	struct w_count served;
};

/* None has served yet. */
void counting_begin(void);
struct counter *counter_new(void);
/* Waits until no call is inside functions that count here. NULL is allowed. */
void counter_end(struct counter *c);

int count_here(struct dk_call *c, struct dk_obj *x);
int swift_here(struct dk_call *c, struct dk_obj *x);

/* Calls that found their provider unregistered, and calls that unregistered providers served. */
extern struct w_count churn_poisoned, churn_served_by_the_gone;

/* A host that stays, and threads that call operators. */
void churn_begin(void);
/*
 * A provider registers functions and two cards, changes them, and unregisters; @meanwhile is called
 * before and after the changes, if it is not NULL.
 */
void churn_round(unsigned int round, void (*meanwhile)(void));
/* Ends the threads. All calls have been served, including those that functions made. */
void churn_end(unsigned int rounds, u64 sent_by_others, u64 lost_by_others);
/* One call of the atomic operator, with an object on the CPU. */
int churn_swift(void);

#endif /* _SELFTESTS_API_CHURN_H */
