/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Reports where calls are routed, and why. Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_SEE_H
#define _DISPATCHKEY_SEE_H

#include <dispatchkey-operator.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum dk_provenance - the rule that filled a table entry (SEMANTICS 7.2)
 * @DK_PROV_MISSING: none; the entry has no function
 * @DK_PROV_KERNEL: rule 1, a function at exactly this key
 * @DK_PROV_DEFAULT_BACKEND: rules 2 and 3, CompositeExplicitAutogradNonFunctional and
 *	CompositeExplicitAutograd
 * @DK_PROV_NESTED: rule 5, CompositeImplicitAutogradNestedTensor
 * @DK_PROV_AMBIGUOUS: rule 6a, both CompositeImplicitAutograd and a backend of
 *	AutogradOther have a function
 * @DK_PROV_MATH: rule 6b, CompositeImplicitAutograd
 * @DK_PROV_AUTOGRAD: rule 7, Autograd
 * @DK_PROV_BATCHED: rule 8, FuncTorchBatchedDecomposition
 * @DK_PROV_FALLBACK: rule 10, the backend fallback
 * @DK_PROV_NO_ENTRY: rule 9, no function, because the trimmed table has no such entry
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
 * dk_provenance_name() - PyTorch's name for a rule
 * @prov: the rule
 *
 * Context: Any.
 * Return: A constant string, such as "kernel" or "default backend kernel".
 */
const char *dk_provenance_name(enum dk_provenance prov);

/**
 * struct dk_entry - the function of a table entry or a route
 * @size: sizeof(struct dk_entry), set by the caller
 * @provenance: the rule that selected it, of enum dk_provenance
 * @is_fallthrough: whether it is a fallthrough
 * @device: number of the device that the function belongs to, or 0
 * @reserved: zero
 * @label: label of the function
 * @provider: name of the provider that registered it
 * @device_name: name of that device, or empty
 */
struct dk_entry {
	__u32 size;
	__u16 provenance;
	__u16 is_fallthrough;
	__u32 device;
	__u32 reserved;
	char label[DK_NAME_MAX];
	char provider[DK_NAME_MAX];
	char device_name[DK_NAME_MAX];
};

/**
 * dk_op_entry() - get one entry of an operator's table
 * @op: the operator
 * @device: number of a device, 0 for the table without a device
 * @slot: index of the entry
 * @e: filled with the entry; set @e->size first
 *
 * Reads the function from the published table, and evaluates the rules to find the rule
 * that selected the function. A trimmed table lacks most entries: dk_table_index()
 * returns -1 for them. For an entry that the table lacks, @e is the function that the
 * rules select, as in dk_op_dump_table(), but no call can reach this function.
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL (no such entry, size), -ENODEV, -ENOENT (@op is NULL).
 */
int dk_op_entry(struct dk_op *op, __u32 device, unsigned int slot,
		struct dk_entry *e);

/**
 * struct dk_impl_info - one registration of an operator
 * @size: sizeof(struct dk_impl_info), set by the caller
 * @key: the key that it is registered at: a runtime key, building block or
 *	alias key
 * @is_fallthrough: whether it is a fallthrough
 * @is_boxed: whether it is a boxed function
 * @is_active: whether it is online and is the newest function at its key: of those of its device
 *	or, if it belongs to no device, of those without a device
 * @reserved: zero
 * @device: number of the device that the function belongs to, or 0
 * @label: label of the function
 * @provider: name of the provider that registered it
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
 * @i: index, from 0. Functions are sorted by the number of their key. Functions at the same
 *	key are listed newest first, those of devices after the others (SEMANTICS 9.1)
 * @info: filled with the registration; set @info->size first
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: 0, -ENOENT at the end or if @op is NULL, -EINVAL (size).
 */
int dk_op_impl(struct dk_op *op, unsigned int i, struct dk_impl_info *info);

/**
 * struct dk_op_info - one operator of a registry
 * @size: sizeof(struct dk_op_info), set by the caller
 * @flags: of enum dk_op_flags, 0 if it is not defined
 * @num_impls: number of functions registered for it, including those of
 *	devices
 * @max_objs: maximum number of objects that a call dispatches on, from the
 *	DK_OP() line of the definition; 0 if unknown, unlimited because of a list,
 *	or above 254
 * @is_defined: whether it is defined
 * @is_dangling: whether it has functions but no definition
 * @reserved: zero
 * @name: name of the operator
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
 * dk_registry_next_op() - walk the operators of a registry, sorted by name
 * @reg: the registry, NULL for the default one
 * @after: the previous name, which may be @info->name; NULL to begin
 * @info: filled with the operator; set @info->size first
 *
 * Every operator that exists during the whole walk is returned exactly once, even if
 * other operators are added or removed during the walk. Corresponds to PyTorch's
 * _dispatch_get_all_op_names() and _dispatch_find_dangling_impls() (SEMANTICS 9).
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: 0, -ENOENT at the end, -EINVAL (size), -ENOMEM.
 */
int dk_registry_next_op(struct dk_registry *reg, const char *after,
			struct dk_op_info *info);

/**
 * struct dk_route - the route of a call
 * @size: sizeof(struct dk_route), set by the caller
 * @slot: the table entry
 * @raw: union of the keysets of the arguments
 * @effective: @raw with the local state applied, without the keys that fall through
 * @entry: the function
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
 * @objs: the arguments that the call dispatches on
 * @n: number of arguments at @objs
 * @r: filled with the route, even if a call would fail; set @r->size first
 *
 * Uses the same lookup as a call.
 *
 * Context: Process context, may sleep.
 * Return: What dk_call_enter() would return; -ENOENT if @op is NULL; -EINVAL (size).
 */
int dk_op_route(struct dk_op *op, struct dk_keyset included, struct dk_keyset excluded,
		const struct dk_obj *const *objs, unsigned int n, struct dk_route *r);

/* ---- text, as PyTorch prints it ------------------------------------------- */

/*
 * Each of these functions prints one consistent state of the registry. As snprintf() does,
 * it truncates the text to the size of the buffer, and returns the length of the whole
 * text. The length may change between two calls. The text is empty if @op is
 * NULL.
 */

/**
 * dk_op_dump() - the registrations of an operator (dumpState, SEMANTICS 9.1)
 * @op: the operator
 * @buf: filled with the text
 * @size: size of @buf in bytes, may be 0
 *
 * Unlike PyTorch, appends "@DEVICE" to the label of a device's function.
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: The length of the text.
 */
size_t dk_op_dump(struct dk_op *op, char *buf, size_t size);

/**
 * dk_op_dump_table() - the function of each key (dumpComputedTable, SEMANTICS 9.2)
 * @op: the operator
 * @buf: filled with the text
 * @size: size of @buf in bytes, may be 0
 *
 * Reads the functions from the published table, and evaluates the rules to find the rule
 * that selected each function.
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: The length of the text.
 */
size_t dk_op_dump_table(struct dk_op *op, char *buf, size_t size);

/**
 * dk_op_list_keys() - the keys that have a function (listAllDispatchKeys, 9.3)
 * @op: the operator
 * @buf: filled with the text, such as "[CPU, AutogradCPU]"
 * @size: size of @buf in bytes, may be 0
 *
 * Reads the published table. Omits Undefined.
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: The length of the text.
 */
size_t dk_op_list_keys(struct dk_op *op, char *buf, size_t size);

/**
 * dk_op_dump_extractor() - what a call dispatches on (SEMANTICS 9.4)
 * @op: the operator
 * @buf: filled with the text
 * @size: size of @buf in bytes, may be 0
 *
 * Prints 64 digits, then the keys that are not fallthroughs. The i-th digit is 1 if the
 * i-th argument from the end of the schema is a Tensor, optional or not, or a list of
 * them: PyTorch's boxed calls dispatch on these. Without a schema all digits are 0, even
 * if a C declaration describes the arguments. A functionality is listed unless it is a
 * fallthrough for all backends.
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: The length of the text.
 */
size_t dk_op_dump_extractor(struct dk_op *op, char *buf, size_t size);

/**
 * dk_missing_text() - why a keyset has no function (SEMANTICS 9.6)
 * @op: the operator
 * @ks: the effective set, from dk_op_route()
 * @buf: filled with the text
 * @size: size of @buf in bytes, may be 0
 *
 * A call without a function only returns -ENOSYS. This function formats a message like
 * the one that PyTorch prints for such a call. If a published table is wrong, the text is
 * that of dk_invariants_text().
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: The length of the text.
 */
size_t dk_missing_text(struct dk_op *op, struct dk_keyset ks, char *buf, size_t size);

/**
 * dk_ambiguous_text() - why a call returns -ENOTUNIQ (SEMANTICS 7.6)
 * @op: the operator
 * @buf: filled with the text
 * @size: size of @buf in bytes, may be 0
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: The length of the text.
 */
size_t dk_ambiguous_text(struct dk_op *op, char *buf, size_t size);

/**
 * dk_invariants_text() - registrations and table, for use after dk_op_check() failed
 * @op: the operator
 * @buf: filled with the text
 * @size: size of @buf in bytes, may be 0
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: The length of the text.
 */
size_t dk_invariants_text(struct dk_op *op, char *buf, size_t size);

/**
 * dk_registry_list_ops() - the names of all operators, one per line
 * @reg: the registry, NULL for the default one
 * @key: list only operators with a function at exactly this key, which may be
 *	an alias key; DK_UNDEFINED for all
 * @buf: filled with the text
 * @size: size of @buf in bytes, may be 0
 *
 * Sorted by name; includes operators that are not defined.
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: The length of the text, or -ENOMEM with an empty text.
 */
long dk_registry_list_ops(struct dk_registry *reg, unsigned int key, char *buf, size_t size);

/**
 * dk_registry_list_dangling() - operators with functions but without a definition
 * @reg: the registry, NULL for the default one
 * @buf: filled with the texts of dk_op_dump(), concatenated
 * @size: size of @buf in bytes, may be 0
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: The length of the text, or -ENOMEM with an empty text.
 */
long dk_registry_list_dangling(struct dk_registry *reg, char *buf, size_t size);

/* ---- queries: those about registrations ignore which backends are offline ------ */

/**
 * dk_op_has_impl() - whether a function is registered at exactly this key
 * @op: the operator
 * @key: a runtime key, building block or alias key
 * @why: filled on failure; may be NULL
 *
 * Ignores functions of devices. Equivalent to PyTorch's hasKernelForDispatchKey().
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: 1, 0, -EINVAL (no such key), or -ENOENT (reason NO_OPERATOR: @op is NULL).
 */
int dk_op_has_impl(struct dk_op *op, unsigned int key, struct dk_diag *why);

/**
 * dk_op_has_impl_in() - whether a function is registered at a key of a set
 * @op: the operator
 * @ks: the set; functions at alias keys are ignored
 *
 * Ignores functions of devices. Equivalent to PyTorch's hasKernelForAnyDispatchKey().
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: 1 or 0; 0 also if @op is NULL.
 */
int dk_op_has_impl_in(struct dk_op *op, struct dk_keyset ks);

/**
 * dk_op_is_served() - whether the published table has a function or fallthrough for this key
 * @op: the operator
 * @key: a runtime key; a building block stands for the runtime key of its first
 *	backend
 * @why: filled on failure; may be NULL
 *
 * Also true for an ambiguous entry. Equivalent to PyTorch's
 * hasComputedKernelForDispatchKey().
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: 1, 0, -EINVAL (no such key, an alias key), or -ENOENT (reason NO_OPERATOR: @op
 * is NULL).
 */
int dk_op_is_served(struct dk_op *op, unsigned int key, struct dk_diag *why);

/**
 * dk_op_is_fallthrough() - whether the function at exactly this key is a fallthrough
 * @op: the operator
 * @key: a runtime key, building block or alias key
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: 1, 0, -EINVAL (no such key) or -ENOENT (reason NO_IMPL: nothing is registered
 * at the key; NO_OPERATOR: @op is NULL).
 */
int dk_op_is_fallthrough(struct dk_op *op, unsigned int key, struct dk_diag *why);

/**
 * dk_registry_has_fallback() - whether a key has a backend fallback
 * @reg: the registry, NULL for the default one
 * @key: a runtime key; an alias key is treated as Undefined, as in PyTorch
 *
 * Builtin fallbacks (DK_REGISTRY_BUILTINS) are included.
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: 1 or 0.
 */
int dk_registry_has_fallback(struct dk_registry *reg, unsigned int key);

/**
 * dk_op_check() - compare an operator's published tables with the rules
 * @op: the operator
 * @why: filled on failure; may be NULL
 *
 * dk_registry_check() does this for all operators; dk_invariants_text() gives
 * details.
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: 0, -EILSEQ, or -ENOENT (reason NO_OPERATOR: @op is NULL).
 */
int dk_op_check(struct dk_op *op, struct dk_diag *why);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_SEE_H */
