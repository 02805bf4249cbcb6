/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Explains the route of a call, step by step. Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_EXPLAIN_H
#define _DISPATCHKEY_EXPLAIN_H

#include <dispatchkey-see.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct dk_explain - the explanation of a call
 * @size: sizeof(struct dk_explain), set by the caller
 * @device: number of the device of the call, or 0
 * @included: included set of the local state
 * @excluded: excluded set
 * @merged: keysets of the arguments with the local state applied, before the mask
 *	removes the keys that fall through
 * @generation: generation of the registry, see dk_registry_generation()
 * @error: what dk_call_enter() would return
 * @reserved: zero
 * @route: the route of the call
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
 * enum dk_step_kind - the kind of a step
 * @DK_STEP_MASK: a functionality that the mask removed because its entry is a
 *	fallthrough
 * @DK_STEP_RULE: the result of a rule for the entry of the call
 * @DK_STEP_IMPL: the effect of a registration on the call
 */
enum dk_step_kind {
	DK_STEP_MASK,
	DK_STEP_RULE,
	DK_STEP_IMPL,
};

/**
 * enum dk_verdict - the result of a rule for an entry (SEMANTICS 7.2)
 * @DK_VERDICT_NOT_EVALUATED: the rule is not evaluated, because an earlier rule decided
 * @DK_VERDICT_SERVES: the rule has a function, which is used, or a fallthrough. A fallthrough
 *	can only be in the entry of the key Undefined, because the mask removes all other keys
 *	that have one. The call then fails with -ENOSYS
 * @DK_VERDICT_AMBIGUOUS: rule 6a, two functions have the same precedence
 * @DK_VERDICT_MISSING: rule 11, no rule has a function
 * @DK_VERDICT_NO_IMPL: nothing is registered at the rule's key
 * @DK_VERDICT_NO_ALIAS: the layout lacks the rule's alias key
 * @DK_VERDICT_OUTSIDE: the rule's alias key does not stand for the entry
 * @DK_VERDICT_BARS: rule 4: functions at CompositeImplicitAutograd cannot serve the entry
 *	by rule 6, because another function bars them
 * @DK_VERDICT_BARS_NOT: rule 4: no function bars those at CompositeImplicitAutograd
 * @DK_VERDICT_BARRED: rule 6b has a function, but rule 4 bars it
 * @DK_VERDICT_HAS_ENTRY: rule 9, the table has an entry for the key
 * @DK_VERDICT_NO_ENTRY: the table is trimmed and has no entry for the key. This is the
 *	result of rule 9. It is also the result of an earlier rule that has a function for
 *	the key
 */
enum dk_verdict {
	DK_VERDICT_NOT_EVALUATED,
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
 * enum dk_bearing - the effect of a registration on a call
 * @DK_BEARING_NONE: no effect: without the registration the call would be the same
 * @DK_BEARING_OVERRIDDEN: no effect, because a newer function is registered at the same
 *	key
 * @DK_BEARING_SERVES: the registered function is used
 * @DK_BEARING_DECIDES: the registered function is not used, but without the registration
 *	the call would use another entry, another rule would decide the entry, or another
 *	function would be used
 * @DK_BEARING_SET: without the registration the effective set would differ, but the entry,
 *	the rule and the function would be the same
 * @DK_BEARING_OFFLINE: no effect, because the function's device or backend is offline
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
 * @rule: number of the rule in SEMANTICS 7.2; for DK_STEP_MASK, the rule that put the
 *	fallthrough into the entry of the removed key
 * @verdict: for DK_STEP_RULE, of enum dk_verdict
 * @bearing: for DK_STEP_IMPL, of enum dk_bearing
 * @key: for DK_STEP_MASK, the key that is removed; for DK_STEP_RULE, the key at which the
 *	rule needs a function; for DK_STEP_IMPL, the key at which the function is
 *	registered
 * @has_impl: whether the step is about a registration, which the members below describe.
 *	This is the registration that the rule uses, or that bars
 *	CompositeImplicitAutograd. In a DK_STEP_IMPL it is the one whose effect is given
 * @impl_key: the key that it is registered at
 * @is_fallthrough: whether it is a fallthrough
 * @is_fallback: whether it is a backend fallback
 * @reserved: zero
 * @device: number of the device that the function belongs to, or 0
 * @label: label of the function
 * @provider: name of the provider that registered it; empty for builtin
 *	fallbacks (DK_REGISTRY_BUILTINS)
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
 * @objs: the arguments that the call dispatches on
 * @n: number of arguments at @objs
 * @ex: filled with the explanation; set @ex->size first. It need not be freed
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL (size), or -ENOENT (@op is NULL). If the call would fail, the
 * result is still 0, and @ex->error has its errno.
 */
int dk_op_explain(struct dk_op *op, struct dk_keyset included, struct dk_keyset excluded,
		  const struct dk_obj *const *objs, unsigned int n, struct dk_explain *ex);

/**
 * dk_explain_step() - get one step of an explanation
 * @op: the operator
 * @ex: from dk_op_explain()
 * @i: index, from 0. First come the keys that the mask removed, the highest priority
 *	first. Then come the eleven rules, the registrations of the operator in the order
 *	of dk_op_impl(), and the backend fallback of the entry
 * @step: filled with the step; set @step->size first
 *
 * To find the effect of a registration, the rules are evaluated without it. The effect of
 * a registration is therefore the difference that unregistering the function would make.
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT at the end or if @op is NULL, -EINVAL (size), or -EAGAIN if the registry has
 * changed since dk_op_explain().
 */
int dk_explain_step(struct dk_op *op, const struct dk_explain *ex, unsigned int i,
		    struct dk_step *step);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_EXPLAIN_H */
