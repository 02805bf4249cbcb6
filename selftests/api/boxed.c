// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests boxed, plain (without a struct dk_call) and typed functions in one chain, and calls at a
 * given key. full_registry.h explains the comments "refuses:".
 */
#include "test.h"

DK_OP(chain, "boxed::chain", (struct dk_obj *x, int *trace), (x, trace), (x));
DK_OP(awake, "boxed::awake", (struct dk_obj *x, int *trace), (x, trace), (x));
DK_OP(alien, "boxed::alien", (struct dk_obj *x, long n), (x, n), (x));

static struct dk_provider prov;
static struct dk_local local;
static struct dk_op *op;

static int on_cpu(struct dk_obj *x, int *trace)
{
	*trace = *trace * 10 + 1;
	return 0;
}

static int on_autograd(struct dk_call *c, struct dk_obj *x, int *trace)
{
	*trace = *trace * 10 + 2;
	return chain_below(c, x, trace);
}

static int on_any(struct dk_call *c, void *args)
{
	struct chain_args *a = args;

	*a->trace = *a->trace * 10 + 3;
	return dk_redispatch_boxed(c, dk_call_below(c), args);
}

DK_BOXED(chain, on_autograd_boxed, on_autograd);
DK_UNBOXED(chain, on_any_typed, on_any,
	   (struct dk_obj *x, int *trace), (x, trace));

/* Calls its operator again, up to a depth of 16. */
static int deeper(struct dk_call *c, struct dk_obj *x, int *trace)
{
	struct chain_args again = { x, trace };

	if (++*trace >= 16)
		return 0;
	return *trace % 2 ? chain_at(op, &local, x, trace) :
			    dk_call_boxed(op, &chain_op, &local, &again);
}

static const struct dk_impl impls[] = {
	DK_IMPL_PLAIN(chain, DK_CPU, on_cpu),
	DK_IMPL(chain, DK_AUTOGRAD, on_autograd),
	DK_IMPL_BOXED(chain, DK_TRACER, on_any),
};

/* Serves any operator that has a parameter trace. */
static int on_all(struct dk_call *c, void *args)
{
	const struct dk_op_decl *decl = dk_call_described(c);
	struct dk_value trace;

	CHECK_OK(dk_arg_get(decl, args, dk_arg_find(decl, "trace"), &trace));
	*(int *)trace.ptr = *(int *)trace.ptr * 10 + 3;
	return dk_redispatch_boxed(c, dk_call_below(c), args);
}

static u64 seen_ks;

static int report_device(struct dk_call *c, struct dk_obj *x, int *trace)
{
	seen_ks = c->ks.bits;
	*trace = dk_call_device(c);
	return 0;
}

static void setup_in(unsigned int flags, const struct dk_impl *table, unsigned int n)
{
	t_open("v1", flags);
	t_join(&prov, "boxed");
	local = t_no_local();
	CHECK_OK(dk_op_define(&prov, &chain_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, table, n, &t_why));
	op = t_get("boxed::chain");
}

static void setup(const struct dk_impl *table, unsigned int n)
{
	setup_in(0, table, n);
}

/* SEMANTICS 11.3: functions with and without the keyset, boxed and unboxed. */
static void all_types_in_one_chain(void)
{
	static const struct dk_impl turned[] = {
		DK_IMPL_BOXED(chain, DK_AUTOGRAD, on_autograd_boxed),
		DK_IMPL(chain, DK_TRACER, on_any_typed),
	};
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER) |
				DK_KEY_BITS(DK_AUTOGRAD_CPU));
	int trace = 0;
	struct chain_args args = { &x, &trace };

	setup(impls, ARRAY_SIZE(impls));
	CHECK_OK(chain_at(op, &local, &x, &trace));
	CHECK_INT(trace, 321);
	trace = 0;
	CHECK_OK(dk_call_boxed(op, &chain_op, &local, &args));
	CHECK_INT(trace, 321);
	CHECK_OK(dk_impls_register(&prov, turned, ARRAY_SIZE(turned), &t_why));
	trace = 0;
	CHECK_OK(chain_at(op, &local, &x, &trace));
	CHECK_INT(trace, 321);
	trace = 0;
	CHECK_OK(dk_call_boxed(op, &chain_op, &local, &args));
	CHECK_INT(trace, 321);
}

/*
 * dk_call_below() always contains PythonDispatcher, even in a function at this key, as in PyTorch.
 */
static int on_dispatcher(struct dk_call *c, struct dk_obj *x, int *trace)
{
	struct dk_keyset below = dk_call_below(c);

	*trace = *trace * 10 + 4;
	if (*trace < 44)
		return chain_redispatch(c, below, x, trace);
	below = dk_keyset_remove(NULL, below, DK_PYTHON_DISPATCHER);
	return chain_redispatch(c, below, x, trace);
}

static void below_python_dispatcher(void)
{
	static const struct dk_impl table[] = {
		DK_IMPL(chain, DK_PYTHON_DISPATCHER, on_dispatcher),
		DK_IMPL_PLAIN(chain, DK_CPU, on_cpu),
	};
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_PYTHON_DISPATCHER));
	int trace = 0;

	setup(table, ARRAY_SIZE(table));
	CHECK_OK(chain_at(op, &local, &x, &trace));
	CHECK_INT(trace, 441);
}

static void boxed_calls_nest(void)
{
	static const struct dk_impl deep[] = { DK_IMPL(chain, DK_CPU, deeper) };
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU));
	int depth = 0;

	setup(deep, 1);
	CHECK_OK(chain_at(op, &local, &x, &depth));
	CHECK_INT(depth, 16);
}

/* A function of one operator does not serve the arguments of another operator. */
static void adapter_checks_the_signature(void)
{
	static const struct dk_impl fallback =
		DK_FALLBACK(DK_TRACER, on_autograd_boxed);
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_TRACER));
	struct dk_op *other;

	setup(impls, 1);
	CHECK_OK(dk_op_define(&prov, &alien_op, 0, &t_why));
	CHECK_OK(dk_fallback_register(&prov, &fallback, &t_why));
	other = dk_op_get(t_reg, "boxed::alien");
	/* refuses: dk_call_takes EPROTOTYPE SIGNATURE */
	CHECK_INT(alien_at(other, &local, &x, 0), -EPROTOTYPE);
	dk_op_put(other);
}

/* SEMANTICS 8.3: the function at exactly this key serves, or the fallback of the key's entry. */
static void call_for_one_key(void)
{
	static const struct dk_impl fallback = DK_FALLBACK(DK_PYTHON, on_any);
	static const struct dk_impl none = DK_FALLTHROUGH(DK_CONJUGATE);
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU));
	int trace = 0;
	struct chain_args args = { &x, &trace };

	setup(impls, ARRAY_SIZE(impls));
	CHECK_OK(dk_fallback_register(&prov, &fallback, &t_why));
	CHECK_OK(dk_fallback_register(&prov, &none, &t_why));
	CHECK_OK(chain_for_key(op, &local, DK_CPU, &x, &trace));
	CHECK_INT(trace, 1);
	/*
	 * a function at an alias key serves the alias key itself, and none of the keys it stands
	 * for
	 */
	trace = 0;
	CHECK_OK(chain_for_key(op, &local, DK_AUTOGRAD, &x, &trace));
	CHECK_INT(trace, 21);
	CHECK_INT(chain_for_key(op, &local, DK_AUTOGRAD_CPU, &x, &trace), -ENOSYS);
	trace = 0;
	CHECK_OK(dk_call_boxed_key(op, &chain_op, &local, DK_CPU, &args));
	CHECK_INT(trace, 1);
	/* the call has the keyset of the arguments: AutogradCPU is its highest key, CPU the next */
	trace = 0;
	CHECK_OK(dk_call_boxed_key(op, &chain_op, &local, DK_PYTHON, &args));
	CHECK_INT(trace, 31);
	/* refuses: dk_call_enter_key ENOSYS MISSING */
	CHECK_INT(chain_for_key(op, &local, DK_CONJUGATE, &x, &trace), -ENOSYS);
	CHECK_INT(chain_for_key(op, &local, DK_DENSE, &x, &trace), -ENOSYS);
	CHECK_INT(chain_for_key(op, &local, DK_UNDEFINED, &x, &trace), -ENOSYS);
	/* refuses: dk_call_boxed_key ENOSYS MISSING */
	CHECK_INT(dk_call_boxed_key(op, &chain_op, &local, DK_CUDA, &args), -ENOSYS);
	/* refuses: dk_call_enter_key EINVAL BAD_KEY */
	CHECK_INT(chain_for_key(op, &local, 9999, &x, &trace), -EINVAL);
	/* refuses: dk_call_boxed_key EINVAL BAD_KEY */
	CHECK_INT(dk_call_boxed_key(op, &chain_op, &local, 9999, &args), -EINVAL);
	CHECK_OK(dk_op_undefine(&prov, "boxed::chain", &t_why));
	/* refuses: dk_call_enter_key ENOENT NOT_DEFINED */
	CHECK_INT(chain_for_key(op, &local, DK_CPU, &x, &trace), -ENOENT);
	/* refuses: dk_call_boxed_key ENOENT NOT_DEFINED */
	CHECK_INT(dk_call_boxed_key(op, &chain_op, &local, DK_CPU, &args), -ENOENT);
	/* refuses: dk_call_boxed ENOENT NOT_DEFINED */
	CHECK_INT(dk_call_boxed(op, &chain_op, &local, &args), -ENOENT);
}

/*
 * A call by keyset is a redispatch from outside of a call: it uses only the given keyset, and the
 * device of the objects.
 */
static void by_keyset_in(unsigned int flags)
{
	static const struct dk_impl table[] = {
		DK_IMPL(chain, DK_CPU, report_device),
		DK_IMPL_BOXED(chain, DK_TRACER, on_any),
	};
	static const struct dk_impl card[] = { DK_IMPL(chain, DK_DENSE, report_device) };
	const struct dk_keyset cuda = DK_SET(DK_CUDA), cpu = DK_SET(DK_CPU);
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER)), y;
	struct dk_local traced = t_no_local();
	int device = -1;
	u32 number;

	setup_in(flags, table, ARRAY_SIZE(table));
	CHECK_OK(dk_device_register(&prov, DK_BACKEND_CUDA, "card", NULL, card, 1,
				    &number, &t_why));
	y = dk_obj_on(DK_BACKEND_CUDA, number);
	/* the set contains neither the keys of x nor those that local state includes */
	dk_local_include(&traced, DK_SET(DK_TRACER));
	CHECK_OK(chain_by_keyset(op, &traced, cpu, &x, &device));
	CHECK_INT(seen_ks, cpu.bits);
	CHECK_INT(device, 0);
	CHECK_OK(chain_by_keyset(op, &local, dk_keyset_or(cuda, DK_SET(DK_TRACER)), &y,
				 &device));
	CHECK_INT(seen_ks, cuda.bits);
	CHECK_INT(device, number);
	/* refuses: dk_call_enter_keyset ENOSYS MISSING */
	CHECK_INT(chain_by_keyset(op, &local, DK_SET(DK_META), &x, &device), -ENOSYS);
	CHECK_INT(chain_by_keyset(op, &local, cuda, &x, &device), -ENOSYS);
	t_close();
}

static void redispatch_from_outside(void)
{
	by_keyset_in(0);
	by_keyset_in(DK_REGISTRY_FORCE_RESOLVE);
}

/*
 * SEMANTICS 8.3: callBoxedForDispatchKey() takes the fallback of the key's table entry. The entry
 * of a building block is that of its first backend.
 */
static void one_building_block(unsigned int flags)
{
	static const struct dk_impl fallbacks[] = {
		DK_FALLBACK(DK_CPU, on_all), DK_FALLBACK(DK_SPARSE_CPU, on_all),
		DK_FALLBACK(DK_QUANTIZED_CUDA, on_all),
	};
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU));
	int trace = 0;
	struct chain_args args = { &x, &trace };
	struct dk_impl own = impls[0];
	unsigned int i;

	setup_in(flags, impls + 1, 1);
	for (i = 0; i < ARRAY_SIZE(fallbacks); i++)
		CHECK_OK(dk_fallback_register(&prov, &fallbacks[i], &t_why));
	/* the fallback runs, and its redispatch finds no function */
	CHECK_INT(dk_call_boxed_key(op, &chain_op, &local, DK_DENSE, &args), -ENOSYS);
	CHECK_INT(trace, 3);
	CHECK_INT(chain_for_key(op, &local, DK_SPARSE, &x, &trace), -ENOSYS);
	CHECK_INT(trace, 33);
	/* the first backend is CPU, so the fallback for QuantizedCUDA is not used */
	CHECK_INT(dk_call_boxed_key(op, &chain_op, &local, DK_QUANTIZED, &args), -ENOSYS);
	CHECK_INT(trace, 33);
	/* functions at the building block itself come first */
	own.key = DK_DENSE;
	own.flags |= DK_IMPL_F_BLOCK;
	CHECK_OK(dk_impls_register(&prov, &own, 1, &t_why));
	trace = 0;
	CHECK_OK(dk_call_boxed_key(op, &chain_op, &local, DK_DENSE, &args));
	CHECK_INT(trace, 1);
	t_close();
}

static void call_for_a_building_block(void)
{
	one_building_block(0);
	one_building_block(DK_REGISTRY_FORCE_RESOLVE);
}

/* At a key, functions of a device precede others, with tables and without. */
static void one_key_of_a_device(unsigned int flags)
{
	static const struct dk_impl table[] = {
		DK_IMPL(chain, DK_CPU, report_device),
		DK_IMPL_FALLTHROUGH(chain, DK_TRACER),
	};
	static const struct dk_impl card[] = { DK_IMPL(chain, DK_DENSE, report_device) };
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER)), y;
	int device = -1;
	struct chain_args args = { &y, &device };
	u32 number;

	setup_in(flags, table, ARRAY_SIZE(table));
	CHECK_OK(dk_device_register(&prov, DK_BACKEND_CUDA, "card", NULL, card, 1,
				    &number, &t_why));
	y = dk_obj_on(DK_BACKEND_CUDA, number);
	CHECK_OK(chain_for_key(op, &local, DK_CPU, &x, &device));
	CHECK_INT(device, 0);
	/* keys that fall through are not in the keyset */
	CHECK_INT(seen_ks, DK_KEY_BITS(DK_CPU));
	CHECK_OK(chain_for_key(op, &local, DK_CUDA, &y, &device));
	CHECK_INT(device, number);
	device = -1;
	CHECK_OK(dk_call_boxed_key(op, &chain_op, &local, DK_CUDA, &args));
	CHECK_INT(device, number);
	/* the CPU's function gets no device */
	CHECK_OK(chain_for_key(op, &local, DK_CPU, &y, &device));
	CHECK_INT(device, 0);
	CHECK_INT(chain_for_key(op, &local, DK_CUDA, &x, &device), -ENOSYS);
	CHECK_OK(dk_device_set_online(t_reg, number, 0, &t_why));
	CHECK_INT(chain_for_key(op, &local, DK_CUDA, &y, &device), -ENODEV);
	y.device = 0;
	CHECK_INT(chain_for_key(op, &local, DK_CUDA, &y, &device), -ENOSYS);
	t_close();
}

static void call_for_one_key_of_a_device(void)
{
	one_key_of_a_device(0);
	one_key_of_a_device(DK_REGISTRY_FORCE_RESOLVE);
}

static void atomic_boxed_functions(void)
{
	static const struct dk_impl table[] = {
		DK_IMPL_PLAIN_ATOMIC(awake, DK_CPU, on_cpu),
		DK_IMPL_BOXED_ATOMIC(awake, DK_TRACER, on_all),
	};
	static const struct dk_impl fallback = DK_FALLBACK_ATOMIC(DK_PYTHON, on_all);
	static const struct dk_impl slow[] = {
		DK_IMPL_PLAIN(awake, DK_CPU, on_cpu),
		DK_IMPL_BOXED(awake, DK_CPU, on_all),
	};
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER) |
				DK_KEY_BITS(DK_PYTHON));
	int trace = 0;
	struct awake_args args = { &x, &trace };
	struct dk_op *atomic;
	unsigned int i;

	setup(impls, 1);
	CHECK_OK(dk_op_define(&prov, &awake_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&prov, table, ARRAY_SIZE(table), &t_why));
	CHECK_OK(dk_fallback_register(&prov, &fallback, &t_why));
	atomic = dk_op_get(t_reg, "boxed::awake");
	CHECK_OK(awake_at(atomic, &local, &x, &trace));
	CHECK_INT(trace, 331);
	trace = 0;
	CHECK_OK(dk_call_boxed(atomic, &awake_op, &local, &args));
	CHECK_INT(trace, 331);
	for (i = 0; i < ARRAY_SIZE(slow); i++) {
		CHECK_INT(dk_impls_register(&prov, slow + i, 1, &t_why), -EINVAL);
		CHECK_INT(t_why.reason, DK_WHY_NOT_ATOMIC);
	}
	dk_op_put(atomic);
}

/*
 * A plain function cannot also be boxed, a fallthrough or a fallback. Boxed calls reach it
 * through the member unbox_plain of its declaration, which must be set.
 */
static void plain_functions_are_refused(void)
{
	struct dk_impl impl = DK_IMPL_PLAIN(chain, DK_CUDA, on_cpu), bad = impl;
	struct dk_op_decl by_hand = chain_op;

	setup(impls, 1);
	bad.flags |= DK_IMPL_F_BOXED;
	CHECK_INT(dk_impls_register(&prov, &bad, 1, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_FLAGS);
	bad.key = DK_TRACER;
	bad.op = NULL;
	CHECK_INT(dk_fallback_register(&prov, &bad, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_FLAGS);
	bad.flags = DK_IMPL_F_PLAIN;
	CHECK_INT(dk_fallback_register(&prov, &bad, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_FALLBACK_FUNCTION);
	bad = impl;
	bad.flags |= DK_IMPL_F_FALLTHROUGH;
	bad.fn = NULL;
	CHECK_INT(dk_impls_register(&prov, &bad, 1, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_FLAGS);
	by_hand.unbox_plain = NULL;
	bad = impl;
	bad.op = &by_hand;
	CHECK_INT(dk_impls_register(&prov, &bad, 1, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_FLAGS);
	CHECK_OK(dk_impls_register(&prov, &impl, 1, &t_why));
	CHECK_OK(dk_impls_unregister(&prov, &impl, &t_why));
}

/* Checks that unboxed calls, boxed calls, and redispatches inside a function fail with @err. */
static void check_nothing_is_called(u64 bits, int err)
{
	struct dk_obj x = t_obj(bits), traced = t_obj(bits | DK_KEY_BITS(DK_TRACER));
	int trace = 0;
	struct chain_args args = { &x, &trace };

	CHECK_INT(chain_at(op, &local, &x, &trace), err);
	CHECK_INT(dk_call_boxed(op, &chain_op, &local, &args), err);
	CHECK_INT(trace, 0);
	args.x = &traced;
	CHECK_INT(chain_at(op, &local, &traced, &trace), err);
	CHECK_INT(trace, 3);
	CHECK_INT(dk_call_boxed(op, &chain_op, &local, &args), err);
	CHECK_INT(trace, 33);
}

/* SEMANTICS 7.6: an entry without a function is never called, whatever the path. */
static void entries_without_a_function(void)
{
	static const struct dk_impl both[] = {
		DK_IMPL_PLAIN(chain, DK_COMPOSITE_IMPLICIT_AUTOGRAD, on_cpu),
		DK_IMPL_PLAIN(chain, DK_SPARSE_CPU, on_cpu),
		DK_IMPL_BOXED(chain, DK_TRACER, on_any),
	};
	static const struct dk_impl none[] = {
		DK_IMPL_FALLTHROUGH(chain, DK_CPU),
		DK_IMPL_BOXED(chain, DK_TRACER, on_any),
	};

	setup(both, ARRAY_SIZE(both));
	check_nothing_is_called(DK_KEY_BITS(DK_AUTOGRAD_OTHER), -ENOTUNIQ);
	t_close();
	setup(none, ARRAY_SIZE(none));
	/* CPU falls through, with no key below it, and CUDA has no function */
	check_nothing_is_called(DK_KEY_BITS(DK_CPU), -ENOSYS);
	check_nothing_is_called(DK_KEY_BITS(DK_CUDA), -ENOSYS);
	t_close();
}

/* A declaration made by hand may lack @pack. */
static void declaration_that_cannot_pack(void)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER));
	const struct dk__entry *pack = chain_op.pack;
	int trace = 0;

	setup(impls, ARRAY_SIZE(impls));
	chain_op.pack = NULL;
	CHECK_OK(chain_at(op, &local, &x, &trace));
	CHECK_INT(trace, 31);
	chain_op.pack = pack;
	CHECK_OK(chain_at(op, &local, &x, &trace));
	CHECK_INT(trace, 3131);
	t_close();
}

T_SUITE(boxed,
	T(all_types_in_one_chain),
	T(below_python_dispatcher),
	T(boxed_calls_nest),
	T(adapter_checks_the_signature),
	T(call_for_one_key),
	T(call_for_one_key_of_a_device),
	T(redispatch_from_outside),
	T(call_for_a_building_block),
	T(atomic_boxed_functions),
	T(plain_functions_are_refused),
	T(entries_without_a_function),
	T(declaration_that_cannot_pack));
