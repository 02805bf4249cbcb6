// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Writes JSON, compact or indented. Bytes that are not UTF-8 become U+FFFD. */
#include "dkctl.h"

#include <string.h>

static void new_line(struct json *j)
{
	int i;

	if (!j->pretty)
		return;
	fputc('\n', j->f);
	for (i = 0; i < j->depth; i++)
		fputs("  ", j->f);
}

static void text(struct json *j, const char *s, size_t len)
{
	size_t n;

	fputc('"', j->f);
	for (; len; s += n, len -= n) {
		n = utf8_len((const unsigned char *)s, len);
		if (!n) {
			fputs("\\ufffd", j->f);
			n = 1;
		} else if (*s == '"' || *s == '\\') {
			fprintf(j->f, "\\%c", *s);
		} else if (*s == '\n') {
			fputs("\\n", j->f);
		} else if ((unsigned char)*s < 0x20 || *s == 0x7f) {
			fprintf(j->f, "\\u%04x", (unsigned char)*s);
		} else if (is_utf8_control(s, n)) {
			/* the second byte is the number of the character */
			fprintf(j->f, "\\u%04x", (unsigned char)s[1]);
		} else {
			fwrite(s, 1, n, j->f);
		}
	}
	fputc('"', j->f);
}

/* Prints the comma, new line and name before a value. Inside an array there is no name. */
static void member(struct json *j, const char *name)
{
	if (j->inside)
		fputc(',', j->f);
	if (j->depth)
		new_line(j);
	j->inside = true;
	if (!name)
		return;
	text(j, name, strlen(name));
	fputs(j->pretty ? ": " : ":", j->f);
}

static void open(struct json *j, const char *name, char opening, char closing)
{
	member(j, name);
	fputc(opening, j->f);
	j->closing[j->depth++] = closing;
	j->inside = false;
}

void json_object(struct json *j, const char *name)
{
	open(j, name, '{', '}');
}

void json_array(struct json *j, const char *name)
{
	open(j, name, '[', ']');
}

void json_close(struct json *j)
{
	bool empty = !j->inside;

	j->depth--;
	if (!empty)
		new_line(j);
	fputc(j->closing[j->depth], j->f);
	j->inside = true;
}

void json_begin(struct json *j, FILE *f, const struct request *q)
{
	memset(j, 0, sizeof(*j));
	j->f = f;
	j->pretty = q->options & OPTION_PRETTY;
	json_object(j, NULL);
	json_uint(j, "schema", JSON_SCHEMA);
}

void json_end(struct json *j)
{
	while (j->depth)
		json_close(j);
	fputc('\n', j->f);
}

void json_string_len(struct json *j, const char *name, const char *s, size_t len)
{
	member(j, name);
	text(j, s, len);
}

void json_string(struct json *j, const char *name, const char *s)
{
	json_string_len(j, name, s, strlen(s));
}

void json_uint(struct json *j, const char *name, unsigned long long n)
{
	member(j, name);
	fprintf(j->f, "%llu", n);
}

/* Writes the number as a string, because most JSON readers support only 53 bits. */
void json_hex(struct json *j, const char *name, unsigned long long n)
{
	member(j, name);
	fprintf(j->f, "\"0x%llx\"", n);
}

void json_bool(struct json *j, const char *name, bool b)
{
	member(j, name);
	fputs(b ? "true" : "false", j->f);
}

void json_null(struct json *j, const char *name)
{
	member(j, name);
	fputs("null", j->f);
}
