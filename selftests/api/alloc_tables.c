// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests that some changes do not fail without memory for their tables, and counts the tables that a
 * change builds.
 */
#include "alloc.h"
#include "full_registry_changes.h"

static unsigned int allocs_of(int (*act)(void))
{
	unsigned int num;

	CHECK_OK(t_count_allocs(act, &num));
	return num;
}

/*
 * Taking a device offline or bringing it online builds only tables of the operator with a function
 * for that device. Taking it offline builds the operator's own table. Bringing it online also
 * builds the list of the operator's device tables, and the two tables in that list: one for the
 * device and one for objects on no device. If calls are counted, each table has a copy.
 */
static void device_offline_builds_only_its_tables(void)
{
	unsigned int offline_allocs, online_allocs;

	r_prepare();
	CHECK_OK(r_register_many());
	offline_allocs = allocs_of(r_card_offline);
	online_allocs = allocs_of(r_card_online);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_INT(allocs_of(r_card_offline), offline_allocs + 1);
	CHECK_INT(allocs_of(r_card_online), online_allocs + 4);
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	CHECK_OK(r_unregister_many());
	r_rebase();
	r_close();
}

/* ---- tables without memory ----------------------------------------------- */

static struct dk_op_decl new_decl[2 * R_MANY];
static struct dk_impl more[R_MANY], new[2 * R_MANY];
static char new_name[2 * R_MANY][16];

static int drain(void)
{
	return dk_provider_drain(&r_b);
}

/*
 * Registers functions of two providers for many operators. Returns the number of allocations before
 * the functions of the second provider are registered.
 */
static long begin_tables(void)
{
	unsigned int i;
	long before;

	r_prepare();
	for (i = 0; i < R_MANY; i++)
		more[i] = t_impl(&r_many_decl[i], DK_CUDA, 2);
	for (i = 0; i < 2 * R_MANY; i++) {
		snprintf(new_name[i], sizeof(new_name[i]), "new::%u", i);
		new_decl[i] = t_decl(new_name[i]);
		new[i] = t_impl(&new_decl[i], DK_CPU, 1);
	}
	CHECK_OK(r_register_many());
	before = dk_test_allocs();
	CHECK_OK(dk_impls_register(&r_b, more, R_MANY, &t_why));
	return before;
}

/* Withdraws the functions of the second provider while no operator can get a new table. */
static void withdraw_more(void)
{
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_OK(dk_impls_withdraw(&r_b, more, &t_why));
	CHECK(dk_test_fail_alloc(0) >= R_MANY);
}

static void end_tables(long before)
{
	CHECK_INT(dk_test_allocs(), before);
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	CHECK_OK(r_unregister_many());
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

/*
 * The first drain stops building tables when an allocation fails. Then the table of names grows,
 * which moves the operators to other slots of this table. The next drain must find and build all
 * missing tables.
 */
static void next_drain_builds_the_rest(void)
{
	long before = begin_tables();

	withdraw_more();
	dk_test_fail_alloc(R_MANY / 2);
	CHECK_OK(drain());
	CHECK_INT(dk_test_fail_alloc(0), 1);
	CHECK(dk_test_allocs() < before);
	CHECK_OK(dk_impls_register(&r_b, new, 2 * R_MANY, &t_why));
	CHECK_OK(drain());
	CHECK_OK(dk_impls_unregister(&r_b, new, &t_why));
	end_tables(before);
}

/*
 * As in next_drain_builds_the_rest(), but the table of names may become smaller before the next
 * drain: removed names leave used slots, which a new table does not have.
 */
static void next_drain_walks_a_smaller_table_of_names(void)
{
	unsigned int used;
	long before;

	for (used = 0; used < 2 * R_MANY; used += R_MANY / 4) {
		before = begin_tables();
		CHECK_OK(dk_impls_register(&r_b, new, 2 * R_MANY, &t_why));
		CHECK_OK(dk_impls_unregister(&r_b, new, &t_why));
		CHECK_OK(dk_impls_register(&r_b, new, used, &t_why));
		CHECK_INT(dk_impls_unregister(&r_b, new, &t_why), used ? 0 : -ENOENT);
		withdraw_more();
		dk_test_fail_alloc(R_MANY / 2);
		CHECK_OK(drain());
		CHECK_INT(dk_test_fail_alloc(0), 1);
		CHECK_OK(dk_impls_register(&r_b, new, R_MANY / 4, &t_why));
		CHECK_OK(drain());
		CHECK_OK(dk_impls_unregister(&r_b, new, &t_why));
		end_tables(before);
	}
}

static void undefine_builds_some_tables(void)
{
	unsigned int n;
	long before;

	before = begin_tables();
	CHECK_OK(r_define_new());
	withdraw_more();
	n = allocs_of(r_undefine_new);
	CHECK(n && n < R_MANY / 2);
	CHECK_OK(drain());
	end_tables(before);
}

static struct dk_op *op;
static unsigned int num_found;

static void call_at_alloc(void)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU));

	num_found += t_call(op, &x, NULL) != -ENOENT;
}

/* Registering a fallback builds only tables of operators that have no function at its key. */
static void fallback_builds_only_tables_that_change(void)
{
	unsigned int all;

	r_prepare();
	r_one = t_impl(&r_impl, DK_CONJUGATE, 15);
	all = allocs_of(r_register_function);
	CHECK_OK(r_unregister_function());
	CHECK_OK(r_register_one());
	CHECK(allocs_of(r_register_function) < all);
	CHECK_OK(r_unregister_function());
	CHECK_OK(r_unregister_one());
	CHECK_INT(allocs_of(r_register_function), all);
	CHECK_OK(r_unregister_function());
	r_rebase();
	r_close();
}

static bool function_serves(void)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CONJUGATE) | DK_KEY_BITS(DK_CPU));

	return t_call(op, &x, NULL) != -ENOSYS;
}

/*
 * If there is no memory for the tables when a fallback is unregistered, calls are routed by the
 * rules, without tables.
 */
static void fallback_unregisters_without_memory(void)
{
	unsigned int allocs;

	r_prepare();
	op = dk_op_get(t_reg, "r::op");
	CHECK(!function_serves());
	allocs = allocs_of(r_register_function);
	CHECK(function_serves());
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_OK(r_unregister_function());
	CHECK(!function_serves());
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	dk_test_fail_alloc(0);
	/* the registration builds the tables again */
	CHECK_INT(allocs_of(r_register_function), allocs);
	CHECK(function_serves());
	CHECK_OK(r_unregister_function());
	CHECK(!function_serves());
	dk_op_put(op);
	r_rebase();
	r_close();
}

/*
 * A definition together with a function is refused. Calls must not find the operator defined, not
 * even for a short time.
 */
static void refused_entry_is_never_defined(void)
{
	struct dk_impl early;
	u64 before;

	t_first_call();
	r_prepare();
	early = t_impl(&r_lib_op, DK_CUDA, 1);
	CHECK_OK(r_register_library());
	CHECK_OK(dk_impls_register(&r_a, &early, 1, &t_why));
	op = dk_op_get(t_reg, "lib::op");
	r_rebase();
	num_found = 0;
	before = dk_registry_generation(t_reg);
	dk_test_at_alloc(call_at_alloc);
	CHECK(r_each_fails(r_add_def_impl, NULL, NULL));
	dk_test_at_alloc(NULL);
	CHECK_INT(num_found, 0);
	CHECK_INT(dk_registry_generation(t_reg), before + 2);
	CHECK_OK(dk_handle_release(&r_library, &r_handle));
	dk_op_put(op);
	CHECK_OK(dk_impls_unregister(&r_a, &early, &t_why));
	CHECK_OK(r_unregister_library());
	r_rebase();
	r_close();
}

static unsigned int num_delivered[4], num_lost;

static void count_event(struct dk_listener *l, const struct dk_event *event)
{
	num_delivered[event->kind]++;
	if (event->kind == DK_EVENT_LOST) {
		num_lost += event->key;
		CHECK_STR(event->name, "");
	}
}

static struct dk_listener listener = { .size = sizeof(listener), .notify = count_event };

static const struct change {
	int (*act)(void);
	int (*undo)(void);
	unsigned int kind, num_events;
} changes[] = {
	{ r_define_new, r_undefine_new, DK_EVENT_DEFINED, 1 },
	{ r_register_table, r_unregister_table, DK_EVENT_IMPL, 3 },
};

static void reset_counts(void)
{
	memset(num_delivered, 0, sizeof(num_delivered));
	num_lost = 0;
}

/*
 * Makes each allocation of a change fail in turn. If the change succeeds, each of its events is
 * delivered or reported as lost. Returns the number of lost events.
 */
static unsigned int each_event_alloc_fails(const struct change *c)
{
	unsigned int n, lost = 0;
	int err;

	for (n = 1;; n++) {
		reset_counts();
		dk_test_fail_alloc(n);
		err = c->act();
		if (!dk_test_fail_alloc(0))
			break;
		CHECK_INT(num_delivered[c->kind] + num_lost, err ? 0 : c->num_events);
		if (err)
			continue;
		lost += num_lost;
		reset_counts();
		dk_test_fail_alloc(DK_TEST_EVERY);
		CHECK_OK(c->undo());
		dk_test_fail_alloc(0);
		CHECK_INT(num_delivered[DK_EVENT_UNDEFINED] + num_lost,
			  c->kind == DK_EVENT_DEFINED);
		lost += num_lost;
	}
	CHECK_OK(err);
	CHECK_INT(num_delivered[c->kind], c->num_events);
	reset_counts();
	CHECK_OK(c->undo());
	CHECK_INT(num_delivered[DK_EVENT_UNDEFINED], c->kind == DK_EVENT_DEFINED);
	CHECK_INT(num_lost, 0);
	return lost;
}

static void lost_events_do_not_fail_changes(void)
{
	long before = dk_test_allocs();
	unsigned int i;

	r_prepare();
	listener.registry = t_reg;
	CHECK_OK(dk_listener_register(&listener, &t_why));
	for (i = 0; i < ARRAY_SIZE(changes); i++)
		CHECK(each_event_alloc_fails(&changes[i]) > 1);
	CHECK_OK(dk_listener_unregister(&listener));
	r_rebase();
	r_close();
	CHECK_INT(dk_test_allocs(), before);
}

T_SUITE(alloc_tables,
	T(device_offline_builds_only_its_tables),
	T(tables_are_built_after_the_drain),
	T(next_drain_builds_the_rest),
	T(next_drain_walks_a_smaller_table_of_names),
	T(undefine_builds_some_tables),
	T(fallback_builds_only_tables_that_change),
	T(fallback_unregisters_without_memory),
	T(refused_entry_is_never_defined),
	T(lost_events_do_not_fail_changes));
