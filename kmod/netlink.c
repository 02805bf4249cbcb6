// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink family, what its commands share, and the commands that tell of
 * the module, of the layout and of limits.
 */
#include <linux/module.h>

#include "netlink.h"
/* Its multicast groups are static. */
#include "netlink_gen.c"

/*
 * Commands of several callers run side by side: the registry has its own lock,
 * and who waits for calls to return keeps no other command waiting. (But generic
 * netlink lets no family come or go meanwhile.) The commands are all younger than
 * the check of the header, so that none is let off.
 */
struct genl_family dk_nl_family = {
	.name = DK_GENL_NAME,
	.version = DK_GENL_VERSION,
	.module = THIS_MODULE,
	.netnsok = false,
	.parallel_ops = true,
	.ops = dispatchkey_nl_ops,
	.n_ops = ARRAY_SIZE(dispatchkey_nl_ops),
	.resv_start_op = 0,
	.mcgrps = dispatchkey_nl_mcgrps,
	.n_mcgrps = ARRAY_SIZE(dispatchkey_nl_mcgrps),
};

int dk_nl_refuse(struct netlink_ext_ack *extack, const struct nlattr *attr,
		 const struct dk_diag *why, int err)
{
	if (extack) {
		extack->_msg = why->text;
		NL_SET_BAD_ATTR(extack, attr);
	}
	return err;
}

struct sk_buff *dk_nl_answer(struct genl_info *info, size_t size, void **header)
{
	struct sk_buff *skb = genlmsg_new(size, GFP_KERNEL);

	if (skb)
		*header = genlmsg_put_reply(skb, info, &dk_nl_family, 0,
					    info->genlhdr->cmd);
	if (skb && *header)
		return skb;
	nlmsg_free(skb);
	NL_SET_ERR_MSG(info->extack, "no memory for the answer");
	return NULL;
}

int dk_nl_reply(struct genl_info *info, struct sk_buff *skb, void *header)
{
	genlmsg_end(skb, header);
	return genlmsg_reply(skb, info);
}

int dk_nl_overrun(struct sk_buff *skb)
{
	nlmsg_free(skb);
	return -EMSGSIZE;
}

int dk_nl_dump_begin(struct netlink_callback *cb, struct nlattr **attrs, int max)
{
	/* 0 would mean that the dump does not care */
	cb->seq = (u32)dk_registry_generation(NULL) + 1;
	if (!attrs)
		return 0;
	return genlmsg_parse(cb->nlh, &dk_nl_family, attrs, max, NULL, cb->extack);
}

void *dk_nl_dump_put(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct genlmsghdr *request = nlmsg_data(cb->nlh);
	void *header;

	header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			     &dk_nl_family, NLM_F_MULTI, request->cmd);
	if (header)
		genl_dump_check_consistent(cb, header);
	return header;
}

int dk_nl_dump_full(struct sk_buff *skb, void *header)
{
	genlmsg_cancel(skb, header);
	return skb->len ? (int)skb->len : -EMSGSIZE;
}

int dk_nl_find_backend(const struct nlattr *number, const struct nlattr *name,
		       struct netlink_ext_ack *extack, unsigned int *backend)
{
	struct dk_diag why = { .size = sizeof(why) };
	int err;

	if (!number && !name) {
		NL_SET_ERR_MSG(extack, "neither number nor name of a backend is given");
		return -EINVAL;
	}
	if (number)
		*backend = nla_get_u32(number);
	if (number && *backend > dk_layout_backends(NULL)) {
		why.text = dk_reason_text(DK_WHY_BAD_BACKEND);
		return dk_nl_refuse(extack, number, &why, -EINVAL);
	}
	if (!name)
		return 0;
	err = dk_backend_find(NULL, nla_data(name), backend, &why);
	if (err)
		return dk_nl_refuse(extack, name, &why, err);
	if (number && nla_get_u32(number) != *backend) {
		NL_SET_ERR_MSG_ATTR(extack, name, "the name is that of another backend");
		return -EINVAL;
	}
	return 0;
}

int dk_nl_find_device(const struct nlattr *number, const struct nlattr *name,
		      struct netlink_ext_ack *extack, u32 *device)
{
	struct dk_diag why = { .size = sizeof(why) };
	struct dk_obj obj;
	int err;

	if (!number && !name) {
		NL_SET_ERR_MSG(extack, "neither number nor name of a device is given");
		return -EINVAL;
	}
	if (number)
		*device = nla_get_u32(number);
	if (!name)
		return 0;
	err = dk_device_find(NULL, nla_data(name), &obj, &why);
	if (err)
		return dk_nl_refuse(extack, name, &why, err);
	if (number && *device != obj.device) {
		NL_SET_ERR_MSG_ATTR(extack, name, "the name is that of another device");
		return -EINVAL;
	}
	*device = obj.device;
	return 0;
}

/* Who counts by another layout would read our keys as others. */
static int dk_nl_check_layout(const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	const char *name = dk_layout_name(dk_registry_layout(dk_registry_default()));

	if (!attr || !nla_strcmp(attr, name))
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, attr, "the registry has another layout");
	return -EPROTO;
}

static int dk_nl_put_counts(struct sk_buff *skb, const struct dk_counts *counts)
{
	if (nla_put_u64_64bit(skb, DK_A_INFO_GENERATION, counts->generation,
			      DK_A_INFO_PAD) ||
	    nla_put_u32(skb, DK_A_INFO_OPERATORS, counts->operators) ||
	    nla_put_u32(skb, DK_A_INFO_IMPLS, counts->impls) ||
	    nla_put_u32(skb, DK_A_INFO_PROVIDERS, counts->providers) ||
	    nla_put_u32(skb, DK_A_INFO_DEVICES, counts->devices))
		return -EMSGSIZE;
	return 0;
}

int dispatchkey_nl_info_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct dk_layout *l = dk_registry_layout(dk_registry_default());
	struct dk_counts counts = { .size = sizeof(counts) };
	struct dk_stats stats = { .size = sizeof(stats) };
	void *header;
	int err;

	err = dk_nl_check_layout(info->attrs[DK_A_INFO_LAYOUT], info->extack);
	if (!err)
		err = dk_registry_counts(NULL, &counts);
	if (!err)
		err = dk_stats_get(NULL, &stats);
	if (err)
		return err;
	skb = dk_nl_answer(info, GENLMSG_DEFAULT_SIZE, &header);
	if (!skb)
		return -ENOMEM;
	if (nla_put_string(skb, DK_A_INFO_VERSION, DK_VERSION) ||
	    nla_put_u32(skb, DK_A_INFO_ABI, DK_ABI_VERSION) ||
	    nla_put_string(skb, DK_A_INFO_LAYOUT, dk_layout_name(l)) ||
	    dk_nl_put_counts(skb, &counts) ||
	    nla_put_u8(skb, DK_A_INFO_COUNTERS, dk_nl_state(stats.is_enabled)))
		return dk_nl_overrun(skb);
	return dk_nl_reply(info, skb, header);
}

/* ---- the layout --------------------------------------------------------------- */

static int dk_nl_put_backend_name(struct sk_buff *skb, const struct dk_layout *l,
				  unsigned int b)
{
	struct nlattr *nest = nla_nest_start(skb, DK_A_LAYOUT_BACKEND);

	if (!nest || nla_put_u32(skb, DK_A_LAYOUT_BACKEND_NUMBER, b) ||
	    nla_put_string(skb, DK_A_LAYOUT_BACKEND_NAME, l->backend_names[b]))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int dk_nl_put_functionality(struct sk_buff *skb, const struct dk_layout *l,
				   unsigned int f)
{
	struct nlattr *nest = nla_nest_start(skb, DK_A_LAYOUT_FUNCTIONALITY);

	if (!nest || nla_put_u32(skb, DK_A_LAYOUT_FUNCTIONALITY_NUMBER, f) ||
	    nla_put_string(skb, DK_A_LAYOUT_FUNCTIONALITY_NAME,
			   l->functionality_names[f]) ||
	    nla_put_u32(skb, DK_A_LAYOUT_FUNCTIONALITY_SLOT, l->offset[f]) ||
	    (dkc_is_per_backend(l, f) &&
	     nla_put_flag(skb, DK_A_LAYOUT_FUNCTIONALITY_PER_BACKEND)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int dk_nl_put_alias(struct sk_buff *skb, const struct dk_layout *l,
			   unsigned int i)
{
	struct nlattr *nest = nla_nest_start(skb, DK_A_LAYOUT_ALIAS);

	if (!nest || nla_put_u32(skb, DK_A_LAYOUT_ALIAS_NUMBER, l->first_alias + i) ||
	    nla_put_string(skb, DK_A_LAYOUT_ALIAS_NAME, l->alias_names[i]))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int dk_nl_put_layout(struct sk_buff *skb, const struct dk_layout *l)
{
	unsigned int i;
	int err = 0;

	if (nla_put_string(skb, DK_A_LAYOUT_NAME, l->name) ||
	    nla_put_u32(skb, DK_A_LAYOUT_ENTRIES, dk_table_size(l)))
		return -EMSGSIZE;
	for (i = 1; !err && i <= l->nb; i++)
		err = dk_nl_put_backend_name(skb, l, i);
	for (i = 1; !err && i < l->nf; i++)
		err = dk_nl_put_functionality(skb, l, i);
	for (i = 0; !err && i < l->num_aliases; i++)
		err = dk_nl_put_alias(skb, l, i);
	return err;
}

/* More than any layout needs: a nest, a name and three numbers for each thing. */
static size_t dk_nl_layout_size(const struct dk_layout *l)
{
	size_t one = nla_total_size(0) + nla_total_size(DK_NAME_MAX) +
		     2 * nla_total_size(sizeof(u32)) + nla_total_size(0);

	return (1 + l->nb + l->nf + l->num_aliases) * one;
}

int dispatchkey_nl_layout_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct dk_layout *l = dk_registry_layout(dk_registry_default());
	void *header;
	int err;

	err = dk_nl_check_layout(info->attrs[DK_A_LAYOUT_NAME], info->extack);
	if (err)
		return err;
	skb = dk_nl_answer(info, dk_nl_layout_size(l), &header);
	if (!skb)
		return -ENOMEM;
	if (dk_nl_put_layout(skb, l))
		return dk_nl_overrun(skb);
	return dk_nl_reply(info, skb, header);
}

/* ---- limits ------------------------------------------------------------------- */

/* The @i-th: that of the events, and then those of the registry. */
static int dk_nl_limit(unsigned int i, struct dk_limit *limit)
{
	if (i)
		return dk_registry_limit(NULL, i - 1, limit);
	dk_nl_event_limit(limit);
	return 0;
}

static int dk_nl_put_limit(struct sk_buff *skb, const struct dk_limit *limit)
{
	if (nla_put_string(skb, DK_A_LIMIT_NAME, limit->name) ||
	    nla_put_u64_64bit(skb, DK_A_LIMIT_MOST, limit->most, DK_A_LIMIT_PAD) ||
	    (limit->has_used &&
	     nla_put_u64_64bit(skb, DK_A_LIMIT_USED, limit->used, DK_A_LIMIT_PAD)))
		return -EMSGSIZE;
	return 0;
}

static int dk_nl_find_limit(const struct nlattr *name, struct dk_limit *limit)
{
	unsigned int i = 0;

	while (!dk_nl_limit(i++, limit))
		if (!nla_strcmp(name, limit->name))
			return 0;
	return -ENOENT;
}

int dispatchkey_nl_limit_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct dk_limit limit = { .size = sizeof(limit) };
	struct nlattr *name = info->attrs[DK_A_LIMIT_NAME];
	void *header;
	int err;

	err = dk_nl_need(info, DK_A_LIMIT_NAME, "the name of a limit is not given");
	if (err)
		return err;
	if (dk_nl_find_limit(name, &limit)) {
		NL_SET_ERR_MSG_ATTR(info->extack, name, "no limit has this name");
		return -ENOENT;
	}
	skb = dk_nl_answer(info, GENLMSG_DEFAULT_SIZE, &header);
	if (!skb)
		return -ENOMEM;
	if (dk_nl_put_limit(skb, &limit))
		return dk_nl_overrun(skb);
	return dk_nl_reply(info, skb, header);
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
		err = dk_nl_bar(cb->extack, attrs[DK_A_LIMIT_NAME],
				"a dump is of all limits");
	if (err)
		return err;
	while (!dk_nl_limit(*next, &limit)) {
		header = dk_nl_dump_put(skb, cb);
		if (!header || dk_nl_put_limit(skb, &limit))
			return dk_nl_dump_full(skb, header);
		genlmsg_end(skb, header);
		++*next;
	}
	return skb->len;
}

/* ---- begin and end ------------------------------------------------------------ */

int dk_nl_init(void)
{
	int err = dk_nl_events_init();

	if (err)
		return err;
	err = genl_register_family(&dk_nl_family);
	if (err) {
		dk_nl_events_exit();
		return err;
	}
	dk_nl_events_begin();
	return 0;
}

/* Nothing is told any more before there is nobody to tell it as. */
void dk_nl_exit(void)
{
	dk_nl_events_end();
	genl_unregister_family(&dk_nl_family);
	dk_nl_events_exit();
}
