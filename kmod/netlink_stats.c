// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command stats-get reports how many calls each function has served for each operator, and
 * stats-set controls the counters.
 */
#include <linux/cpumask.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>

#include "netlink_impl.h"

/* Values of the core's enum are sent as they are. */
static_assert(DK_NL_STAT_IMPL == (int)DK_STAT_IMPL);
static_assert(DK_NL_STAT_MISSING == (int)DK_STAT_MISSING);

static const struct dk_nl_impl_attrs stats_attrs = {
	.key = DK_A_STATS_KEY,
	.key_name = DK_A_STATS_KEY_NAME,
	.label = DK_A_STATS_LABEL,
	.provider = DK_A_STATS_PROVIDER,
	.device = DK_A_STATS_DEVICE,
	.device_name = DK_A_STATS_DEVICE_NAME,
};

/* A counter of an operator, with its value. */
struct dk_nl_stat {
	enum dk_stat_kind kind;
	u32 counter;			/* number of the counter; 0: there is none */
	u64 count;
	const struct dkc_reg *reg;	/* the function, or NULL for missing calls */
};

/*
 * Which users may read counters: a value of enum dk_nl_readers. Written under stats_set_lock. It is
 * read with the registry's lock held, after it is known that calls are counted. stats-set restricts
 * the readers before it enables the counters, so this read then returns the restriction.
 */
static u8 readers = DK_NL_READERS_ALL;
/* Serialises stats-set: a request that fails must restore the previous value of readers. */
static DEFINE_MUTEX(stats_set_lock);

static bool may_read(struct sk_buff *request)
{
	return READ_ONCE(readers) == DK_NL_READERS_ALL ||
	       netlink_capable(request, CAP_NET_ADMIN);
}

/* ---- state and total -------------------------------------------------------------- */

/* Returns the cost of reading a counter, which has a part on every CPU. */
static u32 counter_work(void)
{
	return min_t(u32, num_possible_cpus(), DK_NL_WORK_MAX);
}

bool dk_nl_calls(struct sk_buff *request, struct dkc_calls *c)
{
	struct dk_registry *reg = dk_registry_default();
	bool is_counted, more;
	u64 generation = 0;

	do {
		mutex_lock(&reg->lock);
		/* restart the sum after a change, which may have added functions */
		if (c->provider && reg->generation != generation && c->starts < DK_NL_STARTS_MAX)
			c->times_counted = 0;
		generation = reg->generation;
		/*
		 * while the lock was released, the counters may have been disabled, or their
		 * readers restricted
		 */
		is_counted = reg->counters && may_read(request);
		more = is_counted && dkc_calls_add(reg, c, DK_NL_WORK_MAX, counter_work());
		/* give up if the sum was restarted too often */
		is_counted = is_counted && c->starts <= DK_NL_STARTS_MAX;
		mutex_unlock(&reg->lock);
		cond_resched();
	} while (more && is_counted && !fatal_signal_pending(current));
	return is_counted && !more;
}

int dispatchkey_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct dk_stats s = { .size = sizeof(s) };
	struct nlattr **attrs = info->attrs;
	struct dkc_calls total = {};
	struct sk_buff *answer;
	bool is_reported;
	int err;

	err = dk_nl_forbid(info->extack, attrs[DK_A_STATS_USED] ?: attrs[DK_A_STATS_OP] ?:
			   attrs[DK_A_STATS_PROVIDER], "this filter is allowed only in a dump");
	if (!err)
		err = dk_stats_get(NULL, &s);
	if (err)
		return err;
	answer = dk_nl_answer(info, NLMSG_DEFAULT_SIZE);
	if (!answer)
		return -ENOMEM;
	is_reported = s.is_enabled && dk_nl_calls(skb, &total);
	if (dk_nl_put_state(answer, DK_A_STATS_STATE, s.is_enabled) ||
	    nla_put_u8(answer, DK_A_STATS_READERS, READ_ONCE(readers)) ||
	    (is_reported &&
	     (dk_nl_put_u64(answer, DK_A_STATS_COUNT, total.count, DK_A_STATS_PAD) ||
	      dk_nl_put_u64(answer, DK_A_STATS_GONE, total.gone, DK_A_STATS_PAD) ||
	      dk_nl_put_u64(answer, DK_A_STATS_UNCOUNTED, total.uncounted, DK_A_STATS_PAD))))
		err = -EMSGSIZE;
	return dk_nl_reply(info, answer, err);
}

/* Enables or disables the counters and then resets them, as requested. */
static int stats_switch(struct genl_info *info, bool on)
{
	const struct nlattr *state = info->attrs[DK_A_STATS_STATE];
	const struct nlattr *reset = info->attrs[DK_A_STATS_RESET];
	struct dk_diag why = { .size = sizeof(why) };
	int err = 0;

	if (state)
		err = on ? dk_stats_enable(NULL, &why) : dk_stats_disable(NULL, &why);
	if (err)
		return dk_nl_deny(info->extack, state, why.text, err);
	if (reset)
		err = dk_stats_reset(NULL, &why);
	return err ? dk_nl_deny(info->extack, reset, why.text, err) : 0;
}

/*
 * Switches the counters, and sets which users may read them. If the request fails, the same users
 * as before may read them.
 */
static int stats_set(struct genl_info *info, bool on)
{
	const struct nlattr *attr = info->attrs[DK_A_STATS_READERS];
	u8 before, after;
	int err;

	mutex_lock(&stats_set_lock);
	before = readers;
	after = attr ? nla_get_u8(attr) : before;
	/* restrict the readers before calls are counted */
	if (after != DK_NL_READERS_ALL)
		WRITE_ONCE(readers, after);
	err = stats_switch(info, on);
	WRITE_ONCE(readers, err ? before : after);
	mutex_unlock(&stats_set_lock);
	return err;
}

int dispatchkey_nl_stats_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *state = info->attrs[DK_A_STATS_STATE];
	const struct nlattr *reset = info->attrs[DK_A_STATS_RESET];
	bool on = state && nla_get_u8(state) == DK_NL_STATE_ONLINE;

	if (!state && !reset && !info->attrs[DK_A_STATS_READERS])
		return dk_nl_deny(info->extack, NULL,
				  "a request needs a state, a reset or the readers", -EINVAL);
	if (state && !on && reset)
		return dk_nl_deny(info->extack, reset,
				  "counters cannot be disabled and reset in one request", -EINVAL);
	return stats_set(info, on);
}

/* ---- the counters --------------------------------------------------------------- */

struct dk_nl_stats_request {
	struct dk_nl_dump dump;
	const struct nlattr *used;	/* only counters above 0; NULL: all */
};

/* True if a counter passes the filter. Reads the value, because the filter "used" needs it. */
static bool stat_passes(const struct dk_op *op, struct dk_nl_stat *s, const struct dk_nl_dump *d)
{
	const struct dk_nl_stats_request *r = container_of(d, struct dk_nl_stats_request, dump);

	if (s->reg && dkc_is_fallthrough(s->reg))
		return false;
	if (s->reg ? !dk_nl_filter_passes(&d->filter, op->reg, s->reg) : !!d->filter.provider)
		return false;
	s->count = dkc_counted(op->reg, s->counter);
	return s->count || !r->used;
}

static int fill_stat(struct sk_buff *skb, const struct dk_op *op, const struct dk_nl_stat *s)
{
	if (dk_nl_put_text(skb, DK_A_STATS_OP, op->name) ||
	    dk_nl_put_u32(skb, DK_A_STATS_KIND, s->kind) ||
	    (s->reg && dk_nl_put_impl(skb, op->reg, s->reg, &stats_attrs, false)) ||
	    (s->counter &&
	     dk_nl_put_u64(skb, DK_A_STATS_COUNT, s->count, DK_A_STATS_PAD)))
		return -EMSGSIZE;
	return 0;
}

/*
 * Sets *@s to counter @i of an operator, in this order: the counters of functions, the counters of
 * backend fallbacks, and the counter of calls that nothing served. Returns false if there is no
 * counter @i.
 */
static bool stat_at(const struct dk_op *op, const struct dk_nl_impls *impls,
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
	*s = (struct dk_nl_stat){
		r ? DK_STAT_FALLBACK : DK_STAT_MISSING, dkc_reg_counter(op, r), 0, r,
	};
	return !i;
}

static int dump_stat(struct sk_buff *skb, struct netlink_callback *cb,
		     const struct dk_op *op, const struct dk_nl_stat *s)
{
	void *header = dk_nl_message_begin(skb, cb);

	return dk_nl_message_end(skb, header, header ? fill_stat(skb, op, s) : -EMSGSIZE);
}

static int check_reader(struct netlink_callback *cb)
{
	return may_read(cb->skb) ? 0 :
		dk_nl_deny(cb->extack, NULL, "reading the counters requires CAP_NET_ADMIN", -EPERM);
}

static int dump_stats(struct sk_buff *skb, struct netlink_callback *cb, struct dk_op *op,
		      const struct dk_nl_dump *d)
{
	struct dk_nl_walk *w = (void *)cb->ctx;
	struct dk_nl_impls impls;
	struct dk_nl_stat s;
	int err;

	/* calls are not counted */
	if (!op->reg->counters)
		return 0;
	/* the readers may have been restricted while the lock was released */
	err = check_reader(cb);
	if (err)
		return err;
	err = dk_nl_impls_get(&impls, op, cb->extack);
	while (!err && stat_at(op, &impls, w->item, &s)) {
		if (stat_passes(op, &s, d))
			err = dump_stat(skb, cb, op, &s);
		if (err)
			break;
		w->item++;
		err = dk_nl_worked(cb, counter_work());
	}
	dk_nl_impls_put(&impls);
	return err;
}

int dispatchkey_nl_stats_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct dk_nl_stats_request r = { .dump.fill = dump_stats };
	struct nlattr *attrs[DK_A_STATS_MAX + 1];
	int err;

	err = dk_nl_dump_begin(cb, attrs, DK_A_STATS_MAX);
	if (!err)
		err = check_reader(cb);
	if (err)
		return err;
	r.used = attrs[DK_A_STATS_USED];
	r.dump.op = attrs[DK_A_STATS_OP];
	r.dump.filter.provider = attrs[DK_A_STATS_PROVIDER];
	return dk_nl_walk(skb, cb, &r.dump);
}
