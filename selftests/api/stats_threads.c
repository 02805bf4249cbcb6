// SPDX-License-Identifier: GPL-2.0-only
/* Tests that sums of counters are exact when several threads make calls, even during changes. */
#include "counted.h"

#define CALLS		1000
#define THREADS		4

static bool stop;
static struct w_count calls_made, calls_failed;

/* Makes the same number of calls of each kind. */
static void call_each(void *unused)
{
	unsigned int i;

	for (i = 0; i < CALLS; i++) {
		w_add(&calls_failed, !!c_call_tick(c_on(DK_BACKEND_CPU, 0, DK_AUTOGRAD_CPU)));
		w_add(&calls_failed, !!c_call_tick(c_on(c_backend, c_card, 0)));
		w_add(&calls_failed, !!c_call_tick(c_on(DK_BACKEND_CPU, 0, DK_PYTHON)));
		w_add(&calls_failed, c_call_tick(c_on(DK_BACKEND_CUDA, 0, 0)) != -ENOSYS);
		w_add(&calls_failed, !!c_call_tock(c_on(DK_BACKEND_CPU, 0, 0)));
		w_pause();
	}
}

static void start_all(struct w_thread *t, void (*run)(void *data))
{
	unsigned int i;

	w_store(stop, false);
	memset(&calls_made, 0, sizeof(calls_made));
	memset(&calls_failed, 0, sizeof(calls_failed));
	for (i = 0; i < THREADS; i++)
		CHECK_OK(w_start(&t[i], "dk_stats", run, NULL));
}

static void join_all(struct w_thread *t)
{
	unsigned int i;

	w_store(stop, true);
	for (i = 0; i < THREADS; i++)
		w_join(&t[i]);
	CHECK_INT(w_sum(&calls_failed), 0);
}

/* Reads the counters after the threads have ended. */
static void threads_count_exactly(void)
{
	static struct w_thread t[THREADS];

	c_open(0);
	CHECK_OK(dk_fallback_register(&c_prov, &c_fallback, &t_why));
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	start_all(t, call_each);
	join_all(t);
	CHECK_INT(c_served(DK_AUTOGRAD_CPU), THREADS * CALLS);
	CHECK_INT(c_served(DK_CPU), THREADS * CALLS);
	CHECK_INT(c_by_card(), THREADS * CALLS);
	CHECK_INT(c_at_key(c_tick, DK_STAT_FALLBACK, DK_PYTHON, 0), THREADS * CALLS);
	CHECK_INT(c_missing(), THREADS * CALLS);
	CHECK_INT(c_at_key(c_tock, DK_STAT_IMPL, DK_CPU, 0), THREADS * CALLS);
	CHECK_INT(c_by_provider("stats"), 5 * THREADS * CALLS);
	CHECK_INT(c_uncounted(), 0);
}

static void call_until_stopped(void *unused)
{
	while (!w_load(stop)) {
		w_add(&calls_failed, !!c_call_tick(c_on(DK_BACKEND_CPU, 0, 0)));
		w_add(&calls_failed, !!c_call_tock(c_on(DK_BACKEND_CPU, 0, 0)));
		w_add(&calls_made, 1);
		w_pause();
	}
}

/* After a reset, no more calls are counted than the threads have made since the reset. */
static void reset_while_calls_run(void)
{
	static struct w_thread t[THREADS];
	u64 before, after;
	unsigned int i;
	s64 n;

	c_open(0);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	start_all(t, call_until_stopped);
	for (i = 0; i < 200; i++) {
		before = w_sum(&calls_made);
		CHECK_OK(dk_stats_reset(t_reg, &t_why));
		w_sleep_us(50);
		n = c_served(DK_CPU);
		after = w_sum(&calls_made);
		CHECK(n >= 0 && n <= (s64)(after - before) + THREADS);
	}
	join_all(t);
	before = w_sum(&calls_made);
	CHECK(before);
	CHECK_OK(dk_stats_reset(t_reg, &t_why));
	CHECK_INT(c_served(DK_CPU), 0);
	CHECK_OK(c_call_tick(c_on(DK_BACKEND_CPU, 0, 0)));
	CHECK_INT(c_served(DK_CPU), 1);
	CHECK_INT(c_uncounted(), 0);
}

/*
 * Counters are enabled and disabled while threads make calls. Disabling frees the counters. While
 * counters are enabled, all calls are counted.
 */
static void all_changes_while_calls_run(void)
{
	static struct w_thread t[THREADS];
	static struct dk_provider guest;
	unsigned int i;

	c_open(0);
	start_all(t, call_until_stopped);
	for (i = 0; i < 60; i++) {
		CHECK_OK(dk_stats_enable(t_reg, &t_why));
		t_join(&guest, "guest");
		CHECK_OK(dk_op_define(&guest, &tack_op, 0, &t_why));
		CHECK_OK(dk_impls_register(&guest, c_tack_impls, C_TACK_IMPLS, &t_why));
		CHECK_OK(dk_fallback_register(&guest, &c_fallback, &t_why));
		CHECK_OK(c_call_tick(c_on(DK_BACKEND_CPU, 0, DK_PYTHON)));
		CHECK_OK(c_call_tick(c_on(DK_BACKEND_XPU, 0, 0)));
		CHECK_INT(c_by_provider("guest"), 2);
		if (i % 2)
			t_unregister(&guest);
		CHECK_OK(dk_stats_disable(t_reg, &t_why));
		if (i % 2 == 0)
			t_unregister(&guest);
	}
	join_all(t);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	start_all(t, call_until_stopped);
	while (!w_sum(&calls_made))
		w_sleep_us(1000);
	join_all(t);
	CHECK_INT(c_served(DK_CPU), w_sum(&calls_made));
	CHECK_INT(c_at_key(c_tock, DK_STAT_IMPL, DK_CPU, 0), w_sum(&calls_made));
	CHECK_INT(c_uncounted(), 0);
}

T_SUITE(stats_threads,
	T(threads_count_exactly),
	T(reset_while_calls_run),
	T(all_changes_while_calls_run));
