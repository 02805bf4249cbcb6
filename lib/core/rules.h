/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The rules one by one, for the evaluator and for who explains it. */
#ifndef _DKC_RULES_H
#define _DKC_RULES_H

#include "registry.h"

#define DKC_NUM_RULES	11
#define DKC_RULE_NO_ENTRY	9	/* of a trimmed table */

/* One entry that is being evaluated: (functionality, backend) and its set. */
struct dkc_at {
	const struct dk_op *op;
	const struct dkc_device *dev;
	const struct dkc_view *view;
	unsigned int f;
	unsigned int b;
	unsigned int slot;
	u64 bits;
};

/* What a rule says of an entry. */
struct dkc_judged {
	enum dk_verdict verdict;
	unsigned int key;	/* that it goes by */
	struct dkc_pick pick;	/* what it takes, or what stands in its way */
};

void dkc_at_init(struct dkc_at *at, const struct dk_op *op,
		 const struct dkc_device *dev, unsigned int f, unsigned int b,
		 const struct dkc_view *view);
/* @rule is its number in SEMANTICS 7.2. */
void dkc_judge(const struct dkc_at *at, unsigned int rule, struct dkc_judged *j);
/* Is the entry decided by this rule? */
bool dkc_takes(const struct dkc_judged *j);

#endif /* _DKC_RULES_H */
