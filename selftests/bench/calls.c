// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures times and instructions of calls: calls [-c] [-r REPEATS] [-s SEED] REGISTRATIONS
 *
 * Prints "ns NAME SAMPLE..." for every contender; the samples of one round are in the same
 * column. Prints "ns NAME*THREADS SAMPLE..." for several threads that make the same calls at
 * once, in CPU time of each thread. The contenders of a round run in random order. With -c,
 * for callgrind, each makes N calls and then 2N calls; the two dumps are labelled "NAME 1 N"
 * and "NAME 2 N". The names of the operators are chosen at random from the file REGISTRATIONS,
 * where each line begins with a name.
 */
#include "bench.h"
#include "measure.h"

#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __has_include("valgrind/callgrind.h")
#include <valgrind/callgrind.h>
#endif

#define CALLS		64	/* a multiple of the number of calls in any batch */
#define FEW		8
#define SAMPLE		0.002	/* seconds */
#define MOST		128	/* contenders */
#define REPEATS		101
#define THREADS		64	/* at most */

struct one {
	const struct bench_contender *c;
	unsigned long calls;
	double ns[REPEATS];
};

static struct one all[MOST];
static unsigned int num;
static unsigned long seed = 1;

/* CPU time, so that other load on the machine does not matter. */
static double now(void)
{
	return bench_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* Reads the file, and chooses names of operators at random. */
static char **read_names(const char *file)
{
	static char *names[BENCH_NAMES];
	char *line = NULL;
	size_t room = 0;
	unsigned long n = 0, at;
	FILE *f = fopen(file, "r");

	if (!f)
		err(1, "%s", file);
	while (getline(&line, &room, f) > 0) {
		strtok(line, "\n ");
		/* each line of the file is kept with the same probability */
		at = n < BENCH_NAMES ? n : bench_random(&seed) % (n + 1);
		if (at < BENCH_NAMES) {
			free(names[at]);
			names[at] = strdup(line);
		}
		n++;
	}
	free(line);
	fclose(f);
	if (n < BENCH_NAMES)
		errx(1, "%s has too few names", file);
	return names;
}

static void take(const struct bench_side *side, char **names)
{
	unsigned int i;

	if (side->set_up(names) || num + side->num > MOST)
		errx(1, "nothing can be measured");
	for (i = 0; i < side->num; i++)
		all[num++].c = &side->contenders[i];
}

static double sample(const struct bench_contender *c, unsigned long calls)
{
	double from, to;

	if (c->before)
		c->before();
	from = now();
	c->run(c, calls);
	to = now();
	if (c->after)
		c->after();
	return to - from;
}

static void print(const double *samples, int n)
{
	int i;

	for (i = 0; i < n; i++)
		printf(i ? " %.3f" : "%.3f", samples[i]);
	printf("\n");
}

static void measure(int repeats)
{
	unsigned int i, other;
	static struct one *order[MOST], *swap;
	int r;

	for (i = 0; i < num; i++) {
		order[i] = &all[i];
		all[i].calls = all[i].c->slow ? FEW : CALLS;
		while (sample(all[i].c, all[i].calls) < SAMPLE)
			all[i].calls *= 2;
	}
	for (r = 0; r < repeats; r++) {
		for (i = num - 1; i; i--) {
			other = bench_random(&seed) % (i + 1);
			swap = order[i];
			order[i] = order[other];
			order[other] = swap;
		}
		for (i = 0; i < num; i++)
			order[i]->ns[r] = sample(order[i]->c, order[i]->calls) * 1e9 /
					  order[i]->calls;
	}
	for (i = 0; i < num; i++) {
		printf("ns\t%s\t", all[i].c->id);
		print(all[i].ns, repeats);
	}
}

/* ---- threads ------------------------------------------------------------------- */

struct worker {
	const struct one *one;
	pthread_barrier_t *together;
	pthread_t thread;
	double ns;
};

static void *work(void *arg)
{
	struct worker *w = arg;

	/* the first calls of a thread allocate its record, and are not timed */
	w->one->c->run(w->one->c, CALLS);
	pthread_barrier_wait(w->together);
	w->ns = sample(w->one->c, w->one->calls) * 1e9 / w->one->calls;
	return NULL;
}

/* Returns the mean over all threads. */
static double sample_threads(const struct one *one, unsigned int threads)
{
	struct worker workers[THREADS];
	pthread_barrier_t together;
	unsigned int i;
	double sum = 0;

	pthread_barrier_init(&together, NULL, threads);
	for (i = 0; i < threads; i++) {
		workers[i] = (struct worker){ .one = one, .together = &together };
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			errx(1, "no thread");
	}
	for (i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		sum += workers[i].ns;
	}
	pthread_barrier_destroy(&together);
	return sum / threads;
}

/* Measures one thread, and as many threads as there are CPUs, alternately. */
static void measure_threads(const struct one *one, int repeats)
{
	static double alone[REPEATS], crowded[REPEATS];
	long threads = sysconf(_SC_NPROCESSORS_ONLN);
	int r;

	if (threads > THREADS)
		threads = THREADS;
	if (threads < 2)
		return;
	for (r = 0; r < repeats; r++) {
		alone[r] = sample_threads(one, 1);
		crowded[r] = sample_threads(one, threads);
	}
	printf("ns\t%s*1\t", one->c->id);
	print(alone, repeats);
	printf("ns\t%s*%ld\t", one->c->id, threads);
	print(crowded, repeats);
}

static void count(void)
{
#ifdef CALLGRIND_ZERO_STATS
	const struct bench_contender *c;
	char what[64];
	unsigned long calls;
	unsigned int i;
	int times;

	CALLGRIND_START_INSTRUMENTATION;
	for (i = 0; i < num; i++) {
		c = all[i].c;
		if (c->before)
			c->before();
		calls = c->slow ? FEW : CALLS;
		c->run(c, calls);
		for (times = 1; times <= 2; times++) {
			snprintf(what, sizeof(what), "%s %d %lu", c->id, times, calls);
			CALLGRIND_ZERO_STATS;
			c->run(c, times * calls);
			CALLGRIND_DUMP_STATS_AT(what);
		}
		if (c->after)
			c->after();
	}
	CALLGRIND_STOP_INSTRUMENTATION;
#else
	errx(4, "made without valgrind's headers");
#endif
}

int main(int argc, char **argv)
{
	int opt, counting = 0, repeats = REPEATS;
	unsigned int i;
	char **names;

	while ((opt = getopt(argc, argv, "cr:s:")) != -1) {
		switch (opt) {
		case 'c':
			counting = 1;
			break;
		case 'r':
			repeats = atoi(optarg);
			break;
		case 's':
			seed = strtoul(optarg, NULL, 0);
			break;
		default:
			return 2;
		}
	}
	if (optind != argc - 1 || repeats < 1 || repeats > REPEATS) {
		fprintf(stderr, "usage: %s [-c] [-r REPEATS] [-s SEED] REGISTRATIONS\n", argv[0]);
		return 2;
	}
	names = read_names(argv[optind]);
	take(&bench_dk, names);
	if (&bench_torch)
		take(&bench_torch, names);
	if (counting) {
		count();
		return 0;
	}
	measure(repeats);
	for (i = 0; i < num; i++)
		if (all[i].c->scales)
			measure_threads(&all[i], repeats);
	return 0;
}
