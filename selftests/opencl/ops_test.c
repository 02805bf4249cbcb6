// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls the operators of samples/opencl as a runtime does: from a thread without counters, with
 * arguments that are refused, on the CPU and on an OpenCL device.
 */
#include <errno.h>
#include <stdint.h>

#include "demo.h"
#include "../unit/tap.h"

static struct dk_obj places[2];	/* the CPU, and the device if there is one */
static unsigned int num_places;
static struct cl_found *found;
static unsigned int num_found;
static struct cl_card *card;

TEST(devices_are_registered)
{
	struct dk_diag why = { .size = sizeof(why) };

	EXPECT_EQ(rt_begin(&why), 0);
	EXPECT_EQ(cl_begin(&why), 0);
	places[num_places++] = dk_obj_on(DK_BACKEND_CPU, 0);
	num_found = cl_find(&found);
	if (!EXPECT(num_found >= 2))
		return;
	EXPECT(!cl_card_add(&found[0], "cl0", RT_MAX_SERVERS, &why));
	card = cl_card_add(&found[0], "cl0", 1, &why);
	if (EXPECT(card))
		places[num_places++] = card->obj;
}

/* Sizes that overflow when they are multiplied or rounded up, and one that does not. */
TEST(too_much_memory_is_refused)
{
	const size_t sizes[] = {
		SIZE_MAX / sizeof(float) + 2, SIZE_MAX, SIZE_MAX / sizeof(float),
		(SIZE_MAX - 4096) / sizeof(float),
	};
	unsigned int i, p;

	for (p = 0; p < num_places; p++) {
		for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			struct buf b = { .dk = places[p] };

			EXPECT_EQ(rt_alloc(&b, sizes[i]), -ENOMEM);
			EXPECT_EQ(b.n, 0);
			EXPECT(!b.data);
			buf_free(&b);
		}
	}
}

static struct buf buf_on(struct dk_obj obj, size_t n)
{
	struct buf b = { .dk = obj };

	EXPECT_EQ(rt_alloc(&b, n), 0);
	return b;
}

static int axpy_and_wait(struct buf *y, float a, const struct buf *x)
{
	struct job job;
	int error;

	job_init(&job);
	error = rt_axpy_async(y, a, x, &job);
	if (!error)
		error = job_wait(&job);
	job_destroy(&job);
	return error;
}

/* This thread has no tally, so its calls are not counted. */
TEST(calls_need_not_be_counted)
{
	unsigned int p;
	double sum;

	for (p = 0; p < num_places; p++) {
		struct buf a = buf_on(places[p], 4), b = buf_on(places[p], 4);
		struct buf c = buf_on(places[p], 4);

		EXPECT_EQ(rt_fill(&a, 3), 0);
		EXPECT_EQ(rt_copy(&b, &a), 0);
		EXPECT_EQ(rt_axpy(&b, 2, &a), 0);
		EXPECT_EQ(axpy_and_wait(&b, 1, &a), 0);
		EXPECT_EQ(rt_sum(&b, &sum), 0);
		EXPECT_EQ(sum, 48);
		/* The same buffer is allowed for both inputs. */
		EXPECT_EQ(rt_matmul(&c, &b, &b, 2), 0);
		EXPECT_EQ(c.data[3], 288);
		buf_free(&a);
		buf_free(&b);
		buf_free(&c);
	}
}

static unsigned long counted(const struct tally *t)
{
	unsigned long n = 0;
	int server, op;

	for (server = 0; server < RT_MAX_SERVERS; server++)
		for (op = 0; op < RT_NUM_OPS; op++)
			n += atomic_load(&t->served[server][op]);
	return n;
}

/* The CPU and the device return the same errors, and write and count nothing. */
TEST(outputs_are_no_inputs_and_sizes_match)
{
	struct tally counts = { 0 };
	unsigned int p, i;

	tally = &counts;
	for (p = 0; p < num_places; p++) {
		struct buf a = buf_on(places[p], 4), b = buf_on(places[p], 4);
		struct buf five = buf_on(places[p], 5);

		for (i = 0; i < 4; i++) {
			a.data[i] = i + 1;
			b.data[i] = i + 1;
		}
		EXPECT_EQ(rt_copy(&a, &a), -EINVAL);
		EXPECT_EQ(rt_axpy(&a, 1, &a), -EINVAL);
		EXPECT_EQ(axpy_and_wait(&a, 1, &a), -EINVAL);
		EXPECT_EQ(rt_matmul(&a, &a, &b, 2), -EINVAL);
		EXPECT_EQ(rt_matmul(&a, &b, &a, 2), -EINVAL);
		EXPECT_EQ(rt_copy(&a, &five), -EINVAL);
		EXPECT_EQ(rt_axpy(&a, 1, &five), -EINVAL);
		EXPECT_EQ(axpy_and_wait(&a, 1, &five), -EINVAL);
		EXPECT_EQ(rt_matmul(&a, &b, &b, 3), -EINVAL);
		EXPECT_EQ(rt_matmul(&a, &b, &five, 2), -EINVAL);
		for (i = 0; i < 4; i++)
			EXPECT_EQ(a.data[i], i + 1);
		buf_free(&a);
		buf_free(&b);
		buf_free(&five);
	}
	EXPECT_EQ(counted(&counts), 0);
	tally = NULL;
}

/* ---- functions of OpenCL that fail ---------------------------------------------------- */

/* The linker's --wrap redirects calls of OpenCL functions to the functions below. */
static unsigned int until_failure;	/* the call that fails, counted from 1; 0: no call */

static bool fails(void)
{
	return until_failure && !--until_failure;
}

#define WRAPPED(name)	__typeof__(name) __real_##name, __wrap_##name

WRAPPED(clEnqueueUnmapMemObject);
WRAPPED(clEnqueueNDRangeKernel);
WRAPPED(clEnqueueFillBuffer);
WRAPPED(clEnqueueCopyBuffer);
WRAPPED(clEnqueueReadBuffer);
WRAPPED(clEnqueueMarkerWithWaitList);
WRAPPED(clSetKernelArg);
WRAPPED(clWaitForEvents);
WRAPPED(clSetEventCallback);
WRAPPED(clCreateBuffer);
WRAPPED(clEnqueueMapBuffer);

void *__wrap_clEnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool wait, cl_map_flags f,
				size_t at, size_t size, cl_uint n, const cl_event *e,
				cl_event *done, cl_int *error)
{
	if (!fails())
		return __real_clEnqueueMapBuffer(q, m, wait, f, at, size, n, e, done, error);
	*error = CL_OUT_OF_RESOURCES;
	return NULL;
}

cl_int __wrap_clEnqueueUnmapMemObject(cl_command_queue q, cl_mem m, void *p, cl_uint n,
				      const cl_event *e, cl_event *done)
{
	return fails() ? CL_OUT_OF_RESOURCES :
			 __real_clEnqueueUnmapMemObject(q, m, p, n, e, done);
}

cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint dims,
				     const size_t *at, const size_t *global,
				     const size_t *local, cl_uint n, const cl_event *e,
				     cl_event *done)
{
	return fails() ? CL_OUT_OF_RESOURCES :
			 __real_clEnqueueNDRangeKernel(q, k, dims, at, global, local, n, e, done);
}

cl_int __wrap_clEnqueueFillBuffer(cl_command_queue q, cl_mem m, const void *p, size_t pn, size_t at,
				  size_t size, cl_uint n, const cl_event *e, cl_event *done)
{
	return fails() ? CL_OUT_OF_RESOURCES :
			 __real_clEnqueueFillBuffer(q, m, p, pn, at, size, n, e, done);
}

cl_int __wrap_clEnqueueCopyBuffer(cl_command_queue q, cl_mem from, cl_mem to, size_t from_at,
				  size_t to_at, size_t size, cl_uint n, const cl_event *e,
				  cl_event *done)
{
	return fails() ? CL_OUT_OF_RESOURCES :
			 __real_clEnqueueCopyBuffer(q, from, to, from_at, to_at, size, n, e, done);
}

cl_int __wrap_clEnqueueReadBuffer(cl_command_queue q, cl_mem m, cl_bool wait, size_t at,
				  size_t size, void *p, cl_uint n, const cl_event *e,
				  cl_event *done)
{
	return fails() ? CL_OUT_OF_RESOURCES :
			 __real_clEnqueueReadBuffer(q, m, wait, at, size, p, n, e, done);
}

cl_int __wrap_clEnqueueMarkerWithWaitList(cl_command_queue q, cl_uint n, const cl_event *e,
					  cl_event *done)
{
	return fails() ? CL_OUT_OF_RESOURCES :
			 __real_clEnqueueMarkerWithWaitList(q, n, e, done);
}

cl_int __wrap_clSetKernelArg(cl_kernel k, cl_uint i, size_t size, const void *p)
{
	return fails() ? CL_OUT_OF_RESOURCES :
			 __real_clSetKernelArg(k, i, size, p);
}

cl_int __wrap_clWaitForEvents(cl_uint n, const cl_event *e)
{
	return fails() ? CL_OUT_OF_RESOURCES :
			 __real_clWaitForEvents(n, e);
}

cl_int __wrap_clSetEventCallback(cl_event e, cl_int status,
				 void (*fn)(cl_event e, cl_int s, void *p), void *p)
{
	return fails() ? CL_OUT_OF_RESOURCES :
			 __real_clSetEventCallback(e, status, fn, p);
}

cl_mem __wrap_clCreateBuffer(cl_context c, cl_mem_flags f, size_t size, void *p, cl_int *error)
{
	if (!fails())
		return __real_clCreateBuffer(c, f, size, p, error);
	*error = CL_OUT_OF_RESOURCES;
	return NULL;
}

/* Calls every operator, including calls with a buffer of the CPU. Returns the first error. */
static int call_all(void)
{
	struct buf a = { .dk = places[1] }, b = { .dk = places[1] }, c = { .dk = places[0] };
	struct buf *bufs[] = { &a, &b, &c };
	unsigned int i;
	double sum = 0;
	int error = 0;

	for (i = 0; i < 3 && !error; i++)
		error = rt_alloc(bufs[i], 4);
	if (!error)
		error = rt_fill(&a, 3);
	if (!error)
		error = rt_copy(&b, &a);
	if (!error)
		error = rt_axpy(&b, 2, &a);
	if (!error)
		error = axpy_and_wait(&b, 1, &a);
	if (!error)
		error = rt_sum(&b, &sum);
	if (!error)
		error = rt_matmul(&c, &a, &b, 2);
	if (!error) {
		EXPECT_EQ(sum, 48);
		EXPECT_EQ(c.data[3], 72);
	}
	for (i = 0; i < 3; i++)
		buf_free(bufs[i]);
	return error;
}

TEST(a_failure_of_opencl_is_returned)
{
	unsigned int n, left = 0;
	int error;

	if (num_places < 2)
		return;
	for (n = 1; !left; n++) {
		until_failure = n;
		error = call_all();
		left = until_failure;
		until_failure = 0;
		/* 0 if only buf_free() failed, which cannot report this */
		EXPECT(error == 0 || error == -EIO);
		EXPECT_EQ(call_all(), 0);
	}
	EXPECT_EQ(error, 0);
	EXPECT(n > 40);
	EXPECT_EQ(atomic_load(&card->queued), 0);
}

/* ---- the demo's totals ----------------------------------------------------------------- */

static struct worker workers[NUM_THREADS];

TEST(a_call_is_lost_once)
{
	struct totals t;

	workers[0].sent = 3;
	workers[0].failed = 1;
	workers[0].tally.served[1][RT_FILL] = 2;
	totals_read(&t, workers);
	EXPECT_EQ(t.lost, 1);
	workers[1].sent = 1;
	workers[1].tally.served[1][RT_AXPY_ASYNC] = 1;
	workers[1].late = 1;
	totals_read(&t, workers);
	EXPECT_EQ(t.failed, 2);
	EXPECT_EQ(t.lost, 2);
	workers[2].sent = 1;
	totals_read(&t, workers);
	EXPECT_EQ(t.lost, 3);
}

TEST(devices_are_unregistered)
{
	struct dk_diag why = { .size = sizeof(why) };

	if (card) {
		EXPECT_EQ(cl_card_remove(card, &why), 0);
		cl_card_put(card);
	}
	cl_release(found, num_found);
	EXPECT_EQ(cl_end(), 0);
	EXPECT_EQ(rt_end(), 0);
}
