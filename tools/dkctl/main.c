// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl: the command line, its options and its subcommands. */
#include "dkctl.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

const struct subcommand subcommands[] = {
	{
		"layout", "[--describe] [NAME|FILE]", "the priority order of a layout, top down",
		"Prints every functionality of a layout, highest priority first, with its table\n"
		"entries, its bit in a keyset and its value as a key, then every backend, and the\n"
		"names of all layouts. NAME+trimmed is one with PyTorch's trimmed table.\n"
		"\n"
		"  --describe          print the layout as a text that --layout reads from a\n"
		"                      file, to begin with when you have a build with other keys\n",
		run_layout, OPTION_LAYOUT | OPTION_DESCRIBE, 0, 1,
		"  dkctl layout                  layout v1, highest priority first\n"
		"  dkctl layout pytorch-1.13     that of a release of PyTorch\n"
		"  dkctl layout --describe v1    as a text, to make one of your own from\n",
	}, {
		"key", "[NAME]", "what a key is: class, C name, number, set, table entry",
		"Prints the class of a key in words, its name in C, its value, its keyset, its\n"
		"table entry, its functionality and its backend. NAME is any name that PyTorch\n"
		"prints, one of its enumerators such as CatchAll, or the name in C, such as\n"
		"DK_AUTOGRAD_CPU. Without NAME it lists all keys.\n",
		run_key, OPTION_LAYOUT, 0, 1,
		"  dkctl key SparseCUDA           what is this key?\n"
		"  dkctl key DK_AUTOGRAD_CPU      the same by its name in C\n"
		"  dkctl key -l pytorch-1.13 CPU  its number in another release\n"
		"  dkctl key | grep -i cuda       all keys with CUDA in the name\n",
	}, {
		"alias", "NAME", "the runtime keys that an alias key stands for",
		"Prints the runtime keys that a function registered at an alias key can serve.\n",
		run_alias, OPTION_LAYOUT, 1, 1,
		"  dkctl alias Autograd                      the autograd keys\n"
		"  dkctl alias -j CompositeExplicitAutograd  the same of another alias, in JSON\n",
	}, {
		"keyset", "[--to NAME] SET", "a set: bits, names, top key, table entry",
		"SET is 0x..., or names joined by | or ',' (keys and backend bits), or what was\n"
		"printed as DispatchKeySet(...). PyTorch's printing leaves out functionalities\n"
		"without a backend and backends without a functionality; they stand below it.\n"
		"\n"
		"  --to NAME           the same set in another layout, by the names of its keys,\n"
		"                      and what was lost, renamed, changed or added; NAME may be\n"
		"                      whatever --layout takes\n",
		run_keyset, OPTION_LAYOUT | OPTION_TO, 1, -1,
		"  dkctl keyset 'CPU|AutogradCPU'      its bits, and the key that wins\n"
		"  dkctl keyset 0x1000010001           the names of these bits\n"
		"  dkctl keyset --to pytorch-2.6 MAIA  the same set in another release\n",
	}, {
		"schema", "TEXT|-", "is a schema right, and what is in it",
		"Reads a schema as PyTorch writes it, \"aten::neg(Tensor self) -> Tensor\", and\n"
		"prints it back with its arguments and what it returns. With - it reads one a\n"
		"line from standard input and prints them back, (none) as it is.\n",
		run_schema, 0, 0, 1,
		"  dkctl schema 'a::neg(Tensor self) -> Tensor'  its parts\n"
		"  dkctl schema -j 'a::b(int x=1) -> ()'         the same in JSON\n"
		"  echo 'a::b( int x) -> ()' | dkctl schema -    as PyTorch prints it\n",
	}, {
		"replay", "[--check] FILE|-", "run a transcript, or check its answers",
		"Runs the commands of a transcript against a dispatcher of its own and prints the\n"
		"answers. A line that begins with \"> \" is a command, the lines after it are its\n"
		"answer. With - it reads standard input, and is a prompt at a terminal.\n"
		"\n"
		"A command that is refused, although the transcript expects no error, is reported\n"
		"on standard error with its file and line, and the next commands run.\n"
		"\n"
		"  --check             compare the answers with those in FILE; an answer that is\n"
		"                      the one word error stands for any error\n"
		"  --transcript        print the commands, too: what --check reads\n"
		"  --force-resolve     ask the rules for every call, and not the tables\n",
		run_replay, OPTION_LAYOUT | OPTION_CHECK | OPTION_TRANSCRIPT |
			    OPTION_FORCE_RESOLVE, 0, -1,
		"  dkctl replay -                   a prompt, at a terminal\n"
		"  echo 'key CPU' | dkctl replay -  commands through a pipe\n"
		"  dkctl help replay | less         all commands\n",
	}, {
		"backend", "[show] [NAME] | set NAME offline|online | release NAME",
		"backends, and whether they serve",
		"Lists the backends that have functions, devices or a name of their own: state,\n"
		"how many devices and functions, and which providers joined them. With NAME, one\n"
		"of them; -s lists the unused ones, too.\n"
		"\n"
		"  set NAME offline    calls no longer go to its functions, and those that were\n"
		"                      inside have returned; as root, or with CAP_NET_ADMIN\n"
		"  set NAME online     they go there again\n"
		"  release NAME        unbind an unused name from its private backend, so that\n"
		"                      another name can get one of the three; as root, or with\n"
		"                      CAP_NET_ADMIN. Programs that keep objects of the old name\n"
		"                      must end first: the next name's functions would get them\n"
		"\n"
		"If a call is still running, dkctl names it. Ctrl-C stops waiting; the backend\n"
		"stays offline.\n",
		run_live, OPTIONS_LIVE, 0, -1,
		"  dkctl backend                  all that are in use\n"
		"  dkctl backend set edu offline  no more calls to its functions\n"
		"  dkctl backend set edu online   and again\n"
		"  dkctl backend release old      make room for another name\n",
	}, {
		"device", "[show] [NAME | backend NAME] | set NAME offline|online",
		"devices, and whether they serve",
		"Lists the devices, or those of a backend: state, how many functions, and which\n"
		"provider registered them. -s shows their numbers, too.\n"
		"\n"
		"  set NAME offline    calls no longer go to its functions, and those that were\n"
		"                      inside have returned; as root, or with CAP_NET_ADMIN\n"
		"  set NAME online     they go there again\n"
		"\n"
		"If a call is still running, dkctl names it. Ctrl-C stops waiting; the device\n"
		"stays offline.\n",
		run_live, OPTIONS_LIVE, 0, -1,
		"  dkctl device                   all devices\n"
		"  dkctl device backend edu       those of a backend\n"
		"  dkctl device set edu0 offline  take one out of use\n",
	}, {
		"provider", "[show] [NAME]", "drivers and others that register functions",
		"Lists who has registered what: module, how many operators it defines, how many\n"
		"functions and devices it has, which backends it has joined, and, where calls are\n"
		"counted, how many its functions served.\n",
		run_live, OPTIONS_LIVE, 0, -1,
		"  dkctl provider                which drivers registered functions?\n"
		"  dkctl provider dk_edu         one of them\n",
	}, {
		"op", "[show] [NAME | FILTER...]", "operators, or the functions of one",
		"Lists the operators; with NAME, shows one: its schema, who defines it, and every\n"
		"function that is registered for it, by key and newest first. -s shows schemas in\n"
		"the list, too.\n"
		"\n"
		"  FILTER is           prefix TEXT     whose name begins so\n"
		"                      key KEY         with a function at exactly this key\n"
		"                      backend NAME    with a function of this backend\n"
		"                      provider NAME   that it defines or has functions for\n",
		run_live, OPTIONS_LIVE, 0, -1,
		"  dkctl op                            all operators\n"
		"  dkctl op demo::add                  one, with its functions\n"
		"  dkctl op prefix demo:: backend edu  those that a backend has functions for\n",
	}, {
		"kernels", "[FILTER...]", "registered functions, and backend fallbacks",
		"Lists the registered functions by operator and key, newest first, and behind\n"
		"them the backend fallbacks. -s shows those that the registry was born with, too.\n"
		"\n"
		"  FILTER is           op NAME         of this operator\n"
		"                      key KEY         at exactly this key, also an alias key\n"
		"                      backend NAME    of this backend\n"
		"                      provider NAME   of this provider\n"
		"                      device NAME     of this device\n",
		run_live, OPTIONS_LIVE, 0, -1,
		"  dkctl kernels device edu0           the functions of a device\n"
		"  dkctl kernels op demo::add key CPU  at one key of an operator\n",
	}, {
		"table", "[--svg FILE] OP [device NAME]",
		"where calls of an operator go, as a grid",
		"Draws the computed table: a row a backend, a column a functionality that has an\n"
		"entry for each, and a cell for every other functionality, highest priority\n"
		"first. The letter of a cell is that of a function below the grid, its colour the\n"
		"rule that chose it. With a device, the table of calls for that device,\n"
		"which is the only one that has functions of the device.\n"
		"\n"
		"  --svg FILE          write the grid as a picture for documents; - is standard\n"
		"                      output\n",
		run_live, OPTIONS_LIVE | OPTION_SVG, 0, -1,
		"  dkctl table demo::add                     which function serves which key?\n"
		"  dkctl table demo::add device edu0         for objects on a device\n"
		"  dkctl table demo::add --svg - >table.svg  as a picture\n",
	}, {
		"route", "[-v] OP ARG... [include SET] [exclude SET]",
		"where a call goes, and why",
		"Asks the kernel where a call of OP with these arguments goes. An ARG is the name\n"
		"of a device, of a backend, or a set of keys in words or as 0x...; SET@DEVICE is\n"
		"such a set on a device.\n"
		"\n"
		"  include SET         with these keys included by the local state\n"
		"  exclude SET         with these keys excluded by it\n"
		"  -v, --verbose       why: what the sets are, what each rule says, and what each\n"
		"                      function has to do with it; so does the word explain\n",
		run_live, OPTIONS_LIVE | OPTION_VERBOSE, 0, -1,
		"  dkctl route demo::add edu0                     which function gets this call?\n"
		"  dkctl route -v demo::add 'CPU|AutogradCPU'     and why?\n"
		"  dkctl route demo::add CPU@edu0 include Tracer  in a tracer's scope\n",
	}, {
		"stats", "[show] [FILTER...] | on | off | reset | readers all|admins",
		"which functions served how many calls",
		"Shows how many calls of each operator each function served, where calls are\n"
		"counted, and in how many operators each backend was used at all.\n"
		"\n"
		"  FILTER is           op NAME         of this operator\n"
		"                      provider NAME   of this provider\n"
		"  --used              only what served a call\n"
		"  on, off             begin to count, or stop and give the memory back; as root,\n"
		"                      or with CAP_NET_ADMIN\n"
		"  reset               count from zero again, likewise\n"
		"  readers             set who may read the counters, likewise: all users, which\n"
		"                      is the default, or users with CAP_NET_ADMIN\n",
		run_live, OPTIONS_LIVE | OPTION_USED, 0, -1,
		"  dkctl stats on                begin to count\n"
		"  dkctl stats --used            which functions were called?\n"
		"  dkctl stats op demo::add      the counters of an operator\n",
	}, {
		"monitor", "", "what comes, goes and changes, as it happens",
		"Prints a line for each operator, function, backend and device that comes, goes\n"
		"or changes its state, with the time, until it is interrupted. With -j each line\n"
		"is an object of JSON.\n",
		run_live, OPTIONS_LIVE, 0, -1,
		"  dkctl monitor                 follow all changes\n"
		"  dkctl -j monitor              an object of JSON a line\n",
	}, {
		"limits", "[show] [NAME]", "how much there may be of what, and is",
		"Lists the limits of the kernel's registry, and how much of each is used. No\n"
		"option of the module and no privilege changes a limit:\n"
		"\n"
		"  private-backends    private backends that have a name, of those of layout v1;\n"
		"                      fixed by the ABI\n"
		"  name-length         bytes of a name; fixed by the ABI\n"
		"  devices             devices that are registered; fixed when the module is\n"
		"                      compiled\n"
		"  arguments           of an operator that is defined by a schema; fixed when the\n"
		"                      module is compiled\n"
		"  queued-events       events that wait to be sent; fixed when the module is\n"
		"                      compiled\n",
		run_live, OPTIONS_LIVE, 0, -1,
		"  dkctl limits                  all limits\n"
		"  dkctl limits devices          one of them\n",
	}, {
		"version", "", "versions of tool, library and module",
		"Prints the versions of the tool, of its library and of the module, and says\n"
		"which is older. It works without the module.\n",
		run_version, OPTIONS_LIVE, 0, 0,
		"  dkctl version                 of tool, library and module\n"
		"  dkctl -j version              in JSON\n",
	}, {
		"help", "[SUBCOMMAND]", "this help, or that of a subcommand",
		"Prints help.\n",
		run_help, 0, 0, 1,
		"  dkctl help                    all subcommands\n"
		"  dkctl help route              one of them\n",
	},
	{ NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL },
};

/* By its name or, as ip(8) does, by the beginning of it that no other one has. */
const struct subcommand *find_subcommand(const char *name)
{
	const struct subcommand *s, *found = NULL;
	unsigned int n = 0;

	for (s = subcommands; s->name; s++) {
		if (!strcmp(s->name, name))
			return s;
		if (*name && !strncmp(s->name, name, strlen(name))) {
			found = s;
			n++;
		}
	}
	return n == 1 ? found : NULL;
}

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

/* ---- options -------------------------------------------------------------- */

static const struct {
	const char *name;
	char letter;
	unsigned int option;
} options[] = {
	{ "json", 'j', OPTION_JSON },
	{ "pretty", 'p', OPTION_PRETTY | OPTION_JSON },
	{ "layout", 'l', OPTION_LAYOUT },
	{ "help", 'h', OPTION_HELP },
	{ "version", 'V', OPTION_VERSION },
	{ "check", 0, OPTION_CHECK },
	{ "transcript", 0, OPTION_TRANSCRIPT },
	{ "force-resolve", 0, OPTION_FORCE_RESOLVE },
	{ "to", 0, OPTION_TO },
	{ "describe", 0, OPTION_DESCRIBE },
	{ "statistics", 's', OPTION_STATISTICS },
	{ "color", 'c', OPTION_COLOR },
	{ "svg", 0, OPTION_SVG },
	{ "used", 0, OPTION_USED },
	{ "verbose", 'v', OPTION_VERBOSE },
};

#define NUM_OPTIONS	ARRAY_SIZE(options)

/* The command line as it is read; the first thing wrong is kept for later. */
struct reader {
	struct request *q;
	char **next;
	const char *bad;		/* the option that is wrong */
	const char *why;
};

static void refuse(struct reader *r, const char *option, const char *why)
{
	if (!r->bad) {
		r->bad = option;
		r->why = why;
	}
}

/* The value of an option that has one. */
static void take_value(struct reader *r, const char *word, unsigned int option,
		       const char *value)
{
	if (!value)
		refuse(r, word, option == OPTION_SVG ? "needs the name of a file" :
			"needs the name of a layout");
	if (option == OPTION_TO)
		r->q->to_name = value;
	else if (option == OPTION_SVG)
		r->q->svg_name = value;
	else
		r->q->layout_name = value;
}

/* @value stands in the same word, or is NULL. */
static void take_option(struct reader *r, const char *word, unsigned int option,
			const char *value)
{
	if (option == OPTION_COLOR) {
		if (!color_parse(value ? value : "always", &r->q->color))
			refuse(r, word, "has to be always, auto or never");
	} else if (option & OPTIONS_WITH_VALUE) {
		if (!value && *r->next)
			value = *r->next++;
		take_value(r, word, option, value);
	} else if (value) {
		refuse(r, word, "takes no value");
		return;
	}
	r->q->options |= option;
}

static void take_long(struct reader *r, const char *word)
{
	const char *equals = strchr(word, '=');
	size_t i, len = equals ? (size_t)(equals - word) : strlen(word);

	for (i = 0; i < NUM_OPTIONS; i++) {
		if (strlen(options[i].name) == len - 2 &&
		    !memcmp(options[i].name, word + 2, len - 2)) {
			take_option(r, word, options[i].option, equals ? equals + 1 : NULL);
			return;
		}
	}
	refuse(r, word, NULL);
}

static void take_short(struct reader *r, const char *word)
{
	const char *s;
	size_t i;

	for (s = word + 1; *s; s++) {
		for (i = 0; i < NUM_OPTIONS && options[i].letter != *s; i++)
			;
		if (i == NUM_OPTIONS) {
			refuse(r, word, NULL);
			return;
		}
		if (s[1] == '=' && options[i].option == OPTION_COLOR) {
			take_option(r, word, OPTION_COLOR, s + 2);
			return;
		}
		if (options[i].option != OPTION_LAYOUT) {
			take_option(r, word, options[i].option, NULL);
			continue;
		}
		take_option(r, word, OPTION_LAYOUT, s[1] ? s + 1 : NULL);
		return;
	}
}

/* Options anywhere; the other words are moved to the front of @argv. */
static void read_options(struct reader *r, char **argv)
{
	char **out = argv + 1, *word;

	r->next = argv + 1;
	while ((word = *r->next)) {
		r->next++;
		if (!strcmp(word, "--"))
			break;
		if (!strncmp(word, "--", 2))
			take_long(r, word);
		else if (word[0] == '-' && word[1])
			take_short(r, word);
		else
			*out++ = word;
	}
	while (*r->next)
		*out++ = *r->next++;
	*out = NULL;
}

static int fail_option(struct reader *r)
{
	struct suggestion s;
	char name[32];
	size_t i;

	if (r->why)
		return fail(r->q, STATUS_BAD_INPUT, r->bad, NULL, "option %.100s %s",
			    r->bad, r->why);
	suggest_begin(&s, r->bad);
	for (i = 0; i < NUM_OPTIONS; i++) {
		snprintf(name, sizeof(name), "--%s", options[i].name);
		suggest_try(&s, name);
	}
	return fail(r->q, STATUS_BAD_INPUT, r->bad, suggest_end(&s),
		    "unknown option %.100s", r->bad);
}

/* ---- the subcommand ------------------------------------------------------- */

static int check_options(struct request *q, const struct subcommand *s)
{
	unsigned int extra = q->options & ~(s->options | OPTIONS_GLOBAL);
	size_t i;

	for (i = 0; i < NUM_OPTIONS; i++) {
		if (extra & options[i].option)
			return fail(q, STATUS_BAD_INPUT, options[i].name, NULL,
				    "%s has no option --%s", s->name, options[i].name);
	}
	return STATUS_OK;
}

/* Options come before it. */
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
			    "%s needs a %s, as in \"dkctl %s %s\"", s->name,
			    last_word(s->usage), s->name, s->usage);
	if (s->max_args >= 0 && q->num_args > s->max_args)
		return fail(q, STATUS_BAD_INPUT, q->args[s->max_args], NULL,
			    "%s has one word too many: \"%.127s\"", s->name,
			    q->args[s->max_args]);
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

	color_parse("auto", &q.color);
	read_options(&r, argv);
	if (r.bad)
		return fail_option(&r);
	if (q.options & OPTION_VERSION && argv[1])
		return fail(&q, STATUS_BAD_INPUT, argv[1], NULL,
			    "option --version has one word too many: \"%.127s\"", argv[1]);
	if (q.options & OPTION_VERSION)
		return show_version(&q);
	if (!argv[1])
		return show_help(&q, NULL);
	s = find_subcommand(argv[1]);
	if (!s)
		return fail_subcommand(&q, argv[1]);
	q.subcommand = s;
	q.args = argv + 2;
	while (q.args[q.num_args])
		q.num_args++;
	return run_subcommand(&q, s);
}

/* A reader that has seen enough is no error. */
int close_output(int status)
{
	bool failed = ferror(stdout);

	errno = 0;
	if (fclose(stdout))
		failed = true;
	if (!failed || errno == EPIPE)
		return status;
	fprintf(stderr, "dkctl: cannot write the output: %s\n",
		errno ? strerror(errno) : "an earlier write failed");
	return STATUS_SYSTEM;
}

int main(int argc, char **argv)
{
	(void)argc;
	signal(SIGPIPE, SIG_IGN);
	/* a sentence goes out in one piece */
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
	return close_output(run(argv));
}
