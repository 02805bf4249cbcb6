// SPDX-License-Identifier: GPL-2.0-only
/*
 * dk_crowd: registers many operators and devices, and changes them, for the tests of the
 * netlink family. Parameters:
 *
 * ops, devices	the number of operators and of devices; can be written at any time
 * twin		the number of functions of a second provider named "crowd", all for
 *		crowd::one, half of them at CUDA and half at CPU; 0: no second provider
 * blocks		the number of operators for which the provider "blocks" registers a
 *		function; each function is in a separate array
 * providers	the number of further providers, which join the backends "crowd" and "shared"
 * defined		whether crowd::one is defined
 * held		write a name: takes a reference to this operator, and releases the previous
 *		reference
 * call		write N: calls crowd::one N times on the CPU and 2N times on a device
 * stay		whether a thread is inside a call on the first device
 * leave		write any value: begins to unregister the provider, with a very short
 *		wait for calls. After that, the module can only be unloaded
 * churn		write N: unregisters and registers all operators and devices N times
 * check		write any value: fails if a published table is wrong
 * changes		write N: each of the next N holds of the registry's lock ends as if the
 *		registry had changed
 * work		write any value: starts a new measurement; read: the largest numbers of
 *		evaluations, counters, functions, names compared to sort operators, and
 *		slots of the table of names in one hold of the registry's lock
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/sysfs.h>
#include <linux/vmalloc.h>

#include <dispatchkey.h>
#include "../api/work.h"

#define MOST_OPS	65536
#define MOST_DEVICES	256
#define MOST_FUNCTIONS	65536
#define MOST_PROVIDERS	64

DK_OP(crowd_one, "crowd::one", (struct dk_obj *x), (x), (x));

/* A declaration must exist as long as its operator is defined. */
struct crowd_op {
	struct dk_op_decl decl;
	char name[16];
};

struct crowd_provider {
	struct dk_provider prov;
	char name[DK_NAME_MAX];
};

static struct dk_provider crowd = DK_PROVIDER("crowd"), twin = DK_PROVIDER("crowd");
static struct dk_provider owner = DK_PROVIDER("blocks");
static struct dk_impl *twin_impls, *block_impls;
static struct crowd_op *op;
static struct dk_op *held;
static struct crowd_provider further[MOST_PROVIDERS];
static unsigned int backend, num_ops, num_devices, num_further;
static u32 device[MOST_DEVICES];
/*
 * The kernel serialises writes to the parameters of one module. But a write may run while the
 * module is being loaded.
 */
static DEFINE_MUTEX(lock);

static int one(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

static struct task_struct *visitor;
/*
 * While a thread stays inside a call, writes to parameters that wait for calls are refused: they
 * would block.
 */
static bool stays;
static DECLARE_COMPLETION(inside);

static int card_one(struct dk_call *c, struct dk_obj *x)
{
	if (!stays || !(current->flags & PF_KTHREAD))
		return 0;
	complete(&inside);
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
	return 0;
}

static const struct dk_impl card_impls[] = {
	DK_IMPL(crowd_one, DK_DENSE, card_one),
};

/*
 * The operator whose name sorts last is defined first and undefined last. So if operators change
 * during a walk by name, the walk may yield a set of operators that never existed.
 */
static int define(unsigned int i, struct dk_diag *why)
{
	op[i].decl = crowd_one_op;
	op[i].decl.name = op[i].name;
	op[i].decl.op = NULL;
	snprintf(op[i].name, sizeof(op[i].name), "crowd::op%05u", MOST_OPS - 1 - i);
	return dk_op_define(&crowd, &op[i].decl, 0, why);
}

static int set_ops(unsigned int n, struct dk_diag *why)
{
	int err = 0;

	for (; !err && num_ops < n; num_ops += !err) {
		err = define(num_ops, why);
		cond_resched();
	}
	for (; !err && num_ops > n; num_ops -= !err) {
		err = dk_op_undefine(&crowd, op[num_ops - 1].name, why);
		cond_resched();
	}
	return err;
}

static int set_devices(unsigned int n, struct dk_diag *why)
{
	char name[32];
	int err = 0;

	for (; !err && num_devices < n; num_devices += !err) {
		snprintf(name, sizeof(name), "crowd%03u", num_devices);
		err = dk_device_register(&crowd, backend, name, NULL, card_impls,
					 ARRAY_SIZE(card_impls), &device[num_devices],
					 why);
	}
	for (; !err && num_devices > n; num_devices -= !err)
		err = dk_device_unregister(&crowd, device[num_devices - 1], why);
	return err;
}

static int set_both(unsigned int ops, unsigned int devices)
{
	struct dk_diag why = { .size = sizeof(why) };
	int err;

	err = set_ops(ops, &why);
	if (!err)
		err = set_devices(devices, &why);
	if (err)
		pr_info("%s: %s\n", why.text, why.name);
	return err;
}

/*
 * The values of the parameters ops and devices. A write before the module is initialised changes
 * only these values, and the module registers that many when it is initialised.
 */
static unsigned int first_ops, first_devices;

/* Reads a number that is at most @most. */
static int read_number(const char *value, unsigned int most, unsigned int *n)
{
	int err = kstrtouint(value, 0, n);

	if (!err && *n > most)
		err = -ERANGE;
	return err;
}

static int number_set(const char *value, const struct kernel_param *kp)
{
	unsigned int *first = kp->arg, n, most;
	int err;

	most = first == &first_ops ? MOST_OPS : MOST_DEVICES;
	err = read_number(value, most, &n);
	if (err)
		return err;
	if (stays)
		return -EBUSY;
	mutex_lock(&lock);
	*first = n;
	if (crowd.core)
		err = set_both(first_ops, first_devices);
	mutex_unlock(&lock);
	return err;
}

static int number_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%u\n", *(unsigned int *)kp->arg);
}

static int churn_set(const char *value, const struct kernel_param *kp)
{
	unsigned int n;
	int err;

	err = kstrtouint(value, 0, &n);
	if (err || stays)
		return err ?: -EBUSY;
	mutex_lock(&lock);
	for (; !err && n; n--) {
		err = set_both(0, 0);
		if (!err)
			err = set_both(first_ops, first_devices);
		if (signal_pending(current))
			err = -EINTR;
	}
	mutex_unlock(&lock);
	return err;
}

/* Registers n equal functions in one array, half of them at CUDA and half at CPU. */
static int register_twin(unsigned int n, struct dk_diag *why)
{
	static const struct dk_impl impl[] = {
		DK_IMPL(crowd_one, DK_CUDA, one), DK_IMPL(crowd_one, DK_CPU, one),
	};
	unsigned int i;
	int err;

	twin_impls = vcalloc(n, sizeof(*twin_impls));
	if (!twin_impls)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		twin_impls[i] = impl[i >= n / 2];
	err = dk_provider_register(&twin, why);
	return err ?: dk_impls_register(&twin, twin_impls, n, why);
}

static void unregister_twin(void)
{
	dk_provider_unregister(&twin);
	vfree(twin_impls);
	twin_impls = NULL;
}

static int twin_set(const char *value, const struct kernel_param *kp)
{
	struct dk_diag why = { .size = sizeof(why) };
	unsigned int n;
	int err;

	err = read_number(value, MOST_FUNCTIONS, &n);
	if (err)
		return err;
	mutex_lock(&lock);
	unregister_twin();
	if (n)
		err = register_twin(n, &why);
	if (err)
		unregister_twin();
	mutex_unlock(&lock);
	return err;
}

/* Registers a function for each of the first n operators. Each function is in a separate array. */
static int register_blocks(unsigned int n, struct dk_diag *why)
{
	static const struct dk_impl impl = DK_IMPL(crowd_one, DK_CPU, one);
	unsigned int i;
	int err;

	block_impls = vcalloc(n, sizeof(*block_impls));
	if (!block_impls)
		return -ENOMEM;
	err = dk_provider_register(&owner, why);
	for (i = 0; !err && i < n; i++) {
		block_impls[i] = impl;
		block_impls[i].op = &op[i].decl;
		err = dk_impls_register(&owner, &block_impls[i], 1, why);
		cond_resched();
	}
	return err;
}

static void unregister_blocks(void)
{
	dk_provider_unregister(&owner);
	vfree(block_impls);
	block_impls = NULL;
}

static int blocks_set(const char *value, const struct kernel_param *kp)
{
	struct dk_diag why = { .size = sizeof(why) };
	unsigned int n;
	int err;

	err = kstrtouint(value, 0, &n);
	mutex_lock(&lock);
	if (!err && n > num_ops)
		err = -ERANGE;
	if (!err) {
		unregister_blocks();
		err = n ? register_blocks(n, &why) : 0;
		if (err)
			unregister_blocks();
	}
	mutex_unlock(&lock);
	return err;
}

/* The name is as long as possible, so that a list of providers needs several messages. */
static int register_further(struct crowd_provider *p, unsigned int i, struct dk_diag *why)
{
	int err;

	snprintf(p->name, sizeof(p->name), "crowd-%0*u", DK_NAME_MAX - 7, i);
	p->prov = (struct dk_provider)DK_PROVIDER(p->name);
	err = dk_provider_register(&p->prov, why);
	if (!err)
		err = dk_backend_join(&p->prov, "crowd", 0, 0, NULL, why);
	return err ?: dk_backend_join(&p->prov, "shared", 0, 0, NULL, why);
}

static void unregister_further(void)
{
	while (num_further)
		dk_provider_unregister(&further[--num_further].prov);
}

static int providers_set(const char *value, const struct kernel_param *kp)
{
	struct dk_diag why = { .size = sizeof(why) };
	unsigned int n;
	int err;

	err = read_number(value, MOST_PROVIDERS, &n);
	if (err)
		return err;
	mutex_lock(&lock);
	unregister_further();
	while (!err && num_further < n) {
		err = register_further(&further[num_further], num_further, &why);
		num_further++;
	}
	if (err)
		unregister_further();
	mutex_unlock(&lock);
	return err;
}

static int defined_set(const char *value, const struct kernel_param *kp)
{
	struct dk_diag why = { .size = sizeof(why) };
	bool defined;
	int err;

	err = kstrtobool(value, &defined);
	if (err)
		return err;
	return defined ? dk_op_define(&crowd, &crowd_one_op, 0, &why) :
			 dk_op_undefine(&crowd, crowd_one_op.name, &why);
}

/* If there is no operator with this name, no operator is held after the write. */
static int held_set(const char *value, const struct kernel_param *kp)
{
	mutex_lock(&lock);
	dk_op_put(held);
	held = dk_op_get(NULL, value);
	mutex_unlock(&lock);
	return 0;
}

static int call_set(const char *value, const struct kernel_param *kp)
{
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0), card;
	unsigned int n;
	int err;

	err = kstrtouint(value, 0, &n);
	if (err)
		return err;
	mutex_lock(&lock);
	card = dk_obj_on(backend, device[0]);
	for (; n; n--) {
		/* results are ignored: the test knows which calls are served */
		crowd_one(&cpu);
		crowd_one(&card);
		crowd_one(&card);
	}
	mutex_unlock(&lock);
	return 0;
}

static int visit(void *unused)
{
	struct dk_obj card = dk_obj_on(backend, device[0]);
	int err = crowd_one(&card);

	/* if card_one() did not serve the call, the waiting thread must still continue */
	complete(&inside);
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
	return err;
}

/* Starts the thread, and returns when it is inside the call. */
static int stay_begin(void)
{
	if (!num_devices)
		return -ENODEV;
	reinit_completion(&inside);
	stays = true;
	visitor = kthread_run(visit, NULL, "dk_visitor");
	if (IS_ERR(visitor)) {
		stays = false;
		return PTR_ERR(xchg(&visitor, NULL));
	}
	wait_for_completion(&inside);
	return 0;
}

static int stay_end(void)
{
	int err = visitor ? kthread_stop(visitor) : 0;

	visitor = NULL;
	stays = false;
	return err;
}

static int stay_set(const char *value, const struct kernel_param *kp)
{
	bool wanted;
	int err;

	err = kstrtobool(value, &wanted);
	if (err || wanted == stays)
		return err;
	return wanted ? stay_begin() : stay_end();
}

static int leave_set(const char *value, const struct kernel_param *kp)
{
	int err = dk_provider_unregister_timeout(&crowd, 1, NULL);

	return err == -ETIMEDOUT ? 0 : err;
}

static int check_set(const char *value, const struct kernel_param *kp)
{
	return dk_registry_check(NULL, NULL);
}

static int changes_set(const char *value, const struct kernel_param *kp)
{
	unsigned int n;
	int err = kstrtouint(value, 0, &n);

	if (!err)
		dk_test_change(n);
	return err;
}

static int work_set(const char *value, const struct kernel_param *kp)
{
	dk_test_watch_lock(NULL);
	return 0;
}

static int work_get(char *buf, const struct kernel_param *kp)
{
	unsigned int most[DKC_NUM_WORK];

	dk_test_most_work(most);
	return sysfs_emit(buf, "%u %u %u %u %u\n", most[DKC_WORK_EVALUATIONS],
			  most[DKC_WORK_COUNTERS], most[DKC_WORK_FUNCTIONS],
			  most[DKC_WORK_ORDERED], most[DKC_WORK_SLOTS]);
}

static const struct kernel_param_ops number_ops = { .set = number_set, .get = number_get };
static const struct kernel_param_ops churn_ops = { .set = churn_set };
static const struct kernel_param_ops twin_ops = { .set = twin_set };
static const struct kernel_param_ops blocks_ops = { .set = blocks_set };
static const struct kernel_param_ops providers_ops = { .set = providers_set };
static const struct kernel_param_ops defined_ops = { .set = defined_set };
static const struct kernel_param_ops held_ops = { .set = held_set };
static const struct kernel_param_ops call_ops = { .set = call_set };
static const struct kernel_param_ops stay_ops = { .set = stay_set };
static const struct kernel_param_ops leave_ops = { .set = leave_set };
static const struct kernel_param_ops check_ops = { .set = check_set };
static const struct kernel_param_ops changes_ops = { .set = changes_set };
static const struct kernel_param_ops work_ops = { .set = work_set, .get = work_get };
module_param_cb(ops, &number_ops, &first_ops, 0600);
MODULE_PARM_DESC(ops, "number of operators");
module_param_cb(devices, &number_ops, &first_devices, 0600);
MODULE_PARM_DESC(devices, "number of devices");
module_param_cb(churn, &churn_ops, NULL, 0200);
MODULE_PARM_DESC(churn, "unregister and register everything this many times");
module_param_cb(twin, &twin_ops, NULL, 0200);
MODULE_PARM_DESC(twin, "number of functions of a provider with the same name");
module_param_cb(blocks, &blocks_ops, NULL, 0200);
MODULE_PARM_DESC(blocks, "number of operators that each have a function in a separate array");
module_param_cb(providers, &providers_ops, NULL, 0200);
MODULE_PARM_DESC(providers, "number of further providers");
module_param_cb(defined, &defined_ops, NULL, 0200);
MODULE_PARM_DESC(defined, "whether crowd::one is defined");
module_param_cb(held, &held_ops, NULL, 0200);
MODULE_PARM_DESC(held, "an operator that is held, by its name");
module_param_cb(call, &call_ops, NULL, 0200);
MODULE_PARM_DESC(call, "call crowd::one this many times on the CPU, and twice as often on a device");
module_param_cb(stay, &stay_ops, NULL, 0200);
MODULE_PARM_DESC(stay, "whether a thread is inside of a call on the first device");
module_param_cb(leave, &leave_ops, NULL, 0200);
MODULE_PARM_DESC(leave, "begin to unregister the provider");
module_param_cb(check, &check_ops, NULL, 0200);
MODULE_PARM_DESC(check, "fail if a published table is wrong");
module_param_cb(changes, &changes_ops, NULL, 0200);
MODULE_PARM_DESC(changes, "number of holds of the lock that end as if the registry had changed");
module_param_cb(work, &work_ops, NULL, 0600);
MODULE_PARM_DESC(work, "the most work in one hold of the registry's lock");

static int __init crowd_init(void)
{
	struct dk_diag why = { .size = sizeof(why) };
	int err;

	op = vcalloc(MOST_OPS, sizeof(*op));
	if (!op)
		return -ENOMEM;
	dk_test_watch_lock(NULL);
	mutex_lock(&lock);
	err = dk_provider_register(&crowd, &why);
	if (!err)
		err = dk_op_define(&crowd, &crowd_one_op, 0, &why);
	if (!err)
		err = dk_backend_join(&crowd, "crowd", 0, 0, &backend, &why);
	if (err)
		pr_info("%s: %s\n", why.text, why.name);
	else
		err = set_both(first_ops, first_devices);
	mutex_unlock(&lock);
	if (err) {
		dk_provider_unregister(&crowd);
		vfree(op);
	}
	return err;
}
module_init(crowd_init);

static void __exit crowd_exit(void)
{
	stay_end();
	dk_op_put(held);
	unregister_blocks();
	unregister_twin();
	unregister_further();
	dk_provider_unregister(&crowd);
	vfree(op);
}
module_exit(crowd_exit);

MODULE_DESCRIPTION("dispatchkey selftest: many operators and devices, registered and unregistered");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
