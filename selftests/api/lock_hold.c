// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests how much work is done in one hold of the registry's lock. Only test builds of the module
 * measure it.
 */
#include <linux/cpumask.h>

#include "alloc.h"
#include "test.h"
#include "work.h"

#define MANY	200

static struct dk_provider kept, guest;
static struct dk_op_decl decl[MANY];
static struct dk_impl of_kept[MANY], of_guest[MANY];
static char name[MANY][16];

static void teardown(void)
{
	dk_test_watch_lock(NULL);
}

/* Registers functions of two providers for many operators. */
static void setup(void)
{
	unsigned int i;

	t_open("v1", 0);
	t_join(&kept, "kept");
	t_join(&guest, "guest");
	for (i = 0; i < MANY; i++) {
		snprintf(name[i], sizeof(name[i]), "lock_hold::%u", i);
		decl[i] = t_decl(name[i]);
		CHECK_OK(dk_op_define(&kept, &decl[i], 0, &t_why));
		of_kept[i] = t_impl(&decl[i], DK_CPU, 1);
		of_guest[i] = t_impl(&decl[i], DK_CUDA, 2);
	}
	CHECK_OK(dk_impls_register(&kept, of_kept, MANY, &t_why));
	CHECK_OK(dk_impls_register(&guest, of_guest, MANY, &t_why));
	dk_test_watch_lock(t_reg);
	t_at_close(teardown);
}

/* Returns the most work of this kind in one hold since the previous call. */
static unsigned int most(enum dkc_work kind)
{
	unsigned int n[DKC_NUM_WORK];

	dk_test_most_work(n);
	dk_test_watch_lock(t_reg);
	return n[kind];
}

static void tables_are_built_in_parts(void)
{
	unsigned int n;

	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_OK(dk_impls_withdraw(&guest, of_guest, &t_why));
	CHECK(dk_test_fail_alloc(0) >= MANY);
	CHECK_INT(most(DKC_WORK_TABLES), 0);
	CHECK_OK(dk_provider_drain(&guest));
	n = most(DKC_WORK_TABLES);
	CHECK(n && n < MANY / 2);
}

/* A withdrawal reads each counter of each CPU once. */
static void each_counter_is_read_once(void)
{
	unsigned int once = MANY * num_possible_cpus();

	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	most(DKC_WORK_COUNTERS);
	CHECK_OK(dk_impls_withdraw(&guest, of_guest, &t_why));
	CHECK_INT(most(DKC_WORK_COUNTERS), once);
	/* read them again, since running calls may have been counted in between */
	CHECK_OK(dk_provider_drain(&guest));
	CHECK_INT(most(DKC_WORK_COUNTERS), once);
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	CHECK_INT(most(DKC_WORK_COUNTERS), 0);
}

/* Reads the counters of functions, of unserved calls, and of calls without a counter. */
static void a_reset_reads_each_counter_once(void)
{
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_OK(dk_impls_withdraw(&guest, of_guest, &t_why));
	most(DKC_WORK_COUNTERS);
	CHECK_OK(dk_stats_reset(t_reg, &t_why));
	CHECK_INT(most(DKC_WORK_COUNTERS), (3 * MANY + 1) * num_possible_cpus());
}

/* Reading the last of many functions takes a few walks over the list, and not one for each. */
static void the_last_function_is_found_in_few_walks(void)
{
	struct dk_impl_info info = { .size = sizeof(info) };
	struct dk_op *op = dk_op_get(t_reg, name[0]);
	char text[DK_NAME_MAX];
	unsigned int i, n;
	u32 dev;

	for (i = 0; i < MANY; i++) {
		snprintf(text, sizeof(text), "lock_hold-%u", i);
		CHECK_OK(dk_device_register(&kept, DK_BACKEND_CPU, text, NULL, of_kept, 1, &dev,
					    &t_why));
	}
	most(DKC_WORK_FUNCTIONS);
	/* the list also has the functions of the two providers */
	CHECK_OK(dk_op_impl(op, MANY + 1, &info));
	n = most(DKC_WORK_FUNCTIONS);
	CHECK(n > MANY && n <= 5 * (MANY + 2));
	CHECK_INT(dk_op_impl(op, MANY + 2, &info), -ENOENT);
	dk_op_put(op);
}

/* Building the tables of an operator does not visit functions of other operators. */
static void work_grows_with_the_functions_of_a_device(void)
{
	unsigned int n;
	u32 dev;

	CHECK_OK(dk_device_register(&kept, DK_BACKEND_CPU, "card", NULL, of_kept, MANY, &dev,
				    &t_why));
	n = most(DKC_WORK_FUNCTIONS);
	CHECK(n && n <= 10 * MANY);
	CHECK_OK(dk_device_unregister(&kept, dev, &t_why));
	n = most(DKC_WORK_FUNCTIONS);
	CHECK(n && n <= 10 * MANY);
}

/* Returns the most functions that are visited to evaluate an entry of a table. */
static unsigned int most_in_entries(struct dk_op *op, u32 dev)
{
	struct dk_entry e = { .size = sizeof(e) };
	unsigned int slot = 0;

	most(DKC_WORK_FUNCTIONS);
	while (!dk_op_entry(op, dev, slot, &e))
		slot++;
	CHECK(slot > 100);
	return most(DKC_WORK_FUNCTIONS);
}

/* The rules find a device's function of an operator by the shorter of two lists. */
static void functions_of_a_device_are_found_in_the_shorter_list(void)
{
	struct dk_op *op = t_get(name[0]);
	char text[DK_NAME_MAX];
	unsigned int i, n;
	u32 many, dev;

	/* a device with functions of many operators */
	CHECK_OK(dk_device_register(&kept, DK_BACKEND_CPU, "many", NULL, of_kept, MANY, &many,
				    &t_why));
	n = most_in_entries(op, many);
	CHECK(n && n < MANY / 2);
	/* an operator with functions of many devices */
	for (i = 0; i < MANY; i++) {
		snprintf(text, sizeof(text), "lock_hold-%u", i);
		CHECK_OK(dk_device_register(&kept, DK_BACKEND_CPU, text, NULL, of_kept, 1, &dev,
					    &t_why));
	}
	n = most_in_entries(op, many);
	CHECK(n < 30 * MANY);
	n = most_in_entries(op, dev);
	CHECK(n && n < MANY / 2);
}

/* However long a change takes, other tasks may run between its steps. */
static void other_tasks_may_run_between_the_steps_of_a_change(void)
{
	char text[DK_NAME_MAX];
	unsigned int i;
	u32 dev = 0;

	for (i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "lock_hold-%u", i);
		CHECK_OK(dk_device_register(&guest, DK_BACKEND_CPU, text, NULL, of_kept, MANY, &dev,
					    &t_why));
	}
	CHECK_INT(most(DKC_WORK_STEPS), 1);
	CHECK_OK(dk_device_set_online(t_reg, dev, 0, &t_why));
	CHECK_INT(most(DKC_WORK_STEPS), 1);
	CHECK_OK(dk_device_set_online(t_reg, dev, 1, &t_why));
	CHECK_INT(most(DKC_WORK_STEPS), 1);
	CHECK_OK(dk_provider_unregister(&guest));
	CHECK_INT(most(DKC_WORK_STEPS), 1);
}

/* Looks for an operator that nothing serves any more. Each operator is evaluated once. */
static void work_of_a_switch_grows_with_the_functions_of_a_device(void)
{
	unsigned int n;
	u32 dev;

	CHECK_OK(dk_device_register(&kept, DK_BACKEND_CPU, "card", NULL, of_kept, MANY, &dev,
				    &t_why));
	most(DKC_WORK_FUNCTIONS);
	CHECK_OK(dk_device_set_online(t_reg, dev, 0, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_NONE);
	n = most(DKC_WORK_FUNCTIONS);
	CHECK(n > MANY && n <= 20 * MANY);
	/* without a struct dk_diag nothing is looked for, and the state does not change */
	CHECK_OK(dk_device_set_online(t_reg, dev, 0, NULL));
	CHECK_INT(most(DKC_WORK_FUNCTIONS), 0);
}

T_SUITE_WITH(lock_hold, setup,
	T(tables_are_built_in_parts),
	T(each_counter_is_read_once),
	T(a_reset_reads_each_counter_once),
	T(the_last_function_is_found_in_few_walks),
	T(work_grows_with_the_functions_of_a_device),
	T(functions_of_a_device_are_found_in_the_shorter_list),
	T(other_tasks_may_run_between_the_steps_of_a_change),
	T(work_of_a_switch_grows_with_the_functions_of_a_device));
