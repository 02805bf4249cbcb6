// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Implements the dispatch trace: with DK_TRACE=1 in the environment, each call of each registry is
 * printed to stderr.
 */
#include "private.h"
#include "core/change/change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __thread DKC_INITIAL_EXEC unsigned int depth;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool enabled;

unsigned int *dkc_thread_depth(void)
{
	return &depth;
}

/*
 * Writes each line with one write(), so that lines of different threads do not mix. Uses neither
 * stdio nor the heap, because a signal handler may make the call. If the line of a deeply nested
 * call is too long, reduces the indentation.
 */
static void trace(struct dk_hooks *h, const struct dk_hook_info *info)
{
	struct dk_hook_info shown = *info;
	char line[1024];
	size_t len = dk_trace_line(&shown, line, sizeof(line));

	(void)h;
	if (len >= sizeof(line)) {
		shown.depth -= len - (sizeof(line) - 1);
		len = dk_trace_line(&shown, line, sizeof(line));
	}
	line[len] = '\n';
	dkc_write_stderr(line, len + 1);
}

static void read_environment(void)
{
	const char *value = getenv("DK_TRACE");
	int cancel;

	if (!value || !strcmp(value, "0"))
		return;
	enabled = !strcmp(value, "1");
	if (enabled)
		return;
	/* a cancelled thread would keep the lock of the default registry */
	dkc_cancel_off(&cancel);
	fprintf(stderr, "dispatchkey: DK_TRACE=\"%.100s\" is ignored: use 0 or 1\n", value);
	dkc_cancel_on(cancel);
}

void dkc_registry_created(struct dk_registry *reg)
{
	dkc_registry_list(reg);
	pthread_once(&once, read_environment);
	if (!enabled)
		return;
	reg->trace.size = sizeof(reg->trace);
	reg->trace.flags = DK_HOOK_TRACE;
	reg->trace.before = trace;
	dk_hooks_register(reg, &reg->trace, NULL);
}
