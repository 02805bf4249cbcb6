// SPDX-License-Identifier: GPL-2.0-only
/*
 * One thread accesses data and then stores a flag with release. Another thread loads the flag with
 * acquire. If the flag is set, this thread relies on those accesses:
 *
 *   data				flag
 *
 *   stores of a provider's functions	the provider is drained: dkc_wait() and
 *				dkc_provider_lock_unregistering() in
 *				lib/core/change/
 *   loads of the hooks		the hooks are not in the list: dk_hooks_unregister() in
 *				lib/core/state/hook.c
 *   accesses of a listener	the listener has returned: dkc_clear_and_wake() and
 *				dkc_wait_zero()
 *
 * -DNO_RELEASE		the flag may be visible before the data
 * -DNO_ACQUIRE		the data may be loaded before the flag
 */
#include "order.pmlh"

bool data, flag;

#define DATA	1
#define FLAG	2

#ifdef NO_RELEASE
#define STORED	0
#else
#define STORED	DATA
#endif
#ifdef NO_ACQUIRE
#define LOADED	0
#else
#define LOADED	FLAG
#endif

proctype sender()
{
	byte done;

	do
	:: d_step { STEP(DATA, 0) -> data = 1 }
	:: d_step { STEP(FLAG, STORED) -> flag = 1 }
	:: done == (DATA | FLAG) -> break
	od
}

proctype receiver()
{
	byte done;
	bool has_flag, has_data;

	do
	:: d_step { STEP(FLAG, 0) -> has_flag = flag }
	:: d_step { STEP(DATA, LOADED) -> has_data = data }
	:: done == (DATA | FLAG) -> break
	od;
	assert(!has_flag || has_data)
}

init {
	atomic { run sender(); run receiver() }
}
