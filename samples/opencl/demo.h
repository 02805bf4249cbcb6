/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Declares the parts of the demo. */
#ifndef _OPENCL_DEMO_H
#define _OPENCL_DEMO_H

#include <pthread.h>
#include <stdbool.h>

#include "cl.h"

#define MAX_CARDS	8	/* cards at the beginning; one more is added later */
#define NUM_THREADS	4
#define NUM_JOBS	4	/* concurrent asynchronous calls of one thread */
#define NUM_SEEDS	8	/* number of different rounds */

/* The number of floats of a vector, and of rows of a matrix. */
#define VECTOR		65536
#define ROWS		64

enum place_state { PLACE_ONLINE, PLACE_LEAVING, PLACE_REMOVED };

/* A place for buffers. The first place is the CPU, the others are cards. */
struct place {
	char name[16];
	struct dk_obj obj;
	struct cl_card *card;
	const struct cl_found *found;
	atomic_int state;	/* of enum place_state */
	double from, to;	/* the time during which it was online, in seconds */
};

/* Places are added while threads read them, and never removed. */
struct places {
	struct place place[RT_MAX_SERVERS];
	atomic_uint n;
};

/* The buffers of a thread on one place. */
struct set {
	bool ready;
	struct buf in, a;		/* the same in each round */
	struct buf job_in[NUM_JOBS];		/* for concurrent jobs; the same in each round */
	struct buf filled, y, b, product, job[NUM_JOBS];
	double sum;
};

struct worker {
	pthread_t thread;
	struct places *places;
	struct set set[RT_MAX_SERVERS];
	struct set expected[NUM_SEEDS];		/* the results of the CPU */
	struct tally tally;
	atomic_ulong sent;			/* calls that have returned */
	atomic_ulong failed, misrouted;
	atomic_ulong late;			/* jobs that failed after the call had returned 0 */
	atomic_ulong compared, wrong;		/* numbers of results */
	atomic_bool *stop;
};

/* The sums over all threads. */
struct totals {
	unsigned long sent, failed, misrouted, compared, wrong;
	unsigned long served[RT_MAX_SERVERS][RT_NUM_OPS];
	unsigned long by[RT_MAX_SERVERS];
	unsigned long lost;	/* calls that failed, or were sent and not served */
};

/* worker.c */
int worker_prepare(struct worker *w, struct places *places, atomic_bool *stop);
void *worker_run(void *w);
void worker_free(struct worker *w);
void totals_read(struct totals *t, struct worker *workers);

/* alone.c */
int report_alone(struct places *places, unsigned int ms);

/* report.c */
double now(void);
void heading(const char *format, ...) __attribute__((format(printf, 1, 2)));
int report_route(const char *before, const struct place *y, const struct place *x);
int report_routes(struct places *places);
void report_begin(unsigned int cards);
void report_line(unsigned int cards, const struct totals *t, double seconds);
void report_served(struct places *places, const struct totals *t);
void report_summary(const struct totals *t);

#endif /* _OPENCL_DEMO_H */
