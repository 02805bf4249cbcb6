// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cancels threads while they wait in the library, or notify a listener. Userspace
 * only.
 */
#include "bounded.h"

#include <urcu-bp.h>

static struct dk_provider prov;
static struct dk_op *op;
static int inside;

/* ---- waiting ------------------------------------------------------------------ */

DK_OP(cancel_stay, "cancellation::stay", (struct dk_obj *x), (x), (x));

static int stay_here(struct dk_call *c, struct dk_obj *x)
{
	t_stay(&inside);
	return 0;
}

static const struct dk_impl stay_impls[] = { DK_IMPL(cancel_stay, DK_CPU, stay_here) };

static void *call_and_stay(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	long err = cancel_stay_at(op, &dk_local_default, &x);

	return (void *)err;
}

static void *read_and_stay(void *data)
{
	urcu_bp_register_thread();
	urcu_bp_read_lock();
	t_stay(&inside);
	urcu_bp_read_unlock();
	return NULL;
}

static void *unregister_and_end(void *data)
{
	dk_provider_unregister(&prov);
	return NULL;
}

/* Cancels a thread that unregisters @prov, while another thread, in @stay, makes it wait. */
static void cancel_while_waiting(void *(*stay)(void *data))
{
	pthread_t staying, unregistering;

	inside = 0;
	t_may_return = 0;
	t_start(&staying, stay, NULL);
	t_await(&inside);
	t_start(&unregistering, unregister_and_end, NULL);
	while (!t_is_unregistering(&prov))
		sched_yield();
	w_sleep_us(50000);
	CHECK(w_load(prov.core));
	CHECK_OK(pthread_cancel(unregistering));
	w_sleep_us(10000);
	t_release_and_join(staying);
	pthread_join(unregistering, NULL);
	CHECK(!prov.core);
	/* draining and unregistering wait for grace periods, too */
	t_join(&prov, "again");
	CHECK_OK(dk_provider_drain(&prov));
}

/*
 * The wait for a grace period is not a cancellation point. If it were, liburcu's lock would stay
 * locked.
 */
static void grace_period_is_no_cancellation_point(void)
{
	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&prov, "prov");
	cancel_while_waiting(read_and_stay);
}

/* If the wait for a call were a cancellation point, the provider would never be freed. */
static void wait_for_a_call_is_no_cancellation_point(void)
{
	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&prov, "prov");
	CHECK_OK(dk_op_define(&prov, &cancel_stay_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, stay_impls, 1, &t_why));
	op = t_get("cancellation::stay");
	cancel_while_waiting(call_and_stay);
}

/* ---- notifying ---------------------------------------------------------------- */

DK_OP(cancel_slow, "cancellation::slow", (struct dk_obj *x), (x), (x));
DK_OP(cancel_quick, "cancellation::quick", (struct dk_obj *x), (x), (x));

static unsigned int num_notified;

static void on_event(struct dk_listener *l, const struct dk_event *event)
{
	num_notified++;
	if (!strcmp(event->name, cancel_slow_op.name))
		t_stay(&inside);
}

static struct dk_listener listener = { .size = sizeof(listener), .notify = on_event };
static struct dk_provider notifier = DK_PROVIDER("notifier");

static void *define_and_be_cancelled(void *data)
{
	dk_op_define(&notifier, &cancel_slow_op, 0, NULL);
	pthread_testcancel();
	return NULL;
}

/* A cancelled thread finishes the notification, so that other threads can notify. */
static void cancelled_thread_finishes_notification(void)
{
	pthread_t thread;
	void *exit_value = NULL;

	t_register(&notifier);
	CHECK_OK(dk_listener_register(&listener, &t_why));
	inside = 0;
	t_may_return = 0;
	t_start(&thread, define_and_be_cancelled, NULL);
	t_await(&inside);
	CHECK_OK(pthread_cancel(thread));
	w_sleep_us(20000);
	w_store_release(t_may_return, 1);
	pthread_join(thread, &exit_value);
	CHECK(exit_value == PTHREAD_CANCELED);
	num_notified = 0;
	CHECK_OK(dk_op_define(&notifier, &cancel_quick_op, 0, &t_why));
	CHECK_INT(num_notified, 1);
	CHECK_OK(dk_listener_unregister(&listener));
}

T_SUITE_WITH(cancellation, t_bound,
	T(grace_period_is_no_cancellation_point),
	T(wait_for_a_call_is_no_cancellation_point),
	T(cancelled_thread_finishes_notification));
