// SPDX-License-Identifier: GPL-2.0-only
/*
 * stats-get and stats-set: how often each function served each operator.
 */
#include <linux/sched.h>

#include "netlink_impl.h"

/* Operators that are summed up before others get the lock. */
#define DK_NL_SUMMED_MAX	256

/* The numbers of the core's enum are those of the protocol. */
static_assert(DK_NL_STAT_IMPL == (int)DK_STAT_IMPL);
static_assert(DK_NL_STAT_MISSING == (int)DK_STAT_MISSING);

static const struct dk_nl_impl_attrs dk_nl_stats_attrs = {
	.key = DK_A_STATS_KEY,
	.key_name = DK_A_STATS_KEY_NAME,
	.label = DK_A_STATS_LABEL,
	.provider = DK_A_STATS_PROVIDER,
	.device = DK_A_STATS_DEVICE,
	.device_name = DK_A_STATS_DEVICE_NAME,
};

/* A counter: its number, and the function whose it is, or NULL. */
struct dk_nl_stat {
	enum dk_stat_kind kind;
	u32 counter;
	const struct dkc_reg *reg;
};

/* ---- whether, and how often in all ---------------------------------------------- */

static u64 dk_nl_op_sum(const struct dk_op *op)
{
	const struct dkc_reg *r = NULL;
	const struct dkc_tally *t;
	u64 sum = dkc_counted(op->reg, op->missing);

	while ((r = dkc_reg_walk(op, r)))
		sum += dkc_counted(op->reg, dkc_reg_counter(r));
	for (t = dkc_deref_locked(op->tallies); t; t = dkc_deref_locked(t->next))
		sum += dkc_counted(op->reg, t->counter);
	return sum;
}

/*
 * Of what a dump tells: an operator that has gone, but is kept, has its counters.
 * What is counted meanwhile is in it or not.
 */
static u64 dk_nl_sum(void)
{
	struct dk_registry *reg = dk_registry_default();
	struct dk_op *op;
	u64 sum = 0;
	u32 n = 0;

	dkc_mutex_lock(&reg->lock);
	/* the counters may have gone since somebody else had the lock */
	while (reg->counters && (op = dkc_op_at(reg, n++))) {
		sum += dkc_op_is_there(op) ? dk_nl_op_sum(op) : 0;
		if (n % DK_NL_SUMMED_MAX)
			continue;
		dkc_mutex_unlock(&reg->lock);
		cond_resched();
		dkc_mutex_lock(&reg->lock);
	}
	dkc_mutex_unlock(&reg->lock);
	return sum;
}

int dispatchkey_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	static const u8 filters[] = { DK_A_STATS_USED, DK_A_STATS_OP, DK_A_STATS_PROVIDER };
	struct dk_stats s = { .size = sizeof(s) };
	struct sk_buff *answer;
	void *header;
	int err;

	err = dk_nl_for_dumps(info, filters, ARRAY_SIZE(filters));
	if (!err)
		err = dk_stats_get(NULL, &s);
	if (err)
		return err;
	answer = dk_nl_answer(info, NLMSG_DEFAULT_SIZE, &header);
	if (!answer)
		return -ENOMEM;
	if (nla_put_u8(answer, DK_A_STATS_STATE, dk_nl_state(s.is_enabled)) ||
	    (s.is_enabled &&
	     (nla_put_u64_64bit(answer, DK_A_STATS_COUNT, dk_nl_sum(),
				DK_A_STATS_PAD) ||
	      nla_put_u64_64bit(answer, DK_A_STATS_UNCOUNTED, s.uncounted,
				DK_A_STATS_PAD))))
		return dk_nl_overrun(answer);
	return dk_nl_reply(info, answer, header);
}

int dispatchkey_nl_stats_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *state = info->attrs[DK_A_STATS_STATE];
	const struct nlattr *reset = info->attrs[DK_A_STATS_RESET];
	struct dk_diag why = { .size = sizeof(why) };
	bool on = state && nla_get_u8(state) == DK_NL_STATE_ONLINE;
	int err = 0;

	if (!state && !reset)
		return dk_nl_deny(info->extack, NULL,
				  "neither a state nor a reset is asked for", -EINVAL);
	if (state && !on && reset)
		return dk_nl_deny(info->extack, reset,
				  "what is switched off has nothing to reset", -EINVAL);
	if (state)
		err = on ? dk_stats_enable(NULL, &why) : dk_stats_disable(NULL, &why);
	if (err)
		return dk_nl_refuse(info->extack, state, &why, err);
	if (reset)
		err = dk_stats_reset(NULL, &why);
	return err ? dk_nl_refuse(info->extack, reset, &why, err) : 0;
}

/* ---- the counters --------------------------------------------------------------- */

struct dk_nl_stats_walk {
	struct dk_nl_walk walk;
	u32 op;		/* place by name */
	u32 stat;	/* which one of its counters */
};

struct dk_nl_stats_filter {
	const struct nlattr *used;
	struct dk_nl_filter impl;
};

static bool dk_nl_stat_passes(const struct dk_op *op, const struct dk_nl_stat *s,
			      const struct dk_nl_stats_filter *f)
{
	if (s->reg && dkc_is_fallthrough(s->reg))
		return false;
	if (f->used && !dkc_counted(op->reg, s->counter))
		return false;
	return s->reg ? dk_nl_filter_passes(&f->impl, op->reg, s->reg) :
			!f->impl.provider;
}

static int dk_nl_put_stat(struct sk_buff *skb, const struct dk_op *op,
			  const struct dk_nl_stat *s)
{
	if (nla_put_string(skb, DK_A_STATS_OP, op->name) ||
	    nla_put_u32(skb, DK_A_STATS_KIND, s->kind) ||
	    (s->reg && dk_nl_put_impl(skb, op->reg, s->reg, &dk_nl_stats_attrs)) ||
	    (s->counter &&
	     nla_put_u64_64bit(skb, DK_A_STATS_COUNT, dkc_counted(op->reg, s->counter),
			       DK_A_STATS_PAD)))
		return -EMSGSIZE;
	return 0;
}

/* The @i-th counter of an operator: functions, fallbacks, what is missing. */
static bool dk_nl_stat_at(const struct dk_op *op, const struct dk_nl_impls *impls,
			  u32 i, struct dk_nl_stat *s)
{
	const struct dkc_tally *t;

	if (i < impls->n) {
		*s = (struct dk_nl_stat){
			DK_STAT_IMPL, dkc_reg_counter(impls->reg[i]), impls->reg[i],
		};
		return true;
	}
	i -= impls->n;
	for (t = dkc_deref_locked(op->tallies); t && i; i--)
		t = dkc_deref_locked(t->next);
	if (t)
		*s = (struct dk_nl_stat){ DK_STAT_FALLBACK, t->counter, t->reg };
	else
		*s = (struct dk_nl_stat){ DK_STAT_MISSING, op->missing, NULL };
	return !i;
}

static int dk_nl_dump_stat(struct sk_buff *skb, struct netlink_callback *cb,
			   const struct dk_op *op, const struct dk_nl_stat *s)
{
	void *header = dk_nl_dump_put(skb, cb);

	if (!header)
		return -EMSGSIZE;
	if (dk_nl_put_stat(skb, op, s)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

static int dk_nl_dump_stats_of(struct sk_buff *skb, struct netlink_callback *cb,
			       const struct dk_nl_stats_filter *f,
			       const struct dk_op *op)
{
	struct dk_nl_stats_walk *w = (void *)cb->ctx;
	struct dk_nl_impls impls;
	struct dk_nl_stat s;
	int err;

	err = dk_nl_impls_get(&impls, op, cb->extack);
	for (; !err && dk_nl_stat_at(op, &impls, w->stat, &s); w->stat += !err)
		if (dk_nl_stat_passes(op, &s, f))
			err = dk_nl_dump_stat(skb, cb, op, &s);
	dk_nl_impls_put(&impls);
	return err;
}

static int dk_nl_dump_stats(struct sk_buff *skb, struct netlink_callback *cb,
			    const struct dk_nl_stats_filter *f)
{
	struct dk_registry *reg = dk_registry_default();
	struct dk_nl_stats_walk *w = (void *)cb->ctx;
	struct dk_op *op;
	int err;

	while (reg->counters && (op = dkc_op_at(reg, w->op))) {
		err = dkc_op_is_there(op) ? dk_nl_dump_stats_of(skb, cb, f, op) : 0;
		if (err)
			return err;
		w->op++;
		w->stat = 0;
		dk_nl_walked(cb);
	}
	return 0;
}

/* A dump of one operator's: it is where the walk stands, if it is there. */
static int dk_nl_dump_stats_one(struct sk_buff *skb, struct netlink_callback *cb,
				const struct dk_nl_stats_filter *f,
				const struct nlattr *name)
{
	struct dk_op *op = dk_nl_op(dk_registry_default(), name, cb->extack);

	if (!op)
		return -ENOENT;
	return op->reg->counters ? dk_nl_dump_stats_of(skb, cb, f, op) : 0;
}

int dispatchkey_nl_stats_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct dk_registry *reg = dk_registry_default();
	struct dk_nl_stats_walk *w = (void *)cb->ctx;
	struct nlattr *attrs[DK_A_STATS_MAX + 1];
	struct dk_nl_stats_filter f = {};
	int err;

	BUILD_BUG_ON(sizeof(*w) > sizeof(cb->ctx));
	err = dk_nl_dump_begin(cb, attrs, DK_A_STATS_MAX);
	if (err)
		return err;
	f.used = attrs[DK_A_STATS_USED];
	f.impl.provider = attrs[DK_A_STATS_PROVIDER];
	dk_nl_walk_lock(cb);
	err = w->walk.begun ? 0 : dk_nl_filter_check(&f.impl, reg, cb->extack);
	if (!err)
		err = attrs[DK_A_STATS_OP] ?
			dk_nl_dump_stats_one(skb, cb, &f, attrs[DK_A_STATS_OP]) :
			dk_nl_dump_stats(skb, cb, &f);
	return dk_nl_walk_unlock(cb, skb, err);
}
