// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads call a function while the provider moves it from one array of functions to another.
 * The new array is registered before the old one is withdrawn, so the operator always has the
 * function. Calls read tables in one test, and evaluate the rules in the other.
 */
#include "../world.h"
#include "test.h"

#define TABLE		30	/* functions that a reader visits to reach the last one */
#define CALLERS		4	/* more than CPUs, so that callers are preempted */
#define MOVES		(W_KERNEL || W_SANITIZED ? 500 : 2000)

DK_OP(moved, "moved_function::op", (struct dk_obj *x, bool *lower), (x, lower), (x));

static int moved_here(struct dk_call *c, struct dk_obj *x, bool *lower)
{
	*lower = false;
	return 0;
}

static int moved_lower(struct dk_call *c, struct dk_obj *x, bool *lower)
{
	*lower = true;
	return 0;
}

static const struct dk_impl lower_rule[] = {
	DK_IMPL(moved, DK_COMPOSITE_EXPLICIT_AUTOGRAD, moved_lower),
};

static struct dk_provider host, mover;
static struct dk_impl tables[2][TABLE];
static struct dk_op *op;
static bool stop;

static struct caller {
	struct w_thread thread;
	bool started;
	u64 calls, lost, lower;
} callers[CALLERS];

static void call_all_the_time(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct caller *me = data;

	do {
		bool lower = false;

		me->lost += !!moved_at(op, &dk_local_default, &x, &lower);
		me->lower += lower;
		w_store(me->calls, me->calls + 1);
		w_pause();
	} while (!w_load(stop));
}

static void move_often(unsigned int times)
{
	unsigned int i;

	for (i = 0; i < times; i++) {
		CHECK_OK(dk_impls_register(&mover, tables[~i & 1], TABLE, &t_why));
		CHECK_OK(dk_impls_withdraw(&mover, tables[i & 1], &t_why));
		if (i % 64 == 63)
			CHECK_OK(dk_provider_drain(&mover));
		w_pause();
	}
}

static void begin(unsigned int flags, bool has_lower)
{
	static const struct dk_impl impl = DK_IMPL(moved, DK_CPU, moved_here);
	unsigned int i;

	t_open("v1", flags);
	t_join(&host, "host");
	t_join(&mover, "mover");
	CHECK_OK(dk_op_define(&host, &moved_op, 0, &t_why));
	if (has_lower)
		CHECK_OK(dk_impls_register(&host, lower_rule, 1, &t_why));
	/* the function that is called is first in its array, and last in the operator's list */
	for (i = 0; i < 2 * TABLE; i++) {
		tables[i / TABLE][i % TABLE] = impl;
		tables[i / TABLE][i % TABLE].key = dk_slot_key(NULL, 1 + i % TABLE);
	}
	CHECK_INT(tables[0][0].key, DK_CPU);
	CHECK_OK(dk_impls_register(&mover, tables[0], TABLE, &t_why));
	op = t_get("moved_function::op");
	memset(callers, 0, sizeof(callers));
	stop = false;
	for (i = 0; i < CALLERS; i++)
		callers[i].started = CHECK_OK(w_start(&callers[i].thread, "dk_api_test",
						      call_all_the_time, &callers[i]));
	for (i = 0; i < CALLERS; i++)
		while (callers[i].started && !w_load(callers[i].calls))
			w_sleep_us(100);
}

static void end(void)
{
	u64 calls = 0, lost = 0, lower = 0;
	unsigned int i;

	w_store(stop, true);
	for (i = 0; i < CALLERS; i++) {
		if (callers[i].started)
			w_join(&callers[i].thread);
		calls += callers[i].calls;
		lost += callers[i].lost;
		lower += callers[i].lower;
	}
	CHECK(calls);
	CHECK_INT(lost, 0);
	CHECK_INT(lower, 0);
	t_note("%llu calls", (unsigned long long)calls);
	t_close();
}

static void call_while_moved(unsigned int flags, bool has_lower, unsigned int times)
{
	begin(flags, has_lower);
	move_often(times);
	end();
}

static void tables_find_moved_functions(void)
{
	call_while_moved(DK_REGISTRY_BUILTINS, false, MOVES / 4);
	call_while_moved(DK_REGISTRY_BUILTINS, true, MOVES / 4);
}

static void rules_find_moved_functions(void)
{
	call_while_moved(DK_REGISTRY_BUILTINS | DK_REGISTRY_FORCE_RESOLVE, false, MOVES);
	call_while_moved(DK_REGISTRY_BUILTINS | DK_REGISTRY_FORCE_RESOLVE, true, MOVES);
}

T_SUITE(moved_function,
	T(tables_find_moved_functions),
	T(rules_find_moved_functions));
