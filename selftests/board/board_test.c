// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs on a board without an operating system. Measures how much of an arena functions need, and
 * replays every transcript in the smallest arena in which this is possible. Prints TAP.
 */
#include <dispatchkey.h>

#include "board.h"
#include "replay.h"

#include "../bare/functions.h"
#include "transcripts.h"

#define KIB		1024UL
#define SMALLEST	(16 * KIB)
#define LARGEST		(512 * KIB)
#define FEW		(12 * KIB)

static char arena[LARGEST] __attribute__((aligned(8)));
static unsigned int tests, failures;

void board_timer_expired(void)
{
}

static void result(bool ok, const char *what)
{
	print(ok ? "ok " : "not ok ");
	print_number(++tests);
	print(" ");
	print(what);
	print("\n");
	failures += !ok;
}

static void note(unsigned long n, const char *what, unsigned long size, const char *unit)
{
	print("# ");
	print_number(n);
	print(what);
	print_number(size);
	print(unit);
}

static void few_functions(void)
{
	unsigned long used;
	bool ok;

	dk_bare_arena(arena, FEW);
	ok = !few_register();
	used = dk_bare_arena_used();
	result(ok, "35 functions on 10 operators in an arena of 12 KiB");
	note(FUNCTIONS, " functions, ", used, " bytes\n");
	result(!few_unregister() && !dk_bare_arena_used(), "unregistering frees all of it");
}

/* ---- transcripts ------------------------------------------------------------- */

enum verdict {
	RIGHT,
	WRONG,			/* a difference or an error, which is printed */
	NO_MEMORY,
};

static bool begins(const char *text, size_t len, const char *with)
{
	size_t i;

	for (i = 0; with[i]; i++)
		if (i == len || text[i] != with[i])
			return false;
	return true;
}

static void print_line(const char *what, const char *line, size_t len)
{
	size_t i;

	print(what);
	for (i = 0; line && i < len; i++)
		board_putc(line[i]);
	print(line ? "\n" : "no more lines\n");
}

/* Only the first difference is used: after a refusal for lack of memory, more answers differ. */
static void differ(void *ctx, const struct dk_replay_diff *diff)
{
	enum verdict *v = ctx;

	if (*v != RIGHT)
		return;
	*v = diff->got && begins(diff->got, diff->got_len, "error: out of memory") ?
	     NO_MEMORY : WRONG;
	if (*v == NO_MEMORY)
		return;
	print("# line ");
	print_number(diff->line);
	print(": ");
	print(diff->command);
	print("\n");
	print_line("#   expected ", diff->expected, diff->expected_len);
	print_line("#   got      ", diff->got, diff->got_len);
}

static enum verdict replay(const struct transcript *t, size_t size, struct dk_replay_count *count)
{
	enum verdict v = RIGHT;
	struct dk_replay_check *c;
	int err = -ENOMEM;

	dk_bare_arena(arena, size);
	c = dk_replay_check_alloc(0, differ, &v);
	if (c)
		err = dk_replay_check_feed(c, t->text, t->size);
	if (!err)
		err = dk_replay_check_end(c, count);
	dk_replay_check_free(c);
	if (err == -ENOMEM) {
		v = NO_MEMORY;
	} else if (err && v == RIGHT) {
		print("# the replay failed: errno ");
		print_number(-err);
		print("\n");
		v = WRONG;
	}
	if (!dk_bare_arena_used())
		return v;
	print("# the replay keeps memory\n");
	return WRONG;
}

static void smallest_arena(const struct transcript *t)
{
	struct dk_replay_count count = { 0 };
	enum verdict v = NO_MEMORY;
	size_t size = SMALLEST;

	for (; size <= LARGEST; size *= 2) {
		v = replay(t, size, &count);
		if (v != NO_MEMORY)
			break;
	}
	result(v == RIGHT, t->name);
	if (v == RIGHT)
		note(count.commands, " commands in ", size / KIB, " KiB\n");
	else if (v == NO_MEMORY)
		print("# the replay needs a larger arena\n");
}

int main(void)
{
	const struct transcript *t;

	print("TAP version 13\n");
	few_functions();
	for (t = transcripts; t < transcripts_end; t++)
		smallest_arena(t);
	print("1..");
	print_number(tests);
	print("\n");
	return failures ? 1 : 0;
}
