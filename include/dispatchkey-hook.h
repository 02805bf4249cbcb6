/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Being told of calls: for profilers and for traces. Included by
 * <dispatchkey.h>.
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
 * struct dk_hook_info - what a hook is told of a call
 * @size: sizeof(struct dk_hook_info)
 * @kind: of enum dk_hook_kind
 * @depth: in how many calls that hooks were told of this one is nested
 * @key: the key that it was routed by
 * @ks: its effective keyset
 * @name: of the operator
 * @op: the operator
 * @call: the call, which has a dk_call_frame(); NULL where nothing serves it
 * @sequence: number of the call among those of the registry with an autograd
 *	key in the set, from 0 again behind the greatest long; -1 for others and
 *	for redispatches
 * @result: behind the call, what it returned
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
 * enum dk_hook_flags - what a hook is told of
 * @DK_HOOK_TRACE: redispatches, too, and the operators that PyTorch shows to no
 *	profiler, such as aten::size (SEMANTICS 8.6)
 */
enum dk_hook_flags {
	DK_HOOK_TRACE = 1,
};

struct dk_hooks;

/**
 * typedef dk_hook_fn_t - is told of a call
 * @h: the hooks
 * @info: of the call, for as long as the function runs
 *
 * Context: That of the call, in an RCU read section: it does not sleep, and
 * registers and unregisters nothing. It may call operators, of which hooks are
 * told, too.
 */
typedef void (*dk_hook_fn_t)(struct dk_hooks *h, const struct dk_hook_info *info);

/**
 * struct dk_hooks - who wants to be told of calls
 * @size: sizeof(struct dk_hooks)
 * @flags: of enum dk_hook_flags
 * @before: called once the call is routed and before its function runs, or NULL
 * @after: called when it has returned, or NULL. It is told of the calls that
 *	began while the hooks were registered. What nothing serves is told
 *	to both, one behind the other.
 * @data: the owner's
 *
 * The rest is the dispatcher's own. The storage stays until it is unregistered.
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
 * dk_hooks_register() - be told of the calls of a registry
 * @reg: the registry, NULL for the default one
 * @h: the hooks
 * @why: filled on failure; may be NULL
 *
 * Calls for one key and calls that were refused before they were routed are
 * told to nobody. Where no hooks are registered they cost a call one branch.
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL (size, flags, no function), -EEXIST (is registered),
 * -ENOMEM, -ESHUTDOWN.
 */
int dk_hooks_register(struct dk_registry *reg, struct dk_hooks *h,
		      struct dk_diag *why);

/**
 * dk_hooks_unregister() - be told no more, and wait until none is inside
 * @h: the hooks
 * @why: filled on failure; may be NULL
 *
 * It allocates nothing. Of two who unregister it at once, both wait.
 *
 * Context: Process context, sleeps until its functions have returned.
 * Return: 0, -ENOENT (is not registered, or another caller has just taken it
 * out: also then nobody is inside), or -EDEADLK from inside a hook or, in the kernel,
 * an atomic call.
 */
int dk_hooks_unregister(struct dk_hooks *h, struct dk_diag *why);

/**
 * dk_trace_line() - a call as a line of PyTorch's dispatch trace (SEMANTICS 8.5)
 * @info: of the call
 * @buf: takes the line, without a newline
 * @size: its size, may be 0
 *
 * Such as " [call] op=[my::add], key=[AutogradCPU]", one blank more a depth.
 *
 * Context: Any.
 * Return: The length of the line, which counts on as that of snprintf() does.
 */
size_t dk_trace_line(const struct dk_hook_info *info, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_HOOK_H */
