// SPDX-License-Identifier: GPL-2.0-only
/* Defines, registers and calls on the default registry, as a new user would. */
#include "test.h"

DK_OP(factorial, "basics::factorial",
	(struct dk_obj *x, u32 n, u64 *result), (x, n, result), (x));
DK_OP(traced, "basics::traced", (struct dk_obj *x, int *trace), (x, trace), (x));
DK_OP(boxed, "basics::boxed", (struct dk_obj *x, int *n), (x, n), (x));
DK_OP(through, "basics::through", (struct dk_obj *x, int *served_by), (x, served_by), (x));
DK_OP(missing, "basics::missing", (struct dk_obj *x, int *served_by), (x, served_by), (x));
DK_OP(undefined, "basics::undefined", (struct dk_obj *x, int *served_by), (x, served_by), (x));
DK_OP(ambiguous, "basics::ambiguous", (struct dk_obj *x, int *served_by), (x, served_by), (x));
DK_OP(fails, "basics::fails", (struct dk_obj *x, int error), (x, error), (x));
DK_OP(prompt, "basics::prompt", (struct dk_obj *x, int *served_by), (x, served_by), (x));
DK_OP(quick, "basics::quick", (struct dk_obj *x, int *served_by), (x, served_by), (x));

/* Two declarations with different types for one operator. */
DK_OP(agreed, "basics::agreed", (struct dk_obj *x, int *served_by), (x, served_by), (x));
DK_OP(disagreed, "basics::agreed", (struct dk_obj *x, long *served_by), (x, served_by), (x));

static struct dk_provider me;

static void setup(void)
{
	static struct dk_provider provider = DK_PROVIDER("first");

	me = provider;
	t_register(&me);
}

static int factorial_cpu(struct dk_call *c, struct dk_obj *x, u32 n, u64 *result)
{
	*result = 1;
	while (n > 1)
		*result *= n--;
	return 0;
}

static int serve_1(struct dk_call *c, struct dk_obj *x, int *served_by)
{
	*served_by = 1;
	return 0;
}

static int serve_2(struct dk_call *c, struct dk_obj *x, int *served_by)
{
	*served_by = 2;
	return 0;
}

/* Calls one function with a CPU object. Nothing else is set up. */
static void one_cpu_function(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(factorial, DK_CPU, factorial_cpu),
	};
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	u64 result = 0;

	setup();
	CHECK_OK(dk_op_define(&me, &factorial_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, impls, ARRAY_SIZE(impls), &t_why));
	CHECK_OK(factorial(&x, 5, &result));
	CHECK_INT(result, 120);
	CHECK_OK(factorial_in(&dk_local_default, &x, 20, &result));
	CHECK_INT(result, 2432902008176640000);
}

/* The function is registered before the operator is defined. */
static void function_before_definition(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(factorial, DK_CPU, factorial_cpu),
	};
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	u64 result = 0;

	setup();
	CHECK_OK(dk_impls_register(&me, impls, ARRAY_SIZE(impls), &t_why));
	CHECK_INT(factorial(&x, 5, &result), -ENOENT);
	CHECK_OK(dk_op_define(&me, &factorial_op, 0, &t_why));
	CHECK_OK(factorial(&x, 5, &result));
	CHECK_INT(result, 120);
	CHECK_OK(dk_op_undefine(&me, "basics::factorial", &t_why));
	CHECK_INT(factorial(&x, 5, &result), -ENOENT);
	CHECK_OK(dk_op_define(&me, &factorial_op, 0, &t_why));
	CHECK_OK(factorial(&x, 4, &result));
	CHECK_INT(result, 24);
	CHECK_OK(dk_impls_unregister(&me, impls, &t_why));
	CHECK_INT(factorial(&x, 5, &result), -ENOSYS);
	t_close();
	CHECK_INT(factorial(&x, 5, &result), -ENOENT);
}

static int traced_cpu(struct dk_call *c, struct dk_obj *x, int *trace)
{
	CHECK_INT(dk_call_key(c), DK_CPU);
	*trace = *trace * 10 + 1;
	return 0;
}

static int traced_autograd(struct dk_call *c, struct dk_obj *x, int *trace)
{
	CHECK_INT(dk_call_key(c), DK_AUTOGRAD_CPU);
	*trace = *trace * 10 + 2;
	return traced_below(c, x, trace);
}

static int traced_tracer(struct dk_call *c, struct dk_obj *x, int *trace)
{
	CHECK_INT(dk_call_key(c), DK_TRACER);
	*trace = *trace * 10 + 3;
	/* redispatch with another keyset, which skips Autograd */
	if (*trace > 100)
		return traced_redispatch(c, DK_SET(DK_CPU), x, trace);
	return traced_below(c, x, trace);
}

/* Tracer and Autograd redispatch; the local state includes Tracer. */
static void redispatch_through_tracer(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(traced, DK_CPU, traced_cpu),
		DK_IMPL(traced, DK_AUTOGRAD, traced_autograd),
		DK_IMPL(traced, DK_TRACER, traced_tracer),
	};
	struct dk_obj plain = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_obj grad = t_obj(DK_KEY_BITS(DK_CPU) |
				   DK_KEY_BITS(DK_AUTOGRAD_CPU));
	struct dk_local tracing = dk_local_default, no_grad = dk_local_default;
	int trace = 0;

	dk_local_include(&tracing, DK_SET(DK_TRACER));
	dk_local_exclude(&no_grad, DK_SET(DK_AUTOGRAD_FUNCTIONALITY));
	setup();
	CHECK_OK(dk_op_define(&me, &traced_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, impls, ARRAY_SIZE(impls), &t_why));
	CHECK_OK(traced(&plain, &trace));
	CHECK_INT(trace, 1);
	trace = 0;
	CHECK_OK(traced(&grad, &trace));
	CHECK_INT(trace, 21);
	trace = 0;
	CHECK_OK(traced_in(&no_grad, &grad, &trace));
	CHECK_INT(trace, 1);
	trace = 0;
	CHECK_OK(traced_in(&tracing, &grad, &trace));
	CHECK_INT(trace, 321);
	trace = 10;
	CHECK_OK(traced_in(&tracing, &grad, &trace));
	CHECK_INT(trace, 1031);
	trace = 0;
	CHECK_OK(traced_in(&tracing, &plain, &trace));
	CHECK_INT(trace, 31);
	CHECK_INT(dk_local_included(&dk_local_default).bits, DK_DEFAULT_INCLUDED);
}

static int boxed_cpu(struct dk_call *c, struct dk_obj *x, int *n)
{
	*n += 1;
	return 0;
}

/* A fallback for Tracer: adds 10, and calls the next function. */
static int boxed_tracer(struct dk_call *c, void *args)
{
	struct boxed_args *a = args;

	CHECK_STR(dk_call_decl(c)->name, "basics::boxed");
	*a->n += 10;
	return dk_redispatch_boxed(c, dk_call_below(c), args);
}

static void boxed_fallback(void)
{
	static const struct dk_impl impls[] = { DK_IMPL(boxed, DK_CPU, boxed_cpu) };
	static const struct dk_impl fallback = DK_FALLBACK(DK_TRACER, boxed_tracer);
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER));
	int n = 0;

	setup();
	CHECK_OK(dk_op_define(&me, &boxed_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, impls, 1, &t_why));
	CHECK_INT(boxed(&x, &n), -ENOSYS);
	CHECK_OK(dk_fallback_register(&me, &fallback, &t_why));
	CHECK_OK(boxed(&x, &n));
	CHECK_INT(n, 11);
	CHECK_OK(dk_impls_unregister(&me, &fallback, &t_why));
	CHECK_INT(boxed(&x, &n), -ENOSYS);
}

static void fallthrough_passes_on(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(through, DK_CPU, serve_1),
		DK_IMPL_FALLTHROUGH(through, DK_TRACER),
	};
	static const struct dk_impl fallback = DK_FALLTHROUGH(DK_CONJUGATE);
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER));
	struct dk_obj y = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_CONJUGATE));
	int served_by = 0;

	setup();
	CHECK_OK(dk_op_define(&me, &through_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, impls, ARRAY_SIZE(impls), &t_why));
	CHECK_OK(through(&x, &served_by));
	CHECK_INT(served_by, 1);
	CHECK_INT(through(&y, &served_by), -ENOSYS);
	CHECK_OK(dk_fallback_register(&me, &fallback, &t_why));
	CHECK_OK(through(&y, &served_by));
	t_close();
	CHECK_INT(through(&y, &served_by), -ENOENT);
}

static int route(const char *name, const struct dk_obj *x)
{
	struct dk_op *op = dk_op_get(NULL, name);
	int err;

	if (!CHECK(op))
		return 1;
	memset(&t_answer, 0, sizeof(t_answer));
	t_answer.size = sizeof(t_answer);
	err = dk_op_route(op, DK_KEYSET(DK_DEFAULT_INCLUDED),
			  DK_KEYSET(DK_DEFAULT_EXCLUDED), &x, 1, &t_answer);
	dk_op_put(op);
	return err;
}

static void unserved_call(void)
{
	static const struct dk_impl impls[] = { DK_IMPL(missing, DK_CUDA, serve_1) };
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_obj cuda = dk_obj_on(DK_BACKEND_CUDA, 0);
	int served_by = 0;

	setup();
	CHECK_OK(dk_op_define(&me, &missing_op, 0, &t_why));
	CHECK_INT(missing(&cpu, &served_by), -ENOSYS);
	CHECK_OK(dk_impls_register(&me, impls, 1, &t_why));
	CHECK_INT(missing(&cpu, &served_by), -ENOSYS);
	CHECK_INT(route("basics::missing", &cpu), -ENOSYS);
	CHECK_INT(t_answer.entry.provenance, DK_PROV_MISSING);
	CHECK_OK(missing(&cuda, &served_by));
	CHECK_INT(missing(NULL, &served_by), -ENOSYS);
}

static void undefined_operator(void)
{
	static const struct dk_impl impls[] = { DK_IMPL(undefined, DK_CPU, serve_1) };
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	int served_by = 0;

	setup();
	CHECK_INT(undefined(&cpu, &served_by), -ENOENT);
	CHECK(!dk_op_get(NULL, "basics::undefined"));
	CHECK_OK(dk_impls_register(&me, impls, 1, &t_why));
	CHECK_INT(undefined(&cpu, &served_by), -ENOENT);
	CHECK_INT(route("basics::undefined", &cpu), -ENOENT);
	CHECK_INT(served_by, 0);
}

static void autogradother_is_ambiguous(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(ambiguous, DK_COMPOSITE_IMPLICIT_AUTOGRAD, serve_1),
		DK_IMPL(ambiguous, DK_SPARSE_CPU, serve_2),
	};
	struct dk_obj sparse = t_obj(DK_KEY_BITS(DK_SPARSE_CPU));
	struct dk_obj grad = t_obj(DK_KEY_BITS(DK_SPARSE_CPU) |
				   DK_KEY_BITS(DK_AUTOGRAD_OTHER));
	int served_by = 0;

	setup();
	CHECK_OK(dk_op_define(&me, &ambiguous_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, impls, ARRAY_SIZE(impls), &t_why));
	CHECK_INT(ambiguous(&grad, &served_by), -ENOTUNIQ);
	CHECK_INT(route("basics::ambiguous", &grad), -ENOTUNIQ);
	CHECK_INT(t_answer.entry.provenance, DK_PROV_AMBIGUOUS);
	CHECK_OK(ambiguous(&sparse, &served_by));
	CHECK_INT(served_by, 2);
}

static int fails_cpu(struct dk_call *c, struct dk_obj *x, int error)
{
	return error;
}

/* The function's own error is returned; the route reports that there is a function. */
static void function_errors_are_returned(void)
{
	static const struct dk_impl impls[] = { DK_IMPL(fails, DK_CPU, fails_cpu) };
	static const int errors[] = { -EIO, -ENOSYS, -ENODEV, -ENOENT, -EXDEV, 0 };
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_obj cuda = dk_obj_on(DK_BACKEND_CUDA, 0);
	unsigned int i;

	setup();
	CHECK_OK(dk_op_define(&me, &fails_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, impls, 1, &t_why));
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		CHECK_INT(fails(&cpu, errors[i]), errors[i]);
		CHECK_OK(route("basics::fails", &cpu));
		CHECK_STR(t_answer.entry.label, "fails_cpu");
		CHECK_STR(t_answer.entry.provider, "first");
		CHECK_INT(fails(&cuda, errors[i]), -ENOSYS);
		CHECK_INT(route("basics::fails", &cuda), -ENOSYS);
	}
}

static int agreed_cpu(struct dk_call *c, struct dk_obj *x, int *served_by)
{
	*served_by = 1;
	return 0;
}

static int disagreed_cpu(struct dk_call *c, struct dk_obj *x, long *served_by)
{
	*served_by = 2;
	return 0;
}

/* If two types differ, definitions, registrations and calls fail with -EPROTOTYPE. */
static void signatures_differ(void)
{
	static const struct dk_impl good[] = { DK_IMPL(agreed, DK_CPU, agreed_cpu) };
	static const struct dk_impl bad[] = {
		DK_IMPL(disagreed, DK_CPU, disagreed_cpu),
	};
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_op_decl spaced = agreed_op;
	struct dk_op *op;
	long other = 0;
	int served_by = 0;

	setup();
	CHECK_OK(dk_impls_register(&me, good, 1, &t_why));
	CHECK_INT(dk_op_define(&me, &disagreed_op, 0, &t_why), -EPROTOTYPE);
	CHECK_INT(t_why.reason, DK_WHY_SIGNATURE);
	CHECK_STR(t_why.name, "basics::agreed: (struct dk_obj *x, int *served_by), agreed_cpu "
			      "(first) at CPU -> (struct dk_obj *x, long *served_by), first");
	/* white space does not matter */
	spaced.sig = "(struct  dk_obj*x,\tint *served_by )";
	CHECK_OK(dk_op_define(&me, &spaced, 0, &t_why));
	CHECK_OK(dk_op_undefine(&me, spaced.name, &t_why));
	CHECK_OK(dk_op_define(&me, &agreed_op, 0, &t_why));
	CHECK_INT(dk_impls_register(&me, bad, 1, &t_why), -EPROTOTYPE);
	CHECK_INT(t_why.reason, DK_WHY_SIGNATURE);
	CHECK_INT(disagreed(&cpu, &other), -EPROTOTYPE);
	CHECK_OK(agreed(&cpu, &served_by));
	CHECK_INT(served_by, 1);
	CHECK_INT(other, 0);
	op = dk_op_get(NULL, "basics::agreed");
	CHECK_OK(agreed_at(op, &dk_local_default, &cpu, &served_by));
	CHECK_INT(disagreed_at(op, &dk_local_default, &cpu, &other), -EPROTOTYPE);
	dk_op_put(op);
	CHECK_INT(other, 0);
}

static int quick_cpu(struct dk_call *c, struct dk_obj *x, int *served_by)
{
	*served_by = 3;
	return 0;
}

static int quick_tracer(struct dk_call *c, struct dk_obj *x, int *served_by)
{
	return quick_below(c, x, served_by);
}

/* An atomic operator; its functions must be declared atomic. */
static void atomic_operator(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL_ATOMIC(quick, DK_CPU, quick_cpu),
		DK_IMPL_ATOMIC(quick, DK_TRACER, quick_tracer),
		DK_IMPL_FALLTHROUGH(quick, DK_CONJUGATE),
	};
	static const struct dk_impl slow[] = { DK_IMPL(quick, DK_CUDA, quick_cpu) };
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER) |
				DK_KEY_BITS(DK_CONJUGATE));
	int served_by = 0;

	t_grow();
	setup();
	CHECK_OK(dk_impls_register(&me, impls, ARRAY_SIZE(impls), &t_why));
	CHECK_OK(dk_impls_register(&me, slow, 1, &t_why));
	CHECK_INT(dk_op_define(&me, &quick_op, DK_OP_ATOMIC, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_NOT_ATOMIC);
	CHECK_OK(dk_impls_unregister(&me, slow, &t_why));
	CHECK_OK(dk_op_define(&me, &quick_op, DK_OP_ATOMIC, &t_why));
	CHECK_INT(dk_impls_register(&me, slow, 1, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_NOT_ATOMIC);
	CHECK_STR(t_why.name, "quick_cpu");
	CHECK_OK(quick(&x, &served_by));
	CHECK_INT(served_by, 3);
	/* while a caller holds an operator, the operator stays atomic */
	CHECK_OK(dk_op_undefine(&me, "basics::quick", &t_why));
	CHECK_INT(dk_op_define(&me, NULL, 0, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_NULL_ARGUMENT);
	/* refuses: dk_op_define EBUSY CLASS */
	CHECK_INT(dk_op_define(&me, &quick_op, 0, &t_why), -EBUSY);
	CHECK_INT(t_why.reason, DK_WHY_CLASS);
	CHECK_STR(t_why.name, "basics::quick");
	/* the same functions serve another operator with this name, a sleepable one */
	CHECK_OK(dk_impls_unregister(&me, impls, &t_why));
	CHECK_INT(quick(&x, &served_by), -ENOENT);
	CHECK_OK(dk_op_define(&me, &quick_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, impls, ARRAY_SIZE(impls), &t_why));
	CHECK_OK(dk_impls_register(&me, slow, 1, &t_why));
	served_by = 0;
	CHECK_OK(quick(&x, &served_by));
	CHECK_INT(served_by, 3);
}

/* A fallback for any operator: calls the next function. */
static int passes_on(struct dk_call *c, void *args)
{
	return dk_redispatch_boxed(c, dk_call_below(c), args);
}

/* A fallback that may sleep does not serve an atomic operator. */
static void sleepable_fallback_skips_atomic_operator(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL_ATOMIC(prompt, DK_CPU, quick_cpu),
	};
	static const struct dk_impl sleeps = DK_FALLBACK(DK_TRACER, passes_on);
	static const struct dk_impl atomic = DK_FALLBACK_ATOMIC(DK_TRACER, passes_on);
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER));
	int served_by = 0;

	setup();
	CHECK_OK(dk_op_define(&me, &prompt_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&me, impls, 1, &t_why));
	CHECK_OK(dk_fallback_register(&me, &sleeps, &t_why));
	CHECK_INT(prompt(&x, &served_by), -ENOSYS);
	CHECK_OK(dk_impls_unregister(&me, &sleeps, &t_why));
	CHECK_OK(dk_fallback_register(&me, &atomic, &t_why));
	CHECK_OK(prompt(&x, &served_by));
	CHECK_INT(served_by, 3);
}

/* The builtin fallbacks are fallthroughs; a provider's fallback replaces one. */
static void builtin_fallbacks(void)
{
	static const char *const names[] = {
		"BackendSelect", "ADInplaceOrView", "AutogradOther",
		"AutogradNestedTensor", "AutogradCPU", "AutogradHIP",
		"AutogradMeta", "AutogradPrivateUse3", "AutocastCPU",
		"AutocastCUDA", "AutocastPrivateUse1", "FuncTorchVmapMode",
		"VmapMode",
	};
	static const struct dk_impl mine = DK_FALLBACK(DK_VMAP_MODE, boxed_tracer);
	static struct dk_op_decl decl;
	static struct dk_impl impl;
	static struct dk_provider prov;
	struct dk_op *op;
	unsigned int i, key;

	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&prov, "builtins");
	decl = t_decl("basics::builtins");
	impl = t_impl(&decl, DK_CPU, 1);
	CHECK_OK(dk_op_define(&prov, &decl, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, &impl, 1, &t_why));
	op = dk_op_get(t_reg, "basics::builtins");
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU));

		CHECK_OK(dk_key_parse(NULL, names[i], 0, &key, &t_why));
		CHECK_STR(t_serves(op, 0, key), "fallthrough");
		CHECK_INT(t_rule(op, 0, key), DK_PROV_FALLBACK);
		x.ks = dk_keyset_or(x.ks, dk_key_set(NULL, key));
		if (dk_key_backend(NULL, key) <= DK_BACKEND_CPU)
			CHECK_STR(t_route_label(op, &x, NULL), "f1");
	}
	CHECK_STR(t_serves(op, 0, DK_TRACER), "missing");
	CHECK_STR(t_serves(op, 0, DK_PYTHON), "missing");
	CHECK_STR(t_serves(op, 0, DK_FUNCTORCH_BATCHED), "missing");
	CHECK_STR(t_serves(op, 0, DK_CUDA), "missing");
	/* a provider's fallback replaces a builtin one, which is restored later */
	CHECK_OK(dk_fallback_register(&prov, &mine, &t_why));
	CHECK_STR(t_serves(op, 0, DK_VMAP_MODE), "boxed_tracer");
	CHECK_OK(dk_impls_unregister(&prov, &mine, &t_why));
	CHECK_STR(t_serves(op, 0, DK_VMAP_MODE), "fallthrough");
	dk_op_put(op);
	t_unregister(&prov);
	t_close();
}

T_SUITE(basics,
	T(one_cpu_function),
	T(function_before_definition),
	T(redispatch_through_tracer),
	T(boxed_fallback),
	T(fallthrough_passes_on),
	T(unserved_call),
	T(undefined_operator),
	T(autogradother_is_ambiguous),
	T(function_errors_are_returned),
	T(signatures_differ),
	T(atomic_operator),
	T(sleepable_fallback_skips_atomic_operator),
	T(builtin_fallbacks));
