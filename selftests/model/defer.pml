// SPDX-License-Identifier: GPL-2.0-only
/*
 * A call is deferred and completed while its provider is unregistered:
 *
 *   function	dk_call_defer() adds the call to the list, then the function returns and
 *		its slot is free; in the kernel the slot of an atomic call is its read section
 *   completer	dk_call_complete() removes the call, as soon as the job is submitted
 *   waiter	dkc_gate_any(): reads the slot, and then the list, until both are empty. Then
 *		the provider and its jobs are freed
 *
 * The list is read and written under a lock, so each access is one step. The release in
 * dkc_gate_leave() orders adding to the list before freeing the slot.
 *
 * -DNO_LEAVE_ORDER	the slot may be seen free before the call is in the list
 * -DLIST_FIRST		the waiter reads the list and then the slot
 * -DNO_LOCK		the waiter reads the list without the lock
 */
#include "order.pmlh"

bool in_slot = true, in_list, submitted, freed;
bool locked;		/* by the completer */

#define ADD	1
#define LEAVE	2

#ifdef NO_LEAVE_ORDER
#define ADDED	0
#else
#define ADDED	ADD
#endif

proctype function()
{
	byte done;

	do
	:: d_step { STEP(ADD, 0) -> assert(!freed); in_list = true; submitted = true }
	:: d_step { STEP(LEAVE, ADDED) -> in_slot = false }
	:: done == (ADD | LEAVE) -> break
	od
}

/* Writes to the job until it releases the lock. */
proctype completer()
{
	d_step { submitted -> locked = true }
	assert(!freed);
	in_list = false;
	assert(!freed);
	locked = false
}

#ifdef NO_LOCK
#define READ_LIST	d_step { found = found || in_list }
#else
#define READ_LIST	d_step { !locked -> found = found || in_list }
#endif
#define READ_SLOT	d_step { found = found || in_slot }

proctype waiter()
{
	bool found;

	do
	:: found = false;
#ifdef LIST_FIRST
	   READ_LIST;
	   READ_SLOT;
#else
	   READ_SLOT;
	   READ_LIST;
#endif
	   if
	   :: found
	   :: else -> break
	   fi
	od;
	freed = true
}

init {
	atomic { run function(); run completer(); run waiter() }
}
