// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fallbacks, and functions that override them or each other, are registered and
 * unregistered while threads make all kinds of calls. Each call must reach a function that
 * was current at one moment of the call.
 */
#include "alloc.h"
#include "test.h"

#include "../world.h"

#define DURATION_US	500000
#define PATIENCE_US	60000000
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

#define WAY(req)	{ #req, req }

/* The last path in the kernel, a call in an RCU section, is only for atomic operators. */
static const struct req {
	const char *name;
	int (*call)(bool *by_own);
} ways[] = {
	WAY(by_name), WAY(by_handle), WAY(boxed), WAY(at_key), WAY(redispatched),
#if T_KERNEL
	WAY(in_rcu),
#endif
};

static unsigned int num_ways;

/* ---- threads that call ---------------------------------------------------------- */

enum answer { OWN, ANY, NONE, WRONG, NUM_ANSWERS };

static struct caller {
	struct w_thread thread;
	u64 got[ARRAY_SIZE(ways)][NUM_ANSWERS];
} callers[MAX_CALLERS];

static unsigned int num_callers;

static enum answer call(const struct req *req)
{
	bool by_own = false;
	int err = req->call(&by_own);

	if (err)
		return err == -ENOSYS || err == -ENODEV ? NONE : WRONG;
	return by_own ? OWN : ANY;
}

static void call_in_all_ways(void *data)
{
	struct caller *me = data;
	unsigned int i = me - callers;

	while (!w_load(stop)) {
		unsigned int req = i++ % num_ways;
		u64 *got = &me->got[req][call(&ways[req])];

		w_store(*got, *got + 1);
		w_pause();
	}
}

static u64 sum(unsigned int req, enum answer answer)
{
	u64 all = 0;
	unsigned int i;

	for (i = 0; i < num_callers; i++)
		all += w_load(callers[i].got[req][answer]);
	return all;
}

/* Returns true if each path has got each of these answers. */
static bool have_all_got(unsigned int answers)
{
	unsigned int i, answer;

	for (i = 0; i < num_ways; i++)
		for (answer = 0; answer < NUM_ANSWERS; answer++)
			if ((answers >> answer & 1) && !sum(i, answer))
				return false;
	return true;
}

static bool goes_on(u64 end, unsigned int answers)
{
	u64 now = w_now_us();

	return now < end || (now < end + PATIENCE_US && !have_all_got(answers));
}

/* Starts more threads than CPUs, so that some are preempted inside calls. */
static void start_callers(void)
{
	unsigned int num = w_cpus() + 4 < MAX_CALLERS ? w_cpus() + 4 : MAX_CALLERS;

	stop = 0;
	memset(callers, 0, sizeof(callers));
	for (num_callers = 0; num_callers < num; num_callers++) {
		struct caller *c = &callers[num_callers];

		if (!CHECK_OK(w_start(&c->thread, "dk_fallbacks", call_in_all_ways, c)))
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
	num_ways = ARRAY_SIZE(ways) - (T_KERNEL && !(op_flags & DK_OP_ATOMIC));
	prov = (struct dk_provider)DK_PROVIDER("changer");
	t_register(&prov);
	CHECK_OK(dk_op_define(&prov, &last_op, op_flags, &t_why));
	CHECK_OK(dk_impls_register(&prov, above, 1, &t_why));
	op = t_get("fallbacks::last");
	t_at_close(teardown);
}

/* Runs before each allocation, so that threads can call before the new table is published. */
static void dawdle(void)
{
	w_sleep_us(500);
}

#define GOT(answer)	(1U << (answer))

/* Checks that each path has got @answer if it is one of @answers, and not otherwise. */
static void check_answer(enum answer answer, unsigned int answers)
{
	static const char *const names[] = { "own", "fallback or other", "none", "wrong" };
	u64 all = 0, n;
	unsigned int i;

	for (i = 0; i < num_ways; i++) {
		n = sum(i, answer);
		if (!CHECK_INT(!n, !(answers & GOT(answer))))
			t_note("%s: %s", ways[i].name, names[answer]);
		all += n;
	}
	t_note("%s: %llu", names[answer], (unsigned long long)all);
}

/*
 * Calls @change repeatedly while threads call. Checks that each path gets all of @answers and no
 * others.
 */
static void call_while(int (*change)(void), unsigned int answers)
{
	unsigned int answer, rounds = 0;
	u64 until;

	tracked = plain;
	tracked.ks.bits |= DK_KEY_BITS(DK_AUTOGRAD_CUDA);
	start_callers();
	dk_test_fail_alloc(0);
	dk_test_at_alloc(dawdle);
	until = w_now_us() + DURATION_US;
	for (; goes_on(until, answers); rounds++)
		if (!CHECK_OK(change()))
			break;
	dk_test_at_alloc(NULL);
	stop_callers();
	for (answer = 0; answer < NUM_ANSWERS; answer++)
		check_answer(answer, answers);
	t_note("%u rounds", rounds);
}

/* Runs call_while() with a sleepable operator and with an atomic one. */
static void call_both_while(int (*is_there)(void), int (*change)(void), unsigned int answers)
{
	static const unsigned int op_flags[] = { 0, DK_OP_ATOMIC };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(op_flags); i++) {
		setup(op_flags[i]);
		CHECK_OK(is_there());
		call_while(change, answers);
		t_close();
	}
}

/* ---- the initial registrations, and the changes ------------------------------------ */

static int nothing(void)
{
	return 0;
}

static int own_is_there(void)
{
	return dk_impls_register(&prov, own, 1, &t_why);
}

/*
 * The function stays until the fallback is registered, and the fallback until the function is
 * registered again.
 */
static int take_turns(void)
{
	int err = dk_fallback_register(&prov, &any, &t_why);

	err = err ? err : dk_impls_unregister(&prov, own, &t_why);
	err = err ? err : dk_impls_register(&prov, own, 1, &t_why);
	return err ? err : dk_impls_unregister(&prov, &any, &t_why);
}

static void no_call_is_lost_between_function_and_fallback(void)
{
	call_both_while(own_is_there, take_turns, GOT(OWN) | GOT(ANY));
}

/* The fallback is registered after the function and unregistered before it. */
static int stay_hidden(void)
{
	int err = dk_impls_register(&prov, own, 1, &t_why);

	err = err ? err : dk_fallback_register(&prov, &any, &t_why);
	w_sleep_us(100);
	err = err ? err : dk_impls_unregister(&prov, &any, &t_why);
	return err ? err : dk_impls_unregister(&prov, own, &t_why);
}

static void fallback_serves_where_nothing_else_did(void)
{
	call_both_while(nothing, stay_hidden, GOT(OWN) | GOT(NONE));
}

static int own_hides_fallback(void)
{
	int err = dk_impls_register(&prov, own, 1, &t_why);

	return err ? err : dk_fallback_register(&prov, &any, &t_why);
}

static int go_offline_and_online(void)
{
	int err = dk_backend_set_online(NULL, DK_BACKEND_CUDA, 0, &t_why);

	w_sleep_us(100);
	return err ? err : dk_backend_set_online(NULL, DK_BACKEND_CUDA, 1, &t_why);
}

static void fallback_comes_online_hidden(void)
{
	call_both_while(own_hides_fallback, go_offline_and_online, GOT(OWN) | GOT(NONE));
}

static int device_hides_other(void)
{
	int err = dk_impls_register(&prov, other, 1, &t_why);
	u32 device = 0;

	err = err ? err : dk_device_register(&prov, DK_BACKEND_CUDA, "fallbacks0", NULL, own,
					     1, &device, &t_why);
	plain = dk_obj_on(DK_BACKEND_CUDA, device);
	return err;
}

static void function_comes_online_hidden_by_a_device(void)
{
	call_both_while(device_hides_other, go_offline_and_online, GOT(OWN) | GOT(NONE));
}

static int first_is_at_alias(void)
{
	key = DK_COMPOSITE_EXPLICIT_AUTOGRAD;
	return dk_impls_register(&prov, first, 1, &t_why);
}

static int relay(void)
{
	int err = dk_impls_register(&prov, second, 1, &t_why);

	err = err ? err : dk_impls_unregister(&prov, first, &t_why);
	err = err ? err : dk_impls_register(&prov, first, 1, &t_why);
	return err ? err : dk_impls_unregister(&prov, second, &t_why);
}

static void no_call_is_lost_between_functions_of_an_alias(void)
{
	call_both_while(first_is_at_alias, relay, GOT(OWN));
}

T_SUITE(fallbacks,
	T(no_call_is_lost_between_function_and_fallback),
	T(fallback_serves_where_nothing_else_did),
	T(fallback_comes_online_hidden),
	T(function_comes_online_hidden_by_a_device),
	T(no_call_is_lost_between_functions_of_an_alias));
