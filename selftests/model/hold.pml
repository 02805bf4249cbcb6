// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hold that bears the epoch in which it began (dk_hold() in lib/core/call.c),
 * and a provider that leaves (dkc_provider_begin_leaving() and dkc_is_older() in
 * lib/core/provider.c): only holds that are older than the provider's leaving are
 * waited for. A call under the hold reads the row in a section and runs its
 * function after the section has ended. The function is there until it returns.
 *
 * -DNO_ACQUIRE		the row may be loaded before the epoch
 * -DNO_RELEASE		the new epoch may be seen before the row without the function
 * -DNO_GRACE		no grace period before the gate is looked at
 * -DNO_WAIT		no hold is waited for
 */
#include "order.pmlh"

bool row = 1;		/* it names the provider's function */
bool epoch;
bool section, held;	/* the caller's: in a section; its hold is in the gate */
bool held_epoch;
bool gone;

/* steps of the caller */
#define EPOCH		1
#define HOLD		2
#define ENTER		4
#define ROW		8
#define LEAVE		16
#define RUN		32
#define RELEASE		64

#ifdef NO_ACQUIRE
#define EPOCH_FIRST	0
#else
#define EPOCH_FIRST	EPOCH
#endif

proctype caller()
{
	byte done;
	bool e, found;

	do
	:: d_step { STEP(EPOCH, 0) -> e = epoch }
	/* a grace period orders it and the section for who waits for one */
	:: d_step { STEP(HOLD, EPOCH) -> held_epoch = e; held = 1 }
	:: d_step { STEP(ENTER, 0) -> section = 1 }
	:: d_step { STEP(ROW, ENTER | EPOCH_FIRST) -> found = row }
	:: d_step { STEP(LEAVE, ENTER | ROW | HOLD) -> section = 0 }
	:: d_step { STEP(RUN, LEAVE) -> assert(!found || !gone) }
	:: d_step { STEP(RELEASE, RUN) -> held = 0 }
	:: done == (EPOCH | HOLD | ENTER | ROW | LEAVE | RUN | RELEASE) -> break
	od
}

/* steps of the one that leaves */
#define UNPUBLISH	1
#define BEGIN		2
#define GRACE		4
#define LOOK		8

#ifdef NO_RELEASE
#define UNPUBLISHED	0
#else
#define UNPUBLISHED	UNPUBLISH
#endif

proctype leaves()
{
	byte done;

	do
	:: d_step { STEP(UNPUBLISH, 0) -> row = 0 }
	:: d_step { STEP(BEGIN, UNPUBLISHED) -> epoch = 1 }
#ifdef NO_GRACE
	:: d_step { STEP(GRACE, UNPUBLISH | BEGIN) -> skip }
#else
	:: d_step {
		!section && !(done & GRACE) && (done & 3) == 3 ->
		done = done | GRACE
	}
#endif
	:: done == (UNPUBLISH | BEGIN | GRACE) -> break
	od;
#ifndef NO_WAIT
	!(held && !held_epoch);
#endif
	gone = 1
}

init {
	atomic { run caller(); run leaves() }
}
