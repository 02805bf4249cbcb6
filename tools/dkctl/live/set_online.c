// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Implements "set NAME offline" and "set NAME online" for backends and devices. */
#include "live.h"

#include <errno.h>
#include <string.h>

static void json(struct live *v, const char *what, const struct dk_nl_switched *s,
		 const struct dk_nl_device *d)
{
	struct json j;

	json_begin(&j, stdout, v->q);
	json_object(&j, what);
	json_string(&j, "name", s->name);
	json_uint(&j, "number", s->number);
	json_string(&j, "state", state_word(s->state));
	if (d)
		json_string(&j, "backend_state", state_word(d->backend_state));
	json_name(&j, "unserved", s->unserved);
	json_end(&j);
}

/* An online device serves no calls while its backend is offline, so that is printed, too. */
static void text(struct live *v, const char *what, const struct dk_nl_switched *s,
		 const struct dk_nl_device *d)
{
	printf("%s ", what);
	print_escaped(stdout, s->name, strlen(s->name));
	printf(" is ");
	color_begin(stdout, v->q->color, state_color(s->state));
	fputs(state_word(s->state), stdout);
	color_end(stdout, v->q->color, state_color(s->state));
	if (*s->unserved) {
		fputs("; ", stdout);
		print_escaped(stdout, s->unserved, strlen(s->unserved));
		printf(" has no other function for calls on this %s", what);
	}
	if (d && s->state == DK_NL_STATE_ONLINE && d->backend_state == DK_NL_STATE_OFFLINE) {
		fputs("; its backend ", stdout);
		print_escaped(stdout, d->backend_name, strlen(d->backend_name));
		fputs(" is offline", stdout);
	}
	fputc('\n', stdout);
}

static int print_result(struct live *v, const struct switchable *kind,
			const struct dk_nl_switched *s)
{
	const struct dk_nl_device *d = NULL;

	/* @d stays NULL if the device was removed meanwhile; its backend then does not matter */
	if (kind->is_device)
		dk_nl_device_get(client(v), s->number, NULL, &d);
	if (has_option(v, OPTION_JSON))
		json(v, kind->what, s, d);
	else
		text(v, kind->what, s, d);
	dk_nl_free(d);
	return STATUS_OK;
}

/* The kernel waits up to a second for calls. Every tenth attempt prints a notice. */
#define NOTICE_INTERVAL	10

/*
 * Waits for calls that are still running on an offline device or backend. Repeats the request
 * until the calls have returned, or until another request has brought the device or backend online
 * again (-ECANCELED).
 */
static int wait_for_calls(struct live *v, const struct switchable *kind,
			  const struct dk_nl_switched *first)
{
	const struct dk_nl_switched *s = first;
	unsigned int attempts = 0;
	__u32 state;
	int err;

	do {
		if (attempts++ % NOTICE_INTERVAL == 0)
			print_notice("%s \"%.127s\" is offline; waiting for a call to return: %.127s",
				     kind->what, s->name, s->inside);
		if (s != first)
			dk_nl_free(s);
		err = kind->get_state(client(v), first->number, &state);
		if (err)
			return err;
		if (state != DK_NL_STATE_OFFLINE)
			return -ECANCELED;
		/* the kernel refuses the request if the number now belongs to another name */
		err = kind->set_online(client(v), first->number, first->name, 0, &s);
	} while (err == -EINPROGRESS);
	if (!err)
		dk_nl_free(s);
	return err;
}

static int fail_interrupted(struct live *v, const struct switchable *kind, const char *name,
			    const char *what)
{
	return fail(v->q, STATUS_KERNEL, name, NULL,
		    "%s \"%.127s\" went offline, but was %s before its calls returned",
		    kind->what, name, what);
}

static int set_state(struct live *v, const struct switchable *kind, const char *name,
		     int online)
{
	const struct dk_nl_switched *s;
	int status, err;

	err = kind->set_online(client(v), 0, name, online, &s);
	if (err == -ECANCELED)
		return fail_interrupted(v, kind, name, "brought online again");
	if (err && err != -EINPROGRESS)
		return fail_named(v, err, name, kind->fail_name);
	if (err)
		err = wait_for_calls(v, kind, s);
	if (err == -ENOENT || err == -ENODEV || err == -EINVAL)
		status = fail_interrupted(v, kind, name, "removed");
	else if (err == -ECANCELED)
		status = fail_interrupted(v, kind, name, "brought online again");
	else if (err)
		status = fail_kernel(v, err);
	else
		status = print_result(v, kind, s);
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

int expect_no_state(struct live *v)
{
	const char *state = *v->next;
	char suggestion[160];

	if (!state || !is_state(state))
		return STATUS_OK;
	snprintf(suggestion, sizeof(suggestion), "%s set %.127s %s", v->q->subcommand->name,
		 v->next[-1], state);
	return fail_unexpected(v, suggestion);
}

int run_set(struct live *v, const struct switchable *kind)
{
	int status = STATUS_OK, online;
	const char *name = take_value(v, "set", kind->name_needed, &status);

	if (!name)
		return status;
	if (!take_state(v, &online))
		return fail_state(v, name);
	status = expect_end(v, NULL);
	return status ? status : set_state(v, kind, name, online);
}
