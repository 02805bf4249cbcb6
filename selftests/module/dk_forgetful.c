// SPDX-License-Identifier: GPL-2.0-only
/*
 * dk_forgetful: registers and never unregisters, neither in its exit function nor
 * when its init function fails (fail=1). With own=1, it registers in a registry that it allocates
 * and never frees. With hold=1, it takes a reference to its operator and never releases the
 * reference. With no_owner=1, its provider does not name the module.
 */
#include <linux/module.h>

#include <dispatchkey.h>

DK_OP(forgotten, "selftest::forgotten", (const struct dk_obj *x), (x), (x));

static bool fail;
module_param(fail, bool, 0400);
MODULE_PARM_DESC(fail, "fail to load, after the registrations");

static bool own;
module_param(own, bool, 0400);
MODULE_PARM_DESC(own, "register in a registry that the module allocates");

static bool hold;
module_param(hold, bool, 0400);
MODULE_PARM_DESC(hold, "take a reference to the operator");

static bool no_owner;
module_param(no_owner, bool, 0400);
MODULE_PARM_DESC(no_owner, "do not name the module as the owner of the provider");

static int forgotten_cpu(struct dk_call *c, const struct dk_obj *x)
{
	return 0;
}

static const struct dk_impl impls[] = {
	DK_IMPL(forgotten, DK_COMPOSITE_EXPLICIT_AUTOGRAD, forgotten_cpu),
};

static struct dk_provider forgetful = DK_PROVIDER("forgetful");

static void ignore_call(struct dk_hooks *h, const struct dk_hook_info *info)
{
}

static struct dk_hooks hooks = { .size = sizeof(hooks), .after = ignore_call };

static int __init forgetful_init(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_registry *reg = NULL;
	int err;

	if (own) {
		reg = dk_registry_alloc(NULL, DK_REGISTRY_BUILTINS, NULL);
		if (!reg)
			return -ENOMEM;
	}
	forgetful.registry = reg;
	if (no_owner)
		forgetful.owner = NULL;
	err = dk_provider_register(&forgetful, NULL);
	if (!err)
		err = dk_op_define(&forgetful, &forgotten_op, 0, NULL);
	if (!err)
		err = dk_impls_register(&forgetful, impls, ARRAY_SIZE(impls), NULL);
	if (!err)
		err = dk_hooks_register(reg, &hooks, NULL);
	if (!err && !own)
		err = forgotten(&x);
	if (err) {
		dk_hooks_unregister(&hooks, NULL);
		dk_provider_unregister(&forgetful);
		if (own)
			dk_registry_free(reg, NULL);
		return err;
	}
	if (hold && !dk_op_get(reg, "selftest::forgotten"))
		return -ENOENT;
	return fail ? -ENXIO : 0;
}
module_init(forgetful_init);

/* Without an exit function, the module could not be removed. */
static void __exit forgetful_exit(void)
{
}
module_exit(forgetful_exit);

MODULE_DESCRIPTION("dispatchkey selftest: a provider that does not unregister");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
