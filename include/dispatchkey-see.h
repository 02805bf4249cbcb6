/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Where calls go, and why. Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_SEE_H
#define _DISPATCHKEY_SEE_H

#include <dispatchkey-operator.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum dk_provenance - which rule filled a table entry (SEMANTICS 7.2)
 * @DK_PROV_MISSING: none
 * @DK_PROV_KERNEL: 1, a function at the very key
 * @DK_PROV_DEFAULT_BACKEND: 2 and 3, CompositeExplicitAutograd, with and
 *	without NonFunctional
 * @DK_PROV_NESTED: 5, CompositeImplicitAutogradNestedTensor
 * @DK_PROV_AMBIGUOUS: 6a, CompositeImplicitAutograd and a backend of
 *	AutogradOther both serve it
 * @DK_PROV_MATH: 6b, CompositeImplicitAutograd
 * @DK_PROV_AUTOGRAD: 7, Autograd
 * @DK_PROV_BATCHED: 8, FuncTorchBatchedDecomposition
 * @DK_PROV_FALLBACK: 10, the backend fallback
 */
enum dk_provenance {
	DK_PROV_MISSING,
	DK_PROV_KERNEL,
	DK_PROV_DEFAULT_BACKEND,
	DK_PROV_NESTED,
	DK_PROV_AMBIGUOUS,
	DK_PROV_MATH,
	DK_PROV_AUTOGRAD,
	DK_PROV_BATCHED,
	DK_PROV_FALLBACK,
};

/**
 * dk_provenance_name() - PyTorch's words for a rule
 * @prov: the rule
 *
 * Context: Any.
 * Return: A constant string, such as "kernel" or "default backend kernel".
 */
const char *dk_provenance_name(enum dk_provenance prov);

/**
 * struct dk_entry - what serves a table entry or a route
 * @size: sizeof(struct dk_entry), set by the caller
 * @provenance: the rule, of enum dk_provenance
 * @is_fallthrough: whether it is a fallthrough
 * @device: number of the device whose function it is, or 0
 * @label: of the function
 * @provider: who registered it
 * @device_name: name of that device, empty if there is none
 */
struct dk_entry {
	__u32 size;
	__u16 provenance;
	__u16 is_fallthrough;
	__u32 device;
	char label[DK_NAME_MAX];
	char provider[DK_NAME_MAX];
	char device_name[DK_NAME_MAX];
};

/**
 * dk_op_entry() - one entry of an operator's table
 * @op: the operator
 * @device: number of a device, 0 for the table without one
 * @slot: which entry
 * @e: takes the answer; set @e->size before
 *
 * The function is read from the published row, the rule from the evaluator.
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL (no such entry, size), -ENODEV.
 */
int dk_op_entry(struct dk_op *op, __u32 device, unsigned int slot,
		struct dk_entry *e);

/**
 * struct dk_impl_info - one registration of an operator
 * @size: sizeof(struct dk_impl_info), set by the caller
 * @key: where it was registered: a runtime key, building block or alias key
 * @is_fallthrough: whether it is a fallthrough
 * @is_boxed: whether it is a boxed function
 * @is_active: whether it is the newest at its key, of its device
 * @reserved: zero
 * @device: number of the device whose function it is, or 0
 * @label: of the function
 * @provider: who registered it
 * @device_name: name of that device, or empty
 */
struct dk_impl_info {
	__u32 size;
	__u16 key;
	__u8 is_fallthrough;
	__u8 is_boxed;
	__u8 is_active;
	__u8 reserved[3];
	__u32 device;
	char label[DK_NAME_MAX];
	char provider[DK_NAME_MAX];
	char device_name[DK_NAME_MAX];
};

/**
 * dk_op_impl() - walk the registrations of an operator
 * @op: the operator
 * @i: which one, from 0: by key number, then newest first (SEMANTICS 9.1)
 * @info: takes the answer; set @info->size before
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT behind the last one, -EINVAL (size).
 */
int dk_op_impl(struct dk_op *op, unsigned int i, struct dk_impl_info *info);

/**
 * struct dk_route - where a call goes
 * @size: sizeof(struct dk_route), set by the caller
 * @slot: the table entry
 * @raw: what the arguments carry
 * @effective: after local state and fallthrough mask
 * @entry: what serves it
 */
struct dk_route {
	__u32 size;
	__u32 slot;
	struct dk_keyset raw;
	struct dk_keyset effective;
	struct dk_entry entry;
};

/**
 * dk_route() - route a call without making it
 * @op: the operator
 * @included: included set of the local state, in the operator's layout
 * @excluded: excluded set
 * @objs: the arguments that it dispatches on
 * @n: how many
 * @r: takes the answer, also where a call would be refused; set @r->size before
 *
 * It asks the lookup that a call uses.
 *
 * Context: Process context, may sleep.
 * Return: What dk_call_enter() would, or -EINVAL (size).
 */
int dk_route(struct dk_op *op, struct dk_keyset included, struct dk_keyset excluded,
	     const struct dk_obj *const *objs, unsigned int n, struct dk_route *r);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_SEE_H */
