// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the signature of an operator. Calls and functions of another type fail. If nothing uses a
 * name any more, the name can be defined with another type.
 */
#include "alloc.h"
#include "test.h"

DK_OP(typed, "signatures::typed", (struct dk_obj *x, int *served_by), (x, served_by), (x));
DK_OP(retyped, "signatures::typed", (struct dk_obj *x, long *served_by), (x, served_by), (x));
DK_OP(first_sig, "signatures::first_sig", (struct dk_obj *x, int *served_by), (x, served_by), (x));
DK_OP(wrong_sig, "signatures::first_sig", (struct dk_obj *x, long *served_by), (x, served_by), (x));
DK_OP(stranger, "signatures::stranger", (struct dk_obj *x, long *served_by), (x, served_by), (x));

static struct dk_provider prov;
static struct dk_op *op;
static unsigned int ran;

static void setup(unsigned int flags)
{
	t_open("v1", flags);
	t_join(&prov, "signatures");
	ran = 0;
}

/* ---- types ----------------------------------------------------------------- */

static int typed_1(struct dk_call *c, struct dk_obj *x, int *served_by)
{
	ran++;
	*served_by = 1;
	return 0;
}

static int typed_2(struct dk_call *c, struct dk_obj *x, int *served_by)
{
	ran++;
	*served_by = 2;
	return 0;
}

static int retyped_3(struct dk_call *c, struct dk_obj *x, long *served_by)
{
	ran++;
	*served_by = 3;
	return 0;
}

static int stranger_4(struct dk_call *c, struct dk_obj *x, long *served_by)
{
	ran++;
	*served_by = 4;
	return 0;
}

static int stranger_err, retyped_err;

/*
 * Calls the redispatch functions that DK_OP() makes for two other operators, which must fail, and
 * then that of its own operator.
 */
static int typed_astray(struct dk_call *c, struct dk_obj *x, int *served_by)
{
	long other = 0;

	stranger_err = stranger_below(c, x, &other);
	retyped_err = retyped_below(c, x, &other);
	CHECK_INT(other, 0);
	CHECK_INT(ran, 0);
	return typed_below(c, x, served_by);
}

/*
 * Regression test: the redispatch function of another operator called a function of this operator.
 */
static void redispatch_through_another_operator(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(typed, DK_AUTOGRAD_CPU, typed_astray),
		DK_IMPL(typed, DK_CPU, typed_1),
		DK_IMPL(stranger, DK_CPU, stranger_4),
	};
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU));
	struct dk_local local = t_no_local();
	unsigned int m;

	for (m = 0; m < T_MODES; m++) {
		int served_by = 0;

		setup(t_modes[m]);
		CHECK_OK(dk_op_define(&prov, &typed_op, 0, &t_why));
		CHECK_OK(dk_op_define(&prov, &stranger_op, 0, &t_why));
		CHECK_OK(dk_impls_register(&prov, impls, 3, &t_why));
		op = t_get(typed_op.name);
		CHECK_OK(typed_at(op, &local, &x, &served_by));
		CHECK_INT(stranger_err, -EPROTOTYPE);
		CHECK_INT(retyped_err, -EPROTOTYPE);
		CHECK_INT(served_by, 1);
		CHECK_INT(ran, 1);
		t_close();
	}
}

/* Uses the default registry, in which a declaration looks up its operator once. */
static void setup_default(void)
{
	static const struct dk_provider unregistered = DK_PROVIDER("signatures");

	prov = unregistered;
	t_register(&prov);
	ran = 0;
}

static struct dk_op_decl untyped;

static void define_untyped(const struct dk_op_decl *decl)
{
	untyped = *decl;
	untyped.sig = NULL;
	untyped.op = NULL;
	CHECK_OK(dk_op_define(&prov, &untyped, 0, &t_why));
}

/* A declaration is bound to the operator before the operator has a signature. */
static void operator_gets_its_signature_later(void)
{
	static const struct dk_impl of_no_type[] = {
		{ .op = &untyped, .fn = (dk_fn_t)typed_1, .label = "typed_1",
		  .key = DK_CUDA, .size = sizeof(struct dk_impl) },
	};
	static const struct dk_impl of_another[] = {
		DK_IMPL(retyped, DK_CPU, retyped_3),
	};
	static const struct dk_impl of_the_first[] = {
		DK_IMPL(typed, DK_CPU, typed_2),
	};
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_obj cuda = dk_obj_on(DK_BACKEND_CUDA, 0);
	long other = 0;
	int served_by = 0;

	t_grow();
	setup_default();
	define_untyped(&typed_op);
	CHECK_INT(typed(&cpu, &served_by), -ENOSYS);
	CHECK_OK(dk_impls_register(&prov, of_no_type, 1, &t_why));
	CHECK_OK(typed(&cuda, &served_by));
	CHECK_INT(served_by, 1);
	CHECK_OK(dk_impls_register(&prov, of_another, 1, &t_why));
	ran = 0;
	CHECK_INT(typed(&cpu, &served_by), -EPROTOTYPE);
	CHECK_INT(typed(&cuda, &served_by), -EPROTOTYPE);
	CHECK_INT(ran, 0);
	CHECK_OK(retyped(&cpu, &other));
	CHECK_INT(other, 3);
	CHECK_INT(dk_impls_register(&prov, of_the_first, 1, &t_why), -EPROTOTYPE);
	CHECK_OK(dk_impls_unregister(&prov, of_another, &t_why));
	CHECK_INT(typed(&cuda, &served_by), -EPROTOTYPE);
	t_close();
}

static u64 hash_in(const struct dk_op_decl *decl)
{
	return decl->sig_mark ^ (uintptr_t)decl->sig;
}

/*
 * The first call with a declaration stores @sig_mark in the declaration. Later calls compare
 * @sig_mark on the fast path. Boxed calls do the same, also with a declaration whose signature is a
 * copy or NULL.
 */
static void boxed_calls_by_name_store_the_mark(void)
{
	static const struct dk_impl impls[] = { DK_IMPL(typed, DK_CPU, typed_1) };
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_op_decl copy, none;
	int served_by = 0;
	struct typed_args args = { &x, &served_by };
	char sig[64];

	t_grow();
	setup_default();
	CHECK_OK(dk_op_define(&prov, &typed_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, impls, 1, &t_why));
	CHECK_OK(typed(&x, &served_by));
	copy = typed_op;
	snprintf(sig, sizeof(sig), "%s", typed_op.sig);
	copy.sig = sig;
	none = typed_op;
	none.sig = NULL;
	none.sig_mark = 0;
	none.op = NULL;
	CHECK_OK(dk_call_boxed(NULL, &copy, &dk_local_default, &args));
	CHECK_OK(dk_call_boxed(NULL, &none, &dk_local_default, &args));
	CHECK(hash_in(&typed_op));
	CHECK_INT(hash_in(&copy), hash_in(&typed_op));
	CHECK_INT(hash_in(&none), hash_in(&typed_op));
	CHECK_INT(ran, 3);
	t_close();
}

/* An operator without a signature accepts any type, but no declaration of another version. */
static void boxed_call_checks_the_version(void)
{
	static struct dk_impl impl;
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_op_decl other;
	int served_by = 0;
	struct typed_args args = { &x, &served_by };

	setup(DK_REGISTRY_BUILTINS);
	define_untyped(&typed_op);
	impl = (struct dk_impl)DK_IMPL(typed, DK_CPU, typed_1);
	impl.op = &untyped;
	CHECK_OK(dk_impls_register(&prov, &impl, 1, &t_why));
	op = t_get(untyped.name);
	other = untyped;
	other.sig_mark = 0;	/* an earlier test may have set it */
	CHECK_OK(dk_call_boxed(op, &other, &dk_local_default, &args));
	other.call_abi++;
	CHECK_INT(dk_call_boxed(op, &other, &dk_local_default, &args), -EPROTOTYPE);
	CHECK_INT(ran, 1);
	t_close();
}

static int enter_by_handle(struct dk_op_decl *decl, struct dk_obj *x)
{
	const struct dk_obj *const objs[] = { x };
	struct dk_local local = t_no_local();
	struct dk_frame c;
	int err = dk_call_enter_op(&c, op, decl, &local, objs, 1);

	if (!err)
		dk_call_leave(&c);
	return err;
}

/*
 * Calls by handle compare types even if the declaration has matched before. The declaration can be
 * a changed copy, or the operator can have a new definition.
 */
static void types_are_compared_by_handle(void)
{
	static const struct dk_impl first[] = { DK_IMPL(typed, DK_CPU, typed_1) };
	static const struct dk_impl second[] = { DK_IMPL(retyped, DK_CPU, retyped_3) };
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_op_decl copy;
	unsigned int m, i;

	for (m = 0; m < T_MODES; m++) {
		setup(t_modes[m]);
		CHECK_OK(dk_op_define(&prov, &typed_op, 0, &t_why));
		CHECK_OK(dk_impls_register(&prov, first, 1, &t_why));
		op = t_get(typed_op.name);
		for (i = 0; i < 3; i++) {
			CHECK_OK(enter_by_handle(&typed_op, &x));
			CHECK_INT(enter_by_handle(&retyped_op, &x), -EPROTOTYPE);
		}
		copy = typed_op;
		CHECK_OK(enter_by_handle(&copy, &x));
		copy.sig = retyped_op.sig;
		CHECK_INT(enter_by_handle(&copy, &x), -EPROTOTYPE);
		CHECK_OK(dk_stats_enable(t_reg, &t_why));
		CHECK_OK(enter_by_handle(&typed_op, &x));
		CHECK_INT(enter_by_handle(&copy, &x), -EPROTOTYPE);
		CHECK_OK(dk_stats_disable(t_reg, &t_why));

		CHECK_OK(dk_impls_withdraw(&prov, first, &t_why));
		CHECK_OK(dk_op_undefine(&prov, typed_op.name, &t_why));
		t_put(op);
		CHECK_OK(dk_op_define(&prov, &retyped_op, 0, &t_why));
		CHECK_OK(dk_impls_register(&prov, second, 1, &t_why));
		op = t_get(retyped_op.name);
		for (i = 0; i < 3; i++) {
			CHECK_INT(enter_by_handle(&typed_op, &x), -EPROTOTYPE);
			CHECK_OK(enter_by_handle(&retyped_op, &x));
		}
		CHECK_OK(enter_by_handle(&copy, &x));
		t_close();
	}
}

static void refused_table_gives_no_signature(void)
{
	static const struct dk_impl good[] = { DK_IMPL(first_sig, DK_CPU, typed_2) };
	static struct dk_impl bad[] = {
		DK_IMPL(wrong_sig, DK_CPU, retyped_3),
		DK_IMPL(wrong_sig, 0xffff, retyped_3),
	};
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	long other = 0;
	int served_by = 0;

	t_grow();
	setup_default();
	define_untyped(&first_sig_op);
	CHECK_INT(dk_impls_register(&prov, bad, 2, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_KEY);
	CHECK_INT(first_sig(&cpu, &served_by), -ENOSYS);
	CHECK_INT(wrong_sig(&cpu, &other), -ENOSYS);
	CHECK_OK(dk_impls_register(&prov, good, 1, &t_why));
	CHECK_OK(first_sig(&cpu, &served_by));
	CHECK_INT(served_by, 2);
	CHECK_INT(wrong_sig(&cpu, &other), -EPROTOTYPE);
	CHECK_INT(ran, 1);
	t_close();
}

/*
 * When nothing uses the name any more, it can be defined with another type, or as an atomic
 * operator instead of a sleepable one.
 */
static void unused_name_takes_another_type(void)
{
	static const struct dk_impl first[] = { DK_IMPL(typed, DK_CPU, typed_1) };
	static const struct dk_impl second[] = { DK_IMPL(retyped, DK_CPU, retyped_3) };
	static const struct dk_impl third[] = { DK_IMPL_ATOMIC(typed, DK_CPU, typed_2) };
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	long other = 0;
	int served_by = 0;

	t_grow();
	setup_default();
	CHECK_OK(dk_op_define(&prov, &typed_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, first, 1, &t_why));
	CHECK_OK(typed(&cpu, &served_by));
	CHECK_INT(served_by, 1);
	CHECK_INT(retyped(&cpu, &other), -EPROTOTYPE);
	t_close();
	CHECK_INT(typed(&cpu, &served_by), -ENOENT);

	setup_default();
	CHECK_OK(dk_op_define(&prov, &retyped_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, second, 1, &t_why));
	CHECK_OK(retyped(&cpu, &other));
	CHECK_INT(other, 3);
	CHECK_INT(typed(&cpu, &served_by), -EPROTOTYPE);
	CHECK_INT(ran, 1);
	t_close();

	/* both declarations were bound; now define the first type again, as an atomic operator */
	setup_default();
	CHECK_OK(dk_op_define(&prov, &typed_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&prov, third, 1, &t_why));
	CHECK_OK(typed(&cpu, &served_by));
	CHECK_INT(served_by, 2);
	CHECK_INT(retyped(&cpu, &other), -EPROTOTYPE);
	CHECK_INT(ran, 1);
	t_close();

	/* only the class changes */
	setup_default();
	CHECK_OK(dk_op_define(&prov, &typed_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, first, 1, &t_why));
	CHECK_OK(typed(&cpu, &served_by));
	CHECK_INT(served_by, 1);
	t_close();
	CHECK_INT(typed(&cpu, &served_by), -ENOENT);
	CHECK_INT(retyped(&cpu, &other), -ENOENT);

	/* register a function that may sleep first: it is not added to the old atomic operator */
	setup_default();
	CHECK_OK(dk_op_define(&prov, &typed_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&prov, third, 1, &t_why));
	CHECK_OK(typed(&cpu, &served_by));
	t_close();
	setup_default();
	CHECK_OK(dk_impls_register(&prov, first, 1, &t_why));
	CHECK_OK(dk_op_define(&prov, &typed_op, 0, &t_why));
	CHECK_OK(typed(&cpu, &served_by));
	CHECK_INT(served_by, 1);
	t_close();

	/* register an atomic function first: it is added to the operator that was used last */
	setup_default();
	CHECK_OK(dk_impls_register(&prov, third, 1, &t_why));
	CHECK_INT(dk_op_define(&prov, &typed_op, DK_OP_ATOMIC, &t_why), -EBUSY);
	CHECK_INT(t_why.reason, DK_WHY_CLASS);
	CHECK_OK(dk_op_define(&prov, &typed_op, 0, &t_why));
	CHECK_OK(typed(&cpu, &served_by));
	CHECK_INT(served_by, 2);
	t_close();

	/* a new operator without a signature does not get that of an old operator of this name */
	setup_default();
	define_untyped(&typed_op);
	CHECK_OK(dk_impls_register(&prov, second, 1, &t_why));
	CHECK_OK(retyped(&cpu, &other));
	CHECK_INT(typed(&cpu, &served_by), -EPROTOTYPE);
	t_close();
}

/*
 * A replaced operator is used again for the next definition that fits, even after definitions that
 * did not fit.
 */
static void replaced_operators_are_used_again(void)
{
	static const struct dk_impl first[] = { DK_IMPL(typed, DK_CPU, typed_1) };
	static const struct dk_impl second[] = { DK_IMPL(retyped, DK_CPU, retyped_3) };
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	long allocs = 0;
	int served_by = 0, i;

	for (i = 0; i < 4; i++) {
		setup_default();
		CHECK_OK(dk_op_define(&prov, &typed_op, 0, &t_why));
		CHECK_OK(dk_impls_register(&prov, first, 1, &t_why));
		CHECK_OK(typed(&cpu, &served_by));
		t_close();
		setup_default();
		CHECK_OK(dk_impls_register(&prov, second, 1, &t_why));
		t_close();
		if (i > 1)
			CHECK_INT(dk_test_allocs(), allocs);
		allocs = dk_test_allocs();
	}
}

/* ---- a name that was called --------------------------------------------------- */

DK_OP(turns, "signatures::turns", (struct dk_obj *x), (x), (x));

static int turns_here(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

/*
 * Defines an operator in the default registry, calls it so that @decl points to it, and unregisters
 * the provider. @early: registers the function before the definition.
 */
static void define_and_call(struct dk_op_decl *decl, bool atomic, bool early)
{
	static struct dk_provider unregistered = DK_PROVIDER("turns");
	static struct dk_impl impl;
	struct dk_provider p = unregistered;
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	const struct dk_obj *const objs[] = { &x };
	struct dk_frame c;

	impl = (struct dk_impl)DK_IMPL_ATOMIC(turns, DK_CPU, turns_here);
	impl.op = decl;
	CHECK_OK(dk_provider_register(&p, &t_why));
	if (early)
		CHECK_OK(dk_impls_register(&p, &impl, 1, &t_why));
	CHECK_OK(dk_op_define(&p, decl, atomic ? DK_OP_ATOMIC : 0, &t_why));
	if (!early)
		CHECK_OK(dk_impls_register(&p, &impl, 1, &t_why));
	if (CHECK_OK(dk_call_enter(&c, decl, &dk_local_default, objs, 1))) {
		CHECK_OK(turns_run(&c, &x));
		dk_call_leave(&c);
	}
	CHECK_OK(dk_provider_unregister(&p));
	CHECK_INT(dk_call_enter(&c, decl, &dk_local_default, objs, 1), -ENOENT);
	/* a declaration that points to the operator does not keep it in the registry */
	CHECK(!dk_op_get(NULL, decl->name));
}

/*
 * Defines a name many times with alternating signatures and, if @classes, alternately as an atomic
 * and a sleepable operator. After all combinations have occurred once, this needs no more memory.
 */
static void alternate(const char *name, bool classes, bool early)
{
	static struct dk_op_decl decls[2][3];
	unsigned int i;
	long before = 0;

	for (i = 0; i < 3; i++) {
		decls[early][i] = turns_op;
		decls[early][i].name = name;
	}
	decls[early][1].sig = "(int other)";
	decls[early][2].sig = NULL;
	for (i = 0; i < 10 * 6; i++) {
		if (i == 6)
			before = dk_test_allocs();
		define_and_call(&decls[early][i % 3], classes && i / 3 % 2, early);
	}
	CHECK_INT(dk_test_allocs(), before);
	CHECK_OK(dk_registry_check(NULL, &t_why));
}

static void signatures_alternate(void)
{
	t_first_call();
	alternate("signatures::turns", true, false);
	alternate("signatures::early_turns", false, true);
}

T_SUITE(signatures,
	T(redispatch_through_another_operator),
	T(operator_gets_its_signature_later),
	T(boxed_calls_by_name_store_the_mark),
	T(boxed_call_checks_the_version),
	T(types_are_compared_by_handle),
	T(refused_table_gives_no_signature),
	T(unused_name_takes_another_type),
	T(replaced_operators_are_used_again),
	T(signatures_alternate));
