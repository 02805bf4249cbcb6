// SPDX-License-Identifier: GPL-2.0-only
/* Two threads wait for one call at once. Both must wait until it returns. Userspace only. */
#include "bounded.h"

DK_OP(hold, "two_waits::hold", (struct dk_obj *x, int *err), (x, err), (x));

static struct dk_provider prov, host;
static struct dk_op *op;
static struct dk_obj held_on;
static u32 card;
static int inside, has_left;

static int hold_here(struct dk_call *c, struct dk_obj *x, int *err)
{
	t_stay(&inside);
	/* the waiting threads must not return before this function does */
	if (err)
		*err = dk_provider_unregister(&prov);
	w_store_release(has_left, 1);
	return 0;
}

static const struct dk_impl here[] = { DK_IMPL(hold, DK_CPU, hold_here) };
static const struct dk_impl there[] = { DK_IMPL(hold, DK_CUDA, hold_here) };
static const struct dk_impl on_card[] = { DK_IMPL(hold, DK_DENSE, hold_here) };

static void setup(void)
{
	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&host, "host");
	t_join(&prov, "prov");
	CHECK_OK(dk_op_define(&host, &hold_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, here, 1, &t_why));
	CHECK_OK(dk_impls_register(&prov, there, 1, &t_why));
	CHECK_OK(dk_device_register(&prov, DK_BACKEND_PRIVATEUSE1, "card", NULL,
				    on_card, 1, &card, &t_why));
	op = t_get("two_waits::hold");
	held_on = dk_obj_on(DK_BACKEND_CPU, 0);
	inside = 0;
	t_let_go = 0;
	has_left = 0;
}

static void *call_and_stay(void *err)
{
	long ret = hold_at(op, &dk_local_default, &held_on, err);

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
	int had_left;	/* the value of has_left at the end of the wait */
};

static void *wait_for_calls(void *data)
{
	struct waiter *me = data;

	me->err = me->wait();
	me->had_left = w_load_acquire(has_left);
	w_store_release(me->done, 1);
	return NULL;
}

/* Starts the @nth waiter, and returns when it waits or has ended too early. */
static void start_to_wait(struct waiter *me, unsigned int nth, int (*wait)(void))
{
	*me = (struct waiter){ .wait = wait };
	t_start(&me->thread, wait_for_calls, me);
	while (t_num_waiting(&prov) < nth && !w_load_acquire(me->done))
		sched_yield();
}

/* Lets the call leave. No wait may end before that. */
static void end_waits(pthread_t caller, struct waiter waiters[2])
{
	unsigned int i, ms;

	/* time in which a wait that ends too early does end */
	for (ms = 0; ms < 100; ms++) {
		if (w_load_acquire(waiters[0].done) || w_load_acquire(waiters[1].done))
			break;
		w_sleep_us(1000);
	}
	t_let_go_and_join(caller);
	for (i = 0; i < 2; i++) {
		pthread_join(waiters[i].thread, NULL);
		CHECK_OK(waiters[i].err);
		CHECK_INT(waiters[i].had_left, 1);
	}
}

/* Two threads wait at once, and neither returns before the call inside has left. */
static void both_wait(unsigned int backend, int (*before)(void), int (*wait)(void))
{
	struct waiter waiters[2];
	pthread_t caller;

	setup();
	if (backend == DK_BACKEND_PRIVATEUSE1)
		held_on = dk_obj_on(backend, card);
	enter(&caller, NULL);
	if (before)
		CHECK_OK(before());
	start_to_wait(&waiters[0], 1, wait);
	start_to_wait(&waiters[1], 2, wait);
	end_waits(caller, waiters);
}

static int withdraw(void)
{
	int err = dk_impls_withdraw(&prov, there, NULL);

	return err ? err : dk_impls_withdraw(&prov, here, NULL);
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
	return dk_impls_unregister(&prov, here, NULL);
}

/* Unregisters the provider with a deadline that passes while its call is still running. */
static int begin_to_unregister(void)
{
	return dk_provider_unregister_timeout(&prov, 1, NULL) == -ETIMEDOUT ? 0 : -EBUSY;
}

static int go_offline(void)
{
	return dk_device_set_online(t_reg, card, 0, NULL);
}

static void two_drain(void)
{
	both_wait(DK_BACKEND_CPU, withdraw, drain);
}

static void two_unregister(void)
{
	both_wait(DK_BACKEND_CPU, NULL, unregister);
}

static void two_unregister_a_device(void)
{
	both_wait(DK_BACKEND_PRIVATEUSE1, NULL, unregister_device);
}

static void two_unregister_functions(void)
{
	both_wait(DK_BACKEND_CPU, NULL, unregister_functions);
}

static void a_device_of_a_provider_that_unregisters(void)
{
	both_wait(DK_BACKEND_PRIVATEUSE1, begin_to_unregister, unregister_device);
}

static void functions_of_a_provider_that_unregisters(void)
{
	both_wait(DK_BACKEND_CPU, begin_to_unregister, unregister_functions);
}

static void drain_of_a_provider_that_unregisters(void)
{
	both_wait(DK_BACKEND_CPU, begin_to_unregister, drain);
}

static void two_take_a_device_offline(void)
{
	both_wait(DK_BACKEND_PRIVATEUSE1, NULL, go_offline);
}

/*
 * An array is registered and unregistered again while a call of its previous registration is
 * running. It may be freed only after that call.
 */
static void an_array_that_is_registered_twice(void)
{
	struct waiter waiters[2];
	pthread_t caller;

	setup();
	enter(&caller, NULL);
	start_to_wait(&waiters[0], 1, unregister_functions);
	CHECK_OK(dk_impls_register(&prov, here, 1, &t_why));
	start_to_wait(&waiters[1], 2, unregister_functions);
	end_waits(caller, waiters);
}

/* A call must not wait for itself, even if another thread waits for it. */
static void unregister_from_inside_beside_another(void)
{
	struct waiter other = { .wait = unregister };
	pthread_t caller;
	int err = 0;

	setup();
	enter(&caller, &err);
	t_start(&other.thread, wait_for_calls, &other);
	while (!t_is_unregistering(&prov))
		sched_yield();
	t_let_go_and_join(caller);
	pthread_join(other.thread, NULL);
	CHECK_INT(err, -EDEADLK);
	CHECK_OK(other.err);
	CHECK_INT(other.had_left, 1);
}

T_SUITE_WITH(two_waits, t_bound,
	T(two_drain),
	T(two_unregister),
	T(two_unregister_a_device),
	T(two_unregister_functions),
	T(a_device_of_a_provider_that_unregisters),
	T(functions_of_a_provider_that_unregisters),
	T(drain_of_a_provider_that_unregisters),
	T(two_take_a_device_offline),
	T(an_array_that_is_registered_twice),
	T(unregister_from_inside_beside_another));
