// SPDX-License-Identifier: GPL-2.0-only
/*
 * fork() while other threads call, register, wait and notify. The child has none of these
 * threads, and must not wait for them. Userspace only.
 */
#include "bounded.h"

#include "core/change/change.h"

#include <unistd.h>

/* ---- threads that call operators and register --------------------------------- */

DK_OP(forked, "fork::forked", (struct dk_obj *x), (x), (x));

static int forked_here(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

static const struct dk_impl forked_impls[] = { DK_IMPL(forked, DK_CPU, forked_here) };
static const struct dk_impl child_impls[] = { DK_IMPL(forked, DK_CUDA, forked_here) };

static struct dk_provider parent = DK_PROVIDER("parent");
static int stop, inside;

static void open_parent(void)
{
	t_register(&parent);
	CHECK_OK(dk_op_define(&parent, &forked_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&parent, forked_impls, 1, &t_why));
	stop = 0;
}

static void *first_call(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	long err = forked(&x);

	return (void *)err;
}

/* Starts threads, each of which makes its first call. */
static void *first_calls(void *data)
{
	unsigned int *failed = data;
	pthread_t threads[8];
	unsigned int i, n;
	void *err;

	while (!w_load_acquire(stop)) {
		for (n = 0; n < 8; n++)
			if (pthread_create(&threads[n], NULL, first_call, NULL))
				break;
		for (i = 0; i < n; i++) {
			pthread_join(threads[i], &err);
			*failed += !!err;
		}
	}
	return NULL;
}

static void *synchronize(void *data)
{
	static const struct dk_provider unregistered = DK_PROVIDER("visitor");
	unsigned int *failed = data;
	struct dk_provider p;

	while (!w_load_acquire(stop)) {
		p = unregistered;
		*failed += !!dk_provider_register(&p, NULL);
		*failed += !!dk_provider_unregister(&p);
	}
	return NULL;
}

static int child_beside_threads(void)
{
	static struct dk_provider p = DK_PROVIDER("child");
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_obj cuda = dk_obj_on(DK_BACKEND_CUDA, 0);
	int err = forked(&cpu);

	if (err || forked(&cuda) != -ENOSYS)
		return 1;
	if (dk_provider_register(&p, NULL))
		return 2;
	if (dk_impls_register(&p, child_impls, 1, NULL))
		return 3;
	if (forked(&cuda))
		return 4;
	if (dk_provider_unregister(&p))
		return 5;
	if (forked(&cuda) != -ENOSYS || forked(&cpu))
		return 6;
	return 0;
}

static void beside_threads(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	unsigned int i, failed[3] = { 0 };
	pthread_t threads[3];

	if (W_SANITIZED) {
		t_skip("with a sanitizer, whose own locks are in a child as they were");
		return;
	}
	open_parent();
	/* this call finds the operator by name, so that the threads do not all store it */
	CHECK_OK(forked(&x));
	t_start(&threads[0], first_calls, &failed[0]);
	t_start(&threads[1], first_calls, &failed[1]);
	t_start(&threads[2], synchronize, &failed[2]);
	for (i = 0; i < 200 && t_in_child(child_beside_threads); i++)
		;
	w_store_release(stop, 1);
	for (i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		CHECK_INT(failed[i], 0);
	}
	t_leave(&parent);
}

/* ---- counters ----------------------------------------------------------------- */

static u64 count_of_forked(void)
{
	struct dk_op *handle = dk_op_get(NULL, forked_op.name);
	struct dk_stat s = { .size = sizeof(s) };
	int err = dk_op_stat(handle, 0, &s);

	dk_op_put(handle);
	return err || !s.is_counted ? ~0ULL : s.count;
}

static u64 uncounted(void)
{
	struct dk_stats s = { .size = sizeof(s) };

	return dk_stats_get(NULL, &s) || !s.is_enabled ? ~0ULL : s.uncounted;
}

static int child_with_counters(void)
{
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	u64 before = count_of_forked(), lost = uncounted();
	pthread_t thread;
	unsigned int i;

	for (i = 0; i < 10; i++)
		if (forked(&cpu))
			return 1;
	if (count_of_forked() != before + 10)
		return 2;
	/* under ThreadSanitizer a child cannot start threads */
	if (T_TSAN)
		first_call(NULL);
	else if (pthread_create(&thread, NULL, first_call, NULL) ||
		 pthread_join(thread, NULL))
		return 3;
	if (count_of_forked() != before + 11 || uncounted() != lost)
		return 4;
	if (dk_stats_reset(NULL, NULL) || count_of_forked())
		return 5;
	if (dk_stats_disable(NULL, NULL) || dk_stats_enable(NULL, NULL))
		return 6;
	if (forked(&cpu) || count_of_forked() != 1 || uncounted())
		return 7;
	return 0;
}

/*
 * Starts threads that make their first call and end, and calls from this thread. With a sanitizer,
 * it starts no threads, because a child inherits the sanitizer's locks as they were.
 */
static void *count_calls(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	unsigned int *made = data;
	pthread_t thread;

	while (!w_load_acquire(stop)) {
		if (!W_SANITIZED && !pthread_create(&thread, NULL, first_call, NULL)) {
			pthread_join(thread, NULL);
			w_store_release(*made, *made + 1);
		}
		w_store_release(*made, *made + !forked(&x));
	}
	return NULL;
}

/* The child inherits the counts of the parent. After that, each counts only its own calls. */
static void with_counters(void)
{
	const unsigned int forks = T_TSAN ? 20 : 100;
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	unsigned int i, made[2] = { 0 };
	pthread_t threads[2];

	open_parent();
	CHECK_OK(forked(&x));
	CHECK_OK(dk_stats_enable(NULL, &t_why));
	t_start(&threads[0], count_calls, &made[0]);
	t_start(&threads[1], count_calls, &made[1]);
	/* a first call allocates, which takes a sanitizer's locks */
	while (!w_load_acquire(made[0]) || !w_load_acquire(made[1]))
		sched_yield();
	for (i = 0; i < forks && t_in_child(child_with_counters); i++)
		;
	w_store_release(stop, 1);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK(made[0] && made[1]);
	CHECK_INT(count_of_forked(), made[0] + made[1]);
	CHECK_INT(uncounted(), 0);
	CHECK_OK(dk_stats_disable(NULL, &t_why));
	t_leave(&parent);
}

/* ---- a notification ----------------------------------------------------------- */

DK_OP(fork_slow, "fork::slow", (struct dk_obj *x), (x), (x));
DK_OP(fork_quick, "fork::quick", (struct dk_obj *x), (x), (x));

static unsigned int num_notified;

static void stays(struct dk_listener *l, const struct dk_event *event)
{
	num_notified++;
	if (!strcmp(event->name, fork_slow_op.name))
		t_stay(&inside);
}

static struct dk_listener listener = { .size = sizeof(listener), .notify = stays };
static struct dk_provider notifier = DK_PROVIDER("notifier");

static void *define_and_notify(void *data)
{
	long err = dk_op_define(&notifier, &fork_slow_op, 0, NULL);

	return (void *)err;
}

/* In the child no notification is going on, and no thread is in the listener. */
static int child_beside_a_notification(void)
{
	alarm(20);
	if (dk_listener_unregister(&listener))
		return 1;
	if (dk_op_undefine(&notifier, fork_slow_op.name, NULL) ||
	    dk_listener_register(&listener, NULL))
		return 2;
	num_notified = 0;
	return dk_op_define(&notifier, &fork_quick_op, 0, NULL) || num_notified != 1 ? 3 : 0;
}

static void beside_a_notification(void)
{
	pthread_t thread;

	t_register(&notifier);
	CHECK_OK(dk_listener_register(&listener, &t_why));
	inside = 0;
	t_let_go = 0;
	t_start(&thread, define_and_notify, NULL);
	t_await(&inside);
	t_in_child(child_beside_a_notification);
	t_let_go_and_join(thread);
	CHECK_OK(dk_listener_unregister(&listener));
	t_leave(&notifier);
}

/* ---- long calls, and waits for them ------------------------------------------- */

DK_OP(lasts, "fork::lasts", (struct dk_obj *x, int *in), (x, in), (x));
DK_OP(stuck, "fork::stuck", (struct dk_obj *x, int *in), (x, in), (x));

static int lasts_here(struct dk_call *c, struct dk_obj *x, int *in)
{
	t_stay(in);
	return 0;
}

static const struct dk_impl leaver_impls[] = { DK_IMPL(lasts, DK_CPU, lasts_here) };
static const struct dk_impl stayer_impls[] = {
	DK_IMPL(lasts, DK_CUDA, lasts_here),
};

static const struct dk_impl stuck_impls[] = {
	DK_IMPL_ATOMIC(stuck, DK_CUDA, lasts_here),
};

static struct dk_provider leaver = DK_PROVIDER("leaver");
static struct dk_provider stayer = DK_PROVIDER("stayer");
static int is_in[3];

static void *call_leaver(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	long err = lasts(&x, &is_in[0]);

	return (void *)err;
}

static void *call_stayer(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CUDA, 0);
	long err = lasts(&x, &is_in[1]);

	return (void *)err;
}

/* The operator is atomic, so its call is in a read section until it returns. */
static void *call_stuck(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CUDA, 0);
	long err = stuck(&x, &is_in[2]);

	return (void *)err;
}

#define NUM_WAITS	3

static void *unregister_leaver(void *data)
{
	long err = dk_provider_unregister(&leaver);

	return (void *)err;
}

static bool is_listed(const char *name)
{
	const struct dkc_provider *p = dk_registry_default()->providers;

	while (p && strcmp(p->name, name))
		p = p->next;
	return p;
}

/* The child has neither the calls nor the waits of the parent, so unregistering does not wait. */
static int child_beside_waits(void)
{
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_obj cuda = dk_obj_on(DK_BACKEND_CUDA, 0);
	int in = 0;

	alarm(20);
	if (!leaver.core || dk_provider_register(&leaver, NULL) != -EBUSY)
		return 1;
	if (dk_provider_unregister(&leaver) || leaver.core || is_listed("leaver"))
		return 2;
	w_store_release(t_let_go, 1);
	if (lasts(&cuda, &in) || lasts(&cpu, &in) != -ENOSYS)
		return 3;
	if (dk_provider_register(&leaver, NULL) ||
	    dk_impls_register(&leaver, leaver_impls, 1, NULL) || lasts(&cpu, &in))
		return 4;
	if (dk_provider_unregister(&leaver) || is_listed("leaver"))
		return 5;
	if (dk_impls_unregister(&stayer, stayer_impls, NULL) ||
	    dk_provider_unregister(&stayer) || is_listed("stayer"))
		return 6;
	return dk_registry_check(NULL, NULL) ? 7 : 0;
}

static void beside_waits(void)
{
	static void *(*const calls[])(void *) = { call_leaver, call_stayer };
	pthread_t threads[2], leaving[NUM_WAITS];
	unsigned int i;

	t_register(&leaver);
	t_register(&stayer);
	CHECK_OK(dk_op_define(&stayer, &lasts_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&leaver, leaver_impls, 1, &t_why));
	CHECK_OK(dk_impls_register(&stayer, stayer_impls, 1, &t_why));
	t_let_go = 0;
	for (i = 0; i < 2; i++) {
		is_in[i] = 0;
		t_start(&threads[i], calls[i], NULL);
		t_await(&is_in[i]);
	}
	for (i = 0; i < NUM_WAITS; i++)
		t_start(&leaving[i], unregister_leaver, NULL);
	while (t_num_waiting(&leaver) < NUM_WAITS)
		sched_yield();
	t_in_child(child_beside_waits);
	CHECK(leaver.core);
	w_store_release(t_let_go, 1);
	for (i = 0; i < 2; i++)
		t_join_ok(threads[i]);
	for (i = 0; i < NUM_WAITS; i++)
		t_join_ok(leaving[i]);
	CHECK(!leaver.core && !is_listed("leaver"));
	t_leave(&stayer);
}

/* The read section of a thread that is not in the child delays nothing. */
static int child_beside_a_reader(void)
{
	struct dk_obj cuda = dk_obj_on(DK_BACKEND_CUDA, 0);
	int in = 0;

	alarm(20);
	w_store_release(t_let_go, 1);
	if (stuck(&cuda, &in))
		return 1;
	if (dk_impls_unregister(&stayer, stuck_impls, NULL) ||
	    stuck(&cuda, &in) != -ENOSYS)
		return 2;
	return dk_provider_unregister(&stayer) || is_listed("stayer") ? 3 : 0;
}

static void beside_a_reader(void)
{
	pthread_t thread;

	t_register(&stayer);
	CHECK_OK(dk_op_define(&stayer, &stuck_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&stayer, stuck_impls, 1, &t_why));
	t_let_go = 0;
	is_in[2] = 0;
	t_start(&thread, call_stuck, NULL);
	t_await(&is_in[2]);
	t_in_child(child_beside_a_reader);
	t_let_go_and_join(thread);
	t_leave(&stayer);
}

/* ---- a thread in more calls than it has slots --------------------------------- */

DK_OP(nested, "fork::nested", (struct dk_obj *x, int depth), (x, depth), (x));

#define NUM_NESTED	70

static int nested_here(struct dk_call *c, struct dk_obj *x, int depth)
{
	if (depth > 1)
		return nested(x, depth - 1);
	t_stay(&inside);
	return 0;
}

static const struct dk_impl nested_impls[] = { DK_IMPL(nested, DK_CPU, nested_here) };

static void *call_nested(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	long err = nested(&x, NUM_NESTED);

	return (void *)err;
}

static int child_beside_nested_calls(void)
{
	alarm(20);
	if (t_num_inside(&stayer))
		return 1;
	return dk_provider_unregister(&stayer) || is_listed("stayer") ? 2 : 0;
}

static void beside_nested_calls(void)
{
	pthread_t thread;

	t_register(&stayer);
	CHECK_OK(dk_op_define(&stayer, &nested_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&stayer, nested_impls, 1, &t_why));
	inside = 0;
	t_let_go = 0;
	t_start(&thread, call_nested, NULL);
	t_await(&inside);
	CHECK_INT(t_num_inside(&stayer), NUM_NESTED);
	t_in_child(child_beside_nested_calls);
	CHECK_INT(t_num_inside(&stayer), NUM_NESTED);
	t_let_go_and_join(thread);
	t_leave(&stayer);
}

/* ---- a call that forks -------------------------------------------------------- */

DK_OP(forking, "fork::forking", (struct dk_obj *x), (x), (x));
DK_OP(forking_atomic, "fork::forking_atomic", (struct dk_obj *x), (x), (x));

/* The call continues in the child, on a thread with another thread ID. */
static int child_inside_a_call(void)
{
	struct dk_inside in = { .size = sizeof(in) };

	alarm(20);
	if (dk_provider_inside(&stayer, 0, &in) || t_num_inside(&stayer) != 1)
		return 1;
	if (in.thread != (u32)gettid() || !in.thread_name[0])
		return 2;
	return dk_provider_unregister(&stayer) == -EDEADLK ? 0 : 3;
}

static int forking_here(struct dk_call *c, struct dk_obj *x)
{
	t_in_child(child_inside_a_call);
	return 0;
}

static const struct dk_impl forking_impls[] = {
	DK_IMPL(forking, DK_CPU, forking_here),
	DK_IMPL_ATOMIC(forking_atomic, DK_CPU, forking_here),
};

static void inside_a_call(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	t_register(&stayer);
	CHECK_OK(dk_op_define(&stayer, &forking_op, 0, &t_why));
	CHECK_OK(dk_op_define(&stayer, &forking_atomic_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&stayer, forking_impls, 2, &t_why));
	CHECK_OK(forking(&x));
	CHECK_OK(forking_atomic(&x));
	t_leave(&stayer);
}

T_SUITE_WITH(fork, t_bound,
	T_PEER(15, beside_threads),
	T(with_counters),
	T_PEER(15, beside_a_notification),
	T_PEER(15, beside_waits),
	T_PEER(15, beside_a_reader),
	T_PEER(15, beside_nested_calls),
	T_PEER(15, inside_a_call));
