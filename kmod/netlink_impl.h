/* SPDX-License-Identifier: GPL-2.0-only */
/* What the messages about operators share: functions, and filters of them. */
#ifndef _DK_NETLINK_IMPL_H
#define _DK_NETLINK_IMPL_H

#include "netlink.h"

/* No answer is longer; with its headers as much as netlink takes for a dump's part. */
#define DK_NL_MESSAGE_MAX	(SKB_WITH_OVERHEAD(32768) - NLMSG_HDRLEN - GENL_HDRLEN)

/* The numbers by which an attribute set tells of a function; 0: not at all. */
struct dk_nl_impl_attrs {
	u8 key;
	u8 key_name;
	u8 label;
	u8 provider;
	u8 device;
	u8 device_name;
	u8 flags;
};

/* Those of impl, which impl-info has, too. */
extern const struct dk_nl_impl_attrs dk_nl_impl_attrs;

/*
 * Tell of a function; the registry's lock is held. @is_top: it is the newest of its
 * operator, key and device that is there, which does not matter for a fallback.
 * 0, or -EMSGSIZE.
 */
int dk_nl_put_impl(struct sk_buff *skb, const struct dk_registry *reg,
		   const struct dkc_reg *r, const struct dk_nl_impl_attrs *a, bool is_top);
/* The same in a nest. */
int dk_nl_nest_impl(struct sk_buff *skb, int nest, const struct dk_registry *reg,
		    const struct dkc_reg *r, const struct dk_nl_impl_attrs *a, bool is_top);
int dk_nl_put_key_name(struct sk_buff *skb, int attr, const struct dk_registry *reg,
		       unsigned int key);

/* The functions of an operator by key, newest first, those of devices last. */
struct dk_nl_impls {
	const struct dkc_reg **reg;
	u32 n;
	const struct dkc_reg *few[24];
};

/* The lock is held until they are put. 0, or -ENOMEM and a sentence. */
int dk_nl_impls_get(struct dk_nl_impls *impls, const struct dk_op *op,
		    struct netlink_ext_ack *extack);
void dk_nl_impls_put(struct dk_nl_impls *impls);
/* Is the @i-th the newest of its key and device that is there? */
bool dk_nl_is_top(const struct dk_nl_impls *impls, u32 i);

/* Which functions a dump is about; each is NULL where all are meant. */
struct dk_nl_filter {
	const struct nlattr *key;
	const struct nlattr *backend;
	const struct nlattr *provider;
	const struct nlattr *device;
};

/* Are there such a key, backend, provider and device? The lock is held. */
int dk_nl_filter_check(const struct dk_nl_filter *f, const struct dk_registry *reg,
		       struct netlink_ext_ack *extack);
bool dk_nl_filter_passes(const struct dk_nl_filter *f, const struct dk_registry *reg,
			 const struct dkc_reg *r);

/* The operator that an attribute names, or NULL and why; the lock is held. */
struct dk_op *dk_nl_op(struct dk_registry *reg, const struct nlattr *attr,
		       struct netlink_ext_ack *extack);
/* The device of a number, 0 for none, that @attr gives; the lock is held. */
int dk_nl_device(const struct dk_registry *reg, u32 number, const struct nlattr *attr,
		 struct netlink_ext_ack *extack, struct dkc_device **dev);

/* Refuse for @attr, which may be NULL; @text is constant. Returns @err. */
int dk_nl_deny(struct netlink_ext_ack *extack, const struct nlattr *attr,
	       const char *text, int err);
/* Refuse attributes that only a dump takes. */
int dk_nl_for_dumps(struct genl_info *info, const u8 *attr, unsigned int n);

/*
 * The work in one hold of the registry's lock that anybody may ask for, in functions
 * of an operator looked at and counters of one processor read: some 100 us. The
 * functions of one operator are not divided.
 */
#define DK_NL_WORK_MAX		4096
/* The same of an evaluation by the rules of an operator without functions. */
#define DK_NL_EVALUATION	32
/* The work in one hold that puts operators into order; each move compares two names. */
#define DK_NL_ORDER_MAX		2048
/* How often an answer begins, if the registry changes before it is complete. */
#define DK_NL_STARTS_MAX	8

/*
 * A walk through the registry, in the parts of a dump; cb->ctx begins with it.
 * Between two parts the lock is given back, and in a part after enough work. If the
 * registry has changed then, the next message says so.
 */
struct dk_nl_walk {
	u32 begun;	/* a hold of the lock is over */
	u32 work;	/* in this hold */
};

/*
 * The walk goes on behind what was done: -EAGAIN if that is enough for one hold of
 * the lock, and 0 otherwise.
 */
static inline int dk_nl_spent(struct dk_nl_walk *w, u32 work)
{
	w->work += work;
	return w->work < DK_NL_WORK_MAX ? 0 : -EAGAIN;
}

/* The same of the walk of a dump. */
static inline int dk_nl_worked(struct netlink_callback *cb, u32 work)
{
	return dk_nl_spent((void *)cb->ctx, work);
}

/* To look at an operator and its functions. */
static inline u32 dk_nl_op_work(const struct dk_op *op)
{
	return 1 + min_t(u32, op->num_regs, DK_NL_WORK_MAX);
}

/* To evaluate an entry by the rules, which walk the functions of @op and of @dev. */
static inline u32 dk_nl_evaluation_work(const struct dk_op *op,
					const struct dkc_device *dev)
{
	u32 n = op->num_regs + (dev ? dev->block->n : 0);

	return DK_NL_EVALUATION + min_t(u32, n, DK_NL_WORK_MAX);
}

/*
 * Make a part of a dump, and return what a dumpit returns. @hold goes on with the
 * walk under the lock; it returns -EAGAIN after enough work, -EMSGSIZE when the part
 * is full, and 0 at the end. @by_name: it walks all operators by dkc_op_at().
 */
int dk_nl_walk(struct sk_buff *skb, struct netlink_callback *cb, bool by_name,
	       int (*hold)(struct sk_buff *skb, struct netlink_callback *cb, void *data),
	       void *data);
/* As dk_nl_op(); *@op is NULL, and 0 is returned, if it has gone during the walk. */
int dk_nl_walk_op(struct netlink_callback *cb, const struct nlattr *name,
		  struct dk_op **op);

#endif /* _DK_NETLINK_IMPL_H */
