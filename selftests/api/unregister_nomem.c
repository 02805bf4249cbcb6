// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unregistering succeeds even if every allocation fails. If a table could not be built, calls
 * are routed by the rules until the next change.
 */
#include "../../lib/core/change/change.h"

#include "alloc.h"
#include "test.h"

static struct dk_provider base, prov;
static struct dk_op_decl decl;
static struct dk_op *op;

static bool by_evaluator(void)
{
	bool by_rules;

	rcu_read_lock();
	by_rules = dkc_deref(op->table, op->reg)->kind == DKC_TABLE_BYPASS &&
		   !dkc_deref(op->base, op->reg);
	rcu_read_unlock();
	return by_rules;
}

/* Checks that entries and routes are the results of these registrations. */
static void serves(const struct t_given *given, unsigned int n)
{
	unsigned int slot;

	for (slot = 0; slot < DK_NUM_ENTRIES; slot++) {
		unsigned int key = dk_slot_key(NULL, slot);
		struct t_choice want = t_model(dk_layout_find("v1", NULL), given, n, key);
		struct dk_obj x = t_obj(DK_KEY_BITS(key));
		const char *goes = want.rule == DK_PROV_MISSING ? "-ENOSYS" :
				   want.rule == DK_PROV_AMBIGUOUS ? "-ENOTUNIQ" :
				   want.label;

		if (!CHECK_STR(t_serves(op, 0, key), want.label) ||
		    !CHECK_INT(t_rule_served(), want.rule) ||
		    !CHECK_INT(dk_op_is_served(op, key, &t_why), want.rule != DK_PROV_MISSING))
			break;
		if (!want.is_fallthrough && !CHECK_STR(t_route_label(op, &x, NULL), goes))
			break;
	}
	CHECK_OK(dk_registry_check(t_reg, &t_why));
}

static struct dk_impl nudge;

/* Makes two changes. The first one builds the table whose allocation failed. */
static void next_change(void)
{
	nudge = t_impl(&decl, DK_META, 0);
	CHECK_OK(dk_impls_register(&base, &nudge, 1, &t_why));
	CHECK(!by_evaluator());
	CHECK_OK(dk_impls_unregister(&base, &nudge, &t_why));
}

static void unregister_without_memory(void)
{
	static const struct t_given kept[] = {
		{ DK_COMPOSITE_IMPLICIT_AUTOGRAD, false, "f1" },
		{ DK_CPU, false, "f2" },
		{ DK_TRACER, true, "fallthrough" },
	};
	static struct dk_impl of_base[3], of_prov[3], more[1], card[1], fallback;
	struct dk_obj traced = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER));
	struct dk_obj x, other;
	unsigned int backend;
	u32 dev0, dev1;

	t_first_call();
	t_open("v1", 0);
	t_join(&base, "base");
	decl = t_decl("nomem::leaving");
	CHECK_OK(dk_op_define(&base, &decl, 0, &t_why));
	op = dk_op_get(t_reg, "nomem::leaving");
	of_base[0] = t_impl(&decl, DK_COMPOSITE_IMPLICIT_AUTOGRAD, 1);
	of_base[1] = t_impl(&decl, DK_CPU, 2);
	of_base[2] = t_fallthrough(&decl, DK_TRACER);
	CHECK_OK(dk_impls_register(&base, of_base, 3, &t_why));
	serves(kept, 3);

	/* an array of functions is unregistered */
	t_join(&prov, "leaving");
	of_prov[0] = t_impl(&decl, DK_CPU, 5);
	of_prov[1] = t_impl(&decl, DK_SPARSE_CPU, 6);
	of_prov[2] = t_impl(&decl, DK_TRACER, 7);
	CHECK_OK(dk_impls_register(&prov, of_prov, 3, &t_why));
	CHECK_STR(t_route_label(op, &traced, NULL), "f7");
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_OK(dk_impls_unregister(&prov, of_prov, &t_why));
	CHECK(dk_test_fail_alloc(DK_TEST_EVERY));
	CHECK(by_evaluator());
	serves(kept, 3);
	CHECK_STR(t_route_label(op, &traced, NULL), "f2");
	CHECK_INT(t_call(op, &traced, NULL), 2);
	dk_test_fail_alloc(0);
	next_change();
	serves(kept, 3);

	/* the array is withdrawn, and then drained */
	CHECK_OK(dk_impls_register(&prov, of_prov, 3, &t_why));
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_OK(dk_impls_withdraw(&prov, of_prov, &t_why));
	CHECK(by_evaluator());
	serves(kept, 3);
	CHECK_OK(dk_provider_drain(&prov));
	serves(kept, 3);
	dk_test_fail_alloc(0);
	next_change();

	/* a fallback is unregistered */
	fallback = t_fallthrough(NULL, DK_PYTHON);
	CHECK_OK(dk_fallback_register(&prov, &fallback, &t_why));
	CHECK_STR(t_serves(op, 0, DK_PYTHON), "fallthrough");
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_OK(dk_impls_unregister(&prov, &fallback, &t_why));
	CHECK(by_evaluator());
	serves(kept, 3);
	dk_test_fail_alloc(0);
	next_change();

	/* one of two cards is unregistered, and then the whole provider */
	CHECK_OK(dk_backend_join(&prov, "edu", 0, 0, &backend, &t_why));
	card[0] = t_impl(&decl, DK_DENSE, 8);
	CHECK_OK(dk_device_register(&prov, backend, "card0", NULL, card, 1, &dev0,
				    &t_why));
	CHECK_OK(dk_device_register(&prov, backend, "card1", NULL, card, 1, &dev1,
				    &t_why));
	x = dk_obj_on(backend, dev0);
	other = dk_obj_on(backend, dev1);
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_OK(dk_device_unregister(&prov, dev0, &t_why));
	CHECK(by_evaluator());
	CHECK_INT(t_call(op, &x, &other), 1);
	CHECK_INT(t_call(op, &other, &x), 8);
	serves(kept, 3);
	dk_test_fail_alloc(0);
	next_change();
	CHECK_INT(t_call(op, &other, &x), 8);
	more[0] = t_impl(&decl, DK_AUTOGRAD, 9);
	CHECK_OK(dk_impls_register(&prov, more, 1, &t_why));
	CHECK_OK(dk_impls_register(&prov, of_prov, 3, &t_why));
	CHECK_OK(dk_fallback_register(&prov, &fallback, &t_why));
	dk_test_fail_alloc(DK_TEST_EVERY);
	t_unregister(&prov);
	CHECK(by_evaluator());
	CHECK_INT(t_call(op, &other, &x), 1);
	serves(kept, 3);

	/* further changes without memory are refused, or have the right result */
	CHECK_INT(dk_impls_register(&base, of_prov, 3, &t_why), -ENOMEM);
	serves(kept, 3);
	CHECK_OK(dk_op_undefine(&base, "nomem::leaving", &t_why));
	CHECK_INT(t_call(op, &traced, NULL), -ENOENT);
	dk_test_fail_alloc(0);
	CHECK_OK(dk_op_define(&base, &decl, 0, &t_why));
	CHECK(!by_evaluator());
	serves(kept, 3);

	/* the provider that defined the operator is unregistered, too */
	dk_test_fail_alloc(DK_TEST_EVERY);
	t_unregister(&base);
	CHECK_INT(t_call(op, &traced, NULL), -ENOENT);
	dk_op_put(op);
	CHECK(!dk_op_get(t_reg, "nomem::leaving"));
	t_close();
	dk_test_fail_alloc(0);
}

/* An atomic operator stays atomic when its calls are routed by the rules, without a table. */
static void atomic_operator_without_tables(void)
{
	static struct dk_impl of_base[2], through[1];
	struct dk_obj traced = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER));
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));
	const struct dk_obj *objs[] = { &cpu };
	struct dk_local local = t_no_local();
	struct dk_frame c;

	t_first_call();
	t_open("v1", 0);
	t_join(&base, "base");
	decl = t_decl("nomem::atomic");
	CHECK_OK(dk_op_define(&base, &decl, DK_OP_ATOMIC | DK_OP_SAME_DEVICE, &t_why));
	op = dk_op_get(t_reg, "nomem::atomic");
	of_base[0] = t_impl(&decl, DK_COMPOSITE_IMPLICIT_AUTOGRAD, 1);
	of_base[1] = t_impl(&decl, DK_CPU, 2);
	of_base[0].flags = DK_IMPL_F_ATOMIC;
	of_base[1].flags = DK_IMPL_F_ATOMIC;
	through[0] = t_fallthrough(&decl, DK_TRACER);
	CHECK_OK(dk_impls_register(&base, of_base, 2, &t_why));
	CHECK_OK(dk_impls_register(&base, through, 1, &t_why));
	CHECK_INT(t_call(op, &traced, NULL), 2);
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_OK(dk_impls_unregister(&base, through, &t_why));
	CHECK(by_evaluator());
	CHECK_INT(t_call(op, &traced, NULL), -ENOSYS);
	CHECK_INT(t_call(op, &cpu, NULL), 2);
	if (CHECK_OK(dk_call_enter_op(&c, op, &decl, &local, objs, 1))) {
		CHECK_INT(dkc_in_atomic(), T_KERNEL && T_DETECTS_ATOMIC);
		dk_call_leave(&c);
	}
	CHECK(!dkc_in_atomic());
	dk_test_fail_alloc(0);
	dk_op_put(op);
	t_unregister(&base);
	t_close();
}

/* Checks that a definition that fails sets no signature, not even for a short time. */
static void signature_of_no_definition(void)
{
	CHECK_INT(READ_ONCE(op->sig), 0);
}

static void cancelled_definition_sets_no_signature(void)
{
	static struct dk_op_decl untyped;
	static struct dk_impl early;
	unsigned int n;
	int err;

	t_first_call();
	t_open("v1", 0);
	t_join(&base, "base");
	decl = t_decl("nomem::typed");
	untyped = decl;
	untyped.sig = NULL;
	early = t_impl(&untyped, DK_CPU, 1);
	CHECK_OK(dk_impls_register(&base, &early, 1, &t_why));
	op = dk_op_get(t_reg, "nomem::typed");
	dk_test_at_alloc(signature_of_no_definition);
	for (n = 1;; n++) {
		dk_test_fail_alloc(n);
		err = dk_op_define(&base, &decl, 0, &t_why);
		if (!dk_test_fail_alloc(0))
			break;
		CHECK_INT(err, -ENOMEM);
		signature_of_no_definition();
	}
	dk_test_at_alloc(NULL);
	CHECK_OK(err);
	CHECK(n > 1);
	CHECK(READ_ONCE(op->sig));
	dk_op_put(op);
	t_unregister(&base);
	t_close();
}

T_SUITE(unregister_nomem,
	T_PEER(13, unregister_without_memory),
	T(atomic_operator_without_tables),
	T(cancelled_definition_sets_no_signature));
