// SPDX-License-Identifier: GPL-2.0-only
/*
 * Repeats TestDispatch of PyTorch's test_dispatch.py (SEMANTICS 11.2.2) with this API, and checks
 * the tables that result from registrations. A comment "states:" gives the number of the statement
 * in SEMANTICS, for PyTorch 2.14.1. Functions of the operator are named by the position of their
 * registration in the test.
 */
#include "orders.h"

/* states: 11.2.2 */
static void def(void)
{
	static const struct step steps[] = {
		DEF, AT(CATCH_ALL), AT(DK_CPU), AT(DK_AUTOGRAD), AT(DK_AUTOGRAD_CPU),
	};
	static const struct want want[] = {
		{ DK_CPU, KERNEL(2) }, { DK_AUTOGRAD_CPU, KERNEL(4) },
		{ DK_CUDA, MATH(1) },
	};
	static char want_dump[1024];

	o_open_with_schema();
	COMMUTE(steps, want);
	REGISTER_ALL(steps, want);
	CHECK_LISTED(DK_CPU, DK_AUTOGRAD_CPU, DK_AUTOGRAD,
		     DK_COMPOSITE_IMPLICIT_AUTOGRAD);
	snprintf(want_dump, sizeof(want_dump),
		 "schema: " SCHEMA "\ndebug: %s\nalias analysis kind: FROM_SCHEMA\n"
		 "CPU: f2 :: " INFERRED " [ boxed unboxed ]\n"
		 "AutogradCPU: f4 :: " INFERRED " [ boxed unboxed ]\n"
		 "Autograd[alias]: f3 :: " INFERRED " [ boxed unboxed ]\n"
		 "CompositeImplicitAutograd[alias]: f1 :: " INFERRED " [ boxed unboxed ]\n",
		 o_decl.debug);
	o_check_dump(want_dump);
}

/* states: 11.2.3 */
static void def_impl_schema_mismatch(void)
{
	static const char facts[] =
		"dispatch::op: 2 vs 1: (Tensor x, Tensor y) -> int, registered at here, "
		"vs (Tensor _0) -> int _0, f1";
	static struct dk_impl one;

	o_open_with_schema();
	o_decl.debug = "registered at here";
	one = t_impl(&o_decl, DK_CPU, 1);
	one.schema = "(Tensor _0) -> int _0";
	CHECK_OK(dk_op_define(&o_provider, &o_decl, 0, &t_why));
	o_op = t_get(o_decl.name);
	if (T_KERNEL) {
		/* in the kernel, schemas are text and are not compared */
		CHECK_OK(dk_impls_register(&o_other, &one, 1, &t_why));
		CHECK_STR(t_serves(o_op, 0, DK_CPU), "f1");
		t_close();
		return;
	}
	o_note_state();
	CHECK_INT(dk_impls_register(&o_other, &one, 1, &t_why), -EPROTOTYPE);
	CHECK_INT(t_why.reason, DK_WHY_SCHEMA_NUM_ARGS);
	CHECK_STR(t_why.name, facts);
	o_check_unchanged();
	/* the function is registered first */
	CHECK_OK(dk_op_undefine(&o_provider, o_decl.name, &t_why));
	CHECK_OK(dk_impls_register(&o_other, &one, 1, &t_why));
	o_note_state();
	CHECK_INT(dk_op_define(&o_provider, &o_decl, 0, &t_why), -EPROTOTYPE);
	CHECK_INT(t_why.reason, DK_WHY_SCHEMA_NUM_ARGS);
	CHECK_STR(t_why.name, facts);
	o_check_unchanged();
	t_close();
}

/* Defines an operator together with a function. The operator gets the schema of the function. */
static void define_inferred(__u32 alias_analysis, const char *dump)
{
	static struct dk_library lib = DK_LIBRARY(&o_provider, DEF, "dispatch", DK_UNDEFINED);
	static struct dk_impl fn;
	struct dk_op_decl bare;

	o_open();
	lib.debug = "registered at here";
	bare = t_decl("op");
	bare.alias_analysis = alias_analysis;
	fn = t_impl(&bare, DK_UNDEFINED, 1);
	fn.schema = "(Tensor _0) -> Tensor _0";
	CHECK_OK(dk_library_register(&lib, &t_why));
	CHECK_OK(dk_library_def_impl(&lib, &bare, 0, &fn, NULL, &t_why));
	o_op = t_get("dispatch::op");
	if (CHECK(o_op))
		o_check_dump(dump);
}

#define DUMP_OF_INFERRED(kind)						\
	"schema: dispatch::op(Tensor _0) -> Tensor _0\n"			\
	"debug: registered at here\nalias analysis kind: " kind "\n"		\
	"CompositeImplicitAutograd[alias]: f1 :: (Tensor _0) -> Tensor _0 "	\
	"[ boxed unboxed ]\n"

/* states: 11.2.4 */
static void def_with_inference(void)
{
	define_inferred(DK_ALIAS_DEFAULT, DUMP_OF_INFERRED("CONSERVATIVE"));
}

static void def_with_inference_and_alias_analysis(void)
{
	define_inferred(DK_ALIAS_PURE_FUNCTION, DUMP_OF_INFERRED("PURE_FUNCTION"));
}

/* If a declaration has a schema but no alias analysis kind, the kind is FROM_SCHEMA. */
static void defined_with_a_schema(void)
{
	struct dk_op_decl fresh;

	o_open();
	fresh = t_decl("dispatch::op");
	fresh.schema = "dispatch::op(Tensor(a!) x, Tensor y) -> Tensor(a!)";
	CHECK_OK(dk_op_define(&o_provider, &fresh, 0, &t_why));
	o_op = t_get("dispatch::op");
	if (CHECK(o_op))
		o_check_dump("schema: dispatch::op(Tensor(a!) x, Tensor y) -> Tensor(a!)\n"
			   "debug:\x20\nalias analysis kind: FROM_SCHEMA\n");
}

/* states: 11.2.5 */
static void def_only(void)
{
	static const struct step steps[] = { DEF };
	static const struct want want[] = {
		{ DK_UNDEFINED, UNSERVED }, { DK_CPU, UNSERVED },
		{ DK_AUTOGRAD_CPU, FALLBACK },
	};
	struct dk_impl_info info = { .size = sizeof(info) };
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));

	o_open_with_schema();
	o_decl.debug = "registered at here";
	COMMUTE(steps, want);
	REGISTER_ALL(steps, want);
	CHECK_INT(dk_op_impl(o_op, 0, &info), -ENOENT);
	CHECK_INT(t_call(o_op, &cpu, NULL), -ENOSYS);
	o_check_dump("schema: " SCHEMA "\ndebug: registered at here\n"
		   "alias analysis kind: FROM_SCHEMA\n");
}

/* states: 11.2.6 */
static void impl_only(void)
{
	static const struct step steps[] = {
		AT(CATCH_ALL), AT(DK_CPU), AT(DK_AUTOGRAD), AT(DK_AUTOGRAD_CPU),
	};
	static const struct want want[] = {
		{ DK_CPU, KERNEL(1) }, { DK_AUTOGRAD_CPU, KERNEL(3) },
		{ DK_CUDA, MATH(0) },
	};
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));

	o_open();
	o_inferred = INFERRED;
	COMMUTE(steps, want);
	REGISTER_ALL(steps, want);
	CHECK_LISTED(DK_CPU, DK_AUTOGRAD_CPU, DK_AUTOGRAD,
		     DK_COMPOSITE_IMPLICIT_AUTOGRAD);
	o_check_dump("schema: (none)\n"
		   "CPU: f1 :: " INFERRED " [ boxed unboxed ]\n"
		   "AutogradCPU: f3 :: " INFERRED " [ boxed unboxed ]\n"
		   "Autograd[alias]: f2 :: " INFERRED " [ boxed unboxed ]\n"
		   "CompositeImplicitAutograd[alias]: f0 :: " INFERRED
		   " [ boxed unboxed ]\n");
	/* the operator has a table, but is not defined */
	CHECK_INT(t_call(o_op, &cpu, NULL), -ENOENT);
}

/* states: 11.2.7 */
static void computed_table(void)
{
	static const struct step steps[] = {
		DEF_AT(CATCH_ALL), AT(DK_CPU), AT(DK_XLA), AT(DK_AUTOGRAD),
		AT(DK_AUTOGRAD_CPU),
	};
	static const struct want want[] = {
		{ DK_UNDEFINED, MATH(0) }, { DK_CPU, KERNEL(1) },
		{ DK_CUDA, MATH(0) }, { DK_XLA, KERNEL(2) },
		{ DK_AUTOGRAD_OTHER, MATH(0) }, { DK_AUTOGRAD_CPU, KERNEL(4) },
		{ DK_AUTOGRAD_CUDA, MATH(0) }, { DK_AUTOGRAD_XLA, AUTOGRAD(3) },
	};

	o_open();
	COMMUTE(steps, want);
}

/* states: 11.2.8 */
static void computed_table_with_cpu_math_autogradcpu_fallthrough(void)
{
	static const struct step steps[] = { DEF_AT(CATCH_ALL), AT(DK_CPU) };
	static const struct want want[] = {
		{ DK_UNDEFINED, MATH(0) }, { DK_CPU, KERNEL(1) },
		{ DK_CUDA, MATH(0) }, { DK_XLA, MATH(0) },
		{ DK_AUTOGRAD_OTHER, MATH(0) }, { DK_AUTOGRAD_CPU, FALLBACK },
		{ DK_AUTOGRAD_CUDA, MATH(0) }, { DK_AUTOGRAD_XLA, MATH(0) },
	};

	o_open();
	COMMUTE(steps, want);
}

/* states: 11.2.9 */
static void computed_table_with_math(void)
{
	static const struct step steps[] = {
		DEF, AT(DK_COMPOSITE_IMPLICIT_AUTOGRAD),
	};
	static const struct want want[] = {
		{ DK_UNDEFINED, MATH(1) }, { DK_CPU, MATH(1) }, { DK_CUDA, MATH(1) },
		{ DK_XLA, MATH(1) }, { DK_AUTOGRAD_OTHER, MATH(1) },
		{ DK_AUTOGRAD_CPU, MATH(1) }, { DK_AUTOGRAD_CUDA, MATH(1) },
		{ DK_AUTOGRAD_XLA, MATH(1) },
	};

	o_open();
	COMMUTE(steps, want);
}

/* states: 11.2.10 */
static void computed_table_with_cpu_math(void)
{
	static const struct step steps[] = {
		DEF, AT(DK_CPU), AT(DK_COMPOSITE_IMPLICIT_AUTOGRAD),
	};
	static const struct want want[] = {
		{ DK_UNDEFINED, MATH(2) }, { DK_CPU, KERNEL(1) },
		{ DK_CUDA, MATH(2) }, { DK_XLA, MATH(2) },
		{ DK_AUTOGRAD_OTHER, MATH(2) }, { DK_AUTOGRAD_CPU, FALLBACK },
		{ DK_AUTOGRAD_CUDA, MATH(2) }, { DK_AUTOGRAD_XLA, MATH(2) },
	};

	o_open();
	COMMUTE(steps, want);
}

/* states: 11.2.11 */
static void computed_table_with_autograd(void)
{
	static const struct step steps[] = { DEF, AT(DK_AUTOGRAD) };
	static const struct want want[] = {
		{ DK_UNDEFINED, UNSERVED }, { DK_CPU, UNSERVED }, { DK_CUDA, UNSERVED },
		{ DK_XLA, UNSERVED }, { DK_FPGA, UNSERVED }, { DK_SPARSE_CPU, UNSERVED },
		{ DK_AUTOGRAD_OTHER, AUTOGRAD(1) }, { DK_AUTOGRAD_CPU, AUTOGRAD(1) },
		{ DK_AUTOGRAD_CUDA, AUTOGRAD(1) }, { DK_AUTOGRAD_XLA, AUTOGRAD(1) },
	};

	o_open();
	COMMUTE(steps, want);
}

/* states: 11.2.12 */
static void computed_table_with_cpu_autograd_math(void)
{
	static const struct step steps[] = {
		DEF, AT(DK_CPU), AT(DK_AUTOGRAD), AT(DK_COMPOSITE_IMPLICIT_AUTOGRAD),
	};
	static const struct want want[] = {
		{ DK_UNDEFINED, MATH(3) }, { DK_CPU, KERNEL(1) },
		{ DK_CUDA, MATH(3) }, { DK_XLA, MATH(3) },
		{ DK_AUTOGRAD_OTHER, MATH(3) }, { DK_AUTOGRAD_CPU, AUTOGRAD(2) },
		{ DK_AUTOGRAD_CUDA, MATH(3) }, { DK_AUTOGRAD_XLA, MATH(3) },
	};

	o_open();
	COMMUTE(steps, want);
}

/* states: 11.2.13 */
static void computed_table_with_ambiguous_autogradother(void)
{
	static const struct step steps[] = {
		DEF, AT(DK_COMPOSITE_IMPLICIT_AUTOGRAD), AT(DK_FPGA),
	};
	static const struct want want[] = {
		{ DK_UNDEFINED, MATH(1) }, { DK_CPU, MATH(1) }, { DK_CUDA, MATH(1) },
		{ DK_XLA, MATH(1) }, { DK_AUTOGRAD_OTHER, AMBIGUOUS },
		{ DK_AUTOGRAD_CPU, MATH(1) }, { DK_AUTOGRAD_CUDA, MATH(1) },
		{ DK_AUTOGRAD_XLA, MATH(1) }, { DK_FPGA, KERNEL(2) },
	};

	o_open();
	COMMUTE(steps, want);
}

/* states: 11.2.14 */
static void computed_table_with_cpu_defaultbackend(void)
{
	static const struct step steps[] = {
		DEF, AT(DK_CPU), AT(DK_COMPOSITE_EXPLICIT_AUTOGRAD),
	};
	static const struct want want[] = {
		{ DK_UNDEFINED, DEFAULT(2) }, { DK_CPU, KERNEL(1) },
		{ DK_CUDA, DEFAULT(2) }, { DK_XLA, DEFAULT(2) },
		{ DK_AUTOGRAD_OTHER, FALLBACK }, { DK_AUTOGRAD_CPU, FALLBACK },
		{ DK_AUTOGRAD_CUDA, FALLBACK }, { DK_AUTOGRAD_XLA, FALLBACK },
	};

	o_open();
	COMMUTE(steps, want);
}

/* states: 11.2.15 */
static void computed_table_with_cpu_autograd_defaultbackend(void)
{
	static const struct step steps[] = {
		DEF, AT(DK_CPU), AT(DK_AUTOGRAD), AT(DK_COMPOSITE_EXPLICIT_AUTOGRAD),
	};
	static const struct want want[] = {
		{ DK_UNDEFINED, DEFAULT(3) }, { DK_CPU, KERNEL(1) },
		{ DK_CUDA, DEFAULT(3) }, { DK_XLA, DEFAULT(3) },
		{ DK_AUTOGRAD_OTHER, AUTOGRAD(2) }, { DK_AUTOGRAD_CPU, AUTOGRAD(2) },
		{ DK_AUTOGRAD_CUDA, AUTOGRAD(2) }, { DK_AUTOGRAD_XLA, AUTOGRAD(2) },
		{ DK_FPGA, DEFAULT(3) },
	};

	o_open();
	COMMUTE(steps, want);
}

/* states: 11.2.16 */
static void computed_table_with_cpu_autograd_math_defaultbackend(void)
{
	static const struct step steps[] = {
		DEF, AT(DK_CPU), AT(DK_AUTOGRAD),
		AT(DK_COMPOSITE_IMPLICIT_AUTOGRAD),
		AT(DK_COMPOSITE_EXPLICIT_AUTOGRAD),
	};
	static const struct want want[] = {
		{ DK_UNDEFINED, DEFAULT(4) }, { DK_CPU, KERNEL(1) },
		{ DK_CUDA, DEFAULT(4) }, { DK_XLA, DEFAULT(4) },
		{ DK_AUTOGRAD_OTHER, AUTOGRAD(2) }, { DK_AUTOGRAD_CPU, AUTOGRAD(2) },
		{ DK_AUTOGRAD_CUDA, AUTOGRAD(2) }, { DK_AUTOGRAD_XLA, AUTOGRAD(2) },
		{ DK_FPGA, DEFAULT(4) },
	};

	o_open();
	COMMUTE(steps, want);
}

/* Checks that a second definition is refused. @first and @second are kinds of alias analysis. */
static void define_twice(unsigned int first, unsigned int second)
{
	static struct dk_op_decl again;
	static const struct step steps[] = { DEF_AT(DK_CPU) };

	o_open();
	o_decl.alias_analysis = first;
	o_decl.schema = "dispatch::op(Tensor x, Tensor y) -> int";
	o_register(steps, 0);
	again = o_decl;
	o_decl.debug = "registered at here";
	again.debug = "registered at there";
	again.alias_analysis = second;
	o_note_state();
	CHECK_INT(dk_op_define(&o_provider, &again, 0, &t_why), -EEXIST);
	CHECK_INT(t_why.reason, DK_WHY_DEFINED);
	CHECK_STR(t_why.name, "dispatch::op: registered at here -> registered at there");
	o_check_unchanged();
	again.debug = NULL;
	CHECK_INT(dk_op_define(&o_other, &again, 0, &t_why), -EEXIST);
	CHECK_INT(t_why.reason, DK_WHY_DEFINED);
	CHECK_STR(t_why.name, "dispatch::op: registered at here -> other");
	o_check_unchanged();
	/* the second definition is accepted after the first one was removed */
	CHECK_OK(dk_op_undefine(&o_provider, o_decl.name, &t_why));
	CHECK_OK(dk_op_define(&o_other, &again, 0, &t_why));
	o_check_unchanged();
	t_close();
}

/* states: 11.2.17 */
static void multiple_def_error(void)
{
	define_twice(DK_ALIAS_PURE_FUNCTION, DK_ALIAS_PURE_FUNCTION);
}

/* states: 11.2.18 */
static void def_with_explicit_alias(void)
{
	o_open_with_schema();
	o_decl.debug = "registered at here";
	o_decl.alias_analysis = DK_ALIAS_PURE_FUNCTION;
	CHECK_OK(dk_op_define(&o_provider, &o_decl, 0, &t_why));
	o_op = t_get(o_decl.name);
	o_check_dump("schema: " SCHEMA "\ndebug: registered at here\n"
		   "alias analysis kind: PURE_FUNCTION\n");
}

/* states: 11.2.19 */
static void multiple_def_alias_defaulting(void)
{
	define_twice(DK_ALIAS_PURE_FUNCTION, DK_ALIAS_DEFAULT);
	define_twice(DK_ALIAS_DEFAULT, DK_ALIAS_PURE_FUNCTION);
}

/* states: 11.2.20 */
static void multiple_def_alias_mismatch(void)
{
	define_twice(DK_ALIAS_PURE_FUNCTION, DK_ALIAS_CONSERVATIVE);
	define_twice(DK_ALIAS_CONSERVATIVE, DK_ALIAS_PURE_FUNCTION);
}

/* states: 11.2.21 */
static void multiple_fallback(void)
{
	static const struct step steps[] = { DEF };
	static struct dk_impl first, second;
	struct dk_obj xla = t_obj(DK_KEY_BITS(DK_XLA) | DK_KEY_BITS(DK_CPU));

	o_open();
	o_register(steps, 0);
	first = t_fallthrough(NULL, DK_XLA);
	second = t_fallthrough(NULL, DK_XLA);
	CHECK_OK(dk_fallback_register(&o_provider, &first, &t_why));
	o_note_state();
	CHECK_STR(t_serves(o_op, 0, DK_XLA), "fallthrough");
	CHECK_INT(dk_fallback_register(&o_provider, &second, &t_why), -EEXIST);
	CHECK_INT(t_why.reason, DK_WHY_FALLBACK_EXISTS);
	CHECK_STR(t_why.name, "XLA: fallthrough (dispatch) -> fallthrough (dispatch)");
	o_check_unchanged();
	CHECK_INT(dk_fallback_register(&o_other, &second, &t_why), -EEXIST);
	CHECK_STR(t_why.name, "XLA: fallthrough (dispatch) -> fallthrough (other)");
	o_check_unchanged();
	CHECK_OK(dk_impls_unregister(&o_provider, &first, &t_why));
	CHECK_STR(t_route_label(o_op, &xla, NULL), "-ENOSYS");
	CHECK_OK(dk_fallback_register(&o_other, &second, &t_why));
	o_check_unchanged();
}

/* states: 11.2.22 */
static void overwrite_math(void)
{
	static const struct step steps[] = { AT(CATCH_ALL), AT(CATCH_ALL) };
	struct dk_impl_info info = { .size = sizeof(info) };
	unsigned int first, i;

	o_open();
	for (first = 0; first < 2; first++) {
		o_register(&steps[first], first);
		o_register(&steps[!first], !first);
		/* the newer function is listed first, and serves */
		for (i = 0; i < 2; i++) {
			CHECK_OK(dk_op_impl(o_op, i, &info));
			CHECK_INT(info.key, DK_COMPOSITE_IMPLICIT_AUTOGRAD);
			CHECK_STR(info.label, t_labels[i ? first : !first]);
			CHECK_INT(info.is_active, !i);
		}
		CHECK_STR(t_serves(o_op, 0, DK_CPU), t_labels[!first]);
		CHECK_INT(t_rule_served(), DK_PROV_MATH);
		/* the older or the newer function is unregistered first */
		o_remove(&steps[0], 0);
		CHECK_STR(t_serves(o_op, 0, DK_CPU), "f1");
		CHECK_OK(dk_op_impl(o_op, 0, &info));
		CHECK(info.is_active);
		o_remove(&steps[1], 1);
		CHECK_STR(t_serves(o_op, 0, DK_CPU), "missing");
	}
}

/* states: 11.2.24 */
static void find_dangling_impls_ext(void)
{
	struct dk_op_info info = { .size = sizeof(info) };
	static const struct step steps[] = { DEF_AT(DK_CPU) };
	static struct dk_op_decl foo;
	static struct dk_impl impl;
	static char text[512];

	o_open();
	o_register(steps, 0);
	CHECK_INT(dk_registry_list_dangling(t_reg, text, sizeof(text)), 0);
	foo = t_decl("__dangling__::foo");
	impl = t_impl(&foo, DK_CPU, 1);
	impl.label = "registered at dangling_impl_extension.cpp:5";
	impl.schema = "() -> ()";
	CHECK_OK(dk_impls_register(&o_other, &impl, 1, &t_why));
	dk_registry_list_dangling(t_reg, text, sizeof(text));
	CHECK_STR(text, "name: __dangling__::foo\nschema: (none)\n"
			"CPU: registered at dangling_impl_extension.cpp:5 :: () -> () "
			"[ boxed unboxed ]\n");
	CHECK_OK(dk_registry_next_op(t_reg, NULL, &info));
	CHECK_STR(info.name, "__dangling__::foo");
	CHECK(info.is_dangling && !info.is_defined);
	CHECK_OK(dk_registry_next_op(t_reg, info.name, &info));
	CHECK(!info.is_dangling);
	CHECK_OK(dk_impls_unregister(&o_other, &impl, &t_why));
	CHECK_INT(dk_registry_list_dangling(t_reg, text, sizeof(text)), 0);
}

/* states: 11.2.25 */
static void registrations_for_dispatch_key_invalid(void)
{
	unsigned int key = 1234;

	o_open();
	CHECK_INT(dk_registry_key_parse(t_reg, "invalid_key", &key, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_PARSE_KEY);
	CHECK_STR(t_why.text, "could not parse dispatch key");
	CHECK_STR(t_why.name, "invalid_key");
	CHECK_INT(key, 1234);
}

T_SUITE(dispatch,
	T(def),
	T(def_impl_schema_mismatch),
	T(def_with_inference),
	T(def_with_inference_and_alias_analysis),
	T(defined_with_a_schema),
	T(def_only),
	T(impl_only),
	T(computed_table),
	T(computed_table_with_cpu_math_autogradcpu_fallthrough),
	T(computed_table_with_math),
	T(computed_table_with_cpu_math),
	T(computed_table_with_autograd),
	T(computed_table_with_cpu_autograd_math),
	T(computed_table_with_ambiguous_autogradother),
	T(computed_table_with_cpu_defaultbackend),
	T(computed_table_with_cpu_autograd_defaultbackend),
	T(computed_table_with_cpu_autograd_math_defaultbackend),
	T(multiple_def_error),
	T(def_with_explicit_alias),
	T(multiple_def_alias_defaulting),
	T(multiple_def_alias_mismatch),
	T(multiple_fallback),
	T(overwrite_math),
	T(find_dangling_impls_ext),
	T(registrations_for_dispatch_key_invalid));
