// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl monitor: what comes, goes and changes, a line each. */
#include "live.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* Local time; of now where the event does not say. */
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

/* ---- JSON: an object a line ------------------------------------------------------- */

static void json(struct request *q, const struct dk_nl_event *e)
{
	char time[64], zone[16], at[96];
	struct json j;

	/* "+01:00", as RFC 3339 has it */
	put_time(e, "%Y-%m-%dT%H:%M:%S", time, sizeof(time), zone, sizeof(zone));
	snprintf(at, sizeof(at), "%s%.3s:%s", time, zone, zone + 3);
	json_begin(&j, stdout, q);
	json_object(&j, "event");
	json_string(&j, "time", at);
	json_string(&j, "kind", dk_nl_word(DK_NL_WORDS_EVENT_KIND, e->kind));
	json_name(&j, "name", e->name);
	json_name(&j, "key", e->has_key ? e->key_name : "");
	json_name(&j, "provider", e->provider);
	if (e->kind == DK_NL_EVENT_BACKEND_STATE || e->kind == DK_NL_EVENT_DEVICE_STATE)
		json_string(&j, "state", state_word(e->state));
	json_uint(&j, "count", e->count);
	json_uint(&j, "generation", e->generation);
	json_end(&j);
}

/* ---- text ------------------------------------------------------------------------- */

static void put(const char *s)
{
	print_text(stdout, s, strlen(s));
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

/* Who brought it about. */
static void put_provider(const struct dk_nl_event *e, const char *how)
{
	if (!*e->provider)
		return;
	fputs(how, stdout);
	put(e->provider);
}

static void put_thing(struct request *q, const struct dk_nl_event *e, const char *what,
		      enum color color, const char *verb, const char *how)
{
	printf("%s ", what);
	put(e->name);
	if (*verb)
		putchar(' ');
	color_begin(stdout, q->color, color);
	fputs(verb, stdout);
	color_end(stdout, q->color, color);
	put_provider(e, how);
	if (e->count > 1)
		printf(" (the last of %u changes)", e->count);
}

static void put_state(struct request *q, const struct dk_nl_event *e, const char *what)
{
	const char *verb = e->state == DK_NL_STATE_ONLINE ? "is online" :
			   e->state == DK_NL_STATE_OFFLINE ? "is offline" :
			   "is in a state that this dkctl does not know";

	put_thing(q, e, what, state_color(e->state), verb, ", by ");
}

static void put_lost(const struct dk_nl_event *e)
{
	char words[64];

	if (e->count)
		printf("%s lost", plural(words, e->count, "event was", "events were"));
	else
		fputs("events were lost", stdout);
	fputs("; \"dkctl op\" and the like show what there is now", stdout);
}

static void text(struct request *q, const struct dk_nl_event *e)
{
	char time[64], zone[16];
	enum color color = COLOR_GOOD;
	const char *verb = "came";

	put_time(e, "%Y-%m-%d %H:%M:%S", time, sizeof(time), zone, sizeof(zone));
	printf("%s  ", time);
	if (e->kind == DK_NL_EVENT_OP_WENT || e->kind == DK_NL_EVENT_IMPL_WENT ||
	    e->kind == DK_NL_EVENT_BACKEND_WENT || e->kind == DK_NL_EVENT_DEVICE_WENT) {
		color = COLOR_BAD;
		verb = "went";
	}
	switch (e->kind) {
	case DK_NL_EVENT_OP_CAME:
	case DK_NL_EVENT_OP_WENT:
		put_thing(q, e, "operator", color, verb, ", defined by ");
		break;
	case DK_NL_EVENT_IMPL_CAME:
	case DK_NL_EVENT_IMPL_WENT:
		put_functions(e);
		putchar(' ');
		color_begin(stdout, q->color, color);
		fputs(verb, stdout);
		color_end(stdout, q->color, color);
		put_provider(e, ", of ");
		break;
	case DK_NL_EVENT_BACKEND_CAME:
	case DK_NL_EVENT_BACKEND_WENT:
		put_thing(q, e, "backend", color, verb, ", of ");
		break;
	case DK_NL_EVENT_DEVICE_CAME:
	case DK_NL_EVENT_DEVICE_WENT:
		put_thing(q, e, "device", color, verb, ", of ");
		break;
	case DK_NL_EVENT_BACKEND_STATE:
		put_state(q, e, "backend");
		break;
	case DK_NL_EVENT_DEVICE_STATE:
		put_state(q, e, "device");
		break;
	case DK_NL_EVENT_LOST:
		put_lost(e);
		break;
	default:
		put_thing(q, e, "what this dkctl does not know:", COLOR_NONE, "", ", of ");
	}
	putchar('\n');
}

/* ---- the subcommand --------------------------------------------------------------- */

/* A line each, at once; false when nobody reads them any more. */
static bool show(struct live *v, const struct dk_nl_event *e)
{
	if (wants(v, OPTION_JSON))
		json(v->q, e);
	else
		text(v->q, e);
	if (!fflush(stdout))
		return true;
	if (errno == EPIPE)
		clearerr(stdout);
	return false;
}

static int listen(struct live *v, struct dk_nl_monitor *m)
{
	struct dk_nl_event e;
	int err;

	for (;;) {
		memset(&e, 0, sizeof(e));
		e.size = sizeof(e);
		err = dk_nl_monitor_next(m, -1, &e);
		if (err == 1 && !show(v, &e))
			return STATUS_OK;
		if (err == -ENODEV)
			return fail(v->q, STATUS_KERNEL, NULL, NULL,
				    "dispatchkey.ko was unloaded");
		/* one that cannot be read is told of, and the next may be fine */
		if (err == -EBADMSG)
			fail(v->q, STATUS_KERNEL, NULL, NULL, "an event was passed over: %s",
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
	int status = no_more(v, NULL), err;

	if (status)
		return status;
	err = dk_nl_monitor_open(NULL, &m, &why);
	if (err)
		return fail_open(v->q, err, &why);
	status = listen(v, m);
	dk_nl_monitor_close(m);
	return status;
}
