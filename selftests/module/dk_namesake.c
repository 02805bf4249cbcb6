// SPDX-License-Identifier: GPL-2.0-only
/* dk_namesake: has a netlink family with dispatchkey's name, so that dispatchkey cannot load. */
#include <linux/module.h>
#include <net/genetlink.h>

#include <linux/dispatchkey_netlink.h>

static struct genl_family namesake = {
	.name = DK_GENL_NAME,
	.version = 1,
	.module = THIS_MODULE,
};

static int __init dk_namesake_init(void)
{
	return genl_register_family(&namesake);
}

static void __exit dk_namesake_exit(void)
{
	genl_unregister_family(&namesake);
}

module_init(dk_namesake_init);
module_exit(dk_namesake_exit);
MODULE_DESCRIPTION("Module with the name of dispatchkey's netlink family");
MODULE_LICENSE("GPL");
