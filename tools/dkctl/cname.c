// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The constants of <linux/dispatchkey.h>: names of the keys of layout v1 in C. */
#include "dkctl.h"

#include <string.h>

static const char *const c_names[] = {
#define FUNCTIONALITY(U, N, P)	[DK_##U] = "DK_" #U,
	DK_FUNCTIONALITIES(FUNCTIONALITY)
#define RUNTIME(U, N, P, prefix)	[DK_##prefix##U] = "DK_" #prefix #U,
	DK_BACKENDS(RUNTIME, DK__NONE)
	DK_BACKENDS(RUNTIME, QUANTIZED_)
	DK_BACKENDS(RUNTIME, SPARSE_)
	DK_BACKENDS(RUNTIME, SPARSE_CSR_)
	DK_BACKENDS(RUNTIME, NESTED_TENSOR_)
	DK_BACKENDS(RUNTIME, AUTOGRAD_)
#define ALIAS(U, N)	[DK_##U] = "DK_" #U,
	DK_ALIASES(ALIAS)
};

static bool has_c_names(const struct dk_layout *l)
{
	return !strcmp(dk_layout_name(l), DK_LAYOUT_NAME);
}

const char *key_c_name(const struct dk_layout *l, unsigned int key)
{
	if (!has_c_names(l) || key >= ARRAY_SIZE(c_names))
		return NULL;
	return c_names[key];
}

bool key_of_c_name(const struct dk_layout *l, const char *name, unsigned int *key)
{
	unsigned int k;

	for (k = 0; has_c_names(l) && k < ARRAY_SIZE(c_names); k++) {
		if (c_names[k] && !strcmp(c_names[k], name)) {
			*key = k;
			return true;
		}
	}
	return false;
}
