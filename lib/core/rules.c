// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The precedence rules of PyTorch for one table entry (SEMANTICS 7.2).
 *
 * This is the evaluator: it names the rule, it serves where no row could be
 * built, and it is what painted rows are checked against.
 */
#include "rules.h"

/* What a device has of an operator; the later of a table is the newer. */
static struct dkc_reg *dkc_device_top(const struct dk_op *op,
				      const struct dkc_device *dev,
				      unsigned int key, const struct dkc_view *view)
{
	struct dkc_block *b = dev->block;
	u32 i;

	dkc_work(DKC_WORK_FUNCTIONS, b->n);
	for (i = b->n; i; i--) {
		struct dkc_reg *r = &b->regs[i - 1];

		if (dkc_reg_op(r) == op && r->key == key && dkc_visible(r, view))
			return r;
	}
	return NULL;
}

/* A device's registrations lie on top of those without a device. */
struct dkc_reg *dkc_top(const struct dk_op *op, const struct dkc_device *dev,
			unsigned int key, const struct dkc_view *view)
{
	struct dkc_reg *r = NULL;

	if (!key)
		return NULL;
	if (dev)
		r = dkc_device_top(op, dev, key, view);
	if (r)
		return r;
	for (r = dkc_without_device(dkc_deref(op->regs)); r;
	     r = dkc_without_device(dkc_next_reg(r))) {
		dkc_work(DKC_WORK_FUNCTIONS, 1);
		if (r->key == key && dkc_visible(r, view))
			return r;
	}
	return NULL;
}

/* Does it sit at a key, other than an alias, that lies in this set? */
static bool dkc_lies_in(const struct dkc_reg *r, const struct dk_layout *l, u64 set,
			const struct dkc_view *view)
{
	u64 bits = dkc_reg_bits(r, l);

	return bits && !(bits & ~set) && dkc_visible(r, view);
}

/* One at a key, other than an alias, that lies in this set; NULL: there is none. */
static const struct dkc_reg *dkc_one_in(const struct dk_op *op,
					const struct dkc_device *dev, u64 set,
					const struct dkc_view *view)
{
	const struct dk_layout *l = op->reg->layout;
	struct dkc_reg *r;
	u32 i;

	if (!set)
		return NULL;
	for (i = 0; dev && i < dev->block->n; i++) {
		dkc_work(DKC_WORK_FUNCTIONS, 1);
		if (dkc_reg_op(&dev->block->regs[i]) == op &&
		    dkc_lies_in(&dev->block->regs[i], l, set, view))
			return &dev->block->regs[i];
	}
	for (r = dkc_without_device(dkc_deref(op->regs)); r;
	     r = dkc_without_device(dkc_next_reg(r))) {
		dkc_work(DKC_WORK_FUNCTIONS, 1);
		if (dkc_lies_in(r, l, set, view))
			return r;
	}
	return NULL;
}

bool dkc_any_in(const struct dk_op *op, const struct dkc_device *dev, u64 set,
		const struct dkc_view *view)
{
	return dkc_one_in(op, dev, set, view);
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
struct dkc_reg *dkc_fallback_of(const struct dk_registry *reg, bool atomic,
				unsigned int slot, const struct dkc_view *view)
{
	struct dkc_reg *r = dkc_deref(reg->fallback[slot]);

	if (r && dkc_visible(r, view) &&
	    (!atomic || (dkc_impl_of(r)->flags & DK_IMPL_F_ATOMIC)))
		return r;
	return reg->stock[slot];
}

struct dkc_reg *dkc_fallback_at(const struct dk_op *op, unsigned int slot,
				const struct dkc_view *view)
{
	return dkc_fallback_of(op->reg, dkc_load(op->flags) & DK_OP_ATOMIC, slot, view);
}

/* ---- the eleven rules ------------------------------------------------------ */

void dkc_at_init(struct dkc_at *at, const struct dk_op *op,
		 const struct dkc_device *dev, unsigned int f, unsigned int b,
		 const struct dkc_view *view)
{
	const struct dk_layout *l = op->reg->layout;

	at->op = op;
	at->dev = dev;
	at->view = view;
	at->f = f;
	at->b = b;
	at->slot = dkc_slot(l, f, b);
	at->bits = f ? dkc_functionality_bit(l, f) : 0;
	if (dkc_is_per_backend(l, f))
		at->bits |= 1ULL << (b - 1);
}

static struct dkc_reg *dkc_alias_top(const struct dkc_at *at, enum dkc_alias alias)
{
	return dkc_top(at->op, at->dev, at->op->reg->layout->alias_key[alias],
		       at->view);
}

static void dkc_take(struct dkc_judged *j, const struct dkc_reg *r,
		     enum dk_provenance prov)
{
	j->verdict = r ? DK_VERDICT_SERVES : DK_VERDICT_NO_IMPL;
	j->pick.reg = r;
	j->pick.prov = prov;
}

/*
 * A rule that goes by an alias: is there a function, and is the entry one that
 * the alias stands for? The two explicit aliases and the implicit one serve
 * Undefined, too.
 */
static void dkc_rule_alias(const struct dkc_at *at, enum dkc_alias alias,
			   bool undefined, enum dk_provenance prov,
			   struct dkc_judged *j)
{
	const struct dk_layout *l = at->op->reg->layout;

	j->key = l->alias_key[alias];
	if (!j->key)
		j->verdict = DK_VERDICT_NO_ALIAS;
	else if (at->f ? at->bits & ~l->alias_set[alias] : !undefined)
		j->verdict = DK_VERDICT_OUTSIDE;
	else
		dkc_take(j, dkc_alias_top(at, alias), prov);
}

/* Rule 4: who keeps CompositeImplicitAutograd away from this entry? */
static void dkc_rule_barred(const struct dkc_at *at, struct dkc_judged *j)
{
	const struct dk_layout *l = at->op->reg->layout;
	u64 backends = dkc_autograd_backends(l, at->f, at->b);

	j->key = l->alias_key[DKC_ALIAS_IMPLICIT];
	j->verdict = DK_VERDICT_BARS;
	j->pick.reg = dkc_alias_top(at, DKC_ALIAS_EXPLICIT);
	if (!j->pick.reg)
		j->pick.reg = dkc_one_in(at->op, at->dev, backends, at->view);
	if (!j->pick.reg)
		j->verdict = DK_VERDICT_BARS_NOT;
}

/* Rule 6: implicit, unless it is ambiguous or rule 4 bars it. */
static void dkc_rule_implicit(const struct dkc_at *at, struct dkc_judged *j)
{
	const struct dk_layout *l = at->op->reg->layout;
	struct dkc_judged barred;

	dkc_rule_alias(at, DKC_ALIAS_IMPLICIT, true, DK_PROV_MATH, j);
	if (j->verdict != DK_VERDICT_SERVES)
		return;
	if (at->f && at->f == l->role[DKC_ROLE_AUTOGRAD_OTHER] &&
	    dkc_any_in(at->op, at->dev, l->autogradother_backends, at->view)) {
		j->verdict = DK_VERDICT_AMBIGUOUS;
		j->pick.reg = NULL;
		j->pick.prov = DK_PROV_AMBIGUOUS;
		return;
	}
	dkc_rule_barred(at, &barred);
	if (barred.verdict == DK_VERDICT_BARS)
		j->verdict = DK_VERDICT_BARRED;
}

void dkc_judge(const struct dkc_at *at, unsigned int rule, struct dkc_judged *j)
{
	const struct dk_layout *l = at->op->reg->layout;

	j->verdict = DK_VERDICT_NO_IMPL;
	j->key = dk_slot_key(l, at->slot);
	j->pick.reg = NULL;
	j->pick.prov = DK_PROV_MISSING;
	switch (rule) {
	case 1:
		dkc_take(j, dkc_top(at->op, at->dev, j->key, at->view), DK_PROV_KERNEL);
		break;
	case 2:
		dkc_rule_alias(at, DKC_ALIAS_NON_FUNCTIONAL, true,
			       DK_PROV_DEFAULT_BACKEND, j);
		break;
	case 3:
		dkc_rule_alias(at, DKC_ALIAS_EXPLICIT, true, DK_PROV_DEFAULT_BACKEND, j);
		break;
	case 4:
		dkc_rule_barred(at, j);
		break;
	case 5:
		dkc_rule_alias(at, DKC_ALIAS_NESTED, false, DK_PROV_NESTED, j);
		break;
	case 6:
		dkc_rule_implicit(at, j);
		break;
	case 7:
		dkc_rule_alias(at, DKC_ALIAS_AUTOGRAD, false, DK_PROV_AUTOGRAD, j);
		break;
	case 8:
		dkc_rule_alias(at, DKC_ALIAS_BATCHED, false, DK_PROV_BATCHED, j);
		break;
	case DKC_RULE_NO_ENTRY:
		j->verdict = DK_VERDICT_HAS_ENTRY;
		if (dkc_has_entry(l, at->f, at->b))
			break;
		j->verdict = DK_VERDICT_NO_ENTRY;
		j->pick.prov = DK_PROV_NO_ENTRY;
		break;
	case 10:
		dkc_take(j, dkc_fallback_at(at->op, at->slot, at->view),
			 DK_PROV_FALLBACK);
		break;
	default:
		j->verdict = DK_VERDICT_MISSING;
	}
}

bool dkc_takes(const struct dkc_judged *j)
{
	return j->verdict == DK_VERDICT_SERVES || j->verdict == DK_VERDICT_AMBIGUOUS ||
	       j->verdict == DK_VERDICT_MISSING || j->verdict == DK_VERDICT_NO_ENTRY;
}

struct dkc_pick dkc_evaluate(const struct dk_op *op, const struct dkc_device *dev,
			     unsigned int f, unsigned int b, const struct dkc_view *view)
{
	struct dkc_judged j;
	struct dkc_at at;
	unsigned int rule = 0;

	dkc_work(DKC_WORK_EVALUATIONS, 1);
	dkc_at_init(&at, op, dev, f, b, view);
	do
		dkc_judge(&at, ++rule, &j);
	while (!dkc_takes(&j));
	return j.pick;
}

struct dkc_pick dkc_serving(const struct dk_op *op, const struct dkc_device *dev,
			    u64 ks, const struct dkc_view *view)
{
	unsigned int f, b;

	if (dk_table_index(op->reg->layout, DK_KEYSET(ks)) < 0)
		return (struct dkc_pick){ NULL, DK_PROV_NO_ENTRY };
	dkc_split(op->reg, ks, &f, &b);
	return dkc_evaluate(op, dev, f, b, view);
}

/* An entry that is not there is no fallthrough. */
bool dkc_falls_through(const struct dk_op *op, const struct dkc_device *dev,
		       unsigned int f, unsigned int b, const struct dkc_view *view)
{
	return dkc_has_entry(op->reg->layout, f, b) &&
	       dkc_is_fallthrough(dkc_evaluate(op, dev, f, b, view).reg);
}
