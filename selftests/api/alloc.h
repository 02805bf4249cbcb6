/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Controls the core's allocations in test builds: makes chosen allocations fail, and counts those
 * in use. In the kernel, this code is a part of dispatchkey.ko.
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
 * Makes allocation number @nth (from 1) of this task or thread fail; DK_TEST_EVERY for all,
 * 0 for none. Allocations of other threads do not fail. Returns the number of failures since
 * the previous call.
 */
unsigned int dk_test_fail_alloc(unsigned int nth);

/* Returns the number of allocations in use, without those that wait for a grace period. */
long dk_test_allocs(void);

/*
 * Returns the number of allocations that are freed after a grace period or after a call
 * returns; userspace only.
 */
unsigned int dk_test_retired(void);

/* Sets a function that is called before each allocation of this task or thread, or NULL. */
void dk_test_at_alloc(void (*look)(void));

/* Sets a function that is called before this thread frees memory, or NULL; userspace only. */
void dk_test_at_free(void (*look)(void));

/* Called by the macros of hooks.h. */
bool dk_test_alloc_fails(void);
void *dk_test_taken(void *p);
void *dk_test_given_back(void *p);

#endif
