// SPDX-License-Identifier: GPL-2.0-only
/*
 * Repeats TestPythonDispatcher of PyTorch's test_dispatch.py (SEMANTICS 11.2) with this API.
 * dispatch.c repeats TestDispatch, and explains the comments "states:".
 */
#include "orders.h"

/* states: 11.2.26 */
static void basic(void)
{
	static const struct step steps[] = {
		DEF_AT(DK_CPU), AT(DK_XLA), AT(DK_LAZY),
		AT(DK_COMPOSITE_IMPLICIT_AUTOGRAD),
	};
	static const struct want want[] = {
		{ DK_CPU, KERNEL(0) }, { DK_XLA, KERNEL(1) }, { DK_LAZY, KERNEL(2) },
		{ DK_FPGA, MATH(3) }, { DK_AUTOGRAD_OTHER, MATH(3) },
		{ DK_AUTOGRAD_CPU, FALLBACK }, { DK_AUTOGRAD_XLA, FALLBACK },
		{ DK_AUTOGRAD_LAZY, FALLBACK },
	};

	o_open();
	COMMUTE(steps, want);
}

/* states: 11.2.27 */
static void math_autogradcpu(void)
{
	static const struct step steps[] = {
		DEF_AT(DK_CPU), AT(DK_XLA), AT(DK_LAZY),
		AT(DK_COMPOSITE_IMPLICIT_AUTOGRAD), AT(DK_AUTOGRAD_CPU),
	};
	static const struct want want[] = {
		{ DK_CPU, KERNEL(0) }, { DK_XLA, KERNEL(1) }, { DK_LAZY, KERNEL(2) },
		{ DK_FPGA, MATH(3) }, { DK_AUTOGRAD_OTHER, MATH(3) },
		{ DK_AUTOGRAD_CPU, KERNEL(4) }, { DK_AUTOGRAD_XLA, FALLBACK },
		{ DK_AUTOGRAD_LAZY, FALLBACK },
	};

	o_open();
	REGISTER_ALL(steps, want);
	CHECK_LISTED(DK_CPU, DK_XLA, DK_LAZY, DK_AUTOGRAD_CPU,
		     DK_COMPOSITE_IMPLICIT_AUTOGRAD);
}

/* states: 11.2.28 */
static void defaultbackend_autogradcpu(void)
{
	static const struct step steps[] = {
		DEF_AT(DK_CPU), AT(DK_XLA), AT(DK_LAZY),
		AT(DK_COMPOSITE_EXPLICIT_AUTOGRAD), AT(DK_AUTOGRAD_CPU),
	};
	static const struct want want[] = {
		{ DK_CPU, KERNEL(0) }, { DK_XLA, KERNEL(1) }, { DK_LAZY, KERNEL(2) },
		{ DK_FPGA, DEFAULT(3) }, { DK_AUTOGRAD_OTHER, FALLBACK },
		{ DK_AUTOGRAD_CPU, KERNEL(4) }, { DK_AUTOGRAD_XLA, FALLBACK },
		{ DK_AUTOGRAD_LAZY, FALLBACK },
	};

	o_open();
	REGISTER_ALL(steps, want);
	CHECK_LISTED(DK_CPU, DK_XLA, DK_LAZY, DK_AUTOGRAD_CPU,
		     DK_COMPOSITE_EXPLICIT_AUTOGRAD);
}

/* states: 11.2.29 */
static void autogradother(void)
{
	static const struct step steps[] = {
		DEF_AT(DK_CPU), AT(DK_FPGA), AT(DK_COMPOSITE_IMPLICIT_AUTOGRAD),
	};
	static const struct want want[] = {
		{ DK_CPU, KERNEL(0) }, { DK_FPGA, KERNEL(1) },
		{ DK_AUTOGRAD_OTHER, AMBIGUOUS }, { DK_AUTOGRAD_CPU, FALLBACK },
		{ DK_XLA, MATH(2) }, { DK_AUTOGRAD_XLA, MATH(2) },
		{ DK_LAZY, MATH(2) }, { DK_AUTOGRAD_LAZY, MATH(2) },
	};

	o_open();
	COMMUTE(steps, want);
	REGISTER_ALL(steps, want);
	CHECK_LISTED(DK_FPGA, DK_CPU, DK_COMPOSITE_IMPLICIT_AUTOGRAD);
}

/*
 * states: 11.2.30
 *
 * PyTorch's teaching class PythonDispatcher refuses a list that has a key twice. PyTorch's
 * dispatcher and this one do not: the later function serves the key, and the registration
 * reports an override.
 */
static void duplicate_registrations(void)
{
	static const struct step steps[] = { DEF };
	static struct dk_impl list[2];

	o_open();
	o_register(steps, 0);
	list[0] = t_impl(&o_decl, DK_CPU, 1);
	list[1] = t_impl(&o_decl, DK_CPU, 2);
	CHECK_OK(dk_impls_register(&o_provider, list, 2, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_OVERRIDE);
	CHECK_STR(t_why.name, "dispatch::op CPU: f1 (dispatch) -> f2 (dispatch)");
	CHECK_STR(t_serves(o_op, 0, DK_CPU), "f2");
	CHECK_OK(dk_impls_unregister(&o_provider, list, &t_why));
	CHECK_STR(t_serves(o_op, 0, DK_CPU), "missing");
}

/*
 * states: 11.2.31
 *
 * PythonDispatcher also refuses a list that has both of these aliases. PyTorch's dispatcher and
 * this one accept it. Then CompositeExplicitAutograd serves, and CompositeImplicitAutograd
 * serves no key.
 */
static void defaultbackend_math(void)
{
	static const struct step steps[] = { DEF };
	static struct dk_impl list[2];
	const struct dk_layout *l;
	unsigned int slot;

	o_open();
	l = dk_registry_layout(t_reg);
	o_register(steps, 0);
	list[0] = t_impl(&o_decl, DK_COMPOSITE_IMPLICIT_AUTOGRAD, 1);
	list[1] = t_impl(&o_decl, DK_COMPOSITE_EXPLICIT_AUTOGRAD, 2);
	CHECK_OK(dk_impls_register(&o_provider, list, 2, &t_why));
	for (slot = 0; slot < dk_layout_entries(l); slot++)
		CHECK(strcmp(t_serves(o_op, 0, dk_slot_key(l, slot)), "f1"));
	CHECK_STR(t_serves(o_op, 0, DK_CPU), "f2");
	CHECK_STR(t_serves(o_op, 0, DK_AUTOGRAD_CPU), "fallthrough");
}

T_SUITE(dispatch_python,
	T(basic),
	T(math_autogradcpu),
	T(defaultbackend_autogradcpu),
	T(autogradother),
	T(duplicate_registrations),
	T(defaultbackend_math));
