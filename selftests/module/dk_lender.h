/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DK_LENDER_H
#define _DK_LENDER_H

#include <dispatchkey.h>

/* Defines an operator and registers functions with dk_lender's provider. Both are the caller's. */
int dk_lender_register(struct dk_op_decl *decl, const struct dk_impl *impls, unsigned int n);
typedef int (*dk_lent_fn_t)(struct dk_call *c, const struct dk_obj *x);
/* Registers a function of the caller in an array of dk_lender. */
int dk_lender_register_function(dk_lent_fn_t function);
/* Withdraws the functions, without waiting for their calls. */
int dk_lender_withdraw(const struct dk_impl *impls);

#endif /* _DK_LENDER_H */
