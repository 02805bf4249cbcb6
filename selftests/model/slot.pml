// SPDX-License-Identifier: GPL-2.0-only
/*
 * A slot of the kernel's gate is read while its thread makes calls (slot_read() in kmod/gate.c). A
 * thread makes two calls, one after the other. A second thread waits for a grace period after the
 * first call was entered, and then reads the words of the slot. All words must be of the same call.
 * If the second thread misses the first call, it must read everything that the call's function
 * stored.
 *
 * -DNO_COUNT		the number of calls is not compared
 * -DNO_COUNT_ORDER	the words may be stored before the number
 * -DNO_WORDS_ORDER	the provider may be stored before the other words
 * -DNO_LEAVE_ORDER	the slot may be free before the call's own stores
 * -DNO_READ_ORDER		words may be loaded before the provider
 * -DNO_AGAIN_ORDER	the number may be loaded again before the words
 */
#include "order.pmlh"

byte seq;		/* number of calls that used the slot */
byte prov, word;	/* provider; registration and operator: here, the call's number */
byte memory;		/* memory that a call's function writes */
bool entered;		/* the first call has entered; only in the model */

/* steps of one call */
#define COUNT		1
#define WORD		2
#define PROV		4
#define WORK		8
#define FREE		16
#define ALL		(COUNT | WORD | PROV | WORK | FREE)

#ifdef NO_COUNT_ORDER
#define COUNTED		0
#else
#define COUNTED		COUNT
#endif
#ifdef NO_WORDS_ORDER
#define WRITTEN		COUNTED
#else
#define WRITTEN		(COUNT | WORD)
#endif
#ifdef NO_LEAVE_ORDER
#define WORKED		PROV
#else
#define WORKED		(COUNT | WORD | PROV | WORK)
#endif

proctype caller()
{
	byte done, call = 1;

	do
	:: d_step { STEP(COUNT, 0) -> seq = call }
	:: d_step { STEP(WORD, COUNTED) -> word = call }
	:: d_step { STEP(PROV, WRITTEN) -> prov = call; entered = 1 }
	:: d_step { STEP(WORK, PROV) -> memory = call }
	:: d_step { STEP(FREE, WORKED) -> prov = 0 }
	/* the next call stores its words with release, after all stores of this one */
	:: d_step { done == ALL && call == 1 -> done = 0; call = 2 }
	:: done == ALL && call == 2 -> break
	od
}

/* steps of the drain */
#define SEQ		1
#define LOAD_PROV	2
#define LOAD_WORD	4
#define AGAIN		8
#define LOOK		16

#ifdef NO_READ_ORDER
#define PROV_LOADED	SEQ
#else
#define PROV_LOADED	(SEQ | LOAD_PROV)
#endif
#ifdef NO_AGAIN_ORDER
#define WORDS_LOADED	SEQ
#else
#define WORDS_LOADED	(SEQ | LOAD_PROV | LOAD_WORD)
#endif

proctype drainer()
{
	byte done, first, p, w, second, seen;

	entered;
again:
	do
	:: d_step { STEP(SEQ, 0) -> first = seq }
	:: d_step { STEP(LOAD_PROV, SEQ) -> p = prov }
	:: d_step { STEP(LOAD_WORD, PROV_LOADED) -> w = word }
	:: d_step { STEP(AGAIN, WORDS_LOADED) -> second = seq }
	:: d_step { STEP(LOOK, SEQ | LOAD_PROV) -> seen = memory }
	:: done == (SEQ | LOAD_PROV | LOAD_WORD | AGAIN | LOOK) -> break
	od;
#ifndef NO_COUNT
	if
	:: first != second -> done = 0; goto again
	:: else
	fi;
#endif
	assert(!p || w == p);
	assert(p == 1 || seen)
}

init {
	atomic { run caller(); run drainer() }
}
