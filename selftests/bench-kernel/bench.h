/* SPDX-License-Identifier: GPL-2.0-only */
/* dk_bench: measures the costs of calls and changes, and of primitives of the kernel. */
#ifndef _DK_BENCH_H
#define _DK_BENCH_H

#include <linux/kernel.h>

#include <dispatchkey.h>

/**
 * struct bench - a measured operation
 * @name: its name in the figures and in the baselines
 * @loop: performs the operation n times; the cost is the difference between 2N and N
 *	times, minus the cost of an empty loop. NULL if @once is set
 * @once: performs the operation once, between two readings of the clock
 * @before: makes what the operation needs, or NULL
 * @after: undoes the operation and @before, or NULL
 * @n: N of @loop, or 0 for the default
 * @per: the figure is divided by this number, or 0 for 1
 *
 * @once and @before return 0 or a negative errno.
 */
struct bench {
	const char *name;
	void (*loop)(unsigned int n);
	int (*once)(void);
	int (*before)(void);
	void (*after)(void);
	unsigned int n;
	unsigned int per;
};

/* Each list ends with an empty entry. */
extern const struct bench bench_primitives[], bench_peers[], bench_calls[], bench_changes[];

int bench_peers_init(void);
void bench_peers_exit(void);
int bench_calls_init(struct dk_diag *why);
void bench_calls_exit(void);
int bench_changes_init(struct dk_diag *why);
void bench_changes_exit(void);

#endif /* _DK_BENCH_H */
