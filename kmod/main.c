// SPDX-License-Identifier: GPL-2.0-only
/*
 * dispatchkey.ko: the default registry, and a look at who leaves.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/init.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/rcupdate.h>

#include "../lib/core/registry.h"
#include "gate.h"
#include "left.h"
#include "netlink.h"

static struct dk_registry *dkc_default;

struct dk_registry *dk_registry_default(void)
{
	return dkc_default;
}

const char *dk_version(void)
{
	return DK_VERSION;
}

static int dkc_module_event(struct notifier_block *nb, unsigned long event,
			    void *data)
{
	if (event != MODULE_STATE_GOING)
		return NOTIFY_DONE;
	dkc_take_out_what_left(data);
	return NOTIFY_OK;
}

static struct notifier_block dkc_module_nb = {
	.notifier_call = dkc_module_event,
};

static int __init dkc_init(void)
{
	struct dk_diag why = { .size = sizeof(why) };
	int err;

	dkc_gate_init();
	err = dkc_layouts_init();
	if (err)
		return err;
	dkc_default = dk_registry_alloc(NULL, DK_REGISTRY_STOCKED, &why);
	if (!dkc_default) {
		pr_err("no registry: %s\n", why.text);
		return -ENOMEM;
	}
	dkc_default->is_default = true;
	err = register_module_notifier(&dkc_module_nb);
	if (err)
		goto no_notifier;
	/* the last one: from here on anybody may ask */
	err = dk_nl_init();
	if (err)
		goto no_netlink;
	pr_info("version %s, layout %s, ABI %u\n", DK_VERSION, DK_LAYOUT_NAME,
		DK_ABI_VERSION);
	return 0;

no_netlink:
	unregister_module_notifier(&dkc_module_nb);
no_notifier:
	dkc_default->is_default = false;
	dk_registry_free(dkc_default, NULL);
	return err;
}

/* Whoever uses our symbols keeps us, so nobody is left here. */
static void __exit dkc_exit(void)
{
	struct dk_diag why = { .size = sizeof(why) };

	dk_nl_exit();
	unregister_module_notifier(&dkc_module_nb);
	dkc_default->is_default = false;
	if (dk_registry_free(dkc_default, &why))
		pr_err("%s: %s\n", why.text, why.name);
	dkc_free_registries_left();
	rcu_barrier();
}

module_init(dkc_init);
module_exit(dkc_exit);
MODULE_DESCRIPTION("Routing of operations to accelerator drivers by dispatch keys");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(DK_VERSION);
