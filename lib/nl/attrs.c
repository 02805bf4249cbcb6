// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Lists the specification's attributes with their names, their names in error messages, and their
 * types. A test compares the lists with the specification.
 */
#include "internal.h"

#define ATTR(_name, _noun, _kind)	{ (_name), (_noun), (_kind), DKN_NO_SET }
#define NEST(_name, _noun, _set)	{ (_name), (_noun), DKN_NEST, (_set) }

static const struct dkn_attr info_attrs[] = {
	[DK_A_INFO_VERSION] = ATTR("version", "version", DKN_STRING),
	[DK_A_INFO_ABI] = ATTR("abi", "ABI", DKN_U32),
	[DK_A_INFO_LAYOUT] = ATTR("layout", "layout", DKN_STRING),
	[DK_A_INFO_GENERATION] = ATTR("generation", "generation", DKN_U64),
	[DK_A_INFO_OPERATORS] = ATTR("operators", "operators", DKN_U32),
	[DK_A_INFO_IMPLS] = ATTR("impls", "functions", DKN_U32),
	[DK_A_INFO_PROVIDERS] = ATTR("providers", "providers", DKN_U32),
	[DK_A_INFO_DEVICES] = ATTR("devices", "devices", DKN_U32),
	[DK_A_INFO_COUNTERS] = ATTR("counters", "counters", DKN_U8),
	[DK_A_INFO_PAD] = ATTR("pad", "pad", DKN_PAD),
};

static const struct dkn_attr layout_attrs[] = {
	[DK_A_LAYOUT_NAME] = ATTR("name", "layout", DKN_STRING),
	[DK_A_LAYOUT_ENTRIES] = ATTR("entries", "entries", DKN_U32),
	[DK_A_LAYOUT_BACKEND] = NEST("backend", "backend", DKN_LAYOUT_BACKEND),
	[DK_A_LAYOUT_FUNCTIONALITY] = NEST("functionality", "functionality",
					   DKN_LAYOUT_FUNCTIONALITY),
	[DK_A_LAYOUT_ALIAS] = NEST("alias", "alias", DKN_LAYOUT_ALIAS),
};

static const struct dkn_attr layout_backend_attrs[] = {
	[DK_A_LAYOUT_BACKEND_NUMBER] = ATTR("number", "backend", DKN_U32),
	[DK_A_LAYOUT_BACKEND_NAME] = ATTR("name", "backend", DKN_STRING),
};

static const struct dkn_attr layout_functionality_attrs[] = {
	[DK_A_LAYOUT_FUNCTIONALITY_NUMBER] = ATTR("number", "functionality", DKN_U32),
	[DK_A_LAYOUT_FUNCTIONALITY_NAME] = ATTR("name", "functionality", DKN_STRING),
	[DK_A_LAYOUT_FUNCTIONALITY_SLOT] = ATTR("slot", "entry", DKN_U32),
	[DK_A_LAYOUT_FUNCTIONALITY_PER_BACKEND] = ATTR("per-backend", "per backend", DKN_FLAG),
};

static const struct dkn_attr layout_alias_attrs[] = {
	[DK_A_LAYOUT_ALIAS_NUMBER] = ATTR("number", "alias", DKN_U32),
	[DK_A_LAYOUT_ALIAS_NAME] = ATTR("name", "alias", DKN_STRING),
};

static const struct dkn_attr backend_attrs[] = {
	[DK_A_BACKEND_NUMBER] = ATTR("number", "backend", DKN_U32),
	[DK_A_BACKEND_NAME] = ATTR("name", "backend", DKN_STRING),
	[DK_A_BACKEND_KEY_NAME] = ATTR("key-name", "key", DKN_STRING),
	[DK_A_BACKEND_STATE] = ATTR("state", "state", DKN_U8),
	[DK_A_BACKEND_BOUND] = ATTR("bound", "bound", DKN_FLAG),
	[DK_A_BACKEND_PROVIDER] = ATTR("provider", "provider", DKN_STRING),
	[DK_A_BACKEND_ALONE] = ATTR("alone", "alone", DKN_FLAG),
	[DK_A_BACKEND_DEVICES] = ATTR("devices", "devices", DKN_U32),
	[DK_A_BACKEND_IMPLS] = ATTR("impls", "functions", DKN_U32),
	[DK_A_BACKEND_UNSERVED] = ATTR("unserved", "operator", DKN_STRING),
	[DK_A_BACKEND_INSIDE] = ATTR("inside", "call", DKN_STRING),
	[DK_A_BACKEND_PROVIDERS] = ATTR("providers", "providers", DKN_U32),
};

static const struct dkn_attr device_attrs[] = {
	[DK_A_DEVICE_NUMBER] = ATTR("number", "device", DKN_U32),
	[DK_A_DEVICE_NAME] = ATTR("name", "device", DKN_STRING),
	[DK_A_DEVICE_BACKEND] = ATTR("backend", "backend", DKN_U32),
	[DK_A_DEVICE_BACKEND_NAME] = ATTR("backend-name", "backend", DKN_STRING),
	[DK_A_DEVICE_PROVIDER] = ATTR("provider", "provider", DKN_STRING),
	[DK_A_DEVICE_STATE] = ATTR("state", "state", DKN_U8),
	[DK_A_DEVICE_BACKEND_STATE] = ATTR("backend-state", "state", DKN_U8),
	[DK_A_DEVICE_IMPLS] = ATTR("impls", "functions", DKN_U32),
	[DK_A_DEVICE_UNSERVED] = ATTR("unserved", "operator", DKN_STRING),
	[DK_A_DEVICE_INSIDE] = ATTR("inside", "call", DKN_STRING),
};

static const struct dkn_attr provider_attrs[] = {
	[DK_A_PROVIDER_NAME] = ATTR("name", "provider", DKN_STRING),
	[DK_A_PROVIDER_MODULE] = ATTR("module", "module", DKN_STRING),
	[DK_A_PROVIDER_STATE] = ATTR("state", "state", DKN_U8),
	[DK_A_PROVIDER_OPERATORS] = ATTR("operators", "operators", DKN_U32),
	[DK_A_PROVIDER_IMPLS] = ATTR("impls", "functions", DKN_U32),
	[DK_A_PROVIDER_DEVICES] = ATTR("devices", "devices", DKN_U32),
	[DK_A_PROVIDER_BACKEND] = ATTR("backend", "backend", DKN_STRING),
	[DK_A_PROVIDER_CALLS] = ATTR("calls", "calls", DKN_U64),
	[DK_A_PROVIDER_PAD] = ATTR("pad", "pad", DKN_PAD),
	[DK_A_PROVIDER_INSIDE] = ATTR("inside", "call", DKN_STRING),
};

static const struct dkn_attr op_attrs[] = {
	[DK_A_OP_NAME] = ATTR("name", "operator", DKN_STRING),
	[DK_A_OP_SCHEMA] = ATTR("schema", "schema", DKN_STRING),
	[DK_A_OP_PROVIDER] = ATTR("provider", "provider", DKN_STRING),
	[DK_A_OP_FLAGS] = ATTR("flags", "flags", DKN_U32),
	[DK_A_OP_NUM_IMPLS] = ATTR("num-impls", "functions", DKN_U32),
	[DK_A_OP_NUM_DEVICE_IMPLS] = ATTR("num-device-impls", "functions", DKN_U32),
	[DK_A_OP_IMPL] = NEST("impl", "function", DKN_IMPL),
	[DK_A_OP_PREFIX] = ATTR("prefix", "prefix", DKN_STRING),
	[DK_A_OP_KEY] = ATTR("key", "key", DKN_U32),
	[DK_A_OP_BACKEND] = ATTR("backend", "backend", DKN_U32),
	[DK_A_OP_MAX_OBJS] = ATTR("max-objs", "arguments", DKN_U32),
};

static const struct dkn_attr impl_attrs[] = {
	[DK_A_IMPL_OP] = ATTR("op", "operator", DKN_STRING),
	[DK_A_IMPL_KEY] = ATTR("key", "key", DKN_U32),
	[DK_A_IMPL_KEY_NAME] = ATTR("key-name", "key", DKN_STRING),
	[DK_A_IMPL_LABEL] = ATTR("label", "label", DKN_STRING),
	[DK_A_IMPL_PROVIDER] = ATTR("provider", "provider", DKN_STRING),
	[DK_A_IMPL_DEVICE] = ATTR("device", "device", DKN_U32),
	[DK_A_IMPL_DEVICE_NAME] = ATTR("device-name", "device", DKN_STRING),
	[DK_A_IMPL_FLAGS] = ATTR("flags", "flags", DKN_U32),
	[DK_A_IMPL_BACKEND] = ATTR("backend", "backend", DKN_U32),
};

static const struct dkn_attr table_attrs[] = {
	[DK_A_TABLE_OP] = ATTR("op", "operator", DKN_STRING),
	[DK_A_TABLE_DEVICE] = ATTR("device", "device", DKN_U32),
	[DK_A_TABLE_DEVICE_NAME] = ATTR("device-name", "device", DKN_STRING),
	[DK_A_TABLE_FIRST] = ATTR("first", "entry", DKN_U32),
	[DK_A_TABLE_LAST] = ATTR("last", "entry", DKN_U32),
	[DK_A_TABLE_FIRST_KEY] = ATTR("first-key", "key", DKN_STRING),
	[DK_A_TABLE_LAST_KEY] = ATTR("last-key", "key", DKN_STRING),
	[DK_A_TABLE_PROVENANCE] = ATTR("provenance", "provenance", DKN_U32),
	[DK_A_TABLE_FLAGS] = ATTR("flags", "flags", DKN_U32),
	[DK_A_TABLE_LABEL] = ATTR("label", "label", DKN_STRING),
	[DK_A_TABLE_PROVIDER] = ATTR("provider", "provider", DKN_STRING),
};

static const struct dkn_attr obj_attrs[] = {
	[DK_A_OBJ_KEYSET] = ATTR("keyset", "keyset", DKN_U64),
	[DK_A_OBJ_DEVICE] = ATTR("device", "device", DKN_U32),
	[DK_A_OBJ_DEVICE_NAME] = ATTR("device-name", "device", DKN_STRING),
	[DK_A_OBJ_PAD] = ATTR("pad", "pad", DKN_PAD),
};

static const struct dkn_attr step_attrs[] = {
	[DK_A_STEP_KIND] = ATTR("kind", "kind", DKN_U32),
	[DK_A_STEP_RULE] = ATTR("rule", "rule", DKN_U32),
	[DK_A_STEP_VERDICT] = ATTR("verdict", "verdict", DKN_U32),
	[DK_A_STEP_BEARING] = ATTR("bearing", "bearing", DKN_U32),
	[DK_A_STEP_KEY] = ATTR("key", "key", DKN_U32),
	[DK_A_STEP_KEY_NAME] = ATTR("key-name", "key", DKN_STRING),
	[DK_A_STEP_IMPL] = NEST("impl", "function", DKN_IMPL),
	[DK_A_STEP_FALLBACK] = ATTR("fallback", "fallback", DKN_FLAG),
};

static const struct dkn_attr route_attrs[] = {
	[DK_A_ROUTE_OP] = ATTR("op", "operator", DKN_STRING),
	[DK_A_ROUTE_OBJ] = NEST("obj", "argument", DKN_OBJ),
	[DK_A_ROUTE_INCLUDED] = ATTR("included", "included set", DKN_U64),
	[DK_A_ROUTE_EXCLUDED] = ATTR("excluded", "excluded set", DKN_U64),
	[DK_A_ROUTE_RAW] = ATTR("raw", "raw set", DKN_U64),
	[DK_A_ROUTE_MERGED] = ATTR("merged", "merged set", DKN_U64),
	[DK_A_ROUTE_EFFECTIVE] = ATTR("effective", "effective set", DKN_U64),
	[DK_A_ROUTE_SLOT] = ATTR("slot", "entry", DKN_U32),
	[DK_A_ROUTE_KEY] = ATTR("key", "key", DKN_U32),
	[DK_A_ROUTE_KEY_NAME] = ATTR("key-name", "key", DKN_STRING),
	[DK_A_ROUTE_ERROR] = ATTR("error", "error", DKN_S32),
	[DK_A_ROUTE_PROVENANCE] = ATTR("provenance", "provenance", DKN_U32),
	[DK_A_ROUTE_FLAGS] = ATTR("flags", "flags", DKN_U32),
	[DK_A_ROUTE_LABEL] = ATTR("label", "label", DKN_STRING),
	[DK_A_ROUTE_PROVIDER] = ATTR("provider", "provider", DKN_STRING),
	[DK_A_ROUTE_DEVICE] = ATTR("device", "device", DKN_U32),
	[DK_A_ROUTE_DEVICE_NAME] = ATTR("device-name", "device", DKN_STRING),
	[DK_A_ROUTE_GENERATION] = ATTR("generation", "generation", DKN_U64),
	[DK_A_ROUTE_STEP] = NEST("step", "step", DKN_STEP),
	[DK_A_ROUTE_PAD] = ATTR("pad", "pad", DKN_PAD),
};

static const struct dkn_attr stats_attrs[] = {
	[DK_A_STATS_STATE] = ATTR("state", "state", DKN_U8),
	[DK_A_STATS_RESET] = ATTR("reset", "reset", DKN_FLAG),
	[DK_A_STATS_USED] = ATTR("used", "used", DKN_FLAG),
	[DK_A_STATS_OP] = ATTR("op", "operator", DKN_STRING),
	[DK_A_STATS_PROVIDER] = ATTR("provider", "provider", DKN_STRING),
	[DK_A_STATS_KIND] = ATTR("kind", "kind", DKN_U32),
	[DK_A_STATS_KEY] = ATTR("key", "key", DKN_U32),
	[DK_A_STATS_KEY_NAME] = ATTR("key-name", "key", DKN_STRING),
	[DK_A_STATS_LABEL] = ATTR("label", "label", DKN_STRING),
	[DK_A_STATS_DEVICE] = ATTR("device", "device", DKN_U32),
	[DK_A_STATS_DEVICE_NAME] = ATTR("device-name", "device", DKN_STRING),
	[DK_A_STATS_COUNT] = ATTR("count", "count", DKN_U64),
	[DK_A_STATS_PAD] = ATTR("pad", "pad", DKN_PAD),
	[DK_A_STATS_UNCOUNTED] = ATTR("uncounted", "uncounted", DKN_U64),
	[DK_A_STATS_READERS] = ATTR("readers", "readers", DKN_U8),
	[DK_A_STATS_GONE] = ATTR("gone", "gone", DKN_U64),
};

static const struct dkn_attr limit_attrs[] = {
	[DK_A_LIMIT_NAME] = ATTR("name", "limit", DKN_STRING),
	[DK_A_LIMIT_MOST] = ATTR("most", "most", DKN_U64),
	[DK_A_LIMIT_USED] = ATTR("used", "used", DKN_U64),
	[DK_A_LIMIT_PAD] = ATTR("pad", "pad", DKN_PAD),
};

static const struct dkn_attr event_attrs[] = {
	[DK_A_EVENT_KIND] = ATTR("kind", "kind", DKN_U32),
	[DK_A_EVENT_NAME] = ATTR("name", "name", DKN_STRING),
	[DK_A_EVENT_NUMBER] = ATTR("number", "number", DKN_U32),
	[DK_A_EVENT_KEY] = ATTR("key", "key", DKN_U32),
	[DK_A_EVENT_KEY_NAME] = ATTR("key-name", "key", DKN_STRING),
	[DK_A_EVENT_PROVIDER] = ATTR("provider", "provider", DKN_STRING),
	[DK_A_EVENT_STATE] = ATTR("state", "state", DKN_U8),
	[DK_A_EVENT_COUNT] = ATTR("count", "count", DKN_U32),
	[DK_A_EVENT_TIME] = ATTR("time", "time", DKN_U64),
	[DK_A_EVENT_GENERATION] = ATTR("generation", "generation", DKN_U64),
	[DK_A_EVENT_PAD] = ATTR("pad", "pad", DKN_PAD),
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

/* Returns NULL for an unknown attribute, which a newer module may send. */
const struct dkn_attr *dkn_attr(enum dkn_set set, unsigned int type)
{
	if (set >= DKN_NUM_SETS || type >= sets[set].n || !sets[set].attrs[type].name)
		return NULL;
	return &sets[set].attrs[type];
}
