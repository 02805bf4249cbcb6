// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Help for people. */
#include "dkctl.h"
#include "replay.h"

#include <stdlib.h>
#include <string.h>

static const char layout_help[] =
	"  -l, --layout NAME   use this layout of keys and bits instead of v1: NAME is\n"
	"                      that of a layout, of a release of PyTorch\n"
	"                      (pytorch-2.14.1), or of a file\n";

static const char options_help[] =
	"  -j, --json          answer in JSON; errors, too\n"
	"  -p, --pretty        JSON for people to read\n"
	"  -h, --help          help, also behind a subcommand\n"
	"  -V, --version       version of the tool\n";

static const char live_help[] =
	"  -s, --statistics    more of what there is, and numbers\n"
	"  -c, --color[=WHEN]  always, auto (at a terminal, and without NO_COLOR) or\n"
	"                      never\n";

static bool is_live(const struct subcommand *s)
{
	return s->options & OPTION_STATISTICS;
}

/* Those that a subcommand can end with; NULL: those of all. */
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
		      "                      serves the call of a route\n", f);
	fputs("  2                   a word, an option or a file is wrong", f);
	if (replays || !s)
		fputs(", or a transcript\n"
		      "                      has an unknown command", f);
	fputs("\n"
	      "  3                   no memory, or the output cannot be written\n", f);
	if (!s || s->run == run_live)
		fputs("  4                   the module is not loaded, or refused the request\n",
		      f);
}

/* What is typed, and what for: below it where there is no room beside it. */
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
	if (!wrap_words(f, WIDTH, head, what))
		fprintf(f, "%s%s\n", head, what);
}

void help_overview(FILE *f)
{
	const struct subcommand *s;

	fputs("dkctl - look into dispatch keys, try out a dispatcher, and see and steer the one\n"
	      "of the kernel\n\n"
	      "usage: dkctl [OPTIONS] SUBCOMMAND [WORDS]\n\n", f);
	for (s = subcommands; s->name; s++) {
		if (s == subcommands)
			fputs("keys, sets and trying out:\n", f);
		else if (is_live(s) && !is_live(s - 1))
			fprintf(f, "\non a running kernel%s:\n", live_note);
		else if (is_live(s) != is_live(s - 1))
			fputc('\n', f);
		help_entry(f, s->name, s->usage, s->summary);
	}
	fprintf(f, "\noptions:\n%s%s\nand on a running kernel:\n%s", layout_help, options_help,
		live_help);
	help_status(f, NULL);
	fputs("\nexamples:\n"
	      "  dkctl key SparseCUDA                what is this key?\n"
	      "  dkctl keyset 'CPU|AutogradCPU'      which bits are these, and who wins?\n"
	      "  dkctl keyset --to pytorch-2.6 MAIA  what are they in another release?\n"
	      "  dkctl replay -                      try it out at a prompt\n"
	      "  dkctl table aten::add               where do its calls go in this kernel?\n"
	      "  dkctl route -v aten::add edu0       and why do those of this device go there?\n"
	      "  dkctl stats --used                  which functions were used at all?\n"
	      "\n\"dkctl help SUBCOMMAND\" tells more.\n", f);
}

void help_subcommand(FILE *f, const struct subcommand *s)
{
	fprintf(f, "usage: dkctl %s%s%s\n\n%s", s->name, *s->usage ? " " : "",
		s->usage, s->help);
	if (s->run == run_replay) {
		fputs("\nCommands of a transcript\n", f);
		help_transcript(f);
		fputs("\nto begin with, at the prompt of \"dkctl replay -\":\n"
		      "  stock\n"
		      "  op my::add\n"
		      "  impl my::add CPU add_cpu\n"
		      "  route -v my::add CPU|AutogradCPU\n", f);
	}
	fprintf(f, "\noptions:\n%s%s%s", s->options & OPTION_LAYOUT ? layout_help : "",
		options_help, is_live(s) ? live_help : "");
	help_status(f, s);
	fprintf(f, "\nexamples:\n%s", s->examples);
}

/* Where a group of commands begins. */
static const struct {
	const char *first;
	const char *title;
} groups[] = {
	{ "layout", "begin" },
	{ "layout-info", "keys and sets" },
	{ "op", "operators and what is registered" },
	{ "table", "see what is registered" },
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
	fputs("\nSET is 0x..., or names joined by | or ',', or what was printed as\n"
	      "DispatchKeySet(...). KEY is a name such as CPU, AutogradCUDA, Dense or Autograd;\n"
	      "BIT is one such as CPUBit. OP is the name of an operator, such as my::add, and\n"
	      "LABEL that of a function. A word with blanks stands in '...' or \"...\".\n", f);
}

bool help_command(FILE *f, const char *name)
{
	const struct dk_replay_command *c;
	unsigned int i;

	for (i = 0; (c = dk_replay_command(i)); i++) {
		if (!strcmp(c->name, name)) {
			help_entry(f, c->name, c->usage, c->what);
			return true;
		}
	}
	return false;
}

/* As text, or as a string in JSON. */
int show_help(struct request *q, const struct subcommand *s)
{
	char *text = NULL;
	size_t len = 0;
	struct json j;
	FILE *f;

	f = open_memstream(&text, &len);
	if (!f)
		return fail_memory(q);
	if (s)
		help_subcommand(f, s);
	else
		help_overview(f);
	if (fclose(f)) {
		free(text);
		return fail_memory(q);
	}
	if (q->options & OPTION_JSON) {
		json_begin(&j, stdout, q);
		json_string_len(&j, "help", text, len);
		json_end(&j);
	} else {
		fwrite(text, 1, len, stdout);
	}
	free(text);
	return STATUS_OK;
}

int run_help(struct request *q)
{
	const struct subcommand *s = NULL;

	if (q->num_args) {
		s = find_subcommand(q->args[0]);
		if (!s)
			return fail_subcommand(q, q->args[0]);
	}
	return show_help(q, s);
}
