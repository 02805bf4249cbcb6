// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers a provider whose code is loaded and unloaded during the torture test, as a module or as
 * a shared object. Its functions call torture_serve().
 */
#include "torture.h"

static struct dk_impl impls[NUM_OPS];
static struct dk_provider provider = DK_PROVIDER("torture-plugin");

static int serve_plugin(struct dk_call *c, struct dk_obj *x, struct call_record *t)
{
	int err = torture_serve(c, x, t, ROLE_BACKEND);

	/* prevents a tail call: torture_serve() must return to the plugin */
	t->in_plugin++;
	return err;
}

int torture_plugin_load(void)
{
	unsigned int backend;
	int err;

	torture_impls(impls, serve_plugin, "serve_plugin", DK_DENSE);
	err = torture_plugin_begin(&provider, &backend);
	if (err)
		return err;
	err = dk_provider_register(&provider, NULL);
	err = err ? err : dk_backend_impls_register(&provider, backend, impls, NUM_OPS, NULL);
	if (!err) {
		torture_plugin_registered(&provider);
		return 0;
	}
	dk_provider_unregister(&provider);
	torture_plugin_unregistered(&provider);
	return err;
}

void torture_plugin_unload(void)
{
	torture_plugin_unregisters();
	dk_provider_unregister(&provider);
	torture_plugin_unregistered(&provider);
}

#if W_KERNEL
module_init(torture_plugin_load);
module_exit(torture_plugin_unload);
MODULE_DESCRIPTION("dispatchkey selftest: the provider that dk_torture needs loaded and unloaded");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
#endif
