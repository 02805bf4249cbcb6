// SPDX-License-Identifier: GPL-2.0-only
/*
 * Models calls, publishing, the grace period and the drain, for Spin: two threads make calls, one
 * unregisters provider A, and one registers provider B and unregisters it.
 *
 * The memory order of the calling threads is at least as weak as that of any machine. A
 * store waits in a buffer, and stores are written out in any order, with two exceptions:
 * stores to the same place stay in order, and a store with release is written out after all
 * earlier stores. README lists the code of each step.
 *
 * -DKERNEL		the drain sleeps until it is woken; otherwise it polls
 * -DONLY_SLEEPABLE	no atomic calls
 * -DCALLS_0=N -DCALLS_1=N	calls of each reader
 *
 * Each of these removes one thing that the code relies on:
 *
 * -DNO_GRACE		no grace period between unpublishing and draining
 * -DNO_ORDER		the grace period ends without a barrier in every thread: it
 *			reads that a section has ended, but misses the record that was
 *			stored in the section
 * -DNO_ORDER_BEFORE	the grace period begins without this barrier: it misses a
 *			section that has begun
 * -DNO_DRAIN		no wait for the records
 * -DNO_RELEASE		a record is cleared by a plain store
 * -DNO_PUBLISH_ORDER	a table is published before it is filled
 * -DNO_RETIRE		a replaced table is freed at once
 * -DNO_WAKE_ORDER	(KERNEL) no barrier between clearing a record and checking
 *			for sleepers
 */

#define READERS		2
#ifndef CALLS_0
#define CALLS_0		1	/* calls of the first reader */
#define CALLS_1		1	/* calls of the second reader */
#endif
#define BUFFER		6	/* stores that can wait: those of one call, and one more */

/* what a table routes to; 0 in a table that is not filled */
#define A		1
#define B		2
#define BASE		3

/* the class of a call; both classes use the same table */
#define ATOMIC		0
#define SLEEPABLE	1

/* tables: each is published once; RESOLVE is constant and routes by the rules */
#define AT_FIRST	0
#define WITHOUT_A	1
#define WITH_B		2
#define WITHOUT_B	3
#define RESOLVE		4
#define NO_TABLE		5

bool locked;			/* the registry's lock */
byte table;			/* the operator's table */
byte base;			/* op->base: the table to retire next */
byte serves[4];			/* the provider that a table routes to */
byte retired, freed;		/* bit masks of tables */
bool linked[4], unregistering[4];	/* a provider is in the list, is being unregistered */
bool gone[4];			/* the memory and the code of a provider are freed */

#define TABLE_BIT(id)	(1 << (id))

/* ---- the memory of the readers --------------------------------------------------- */

/* what other threads read */
byte section[READERS];		/* whether the reader is in an RCU read-side critical section */
byte record[READERS];		/* the reader's slot of the gate: a provider, or 0 */
bool waits_for[4];		/* a writer's grace period waits for a reader */
bool sleeps[2];			/* a writer is in the wait queue */

/* the places of stores */
#define NONE		0
#define SECTION		1
#define RECORD		2
#define MEMORY		3	/* of the provider whose function runs */

typedef stores {
	byte place[BUFFER];
	byte value[BUFFER];
	byte n
}
stores buffer[READERS];

inline store(r, where, what)
{
	assert(buffer[r].n < BUFFER);
	buffer[r].place[buffer[r].n] = where;
	buffer[r].value[buffer[r].n] = what;
	buffer[r].n++
}

/* Waits until the buffer has room for this many stores. */
#define ROOM(r, stores)	(buffer[r].n + (stores) <= BUFFER)

#define AT(r, i)	buffer[r].place[i]
#ifdef NO_RELEASE
#define RELEASES(r, i)	(AT(r, i) == RECORD && buffer[r].value[i] != 0)
#else
#define RELEASES(r, i)	(AT(r, i) == RECORD)
#endif

/* Whether store number @i may be written out before all earlier ones. */
#define FREE_1(r)	(buffer[r].n > 1 && !RELEASES(r, 1) && AT(r, 1) != AT(r, 0))
#define FREE_2(r)	(buffer[r].n > 2 && !RELEASES(r, 2) && AT(r, 2) != AT(r, 0) && \
			 AT(r, 2) != AT(r, 1))
#define FREE_3(r)	(buffer[r].n > 3 && !RELEASES(r, 3) && AT(r, 3) != AT(r, 0) && \
			 AT(r, 3) != AT(r, 1) && AT(r, 3) != AT(r, 2))
/* Store number 4 never may: there are only three places, so an earlier store has the same place. */

/* Writes out store number @i. */
inline write_out(r, i)
{
	if
	:: AT(r, i) == SECTION ->
		section[r] = buffer[r].value[i];
		if
		:: !section[r] ->
			/* the shortest possible grace period */
			waits_for[r] = 0;
			waits_for[2 + r] = 0
		:: else
		fi
	:: AT(r, i) == RECORD ->
		record[r] = buffer[r].value[i]
	:: AT(r, i) == MEMORY ->
		assert(!gone[buffer[r].value[i]])
	fi;
	k = i;
	do
	:: k + 1 < buffer[r].n ->
		buffer[r].place[k] = buffer[r].place[k + 1];
		buffer[r].value[k] = buffer[r].value[k + 1];
		k++
	:: else ->
		break
	od;
	buffer[r].place[k] = NONE;
	buffer[r].value[k] = 0;
	buffer[r].n--;
	k = 0
}

/* Writes out stores at any time. */
proctype memory(byte r)
{
	byte k;
end:
	do
	:: d_step { buffer[r].n -> write_out(r, 0) }
	:: d_step { FREE_1(r) -> write_out(r, 1) }
	:: d_step { FREE_2(r) -> write_out(r, 2) }
	:: d_step { FREE_3(r) -> write_out(r, 3) }
	od
}

/* A full barrier in reader @r. */
inline barrier(r)
{
	do
	:: buffer[r].n ->
		write_out(r, 0)
	:: else ->
		break
	od
}

/* ---- calls ----------------------------------------------------------------------- */

/* Goes from the registration of @p, whose memory must not be freed, to the next older one. */
inline next_registration(p)
{
	d_step {
		if
		:: p == 0 ->
			p = (linked[B] -> B : (linked[A] -> A : BASE))
		:: p == B ->
			assert(!gone[B]);
			p = (linked[A] -> A : BASE)
		:: p == A ->
			assert(!gone[A]);
			p = BASE
		fi
	}
}

inline resolve(p)
{
	do
	:: next_registration(p);
		if
		:: unregistering[p]
		:: else ->
			break
		fi
	od
}

/*
 * Finds the provider @p in the section: by @id, the table that was read, or by the rules. The
 * assertion checks that no call is lost. The record and the end of the section are stored in
 * one step: if other threads ran between the two stores, or read only the first one, grace
 * periods would only be longer.
 */
inline enter(r, class, id, p)
{
	if
	:: id == RESOLVE ->
		resolve(p)
	:: else
	fi;
	atomic {
		ROOM(r, 2) ->
		if
		:: id == RESOLVE
		:: else ->
			assert(!(freed & TABLE_BIT(id)));
			p = serves[id]
		fi;
		assert(p == A || p == B || p == BASE);
		id = 0;
		/* to save states, no record for BASE, which is never unregistered */
		if
		:: class == SLEEPABLE ->
			if
			:: p != BASE -> store(r, RECORD, p)
			:: else
			fi;
			store(r, SECTION, 0)
		:: else
		fi
	}
}

/*
 * The function returns. Until then, its code and the memory of its provider must not be
 * freed. The function writes to this memory as its last step.
 */
inline leave_call(r, class, p)
{
	atomic {
		ROOM(r, 2) ->
		assert(!gone[p]);
		calls++;
		if
		:: p != BASE -> store(r, MEMORY, p)
		:: else
		fi;
		if
		:: class == ATOMIC ->
			store(r, SECTION, 0)
		:: class == SLEEPABLE && p != BASE ->
			store(r, RECORD, 0)
		:: else
		fi
	}
#ifdef KERNEL
	if
	:: class == SLEEPABLE && p != BASE ->
#ifndef NO_WAKE_ORDER
		d_step { barrier(r) }
#endif
		d_step { sleeps[0] = 0; sleeps[1] = 0 }
	:: else
	fi;
#endif
	d_step { p = 0; class = 0 }
}

proctype reader(byte r)
{
	byte calls, class, id, p, k;

end:
	do
	:: calls < (r == 0 -> CALLS_0 : CALLS_1) ->
		/* the store of SECTION may become visible much later */
		atomic {
			ROOM(r, 1) ->
			if
#ifndef ONLY_SLEEPABLE
			:: class = ATOMIC
#endif
			:: class = SLEEPABLE
			fi;
			store(r, SECTION, 1);
			id = table
		}
		enter(r, class, id, p);
		leave_call(r, class, p)
	od
}

/* ---- changes --------------------------------------------------------------------- */

/* The newest function that is not being unregistered. The writer has the lock. */
#define NEWEST		(linked[B] && !unregistering[B] -> B : \
			 (linked[A] && !unregistering[A] -> A : BASE))

/* With @may_fail the allocation of the table may fail. */
inline publish(id, may_fail)
{
	atomic {
		if
		:: new = id
		:: may_fail -> new = RESOLVE
		fi;
#ifndef NO_PUBLISH_ORDER
		if
		:: new == id -> serves[id] = NEWEST
		:: else
		fi;
#endif
		table = new
	}
#ifdef NO_PUBLISH_ORDER
	if
	:: new == id -> serves[id] = NEWEST
	:: else
	fi;
#endif
	d_step {
		if
		:: base != NO_TABLE ->
#ifdef NO_RETIRE
			freed = freed | TABLE_BIT(base)
#else
			retired = retired | TABLE_BIT(base)
#endif
		:: else
		fi;
		base = (new == RESOLVE -> NO_TABLE : new);
		new = 0;
		locked = 0
	}
}

/*
 * The grace period waits for readers that are in a section now. Reading a section directly
 * after its barrier gives the shortest possible grace period.
 */
inline examine(w, r)
{
	d_step {
#ifndef NO_ORDER_BEFORE
		barrier(r);
#endif
		waits_for[2 * w + r] = section[r]
	}
}

inline grace_period(w)
{
	d_step { batch = retired; retired = 0 };
	examine(w, 0);
	examine(w, 1);
	atomic {
		!waits_for[2 * w] && !waits_for[2 * w + 1];
#ifndef NO_ORDER
		barrier(0)
#endif
	}
	d_step {
#ifndef NO_ORDER
		barrier(1);
#endif
		freed = freed | batch;
		batch = 0
	}
}

/* No new call enters, so reading each record once, at any time, is enough. */
inline drain(w, p)
{
#ifdef KERNEL
	do
	:: record[0] != p && record[1] != p ->
		break
	:: else ->
		sleeps[w] = 1;
		if
		:: record[0] != p && record[1] != p ->
			sleeps[w] = 0;
			break
		:: else ->
			!sleeps[w]
		fi
	od
#else
	record[0] != p;
	record[1] != p
#endif
}

inline unregister(w, p, id)
{
	atomic { !locked -> locked = 1; unregistering[p] = 1 }
	linked[p] = 0;
	publish(id, true);
#ifndef NO_GRACE
	grace_period(w);
#endif
#ifndef NO_DRAIN
	drain(w, p);
#endif
	gone[p] = 1
}

proctype unregisters_a()
{
	byte new, batch, k;

	unregister(0, A, WITHOUT_A);
end:
	false
}

proctype registers_and_unregisters_b()
{
	byte new, batch, k;

	atomic { !locked -> locked = 1; linked[B] = 1 }
	publish(WITH_B, false);
	unregister(1, B, WITHOUT_B);
end:
	false
}

init {
	atomic {
		linked[A] = 1;
		serves[AT_FIRST] = A;
		run memory(0);
		run memory(1);
		run reader(0);
		run reader(1);
		run unregisters_a();
		run registers_and_unregisters_b()
	}
}
