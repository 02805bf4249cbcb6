// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Grace periods of the userspace world that one may stop waiting for. liburcu
 * 0.13 cannot be asked whether one is over, so a thread waits for it. What they
 * share belongs to the one who began and to the thread, and the last of them
 * frees it. A child of fork() has only the one who began.
 */

#include "world.h"

#include <signal.h>
#include <time.h>

struct dkc_grace_thread {
	unsigned int owners;
	unsigned int forks;	/* as of its beginning */
	bool over;
};

static unsigned int num_forks;

static void grace_put(struct dkc_grace_thread *t)
{
	if (!__atomic_sub_fetch(&t->owners, 1, __ATOMIC_ACQ_REL))
		dkc_free(t);
}

static void *grace_run(void *data)
{
	struct dkc_grace_thread *t = data;

	dkc_synchronize();
	__atomic_store_n(&t->over, true, __ATOMIC_RELEASE);
	grace_put(t);
	return NULL;
}

/* Without a signal of the program's, which are not for this thread. */
static int grace_start(struct dkc_grace_thread *t)
{
	pthread_attr_t attr;
	sigset_t all, mask;
	pthread_t thread;
	int err;

	t->owners = 2;
	t->forks = num_forks;
	if (pthread_attr_init(&attr))
		return -ENOMEM;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &mask);
	err = pthread_create(&thread, &attr, grace_run, t);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	pthread_attr_destroy(&attr);
	return err ? -ENOMEM : 0;
}

bool dkc_grace_begin(struct dkc_grace *g)
{
	struct dkc_grace_thread *t = dkc_alloc(sizeof(*t));

	if (t && grace_start(t)) {
		dkc_free(t);
		t = NULL;
	}
	g->thread = t;
	return t;
}

bool dkc_grace_wait(struct dkc_grace *g, u64 deadline)
{
	const struct timespec while_ago = { 0, 100000 };
	struct dkc_grace_thread *t = g->thread;
	bool over;
	int cancel;

	if (!t)
		return false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	for (;;) {
		over = __atomic_load_n(&t->over, __ATOMIC_ACQUIRE);
		if (over || (deadline && dkc_now() >= deadline))
			break;
		/* the parent's: its thread is not here */
		if (t->forks != num_forks) {
			dkc_synchronize();
			t->over = true;
		} else {
			nanosleep(&while_ago, NULL);
		}
	}
	pthread_setcancelstate(cancel, NULL);
	return over;
}

void dkc_grace_end(struct dkc_grace *g)
{
	struct dkc_grace_thread *t = g->thread;

	g->thread = NULL;
	if (t && t->forks != num_forks)
		dkc_free(t);
	else if (t)
		grace_put(t);
}

void dkc_grace_after_fork(void)
{
	num_forks++;
}
