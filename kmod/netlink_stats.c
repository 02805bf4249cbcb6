// SPDX-License-Identifier: GPL-2.0-only
/*
 * stats-get and stats-set: how often each function served each operator.
 */
#include <linux/cpumask.h>
#include <linux/mutex.h>
#include <linux/sched.h>

#include "netlink_impl.h"

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

/* A counter: its number and value, and the function whose it is, or NULL. */
struct dk_nl_stat {
	enum dk_stat_kind kind;
	u32 counter;
	u64 count;
	const struct dkc_reg *reg;
};

/* A number of enum dk_nl_readers. */
static u8 dk_nl_readers = DK_NL_READERS_ALL;
/* Serialises stats-set, so that a request that fails restores the readers it found. */
static DEFINE_MUTEX(dk_nl_stats_set_lock);

bool dk_nl_may_read_counters(struct sk_buff *request)
{
	return READ_ONCE(dk_nl_readers) == DK_NL_READERS_ALL ||
	       netlink_capable(request, CAP_NET_ADMIN);
}

/* ---- whether, and how often in all ---------------------------------------------- */

/* What a counter costs: every processor has a part of it. */
static u32 dk_nl_counter_work(void)
{
	return min_t(u32, num_possible_cpus(), DK_NL_WORK_MAX);
}

static bool dk_nl_total(struct dkc_total *t)
{
	struct dk_registry *reg = dk_registry_default();
	bool is_counted, more;

	do {
		dkc_mutex_lock(&reg->lock);
		/* they may have been switched off in between */
		is_counted = reg->counters;
		more = is_counted &&
		       dkc_total_add(reg, t, DK_NL_WORK_MAX / dk_nl_counter_work());
		/* or off and on again whenever this looks */
		is_counted = is_counted && t->starts <= DK_NL_STARTS_MAX;
		dkc_mutex_unlock(&reg->lock);
		cond_resched();
	} while (more && is_counted);
	return is_counted;
}

bool dk_nl_calls(u64 provider, struct dkc_calls *c)
{
	struct dk_registry *reg = dk_registry_default();
	unsigned int starts = 0;
	bool is_counted, more;
	u64 generation = 0;

	do {
		dkc_mutex_lock(&reg->lock);
		/* restart after a change: new functions would be missing */
		if (!starts || (reg->generation != generation && starts < DK_NL_STARTS_MAX)) {
			if (starts)
				dkc_calls_end(reg, c);
			dkc_calls_begin(reg, c, provider);
			generation = reg->generation;
			starts++;
		}
		/* they may have been switched off in between */
		is_counted = reg->counters;
		more = is_counted &&
		       dkc_calls_sum(reg, c, DK_NL_WORK_MAX / dk_nl_counter_work());
		if (!more)
			dkc_calls_end(reg, c);
		dkc_mutex_unlock(&reg->lock);
		cond_resched();
	} while (more);
	return is_counted;
}

int dispatchkey_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	static const u8 filters[] = { DK_A_STATS_USED, DK_A_STATS_OP, DK_A_STATS_PROVIDER };
	struct dk_stats s = { .size = sizeof(s) };
	struct dkc_total total = {};
	struct sk_buff *answer;
	bool is_told;
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
	is_told = s.is_enabled && dk_nl_may_read_counters(skb) && dk_nl_total(&total);
	if (nla_put_u8(answer, DK_A_STATS_STATE, dk_nl_state(s.is_enabled)) ||
	    nla_put_u8(answer, DK_A_STATS_READERS, READ_ONCE(dk_nl_readers)) ||
	    (is_told &&
	     (nla_put_u64_64bit(answer, DK_A_STATS_COUNT, total.count, DK_A_STATS_PAD) ||
	      nla_put_u64_64bit(answer, DK_A_STATS_GONE, total.gone, DK_A_STATS_PAD) ||
	      nla_put_u64_64bit(answer, DK_A_STATS_UNCOUNTED, s.uncounted,
				DK_A_STATS_PAD))))
		return dk_nl_overrun(answer);
	return dk_nl_reply(info, answer, header);
}

/* The state of the counters, and then a reset. */
static int dk_nl_stats_switch(struct genl_info *info, bool on)
{
	const struct nlattr *state = info->attrs[DK_A_STATS_STATE];
	const struct nlattr *reset = info->attrs[DK_A_STATS_RESET];
	struct dk_diag why = { .size = sizeof(why) };
	int err = 0;

	if (state)
		err = on ? dk_stats_enable(NULL, &why) : dk_stats_disable(NULL, &why);
	if (err)
		return dk_nl_refuse(info->extack, state, &why, err);
	if (reset)
		err = dk_stats_reset(NULL, &why);
	return err ? dk_nl_refuse(info->extack, reset, &why, err) : 0;
}

/* A request that fails leaves the readers as they were. */
static int dk_nl_stats_set(struct genl_info *info, bool on)
{
	const struct nlattr *attr = info->attrs[DK_A_STATS_READERS];
	u8 before, after;
	int err;

	mutex_lock(&dk_nl_stats_set_lock);
	before = dk_nl_readers;
	after = attr ? nla_get_u8(attr) : before;
	/* restrict the readers before calls are counted */
	if (after != DK_NL_READERS_ALL)
		WRITE_ONCE(dk_nl_readers, after);
	err = dk_nl_stats_switch(info, on);
	WRITE_ONCE(dk_nl_readers, err ? before : after);
	mutex_unlock(&dk_nl_stats_set_lock);
	return err;
}

int dispatchkey_nl_stats_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *state = info->attrs[DK_A_STATS_STATE];
	const struct nlattr *reset = info->attrs[DK_A_STATS_RESET];
	bool on = state && nla_get_u8(state) == DK_NL_STATE_ONLINE;

	if (!state && !reset && !info->attrs[DK_A_STATS_READERS])
		return dk_nl_deny(info->extack, NULL,
				  "neither a state, a reset nor readers are given", -EINVAL);
	if (state && !on && reset)
		return dk_nl_deny(info->extack, reset,
				  "what is switched off has nothing to reset", -EINVAL);
	return dk_nl_stats_set(info, on);
}

/* ---- the counters --------------------------------------------------------------- */

struct dk_nl_stats_walk {
	struct dk_nl_walk walk;
	u32 op;		/* place by name */
	u32 stat;	/* which one of its counters */
};

struct dk_nl_stats_filter {
	const struct nlattr *used;
	const struct nlattr *op;
	struct dk_nl_filter impl;
};

/* Reads the counter of what passes. */
static bool dk_nl_stat_passes(const struct dk_op *op, struct dk_nl_stat *s,
			      const struct dk_nl_stats_filter *f)
{
	if (s->reg && dkc_is_fallthrough(s->reg))
		return false;
	if (s->reg ? !dk_nl_filter_passes(&f->impl, op->reg, s->reg) :
		     !!f->impl.provider)
		return false;
	s->count = dkc_counted(op->reg, s->counter);
	return s->count || !f->used;
}

static int dk_nl_put_stat(struct sk_buff *skb, const struct dk_op *op,
			  const struct dk_nl_stat *s)
{
	if (nla_put_string(skb, DK_A_STATS_OP, op->name) ||
	    nla_put_u32(skb, DK_A_STATS_KIND, s->kind) ||
	    (s->reg && dk_nl_put_impl(skb, op->reg, s->reg, &dk_nl_stats_attrs, false)) ||
	    (s->counter &&
	     nla_put_u64_64bit(skb, DK_A_STATS_COUNT, s->count, DK_A_STATS_PAD)))
		return -EMSGSIZE;
	return 0;
}

/* The @i-th counter of an operator: functions, fallbacks, what is missing. */
static bool dk_nl_stat_at(const struct dk_op *op, const struct dk_nl_impls *impls,
			  u32 i, struct dk_nl_stat *s)
{
	const struct dkc_reg *r = NULL;

	if (i < impls->n) {
		r = impls->reg[i];
		*s = (struct dk_nl_stat){ DK_STAT_IMPL, dkc_reg_counter(op, r), 0, r };
		return true;
	}
	i -= impls->n;
	while ((r = dkc_next_fallback(op, r)) && i)
		i--;
	if (r)
		*s = (struct dk_nl_stat){ DK_STAT_FALLBACK, dkc_reg_counter(op, r), 0, r };
	else
		*s = (struct dk_nl_stat){ DK_STAT_MISSING, op->missing, 0, NULL };
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
	while (!err && dk_nl_stat_at(op, &impls, w->stat, &s)) {
		if (dk_nl_stat_passes(op, &s, f))
			err = dk_nl_dump_stat(skb, cb, op, &s);
		if (err)
			break;
		w->stat++;
		err = dk_nl_worked(cb, dk_nl_counter_work());
	}
	dk_nl_impls_put(&impls);
	return err;
}

static int dk_nl_dump_all_stats(struct sk_buff *skb, struct netlink_callback *cb,
				const struct dk_nl_stats_filter *f)
{
	struct dk_registry *reg = dk_registry_default();
	struct dk_nl_stats_walk *w = (void *)cb->ctx;
	struct dk_op *op;
	u32 work;
	int err = 0;

	while (!err && (op = dkc_op_at(reg, w->op))) {
		work = dk_nl_op_work(op);
		err = dkc_op_is_there(op) ? dk_nl_dump_stats_of(skb, cb, f, op) : 0;
		if (err)
			break;
		w->op++;
		w->stat = 0;
		err = dk_nl_worked(cb, work);
	}
	return err;
}

static int dk_nl_dump_stats(struct sk_buff *skb, struct netlink_callback *cb, void *data)
{
	struct dk_registry *reg = dk_registry_default();
	const struct dk_nl_stats_filter *f = data;
	struct dk_nl_walk *w = (void *)cb->ctx;
	struct dk_op *op;
	int err;

	err = w->begun ? 0 : dk_nl_filter_check(&f->impl, reg, cb->extack);
	if (!err && f->op) {
		err = dk_nl_walk_op(cb, f->op, &op);
		if (err || !op || !reg->counters)
			return err;
		return dk_nl_dump_stats_of(skb, cb, f, op);
	}
	return err || !reg->counters ? err : dk_nl_dump_all_stats(skb, cb, f);
}

int dispatchkey_nl_stats_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct nlattr *attrs[DK_A_STATS_MAX + 1];
	struct dk_nl_stats_filter f = {};
	int err;

	BUILD_BUG_ON(sizeof(struct dk_nl_stats_walk) > sizeof(cb->ctx));
	err = dk_nl_dump_begin(cb, attrs, DK_A_STATS_MAX);
	if (!err && !dk_nl_may_read_counters(cb->skb))
		err = dk_nl_deny(cb->extack, NULL, "the counters are for CAP_NET_ADMIN",
				 -EPERM);
	if (err)
		return err;
	f.used = attrs[DK_A_STATS_USED];
	f.op = attrs[DK_A_STATS_OP];
	f.impl.provider = attrs[DK_A_STATS_PROVIDER];
	return dk_nl_walk(skb, cb, !f.op, dk_nl_dump_stats, &f);
}
