/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declares what the programs of make bench that measure registrations share. struct regs_all has
 * PyTorch's operators with all their registrations. struct regs_side has the timed operations;
 * regs_dk.c implements them for dispatchkey, regs_torch.cpp for libtorch.
 */
#ifndef _SELFTESTS_BENCH_REGS_H
#define _SELFTESTS_BENCH_REGS_H

#include <stddef.h>

#define REGS_ONES	256	/* operators that are registered one by one */
#define REGS_KEY	"XPU"	/* PyTorch has almost no functions at this key */
#define REGS_ALIAS	"CompositeExplicitAutograd"
#define REGS_FALLBACK	"TESTING_ONLY_GenericMode"

struct regs_impl {
	const char *key;
	const char *label;
	int is_fallthrough;
};

struct regs_op {
	const char *name;
	const char *schema;
	const struct regs_impl *impls;
	unsigned int num_impls;
};

struct regs_all {
	const struct regs_op *ops;
	unsigned int num_ops;
	unsigned int num_impls;
	/* the numbers of REGS_ONES random operators, and a new operator like each */
	unsigned int *chosen;
	const struct regs_op *fresh;
};

/* A timed operation, with untimed setup before and cleanup after it. */
struct regs_contender {
	const char *id;
	unsigned int times;
	void (*before)(void);
	void (*run)(void);
	void (*after)(void);
};

struct regs_side {
	const char *prefix;		/* of the printed names */
	/* called once: makes constant tables of the program */
	void (*prepare)(const struct regs_all *all);
	void (*load)(void);
	void (*unload)(void);
	void (*clean)(void);		/* the part of unload() that is not timed */
	unsigned int (*num_ops)(void);	/* called while all operators are loaded */
	const struct regs_contender *contenders;
	unsigned int num;
};

#ifdef __cplusplus
extern "C" {
#endif

extern const struct regs_side regs_dk;
extern const struct regs_side regs_torch __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
