// SPDX-License-Identifier: GPL-2.0-only
/* Puts registered functions into messages, and defines the command impl-get, which reports them. */
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "netlink_impl.h"
#include "netlink_write.h"

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

struct dk_op *dk_nl_op(struct dk_registry *reg, const struct nlattr *attr,
		       struct netlink_ext_ack *extack)
{
	struct dk_op *op;

	lockdep_assert_held(&reg->lock);
	op = dkc_op_find(reg, nla_data(attr));
	if (op && dkc_op_is_listed(op))
		return op;
	dk_nl_deny(extack, attr, dk_reason_text(DK_WHY_NO_OPERATOR), -ENOENT);
	return NULL;
}

int dk_nl_device(const struct dk_registry *reg, u32 number, const struct nlattr *attr,
		 struct netlink_ext_ack *extack, struct dkc_device **dev)
{
	lockdep_assert_held(&reg->lock);
	*dev = dkc_device_at(reg, number);
	return *dev || !number ? 0 : dk_nl_deny(extack, attr,
						dk_reason_text(DK_WHY_NO_DEVICE), -ENODEV);
}

/* Checks that key, backend, provider and device of a filter exist. */
static int filter_check(const struct dk_nl_filter *f, const struct dk_registry *reg,
			struct netlink_ext_ack *extack)
{
	const struct dkc_provider *prov = reg->providers;
	enum dk_key_kind kind;

	lockdep_assert_held(&reg->lock);
	if (f->key) {
		kind = dk_key_kind(reg->layout, nla_get_u32(f->key));
		if (kind == DK_KIND_NONE || kind == DK_KIND_SENTINEL)
			return dk_nl_deny(extack, f->key, dk_reason_text(DK_WHY_BAD_KEY), -EINVAL);
	}
	if (f->backend && nla_get_u32(f->backend) > reg->layout->nb)
		return dk_nl_deny(extack, f->backend, dk_reason_text(DK_WHY_BAD_BACKEND), -EINVAL);
	if (f->device && !dkc_device_at(reg, nla_get_u32(f->device)))
		return dk_nl_deny(extack, f->device, dk_reason_text(DK_WHY_NO_DEVICE), -ENODEV);
	if (!f->provider)
		return 0;
	while (prov && (prov->drained || strcmp(prov->name, nla_data(f->provider))))
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
	/* functions of a device pass, too: they are registered at keys of the device's backend */
	if (f->backend &&
	    dk_key_backend(reg->layout, r->key) != nla_get_u32(f->backend))
		return false;
	if (f->device && b->device != nla_get_u32(f->device))
		return false;
	return !f->provider ||
	       (b->prov && !strcmp(b->prov->name, nla_data(f->provider)));
}

/* ---- walks -------------------------------------------------------------------------- */

static int walk_one(struct sk_buff *skb, struct netlink_callback *cb, const struct dk_nl_dump *d)
{
	const struct dk_nl_walk *w = (void *)cb->ctx;
	struct dk_op *op = dk_nl_op(dk_registry_default(), d->op, w->begun ? NULL : cb->extack);

	/* the operator may have been undefined during the walk */
	if (!op)
		return w->begun ? 0 : -ENOENT;
	return d->fill(skb, cb, op, d);
}

static bool has_prefix(const struct dk_op *op, const struct nlattr *prefix)
{
	return !prefix || !strncmp(op->name, nla_data(prefix), strlen(nla_data(prefix)));
}

static int walk_all(struct sk_buff *skb, struct netlink_callback *cb, const struct dk_nl_dump *d)
{
	struct dk_registry *reg = dk_registry_default();
	struct dk_nl_walk *w = (void *)cb->ctx;
	struct dk_op *op;
	int err;

	if (!w->begun && d->prefix)
		nla_strscpy(w->name, d->prefix, DK_NAME_MAX);
	for (op = dkc_op_from(reg, w->name, w->whole); op && has_prefix(op, d->prefix);
	     op = op->after) {
		if (strcmp(w->name, op->name)) {
			strscpy(w->name, op->name, DK_NAME_MAX);
			w->item = 0;
		}
		err = dkc_op_is_listed(op) ? d->fill(skb, cb, op, d) : 0;
		w->whole = !err;
		/* the operator and its functions were visited */
		err = err ?: dk_nl_worked(cb, 1 + min_t(u32, op->num_regs, DK_NL_WORK_MAX));
		if (err)
			return err;
	}
	return d->fill_rest ? d->fill_rest(skb, cb, d) : 0;
}

int dk_nl_walk_done(struct netlink_callback *cb)
{
	struct dk_nl_walk *w = (void *)cb->ctx;

	kfree(w->name);
	return 0;
}

int dk_nl_walk(struct sk_buff *skb, struct netlink_callback *cb, const struct dk_nl_dump *d)
{
	struct dk_registry *reg = dk_registry_default();
	struct dk_nl_walk *w = (void *)cb->ctx;
	int err;

	BUILD_BUG_ON(sizeof(*w) > sizeof(cb->ctx));
	if (!d->op && !w->name) {
		w->name = kzalloc(DK_NAME_MAX, GFP_KERNEL_ACCOUNT);
		if (!w->name)
			return dk_nl_deny(cb->extack, NULL, "no memory for the answer", -ENOMEM);
	}
	do {
		mutex_lock(&reg->lock);
		cb->seq = dk_nl_dump_seq(reg->generation);
		/* set NLM_F_DUMP_INTR also if the registry changes before the first message */
		if (!w->begun)
			cb->prev_seq = cb->seq;
		w->work = 0;
		err = d->op ? 0 : dkc_order_some(reg, DK_NL_ORDER_MAX);
		if (!err) {
			if (!w->begun)
				err = filter_check(&d->filter, reg, cb->extack);
			if (!err)
				err = d->op ? walk_one(skb, cb, d) : walk_all(skb, cb, d);
			w->begun = 1;
		}
		mutex_unlock(&reg->lock);
		cond_resched();
		if (err == -EAGAIN && fatal_signal_pending(current))
			err = -EINTR;
	} while (err == -EAGAIN);
	return dk_nl_dump_end(skb, err);
}

/* ---- functions in messages ------------------------------------------------------ */

/*
 * Not inlined, because kernels that initialise variables on the stack would clear @name for
 * every key.
 */
static noinline bool write_any_key_name(struct dk_nl_writer *w, int type,
					const struct dk_registry *reg, unsigned int key)
{
	char name[DK_NAME_MAX];

	dkc_key_text(reg, key, name);
	return dk_nl_write_text(w, type, name);
}

/*
 * Writes the name of a key, as dk_registry_key_name() returns it: with the private name of the
 * key's backend, if there is one.
 */
static bool write_key_name(struct dk_nl_writer *w, int type,
			   const struct dk_registry *reg, unsigned int key)
{
	const struct dk_layout *l = reg->layout;
	struct dkc_place place = dkc_key_place(l, key);
	const char *bound = reg->private_backend[place.b]->name;
	size_t kept;

	if (place.b)
		return dk_nl_write_texts(w, type, dkc_key_prefix(l, place.f),
					 bound[0] ? bound : l->backend_names[place.b]);
	if (key < l->nf && !dkc_private_end(reg, l->functionality_prints[key], &kept))
		return dk_nl_write_text(w, type, l->functionality_prints[key]);
	return write_any_key_name(w, type, reg, key);
}

int dk_nl_put_key_name(struct sk_buff *skb, int attr, const struct dk_registry *reg,
		       unsigned int key)
{
	struct dk_nl_writer w = dk_nl_writer(skb);

	return dk_nl_writer_commit(skb, &w, write_key_name(&w, attr, reg, key));
}

static u32 impl_flags(const struct dk_registry *reg, const struct dkc_reg *r,
		      const struct dk_impl *impl, bool is_top)
{
	const struct dkc_block *b = dkc_block_of(r);
	u32 flags = 0;

	if (impl->flags & DK_IMPL_F_FALLTHROUGH)
		flags |= DK_NL_IMPL_FALLTHROUGH;
	if (impl->flags & DK_IMPL_F_BOXED)
		flags |= DK_NL_IMPL_BOXED;
	if (b->prov && !dkc_may_serve(r))
		flags |= DK_NL_IMPL_OFFLINE;
	else if (b->fallback ? r == dkc_fallback_of(reg, false, r->slot, NULL) : is_top)
		flags |= DK_NL_IMPL_ACTIVE;
	return flags;
}

static bool write_impl(struct dk_nl_writer *w, const struct dk_registry *reg,
		       const struct dkc_reg *r, const struct dk_nl_impl_attrs *a,
		       bool is_top)
{
	const struct dk_impl *impl = dkc_impl_of(r);
	const struct dkc_block *b = dkc_block_of(r);

	lockdep_assert_held(&reg->lock);
	return (!a->key || dk_nl_write_u32(w, a->key, r->key)) &&
	       (!a->key_name || write_key_name(w, a->key_name, reg, r->key)) &&
	       (!impl->label || dk_nl_write_text(w, a->label, impl->label)) &&
	       (!b->prov || dk_nl_write_text(w, a->provider, b->prov->name)) &&
	       (!b->dev || (dk_nl_write_u32(w, a->device, b->device) &&
			    dk_nl_write_text(w, a->device_name, b->dev->name))) &&
	       (!a->flags ||
		dk_nl_write_u32(w, a->flags, impl_flags(reg, r, impl, is_top)));
}

int dk_nl_put_impl(struct sk_buff *skb, const struct dk_registry *reg,
		   const struct dkc_reg *r, const struct dk_nl_impl_attrs *a, bool is_top)
{
	struct dk_nl_writer w = dk_nl_writer(skb);

	return dk_nl_writer_commit(skb, &w, write_impl(&w, reg, r, a, is_top));
}

int dk_nl_nest_impl(struct sk_buff *skb, int nest, const struct dk_registry *reg,
		    const struct dkc_reg *r, const struct dk_nl_impl_attrs *a, bool is_top)
{
	struct dk_nl_writer w = dk_nl_writer(skb);
	struct nlattr *attr = (void *)w.at;
	bool fits;

	if (w.end - w.at < NLA_HDRLEN)
		return -EMSGSIZE;
	w.at += NLA_HDRLEN;
	fits = write_impl(&w, reg, r, a, is_top);
	if (fits) {
		attr->nla_type = nest | NLA_F_NESTED;
		attr->nla_len = w.at - (u8 *)attr;
	}
	return dk_nl_writer_commit(skb, &w, fits);
}

/* ---- the functions of an operator in order -------------------------------------- */

/* Sorts the functions by key, with insertion sort. Functions at one key keep their order. */
static void sort_few(struct dk_nl_impls *impls, const struct dk_op *op)
{
	const struct dkc_reg *r = NULL;
	u32 i;

	while ((r = dkc_reg_walk(op, r))) {
		for (i = impls->n++; i && impls->reg[i - 1]->key > r->key; i--)
			impls->reg[i] = impls->reg[i - 1];
		impls->reg[i] = r;
	}
}

/*
 * Does the same as sort_few(), with counting sort. Returns false if allocation fails. The memory is
 * not charged to the user's control group. Otherwise, a user over the group's limit would sleep
 * with the registry's lock held. The lock also ensures that only one request at a time uses such
 * memory.
 */
static bool sort_many(struct dk_nl_impls *impls, const struct dk_op *op)
{
	u32 keys = dk_layout_keys(op->reg->layout), i, n;
	const struct dkc_reg *r = NULL;
	u32 *place;

	impls->reg = kvmalloc_array(op->num_regs, sizeof(*impls->reg), GFP_KERNEL);
	place = kvcalloc(keys, sizeof(*place), GFP_KERNEL);
	if (!impls->reg || !place) {
		kvfree(impls->reg);
		impls->reg = NULL;	/* dk_nl_impls_put() may be called even after a failure */
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
	lockdep_assert_held(&op->reg->lock);
	impls->n = 0;
	impls->reg = impls->few;
	if (op->num_regs <= ARRAY_SIZE(impls->few))
		sort_few(impls, op);
	else if (!sort_many(impls, op))
		return dk_nl_deny(extack, NULL, "no memory for the answer", -ENOMEM);
	return 0;
}

/* The functions of one device at one key are adjacent, newest first. */
bool dk_nl_is_top(const struct dk_nl_impls *impls, u32 i)
{
	const struct dkc_reg *r = impls->reg[i];

	/*
	 * Check this first. If the key's backend is offline, no function at the key may serve, and
	 * the loop below would visit all functions that are newer than @r.
	 */
	if (!dkc_may_serve(r))
		return false;
	while (i--) {
		if (impls->reg[i]->key != r->key ||
		    dkc_block_of(impls->reg[i])->dev != dkc_block_of(r)->dev)
			break;
		dkc_work(DKC_WORK_FUNCTIONS, 1);
		if (dkc_may_serve(impls->reg[i]))
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

static int fill_impl(struct sk_buff *skb, const struct dk_registry *reg,
		     const struct dkc_reg *r, bool is_top)
{
	const struct dk_op *op = dkc_reg_op(r);

	if (op && nla_put_string(skb, DK_A_IMPL_OP, op->name))
		return -EMSGSIZE;
	return dk_nl_put_impl(skb, reg, r, &dk_nl_impl_attrs, is_top);
}

/* Finds the active function of the operator, key and device of a request. */
static int find_impl(struct dk_registry *reg, struct genl_info *info, const struct dkc_reg **out)
{
	const struct nlattr *key = info->attrs[DK_A_IMPL_KEY];
	const struct nlattr *device = info->attrs[DK_A_IMPL_DEVICE];
	struct dkc_device *dev;
	struct dk_op *op;
	int err;

	op = dk_nl_op(reg, info->attrs[DK_A_IMPL_OP], info->extack);
	if (!op)
		return -ENOENT;
	err = dk_nl_device(reg, device ? nla_get_u32(device) : 0, device, info->extack, &dev);
	if (err)
		return err;
	*out = dkc_top(op, dev, nla_get_u32(key), NULL);
	/* dkc_top() also returns a function without a device */
	if (!*out || dkc_block_of(*out)->dev != dev)
		return dk_nl_deny(info->extack, key, dk_reason_text(DK_WHY_NO_IMPL), -ENOENT);
	return 0;
}

/* Finds the active backend fallback at the key of a request. */
static int find_fallback(struct dk_registry *reg, struct genl_info *info,
			 const struct dkc_reg **out)
{
	const struct nlattr *key = info->attrs[DK_A_IMPL_KEY];
	const struct dk_layout *l = reg->layout;
	struct dkc_reg *r = NULL;
	unsigned int slot;
	int err = dk_nl_forbid(info->extack, info->attrs[DK_A_IMPL_DEVICE],
			       "a backend fallback has no device");

	if (err)
		return err;
	if (dk_key_kind(l, nla_get_u32(key)) != DK_KIND_ALIAS) {
		slot = dk_keyset_slot(l, dk_key_set(l, nla_get_u32(key)));
		r = dkc_fallback_of(reg, false, slot, NULL);
	}
	*out = r;
	if (!r || r->key != nla_get_u32(key))
		return dk_nl_deny(info->extack, key,
				  "no backend fallback is registered at this key",
				  -ENOENT);
	return 0;
}

static int impl_answer(struct sk_buff *skb, struct genl_info *info)
{
	const struct dk_nl_filter f = { .key = info->attrs[DK_A_IMPL_KEY] };
	struct dk_registry *reg = dk_registry_default();
	const struct dkc_reg *r;
	int err;

	mutex_lock(&reg->lock);
	err = filter_check(&f, reg, info->extack);
	if (!err)
		err = info->attrs[DK_A_IMPL_OP] ? find_impl(reg, info, &r) :
						  find_fallback(reg, info, &r);
	if (!err)
		err = fill_impl(skb, reg, r, true);
	mutex_unlock(&reg->lock);
	return err;
}

int dispatchkey_nl_impl_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;
	struct sk_buff *answer;
	int err;

	err = dk_nl_require(info->extack, attrs, DK_A_IMPL_KEY,
			    "the key of the function is missing");
	if (!err)
		err = dk_nl_forbid(info->extack,
				   attrs[DK_A_IMPL_BACKEND] ?: attrs[DK_A_IMPL_PROVIDER],
				   "this filter is allowed only in a dump");
	if (err)
		return err;
	answer = dk_nl_answer(info, NLMSG_DEFAULT_SIZE);
	return dk_nl_reply(info, answer, answer ? impl_answer(answer, info) : -ENOMEM);
}

/* ---- dumps of functions ----------------------------------------------------------- */

/* The position of a dump, which lists all operators and then the backend fallbacks. */
struct dk_nl_impl_walk {
	struct dk_nl_walk walk;
	u32 slot;		/* index of the table entry whose fallbacks are next */
	u32 is_builtin;		/* the next fallback at @slot is the builtin one */
};

/* Adds the message about one function, if the function passes the filter. */
static int dump_impl(struct sk_buff *skb, struct netlink_callback *cb,
		     const struct dk_nl_filter *f, const struct dkc_reg *r,
		     const struct dk_nl_impls *impls, u32 i)
{
	struct dk_registry *reg = dk_registry_default();
	void *header;

	if (!r || !dk_nl_filter_passes(f, reg, r))
		return 0;
	header = dk_nl_message_begin(skb, cb);
	return dk_nl_message_end(skb, header, header ?
				 fill_impl(skb, reg, r, impls && dk_nl_is_top(impls, i)) :
				 -EMSGSIZE);
}

static int dump_impls(struct sk_buff *skb, struct netlink_callback *cb, struct dk_op *op,
		      const struct dk_nl_dump *d)
{
	struct dk_nl_walk *w = (void *)cb->ctx;
	struct dk_nl_impls impls;
	int err;

	err = dk_nl_impls_get(&impls, op, cb->extack);
	while (!err && w->item < impls.n) {
		err = dump_impl(skb, cb, &d->filter, impls.reg[w->item], &impls, w->item);
		if (err)
			break;
		w->item++;
		err = dk_nl_worked(cb, 1);
	}
	dk_nl_impls_put(&impls);
	return err;
}

static int dump_fallbacks(struct sk_buff *skb, struct netlink_callback *cb,
			  const struct dk_nl_dump *d)
{
	struct dk_registry *reg = dk_registry_default();
	struct dk_nl_impl_walk *w = (void *)cb->ctx;
	int err;

	while (w->slot < reg->layout->num_entries) {
		err = dump_impl(skb, cb, &d->filter, w->is_builtin ?
				reg->builtin[w->slot] :
				dkc_deref_locked(reg->fallback[w->slot], reg), NULL, 0);
		if (err)
			return err;
		w->slot += w->is_builtin;
		w->is_builtin = !w->is_builtin;
	}
	return 0;
}

int dispatchkey_nl_impl_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct dk_nl_dump d = { .fill = dump_impls, .fill_rest = dump_fallbacks };
	struct nlattr *attrs[DK_A_IMPL_MAX + 1];
	int err;

	BUILD_BUG_ON(sizeof(struct dk_nl_impl_walk) > sizeof(cb->ctx));
	err = dk_nl_dump_begin(cb, attrs, DK_A_IMPL_MAX);
	if (err)
		return err;
	d.op = attrs[DK_A_IMPL_OP];
	d.filter = (struct dk_nl_filter){
		.key = attrs[DK_A_IMPL_KEY],
		.backend = attrs[DK_A_IMPL_BACKEND],
		.provider = attrs[DK_A_IMPL_PROVIDER],
		.device = attrs[DK_A_IMPL_DEVICE],
	};
	return dk_nl_walk(skb, cb, &d);
}
