// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command table-get reports the table of an operator as runs. A run is consecutive entries
 * that have the same function by the same rule.
 */
#include <linux/sched/signal.h>

#include "netlink_impl.h"

static const struct dk_nl_impl_attrs table_attrs = {
	.label = DK_A_TABLE_LABEL,
	.provider = DK_A_TABLE_PROVIDER,
	.device = DK_A_TABLE_DEVICE,
	.device_name = DK_A_TABLE_DEVICE_NAME,
	.flags = DK_A_TABLE_FLAGS,
};

/*
 * True if two entries have the same function by the same rule. A backend fallback at several keys
 * has a registration for each key, but is one function.
 */
static bool is_same_function(const struct dkc_pick *a, const struct dkc_pick *b)
{
	if (a->prov != b->prov)
		return false;
	if (a->reg == b->reg)
		return true;
	return a->prov == DK_PROV_FALLBACK && a->reg && b->reg &&
	       dkc_block_of(a->reg) == dkc_block_of(b->reg);
}

/*
 * The position of a walk. The current run begins at @first. The entries up to @next - 1 are known
 * to belong to this run. The lock may be released before the end of the run is found.
 */
struct dk_nl_table_walk {
	struct dk_nl_walk walk;
	u32 first;
	u32 next;
	u32 device;		/* the result of table_device() */
};

/*
 * Returns the cost of applying the rules to one entry. It is limited, so that sums do not overflow.
 */
static u32 evaluation_work(const struct dk_op *op)
{
	return min_t(u32, dkc_evaluation_work(op), DK_NL_WORK_MAX);
}

/*
 * Finds the end of a run, and what serves the run. Reads the table of @dev. If @dev is NULL, reads
 * the operator's own table. Returns -EAGAIN if the lock must be released before the end is found.
 */
static int run_end(struct dk_nl_table_walk *w, const struct dk_op *op,
		   const struct dkc_device *dev, struct dkc_pick *pick)
{
	u32 work = evaluation_work(op);
	struct dkc_pick next;
	int err = 0;

	*pick = dkc_serves(op, dev, w->first);
	w->next = max(w->next, w->first + 1);
	while (!err && w->next < op->reg->layout->num_entries) {
		next = dkc_serves(op, dev, w->next);
		if (!is_same_function(&next, pick))
			break;
		w->next++;
		err = dk_nl_spent(&w->walk, work);
	}
	return err;
}

/*
 * Advances to the next run. Accounts for two evaluations that run_end() did not account for: that
 * of the first entry of the run, and that of the entry after the run.
 */
static int run_done(struct dk_nl_table_walk *w, const struct dk_op *op)
{
	w->first = w->next;
	return dk_nl_spent(&w->walk, 2 * evaluation_work(op));
}

static int fill_run(struct sk_buff *skb, const struct dk_registry *reg,
		    const struct dk_nl_table_walk *w, const struct dkc_pick *pick)
{
	const struct dk_layout *l = reg->layout;
	u32 last = w->next - 1;

	if (dk_nl_put_u32(skb, DK_A_TABLE_FIRST, w->first) ||
	    dk_nl_put_u32(skb, DK_A_TABLE_LAST, last) ||
	    dk_nl_put_key_name(skb, DK_A_TABLE_FIRST_KEY, reg, dk_slot_key(l, w->first)) ||
	    dk_nl_put_key_name(skb, DK_A_TABLE_LAST_KEY, reg, dk_slot_key(l, last)) ||
	    dk_nl_put_u32(skb, DK_A_TABLE_PROVENANCE, pick->prov) ||
	    (pick->reg && dk_nl_put_impl(skb, reg, pick->reg, &table_attrs, true)))
		return -EMSGSIZE;
	return 0;
}

/* Values of enum dk_provenance are sent as they are. */
static_assert(DK_NL_PROV_MISSING == (int)DK_PROV_MISSING);
static_assert(DK_NL_PROV_NO_ENTRY == (int)DK_PROV_NO_ENTRY);

/* Called with the registry's lock held. */
static int table_find_device(struct nlattr **attrs, const struct dk_nl_table_walk *w,
			     struct netlink_ext_ack *extack, struct dkc_device **dev)
{
	return dk_nl_device(dk_registry_default(), w->device, attrs[DK_A_TABLE_DEVICE] ?:
			    attrs[DK_A_TABLE_DEVICE_NAME], extack, dev);
}

/*
 * Sets *@device to the number of the device that a request names, or to 0. Takes the registry's
 * lock.
 */
static int table_device(struct nlattr **attrs, struct netlink_ext_ack *extack, u32 *device)
{
	*device = 0;
	if (!attrs[DK_A_TABLE_DEVICE] && !attrs[DK_A_TABLE_DEVICE_NAME])
		return 0;
	return dk_nl_find_device(attrs[DK_A_TABLE_DEVICE], attrs[DK_A_TABLE_DEVICE_NAME],
				 extack, device);
}

/* ---- one run ---------------------------------------------------------------------- */

/*
 * Searches for the run of the request, and fills the answer if it is found. Called with the
 * registry's lock held. Returns -EAGAIN if the lock must be released before the run is found.
 */
static int table_fill_part(struct sk_buff *skb, struct genl_info *info, struct dk_nl_table_walk *w)
{
	const struct nlattr *first = info->attrs[DK_A_TABLE_FIRST];
	struct dk_registry *reg = dk_registry_default();
	struct dkc_device *dev;
	struct dkc_pick pick;
	struct dk_op *op;
	int err;

	if (nla_get_u32(first) >= reg->layout->num_entries)
		return dk_nl_deny(info->extack, first,
				  "the table has no entry with this number", -EINVAL);
	op = dk_nl_op(reg, info->attrs[DK_A_TABLE_OP], info->extack);
	if (!op)
		return -ENOENT;
	err = table_find_device(info->attrs, w, info->extack, &dev);
	while (!err) {
		err = run_end(w, op, dev, &pick);
		if (!err && w->next > nla_get_u32(first))
			return fill_run(skb, reg, w, &pick);
		if (!err)
			err = run_done(w, op);
	}
	return err;
}

/*
 * Finds the run of the request and fills the answer. Releases the lock from time to time. If
 * the registry changes meanwhile, restarts the search.
 */
static int table_fill(struct sk_buff *skb, struct genl_info *info, u32 device)
{
	struct dk_registry *reg = dk_registry_default();
	struct dk_nl_table_walk w = {};
	unsigned int starts = 0;
	u64 generation = 0;
	int err;

	do {
		mutex_lock(&reg->lock);
		if (!starts || reg->generation != generation) {
			w = (struct dk_nl_table_walk){ .device = device };
			generation = reg->generation;
			starts++;
		}
		w.walk.work = 0;
		err = table_fill_part(skb, info, &w);
		mutex_unlock(&reg->lock);
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
	} while (err == -EAGAIN && starts <= DK_NL_STARTS_MAX);
	return err != -EAGAIN ? err :
	       dk_nl_deny(info->extack, NULL,
			  "the registry changed during each attempt to read it: try again", err);
}

int dispatchkey_nl_table_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct sk_buff *answer;
	u32 device;
	int err;

	err = dk_nl_require(info->extack, info->attrs, DK_A_TABLE_OP,
			    "the name of the operator is missing");
	if (!err)
		err = dk_nl_require(info->extack, info->attrs, DK_A_TABLE_FIRST,
				    "the number of a table entry is missing");
	if (!err)
		err = table_device(info->attrs, info->extack, &device);
	if (err)
		return err;
	answer = dk_nl_answer(info, NLMSG_DEFAULT_SIZE);
	return dk_nl_reply(info, answer, answer ? table_fill(answer, info, device) : -ENOMEM);
}

/* ---- all runs --------------------------------------------------------------------- */

static int dump_run(struct sk_buff *skb, struct netlink_callback *cb, const struct dkc_pick *pick)
{
	void *header;

	if (!pick->reg && pick->prov != DK_PROV_AMBIGUOUS)
		return 0;
	header = dk_nl_message_begin(skb, cb);
	return dk_nl_message_end(skb, header, header ?
				 fill_run(skb, dk_registry_default(), (void *)cb->ctx, pick) :
				 -EMSGSIZE);
}

struct dk_nl_table_request {
	struct dk_nl_dump dump;
	struct nlattr **attrs;
};

static int dump_runs(struct sk_buff *skb, struct netlink_callback *cb, struct dk_op *op,
		     const struct dk_nl_dump *d)
{
	const struct dk_nl_table_request *r = container_of(d, struct dk_nl_table_request, dump);
	struct dk_nl_table_walk *w = (void *)cb->ctx;
	struct dkc_device *dev;
	struct dkc_pick pick;
	int err;

	err = table_find_device(r->attrs, w, w->walk.begun ? NULL : cb->extack, &dev);
	/* the device may have been unregistered during the walk */
	if (err && w->walk.begun)
		return 0;
	while (!err && w->first < op->reg->layout->num_entries) {
		err = run_end(w, op, dev, &pick);
		if (!err)
			err = dump_run(skb, cb, &pick);
		if (!err)
			err = run_done(w, op);
	}
	return err;
}

int dispatchkey_nl_table_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct nlattr *attrs[DK_A_TABLE_MAX + 1];
	struct dk_nl_table_request r = { .dump.fill = dump_runs, .attrs = attrs };
	struct dk_nl_table_walk *w = (void *)cb->ctx;
	int err;

	BUILD_BUG_ON(sizeof(*w) > sizeof(cb->ctx));
	err = dk_nl_dump_begin(cb, attrs, DK_A_TABLE_MAX);
	if (!err)
		err = dk_nl_require(cb->extack, attrs, DK_A_TABLE_OP,
				    "the name of the operator is missing");
	if (!err)
		err = dk_nl_forbid(cb->extack, attrs[DK_A_TABLE_FIRST],
				   "a dump lists all entries: an entry number is not allowed");
	if (!err && !w->walk.begun)
		err = table_device(attrs, cb->extack, &w->device);
	r.dump.op = attrs[DK_A_TABLE_OP];
	return err ?: dk_nl_walk(skb, cb, &r.dump);
}
