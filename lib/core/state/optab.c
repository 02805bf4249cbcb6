// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Finds operators by name. The table of names is a hash table with open addressing, so that readers
 * need no lock.
 */
#include "state.h"

static struct dk_op removed;	/* marks the slots of removed operators */

/* Compares names of the same length word by word. The last word may overlap the word before it. */
static inline bool same_name(const char *a, const char *b, size_t len)
{
	u64 x, y;
	size_t i = 0;

	if (len < sizeof(x)) {
		while (i < len && a[i] == b[i])
			i++;
		return i == len;
	}
	for (; i + sizeof(x) < len; i += sizeof(x)) {
		memcpy(&x, a + i, sizeof(x));
		memcpy(&y, b + i, sizeof(y));
		if (x != y)
			return false;
	}
	memcpy(&x, a + len - sizeof(x), sizeof(x));
	memcpy(&y, b + len - sizeof(y), sizeof(y));
	return x == y;
}

static u32 first_slot(const struct dkc_optab *tab, u32 hash)
{
	return (u64)hash * tab->size >> 32;
}

static u32 next_slot(const struct dkc_optab *tab, u32 slot)
{
	return slot + 1 < tab->size ? slot + 1 : 0;
}

/*
 * Returns the tags of the slots. A tag is the low byte of the hash of the slot's operator, or 0 if
 * the slot is free. All hashes are odd, so no operator has tag 0.
 */
static u8 *tags_of(const struct dkc_optab *tab)
{
	return (u8 *)&tab->slot[tab->size];
}

struct dk_op *dkc_op_find(struct dk_registry *reg, const char *name)
{
	const struct dkc_optab *tab = dkc_deref(reg->ops, reg);
	u64 hashlen = name ? hashlen_string(NULL, name) : 0;
	u32 hash = hashlen_hash(hashlen) | 1, len = hashlen_len(hashlen), i;
	struct dk_op *op;
	u8 tag;

	if (!tab || !len)
		return NULL;
	for (i = first_slot(tab, hash); (tag = READ_ONCE(tags_of(tab)[i])); i = next_slot(tab, i)) {
		if (tag != (u8)hash)
			continue;
		op = dkc_deref(tab->slot[i], reg);	/* NULL: another thread is inserting it */
		if (op && op->name_len == len && same_name(op->name, name, len))
			return op;
	}
	return NULL;
}

struct dk_op *dkc_op_next_of(struct dk_registry *reg, u32 *pos, u32 *budget)
{
	const struct dkc_optab *tab = dkc_deref_locked(reg->ops, reg);
	struct dk_op *op;

	dkc_assert_writer(reg);
	while (tab && *pos < tab->size && *budget) {
		op = dkc_deref_locked(tab->slot[*pos], reg);
		++*pos;
		--*budget;
		dkc_work(DKC_WORK_SLOTS, 1);
		if (op && op != &removed)
			return op;
	}
	return NULL;
}

struct dk_op *dkc_op_next(struct dk_registry *reg, u32 *pos)
{
	u32 budget = ~0U;

	cond_resched();
	return dkc_op_next_of(reg, pos, &budget);
}

static u32 optab_put(struct dkc_optab *tab, struct dk_op *op)
{
	u32 i = first_slot(tab, op->hash);

	while (dkc_deref_locked(tab->slot[i], op->reg))
		i = next_slot(tab, i);
	tab->used++;
	rcu_assign_pointer(tab->slot[i], op);
	WRITE_ONCE(tags_of(tab)[i], op->hash);
	return i;
}

/* Replaces the table if it is three quarters full. */
int dkc_optab_reserve(struct dk_registry *reg)
{
	struct dkc_optab *tab = dkc_deref_locked(reg->ops, reg), *bigger;
	u32 slots = 2 * (reg->num_ops + 1), pos = 0;
	struct dk_op *op;

	dkc_assert_writer(reg);
	if (tab && (tab->used + 1) * 4 <= tab->size * 3)
		return 0;
	if (slots < DKC_FIRST_OPS)
		slots = DKC_FIRST_OPS;
	bigger = kvzalloc(offsetof(struct dkc_optab, slot) +
			  slots * (sizeof(bigger->slot[0]) + sizeof(u8)), GFP_KERNEL);
	if (!bigger)
		return -ENOMEM;
	bigger->size = slots;
	while ((op = dkc_op_next(reg, &pos)))
		optab_put(bigger, op);
	rcu_assign_pointer(reg->ops, bigger);
	/* the operators are in other slots now, so start again from the first slot */
	if (reg->unbuilt)
		reg->unbuilt = 1;
	reg->sorted_slots = 0;
	if (tab)
		kvfree_rcu(tab, rcu);
	return 0;
}

void dkc_optab_add(struct dk_op *op)
{
	dkc_assert_writer(op->reg);
	op->reg->num_ops++;
	dkc_order_add(op, optab_put(dkc_deref_locked(op->reg->ops, op->reg), op));
}

void dkc_optab_remove(struct dk_op *op)
{
	struct dkc_optab *tab = dkc_deref_locked(op->reg->ops, op->reg);
	u32 i = first_slot(tab, op->hash);

	dkc_assert_writer(op->reg);
	while (dkc_deref_locked(tab->slot[i], op->reg) != op)
		i = next_slot(tab, i);
	rcu_assign_pointer(tab->slot[i], &removed);
	dkc_order_remove(op);
	op->reg->num_ops--;
}
