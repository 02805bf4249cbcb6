// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * All entries of a table at once: painted from the fallback row up, rule by
 * rule, the strongest rule last. What dkc_evaluate() says of one entry.
 */
#include "registry.h"

static const struct dk_impl dkc_no_impl;	/* nor a fallthrough */

/* Stands in the paint for the entry that serves nobody; never written. */
struct dkc_reg dkc_ambiguous = { .impl = &dkc_no_impl, .id = DKC_ID_AMBIGUOUS };

static void dkc_paint_set(const struct dk_registry *reg, u64 set, struct dkc_reg *r)
{
	const struct dk_layout *l = reg->layout;
	u64 functionalities = set >> l->nb;

	while (functionalities) {
		unsigned int f = dkc_ffs64(functionalities) + 1;
		struct dkc_reg **entry = reg->paint + l->offset[f];
		u64 backends = set & l->backend_mask;

		functionalities &= functionalities - 1;
		if (!dkc_is_per_backend(l, f)) {
			*entry = r;
			continue;
		}
		for (; backends; backends &= backends - 1)
			entry[dkc_ffs64(backends)] = r;
	}
}

static struct dkc_reg *dkc_paint_alias(const struct dk_op *op,
				       const struct dkc_device *dev,
				       enum dkc_alias alias)
{
	const struct dk_layout *l = op->reg->layout;
	struct dkc_reg *r = dkc_top(op, dev, l->alias_key[alias], true);

	if (r)
		dkc_paint_set(op->reg, l->alias_set[alias], r);
	return r;
}

/*
 * CompositeImplicitAutograd: everywhere but at the autograd keys whose backend
 * has a function of its own; it does not serve at all beside
 * CompositeExplicitAutograd, but its ambiguity with AutogradOther stays.
 */
static void dkc_paint_implicit(const struct dk_op *op, const struct dkc_device *dev)
{
	const struct dk_layout *l = op->reg->layout;
	unsigned int autograd = l->role[DKC_ROLE_AUTOGRAD];
	unsigned int other = l->role[DKC_ROLE_AUTOGRAD_OTHER];
	unsigned int nested = l->role[DKC_ROLE_AUTOGRAD_NESTED];
	struct dkc_reg *r = dkc_top(op, dev, l->alias_key[DKC_ALIAS_IMPLICIT], true);
	u64 set = l->alias_set[DKC_ALIAS_IMPLICIT];
	unsigned int b;

	if (!r)
		return;
	if (!dkc_top(op, dev, l->alias_key[DKC_ALIAS_EXPLICIT], true)) {
		op->reg->paint[0] = r;
		if (dkc_any_in(op, dev, dkc_autograd_backends(l, nested, 0), true))
			set &= ~dkc_functionality_bit(l, nested);
		dkc_paint_set(op->reg, set & ~dkc_functionality_bit(l, autograd), r);
		for (b = 1; b <= l->nb; b++)
			if (!dkc_any_in(op, dev,
					dkc_autograd_backends(l, autograd, b), true))
				op->reg->paint[l->offset[autograd] + b - 1] = r;
	}
	if (dkc_any_in(op, dev, l->autogradother_backends, true))
		op->reg->paint[l->offset[other]] = &dkc_ambiguous;
}

/* One registration at a runtime key, unless a newer one was there. */
static void dkc_paint_one(const struct dk_registry *reg, struct dkc_reg *r, u64 *done)
{
	u64 bit = 1ULL << (r->slot & 63);

	if (!r->slot || (done[r->slot >> 6] & bit) || !dkc_visible(r, true))
		return;
	done[r->slot >> 6] |= bit;
	reg->paint[r->slot] = r;
}

/* The registrations at runtime keys, newest first, a device's before. */
static void dkc_paint_direct(const struct dk_op *op, const struct dkc_device *dev)
{
	u64 done[DKC_MAX_ENTRIES / 64] = { 0 };
	struct dkc_reg *r;
	u32 i;

	for (i = dev ? dev->block->n : 0; i; i--)
		if (dev->block->regs[i - 1].op == op)
			dkc_paint_one(op->reg, &dev->block->regs[i - 1], done);
	for (r = dkc_deref_locked(op->regs); r; r = dkc_deref_locked(r->next))
		dkc_paint_one(op->reg, r, done);
}

void dkc_paint(const struct dk_op *op, const struct dkc_device *dev)
{
	struct dk_registry *reg = op->reg;
	struct dkc_reg *r;
	unsigned int i;

	for (i = 0; i < reg->layout->num_entries; i++)
		reg->paint[i] = dkc_fallback_at(op, i, true);
	dkc_paint_alias(op, dev, DKC_ALIAS_BATCHED);
	dkc_paint_alias(op, dev, DKC_ALIAS_AUTOGRAD);
	dkc_paint_implicit(op, dev);
	dkc_paint_alias(op, dev, DKC_ALIAS_NESTED);
	r = dkc_paint_alias(op, dev, DKC_ALIAS_EXPLICIT);
	if (r)
		reg->paint[0] = r;
	r = dkc_paint_alias(op, dev, DKC_ALIAS_NON_FUNCTIONAL);
	if (r)
		reg->paint[0] = r;
	dkc_paint_direct(op, dev);
}
