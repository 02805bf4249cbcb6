/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An answer tells of many things, and nla_put() looks at the whole message for
 * each attribute: five times as much as writing it takes. So the attributes of
 * one thing are written into the room behind the message, which then grows once,
 * or not at all where they did not fit.
 */
#ifndef _DK_NETLINK_ROOM_H
#define _DK_NETLINK_ROOM_H

#include "netlink.h"

struct dk_nl_room {
	u8 *at;
	u8 *end;
};

static inline struct dk_nl_room dk_nl_room(struct sk_buff *skb)
{
	u8 *at = skb_tail_pointer(skb);

	return (struct dk_nl_room){ at, at + skb_tailroom(skb) };
}

/* What was written is of the message, if all of it fits. 0, or -EMSGSIZE. */
static inline int dk_nl_room_used(struct sk_buff *skb, const struct dk_nl_room *room,
				  bool fits)
{
	if (!fits)
		return -EMSGSIZE;
	skb_put(skb, room->at - skb_tail_pointer(skb));
	return 0;
}

static __always_inline bool dk_nl_write_u32(struct dk_nl_room *room, int type, u32 value)
{
	struct nlattr *attr = (void *)room->at;

	if (room->end - room->at < NLA_HDRLEN + (int)sizeof(value))
		return false;
	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + sizeof(value);
	*(u32 *)nla_data(attr) = value;
	room->at += NLA_HDRLEN + sizeof(value);
	return true;
}

/*
 * A text, where there is room for the longest that is shown: a label has any length, and
 * is cut off as everywhere.
 */
bool dk_nl_write_text(struct dk_nl_room *room, int type, const char *text);
/* Two texts as one. */
bool dk_nl_write_texts(struct dk_nl_room *room, int type, const char *head,
		       const char *tail);

#endif /* _DK_NETLINK_ROOM_H */
