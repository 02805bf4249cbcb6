// SPDX-License-Identifier: GPL-2.0-only
/* Tests counters while functions are registered and unregistered, with and without memory. */
#include "alloc.h"
#include "counted.h"

#if !T_KERNEL
#include "core/change/change.h"
#endif

DK_OP(swap_old, "stats_changes::swap", (struct dk_obj *x), (x), (x));
DK_OP(swap_new, "stats_changes::swap", (struct dk_obj *x, int n), (x, n), (x));

/* ---- registering and unregistering --------------------------------------- */

static void functions_register_and_unregister(void)
{
	struct dk_obj x = c_on(DK_BACKEND_CPU, 0, 0);
	static struct dk_provider guest;
	struct dk_op *op;

	c_open(0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	t_join(&guest, "guest");
	CHECK_OK(dk_op_define(&guest, &tack_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&guest, c_tack_impls, C_TACK_IMPLS, &t_why));
	CHECK_OK(dk_fallback_register(&guest, &c_fallback, &t_why));
	op = dk_op_get(t_reg, "counted::tack");
	CHECK_OK(tack_at(op, &dk_local_default, &x));
	CHECK_INT(c_at_key(op, DK_STAT_IMPL, DK_CPU, 0), 1);
	CHECK_OK(c_call_tick(c_on(DK_BACKEND_XPU, 0, 0)));
	CHECK_OK(c_call_tick(c_on(DK_BACKEND_CPU, 0, DK_PYTHON)));
	CHECK_INT(c_served(DK_XPU), 1);
	CHECK_INT(c_by_provider("guest"), 3);
	dk_op_put(op);
	t_unregister(&guest);
	CHECK_INT(c_served(DK_XPU), -1);
	CHECK_INT(c_at_key(c_tick, DK_STAT_FALLBACK, DK_PYTHON, 0), -1);
	/* a new function begins at 0, whatever counters it gets */
	t_join(&guest, "guest");
	CHECK_OK(dk_op_define(&guest, &tack_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&guest, c_tack_impls, C_TACK_IMPLS, &t_why));
	CHECK_OK(dk_fallback_register(&guest, &c_fallback, &t_why));
	CHECK_INT(c_by_provider("guest"), 0);
	CHECK_INT(c_served(DK_XPU), 0);
	CHECK_INT(c_at_key(c_tick, DK_STAT_FALLBACK, DK_PYTHON, 0), 0);
	t_unregister(&guest);
	CHECK_INT(c_uncounted(), 0);
}

/*
 * Checks that all counters, the counts of removed functions and the uncounted calls add up to
 * @calls.
 */
static void check_sum(u64 calls)
{
	static const char *const names[] = { "counted::tick", "counted::tock", "counted::tack" };
	struct dk_stat s = { .size = sizeof(s) };
	u64 sum = c_get().gone + c_uncounted();
	unsigned int i, n;
	struct dk_op *op;

	for (n = 0; n < ARRAY_SIZE(names); n++) {
		op = dk_op_get(t_reg, names[n]);
		for (i = 0; op && !dk_op_stat(op, i, &s); i++)
			sum += s.count;
		dk_op_put(op);
	}
	CHECK_INT(sum, calls);
}

/* Functions, a fallback, a device and an operator are unregistered, in several ways. */
static void counts_of_removed_functions_stay(void)
{
	static const struct dk_impl next = DK_FALLBACK(DK_PYTHON, c_serve_all);
	struct dk_obj x = c_on(DK_BACKEND_CPU, 0, 0);
	static struct dk_provider guest;
	struct dk_op *op;
	u32 counters;

	c_open(0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	t_join(&guest, "guest");
	CHECK_OK(dk_op_define(&guest, &tack_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&guest, c_tack_impls, C_TACK_IMPLS, &t_why));
	CHECK_OK(dk_fallback_register(&guest, &c_fallback, &t_why));
	op = dk_op_get(t_reg, "counted::tack");
	CHECK_OK(tack_at(op, &dk_local_default, &x));
	CHECK_INT(tack_at(op, &dk_local_default, &(struct dk_obj){ .device = 0 }), -ENOSYS);
	dk_op_put(op);
	CHECK_OK(c_call_tick(c_on(DK_BACKEND_XPU, 0, 0)));
	CHECK_OK(c_call_tick(c_on(DK_BACKEND_CPU, 0, DK_PYTHON)));
	CHECK_OK(c_call_tick(c_on(c_backend, c_card, 0)));
	CHECK_OK(c_call_tick(x));
	CHECK_INT(c_get().gone, 0);
	check_sum(6);
	/* withdrawn functions count as gone before they are drained */
	CHECK_OK(dk_impls_withdraw(&guest, c_tack_impls, &t_why));
	CHECK_INT(c_get().gone, 2);
	check_sum(6);
	/* the counts of a withdrawn fallback are gone, too, and the next fallback begins at 0 */
	CHECK_OK(dk_impls_withdraw(&guest, &c_fallback, &t_why));
	CHECK_INT(c_at_key(c_tick, DK_STAT_FALLBACK, DK_PYTHON, 0), -1);
	CHECK_INT(c_get().gone, 3);
	check_sum(6);
	counters = c_get().counters;
	CHECK_OK(dk_fallback_register(&guest, &next, &t_why));
	CHECK_INT(c_at_key(c_tick, DK_STAT_FALLBACK, DK_PYTHON, 0), 0);
	CHECK_OK(dk_impls_withdraw(&guest, &next, &t_why));
	CHECK_INT(c_get().counters, counters);
	CHECK_OK(dk_provider_drain(&guest));
	CHECK(c_get().counters < counters);
	CHECK_INT(c_get().gone, 3);
	check_sum(6);
	/* without a definition, the operator and its counter of unserved calls are freed */
	t_unregister(&guest);
	CHECK_INT(c_get().gone, 4);
	CHECK_OK(dk_device_unregister(&c_prov, c_card, &t_why));
	CHECK_INT(c_get().gone, 5);
	CHECK_INT(c_served(DK_CPU), 1);
	check_sum(6);
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	CHECK_INT(c_get().gone, 0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_INT(c_get().gone, 0);
}

static struct dk_stats of_default(void)
{
	struct dk_stats s = { .size = sizeof(s) };

	CHECK_OK(dk_stats_get(NULL, &s));
	return s;
}

/*
 * Unregisters the fallback of the default registry. Returns how many counters that releases.
 */
static u32 counters_of_fallback(struct dk_provider *guest)
{
	u32 before = of_default().counters;

	CHECK_OK(dk_impls_unregister(guest, &c_fallback, &t_why));
	return before - of_default().counters;
}

/*
 * A declaration keeps its operator when a new operator takes the same name. The old operator's
 * counter of a fallback is still released with the fallback, and its count is added to "gone" of
 * struct dk_stats.
 */
static void replaced_operator_releases_its_counter(void)
{
	struct dk_provider guest = DK_PROVIDER("guest");
	struct dk_obj x = c_on(DK_BACKEND_CPU, 0, DK_PYTHON);
	u32 n;

	CHECK_OK(dk_provider_register(&guest, &t_why));
	CHECK_OK(dk_op_define(&guest, &swap_old_op, 0, &t_why));
	CHECK_OK(dk_stats_enable(NULL, &t_why));
	CHECK_OK(dk_fallback_register(&guest, &c_fallback, &t_why));
	n = counters_of_fallback(&guest);
	CHECK_OK(dk_fallback_register(&guest, &c_fallback, &t_why));
	CHECK_OK(swap_old(&x));
	CHECK_INT(of_default().gone, 0);
	CHECK_OK(dk_op_undefine(&guest, "stats_changes::swap", &t_why));
	CHECK_OK(dk_op_define(&guest, &swap_new_op, 0, &t_why));
	CHECK_INT(of_default().gone, 1);
	CHECK_INT(swap_old(&x), -EPROTOTYPE);
	CHECK_OK(swap_new(&x, 0));
	CHECK_INT(counters_of_fallback(&guest), n + 1);
	CHECK_INT(of_default().gone, 2);
	CHECK_OK(dk_stats_disable(NULL, &t_why));
	CHECK_OK(dk_provider_unregister(&guest));
}

/*
 * An operator without definition and functions is kept by a handle. A registration that fails does
 * not change which provider its counter of a fallback belongs to.
 */
static void refused_registration_keeps_the_providers_of_counters(void)
{
	static const struct dk_impl fallback = DK_FALLBACK(DK_CUDA, c_serve_all);
	const struct dk_impl bad[] = {
		DK_IMPL(tack, DK_COMPOSITE_EXPLICIT_AUTOGRAD, c_here), { .op = &tack_op }
	};
	struct dk_obj x = c_on(DK_BACKEND_CUDA, 0, 0);
	static struct dk_provider guest;
	struct dk_op *op;

	c_open(0);
	t_join(&guest, "guest");
	CHECK_OK(dk_fallback_register(&guest, &fallback, &t_why));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_OK(dk_op_define(&c_prov, &tack_op, 0, &t_why));
	op = t_get("counted::tack");
	CHECK_OK(tack_at(op, &dk_local_default, &x));
	CHECK_OK(dk_op_undefine(&c_prov, "counted::tack", &t_why));
	CHECK(dk_impls_register(&c_prov, bad, 2, &t_why));
	CHECK_OK(dk_impls_register(&c_prov, bad, 1, &t_why));
	CHECK_OK(dk_op_define(&c_prov, &tack_op, 0, &t_why));
	/* the operator's table does not use the fallback any more, but this call does */
	CHECK_OK(tack_for_key(op, &dk_local_default, DK_CUDA, &x));
	CHECK_INT(c_at_key(op, DK_STAT_FALLBACK, DK_CUDA, 0), 1);
	CHECK_INT(c_by_provider("guest"), 1);
	t_unregister(&guest);
	CHECK_OK(dk_impls_unregister(&c_prov, bad, &t_why));
}

/* A reset clears all counts, including those of fallbacks, unserved calls and removed functions. */
static void reset_clears_all_counts(void)
{
	static const struct dk_impl gone = DK_IMPL(tick, DK_CUDA, c_here);

	c_open(0);
	CHECK_OK(dk_fallback_register(&c_prov, &c_fallback, &t_why));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_OK(dk_impls_register(&c_prov, &gone, 1, &t_why));
	CHECK_OK(c_call_tick(c_on(DK_BACKEND_CUDA, 0, 0)));
	CHECK_OK(dk_impls_unregister(&c_prov, &gone, &t_why));
	CHECK_OK(c_call_tick(c_on(DK_BACKEND_CPU, 0, DK_PYTHON)));
	CHECK_INT(c_call_tick(c_on(DK_BACKEND_CUDA, 0, 0)), -ENOSYS);
	/* the fallback serves this call, which is made at the fallback's key */
	CHECK_OK(tick_for_key(c_tick, &dk_local_default, DK_PYTHON,
			      &(struct dk_obj){ .device = 0 }));
	CHECK_INT(c_get().gone, 1);
	CHECK_INT(c_missing(), 1);
	CHECK(c_at_key(c_tick, DK_STAT_FALLBACK, DK_PYTHON, 0) > 0);
	CHECK_OK(dk_stats_reset(t_reg, &t_why));
	CHECK_INT(c_get().gone, 0);
	CHECK_INT(c_missing(), 0);
	CHECK_INT(c_at_key(c_tick, DK_STAT_FALLBACK, DK_PYTHON, 0), 0);
	check_sum(0);
}

#define IN_BLOCK	511	/* counters in the first block */
#define MANY	1200	/* more than two blocks of counters */

static struct dk_op_decl many_decl[MANY];
static struct dk_impl many[MANY];
static char many_name[MANY][24];

static void make_many(void)
{
	unsigned int i;

	for (i = 0; i < MANY; i++) {
		snprintf(many_name[i], sizeof(many_name[i]), "stats_changes::many%u", i);
		many_decl[i] = t_decl(many_name[i]);
		many[i] = t_impl(&many_decl[i], DK_CPU, 0);
	}
}

static s64 call_many(unsigned int i)
{
	struct dk_obj x = c_on(DK_BACKEND_CPU, 0, 0);
	struct dk_op *op = dk_op_get(t_reg, many_name[i]);
	s64 n;

	CHECK_INT(t_call(op, &x, NULL), 0);
	n = c_at_key(op, DK_STAT_IMPL, DK_CPU, 0);
	dk_op_put(op);
	return n;
}

static void many_functions(void)
{
	unsigned int i;

	make_many();
	c_open(0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	for (i = 0; i < MANY; i++)
		CHECK_OK(dk_op_define(&c_prov, &many_decl[i], 0, &t_why));
	CHECK_OK(dk_impls_register(&c_prov, many, MANY, &t_why));
	for (i = 0; i < MANY; i++)
		if (!CHECK_INT(call_many(i), 1))
			break;
	CHECK_INT(c_by_provider("stats"), MANY);
	CHECK_INT(c_uncounted(), 0);
}

/* New functions get the counters of unregistered functions. */
static void counters_are_used_again(void)
{
	long before = 0;
	unsigned int i;

	make_many();
	c_open(0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	for (i = 0; i < 3; i++) {
		CHECK_OK(dk_impls_register(&c_prov, many, MANY, &t_why));
		CHECK_OK(dk_impls_unregister(&c_prov, many, &t_why));
		if (i)
			CHECK_INT(dk_test_allocs(), before);
		before = dk_test_allocs();
	}
}

/* ---- memory -------------------------------------------------------------- */

static void enable_fails_without_memory(void)
{
	unsigned int nth, failed, slow = 0;
	long before;
	int err;

	c_open(0);
	CHECK_OK(dk_fallback_register(&c_prov, &c_fallback, &t_why));
	CHECK_OK(c_call_tick(c_on(DK_BACKEND_CPU, 0, 0)));
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	before = dk_test_allocs();
	for (nth = 1; nth < 100; nth++) {
		dk_test_fail_alloc(nth);
		/* refuses: dk_stats_enable ENOMEM NO_MEMORY */
		err = dk_stats_enable(t_reg, &t_why);
		failed = dk_test_fail_alloc(0);
		if (!failed)
			break;
		if (err) {
			CHECK_INT(err, -ENOMEM);
			CHECK_INT(t_why.reason, DK_WHY_NO_MEMORY);
			CHECK(!c_is_on());
		} else {
			/* without a table with counters, the slow path counts */
			CHECK_OK(c_call_tick(c_on(DK_BACKEND_CPU, 0, 0)));
			CHECK_INT(c_by_provider("stats"), 1);
			CHECK_OK(dk_stats_disable(t_reg, &t_why));
			slow++;
		}
		CHECK_INT(dk_test_allocs(), before);
	}
	CHECK_OK(err);
	CHECK(nth > 3 && slow);
	/* disabling counters needs no memory */
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	CHECK_INT(dk_test_fail_alloc(0), 0);
	CHECK_INT(dk_test_allocs(), before);
}

/*
 * If there is no memory for a function's counter, the function is registered without a counter. Its
 * calls are reported as uncounted. Enabling counters again gives the function a counter. If there
 * is no memory for the table with counters, the slow path counts.
 */
static void change_succeeds_without_a_counter(void)
{
	struct dk_stat s = { .size = sizeof(s) };
	unsigned int i, nth, uncovered = 0, slow = 0;
	struct dk_op *op;
	u64 lost, before;
	s64 n;
	int err;

	make_many();
	c_open(0);
	CHECK_OK(dk_op_define(&c_prov, &many_decl[0], 0, &t_why));
	op = dk_op_get(t_reg, many_name[0]);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	for (i = 1; i < MANY && c_get().counters != IN_BLOCK; i++)
		CHECK_OK(dk_impls_register(&c_prov, &many[i], 1, &t_why));
	for (nth = 1; nth < 50; nth++) {
		dk_test_fail_alloc(nth);
		err = dk_impls_register(&c_prov, &many[0], 1, &t_why);
		if (!dk_test_fail_alloc(0))
			break;
		if (err)
			continue;
		lost = c_uncounted();
		n = call_many(0);
		if (n == 1) {
			CHECK_INT(c_uncounted(), lost);
			slow++;
		} else {
			CHECK_INT(n, -1);
			CHECK_INT(c_uncounted(), lost + 1);
			uncovered++;
		}
		CHECK_OK(dk_stats_reset(t_reg, &t_why));
		CHECK_INT(c_uncounted(), 0);
		before = dk_registry_generation(t_reg);
		CHECK_OK(dk_stats_enable(t_reg, &t_why));
		CHECK((dk_registry_generation(t_reg) != before) == (n != 1));
		CHECK_INT(call_many(0), 1);
		CHECK_OK(dk_op_stat(op, 0, &s));
		CHECK_INT(s.count, 1);
		CHECK_OK(dk_impls_unregister(&c_prov, &many[0], &t_why));
		CHECK_OK(dk_stats_disable(t_reg, &t_why));
		CHECK_OK(dk_stats_enable(t_reg, &t_why));
	}
	CHECK_OK(err);
	CHECK(uncovered && slow);
	dk_op_put(op);
}

/*
 * A function is removed, and a fallback serves its calls instead. If there is memory for the table
 * only after the removal, the fallback gets its counter together with the table.
 */
static void table_that_is_built_later_has_counters(void)
{
	static const struct dk_impl own = DK_IMPL(tick, DK_PYTHON, c_here);
	struct dk_obj x = c_on(DK_BACKEND_CPU, 0, DK_PYTHON);
	static struct dk_provider guest;

	c_open(0);
	CHECK_OK(dk_fallback_register(&c_prov, &c_fallback, &t_why));
	t_join(&guest, "guest");
	CHECK_OK(dk_impls_register(&guest, &own, 1, &t_why));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_OK(dk_impls_withdraw(&guest, &own, &t_why));
	CHECK(dk_test_fail_alloc(0));
	CHECK_OK(dk_provider_drain(&guest));
	CHECK_OK(c_call_tick(x));
	CHECK_INT(c_at_key(c_tick, DK_STAT_FALLBACK, DK_PYTHON, 0), 1);
	CHECK_INT(c_uncounted(), 0);
	t_unregister(&guest);
}

#if !T_KERNEL
/* If there is no memory for the table with counters, it is built when there is. */
static void counted_table_is_built_later(void)
{
	static const struct dk_impl own = DK_IMPL(tick, DK_PYTHON, c_here);
	static struct dk_provider guest;
	unsigned int nth, failed, slow = 0;

	c_open(0);
	t_join(&guest, "guest");
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	for (nth = 1; nth < 50; nth++) {
		CHECK_OK(dk_impls_register(&guest, &own, 1, &t_why));
		dk_test_fail_alloc(nth);
		CHECK_OK(dk_impls_withdraw(&guest, &own, &t_why));
		failed = dk_test_fail_alloc(0);
		slow += c_tick->table->kind == DKC_TABLE_BYPASS;
		CHECK_OK(dk_provider_drain(&guest));
		CHECK_INT(c_tick->table->kind, DKC_TABLE_FULL);
		if (!failed)
			break;
	}
	CHECK(nth > 1 && slow);
	t_unregister(&guest);
}
#endif

/* Registers a function without memory for its counter. */
static void register_uncounted(const struct dk_impl *impl, struct dk_op *op)
{
	struct dk_stat s = { .size = sizeof(s) };
	unsigned int nth, failed;
	int err;

	for (nth = 1; nth < 50; nth++) {
		dk_test_fail_alloc(nth);
		err = dk_impls_register(&c_prov, impl, 1, &t_why);
		failed = dk_test_fail_alloc(0);
		CHECK_OK(err ? 0 : dk_op_stat(op, 0, &s));
		if (!failed || (!err && !s.is_counted))
			break;
		if (!err)
			CHECK_OK(dk_impls_unregister(&c_prov, impl, &t_why));
	}
	CHECK(failed);
}

/* Two functions have no counters. If there is memory for one counter, one of them is counted. */
static void check_function_with_a_counter(bool by_enable)
{
	struct dk_impl other[2];
	struct dk_op *op[2];
	unsigned int i, nth, failed, halves = 0;
	s64 counted[2];
	int err;

	make_many();
	c_open(0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	for (i = 0; i < 2; i++) {
		CHECK_OK(dk_op_define(&c_prov, &many_decl[i], 0, &t_why));
		op[i] = dk_op_get(t_reg, many_name[i]);
		other[i] = t_impl(&many_decl[i], DK_XPU, 0);
	}
	for (nth = 1; nth < 50; nth++) {
		for (i = 0; i < 2; i++)
			register_uncounted(&many[i], op[i]);
		dk_test_fail_alloc(nth);
		err = by_enable ? dk_stats_enable(t_reg, &t_why) :
				  dk_impls_register(&c_prov, other, 2, &t_why);
		failed = dk_test_fail_alloc(0);
		for (i = 0; i < 2; i++) {
			counted[i] = c_at_key(op[i], DK_STAT_IMPL, DK_CPU, 0);
			CHECK_INT(call_many(i), counted[i] < 0 ? -1 : counted[i] + 1);
		}
		halves += err && (counted[0] < 0) != (counted[1] < 0);
		if (!by_enable && !err)
			CHECK_OK(dk_impls_unregister(&c_prov, other, &t_why));
		for (i = 0; i < 2; i++)
			CHECK_OK(dk_impls_unregister(&c_prov, &many[i], &t_why));
		if (!failed)
			break;
	}
	CHECK_OK(err);
	/* a refused registration assigns no counters */
	CHECK(by_enable ? halves : !halves);
	for (i = 0; i < 2; i++)
		dk_op_put(op[i]);
	t_close();
}

static void enable_gives_one_of_two_counters(void)
{
	check_function_with_a_counter(true);
}

static void refused_change_gives_one_of_two_counters(void)
{
	check_function_with_a_counter(false);
}

T_SUITE(stats_changes,
	T(functions_register_and_unregister),
	T(counts_of_removed_functions_stay),
	T(replaced_operator_releases_its_counter),
	T(refused_registration_keeps_the_providers_of_counters),
	T(reset_clears_all_counts),
	T(many_functions),
	T(counters_are_used_again),
	T(enable_fails_without_memory),
	T(table_that_is_built_later_has_counters),
#if !T_KERNEL
	T(counted_table_is_built_later),
#endif
	T(change_succeeds_without_a_counter),
	T(enable_gives_one_of_two_counters),
	T(refused_change_gives_one_of_two_counters));
