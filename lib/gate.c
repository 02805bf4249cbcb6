// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The gate of the userspace world: who is inside of which provider.
 *
 * Every thread has a record of the calls that it is inside of, and writes
 * nothing else on its way in and out. Whoever drains reads all the records: it
 * has unpublished the functions and waited for a grace period, so every call
 * that found them is in a record by then.
 *
 * Once a thread has its record, entering and leaving are async-signal-safe: a
 * handler takes a slot above those of the code that it interrupted and has
 * given it back when it returns.
 */

#include "world.h"

#include <dispatchkey.h>
#include <signal.h>
#include <time.h>

/* Calls within calls that a thread can be in before it gets slower. */
#define GATE_SLOTS	64
#define CACHE_LINE	64

/* Kept out of the way of the calls that do not need it. */
#define SELDOM		__attribute__((noinline, cold))

struct gate_slot {
	const void *prov;	/* NULL: free */
	const void *block;
};

struct gate_record {
	char before[CACHE_LINE];	/* other threads' lines end here */
	struct gate_slot slots[GATE_SLOTS];
	unsigned int first;	/* every slot below this one is taken */
	unsigned int num_deep;	/* calls of this thread on the deep list */
	struct gate_record *next;	/* under gate_lock() */
	struct gate_record **link;
	char behind[CACHE_LINE];
};

/* A call for which there was no slot; it lies in dk_call.gate, of another type. */
struct gate_deep {
	const void *prov;
	const void *block;
	struct gate_record *who;
	void *next;	/* the next and previous one; gcc's LTO fails with their type */
	void *prev;
} __attribute__((may_alias));

/* dk_call.gate: [0] is the slot or 0, and then the rest is a gate_deep */
_Static_assert(sizeof(struct gate_deep) <= 7 * sizeof(u64), "it fits dk_call.gate");

static __thread DKC_INITIAL_EXEC struct gate_record *self;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gate_record *records;
static struct gate_deep *deep_calls;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int key_error;
static sigset_t mask_at_fork;

/* A handler that wants the lock must not interrupt who has it. */
static void gate_lock(sigset_t *mask)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, mask);
	pthread_mutex_lock(&lock);
}

static void gate_unlock(const sigset_t *mask)
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

/* Under the lock: forget a thread, with calls that it never returned from. */
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
	dkc_free(r);
}

static void thread_exit(void *r)
{
	sigset_t mask;

	gate_lock(&mask);
	self = NULL;
	record_free(r);
	gate_unlock(&mask);
}

static void key_make(void)
{
	key_error = pthread_key_create(&key, thread_exit);
}

SELDOM int dkc_gate_thread_init(void)
{
	struct gate_record *r;
	sigset_t mask;

	if (self)
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

	gate_lock(&mask);
	r->next = records;
	r->link = &records;
	if (r->next)
		r->next->link = &r->next;
	records = r;
	self = r;
	gate_unlock(&mask);
	return 0;
}

static SELDOM void deep_enter(struct dk_call *c, const void *prov, const void *block)
{
	struct gate_deep *d = (struct gate_deep *)&c->gate[1];
	sigset_t mask;

	c->gate[0] = 0;
	gate_lock(&mask);
	d->prov = prov;
	d->block = block;
	d->who = self;
	d->next = deep_calls;
	d->prev = NULL;
	if (deep_calls)
		deep_calls->prev = d;
	deep_calls = d;
	self->num_deep++;
	gate_unlock(&mask);
}

static SELDOM void deep_leave(struct dk_call *c)
{
	sigset_t mask;

	gate_lock(&mask);
	deep_unlink((struct gate_deep *)&c->gate[1]);
	self->num_deep--;
	gate_unlock(&mask);
}

int dkc_gate_enter(struct dk_call *c, const void *prov, const void *block)
{
	struct gate_slot *slot;
	struct gate_record *r;
	unsigned int i;

	if (dkc_unlikely(!self)) {
		int err = dkc_gate_thread_init();

		if (err)
			return err;
	}
	r = self;
	for (i = dkc_load(r->first); i < GATE_SLOTS; i++)
		if (dkc_likely(!dkc_load(r->slots[i].prov)))
			break;
	if (dkc_unlikely(i == GATE_SLOTS)) {
		deep_enter(c, prov, block);
		return 0;
	}
	slot = &r->slots[i];
	dkc_store(r->first, i + 1);
	dkc_store(slot->block, block);
	/* who sees this one also sees what the call before it in the slot did */
	__atomic_store_n(&slot->prov, prov, __ATOMIC_RELEASE);
	c->gate[0] = (uintptr_t)slot;
	return 0;
}

void dkc_gate_leave(struct dk_call *c)
{
	struct gate_slot *slot = (struct gate_slot *)(uintptr_t)c->gate[0];
	struct gate_record *r = self;
	unsigned int i;

	if (dkc_unlikely(!slot)) {
		deep_leave(c);
		return;
	}
	__atomic_store_n(&slot->prov, NULL, __ATOMIC_RELEASE);
	i = slot - r->slots;
	if (i < dkc_load(r->first))
		dkc_store(r->first, i);
}

static bool slot_is(const struct gate_slot *slot, const void *prov,
		    const void *block)
{
	return __atomic_load_n(&slot->prov, __ATOMIC_ACQUIRE) == prov &&
	       (!block || dkc_load(slot->block) == block);
}

bool dkc_gate_inside(const void *prov)
{
	const struct gate_record *r = self;
	const struct gate_deep *d;
	sigset_t mask;
	unsigned int i;

	if (!r)
		return false;
	for (i = 0; i < GATE_SLOTS; i++)
		if (slot_is(&r->slots[i], prov, NULL))
			return true;
	if (!r->num_deep)
		return false;

	gate_lock(&mask);
	for (d = deep_calls; d; d = d->next)
		if (d->who == r && d->prov == prov)
			break;
	gate_unlock(&mask);
	return d;
}

static bool somebody_inside(const void *prov, const void *block)
{
	const struct gate_record *r;
	const struct gate_deep *d;
	bool found = false;
	sigset_t mask;
	unsigned int i;

	gate_lock(&mask);
	for (r = records; r && !found; r = r->next)
		for (i = 0; i < GATE_SLOTS && !found; i++)
			found = slot_is(&r->slots[i], prov, block);
	for (d = deep_calls; d && !found; d = d->next)
		found = d->prov == prov && (!block || d->block == block);
	gate_unlock(&mask);
	return found;
}

/*
 * Looks again and again, at most 1 ms apart, so that leaving is one store and
 * wakes nobody.
 */
void dkc_gate_drain(const void *prov, const void *block)
{
	struct timespec pause = { .tv_nsec = 1000000 / 64 };
	int cancel;

	if (!somebody_inside(prov, block))
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	do {
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 1000000)
			pause.tv_nsec *= 2;
	} while (somebody_inside(prov, block));
	pthread_setcancelstate(cancel, NULL);
}

void dkc_gate_before_fork(void)
{
	sigset_t mask;

	gate_lock(&mask);
	mask_at_fork = mask;
}

void dkc_gate_after_fork(bool child)
{
	struct gate_record *r, *next;
	sigset_t mask = mask_at_fork;

	/* the other threads are not in the child, nor are their calls */
	for (r = child ? records : NULL; r; r = next) {
		next = r->next;
		if (r != self)
			record_free(r);
	}
	gate_unlock(&mask);
}
