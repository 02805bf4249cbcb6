/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Applies the rules one by one, for the evaluator and for explanations. */
#ifndef _DKC_RULES_H
#define _DKC_RULES_H

#include "table.h"

#define DKC_NUM_RULES	11
#define DKC_RULE_NO_ENTRY	9	/* only for trimmed tables */

/* The entry to evaluate: functionality, backend and slot. */
struct dkc_at {
	const struct dk_op *op;
	const struct dkc_device *dev;
	const struct dkc_view *view;
	unsigned int f;
	unsigned int b;
	unsigned int slot;
};

/* The result of one rule for an entry. */
struct dkc_rule_result {
	enum dk_verdict verdict;
	unsigned int key;	/* the key that is tested; rule 4: the barred alias */
	struct dkc_pick pick;	/* the function that serves; rule 4: the one that bars */
};

void dkc_at_init(struct dkc_at *at, const struct dk_op *op,
		 const struct dkc_device *dev, unsigned int slot,
		 const struct dkc_view *view);
/* @rule is the number of a rule in SEMANTICS 7.2. */
void dkc_apply_rule(const struct dkc_at *at, unsigned int rule, struct dkc_rule_result *j);
/* True if a rule with this result decides the entry. */
bool dkc_decides(const struct dkc_rule_result *j);
/* Returns the number of the first rule that decides the entry, and stores its result in @j. */
unsigned int dkc_deciding_rule(const struct dkc_at *at, struct dkc_rule_result *j);

#endif /* _DKC_RULES_H */
