// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests for bugs of other projects that can only occur in the kernel: a CPU goes offline (16), and
 * a driver unregisters while its own thread is inside a call (18).
 */
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>

#include "test.h"

DK_OP(parked, "peers_kernel::parked", (struct dk_obj *x, struct completion *resume),
	(x, resume), (x));

static struct dk_provider keeper, prov;
static struct dk_op *op;
static struct completion inside;
static bool returned;

/* The call continues on another CPU if its own has gone offline. */
static int parked_here(struct dk_call *c, struct dk_obj *x, struct completion *resume)
{
	complete(&inside);
	wait_for_completion(resume);
	/* without a wait, the request to unregister would return during this time */
	msleep(50);
	WRITE_ONCE(returned, true);
	return 0;
}

static const struct dk_impl impls[] = { DK_IMPL(parked, DK_CPU, parked_here) };

/* A thread that makes one call. */
struct caller {
	struct task_struct *task;
	struct completion resume, done;
	int result;
};

static int call_once(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct caller *me = data;

	me->result = parked_at(op, &dk_local_default, &x, &me->resume);
	complete(&me->done);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static bool start(struct caller *me, int cpu)
{
	init_completion(&inside);
	init_completion(&me->resume);
	init_completion(&me->done);
	me->result = 1;
	returned = false;
	me->task = kthread_create(call_once, me, "dk_api_test");
	if (!CHECK(!IS_ERR(me->task)))
		return false;
	if (cpu >= 0)
		kthread_bind(me->task, cpu);
	wake_up_process(me->task);
	wait_for_completion(&inside);
	return true;
}

static void setup(void)
{
	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&keeper, "keeper");
	t_join(&prov, "prov");
	CHECK_OK(dk_op_define(&keeper, &parked_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, impls, 1, &t_why));
	op = t_get("peers_kernel::parked");
}

/* ---- 16: a CPU goes offline during a call that was entered on it ----------- */

#ifdef CONFIG_HOTPLUG_CPU
static int other_cpu(void)
{
	int cpu;

	for_each_online_cpu(cpu)
		if (cpu_is_hotpluggable(cpu))
			return cpu;
	return -1;
}

/* Unregistering finds the call in the list of the CPU that is offline. */
static void cpu_goes_offline_during_a_call(void)
{
	static struct caller caller;
	int cpu = other_cpu(), err;

	if (cpu < 0 || num_online_cpus() < 2) {
		t_skip("no CPU that can go offline");
		return;
	}
	setup();
	if (!start(&caller, cpu))
		return;
	err = remove_cpu(cpu);
	if (err) {
		t_note("CPU %d does not go offline: %d", cpu, err);
		t_skip("the CPU does not go offline");
	}
	/* the call does not delay another provider */
	CHECK_OK(dk_provider_drain(&keeper));
	complete(&caller.resume);
	CHECK_OK(dk_provider_unregister(&prov));
	CHECK(returned);
	wait_for_completion(&caller.done);
	CHECK_INT(caller.result, 0);
	kthread_stop(caller.task);
	if (!err)
		CHECK_OK(add_cpu(cpu));
	t_join(&prov, "prov");
	CHECK_OK(dk_impls_register(&prov, impls, 1, &t_why));
	/* the CPU is online again, and its list of calls is used as before */
	if (start(&caller, cpu)) {
		complete(&caller.resume);
		CHECK_OK(dk_provider_unregister(&prov));
		CHECK(returned);
		wait_for_completion(&caller.done);
		kthread_stop(caller.task);
		t_join(&prov, "prov");
	}
}
#else
static void cpu_goes_offline_during_a_call(void)
{
	t_skip("this kernel has no CPU hotplug");
}
#endif

/* ---- 18: the driver's own thread is inside a call --------------------------- */

DK_OP(own, "peers_kernel::own", (struct dk_obj *x, int *err), (x, err), (x));

static int rounds;

/* The driver's thread cannot unregister the driver inside a call: the wait would never end. */
static int own_here(struct dk_call *c, struct dk_obj *x, int *err)
{
	*err = dk_provider_unregister(&prov);
	WRITE_ONCE(rounds, rounds + 1);
	usleep_range(500, 1000);
	return 0;
}

static const struct dk_impl own_impls[] = { DK_IMPL(own, DK_CPU, own_here) };

struct worker {
	struct dk_op *op;
	int refused, served, undefined, other;
};

static int work(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct worker *me = data;

	while (!kthread_should_stop()) {
		int err = 0, answer;

		answer = own_at(me->op, &dk_local_default, &x, &err);
		me->served += !answer;
		me->refused += err == -EDEADLK;
		me->undefined += answer == -ENOENT;
		me->other += answer && answer != -ENOENT;
		cond_resched();
	}
	return 0;
}

/* Does what the exit function of a driver must do, in the required order. */
static void driver_unregisters_while_its_thread_calls(void)
{
	static struct worker worker;
	struct task_struct *task;
	int after;

	setup();
	memset(&worker, 0, sizeof(worker));
	rounds = 0;
	CHECK_OK(dk_op_define(&prov, &own_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, own_impls, 1, &t_why));
	worker.op = dk_op_get(t_reg, "peers_kernel::own");
	task = kthread_run(work, &worker, "dk_api_test");
	if (!CHECK(!IS_ERR(task)))
		goto out;
	while (READ_ONCE(rounds) < 20)
		usleep_range(500, 1000);
	/* unregister the functions first, and stop the thread only then */
	CHECK_OK(dk_provider_unregister(&prov));
	after = READ_ONCE(rounds);
	msleep(20);
	CHECK_INT(READ_ONCE(rounds), after);
	kthread_stop(task);
	CHECK_INT(worker.served, rounds);
	CHECK_INT(worker.refused, rounds);
	CHECK(worker.undefined);
	CHECK_INT(worker.other, 0);
	t_join(&prov, "prov");
out:
	dk_op_put(worker.op);
}

T_SUITE(peers_kernel,
	T_PEER(16, cpu_goes_offline_during_a_call),
	T_PEER(18, driver_unregisters_while_its_thread_calls));
