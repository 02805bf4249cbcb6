// SPDX-License-Identifier: GPL-2.0-only
/* Counters: exact for every way to call, and harmless while all changes. */
#include "../world.h"
#include "alloc.h"
#include "test.h"

DK_OP(tick, "stats::tick", (struct dk_obj *x), (x), (x));
DK_OP(tock, "stats::tock", (struct dk_obj *x), (x), (x));	/* atomic */
DK_OP(tack, "stats::tack", (struct dk_obj *x), (x), (x));
DK_OP(pair, "stats::pair", (struct dk_obj *x, struct dk_obj *y), (x, y), (x, y));
DK_OP(swap_old, "stats::swap", (struct dk_obj *x), (x), (x));
DK_OP(swap_new, "stats::swap", (struct dk_obj *x, int n), (x, n), (x));

#define CALLS		1000
#define THREADS		4

static struct dk_provider prov;
static struct dk_op *tick_handle, *tock_handle;
static unsigned int backend;
static u32 card;

static int here(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

static int behind(struct dk_call *c, struct dk_obj *x)
{
	return tick_below(c, x);
}

static int for_all(struct dk_call *c, void *args)
{
	return 0;
}

static const struct dk_impl impls[] = {
	DK_IMPL(tick, DK_CPU, here),
	DK_IMPL(tick, DK_AUTOGRAD_CPU, behind),
	DK_IMPL_FALLTHROUGH(tick, DK_TRACER),
	DK_IMPL_ATOMIC(tock, DK_CPU, here),
};

static const struct dk_impl card_impls[] = {
	DK_IMPL(tick, DK_DENSE, here),
};

static const struct dk_impl tack_impls[] = {
	DK_IMPL(tack, DK_CPU, here),
	DK_IMPL(tick, DK_XPU, here),
};

static const struct dk_impl fallback = DK_FALLBACK(DK_PYTHON, for_all);

static void begin(unsigned int flags)
{
	t_open("v1", DK_REGISTRY_STOCKED | flags);
	t_join(&prov, "stats");
	CHECK_OK(dk_op_define(&prov, &tick_op, 0, &t_why));
	CHECK_OK(dk_op_define(&prov, &tock_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&prov, impls, ARRAY_SIZE(impls), &t_why));
	CHECK_OK(dk_backend_join(&prov, "stats", 0, 0, &backend, &t_why));
	CHECK_OK(dk_device_register(&prov, backend, "card", NULL, card_impls,
				    ARRAY_SIZE(card_impls), &card, &t_why));
	tick_handle = dk_op_get(t_reg, "stats::tick");
	tock_handle = dk_op_get(t_reg, "stats::tock");
}

static void end(void)
{
	dk_op_put(tick_handle);
	dk_op_put(tock_handle);
	t_leave(&prov);
	t_close();
}

static struct dk_obj on(unsigned int b, u32 device, unsigned int key)
{
	struct dk_obj x = dk_obj_on(b, device);

	if (key)
		x.ks.bits |= DK_KEY_BITS(key);
	return x;
}

static int call_tick(struct dk_obj x)
{
	return tick_at(tick_handle, &dk_local_default, &x);
}

static int call_tock(struct dk_obj x)
{
	return tock_at(tock_handle, &dk_local_default, &x);
}

/* The counter at a key, of a device or of none; -1 where there is none. */
static s64 at_key(struct dk_op *op, unsigned int kind, unsigned int key, u32 device)
{
	struct dk_stat s = { .size = sizeof(s) };
	unsigned int i;

	for (i = 0; !dk_op_stat(op, i, &s); i++)
		if (s.kind == kind && s.key == key && s.device == device)
			return s.is_counted ? (s64)s.count : -1;
	return -1;
}

static s64 served(unsigned int key)
{
	return at_key(tick_handle, DK_STAT_IMPL, key, 0);
}

static s64 missing(void)
{
	return at_key(tick_handle, DK_STAT_MISSING, DK_UNDEFINED, 0);
}

static s64 by_card(void)
{
	return at_key(tick_handle, DK_STAT_IMPL, dk_runtime_key(NULL, DK_DENSE, backend),
		      card);
}

static s64 by_provider(const char *name)
{
	struct dk_stat s = { .size = sizeof(s) };

	CHECK_OK(dk_provider_stat(t_reg, name, &s));
	CHECK_INT(s.kind, DK_STAT_PROVIDER);
	CHECK_STR(s.provider, name);
	return s.count;
}

static struct dk_stats get(void)
{
	struct dk_stats s = { .size = sizeof(s) };

	CHECK_OK(dk_stats_get(t_reg, &s));
	return s;
}

static u64 uncounted(void)
{
	return get().uncounted;
}

/* ---- what counts, and for whom ------------------------------------------------ */

static void every_way_to_call(unsigned int flags)
{
	struct dk_obj x = on(DK_BACKEND_CPU, 0, 0);

	begin(flags);
	CHECK_OK(dk_fallback_register(&prov, &fallback, &t_why));
	/* before they are on */
	CHECK_OK(call_tick(x));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_OK(call_tick(x));
	CHECK_OK(tick_for_key(tick_handle, &dk_local_default, DK_CPU, &x));
	CHECK_OK(dk_call_boxed(tick_handle, &tick_op, &dk_local_default,
			       &(struct tick_args){ &x }));
	CHECK_INT(served(DK_CPU), 3);
	CHECK_INT(served(DK_AUTOGRAD_CPU), 0);
	/* a redispatch counts for the function that takes it */
	CHECK_OK(call_tick(on(DK_BACKEND_CPU, 0, DK_AUTOGRAD_CPU)));
	CHECK_INT(served(DK_AUTOGRAD_CPU), 1);
	CHECK_INT(served(DK_CPU), 4);
	CHECK_OK(call_tick(on(backend, card, 0)));
	CHECK_INT(by_card(), 1);
	CHECK_OK(call_tick(on(DK_BACKEND_CPU, 0, DK_PYTHON)));
	CHECK_INT(at_key(tick_handle, DK_STAT_FALLBACK, DK_PYTHON, 0), 1);
	CHECK_INT(missing(), 0);
	CHECK_INT(call_tick(on(DK_BACKEND_CUDA, 0, 0)), -ENOSYS);
	CHECK_INT(tick_for_key(tick_handle, &dk_local_default, DK_CUDA, &x), -ENOSYS);
	CHECK_INT(missing(), 2);
	CHECK_INT(served(DK_CPU), 4);
	CHECK_OK(call_tock(x));
	CHECK_INT(at_key(tock_handle, DK_STAT_IMPL, DK_CPU, 0), 1);
	CHECK_INT(by_provider("stats"), 8);
	CHECK_INT(uncounted(), 0);
	end();
}

static void each_call_counts(void)
{
	every_way_to_call(0);
}

/* Rule 4: with a function of the device, a fallback serves autograd. */
static void fallback_of_a_device_counts(void)
{
	static const struct dk_impl last = DK_FALLBACK(DK_AUTOGRAD_PRIVATEUSE1, for_all);
	static const struct dk_impl of_all[] = {
		DK_IMPL(tack, DK_COMPOSITE_IMPLICIT_AUTOGRAD, here),
	};
	static const struct dk_impl of_card[] = { DK_IMPL(tack, DK_DENSE, here) };
	struct dk_obj x;
	struct dk_op *op;
	u32 other;

	begin(0);
	CHECK_OK(dk_op_define(&prov, &tack_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, of_all, 1, &t_why));
	CHECK_OK(dk_device_register(&prov, backend, "other", NULL, of_card, 1, &other, &t_why));
	CHECK_OK(dk_fallback_register(&prov, &last, &t_why));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	op = dk_op_get(t_reg, "stats::tack");
	x = on(backend, other, DK_AUTOGRAD_PRIVATEUSE1);
	CHECK_OK(tack_at(op, &dk_local_default, &x));
	CHECK_INT(at_key(op, DK_STAT_FALLBACK, DK_AUTOGRAD_PRIVATEUSE1, 0), 1);
	CHECK_INT(uncounted(), 0);
	dk_op_put(op);
	end();
}

/* Where no row could be built, and the rules are asked. */
static int on_pair(struct dk_call *c, struct dk_obj *x, struct dk_obj *y)
{
	return 0;
}

static void device_of_a_second_object_counts(void)
{
	static const struct dk_impl of_pair[] = { DK_IMPL(pair, DK_DENSE, on_pair) };
	struct dk_obj x = on(DK_BACKEND_CPU, 0, 0), y;
	struct dk_op *op;
	u32 other;
	int i;

	begin(0);
	CHECK_OK(dk_op_define(&prov, &pair_op, 0, &t_why));
	CHECK_OK(dk_device_register(&prov, backend, "other", NULL, of_pair, 1, &other, &t_why));
	op = dk_op_get(t_reg, "stats::pair");
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	y = on(backend, other, 0);
	for (i = 0; i < CALLS; i++)
		CHECK_OK(pair_at(op, &dk_local_default, &x, &y));
	CHECK_INT(at_key(op, DK_STAT_IMPL, DK_PRIVATEUSE1, other), CALLS);
	dk_op_put(op);
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	end();
}

/* Its tables are freed, wherever the number of a device leads to. */
static void tables_of_a_device_are_freed(void)
{
	char name[20], filler[20];
	u32 device;
	long before;
	unsigned int i;

	begin(0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	for (i = 0; i < 16; i++) {
		snprintf(name, sizeof(name), "card%u", i);
		snprintf(filler, sizeof(filler), "other%u", i);
		before = dk_test_allocs();
		CHECK_OK(dk_device_register(&prov, backend, name, NULL, card_impls, 1, &device,
					    &t_why));
		CHECK_OK(dk_device_unregister(&prov, device, &t_why));
		CHECK_INT(dk_test_allocs(), before);
		/* the next one has another number */
		CHECK_OK(dk_device_register(&prov, backend, filler, NULL, NULL, 0, &device,
					    &t_why));
	}
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	end();
}

static void each_call_by_the_rules_counts(void)
{
	every_way_to_call(DK_REGISTRY_FORCE_RESOLVE);
}

/* A call that is refused for another reason than that nothing serves it. */
static void refused_calls_do_not_count(void)
{
	struct dk_obj x = on(DK_BACKEND_CPU, 0, 0);

	begin(0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_OK(dk_op_undefine(&prov, "stats::tick", &t_why));
	CHECK_INT(call_tick(x), -ENOENT);
	CHECK_INT(missing(), 0);
	CHECK_INT(served(DK_CPU), 0);
	CHECK_OK(dk_op_define(&prov, &tick_op, 0, &t_why));
	CHECK_OK(dk_device_set_online(t_reg, card, 0, &t_why));
	CHECK_INT(call_tick(on(backend, card, 0)), -ENODEV);
	CHECK_INT(missing(), 1);
	CHECK_INT(uncounted(), 0);
	end();
}

/* The functions are where dk_op_impl() has them; fallthroughs have no counter. */
static void walk_is_that_of_functions(void)
{
	struct dk_impl_info info = { .size = sizeof(info) };
	struct dk_stat s = { .size = sizeof(s) };
	unsigned int i;

	begin(0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	for (i = 0; !dk_op_impl(tick_handle, i, &info); i++) {
		CHECK_OK(dk_op_stat(tick_handle, i, &s));
		CHECK_INT(s.kind, DK_STAT_IMPL);
		CHECK_INT(s.key, info.key);
		CHECK_INT(s.device, info.device);
		CHECK_INT(s.is_counted, !info.is_fallthrough);
		CHECK_STR(s.label, info.label);
		CHECK_STR(s.provider, info.provider);
		CHECK_STR(s.device_name, info.device_name);
	}
	CHECK_INT(i, 4);
	CHECK_OK(dk_op_stat(tick_handle, i, &s));
	CHECK_INT(s.kind, DK_STAT_MISSING);
	CHECK_STR(s.label, "");
	/* refuses: dk_op_stat ENOENT NOT_THERE */
	CHECK_INT(dk_op_stat(tick_handle, i + 1, &s), -ENOENT);
	end();
}

/* ---- on and off --------------------------------------------------------------- */

static bool is_on(void)
{
	return get().is_enabled;
}

static void on_and_off(void)
{
	struct dk_obj x = on(DK_BACKEND_CPU, 0, 0);
	long before;

	begin(0);
	/* in userspace a thread's first call needs memory */
	CHECK_OK(call_tick(x));
	before = dk_test_allocs();
	CHECK(!is_on());
	CHECK_INT(served(DK_CPU), -1);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK(is_on());
	/* three functions, what nothing served of two operators, the device's */
	CHECK_INT(get().counters, 6);
	CHECK_OK(call_tick(x));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_INT(served(DK_CPU), 1);
	CHECK_OK(dk_stats_reset(t_reg, &t_why));
	CHECK_INT(served(DK_CPU), 0);
	CHECK_OK(call_tick(x));
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	CHECK(!is_on());
	CHECK_INT(served(DK_CPU), -1);
	CHECK_INT(dk_test_allocs(), before);
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_INT(served(DK_CPU), 0);
	end();
}

/* Who walks over counters sees by the generation that they are others now. */
static void switching_is_a_change(void)
{
	u64 before;

	begin(0);
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
	end();
}

/* Two registries count apart. */
static void registries_count_apart(void)
{
	struct dk_obj x = on(DK_BACKEND_CPU, 0, 0);
	struct dk_registry *other;

	other = dk_registry_alloc(NULL, 0, &t_why);
	CHECK(other);
	CHECK_OK(dk_stats_enable(other, &t_why));
	begin(0);
	CHECK_OK(call_tick(x));
	CHECK(!is_on());
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_OK(dk_stats_disable(other, &t_why));
	CHECK_OK(dk_registry_free(other, &t_why));
	CHECK_OK(call_tick(x));
	CHECK_INT(served(DK_CPU), 1);
	end();
}

/* ---- what comes and goes ------------------------------------------------------ */

static void functions_come_and_go(void)
{
	struct dk_obj x = on(DK_BACKEND_CPU, 0, 0);
	struct dk_provider guest;
	struct dk_op *op;

	begin(0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	t_join(&guest, "guest");
	CHECK_OK(dk_op_define(&guest, &tack_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&guest, tack_impls, 2, &t_why));
	CHECK_OK(dk_fallback_register(&guest, &fallback, &t_why));
	op = dk_op_get(t_reg, "stats::tack");
	CHECK_OK(tack_at(op, &dk_local_default, &x));
	CHECK_INT(at_key(op, DK_STAT_IMPL, DK_CPU, 0), 1);
	CHECK_OK(call_tick(on(DK_BACKEND_XPU, 0, 0)));
	CHECK_OK(call_tick(on(DK_BACKEND_CPU, 0, DK_PYTHON)));
	CHECK_INT(served(DK_XPU), 1);
	CHECK_INT(by_provider("guest"), 3);
	dk_op_put(op);
	t_leave(&guest);
	CHECK_INT(served(DK_XPU), -1);
	CHECK_INT(at_key(tick_handle, DK_STAT_FALLBACK, DK_PYTHON, 0), -1);
	/* who comes now begins at 0, whatever counters it got */
	t_join(&guest, "guest");
	CHECK_OK(dk_op_define(&guest, &tack_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&guest, tack_impls, 2, &t_why));
	CHECK_OK(dk_fallback_register(&guest, &fallback, &t_why));
	CHECK_INT(by_provider("guest"), 0);
	CHECK_INT(served(DK_XPU), 0);
	CHECK_INT(at_key(tick_handle, DK_STAT_FALLBACK, DK_PYTHON, 0), 0);
	t_leave(&guest);
	CHECK_INT(uncounted(), 0);
	end();
}

/* All that is counted, and what is gone, are the calls that were made. */
static void all_are(u64 calls)
{
	static const char *const names[] = { "stats::tick", "stats::tock", "stats::tack" };
	struct dk_stat s = { .size = sizeof(s) };
	u64 sum = get().gone + uncounted();
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

/* Functions, a fallback, a device and an operator leave, in several ways. */
static void counts_of_what_is_gone_stay(void)
{
	static const struct dk_impl next = DK_FALLBACK(DK_PYTHON, for_all);
	struct dk_obj x = on(DK_BACKEND_CPU, 0, 0);
	struct dk_provider guest;
	struct dk_op *op;
	u32 counters;

	begin(0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	t_join(&guest, "guest");
	CHECK_OK(dk_op_define(&guest, &tack_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&guest, tack_impls, 2, &t_why));
	CHECK_OK(dk_fallback_register(&guest, &fallback, &t_why));
	op = dk_op_get(t_reg, "stats::tack");
	CHECK_OK(tack_at(op, &dk_local_default, &x));
	CHECK_INT(tack_at(op, &dk_local_default, &(struct dk_obj){ .device = 0 }), -ENOSYS);
	dk_op_put(op);
	CHECK_OK(call_tick(on(DK_BACKEND_XPU, 0, 0)));
	CHECK_OK(call_tick(on(DK_BACKEND_CPU, 0, DK_PYTHON)));
	CHECK_OK(call_tick(on(backend, card, 0)));
	CHECK_OK(call_tick(x));
	CHECK_INT(get().gone, 0);
	all_are(6);
	/* withdrawn functions are gone before they are drained */
	CHECK_OK(dk_impls_withdraw(&guest, tack_impls, &t_why));
	CHECK_INT(get().gone, 2);
	all_are(6);
	/* so is a fallback, and another one begins at 0 */
	CHECK_OK(dk_impls_withdraw(&guest, &fallback, &t_why));
	CHECK_INT(at_key(tick_handle, DK_STAT_FALLBACK, DK_PYTHON, 0), -1);
	CHECK_INT(get().gone, 3);
	all_are(6);
	counters = get().counters;
	CHECK_OK(dk_fallback_register(&guest, &next, &t_why));
	CHECK_INT(at_key(tick_handle, DK_STAT_FALLBACK, DK_PYTHON, 0), 0);
	CHECK_OK(dk_impls_withdraw(&guest, &next, &t_why));
	CHECK_INT(get().counters, counters);
	CHECK_OK(dk_provider_drain(&guest));
	CHECK(get().counters < counters);
	CHECK_INT(get().gone, 3);
	all_are(6);
	/* with the definition nobody needs the operator, and what nothing served */
	t_leave(&guest);
	CHECK_INT(get().gone, 4);
	CHECK_OK(dk_device_unregister(&prov, card, &t_why));
	CHECK_INT(get().gone, 5);
	CHECK_INT(served(DK_CPU), 1);
	all_are(6);
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	CHECK_INT(get().gone, 0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_INT(get().gone, 0);
	end();
}

static struct dk_stats of_default(void)
{
	struct dk_stats s = { .size = sizeof(s) };

	CHECK_OK(dk_stats_get(NULL, &s));
	return s;
}

/* How many counters the fallback has, of the default registry. */
static u32 counters_of_fallback(struct dk_provider *guest)
{
	u32 before = of_default().counters;

	CHECK_OK(dk_impls_unregister(guest, &fallback, &t_why));
	return before - of_default().counters;
}

/*
 * A declaration keeps its operator when another one has taken the name. That gives up
 * the counter of a fallback that leaves, too, and what it has counted stays.
 */
static void replaced_operators_count_no_more(void)
{
	struct dk_provider guest = DK_PROVIDER("guest");
	struct dk_obj x = on(DK_BACKEND_CPU, 0, DK_PYTHON);
	u32 n;

	CHECK_OK(dk_provider_register(&guest, &t_why));
	CHECK_OK(dk_op_define(&guest, &swap_old_op, 0, &t_why));
	CHECK_OK(dk_stats_enable(NULL, &t_why));
	CHECK_OK(dk_fallback_register(&guest, &fallback, &t_why));
	n = counters_of_fallback(&guest);
	CHECK_OK(dk_fallback_register(&guest, &fallback, &t_why));
	CHECK_OK(swap_old(&x));
	CHECK_INT(of_default().gone, 0);
	CHECK_OK(dk_op_undefine(&guest, "stats::swap", &t_why));
	CHECK_OK(dk_op_define(&guest, &swap_new_op, 0, &t_why));
	CHECK_INT(of_default().gone, 1);
	CHECK_INT(swap_old(&x), -EPROTOTYPE);
	CHECK_OK(swap_new(&x, 0));
	CHECK_INT(counters_of_fallback(&guest), n + 1);
	CHECK_INT(of_default().gone, 2);
	CHECK_OK(dk_stats_disable(NULL, &t_why));
	CHECK_OK(dk_provider_unregister(&guest));
}

/* Also of a fallback, of what nothing served, was not counted, or is gone. */
static void reset_is_of_all(void)
{
	static const struct dk_impl gone = DK_IMPL(tick, DK_CUDA, here);

	begin(0);
	CHECK_OK(dk_fallback_register(&prov, &fallback, &t_why));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_OK(dk_impls_register(&prov, &gone, 1, &t_why));
	CHECK_OK(call_tick(on(DK_BACKEND_CUDA, 0, 0)));
	CHECK_OK(dk_impls_unregister(&prov, &gone, &t_why));
	CHECK_OK(call_tick(on(DK_BACKEND_CPU, 0, DK_PYTHON)));
	CHECK_INT(call_tick(on(DK_BACKEND_CUDA, 0, 0)), -ENOSYS);
	/* at a key that the table names no fallback for, nothing counts it */
	CHECK_OK(tick_for_key(tick_handle, &dk_local_default, DK_PYTHON,
			      &(struct dk_obj){ .device = 0 }));
	CHECK_INT(get().gone, 1);
	CHECK_INT(missing(), 1);
	CHECK(at_key(tick_handle, DK_STAT_FALLBACK, DK_PYTHON, 0) > 0);
	CHECK_OK(dk_stats_reset(t_reg, &t_why));
	CHECK_INT(get().gone, 0);
	CHECK_INT(missing(), 0);
	CHECK_INT(at_key(tick_handle, DK_STAT_FALLBACK, DK_PYTHON, 0), 0);
	all_are(0);
	end();
}

#define IN_BLOCK	511	/* counters in the first block */
#define MANY	1200	/* more than two blocks of counters */

static struct dk_op_decl many_decl[MANY];
static struct dk_impl many[MANY];
static char many_name[MANY][20];

static void make_many(void)
{
	unsigned int i;

	for (i = 0; i < MANY; i++) {
		snprintf(many_name[i], sizeof(many_name[i]), "stats::many%u", i);
		many_decl[i] = t_decl(many_name[i]);
		many[i] = t_impl(&many_decl[i], DK_CPU, 0);
	}
}

static s64 call_many(unsigned int i)
{
	struct dk_obj x = on(DK_BACKEND_CPU, 0, 0);
	struct dk_op *op = dk_op_get(t_reg, many_name[i]);
	s64 n;

	CHECK_INT(t_call(op, &x, NULL), 0);
	n = at_key(op, DK_STAT_IMPL, DK_CPU, 0);
	dk_op_put(op);
	return n;
}

static void many_functions(void)
{
	unsigned int i;

	make_many();
	begin(0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	for (i = 0; i < MANY; i++)
		CHECK_OK(dk_op_define(&prov, &many_decl[i], 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, many, MANY, &t_why));
	for (i = 0; i < MANY; i++)
		if (!CHECK_INT(call_many(i), 1))
			break;
	CHECK_INT(by_provider("stats"), MANY);
	CHECK_INT(uncounted(), 0);
	end();
}

/* New functions get the counters of those that were unregistered. */
static void counters_are_used_again(void)
{
	long before = 0;
	unsigned int i;

	make_many();
	begin(0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	for (i = 0; i < 3; i++) {
		CHECK_OK(dk_impls_register(&prov, many, MANY, &t_why));
		CHECK_OK(dk_impls_unregister(&prov, many, &t_why));
		if (i)
			CHECK_INT(dk_test_allocs(), before);
		before = dk_test_allocs();
	}
	end();
}

/* ---- memory ------------------------------------------------------------------- */

static void no_memory_leaves_them_off(void)
{
	unsigned int nth, failed, slow = 0;
	long before;
	int err;

	begin(0);
	CHECK_OK(dk_fallback_register(&prov, &fallback, &t_why));
	CHECK_OK(call_tick(on(DK_BACKEND_CPU, 0, 0)));
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
			CHECK(!is_on());
		} else {
			/* no table that counts: the slow path does */
			CHECK_OK(call_tick(on(DK_BACKEND_CPU, 0, 0)));
			CHECK_INT(by_provider("stats"), 1);
			CHECK_OK(dk_stats_disable(t_reg, &t_why));
			slow++;
		}
		CHECK_INT(dk_test_allocs(), before);
	}
	CHECK_OK(err);
	CHECK(nth > 3 && slow);
	/* switching off needs none */
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	CHECK_INT(dk_test_fail_alloc(0), 0);
	CHECK_INT(dk_test_allocs(), before);
	end();
}

/*
 * A function for whose counter there is no memory is registered all the same, and its calls
 * are reported as not counted; switching on again gives it one. Where there is none for the
 * table that counts, the slow path counts.
 */
static void no_change_fails_for_a_counter(void)
{
	struct dk_stat s = { .size = sizeof(s) };
	unsigned int i, nth, uncovered = 0, slow = 0;
	struct dk_op *op;
	u64 lost;
	s64 n;
	int err;

	make_many();
	begin(0);
	CHECK_OK(dk_op_define(&prov, &many_decl[0], 0, &t_why));
	op = dk_op_get(t_reg, many_name[0]);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	for (i = 1; i < MANY && get().counters != IN_BLOCK; i++)
		CHECK_OK(dk_impls_register(&prov, &many[i], 1, &t_why));
	for (nth = 1; nth < 50; nth++) {
		dk_test_fail_alloc(nth);
		err = dk_impls_register(&prov, &many[0], 1, &t_why);
		if (!dk_test_fail_alloc(0))
			break;
		if (err)
			continue;
		lost = uncounted();
		n = call_many(0);
		if (n == 1) {
			CHECK_INT(uncounted(), lost);
			slow++;
		} else {
			CHECK_INT(n, -1);
			CHECK_INT(uncounted(), lost + 1);
			uncovered++;
		}
		CHECK_OK(dk_stats_reset(t_reg, &t_why));
		CHECK_INT(uncounted(), 0);
		CHECK_OK(dk_stats_enable(t_reg, &t_why));
		CHECK_INT(call_many(0), 1);
		CHECK_OK(dk_op_stat(op, 0, &s));
		CHECK_INT(s.count, 1);
		CHECK_OK(dk_impls_unregister(&prov, &many[0], &t_why));
		CHECK_OK(dk_stats_disable(t_reg, &t_why));
		CHECK_OK(dk_stats_enable(t_reg, &t_why));
	}
	CHECK_OK(err);
	CHECK(uncovered && slow);
	dk_op_put(op);
	end();
}

/* Register a function for whose counter there is no memory. */
static void register_uncounted(const struct dk_impl *impl, struct dk_op *op)
{
	struct dk_stat s = { .size = sizeof(s) };
	unsigned int nth, failed;
	int err;

	for (nth = 1; nth < 50; nth++) {
		dk_test_fail_alloc(nth);
		err = dk_impls_register(&prov, impl, 1, &t_why);
		failed = dk_test_fail_alloc(0);
		CHECK_OK(err ? 0 : dk_op_stat(op, 0, &s));
		if (!failed || (!err && !s.is_counted))
			break;
		if (!err)
			CHECK_OK(dk_impls_unregister(&prov, impl, &t_why));
	}
	CHECK(failed);
}

/* Where two functions have no counter, and only one of them gets one. */
static void a_function_with_a_counter_is_counted(bool by_enable)
{
	struct dk_impl other[2];
	struct dk_op *op[2];
	unsigned int i, nth, failed, halves = 0;
	s64 counted[2];
	int err;

	make_many();
	begin(0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	for (i = 0; i < 2; i++) {
		CHECK_OK(dk_op_define(&prov, &many_decl[i], 0, &t_why));
		op[i] = dk_op_get(t_reg, many_name[i]);
		other[i] = t_impl(&many_decl[i], DK_XPU, 0);
	}
	for (nth = 1; nth < 50; nth++) {
		for (i = 0; i < 2; i++)
			register_uncounted(&many[i], op[i]);
		dk_test_fail_alloc(nth);
		err = by_enable ? dk_stats_enable(t_reg, &t_why) :
				  dk_impls_register(&prov, other, 2, &t_why);
		failed = dk_test_fail_alloc(0);
		for (i = 0; i < 2; i++) {
			counted[i] = at_key(op[i], DK_STAT_IMPL, DK_CPU, 0);
			CHECK_INT(call_many(i), counted[i] < 0 ? -1 : counted[i] + 1);
		}
		halves += err && (counted[0] < 0) != (counted[1] < 0);
		if (!by_enable && !err)
			CHECK_OK(dk_impls_unregister(&prov, other, &t_why));
		for (i = 0; i < 2; i++)
			CHECK_OK(dk_impls_unregister(&prov, &many[i], &t_why));
		if (!failed)
			break;
	}
	CHECK_OK(err);
	/* a change that is refused gives none */
	CHECK(by_enable ? halves : !halves);
	for (i = 0; i < 2; i++)
		dk_op_put(op[i]);
	end();
}

static void counters_of_a_half(void)
{
	a_function_with_a_counter_is_counted(true);
}

static void counters_of_a_refused_change(void)
{
	a_function_with_a_counter_is_counted(false);
}

/* ---- threads ------------------------------------------------------------------ */

static bool stop;
static struct w_count calls_made, calls_failed;

/* Each kind as often as the others. */
static void call_each(void *unused)
{
	unsigned int i;

	for (i = 0; i < CALLS; i++) {
		w_add(&calls_failed, !!call_tick(on(DK_BACKEND_CPU, 0, DK_AUTOGRAD_CPU)));
		w_add(&calls_failed, !!call_tick(on(backend, card, 0)));
		w_add(&calls_failed, !!call_tick(on(DK_BACKEND_CPU, 0, DK_PYTHON)));
		w_add(&calls_failed, call_tick(on(DK_BACKEND_CUDA, 0, 0)) != -ENOSYS);
		w_add(&calls_failed, !!call_tock(on(DK_BACKEND_CPU, 0, 0)));
		w_pause();
	}
}

static void start_all(struct w_thread *t, void (*run)(void *data))
{
	unsigned int i;

	w_store(stop, false);
	memset(&calls_made, 0, sizeof(calls_made));
	memset(&calls_failed, 0, sizeof(calls_failed));
	for (i = 0; i < THREADS; i++)
		CHECK_OK(w_start(&t[i], "dk_stats", run, NULL));
}

static void join_all(struct w_thread *t)
{
	unsigned int i;

	w_store(stop, true);
	for (i = 0; i < THREADS; i++)
		w_join(&t[i]);
	CHECK_INT(w_sum(&calls_failed), 0);
}

/* The threads have ended when the counters are read. */
static void threads_count_exactly(void)
{
	static struct w_thread t[THREADS];

	begin(0);
	CHECK_OK(dk_fallback_register(&prov, &fallback, &t_why));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	start_all(t, call_each);
	join_all(t);
	CHECK_INT(served(DK_AUTOGRAD_CPU), THREADS * CALLS);
	CHECK_INT(served(DK_CPU), THREADS * CALLS);
	CHECK_INT(by_card(), THREADS * CALLS);
	CHECK_INT(at_key(tick_handle, DK_STAT_FALLBACK, DK_PYTHON, 0), THREADS * CALLS);
	CHECK_INT(missing(), THREADS * CALLS);
	CHECK_INT(at_key(tock_handle, DK_STAT_IMPL, DK_CPU, 0), THREADS * CALLS);
	CHECK_INT(by_provider("stats"), 5 * THREADS * CALLS);
	CHECK_INT(uncounted(), 0);
	end();
}

static void call_on_and_on(void *unused)
{
	while (!w_load(stop)) {
		w_add(&calls_failed, !!call_tick(on(DK_BACKEND_CPU, 0, 0)));
		w_add(&calls_failed, !!call_tock(on(DK_BACKEND_CPU, 0, 0)));
		w_add(&calls_made, 1);
		w_pause();
	}
}

/* Is more than @more counted since, and never more than was called? */
static void reset_while_calls_run(void)
{
	static struct w_thread t[THREADS];
	u64 before, after;
	unsigned int i;
	s64 n;

	begin(0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	start_all(t, call_on_and_on);
	for (i = 0; i < 200; i++) {
		before = w_sum(&calls_made);
		CHECK_OK(dk_stats_reset(t_reg, &t_why));
		w_sleep_us(50);
		n = served(DK_CPU);
		after = w_sum(&calls_made);
		CHECK(n >= 0 && n <= (s64)(after - before) + THREADS);
	}
	join_all(t);
	before = w_sum(&calls_made);
	CHECK(before);
	CHECK_OK(dk_stats_reset(t_reg, &t_why));
	CHECK_INT(served(DK_CPU), 0);
	CHECK_OK(call_tick(on(DK_BACKEND_CPU, 0, 0)));
	CHECK_INT(served(DK_CPU), 1);
	CHECK_INT(uncounted(), 0);
	end();
}

/* They are freed only when nobody counts, and what is on then counts all. */
static void all_changes_while_calls_run(void)
{
	static struct w_thread t[THREADS];
	struct dk_provider guest;
	unsigned int i;

	begin(0);
	start_all(t, call_on_and_on);
	for (i = 0; i < 60; i++) {
		CHECK_OK(dk_stats_enable(t_reg, &t_why));
		t_join(&guest, "guest");
		CHECK_OK(dk_op_define(&guest, &tack_op, 0, &t_why));
		CHECK_OK(dk_impls_register(&guest, tack_impls, 2, &t_why));
		CHECK_OK(dk_fallback_register(&guest, &fallback, &t_why));
		CHECK_OK(call_tick(on(DK_BACKEND_CPU, 0, DK_PYTHON)));
		CHECK_OK(call_tick(on(DK_BACKEND_XPU, 0, 0)));
		CHECK_INT(by_provider("guest"), 2);
		if (i % 2)
			t_leave(&guest);
		CHECK_OK(dk_stats_disable(t_reg, &t_why));
		if (i % 2 == 0)
			t_leave(&guest);
	}
	join_all(t);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	start_all(t, call_on_and_on);
	w_sleep_us(1000);
	join_all(t);
	CHECK_INT(served(DK_CPU), w_sum(&calls_made));
	CHECK_INT(at_key(tock_handle, DK_STAT_IMPL, DK_CPU, 0), w_sum(&calls_made));
	CHECK_INT(uncounted(), 0);
	end();
}

/* ---- what is refused ---------------------------------------------------------- */

static int answer;

static int disable_inside(struct dk_call *c, struct dk_obj *x)
{
	answer = dk_stats_disable(t_reg, &t_why);
	return 0;
}

static void disable_from_inside(void)
{
	static const struct dk_impl atomic[] = {
		DK_IMPL_ATOMIC(tock, DK_XPU, disable_inside),
		DK_IMPL(tick, DK_XPU, disable_inside),
	};

	begin(0);
	CHECK_OK(dk_impls_register(&prov, atomic, 2, &t_why));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_OK(call_tock(on(DK_BACKEND_XPU, 0, 0)));
	if (T_KERNEL) {
		/* refuses: dk_stats_disable EDEADLK ATOMIC */
		CHECK_INT(answer, -EDEADLK);
		CHECK_INT(t_why.reason, DK_WHY_ATOMIC);
		CHECK(is_on());
	} else {
		CHECK_OK(answer);
		CHECK(!is_on());
		CHECK_OK(dk_stats_enable(t_reg, &t_why));
	}
	/* a function that may sleep may do so */
	CHECK_OK(call_tick(on(DK_BACKEND_XPU, 0, 0)));
	CHECK_OK(answer);
	CHECK(!is_on());
	end();
}

static void refusals(void)
{
	struct dk_stats all = { .size = sizeof(all) - 1 };
	struct dk_stat s = { .size = sizeof(s) - 1 };

	begin(0);
	/* refuses: dk_stats_reset ENODATA NOT_COUNTED */
	CHECK_INT(dk_stats_reset(t_reg, &t_why), -ENODATA);
	CHECK_INT(t_why.reason, DK_WHY_NOT_COUNTED);
	/* refuses: dk_stats_get EINVAL BAD_SIZE */
	CHECK_INT(dk_stats_get(t_reg, &all), -EINVAL);
	/* refuses: dk_op_stat EINVAL BAD_SIZE */
	CHECK_INT(dk_op_stat(tick_handle, 0, &s), -EINVAL);
	/* refuses: dk_provider_stat EINVAL BAD_SIZE */
	CHECK_INT(dk_provider_stat(t_reg, "stats", &s), -EINVAL);
	s.size = sizeof(s);
	/* refuses: dk_provider_stat ENOENT NOT_THERE */
	CHECK_INT(dk_provider_stat(t_reg, "nobody", &s), -ENOENT);
	end();
}

T_SUITE(stats,
	T(each_call_counts),
	T(fallback_of_a_device_counts),
	T(device_of_a_second_object_counts),
	T(tables_of_a_device_are_freed),
	T(each_call_by_the_rules_counts),
	T(refused_calls_do_not_count),
	T(walk_is_that_of_functions),
	T(on_and_off),
	T(switching_is_a_change),
	T(registries_count_apart),
	T(functions_come_and_go),
	T(counts_of_what_is_gone_stay),
	T(replaced_operators_count_no_more),
	T(reset_is_of_all),
	T(many_functions),
	T(counters_are_used_again),
	T(no_memory_leaves_them_off),
	T(no_change_fails_for_a_counter),
	T(counters_of_a_half),
	T(counters_of_a_refused_change),
	T(threads_count_exactly),
	T(reset_while_calls_run),
	T(all_changes_while_calls_run),
	T(disable_from_inside),
	T(refusals));
