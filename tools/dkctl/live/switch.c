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

int run_set(struct live *v, const char *what,
	    int (*set_online)(struct dk_nl *nl, __u32 number, const char *name, int online,
			      const struct dk_nl_switched **switched),
	    int (*fail_name)(struct live *v, const char *name))
{
	static const char *const states[] = { "offline", "online", NULL };
	const struct dk_nl_switched *s;
	int status = STATUS_OK, online, err;
	const char *name = take_value(v, "set", &status);

	if (!name)
		return status;
	if (!take_state(v, &online)) {
		status = no_more(v, states);
		return status ? status :
		       fail(v->q, STATUS_BAD_INPUT, name, NULL,
			    "say \"offline\" or \"online\" behind \"%.127s\"", name);
	}
	status = no_more(v, NULL);
	if (status)
		return status;
	err = set_online(v->nl, 0, name, online, &s);
	if (err)
		return fail_named(v, err, name, fail_name);
	status = answer(v, what, s);
	dk_nl_free(s);
	return status;
}
