/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Allocations of the core in test builds: makes chosen ones fail, and counts those in
 * use. In the kernel it is a part of dispatchkey.ko.
 */
#ifndef _SELFTESTS_API_ALLOC_H
#define _SELFTESTS_API_ALLOC_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#endif

#define DK_TEST_EVERY	(~0U)

/*
 * From now on allocation number @nth of this task or thread fails, and no other
 * one's: DK_TEST_EVERY, or 0 for none. How many have failed since the last time.
 */
unsigned int dk_test_fail_alloc(unsigned int nth);

/* How many are in use, without what waits for the end of a grace period. */
long dk_test_allocs(void);

/* How many wait for that, or for a call to return; userspace only. */
unsigned int dk_test_retired(void);

/* Called before each allocation, or NULL. */
void dk_test_at_alloc(void (*look)(void));

/* Called by the macros of hooks.h. */
bool dk_test_alloc_fails(void);
void *dk_test_taken(void *p);
void *dk_test_given_back(void *p);

#endif
