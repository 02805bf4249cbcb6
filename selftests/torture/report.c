// SPDX-License-Identifier: GPL-2.0-only
/* Prints progress, a summary, and the tests in KTAP. */
#include "torture.h"

#define NUM_TEARDOWN_TESTS	3
#define NUM_TESTS	(NUM_ERRORS + 3 + NUM_TEARDOWN_TESTS)

static const char *const error_text[] = {
#define TORTURE_TEXT(NAME, text) text,
	TORTURE_ERRORS(TORTURE_TEXT)
};

static const char *const call_text[] = { TORTURE_CALLS(TORTURE_TEXT) };
static const char *const change_text[] = { TORTURE_CHANGES(TORTURE_TEXT) };

/* ---- sums ------------------------------------------------------------------------- */

struct sums {
	u64 sent, unserved, changes, errors;
	u64 error[NUM_ERRORS], call[NUM_CALLS], change[NUM_CHANGES];
};

static struct sums sums;

/* Except at the end of the test, actors can change their counters while this function runs. */
static void sum_up(void)
{
	unsigned int i, k, n = w_load_acquire(torture.num_actors);
	struct sums *s = &sums;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < n; i++) {
		const struct actor *a = &torture.actors[i];

		s->sent += w_load(a->sent);
		s->unserved += w_load(a->unserved);
		for (k = 0; k < NUM_ERRORS; k++)
			s->error[k] += w_load(a->errors[k]);
		for (k = 0; k < NUM_CALLS; k++)
			s->call[k] += w_load(a->calls[k]);
		for (k = 0; k < NUM_CHANGES; k++)
			s->change[k] += w_load(a->changes[k]);
	}
	for (k = 0; k < NUM_ERRORS; k++)
		s->errors += s->error[k];
	for (k = 0; k < NUM_CHANGES; k++)
		s->changes += s->change[k];
}

struct text {
	char s[32];
};

/* Formats a number as 1 234 567. */
static const char *grouped(u64 n, struct text *text)
{
	char digits[24];
	unsigned int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	char *to = text->s;
	unsigned int i;

	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*to++ = ' ';
		*to++ = digits[i];
	}
	*to = 0;
	return text->s;
}

static u64 ms_since_begin(u64 now)
{
	u64 ms = w_div(now - torture.begin_us, 1000);

	return ms ? ms : 1;
}

static void print_totals(u64 now)
{
	u64 ms = ms_since_begin(now);
	struct text n[5];

	torture_print("# %s s: %s calls (%s/s), %s changes (%s/s), %llu errors",
		      grouped(w_div(ms, 1000), &n[0]), grouped(sums.sent, &n[1]),
		      grouped(w_div(sums.sent * 1000, ms), &n[2]),
		      grouped(sums.changes, &n[3]),
		      grouped(w_div(sums.changes * 1000, ms), &n[4]),
		      (unsigned long long)sums.errors);
}

void torture_progress(void)
{
	sum_up();
	print_totals(w_now_us());
}

static void print_kinds(const char *what, const u64 *n, const char *const *text,
			unsigned int num)
{
	struct text number;
	unsigned int i;

	torture_print("# %s:", what);
	for (i = 0; i < num; i++)
		torture_print("#   %14s %s", grouped(n[i], &number), text[i]);
}

static void print_summary(void)
{
	print_kinds("calls", sums.call, call_text, NUM_CALLS);
	print_kinds("changes", sums.change, change_text, NUM_CHANGES);
	print_kinds("errors", sums.error, error_text, NUM_ERRORS);
	torture_print("# seed %llu, %u readers, %u writers, %s",
		      (unsigned long long)torture.set.seed, torture.set.readers,
		      torture.set.writers,
		      torture.set.resolve ? "without tables" : "with tables");
	print_totals(torture.end_us);
}

/* ---- tests ---------------------------------------------------------------------- */

static unsigned int tests, failed;

static void verdict(bool held, const char *what, const char *which)
{
	tests++;
	failed += !held;
	torture_print("%sok %u - %s%s", held ? "" : "not ", tests, what, which);
}

static void judge_errors(void)
{
	unsigned int i;

	for (i = 0; i < NUM_ERRORS; i++) {
		const struct finding *f = &findings[i];

		verdict(!sums.error[i], "no ", error_text[i]);
		if (sums.error[i])
			torture_print("# first: %s (%s): got %#llx, expected %#llx", f->what,
				      f->of ? f->of : "-", (unsigned long long)f->got,
				      (unsigned long long)f->wanted);
	}
}

static void judge_sum(void)
{
	u64 served = w_sum(&torture.served_by_unregistered);

	verdict(sums.sent && served + sums.unserved == sums.sent,
		"every call was served once", "");
	if (served + sums.unserved != sums.sent)
		torture_print("# %llu sent, %llu served, %llu refused as expected",
			      (unsigned long long)sums.sent, (unsigned long long)served,
			      (unsigned long long)sums.unserved);
}

/*
 * The next two functions return the kinds of calls and the kinds of changes that need not happen
 * with these settings.
 */
static u64 calls_excused(void)
{
	return (u64)torture.set.no_plugins << K_PLUGIN |
	       (u64)torture.set.resolve << K_BY_NAME;
}

static u64 changes_excused(void)
{
	return (u64)torture.set.no_plugins << C_PLUGIN |
	       (u64)torture.set.no_forks << C_FORK;
}

unsigned int torture_missing(void)
{
	u64 calls = calls_excused(), changes = changes_excused();
	unsigned int i, k, missing = 0;

	w_mutex_lock(&torture_lock);
	for (i = 0; i < w_load_acquire(torture.num_actors); i++) {
		const struct actor *a = &torture.actors[i];

		for (k = 0; k < NUM_CALLS; k++)
			calls |= (u64)!!w_load(a->calls[k]) << k;
		for (k = 0; k < NUM_CHANGES; k++)
			changes |= (u64)!!w_load(a->changes[k]) << k;
	}
	w_mutex_unlock(&torture_lock);
	for (k = 0; k < NUM_CALLS; k++)
		missing += !(calls >> k & 1);
	for (k = 0; k < NUM_CHANGES; k++)
		missing += !(changes >> k & 1);
	return missing;
}

/* Fails if a kind has not happened, because then it was not tested. */
static void judge_kinds(const char *what, const u64 *n, const char *const *text,
			unsigned int num, u64 excused)
{
	bool all = true;
	unsigned int i;

	for (i = 0; i < num; i++)
		if (!n[i] && !(excused >> i & 1)) {
			torture_print("# none: %s", text[i]);
			all = false;
		}
	verdict(all, what, "");
}

unsigned int torture_judge(const struct teardown *l)
{
	sum_up();
	tests = 0;
	failed = 0;
	print_summary();
	torture_print("KTAP version 1");
	torture_print("1..%u", NUM_TESTS);
	judge_errors();
	judge_sum();
	judge_kinds("calls of every kind", sums.call, call_text, NUM_CALLS,
		    calls_excused());
	judge_kinds("changes of every kind", sums.change, change_text, NUM_CHANGES,
		    changes_excused());
	verdict(!l->unregistered, "the resident provider is unregistered", "");
	verdict(!l->checked, "every table is what the rules say", "");
	verdict(!l->released && !l->num_ops && !l->freed, "nothing is left", "");
	if (l->num_ops || l->freed || l->released)
		torture_print("# %u operators, registry: error %d, backend: error %d",
			      l->num_ops, l->freed, l->released);
	return failed;
}
