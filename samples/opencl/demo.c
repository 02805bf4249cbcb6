// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * demo: runs a runtime for the CPU and OpenCL devices under load. Four threads call its
 * operators while a device is removed and a new one is added.
 *
 *	demo [SECONDS]
 *
 * SECONDS is how long the load runs (default 9). Exit status: 0 on success; 1 if a call was
 * lost or misrouted, or a result is wrong; 2 for wrong usage; 3 without an OpenCL device.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "demo.h"

#define TICKS		9	/* number of lines that report the load */
#define NO_DEVICE	3
#define MAX_SECONDS	999

static struct cl_found *found;
static unsigned int num_found;
static struct places places;
static struct worker workers[NUM_THREADS];
static atomic_bool stop;

static int fail(const char *what, const struct dk_diag *why)
{
	fprintf(stderr, "demo-opencl: %s%s%s\n", what, why ? ": " : "", why ? why->text : "");
	return EXIT_FAILURE;
}

/* ---- places ------------------------------------------------------------------------- */

static struct place *add_place(const struct cl_found *from)
{
	struct dk_diag why = { .size = sizeof(why) };
	unsigned int n = atomic_load(&places.n);
	struct place *place = &places.place[n];

	snprintf(place->name, sizeof(place->name), "cl%u", n - 1);
	place->card = cl_card_add(from, place->name, n, &why);
	if (!place->card) {
		fail(from->what, &why);
		return NULL;
	}
	place->found = from;
	place->obj = place->card->obj;
	place->from = now();
	atomic_store(&places.n, n + 1);	/* threads may use the place now */
	return place;
}

static void print_unused(unsigned int from)
{
	unsigned int i;

	printf("not used, because the demo uses at most %d:", MAX_CARDS);
	for (i = from; i < num_found; i++)
		printf("%s %s", i > from ? "," : "", found[i].what);
	putchar('\n');
}

static unsigned int add_places(void)
{
	struct place *place;
	unsigned int i;

	snprintf(places.place[RT_CPU].name, sizeof(places.place[RT_CPU].name), "CPU");
	places.place[RT_CPU].obj = dk_obj_on(DK_BACKEND_CPU, 0);
	atomic_store(&places.n, 1);
	for (i = 0; i < num_found && atomic_load(&places.n) <= MAX_CARDS; i++) {
		place = add_place(&found[i]);
		if (place)
			printf("%-6s %s\n       (%s, compute units: %u)\n", place->name,
			       found[i].what, found[i].platform, found[i].units);
	}
	if (i < num_found)
		print_unused(i);
	return atomic_load(&places.n) - 1;
}

/* Waits up to 0.1 s until enough asynchronous calls are queued on a device, and then removes it. */
static int remove_place(struct place *place)
{
	struct dk_diag why = { .size = sizeof(why) };
	double from, until = now() + 0.1;
	unsigned int queued;

	do {
		queued = atomic_load(&place->card->queued);
	} while (queued < NUM_JOBS && now() < until);

	atomic_store(&place->state, PLACE_LEAVING);
	from = now();
	if (cl_card_remove(place->card, &why))
		return fail("the device cannot be removed", &why);
	place->to = now();
	if (atomic_load(&place->card->queued))
		return fail("a call of the removed device has not completed", NULL);
	atomic_store(&place->state, PLACE_REMOVED);

	printf("   ! %s is removed, after %.1f ms: no call is running in its functions, and the\n"
	       "     asynchronous calls that were in its queue have completed: %u\n",
	       place->name, (place->to - from) * 1000, queued);
	return report_route("   ! buffers on it are now served by ", place, place);
}

/* ---- the load ------------------------------------------------------------------------- */

static int change(unsigned int tick, struct place *leaving)
{
	struct place *place;

	if (tick == TICKS / 3) {
		if (remove_place(leaving))
			return -1;
		places.place[RT_CPU].from = leaving->to;
	}
	if (tick == 2 * TICKS / 3) {
		place = add_place(leaving->found);
		if (!place)
			return -1;
		printf("   ! %s is registered: a new context of the same device\n", place->name);
	}
	return 0;
}

static int load(unsigned int seconds, unsigned int cards)
{
	struct place *leaving = &places.place[cards];
	double from = now();
	unsigned int i, threads = 0;
	struct totals t;
	int error = 0;

	report_begin(cards);
	for (i = 1; i <= cards; i++)
		places.place[i].from = from;
	while (threads < NUM_THREADS && !error) {
		struct worker *w = &workers[threads];

		if (pthread_create(&w->thread, NULL, worker_run, w))
			error = fail("cannot create a thread", NULL);
		else
			threads++;
	}
	for (i = 1; i <= TICKS && !error; i++) {
		usleep(seconds * 1000000 / TICKS);
		totals_read(&t, workers);
		report_line(cards, &t, now() - from);
		error = change(i, leaving);
	}
	atomic_store(&stop, true);
	for (i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	for (i = 0; i < atomic_load(&places.n); i++)
		if (&places.place[i] != leaving)
			places.place[i].to = now();
	return error;
}

static int run_load(unsigned int seconds, unsigned int cards, struct totals *t)
{
	unsigned int i;
	int error = 0;

	for (i = 0; i < NUM_THREADS && !error; i++)
		error = worker_prepare(&workers[i], &places, &stop);
	if (error)
		fail("a call failed before the load", NULL);
	else
		error = load(seconds, cards);
	totals_read(t, workers);
	for (i = 0; i < NUM_THREADS; i++)
		worker_free(&workers[i]);
	return error;
}

/* ---- the demo ------------------------------------------------------------------------- */

static int run(unsigned int seconds)
{
	struct totals t;
	unsigned int cards;

	heading("OpenCL devices, each with its own context, queue and kernels");
	cards = add_places();
	if (!cards)
		return NO_DEVICE;

	heading("Where rt::axpy goes, for buffers of each");
	if (report_routes(&places))
		return fail("a call of rt::axpy has no route", NULL);

	heading("Each device alone");
	printf("1 number   time until the result for one number is ready\n"
	       "queued     time until rt::axpy_async returns, with its work in the queue\n"
	       "empty      time of a call without numbers, which is only routed\n"
	       "deferred   the same for rt::axpy_async, which a device defers and completes\n");
	if (report_alone(&places, 10 * seconds))
		return fail("a call failed", NULL);

	heading("Call from %d threads; remove %s and add a device during the calls", NUM_THREADS,
		places.place[cards].name);
	if (run_load(seconds, cards, &t))
		return EXIT_FAILURE;

	heading("What served the calls");
	report_served(&places, &t);
	report_summary(&t);
	return t.lost || t.wrong || t.misrouted ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Returns the number in a word, or 0 if it is not a number from 1 to MAX_SECONDS. */
static unsigned int parse_seconds(const char *word)
{
	char *rest;
	unsigned long n = strtoul(word, &rest, 10);

	return *word >= '0' && *word <= '9' && !*rest && n <= MAX_SECONDS ? n : 0;
}

static int end(void)
{
	struct place *place;
	unsigned int i;
	int error;

	for (i = 1; i < atomic_load(&places.n); i++) {
		place = &places.place[i];
		/* fails for a card that was already removed */
		error = cl_card_remove(place->card, NULL);
		if (error && error != -ENODEV)
			return error;
		cl_card_put(place->card);
	}
	cl_release(found, num_found);
	error = cl_end();
	return error ? error : rt_end();
}

int main(int argc, char **argv)
{
	struct dk_diag why = { .size = sizeof(why) };
	unsigned int seconds = argc > 1 ? parse_seconds(argv[1]) : 9;
	int status;

	if (argc > 2) {
		fprintf(stderr, "demo: unexpected argument '%s': usage: demo [SECONDS]\n", argv[2]);
		return 2;
	}
	if (!seconds) {
		fprintf(stderr, "demo: SECONDS must be a number from 1 to %d, not '%s'\n",
			MAX_SECONDS, argv[1]);
		return 2;
	}
	num_found = cl_find(&found);
	if (!num_found) {
		fail("no OpenCL device found: install a driver such as pocl-opencl-icd", NULL);
		return NO_DEVICE;
	}
	if (rt_begin(&why))
		return fail("the operators cannot be registered", &why);
	if (cl_begin(&why)) {
		rt_end();
		return fail("the backend cannot be registered", &why);
	}
	status = run(seconds);
	return end() ? fail("a function or a card is still registered", NULL) : status;
}
