// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Prints the output of the demo. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "demo.h"

static const char *const op_names[RT_NUM_OPS] = {
	[RT_FILL] = "fill", [RT_COPY] = "copy", [RT_AXPY] = "axpy", [RT_SUM] = "sum",
	[RT_MATMUL] = "matmul", [RT_AXPY_ASYNC] = "async",
};

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static const char *bold(void)
{
	return isatty(STDOUT_FILENO) ? "\033[1m" : "";
}

static const char *plain(void)
{
	return isatty(STDOUT_FILENO) ? "\033[0m" : "";
}

void heading(const char *format, ...)
{
	va_list args;

	printf("\n%s== ", bold());
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("%s\n", plain());
}

/* ---- where calls go ---------------------------------------------------------------- */

/* Prints the function that serves rt::axpy for y and x on these places. */
int report_route(const char *before, const struct place *y, const struct place *x)
{
	struct dk_op *op = dk_op_get(NULL, "rt::axpy");
	struct dk_route r = { .size = sizeof(r) };
	const struct dk_obj *objs[] = { &y->obj, &x->obj };
	int error = -ENOENT;

	if (op) {
		error = dk_op_route(op, dk_local_included(dk_local_current()),
				    dk_local_excluded(dk_local_current()), objs, 2, &r);
		dk_op_put(op);
	}
	if (error)
		return error;
	printf("%s%s of %s%s%s: %s\n", before, r.entry.label, r.entry.provider,
	       r.entry.device_name[0] ? " on " : "", r.entry.device_name,
	       dk_provenance_name((enum dk_provenance)r.entry.provenance));
	return 0;
}

int report_routes(struct places *places)
{
	unsigned int i, n = atomic_load(&places->n);
	const struct place *x, *y;
	char before[40];
	int error = 0;

	printf("%-8s%-8s%s\n", "y on", "x on", "is served by");
	for (i = 0; i <= n && !error; i++) {
		y = &places->place[i % n];
		x = i < n ? y : &places->place[n - 1];	/* the last row has two places */
		snprintf(before, sizeof(before), "%-8s%-8s", y->name, x->name);
		error = report_route(before, y, x);
	}
	return error;
}

/* ---- the load ---------------------------------------------------------------------- */

void report_begin(unsigned int cards)
{
	unsigned int i;

	printf("seconds     calls");
	for (i = 1; i <= cards + 1; i++)	/* including the card that is added later */
		printf("       cl%u", i - 1);
	printf("       CPU  failed   wrong\n");
}

void report_line(unsigned int cards, const struct totals *t, double seconds)
{
	unsigned int i;

	printf("%7.1f %9lu", seconds, t->sent);
	for (i = 1; i <= cards + 1; i++)
		printf(" %9lu", t->by[i]);
	printf(" %9lu %7lu %7lu\n", t->by[RT_CPU], t->failed, t->wrong + t->misrouted);
	fflush(stdout);
}

void report_served(struct places *places, const struct totals *t)
{
	unsigned int i, op, n = atomic_load(&places->n);

	printf("%-6s", "");
	for (op = 0; op < RT_NUM_OPS; op++)
		printf(" %8s", op_names[op]);
	printf(" %9s %8s\n", "all", "calls/s");
	for (i = 1; i <= n; i++) {
		const struct place *place = &places->place[i % n];	/* the CPU is last */
		double online = place->to - place->from;

		printf("%-6s", place->name);
		for (op = 0; op < RT_NUM_OPS; op++)
			printf(" %8lu", t->served[i % n][op]);
		printf(" %9lu %8.0f\n", t->by[i % n],
		       online > 0 ? t->by[i % n] / online : 0);
	}
}

void report_summary(const struct totals *t)
{
	printf("\nresults compared with the CPU's: %lu, different: %lu; misrouted calls: %lu\n",
	       t->compared, t->wrong, t->misrouted);
	printf("%sdemo-opencl: %lu calls, %lu wrong, %lu lost%s\n", bold(), t->sent,
	       t->wrong + t->misrouted, t->lost, plain());
}
