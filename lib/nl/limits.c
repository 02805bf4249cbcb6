// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Requests the limits of the registry.
 */
#include "internal.h"

static const struct dkn_field limit_fields[] = {
	DKN_FIELD(DK_A_LIMIT_NAME, dk_nl_limit, name),
	DKN_FIELD(DK_A_LIMIT_MOST, dk_nl_limit, most),
	DKN_FIELD(DK_A_LIMIT_USED, dk_nl_limit, used, DKN_HAS(dk_nl_limit, has_used)),
};

static const struct dkn_shape limit_shape =
	DKN_LIST_SHAPE(dk_nl_limit, DKN_LIMIT, limit_fields);

int dk_nl_limit_get(struct dk_nl *nl, const char *name, const struct dk_nl_limit **limit)
{
	struct dkn_request r;

	dkn_begin(&r, nl, DK_CMD_LIMIT_GET, DKN_LIMIT);
	dkn_put_string(&r, DKN_LIMIT, DK_A_LIMIT_NAME, name);
	*limit = dkn_get(&r, &limit_shape);
	return nl->why.code;
}

int dk_nl_limits(struct dk_nl *nl, const struct dk_nl_limit **limits)
{
	struct dkn_request r;

	dkn_begin(&r, nl, DK_CMD_LIMIT_GET, DKN_LIMIT);
	*limits = dkn_get_all(&r, &limit_shape);
	return nl->why.code;
}
