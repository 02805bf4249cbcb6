/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Declares the operators of the samples, for code in the kernel and in userspace that
 * defines, implements or calls them. Their functions may sleep.
 */
#ifndef _SAMPLES_OPS_H
#define _SAMPLES_OPS_H

#include <dispatchkey.h>

/* *res = n! modulo 2^32, computed by the function for @x. */
DK_OP(sample_factorial, "sample::factorial",
	(const struct dk_obj *x, __u32 n, __u32 *res), (x, n, res), (x));

/* Factorials from this number on are 0 modulo 2^32. */
#define SAMPLE_FACTORIAL_ZERO	34

/**
 * struct sample_buf - bytes on the CPU or on a device
 * @dk: what calls dispatch on
 * @len: size in bytes
 * @data: the bytes, always in host memory; @dk selects the function that copies them
 */
struct sample_buf {
	struct dk_obj dk;
	__u32 len;
	void *data;
};

/* Copies @src to the beginning of @dst; -EINVAL if it does not fit. */
DK_OP(sample_copy, "sample::copy",
	(struct sample_buf *dst, const struct sample_buf *src), (dst, src),
	(&dst->dk, &src->dk));

/**
 * struct sample_job - a copy that finishes later
 * @dst: the buffer to copy to, at least as long as @src
 * @src: the buffer to copy from
 * @done: called once, in any context, when the copy has ended; may free the job
 * @token: initialized by dk_deferred_init()
 * @next: for the function that serves the job, as are the members below
 * @at: number of bytes that are already copied
 * @err: 0 or a negative errno
 * @is_deferred: whether the call must be completed
 */
struct sample_job {
	struct sample_buf *dst;
	const struct sample_buf *src;
	void (*done)(struct sample_job *job, int err);
	struct dk_deferred token;
	struct sample_job *next;
	__u32 at;
	int err;
	int is_deferred;
};

/* Copies as sample_copy does. If it returns 0, @done is called, maybe at once. */
DK_OP(sample_queue_copy, "sample::queue_copy",
	(struct sample_job *job), (job), (&job->dst->dk, &job->src->dk));

#endif /* _SAMPLES_OPS_H */
