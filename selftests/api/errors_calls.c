// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests errors of calls, of routes and of queries about entries. full_registry.h explains the
 * comments with "refuses" and "cannot".
 */
#include "full_registry.h"

/* Two declarations with different types for one operator. */
DK_OP(by_name, "errors_calls::by_name",
	(struct dk_obj *x, struct dk_obj *y), (x, y), (x, y));
DK_OP(by_name_int, "errors_calls::by_name", (struct dk_obj *x, int y), (x, y), (x));
DK_OP(same, "errors_calls::same", (struct dk_obj *x, struct dk_obj *y), (x, y), (x, y));

/* ---- calls and routes ---------------------------------------------------- */

/*
 * Enters a call with dk_call_enter_op(), and one with dk_call_enter_keyset() and the keyset of the
 * objects. Checks that both return the same error, and returns it.
 */
static int enter(struct dk_op *op, struct dk_op_decl *decl, const struct dk_obj *x,
		 const struct dk_obj *y)
{
	const struct dk_obj *const objs[] = { x, y };
	struct dk_op_decl own = *decl;
	struct dk_frame c;
	int err = dk_call_enter_op(&c, op, decl, &dk_local_default, objs, 2);

	if (!err)
		dk_call_leave(&c);
	CHECK_INT(dk_call_enter_keyset(&c, op, &own, &dk_local_default,
				       dk_keyset_or(x->ks, y ? y->ks : x->ks), objs, 2), err);
	if (!err)
		dk_call_leave(&c);
	return err;
}

static int same_0(struct dk_call *c, struct dk_obj *x, struct dk_obj *y)
{
	return 0;
}

/*
 * dk_call_enter() finds the operator in the default registry, and then does the same as
 * dk_call_enter_op(). dk_op_route() returns the same errors, and so does dk_call_redispatch() for
 * the keyset that it is given.
 */
static void calls(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(same, DK_DENSE, same_0),
		DK_IMPL(same, DK_COMPOSITE_IMPLICIT_AUTOGRAD, same_0),
		DK_IMPL(same, DK_SPARSE_CPU, same_0),
		DK_IMPL_FALLTHROUGH(same, DK_CONJUGATE),
		DK_IMPL(same, DK_AUTOGRAD_CPU, same_0),
	};
	static const struct dk_impl dense[] = { DK_IMPL(same, DK_DENSE, same_0) };
	struct dk_obj other = t_obj(DK_KEY_BITS(DK_AUTOGRAD_OTHER));
	struct dk_obj python = t_obj(DK_KEY_BITS(DK_PYTHON) | DK_BACKEND_BIT(1));
	struct dk_obj gone, c0, c1;
	struct same_args both = { &c0, &c1 }, one = { &c0, NULL };
	struct same_args left = { &gone, NULL }, unclear = { &other, NULL };
	const struct dk_obj *objs[2];
	struct dk_op_decl wrong = same_op, older = same_op, nameless;
	struct dk_frame c, below;
	struct dk_op *op;
	u32 d0, d1;

	r_open();
	gone = dk_obj_on(r_solo, r_unregistered_card);
	wrong.sig = "(int)";
	older.size -= sizeof(older.sig_mark);
	older.sig_mark = 0;	/* an earlier run of this test may have set it */
	CHECK_OK(dk_op_define(&r_a, &same_op, DK_OP_SAME_DEVICE, &t_why));
	CHECK_OK(dk_backend_impls_register(&r_a, DK_BACKEND_CPU, impls,
					   ARRAY_SIZE(impls), &t_why));
	CHECK_OK(dk_device_register(&r_a, r_edu, "c0", NULL, dense, 1, &d0, &t_why));
	CHECK_OK(dk_device_register(&r_a, r_edu, "c1", NULL, dense, 1, &d1, &t_why));
	c0 = dk_obj_on(r_edu, d0);
	c1 = dk_obj_on(r_edu, d1);
	op = dk_op_get(t_reg, "errors_calls::same");
	r_rebase();

	/* refuses: dk_call_enter_op ENOSYS MISSING */
	/* refuses: dk_op_route ENOSYS MISSING */
	REFUSED_ERR(enter(op, &same_op, &python, NULL), ENOSYS);
	REFUSED_ERR(t_route(op, &python, NULL), ENOSYS);
	CHECK_INT(t_answer.entry.provenance, DK_PROV_MISSING);
	/* refuses: dk_call_enter_op ENOTUNIQ AMBIGUOUS */
	/* refuses: dk_call_enter_keyset ENOTUNIQ AMBIGUOUS */
	/* refuses: dk_op_route ENOTUNIQ AMBIGUOUS */
	/* refuses: dk_call_boxed ENOTUNIQ AMBIGUOUS */
	REFUSED_ERR(enter(op, &same_op, &other, NULL), ENOTUNIQ);
	REFUSED_ERR(t_route(op, &other, NULL), ENOTUNIQ);
	REFUSED_ERR(dk_call_boxed(op, &same_op, &dk_local_default, &unclear), ENOTUNIQ);
	CHECK_INT(t_answer.entry.provenance, DK_PROV_AMBIGUOUS);
	/* refuses: dk_call_enter_op EXDEV TWO_DEVICES */
	/* refuses: dk_call_enter_keyset EXDEV TWO_DEVICES */
	/* refuses: dk_op_route EXDEV TWO_DEVICES */
	REFUSED_ERR(enter(op, &same_op, &c0, &c1), EXDEV);
	REFUSED_ERR(t_route(op, &c0, &c1), EXDEV);
	/* refuses: dk_call_enter_key EXDEV TWO_DEVICES */
	/* refuses: dk_call_boxed_key EXDEV TWO_DEVICES */
	REFUSED_ERR(same_for_key(op, &dk_local_default, DK_SPARSE_CPU, &c0, &c1), EXDEV);
	REFUSED_ERR(dk_call_boxed_key(op, &same_op, &dk_local_default, DK_SPARSE_CPU,
				      &both), EXDEV);
	/* refuses: dk_call_enter_op EPROTOTYPE SIGNATURE */
	/* refuses: dk_call_enter_keyset EPROTOTYPE SIGNATURE */
	REFUSED_ERR(enter(op, &wrong, &r_cpu, NULL), EPROTOTYPE);
	REFUSED_ERR(enter(op, &older, &r_cpu, NULL), EPROTOTYPE);
	/* refuses: dk_call_enter_key EPROTOTYPE SIGNATURE */
	/* refuses: dk_call_boxed_key EPROTOTYPE SIGNATURE */
	objs[0] = &r_cpu;
	REFUSED_ERR(dk_call_enter_key(&c, op, &wrong, &dk_local_default, DK_SPARSE_CPU,
				      objs, 1), EPROTOTYPE);
	REFUSED_ERR(dk_call_boxed_key(op, &wrong, &dk_local_default, DK_SPARSE_CPU, &one),
		    EPROTOTYPE);
	/* cannot: dk_op_route EPROTOTYPE SIGNATURE - it has no declaration */
	/* cannot: dk_op_route ENOMEM NO_MEMORY - it makes no call */
	t_answer.size = 8;
	/* refuses: dk_op_route EINVAL BAD_SIZE */
	REFUSED_ERR(dk_op_route(op, DK_KEYSET(0), DK_KEYSET(0), objs, 1, &t_answer),
		    EINVAL);

	/* redispatches from inside a call */
	objs[1] = NULL;
	CHECK_OK(dk_call_enter_op(&c, op, &same_op, &dk_local_default, objs, 2));
	/* refuses: dk_call_redispatch ENOSYS MISSING */
	REFUSED_ERR(dk_call_redispatch(&below, &c.call, &same_op, DK_SET(DK_PYTHON), objs,
				       1), ENOSYS);
	/* refuses: dk_call_redispatch EPROTOTYPE SIGNATURE */
	REFUSED_ERR(dk_call_redispatch(&below, &c.call, &wrong, DK_SET(DK_CPU), objs, 1),
		    EPROTOTYPE);
	REFUSED_ERR(dk_call_redispatch(&below, &c.call, &by_name_op, DK_SET(DK_CPU), objs,
				       1), EPROTOTYPE);
	nameless = same_op;
	nameless.name = NULL;
	REFUSED_ERR(dk_call_redispatch(&below, &c.call, &nameless, DK_SET(DK_CPU), objs,
				       1), EPROTOTYPE);
	/* the fallthrough at Conjugate is skipped, so CPU serves */
	CHECK_OK(dk_call_redispatch(&below, &c.call, &same_op,
				    dk_keyset_or(DK_SET(DK_CONJUGATE),
						 DK_SET(DK_CPU)), objs, 1));
	CHECK_INT(below.call.ks.bits, DK_KEY_BITS(DK_CPU));
	dk_call_leave(&below);
	/* refuses: dk_call_redispatch ENOTUNIQ AMBIGUOUS */
	REFUSED_ERR(dk_call_redispatch(&below, &c.call, &same_op, DK_SET(DK_AUTOGRAD_OTHER),
				       objs, 1), ENOTUNIQ);
	objs[0] = &c0;
	objs[1] = &c1;
	/* refuses: dk_call_redispatch EXDEV TWO_DEVICES */
	REFUSED_ERR(dk_call_redispatch(&below, &c.call, &same_op, c0.ks, objs, 2), EXDEV);
	/* refuses: dk_redispatch_boxed EXDEV TWO_DEVICES */
	REFUSED_ERR(dk_redispatch_boxed(&c.call, c0.ks, &both), EXDEV);
	/* refuses: dk_redispatch_boxed ENOSYS MISSING */
	REFUSED_ERR(dk_redispatch_boxed(&c.call, DK_SET(DK_PYTHON), &one), ENOSYS);
	/* refuses: dk_redispatch_boxed ENOTUNIQ AMBIGUOUS */
	REFUSED_ERR(dk_redispatch_boxed(&c.call, DK_SET(DK_AUTOGRAD_OTHER), &one),
		    ENOTUNIQ);

	/* without other functions, the call fails because the device is gone */
	CHECK_OK(dk_impls_withdraw(&r_a, impls, &t_why));
	r_rebase();
	/* refuses: dk_call_enter_op ENODEV DEVICE_GONE */
	/* refuses: dk_call_enter_keyset ENODEV DEVICE_GONE */
	/* refuses: dk_op_route ENODEV DEVICE_GONE */
	REFUSED_ERR(enter(op, &same_op, &gone, NULL), ENODEV);
	REFUSED_ERR(t_route(op, &gone, NULL), ENODEV);
	/* refuses: dk_call_boxed ENODEV DEVICE_GONE */
	REFUSED_ERR(dk_call_boxed(op, &same_op, &dk_local_default, &left), ENODEV);
	/* refuses: dk_call_enter_key ENODEV DEVICE_GONE */
	/* refuses: dk_call_boxed_key ENODEV DEVICE_GONE */
	REFUSED_ERR(same_for_key(op, &dk_local_default, DK_CPU, &gone, NULL), ENODEV);
	REFUSED_ERR(dk_call_boxed_key(op, &same_op, &dk_local_default, DK_CPU, &left),
		    ENODEV);
	objs[0] = &gone;
	objs[1] = NULL;
	/* refuses: dk_call_redispatch ENODEV DEVICE_GONE */
	REFUSED_ERR(dk_call_redispatch(&below, &c.call, &same_op, gone.ks, objs, 1),
		    ENODEV);
	/* refuses: dk_redispatch_boxed ENODEV DEVICE_GONE */
	REFUSED_ERR(dk_redispatch_boxed(&c.call, gone.ks, &left), ENODEV);

	CHECK_OK(dk_op_undefine(&r_a, "errors_calls::same", &t_why));
	r_rebase();
	/* refuses: dk_call_enter_op ENOENT NOT_DEFINED */
	/* refuses: dk_call_enter_keyset ENOENT NOT_DEFINED */
	/* refuses: dk_op_route ENOENT NOT_DEFINED */
	REFUSED_ERR(enter(op, &same_op, &c0, NULL), ENOENT);
	REFUSED_ERR(t_route(op, &c0, NULL), ENOENT);
	objs[0] = &c0;
	/* refuses: dk_call_redispatch ENOENT NOT_DEFINED */
	REFUSED_ERR(dk_call_redispatch(&below, &c.call, &same_op, c0.ks, objs, 1), ENOENT);
	/* refuses: dk_redispatch_boxed ENOENT NOT_DEFINED */
	REFUSED_ERR(dk_redispatch_boxed(&c.call, c0.ks, &one), ENOENT);
	/*
	 * A redispatch runs on the thread of its call, so it needs no memory. A boxed redispatch
	 * uses the operator of its call, so the types cannot differ.
	 * cannot: dk_redispatch_boxed EPROTOTYPE SIGNATURE
	 * cannot: dk_call_redispatch ENOMEM NO_MEMORY
	 * cannot: dk_redispatch_boxed ENOMEM NO_MEMORY
	 */
	dk_call_leave(&c);
	dk_op_put(op);
	r_close();
}

/*
 * A call by a declaration of another type fails with -EPROTOTYPE, even if nothing would serve it.
 */
static void wrong_type_first(unsigned int flags)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(same, DK_COMPOSITE_IMPLICIT_AUTOGRAD, same_0),
		DK_IMPL(same, DK_SPARSE_CPU, same_0),
		DK_IMPL_FALLTHROUGH(same, DK_CONJUGATE),
	};
	static const struct dk_impl dense[] = { DK_IMPL(same, DK_DENSE, same_0) };
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU)), c0, c1, gone;
	struct dk_obj other = t_obj(DK_KEY_BITS(DK_AUTOGRAD_OTHER));
	struct dk_obj python = t_obj(DK_KEY_BITS(DK_PYTHON));
	struct dk_op_decl wrong = same_op, right = same_op, older = same_op;
	const struct dk_obj *const first[] = { &cpu, &python, &other, &c0, &gone };
	const struct dk_obj *objs[] = { &cpu, &c1 };
	struct same_args args = { &cpu, &python };
	struct dk_frame c;
	struct dk_op *op;
	unsigned int i;
	u32 d0, d1;

	t_open("v1", flags);
	t_join(&r_a, "a");
	wrong.sig = "(int)";
	older.size -= sizeof(older.sig_mark);
	older.sig_mark = 0;	/* an earlier run of this test may have set it */
	CHECK_OK(dk_op_define(&r_a, &same_op, DK_OP_SAME_DEVICE, &t_why));
	op = dk_op_get(t_reg, "errors_calls::same");
	/* no function is registered yet */
	CHECK_INT(dk_call_enter_op(&c, op, &wrong, &dk_local_default, objs, 1), -EPROTOTYPE);
	CHECK_INT(dk_call_enter_op(&c, op, &right, &dk_local_default, objs, 1), -ENOSYS);
	CHECK_OK(dk_impls_register(&r_a, impls, ARRAY_SIZE(impls), &t_why));
	CHECK_OK(dk_device_register(&r_a, DK_BACKEND_CUDA, "c0", NULL, dense, 1, &d0, &t_why));
	CHECK_OK(dk_device_register(&r_a, DK_BACKEND_CUDA, "c1", NULL, dense, 1, &d1, &t_why));
	CHECK_OK(dk_device_unregister(&r_a, d1, &t_why));
	gone = dk_obj_on(DK_BACKEND_CUDA, d1);
	CHECK_OK(dk_device_register(&r_a, DK_BACKEND_CUDA, "c1", NULL, dense, 1, &d1, &t_why));
	c0 = dk_obj_on(DK_BACKEND_CUDA, d0);
	c1 = dk_obj_on(DK_BACKEND_CUDA, d1);
	for (i = 0; i < ARRAY_SIZE(first); i++) {
		objs[0] = first[i];
		CHECK_INT(dk_call_enter_op(&c, op, &wrong, &dk_local_default, objs, 2),
			  -EPROTOTYPE);
		CHECK_INT(dk_call_enter_key(&c, op, &wrong, &dk_local_default, DK_PYTHON,
					    objs, 2), -EPROTOTYPE);
		CHECK_INT(dk_call_enter_key(&c, op, &wrong, &dk_local_default, 9999,
					    objs, 2), -EPROTOTYPE);
	}
	CHECK_INT(dk_call_boxed(op, &wrong, &dk_local_default, &args), -EPROTOTYPE);
	/* refuses: dk_op_takes EPROTOTYPE SIGNATURE */
	CHECK_INT(dk_op_takes(op, &wrong), -EPROTOTYPE);
	CHECK_INT(dk_op_takes(op, &older), -EPROTOTYPE);
	CHECK_INT(dk_op_takes(op, &right), 0);
	right.sig = NULL;
	CHECK_INT(dk_op_takes(op, &right), 0);
	/* the operator keeps its type after it is undefined */
	CHECK_OK(dk_op_undefine(&r_a, "errors_calls::same", &t_why));
	CHECK_INT(dk_call_enter_op(&c, op, &wrong, &dk_local_default, objs, 2), -EPROTOTYPE);
	CHECK_INT(dk_op_takes(op, &wrong), -EPROTOTYPE);
	right = same_op;
	CHECK_INT(dk_call_enter_op(&c, op, &right, &dk_local_default, objs, 2), -ENOENT);
	dk_op_put(op);
	t_unregister(&r_a);
	t_close();
}

static void calls_of_another_type(void)
{
	wrong_type_first(0);
	wrong_type_first(DK_REGISTRY_FORCE_RESOLVE);
}

/* Checks the errors of dk_call_enter(), which uses the default registry. */
static void calls_by_name(void)
{
	static struct dk_provider me = DK_PROVIDER("refusals");
	static const struct dk_impl impls[] = {
		DK_IMPL(by_name, DK_COMPOSITE_IMPLICIT_AUTOGRAD, same_0),
		DK_IMPL(by_name, DK_FPGA, same_0),
	};
	static const struct dk_impl dense[] = { DK_IMPL(by_name, DK_DENSE, same_0) };
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_obj other = t_obj(DK_KEY_BITS(DK_AUTOGRAD_OTHER));
	struct dk_obj python = t_obj(DK_KEY_BITS(DK_PYTHON));
	struct dk_local bare = t_no_local();
	struct dk_obj c0, c1;
	u32 d0, d1;

	CHECK_OK(dk_provider_register(&me, &t_why));
	/* refuses: dk_call_enter ENOENT NOT_DEFINED */
	CHECK_INT(by_name(&cpu, &cpu), -ENOENT);
	CHECK_OK(dk_op_define(&me, &by_name_op, DK_OP_SAME_DEVICE, &t_why));
	/* refuses: dk_call_enter EPROTOTYPE SIGNATURE */
	CHECK_INT(by_name_int(&cpu, 1), -EPROTOTYPE);
	/* refuses: dk_call_enter ENOSYS MISSING */
	CHECK_INT(by_name(&cpu, &cpu), -ENOSYS);
	CHECK_OK(dk_device_register(&me, DK_BACKEND_CUDA, "refusals-c0", NULL, dense,
				    1, &d0, &t_why));
	CHECK_OK(dk_device_register(&me, DK_BACKEND_CUDA, "refusals-c1", NULL, dense,
				    1, &d1, &t_why));
	c0 = dk_obj_on(DK_BACKEND_CUDA, d0);
	c1 = dk_obj_on(DK_BACKEND_CUDA, d1);
	/* refuses: dk_call_enter EXDEV TWO_DEVICES */
	CHECK_INT(by_name(&c0, &c1), -EXDEV);
	CHECK_OK(by_name(&c0, &cpu));
	CHECK_OK(dk_device_unregister(&me, d0, &t_why));
	/* refuses: dk_call_enter ENODEV DEVICE_GONE */
	CHECK_INT(by_name(&c0, &c1), -ENODEV);
	CHECK_OK(dk_impls_register(&me, impls, ARRAY_SIZE(impls), &t_why));
	CHECK_OK(by_name(&c0, &c1));
	/* refuses: dk_call_enter ENOTUNIQ AMBIGUOUS */
	CHECK_INT(by_name_in(&bare, &other, &cpu), -ENOTUNIQ);
	CHECK_INT(by_name_in(&bare, &python, &cpu), -ENOSYS);
	CHECK_OK(dk_provider_unregister(&me));
	CHECK_INT(by_name(&cpu, &cpu), -ENOENT);
}

/* dk_op_get() returns NULL for a misspelled name. */
static void queries_without_an_operator(void)
{
	struct dk_explain ex = { .size = sizeof(ex) };
	static struct dk_impl_info info = { .size = sizeof(info) };
	static struct dk_entry e = { .size = sizeof(e) };
	static struct dk_step step = { .size = sizeof(step) };
	struct dk_stat s = { .size = sizeof(s) };
	const struct dk_obj *const objs[] = { &r_cpu };
	char text[4] = "old";
	struct dk_op *op;

	r_open();
	op = dk_op_get(t_reg, "r::misspelled");
	CHECK(!op);
	t_answer.size = sizeof(t_answer);
	/* refuses: dk_op_entry ENOENT NO_OPERATOR */
	REFUSED_ERR(dk_op_entry(op, 0, 0, &e), ENOENT);
	/* refuses: dk_op_impl ENOENT NO_OPERATOR */
	REFUSED_ERR(dk_op_impl(op, 0, &info), ENOENT);
	/* refuses: dk_op_route ENOENT NO_OPERATOR */
	REFUSED_ERR(dk_op_route(op, DK_KEYSET(0), DK_KEYSET(0), objs, 1, &t_answer), ENOENT);
	/* refuses: dk_op_explain ENOENT NO_OPERATOR */
	REFUSED_ERR(dk_op_explain(op, DK_KEYSET(0), DK_KEYSET(0), objs, 1, &ex), ENOENT);
	/* refuses: dk_explain_step ENOENT NO_OPERATOR */
	REFUSED_ERR(dk_explain_step(op, &ex, 0, &step), ENOENT);
	/* refuses: dk_op_stat ENOENT NO_OPERATOR */
	REFUSED_ERR(dk_op_stat(op, 0, &s), ENOENT);
	/* refuses: dk_op_takes ENOENT NO_OPERATOR */
	REFUSED_ERR(dk_op_takes(op, &same_op), ENOENT);
	/* refuses: dk_op_has_impl ENOENT NO_OPERATOR */
	REFUSED(dk_op_has_impl(op, DK_CPU, &t_why), ENOENT, NO_OPERATOR, "");
	/* refuses: dk_op_is_served ENOENT NO_OPERATOR */
	REFUSED(dk_op_is_served(op, DK_CPU, &t_why), ENOENT, NO_OPERATOR, "");
	/* refuses: dk_op_is_fallthrough ENOENT NO_OPERATOR */
	REFUSED(dk_op_is_fallthrough(op, DK_CPU, &t_why), ENOENT, NO_OPERATOR, "");
	/* refuses: dk_op_check ENOENT NO_OPERATOR */
	REFUSED(dk_op_check(op, &t_why), ENOENT, NO_OPERATOR, "");
	CHECK_INT(dk_op_has_impl_in(op, DK_SET(DK_CPU)), 0);
	CHECK_INT(dk_op_dump(op, text, sizeof(text)), 0);
	CHECK_STR(text, "");
	CHECK_INT(dk_op_dump_table(op, NULL, 0), 0);
	CHECK_INT(dk_op_list_keys(op, NULL, 0), 0);
	CHECK_INT(dk_op_dump_extractor(op, NULL, 0), 0);
	CHECK_INT(dk_missing_text(op, DK_SET(DK_CPU), NULL, 0), 0);
	CHECK_INT(dk_ambiguous_text(op, NULL, 0), 0);
	CHECK_INT(dk_invariants_text(op, NULL, 0), 0);
	CHECK(!dk_op_name(op));
	r_close();
}

static void entries(void)
{
	static struct dk_impl_info info;
	static struct dk_entry e;
	struct dk_op *op;

	r_open();
	op = dk_op_get(t_reg, "r::op");
	/* refuses: dk_op_impl EINVAL BAD_SIZE */
	REFUSED_ERR(dk_op_impl(op, 0, &info), EINVAL);
	info.size = sizeof(info);
	CHECK_OK(dk_op_impl(op, 3, &info));
	/* refuses: dk_op_impl ENOENT NOT_THERE */
	REFUSED_ERR(dk_op_impl(op, 4, &info), ENOENT);
	REFUSED_ERR(dk_op_impl(op, ~0u, &info), ENOENT);
	e.size = sizeof(e);
	/* refuses: dk_op_entry EINVAL BAD_KEY */
	REFUSED_ERR(dk_op_entry(op, 0, DK_NUM_ENTRIES, &e), EINVAL);
	REFUSED_ERR(dk_op_entry(op, 0, ~0u, &e), EINVAL);
	/* refuses: dk_op_entry ENODEV NO_DEVICE */
	REFUSED_ERR(dk_op_entry(op, r_unregistered_card, 0, &e), ENODEV);
	e.size = 0;
	/* refuses: dk_op_entry EINVAL BAD_SIZE */
	REFUSED_ERR(dk_op_entry(op, 0, 0, &e), EINVAL);
	dk_op_put(op);
	r_close();
}

T_SUITE(errors_calls,
	T(calls),
	T(calls_of_another_type),
	T(calls_by_name),
	T(queries_without_an_operator),
	T(entries));
