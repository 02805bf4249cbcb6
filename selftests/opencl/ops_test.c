// SPDX-License-Identifier: GPL-2.0-only
/*
 * The operators of samples/opencl, called as a runtime calls them: by a thread that counts
 * nothing, with arguments that are refused, on the CPU and on an OpenCL device alike.
 */
#include <errno.h>
#include <stdint.h>

#include "cl.h"
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

/* This thread has no tally. */
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
		/* One buffer may be both inputs. */
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

/* The same results everywhere; nothing is written or counted. */
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
