// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Reports what serves an entry, where a call is routed, and by which rule. Reads the function from
 * the published table, as a call does. Computes the rule, because tables do not record it.
 */
#include "observe.h"

const char *dk_provenance_name(enum dk_provenance prov)
{
	static const char * const names[] = {
		[DK_PROV_MISSING] = "missing",
		[DK_PROV_KERNEL] = "kernel",
		[DK_PROV_DEFAULT_BACKEND] = "default backend kernel",
		[DK_PROV_NESTED] = "nested kernel",
		[DK_PROV_AMBIGUOUS] = "ambiguous autogradother",
		[DK_PROV_MATH] = "math kernel",
		[DK_PROV_AUTOGRAD] = "autograd kernel",
		[DK_PROV_BATCHED] = "batched kernel",
		[DK_PROV_FALLBACK] = "backend fallback",
		[DK_PROV_NO_ENTRY] = "backend fallback not registered on mobile",
	};

	return names[(unsigned int)prov < ARRAY_SIZE(names) ? prov : DK_PROV_MISSING];
}

/* @r is NULL if nothing serves the entry. */
static void entry_fill(struct dk_entry *e, const struct dkc_reg *r, enum dk_provenance prov)
{
	*e = (struct dk_entry){ .size = sizeof(*e), .provenance = prov };
	if (!r)
		return;
	e->is_fallthrough = dkc_is_fallthrough(r);
	e->device = dkc_block_of(r)->device;
	dkc_reg_names(r, e->label, e->provider, e->device_name);
}

struct dkc_pick dkc_serves(const struct dk_op *op, const struct dkc_device *dev, unsigned int slot)
{
	const struct dkc_table *table = dkc_deref_locked(op->base, op->reg);
	struct dkc_pick pick = dkc_evaluate(op, dev, slot, NULL);

	dkc_assert_writer(op->reg);
	if (table && dkc_has_entry(op->reg->layout, slot)) {
		table = dkc_table_of_device(table, dev ? dev->number : 0);
		pick.reg = dkc_table_reg(op, table, slot);
	}
	return pick;
}

int dk_op_entry(struct dk_op *op, __u32 device, unsigned int slot, struct dk_entry *e)
{
	const struct dkc_device *dev;
	struct dk_registry *reg;
	struct dkc_pick pick;

	if (!op)
		return -ENOENT;
	reg = op->reg;
	if (slot >= reg->layout->num_entries || e->size != sizeof(*e))
		return -EINVAL;
	mutex_lock(&reg->lock);
	dev = dkc_device_at(reg, device);
	if (dev || !device) {
		pick = dkc_serves(op, dev, slot);
		entry_fill(e, pick.reg, pick.prov);
	}
	mutex_unlock(&reg->lock);
	return dev || !device ? 0 : -ENODEV;
}

int dkc_route(struct dk_op *op, u64 merged, const struct dk_obj *const *objs,
	      unsigned int n, struct dk_route *r)
{
	struct dk_registry *reg = op->reg;
	struct dkc_request req = { .objs = objs, .n = n, .mask = true, .ks = merged };
	const struct dkc_table *table = dkc_table_of_op(op);
	enum dk_provenance rule;
	u32 device;
	int err;

	dkc_assert_writer(reg);
	r->raw.bits = dk__raw(objs, n);
	err = dkc_find(op, table, &req);
	/* calls of an undefined operator fail, but the route is reported as if it were defined */
	if (table->kind == DKC_TABLE_UNDEFINED && dkc_deref_locked(op->base, op->reg))
		dkc_find(op, dkc_deref_locked(op->base, op->reg), &req);
	if (!err && (op->flags & DK_OP_SAME_DEVICE) &&
	    dkc_on_two_devices(reg, NULL, objs, n))
		err = -EXDEV;
	r->effective.bits = req.ks;
	r->slot = dk_keyset_slot(reg->layout, DK_KEYSET(req.ks));
	device = dkc_device_of(reg->layout, req.ks, objs, n);
	rule = dkc_serving(op, dkc_device_online(reg, device), req.ks, NULL).prov;
	if (!req.reg && rule != DK_PROV_AMBIGUOUS && rule != DK_PROV_NO_ENTRY)
		rule = DK_PROV_MISSING;
	entry_fill(&r->entry, req.reg, rule);
	return err;
}

int dk_op_route(struct dk_op *op, struct dk_keyset included, struct dk_keyset excluded,
		const struct dk_obj *const *objs, unsigned int n, struct dk_route *r)
{
	u64 merged;
	int err;

	if (!op)
		return -ENOENT;
	if (r->size != sizeof(*r))
		return -EINVAL;
	merged = dkc_merge(dk__raw(objs, n), included.bits, excluded.bits,
			   op->reg->layout->backend_mask);
	mutex_lock(&op->reg->lock);
	err = dkc_route(op, merged, objs, n, r);
	mutex_unlock(&op->reg->lock);
	return err;
}
