// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Lists the subcommands, with the words, options, help and examples of each. */
#include "dkctl.h"

#include <string.h>

/* ---- words and options, as the help describes them ------------------------- */

static const struct term layout_terms[] = {
	{ "--describe",
	  "print the layout in the format of the files that --layout\n"
	  "reads, as a template for a PyTorch build with other keys", NULL },
	{ }
};

static const struct term keyset_terms[] = {
	{ "--to NAME",
	  "translate the set to another layout by the names of its\n"
	  "keys, and list what is lost, renamed, changed or added;\n"
	  "NAME is as for --layout", NULL },
	{ }
};

static const struct term replay_terms[] = {
	{ "--check",
	  "compare the answers with those in FILE; the answer \"error\"\n"
	  "matches any error", NULL },
	{ "--transcript", "print the commands as well, in the format of --check", NULL },
	{ "--force-resolve", "resolve every call by the rules, not by the tables", NULL },
	{ }
};

/* The terms of the words that switch a backend or a device. */
#define SWITCH_TERMS								\
	{ "set NAME offline",							\
	  "send no more calls to its functions, and wait for running\n"	\
	  "calls to return; needs root or CAP_NET_ADMIN", NULL },		\
	{ "set NAME online",							\
	  "send calls to its functions again; needs root or\n"		\
	  "CAP_NET_ADMIN", NULL }

static const struct term backend_terms[] = {
	SWITCH_TERMS,
	{ "release NAME",
	  "unbind an unused name from its private backend, which can\n"
	  "then get another name; needs root or CAP_NET_ADMIN. First\n"
	  "end all programs that keep objects of the old name: their\n"
	  "calls would reach the functions of the new name", NULL },
	{ }
};

static const struct term device_terms[] = {
	SWITCH_TERMS,
	{ }
};

static const struct term op_terms[] = {
	{ "prefix TEXT", "name begins with TEXT", "FILTER" },
	{ "key KEY", "has a function at exactly this key", "FILTER" },
	{ "backend NAME", "has a function of this backend", "FILTER" },
	{ "provider NAME", "defined by it, or has a function of it", "FILTER" },
	{ }
};

static const struct term kernels_terms[] = {
	{ "op NAME", "of this operator", "FILTER" },
	{ "key KEY", "at exactly this key or alias key", "FILTER" },
	{ "backend NAME", "of this backend", "FILTER" },
	{ "provider NAME", "of this provider", "FILTER" },
	{ "device NAME", "of this device", "FILTER" },
	{ }
};

static const struct term table_terms[] = {
	{ "--svg FILE", "write the grid as an SVG picture; - is standard output", NULL },
	{ }
};

static const struct term route_terms[] = {
	{ "include SET", "add keys to the included set of the local state", NULL },
	{ "exclude SET", "add keys to the excluded set of the local state", NULL },
	{ "-v, --verbose",
	  "explain the sets, the rules, and the effect of each\n"
	  "function; the word explain does the same", NULL },
	{ }
};

static const struct term stats_terms[] = {
	{ "op NAME", "of this operator", "FILTER" },
	{ "provider NAME", "of this provider", "FILTER" },
	{ "--used", "only functions that served a call", NULL },
	{ "on, off", "start to count calls, or stop and free the memory", NULL },
	{ "reset", "set all counters to zero", NULL },
	{ "readers",
	  "who may read the counters: all users (the default), or\n"
	  "admins, which are the users with CAP_NET_ADMIN", NULL },
	{ }
};

static const struct term limits_terms[] = {
	{ "private-backends", "private backends with a name; fixed by layout v1", NULL },
	{ "name-length", "bytes of a name; fixed by the ABI", NULL },
	{ "devices", "registered devices; fixed when the module is compiled", NULL },
	{ "arguments",
	  "arguments that the declaration of an operator describes;\n"
	  "fixed when the module is compiled", NULL },
	{ "queued-events",
	  "events that are not sent yet; fixed when the module is\n"
	  "compiled", NULL },
	{ }
};

/* ---- the table --------------------------------------------------------------- */

const struct subcommand subcommands[] = {
	{
		"layout", "[--describe] [NAME|FILE]", "a layout, highest priority first",
		"Prints every functionality of a layout, highest priority first, with its table\n"
		"entries, its bit in a keyset and its value as a key. Then come the backends and\n"
		"the names of all layouts. v1+trimmed, pytorch-2.14+trimmed and\n"
		"pytorch-1.13+trimmed are the layouts with PyTorch's trimmed table.\n",
		run_layout, OPTION_LAYOUT | OPTION_DESCRIBE, 0, 1,
		.examples =
		"  dkctl layout                  layout v1, highest priority first\n"
		"  dkctl layout pytorch-1.13     the layout of a PyTorch release\n"
		"  dkctl layout --describe v1    as a template for a layout file\n",
		.terms = layout_terms,
	}, {
		"key", "[NAME]", "properties of a key: class, C name, value, set, table entry",
		"Prints the class of a key, its name in C, its value, its keyset, its table\n"
		"entry, its functionality and its backend. NAME is a name that PyTorch prints, a\n"
		"PyTorch enumerator such as CatchAll, a name in C such as DK_AUTOGRAD_CPU, or a\n"
		"value. Without NAME, lists all keys.\n",
		run_key, OPTION_LAYOUT, 0, 1,
		.examples =
		"  dkctl key SparseCUDA           what is this key?\n"
		"  dkctl key DK_AUTOGRAD_CPU      the same key, by its name in C\n"
		"  dkctl key -l pytorch-1.13 CPU  its number in another release\n"
		"  dkctl key | grep -i cuda       all keys with CUDA in the name\n",
	}, {
		"alias", "NAME", "the runtime keys of an alias key",
		"Prints the runtime keys that a function registered at the alias key can serve.\n",
		run_alias, OPTION_LAYOUT, 1, 1,
		.examples =
		"  dkctl alias Autograd                      the autograd keys\n"
		"  dkctl alias -j CompositeExplicitAutograd  another alias key, in JSON\n",
	}, {
		"keyset", "[--to NAME] SET", "a set: bits, names, top key, table entry",
		"SET is 0x..., or names of keys and backend bits joined by | or ',', or PyTorch's\n"
		"printed form DispatchKeySet(...). That form omits per-backend functionalities if\n"
		"the set has no backend, and backends if it has no such functionality; dkctl\n"
		"lists them separately.\n",
		run_keyset, OPTION_LAYOUT | OPTION_TO, 1, -1,
		.examples =
		"  dkctl keyset 'CPU|AutogradCPU'      its bits, and its top key\n"
		"  dkctl keyset 0x1000010001           the names of these bits\n"
		"  dkctl keyset --to pytorch-2.6 MAIA  the same set in another release\n",
		.terms = keyset_terms,
	}, {
		"schema", "TEXT|-", "check a schema and print its parts",
		"Parses a schema in PyTorch's notation, \"aten::neg(Tensor self) -> Tensor\", and\n"
		"prints it as PyTorch does, with its arguments and return values. With -, reads a\n"
		"schema from each line of standard input, and prints it. Prints a line \"(none)\"\n"
		"unchanged.\n",
		run_schema, 0, 0, 1,
		.examples =
		"  dkctl schema 'a::neg(Tensor self) -> Tensor'  its parts\n"
		"  dkctl schema -j 'a::b(int x=1) -> ()'         the same in JSON\n"
		"  echo 'a::b( int x) -> ()' | dkctl schema -    as PyTorch prints it\n",
	}, {
		"replay", "[--check] FILE... | -", "run a transcript, or check its answers",
		"Runs the commands of a transcript in a new dispatcher and prints the answers. A\n"
		"line that begins with \"> \" is a command, and the lines after it are its answer.\n"
		"With -, reads standard input. At a terminal, this is a prompt.\n"
		"\n"
		"An unexpected error is reported on standard error with its file and line, and\n"
		"the remaining commands run. A transcript expects an error if the next line\n"
		"begins with the word \"error\".\n",
		run_replay, OPTION_LAYOUT | OPTION_CHECK | OPTION_TRANSCRIPT |
			    OPTION_FORCE_RESOLVE, 0, -1,
		.examples =
		"  dkctl replay -                   a prompt, at a terminal\n"
		"  echo 'key CPU' | dkctl replay -  commands through a pipe\n"
		"  dkctl help replay | less         all commands\n",
		.terms = replay_terms,
	}, {
		"backend", "[show] [NAME] | set NAME offline|online | release NAME",
		"list backends, take them offline or online",
		"Lists the backends that have functions, devices or a private name. For each,\n"
		"prints its state, the number of its devices and functions, and the providers\n"
		"that joined it. NAME selects one backend; -s lists unused backends as well.\n",
		run_live_backend, OPTIONS_LIVE, 0, -1,
		.examples =
		"  dkctl backend                  all backends in use\n"
		"  dkctl backend set edu offline  take one out of use\n"
		"  dkctl backend set edu online   put it back in use\n"
		"  dkctl backend release old      free a private backend for another name\n",
		.terms = backend_terms,
		.note =
		"If a call is still running, dkctl names it. Ctrl-C stops waiting; the backend\n"
		"stays offline.\n",
	}, {
		"device", "[show] [NAME | backend NAME] | set NAME offline|online",
		"list devices, take them offline or online",
		"Lists all devices, or those of a backend. For each, prints its state, the number\n"
		"of its functions, and the provider that registered it. -s shows the device\n"
		"numbers as well.\n",
		run_live_device, OPTIONS_LIVE, 0, -1,
		.examples =
		"  dkctl device                   all devices\n"
		"  dkctl device backend edu       the devices of a backend\n"
		"  dkctl device set edu0 offline  take one out of use\n",
		.terms = device_terms,
		.note =
		"If a call is still running, dkctl names it. Ctrl-C stops waiting; the device\n"
		"stays offline.\n",
	}, {
		"provider", "[show] [NAME]", "list the drivers that register functions",
		"Lists the providers: drivers and other modules that register functions. For\n"
		"each, prints its module, the number of its operators, functions and devices, the\n"
		"backends that it joined and, if calls are counted, the number of calls that it\n"
		"served. For a provider that is being unregistered, also lists up to 8 calls that\n"
		"are still running, if you are root or have CAP_NET_ADMIN.\n",
		run_live_provider, OPTIONS_LIVE, 0, -1,
		.examples =
		"  dkctl provider                all providers\n"
		"  dkctl provider dk_edu         one of them\n",
	}, {
		"op", "[show] [NAME | FILTER...]",
		"list operators, or the functions of an operator",
		"Lists the operators. With NAME, shows one operator: its schema, the provider\n"
		"that defines it, and its functions by key, newest first. -s shows schemas in the\n"
		"list as well. If several of the filters key, backend and provider are given, one\n"
		"and the same function must match all of them, and the provider that defines the\n"
		"operator is ignored.\n",
		run_live_op, OPTIONS_LIVE, 0, -1,
		.examples =
		"  dkctl op                            all operators\n"
		"  dkctl op demo::add                  one, with its functions\n"
		"  dkctl op prefix demo:: backend edu  those with functions of a backend\n",
		.terms = op_terms,
	}, {
		"kernels", "[FILTER...]", "list functions and backend fallbacks",
		"Lists the registered functions by operator and key, newest first, then the\n"
		"backend fallbacks. -s shows the builtin fallbacks as well.\n",
		run_live_kernels, OPTIONS_LIVE, 0, -1,
		.examples =
		"  dkctl kernels device edu0           the functions of a device\n"
		"  dkctl kernels op demo::add key CPU  at one key of an operator\n",
		.terms = kernels_terms,
	}, {
		"table", "[--svg FILE] OP [device NAME]",
		"draw the computed table of an operator",
		"Draws the computed table as a grid. Rows are backends, columns are the\n"
		"functionalities with one entry per backend. A list of the other functionalities\n"
		"follows, highest priority first. The letter of a cell stands for a function that\n"
		"is named below the grid. Its colour stands for the rule that selected the\n"
		"function. With a device, draws the table for calls on that device. Only this\n"
		"table has the device's functions.\n",
		run_live_table, OPTIONS_LIVE | OPTION_SVG, 0, -1,
		.examples =
		"  dkctl table demo::add                     the function of each key\n"
		"  dkctl table demo::add device edu0         for calls on a device\n"
		"  dkctl table demo::add --svg - >table.svg  as a picture\n",
		.terms = table_terms,
	}, {
		"route", "[-v] OP ARG... [include SET] [exclude SET]",
		"show which function serves a call, and why",
		"Shows which function would serve a call of OP, without making the call. Each ARG\n"
		"stands for an argument of the call. It is the name of a device or a backend, or\n"
		"a set of keys: names or 0x... SET@DEVICE is a set of keys on a device.\n"
		"\n"
		"If a device has the same name as a key or a backend, the name means the device.\n"
		"To mean the key CPU, write DispatchKeySet(CPU). To mean a backend, write its\n"
		"key, such as PrivateUse1. The words include, exclude and explain never mean a\n"
		"device: write SET@DEVICE, such as PrivateUse1@include.\n",
		run_live_route, OPTIONS_LIVE | OPTION_VERBOSE, 0, -1,
		.examples =
		"  dkctl route demo::add edu0                     which function is called?\n"
		"  dkctl route -v demo::add 'CPU|AutogradCPU'     and why?\n"
		"  dkctl route demo::add CPU@edu0 include Tracer  in a tracer's scope\n",
		.terms = route_terms,
	}, {
		"stats", "[show] [FILTER...] | on | off | reset | readers all|admins",
		"count the calls of each function",
		"Shows the number of calls that each function served, if calls are counted, and\n"
		"the number of operators that each backend served.\n",
		run_live_stats, OPTIONS_LIVE | OPTION_USED, 0, -1,
		.examples =
		"  dkctl stats on                start to count\n"
		"  dkctl stats --used            functions that were called\n"
		"  dkctl stats op demo::add      the counters of an operator\n",
		.terms = stats_terms,
		.note =
		"Any change needs root or CAP_NET_ADMIN.\n",
	}, {
		"monitor", "", "print changes as they happen",
		"Prints a line with the time whenever an operator, function, provider, backend or\n"
		"device is added, is removed or changes its state, and when events were lost.\n"
		"Ctrl-C ends it. With -j, each line is a JSON object. Its member \"number\" is the\n"
		"number of the backend or device. For a function, it is the number of the device\n"
		"to which the function belongs. A member is null if it is unknown.\n",
		run_live_monitor, OPTIONS_LIVE, 0, -1,
		.examples =
		"  dkctl monitor                 follow all changes\n"
		"  dkctl -j monitor              a JSON object per line\n",
	}, {
		"limits", "[show] [NAME]", "list limits, and how much of each is used",
		"Lists the limits of the kernel's registry, and how much of each is used. Limits\n"
		"are fixed: neither module parameters nor privileges change them. The limits are:\n",
		run_live_limits, OPTIONS_LIVE, 0, -1,
		.examples =
		"  dkctl limits                  all limits\n"
		"  dkctl limits devices          one of them\n",
		.terms = limits_terms,
	}, {
		"version", "", "versions of dkctl, library and module",
		"Prints the versions of dkctl, its library and the module, and which of them is\n"
		"older.\n"
		"Works without the module.\n",
		run_version, OPTIONS_LIVE, 0, 0,
		.examples =
		"  dkctl version                 all three versions\n"
		"  dkctl -j version              in JSON\n",
	}, {
		"help", "[SUBCOMMAND]", "this help, or the help of a subcommand",
		"Prints this overview, or the help of a subcommand.\n",
		run_help, 0, 0, 1,
		.examples =
		"  dkctl help                    all subcommands\n"
		"  dkctl help route              one of them\n",
	},
	{ }
};

/* Finds a subcommand by its name or by an unambiguous abbreviation, as ip(8) does. */
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
