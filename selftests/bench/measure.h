/* SPDX-License-Identifier: GPL-2.0-only */
/* Defines what the measuring programs share: random numbers from a seed, and a clock. */
#ifndef _SELFTESTS_BENCH_MEASURE_H
#define _SELFTESTS_BENCH_MEASURE_H

#include <time.h>

static inline unsigned long bench_random(unsigned long *state)
{
	*state = *state * 6364136223846793005UL + 1442695040888963407UL;
	return *state >> 33;
}

/* Returns the time in seconds. */
static inline double bench_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#endif
