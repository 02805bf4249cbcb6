// SPDX-License-Identifier: GPL-2.0-only
/*
 * op-get: an operator with its functions, or all without them.
 */
#include "../lib/core/see.h"
#include "netlink_impl.h"
#include "netlink_room.h"

/* Of the numbers of an operator, and of what dk_nl_write_text() wants to be free. */
#define DK_NL_OP_ROOM		(4 * nla_total_size(sizeof(u32)) + nla_total_size(DK_NAME_MAX))
#define DK_NL_IMPL_ROOM		60	/* of a function without label and provider */

static u32 dk_nl_num_device_impls(const struct dk_op *op)
{
	const struct dkc_reg *r = NULL;
	u32 n = 0;

	while ((r = dkc_device_reg_walk(op, r)))
		n++;
	return n;
}

static int dk_nl_put_op(struct sk_buff *skb, struct dk_op *op)
{
	struct dk_nl_room room = dk_nl_room(skb);
	u32 flags = 0, max_objs = dkc_max_objs(op);
	bool fits;

	if (op->definer && (op->flags & DK_OP_ATOMIC))
		flags |= DK_NL_OP_ATOMIC;
	if (op->definer && (op->flags & DK_OP_SAME_DEVICE))
		flags |= DK_NL_OP_SAME_DEVICE;
	fits = dk_nl_write_text(&room, DK_A_OP_NAME, op->name) &&
	       (!op->definer ||
		dk_nl_write_text(&room, DK_A_OP_PROVIDER, op->definer->name)) &&
	       dk_nl_write_u32(&room, DK_A_OP_FLAGS, flags) &&
	       dk_nl_write_u32(&room, DK_A_OP_NUM_IMPLS, op->num_regs) &&
	       dk_nl_write_u32(&room, DK_A_OP_NUM_DEVICE_IMPLS,
			       dk_nl_num_device_impls(op)) &&
	       (!max_objs || dk_nl_write_u32(&room, DK_A_OP_MAX_OBJS, max_objs));
	return dk_nl_room_used(skb, &room, fits);
}

/* With its end; 0: it has none. */
static size_t dk_nl_schema_size(const struct dk_op *op)
{
	return op->decl && op->decl->schema ? strlen(op->decl->schema) + 1 : 0;
}

/* A schema has any length: one that fits no message is left out. */
static int dk_nl_put_schema(struct sk_buff *skb, const struct dk_op *op, size_t size)
{
	if (size > DK_NL_MESSAGE_MAX)
		return -EMSGSIZE;
	return size ? nla_put(skb, DK_A_OP_SCHEMA, size, op->decl->schema) : 0;
}

/* ---- one ------------------------------------------------------------------------- */

/* As many functions as fit; were they all? */
static bool dk_nl_put_impls(struct sk_buff *skb, const struct dk_nl_impls *impls)
{
	struct dk_registry *reg = dk_registry_default();
	u32 i;

	for (i = 0; i < impls->n; i++)
		if (dk_nl_nest_impl(skb, DK_A_OP_IMPL, reg, impls->reg[i],
				    &dk_nl_impl_attrs, dk_nl_is_top(impls, i)))
			return false;
	return true;
}

/*
 * What the answer takes, more or less: functions of an operator look alike. Netlink copies
 * a message that fills less than half of its memory.
 */
static size_t dk_nl_op_room(const struct dk_op *op, size_t schema,
			    const struct dk_nl_impls *impls)
{
	size_t room = DK_NL_OP_ROOM + nla_total_size(op->name_len + 1) + nla_total_size(schema);
	size_t one = DK_NL_IMPL_ROOM;

	if (op->definer)
		room += nla_total_size(strlen(op->definer->name) + 1);
	if (impls->n)
		one += strnlen(dkc_label_of(impls->reg[0]), DK_NAME_MAX) +
		       strlen(dkc_block_of(impls->reg[0])->prov->name);
	return min_t(size_t, room + impls->n * one, DK_NL_MESSAGE_MAX);
}

/* Fill an answer; is all of it there? */
static bool dk_nl_fill_op(struct sk_buff *skb, struct dk_op *op, size_t schema,
			  const struct dk_nl_impls *impls)
{
	bool whole = !dk_nl_put_op(skb, op);

	whole = !dk_nl_put_schema(skb, op, schema) && whole;
	return dk_nl_put_impls(skb, impls) && whole;
}

/* The answer, in a message as long as it takes; NULL: no memory. */
static struct sk_buff *dk_nl_op_answer(struct genl_info *info, struct dk_op *op,
				       void **header)
{
	size_t room, schema = dk_nl_schema_size(op);
	struct dk_nl_impls impls;
	struct sk_buff *skb;

	if (dk_nl_impls_get(&impls, op, info->extack))
		return NULL;
	room = dk_nl_op_room(op, schema, &impls);
	skb = dk_nl_answer(info, room, header);
	if (skb && !dk_nl_fill_op(skb, op, schema, &impls) &&
	    room < DK_NL_MESSAGE_MAX) {
		nlmsg_free(skb);
		skb = dk_nl_answer(info, DK_NL_MESSAGE_MAX, header);
		if (skb)
			dk_nl_fill_op(skb, op, schema, &impls);
	}
	dk_nl_impls_put(&impls);
	return skb;
}

int dispatchkey_nl_op_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	static const u8 filters[] = {
		DK_A_OP_PREFIX, DK_A_OP_KEY, DK_A_OP_BACKEND, DK_A_OP_PROVIDER,
	};
	struct dk_registry *reg = dk_registry_default();
	struct sk_buff *answer = NULL;
	struct dk_op *op;
	void *header;
	int err;

	err = dk_nl_need(info, DK_A_OP_NAME, "the name of the operator is missing");
	if (!err)
		err = dk_nl_for_dumps(info, filters, ARRAY_SIZE(filters));
	if (err)
		return err;
	dkc_mutex_lock(&reg->lock);
	op = dk_nl_op(reg, info->attrs[DK_A_OP_NAME], info->extack);
	if (op)
		answer = dk_nl_op_answer(info, op, &header);
	dkc_mutex_unlock(&reg->lock);
	if (!op)
		return -ENOENT;
	return answer ? dk_nl_reply(info, answer, header) : -ENOMEM;
}

/* ---- all ------------------------------------------------------------------------- */

struct dk_nl_op_walk {
	struct dk_nl_walk walk;
	u32 op;		/* how many are before it by name */
};

struct dk_nl_op_filter {
	const struct nlattr *prefix;
	struct dk_nl_filter impl;
};

static bool dk_nl_has_prefix(const struct dk_op *op, const struct nlattr *prefix)
{
	return !prefix || !strncmp(op->name, nla_data(prefix), strlen(nla_data(prefix)));
}

/*
 * Has it a function that the filters let through? To define it is enough for a
 * provider where it is asked for nothing else.
 */
static bool dk_nl_op_passes(const struct dk_op *op, const struct dk_nl_filter *f)
{
	const struct dkc_reg *r = NULL;

	if (!f->key && !f->backend && !f->provider)
		return true;
	if (!f->key && !f->backend && op->definer &&
	    !strcmp(op->definer->name, nla_data(f->provider)))
		return true;
	while ((r = dkc_reg_walk(op, r)))
		if (dk_nl_filter_passes(f, op->reg, r))
			return true;
	return false;
}

static int dk_nl_dump_op(struct sk_buff *skb, struct netlink_callback *cb,
			 struct dk_op *op)
{
	bool alone = !skb->len;
	void *header;

	header = dk_nl_dump_put(skb, cb);
	if (!header)
		return -EMSGSIZE;
	if (dk_nl_put_op(skb, op) ||
	    (dk_nl_put_schema(skb, op, dk_nl_schema_size(op)) && !alone)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

static int dk_nl_dump_ops(struct sk_buff *skb, struct netlink_callback *cb, void *data)
{
	struct dk_registry *reg = dk_registry_default();
	struct dk_nl_op_walk *w = (void *)cb->ctx;
	const struct dk_nl_op_filter *f = data;
	struct dk_op *op;
	int err = 0;

	if (!w->walk.begun) {
		err = dk_nl_filter_check(&f->impl, reg, cb->extack);
		w->op = f->prefix ? dkc_op_place(reg, nla_data(f->prefix)) : 0;
	}
	while (!err && (op = dkc_op_at(reg, w->op)) && dk_nl_has_prefix(op, f->prefix)) {
		if (dkc_op_is_there(op) && dk_nl_op_passes(op, &f->impl))
			err = dk_nl_dump_op(skb, cb, op);
		if (err)
			break;
		w->op++;
		err = dk_nl_worked(cb, dk_nl_op_work(op));
	}
	return err;
}

int dispatchkey_nl_op_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct nlattr *attrs[DK_A_OP_MAX + 1];
	struct dk_nl_op_filter f;
	int err;

	BUILD_BUG_ON(sizeof(struct dk_nl_op_walk) > sizeof(cb->ctx));
	err = dk_nl_dump_begin(cb, attrs, DK_A_OP_MAX);
	if (!err)
		err = dk_nl_bar(cb->extack, attrs[DK_A_OP_NAME],
				"a dump is by prefix and not by name");
	if (err)
		return err;
	f.prefix = attrs[DK_A_OP_PREFIX];
	f.impl = (struct dk_nl_filter){
		.key = attrs[DK_A_OP_KEY],
		.backend = attrs[DK_A_OP_BACKEND],
		.provider = attrs[DK_A_OP_PROVIDER],
	};
	return dk_nl_walk(skb, cb, true, dk_nl_dump_ops, &f);
}
