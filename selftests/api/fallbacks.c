// SPDX-License-Identifier: GPL-2.0-only
/*
 * A fallback and the function that hides it come and go, while threads call in
 * every way. A row has the function and knows nothing of the fallback, so each way
 * has to look at both in the right order.
 */
#include "alloc.h"
#include "test.h"

#include "../world.h"

#define DURATION_US	500000
#define PATIENCE_US	20000000
#define MAX_CALLERS	64

DK_OP(last, "fallbacks::last", (const struct dk_obj *x, bool *own), (x, own), (x));

static struct dk_provider prov;
static struct dk_op *op;
static struct dk_obj cpu, tracked;
static u32 stop;

static int last_own(struct dk_call *c, const struct dk_obj *x, bool *own)
{
	*own = true;
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
static const struct dk_impl own[] = { DK_IMPL_ATOMIC(last, DK_CPU, last_own) };
static const struct dk_impl any = DK_FALLBACK_ATOMIC(DK_CPU, last_any);

/* What is there all the time. */
static const struct dk_impl above[] = {
	DK_IMPL_ATOMIC(last, DK_AUTOGRAD_CPU, last_above),
};

/* ---- the ways ----------------------------------------------------------------- */

static int by_name(bool *by_own)
{
	return last_in(&dk_local_default, &cpu, by_own);
}

static int by_handle(bool *by_own)
{
	return last_at(op, &dk_local_default, &cpu, by_own);
}

static int in_hold(bool *by_own)
{
	struct dk_hold h = { .size = sizeof(h) };
	int err = dk_hold(&h, NULL);

	if (err)
		return err;
	err = last_held(&h, op, &dk_local_default, &cpu, by_own);
	dk_release(&h);
	return err;
}

static int boxed(bool *by_own)
{
	struct last_args args = { &cpu, by_own };

	return dk_call_boxed(op, &last_op, &dk_local_default, &args);
}

static int at_key(bool *by_own)
{
	return last_for_key(op, &dk_local_default, DK_CPU, &cpu, by_own);
}

static int redispatched(bool *by_own)
{
	return last_at(op, &dk_local_default, &tracked, by_own);
}

static int bare(bool *by_own)
{
	int err;

	t_section_begin();
	err = last_bare(&dk_local_default, &cpu, by_own);
	t_section_end();
	return err;
}

#define WAY(way)	{ #way, way }

/* A sleepable operator has all but the last. */
static const struct way {
	const char *name;
	int (*call)(bool *by_own);
} ways[] = {
	WAY(by_name), WAY(by_handle), WAY(in_hold), WAY(boxed), WAY(at_key),
	WAY(redispatched), WAY(bare),
};

static unsigned int num_ways;

/* ---- threads that call ---------------------------------------------------------- */

enum answer { OWN, ANY, NONE, WRONG, NUM_ANSWERS };

static struct caller {
	struct w_thread thread;
	u64 got[ARRAY_SIZE(ways)][NUM_ANSWERS];
} callers[MAX_CALLERS];

static unsigned int num_callers;

static enum answer call(const struct way *way)
{
	bool by_own = false;
	int err = way->call(&by_own);

	if (err)
		return err == -ENOSYS ? NONE : WRONG;
	return by_own ? OWN : ANY;
}

static void call_in_all_ways(void *data)
{
	struct caller *me = data;
	unsigned int i = me - callers;

	while (!w_load(stop)) {
		unsigned int way = i++ % num_ways;
		u64 *got = &me->got[way][call(&ways[way])];

		w_store(*got, *got + 1);
		w_pause();
	}
}

static u64 sum(unsigned int way, enum answer answer)
{
	u64 all = 0;
	unsigned int i;

	for (i = 0; i < num_callers; i++)
		all += w_load(callers[i].got[way][answer]);
	return all;
}

static bool served_in_all_ways(void)
{
	unsigned int i;

	for (i = 0; i < num_ways; i++)
		if (!sum(i, OWN))
			return false;
	return true;
}

static bool goes_on(u64 end)
{
	u64 now = w_now_us();

	return now < end || (now < end + PATIENCE_US && !served_in_all_ways());
}

/* More than processors, so that some stand still inside of calls. */
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

static void begin(unsigned int op_flags, bool has_own)
{
	cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	tracked = cpu;
	tracked.ks.bits |= DK_KEY_BITS(DK_AUTOGRAD_CPU);
	prov = (struct dk_provider)DK_PROVIDER("changer");
	CHECK_OK(dk_provider_register(&prov, &t_why));
	CHECK_OK(dk_op_define(&prov, &last_op, op_flags, &t_why));
	CHECK_OK(dk_impls_register(&prov, above, 1, &t_why));
	if (has_own)
		CHECK_OK(dk_impls_register(&prov, own, 1, &t_why));
	op = dk_op_get(NULL, "fallbacks::last");
	num_ways = ARRAY_SIZE(ways) - !(op_flags & DK_OP_ATOMIC);
	start_callers();
}

/* In no way anybody got what nobody has to. */
static void end(enum answer never, unsigned int rounds)
{
	u64 all[NUM_ANSWERS] = { 0 };
	unsigned int i, answer;

	w_store(stop, 1);
	for (i = 0; i < num_callers; i++)
		w_join(&callers[i].thread);
	for (i = 0; i < num_ways; i++) {
		if (!CHECK(sum(i, OWN)) | !CHECK_INT(sum(i, never), 0) |
		    !CHECK_INT(sum(i, WRONG), 0))
			t_note("called %s", ways[i].name);
		for (answer = 0; answer < NUM_ANSWERS; answer++)
			all[answer] += sum(i, answer);
	}
	t_note("%u rounds, %llu by the function, %llu by the fallback, %llu by none", rounds,
	       (unsigned long long)all[OWN], (unsigned long long)all[ANY],
	       (unsigned long long)all[NONE]);
	dk_op_put(op);
	CHECK_OK(dk_registry_check(NULL, &t_why));
	CHECK_OK(dk_provider_unregister(&prov));
}

/* Between what is registered and a row of it, which takes memory, calls have time. */
static void dawdle(void)
{
	w_sleep_us(500);
}

static void call_while(int (*change)(void), unsigned int op_flags, bool has_own,
		       enum answer never)
{
	unsigned int rounds = 0;
	u64 until;

	begin(op_flags, has_own);
	dk_test_fail_alloc(0);
	dk_test_at_alloc(dawdle);
	until = w_now_us() + DURATION_US;
	for (; goes_on(until); rounds++)
		CHECK_OK(change());
	dk_test_at_alloc(NULL);
	end(never, rounds);
}

/* ---- what changes ---------------------------------------------------------------- */

/* The function stays until the fallback is there, and it until the function is again. */
static int take_turns(void)
{
	int err = dk_fallback_register(&prov, &any, &t_why);

	err = err ? err : dk_impls_unregister(&prov, own, &t_why);
	err = err ? err : dk_impls_register(&prov, own, 1, &t_why);
	return err ? err : dk_impls_unregister(&prov, &any, &t_why);
}

static void no_call_is_lost_between_function_and_fallback(void)
{
	call_while(take_turns, 0, true, NONE);
}

static void no_atomic_call_is_lost_either(void)
{
	call_while(take_turns, DK_OP_ATOMIC, true, NONE);
}

/* The fallback comes behind the function and goes before it. */
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
	call_while(stay_hidden, 0, false, ANY);
}

static void atomic_call_is_not_served_by_it_either(void)
{
	call_while(stay_hidden, DK_OP_ATOMIC, false, ANY);
}

T_SUITE(fallbacks,
	T(no_call_is_lost_between_function_and_fallback),
	T(no_atomic_call_is_lost_either),
	T(fallback_serves_where_nothing_else_did),
	T(atomic_call_is_not_served_by_it_either));
