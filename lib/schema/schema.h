/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A schema in memory: one block that has arguments, types and texts. Written
 * as the core is, without libc and without recursion.
 */
#ifndef _DKC_SCHEMA_H
#define _DKC_SCHEMA_H

#include "../core/registry.h"

#include <dispatchkey-schema.h>

struct dk_schema {
	const char *name;
	const char *overload;
	struct dk_schema_arg *args;	/* behind them what is returned */
	u32 num_args;
	u32 num_returns;
	u32 flags;
};

#define DKC_NUMBER_MAX	11

bool dkc_is_any_of(const char *name, const char *const *names, unsigned int n);

#define DKC_IS_ANY_OF(name, ...)						\
	dkc_is_any_of(name, (const char *const[]){ __VA_ARGS__ },		\
		      sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

char *dkc_number(char buf[DKC_NUMBER_MAX], u32 n);
/* Tensor, Tensor?, Tensor[] or Tensor?[] */
bool dkc_type_dispatched(const struct dk_type *t);
/* Do described C parameters dispatch on what the schema says? */
int dkc_schema_matches(const struct dk_schema *s, const struct dk_op_decl *decl,
		       struct dk_diag *why);

#endif /* _DKC_SCHEMA_H */
