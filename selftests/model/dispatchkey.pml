// SPDX-License-Identifier: GPL-2.0-only
/*
 * Enter, publish and retire, for Spin: two threads that call, one that takes
 * provider A out, and one that registers B and takes it out again.
 *
 * The memory of those who call is as weak as any: what one stores waits in a
 * buffer and comes out in any order, but for stores to the same place, and for
 * those that release, which come out behind all that was stored before. README
 * says which line of the code each step is.
 *
 * -DKERNEL		who drains sleeps until it is woken; else it looks again
 * -DONLY_SLEEPABLE	no atomic calls
 * -DCALLS_0=N -DCALLS_1=N	calls of each reader
 *
 * Each of these takes one thing away that the code relies on:
 *
 * -DNO_GRACE		no grace period between unpublishing and draining
 * -DNO_ORDER		the grace period ends without a barrier in every thread:
 *			a section is seen to have ended, and the record that was
 *			stored in it is not
 * -DNO_ORDER_BEFORE	it begins without one: a section that has begun is not
 *			seen
 * -DNO_DRAIN		nobody waits for the records
 * -DNO_RELEASE		a record is taken back by a plain store
 * -DNO_PUBLISH_ORDER	a row is published before it is filled
 * -DNO_RETIRE		a replaced row is freed at once
 * -DNO_WAKE_ORDER	(KERNEL) no barrier between taking a record back and
 *			looking for who sleeps
 */

#define READERS		2
#ifndef CALLS_0
#define CALLS_0		1	/* of the first reader */
#define CALLS_1		1	/* and of the second */
#endif
#define BUFFER		6	/* stores that wait: all of one call, and one more */

/* who serves; 0 is what a row names that nobody has filled */
#define A		1
#define B		2
#define BASE		3

/* the class of a call; what changes is the same, so there is one row for both */
#define ATOMIC		0
#define SLEEPABLE	1

/* rows: each is published once; the last one is constant and asks the rules */
#define AT_FIRST	0
#define WITHOUT_A	1
#define WITH_B		2
#define WITHOUT_B	3
#define RESOLVE		4
#define NO_ROW		5

bool locked;			/* the registry's lock */
byte row;			/* op->row */
byte base;			/* op->base */
byte serves[4];			/* what a row names */
byte retired, freed;		/* rows, a bit each */
bool linked[4], going[4];	/* a provider's registration, and its state */
bool gone[4];			/* its memory and its text are given back */

#define ROW_BIT(id)	(1 << (id))

/* ---- the memory of the readers --------------------------------------------------- */

/* what others see */
byte section[READERS];		/* in a section of RCU? */
byte record[READERS];		/* the slot of the gate: whose function, or 0 */
bool waits_for[4];		/* a writer's grace period waits for a reader */
bool sleeps[2];			/* a writer is in the wait queue */

/* what is stored to */
#define NONE		0
#define SECTION		1
#define RECORD		2
#define MEMORY		3	/* that of the provider whose function runs */

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

/* There is room for so many; or wait until some have come out. */
#define ROOM(r, stores)	(buffer[r].n + (stores) <= BUFFER)

#define AT(r, i)	buffer[r].place[i]
#ifdef NO_RELEASE
#define RELEASES(r, i)	(AT(r, i) == RECORD && buffer[r].value[i] != 0)
#else
#define RELEASES(r, i)	(AT(r, i) == RECORD)
#endif

/* May store number @i come out before those in front of it? */
#define FREE_1(r)	(buffer[r].n > 1 && !RELEASES(r, 1) && AT(r, 1) != AT(r, 0))
#define FREE_2(r)	(buffer[r].n > 2 && !RELEASES(r, 2) && AT(r, 2) != AT(r, 0) && \
			 AT(r, 2) != AT(r, 1))
#define FREE_3(r)	(buffer[r].n > 3 && !RELEASES(r, 3) && AT(r, 3) != AT(r, 0) && \
			 AT(r, 3) != AT(r, 1) && AT(r, 3) != AT(r, 2))
/* one of the first four is of the same place as the fifth, as there are three */

/* Store number @i is seen by all. */
inline come_out(r, i)
{
	if
	:: AT(r, i) == SECTION ->
		section[r] = buffer[r].value[i];
		if
		:: !section[r] ->
			/* a grace period ends as early as it may */
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

/* Now and then one does. */
proctype memory(byte r)
{
	byte k;
end:
	do
	:: d_step { buffer[r].n -> come_out(r, 0) }
	:: d_step { FREE_1(r) -> come_out(r, 1) }
	:: d_step { FREE_2(r) -> come_out(r, 2) }
	:: d_step { FREE_3(r) -> come_out(r, 3) }
	od
}

/* A full barrier in reader @r. */
inline barrier(r)
{
	do
	:: buffer[r].n ->
		come_out(r, 0)
	:: else ->
		break
	od
}

/* ---- calls ----------------------------------------------------------------------- */

/* The newest registration behind that of @p, whose memory must be there. */
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
		:: going[p]
		:: else ->
			break
		fi
	od
}

/*
 * In the section: the row has been read, and says who serves or that the rules
 * do. No call is lost. Record and end of the section are stored in one step: that
 * others run in between, or see one store before the other is made, only makes a
 * grace period longer.
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
			assert(!(freed & ROW_BIT(id)));
			p = serves[id]
		fi;
		assert(p == A || p == B || p == BASE);
		id = 0;
		/* what stays for ever needs no looking after: fewer states */
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
 * The function has run to its end: it was there until now, and so was what its
 * provider gave it, to which it writes at the last moment.
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
		/* that it is in the section may be seen long after */
		atomic {
			ROOM(r, 1) ->
			if
#ifndef ONLY_SLEEPABLE
			:: class = ATOMIC
#endif
			:: class = SLEEPABLE
			fi;
			store(r, SECTION, 1);
			id = row
		}
		enter(r, class, id, p);
		leave_call(r, class, p)
	od
}

/* ---- changes --------------------------------------------------------------------- */

/* The newest that stays; the writer has the lock. */
#define SERVING		(linked[B] && !going[B] -> B : \
			 (linked[A] && !going[A] -> A : BASE))

/* With @may_fail there may be no memory for a row. */
inline publish(id, may_fail)
{
	atomic {
		if
		:: new = id
		:: may_fail -> new = RESOLVE
		fi;
#ifndef NO_PUBLISH_ORDER
		if
		:: new == id -> serves[id] = SERVING
		:: else
		fi;
#endif
		row = new
	}
#ifdef NO_PUBLISH_ORDER
	if
	:: new == id -> serves[id] = SERVING
	:: else
	fi;
#endif
	d_step {
		if
		:: base != NO_ROW ->
#ifdef NO_RETIRE
			freed = freed | ROW_BIT(base)
#else
			retired = retired | ROW_BIT(base)
#endif
		:: else
		fi;
		base = (new == RESOLVE -> NO_ROW : new);
		new = 0;
		locked = 0
	}
}

/*
 * It waits for those that are in a section now; that each is looked at right
 * after its barrier is the shortest that there may be.
 */
inline look_at(w, r)
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
	look_at(w, 0);
	look_at(w, 1);
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

/* Nobody comes in any more, so one look at each, at some time, is enough. */
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

inline leave(w, p, id)
{
	atomic { !locked -> locked = 1; going[p] = 1 }
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

proctype leaves_a()
{
	byte new, batch, k;

	leave(0, A, WITHOUT_A);
end:
	false
}

proctype comes_and_leaves_b()
{
	byte new, batch, k;

	atomic { !locked -> locked = 1; linked[B] = 1 }
	publish(WITH_B, false);
	leave(1, B, WITHOUT_B);
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
		run leaves_a();
		run comes_and_leaves_b()
	}
}
