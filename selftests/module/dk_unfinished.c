// SPDX-License-Identifier: GPL-2.0-only
/*
 * dk_unfinished: defers a call when the module is loaded, and completes the call when the parameter
 * "complete" is written. Until then the module's exit function waits. With timeout=MS, it first
 * waits with a deadline. With forget=1, it does not unregister, so dispatchkey waits instead.
 */
#include <linux/module.h>

#include <dispatchkey.h>

DK_OP(unfinished, "selftest::unfinished", (const struct dk_obj *x), (x), (x));

static struct dk_provider prov = DK_PROVIDER("unfinished");
static struct dk_deferred token;

static bool forget;
module_param(forget, bool, 0400);
MODULE_PARM_DESC(forget, "do not unregister");

static uint timeout;
module_param(timeout, uint, 0400);
MODULE_PARM_DESC(timeout, "milliseconds to wait with a deadline");

static int unfinished_cpu(struct dk_call *c, const struct dk_obj *x)
{
	return dk_call_defer(c, &token);
}

static const struct dk_impl impls[] = { DK_IMPL(unfinished, DK_CPU, unfinished_cpu) };

static int complete_call(const char *value, const struct kernel_param *kp)
{
	return dk_call_complete(&token, 0);
}

static const struct kernel_param_ops complete_ops = { .set = complete_call };
module_param_cb(complete, &complete_ops, NULL, 0200);
MODULE_PARM_DESC(complete, "complete the call");

static int __init unfinished_init(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	int err = dk_provider_register(&prov, NULL);

	if (err)
		return err;
	dk_deferred_init(&token);
	err = dk_op_define(&prov, &unfinished_op, 0, NULL);
	if (!err)
		err = dk_impls_register(&prov, impls, ARRAY_SIZE(impls), NULL);
	if (!err)
		err = unfinished(&x);
	if (err)
		dk_provider_unregister(&prov);
	return err;
}
module_init(unfinished_init);

static void __exit unfinished_exit(void)
{
	if (forget)
		return;
	if (timeout)
		dk_provider_unregister_timeout(&prov, timeout, NULL);
	dk_provider_unregister(&prov);
}
module_exit(unfinished_exit);

MODULE_DESCRIPTION("dispatchkey selftest: a call that is not completed");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
