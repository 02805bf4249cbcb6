// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Implements the operators on an OpenCL device. A function queues commands, and returns when the
 * event of the last command has completed. rt::axpy_async returns earlier: it defers its call, and
 * the callback of the event completes the call.
 *
 * The memory of every buffer is mapped between calls. A call unmaps its buffers, and maps them
 * again after its work, so that data of struct buf is current when the call ends.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "cl.h"

#define MAX_BUFS	3

/**
 * struct work - the commands of one call
 * @card: the device
 * @bufs: the call's buffers; NULL for a repeated buffer, and for one without device memory
 * @mems: their memory on the device
 * @n: number of buffers
 * @event: event of the command that does the work
 * @done: event that completes after all commands; it fails if the work has failed
 * @error: the first error
 */
struct work {
	struct cl_card *card;
	const struct buf *bufs[MAX_BUFS];
	cl_mem mems[MAX_BUFS];
	unsigned int n;
	cl_event event, done;
	int error;
};

static bool ok(struct work *w, const char *function, cl_int code)
{
	if (code == CL_SUCCESS)
		return true;
	cl_report(w->card->name, function, code);
	if (!w->error)
		w->error = -EIO;
	return false;
}

static bool is_own(const struct work *w, const struct buf *b)
{
	return b->owner == w->card;
}

/* ---- memory --------------------------------------------------------------------- */

static cl_mem wrap(struct work *w, const struct buf *b)
{
	cl_int code;
	cl_mem mem = clCreateBuffer(w->card->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
				    b->n * sizeof(*b->data), b->data, &code);

	return ok(w, "clCreateBuffer", code) ? mem : NULL;
}

static bool map(struct work *w, cl_mem mem, const struct buf *b, bool wait)
{
	cl_int code;

	clEnqueueMapBuffer(w->card->queue, mem, wait, CL_MAP_READ | CL_MAP_WRITE, 0,
			   b->n * sizeof(*b->data), 0, NULL, NULL, &code);
	return ok(w, "clEnqueueMapBuffer", code);
}

static void unmap(struct work *w, cl_mem mem, const struct buf *b)
{
	ok(w, "clEnqueueUnmapMemObject",
	   clEnqueueUnmapMemObject(w->card->queue, mem, b->data, 0, NULL, NULL));
}

/*
 * Releases the device memory of a buffer. The card may already be unregistered: the buffer holds a
 * reference to the card, which keeps the context and the queue.
 */
static void release_cl(struct buf *b)
{
	struct work w = { .card = b->owner };

	unmap(&w, b->mem, b);
	ok(&w, "clFinish", clFinish(w.card->queue));
	clReleaseMemObject(b->mem);
	cl_card_put(w.card);
}

static int alloc_cl(struct dk_call *c, struct buf *b, size_t n)
{
	struct work w = { .card = dk_call_priv(c) };
	int error = buf_alloc_data(b, n);

	if (error || !n)
		return error;
	b->mem = wrap(&w, b);
	if (b->mem)
		map(&w, b->mem, b, true);
	if (w.error) {
		if (b->mem)
			clReleaseMemObject(b->mem);
		buf_free(b);
		return w.error;
	}
	atomic_fetch_add(&w.card->refs, 1);
	b->owner = w.card;
	b->release = release_cl;
	return 0;
}

/* ---- the commands of a call ------------------------------------------------------- */

static cl_mem acquire(struct work *w, const struct buf *b)
{
	if (!is_own(w, b))
		return wrap(w, b);
	unmap(w, b->mem, b);
	return b->mem;
}

/* Prepares the buffers of a call. Uses host memory directly for buffers of other places. */
static void begin(struct work *w, struct cl_card *card, const struct buf *const *bufs,
		  unsigned int n)
{
	unsigned int i;

	*w = (struct work){ .card = card, .n = n };
	pthread_mutex_lock(&card->lock);
	for (i = 0; i < n; i++) {
		if (i && bufs[i] == bufs[i - 1]) {	/* a * a */
			w->mems[i] = w->mems[i - 1];
			continue;
		}
		w->mems[i] = acquire(w, bufs[i]);
		w->bufs[i] = w->mems[i] ? bufs[i] : NULL;
	}
}

static void arg(struct work *w, cl_kernel kernel, cl_uint i, size_t size, const void *value)
{
	if (!w->error)
		ok(w, "clSetKernelArg", clSetKernelArg(kernel, i, size, value));
}

static void launch(struct work *w, cl_kernel kernel, cl_uint dims, const size_t *items)
{
	if (!w->error)
		ok(w, "clEnqueueNDRangeKernel",
		   clEnqueueNDRangeKernel(w->card->queue, kernel, dims, NULL, items, NULL,
					  0, NULL, &w->event));
}

/* Queues the end of a call. The queue is in order, so the marker is after the maps. */
static void end(struct work *w)
{
	unsigned int i;

	for (i = 0; i < w->n; i++) {
		bool mapped;

		if (!w->bufs[i])
			continue;
		mapped = map(w, w->mems[i], w->bufs[i], false);
		if (!is_own(w, w->bufs[i])) {
			if (mapped)
				unmap(w, w->mems[i], w->bufs[i]);
			clReleaseMemObject(w->mems[i]);	/* after its commands */
		}
	}
	ok(w, "clEnqueueMarkerWithWaitList",
	   clEnqueueMarkerWithWaitList(w->card->queue, w->event ? 1 : 0,
				       w->event ? &w->event : NULL, &w->done));
	if (w->event)
		clReleaseEvent(w->event);
	pthread_mutex_unlock(&w->card->lock);
}

static int wait_for(struct work *w)
{
	bool waited = w->done && ok(w, "clWaitForEvents", clWaitForEvents(1, &w->done));

	/* Commands after a failed one can still be using the caller's memory. */
	if (!waited)
		ok(w, "clFinish", clFinish(w->card->queue));
	if (w->done)
		clReleaseEvent(w->done);
	return w->error;
}

/* ---- functions ------------------------------------------------------------------- */

static int fill_cl(struct dk_call *c, struct buf *b, float value)
{
	struct cl_card *card = dk_call_priv(c);
	const struct buf *bufs[] = { b };
	struct work w;

	if (!b->n)
		return served(card->server, RT_FILL, 0);
	begin(&w, card, bufs, 1);
	if (!w.error)
		ok(&w, "clEnqueueFillBuffer",
		   clEnqueueFillBuffer(card->queue, w.mems[0], &value, sizeof(value), 0,
				       b->n * sizeof(value), 0, NULL, &w.event));
	end(&w);
	return served(card->server, RT_FILL, wait_for(&w));
}

static int copy_cl(struct dk_call *c, struct buf *dst, const struct buf *src)
{
	struct cl_card *card = dk_call_priv(c);
	const struct buf *bufs[] = { dst, src };
	int error = pair_check(dst, src);
	struct work w;

	if (error || !dst->n)
		return served(card->server, RT_COPY, error);
	begin(&w, card, bufs, 2);
	if (!w.error)
		ok(&w, "clEnqueueCopyBuffer",
		   clEnqueueCopyBuffer(card->queue, w.mems[1], w.mems[0], 0, 0,
				       dst->n * sizeof(*dst->data), 0, NULL, &w.event));
	end(&w);
	return served(card->server, RT_COPY, wait_for(&w));
}

static void queue_axpy(struct work *w, struct cl_card *card, struct buf *y, float a,
		       const struct buf *x)
{
	const struct buf *bufs[] = { y, x };

	begin(w, card, bufs, 2);
	arg(w, card->axpy, 0, sizeof(cl_mem), &w->mems[0]);
	arg(w, card->axpy, 1, sizeof(a), &a);
	arg(w, card->axpy, 2, sizeof(cl_mem), &w->mems[1]);
	launch(w, card->axpy, 1, &y->n);
	end(w);
}

static int axpy_cl(struct dk_call *c, struct buf *y, float a, const struct buf *x)
{
	struct cl_card *card = dk_call_priv(c);
	int error = pair_check(y, x);
	struct work w;

	if (!error && y->n) {
		queue_axpy(&w, card, y, a, x);
		error = wait_for(&w);
	}
	return served(card->server, RT_AXPY, error);
}

/*
 * Called on a thread of OpenCL, or by axpy_async_cl() if the work has already ended. Unregistering
 * the card waits for the call until it is completed here.
 */
static void complete(struct job *job, int result)
{
	struct cl_card *card = job->owner;
	int error;

	atomic_fetch_sub(&card->queued, 1);
	error = dk_call_complete(&job->token, result);
	job_done(job, error ? error : result);
}

static void CL_CALLBACK axpy_done(cl_event event, cl_int status, void *job)
{
	complete(job, status == CL_COMPLETE ? 0 : -EIO);
}

static int axpy_async_cl(struct dk_call *c, struct buf *y, float a, const struct buf *x,
			 struct job *job)
{
	struct cl_card *card = dk_call_priv(c);
	int error = pair_check(y, x);
	struct work w;

	if (!error)
		error = dk_call_defer(c, &job->token);
	if (error)
		return error;
	job->owner = card;
	atomic_fetch_add(&card->queued, 1);
	served(card->server, RT_AXPY_ASYNC, 0);
	if (!y->n) {
		complete(job, 0);
		return 0;
	}

	queue_axpy(&w, card, y, a, x);
	if (!w.error && ok(&w, "clSetEventCallback",
			   clSetEventCallback(w.done, CL_COMPLETE, axpy_done, job))) {
		/* The job may be destroyed already. */
		ok(&w, "clFlush", clFlush(card->queue));
		clReleaseEvent(w.done);
		return 0;
	}
	complete(job, wait_for(&w));
	return 0;
}

static int sum_cl(struct dk_call *c, const struct buf *b, double *sum)
{
	const size_t items = CL_SUM_ITEMS;
	struct cl_card *card = dk_call_priv(c);
	const struct buf *bufs[] = { b };
	float part[CL_SUM_ITEMS] = { 0 };
	cl_ulong n = b->n;
	struct work w;
	cl_mem parts;
	cl_int code;
	int i;

	*sum = 0;
	if (!n)
		return served(card->server, RT_SUM, 0);
	begin(&w, card, bufs, 1);
	parts = clCreateBuffer(card->context, CL_MEM_WRITE_ONLY, sizeof(part), NULL, &code);
	ok(&w, "clCreateBuffer", code);
	arg(&w, card->sum, 0, sizeof(cl_mem), &w.mems[0]);
	arg(&w, card->sum, 1, sizeof(n), &n);
	arg(&w, card->sum, 2, sizeof(cl_mem), &parts);
	launch(&w, card->sum, 1, &items);
	if (!w.error)
		ok(&w, "clEnqueueReadBuffer",
		   clEnqueueReadBuffer(card->queue, parts, CL_FALSE, 0, sizeof(part), part,
				       0, NULL, NULL));
	end(&w);
	wait_for(&w);
	if (parts)
		clReleaseMemObject(parts);
	for (i = 0; i < CL_SUM_ITEMS; i++)
		*sum += part[i];
	return served(card->server, RT_SUM, w.error);
}

static int matmul_cl(struct dk_call *c, struct buf *out, const struct buf *a,
		     const struct buf *b, unsigned int n)
{
	const size_t items[] = { n, n };
	struct cl_card *card = dk_call_priv(c);
	const struct buf *bufs[] = { out, a, b };
	int error = matmul_check(out, a, b, n);
	cl_uint size = n, i;
	struct work w;

	if (error || !n)
		return served(card->server, RT_MATMUL, error);
	begin(&w, card, bufs, 3);
	for (i = 0; i < 3; i++)
		arg(&w, card->matmul, i, sizeof(cl_mem), &w.mems[i]);
	arg(&w, card->matmul, 3, sizeof(size), &size);
	launch(&w, card->matmul, 2, items);
	end(&w);
	return served(card->server, RT_MATMUL, wait_for(&w));
}

/* Registered at DK_DENSE of the backend opencl, for one device. */
const struct dk_impl cl_impls[] = {
	DK_IMPL(rt_alloc, DK_DENSE, alloc_cl),
	DK_IMPL(rt_fill, DK_DENSE, fill_cl),
	DK_IMPL(rt_copy, DK_DENSE, copy_cl),
	DK_IMPL(rt_axpy, DK_DENSE, axpy_cl),
	DK_IMPL(rt_sum, DK_DENSE, sum_cl),
	DK_IMPL(rt_matmul, DK_DENSE, matmul_cl),
	DK_IMPL(rt_axpy_async, DK_DENSE, axpy_async_cl),
};

const unsigned int cl_num_impls = sizeof(cl_impls) / sizeof(*cl_impls);
