// SPDX-License-Identifier: GPL-2.0-only
/*
 * dk_borrower: has its functions registered by dk_lender, and is unloaded without a word. With
 * withdraw=1, it withdraws them, but does not wait for their calls. With init=1, it registers an
 * array that the kernel frees when the init function has returned; with provider=1, a provider in
 * such memory. With function=1, dk_lender registers the function in an array of its own.
 */
#include <linux/module.h>

#include "dk_lender.h"

DK_OP(borrowed, "selftest::borrowed", (const struct dk_obj *x), (x), (x));

static bool init;
module_param(init, bool, 0400);
MODULE_PARM_DESC(init, "register an array in init memory with a provider of this module");

static bool provider;
module_param(provider, bool, 0400);
MODULE_PARM_DESC(provider, "register the functions with a provider in init memory");

static bool function;
module_param(function, bool, 0400);
MODULE_PARM_DESC(function, "let the other module register the function in its own array");

static bool withdraw;
module_param(withdraw, bool, 0400);
MODULE_PARM_DESC(withdraw, "withdraw the functions in the exit function");

static int borrowed_cpu(struct dk_call *c, const struct dk_obj *x)
{
	return 0;
}

static const struct dk_impl impls[] = {
	DK_IMPL(borrowed, DK_COMPOSITE_EXPLICIT_AUTOGRAD, borrowed_cpu),
};

static const struct dk_impl impls_of_init[] __initconst = {
	DK_IMPL(borrowed, DK_COMPOSITE_EXPLICIT_AUTOGRAD, borrowed_cpu),
};

static struct dk_provider borrower = DK_PROVIDER("borrower");
static struct dk_provider of_init __initdata = DK_PROVIDER("initial");

static int __init borrower_init(void)
{
	if (provider)
		return dk_provider_register(&of_init, NULL) ?:
		       dk_op_define(&of_init, &borrowed_op, 0, NULL) ?:
		       dk_impls_register(&of_init, impls, ARRAY_SIZE(impls), NULL);
	if (function)
		return dk_lender_register_function(borrowed_cpu);
	if (!init)
		return dk_lender_register(&borrowed_op, impls, ARRAY_SIZE(impls));
	return dk_provider_register(&borrower, NULL) ?:
	       dk_op_define(&borrower, &borrowed_op, 0, NULL) ?:
	       dk_impls_register(&borrower, impls_of_init, ARRAY_SIZE(impls_of_init), NULL);
}
module_init(borrower_init);

static void __exit borrower_exit(void)
{
	if (withdraw)
		dk_lender_withdraw(impls);
	dk_provider_unregister(&borrower);
}
module_exit(borrower_exit);

MODULE_DESCRIPTION("dispatchkey selftest: registrations in memory that is freed");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
