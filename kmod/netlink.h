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

/* A state in a message: of a backend, of a device, of the counters. */
static inline u8 dk_nl_state(bool online)
{
	return online ? DK_NL_STATE_ONLINE : DK_NL_STATE_OFFLINE;
}

/* An attribute that has to be there: -EINVAL and a sentence where it is not. */
#define dk_nl_need(info, attr, text)					\
	(GENL_REQ_ATTR_CHECK(info, attr) ?				\
	 ({ NL_SET_ERR_MSG((info)->extack, text); -EINVAL; }) : 0)

/* One that must not be there: -EINVAL and a sentence where it is. */
#define dk_nl_bar(extack, attr, text)					\
	((attr) ?							\
	 ({ NL_SET_ERR_MSG_ATTR(extack, attr, text); -EINVAL; }) : 0)

/* The answer to a request, to be ended by dk_nl_reply(); NULL: no memory. */
struct sk_buff *dk_nl_answer(struct genl_info *info, size_t size, void **header);
int dk_nl_reply(struct genl_info *info, struct sk_buff *skb, void *header);
/* What does not fit, though it was counted: the answer is given up. */
int dk_nl_overrun(struct sk_buff *skb);

/*
 * A part of a dump begins: from here on it is seen if the registry changes. The
 * attributes of the request, which were checked when the dump began, go into
 * @attrs, of @max + 1 elements; NULL: nobody wants them.
 */
int dk_nl_dump_begin(struct netlink_callback *cb, struct nlattr **attrs, int max);
/* One message of a dump; NULL where the buffer is full. */
void *dk_nl_dump_put(struct sk_buff *skb, struct netlink_callback *cb);
/* It is: what was begun of a message, if so, is for the next part of the dump. */
int dk_nl_dump_full(struct sk_buff *skb, void *header);

/*
 * The backend or device that two attributes of a request name, either of which
 * may be NULL: -EINVAL where they name two, or nothing.
 */
int dk_nl_find_backend(const struct nlattr *number, const struct nlattr *name,
		       struct netlink_ext_ack *extack, unsigned int *backend);
int dk_nl_find_device(const struct nlattr *number, const struct nlattr *name,
		      struct netlink_ext_ack *extack, u32 *device);

/* netlink_stats.c: may the user of a request read the counters? */
bool dk_nl_may_read_counters(struct sk_buff *request);
/*
 * What provider number @provider served. Takes the registry's lock several times. False if
 * calls are not counted.
 */
bool dk_nl_calls(u64 provider, struct dkc_calls *c);

/* netlink_event.c: memory for events; from when on they are told, and until when. */
int dk_nl_events_init(void);
void dk_nl_events_begin(void);
void dk_nl_events_end(void);
void dk_nl_events_exit(void);
void dk_nl_event_limit(struct dk_limit *limit);

#endif /* _DK_NETLINK_H */
