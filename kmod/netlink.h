/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The netlink family: see and steer the default registry. The numbers, the
 * policies and the table of operations are generated from
 * Documentation/netlink/specs/dispatchkey.yaml (scripts/netlink-gen).
 */
#ifndef _DK_NETLINK_H
#define _DK_NETLINK_H

#include <net/genetlink.h>

#include "../lib/core/registry.h"
#include "netlink_gen.h"

extern struct genl_family dk_nl_family;

int dk_nl_init(void);
void dk_nl_exit(void);

/*
 * Why the core refuses: its sentence, which is constant, and the attribute that
 * is at fault, or NULL. Returns @err.
 */
int dk_nl_refuse(struct netlink_ext_ack *extack, const struct nlattr *attr,
		 const struct dk_diag *why, int err);

/* An attribute that has to be there: -EINVAL and a sentence where it is not. */
#define dk_nl_need(info, attr, text)					\
	((info)->attrs[attr] ? 0 :					\
	 ({ NL_SET_ERR_MSG((info)->extack, text); -EINVAL; }))

/* The answer to a request, to be ended by dk_nl_reply(); NULL: no memory. */
struct sk_buff *dk_nl_answer(struct genl_info *info, size_t size, void **header);
int dk_nl_reply(struct genl_info *info, struct sk_buff *skb, void *header);

/* One message of a dump; NULL where the buffer is full. */
void *dk_nl_dump_put(struct sk_buff *skb, struct netlink_callback *cb);

#endif /* _DK_NETLINK_H */
