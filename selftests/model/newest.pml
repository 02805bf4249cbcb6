// SPDX-License-Identifier: GPL-2.0-only
/*
 * A call whose row names no function of the operator's and that looks beside the
 * row, for a fallback (dkc_is_missing(), dkc_find_newest() and dkc_row_is_newest()
 * in lib/core/call.c), while another thread changes the registry, by one of these:
 *
 *   0	a function comes, then the fallback leaves
 *   1	the fallback comes, then the function leaves
 *   2	a function comes for a backend that is offline, with its fallback, and
 *	then the backend comes online: dkc_show() in lib/core/offline.c
 *
 * In the first two something serves the call at every moment; in the last one the
 * fallback never does.
 *
 * -DNO_ROW_ORDER	the fallback may be loaded before the row
 * -DNO_NEWEST_ORDER	the row may be loaded again before the fallback
 * -DNO_AGAIN		the row is not loaded again
 * -DNO_PUBLISH_ORDER	what the writer stores may be seen in any order
 */
#include "order.pmlh"

/* what a row says */
#define HAS_FUNCTION	1
#define LOOK_BESIDE	2

byte row;
bool fallback, offline;
byte change;

/* steps of a call */
#define ROW		1
#define FALLBACK	2
#define ONLINE		4
#define NEWEST		8
#define ALL		(ROW | FALLBACK | ONLINE | NEWEST)

#ifdef NO_ROW_ORDER
#define ROW_FIRST	0
#else
#define ROW_FIRST	ROW
#endif
#ifdef NO_NEWEST_ORDER
#define BESIDE_FIRST	0
#else
#define BESIDE_FIRST	(ROW | FALLBACK | ONLINE)
#endif

proctype call()
{
	byte done, first, second;
	bool there, visible;

again:
	do
	:: d_step { STEP(ROW, 0) -> first = row }
	:: d_step { STEP(FALLBACK, ROW_FIRST) -> there = fallback }
	:: d_step { STEP(ONLINE, ROW_FIRST) -> visible = !offline }
	:: d_step { STEP(NEWEST, BESIDE_FIRST) -> second = row }
	:: done == ALL -> break
	od;
	if
	:: first == HAS_FUNCTION -> goto served
#ifndef NO_AGAIN
	:: first == LOOK_BESIDE && second != first -> done = 0; goto again
#endif
	:: else
	fi;
	assert(change == 2 -> !(there && visible) : there && visible);
served:
	skip
}

/* steps of a change */
#define ONE		1
#define TWO		2

#ifdef NO_PUBLISH_ORDER
#define ONE_FIRST	0
#else
#define ONE_FIRST	ONE
#endif

proctype changes()
{
	byte done;

	do
	:: d_step {
		STEP(ONE, 0) ->
		if
		:: change == 1 -> fallback = 1
		:: else -> row = HAS_FUNCTION
		fi
	}
	:: d_step {
		STEP(TWO, ONE_FIRST) ->
		if
		:: change == 0 -> fallback = 0
		:: change == 1 -> row = LOOK_BESIDE
		:: change == 2 -> offline = 0
		fi
	}
	:: done == (ONE | TWO) -> break
	od
}

init {
	atomic {
		if
		:: change = 0; row = LOOK_BESIDE; fallback = 1
		:: change = 1; row = HAS_FUNCTION
		:: change = 2; row = LOOK_BESIDE; fallback = 1; offline = 1
		fi;
		run call();
		run changes()
	}
}
