// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the API tests as a program: api_test [-r REGISTRATIONS] [SUITE...]
 *
 * The default of -r is registrations.txt in $DK_VECTORS/pytorch-2.14.
 * $DK_MOST: registration_order tries sets of up to this many registrations (default 5).
 * $DK_SUITES: suites to run if the command has none, separated by spaces.
 */
#include "pytorch_operators.h"
#include "test.h"

#include <sys/mman.h>
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

void t_capture_stderr(char *text, size_t size, void (*run)(void *data), void *data)
{
	int fd = memfd_create("stderr", 0), old = dup(STDERR_FILENO);
	ssize_t n;

	CHECK(fd >= 0 && old >= 0);
	CHECK(dup2(fd, STDERR_FILENO) >= 0);
	run(data);
	CHECK(dup2(old, STDERR_FILENO) >= 0);
	n = pread(fd, text, size - 1, 0);
	text[n > 0 ? n : 0] = 0;
	close(fd);
	close(old);
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

/* Runs the suites with these names, or all suites if @n is 0. */
static int run(char *const *names, unsigned int n)
{
	const struct t_suite *chosen[ARRAY_SIZE(suites)];
	unsigned int num = 0, i;

	for (i = 0; i < n; i++) {
		num = t_choose(suites, ARRAY_SIZE(suites), names[i], chosen, num);
		if (!num) {
			fprintf(stderr, "no such suites: %s\n", names[i]);
			return 2;
		}
	}
	return (n ? t_run(chosen, num) : t_run(suites, ARRAY_SIZE(suites))) ? 1 : 0;
}

int main(int argc, char **argv)
{
	char *words = getenv("DK_SUITES");
	int opt, status;

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
	if (optind == argc && words && *words)
		status = run(&words, 1);
	else
		status = run(argv + optind, argc - optind);
	free(t_big_text);
	return status;
}
