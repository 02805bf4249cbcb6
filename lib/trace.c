// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The dispatch trace: DK_TRACE=1 in the environment shows every call of every
 * registry on stderr.
 */
#include "world.h"
#include "core/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __thread DKC_INITIAL_EXEC unsigned int depth;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool wanted;

unsigned int *dkc_thread_depth(void)
{
	return &depth;
}

/* One write a line, so that the lines of threads do not mix. */
static void trace(struct dk_hooks *h, const struct dk_hook_info *info)
{
	char few[256], *line = few;
	size_t len = dk_trace_line(info, few, sizeof(few));

	(void)h;
	if (len >= sizeof(few)) {
		line = malloc(len + 1);
		if (line)
			dk_trace_line(info, line, len + 1);
		else
			line = few;
	}
	fprintf(stderr, "%s\n", line);
	if (line != few)
		free(line);
}

static void ask(void)
{
	const char *value = getenv("DK_TRACE");

	if (!value || !strcmp(value, "0"))
		return;
	wanted = !strcmp(value, "1");
	if (!wanted)
		fprintf(stderr, "dispatchkey: DK_TRACE is \"%.100s\", neither 0 nor 1, and is ignored\n",
			value);
}

void dkc_registry_born(struct dk_registry *reg)
{
	pthread_once(&once, ask);
	if (!wanted)
		return;
	reg->trace.size = sizeof(reg->trace);
	reg->trace.flags = DK_HOOK_TRACE;
	reg->trace.before = trace;
	dk_hooks_register(reg, &reg->trace, NULL);
}
