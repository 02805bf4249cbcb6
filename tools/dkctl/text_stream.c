// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Collects output in memory, and reports failed allocations. With glibc's open_memstream(), neither
 * ferror() nor fclose() would report that text is missing.
 */
#include "dkctl.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE	4096

/* Returns 0 on failure, as fopencookie() requires. */
static ssize_t append(void *cookie, const char *s, size_t len)
{
	struct text_stream *t = cookie;
	size_t size = t->size ? t->size : FIRST_SIZE;
	char *text;

	while (size - t->len <= len)
		size *= 2;
	if (size > t->size) {
		text = realloc(t->text, size);
		if (!text) {
			t->failed = true;
			return 0;
		}
		t->text = text;
		t->size = size;
	}
	memcpy(t->text + t->len, s, len);
	t->len += len;
	t->text[t->len] = '\0';
	return (ssize_t)len;
}

FILE *text_begin(struct text_stream *t)
{
	memset(t, 0, sizeof(*t));
	return fopencookie(t, "w", (cookie_io_functions_t){ .write = append });
}

bool text_end(struct text_stream *t, FILE *f)
{
	if (fclose(f))
		t->failed = true;
	/* without any output, allocates an empty text */
	if (!t->failed)
		append(t, "", 0);
	if (t->failed) {
		free(t->text);
		t->text = NULL;
	}
	return !t->failed;
}
