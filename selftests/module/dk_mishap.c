// SPDX-License-Identifier: GPL-2.0-only
/*
 * dk_mishap: when this module is loaded, it makes a deliberate mistake, which a debug kernel must
 * report. selftests/vm/check-reports checks that each such report makes the test machine fail.
 * The module is built for debug kernels only.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

static char *what;
module_param(what, charp, 0);
MODULE_PARM_DESC(what, "leak, rcu, sleep, shift, locks, use-after-free or race");

static int *lost;
static int __rcu *protected;
static int racy;

static int leak(void)
{
	lost = kmalloc(1000, GFP_KERNEL);
	if (!lost)
		return -ENOMEM;
	OPTIMIZER_HIDE_VAR(lost);
	lost = NULL;
	return 0;
}

static int rcu(void)
{
	return rcu_dereference(protected) ? -EINVAL : 0;
}

static int sleep(void)
{
	preempt_disable();
	might_sleep();
	preempt_enable();
	return 0;
}

static int shift(void)
{
	int by = 40;

	OPTIMIZER_HIDE_VAR(by);
	racy = 1 << by;
	return 0;
}

static DEFINE_MUTEX(a);
static DEFINE_MUTEX(b);

/* Nothing deadlocks here: lockdep reports the two orders of the locks. */
static int locks(void)
{
	mutex_lock(&a);
	mutex_lock(&b);
	mutex_unlock(&b);
	mutex_unlock(&a);
	mutex_lock(&b);
	mutex_lock(&a);
	mutex_unlock(&a);
	mutex_unlock(&b);
	return 0;
}

static int use_after_free(void)
{
	int *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return -ENOMEM;
	kfree(p);
	OPTIMIZER_HIDE_VAR(p);
	racy = *p;
	return 0;
}

static int racer(void *unused)
{
	while (!kthread_should_stop()) {
		racy++;
		cond_resched();
	}
	return 0;
}

static int race(void)
{
	struct task_struct *task[2];
	unsigned int i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(task); i++) {
		task[i] = kthread_run(racer, NULL, "dk_mishap/%u", i);
		if (IS_ERR(task[i])) {
			err = PTR_ERR(task[i]);
			break;
		}
	}
	if (!err)
		msleep(3000);
	while (i--)
		kthread_stop(task[i]);
	return err;
}

static const struct {
	const char *name;
	int (*run)(void);
} mishaps[] = {
	{ "leak", leak },
	{ "rcu", rcu },
	{ "sleep", sleep },
	{ "shift", shift },
	{ "locks", locks },
	{ "use-after-free", use_after_free },
	{ "race", race },
};

static int __init mishap_init(void)
{
	size_t i;

	for (i = 0; what && i < ARRAY_SIZE(mishaps); i++)
		if (!strcmp(what, mishaps[i].name))
			return mishaps[i].run();
	return -EINVAL;
}
module_init(mishap_init);

static void __exit mishap_exit(void)
{
}
module_exit(mishap_exit);

MODULE_DESCRIPTION("dispatchkey selftest: mistakes that a debug kernel reports");
MODULE_LICENSE("GPL");
