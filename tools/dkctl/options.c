// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Reads options from the command line, and describes them for the help. */
#include "dkctl.h"

#include <string.h>

const struct term layout_option_terms[] = {
	{ "-l, --layout NAME",
	  "use this layout instead of v1: the name of a layout, a\n"
	  "PyTorch release (pytorch-2.14.1), or a file", NULL },
	{ }
};

const struct term global_option_terms[] = {
	{ "-j, --json", "print JSON, for errors as well", NULL },
	{ "-p, --pretty", "print indented JSON", NULL },
	{ "-h, --help", "print help; after a subcommand, its help", NULL },
	{ "-V, --version", "print the version of dkctl", NULL },
	{ }
};

const struct term live_option_terms[] = {
	{ "-s, --statistics", "print more details", NULL },
	{ "-c, --color[=WHEN]",
	  "use colours: always, never, or auto (at a terminal, unless\n"
	  "NO_COLOR is set)", NULL },
	{ }
};

const struct option_name options[] = {
	{ "json", 'j', OPTION_JSON },
	{ "pretty", 'p', OPTION_PRETTY | OPTION_JSON },
	{ "layout", 'l', OPTION_LAYOUT },
	{ "help", 'h', OPTION_HELP },
	{ "version", 'V', OPTION_VERSION },
	{ "check", 0, OPTION_CHECK },
	{ "transcript", 0, OPTION_TRANSCRIPT },
	{ "force-resolve", 0, OPTION_FORCE_RESOLVE },
	{ "to", 0, OPTION_TO },
	{ "describe", 0, OPTION_DESCRIBE },
	{ "statistics", 's', OPTION_STATISTICS },
	{ "color", 'c', OPTION_COLOR },
	{ "svg", 0, OPTION_SVG },
	{ "used", 0, OPTION_USED },
	{ "verbose", 'v', OPTION_VERBOSE },
	{ }
};

static void refuse(struct reader *r, const char *option, const char *why)
{
	if (!r->bad) {
		r->bad = option;
		r->why = why;
	}
}

/* Stores the value of an option. */
static void take_value(struct reader *r, const char *word, unsigned int option,
		       const char *value)
{
	if (!value) {
		r->wants = option;
		refuse(r, word, option == OPTION_SVG ? "needs a file name" :
			"needs the name of a layout, which \"dkctl layout\" lists");
	}
	if (option == OPTION_TO)
		r->q->to_name = value;
	else if (option == OPTION_SVG)
		r->q->svg_name = value;
	else
		r->q->layout_name = value;
}

/* @value is the part after "=" or after the letter, or NULL. */
static void take_option(struct reader *r, const char *word, unsigned int option,
			const char *value)
{
	if (option == OPTION_COLOR) {
		if (!color_parse(value ? value : "always", &r->q->color))
			refuse(r, word,
			       "has an unknown value: use \"always\", \"auto\" or \"never\"");
	} else if (option & OPTIONS_WITH_VALUE) {
		if (!value && *r->next)
			value = *r->next++;
		take_value(r, word, option, value);
	} else if (value) {
		refuse(r, word, "takes no value");
		return;
	}
	r->q->options |= option;
}

const struct option_name *find_option(const char *name, size_t len)
{
	const struct option_name *o;

	for (o = options; o->name; o++) {
		if (is_word(name, len, o->name))
			return o;
	}
	return NULL;
}

static void take_long(struct reader *r, const char *word)
{
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	const struct option_name *o = find_option(word + 2, len - 2);

	if (o)
		take_option(r, word, o->option, equals ? equals + 1 : NULL);
	else
		refuse(r, word, NULL);
}

const struct option_name *find_letter(char letter)
{
	const struct option_name *o = options;

	while (o->name && o->letter != letter)
		o++;
	return o->name ? o : NULL;
}

static void take_short(struct reader *r, const char *word)
{
	const struct option_name *o;
	const char *s;

	for (s = word + 1; *s; s++) {
		o = find_letter(*s);
		if (!o) {
			refuse(r, word, NULL);
			return;
		}
		if (s[1] == '=' && o->option == OPTION_COLOR) {
			take_option(r, word, OPTION_COLOR, s + 2);
			return;
		}
		if (o->option != OPTION_LAYOUT) {
			take_option(r, word, o->option, NULL);
			continue;
		}
		take_option(r, word, OPTION_LAYOUT, s[1] ? s + 1 : NULL);
		return;
	}
}

void read_options(struct reader *r, char **argv)
{
	char **out = argv + 1, *word;

	r->next = argv + 1;
	while ((word = *r->next)) {
		r->next++;
		if (!strcmp(word, "--")) {
			r->is_over = true;
			break;
		}
		if (!strncmp(word, "--", 2))
			take_long(r, word);
		else if (word[0] == '-' && word[1])
			take_short(r, word);
		else
			*out++ = word;
	}
	while (*r->next)
		*out++ = *r->next++;
	*out = NULL;
}

int fail_option(struct reader *r)
{
	struct suggestion s;
	char name[32];
	size_t i;

	if (r->why)
		return fail(r->q, STATUS_BAD_INPUT, r->bad, NULL, "option %.100s %s",
			    r->bad, r->why);
	suggest_begin(&s, r->bad);
	for (i = 0; options[i].name; i++) {
		snprintf(name, sizeof(name), "--%s", options[i].name);
		suggest_try(&s, name);
	}
	if (suggest_end(&s))
		return fail(r->q, STATUS_BAD_INPUT, r->bad, suggest_end(&s),
			    "unknown option %.100s", r->bad);
	return fail(r->q, STATUS_BAD_INPUT, r->bad, NULL,
		    "unknown option %.100s: \"dkctl help\" lists the options", r->bad);
}

int check_options(struct request *q, const struct subcommand *s)
{
	unsigned int extra = q->options & ~(s->options | OPTIONS_GLOBAL);
	char name[32];
	size_t i;

	for (i = 0; options[i].name; i++) {
		if (!(extra & options[i].option))
			continue;
		snprintf(name, sizeof(name), "--%s", options[i].name);
		return fail(q, STATUS_BAD_INPUT, name, NULL,
			    "%s has no option %s: see \"dkctl help %s\"", s->name, name, s->name);
	}
	return STATUS_OK;
}
