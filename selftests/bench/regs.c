// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures times and memory of registrations: regs [-r ROUNDS] [-s SEED] REGISTRATIONS SCHEMAS
 *
 * A round registers all operators of PyTorch with all their functions, then registers and looks
 * up some operators one by one, and unregisters all. Rounds of dispatchkey and of libtorch
 * alternate. Prints lines "ns NAME SAMPLE...". The samples of "load" are the time per operator,
 * those of "unload" and "fallback*" the time for all operators, and all others the time of one
 * registration or lookup. Also prints "bytes memory SAMPLE...": the growth of the heap during
 * the load, per operator. Constant tables that the program allocates before the first round are
 * not included.
 */
#include "regs.h"
#include "measure.h"

#include <err.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS	15
#define MOST	32	/* kinds of samples */

static struct regs_all all;
static unsigned long seed = 1;

/* CPU time of the process. The measured operations do not sleep. */
static double now(void)
{
	return bench_clock(CLOCK_PROCESS_CPUTIME_ID);
}

static size_t heap(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* ---- the registrations ------------------------------------------------------------ */

static char *read_text(const char *file)
{
	FILE *f = fopen(file, "r");
	size_t size = 0;
	char *text = NULL;

	if (!f || getdelim(&text, &size, '\0', f) < 0)
		err(1, "%s", file);
	fclose(f);
	return text;
}

/* Parses "KEY=LABEL KEY=LABEL!", where ! marks a fallthrough. Returns the number of words. */
static unsigned int read_impls(char *at, struct regs_impl *impls)
{
	unsigned int n = 0;
	char *word, *next;

	for (word = strtok_r(at, " ", &next); word; word = strtok_r(NULL, " ", &next)) {
		impls[n].key = word;
		word = strchr(word, '=');
		if (!word)
			errx(1, "no registration: %s", impls[n].key);
		*word++ = 0;
		impls[n].label = word;
		impls[n++].is_fallthrough = word[strlen(word) - 1] == '!';
	}
	return n;
}

static void read_all(const char *registrations, const char *schemas)
{
	char *line, *schema, *text = read_text(registrations);
	char *schema_text = read_text(schemas);
	unsigned int lines = 0, functions = 0;
	struct regs_impl *impls;
	struct regs_op *ops, *op;

	for (line = text; *line; line++) {
		lines += *line == '\n';
		functions += *line == '=';
	}
	ops = calloc(lines, sizeof(*ops));
	impls = calloc(functions, sizeof(*impls));
	while ((line = strsep(&text, "\n")) && *line) {
		op = &ops[all.num_ops++];
		op->name = strsep(&line, " ");
		/* "(none)" for an operator that has functions but no definition */
		schema = strsep(&schema_text, "\n");
		op->schema = schema && strcmp(schema, "(none)") ? schema : NULL;
		op->impls = impls + all.num_impls;
		op->num_impls = line ? read_impls(line, impls + all.num_impls) : 0;
		all.num_impls += op->num_impls;
		if (op->schema && strncmp(schema, op->name, strlen(op->name)))
			errx(1, "%s: %s is not for %s", schemas, schema, op->name);
	}
	all.ops = ops;
}

/*
 * Chooses REGS_ONES different operators at random, and makes a new operator from each:
 * "aten::add.out" becomes "aten::add.out_new".
 */
static void choose(void)
{
	static struct regs_op fresh[REGS_ONES];
	unsigned int i, j, *order = calloc(all.num_ops, sizeof(*order)), swap;
	const struct regs_op *op;
	char *name, *schema;
	const char *rest;

	for (i = 0; i < all.num_ops; i++)
		order[i] = i;
	for (i = 0; i < REGS_ONES; i++) {
		j = i + bench_random(&seed) % (all.num_ops - i);
		swap = order[i];
		order[i] = order[j];
		order[j] = swap;
		op = &all.ops[order[i]];
		rest = op->schema ? op->schema + strlen(op->name) : "(Tensor x) -> Tensor";
		if (asprintf(&name, "%s%s_new", op->name, strchr(op->name, '.') ? "" : ".") < 0 ||
		    asprintf(&schema, "%s%s", name, rest) < 0)
			err(1, NULL);
		fresh[i].name = name;
		fresh[i].schema = schema;
	}
	all.chosen = order;
	all.fresh = fresh;
}

/* ---- rounds ---------------------------------------------------------------------- */

struct kind {
	const char *what, *id;
	double *samples;
};

struct samples {
	struct kind kinds[MOST];
	unsigned int num;
	int round, rounds;
};

/* Stores a sample of this round. The first sample of a kind adds the kind. */
static void note(struct samples *s, const char *what, const char *id, double value)
{
	unsigned int i;

	for (i = 0; i < s->num && strcmp(s->kinds[i].id, id); i++)
		;
	if (i == s->num) {
		s->kinds[i].what = what;
		s->kinds[i].id = id;
		s->kinds[i].samples = calloc(s->rounds, sizeof(double));
		s->num++;
	}
	s->kinds[i].samples[s->round] = value;
}

static double timed(void (*run)(void))
{
	double from = now();

	run();
	return (now() - from) * 1e9;
}

static void measure_one(const struct regs_side *side, const struct regs_contender *c,
			struct samples *s)
{
	double ns;

	c->before();
	ns = timed(c->run) / c->times;
	c->after();
	/* libtorch also has its own operators: scale the time to the number of loaded ones */
	if (c->times == 1)
		ns *= (double)all.num_ops / side->num_ops();
	note(s, "ns", c->id, ns);
}

static void play(const struct regs_side *side, struct samples *s)
{
	unsigned int i, at = bench_random(&seed) % side->num;
	size_t before = heap();

	note(s, "ns", "load", timed(side->load) / all.num_ops);
	note(s, "bytes", "memory", (double)(heap() - before) / all.num_ops);
	for (i = 0; i < side->num; i++)
		measure_one(side, &side->contenders[(at + i) % side->num], s);
	note(s, "ns", "unload", timed(side->unload));
	side->clean();
}

static void print(const struct regs_side *side, const struct samples *s)
{
	unsigned int i;
	int r;

	for (i = 0; i < s->num; i++) {
		printf("%s\t%s%s\t", s->kinds[i].what, side->prefix, s->kinds[i].id);
		for (r = 0; r < s->rounds; r++)
			printf(r ? " %.1f" : "%.1f", s->kinds[i].samples[r]);
		printf("\n");
	}
}

static void measure(int rounds)
{
	static struct samples ours, theirs;
	int i;

	ours.rounds = rounds;
	theirs.rounds = rounds;
	for (i = 0; i < rounds; i++) {
		ours.round = i;
		theirs.round = i;
		/* the order alternates */
		if (&regs_torch && (i & 1))
			play(&regs_torch, &theirs);
		play(&regs_dk, &ours);
		if (&regs_torch && !(i & 1))
			play(&regs_torch, &theirs);
	}
	print(&regs_dk, &ours);
	if (&regs_torch)
		print(&regs_torch, &theirs);
}

int main(int argc, char **argv)
{
	int opt, rounds = ROUNDS;

	while ((opt = getopt(argc, argv, "r:s:")) != -1) {
		if (opt == 'r')
			rounds = atoi(optarg);
		else if (opt == 's')
			seed = strtoul(optarg, NULL, 0);
		else
			return 2;
	}
	if (optind != argc - 2 || rounds < 1) {
		fprintf(stderr, "usage: %s [-r ROUNDS] [-s SEED] REGISTRATIONS SCHEMAS\n", argv[0]);
		return 2;
	}
	read_all(argv[optind], argv[optind + 1]);
	choose();
	regs_dk.prepare(&all);
	if (&regs_torch)
		regs_torch.prepare(&all);
	measure(rounds);
	return 0;
}
