/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DK_LENDER_H
#define _DK_LENDER_H

#include <dispatchkey.h>

/* Defines an operator and registers functions with dk_lender's provider. Both are the caller's. */
int dk_lender_register(struct dk_op_decl *decl, const struct dk_impl *impls, unsigned int n);
/* Withdraws the functions, without waiting for their calls. */
int dk_lender_withdraw(const struct dk_impl *impls);

#endif /* _DK_LENDER_H */
