/* SPDX-License-Identifier: GPL-2.0-only */
/* What host and plugin agree on. */
#ifndef _SELFTESTS_PLUGINS_PLUGIN_H
#define _SELFTESTS_PLUGINS_PLUGIN_H

#include <stdbool.h>

#define HOST	1000

#ifndef WITHOUT_OPERATORS
#include <dispatchkey.h>

/* Says who served: a plugin by the process's count of them, or the host. */
DK_OP(work, "plugins::work", (struct dk_obj *x, int *who), (x, who), (x));
/* Runs a function of the caller's from inside of the plugin. */
DK_OP(inside, "plugins::inside",
	(struct dk_obj *x, int (*what)(void *), void *arg), (x, what, arg), (x));
#endif

struct plugin {
	/* registers all; with @half only the first table, and then fails */
	int (*begin)(int who, int half);
	int (*end)(void);
	/* calls from inside of the plugin, through the library that it has */
	int (*call)(int *who);
	/* a thread of its own, which is inside of it when this returns */
	int (*own_thread)(void);
	int (*fork_and_call)(void);
	/* a listener and hooks of its own */
	int (*listen)(void);
	/* another provider, without functions */
	int (*begin_another)(void);
	/* called by its listener */
	void (*heard)(void);
	/* the last call that it served took the slow path */
	bool framed;
	/* its destructor does not unregister */
	bool forgets;
	/* what the destructor's unregistering said, and how long the thread was in */
	void (*told)(const char *what, int value);
};

#endif /* _SELFTESTS_PLUGINS_PLUGIN_H */
