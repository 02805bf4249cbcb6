/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A schema is one block of memory with its arguments, types and strings. Like the core, the code
 * uses neither libc nor recursion.
 */
#ifndef _DKC_SCHEMA_H
#define _DKC_SCHEMA_H

#include "../core/change/change.h"

#include <dispatchkey-schema.h>

struct dk_schema {
	const char *name;
	const char *overload;
	struct dk_schema_arg *args;	/* num_args arguments, then num_returns returns */
	u32 num_args;
	u32 num_returns;
	u32 flags;
};

/* True if @names, words separated by single spaces, contains @name. */
bool dkc_is_any_of(const char *name, const char *names);
/*
 * Parses @text from @from on, which is @text or follows a namespace. Columns in messages are those
 * of @text. If @name_only is true, the text is only the name of an operator.
 */
int dkc_schema_parse(const char *text, const char *from, bool name_only, struct dk_schema **s,
		     struct dk_diag *why);
/* True for Tensor, Tensor?, Tensor[] and Tensor?[]. */
bool dkc_type_dispatched(const struct dk_type *t);
/*
 * Compares the parameters of a declaration with a schema. Returns 0 if both determine the same
 * arguments to dispatch on, or if the declaration does not describe its parameters.
 */
int dkc_schema_matches(const struct dk_schema *s, const struct dk_op_decl *decl,
		       struct dk_diag *why);

#endif /* _DKC_SCHEMA_H */
