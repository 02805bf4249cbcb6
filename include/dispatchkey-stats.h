/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Counters: how often each function served each operator. Included by
 * <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_STATS_H
#define _DISPATCHKEY_STATS_H

#include <dispatchkey-see.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dk_stats_enable() - count the calls of a registry
 * @reg: the registry, NULL for the default one
 * @why: filled on failure; may be NULL
 *
 * A call counts for the function that was chosen to serve it, when it is
 * entered, a redispatch for the one that takes it, and a call that nothing
 * serves as missing. Calls refused for another reason do not count. All begins
 * at zero. What is registered from now on is counted, too, if there is memory
 * for it.
 *
 * Where they are on already, who found no memory then gets its counter, and all
 * others go on.
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOMEM (then they are as they were), or -ESHUTDOWN.
 */
int dk_stats_enable(struct dk_registry *reg, struct dk_diag *why);

/**
 * dk_stats_disable() - count no more, and give the memory of the counters back
 * @reg: the registry, NULL for the default one
 * @why: filled on failure; may be NULL
 *
 * It allocates nothing. Of two who do so at once, both wait.
 *
 * Context: Process context, sleeps until nobody counts any more, which takes
 * one grace period. It waits for the functions of atomic operators in the kernel, and
 * for no others.
 * Return: 0, also where they are off; -EDEADLK from inside a hook or, in the kernel,
 * an atomic call.
 */
int dk_stats_disable(struct dk_registry *reg, struct dk_diag *why);

/**
 * dk_stats_reset() - set the counters to zero
 * @reg: the registry, NULL for the default one
 * @why: filled on failure; may be NULL
 *
 * Calls go on meanwhile, and no count is lost: each call is in the counts before
 * or in those behind.
 *
 * Context: Process context, may sleep.
 * Return: 0, or -ENODATA (they are off).
 */
int dk_stats_reset(struct dk_registry *reg, struct dk_diag *why);

/**
 * struct dk_stats - the counters of a registry
 * @size: sizeof(struct dk_stats), set by the caller
 * @is_enabled: whether calls are counted
 * @counters: how many counters are in use
 * @reserved: zero
 * @uncounted: calls for which there was no counter: by a function that came when
 *	there was no memory for one; by a backend fallback that the operator's
 *	table does not name (dk_call_enter_key()); in userspace, of all
 *	registries, by a thread that made its first call when there was no memory
 * @gone: calls that were counted by what is gone: functions and fallbacks that were
 *	unregistered, operators that have neither a definition nor functions any
 *	more. With these, the sum of all counters is the number of calls since the
 *	counters were enabled or reset
 */
struct dk_stats {
	__u32 size;
	__u32 is_enabled;
	__u32 counters;
	__u32 reserved;
	__u64 uncounted;
	__u64 gone;
};

/**
 * dk_stats_get() - are calls counted, and are all?
 * @reg: the registry, NULL for the default one
 * @s: takes the answer; set @s->size before
 *
 * Context: Process context, may sleep.
 * Return: 0, or -EINVAL (size).
 */
int dk_stats_get(struct dk_registry *reg, struct dk_stats *s);

/**
 * enum dk_stat_kind - what is counted
 * @DK_STAT_IMPL: the calls that a function of the operator served
 * @DK_STAT_FALLBACK: the calls of the operator that a backend fallback served
 * @DK_STAT_MISSING: the calls that nothing served: -ENOSYS, -ENOTUNIQ, -ENODEV
 * @DK_STAT_PROVIDER: all calls that functions of a provider served
 */
enum dk_stat_kind {
	DK_STAT_IMPL,
	DK_STAT_FALLBACK,
	DK_STAT_MISSING,
	DK_STAT_PROVIDER,
};

/**
 * struct dk_stat - one counter
 * @size: sizeof(struct dk_stat), set by the caller
 * @kind: of enum dk_stat_kind
 * @key: where the function is registered, a runtime key, building block or alias
 *	key; DK_UNDEFINED where it is none
 * @count: how many calls, since the counters were enabled or reset and the
 *	function was registered
 * @device: number of the device whose function it is, or 0
 * @is_counted: whether it has a counter: 0 where counters are off or there was
 *	no memory for it. A fallthrough serves nothing and has none
 * @reserved: zero
 * @label: of the function, or empty
 * @provider: who registered it, or empty
 * @device_name: name of that device, or empty
 */
struct dk_stat {
	__u32 size;
	__u16 kind;
	__u16 key;
	__u64 count;
	__u32 device;
	__u8 is_counted;
	__u8 reserved[3];
	char label[DK_NAME_MAX];
	char provider[DK_NAME_MAX];
	char device_name[DK_NAME_MAX];
};

/**
 * dk_op_stat() - walk the counters of an operator
 * @op: the operator
 * @i: which one, from 0: its functions as dk_op_impl() has them, then the backend
 *	fallbacks that its table names, then what nothing served
 * @s: takes the answer; set @s->size before
 *
 * What a function or a backend fallback has counted moves to @gone of struct
 * dk_stats when it is unregistered.
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT behind the last one, -EINVAL (size).
 */
int dk_op_stat(struct dk_op *op, unsigned int i, struct dk_stat *s);

/**
 * dk_provider_stat() - how many calls a provider has served
 * @reg: the registry, NULL for the default one
 * @name: of the provider; those who share it are one
 * @s: takes the answer, of kind DK_STAT_PROVIDER; set @s->size before
 *
 * The sum of the counters of its functions and backend fallbacks.
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT (no provider of that name), -EINVAL (size).
 */
int dk_provider_stat(struct dk_registry *reg, const char *name, struct dk_stat *s);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_STATS_H */
