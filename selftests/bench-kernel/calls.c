// SPDX-License-Identifier: GPL-2.0-only
/* Defines the measured calls. */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/trace_events.h>

#include "bench.h"

#define DEVICES	64
#define BATCH	32

DK_OP(bench_atomic, "bench::atomic", (struct dk_obj *x, long n), (x, n), (x));
DK_OP(bench_sleepable, "bench::sleepable", (struct dk_obj *x, long n), (x, n), (x));
DK_OP(bench_device_1, "bench::device_1", (struct dk_obj *x, long n), (x, n), (x));
DK_OP(bench_device_64, "bench::device_64", (struct dk_obj *x, long n), (x, n), (x));
DK_OP(bench_through, "bench::through", (struct dk_obj *x, long n), (x, n), (x));

static int serve(struct dk_call *c, struct dk_obj *x, long n)
{
	return 0;
}

static bool below;

/*
 * Redispatches @n times from inside one call. If @below is true, each redispatch computes the keys
 * below that of the call. Otherwise all redispatches pass one keyset that is computed before.
 */
#define AGAIN(op)							\
static int op##_again(struct dk_call *c, struct dk_obj *x, long n)	\
{									\
	const struct dk_keyset ks = dk_call_below(c);			\
									\
	if (below)							\
		while (n--)						\
			op##_below(c, x, 1);				\
	else								\
		while (n--)						\
			op##_redispatch(c, ks, x, 1);			\
	return 0;							\
}

AGAIN(bench_atomic)
AGAIN(bench_sleepable)

static const struct dk_impl impls[] = {
	DK_IMPL_ATOMIC(bench_atomic, DK_CPU, serve),
	DK_IMPL_ATOMIC(bench_atomic, DK_TRACER, bench_atomic_again),
	DK_IMPL(bench_sleepable, DK_CPU, serve),
	DK_IMPL(bench_sleepable, DK_TRACER, bench_sleepable_again),
	DK_IMPL_ATOMIC(bench_through, DK_CPU, serve),
	DK_IMPL_FALLTHROUGH(bench_through, DK_FUNCTIONALIZE),
	DK_IMPL_FALLTHROUGH(bench_through, DK_CONJUGATE),
	DK_IMPL_FALLTHROUGH(bench_through, DK_NEGATIVE),
	DK_IMPL_FALLTHROUGH(bench_through, DK_ZERO_TENSOR),
	DK_IMPL_FALLTHROUGH(bench_through, DK_TRACER),
	DK_IMPL_FALLTHROUGH(bench_through, DK_FUNCTORCH_BATCHED),
	DK_IMPL_FALLTHROUGH(bench_through, DK_BATCHED),
	DK_IMPL_FALLTHROUGH(bench_through, DK_PYTHON_TLS_SNAPSHOT),
};

/*
 * Functions of a backend with devices. The first device has both functions of device_impls. Each
 * other device has one of them.
 */
static const struct dk_impl backend_impls[] = {
	DK_IMPL_ATOMIC(bench_atomic, DK_DENSE, serve),
};

static const struct dk_impl device_impls[] = {
	DK_IMPL_ATOMIC(bench_device_64, DK_DENSE, serve),
	DK_IMPL_ATOMIC(bench_device_1, DK_DENSE, serve),
};

static struct dk_provider prov = DK_PROVIDER("bench");
static struct dk_obj on_cpu, on_cuda, on_first, on_last, traced;

/* ---- atomic ----------------------------------------------------------------- */

static void call_atomic_with(struct dk_obj *x, unsigned int n)
{
	while (n--)
		bench_atomic(x, 1);
}

static void call_atomic(unsigned int n)
{
	call_atomic_with(&on_cpu, n);
}

static void call_missing(unsigned int n)
{
	call_atomic_with(&on_cuda, n);
}

static void call_atomic_of_device(unsigned int n)
{
	call_atomic_with(&on_last, n);
}

static void call_in_rcu(unsigned int n)
{
	rcu_read_lock();
	while (n--)
		bench_atomic_rcu(&dk_local_default, &on_cpu, 1);
	rcu_read_unlock();
}

static void call_boxed(unsigned int n)
{
	struct bench_atomic_args args = { &on_cpu, 1 };

	while (n--)
		dk_call_boxed(NULL, &bench_atomic_op, &dk_local_default, &args);
}

static void call_device_1(unsigned int n)
{
	while (n--)
		bench_device_1(&on_first, 1);
}

static void call_device_64(unsigned int n)
{
	while (n--)
		bench_device_64(&on_last, 1);
}

static void redispatch_atomic(unsigned int n)
{
	below = false;
	bench_atomic(&traced, n);
}

static void redispatch_atomic_below(unsigned int n)
{
	below = true;
	bench_atomic(&traced, n);
}

/* Redispatches from a call that has a frame, like calls with hooks and calls of a batch. */
static void redispatch_frame(unsigned int n)
{
	const struct dk_obj *objs[] = { &traced };
	struct dk_frame f;

	if (dk_call_enter(&f, &bench_atomic_op, &dk_local_default, objs, 1))
		return;
	while (n--)
		bench_atomic_below(&f.call, &traced, 1);
	f.result = 0;
	dk_call_leave(&f);
}

static void call_through(unsigned int n, u64 keys)
{
	struct dk_obj obj = on_cpu;

	obj.ks.bits |= keys;
	while (n--)
		bench_through(&obj, 1);
}

/* X(N, a set with N keys that fall through) */
#define BENCH_THROUGHS(X)						\
	X(0, 0)								\
	X(1, DK_KEY_BITS(DK_FUNCTIONALIZE))				\
	X(2, THROUGH_1 | DK_KEY_BITS(DK_CONJUGATE))			\
	X(3, THROUGH_2 | DK_KEY_BITS(DK_NEGATIVE))			\
	X(4, THROUGH_3 | DK_KEY_BITS(DK_ZERO_TENSOR))			\
	X(5, THROUGH_4 | DK_KEY_BITS(DK_TRACER))			\
	X(6, THROUGH_5 | DK_KEY_BITS(DK_FUNCTORCH_BATCHED))		\
	X(7, THROUGH_6 | DK_KEY_BITS(DK_BATCHED))			\
	X(8, THROUGH_7 | DK_KEY_BITS(DK_PYTHON_TLS_SNAPSHOT))

#define THROUGH(k, keys)						\
static const u64 THROUGH_##k = keys;					\
static void call_through_##k(unsigned int n)				\
{									\
	call_through(n, THROUGH_##k);					\
}

BENCH_THROUGHS(THROUGH)
#undef THROUGH

/* ---- sleepable -------------------------------------------------------------- */

static void call_sleepable(unsigned int n)
{
	while (n--)
		bench_sleepable(&on_cpu, 1);
}

static void redispatch_sleepable(unsigned int n)
{
	below = false;
	bench_sleepable(&traced, n);
}

static void redispatch_sleepable_below(unsigned int n)
{
	below = true;
	bench_sleepable(&traced, n);
}

/* Enters once, runs 32 times, and leaves. */
static void call_batches(unsigned int n)
{
	const struct dk_obj *objs[] = { &on_cpu };
	struct dk_frame c;
	unsigned int i;

	while (n--) {
		if (dk_call_enter(&c, &bench_sleepable_op, &dk_local_default, objs, 1))
			return;
		for (i = 0; i < BATCH; i++)
			bench_sleepable_run(&c, &on_cpu, 1);
		dk_call_leave(&c);
	}
}

/* ---- calls with counters, hooks or traces ------------------------------------ */

static int count_on(void)
{
	return dk_stats_enable(NULL, NULL);
}

static void count_off(void)
{
	dk_stats_disable(NULL, NULL);
}

/* Counts calls of another registry, to measure what this costs calls of the default registry. */
static struct dk_registry *elsewhere;

static int count_elsewhere(void)
{
	elsewhere = dk_registry_alloc(NULL, 0, NULL);
	return elsewhere ? dk_stats_enable(elsewhere, NULL) : -ENOMEM;
}

static void count_nowhere(void)
{
	dk_stats_disable(elsewhere, NULL);
	dk_registry_free(elsewhere, NULL);
}

static int trace_on(void)
{
	return trace_set_clr_event("dispatchkey", NULL, 1);
}

static void trace_off(void)
{
	trace_set_clr_event("dispatchkey", NULL, 0);
}

static void see(struct dk_hooks *h, const struct dk_hook_info *info)
{
}

static struct dk_hooks hooks = { .size = sizeof(hooks), .before = see };

static int hook_on(void)
{
	return dk_hooks_register(NULL, &hooks, NULL);
}

static void hook_off(void)
{
	dk_hooks_unregister(&hooks, NULL);
}

const struct bench bench_calls[] = {
	{ .name = "call.atomic", .loop = call_atomic },
	{ .name = "call.rcu", .loop = call_in_rcu },
	{ .name = "redispatch.atomic", .loop = redispatch_atomic },
	{ .name = "below.atomic", .loop = redispatch_atomic_below },
	{ .name = "below.frame", .loop = redispatch_frame },
	{ .name = "boxed.atomic", .loop = call_boxed },
	{ .name = "missing.atomic", .loop = call_missing },
	{ .name = "device.no-functions", .loop = call_atomic_of_device },
	{ .name = "device.1", .loop = call_device_1 },
	{ .name = "device.64", .loop = call_device_64 },
#define THROUGH(k, keys) { .name = "fallthrough." #k, .loop = call_through_##k },
	BENCH_THROUGHS(THROUGH)
#undef THROUGH
	{ .name = "call.sleepable", .loop = call_sleepable },
	{ .name = "redispatch.sleepable", .loop = redispatch_sleepable },
	{ .name = "below.sleepable", .loop = redispatch_sleepable_below },
	{ .name = "batch.32", .loop = call_batches, .n = 16, .per = BATCH },
	{ .name = "counted.atomic", .loop = call_atomic, .before = count_on, .after = count_off },
	{ .name = "counted.elsewhere", .loop = call_atomic, .before = count_elsewhere,
	  .after = count_nowhere },
	{ .name = "hooked.atomic", .loop = call_atomic, .before = hook_on, .after = hook_off },
	{ .name = "traced.atomic", .loop = call_atomic, .before = trace_on, .after = trace_off },
	{ }
};

/* ---- the operators ---------------------------------------------------------- */

static int define_all(struct dk_diag *why)
{
	static struct dk_op_decl *const atomic[] = {
		&bench_atomic_op, &bench_device_1_op, &bench_device_64_op, &bench_through_op,
	};
	unsigned int i;
	int err = dk_op_define(&prov, &bench_sleepable_op, 0, why);

	for (i = 0; !err && i < ARRAY_SIZE(atomic); i++)
		err = dk_op_define(&prov, atomic[i], DK_OP_ATOMIC, why);
	return err;
}

static int register_devices(struct dk_diag *why)
{
	unsigned int backend, i;
	char name[16];
	u32 number = 0;
	int err;

	err = dk_backend_join(&prov, "bench", 0, 0, &backend, why);
	if (!err)
		err = dk_backend_impls_register(&prov, backend, backend_impls, 1, why);
	for (i = 0; !err && i < DEVICES; i++) {
		snprintf(name, sizeof(name), "bench%u", i);
		err = dk_device_register(&prov, backend, name, NULL, device_impls,
					 i ? 1 : 2, &number, why);
		on_last = dk_obj_on(backend, number);
		if (!i)
			on_first = on_last;
	}
	return err;
}

int bench_calls_init(struct dk_diag *why)
{
	int err = dk_provider_register(&prov, why);

	on_cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	on_cuda = dk_obj_on(DK_BACKEND_CUDA, 0);
	traced = on_cpu;
	traced.ks.bits |= DK_KEY_BITS(DK_TRACER);
	if (!err)
		err = define_all(why);
	if (!err)
		err = dk_impls_register(&prov, impls, ARRAY_SIZE(impls), why);
	if (!err)
		err = register_devices(why);
	return err;
}

void bench_calls_exit(void)
{
	dk_provider_unregister(&prov);
}
