// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The gate of the userspace world: which threads are inside of which provider.
 *
 * Every thread has a record of the calls that it is inside of, and writes
 * nothing else on its way in and out. A drain reads all the records: it has
 * unpublished the functions and waited for a grace period, so every call that
 * found them is in a record by then.
 *
 * Once a thread has its record, entering and leaving are async-signal-safe: a
 * handler takes a slot above those of the code that it interrupted and has
 * given it back when it returns.
 */

#include "world.h"
#include "core/registry.h"

#include <dispatchkey.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Calls within calls that a thread can be in before it gets slower. */
#define GATE_SLOTS	64
#define CACHE_LINE	64

#define LAST_ROUND	(PTHREAD_DESTRUCTOR_ITERATIONS - 1)

/* Kept out of the way of the calls that do not need it. */
#define SELDOM		__attribute__((noinline, cold))

struct gate_slot {
	const void *prov;	/* NULL: free */
	const struct dkc_reg *reg;
	const void *op;
	unsigned long seq;	/* of the calls that used it */
};

struct gate_record {
	char before[CACHE_LINE];	/* other threads' lines end here */
	struct gate_slot slots[GATE_SLOTS + 1];	/* the last one is never free */
	struct gate_slot *first;	/* every slot below this one is taken */
	pid_t tid;
	unsigned int rounds;		/* of its destructors that found a call inside */
	struct gate_record *next;	/* under dkc_gate_lock() */
	struct gate_record **link;
	struct dkc_thread_counts counts;
	char behind[CACHE_LINE];
};

/* A call for which there was no slot; it lies in its room, of another type. */
struct gate_deep {
	const void *prov;
	const struct dkc_reg *reg;
	const void *op;
	struct gate_record *who;
	void *next;	/* the next and previous one; gcc's LTO fails with their type */
	void *prev;
} __attribute__((may_alias));

/* The room: [0] is the slot or 0, and then the rest is a gate_deep. */
_Static_assert(sizeof(struct gate_deep) <= (DKC_GATE_ROOM - 1) * sizeof(u64),
	       "it fits the room");

__thread DKC_INITIAL_EXEC struct gate_record *dkc_gate_self;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gate_record *records;
static struct gate_deep *deep_calls;
static unsigned int num_outliving;	/* records whose destructor runs no more */
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int key_error;
static sigset_t mask_at_fork;

/* A handler that wants the lock must not interrupt the thread that has it. */
void dkc_gate_lock(sigset_t *mask)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, mask);
	pthread_mutex_lock(&lock);
}

void dkc_gate_unlock(const sigset_t *mask)
{
	pthread_mutex_unlock(&lock);
	pthread_sigmask(SIG_SETMASK, mask, NULL);
}

static void deep_unlink(struct gate_deep *d)
{
	struct gate_deep *next = d->next, *prev = d->prev;

	if (prev)
		prev->next = next;
	else
		deep_calls = next;
	if (next)
		next->prev = prev;
}

/* Called with the lock held: drop the record, and the deep calls of the thread. */
static void record_free(struct gate_record *r)
{
	struct gate_deep *d, *next;

	for (d = deep_calls; d; d = next) {
		next = d->next;
		if (d->who == r)
			deep_unlink(d);
	}
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
	num_outliving -= r->rounds == LAST_ROUND;
	dkc_counts_thread_end(&r->counts);
	dkc_free(r);
}

/* Called with the lock held: is the thread inside a call? */
static bool record_in_use(const struct gate_record *r)
{
	const struct gate_deep *d = deep_calls;
	unsigned int i;

	for (i = 0; i < GATE_SLOTS; i++)
		if (dkc_load_acquire(r->slots[i].prov))
			return true;
	while (d && d->who != r)
		d = d->next;
	return d;
}

/*
 * The destructors of a thread's keys run in any order. A call that is still
 * inside may be left by a later one, so it keeps the record: the key is set
 * again and this runs again in the next round, as often as POSIX allows, but not
 * in the last one, when ThreadSanitizer has ended the thread. Then the record
 * stays, and drains report the call, unless a later destructor leaves it: another
 * thread frees the record with its first call.
 */
static void thread_exit(void *data)
{
	struct gate_record *r = data;
	bool again = false;
	sigset_t mask;

	dkc_gate_lock(&mask);
	if (record_in_use(r)) {
		again = ++r->rounds < LAST_ROUND;
		num_outliving += !again;
	} else {
		dkc_gate_self = NULL;
		record_free(r);
	}
	dkc_gate_unlock(&mask);
	if (again)
		pthread_setspecific(key, r);
}

/* Does the thread run no more? The caller, too, may have its number by now. */
static bool has_ended(const struct gate_record *r)
{
	int saved = errno;
	bool ended = r->tid == gettid() ||
		     (syscall(SYS_tgkill, getpid(), r->tid, 0) && errno == ESRCH);

	errno = saved;
	return ended;
}

/* Called with the lock held, by a thread that has no record. */
static void free_outliving(void)
{
	struct gate_record *r, *next;

	for (r = num_outliving ? records : NULL; r; r = next) {
		next = r->next;
		/* in this order: until it has ended, it may enter another call */
		if (r->rounds == LAST_ROUND && has_ended(r) && !record_in_use(r))
			record_free(r);
	}
}

static void key_make(void)
{
	key_error = pthread_key_create(&key, thread_exit);
}

SELDOM int dkc_gate_thread_init(void)
{
	struct gate_record *r;
	sigset_t mask;

	if (dkc_gate_self)
		return 0;
	pthread_once(&key_once, key_make);
	if (key_error)
		return -ENOMEM;
	r = dkc_alloc(sizeof(*r));
	if (!r)
		return -ENOMEM;
	if (pthread_setspecific(key, r)) {
		dkc_free(r);
		return -ENOMEM;
	}

	dkc_gate_lock(&mask);
	free_outliving();
	r->first = r->slots;
	r->slots[GATE_SLOTS].prov = r;
	r->next = records;
	r->link = &records;
	if (r->next)
		r->next->link = &r->next;
	r->tid = gettid();
	records = r;
	dkc_gate_self = r;
	dkc_counts_thread_begin(&r->counts);
	dkc_gate_unlock(&mask);
	return 0;
}

static SELDOM void deep_enter(u64 *room, const void *prov, const struct dkc_reg *reg,
			      const void *op)
{
	struct gate_deep *d = (struct gate_deep *)&room[1];
	sigset_t mask;

	room[0] = 0;
	dkc_gate_lock(&mask);
	d->prov = prov;
	d->reg = reg;
	d->op = op;
	d->who = dkc_gate_self;
	d->next = deep_calls;
	d->prev = NULL;
	if (deep_calls)
		deep_calls->prev = d;
	deep_calls = d;
	dkc_gate_unlock(&mask);
}

/* The room of a call that is in a slot begins with it. */
static inline void slot_enter(struct gate_record *r, struct gate_slot *slot, u64 *room,
			      const void *prov, const struct dkc_reg *reg, const void *op)
{
	dkc_store(r->first, slot + 1);
	/* from here on a handler does not use the slot */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	dkc_store_release(slot->seq, slot->seq + 1);
	dkc_store_release(slot->reg, reg);
	dkc_store_release(slot->op, op);
	/*
	 * a thread that reads this word also sees what the call before it in the slot
	 * did. Pairs with slot_read(): selftests/model/slot.pml
	 */
	dkc_store_release(slot->prov, prov);
	room[0] = (uintptr_t)slot;
}

/* A thread's first call, one whose first slot is taken, or that finds none. */
static SELDOM int enter_slowly(u64 *room, const void *prov, const struct dkc_reg *reg,
			       const void *op)
{
	int err = dkc_gate_thread_init();
	struct gate_slot *slot;

	if (err)
		return err;
	slot = dkc_load(dkc_gate_self->first);
	while (slot < &dkc_gate_self->slots[GATE_SLOTS] && dkc_load(slot->prov))
		slot++;
	if (slot < &dkc_gate_self->slots[GATE_SLOTS])
		slot_enter(dkc_gate_self, slot, room, prov, reg, op);
	else
		deep_enter(room, prov, reg, op);
	return 0;
}

int dkc_gate_enter(u64 *room, const void *prov, const struct dkc_reg *reg,
		   const void *op)
{
	struct gate_record *r = dkc_gate_self;
	struct gate_slot *slot;

	if (dkc_unlikely(!r))
		return enter_slowly(room, prov, reg, op);
	slot = dkc_load(r->first);
	if (dkc_unlikely(dkc_load(slot->prov)))
		return enter_slowly(room, prov, reg, op);
	slot_enter(r, slot, room, prov, reg, op);
	return 0;
}

/*
 * The words of a slot as one call wrote them; false if it is free. The thread
 * may go on meanwhile, but it counts a call before it writes any word of it, and
 * a reader that sees the word sees the count: selftests/model/slot.pml.
 */
static bool slot_read(const struct gate_slot *slot, struct dkc_inside *in)
{
	unsigned long seq;

	do {
		seq = dkc_load_acquire(slot->seq);
		in->prov = dkc_load_acquire(slot->prov);
		in->reg = dkc_load_acquire(slot->reg);
		in->op = dkc_load_acquire(slot->op);
	} while (dkc_load(slot->seq) != seq);
	return in->prov;
}

static bool has_slot(const struct gate_record *r, const struct gate_slot *slot)
{
	return (uintptr_t)slot - ((uintptr_t)r + offsetof(struct gate_record, slots)) <
	       sizeof(r->slots);
}

/* Called with the lock held, which keeps the record and what the call names. */
static void describe_stranger(const struct dkc_inside *in, char *text, size_t size)
{
	const struct gate_record *r = in->who;
	const struct dk_op *op = in->op;
	struct dkc_text t = { text, size, 0 };

	dkc_put(&t, "dispatchkey: ");
	dkc_put(&t, op->name);
	dkc_put(&t, " was entered on thread ");
	dkc_put_dec(&t, r->tid);
	dkc_put(&t, ": it cannot be left on thread ");
	dkc_put_dec(&t, gettid());
	dkc_put(&t, "\n");
	dkc_put_end(&t);
}

/* Called with the lock held. */
static void describe_slot(const struct gate_slot *slot, char *text, size_t size)
{
	struct dkc_inside in;
	const struct gate_record *r = records;

	while (r && !has_slot(r, slot))
		r = r->next;
	in.who = r;
	if (r && slot_read(slot, &in))
		describe_stranger(&in, text, size);
}

/*
 * A call without a slot, or one that another thread entered. Called in signal
 * handlers, which must not use stdio.
 */
static SELDOM void leave_slowly(u64 *room)
{
	const struct gate_slot *slot = (struct gate_slot *)(uintptr_t)room[0];
	struct gate_deep *d = (struct gate_deep *)&room[1];
	struct dkc_inside in;
	char text[256] = "";
	sigset_t mask;

	dkc_gate_lock(&mask);
	if (slot) {
		describe_slot(slot, text, sizeof(text));
	} else if (d->who == dkc_gate_self) {
		deep_unlink(d);
	} else {
		in = (struct dkc_inside){ d->prov, d->reg, d->op, d->who };
		describe_stranger(&in, text, sizeof(text));
	}
	dkc_gate_unlock(&mask);
	while (text[0] && write(STDERR_FILENO, text, strlen(text)) < 0 && errno == EINTR)
		;
}

void dkc_gate_leave(u64 *room)
{
	struct gate_slot *slot = (struct gate_slot *)(uintptr_t)room[0];
	struct gate_record *r = dkc_gate_self;

	if (dkc_unlikely(!has_slot(r, slot))) {
		leave_slowly(room);
		return;
	}
	__atomic_store_n(&slot->prov, NULL, __ATOMIC_RELEASE);
	if (slot < dkc_load(r->first))
		dkc_store(r->first, slot);
}

static bool any_slot(const struct gate_record *r, dkc_inside_fn is, void *data)
{
	struct dkc_inside in = { .who = r };
	unsigned int i;

	for (i = 0; i < GATE_SLOTS; i++)
		if (slot_read(&r->slots[i], &in) && is(&in, data))
			return true;
	return false;
}

/* Under the lock; of one thread, or of all. */
static bool any_deep(const struct gate_record *r, dkc_inside_fn is, void *data)
{
	const struct gate_deep *d;

	for (d = deep_calls; d; d = d->next) {
		struct dkc_inside in = { d->prov, d->reg, d->op, d->who };

		if ((!r || d->who == r) && is(&in, data))
			return true;
	}
	return false;
}

bool dkc_gate_any(bool mine, dkc_inside_fn is, void *data)
{
	const struct gate_record *r = mine ? dkc_gate_self : NULL;
	bool found = false;
	sigset_t mask;

	if (mine && !r)
		return false;
	dkc_gate_lock(&mask);
	if (mine)
		found = any_slot(r, is, data);
	for (r = mine ? NULL : records; r && !found; r = r->next)
		found = any_slot(r, is, data);
	if (!found)
		found = any_deep(mine ? dkc_gate_self : NULL, is, data);
	dkc_gate_unlock(&mask);
	return found;
}

/*
 * Looks again and again, at most 1 ms apart, so that leaving is one store and
 * wakes nobody.
 */
bool dkc_gate_wait(const void *prov, const void *reg, dkc_inside_fn is, void *data,
		   u64 deadline)
{
	struct timespec pause = { .tv_nsec = 1000000 / 64 };
	bool inside = dkc_gate_any(false, is, data);
	int cancel;

	(void)prov;
	(void)reg;
	if (!inside)
		return true;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	while (inside && (!deadline || dkc_now() < deadline)) {
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 1000000)
			pause.tv_nsec *= 2;
		inside = dkc_gate_any(false, is, data);
	}
	pthread_setcancelstate(cancel, NULL);
	return !inside;
}

/* Waiters poll. */
void dkc_gate_wake(const void *reg)
{
	(void)reg;
}

/* Called with the lock held, which keeps the record. */
u32 dkc_inside_who(const struct dkc_inside *in, char *name, size_t size)
{
	const struct gate_record *r = in->who;
	char path[40];
	int fd, cancel;
	ssize_t n = -1;

	/* another thread may have the number by now */
	if (r->rounds) {
		snprintf(name, size, "(exited)");
		return r->tid;
	}
	/* a thread that is cancelled in there would keep the locks */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", (int)r->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, size - 1);
		close(fd);
	}
	pthread_setcancelstate(cancel, NULL);
	name[n > 0 ? n - (name[n - 1] == '\n') : 0] = 0;
	return r->tid;
}

void dkc_gate_before_fork(void)
{
	sigset_t mask;

	dkc_gate_lock(&mask);
	mask_at_fork = mask;
}

void dkc_gate_after_fork(bool child)
{
	struct gate_record *r, *next;
	sigset_t mask = mask_at_fork;

	/* the other threads are not in the child, nor are their calls */
	for (r = child ? records : NULL; r; r = next) {
		next = r->next;
		if (r != dkc_gate_self)
			record_free(r);
		else
			r->tid = gettid();
	}
	dkc_gate_unlock(&mask);
}
