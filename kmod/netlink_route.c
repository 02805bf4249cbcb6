// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command route-get: reports which function would serve a call and, in a dump, the steps
 * that select it.
 */
#include <linux/slab.h>

#include "netlink_impl.h"

#define MAX_OBJS	64

/* Values of the core's enums are sent as they are. */
static_assert(DK_NL_STEP_IMPL == (int)DK_STEP_IMPL);
static_assert(DK_NL_VERDICT_NO_ENTRY == (int)DK_VERDICT_NO_ENTRY);
static_assert(DK_NL_BEARING_OFFLINE == (int)DK_BEARING_OFFLINE);

/* The call that a request describes. It is allocated, because it is too large for the stack. */
struct dk_nl_call {
	struct dk_op *op;
	struct dk_keyset included;
	struct dk_keyset excluded;
	unsigned int n;
	struct dk_obj obj[MAX_OBJS];
	const struct dk_obj *objs[MAX_OBJS];
	struct dk_explain ex;
	struct dk_step step;
};

/* ---- requests --------------------------------------------------------------------- */

static int read_keyset(const struct nlattr *attr, struct netlink_ext_ack *extack,
		       struct dk_keyset *set)
{
	set->bits = nla_get_u64(attr);
	if (!(set->bits & ~dk_registry_default()->layout->full))
		return 0;
	return dk_nl_deny(extack, attr, "the keyset has a bit that the layout does not define",
			  -EINVAL);
}

/* Sets *@set to the default for an object without a keyset: a dense tensor on its device. */
static int device_keyset(u32 number, const struct nlattr *attr,
			 struct netlink_ext_ack *extack, struct dk_keyset *set)
{
	struct dk_registry *reg = dk_registry_default();
	const struct dk_layout *l = reg->layout;
	struct dkc_device *dev;
	int err;

	mutex_lock(&reg->lock);
	err = dk_nl_device(reg, number, attr, extack, &dev);
	if (!err)
		*set = dk_key_set(l, dk_runtime_key(l, l->role[DKC_ROLE_DENSE],
						    dev->backend));
	mutex_unlock(&reg->lock);
	return err;
}

static int read_obj(const struct nlattr *nest, struct netlink_ext_ack *extack, struct dk_obj *obj)
{
	struct nlattr *attrs[DK_A_OBJ_MAX + 1];
	const struct nlattr *device;
	struct dk_keyset dense;
	int err;

	err = nla_parse_nested(attrs, DK_A_OBJ_MAX, nest, dispatchkey_obj_nl_policy, extack);
	if (err)
		return err;
	if (attrs[DK_A_OBJ_KEYSET])
		err = read_keyset(attrs[DK_A_OBJ_KEYSET], extack, &obj->ks);
	device = attrs[DK_A_OBJ_DEVICE] ?: attrs[DK_A_OBJ_DEVICE_NAME];
	if (err)
		return err;
	if (!device)
		return attrs[DK_A_OBJ_KEYSET] ? 0 :
			dk_nl_deny(extack, nest,
				   "an object needs a keyset or a device", -EINVAL);
	err = dk_nl_find_device(attrs[DK_A_OBJ_DEVICE], attrs[DK_A_OBJ_DEVICE_NAME],
				extack, &obj->device);
	if (!err)
		err = device_keyset(obj->device, device, extack, &dense);
	if (!err && !attrs[DK_A_OBJ_KEYSET])
		obj->ks = dense;
	return err;
}

static int read_objs(const struct nlmsghdr *nlh, struct netlink_ext_ack *extack,
		     struct dk_nl_call *c)
{
	const struct nlattr *attr;
	int rem, err;

	nlmsg_for_each_attr(attr, nlh, GENL_HDRLEN, rem) {
		if (nla_type(attr) != DK_A_ROUTE_OBJ)
			continue;
		if (c->n == MAX_OBJS)
			return dk_nl_deny(extack, attr,
					  "a request has at most 64 objects",
					  -EINVAL);
		err = read_obj(attr, extack, &c->obj[c->n]);
		if (err)
			return err;
		c->objs[c->n] = &c->obj[c->n];
		c->n++;
	}
	return 0;
}

/* Parses the call of a request into *@call, which the caller frees with kfree(). */
static int call_get(const struct nlmsghdr *nlh, struct nlattr **attrs,
		    struct netlink_ext_ack *extack, struct dk_nl_call **call)
{
	struct dk_nl_call *c;
	int err;

	err = dk_nl_require(extack, attrs, DK_A_ROUTE_OP, "the name of the operator is missing");
	if (err)
		return err;
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return dk_nl_deny(extack, NULL, "no memory for the answer", -ENOMEM);
	c->included = dk_local_included(&dk_local_default);
	c->excluded = dk_local_excluded(&dk_local_default);
	if (attrs[DK_A_ROUTE_INCLUDED])
		err = read_keyset(attrs[DK_A_ROUTE_INCLUDED], extack, &c->included);
	if (!err && attrs[DK_A_ROUTE_EXCLUDED])
		err = read_keyset(attrs[DK_A_ROUTE_EXCLUDED], extack, &c->excluded);
	if (!err)
		err = read_objs(nlh, extack, c);
	if (err) {
		kfree(c);
		return err;
	}
	*call = c;
	return 0;
}

/* ---- the route -------------------------------------------------------------------- */

static int put_keyset(struct sk_buff *skb, int attr, struct dk_keyset set)
{
	return dk_nl_put_u64(skb, attr, set.bits, DK_A_ROUTE_PAD);
}

static int put_keysets(struct sk_buff *skb, const struct dk_explain *ex)
{
	return put_keyset(skb, DK_A_ROUTE_INCLUDED, ex->included) ?:
	       put_keyset(skb, DK_A_ROUTE_EXCLUDED, ex->excluded) ?:
	       put_keyset(skb, DK_A_ROUTE_RAW, ex->route.raw) ?:
	       put_keyset(skb, DK_A_ROUTE_MERGED, ex->merged) ?:
	       put_keyset(skb, DK_A_ROUTE_EFFECTIVE, ex->route.effective);
}

static const struct dk_nl_impl_attrs route_attrs = {
	.label = DK_A_ROUTE_LABEL,
	.provider = DK_A_ROUTE_PROVIDER,
	.device = DK_A_ROUTE_DEVICE,
	.device_name = DK_A_ROUTE_DEVICE_NAME,
	.flags = DK_A_ROUTE_FLAGS,
};

/* Puts the names of a function, and whether it is a fallthrough. */
static int put_names(struct sk_buff *skb, const struct dk_nl_impl_attrs *a, const char *label,
		     const char *provider, u32 device, const char *device_name,
		     bool is_fallthrough)
{
	if (dk_nl_put_u32(skb, a->flags, is_fallthrough ? DK_NL_IMPL_FALLTHROUGH : 0) ||
	    dk_nl_put_text(skb, a->label, label) ||
	    dk_nl_put_text(skb, a->provider, provider) ||
	    (device && dk_nl_put_u32(skb, a->device, device)) ||
	    dk_nl_put_text(skb, a->device_name, device_name))
		return -EMSGSIZE;
	return 0;
}

static int fill_route(struct sk_buff *skb, const struct dk_nl_call *c)
{
	const struct dk_registry *reg = c->op->reg;
	const struct dk_route *r = &c->ex.route;
	const struct dk_entry *e = &r->entry;
	unsigned int key = dk_slot_key(reg->layout, r->slot);

	if (dk_nl_put_text(skb, DK_A_ROUTE_OP, c->op->name) ||
	    put_keysets(skb, &c->ex) ||
	    dk_nl_put_u32(skb, DK_A_ROUTE_SLOT, r->slot) ||
	    dk_nl_put_u32(skb, DK_A_ROUTE_KEY, key) ||
	    dk_nl_put_key_name(skb, DK_A_ROUTE_KEY_NAME, reg, key) ||
	    dk_nl_put_u32(skb, DK_A_ROUTE_ERROR, c->ex.error) ||
	    dk_nl_put_u32(skb, DK_A_ROUTE_PROVENANCE, e->provenance) ||
	    put_names(skb, &route_attrs, e->label, e->provider, e->device, e->device_name,
		      e->is_fallthrough) ||
	    dk_nl_put_u64(skb, DK_A_ROUTE_GENERATION, c->ex.generation, DK_A_ROUTE_PAD))
		return -EMSGSIZE;
	return 0;
}

int dispatchkey_nl_route_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct dk_registry *reg = dk_registry_default();
	struct sk_buff *answer;
	struct dk_nl_call *c;
	int err;

	err = call_get(info->nlhdr, info->attrs, info->extack, &c);
	if (err)
		return err;
	answer = dk_nl_answer(info, NLMSG_DEFAULT_SIZE);
	if (!answer) {
		kfree(c);
		return -ENOMEM;
	}
	mutex_lock(&reg->lock);
	c->op = dk_nl_op(reg, info->attrs[DK_A_ROUTE_OP], info->extack);
	if (c->op) {
		dkc_explain(c->op, c->included, c->excluded, c->objs, c->n, &c->ex);
		err = fill_route(answer, c);
	} else {
		err = -ENOENT;
	}
	mutex_unlock(&reg->lock);
	kfree(c);
	return dk_nl_reply(info, answer, err);
}

/* ---- dumps of steps ---------------------------------------------------------------- */

/*
 * A dump of steps. Each time the lock is taken, the operator is looked up again. For each part of
 * the dump, @c is set up again. If the registry has changed (its generation differs), the dump
 * ends.
 */
struct dk_nl_route_request {
	struct dk_nl_dump dump;
	struct dk_nl_call *call;
	struct dkc_case c;
};

/*
 * The position of the dump. All steps are of one @generation. First come the steps of the dispatch
 * mask, which show what fallthroughs remove, and the steps of the rules. @step counts these. Then
 * comes a step for each function, and one for the backend fallback. @walk.item counts these.
 */
struct dk_nl_route_walk {
	struct dk_nl_walk walk;
	u64 generation;
	u32 step;
};

static int put_step_impl(struct sk_buff *skb, const struct dk_registry *reg,
			 const struct dk_step *s)
{
	struct nlattr *nest;

	if (!s->has_impl)
		return 0;
	nest = nla_nest_start(skb, DK_A_STEP_IMPL);
	if (!nest || dk_nl_put_u32(skb, DK_A_IMPL_KEY, s->impl_key) ||
	    dk_nl_put_key_name(skb, DK_A_IMPL_KEY_NAME, reg, s->impl_key) ||
	    put_names(skb, &dk_nl_impl_attrs, s->label, s->provider, s->device, s->device_name,
		      s->is_fallthrough))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return s->is_fallback ? nla_put_flag(skb, DK_A_STEP_FALLBACK) : 0;
}

static int put_step(struct sk_buff *skb, const struct dk_registry *reg, const struct dk_step *s)
{
	struct nlattr *nest = nla_nest_start(skb, DK_A_ROUTE_STEP);

	if (!nest || dk_nl_put_u32(skb, DK_A_STEP_KIND, s->kind) ||
	    (s->kind != DK_STEP_IMPL && dk_nl_put_u32(skb, DK_A_STEP_RULE, s->rule)) ||
	    (s->kind == DK_STEP_RULE &&
	     dk_nl_put_u32(skb, DK_A_STEP_VERDICT, s->verdict)) ||
	    (s->kind == DK_STEP_IMPL &&
	     dk_nl_put_u32(skb, DK_A_STEP_BEARING, s->bearing)) ||
	    (s->key && dk_nl_put_u32(skb, DK_A_STEP_KEY, s->key)) ||
	    (s->key && dk_nl_put_key_name(skb, DK_A_STEP_KEY_NAME, reg, s->key)) ||
	    put_step_impl(skb, reg, s))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int dump_step(struct sk_buff *skb, struct netlink_callback *cb, const struct dk_nl_call *c)
{
	void *header = dk_nl_message_begin(skb, cb);

	if (!header ||
	    dk_nl_put_u64(skb, DK_A_ROUTE_GENERATION, c->ex.generation, DK_A_ROUTE_PAD) ||
	    put_step(skb, c->op->reg, &c->step))
		return dk_nl_message_end(skb, header, -EMSGSIZE);
	return dk_nl_message_end(skb, header, 0);
}

/* Accounts for the work since the last step. Returns -EAGAIN if the lock must be released. */
static int step_worked(struct netlink_callback *cb, struct dkc_case *c)
{
	u32 work = c->work;

	c->work = 0;
	return dk_nl_worked(cb, work);
}

/* Dumps the steps of the dispatch mask and of the rules. */
static int dump_rules(struct sk_buff *skb, struct netlink_callback *cb,
		      struct dk_nl_route_request *r)
{
	struct dk_nl_route_walk *w = (void *)cb->ctx;
	unsigned int i = w->step;
	int err;

	while (!(err = dkc_explain_rule(&r->c, &i, &r->call->step))) {
		err = dump_step(skb, cb, r->call);
		if (err)
			return err;
		i = ++w->step;
		err = step_worked(cb, &r->c);
		if (err)
			return err;
	}
	return err == -ENOENT ? 0 : step_worked(cb, &r->c);
}

/* Dumps the steps of the operator's functions and of the entry's backend fallback. */
static int dump_bearings(struct sk_buff *skb, struct netlink_callback *cb,
			 struct dk_nl_route_request *r)
{
	struct dk_nl_walk *w = (void *)cb->ctx;
	struct dk_nl_impls impls;
	bool is_last;
	int err;

	err = dk_nl_impls_get(&impls, r->call->op, cb->extack);
	while (!err && w->item <= impls.n) {
		is_last = w->item == impls.n;
		err = dkc_explain_impl(&r->c, is_last ? NULL : impls.reg[w->item],
				       !is_last && dk_nl_is_top(&impls, w->item),
				       &r->call->step);
		if (!err)
			err = dump_step(skb, cb, r->call);
		/* -ENOENT: there is no fallback */
		if (err && err != -ENOENT)
			break;
		w->item++;
		r->c.work++;
		err = step_worked(cb, &r->c);
	}
	dk_nl_impls_put(&impls);
	return err == -EAGAIN ? step_worked(cb, &r->c) : err;
}

/*
 * All steps are of one generation. If the registry changes while the lock is released, the
 * remaining steps are left out, and the end of the dump has NLM_F_DUMP_INTR.
 */
static int dump_steps(struct sk_buff *skb, struct netlink_callback *cb, struct dk_op *op,
		      const struct dk_nl_dump *d)
{
	struct dk_nl_route_request *r = container_of(d, struct dk_nl_route_request, dump);
	struct dk_nl_route_walk *w = (void *)cb->ctx;
	struct dk_nl_call *c = r->call;
	int err;

	if (!w->walk.begun)
		w->generation = op->reg->generation;
	else if (w->generation != op->reg->generation)
		return 0;
	/*
	 * explain once in each part of the dump: an explanation is valid until the generation
	 * changes
	 */
	if (r->c.op != op) {
		c->op = op;
		dkc_explain(op, c->included, c->excluded, c->objs, c->n, &c->ex);
		dkc_explain_begin(&r->c, op, &c->ex, DK_NL_WORK_MAX);
	}
	err = dump_rules(skb, cb, r);
	return err ?: dump_bearings(skb, cb, r);
}

int dispatchkey_nl_route_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct nlattr *attrs[DK_A_ROUTE_MAX + 1];
	struct dk_nl_route_request r = { .dump.fill = dump_steps };
	struct dk_nl_route_walk *w = (void *)cb->ctx;
	int err;

	BUILD_BUG_ON(sizeof(*w) > sizeof(cb->ctx));
	err = dk_nl_dump_begin(cb, attrs, DK_A_ROUTE_MAX);
	if (!err)
		err = call_get(cb->nlh, attrs, w->walk.begun ? NULL : cb->extack, &r.call);
	if (err && err != -ENOMEM && w->walk.begun &&
	    dk_registry_generation(NULL) != w->generation) {
		/* a device was unregistered: the rest is left out, as in dump_steps() */
		dk_nl_dump_begin(cb, NULL, 0);
		return dk_nl_dump_end(skb, 0);
	}
	if (err)
		return err;
	r.dump.op = attrs[DK_A_ROUTE_OP];
	err = dk_nl_walk(skb, cb, &r.dump);
	kfree(r.call);
	return err;
}
