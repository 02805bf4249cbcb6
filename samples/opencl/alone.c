// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Measures the throughput of each place, the CPU or a card, while nothing else runs. */
#include <stdio.h>
#include <string.h>

#include "demo.h"

#define LONG_VECTOR	1048576
#define MANY_ROWS	256

struct bufs {
	struct buf x, y;		/* LONG_VECTOR numbers */
	struct buf a, b, c;		/* MANY_ROWS squared */
	struct buf one, other;		/* one number */
	struct buf none, nothing;	/* empty */
	double waited;			/* seconds of waiting, to be subtracted from the time */
};

static int run_copy(struct bufs *b)
{
	return rt_copy(&b->y, &b->x);
}

static int run_axpy(struct bufs *b)
{
	return rt_axpy(&b->y, 1, &b->x);
}

static int run_sum(struct bufs *b)
{
	double sum;

	return rt_sum(&b->x, &sum);
}

static int run_matmul(struct bufs *b)
{
	return rt_matmul(&b->c, &b->a, &b->b, MANY_ROWS);
}

static int run_one(struct bufs *b)
{
	return rt_axpy(&b->one, 1, &b->other);
}

/* Makes an asynchronous call, and excludes the wait for its end from the measured time. */
static int run_queue(struct bufs *b)
{
	struct job job;
	double from;
	int error;

	job_init(&job);
	error = rt_axpy_async(&b->one, 1, &b->other, &job);
	from = now();
	if (!error)
		error = job_wait(&job);
	b->waited += now() - from;
	job_destroy(&job);
	return error;
}

static int run_empty(struct bufs *b)
{
	return rt_axpy(&b->none, 1, &b->nothing);
}

static int run_deferred(struct bufs *b)
{
	struct job job;
	int error;

	job_init(&job);
	error = rt_axpy_async(&b->none, 1, &b->nothing, &job);
	if (!error)
		error = job_wait(&job);
	job_destroy(&job);
	return error;
}

#define MFLOATS(n)	((n) * 4.0 * LONG_VECTOR)

/* A column in @unit: the work done per second or, if @work is 0, the time of one call. */
static const struct column {
	const char *title, *unit;
	int (*run)(struct bufs *b);
	double work, scale;
	int digits;
} columns[] = {
	{ "copy", "GB/s", run_copy, MFLOATS(2), 1e9, 2 },
	{ "axpy", "GB/s", run_axpy, MFLOATS(3), 1e9, 2 },
	{ "sum", "GB/s", run_sum, MFLOATS(1), 1e9, 2 },
	{ "matmul", "GFLOP/s", run_matmul, 2.0 * MANY_ROWS * MANY_ROWS * MANY_ROWS, 1e9, 2 },
	{ "1 number", "us", run_one, 0, 1e6, 2 },
	{ "queued", "us", run_queue, 0, 1e6, 2 },
	{ "empty", "ns", run_empty, 0, 1e9, 1 },
	{ "deferred", "ns", run_deferred, 0, 1e9, 1 },
};

#define NUM_COLUMNS	(sizeof(columns) / sizeof(*columns))

/* Returns the time of a call in seconds, or a negative number if a call fails. */
static double measure(const struct column *column, struct bufs *b, unsigned int ms)
{
	unsigned long i, n, done = 0;
	double from, took = 0;

	if (column->run(b))	/* compiles the kernel */
		return -1;
	b->waited = 0;
	from = now();
	for (n = 1; took * 1000 < ms; n *= 2) {
		for (i = 0; i < n; i++)
			if (column->run(b))
				return -1;
		done += n;
		took = now() - from;
	}
	return (took - b->waited) / done;
}

static int alloc(struct bufs *b, struct dk_obj obj)
{
	const struct {
		struct buf *buf;
		size_t n;
	} all[] = {
		{ &b->x, LONG_VECTOR }, { &b->y, LONG_VECTOR },
		{ &b->a, MANY_ROWS * MANY_ROWS }, { &b->b, MANY_ROWS * MANY_ROWS },
		{ &b->c, MANY_ROWS * MANY_ROWS },
		{ &b->one, 1 }, { &b->other, 1 }, { &b->none, 0 }, { &b->nothing, 0 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(all) / sizeof(*all); i++) {
		all[i].buf->dk = obj;
		if (rt_alloc(all[i].buf, all[i].n))
			return -1;
		memset(all[i].buf->data, 0, all[i].n * sizeof(float));
	}
	return 0;
}

static void release(struct bufs *b)
{
	struct buf *all[] = {
		&b->x, &b->y, &b->a, &b->b, &b->c, &b->one, &b->other, &b->none, &b->nothing
	};
	unsigned int i;

	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		buf_free(all[i]);
}

static int measure_place(const struct place *place, unsigned int ms)
{
	struct bufs b = { 0 };
	int error = alloc(&b, place->obj);
	unsigned int i;

	printf("%-6s", place->name);
	for (i = 0; i < NUM_COLUMNS && !error; i++) {
		const struct column *c = &columns[i];
		double seconds = measure(c, &b, ms);

		error = seconds < 0;
		if (!error)
			printf(" %8.*f", c->digits,
			       c->work ? c->work / seconds / c->scale : seconds * c->scale);
		fflush(stdout);
	}
	putchar('\n');
	release(&b);
	return error;
}

int report_alone(struct places *places, unsigned int ms)
{
	struct tally ignored = { 0 };
	unsigned int i;
	int error = 0;

	printf("%-6s", "");
	for (i = 0; i < NUM_COLUMNS; i++)
		printf(" %8s", columns[i].title);
	printf("\n%-6s", "");
	for (i = 0; i < NUM_COLUMNS; i++)
		printf(" %8s", columns[i].unit);
	putchar('\n');
	fflush(stdout);

	tally = &ignored;
	for (i = 0; i < atomic_load(&places->n) && !error; i++)
		error = measure_place(&places->place[i], ms);
	tally = NULL;
	return error;
}
