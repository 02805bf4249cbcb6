/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Defines what the other headers need: keysets, objects and reasons. Included by
 * <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_BASE_H
#define _DISPATCHKEY_BASE_H

#if !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L)
#error <dispatchkey.h> needs C11 or later: compile with -std=gnu11
#endif

#if !defined(DK_BARE) && !defined(__KERNEL__) && defined(__has_include)
#if !__has_include("linux/types.h")
#error <dispatchkey.h> needs Linux or, without an operating system, -DDK_BARE
#endif
#endif

#include <linux/dispatchkey.h>

#if defined(__KERNEL__)
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/stddef.h>
#define DK__THIS_MODULE		THIS_MODULE
/* A module that calls dispatchkey needs this line next to its MODULE_LICENSE(). */
#define DK_MODULE_IMPORT()	MODULE_INFO(import_ns, "DISPATCHKEY")
#else
#ifdef DK_BARE
#define DK__THIS_MODULE		NULL
#else
#include <errno.h>
#include <stddef.h>
/* Identifies the program or shared object; defined by the compiler. */
#ifdef __cplusplus
extern "C" void *__dso_handle __attribute__((__visibility__("hidden")));
#else
extern void *__dso_handle __attribute__((__visibility__("hidden")));
#endif
#define DK__THIS_MODULE		(&__dso_handle)
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Small functions are inline in C and C++. For other languages the library also
 * exports each of them, under the same name (lib/twins.c).
 */
#ifndef DK_INLINE
#define DK_INLINE		static inline
#endif

/*
 * Marks functions that almost every call runs. Callers of such a function load its
 * address from the GOT instead of jumping through the PLT.
 */
#define DK__HOT
#if !defined(__KERNEL__) && defined(__has_attribute)
#if __has_attribute(__noplt__)
#undef DK__HOT
#define DK__HOT			__attribute__((__noplt__))
#endif
#endif

/* Maximum size of an operator's or device's name, including the NUL. A longer label is cut off. */
#define DK_NAME_MAX		128

struct dk_layout;
struct dk_registry;
struct dk_op;
struct dk_call;
struct dkc_provider;

/* ---- what calls dispatch on -------------------------------------------- */

/**
 * struct dk_keyset - a set of dispatch keys
 * @bits: backends in the low bits, functionalities above them; see
 *	<linux/dispatchkey.h> for layout v1
 */
struct dk_keyset {
	__u64 bits;
};

#ifdef __cplusplus		/* has no compound literals */
#define DK_KEYSET(b)		(dk_keyset{ (b) })
#else
/**
 * DK_KEYSET() - a keyset from bits
 * @b: the bits
 */
#define DK_KEYSET(b)		((struct dk_keyset){ (b) })
#endif

/**
 * DK_SET() - the keyset of a key of layout v1
 * @key: one of enum dk_key. If @key is a constant, the set is a constant, too
 *
 * The set of an alias key, such as DK_AUTOGRAD, is empty: use dk_alias_set(). The kernel
 * module does not have this function; there, join the sets of the runtime keys with
 * dk_keyset_or(). @key is evaluated more than once, so it must not have side effects.
 */
#define DK_SET(key)		DK_KEYSET(DK_KEY_BITS(key))

/**
 * struct dk_obj - what a call dispatches on; embed it in your own object
 * @ks: the keyset of the object
 * @device: number of the object's device, 0 for none. The number of a device is never
 *	used again, so an object may exist longer than its device. In the head of a struct
 *	dk_list: DK_DEVICE_LIST
 * @flags: must be zero, except in the head of a struct dk_list, where
 *	dk_list_init() sets it to DK_OBJ_LIST
 */
struct dk_obj {
	struct dk_keyset ks;
	__u32 device;
	__u32 flags;
};

/**
 * struct dk_local - the keys that a thread or a caller includes and excludes
 * @included: the included set, XOR DK_DEFAULT_INCLUDED
 * @excluded: the excluded set, XOR DK_DEFAULT_EXCLUDED
 * @depth: in the kernel and on bare metal, the nesting depth of calls; see struct
 *	dk_hook_info
 * @reserved: zero
 *
 * All zero is the default state. In userspace every thread has a local state
 * (dk_local_current()); in the kernel, the local state is an argument of each call.
 */
struct dk_local {
	__aligned_u64 included;
	__aligned_u64 excluded;
	__u32 depth;
	__u32 reserved;
};

/* The default local state, for callers without their own. */
extern const struct dk_local dk_local_default;

/* ---- reasons -------------------------------------------------------------- */

/*
 * X(REASON, errno, "sentence") for each reason. Except for NONE, a reason with errno 0 is a remark
 * on a request that has succeeded.
 */
#define DK_REASONS(X)							\
	X(NONE, 0, "no error")						\
	X(OVERRIDE, 0, "another function at this key is overridden")	\
	X(UNSERVED, 0, "no function serves this route any more")			\
	X(NO_ENTRY, 0, "the table is trimmed and has no entry for this key")	\
	X(NO_MEMORY, ENOMEM, "out of memory")				\
	X(BAD_NAME, EINVAL,						\
	  "a name is 1 to 127 bytes of UTF-8 without ASCII spaces, line separators, control " \
	  "or bidirectional characters")					\
	X(BAD_SIZE, EINVAL, "the size member of a structure does not match this version") \
	X(BAD_FLAGS, EINVAL, "a flag is set that this version does not support") \
	X(BAD_LAYOUT, ENOENT, "no such layout")				\
	X(LAYOUT_LINE, EINVAL, "unexpected word in the text of a layout") \
	X(LAYOUT_WORD, EINVAL,						\
	  "the layout has no such functionality or backend") \
	X(LAYOUT_NAME, EINVAL,						\
	  "a key's or backend's name is 1 to 56 letters, digits and _-.+, not beginning with 0x") \
	X(LAYOUT_TWICE, EINVAL, "the layout has this name twice")	\
	X(LAYOUT_LACKS, EINVAL, "missing from the text of the layout")		\
	X(LAYOUT_SIZE, EINVAL,						\
	  "a layout has at most 16 backends, 8 alias keys, and 64 backends plus functionalities") \
	X(LAYOUT_BLOCK, EINVAL,						\
	  "Undefined, the last functionality and, with tables, AutogradOther and " \
	  "AutogradNestedTensor cannot be building blocks")		\
	X(LAYOUT_TAKEN, EEXIST, "a builtin layout with other keys has this name")	\
	X(NO_SETS, EOPNOTSUPP,						\
	  "the alias sets and maps of this layout are not known")	\
	X(NO_STRICT, EOPNOTSUPP,					\
	  "the strict names of this layout are not known")	\
	X(BAD_DTYPE, EINVAL, "no such dtype")				\
	X(BAD_TENSOR_LAYOUT, EINVAL, "Unsupported layout")		\
	X(BAD_DEVICE_TYPE, EINVAL, "no such device type")		\
	X(DEVICE_INDEX, EINVAL, "expected a device type without an index")		\
	X(DEVICE_DENSE, EOPNOTSUPP, "Unsupported device type for dense layout") \
	X(DEVICE_SPARSE, EOPNOTSUPP, "Unsupported device type for sparse layout") \
	X(DEVICE_SPARSE_CSR, EOPNOTSUPP,				\
	  "Unsupported device type for SparseCsr layout")		\
	X(DEVICE_SPARSE_CSC, EOPNOTSUPP,				\
	  "Unsupported device type for SparseCsc layout")		\
	X(DEVICE_SPARSE_BSR, EOPNOTSUPP,				\
	  "Unsupported device type for SparseBsr layout")		\
	X(DEVICE_SPARSE_BSC, EOPNOTSUPP,				\
	  "Unsupported device type for SparseBsc layout")		\
	X(DEVICE_MKLDNN, EOPNOTSUPP, "Unsupported device type for mkldnn layout") \
	X(NO_DEVICE_TYPE, EINVAL, "the dispatch key doesn't correspond to a device") \
	X(NO_UNIQUE_LAYOUT, EINVAL,					\
	  "the dispatch key corresponds to more than one tensor layout") \
	X(BAD_CONSTANT, ENOENT, "no such constant set in this layout")	\
	X(PARSE_KEY, EINVAL, "could not parse dispatch key")		\
	X(PARSE_BACKEND, EINVAL, "could not parse backend")		\
	X(PARSE_SET, EINVAL, "could not parse keyset")			\
	X(BAD_KEY, EINVAL, "no dispatch key of this layout has this number") \
	X(BAD_BACKEND, EINVAL, "no backend of this layout has this number") \
	X(NOT_RUNTIME_KEY, EINVAL,					\
	  "a backend fallback needs a runtime key other than Undefined, or an alias key")	\
	X(BUILDING_BLOCK, EINVAL,					\
	  "a building block needs a backend or a device: use a key such as CPU") \
	X(TABLE_SIZE, ENOSPC, "an array has at most 524288 functions")	\
	X(TABLE_REGISTERED, EEXIST, "the provider has registered this array already") \
	X(ALIAS_KEY, EINVAL, "an alias key has no table entry of its own") \
	X(NO_IMPL, ENOENT, "nothing is registered at this key")		\
	X(NO_HOOK, EINVAL, "the hooks have no function") \
	X(HOOKED, EEXIST, "the hooks are registered already")		\
	X(CHANGED, EAGAIN, "the registry has changed in the meantime")		\
	X(NOT_COUNTED, ENODATA, "the counters are off")			\
	X(NO_TABLE, EOPNOTSUPP, "this layout has names and bits, but no tables") \
	X(ABI, EPROTO, "built for another ABI version of dispatchkey")		\
	X(LAYOUT, EPROTO, "built for a layout other than the registry's") \
	X(REGISTERED, EEXIST, "the provider is registered already")	\
	X(UNREGISTERED, EINVAL, "the provider is not registered")	\
	X(SHUTDOWN, ESHUTDOWN, "the registry is being torn down")	\
	X(IN_USE, EBUSY, "the registry has providers, listeners, hooks or held operators") \
	X(INSIDE, EDEADLK, "called from inside a function of the same provider") \
	X(INSIDE_BACKEND, EDEADLK,					\
	  "called from inside a function at a key of the backend")	\
	X(ATOMIC, EDEADLK,						\
	  "called where sleeping is not allowed, such as in a hook or under rcu_read_lock()") \
	X(STILL_INSIDE, ETIMEDOUT, "the call has been running for at least the time shown") \
	X(GRACE, ETIMEDOUT, "the grace period is not over yet")		\
	X(NO_DEADLINE, ETIMEDOUT, "not enough memory to wait with a deadline") \
	X(CANCELED, ECANCELED,						\
	  "the device or backend was brought online again during the wait") \
	X(DEFINED, EEXIST, "the operator is defined already")		\
	X(CLASS, EBUSY,							\
	  "callers hold the operator, so it cannot change between atomic and sleepable") \
	X(NOT_DEFINED, ENOENT, "the operator is not defined")		\
	X(NO_OPERATOR, ENOENT, "no such operator")			\
	X(DANGLING, ENOENT,						\
	  "the operator has functions but no definition") \
	X(NOT_THERE, ENOENT, "the provider did not register this")	\
	X(SIGNATURE, EPROTOTYPE, "the signature differs from the operator's") \
	X(NOT_ATOMIC, EINVAL,						\
	  "a function of an atomic operator must be declared atomic")	\
	X(NO_FUNCTION, EINVAL,						\
	  "expected either a function or a fallthrough")	\
	X(FALLBACK_EXISTS, EEXIST,					\
	  "the dispatch key has a backend fallback already")		\
	X(BACKENDS_TAKEN, ENOSPC,					\
	  "all private backends are taken; drivers can share one, each with its own devices") \
	X(NAME_TAKEN, EINVAL, "a key or a backend has this name already") \
	X(NOT_PRIVATE, EINVAL, "only a private backend can be bound to a name") \
	X(BACKEND_SHARED, EBUSY, "another provider has joined the backend") \
	X(BACKEND_OWNED, EBUSY, "a provider has joined the backend exclusively")	\
	X(BACKEND_PINNED, EBUSY, "the name or the backend is bound already") \
	X(BACKEND_USED, EBUSY, "a provider or a device uses the backend's name")	\
	X(NO_BACKEND, ENOENT, "no backend is bound to this name")	\
	X(DEVICE_EXISTS, EEXIST, "a device has this name already")	\
	X(NO_DEVICE, ENODEV, "no such device")				\
	X(TOO_MANY_DEVICES, ENOSPC, "a registry has at most 4095 devices") \
	X(DEVICE_KEY, EINVAL,						\
	  "a device's functions belong at runtime keys of its own backend")	\
	X(MISSING, ENOSYS, "no function serves this route")			\
	X(AMBIGUOUS, ENOTUNIQ,						\
	  "both CompositeImplicitAutograd and a backend of AutogradOther have a function") \
	X(DEVICE_GONE, ENODEV,						\
	  "the device is unregistered or offline, and no other function serves this route")	\
	X(NO_PARAM, ENOENT, "the operator has no such parameter")	\
	X(ARG_KIND, EPROTOTYPE, "the value is not of the parameter's kind") \
	X(ARG_RANGE, EINVAL, "the value does not fit the parameter")	\
	X(ARG_COUNT, EPROTOTYPE,					\
	  "the operator has a different number of parameters, or its declaration describes none") \
	X(TWO_DEVICES, EXDEV, "the arguments must be on the same device") \
	X(LISTENING, EEXIST, "the listener is registered already")	\
	X(NO_LISTENER, EINVAL, "the listener has no function")		\
	X(SCHEMA, EINVAL, "could not parse schema")			\
	X(SCHEMA_NAME, EINVAL, "the schema has a name other than the operator's") \
	X(SCHEMA_INFER, EINVAL,						\
	  "neither a schema nor the function describes the operator's arguments") \
	X(LIBRARY_KIND, EINVAL, "the kind of a library is DEF, FRAGMENT or IMPL")	\
	X(LIBRARY_NAMESPACE, EINVAL,					\
	  "a library that defines operators needs a namespace")		\
	X(LIBRARY_KEY, EINVAL,						\
	  "a library that defines operators must not have a dispatch key")	\
	X(LIBRARY_EXISTS, EEXIST,					\
	  "the namespace has a DEF library already; use a FRAGMENT") \
	X(LIBRARY_REGISTERED, EEXIST, "the library is registered already") \
	X(LIBRARY_UNREGISTERED, EINVAL, "the library is not registered")	\
	X(LIBRARY_IMPL, EINVAL, "an IMPL library defines no operators")	\
	X(LIBRARY_FN_KEY, EINVAL,					\
	  "the function has a dispatch key other than its library's")	\
	X(LIBRARY_FALLBACK, EINVAL,					\
	  "a backend fallback belongs in an IMPL library")		\
	X(FALLBACK_NAMESPACE, EINVAL,					\
	  "a backend fallback needs a library without a namespace")		\
	X(NAMESPACE, EINVAL, "the name has a namespace other than its library's") \
	X(HANDLE, EEXIST, "the handle holds a registration already")	\
	X(SCHEMA_ARGS, EINVAL, "a boxed call has at most 64 arguments")	\
	X(SCHEMA_NUM_ARGS, EPROTOTYPE,					\
	  "the function's schema has a different number of arguments")	\
	X(SCHEMA_NUM_RETURNS, EPROTOTYPE,				\
	  "the function's schema has a different number of returns")	\
	X(SCHEMA_ARG, EPROTOTYPE,					\
	  "the function's schema has a different argument type")	\
	X(SCHEMA_RETURN, EPROTOTYPE,					\
	  "the function's schema has a different return type")	\
	X(SCHEMA_PARAMS, EPROTOTYPE,					\
	  "the C parameters do not match the objects and lists of the schema") \
	X(OPTION, EINVAL, "this option does not apply here")		\
	X(TABLE, EILSEQ, "a published table entry differs from the rules") \
	X(UNREGISTERING, EBUSY, "the provider is being unregistered")	\
	X(NOT_HOOKED, ENOENT, "the hooks are not registered")		\
	X(NO_DECL, EINVAL,						\
	  "no operator is given; register a DK_FALLBACK() with dk_fallback_register()") \
	X(NULL_ARGUMENT, EINVAL, "this argument must not be NULL")	\
	X(FALLBACK_FUNCTION, EINVAL,					\
	  "a backend fallback must be boxed or a fallthrough, and belong to no operator") \
	X(ARGS_SIZE, EINVAL, "the buffer is smaller than the arguments of the operator") \
	X(DEFAULT_REGISTRY, EBUSY, "the default registry cannot be freed") \
	X(PARAM, EINVAL,						\
	  "a parameter has an unknown kind, is too small, or is not inside the argument struct") \
	X(BAD_NAMESPACE, EINVAL, "a namespace contains neither a colon nor a parenthesis") \
	X(BAD_ALIAS_ANALYSIS, EINVAL, "no such kind of alias analysis")

/* The reason of an error or remark. */
enum dk_reason {
#define DK__REASON(R, e, text) DK_WHY_##R,
	DK_REASONS(DK__REASON)
#undef DK__REASON
	DK_NUM_REASONS
};

/**
 * struct dk_diag - the reason of an error, or a remark on a success
 * @size: sizeof(struct dk_diag), or 0 for the first published size
 * @reason: one of enum dk_reason
 * @text: the sentence of @reason, a constant string without a full stop
 * @name: copy of the name or names that the reason refers to; may be empty
 */
struct dk_diag {
	__u32 size;
	__u32 reason;
	const char *text;
	char name[DK_NAME_MAX];
};

/**
 * dk_reason_text() - the sentence of a reason
 * @reason: one of enum dk_reason
 *
 * Context: Any.
 * Return: A constant string; "unknown reason" for an invalid number.
 */
const char *dk_reason_text(unsigned int reason);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_BASE_H */
