// SPDX-License-Identifier: GPL-2.0-only
/*
 * dk_caller: defines an operator. A write to the parameter "call" calls the operator with an object
 * that has the key Python.
 */
#include <linux/module.h>

#include <dispatchkey.h>

DK_OP(caller, "caller::op", (const struct dk_obj *x), (x), (x));

static struct dk_provider prov = DK_PROVIDER("caller");

static int call(const char *value, const struct kernel_param *kp)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	x.ks = dk_keyset_or(x.ks, dk_key_set(NULL, DK_PYTHON));
	return caller(&x);
}

static const struct kernel_param_ops call_ops = { .set = call };
module_param_cb(call, &call_ops, NULL, 0200);
MODULE_PARM_DESC(call, "call the operator at key Python");

static int __init caller_init(void)
{
	int err = dk_provider_register(&prov, NULL);

	if (err)
		return err;
	err = dk_op_define(&prov, &caller_op, 0, NULL);
	if (err)
		dk_provider_unregister(&prov);
	return err;
}
module_init(caller_init);

static void __exit caller_exit(void)
{
	dk_provider_unregister(&prov);
}
module_exit(caller_exit);

MODULE_DESCRIPTION("dispatchkey selftest: calls an operator that other modules serve");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
