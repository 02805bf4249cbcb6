// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl replay: runs transcripts. */
#include "replay_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

int session_fail_read(struct session *s, int err)
{
	return fail(s->q, err == ENOMEM ? STATUS_SYSTEM : STATUS_BAD_INPUT, s->name, NULL,
		    "cannot read \"%.500s\": %s", s->name, strerror(err));
}

int session_fail_empty(struct session *s)
{
	return fail(s->q, STATUS_BAD_INPUT, s->name, NULL,
		    "\"%.500s\" has no command: start each command line with \"> \"",
		    s->name);
}

/* Refusals, as the interpreter words them. */
static const char unknown_command[] = "unknown command: ";
static const char unexpected_word[] = "unexpected word: ";

/* ---- running -------------------------------------------------------------- */

static void try_line(struct suggestion *near, const char *line, size_t len)
{
	char name[DK_NAME_MAX];

	if (len < sizeof(name)) {
		memcpy(name, line, len);
		name[len] = '\0';
		suggest_try(near, name);
	}
}

/* A transcript must define the same names as the commands: prints UTF-8 unchanged. */
static void put_line(const struct session *s, const char *line, size_t len)
{
	if (s->q->options & OPTION_TRANSCRIPT)
		print_utf8(stdout, line, len);
	else
		print_escaped(stdout, line, len);
}

static void emit_line(struct session *s, const char *line, size_t len)
{
	if (s->near) {
		try_line(s->near, line, len);
	} else if (is_json(s)) {
		json_string_len(&s->j, NULL, line, len);
	} else {
		if (s->at_prompt)
			put_broken(stdout, line, len, 4);
		else
			put_line(s, line, len);
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

/* Prints the usage of a command or, if it is unknown, suggests the most similar one. */
void session_put_usage(FILE *f, const char *command)
{
	struct suggestion near;

	if (help_command(f, command, strlen(command)))
		return;
	suggest_begin(&near, command);
	suggest_commands(&near);
	if (suggest_end(&near))
		fprintf(f, "did you mean \"%s\"?\n", suggest_end(&near));
	else
		fprintf(f, "\"help\" lists the commands\n");
}

static const char *skip_blanks(const char *line)
{
	return line + strspn(line, " \t");
}

static size_t word_len(const char *line)
{
	return strcspn(line, " \t");
}

static const char *second_word(const char *line)
{
	line = skip_blanks(line);
	return skip_blanks(line + word_len(line));
}

static bool begins_with(const char *line, const char *word)
{
	line = skip_blanks(line);
	return is_word(line, word_len(line), word);
}

static bool is_help(const char *line)
{
	return begins_with(line, "help");
}

static bool begins_with_quit(const char *line)
{
	return begins_with(line, "quit") || begins_with(line, "exit");
}

bool session_is_quit(const char *line)
{
	return begins_with_quit(line) && !*second_word(line);
}

bool session_is_own(const char *line)
{
	return is_help(line) || begins_with_quit(line);
}

const char *session_unknown_command(const struct session *s)
{
	size_t len = sizeof(unknown_command) - 1;

	return strncmp(s->refusal, unknown_command, len) ? NULL : s->refusal + len;
}

static int fail_help(struct session *s)
{
	static const char text[] = "error: out of memory\n";

	emit(s, text, sizeof(text) - 1);
	return -ENOMEM;
}

/* Answers with an error that names the first word of @line. */
static int refuse_word(struct session *s, const char *why, const char *line)
{
	struct text_stream t;
	FILE *f = text_begin(&t);

	if (!f)
		return fail_help(s);
	fprintf(f, "error: %s%.*s\n", why, (int)word_len(line), line);
	if (!text_end(&t, f))
		return fail_help(s);
	emit(s, t.text, t.len);
	free(t.text);
	return -EINVAL;
}

/* Answers "help" or "help COMMAND". */
static int answer_help(struct session *s, const char *command)
{
	bool is_known = true;
	struct text_stream t;
	FILE *f;

	if (*second_word(command))
		return refuse_word(s, unexpected_word, second_word(command));
	f = text_begin(&t);
	if (!f)
		return fail_help(s);
	if (*command)
		is_known = help_command(f, command, word_len(command));
	else
		help_transcript(f);
	if (!*command && s->at_prompt)
		fprintf(f, "\n\"help COMMAND\" shows one of them, \"quit\" ends.\n");
	if (!text_end(&t, f))
		return fail_help(s);
	if (is_known)
		emit(s, t.text, t.len);
	free(t.text);
	return is_known ? 0 : refuse_word(s, unknown_command, command);
}

static int answer(struct session *s, struct dk_replay *r, const char *line, size_t len)
{
	if (s->has_help && is_help(line))
		return answer_help(s, second_word(line));
	/* without another word, quit ends dkctl */
	if (s->has_help && begins_with_quit(line))
		return refuse_word(s, unexpected_word, second_word(line));
	return dk_replay_line(r, line, len);
}

int session_run_command(struct session *s, struct dk_replay *r, const char *line, size_t len)
{
	int err;

	if (!is_json(s)) {
		if (s->q->options & OPTION_TRANSCRIPT) {
			printf("> ");
			put_line(s, line, len);
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

/* Creates the interpreter, with the layout of --layout. */
static struct dk_replay *begin(struct session *s)
{
	struct dk_replay *r = dk_replay_alloc(registry_flags(s->q), emit, s);

	if (r && s->q->layout_name)
		dk_replay_use_layout(r, s->q->layout);
	return r;
}

/* ---- refusals ------------------------------------------------------------- */

/* Keeps a refusal until the next line shows whether the transcript expects it. */
static void keep_refusal(struct session *s)
{
	s->is_unknown = session_unknown_command(s);
	/* --transcript prints the command above the answer */
	if (s->is_unknown || !(s->q->options & OPTION_TRANSCRIPT))
		s->refused_line = s->line;
}

/* Reports a kept refusal unless the transcript expects it. @next is the next line, or NULL. */
static void report_refusal(struct session *s, const char *next)
{
	const char *hint = "";
	struct suggestion near;

	if (s->refused_line && !(next && !strncmp(next, "error", 5))) {
		if (s->is_unknown) {
			suggest_begin(&near, session_unknown_command(s));
			suggest_commands(&near);
			hint = suggest_end(&near) ? near.best : "";
		}
		print_notice("%.300s:%lu: %s%s%s%s", s->name, s->refused_line, s->refusal,
			     *hint ? "; did you mean \"" : "", hint, *hint ? "\"?" : "");
		s->failed |= s->is_unknown;
	}
	s->refused_line = 0;
}

/* Replaces the newline by a NUL. */
static size_t end_line(char *line, size_t len)
{
	if (len && line[len - 1] == '\n')
		len--;
	line[len] = '\0';
	return len;
}

/*
 * If the first line of standard input does not begin with "> ", standard input is a list of
 * commands and not a transcript.
 */
static int run_lines(struct session *s, struct dk_replay *r, FILE *f)
{
	bool bare = false;
	unsigned long commands = 0;
	char *line = NULL, *command;
	size_t len;
	ssize_t got;
	int err;

	s->has_help = f == stdin;
	for (s->line = 1; (got = read_line(&line, f)) >= 0; s->line++) {
		len = end_line(line, (size_t)got);
		if (s->line == 1 && f == stdin)
			bare = strncmp(line, "> ", 2);
		report_refusal(s, bare ? NULL : line);
		if (bare ? !len : strncmp(line, "> ", 2))
			continue;
		command = bare ? line : line + 2;
		if (s->has_help && session_is_quit(command))
			break;
		if (session_run_command(s, r, command, len - (size_t)(command - line)))
			keep_refusal(s);
		commands++;
	}
	/* errno, not ferror(): read_line() may also have failed to allocate memory */
	err = got < 0 && !feof(f) ? errno : 0;
	report_refusal(s, NULL);
	free(line);
	if (err)
		return session_fail_read(s, err);
	return commands ? STATUS_OK : session_fail_empty(s);
}

static int run_transcript(struct session *s, FILE *f)
{
	struct dk_replay *r = begin(s);
	int status;

	if (!r)
		return fail_memory(s->q);
	if (f == stdin && isatty(STDIN_FILENO) && !is_json(s)) {
		status = session_prompt(s, r);
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
	status = s->q->options & OPTION_CHECK ? session_check(s, f) : run_transcript(s, f);
	close_transcript(f);
	if (is_json(s) && status < STATUS_BAD_INPUT)
		json_close(&s->j);
	return status;
}

/* Stops at the first file that cannot be read. */
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

/* Buffers JSON until it is complete, because an error is printed as a document of its own. */
static int replay_json(struct session *s)
{
	struct text_stream t;
	FILE *f = text_begin(&t);
	int status;

	if (!f)
		return fail_memory(s->q);
	json_begin(&s->j, f, s->q);
	json_array(&s->j, "transcripts");
	status = replay_files(s);
	if (status < STATUS_BAD_INPUT)
		json_end(&s->j);
	if (!text_end(&t, f))
		return status < STATUS_BAD_INPUT ? fail_memory(s->q) : status;
	if (status < STATUS_BAD_INPUT)
		put_output(t.text, t.len);
	free(t.text);
	return status;
}

int run_replay(struct request *q)
{
	struct session s = { .q = q };
	int status;

	if (q->options & OPTION_CHECK && q->layout_name)
		return fail(q, STATUS_BAD_INPUT, q->layout_name, NULL,
			    "replay --check has no option --layout: use the command \"layout NAME\" in the transcript");
	if (q->options & OPTION_CHECK && q->options & OPTION_TRANSCRIPT)
		return fail(q, STATUS_BAD_INPUT, "--transcript", NULL,
			    "replay has --check and --transcript, but not both: use one of them");
	if (!q->num_args && !isatty(STDIN_FILENO))
		return fail(q, STATUS_BAD_INPUT, "FILE", NULL,
			    "replay needs a FILE, or \"-\" for standard input");
	status = is_json(&s) ? replay_json(&s) : replay_files(&s);
	return status ? status : s.failed ? STATUS_BAD_INPUT : STATUS_OK;
}
