// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command op-get reports one operator with its functions or, in a dump, operators without
 * functions.
 */
#include "netlink_impl.h"
#include "netlink_write.h"

/*
 * Space for some functions. Not more: netlink copies answers that fill less than half of their
 * buffer.
 */
#define OP_ANSWER_SIZE	1024

static u32 num_device_impls(const struct dk_op *op)
{
	const struct dkc_reg *r = NULL;
	u32 n = 0;

	while ((r = dkc_device_reg_walk(op, r)))
		n++;
	return n;
}

static int put_op(struct sk_buff *skb, struct dk_op *op)
{
	struct dk_nl_writer w = dk_nl_writer(skb);
	u32 flags = 0;
	bool fits;

	if (op->definer && (op->flags & DK_OP_ATOMIC))
		flags |= DK_NL_OP_ATOMIC;
	if (op->definer && (op->flags & DK_OP_SAME_DEVICE))
		flags |= DK_NL_OP_SAME_DEVICE;
	fits = dk_nl_write_text(&w, DK_A_OP_NAME, op->name) &&
	       (!op->definer ||
		dk_nl_write_text(&w, DK_A_OP_PROVIDER, op->definer->name)) &&
	       dk_nl_write_u32(&w, DK_A_OP_FLAGS, flags) &&
	       dk_nl_write_u32(&w, DK_A_OP_NUM_IMPLS, op->num_regs) &&
	       dk_nl_write_u32(&w, DK_A_OP_NUM_DEVICE_IMPLS, num_device_impls(op)) &&
	       (!op->max_objs || dk_nl_write_u32(&w, DK_A_OP_MAX_OBJS, op->max_objs));
	return dk_nl_writer_commit(skb, &w, fits);
}

/* Puts the schema, whose length is not limited. Returns -EMSGSIZE if it fits in no message. */
static int put_schema(struct sk_buff *skb, const struct dk_op *op)
{
	const char *schema = op->decl ? op->decl->schema : NULL;

	if (!schema)
		return 0;
	if (strlen(schema) >= DK_NL_MESSAGE_MAX)
		return -EMSGSIZE;
	return nla_put_string(skb, DK_A_OP_SCHEMA, schema);
}

/* ---- one operator ---------------------------------------------------------------- */

/* Puts as many functions as fit. Returns true if all fit. */
static bool put_impls(struct sk_buff *skb, const struct dk_nl_impls *impls)
{
	struct dk_registry *reg = dk_registry_default();
	u32 i;

	for (i = 0; i < impls->n; i++)
		if (dk_nl_nest_impl(skb, DK_A_OP_IMPL, reg, impls->reg[i],
				    &dk_nl_impl_attrs, dk_nl_is_top(impls, i)))
			return false;
	return true;
}

/* Fills an answer. Returns true if everything fits. */
static bool fill_op(struct sk_buff *skb, struct dk_op *op, const struct dk_nl_impls *impls)
{
	bool whole = !put_op(skb, op);

	whole = !put_schema(skb, op) && whole;
	return put_impls(skb, impls) && whole;
}

/* Fills @skb. Returns 1 if the whole answer fits, 0 if it does not fit, or a negative errno. */
static int fill_answer(struct sk_buff *skb, struct genl_info *info)
{
	struct dk_registry *reg = dk_registry_default();
	struct dk_nl_impls impls;
	struct dk_op *op;
	int err = -ENOENT;

	mutex_lock(&reg->lock);
	op = dk_nl_op(reg, info->attrs[DK_A_OP_NAME], info->extack);
	if (op)
		err = dk_nl_impls_get(&impls, op, info->extack);
	if (!err) {
		err = fill_op(skb, op, &impls);
		dk_nl_impls_put(&impls);
	}
	mutex_unlock(&reg->lock);
	return err;
}

/*
 * If the answer does not fit in the buffer, tries a buffer of DK_NL_MESSAGE_MAX bytes. If the
 * answer does not fit in the larger buffer either, it is sent incomplete.
 */
int dispatchkey_nl_op_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;
	size_t size = OP_ANSWER_SIZE;
	struct sk_buff *answer;
	int err;

	err = dk_nl_require(info->extack, attrs, DK_A_OP_NAME,
			    "the name of the operator is missing");
	if (!err)
		err = dk_nl_forbid(info->extack, attrs[DK_A_OP_PREFIX] ?: attrs[DK_A_OP_KEY] ?:
				   attrs[DK_A_OP_BACKEND] ?: attrs[DK_A_OP_PROVIDER],
				   "this filter is allowed only in a dump");
	if (err)
		return err;
	for (;;) {
		/* allocate without the lock, so that no driver waits for the allocation */
		answer = dk_nl_answer(info, size);
		if (!answer)
			return -ENOMEM;
		err = fill_answer(answer, info);
		if (err || size == DK_NL_MESSAGE_MAX)
			return dk_nl_reply(info, answer, min(err, 0));
		nlmsg_free(answer);
		size = DK_NL_MESSAGE_MAX;
	}
}

/* ---- dumps of operators ---------------------------------------------------------- */

/*
 * True if a function of the operator passes the filter. If the filter has only a provider, the
 * operators that this provider defines pass, too.
 */
static bool op_passes(const struct dk_op *op, const struct dk_nl_filter *f)
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

/* A schema that does not even fit in an empty buffer is left out. */
static int dump_op(struct sk_buff *skb, struct netlink_callback *cb, struct dk_op *op,
		   const struct dk_nl_dump *d)
{
	bool alone = !skb->len;
	void *header;

	if (!op_passes(op, &d->filter))
		return 0;
	header = dk_nl_message_begin(skb, cb);
	if (!header || put_op(skb, op) || (put_schema(skb, op) && !alone))
		return dk_nl_message_end(skb, header, -EMSGSIZE);
	return dk_nl_message_end(skb, header, 0);
}

int dispatchkey_nl_op_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct nlattr *attrs[DK_A_OP_MAX + 1];
	struct dk_nl_dump d = { .fill = dump_op };
	int err;

	err = dk_nl_dump_begin(cb, attrs, DK_A_OP_MAX);
	if (!err)
		err = dk_nl_forbid(cb->extack, attrs[DK_A_OP_NAME],
				   "a dump is filtered by prefix, not by name");
	if (err)
		return err;
	d.prefix = attrs[DK_A_OP_PREFIX];
	d.filter = (struct dk_nl_filter){
		.key = attrs[DK_A_OP_KEY],
		.backend = attrs[DK_A_OP_BACKEND],
		.provider = attrs[DK_A_OP_PROVIDER],
	};
	return dk_nl_walk(skb, cb, &d);
}
