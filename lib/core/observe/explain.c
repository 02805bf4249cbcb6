// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Explains the route of a call: what the mask removed, the result of each rule for the entry, and
 * how each registration affects the call (enum dk_bearing). To find the latter, the call is
 * routed again with the registration ignored, and the results are compared.
 */
#include "observe.h"

static void route_by_rules(struct dkc_case *c, struct dkc_outcome *o)
{
	const struct dk_layout *l = c->op->reg->layout;
	unsigned int f, b;

	c->evaluations += 1 + fls64((c->merged & l->full) >> l->nb);
	o->ks = dkc_mask_by_rules(c->op, c->dev, c->merged, NULL);
	dkc_split(c->op->reg, o->ks, &f, &b);
	dkc_at_init(&o->at, c->op, c->dev, f, b, NULL);
	o->pick = dkc_serving(c->op, c->dev, o->ks, NULL);
}

void dkc_explain_begin(struct dkc_case *c, const struct dk_op *op,
		       const struct dk_explain *ex)
{
	unsigned int f;

	c->op = op;
	c->dev = dkc_device_online(op->reg, ex->device);
	c->merged = ex->merged.bits;
	c->evaluations = 0;
	dkc_split(op->reg, c->merged, &f, &c->b);
	route_by_rules(c, &c->outcome);
	/* dkc_explain() has evaluated the same number of entries */
	c->evaluations *= 2;
}

static void step_fill(struct dk_step *s, const struct dkc_reg *r)
{
	if (!r)
		return;
	s->has_impl = 1;
	s->impl_key = r->key;
	s->is_fallthrough = dkc_is_fallthrough(r);
	s->is_fallback = dkc_block_of(r)->fallback;
	s->device = dkc_block_of(r)->device;
	dkc_reg_names(r, s->label, s->provider, s->device_name);
}

/*
 * Fills in step *@i if it is about the mask. Otherwise subtracts the number of such steps from *@i.
 */
static bool step_mask(struct dkc_case *c, unsigned int *i, struct dk_step *s)
{
	const struct dk_layout *l = c->op->reg->layout;
	u64 left = (c->merged & l->full & ~c->outcome.ks) >> l->nb;
	struct dkc_rule_result j;
	struct dkc_at at;
	unsigned int f;

	for (; left; left &= ~(1ULL << (f - 1))) {
		f = fls64(left);
		if ((*i)--)
			continue;
		c->evaluations++;
		dkc_at_init(&at, c->op, c->dev, f, c->b, NULL);
		s->kind = DK_STEP_MASK;
		s->key = dk_slot_key(l, at.slot);
		s->rule = dkc_deciding_rule(&at, &j);
		step_fill(s, j.pick.reg);
		return true;
	}
	return false;
}

static void step_rule(struct dkc_case *c, unsigned int rule, struct dk_step *s)
{
	const struct dkc_outcome *o = &c->outcome;
	bool no_entry = o->pick.prov == DK_PROV_NO_ENTRY;
	struct dkc_rule_result j, decides;

	c->evaluations++;
	dkc_apply_rule(&o->at, rule, &j);
	s->kind = DK_STEP_RULE;
	s->rule = rule;
	s->key = j.key;
	s->verdict = j.verdict;
	/* an earlier rule may have a function, but the table has no entry for the key */
	if (no_entry && (rule == DKC_RULE_NO_ENTRY || dkc_decides(&j)))
		s->verdict = DK_VERDICT_NO_ENTRY;
	if (rule > (no_entry ? DKC_RULE_NO_ENTRY : dkc_deciding_rule(&o->at, &decides)))
		s->verdict = DK_VERDICT_NOT_EVALUATED;
	else
		step_fill(s, j.pick.reg);
}

/*
 * Registrations that are offline, overridden, or of a device other than the call's cannot change
 * the route. All others are evaluated.
 */
static enum dk_bearing bearing_of(struct dkc_case *c, const struct dkc_reg *r)
{
	const struct dkc_device *dev = dkc_block_of(r)->dev;
	const struct dkc_outcome *o = &c->outcome;
	struct dkc_outcome without;

	if (o->pick.reg == r)
		return DK_BEARING_SERVES;
	if (dkc_block_of(r)->prov && !dkc_may_serve(r))
		return DK_BEARING_OFFLINE;
	if (!dkc_block_of(r)->fallback && dkc_top(c->op, dev, r->key, NULL) != r)
		return DK_BEARING_OVERRIDDEN;
	if (dev && dev != c->dev)
		return DK_BEARING_NONE;
	c->op->reg->ignored = r;
	route_by_rules(c, &without);
	c->op->reg->ignored = NULL;
	if (without.pick.reg != o->pick.reg || without.pick.prov != o->pick.prov ||
	    without.at.slot != o->at.slot)
		return DK_BEARING_DECIDES;
	return without.ks != o->ks ? DK_BEARING_SET : DK_BEARING_NONE;
}

void dkc_explain(struct dk_op *op, struct dk_keyset included, struct dk_keyset excluded,
		 const struct dk_obj *const *objs, unsigned int n, struct dk_explain *ex)
{
	const struct dk_layout *l = op->reg->layout;

	dkc_assert_writer(op->reg);
	ex->included = included;
	ex->excluded = excluded;
	ex->merged.bits = dkc_merge(dk__raw(objs, n), included.bits, excluded.bits,
				    l->backend_mask);
	ex->device = dkc_device_of(l, ex->merged.bits, objs, n);
	ex->reserved = 0;
	ex->generation = op->reg->generation;
	ex->route.size = sizeof(ex->route);
	ex->error = dkc_route(op, ex->merged.bits, objs, n, &ex->route);
}

int dkc_explain_rule(struct dkc_case *c, unsigned int *i, struct dk_step *step)
{
	*step = (struct dk_step){ .size = sizeof(*step) };
	if (step_mask(c, i, step))
		return 0;
	if (*i >= DKC_NUM_RULES) {
		*i -= DKC_NUM_RULES;
		return -ENOENT;
	}
	step_rule(c, *i + 1, step);
	return 0;
}

int dkc_explain_impl(struct dkc_case *c, const struct dkc_reg *r, struct dk_step *step)
{
	*step = (struct dk_step){ .size = sizeof(*step) };
	if (!r)
		r = dkc_fallback_at(c->op, c->outcome.at.slot, NULL);
	if (!r)
		return -ENOENT;
	c->evaluations++;
	step->kind = DK_STEP_IMPL;
	step->key = r->key;
	step->bearing = bearing_of(c, r);
	step_fill(step, r);
	return 0;
}

int dk_op_explain(struct dk_op *op, struct dk_keyset included, struct dk_keyset excluded,
		  const struct dk_obj *const *objs, unsigned int n, struct dk_explain *ex)
{
	if (ex->size != sizeof(*ex))
		return -EINVAL;
	mutex_lock(&op->reg->lock);
	dkc_explain(op, included, excluded, objs, n, ex);
	mutex_unlock(&op->reg->lock);
	return 0;
}

static int explain_step(struct dk_op *op, const struct dk_explain *ex, unsigned int i,
			struct dk_step *step)
{
	struct dkc_case c;

	dkc_assert_writer(op->reg);
	*step = (struct dk_step){ .size = sizeof(*step) };
	if (ex->generation != op->reg->generation)
		return -EAGAIN;
	dkc_explain_begin(&c, op, ex);
	if (!dkc_explain_rule(&c, &i, step))
		return 0;
	/* dkc_reg_at() returns NULL for the last step, which is about the fallback of the entry */
	return i > op->num_regs ? -ENOENT : dkc_explain_impl(&c, dkc_reg_at(op, i), step);
}

int dk_explain_step(struct dk_op *op, const struct dk_explain *ex, unsigned int i,
		    struct dk_step *step)
{
	int err;

	if (ex->size != sizeof(*ex) || step->size != sizeof(*step))
		return -EINVAL;
	mutex_lock(&op->reg->lock);
	err = explain_step(op, ex, i, step);
	mutex_unlock(&op->reg->lock);
	return err;
}
