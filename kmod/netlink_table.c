// SPDX-License-Identifier: GPL-2.0-only
/*
 * table-get: the computed table of an operator, as runs of entries that one
 * function serves by one rule.
 */
#include "../lib/core/see.h"
#include "netlink_impl.h"

static const struct dk_nl_impl_attrs dk_nl_table_attrs = {
	.label = DK_A_TABLE_LABEL,
	.provider = DK_A_TABLE_PROVIDER,
	.device = DK_A_TABLE_DEVICE,
	.device_name = DK_A_TABLE_DEVICE_NAME,
	.flags = DK_A_TABLE_FLAGS,
};

/* Whose table it is. */
struct dk_nl_table {
	struct dk_op *op;
	struct dkc_device *dev;
};

struct dk_nl_run {
	unsigned int first;
	unsigned int last;
	struct dkc_pick pick;
};

static struct dkc_pick dk_nl_pick(const struct dk_nl_table *t, unsigned int slot)
{
	unsigned int f, b;

	dkc_slot_split(t->op->reg->layout, slot, &f, &b);
	return dkc_serves(t->op, t->dev, f, b);
}

/* A fallback at many keys is many registrations of one function. */
static bool dk_nl_same(const struct dkc_pick *a, const struct dkc_pick *b)
{
	if (a->prov != b->prov)
		return false;
	if (a->reg == b->reg)
		return true;
	return a->prov == DK_PROV_FALLBACK && a->reg && b->reg &&
	       dkc_block_of(a->reg) == dkc_block_of(b->reg);
}

/*
 * Where a walk is: at the run that begins at @first. It extends to @next at least, which
 * is found in as many holds of the lock as it takes.
 */
struct dk_nl_table_walk {
	struct dk_nl_walk walk;
	u32 first;
	u32 next;
};

/* -EAGAIN: this hold of the lock does not reach the end of the run. */
static int dk_nl_run_end(struct dk_nl_table_walk *w, const struct dk_nl_table *t,
			 struct dk_nl_run *run)
{
	u32 work = dk_nl_evaluation_work(t->op, t->dev);
	struct dkc_pick next;
	int err = 0;

	run->first = w->first;
	run->pick = dk_nl_pick(t, w->first);
	w->next = max(w->next, w->first + 1);
	while (!err && w->next < t->op->reg->layout->num_entries) {
		next = dk_nl_pick(t, w->next);
		if (!dk_nl_same(&next, &run->pick))
			break;
		w->next++;
		err = dk_nl_spent(&w->walk, work);
	}
	run->last = w->next - 1;
	return err;
}

/* After the end of a run, to which two evaluations belong that are not charged yet. */
static int dk_nl_run_done(struct dk_nl_table_walk *w, const struct dk_nl_table *t)
{
	w->first = w->next;
	return dk_nl_spent(&w->walk, 2 * dk_nl_evaluation_work(t->op, t->dev));
}

static int dk_nl_put_run(struct sk_buff *skb, const struct dk_registry *reg,
			 const struct dk_nl_run *run)
{
	const struct dk_layout *l = reg->layout;

	if (nla_put_u32(skb, DK_A_TABLE_FIRST, run->first) ||
	    nla_put_u32(skb, DK_A_TABLE_LAST, run->last) ||
	    dk_nl_put_key_name(skb, DK_A_TABLE_FIRST_KEY, reg,
			       dk_slot_key(l, run->first)) ||
	    dk_nl_put_key_name(skb, DK_A_TABLE_LAST_KEY, reg,
			       dk_slot_key(l, run->last)) ||
	    nla_put_u32(skb, DK_A_TABLE_PROVENANCE, run->pick.prov) ||
	    (run->pick.reg &&
	     dk_nl_put_impl(skb, reg, run->pick.reg, &dk_nl_table_attrs, true)))
		return -EMSGSIZE;
	return 0;
}

/* The numbers of enum dk_provenance are those of the protocol. */
static_assert(DK_NL_PROV_MISSING == (int)DK_PROV_MISSING);
static_assert(DK_NL_PROV_NO_ENTRY == (int)DK_PROV_NO_ENTRY);

/* The lock is held; @device is 0, or what dk_nl_table_device() has found. */
static int dk_nl_table_find_device(struct dk_nl_table *t, struct nlattr **attrs, u32 device,
				   struct netlink_ext_ack *extack)
{
	return dk_nl_device(dk_registry_default(), device, attrs[DK_A_TABLE_DEVICE] ?:
			    attrs[DK_A_TABLE_DEVICE_NAME], extack, &t->dev);
}

/* The device that a request is about, or 0; without the lock. */
static int dk_nl_table_device(struct nlattr **attrs, struct netlink_ext_ack *extack,
			      u32 *device)
{
	*device = 0;
	if (!attrs[DK_A_TABLE_DEVICE] && !attrs[DK_A_TABLE_DEVICE_NAME])
		return 0;
	return dk_nl_find_device(attrs[DK_A_TABLE_DEVICE], attrs[DK_A_TABLE_DEVICE_NAME],
				 extack, device);
}

/* ---- one run ---------------------------------------------------------------------- */

/* In one hold of the lock; -EAGAIN: it does not reach the run. */
static int dk_nl_table_answer(struct sk_buff *skb, struct genl_info *info, u32 device,
			      struct dk_nl_table_walk *w)
{
	const struct nlattr *first = info->attrs[DK_A_TABLE_FIRST];
	struct dk_registry *reg = dk_registry_default();
	struct dk_nl_run run = {};
	struct dk_nl_table t;
	int err;

	if (nla_get_u32(first) >= reg->layout->num_entries)
		return dk_nl_deny(info->extack, first,
				  "the table has no entry of this number", -EINVAL);
	t.op = dk_nl_op(reg, info->attrs[DK_A_TABLE_OP], info->extack);
	if (!t.op)
		return -ENOENT;
	err = dk_nl_table_find_device(&t, info->attrs, device, info->extack);
	while (!err) {
		err = dk_nl_run_end(w, &t, &run);
		if (!err && run.last >= nla_get_u32(first))
			return dk_nl_put_run(skb, reg, &run);
		if (!err)
			err = dk_nl_run_done(w, &t);
	}
	return err;
}

/* In several holds of the lock, all of one generation. */
static int dk_nl_table_ask(struct sk_buff *skb, struct genl_info *info, u32 device)
{
	struct dk_registry *reg = dk_registry_default();
	struct dk_nl_table_walk w = {};
	unsigned int starts = 0;
	u64 generation = 0;
	int err;

	do {
		dkc_mutex_lock(&reg->lock);
		if (!starts || reg->generation != generation) {
			w = (struct dk_nl_table_walk){};
			generation = reg->generation;
			starts++;
		}
		w.walk.work = 0;
		err = dk_nl_table_answer(skb, info, device, &w);
		dkc_mutex_unlock(&reg->lock);
		cond_resched();
	} while (err == -EAGAIN && starts <= DK_NL_STARTS_MAX);
	return err != -EAGAIN ? err :
	       dk_nl_deny(info->extack, NULL, "the registry changed whenever it was read",
			  err);
}

int dispatchkey_nl_table_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct sk_buff *answer;
	void *header;
	u32 device;
	int err;

	err = dk_nl_need(info, DK_A_TABLE_OP, "the name of the operator is missing");
	if (!err)
		err = dk_nl_need(info, DK_A_TABLE_FIRST,
				 "the number of a table entry is missing");
	if (!err)
		err = dk_nl_table_device(info->attrs, info->extack, &device);
	if (err)
		return err;
	answer = dk_nl_answer(info, NLMSG_DEFAULT_SIZE, &header);
	if (!answer)
		return -ENOMEM;
	err = dk_nl_table_ask(answer, info, device);
	if (err) {
		nlmsg_free(answer);
		return err;
	}
	return dk_nl_reply(info, answer, header);
}

/* ---- all runs --------------------------------------------------------------------- */

static int dk_nl_dump_run(struct sk_buff *skb, struct netlink_callback *cb,
			  const struct dk_nl_run *run)
{
	void *header;

	if (!run->pick.reg && run->pick.prov != DK_PROV_AMBIGUOUS)
		return 0;
	header = dk_nl_dump_put(skb, cb);
	if (!header)
		return -EMSGSIZE;
	if (dk_nl_put_run(skb, dk_registry_default(), run)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

struct dk_nl_table_request {
	struct nlattr **attrs;
	u32 device;
};

static int dk_nl_dump_runs(struct sk_buff *skb, struct netlink_callback *cb, void *data)
{
	const struct dk_layout *l = dk_registry_default()->layout;
	struct dk_nl_table_walk *w = (void *)cb->ctx;
	const struct dk_nl_table_request *r = data;
	struct dk_nl_table t;
	struct dk_nl_run run;
	int err;

	err = dk_nl_walk_op(cb, r->attrs[DK_A_TABLE_OP], &t.op);
	if (!err && !t.op)
		return 0;
	if (!err)
		err = dk_nl_table_find_device(&t, r->attrs, r->device, cb->extack);
	while (!err && w->first < l->num_entries) {
		err = dk_nl_run_end(w, &t, &run);
		if (!err)
			err = dk_nl_dump_run(skb, cb, &run);
		if (!err)
			err = dk_nl_run_done(w, &t);
	}
	return err;
}

int dispatchkey_nl_table_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct nlattr *attrs[DK_A_TABLE_MAX + 1];
	struct dk_nl_table_request r = { .attrs = attrs };
	int err;

	BUILD_BUG_ON(sizeof(struct dk_nl_table_walk) > sizeof(cb->ctx));
	err = dk_nl_dump_begin(cb, attrs, DK_A_TABLE_MAX);
	if (!err && !attrs[DK_A_TABLE_OP]) {
		NL_SET_ERR_ATTR_MISS(cb->extack, NULL, DK_A_TABLE_OP);
		err = dk_nl_deny(cb->extack, NULL,
				 "the name of the operator is missing", -EINVAL);
	}
	if (!err)
		err = dk_nl_bar(cb->extack, attrs[DK_A_TABLE_FIRST],
				"a dump has all entries");
	if (!err)
		err = dk_nl_table_device(attrs, cb->extack, &r.device);
	return err ?: dk_nl_walk(skb, cb, false, dk_nl_dump_runs, &r);
}
