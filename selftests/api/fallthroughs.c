// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests fallthroughs in tables with ambiguous entries, with fallbacks that must not serve, and with
 * changes during a call.
 */
#include "test.h"

DK_OP(change, "fallthroughs::change",
	(struct dk_obj *x, int (*what)(void), int *served_by), (x, what, served_by), (x));

static struct dk_provider a, b;
static struct dk_op *op;
static unsigned int ran;

static void setup(unsigned int flags)
{
	t_open("v1", flags);
	t_join(&a, "a");
	t_join(&b, "b");
	ran = 0;
}

/* ---- fallbacks -------------------------------------------------------------- */

static int boxed_counts(struct dk_call *c, void *args)
{
	ran++;
	return 0;
}

static const struct dk_impl sleepable_xla = DK_FALLBACK(DK_XLA, boxed_counts);
static const struct dk_impl sleepable_select =
	DK_FALLBACK(DK_BACKEND_SELECT, boxed_counts);
static const struct dk_impl atomic_xla = DK_FALLBACK_ATOMIC(DK_XLA, boxed_counts);
static const struct dk_impl atomic_select =
	DK_FALLBACK_ATOMIC(DK_BACKEND_SELECT, boxed_counts);

/* A fallback that may sleep does not serve an atomic operator. */
static void sleepable_fallback_skips_atomic_operator(void)
{
	static struct dk_op_decl early, late;
	static struct dk_impl cpu[2];
	struct dk_obj xla = t_obj(DK_KEY_BITS(DK_XLA));
	struct dk_obj select = t_obj(DK_KEY_BITS(DK_CPU) |
				     DK_KEY_BITS(DK_BACKEND_SELECT));
	struct dk_op *ops[2];
	unsigned int m, i;

	early = t_decl("fallthroughs::early");
	late = t_decl("fallthroughs::late");
	for (m = 0; m < T_MODES; m++) {
		setup(t_modes[m]);
		cpu[0] = t_impl(&early, DK_CPU, 1);
		cpu[1] = t_impl(&late, DK_CPU, 1);
		cpu[0].flags = DK_IMPL_F_ATOMIC;
		cpu[1].flags = DK_IMPL_F_ATOMIC;
		CHECK_OK(dk_op_define(&a, &early, DK_OP_ATOMIC, &t_why));
		CHECK_OK(dk_fallback_register(&b, &sleepable_xla, &t_why));
		CHECK_OK(dk_fallback_register(&b, &sleepable_select, &t_why));
		CHECK_OK(dk_op_define(&a, &late, DK_OP_ATOMIC, &t_why));
		CHECK_OK(dk_impls_register(&a, cpu, 2, &t_why));
		ops[0] = t_get(early.name);
		ops[1] = t_get(late.name);
		for (i = 0; i < 2; i++) {
			CHECK_INT(t_call(ops[i], &xla, NULL), -ENOSYS);
			CHECK_STR(t_serves(ops[i], 0, DK_XLA), "missing");
			/* the builtin fallthrough stays */
			CHECK_INT(t_call(ops[i], &select, NULL), 1);
			CHECK_STR(t_serves(ops[i], 0, DK_BACKEND_SELECT),
				  "fallthrough");
		}
		CHECK_INT(ran, 0);
		CHECK_OK(dk_registry_check(t_reg, &t_why));
		CHECK_OK(dk_impls_unregister(&b, &sleepable_xla, &t_why));
		CHECK_OK(dk_impls_unregister(&b, &sleepable_select, &t_why));
		CHECK_OK(dk_fallback_register(&b, &atomic_xla, &t_why));
		CHECK_OK(dk_fallback_register(&b, &atomic_select, &t_why));
		for (i = 0; i < 2; i++) {
			ran = 0;
			/* these functions store no number, so t_call() returns -1 */
			CHECK_INT(t_call(ops[i], &xla, NULL), -1);
			CHECK_INT(t_call(ops[i], &select, NULL), -1);
			CHECK_INT(ran, 2);
		}
		t_close();
	}
}

/* ---- entries ---------------------------------------------------------------- */

static u64 effective(u64 bits)
{
	struct dk_obj x = t_obj(bits);

	t_route(op, &x, NULL);
	return t_answer.effective.bits;
}

static const char *route_label(u64 bits)
{
	struct dk_obj x = t_obj(bits);

	return t_route_label(op, &x, NULL);
}

/*
 * An ambiguous entry has no function, and neither has the entry of a fallthrough. But the ambiguous
 * key must stay in the effective set, whereas keys that fall through are still removed.
 */
static void ambiguous_entry_is_not_masked(void)
{
	const u64 other = DK_KEY_BITS(DK_FPGA) | DK_KEY_BITS(DK_AUTOGRAD_OTHER);
	const u64 select = DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_BACKEND_SELECT);
	const u64 grad = DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU);
	static struct dk_op_decl decl;
	static struct dk_impl impls[2];
	unsigned int m, first;

	decl = t_decl("fallthroughs::ambiguous");
	impls[0] = t_impl(&decl, DK_COMPOSITE_IMPLICIT_AUTOGRAD, 0);
	impls[1] = t_impl(&decl, DK_FPGA, 1);
	for (m = 0; m < T_MODES; m++)
		for (first = 0; first < 2; first++) {
			setup(t_modes[m]);
			CHECK_OK(dk_op_define(&a, &decl, 0, &t_why));
			op = t_get(decl.name);
			CHECK_OK(dk_impls_register(&a, &impls[first], 1, &t_why));
			CHECK_OK(dk_impls_register(&a, &impls[!first], 1, &t_why));
			CHECK_OK(dk_registry_check(t_reg, &t_why));
			CHECK_STR(route_label(other), "-ENOTUNIQ");
			CHECK_INT(t_answer.effective.bits, other);
			CHECK_STR(route_label(DK_KEY_BITS(DK_FPGA)), "f1");
			CHECK_STR(route_label(select), "f0");
			CHECK_INT(t_answer.effective.bits, DK_KEY_BITS(DK_CPU));
			CHECK_STR(route_label(grad), "f0");
			CHECK_INT(t_answer.effective.bits, grad);
			/* without one of the two functions, the entry is not ambiguous */
			CHECK_OK(dk_impls_unregister(&a, &impls[first], &t_why));
			CHECK_OK(dk_registry_check(t_reg, &t_why));
			CHECK_STR(route_label(other), first ? "f0" : "f1");
			CHECK_INT(effective(other),
				  first ? other : DK_KEY_BITS(DK_FPGA));
			CHECK_INT(effective(select), DK_KEY_BITS(DK_CPU));
			t_close();
		}
}

/* Regression test: the rules reported this entry without the label of the fallthrough. */
static void fallthrough_in_entry_0_has_a_name(void)
{
	static const unsigned int at[] = {
		DK_COMPOSITE_EXPLICIT_AUTOGRAD, DK_COMPOSITE_IMPLICIT_AUTOGRAD,
	};
	static struct dk_op_decl decl;
	static struct dk_impl impls[1];
	unsigned int m, i;

	decl = t_decl("fallthroughs::entry0");
	for (m = 0; m < T_MODES; m++)
		for (i = 0; i < ARRAY_SIZE(at); i++) {
			setup(t_modes[m]);
			impls[0] = t_fallthrough(&decl, at[i]);
			CHECK_OK(dk_op_define(&a, &decl, 0, &t_why));
			CHECK_OK(dk_impls_register(&a, impls, 1, &t_why));
			op = t_get(decl.name);
			CHECK_INT(t_route(op, NULL, NULL), -ENOSYS);
			CHECK_INT(t_answer.slot, 0);
			CHECK_STR(t_answer.entry.label, "fallthrough");
			CHECK_INT(t_answer.entry.is_fallthrough, 1);
			CHECK_STR(t_answer.entry.provider, "a");
			CHECK_INT(t_call(op, NULL, NULL), -ENOSYS);
			t_close();
		}
}

/* ---- a function that is unregistered during the call --------------------------- */

static int change_cpu(struct dk_call *c, struct dk_obj *x, int (*what)(void), int *served_by)
{
	*served_by = *served_by * 10 + 1;
	return 0;
}

static int change_autograd(struct dk_call *c, struct dk_obj *x, int (*what)(void),
			   int *served_by)
{
	*served_by = *served_by * 10 + 2;
	return change_below(c, x, what, served_by);
}

/*
 * Changes the function that is called next. Keys that fall through were already removed from the
 * call's keyset.
 */
static int change_tracer(struct dk_call *c, struct dk_obj *x, int (*what)(void),
			 int *served_by)
{
	int err = what();

	*served_by = *served_by * 10 + 3;
	return err ? err : change_below(c, x, what, served_by);
}

static const struct dk_impl change_base[] = {
	DK_IMPL(change, DK_CPU, change_cpu),
	DK_IMPL(change, DK_TRACER, change_tracer),
};

static const struct dk_impl change_guest[] = {
	DK_IMPL(change, DK_AUTOGRAD_CPU, change_autograd),
};

static const struct dk_impl change_through[] = {
	DK_IMPL_FALLTHROUGH(change, DK_AUTOGRAD_CPU),
};

static int nothing(void)
{
	return 0;
}

static int withdraw_guest(void)
{
	return dk_impls_withdraw(&b, change_guest, &t_why);
}

static int unregister_guest(void)
{
	return dk_impls_unregister(&b, change_guest, &t_why);
}

static int unregister_provider(void)
{
	return dk_provider_unregister(&b);
}

static int cover_guest(void)
{
	return dk_impls_register(&b, change_through, 1, &t_why);
}

/*
 * Regression test: keys that fall through are removed from a call's keyset when the call begins. If
 * an entry became a fallthrough after that, the redispatch to it failed with -ENOSYS.
 */
static void redispatch_to_a_new_fallthrough(void)
{
	static int (*const what[])(void) = {
		withdraw_guest, unregister_guest, unregister_provider, cover_guest,
	};
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU) |
				DK_KEY_BITS(DK_TRACER));
	struct dk_local local = t_no_local();
	unsigned int m, i;
	int served_by;

	for (m = 0; m < T_MODES; m++)
		for (i = 0; i < ARRAY_SIZE(what); i++) {
			setup(t_modes[m]);
			CHECK_OK(dk_op_define(&a, &change_op, 0, &t_why));
			CHECK_OK(dk_impls_register(&a, change_base, 2, &t_why));
			CHECK_OK(dk_impls_register(&b, change_guest, 1, &t_why));
			op = t_get(change_op.name);
			served_by = 0;
			CHECK_OK(change_at(op, &local, &x, nothing, &served_by));
			CHECK_INT(served_by, 321);
			served_by = 0;
			CHECK_OK(change_at(op, &local, &x, what[i], &served_by));
			CHECK_INT(served_by, 31);
			t_close();
		}
}

DK_OP(masked, "fallthroughs::masked", (struct dk_obj *x, u64 *seen), (x, seen), (x));

static int masked_sparse(struct dk_call *c, struct dk_obj *x, u64 *seen)
{
	*seen = c->ks.bits;
	return 0;
}

/*
 * SEMANTICS 6.3: if the top key of a redispatch's keyset falls through, all keys that fall through
 * are removed from the set. Otherwise, none is.
 */
static void redispatch_to_a_fallthrough_is_masked(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(masked, DK_SPARSE_CPU, masked_sparse),
		DK_IMPL_FALLTHROUGH(masked, DK_PYTHON),
		DK_IMPL_FALLTHROUGH(masked, DK_CPU),
	};
	const u64 sparse = DK_KEY_BITS(DK_SPARSE_CPU), all = sparse | DK_KEY_BITS(DK_CPU);
	struct dk_obj x = t_obj(all);
	struct dk_local local = t_no_local();
	unsigned int m;
	u64 seen;

	for (m = 0; m < T_MODES; m++) {
		setup(t_modes[m]);
		CHECK_OK(dk_op_define(&a, &masked_op, 0, &t_why));
		CHECK_OK(dk_impls_register(&a, impls, ARRAY_SIZE(impls), &t_why));
		op = t_get(masked_op.name);
		seen = 0;
		CHECK_OK(masked_by_keyset(op, &local, DK_KEYSET(all), &x, &seen));
		CHECK_INT(seen, all);
		CHECK_OK(masked_by_keyset(op, &local, DK_KEYSET(all | DK_KEY_BITS(DK_PYTHON)),
					  &x, &seen));
		CHECK_INT(seen, sparse);
		t_close();
	}
}

T_SUITE(fallthroughs,
	T(sleepable_fallback_skips_atomic_operator),
	T(ambiguous_entry_is_not_masked),
	T(fallthrough_in_entry_0_has_a_name),
	T(redispatch_to_a_new_fallthrough),
	T(redispatch_to_a_fallthrough_is_masked));
