// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Defines constant tables. They are published in place of full tables: for operators that are not
 * defined, after the registry is shut down, or to send all calls to the slow path.
 */
#include "table.h"

/* The masks exclude every key, and every byte that dk__lookup() may read is DKC_ID_MISSING. */
const struct dkc_index dkc_index_of_none = {
	.index = { [DK_NUM_ENTRIES] = DKC_ID_MISSING },
};

/* A table without functions. Its kind determines what the slow path does. */
#define NO_TABLE(table_kind)						\
	.index = &dkc_index_of_none, .kind = (table_kind), .direct = DK__NOT_DIRECT

const struct dkc_table dkc_table_undefined = { NO_TABLE(DKC_TABLE_UNDEFINED) };
const struct dkc_table dkc_table_shutdown = { NO_TABLE(DKC_TABLE_SHUTDOWN) };

/* One table for each combination of flags, because a call reads the flags in its table. */
const struct dkc_table *dkc_table_bypass(unsigned int flags)
{
	static const struct dkc_table none = { NO_TABLE(DKC_TABLE_BYPASS) };
	static const struct dkc_table first = { NO_TABLE(DKC_TABLE_BYPASS), .op_flags = 1 };
	static const struct dkc_table second = { NO_TABLE(DKC_TABLE_BYPASS), .op_flags = 2 };
	static const struct dkc_table both = { NO_TABLE(DKC_TABLE_BYPASS), .op_flags = 3 };
	static const struct dkc_table *const tables[] = { &none, &first, &second, &both };

	return tables[flags & (DK_OP_ATOMIC | DK_OP_SAME_DEVICE)];
}
