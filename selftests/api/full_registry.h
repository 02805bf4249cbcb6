/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A registry that has something of every kind, and a comparison of its whole state: a
 * request that fails must not change it.
 *
 * A comment "refuses: FUNCTION ERRNO REASON" marks the test of an error. "cannot: FUNCTION
 * ERRNO REASON" marks a documented error that cannot occur; the test shows that, or the
 * text gives the reason. scripts/check-errnos compares these with the headers.
 */
#ifndef _SELFTESTS_API_FULL_REGISTRY_H
#define _SELFTESTS_API_FULL_REGISTRY_H

#include "test.h"

/* The registrations. Operator "r::def" is defined, "r::atomic" is atomic. */
extern struct dk_provider r_a, r_b;	/* both have joined "edu" */
extern struct dk_provider r_none;	/* not registered */
/* Not defined: "r::impl", and "r::early" with atomic functions alone. */
extern struct dk_op_decl r_def, r_atomic, r_impl, r_early, r_new, r_other_sig;
extern unsigned int r_edu, r_solo;	/* "solo" is for a alone */
extern u32 r_card, r_gone;		/* "card", and one that is out */
extern struct dk_impl r_table[3];	/* of a: at CPU, AutogradCPU, Sparse */
extern struct dk_impl r_fallback;	/* of a, at Tracer */
extern struct dk_impl r_device_table[1];
extern struct dk_obj r_cpu;

void r_open(void);
void r_close(void);

/* A number for all that the registry answers. */
u64 r_answers(void);

/* The changes since then were intended. */
void r_rebase(void);
void r_poison(void);
/*
 * @name may be NULL for any. Nothing has changed, and nothing changes when all tables are built
 * again.
 */
void r_refused(const char *file, int line, const char *what, int err, int want,
	       unsigned int reason, const char *name);
void r_refused_err(const char *file, int line, const char *what, int err,
		   int want);

/* From one allocation that fails to the next: 1; in the short run in the kernel 3. */
unsigned int r_alloc_step(void);
/*
 * Each allocation of @act fails in turn, until @act succeeds. A refused @act must leave nothing;
 * @refused checks more, unless it is NULL. Returns how many failed.
 */
typedef void (*r_refused_fn)(int err, const char *culprit);
unsigned int r_each_fails(int (*act)(void), r_refused_fn refused, const char *culprit);

/* The call fails with errno E, reason R and this name; nothing changes. */
#define REFUSED(call, E, R, culprit)					\
	do {								\
		int r_err;						\
									\
		r_poison();						\
		r_err = (call);						\
		r_refused(__FILE__, __LINE__, #call, r_err, -(E), DK_WHY_##R,	\
			  culprit);					\
	} while (0)
/* The same for a function that reports no reason. */
#define REFUSED_ERR(call, E)						\
	r_refused_err(__FILE__, __LINE__, #call, (call), -(E))

#endif
