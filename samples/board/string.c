// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Defines the four libc functions that the dispatcher needs, for a toolchain without a libc. The
 * Makefile keeps the compiler from replacing the loops with calls to the same functions, and
 * compiles this file without -flto.
 */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *to, const void *from, size_t n)
{
	const char *s = from;
	char *d = to;

	while (n--)
		*d++ = *s++;
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	const char *s = from;
	char *d = to;

	if ((uintptr_t)d <= (uintptr_t)s)
		return memcpy(to, from, n);
	while (n--)
		d[n] = s[n];
	return to;
}

void *memset(void *to, int c, size_t n)
{
	char *d = to;

	while (n--)
		*d++ = c;
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}
