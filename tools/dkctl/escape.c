// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Escapes bytes that are not printable, so that input cannot control a terminal. */
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

size_t utf8_len(const unsigned char *s, size_t len)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 :
		   s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
	size_t i;

	if (n > len)
		return 0;
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* U+0080 to U+009F are control characters. */
bool is_utf8_control(const char *s, size_t n)
{
	return n == 2 && (unsigned char)s[0] == 0xc2 && (unsigned char)s[1] < 0xa0;
}

void print_utf8(FILE *f, const char *s, size_t len)
{
	size_t n;

	for (; len; s += n, len -= n) {
		n = utf8_len((const unsigned char *)s, len);
		if (n > 1 && !is_utf8_control(s, n)) {
			fwrite(s, 1, n, f);
		} else {
			n = 1;
			print_escaped(f, s, n);
		}
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
