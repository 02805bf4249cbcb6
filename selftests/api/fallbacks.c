// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fallbacks, and functions that override them or each other, are registered and
 * unregistered while threads make all kinds of calls. Each call must reach a function that
 * was the right one at some moment during the call.
 */
#include "alloc.h"
#include "test.h"

#include "../world.h"

#define DURATION_US	500000
#define EXTRA_US	60000000
#define MAX_CALLERS	64

DK_OP(last, "fallbacks::last", (const struct dk_obj *x, bool *own), (x, own), (x));

static struct dk_provider prov;
static struct dk_op *op;
static struct dk_obj plain, tracked;
static unsigned int key;
static u32 stop;

static int last_own(struct dk_call *c, const struct dk_obj *x, bool *own)
{
	*own = true;
	return 0;
}

static int last_other(struct dk_call *c, const struct dk_obj *x, bool *own)
{
	return 0;
}

static int last_above(struct dk_call *c, const struct dk_obj *x, bool *own)
{
	return last_below(c, x, own);
}

static int last_any(struct dk_call *c, void *args)
{
	return 0;
}

/* The operator's own function, and a fallback for its key. */
static const struct dk_impl own[] = { DK_IMPL_ATOMIC(last, DK_CUDA, last_own) };
static const struct dk_impl any = DK_FALLBACK_ATOMIC(DK_CUDA, last_any);

/* A function for objects on no device. Objects on a device use it only if the device has none. */
static const struct dk_impl other[] = { DK_IMPL_ATOMIC(last, DK_CUDA, last_other) };

/* Two functions at an alias key. */
static const struct dk_impl first[] = {
	DK_IMPL_ATOMIC(last, DK_COMPOSITE_EXPLICIT_AUTOGRAD, last_own),
};

static const struct dk_impl second[] = {
	DK_IMPL_ATOMIC(last, DK_COMPOSITE_EXPLICIT_AUTOGRAD, last_own),
};

/* The registrations that stay. */
static const struct dk_impl above[] = {
	DK_IMPL_ATOMIC(last, DK_AUTOGRAD_CUDA, last_above),
};

/* ---- the call paths ----------------------------------------------------------- */

static int by_name(bool *by_own)
{
	return last_in(&dk_local_default, &plain, by_own);
}

static int by_handle(bool *by_own)
{
	return last_at(op, &dk_local_default, &plain, by_own);
}

static int boxed(bool *by_own)
{
	struct last_args args = { &plain, by_own };

	return dk_call_boxed(op, &last_op, &dk_local_default, &args);
}

static int at_key(bool *by_own)
{
	return last_for_key(op, &dk_local_default, key, &plain, by_own);
}

static int redispatched(bool *by_own)
{
	return last_at(op, &dk_local_default, &tracked, by_own);
}

#if T_KERNEL
static int in_rcu(bool *by_own)
{
	int err;

	rcu_read_lock();
	err = last_rcu(&dk_local_default, &plain, by_own);
	rcu_read_unlock();
	return err;
}
#endif

#define PATH(path)	{ #path, path }

/* The last path in the kernel, a call in an RCU section, is only for atomic operators. */
static const struct call_path {
	const char *name;
	int (*call)(bool *by_own);
} paths[] = {
	PATH(by_name), PATH(by_handle), PATH(boxed), PATH(at_key), PATH(redispatched),
#if T_KERNEL
	PATH(in_rcu),
#endif
};

static unsigned int num_paths;

/* ---- threads that call ---------------------------------------------------------- */

enum result { OWN, ANY, NONE, WRONG, NUM_RESULTS };

static struct caller {
	struct w_thread thread;
	u64 counts[ARRAY_SIZE(paths)][NUM_RESULTS];
} callers[MAX_CALLERS];

static unsigned int num_callers;

static enum result call(const struct call_path *path)
{
	bool by_own = false;
	int err = path->call(&by_own);

	if (err)
		return err == -ENOSYS || err == -ENODEV ? NONE : WRONG;
	return by_own ? OWN : ANY;
}

static void call_by_all_paths(void *data)
{
	struct caller *me = data;
	unsigned int i = me - callers;

	while (!w_load(stop)) {
		unsigned int path = i++ % num_paths;
		u64 *counts = &me->counts[path][call(&paths[path])];

		w_store(*counts, *counts + 1);
		w_pause();
	}
}

static u64 sum(unsigned int path, enum result result)
{
	u64 all = 0;
	unsigned int i;

	for (i = 0; i < num_callers; i++)
		all += w_load(callers[i].counts[path][result]);
	return all;
}

/* Returns true if each path has had each of these results. */
static bool all_paths_returned(unsigned int results)
{
	unsigned int i, result;

	for (i = 0; i < num_paths; i++)
		for (result = 0; result < NUM_RESULTS; result++)
			if ((results >> result & 1) && !sum(i, result))
				return false;
	return true;
}

static bool must_continue(u64 end, unsigned int results)
{
	u64 now = w_now_us();

	return now < end || (now < end + EXTRA_US && !all_paths_returned(results));
}

/* Starts more threads than CPUs, so that some are preempted inside calls. */
static void start_callers(void)
{
	unsigned int num = w_cpus() + 4 < MAX_CALLERS ? w_cpus() + 4 : MAX_CALLERS;

	stop = 0;
	memset(callers, 0, sizeof(callers));
	for (num_callers = 0; num_callers < num; num_callers++) {
		struct caller *c = &callers[num_callers];

		if (!CHECK_OK(w_start(&c->thread, "dk_fallbacks", call_by_all_paths, c)))
			return;
	}
}

static void stop_callers(void)
{
	unsigned int i;

	w_store(stop, 1);
	for (i = 0; i < num_callers; i++)
		w_join(&callers[i].thread);
}

/* ---- a test ------------------------------------------------------------------------ */

static void teardown(void)
{
	/* a change that failed may have left the backend offline */
	CHECK_OK(dk_backend_set_online(NULL, DK_BACKEND_CUDA, 1, &t_why));
}

static void setup(unsigned int op_flags)
{
	key = DK_CUDA;
	plain = dk_obj_on(DK_BACKEND_CUDA, 0);
	num_paths = ARRAY_SIZE(paths) - (T_KERNEL && !(op_flags & DK_OP_ATOMIC));
	prov = (struct dk_provider)DK_PROVIDER("changer");
	t_register(&prov);
	CHECK_OK(dk_op_define(&prov, &last_op, op_flags, &t_why));
	CHECK_OK(dk_impls_register(&prov, above, 1, &t_why));
	op = t_get("fallbacks::last");
	t_at_close(teardown);
}

/* Runs before each allocation, so that threads can call before the new table is published. */
static void delay_alloc(void)
{
	w_sleep_us(500);
}

#define RESULT(result)	(1U << (result))

/* Checks that each path has returned @result if @results contains it, and not otherwise. */
static void check_result(enum result result, unsigned int results)
{
	static const char *const names[] = { "own", "fallback or other", "none", "wrong" };
	u64 all = 0, n;
	unsigned int i;

	for (i = 0; i < num_paths; i++) {
		n = sum(i, result);
		if (!CHECK_INT(!n, !(results & RESULT(result))))
			t_note("%s: %s", paths[i].name, names[result]);
		all += n;
	}
	t_note("%s: %llu", names[result], (unsigned long long)all);
}

/*
 * Calls @change repeatedly while threads call. Checks that each path gets all of @results and no
 * others.
 */
static void call_while(int (*change)(void), unsigned int results)
{
	unsigned int result, rounds = 0;
	u64 until;

	tracked = plain;
	tracked.ks.bits |= DK_KEY_BITS(DK_AUTOGRAD_CUDA);
	start_callers();
	dk_test_fail_alloc(0);
	dk_test_at_alloc(delay_alloc);
	until = w_now_us() + DURATION_US;
	for (; must_continue(until, results); rounds++)
		if (!CHECK_OK(change()))
			break;
	dk_test_at_alloc(NULL);
	stop_callers();
	for (result = 0; result < NUM_RESULTS; result++)
		check_result(result, results);
	t_note("%u rounds", rounds);
}

/* Runs call_while() with a sleepable operator and with an atomic one. */
static void call_both_while(int (*register_first)(void), int (*change)(void), unsigned int results)
{
	static const unsigned int op_flags[] = { 0, DK_OP_ATOMIC };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(op_flags); i++) {
		setup(op_flags[i]);
		CHECK_OK(register_first());
		call_while(change, results);
		t_close();
	}
}

/* ---- the initial registrations, and the changes ------------------------------------ */

static int register_nothing(void)
{
	return 0;
}

static int register_own(void)
{
	return dk_impls_register(&prov, own, 1, &t_why);
}

/*
 * Registers the fallback, unregisters the function, registers it again, and unregisters the
 * fallback.
 */
static int replace_by_fallback_and_back(void)
{
	int err = dk_fallback_register(&prov, &any, &t_why);

	err = err ? err : dk_impls_unregister(&prov, own, &t_why);
	err = err ? err : dk_impls_register(&prov, own, 1, &t_why);
	return err ? err : dk_impls_unregister(&prov, &any, &t_why);
}

static void no_call_is_lost_between_function_and_fallback(void)
{
	call_both_while(register_own, replace_by_fallback_and_back, RESULT(OWN) | RESULT(ANY));
}

/* Registers the function, then the fallback. Unregisters the fallback, then the function. */
static int register_fallback_under_own(void)
{
	int err = dk_impls_register(&prov, own, 1, &t_why);

	err = err ? err : dk_fallback_register(&prov, &any, &t_why);
	w_sleep_us(100);
	err = err ? err : dk_impls_unregister(&prov, &any, &t_why);
	return err ? err : dk_impls_unregister(&prov, own, &t_why);
}

static void hidden_fallback_never_serves(void)
{
	call_both_while(register_nothing, register_fallback_under_own, RESULT(OWN) | RESULT(NONE));
}

static int register_own_over_fallback(void)
{
	int err = dk_impls_register(&prov, own, 1, &t_why);

	return err ? err : dk_fallback_register(&prov, &any, &t_why);
}

static int offline_and_online(void)
{
	int err = dk_backend_set_online(NULL, DK_BACKEND_CUDA, 0, &t_why);

	w_sleep_us(100);
	return err ? err : dk_backend_set_online(NULL, DK_BACKEND_CUDA, 1, &t_why);
}

static void backend_online_never_exposes_hidden_fallback(void)
{
	call_both_while(register_own_over_fallback, offline_and_online, RESULT(OWN) | RESULT(NONE));
}

static int register_device_over_other(void)
{
	int err = dk_impls_register(&prov, other, 1, &t_why);
	u32 device = 0;

	err = err ? err : dk_device_register(&prov, DK_BACKEND_CUDA, "fallbacks0", NULL, own,
					     1, &device, &t_why);
	plain = dk_obj_on(DK_BACKEND_CUDA, device);
	return err;
}

static void backend_online_never_exposes_hidden_function(void)
{
	call_both_while(register_device_over_other, offline_and_online, RESULT(OWN) | RESULT(NONE));
}

static int register_first_alias(void)
{
	key = DK_COMPOSITE_EXPLICIT_AUTOGRAD;
	return dk_impls_register(&prov, first, 1, &t_why);
}

static int replace_alias_function_and_back(void)
{
	int err = dk_impls_register(&prov, second, 1, &t_why);

	err = err ? err : dk_impls_unregister(&prov, first, &t_why);
	err = err ? err : dk_impls_register(&prov, first, 1, &t_why);
	return err ? err : dk_impls_unregister(&prov, second, &t_why);
}

static void no_call_is_lost_between_functions_of_an_alias(void)
{
	call_both_while(register_first_alias, replace_alias_function_and_back, RESULT(OWN));
}

T_SUITE(fallbacks,
	T(no_call_is_lost_between_function_and_fallback),
	T(hidden_fallback_never_serves),
	T(backend_online_never_exposes_hidden_fallback),
	T(backend_online_never_exposes_hidden_function),
	T(no_call_is_lost_between_functions_of_an_alias));
