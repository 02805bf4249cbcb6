// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel threads, timers and interrupts call operators while providers register and unregister;
 * threads.c does the same in userspace.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/smp.h>
#include <linux/timer.h>

#include "churn.h"

#define SECONDS		2

DK_OP(block, "kthreads::block",
	(struct dk_obj *x, struct completion *in, struct completion *go),
	(x, in, go), (x));

/* ---- calls during all kinds of changes ------------------------------------- */

/* A timer, and interrupts on every CPU, call an atomic operator. */
static struct timer_list timer;
static atomic64_t sent_by_interrupts, lost_by_interrupts;

static void call_swift(void *unused)
{
	if (churn_swift())
		atomic64_inc(&lost_by_interrupts);
	atomic64_inc(&sent_by_interrupts);
}

static void timer_calls(struct timer_list *t)
{
	call_swift(NULL);
	mod_timer(t, jiffies + 1);
}

static void all_call(void)
{
	on_each_cpu(call_swift, NULL, 1);
}

static void call_while_all_changes(void)
{
	unsigned long end = jiffies + SECONDS * HZ;
	unsigned int rounds = 0;

	atomic64_set(&sent_by_interrupts, 0);
	atomic64_set(&lost_by_interrupts, 0);
	churn_begin();
	timer_setup(&timer, timer_calls, 0);
	mod_timer(&timer, jiffies + 1);
	while (time_before(jiffies, end))
		churn_round(rounds++, all_call);
	/* the timer restarts itself: repeat until it was not pending */
	while (timer_delete_sync(&timer))
		;
	CHECK(atomic64_read(&sent_by_interrupts));
	churn_end(rounds, atomic64_read(&sent_by_interrupts),
		  atomic64_read(&lost_by_interrupts));
}

/* ---- a call that blocks --------------------------------------------------- */

static struct dk_op *block_handle;
static struct completion inside, may_return;

static int block_here(struct dk_call *c, struct dk_obj *x, struct completion *in,
		      struct completion *go_on)
{
	complete(in);
	wait_for_completion(go_on);
	return 0;
}

static int call_and_stay(void *result)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	*(int *)result = block_at(block_handle, &dk_local_default, &x, &inside,
				  &may_return);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/* A call that blocks inside one provider does not delay the unregistration of another. */
static void slow_call_delays_only_its_provider(void)
{
	static const struct dk_impl slow[] = { DK_IMPL(block, DK_CPU, block_here) };
	static const struct dk_impl of_b[] = {
		DK_IMPL(count, DK_CPU, count_here), DK_IMPL(block, DK_CUDA, block_here),
	};
	static struct dk_provider a, b;
	struct task_struct *task;
	int result = 1;
	u32 device;

	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&a, "a");
	t_join(&b, "b");
	init_completion(&inside);
	init_completion(&may_return);
	CHECK_OK(dk_op_define(&b, &count_op, 0, &t_why));
	CHECK_OK(dk_op_define(&a, &block_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&a, slow, 1, &t_why));
	CHECK_OK(dk_impls_register(&b, of_b, 2, &t_why));
	block_handle = dk_op_get(t_reg, "kthreads::block");
	task = kthread_run(call_and_stay, &result, "dk_api_test");
	if (!CHECK(!IS_ERR(task)))
		goto out;
	wait_for_completion(&inside);
	/* if the call delayed provider b, these functions would never return */
	CHECK_OK(dk_impls_unregister(&b, of_b, &t_why));
	CHECK_OK(dk_device_register(&b, 1, "d", NULL, NULL, 0, &device, &t_why));
	CHECK_OK(dk_device_unregister(&b, device, &t_why));
	CHECK_OK(dk_provider_drain(&b));
	t_unregister(&b);
	CHECK_INT(result, 1);
	complete(&may_return);
	t_unregister(&a);
	kthread_stop(task);
	CHECK_INT(result, 0);
out:
	if (a.core)
		t_unregister(&a);
	if (b.core)
		t_unregister(&b);
	dk_op_put(block_handle);
	t_close();
}

DK_OP(pass, "kthreads::pass", (struct dk_obj *x), (x), (x));

static int pass_here(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

static void unregister(void *prov)
{
	CHECK_OK(dk_provider_unregister(prov));
}

/* Returns after the unregistering thread has waited for the call for 1 ms. */
static void await_waiting(struct dk_provider *prov)
{
	struct dk_inside in = { .size = sizeof(in) };

	do
		w_sleep_us(200);
	while (dk_provider_inside(prov, 0, &in) || !in.ms);
}

/*
 * When a call of one provider returns, threads that wait for calls of other providers are not
 * woken. The test counts the context switches of such a thread. It allows one, since the thread
 * might not sleep yet when the count begins.
 */
static void returning_call_wakes_only_its_waiters(void)
{
	static const struct dk_impl of_a[] = { DK_IMPL(block, DK_CPU, block_here) };
	static const struct dk_impl of_b[] = { DK_IMPL(pass, DK_CPU, pass_here) };
	static struct dk_provider host, a, b;
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_op *pass_handle;
	struct task_struct *task;
	struct w_thread waiter;
	int result = 1, i;
	u64 before;

	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&host, "host");
	t_join(&a, "a");
	t_join(&b, "b");
	init_completion(&inside);
	init_completion(&may_return);
	CHECK_OK(dk_op_define(&host, &pass_op, 0, &t_why));
	CHECK_OK(dk_op_define(&host, &block_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&a, of_a, 1, &t_why));
	CHECK_OK(dk_impls_register(&b, of_b, 1, &t_why));
	block_handle = dk_op_get(t_reg, "kthreads::block");
	pass_handle = dk_op_get(t_reg, "kthreads::pass");
	task = kthread_run(call_and_stay, &result, "dk_api_test");
	if (!CHECK(!IS_ERR(task)))
		return;
	wait_for_completion(&inside);
	if (!CHECK_OK(w_start(&waiter, "dk_waiter", unregister, &a)))
		return;
	await_waiting(&a);
	before = READ_ONCE(waiter.task->nvcsw);
	for (i = 0; i < 50; i++) {
		CHECK_OK(pass_at(pass_handle, &dk_local_default, &x));
		/* sleep, so that a thread that was woken can run */
		w_sleep_us(200);
	}
	CHECK(READ_ONCE(waiter.task->nvcsw) - before <= 1);
	complete(&may_return);
	w_join(&waiter);
	kthread_stop(task);
	CHECK_INT(result, 0);
	t_unregister(&b);
	t_unregister(&host);
	dk_op_put(block_handle);
	dk_op_put(pass_handle);
	t_close();
}

T_SUITE(kthreads,
	T(call_while_all_changes),
	T(slow_call_delays_only_its_provider),
	T(returning_call_wakes_only_its_waiters));
