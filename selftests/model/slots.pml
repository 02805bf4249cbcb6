// SPDX-License-Identifier: GPL-2.0-only
/*
 * Models the gate of userspace (lib/gate.c and lib/replaced.c). A thread makes calls on the fast
 * path, and a signal handler interrupts it at any point and makes calls, too. Two threads free
 * tables: one unregisters providers, and the other has not published any table (as in
 * facebook/folly#1632).
 *
 * Stores to slots stay in a buffer until they are written out, which happens in any order
 * except for stores to the same slot. Only membarrier() forces all of them out.
 *
 * -DCALLS=N		calls of the thread
 * -DHANDLED=N		calls of the signal handler
 * -DCHANGES=N		providers that are unregistered
 *
 * Each of these removes one thing that the code relies on:
 *
 * -DNO_AGAIN		the table is not read again after the slot is stored
 * -DNO_BARRIER		there is no membarrier()
 * -DNO_BARRIER_ORDER	membarrier() runs before the list of replaced tables is taken
 * -DNO_PUBLISH_ORDER	a table is retired before its successor is published
 * -DNO_WAIT		no wait for threads that read a replaced table
 * -DNO_LISTS		the wait for threads that read a replaced table considers only the tables
 *			in the waiting thread's own list
 * -DNO_INDEX_ORDER	the list of indexes is taken after that of tables
 * -DNO_MARK		tables are freed without reading the slots
 * -DNO_DRAIN		no wait for the calls inside a provider
 * -DNO_RESERVE		a signal handler uses the slot of the call that it interrupts
 * -DNO_ENTRY_ORDER	the entry may be in the slot before the table is read
 * -DNO_LEAVE_ORDER	the slot may be free before the function's last access
 */
#ifndef CALLS
#define CALLS		1
#endif
#ifndef HANDLED
#define HANDLED		1
#endif
#ifndef CHANGES
#define CHANGES		1
#endif

#define SLOTS		2
#define TABLES		(CHANGES + 1)

/* Table t has one entry, of a function of provider t. A slot has 0 or one of these. */
#define TABLE(t)	(t)
#define ENTRY(t)	((t) + 4)
#define IS_TABLE(v)	((v) && (v) < 4)
#define IS_ENTRY(v)	((v) > 4)
#define TABLE_OF(v)	((v) & 3)
#define BIT(t)		(1 << (t))

byte table = 1;			/* of the operator */
byte freed, indexes_freed;	/* bit masks of tables, and of the indexes that they share */
byte gone;			/* bit mask of providers whose memory and code are freed */

byte slot[SLOTS];		/* values that other threads read */
chan stores[SLOTS] = [3] of { byte };

bool locked;			/* the gate's lock */
byte retired, retired_indexes;	/* replaced, but in no list yet */
byte replacing[2], in_use;	/* the list of each reclaiming thread; that of tables in slots */

/* ---- the thread that calls ------------------------------------------------------- */

byte top;			/* the first slot that is not reserved */
bool handling;			/* a handler is running */

#ifdef NO_RESERVE
#define NEXT(s)		(s)
#else
#define NEXT(s)		((s) + 1)
#endif

inline read_table(t)
{
	assert(!(freed & BIT(t)));
	assert(!(indexes_freed & BIT(t)))
}

/* The table was read again, so the call takes the fast path. */
inline kept_call()
{
#ifdef NO_ENTRY_ORDER
	stores[s]!ENTRY(t);
	read_table(t);
#else
	read_table(t);
	stores[s]!ENTRY(t);
#endif
	assert(!(freed & BIT(t)));	/* the entry is read */
	assert(!(gone & BIT(t)));	/* the function begins */
#ifdef NO_LEAVE_ORDER
	stores[s]!0;
	assert(!(gone & BIT(t)))
#else
	assert(!(gone & BIT(t)));	/* the function ends */
	stores[s]!0
#endif
}

inline call()
{
	s = top;
	top = NEXT(s);
	t = table;
	stores[s]!TABLE(t);
#ifdef NO_AGAIN
	kept_call();
#else
	if
	:: table == t -> kept_call()
	:: else -> stores[s]!0		/* the call takes the slow path */
	fi;
#endif
	atomic { top = s; s = 0; t = 0 }
}

proctype thread() provided (!handling)
{
	byte s, t, n;

	do
	:: n < CALLS -> call(); n++
	:: else -> break
	od
}

proctype handler()
{
	byte s, t, n;

	do
	:: n < HANDLED -> handling = 1; call(); handling = 0; n++
	:: else -> break
	od
}

proctype buffer()
{
end:	do
	:: atomic { nempty(stores[0]) -> stores[0]?slot[0] }
	:: atomic { nempty(stores[1]) -> stores[1]?slot[1] }
	od
}

/* ---- the threads that free tables -------------------------------------------------- */

/* The gate's lock. The other variables are reset for the following loop over the slots. */
inline lock()
{
	atomic { !locked -> locked = 1; found = 0; i = 0; kept = 0 }
}

inline unlock()
{
	atomic { locked = 0; i = 0; v = 0; kept = 0 }
}

inline membarrier()
{
	skip;
#ifndef NO_BARRIER
	atomic {
		do
		:: nempty(stores[0]) -> stores[0]?slot[0]
		:: empty(stores[0]) && nempty(stores[1]) -> stores[1]?slot[1]
		:: empty(stores[0]) && empty(stores[1]) -> break
		od
	}
#endif
}

#ifdef NO_LISTS
#define REPLACED(me)	replacing[me]
#else
#define REPLACED(me)	(replacing[0] | replacing[1] | in_use)
#endif

/* any_lookup() */
inline wait_for_lookups(me)
{
	skip;
#ifndef NO_WAIT
	do
	:: lock();
	   do
	   :: i < SLOTS && !found ->
		d_step {
			v = slot[i];
			found = IS_TABLE(v) && (REPLACED(me) & BIT(TABLE_OF(v)));
			i++
		}
	   :: else -> break
	   od;
	   unlock();
	   if
	   :: found
	   :: else -> break
	   fi
	od
#endif
}

/* replaced_mark(), replaced_sweep() */
inline mark_and_sweep(me)
{
	lock();
#ifndef NO_MARK
	do
	:: i < SLOTS ->
		d_step {
			v = slot[i];
			kept = (v -> kept | BIT(TABLE_OF(v)) : kept);
			i++
		}
	:: else -> break
	od;
#endif
	atomic {
		freed = freed | ((replacing[me] | in_use) & ~kept);
		in_use = (replacing[me] | in_use) & kept;
		replacing[me] = 0
	}
	unlock()
}

inline take_tables(me)
{
	lock();
	atomic { replacing[me] = retired; retired = 0 };
	unlock()
}

inline take_indexes()
{
	atomic { batch = retired_indexes; retired_indexes = 0 }
}

/* synchronize_rcu() */
inline synchronize(me)
{
#ifdef NO_BARRIER_ORDER
	membarrier();
#endif
#ifdef NO_INDEX_ORDER
	take_tables(me);
	take_indexes();
#else
	take_indexes();
	take_tables(me);
#endif
#ifndef NO_BARRIER_ORDER
	membarrier();
#endif
	wait_for_lookups(me);
	mark_and_sweep(me);
	atomic { indexes_freed = indexes_freed | batch; batch = 0 }
}

/* dkc_gate_wait(): follows each entry to its provider */
inline drain(p)
{
	skip;
#ifndef NO_DRAIN
	do
	:: lock();
	   do
	   :: i < SLOTS && !found ->
		d_step { v = slot[i]; i++ };
		if
		:: IS_ENTRY(v) ->
			assert(!(freed & BIT(TABLE_OF(v))));
			assert(!(gone & BIT(TABLE_OF(v))));
			found = (TABLE_OF(v) == p)
		:: else
		fi
	   :: else -> break
	   od;
	   unlock();
	   if
	   :: found
	   :: else -> break
	   fi
	od
#endif
}

/* op_publish() */
inline publish(t)
{
#ifdef NO_PUBLISH_ORDER
	retired = retired | BIT(t);
	table = t + 1;
#else
	table = t + 1;
	retired = retired | BIT(t);
#endif
	retired_indexes = retired_indexes | BIT(t)
}

proctype writer()
{
	byte p = 1, i, v, kept, batch;
	bool found;

	do
	:: p <= CHANGES ->
		publish(p);
		synchronize(0);
		drain(p);
		gone = gone | BIT(p);
		p++
	:: else -> break
	od
}

proctype reclaimer()
{
	byte i, v, kept, batch;
	bool found;

	synchronize(1)
}

init {
	atomic { run thread(); run handler(); run buffer(); run writer(); run reclaimer() }
}
