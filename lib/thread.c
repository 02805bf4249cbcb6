// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Initialises a thread before its first call. */

#include "private.h"

#include <dispatchkey.h>

int dk_thread_init(void)
{
	int err;

	if (!dk_registry_default())
		return -ENOMEM;
	err = dkc_gate_thread_init();
	dkc_rcu_thread_init();
	return err;
}
