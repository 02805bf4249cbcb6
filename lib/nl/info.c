// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Requests information on the module, and its layout.
 */
#include "internal.h"

static const struct dkn_field info_fields[] = {
	DKN_FIELD(DK_A_INFO_VERSION, dk_nl_info, version),
	DKN_FIELD(DK_A_INFO_ABI, dk_nl_info, abi),
	DKN_FIELD(DK_A_INFO_LAYOUT, dk_nl_info, layout),
	DKN_FIELD(DK_A_INFO_GENERATION, dk_nl_info, generation),
	DKN_FIELD(DK_A_INFO_OPERATORS, dk_nl_info, operators),
	DKN_FIELD(DK_A_INFO_IMPLS, dk_nl_info, impls),
	DKN_FIELD(DK_A_INFO_PROVIDERS, dk_nl_info, providers),
	DKN_FIELD(DK_A_INFO_DEVICES, dk_nl_info, devices),
	DKN_FIELD(DK_A_INFO_COUNTERS, dk_nl_info, counters),
};

static const struct dkn_shape info_shape = DKN_SHAPE(dk_nl_info, DKN_INFO, info_fields);

int dk_nl_info_get(struct dk_nl *nl, const struct dk_nl_info **info)
{
	struct dkn_request r;

	dkn_begin(&r, nl, DK_CMD_INFO_GET, DKN_INFO);
	*info = dkn_get(&r, &info_shape);
	return nl->why.code;
}

/* ---- layout --------------------------------------------------------------- */

static const struct dkn_field backend_fields[] = {
	DKN_FIELD(DK_A_LAYOUT_BACKEND_NUMBER, dk_nl_layout_key, number),
	DKN_FIELD(DK_A_LAYOUT_BACKEND_NAME, dk_nl_layout_key, name),
};

static const struct dkn_field functionality_fields[] = {
	DKN_FIELD(DK_A_LAYOUT_FUNCTIONALITY_NUMBER, dk_nl_layout_key, number),
	DKN_FIELD(DK_A_LAYOUT_FUNCTIONALITY_NAME, dk_nl_layout_key, name),
	DKN_FIELD(DK_A_LAYOUT_FUNCTIONALITY_SLOT, dk_nl_layout_key, slot),
	DKN_FIELD(DK_A_LAYOUT_FUNCTIONALITY_PER_BACKEND, dk_nl_layout_key, is_per_backend),
};

static const struct dkn_field alias_fields[] = {
	DKN_FIELD(DK_A_LAYOUT_ALIAS_NUMBER, dk_nl_layout_key, number),
	DKN_FIELD(DK_A_LAYOUT_ALIAS_NAME, dk_nl_layout_key, name),
};

static const struct dkn_shape backend_shape =
	DKN_LIST_SHAPE(dk_nl_layout_key, DKN_LAYOUT_BACKEND, backend_fields);
static const struct dkn_shape functionality_shape =
	DKN_LIST_SHAPE(dk_nl_layout_key, DKN_LAYOUT_FUNCTIONALITY, functionality_fields);
static const struct dkn_shape alias_shape =
	DKN_LIST_SHAPE(dk_nl_layout_key, DKN_LAYOUT_ALIAS, alias_fields);

static const struct dkn_field layout_fields[] = {
	DKN_FIELD(DK_A_LAYOUT_NAME, dk_nl_layout, name),
	DKN_FIELD(DK_A_LAYOUT_ENTRIES, dk_nl_layout, entries),
	DKN_FIELD(DK_A_LAYOUT_BACKEND, dk_nl_layout, backends,
		  DKN_NESTS(backend_shape), DKN_COUNT(dk_nl_layout, num_backends)),
	DKN_FIELD(DK_A_LAYOUT_FUNCTIONALITY, dk_nl_layout, functionalities,
		  DKN_NESTS(functionality_shape), DKN_COUNT(dk_nl_layout, num_functionalities)),
	DKN_FIELD(DK_A_LAYOUT_ALIAS, dk_nl_layout, aliases,
		  DKN_NESTS(alias_shape), DKN_COUNT(dk_nl_layout, num_aliases)),
};

static const struct dkn_shape layout_shape =
	DKN_SHAPE(dk_nl_layout, DKN_LAYOUT, layout_fields);

int dk_nl_layout_get(struct dk_nl *nl, const struct dk_nl_layout **layout)
{
	struct dkn_request r;

	dkn_begin(&r, nl, DK_CMD_LAYOUT_GET, DKN_LAYOUT);
	*layout = dkn_get(&r, &layout_shape);
	return nl->why.code;
}
