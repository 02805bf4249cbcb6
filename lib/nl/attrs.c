// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The attributes of the specification: what they are called, there and by
 * people, and what they carry. A test compares this with the specification.
 */
#include "internal.h"

static const struct dkn_attr info_attrs[] = {
	[DK_A_INFO_VERSION] = { "version", "version", DKN_STRING },
	[DK_A_INFO_ABI] = { "abi", "ABI", DKN_U32 },
	[DK_A_INFO_LAYOUT] = { "layout", "layout", DKN_STRING },
	[DK_A_INFO_GENERATION] = { "generation", "generation", DKN_U64 },
	[DK_A_INFO_OPERATORS] = { "operators", "operators", DKN_U32 },
	[DK_A_INFO_IMPLS] = { "impls", "functions", DKN_U32 },
	[DK_A_INFO_PROVIDERS] = { "providers", "providers", DKN_U32 },
	[DK_A_INFO_DEVICES] = { "devices", "devices", DKN_U32 },
	[DK_A_INFO_COUNTERS] = { "counters", "counters", DKN_U8 },
	[DK_A_INFO_PAD] = { "pad", "pad", DKN_PAD },
};

static const struct dkn_attr layout_attrs[] = {
	[DK_A_LAYOUT_NAME] = { "name", "layout", DKN_STRING },
	[DK_A_LAYOUT_ENTRIES] = { "entries", "entries", DKN_U32 },
	[DK_A_LAYOUT_BACKEND] = { "backend", "backend", DKN_NEST, DKN_LAYOUT_BACKEND },
	[DK_A_LAYOUT_FUNCTIONALITY] = {
		"functionality", "functionality", DKN_NEST, DKN_LAYOUT_FUNCTIONALITY },
	[DK_A_LAYOUT_ALIAS] = { "alias", "alias", DKN_NEST, DKN_LAYOUT_ALIAS },
};

static const struct dkn_attr layout_backend_attrs[] = {
	[DK_A_LAYOUT_BACKEND_NUMBER] = { "number", "backend", DKN_U32 },
	[DK_A_LAYOUT_BACKEND_NAME] = { "name", "backend", DKN_STRING },
};

static const struct dkn_attr layout_functionality_attrs[] = {
	[DK_A_LAYOUT_FUNCTIONALITY_NUMBER] = { "number", "functionality", DKN_U32 },
	[DK_A_LAYOUT_FUNCTIONALITY_NAME] = { "name", "functionality", DKN_STRING },
	[DK_A_LAYOUT_FUNCTIONALITY_SLOT] = { "slot", "entry", DKN_U32 },
	[DK_A_LAYOUT_FUNCTIONALITY_PER_BACKEND] = { "per-backend", "per backend", DKN_FLAG },
};

static const struct dkn_attr layout_alias_attrs[] = {
	[DK_A_LAYOUT_ALIAS_NUMBER] = { "number", "alias", DKN_U32 },
	[DK_A_LAYOUT_ALIAS_NAME] = { "name", "alias", DKN_STRING },
};

static const struct dkn_attr backend_attrs[] = {
	[DK_A_BACKEND_NUMBER] = { "number", "backend", DKN_U32 },
	[DK_A_BACKEND_NAME] = { "name", "backend", DKN_STRING },
	[DK_A_BACKEND_KEY_NAME] = { "key-name", "key", DKN_STRING },
	[DK_A_BACKEND_STATE] = { "state", "state", DKN_U8 },
	[DK_A_BACKEND_BOUND] = { "bound", "bound", DKN_FLAG },
	[DK_A_BACKEND_PROVIDER] = { "provider", "provider", DKN_STRING },
	[DK_A_BACKEND_ALONE] = { "alone", "alone", DKN_FLAG },
	[DK_A_BACKEND_DEVICES] = { "devices", "devices", DKN_U32 },
	[DK_A_BACKEND_IMPLS] = { "impls", "functions", DKN_U32 },
	[DK_A_BACKEND_UNSERVED] = { "unserved", "operator", DKN_STRING },
};

static const struct dkn_attr device_attrs[] = {
	[DK_A_DEVICE_NUMBER] = { "number", "device", DKN_U32 },
	[DK_A_DEVICE_NAME] = { "name", "device", DKN_STRING },
	[DK_A_DEVICE_BACKEND] = { "backend", "backend", DKN_U32 },
	[DK_A_DEVICE_BACKEND_NAME] = { "backend-name", "backend", DKN_STRING },
	[DK_A_DEVICE_PROVIDER] = { "provider", "provider", DKN_STRING },
	[DK_A_DEVICE_STATE] = { "state", "state", DKN_U8 },
	[DK_A_DEVICE_BACKEND_STATE] = { "backend-state", "state", DKN_U8 },
	[DK_A_DEVICE_IMPLS] = { "impls", "functions", DKN_U32 },
	[DK_A_DEVICE_UNSERVED] = { "unserved", "operator", DKN_STRING },
};

static const struct dkn_attr provider_attrs[] = {
	[DK_A_PROVIDER_NAME] = { "name", "provider", DKN_STRING },
	[DK_A_PROVIDER_MODULE] = { "module", "module", DKN_STRING },
	[DK_A_PROVIDER_STATE] = { "state", "state", DKN_U8 },
	[DK_A_PROVIDER_OPERATORS] = { "operators", "operators", DKN_U32 },
	[DK_A_PROVIDER_IMPLS] = { "impls", "functions", DKN_U32 },
	[DK_A_PROVIDER_DEVICES] = { "devices", "devices", DKN_U32 },
	[DK_A_PROVIDER_BACKEND] = { "backend", "backend", DKN_STRING },
	[DK_A_PROVIDER_CALLS] = { "calls", "calls", DKN_U64 },
	[DK_A_PROVIDER_PAD] = { "pad", "pad", DKN_PAD },
};

static const struct dkn_attr op_attrs[] = {
	[DK_A_OP_NAME] = { "name", "operator", DKN_STRING },
	[DK_A_OP_SCHEMA] = { "schema", "schema", DKN_STRING },
	[DK_A_OP_PROVIDER] = { "provider", "provider", DKN_STRING },
	[DK_A_OP_FLAGS] = { "flags", "flags", DKN_U32 },
	[DK_A_OP_NUM_IMPLS] = { "num-impls", "functions", DKN_U32 },
	[DK_A_OP_NUM_DEVICE_IMPLS] = { "num-device-impls", "functions", DKN_U32 },
	[DK_A_OP_IMPL] = { "impl", "function", DKN_NEST, DKN_IMPL },
	[DK_A_OP_PREFIX] = { "prefix", "prefix", DKN_STRING },
	[DK_A_OP_KEY] = { "key", "key", DKN_U32 },
	[DK_A_OP_BACKEND] = { "backend", "backend", DKN_U32 },
};

static const struct dkn_attr impl_attrs[] = {
	[DK_A_IMPL_OP] = { "op", "operator", DKN_STRING },
	[DK_A_IMPL_KEY] = { "key", "key", DKN_U32 },
	[DK_A_IMPL_KEY_NAME] = { "key-name", "key", DKN_STRING },
	[DK_A_IMPL_LABEL] = { "label", "label", DKN_STRING },
	[DK_A_IMPL_PROVIDER] = { "provider", "provider", DKN_STRING },
	[DK_A_IMPL_DEVICE] = { "device", "device", DKN_U32 },
	[DK_A_IMPL_DEVICE_NAME] = { "device-name", "device", DKN_STRING },
	[DK_A_IMPL_FLAGS] = { "flags", "flags", DKN_U32 },
	[DK_A_IMPL_BACKEND] = { "backend", "backend", DKN_U32 },
};

static const struct dkn_attr table_attrs[] = {
	[DK_A_TABLE_OP] = { "op", "operator", DKN_STRING },
	[DK_A_TABLE_DEVICE] = { "device", "device", DKN_U32 },
	[DK_A_TABLE_DEVICE_NAME] = { "device-name", "device", DKN_STRING },
	[DK_A_TABLE_FIRST] = { "first", "entry", DKN_U32 },
	[DK_A_TABLE_LAST] = { "last", "entry", DKN_U32 },
	[DK_A_TABLE_FIRST_KEY] = { "first-key", "key", DKN_STRING },
	[DK_A_TABLE_LAST_KEY] = { "last-key", "key", DKN_STRING },
	[DK_A_TABLE_PROVENANCE] = { "provenance", "provenance", DKN_U32 },
	[DK_A_TABLE_FLAGS] = { "flags", "flags", DKN_U32 },
	[DK_A_TABLE_LABEL] = { "label", "label", DKN_STRING },
	[DK_A_TABLE_PROVIDER] = { "provider", "provider", DKN_STRING },
};

static const struct dkn_attr obj_attrs[] = {
	[DK_A_OBJ_KEYSET] = { "keyset", "keyset", DKN_U64 },
	[DK_A_OBJ_DEVICE] = { "device", "device", DKN_U32 },
	[DK_A_OBJ_DEVICE_NAME] = { "device-name", "device", DKN_STRING },
	[DK_A_OBJ_PAD] = { "pad", "pad", DKN_PAD },
};

static const struct dkn_attr step_attrs[] = {
	[DK_A_STEP_KIND] = { "kind", "kind", DKN_U32 },
	[DK_A_STEP_RULE] = { "rule", "rule", DKN_U32 },
	[DK_A_STEP_VERDICT] = { "verdict", "verdict", DKN_U32 },
	[DK_A_STEP_BEARING] = { "bearing", "bearing", DKN_U32 },
	[DK_A_STEP_KEY] = { "key", "key", DKN_U32 },
	[DK_A_STEP_KEY_NAME] = { "key-name", "key", DKN_STRING },
	[DK_A_STEP_IMPL] = { "impl", "function", DKN_NEST, DKN_IMPL },
	[DK_A_STEP_FALLBACK] = { "fallback", "fallback", DKN_FLAG },
};

static const struct dkn_attr route_attrs[] = {
	[DK_A_ROUTE_OP] = { "op", "operator", DKN_STRING },
	[DK_A_ROUTE_OBJ] = { "obj", "argument", DKN_NEST, DKN_OBJ },
	[DK_A_ROUTE_INCLUDED] = { "included", "included set", DKN_U64 },
	[DK_A_ROUTE_EXCLUDED] = { "excluded", "excluded set", DKN_U64 },
	[DK_A_ROUTE_RAW] = { "raw", "raw set", DKN_U64 },
	[DK_A_ROUTE_MERGED] = { "merged", "merged set", DKN_U64 },
	[DK_A_ROUTE_EFFECTIVE] = { "effective", "effective set", DKN_U64 },
	[DK_A_ROUTE_SLOT] = { "slot", "entry", DKN_U32 },
	[DK_A_ROUTE_KEY] = { "key", "key", DKN_U32 },
	[DK_A_ROUTE_KEY_NAME] = { "key-name", "key", DKN_STRING },
	[DK_A_ROUTE_ERROR] = { "error", "error", DKN_S32 },
	[DK_A_ROUTE_PROVENANCE] = { "provenance", "provenance", DKN_U32 },
	[DK_A_ROUTE_FLAGS] = { "flags", "flags", DKN_U32 },
	[DK_A_ROUTE_LABEL] = { "label", "label", DKN_STRING },
	[DK_A_ROUTE_PROVIDER] = { "provider", "provider", DKN_STRING },
	[DK_A_ROUTE_DEVICE] = { "device", "device", DKN_U32 },
	[DK_A_ROUTE_DEVICE_NAME] = { "device-name", "device", DKN_STRING },
	[DK_A_ROUTE_GENERATION] = { "generation", "generation", DKN_U64 },
	[DK_A_ROUTE_STEP] = { "step", "step", DKN_NEST, DKN_STEP },
	[DK_A_ROUTE_PAD] = { "pad", "pad", DKN_PAD },
};

static const struct dkn_attr stats_attrs[] = {
	[DK_A_STATS_STATE] = { "state", "state", DKN_U8 },
	[DK_A_STATS_RESET] = { "reset", "reset", DKN_FLAG },
	[DK_A_STATS_USED] = { "used", "used", DKN_FLAG },
	[DK_A_STATS_OP] = { "op", "operator", DKN_STRING },
	[DK_A_STATS_PROVIDER] = { "provider", "provider", DKN_STRING },
	[DK_A_STATS_KIND] = { "kind", "kind", DKN_U32 },
	[DK_A_STATS_KEY] = { "key", "key", DKN_U32 },
	[DK_A_STATS_KEY_NAME] = { "key-name", "key", DKN_STRING },
	[DK_A_STATS_LABEL] = { "label", "label", DKN_STRING },
	[DK_A_STATS_DEVICE] = { "device", "device", DKN_U32 },
	[DK_A_STATS_DEVICE_NAME] = { "device-name", "device", DKN_STRING },
	[DK_A_STATS_COUNT] = { "count", "count", DKN_U64 },
	[DK_A_STATS_PAD] = { "pad", "pad", DKN_PAD },
};

static const struct dkn_attr limit_attrs[] = {
	[DK_A_LIMIT_NAME] = { "name", "limit", DKN_STRING },
	[DK_A_LIMIT_MOST] = { "most", "most", DKN_U64 },
	[DK_A_LIMIT_USED] = { "used", "used", DKN_U64 },
	[DK_A_LIMIT_PAD] = { "pad", "pad", DKN_PAD },
};

static const struct dkn_attr event_attrs[] = {
	[DK_A_EVENT_KIND] = { "kind", "kind", DKN_U32 },
	[DK_A_EVENT_NAME] = { "name", "name", DKN_STRING },
	[DK_A_EVENT_NUMBER] = { "number", "number", DKN_U32 },
	[DK_A_EVENT_KEY] = { "key", "key", DKN_U32 },
	[DK_A_EVENT_KEY_NAME] = { "key-name", "key", DKN_STRING },
	[DK_A_EVENT_PROVIDER] = { "provider", "provider", DKN_STRING },
	[DK_A_EVENT_STATE] = { "state", "state", DKN_U8 },
	[DK_A_EVENT_COUNT] = { "count", "count", DKN_U32 },
	[DK_A_EVENT_TIME] = { "time", "time", DKN_U64 },
	[DK_A_EVENT_GENERATION] = { "generation", "generation", DKN_U64 },
	[DK_A_EVENT_PAD] = { "pad", "pad", DKN_PAD },
};

#define SET(_set, _name, _attrs)					\
	[_set] = { (_name), (_attrs), sizeof(_attrs) / sizeof((_attrs)[0]) }

static const struct {
	const char *name;
	const struct dkn_attr *attrs;
	unsigned int n;
} sets[DKN_NUM_SETS] = {
	SET(DKN_INFO, "info", info_attrs),
	SET(DKN_LAYOUT, "layout", layout_attrs),
	SET(DKN_LAYOUT_BACKEND, "layout-backend", layout_backend_attrs),
	SET(DKN_LAYOUT_FUNCTIONALITY, "layout-functionality", layout_functionality_attrs),
	SET(DKN_LAYOUT_ALIAS, "layout-alias", layout_alias_attrs),
	SET(DKN_BACKEND, "backend", backend_attrs),
	SET(DKN_DEVICE, "device", device_attrs),
	SET(DKN_PROVIDER, "provider", provider_attrs),
	SET(DKN_OP, "op", op_attrs),
	SET(DKN_IMPL, "impl", impl_attrs),
	SET(DKN_TABLE, "table", table_attrs),
	SET(DKN_OBJ, "obj", obj_attrs),
	SET(DKN_STEP, "step", step_attrs),
	SET(DKN_ROUTE, "route", route_attrs),
	SET(DKN_STATS, "stats", stats_attrs),
	SET(DKN_LIMIT, "limit", limit_attrs),
	SET(DKN_EVENT, "event", event_attrs),
};

const char *dkn_set_name(enum dkn_set set)
{
	return set < DKN_NUM_SETS ? sets[set].name : NULL;
}

/* NULL for one that this library does not know. */
const struct dkn_attr *dkn_attr(enum dkn_set set, unsigned int type)
{
	if (set >= DKN_NUM_SETS || type >= sets[set].n || !sets[set].attrs[type].name)
		return NULL;
	return &sets[set].attrs[type];
}
