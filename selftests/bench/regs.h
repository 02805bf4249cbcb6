/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the registrations of make bench share: PyTorch's operators with all that
 * it registers for them, and what a side does with them. regs_dk.c is ours,
 * regs_torch.cpp libtorch's.
 */
#ifndef _SELFTESTS_BENCH_REGS_H
#define _SELFTESTS_BENCH_REGS_H

#include <stddef.h>

#define REGS_ONES	256	/* registered one by one */
#define REGS_KEY	"XPU"	/* of which PyTorch has hardly a function */
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
	/* of REGS_ONES random ones: their numbers, and new operators like these */
	unsigned int *chosen;
	const struct regs_op *fresh;
};

/* What is timed, and before and behind it what is not. */
struct regs_contender {
	const char *id;
	unsigned int times;
	void (*before)(void);
	void (*run)(void);
	void (*after)(void);
};

struct regs_side {
	const char *prefix;		/* of what is printed */
	/* once: what a program has in constant tables */
	void (*prepare)(const struct regs_all *all);
	void (*load)(void);
	void (*unload)(void);
	void (*clean)(void);		/* what is not timed of it */
	unsigned int (*num_ops)(void);	/* while all are loaded */
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
