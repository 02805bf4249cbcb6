// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sums of counters in many holds of the lock, between which what they sum up comes, leaves
 * or is reset.
 */
#include "../../lib/core/registry.h"

#include "test.h"

#define TABLES	4
#define OPS	100	/* more than the first table of names has room for */
#define SOME	8	/* of them, called before the sum */

/* In the order in which a sum meets them: the newest of a provider, and it, come first. */
static const u16 keys[TABLES] = { DK_META, DK_CUDA, DK_CPU, DK_HIP };
static const u16 calls[TABLES] = { 1, 2, 4, 8 };

static struct dk_provider young, old;
static struct dk_impl impl[TABLES];
static struct dk_op_decl decl;
static struct dk_op *op;
static struct dk_op_decl decls[OPS];
static char names[OPS][16];

static int for_all(struct dk_call *c, void *args)
{
	*((struct t_op_args *)args)->who = 1;
	return 0;
}

static const struct dk_impl fallback = DK_FALLBACK(DK_PYTHON, for_all);

static void begin(void)
{
	unsigned int i, n;

	t_open("v1", 0);
	t_join(&old, "old");
	t_join(&young, "young");
	decl = t_decl("sums::op");
	CHECK_OK(dk_op_define(&old, &decl, 0, &t_why));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	op = dk_op_get(t_reg, "sums::op");
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

static void end(void)
{
	dk_op_put(op);
	t_leave(&young);
	t_leave(&old);
	t_close();
}

/* Of a provider, one counter in a hold of the lock. */
static bool more(struct dkc_calls *c)
{
	bool is_more;

	dkc_mutex_lock(&t_reg->lock);
	is_more = dkc_calls_sum(t_reg, c, 1);
	dkc_mutex_unlock(&t_reg->lock);
	return is_more;
}

static void sum_begin(struct dkc_calls *c, const struct dk_provider *prov, unsigned int holds)
{
	dkc_mutex_lock(&t_reg->lock);
	dkc_calls_begin(t_reg, c, prov->core->number);
	dkc_mutex_unlock(&t_reg->lock);
	while (holds--)
		CHECK(more(c));
}

static void sum_end(struct dkc_calls *c)
{
	while (more(c))
		;
	dkc_mutex_lock(&t_reg->lock);
	dkc_calls_end(t_reg, c);
	dkc_mutex_unlock(&t_reg->lock);
}

static void the_table_that_a_sum_is_at_leaves(void)
{
	struct dkc_calls c;
	unsigned int i;

	for (i = 0; i < TABLES - 1; i++) {
		begin();
		sum_begin(&c, &young, i);
		CHECK_OK(dk_impls_unregister(&young, &impl[i], &t_why));
		sum_end(&c);
		CHECK_INT(c.sum, 7 - calls[i]);
		end();
	}
}

static void the_provider_that_a_sum_is_at_leaves(void)
{
	struct dkc_calls c;

	begin();
	sum_begin(&c, &young, 1);
	CHECK_OK(dk_provider_unregister(&young));
	sum_end(&c);
	CHECK_INT(c.sum, calls[0]);
	end();
}

/* Each continues at its own place. */
static void two_sums_at_one_table(void)
{
	struct dkc_calls a, b;

	begin();
	sum_begin(&a, &young, 1);
	sum_begin(&b, &young, 1);
	CHECK_OK(dk_impls_unregister(&young, &impl[1], &t_why));
	sum_end(&a);
	sum_end(&b);
	CHECK_INT(a.sum, 7 - calls[1]);
	CHECK_INT(b.sum, 7 - calls[1]);
	end();
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

/* A call of each of the first operators, at a key for which only a fallback can be. */
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

/* Operators come, for which the table of names is made anew. */
static void operators_have_other_slots(void)
{
	struct dkc_calls c;
	unsigned int holds;

	/* a hold of the lock looks at one slot of the table of names */
	for (holds = 0; holds < 64; holds++) {
		begin();
		CHECK_OK(dk_fallback_register(&young, &fallback, &t_why));
		define(0, SOME);
		call_some(1);
		sum_begin(&c, &young, holds);
		define(SOME, OPS);
		sum_end(&c);
		CHECK_INT(c.sum, 7 + SOME);
		end();
	}
}

static void empty_slots_are_work(void)
{
	unsigned int i, holds = 0;
	struct dkc_calls c;

	begin();
	CHECK_OK(dk_fallback_register(&young, &fallback, &t_why));
	define(0, OPS);
	for (i = 0; i < OPS; i++)
		CHECK_OK(dk_op_undefine(&old, names[i], &t_why));
	sum_begin(&c, &young, 0);
	while (more(&c))
		holds++;
	CHECK(holds >= dkc_deref_locked(t_reg->ops)->size);
	sum_end(&c);
	CHECK_INT(c.sum, 7);
	end();
}

/* ---- of all calls --------------------------------------------------------------- */

/* Up to @holds counters, in a hold of the lock each; returns true if there are more. */
static bool add_total(struct dkc_total *t, unsigned int holds)
{
	bool is_more = true;

	while (is_more && holds--) {
		dkc_mutex_lock(&t_reg->lock);
		is_more = dkc_total_add(t_reg, t, 1);
		dkc_mutex_unlock(&t_reg->lock);
	}
	return is_more;
}

static struct dk_op *held;

static void drop_the_last_holder(void)
{
	dk_op_put(held);
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

/* Another one gets the counter, which begins at zero. */
static void give_a_counter_again(void)
{
	CHECK_OK(dk_impls_unregister(&young, &impl[1], &t_why));
	CHECK_OK(dk_impls_register(&young, &impl[1], 1, &t_why));
}

/* Operators, functions and a fallback that were called, and an operator that is only held. */
static void begin_called(void)
{
	begin();
	define(0, SOME);
	call_some(-ENOSYS);
	CHECK_OK(dk_fallback_register(&young, &fallback, &t_why));
	call_some(1);
	held = dk_op_get(t_reg, names[0]);
	CHECK_OK(dk_op_undefine(&old, names[0], &t_why));
}

static void end_called(void)
{
	dk_op_put(held);
	end();
}

#define CALLED	(15 + 2 * SOME)

/* Whatever leaves while a sum is at a counter, each call is in the sum once. */
static void each_call_is_in_the_total_once(void)
{
	static void (*const change[])(void) = {
		drop_the_last_holder, undefine, unregister_functions, unregister_fallback,
		unregister_provider, give_a_counter_again,
	};
	unsigned int i, holds;
	struct dkc_total t;

	for (i = 0; i < ARRAY_SIZE(change); i++) {
		for (holds = 0; holds < 40; holds++) {
			begin_called();
			t = (struct dkc_total){ .count = 0 };
			CHECK(add_total(&t, holds));
			change[i]();
			CHECK(!add_total(&t, ~0U));
			CHECK_INT(t.count, CALLED);
			end_called();
		}
	}
}

/* Calls that are counted, and then gone, while a sum runs. */
static void no_more_is_gone_than_was_counted(void)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(keys[1]));
	struct dkc_total t;
	unsigned int holds;

	for (holds = 0; holds < 40; holds++) {
		begin();
		t = (struct dkc_total){ .count = 0 };
		add_total(&t, holds);
		CHECK_INT(t_call(op, &x, NULL), 1);
		CHECK_OK(dk_provider_unregister(&young));
		add_total(&t, ~0U);
		CHECK(t.count == 15 || t.count == 16);
		CHECK(t.gone <= t.count);
		end();
	}
}

/* What is gone before a sum begins. */
static void gone_is_a_part_of_the_total(void)
{
	struct dkc_total t = { .count = 0 };

	begin_called();
	CHECK_OK(dk_provider_unregister(&young));
	add_total(&t, ~0U);
	CHECK_INT(t.count, CALLED);
	/* its functions, the fallback, and what nothing served of the operator that is held */
	CHECK_INT(t.gone, 7 + SOME + 1);
	end_called();
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

/* Change something while a sum is at its counter @holds, and call. */
static struct dkc_total total_beside(void (*change)(void), unsigned int holds)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(keys[0]));
	struct dkc_total t = { .count = 0 };

	begin_called();
	CHECK_OK(dk_impls_unregister(&young, &impl[1], &t_why));
	CHECK(add_total(&t, holds));
	change();
	CHECK_INT(t_call(op, &x, NULL), 1);
	CHECK(!add_total(&t, ~0U));
	end_called();
	return t;
}

/* A sum that has begun goes on as if a reset came after it, and ends. */
static void resets_do_not_restart_a_total(void)
{
	struct dkc_total t;
	unsigned int holds;

	for (holds = 1; holds < 40; holds++) {
		t = total_beside(reset, holds);
		CHECK(t.count == CALLED || t.count == CALLED + 1);
		CHECK(t.gone);
		CHECK_INT(t.starts, 1);
	}
	t = total_beside(reset, 0);
	CHECK_INT(t.count, 1);
	CHECK_INT(t.gone, 0);
}

static void new_counters_restart_a_total(void)
{
	struct dkc_total t;
	unsigned int holds;

	for (holds = 0; holds < 40; holds++) {
		t = total_beside(switch_off_and_on, holds);
		CHECK_INT(t.count, 1);
		CHECK_INT(t.gone, 0);
		CHECK_INT(t.starts, holds ? 2 : 1);
	}
}

T_SUITE(sums,
	T(the_table_that_a_sum_is_at_leaves),
	T(the_provider_that_a_sum_is_at_leaves),
	T(two_sums_at_one_table),
	T(operators_have_other_slots),
	T(empty_slots_are_work),
	T(each_call_is_in_the_total_once),
	T(no_more_is_gone_than_was_counted),
	T(gone_is_a_part_of_the_total),
	T(resets_do_not_restart_a_total),
	T(new_counters_restart_a_total));
