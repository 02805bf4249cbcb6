// SPDX-License-Identifier: GPL-2.0-only
/* The half in C defines and calls the operator, and registers a function in C++. */
#include "cxx.h"

static const struct dk_impl impls[] = { DK_IMPL(cxx_add, DK_CPU, add_cpu) };

int add_register(struct dk_provider *prov, struct dk_diag *why)
{
	int err = dk_op_define(prov, &cxx_add_op, 0, why);

	return err ? err : dk_impls_register(prov, impls, 1, why);
}

int add_call(struct tensor *out, const struct tensor *a)
{
	return cxx_add(out, a);
}
