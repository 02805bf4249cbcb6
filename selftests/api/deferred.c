// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests deferred calls, which continue after their function has returned: waits for such calls,
 * reports that name them, and tokens that are used wrongly. full_registry.h explains the comments
 * "refuses:".
 */
#include "visit.h"

#if T_KERNEL
#include <linux/irq_work.h>
#else
#include "bounded.h"
#include "core/change/change.h"

#include <signal.h>
#include <unistd.h>
#endif

struct job {
	struct dk_deferred token;
	bool completes;		/* before the function returns */
	int err;		/* of dk_call_defer() */
};

DK_OP(submit, "deferred::submit", (struct dk_obj *x, struct job *job), (x, job), (x));
DK_OP(post, "deferred::post", (struct dk_obj *x, struct job *job), (x, job), (x));

static int submit_guest(struct dk_call *c, struct dk_obj *x, struct job *job)
{
	CHECK_INT(dk_call_defer(c, NULL), -EINVAL);
	job->err = dk_call_defer(c, &job->token);
	if (job->completes)
		return dk_call_complete(&job->token, 0);
	return 0;
}

static const struct dk_impl impls[] = { DK_IMPL(submit, DK_CPU, submit_guest) };
static const struct dk_impl atomic_impls[] = { DK_IMPL_ATOMIC(post, DK_CPU, submit_guest) };
static const struct dk_impl device_impls[] = { DK_IMPL(submit, DK_DENSE, submit_guest) };

static struct dk_provider other;
static struct dk_op *sleepable, *atomic;
static struct dk_obj cpu, on_device;
static struct job job;

static void setup(void)
{
	unsigned int number;

	v_open();
	t_join(&other, "other");
	CHECK_OK(dk_op_define(&v_host, &submit_op, 0, &t_why));
	CHECK_OK(dk_op_define(&v_host, &post_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&v_guest, impls, 1, &t_why));
	CHECK_OK(dk_impls_register(&v_guest, atomic_impls, 1, &t_why));
	CHECK_OK(dk_device_register(&v_guest, v_backend, "queue", NULL, device_impls, 1, &number,
				    &t_why));
	cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	on_device = dk_obj_on(v_backend, number);
	sleepable = t_get("deferred::submit");
	atomic = t_get("deferred::post");
	memset(&job, 0, sizeof(job));
	dk_deferred_init(&job.token);
}

static bool submit_job(struct dk_op *op, struct dk_obj x)
{
	int err = op == atomic ? post_at(op, &dk_local_default, &x, &job) :
				 submit_at(op, &dk_local_default, &x, &job);

	return CHECK_OK(err) && CHECK_OK(job.err);
}

/* ---- waits for deferred calls --------------------------------------------------- */

/*
 * Checks how the call is described in lists of providers. In the kernel, selftests/dkctl/live.sh
 * tests this.
 */
static void check_described(const char *op, bool of_device)
{
#if !T_KERNEL
	struct dk_provider_info p = { .size = sizeof(p) };
	char text[DK_NAME_MAX];
	unsigned int n;

	while (!dk_registry_next_provider(t_reg, p.number, &p)) {
		for (n = 0; dkc_provider_inside_text(t_reg, p.number, n, text); n++)
			CHECK(!strncmp(text, op, strlen(op)) &&
			      strstr(text, of_device ? " submit_guest@queue (deferred)[" :
						       " submit_guest (deferred)["));
		CHECK_INT(n, !strcmp(p.name, v_guest.name));
	}
#endif
}

static void check_listed(const char *op, u32 device)
{
	struct dk_inside in = v_inside_at(0);
	u64 ms = in.ms;

	CHECK_STR(in.op, op);
	CHECK_STR(in.label, "submit_guest");
	CHECK_STR(in.thread_name, "(deferred)");
	CHECK_INT(in.is_deferred, 1);
	CHECK_INT(in.device, device);
	w_sleep_us(3000);
	CHECK(v_inside_at(0).ms > ms);
	check_described(op, device);
	CHECK_INT(t_num_inside(&v_guest), 1);
	CHECK_INT(t_num_inside(&v_host), 0);
}

/* The thread that made the call is no longer inside it, and so can wait for it. */
static void check_unregister_waits(bool is_atomic)
{
	const char *name = is_atomic ? "deferred::post" : "deferred::submit";

	setup();
	if (!submit_job(is_atomic ? atomic : sleepable, cpu))
		return;
	check_listed(name, 0);
	/* refuses: dk_provider_unregister_timeout ETIMEDOUT STILL_INSIDE */
	do
		CHECK_INT(dk_provider_unregister_timeout(&v_guest, 20, &t_why), -ETIMEDOUT);
	while (t_why.reason == DK_WHY_GRACE);
	CHECK_INT(t_why.reason, DK_WHY_STILL_INSIDE);
	CHECK(v_why_begins(name));
	CHECK(strstr(t_why.name, " submit_guest (deferred)["));
	/* another provider is not delayed */
	CHECK_OK(dk_provider_unregister(&other));
	CHECK_OK(dk_call_complete(&job.token, 0));
	CHECK_OK(dk_provider_unregister(&v_guest));
	CHECK(!v_guest.core);
}

static void unregister_waits_for_a_sleepable_call(void)
{
	check_unregister_waits(false);
}

static void unregister_waits_for_an_atomic_call(void)
{
	check_unregister_waits(true);
}

static void complete_job(void *data)
{
	struct v_unregister *l = data;

	w_sleep_us(20000);
	CHECK(!w_load_acquire(l->done));
	CHECK_OK(dk_call_complete(&job.token, -EIO));
}

/* Another thread completes the call during the wait. */
static void another_thread_completes_the_call(void)
{
	struct w_thread thread;
	struct v_unregister l = { };

	setup();
	if (!submit_job(sleepable, cpu) || !v_begin_unregister(&l))
		return;
	if (CHECK_OK(w_start(&thread, "dk_completer", complete_job, &l)))
		w_join(&thread);
	v_end_unregister(&l);
	CHECK(!v_guest.core);
}

#if T_KERNEL
static bool in_interrupt_handler;

static void complete_in_interrupt(struct irq_work *work)
{
	w_store(in_interrupt_handler, in_hardirq());
	CHECK_OK(dk_call_complete(&job.token, 0));
}

static void hard_interrupt_completes_the_call(void)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(complete_in_interrupt);
	struct v_unregister l = { };

	setup();
	if (!submit_job(atomic, cpu) || !v_begin_unregister(&l))
		return;
	w_sleep_us(20000);
	CHECK(!w_load_acquire(l.done));
	CHECK(irq_work_queue(&work));
	irq_work_sync(&work);
	CHECK(w_load(in_interrupt_handler));
	v_end_unregister(&l);
}
#else
static void submit_and_complete(int sig)
{
	struct job nested = { .completes = true };

	dk_deferred_init(&nested.token);
	CHECK_OK(submit_at(sleepable, &dk_local_default, &cpu, &nested));
	CHECK_OK(nested.err);
	CHECK_OK(dk_call_complete(&job.token, 0));
}

static void signal_handler_completes_the_call(void)
{
	struct sigaction sa = { .sa_handler = submit_and_complete }, old;

	setup();
	CHECK_OK(sigaction(SIGUSR1, &sa, &old));
	if (submit_job(sleepable, cpu)) {
		CHECK_INT(t_num_inside(&v_guest), 1);
		raise(SIGUSR1);
		CHECK_INT(t_num_inside(&v_guest), 0);
	}
	sigaction(SIGUSR1, &old, NULL);
}

static int unregister_in_child(void)
{
	alarm(20);
	if (t_num_inside(&v_guest))
		return 1;
	if (dk_call_complete(&job.token, 0) != -EINVAL)
		return 2;
	if (submit_at(sleepable, &dk_local_default, &cpu, &job) || job.err)
		return 3;
	if (t_num_inside(&v_guest) != 1 || dk_call_complete(&job.token, 0))
		return 4;
	return dk_provider_unregister(&v_guest) ? 5 : 0;
}

/* The child has no deferred calls of its parent: nothing in the child would complete them. */
static void child_does_not_wait_for_deferred_calls(void)
{
	setup();
	if (!submit_job(sleepable, cpu))
		return;
	t_in_child(unregister_in_child);
	CHECK_INT(t_num_inside(&v_guest), 1);
	CHECK_OK(dk_call_complete(&job.token, 0));
}

static bool stop;

static void submit_and_complete_jobs(void *data)
{
	while (!w_load_acquire(stop)) {
		submit_job(sleepable, cpu);
		CHECK_OK(dk_call_complete(&job.token, 0));
	}
}

/* The fork can happen at any point of dk_call_defer() and dk_call_complete(). */
static void fork_while_another_thread_defers(void)
{
	struct w_thread thread;
	unsigned int i;

	setup();
	stop = false;
	if (!CHECK_OK(w_start(&thread, "submits", submit_and_complete_jobs, NULL)))
		return;
	for (i = 0; i < 100 && t_in_child(unregister_in_child); i++)
		;
	w_store_release(stop, true);
	w_join(&thread);
	CHECK_INT(t_num_inside(&v_guest), 0);
}
#endif

static void unregister_table(void *data)
{
	struct v_unregister *l = data;

	l->err = dk_impls_unregister(&v_guest, impls, NULL);
	w_store_release(l->done, true);
}

/*
 * A deferred call delays unregistering of its function's array. The provider's other arrays are
 * unregistered without waiting for it.
 */
static void deferred_call_delays_only_its_table(void)
{
	struct w_thread completer;
	struct v_unregister l = { };

	setup();
	if (!submit_job(sleepable, cpu))
		return;
	CHECK_OK(dk_impls_unregister(&v_guest, atomic_impls, &t_why));
	if (!CHECK_OK(w_start(&l.thread, "dk_unregister", unregister_table, &l)))
		return;
	if (CHECK_OK(w_start(&completer, "dk_completer", complete_job, &l)))
		w_join(&completer);
	w_join(&l.thread);
	CHECK_OK(l.err);
}

/*
 * A deferred call does not keep its operator in the registry, but reports still name the operator.
 */
static void deferred_call_does_not_keep_its_operator(void)
{
	setup();
	if (!submit_job(sleepable, cpu))
		return;
	t_put(sleepable);
	CHECK_OK(dk_op_undefine(&v_host, submit_op.name, &t_why));
	do
		CHECK_INT(dk_provider_unregister_timeout(&v_guest, 20, &t_why), -ETIMEDOUT);
	while (t_why.reason == DK_WHY_GRACE);
	CHECK(!dk_op_get(t_reg, submit_op.name));
	CHECK_INT(dk_provider_unregister_timeout(&v_guest, 20, &t_why), -ETIMEDOUT);
	CHECK(v_why_begins("deferred::submit submit_guest (deferred)["));
	CHECK_STR(v_inside_at(0).op, "deferred::submit");
	CHECK_OK(dk_call_complete(&job.token, 0));
	CHECK_OK(dk_provider_unregister(&v_guest));
}

static void deferred_call_delays_going_offline(void)
{
	setup();
	if (!submit_job(sleepable, on_device))
		return;
	check_listed("deferred::submit", on_device.device);
	CHECK_INT(dk_device_set_online_timeout(t_reg, on_device.device, 0, 1, &t_why),
		  -ETIMEDOUT);
	CHECK_INT(t_why.reason, DK_WHY_STILL_INSIDE);
	CHECK(v_why_begins("deferred::submit submit_guest@queue (deferred)["));
	CHECK_INT(dk_backend_set_online_timeout(t_reg, v_backend, 0, 1, &t_why), -ETIMEDOUT);
	CHECK(v_why_begins("deferred::submit submit_guest@queue (deferred)["));
	/* another device of the backend is not delayed */
	CHECK_OK(dk_device_set_online_timeout(t_reg, v_card, 0, 0, &t_why));
	CHECK_OK(dk_call_complete(&job.token, 0));
	CHECK_OK(dk_device_set_online_timeout(t_reg, on_device.device, 0, DK_NO_TIMEOUT, &t_why));
	CHECK_OK(dk_backend_set_online(t_reg, v_backend, 0, &t_why));
	CHECK_OK(dk_device_unregister(&v_guest, on_device.device, &t_why));
}

/* ---- tokens --------------------------------------------------------------------- */

static void token_is_used_again(void)
{
	unsigned int i;

	setup();
	for (i = 0; i < 3 && submit_job(sleepable, cpu); i++)
		CHECK_OK(dk_call_complete(&job.token, 0));
	CHECK_INT(t_num_inside(&v_guest), 0);
	job.completes = true;
	submit_job(sleepable, cpu);
	submit_job(atomic, cpu);
	CHECK_INT(t_num_inside(&v_guest), 0);
}

static void call_cannot_be_completed_twice(void)
{
	setup();
	/* refuses: dk_call_complete EINVAL */
	CHECK_INT(dk_call_complete(&job.token, 0), -EINVAL);
	submit_job(sleepable, cpu);
	CHECK_OK(dk_call_complete(&job.token, 0));
	CHECK_INT(dk_call_complete(&job.token, 0), -EINVAL);
	memset(&job.token, 0, sizeof(job.token));
	CHECK_INT(dk_call_complete(&job.token, 0), -EINVAL);
}

#define RACES	200

struct completer {
	struct w_thread thread;
	unsigned int done;	/* rounds */
	unsigned int completed;
};

static unsigned int races_begun;

static void complete_each(void *data)
{
	struct completer *me = data;
	unsigned int i;
	int err;

	for (i = 1; i <= RACES; i++) {
		while (w_load_acquire(races_begun) < i)
			w_pause();
		err = dk_call_complete(&job.token, 0);
		if (err)
			CHECK_INT(err, -EINVAL);
		me->completed += !err;
		w_store_release(me->done, i);
	}
}

/* If two threads complete a call at once, one of them completes it, and the other fails. */
static void two_threads_complete_the_call(void)
{
	static struct completer two[2];
	unsigned int i;

	setup();
	memset(two, 0, sizeof(two));
	races_begun = 0;
	dk_deferred_init(&job.token);
	for (i = 0; i < 2; i++)
		if (!CHECK_OK(w_start(&two[i].thread, "dk_completer", complete_each, &two[i])))
			return;
	for (i = 1; i <= RACES; i++) {
		CHECK_OK(submit_at(sleepable, &dk_local_default, &cpu, &job));
		CHECK_OK(job.err);
		w_store_release(races_begun, i);
		while (w_load_acquire(two[0].done) < i || w_load_acquire(two[1].done) < i)
			w_pause();
		CHECK_INT(t_num_inside(&v_guest), 0);
	}
	for (i = 0; i < 2; i++)
		w_join(&two[i].thread);
	CHECK_INT(two[0].completed + two[1].completed, RACES);
}

static void token_must_be_initialized_and_unused(void)
{
	setup();
	memset(&job.token, 0, sizeof(job.token));
	CHECK_OK(submit_at(sleepable, &dk_local_default, &cpu, &job));
	/* refuses: dk_call_defer EINVAL */
	CHECK_INT(job.err, -EINVAL);
	dk_deferred_init(&job.token);
	submit_job(sleepable, cpu);
	CHECK_OK(submit_at(sleepable, &dk_local_default, &cpu, &job));
	/* refuses: dk_call_defer EBUSY */
	CHECK_INT(job.err, -EBUSY);
	CHECK_INT(t_num_inside(&v_guest), 1);
	CHECK_OK(dk_call_complete(&job.token, 0));
}

/* The operator's function initializes the token in each call, instead of once for each job. */
static void token_that_is_initialized_again_is_refused(void)
{
	setup();
	submit_job(sleepable, cpu);
	dk_deferred_init(&job.token);
	CHECK_OK(submit_at(sleepable, &dk_local_default, &cpu, &job));
	CHECK_INT(job.err, -EBUSY);
	/* the first call is still deferred */
	CHECK_INT(t_num_inside(&v_guest), 1);
	CHECK_INT(dk_provider_unregister_timeout(&v_guest, 1, &t_why), -ETIMEDOUT);
	CHECK_INT(t_why.reason, DK_WHY_STILL_INSIDE);
	CHECK_OK(dk_call_complete(&job.token, 0));
	CHECK_INT(dk_call_complete(&job.token, 0), -EINVAL);
	CHECK_OK(dk_provider_unregister(&v_guest));
}

/*
 * The token of the older of two deferred calls is initialized and used again. This damages the
 * list of deferred calls, but a wait for other calls must still end.
 */
static void damaged_list_ends(void)
{
	static struct job younger;

	setup();
	memset(&younger, 0, sizeof(younger));
	dk_deferred_init(&younger.token);
	submit_job(sleepable, cpu);
	CHECK_OK(submit_at(sleepable, &dk_local_default, &cpu, &younger));
	CHECK_OK(younger.err);
	dk_deferred_init(&job.token);
	submit_job(sleepable, cpu);
	CHECK_OK(dk_device_set_online_timeout(t_reg, v_card, 0, V_LONG_MS, &t_why));
	CHECK_OK(dk_call_complete(&job.token, 0));
	CHECK_OK(dk_call_complete(&younger.token, 0));
	/* one token is left in the list: using it repairs the list */
	CHECK_OK(submit_at(sleepable, &dk_local_default, &cpu, &job));
	CHECK_INT(job.err, -EBUSY);
	CHECK_OK(dk_call_complete(&job.token, 0));
	CHECK_OK(dk_provider_unregister(&v_guest));
}

#define JOBS	50

/* The calls are completed in another order than they were made. */
static void many_calls_are_deferred_at_once(void)
{
	struct job *jobs = t_alloc(JOBS * sizeof(*jobs));
	unsigned int i;

	setup();
	for (i = 0; i < JOBS; i++) {
		dk_deferred_init(&jobs[i].token);
		CHECK_OK(submit_at(sleepable, &dk_local_default, &cpu, &jobs[i]));
		CHECK_OK(jobs[i].err);
	}
	CHECK_INT(t_num_inside(&v_guest), JOBS);
	for (i = 0; i < JOBS; i++) {
		CHECK_OK(dk_call_complete(&jobs[i * 7 % JOBS].token, 0));
		CHECK_INT(t_num_inside(&v_guest), JOBS - 1 - i);
	}
	CHECK_OK(dk_provider_unregister(&v_guest));
	t_free(jobs);
}

T_SUITE(deferred,
	T(unregister_waits_for_a_sleepable_call),
	T(unregister_waits_for_an_atomic_call),
	T(another_thread_completes_the_call),
#if T_KERNEL
	T(hard_interrupt_completes_the_call),
#else
	T(signal_handler_completes_the_call),
	T(child_does_not_wait_for_deferred_calls),
	T(fork_while_another_thread_defers),
#endif
	T(deferred_call_delays_only_its_table),
	T(deferred_call_does_not_keep_its_operator),
	T(deferred_call_delays_going_offline),
	T(token_is_used_again),
	T(call_cannot_be_completed_twice),
	T(two_threads_complete_the_call),
	T(token_must_be_initialized_and_unused),
	T(token_that_is_initialized_again_is_refused),
	T(damaged_list_ends),
	T(many_calls_are_deferred_at_once));
