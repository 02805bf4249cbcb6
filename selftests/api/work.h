/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Measures the work done in one hold of a registry's lock, in test builds of the module. It is
 * a part of dispatchkey.ko.
 */
#ifndef _SELFTESTS_API_WORK_H
#define _SELFTESTS_API_WORK_H

#include "../../lib/core/base/world.h"

struct dk_registry;

/* Watch the lock of @reg and of no other registry, from zero. */
void dk_test_watch_lock(struct dk_registry *reg);

/* The most that was done in one hold since then, for each kind. */
void dk_test_most_work(unsigned int most[DKC_NUM_WORK]);

/* Each of the next @n holds ends as if the registry had changed. */
void dk_test_change(unsigned int n);

#endif
