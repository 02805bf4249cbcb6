// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests sums of counters. A sum takes and releases the lock several times, and adds some counters
 * each time. While the lock is released, functions are registered and unregistered, and counters
 * are reset.
 */
#include "../../lib/core/change/change.h"

#include "test.h"

#define TABLES	4
#define OPS	100	/* more than the first table of names has room for */
#define SOME	8	/* operators that are called before the sum */
#define HOLDS	8	/* holds of the lock, enough to add all counters of functions */

static const u16 keys[TABLES] = { DK_META, DK_CUDA, DK_CPU, DK_HIP };
static const u16 calls[TABLES] = { 1, 2, 4, 8 };

static struct dk_provider young, old;
static struct dk_impl impl[TABLES];
static struct dk_op_decl decl;
static struct dk_op *op;
static struct dk_op_decl decls[OPS];
static char names[OPS][20];

static int for_all(struct dk_call *c, void *args)
{
	*((struct t_op_args *)args)->served_by = 1;
	return 0;
}

static const struct dk_impl fallback = DK_FALLBACK(DK_PYTHON, for_all);

static void setup(void)
{
	unsigned int i, n;

	t_open("v1", 0);
	t_join(&old, "old");
	t_join(&young, "young");
	decl = t_decl("counter_sums::op");
	CHECK_OK(dk_op_define(&old, &decl, 0, &t_why));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	op = t_get("counter_sums::op");
	for (i = TABLES; i--; ) {
		impl[i] = t_impl(&decl, keys[i], 1);
		CHECK_OK(dk_impls_register(i == TABLES - 1 ? &old : &young, &impl[i], 1, &t_why));
	}
	for (i = 0; i < TABLES; i++) {
		struct dk_obj x = t_obj(DK_KEY_BITS(keys[i]));

		for (n = calls[i]; n; n--)
			CHECK_INT(t_call(op, &x, NULL), 1);
	}
}

/* Adds one counter, in one hold of the lock. Returns true if there are more. */
static bool add_one_counter(struct dkc_calls *c)
{
	bool is_more;

	mutex_lock(&t_reg->lock);
	is_more = dkc_calls_add(t_reg, c, 1, 1);
	mutex_unlock(&t_reg->lock);
	return is_more;
}

static void sum_begin(struct dkc_calls *c, const struct dk_provider *prov, unsigned int holds)
{
	*c = (struct dkc_calls){ .provider = prov->core->number };
	while (holds--)
		CHECK(add_one_counter(c));
}

static void sum_end(struct dkc_calls *c)
{
	while (add_one_counter(c))
		;
	CHECK_INT(c->starts, 1);
}

/* The sum may lack the calls of the unregistered function, but it contains all others. */
static void function_unregisters_during_a_sum(void)
{
	unsigned int i, holds;
	struct dkc_calls c;

	for (i = 0; i < TABLES - 1; i++) {
		for (holds = 0; holds <= HOLDS; holds++) {
			setup();
			sum_begin(&c, &young, holds);
			CHECK_OK(dk_impls_unregister(&young, &impl[i], &t_why));
			sum_end(&c);
			CHECK(c.count == 7u - calls[i] || (c.count == 7 && holds));
			CHECK(c.count == 7 || holds < HOLDS);
			t_close();
		}
	}
}

static void provider_unregisters_during_a_sum(void)
{
	unsigned int holds;
	struct dkc_calls c;

	for (holds = 0; holds <= HOLDS; holds++) {
		setup();
		sum_begin(&c, &young, holds);
		CHECK_OK(dk_provider_unregister(&young));
		sum_end(&c);
		CHECK(holds ? c.count <= 7 : !c.count);
		CHECK(c.count == 7 || holds < HOLDS);
		t_close();
	}
}

/* Each of the two sums continues at its own counter. */
static void two_sums_at_one_time(void)
{
	struct dkc_calls a, b;

	setup();
	sum_begin(&a, &young, 0);
	sum_begin(&b, &young, HOLDS);
	CHECK_OK(dk_impls_unregister(&young, &impl[1], &t_why));
	sum_end(&a);
	sum_end(&b);
	CHECK_INT(a.count, 7 - calls[1]);
	CHECK_INT(b.count, 7);
}

/* The counter of an unregistered function is assigned to a function of another provider. */
static void sum_skips_reused_counter(void)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(keys[1]));
	struct dkc_calls c;

	setup();
	CHECK_OK(dk_impls_unregister(&young, &impl[1], &t_why));
	CHECK_OK(dk_impls_register(&old, &impl[1], 1, &t_why));
	CHECK_INT(t_call(op, &x, NULL), 1);
	sum_begin(&c, &young, 0);
	sum_end(&c);
	CHECK_INT(c.count, 7 - calls[1]);
	sum_begin(&c, &old, 0);
	sum_end(&c);
	CHECK_INT(c.count, calls[TABLES - 1] + 1);
}

static void define(unsigned int first, unsigned int end)
{
	unsigned int i;

	for (i = first; i < end; i++) {
		snprintf(names[i], sizeof(names[i]), "sums::%u", i);
		decls[i] = t_decl(names[i]);
		CHECK_OK(dk_op_define(&old, &decls[i], 0, &t_why));
	}
}

/* Calls each of the first operators once, at a key that only a fallback can serve. */
static void call_some(int answer)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_PYTHON));
	struct dk_op *some;
	unsigned int i;

	for (i = 0; i < SOME; i++) {
		some = dk_op_get(t_reg, names[i]);
		CHECK_INT(t_call(some, &x, NULL), answer);
		dk_op_put(some);
	}
}

/* Operators that are defined during a sum need more counters and a larger table of names. */
static void operators_are_defined_during_a_sum(void)
{
	struct dkc_calls c;
	unsigned int holds;

	for (holds = 0; holds < 64; holds++) {
		setup();
		CHECK_OK(dk_fallback_register(&young, &fallback, &t_why));
		define(0, SOME);
		call_some(1);
		sum_begin(&c, &young, holds);
		define(SOME, OPS);
		sum_end(&c);
		CHECK_INT(c.count, 7 + SOME);
		t_close();
	}
}

/* Two fallbacks, one after the other, use the same counters of operators. */
static void two_fallbacks_share_counters(void)
{
	struct dkc_calls c;

	setup();
	define(0, SOME);
	CHECK_OK(dk_fallback_register(&young, &fallback, &t_why));
	call_some(1);
	CHECK_OK(dk_impls_withdraw(&young, &fallback, &t_why));
	CHECK_OK(dk_fallback_register(&old, &fallback, &t_why));
	call_some(1);
	sum_begin(&c, &young, 0);
	sum_end(&c);
	CHECK_INT(c.count, 7);
	sum_begin(&c, &old, 0);
	sum_end(&c);
	CHECK_INT(c.count, calls[TABLES - 1] + SOME);
}

/*
 * Both fallbacks serve the operator only in calls at a given key. So the operator's table is not
 * built again when one fallback replaces the other.
 */
static void fallbacks_share_counters_of_calls_for_a_key(void)
{
	static const struct dk_impl at_meta = DK_FALLBACK(DK_META, for_all);
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_META));
	const struct dk_obj *objs[] = { &x };
	struct dk_local local = t_no_local();
	struct dk_impl closes;
	struct dk_op *first;
	struct dk_frame f;
	struct dkc_calls c;

	setup();
	define(0, 1);
	first = dk_op_get(t_reg, names[0]);
	CHECK_OK(dk_fallback_register(&young, &at_meta, &t_why));
	closes = t_impl(&decls[0], DK_COMPOSITE_EXPLICIT_AUTOGRAD, 1);
	CHECK_OK(dk_impls_register(&old, &closes, 1, &t_why));
	CHECK_OK(dk_impls_withdraw(&young, &at_meta, &t_why));
	CHECK_OK(dk_fallback_register(&old, &at_meta, &t_why));
	CHECK_OK(dk_provider_drain(&young));
	CHECK_OK(dk_call_enter_key(&f, first, &decls[0], &local, DK_META, objs, 1));
	dk_call_leave(&f);
	dk_op_put(first);
	sum_begin(&c, &old, 0);
	sum_end(&c);
	CHECK_INT(c.count, calls[TABLES - 1] + 1);
	CHECK_OK(dk_impls_unregister(&old, &closes, &t_why));
}

static void sum_reads_counters_of_all_providers(void)
{
	unsigned int holds = 1;
	struct dkc_calls c;

	setup();
	sum_begin(&c, &old, 0);
	while (add_one_counter(&c))
		holds++;
	mutex_lock(&t_reg->lock);
	CHECK_INT(holds, t_reg->counters->num * DKC_COUNTS - 1);
	mutex_unlock(&t_reg->lock);
	CHECK_INT(c.count, calls[TABLES - 1]);
}

/* ---- sums of all calls ---------------------------------------------------------- */

/* Adds up to @holds counters, one in each hold of the lock; returns true if there are more. */
static bool add_total(struct dkc_calls *t, unsigned int holds)
{
	bool is_more = true;

	while (is_more && holds--) {
		mutex_lock(&t_reg->lock);
		is_more = dkc_calls_add(t_reg, t, 1, 1);
		mutex_unlock(&t_reg->lock);
	}
	return is_more;
}

static struct dk_op *held;

static void put_last_handle(void)
{
	t_put(held);
	held = NULL;
}

static void undefine(void)
{
	CHECK_OK(dk_op_undefine(&old, names[1], &t_why));
}

static void unregister_functions(void)
{
	CHECK_OK(dk_impls_unregister(&young, &impl[1], &t_why));
}

static void unregister_fallback(void)
{
	CHECK_OK(dk_impls_unregister(&young, &fallback, &t_why));
}

static void unregister_provider(void)
{
	CHECK_OK(dk_provider_unregister(&young));
}

/* The new registration gets the counter of the old one, which begins at zero again. */
static void reassign_counter(void)
{
	CHECK_OK(dk_impls_unregister(&young, &impl[1], &t_why));
	CHECK_OK(dk_impls_register(&young, &impl[1], 1, &t_why));
}

/*
 * Sets up operators, functions and a fallback, and calls the operators. Then undefines one of them,
 * to which a handle still refers.
 */
static void setup_called(void)
{
	setup();
	define(0, SOME);
	call_some(-ENOSYS);
	CHECK_OK(dk_fallback_register(&young, &fallback, &t_why));
	call_some(1);
	held = t_get(names[0]);
	CHECK_OK(dk_op_undefine(&old, names[0], &t_why));
}

#define CALLED	(15 + 2 * SOME)

/* Each call is in the sum once, whatever is unregistered between two holds of the lock. */
static void each_call_is_in_the_total_once(void)
{
	static void (*const change[])(void) = {
		put_last_handle, undefine, unregister_functions, unregister_fallback,
		unregister_provider, reassign_counter,
	};
	unsigned int i, holds;
	struct dkc_calls t;

	for (i = 0; i < ARRAY_SIZE(change); i++) {
		for (holds = 0; holds < 40; holds++) {
			setup_called();
			t = (struct dkc_calls){ .count = 0 };
			CHECK(add_total(&t, holds));
			change[i]();
			CHECK(!add_total(&t, ~0U));
			CHECK_INT(t.count, CALLED);
			t_close();
		}
	}
}

/* While a sum runs, a call is counted, and then its function is unregistered. */
static void gone_does_not_exceed_the_total(void)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(keys[1]));
	struct dkc_calls t;
	unsigned int holds;

	for (holds = 0; holds < 40; holds++) {
		setup();
		t = (struct dkc_calls){ .count = 0 };
		add_total(&t, holds);
		CHECK_INT(t_call(op, &x, NULL), 1);
		CHECK_OK(dk_provider_unregister(&young));
		add_total(&t, ~0U);
		CHECK(t.count == 15 || t.count == 16);
		CHECK(t.gone <= t.count);
		t_close();
	}
}

/* A sum contains the calls of functions that were unregistered before it began. */
static void total_includes_unregistered_functions(void)
{
	struct dkc_calls t = { .count = 0 };

	setup_called();
	CHECK_OK(dk_provider_unregister(&young));
	add_total(&t, ~0U);
	CHECK_INT(t.count, CALLED);
	/*
	 * calls that the provider's functions and fallback served, and the call of the held
	 * operator that nothing served
	 */
	CHECK_INT(t.gone, 7 + SOME + 1);
	t_close();
}

static void reset(void)
{
	CHECK_OK(dk_stats_reset(t_reg, &t_why));
}

static void switch_off_and_on(void)
{
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
}

/*
 * Increments the counter with number 0, which counts the calls that have no counter of their own.
 */
static void count_without_counter(void)
{
	struct dk__count at;

	mutex_lock(&t_reg->lock);
	at = dkc_count_at(&t_reg->counters->block[0]->counts, 0);
	dkc_count_add(&at);
	mutex_unlock(&t_reg->lock);
}

/* Makes a change and then a call after @holds counters of a sum were added. Returns the sum. */
static struct dkc_calls total_during(void (*change)(void), unsigned int holds)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(keys[0]));
	struct dkc_calls t = { .count = 0 };

	setup_called();
	count_without_counter();
	CHECK_OK(dk_impls_unregister(&young, &impl[1], &t_why));
	CHECK(add_total(&t, holds));
	change();
	CHECK_INT(t_call(op, &x, NULL), 1);
	CHECK(!add_total(&t, ~0U));
	t_close();
	return t;
}

/* A reset during a sum does not change the sum. */
static void reset_does_not_restart_a_total(void)
{
	struct dkc_calls t;
	unsigned int holds;

	for (holds = 1; holds < 40; holds++) {
		t = total_during(reset, holds);
		CHECK(t.count == CALLED || t.count == CALLED + 1);
		CHECK(t.gone);
		CHECK_INT(t.uncounted, 1);
		CHECK_INT(t.starts, 1);
	}
	t = total_during(reset, 0);
	CHECK_INT(t.count, 1);
	CHECK_INT(t.gone, 0);
	CHECK_INT(t.uncounted, 0);
}

static void new_counters_restart_a_total(void)
{
	struct dkc_calls t;
	unsigned int holds;

	for (holds = 0; holds < 40; holds++) {
		t = total_during(switch_off_and_on, holds);
		CHECK_INT(t.count, 1);
		CHECK_INT(t.gone, 0);
		CHECK_INT(t.starts, holds ? 2 : 1);
	}
}

T_SUITE(counter_sums,
	T(function_unregisters_during_a_sum),
	T(provider_unregisters_during_a_sum),
	T(two_sums_at_one_time),
	T(sum_skips_reused_counter),
	T(operators_are_defined_during_a_sum),
	T(two_fallbacks_share_counters),
	T(fallbacks_share_counters_of_calls_for_a_key),
	T(sum_reads_counters_of_all_providers),
	T(each_call_is_in_the_total_once),
	T(gone_does_not_exceed_the_total),
	T(total_includes_unregistered_functions),
	T(reset_does_not_restart_a_total),
	T(new_counters_restart_a_total));
