// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests dumps of registrations in PyTorch's format (SEMANTICS 9). full_registry.h explains the
 * comments "refuses:".
 */
#include "test.h"

#define LONG	"registered at /a/folder/with/a/very/long/name/and/another/one/below/it/" \
		"and/yet/another/one/so/that/it/does/not/fit/a/label/of/a/structure.cpp:123"

static char text[16384];
static struct dk_provider me;
static struct dk_op_decl decl, other;
static struct dk_op *op;

/* Checks that @print writes @want, and truncates it like snprintf(). */
static void is_text(size_t (*print)(struct dk_op *op, char *buf, size_t size),
		    const char *want)
{
	size_t len = print(op, NULL, 0), fit = len < 3 ? len : 3;
	char few[8] = "1234567";

	CHECK_INT(len, strlen(want));
	CHECK_INT(print(op, text, sizeof(text)), strlen(want));
	CHECK_STR(text, want);
	CHECK_INT(print(op, few, 4), strlen(want));
	CHECK(!memcmp(few, want, fit) && !few[fit]);
	CHECK_STR(few + 4, "567");
}

static void setup(void)
{
	t_open("v1", 0);
	t_join(&me, "dumps");
	decl = t_decl("dumps::op.out");
	decl.schema =
		"dumps::op.out(Tensor x, Tensor? y=None, str s=\"(,\", *, Tensor(a!)[] out) -> ()";
	decl.debug = "registered at " __FILE__;
	decl.alias_analysis = DK_ALIAS_FROM_SCHEMA;
	CHECK_OK(dk_op_define(&me, &decl, 0, &t_why));
	op = t_get("dumps::op.out");
	CHECK(op);
}

/*
 * Three functions at one key, which are listed newest first: one has a schema, and one is boxed.
 * One more function is at an alias key.
 */
static void state_and_table(void)
{
	static struct dk_impl impls[6];

	setup();
	impls[0] = t_impl(&decl, DK_CPU, 0);
	impls[1] = t_impl(&decl, DK_CPU, 1);
	impls[1].schema = "(Tensor _0, Tensor? _1, str _2, Tensor[] _3) -> ()";
	impls[2] = t_impl(&decl, DK_CPU, 2);
	impls[2].label = LONG;
	impls[2].flags |= DK_IMPL_F_BOXED;
	impls[3] = t_impl(&decl, DK_AUTOGRAD, 3);
	impls[4] = t_fallthrough(&decl, DK_TRACER);
	impls[5] = t_impl(&decl, DK_FPGA, 5);
	CHECK_OK(dk_impls_register(&me, impls, ARRAY_SIZE(impls), &t_why));
	is_text(dk_op_dump,
		"name: dumps::op.out\n"
		"schema: dumps::op.out(Tensor x, Tensor? y=None, str s=\"(,\", *, Tensor(a!)[] out) -> ()\n"
		"debug: registered at " __FILE__ "\n"
		"alias analysis kind: FROM_SCHEMA\n"
		"FPGA: f5 :: (none) [ boxed unboxed ]\n"
		"Tracer: fallthrough :: (none) [ fallthrough boxed ]\n"
		"CPU: " LONG " :: (none) [ boxed ]\n"
		"CPU (inactive): f1 :: (Tensor _0, Tensor? _1, str _2, Tensor[] _3) -> () [ boxed unboxed ]\n"
		"CPU (inactive): f0 :: (none) [ boxed unboxed ]\n"
		"Autograd[alias]: f3 :: (none) [ boxed unboxed ]\n");
	is_text(dk_op_list_keys,
		"[CPU, FPGA, AutogradOther, AutogradCPU, AutogradCUDA, AutogradHIP, AutogradXLA, AutogradMPS, AutogradIPU, AutogradXPU, AutogradHPU, AutogradVE, AutogradLazy, AutogradMTIA, AutogradMAIA, AutogradPrivateUse1, AutogradPrivateUse2, AutogradPrivateUse3, AutogradMeta, AutogradNestedTensor, Tracer]");
	CHECK_OK(dk_op_check(op, &t_why));
	/* dk_op_check() detects that the registered array was changed */
	impls[5].flags = DK_IMPL_F_FALLTHROUGH;
	/* refuses: dk_op_check EILSEQ TABLE */
	CHECK_INT(dk_op_check(op, &t_why), -EILSEQ);
	CHECK_INT(t_why.reason, DK_WHY_TABLE);
	dk_missing_text(op, DK_SET(DK_CUDA), text, sizeof(text));
	CHECK(strstr(text, "Canonical state\n~~~~~~~~~~~\nname: dumps::op.out\n") == text);
	impls[5].flags = 0;
	CHECK_OK(dk_impls_withdraw(&me, impls, &t_why));
	CHECK_OK(dk_provider_drain(&me));
	is_text(dk_op_list_keys, "[]");
	is_text(dk_op_dump_table, "");
}

static void tables(void)
{
	static struct dk_impl impls[3], late;

	setup();
	impls[0] = t_impl(&decl, DK_SPARSE_CPU, 0);
	impls[0].label = LONG;
	impls[1] = t_fallthrough(&decl, DK_TRACER);
	impls[2] = t_impl(&decl, DK_COMPOSITE_IMPLICIT_AUTOGRAD_NESTED_TENSOR, 2);
	CHECK_OK(dk_impls_register(&me, impls, ARRAY_SIZE(impls), &t_why));
	dk_op_dump_table(op, text, sizeof(text));
	CHECK(strstr(text, "SparseCPU: " LONG " [kernel]\n"));
	CHECK(strstr(text, "Tracer: fallthrough fallthrough [kernel]\n"));
	CHECK(strstr(text, "NestedTensorCPU: f2 [nested kernel]\n"));
	CHECK(!strstr(text, "Undefined"));
	late = t_impl(&decl, DK_COMPOSITE_IMPLICIT_AUTOGRAD, 3);
	CHECK_OK(dk_impls_register(&me, &late, 1, &t_why));
	dk_op_dump_table(op, text, sizeof(text));
	CHECK(strstr(text, "Undefined: f3 [math kernel]\nCPU: f3 [math kernel]\n"));
	CHECK(strstr(text, "\nAutogradOther: ambiguous_autogradother [ambiguous autogradother]\n"));
	dk_ambiguous_text(op, text, sizeof(text));
	CHECK(strstr(text, "dumps::op.out"));
	CHECK(strstr(text, "CompositeImplicitAutograd"));
	CHECK(strstr(text, "AutogradOther"));
	CHECK(strstr(text, "\nCanonical state\n~~~~~~~~~~~\nname: dumps::op.out\n"));
	CHECK_STR(text + strlen(text) - 2, "\n\n");
	dk_invariants_text(op, text, sizeof(text));
	CHECK(strstr(text, "Canonical state\n~~~~~~~~~~~\nname: dumps::op.out\n") == text);
	CHECK(strstr(text, "]\n\n\nComputed table:\n~~~~~~~~~~~\nUndefined: f3 [math kernel]\n"));
}

/*
 * The first digit stands for the last argument. "1011" stands for the arguments out, y and x, but
 * not s. The set lacks Tracer, which falls through for all backends.
 */
static void extractor(void)
{
	static struct dk_impl impls[2];
	static char set[4096];

	setup();
	impls[0] = t_fallthrough(&decl, DK_TRACER);
	impls[1] = t_fallthrough(&decl, DK_AUTOGRAD_CPU);
	CHECK_OK(dk_impls_register(&me, impls, ARRAY_SIZE(impls), &t_why));
	CHECK(dk_op_dump_extractor(op, text, sizeof(text)) < sizeof(text));
	CHECK(!memcmp(text, "10110000", 8));
	CHECK_INT(strspn(text + 8, "0"), 56);
	CHECK_INT(text[64], ' ');
	dk_keyset_print(NULL, dk_keyset_sub(NULL, dk_layout_full(NULL),
					    DK_SET(DK_TRACER)), set, sizeof(set));
	CHECK(!memcmp(text + 65, set, strlen(set)));
	CHECK_STR(text + 65 + strlen(set), "\n");
}

/* The digits do not depend on white space, and "..." is no argument. */
static void extractor_of_schemas(void)
{
	static const struct {
		const char *schema;
		const char *digits;
	} cases[] = {
		{ "dumps::op(Tensor x, ...) -> ()", "1000" },
		{ "dumps::op(Tensor x, *, int y, ...) -> ()", "0100" },
		{ "dumps::op(...) -> ()", "0000" },
		{ "dumps::op(Tensor\tx,\n\tTensor[]\ny, int\tz) -> ()", "0110" },
		{ "dumps::op( Tensor(a\t!)  x ,\t*, Tensor?[]  y ) -> ()", "1100" },
		{ "dumps::op(Tensor?\tx, Tensor[]?\ty, Tensor[][]\tz) -> ()", "0010" },
	};
	static struct dk_op_decl ops[ARRAY_SIZE(cases)];
	unsigned int i;

	t_open("v1", 0);
	t_join(&me, "dumps");
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ops[i] = t_decl("dumps::op");
		ops[i].schema = cases[i].schema;
		CHECK_OK(dk_op_define(&me, &ops[i], 0, &t_why));
		op = t_get("dumps::op");
		dk_op_dump_extractor(op, text, sizeof(text));
		if (!CHECK(!memcmp(text, cases[i].digits, 4)) ||
		    !CHECK_INT(strspn(text + 4, "0"), 60))
			t_note("%s", cases[i].schema);
		CHECK_OK(dk_op_undefine(&me, "dumps::op", &t_why));
	}
}

/* Checks both forms of the text. The name of a private backend is in lower case. */
static void missing(void)
{
	static struct dk_impl impl;
	unsigned int backend = DK_BACKEND_PRIVATEUSE1;

	setup();
	impl = t_impl(&decl, DK_CPU, 1);
	CHECK_OK(dk_impls_register(&me, &impl, 1, &t_why));
	dk_missing_text(op, DK_SET(DK_SPARSE_CUDA), text, sizeof(text));
	CHECK(strstr(text, "Could not run 'dumps::op.out' with arguments from the "
			   "'SparseCUDA' backend.") == text);
	CHECK(strstr(text, "'dumps::op.out' is only available for these backends: [CPU].\n\n"
			   "CPU: f1 [kernel]\n"));
	dk_missing_text(op, DK_KEYSET(0), text, sizeof(text));
	CHECK(!strstr(text, "Could not run"));
	CHECK(strstr(text, "dumps::op.out"));
	CHECK(strstr(text, "Available functions are [CPU].\n\nCPU: f1 [kernel]\n"));
	dk_missing_text(op, DK_SET(DK_AUTOGRAD_PRIVATEUSE1), text, sizeof(text));
	CHECK(strstr(text, "from the 'AutogradPrivateUse1' backend."));
	CHECK_OK(dk_backend_join(&me, "Foo", 0, 0, &backend, &t_why));
	CHECK_INT(backend, DK_BACKEND_PRIVATEUSE1);
	dk_missing_text(op, DK_SET(DK_AUTOGRAD_PRIVATEUSE1), text, sizeof(text));
	CHECK(strstr(text, "from the 'Autogradfoo' backend."));
	dk_missing_text(op, DK_SET(DK_PRIVATEUSE1), text, sizeof(text));
	CHECK(strstr(text, "from the 'foo' backend."));
	/* the name of this functionality, AutocastPrivateUse1, ends in the name of its backend */
	dk_missing_text(op, DK_SET(DK_AUTOCAST_PRIVATEUSE1), text, sizeof(text));
	CHECK(strstr(text, "from the 'Autocastfoo' backend."));
}

static void queries(void)
{
	static struct dk_impl impls[4], fallback;

	setup();
	impls[0] = t_impl(&decl, DK_CPU, 0);
	impls[1] = t_fallthrough(&decl, DK_TRACER);
	impls[2] = t_impl(&decl, DK_AUTOGRAD, 2);
	impls[3] = t_impl(&decl, DK_SPARSE, 3);
	CHECK_OK(dk_impls_register(&me, impls, ARRAY_SIZE(impls), &t_why));
	fallback = t_fallthrough(NULL, DK_BACKEND_SELECT);
	fallback.op = NULL;
	CHECK_OK(dk_fallback_register(&me, &fallback, &t_why));

	CHECK_INT(dk_op_has_impl(op, DK_CPU, &t_why), 1);
	CHECK_INT(dk_op_has_impl(op, DK_AUTOGRAD, &t_why), 1);
	CHECK_INT(dk_op_has_impl(op, DK_AUTOGRAD_CPU, &t_why), 0);
	CHECK_INT(dk_op_has_impl(op, DK_UNDEFINED, &t_why), 0);
	/* refuses: dk_op_has_impl EINVAL BAD_KEY */
	CHECK_INT(dk_op_has_impl(op, 9999, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_KEY);
	CHECK_STR(t_why.name, "9999");

	CHECK_INT(dk_op_has_impl_in(op, DK_SET(DK_CPU)), 1);
	CHECK_INT(dk_op_has_impl_in(op, DK_SET(DK_CUDA)), 0);
	CHECK_INT(dk_op_has_impl_in(op, DK_SET(DK_SPARSE_CUDA)), 1);
	CHECK_INT(dk_op_has_impl_in(op, DK_SET(DK_AUTOGRAD_CPU)), 0);

	CHECK_INT(dk_op_is_served(op, DK_CPU, &t_why), 1);
	CHECK_INT(dk_op_is_served(op, DK_DENSE, &t_why), 1);
	CHECK_INT(dk_op_is_served(op, DK_CUDA, &t_why), 0);
	CHECK_INT(dk_op_is_served(op, DK_AUTOGRAD_CUDA, &t_why), 1);
	CHECK_INT(dk_op_is_served(op, DK_BACKEND_SELECT, &t_why), 1);
	/* refuses: dk_op_is_served EINVAL ALIAS_KEY */
	CHECK_INT(dk_op_is_served(op, DK_AUTOGRAD, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_ALIAS_KEY);
	CHECK_STR(t_why.name, "Autograd");
	/* refuses: dk_op_is_served EINVAL BAD_KEY */
	CHECK_INT(dk_op_is_served(op, 9999, &t_why), -EINVAL);

	CHECK_INT(dk_op_is_fallthrough(op, DK_CPU, &t_why), 0);
	CHECK_INT(dk_op_is_fallthrough(op, DK_TRACER, &t_why), 1);
	/* refuses: dk_op_is_fallthrough ENOENT NO_IMPL */
	CHECK_INT(dk_op_is_fallthrough(op, DK_BACKEND_SELECT, &t_why), -ENOENT);
	CHECK_INT(t_why.reason, DK_WHY_NO_IMPL);
	CHECK_STR(t_why.name, "BackendSelect");
	/* refuses: dk_op_is_fallthrough EINVAL BAD_KEY */
	CHECK_INT(dk_op_is_fallthrough(op, 9999, &t_why), -EINVAL);
	CHECK_STR(t_why.name, "9999");

	/* an alias key has no bits, so every alias key contains it */
	CHECK_INT(dk_alias_has(NULL, DK_AUTOGRAD, DK_AUTOGRAD), 1);
	CHECK_INT(dk_alias_has(NULL, DK_AUTOGRAD, DK_COMPOSITE_IMPLICIT_AUTOGRAD), 1);
	CHECK_INT(dk_alias_has(NULL, DK_AUTOGRAD, DK_CPU), 0);

	CHECK_INT(dk_registry_has_fallback(t_reg, DK_BACKEND_SELECT), 1);
	CHECK_INT(dk_registry_has_fallback(t_reg, DK_TRACER), 0);
	CHECK_INT(dk_registry_has_fallback(t_reg, DK_AUTOGRAD), 0);
	/* the default registry is created with builtin fallbacks */
	CHECK_INT(dk_registry_has_fallback(NULL, DK_AUTOGRAD_CPU), 1);
	CHECK_INT(dk_registry_has_fallback(NULL, DK_CPU), 0);
}

static void lists(void)
{
	static struct dk_impl impls[3];
	struct dk_op_decl first;

	setup();
	first = t_decl("a::defined");
	other = t_decl("z::dangling");
	CHECK_OK(dk_op_define(&me, &first, 0, &t_why));
	impls[0] = t_impl(&other, DK_CPU, 1);
	impls[1] = t_impl(&other, DK_AUTOGRAD, 2);
	impls[2] = t_impl(&decl, DK_CPU, 3);
	CHECK_OK(dk_impls_register(&me, impls, ARRAY_SIZE(impls), &t_why));
	dk_registry_list_ops(t_reg, DK_UNDEFINED, text, sizeof(text));
	CHECK_STR(text, "a::defined\ndumps::op.out\nz::dangling\n");
	CHECK_INT(dk_registry_list_ops(t_reg, DK_CPU, NULL, 0), 26);
	dk_registry_list_ops(t_reg, DK_CPU, text, sizeof(text));
	CHECK_STR(text, "dumps::op.out\nz::dangling\n");
	dk_registry_list_ops(t_reg, DK_AUTOGRAD, text, sizeof(text));
	CHECK_STR(text, "z::dangling\n");
	dk_registry_list_ops(t_reg, DK_AUTOGRAD_CPU, text, sizeof(text));
	CHECK_STR(text, "");
	dk_registry_list_dangling(t_reg, text, sizeof(text));
	CHECK_STR(text, "name: z::dangling\nschema: (none)\n"
			"CPU: f1 :: (none) [ boxed unboxed ]\n"
			"Autograd[alias]: f2 :: (none) [ boxed unboxed ]\n");
	CHECK_OK(dk_op_undefine(&me, "a::defined", &t_why));
	dk_registry_list_ops(t_reg, DK_UNDEFINED, text, sizeof(text));
	CHECK_STR(text, "dumps::op.out\nz::dangling\n");
}

/* Hundreds of names that are added and removed at random are listed in order, each once. */
#define MANY 300

static struct dk_op_decl many[MANY];
static char many_names[MANY][16];

static void all_in_order(unsigned int want)
{
	struct dk_op_info info = { .size = sizeof(info) };
	char before[DK_NAME_MAX] = "";
	unsigned int n = 0;

	while (!dk_registry_next_op(t_reg, n ? before : NULL, &info)) {
		if (!CHECK(strcmp(before, info.name) < 0))
			return;
		strcpy(before, info.name);
		n++;
	}
	CHECK_INT(n, want);
}

static void many_in_order(void)
{
	unsigned int i, there = 0;

	t_open("v1", 0);
	t_join(&me, "dumps");
	for (i = 0; i < MANY; i++) {
		/* 7 is prime and does not divide 300, so each number occurs once */
		snprintf(many_names[i], sizeof(many_names[i]), "many::%u",
			 i * 7 % MANY);
		many[i] = t_decl(many_names[i]);
		CHECK_OK(dk_op_define(&me, &many[i], 0, &t_why));
		there++;
		if (i % 3 == 2) {
			CHECK_OK(dk_op_undefine(&me, many_names[i / 3], &t_why));
			there--;
		}
		if (i % 50 == 49)
			all_in_order(there);
	}
	for (i = MANY / 3; i < MANY; i += 2) {
		CHECK_OK(dk_op_undefine(&me, many_names[i], &t_why));
		there--;
	}
	all_in_order(there);
	dk_registry_list_ops(t_reg, 0, text, sizeof(text));
	for (i = 0; text[i]; i++)
		there -= text[i] == '\n';
	CHECK_INT(there, 0);
	t_unregister(&me);
	t_close();
}

T_SUITE(dumps, T(state_and_table), T(tables), T(extractor), T(extractor_of_schemas),
	T(missing), T(queries), T(lists), T(many_in_order));
