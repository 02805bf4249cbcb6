// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Allocates memory, reads the clock and waits, with the C library. */

#include "private.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void *dkc_zalloc(size_t size)
{
	return calloc(1, size);
}

void dkc_free(void *p)
{
	free(p);
}

u64 dkc_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000 + 1;
}

/*
 * Without this message, a wait without a deadline would be a silent hang, above all in dlclose().
 */
void dkc_notice_wait(const char *prov, const char *call)
{
	int cancel;

	dkc_cancel_off(&cancel);
	fprintf(stderr, "dispatchkey: %s waits for a call: %s\n", prov, call);
	dkc_cancel_on(cancel);
}

/* Polls, because the user's function for which this waits may take any time. */
void dkc_wait_zero(const __u32 *p)
{
	const struct timespec pause = { 0, 100000 };

	/* pairs with smp_store_release() in dkc_clear_and_wake() */
	while (smp_load_acquire(p))
		nanosleep(&pause, NULL);
}
