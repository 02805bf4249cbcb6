// SPDX-License-Identifier: GPL-2.0-only
/* Implements the C half of the test, with operators that DK_OP() declares. */
#include "shared.h"

DK_OP(c_defines, "t::c_defines",
	(struct vec *v, char c, short s, struct pair p, double d, char last,
	 struct seen *seen),
	(v, c, s, p, d, last, seen), (&v->dk));
DK_OP(cxx_defines, "t::cxx_defines",
	(struct vec *v, char c, short s, struct pair p, double d, char last,
	 struct seen *seen),
	(v, c, s, p, d, last, seen), (&v->dk));

static struct dk_provider me = DK_PROVIDER("c_half");

static int by_c(struct dk_call *call, struct vec *v, char c, short s, struct pair p,
		double d, char last, struct seen *seen)
{
	seen->by_c++;
	seen->sum = SHARED_SUM(v, c, s, p, d, last);
	return 0;
}

static const struct dk_impl impls[] = { DK_IMPL(cxx_defines, DK_CPU, by_c) };

int c_begin(struct dk_diag *why)
{
	int err = dk_provider_register(&me, why);

	if (!err)
		err = dk_op_define(&me, &c_defines_op, 0, why);
	if (!err)
		err = dk_impls_register(&me, impls, 1, why);
	return err;
}

/* The C++ half has an operator of this name. */
int c_function(void);
int c_function(void)
{
	return -1;
}

int c_end(void)
{
	return dk_provider_unregister(&me);
}

int c_calls_own(struct vec *v, struct seen *seen)
{
	struct pair p = { 4, 5 };

	return c_defines(v, 2, 3, p, 6, 7, seen);
}

int c_calls_other(struct vec *v, struct seen *seen)
{
	struct pair p = { 4, 5 };

	return cxx_defines(v, 2, 3, p, 6, 7, seen);
}

static unsigned int passed;

/* Reads the arguments, including those of C++ callers, as the struct that DK_OP() declares. */
static int pass_on(struct dk_call *c, void *args)
{
	const struct c_defines_args *a = args;

	if (SHARED_SUM(a->v, a->c, a->s, a->p, a->d, a->last) != SHARED_EXPECTED)
		return -EBADMSG;
	passed++;
	return dk_redispatch_boxed(c, dk_call_below(c), args);
}

static const struct dk_impl fallback = DK_FALLBACK(DK_TRACER, pass_on);

int c_fallback_begin(struct dk_diag *why)
{
	passed = 0;
	return dk_fallback_register(&me, &fallback, why);
}

/* Returns the number of calls that reached the fallback, or an error. */
int c_fallback_end(void)
{
	int err = dk_impls_unregister(&me, &fallback, NULL);

	return err ? err : (int)passed;
}
