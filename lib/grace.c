// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Waits for grace periods with a deadline, in userspace. liburcu 0.13 has no function to poll a
 * grace period, so a helper thread waits for the grace period. The helper and the provider share a
 * struct dkc_grace_thread, which is freed by the one that uses it last.
 */

#include "private.h"

#include <signal.h>
#include <time.h>

struct dkc_grace_thread {
	unsigned int owners;	/* references */
	bool over;
};

static void grace_put(struct dkc_grace_thread *t)
{
	if (!__atomic_sub_fetch(&t->owners, 1, __ATOMIC_ACQ_REL))
		kvfree(t);
}

static void *grace_run(void *data)
{
	struct dkc_grace_thread *t = data;

	synchronize_rcu();
	/* pairs with the acquire in dkc_grace_wait() */
	__atomic_store_n(&t->over, true, __ATOMIC_RELEASE);
	grace_put(t);
	return NULL;
}

/* Signals are blocked in the helper: handlers of the program must not run on it. */
static int grace_start(struct dkc_grace_thread *t)
{
	pthread_attr_t attr;
	sigset_t all, mask;
	pthread_t thread;
	int err;

	t->owners = 2;
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
	struct dkc_grace_thread *t = kvzalloc(sizeof(*t), GFP_KERNEL);

	if (t && grace_start(t)) {
		kvfree(t);
		t = NULL;
	}
	g->thread = t;
	return t;
}

bool dkc_grace_wait(struct dkc_grace *g, u64 deadline)
{
	const struct timespec pause = { 0, 100000 };
	struct dkc_grace_thread *t = g->thread;
	bool over;
	int cancel;

	if (!t)
		return false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	for (;;) {
		/* pairs with the release in grace_run() */
		over = __atomic_load_n(&t->over, __ATOMIC_ACQUIRE);
		if (over || (deadline && dkc_now() >= deadline))
			break;
		nanosleep(&pause, NULL);
	}
	pthread_setcancelstate(cancel, NULL);
	return over;
}

void dkc_grace_end(struct dkc_grace *g)
{
	struct dkc_grace_thread *t = g->thread;

	g->thread = NULL;
	if (t)
		grace_put(t);
}

void dkc_grace_forget(struct dkc_grace *g)
{
	kvfree(g->thread);
	g->thread = NULL;
}
