// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fails an allocation of dkctl or of the library. The linker replaces the C library's functions by
 * the functions below. DKCTL_FAIL=N fails the Nth allocation. If there are fewer than N, the exit
 * status is 98.
 */
#include "fail_alloc.h"

#include <errno.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);

static long left = -1;		/* allocations before the one that fails; -1: none fails */
static unsigned int paused;

__attribute__((constructor)) static void begin(void)
{
	const char *n = getenv("DKCTL_FAIL");

	left = n ? atol(n) : -1;
}

__attribute__((destructor)) static void end(void)
{
	if (left > 0)
		_Exit(98);
}

void fail_alloc_pause(void)
{
	paused++;
}

void fail_alloc_resume(void)
{
	paused--;
}

static int fails(void)
{
	if (paused || left <= 0 || --left)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}
