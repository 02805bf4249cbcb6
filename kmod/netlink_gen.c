// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/dispatchkey.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "netlink_gen.h"

#include <uapi/linux/dispatchkey_netlink.h>

/* Common nested types */
const struct nla_policy dispatchkey_obj_nl_policy[DK_A_OBJ_PAD + 1] = {
	[DK_A_OBJ_KEYSET] = { .type = NLA_U64, },
	[DK_A_OBJ_DEVICE] = NLA_POLICY_MIN(NLA_U32, 1),
	[DK_A_OBJ_DEVICE_NAME] = { .type = NLA_NUL_STRING, .len = 127, },
};

/* DK_CMD_INFO_GET - do */
const struct nla_policy dispatchkey_info_get_nl_policy[DK_A_INFO_LAYOUT + 1] = {
	[DK_A_INFO_LAYOUT] = { .type = NLA_NUL_STRING, .len = 127, },
};

/* DK_CMD_LAYOUT_GET - do */
const struct nla_policy dispatchkey_layout_get_nl_policy[DK_A_LAYOUT_NAME + 1] = {
	[DK_A_LAYOUT_NAME] = { .type = NLA_NUL_STRING, .len = 127, },
};

/* DK_CMD_BACKEND_GET - do */
const struct nla_policy dispatchkey_backend_get_nl_policy[DK_A_BACKEND_NAME + 1] = {
	[DK_A_BACKEND_NUMBER] = NLA_POLICY_RANGE(NLA_U32, 1, 16),
	[DK_A_BACKEND_NAME] = { .type = NLA_NUL_STRING, .len = 127, },
};

/* DK_CMD_BACKEND_SET - do */
const struct nla_policy dispatchkey_backend_set_nl_policy[DK_A_BACKEND_STATE + 1] = {
	[DK_A_BACKEND_NUMBER] = NLA_POLICY_RANGE(NLA_U32, 1, 16),
	[DK_A_BACKEND_NAME] = { .type = NLA_NUL_STRING, .len = 127, },
	[DK_A_BACKEND_STATE] = NLA_POLICY_MAX(NLA_U8, 1),
};

/* DK_CMD_DEVICE_GET - do */
const struct nla_policy dispatchkey_device_get_nl_policy[DK_A_DEVICE_BACKEND + 1] = {
	[DK_A_DEVICE_NUMBER] = NLA_POLICY_MIN(NLA_U32, 1),
	[DK_A_DEVICE_NAME] = { .type = NLA_NUL_STRING, .len = 127, },
	[DK_A_DEVICE_BACKEND] = NLA_POLICY_RANGE(NLA_U32, 1, 16),
};

/* DK_CMD_DEVICE_SET - do */
const struct nla_policy dispatchkey_device_set_nl_policy[DK_A_DEVICE_STATE + 1] = {
	[DK_A_DEVICE_NUMBER] = NLA_POLICY_MIN(NLA_U32, 1),
	[DK_A_DEVICE_NAME] = { .type = NLA_NUL_STRING, .len = 127, },
	[DK_A_DEVICE_STATE] = NLA_POLICY_MAX(NLA_U8, 1),
};

/* DK_CMD_PROVIDER_GET - do */
const struct nla_policy dispatchkey_provider_get_nl_policy[DK_A_PROVIDER_NAME + 1] = {
	[DK_A_PROVIDER_NAME] = { .type = NLA_NUL_STRING, .len = 127, },
};

/* DK_CMD_OP_GET - do */
const struct nla_policy dispatchkey_op_get_nl_policy[DK_A_OP_BACKEND + 1] = {
	[DK_A_OP_NAME] = { .type = NLA_NUL_STRING, .len = 127, },
	[DK_A_OP_PREFIX] = { .type = NLA_NUL_STRING, .len = 127, },
	[DK_A_OP_KEY] = NLA_POLICY_MAX(NLA_U32, 32767),
	[DK_A_OP_BACKEND] = NLA_POLICY_RANGE(NLA_U32, 1, 16),
	[DK_A_OP_PROVIDER] = { .type = NLA_NUL_STRING, .len = 127, },
};

/* DK_CMD_IMPL_GET - do */
const struct nla_policy dispatchkey_impl_get_nl_policy[DK_A_IMPL_BACKEND + 1] = {
	[DK_A_IMPL_OP] = { .type = NLA_NUL_STRING, .len = 127, },
	[DK_A_IMPL_KEY] = NLA_POLICY_MAX(NLA_U32, 32767),
	[DK_A_IMPL_BACKEND] = NLA_POLICY_RANGE(NLA_U32, 1, 16),
	[DK_A_IMPL_PROVIDER] = { .type = NLA_NUL_STRING, .len = 127, },
	[DK_A_IMPL_DEVICE] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* DK_CMD_TABLE_GET - do */
const struct nla_policy dispatchkey_table_get_nl_policy[DK_A_TABLE_FIRST + 1] = {
	[DK_A_TABLE_OP] = { .type = NLA_NUL_STRING, .len = 127, },
	[DK_A_TABLE_DEVICE] = NLA_POLICY_MIN(NLA_U32, 1),
	[DK_A_TABLE_DEVICE_NAME] = { .type = NLA_NUL_STRING, .len = 127, },
	[DK_A_TABLE_FIRST] = NLA_POLICY_MAX(NLA_U32, 32767),
};

/* DK_CMD_ROUTE_GET - do */
const struct nla_policy dispatchkey_route_get_nl_policy[DK_A_ROUTE_EXCLUDED + 1] = {
	[DK_A_ROUTE_OP] = { .type = NLA_NUL_STRING, .len = 127, },
	[DK_A_ROUTE_OBJ] = NLA_POLICY_NESTED(dispatchkey_obj_nl_policy),
	[DK_A_ROUTE_INCLUDED] = { .type = NLA_U64, },
	[DK_A_ROUTE_EXCLUDED] = { .type = NLA_U64, },
};

/* DK_CMD_STATS_GET - do */
const struct nla_policy dispatchkey_stats_get_nl_policy[DK_A_STATS_PROVIDER + 1] = {
	[DK_A_STATS_USED] = { .type = NLA_FLAG, },
	[DK_A_STATS_OP] = { .type = NLA_NUL_STRING, .len = 127, },
	[DK_A_STATS_PROVIDER] = { .type = NLA_NUL_STRING, .len = 127, },
};

/* DK_CMD_STATS_SET - do */
const struct nla_policy dispatchkey_stats_set_nl_policy[DK_A_STATS_READERS + 1] = {
	[DK_A_STATS_STATE] = NLA_POLICY_MAX(NLA_U8, 1),
	[DK_A_STATS_RESET] = { .type = NLA_FLAG, },
	[DK_A_STATS_READERS] = NLA_POLICY_MAX(NLA_U8, 1),
};

/* DK_CMD_LIMIT_GET - do */
const struct nla_policy dispatchkey_limit_get_nl_policy[DK_A_LIMIT_NAME + 1] = {
	[DK_A_LIMIT_NAME] = { .type = NLA_NUL_STRING, .len = 127, },
};

/* DK_CMD_BACKEND_RELEASE - do */
const struct nla_policy dispatchkey_backend_release_nl_policy[DK_A_BACKEND_NAME + 1] = {
	[DK_A_BACKEND_NAME] = { .type = NLA_NUL_STRING, .len = 127, },
};

/* Ops table for dispatchkey */
const struct genl_ops dispatchkey_nl_ops[15] = {
	{
		.cmd		= DK_CMD_INFO_GET,
		.doit		= dispatchkey_nl_info_get_doit,
		.policy		= dispatchkey_info_get_nl_policy,
		.maxattr	= DK_A_INFO_LAYOUT,
	},
	{
		.cmd		= DK_CMD_LAYOUT_GET,
		.doit		= dispatchkey_nl_layout_get_doit,
		.policy		= dispatchkey_layout_get_nl_policy,
		.maxattr	= DK_A_LAYOUT_NAME,
	},
	{
		.cmd		= DK_CMD_BACKEND_GET,
		.doit		= dispatchkey_nl_backend_get_doit,
		.dumpit		= dispatchkey_nl_backend_get_dumpit,
		.policy		= dispatchkey_backend_get_nl_policy,
		.maxattr	= DK_A_BACKEND_NAME,
	},
	{
		.cmd		= DK_CMD_BACKEND_SET,
		.doit		= dispatchkey_nl_backend_set_doit,
		.policy		= dispatchkey_backend_set_nl_policy,
		.maxattr	= DK_A_BACKEND_STATE,
		.flags		= GENL_ADMIN_PERM,
	},
	{
		.cmd		= DK_CMD_DEVICE_GET,
		.doit		= dispatchkey_nl_device_get_doit,
		.dumpit		= dispatchkey_nl_device_get_dumpit,
		.policy		= dispatchkey_device_get_nl_policy,
		.maxattr	= DK_A_DEVICE_BACKEND,
	},
	{
		.cmd		= DK_CMD_DEVICE_SET,
		.doit		= dispatchkey_nl_device_set_doit,
		.policy		= dispatchkey_device_set_nl_policy,
		.maxattr	= DK_A_DEVICE_STATE,
		.flags		= GENL_ADMIN_PERM,
	},
	{
		.cmd		= DK_CMD_PROVIDER_GET,
		.doit		= dispatchkey_nl_provider_get_doit,
		.dumpit		= dispatchkey_nl_provider_get_dumpit,
		.policy		= dispatchkey_provider_get_nl_policy,
		.maxattr	= DK_A_PROVIDER_NAME,
	},
	{
		.cmd		= DK_CMD_OP_GET,
		.doit		= dispatchkey_nl_op_get_doit,
		.dumpit		= dispatchkey_nl_op_get_dumpit,
		.policy		= dispatchkey_op_get_nl_policy,
		.maxattr	= DK_A_OP_BACKEND,
	},
	{
		.cmd		= DK_CMD_IMPL_GET,
		.doit		= dispatchkey_nl_impl_get_doit,
		.dumpit		= dispatchkey_nl_impl_get_dumpit,
		.policy		= dispatchkey_impl_get_nl_policy,
		.maxattr	= DK_A_IMPL_BACKEND,
	},
	{
		.cmd		= DK_CMD_TABLE_GET,
		.doit		= dispatchkey_nl_table_get_doit,
		.dumpit		= dispatchkey_nl_table_get_dumpit,
		.policy		= dispatchkey_table_get_nl_policy,
		.maxattr	= DK_A_TABLE_FIRST,
	},
	{
		.cmd		= DK_CMD_ROUTE_GET,
		.doit		= dispatchkey_nl_route_get_doit,
		.dumpit		= dispatchkey_nl_route_get_dumpit,
		.policy		= dispatchkey_route_get_nl_policy,
		.maxattr	= DK_A_ROUTE_EXCLUDED,
	},
	{
		.cmd		= DK_CMD_STATS_GET,
		.doit		= dispatchkey_nl_stats_get_doit,
		.dumpit		= dispatchkey_nl_stats_get_dumpit,
		.policy		= dispatchkey_stats_get_nl_policy,
		.maxattr	= DK_A_STATS_PROVIDER,
	},
	{
		.cmd		= DK_CMD_STATS_SET,
		.doit		= dispatchkey_nl_stats_set_doit,
		.policy		= dispatchkey_stats_set_nl_policy,
		.maxattr	= DK_A_STATS_READERS,
		.flags		= GENL_ADMIN_PERM,
	},
	{
		.cmd		= DK_CMD_LIMIT_GET,
		.doit		= dispatchkey_nl_limit_get_doit,
		.dumpit		= dispatchkey_nl_limit_get_dumpit,
		.policy		= dispatchkey_limit_get_nl_policy,
		.maxattr	= DK_A_LIMIT_NAME,
	},
	{
		.cmd		= DK_CMD_BACKEND_RELEASE,
		.doit		= dispatchkey_nl_backend_release_doit,
		.policy		= dispatchkey_backend_release_nl_policy,
		.maxattr	= DK_A_BACKEND_NAME,
		.flags		= GENL_ADMIN_PERM,
	},
};

static const struct genl_multicast_group dispatchkey_nl_mcgrps[] = {
	[DISPATCHKEY_NLGRP_CHANGES] = { "changes", },
};
