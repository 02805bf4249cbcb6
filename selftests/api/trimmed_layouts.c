// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests registries whose table is trimmed to eight entries, as in PyTorch's builds for phones
 * (SEMANTICS 1.8). Functions at other keys are kept and listed, but serve no call.
 */
#include "test.h"
#include "alloc.h"

/*
 * A user's layout with two backends. The numbers of its keys are not those of any PyTorch release.
 */
#define OWN		OWN_WITH("Sparse*")
#define OWN_WITH(sparse)						\
	"layout own+trimmed\n"						\
	"backends CUDA CPU\n"						\
	"functionalities Undefined Dense* " sparse " BackendSelect ADInplaceOrView " \
	"AutogradOther AutogradFunctionality* AutogradNestedTensor NestedTensor* " \
	"Tracer PythonDispatcher\n"					\
	"aliases Autograd CompositeImplicitAutograd "			\
	"CompositeImplicitAutogradNestedTensor CompositeExplicitAutograd " \
	"CompositeExplicitAutogradNonFunctional\n"			\
	"tables\n"							\
	"trimmed\n"

static struct dk_provider prov;
static struct dk_op_decl decl;
static struct dk_op *op;
static const struct dk_layout *l;
static char text[4096];

/* Registers a provider and an operator in the open registry. */
static void fill(void)
{
	l = dk_registry_layout(t_reg);
	t_join(&prov, "trimmed");
	decl = t_decl("trimmed_layouts::op");
	CHECK_OK(dk_op_define(&prov, &decl, 0, &t_why));
	op = t_get("trimmed_layouts::op");
}

static void setup(const char *layout, unsigned int flags)
{
	t_open(layout, flags);
	fill();
}

static unsigned int key_of(const char *name)
{
	unsigned int key = 0;

	CHECK_OK(dk_key_parse(l, name, 0, &key, &t_why));
	return key;
}

static struct dk_obj obj(const char *set)
{
	struct dk_keyset ks = { 0 };

	CHECK_OK(dk_keyset_parse(l, set, &ks, &t_why));
	return t_obj(ks.bits);
}

static const char *route_label(const char *set)
{
	struct dk_obj x = obj(set);

	return t_route_label(op, &x, NULL);
}

/* No earlier suite uses this layout. If this suite has already run, the layout is allocated. */
static void layout_is_allocated_when_it_is_first_used(void)
{
	static const char name[] = "pytorch-1.13+trimmed";
	const struct dk_layout *found;
	long allocs = dk_test_allocs();

	dk_test_fail_alloc(DK_TEST_EVERY);
	found = dk_layout_find(name, &t_why);
	dk_test_fail_alloc(0);
	if (found) {
		t_skip("this process or module has allocated the layout already");
	} else {
		/* refuses: dk_layout_find ENOMEM NO_MEMORY */
		CHECK_INT(t_why.reason, DK_WHY_NO_MEMORY);
		CHECK_STR(t_why.name, name);
		CHECK_INT(dk_test_allocs(), allocs);
		found = dk_layout_find(name, &t_why);
		CHECK_INT(dk_test_allocs(), allocs + 1);
	}
	if (!CHECK(found))
		return;
	CHECK_INT(dk_table_size(found), 8);
	allocs = dk_test_allocs();
	CHECK(dk_layout_find(name, &t_why) == found);
	CHECK_INT(dk_test_allocs(), allocs);
}

static void function_without_an_entry_is_reported(void)
{
	struct dk_impl cuda, cpu, again;

	setup("v1+trimmed", 0);
	cuda = t_impl(&decl, DK_CUDA, 1);
	cpu = t_impl(&decl, DK_CPU, 2);
	again = t_impl(&decl, DK_CUDA, 3);
	CHECK_OK(dk_impls_register(&prov, &cuda, 1, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_NO_ENTRY);
	CHECK_STR(t_why.name, "CUDA");
	CHECK_OK(dk_impls_register(&prov, &cpu, 1, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_NONE);
	/* this function also overrides another one; only the override is reported */
	CHECK_OK(dk_impls_register(&prov, &again, 1, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_OVERRIDE);
	CHECK_INT(dk_op_has_impl(op, DK_CUDA, &t_why), 1);
	CHECK_INT(dk_op_is_served(op, DK_CUDA, &t_why), 0);
	CHECK_INT(dk_op_is_served(op, DK_CPU, &t_why), 1);
	CHECK_STR(route_label("CUDA"), "-ENOSYS");
	CHECK_INT(t_answer.entry.provenance, DK_PROV_NO_ENTRY);
	CHECK_STR(route_label("CPU"), "f2");
	CHECK_STR(route_label("CPU|CUDA"), "-ENOSYS");
	/* dumps also show functions at keys without an entry */
	CHECK_STR(t_serves(op, 0, DK_CUDA), "f3");
	CHECK_INT(t_rule(op, 0, DK_XLA), DK_PROV_NO_ENTRY);
	CHECK_INT(t_rule(op, 0, DK_SPARSE_CPU), DK_PROV_MISSING);
	dk_op_dump_table(op, text, sizeof(text));
	CHECK_STR(text, "CPU: f2 [kernel]\nCUDA: f3 [kernel]\n");
	dk_op_list_keys(op, text, sizeof(text));
	CHECK_STR(text, "[CPU]");
	/* as at any key, the older function serves after the newer one is unregistered */
	CHECK_OK(dk_impls_unregister(&prov, &again, &t_why));
	CHECK_STR(t_serves(op, 0, DK_CUDA), "f1");
}

static int boxed(struct dk_call *c, void *args)
{
	*((struct t_op_args *)args)->served_by = 9;
	return 0;
}

static struct dk_impl fallback_at(unsigned int key)
{
	struct dk_impl impl = t_impl(&decl, key, 9);

	impl.op = NULL;
	impl.fn = (dk_fn_t)boxed;
	impl.flags = DK_IMPL_F_BOXED;
	return impl;
}

static void fallbacks_without_an_entry_do_not_serve(void)
{
	struct dk_impl tracer, twice, autograd;
	struct dk_obj x;

	setup("v1+trimmed", 0);
	tracer = fallback_at(DK_TRACER);
	twice = fallback_at(DK_TRACER);
	autograd = fallback_at(DK_AUTOGRAD);
	CHECK_OK(dk_fallback_register(&prov, &tracer, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_NO_ENTRY);
	CHECK_STR(t_why.name, "Tracer");
	CHECK_INT(dk_registry_has_fallback(t_reg, DK_TRACER), 0);
	CHECK_STR(route_label("CPU|Tracer"), "-ENOSYS");
	/* refuses: dk_fallback_register EEXIST TABLE_REGISTERED */
	CHECK_INT(dk_fallback_register(&prov, &tracer, &t_why), -EEXIST);
	CHECK_INT(t_why.reason, DK_WHY_TABLE_REGISTERED);
	/* the first fallback serves no key, so a second fallback for its key is not refused */
	CHECK_OK(dk_fallback_register(&prov, &twice, &t_why));
	/* a fallback at an alias serves those of its keys that have an entry */
	CHECK_OK(dk_fallback_register(&prov, &autograd, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_NO_ENTRY);
	CHECK_STR(t_why.name, "AutogradCUDA");
	CHECK_INT(dk_registry_has_fallback(t_reg, DK_AUTOGRAD_CPU), 1);
	CHECK_INT(dk_registry_has_fallback(t_reg, DK_AUTOGRAD_OTHER), 1);
	CHECK_INT(dk_registry_has_fallback(t_reg, DK_AUTOGRAD_CUDA), 0);
	x = obj("CPU|AutogradCPU");
	CHECK_INT(t_call(op, &x, NULL), 9);
	x = obj("CUDA|AutogradCUDA");
	CHECK_INT(t_call(op, &x, NULL), -ENOSYS);
	/* a fallback at a key without an entry is unregistered like any other */
	CHECK_OK(dk_impls_unregister(&prov, &tracer, &t_why));
	CHECK_OK(dk_impls_unregister(&prov, &twice, &t_why));
	CHECK_OK(dk_impls_unregister(&prov, &autograd, &t_why));
	CHECK_INT(dk_registry_has_fallback(t_reg, DK_AUTOGRAD_CPU), 0);
}

/* SEMANTICS 6.2: only a fallthrough with an entry removes its functionality. */
static void only_fallthroughs_with_an_entry_mask(void)
{
	static const char *const keys[] = { "CUDA", "AutogradCPU", "Tracer" };
	struct dk_impl pass[ARRAY_SIZE(keys)], cpu;
	unsigned int i;

	setup("pytorch-1.13+trimmed", 0);
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		pass[i] = t_fallthrough(&decl, key_of(keys[i]));
	cpu = t_impl(&decl, key_of("CPU"), 1);
	CHECK_OK(dk_impls_register(&prov, pass, ARRAY_SIZE(keys), &t_why));
	CHECK_OK(dk_impls_register(&prov, &cpu, 1, &t_why));
	CHECK_STR(route_label("CPU|AutogradCPU"), "f1");
	CHECK_INT(t_answer.effective.bits, obj("CPU").ks.bits);
	CHECK_STR(route_label("CUDA|AutogradCUDA"), "-ENOSYS");
	CHECK_INT(t_answer.effective.bits, obj("CUDA|AutogradCUDA").ks.bits);
	CHECK_STR(route_label("CUDA"), "-ENOSYS");
	CHECK_INT(t_answer.effective.bits, obj("CUDA").ks.bits);
	CHECK_STR(route_label("CPU|Tracer"), "-ENOSYS");
	CHECK_INT(t_answer.effective.bits, obj("CPU|Tracer").ks.bits);
	dk_op_dump_extractor(op, text, sizeof(text));
	CHECK(strstr(text, "Tracer"));
}

/* Returns the step of rule @rule in the explanation of a call with @set. */
static const struct dk_step *explained(const char *set, unsigned int rule)
{
	static struct dk_explain ex;
	static struct dk_step s;
	struct dk_obj x = obj(set);
	const struct dk_obj *const objs[] = { &x };
	unsigned int i;

	ex.size = sizeof(ex);
	s.size = sizeof(s);
	CHECK_OK(dk_op_explain(op, DK_KEYSET(0), DK_KEYSET(0), objs, 1, &ex));
	for (i = 0; CHECK_OK(dk_explain_step(op, &ex, i, &s)); i++)
		if (s.kind == DK_STEP_RULE && s.rule == rule)
			break;
	return &s;
}

static void explained_by_rule_nine(void)
{
	struct dk_impl implicit, cuda;

	setup("v1+trimmed", 0);
	implicit = t_impl(&decl, DK_UNDEFINED, 1);
	cuda = t_impl(&decl, DK_CUDA, 2);
	CHECK_OK(dk_impls_register(&prov, &implicit, 1, &t_why));
	CHECK_OK(dk_impls_register(&prov, &cuda, 1, &t_why));
	CHECK_INT(explained("CUDA", 1)->verdict, DK_VERDICT_NO_ENTRY);
	CHECK_STR(explained("CUDA", 1)->label, "f2");
	CHECK_INT(explained("XLA", 1)->verdict, DK_VERDICT_NO_IMPL);
	CHECK_INT(explained("XLA", 6)->verdict, DK_VERDICT_NO_ENTRY);
	CHECK_STR(explained("XLA", 6)->label, "f1");
	CHECK_INT(explained("XLA", 9)->verdict, DK_VERDICT_NO_ENTRY);
	CHECK_INT(explained("XLA", 10)->verdict, DK_VERDICT_NOT_EVALUATED);
	/* a building block without a backend has no entry either */
	CHECK_INT(explained("Dense", 9)->verdict, DK_VERDICT_NO_ENTRY);
	CHECK_INT(explained("CPU", 6)->verdict, DK_VERDICT_SERVES);
	CHECK_INT(explained("Tracer", 9)->verdict, DK_VERDICT_NO_ENTRY);
	CHECK_INT(explained("BackendSelect", 9)->verdict, DK_VERDICT_HAS_ENTRY);
}

/* CPU is the higher backend in this layout, and numbers are not those of v1. */
static void parsed_layout_is_trimmed(void)
{
	struct dk_layout *own = dk_layout_parse(OWN, &t_why);
	struct dk_impl implicit, cpu;

	if (!CHECK(own))
		return;
	CHECK_INT(dk_table_size(own), 8);
	t_reg = dk_registry_alloc(own, 0, &t_why);
	if (!CHECK(t_reg))
		goto out;
	fill();
	implicit = t_impl(&decl, 0, 1);
	cpu = t_impl(&decl, key_of("CPU"), 2);
	CHECK_OK(dk_impls_register(&prov, &implicit, 1, &t_why));
	CHECK_OK(dk_impls_register(&prov, &cpu, 1, &t_why));
	CHECK_STR(route_label("CPU"), "f2");
	CHECK_STR(route_label("CPU|CUDA"), "f2");
	CHECK_STR(route_label("CUDA"), "-ENOSYS");
	CHECK_STR(route_label("SparseCPU"), "f1");
	CHECK_STR(route_label("AutogradOther"), "f1");
	CHECK_STR(route_label("AutogradCPU"), "-ENOSYS");	/* rule 4: CPU has a function */
	CHECK_STR(route_label("DispatchKeySet()"), "f1");
	/*
	 * the layout has no Quantized, so the table's entry for QuantizedCPU stays empty:
	 * NestedTensorCPU, the next key, does not get it
	 */
	CHECK_STR(route_label("NestedTensorCPU"), "-ENOSYS");
	t_close();
out:
	dk_layout_free(own);
}

/* The table's entry for SparseCPU is not that of a building block of this name. */
static void building_block_has_no_entry(void)
{
	struct dk_layout *own = dk_layout_parse(OWN_WITH("SparseCPU*"), &t_why);
	struct dk_impl cuda, cpu;

	if (!CHECK(own))
		return;
	t_reg = dk_registry_alloc(own, 0, &t_why);
	if (!CHECK(t_reg))
		goto out;
	fill();
	cuda = t_impl(&decl, key_of("SparseCPUCUDA"), 1);
	cpu = t_impl(&decl, key_of("SparseCPUCPU"), 2);
	CHECK_OK(dk_impls_register(&prov, &cuda, 1, &t_why));
	CHECK_OK(dk_impls_register(&prov, &cpu, 1, &t_why));
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	CHECK_INT(dk_table_index(own, dk_key_set(own, cuda.key)), -1);
	CHECK_INT(dk_table_index(own, dk_key_set(own, cpu.key)), -1);
	CHECK_STR(route_label("SparseCPUCUDA"), "-ENOSYS");
	CHECK_STR(route_label("SparseCPUCPU"), "-ENOSYS");
	t_close();
out:
	dk_layout_free(own);
}

/* With the builtin fallbacks, a function at CPU serves calls under the default local state. */
static void builtin_fallbacks(void)
{
	struct dk_impl cpu;
	struct dk_obj x;
	int served_by = 0;

	setup("v1+trimmed", DK_REGISTRY_BUILTINS);
	cpu = t_impl(&decl, DK_CPU, 4);
	CHECK_OK(dk_impls_register(&prov, &cpu, 1, &t_why));
	x = obj("CPU|ADInplaceOrView|AutogradCPU|AutocastCPU");
	CHECK_OK(t_op_at(op, &dk_local_default, &x, NULL, &served_by));
	CHECK_INT(served_by, 4);
	CHECK_INT(dk_registry_has_fallback(t_reg, DK_AUTOGRAD_CPU), 1);
	CHECK_INT(dk_registry_has_fallback(t_reg, DK_AUTOGRAD_CUDA), 0);
}

T_SUITE(trimmed_layouts,
	T(layout_is_allocated_when_it_is_first_used),
	T(function_without_an_entry_is_reported),
	T(fallbacks_without_an_entry_do_not_serve),
	T(only_fallthroughs_with_an_entry_mask),
	T(explained_by_rule_nine),
	T(parsed_layout_is_trimmed),
	T(building_block_has_no_entry),
	T(builtin_fallbacks));
