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
 * handler takes only slots that the interrupted code has not taken. It may return without having
 * left a call that dk_call_enter() has entered.
 */
#include "thread.h"
#include "core/change/change.h"

#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The value of word 0 of a call's storage after the call was left. */
#define LEFT		1

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

/*
 * A copy relocation may copy this table into the program, so its type must not change. A plugin
 * that was opened with RTLD_DEEPBIND then passes the address of this one, and the library has that
 * of the copy. So dkc_is_out() does not compare addresses.
 */
const struct dk__table dk__no_table = {
	.index = (const struct dk__index *)&dkc_index_of_none,
	.first_direct = DK__NOT_DIRECT,
	.private_kind = DKC_TABLE_PLACEHOLDER,
};

bool dkc_fences;

static struct gate_overflow *overflow_calls;
static struct dk_deferred *deferred_calls;
static struct gate_overflow *mine_at_fork;

/* Registers the process for membarrier(). Called again in a child of fork(). */
void dkc_gate_init(void)
{
	if (!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		dkc_fences = true;
}

/* ---- entering -------------------------------------------------------------------- */

/* Running calls of slot_take() in this thread: signal handlers may interrupt them. */
static __thread DKC_INITIAL_EXEC unsigned int taking;

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
 * there is no such slot. The slot at @top is not taken: if the caller is a signal handler, the
 * interrupted dk__keep() may be about to reserve it.
 *
 * A signal handler may run between any two instructions, and take a slot on the fast or the slow
 * path. So @limit is lowered first, and not raised while @taking is not 0: then the fast path of a
 * handler does not take the slot. If its slow path takes the slot, cmpxchg_local() fails.
 */
static inline const void **slot_take(const struct dkc_reg *reg)
{
	const void **slot = &dkc_gate_self->slots[GATE_SLOTS];
	const void *mark = (const char *)reg + SLOT_REG;

	taking++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	while (--slot > READ_ONCE(dk__self.top)) {
		if (READ_ONCE(*slot))
			continue;
		if (READ_ONCE(dk__self.limit) > slot)
			WRITE_ONCE(dk__self.limit, slot);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		/* the release pairs with the acquire in slot_read() */
		if (!cmpxchg_local(slot, NULL, mark))
			goto out;
	}
	slot = NULL;
out:
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	taking--;
	return slot;
}

/*
 * Called when the fast path has reached the limit. Raises the limit to the lowest slot that the
 * slow path still uses.
 */
static COLD void limit_raise(struct gate_record *r)
{
	sigset_t all, mask;

	/* pairs with threads_complete() in lib/count.c: if false is loaded, the counters exist */
	if (smp_load_acquire(&r->counts.incomplete) || taking)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &mask);
	while (dk__self.limit < &r->slots[GATE_SLOTS] && !*dk__self.limit)
		dk__self.limit++;
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* Enters a call of a thread that has no record, or no free slot. */
static COLD int enter_slowly(u64 *storage, const struct dkc_reg *reg, const void *op)
{
	const void **slot;
	int err = dkc_record_make();

	if (err)
		return err;
	if (dk__self.top >= dk__self.limit)
		limit_raise(dkc_gate_self);
	slot = slot_take(reg);
	if (slot)
		storage[0] = (uintptr_t)slot;
	else
		overflow_add(storage, reg, op);
	return 0;
}

int dkc_gate_enter(u64 *storage, const struct dkc_reg *reg, const void *op)
{
	/* without a record both pointers are NULL */
	const void **slot = dk__self.top < dk__self.limit ? slot_take(reg) : NULL;

	if (unlikely(!slot))
		return enter_slowly(storage, reg, op);
	storage[0] = (uintptr_t)slot;
	return 0;
}

/* ---- leaving --------------------------------------------------------------------- */

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
 * Formats the message for a slot, unless the slot is free or the record that had it was freed.
 * Called with the lock held.
 */
static void describe_slot(const void *const *slot, char *text, size_t size)
{
	struct dkc_inside in;
	const struct gate_record *r = dkc_records;

	while (r && !has_slot(r, slot))
		r = r->next;
	in.task = r;
	if (r && slot_read(slot, &in))
		describe_other_thread(&in, text, size);
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
	} else if (dkc_is_record(d->record)) {
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

/* ---- running calls --------------------------------------------------------------- */

bool dkc_has_overflow(const struct gate_record *r)
{
	const struct gate_overflow *d = overflow_calls;

	while (d && d->record != r)
		d = d->next;
	return d;
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
	for (r = dkc_records; r && !found; r = r->next)
		found = any_slot(r, match, data);
	/* read the deferred calls last: a call is added to them before it leaves its slot */
	found = found || any_overflow(NULL, match, data) ||
		dkc_deferred_any(deferred_calls, match, data);
	dkc_gate_unlock(&mask);
	return found;
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

/* ---- deferred calls -------------------------------------------------------------- */

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

/* ---- fork() ---------------------------------------------------------------------- */

/* Collects the calls of this thread: the child may find the list changed half-way. */
COLD void dkc_calls_before_fork(void)
{
	struct gate_overflow *d;
	sigset_t mask;

	mine_at_fork = NULL;
	dkc_gate_lock(&mask);
	for (d = overflow_calls; d; d = d->next)
		if (d->record == dkc_gate_self) {
			d->mine = mine_at_fork;
			mine_at_fork = d;
		}
	dkc_gate_unlock(&mask);
}

COLD void dkc_calls_after_fork(void)
{
	struct gate_overflow *d;

	overflow_calls = NULL;
	for (d = mine_at_fork; d; d = d->mine)
		overflow_link(d);
	/*
	 * no thread of the child completes deferred calls; the memory of their tokens may be
	 * shared or freed
	 */
	deferred_calls = NULL;
}
