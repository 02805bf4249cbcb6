/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Defines what readers_dk.c and readers_torch.cpp share. A reader calls random operators without a
 * pause. A writer on another CPU registers and unregisters at a given rate. Phases with and without
 * the writer alternate.
 *
 * A registration is an array of one function that is registered and unregistered, which
 * publishes two changes. The reader's throughput is measured in calls per second of its own
 * CPU time, so that other load on the machine does not reduce it.
 */
#ifndef _SELFTESTS_BENCH_READERS_H
#define _SELFTESTS_BENCH_READERS_H

#include "measure.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPERATORS	64	/* operators that are called; the same number is not called */
#define BATCH		256	/* calls between two checks of the quit flag */
#define RATE		11000	/* registrations a second that the writer tries to make */
#define RATE_WANTED	10000
#define REPEATS		21
#define SETTLE		0.02
#define PHASE		0.15

/* The operations of a dispatcher. Operator numbers are below 2 * OPERATORS. */
struct readers_side {
	const char *name;
	int (*set_up)(char *const *names);
	void (*call)(unsigned int op);
	void (*come_and_go)(unsigned int op);
	int while_called;		/* can come_and_go() change an operator that is called? */
};

struct readers_run {
	const struct readers_side *side;
	unsigned int first;		/* the writer changes OPERATORS operators from here on */
	unsigned long seed;
	int writing;
	int quit;
	char before_calls[64];		/* the threads write to different cache lines */
	unsigned long calls;
	char before_registrations[64];
	unsigned long registrations;
};

#define RELAXED_SET(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define RELAXED_GET(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)

static inline void readers_sleep(double seconds)
{
	struct timespec t = { (time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9) };

	nanosleep(&t, NULL);
}

static inline void readers_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static inline void *readers_read(void *arg)
{
	struct readers_run *run = (struct readers_run *)arg;
	unsigned long state = run->seed;
	unsigned int order[BATCH], i;

	readers_pin(0);
	for (i = 0; i < BATCH; i++)
		order[i] = bench_random(&state) % OPERATORS;
	while (!RELAXED_GET(run->quit)) {
		for (i = 0; i < BATCH; i++)
			run->side->call(order[i]);
		RELAXED_SET(run->calls, run->calls + BATCH);
	}
	return NULL;
}

static inline void *readers_write(void *arg)
{
	struct readers_run *run = (struct readers_run *)arg;
	unsigned long state = run->seed + 1;
	double next = 0, now;

	readers_pin(1);
	while (!RELAXED_GET(run->quit)) {
		now = bench_clock(CLOCK_MONOTONIC);
		if (!RELAXED_GET(run->writing) || now < next) {
			readers_sleep(0.0005);
			continue;
		}
		/*
		 * if the writer was delayed, it catches up, but with no more than the registrations
		 * of one phase
		 */
		next = (next < now - PHASE ? now - PHASE : next) + 1.0 / RATE;
		run->side->come_and_go(run->first + bench_random(&state) % OPERATORS);
		RELAXED_SET(run->registrations, run->registrations + 1);
	}
	return NULL;
}

struct readers_phase {
	double rate;		/* calls per second of the reader's CPU time */
	double wall;		/* calls per second of real time */
	double registrations;	/* per second of real time */
};

static inline struct readers_phase readers_measure(struct readers_run *run, clockid_t cpu,
						   int writing)
{
	struct readers_phase p;
	double from, cpu_from;
	unsigned long calls, regs;

	RELAXED_SET(run->writing, writing);
	readers_sleep(SETTLE);
	calls = RELAXED_GET(run->calls);
	regs = RELAXED_GET(run->registrations);
	cpu_from = bench_clock(cpu);
	from = bench_clock(CLOCK_MONOTONIC);
	/*
	 * wait until the reader has had PHASE seconds of CPU time: other processes may use its CPU,
	 * too
	 */
	do
		readers_sleep(PHASE / 10);
	while (bench_clock(cpu) - cpu_from < PHASE);
	calls = RELAXED_GET(run->calls) - calls;
	regs = RELAXED_GET(run->registrations) - regs;
	p.rate = (double)calls / (bench_clock(cpu) - cpu_from);
	from = bench_clock(CLOCK_MONOTONIC) - from;
	p.wall = (double)calls / from;
	p.registrations = (double)regs / from;
	return p;
}

static inline int readers_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Sorts the array, and returns the median. */
static inline double readers_median(double *v)
{
	qsort(v, REPEATS, sizeof(*v), readers_compare);
	return v[REPEATS / 2];
}

/* Prints a line of the result: how much of its throughput the reader keeps, in percent. */
static inline int readers_run(const struct readers_side *side, const char *what,
			      unsigned int first, unsigned long seed)
{
	static double kept[REPEATS], wall[REPEATS], rate[REPEATS], regs[REPEATS];
	struct readers_run *run;
	struct readers_phase with, without;
	pthread_t reader, writer;
	double median;
	clockid_t cpu;
	int i;

	if (posix_memalign((void **)&run, 64, sizeof(*run)))
		return 2;
	memset(run, 0, sizeof(*run));
	run->side = side;
	run->first = first;
	run->seed = seed;
	if (pthread_create(&reader, NULL, readers_read, run) ||
	    pthread_create(&writer, NULL, readers_write, run) ||
	    pthread_getcpuclockid(reader, &cpu))
		return 2;
	for (i = 0; i < REPEATS; i++) {
		/* the order alternates, so that a drift of the machine affects both phases */
		if (i & 1)
			with = readers_measure(run, cpu, 1);
		without = readers_measure(run, cpu, 0);
		if (!(i & 1))
			with = readers_measure(run, cpu, 1);
		kept[i] = 100 * with.rate / without.rate;
		wall[i] = 100 * with.wall / without.wall;
		rate[i] = 1e9 / without.rate;
		regs[i] = with.registrations;
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\r%s: %d of %d ", side->name, i + 1, REPEATS);
	}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	RELAXED_SET(run->quit, 1);
	pthread_join(reader, NULL);
	pthread_join(writer, NULL);
	free(run);
	median = readers_median(kept);
	printf("%-15s %-34s %6.1f %6.1f %6.1f %9.0f %7.1f\n", side->name, what, median, kept[0],
	       readers_median(wall), readers_median(regs), readers_median(rate));
	fflush(stdout);
	/* 2: the rate was not reached, so there is no result */
	return regs[REPEATS / 2] < RATE_WANTED ? 2 : median < 95;
}

/* The arguments are SEED NAME..., with 2 * OPERATORS names. The first half is called. */
static inline int readers_main(const struct readers_side *side, int argc, char **argv)
{
	unsigned long seed;
	int err;

	if (argc != 2 + 2 * OPERATORS) {
		fprintf(stderr, "usage: %s SEED, and the names of %d operators\n", argv[0],
			2 * OPERATORS);
		return 2;
	}
	seed = strtoul(argv[1], NULL, 0);
	err = side->set_up(argv + 2);
	if (err)
		return err;
	err = readers_run(side, "of operators that are not called", OPERATORS, seed);
	return side->while_called ?
		       readers_run(side, "of the operators that are called", 0, seed) : err;
}

#endif
