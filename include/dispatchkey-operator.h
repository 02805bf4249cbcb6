/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Operators and their functions. Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_OPERATOR_H
#define _DISPATCHKEY_OPERATOR_H

#include <dispatchkey-registry.h>
#include <dispatchkey-value.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * typedef dk_fn_t - a function of an operator, of any type
 *
 * It is called through its exact type only.
 */
typedef void (*dk_fn_t)(void);
/**
 * typedef dk_boxed_fn_t - a function that serves every operator
 * @c: the call
 * @args: points to the struct of the operator's arguments that DK_OP() made
 *
 * Return: 0 or a negative errno, for the caller.
 */
typedef int (*dk_boxed_fn_t)(struct dk_call *c, void *args);

struct dk_extract;
/**
 * typedef dk_extract_fn_t - from boxed arguments to the objects among them
 * @x: the call that is being made
 * @args: points to the struct of the operator's arguments
 * @generators: do generators count
 *
 * Return: What dk_extracted() returned.
 */
typedef int (*dk_extract_fn_t)(struct dk_extract *x, void *args, int generators);

/**
 * enum dk_alias_analysis - what a definition says of aliasing, as PyTorch has it
 * @DK_ALIAS_DEFAULT: nothing: FROM_SCHEMA where there is a schema
 * @DK_ALIAS_FROM_SCHEMA: the schema's annotations hold
 * @DK_ALIAS_CONSERVATIVE: anything may alias
 * @DK_ALIAS_PURE_FUNCTION: nothing aliases
 * @DK_ALIAS_INTERNAL_SPECIAL_CASE: known to PyTorch's compiler
 */
enum dk_alias_analysis {
	DK_ALIAS_DEFAULT,
	DK_ALIAS_FROM_SCHEMA,
	DK_ALIAS_CONSERVATIVE,
	DK_ALIAS_PURE_FUNCTION,
	DK_ALIAS_INTERNAL_SPECIAL_CASE,
};

/**
 * struct dk_op_decl - an operator as its callers and implementers know it
 * @size: sizeof(struct dk_op_decl)
 * @call_abi: the version of the calls that are inlined in its callers, as DK_OP() sets
 *	it
 * @name: such as "sample::factorial"
 * @sig: its C parameters as text, or NULL not to compare signatures
 * @unbox: calls the function of a call with boxed arguments; made by DK_OP()
 * @op: the operator in the default registry, once a call has found it; before, what
 *	DK_OP() sets, or NULL in a declaration that it did not make
 * @schema: its schema as text, such as "sample::factorial(Tensor x) -> int", or
 *	NULL
 * @debug: where it is defined, for people, or NULL
 * @alias_analysis: of enum dk_alias_analysis
 * @num_params: how many there are at @param
 * @param: describes the parameters, or NULL
 * @args_size: bytes of the struct of the arguments
 * @extract: tells dk_extracted() what a boxed call dispatches on; made by
 *	DK_OP(). Where it is NULL, that is told by @param: all objects, lists
 *	and generators.
 * @unbox_plain: as @unbox, for a function of DK_IMPL_PLAIN(); made by DK_OP()
 * @sig_mark: of @sig, once a call has needed it; zero in a new one
 * @dispatched: the objects that calls dispatch on, as the last parenthesis of the DK_OP() line
 *	has them, or NULL
 *
 * What an operator was defined with stays until it is undefined. Calls write to @op
 * and @sig_mark, and once one was made, the text at @sig stays as it is.
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
};

/**
 * enum dk_op_flags - what an operator is, told when it is defined
 * @DK_OP_ATOMIC: takes only functions that are declared atomic; in the kernel it may be
 *	called wherever RCU may read, and its functions do not sleep. Without it, they
 *	may sleep. In userspace calls of both are the same
 * @DK_OP_SAME_DEVICE: all arguments that live on a device live on the same one
 */
enum dk_op_flags {
	DK_OP_ATOMIC = 1,
	DK_OP_SAME_DEVICE = 2,
};

/**
 * dk_op_define() - define an operator
 * @prov: who defines it, and takes it along when it is unregistered
 * @decl: made by DK_OP()
 * @flags: of enum dk_op_flags
 * @why: filled on failure; may be NULL
 *
 * Functions may have been registered before; they are checked now.
 *
 * Context: Process context, may sleep.
 * Return: 0, -EEXIST (is defined), -EINVAL (name, size, flags, or a function
 * that is not fit for an atomic operator), -EBUSY (it was of the other class,
 * and callers have found it or hold it), -EPROTOTYPE, -ENOMEM, -ESHUTDOWN.
 */
int dk_op_define(struct dk_provider *prov, const struct dk_op_decl *decl,
		 unsigned int flags, struct dk_diag *why);

/**
 * dk_op_undefine() - take a definition back; functions stay registered
 * @prov: who defined it
 * @name: the operator
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT (no such operator, or not defined by @prov), -EINVAL (the
 * provider is not registered), -ESHUTDOWN.
 */
int dk_op_undefine(struct dk_provider *prov, const char *name, struct dk_diag *why);

/**
 * dk_op_get() - an operator by name
 * @reg: registry, NULL for the default one
 * @name: the operator
 *
 * Context: Process context, may sleep.
 * Return: The operator, held until dk_op_put(), or NULL if nobody defines,
 * implements or holds it. One that is held but no longer defined answers calls
 * with -ENOENT.
 */
struct dk_op *dk_op_get(struct dk_registry *reg, const char *name);

/**
 * dk_op_get_defined() - a defined operator by name
 * @reg: registry, NULL for the default one
 * @name: the operator
 * @op: set to the operator, held until dk_op_put(), or to NULL
 * @why: filled on failure; may be NULL
 *
 * PyTorch's findSchema(); dk_op_get() is findOp() (SEMANTICS 8.3).
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT (reasons NO_OPERATOR, or DANGLING where it has functions),
 * -ENOMEM.
 */
int dk_op_get_defined(struct dk_registry *reg, const char *name, struct dk_op **op,
		      struct dk_diag *why);

/**
 * dk_op_put() - give back what dk_op_get() gave
 * @op: the operator; NULL is fine
 *
 * Context: Process context, may sleep.
 */
void dk_op_put(struct dk_op *op);

/**
 * dk_op_takes() - whether an operator is called by a declaration's type
 * @op: the operator
 * @decl: the declaration, as for dk_call_enter_op()
 *
 * The check that a call by handle makes before anything else. A declaration or
 * an operator without a signature is not compared.
 *
 * Context: Process context, may sleep.
 * Return: 0, or -EPROTOTYPE (the signature is another one, or the declaration is
 * of another version).
 */
int dk_op_takes(struct dk_op *op, const struct dk_op_decl *decl);

/**
 * dk_op_name() - the name of an operator
 * @op: the operator
 *
 * Context: Any.
 * Return: The name, which lives as long as the operator is held.
 */
const char *dk_op_name(const struct dk_op *op);

/**
 * enum dk_impl_flags - properties of a function
 * @DK_IMPL_F_FALLTHROUGH: no function: as if the key were not in the set
 * @DK_IMPL_F_ATOMIC: fit for an atomic operator
 * @DK_IMPL_F_BOXED: a dk_boxed_fn_t
 * @DK_IMPL_F_PLAIN: of the operator's type without the struct dk_call
 * @DK_IMPL_F_BLOCK: its key may be a building block outside of a backend's or a
 *	device's table, as in PyTorch: no call is routed to it, and it counts
 *	where the rules look at what is registered (SEMANTICS 7.2, 4 and 6a)
 */
enum dk_impl_flags {
	DK_IMPL_F_FALLTHROUGH = 1,
	DK_IMPL_F_ATOMIC = 2,
	DK_IMPL_F_BOXED = 4,
	DK_IMPL_F_PLAIN = 8,
	DK_IMPL_F_BLOCK = 16,
};

/**
 * struct dk_impl - a function at a key; usually one of a constant table
 * @op: the operator; NULL in dk_fallback_register()
 * @fn: the function, NULL for a fallthrough
 * @label: its name for people
 * @key: a runtime key or alias key; DK_UNDEFINED is the catch-all,
 *	CompositeImplicitAutograd. Where a backend or a device goes with the
 *	table, a building block means the runtime key of that backend; elsewhere
 *	it is refused, unless @flags has DK_IMPL_F_BLOCK.
 * @flags: of enum dk_impl_flags
 * @size: sizeof(struct dk_impl)
 * @schema: what the function takes and returns, as text such as
 *	"(Tensor _0) -> Tensor _0", or NULL where that is not known
 *
 * The table and what it points to stay until they are unregistered.
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
 * dk_impls_register() - register a table of functions: all or none
 * @prov: the provider
 * @impls: the table
 * @n: its length, at most 524288
 * @why: filled on failure, with reason OVERRIDE when a function took over a key
 *	from another one: "operator key: label (provider) -> label (provider)",
 *	and with NO_ENTRY where the table is trimmed and has no entry for the
 *	key, so that no call gets there; may be NULL
 *
 * Newest at a key wins. It waits for no call. Replaced tables are freed after a grace
 * period; in userspace the registration that replaces the 64th waits for one at its
 * end, outside of the lock.
 *
 * Context: Process context, may sleep; also from inside a function, but in the kernel
 * not of an atomic operator.
 * Return: 0, -EINVAL (provider, size, key, name, function, atomic operator),
 * -EEXIST (the provider has registered this table already), -EPROTOTYPE,
 * -ENOSPC (too many functions), -ENOMEM, -ESHUTDOWN.
 */
int dk_impls_register(struct dk_provider *prov, const struct dk_impl *impls,
		      unsigned int n, struct dk_diag *why);

/**
 * dk_backend_impls_register() - the same for a backend's keys
 * @prov: the provider
 * @backend: whose runtime keys the building blocks of the table mean
 * @impls: the table
 * @n: its length, at most 524288
 * @why: as in dk_impls_register()
 *
 * Context: As dk_impls_register().
 * Return: As dk_impls_register().
 */
int dk_backend_impls_register(struct dk_provider *prov, unsigned int backend,
			      const struct dk_impl *impls, unsigned int n,
			      struct dk_diag *why);

/**
 * dk_impls_unregister() - take a table out, and wait for the calls inside
 * @prov: the provider
 * @impls: the table, as it was registered; of a fallback, its dk_impl
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, sleeps until the calls inside have returned.
 * Return: 0, -ENOENT (not registered by @prov), -EINVAL (the provider is not
 * registered), -EDEADLK or -ESHUTDOWN as dk_provider_unregister().
 */
int dk_impls_unregister(struct dk_provider *prov, const struct dk_impl *impls,
			struct dk_diag *why);

/**
 * dk_impls_withdraw() - take a table out, and wait for nothing
 * @prov: the provider
 * @impls: the table, as it was registered
 * @why: filled on failure; may be NULL
 *
 * No later call enters its functions, but calls may still be inside: the table
 * has to stay until dk_provider_drain() or dk_provider_unregister().
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT (not registered by @prov), -EINVAL (the provider is not
 * registered), -ESHUTDOWN.
 */
int dk_impls_withdraw(struct dk_provider *prov, const struct dk_impl *impls,
		      struct dk_diag *why);

/**
 * dk_fallback_register() - a function for every operator that has none at a key
 * @prov: the provider
 * @impl: a fallthrough or a boxed function; stays until it is unregistered
 *	with dk_impls_unregister(). At an alias key it serves all that the
 *	alias stands for.
 * @why: filled on failure, and with reason NO_ENTRY and the key where it is left
 *	out at a key, since the table is trimmed; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, -EEXIST (the key has one), -EINVAL (key, function, size,
 * provider), -ENOMEM, -ESHUTDOWN.
 */
int dk_fallback_register(struct dk_provider *prov, const struct dk_impl *impl,
			 struct dk_diag *why);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_OPERATOR_H */
