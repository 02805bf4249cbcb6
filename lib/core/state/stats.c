// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Enables, disables, resets and reads the counters. */
#include "state.h"

/* ---- enabling and disabling --------------------------------------------------- */

int dk_stats_enable(struct dk_registry *reg, struct dk_diag *why)
{
	struct dkc_stats *undone = NULL;
	enum dk_reason reason = DK_WHY_NONE;
	bool was_on;
	u32 used;

	reg = dkc_registry_locked(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, NULL);
	was_on = reg->counters;
	used = reg->used_counters;
	if (reg->shutdown)
		reason = DK_WHY_SHUTDOWN;
	else if ((!was_on && !dkc_stats_grow(reg, true)) || !dkc_stats_cover_all(reg))
		reason = DK_WHY_NO_MEMORY;
	if (was_on) {
		/* publish tables with the counters for which there was no memory before */
		dkc_change_tables(reg, true);
		reg->generation += reg->used_counters != used;
	} else if (reason) {
		undone = dkc_stats_detach(reg);
	} else {
		reg->lost_counts = dkc_counts_lost();
		reg->generation++;
		reg->times_counted++;
		rcu_assign_pointer(reg->stats, reg->counters);
		dkc_change_watched(reg, true);
	}
	dkc_registry_unlock_flush(reg);
	/* these counters were never published */
	dkc_stats_free(undone);
	return dkc_refuse(why, reason, NULL);
}

int dk_stats_disable(struct dk_registry *reg, struct dk_diag *why)
{
	struct dkc_stats *s;

	if (dkc_in_atomic())
		return dkc_refuse(why, DK_WHY_ATOMIC, NULL);
	dkc_accept(why);
	reg = dkc_registry_locked(reg);
	if (!reg)
		return 0;
	s = dkc_stats_detach(reg);
	reg->generation += !!s;
	if (s)
		dkc_change_watched(reg, false);
	mutex_unlock(&reg->lock);
	/* wait until no call uses the counters, even if another caller detached them */
	synchronize_rcu();
	dkc_stats_free(s);
	return 0;
}

/* ---- reading ------------------------------------------------------------------ */

int dk_stats_reset(struct dk_registry *reg, struct dk_diag *why)
{
	bool on = false;

	reg = dkc_registry_locked(reg);
	if (reg) {
		on = reg->counters;
		if (on) {
			dkc_stats_zero(reg);
			reg->generation++;
		}
		mutex_unlock(&reg->lock);
	}
	return dkc_refuse(why, on ? DK_WHY_NONE : DK_WHY_NOT_COUNTED, NULL);
}

int dk_stats_get(struct dk_registry *reg, struct dk_stats *s)
{
	if (s->size != sizeof(*s))
		return -EINVAL;
	*s = (struct dk_stats){ .size = sizeof(*s) };
	reg = dkc_registry_locked(reg);
	if (!reg)
		return 0;
	if (reg->counters) {
		s->is_enabled = true;
		s->counters = reg->used_counters;
		s->uncounted = dkc_stats_uncounted(reg);
		s->gone = reg->withdrawn_counts;
	}
	mutex_unlock(&reg->lock);
	return 0;
}

/*
 * Fills @s with the counter and the names of the function @r. If @r is NULL, fills @s with the
 * counter of the calls of @op that no function serves.
 */
static void stat_fill(struct dk_stat *s, const struct dk_op *op, enum dk_stat_kind kind,
		      const struct dkc_reg *r)
{
	u32 n = dkc_reg_counter(op, r);

	*s = (struct dk_stat){
		.size = sizeof(*s), .kind = kind, .count = dkc_counted(op->reg, n),
		.is_counted = !!n,
	};
	if (!r)
		return;
	s->key = r->key;
	s->device = dkc_block_of(r)->device;
	dkc_reg_names(r, s->label, s->provider, s->device_name);
}

/*
 * Fills in counter @i of those that belong to no function of the operator: first the counters of
 * fallbacks, by slot, and then the counter of the calls that no function serves.
 */
static int stat_fill_rest(const struct dk_op *op, unsigned int i, struct dk_stat *s)
{
	const struct dkc_reg *r = NULL;

	while ((r = dkc_next_fallback(op, r)) && i)
		i--;
	if (i)
		return -ENOENT;
	stat_fill(s, op, r ? DK_STAT_FALLBACK : DK_STAT_MISSING, r);
	return 0;
}

int dk_op_stat(struct dk_op *op, unsigned int i, struct dk_stat *s)
{
	int err = 0;

	if (!op)
		return -ENOENT;
	if (s->size != sizeof(*s))
		return -EINVAL;
	mutex_lock(&op->reg->lock);
	if (i < op->num_regs)
		stat_fill(s, op, DK_STAT_IMPL, dkc_reg_at(op, i));
	else
		err = stat_fill_rest(op, i - op->num_regs, s);
	mutex_unlock(&op->reg->lock);
	return err;
}

/* Counting must be enabled. */
static u64 provider_calls(const struct dkc_provider *prov)
{
	struct dkc_calls c = { .provider = prov->number };

	dkc_assert_writer(prov->reg);
	while (dkc_calls_add(prov->reg, &c, ~0U, 1))
		;
	return c.count;
}

int dk_provider_stat(struct dk_registry *reg, const char *name, struct dk_stat *s)
{
	const struct dkc_provider *prov;
	bool found = false;

	if (!name || s->size != sizeof(*s))
		return -EINVAL;
	reg = dkc_registry_locked(reg);
	if (!reg)
		return -ENOENT;
	*s = (struct dk_stat){ .size = sizeof(*s), .kind = DK_STAT_PROVIDER };
	dkc_strcpy(s->provider, name, sizeof(s->provider));
	s->is_counted = !!reg->counters;
	for (prov = reg->providers; prov; prov = prov->next) {
		if (prov->drained || !dkc_streq(prov->name, name))
			continue;
		found = true;
		if (reg->counters)
			s->count += provider_calls(prov);
	}
	mutex_unlock(&reg->lock);
	return found ? 0 : -ENOENT;
}
