/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Listeners: who is told when definitions come and go. Included by
 * <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_LISTENER_H
#define _DISPATCHKEY_LISTENER_H

#include <dispatchkey-operator.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum dk_event_kind - what happened
 * @DK_EVENT_DEFINED: an operator was defined, or was when the listener came
 * @DK_EVENT_UNDEFINED: its definition has gone
 * @DK_EVENT_IMPL: a function was registered for it
 * @DK_EVENT_LOST: for other events there was no memory. All that they would
 *	have told of has happened: who follows the registry looks at all of it
 *	anew (dk_registry_next_op()).
 */
enum dk_event_kind {
	DK_EVENT_DEFINED,
	DK_EVENT_UNDEFINED,
	DK_EVENT_IMPL,
	DK_EVENT_LOST,
};

/**
 * struct dk_event - what a listener is told
 * @size: sizeof(struct dk_event) of who tells
 * @kind: of enum dk_event_kind
 * @name: of the operator; gone when the listener returns. "" of DK_EVENT_LOST
 * @key: of the function; of DK_EVENT_LOST how many events
 */
struct dk_event {
	__u32 size;
	__u32 kind;
	const char *name;
	__u32 key;
};

/**
 * struct dk_listener - who is told
 * @size: sizeof(struct dk_listener)
 * @inside: it is being told; zero before it is registered
 * @registry: of what, NULL for the default registry
 * @told: called in process context without a lock of ours, one event at a time.
 *	It may register and unregister what it likes, but itself. What it brings
 *	about is told when it has returned. It returns, and is not left by
 *	longjmp() or by an exception; a thread that is cancelled goes on until
 *	it has told all
 * @priv: its own
 * @next: the dispatcher's, as is @last
 * @last: number of the last event that it was told
 *
 * The storage is the caller's, and has to stay until it is unregistered.
 */
struct dk_listener {
	__u32 size;
	__u32 inside;
	struct dk_registry *registry;
	void (*told)(struct dk_listener *self, const struct dk_event *event);
	void *priv;
	struct dk_listener *next;
	__u64 last;
};

/**
 * dk_listener_register() - be told of definitions and functions
 * @listener: the listener, not registered yet
 * @why: filled on failure; may be NULL
 *
 * First it is told of every operator that is defined. Events of one operator
 * come in their order. Who changes something tells the listeners before his
 * call returns, unless somebody is telling at that time: then that one goes on
 * with it. So no change ever waits for a listener, and none fails for lack of
 * memory to tell of it: that is told when it can be, as DK_EVENT_LOST. SEMANTICS
 * 8.1, addRegistrationListener(); functions are told of only here.
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL (size, no function), -EEXIST (registered), -ENOMEM,
 * -ESHUTDOWN.
 */
int dk_listener_register(struct dk_listener *listener, struct dk_diag *why);

/**
 * dk_listener_unregister() - be told no more
 * @listener: the listener; one that is not registered is fine
 *
 * When it returns 0, nobody is inside of it and nobody will be; also where two
 * unregister it at once, and its memory may go when both have returned. It waits
 * for whoever is telling, and so must not be called where that one would wait for
 * the caller: not with a lock held that @listener->told takes, and not from inside
 * a function of a provider that @listener->told unregisters or drains.
 *
 * Context: Process context, sleeps until it has returned.
 * Return: 0, or -EDEADLK from inside of it, a hook or, in the kernel, an atomic call.
 */
int dk_listener_unregister(struct dk_listener *listener);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_LISTENER_H */
