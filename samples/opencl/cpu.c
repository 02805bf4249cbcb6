// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Defines the operators, and their functions on the CPU. The functions are registered at an alias
 * key, so they can serve the buffers of every backend. They serve an OpenCL device's buffers as
 * soon as the device is unregistered.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

/* OpenCL can use memory in place if it is aligned to OpenCL's largest type, or to a page. */
#define BUF_ALIGN	4096

_Thread_local struct tally *tally;

/* ---- buffers and jobs --------------------------------------------------------- */

int buf_alloc_data(struct buf *b, size_t n)
{
	size_t bytes;

	b->n = 0;
	b->data = NULL;
	b->mem = NULL;
	b->owner = NULL;
	b->release = NULL;
	if (n > (SIZE_MAX - BUF_ALIGN) / sizeof(*b->data))
		return -ENOMEM;
	bytes = n * sizeof(*b->data);
	b->data = aligned_alloc(BUF_ALIGN, (bytes + BUF_ALIGN) / BUF_ALIGN * BUF_ALIGN);
	if (!b->data)
		return -ENOMEM;
	b->n = n;
	return 0;
}

void buf_free(struct buf *b)
{
	if (b->release)
		b->release(b);
	free(b->data);
	b->n = 0;
	b->data = NULL;
	b->mem = NULL;
	b->owner = NULL;
	b->release = NULL;
}

void job_init(struct job *job)
{
	dk_deferred_init(&job->token);
	sem_init(&job->done, 0, 0);
}

/* Ends a job. The function that served the job must not access it afterwards. */
void job_done(struct job *job, int result)
{
	job->result = result;
	sem_post(&job->done);
}

int job_wait(struct job *job)
{
	while (sem_wait(&job->done))
		;	/* a signal interrupted the wait */
	return job->result;
}

void job_destroy(struct job *job)
{
	sem_destroy(&job->done);
}

/* ---- arguments ---------------------------------------------------------------- */

int pair_check(const struct buf *out, const struct buf *in)
{
	return out->n != in->n || out == in ? -EINVAL : 0;
}

int matmul_check(const struct buf *c, const struct buf *a, const struct buf *b, unsigned int n)
{
	size_t rows = n;

	if (rows && rows > SIZE_MAX / rows)
		return -EINVAL;
	if (c->n != rows * rows || a->n != c->n || b->n != c->n || c == a || c == b)
		return -EINVAL;
	return 0;
}

/* ---- functions ---------------------------------------------------------------- */

static int alloc_cpu(struct dk_call *c, struct buf *b, size_t n)
{
	return buf_alloc_data(b, n);
}

static int fill_cpu(struct dk_call *c, struct buf *b, float value)
{
	size_t i;

	for (i = 0; i < b->n; i++)
		b->data[i] = value;
	return served(RT_CPU, RT_FILL, 0);
}

static int copy_cpu(struct dk_call *c, struct buf *dst, const struct buf *src)
{
	int error = pair_check(dst, src);

	if (!error)
		memcpy(dst->data, src->data, src->n * sizeof(*src->data));
	return served(RT_CPU, RT_COPY, error);
}

static int axpy(struct buf *y, float a, const struct buf *x)
{
	int error = pair_check(y, x);
	size_t i;

	if (error)
		return error;
	for (i = 0; i < y->n; i++)
		y->data[i] += a * x->data[i];
	return 0;
}

static int axpy_cpu(struct dk_call *c, struct buf *y, float a, const struct buf *x)
{
	return served(RT_CPU, RT_AXPY, axpy(y, a, x));
}

static int sum_cpu(struct dk_call *c, const struct buf *b, double *sum)
{
	double s = 0;
	size_t i;

	for (i = 0; i < b->n; i++)
		s += b->data[i];
	*sum = s;
	return served(RT_CPU, RT_SUM, 0);
}

static int matmul_cpu(struct dk_call *c, struct buf *out, const struct buf *a,
		      const struct buf *b, unsigned int n)
{
	int error = matmul_check(out, a, b, n);
	size_t i, j, k, size = n;

	if (error)
		return error;
	memset(out->data, 0, out->n * sizeof(*out->data));
	for (i = 0; i < size; i++)
		for (k = 0; k < size; k++)
			for (j = 0; j < size; j++)
				out->data[i * size + j] +=
					a->data[i * size + k] * b->data[k * size + j];
	return served(RT_CPU, RT_MATMUL, 0);
}

/* The work is done when this function returns, so nothing is deferred. */
static int axpy_async_cpu(struct dk_call *c, struct buf *y, float a, const struct buf *x,
			  struct job *job)
{
	int error = axpy(y, a, x);

	if (!error)
		job_done(job, 0);
	return served(RT_CPU, RT_AXPY_ASYNC, error);
}

static const struct dk_impl impls[] = {
	DK_IMPL(rt_alloc, DK_COMPOSITE_EXPLICIT_AUTOGRAD, alloc_cpu),
	DK_IMPL(rt_fill, DK_COMPOSITE_EXPLICIT_AUTOGRAD, fill_cpu),
	DK_IMPL(rt_copy, DK_COMPOSITE_EXPLICIT_AUTOGRAD, copy_cpu),
	DK_IMPL(rt_axpy, DK_COMPOSITE_EXPLICIT_AUTOGRAD, axpy_cpu),
	DK_IMPL(rt_sum, DK_COMPOSITE_EXPLICIT_AUTOGRAD, sum_cpu),
	DK_IMPL(rt_matmul, DK_COMPOSITE_EXPLICIT_AUTOGRAD, matmul_cpu),
	DK_IMPL(rt_axpy_async, DK_COMPOSITE_EXPLICIT_AUTOGRAD, axpy_async_cpu),
};

#define NUM_IMPLS	(sizeof(impls) / sizeof(*impls))

static struct dk_provider cpu = DK_PROVIDER("cpu");

int rt_begin(struct dk_diag *why)
{
	int error = dk_provider_register(&cpu, why);
	size_t i;

	if (error)
		return error;
	for (i = 0; i < NUM_IMPLS && !error; i++)
		error = dk_op_define(&cpu, impls[i].op, 0, why);
	if (!error)
		error = dk_impls_register(&cpu, impls, NUM_IMPLS, why);
	if (error)
		dk_provider_unregister(&cpu);
	return error;
}

int rt_end(void)
{
	return dk_provider_unregister(&cpu);
}
