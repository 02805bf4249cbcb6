// SPDX-License-Identifier: GPL-2.0-only
/* Counters of the kernel: a block has its part on every CPU. */
#include <linux/cpumask.h>

#include <dispatchkey.h>
#include "../lib/core/deps.h"

bool dkc_counts_init(struct dkc_counts *c, bool may_sleep)
{
	gfp_t gfp = may_sleep ? GFP_KERNEL : GFP_NOWAIT | __GFP_NOWARN;

	c->n = dkc_fail_alloc() ? NULL :
	       __alloc_percpu_gfp(DKC_COUNTS * sizeof(*c->n), SMP_CACHE_BYTES, gfp);
	(void)dkc_taken((__force void *)c->n);
	return c->n;
}

void dkc_counts_destroy(struct dkc_counts *c)
{
	(void)dkc_given_back((__force void *)c->n);
	free_percpu(c->n);
}

u64 dkc_counts_sum(const struct dkc_counts *c, unsigned int i)
{
	u64 sum = 0;
	int cpu;

	dkc_work(DKC_WORK_COUNTERS, num_possible_cpus());
	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(c->n + i, cpu));
	return sum;
}
