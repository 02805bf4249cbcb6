// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl replay: transcripts run, checked, or typed at a prompt. */
#include "dkctl.h"
#include "replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Wrong answers that are shown. */
#define SHOWN	10

struct session {
	struct request *q;
	struct json j;
	const char *name;		/* of the transcript, for people */
	unsigned long line;
	unsigned long shown;		/* wrong answers of this transcript */
	bool at_prompt;			/* lines are broken to fit */
	bool has_help;			/* "help" is a command: of standard input */
	unsigned long refused_line;	/* of a refusal that is not reported yet, or 0 */
	bool is_unknown;		/* that there is no such command */
	char refusal[512];
	bool failed;			/* an unknown command was reported */
	struct suggestion *near;	/* tries the lines of an answer, prints none */
};

static bool is_json(const struct session *s)
{
	return s->q->options & OPTION_JSON;
}

static unsigned int registry_flags(const struct request *q)
{
	return q->options & OPTION_FORCE_RESOLVE ? DK_REGISTRY_FORCE_RESOLVE : 0;
}

static FILE *open_transcript(struct session *s, const char *file)
{
	FILE *f;

	s->name = file;
	if (!strcmp(file, "-")) {
		s->name = "standard input";
		return stdin;
	}
	f = fopen(file, "r");
	if (!f)
		fail(s->q, STATUS_BAD_INPUT, file, NULL, "cannot open \"%.500s\": %s", file,
		     strerror(errno));
	return f;
}

static void close_transcript(FILE *f)
{
	if (f != stdin)
		fclose(f);
}

static int fail_read(struct session *s, int err)
{
	return fail(s->q, STATUS_BAD_INPUT, s->name, NULL, "cannot read \"%.500s\": %s",
		    s->name, strerror(err));
}

static int fail_empty(struct session *s)
{
	return fail(s->q, STATUS_BAD_INPUT, s->name, NULL,
		    "\"%.500s\" has no command, that is, no line that begins with \"> \"",
		    s->name);
}

/* ---- checking ------------------------------------------------------------- */

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
		json_string(j, "command", d->command);
	}
	json_line(j, "expected", d->expected, d->expected_len);
	json_line(j, "got", d->got, d->got_len);
	json_close(j);
}

static void put_name(const struct session *s)
{
	print_text(stdout, s->name, strlen(s->name));
}

static void put_line(const struct session *s, const struct dk_replay_diff *d,
		     const char *what, const char *line, size_t len)
{
	put_name(s);
	printf(":%lu: %-9s", d->line, what);
	if (line)
		print_text(stdout, line, len);
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
		print_text(stdout, d->command, strlen(d->command));
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

static void tell_verdict(struct session *s, const struct dk_replay_count *n)
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

static int check(struct session *s, FILE *f)
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
		return fail_read(s, -err);
	if (!n.commands)
		return fail_empty(s);
	tell_verdict(s, &n);
	return n.mismatches ? STATUS_DIFFERS : STATUS_OK;
}

/* ---- running -------------------------------------------------------------- */

/* A line in as many as it needs, broken at blanks. */
static void print_broken(const char *text, size_t len)
{
	static const char indent[] = "    ";
	size_t column = 0, blanks, word;

	for (; len; text += blanks + word, len -= blanks + word) {
		for (blanks = 0; blanks < len && text[blanks] == ' '; blanks++)
			;
		for (word = 0; blanks + word < len && text[blanks + word] != ' '; word++)
			;
		if (column && column + blanks + word > COLUMNS) {
			printf("\n%s", indent);
			column = sizeof(indent) - 1;
		} else {
			print_text(stdout, text, blanks);
			column += blanks;
		}
		print_text(stdout, text + blanks, word);
		column += word;
	}
}

static void try_line(struct suggestion *near, const char *line, size_t len)
{
	char name[DK_NAME_MAX];

	if (len < sizeof(name)) {
		memcpy(name, line, len);
		name[len] = '\0';
		suggest_try(near, name);
	}
}

static void emit_line(struct session *s, const char *line, size_t len)
{
	if (s->near) {
		try_line(s->near, line, len);
	} else if (is_json(s)) {
		json_string_len(&s->j, NULL, line, len);
	} else {
		if (s->at_prompt)
			print_broken(line, len);
		else
			print_text(stdout, line, len);
		printf("\n");
	}
}

static void emit(void *ctx, const char *text, size_t len)
{
	static const char error[] = "error: ";
	struct session *s = ctx;
	const char *end;

	if (!s->near && len > sizeof(error) && !memcmp(text, error, sizeof(error) - 1))
		snprintf(s->refusal, sizeof(s->refusal), "%.*s",
			 (int)(len - sizeof(error)), text + sizeof(error) - 1);
	for (; len; len -= (size_t)(end + 1 - text), text = end + 1) {
		end = memchr(text, '\n', len);
		emit_line(ctx, text, (size_t)(end - text));
	}
}

static void suggest_commands(struct suggestion *near)
{
	const struct dk_replay_command *c;
	unsigned int i;

	for (i = 0; (c = dk_replay_command(i)); i++)
		suggest_try(near, c->name);
	suggest_try(near, "help");
	suggest_try(near, "quit");
}

/* The usage of a command, or the command that was meant. */
static void put_usage(FILE *f, const char *command)
{
	struct suggestion near;

	if (help_command(f, command))
		return;
	suggest_begin(&near, command);
	suggest_commands(&near);
	if (suggest_end(&near))
		fprintf(f, "did you mean \"%s\"?\n", suggest_end(&near));
	else
		fprintf(f, "\"help\" lists the commands\n");
}

static bool is_help(const char *line)
{
	return !strcmp(line, "help") || !strncmp(line, "help ", 5);
}

static bool is_quit(const char *line)
{
	return !strcmp(line, "quit") || !strcmp(line, "exit");
}

/* "help", or "help COMMAND". */
static int answer_help(struct session *s, const char *line)
{
	const char *command = line + 4 + strspn(line + 4, " ");
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return -ENOMEM;
	if (*command)
		put_usage(f, command);
	else
		help_transcript(f);
	if (!*command && s->at_prompt)
		fprintf(f, "\n\"help COMMAND\" shows one of them, \"quit\" ends.\n");
	if (!fclose(f))
		emit(s, text, len);
	free(text);
	return 0;
}

static int answer(struct session *s, struct dk_replay *r, const char *line, size_t len)
{
	if (s->has_help && is_help(line))
		return answer_help(s, line);
	return dk_replay_line(r, line, len);
}

/* @line ends in a NUL, @len may have others before it. */
static int run_command(struct session *s, struct dk_replay *r, const char *line, size_t len)
{
	int err;

	if (!is_json(s)) {
		if (s->q->options & OPTION_TRANSCRIPT) {
			printf("> ");
			print_text(stdout, line, len);
			printf("\n");
		}
		return answer(s, r, line, len);
	}
	json_object(&s->j, NULL);
	json_uint(&s->j, "line", s->line);
	json_string_len(&s->j, "command", line, len);
	json_array(&s->j, "answer");
	err = answer(s, r, line, len);
	json_close(&s->j);
	json_bool(&s->j, "refused", err);
	json_close(&s->j);
	return err;
}

/* The interpreter, in the layout that was asked for. */
static struct dk_replay *begin(struct session *s)
{
	struct dk_replay *r = dk_replay_alloc(registry_flags(s->q), emit, s);

	if (r && s->q->layout_name)
		dk_replay_use_layout(r, s->q->layout);
	return r;
}

/* ---- refusals ------------------------------------------------------------- */

static bool is_command(const char *line)
{
	const struct dk_replay_command *c;
	size_t len;
	unsigned int i;

	line += strspn(line, " \t");
	len = strcspn(line, " \t");
	for (i = 0; (c = dk_replay_command(i)); i++) {
		if (strlen(c->name) == len && !memcmp(c->name, line, len))
			return true;
	}
	return !len;
}

/* Reported once the next line shows that the transcript does not expect it. */
static void keep_refusal(struct session *s, const char *line)
{
	s->is_unknown = !is_command(line);
	/* a transcript that is printed shows the command above the answer */
	if (s->is_unknown || !(s->q->options & OPTION_TRANSCRIPT))
		s->refused_line = s->line;
}

/* @next is the line after the command, or NULL. */
static void report_refusal(struct session *s, const char *next)
{
	static const char unknown[] = "unknown command: ";
	const char *hint = "";
	struct suggestion near;

	if (s->refused_line && !(next && !strncmp(next, "error", 5))) {
		if (s->is_unknown && !strncmp(s->refusal, unknown, sizeof(unknown) - 1)) {
			suggest_begin(&near, s->refusal + sizeof(unknown) - 1);
			suggest_commands(&near);
			hint = suggest_end(&near) ? near.best : "";
		}
		remark("%.300s:%lu: %s%s%s%s", s->name, s->refused_line, s->refusal,
		       *hint ? "; did you mean \"" : "", hint, *hint ? "\"?" : "");
		s->failed |= s->is_unknown;
	}
	s->refused_line = 0;
}

/* Ends a line with a NUL in place of its newline. */
static size_t end_line(char *line, size_t len)
{
	if (len && line[len - 1] == '\n')
		len--;
	line[len] = '\0';
	return len;
}

/*
 * What comes through a pipe and does not begin with "> " is no transcript, but
 * commands alone.
 */
static int run_lines(struct session *s, struct dk_replay *r, FILE *f)
{
	bool bare = false;
	unsigned long commands = 0;
	char *line = NULL, *command;
	size_t size = 0, len;
	ssize_t got;
	int err;

	s->has_help = f == stdin;
	for (s->line = 1; (got = getline(&line, &size, f)) >= 0; s->line++) {
		len = end_line(line, (size_t)got);
		if (s->line == 1 && f == stdin)
			bare = strncmp(line, "> ", 2);
		report_refusal(s, bare ? NULL : line);
		if (bare ? !len : strncmp(line, "> ", 2))
			continue;
		command = bare ? line : line + 2;
		if (s->has_help && is_quit(command))
			break;
		if (run_command(s, r, command, len - (size_t)(command - line)))
			keep_refusal(s, command);
		commands++;
	}
	report_refusal(s, NULL);
	err = ferror(f) ? errno : 0;
	free(line);
	if (err)
		return fail_read(s, err);
	return commands ? STATUS_OK : fail_empty(s);
}

/* ---- a prompt ------------------------------------------------------------- */

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

/* What the refused word might have meant. */
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

/* Behind a refusal: how to go on. */
static void put_advice(struct session *s, struct dk_replay *r, char *line)
{
	if (dk_replay_why(r)->reason) {
		put_suggestion(s, r);
		return;
	}
	line[strcspn(line, " \t")] = '\0';
	put_usage(stdout, line);
}

/* One line at the prompt; false for the last one. */
static bool prompt_line(struct session *s, struct dk_replay *r, char *line, size_t len)
{
	while (len && (line[0] == ' ' || line[0] == '>')) {
		line++;
		len--;
	}
	while (len && (line[len - 1] == '\n' || line[len - 1] == ' '))
		len--;
	line[len] = '\0';
	if (is_quit(line))
		return false;
	if (len && run_command(s, r, line, len) && s->at_prompt)
		put_advice(s, r, line);
	return true;
}

static int prompt(struct session *s, struct dk_replay *r)
{
	bool more = true;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	printf("A dispatcher of your own, bare, layout %s.\n"
	       "\"stock\" begins with the usual fallthroughs, \"help\" lists commands, \"quit\" ends.\n",
	       dk_layout_name(s->q->layout));
	s->has_help = true;
	/* a transcript has whole lines, and answers only */
	s->at_prompt = !(s->q->options & OPTION_TRANSCRIPT);
	while (more) {
		printf("> ");
		fflush(stdout);
		len = getline(&line, &size, stdin);
		if (len < 0) {
			printf("\n");
			break;
		}
		more = prompt_line(s, r, line, (size_t)len);
	}
	free(line);
	return STATUS_OK;
}

static int run_transcript(struct session *s, FILE *f)
{
	struct dk_replay *r = begin(s);
	int status;

	if (!r)
		return fail_memory(s->q);
	if (f == stdin && isatty(STDIN_FILENO) && !is_json(s)) {
		status = prompt(s, r);
	} else {
		if (is_json(s))
			json_array(&s->j, "commands");
		status = run_lines(s, r, f);
		if (is_json(s) && !status)
			json_close(&s->j);
	}
	dk_replay_free(r);
	return status;
}

/* ---- the subcommand ------------------------------------------------------- */

static int replay_file(struct session *s, const char *file)
{
	FILE *f = open_transcript(s, file);
	int status;

	if (!f)
		return STATUS_BAD_INPUT;
	if (is_json(s)) {
		json_object(&s->j, NULL);
		json_string(&s->j, "file", s->name);
	}
	status = s->q->options & OPTION_CHECK ? check(s, f) : run_transcript(s, f);
	close_transcript(f);
	if (is_json(s) && status < STATUS_BAD_INPUT)
		json_close(&s->j);
	return status;
}

/* All of them, up to the first that cannot be read. */
static int replay_files(struct session *s)
{
	int i, one, status = STATUS_OK;

	if (!s->q->num_args)
		return replay_file(s, "-");
	for (i = 0; i < s->q->num_args; i++) {
		one = replay_file(s, s->q->args[i]);
		if (one)
			status = one;
		if (one >= STATUS_BAD_INPUT)
			break;
	}
	return status;
}

/* JSON is kept back until it is whole: an error is an answer of its own. */
static int replay_json(struct session *s)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int status;

	if (!f)
		return fail_memory(s->q);
	json_begin(&s->j, f, s->q);
	json_array(&s->j, "transcripts");
	status = replay_files(s);
	if (status < STATUS_BAD_INPUT)
		json_end(&s->j);
	if (fclose(f))
		status = status < STATUS_BAD_INPUT ? fail_memory(s->q) : status;
	else if (status < STATUS_BAD_INPUT)
		fwrite(text, 1, len, stdout);
	free(text);
	return status;
}

int run_replay(struct request *q)
{
	struct session s = { .q = q };
	int status;

	if (q->options & OPTION_CHECK && q->layout_name)
		return fail(q, STATUS_BAD_INPUT, q->layout_name, NULL,
			    "replay --check has no option --layout, a transcript names its layout");
	if (q->options & OPTION_CHECK && q->options & OPTION_TRANSCRIPT)
		return fail(q, STATUS_BAD_INPUT, "transcript", NULL,
			    "replay has either --check or --transcript");
	if (!q->num_args && !isatty(STDIN_FILENO))
		return fail(q, STATUS_BAD_INPUT, "FILE", NULL,
			    "replay needs a FILE, or - for standard input");
	status = is_json(&s) ? replay_json(&s) : replay_files(&s);
	return status ? status : s.failed ? STATUS_BAD_INPUT : STATUS_OK;
}
