/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Starts threads that call operators while providers register, change their functions and
 * unregister, for the suites threads and kthreads. Each function counts its calls in the memory of
 * its provider. After the provider is unregistered, this memory is poisoned and freed.
 */
#ifndef _SELFTESTS_API_CHURN_H
#define _SELFTESTS_API_CHURN_H

#include "../world.h"
#include "test.h"

DK_OP(count, "churn::count", (struct dk_obj *x), (x), (x));
DK_OP(swift, "churn::swift", (struct dk_obj *x), (x), (x));	/* atomic */

/* Counts the calls of a provider or device. Its functions get it by dk_call_priv(). */
struct counter {
	u32 alive;
	struct w_count served;
};

/* Sets the two sums below to zero. */
void counting_begin(void);
struct counter *counter_new(void);
/*
 * Adds the calls to churn_served_by_unregistered, and poisons and frees the counter. No call may be
 * inside a function that uses @c. NULL is allowed.
 */
void counter_end(struct counter *c);

int count_here(struct dk_call *c, struct dk_obj *x);
int swift_here(struct dk_call *c, struct dk_obj *x);

/*
 * The number of calls that found their counter poisoned, and the number of calls served by
 * providers and devices that were unregistered later.
 */
extern struct w_count churn_poisoned, churn_served_by_unregistered;

/*
 * Opens a registry with a provider "host", which stays registered, and starts threads that call
 * operators.
 */
void churn_begin(void);
/*
 * A provider registers functions and two cards, changes them, and unregisters. @meanwhile, if not
 * NULL, is called before and after the changes.
 */
void churn_round(unsigned int round, void (*meanwhile)(void));
/*
 * Ends the threads, and closes the registry. Checks that all calls were served exactly once,
 * including those that the suite made by churn_swift().
 */
void churn_end(unsigned int rounds, u64 sent_by_others, u64 lost_by_others);
/* Calls the atomic operator with an object on the CPU. */
int churn_swift(void);

#endif /* _SELFTESTS_API_CHURN_H */
