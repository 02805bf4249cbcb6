/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Reports what is registered, what serves each key, where a call is routed, and why.
 *
 * All functions except dkc_registry_lock() are called with the registry's lock held.
 */
#ifndef _DKC_OBSERVE_H
#define _DKC_OBSERVE_H

#include "../change/change.h"
#include "../table/rules.h"

/*
 * list.c: checks the size of a caller's structure, replaces a NULL @reg by the default
 * registry, and takes its lock. Returns 0, -EINVAL or -ENOMEM.
 */
__must_check int dkc_registry_lock(struct dk_registry **reg, u32 size, size_t expected);

/* inspect.c: routes a call and sets @r. Returns 0, or the errno with which the call would fail. */
int dkc_route(struct dk_op *op, u64 merged, const struct dk_obj *const *objs,
	      unsigned int n, struct dk_route *r);
/*
 * Returns what serves the key of a slot: the function in the entry of the full table, and its
 * provenance, the rule that selects it. If there is no such entry, the rules select the function.
 */
struct dkc_pick dkc_serves(const struct dk_op *op, const struct dkc_device *dev, unsigned int slot);

/* The outcome of routing a call by the rules. */
struct dkc_outcome {
	u64 ks;			/* the effective set, without the fallthroughs found so far */
	u64 left;		/* functionalities still to check; bit f - 1: functionality f */
	struct dkc_at at;	/* the entry; @op is NULL until it is known */
	struct dkc_pick pick;	/* what serves the entry */
};

/* Returns the cost of evaluating an entry: each of the rules may visit all functions of @op. */
static inline u32 dkc_evaluation_work(const struct dk_op *op)
{
	return 32 + DKC_NUM_RULES * op->num_regs;
}

/* A call that is being explained. Valid as long as the registry's generation does not change. */
struct dkc_case {
	const struct dk_op *op;
	const struct dkc_device *dev;
	u64 merged;		/* the set, before the mask removes keys */
	unsigned int b;		/* the highest backend of @merged, or 0 */
	u32 work;		/* cost of evaluations since the caller set this to 0 */
	u32 most_work;		/* if @work reaches this, the caller must release the lock */
	const struct dkc_reg *ignored;	/* @trial is the outcome if this were not registered */
	struct dkc_outcome outcome, trial;
};

/* explain.c: like dk_op_explain(), but called with the lock held. */
void dkc_explain(struct dk_op *op, struct dk_keyset included, struct dk_keyset excluded,
		 const struct dk_obj *const *objs, unsigned int n,
		 struct dk_explain *ex);
/* Begins the steps. The registry must still have the generation of @ex. */
void dkc_explain_begin(struct dkc_case *c, const struct dk_op *op, const struct dk_explain *ex,
		       u32 most_work);
/*
 * The first steps are about the mask and the rules. If step *@i is one of these, stores it in
 * @step. Otherwise subtracts their number from *@i, and returns -ENOENT. Returns -EAGAIN if the
 * caller must release the lock and call again.
 */
int dkc_explain_rule(struct dkc_case *c, unsigned int *i, struct dk_step *step);
/*
 * Fills @step with the step about a registration or, if @r is NULL, about the backend fallback of
 * the entry. @is_top means that @r is the newest online registration of its key and device. Returns
 * -ENOENT if the entry has no backend fallback, or -EAGAIN like dkc_explain_rule(). Called only
 * after dkc_explain_rule() has returned -ENOENT.
 */
int dkc_explain_impl(struct dkc_case *c, const struct dkc_reg *r, bool is_top,
		     struct dk_step *step);

#endif /* _DKC_OBSERVE_H */
