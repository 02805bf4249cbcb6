// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Help for people. */
#include "dkctl.h"
#include "replay.h"

#include <stdlib.h>

static const char options_help[] =
	"options:\n"
	"  -l, --layout NAME   use this layout of keys and bits instead of v1: NAME is that of a\n"
	"                      layout, of a release of PyTorch (pytorch-2.14.1), or of a file\n"
	"  -j, --json          answer in JSON; errors, too\n"
	"  -p, --pretty        JSON for people to read\n"
	"  -h, --help          help, also behind a subcommand\n"
	"  -V, --version       version of the tool\n";

static const char status_help[] =
	"exit status: 0 fine; 1 replay --check found a wrong answer; 2 a word, an option\n"
	"or a file is wrong; 3 no memory, or the output cannot be written.\n";

void help_overview(FILE *f)
{
	const struct subcommand *s;
	char head[64];

	fputs("dkctl - look into dispatch keys, and try out what a dispatcher does\n\n"
	      "usage: dkctl [OPTIONS] SUBCOMMAND [WORDS]\n\n", f);
	for (s = subcommands; s->name; s++) {
		snprintf(head, sizeof(head), "%s %s", s->name, s->usage);
		fprintf(f, "  %-34s %s\n", head, s->summary);
	}
	fprintf(f, "\n%s\n", options_help);
	fputs("examples:\n"
	      "  dkctl key SparseCUDA                what is this key?\n"
	      "  dkctl keyset 'CPU|AutogradCPU'      which bits are these, and who wins?\n"
	      "  dkctl replay -                      try it out at a prompt\n"
	      "\n\"dkctl help SUBCOMMAND\" tells more.\n", f);
}

void help_subcommand(FILE *f, const struct subcommand *s)
{
	fprintf(f, "usage: dkctl %s%s%s\n\n%s", s->name, *s->usage ? " " : "",
		s->usage, s->help);
	if (s->run == run_replay) {
		fputs("\ncommands of a transcript:\n", f);
		help_transcript(f);
	}
	fprintf(f, "\n%s\n%s", options_help, status_help);
}

void help_transcript(FILE *f)
{
	const struct dk_replay_command *c;
	unsigned int i;
	char head[64];

	for (i = 0; (c = dk_replay_command(i)); i++) {
		snprintf(head, sizeof(head), "%s %s", c->name, c->usage);
		if (snprintf(NULL, 0, "%s", head) > 33)
			fprintf(f, "  %s\n  %-33s %s\n", head, "", c->what);
		else
			fprintf(f, "  %-33s %s\n", head, c->what);
	}
	fputs("\nSET is 0x..., or names joined by | or ',', or what was printed as\n"
	      "DispatchKeySet(...). KEY is a name such as CPU, AutogradCUDA, Dense or Autograd;\n"
	      "BIT is one such as CPUBit.\n", f);
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
