/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Why a call goes where it goes, step by step. Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_EXPLAIN_H
#define _DISPATCHKEY_EXPLAIN_H

#include <dispatchkey-see.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct dk_explain - a call that is explained
 * @size: sizeof(struct dk_explain), set by the caller
 * @device: number of the device that the call is for, or 0
 * @included: included set of the local state
 * @excluded: excluded set
 * @merged: what the arguments carry, with the local state and before the mask
 * @generation: of the registry, see dk_registry_generation()
 * @error: what dk_call_enter() would return
 * @reserved: zero
 * @route: where the call goes
 */
struct dk_explain {
	__u32 size;
	__u32 device;
	struct dk_keyset included;
	struct dk_keyset excluded;
	struct dk_keyset merged;
	__u64 generation;
	__s32 error;
	__u32 reserved;
	struct dk_route route;
};

/**
 * enum dk_step_kind - what a step tells
 * @DK_STEP_MASK: a functionality whose entry is a fallthrough, and which the
 *	mask therefore took out of the set
 * @DK_STEP_RULE: what a rule says of the entry of the call
 * @DK_STEP_IMPL: what a registration has to do with the call
 */
enum dk_step_kind {
	DK_STEP_MASK,
	DK_STEP_RULE,
	DK_STEP_IMPL,
};

/**
 * enum dk_verdict - what a rule says of an entry (SEMANTICS 7.2)
 * @DK_VERDICT_NOT_ASKED: a rule before it has decided
 * @DK_VERDICT_SERVES: its function serves the entry
 * @DK_VERDICT_AMBIGUOUS: 6a, nobody can tell which function is meant
 * @DK_VERDICT_MISSING: 11, no rule has a function
 * @DK_VERDICT_NO_IMPL: nothing is registered at its key
 * @DK_VERDICT_NO_ALIAS: the layout has not the alias key that it goes by
 * @DK_VERDICT_OUTSIDE: the entry is none that its alias key stands for
 * @DK_VERDICT_BARS: 4, a function bars CompositeImplicitAutograd
 * @DK_VERDICT_BARS_NOT: 4, there is no such function
 * @DK_VERDICT_BARRED: 6b, there is a function, but rule 4 bars it
 * @DK_VERDICT_HAS_ENTRY: 9, the table has an entry for the key
 * @DK_VERDICT_NO_ENTRY: the table is trimmed and has no entry for the key, so
 *	that nothing serves: the verdict of 9, and of an earlier rule that has a
 *	function, but nowhere to put it
 */
enum dk_verdict {
	DK_VERDICT_NOT_ASKED,
	DK_VERDICT_SERVES,
	DK_VERDICT_AMBIGUOUS,
	DK_VERDICT_MISSING,
	DK_VERDICT_NO_IMPL,
	DK_VERDICT_NO_ALIAS,
	DK_VERDICT_OUTSIDE,
	DK_VERDICT_BARS,
	DK_VERDICT_BARS_NOT,
	DK_VERDICT_BARRED,
	DK_VERDICT_HAS_ENTRY,
	DK_VERDICT_NO_ENTRY,
};

/**
 * enum dk_bearing - what a registration has to do with a call
 * @DK_BEARING_NONE: nothing: without it, all would be the same
 * @DK_BEARING_OVERRIDDEN: nothing, since a newer one has its key
 * @DK_BEARING_SERVES: it serves
 * @DK_BEARING_DECIDES: it does not serve, but without it something else would
 * @DK_BEARING_SET: without it the effective set would be another one, and the
 *	same function would serve
 * @DK_BEARING_OFFLINE: nothing, since its device or backend is offline
 */
enum dk_bearing {
	DK_BEARING_NONE,
	DK_BEARING_OVERRIDDEN,
	DK_BEARING_SERVES,
	DK_BEARING_DECIDES,
	DK_BEARING_SET,
	DK_BEARING_OFFLINE,
};

/**
 * struct dk_step - one step of an explanation
 * @size: sizeof(struct dk_step), set by the caller
 * @kind: of enum dk_step_kind
 * @rule: number of the rule in SEMANTICS 7.2; of DK_STEP_MASK, the one that
 *	filled the entry
 * @verdict: of DK_STEP_RULE, of enum dk_verdict
 * @bearing: of DK_STEP_IMPL, of enum dk_bearing
 * @key: of DK_STEP_MASK, the key taken out; of DK_STEP_RULE, the key that the
 *	rule goes by; of DK_STEP_IMPL, where it is registered
 * @has_impl: whether the step is about a registration: what was taken, what
 *	bars, or what it has to do with the call. The rest is about that one.
 * @impl_key: where it is registered
 * @is_fallthrough: whether it is a fallthrough
 * @is_fallback: whether it is a backend fallback
 * @reserved: zero
 * @device: number of the device whose function it is, or 0
 * @label: of the function
 * @provider: who registered it; empty if the registry was born with it
 * @device_name: name of that device, or empty
 */
struct dk_step {
	__u32 size;
	__u16 kind;
	__u16 rule;
	__u16 verdict;
	__u16 bearing;
	__u16 key;
	__u16 impl_key;
	__u8 has_impl;
	__u8 is_fallthrough;
	__u8 is_fallback;
	__u8 reserved;
	__u32 device;
	char label[DK_NAME_MAX];
	char provider[DK_NAME_MAX];
	char device_name[DK_NAME_MAX];
};

/**
 * dk_op_explain() - begin to explain a call
 * @op: the operator
 * @included: included set of the local state, in the operator's layout
 * @excluded: excluded set
 * @objs: the arguments that it dispatches on
 * @n: how many
 * @ex: takes the answer; set @ex->size before
 *
 * Nothing has to be given back in the end.
 *
 * Context: Process context, may sleep.
 * Return: 0, also for a call that would be refused, whose error is in @ex; or
 * -EINVAL (size).
 */
int dk_op_explain(struct dk_op *op, struct dk_keyset included, struct dk_keyset excluded,
		  const struct dk_obj *const *objs, unsigned int n, struct dk_explain *ex);

/**
 * dk_explain_step() - one step of an explanation
 * @op: the operator
 * @ex: from dk_op_explain()
 * @i: which step, from 0: what the mask took out, by falling priority; the
 *	eleven rules; then the registrations of the operator as in dk_op_impl(),
 *	and the backend fallback of the entry
 * @step: takes it; set @step->size before
 *
 * That a registration serves or decides is found by leaving it out and asking
 * the rules again; so taking it out changes the entry, and taking out one that
 * has no bearing does not.
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT behind the last step, -EINVAL (size), or -EAGAIN if the
 * registry has changed since dk_op_explain().
 */
int dk_explain_step(struct dk_op *op, const struct dk_explain *ex, unsigned int i,
		    struct dk_step *step);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_EXPLAIN_H */
