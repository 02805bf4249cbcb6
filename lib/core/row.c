// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Rows: a shape, which is one byte an entry and the masks, and the functions that the
 * bytes name, those of backend fallbacks included.
 */
#include "registry.h"

static size_t dkc_row_size(const struct dkc_shape *s)
{
	return offsetof(struct dkc_row, ent) + s->n * sizeof(struct dk__entry);
}

static struct dk__entry *dkc_fill_one(struct dk__entry *ent, const struct dkc_reg *r)
{
	ent->reg = r;
	ent->fn = dkc_impl_of(r)->fn;	/* a fallthrough has none */
	return ent + 1;
}

static struct dk__entry *dkc_fill_fallbacks(const struct dk_op *op, const struct dkc_shape *s,
					    struct dk__entry *ent)
{
	unsigned int i;
	u64 left;

	for (i = 0; i < op->reg->easel->words; i++)
		for (left = dkc_served(op->reg, s, i); left; left &= left - 1)
			ent = dkc_fill_one(ent, dkc_fallback_at(op, 64 * i + dkc_ffs64(left),
								NULL));
	return ent;
}

/* The functions in the order that dkc_paint() numbers them in. */
static void dkc_row_fill(const struct dk_op *op, struct dkc_row *row)
{
	const struct dkc_easel *e = op->reg->easel;
	const u64 *slots = e->look.slots;
	struct dk__entry *ent = dkc_fill_fallbacks(op, row->shape, row->ent);
	unsigned int group, i;
	u64 left;

	for (group = 0; group < DKC_GROUPS; group++) {
		for (left = row->shape->used; left; left &= left - 1) {
			const struct dkc_reg *r = e->alias[dkc_ffs64(left)];

			if (r->group == group)
				ent = dkc_fill_one(ent, r);
		}
		for (i = 0; i < e->words; i++)
			for (left = *slots++; left; left &= left - 1)
				ent = dkc_fill_one(ent, e->slot[64 * i + dkc_ffs64(left)]);
	}
}

/* From which id on calls are made as it is. */
static u32 dkc_direct(const struct dk_op *op, const struct dkc_shape *s)
{
	if (!op->reg->v1 || (op->flags & DK_OP_SAME_DEVICE))
		return DK__NOT_DIRECT;
	return dkc_slots_are_gate() || (op->flags & DK_OP_ATOMIC) ? s->lowest : DK__SLEEPS;
}

/* One row, of the operator without a device or with one. */
static struct dkc_row *dkc_row_build_one(struct dk_op *op, const struct dkc_device *dev,
					 bool may_sleep)
{
	struct dkc_shape *s = dkc_shape_get(op, dev, may_sleep);
	struct dkc_row *row = s ? dkc_get(dkc_row_size(s), may_sleep) : NULL;

	if (!row) {
		dkc_shape_put(op->reg, s);	/* NULL is none */
		return NULL;
	}
	row->shape = s;
	row->kind = DKC_ROW_FULL;
	row->op_flags = op->flags;
	row->sig = dkc_op_sig(op);
	row->n = s->n;
	row->lowest = s->lowest;
	row->direct = dkc_direct(op, s);
	dkc_row_fill(op, row);
	return row;
}

/* Of what a device has of an operator, is this the first that is there? */
static bool dkc_first_of_device(const struct dkc_reg *r)
{
	const struct dkc_reg *s = dkc_block_of(r)->regs;

	if (!dkc_visible(r, NULL))
		return false;
	while (s < r && dkc_reg_op(s) != dkc_reg_op(r))
		s++;
	return s == r;
}

/* The first place stays that of number 0. */
static void dkc_devtab_insert(struct dkc_devtab *tab, u32 number,
			      const struct dkc_row *row)
{
	u32 i = number & tab->mask;

	while (!i || tab->slot[i].number)
		i = (i + 1) & tab->mask;
	tab->slot[i].number = number;
	tab->slot[i].row = row;
}

/* How many devices have functions of an operator. */
static u32 dkc_num_devices_of(const struct dk_op *op)
{
	const struct dkc_reg *r = NULL;
	u32 n = 0;

	while ((r = dkc_device_reg_walk(op, r)))
		n += dkc_first_of_device(r);
	return n;
}

/* A row as it is, without those of devices. */
static struct dkc_row *dkc_row_copy(const struct dkc_row *from, size_t more, bool may_sleep)
{
	struct dkc_shape *s = (struct dkc_shape *)from->shape;
	struct dkc_row *row = dkc_get(dkc_row_size(s) + more, may_sleep);

	if (!row)
		return NULL;
	memcpy(row, from, dkc_row_size(s));
	s->users++;
	row->devs = NULL;
	return row;
}

/* A table of @places, in which all numbers lead to a row for objects on no device. */
static struct dkc_devtab *dkc_devtab_make(u32 places, const struct dkc_row *none, bool may_sleep)
{
	struct dkc_devtab *tab = dkc_get(offsetof(struct dkc_devtab, slot) +
					 places * sizeof(tab->slot[0]), may_sleep);
	u32 i;

	for (i = 0; tab && i < places; i++)
		tab->slot[i].row = none;
	if (tab)
		tab->mask = places - 1;
	return tab;
}

static void dkc_row_drop(struct dk_registry *reg, const struct dkc_row *row,
			 bool published)
{
	struct dkc_row *r = (struct dkc_row *)row;
	const struct dkc_shape *shape = r->shape;

	/* before the shape, so that no shape is freed and its row not known as replaced */
	if (published)
		dkc_retire_row(r);
	else
		dkc_free(r);
	dkc_shape_put(reg, shape);
}

/* @none is the operator's own row, and given back unless the table takes it. */
static bool dkc_devtab_give(struct dk_registry *reg, struct dkc_row *own, u32 places,
			    struct dkc_row *none, bool may_sleep)
{
	if (none)
		own->devs = dkc_devtab_make(places, none, may_sleep);
	if (none && !own->devs)
		dkc_row_drop(reg, none, false);
	return own->devs;
}

/* Rows for the devices that have functions here, in a table at most half full. */
static bool dkc_devtab_build(struct dk_op *op, struct dkc_row *own, bool may_sleep)
{
	u32 n = dkc_num_devices_of(op), places = 2;
	const struct dkc_reg *r = NULL;
	struct dkc_row *row;

	if (!n)
		return true;
	while (places < 2 * n + 2)
		places *= 2;
	row = dkc_row_copy(own, 0, may_sleep);
	if (!dkc_devtab_give(op->reg, own, places, row, may_sleep))
		return false;
	if (own->direct != DK__NOT_DIRECT)
		own->direct = DK__BY_DEVICE;
	while ((r = dkc_device_reg_walk(op, r))) {
		if (!dkc_first_of_device(r))
			continue;
		row = dkc_row_build_one(op, dkc_block_of(r)->dev, may_sleep);
		if (!row)
			return false;
		dkc_devtab_insert((struct dkc_devtab *)own->devs, dkc_block_of(r)->device, row);
	}
	return true;
}

/* One row of those that are counted, as it is otherwise; or NULL. */
static struct dkc_row *dkc_row_count_one(const struct dk_op *op, const struct dkc_row *from,
					 bool may_sleep)
{
	size_t counters = (1 + from->n) * sizeof(struct dk__count);
	struct dkc_row *row = dkc_row_copy(from, counters, may_sleep);
	struct dk__count *at;
	u32 i;

	if (!row)
		return NULL;
	row->direct = row->direct == DK__SLEEPS ? DK__SLEEPS_COUNTED : DK__COUNTED;
	at = (struct dk__count *)dkc_row_counters(row);
	*at++ = dkc_stats_at(op->reg, op->missing);
	for (i = 0; i < row->n; i++)
		*at++ = dkc_stats_at(op->reg, dkc_reg_counter(op, row->ent[i].reg));
	return row;
}

static void dkc_rows_drop(struct dk_registry *reg, const struct dkc_row *row,
			  bool published)
{
	struct dkc_devtab *tab;
	u32 i;

	if (!row)
		return;
	tab = (struct dkc_devtab *)row->devs;
	/* the first one, because a slot keeps it for what it leads to */
	dkc_row_drop(reg, row, published);
	if (!tab)
		return;
	for (i = 0; i <= tab->mask; i++)
		if (!i || tab->slot[i].number)
			dkc_row_drop(reg, tab->slot[i].row, published);
	if (published)
		dkc_retire(tab);
	else
		dkc_free(tab);
}

/* Free a row that nobody saw. */
void dkc_row_discard(struct dk_registry *reg, const struct dkc_row *row)
{
	dkc_rows_drop(reg, row, false);
}

/* Free a row that was published, once its readers are out. */
void dkc_row_retire(struct dk_registry *reg, const struct dkc_row *row)
{
	dkc_rows_drop(reg, row, true);
}

struct dkc_row *dkc_row_build(struct dk_op *op, bool may_sleep)
{
	struct dkc_row *row = dkc_row_build_one(op, NULL, may_sleep);

	if (!row || dkc_devtab_build(op, row, may_sleep))
		return row;
	dkc_row_discard(op->reg, row);
	return NULL;
}

/* The rows of devices that are counted, at the same places. */
static bool dkc_devtab_count(const struct dk_op *op, struct dkc_row *own,
			     const struct dkc_devtab *from, bool may_sleep)
{
	struct dkc_row *row = dkc_row_count_one(op, from->slot[0].row, may_sleep);
	struct dkc_devtab *tab;
	u32 i;

	if (!dkc_devtab_give(op->reg, own, from->mask + 1, row, may_sleep))
		return false;
	tab = (struct dkc_devtab *)own->devs;
	for (i = 0; i <= from->mask; i++) {
		if (!from->slot[i].number)
			continue;
		row = dkc_row_count_one(op, from->slot[i].row, may_sleep);
		if (!row)
			return false;
		tab->slot[i].number = from->slot[i].number;
		tab->slot[i].row = row;
	}
	return true;
}

struct dkc_row *dkc_row_count(const struct dk_op *op, const struct dkc_row *full, bool may_sleep)
{
	struct dkc_row *row;

	if (!full->devs)
		return dkc_row_count_one(op, full, may_sleep);
	row = dkc_row_copy(full, 0, may_sleep);
	if (!row || dkc_devtab_count(op, row, full->devs, may_sleep))
		return row;
	dkc_row_discard(op->reg, row);
	return NULL;
}

const struct dkc_reg *dkc_row_reg(const struct dk_op *op, const struct dkc_row *row,
				  unsigned int f, unsigned int b)
{
	const struct dk_layout *l = op->reg->layout;
	unsigned int id = dkc_row_id(l, row, f, b);

	if (id == DKC_ID_FALLTHROUGH)
		return dkc_fallback_at(op, dkc_slot(l, f, b), NULL);
	return id < DKC_ID_FIRST ? NULL : dkc_row_ent(row, id)->reg;
}
