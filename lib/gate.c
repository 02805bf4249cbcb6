// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The gate of the userspace world: slots that protect what calls use, and show which
 * provider each call is inside of.
 *
 * Every thread has a record with slots, and a call writes to one of them and to nothing
 * else that is shared: first the operator's table, marked by its lowest bit, and when it
 * has found its entry, that, until the function has returned. The entry lies in the
 * memory of its table and leads to registration and provider. So one look at all slots
 * tells which tables are in use, who is inside of a provider, and whether that is the
 * calling thread.
 *
 * The fast path, dk__begin(), reserves slots from the first one on, as calls nest. The
 * slow path, whose calls may be left in any order, takes them from the last one on, and
 * stores the registration itself, marked by the bit above: its frames have a copy of the
 * entry, or found it by the rules and in no table.
 *
 * A call stores its slot and then reads the table once more, with nothing in between
 * but the compiler's barrier; whoever publishes a table runs membarrier() and then reads
 * the slots: selftests/model/slots.pml. Where there is no membarrier(), no call takes the
 * fast path, and liburcu's read sections keep what the slow one reads until the slot is
 * stored.
 *
 * Once a thread has its record, entering and leaving are async-signal-safe: a handler
 * reserves a slot that the code which it interrupted has not, and has given it back when
 * it returns.
 */
#include "world.h"
#include "core/registry.h"

#include <dispatchkey.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Calls within calls that a thread can be in before it gets slower. */
#define GATE_SLOTS	64
#define CACHE_LINE	64

#define LAST_ROUND	(PTHREAD_DESTRUCTOR_ITERATIONS - 1)

/* Kept out of the way of the calls that do not need it. */
#define SELDOM		__attribute__((noinline, cold))

struct gate_record {
	char before[CACHE_LINE];	/* other threads' lines end here */
	const void *slots[GATE_SLOTS];
	pid_t tid;
	unsigned int rounds;		/* of its destructors that found a call inside */
	struct gate_record *next;	/* under dkc_gate_lock() */
	struct gate_record **link;
	struct dkc_thread_counts counts;
	char behind[CACHE_LINE];
};

/* A call for which there was no slot; it lies in its room, of another type. */
struct gate_deep {
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
__thread struct dk__thread dk__self;

/* Of a type that does not change: programs may have a copy of it. */
const struct dk__table dk__no_table = {
	.shape = (const struct dk__shape *)&dkc_shape_of_none,
	.first_direct = DK__NOT_DIRECT,
};

bool dkc_fences;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gate_record *records;
static struct gate_deep *deep_calls;
static struct dkc_rows *replacing;	/* rows that are waited for */
static struct dkc_rows in_use;		/* those that a call was inside of */
static unsigned int num_outliving;	/* records whose destructor runs no more */
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int key_error;
static sigset_t mask_at_fork;

/* What a slot has; 0: an entry of a row. */
#define A_TABLE		1	/* as dk__begin() stores it */
#define A_REG		2

static bool is_table(const void *slot)
{
	return (uintptr_t)slot & A_TABLE;
}

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
		if (dkc_load_acquire(r->slots[i]))
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
	unsigned int i;
	sigset_t mask;

	dkc_gate_lock(&mask);
	/* calls of the fast path were on the stack: a signal handler ended the thread inside */
	for (i = 0; i < GATE_SLOTS; i++)
		if (!((uintptr_t)r->slots[i] & A_REG))
			dkc_store(r->slots[i], NULL);
	dk__self.top = r->slots;
	if (record_in_use(r)) {
		again = ++r->rounds < LAST_ROUND;
		num_outliving += !again;
	} else {
		dkc_gate_self = NULL;
		dk__self.top = NULL;
		dk__self.limit = NULL;
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
	r->next = records;
	r->link = &records;
	if (r->next)
		r->next->link = &r->next;
	r->tid = gettid();
	records = r;
	dkc_gate_self = r;
	dkc_counts_thread_begin(&r->counts);
	dk__self.counts = &r->counts.by_block;
	dk__self.top = r->slots;
	dk__self.limit = r->counts.incomplete ? r->slots : &r->slots[GATE_SLOTS];
	dkc_gate_unlock(&mask);
	return 0;
}

static SELDOM void deep_enter(u64 *room, const struct dkc_reg *reg, const void *op)
{
	struct gate_deep *d = (struct gate_deep *)&room[1];
	sigset_t mask;

	room[0] = 0;
	dkc_gate_lock(&mask);
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

/*
 * The highest slot that is free and that the fast path has not reserved, or NULL. A
 * signal handler may come between any two instructions and take one, too, which is why
 * the fast path is kept away from a slot before it is taken.
 */
static inline const void **slot_take(const struct dkc_reg *reg)
{
	const void **slot = &dkc_gate_self->slots[GATE_SLOTS];
	const void *none;

	while (--slot >= dkc_load(dk__self.top)) {
		if (dkc_load(*slot))
			continue;
		if (dkc_load(dk__self.limit) > slot)
			dkc_store(dk__self.limit, slot);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		none = NULL;
		if (__atomic_compare_exchange_n(slot, &none, (const char *)reg + A_REG, false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return slot;
	}
	return NULL;
}

/* The fast path has no slot left: give it what calls of the slow path have left since. */
static SELDOM void limit_raise(struct gate_record *r)
{
	sigset_t all, mask;

	/* pairs with threads_complete() in lib/count.c: the parts are there */
	if (dkc_load_acquire(r->counts.incomplete))
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &mask);
	while (dk__self.limit < &r->slots[GATE_SLOTS] && !*dk__self.limit)
		dk__self.limit++;
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

int dkc_gate_enter(u64 *room, const struct dkc_reg *reg, const void *op)
{
	const void **slot;
	int err = dkc_gate_self ? 0 : dkc_gate_thread_init();

	if (dkc_unlikely(err))
		return err;
	if (dkc_unlikely(dk__self.top >= dk__self.limit))
		limit_raise(dkc_gate_self);
	slot = slot_take(reg);
	if (dkc_likely(slot))
		room[0] = (uintptr_t)slot;
	else
		deep_enter(room, reg, op);
	return 0;
}

static bool has_slot(const struct gate_record *r, const void *const *slot)
{
	return (uintptr_t)slot - ((uintptr_t)r + offsetof(struct gate_record, slots)) <
	       sizeof(r->slots);
}

static void inside(struct dkc_inside *in, const struct dkc_reg *reg, const void *op)
{
	in->prov = dkc_block_of(reg)->prov;
	in->reg = reg;
	in->op = op;
}

/* Whose function is a slot's call in? False where it is free, or in none yet. */
static bool slot_read(const void *const *slot, struct dkc_inside *in)
{
	const char *p = dkc_load_acquire(*slot);
	const struct dkc_reg *reg;

	if (!p || is_table(p))
		return false;
	reg = (uintptr_t)p & A_REG ? (const struct dkc_reg *)(p - A_REG) :
				     ((const struct dk__entry *)p)->reg;
	inside(in, reg, dkc_reg_op(reg));
	return true;
}

/* Called with the lock held, which keeps the record and what the call names. */
static void describe_stranger(const struct dkc_inside *in, char *text, size_t size)
{
	const struct gate_record *r = in->who;
	const struct dk_op *op = in->op;
	struct dkc_text t = { text, size, 0 };

	dkc_put(&t, "dispatchkey: ");
	dkc_put(&t, op ? op->name : "a backend fallback");
	dkc_put(&t, " was entered on thread ");
	dkc_put_dec(&t, r->tid);
	dkc_put(&t, ": it cannot be left on thread ");
	dkc_put_dec(&t, gettid());
	dkc_put(&t, "\n");
	dkc_put_end(&t);
}

/* Called with the lock held. */
static void describe_slot(const void *const *slot, char *text, size_t size)
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
	const void **slot = (const void **)(uintptr_t)room[0];
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
		in.who = d->who;
		inside(&in, d->reg, d->op);
		describe_stranger(&in, text, sizeof(text));
	}
	dkc_gate_unlock(&mask);
	while (text[0] && write(STDERR_FILENO, text, strlen(text)) < 0 && errno == EINTR)
		;
}

void dkc_gate_leave(u64 *room)
{
	const void **slot = (const void **)(uintptr_t)room[0];

	if (dkc_unlikely(!has_slot(dkc_gate_self, slot))) {
		leave_slowly(room);
		return;
	}
	__atomic_store_n(slot, NULL, __ATOMIC_RELEASE);
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
		struct dkc_inside in = { .who = d->who };

		inside(&in, d->reg, d->op);
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

/* ---- rows that were replaced ---------------------------------------------------------- */

/* At every moment a replaced row is at @from, or in one of the lists here. */
void dkc_rows_begin(struct dkc_rows *rows, struct dkc_retired **from)
{
	sigset_t mask;

	dkc_gate_lock(&mask);
	rows->first = __atomic_exchange_n(from, NULL, __ATOMIC_ACQUIRE);
	rows->next = replacing;
	replacing = rows;
	dkc_gate_unlock(&mask);
}

static struct dkc_row *row_at(struct dkc_retired *r, uintptr_t address)
{
	for (; r; r = r->next) {
		struct dkc_row *row = (struct dkc_row *)r;

		if (address - (uintptr_t)row < sizeof(*row) + row->n * sizeof(row->ent[0]))
			return row;
	}
	return NULL;
}

/* Under the lock: is a call at the table of a row that was replaced? */
static bool is_replaced(const void *marked)
{
	const struct dkc_rows *rows;

	for (rows = replacing; rows; rows = rows->next)
		if (row_at(rows->first, (uintptr_t)marked))
			return true;
	return row_at(in_use.first, (uintptr_t)marked);
}

/* Has another thread read such a table, and not yet found its entry? */
static bool any_looking(void)
{
	const struct gate_record *r;
	const void *slot;
	bool found = false;
	sigset_t mask;
	unsigned int i;

	dkc_gate_lock(&mask);
	for (r = records; r && !found; r = r->next)
		for (i = 0; r != dkc_gate_self && i < GATE_SLOTS && !found; i++) {
			slot = dkc_load_acquire(r->slots[i]);
			found = is_table(slot) && is_replaced(slot);
		}
	dkc_gate_unlock(&mask);
	return found;
}

/* Under the lock: mark the rows that a slot keeps. */
static void rows_mark(const struct dkc_rows *rows)
{
	const struct gate_record *r;
	struct dkc_row *row;
	const void *slot;
	unsigned int i;

	for (r = records; r; r = r->next)
		for (i = 0; i < GATE_SLOTS; i++) {
			slot = dkc_load_acquire(r->slots[i]);
			row = slot ? row_at(rows->first, (uintptr_t)slot) : NULL;
			if (row)
				row->kind = DKC_ROW_IN_USE;
		}
}

/* Under the lock: free what is not marked, and keep the rest; how many were there? */
static unsigned int rows_sweep(struct dkc_rows *rows, struct dkc_retired **kept,
			       unsigned int *num_kept)
{
	struct dkc_retired *r = rows->first, *next;
	unsigned int n = 0;

	for (rows->first = NULL; r; r = next, n++) {
		struct dkc_row *row = (struct dkc_row *)r;

		next = r->next;
		if (row->kind == DKC_ROW_IN_USE) {
			row->kind = DKC_ROW_FULL;
			r->next = *kept;
			*kept = r;
			++*num_kept;
		} else {
			free(row);
		}
	}
	return n;
}

/*
 * No reader of liburcu's is in a read section that is older than dkc_rows_begin(). Wait for
 * those of the fast path: all who have read a row that was replaced by then are inside of
 * one of its functions, or out. Then free the rows that nobody is inside of.
 */
unsigned int dkc_rows_end(struct dkc_rows *rows, unsigned int *num_kept)
{
	struct dkc_retired *kept = NULL;
	/* and no sched_yield(): a thread of real-time priority keeps others from running by that */
	const struct timespec while_ago = { 0, 10000 };
	struct dkc_rows **p = &replacing;
	unsigned int n;
	sigset_t mask;

	if (dkc_fences && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		abort();	/* it worked before; liburcu ends the process, too */
	while (any_looking())
		nanosleep(&while_ago, NULL);
	dkc_gate_lock(&mask);
	rows_mark(rows);
	rows_mark(&in_use);
	*num_kept = 0;
	n = rows_sweep(rows, &kept, num_kept);
	rows_sweep(&in_use, &kept, num_kept);
	in_use.first = kept;
	while (*p != rows)
		p = &(*p)->next;
	*p = rows->next;
	dkc_gate_unlock(&mask);
	return n;
}

/* Is there a fence that makes all threads' stores seen? The process asks for it once. */
void dkc_gate_init(void)
{
	if (!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		dkc_fences = true;
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
	if (child) {
		replacing = NULL;	/* what other threads waited for stays */
		dkc_gate_init();
	}
	dkc_gate_unlock(&mask);
}
