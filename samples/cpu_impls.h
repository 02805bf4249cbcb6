/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Defines the CPU functions of the sample operators, for the kernel (dk_cpu.c) and userspace
 * (cpu_user.c). Include <linux/string.h> or <string.h> before this header. After it, define
 * cpu_served(), which counts a call.
 */
#ifndef _SAMPLES_CPU_IMPLS_H
#define _SAMPLES_CPU_IMPLS_H

#include "ops.h"

enum cpu_op {
	CPU_FACTORIAL,
	CPU_COPY,
	CPU_NUM_OPS
};

static void cpu_served(enum cpu_op op);

static int cpu_factorial(struct dk_call *c, const struct dk_obj *x, __u32 n,
			 __u32 *res)
{
	__u32 r = 1;

	/* 0 stays 0, so the loop is bounded. */
	for (; n > 1 && r; n--)
		r *= n;
	*res = r;
	cpu_served(CPU_FACTORIAL);
	return 0;
}

static int cpu_copy(struct dk_call *c, struct sample_buf *dst,
		    const struct sample_buf *src)
{
	if (dst->len < src->len)
		return -EINVAL;
	memmove(dst->data, src->data, src->len);
	cpu_served(CPU_COPY);
	return 0;
}

static int cpu_queue_copy(struct dk_call *c, struct sample_job *job)
{
	int err = cpu_copy(c, job->dst, job->src);

	if (!err)
		job->done(job, 0);
	return err;
}

/*
 * At the alias key CompositeExplicitAutograd, the functions serve every backend that has
 * no function of its own.
 */
static const struct dk_impl cpu_impls[] = {
	DK_IMPL(sample_factorial, DK_COMPOSITE_EXPLICIT_AUTOGRAD, cpu_factorial),
	DK_IMPL(sample_copy, DK_COMPOSITE_EXPLICIT_AUTOGRAD, cpu_copy),
	DK_IMPL(sample_queue_copy, DK_COMPOSITE_EXPLICIT_AUTOGRAD, cpu_queue_copy),
};

#endif /* _SAMPLES_CPU_IMPLS_H */
