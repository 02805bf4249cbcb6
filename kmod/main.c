// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads and unloads dispatchkey.ko, and defines the default registry and the notifier for
 * the unloading of modules.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/init.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/rcupdate.h>

#include "../lib/core/change/change.h"
#include "gate.h"
#include "cleanup.h"
#include "netlink.h"

static struct dk_registry *default_registry;

struct dk_registry *dk_registry_default(void)
{
	return default_registry;
}

const char *dk_version(void)
{
	return DK_VERSION;
}

static int module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	switch (event) {
	case MODULE_STATE_LIVE:
		dkc_module_init_cleanup(data);
		return NOTIFY_OK;
	case MODULE_STATE_GOING:
		dkc_module_cleanup(data);
		return NOTIFY_OK;
	default:
		return NOTIFY_DONE;
	}
}

static struct notifier_block module_nb = {
	.notifier_call = module_event,
};

static int __init dispatchkey_init(void)
{
	struct dk_diag why = { .size = sizeof(why) };
	int err;

	dkc_gate_init();
	default_registry = dk_registry_alloc(NULL, DK_REGISTRY_BUILTINS, &why);
	if (!default_registry) {
		pr_err("cannot create the default registry: %s\n", why.text);
		return -ENOMEM;
	}
	default_registry->is_default = true;
	err = register_module_notifier(&module_nb);
	if (err)
		goto no_notifier;
	/*
	 * This must be the last step: requests are served as soon as the family is registered.
	 * Loading must not fail after this step, because a dump that has begun may still run
	 * after the family is unregistered.
	 */
	err = dk_nl_init();
	if (err) {
		pr_err("cannot register the netlink family %s: error %d\n", DK_GENL_NAME, err);
		/* modprobe would take -EEXIST for a module that is loaded already */
		err = err == -EEXIST ? -EBUSY : err;
		goto no_netlink;
	}
	pr_info("version %s, layout %s, ABI %u\n", DK_VERSION, DK_LAYOUT_NAME, DK_ABI_VERSION);
	return 0;

no_netlink:
	unregister_module_notifier(&module_nb);
no_notifier:
	default_registry->is_default = false;
	dk_registry_free(default_registry, NULL);
	return err;
}

/*
 * Modules that use symbols of this module hold references on it, so none of them is loaded now. No
 * rcu_barrier() is needed: memory is freed only with kvfree_rcu(), which calls no code of this
 * module.
 */
static void __exit dispatchkey_exit(void)
{
	dk_nl_exit();
	unregister_module_notifier(&module_nb);
	dkc_registries_cleanup();
	dkc_gate_exit();
}

module_init(dispatchkey_init);
module_exit(dispatchkey_exit);
MODULE_DESCRIPTION("Routing of operations to accelerator drivers by dispatch keys");
MODULE_LICENSE("GPL");
MODULE_VERSION(DK_VERSION);
