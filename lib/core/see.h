/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the files that show a registry share; the lock is held in all of it. */
#ifndef _DKC_SEE_H
#define _DKC_SEE_H

#include "rules.h"

/* inspect.c: where a call goes, and what it would be answered. */
int dkc_route(struct dk_op *op, u64 merged, const struct dk_obj *const *objs,
	      unsigned int n, struct dk_route *r);
/* What serves a runtime key: of the published row, where it has an entry there. */
struct dkc_pick dkc_serves(const struct dk_op *op, const struct dkc_device *dev,
			   unsigned int f, unsigned int b);
/* Walk the registrations by key and newest first; NULL begins and ends it. */
const struct dkc_reg *dkc_reg_sorted(const struct dk_op *op, const struct dkc_reg *r);
/* The @i-th of them, or NULL. */
const struct dkc_reg *dkc_reg_at(const struct dk_op *op, unsigned int i);
/* From a slot to its functionality and backend. */
void dkc_slot_split(const struct dk_layout *l, unsigned int slot, unsigned int *f,
		    unsigned int *b);

/* Where a call ends. */
struct dkc_end {
	u64 ks;
	struct dkc_at at;
	struct dkc_pick pick;
	bool no_entry;		/* in a trimmed table */
};

/* A call that is explained, in one hold of the lock. */
struct dkc_case {
	const struct dk_op *op;
	const struct dkc_device *dev;
	u64 merged;
	unsigned int b;		/* whose mask it is */
	u32 evaluations;	/* by the rules, more or less, so far */
	struct dkc_end end;
};

/* explain.c: as dk_op_explain(). */
void dkc_explain(struct dk_op *op, struct dk_keyset included, struct dk_keyset excluded,
		 const struct dk_obj *const *objs, unsigned int n,
		 struct dk_explain *ex);
/* The generation is that of @ex. */
void dkc_explain_begin(struct dkc_case *c, const struct dk_op *op,
		       const struct dk_explain *ex);
/*
 * Step @i, about the mask or a rule. -ENOENT if there are no more of them; @i is then
 * reduced by their number.
 */
int dkc_explain_rule(struct dkc_case *c, unsigned int *i, struct dk_step *step);
/*
 * The step about a registration, or with NULL about the backend fallback of the
 * entry; -ENOENT: there is none.
 */
int dkc_explain_impl(struct dkc_case *c, const struct dkc_reg *r, struct dk_step *step);

/* query.c: as struct dk_op_info has it, counted once for each definition; the lock is held. */
u32 dkc_max_objs(struct dk_op *op);

/* see.c */
const char *dkc_alias_analysis_name(unsigned int kind);
void dkc_put_key(struct dkc_text *t, const struct dk_layout *l, unsigned int key);
void dkc_put_state(struct dkc_text *t, const struct dk_op *op);
void dkc_put_table(struct dkc_text *t, const struct dk_op *op);
void dkc_put_keys(struct dkc_text *t, const struct dk_op *op);
/* Does the published row have something at this entry? */
bool dkc_is_served(const struct dk_op *op, unsigned int slot);

#endif /* _DKC_SEE_H */
