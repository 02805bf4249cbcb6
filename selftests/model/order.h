/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread whose loads and stores happen in any order that its barriers and
 * dependencies allow, for Spin. Each one is a step, a bit of "done":
 *
 *	do
 *	:: d_step { STEP(FIRST, 0) -> x = 1 }
 *	:: d_step { STEP(SECOND, FIRST) -> seen = y }
 *	:: done == (FIRST | SECOND) -> break
 *	od
 *
 * Memory itself is one for all, as on every CPU that Linux runs on with its
 * primitives: what weak CPUs add is the order of a thread's own steps.
 */
#define STEP(bit, after) \
	!(done & (bit)) && (done & (after)) == (after) -> done = done | (bit)
