// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Seeing: what serves an entry, where a call goes, and by which rule. The
 * function is read from the published row, as a call reads it; the rule is the
 * evaluator's.
 */
#include "see.h"

const char *dk_provenance_name(enum dk_provenance prov)
{
	switch (prov) {
	case DK_PROV_KERNEL:
		return "kernel";
	case DK_PROV_DEFAULT_BACKEND:
		return "default backend kernel";
	case DK_PROV_NESTED:
		return "nested kernel";
	case DK_PROV_AMBIGUOUS:
		return "ambiguous autogradother";
	case DK_PROV_MATH:
		return "math kernel";
	case DK_PROV_AUTOGRAD:
		return "autograd kernel";
	case DK_PROV_BATCHED:
		return "batched kernel";
	case DK_PROV_FALLBACK:
		return "backend fallback";
	case DK_PROV_NO_ENTRY:
		return "backend fallback not registered on mobile";
	default:
		return "missing";
	}
}

/* Copy what a registration says of itself; it may be NULL. */
static void dkc_tell(struct dk_entry *e, const struct dkc_reg *r,
		     enum dk_provenance prov)
{
	const struct dkc_block *b;

	e->provenance = prov;
	e->is_fallthrough = 0;
	e->device = 0;
	e->label[0] = 0;
	e->provider[0] = 0;
	e->device_name[0] = 0;
	if (!r)
		return;
	b = dkc_block_of(r);
	e->is_fallthrough = dkc_is_fallthrough(r);
	e->device = b->device;
	dkc_strcpy(e->label, dkc_label_of(r), sizeof(e->label));
	dkc_strcpy(e->provider, b->prov ? b->prov->name : "", sizeof(e->provider));
	if (b->dev)
		dkc_strcpy(e->device_name, b->dev->name, sizeof(e->device_name));
}

/* From a slot to its functionality and backend. */
void dkc_slot_split(const struct dk_layout *l, unsigned int slot,
		    unsigned int *f, unsigned int *b)
{
	for (*f = 0; *f + 1 < l->nf && l->offset[*f + 1] <= slot; )
		++*f;
	*b = slot - l->offset[*f] + 1;
}

struct dkc_pick dkc_serves(const struct dk_op *op, const struct dkc_device *dev,
			   unsigned int f, unsigned int b)
{
	const struct dkc_row *row = dkc_deref_locked(op->base);
	const struct dk_layout *l = op->reg->layout;
	struct dkc_pick pick = dkc_evaluate(op, dev, f, b, NULL);

	if (row && dkc_has_entry(l, f, b)) {
		row = dkc_row_of_device(row, dev ? dev->number : 0);
		pick.reg = dkc_row_reg(op, row, f, b);
	}
	return pick;
}

int dk_op_entry(struct dk_op *op, __u32 device, unsigned int slot,
		struct dk_entry *e)
{
	struct dk_registry *reg = op->reg;
	const struct dkc_device *dev;
	struct dkc_pick pick;
	unsigned int f, b;
	int err = 0;

	if (slot >= reg->layout->num_entries || e->size != sizeof(*e))
		return -EINVAL;
	dkc_slot_split(reg->layout, slot, &f, &b);
	dkc_mutex_lock(&reg->lock);
	dev = dkc_device_at(reg, device);
	if (device && !dev) {
		err = -ENODEV;
	} else {
		pick = dkc_serves(op, dev, f, b);
		dkc_tell(e, pick.reg, pick.prov);
	}
	dkc_mutex_unlock(&reg->lock);
	return err;
}

/* The lowest key above @key at which something is registered, or 0. */
static unsigned int dkc_next_key(const struct dk_op *op, unsigned int key)
{
	const struct dkc_reg *r = NULL;
	unsigned int next = 0;

	while ((r = dkc_reg_walk(op, r)))
		if (r->key > key && (!next || r->key < next))
			next = r->key;
	return next;
}

const struct dkc_reg *dkc_reg_sorted(const struct dk_op *op, const struct dkc_reg *r)
{
	unsigned int key = r ? r->key : dkc_next_key(op, 0);

	for (; key; key = dkc_next_key(op, key), r = NULL) {
		while ((r = dkc_reg_walk(op, r)))
			if (r->key == key)
				return r;
	}
	return NULL;
}

const struct dkc_reg *dkc_reg_at(const struct dk_op *op, unsigned int i)
{
	const struct dkc_reg *r = dkc_reg_sorted(op, NULL);

	while (r && i--)
		r = dkc_reg_sorted(op, r);
	return r;
}

int dk_op_impl(struct dk_op *op, unsigned int i, struct dk_impl_info *info)
{
	const struct dkc_reg *r;

	if (info->size != sizeof(*info))
		return -EINVAL;
	dkc_mutex_lock(&op->reg->lock);
	r = dkc_reg_at(op, i);
	if (r) {
		const struct dkc_block *b = dkc_block_of(r);

		info->key = r->key;
		info->is_fallthrough = dkc_is_fallthrough(r);
		info->is_boxed = !!(dkc_impl_of(r)->flags & DK_IMPL_F_BOXED);
		info->is_active = dkc_top(op, b->dev, r->key, NULL) == r;
		info->device = b->device;
		dkc_strcpy(info->label, dkc_label_of(r), sizeof(info->label));
		dkc_strcpy(info->provider, b->prov->name, sizeof(info->provider));
		dkc_strcpy(info->device_name, b->dev ? b->dev->name : "",
			   sizeof(info->device_name));
	}
	dkc_mutex_unlock(&op->reg->lock);
	return r ? 0 : -ENOENT;
}

/* Which rule took the entry of a route; the lock is held. */
static enum dk_provenance dkc_route_rule(const struct dk_op *op, u64 ks, u32 device)
{
	return dkc_serving(op, dkc_device_online(op->reg, device), ks, NULL).prov;
}

int dkc_route(struct dk_op *op, u64 merged, const struct dk_obj *const *objs,
	      unsigned int n, struct dk_route *r)
{
	struct dk_registry *reg = op->reg;
	struct dkc_way way = { .objs = objs, .n = n, .mask = true, .ks = merged };
	const struct dkc_row *row = dkc_row_of_op(op);
	enum dk_provenance rule;
	int err;

	r->raw.bits = dk__raw(objs, n);
	err = dkc_find(op, row, &way);
	/* a call is refused whatever the table says; say what it says */
	if (row->kind == DKC_ROW_UNDEFINED && dkc_deref_locked(op->base))
		dkc_find(op, dkc_deref_locked(op->base), &way);
	if (!err && (op->flags & DK_OP_SAME_DEVICE) &&
	    dkc_on_two_devices(reg, NULL, objs, n))
		err = -EXDEV;
	r->effective.bits = way.ks;
	r->slot = dk_keyset_slot(reg->layout, DK_KEYSET(way.ks));
	rule = dkc_route_rule(op, way.ks, dkc_device_of(reg->layout, way.ks, objs, n));
	if (!way.reg && rule != DK_PROV_AMBIGUOUS && rule != DK_PROV_NO_ENTRY)
		rule = DK_PROV_MISSING;
	dkc_tell(&r->entry, way.reg, rule);
	return err;
}

int dk_op_route(struct dk_op *op, struct dk_keyset included, struct dk_keyset excluded,
		const struct dk_obj *const *objs, unsigned int n, struct dk_route *r)
{
	u64 merged;
	int err;

	if (r->size != sizeof(*r))
		return -EINVAL;
	merged = dkc_merge(dk__raw(objs, n), included.bits, excluded.bits,
			   op->reg->layout->backend_mask);
	dkc_mutex_lock(&op->reg->lock);
	err = dkc_route(op, merged, objs, n, r);
	dkc_mutex_unlock(&op->reg->lock);
	return err;
}
