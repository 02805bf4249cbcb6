// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Compares published tables with the rules, as PyTorch's checkInvariants() does: SEMANTICS 7.6.
 */
#include "pytorch.h"

/* True if an entry of a published table, and its bit in the mask, are what the rules yield. */
static bool entry_matches(const struct dk_op *op, const struct dkc_table *table,
			  const struct dkc_device *dev, unsigned int slot)
{
	const struct dk_layout *l = op->reg->layout;
	struct dkc_pick pick = dkc_evaluate(op, dev, slot, NULL);
	unsigned int id, f = l->slot_functionality[slot];
	bool masked = f && !(table->index->mask[slot - l->offset[f]] &
			     dkc_functionality_bit(l, f));
	bool falls;

	if (!dkc_has_entry(l, slot))
		return !masked;
	id = table->index->index[slot];
	if (pick.prov == DK_PROV_AMBIGUOUS)
		return id == DKC_ID_AMBIGUOUS && !masked;
	falls = pick.prov == DK_PROV_FALLBACK && dkc_is_fallthrough(pick.reg);
	if (id == DKC_ID_FALLTHROUGH ? !falls : falls)
		return false;
	return dkc_table_reg(op, table, slot) == pick.reg &&
	       masked == (f && dkc_is_fallthrough(pick.reg));
}

static bool table_matches(const struct dk_op *op, const struct dkc_table *table,
			  const struct dkc_device *dev)
{
	unsigned int slot;

	for (slot = 0; slot < op->reg->layout->num_entries; slot++)
		if (!entry_matches(op, table, dev, slot))
			return false;
	return true;
}

bool dkc_op_matches_rules(const struct dk_op *op)
{
	const struct dkc_table *table = dkc_deref_locked(op->base, op->reg);
	const struct dkc_device_tables *tab;
	u32 i;

	dkc_assert_writer(op->reg);
	tab = table ? table->devices : NULL;
	if (!tab)
		return !table || table_matches(op, table, NULL);
	for (i = 0; i <= tab->mask; i++) {
		u32 number = tab->slot[i].number;

		if (!table_matches(op, tab->slot[i].table,
				   number ? dkc_device_at(op->reg, number) : NULL))
			return false;
	}
	return true;
}

int dk_registry_check(struct dk_registry *reg, struct dk_diag *why)
{
	struct dk_op *op;
	u32 pos = 0;
	int err = 0;

	reg = dkc_registry_locked(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, NULL);
	dkc_accept(why);
	while (!err && (op = dkc_op_next(reg, &pos)))
		if (!dkc_op_matches_rules(op))
			err = dkc_refuse(why, DK_WHY_TABLE, op->name);
	mutex_unlock(&reg->lock);
	return err;
}

int dk_op_check(struct dk_op *op, struct dk_diag *why)
{
	bool matches;

	if (!op)
		return dkc_refuse(why, DK_WHY_NO_OPERATOR, NULL);
	dkc_accept(why);
	mutex_lock(&op->reg->lock);
	matches = dkc_op_matches_rules(op);
	mutex_unlock(&op->reg->lock);
	return matches ? 0 : dkc_refuse(why, DK_WHY_TABLE, op->name);
}
