// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Waits for grace periods, and frees memory after them, with liburcu's bp flavour. */

#include "private.h"
#include "core/change/change.h"

#include <time.h>

/* dkc_flush_retired() waits for a grace period if this many objects are retired. */
#define RETIRE_BATCH	64

static struct rcu_head *retired;	/* to be freed after a grace period */
static struct rcu_head *replaced;	/* replaced tables; slots may still point to them */
static unsigned int num_retired;	/* objects in both lists */
static unsigned int num_kept;		/* replaced tables that calls still use */
/*
 * liburcu registers and removes threads under a lock that urcu_bp_before_fork() does not take. If
 * another thread forked at that moment, this lock would stay locked in the child, and the first
 * call of a new thread of the child would never return. So each thread holds @registering while it
 * registers with liburcu. fork() takes @registering, and waits for threads that are being removed.
 */
static pthread_mutex_t registering = PTHREAD_MUTEX_INITIALIZER;
static sigset_t mask_at_fork;
/* The locks that this thread holds during fork(). */
static __thread DKC_INITIAL_EXEC struct {
	bool liburcu;
	bool registering;
} fork_holds;

/*
 * The longest wait of fork() for other threads. Removing a thread takes less than a microsecond.
 * But dkc_threads_any_removed() regards an ending thread as being removed until the destructors of
 * its keys have run, and a destructor may wait for the thread that forks.
 */
#define FORK_WAIT_MS	1000

#ifdef DKC_TSAN
char dkc_grace_period;
#endif

/*
 * Tests first whether liburcu knows the thread. If not, urcu_bp_read_ongoing() would register the
 * thread without the lock @registering.
 */
bool dkc_in_atomic(void)
{
	return URCU_TLS(urcu_bp_reader) && urcu_bp_read_ongoing();
}

/* Pushes without a lock. A consumer takes the whole list, so there is no ABA problem. */
static void retire(struct rcu_head *r, struct rcu_head **list)
{
	struct rcu_head *head = __atomic_load_n(list, __ATOMIC_RELAXED);

	/* count before the object is in the list, so that num_retired cannot underflow */
	__atomic_fetch_add(&num_retired, 1, __ATOMIC_RELAXED);
	/* the release pairs with the exchange in dkc_synchronize_rcu() or dkc_replaced_begin() */
	do {
		r->next = head;
	} while (!__atomic_compare_exchange_n(list, &head, r, true,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

void dkc_free_rcu(struct rcu_head *r)
{
	retire(r, &retired);
}

void dkc_free_table_rcu(struct dkc_table *table)
{
	retire(&table->rcu, &replaced);
}

/* Frees a list of objects, each of which begins with its rcu_head. Returns their number. */
static unsigned int free_all(struct rcu_head *r)
{
	struct rcu_head *next;
	unsigned int n = 0;

	for (; r; r = next, n++) {
		next = r->next;
		kvfree(r);
	}
	return n;
}

void dkc_synchronize_rcu(void)
{
	/* objects that are already retired are freed after the grace period; pairs with retire() */
	struct rcu_head *batch = __atomic_exchange_n(&retired, NULL,
							__ATOMIC_ACQUIRE);
	struct rcu_head *unused = NULL;
	struct dkc_replaced tables;
	unsigned int n;
	int cancel;

	dkc_replaced_begin(&tables, &replaced);
	/* no cancellation: a cancelled thread would keep liburcu's lock */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	urcu_bp_synchronize_rcu();
	dkc_readers_ended();
	n = dkc_replaced_end(&tables, &num_kept, &unused);
	pthread_setcancelstate(cancel, NULL);
	free_all(unused);
	n += free_all(batch);
	__atomic_fetch_sub(&num_retired, n, __ATOMIC_RELAXED);
}

#ifdef DK_TEST_RETIRED
unsigned int dk_test_retired(void)
{
	unsigned int kept;
	sigset_t mask;

	dkc_gate_lock(&mask);	/* protects num_kept */
	kept = num_kept;
	dkc_gate_unlock(&mask);
	return __atomic_load_n(&num_retired, __ATOMIC_RELAXED) + kept;
}
#endif

void dkc_flush_retired(void)
{
	if (__atomic_load_n(&num_retired, __ATOMIC_RELAXED) >= RETIRE_BATCH &&
	    !dkc_in_atomic())
		synchronize_rcu();
}

/* Takes the lock with signals blocked, because a handler that makes a call may take it, too. */
static void lock_registering(sigset_t *mask)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, mask);
	pthread_mutex_lock(&registering);
}

void dkc_rcu_thread_init(void)
{
	sigset_t mask;

	if (URCU_TLS(urcu_bp_reader))
		return;
	dkc_thread_set_reader(NULL);
	lock_registering(&mask);
	urcu_bp_register_thread();
	pthread_mutex_unlock(&registering);
	dkc_thread_set_reader(&URCU_TLS(urcu_bp_reader));
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/*
 * Waits until liburcu is neither registering nor removing a thread, but at most FORK_WAIT_MS.
 * Called with liburcu's locks held.
 */
static void wait_for_liburcu(void)
{
	const struct timespec pause = { 0, 10000 };
	u64 deadline = dkc_now() + FORK_WAIT_MS;
	int cancel;

	/* no cancellation: a cancelled thread would keep the locks */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	for (;;) {
		/*
		 * if another copy of this library took liburcu's locks, @registering is not held
		 * yet
		 */
		if (!fork_holds.registering)
			fork_holds.registering = !pthread_mutex_trylock(&registering);
		if ((fork_holds.registering && !dkc_threads_any_removed()) || dkc_now() >= deadline)
			break;
		nanosleep(&pause, NULL);
	}
	pthread_setcancelstate(cancel, NULL);
}

/*
 * liburcu's lock must be taken only once for each fork(). But the process may contain another copy
 * of this library with the same handler, for example in a plugin that links the library statically.
 * So the first handler also begins a read-side critical section. The others find that they are in a
 * section, and do not take the lock. No grace period waits for this section, because the section
 * begins with the lock held.
 */
void dkc_rcu_before_fork(void)
{
	sigset_t mask;

	if (!dkc_in_atomic()) {
		dkc_record_make();
		dkc_rcu_thread_init();
		lock_registering(&mask);
		mask_at_fork = mask;
		fork_holds.registering = true;
		urcu_bp_before_fork();
		urcu_bp_read_lock();
		fork_holds.liburcu = true;
	}
	wait_for_liburcu();
}

static void forked(bool child)
{
	const bool first = fork_holds.liburcu;
	sigset_t mask = mask_at_fork;

	if (first) {
		urcu_bp_read_unlock();
		if (child)
			urcu_bp_after_fork_child();
		else
			urcu_bp_after_fork_parent();
	}
	if (fork_holds.registering)
		pthread_mutex_unlock(&registering);
	else if (child)
		/* the lock's holder waited for liburcu's locks, and does not exist in the child */
		registering = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	fork_holds.liburcu = false;
	fork_holds.registering = false;
	if (first)
		pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void dkc_rcu_after_fork(bool child)
{
	const struct rcu_head *r;
	unsigned int n = 0;

	forked(child);
	if (!child)
		return;
	/*
	 * Count again: a batch that another thread had taken is never freed in the child. The
	 * accesses are atomic, because nothing orders them after the stores of the other threads,
	 * which do not exist here.
	 */
	for (r = __atomic_load_n(&retired, __ATOMIC_ACQUIRE); r; r = r->next)
		n++;
	for (r = __atomic_load_n(&replaced, __ATOMIC_ACQUIRE); r; r = r->next)
		n++;
	__atomic_store_n(&num_retired, n, __ATOMIC_RELAXED);
}
