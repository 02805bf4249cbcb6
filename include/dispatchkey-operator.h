/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Declares operators and their functions. Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_OPERATOR_H
#define _DISPATCHKEY_OPERATOR_H

#include <dispatchkey-registry.h>
#include <dispatchkey-value.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * typedef dk_fn_t - any function of an operator
 *
 * Cast the pointer back to its exact type before you call it.
 */
typedef void (*dk_fn_t)(void);
/**
 * typedef dk_boxed_fn_t - a function that can serve every operator
 * @c: the call
 * @args: points to the operator's argument struct, which DK_OP() declares
 *
 * Return: 0 or a negative errno, which is returned to the caller.
 */
typedef int (*dk_boxed_fn_t)(struct dk_call *c, void *args);

struct dk_extract;
/**
 * typedef dk_extract_fn_t - collect the objects in boxed arguments
 * @x: the call in progress; pass it to dk_extracted()
 * @args: points to the operator's argument struct
 * @generators: 1 to include generators, 0 to ignore them
 *
 * Return: The result of dk_extracted().
 */
typedef int (*dk_extract_fn_t)(struct dk_extract *x, void *args, int generators);

/**
 * enum dk_alias_analysis - which arguments of an operator may share memory, as in PyTorch
 * @DK_ALIAS_DEFAULT: not stated; FROM_SCHEMA if there is a schema
 * @DK_ALIAS_FROM_SCHEMA: as the schema's annotations state
 * @DK_ALIAS_CONSERVATIVE: any arguments may alias
 * @DK_ALIAS_PURE_FUNCTION: no arguments alias
 * @DK_ALIAS_INTERNAL_SPECIAL_CASE: PyTorch's compiler has a special case for the operator
 */
enum dk_alias_analysis {
	DK_ALIAS_DEFAULT,
	DK_ALIAS_FROM_SCHEMA,
	DK_ALIAS_CONSERVATIVE,
	DK_ALIAS_PURE_FUNCTION,
	DK_ALIAS_INTERNAL_SPECIAL_CASE,
};

/**
 * struct dk_op_decl - the declaration of an operator
 * @size: sizeof(struct dk_op_decl)
 * @call_abi: DK_ABI_VERSION of the code inlined into callers; set by DK_OP(). A
 *	hand-written declaration must set it, too
 * @name: name of the operator, such as "sample::factorial"
 * @sig: its C parameters as text; NULL to skip the comparison of signatures
 * @unbox: calls the operator's function with boxed arguments; set by DK_OP()
 * @op: the operator in the default registry, cached by the first call that
 *	finds it. DK_OP() sets its initial value; in a hand-written declaration it must
 *	initially be NULL
 * @schema: its schema as text, such as "sample::factorial(Tensor x) -> int",
 *	or NULL
 * @debug: human-readable place in the source where it is defined, or NULL
 * @alias_analysis: of enum dk_alias_analysis; used only if there is a schema
 * @num_params: number of entries at @param
 * @param: describes the parameters, or NULL
 * @args_size: size of the argument struct in bytes
 * @extract: passes the objects that a boxed call dispatches on to dk_extracted(); set by
 *	DK_OP(). If it is NULL, boxed calls dispatch on all objects and lists in @param. With
 *	or without it, a boxed call ignores generators, but the boxed redispatch of a call
 *	that was not boxed includes them
 * @unbox_plain: as @unbox, for a function of DK_IMPL_PLAIN(); set by DK_OP()
 * @pack: the function of this entry has the operator's type. It packs the arguments of calls
 *	that are served by boxed functions or those of DK_IMPL_PLAIN(). Set by DK_OP(); without
 *	it these calls take more steps
 * @sig_mark: computed from @sig by the first call that needs it; initially
 *	zero
 * @dispatched: the objects that calls dispatch on, as text: the last
 *	parenthesis of the DK_OP() line, or NULL
 *
 * A declaration passed to dk_op_define() must stay valid until the operator is
 * undefined. Calls write to @op and @sig_mark. The text at @sig must not change after
 * the first call.
 */
struct dk_op_decl {
	__u32 size;
	__u32 call_abi;
	const char *name;
	const char *sig;
	dk_boxed_fn_t unbox;
	struct dk_op *op;
	const char *schema;
	const char *debug;
	__u32 alias_analysis;
	__u32 num_params;
	const struct dk_param *param;
	const char *dispatched;
	__aligned_u64 args_size;
	__aligned_u64 sig_mark;
	dk_extract_fn_t extract;
	dk_boxed_fn_t unbox_plain;
	const struct dk__entry *pack;
};

/**
 * enum dk_op_flags - properties of an operator, set when it is defined
 * @DK_OP_ATOMIC: the operator accepts only functions that are declared atomic. In the
 *	kernel it may be called wherever rcu_read_lock() may be called, except in NMI, and
 *	its functions must not sleep. In userspace the flag has no other effect. On bare
 *	metal nothing can be unregistered from inside a call of the operator
 * @DK_OP_SAME_DEVICE: all arguments that are on a device must be on the same device;
 *	otherwise a call that a function would serve fails with -EXDEV. A device that is
 *	offline or unregistered does not count: a function must check for objects of such
 *	a device itself
 */
enum dk_op_flags {
	DK_OP_ATOMIC = 1,
	DK_OP_SAME_DEVICE = 2,
};

/**
 * dk_op_define() - define an operator
 * @prov: the provider; unregistering it also undefines the operator
 * @decl: from DK_OP()
 * @flags: of enum dk_op_flags
 * @why: filled on failure; may be NULL
 *
 * Functions may be registered before the operator is defined. dk_op_define() checks
 * them.
 *
 * Context: Process context, may sleep.
 * Return:
 * * 0: success
 * * -EEXIST: the operator is defined already
 * * -EINVAL: @prov, @decl, the name, @flags or the description of a parameter is invalid;
 *   or @decl->schema has another name or more than 64 parameters; or the operator is
 *   atomic, and a function that is registered for it is not atomic; or, in userspace,
 *   @decl->schema cannot be parsed, or its alias analysis is unknown
 * * -EPROTO: @decl was compiled for another ABI version, or its @size or @call_abi is not
 *   set
 * * -EPROTOTYPE: the signature or schema differs from that of a registered function, or
 *   the C parameters do not match the schema. An operator keeps its signature while
 *   it has a definition or function, or is held by dk_op_get(). So another signature is
 *   also refused while only a handle is left
 * * -EBUSY: the provider is being unregistered; or DK_OP_ATOMIC differs from the previous
 *   definition, and a handle refers to the operator, or it still has functions and was
 *   called through a declaration
 * * -ENOMEM, -ESHUTDOWN
 */
int dk_op_define(struct dk_provider *prov, const struct dk_op_decl *decl,
		 unsigned int flags, struct dk_diag *why);

/**
 * dk_op_undefine() - undefine an operator; its functions stay registered
 * @prov: the provider that defined it
 * @name: the operator
 * @why: filled on failure; may be NULL
 *
 * An operator that has no definition, no functions and no references is freed. But if it
 * was called through a declaration, it is kept for the next definition until the registry
 * is freed (SEMANTICS 8.1).
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT (no such operator, or not defined by @prov), -EINVAL (the
 * provider is not registered), -EBUSY (it is being unregistered), -ESHUTDOWN.
 */
int dk_op_undefine(struct dk_provider *prov, const char *name, struct dk_diag *why);

/**
 * dk_op_get() - look up an operator by name and take a reference
 * @reg: registry, NULL for the default one
 * @name: the operator
 *
 * Context: Process context, may sleep.
 * Return: The operator, to be released with dk_op_put(). NULL if no operator of this name
 * has a definition, a function or a reference. Calls of an operator that is not defined
 * return -ENOENT.
 */
struct dk_op *dk_op_get(struct dk_registry *reg, const char *name);

/**
 * dk_op_get_defined() - look up a defined operator by name and take a reference
 * @reg: registry, NULL for the default one
 * @name: the operator
 * @op: set to the operator, to be released with dk_op_put(); NULL on failure
 * @why: filled on failure; may be NULL
 *
 * Equivalent to PyTorch's findSchema(), as dk_op_get() is to findOp() (SEMANTICS 8.3).
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT (reason NO_OPERATOR; DANGLING if it has functions but no
 * definition), -ENOMEM.
 */
int dk_op_get_defined(struct dk_registry *reg, const char *name, struct dk_op **op,
		      struct dk_diag *why);

/**
 * dk_op_put() - release a reference from dk_op_get() or dk_op_get_defined()
 * @op: the operator, or NULL
 *
 * All calls with this handle must have returned. Do not call dk_op_put() more often than
 * you took references. If the operator still has a definition or a function, the mistake
 * changes nothing, and is reported on stderr or in the kernel's log. If it has neither,
 * it may have been freed, and the mistake is a use after free.
 *
 * Context: Process context, may sleep.
 */
void dk_op_put(struct dk_op *op);

/**
 * dk_op_takes() - check that an operator has the signature of a declaration
 * @op: the operator
 * @decl: the declaration, as for dk_call_enter_op()
 *
 * Every call by handle begins with the same check. The check succeeds if the operator or
 * the declaration has no signature.
 *
 * Context: Process context, may sleep.
 * Return: 0, -EPROTOTYPE (the signatures differ, or the declaration has another ABI
 * version), or -ENOENT (@op is NULL).
 */
int dk_op_takes(struct dk_op *op, const struct dk_op_decl *decl);

/**
 * dk_op_name() - the name of an operator
 * @op: the operator
 *
 * Context: Any.
 * Return: The name, valid as long as @op, for example until dk_op_put(); NULL if @op is NULL.
 */
const char *dk_op_name(const struct dk_op *op);

/**
 * enum dk_impl_flags - properties of a function
 * @DK_IMPL_F_FALLTHROUGH: a fallthrough, which has no function: calls are routed as if
 *	the key were not in their keyset
 * @DK_IMPL_F_ATOMIC: may serve an atomic operator; never sleeps
 * @DK_IMPL_F_BOXED: the function is a dk_boxed_fn_t
 * @DK_IMPL_F_PLAIN: the function has the operator's type, without the struct
 *	dk_call parameter
 * @DK_IMPL_F_BLOCK: the key may be a building block such as DK_DENSE
 *	(DK_KIND_BUILDING_BLOCK), as in PyTorch. No call is routed to a function at a
 *	building block, but rules 4 and 6a take it into account (SEMANTICS 7.2). Without
 *	this flag, only an array that is registered for a backend or a device may have
 *	such a key, which then means the runtime key of that backend
 */
enum dk_impl_flags {
	DK_IMPL_F_FALLTHROUGH = 1,
	DK_IMPL_F_ATOMIC = 2,
	DK_IMPL_F_BOXED = 4,
	DK_IMPL_F_PLAIN = 8,
	DK_IMPL_F_BLOCK = 16,
};

/**
 * struct dk_impl - a function and its key; usually an element of a constant array
 * @op: the operator; NULL for dk_fallback_register()
 * @fn: the function; NULL for a fallthrough
 * @label: human-readable name of the function, or NULL
 * @key: a runtime key or alias key. DK_UNDEFINED is the catch-all,
 *	CompositeImplicitAutograd. In the array of a backend or device, a building block
 *	such as DK_DENSE stands for that backend's runtime key. In other arrays, a
 *	building block is rejected unless @flags has DK_IMPL_F_BLOCK
 * @flags: of enum dk_impl_flags
 * @size: sizeof(struct dk_impl)
 * @schema: the function's arguments and returns as text, such as "(Tensor _0)
 *	-> Tensor _0"; NULL if unknown
 *
 * An array of struct dk_impl, and everything that it points to, must stay valid until
 * the array is unregistered.
 */
struct dk_impl {
	const struct dk_op_decl *op;
	dk_fn_t fn;
	const char *label;
	__u16 key;
	__u16 flags;
	__u32 size;
	const char *schema;
};

/**
 * dk_impls_register() - register an array of functions, all or none
 * @prov: the provider
 * @impls: the array
 * @n: number of elements, at most 524288. If 0, nothing is registered, so nothing needs
 *	to be unregistered
 * @why: filled on failure; may be NULL. Also filled on success if a function overrides
 *	another one at its key: with reason OVERRIDE and "operator key: label (provider)
 *	-> label (provider)". Also filled on success if the layout's trimmed table has no
 *	entry for the key of a function, so that no call can reach it: with reason
 *	NO_ENTRY
 *
 * The newest function at a key is used. Registration does not wait for running calls.
 * Tables that it replaces are freed after a grace period. In userspace, a registration
 * waits for this grace period if 64 or more objects wait to be freed. It releases the
 * registry's lock before it waits.
 *
 * Context: Process context, may sleep. May be called from inside a function, but in
 * the kernel not from inside a function of an atomic operator, which is not checked.
 * Return:
 * * 0: success
 * * -EINVAL: the provider, @impls, or a size, flags, key or name is invalid; an element has
 *   no function; a function for an atomic operator may sleep; or, in userspace, the
 *   schema of an element cannot be parsed
 * * -EEXIST: the provider has registered this array already
 * * -EBUSY: the provider is being unregistered
 * * -EPROTOTYPE: a signature or schema differs from that of the operator
 * * -EPROTO: a declaration is of another ABI version, as in dk_op_define()
 * * -ENOSPC: the array has too many functions
 * * -ENOMEM, -ESHUTDOWN
 */
int dk_impls_register(struct dk_provider *prov, const struct dk_impl *impls,
		      unsigned int n, struct dk_diag *why);

/**
 * dk_backend_impls_register() - dk_impls_register() for the keys of a backend
 * @prov: the provider
 * @backend: its number; a building block in the array means its runtime key
 * @impls: the array
 * @n: number of elements, at most 524288
 * @why: as in dk_impls_register()
 *
 * Context: As dk_impls_register().
 * Return: As dk_impls_register(), and -EINVAL if there is no such backend.
 */
int dk_backend_impls_register(struct dk_provider *prov, unsigned int backend,
			      const struct dk_impl *impls, unsigned int n,
			      struct dk_diag *why);

/**
 * dk_impls_unregister() - unregister an array and wait for its running calls
 * @prov: the provider
 * @impls: the array that was registered; for a fallback, its struct dk_impl
 * @why: filled on failure; may be NULL
 *
 * This function also waits for the array's calls, and returns 0, if the array was already
 * withdrawn (dk_impls_withdraw()), or if another thread is unregistering the array or its
 * provider.
 *
 * Context: Process context, sleeps until the running calls return.
 * Return:
 * * 0: success
 * * -ENOENT: @prov has not registered the array
 * * -EINVAL: @prov is not registered
 * * -EDEADLK or -ESHUTDOWN as dk_provider_unregister()
 */
int dk_impls_unregister(struct dk_provider *prov, const struct dk_impl *impls,
			struct dk_diag *why);

/**
 * dk_impls_withdraw() - unregister an array without waiting
 * @prov: the provider
 * @impls: the array that was registered
 * @why: filled on failure; may be NULL
 *
 * No new call enters its functions, but calls may still be running in them. The
 * array must stay valid until dk_impls_unregister(), dk_provider_drain() or
 * dk_provider_unregister() returns 0.
 *
 * Context: Process context, may sleep.
 * Return:
 * * 0: success
 * * -ENOENT: @prov has not registered the array
 * * -EINVAL: @prov is not registered
 * * -EBUSY: @prov is being unregistered
 * * -ESHUTDOWN
 */
int dk_impls_withdraw(struct dk_provider *prov, const struct dk_impl *impls,
		      struct dk_diag *why);

/**
 * dk_fallback_register() - register a function for operators that have none at a key
 * @prov: the provider
 * @impl: a fallthrough or a boxed function; must stay valid until it is
 *	unregistered with dk_impls_unregister(). If its key is an alias key, it serves
 *	every key that the alias key stands for
 * @why: filled on failure; may be NULL. If the layout's trimmed table lacks entries for
 *	some of the keys that @impl serves, also filled on success: with reason NO_ENTRY
 *	and the first of these keys
 *
 * Context: Process context, may sleep.
 * Return:
 * * 0: success
 * * -EEXIST: the key has a fallback other than a builtin one, or @impl is registered
 *   already. Fallbacks at a key without an entry in a trimmed table are not compared
 * * -EINVAL: the key, function, size or provider is invalid
 * * -EBUSY: the provider is being unregistered
 * * -ENOMEM, -ESHUTDOWN
 */
int dk_fallback_register(struct dk_provider *prov, const struct dk_impl *impl,
			 struct dk_diag *why);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_OPERATOR_H */
