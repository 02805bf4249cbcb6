// SPDX-License-Identifier: GPL-2.0-only
/*
 * Texts that are written into the room behind a message.
 */
#include "netlink_room.h"

/* Copy up to DK_NAME_MAX bytes by words; returns the length, negative if it is cut off. */
static __always_inline ssize_t dk_nl_copy_text(char *to, const char *text, ssize_t before)
{
	ssize_t n = strscpy(to + before, text, DK_NAME_MAX - before);

	return n < 0 ? n : before + n;
}

/* The text is in its place; @n is its length, negative if it is cut off. */
static __always_inline bool dk_nl_end_text(struct dk_nl_room *room, int type, ssize_t n)
{
	struct nlattr *attr = (void *)room->at;
	char *to = nla_data(attr);

	if (n < 0) {
		n = DK_NAME_MAX - 1;
		memset(to + n - 3, '.', 3);
	}
	n++;
	attr->nla_type = type;
	attr->nla_len = nla_attr_size(n);
	while (!IS_ALIGNED(n, NLA_ALIGNTO))
		to[n++] = 0;
	room->at = (u8 *)to + n;
	return true;
}

static __always_inline bool dk_nl_has_text_room(const struct dk_nl_room *room)
{
	return room->end - room->at >= nla_total_size(DK_NAME_MAX);
}

bool dk_nl_write_text(struct dk_nl_room *room, int type, const char *text)
{
	if (!dk_nl_has_text_room(room))
		return false;
	return dk_nl_end_text(room, type, dk_nl_copy_text(nla_data((void *)room->at), text, 0));
}

bool dk_nl_write_texts(struct dk_nl_room *room, int type, const char *head,
		       const char *tail)
{
	char *to = nla_data((void *)room->at);
	ssize_t n;

	if (!dk_nl_has_text_room(room))
		return false;
	n = dk_nl_copy_text(to, head, 0);
	if (n >= 0)
		n = dk_nl_copy_text(to, tail, n);
	return dk_nl_end_text(room, type, n);
}
