/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The transcript interpreter runs commands in a registry, at first without builtin fallbacks, and
 * prints answers. The checker compares these answers with the answers in a transcript. The code is
 * freestanding, uses only the public API, and is shared by dkctl, the tests and the kernel.
 */
#ifndef _DK_REPLAY_H
#define _DK_REPLAY_H

#include <dispatchkey.h>

/* The longest command in bytes, without "> " and without the newline. */
#define DK_REPLAY_LINE_MAX	65536u

struct dk_replay;
struct dk_replay_check;

/* The help of one command. */
struct dk_replay_command {
	const char *name;
	const char *usage;	/* the words that follow, such as "A KEY"; may be empty */
	const char *what;
};

/* Called with the answer to a command: complete lines with newlines. */
typedef void (*dk_replay_emit_t)(void *ctx, const char *text, size_t len);

/**
 * dk_replay_alloc() - create an interpreter with layout v1
 * @registry_flags: flags of its registries: 0 or DK_REGISTRY_FORCE_RESOLVE. The command
 *	"stock" adds DK_REGISTRY_BUILTINS
 * @emit: takes the answers; @text stays valid until the next command
 * @ctx: passed to @emit
 *
 * Context: Process context, may sleep.
 * Return: The interpreter, or NULL if allocation fails.
 */
struct dk_replay *dk_replay_alloc(unsigned int registry_flags,
				  dk_replay_emit_t emit, void *ctx);
void dk_replay_free(struct dk_replay *r);

/**
 * dk_replay_use_layout() - start over with a layout, and make its name known
 * @r: the interpreter
 * @l: the layout; must outlive the interpreter
 *
 * Context: Process context, may sleep.
 */
void dk_replay_use_layout(struct dk_replay *r, const struct dk_layout *l);

/**
 * dk_replay_line() - run one command
 * @r: the interpreter
 * @line: the command, without "> " and without a newline
 * @len: its length
 *
 * Emits at most one answer. A refused command answers "error: REASON".
 *
 * Context: Process context, may sleep.
 * Return: 0, or the negative errno of what was refused.
 */
int dk_replay_line(struct dk_replay *r, const char *line, size_t len);

/* Returns the reason why the last command was refused. All zero if the command succeeded. */
const struct dk_diag *dk_replay_why(const struct dk_replay *r);

const struct dk_layout *dk_replay_layout(const struct dk_replay *r);

/* Returns the registry, or NULL before the first command that needs it. */
struct dk_registry *dk_replay_registry(const struct dk_replay *r);

/**
 * dk_replay_parse_set() - parse a set, including private names of backends
 * @l: the layout
 * @reg: a registry of that layout, or NULL if there are no private names
 * @word: as for dk_keyset_parse(), or with private names in upper or lower case, such as
 *	"edu|Autogradedu"
 * @ks: takes the set
 * @why: filled on failure, with the wrong part as name; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0 or -EINVAL.
 */
int dk_replay_parse_set(const struct dk_layout *l, struct dk_registry *reg,
			const char *word, struct dk_keyset *ks, struct dk_diag *why);

/* Returns command @i, or NULL after the last one. */
const struct dk_replay_command *dk_replay_command(unsigned int i);

/**
 * struct dk_replay_diff - the first wrong line of an answer
 * @line: number of the line, from 1
 * @command_line: number of the command's line, 0 if there was no command
 * @command: the command, truncated if it is long
 * @command_len: its length
 * @expected: the line of the transcript, or NULL after its last line
 * @expected_len: its length
 * @got: the line of the answer, or NULL after its last line
 * @got_len: its length
 */
struct dk_replay_diff {
	unsigned long line;
	unsigned long command_line;
	const char *command;
	size_t command_len;
	const char *expected;
	size_t expected_len;
	const char *got;
	size_t got_len;
};

typedef void (*dk_replay_differ_t)(void *ctx, const struct dk_replay_diff *diff);

/* The totals of a check. */
struct dk_replay_count {
	unsigned long lines;
	unsigned long commands;
	unsigned long mismatches;	/* commands whose answer differs */
};

/**
 * dk_replay_check_alloc() - create a checker for one transcript
 * @registry_flags: as in dk_replay_alloc()
 * @differ: called for every wrong answer, with its first wrong line
 * @ctx: passed to @differ
 *
 * Context: Process context, may sleep.
 * Return: The checker, or NULL if allocation fails.
 */
struct dk_replay_check *dk_replay_check_alloc(unsigned int registry_flags,
					      dk_replay_differ_t differ,
					      void *ctx);
void dk_replay_check_free(struct dk_replay_check *c);

/**
 * dk_replay_check_feed() - check the next piece of the transcript
 * @c: the checker
 * @text: any bytes; a piece may end within a line
 * @len: number of bytes
 *
 * Context: Process context, may sleep.
 * Return: 0, or -ENOMEM if there was no memory for a command. Then the rest is not checked.
 */
int dk_replay_check_feed(struct dk_replay_check *c, const char *text, size_t len);

/**
 * dk_replay_check_end() - end the transcript
 * @c: the checker
 * @count: set to the totals
 *
 * Context: Process context, may sleep.
 * Return: 0 if every answer was right, -EILSEQ if not, -ENOENT if there was
 * no command, or -ENOMEM if dk_replay_check_feed() failed.
 */
int dk_replay_check_end(struct dk_replay_check *c, struct dk_replay_count *count);

#endif /* _DK_REPLAY_H */
