// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two threads wait for the same call: both must wait until the call returns. A wait must not wait
 * for calls that begin later. Userspace only.
 */
#include "bounded.h"

DK_OP(hold, "two_waits::hold", (struct dk_obj *x, int *err), (x, err), (x));

static struct dk_provider prov, host;
static struct dk_op *op;
static struct dk_obj held_obj;
static u32 card;
static int inside, has_returned;

static int hold_here(struct dk_call *c, struct dk_obj *x, int *err)
{
	t_stay(&inside);
	/* the waiting threads must not return before this function does */
	if (err)
		*err = dk_provider_unregister(&prov);
	w_store_release(has_returned, 1);
	return 0;
}

static const struct dk_impl cpu_impls[] = { DK_IMPL(hold, DK_CPU, hold_here) };
static const struct dk_impl cuda_impls[] = { DK_IMPL(hold, DK_CUDA, hold_here) };
static const struct dk_impl card_impls[] = { DK_IMPL(hold, DK_DENSE, hold_here) };

static void setup(void)
{
	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&host, "host");
	t_join(&prov, "prov");
	CHECK_OK(dk_op_define(&host, &hold_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, cpu_impls, 1, &t_why));
	CHECK_OK(dk_impls_register(&prov, cuda_impls, 1, &t_why));
	CHECK_OK(dk_device_register(&prov, DK_BACKEND_PRIVATEUSE1, "card", NULL,
				    card_impls, 1, &card, &t_why));
	op = t_get("two_waits::hold");
	held_obj = dk_obj_on(DK_BACKEND_CPU, 0);
	inside = 0;
	t_may_return = 0;
	has_returned = 0;
}

static void *call_and_stay(void *err)
{
	long ret = hold_at(op, &dk_local_default, &held_obj, err);

	return (void *)ret;
}

static void enter(pthread_t *caller, int *err)
{
	t_start(caller, call_and_stay, err);
	t_await(&inside);
}

struct waiter {
	pthread_t thread;
	int (*wait)(void);
	int err;
	int done;
	int had_returned;	/* the value of has_returned at the end of the wait */
};

static void *wait_for_calls(void *data)
{
	struct waiter *me = data;

	me->err = me->wait();
	me->had_returned = w_load_acquire(has_returned);
	w_store_release(me->done, 1);
	return NULL;
}

/* Starts waiter number @nth, and returns when the waiter waits or has ended too early. */
static void start_to_wait(struct waiter *me, unsigned int nth, int (*wait)(void))
{
	*me = (struct waiter){ .wait = wait };
	t_start(&me->thread, wait_for_calls, me);
	while (t_num_waiting(&prov) < nth && !w_load_acquire(me->done))
		sched_yield();
}

/* Lets the function return. No wait may end before that. */
static void end_waits(pthread_t caller, struct waiter waiters[2])
{
	unsigned int i, ms;

	/* a wait that ends too early ends during this time */
	for (ms = 0; ms < 100; ms++) {
		if (w_load_acquire(waiters[0].done) || w_load_acquire(waiters[1].done))
			break;
		w_sleep_us(1000);
	}
	t_release_and_join(caller);
	for (i = 0; i < 2; i++) {
		pthread_join(waiters[i].thread, NULL);
		CHECK_OK(waiters[i].err);
		CHECK_INT(waiters[i].had_returned, 1);
	}
}

/* Two threads wait at the same time. No wait may end before the call inside has returned. */
static void both_wait(unsigned int backend, int (*before)(void), int (*wait)(void))
{
	struct waiter waiters[2];
	pthread_t caller;

	setup();
	if (backend == DK_BACKEND_PRIVATEUSE1)
		held_obj = dk_obj_on(backend, card);
	enter(&caller, NULL);
	if (before)
		CHECK_OK(before());
	start_to_wait(&waiters[0], 1, wait);
	start_to_wait(&waiters[1], 2, wait);
	end_waits(caller, waiters);
}

static int withdraw(void)
{
	int err = dk_impls_withdraw(&prov, cuda_impls, NULL);

	return err ? err : dk_impls_withdraw(&prov, cpu_impls, NULL);
}

static int drain(void)
{
	return dk_provider_drain(&prov);
}

static int unregister(void)
{
	return dk_provider_unregister(&prov);
}

static int unregister_device(void)
{
	return dk_device_unregister(&prov, card, NULL);
}

static int unregister_functions(void)
{
	return dk_impls_unregister(&prov, cpu_impls, NULL);
}

/* Unregisters the provider, with a deadline that ends while its call is still running. */
static int begin_to_unregister(void)
{
	return dk_provider_unregister_timeout(&prov, 1, NULL) == -ETIMEDOUT ? 0 : -EBUSY;
}

static int go_offline(void)
{
	return dk_device_set_online(t_reg, card, 0, NULL);
}

static void two_threads_drain(void)
{
	both_wait(DK_BACKEND_CPU, withdraw, drain);
}

static void two_threads_unregister(void)
{
	both_wait(DK_BACKEND_CPU, NULL, unregister);
}

static void two_threads_unregister_a_device(void)
{
	both_wait(DK_BACKEND_PRIVATEUSE1, NULL, unregister_device);
}

static void two_threads_unregister_functions(void)
{
	both_wait(DK_BACKEND_CPU, NULL, unregister_functions);
}

static void device_waits_while_its_provider_unregisters(void)
{
	both_wait(DK_BACKEND_PRIVATEUSE1, begin_to_unregister, unregister_device);
}

static void functions_wait_while_their_provider_unregisters(void)
{
	both_wait(DK_BACKEND_CPU, begin_to_unregister, unregister_functions);
}

static void drain_waits_while_its_provider_unregisters(void)
{
	both_wait(DK_BACKEND_CPU, begin_to_unregister, drain);
}

static void two_threads_take_a_device_offline(void)
{
	both_wait(DK_BACKEND_PRIVATEUSE1, NULL, go_offline);
}

/*
 * An array is registered and unregistered again while a call of its previous registration is
 * running. The array may be freed only after that call.
 */
static void array_registered_again_waits_for_old_calls(void)
{
	struct waiter waiters[2];
	pthread_t caller;

	setup();
	enter(&caller, NULL);
	start_to_wait(&waiters[0], 1, unregister_functions);
	CHECK_OK(dk_impls_register(&prov, cpu_impls, 1, &t_why));
	start_to_wait(&waiters[1], 2, unregister_functions);
	end_waits(caller, waiters);
}

/* ---- calls that begin during a wait -------------------------------------------- */

static struct dk_deferred early, late, *token;

static int defer_here(struct dk_call *c, struct dk_obj *x, int *err)
{
	return dk_call_defer(c, token);
}

static const struct dk_impl old_impls[] = { DK_IMPL(hold, DK_CPU, defer_here) };
static const struct dk_impl new_impls[] = { DK_IMPL(hold, DK_CPU, defer_here) };

/* Registers an array, and defers a call of its function. */
static void register_and_defer(const struct dk_impl *impls, struct dk_deferred *t)
{
	dk_deferred_init(t);
	token = t;
	CHECK_OK(dk_impls_register(&prov, impls, 1, &t_why));
	CHECK_OK(hold_at(op, &dk_local_default, &held_obj, NULL));
}

/*
 * A thread waits for a call of @old_impls. Meanwhile @impls is registered, called and withdrawn.
 * The wait must end after the first call, while the second one is still running.
 */
static void wait_ends_after_first_call(const struct dk_impl *impls, int (*wait)(void))
{
	struct waiter me;
	unsigned int ms;

	setup();
	register_and_defer(old_impls, &early);
	if (wait == drain)
		CHECK_OK(dk_impls_withdraw(&prov, old_impls, &t_why));
	start_to_wait(&me, 1, wait);
	register_and_defer(impls, &late);
	CHECK_OK(dk_impls_withdraw(&prov, impls, &t_why));
	CHECK_OK(dk_call_complete(&early, 0));
	for (ms = 0; ms < 10000 && !w_load_acquire(me.done); ms++)
		w_sleep_us(1000);
	CHECK_INT(w_load_acquire(me.done), 1);
	CHECK_OK(dk_call_complete(&late, 0));
	pthread_join(me.thread, NULL);
	CHECK_OK(me.err);
}

static int unregister_old_functions(void)
{
	return dk_impls_unregister(&prov, old_impls, NULL);
}

/* A deadline within ten seconds: at longer ones a wait begins again every ten seconds. */
static int unregister_in_nine_seconds(void)
{
	return dk_provider_unregister_timeout(&prov, 9000, NULL);
}

static void wait_with_a_deadline_ends_with_the_call(void)
{
	struct waiter me;

	setup();
	register_and_defer(old_impls, &early);
	start_to_wait(&me, 1, unregister_in_nine_seconds);
	/* a wait that ends too early ends during this time */
	w_sleep_us(50000);
	CHECK(!w_load_acquire(me.done));
	CHECK_OK(dk_call_complete(&early, 0));
	pthread_join(me.thread, NULL);
	CHECK_OK(me.err);
}

static void drain_does_not_wait_for_later_calls(void)
{
	wait_ends_after_first_call(new_impls, drain);
}

static void array_does_not_wait_for_later_calls(void)
{
	wait_ends_after_first_call(old_impls, unregister_old_functions);
}

/* A call must not wait for itself, even if another thread waits for it. */
static void call_cannot_unregister_while_another_thread_waits(void)
{
	struct waiter other = { .wait = unregister };
	pthread_t caller;
	int err = 0;

	setup();
	enter(&caller, &err);
	t_start(&other.thread, wait_for_calls, &other);
	while (!t_is_unregistering(&prov))
		sched_yield();
	t_release_and_join(caller);
	pthread_join(other.thread, NULL);
	CHECK_INT(err, -EDEADLK);
	CHECK_OK(other.err);
	CHECK_INT(other.had_returned, 1);
}

T_SUITE_WITH(two_waits, t_bound,
	T(two_threads_drain),
	T(two_threads_unregister),
	T(two_threads_unregister_a_device),
	T(two_threads_unregister_functions),
	T(device_waits_while_its_provider_unregisters),
	T(functions_wait_while_their_provider_unregisters),
	T(drain_waits_while_its_provider_unregisters),
	T(two_threads_take_a_device_offline),
	T(array_registered_again_waits_for_old_calls),
	T(wait_with_a_deadline_ends_with_the_call),
	T(drain_does_not_wait_for_later_calls),
	T(array_does_not_wait_for_later_calls),
	T(call_cannot_unregister_while_another_thread_waits));
