// SPDX-License-Identifier: GPL-2.0-only
/*
 * dk_lender: registers arrays and definitions of other modules with its own provider, as the core
 * module of a family of drivers might.
 */
#include <linux/module.h>

#include "dk_lender.h"

DK_OP(lent, "selftest::lent", (const struct dk_obj *x), (x), (x));

static struct dk_provider lender = DK_PROVIDER("lender");
static struct dk_impl own;

int dk_lender_register(struct dk_op_decl *decl, const struct dk_impl *impls, unsigned int n)
{
	return dk_op_define(&lender, decl, 0, NULL) ?: dk_impls_register(&lender, impls, n, NULL);
}
EXPORT_SYMBOL_GPL(dk_lender_register);

int dk_lender_register_function(dk_lent_fn_t function)
{
	own = (struct dk_impl)DK_IMPL(lent, DK_COMPOSITE_EXPLICIT_AUTOGRAD, *function);
	return dk_op_define(&lender, &lent_op, 0, NULL) ?:
	       dk_impls_register(&lender, &own, 1, NULL);
}
EXPORT_SYMBOL_GPL(dk_lender_register_function);

int dk_lender_withdraw(const struct dk_impl *impls)
{
	return dk_impls_withdraw(&lender, impls, NULL);
}
EXPORT_SYMBOL_GPL(dk_lender_withdraw);

static int __init lender_init(void)
{
	return dk_provider_register(&lender, NULL);
}
module_init(lender_init);

static void __exit lender_exit(void)
{
	dk_provider_unregister(&lender);
}
module_exit(lender_exit);

MODULE_DESCRIPTION("dispatchkey selftest: registers what other modules own");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
