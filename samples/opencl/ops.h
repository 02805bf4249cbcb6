/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Declares the interface for callers of the runtime: buffers, and the operators on them. */
#ifndef _OPENCL_OPS_H
#define _OPENCL_OPS_H

#include <semaphore.h>
#include <stddef.h>

#include <dispatchkey.h>

/* The private backend of the OpenCL devices. */
#define RT_BACKEND	"opencl"

/*
 * A vector or a square matrix of floats. Between calls the numbers at @data are current;
 * callers, and functions of other devices, read and write them there. Only one call at a
 * time may use a buffer.
 */
struct buf {
	struct dk_obj dk;
	size_t n;
	float *data;
	/* Private to the device that allocated the memory of the buffer. */
	void *mem;
	void *owner;
	void (*release)(struct buf *b);
};

/* An asynchronous call. */
struct job {
	struct dk_deferred token;
	sem_t done;
	int result;
	void *owner;		/* private to the device that runs it */
};

/* Allocates n floats for a buffer whose @dk is set, without initializing them. */
DK_OP(rt_alloc, "rt::alloc", (struct buf *b, size_t n), (b, n), (&b->dk));

/*
 * An operator that writes a buffer returns -EINVAL, and writes nothing, in two cases: the buffer
 * is also one of its inputs, or the sizes do not match. This holds on every device. Devices can
 * round inexact results differently.
 */

/* The following operators return when the result is at @data. */
DK_OP(rt_fill, "rt::fill", (struct buf *b, float value), (b, value), (&b->dk));
DK_OP(rt_copy, "rt::copy", (struct buf *dst, const struct buf *src), (dst, src),
	(&dst->dk, &src->dk));
/* y += a * x */
DK_OP(rt_axpy, "rt::axpy", (struct buf *y, float a, const struct buf *x), (y, a, x),
	(&y->dk, &x->dk));
DK_OP(rt_sum, "rt::sum", (const struct buf *b, double *sum), (b, sum), (&b->dk));
/* c = a * b */
DK_OP(rt_matmul, "rt::matmul",
	(struct buf *c, const struct buf *a, const struct buf *b, unsigned int n),
	(c, a, b, n), (&c->dk, &a->dk, &b->dk));

/*
 * Like rt::axpy, but may return before the work is done. If it returns 0, the caller must
 * call job_wait(). Until job_wait() returns, do not use @y, and do not change or free @x.
 */
DK_OP(rt_axpy_async, "rt::axpy_async",
	(struct buf *y, float a, const struct buf *x, struct job *job), (y, a, x, job),
	(&y->dk, &x->dk));

void buf_free(struct buf *b);

void job_init(struct job *job);
int job_wait(struct job *job);
void job_destroy(struct job *job);

#endif /* _OPENCL_OPS_H */
