// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Lists the C names of the keys of layout v1: the constants in <linux/dispatchkey.h>. */
#include "dkctl.h"

#include <string.h>

static const struct {
	unsigned int key;
	const char *name;
} constants[] = {
#define FUNCTIONALITY(U, N, P) { DK_##U, "DK_" #U },
	DK_FUNCTIONALITIES(FUNCTIONALITY)
#define RUNTIME(U, N, P, prefix) { DK_##prefix##U, "DK_" #prefix #U },
	DK_BACKENDS(RUNTIME, DK__NONE)
	DK_BACKENDS(RUNTIME, QUANTIZED_)
	DK_BACKENDS(RUNTIME, SPARSE_)
	DK_BACKENDS(RUNTIME, SPARSE_CSR_)
	DK_BACKENDS(RUNTIME, NESTED_TENSOR_)
	DK_BACKENDS(RUNTIME, AUTOGRAD_)
#define ALIAS(U, N) { DK_##U, "DK_" #U },
	DK_ALIASES(ALIAS)
	/* Second names come last, because key_c_name() returns the first match. */
	{ DK_CATCH_ALL, "DK_CATCH_ALL" },
	{ DK_DEFAULT_BACKEND, "DK_DEFAULT_BACKEND" },
	{ DK_AUTOCAST, "DK_AUTOCAST" },
	{ DK_PRIVATEUSE1_PRE_AUTOGRAD, "DK_PRIVATEUSE1_PRE_AUTOGRAD" },
	{ DK_PRIVATEUSE2_PRE_AUTOGRAD, "DK_PRIVATEUSE2_PRE_AUTOGRAD" },
	{ DK_PRIVATEUSE3_PRE_AUTOGRAD, "DK_PRIVATEUSE3_PRE_AUTOGRAD" },
};

static bool has_constants(const struct dk_layout *l)
{
	return !strcmp(dk_layout_name(l), DK_LAYOUT_NAME);
}

const char *key_c_name(const struct dk_layout *l, unsigned int key)
{
	size_t i;

	for (i = 0; has_constants(l) && i < ARRAY_SIZE(constants); i++) {
		if (constants[i].key == key)
			return constants[i].name;
	}
	return NULL;
}

bool key_of_c_name(const struct dk_layout *l, const char *name, unsigned int *key)
{
	size_t i;

	for (i = 0; has_constants(l) && i < ARRAY_SIZE(constants); i++) {
		if (!strcmp(constants[i].name, name)) {
			*key = constants[i].key;
			return true;
		}
	}
	return false;
}
