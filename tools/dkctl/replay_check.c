// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl replay --check: compares answers with those of a transcript. */
#include "replay_session.h"

#include <errno.h>
#include <string.h>

/* The maximum number of wrong answers that are printed. */
#define SHOWN	10

static void json_line(struct json *j, const char *name, const char *line, size_t len)
{
	if (line)
		json_string_len(j, name, line, len);
	else
		json_null(j, name);
}

static void differ_json(struct session *s, const struct dk_replay_diff *d)
{
	struct json *j = &s->j;

	json_object(j, NULL);
	json_uint(j, "line", d->line);
	if (d->command_line) {
		json_uint(j, "command_line", d->command_line);
		json_string_len(j, "command", d->command, d->command_len);
	}
	json_line(j, "expected", d->expected, d->expected_len);
	json_line(j, "got", d->got, d->got_len);
	json_close(j);
}

static void put_name(const struct session *s)
{
	print_escaped(stdout, s->name, strlen(s->name));
}

static void put_line(const struct session *s, const struct dk_replay_diff *d,
		     const char *what, const char *line, size_t len)
{
	put_name(s);
	printf(":%lu: %-9s", d->line, what);
	if (line)
		print_escaped(stdout, line, len);
	else
		printf("(no line)");
	printf("\n");
}

static void differ(void *ctx, const struct dk_replay_diff *d)
{
	struct session *s = ctx;

	if (s->shown++ >= SHOWN)
		return;
	if (is_json(s)) {
		differ_json(s, d);
		return;
	}
	if (d->command_line) {
		put_name(s);
		printf(":%lu: > ", d->command_line);
		print_escaped(stdout, d->command, d->command_len);
		printf("\n");
	}
	put_line(s, d, "expected", d->expected, d->expected_len);
	put_line(s, d, "got", d->got, d->got_len);
}

static int feed(struct dk_replay_check *c, FILE *f)
{
	char buf[16384];
	size_t n;

	while ((n = fread(buf, 1, sizeof(buf), f))) {
		if (dk_replay_check_feed(c, buf, n))
			return -ENOMEM;
	}
	return ferror(f) ? -errno : 0;
}

static void report_result(struct session *s, const struct dk_replay_count *n)
{
	struct json *j = &s->j;

	if (is_json(s)) {
		json_close(j);
		json_uint(j, "lines", n->lines);
		json_uint(j, "commands", n->commands);
		json_uint(j, "mismatches", n->mismatches);
		json_bool(j, "passed", !n->mismatches);
		return;
	}
	put_name(s);
	printf(": %lu command%s, ", n->commands, n->commands == 1 ? "" : "s");
	if (!n->mismatches)
		printf("every answer is right\n");
	else
		printf("%lu wrong answer%s%s\n", n->mismatches,
		       n->mismatches == 1 ? "" : "s",
		       s->shown > SHOWN ? ", the first 10 are shown" : "");
}

int session_check(struct session *s, FILE *f)
{
	struct dk_replay_check *c;
	struct dk_replay_count n;
	int err, status;

	s->shown = 0;
	c = dk_replay_check_alloc(registry_flags(s->q), differ, s);
	if (!c)
		return fail_memory(s->q);
	if (is_json(s))
		json_array(&s->j, "differences");
	err = feed(c, f);
	status = dk_replay_check_end(c, &n);
	dk_replay_check_free(c);
	if (err == -ENOMEM || status == -ENOMEM)
		return fail_memory(s->q);
	if (err)
		return session_fail_read(s, -err);
	if (!n.commands)
		return session_fail_empty(s);
	report_result(s, &n);
	return n.mismatches ? STATUS_DIFFERS : STATUS_OK;
}
