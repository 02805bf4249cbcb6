// SPDX-License-Identifier: GPL-2.0-only
/*
 * A call by the rules must read the list of an operator as it was at one moment (dkc_view_begin()
 * and dkc_view_holds() in lib/core/table/table.h). Meanwhile another thread registers B and then
 * withdraws A (dkc_block_set_live() in lib/core/state/change.c). The call must find A before B is
 * registered, and B from then on.
 *
 * -DNO_TURN_ORDER		the state of a block may be visible before the change is marked
 * -DNO_CHANGED_ORDER	the mark of a change may be visible before the state that it announces
 * -DNO_VIEW_ORDER		registrations may be loaded before the view begins
 * -DNO_HOLDS_ORDER	registrations may be loaded after the view was checked
 * -DNO_HOLDS		the call does not check its view
 */
#include "order.pmlh"

/* states of a block, in their order */
#define PENDING		0
#define COMING		1
#define LIVE		2
#define LEAVING		3
#define GOING		4

byte changes, state_a = LIVE, state_b;
bool linked;		/* B is in the list, before A */

/* the steps of two changes */
#define LINK		1
#define B_COMING	2
#define B_HALF		4
#define B_LIVE		8
#define B_WHOLE		16
#define A_LEAVING	32
#define A_HALF		64
#define A_GOING		128
#define A_WHOLE		256
#define BEFORE(bit)	((bit) - 1)

#ifdef NO_TURN_ORDER
#define TURN(bit)	LINK
#else
#define TURN(bit)	BEFORE(bit)
#endif
#ifdef NO_CHANGED_ORDER
/* the marks stay in order among themselves */
#define CHANGED(bit)	(BEFORE(bit) & (B_HALF | B_WHOLE | A_HALF))
#else
#define CHANGED(bit)	BEFORE(bit)
#endif

proctype changer()
{
	short done;

	do
	:: d_step { STEP(LINK, 0) -> linked = 1 }
	:: d_step { STEP(B_COMING, TURN(B_COMING)) -> state_b = COMING }
	:: d_step { STEP(B_HALF, CHANGED(B_HALF)) -> changes = 1 }
	:: d_step { STEP(B_LIVE, TURN(B_LIVE) | B_COMING) -> state_b = LIVE }
	:: d_step { STEP(B_WHOLE, CHANGED(B_WHOLE)) -> changes = 2 }
	:: d_step { STEP(A_LEAVING, TURN(A_LEAVING)) -> state_a = LEAVING }
	:: d_step { STEP(A_HALF, CHANGED(A_HALF)) -> changes = 3 }
	:: d_step { STEP(A_GOING, TURN(A_GOING) | A_LEAVING) -> state_a = GOING }
	:: d_step { STEP(A_WHOLE, CHANGED(A_WHOLE)) -> changes = 4 }
	:: done == 511 -> break
	od
}

/* the steps of a call */
#define VIEW		1
#define LIST		2
#define STATE_A		4
#define STATE_B		8
#define AGAIN		16
#define ALL		31

#ifdef NO_VIEW_ORDER
#define VIEW_FIRST	0
#else
#define VIEW_FIRST	VIEW
#endif
#ifdef NO_HOLDS_ORDER
#define READ_FIRST	VIEW
#else
#define READ_FIRST	(VIEW | LIST | STATE_A | STATE_B)
#endif

/* is_in_view() in lib/core/table/rules.c */
#define IN_VIEW(state)	((state) == LIVE || ((state) == COMING && (view & 1)) || \
			 ((state) == LEAVING && !(view & 1)))

proctype call()
{
	byte done, view, a, b, second;
	bool has_b;

again:
	do
	:: d_step { STEP(VIEW, 0) -> view = changes }
	:: d_step { STEP(LIST, VIEW_FIRST) -> has_b = linked }
	:: d_step { STEP(STATE_A, VIEW_FIRST) -> a = state_a }
	/* follows a pointer in the list */
	:: d_step { STEP(STATE_B, VIEW_FIRST | LIST) -> b = state_b }
	:: d_step { STEP(AGAIN, READ_FIRST) -> second = changes }
	:: done == ALL -> break
	od;
#ifndef NO_HOLDS
	if
	:: second != view -> done = 0; goto again
	:: else
	fi;
#endif
	if
	:: has_b && IN_VIEW(b) -> assert(view >= 1)
	:: else -> assert(view == 0 && IN_VIEW(a))
	fi
}

init {
	atomic { run changer(); run call() }
}
