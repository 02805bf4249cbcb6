// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Memory and RCU of the userspace world: calloc() and liburcu's bp flavour. */

#include "world.h"
#include "core/registry.h"

#include <stdlib.h>
#include <time.h>

/* Replaced rows that wait before a grace period is spent on them. */
#define RETIRE_BATCH	64

static struct dkc_retired *retired;
static struct dkc_retired *replaced;	/* rows */
static unsigned int num_retired;
static unsigned int num_kept;	/* replaced rows that calls are inside of */
/* This thread is forking, and has liburcu's lock. */
static __thread DKC_INITIAL_EXEC bool forks;

#ifdef DKC_TSAN
char dkc_grace_period;
#endif

void *dkc_alloc(size_t size)
{
	return dkc_taken(dkc_fail_alloc() ? NULL : calloc(1, size));
}

void dkc_free(void *p)
{
	free(dkc_given_back(p));
}

bool dkc_in_atomic(void)
{
	return urcu_bp_read_ongoing();
}

/* Takes whole lists only, so a push needs no more than this. */
static void retire(struct dkc_retired *r, struct dkc_retired **list)
{
	struct dkc_retired *head = __atomic_load_n(list, __ATOMIC_RELAXED);

	(void)dkc_given_back(r);
	/* counted first, so that nobody takes off what was not put on */
	__atomic_fetch_add(&num_retired, 1, __ATOMIC_RELAXED);
	do {
		r->next = head;
	} while (!__atomic_compare_exchange_n(list, &head, r, true,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

void dkc_retire_node(struct dkc_retired *r)
{
	retire(r, &retired);
}

void dkc_retire_row(struct dkc_row *row)
{
	retire(&row->retired, &replaced);
}

void dkc_synchronize(void)
{
	/* what was retired by now may go with this grace period */
	struct dkc_retired *batch = __atomic_exchange_n(&retired, NULL,
							__ATOMIC_ACQUIRE);
	struct dkc_rows rows;
	unsigned int n;
	int cancel;

	dkc_rows_begin(&rows, &replaced);
	/* a thread that is cancelled in there would keep liburcu's lock */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	urcu_bp_synchronize_rcu();
	dkc_readers_ended();
	n = dkc_rows_end(&rows, &num_kept);
	pthread_setcancelstate(cancel, NULL);
	while (batch) {
		struct dkc_retired *next = batch->next;

		free(batch);
		batch = next;
		n++;
	}
	__atomic_fetch_sub(&num_retired, n, __ATOMIC_RELAXED);
}

#ifdef DKC_FAIL_ALLOC
unsigned int dk_test_retired(void)
{
	return __atomic_load_n(&num_retired, __ATOMIC_RELAXED) + num_kept;
}
#endif

u64 dkc_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000 + 1;
}

void dkc_flush_retired(void)
{
	if (__atomic_load_n(&num_retired, __ATOMIC_RELAXED) >= RETIRE_BATCH &&
	    !dkc_in_atomic())
		dkc_synchronize();
}

/* Whoever is waited for is in a function of a user, for as long as that takes. */
void dkc_wait_zero(const __u32 *p)
{
	const struct timespec while_ago = { 0, 100000 };

	while (__atomic_load_n(p, __ATOMIC_ACQUIRE))
		nanosleep(&while_ago, NULL);
}

void dkc_rcu_thread_init(void)
{
	urcu_bp_register_thread();
}

/*
 * liburcu's lock is to be taken once a fork. Another copy of this library in the
 * process, as where a plugin has one of its own, sees by the read section that
 * it was; begun behind the lock, it keeps nobody waiting.
 */
void dkc_rcu_before_fork(void)
{
	if (urcu_bp_read_ongoing())
		return;
	urcu_bp_register_thread();
	dkc_gate_thread_init();
	urcu_bp_before_fork();
	urcu_bp_read_lock();
	forks = true;
}

static void forked(bool child)
{
	if (!forks)
		return;
	forks = false;
	urcu_bp_read_unlock();
	if (child)
		urcu_bp_after_fork_child();
	else
		urcu_bp_after_fork_parent();
}

void dkc_rcu_after_fork(bool child)
{
	const struct dkc_retired *r;
	unsigned int n = 0;

	forked(child);
	if (!child)
		return;
	/*
	 * A batch that another thread was about to free is lost in the child. Atomic, because
	 * nothing orders what a thread that has ended did before this.
	 */
	for (r = __atomic_load_n(&retired, __ATOMIC_ACQUIRE); r; r = r->next)
		n++;
	for (r = __atomic_load_n(&replaced, __ATOMIC_ACQUIRE); r; r = r->next)
		n++;
	__atomic_store_n(&num_retired, n, __ATOMIC_RELAXED);
}
