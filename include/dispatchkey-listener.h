/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Declares listeners: functions that are called when operators are defined, undefined
 * or implemented. Included by <dispatchkey.h>.
 *
 * These functions exist in userspace and on bare metal, but not in the kernel module.
 */
#ifndef _DISPATCHKEY_LISTENER_H
#define _DISPATCHKEY_LISTENER_H

#include <dispatchkey-operator.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum dk_event_kind - the kind of an event
 * @DK_EVENT_DEFINED: an operator was defined, or was defined already when the
 *	listener was registered
 * @DK_EVENT_UNDEFINED: an operator was undefined
 * @DK_EVENT_IMPL: a function was registered for an operator
 * @DK_EVENT_LOST: events were lost because memory could not be allocated. The registry
 *	was changed nevertheless: read the whole state again (dk_registry_next_op())
 */
enum dk_event_kind {
	DK_EVENT_DEFINED,
	DK_EVENT_UNDEFINED,
	DK_EVENT_IMPL,
	DK_EVENT_LOST,
};

/**
 * struct dk_event - an event, as passed to listeners
 * @size: sizeof(struct dk_event), set by the library
 * @kind: of enum dk_event_kind
 * @name: name of the operator, valid until the listener returns; "" for
 *	DK_EVENT_LOST
 * @key: the key of the function; for DK_EVENT_LOST the number of lost events
 * @reserved: zero
 */
struct dk_event {
	__u32 size;
	__u32 kind;
	const char *name;
	__u32 key;
	__u32 reserved;
};

/**
 * struct dk_listener - a function that is called for events
 * @size: sizeof(struct dk_listener)
 * @inside: private; must be 0 before registering
 * @registry: the registry to listen to, NULL for the default one
 * @notify: the function. Called in process context, with no registry lock held, for
 *	one event at a time. It may register and unregister anything except the
 *	listener itself; events that it causes are delivered after it returns. The
 *	thread may be another than the one that made the change, and inside a call:
 *	then unregistering the provider of this call fails with -EDEADLK. The function
 *	must return normally, not by longjmp() or an exception. Cancellation of its
 *	thread is deferred until all events are delivered
 * @priv: for the owner of the listener
 * @next: private
 * @last: private: number of the last event delivered to it
 *
 * The caller provides the storage, which must stay valid until the listener is
 * unregistered. Do not change the members while the listener is registered.
 */
struct dk_listener {
	__u32 size;
	__u32 inside;
	struct dk_registry *registry;
	void (*notify)(struct dk_listener *self, const struct dk_event *event);
	void *priv;
	struct dk_listener *next;
	__u64 last;
};

/**
 * dk_listener_register() - register a listener for definitions and functions
 * @listener: the listener, not registered yet
 * @why: filled on failure; may be NULL
 *
 * First delivers one DK_EVENT_DEFINED for each operator that is defined. Events of one
 * operator are delivered in order. A function that changes the registry delivers the
 * events before it returns, unless another thread is already delivering events. Then it
 * leaves its events to that thread, and returns without waiting for a listener. If
 * there is no memory for the events of a change, the change still succeeds, and the
 * events are reported later as DK_EVENT_LOST. Corresponds to PyTorch's
 * addRegistrationListener() (SEMANTICS 8.1), which does not report functions.
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: 0, -EINVAL (size, no function), -EEXIST (registered in this or another registry,
 * or still running), -ENOMEM, -ESHUTDOWN.
 */
int dk_listener_register(struct dk_listener *listener, struct dk_diag *why);

/**
 * dk_listener_unregister() - unregister a listener and wait until it has returned
 * @listener: the listener; may be NULL or not registered
 *
 * After this function has returned 0, the listener is not running and will not be called.
 * If several threads unregister the listener at once, all of them wait. The memory may be
 * freed, or the listener registered again, after all have returned. This function waits
 * for the thread that runs @listener->notify. To avoid a deadlock, do not hold a lock that
 * @listener->notify takes, and do not call this function from inside a function of a
 * provider that @listener->notify unregisters or drains.
 *
 * Context: Process context, sleeps until the listener has returned. Not in the kernel module.
 * Return: 0, or -EDEADLK from inside the listener, a hook, in userspace a read-side critical
 * section of liburcu-bp or, on bare metal, an atomic call.
 */
int dk_listener_unregister(struct dk_listener *listener);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_LISTENER_H */
