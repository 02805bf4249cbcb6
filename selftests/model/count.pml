// SPDX-License-Identifier: GPL-2.0-only
/*
 * A call that is counted (dkc_stats_count() in lib/core/state/counters.c) while another thread
 * gives its function a counter, by one of these changes:
 *
 *   0	the counter is in a new block: dkc_stats_grow(), counter_assign()
 *   1	counting stops and starts again: dk_stats_disable(), dk_stats_enable(). The number
 *	belonged to another function before
 *
 * A call that reads the number of its counter must count in a block that has this counter, and
 * never in the counter of another function.
 *
 * -DNO_GIVE_ORDER		the number may be visible before the block that has it
 * -DNO_GIVEN_ORDER	the block may be loaded again before the number
 * -DNO_TIME_ORDER		the number may be loaded before the blocks
 * -DNO_TAKE_ORDER		new blocks may be visible before the old number is taken back
 */
#include "order.pmlh"

byte stats;		/* number of blocks, plus LATER when counting has started again */
byte number;		/* the function's counter: the block that has it, or 0 */
byte change;

#define LATER		8

/* steps of a call */
#define STATS		1
#define NUMBER		2
#define AGAIN		4

#ifdef NO_TIME_ORDER
#define STATS_FIRST	0
#else
#define STATS_FIRST	STATS
#endif
#ifdef NO_GIVEN_ORDER
#define NUMBER_FIRST	STATS
#else
#define NUMBER_FIRST	(STATS | NUMBER)
#endif

proctype call()
{
	byte done, s, n, again;

	do
	:: d_step { STEP(STATS, 0) -> s = stats }
	:: d_step { STEP(NUMBER, STATS_FIRST) -> n = number }
	:: d_step { STEP(AGAIN, NUMBER_FIRST) -> again = stats }
	:: done == (STATS | NUMBER | AGAIN) -> break
	od;
	if
	/* no block has the number, so the blocks are read again */
	:: change == 0 && s && n > s -> assert(again >= n)
	/* if counting has started again, the number must not be an old one */
	:: change == 1 && s > LATER && n -> assert(n > LATER)
	:: else
	fi
}

/* steps of the other thread */
#define ONE		1
#define TWO		2

#ifdef NO_GIVE_ORDER
#define GROWN		0
#else
#define GROWN		ONE
#endif
#ifdef NO_TAKE_ORDER
#define TAKEN		0
#else
#define TAKEN		ONE
#endif

proctype grows()
{
	byte done;

	do
	:: d_step { STEP(ONE, 0) -> stats = 2 }
	:: d_step { STEP(TWO, GROWN) -> number = 2 }
	:: done == (ONE | TWO) -> break
	od
}

proctype begins_anew()
{
	byte done;

	do
	:: d_step { STEP(ONE, 0) -> number = 0 }
	:: d_step { STEP(TWO, TAKEN) -> stats = LATER + 1 }
	:: done == (ONE | TWO) -> break
	od
}

init {
	atomic {
		stats = 1;
		if
		:: change = 0; run grows()
		:: change = 1; number = 1; run begins_anew()
		fi;
		run call()
	}
}
