// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* What a thread has in the userspace world. */

#include "world.h"

#include <dispatchkey.h>

/* zero is the default state */
static __thread DKC_INITIAL_EXEC struct dk_local local;

struct dk_local *dk_local_current(void)
{
	return &local;
}

int dk_thread_init(void)
{
	if (!dk_registry_default())
		return -ENOMEM;
	dkc_rcu_thread_init();
	return dkc_gate_thread_init();
}
