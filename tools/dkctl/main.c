// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl: reads the command line and runs the subcommand. */
#include "dkctl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

int show_version(struct request *q)
{
	struct json j;

	if (!(q->options & OPTION_JSON)) {
		printf("dkctl %s (ABI %u, layout %s)\n", dk_version(), DK_ABI_VERSION,
		       DK_LAYOUT_NAME);
		return STATUS_OK;
	}
	json_begin(&j, stdout, q);
	json_string(&j, "version", dk_version());
	json_uint(&j, "abi", DK_ABI_VERSION);
	json_string(&j, "layout", DK_LAYOUT_NAME);
	json_end(&j);
	return STATUS_OK;
}

/* ---- the subcommand ------------------------------------------------------- */

/* Returns the last word of a usage, in which words follow the options. */
static const char *last_word(const char *usage)
{
	const char *blank = strrchr(usage, ' ');

	return blank ? blank + 1 : usage;
}

static bool asks_for_help(const struct request *q, const struct subcommand *s)
{
	return q->options & OPTION_HELP ||
	       (s->options & OPTION_STATISTICS && q->num_args && !strcmp(q->args[0], "help"));
}

static int run_subcommand(struct request *q, const struct subcommand *s)
{
	int status;

	if (asks_for_help(q, s))
		return show_help(q, s);
	status = check_options(q, s);
	if (status)
		return status;
	if (q->num_args < s->min_args)
		return fail(q, STATUS_BAD_INPUT, last_word(s->usage), NULL,
			    "%s needs a %s: use \"dkctl %s %s\"", s->name,
			    last_word(s->usage), s->name, s->usage);
	if (s->max_args >= 0 && q->num_args > s->max_args)
		return fail(q, STATUS_BAD_INPUT, q->args[s->max_args], NULL,
			    "unexpected word \"%.127s\": use \"dkctl %s%s%s\"",
			    q->args[s->max_args], s->name, *s->usage ? " " : "", s->usage);
	q->layout = open_layout(q, q->layout_name ? q->layout_name : DK_LAYOUT_NAME, &status);
	if (q->layout)
		status = s->run(q);
	while (q->num_opened)
		dk_layout_free(q->opened[--q->num_opened]);
	return status;
}

static int run(char **argv)
{
	struct request q = { .options = 0 };
	struct reader r = { .q = &q };
	const struct subcommand *s;

	if (argv[1] && !strcmp(argv[1], COMPLETE))
		return run_complete(argv + 2);
	color_parse("auto", &q.color);
	read_options(&r, argv);
	if (r.bad)
		return fail_option(&r);
	if (q.options & OPTION_VERSION && argv[1])
		return fail(&q, STATUS_BAD_INPUT, argv[1], NULL,
			    "unexpected word \"%.127s\": use \"dkctl --version\" alone", argv[1]);
	if (q.options & OPTION_VERSION)
		return show_version(&q);
	if (!argv[1])
		return show_help(&q, NULL);
	s = find_subcommand(argv[1]);
	if (!s)
		return fail_subcommand(&q, argv + 1);
	q.subcommand = s;
	q.args = argv + 2;
	while (q.args[q.num_args])
		q.num_args++;
	return run_subcommand(&q, s);
}

int fail_output(int error)
{
	fprintf(stderr, "dkctl: cannot write the output: %s\n",
		error ? strerror(error) : "an earlier write failed");
	return STATUS_SYSTEM;
}

static int output_error;	/* of put_output() or flush_output() */

void put_output(const char *text, size_t len)
{
	if (fwrite(text, 1, len, stdout) < len && !output_error)
		output_error = errno;
}

void flush_output(void)
{
	if (fflush(stdout) && !output_error)
		output_error = errno;
}

static atomic_bool is_pipe_closed;

static void on_closed_pipe(int signal)
{
	(void)signal;
	is_pipe_closed = true;
}

/*
 * It is not an error if the reader closes the pipe early. fclose() does not set errno if an earlier
 * write failed and nothing is left to write. Then is_pipe_closed shows whether the pipe was closed.
 */
int close_output(int status)
{
	bool failed = ferror(stdout);

	errno = 0;
	if (fclose(stdout))
		failed = true;
	if (!failed || errno == EPIPE || (!errno && is_pipe_closed))
		return status;
	return fail_output(errno ? errno : output_error);
}

/*
 * Opens those of the standard streams that are closed. Otherwise a socket or file that is opened
 * later would have the number of one of them, and get its text.
 */
static void open_streams(void)
{
	/* reading from standard input fails, as it would if it were still closed */
	int fd = open("/dev/null", O_WRONLY);

	while (fd >= 0 && fd < STDERR_FILENO)
		fd = dup(fd);
	if (fd > STDERR_FILENO)
		close(fd);
}

int main(int argc, char **argv)
{
	(void)argc;
	signal(SIGPIPE, on_closed_pipe);
	if (fcntl(STDOUT_FILENO, F_GETFD) < 0)
		return fail_output(errno);
	open_streams();
	/* write whole lines, so that messages of concurrent processes do not mix within a line */
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
	return close_output(run(argv));
}
