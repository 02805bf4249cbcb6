/* SPDX-License-Identifier: GPL-2.0-only */
/* Declares what the C half and the C++ half of the test share. */
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

/* How often each function was called, and a sum that is wrong if an argument is wrong. */
struct seen {
	int by_c, by_cxx;
	double sum;
};

/* The arguments have different sizes, so that a wrong layout gives a wrong sum. */
#define SHARED_SUM(v, c, s, p, d, last)					\
	((v)->x + (c) * 10 + (s) * 100 + (p).a * 1e3 + (p).b * 1e4 +	\
	 (d) * 1e5 + (last) * 1e6)
#define SHARED_EXPECTED	7654321.

/* Starts the C half: defines t::c_defines, implements t::cxx_defines. Returns 0 or an error. */
int c_begin(struct dk_diag *why);
int c_end(void);
/* Call t::c_defines and t::cxx_defines, with the thread's local state. */
int c_calls_own(struct vec *v, struct seen *seen);
int c_calls_other(struct vec *v, struct seen *seen);
/* Register and unregister a boxed fallback at Tracer that redispatches. */
int c_fallback_begin(struct dk_diag *why);
int c_fallback_end(void);

#ifdef __cplusplus
}
#endif

#endif /* _SELFTESTS_CXX_SHARED_H */
