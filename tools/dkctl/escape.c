// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Escapes every byte that is not printable ASCII, so that input cannot control a terminal. */
#include "dkctl.h"

#include <stdlib.h>

static void put_byte(FILE *f, char c)
{
	if (c >= 0x20 && c < 0x7f)
		fputc(c, f);
	else
		fprintf(f, "\\x%02x", (unsigned char)c);
}

void print_escaped(FILE *f, const char *s, size_t len)
{
	const char *end = s + len;

	for (; s < end; s++) {
		if (*s == '\t')
			fputc(*s, f);
		else
			put_byte(f, *s);
	}
}

char *escape_text(const char *s)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	for (; *s; s++)
		put_byte(f, *s);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
