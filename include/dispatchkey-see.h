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
 * @DK_PROV_NO_ENTRY: 9, nothing, as the trimmed table has no such entry
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
	DK_PROV_NO_ENTRY,
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
 * Where a trimmed table has no such entry (dk_table_index()), the answer is what
 * the rules say, as in dk_op_dump_table(); no call gets there.
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
 * struct dk_op_info - one operator of a registry
 * @size: sizeof(struct dk_op_info), set by the caller
 * @flags: of enum dk_op_flags, 0 where it is not defined
 * @num_impls: how many functions are registered for it, those of devices, too
 * @max_objs: how many objects a call dispatches on at most, as the DK_OP() line of the
 *	definition says; 0 where that is not known, where a list has any number of them, or
 *	where they are more than 254
 * @is_defined: whether somebody defines it
 * @is_dangling: whether it has functions and nobody defines it
 * @reserved: zero
 * @name: of the operator
 * @definer: name of the provider that defines it, or empty
 */
struct dk_op_info {
	__u32 size;
	__u32 flags;
	__u32 num_impls;
	__u32 max_objs;
	__u8 is_defined;
	__u8 is_dangling;
	__u8 reserved[2];
	char name[DK_NAME_MAX];
	char definer[DK_NAME_MAX];
};

/**
 * dk_registry_next_op() - walk the operators of a registry by name
 * @reg: the registry, NULL for the default one
 * @after: the name behind which to look, which may be @info->name; NULL begins
 * @info: takes the answer; set @info->size before
 *
 * Operators that come and go meanwhile do not disturb the walk: each that is
 * there all the time is met once. PyTorch's _dispatch_get_all_op_names() and
 * _dispatch_find_dangling_impls() (SEMANTICS 9).
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT behind the last one, -EINVAL (size), -ENOMEM.
 */
int dk_registry_next_op(struct dk_registry *reg, const char *after,
			struct dk_op_info *info);

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
 * dk_op_route() - route a call without making it
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
int dk_op_route(struct dk_op *op, struct dk_keyset included, struct dk_keyset excluded,
		const struct dk_obj *const *objs, unsigned int n, struct dk_route *r);

/* ---- text, as PyTorch prints it ------------------------------------------- */

/*
 * Each of these shows one state of the registry. They count as snprintf() does:
 * what does not fit is left out, and the length that there was is returned. Who
 * asks twice, for the length and for the text, looks at the second answer, too.
 */

/**
 * dk_op_dump() - the registrations of an operator (dumpState, SEMANTICS 9.1)
 * @op: the operator
 * @buf: takes the text
 * @size: its size, may be 0
 *
 * A device's function has "@DEVICE" behind its label, which PyTorch has not.
 *
 * Context: Process context, may sleep.
 * Return: The length of the text.
 */
size_t dk_op_dump(struct dk_op *op, char *buf, size_t size);

/**
 * dk_op_dump_table() - what serves each key (dumpComputedTable, SEMANTICS 9.2)
 * @op: the operator
 * @buf: takes the text
 * @size: its size, may be 0
 *
 * The functions are read from the published row, the rules from the evaluator.
 *
 * Context: Process context, may sleep.
 * Return: The length of the text.
 */
size_t dk_op_dump_table(struct dk_op *op, char *buf, size_t size);

/**
 * dk_op_list_keys() - the keys that something serves (listAllDispatchKeys, 9.3)
 * @op: the operator
 * @buf: takes the text, such as "[CPU, AutogradCPU]"
 * @size: its size, may be 0
 *
 * The published row is asked; Undefined is not in the list.
 *
 * Context: Process context, may sleep.
 * Return: The length of the text.
 */
size_t dk_op_list_keys(struct dk_op *op, char *buf, size_t size);

/**
 * dk_op_dump_extractor() - what a call dispatches on (SEMANTICS 9.4)
 * @op: the operator
 * @buf: takes the text
 * @size: its size, may be 0
 *
 * 64 digits, of which the i-th is 1 where a boxed call dispatches on the i-th
 * argument from the last; then the keys that are no fallthroughs. Where the
 * backends differ in a functionality, it is one unless all of them say so.
 *
 * Context: Process context, may sleep.
 * Return: The length of the text.
 */
size_t dk_op_dump_extractor(struct dk_op *op, char *buf, size_t size);

/**
 * dk_missing_text() - why nothing serves a set (SEMANTICS 9.6)
 * @op: the operator
 * @ks: the effective set, as dk_op_route() reports it
 * @buf: takes the text
 * @size: its size, may be 0
 *
 * A call that nothing serves returns -ENOSYS and makes no text. Where a
 * published row is wrong, the text is that of dk_invariants_text().
 *
 * Context: Process context, may sleep.
 * Return: The length of the text.
 */
size_t dk_missing_text(struct dk_op *op, struct dk_keyset ks, char *buf, size_t size);

/**
 * dk_ambiguous_text() - why a call is answered with -ENOTUNIQ (SEMANTICS 7.6)
 * @op: the operator
 * @buf: takes the text
 * @size: its size, may be 0
 *
 * Context: Process context, may sleep.
 * Return: The length of the text.
 */
size_t dk_ambiguous_text(struct dk_op *op, char *buf, size_t size);

/**
 * dk_invariants_text() - registrations and table, for whom dk_op_check() alarms
 * @op: the operator
 * @buf: takes the text
 * @size: its size, may be 0
 *
 * Context: Process context, may sleep.
 * Return: The length of the text.
 */
size_t dk_invariants_text(struct dk_op *op, char *buf, size_t size);

/**
 * dk_registry_list_ops() - the names of all operators, a line each
 * @reg: the registry, NULL for the default one
 * @key: only those with a function at exactly this key, which may be an alias;
 *	DK_UNDEFINED for all
 * @buf: takes the text
 * @size: its size, may be 0
 *
 * Sorted by name, defined or not.
 *
 * Context: Process context, may sleep.
 * Return: The length of the text, or -ENOMEM; then the text is empty.
 */
long dk_registry_list_ops(struct dk_registry *reg, unsigned int key, char *buf, size_t size);

/**
 * dk_registry_list_dangling() - operators with functions that nobody defines
 * @reg: the registry, NULL for the default one
 * @buf: takes the texts of dk_op_dump(), one behind the other
 * @size: its size, may be 0
 *
 * Context: Process context, may sleep.
 * Return: The length of the text, or -ENOMEM; then the text is empty.
 */
long dk_registry_list_dangling(struct dk_registry *reg, char *buf, size_t size);

/* ---- questions ------------------------------------------------------------ */

/**
 * dk_op_has_impl() - is a function registered at exactly this key?
 * @op: the operator
 * @key: a runtime key, building block or alias key
 * @why: filled on failure; may be NULL
 *
 * hasKernelForDispatchKey; functions of devices do not count.
 *
 * Context: Process context, may sleep.
 * Return: 1, 0, or -EINVAL (no such key).
 */
int dk_op_has_impl(struct dk_op *op, unsigned int key, struct dk_diag *why);

/**
 * dk_op_has_impl_in() - is a function registered at a key of this set?
 * @op: the operator
 * @ks: the set; keys that are not aliases are looked for in it
 *
 * hasKernelForAnyDispatchKey; functions of devices do not count.
 *
 * Context: Process context, may sleep.
 * Return: 1 or 0.
 */
int dk_op_has_impl_in(struct dk_op *op, struct dk_keyset ks);

/**
 * dk_op_is_served() - has the published table something at this key?
 * @op: the operator
 * @key: a runtime key; a building block stands for its first backend's
 * @why: filled on failure; may be NULL
 *
 * hasComputedKernelForDispatchKey; the entry that is ambiguous counts.
 *
 * Context: Process context, may sleep.
 * Return: 1, 0, or -EINVAL (no such key, an alias key).
 */
int dk_op_is_served(struct dk_op *op, unsigned int key, struct dk_diag *why);

/**
 * dk_op_is_fallthrough() - is what is registered at exactly this key one?
 * @op: the operator
 * @key: a runtime key, building block or alias key
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 1, 0, -EINVAL (no such key) or -ENOENT (nothing is registered there).
 */
int dk_op_is_fallthrough(struct dk_op *op, unsigned int key, struct dk_diag *why);

/**
 * dk_registry_has_fallback() - has this key a backend fallback?
 * @reg: the registry, NULL for the default one
 * @key: a runtime key; an alias key stands for Undefined, as in PyTorch
 *
 * One that the registry was born with counts.
 *
 * Context: Process context, may sleep.
 * Return: 1 or 0.
 */
int dk_registry_has_fallback(struct dk_registry *reg, unsigned int key);

/**
 * dk_op_check() - compare an operator's published rows with the rules
 * @op: the operator
 * @why: filled on failure; may be NULL
 *
 * dk_registry_check() does this for all; dk_invariants_text() tells more.
 *
 * Context: Process context, may sleep.
 * Return: 0, or -EILSEQ.
 */
int dk_op_check(struct dk_op *op, struct dk_diag *why);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_SEE_H */
