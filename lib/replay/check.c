// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Compares the answers of a transcript with those of the interpreter, line by line. */
#include "internal.h"

#define COMMAND_SHOWN	200

struct dk_replay_check {
	struct dk_replay *replay;
	dk_replay_differ_t differ;
	void *ctx;
	struct dk_replay_count count;
	unsigned long command_line;
	char command[COMMAND_SHOWN];
	size_t command_len;
	const char *answer;		/* the part of the answer that is not compared yet */
	size_t answer_len;
	bool wrong;			/* this answer has been reported as wrong */
	bool no_memory;			/* a line or an answer is incomplete: the check ends */
	struct dk_replay_text line;
};

static void keep_answer(void *ctx, const char *text, size_t len)
{
	struct dk_replay_check *c = ctx;

	c->answer = text;
	c->answer_len = len;
}

struct dk_replay_check *dk_replay_check_alloc(unsigned int registry_flags,
					      dk_replay_differ_t differ,
					      void *ctx)
{
	struct dk_replay_check *c = kvzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return NULL;
	c->differ = differ;
	c->ctx = ctx;
	c->replay = dk_replay_alloc(registry_flags, keep_answer, c);
	if (!c->replay) {
		kvfree(c);
		return NULL;
	}
	return c;
}

void dk_replay_check_free(struct dk_replay_check *c)
{
	if (!c)
		return;
	dk_replay_free(c->replay);
	dk_replay_text_free(&c->line);
	kvfree(c);
}

/* Reports the first wrong line of each answer. */
static void report(struct dk_replay_check *c, unsigned long line,
		   const char *expected, size_t expected_len,
		   const char *got, size_t got_len)
{
	struct dk_replay_diff diff = {
		line, c->command_line, c->command, c->command_len, expected, expected_len,
		got, got_len,
	};

	if (c->wrong)
		return;
	c->wrong = true;
	c->count.mismatches++;
	c->differ(c->ctx, &diff);
}

/* Returns the next line of the answer, without its newline, or NULL. */
static const char *next_answer(struct dk_replay_check *c, size_t *len)
{
	const char *line = c->answer;

	if (!c->answer_len)
		return NULL;
	for (*len = 0; line[*len] != '\n'; ++*len)
		;
	c->answer += *len + 1;
	c->answer_len -= *len + 1;
	return line;
}

static bool same(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return a_len == b_len && !memcmp(a, b, a_len);
}

static void check_answer(struct dk_replay_check *c, const char *line, size_t len)
{
	size_t got_len = 0;
	const char *got = next_answer(c, &got_len);

	if (got && same(line, len, got, got_len))
		return;
	/* "error" matches any error */
	if (got && same(line, len, "error", 5) && got_len > 7 &&
	    !memcmp(got, "error: ", 7))
		return;
	report(c, c->count.lines, line, len, got, got_len);
}

/*
 * Called when the transcript has no more lines for the last command. If the answer has more lines,
 * reports the next one.
 */
static void end_answer(struct dk_replay_check *c, unsigned long line)
{
	size_t got_len = 0;
	const char *got = next_answer(c, &got_len);

	if (got)
		report(c, line, NULL, 0, got, got_len);
}

static void begin_command(struct dk_replay_check *c, const char *line, size_t len)
{
	size_t shown = len < COMMAND_SHOWN ? len : COMMAND_SHOWN - 1;

	end_answer(c, c->count.lines);
	/* do not cut in the middle of a character */
	while (shown && shown < len && (line[shown] & 0xc0) == 0x80)
		shown--;
	memcpy(c->command, line, shown);
	c->command[shown] = '\0';
	c->command_len = shown;
	c->command_line = c->count.lines;
	c->count.commands++;
	c->wrong = false;
	c->answer_len = 0;
	/* end the check, because "error: out of memory" would match the answer "error" */
	if (dk_replay_line(c->replay, line, len) == -ENOMEM)
		c->no_memory = true;
}

static void take_line(struct dk_replay_check *c)
{
	const char *line = c->line.buf;
	size_t len = c->line.len;

	c->count.lines++;
	if (len >= 2 && line[0] == '>' && line[1] == ' ')
		begin_command(c, line + 2, len - 2);
	else
		check_answer(c, line, len);
	c->line.len = 0;
}

/*
 * Keeps at most "> ", the longest allowed command, and one byte more. With this byte,
 * dk_replay_line() finds that the command is too long.
 */
static void add(struct dk_replay_check *c, const char *text, size_t len)
{
	size_t left = DK_REPLAY_LINE_MAX + 3 - c->line.len;

	dk_replay_text_add(&c->line, text, len < left ? len : left);
	c->no_memory |= c->line.failed;
}

int dk_replay_check_feed(struct dk_replay_check *c, const char *text, size_t len)
{
	size_t n;

	while (len && !c->no_memory) {
		for (n = 0; n < len && text[n] != '\n'; n++)
			;
		add(c, text, n);
		if (n == len)
			break;
		if (!c->no_memory)
			take_line(c);
		text += n + 1;
		len -= n + 1;
	}
	return c->no_memory ? -ENOMEM : 0;
}

int dk_replay_check_end(struct dk_replay_check *c, struct dk_replay_count *count)
{
	if (c->line.len && !c->no_memory)
		take_line(c);
	if (!c->no_memory)
		end_answer(c, c->count.lines + 1);
	*count = c->count;
	if (c->no_memory)
		return -ENOMEM;
	if (c->count.mismatches)
		return -EILSEQ;
	return c->count.commands ? 0 : -ENOENT;
}
