// SPDX-License-Identifier: GPL-2.0-only
/* A part of dispatchkey.ko in test builds: see core.h. */
#include <linux/export.h>

#include "core.h"

const struct dk_test_core dk_test_core = {
	.v1 = &dkc_v1,
	.key_alias = dkc_key_alias,
	.refuse = dkc_refuse,
	.starts_with = dkc_starts_with,
	.streq = dkc_streq,
	.strcaseeq = dkc_strcaseeq,
	.strcpy = dkc_strcpy,
	.strncpy = dkc_strncpy,
};
EXPORT_SYMBOL_GPL(dk_test_core);
