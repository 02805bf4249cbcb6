// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* "set NAME offline" and "online", of backends and devices. */
#include "live.h"

#include <errno.h>
#include <string.h>

static int answer(struct live *v, const char *what, const struct dk_nl_switched *s)
{
	struct json j;

	if (wants(v, OPTION_JSON)) {
		json_begin(&j, stdout, v->q);
		json_object(&j, what);
		json_string(&j, "name", s->name);
		json_uint(&j, "number", s->number);
		json_string(&j, "state", state_word(s->state));
		json_name(&j, "unserved", s->unserved);
		json_end(&j);
		return STATUS_OK;
	}
	printf("%s ", what);
	print_text(stdout, s->name, strlen(s->name));
	printf(" is ");
	color_begin(stdout, v->q->color, state_color(s->state));
	fputs(state_word(s->state), stdout);
	color_end(stdout, v->q->color, state_color(s->state));
	if (*s->unserved) {
		fputs(", and nothing serves ", stdout);
		print_text(stdout, s->unserved, strlen(s->unserved));
		fputs(" there any more", stdout);
	}
	fputc('\n', stdout);
	return STATUS_OK;
}

/* Of the answers that calls are inside, one a second, the first and each tenth is told. */
#define TELL_EACH	10

/*
 * It is offline, and calls are inside: repeat the request until they have returned, or
 * until it is online again (-ECANCELED).
 */
static int wait_for_calls(struct live *v, const struct switchable *kind,
			  const struct dk_nl_switched *first)
{
	const struct dk_nl_switched *s = first;
	unsigned int asked = 0;
	__u32 state;
	int err;

	do {
		if (asked++ % TELL_EACH == 0)
			remark("%s \"%.127s\" is offline, and waits for a call: %.127s",
			       kind->what, s->name, s->inside);
		if (s != first)
			dk_nl_free(s);
		err = kind->get_state(kernel(v), first->number, &state);
		if (err)
			return err;
		if (state != DK_NL_STATE_OFFLINE)
			return -ECANCELED;
		/* the number may be another one's by now, and then the name is, too */
		err = kind->set_online(kernel(v), first->number, first->name, 0, &s);
	} while (err == -EINPROGRESS);
	if (!err)
		dk_nl_free(s);
	return err;
}

static int fail_meanwhile(struct live *v, const struct switchable *kind, const char *name,
			  const char *what)
{
	return fail(v->q, STATUS_KERNEL, name, NULL,
		    "%s \"%.127s\" was taken offline, and meanwhile somebody else has %s",
		    kind->what, name, what);
}

static int set_state(struct live *v, const struct switchable *kind, const char *name,
		     int online)
{
	const struct dk_nl_switched *s;
	int status, err;

	err = kind->set_online(kernel(v), 0, name, online, &s);
	if (err == -ECANCELED)
		return fail_meanwhile(v, kind, name, "brought it online");
	if (err && err != -EINPROGRESS)
		return fail_named(v, err, name, kind->fail_name);
	if (err)
		err = wait_for_calls(v, kind, s);
	if (err == -ENOENT || err == -ENODEV || err == -EINVAL)
		status = fail_meanwhile(v, kind, name, "removed it");
	else if (err == -ECANCELED)
		status = fail_meanwhile(v, kind, name, "brought it online");
	else if (err)
		status = fail_kernel(v, err);
	else
		status = answer(v, kind->what, s);
	dk_nl_free(s);
	return status;
}

static int fail_state(struct live *v, const char *name)
{
	const char *given = *v->next;

	if (!given)
		return fail(v->q, STATUS_BAD_INPUT, name, NULL,
			    "\"set %.127s\" needs a state: use \"offline\" or \"online\"", name);
	return fail(v->q, STATUS_BAD_INPUT, given, NULL,
		    "unknown state \"%.127s\": use \"offline\" or \"online\"", given);
}

int run_set(struct live *v, const struct switchable *kind)
{
	int status = STATUS_OK, online;
	const char *name = take_value(v, "set", kind->name_needed, &status);

	if (!name)
		return status;
	if (!take_state(v, &online))
		return fail_state(v, name);
	status = no_more(v, NULL);
	return status ? status : set_state(v, kind, name, online);
}
