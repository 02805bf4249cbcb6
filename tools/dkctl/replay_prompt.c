// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl replay - at a terminal: reads commands at a prompt, and suggests corrections. */
#include "replay_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void suggest_operators(struct session *s, struct dk_replay *r, struct suggestion *near)
{
	s->near = near;
	dk_replay_line(r, "ops", 3);
	s->near = NULL;
}

static void suggest_devices(struct dk_replay *r, struct suggestion *near)
{
	struct dk_device_info d = { .size = sizeof(d) };

	while (dk_replay_registry(r) &&
	       !dk_registry_next_device(dk_replay_registry(r), d.number, &d))
		suggest_try(near, d.name);
}

/* Prints the valid word that is most similar to the refused one. */
static void put_suggestion(struct session *s, struct dk_replay *r)
{
	const struct dk_diag why = *dk_replay_why(r);
	struct suggestion near;

	suggest_begin(&near, why.name);
	switch (why.reason) {
	case DK_WHY_PARSE_KEY:
		suggest_keys(&near, dk_replay_layout(r), true);
		break;
	case DK_WHY_PARSE_BACKEND:
		suggest_bits(&near, dk_replay_layout(r));
		break;
	case DK_WHY_PARSE_SET:
		suggest_set(&near, dk_replay_layout(r));
		break;
	case DK_WHY_BAD_LAYOUT:
		suggest_layouts(&near);
		break;
	case DK_WHY_NO_OPERATOR:
		suggest_operators(s, r, &near);
		break;
	case DK_WHY_NO_DEVICE:
		suggest_devices(r, &near);
		break;
	default:
		break;
	}
	if (suggest_end(&near))
		printf("did you mean \"%s\"?\n", suggest_end(&near));
}

/* Prints a correction after a refusal. */
static void put_advice(struct session *s, struct dk_replay *r, char *line)
{
	const char *unknown = session_unknown_command(s);

	if (!session_is_own(line) && dk_replay_why(r)->reason) {
		put_suggestion(s, r);
		return;
	}
	line[strcspn(line, " \t")] = '\0';
	session_put_usage(stdout, unknown ? unknown : line);
}

/* Runs one line; returns false for "quit". */
static bool prompt_line(struct session *s, struct dk_replay *r, char *line, size_t len)
{
	while (len && (line[0] == ' ' || line[0] == '>')) {
		line++;
		len--;
	}
	while (len && (line[len - 1] == '\n' || line[len - 1] == ' '))
		len--;
	line[len] = '\0';
	if (session_is_quit(line))
		return false;
	if (len && session_run_command(s, r, line, len) && s->at_prompt)
		put_advice(s, r, line);
	return true;
}

int session_prompt(struct session *s, struct dk_replay *r)
{
	bool more = true;
	char *line = NULL;
	ssize_t len;
	int err = 0;

	printf("An empty dispatcher with layout %s. \"stock\" starts again with PyTorch's default\n"
	       "fallthroughs, \"help\" lists the commands, \"quit\" ends.\n",
	       dk_layout_name(s->q->layout));
	s->has_help = true;
	/* --transcript output has unbroken lines and no suggestions */
	s->at_prompt = !(s->q->options & OPTION_TRANSCRIPT);
	while (more) {
		printf("> ");
		fflush(stdout);
		len = read_line(&line, stdin);
		if (len < 0) {
			err = feof(stdin) ? 0 : errno;
			printf("\n");
			break;
		}
		more = prompt_line(s, r, line, (size_t)len);
	}
	free(line);
	return err ? session_fail_read(s, err) : STATUS_OK;
}
