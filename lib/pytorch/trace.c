// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Prints a call as PyTorch's dispatch trace does (SEMANTICS 8.5). */
#include "pytorch.h"

size_t dk_trace_line(const struct dk_hook_info *info, char *buf, size_t size)
{
	static const char *const labels[] = {
		[DK_HOOK_CALL] = "call",
		[DK_HOOK_REDISPATCH] = "redispatch",
		[DK_HOOK_CALL_BOXED] = "callBoxed",
		[DK_HOOK_REDISPATCH_BOXED] = "redispatchBoxed",
	};
	/* limited, because the length of the line must fit in a size_t, also on 32-bit machines */
	u32 indent = info->depth < 0x7fffffff ? info->depth + 1 : 0x7fffffff, i;
	struct dkc_text t = { buf, size, 0 };
	char key[DK_NAME_MAX];

	for (i = 0; i < indent && i < size; i++)
		dkc_put(&t, " ");
	t.len += indent - i;	/* these spaces do not fit, but count */
	dkc_put(&t, "[");
	dkc_put(&t, labels[info->kind & 3]);
	dkc_put(&t, "] op=[");
	dkc_put(&t, info->name);
	dkc_put(&t, "], key=[");
	dkc_put(&t, dk_key_name(info->op->reg->layout, info->key, key));
	dkc_put(&t, "]");
	return dkc_put_end(&t);
}
