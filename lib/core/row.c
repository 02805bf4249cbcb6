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
		return DKC_NOT_DIRECT;
	return s->direct;
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

static void dkc_devtab_insert(struct dkc_devtab *tab, u32 number,
			      const struct dkc_row *row)
{
	u32 i = number & tab->mask;

	while (tab->slot[i].number)
		i = (i + 1) & tab->mask;
	tab->slot[i].number = number;
	tab->slot[i].row = row;
}

/* Rows for the devices that have functions here, at most half of the slots. */
static int dkc_devtab_build(struct dk_op *op, const struct dkc_row *own, bool may_sleep,
			    struct dkc_devtab **out)
{
	const struct dkc_reg *r = NULL;
	struct dkc_devtab *tab;
	u32 n = 0, slots = 2, i;
	size_t size;

	*out = NULL;
	while ((r = dkc_device_reg_walk(op, r)))
		n += dkc_first_of_device(r);
	if (!n)
		return 0;
	while (slots < 2 * n)
		slots *= 2;
	size = offsetof(struct dkc_devtab, slot) + slots * sizeof(tab->slot[0]);
	tab = dkc_get(size, may_sleep);
	if (!tab)
		return -ENOMEM;
	*out = tab;
	tab->mask = slots - 1;
	for (i = 0; i < slots; i++)
		tab->slot[i].row = own;
	while ((r = dkc_device_reg_walk(op, r))) {
		struct dkc_row *row;

		if (!dkc_first_of_device(r))
			continue;
		row = dkc_row_build_one(op, dkc_block_of(r)->dev, may_sleep);
		if (!row)
			return -ENOMEM;
		dkc_devtab_insert(tab, dkc_block_of(r)->device, row);
	}
	return 0;
}

/* One row of those that are counted, as it is otherwise; or NULL. */
static struct dkc_row *dkc_row_count_one(const struct dk_op *op, const struct dkc_row *from,
					 bool may_sleep)
{
	struct dkc_shape *s = (struct dkc_shape *)from->shape;
	size_t size = dkc_row_size(s);
	struct dkc_row *row = dkc_get(size + (1 + s->n) * sizeof(struct dkc_count_at), may_sleep);
	struct dkc_count_at *at;
	u32 i;

	if (!row)
		return NULL;
	memcpy(row, from, size);
	s->users++;
	row->devs = NULL;
	row->direct = DKC_COUNTED;
	at = (struct dkc_count_at *)dkc_row_counts(row);
	*at++ = dkc_stats_at(op->reg, op->missing);
	for (i = 0; i < s->n; i++)
		*at++ = dkc_stats_at(op->reg, dkc_reg_counter(op, row->ent[i].reg));
	return row;
}

/* The rows of devices that are counted, at the same places; false: not all, for lack of memory. */
static bool dkc_devtab_count(const struct dk_op *op, struct dkc_row *own,
			     const struct dkc_devtab *from, bool may_sleep)
{
	size_t size = offsetof(struct dkc_devtab, slot) +
		      (from->mask + 1) * sizeof(from->slot[0]);
	struct dkc_devtab *tab = dkc_get(size, may_sleep);
	const struct dkc_row *row;
	bool all = tab;
	u32 i;

	own->devs = tab;
	if (tab)
		tab->mask = from->mask;
	for (i = 0; tab && i <= tab->mask; i++) {
		row = from->slot[i].number && all ?
		      dkc_row_count_one(op, from->slot[i].row, may_sleep) : NULL;
		if (row)
			tab->slot[i].number = from->slot[i].number;
		tab->slot[i].row = row ? row : own;
		all = all && (row || !from->slot[i].number);
	}
	return all;
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
		if (tab->slot[i].number)
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
	struct dkc_devtab *tab;
	int err;

	if (!row)
		return NULL;
	err = dkc_devtab_build(op, row, may_sleep, &tab);
	row->devs = tab;
	if (tab && row->direct != DKC_NOT_DIRECT)
		row->direct = DKC_ASK;
	if (!err)
		return row;
	dkc_row_discard(op->reg, row);
	return NULL;
}

struct dkc_row *dkc_row_count(const struct dk_op *op, const struct dkc_row *full, bool may_sleep)
{
	struct dkc_row *row = dkc_row_count_one(op, full, may_sleep);

	if (!row || !full->devs || dkc_devtab_count(op, row, full->devs, may_sleep))
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
