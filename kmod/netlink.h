/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declares the netlink family, which queries and controls the default registry. Numbers,
 * policies and the table of operations are generated from
 * Documentation/netlink/specs/dispatchkey.yaml by scripts/netlink-gen.
 */
#ifndef _DK_NETLINK_H
#define _DK_NETLINK_H

#include <net/genetlink.h>

#include "../lib/core/change/change.h"
#include "netlink_gen.h"

extern struct genl_family dk_nl_family;

int dk_nl_init(void);
void dk_nl_exit(void);

/* Reports an error of @attr, which may be NULL. @text must be a constant string. Returns @err. */
int dk_nl_deny(struct netlink_ext_ack *extack, const struct nlattr *attr, const char *text,
	       int err);
/* Returns -EINVAL, with a message in extack, if a request lacks an attribute. */
int dk_nl_require(struct netlink_ext_ack *extack, struct nlattr **attrs, int attr,
		  const char *text);
/* Returns -EINVAL, with a message in extack, if @attr is not NULL. */
int dk_nl_forbid(struct netlink_ext_ack *extack, const struct nlattr *attr, const char *text);

/*
 * Put an attribute into a message, like nla_put_u32() and so on, but are not inlined. Return 0 or
 * -EMSGSIZE. @pad is the type of attributes that align numbers of 64 bits.
 */
int dk_nl_put_u32(struct sk_buff *skb, int attr, u32 value);
int dk_nl_put_u64(struct sk_buff *skb, int attr, u64 value, int pad);
/* Puts a string, unless it is empty. */
int dk_nl_put_text(struct sk_buff *skb, int attr, const char *text);
/* Puts the state of a backend, a device or the counters. */
int dk_nl_put_state(struct sk_buff *skb, int attr, bool online);

/* Begins the answer to a request. Returns NULL, with a message in extack, if allocation fails. */
struct sk_buff *dk_nl_answer(struct genl_info *info, size_t size);
/* Sends the answer or, if @err is set, frees @skb, which may then be NULL, and returns @err. */
int dk_nl_reply(struct genl_info *info, struct sk_buff *skb, int err);

/*
 * Returns the value of cb->seq for a part of a dump. The kernel compares it with the value for
 * the previous part, to detect changes during the dump. Never 0, which would disable this check.
 */
static inline u32 dk_nl_dump_seq(u64 generation)
{
	return (u32)generation ?: 1;
}

/*
 * Begins a part of a dump. If the registry has changed since the previous part, the messages
 * that follow have NLM_F_DUMP_INTR. Parses the attributes of the request into @attrs, which has
 * @max + 1 elements or is NULL. The attributes were validated when the dump began.
 */
int dk_nl_dump_begin(struct netlink_callback *cb, struct nlattr **attrs, int max);
/* Begins a message of a dump. Returns NULL if the buffer is full. */
void *dk_nl_message_begin(struct sk_buff *skb, struct netlink_callback *cb);
/* Ends the message at @header, which may be NULL, or removes it if @err is set. Returns @err. */
int dk_nl_message_end(struct sk_buff *skb, void *header, int err);
/*
 * Called at the end of a part whose elements were read with one hold of the lock each. If the
 * registry has changed during the part, the next message has NLM_F_DUMP_INTR, which may be the
 * NLMSG_DONE of an empty dump.
 */
void dk_nl_dump_compare(struct netlink_callback *cb);
/*
 * Ends a part of a dump. Returns what a dumpit callback returns. @err is -EMSGSIZE if the buffer is
 * full.
 */
int dk_nl_dump_end(struct sk_buff *skb, int err);

/*
 * Look up a backend or device by the attributes @number and @name. One of them may be NULL.
 * Return -EINVAL if both are NULL, or if they name different backends or devices.
 */
int dk_nl_find_backend(const struct nlattr *number, const struct nlattr *name,
		       struct netlink_ext_ack *extack, unsigned int *backend);
int dk_nl_find_device(const struct nlattr *number, const struct nlattr *name,
		      struct netlink_ext_ack *extack, u32 *device);

/*
 * netlink_stats.c: adds up the counters that @c selects. Takes the registry's lock several times.
 * Returns false if calls are not counted, if the sender of the request may not read the counters,
 * if the sum was restarted too often, or if a fatal signal is pending before the sum is complete.
 */
bool dk_nl_calls(struct sk_buff *request, struct dkc_calls *c);

/*
 * netlink_event.c. Events are queued and sent between dk_nl_events_begin(), which returns
 * -ENOMEM if it cannot allocate the queue, and dk_nl_events_end().
 */
int __must_check dk_nl_events_begin(void);
void dk_nl_events_end(void);
void dk_nl_event_limit(struct dk_limit *limit);

#endif /* _DK_NETLINK_H */
