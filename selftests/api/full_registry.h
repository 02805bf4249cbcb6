/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Opens a registry that has registrations of every kind, and checks that a failed request does not
 * change its state.
 *
 * A comment "refuses: FUNCTION ERRNO REASON" marks the test of an error. "cannot: FUNCTION
 * ERRNO REASON" marks a documented error that cannot occur; the test shows this, or the comment
 * gives the reason. scripts/check-errnos compares these with the headers.
 */
#ifndef _SELFTESTS_API_FULL_REGISTRY_H
#define _SELFTESTS_API_FULL_REGISTRY_H

#include "test.h"

/* What is registered. "r::op" and "r::atomic" are defined, and "r::atomic" is atomic. */
extern struct dk_provider r_a, r_b;	/* both have joined "edu" */
extern struct dk_provider r_none;	/* not registered */
/*
 * "r::impl" and "r::early" have functions but no definition. The functions of "r::early" are
 * atomic.
 */
extern struct dk_op_decl r_def, r_atomic, r_impl, r_early, r_new, r_other_sig;
extern unsigned int r_edu, r_solo;	/* only r_a may join "solo" */
extern u32 r_card, r_unregistered_card;		/* "card", and an unregistered one */
extern struct dk_impl r_table[3];	/* of r_a: at CPU, AutogradCPU, SparseCPU */
extern struct dk_impl r_fallback;	/* of r_a, at Tracer */
extern struct dk_impl r_device_table[1];
extern struct dk_obj r_cpu;

void r_open(void);
void r_close(void);

/* Returns a hash of the results of all queries. */
u64 r_hash_queries(void);

/* Saves the current state for later comparisons, after an intended change. */
void r_rebase(void);
/* Fills t_why, so that a check detects a request that does not set t_why. */
void r_poison(void);
/*
 * Checks the error, the reason and the name of a refusal; if @name is NULL, any name is right. Also
 * checks that nothing has changed, and that nothing changes when all tables are built again.
 */
void r_refused(const char *file, int line, const char *what, int err, int want,
	       unsigned int reason, const char *name);
void r_refused_err(const char *file, int line, const char *what, int err,
		   int want);

/* Returns the step from one failing allocation to the next: 8 in short kernel runs, else 1. */
unsigned int r_alloc_step(void);
/*
 * Makes each allocation of @act fail in turn, until @act succeeds. If @act fails, it must return
 * -ENOMEM and keep no memory. After each failure, calls @refused for more checks, unless @refused
 * is NULL. Returns the number of failures.
 */
typedef void (*r_refused_fn)(int err, const char *culprit);
unsigned int r_each_fails(int (*act)(void), r_refused_fn refused, const char *culprit);

/* Checks that the call fails with errno E, reason R and this name, and changes nothing. */
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
