// SPDX-License-Identifier: GPL-2.0-only
/*
 * route-get: where a call would go, and in a dump why.
 */
#include <linux/slab.h>

#include "../lib/core/see.h"
#include "netlink_impl.h"

#define DK_NL_OBJS_MAX	64

/* The numbers of the core's enums are those of the protocol. */
static_assert(DK_NL_STEP_IMPL == (int)DK_STEP_IMPL);
static_assert(DK_NL_VERDICT_NO_ENTRY == (int)DK_VERDICT_NO_ENTRY);
static_assert(DK_NL_BEARING_OFFLINE == (int)DK_BEARING_OFFLINE);

/* A call that is asked about; too big for a stack. */
struct dk_nl_call {
	struct dk_op *op;
	struct dk_keyset included;
	struct dk_keyset excluded;
	unsigned int n;
	struct dk_obj obj[DK_NL_OBJS_MAX];
	const struct dk_obj *objs[DK_NL_OBJS_MAX];
	struct dk_explain ex;
	struct dk_step step;
};

/* ---- requests --------------------------------------------------------------------- */

static int dk_nl_read_set(const struct nlattr *attr, struct netlink_ext_ack *extack,
			  struct dk_keyset *set)
{
	set->bits = nla_get_u64(attr);
	if (!(set->bits & ~dk_registry_default()->layout->full))
		return 0;
	return dk_nl_deny(extack, attr, "the layout has no such bit", -EINVAL);
}

/* What lives on a device and says no more is a dense tensor there. */
static int dk_nl_device_set(u32 number, const struct nlattr *attr,
			    struct netlink_ext_ack *extack, struct dk_keyset *set)
{
	struct dk_registry *reg = dk_registry_default();
	const struct dk_layout *l = reg->layout;
	struct dkc_device *dev;
	int err;

	dkc_mutex_lock(&reg->lock);
	err = dk_nl_device(reg, number, attr, extack, &dev);
	if (!err)
		*set = dk_key_set(l, dk_runtime_key(l, l->role[DKC_ROLE_DENSE],
						    dev->backend));
	dkc_mutex_unlock(&reg->lock);
	return err;
}

static int dk_nl_read_obj(const struct nlattr *nest, struct netlink_ext_ack *extack,
			  struct dk_obj *obj)
{
	struct nlattr *attrs[DK_A_OBJ_MAX + 1];
	const struct nlattr *device;
	struct dk_keyset dense;
	int err;

	err = nla_parse_nested(attrs, DK_A_OBJ_MAX, nest, dispatchkey_obj_nl_policy,
			       extack);
	if (err)
		return err;
	if (attrs[DK_A_OBJ_KEYSET])
		err = dk_nl_read_set(attrs[DK_A_OBJ_KEYSET], extack, &obj->ks);
	device = attrs[DK_A_OBJ_DEVICE] ?: attrs[DK_A_OBJ_DEVICE_NAME];
	if (err)
		return err;
	if (!device)
		return attrs[DK_A_OBJ_KEYSET] ? 0 :
			dk_nl_deny(extack, nest,
				   "an object has a keyset or a device", -EINVAL);
	err = dk_nl_find_device(attrs[DK_A_OBJ_DEVICE], attrs[DK_A_OBJ_DEVICE_NAME],
				extack, &obj->device);
	if (!err)
		err = dk_nl_device_set(obj->device, device, extack, &dense);
	if (!err && !attrs[DK_A_OBJ_KEYSET])
		obj->ks = dense;
	return err;
}

static int dk_nl_read_objs(const struct nlmsghdr *nlh, struct netlink_ext_ack *extack,
			   struct dk_nl_call *c)
{
	const struct nlattr *attr;
	int rem, err;

	nlmsg_for_each_attr(attr, nlh, GENL_HDRLEN, rem) {
		if (nla_type(attr) != DK_A_ROUTE_OBJ)
			continue;
		if (c->n == DK_NL_OBJS_MAX)
			return dk_nl_deny(extack, attr,
					  "a call dispatches on 64 objects at most",
					  -EINVAL);
		err = dk_nl_read_obj(attr, extack, &c->obj[c->n]);
		if (err)
			return err;
		c->objs[c->n] = &c->obj[c->n];
		c->n++;
	}
	return 0;
}

/* The call that a request is about, to be given back by dk_nl_call_put(). */
static int dk_nl_call_get(const struct nlmsghdr *nlh, struct nlattr **attrs,
			  struct netlink_ext_ack *extack, struct dk_nl_call **call)
{
	struct dk_nl_call *c;
	int err;

	if (!attrs[DK_A_ROUTE_OP]) {
		NL_SET_ERR_ATTR_MISS(extack, NULL, DK_A_ROUTE_OP);
		return dk_nl_deny(extack, NULL, "the name of the operator is missing",
				  -EINVAL);
	}
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return dk_nl_deny(extack, NULL, "no memory for the answer", -ENOMEM);
	c->included = dk_local_included(&dk_local_default);
	c->excluded = dk_local_excluded(&dk_local_default);
	err = attrs[DK_A_ROUTE_INCLUDED] ?
		dk_nl_read_set(attrs[DK_A_ROUTE_INCLUDED], extack, &c->included) : 0;
	if (!err && attrs[DK_A_ROUTE_EXCLUDED])
		err = dk_nl_read_set(attrs[DK_A_ROUTE_EXCLUDED], extack, &c->excluded);
	if (!err)
		err = dk_nl_read_objs(nlh, extack, c);
	if (err) {
		kfree(c);
		return err;
	}
	*call = c;
	return 0;
}

/* ---- where it goes ---------------------------------------------------------------- */

static int dk_nl_put_set(struct sk_buff *skb, int attr, struct dk_keyset set)
{
	return nla_put_u64_64bit(skb, attr, set.bits, DK_A_ROUTE_PAD);
}

static int dk_nl_put_text(struct sk_buff *skb, int attr, const char *text)
{
	return text[0] ? nla_put_string(skb, attr, text) : 0;
}

static int dk_nl_put_sets(struct sk_buff *skb, const struct dk_explain *ex)
{
	return dk_nl_put_set(skb, DK_A_ROUTE_INCLUDED, ex->included) ?:
	       dk_nl_put_set(skb, DK_A_ROUTE_EXCLUDED, ex->excluded) ?:
	       dk_nl_put_set(skb, DK_A_ROUTE_RAW, ex->route.raw) ?:
	       dk_nl_put_set(skb, DK_A_ROUTE_MERGED, ex->merged) ?:
	       dk_nl_put_set(skb, DK_A_ROUTE_EFFECTIVE, ex->route.effective);
}

static int dk_nl_put_entry(struct sk_buff *skb, const struct dk_entry *e)
{
	if (nla_put_u32(skb, DK_A_ROUTE_PROVENANCE, e->provenance) ||
	    nla_put_u32(skb, DK_A_ROUTE_FLAGS,
			e->is_fallthrough ? DK_NL_IMPL_FALLTHROUGH : 0) ||
	    dk_nl_put_text(skb, DK_A_ROUTE_LABEL, e->label) ||
	    dk_nl_put_text(skb, DK_A_ROUTE_PROVIDER, e->provider) ||
	    (e->device && nla_put_u32(skb, DK_A_ROUTE_DEVICE, e->device)) ||
	    dk_nl_put_text(skb, DK_A_ROUTE_DEVICE_NAME, e->device_name))
		return -EMSGSIZE;
	return 0;
}

static int dk_nl_put_route(struct sk_buff *skb, const struct dk_nl_call *c)
{
	const struct dk_registry *reg = c->op->reg;
	const struct dk_route *r = &c->ex.route;
	unsigned int key = dk_slot_key(reg->layout, r->slot);

	if (nla_put_string(skb, DK_A_ROUTE_OP, c->op->name) ||
	    dk_nl_put_sets(skb, &c->ex) ||
	    nla_put_u32(skb, DK_A_ROUTE_SLOT, r->slot) ||
	    nla_put_u32(skb, DK_A_ROUTE_KEY, key) ||
	    dk_nl_put_key_name(skb, DK_A_ROUTE_KEY_NAME, reg, key) ||
	    nla_put_s32(skb, DK_A_ROUTE_ERROR, c->ex.error) ||
	    dk_nl_put_entry(skb, &r->entry) ||
	    nla_put_u64_64bit(skb, DK_A_ROUTE_GENERATION, c->ex.generation,
			      DK_A_ROUTE_PAD))
		return -EMSGSIZE;
	return 0;
}

int dispatchkey_nl_route_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct dk_registry *reg = dk_registry_default();
	struct sk_buff *answer;
	struct dk_nl_call *c;
	void *header;
	int err;

	err = dk_nl_call_get(info->nlhdr, info->attrs, info->extack, &c);
	if (err)
		return err;
	answer = dk_nl_answer(info, NLMSG_DEFAULT_SIZE, &header);
	if (!answer) {
		kfree(c);
		return -ENOMEM;
	}
	dkc_mutex_lock(&reg->lock);
	c->op = dk_nl_op(reg, info->attrs[DK_A_ROUTE_OP], info->extack);
	if (c->op) {
		dkc_explain(c->op, c->included, c->excluded, c->objs, c->n, &c->ex);
		err = dk_nl_put_route(answer, c);
	} else {
		err = -ENOENT;
	}
	dkc_mutex_unlock(&reg->lock);
	kfree(c);
	if (err) {
		nlmsg_free(answer);
		return err;
	}
	return dk_nl_reply(info, answer, header);
}

/* ---- why -------------------------------------------------------------------------- */

/*
 * A dump of why. Each hold of the lock finds the call's operator anew; the case lasts
 * for a part of the dump, whose holds are all of one generation.
 */
struct dk_nl_route_request {
	struct nlattr **attrs;
	struct dk_nl_call *call;
	struct dkc_case c;
};

/*
 * Steps of one generation: @step counts those before the registrations, and
 * @impl the registrations, which are all told when it is behind the last one.
 */
struct dk_nl_route_walk {
	struct dk_nl_walk walk;
	u64 generation;
	u32 step;
	u32 impl;
};

static int dk_nl_put_step_impl(struct sk_buff *skb, const struct dk_registry *reg,
			       const struct dk_step *s)
{
	struct nlattr *nest;

	if (!s->has_impl)
		return 0;
	nest = nla_nest_start(skb, DK_A_STEP_IMPL);
	if (!nest || nla_put_u32(skb, DK_A_IMPL_KEY, s->impl_key) ||
	    dk_nl_put_key_name(skb, DK_A_IMPL_KEY_NAME, reg, s->impl_key) ||
	    dk_nl_put_text(skb, DK_A_IMPL_LABEL, s->label) ||
	    dk_nl_put_text(skb, DK_A_IMPL_PROVIDER, s->provider) ||
	    (s->device && nla_put_u32(skb, DK_A_IMPL_DEVICE, s->device)) ||
	    dk_nl_put_text(skb, DK_A_IMPL_DEVICE_NAME, s->device_name) ||
	    nla_put_u32(skb, DK_A_IMPL_FLAGS,
			s->is_fallthrough ? DK_NL_IMPL_FALLTHROUGH : 0))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return s->is_fallback ? nla_put_flag(skb, DK_A_STEP_FALLBACK) : 0;
}

static int dk_nl_put_step(struct sk_buff *skb, const struct dk_registry *reg,
			  const struct dk_step *s)
{
	struct nlattr *nest = nla_nest_start(skb, DK_A_ROUTE_STEP);

	if (!nest || nla_put_u32(skb, DK_A_STEP_KIND, s->kind) ||
	    (s->kind != DK_STEP_IMPL && nla_put_u32(skb, DK_A_STEP_RULE, s->rule)) ||
	    (s->kind == DK_STEP_RULE &&
	     nla_put_u32(skb, DK_A_STEP_VERDICT, s->verdict)) ||
	    (s->kind == DK_STEP_IMPL &&
	     nla_put_u32(skb, DK_A_STEP_BEARING, s->bearing)) ||
	    (s->key && nla_put_u32(skb, DK_A_STEP_KEY, s->key)) ||
	    (s->key && dk_nl_put_key_name(skb, DK_A_STEP_KEY_NAME, reg, s->key)) ||
	    dk_nl_put_step_impl(skb, reg, s))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int dk_nl_dump_step(struct sk_buff *skb, struct netlink_callback *cb,
			   const struct dk_nl_call *c)
{
	void *header = dk_nl_dump_put(skb, cb);

	if (!header)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, DK_A_ROUTE_GENERATION, c->ex.generation,
			      DK_A_ROUTE_PAD) ||
	    dk_nl_put_step(skb, c->op->reg, &c->step)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

/* The work since the last step. */
static int dk_nl_step_worked(struct netlink_callback *cb, struct dkc_case *c)
{
	u32 n = c->evaluations;

	c->evaluations = 0;
	return dk_nl_worked(cb, n * dk_nl_evaluation_work(c->op, c->dev));
}

/* What the mask took out, and the rules. */
static int dk_nl_dump_rules(struct sk_buff *skb, struct netlink_callback *cb,
			    struct dk_nl_route_request *r)
{
	struct dk_nl_route_walk *w = (void *)cb->ctx;
	unsigned int i = w->step;
	int err = 0;

	while (!err && !dkc_explain_rule(&r->c, &i, &r->call->step)) {
		err = dk_nl_dump_step(skb, cb, r->call);
		if (err)
			break;
		i = ++w->step;
		err = dk_nl_step_worked(cb, &r->c);
	}
	return err;
}

/* The registrations, and the backend fallback of the entry. */
static int dk_nl_dump_bearings(struct sk_buff *skb, struct netlink_callback *cb,
			       struct dk_nl_route_request *r)
{
	struct dk_nl_route_walk *w = (void *)cb->ctx;
	struct dk_nl_impls impls;
	int err;

	err = dk_nl_impls_get(&impls, r->call->op, cb->extack);
	while (!err && w->impl <= impls.n) {
		if (!dkc_explain_impl(&r->c, w->impl < impls.n ? impls.reg[w->impl] : NULL,
				      &r->call->step))
			err = dk_nl_dump_step(skb, cb, r->call);
		if (err)
			break;
		w->impl++;
		err = dk_nl_step_worked(cb, &r->c);
	}
	dk_nl_impls_put(&impls);
	return err;
}

/*
 * All steps are of one generation: where the registry changes between two holds of
 * the lock, the rest is left out, and the end of the dump says that it was interrupted.
 */
static int dk_nl_dump_steps(struct sk_buff *skb, struct netlink_callback *cb, void *data)
{
	struct dk_nl_route_walk *w = (void *)cb->ctx;
	struct dk_nl_route_request *r = data;
	struct dk_nl_call *c = r->call;
	int err;

	err = dk_nl_walk_op(cb, r->attrs[DK_A_ROUTE_OP], &c->op);
	if (err || !c->op)
		return err;
	if (!w->walk.begun)
		w->generation = c->op->reg->generation;
	else if (w->generation != c->op->reg->generation)
		return 0;
	/* what this part has found under the lock before is of the same generation */
	if (r->c.op != c->op) {
		dkc_explain(c->op, c->included, c->excluded, c->objs, c->n, &c->ex);
		dkc_explain_begin(&r->c, c->op, &c->ex);
		err = dk_nl_step_worked(cb, &r->c);
	}
	err = err ?: dk_nl_dump_rules(skb, cb, r);
	return err ?: dk_nl_dump_bearings(skb, cb, r);
}

int dispatchkey_nl_route_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct nlattr *attrs[DK_A_ROUTE_MAX + 1];
	struct dk_nl_route_request r = { .attrs = attrs };
	int err;

	BUILD_BUG_ON(sizeof(struct dk_nl_route_walk) > sizeof(cb->ctx));
	err = dk_nl_dump_begin(cb, attrs, DK_A_ROUTE_MAX);
	if (!err)
		err = dk_nl_call_get(cb->nlh, attrs, cb->extack, &r.call);
	if (err)
		return err;
	err = dk_nl_walk(skb, cb, false, dk_nl_dump_steps, &r);
	kfree(r.call);
	return err;
}
