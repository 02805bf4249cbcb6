// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Escapes every byte that is not printable ASCII, so that input cannot control a terminal. */
#include "dkctl.h"

#include <stdlib.h>

static bool is_printable(char c)
{
	return c >= 0x20 && c < 0x7f;
}

static void put_byte(FILE *f, char c)
{
	if (is_printable(c))
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

size_t escaped_len(const char *s)
{
	size_t len = 0;

	for (; *s; s++)
		len += is_printable(*s) ? 1 : 4;
	return len;
}

char *escape_text(const char *s)
{
	size_t size = escaped_len(s) + 1;
	char *text = malloc(size), *to = text;

	if (!text)
		return NULL;
	for (; *s; s++) {
		if (is_printable(*s))
			*to++ = *s;
		else
			to += snprintf(to, size - (size_t)(to - text), "\\x%02x",
				       (unsigned char)*s);
	}
	*to = '\0';
	return text;
}
