/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Declares what the files of dkctl replay share. */
#ifndef DKCTL_REPLAY_SESSION_H
#define DKCTL_REPLAY_SESSION_H

#include "dkctl.h"
#include "replay.h"

struct session {
	struct request *q;
	struct json j;
	const char *name;		/* name of the transcript, for messages */
	unsigned long line;
	unsigned long shown;		/* number of wrong answers in this transcript */
	bool at_prompt;			/* break lines to fit the terminal */
	bool has_help;			/* "help" and "quit" are commands, as in standard input */
	unsigned long refused_line;	/* line number of the kept refusal, or 0 */
	bool is_unknown;		/* the refused line is an unknown command */
	char refusal[512];
	bool failed;			/* an unknown command was reported */
	struct suggestion *near;	/* if set, answers become candidates and are not printed */
};

static inline bool is_json(const struct session *s)
{
	return s->q->options & OPTION_JSON;
}

static inline unsigned int registry_flags(const struct request *q)
{
	return q->options & OPTION_FORCE_RESOLVE ? DK_REGISTRY_FORCE_RESOLVE : 0;
}

/* replay.c: runs one command. @line ends with a NUL; its @len bytes may contain others. */
int session_run_command(struct session *s, struct dk_replay *r, const char *line, size_t len);
/* Prints the usage of a command, or suggests a similar command. */
void session_put_usage(FILE *f, const char *command);
bool session_is_quit(const char *line);
/* True if dkctl answers the line, and not the interpreter: "help", "quit". */
bool session_is_own(const char *line);
/* Returns the unknown command that the last refusal names, or NULL. */
const char *session_unknown_command(const struct session *s);
int session_fail_read(struct session *s, int err);
int session_fail_empty(struct session *s);

/* replay_check.c: compares the answers with those of the transcript */
int session_check(struct session *s, FILE *f);

/* replay_prompt.c: reads commands from a terminal */
int session_prompt(struct session *s, struct dk_replay *r);

#endif /* DKCTL_REPLAY_SESSION_H */
