// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Counts the objects that calls of an operator dispatch on, from the text of the list in DK_OP().
 */
#include "change.h"

/*
 * True if a name precedes the parenthesis: that of a function or macro, which may stand for several
 * objects. False for DK_GENERATOR(), which stands for one object.
 */
static bool may_make_list(const char *text, const char *parenthesis)
{
	static const char one[] = "DK_GENERATOR";
	size_t len = 0;
	char c;

	while (parenthesis - text > (long)len) {
		c = parenthesis[-1 - (long)len];
		if (c != '_' && (c < '0' || c > '9') && ((c | 32) < 'a' || (c | 32) > 'z'))
			break;
		len++;
	}
	return len && (len != sizeof(one) - 1 || memcmp(parenthesis - len, one, len));
}

u32 dkc_count_objs(const struct dk_op_decl *decl)
{
	const char *text = decl->dispatched, *p;
	u32 depth = 0, commas = 0, i;
	bool has_any = false;

	for (i = 0; decl->param && i < decl->num_params; i++)
		if (decl->param[i].kind == DK_ARG_LIST)
			return 0;
	for (p = text; p && *p; p++) {
		if (*p == '(' && depth++ && may_make_list(text, p))
			return 0;
		depth -= *p == ')';
		commas += *p == ',' && depth == 1;
		has_any |= *p != '(' && *p != ')' && *p != ' ';
	}
	return has_any && commas + 1 <= DKC_MAX_OBJS ? commas + 1 : 0;
}
