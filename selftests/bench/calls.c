// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long calls take, and how many instructions: calls [-c] [-r REPEATS]
 * [-s SEED] REGISTRATIONS
 *
 * Prints "ns NAME SAMPLE..." for every contender, the samples of a round in the
 * same place. The contenders of a round come in random order. With -c, for
 * callgrind, each makes CALLS calls and then twice as many, and callgrind has the
 * two counts by the name and 1 or 2. The operators are named as random ones of
 * the file, a line of which begins with a name.
 */
#include "bench.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if __has_include("valgrind/callgrind.h")
#include <valgrind/callgrind.h>
#endif

#define CALLS		64	/* to be counted; a multiple of all batches */
#define WARM		(16 * CALLS)
#define SAMPLE		0.002	/* seconds */
#define MOST		128	/* contenders */
#define REPEATS		101

struct one {
	const struct bench_contender *c;
	unsigned long calls;
	double *ns;
};

static struct one all[MOST];
static unsigned int num;
static unsigned long seed = 1;

static unsigned long random_number(void)
{
	seed = seed * 6364136223846793005UL + 1442695040888963407UL;
	return seed >> 33;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Names of operators, at random. */
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
		/* each is as likely as any to be among those that are kept */
		at = n < BENCH_NAMES ? n : random_number() % (n + 1);
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

static void measure(int repeats)
{
	unsigned int i, other;
	struct one swap;
	int r;

	for (i = 0; i < num; i++) {
		all[i].ns = calloc(repeats, sizeof(double));
		all[i].calls = CALLS;
		while (sample(all[i].c, all[i].calls) < SAMPLE)
			all[i].calls *= 2;
	}
	for (r = 0; r < repeats; r++) {
		for (i = num - 1; i; i--) {
			other = random_number() % (i + 1);
			swap = all[i];
			all[i] = all[other];
			all[other] = swap;
		}
		for (i = 0; i < num; i++)
			all[i].ns[r] = sample(all[i].c, all[i].calls) * 1e9 / all[i].calls;
	}
	for (i = 0; i < num; i++) {
		printf("ns\t%s\t", all[i].c->id);
		for (r = 0; r < repeats; r++)
			printf(r ? " %.3f" : "%.3f", all[i].ns[r]);
		printf("\n");
		free(all[i].ns);
	}
}

static void count(void)
{
#ifdef CALLGRIND_ZERO_STATS
	const struct bench_contender *c;
	char what[64];
	unsigned int i;
	int times;

	CALLGRIND_START_INSTRUMENTATION;
	for (i = 0; i < num; i++) {
		c = all[i].c;
		if (c->before)
			c->before();
		c->run(c, c->slow ? CALLS : WARM);
		for (times = 1; times <= 2; times++) {
			snprintf(what, sizeof(what), "%s %d", c->id, times);
			CALLGRIND_ZERO_STATS;
			c->run(c, times * CALLS);
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
	if (optind != argc - 1 || repeats < 1) {
		fprintf(stderr, "usage: %s [-c] [-r REPEATS] [-s SEED] REGISTRATIONS\n", argv[0]);
		return 2;
	}
	names = read_names(argv[optind]);
	take(&bench_dk, names);
	if (&bench_torch)
		take(&bench_torch, names);
	if (counting)
		count();
	else
		measure(repeats);
	return 0;
}
