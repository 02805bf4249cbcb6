/* SPDX-License-Identifier: GPL-2.0-only */
/* The interface of host and plugin. */
#ifndef _SELFTESTS_PLUGINS_PLUGIN_H
#define _SELFTESTS_PLUGINS_PLUGIN_H

#include <stdbool.h>

#define HOST	1000

#ifndef WITHOUT_OPERATORS
#include <dispatchkey.h>

/* The function that served: a plugin by the process's count of them, or the host. */
DK_OP(work, "plugins::work", (struct dk_obj *x, int *who), (x, who), (x));
/* Runs a function of the caller's from inside of the plugin. */
DK_OP(inside, "plugins::inside",
	(struct dk_obj *x, int (*what)(void *), void *arg), (x, what, arg), (x));
#endif

struct dk_deferred;

struct plugin {
	/* registers everything; with @half only the first table, and then fails */
	int (*begin)(int who, int half);
	int (*end)(void);
	/* calls from inside of the plugin, through the library that it has */
	int (*call)(int *who);
	/* a thread of its own, which is inside a call when this returns */
	int (*own_thread)(void);
	int (*fork_and_call)(void);
	/* a listener and hooks of its own */
	int (*listen)(void);
	/* another provider, without functions */
	int (*begin_another)(void);
	/* called by its listener */
	void (*heard)(void);
	/* defers the calls that it serves, if set */
	struct dk_deferred *token;
	/* the last call that it served took the slow path */
	bool framed;
	/* its destructor does not unregister */
	bool forgets;
	/* the result of the destructor's unregistering, and how long the thread was inside */
	void (*told)(const char *what, int value);
};

#endif /* _SELFTESTS_PLUGINS_PLUGIN_H */
