// SPDX-License-Identifier: GPL-2.0-only
/* Writes strings into the tailroom of a message. */
#include "netlink_write.h"

bool dk_nl_write_texts(struct dk_nl_writer *w, int type, const char *head, const char *tail)
{
	struct nlattr *attr = (void *)w->at;
	char *to = nla_data(attr);
	ssize_t n, more = 0;

	if (w->end - w->at < nla_total_size(DK_NAME_MAX))
		return false;
	n = strscpy(to, head, DK_NAME_MAX);
	if (n >= 0 && *tail)
		more = strscpy(to + n, tail, DK_NAME_MAX - n);
	if (n < 0 || more < 0) {
		n = dkc_end_cut(to, DK_NAME_MAX - 1);
		more = 0;
	}
	n += more + 1;
	attr->nla_type = type;
	attr->nla_len = nla_attr_size(n);
	while (!IS_ALIGNED(n, NLA_ALIGNTO))
		to[n++] = 0;
	w->at = (u8 *)to + n;
	return true;
}
