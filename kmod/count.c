// SPDX-License-Identifier: GPL-2.0-only
/* Counters of the kernel module: each block is a per-CPU array. */
#include <linux/cpumask.h>
#include <linux/sched.h>

#include <dispatchkey.h>
#include "../lib/core/base/world.h"

static_assert(BITS_PER_LONG == 64,
	      "dispatchkey needs a 64-bit kernel: a 32-bit kernel reads counters in two halves");

bool dkc_counts_init(struct dkc_counts *c, bool may_sleep)
{
	gfp_t gfp = may_sleep ? GFP_KERNEL : GFP_NOWAIT | __GFP_NOWARN;

	c->n = __alloc_percpu_gfp(DKC_COUNTS * sizeof(*c->n), SMP_CACHE_BYTES, gfp);
	return c->n;
}

void dkc_counts_destroy(struct dkc_counts *c)
{
	free_percpu(c->n);
}

/* Called in process context. Callers sum many counters, each with a part on every CPU. */
u64 dkc_counts_sum(const struct dkc_counts *c, unsigned int i)
{
	u64 sum = 0;
	int cpu;

	dkc_work(DKC_WORK_COUNTERS, num_possible_cpus());
	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(c->n + i, cpu));
	cond_resched();
	return sum;
}
