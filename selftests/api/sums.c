// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sums of counters in many holds of the lock, between which the table or the provider
 * that a sum is at leaves.
 */
#include "../../lib/core/registry.h"

#include "test.h"

#define TABLES	4
#define OPS	100	/* more than the first table of names has room for */
#define MISSING	8	/* of them, called before the sum */

/* In the order in which a sum meets them: the newest of a provider, and it, come first. */
static const u16 keys[TABLES] = { DK_META, DK_CUDA, DK_CPU, DK_HIP };
static const u16 calls[TABLES] = { 1, 2, 4, 8 };

static struct dk_provider young, old;
static struct dk_impl impl[TABLES];
static struct dk_op_decl decl;
static struct dk_op *op;
static struct dk_op_decl decls[OPS];
static char names[OPS][16];

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

/* One counter in a hold of the lock. */
static bool more(struct dkc_calls *c)
{
	bool is_more;

	dkc_mutex_lock(&t_reg->lock);
	is_more = dkc_calls_sum(t_reg, c, 1);
	dkc_mutex_unlock(&t_reg->lock);
	return is_more;
}

static void sum_begin(struct dkc_calls *c, unsigned int holds)
{
	dkc_mutex_lock(&t_reg->lock);
	dkc_calls_begin(t_reg, c, 0);
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

	for (i = 0; i < TABLES; i++) {
		begin();
		sum_begin(&c, i);
		CHECK_OK(dk_impls_unregister(i == TABLES - 1 ? &old : &young, &impl[i], &t_why));
		sum_end(&c);
		CHECK_INT(c.sum, 15 - calls[i]);
		CHECK_INT(c.gone, calls[i]);
		end();
	}
}

static void the_provider_that_a_sum_is_at_leaves(void)
{
	struct dkc_calls c;

	begin();
	sum_begin(&c, 0);
	CHECK_OK(dk_provider_unregister(&young));
	sum_end(&c);
	CHECK_INT(c.sum, calls[TABLES - 1]);
	CHECK_INT(c.gone, 15 - calls[TABLES - 1]);
	end();
}

/* Each continues at its own place. */
static void two_sums_at_one_table(void)
{
	struct dkc_calls a, b;

	begin();
	sum_begin(&a, 1);
	sum_begin(&b, 1);
	CHECK_OK(dk_impls_unregister(&young, &impl[1], &t_why));
	sum_end(&a);
	sum_end(&b);
	CHECK_INT(a.sum, 15 - calls[1]);
	CHECK_INT(b.sum, 15 - calls[1]);
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

static void call_what_nothing_serves(void)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU));
	struct dk_op *missing;
	unsigned int i;

	for (i = 0; i < MISSING; i++) {
		missing = dk_op_get(t_reg, names[i]);
		CHECK_INT(t_call(missing, &x, NULL), -ENOSYS);
		dk_op_put(missing);
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
		define(0, MISSING);
		call_what_nothing_serves();
		sum_begin(&c, holds);
		define(MISSING, OPS);
		sum_end(&c);
		CHECK_INT(c.sum, 15 + MISSING);
		CHECK_INT(c.gone, 0);
		end();
	}
}

static void empty_slots_are_work(void)
{
	unsigned int i, holds = 0;
	struct dkc_calls c;

	begin();
	define(0, OPS);
	for (i = 0; i < OPS; i++)
		CHECK_OK(dk_op_undefine(&old, names[i], &t_why));
	sum_begin(&c, 0);
	while (more(&c))
		holds++;
	CHECK(holds >= dkc_deref_locked(t_reg->ops)->size);
	sum_end(&c);
	CHECK_INT(c.sum, 15);
	end();
}

T_SUITE(sums,
	T(the_table_that_a_sum_is_at_leaves),
	T(the_provider_that_a_sum_is_at_leaves),
	T(two_sums_at_one_table),
	T(operators_have_other_slots),
	T(empty_slots_are_work));
