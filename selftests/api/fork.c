// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls fork() while other threads call, register, wait and notify. The child has none of these
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

static int child_while_threads_call(void)
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

static void fork_while_threads_call(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	unsigned int i, failed[3] = { 0 };
	pthread_t threads[3];

	if (W_SANITIZED) {
		t_skip("a child inherits the locks of a sanitizer as they are");
		return;
	}
	open_parent();
	/* this call binds the declaration, so that the threads do not all write its @op */
	CHECK_OK(forked(&x));
	t_start(&threads[0], first_calls, &failed[0]);
	t_start(&threads[1], first_calls, &failed[1]);
	t_start(&threads[2], synchronize, &failed[2]);
	for (i = 0; i < 60 && t_in_child(child_while_threads_call); i++)
		;
	w_store_release(stop, 1);
	for (i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		CHECK_INT(failed[i], 0);
	}
	t_unregister(&parent);
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
 * Starts threads that make their first call and end, and makes calls from this thread. In a build
 * with a sanitizer, starts no threads: a lock of the sanitizer that a thread holds during fork()
 * would stay locked in the child.
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
static void fork_with_counters(void)
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
	/* fork only after both first calls: they allocate, and so take a sanitizer's locks */
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
	t_unregister(&parent);
}

/* ---- a notification ----------------------------------------------------------- */

DK_OP(fork_slow, "fork::slow", (struct dk_obj *x), (x), (x));
DK_OP(fork_quick, "fork::quick", (struct dk_obj *x), (x), (x));

static unsigned int num_notified, num_later;

static void on_event(struct dk_listener *l, const struct dk_event *event)
{
	num_notified++;
	if (!strcmp(event->name, fork_slow_op.name))
		t_stay(&inside);
}

static void on_event_later(struct dk_listener *l, const struct dk_event *event)
{
	num_later++;
}

static struct dk_listener listener = { .size = sizeof(listener), .notify = on_event };
static struct dk_listener later = { .size = sizeof(later), .notify = on_event_later };
static struct dk_provider notifier = DK_PROVIDER("notifier");

static void *define_and_notify(void *data)
{
	long err = dk_op_define(&notifier, &fork_slow_op, 0, NULL);

	return (void *)err;
}

/*
 * In the child no notification is going on, and no thread is in the listener. So the registry can
 * be freed. The other listener gets the event that was being reported.
 */
static int child_during_a_notification(void)
{
	struct dk_registry *reg = notifier.registry;

	alarm(20);
	if (dk_listener_unregister(&listener))
		return 1;
	if (dk_op_undefine(&notifier, fork_slow_op.name, NULL) ||
	    dk_listener_register(&listener, NULL))
		return 2;
	num_notified = 0;
	if (dk_op_define(&notifier, &fork_quick_op, 0, NULL) || num_notified != 1)
		return 3;
	if (num_later != 3)
		return 4;
	if (dk_listener_unregister(&listener) || dk_listener_unregister(&later) ||
	    dk_provider_unregister(&notifier))
		return 5;
	return dk_registry_free(reg, NULL) ? 6 : 0;
}

static void fork_during_a_notification(void)
{
	struct dk_registry *reg = dk_registry_alloc(NULL, 0, &t_why);
	pthread_t thread;

	if (!CHECK(reg))
		return;
	notifier.registry = reg;
	listener.registry = reg;
	later.registry = reg;
	CHECK_OK(dk_provider_register(&notifier, &t_why));
	/* the listener that was registered last is notified first */
	num_later = 0;
	CHECK_OK(dk_listener_register(&later, &t_why));
	CHECK_OK(dk_listener_register(&listener, &t_why));
	inside = 0;
	t_may_return = 0;
	t_start(&thread, define_and_notify, NULL);
	t_await(&inside);
	t_in_child(child_during_a_notification);
	t_release_and_join(thread);
	CHECK_INT(num_later, 1);
	CHECK_OK(dk_listener_unregister(&later));
	CHECK_OK(dk_listener_unregister(&listener));
	CHECK_OK(dk_provider_unregister(&notifier));
	CHECK_OK(dk_registry_free(reg, &t_why));
}

/* ---- long calls, and waits for them ------------------------------------------- */

DK_OP(lasts, "fork::lasts", (struct dk_obj *x, int *in), (x, in), (x));
DK_OP(stuck, "fork::stuck", (struct dk_obj *x, int *in), (x, in), (x));

static int lasts_here(struct dk_call *c, struct dk_obj *x, int *in)
{
	t_stay(in);
	return 0;
}

static const struct dk_impl removed_impls[] = { DK_IMPL(lasts, DK_CPU, lasts_here) };
static const struct dk_impl kept_impls[] = {
	DK_IMPL(lasts, DK_CUDA, lasts_here),
};

static const struct dk_impl stuck_impls[] = {
	DK_IMPL_ATOMIC(stuck, DK_CUDA, lasts_here),
};

static struct dk_provider removed = DK_PROVIDER("removed");
static struct dk_provider kept = DK_PROVIDER("kept");
static int is_in[3];

static void *call_removed(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	long err = lasts(&x, &is_in[0]);

	return (void *)err;
}

static void *call_kept(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CUDA, 0);
	long err = lasts(&x, &is_in[1]);

	return (void *)err;
}

/* The operator is atomic, so its call is in a read-side critical section until it returns. */
static void *call_stuck(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CUDA, 0);
	long err = stuck(&x, &is_in[2]);

	return (void *)err;
}

#define NUM_WAITS	3

static void *unregister_removed(void *data)
{
	long err = dk_provider_unregister(&removed);

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
static int child_during_waits(void)
{
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_obj cuda = dk_obj_on(DK_BACKEND_CUDA, 0);
	int in = 0;

	alarm(20);
	if (!removed.core || dk_provider_register(&removed, NULL) != -EBUSY)
		return 1;
	if (dk_provider_unregister(&removed) || removed.core || is_listed("removed"))
		return 2;
	w_store_release(t_may_return, 1);
	if (lasts(&cuda, &in) || lasts(&cpu, &in) != -ENOSYS)
		return 3;
	if (dk_provider_register(&removed, NULL) ||
	    dk_impls_register(&removed, removed_impls, 1, NULL) || lasts(&cpu, &in))
		return 4;
	if (dk_provider_unregister(&removed) || is_listed("removed"))
		return 5;
	if (dk_impls_unregister(&kept, kept_impls, NULL) ||
	    dk_provider_unregister(&kept) || is_listed("kept"))
		return 6;
	return dk_registry_check(NULL, NULL) ? 7 : 0;
}

static void fork_during_waits(void)
{
	static void *(*const calls[])(void *) = { call_removed, call_kept };
	pthread_t threads[2], unregistering[NUM_WAITS];
	unsigned int i;

	t_register(&removed);
	t_register(&kept);
	CHECK_OK(dk_op_define(&kept, &lasts_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&removed, removed_impls, 1, &t_why));
	CHECK_OK(dk_impls_register(&kept, kept_impls, 1, &t_why));
	t_may_return = 0;
	for (i = 0; i < 2; i++) {
		is_in[i] = 0;
		t_start(&threads[i], calls[i], NULL);
		t_await(&is_in[i]);
	}
	for (i = 0; i < NUM_WAITS; i++)
		t_start(&unregistering[i], unregister_removed, NULL);
	while (t_num_waiting(&removed) < NUM_WAITS)
		sched_yield();
	t_in_child(child_during_waits);
	CHECK(removed.core);
	w_store_release(t_may_return, 1);
	for (i = 0; i < 2; i++)
		t_join_ok(threads[i]);
	for (i = 0; i < NUM_WAITS; i++)
		t_join_ok(unregistering[i]);
	CHECK(!removed.core && !is_listed("removed"));
	t_unregister(&kept);
}

/* The read-side critical section of a thread that is not in the child delays nothing. */
static int child_during_an_atomic_call(void)
{
	struct dk_obj cuda = dk_obj_on(DK_BACKEND_CUDA, 0);
	int in = 0;

	alarm(20);
	w_store_release(t_may_return, 1);
	if (stuck(&cuda, &in))
		return 1;
	if (dk_impls_unregister(&kept, stuck_impls, NULL) ||
	    stuck(&cuda, &in) != -ENOSYS)
		return 2;
	return dk_provider_unregister(&kept) || is_listed("kept") ? 3 : 0;
}

static void fork_during_an_atomic_call(void)
{
	pthread_t thread;

	t_register(&kept);
	CHECK_OK(dk_op_define(&kept, &stuck_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&kept, stuck_impls, 1, &t_why));
	t_may_return = 0;
	is_in[2] = 0;
	t_start(&thread, call_stuck, NULL);
	t_await(&is_in[2]);
	t_in_child(child_during_an_atomic_call);
	t_release_and_join(thread);
	t_unregister(&kept);
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

static int child_during_nested_calls(void)
{
	alarm(20);
	if (t_num_inside(&kept))
		return 1;
	return dk_provider_unregister(&kept) || is_listed("kept") ? 2 : 0;
}

static void fork_during_nested_calls(void)
{
	pthread_t thread;

	t_register(&kept);
	CHECK_OK(dk_op_define(&kept, &nested_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&kept, nested_impls, 1, &t_why));
	inside = 0;
	t_may_return = 0;
	t_start(&thread, call_nested, NULL);
	t_await(&inside);
	CHECK_INT(t_num_inside(&kept), NUM_NESTED);
	t_in_child(child_during_nested_calls);
	CHECK_INT(t_num_inside(&kept), NUM_NESTED);
	t_release_and_join(thread);
	t_unregister(&kept);
}

/* ---- a call that forks -------------------------------------------------------- */

DK_OP(forking, "fork::forking", (struct dk_obj *x), (x), (x));
DK_OP(forking_atomic, "fork::forking_atomic", (struct dk_obj *x), (x), (x));

/* The call continues in the child, on a thread with another thread ID. */
static int child_inside_a_call(void)
{
	struct dk_inside in = { .size = sizeof(in) };

	alarm(20);
	if (dk_provider_inside(&kept, 0, &in) || t_num_inside(&kept) != 1)
		return 1;
	if (in.thread != (u32)gettid() || !in.thread_name[0])
		return 2;
	return dk_provider_unregister(&kept) == -EDEADLK ? 0 : 3;
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

static void fork_inside_a_call(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	t_register(&kept);
	CHECK_OK(dk_op_define(&kept, &forking_op, 0, &t_why));
	CHECK_OK(dk_op_define(&kept, &forking_atomic_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&kept, forking_impls, 2, &t_why));
	CHECK_OK(forking(&x));
	CHECK_OK(forking_atomic(&x));
	t_unregister(&kept);
}

T_SUITE_WITH(fork, t_bound,
	T_PEER(15, fork_while_threads_call),
	T(fork_with_counters),
	T_PEER(15, fork_during_a_notification),
	T_PEER(15, fork_during_waits),
	T_PEER(15, fork_during_an_atomic_call),
	T_PEER(15, fork_during_nested_calls),
	T_PEER(15, fork_inside_a_call));
