// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs on a board without an operating system. Measures how much of an arena functions need, and
 * how much stack registrations and calls need. Replays every transcript in the smallest arena in
 * which this is possible. Prints TAP.
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

/* ---- the stack ----------------------------------------------------------------- */

#define STACK		(6 * KIB)	/* examined below the caller */
#define OWN		256		/* for the functions that examine it */
#define UNUSED		0x5a5a5a5a

DK_OP(deep, "board::deep", (const struct dk_obj *x), (x), (x));

static struct dk_provider stack_prov = DK_PROVIDER("stack");
static struct dk_local traced;
static int stack_err;

static int deep_cpu(struct dk_call *c, const struct dk_obj *x)
{
	return 0;
}

static int deep_boxed(struct dk_call *c, void *args)
{
	return dk_redispatch_boxed(c, dk_call_below(c), args);
}

static void stack_register(void)
{
	static const struct dk_impl impl = DK_IMPL(deep, DK_CPU, deep_cpu);
	static const struct dk_impl on_card = DK_IMPL(deep, DK_DENSE, deep_cpu);
	static const struct dk_impl fallback = DK_FALLBACK(DK_TRACER, deep_boxed);
	unsigned int backend = 0;
	int err = dk_provider_register(&stack_prov, NULL);

	if (!err)
		err = dk_op_define(&stack_prov, &deep_op, 0, NULL);
	if (!err)
		err = dk_impls_register(&stack_prov, &impl, 1, NULL);
	if (!err)
		err = dk_fallback_register(&stack_prov, &fallback, NULL);
	if (!err)
		err = dk_backend_join(&stack_prov, "card", 0, 0, &backend, NULL);
	if (!err)
		err = dk_device_register(&stack_prov, backend, "card0", NULL, &on_card, 1, NULL,
					 NULL);
	stack_err |= err;
}

static void stack_call(void)
{
	const struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	stack_err |= deep(&x);
}

static void stack_call_boxed(void)
{
	const struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	stack_err |= deep_in(&traced, &x);
}

static void stack_unregister(void)
{
	stack_err |= dk_provider_unregister(&stack_prov);
}

/* Runs a function, and tests that it and its callees use less than @most bytes of the stack. */
static void __attribute__((noinline)) stack_of(void (*run)(void), unsigned long most,
					       const char *what)
{
	char *top = __builtin_frame_address(0), *p;

	for (p = top - STACK; p < top - OWN; p += 4)
		REGISTER(p) = UNUSED;
	stack_err = 0;
	run();
	for (p = top - STACK; p < top && REGISTER(p) == UNUSED; p += 4)
		;
	note(top - p, " bytes of the stack, at most ", most, "\n");
	result(!stack_err && (unsigned long)(top - p) < most, what);
}

static void stack(void)
{
	dk_bare_arena(arena, FEW);
	dk_local_include(&traced, DK_SET(DK_TRACER));
	stack_of(stack_register, 2 * KIB, "registering needs less than 2 KiB of the stack");
	stack_of(stack_call, 3 * KIB / 2,
		 "the first call of an operator needs less than 1536 bytes of the stack");
	stack_of(stack_call, 512, "the next call needs less than 512 bytes of the stack");
	stack_of(stack_call_boxed, 3 * KIB / 2,
		 "a call through a boxed function needs less than 1536 bytes of the stack");
	stack_of(stack_unregister, 2 * KIB, "unregistering needs less than 2 KiB of the stack");
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
	stack();
	print("1..");
	print_number(tests);
	print("\n");
	return failures ? 1 : 0;
}
