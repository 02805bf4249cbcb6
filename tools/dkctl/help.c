// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Prints help texts. */
#include "dkctl.h"
#include "replay.h"

#include <stdlib.h>
#include <string.h>

/* The width of the column of terms. */
#define TERM_WIDTH	20

/* Prints words or options with their meanings. */
static void help_terms(FILE *f, const struct term *t)
{
	const char *kind = NULL, *line, *end;

	for (; t && t->name; t++) {
		if (!t->kind)
			fprintf(f, "  %-*s", TERM_WIDTH, t->name);
		else if (kind)
			fprintf(f, "  %-*s%-16s", TERM_WIDTH, "", t->name);
		else
			fprintf(f, "  %s is%*s%-16s", t->kind,
				TERM_WIDTH - 3 - (int)strlen(t->kind), "", t->name);
		kind = t->kind;
		for (line = t->what; (end = strchr(line, '\n')); line = end + 1)
			fprintf(f, "%.*s\n  %*s", (int)(end - line), line, TERM_WIDTH, "");
		fprintf(f, "%s\n", line);
	}
}

static bool is_live(const struct subcommand *s)
{
	return s->options & OPTION_STATISTICS;
}

/* Prints the exit statuses of a subcommand or, if @s is NULL, of all subcommands. */
static void help_status(FILE *f, const struct subcommand *s)
{
	bool replays = s && s->run == run_replay;
	bool routes = s && !strcmp(s->name, "route");

	fputs("\nexit status:\n"
	      "  0                   success\n", f);
	if (replays)
		fputs("  1                   --check found a wrong answer\n", f);
	else if (routes)
		fputs("  1                   nothing serves the call\n", f);
	else if (!s)
		fputs("  1                   replay --check found a wrong answer, or nothing\n"
		      "                      serves the call that route explains\n", f);
	fputs("  2                   a word, an option or a file is wrong", f);
	if (replays || !s)
		fputs(", or a transcript\n"
		      "                      has an unknown command", f);
	fputs("\n"
	      "  3                   out of memory, or the output cannot be written\n", f);
	if (!s || (is_live(s) && s->run != run_version))
		fputs("  4                   the module is not loaded, or refused the request\n",
		      f);
}

/* Prints a command and its description, on a new line if the command is long. */
static void help_entry(FILE *f, const char *name, const char *usage, const char *what)
{
	enum { ROOM = 35, WIDTH = 80 };
	char head[96];
	int len = snprintf(head, sizeof(head), "  %s %s", name, usage);

	if (len >= ROOM) {
		fprintf(f, "%s\n", head);
		len = 0;
	}
	snprintf(head + len, sizeof(head) - len, "%*s", ROOM - len, "");
	/* without memory, wrap_words() has printed only the head */
	if (!wrap_words(f, WIDTH, head, what))
		fprintf(f, "%s\n", what);
}

void help_overview(FILE *f)
{
	const struct subcommand *s;

	fputs("dkctl - explain dispatch keys, try out a dispatcher, and control the dispatcher\n"
	      "of the kernel\n\n"
	      "usage: dkctl [OPTIONS] SUBCOMMAND [WORDS]\n\n", f);
	for (s = subcommands; s->name; s++) {
		if (s == subcommands)
			fputs("keys, sets and transcripts:\n", f);
		else if (is_live(s) && !is_live(s - 1))
			fprintf(f, "\non a running kernel%s:\n", live_note);
		else if (is_live(s) != is_live(s - 1))
			fputc('\n', f);
		help_entry(f, s->name, s->usage, s->summary);
	}
	fputs("\noptions:\n", f);
	help_terms(f, layout_option_terms);
	help_terms(f, global_option_terms);
	fputs("\non a running kernel:\n", f);
	help_terms(f, live_option_terms);
	help_status(f, NULL);
	fputs("\nexamples:\n"
	      "  dkctl key SparseCUDA                what is this key?\n"
	      "  dkctl keyset 'CPU|AutogradCPU'      its bits, and its key of highest priority\n"
	      "  dkctl keyset --to pytorch-2.6 MAIA  what is this set in another release?\n"
	      "  dkctl replay -                      try out a dispatcher at a prompt\n"
	      "  dkctl table aten::add               which function serves each key?\n"
	      "  dkctl route -v aten::add edu0       where do calls on this device go, and why?\n"
	      "  dkctl stats --used                  which functions were called?\n"
	      "\nFor more, see \"dkctl help SUBCOMMAND\".\n", f);
}

void help_subcommand(FILE *f, const struct subcommand *s)
{
	fprintf(f, "usage: dkctl %s%s%s\n\n%s", s->name, *s->usage ? " " : "",
		s->usage, s->help);
	if (s->terms)
		fputc('\n', f);
	help_terms(f, s->terms);
	if (s->note)
		fprintf(f, "\n%s", s->note);
	if (s->run == run_replay) {
		fputs("\nCommands of a transcript\n", f);
		help_transcript(f);
		fputs("\nto start with, at the prompt of \"dkctl replay -\":\n"
		      "  stock\n"
		      "  op my::add\n"
		      "  impl my::add CPU add_cpu\n"
		      "  route -v my::add CPU|AutogradCPU\n", f);
	}
	fputs("\noptions:\n", f);
	if (s->options & OPTION_LAYOUT)
		help_terms(f, layout_option_terms);
	help_terms(f, global_option_terms);
	if (is_live(s))
		help_terms(f, live_option_terms);
	help_status(f, s);
	fprintf(f, "\nexamples:\n%s", s->examples);
}

/* The first command and the title of each group. */
static const struct {
	const char *first;
	const char *title;
} groups[] = {
	{ "layout", "starting over" },
	{ "layout-info", "keys and sets" },
	{ "op", "operators and functions" },
	{ "table", "tables and registrations" },
	{ "backend", "private backends and devices" },
	{ "local", "local state" },
	{ "route", "where calls go" },
};

static void put_group(FILE *f, const char *command)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		if (!strcmp(groups[i].first, command))
			fprintf(f, "\n%s:\n", groups[i].title);
	}
}

void help_transcript(FILE *f)
{
	const struct dk_replay_command *c;
	unsigned int i;

	for (i = 0; (c = dk_replay_command(i)); i++) {
		put_group(f, c->name);
		help_entry(f, c->name, c->usage, c->what);
	}
	fputs("\nSET is 0x..., or names joined by | or ',', or DispatchKeySet(...). KEY is a name\n"
	      "such as CPU, AutogradCUDA, Dense or Autograd. BIT is a backend bit such as\n"
	      "CPUBit. OP is the name of an operator such as my::add, and LABEL the name of a\n"
	      "function. Quote words that contain spaces with '...' or \"...\".\n", f);
}

/* Commands that only standard input may have, and not a transcript in a file. */
static const struct dk_replay_command session_commands[] = {
	{ "help", "[COMMAND]", "the commands, or one of them" },
	{ "quit", "", "end dkctl" },
	{ "exit", "", "end dkctl" },
};

bool help_command(FILE *f, const char *name, size_t len)
{
	const struct dk_replay_command *c, *found = NULL;
	unsigned int i;

	for (i = 0; !found && (c = dk_replay_command(i)); i++) {
		if (is_word(name, len, c->name))
			found = c;
	}
	for (i = 0; !found && i < ARRAY_SIZE(session_commands); i++) {
		if (is_word(name, len, session_commands[i].name))
			found = &session_commands[i];
	}
	if (found)
		help_entry(f, found->name, found->usage, found->what);
	return found;
}

/* Prints help as text, or as a string in JSON. */
int show_help(struct request *q, const struct subcommand *s)
{
	struct text_stream t;
	FILE *f = text_begin(&t);
	struct json j;

	if (!f)
		return fail_memory(q);
	if (s)
		help_subcommand(f, s);
	else
		help_overview(f);
	if (!text_end(&t, f))
		return fail_memory(q);
	if (q->options & OPTION_JSON) {
		json_begin(&j, stdout, q);
		json_string_len(&j, "help", t.text, t.len);
		json_end(&j);
	} else {
		put_output(t.text, t.len);
	}
	free(t.text);
	return STATUS_OK;
}

int run_help(struct request *q)
{
	const struct subcommand *s = NULL;

	if (q->num_args) {
		s = find_subcommand(q->args[0]);
		if (!s)
			return fail_subcommand(q, q->args);
	}
	return show_help(q, s);
}
