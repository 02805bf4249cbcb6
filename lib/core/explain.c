// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Why a call goes where it goes: what the mask took out, what each rule says
 * of the entry, and what each registration has to do with it. The last is not
 * reasoned but tried: the rules are asked again as if it were not there.
 */
#include "see.h"

static void dkc_follow(struct dkc_case *c, struct dkc_end *end)
{
	const struct dk_layout *l = c->op->reg->layout;
	unsigned int f, b;
	u64 left;

	end->ks = c->merged & l->full;
	c->evaluations++;
	for (left = end->ks >> l->nb; left; left &= left - 1) {
		f = dkc_ffs64(left) + 1;
		c->evaluations++;
		if (dkc_falls_through(c->op, c->dev, f, c->b, NULL))
			end->ks &= ~dkc_functionality_bit(l, f);
	}
	dkc_split(c->op->reg, end->ks, &f, &b);
	dkc_at_init(&end->at, c->op, c->dev, f, b, NULL);
	end->pick = dkc_serving(c->op, c->dev, end->ks, NULL);
	end->no_entry = end->pick.prov == DK_PROV_NO_ENTRY;
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
	dkc_follow(c, &c->end);
	/* dkc_explain() did it, too */
	c->evaluations *= 2;
}

static void dkc_step_about(struct dk_step *s, const struct dkc_reg *r)
{
	const struct dkc_block *b;

	if (!r)
		return;
	b = dkc_block_of(r);
	s->has_impl = 1;
	s->impl_key = r->key;
	s->is_fallthrough = dkc_is_fallthrough(r);
	s->is_fallback = dkc_block_of(r)->fallback;
	s->device = b->device;
	dkc_strcpy(s->label, dkc_label_of(r), sizeof(s->label));
	dkc_strcpy(s->provider, b->prov ? b->prov->name : "", sizeof(s->provider));
	dkc_strcpy(s->device_name, b->dev ? b->dev->name : "", sizeof(s->device_name));
}

/* Which rule filled an entry. */
static unsigned int dkc_rule_of(const struct dkc_at *at)
{
	struct dkc_judged j;
	unsigned int rule = 0;

	do
		dkc_judge(at, ++rule, &j);
	while (!dkc_takes(&j));
	return rule;
}

/* Is step *@i one of the mask? Else *@i is counted down by their number. */
static bool dkc_step_mask(struct dkc_case *c, unsigned int *i, struct dk_step *s)
{
	const struct dk_layout *l = c->op->reg->layout;
	u64 left = (c->merged & l->full & ~c->end.ks) >> l->nb;
	struct dkc_at at;
	unsigned int f;

	for (; left; left &= ~(1ULL << (f - 1))) {
		f = dkc_fls64(left);
		if ((*i)--)
			continue;
		c->evaluations++;
		dkc_at_init(&at, c->op, c->dev, f, c->b, NULL);
		s->kind = DK_STEP_MASK;
		s->key = dk_slot_key(l, at.slot);
		s->rule = dkc_rule_of(&at);
		dkc_step_about(s, dkc_evaluate(c->op, c->dev, f, c->b, NULL).reg);
		return true;
	}
	return false;
}

static void dkc_step_rule(struct dkc_case *c, unsigned int rule, struct dk_step *s)
{
	const struct dkc_end *end = &c->end;
	struct dkc_judged j;

	c->evaluations++;
	dkc_judge(&end->at, rule, &j);
	s->kind = DK_STEP_RULE;
	s->rule = rule;
	s->key = j.key;
	s->verdict = j.verdict;
	/* a rule before it may have a function, and nowhere to put it */
	if (end->no_entry && (rule == DKC_RULE_NO_ENTRY || dkc_takes(&j)))
		s->verdict = DK_VERDICT_NO_ENTRY;
	if (rule > (end->no_entry ? DKC_RULE_NO_ENTRY : dkc_rule_of(&end->at)))
		s->verdict = DK_VERDICT_NOT_ASKED;
	else
		dkc_step_about(s, j.pick.reg);
}

/*
 * Only the newest at a key, and of the functions of devices only one of the call's
 * device, can have a part in the call: the rest is known without trying.
 */
static enum dk_bearing dkc_bearing(struct dkc_case *c, const struct dkc_reg *r)
{
	const struct dkc_device *dev = dkc_block_of(r)->dev;
	const struct dkc_end *end = &c->end;
	struct dkc_end without;

	if (end->pick.reg == r)
		return DK_BEARING_SERVES;
	if (dkc_block_of(r)->prov && !dkc_visible(r, NULL))
		return DK_BEARING_OFFLINE;
	if (!dkc_block_of(r)->fallback && dkc_top(c->op, dev, r->key, NULL) != r)
		return DK_BEARING_OVERRIDDEN;
	if (dev && dev != c->dev)
		return DK_BEARING_NONE;
	c->op->reg->aside = r;
	dkc_follow(c, &without);
	c->op->reg->aside = NULL;
	if (without.pick.reg != end->pick.reg || without.pick.prov != end->pick.prov ||
	    without.at.slot != end->at.slot)
		return DK_BEARING_DECIDES;
	return without.ks != end->ks ? DK_BEARING_SET : DK_BEARING_NONE;
}

static void dkc_step_clear(struct dk_step *s)
{
	memset(s, 0, sizeof(*s));
	s->size = sizeof(*s);
}

void dkc_explain(struct dk_op *op, struct dk_keyset included, struct dk_keyset excluded,
		 const struct dk_obj *const *objs, unsigned int n, struct dk_explain *ex)
{
	const struct dk_layout *l = op->reg->layout;

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
	dkc_step_clear(step);
	if (dkc_step_mask(c, i, step))
		return 0;
	if (*i >= DKC_NUM_RULES) {
		*i -= DKC_NUM_RULES;
		return -ENOENT;
	}
	dkc_step_rule(c, *i + 1, step);
	return 0;
}

int dkc_explain_impl(struct dkc_case *c, const struct dkc_reg *r, struct dk_step *step)
{
	dkc_step_clear(step);
	if (!r)
		r = dkc_fallback_at(c->op, c->end.at.slot, NULL);
	if (!r)
		return -ENOENT;
	c->evaluations++;
	step->kind = DK_STEP_IMPL;
	step->key = r->key;
	step->bearing = dkc_bearing(c, r);
	dkc_step_about(step, r);
	return 0;
}

int dk_op_explain(struct dk_op *op, struct dk_keyset included, struct dk_keyset excluded,
		  const struct dk_obj *const *objs, unsigned int n, struct dk_explain *ex)
{
	if (ex->size != sizeof(*ex))
		return -EINVAL;
	dkc_mutex_lock(&op->reg->lock);
	dkc_explain(op, included, excluded, objs, n, ex);
	dkc_mutex_unlock(&op->reg->lock);
	return 0;
}

/* The lock is held. */
static int dkc_explain_step(struct dk_op *op, const struct dk_explain *ex, unsigned int i,
			    struct dk_step *step)
{
	struct dkc_case c;

	dkc_step_clear(step);
	if (ex->generation != op->reg->generation)
		return -EAGAIN;
	dkc_explain_begin(&c, op, ex);
	if (!dkc_explain_rule(&c, &i, step))
		return 0;
	/* the fallback of the entry comes after the last registration */
	return i > op->num_regs ? -ENOENT : dkc_explain_impl(&c, dkc_reg_at(op, i), step);
}

int dk_explain_step(struct dk_op *op, const struct dk_explain *ex, unsigned int i,
		    struct dk_step *step)
{
	int err;

	if (ex->size != sizeof(*ex) || step->size != sizeof(*step))
		return -EINVAL;
	dkc_mutex_lock(&op->reg->lock);
	err = dkc_explain_step(op, ex, i, step);
	dkc_mutex_unlock(&op->reg->lock);
	return err;
}
