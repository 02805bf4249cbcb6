// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Deferred calls: calls whose function has returned, but which are not completed yet. */
#include "call.h"

static_assert(sizeof(struct dkc_deferred) <= sizeof(struct dk_deferred), "fits");
static_assert(offsetof(struct dkc_deferred, size) == offsetof(struct dk_deferred, size), "ABI");

int dk_call_defer(const struct dk_call *c, struct dk_deferred *token)
{
	const struct dkc_reg *reg = c->entry->reg;

	if (token->size != sizeof(*token))
		return -EINVAL;
	return dkc_gate_defer((struct dkc_deferred *)token, dkc_block_of(reg)->prov, reg);
}

int dk_call_complete(struct dk_deferred *token, int result)
{
	struct dkc_deferred *d = (struct dkc_deferred *)token;

	if (token->size != sizeof(*token) || !dkc_is_deferred(d))
		return -EINVAL;
	return dkc_gate_complete(d, result) ? 0 : -EINVAL;
}
