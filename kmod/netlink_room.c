// SPDX-License-Identifier: GPL-2.0-only
/*
 * Texts that are written into the room behind a message.
 */
#include "netlink_room.h"

/* They are short, so that to look for the end first would be half of the work. */
bool dk_nl_write_texts(struct dk_nl_room *room, int type, const char *head,
		       const char *tail)
{
	struct nlattr *attr = (void *)room->at;
	char *to = nla_data(attr), *last = to + DK_NAME_MAX - 1;

	if (room->end - room->at < nla_total_size(DK_NAME_MAX))
		return false;
	while (*head && to < last)
		*to++ = *head++;
	while (*tail && to < last)
		*to++ = *tail++;
	if (*head || *tail)
		memset(to - 3, '.', 3);
	*to++ = 0;
	attr->nla_type = type;
	attr->nla_len = (u8 *)to - room->at;
	while (!IS_ALIGNED((u8 *)to - room->at, NLA_ALIGNTO))
		*to++ = 0;
	room->at = (u8 *)to;
	return true;
}
