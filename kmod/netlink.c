// SPDX-License-Identifier: GPL-2.0-only
/*
 * Defines the netlink family, helper functions of its commands, and the commands info-get,
 * layout-get and limit-get.
 */
#include <linux/module.h>

#include "netlink_impl.h"
/* The generated file is included, not linked, because its multicast groups are static. */
#include "netlink_gen.c"

static_assert(IS_ENABLED(CONFIG_NET), "dispatchkey needs a kernel with CONFIG_NET");

/*
 * A copy of the generated operations. dk_nl_init() adds done() to the copy, because the generated
 * code sets done() only for Linux 6.2 and newer.
 */
static struct genl_ops nl_ops[ARRAY_SIZE(dispatchkey_nl_ops)] __ro_after_init;

/*
 * The kernel may run commands in parallel, because the registry has its own lock. While a command
 * waits for running calls to end, no generic netlink family can be registered. While the
 * registration of a family waits, the kernel starts no command of any family. So DRAIN_TIMEOUT_MS
 * limits the wait for running calls. With resv_start_op 0, the kernel checks the reserved header
 * fields of all commands.
 */
struct genl_family dk_nl_family = {
	.name = DK_GENL_NAME,
	.version = DK_GENL_VERSION,
	.module = THIS_MODULE,
	.netnsok = false,
	.parallel_ops = true,
	.ops = nl_ops,
	.n_ops = ARRAY_SIZE(nl_ops),
	.resv_start_op = 0,
	.mcgrps = dispatchkey_nl_mcgrps,
	.n_mcgrps = ARRAY_SIZE(dispatchkey_nl_mcgrps),
};

int dk_nl_deny(struct netlink_ext_ack *extack, const struct nlattr *attr, const char *text, int err)
{
	if (extack) {
		extack->_msg = text;
		NL_SET_BAD_ATTR(extack, attr);
	}
	return err;
}

int dk_nl_require(struct netlink_ext_ack *extack, struct nlattr **attrs, int attr, const char *text)
{
	return NL_REQ_ATTR_CHECK(extack, NULL, attrs, attr) ?
		dk_nl_deny(extack, NULL, text, -EINVAL) : 0;
}

int dk_nl_forbid(struct netlink_ext_ack *extack, const struct nlattr *attr, const char *text)
{
	return attr ? dk_nl_deny(extack, attr, text, -EINVAL) : 0;
}

int dk_nl_put_u32(struct sk_buff *skb, int attr, u32 value)
{
	return nla_put_u32(skb, attr, value);
}

int dk_nl_put_u64(struct sk_buff *skb, int attr, u64 value, int pad)
{
	return nla_put_u64_64bit(skb, attr, value, pad);
}

int dk_nl_put_text(struct sk_buff *skb, int attr, const char *text)
{
	return text[0] ? nla_put_string(skb, attr, text) : 0;
}

int dk_nl_put_state(struct sk_buff *skb, int attr, bool online)
{
	return nla_put_u8(skb, attr, online ? DK_NL_STATE_ONLINE : DK_NL_STATE_OFFLINE);
}

struct sk_buff *dk_nl_answer(struct genl_info *info, size_t size)
{
	struct sk_buff *skb = genlmsg_new(size, GFP_KERNEL);

	if (skb && genlmsg_put_reply(skb, info, &dk_nl_family, 0, info->genlhdr->cmd))
		return skb;
	nlmsg_free(skb);
	dk_nl_deny(info->extack, NULL, "no memory for the answer", -ENOMEM);
	return NULL;
}

int dk_nl_reply(struct genl_info *info, struct sk_buff *skb, int err)
{
	if (err) {
		nlmsg_free(skb);
		return err;
	}
	nlmsg_end(skb, nlmsg_hdr(skb));
	return genlmsg_reply(skb, info);
}

int dk_nl_dump_begin(struct netlink_callback *cb, struct nlattr **attrs, int max)
{
	cb->seq = dk_nl_dump_seq(dk_registry_generation(NULL));
	if (!attrs)
		return 0;
	return genlmsg_parse(cb->nlh, &dk_nl_family, attrs, max, NULL, cb->extack);
}

void *dk_nl_message_begin(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct genlmsghdr *request = nlmsg_data(cb->nlh);
	void *header;

	header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			     &dk_nl_family, NLM_F_MULTI, request->cmd);
	if (header)
		genl_dump_check_consistent(cb, header);
	return header;
}

int dk_nl_message_end(struct sk_buff *skb, void *header, int err)
{
	if (err)
		genlmsg_cancel(skb, header);
	else
		genlmsg_end(skb, header);
	return err;
}

void dk_nl_dump_compare(struct netlink_callback *cb)
{
	cb->prev_seq = cb->prev_seq ?: cb->seq;
	cb->seq = dk_nl_dump_seq(dk_registry_generation(NULL));
}

int dk_nl_dump_end(struct sk_buff *skb, int err)
{
	/* a message that does not fit an empty buffer is an error */
	return err && (err != -EMSGSIZE || !skb->len) ? err : skb->len;
}

int dk_nl_find_backend(const struct nlattr *number, const struct nlattr *name,
		       struct netlink_ext_ack *extack, unsigned int *backend)
{
	struct dk_diag why = { .size = sizeof(why) };
	int err;

	if (!number && !name)
		return dk_nl_deny(extack, NULL, "the number or the name of the backend is missing",
				  -EINVAL);
	if (number)
		*backend = nla_get_u32(number);
	if (number && *backend > dk_registry_default()->layout->nb)
		return dk_nl_deny(extack, number, dk_reason_text(DK_WHY_BAD_BACKEND), -EINVAL);
	if (!name)
		return 0;
	err = dk_backend_find(NULL, nla_data(name), backend, &why);
	if (err)
		return dk_nl_deny(extack, name, why.text, err);
	return !number || nla_get_u32(number) == *backend ? 0 :
		dk_nl_deny(extack, name, "the number and the name belong to different backends",
			   -EINVAL);
}

int dk_nl_find_device(const struct nlattr *number, const struct nlattr *name,
		      struct netlink_ext_ack *extack, u32 *device)
{
	struct dk_diag why = { .size = sizeof(why) };
	struct dk_obj obj;
	int err;

	if (!number && !name)
		return dk_nl_deny(extack, NULL, "the number or the name of the device is missing",
				  -EINVAL);
	if (number)
		*device = nla_get_u32(number);
	if (!name)
		return 0;
	err = dk_device_find(NULL, nla_data(name), &obj, &why);
	if (err)
		return dk_nl_deny(extack, name, why.text, err);
	*device = obj.device;
	return !number || nla_get_u32(number) == obj.device ? 0 :
		dk_nl_deny(extack, name, "the number and the name belong to different devices",
			   -EINVAL);
}

/*
 * Refuses a client that was built for another layout, in which keys have other numbers.
 */
static int check_layout(const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	return !attr || !nla_strcmp(attr, dk_registry_default()->layout->name) ? 0 :
		dk_nl_deny(extack, attr, "the registry has another layout", -EPROTO);
}

static int fill_info(struct sk_buff *skb, const struct dk_counts *counts, bool is_counting)
{
	const struct dk_layout *l = dk_registry_default()->layout;

	if (dk_nl_put_text(skb, DK_A_INFO_VERSION, DK_VERSION) ||
	    dk_nl_put_u32(skb, DK_A_INFO_ABI, DK_ABI_VERSION) ||
	    dk_nl_put_text(skb, DK_A_INFO_LAYOUT, l->name) ||
	    dk_nl_put_u64(skb, DK_A_INFO_GENERATION, counts->generation, DK_A_INFO_PAD) ||
	    dk_nl_put_u32(skb, DK_A_INFO_OPERATORS, counts->operators) ||
	    dk_nl_put_u32(skb, DK_A_INFO_IMPLS, counts->impls) ||
	    dk_nl_put_u32(skb, DK_A_INFO_PROVIDERS, counts->providers) ||
	    dk_nl_put_u32(skb, DK_A_INFO_DEVICES, counts->devices) ||
	    dk_nl_put_state(skb, DK_A_INFO_COUNTERS, is_counting))
		return -EMSGSIZE;
	return 0;
}

int dispatchkey_nl_info_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct dk_counts counts = { .size = sizeof(counts) };
	struct dk_stats stats = { .size = sizeof(stats) };
	int err;

	err = check_layout(info->attrs[DK_A_INFO_LAYOUT], info->extack);
	if (!err)
		err = dk_registry_counts(NULL, &counts);
	if (!err)
		err = dk_stats_get(NULL, &stats);
	if (err)
		return err;
	skb = dk_nl_answer(info, GENLMSG_DEFAULT_SIZE);
	return dk_nl_reply(info, skb, skb ? fill_info(skb, &counts, stats.is_enabled) : -ENOMEM);
}

/* ---- the layout --------------------------------------------------------------- */

/* Adds a nested attribute with a number and a name. */
static int put_named(struct sk_buff *skb, int type, int number_type, u32 number,
		     int name_type, const char *name)
{
	struct nlattr *nest = nla_nest_start(skb, type);

	if (!nest || dk_nl_put_u32(skb, number_type, number) ||
	    dk_nl_put_text(skb, name_type, name))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_functionality(struct sk_buff *skb, const struct dk_layout *l, unsigned int f)
{
	struct nlattr *nest = nla_nest_start(skb, DK_A_LAYOUT_FUNCTIONALITY);

	if (!nest || dk_nl_put_u32(skb, DK_A_LAYOUT_FUNCTIONALITY_NUMBER, f) ||
	    dk_nl_put_text(skb, DK_A_LAYOUT_FUNCTIONALITY_NAME, l->functionality_names[f]) ||
	    dk_nl_put_u32(skb, DK_A_LAYOUT_FUNCTIONALITY_SLOT, l->offset[f]) ||
	    (dkc_is_per_backend(l, f) &&
	     nla_put_flag(skb, DK_A_LAYOUT_FUNCTIONALITY_PER_BACKEND)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int fill_layout(struct sk_buff *skb, const struct dk_layout *l)
{
	unsigned int i;
	int err = 0;

	if (dk_nl_put_text(skb, DK_A_LAYOUT_NAME, l->name) ||
	    dk_nl_put_u32(skb, DK_A_LAYOUT_ENTRIES, dkc_table_entries(l)))
		return -EMSGSIZE;
	for (i = 1; !err && i <= l->nb; i++)
		err = put_named(skb, DK_A_LAYOUT_BACKEND, DK_A_LAYOUT_BACKEND_NUMBER, i,
				DK_A_LAYOUT_BACKEND_NAME, l->backend_names[i]);
	for (i = 1; !err && i < l->nf; i++)
		err = put_functionality(skb, l, i);
	for (i = 0; !err && i < l->num_aliases; i++)
		err = put_named(skb, DK_A_LAYOUT_ALIAS, DK_A_LAYOUT_ALIAS_NUMBER,
				l->first_alias + i, DK_A_LAYOUT_ALIAS_NAME, l->alias_names[i]);
	return err;
}

/*
 * Returns an upper limit of the size. The layout, and each backend, functionality and alias, is
 * assumed to need a nest, a name, two numbers and a flag.
 */
static size_t layout_size(const struct dk_layout *l)
{
	size_t one = nla_total_size(0) + nla_total_size(DK_NAME_MAX) +
		     2 * nla_total_size(sizeof(u32)) + nla_total_size(0);

	return (1 + l->nb + l->nf + l->num_aliases) * one;
}

int dispatchkey_nl_layout_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct dk_layout *l = dk_registry_default()->layout;
	int err = check_layout(info->attrs[DK_A_LAYOUT_NAME], info->extack);

	if (err)
		return err;
	skb = dk_nl_answer(info, layout_size(l));
	return dk_nl_reply(info, skb, skb ? fill_layout(skb, l) : -ENOMEM);
}

/* ---- limits ------------------------------------------------------------------- */

/*
 * Sets *@limit to limit @i. Limit 0 is the limit of the event queue. The other limits are the
 * registry's.
 */
static int limit_at(unsigned int i, struct dk_limit *limit)
{
	if (i)
		return dk_registry_limit(NULL, i - 1, limit);
	dk_nl_event_limit(limit);
	return 0;
}

static int fill_limit(struct sk_buff *skb, const struct dk_limit *limit)
{
	if (dk_nl_put_text(skb, DK_A_LIMIT_NAME, limit->name) ||
	    dk_nl_put_u64(skb, DK_A_LIMIT_MOST, limit->most, DK_A_LIMIT_PAD) ||
	    (limit->has_used &&
	     dk_nl_put_u64(skb, DK_A_LIMIT_USED, limit->used, DK_A_LIMIT_PAD)))
		return -EMSGSIZE;
	return 0;
}

static int find_limit(struct genl_info *info, struct dk_limit *limit)
{
	const struct nlattr *name = info->attrs[DK_A_LIMIT_NAME];
	unsigned int i = 0;

	while (!limit_at(i++, limit))
		if (!nla_strcmp(name, limit->name))
			return 0;
	return dk_nl_deny(info->extack, name, "no limit has this name", -ENOENT);
}

int dispatchkey_nl_limit_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct dk_limit limit = { .size = sizeof(limit) };
	int err;

	err = dk_nl_require(info->extack, info->attrs, DK_A_LIMIT_NAME,
			    "the name of the limit is missing");
	if (!err)
		err = find_limit(info, &limit);
	if (err)
		return err;
	skb = dk_nl_answer(info, GENLMSG_DEFAULT_SIZE);
	return dk_nl_reply(info, skb, skb ? fill_limit(skb, &limit) : -ENOMEM);
}

int dispatchkey_nl_limit_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct dk_limit limit = { .size = sizeof(limit) };
	struct nlattr *attrs[DK_A_LIMIT_NAME + 1];
	long *next = &cb->args[0];
	void *header;
	int err;

	err = dk_nl_dump_begin(cb, attrs, DK_A_LIMIT_NAME);
	if (!err)
		err = dk_nl_forbid(cb->extack, attrs[DK_A_LIMIT_NAME],
				   "a dump lists all limits: a name is not allowed");
	while (!err && !limit_at(*next, &limit)) {
		header = dk_nl_message_begin(skb, cb);
		err = dk_nl_message_end(skb, header, header ? fill_limit(skb, &limit) : -EMSGSIZE);
		*next += !err;
	}
	dk_nl_dump_compare(cb);
	return dk_nl_dump_end(skb, err);
}

/* ---- init and exit ------------------------------------------------------------ */

int dk_nl_init(void)
{
	struct genl_ops *op;
	int err;

	memcpy(nl_ops, dispatchkey_nl_ops, sizeof(nl_ops));
	for (op = nl_ops; op < nl_ops + ARRAY_SIZE(nl_ops); op++)
		if (op->cmd == DK_CMD_OP_GET || op->cmd == DK_CMD_IMPL_GET ||
		    op->cmd == DK_CMD_STATS_GET)
			op->done = dk_nl_walk_done;
	err = dk_nl_events_begin();
	if (err)
		return err;
	err = genl_register_family(&dk_nl_family);
	if (err)
		dk_nl_events_end();
	return err;
}

/*
 * Sending events uses the family. So this function first sends the queued events and stops events,
 * and then unregisters the family. In dk_nl_init() no event can precede the registration of the
 * family, because drivers cannot use a module that is being loaded.
 */
void dk_nl_exit(void)
{
	dk_nl_events_end();
	genl_unregister_family(&dk_nl_family);
}
