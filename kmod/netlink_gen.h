/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/dispatchkey.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_DISPATCHKEY_GEN_H
#define _LINUX_DISPATCHKEY_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/dispatchkey_netlink.h>

/* Common nested types */
extern const struct nla_policy dispatchkey_obj_nl_policy[DK_A_OBJ_PAD + 1];

extern const struct nla_policy dispatchkey_info_get_nl_policy[DK_A_INFO_LAYOUT + 1];

extern const struct nla_policy dispatchkey_layout_get_nl_policy[DK_A_LAYOUT_NAME + 1];

extern const struct nla_policy dispatchkey_backend_get_nl_policy[DK_A_BACKEND_NAME + 1];

extern const struct nla_policy dispatchkey_backend_set_nl_policy[DK_A_BACKEND_STATE + 1];

extern const struct nla_policy dispatchkey_device_get_nl_policy[DK_A_DEVICE_BACKEND + 1];

extern const struct nla_policy dispatchkey_device_set_nl_policy[DK_A_DEVICE_STATE + 1];

extern const struct nla_policy dispatchkey_provider_get_nl_policy[DK_A_PROVIDER_NAME + 1];

extern const struct nla_policy dispatchkey_op_get_nl_policy[DK_A_OP_BACKEND + 1];

extern const struct nla_policy dispatchkey_impl_get_nl_policy[DK_A_IMPL_BACKEND + 1];

extern const struct nla_policy dispatchkey_table_get_nl_policy[DK_A_TABLE_FIRST + 1];

extern const struct nla_policy dispatchkey_route_get_nl_policy[DK_A_ROUTE_EXCLUDED + 1];

extern const struct nla_policy dispatchkey_stats_get_nl_policy[DK_A_STATS_PROVIDER + 1];

extern const struct nla_policy dispatchkey_stats_set_nl_policy[DK_A_STATS_READERS + 1];

extern const struct nla_policy dispatchkey_limit_get_nl_policy[DK_A_LIMIT_NAME + 1];

extern const struct nla_policy dispatchkey_backend_release_nl_policy[DK_A_BACKEND_NAME + 1];

/* Ops table for dispatchkey */
extern const struct genl_ops dispatchkey_nl_ops[15];

int dispatchkey_nl_info_get_doit(struct sk_buff *skb, struct genl_info *info);
int dispatchkey_nl_layout_get_doit(struct sk_buff *skb, struct genl_info *info);
int dispatchkey_nl_backend_get_doit(struct sk_buff *skb,
				    struct genl_info *info);
int dispatchkey_nl_backend_get_dumpit(struct sk_buff *skb,
				      struct netlink_callback *cb);
int dispatchkey_nl_backend_set_doit(struct sk_buff *skb,
				    struct genl_info *info);
int dispatchkey_nl_device_get_doit(struct sk_buff *skb, struct genl_info *info);
int dispatchkey_nl_device_get_dumpit(struct sk_buff *skb,
				     struct netlink_callback *cb);
int dispatchkey_nl_device_set_doit(struct sk_buff *skb, struct genl_info *info);
int dispatchkey_nl_provider_get_doit(struct sk_buff *skb,
				     struct genl_info *info);
int dispatchkey_nl_provider_get_dumpit(struct sk_buff *skb,
				       struct netlink_callback *cb);
int dispatchkey_nl_op_get_doit(struct sk_buff *skb, struct genl_info *info);
int dispatchkey_nl_op_get_dumpit(struct sk_buff *skb,
				 struct netlink_callback *cb);
int dispatchkey_nl_impl_get_doit(struct sk_buff *skb, struct genl_info *info);
int dispatchkey_nl_impl_get_dumpit(struct sk_buff *skb,
				   struct netlink_callback *cb);
int dispatchkey_nl_table_get_doit(struct sk_buff *skb, struct genl_info *info);
int dispatchkey_nl_table_get_dumpit(struct sk_buff *skb,
				    struct netlink_callback *cb);
int dispatchkey_nl_route_get_doit(struct sk_buff *skb, struct genl_info *info);
int dispatchkey_nl_route_get_dumpit(struct sk_buff *skb,
				    struct netlink_callback *cb);
int dispatchkey_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info);
int dispatchkey_nl_stats_get_dumpit(struct sk_buff *skb,
				    struct netlink_callback *cb);
int dispatchkey_nl_stats_set_doit(struct sk_buff *skb, struct genl_info *info);
int dispatchkey_nl_limit_get_doit(struct sk_buff *skb, struct genl_info *info);
int dispatchkey_nl_limit_get_dumpit(struct sk_buff *skb,
				    struct netlink_callback *cb);
int dispatchkey_nl_backend_release_doit(struct sk_buff *skb,
					struct genl_info *info);

enum {
	DISPATCHKEY_NLGRP_CHANGES,
};

#endif /* _LINUX_DISPATCHKEY_GEN_H */
