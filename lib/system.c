// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Allocates memory, reads the clock, waits and writes messages, with the C library. */

#include "private.h"
#include "core/base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

/* Reports a call for which a provider waits. The wait may never end, for example in dlclose(). */
void dkc_notice_wait(const char *prov, const char *call)
{
	int cancel;

	dkc_cancel_off(&cancel);
	fprintf(stderr, "dispatchkey: %s waits for a call: %s\n", prov, call);
	dkc_cancel_on(cancel);
}

/* May run in a signal handler, so it does not use stdio, and keeps errno. */
void dkc_write_stderr(const char *text, size_t len)
{
	int cancel, err = errno;

	/* a cancelled thread would keep the locks that it holds */
	dkc_cancel_off(&cancel);
	while (len && write(STDERR_FILENO, text, len) < 0 && errno == EINTR)
		;
	dkc_cancel_on(cancel);
	errno = err;
}

void dkc_misuse(const char *op, const char *text)
{
	char line[256];
	struct dkc_text t = { line, sizeof(line), 0 };

	dkc_put(&t, "dispatchkey: ");
	dkc_put(&t, op);
	dkc_put(&t, text);
	dkc_put(&t, "\n");
	dkc_put_end(&t);
	dkc_write_stderr(line, strlen(line));
}

/* Polls. The wait ends when a function of the user returns, which may take any time. */
void dkc_wait_zero(const __u32 *p)
{
	const struct timespec pause = { 0, 100000 };

	/* pairs with smp_store_release() in dkc_clear_and_wake() */
	while (smp_load_acquire(p))
		nanosleep(&pause, NULL);
}
