// SPDX-License-Identifier: GPL-2.0-only
/*
 * dk_cycle_calls: starts threads that make calls while dk_cycle.ko is loaded and unloaded.
 * Parameters that can be read: calls, guest (calls that dk_cycle served), absent (calls of
 * dk_cycle's own operator while it did not exist), wrong (calls with a wrong result).
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>

#include "cycle.h"

#define THREADS	2

static long calls, from_guest, absent, wrong;
module_param(calls, long, 0400);
module_param_named(guest, from_guest, long, 0400);
module_param(absent, long, 0400);
module_param(wrong, long, 0400);

/* The counts of one thread, which add() adds to the parameters now and then. */
struct count {
	long calls, guest, absent, wrong;
};

static DEFINE_MUTEX(lock);
static struct task_struct *task[THREADS];

static int caller(struct dk_call *c, struct dk_obj *x, int *served_by)
{
	*served_by = CYCLE_CALLER;
	return 0;
}

static const struct dk_impl impls[] = {
	DK_IMPL(cycle_sleeps, DK_COMPOSITE_EXPLICIT_AUTOGRAD, caller),
};

static const struct dk_impl atomic_impls[] = {
	DK_IMPL_ATOMIC(cycle_atomic, DK_COMPOSITE_EXPLICIT_AUTOGRAD, caller),
};

static struct dk_provider calls_prov = DK_PROVIDER("cycle_calls");

static void count_one(struct count *n, int err, int served_by, bool may_be_absent)
{
	n->calls++;
	if (!err && served_by == CYCLE_GUEST)
		n->guest++;
	else if (may_be_absent && err == -ENOENT)
		n->absent++;
	else if (err || may_be_absent || served_by != CYCLE_CALLER)
		n->wrong++;
}

static void call_all(struct count *n)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	int served_by = CYCLE_NONE, err;

	err = cycle_sleeps(&x, &served_by);
	count_one(n, err, served_by, false);
	served_by = CYCLE_NONE;
	err = cycle_atomic(&x, &served_by);
	count_one(n, err, served_by, false);
	served_by = CYCLE_NONE;
	err = cycle_own(&x, &served_by);
	count_one(n, err, served_by, true);
}

static void add(struct count *n)
{
	mutex_lock(&lock);
	calls += n->calls;
	from_guest += n->guest;
	absent += n->absent;
	wrong += n->wrong;
	mutex_unlock(&lock);
	memset(n, 0, sizeof(*n));
}

static int thread(void *unused)
{
	struct count n = { 0 };
	unsigned int i;

	while (!kthread_should_stop()) {
		for (i = 0; i < 100; i++)
			call_all(&n);
		add(&n);
		/* leave some time for loading and unloading */
		usleep_range(100, 200);
	}
	return 0;
}

static int start(void)
{
	unsigned int i;

	for (i = 0; i < THREADS; i++) {
		task[i] = kthread_run(thread, NULL, "dk_cycle/%u", i);
		if (IS_ERR(task[i]))
			return PTR_ERR(task[i]);
	}
	return 0;
}

static void stop(void)
{
	unsigned int i;

	for (i = 0; i < THREADS; i++)
		if (!IS_ERR_OR_NULL(task[i]))
			kthread_stop(task[i]);
	dk_provider_unregister(&calls_prov);
}

static int __init calls_init(void)
{
	int err = dk_provider_register(&calls_prov, NULL);

	if (!err)
		err = dk_op_define(&calls_prov, &cycle_sleeps_op, 0, NULL);
	if (!err)
		err = dk_op_define(&calls_prov, &cycle_atomic_op, DK_OP_ATOMIC, NULL);
	if (!err)
		err = dk_impls_register(&calls_prov, impls, 1, NULL);
	if (!err)
		err = dk_impls_register(&calls_prov, atomic_impls, 1, NULL);
	if (!err)
		err = start();
	if (err)
		stop();
	return err;
}
module_init(calls_init);

static void __exit calls_exit(void)
{
	stop();
}
module_exit(calls_exit);

MODULE_DESCRIPTION("dispatchkey selftest: calls while a provider is loaded and unloaded");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
