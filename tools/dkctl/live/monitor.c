// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl monitor: prints changes of the registry, one per line. */
#include "live.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* Formats the time of an event as local time. If the event has no time, uses the current time. */
static void put_time(const struct dk_nl_event *e, const char *format, char *buf, size_t size,
		     char *zone, size_t zone_size)
{
	struct timespec now;
	unsigned long long ns = e->time;
	char day[32];
	struct tm tm;
	time_t at;

	if (!ns) {
		clock_gettime(CLOCK_REALTIME, &now);
		ns = (unsigned long long)now.tv_sec * 1000000000u + (unsigned long)now.tv_nsec;
	}
	at = (time_t)(ns / 1000000000u);
	localtime_r(&at, &tm);
	strftime(day, sizeof(day), format, &tm);
	strftime(zone, zone_size, "%z", &tm);
	snprintf(buf, size, "%s.%03u", day, (unsigned int)(ns / 1000000u % 1000u));
}

/* ---- JSON: one object per line ---------------------------------------------------- */

/* Prints a number, or null if it is 0, which means unknown. */
static void json_known(struct json *j, const char *name, unsigned long long n)
{
	if (n)
		json_uint(j, name, n);
	else
		json_null(j, name);
}

static void json(struct request *q, const struct dk_nl_event *e)
{
	char time[64], zone[16], at[96];
	struct json j;

	/* RFC 3339 writes the zone as "+01:00" */
	put_time(e, "%Y-%m-%dT%H:%M:%S", time, sizeof(time), zone, sizeof(zone));
	snprintf(at, sizeof(at), "%s%.3s:%s", time, zone, zone + 3);
	json_begin(&j, stdout, q);
	json_object(&j, "event");
	json_string(&j, "time", at);
	json_string(&j, "kind", dk_nl_word(DK_NL_WORDS_EVENT_KIND, e->kind));
	json_name(&j, "name", e->name);
	json_known(&j, "number", e->number);
	json_name(&j, "key", e->has_key ? e->key_name : "");
	json_name(&j, "provider", e->provider);
	if (e->kind == DK_NL_EVENT_BACKEND_STATE || e->kind == DK_NL_EVENT_DEVICE_STATE)
		json_string(&j, "state", state_word(e->state));
	json_known(&j, "count", e->count);
	json_known(&j, "generation", e->generation);
	json_end(&j);
}

/* ---- text ------------------------------------------------------------------------- */

static void put(const char *s)
{
	print_escaped(stdout, s, strlen(s));
}

static void put_functions(const struct dk_nl_event *e)
{
	const char *what = *e->name ? "function" : "backend fallback";

	if (e->count > 1)
		printf("%u %ss", e->count, what);
	else
		fputs(what, stdout);
	if (*e->name) {
		fputs(" of ", stdout);
		put(e->name);
	}
	if (e->has_key) {
		fputs(" at ", stdout);
		put(e->key_name);
	}
}

/* Prints the provider that caused the event. */
static void put_provider(const struct dk_nl_event *e, const char *how)
{
	if (!*e->provider)
		return;
	fputs(how, stdout);
	put(e->provider);
}

static void put_verb(struct request *q, const char *verb, enum color color)
{
	putchar(' ');
	color_begin(stdout, q->color, color);
	fputs(verb, stdout);
	color_end(stdout, q->color, color);
}

static void put_count(const struct dk_nl_event *e)
{
	if (e->count > 1)
		printf(" (the last of %u changes)", e->count);
}

static void put_state(struct request *q, const struct dk_nl_event *e, const char *what)
{
	const char *verb = e->state == DK_NL_STATE_ONLINE ? "is online" :
			   e->state == DK_NL_STATE_OFFLINE ? "is offline" :
			   "is in an unknown state";

	printf("%s ", what);
	put(e->name);
	put_verb(q, verb, state_color(e->state));
	put_provider(e, ", by ");
	put_count(e);
}

static void put_lost(const struct dk_nl_event *e)
{
	char words[64];

	if (e->count)
		printf("%s lost", plural(words, e->count, "event was", "events were"));
	else
		fputs("events were lost", stdout);
	fputs("; list the state with \"dkctl op\" or \"dkctl device\"", stdout);
}

/* Events that add or remove something. A NULL @what stands for a function or a fallback. */
static const struct {
	const char *what;
	const char *verb;
	enum color color;
} changes[] = {
	[DK_NL_EVENT_OP_ADDED] = { "operator", "defined", COLOR_GOOD },
	[DK_NL_EVENT_OP_REMOVED] = { "operator", "undefined", COLOR_BAD },
	[DK_NL_EVENT_IMPL_ADDED] = { NULL, "registered", COLOR_GOOD },
	[DK_NL_EVENT_IMPL_REMOVED] = { NULL, "unregistered", COLOR_BAD },
	[DK_NL_EVENT_BACKEND_ADDED] = { "backend", "bound", COLOR_GOOD },
	[DK_NL_EVENT_BACKEND_REMOVED] = { "backend", "released", COLOR_BAD },
	[DK_NL_EVENT_DEVICE_ADDED] = { "device", "registered", COLOR_GOOD },
	[DK_NL_EVENT_DEVICE_REMOVED] = { "device", "unregistered", COLOR_BAD },
	[DK_NL_EVENT_PROVIDER_ADDED] = { "provider", "registered", COLOR_GOOD },
	[DK_NL_EVENT_PROVIDER_UNREGISTERING] = {
		"provider", "is being unregistered", COLOR_BAD
	},
	[DK_NL_EVENT_PROVIDER_REMOVED] = { "provider", "unregistered", COLOR_BAD },
};

static void put_change(struct request *q, const struct dk_nl_event *e)
{
	if (changes[e->kind].what) {
		printf("%s ", changes[e->kind].what);
		put(e->name);
	} else {
		put_functions(e);
	}
	put_verb(q, changes[e->kind].verb, changes[e->kind].color);
	put_provider(e, " by ");
	if (changes[e->kind].what)
		put_count(e);
}

static void text(struct request *q, const struct dk_nl_event *e)
{
	char time[64], zone[16];

	put_time(e, "%Y-%m-%d %H:%M:%S", time, sizeof(time), zone, sizeof(zone));
	printf("%s  ", time);
	if (e->kind < ARRAY_SIZE(changes) && changes[e->kind].verb) {
		put_change(q, e);
	} else if (e->kind == DK_NL_EVENT_BACKEND_STATE) {
		put_state(q, e, "backend");
	} else if (e->kind == DK_NL_EVENT_DEVICE_STATE) {
		put_state(q, e, "device");
	} else if (e->kind == DK_NL_EVENT_LOST) {
		put_lost(e);
	} else {
		fputs("unknown event: ", stdout);
		put(e->name);
		put_provider(e, " of ");
		put_count(e);
	}
	putchar('\n');
}

/* ---- the subcommand --------------------------------------------------------------- */

/* Prints an event and flushes it. Returns false if the reader has closed the pipe, or on error. */
static bool show(struct live *v, const struct dk_nl_event *e, int *status)
{
	if (has_option(v, OPTION_JSON))
		json(v->q, e);
	else
		text(v->q, e);
	if (!fflush(stdout))
		return true;
	/* report the error here: close_output() would not know its reason */
	*status = errno == EPIPE ? STATUS_OK : fail_output(errno);
	clearerr(stdout);
	return false;
}

static int listen(struct live *v, struct dk_nl_monitor *m)
{
	struct dk_nl_event e;
	int err, status;

	for (;;) {
		memset(&e, 0, sizeof(e));
		e.size = sizeof(e);
		err = dk_nl_monitor_next(m, -1, &e);
		/*
		 * Without a count, the socket is full, and the kernel sends no events to it until
		 * it is empty. If it were not emptied here, more events could be lost without a
		 * report. With a count, the module lost the events; those that follow are queued.
		 */
		if (err == 1 && e.kind == DK_NL_EVENT_LOST && !e.count)
			dk_nl_monitor_drain(m);
		if (err == 1 && !show(v, &e, &status))
			return status;
		if (err == -ENODEV)
			return fail(v->q, STATUS_KERNEL, NULL, NULL,
				    "dispatchkey.ko was unloaded");
		/* report a malformed event and continue */
		if (err == -EBADMSG)
			fail(v->q, STATUS_KERNEL, NULL, NULL, "skipped an event: %s",
			     dk_nl_monitor_why(m)->sentence);
		else if (err < 0 && err != -EINTR)
			return fail(v->q, STATUS_KERNEL, NULL, NULL, "%s",
				    dk_nl_monitor_why(m)->sentence);
	}
}

int live_monitor(struct live *v)
{
	struct dk_nl_error why = { .size = sizeof(why) };
	struct dk_nl_monitor *m;
	int status = expect_end(v, NULL), err;

	if (status)
		return status;
	err = dk_nl_monitor_open(NULL, &m, &why);
	if (err)
		return fail_open(v->q, err, &why);
	status = listen(v, m);
	dk_nl_monitor_close(m);
	return status;
}
