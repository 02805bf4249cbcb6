// SPDX-License-Identifier: GPL-2.0-only
/*
 * The API tests as a program: api_test [-r REGISTRATIONS] [SUITE...]
 *
 * Without -r, registrations.txt is looked for in $DK_VECTORS/pytorch-2.14.
 * $DK_MOST: of up to so many registrations all orders are tried (5).
 * $DK_SUITES: suites, with spaces between them, where the command names none.
 */
#include "big.h"
#include "test.h"

#include <unistd.h>

static const struct t_suite *const suites[] = {
	T_SUITES(T_TAKE, T_TAKE, T_LEAVE, T_TAKE)
};

void t_vprint(const char *fmt, va_list args)
{
	vprintf(fmt, args);
}

void *t_alloc(size_t size)
{
	void *p = calloc(1, size);

	if (!p) {
		printf("Bail out! no memory for the tests themselves\n");
		exit(1);
	}
	return p;
}

void t_free(void *p)
{
	free(p);
}

static void read_registrations(const char *file)
{
	FILE *f = fopen(file, "r");
	long size;

	if (!f)
		return;
	if (!fseek(f, 0, SEEK_END)) {
		size = ftell(f);
		rewind(f);
		t_big_text = t_alloc(size + 1);
		t_big_size = fread(t_big_text, 1, size, f);
	}
	fclose(f);
}

static void find_registrations(void)
{
	const char *vectors = getenv("DK_VECTORS");
	char file[4096];

	if (!vectors)
		return;
	snprintf(file, sizeof(file), "%s/pytorch-2.14/registrations.txt", vectors);
	read_registrations(file);
}

static const struct t_suite *chosen[ARRAY_SIZE(suites)];
static unsigned int num_chosen;

static int choose(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(suites); i++)
		if (!strcmp(name, suites[i]->name))
			break;
	if (i == ARRAY_SIZE(suites) || num_chosen == ARRAY_SIZE(suites)) {
		fprintf(stderr, i == ARRAY_SIZE(suites) ? "no suite is called %s\n" :
							  "too many suites, from %s on\n",
			name);
		return -1;
	}
	chosen[num_chosen++] = suites[i];
	return 0;
}

static int choose_all(void)
{
	memcpy(chosen, suites, sizeof(suites));
	num_chosen = ARRAY_SIZE(suites);
	return 0;
}

static int choose_words(const char *words)
{
	char *copy = strdup(words), *rest = copy, *name;
	int err = copy ? 0 : -1;

	while (!err && (name = strtok_r(rest, " ", &rest)))
		err = choose(name);
	free(copy);
	return err || num_chosen ? err : choose(words);
}

int main(int argc, char **argv)
{
	const char *words = getenv("DK_SUITES");
	unsigned int failed;
	int opt, err = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (getenv("DK_MOST"))
		t_most = atoi(getenv("DK_MOST"));
	find_registrations();
	while ((opt = getopt(argc, argv, "r:")) != -1) {
		if (opt != 'r') {
			fprintf(stderr, "usage: %s [-r REGISTRATIONS] [SUITE...]\n",
				argv[0]);
			return 2;
		}
		free(t_big_text);
		t_big_text = NULL;
		read_registrations(optarg);
	}
	if (optind == argc)
		err = words && *words ? choose_words(words) : choose_all();
	for (; optind < argc && !err; optind++)
		err = choose(argv[optind]);
	failed = err ? 0 : t_run(chosen, num_chosen);
	free(t_big_text);
	return err ? 2 : failed ? 1 : 0;
}
