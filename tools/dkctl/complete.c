// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * dkctl __complete: prints candidates for the last word of a command line. The shells' files in
 * completion/ read the output. Each line has one candidate and, after a tab, its description. The
 * last lines can be directives: ":files" if file names are candidates, ":nospace" if the word is a
 * set of keys that can be continued. Subcommands, words and options are taken from the tables that
 * the help prints.
 */
#include "complete.h"
#include "usage.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- candidates ------------------------------------------------------------------ */

/* False if @s has bytes that could end a line in a shell, or control a terminal. */
static bool is_printable(const char *s)
{
	while (*s >= 0x20 && *s < 0x7f)
		s++;
	return !*s;
}

static void put_description(const char *what)
{
	const char *s;

	putchar('\t');
	for (s = what; *s; s++)
		putchar(*s >= 0x20 && *s < 0x7f ? *s : *s == '\n' ? ' ' : '?');
}

void candidate(struct completion *c, const char *value, const char *what)
{
	if (!*value || strncmp(value, typed(c), strlen(typed(c))) != 0 || !is_printable(value) ||
	    (*value == ':' && !c->done))
		return;
	fwrite(c->word, 1, c->done, stdout);
	fputs(value, stdout);
	if (what && *what)
		put_description(what);
	putchar('\n');
	c->found = true;
}

void candidate_format(struct completion *c, const char *value, const char *format, ...)
{
	char what[256];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	candidate(c, value, what);
}

/* Prints a candidate with a description: the first sentence of the help, without details. */
static void term_candidate(struct completion *c, const char *value, const struct term *t)
{
	const char *what = t ? t->what : "", *s = what;
	char first[256];

	while (*s && !(strchr(".:;", *s) && (s[1] == ' ' || s[1] == '\n')))
		s++;
	snprintf(first, sizeof(first), "%.*s", (int)(s - what), what);
	candidate(c, value, first);
}

/* ---- names ----------------------------------------------------------------------- */

static void put_layouts(struct completion *c)
{
	bool trimmed = strchr(typed(c), '+');
	const struct dk_layout *l;
	const char *next = NULL;
	char name[DK_NAME_MAX + 16];

	while ((next = dk_layout_next(next))) {
		snprintf(name, sizeof(name), "%s%s", next, trimmed ? TRIMMED : "");
		/* few layouts have a variant with a trimmed table */
		l = dk_layout_find(name, NULL);
		if (l)
			candidate_format(c, name,
					 "%u backends, %u functionalities, %u table entries",
					 dk_layout_backends(l), dk_layout_functionalities(l),
					 dk_table_size(l));
	}
	c->wants_file |= !c->found;
}

/* Prints the runtime keys and building blocks, or the alias keys. */
static void put_keys(struct completion *c, bool aliases)
{
	unsigned int key, n = dk_layout_keys(c->layout);
	char name[DK_NAME_MAX], what[400];

	for (key = 0; key < n; key++) {
		if (!is_key(c->layout, key) ||
		    (dk_key_kind(c->layout, key) == DK_KIND_ALIAS) != aliases)
			continue;
		key_class(c->layout, key, what, sizeof(what));
		candidate(c, dk_key_name(c->layout, key, name), what);
		if (key_c_name(c->layout, key) && !strncmp(typed(c), "DK_", 3))
			candidate(c, key_c_name(c->layout, key), what);
	}
}

static bool is_live(const struct completion *c)
{
	return c->subcommand->options & OPTION_STATISTICS;
}

static void put_all_keys(struct completion *c)
{
	put_keys(c, false);
	put_keys(c, true);
	if (is_live(c))
		live_key_candidates(c);
}

/* Completes the last key of a set, in which "|" or "," separates the keys. */
static void put_set(struct completion *c)
{
	size_t i, n = strlen(c->word);
	unsigned int b, key;

	for (i = c->done; i < n; i++) {
		if (c->word[i] == '|' || c->word[i] == ',')
			c->done = i + 1;
	}
	put_keys(c, false);
	for (b = 1; b <= dk_layout_backends(c->layout); b++) {
		/* omit the bits that have the name of a key, such as MAIA */
		if (dk_key_parse(c->layout, dk_backend_bit_name(c->layout, b), 0, &key, NULL))
			candidate(c, dk_backend_bit_name(c->layout, b), "backend bit");
	}
	if (is_live(c))
		live_key_candidates(c);
	c->goes_on = c->done > 0;
}

/* Completes a device, a set, or SET@DEVICE. Names of backends are offered as names of keys. */
static void put_argument(struct completion *c)
{
	const char *at = strchr(c->word, '@');

	if (at) {
		c->done = (size_t)(at - c->word) + 1;
		live_candidates(c, "device");
		return;
	}
	live_candidates(c, "device");
	put_set(c);
}

static void put_subcommands(struct completion *c)
{
	const struct subcommand *s;

	for (s = subcommands; s->name; s++)
		candidate(c, s->name, s->summary);
}

/* Prints all names of the kind @of, such as "device". Returns false for an unknown kind. */
static bool put_names(struct completion *c, const char *of, size_t len)
{
	static const char *const live[] = {
		"backend", "device", "op", "provider", "limits", "release"
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(live); i++) {
		if (!is_word(of, len, live[i]))
			continue;
		live_candidates(c, live[i]);
		return true;
	}
	if (is_word(of, len, "layout"))
		put_layouts(c);
	else if (is_word(of, len, "alias"))
		put_keys(c, true);
	else if (is_word(of, len, "key"))
		put_all_keys(c);
	else
		return false;
	return true;
}

/* Prints candidates for a placeholder of a usage; none for TEXT, which can be any text. */
static void put_values(struct completion *c, const struct usage_word *w)
{
	const char *name = c->subcommand->name;

	if (is_word(w->text, w->len, "FILE"))
		c->wants_file |= !c->found;
	else if (is_word(w->text, w->len, "SUBCOMMAND"))
		put_subcommands(c);
	else if (is_word(w->text, w->len, "OP"))
		put_names(c, "op", 2);
	else if (is_word(w->text, w->len, "KEY"))
		put_all_keys(c);
	else if (is_word(w->text, w->len, "SET"))
		put_set(c);
	else if (is_word(w->text, w->len, "ARG"))
		put_argument(c);
	else if (is_word(w->text, w->len, "NAME") &&
		 !(w->after && put_names(c, w->after, w->after_len)))
		put_names(c, name, strlen(name));
}

/* ---- options --------------------------------------------------------------------- */

/* True if @name is one of the words of a term, such as "--layout" of "-l, --layout NAME". */
static bool has_name(const struct term *t, const char *name)
{
	size_t len = strlen(name);
	const char *s;

	for (s = strstr(t->name, name); s; s = strstr(s + 1, name)) {
		if ((s == t->name || s[-1] == ' ') && strchr(" ,[=", s[len]))
			return true;
	}
	return false;
}

static const struct term *find_term(const struct term *t, const char *name)
{
	while (t && t->name && !has_name(t, name))
		t++;
	return t && t->name ? t : NULL;
}

static const struct term *option_term(const struct completion *c, const char *name)
{
	const struct term *const tables[] = {
		c->subcommand ? c->subcommand->terms : NULL, layout_option_terms,
		global_option_terms, live_option_terms,
	};
	const struct term *t = NULL;
	size_t i;

	for (i = 0; !t && i < ARRAY_SIZE(tables); i++)
		t = find_term(tables[i], name);
	return t;
}

static void put_options(struct completion *c, unsigned int given)
{
	unsigned int accepted = OPTIONS_GLOBAL | (c->subcommand ? c->subcommand->options :
						  OPTION_LAYOUT | OPTIONS_LIVE);
	const struct option_name *o;
	const struct term *t;
	char name[32];

	for (o = options; o->name; o++) {
		if (!(o->option & accepted) || (o->option & given) == o->option)
			continue;
		snprintf(name, sizeof(name), "--%s", o->name);
		t = option_term(c, name);
		if (t && strchr(t->name, '['))
			strcat(name, "=");
		term_candidate(c, name, t);
	}
}

static void put_option_values(struct completion *c, unsigned int option)
{
	const struct term *t;

	if (option & (OPTION_LAYOUT | OPTION_TO))
		put_layouts(c);
	else if (option == OPTION_SVG)
		c->wants_file = true;
	else if (option == OPTION_COLOR)
		for (t = color_terms; t->name; t++)
			candidate(c, t->name, t->what);
}

/* Completes a value that is joined to a short option: "-lNAME", "-jc=WHEN". */
static bool put_joined_values(struct completion *c)
{
	const struct option_name *o;
	const char *s;

	for (s = c->word + 1; (o = *s ? find_letter(*s) : NULL); s++) {
		if (o->option != OPTION_LAYOUT && !(o->option == OPTION_COLOR && s[1] == '='))
			continue;
		c->done = (size_t)(s - c->word) + (o->option == OPTION_LAYOUT ? 1 : 2);
		put_option_values(c, o->option);
		return true;
	}
	return false;
}

/* Completes a word that begins with "-". */
static void complete_option(struct completion *c, unsigned int given)
{
	const char *equals = strchr(c->word, '=');
	const struct option_name *o;

	if (c->word[1] != '-' && put_joined_values(c))
		return;
	if (!equals || c->word[1] != '-') {
		put_options(c, given);
		return;
	}
	o = find_option(c->word + 2, (size_t)(equals - c->word) - 2);
	c->done = (size_t)(equals - c->word) + 1;
	if (o)
		put_option_values(c, o->option);
}

/* ---- the last word --------------------------------------------------------------- */

/* Lists words that the help explains only in its text, and not in a list of terms. */
static const struct term plain_words[] = {
	{ "show", "list them (default)", NULL },
	{ "set", "take one offline or online", NULL },
	{ "backend", "of this backend", NULL },
	{ "device", "for calls on this device", NULL },
	{ }
};

/* Finds the term that explains a word, such as "set NAME offline" for "offline". */
static const struct term *word_term(const struct subcommand *s, const char *word)
{
	const struct term *t;
	const char *rest;

	for (t = find_term(s->terms, word); t; t = find_term(t + 1, word)) {
		/*
		 * only placeholders may follow the word: "set NAME offline" explains "offline",
		 * not "set"
		 */
		rest = strstr(t->name, word) + strlen(word);
		if (*rest == ',' || !strpbrk(rest, "abcdefghijklmnopqrstuvwxyz"))
			return t;
	}
	return find_term(plain_words, word);
}

static void offer(void *ctx, const struct usage_word *w)
{
	struct completion *c = ctx;
	size_t done = c->done;
	char word[32];

	if (is_placeholder(w)) {
		put_values(c, w);
	} else {
		snprintf(word, sizeof(word), "%.*s", (int)w->len, w->text);
		term_candidate(c, word, word_term(c->subcommand, word));
	}
	c->done = done;
}

static void complete_word(struct completion *c, char **words, const struct reader *r)
{
	if (r->wants)
		put_option_values(c, r->wants);
	else if (*c->word == '-' && !r->is_over)
		complete_option(c, r->q->options);
	else if (!*words)
		put_subcommands(c);
	else if (c->subcommand)
		usage_next(c->subcommand, words + 1, offer, c);
}

int run_complete(char **words)
{
	struct request q = { .options = 0 }, opened = { .options = 0 };
	struct completion c = { .word = "" };
	struct reader r = { .q = &q };
	int n = 0, status = STATUS_OK;

	if (*words && !strcmp(*words, "--"))
		words++;
	while (words[n])
		n++;
	if (!n)
		return fail(&q, STATUS_BAD_INPUT, NULL, NULL,
			    "%s needs the words after dkctl: use \"dkctl %s -- WORD...\"",
			    COMPLETE, COMPLETE);
	c.word = words[n - 1];
	words[n - 1] = NULL;
	read_options(&r, words - 1);
	c.subcommand = *words ? find_subcommand(*words) : NULL;
	c.layout = open_layout(&opened, q.layout_name ? q.layout_name : DK_LAYOUT_NAME, &status);
	if (!c.layout)
		return status;
	complete_word(&c, words, &r);
	if (c.wants_file)
		puts(":files");
	if (c.goes_on)
		puts(":nospace");
	while (opened.num_opened)
		dk_layout_free(opened.opened[--opened.num_opened]);
	return STATUS_OK;
}
