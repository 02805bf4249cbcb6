/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the commands for operators: puts registered functions into messages, filters them, and
 * walks the registry.
 */
#ifndef _DK_NETLINK_IMPL_H
#define _DK_NETLINK_IMPL_H

#include "../lib/core/observe/observe.h"
#include "netlink.h"

/*
 * The maximum size of the attributes in an answer. With headers, this is netlink's limit for a part
 * of a dump.
 */
#define DK_NL_MESSAGE_MAX	(SKB_WITH_OVERHEAD(32768) - NLMSG_HDRLEN - GENL_HDRLEN)

/* The numbers of a function's attributes in an attribute set. 0: the set lacks the attribute. */
struct dk_nl_impl_attrs {
	u8 key;
	u8 key_name;
	u8 label;
	u8 provider;
	u8 device;
	u8 device_name;
	u8 flags;
};

/* For the attribute set impl, and for its subset impl-info. */
extern const struct dk_nl_impl_attrs dk_nl_impl_attrs;

/*
 * Puts the attributes of a function into a message. Called with the registry's lock held.
 * @is_top: the function is the newest online one of its operator, key and device; not used for
 * a fallback. Returns 0 or -EMSGSIZE.
 */
int dk_nl_put_impl(struct sk_buff *skb, const struct dk_registry *reg,
		   const struct dkc_reg *r, const struct dk_nl_impl_attrs *a, bool is_top);
/* Like dk_nl_put_impl(), but puts the attributes into a nested attribute of type @nest. */
int dk_nl_nest_impl(struct sk_buff *skb, int nest, const struct dk_registry *reg,
		    const struct dkc_reg *r, const struct dk_nl_impl_attrs *a, bool is_top);
int dk_nl_put_key_name(struct sk_buff *skb, int attr, const struct dk_registry *reg,
		       unsigned int key);

/*
 * The functions of an operator, sorted by key. At each key, functions without a device come first,
 * and then those of each device in turn. The functions of one device are sorted from newest to
 * oldest.
 */
struct dk_nl_impls {
	const struct dkc_reg **reg;
	u32 n;
	const struct dkc_reg *few[24];
};

/*
 * Fills @impls. Called with the registry's lock held, which the caller must not release before
 * dk_nl_impls_put(). Returns 0, or -ENOMEM with a message in extack. After a failure,
 * dk_nl_impls_put() is allowed but not needed.
 */
int dk_nl_impls_get(struct dk_nl_impls *impls, const struct dk_op *op,
		    struct netlink_ext_ack *extack);
void dk_nl_impls_put(struct dk_nl_impls *impls);
/* True if function @i is the newest online function of its key and device. */
bool dk_nl_is_top(const struct dk_nl_impls *impls, u32 i);

/* The filter of a dump of functions. An attribute that is NULL does not filter. */
struct dk_nl_filter {
	const struct nlattr *key;
	const struct nlattr *backend;
	const struct nlattr *provider;
	const struct nlattr *device;
};

bool dk_nl_filter_passes(const struct dk_nl_filter *f, const struct dk_registry *reg,
			 const struct dkc_reg *r);

/*
 * Returns the operator that an attribute names, if it is defined or has functions. Otherwise
 * returns NULL, with a message in extack. Called with the registry's lock held.
 */
struct dk_op *dk_nl_op(struct dk_registry *reg, const struct nlattr *attr,
		       struct netlink_ext_ack *extack);
/*
 * Looks up the device with the number @number, which is the value of @attr. Sets *@dev to NULL if
 * @number is 0. Called with the registry's lock held.
 */
int dk_nl_device(const struct dk_registry *reg, u32 number, const struct nlattr *attr,
		 struct netlink_ext_ack *extack, struct dkc_device **dev);

/*
 * The limit of the work in one critical section of the registry's lock. It is low, about 100 us,
 * because any user may send requests. The unit is one function that is visited or, when a counter
 * is read, one CPU. Sorting the functions of one operator is not split, so it can exceed the limit.
 */
#define DK_NL_WORK_MAX		4096
/*
 * The limit for sorting operators by name. The unit is a compared name, or a visited slot of the
 * table of names.
 */
#define DK_NL_ORDER_MAX		2048
/* How often an answer may be restarted because the registry has changed. */
#define DK_NL_STARTS_MAX	8

/*
 * The position of a walk through the registry. A walk can have several parts, which are parts of a
 * dump. The position is stored at the beginning of cb->ctx. The registry's lock is released
 * between two parts, and within a part after DK_NL_WORK_MAX units of work. If the registry changes
 * while the lock is released, the next message has NLM_F_DUMP_INTR.
 */
struct dk_nl_walk {
	char *name;	/* the last operator, in a walk of all; freed by dk_nl_walk_done() */
	u32 work;	/* work done in this critical section */
	u32 item;	/* index of the operator's function or counter */
	bool begun;	/* the walk has begun, in an earlier critical section */
	bool whole;	/* all messages about operator @name are written */
};

/* Describes what a dump walks through. */
struct dk_nl_dump {
	const struct nlattr *op;	/* one operator, or NULL for all, sorted by name */
	const struct nlattr *prefix;	/* prefix of the names of operators, or NULL */
	struct dk_nl_filter filter;
	/*
	 * Adds the next messages about an operator, with the registry's lock held. Returns
	 * -EAGAIN if the lock must be released, -EMSGSIZE if the buffer is full, and 0 after
	 * the operator's last message.
	 */
	int (*fill)(struct sk_buff *skb, struct netlink_callback *cb, struct dk_op *op,
		    const struct dk_nl_dump *d);
	/* Like fill(), for the messages that follow the last operator. May be NULL. */
	int (*fill_rest)(struct sk_buff *skb, struct netlink_callback *cb,
			 const struct dk_nl_dump *d);
};

/*
 * Accounts for @work. Called after the position of the walk was advanced. Returns -EAGAIN if
 * the caller must release the lock, otherwise 0.
 */
static inline int dk_nl_spent(struct dk_nl_walk *w, u32 work)
{
	w->work += work;
	return w->work < DK_NL_WORK_MAX ? 0 : -EAGAIN;
}

/* Calls dk_nl_spent() for the walk in cb->ctx. */
static inline int dk_nl_worked(struct netlink_callback *cb, u32 work)
{
	return dk_nl_spent((void *)cb->ctx, work);
}

/*
 * Makes a part of a dump. Returns what a dumpit callback returns. dk_nl_walk_done() ends the dump.
 */
int dk_nl_walk(struct sk_buff *skb, struct netlink_callback *cb, const struct dk_nl_dump *d);
int dk_nl_walk_done(struct netlink_callback *cb);

#endif /* _DK_NETLINK_IMPL_H */
