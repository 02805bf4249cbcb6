/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Work that finishes later: a function submits a job and returns, and the job ends in an
 * interrupt or on another thread.
 */
#ifndef _DISPATCHKEY_DEFER_H
#define _DISPATCHKEY_DEFER_H

#include <dispatchkey-call.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct dk_deferred - a call that continues after its function has returned
 * @size: set by dk_deferred_init()
 *
 * Embed one in each job. Nothing is allocated.
 */
struct dk_deferred {
	__u32 size;
	/* private: */
	__u32 thread;			/* the ID of the thread that made the call */
	__u64 since;			/* when the call was deferred, in ms */
	const void *prov;		/* NULL: completed, or not deferred yet */
	const void *reg;		/* the registration of the called function */
	struct dk_deferred *next;	/* next in a list that the dispatcher protects */
	struct dk_deferred **link;
	__u64 forks;			/* number of fork()s that led to this process */
};

/**
 * dk_deferred_init() - initialize a struct dk_deferred
 * @token: part of a job
 *
 * Call this once, when the job is created. After dk_call_complete() the token can be
 * used again without a second dk_deferred_init(). Calling dk_deferred_init() while a call
 * is deferred with the token damages the list of deferred calls.
 *
 * Context: Any.
 */
DK_INLINE void dk_deferred_init(struct dk_deferred *token)
{
	const struct dk_deferred none = { sizeof(none), 0, 0, NULL, NULL, NULL, NULL, 0 };

	*token = none;
}

/**
 * dk_call_defer() - let a call continue after its function returns
 * @c: the call, from inside the function
 * @token: initialized by dk_deferred_init(); the caller keeps it until
 *	dk_call_complete()
 *
 * A deferred call counts as a running call until it is completed. Unregistering the
 * function, its provider or its device waits for the call, and so does taking the device
 * or backend offline. If such a wait times out, the reason is STILL_INSIDE and names the
 * operator. dk_provider_inside() lists the call with its age. Counters and hooks record
 * the return of the function, and not the completion.
 *
 * Unregistering waits for dk_call_complete(), but not until the interrupt handler or work
 * that calls it has returned. So after unregistering, free the interrupt or flush the work.
 *
 * A deferred call belongs to no thread. The thread that made the call may unregister
 * the provider of its function; unregistering then waits for the call. After fork()
 * the child has no deferred calls.
 *
 * Context: Inside the function. In the kernel any context in which the operator may
 * be called; in userspace also a signal handler, except that of SIGTRAP.
 * Return: 0, -EINVAL if @token is NULL or not initialized, or -EBUSY if a call was deferred
 * with @token and is not completed. If @token was initialized again by mistake, the result may
 * be 0 instead of -EBUSY. After an error, @c ends when its function returns, as usual. A
 * function that fails after dk_call_defer() has returned 0 must complete the call.
 */
int dk_call_defer(const struct dk_call *c, struct dk_deferred *token);

/**
 * dk_call_complete() - end a deferred call
 * @token: from dk_call_defer(). It may be freed or used again when this function
 *	returns
 * @result: 0 or a negative errno. The trace event dk_complete reports @result,
 *	which has no other effect
 *
 * May run before the function of the call has returned.
 *
 * Context: In the kernel any except NMI, including hard interrupts. In userspace any
 * thread, and signal handlers except that of SIGTRAP. On bare metal also interrupt handlers,
 * after dk_bare_interrupts().
 * Return: 0, or -EINVAL if no call is deferred with @token: @token is NULL, the call is
 * completed already, or the parent process deferred the call before a fork(). Complete
 * each call only once. If @token is in use for a new call, a second completion of the old
 * call completes the new one.
 */
int dk_call_complete(struct dk_deferred *token, int result);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_DEFER_H */
