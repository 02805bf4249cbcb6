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

static struct dkc_reg *dkc_paint_alias(const struct dk_op *op, u32 device,
				       enum dkc_alias alias)
{
	const struct dk_layout *l = op->reg->layout;
	struct dkc_reg *r = dkc_top(op, device, l->alias_key[alias], true);

	if (r)
		dkc_paint_set(op->reg, l->alias_set[alias], r);
	return r;
}

/*
 * CompositeImplicitAutograd: everywhere but at the autograd keys whose backend
 * has a function of its own; it does not serve at all beside
 * CompositeExplicitAutograd, but its ambiguity with AutogradOther stays.
 */
static void dkc_paint_implicit(const struct dk_op *op, u32 device)
{
	const struct dk_layout *l = op->reg->layout;
	unsigned int autograd = l->role[DKC_ROLE_AUTOGRAD];
	unsigned int other = l->role[DKC_ROLE_AUTOGRAD_OTHER];
	unsigned int nested = l->role[DKC_ROLE_AUTOGRAD_NESTED];
	struct dkc_reg *r = dkc_top(op, device, l->alias_key[DKC_ALIAS_IMPLICIT], true);
	u64 set = l->alias_set[DKC_ALIAS_IMPLICIT];
	unsigned int b;

	if (!r)
		return;
	if (!dkc_top(op, device, l->alias_key[DKC_ALIAS_EXPLICIT], true)) {
		op->reg->paint[0] = r;
		if (dkc_any_in(op, device, dkc_autograd_backends(l, nested, 0), true))
			set &= ~dkc_functionality_bit(l, nested);
		dkc_paint_set(op->reg, set & ~dkc_functionality_bit(l, autograd), r);
		for (b = 1; b <= l->nb; b++)
			if (!dkc_any_in(op, device,
					dkc_autograd_backends(l, autograd, b), true))
				op->reg->paint[l->offset[autograd] + b - 1] = r;
	}
	if (dkc_any_in(op, device, l->autogradother_backends, true))
		op->reg->paint[l->offset[other]] = &dkc_ambiguous;
}

/* The registrations at runtime keys, newest first. */
static void dkc_paint_direct(const struct dk_op *op, u32 device, u64 *done)
{
	struct dkc_reg *r;

	for (r = dkc_deref_locked(op->regs); r; r = dkc_deref_locked(r->next)) {
		u64 bit = 1ULL << (r->slot & 63);

		if (!r->slot || r->block->device != device ||
		    (done[r->slot >> 6] & bit) || !dkc_visible(r, true))
			continue;
		done[r->slot >> 6] |= bit;
		op->reg->paint[r->slot] = r;
	}
}

void dkc_paint(const struct dk_op *op, u32 device)
{
	struct dk_registry *reg = op->reg;
	u64 done[DKC_MAX_ENTRIES / 64] = { 0 };
	struct dkc_reg *r;
	unsigned int i;

	for (i = 0; i < reg->layout->num_entries; i++)
		reg->paint[i] = dkc_fallback_at(reg, i, true);
	dkc_paint_alias(op, device, DKC_ALIAS_BATCHED);
	dkc_paint_alias(op, device, DKC_ALIAS_AUTOGRAD);
	dkc_paint_implicit(op, device);
	dkc_paint_alias(op, device, DKC_ALIAS_NESTED);
	r = dkc_paint_alias(op, device, DKC_ALIAS_EXPLICIT);
	if (r)
		reg->paint[0] = r;
	r = dkc_paint_alias(op, device, DKC_ALIAS_NON_FUNCTIONAL);
	if (r)
		reg->paint[0] = r;
	if (device)
		dkc_paint_direct(op, device, done);
	dkc_paint_direct(op, 0, done);
}
