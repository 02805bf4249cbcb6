/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes attributes into the tailroom of a message. nla_put() checks and extends the message for
 * each attribute, which costs five times as much as copying the attribute. Here the attributes of
 * one object are written first. If all of them fit, the message is then extended once.
 */
#ifndef _DK_NETLINK_WRITE_H
#define _DK_NETLINK_WRITE_H

#include "netlink.h"

struct dk_nl_writer {
	u8 *at;		/* the next attribute */
	u8 *end;	/* end of the tailroom */
};

static inline struct dk_nl_writer dk_nl_writer(struct sk_buff *skb)
{
	u8 *at = skb_tail_pointer(skb);

	return (struct dk_nl_writer){ at, at + skb_tailroom(skb) };
}

/* Adds the written attributes to the message. Returns -EMSGSIZE if they did not fit. */
static inline int dk_nl_writer_commit(struct sk_buff *skb, const struct dk_nl_writer *w, bool fits)
{
	if (!fits)
		return -EMSGSIZE;
	skb_put(skb, w->at - skb_tail_pointer(skb));
	return 0;
}

static __always_inline bool dk_nl_write_u32(struct dk_nl_writer *w, int type, u32 value)
{
	struct nlattr *attr = (void *)w->at;

	if (w->end - w->at < NLA_HDRLEN + (int)sizeof(value))
		return false;
	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + sizeof(value);
	*(u32 *)nla_data(attr) = value;
	w->at += NLA_HDRLEN + sizeof(value);
	return true;
}

/*
 * Writes two strings as one. Returns false if the tailroom is too short for DK_NAME_MAX bytes.
 * Longer strings, such as labels, are truncated to DK_NAME_MAX bytes and end in "...".
 */
bool dk_nl_write_texts(struct dk_nl_writer *w, int type, const char *head, const char *tail);

static inline bool dk_nl_write_text(struct dk_nl_writer *w, int type, const char *text)
{
	return dk_nl_write_texts(w, type, text, "");
}

#endif /* _DK_NETLINK_WRITE_H */
