// SPDX-License-Identifier: GPL-2.0-only
/*
 * dk_tallied: registers a backend fallback in static memory, which is freed before rmmod returns.
 * This fallback serves the calls of dk_caller.ko.
 */
#include <linux/module.h>

#include <dispatchkey.h>

static int tallied_serve(struct dk_call *c, void *args)
{
	return 0;
}

static const struct dk_impl fallback = DK_FALLBACK(DK_PYTHON, tallied_serve);
static struct dk_provider tallied = DK_PROVIDER("tallied");

static int __init tallied_init(void)
{
	int err = dk_provider_register(&tallied, NULL);

	if (err)
		return err;
	err = dk_fallback_register(&tallied, &fallback, NULL);
	if (err)
		dk_provider_unregister(&tallied);
	return err;
}
module_init(tallied_init);

static void __exit tallied_exit(void)
{
	dk_provider_unregister(&tallied);
}
module_exit(tallied_exit);

MODULE_DESCRIPTION("dispatchkey selftest: a backend fallback in static memory");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
