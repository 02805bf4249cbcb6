// SPDX-License-Identifier: GPL-2.0-only
/*
 * dk_bench: a module that measures when it is loaded. After that, /proc/dk_bench contains the
 * figures. The module is for a machine whose clock counts instructions (selftests/vm/run --icount).
 * It reads the CPU's counter directly, because kernel clocks are scaled.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/math64.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/sort.h>
#include <linux/timex.h>

#include "bench.h"

#define REPEATS	15
#define TIMES	256	/* unless a bench sets another number */
#define MOST	64	/* benches */

/* Differences of the clock for N and for 2N times. For @once, only @twice is used. */
static struct result {
	const struct bench *bench;
	s64 n_times[REPEATS];
	s64 twice[REPEATS];
} results[MOST];
static unsigned int num_results;

static void loop_nothing(unsigned int n)
{
	while (n--)
		barrier();
}

static int once_nothing(void)
{
	return 0;
}

static const struct bench nothing[] = {
	{ .name = "empty_loop", .loop = loop_nothing },
	{ .name = "clock", .once = once_nothing },
	{ }
};

static const struct bench *const lists[] = {
	nothing, bench_primitives, bench_peers, bench_calls, bench_changes,
};

static unsigned int times(const struct bench *b)
{
	return b->n ?: TIMES;
}

static noinline s64 time_loop(const struct bench *b, unsigned int n)
{
	cycles_t from = get_cycles();

	b->loop(n);
	return get_cycles() - from;
}

static noinline int time_once(const struct bench *b, s64 *took)
{
	cycles_t from = get_cycles();
	int err = b->once();

	*took = get_cycles() - from;
	return err;
}

static int measure(struct result *r, unsigned int repeat)
{
	const struct bench *b = r->bench;
	int err = b->before ? b->before() : 0;

	if (err)
		return err;
	if (b->loop) {
		r->n_times[repeat] = time_loop(b, times(b));
		r->twice[repeat] = time_loop(b, 2 * times(b));
	} else {
		err = time_once(b, &r->twice[repeat]);
	}
	if (b->after)
		b->after();
	return err;
}

static int compare(const void *a, const void *b)
{
	s64 x = *(const s64 *)a, y = *(const s64 *)b;

	return x < y ? -1 : x > y;
}

static int measure_all(void)
{
	unsigned int i, k;
	int err;

	/* the first round is for warming up: the second one overwrites its figures */
	for (k = 0; k <= REPEATS; k++)
		for (i = 0; i < num_results; i++) {
			/*
			 * start directly after a tick: otherwise ticks would always interrupt the
			 * same loop
			 */
			schedule_timeout_uninterruptible(1);
			err = measure(&results[i], k ? k - 1 : 0);
			if (err) {
				pr_err("%s: error %d\n", results[i].bench->name, err);
				return err;
			}
		}
	for (i = 0; i < num_results; i++) {
		sort(results[i].n_times, REPEATS, sizeof(s64), compare, NULL);
		sort(results[i].twice, REPEATS, sizeof(s64), compare, NULL);
	}
	return 0;
}

static int list_all(void)
{
	const struct bench *b;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lists); i++)
		for (b = lists[i]; b->name; b++) {
			if (num_results == MOST)
				return -ENOSPC;
			results[num_results++].bench = b;
		}
	return 0;
}

/*
 * Returns the cost in hundredths of an instruction, without the loop or the reading of the clock.
 */
static s64 cost(const struct result *r, unsigned int repeat)
{
	const struct result *none = &results[r->bench->loop ? 0 : 1];
	s64 all = (r->twice[repeat] - r->n_times[repeat]) * 100;
	s64 beside = (none->twice[repeat] - none->n_times[repeat]) * 100;

	if (r->bench->loop) {
		all = div_s64(all, times(r->bench));
		beside = div_s64(beside, times(none->bench));
	}
	return div_s64(all - beside, r->bench->per ?: 1);
}

/* Prints lines NAME LEAST MEDIAN. */
static int show(struct seq_file *m, void *unused)
{
	const struct result *r;

	for (r = results + ARRAY_SIZE(nothing) - 1; r < results + num_results; r++)
		seq_printf(m, "%s %lld %lld\n", r->bench->name, cost(r, 0),
			   cost(r, REPEATS / 2));
	return 0;
}

static int run(struct dk_diag *why)
{
	/*
	 * bench_changes_init() comes first: it collects all operators that exist, and this module
	 * must not have defined any yet.
	 */
	int err = bench_changes_init(why);

	if (!err)
		err = bench_calls_init(why);
	if (!err)
		err = list_all();
	if (!err)
		err = measure_all();
	bench_calls_exit();
	bench_changes_exit();
	return err;
}

static int __init bench_init(void)
{
	struct dk_diag why = { .size = sizeof(why) };
	int err = bench_peers_init();

	if (err)
		return err;
	err = run(&why);
	bench_peers_exit();
	if (err) {
		pr_err("error %d: %s %s\n", err, why.text ?: "", why.name);
		return err;
	}
	return proc_create_single("dk_bench", 0400, NULL, show) ? 0 : -ENOMEM;
}
module_init(bench_init);

static void __exit bench_exit(void)
{
	remove_proc_entry("dk_bench", NULL);
}
module_exit(bench_exit);

MODULE_DESCRIPTION("dispatchkey selftest: what calls and changes cost");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
