// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * dk_cpu: defines the sample operators, and implements them on the CPU for every
 * backend without its own functions.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "cpu_impls.h"

static atomic64_t served[CPU_NUM_OPS];

static void cpu_served(enum cpu_op op)
{
	atomic64_inc(&served[op]);
}

static struct dk_provider cpu = DK_PROVIDER("dk_cpu");

static int __init dk_cpu_init(void)
{
	struct dk_diag why = { .size = sizeof(why) };
	int err;

	err = dk_provider_register(&cpu, &why);
	if (!err)
		err = dk_impls_register(&cpu, cpu_impls, ARRAY_SIZE(cpu_impls), &why);
	if (!err)
		err = dk_op_define(&cpu, &sample_factorial_op, 0, &why);
	if (!err)
		err = dk_op_define(&cpu, &sample_copy_op, 0, &why);
	if (!err)
		err = dk_op_define(&cpu, &sample_queue_copy_op, 0, &why);
	if (err) {
		pr_err("%s%s%s\n", why.name, why.name[0] ? ": " : "", why.text);
		/* Unregisters everything. Does nothing if the provider is not registered. */
		dk_provider_unregister(&cpu);
	}
	return err;
}
module_init(dk_cpu_init);

static void __exit dk_cpu_exit(void)
{
	/* After dk_provider_unregister() returns, no call is running and none will start. */
	dk_provider_unregister(&cpu);
}
module_exit(dk_cpu_exit);

/* Shows /sys/module/dk_cpu/parameters/served_*, the number of calls served; read-only. */
static int cpu_served_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%lld\n", atomic64_read(kp->arg));
}

/* Called if insmod is given the parameter. The kernel needs this function even if it only fails. */
static int cpu_served_set(const char *text, const struct kernel_param *param)
{
	return -EINVAL;
}

static const struct kernel_param_ops cpu_served_ops = {
	.get = cpu_served_get,
	.set = cpu_served_set,
};

module_param_cb(served_factorial, &cpu_served_ops, &served[CPU_FACTORIAL], 0444);
MODULE_PARM_DESC(served_factorial, "calls of sample::factorial served (read only)");
module_param_cb(served_copy, &cpu_served_ops, &served[CPU_COPY], 0444);
MODULE_PARM_DESC(served_copy, "calls of sample::copy and sample::queue_copy served (read only)");

MODULE_DESCRIPTION("dispatchkey sample: the operators, on the CPU");
MODULE_LICENSE("Dual BSD/GPL");
DK_MODULE_IMPORT();
