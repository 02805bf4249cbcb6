// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Why a call goes where it goes: what the mask took out, what each rule says
 * of the entry, and what each registration has to do with it. The last is not
 * reasoned but tried: the rules are asked again as if it were not there.
 */
#include "rules.h"
#include "see.h"

/* A call, as the rules see it. */
struct dkc_case {
	const struct dk_op *op;
	const struct dkc_device *dev;
	u64 merged;
	unsigned int b;		/* whose mask it is */
};

/* Where it ends. */
struct dkc_end {
	u64 ks;
	struct dkc_at at;
	struct dkc_pick pick;
	bool no_entry;		/* in a trimmed table */
};

static void dkc_case_init(struct dkc_case *c, const struct dk_op *op,
			  const struct dk_explain *ex)
{
	unsigned int f;

	c->op = op;
	c->dev = dkc_device_online(op->reg, ex->device);
	c->merged = ex->merged.bits;
	dkc_split(op->reg, c->merged, &f, &c->b);
}

static struct dkc_pick dkc_pick_of(const struct dkc_case *c, unsigned int f)
{
	return dkc_evaluate(c->op, c->dev, f, c->b, NULL);
}

static void dkc_follow(const struct dkc_case *c, struct dkc_end *end)
{
	const struct dk_layout *l = c->op->reg->layout;
	unsigned int f, b;
	u64 left;

	end->ks = c->merged & l->full;
	for (left = end->ks >> l->nb; left; left &= left - 1) {
		f = dkc_ffs64(left) + 1;
		if (dkc_falls_through(c->op, c->dev, f, c->b, NULL))
			end->ks &= ~dkc_functionality_bit(l, f);
	}
	dkc_split(c->op->reg, end->ks, &f, &b);
	dkc_at_init(&end->at, c->op, c->dev, f, b, NULL);
	end->pick = dkc_serving(c->op, c->dev, end->ks, NULL);
	end->no_entry = end->pick.prov == DK_PROV_NO_ENTRY;
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
	s->is_fallback = !r->op;
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
static bool dkc_step_mask(const struct dkc_case *c, unsigned int *i, struct dk_step *s)
{
	const struct dk_layout *l = c->op->reg->layout;
	u64 left = (c->merged & l->full) >> l->nb;
	struct dkc_at at;

	while (left) {
		unsigned int f = dkc_fls64(left);
		struct dkc_pick pick = dkc_pick_of(c, f);

		left &= ~(1ULL << (f - 1));
		if (!dkc_falls_through(c->op, c->dev, f, c->b, NULL) || (*i)--)
			continue;
		dkc_at_init(&at, c->op, c->dev, f, c->b, NULL);
		s->kind = DK_STEP_MASK;
		s->key = dk_slot_key(l, at.slot);
		s->rule = dkc_rule_of(&at);
		dkc_step_about(s, pick.reg);
		return true;
	}
	return false;
}

static void dkc_step_rule(const struct dkc_end *end, unsigned int rule,
			  struct dk_step *s)
{
	struct dkc_judged j;

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

static enum dk_bearing dkc_bearing(const struct dkc_case *c, const struct dkc_end *end,
				   const struct dkc_reg *r)
{
	struct dkc_end without;

	if (end->pick.reg == r)
		return DK_BEARING_SERVES;
	if (dkc_block_of(r)->prov && !dkc_visible(r, NULL))
		return DK_BEARING_OFFLINE;
	c->op->reg->aside = r;
	dkc_follow(c, &without);
	c->op->reg->aside = NULL;
	if (without.pick.reg != end->pick.reg || without.pick.prov != end->pick.prov ||
	    without.at.slot != end->at.slot)
		return DK_BEARING_DECIDES;
	if (without.ks != end->ks)
		return DK_BEARING_SET;
	if (r->op && dkc_top(c->op, dkc_block_of(r)->dev, r->key, NULL) != r)
		return DK_BEARING_OVERRIDDEN;
	return DK_BEARING_NONE;
}

static void dkc_step_impl(const struct dkc_case *c, const struct dkc_end *end,
			  const struct dkc_reg *r, struct dk_step *s)
{
	s->kind = DK_STEP_IMPL;
	s->key = r->key;
	s->bearing = dkc_bearing(c, end, r);
	dkc_step_about(s, r);
}

/* The @i-th registration, or behind them the fallback of the entry. */
static const struct dkc_reg *dkc_step_impl_at(const struct dkc_case *c,
					      const struct dkc_end *end,
					      unsigned int i)
{
	const struct dkc_reg *r = dkc_reg_at(c->op, i);

	if (!r && i == c->op->num_regs)
		r = dkc_fallback_at(c->op, end->at.slot, NULL);
	return r;
}

static int dkc_step(const struct dkc_case *c, unsigned int i, struct dk_step *s)
{
	const struct dkc_reg *r;
	struct dkc_end end;

	if (dkc_step_mask(c, &i, s))
		return 0;
	dkc_follow(c, &end);
	if (i < DKC_NUM_RULES) {
		dkc_step_rule(&end, i + 1, s);
		return 0;
	}
	r = dkc_step_impl_at(c, &end, i - DKC_NUM_RULES);
	if (!r)
		return -ENOENT;
	dkc_step_impl(c, &end, r, s);
	return 0;
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
	ex->merged.bits = dkc_merge(dkc_raw(objs, n), included.bits, excluded.bits,
				    l->backend_mask);
	ex->device = dkc_device_of(l, ex->merged.bits, objs, n);
	ex->reserved = 0;
	ex->generation = op->reg->generation;
	ex->route.size = sizeof(ex->route);
	ex->error = dkc_route(op, ex->merged.bits, objs, n, &ex->route);
}

int dkc_explain_step(struct dk_op *op, const struct dk_explain *ex, unsigned int i,
		     struct dk_step *step)
{
	struct dkc_case c;

	dkc_step_clear(step);
	if (ex->generation != op->reg->generation)
		return -EAGAIN;
	dkc_case_init(&c, op, ex);
	return dkc_step(&c, i, step);
}

int dkc_explain_impl(struct dk_op *op, const struct dk_explain *ex,
		     const struct dkc_reg *r, struct dk_step *step)
{
	struct dkc_case c;
	struct dkc_end end;

	dkc_step_clear(step);
	dkc_case_init(&c, op, ex);
	dkc_follow(&c, &end);
	if (!r)
		r = dkc_fallback_at(op, end.at.slot, NULL);
	if (!r)
		return -ENOENT;
	dkc_step_impl(&c, &end, r, step);
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
