// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Implements the gate in userspace. The gate records running calls, so that unregistering can wait
 * for them. Its slots protect the tables that calls use, and record which provider each call is
 * inside.
 *
 * Each thread has a record with slots. The only shared memory that a call writes is one slot. The
 * call first stores the address of the operator's table in the slot, with SLOT_TABLE set. When it
 * has found a table entry, it stores the address of the entry instead. The slot is cleared when the
 * function returns. An entry is a part of its table's memory, and points to the registration, which
 * leads to the provider. So the slots show which tables are in use and which threads are inside a
 * provider.
 *
 * Calls on the fast path nest, so dk__begin() reserves slots from the first one upwards. Calls on
 * the slow path may end in any order, so they take slots from the last one downwards. A call on the
 * slow path does not use the entry in the table, so it stores the address of the registration, with
 * SLOT_REG set.
 *
 * A call on the fast path stores its slot and then reads the table again, with only a compiler
 * barrier in between. A writer publishes a table, runs membarrier() and then reads the slots: see
 * selftests/model/slots.pml. Without membarrier() no call takes the fast path. On the slow path, a
 * liburcu read-side critical section protects the table until the slot is stored.
 *
 * After a thread has got its record, entering and leaving a call are async-signal-safe: a signal
 * handler reserves a slot that the interrupted code has not reserved, and frees the slot before
 * the handler returns.
 */
#include "private.h"
#include "core/change/change.h"

#include <dispatchkey.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* A thread with this number of calls in flight takes a lock to enter another call. */
#define GATE_SLOTS	64
#define CACHE_LINE	64

/* The last run of thread_exit() for a thread. */
#define LAST_ROUND	(PTHREAD_DESTRUCTOR_ITERATIONS - 1)

/* The value of word 0 of a call's storage after the call was left. */
#define LEFT		1

/* For functions that most calls do not need. */
#define COLD		noinline __attribute__((cold))

struct gate_record {
	char pad_before[CACHE_LINE];	/* no cache line is shared with other threads */
	const void *slots[GATE_SLOTS];
	pid_t tid;
	unsigned int rounds;		/* runs of thread_exit() that kept the record */
	struct urcu_bp_reader *const *reader;	/* see dkc_gate_set_reader() */
	struct gate_record *next;	/* read with one of the two locks held, changed with both */
	struct gate_record **link;
	struct dkc_thread_counts counts;
	char pad_after[CACHE_LINE];
};

/*
 * A call for which no slot was free. This struct is in the storage that the caller passes to
 * dkc_gate_enter(). The storage is an array of u64, hence may_alias.
 */
struct gate_overflow {
	const struct dkc_reg *reg;
	const void *op;
	struct gate_record *record;	/* the record of the thread that entered the call */
	void *next;	/* a struct gate_overflow, but with this type gcc's LTO would fail */
	void *prev;
	void *mine;	/* during fork(): the next one of the thread that forks */
} __attribute__((may_alias));

/* Word 0 of the storage is the address of the slot or, if a gate_overflow follows, 0. */
static_assert(sizeof(struct gate_overflow) <= (DKC_GATE_SIZE - 1) * sizeof(u64),
	      "struct gate_overflow must fit into the storage");

__thread DKC_INITIAL_EXEC struct gate_record *dkc_gate_self;
__thread struct dk__thread dk__self;
/* The thread is ending and its record was freed. Another record may outlive the thread. */
static __thread DKC_INITIAL_EXEC bool is_ending;

/* A copy relocation may copy this table into the program, so its type must not change. */
const struct dk__table dk__no_table = {
	.index = (const struct dk__index *)&dkc_index_of_none,
	.first_direct = DK__NOT_DIRECT,
};

bool dkc_fences;
u32 dkc_forks;

/*
 * Signal handlers take @lock, also those that interrupt malloc(). So while it is held, nothing may
 * allocate or free memory. @threads_lock is taken before @lock.
 */
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gate_record *records;
static struct gate_overflow *overflow_calls;
static struct dk_deferred *deferred_calls;
static struct dkc_replaced *replacing;	/* tables whose grace period has not ended */
static struct dkc_replaced in_use;	/* tables that calls still used after the grace period */
static unsigned int num_outliving;	/* records for which thread_exit() will not run again */
static pthread_key_t key;		/* of thread_exit() */
static bool has_key;
static struct gate_overflow *mine_at_fork;
static sigset_t mask_at_fork;

/* Tags of the address in a slot. An address without a tag points to an entry of a table. */
#define SLOT_TABLE	1	/* a table, stored by dk__begin() */
#define SLOT_REG	2	/* a registration */

static bool is_table_slot(const void *slot)
{
	return (uintptr_t)slot & SLOT_TABLE;
}

/*
 * Takes a lock with signals blocked, because a handler that makes a call may take the lock,
 * too. SIGTRAP stays unblocked: a probe in the locked code may be a breakpoint of a tracer in
 * this process. The handler of SIGTRAP must not call operators.
 */
static void lock_blocking_signals(pthread_mutex_t *one, sigset_t *mask)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGTRAP);
	pthread_sigmask(SIG_BLOCK, &all, mask);
	pthread_mutex_lock(one);
}

static void unlock_restoring_signals(pthread_mutex_t *one, const sigset_t *mask)
{
	pthread_mutex_unlock(one);
	pthread_sigmask(SIG_SETMASK, mask, NULL);
}

void dkc_gate_lock(sigset_t *mask)
{
	lock_blocking_signals(&lock, mask);
}

void dkc_gate_unlock(const sigset_t *mask)
{
	unlock_restoring_signals(&lock, mask);
}

void dkc_threads_lock(sigset_t *mask)
{
	lock_blocking_signals(&threads_lock, mask);
}

void dkc_threads_unlock(const sigset_t *mask)
{
	unlock_restoring_signals(&threads_lock, mask);
}

static void overflow_del(struct gate_overflow *d)
{
	struct gate_overflow *next = d->next, *prev = d->prev;

	if (prev)
		prev->next = next;
	else
		overflow_calls = next;
	if (next)
		next->prev = prev;
}

/* Moves a record to @removed. No call of its thread is in a list. Called with both locks held. */
static void record_remove(struct gate_record *r, struct gate_record **removed)
{
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
	num_outliving -= r->rounds == LAST_ROUND;
	dkc_counts_thread_end(&r->counts);
	r->next = *removed;
	*removed = r;
}

static void removed_free(struct gate_record *r)
{
	struct gate_record *next;

	for (; r; r = next) {
		next = r->next;
		dkc_counts_free(&r->counts);
		kvfree(r);
	}
}

/* Called with the lock held. True if the thread is inside a call. */
static bool record_in_use(const struct gate_record *r)
{
	const struct gate_overflow *d = overflow_calls;
	unsigned int i;

	for (i = 0; i < GATE_SLOTS; i++)
		/* pairs with the release in dkc_gate_leave() and dk__give_back() */
		if (smp_load_acquire(&r->slots[i]))
			return true;
	while (d && d->record != r)
		d = d->next;
	return d;
}

/* thread_exit() may not run again for the record. @reader points to memory of the thread. */
static void record_outlives(struct gate_record *r)
{
	r->rounds = LAST_ROUND;
	r->reader = NULL;
	num_outliving++;
}

/*
 * The destructor of the pthread key. Destructors of different keys run in any order. If the thread
 * is still inside a call, a later destructor may leave the call. Also, liburcu's destructor needs
 * the record. So this function sets the key again, and pthreads calls this function again in the
 * next round. POSIX limits the number of rounds. The last round is not used, because
 * ThreadSanitizer has ended the thread by then. After LAST_ROUND the record outlives the thread,
 * and drains report the call. If the call is left later, another thread that makes its first call
 * frees the record.
 */
static COLD void thread_exit(void *data)
{
	struct gate_record *r = data, *removed = NULL;
	unsigned int i;
	bool used, again;
	sigset_t mask, inner;

	dkc_threads_lock(&mask);
	dkc_gate_lock(&inner);
	/* drop calls of the fast path: the thread has ended inside them, and their stack is gone */
	for (i = 0; i < GATE_SLOTS; i++)
		if (!((uintptr_t)r->slots[i] & SLOT_REG))
			WRITE_ONCE(r->slots[i], NULL);
	dk__self.top = r->slots;
	used = record_in_use(r);
	again = (used || URCU_TLS(urcu_bp_reader)) && r->rounds + 1 < LAST_ROUND;
	if (again) {
		r->rounds++;
	} else if (used) {
		if (r->rounds < LAST_ROUND)
			record_outlives(r);
	} else {
		is_ending = true;
		dkc_gate_self = NULL;
		dk__self.top = NULL;
		dk__self.limit = NULL;
		record_remove(r, &removed);
	}
	dkc_gate_unlock(&inner);
	removed_free(removed);
	dkc_threads_unlock(&mask);
	if (again)
		pthread_setspecific(key, r);
}

/*
 * True if the thread of a record is known to have ended. The kernel may have given the thread's ID
 * to another thread. If that is the caller, it has another record, or none yet.
 */
static bool has_ended(const struct gate_record *r)
{
	int saved = errno;
	bool ended = r != dkc_gate_self &&
		     (r->tid == gettid() ||
		      (syscall(SYS_tgkill, getpid(), r->tid, 0) && errno == ESRCH));

	errno = saved;
	return ended;
}

/*
 * Moves the records of threads that have ended to @removed. The caller holds both locks, and has
 * no record.
 */
static void remove_outliving(struct gate_record **removed)
{
	struct gate_record *r, *next;

	for (r = num_outliving ? records : NULL; r; r = next) {
		next = r->next;
		/* check in this order: a thread that has not ended may enter another call */
		if (r->rounds == LAST_ROUND && has_ended(r) && !record_in_use(r))
			record_remove(r, removed);
	}
}

/* Called with threads_lock held. If there is no free key, the next call tries again. */
static bool key_set(struct gate_record *r)
{
	if (!has_key)
		has_key = !pthread_key_create(&key, thread_exit);
	return has_key && !pthread_setspecific(key, r);
}

COLD int dkc_gate_thread_init(void)
{
	struct gate_record *r, *removed = NULL;
	sigset_t mask, inner;

	if (dkc_gate_self)
		return 0;
	r = kvzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return -ENOMEM;
	dkc_threads_lock(&mask);
	if (!key_set(r)) {
		dkc_threads_unlock(&mask);
		kvfree(r);
		return -ENOMEM;
	}
	dkc_counts_alloc(&r->counts);
	dkc_gate_lock(&inner);
	remove_outliving(&removed);
	r->next = records;
	r->link = &records;
	if (r->next)
		r->next->link = &r->next;
	r->tid = gettid();
	if (is_ending)
		record_outlives(r);
	/* the program may have registered the thread with liburcu */
	else if (URCU_TLS(urcu_bp_reader))
		r->reader = &URCU_TLS(urcu_bp_reader);
	records = r;
	dkc_gate_self = r;
	dk__self.counts = &r->counts.by_block;
	dk__self.top = r->slots;
	dk__self.limit = r->counts.incomplete ? r->slots : &r->slots[GATE_SLOTS];
	dkc_gate_unlock(&inner);
	removed_free(removed);
	dkc_threads_unlock(&mask);
	return 0;
}

struct dkc_thread_counts *dkc_counts_self(void)
{
	return dkc_gate_self ? &dkc_gate_self->counts : NULL;
}

struct dkc_thread_counts *dkc_counts_next(const struct dkc_thread_counts *t)
{
	struct gate_record *r = t ? container_of(t, struct gate_record, counts)->next : records;

	return r ? &r->counts : NULL;
}

COLD void dkc_gate_set_reader(struct urcu_bp_reader *const *reader)
{
	sigset_t mask;

	if (!dkc_gate_self)
		return;
	dkc_gate_lock(&mask);
	if (dkc_gate_self->rounds < LAST_ROUND)
		dkc_gate_self->reader = reader;
	dkc_gate_unlock(&mask);
}

/*
 * Copies *@r->reader. Returns false if the memory of the thread is unmapped, which may happen at
 * any time: if a thread has made its first call in the last round of destructors, it ends without
 * thread_exit().
 */
static bool read_reader(const struct gate_record *r, struct urcu_bp_reader **reader)
{
	const struct iovec to = { reader, sizeof(*reader) };
	const struct iovec from = { (void *)r->reader, sizeof(*reader) };
	int saved = errno, err = 0;

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0)
		err = errno;
	errno = saved;
	/* a seccomp filter may forbid the system call */
	if (err && err != EFAULT)
		*reader = READ_ONCE(*r->reader);
	return err != EFAULT;
}

/* True if liburcu knew the thread when the record was made, and has removed it since. */
static bool is_removed(struct gate_record *r)
{
	struct urcu_bp_reader *reader;

	if (has_ended(r) || !read_reader(r, &reader)) {
		record_outlives(r);
		return false;
	}
	return !reader;
}

COLD bool dkc_gate_any_removed(void)
{
	struct gate_record *r;
	bool found = false;
	sigset_t mask;

	dkc_gate_lock(&mask);
	/* examine only threads with a record: the memory of other threads may be freed */
	for (r = records; r && !found; r = r->next)
		found = r->reader && is_removed(r);
	dkc_gate_unlock(&mask);
	return found;
}

static void overflow_link(struct gate_overflow *d)
{
	d->next = overflow_calls;
	d->prev = NULL;
	if (overflow_calls)
		overflow_calls->prev = d;
	overflow_calls = d;
}

static COLD void overflow_add(u64 *storage, const struct dkc_reg *reg, const void *op)
{
	struct gate_overflow *d = (struct gate_overflow *)&storage[1];
	sigset_t mask;

	storage[0] = 0;
	dkc_gate_lock(&mask);
	d->reg = reg;
	d->op = op;
	d->record = dkc_gate_self;
	overflow_link(d);
	dkc_gate_unlock(&mask);
}

/*
 * Takes the highest slot that is free and that the fast path has not reserved. Returns NULL if
 * there is no such slot. A signal handler may run between any two instructions, and take a slot on
 * the fast or the slow path. So @limit is lowered first: then the fast path of a handler does not
 * take the slot.
 */
static inline const void **slot_take(const struct dkc_reg *reg)
{
	const void **slot = &dkc_gate_self->slots[GATE_SLOTS];
	const void *none;

	while (--slot >= READ_ONCE(dk__self.top)) {
		if (READ_ONCE(*slot))
			continue;
		if (READ_ONCE(dk__self.limit) > slot)
			WRITE_ONCE(dk__self.limit, slot);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		none = NULL;
		/* the release pairs with the acquire in slot_read() */
		if (__atomic_compare_exchange_n(slot, &none, (const char *)reg + SLOT_REG, false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return slot;
	}
	return NULL;
}

/*
 * Called when the fast path has reached the limit. Raises the limit to the lowest slot that the
 * slow path still uses.
 */
static COLD void limit_raise(struct gate_record *r)
{
	sigset_t all, mask;

	/* pairs with threads_complete() in lib/count.c: if false is loaded, the counters exist */
	if (smp_load_acquire(&r->counts.incomplete))
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &mask);
	while (dk__self.limit < &r->slots[GATE_SLOTS] && !*dk__self.limit)
		dk__self.limit++;
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

int dkc_gate_enter(u64 *storage, const struct dkc_reg *reg, const void *op)
{
	const void **slot;
	int err = dkc_gate_self ? 0 : dkc_gate_thread_init();

	if (unlikely(err))
		return err;
	if (unlikely(dk__self.top >= dk__self.limit))
		limit_raise(dkc_gate_self);
	slot = slot_take(reg);
	if (likely(slot))
		storage[0] = (uintptr_t)slot;
	else
		overflow_add(storage, reg, op);
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

/* Reads a slot. Returns false if the slot is free, or if its call is still looking up an entry. */
static bool slot_read(const void *const *slot, struct dkc_inside *in)
{
	/* pairs with the release in slot_take(), dk__enter() and where the slot is freed */
	const char *p = smp_load_acquire(slot);
	const struct dkc_reg *reg;

	if (!p || is_table_slot(p))
		return false;
	reg = (uintptr_t)p & SLOT_REG ? (const struct dkc_reg *)(p - SLOT_REG) :
				     ((const struct dk__entry *)p)->reg;
	inside(in, reg, dkc_reg_op(reg));
	return true;
}

/*
 * Formats the message about an attempt to leave a call on another thread than it was entered on.
 * Called with the lock held, which protects the record. The lock also protects the operator,
 * because a drain takes the lock before the operator can be freed.
 */
static void describe_other_thread(const struct dkc_inside *in, char *text, size_t size)
{
	const struct gate_record *r = in->task;
	const struct dk_op *op = in->op;
	struct dkc_text t = { text, size, 0 };

	dkc_put(&t, "dispatchkey: ");
	dkc_put(&t, op ? op->name : "a backend fallback");
	dkc_put(&t, " was entered on thread ");
	dkc_put_dec(&t, r->tid);
	dkc_put(&t, ", and cannot be left on thread ");
	dkc_put_dec(&t, gettid());
	dkc_put(&t, "\n");
	dkc_put_end(&t);
}

/*
 * Formats the message for a slot, unless the slot is free or its thread has ended. Called with the
 * lock held.
 */
static void describe_slot(const void *const *slot, char *text, size_t size)
{
	struct dkc_inside in;
	const struct gate_record *r = records;

	while (r && !has_slot(r, slot))
		r = r->next;
	in.task = r;
	if (r && slot_read(slot, &in))
		describe_other_thread(&in, text, size);
}

/* False if the record was freed, because its thread has ended or does not exist in this child. */
static bool is_record(const struct gate_record *of_call)
{
	const struct gate_record *r = records;

	while (r && r != of_call)
		r = r->next;
	return r;
}

/*
 * Leaves an overflow call. If the call was entered on another thread or was already left, reports
 * this mistake instead. May run in a signal handler.
 */
static COLD void leave_slowly(u64 *storage)
{
	const void **slot = (const void **)(uintptr_t)storage[0];
	struct gate_overflow *d = (struct gate_overflow *)&storage[1];
	const struct dk_frame *f = container_of(storage, struct dk_frame, storage.gate[0]);
	struct dkc_inside in;
	char text[256] = "";
	sigset_t mask;

	if (storage[0] == LEFT) {
		dkc_misuse(dkc_name_of_call(&f->call), " was left twice");
		return;
	}
	dkc_gate_lock(&mask);
	if (slot) {
		describe_slot(slot, text, sizeof(text));
	} else if (d->record == dkc_gate_self) {
		overflow_del(d);
		storage[0] = LEFT;
	} else if (is_record(d->record)) {
		in.task = d->record;
		inside(&in, d->reg, d->op);
		describe_other_thread(&in, text, sizeof(text));
	}
	dkc_gate_unlock(&mask);
	dkc_write_stderr(text, strlen(text));
}

bool dkc_gate_owns(const u64 *storage)
{
	const struct gate_overflow *d = (const struct gate_overflow *)&storage[1];

	return storage[0] ? has_slot(dkc_gate_self, (const void **)(uintptr_t)storage[0]) :
			    d->record == dkc_gate_self;
}

void dkc_gate_leave(u64 *storage)
{
	const void **slot = (const void **)(uintptr_t)storage[0];

	if (unlikely(!has_slot(dkc_gate_self, slot))) {
		leave_slowly(storage);
		return;
	}
	/* pairs with the acquire in slot_read() and record_in_use() */
	__atomic_store_n(slot, NULL, __ATOMIC_RELEASE);
	storage[0] = LEFT;
}

static bool any_slot(const struct gate_record *r, dkc_inside_fn match, void *data)
{
	struct dkc_inside in = { .task = r };
	unsigned int i;

	for (i = 0; i < GATE_SLOTS; i++)
		if (slot_read(&r->slots[i], &in) && match(&in, data))
			return true;
	return false;
}

/* Called with the lock held. @r selects calls of one thread, or is NULL for all threads. */
static bool any_overflow(const struct gate_record *r, dkc_inside_fn match, void *data)
{
	const struct gate_overflow *d;

	for (d = overflow_calls; d; d = d->next) {
		struct dkc_inside in = { .task = d->record };

		inside(&in, d->reg, d->op);
		if ((!r || d->record == r) && match(&in, data))
			return true;
	}
	return false;
}

bool dkc_gate_mine(dkc_inside_fn match, void *data)
{
	const struct gate_record *r = dkc_gate_self;
	sigset_t mask;
	bool found;

	if (!r)
		return false;
	dkc_gate_lock(&mask);
	found = any_slot(r, match, data) || any_overflow(r, match, data);
	dkc_gate_unlock(&mask);
	return found;
}

bool dkc_gate_any(const void *prov, dkc_inside_fn match, void *data)
{
	const struct gate_record *r;
	bool found = false;
	sigset_t mask;

	(void)prov;
	dkc_gate_lock(&mask);
	for (r = records; r && !found; r = r->next)
		found = any_slot(r, match, data);
	/* read the deferred calls last: a call is added to them before it leaves its slot */
	found = found || any_overflow(NULL, match, data) ||
		dkc_deferred_any(deferred_calls, match, data);
	dkc_gate_unlock(&mask);
	return found;
}

int dkc_gate_defer(struct dk_deferred *d, const void *prov, const struct dkc_reg *reg)
{
	pid_t tid = dkc_gate_self ? dkc_gate_self->tid : gettid();
	sigset_t mask;
	int err;

	dkc_gate_lock(&mask);
	err = dkc_deferred_link(d, &deferred_calls, prov, reg, tid);
	dkc_gate_unlock(&mask);
	return err;
}

bool dkc_gate_complete(struct dk_deferred *d, int result)
{
	sigset_t mask;
	bool found;

	dkc_gate_lock(&mask);
	found = dkc_is_deferred(d);
	if (found) {
		dkc_trace(complete, d, result);
		dkc_deferred_unlink(d);
	}
	dkc_gate_unlock(&mask);
	return found;
}

/* ---- replaced tables -------------------------------------------------------------------- */

/*
 * Moves the list of tables at @from to @tables. Takes the lock, because is_replaced() requires that
 * each table that has left @from is in one of the lists of this file.
 */
void dkc_replaced_begin(struct dkc_replaced *tables, struct rcu_head **from)
{
	sigset_t mask;

	dkc_gate_lock(&mask);
	/* pairs with the release in retire() in lib/rcu.c */
	tables->first = __atomic_exchange_n(from, NULL, __ATOMIC_ACQUIRE);
	tables->next = replacing;
	replacing = tables;
	dkc_gate_unlock(&mask);
}

/* Returns the table in this list whose memory contains an address, or NULL. */
static struct dkc_table *table_at(struct rcu_head *r, uintptr_t address)
{
	for (; r; r = r->next) {
		struct dkc_table *table = (struct dkc_table *)r;

		if (address - (uintptr_t)table <
		    sizeof(*table) + table->n * sizeof(table->entry[0]))
			return table;
	}
	return NULL;
}

/*
 * Called with the lock held. True if @marked, which was read from a slot, points to a replaced
 * table.
 */
static bool is_replaced(const void *marked)
{
	const struct dkc_replaced *tables;

	for (tables = replacing; tables; tables = tables->next)
		if (table_at(tables->first, (uintptr_t)marked))
			return true;
	return table_at(in_use.first, (uintptr_t)marked);
}

/* True if another thread is still looking up an entry in a replaced table. */
static bool any_lookup(void)
{
	const struct gate_record *r;
	const void *slot;
	bool found = false;
	sigset_t mask;
	unsigned int i;

	dkc_gate_lock(&mask);
	for (r = records; r && !found; r = r->next)
		for (i = 0; r != dkc_gate_self && i < GATE_SLOTS && !found; i++) {
			/* pairs with the release in dk__enter() and dk__give_back() */
			slot = smp_load_acquire(&r->slots[i]);
			found = is_table_slot(slot) && is_replaced(slot);
		}
	dkc_gate_unlock(&mask);
	return found;
}

/* Called with the lock held. Marks the tables that are in use. */
static void replaced_mark(const struct dkc_replaced *tables)
{
	const struct gate_record *r;
	struct dkc_table *table;
	const void *slot;
	unsigned int i;

	for (r = records; r; r = r->next)
		for (i = 0; i < GATE_SLOTS; i++) {
			/* pairs with the release in dkc_gate_leave() and dk__give_back() */
			slot = smp_load_acquire(&r->slots[i]);
			table = slot ? table_at(tables->first, (uintptr_t)slot) : NULL;
			if (table)
				table->kind = DKC_TABLE_IN_USE;
		}
}

/*
 * Called with the lock held. Moves the tables that are marked to @kept, and removes their marks.
 * Moves the others to @unused. Returns the number of all tables.
 */
static unsigned int replaced_sweep(struct dkc_replaced *tables, struct rcu_head **kept,
				   unsigned int *num_kept, struct rcu_head **unused)
{
	struct rcu_head *r = tables->first, *next, **to;
	unsigned int n = 0;

	for (tables->first = NULL; r; r = next, n++) {
		struct dkc_table *table = (struct dkc_table *)r;
		bool used = table->kind == DKC_TABLE_IN_USE;

		if (used)
			table->kind = DKC_TABLE_FULL;
		*num_kept += used;
		to = used ? kept : unused;
		next = r->next;
		r->next = *to;
		*to = r;
	}
	return n;
}

/*
 * Called after a liburcu grace period that began after dkc_replaced_begin(). Waits until no call is
 * looking up an entry in one of @tables: each call that has read such a table has then ended or is
 * inside a function. Then moves the tables that no call uses to @unused.
 */
unsigned int dkc_replaced_end(struct dkc_replaced *tables, unsigned int *num_kept,
			      struct rcu_head **unused)
{
	struct rcu_head *kept = NULL;
	/* sleep: sched_yield() by a real-time thread would not let threads of lower priority run */
	const struct timespec pause = { 0, 10000 };
	struct dkc_replaced **p = &replacing;
	unsigned int n;
	sigset_t mask;

	/* pairs with dk__barrier() in dk__keep(), between its store and its second load */
	if (dkc_fences && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		abort();	/* membarrier() worked before; liburcu would also abort */
	while (any_lookup())
		nanosleep(&pause, NULL);
	dkc_gate_lock(&mask);
	replaced_mark(tables);
	replaced_mark(&in_use);
	*num_kept = 0;
	n = replaced_sweep(tables, &kept, num_kept, unused);
	replaced_sweep(&in_use, &kept, num_kept, unused);
	in_use.first = kept;
	while (*p != tables)
		p = &(*p)->next;
	*p = tables->next;
	dkc_gate_unlock(&mask);
	return n;
}

/* Registers the process for membarrier(). Called again in a child of fork(). */
void dkc_gate_init(void)
{
	if (!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		dkc_fences = true;
}

/*
 * Polls, at intervals that grow to 1 ms, because leaving a call is a single store and wakes no
 * waiter.
 */
bool dkc_gate_wait(const void *prov, dkc_inside_fn match, void *data, u64 deadline)
{
	struct timespec pause = { .tv_nsec = 1000000 / 64 };
	bool inside = dkc_gate_any(prov, match, data);
	int cancel;

	if (!inside)
		return true;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	while (inside && (!deadline || dkc_now() < deadline)) {
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 1000000)
			pause.tv_nsec *= 2;
		inside = dkc_gate_any(prov, match, data);
	}
	pthread_setcancelstate(cancel, NULL);
	return !inside;
}

/* Does nothing: waiters poll. */
void dkc_gate_wake(void)
{
}

/* If the record @task no longer exists, the call has returned and the thread has ended. */
COLD u32 dkc_inside_task(const void *task, char *name, size_t size)
{
	const struct gate_record *r = task;
	bool exited = true;
	char path[40];
	int fd, cancel;
	ssize_t n = -1;
	sigset_t mask;
	pid_t tid = 0;

	dkc_gate_lock(&mask);
	if (is_record(r)) {
		tid = r->tid;
		exited = r->rounds == LAST_ROUND;
	}
	dkc_gate_unlock(&mask);
	/* the kernel may have given the ID of a thread that has ended to another thread */
	if (exited) {
		snprintf(name, size, "(exited)");
		return tid;
	}
	/* no cancellation: a cancelled thread would keep the locks that it holds */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, size - 1);
		close(fd);
	}
	pthread_setcancelstate(cancel, NULL);
	name[n > 0 ? n - (name[n - 1] == '\n') : 0] = 0;
	return tid;
}

/*
 * fork() takes the locks of malloc() after this function, so only @threads_lock stays locked. It
 * protects the list of records. The child initialises the other lists again.
 */
COLD void dkc_gate_before_fork(void)
{
	struct gate_overflow *d;
	sigset_t mask, inner;

	dkc_threads_lock(&mask);
	mask_at_fork = mask;
	mine_at_fork = NULL;
	dkc_gate_lock(&inner);
	for (d = overflow_calls; d; d = d->next)
		if (d->record == dkc_gate_self) {
			d->mine = mine_at_fork;
			mine_at_fork = d;
		}
	dkc_gate_unlock(&inner);
}

/* Other threads may have held @lock and changed these lists during fork(). */
static void lists_after_fork(void)
{
	struct gate_overflow *d;

	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	overflow_calls = NULL;
	for (d = mine_at_fork; d; d = d->mine)
		overflow_link(d);
	/*
	 * no thread of the child completes deferred calls; the memory of their tokens may be
	 * shared or freed
	 */
	deferred_calls = NULL;
	replacing = NULL;	/* the threads that would free these tables do not exist */
	in_use.first = NULL;
}

COLD void dkc_gate_after_fork(bool child)
{
	struct gate_record *r, *next, *removed = NULL;
	sigset_t mask = mask_at_fork;

	if (child) {
		lists_after_fork();
		WRITE_ONCE(dkc_forks, dkc_forks + 1);
		dkc_gate_init();
	}
	/* neither the other threads nor their calls exist in the child */
	for (r = child ? records : NULL; r; r = next) {
		next = r->next;
		if (r != dkc_gate_self)
			record_remove(r, &removed);
		else
			r->tid = gettid();
	}
	removed_free(removed);
	dkc_threads_unlock(&mask);
}
