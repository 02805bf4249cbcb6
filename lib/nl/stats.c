// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Reads and controls the call counters.
 */
#include "internal.h"

/* ---- counters ------------------------------------------------------------- */

static const struct dkn_field stats_fields[] = {
	DKN_FIELD(DK_A_STATS_STATE, dk_nl_stats, state),
	DKN_FIELD(DK_A_STATS_READERS, dk_nl_stats, readers),
	DKN_FIELD(DK_A_STATS_COUNT, dk_nl_stats, count, DKN_HAS(dk_nl_stats, has_count)),
	DKN_FIELD(DK_A_STATS_UNCOUNTED, dk_nl_stats, uncounted),
	DKN_FIELD(DK_A_STATS_GONE, dk_nl_stats, gone),
};

static const struct dkn_shape stats_shape =
	DKN_SHAPE(dk_nl_stats, DKN_STATS, stats_fields);

int dk_nl_stats_get(struct dk_nl *nl, const struct dk_nl_stats **stats)
{
	struct dkn_request r;

	dkn_begin(&r, nl, DK_CMD_STATS_GET, DKN_STATS);
	*stats = dkn_get(&r, &stats_shape);
	return nl->why.code;
}

int dk_nl_stats_enable(struct dk_nl *nl, int on)
{
	struct dkn_request r;

	dkn_begin(&r, nl, DK_CMD_STATS_SET, DKN_STATS);
	dkn_put_u8(&r, DK_A_STATS_STATE, on ? DK_NL_STATE_ONLINE : DK_NL_STATE_OFFLINE);
	return dkn_do(&r);
}

int dk_nl_stats_reset(struct dk_nl *nl)
{
	struct dkn_request r;

	dkn_begin(&r, nl, DK_CMD_STATS_SET, DKN_STATS);
	dkn_put_flag(&r, DK_A_STATS_RESET);
	return dkn_do(&r);
}

int dk_nl_stats_set_readers(struct dk_nl *nl, __u32 readers)
{
	struct dkn_request r;

	dkn_begin(&r, nl, DK_CMD_STATS_SET, DKN_STATS);
	/* send larger numbers as 0xff, which the module refuses */
	dkn_put_u8(&r, DK_A_STATS_READERS, readers < 0xff ? readers : 0xff);
	return dkn_do(&r);
}

static const struct dkn_field counter_fields[] = {
	DKN_FIELD(DK_A_STATS_OP, dk_nl_counter, op),
	DKN_FIELD(DK_A_STATS_KIND, dk_nl_counter, kind),
	DKN_FIELD(DK_A_STATS_KEY, dk_nl_counter, key),
	DKN_FIELD(DK_A_STATS_KEY_NAME, dk_nl_counter, key_name),
	DKN_FIELD(DK_A_STATS_LABEL, dk_nl_counter, label),
	DKN_FIELD(DK_A_STATS_PROVIDER, dk_nl_counter, provider),
	DKN_FIELD(DK_A_STATS_DEVICE, dk_nl_counter, device),
	DKN_FIELD(DK_A_STATS_DEVICE_NAME, dk_nl_counter, device_name),
	DKN_FIELD(DK_A_STATS_COUNT, dk_nl_counter, count, DKN_HAS(dk_nl_counter, has_count)),
};

static const struct dkn_shape counter_shape =
	DKN_LIST_SHAPE(dk_nl_counter, DKN_STATS, counter_fields);

int dk_nl_counters(struct dk_nl *nl, const struct dk_nl_counter_filter *filter,
		   const struct dk_nl_counter **counters)
{
	struct dk_nl_counter_filter f = { 0 };
	struct dkn_request r;

	dkn_begin(&r, nl, DK_CMD_STATS_GET, DKN_STATS);
	dkn_copy_struct(&r, &f, sizeof(f), filter, "dk_nl_counter_filter");
	if (f.used)
		dkn_put_flag(&r, DK_A_STATS_USED);
	dkn_put_string(&r, DKN_STATS, DK_A_STATS_OP, f.op);
	dkn_put_string(&r, DKN_STATS, DK_A_STATS_PROVIDER, f.provider);
	*counters = dkn_get_all(&r, &counter_shape);
	return nl->why.code;
}
