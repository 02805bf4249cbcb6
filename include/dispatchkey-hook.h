/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Declares hooks: functions of profilers and tracers that run before and after each
 * call. Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_HOOK_H
#define _DISPATCHKEY_HOOK_H

#include <dispatchkey-call.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum dk_hook_kind - how a call was made (SEMANTICS 8.5)
 * @DK_HOOK_CALL: call
 * @DK_HOOK_REDISPATCH: redispatch
 * @DK_HOOK_CALL_BOXED: callBoxed
 * @DK_HOOK_REDISPATCH_BOXED: redispatchBoxed
 */
enum dk_hook_kind {
	DK_HOOK_CALL,
	DK_HOOK_REDISPATCH,
	DK_HOOK_CALL_BOXED,
	DK_HOOK_REDISPATCH_BOXED,
};

/**
 * struct dk_hook_info - a call, as passed to hooks
 * @size: sizeof(struct dk_hook_info)
 * @kind: of enum dk_hook_kind
 * @depth: nesting depth: the number of enclosing calls that began while hooks were registered.
 *	Calls at a given key (dk_call_enter_key()), which run no hooks, do not count
 * @key: the key by which the call was routed
 * @ks: its effective keyset
 * @name: name of the operator
 * @op: the operator
 * @call: the call, which has a dk_call_frame(); NULL if no function serves it
 * @sequence: number of a call whose keyset has an autograd key. Each registry numbers these
 *	calls from 0 on, and begins again at 0 after LONG_MAX. -1 for other calls and for
 *	redispatches
 * @result: after the call, what it returned
 * @reserved: zero
 */
struct dk_hook_info {
	__u32 size;
	__u32 kind;
	__u32 depth;
	__u32 key;
	struct dk_keyset ks;
	const char *name;
	struct dk_op *op;
	const struct dk_call *call;
	__s64 sequence;
	__s32 result;
	__u32 reserved;
};

/**
 * enum dk_hook_flags - which calls run a hook
 * @DK_HOOK_TRACE: run the hooks also for redispatches, and for calls of operators that
 *	PyTorch hides from profilers, such as aten::size (SEMANTICS 8.6)
 */
enum dk_hook_flags {
	DK_HOOK_TRACE = 1,
};

struct dk_hooks;

/**
 * typedef dk_hook_fn_t - a function that is called for each call
 * @h: the hooks
 * @info: the call; valid until the function returns
 *
 * Context: Same as the call, inside an RCU read-side critical section. Must not sleep,
 * and must not register or unregister anything. May call operators; these calls run
 * the hooks, too.
 */
typedef void (*dk_hook_fn_t)(struct dk_hooks *h, const struct dk_hook_info *info);

/**
 * struct dk_hooks - a pair of hooks
 * @size: sizeof(struct dk_hooks)
 * @flags: of enum dk_hook_flags
 * @before: called after a call is routed and before its function runs, or
 *	NULL
 * @after: called after the function has returned, or NULL. It is called only for
 *	calls that began while the hooks were registered. For calls without a function,
 *	@after is called immediately after @before
 * @data: for the owner of the hooks
 *
 * The other members are private. The storage must stay valid until the hooks are
 * unregistered.
 */
struct dk_hooks {
	__u32 size;
	__u32 flags;
	dk_hook_fn_t before;
	dk_hook_fn_t after;
	void *data;
	/* private: */
	struct dk_registry *reg;
	struct dk_hooks DK__RCU *next;
	__u64 id;
};

/**
 * dk_hooks_register() - register hooks for the calls of a registry
 * @reg: the registry, NULL for the default one
 * @h: the hooks
 * @why: filled on failure; may be NULL
 *
 * Hooks do not run for calls to the function at a given key (dk_call_enter_key()), or for
 * calls that fail before they are routed. While no hooks are registered, they cost calls
 * nothing.
 *
 * Context: Process context, may sleep. No other thread may register or unregister
 * @h while this function runs.
 * Return: 0, -EINVAL (size, flags, no function), -EEXIST (already registered),
 * -ENOMEM, -ESHUTDOWN.
 */
int dk_hooks_register(struct dk_registry *reg, struct dk_hooks *h,
		      struct dk_diag *why);

/**
 * dk_hooks_unregister() - unregister hooks and wait until they have returned
 * @h: the hooks; does nothing if NULL
 * @why: filled on failure; may be NULL
 *
 * Works without free memory. If several threads unregister the hooks at once, all of them wait.
 *
 * Context: Process context, sleeps until the hooks have returned.
 * Return: 0; -ENOENT if the hooks are not registered, or were just unregistered by
 * another caller (in both cases they are not running); -EDEADLK from inside a hook or, in
 * userspace, in a read-side critical section of liburcu-bp;
 * in the kernel and on bare metal also -EDEADLK from inside an atomic call. A kernel
 * without CONFIG_PREEMPT_COUNT detects neither a hook nor an atomic call.
 */
int dk_hooks_unregister(struct dk_hooks *h, struct dk_diag *why);

/**
 * dk_trace_line() - print a call as in PyTorch's dispatch trace (SEMANTICS 8.5)
 * @info: the call
 * @buf: filled with the line, without a newline
 * @size: size of @buf in bytes, may be 0
 *
 * For example " [call] op=[my::add], key=[AutogradCPU]", indented by one more space
 * for each level of nesting.
 *
 * Context: Any. Not in the kernel module.
 * Return: The length of the whole line, as snprintf().
 */
size_t dk_trace_line(const struct dk_hook_info *info, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_HOOK_H */
