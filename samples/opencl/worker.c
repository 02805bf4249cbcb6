// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Runs the threads of the demo. A round calls every operator on buffers of one place, and compares
 * each result with the result of the same round on buffers of the CPU. All numbers are small
 * integers, so that results do not depend on the order of additions.
 */
#include <stdlib.h>
#include <string.h>

#include "demo.h"

/* ---- buffers ---------------------------------------------------------------------- */

static int alloc(struct buf *b, struct dk_obj obj, size_t n)
{
	int error;

	b->dk = obj;
	error = rt_alloc(b, n);
	if (!error)
		memset(b->data, 0, n * sizeof(*b->data));
	return error;
}

static void pattern(struct buf *b, unsigned int modulus)
{
	size_t i;

	for (i = 0; i < b->n; i++)
		b->data[i] = i % modulus;
}

static int prepare_set(struct set *s, struct dk_obj obj)
{
	struct buf *vectors[] = { &s->in, &s->filled, &s->y };
	struct buf *matrices[] = { &s->a, &s->b, &s->product };
	int i, error = 0;

	for (i = 0; i < 3 && !error; i++)
		error = alloc(vectors[i], obj, VECTOR);
	for (i = 0; i < 3 && !error; i++)
		error = alloc(matrices[i], obj, ROWS * ROWS);
	for (i = 0; i < NUM_JOBS && !error; i++) {
		error = alloc(&s->job[i], obj, VECTOR);
		if (!error)
			error = alloc(&s->job_in[i], obj, VECTOR);
		if (!error)
			pattern(&s->job_in[i], 13);
	}
	if (error)
		return error;
	pattern(&s->in, 13);
	pattern(&s->a, 5);
	s->ready = true;
	return 0;
}

static void free_set(struct set *s)
{
	struct buf *bufs[] = { &s->in, &s->a, &s->b, &s->filled, &s->y, &s->product };
	unsigned int i;

	for (i = 0; i < sizeof(bufs) / sizeof(*bufs); i++)
		buf_free(bufs[i]);
	for (i = 0; i < NUM_JOBS; i++) {
		buf_free(&s->job[i]);
		buf_free(&s->job_in[i]);
	}
}

/* ---- a round ---------------------------------------------------------------------- */

static void count(atomic_ulong *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/*
 * Checks a call on @place, whose state was @state before the call. The CPU may serve the call only
 * if the device is no longer online when the call has returned. A device that was removed before
 * the call must not serve it.
 */
static bool called(struct worker *w, unsigned int place, int state, int error)
{
	unsigned int by = w->tally.last;
	bool leaving = atomic_load(&w->places->place[place].state) != PLACE_ONLINE;

	count(&w->sent);
	if (error)
		count(&w->failed);
	else if (by != place && !(by == RT_CPU && leaving))
		count(&w->misrouted);
	else if (by == place && place != RT_CPU && state == PLACE_REMOVED)
		count(&w->misrouted);
	return !error;
}

#define CALL(w, place, call) ({							\
	int state_ = atomic_load(&(w)->places->place[place].state);		\
										\
	called(w, place, state_, call);						\
})

static void run_jobs(struct worker *w, unsigned int place, struct set *s, unsigned int seed)
{
	struct job jobs[NUM_JOBS];
	bool queued[NUM_JOBS];
	int i;

	for (i = 0; i < NUM_JOBS; i++)
		CALL(w, place, rt_fill(&s->job[i], i));
	for (i = 0; i < NUM_JOBS; i++) {
		job_init(&jobs[i]);
		queued[i] = CALL(w, place, rt_axpy_async(&s->job[i], seed, &s->job_in[i],
							 &jobs[i]));
	}
	for (i = 0; i < NUM_JOBS; i++) {
		if (queued[i] && job_wait(&jobs[i]))
			count(&w->late);
		job_destroy(&jobs[i]);
	}
}

/* Runs a round on @place. @in may be on any place. */
static void round_on(struct worker *w, unsigned int place, struct set *s, const struct buf *in,
		     unsigned int seed)
{
	CALL(w, place, rt_fill(&s->filled, seed));
	CALL(w, place, rt_copy(&s->y, in));
	CALL(w, place, rt_axpy(&s->y, 2, &s->filled));
	CALL(w, place, rt_sum(&s->y, &s->sum));
	CALL(w, place, rt_fill(&s->b, seed));
	CALL(w, place, rt_matmul(&s->product, &s->a, &s->b, ROWS));
	run_jobs(w, place, s, seed);
}

static void compare(struct worker *w, const struct buf *b, const struct buf *expected)
{
	count(&w->compared);
	if (memcmp(b->data, expected->data, b->n * sizeof(*b->data)))
		count(&w->wrong);
}

static void compare_round(struct worker *w, const struct set *s, const struct set *expected)
{
	int i;

	compare(w, &s->filled, &expected->filled);
	compare(w, &s->y, &expected->y);
	compare(w, &s->product, &expected->product);
	for (i = 0; i < NUM_JOBS; i++)
		compare(w, &s->job[i], &expected->job[i]);
	count(&w->compared);
	if (s->sum != expected->sum)
		count(&w->wrong);
}

/* ---- a thread --------------------------------------------------------------------- */

/*
 * Computes the results of each round on the CPU. Also runs a round on each card, so that
 * its kernels are compiled. These calls are not counted.
 */
int worker_prepare(struct worker *w, struct places *places, atomic_bool *stop)
{
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	unsigned int i;
	struct set *s;

	w->places = places;
	w->stop = stop;
	tally = &w->tally;
	for (i = 0; i < NUM_SEEDS; i++) {
		s = &w->expected[i];
		if (prepare_set(s, cpu))
			return -1;
		round_on(w, RT_CPU, s, &s->in, i);
	}
	for (i = 1; i < atomic_load(&places->n); i++) {
		s = &w->set[i];
		if (prepare_set(s, places->place[i].obj))
			return -1;
		round_on(w, i, s, &s->in, 0);
	}
	if (atomic_load(&w->failed) || atomic_load(&w->late) || atomic_load(&w->misrouted))
		return -1;
	memset(&w->tally, 0, sizeof(w->tally));
	atomic_store(&w->sent, 0);
	return 0;
}

void *worker_run(void *arg)
{
	struct worker *w = arg;
	unsigned int i, place, other, n, seed;

	tally = &w->tally;
	for (i = 0; !atomic_load(w->stop); i++) {
		n = atomic_load(&w->places->n) - 1;	/* cards */
		place = 1 + i % n;
		other = 1 + (i + 1) % n;
		seed = (i / n) % NUM_SEEDS;
		if (!w->set[place].ready &&
		    prepare_set(&w->set[place], w->places->place[place].obj)) {
			count(&w->failed);
			break;
		}
		round_on(w, place, &w->set[place],
			 w->set[other].ready ? &w->set[other].in : &w->expected[0].in, seed);
		compare_round(w, &w->set[place], &w->expected[seed]);
	}
	return NULL;
}

void worker_free(struct worker *w)
{
	int i;

	for (i = 0; i < RT_MAX_SERVERS; i++)
		free_set(&w->set[i]);
	for (i = 0; i < NUM_SEEDS; i++)
		free_set(&w->expected[i]);
}

void totals_read(struct totals *t, struct worker *workers)
{
	unsigned long served = 0, returned = 0;
	int i, by, op;

	memset(t, 0, sizeof(*t));
	for (i = 0; i < NUM_THREADS; i++) {
		struct worker *w = &workers[i];

		t->sent += atomic_load(&w->sent);
		t->failed += atomic_load(&w->failed) + atomic_load(&w->late);
		returned += atomic_load(&w->sent) - atomic_load(&w->failed);
		t->misrouted += atomic_load(&w->misrouted);
		t->compared += atomic_load(&w->compared);
		t->wrong += atomic_load(&w->wrong);
		for (by = 0; by < RT_MAX_SERVERS; by++)
			for (op = 0; op < RT_NUM_OPS; op++)
				t->served[by][op] += atomic_load(&w->tally.served[by][op]);
	}
	for (by = 0; by < RT_MAX_SERVERS; by++) {
		for (op = 0; op < RT_NUM_OPS; op++)
			t->by[by] += t->served[by][op];
		served += t->by[by];
	}
	/* Calls that returned an error are not counted as served. */
	t->lost = t->failed + (returned > served ? returned - served : served - returned);
}
