/* SPDX-License-Identifier: GPL-2.0-only */
/* Declares the interface between host and plugin. */
#ifndef _SELFTESTS_PLUGINS_PLUGIN_H
#define _SELFTESTS_PLUGINS_PLUGIN_H

#include <stdbool.h>

#define HOST	1000

#ifndef WITHOUT_OPERATORS
#include <dispatchkey.h>

/* Stores in *@number the number of the plugin that served the call, see begin(), or HOST. */
DK_OP(work, "plugins::work", (struct dk_obj *x, int *number), (x, number), (x));
/* Only defined and undefined, to notify listeners. */
DK_OP(news, "plugins::news", (struct dk_obj *x), (x), (x));
/* Calls a function of the caller from inside the plugin. */
DK_OP(inside, "plugins::inside",
	(struct dk_obj *x, int (*what)(void *), void *arg), (x, what, arg), (x));
#endif

struct dk_deferred;
struct dk_event;
struct dk_impl;
struct dk_listener;
struct dk_registry;

struct plugin {
	/* registers two arrays of functions, which return @number; with @half, fails after one */
	int (*begin)(int number, int half);
	int (*end)(void);
	/* makes a call from the plugin, through the library that it is linked with */
	int (*call)(int *number);
	/* starts a thread of the plugin; the thread is inside a call when own_thread() returns */
	int (*own_thread)(void);
	int (*fork_and_call)(void);
	/* registers a listener and hooks */
	int (*listen)(void);
	/* registers another provider, without functions */
	int (*begin_another)(void);
	/* the function of the plugin's listener */
	void (*notify)(struct dk_listener *l, const struct dk_event *event);
	/* registers a provider and defines an operator in a registry */
	int (*define_in)(struct dk_registry *reg);
	/* called by the plugin's listener */
	void (*on_event)(void);
	/* an array of one function for plugins::inside, which no provider has registered */
	struct dk_impl *array;
	/* if set, calls that the plugin serves are deferred */
	struct dk_deferred *token;
	/* the last call that the plugin served took the slow path */
	bool framed;
	/* the plugin's destructor does not unregister */
	bool stays_registered;
	/* called by the destructor: the result of unregistering, and the number of calls inside */
	void (*report)(const char *what, int value);
};

#endif /* _SELFTESTS_PLUGINS_PLUGIN_H */
