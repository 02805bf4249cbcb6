// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints the netlink attributes and values that the library defines, one on each line.
 * test_spec.sh compares them with the specification.
 */
#include <stdio.h>
#include <string.h>

#include "../../lib/nl/internal.h"

static const char *const kinds[] = {
	[DKN_PAD] = "pad", [DKN_U8] = "u8", [DKN_U32] = "u32", [DKN_S32] = "s32",
	[DKN_U64] = "u64", [DKN_STRING] = "string", [DKN_FLAG] = "flag", [DKN_NEST] = "nest",
};

static const char *const enums[] = {
	[DK_NL_WORDS_STATE] = "state",
	[DK_NL_WORDS_PROVIDER_STATE] = "provider-state",
	[DK_NL_WORDS_PROVENANCE] = "provenance",
	[DK_NL_WORDS_STEP_KIND] = "step-kind",
	[DK_NL_WORDS_VERDICT] = "verdict",
	[DK_NL_WORDS_BEARING] = "bearing",
	[DK_NL_WORDS_STAT_KIND] = "stat-kind",
	[DK_NL_WORDS_EVENT_KIND] = "event-kind",
	[DK_NL_WORDS_READERS] = "readers",
};

static void print_set(enum dkn_set set)
{
	const struct dkn_attr *attr;
	unsigned int type;

	for (type = 1; (attr = dkn_attr(set, type)); type++)
		printf("%s %s %u %s%s%s\n", dkn_set_name(set), attr->name, type,
		       kinds[attr->kind], attr->nested ? " " : "",
		       attr->nested ? dkn_set_name(attr->nested) : "");
}

static void print_enum(unsigned int of)
{
	unsigned int v;

	for (v = 0; strcmp(dk_nl_word(of, v), "unknown"); v++)
		printf("%s %s %u\n", enums[of], dk_nl_word(of, v), v);
}

int main(void)
{
	unsigned int i;

	for (i = DKN_NO_SET + 1; i < DKN_NUM_SETS; i++)
		print_set(i);
	for (i = 0; i < sizeof(enums) / sizeof(enums[0]); i++)
		print_enum(i);
	return 0;
}
