// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Keeps a record of each thread that has made a call: from its first call, or dk_thread_init(), to
 * its end. The record has the slots of the gate and the thread's parts of the counters.
 */
#include "thread.h"

#include <dispatchkey.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The last run of thread_exit() for a thread. */
#define LAST_ROUND	(PTHREAD_DESTRUCTOR_ITERATIONS - 1)

__thread DKC_INITIAL_EXEC struct gate_record *dkc_gate_self;
__thread struct dk__thread dk__self;
/* The thread is ending and its record was freed. Another record may outlive the thread. */
static __thread DKC_INITIAL_EXEC bool is_ending;

u32 dkc_forks;
struct gate_record *dkc_records;

/*
 * Signal handlers take @lock, also those that interrupt malloc(). So while it is held, nothing may
 * allocate or free memory. @threads_lock is taken before @lock.
 */
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int num_outliving;	/* records for which thread_exit() will not run again */
static pthread_key_t key;		/* of thread_exit() */
static bool has_key;
static sigset_t mask_at_fork;

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

bool dkc_is_record(const struct gate_record *record)
{
	const struct gate_record *r = dkc_records;

	while (r && r != record)
		r = r->next;
	return r;
}

/* ---- the end of a thread ------------------------------------------------------ */

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
	unsigned int i;

	for (i = 0; i < GATE_SLOTS; i++)
		/* pairs with the release in dkc_gate_leave() and dk__give_back() */
		if (smp_load_acquire(&r->slots[i]))
			return true;
	return dkc_has_overflow(r);
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

	for (r = num_outliving ? dkc_records : NULL; r; r = next) {
		next = r->next;
		/* check in this order: a thread that has not ended may enter another call */
		if (r->rounds == LAST_ROUND && has_ended(r) && !record_in_use(r))
			record_remove(r, removed);
	}
}

/* ---- the first call of a thread ------------------------------------------------ */

/* Called with threads_lock held. If there is no free key, the next call tries again. */
static bool key_set(struct gate_record *r)
{
	if (!has_key)
		has_key = !pthread_key_create(&key, thread_exit);
	return has_key && !pthread_setspecific(key, r);
}

COLD int dkc_record_make(void)
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
	r->next = dkc_records;
	r->link = &dkc_records;
	if (r->next)
		r->next->link = &r->next;
	r->tid = gettid();
	if (is_ending)
		record_outlives(r);
	/* the program may have registered the thread with liburcu */
	else if (URCU_TLS(urcu_bp_reader))
		r->reader = &URCU_TLS(urcu_bp_reader);
	dkc_records = r;
	dkc_gate_self = r;
	dk__self.counts = &r->counts.by_block;
	dk__self.top = r->slots;
	dk__self.limit = r->counts.incomplete ? r->slots : &r->slots[GATE_SLOTS];
	dkc_gate_unlock(&inner);
	removed_free(removed);
	dkc_threads_unlock(&mask);
	return 0;
}

int dk_thread_init(void)
{
	int err;

	if (!dk_registry_default())
		return -ENOMEM;
	err = dkc_record_make();
	dkc_rcu_thread_init();
	return err;
}

/* ---- counters, liburcu and messages --------------------------------------------- */

struct dkc_thread_counts *dkc_counts_self(void)
{
	return dkc_gate_self ? &dkc_gate_self->counts : NULL;
}

struct dkc_thread_counts *dkc_counts_next(const struct dkc_thread_counts *t)
{
	struct gate_record *r = t ? container_of(t, struct gate_record, counts)->next : dkc_records;

	return r ? &r->counts : NULL;
}

COLD void dkc_thread_set_reader(struct urcu_bp_reader *const *reader)
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
	/*
	 * A seccomp filter may forbid the system call, and an emulator may not have it. Then a call
	 * that blocks signals, which are blocked already, tells whether the memory is mapped.
	 */
	if (err && err != EFAULT) {
		err = syscall(SYS_rt_sigprocmask, SIG_BLOCK, r->reader, NULL, 8) ? errno : 0;
		if (!err)
			*reader = READ_ONCE(*r->reader);
	}
	errno = saved;
	return !err;
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

COLD bool dkc_threads_any_removed(void)
{
	struct gate_record *r;
	bool found = false;
	sigset_t mask;

	dkc_gate_lock(&mask);
	/* examine only threads with a record: the memory of other threads may be freed */
	for (r = dkc_records; r && !found; r = r->next)
		found = r->reader && is_removed(r);
	dkc_gate_unlock(&mask);
	return found;
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
	if (dkc_is_record(r)) {
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

/* ---- fork() ---------------------------------------------------------------------- */

/*
 * fork() takes the locks of malloc() after this function, so only @threads_lock stays locked. It
 * protects the list of records. The child initialises the other lists again.
 */
COLD void dkc_threads_before_fork(void)
{
	sigset_t mask;

	dkc_threads_lock(&mask);
	mask_at_fork = mask;
	dkc_calls_before_fork();
}

COLD void dkc_threads_after_fork(bool child)
{
	struct gate_record *r, *next, *removed = NULL;
	sigset_t mask = mask_at_fork;

	if (child) {
		lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
		dkc_calls_after_fork();
		dkc_replaced_after_fork();
		WRITE_ONCE(dkc_forks, dkc_forks + 1);
		dkc_gate_init();
	}
	/* neither the other threads nor their calls exist in the child */
	for (r = child ? dkc_records : NULL; r; r = next) {
		next = r->next;
		if (r != dkc_gate_self)
			record_remove(r, &removed);
		else
			r->tid = gettid();
	}
	removed_free(removed);
	dkc_threads_unlock(&mask);
}
