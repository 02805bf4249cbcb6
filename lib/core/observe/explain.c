// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Explains the route of a call: what the mask removed, the result of each rule for the entry, and
 * how each registration affects the call (enum dk_bearing). To find the effect of a registration,
 * the call is routed again as if the registration were absent, and the results are compared.
 */
#include "observe.h"

static void evaluated(struct dkc_case *c)
{
	c->work += dkc_evaluation_work(c->op);
}

static void route_begin(const struct dkc_case *c, struct dkc_outcome *o)
{
	const struct dk_layout *l = c->op->reg->layout;

	*o = (struct dkc_outcome){ .ks = c->merged & l->full };
	o->left = o->ks >> l->nb;
}

/*
 * Masks the set by the rules, as dkc_mask_by_rules() does, and finds what serves the masked set.
 * Returns -EAGAIN when @work reaches @most_work. The next call continues from there.
 */
static int route_by_rules(struct dkc_case *c, struct dkc_outcome *o)
{
	const struct dk_layout *l = c->op->reg->layout;
	unsigned int f;

	for (; o->left; o->left &= o->left - 1) {
		if (c->work >= c->most_work)
			return -EAGAIN;
		evaluated(c);
		f = __ffs64(o->left) + 1;
		if (dkc_falls_through(c->op, c->dev, dkc_slot(l, f, c->b), NULL))
			o->ks &= ~dkc_functionality_bit(l, f);
	}
	if (o->at.op)
		return 0;
	evaluated(c);
	dkc_at_init(&o->at, c->op, c->dev, dk_keyset_slot(l, DK_KEYSET(o->ks)), NULL);
	o->pick = dkc_serving(c->op, c->dev, o->ks, NULL);
	return 0;
}

void dkc_explain_begin(struct dkc_case *c, const struct dk_op *op, const struct dk_explain *ex,
		       u32 most_work)
{
	*c = (struct dkc_case){
		.op = op, .dev = dkc_device_online(op->reg, ex->device),
		.merged = ex->merged.bits, .most_work = most_work,
		.b = dk_keyset_backend(op->reg->layout, ex->merged),
	};
	route_begin(c, &c->outcome);
	evaluated(c);		/* dkc_explain() has evaluated one entry */
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
 * If step *@i is about the mask, fills it in and returns true. Otherwise subtracts the number of
 * steps about the mask from *@i and returns false.
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
		evaluated(c);
		dkc_at_init(&at, c->op, c->dev, dkc_slot(l, f, c->b), NULL);
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

	evaluated(c);
	dkc_apply_rule(&o->at, rule, &j);
	s->kind = DK_STEP_RULE;
	s->rule = rule;
	s->key = j.key;
	s->verdict = j.verdict;
	/* the trimmed table has no entry for the key, even if a rule finds a function */
	if (no_entry && (rule == DKC_RULE_NO_ENTRY || dkc_decides(&j)))
		s->verdict = DK_VERDICT_NO_ENTRY;
	if (rule > (no_entry ? DKC_RULE_NO_ENTRY : dkc_deciding_rule(&o->at, &decides)))
		s->verdict = DK_VERDICT_NOT_EVALUATED;
	else
		step_fill(s, j.pick.reg);
}

/* Routes the call as if @r were not registered. Returns an enum dk_bearing, or -EAGAIN. */
static int bearing_by_trial(struct dkc_case *c, const struct dkc_reg *r)
{
	const struct dkc_outcome *o = &c->outcome, *without = &c->trial;
	int err;

	if (c->ignored != r)
		route_begin(c, &c->trial);
	c->ignored = r;
	c->op->reg->ignored = r;
	err = route_by_rules(c, &c->trial);
	c->op->reg->ignored = NULL;
	if (err)
		return err;
	if (without->pick.reg != o->pick.reg || without->pick.prov != o->pick.prov ||
	    without->at.slot != o->at.slot)
		return DK_BEARING_DECIDES;
	return without->ks != o->ks ? DK_BEARING_SET : DK_BEARING_NONE;
}

/*
 * A registration cannot change the route if it is offline or overridden, or if it belongs to a
 * device other than the call's. For all other registrations, the call is routed again.
 */
static int bearing_of(struct dkc_case *c, const struct dkc_reg *r, bool is_top)
{
	const struct dkc_device *dev = dkc_block_of(r)->dev;

	/* @r is a fallthrough only if the entry is that of Undefined: the call then fails */
	if (c->outcome.pick.reg == r)
		return dkc_is_fallthrough(r) ? DK_BEARING_DECIDES : DK_BEARING_SERVES;
	if (dkc_block_of(r)->prov && !dkc_may_serve(r))
		return DK_BEARING_OFFLINE;
	if (!is_top)
		return DK_BEARING_OVERRIDDEN;
	if (dev && dev != c->dev)
		return DK_BEARING_NONE;
	return bearing_by_trial(c, r);
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
	int err = route_by_rules(c, &c->outcome);

	if (err)
		return err;
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

int dkc_explain_impl(struct dkc_case *c, const struct dkc_reg *r, bool is_top, struct dk_step *step)
{
	int bearing;

	*step = (struct dk_step){ .size = sizeof(*step) };
	if (!r)
		r = dkc_fallback_at(c->op, c->outcome.at.slot, NULL);
	if (!r)
		return -ENOENT;
	bearing = bearing_of(c, r, is_top || dkc_block_of(r)->fallback);
	if (bearing < 0)
		return bearing;
	step->kind = DK_STEP_IMPL;
	step->key = r->key;
	step->bearing = bearing;
	step_fill(step, r);
	return 0;
}

int dk_op_explain(struct dk_op *op, struct dk_keyset included, struct dk_keyset excluded,
		  const struct dk_obj *const *objs, unsigned int n, struct dk_explain *ex)
{
	if (!op)
		return -ENOENT;
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
	const struct dkc_reg *r;
	struct dkc_case c;

	dkc_assert_writer(op->reg);
	*step = (struct dk_step){ .size = sizeof(*step) };
	if (ex->generation != op->reg->generation)
		return -EAGAIN;
	dkc_explain_begin(&c, op, ex, ~0U);
	if (!dkc_explain_rule(&c, &i, step))
		return 0;
	if (i > op->num_regs)
		return -ENOENT;
	/* NULL for the last step, which is about the fallback of the entry */
	r = dkc_reg_at(op, i);
	return dkc_explain_impl(&c, r, r && dkc_top(op, dkc_block_of(r)->dev, r->key, NULL) == r,
				step);
}

int dk_explain_step(struct dk_op *op, const struct dk_explain *ex, unsigned int i,
		    struct dk_step *step)
{
	int err;

	if (!op)
		return -ENOENT;
	if (ex->size != sizeof(*ex) || step->size != sizeof(*step))
		return -EINVAL;
	mutex_lock(&op->reg->lock);
	err = explain_step(op, ex, i, step);
	mutex_unlock(&op->reg->lock);
	return err;
}
