// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests waits for calls when a provider is unregistered or drained: with and without a deadline,
 * and several at once. No result depends on how long something takes. full_registry.h explains the
 * comments "refuses:".
 */
#include "alloc.h"
#include "visit.h"

/* ---- a thread that unregisters ------------------------------------------- */

/* Releases a handle and unregisters its library. Both wait for calls of removed functions. */
static void release_and_unregister(void *data)
{
	struct v_unregister *l = data;

	l->err = dk_handle_release(l->lib, l->handle);
	l->err = l->err ? l->err : dk_library_unregister(l->lib);
	w_store_release(l->done, true);
}

/* ---- deadlines ----------------------------------------------------------- */

static void check_no_call_from(unsigned int i)
{
	struct dk_inside in = { .size = sizeof(in) };

	CHECK_INT(dk_provider_inside(NULL, i, &in), -ENOENT);
	/* refuses: dk_provider_inside ENOENT NOT_THERE */
	CHECK_INT(dk_provider_inside(&v_guest, i, &in), -ENOENT);
}

/* Returns the milliseconds at the end of the reason. */
static u64 ms_in_reason(void)
{
	const char *s = strrchr(t_why.name, ']');
	u64 ms = 0;

	for (s = s ? s + 2 : ""; *s >= '0' && *s <= '9'; s++)
		ms = 10 * ms + *s - '0';
	return ms;
}

static void deadline_names_the_call(void)
{
	const struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_library late = t_library(&v_guest, DK_LIBRARY_IMPL, NULL, 0);
	struct dk_inside in;
	struct v_caller v;
	u64 ms = 0;

	v_open();
	check_no_call_from(0);
	/* the time that is reported below must not begin at the grace period of this drain */
	CHECK_OK(dk_provider_drain(&v_guest));
	w_sleep_us(3000);
	if (!v_enter(&v, cpu, false))
		return;
	in = v_inside_at(0);
	CHECK_STR(in.op, "visit::stay");
	CHECK_STR(in.label, "stay_guest");
	CHECK(in.thread && in.thread_name[0] && !strchr(in.thread_name, '\n'));
	CHECK_INT(in.device, 0);
	CHECK_INT(in.ms, 0);
	check_no_call_from(1);
	/* refuses: dk_provider_unregister_timeout ETIMEDOUT STILL_INSIDE */
	CHECK_INT(dk_provider_unregister_timeout(&v_guest, 200, &t_why), -ETIMEDOUT);
	CHECK_INT(t_why.reason, DK_WHY_STILL_INSIDE);
	CHECK(v_why_begins("visit::stay stay_guest "));
	/* the guest's functions serve no new calls, but the guest is not drained */
	CHECK_INT(v_served(v_stay, cpu), V_BASE);
	CHECK_INT(v_served(v_stay, dk_obj_on(v_backend, v_card)), V_BASE);
	/* refuses: dk_impls_register EBUSY UNREGISTERING */
	CHECK_INT(dk_impls_register(&v_guest, v_guest_impls, V_GUEST_IMPLS, &t_why), -EBUSY);
	CHECK_INT(t_why.reason, DK_WHY_UNREGISTERING);
	/* refuses: dk_backend_impls_register EBUSY UNREGISTERING */
	CHECK_INT(dk_backend_impls_register(&v_guest, v_backend, NULL, 0, &t_why), -EBUSY);
	/* refuses: dk_device_register EBUSY UNREGISTERING */
	CHECK_INT(dk_device_register(&v_guest, v_backend, "late", NULL, NULL, 0, NULL, &t_why),
		  -EBUSY);
	/* refuses: dk_fallback_register EBUSY UNREGISTERING */
	CHECK_INT(dk_fallback_register(&v_guest, v_guest_impls, &t_why), -EBUSY);
	/* refuses: dk_op_undefine EBUSY UNREGISTERING */
	CHECK_INT(dk_op_undefine(&v_guest, "visit::stay", &t_why), -EBUSY);
	/* refuses: dk_impls_withdraw EBUSY UNREGISTERING */
	CHECK_INT(dk_impls_withdraw(&v_guest, v_guest_impls, &t_why), -EBUSY);
	/* refuses: dk_library_register EBUSY UNREGISTERING */
	CHECK_INT(dk_library_register(&late, &t_why), -EBUSY);
	/* refuses: dk_library_impl EBUSY UNREGISTERING */
	CHECK_INT(dk_library_impl(&late, v_guest_impls, NULL, &t_why), -EBUSY);
	/* refuses: dk_library_fallback EBUSY UNREGISTERING */
	CHECK_INT(dk_library_fallback(&late, v_guest_impls, NULL, &t_why), -EBUSY);
	/* refuses: dk_provider_register EBUSY UNREGISTERING */
	CHECK_INT(dk_provider_register(&v_guest, &t_why), -EBUSY);
	CHECK_INT(t_why.reason, DK_WHY_UNREGISTERING);
	CHECK_INT(dk_registry_free(t_reg, &t_why), -EBUSY);
	CHECK(v_guest.core);
	/* after the grace period, "ms" is the time since its end */
	while (CHECK_INT(dk_provider_unregister_timeout(&v_guest, 50, &t_why), -ETIMEDOUT) &&
	       !(ms = v_inside_at(0).ms))
		;
	w_sleep_us(50000);
	CHECK(v_inside_at(0).ms > ms);
	/*
	 * the time in the reason also begins at the end of the grace period, whichever wait reports
	 * it
	 */
	ms = v_inside_at(0).ms;
	CHECK_INT(dk_provider_unregister_timeout(&v_guest, 1, &t_why), -ETIMEDOUT);
	CHECK(ms_in_reason() >= ms);
	v_release(&v);
	CHECK_OK(dk_provider_unregister_timeout(&v_guest, V_LONG_MS, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_NONE);
	CHECK(!v_guest.core);
	check_no_call_from(0);
	CHECK_OK(dk_provider_unregister_timeout(&v_guest, 0, &t_why));
}

static unsigned int num_allocs;

static int unregister_soon(void)
{
	return dk_provider_unregister_timeout(&v_guest, 20, &t_why);
}

static int count_unregister_soon(void)
{
	return t_count_allocs(unregister_soon, &num_allocs);
}

/* Tables whose allocation failed are built when the provider is unregistered, and not before. */
static void timeout_builds_no_tables(void)
{
	struct v_caller v;

	v_open();
	if (!v_enter(&v, dk_obj_on(DK_BACKEND_CPU, 0), false))
		return;
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_INT(dk_provider_unregister_timeout(&v_guest, 200, &t_why), -ETIMEDOUT);
	CHECK(dk_test_fail_alloc(0));
	/* at most one allocation is made, for the wait for a grace period */
	CHECK_INT(count_unregister_soon(), -ETIMEDOUT);
	CHECK(num_allocs <= 1);
	CHECK_INT(count_unregister_soon(), -ETIMEDOUT);
	CHECK_INT(num_allocs, 0);
	v_release(&v);
	do
		CHECK(!num_allocs);
	while (count_unregister_soon() == -ETIMEDOUT);
	CHECK(num_allocs);
}

/* The kernel does not record atomic calls. They keep the grace period from ending. */
static void atomic_call_times_out(void)
{
	const struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	struct v_caller v;

	if (w_cpus() < 2) {
		t_skip("a call that spins needs a CPU of its own");
		return;
	}
	v_open();
	if (!v_enter(&v, cpu, true))
		return;
	if (T_KERNEL)
		check_no_call_from(0);
	/* refuses: dk_provider_unregister_timeout ETIMEDOUT GRACE */
	CHECK_INT(dk_provider_unregister_timeout(&v_guest, 50, &t_why), -ETIMEDOUT);
	if (T_KERNEL) {
		CHECK_INT(t_why.reason, DK_WHY_GRACE);
		CHECK_STR(t_why.name, "guest");
	} else {
		CHECK_INT(t_why.reason, DK_WHY_STILL_INSIDE);
		CHECK(v_why_begins("visit::spin spin_guest "));
	}
	v_release(&v);
	CHECK_OK(dk_provider_unregister(&v_guest));
	CHECK(!v_guest.core);
	CHECK_INT(v_served(v_spin, cpu), V_BASE);
}

/* Unregistering waits for an atomic call, too, if an earlier attempt has timed out. */
static void atomic_call_outlasts_a_timeout(void)
{
	struct v_caller v;
	struct v_unregister l;

	if (w_cpus() < 2) {
		t_skip("a call that spins needs a CPU of its own");
		return;
	}
	v_open();
	if (!v_enter(&v, dk_obj_on(DK_BACKEND_CPU, 0), true))
		return;
	CHECK_INT(dk_provider_unregister_timeout(&v_guest, 1, &t_why), -ETIMEDOUT);
	if (!v_begin_unregister(&l))
		return;
	/*
	 * a request that wrongly does not wait ends in this time; a slow machine cannot fail the
	 * test
	 */
	w_sleep_us(20000);
	CHECK(!w_load_acquire(l.done));
	v_release(&v);
	v_end_unregister(&l);
}

/*
 * Releasing a handle waits for the calls of its function, even if another thread has already
 * removed the function.
 */
static void handle_release_waits_for_removed_functions(void)
{
	struct dk_library lib = DK_LIBRARY(&v_guest, IMPL, "visit", DK_UNDEFINED);
	static struct dk_impl impl = DK_IMPL(stay, DK_CUDA, stay_guest);
	struct dk_handle handle = { NULL };
	struct v_caller v;
	struct v_unregister l;

	v_open();
	CHECK_OK(dk_library_register(&lib, &t_why));
	CHECK_OK(dk_library_impl(&lib, &impl, &handle, &t_why));
	if (!v_enter(&v, dk_obj_on(DK_BACKEND_CUDA, 0), false))
		return;
	CHECK_INT(dk_provider_unregister_timeout(&v_guest, 0, &t_why), -ETIMEDOUT);
	memset(&l, 0, sizeof(l));
	l.lib = &lib;
	l.handle = &handle;
	if (!CHECK_OK(w_start(&l.thread, "dk_unregister", release_and_unregister, &l)))
		return;
	/*
	 * a request that wrongly does not wait ends in this time; a slow machine cannot fail the
	 * test
	 */
	w_sleep_us(20000);
	CHECK(!w_load_acquire(l.done));
	v_release(&v);
	v_end_unregister(&l);
}

/* If two threads unregister a provider, each may free it when its own request has returned. */
static void second_unregister_allows_freeing(void)
{
	struct v_caller v;
	struct v_unregister l;

	v_open();
	if (!v_enter(&v, dk_obj_on(DK_BACKEND_CPU, 0), false) || !v_begin_unregister(&l))
		return;
	w_store_release(v.stay.may_return, true);
	while (w_load(v_guest.core))
		w_sleep_us(V_STEP_US);
	CHECK_OK(dk_provider_unregister(&v_guest));
	/* the function's store is visible; ThreadSanitizer checks this plain load */
	CHECK_INT(v.stay.plain, 1);
	w_join(&v.thread);
	v_end_unregister(&l);
}

static void unregister_within_the_deadline(void)
{
	v_open();
	CHECK_OK(dk_provider_unregister_timeout(&v_guest, V_LONG_MS, &t_why));
	CHECK(!v_guest.core);
	t_join(&v_guest, "guest");
}

/* A wait without a deadline continues when another wait for the same provider times out. */
static void timeout_does_not_end_another_wait(void)
{
	struct v_caller v;
	struct v_unregister l;

	v_open();
	if (!v_enter(&v, dk_obj_on(v_backend, v_card), false) || !v_begin_unregister(&l))
		return;
	CHECK_INT(v_inside_at(0).device, v_card);
	CHECK_INT(dk_provider_unregister_timeout(&v_guest, 20, &t_why), -ETIMEDOUT);
	CHECK(!w_load_acquire(l.done));
	v_release(&v);
	CHECK_OK(dk_provider_unregister_timeout(&v_guest, V_LONG_MS, &t_why));
	v_end_unregister(&l);
}

static int unregister_at_once(void)
{
	return dk_provider_unregister_timeout(&v_guest, 0, &t_why);
}

static int cuda_offline_at_once(void)
{
	return dk_backend_set_online_timeout(t_reg, DK_BACKEND_CUDA, 0, 0, &t_why);
}

static int (*run_inside)(void);

static int stay_runs(struct dk_call *c, struct dk_obj *x, struct stay *s, int *served_by)
{
	*served_by = run_inside();
	return 0;
}

static int run_from_inside(int (*what)(void))
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CUDA, 0);
	int err = 0;

	run_inside = what;
	CHECK_OK(stay_at(v_stay, &dk_local_default, &x, NULL, &err));
	return err;
}

static void call_cannot_wait_for_itself(void)
{
	static const struct dk_impl impls[] = { DK_IMPL(stay, DK_CUDA, stay_runs) };
	struct dk_inside in = { .size = 1 };

	v_open();
	CHECK_OK(dk_impls_register(&v_guest, impls, 1, &t_why));
	CHECK_INT(run_from_inside(cuda_offline_at_once), -EDEADLK);
	CHECK_INT(t_why.reason, DK_WHY_INSIDE_BACKEND);
	CHECK_OK(dk_backend_set_online(t_reg, DK_BACKEND_CUDA, 1, &t_why));
	/* refuses: dk_provider_unregister_timeout EDEADLK INSIDE */
	CHECK_INT(run_from_inside(unregister_at_once), -EDEADLK);
	CHECK_INT(t_why.reason, DK_WHY_INSIDE);
	CHECK_INT(v_served(v_stay, dk_obj_on(DK_BACKEND_CPU, 0)), V_GUEST);
	/* refuses: dk_provider_inside EINVAL BAD_SIZE */
	CHECK_INT(dk_provider_inside(&v_guest, 0, &in), -EINVAL);
}

/* ---- calls that are not waited for --------------------------------------- */

static const struct dk_impl cuda_impls[] = { DK_IMPL(stay, DK_CUDA, stay_guest) };

/* A drain does not wait for calls of functions that stay registered. */
static void drain_ignores_calls_of_registered_functions(void)
{
	struct v_caller v;

	v_open();
	CHECK_OK(dk_impls_register(&v_guest, cuda_impls, 1, &t_why));
	if (!v_enter(&v, dk_obj_on(DK_BACKEND_CPU, 0), false))
		return;
	CHECK_OK(dk_provider_drain(&v_guest));
	CHECK_OK(dk_impls_withdraw(&v_guest, cuda_impls, &t_why));
	CHECK_OK(dk_provider_drain(&v_guest));
	v_release(&v);
}

/* Unregistering one array of functions does not wait for calls of another array. */
static void unregister_ignores_calls_of_other_arrays(void)
{
	struct v_caller v;

	v_open();
	CHECK_OK(dk_impls_register(&v_guest, cuda_impls, 1, &t_why));
	if (!v_enter(&v, dk_obj_on(DK_BACKEND_CPU, 0), false))
		return;
	CHECK_OK(dk_impls_withdraw(&v_guest, v_guest_impls, &t_why));
	CHECK_OK(dk_impls_unregister(&v_guest, cuda_impls, &t_why));
	v_release(&v);
	CHECK_OK(dk_provider_drain(&v_guest));
}

/* ---- two registries ------------------------------------------------------ */

static int stay_switches(struct dk_call *c, struct dk_obj *x, struct stay *s, int *served_by)
{
	*served_by = dk_backend_set_online(t_reg, DK_BACKEND_CPU, 0, &t_why);
	return dk_backend_set_online(t_reg, DK_BACKEND_CPU, 1, &t_why);
}

static void call_may_wait_in_another_registry(void)
{
	static const struct dk_impl impls[] = { DK_IMPL(stay, DK_CPU, stay_switches) };
	struct dk_registry *other = dk_registry_alloc(NULL, DK_REGISTRY_BUILTINS, &t_why);
	struct dk_provider stranger = DK_PROVIDER("stranger");
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_op *handle;
	int err = -1;

	v_open();
	stranger.registry = other;
	CHECK_OK(dk_provider_register(&stranger, &t_why));
	CHECK_OK(dk_op_define(&stranger, &stay_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&stranger, impls, 1, &t_why));
	handle = dk_op_get(other, "visit::stay");
	CHECK_OK(stay_at(handle, &dk_local_default, &x, NULL, &err));
	CHECK_OK(err);
	dk_op_put(handle);
	CHECK_OK(dk_provider_unregister(&stranger));
	t_close();
	CHECK_OK(dk_registry_free(other, &t_why));
}

#define NUM_CALLS	40	/* more than a CPU has slots for */

/* Unregistering waits for each call, whatever the order in which they leave. */
static void unregister_waits_for_many_calls(void)
{
	struct v_caller *v = t_alloc(NUM_CALLS * sizeof(*v));
	unsigned int n;

	v_open();
	for (n = 0; n < NUM_CALLS; n++)
		if (!v_enter(&v[n], dk_obj_on(DK_BACKEND_CPU, 0), false))
			break;
	for (n = 0; n < NUM_CALLS; n++) {
		CHECK_INT(dk_provider_unregister_timeout(&v_guest, 1, &t_why), -ETIMEDOUT);
		v_release(&v[n % 2 ? NUM_CALLS - 1 - n / 2 : n / 2]);
	}
	CHECK_OK(dk_provider_unregister_timeout(&v_guest, V_LONG_MS, &t_why));
	t_close();
	t_free(v);
}

/* A task that is inside cannot unregister the provider, however many calls it is in. */
static void task_in_many_calls_cannot_unregister(void)
{
	struct dk_frame *c = t_alloc(2 * NUM_CALLS * sizeof(*c));
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	const struct dk_obj *const objs[] = { &cpu };
	unsigned int n;

	v_open();
	for (n = 0; n < 2 * NUM_CALLS; n++)
		CHECK_OK(dk_call_enter_op(&c[n], v_stay, &stay_op, &dk_local_default,
					  objs, 1));
	/* leave the oldest calls first, and enter new calls in their place */
	for (n = 0; n < NUM_CALLS; n++) {
		dk_call_leave(&c[n]);
		CHECK_INT(dk_provider_unregister(&v_guest), -EDEADLK);
	}
	for (n = 0; n < NUM_CALLS; n += 2)
		CHECK_OK(dk_call_enter_op(&c[n], v_stay, &stay_op, &dk_local_default,
					  objs, 1));
	for (n = NUM_CALLS; n < 2 * NUM_CALLS; n++)
		dk_call_leave(&c[n]);
	for (n = 0; n < NUM_CALLS; n += 2) {
		CHECK_INT(dk_provider_unregister(&v_guest), -EDEADLK);
		dk_call_leave(&c[n]);
	}
	CHECK_OK(dk_provider_unregister(&v_guest));
	t_close();
	t_free(c);
}

/* ---- several waiters of one provider ------------------------------------- */

static int serve_all(struct dk_call *c, void *args)
{
	return 0;
}

/* Returns whether a counter of a fallback is listed. dk_op_stat() reads the fallback's label. */
static bool lists_a_fallback(void)
{
	struct dk_stat s = { .size = sizeof(s) };
	unsigned int i;

	for (i = 0; !dk_op_stat(v_stay, i, &s); i++)
		if (s.kind == DK_STAT_FALLBACK)
			return true;
	return false;
}

/* Registers a fallback of the guest, in memory that can be freed, and makes one call of it. */
static struct dk_impl *counted_fallback(void)
{
	struct dk_impl *impl = t_alloc(sizeof(*impl));
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	*impl = (struct dk_impl)DK_FALLBACK(DK_PYTHON, serve_all);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_OK(dk_fallback_register(&v_guest, impl, &t_why));
	x.ks = dk_keyset_or(x.ks, dk_key_set(NULL, DK_PYTHON));
	CHECK_OK(stay_at(v_stay, &dk_local_default, &x, NULL, NULL));
	CHECK(lists_a_fallback());
	return impl;
}

/* Overwrites and frees a fallback, which the core must no longer read. */
static void free_fallback(struct dk_impl *impl)
{
	memset(impl, 0x5a, sizeof(*impl));
	t_free(impl);
}

/*
 * A request to take the backend offline is waiting, so the core keeps the struct dkc_block of an
 * array that is unregistered meanwhile. But nothing may read the array itself, which the caller
 * frees.
 */
static void array_is_not_read_after_unregister(void)
{
	struct dk_obj x;
	struct switcher s = { .device = 0 };
	struct dk_impl *impl;
	struct v_caller v;

	v_open();
	x = dk_obj_on(v_backend, v_card);
	impl = counted_fallback();
	if (!v_switch_off_during_call(&v, x, &s))
		return;
	CHECK_OK(dk_impls_unregister(&v_guest, impl, &t_why));
	free_fallback(impl);
	CHECK(!lists_a_fallback());
	v_release(&v);
	w_join(&s.thread);
	CHECK_OK(s.err);
}

/*
 * Like array_is_not_read_after_unregister(), but a whole provider is unregistered, whose own grace
 * period has already ended. The request to take the backend offline waits for a later grace period,
 * which an atomic call of another provider prolongs.
 */
static void array_is_not_read_after_provider_unregister(void)
{
	static const struct dk_impl spins[] = {
		DK_IMPL_ATOMIC(spin, DK_PRIVATEUSE1, spin_guest),
	};
	struct dk_backend_info info = { .size = sizeof(info), .is_online = 1 };
	struct dk_stat stat = { .size = sizeof(stat) };
	struct switcher s = { .device = 0 };
	struct v_caller v, later;
	struct dk_impl *impl;
	struct v_unregister l;

	if (w_cpus() < 2) {
		t_skip("a call that spins needs a CPU of its own");
		return;
	}
	v_open();
	CHECK_OK(dk_impls_register(&v_host, spins, 1, &t_why));
	impl = counted_fallback();
	if (!v_enter(&v, dk_obj_on(DK_BACKEND_CPU, 0), false) || !v_begin_unregister(&l))
		return;
	while (!v_inside_at(0).ms)
		w_sleep_us(V_STEP_US);
	if (!v_enter(&later, dk_obj_on(v_backend, 0), true) ||
	    !CHECK_OK(w_start(&s.thread, "dk_switcher", v_switch_off, &s)))
		return;
	/* the backend is offline when the other thread releases the lock to wait */
	while (info.is_online) {
		w_sleep_us(V_STEP_US);
		CHECK_OK(dk_registry_backend(t_reg, v_backend, &info));
	}
	v_release(&v);
	v_end_unregister(&l);
	free_fallback(impl);
	CHECK(!lists_a_fallback());
	CHECK_INT(dk_provider_stat(t_reg, "guest", &stat), -ENOENT);
	CHECK(!w_load_acquire(s.is_off));
	v_release(&later);
	w_join(&s.thread);
	CHECK_OK(s.err);
}

T_SUITE(waiting,
	T(deadline_names_the_call),
	T(timeout_builds_no_tables),
	T(atomic_call_times_out),
	T(atomic_call_outlasts_a_timeout),
	T(handle_release_waits_for_removed_functions),
	T(second_unregister_allows_freeing),
	T(unregister_within_the_deadline),
	T(timeout_does_not_end_another_wait),
	T(call_cannot_wait_for_itself),
	T(drain_ignores_calls_of_registered_functions),
	T(unregister_ignores_calls_of_other_arrays),
	T(call_may_wait_in_another_registry),
	T(unregister_waits_for_many_calls),
	T(task_in_many_calls_cannot_unregister),
	T(array_is_not_read_after_unregister),
	T(array_is_not_read_after_provider_unregister));
