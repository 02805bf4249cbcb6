// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Rows: one byte an entry, the masks, and the functions that the bytes name.
 * Bytes and masks are shared by all rows of a registry that look alike.
 */
#include "registry.h"

/* What was painted for a table entry. */
static struct dkc_reg *dkc_painted(const struct dk_registry *reg, unsigned int entry)
{
	unsigned int slot = dkc_entry_slot(reg->layout, entry);

	return slot < reg->layout->num_entries ? reg->paint[slot] : NULL;
}

/* In the order of their ids. */
enum dkc_group {
	DKC_FALLS_THROUGH,
	DKC_PACKED,		/* is not called with the operator's own type */
	DKC_DIRECT,
	DKC_GROUPS
};

static enum dkc_group dkc_group_of(const struct dkc_reg *r)
{
	if (dkc_is_fallthrough(r))
		return DKC_FALLS_THROUGH;
	return r->impl->flags & (DK_IMPL_F_BOXED | DK_IMPL_F_PLAIN) ? DKC_PACKED :
								      DKC_DIRECT;
}

/*
 * Give every registration in the table its byte, and tell how many there are,
 * and the first that is called directly. A layout with tables has no more
 * entries than a byte can name.
 */
static unsigned int dkc_number(struct dk_registry *reg, u32 *direct)
{
	unsigned int i, n = DKC_ID_FIRST;
	u32 entries = dkc_table_size(reg->layout);
	enum dkc_group group;
	struct dkc_reg *r;

	for (i = 0; i < entries; i++) {
		r = dkc_painted(reg, i);
		if (r && r != &dkc_ambiguous)
			r->id = 0;
	}
	for (group = 0; group < DKC_GROUPS; group++) {
		*direct = n;
		for (i = 0; i < entries; i++) {
			r = dkc_painted(reg, i);
			if (r && !r->id && dkc_group_of(r) == group)
				r->id = n++;
		}
	}
	return n;
}

static void dkc_unmask(struct dkc_shape *s, const struct dk_layout *l,
		       unsigned int f, unsigned int b)
{
	s->mask[b] &= ~dkc_functionality_bit(l, f);
}

/* The masks lose the functionalities whose entry is a fallthrough. */
static void dkc_make_masks(struct dk_registry *reg, struct dkc_shape *s)
{
	const struct dk_layout *l = reg->layout;
	unsigned int f, b;

	for (b = 0; b < DKC_MAX_BACKENDS; b++)
		s->mask[b] = l->full;
	for (f = 1; f < l->nf; f++)
		for (b = 0; b < l->nb; b++) {
			if (dkc_has_entry(l, f, b + 1) &&
			    dkc_is_fallthrough(reg->paint[dkc_slot(l, f, b + 1)]))
				dkc_unmask(s, l, f, b);
		}
}

static u32 dkc_shape_hash(const struct dkc_shape *s)
{
	u32 hash = 2166136261u;
	unsigned int i;

	for (i = 0; i < s->entries; i++)
		hash = (hash ^ s->index[i]) * 16777619u;
	for (i = 0; i < DKC_MAX_BACKENDS; i++)
		hash = (hash ^ (u32)s->mask[i] ^ (u32)(s->mask[i] >> 32)) * 16777619u;
	return hash;
}

static bool dkc_shape_same(const struct dkc_shape *a, const struct dkc_shape *b)
{
	return a->hash == b->hash && a->entries == b->entries &&
	       !memcmp(a->mask, b->mask, sizeof(a->mask)) &&
	       !memcmp(a->index, b->index, a->entries);
}

/* The shape of the paint, which has been numbered; NULL for lack of memory. */
static struct dkc_shape *dkc_shape_get(struct dk_registry *reg, bool may_sleep)
{
	struct dkc_shape *want = reg->scratch, *s;
	size_t size = offsetof(struct dkc_shape, index) + want->entries;
	struct dkc_shape **bucket;
	unsigned int i, entries = dkc_table_size(reg->layout);

	/* the one behind those of a trimmed table stays missing */
	for (i = 0; i < entries; i++) {
		const struct dkc_reg *r = dkc_painted(reg, i);

		want->index[i] = r ? r->id : DKC_ID_MISSING;
	}
	dkc_make_masks(reg, want);
	want->hash = dkc_shape_hash(want);
	bucket = &reg->shapes[want->hash % DKC_SHAPE_BUCKETS];
	for (s = *bucket; s; s = s->next)
		if (dkc_shape_same(s, want)) {
			s->users++;
			return s;
		}
	s = may_sleep ? dkc_alloc(size) : dkc_try_alloc(size);
	if (!s)
		return NULL;
	memcpy(s, want, size);
	s->users = 1;
	s->next = *bucket;
	*bucket = s;
	return s;
}

static void dkc_shape_put(struct dk_registry *reg, const struct dkc_shape *shape)
{
	struct dkc_shape **p = &reg->shapes[shape->hash % DKC_SHAPE_BUCKETS];
	struct dkc_shape *s;

	while (*p != shape)
		p = &(*p)->next;
	s = *p;
	if (--s->users)
		return;
	*p = s->next;
	/* a reader may still be in the last row of this shape */
	dkc_retire(s);
}

/* One row, of the operator without a device or with one. */
static int dkc_row_build_one(struct dk_op *op, const struct dkc_device *dev,
			     bool may_sleep, struct dkc_row **out)
{
	struct dk_registry *reg = op->reg;
	unsigned int i, entries = dkc_table_size(reg->layout);
	struct dkc_row *row;
	size_t size;
	unsigned int n;
	u32 direct;

	dkc_paint(op, dev);
	n = dkc_number(reg, &direct);
	size = offsetof(struct dkc_row, ent) + n * sizeof(row->ent[0]);
	row = may_sleep ? dkc_alloc(size) : dkc_try_alloc(size);
	if (!row)
		return -ENOMEM;
	row->shape = dkc_shape_get(reg, may_sleep);
	if (!row->shape) {
		dkc_free(row);
		return -ENOMEM;
	}
	row->kind = DKC_ROW_FULL;
	row->op_flags = op->flags;
	row->sig = dkc_op_sig(op);
	row->n = n;
	row->direct = reg->v1 && !(op->flags & DK_OP_SAME_DEVICE) ? direct :
								    DKC_NOT_DIRECT;
	for (i = 0; i < entries; i++) {
		const struct dkc_reg *r = dkc_painted(reg, i);

		if (!r || r == &dkc_ambiguous)
			continue;
		row->ent[r->id].reg = r;
		row->ent[r->id].fn = dkc_is_fallthrough(r) ? NULL : r->impl->fn;
	}
	*out = row;
	return 0;
}

/* Of what a device has of an operator, is this the first that is there? */
static bool dkc_first_of_device(const struct dkc_reg *r)
{
	const struct dkc_reg *s = r->block->regs;

	if (!dkc_visible(r, true))
		return false;
	while (s < r && s->op != r->op)
		s++;
	return s == r;
}

static void dkc_devtab_insert(struct dkc_devtab *tab, u32 number,
			      const struct dkc_row *row)
{
	u32 i = number & tab->mask;

	while (tab->slot[i].row)
		i = (i + 1) & tab->mask;
	tab->slot[i].number = number;
	tab->slot[i].row = row;
}

/* Rows for the devices that have functions here, at most half of the slots. */
static int dkc_devtab_build(struct dk_op *op, bool may_sleep,
			    struct dkc_devtab **out)
{
	struct dkc_devtab *tab;
	struct dkc_reg *r;
	u32 n = 0, slots = 2;
	size_t size;
	int err;

	*out = NULL;
	for (r = dkc_deref_locked(op->dev_regs); r; r = dkc_deref_locked(r->next))
		n += dkc_first_of_device(r);
	if (!n)
		return 0;
	while (slots < 2 * n)
		slots *= 2;
	size = offsetof(struct dkc_devtab, slot) + slots * sizeof(tab->slot[0]);
	tab = may_sleep ? dkc_alloc(size) : dkc_try_alloc(size);
	if (!tab)
		return -ENOMEM;
	*out = tab;
	tab->mask = slots - 1;
	for (r = dkc_deref_locked(op->dev_regs); r; r = dkc_deref_locked(r->next)) {
		struct dkc_row *row;

		if (!dkc_first_of_device(r))
			continue;
		err = dkc_row_build_one(op, r->block->dev, may_sleep, &row);
		if (err)
			return err;
		dkc_devtab_insert(tab, r->block->device, row);
	}
	return 0;
}

static void dkc_row_drop(struct dk_registry *reg, const struct dkc_row *row,
			 bool published)
{
	struct dkc_row *r = (struct dkc_row *)row;

	dkc_shape_put(reg, r->shape);
	if (published)
		dkc_retire(r);
	else
		dkc_free(r);
}

static void dkc_rows_drop(struct dk_registry *reg, const struct dkc_row *row,
			  bool published)
{
	struct dkc_devtab *tab;
	u32 i;

	if (!row)
		return;
	tab = (struct dkc_devtab *)row->devs;
	if (tab) {
		for (i = 0; i <= tab->mask; i++)
			if (tab->slot[i].row)
				dkc_row_drop(reg, tab->slot[i].row, published);
		if (published)
			dkc_retire(tab);
		else
			dkc_free(tab);
	}
	dkc_row_drop(reg, row, published);
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

/* The row of an operator with those of its devices: 0 or -ENOMEM. */
int dkc_row_build(struct dk_op *op, bool may_sleep, struct dkc_row **row)
{
	struct dkc_devtab *tab;
	int err = dkc_row_build_one(op, NULL, may_sleep, row);

	if (err)
		return err;
	err = dkc_devtab_build(op, may_sleep, &tab);
	(*row)->devs = tab;
	if (tab) {
		tab->direct = (*row)->direct;
		(*row)->direct = DKC_NOT_DIRECT;
	}
	if (err) {
		dkc_row_discard(op->reg, *row);
		*row = NULL;
	}
	return err;
}

const struct dkc_row *dkc_row_of_device(const struct dkc_row *row, u32 device)
{
	const struct dkc_devtab *tab = row->devs;
	u32 i;

	if (!tab || !device)
		return row;
	for (i = device & tab->mask; tab->slot[i].row; i = (i + 1) & tab->mask)
		if (tab->slot[i].number == device)
			return tab->slot[i].row;
	return row;
}
