// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes each allocation of each change to a full registry fail in turn. A failed change must leave
 * the registry as it was, and free all memory that it allocated. Undoing a change must restore the
 * registry even if all allocations fail. full_registry.h explains the comments "refuses:".
 */
#include "alloc.h"
#include "full_registry_changes.h"

struct scenario {
	const char *name;
	int (*act)(void);
	int (*undo)(void);
	const char *culprit;	/* the name in a refusal, NULL if it varies */
	unsigned int flags;
};

#define FREE	1	/* needs no memory */
#define STEPS	2	/* several changes: if one is refused, the earlier ones are undone */
#define KEEPS	4	/* one allocation stays until the registry is freed */

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
	{ "a provider", r_register_provider, r_unregister_provider, "none", 0 },
	{ "a new definition", r_define_new, r_undefine_new, "r::new", 0 },
	{ "that describes its arguments", r_define_described, r_undefine_new, "r::new", 0 },
	{ "of what has functions", r_define_known, r_undefine_known, "r::impl", 0 },
	{ "one function", r_register_one, r_unregister_one, NULL, 0 },
	{ "one over another's", r_register_other, r_unregister_other, NULL, 0 },
	{ "a table", r_register_table, r_unregister_table, NULL, 0 },
	{ "withdrawn and drained", r_register_table, r_withdraw_table, NULL, 0 },
	{ "several keys of one operator", r_register_keys, r_unregister_keys, NULL, 0 },
	{ "aliases", r_register_aliases, r_unregister_aliases, NULL, 0 },
	{ "a backend's table", r_register_backend, r_unregister_table, NULL, 0 },
	{ "names that need more room", r_register_many, r_unregister_many, NULL, 0 },
	{ "a fallback", r_register_fallback, r_unregister_fallback, NULL, 0 },
	{ "that is a function", r_register_function, r_unregister_function, NULL, 0 },
	{ "at all keys of an alias", r_register_alias_fallback, r_unregister_alias_fallback,
	  NULL, 0 },
	{ "a device", r_register_device, r_unregister_device, NULL, 0 },
	{ "one without functions", r_register_bare_device, r_unregister_device, NULL, 0 },
	{ "all of a provider", r_register_all, r_unregister_provider, NULL, STEPS },
	{ "a library", r_register_library, r_unregister_library, "lib", 0 },
	{ "its definition", r_library_def, r_release_and_unregister, NULL, STEPS },
	{ "with a function", r_library_def_impl, r_release_and_unregister, NULL, STEPS },
	{ "left in it", r_library_def_impl, r_unregister_with_entry, NULL, STEPS },
	{ "a function alone", r_library_impl, r_release_and_unregister, NULL, STEPS },
	{ "a fallback of one", r_library_fallback, r_unregister_nameless_with_entry, NULL, STEPS },
	{ "a listener", r_register_listener, r_unregister_listener, "", KEEPS },
	{ "hooks", r_register_hooks, r_unregister_hooks, NULL, FREE },
	{ "a handle", r_hold_operator, r_put_operator, NULL, FREE },
	{ "a look at it", r_query, r_query_again, NULL, FREE },
	{ "a layout", r_parse_layout, r_free_layout, NULL, 0 },
	{ "a registry", r_make_registry, r_free_registry, NULL, 0 },
	{ "one of another layout", r_make_other_registry, r_free_registry, NULL, 0 },
};

/* ---- one scenario -------------------------------------------------------- */

static void refused(int err, const char *culprit)
{
	r_refused(__FILE__, __LINE__, "an allocation fails", err, -ENOMEM, DK_WHY_NO_MEMORY,
		  culprit);
}

static u64 hash_before;

/* The steps before the refused one have been undone, so only the generation differs. */
static void refused_steps(int err, const char *culprit)
{
	CHECK(r_hash_queries() == hash_before);
	r_rebase();
	refused(err, culprit);
}

/* Makes each allocation of @act fail in turn, until @act succeeds. Returns how many failed. */
static unsigned int each_fails(int (*act)(void), const char *culprit, unsigned int flags)
{
	hash_before = r_hash_queries();
	return r_each_fails(act, flags & STEPS ? refused_steps : refused, culprit);
}

/*
 * Undoes the change while all allocations fail. All queries must return the same as before the
 * change, even for an operator whose table could not be built: without a table, the rules give the
 * result.
 */
static bool undo_without_memory(const struct scenario *s, u64 answers, long before)
{
	int err;

	dk_test_fail_alloc(DK_TEST_EVERY);
	err = s->undo();
	CHECK(r_hash_queries() == answers);
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	dk_test_fail_alloc(0);
	CHECK_OK(err);
	/* the next change builds the tables again */
	if (!CHECK_OK(s->act()) || !CHECK_OK(s->undo()))
		return false;
	CHECK(r_hash_queries() == answers);
	return CHECK_INT(dk_test_allocs(), before);
}

/* Undoes the change while one allocation fails. No table may be missing after that. */
static bool undo_with_less_memory(const struct scenario *s, u64 answers, long before)
{
	unsigned int n, failed;
	bool held = true;

	for (n = 1, failed = 1; failed && held; n += r_alloc_step()) {
		held &= CHECK_OK(s->act());
		dk_test_fail_alloc(n);
		held &= CHECK_OK(s->undo());
		failed = dk_test_fail_alloc(0);
		held &= CHECK(r_hash_queries() == answers) && CHECK_INT(dk_test_allocs(), before);
	}
	return held;
}

static void each_allocation_fails(void)
{
	long at_first, before;
	unsigned int i, n, all = 0;
	u64 answers;

	t_first_call();
	/* a built-in layout is allocated when it is first used, and then kept */
	CHECK(dk_layout_find("pytorch-1.13", NULL));
	at_first = dk_test_allocs();
	for (i = 0; i < ARRAY_SIZE(scenarios); i++) {
		const struct scenario *s = &scenarios[i];
		bool held = true;

		r_prepare();
		answers = r_hash_queries();
		before = dk_test_allocs();
		n = each_fails(s->act, s->culprit, s->flags);
		before += !!(s->flags & KEEPS);
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

/* ---- changes that are not in the table of scenarios ---------------------- */

/*
 * Without memory, setting a device or backend offline or online fails, but unregistering succeeds.
 */
static void offline_and_online_fail_without_memory(void)
{
	long before;
	u64 answers;

	r_prepare();
	answers = r_hash_queries();
	before = dk_test_allocs();
	/* refuses: dk_device_set_online ENOMEM NO_MEMORY */
	CHECK(each_fails(r_card_offline, "card", 0));
	CHECK(r_hash_queries() != answers);
	r_rebase();
	CHECK(each_fails(r_card_online, "card", 0));
	/* refuses: dk_backend_set_online ENOMEM NO_MEMORY */
	r_rebase();
	CHECK(each_fails(r_edu_offline, "edu", 0));
	CHECK(r_hash_queries() != answers);
	r_rebase();
	CHECK(each_fails(r_edu_online, "edu", 0));
	CHECK(r_hash_queries() == answers);
	CHECK_INT(dk_test_allocs(), before);
	/* refuses: dk_device_set_online_timeout ENOMEM NO_MEMORY */
	r_rebase();
	CHECK(each_fails(r_card_offline_soon, "card", 0));
	CHECK_OK(r_card_online());
	/* refuses: dk_backend_set_online_timeout ENOMEM NO_MEMORY */
	r_rebase();
	CHECK(each_fails(r_edu_offline_soon, "edu", 0));
	CHECK_OK(r_edu_online());
	CHECK(r_hash_queries() == answers);
	CHECK_OK(r_card_offline());
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_OK(dk_device_unregister(&r_a, r_card, &t_why));
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	dk_test_fail_alloc(0);
	r_rebase();
	r_close();
}

/* ---- tables that are built after a refusal ------------------------------- */

static struct dk_impl late, later[2], edu_fallback;

static int define_atomic(void)
{
	return dk_op_define(&r_a, &r_new, DK_OP_ATOMIC, &t_why);
}

/*
 * Builds tables after a refused change, to show whether the change left anything in the registry.
 */
static void refused_and_built(int err, const char *culprit)
{
	refused(err, culprit);
	CHECK_OK(dk_impls_register(&r_b, later, 2, &t_why));
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	CHECK_OK(dk_impls_unregister(&r_b, later, &t_why));
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	CHECK(r_hash_queries() == hash_before);
	r_rebase();
}

static void undone(int (*act)(void), const char *culprit)
{
	r_rebase();
	hash_before = r_hash_queries();
	CHECK(r_each_fails(act, refused_and_built, culprit));
}

/*
 * Registers a fallthrough at a backend's key, and a fallback that does not serve atomic operators.
 * Then each of several changes is refused, and must be undone completely.
 */
static void refused_changes_are_undone_with_fallbacks(void)
{
	r_prepare();
	late = t_impl(&r_new, DK_CPU, 17);
	late.flags = DK_IMPL_F_ATOMIC;
	later[0] = t_impl(&r_def, DK_SPARSE_CPU, 18);
	later[1] = t_impl(&r_new, DK_SPARSE_CPU, 19);
	later[1].flags = DK_IMPL_F_ATOMIC;
	edu_fallback = t_fallthrough(NULL, dk_runtime_key(NULL, DK_DENSE, r_edu));
	CHECK_OK(dk_impls_register(&r_a, &late, 1, &t_why));
	CHECK_OK(r_register_function());
	CHECK_OK(dk_fallback_register(&r_a, &edu_fallback, &t_why));
	undone(define_atomic, "r::new");
	CHECK_OK(r_undefine_new());
	undone(r_edu_offline, "edu");
	undone(r_edu_online, "edu");
	undone(r_register_fallback, NULL);
	CHECK_OK(r_unregister_fallback());
	undone(r_register_device, NULL);
	CHECK_OK(r_unregister_device());
	CHECK_OK(dk_impls_unregister(&r_a, &edu_fallback, &t_why));
	CHECK_OK(r_unregister_function());
	CHECK_OK(dk_impls_unregister(&r_a, &late, &t_why));
	r_rebase();
	r_close();
}

/*
 * If a definition fails for lack of memory, the operator does not become atomic: fallbacks that may
 * sleep still serve it.
 */
static void failed_definition_keeps_fallbacks(void)
{
	r_prepare();
	CHECK(each_fails(r_define_early, "r::early", 0));
	CHECK_OK(r_undefine_early());
	r_rebase();
	r_close();
}

/*
 * If a definition fails for lack of memory, it does not set the signature of an operator whose
 * functions have none: the next definition may have another signature.
 */
static void failed_definition_sets_no_signature(void)
{
	struct dk_op_decl typed;

	r_prepare();
	typed = r_new;
	typed.sig = "(float)";
	r_one = t_impl(&r_untyped, DK_CPU, 15);
	CHECK_OK(r_register_one());
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_INT(r_define_new(), -ENOMEM);
	dk_test_fail_alloc(0);
	CHECK_OK(dk_op_define(&r_a, &typed, 0, &t_why));
	CHECK_OK(r_undefine_new());
	CHECK_OK(r_unregister_one());
	r_rebase();
	r_close();
}

/* If registering an array of functions is refused, no counters stay allocated. */
static void refused_table_leaves_no_counters(void)
{
	unsigned int n, failed, refused = 0;
	long before;
	int err;

	r_prepare();
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	before = dk_test_allocs();
	for (n = 1, failed = 1; failed; n++) {
		dk_test_fail_alloc(n);
		err = r_register_table();
		failed = dk_test_fail_alloc(0);
		refused += !!err;
		if (!err)
			CHECK_OK(r_unregister_table());
		if (!CHECK_INT(dk_test_allocs(), before))
			break;
	}
	CHECK(refused > 1);
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	r_rebase();
	r_close();
}

T_SUITE(alloc_failures,
	T(each_allocation_fails),
	T(offline_and_online_fail_without_memory),
	T(refused_changes_are_undone_with_fallbacks),
	T(failed_definition_keeps_fallbacks),
	T(failed_definition_sets_no_signature),
	T(refused_table_leaves_no_counters));
