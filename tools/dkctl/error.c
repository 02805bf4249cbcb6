// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Prints error messages: one sentence on stderr that names the wrong word. */
#include "dkctl.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* @line: of the file that @word names, or 0 */
static void json_error(struct request *q, const char *message, const char *word,
		       unsigned long line, const char *suggestion)
{
	struct json j;

	json_begin(&j, stdout, q);
	json_object(&j, "error");
	json_string(&j, "message", message);
	if (word)
		json_string(&j, "word", word);
	if (line)
		json_uint(&j, "line", line);
	if (suggestion)
		json_string(&j, "suggestion", suggestion);
	json_end(&j);
}

/* Wraps the message at a terminal; other readers get one line. */
static void put_sentence(const char *message, const char *suggestion)
{
	char text[2048];

	snprintf(text, sizeof(text), "%s%s%s%s", message,
		 suggestion ? "; did you mean \"" : "", suggestion ? suggestion : "",
		 suggestion ? "\"?" : "");
	if (isatty(STDERR_FILENO) && wrap_words(stderr, line_width(stderr), "dkctl: ", text))
		return;
	fputs("dkctl: ", stderr);
	print_escaped(stderr, text, strlen(text));
	fputc('\n', stderr);
}

static void put_error(struct request *q, const char *word, unsigned long line,
		      const char *suggestion, const char *format, va_list ap)
{
	char message[1024];

	vsnprintf(message, sizeof(message), format, ap);
	if (q->options & OPTION_JSON)
		json_error(q, message, word, line, suggestion);
	/* keep the order of stdout and stderr */
	flush_output();
	put_sentence(message, suggestion);
}

int fail(struct request *q, int status, const char *word, const char *suggestion,
	 const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	put_error(q, word, 0, suggestion, format, ap);
	va_end(ap);
	return status;
}

int fail_at(struct request *q, const char *file, unsigned long line, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	put_error(q, file, line, NULL, format, ap);
	va_end(ap);
	return STATUS_BAD_INPUT;
}

void print_notice(const char *format, ...)
{
	char message[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(message, sizeof(message), format, ap);
	va_end(ap);
	flush_output();
	put_sentence(message, NULL);
}

int fail_memory(struct request *q)
{
	return fail(q, STATUS_SYSTEM, NULL, NULL, "out of memory");
}

/* " -l NAME" if the suggested command needs it. */
static const char *layout_words(const struct request *q, char *buf, size_t size)
{
	buf[0] = '\0';
	if (q->layout_name)
		snprintf(buf, size, " -l %s", q->layout_name);
	return buf;
}

/*
 * Refuses the name of a key that only other layouts have. If the key has another name in this
 * layout, suggests that name. Returns STATUS_OK if no layout has a key with the refused name.
 */
static int fail_foreign_key(struct request *q, const char *name)
{
	const struct dk_layout *l = NULL;
	struct dk_translation t;
	struct dk_note n = { .size = sizeof(n) };
	const char *other = NULL;
	unsigned int key;

	while ((other = dk_layout_next(other))) {
		l = dk_layout_find(other, NULL);
		if (l && !dk_key_parse(l, name, 0, &key, NULL))
			break;
	}
	if (!other)
		return STATUS_OK;
	dk_translate(&t, l, q->layout, dk_key_set(l, key));
	while (dk_translation_next(&t, &n) > 0 && !(n.kind & DK_NOTE_RENAMED))
		;
	return fail(q, STATUS_BAD_INPUT, name, n.kind & DK_NOTE_RENAMED ? n.other : NULL,
		    "layout %s has no dispatch key \"%.127s\", but layout %s has",
		    dk_layout_name(q->layout), name, other);
}

int fail_key(struct request *q, const char *name)
{
	struct suggestion s;
	struct dk_keyset ks;
	char words[160];
	int status;

	if (!dk_keyset_parse(q->layout, name, &ks, NULL))
		return fail(q, STATUS_BAD_INPUT, name, NULL,
			    "\"%.127s\" is a keyset, not a dispatch key: use \"dkctl keyset%s '%.127s'\"",
			    name, layout_words(q, words, sizeof(words)), name);
	status = fail_foreign_key(q, name);
	if (status)
		return status;
	suggest_begin(&s, name);
	suggest_keys(&s, q->layout, true);
	if (suggest_end(&s))
		return fail(q, STATUS_BAD_INPUT, name, suggest_end(&s),
			    "layout %s has no dispatch key \"%.127s\"",
			    dk_layout_name(q->layout), name);
	return fail(q, STATUS_BAD_INPUT, name, NULL,
		    "layout %s has no dispatch key \"%.127s\": \"dkctl key%s\" lists the keys",
		    dk_layout_name(q->layout), name, layout_words(q, words, sizeof(words)));
}

static bool is_too_large(const char *number)
{
	char *end;

	if (!isdigit((unsigned char)*number))
		return false;
	errno = 0;
	strtoull(number, &end, 0);
	return errno == ERANGE && !*end;
}

int fail_keyset(struct request *q, const char *word)
{
	struct suggestion s;
	struct dk_keyset ks;
	char words[160];
	unsigned int key;
	int status;

	if (!dk_key_parse(q->layout, word, 0, &key, NULL) &&
	    dk_key_kind(q->layout, key) == DK_KIND_ALIAS)
		return fail(q, STATUS_BAD_INPUT, word, NULL,
			    "\"%.127s\" is an alias key, which has no bits: \"dkctl alias%s %.127s\" lists its runtime keys",
			    word, layout_words(q, words, sizeof(words)), word);
	if (is_too_large(word))
		return fail(q, STATUS_BAD_INPUT, word, NULL,
			    "\"%.127s\" is larger than 64 bits, the size of a keyset", word);
	if (!dk_keyset_parse(q->layout, word, &ks, NULL))
		return fail(q, STATUS_BAD_INPUT, word, NULL,
			    "a | or , is missing before \"%.127s\"", word);
	status = fail_foreign_key(q, word);
	if (status)
		return status;
	suggest_begin(&s, word);
	suggest_set(&s, q->layout);
	return fail(q, STATUS_BAD_INPUT, word, suggest_end(&s),
		    "layout %s has no dispatch key, backend bit or keyset \"%.127s\"",
		    dk_layout_name(q->layout), word);
}

static bool is_release(const char *name)
{
	static const char prefix[] = "pytorch-";
	size_t len = sizeof(prefix) - 1;

	if (!strncmp(name, prefix, len))
		return isdigit((unsigned char)name[len]);
	name += *name == 'v';
	return isdigit((unsigned char)*name) && strchr(name, '.');
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t len = strlen(name), n = strlen(suffix);

	return len >= n && !strcmp(name + len - n, suffix);
}

/* Refuses a name with TRIMMED, and lists the names that exist. */
static int fail_trimmed(struct request *q, const char *name)
{
	const char *next = NULL, *separator = "";
	char list[512], trimmed[DK_NAME_MAX + 16];
	size_t n = 0;

	list[0] = '\0';
	while ((next = dk_layout_next(next))) {
		snprintf(trimmed, sizeof(trimmed), "%s" TRIMMED, next);
		if (!dk_layout_find(trimmed, NULL) || n >= sizeof(list))
			continue;
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", separator, trimmed);
		separator = ", ";
	}
	return fail(q, STATUS_BAD_INPUT, name, NULL,
		    "unknown layout \"%.127s\": the layouts with a trimmed table are %s", name,
		    list);
}

int fail_layout(struct request *q, const char *name)
{
	struct suggestion s;

	if (has_suffix(name, TRIMMED))
		return fail_trimmed(q, name);
	suggest_begin(&s, name);
	suggest_layouts(&s);
	return fail(q, STATUS_BAD_INPUT, name, suggest_end(&s),
		    "unknown layout \"%.127s\": %suse a file, or a layout that "
		    "\"dkctl layout\" lists", name,
		    is_release(name) ? "the keys of this release are not known; " : "");
}

/* Commands of transcripts, and the subcommands that do the same. */
static const char *const others[][2] = {
	{ "parse", "key" }, { "set", "keyset" }, { "translate", "keyset --to" },
};

bool is_state(const char *word)
{
	size_t len = strlen(word);

	/* "o" begins both words */
	return len > 1 && (!strncmp("online", word, len) || !strncmp("offline", word, len));
}

/* Returns what to type instead of "set NAME STATE" or "STATE NAME", or NULL. */
static const char *set_command(char *const *words, char *buf, size_t size)
{
	const char *name = words[1], *state = NULL;

	if (!name)
		return NULL;
	if (!strcmp(words[0], "set"))
		state = words[2];
	else if (!words[2])
		state = words[0];
	if (!state || !is_state(state))
		return NULL;
	snprintf(buf, size, "device set %.127s %s", name, state);
	return buf;
}

int fail_subcommand(struct request *q, char *const *words)
{
	const char *name = words[0];
	const struct subcommand *s;
	struct suggestion near;
	char list[256];
	size_t n = 0, i;

	if (set_command(words, list, sizeof(list)))
		return fail(q, STATUS_BAD_INPUT, name, list, "unknown subcommand \"%.127s\"", name);
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		if (!strcmp(name, others[i][0]))
			return fail(q, STATUS_BAD_INPUT, name, others[i][1],
				    "unknown subcommand \"%.127s\"", name);
	}
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
			    "ambiguous subcommand \"%.127s\": use one of %s", name, list);
	if (suggest_end(&near))
		return fail(q, STATUS_BAD_INPUT, name, suggest_end(&near),
			    "unknown subcommand \"%.127s\"", name);
	return fail(q, STATUS_BAD_INPUT, name, NULL,
		    "unknown subcommand \"%.127s\": \"dkctl help\" lists them", name);
}
