/* SPDX-License-Identifier: GPL-2.0-only */
/* dk_bench: the costs of calls and changes, compared with primitives of the kernel. */
#ifndef _DK_BENCH_H
#define _DK_BENCH_H

#include <linux/kernel.h>

#include <dispatchkey.h>

/**
 * struct bench - something that is measured
 * @name: as the figures and the baselines have it
 * @loop: does it so often; what it costs is the difference of N and of 2N times,
 *	without that of an empty loop; or
 * @once: does it once, between two readings of the clock
 * @before: what has to be there first, or NULL
 * @after: takes that away again, or NULL
 * @n: how often the loop does it, or 0 for the usual number
 * @per: of how many the figure is one, or 0: of one
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

/* Lists that end with an empty entry; prerequisites come first and are removed last. */
extern const struct bench bench_primitives[], bench_peers[], bench_calls[], bench_changes[];

int bench_peers_init(void);
void bench_peers_exit(void);
int bench_calls_init(struct dk_diag *why);
void bench_calls_exit(void);
int bench_changes_init(struct dk_diag *why);
void bench_changes_exit(void);

#endif /* _DK_BENCH_H */
