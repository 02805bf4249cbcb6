// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The precedence rules of PyTorch for one table entry (SEMANTICS 7.2).
 *
 * This is the evaluator: it names the rule, it serves where no row could be
 * built, and it is what painted rows are checked against.
 */
#include "registry.h"

/* What a device has of an operator; the later of a table is the newer. */
static struct dkc_reg *dkc_device_top(const struct dk_op *op,
				      const struct dkc_device *dev,
				      unsigned int key, bool writer)
{
	struct dkc_block *b = dev->block;
	u32 i;

	for (i = b->n; i; i--) {
		struct dkc_reg *r = &b->regs[i - 1];

		if (r->op == op && r->key == key && dkc_visible(r, writer))
			return r;
	}
	return NULL;
}

/* A device's registrations lie on top of those without a device. */
struct dkc_reg *dkc_top(const struct dk_op *op, const struct dkc_device *dev,
			unsigned int key, bool writer)
{
	struct dkc_reg *r = NULL;

	if (!key)
		return NULL;
	if (dev)
		r = dkc_device_top(op, dev, key, writer);
	if (r)
		return r;
	for (r = dkc_deref(op->regs); r; r = dkc_deref(r->next))
		if (r->key == key && dkc_visible(r, writer))
			return r;
	return NULL;
}

/* Does it sit at a key, other than an alias, that lies in this set? */
static bool dkc_lies_in(const struct dkc_reg *r, u64 set, bool writer)
{
	return r->bits && !(r->bits & ~set) && dkc_visible(r, writer);
}

/* Does a key with a function, other than an alias, lie in this set? */
bool dkc_any_in(const struct dk_op *op, const struct dkc_device *dev, u64 set,
		bool writer)
{
	struct dkc_reg *r;
	u32 i;

	if (!set)
		return false;
	for (i = 0; dev && i < dev->block->n; i++)
		if (dev->block->regs[i].op == op &&
		    dkc_lies_in(&dev->block->regs[i], set, writer))
			return true;
	for (r = dkc_deref(op->regs); r; r = dkc_deref(r->next))
		if (dkc_lies_in(r, set, writer))
			return true;
	return false;
}

/* getBackendKeySetFromAutograd() of a runtime key. */
u64 dkc_autograd_backends(const struct dk_layout *l, unsigned int f, unsigned int b)
{
	if (!f)
		return 0;
	if (f == l->role[DKC_ROLE_AUTOGRAD_OTHER])
		return l->autogradother_backends;
	if (f == l->role[DKC_ROLE_AUTOGRAD_NESTED])
		return dkc_functionality_bit(l, l->role[DKC_ROLE_NESTED_TENSOR]) |
		       l->backend_mask;
	if (f == l->role[DKC_ROLE_AUTOGRAD] && b && (l->from_autograd >> (b - 1) & 1))
		return dkc_functionality_bit(l, l->role[DKC_ROLE_DENSE]) |
		       1ULL << (b - 1);
	return 0;
}

/* A fallback that may sleep does not serve an operator that must not. */
struct dkc_reg *dkc_fallback_at(const struct dk_op *op, unsigned int slot,
				bool writer)
{
	const struct dk_registry *reg = op->reg;
	struct dkc_reg *r = dkc_deref(reg->fallback[slot]);

	if (r && dkc_visible(r, writer) &&
	    (!(dkc_load(op->flags) & DK_OP_ATOMIC) ||
	     (r->impl->flags & DK_IMPL_F_ATOMIC)))
		return r;
	return reg->stock[slot];
}

/* One entry that is being evaluated: (functionality, backend) and its set. */
struct dkc_at {
	const struct dk_op *op;
	const struct dkc_device *dev;
	bool writer;
	unsigned int f;
	unsigned int b;
	u64 bits;
};

static const struct dkc_reg *dkc_alias_top(const struct dkc_at *at,
					   enum dkc_alias alias)
{
	return dkc_top(at->op, at->dev, at->op->reg->layout->alias_key[alias],
		       at->writer);
}

static bool dkc_in_alias(const struct dkc_at *at, enum dkc_alias alias)
{
	return at->bits && !(at->bits & ~at->op->reg->layout->alias_set[alias]);
}

/* Rules 2 and 3: the two explicit aliases; they serve Undefined too. */
static const struct dkc_reg *dkc_rule_explicit(const struct dkc_at *at)
{
	const struct dkc_reg *r = NULL;

	if (!at->f || dkc_in_alias(at, DKC_ALIAS_NON_FUNCTIONAL))
		r = dkc_alias_top(at, DKC_ALIAS_NON_FUNCTIONAL);
	if (!r && (!at->f || dkc_in_alias(at, DKC_ALIAS_EXPLICIT)))
		r = dkc_alias_top(at, DKC_ALIAS_EXPLICIT);
	return r;
}

/* Rules 4 and 6: implicit, unless a backend has its own or it is ambiguous. */
static bool dkc_rule_implicit(const struct dkc_at *at, struct dkc_pick *pick)
{
	const struct dk_layout *l = at->op->reg->layout;
	const struct dkc_reg *r;

	if (at->f && !dkc_in_alias(at, DKC_ALIAS_IMPLICIT))
		return false;
	r = dkc_alias_top(at, DKC_ALIAS_IMPLICIT);
	if (!r)
		return false;
	if (at->f && at->f == l->role[DKC_ROLE_AUTOGRAD_OTHER] &&
	    dkc_any_in(at->op, at->dev, l->autogradother_backends, at->writer)) {
		pick->prov = DK_PROV_AMBIGUOUS;
		return true;
	}
	if (dkc_alias_top(at, DKC_ALIAS_EXPLICIT) ||
	    dkc_any_in(at->op, at->dev, dkc_autograd_backends(l, at->f, at->b),
		       at->writer))
		return false;
	pick->reg = r;
	pick->prov = DK_PROV_MATH;
	return true;
}

static bool dkc_rule_alias(const struct dkc_at *at, enum dkc_alias alias,
			   enum dk_provenance prov, struct dkc_pick *pick)
{
	if (!dkc_in_alias(at, alias))
		return false;
	pick->reg = dkc_alias_top(at, alias);
	pick->prov = prov;
	return pick->reg;
}

struct dkc_pick dkc_evaluate(const struct dk_op *op, const struct dkc_device *dev,
			     unsigned int f, unsigned int b, bool writer)
{
	const struct dk_layout *l = op->reg->layout;
	unsigned int slot = l->offset[f] + (dkc_is_per_backend(l, f) ? b - 1 : 0);
	struct dkc_at at = {
		.op = op, .dev = dev, .writer = writer, .f = f, .b = b,
	};
	struct dkc_pick pick = { NULL, DK_PROV_KERNEL };

	if (f)
		at.bits = dkc_functionality_bit(l, f);
	if (dkc_is_per_backend(l, f))
		at.bits |= 1ULL << (b - 1);
	pick.reg = dkc_top(op, dev, dk_slot_key(l, slot), writer);
	if (pick.reg)
		return pick;
	pick.reg = dkc_rule_explicit(&at);
	pick.prov = DK_PROV_DEFAULT_BACKEND;
	if (pick.reg ||
	    dkc_rule_alias(&at, DKC_ALIAS_NESTED, DK_PROV_NESTED, &pick) ||
	    dkc_rule_implicit(&at, &pick) ||
	    dkc_rule_alias(&at, DKC_ALIAS_AUTOGRAD, DK_PROV_AUTOGRAD, &pick) ||
	    dkc_rule_alias(&at, DKC_ALIAS_BATCHED, DK_PROV_BATCHED, &pick))
		return pick;
	pick.reg = dkc_fallback_at(op, slot, writer);
	pick.prov = pick.reg ? DK_PROV_FALLBACK : DK_PROV_MISSING;
	return pick;
}
