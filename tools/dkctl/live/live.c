// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Runs the subcommands for a running kernel, opens the client, and reports its errors. */
#include "live.h"
#include "nl/module_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char live_note[] = "";

/* Reports why the client cannot be opened. In another namespace, prints the command to type. */
int fail_open(struct request *q, int err, const struct dk_nl_error *why)
{
	if (err == -ENOENT && dkn_module_is_live())
		return fail(q, STATUS_KERNEL, NULL, NULL,
			    "dispatchkey.ko answers in the initial network namespace only; type: sudo nsenter -t 1 -n dkctl");
	return fail(q, err == -ENOMEM ? STATUS_SYSTEM : STATUS_KERNEL, NULL, NULL, "%s",
		    why->sentence);
}

/* Prints a word in single quotes if it has characters that are special in a shell. */
static void put_word(FILE *f, const char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:@,";

	if (*word && !word[strspn(word, plain)]) {
		fputs(word, f);
		return;
	}
	putc('\'', f);
	for (; *word; word++)
		fputs(*word == '\'' ? "'\\''" : (char[]){ *word, '\0' }, f);
	putc('\'', f);
}

/* Prints the command line with only those options that select what is shown. */
static void put_command(FILE *f, const struct request *q)
{
	bool has_dashes = false;
	int i;

	fprintf(f, "dkctl %s%s", q->subcommand->name,
		q->options & OPTION_USED ? " --used" : "");
	for (i = 0; i < q->num_args; i++) {
		if (*q->args[i] == '-' && !has_dashes) {
			fputs(" --", f);
			has_dashes = true;
		}
		putc(' ', f);
		put_word(f, q->args[i]);
	}
}

/* Even root can lack CAP_NET_ADMIN: in a container, or in a service that gives it up. */
static int fail_permission(struct live *v)
{
	struct text_stream t;
	int status;
	FILE *f;

	if (!geteuid())
		return fail(v->q, STATUS_KERNEL, NULL, NULL,
			    "this needs CAP_NET_ADMIN in the initial user namespace, which root does not have here, for example in a container");
	f = text_begin(&t);
	if (f)
		put_command(f, v->q);
	if (!f || !text_end(&t, f))
		return fail_memory(v->q);
	status = fail(v->q, STATUS_KERNEL, NULL, NULL,
		      "this needs root or CAP_NET_ADMIN; type: sudo %s", t.text);
	free(t.text);
	return status;
}

int fail_kernel(struct live *v, int err)
{
	int status = STATUS_KERNEL;

	if (err == -ENOMEM && !*dk_nl_why(client(v))->message)
		return fail_memory(v->q);
	if (err == -EPERM)
		return fail_permission(v);
	/* a word is wrong; for example, a name is too long */
	if (err == -EINVAL && *dk_nl_why(client(v))->value)
		status = STATUS_BAD_INPUT;
	return fail(v->q, status, NULL, NULL, "%s", dk_nl_strerror(client(v)));
}

struct dk_nl *client(struct live *v)
{
	struct dk_nl_error why = { .size = sizeof(why) };
	int err = v->nl ? 0 : dk_nl_open(NULL, &v->nl, &why);

	if (err)
		exit(close_output(fail_open(v->q, err, &why)));
	return v->nl;
}

static int run_live(struct request *q, int (*run)(struct live *v))
{
	struct live v = { .q = q, .next = q->args };
	int status = run(&v);

	names_end(&v);
	dk_nl_free(v.backends);
	dk_nl_close(v.nl);
	return status;
}

#define DEFINE_RUN_LIVE(name)			\
int run_live_##name(struct request *q)		\
{						\
	return run_live(q, live_##name);	\
}

LIVE_SUBCOMMANDS(DEFINE_RUN_LIVE)
