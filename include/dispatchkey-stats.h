/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Counts the calls to each function of each operator. Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_STATS_H
#define _DISPATCHKEY_STATS_H

#include <dispatchkey-see.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dk_stats_enable() - enable the counters of a registry
 * @reg: the registry, NULL for the default one
 * @why: filled on failure; may be NULL
 *
 * A call or redispatch adds one to the counter of the function to which it is routed,
 * before the function runs. Calls without a function are counted as missing. Calls that
 * the dispatcher refuses for another reason are not counted. All counters start at zero.
 * Functions that are registered later get counters, too, if there is memory.
 *
 * If the counters are enabled already, this function only tries again to allocate
 * counters for which there was no memory.
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOMEM (nothing is enabled or disabled), or -ESHUTDOWN.
 */
int dk_stats_enable(struct dk_registry *reg, struct dk_diag *why);

/**
 * dk_stats_disable() - disable the counters and free their memory
 * @reg: the registry, NULL for the default one
 * @why: filled on failure; may be NULL
 *
 * Allocates no memory. If several threads disable the counters at once, all of them wait.
 *
 * Context: Process context, sleeps for one grace period, until the counters are
 * unused. In the kernel it waits for running functions of atomic operators, but not
 * for those of other operators.
 * Return: 0, also if the counters were already disabled; -EDEADLK from inside a
 * hook or, in userspace, in a read-side critical section of liburcu-bp; in the kernel
 * and on bare metal also -EDEADLK from inside an atomic call. A kernel without
 * CONFIG_PREEMPT_COUNT detects neither a hook nor an atomic call.
 */
int dk_stats_disable(struct dk_registry *reg, struct dk_diag *why);

/**
 * dk_stats_reset() - set the counters to zero
 * @reg: the registry, NULL for the default one
 * @why: filled on failure; may be NULL
 *
 * Calls may continue during the reset. Each is counted either before or after it.
 *
 * Context: Process context, may sleep.
 * Return: 0, or -ENODATA (the counters are disabled).
 */
int dk_stats_reset(struct dk_registry *reg, struct dk_diag *why);

/**
 * struct dk_stats - the state of a registry's counters
 * @size: sizeof(struct dk_stats), set by the caller
 * @is_enabled: whether calls are counted
 * @counters: number of counters in use
 * @reserved: zero
 * @uncounted: number of calls for which there was no counter, for one of three reasons: the
 *	called function was registered when there was no memory for a counter;
 *	dk_call_enter_key() called a backend fallback that the operator's table does not use;
 *	or, in userspace, the thread made its first call when there was no memory. The calls of
 *	such a thread are included in @uncounted of every registry
 * @gone: number of counted calls of functions and fallbacks that have been unregistered,
 *	and of operators that no longer have a definition or functions. The sum of all
 *	counters, @gone and @uncounted is the number of calls since the counters were
 *	enabled or reset. It includes calls that no function served, but no other calls
 *	that the dispatcher refused
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
 * dk_stats_get() - get the state of a registry's counters
 * @reg: the registry, NULL for the default one
 * @s: filled with the state; set @s->size first
 *
 * Context: Process context, may sleep.
 * Return: 0, or -EINVAL (size).
 */
int dk_stats_get(struct dk_registry *reg, struct dk_stats *s);

/**
 * enum dk_stat_kind - what a counter counts
 * @DK_STAT_IMPL: calls to a function of the operator
 * @DK_STAT_FALLBACK: calls to the operator that used a backend fallback
 * @DK_STAT_MISSING: calls without a function: -ENOSYS, -ENOTUNIQ, -ENODEV
 * @DK_STAT_PROVIDER: calls to all functions of a provider
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
 * @key: the key that the function is registered at: a runtime key, building
 *	block or alias key; DK_UNDEFINED if there is no function
 * @count: number of calls since the counters were enabled or reset, or since
 *	the function was registered if that was later
 * @device: number of the device that the function belongs to, or 0
 * @is_counted: 1 if there is a counter. 0 if counters are disabled, if there was no memory
 *	for the counter, or for a fallthrough, which is never called
 * @reserved: zero
 * @label: label of the function, or empty
 * @provider: name of the provider that registered it, or empty
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
 * @i: index, from 0: its functions in the order of dk_op_impl(), the backend
 *	fallbacks that have a counter for it, the calls without a function
 * @s: filled with the counter; set @s->size first
 *
 * When a function or backend fallback is unregistered, its count is added to @gone
 * of struct dk_stats.
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT at the end or if @op is NULL, -EINVAL (size).
 */
int dk_op_stat(struct dk_op *op, unsigned int i, struct dk_stat *s);

/**
 * dk_provider_stat() - the number of calls of a provider's functions
 * @reg: the registry, NULL for the default one
 * @name: name of the provider. If several providers have this name, their counters are
 *	added
 * @s: filled with the sum, of kind DK_STAT_PROVIDER; set @s->size first
 *
 * The sum includes calls of the provider's backend fallbacks.
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT (no provider of that name), -EINVAL (size, @name is NULL).
 */
int dk_provider_stat(struct dk_registry *reg, const char *name, struct dk_stat *s);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_STATS_H */
