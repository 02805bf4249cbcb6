/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the C half and the C++ half of the test. */
#ifndef _SELFTESTS_CXX_SHARED_H
#define _SELFTESTS_CXX_SHARED_H

#include <dispatchkey.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vec {
	struct dk_obj dk;
	double x;
};

struct pair {
	char a;
	short b;
};

/* The function that served, and a sum that is wrong if an argument is. */
struct seen {
	int by_c, by_cxx;
	double sum;
};

/* The operands have all sorts of sizes, so that a wrong layout shows. */
#define SHARED_SUM(v, c, s, p, d, last)					\
	((v)->x + (c) * 10 + (s) * 100 + (p).a * 1e3 + (p).b * 1e4 +	\
	 (d) * 1e5 + (last) * 1e6)
#define SHARED_EXPECTED	7654321.

/* The C half: defines t::c_defines, implements t::cxx_defines; 0 or an error. */
int c_begin(struct dk_diag *why);
int c_end(void);
/* Calls both, in this order, with the thread's local state. */
int c_calls_own(struct vec *v, struct seen *seen);
int c_calls_other(struct vec *v, struct seen *seen);
/* A boxed fallback at Tracer that redispatches; its destructor reports how often. */
int c_fallback_begin(struct dk_diag *why);
int c_fallback_end(void);

#ifdef __cplusplus
}
#endif

#endif /* _SELFTESTS_CXX_SHARED_H */
