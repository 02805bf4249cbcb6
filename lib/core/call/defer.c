// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Defers and completes calls: a deferred call is not complete when its function returns. */
#include "call.h"

int dk_call_defer(const struct dk_call *c, struct dk_deferred *token)
{
	const struct dkc_reg *reg = c->entry->reg;

	if (!token || token->size != sizeof(*token))
		return -EINVAL;
	return dkc_gate_defer(token, dkc_block_of(reg)->prov, reg);
}

int dk_call_complete(struct dk_deferred *token, int result)
{
	if (!token || token->size != sizeof(*token) || !dkc_is_deferred(token))
		return -EINVAL;
	return dkc_gate_complete(token, result) ? 0 : -EINVAL;
}
