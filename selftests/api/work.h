/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Measures the work done in one hold of a registry's lock, in test builds of the module. Of steps,
 * DKC_WORK_STEPS, only those without cond_resched() between them are added. This code is a part of
 * dispatchkey.ko.
 */
#ifndef _SELFTESTS_API_WORK_H
#define _SELFTESTS_API_WORK_H

#include "../../lib/core/base/world.h"

struct dk_registry;

/* Measures holds of the lock of @reg, and of no other lock, and resets the results. */
void dk_test_watch_lock(struct dk_registry *reg);

/* Stores the most work of each kind in one hold since dk_test_watch_lock() was called. */
void dk_test_most_work(unsigned int most[DKC_NUM_WORK]);

/* Increments the registry's generation at the end of each of the next @n holds. */
void dk_test_change(unsigned int n);

#endif
