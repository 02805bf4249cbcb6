/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the files that show a registry share; the lock is held in all of it. */
#ifndef _DKC_SEE_H
#define _DKC_SEE_H

#include "registry.h"

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

/* explain.c: as dk_op_explain() and dk_explain_step(). */
void dkc_explain(struct dk_op *op, struct dk_keyset included, struct dk_keyset excluded,
		 const struct dk_obj *const *objs, unsigned int n,
		 struct dk_explain *ex);
int dkc_explain_step(struct dk_op *op, const struct dk_explain *ex, unsigned int i,
		     struct dk_step *step);
/*
 * The step about a registration, or with NULL about the backend fallback of the
 * entry; -ENOENT: there is none. The generation is that of @ex.
 */
int dkc_explain_impl(struct dk_op *op, const struct dk_explain *ex,
		     const struct dkc_reg *r, struct dk_step *step);

/* see.c */
const char *dkc_alias_analysis_name(unsigned int kind);
void dkc_put_key(struct dkc_text *t, const struct dk_layout *l, unsigned int key);
void dkc_put_state(struct dkc_text *t, const struct dk_op *op);
void dkc_put_table(struct dkc_text *t, const struct dk_op *op);
void dkc_put_keys(struct dkc_text *t, const struct dk_op *op);
/* Does the published row have something at this entry? */
bool dkc_is_served(const struct dk_op *op, unsigned int slot);

#endif /* _DKC_SEE_H */
