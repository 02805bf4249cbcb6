// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the torture test as a module. The test begins when the module is loaded, and ends after
 * "duration" or when the module is unloaded. Progress and tests (KTAP) are in the kernel log.
 * selftests/torture/torture.sh runs it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/timer.h>

#include "torture.h"

#define EXTRA_TIME	60	/* seconds, to wait until every kind of event has happened */

static unsigned int duration, readers, writers = 2, progress = 15;
static unsigned long long seed;
static bool resolve, plugins;
static char *breaks = "nothing";
module_param(duration, uint, 0444);
MODULE_PARM_DESC(duration, "seconds; 0: until the module is unloaded (default)");
module_param(readers, uint, 0444);
MODULE_PARM_DESC(readers, "threads that call (default: CPUs, at least 2)");
module_param(writers, uint, 0444);
MODULE_PARM_DESC(writers, "threads that make changes, 1 to 8 (default 2)");
module_param(seed, ullong, 0444);
MODULE_PARM_DESC(seed, "seed of the random numbers (default: the time)");
module_param(resolve, bool, 0444);
MODULE_PARM_DESC(resolve, "without tables: the rules route each call");
module_param(plugins, bool, 0444);
MODULE_PARM_DESC(plugins, "dk_torture_plugin must be loaded and unloaded during the test");
module_param(progress, uint, 0444);
MODULE_PARM_DESC(progress, "seconds between lines of progress (default 15)");
module_param_named(break, breaks, charp, 0444);
MODULE_PARM_DESC(break, "make a mistake on purpose, which the test must detect");

static bool running;
module_param(running, bool, 0444);
MODULE_PARM_DESC(running, "whether the test is still running (read only)");

static int missing_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%u\n", torture_missing());
}

static int missing_set(const char *text, const struct kernel_param *param)
{
	return -EINVAL;
}

static const struct kernel_param_ops missing_ops = { .get = missing_get, .set = missing_set };
module_param_cb(missing, &missing_ops, NULL, 0444);
MODULE_PARM_DESC(missing, "kinds of calls and changes that have not happened yet (read only)");

void torture_print(const char *fmt, ...)
{
	struct va_format text = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	text.va = &args;
	pr_info("%pV\n", &text);
	va_end(args);
}

/* ---- interrupts: a timer, and an IPI on each CPU ---------------------------------------- */

static struct timer_list timer;
static struct actor *in_timer, **in_ipi;
static struct w_thread interrupter;

static void timer_calls(struct timer_list *unused)
{
	torture_call(in_timer, true, 0);
	mod_timer(&timer, jiffies + 1);
}

static void ipi_calls(void *unused)
{
	torture_call(in_ipi[smp_processor_id()], true, 0);
}

static void interrupt_all(void *unused)
{
	while (!w_load(torture.stop)) {
		on_each_cpu(ipi_calls, NULL, 1);
		w_sleep_us(2000);
	}
}

static int interrupts_begin(void)
{
	int cpu, err;

	in_ipi = w_alloc(nr_cpu_ids * sizeof(*in_ipi));
	if (!in_ipi)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		in_ipi[cpu] = torture_actor(true, true);
		in_ipi[cpu]->submits = true;
	}
	in_timer = torture_actor(true, true);
	in_timer->submits = true;
	err = w_start(&interrupter, "dk_torture_ipi", interrupt_all, NULL);
	if (err)
		return err;
	timer_setup(&timer, timer_calls, 0);
	mod_timer(&timer, jiffies + 1);
	return 0;
}

static void interrupts_end(void)
{
	w_store(torture.stop, true);
	/* the timer rearms itself; timer_delete_sync() returns 0 if it was not armed */
	while (timer_delete_sync(&timer))
		;
	w_join(&interrupter);
	w_free(in_ipi);
}

/* ---- the test ----------------------------------------------------------------------------- */

static struct task_struct *control;

/* Waits, at most until the thread must stop. Returns false if it must stop. */
static bool control_wait(unsigned int ms)
{
	set_current_state(TASK_INTERRUPTIBLE);
	if (!kthread_should_stop())
		schedule_timeout(msecs_to_jiffies(ms));
	__set_current_state(TASK_RUNNING);
	return !kthread_should_stop();
}

static int control_run(void *unused)
{
	u64 next = progress;
	u64 seconds;

	while (control_wait(200)) {
		seconds = w_div(w_now_us() - torture.begin_us, 1000000);
		if (duration && seconds >= duration &&
		    (seconds >= duration + EXTRA_TIME || !torture_missing()))
			break;
		if (!progress || seconds < next)
			continue;
		torture_progress();
		next += progress;
	}
	interrupts_end();
	torture_end();
	w_store(running, false);
	while (control_wait(1000))
		;
	return 0;
}

static bool break_named(const char *name, unsigned int *n)
{
	static const char *const names[] = {
#define TORTURE_NAME(NAME, text) text,
		TORTURE_BREAKS(TORTURE_NAME)
	};

	for (*n = 0; *n < NUM_BREAKS; ++*n)
		if (!strcmp(name, names[*n]))
			return true;
	return false;
}

static int __init torture_init(void)
{
	struct settings set = {
		.readers = readers ? readers : clamp(num_online_cpus(), 2u, 64u),
		.writers = writers,
		.others = num_possible_cpus() + 1,
		.seed = seed ? seed : ktime_get_real_ns(),
		.resolve = resolve,
		.no_plugins = !plugins,
		.no_forks = true,
	};
	int err;

	if (!break_named(breaks, &set.breaks) || set.readers > MAX_READERS ||
	    !writers || writers > MAX_WRITERS)
		return -EINVAL;
	err = torture_begin(&set);
	if (err)
		return err;
	err = interrupts_begin();
	if (err) {
		torture_end();
		return err;
	}
	running = true;
	control = kthread_run(control_run, NULL, "dk_torture");
	if (!IS_ERR(control))
		return 0;
	interrupts_end();
	torture_end();
	return PTR_ERR(control);
}

static void __exit torture_exit(void)
{
	kthread_stop(control);
}

module_init(torture_init);
module_exit(torture_exit);

/* Used by dk_torture_plugin.ko. */
EXPORT_SYMBOL_GPL(torture);
EXPORT_SYMBOL_GPL(torture_serve);
EXPORT_SYMBOL_GPL(torture_impls);
EXPORT_SYMBOL_GPL(torture_plugin_begin);
EXPORT_SYMBOL_GPL(torture_plugin_registered);
EXPORT_SYMBOL_GPL(torture_plugin_unregisters);
EXPORT_SYMBOL_GPL(torture_plugin_unregistered);

MODULE_DESCRIPTION("dispatchkey torture test: calls while everything changes");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
