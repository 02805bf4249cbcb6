// SPDX-License-Identifier: GPL-2.0-only
/*
 * A declaration keeps an operator (op_keep() in lib/core/state/operators.c) while another thread,
 * with the registry's lock held, does one of these:
 *
 *   0	undefines and frees it: dkc_op_undefine(), dkc_op_release()
 *   1	undefines it and defines it in the other class: check_definition()
 *   2	defines it for the first time: definition_publish()
 *
 * While a declaration points to an operator, the operator is not freed and keeps its class. The
 * operator had a signature when the declaration was compared with it.
 *
 * -DNO_KEEP_ORDER		no barrier between setting "pinned" and checking again
 * -DNO_SETTLE_ORDER	no barrier between setting "dead" and checking "pinned"
 * -DNO_CLASS_ORDER	no barrier between undefining and checking "pinned"
 * -DNO_SIG_ORDER		no barrier between storing the signature and the definer
 * -DNO_COMPARE_ORDER	no barrier between loading the definer and the signature
 */
#include "order.pmlh"

#ifdef NO_KEEP_ORDER
#define PINNED_FIRST	0
#else
#define PINNED_FIRST	PIN
#endif
#ifdef NO_SETTLE_ORDER
#define MARKED_FIRST	0
#else
#define MARKED_FIRST	(UNDEFINE | MARK)
#endif
#ifdef NO_CLASS_ORDER
#define UNDEFINED_FIRST	0
#else
#define UNDEFINED_FIRST	UNDEFINE
#endif
#ifdef NO_SIG_ORDER
#define SIG_FIRST	0
#else
#define SIG_FIRST	SIG
#endif
#ifdef NO_COMPARE_ORDER
#define DEFINER_FIRST	0
#else
#define DEFINER_FIRST	DEFINER
#endif

/* the definer of the operator */
#define OLD		1
#define NEW		2

byte definer;
bool sig;		/* the operator has a signature */
bool pinned, dead;
bool freed, changed;	/* the operator's memory, its class */
byte kept;		/* the definer of the operator when a declaration began to point to it */

/* steps of the declaration */
#define DEFINER		1
#define SIG_LOAD	2
#define PIN		4
#define DEAD		8
#define AGAIN		16

proctype declaration()
{
	byte done, by;
	bool had_sig, was_dead;

	do
	:: d_step { STEP(DEFINER, 0) -> by = definer }
	:: d_step { STEP(SIG_LOAD, DEFINER_FIRST) -> had_sig = sig }
	/* a store that depends on a load comes after it */
	:: d_step { STEP(PIN, DEFINER | SIG_LOAD) -> pinned = (by -> 1 : pinned) }
	:: d_step { STEP(DEAD, PINNED_FIRST) -> was_dead = dead }
	:: d_step {
		STEP(AGAIN, PINNED_FIRST | DEFINER) ->
		by = (by -> definer : 0)
	}
	:: done == (DEFINER | SIG_LOAD | PIN | DEAD | AGAIN) ->
		break
	od;
	atomic {
		if
		:: by && !was_dead ->
			kept = by;
			assert(!freed);
			assert(had_sig);
			assert(by == NEW || !changed)
		:: else
		fi
	}
}

/* steps of the other threads */
#define UNDEFINE	1
#define MARK		2
#define LOOK		4
#define END		8
#define SIG		16
#define DEFINE		32

proctype frees()
{
	byte done;
	bool was_pinned;

	do
	:: d_step { STEP(UNDEFINE, 0) -> definer = 0 }
	:: d_step { STEP(MARK, 0) -> dead = 1 }
	:: d_step { STEP(LOOK, MARKED_FIRST) -> was_pinned = pinned }
	:: d_step {
		STEP(END, UNDEFINE | MARK | LOOK) ->
		if
		:: was_pinned -> dead = 0
		:: else -> freed = 1; assert(!kept)
		fi
	}
	:: done == (UNDEFINE | MARK | LOOK | END) ->
		break
	od
}

proctype changes_class()
{
	byte done;
	bool was_pinned;

	do
	:: d_step { STEP(UNDEFINE, 0) -> definer = 0 }
	:: d_step { STEP(LOOK, UNDEFINED_FIRST) -> was_pinned = pinned }
	:: d_step {
		STEP(END, LOOK | UNDEFINE) ->
		if
		:: !was_pinned -> changed = 1; assert(kept != OLD)
		:: else
		fi
	}
	:: d_step { STEP(DEFINE, END) -> definer = (was_pinned -> 0 : NEW) }
	:: done == (UNDEFINE | LOOK | END | DEFINE) ->
		break
	od
}

proctype defines()
{
	byte done;

	do
	:: d_step { STEP(SIG, 0) -> sig = 1 }
	:: d_step { STEP(DEFINE, SIG_FIRST) -> definer = NEW }
	:: done == (SIG | DEFINE) ->
		break
	od
}

init {
	atomic {
		if
		:: definer = OLD; sig = 1; run frees()
		:: definer = OLD; sig = 1; run changes_class()
		:: run defines()
		fi;
		run declaration()
	}
}
