// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions in messages, and impl-get: the functions that are registered.
 */
#include <linux/sched.h>
#include <linux/slab.h>

#include "netlink_impl.h"
#include "netlink_room.h"

const struct dk_nl_impl_attrs dk_nl_impl_attrs = {
	.key = DK_A_IMPL_KEY,
	.key_name = DK_A_IMPL_KEY_NAME,
	.label = DK_A_IMPL_LABEL,
	.provider = DK_A_IMPL_PROVIDER,
	.device = DK_A_IMPL_DEVICE,
	.device_name = DK_A_IMPL_DEVICE_NAME,
	.flags = DK_A_IMPL_FLAGS,
};

/* ---- requests ----------------------------------------------------------------- */

int dk_nl_deny(struct netlink_ext_ack *extack, const struct nlattr *attr,
	       const char *text, int err)
{
	if (extack) {
		extack->_msg = text;
		NL_SET_BAD_ATTR(extack, attr);
	}
	return err;
}

/*
 * As dk_nl_dump_begin() does it. A walk goes on at a place among all operators, of
 * which some are told to nobody, and go without a new generation.
 */
static void dk_nl_walk_stamp(struct netlink_callback *cb)
{
	const struct dk_registry *reg = dk_registry_default();

	cb->seq = (u32)reg->generation + reg->moves + 1;
}

int dk_nl_walk(struct sk_buff *skb, struct netlink_callback *cb, bool by_name,
	       int (*hold)(struct sk_buff *skb, struct netlink_callback *cb, void *data),
	       void *data)
{
	struct dk_registry *reg = dk_registry_default();
	struct dk_nl_walk *w = (void *)cb->ctx;
	int err;

	do {
		dkc_mutex_lock(&reg->lock);
		dk_nl_walk_stamp(cb);
		/* what changes before the first message is a change, too */
		if (!w->begun)
			cb->prev_seq = cb->seq;
		w->work = 0;
		err = by_name ? dkc_order_some(reg, DK_NL_ORDER_MAX) : 0;
		if (!err) {
			err = hold(skb, cb, data);
			w->begun = 1;
		}
		dkc_mutex_unlock(&reg->lock);
		cond_resched();
	} while (err == -EAGAIN);
	if (err == -ENOMEM)
		dk_nl_deny(cb->extack, NULL, "no memory for the list of operators", -ENOMEM);
	/* what is too long for an empty part is too long for all */
	return err && (err != -EMSGSIZE || !skb->len) ? err : skb->len;
}

int dk_nl_for_dumps(struct genl_info *info, const u8 *attr, unsigned int n)
{
	for (; n; n--, attr++)
		if (info->attrs[*attr])
			return dk_nl_deny(info->extack, info->attrs[*attr],
					  "this filter is for dumps", -EINVAL);
	return 0;
}

struct dk_op *dk_nl_op(struct dk_registry *reg, const struct nlattr *attr,
		       struct netlink_ext_ack *extack)
{
	struct dk_op *op = dkc_op_find(reg, nla_data(attr));

	if (op && dkc_op_is_there(op))
		return op;
	dk_nl_deny(extack, attr, dk_reason_text(DK_WHY_NO_OPERATOR), -ENOENT);
	return NULL;
}

int dk_nl_walk_op(struct netlink_callback *cb, const struct nlattr *name,
		  struct dk_op **op)
{
	const struct dk_nl_walk *w = (void *)cb->ctx;

	*op = dk_nl_op(dk_registry_default(), name, w->begun ? NULL : cb->extack);
	return *op || w->begun ? 0 : -ENOENT;
}

int dk_nl_device(const struct dk_registry *reg, u32 number, const struct nlattr *attr,
		 struct netlink_ext_ack *extack, struct dkc_device **dev)
{
	*dev = dkc_device_at(reg, number);
	return *dev || !number ? 0 : dk_nl_deny(extack, attr,
						dk_reason_text(DK_WHY_NO_DEVICE), -ENODEV);
}

int dk_nl_filter_check(const struct dk_nl_filter *f, const struct dk_registry *reg,
		       struct netlink_ext_ack *extack)
{
	const struct dkc_provider *prov = reg->providers;
	enum dk_key_kind kind;

	if (f->key) {
		kind = dk_key_kind(reg->layout, nla_get_u32(f->key));
		if (kind == DK_KIND_NONE || kind == DK_KIND_SENTINEL)
			return dk_nl_deny(extack, f->key,
					  dk_reason_text(DK_WHY_BAD_KEY), -EINVAL);
	}
	if (f->backend && nla_get_u32(f->backend) > reg->layout->nb)
		return dk_nl_deny(extack, f->backend,
				  dk_reason_text(DK_WHY_BAD_BACKEND), -EINVAL);
	if (f->device && !dkc_device_at(reg, nla_get_u32(f->device)))
		return dk_nl_deny(extack, f->device,
				  dk_reason_text(DK_WHY_NO_DEVICE), -ENODEV);
	if (!f->provider)
		return 0;
	while (prov && (prov->left || strcmp(prov->name, nla_data(f->provider))))
		prov = prov->next;
	return prov ? 0 : dk_nl_deny(extack, f->provider,
				     "no provider has this name", -ENOENT);
}

bool dk_nl_filter_passes(const struct dk_nl_filter *f, const struct dk_registry *reg,
			 const struct dkc_reg *r)
{
	const struct dkc_block *b = dkc_block_of(r);

	if (f->key && r->key != nla_get_u32(f->key))
		return false;
	/* a device's functions are all at keys of its backend */
	if (f->backend &&
	    dk_key_backend(reg->layout, r->key) != nla_get_u32(f->backend))
		return false;
	if (f->device && b->device != nla_get_u32(f->device))
		return false;
	return !f->provider ||
	       (b->prov && !strcmp(b->prov->name, nla_data(f->provider)));
}

/* ---- functions in messages ------------------------------------------------------ */

/* Apart from the others: kernels that clear their stacks clear @name, too. */
static noinline bool dk_nl_write_any_key_name(struct dk_nl_room *room, int type,
					      const struct dk_layout *l, unsigned int key)
{
	char name[DK_NAME_MAX];

	return dk_nl_write_text(room, type, dk_key_name(l, key, name));
}

/* In the module's layout only keys of one backend are named after it. */
static bool dk_nl_write_key_name(struct dk_nl_room *room, int type,
				 const struct dk_registry *reg, unsigned int key)
{
	const struct dk_layout *l = reg->layout;
	unsigned int b = dk_key_backend(l, key);
	const char *bound = reg->private_backend[b].name;

	if (b)
		return dk_nl_write_texts(room, type,
					 dkc_key_prefix(l, dk_key_functionality(l, key)),
					 bound[0] ? bound : l->backend_names[b]);
	if (key < l->nf)
		return dk_nl_write_text(room, type, l->functionality_prints[key]);
	return dk_nl_write_any_key_name(room, type, l, key);
}

int dk_nl_put_key_name(struct sk_buff *skb, int attr, const struct dk_registry *reg,
		       unsigned int key)
{
	struct dk_nl_room room = dk_nl_room(skb);

	return dk_nl_room_used(skb, &room, dk_nl_write_key_name(&room, attr, reg, key));
}

/* One that the registry was born with serves where no provider's does. */
static bool dk_nl_is_active_fallback(const struct dk_registry *reg,
				     const struct dkc_reg *r)
{
	const struct dkc_reg *top = dkc_deref_locked(reg->fallback[r->slot]);

	return top && dkc_visible(top, NULL) ? r == top : r == reg->stock[r->slot];
}

static u32 dk_nl_impl_flags(const struct dk_registry *reg, const struct dkc_reg *r,
			    const struct dk_impl *impl, bool is_top)
{
	u32 flags = 0;

	if (impl->flags & DK_IMPL_F_FALLTHROUGH)
		flags |= DK_NL_IMPL_FALLTHROUGH;
	if (impl->flags & DK_IMPL_F_BOXED)
		flags |= DK_NL_IMPL_BOXED;
	if (dkc_block_of(r)->prov && !dkc_visible(r, NULL))
		flags |= DK_NL_IMPL_OFFLINE;
	else if (dkc_reg_op(r) ? is_top : dk_nl_is_active_fallback(reg, r))
		flags |= DK_NL_IMPL_ACTIVE;
	return flags;
}

static bool dk_nl_write_impl(struct dk_nl_room *room, const struct dk_registry *reg,
			     const struct dkc_reg *r, const struct dk_nl_impl_attrs *a,
			     bool is_top)
{
	const struct dk_impl *impl = dkc_impl_of(r);
	const struct dkc_block *b = dkc_block_of(r);

	return (!a->key || dk_nl_write_u32(room, a->key, r->key)) &&
	       (!a->key_name || dk_nl_write_key_name(room, a->key_name, reg, r->key)) &&
	       (!impl->label || dk_nl_write_text(room, a->label, impl->label)) &&
	       (!b->prov || dk_nl_write_text(room, a->provider, b->prov->name)) &&
	       (!b->dev || (dk_nl_write_u32(room, a->device, b->device) &&
			    dk_nl_write_text(room, a->device_name, b->dev->name))) &&
	       (!a->flags ||
		dk_nl_write_u32(room, a->flags, dk_nl_impl_flags(reg, r, impl, is_top)));
}

int dk_nl_put_impl(struct sk_buff *skb, const struct dk_registry *reg,
		   const struct dkc_reg *r, const struct dk_nl_impl_attrs *a, bool is_top)
{
	struct dk_nl_room room = dk_nl_room(skb);

	return dk_nl_room_used(skb, &room, dk_nl_write_impl(&room, reg, r, a, is_top));
}

int dk_nl_nest_impl(struct sk_buff *skb, int nest, const struct dk_registry *reg,
		    const struct dkc_reg *r, const struct dk_nl_impl_attrs *a, bool is_top)
{
	struct dk_nl_room room = dk_nl_room(skb);
	struct nlattr *attr = (void *)room.at;
	bool fits;

	if (room.end - room.at < NLA_HDRLEN)
		return -EMSGSIZE;
	room.at += NLA_HDRLEN;
	fits = dk_nl_write_impl(&room, reg, r, a, is_top);
	if (fits) {
		attr->nla_type = nest | NLA_F_NESTED;
		attr->nla_len = room.at - (u8 *)attr;
	}
	return dk_nl_room_used(skb, &room, fits);
}

/* ---- the functions of an operator in order -------------------------------------- */

/* A few are put where they belong one by one. */
static void dk_nl_sort_few(struct dk_nl_impls *impls, const struct dk_op *op)
{
	const struct dkc_reg *r = NULL;
	u32 i;

	while ((r = dkc_reg_walk(op, r))) {
		for (i = impls->n++; i && impls->reg[i - 1]->key > r->key; i--)
			impls->reg[i] = impls->reg[i - 1];
		impls->reg[i] = r;
	}
}

/* Of many, those of each key are counted first, so that each one's place is known. */
static bool dk_nl_sort_many(struct dk_nl_impls *impls, const struct dk_op *op)
{
	u32 keys = dk_layout_keys(op->reg->layout), i, n;
	const struct dkc_reg *r = NULL;
	u32 *place;

	impls->reg = kvmalloc_array(op->num_regs, sizeof(*impls->reg), GFP_KERNEL);
	place = kvcalloc(keys, sizeof(*place), GFP_KERNEL);
	if (!impls->reg || !place) {
		kvfree(impls->reg);
		kvfree(place);
		return false;
	}
	while ((r = dkc_reg_walk(op, r)))
		place[r->key]++;
	for (i = 0; i < keys; i++) {
		n = place[i];
		place[i] = impls->n;
		impls->n += n;
	}
	while ((r = dkc_reg_walk(op, r)))
		impls->reg[place[r->key]++] = r;
	kvfree(place);
	dkc_work(DKC_WORK_FUNCTIONS, 2 * op->num_regs);
	return true;
}

int dk_nl_impls_get(struct dk_nl_impls *impls, const struct dk_op *op,
		    struct netlink_ext_ack *extack)
{
	impls->n = 0;
	impls->reg = impls->few;
	if (op->num_regs <= ARRAY_SIZE(impls->few)) {
		dk_nl_sort_few(impls, op);
		return 0;
	}
	if (!dk_nl_sort_many(impls, op))
		return dk_nl_deny(extack, NULL, "no memory for the answer", -ENOMEM);
	return 0;
}

/* In the order of an operator's lists, those of one device are together. */
bool dk_nl_is_top(const struct dk_nl_impls *impls, u32 i)
{
	const struct dkc_reg *r = impls->reg[i];

	/* the loop would pass all functions of an offline key */
	if (!dkc_visible(r, NULL))
		return false;
	while (i--) {
		if (impls->reg[i]->key != r->key ||
		    dkc_block_of(impls->reg[i])->dev != dkc_block_of(r)->dev)
			break;
		dkc_work(DKC_WORK_FUNCTIONS, 1);
		if (dkc_visible(impls->reg[i], NULL))
			return false;
	}
	return true;
}

void dk_nl_impls_put(struct dk_nl_impls *impls)
{
	if (impls->reg != impls->few)
		kvfree(impls->reg);
}

/* ---- impl-get -------------------------------------------------------------------- */

static int dk_nl_fill_impl(struct sk_buff *skb, const struct dk_registry *reg,
			   const struct dkc_reg *r, bool is_top)
{
	const struct dk_op *op = dkc_reg_op(r);

	if (op && nla_put_string(skb, DK_A_IMPL_OP, op->name))
		return -EMSGSIZE;
	return dk_nl_put_impl(skb, reg, r, &dk_nl_impl_attrs, is_top);
}

/* The active function of an operator that a request asks for. */
static int dk_nl_find_impl(struct dk_registry *reg, struct genl_info *info,
			   const struct dkc_reg **out)
{
	const struct nlattr *key = info->attrs[DK_A_IMPL_KEY];
	const struct nlattr *device = info->attrs[DK_A_IMPL_DEVICE];
	struct dkc_device *dev;
	struct dk_op *op;
	int err;

	op = dk_nl_op(reg, info->attrs[DK_A_IMPL_OP], info->extack);
	if (!op)
		return -ENOENT;
	err = dk_nl_device(reg, device ? nla_get_u32(device) : 0, device, info->extack,
			   &dev);
	if (err)
		return err;
	*out = dkc_top(op, dev, nla_get_u32(key), NULL);
	/* what has no device lies below that of all devices */
	if (!*out || dkc_block_of(*out)->dev != dev)
		return dk_nl_deny(info->extack, key, dk_reason_text(DK_WHY_NO_IMPL),
				  -ENOENT);
	return 0;
}

/* The same of the backend fallbacks. */
static int dk_nl_find_fallback(struct dk_registry *reg, struct genl_info *info,
			       const struct dkc_reg **out)
{
	const struct nlattr *key = info->attrs[DK_A_IMPL_KEY];
	const struct dk_layout *l = reg->layout;
	struct dkc_reg *r = NULL;
	unsigned int slot;

	if (info->attrs[DK_A_IMPL_DEVICE])
		return dk_nl_deny(info->extack, info->attrs[DK_A_IMPL_DEVICE],
				  "a backend fallback is of no device", -EINVAL);
	if (dk_key_kind(l, nla_get_u32(key)) != DK_KIND_ALIAS) {
		slot = dk_keyset_slot(l, dk_key_set(l, nla_get_u32(key)));
		r = dkc_deref_locked(reg->fallback[slot]);
		if (!r || !dkc_visible(r, NULL))
			r = reg->stock[slot];
	}
	*out = r;
	if (!r || r->key != nla_get_u32(key))
		return dk_nl_deny(info->extack, key,
				  "no backend fallback is registered at this key",
				  -ENOENT);
	return 0;
}

static int dk_nl_impl_answer(struct sk_buff *skb, struct genl_info *info)
{
	const struct dk_nl_filter f = { .key = info->attrs[DK_A_IMPL_KEY] };
	struct dk_registry *reg = dk_registry_default();
	const struct dkc_reg *r;
	int err;

	dkc_mutex_lock(&reg->lock);
	err = dk_nl_filter_check(&f, reg, info->extack);
	if (!err)
		err = info->attrs[DK_A_IMPL_OP] ? dk_nl_find_impl(reg, info, &r) :
						  dk_nl_find_fallback(reg, info, &r);
	if (!err)
		err = dk_nl_fill_impl(skb, reg, r, true);
	dkc_mutex_unlock(&reg->lock);
	return err;
}

int dispatchkey_nl_impl_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	static const u8 filters[] = { DK_A_IMPL_BACKEND, DK_A_IMPL_PROVIDER };
	struct sk_buff *answer;
	void *header;
	int err;

	err = dk_nl_need(info, DK_A_IMPL_KEY, "the key of the function is missing");
	if (!err)
		err = dk_nl_for_dumps(info, filters, ARRAY_SIZE(filters));
	if (err)
		return err;
	answer = dk_nl_answer(info, NLMSG_DEFAULT_SIZE, &header);
	if (!answer)
		return -ENOMEM;
	err = dk_nl_impl_answer(answer, info);
	if (err) {
		nlmsg_free(answer);
		return err;
	}
	return dk_nl_reply(info, answer, header);
}

/* ---- all of them ------------------------------------------------------------------ */

/* Where a dump goes on: first the operators, then the table of the fallbacks. */
struct dk_nl_impl_walk {
	struct dk_nl_walk walk;
	u32 op;			/* place by name */
	u32 impl;		/* which one of its functions */
	u32 slot;
	u32 is_stock;		/* of a slot, the one that was there from birth */
};

/* One message, if the filter lets it through. */
static int dk_nl_dump_impl(struct sk_buff *skb, struct netlink_callback *cb,
			   const struct dk_nl_filter *f, const struct dkc_reg *r,
			   const struct dk_nl_impls *impls, u32 i)
{
	struct dk_registry *reg = dk_registry_default();
	void *header;

	if (!r || !dk_nl_filter_passes(f, reg, r))
		return 0;
	header = dk_nl_dump_put(skb, cb);
	if (!header)
		return -EMSGSIZE;
	if (dk_nl_fill_impl(skb, reg, r, impls && dk_nl_is_top(impls, i))) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

static int dk_nl_dump_impls_of(struct sk_buff *skb, struct netlink_callback *cb,
			       const struct dk_nl_filter *f, const struct dk_op *op)
{
	struct dk_nl_impl_walk *w = (void *)cb->ctx;
	struct dk_nl_impls impls;
	int err;

	err = dk_nl_impls_get(&impls, op, cb->extack);
	while (!err && w->impl < impls.n) {
		err = dk_nl_dump_impl(skb, cb, f, impls.reg[w->impl], &impls, w->impl);
		if (err)
			break;
		w->impl++;
		err = dk_nl_worked(cb, 1);
	}
	dk_nl_impls_put(&impls);
	return err;
}

static int dk_nl_dump_fallbacks(struct sk_buff *skb, struct netlink_callback *cb,
				const struct dk_nl_filter *f)
{
	struct dk_registry *reg = dk_registry_default();
	struct dk_nl_impl_walk *w = (void *)cb->ctx;
	int err = 0;

	while (w->slot < reg->layout->num_entries) {
		err = dk_nl_dump_impl(skb, cb, f, w->is_stock ?
				      reg->stock[w->slot] :
				      dkc_deref_locked(reg->fallback[w->slot]), NULL, 0);
		if (err)
			break;
		w->slot += w->is_stock;
		w->is_stock = !w->is_stock;
	}
	return err;
}

static int dk_nl_dump_all_impls(struct sk_buff *skb, struct netlink_callback *cb,
				const struct dk_nl_filter *f)
{
	struct dk_registry *reg = dk_registry_default();
	struct dk_nl_impl_walk *w = (void *)cb->ctx;
	struct dk_op *op;
	int err = 0;

	while (!err && (op = dkc_op_at(reg, w->op))) {
		err = dk_nl_dump_impls_of(skb, cb, f, op);
		if (err)
			break;
		w->op++;
		w->impl = 0;
		err = dk_nl_worked(cb, dk_nl_op_work(op));
	}
	return err ?: dk_nl_dump_fallbacks(skb, cb, f);
}

struct dk_nl_impl_request {
	const struct nlattr *op;	/* nothing but its functions; NULL: all */
	struct dk_nl_filter filter;
};

static int dk_nl_dump_impls(struct sk_buff *skb, struct netlink_callback *cb, void *data)
{
	struct dk_registry *reg = dk_registry_default();
	const struct dk_nl_impl_request *r = data;
	struct dk_nl_walk *w = (void *)cb->ctx;
	struct dk_op *op;
	int err;

	err = w->begun ? 0 : dk_nl_filter_check(&r->filter, reg, cb->extack);
	if (!err && !r->op)
		return dk_nl_dump_all_impls(skb, cb, &r->filter);
	if (!err)
		err = dk_nl_walk_op(cb, r->op, &op);
	return err || !op ? err : dk_nl_dump_impls_of(skb, cb, &r->filter, op);
}

int dispatchkey_nl_impl_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct nlattr *attrs[DK_A_IMPL_MAX + 1];
	struct dk_nl_impl_request r;
	int err;

	BUILD_BUG_ON(sizeof(struct dk_nl_impl_walk) > sizeof(cb->ctx));
	err = dk_nl_dump_begin(cb, attrs, DK_A_IMPL_MAX);
	if (err)
		return err;
	r.op = attrs[DK_A_IMPL_OP];
	r.filter = (struct dk_nl_filter){
		.key = attrs[DK_A_IMPL_KEY],
		.backend = attrs[DK_A_IMPL_BACKEND],
		.provider = attrs[DK_A_IMPL_PROVIDER],
		.device = attrs[DK_A_IMPL_DEVICE],
	};
	return dk_nl_walk(skb, cb, !r.op, dk_nl_dump_impls, &r);
}
