// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Errors: one sentence on stderr that names the wrong word. */
#include "dkctl.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put_byte(FILE *f, char c)
{
	if (c >= 0x20 && c < 0x7f)
		fputc(c, f);
	else
		fprintf(f, "\\x%02x", (unsigned char)c);
}

void print_text(FILE *f, const char *s, size_t len)
{
	const char *end = s + len;

	for (; s < end; s++) {
		if (*s == '\t')
			fputc(*s, f);
		else
			put_byte(f, *s);
	}
}

char *plain_text(const char *s)
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

static void json_error(struct request *q, const char *message, const char *word,
		       const char *suggestion)
{
	struct json j;

	json_begin(&j, stdout, q);
	json_object(&j, "error");
	json_string(&j, "message", message);
	if (word)
		json_string(&j, "word", word);
	if (suggestion)
		json_string(&j, "suggestion", suggestion);
	json_end(&j);
}

/* In lines that fit a terminal; a program gets one line. */
static void put_sentence(const char *message, const char *suggestion)
{
	char text[2048];

	snprintf(text, sizeof(text), "%s%s%s%s", message,
		 suggestion ? "; did you mean \"" : "", suggestion ? suggestion : "",
		 suggestion ? "\"?" : "");
	if (isatty(STDERR_FILENO) && wrap_words(stderr, COLUMNS, "dkctl: ", text))
		return;
	fputs("dkctl: ", stderr);
	print_text(stderr, text, strlen(text));
	fputc('\n', stderr);
}

int fail(struct request *q, int status, const char *word, const char *suggestion,
	 const char *format, ...)
{
	char message[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(message, sizeof(message), format, ap);
	va_end(ap);
	if (q->options & OPTION_JSON)
		json_error(q, message, word, suggestion);
	/* what was printed so far comes before it */
	fflush(stdout);
	put_sentence(message, suggestion);
	return status;
}

void remark(const char *format, ...)
{
	char message[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(message, sizeof(message), format, ap);
	va_end(ap);
	fflush(stdout);
	put_sentence(message, NULL);
}

int fail_memory(struct request *q)
{
	return fail(q, STATUS_SYSTEM, NULL, NULL, "out of memory");
}

/* " -l NAME", where another command needs it, too. */
static const char *layout_words(const struct request *q, char *buf, size_t size)
{
	buf[0] = '\0';
	if (q->layout_name)
		snprintf(buf, size, " -l %s", q->layout_name);
	return buf;
}

int fail_key(struct request *q, const char *name)
{
	struct suggestion s;
	struct dk_keyset ks;
	char words[160];

	if (!dk_keyset_parse(q->layout, name, &ks, NULL))
		return fail(q, STATUS_BAD_INPUT, name, NULL,
			    "\"%.127s\" is no dispatch key, and is a set; see: dkctl keyset%s '%.127s'",
			    name, layout_words(q, words, sizeof(words)), name);
	suggest_begin(&s, name);
	suggest_keys(&s, q->layout, true);
	return fail(q, STATUS_BAD_INPUT, name, suggest_end(&s),
		    "\"%.127s\" is no dispatch key of layout %s", name,
		    dk_layout_name(q->layout));
}

int fail_keyset(struct request *q, const char *word)
{
	struct suggestion s;
	char words[160];
	unsigned int key;

	if (!dk_key_parse(q->layout, word, 0, &key, NULL) &&
	    dk_key_kind(q->layout, key) == DK_KIND_ALIAS)
		return fail(q, STATUS_BAD_INPUT, word, NULL,
			    "\"%.127s\" is an alias key and has no bits; see: dkctl alias%s %.127s",
			    word, layout_words(q, words, sizeof(words)), word);
	suggest_begin(&s, word);
	suggest_set(&s, q->layout);
	return fail(q, STATUS_BAD_INPUT, word, suggest_end(&s),
		    "\"%.127s\" is no dispatch key, backend bit or keyset of layout %s",
		    word, dk_layout_name(q->layout));
}

int fail_layout(struct request *q, const char *name)
{
	const struct dk_layout *l = NULL;
	struct suggestion s;
	char list[256];
	size_t n = 0;

	suggest_begin(&s, name);
	suggest_layouts(&s);
	list[0] = '\0';
	while ((l = dk_layout_next(l)) && n < sizeof(list))
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "",
				      dk_layout_name(l));
	return fail(q, STATUS_BAD_INPUT, name, suggest_end(&s),
		    "\"%.127s\" is no layout and no file with one, the layouts are %s", name, list);
}

int fail_subcommand(struct request *q, const char *name)
{
	const struct subcommand *s;
	struct suggestion near;
	char list[256];
	size_t n = 0;

	list[0] = '\0';
	suggest_begin(&near, name);
	for (s = subcommands; s->name; s++) {
		suggest_try(&near, s->name);
		if (*name && !strncmp(s->name, name, strlen(name)) && n < sizeof(list))
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s",
					      n ? ", " : "", s->name);
	}
	if (n)
		return fail(q, STATUS_BAD_INPUT, name, NULL,
			    "\"%.127s\" may be any of %s", name, list);
	return fail(q, STATUS_BAD_INPUT, name, suggest_end(&near),
		    "\"%.127s\" is no subcommand, \"dkctl help\" lists them", name);
}
