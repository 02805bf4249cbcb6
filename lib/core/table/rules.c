// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The evaluator applies PyTorch's rules of precedence to one table entry: SEMANTICS 7.2.
 *
 * Explanations use the evaluator, and so do calls of operators whose table could not be built.
 * Tests compare tables with the results of the evaluator.
 */
#include "rules.h"

/* Views that begin after the first half of a change (@changes is then odd) include the change. */
static bool is_in_view(const struct dkc_block *b, const struct dkc_view *v)
{
	switch (READ_ONCE(b->state)) {
	case DKC_ADDING:
		return v->changes & DKC_HALF_CHANGE;
	case DKC_LIVE:
		return true;
	case DKC_REMOVING:
		return !(v->changes & DKC_HALF_CHANGE);
	default:
		return false;
	}
}

static bool is_at(const struct dkc_reg *r, const struct dk_registry *reg, u32 backends)
{
	return unlikely(backends) && (dkc_reg_bits(r, reg->layout) & backends);
}

/* A fallback at an alias key is one function with several registrations. */
static bool is_ignored(const struct dkc_reg *r, const struct dkc_reg *ignored)
{
	return unlikely(ignored) &&
	       (r == ignored || (dkc_block_of(r)->fallback &&
				 dkc_block_of(r) == dkc_block_of(ignored)));
}

bool dkc_may_serve(const struct dkc_reg *r)
{
	const struct dkc_block *b = dkc_block_of(r);
	const struct dk_registry *reg = b->prov->reg;

	return b->state < DKC_REMOVING && !is_ignored(r, reg->ignored) &&
	       (!b->dev || b->dev->want_online) && !is_at(r, reg, reg->want_offline);
}

/*
 * True if a registration may serve in a view. Does not check whether the registration's device is
 * online: a reader must have checked this, for example with dkc_device_without().
 */
static bool is_visible(const struct dkc_reg *r, const struct dkc_view *view)
{
	const struct dkc_block *b = dkc_block_of(r);

	return view ? is_in_view(b, view) && !is_at(r, b->prov->reg, view->offline) :
		      dkc_may_serve(r);
}

/*
 * Returns the newest registration of @op in the block of a device. Searches the list of @op and the
 * block at the same time, so that the shorter one limits the search: an operator may have functions
 * of many devices, and a device may have functions of many operators.
 */
static struct dkc_reg *first_reg_of(const struct dk_op *op, struct dkc_block *b)
{
	struct dkc_reg *r = dkc_deref(op->regs, op->reg), *last = &b->regs[b->n];

	while (r && dkc_block_of(r) != b) {
		dkc_work(DKC_WORK_FUNCTIONS, 2);
		if (last == b->regs)
			return NULL;
		if (dkc_reg_op(--last) == op)
			return last;
		r = dkc_next_reg(r);
	}
	return r;
}

/*
 * Walks the registrations for objects on @dev in order of precedence: first those of the device,
 * then those without a device, both newest first. Starts and ends with NULL.
 */
static struct dkc_reg *next_reg_on(const struct dk_op *op, const struct dkc_device *dev,
				   struct dkc_reg *r)
{
	struct dkc_reg *next;

	dkc_work(DKC_WORK_FUNCTIONS, 1);
	if (r) {
		next = dkc_next_reg(r);
		if (!r->of_device)
			return dkc_without_device(next);
		/* a device's registrations are consecutive, because they are made together */
		if (next && dkc_block_of(next) == dkc_block_of(r))
			return next;
	} else if (dev) {
		next = first_reg_of(op, dev->block);
		if (next)
			return next;
	}
	return dkc_without_device(dkc_deref(op->regs, op->reg));
}

struct dkc_reg *dkc_top(const struct dk_op *op, const struct dkc_device *dev,
			unsigned int key, const struct dkc_view *view)
{
	struct dkc_reg *r = NULL;

	while (key && (r = next_reg_on(op, dev, r)))
		if (r->key == key && is_visible(r, view))
			return r;
	return NULL;
}

const struct dkc_reg *dkc_one_in(const struct dk_op *op, const struct dkc_device *dev, u64 set,
				 const struct dkc_view *view)
{
	struct dkc_reg *r = NULL;
	u64 bits;

	while (set && (r = next_reg_on(op, dev, r))) {
		bits = dkc_reg_bits(r, op->reg->layout);
		if (bits && !(bits & ~set) && is_visible(r, view))
			return r;
	}
	return NULL;
}

u64 dkc_autograd_backends(const struct dk_layout *l, unsigned int f, unsigned int b)
{
	if (!f)
		return 0;
	if (f == l->role[DKC_ROLE_AUTOGRAD_OTHER])
		return l->constant[DKC_CONST_AUTOGRADOTHER_BACKENDS];
	if (f == l->role[DKC_ROLE_AUTOGRAD_NESTED])
		return dkc_role_bit(l, DKC_ROLE_NESTED_TENSOR) | l->backend_mask;
	if (f == l->role[DKC_ROLE_AUTOGRAD] && (dkc_backend_bit(b) & l->from_autograd))
		return dkc_role_bit(l, DKC_ROLE_DENSE) | dkc_backend_bit(b);
	return 0;
}

/* A provider's fallback that may sleep does not serve atomic operators. */
struct dkc_reg *dkc_fallback_of(const struct dk_registry *reg, bool atomic,
				unsigned int slot, const struct dkc_view *view)
{
	struct dkc_reg *r = dkc_deref(reg->fallback[slot], reg);

	if (r && is_visible(r, view) &&
	    (!atomic || (dkc_impl_of(r)->flags & DK_IMPL_F_ATOMIC)))
		return r;
	return reg->builtin[slot];
}

struct dkc_reg *dkc_fallback_at(const struct dk_op *op, unsigned int slot,
				const struct dkc_view *view)
{
	return dkc_fallback_of(op->reg, READ_ONCE(op->flags) & DK_OP_ATOMIC, slot, view);
}

/* ---- the eleven rules ------------------------------------------------------ */

void dkc_at_init(struct dkc_at *at, const struct dk_op *op,
		 const struct dkc_device *dev, unsigned int slot,
		 const struct dkc_view *view)
{
	const struct dk_layout *l = op->reg->layout;

	at->op = op;
	at->dev = dev;
	at->view = view;
	at->f = l->slot_functionality[slot];
	at->b = slot - l->offset[at->f] + 1;
	at->slot = slot;
}

static struct dkc_reg *alias_top(const struct dkc_at *at, enum dkc_alias alias)
{
	return dkc_top(at->op, at->dev, at->op->reg->layout->alias_key[alias], at->view);
}

static void serve(struct dkc_rule_result *j, const struct dkc_reg *r, enum dk_provenance prov)
{
	j->verdict = r ? DK_VERDICT_SERVES : DK_VERDICT_NO_IMPL;
	j->pick.reg = r;
	j->pick.prov = prov;
}

/* Applies a rule for an alias, whose function serves the entries in the alias set. */
static void rule_alias(const struct dkc_at *at, enum dkc_alias alias, struct dkc_rule_result *j)
{
	static const u8 provenances[DKC_NUM_ALIASES] = {
		[DKC_ALIAS_NON_FUNCTIONAL] = DK_PROV_DEFAULT_BACKEND,
		[DKC_ALIAS_EXPLICIT] = DK_PROV_DEFAULT_BACKEND,
		[DKC_ALIAS_NESTED] = DK_PROV_NESTED,
		[DKC_ALIAS_IMPLICIT] = DK_PROV_MATH,
		[DKC_ALIAS_AUTOGRAD] = DK_PROV_AUTOGRAD,
		[DKC_ALIAS_BATCHED] = DK_PROV_BATCHED,
	};
	const struct dk_layout *l = at->op->reg->layout;
	u64 bits = dk_key_set(l, dk_slot_key(l, at->slot)).bits;

	j->key = l->alias_key[alias];
	if (!j->key)
		j->verdict = DK_VERDICT_NO_ALIAS;
	else if (at->f ? bits & ~l->alias_set[alias] : !dkc_alias_has_undefined(alias))
		j->verdict = DK_VERDICT_OUTSIDE;
	else
		serve(j, alias_top(at, alias), provenances[alias]);
}

/* Applies rule 4: finds a registration that bars CompositeImplicitAutograd from an entry. */
static void rule_barred(const struct dkc_at *at, struct dkc_rule_result *j)
{
	const struct dk_layout *l = at->op->reg->layout;
	u64 backends = dkc_autograd_backends(l, at->f, at->b);

	j->key = l->alias_key[DKC_ALIAS_IMPLICIT];
	j->verdict = DK_VERDICT_BARS;
	j->pick.reg = alias_top(at, DKC_ALIAS_EXPLICIT);
	if (!j->pick.reg)
		j->pick.reg = dkc_one_in(at->op, at->dev, backends, at->view);
	if (!j->pick.reg)
		j->verdict = DK_VERDICT_BARS_NOT;
}

/* Applies rule 6: CompositeImplicitAutograd, unless it is ambiguous or rule 4 bars it. */
static void rule_implicit(const struct dkc_at *at, struct dkc_rule_result *j)
{
	const struct dk_layout *l = at->op->reg->layout;
	struct dkc_rule_result barred;

	rule_alias(at, DKC_ALIAS_IMPLICIT, j);
	if (j->verdict != DK_VERDICT_SERVES)
		return;
	if (at->f && at->f == l->role[DKC_ROLE_AUTOGRAD_OTHER] &&
	    dkc_one_in(at->op, at->dev, l->constant[DKC_CONST_AUTOGRADOTHER_BACKENDS], at->view)) {
		j->verdict = DK_VERDICT_AMBIGUOUS;
		j->pick.reg = NULL;
		j->pick.prov = DK_PROV_AMBIGUOUS;
		return;
	}
	rule_barred(at, &barred);
	if (barred.verdict == DK_VERDICT_BARS)
		j->verdict = DK_VERDICT_BARRED;
}

void dkc_apply_rule(const struct dkc_at *at, unsigned int rule, struct dkc_rule_result *j)
{
	static const u8 alias_of_rule[] = {
		[2] = DKC_ALIAS_NON_FUNCTIONAL, [3] = DKC_ALIAS_EXPLICIT, [5] = DKC_ALIAS_NESTED,
		[7] = DKC_ALIAS_AUTOGRAD, [8] = DKC_ALIAS_BATCHED,
	};
	const struct dk_layout *l = at->op->reg->layout;

	j->verdict = DK_VERDICT_NO_IMPL;
	j->key = dk_slot_key(l, at->slot);
	j->pick.reg = NULL;
	j->pick.prov = DK_PROV_MISSING;
	switch (rule) {
	case 1:
		serve(j, dkc_top(at->op, at->dev, j->key, at->view), DK_PROV_KERNEL);
		break;
	case 2:
	case 3:
	case 5:
	case 7:
	case 8:
		rule_alias(at, alias_of_rule[rule], j);
		break;
	case 4:
		rule_barred(at, j);
		break;
	case 6:
		rule_implicit(at, j);
		break;
	case DKC_RULE_NO_ENTRY:
		j->verdict = DK_VERDICT_HAS_ENTRY;
		if (dkc_has_entry(l, at->slot))
			break;
		j->verdict = DK_VERDICT_NO_ENTRY;
		j->pick.prov = DK_PROV_NO_ENTRY;
		break;
	case 10:
		serve(j, dkc_fallback_at(at->op, at->slot, at->view), DK_PROV_FALLBACK);
		break;
	default:
		j->verdict = DK_VERDICT_MISSING;
	}
}

bool dkc_decides(const struct dkc_rule_result *j)
{
	return j->verdict == DK_VERDICT_SERVES || j->verdict == DK_VERDICT_AMBIGUOUS ||
	       j->verdict == DK_VERDICT_MISSING || j->verdict == DK_VERDICT_NO_ENTRY;
}

unsigned int dkc_deciding_rule(const struct dkc_at *at, struct dkc_rule_result *j)
{
	unsigned int rule = 0;

	do
		dkc_apply_rule(at, ++rule, j);
	while (!dkc_decides(j));
	return rule;
}

struct dkc_pick dkc_evaluate(const struct dk_op *op, const struct dkc_device *dev,
			     unsigned int slot, const struct dkc_view *view)
{
	struct dkc_rule_result j;
	struct dkc_at at;

	dkc_work(DKC_WORK_EVALUATIONS, 1);
	dkc_at_init(&at, op, dev, slot, view);
	dkc_deciding_rule(&at, &j);
	return j.pick;
}

struct dkc_pick dkc_serving(const struct dk_op *op, const struct dkc_device *dev,
			    u64 ks, const struct dkc_view *view)
{
	const struct dk_layout *l = op->reg->layout;

	if (dk_table_index(l, DK_KEYSET(ks)) < 0)
		return (struct dkc_pick){ NULL, DK_PROV_NO_ENTRY };
	return dkc_evaluate(op, dev, dk_keyset_slot(l, DK_KEYSET(ks)), view);
}

/* A key without an entry in a trimmed table never falls through. */
bool dkc_falls_through(const struct dk_op *op, const struct dkc_device *dev,
		       unsigned int slot, const struct dkc_view *view)
{
	return dkc_has_entry(op->reg->layout, slot) &&
	       dkc_is_fallthrough(dkc_evaluate(op, dev, slot, view).reg);
}

u64 dkc_mask_by_rules(const struct dk_op *op, const struct dkc_device *dev, u64 ks,
		      const struct dkc_view *view)
{
	const struct dk_layout *l = op->reg->layout;
	unsigned int f, b = dk_keyset_backend(l, DK_KEYSET(ks));
	u64 left;

	ks &= l->full;
	for (left = ks >> l->nb; left; left &= left - 1) {
		f = __ffs64(left) + 1;
		if (dkc_falls_through(op, dev, dkc_slot(l, f, b), view))
			ks &= ~dkc_functionality_bit(l, f);
	}
	return ks;
}
