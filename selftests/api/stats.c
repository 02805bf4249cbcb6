// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests call counters: which calls are counted for which function, enabling and disabling, and
 * errors. full_registry.h explains the comments "refuses:".
 */
#include "alloc.h"
#include "counted.h"

#define CALLS		1000

DK_OP(pair, "stats::pair", (struct dk_obj *x, struct dk_obj *y), (x, y), (x, y));

/* ---- which calls are counted, and where ---------------------------------- */

static void count_every_call_path(unsigned int flags)
{
	struct dk_obj x = c_on(DK_BACKEND_CPU, 0, 0);

	c_open(flags);
	CHECK_OK(dk_fallback_register(&c_prov, &c_fallback, &t_why));
	/* before counters are enabled */
	CHECK_OK(c_call_tick(x));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_OK(c_call_tick(x));
	CHECK_OK(tick_for_key(c_tick, &dk_local_default, DK_CPU, &x));
	CHECK_OK(dk_call_boxed(c_tick, &tick_op, &dk_local_default,
			       &(struct tick_args){ &x }));
	CHECK_INT(c_served(DK_CPU), 3);
	CHECK_INT(c_served(DK_AUTOGRAD_CPU), 0);
	/* a redispatch counts for the function that serves it */
	CHECK_OK(c_call_tick(c_on(DK_BACKEND_CPU, 0, DK_AUTOGRAD_CPU)));
	CHECK_INT(c_served(DK_AUTOGRAD_CPU), 1);
	CHECK_INT(c_served(DK_CPU), 4);
	CHECK_OK(c_call_tick(c_on(c_backend, c_card, 0)));
	CHECK_INT(c_by_card(), 1);
	CHECK_OK(c_call_tick(c_on(DK_BACKEND_CPU, 0, DK_PYTHON)));
	CHECK_INT(c_at_key(c_tick, DK_STAT_FALLBACK, DK_PYTHON, 0), 1);
	CHECK_INT(c_missing(), 0);
	CHECK_INT(c_call_tick(c_on(DK_BACKEND_CUDA, 0, 0)), -ENOSYS);
	CHECK_INT(tick_for_key(c_tick, &dk_local_default, DK_CUDA, &x), -ENOSYS);
	CHECK_INT(c_missing(), 2);
	CHECK_INT(c_served(DK_CPU), 4);
	CHECK_OK(c_call_tock(x));
	CHECK_INT(c_at_key(c_tock, DK_STAT_IMPL, DK_CPU, 0), 1);
	CHECK_INT(c_by_provider("stats"), 8);
	CHECK_INT(c_uncounted(), 0);
	t_close();
}

static void each_call_is_counted(void)
{
	count_every_call_path(0);
}

static void count_ambiguous_call(unsigned int flags)
{
	static const struct dk_impl both[] = {
		DK_IMPL(tick, DK_COMPOSITE_IMPLICIT_AUTOGRAD, c_here),
		DK_IMPL(tick, DK_FPGA, c_here),
	};

	c_open(flags);
	CHECK_OK(dk_impls_register(&c_prov, both, ARRAY_SIZE(both), &t_why));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_INT(c_call_tick(t_obj(DK_KEY_BITS(DK_AUTOGRAD_OTHER))), -ENOTUNIQ);
	CHECK_INT(c_missing(), 1);
	t_close();
}

static void ambiguous_call_is_counted(void)
{
	count_ambiguous_call(0);
	count_ambiguous_call(DK_REGISTRY_FORCE_RESOLVE);
}

/*
 * By rule 4, a composite implicit function does not serve the autograd key of a backend that has a
 * function of its own. So the fallback serves the autograd key.
 */
static void fallback_of_a_device_is_counted(void)
{
	static const struct dk_impl last = DK_FALLBACK(DK_AUTOGRAD_PRIVATEUSE1, c_serve_all);
	static const struct dk_impl of_all[] = {
		DK_IMPL(tack, DK_COMPOSITE_IMPLICIT_AUTOGRAD, c_here),
	};
	static const struct dk_impl of_card[] = { DK_IMPL(tack, DK_DENSE, c_here) };
	struct dk_obj x;
	struct dk_op *op;
	u32 other;

	c_open(0);
	CHECK_OK(dk_op_define(&c_prov, &tack_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&c_prov, of_all, 1, &t_why));
	CHECK_OK(dk_device_register(&c_prov, c_backend, "other", NULL, of_card, 1, &other, &t_why));
	CHECK_OK(dk_fallback_register(&c_prov, &last, &t_why));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	op = dk_op_get(t_reg, "counted::tack");
	x = c_on(c_backend, other, DK_AUTOGRAD_PRIVATEUSE1);
	CHECK_OK(tack_at(op, &dk_local_default, &x));
	CHECK_INT(c_at_key(op, DK_STAT_FALLBACK, DK_AUTOGRAD_PRIVATEUSE1, 0), 1);
	CHECK_INT(c_uncounted(), 0);
	dk_op_put(op);
}

static int on_pair(struct dk_call *c, struct dk_obj *x, struct dk_obj *y)
{
	return 0;
}

static void check_count_by_second_object(unsigned int flags)
{
	static const struct dk_impl of_pair[] = { DK_IMPL(pair, DK_DENSE, on_pair) };
	struct dk_obj x = c_on(DK_BACKEND_CPU, 0, 0), y;
	struct dk_op *op;
	u32 other;
	int i;

	c_open(0);
	CHECK_OK(dk_op_define(&c_prov, &pair_op, flags, &t_why));
	CHECK_OK(dk_device_register(&c_prov, c_backend, "other", NULL, of_pair, 1, &other, &t_why));
	op = dk_op_get(t_reg, "stats::pair");
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	y = c_on(c_backend, other, 0);
	for (i = 0; i < CALLS; i++)
		CHECK_OK(pair_at(op, &dk_local_default, &x, &y));
	CHECK_INT(c_at_key(op, DK_STAT_IMPL, DK_PRIVATEUSE1, other), CALLS);
	dk_op_put(op);
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
}

static void call_counts_for_the_device_of_a_second_object(void)
{
	check_count_by_second_object(0);
}

static void check_count_of_class(unsigned int flags)
{
	static const struct dk_impl of_card[] = { DK_IMPL_ATOMIC(pair, DK_DENSE, on_pair) };
	static const struct dk_impl of_cpu[] = { DK_IMPL_ATOMIC(pair, DK_CPU, on_pair) };
	struct dk_obj x, y;
	struct dk_op *op;
	u32 other;
	int i;

	c_open(0);
	CHECK_OK(dk_op_define(&c_prov, &pair_op, flags, &t_why));
	CHECK_OK(dk_impls_register(&c_prov, of_cpu, 1, &t_why));
	CHECK_OK(dk_device_register(&c_prov, c_backend, "other", NULL, of_card, 1, &other, &t_why));
	op = t_get("stats::pair");
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	x = c_on(DK_BACKEND_CPU, 0, 0);
	y = c_on(c_backend, other, 0);
	for (i = 0; i < CALLS; i++) {
		CHECK_OK(pair_at(op, &dk_local_default, &x, &x));
		CHECK_OK(pair_at(op, &dk_local_default, &y, &y));
		CHECK_OK(pair_at(op, &dk_local_default, &y, NULL));
	}
	CHECK_INT(c_at_key(op, DK_STAT_IMPL, DK_CPU, 0), CALLS);
	CHECK_INT(c_at_key(op, DK_STAT_IMPL, DK_PRIVATEUSE1, other), 2 * CALLS);
	t_close();
}

static void calls_of_all_classes_are_counted(void)
{
	check_count_of_class(0);
	check_count_of_class(DK_OP_ATOMIC);
	check_count_of_class(DK_OP_SAME_DEVICE);
	check_count_of_class(DK_OP_ATOMIC | DK_OP_SAME_DEVICE);
}

static void same_device_call_is_counted(void)
{
	check_count_by_second_object(DK_OP_SAME_DEVICE);
}

/* The tables of a device are freed, whatever the number of the device. */
static void tables_of_a_device_are_freed(void)
{
	char name[20], filler[20];
	u32 device;
	long before;
	unsigned int i;

	c_open(0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	for (i = 0; i < 16; i++) {
		snprintf(name, sizeof(name), "card%u", i);
		snprintf(filler, sizeof(filler), "other%u", i);
		before = dk_test_allocs();
		CHECK_OK(dk_device_register(&c_prov, c_backend, name, NULL, c_card_impls,
					    C_CARD_IMPLS, &device, &t_why));
		CHECK_OK(dk_device_unregister(&c_prov, device, &t_why));
		CHECK_INT(dk_test_allocs(), before);
		/* takes this device's number, so that the next device gets another one */
		CHECK_OK(dk_device_register(&c_prov, c_backend, filler, NULL, NULL, 0, &device,
					    &t_why));
	}
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
}

/* Without tables, the rules route calls. */
static void each_call_by_the_rules_is_counted(void)
{
	count_every_call_path(DK_REGISTRY_FORCE_RESOLVE);
}

/* Calls of an undefined operator are not counted. Calls on an offline device count as unserved. */
static void only_calls_of_defined_operators_are_counted(void)
{
	struct dk_obj x = c_on(DK_BACKEND_CPU, 0, 0);

	c_open(0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_OK(dk_op_undefine(&c_prov, "counted::tick", &t_why));
	CHECK_INT(c_call_tick(x), -ENOENT);
	CHECK_INT(c_missing(), 0);
	CHECK_INT(c_served(DK_CPU), 0);
	CHECK_OK(dk_op_define(&c_prov, &tick_op, 0, &t_why));
	CHECK_OK(dk_device_set_online(t_reg, c_card, 0, &t_why));
	CHECK_INT(c_call_tick(c_on(c_backend, c_card, 0)), -ENODEV);
	CHECK_INT(c_missing(), 1);
	CHECK_INT(c_uncounted(), 0);
}

/* dk_op_stat() lists the functions in the order of dk_op_impl(). Fallthroughs have no counter. */
static void statistics_follow_the_order_of_functions(void)
{
	struct dk_impl_info info = { .size = sizeof(info) };
	struct dk_stat s = { .size = sizeof(s) };
	unsigned int i;

	c_open(0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	for (i = 0; !dk_op_impl(c_tick, i, &info); i++) {
		CHECK_OK(dk_op_stat(c_tick, i, &s));
		CHECK_INT(s.kind, DK_STAT_IMPL);
		CHECK_INT(s.key, info.key);
		CHECK_INT(s.device, info.device);
		CHECK_INT(s.is_counted, !info.is_fallthrough);
		CHECK_STR(s.label, info.label);
		CHECK_STR(s.provider, info.provider);
		CHECK_STR(s.device_name, info.device_name);
	}
	CHECK_INT(i, 4);
	CHECK_OK(dk_op_stat(c_tick, i, &s));
	CHECK_INT(s.kind, DK_STAT_MISSING);
	CHECK_STR(s.label, "");
	/* refuses: dk_op_stat ENOENT NOT_THERE */
	CHECK_INT(dk_op_stat(c_tick, i + 1, &s), -ENOENT);
}

/* ---- on and off ---------------------------------------------------------- */

static void counters_are_enabled_and_disabled(void)
{
	struct dk_obj x = c_on(DK_BACKEND_CPU, 0, 0);
	long before;

	c_open(0);
	/*
	 * make a thread's first call, which allocates in userspace, before allocations are counted
	 */
	CHECK_OK(c_call_tick(x));
	before = dk_test_allocs();
	CHECK(!c_is_on());
	CHECK_INT(c_served(DK_CPU), -1);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK(c_is_on());
	/*
	 * counters of three functions, of unserved calls of two operators, and of the device's
	 * function
	 */
	CHECK_INT(c_get().counters, 6);
	CHECK_OK(c_call_tick(x));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_INT(c_served(DK_CPU), 1);
	CHECK_OK(dk_stats_reset(t_reg, &t_why));
	CHECK_INT(c_served(DK_CPU), 0);
	CHECK_OK(c_call_tick(x));
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	CHECK(!c_is_on());
	CHECK_INT(c_served(DK_CPU), -1);
	CHECK_INT(dk_test_allocs(), before);
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_INT(c_served(DK_CPU), 0);
}

/*
 * Enabling, disabling and resetting counters changes the generation, so that a walk over counters
 * can detect it.
 */
static void switching_changes_the_generation(void)
{
	u64 before;

	c_open(0);
	before = dk_registry_generation(t_reg);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_INT(dk_registry_generation(t_reg), before + 1);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_INT(dk_registry_generation(t_reg), before + 1);
	CHECK_OK(dk_stats_reset(t_reg, &t_why));
	CHECK_INT(dk_registry_generation(t_reg), before + 2);
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	CHECK_INT(dk_registry_generation(t_reg), before + 3);
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	CHECK_INT(dk_registry_generation(t_reg), before + 3);
}

static void registries_count_separately(void)
{
	struct dk_obj x = c_on(DK_BACKEND_CPU, 0, 0);
	struct dk_registry *other;

	other = dk_registry_alloc(NULL, 0, &t_why);
	CHECK(other);
	CHECK_OK(dk_stats_enable(other, &t_why));
	c_open(0);
	CHECK_OK(c_call_tick(x));
	CHECK(!c_is_on());
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_OK(dk_stats_disable(other, &t_why));
	CHECK_OK(dk_registry_free(other, &t_why));
	CHECK_OK(c_call_tick(x));
	CHECK_INT(c_served(DK_CPU), 1);
}

/* ---- refusals ------------------------------------------------------------ */

static int answer;

static int disable_inside(struct dk_call *c, struct dk_obj *x)
{
	answer = dk_stats_disable(t_reg, &t_why);
	return 0;
}

static void atomic_function_cannot_disable_counters(void)
{
	static const struct dk_impl atomic[] = {
		DK_IMPL_ATOMIC(tock, DK_XPU, disable_inside),
		DK_IMPL(tick, DK_XPU, disable_inside),
	};

	if (t_skip_atomic())
		return;
	c_open(0);
	CHECK_OK(dk_impls_register(&c_prov, atomic, 2, &t_why));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_OK(c_call_tock(c_on(DK_BACKEND_XPU, 0, 0)));
	if (T_KERNEL) {
		/* refuses: dk_stats_disable EDEADLK ATOMIC */
		CHECK_INT(answer, -EDEADLK);
		CHECK_INT(t_why.reason, DK_WHY_ATOMIC);
		CHECK(c_is_on());
	} else {
		CHECK_OK(answer);
		CHECK(!c_is_on());
		CHECK_OK(dk_stats_enable(t_reg, &t_why));
	}
	/* a function that may sleep can disable counters */
	CHECK_OK(c_call_tick(c_on(DK_BACKEND_XPU, 0, 0)));
	CHECK_OK(answer);
	CHECK(!c_is_on());
}

static void refusals(void)
{
	struct dk_stats all = { .size = sizeof(all) - 1 };
	struct dk_stat s = { .size = sizeof(s) - 1 };

	c_open(0);
	/* refuses: dk_stats_reset ENODATA NOT_COUNTED */
	CHECK_INT(dk_stats_reset(t_reg, &t_why), -ENODATA);
	CHECK_INT(t_why.reason, DK_WHY_NOT_COUNTED);
	/* refuses: dk_stats_get EINVAL BAD_SIZE */
	CHECK_INT(dk_stats_get(t_reg, &all), -EINVAL);
	/* refuses: dk_op_stat EINVAL BAD_SIZE */
	CHECK_INT(dk_op_stat(c_tick, 0, &s), -EINVAL);
	/* refuses: dk_provider_stat EINVAL BAD_SIZE */
	CHECK_INT(dk_provider_stat(t_reg, "stats", &s), -EINVAL);
	s.size = sizeof(s);
	/* refuses: dk_provider_stat ENOENT NOT_THERE */
	CHECK_INT(dk_provider_stat(t_reg, "nobody", &s), -ENOENT);
}

T_SUITE(stats,
	T(each_call_is_counted),
	T(ambiguous_call_is_counted),
	T(fallback_of_a_device_is_counted),
	T(call_counts_for_the_device_of_a_second_object),
	T(same_device_call_is_counted),
	T(calls_of_all_classes_are_counted),
	T(tables_of_a_device_are_freed),
	T(each_call_by_the_rules_is_counted),
	T(only_calls_of_defined_operators_are_counted),
	T(statistics_follow_the_order_of_functions),
	T(counters_are_enabled_and_disabled),
	T(switching_changes_the_generation),
	T(registries_count_separately),
	T(atomic_function_cannot_disable_counters),
	T(refusals));
