// SPDX-License-Identifier: GPL-2.0-only
/*
 * dk_cycle: registers something of every kind, as a driver. cycles.sh loads and unloads it
 * while dk_cycle_calls.ko makes calls. failslab.sh writes these parameters, so that the module
 * registers and unregisters while allocations fail:
 *
 * again		write any value: unregister, and register again
 * unregister_all	write any value: unregister, with the task's make_it_fail set
 * register_all		write any value: register after unregister_all, with make_it_fail set
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/sched.h>

#include "../api/alloc.h"
#include "cycle.h"

static int guest(struct dk_call *c, struct dk_obj *x, int *served_by)
{
	*served_by = CYCLE_GUEST;
	return 0;
}

static struct dk_impl impls[] = {
	DK_IMPL(cycle_sleeps, DK_CPU, guest),
	DK_IMPL(cycle_own, DK_COMPOSITE_EXPLICIT_AUTOGRAD, guest),
	DK_IMPL(cycle_own, DK_AUTOGRAD, guest),
};

static struct dk_impl atomic_impls[] = {
	DK_IMPL_ATOMIC(cycle_atomic, DK_CPU, guest),
};

static const struct dk_impl card_impls[] = {
	DK_IMPL(cycle_own, DK_DENSE, guest),
};

static const struct dk_impl fallback = {
	.size = sizeof(fallback), .key = DK_PYTHON,
	.flags = DK_IMPL_F_FALLTHROUGH, .label = "fallthrough",
};

static void ignore_event(struct dk_listener *self, const struct dk_event *event)
{
}

static void ignore_call(struct dk_hooks *h, const struct dk_hook_info *info)
{
}

static struct dk_provider cycle = DK_PROVIDER("cycle");
static struct dk_library library = DK_LIBRARY(&cycle, FRAGMENT, "cycle", DK_UNDEFINED);
static struct dk_listener listener = { .size = sizeof(listener), .notify = ignore_event };
static struct dk_hooks hooks = { .size = sizeof(hooks), .before = ignore_call };
static struct dk_op_decl more;
static struct dk_handle handle;
static long in_use;	/* number of allocations when nothing is registered */

static int unregister_all(void)
{
	int err;

	dk_hooks_unregister(&hooks, NULL);
	err = dk_listener_unregister(&listener);
	if (!err)
		err = dk_provider_unregister(&cycle);
	handle.core = NULL;
	return err;
}

static int register_functions(struct dk_diag *why)
{
	unsigned int backend;
	u32 card;
	int err = dk_impls_register(&cycle, impls, ARRAY_SIZE(impls), why);

	/* defined after the functions, so that no call finds the operator without functions */
	if (!err)
		err = dk_op_define(&cycle, &cycle_own_op, 0, why);
	if (!err)
		err = dk_impls_register(&cycle, atomic_impls, 1, why);
	if (!err)
		err = dk_fallback_register(&cycle, &fallback, why);
	if (!err)
		err = dk_backend_join(&cycle, "cycle", 0, 0, &backend, why);
	if (!err)
		err = dk_device_register(&cycle, backend, "cycle0", NULL, card_impls, 1,
					 &card, why);
	return err;
}

static int register_all(void)
{
	struct dk_diag why = { .size = sizeof(why) };
	int err = dk_listener_register(&listener, &why);

	if (!err)
		err = dk_hooks_register(NULL, &hooks, &why);
	if (!err)
		err = dk_provider_register(&cycle, &why);
	if (!err)
		err = register_functions(&why);
	if (!err)
		err = dk_library_register(&library, &why);
	if (!err)
		err = dk_library_def(&library, &more, 0, &handle, &why);
	if (!err)
		return 0;
	if (err != -ENOMEM)
		pr_info("%s: %s\n", why.text, why.name);
	unregister_all();
	return err;
}

/* Checks that the registry is consistent and, after unregistering, that no memory is lost. */
static int check(void)
{
	int err = dk_registry_check(NULL, NULL);

	if (!err && !cycle.core && dk_test_allocs() != in_use) {
		pr_info("%ld allocations are in use, but %ld are expected\n", dk_test_allocs(),
			in_use);
		err = -EILSEQ;
	}
	return err;
}

static int again_set(const char *value, const struct kernel_param *kp)
{
	int err = unregister_all(), wrong;

	if (!err)
		err = register_all();
	wrong = check();
	return wrong ? wrong : err;
}

/* Calls @act, whose allocations may all fail, and then checks the registry. */
static int short_of_memory(int (*act)(void))
{
	int err;

#ifdef CONFIG_FAULT_INJECTION
	current->make_it_fail = true;
#endif
	err = act();
#ifdef CONFIG_FAULT_INJECTION
	current->make_it_fail = false;
#endif
	return err ? err : dk_registry_check(NULL, NULL);
}

static int leave_set(const char *value, const struct kernel_param *kp)
{
	return short_of_memory(unregister_all);
}

static int enter_set(const char *value, const struct kernel_param *kp)
{
	return short_of_memory(register_all);
}

static const struct kernel_param_ops again_ops = { .set = again_set };
static const struct kernel_param_ops leave_ops = { .set = leave_set };
static const struct kernel_param_ops enter_ops = { .set = enter_set };
module_param_cb(again, &again_ops, NULL, 0200);
MODULE_PARM_DESC(again, "unregister, and register again");
module_param_cb(unregister_all, &leave_ops, NULL, 0200);
MODULE_PARM_DESC(unregister_all, "unregister while every allocation may fail");
module_param_cb(register_all, &enter_ops, NULL, 0200);
MODULE_PARM_DESC(register_all, "register while every allocation may fail");

static int __init cycle_init(void)
{
	int err;

	more = cycle_own_op;
	more.name = "cycle::more";
	more.op = NULL;
	/* register once before counting, because the registry keeps some of the memory */
	err = register_all();
	if (err)
		return err;
	unregister_all();
	in_use = dk_test_allocs();
	return register_all();
}
module_init(cycle_init);

static void __exit cycle_exit(void)
{
	unregister_all();
}
module_exit(cycle_exit);

MODULE_DESCRIPTION("dispatchkey selftest: a provider that is loaded and unloaded");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
