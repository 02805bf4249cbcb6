// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests libraries and their handles: SEMANTICS 7.5, 8.1 and 8.2. full_registry.h explains the
 * comments "refuses:".
 */
#include "test.h"

static struct dk_obj cpu;

static const char *route_label_of(const char *name)
{
	struct dk_op *op = dk_op_get(t_reg, name);
	const char *label = op ? t_route_label(op, &cpu, NULL) : "none";

	dk_op_put(op);
	return label;
}

static struct dk_provider prov;

/* Tests register objects on their stack, so they must call close() before they return. */
static void open(void)
{
	t_open("v1", 0);
	t_join(&prov, "lib");
	cpu = t_obj(DK_KEY_BITS(DK_CPU));
}

static void close(void)
{
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	t_unregister(&prov);
	t_close();
}

/* Registers a definition and functions, with and without the namespace, in several orders. */
static void library_registers_in_any_order(void)
{
	struct dk_library def = t_library(&prov, DK_LIBRARY_DEF, "ns", 0);
	struct dk_library impl = t_library(&prov, DK_LIBRARY_IMPL, "ns", DK_CPU);
	struct dk_op_decl bare = t_decl("op"), full = t_decl("ns::op");
	struct dk_impl one = t_impl(&bare, 0, 1), two = t_impl(&full, DK_CPU, 2);
	struct dk_handle h_def = { NULL }, h_one = { NULL }, h_two = { NULL };

	open();
	CHECK_OK(dk_library_register(&impl, &t_why));
	CHECK_OK(dk_library_register(&def, &t_why));
	CHECK_OK(dk_library_impl(&impl, &one, &h_one, &t_why));
	CHECK_STR(route_label_of("ns::op"), "-ENOENT");
	CHECK_OK(dk_library_def(&def, &bare, 0, &h_def, &t_why));
	CHECK_STR(route_label_of("ns::op"), "f1");
	CHECK_OK(dk_library_impl(&impl, &two, &h_two, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_OVERRIDE);
	CHECK_STR(t_why.name, "ns::op CPU: f1 (lib) -> f2 (lib)");
	CHECK_STR(route_label_of("ns::op"), "f2");

	/* releasing an overridden function changes nothing; then release the newest one */
	CHECK_OK(dk_handle_release(&impl, &h_one));
	CHECK(!h_one.core);
	CHECK_STR(route_label_of("ns::op"), "f2");
	CHECK_OK(dk_handle_release(&impl, &h_one));
	CHECK_OK(dk_library_impl(&impl, &one, &h_one, &t_why));
	CHECK_STR(route_label_of("ns::op"), "f1");
	CHECK_OK(dk_handle_release(&impl, &h_one));
	CHECK_STR(route_label_of("ns::op"), "f2");
	CHECK_OK(dk_handle_release(&def, &h_def));
	CHECK_STR(route_label_of("ns::op"), "-ENOENT");
	CHECK_OK(dk_handle_release(&impl, &h_two));
	CHECK_STR(route_label_of("ns::op"), "none");
	close();
}

/*
 * Unregistering a library removes its registrations. After that, the library can be registered
 * again.
 */
static void library_is_registered_again(void)
{
	struct dk_library def = t_library(&prov, DK_LIBRARY_DEF, "ns", 0);
	struct dk_library other = t_library(&prov, DK_LIBRARY_FRAGMENT, "ns", 0);
	struct dk_op_decl decl = t_decl("op");
	struct dk_impl catch_all = t_impl(&decl, 0, 1);
	struct dk_handle h = { NULL }, h_other = { NULL };
	int i;

	open();
	CHECK_OK(dk_library_register(&other, &t_why));
	for (i = 0; i < 2; i++) {
		CHECK_OK(dk_library_register(&def, &t_why));
		CHECK_OK(dk_library_def_impl(&def, &decl, 0, &catch_all, &h, &t_why));
		CHECK_STR(route_label_of("ns::op"), "f1");
		CHECK_OK(dk_library_impl(&other, &catch_all, &h_other, &t_why));
		CHECK_OK(dk_library_unregister(&def));
		CHECK(!def.core && !h.core);
		CHECK_STR(route_label_of("ns::op"), "-ENOENT");
		CHECK_OK(dk_handle_release(&other, &h_other));
		CHECK_STR(route_label_of("ns::op"), "none");
		CHECK_OK(dk_library_unregister(&def));
	}
	/* unregistering the provider also removes its libraries and their registrations */
	CHECK_OK(dk_library_register(&def, &t_why));
	CHECK_OK(dk_library_def_impl(&def, &decl, 0, &catch_all, &h, &t_why));
	CHECK_OK(dk_provider_unregister(&prov));
	CHECK(!def.core && !h.core && !other.core);
	CHECK_OK(dk_handle_release(&def, &h));
	CHECK_OK(dk_library_unregister(&def));
	CHECK_STR(route_label_of("ns::op"), "none");
	CHECK_OK(dk_provider_register(&prov, &t_why));
	/* the handle of a definition that was undefined by name does not undefine a later one */
	CHECK_OK(dk_library_register(&def, &t_why));
	CHECK_OK(dk_library_def(&def, &decl, 0, &h, &t_why));
	CHECK_OK(dk_op_undefine(&prov, "ns::op", &t_why));
	decl.name = "ns::op";
	CHECK_OK(dk_op_define(&prov, &decl, 0, &t_why));
	CHECK_OK(dk_handle_release(&def, &h));
	CHECK_STR(route_label_of("ns::op"), "-ENOSYS");
	close();
}

/*
 * A name is used as it is, as by dk_op_define(): it is refused if it contains a space. The kernel,
 * which has no grammar, accepts a parenthesis. Only the name of a schema ends before these.
 */
static void library_does_not_cut_names(void)
{
	struct dk_library def = t_library(&prov, DK_LIBRARY_DEF, "ns", 0);
	struct dk_op_decl decl = t_decl("op"), cut = t_decl("op(x)"), wrong = t_decl("op ");
	struct dk_impl one = t_impl(&decl, DK_CPU, 1), two = t_impl(&cut, DK_CPU, 2);
	struct dk_impl three = t_impl(&wrong, DK_CPU, 3);

	open();
	CHECK_OK(dk_library_register(&def, &t_why));
	CHECK_OK(dk_library_def(&def, &decl, 0, NULL, &t_why));
	CHECK_OK(dk_library_impl(&def, &one, NULL, &t_why));
	if (T_KERNEL) {
		CHECK_OK(dk_library_impl(&def, &two, NULL, &t_why));
		CHECK_INT(t_why.reason, DK_WHY_NONE);
		CHECK_OK(dk_library_def(&def, &cut, 0, NULL, &t_why));
		CHECK_STR(route_label_of("ns::op(x)"), "f2");
	} else {
		CHECK_INT(dk_library_impl(&def, &two, NULL, &t_why), -EINVAL);
		CHECK_INT(dk_library_def(&def, &cut, 0, NULL, &t_why), -EINVAL);
	}
	CHECK_STR(route_label_of("ns::op"), "f1");
	CHECK_INT(dk_library_impl(&def, &three, NULL, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_NAME);
	CHECK_INT(dk_library_def(&def, &wrong, 0, NULL, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_NAME);
	decl.name = NULL;
	decl.schema = " named (Tensor x) -> ()";
	CHECK_OK(dk_library_def(&def, &decl, 0, NULL, &t_why));
	CHECK_STR(route_label_of("ns::named"), "-ENOSYS");
	close();
}

static void fallbacks(void)
{
	struct dk_library lib = t_library(&prov, DK_LIBRARY_IMPL, "_", DK_AUTOGRAD);
	struct dk_library keyless = t_library(&prov, DK_LIBRARY_IMPL, NULL, 0);
	struct dk_op_decl decl = t_decl("ns::op"), bare = t_decl("op");
	struct dk_impl through = t_fallthrough(NULL, 0);
	struct dk_impl fn = t_impl(&decl, DK_CPU, 1), plain;
	struct dk_handle h = { NULL };

	open();
	cpu = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU));
	CHECK_OK(dk_op_define(&prov, &decl, 0, &t_why));
	CHECK_OK(dk_library_register(&lib, &t_why));
	CHECK_OK(dk_library_register(&keyless, &t_why));
	/* SEMANTICS 8.2: a library without a namespace refuses names that have one */
	CHECK_INT(dk_library_impl(&keyless, &fn, NULL, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_NAMESPACE);
	plain = t_impl(&bare, DK_CPU, 1);
	CHECK_OK(dk_library_impl(&keyless, &plain, NULL, &t_why));
	CHECK_OK(dk_impls_register(&prov, &fn, 1, &t_why));
	CHECK_STR(route_label_of("ns::op"), "-ENOSYS");
	CHECK_OK(dk_library_fallback(&lib, &through, &h, &t_why));
	CHECK_STR(route_label_of("ns::op"), "f1");
	through.key = DK_AUTOGRAD_CPU;
	CHECK_INT(dk_library_fallback(&keyless, &through, NULL, &t_why), -EEXIST);
	CHECK_INT(t_why.reason, DK_WHY_FALLBACK_EXISTS);
	CHECK_STR(t_why.name, "AutogradCPU: fallthrough (lib) -> fallthrough (lib)");
	CHECK_OK(dk_handle_release(&lib, &h));
	CHECK_STR(route_label_of("ns::op"), "-ENOSYS");
	CHECK_OK(dk_library_fallback(&keyless, &through, NULL, &t_why));
	CHECK_STR(route_label_of("ns::op"), "f1");
	CHECK_OK(dk_library_unregister(&keyless));
	CHECK_STR(route_label_of("ns::op"), "-ENOSYS");
	/* SEMANTICS 8.2: a fallback is registered at its own key, not at the library's */
	CHECK_OK(dk_library_fallback(&lib, &through, &h, &t_why));
	CHECK_INT(dk_registry_has_fallback(t_reg, DK_AUTOGRAD_CPU), 1);
	CHECK_INT(dk_registry_has_fallback(t_reg, DK_AUTOGRAD_CUDA), 0);
	close();
}

static struct dk_library *within;
static struct dk_handle *within_handle;

static int try_release(struct dk_call *c, struct dk_obj *x, struct dk_obj *y, int *served_by)
{
	/* refuses: dk_handle_release EDEADLK INSIDE */
	CHECK_INT(dk_handle_release(within, within_handle), -EDEADLK);
	/* refuses: dk_library_unregister EDEADLK INSIDE */
	CHECK_INT(dk_library_unregister(within), -EDEADLK);
	*served_by = 1;
	return 0;
}

static void call_cannot_release_its_function(void)
{
	struct dk_library lib = t_library(&prov, DK_LIBRARY_FRAGMENT, "ns", 0);
	struct dk_op_decl decl = t_decl("op");
	struct dk_impl fn = t_impl(&decl, DK_CPU, 1);
	struct dk_handle h = { NULL };
	struct dk_op *op;

	open();
	fn.fn = (dk_fn_t)try_release;
	within = &lib;
	within_handle = &h;
	CHECK_OK(dk_library_register(&lib, &t_why));
	CHECK_OK(dk_library_def_impl(&lib, &decl, 0, &fn, &h, &t_why));
	op = dk_op_get(t_reg, "ns::op");
	CHECK_INT(t_call(op, &cpu, NULL), 1);
	CHECK(h.core && lib.core);
	dk_op_put(op);
	close();
}

/* ---- finding operators -------------------------------------------------------- */

/*
 * Lists all operators as "NAME DEFINER/FUNCTIONS", with "!" after the name of a dangling one.
 * Undefines the operator @to_undefine during the walk, unless it is NULL.
 */
static const char *walked(char *to_undefine)
{
	static char text[256];
	struct dk_op_info info = { .size = sizeof(info) };
	const char *after = NULL;
	size_t len = 0;

	text[0] = 0;
	while (!dk_registry_next_op(t_reg, after, &info) && len < sizeof(text) - 64) {
		len += snprintf(text + len, sizeof(text) - len, "%s%s %s/%u ", info.name,
				info.is_dangling ? "!" : "", info.definer, info.num_impls);
		CHECK_INT(info.is_defined, info.definer[0] != 0);
		if (to_undefine && !strcmp(info.name, to_undefine))
			CHECK_OK(dk_op_undefine(&prov, to_undefine, &t_why));
		after = info.name;
	}
	return text;
}

/* Finds and lists operators in every possible state (SEMANTICS 8.3 and 9). */
static void find_and_walk(void)
{
	struct dk_op_decl only = t_decl("a::only_defined"), both = t_decl("b::both");
	struct dk_op_decl dangling = t_decl("c::dangling"), held = t_decl("d::held");
	struct dk_impl impls[3] = {
		t_impl(&both, DK_CPU, 1), t_impl(&dangling, DK_CPU, 1),
		t_impl(&both, DK_CUDA, 1),
	};
	struct dk_op_info info = { .size = sizeof(info) };
	struct dk_op *op, *holder;

	open();
	CHECK_STR(walked(NULL), "");
	impls[0].flags = DK_IMPL_F_ATOMIC;
	impls[2].flags = DK_IMPL_F_ATOMIC;
	CHECK_OK(dk_op_define(&prov, &held, 0, &t_why));
	holder = dk_op_get(t_reg, "d::held");
	CHECK_OK(dk_op_undefine(&prov, "d::held", &t_why));
	CHECK_OK(dk_op_define(&prov, &both, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_op_define(&prov, &only, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, impls, 3, &t_why));
	CHECK_STR(walked(NULL), "a::only_defined lib/0 b::both lib/2 c::dangling! /1 ");
	CHECK_OK(dk_registry_next_op(t_reg, "a::only_defined", &info));
	CHECK_INT(info.flags, DK_OP_ATOMIC);
	/* list the operator after a name between two operators, and after the last operator */
	CHECK_OK(dk_registry_next_op(t_reg, "b::botg", &info));
	CHECK_STR(info.name, "b::both");
	/* refuses: dk_registry_next_op ENOENT NO_OPERATOR */
	CHECK_INT(dk_registry_next_op(t_reg, "c::dangling", &info), -ENOENT);
	info.size--;
	/* refuses: dk_registry_next_op EINVAL BAD_SIZE */
	CHECK_INT(dk_registry_next_op(t_reg, NULL, &info), -EINVAL);

	CHECK_OK(dk_op_get_defined(t_reg, "b::both", &op, &t_why));
	CHECK_STR(dk_op_name(op), "b::both");
	CHECK_STR(walked("b::both"),
		  "a::only_defined lib/0 b::both lib/2 c::dangling! /1 ");
	CHECK_STR(walked(NULL), "a::only_defined lib/0 b::both! /2 c::dangling! /1 ");
	dk_op_put(op);
	/* refuses: dk_op_get_defined ENOENT DANGLING */
	CHECK_INT(dk_op_get_defined(t_reg, "b::both", &op, &t_why), -ENOENT);
	CHECK_INT(t_why.reason, DK_WHY_DANGLING);
	CHECK_STR(t_why.name, "b::both");
	CHECK(!op);
	/* refuses: dk_op_get_defined ENOENT NO_OPERATOR */
	CHECK_INT(dk_op_get_defined(t_reg, "b::bot", &op, &t_why), -ENOENT);
	CHECK_INT(t_why.reason, DK_WHY_NO_OPERATOR);
	CHECK_STR(t_why.name, "b::bot");
	/* a held operator without a definition and without functions is not dangling */
	CHECK_INT(dk_op_get_defined(t_reg, "d::held", &op, &t_why), -ENOENT);
	CHECK_INT(t_why.reason, DK_WHY_NO_OPERATOR);
	CHECK_STR(route_label_of("d::held"), "-ENOENT");
	dk_op_put(holder);
	CHECK_OK(dk_impls_unregister(&prov, impls, &t_why));
	CHECK_STR(walked(NULL), "a::only_defined lib/0 ");
	close();
}

/* ---- errors that name the earlier and the later registration --------------------- */

/* An error names both signatures, which differ only near their ends. */
static void error_names_both_signatures(void)
{
	struct dk_library lib = t_library(&prov, DK_LIBRARY_DEF, "ns", 0);
	struct dk_op_decl decl = t_decl("op"), bad = t_decl("ns::op"), none = t_decl("ns::op");
	struct dk_impl fn = t_impl(&bad, DK_CPU, 1);
	struct dk_handle h = { NULL };

	open();
	CHECK_OK(dk_library_register(&lib, &t_why));
	CHECK_OK(dk_library_def(&lib, &decl, 0, &h, &t_why));
	/* a common beginning is left out, so that the text shows the difference */
	bad.sig = "(struct dk_obj *x, struct dk_obj *y, long *served_by)";
	CHECK_INT(dk_library_impl(&lib, &fn, NULL, &t_why), -EPROTOTYPE);
	CHECK_INT(t_why.reason, DK_WHY_SIGNATURE);
	CHECK_STR(t_why.name, "ns::op: (..., int *served_by), registered at here -> "
			      "(..., long *served_by), f1 (lib) at CPU");
	CHECK_OK(dk_handle_release(&lib, &h));
	/* the older of two functions has set the operator's signature */
	CHECK_OK(dk_library_impl(&lib, &fn, &h, &t_why));
	fn.key = DK_CUDA;
	fn.label = "younger";
	CHECK_OK(dk_library_impl(&lib, &fn, NULL, &t_why));
	CHECK_INT(dk_library_def(&lib, &decl, 0, NULL, &t_why), -EPROTOTYPE);
	CHECK_STR(t_why.name, "ns::op: (..., long *served_by), f1 (lib) at CPU -> "
			      "(..., int *served_by), registered at here");
	/* the operator keeps its signature if the definition has none */
	none.sig = NULL;
	CHECK_OK(dk_op_define(&prov, &none, 0, &t_why));
	CHECK_OK(dk_library_unregister(&lib));
	fn = t_impl(&decl, DK_XLA, 2);
	decl.name = "ns::op";
	CHECK_INT(dk_impls_register(&prov, &fn, 1, &t_why), -EPROTOTYPE);
	CHECK_STR(t_why.name, "ns::op: that of an unregistered function -> "
			      "(struct dk_obj *x, struct dk_obj *y,..., f2 (lib) at XLA");
	close();
}

/* A definition with only a schema does not hide the signature of its function. */
static void function_keeps_its_signature(void)
{
	struct dk_library lib = t_library(&prov, DK_LIBRARY_DEF, "ns", 0);
	struct dk_op_decl untyped = t_decl("op"), typed = t_decl("another"), other = typed;
	struct dk_impl fn = t_impl(&typed, DK_CPU, 1);
	struct dk_op *op;

	open();
	untyped.sig = NULL;
	untyped.unbox = NULL;
	untyped.schema = "op(Tensor x, Tensor y) -> ()";
	other.sig = "(float)";
	CHECK_OK(dk_library_register(&lib, &t_why));
	CHECK_OK(dk_library_def_impl(&lib, &untyped, 0, &fn, NULL, &t_why));
	CHECK_STR(route_label_of("ns::op"), "f1");
	CHECK_STR(route_label_of("ns::another"), "none");
	op = dk_op_get(t_reg, "ns::op");
	CHECK_INT(dk_op_takes(op, &typed), 0);
	CHECK_INT(dk_op_takes(op, &other), -EPROTOTYPE);
	dk_op_put(op);
	close();
}

/* While an operator is held, a definition cannot make it atomic. */
static void class_of_a_held_operator_is_fixed(void)
{
	struct dk_library lib = t_library(&prov, DK_LIBRARY_DEF, "ns", 0);
	struct dk_op_decl decl = t_decl("op");
	struct dk_impl fn = t_impl(&decl, DK_CPU, 1);
	struct dk_handle h = { NULL };
	struct dk_op *op;

	open();
	fn.flags = DK_IMPL_F_ATOMIC;
	CHECK_OK(dk_library_register(&lib, &t_why));
	CHECK_OK(dk_library_def(&lib, &decl, 0, &h, &t_why));
	op = dk_op_get(t_reg, "ns::op");
	CHECK_OK(dk_handle_release(&lib, &h));
	/* refuses: dk_library_def EBUSY CLASS */
	CHECK_INT(dk_library_def(&lib, &decl, DK_OP_ATOMIC, &h, &t_why), -EBUSY);
	/* refuses: dk_library_def_impl EBUSY CLASS */
	CHECK_INT(dk_library_def_impl(&lib, &decl, DK_OP_ATOMIC, &fn, &h, &t_why),
		  -EBUSY);
	CHECK_INT(t_why.reason, DK_WHY_CLASS);
	dk_op_put(op);
	CHECK_OK(dk_library_def_impl(&lib, &decl, DK_OP_ATOMIC, &fn, &h, &t_why));
	close();
}

/* Repeats PyTorch's test_def_impl_schema_mismatch (SEMANTICS 11.2) in both orders. */
static void schema_mismatch_is_refused(void)
{
	struct dk_library lib = t_library(&prov, DK_LIBRARY_DEF, "ns", 0);
	struct dk_op_decl decl = t_decl(NULL), name = t_decl("op");
	struct dk_impl fn = t_impl(&name, DK_CPU, 1);
	struct dk_handle h = { NULL };

	open();
	CHECK_OK(dk_library_register(&lib, &t_why));
	decl.schema = "op(Tensor x, Tensor y) -> Tensor";
	fn.schema = "(Tensor _0) -> Tensor _0";
	CHECK_OK(dk_library_def(&lib, &decl, 0, &h, &t_why));
	if (T_KERNEL) {
		/* the kernel does not parse schemas, so it does not compare them */
		CHECK_OK(dk_library_impl(&lib, &fn, NULL, &t_why));
		CHECK_STR(route_label_of("ns::op"), "f1");
		close();
		return;
	}
	/* refuses: dk_library_impl EPROTOTYPE SCHEMA_NUM_ARGS */
	CHECK_INT(dk_library_impl(&lib, &fn, NULL, &t_why), -EPROTOTYPE);
	CHECK_INT(t_why.reason, DK_WHY_SCHEMA_NUM_ARGS);
	CHECK_STR(t_why.name, "ns::op: 2 vs 1: (Tensor x, Tensor y) -> Tensor, registered at "
			      "here, vs (Tensor _0) -> Tensor _0, f1");
	CHECK_STR(route_label_of("ns::op"), "-ENOSYS");
	CHECK_OK(dk_handle_release(&lib, &h));
	CHECK_OK(dk_library_impl(&lib, &fn, NULL, &t_why));
	/* refuses: dk_library_def EPROTOTYPE SCHEMA_NUM_ARGS */
	CHECK_INT(dk_library_def(&lib, &decl, 0, &h, &t_why), -EPROTOTYPE);
	CHECK_INT(t_why.reason, DK_WHY_SCHEMA_NUM_ARGS);
	CHECK(!h.core);
	CHECK_STR(route_label_of("ns::op"), "-ENOENT");
	decl.schema = "op(Tensor x) -> Tensor";
	CHECK_OK(dk_library_def(&lib, &decl, 0, &h, &t_why));
	CHECK_STR(route_label_of("ns::op"), "f1");
	CHECK_OK(dk_handle_release(&lib, &h));
	/* refuses: dk_library_def_impl EPROTOTYPE SCHEMA_NUM_ARGS */
	decl.schema = "op2(Tensor x, int y) -> Tensor";
	CHECK_INT(dk_library_def_impl(&lib, &decl, 0, &fn, &h, &t_why), -EPROTOTYPE);
	CHECK_STR(route_label_of("ns::op2"), "none");
	/* refuses: dk_library_def_impl EINVAL SCHEMA */
	fn.schema = "(Tensor) -> ()";
	CHECK_INT(dk_library_def_impl(&lib, &decl, 0, &fn, &h, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_SCHEMA);
	CHECK_STR(route_label_of("ns::op2"), "none");
	close();
}

/* A schema may begin with white space, as string literals of several lines do. */
static void white_space_before_a_schema(void)
{
	struct dk_library lib = t_library(&prov, DK_LIBRARY_DEF, "ns", 0);
	struct dk_op_decl decl = t_decl(NULL), full = t_decl("full"), wrong = t_decl(NULL);

	open();
	CHECK_OK(dk_library_register(&lib, &t_why));
	decl.schema = "\n\top(Tensor x) -> Tensor";
	CHECK_OK(dk_library_def(&lib, &decl, 0, NULL, &t_why));
	full.schema = " \r\nns::full(Tensor x) -> Tensor";
	CHECK_OK(dk_library_def(&lib, &full, 0, NULL, &t_why));
	CHECK_STR(route_label_of("ns::op"), "-ENOSYS");
	CHECK_STR(route_label_of("ns::full"), "-ENOSYS");
	wrong.schema = "\n";
	CHECK_INT(dk_library_def(&lib, &wrong, 0, NULL, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_NAME);
	close();
}

/* Namespaces with a common beginning are different namespaces. */
static void namespaces_with_a_common_beginning(void)
{
	struct dk_library lib = t_library(&prov, DK_LIBRARY_DEF, "sample", 0);
	struct dk_op_decl shorter = t_decl("sam::op"), longer = t_decl("samples::op");

	open();
	CHECK_OK(dk_library_register(&lib, &t_why));
	CHECK_INT(dk_library_def(&lib, &shorter, 0, NULL, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_NAMESPACE);
	CHECK_INT(dk_library_def(&lib, &longer, 0, NULL, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_NAMESPACE);
	close();
}

/* As in PyTorch, a library's namespace need not fit the grammar of schemas. A schema must. */
static void namespaces_outside_of_the_grammar(void)
{
	static const char *const namespaces[] = { "a-b", "demo.x", "\xc3\xa9", "1x", "a,b" };
	struct dk_op_decl decl = t_decl(NULL), name = t_decl("f");
	struct dk_impl fn = t_impl(&name, DK_CPU, 1);
	struct dk_impl again = t_impl(&name, DK_CPU, 2);
	char text[64];
	unsigned int i;

	fn.schema = "(Tensor _0) -> Tensor _0";
	for (i = 0; i < ARRAY_SIZE(namespaces); i++) {
		struct dk_library lib = t_library(&prov, DK_LIBRARY_DEF, namespaces[i], 0);

		open();
		CHECK_OK(dk_library_register(&lib, &t_why));
		decl.schema = "f(Tensor x) -> Tensor";
		CHECK_OK(dk_library_def(&lib, &decl, 0, NULL, &t_why));
		/* compares the schemas */
		CHECK_OK(dk_library_impl(&lib, &fn, NULL, &t_why));
		snprintf(text, sizeof(text), "%s::f", namespaces[i]);
		CHECK_STR(route_label_of(text), "f1");
		name.name = text;
		CHECK_OK(dk_library_impl(&lib, &again, NULL, &t_why));
		CHECK_STR(route_label_of(text), "f2");
		name.name = "f";
		if (!T_KERNEL) {
			decl.schema = "g(Tensor) -> ()";
			CHECK_INT(dk_library_def(&lib, &decl, 0, NULL, &t_why), -EINVAL);
			CHECK_STR(t_why.name,
				  "column 9: \")\" instead of the argument's name");
			snprintf(text, sizeof(text), "%s::g(Tensor x) -> ()", namespaces[i]);
			decl.schema = text;
			CHECK_INT(dk_library_def(&lib, &decl, 0, NULL, &t_why), -EINVAL);
			CHECK_INT(t_why.reason, DK_WHY_SCHEMA);
		}
		close();
	}
}

/* An operator gets the arguments of its function's schema, but not the name in it. */
static void name_in_the_schema_of_a_function(void)
{
	static const char *const schemas[] = {
		"(Tensor x) -> Tensor", "\n\t(Tensor x) -> Tensor", "op(Tensor x) -> Tensor",
		"another::function.overload(Tensor x) -> Tensor",
	};
	static const char begin[] = "name: ns::op\nschema: ns::op(Tensor x) -> Tensor\n";
	struct dk_library lib = t_library(&prov, DK_LIBRARY_DEF, "ns", 0);
	struct dk_op_decl decl = t_decl("op");
	struct dk_impl fn = t_impl(&decl, DK_CPU, 1);
	struct dk_handle h = { NULL };
	char text[256];
	unsigned int i;

	open();
	CHECK_OK(dk_library_register(&lib, &t_why));
	for (i = 0; i < ARRAY_SIZE(schemas); i++) {
		fn.schema = schemas[i];
		CHECK_OK(dk_library_def_impl(&lib, &decl, 0, &fn, &h, &t_why));
		dk_op_dump(t_get("ns::op"), text, sizeof(text));
		CHECK(!strncmp(text, begin, strlen(begin)));
		CHECK_OK(dk_handle_release(&lib, &h));
	}
	close();
}

T_SUITE(library,
	T(library_registers_in_any_order),
	T(library_is_registered_again),
	T(fallbacks),
	T(call_cannot_release_its_function),
	T(find_and_walk),
	T(error_names_both_signatures),
	T(namespaces_with_a_common_beginning),
	T(namespaces_outside_of_the_grammar),
	T(function_keeps_its_signature), T(class_of_a_held_operator_is_fixed),
	T(schema_mismatch_is_refused),
	T(library_does_not_cut_names),
	T(white_space_before_a_schema),
	T(name_in_the_schema_of_a_function));
