// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocation number 1, 2, ... fails, until it succeeds: whoever is refused
 * memory has changed nothing and keeps nothing. What was done is undone when
 * every allocation fails, and then all is as before.
 */
#include "alloc.h"
#include "refuse.h"

#define MANY	200

struct scenario {
	const char *name;
	int (*act)(void);
	int (*undo)(void);
	const char *culprit;	/* that a refusal names, NULL: it depends */
	unsigned int flags;
};

#define FREE	1	/* needs no memory */
#define STEPS	2	/* several changes: those that were made are taken back */

static struct dk_provider prov;
static struct dk_op_decl described, untyped, new2, many_decl[MANY];
static struct dk_impl table[3], keys[3], aliases[2], one, other, fallback;
static struct dk_impl alias_fallback, many[MANY];
static char many_name[MANY][16];
static u32 device;

/* ---- what is done, and undone ------------------------------------------------- */

static int register_provider(void)
{
	return dk_provider_register(&prov, &t_why);
}

static int unregister_provider(void)
{
	return dk_provider_unregister(&prov);
}

static int define_new(void)
{
	return dk_op_define(&r_a, &r_new, 0, &t_why);
}

static int define_described(void)
{
	return dk_op_define(&r_a, &described, 0, &t_why);
}

static int undefine_new(void)
{
	return dk_op_undefine(&r_a, "r::new", &t_why);
}

static int define_known(void)
{
	return dk_op_define(&r_a, &r_impl, DK_OP_SAME_DEVICE, &t_why);
}

static int undefine_known(void)
{
	return dk_op_undefine(&r_a, "r::impl", &t_why);
}

static int define_early(void)
{
	return dk_op_define(&r_a, &r_early, DK_OP_ATOMIC, &t_why);
}

static int undefine_early(void)
{
	return dk_op_undefine(&r_a, "r::early", &t_why);
}

static int register_one(void)
{
	return dk_impls_register(&r_a, &one, 1, &t_why);
}

static int unregister_one(void)
{
	return dk_impls_unregister(&r_a, &one, &t_why);
}

static int register_other(void)
{
	return dk_impls_register(&r_b, &other, 1, &t_why);
}

static int unregister_other(void)
{
	return dk_impls_unregister(&r_b, &other, &t_why);
}

static int register_table(void)
{
	return dk_impls_register(&r_a, table, 3, &t_why);
}

static int unregister_table(void)
{
	return dk_impls_unregister(&r_a, table, &t_why);
}

static int register_keys(void)
{
	return dk_impls_register(&r_b, keys, 3, &t_why);
}

static int unregister_keys(void)
{
	return dk_impls_unregister(&r_b, keys, &t_why);
}

static int register_aliases(void)
{
	return dk_impls_register(&r_a, aliases, 2, &t_why);
}

static int unregister_aliases(void)
{
	return dk_impls_unregister(&r_a, aliases, &t_why);
}

static int register_backend(void)
{
	return dk_backend_impls_register(&r_a, r_edu, table, 3, &t_why);
}

static int register_many(void)
{
	return dk_impls_register(&r_a, many, MANY, &t_why);
}

static int unregister_many(void)
{
	return dk_impls_unregister(&r_a, many, &t_why);
}

static int register_fallback(void)
{
	return dk_fallback_register(&r_a, &fallback, &t_why);
}

static int unregister_fallback(void)
{
	return dk_impls_unregister(&r_a, &fallback, &t_why);
}

static int serve_all(struct dk_call *c, void *args)
{
	return 0;
}

static const struct dk_impl function = DK_FALLBACK(DK_CONJUGATE, serve_all);

static int register_function(void)
{
	return dk_fallback_register(&r_a, &function, &t_why);
}

static int unregister_function(void)
{
	return dk_impls_unregister(&r_a, &function, &t_why);
}

static int register_alias_fallback(void)
{
	return dk_fallback_register(&r_a, &alias_fallback, &t_why);
}

static int unregister_alias_fallback(void)
{
	return dk_impls_unregister(&r_a, &alias_fallback, &t_why);
}

static int register_device(void)
{
	return dk_device_register(&r_a, r_edu, "new", NULL, table, 3, &device, &t_why);
}

static int register_bare_device(void)
{
	return dk_device_register(&r_a, r_edu, "new", NULL, NULL, 0, &device, &t_why);
}

static int unregister_device(void)
{
	return dk_device_unregister(&r_a, device, &t_why);
}

/* A withdrawal waits for nothing, so who comes back has to be waited for. */
static int withdraw_table(void)
{
	int err = dk_impls_withdraw(&r_a, table, &t_why);

	return err ? err : dk_provider_drain(&r_a);
}

/* All that a provider can bring, and in one go away. */
static int register_all(void)
{
	unsigned int backend;
	int err = dk_provider_register(&prov, &t_why);

	if (err)
		return err;
	err = dk_backend_join(&prov, "edu", 0, 0, &backend, &t_why);
	if (!err)
		err = dk_op_define(&prov, &r_new, 0, &t_why);
	if (!err)
		err = dk_impls_register(&prov, table, 3, &t_why);
	if (!err)
		err = dk_fallback_register(&prov, &fallback, &t_why);
	if (!err)
		err = dk_device_register(&prov, backend, "new", NULL, keys, 3, &device,
					 &t_why);
	if (err)
		CHECK_OK(dk_provider_unregister(&prov));
	return err;
}

static int hold_operator(void)
{
	struct dk_op *op;

	return dk_op_get_defined(t_reg, "r::def", &op, &t_why);
}

static int put_operator(void)
{
	struct dk_op *op = dk_op_get(t_reg, "r::def");

	dk_op_put(op);
	dk_op_put(op);
	return 0;
}

static void hook(struct dk_hooks *h, const struct dk_hook_info *info)
{
}

static struct dk_hooks hooks = { .size = sizeof(hooks), .before = hook };

static int register_hooks(void)
{
	return dk_hooks_register(t_reg, &hooks, &t_why);
}

static int unregister_hooks(void)
{
	return dk_hooks_unregister(&hooks, &t_why);
}

static void hear_nothing(struct dk_listener *l, const struct dk_event *event)
{
}

static struct dk_listener listener = {
	.size = sizeof(listener), .told = hear_nothing,
};

static int register_listener(void)
{
	return dk_listener_register(&listener, &t_why);
}

static int unregister_listener(void)
{
	return dk_listener_unregister(&listener);
}

static char text[4096];

/* What only looks. */
static int look(void)
{
	struct dk_explain ex = { .size = sizeof(ex) };
	struct dk_op *op = dk_op_get(t_reg, "r::def");
	unsigned int backend, key;

	CHECK(dk_op_dump(op, text, sizeof(text)));
	CHECK(dk_op_dump_table(op, text, sizeof(text)));
	CHECK(dk_op_list_keys(op, text, sizeof(text)));
	dk_invariants_text(op, text, sizeof(text));
	CHECK_OK(dk_op_explain(op, DK_KEYSET(0), DK_KEYSET(0), NULL, 0, &ex));
	CHECK_OK(dk_backend_find(t_reg, "edu", &backend, &t_why));
	CHECK_OK(dk_registry_key_parse(t_reg, "edu", &key, &t_why));
	CHECK_INT(t_call(op, &r_cpu, NULL), 1);
	dk_op_put(op);
	return dk_registry_check(t_reg, &t_why);
}

static int look_again(void)
{
	return 0;
}

static struct dk_layout *layout;

/* What is made is no registry's. */
static int parse_layout(void)
{
	layout = dk_layout_parse("layout x\nbackends A\nfunctionalities Undefined B* C",
				 &t_why);
	return layout ? 0 : -ENOMEM;
}

static int free_layout(void)
{
	dk_layout_free(layout);
	return 0;
}

static struct dk_registry *registry;

static int make_registry(void)
{
	registry = dk_registry_alloc(NULL, DK_REGISTRY_STOCKED, &t_why);
	return registry ? 0 : -ENOMEM;
}

static int make_other_registry(void)
{
	registry = dk_registry_alloc(dk_layout_find("pytorch-1.13", NULL), 0, &t_why);
	return registry ? 0 : -ENOMEM;
}

static int free_registry(void)
{
	return dk_registry_free(registry, &t_why);
}

/* ---- libraries ---------------------------------------------------------------- */

static struct dk_library library = {
	.size = sizeof(library), .kind = DK_LIBRARY_FRAGMENT, .ns = "lib",
	.prov = &r_a, .debug = "here",
};

static struct dk_library nameless = {
	.size = sizeof(nameless), .kind = DK_LIBRARY_IMPL, .prov = &r_a,
};

static struct dk_handle handle;
static struct dk_op_decl lib_op;
static struct dk_impl lib_impl;

static int register_library(void)
{
	return dk_library_register(&library, &t_why);
}

static int unregister_library(void)
{
	return dk_library_unregister(&library);
}

static int unregister_nameless(void)
{
	return dk_library_unregister(&nameless);
}

/* One entry of a library, all or nothing. */
static int with_library(int err, int (*then)(void), struct dk_library *lib)
{
	if (err)
		return err;
	err = then();
	if (err) {
		CHECK(!handle.core);
		CHECK_OK(dk_library_unregister(lib));
	}
	return err;
}

static int add_def(void)
{
	return dk_library_def(&library, &lib_op, 0, &handle, &t_why);
}

static int add_def_impl(void)
{
	return dk_library_def_impl(&library, &lib_op, 0, &lib_impl, &handle, &t_why);
}

static int add_impl(void)
{
	return dk_library_impl(&library, &lib_impl, &handle, &t_why);
}

static int add_fallback(void)
{
	return dk_library_fallback(&nameless, &fallback, &handle, &t_why);
}

static int library_def(void)
{
	return with_library(register_library(), add_def, &library);
}

static int library_def_impl(void)
{
	return with_library(register_library(), add_def_impl, &library);
}

static int library_impl(void)
{
	return with_library(register_library(), add_impl, &library);
}

static int library_fallback(void)
{
	return with_library(dk_library_register(&nameless, &t_why), add_fallback,
		&nameless);
}

static int release_and_unregister(void)
{
	int err = dk_handle_release(&library, &handle);

	CHECK(!handle.core);
	return err ? err : dk_library_unregister(&library);
}

/* The library alone, with what is left of it. */
static int unregister_with_entry(void)
{
	int err = dk_library_unregister(&library);

	handle.core = NULL;
	return err;
}

static int unregister_nameless_with_entry(void)
{
	int err = unregister_nameless();

	handle.core = NULL;
	return err;
}

/*
 * refuses: dk_op_define ENOMEM NO_MEMORY
 * refuses: dk_impls_register ENOMEM NO_MEMORY
 * refuses: dk_backend_impls_register ENOMEM NO_MEMORY
 * refuses: dk_fallback_register ENOMEM NO_MEMORY
 * refuses: dk_device_register ENOMEM NO_MEMORY
 * refuses: dk_listener_register ENOMEM NO_MEMORY
 * refuses: dk_library_register ENOMEM NO_MEMORY
 * refuses: dk_library_def ENOMEM NO_MEMORY
 * refuses: dk_library_def_impl ENOMEM NO_MEMORY
 * refuses: dk_library_impl ENOMEM NO_MEMORY
 * refuses: dk_library_fallback ENOMEM NO_MEMORY
 * refuses: dk_registry_alloc ENOMEM NO_MEMORY
 */
static const struct scenario scenarios[] = {
	{ "a provider", register_provider, unregister_provider, "none", 0 },
	{ "a new definition", define_new, undefine_new, "r::new", 0 },
	{ "that describes its arguments", define_described, undefine_new, "r::new", 0 },
	{ "of what has functions", define_known, undefine_known, "r::impl", 0 },
	{ "one function", register_one, unregister_one, NULL, 0 },
	{ "one over another's", register_other, unregister_other, NULL, 0 },
	{ "a table", register_table, unregister_table, NULL, 0 },
	{ "withdrawn and drained", register_table, withdraw_table, NULL, 0 },
	{ "several keys of one operator", register_keys, unregister_keys, NULL, 0 },
	{ "aliases", register_aliases, unregister_aliases, NULL, 0 },
	{ "a backend's table", register_backend, unregister_table, NULL, 0 },
	{ "names that need more room", register_many, unregister_many, NULL, 0 },
	{ "a fallback", register_fallback, unregister_fallback, NULL, 0 },
	{ "that is a function", register_function, unregister_function, NULL, 0 },
	{ "at all keys of an alias", register_alias_fallback, unregister_alias_fallback, NULL, 0 },
	{ "a device", register_device, unregister_device, NULL, 0 },
	{ "one without functions", register_bare_device, unregister_device, NULL, 0 },
	{ "all of a provider", register_all, unregister_provider, NULL, STEPS },
	{ "a library", register_library, unregister_library, "lib", 0 },
	{ "its definition", library_def, release_and_unregister, NULL, STEPS },
	{ "with a function", library_def_impl, release_and_unregister, NULL, STEPS },
	{ "left in it", library_def_impl, unregister_with_entry, NULL, STEPS },
	{ "a function alone", library_impl, release_and_unregister, NULL, STEPS },
	{ "a fallback of one", library_fallback, unregister_nameless_with_entry, NULL, STEPS },
	{ "a listener", register_listener, unregister_listener, "", 0 },
	{ "hooks", register_hooks, unregister_hooks, NULL, FREE },
	{ "a handle", hold_operator, put_operator, NULL, FREE },
	{ "a look at it", look, look_again, NULL, FREE },
	{ "a layout", parse_layout, free_layout, NULL, 0 },
	{ "a registry", make_registry, free_registry, NULL, 0 },
	{ "one of another layout", make_other_registry, free_registry, NULL, 0 },
};

/* ---- how ---------------------------------------------------------------------- */

static void prepare(void)
{
	static const struct dk_param param = { .name = "x", .kind = DK_ARG_POINTER };
	unsigned int i;

	r_open();
	described = r_new;
	described.param = &param;
	described.num_params = 1;
	untyped = r_new;
	untyped.sig = NULL;
	new2 = t_decl("r::new2");
	table[0] = t_impl(&r_new, DK_SPARSE, 7);
	table[1] = t_impl(&r_def, DK_DENSE, 8);
	table[2] = t_impl(&new2, DK_DENSE, 9);
	keys[0] = t_impl(&r_def, DK_DENSE, 10);
	keys[1] = t_impl(&r_def, DK_SPARSE, 11);
	keys[2] = t_impl(&r_def, DK_AUTOGRAD_FUNCTIONALITY, 12);
	aliases[0] = t_impl(&r_def, DK_COMPOSITE_IMPLICIT_AUTOGRAD, 13);
	aliases[1] = t_impl(&r_impl, DK_AUTOGRAD, 14);
	one = t_impl(&r_def, DK_CUDA, 15);
	other = t_impl(&r_def, DK_CPU, 16);
	fallback = t_fallthrough(NULL, DK_PYTHON);
	alias_fallback = t_fallthrough(NULL, DK_COMPOSITE_EXPLICIT_AUTOGRAD);
	for (i = 0; i < MANY; i++) {
		snprintf(many_name[i], sizeof(many_name[i]), "many::%u", i);
		many_decl[i] = t_decl(many_name[i]);
		many[i] = t_impl(&many_decl[i], DK_CPU, 1);
	}
	prov = r_none;
	listener.registry = t_reg;
	lib_op = t_decl("lib::op");
	lib_op.schema = "lib::op(Tensor x) -> Tensor";
	lib_impl = t_impl(&lib_op, DK_CPU, 1);
	lib_impl.schema = "(Tensor _0) -> Tensor _0";
	r_rebase();
}

static void refused(int err, const char *culprit)
{
	r_refused(__FILE__, __LINE__, "an allocation fails", err, -ENOMEM, DK_WHY_NO_MEMORY,
		  culprit);
}

static u64 answers_before;

/* The steps that were made are taken back, and show only in the generation. */
static void refused_steps(int err, const char *culprit)
{
	CHECK(r_answers() == answers_before);
	r_rebase();
	refused(err, culprit);
}

/* Fail each allocation of what is done; the last time it works. How many did. */
static unsigned int each_fails(int (*act)(void), const char *culprit, unsigned int flags)
{
	answers_before = r_answers();
	return r_each_fails(act, flags & STEPS ? refused_steps : refused, culprit);
}

/* Undo it without memory: all is as it was, by the rules if not by rows. */
static bool undo_without_memory(const struct scenario *s, u64 answers, long before)
{
	int err;

	dk_test_fail_alloc(DK_TEST_EVERY);
	err = s->undo();
	CHECK(r_answers() == answers);
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	dk_test_fail_alloc(0);
	CHECK_OK(err);
	/* rows are there again after the next change */
	if (!CHECK_OK(s->act()) || !CHECK_OK(s->undo()))
		return false;
	CHECK(r_answers() == answers);
	return CHECK_INT(dk_test_allocs(), before);
}

/* Undo it where one allocation fails: when all is over, no row is missing. */
static bool undo_with_less_memory(const struct scenario *s, u64 answers, long before)
{
	unsigned int n, failed;
	bool held = true;

	for (n = 1, failed = 1; failed && held; n += r_alloc_step()) {
		held &= CHECK_OK(s->act());
		dk_test_fail_alloc(n);
		held &= CHECK_OK(s->undo());
		failed = dk_test_fail_alloc(0);
		held &= CHECK(r_answers() == answers) && CHECK_INT(dk_test_allocs(), before);
	}
	return held;
}

static void each_allocation_fails(void)
{
	long at_first, before;
	unsigned int i, n, all = 0;
	u64 answers;

	t_first_call();
	at_first = dk_test_allocs();
	for (i = 0; i < ARRAY_SIZE(scenarios); i++) {
		const struct scenario *s = &scenarios[i];
		bool held = true;

		prepare();
		answers = r_answers();
		before = dk_test_allocs();
		n = each_fails(s->act, s->culprit, s->flags);
		held &= CHECK(s->flags & FREE ? !n : n);
		held &= undo_without_memory(s, answers, before);
		held &= undo_with_less_memory(s, answers, before);
		all += n;
		r_rebase();
		r_close();
		held &= CHECK_INT(dk_test_allocs(), at_first);
		if (!held)
			t_note("%s, %u allocations", s->name, n);
	}
	t_note("%u allocations of %u scenarios failed, one by one", all, i);
}

/* ---- what the table has no place for ------------------------------------------ */

static int card_offline(void)
{
	return dk_device_set_online(t_reg, r_card, 0, &t_why);
}

static int card_offline_soon(void)
{
	return dk_device_set_online_timeout(t_reg, r_card, 0, 0, &t_why);
}

static int edu_offline_soon(void)
{
	return dk_backend_set_online_timeout(t_reg, r_edu, 0, 0, &t_why);
}

static int card_online(void)
{
	return dk_device_set_online(t_reg, r_card, 1, &t_why);
}

static int edu_offline(void)
{
	return dk_backend_set_online(t_reg, r_edu, 0, &t_why);
}

static int edu_online(void)
{
	return dk_backend_set_online(t_reg, r_edu, 1, &t_why);
}

/* Going offline may fail, and coming back, too; leaving may not. */
static void offline_and_online(void)
{
	long before;
	u64 answers;

	prepare();
	answers = r_answers();
	before = dk_test_allocs();
	/* refuses: dk_device_set_online ENOMEM NO_MEMORY */
	CHECK(each_fails(card_offline, "card", 0));
	CHECK(r_answers() != answers);
	r_rebase();
	CHECK(each_fails(card_online, "card", 0));
	/* refuses: dk_backend_set_online ENOMEM NO_MEMORY */
	r_rebase();
	CHECK(each_fails(edu_offline, "edu", 0));
	CHECK(r_answers() != answers);
	r_rebase();
	CHECK(each_fails(edu_online, "edu", 0));
	CHECK(r_answers() == answers);
	CHECK_INT(dk_test_allocs(), before);
	/* refuses: dk_device_set_online_timeout ENOMEM NO_MEMORY */
	r_rebase();
	CHECK(each_fails(card_offline_soon, "card", 0));
	CHECK_OK(card_online());
	/* refuses: dk_backend_set_online_timeout ENOMEM NO_MEMORY */
	r_rebase();
	CHECK(each_fails(edu_offline_soon, "edu", 0));
	CHECK_OK(edu_online());
	CHECK(r_answers() == answers);
	CHECK_OK(card_offline());
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_OK(dk_device_unregister(&r_a, r_card, &t_why));
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	dk_test_fail_alloc(0);
	r_rebase();
	r_close();
}

/* ---- what is built after an undo ------------------------------------------------ */

static struct dk_impl late, later[2], edu_fallback;

static int define_atomic(void)
{
	return dk_op_define(&r_a, &r_new, DK_OP_ATOMIC, &t_why);
}

/* What a refused change leaves behind shows in the tables that are built next. */
static void refused_and_built(int err, const char *culprit)
{
	refused(err, culprit);
	CHECK_OK(dk_impls_register(&r_b, later, 2, &t_why));
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	CHECK_OK(dk_impls_unregister(&r_b, later, &t_why));
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	CHECK(r_answers() == answers_before);
	r_rebase();
}

static void undone(int (*act)(void), const char *culprit)
{
	r_rebase();
	answers_before = r_answers();
	CHECK(r_each_fails(act, refused_and_built, culprit));
}

/* Beside a fallthrough of the backend, and a fallback that serves no atomic operator. */
static void undone_beside_fallbacks(void)
{
	prepare();
	late = t_impl(&r_new, DK_CPU, 17);
	late.flags = DK_IMPL_F_ATOMIC;
	later[0] = t_impl(&r_def, DK_SPARSE_CPU, 18);
	later[1] = t_impl(&r_new, DK_SPARSE_CPU, 19);
	later[1].flags = DK_IMPL_F_ATOMIC;
	edu_fallback = t_fallthrough(NULL, dk_runtime_key(NULL, DK_DENSE, r_edu));
	CHECK_OK(dk_impls_register(&r_a, &late, 1, &t_why));
	CHECK_OK(register_function());
	CHECK_OK(dk_fallback_register(&r_a, &edu_fallback, &t_why));
	undone(define_atomic, "r::new");
	CHECK_OK(undefine_new());
	undone(edu_offline, "edu");
	undone(edu_online, "edu");
	undone(register_fallback, NULL);
	CHECK_OK(unregister_fallback());
	undone(register_device, NULL);
	CHECK_OK(unregister_device());
	CHECK_OK(dk_impls_unregister(&r_a, &edu_fallback, &t_why));
	CHECK_OK(unregister_function());
	CHECK_OK(dk_impls_unregister(&r_a, &late, &t_why));
	r_rebase();
	r_close();
}

/* A definition that finds no memory leaves no class: fallbacks that may sleep still serve. */
static void atomic_definition(void)
{
	prepare();
	CHECK(each_fails(define_early, "r::early", 0));
	CHECK_OK(undefine_early());
	r_rebase();
	r_close();
}

/* Nor has it a signature, where the functions have none either. */
static void definition_with_a_signature(void)
{
	struct dk_op_decl typed;

	prepare();
	typed = r_new;
	typed.sig = "(float)";
	one = t_impl(&untyped, DK_CPU, 15);
	CHECK_OK(register_one());
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_INT(define_new(), -ENOMEM);
	dk_test_fail_alloc(0);
	CHECK_OK(dk_op_define(&r_a, &typed, 0, &t_why));
	CHECK_OK(undefine_new());
	CHECK_OK(unregister_one());
	r_rebase();
	r_close();
}

/* A table that is refused gets no counters. */
static void counted_table(void)
{
	unsigned int n, failed, refused = 0;
	long before;
	int err;

	prepare();
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	before = dk_test_allocs();
	for (n = 1, failed = 1; failed; n++) {
		dk_test_fail_alloc(n);
		err = register_table();
		failed = dk_test_fail_alloc(0);
		refused += !!err;
		if (!err)
			CHECK_OK(unregister_table());
		if (!CHECK_INT(dk_test_allocs(), before))
			break;
	}
	CHECK(refused > 1);
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	r_rebase();
	r_close();
}

static unsigned int num_allocs;

static void see_alloc(void)
{
	num_allocs++;
}

static unsigned int allocs_of(int (*act)(void))
{
	num_allocs = 0;
	dk_test_at_alloc(see_alloc);
	CHECK_OK(act());
	dk_test_at_alloc(NULL);
	return num_allocs;
}

/*
 * The tables are built anew that a device has a part in. If calls are counted, they have a copy
 * each: the operator's, the list of its devices, and in there the device's and the one for
 * objects on no device.
 */
static void device_goes_offline_alone(void)
{
	unsigned int goes, comes;

	prepare();
	CHECK_OK(register_many());
	goes = allocs_of(card_offline);
	comes = allocs_of(card_online);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_INT(allocs_of(card_offline), goes + 1);
	CHECK_INT(allocs_of(card_online), comes + 4);
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	CHECK_OK(unregister_many());
	r_rebase();
	r_close();
}

/* ---- tables that find no memory ------------------------------------------------- */

static struct dk_op_decl new_decl[2 * MANY];
static struct dk_impl more[MANY], new[2 * MANY];
static char new_name[2 * MANY][16];

static int drain(void)
{
	return dk_provider_drain(&r_b);
}

/* Many operators have functions of two providers. How much memory that takes with one. */
static long begin_tables(void)
{
	unsigned int i;
	long before;

	prepare();
	for (i = 0; i < MANY; i++)
		more[i] = t_impl(&many_decl[i], DK_CUDA, 2);
	for (i = 0; i < 2 * MANY; i++) {
		snprintf(new_name[i], sizeof(new_name[i]), "new::%u", i);
		new_decl[i] = t_decl(new_name[i]);
		new[i] = t_impl(&new_decl[i], DK_CPU, 1);
	}
	CHECK_OK(register_many());
	before = dk_test_allocs();
	CHECK_OK(dk_impls_register(&r_b, more, MANY, &t_why));
	return before;
}

/* None of them gets a table. */
static void withdraw_more(void)
{
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_OK(dk_impls_withdraw(&r_b, more, &t_why));
	CHECK(dk_test_fail_alloc(0) >= MANY);
}

static void end_tables(long before)
{
	CHECK_INT(dk_test_allocs(), before);
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	CHECK_OK(unregister_many());
	r_rebase();
	r_close();
}

static void tables_are_built_after_the_drain(void)
{
	long before = begin_tables();

	withdraw_more();
	CHECK_OK(drain());
	end_tables(before);
}

/* In other slots of a larger table of names. */
static void the_next_drain_builds_the_rest(void)
{
	long before = begin_tables();

	withdraw_more();
	dk_test_fail_alloc(MANY / 2);
	CHECK_OK(drain());
	CHECK_INT(dk_test_fail_alloc(0), 1);
	CHECK(dk_test_allocs() < before);
	CHECK_OK(dk_impls_register(&r_b, new, 2 * MANY, &t_why));
	CHECK_OK(drain());
	CHECK_OK(dk_impls_unregister(&r_b, new, &t_why));
	end_tables(before);
}

/* The table of names may be smaller then: names that have gone leave slots that are used. */
static void the_rest_is_in_a_smaller_table(void)
{
	unsigned int used;
	long before;

	for (used = 0; used < 2 * MANY; used += MANY / 4) {
		before = begin_tables();
		CHECK_OK(dk_impls_register(&r_b, new, 2 * MANY, &t_why));
		CHECK_OK(dk_impls_unregister(&r_b, new, &t_why));
		CHECK_OK(dk_impls_register(&r_b, new, used, &t_why));
		CHECK_OK(dk_impls_unregister(&r_b, new, &t_why));
		withdraw_more();
		dk_test_fail_alloc(MANY / 2);
		CHECK_OK(drain());
		CHECK_INT(dk_test_fail_alloc(0), 1);
		CHECK_OK(dk_impls_register(&r_b, new, MANY / 4, &t_why));
		CHECK_OK(drain());
		CHECK_OK(dk_impls_unregister(&r_b, new, &t_why));
		end_tables(before);
	}
}

static void undefining_builds_some(void)
{
	unsigned int n;
	long before;

	before = begin_tables();
	CHECK_OK(define_new());
	withdraw_more();
	n = allocs_of(undefine_new);
	CHECK(n && n < MANY / 2);
	CHECK_OK(drain());
	end_tables(before);
}

static struct dk_op *op;
static unsigned int num_seen;

static void call_meanwhile(void)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU));

	num_seen += t_call(op, &x, NULL) != -ENOENT;
}

/* A fallback is in the table of each operator that has nothing of its own at its key. */
static void fallback_is_in_tables_that_show_it(void)
{
	unsigned int all;

	prepare();
	one = t_impl(&r_impl, DK_CONJUGATE, 15);
	all = allocs_of(register_function);
	CHECK_OK(unregister_function());
	CHECK_OK(register_one());
	CHECK(allocs_of(register_function) < all);
	CHECK_OK(unregister_function());
	CHECK_OK(unregister_one());
	CHECK_INT(allocs_of(register_function), all);
	CHECK_OK(unregister_function());
	r_rebase();
	r_close();
}

static bool function_serves(void)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CONJUGATE) | DK_KEY_BITS(DK_CPU));

	return t_call(op, &x, NULL) != -ENOSYS;
}

/* Without memory for tables, calls find what is left of fallbacks by the rules. */
static void fallback_leaves_without_memory(void)
{
	unsigned int allocs;

	prepare();
	op = dk_op_get(t_reg, "r::def");
	CHECK(!function_serves());
	allocs = allocs_of(register_function);
	CHECK(function_serves());
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_OK(unregister_function());
	CHECK(!function_serves());
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	dk_test_fail_alloc(0);
	/* builds the tables again */
	CHECK_INT(allocs_of(register_function), allocs);
	CHECK(function_serves());
	CHECK_OK(unregister_function());
	CHECK(!function_serves());
	dk_op_put(op);
	r_rebase();
	r_close();
}

/* A definition that fails with its function is seen by no call, ever. */
static void half_a_library_entry(void)
{
	struct dk_impl early;
	u64 before;

	t_first_call();
	prepare();
	early = t_impl(&lib_op, DK_CUDA, 1);
	CHECK_OK(register_library());
	CHECK_OK(dk_impls_register(&r_a, &early, 1, &t_why));
	op = dk_op_get(t_reg, "lib::op");
	r_rebase();
	num_seen = 0;
	before = dk_registry_generation(t_reg);
	dk_test_at_alloc(call_meanwhile);
	r_each_fails(add_def_impl, NULL, NULL);
	dk_test_at_alloc(NULL);
	CHECK_INT(num_seen, 0);
	CHECK_INT(dk_registry_generation(t_reg), before + 2);
	CHECK_OK(dk_handle_release(&library, &handle));
	dk_op_put(op);
	CHECK_OK(dk_impls_unregister(&r_a, &early, &t_why));
	CHECK_OK(unregister_library());
	r_rebase();
	r_close();
}

static unsigned int num_told[4], num_lost;

static void hear(struct dk_listener *l, const struct dk_event *event)
{
	num_told[event->kind]++;
	if (event->kind == DK_EVENT_LOST) {
		num_lost += event->key;
		CHECK_STR(event->name, "");
	}
}

static struct dk_listener ears = { .size = sizeof(ears), .told = hear };

static const struct change {
	int (*act)(void);
	int (*undo)(void);
	unsigned int kind, news;
} changes[] = {
	{ define_new, undefine_new, DK_EVENT_DEFINED, 1 },
	{ register_table, unregister_table, DK_EVENT_IMPL, 3 },
};

static void forget(void)
{
	memset(num_told, 0, sizeof(num_told));
	num_lost = 0;
}

/* Each event is told or lost, and which change it was does not depend on that. */
static unsigned int each_news_fails(const struct change *c)
{
	unsigned int n, lost = 0;
	int err;

	for (n = 1;; n++) {
		forget();
		dk_test_fail_alloc(n);
		err = c->act();
		if (!dk_test_fail_alloc(0))
			break;
		CHECK_INT(num_told[c->kind] + num_lost, err ? 0 : c->news);
		if (err)
			continue;
		lost += num_lost;
		forget();
		dk_test_fail_alloc(DK_TEST_EVERY);
		CHECK_OK(c->undo());
		dk_test_fail_alloc(0);
		CHECK_INT(num_told[DK_EVENT_UNDEFINED] + num_lost,
			  c->kind == DK_EVENT_DEFINED);
		lost += num_lost;
	}
	CHECK_OK(err);
	CHECK_INT(num_told[c->kind], c->news);
	forget();
	CHECK_OK(c->undo());
	CHECK_INT(num_told[DK_EVENT_UNDEFINED], c->kind == DK_EVENT_DEFINED);
	CHECK_INT(num_lost, 0);
	return lost;
}

static void news_are_lost_and_changes_are_not(void)
{
	long before = dk_test_allocs();
	unsigned int i;

	prepare();
	ears.registry = t_reg;
	CHECK_OK(dk_listener_register(&ears, &t_why));
	for (i = 0; i < ARRAY_SIZE(changes); i++)
		CHECK(each_news_fails(&changes[i]) > 1);
	CHECK_OK(dk_listener_unregister(&ears));
	r_rebase();
	r_close();
	CHECK_INT(dk_test_allocs(), before);
}

/* ---- a name that was called ----------------------------------------------------- */

DK_OP(turns, "failing::turns", (struct dk_obj *x), (x), (x));

static int turns_here(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

/* Define it in the default registry, call it so that declarations point to it, and leave. */
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
	/* that declarations point to it is no reason to list it, nor to hold it */
	CHECK(!dk_op_get(NULL, decl->name));
}

/* However often a name comes with another signature, or in another class, if @classes. */
static void take_turns(const char *name, bool classes, bool early)
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

static void signatures_take_turns(void)
{
	t_first_call();
	take_turns("failing::turns", true, false);
	take_turns("failing::early", false, true);
}

T_SUITE(failing,
	T(each_allocation_fails),
	T(offline_and_online),
	T(undone_beside_fallbacks),
	T(atomic_definition),
	T(definition_with_a_signature),
	T(counted_table),
	T(device_goes_offline_alone),
	T(tables_are_built_after_the_drain),
	T(the_next_drain_builds_the_rest),
	T(the_rest_is_in_a_smaller_table),
	T(undefining_builds_some),
	T(fallback_is_in_tables_that_show_it),
	T(fallback_leaves_without_memory),
	T(half_a_library_entry),
	T(news_are_lost_and_changes_are_not),
	T(signatures_take_turns));
