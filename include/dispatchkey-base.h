/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What everything else stands on: keysets, objects, reasons.
 * Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_BASE_H
#define _DISPATCHKEY_BASE_H

#if !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L)
#error <dispatchkey.h> needs C11 or later: compile with -std=gnu11
#endif

#include <linux/dispatchkey.h>

#if defined(__KERNEL__)
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/stddef.h>
#define DK__THIS_MODULE		THIS_MODULE
/* What a user of the module's symbols puts beside its MODULE_LICENSE(). */
#define DK_MODULE_IMPORT()	MODULE_INFO(import_ns, "DISPATCHKEY")
#else
#ifdef DK_BARE
#define DK__THIS_MODULE		NULL
#else
#include <errno.h>
#include <stddef.h>
/* The program or shared object that this is a part of; the compiler defines it. */
#ifdef __cplusplus
extern "C" void *__dso_handle __attribute__((visibility("hidden")));
#else
extern void *__dso_handle __attribute__((visibility("hidden")));
#endif
#define DK__THIS_MODULE		((void *)&__dso_handle)
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How a small function is defined here: inline for C and C++. The library
 * defines it as a function of the same name too (lib/twins.c), for the rest.
 */
#ifndef DK_INLINE
#define DK_INLINE		static inline
#endif

/*
 * What almost every call goes through: where it is in a shared library, callers take
 * its address from the table of addresses, and not the way over the linkage table.
 */
#define DK__HOT
#if !defined(__KERNEL__) && defined(__has_attribute)
#if __has_attribute(noplt)
#undef DK__HOT
#define DK__HOT			__attribute__((noplt))
#endif
#endif

/* Bytes of a name, the final NUL included: of an operator, device, label. */
#define DK_NAME_MAX		128

struct dk_layout;
struct dk_registry;
struct dk_op;
struct dk_call;
struct dkc_provider;

/* ---- what calls dispatch on -------------------------------------------- */

/**
 * struct dk_keyset - a set of dispatch keys
 * @bits: backends in the low bits, functionalities above; see
 *	<linux/dispatchkey.h> for layout v1
 */
struct dk_keyset {
	__u64 bits;
};

/**
 * DK_KEYSET() - a keyset from bits
 * @b: the bits
 */
#define DK_KEYSET(b)		((struct dk_keyset){ (b) })

/**
 * DK_SET() - the keyset of a key of layout v1
 * @key: one of enum dk_key; where it is a constant, so is the set
 */
#define DK_SET(key)		DK_KEYSET(DK_KEY_BITS(key))

/**
 * struct dk_obj - what a call dispatches on; embed it in your own object
 * @ks: the keyset of the object
 * @device: number of the device that it lives on, 0 for none. A number is
 *	never valid again for another device, so an object may outlive its card.
 * @flags: zero, also to be set by who fills one member by member; in the head
 *	of a struct dk_list DK_OBJ_LIST, which dk_list_init() sets
 */
struct dk_obj {
	struct dk_keyset ks;
	__u32 device;
	__u32 flags;
};

/**
 * struct dk_local - what a thread or a caller includes and excludes
 * @included: the included set, XOR DK_DEFAULT_INCLUDED
 * @excluded: the excluded set, XOR DK_DEFAULT_EXCLUDED
 * @depth: where there are no threads of ours to keep it, how deep calls are
 *	nested, see struct dk_hook_info
 * @reserved: zero
 *
 * Zero is the default state. In userspace every thread has one
 * (dk_local_current()), in the kernel it is an argument. Its address is a multiple of 8:
 * a call keeps flags in the low bits.
 */
struct dk_local {
	__aligned_u64 included;
	__aligned_u64 excluded;
	__u32 depth;
	__u32 reserved;
};

/* The default local state, for calls with none of their own. */
extern const struct dk_local dk_local_default;

/* ---- reasons -------------------------------------------------------------- */

/* X(REASON, errno, "sentence") - every refusal, and every remark, there is. */
#define DK_REASONS(X)							\
	X(NONE, 0, "no error")						\
	X(OVERRIDE, 0, "the key had a function, which is overridden")	\
	X(UNSERVED, 0, "nothing serves this any more")			\
	X(NO_ENTRY, 0, "the table is trimmed and has no entry for this key")	\
	X(NO_MEMORY, ENOMEM, "out of memory")				\
	X(BAD_NAME, EINVAL,						\
	  "a name is 1 to 127 bytes of UTF-8 without spaces, control or bidirectional characters") \
	X(BAD_SIZE, EINVAL,						\
	  "a structure has no size, or a larger one than this version knows") \
	X(BAD_FLAGS, EINVAL, "a flag is set that this version does not know") \
	X(BAD_LAYOUT, ENOENT, "no such layout")				\
	X(LAYOUT_LINE, EINVAL, "no line of a layout's text has this word here") \
	X(LAYOUT_WORD, EINVAL,						\
	  "the layout's text has not named such a functionality, or backend") \
	X(LAYOUT_NAME, EINVAL,						\
	  "a name in a layout is 1 to 56 letters, digits and _-.+, and no number") \
	X(LAYOUT_TWICE, EINVAL, "two things in the layout have one name")	\
	X(LAYOUT_LACKS, EINVAL, "the layout's text lacks this")		\
	X(LAYOUT_SIZE, EINVAL,						\
	  "a layout has at most 16 backends, 8 alias keys and, Undefined counted, 64 bits") \
	X(LAYOUT_BLOCK, EINVAL,						\
	  "neither the first nor the last functionality can be per backend") \
	X(LAYOUT_TAKEN, EEXIST, "a layout of other keys has this name")	\
	X(NO_SETS, EOPNOTSUPP,						\
	  "it is not known what this layout has for alias sets and maps")	\
	X(NO_STRICT, EOPNOTSUPP,					\
	  "it is not known what the parser of this layout takes")	\
	X(BAD_DTYPE, EINVAL, "no such dtype")				\
	X(BAD_TENSOR_LAYOUT, EINVAL, "Unsupported layout")		\
	X(BAD_DEVICE_TYPE, EINVAL, "no such device type")		\
	X(DEVICE_INDEX, EINVAL, "a device type has no index")		\
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
	  "the dispatch key stands for more than one layout of tensors") \
	X(BAD_CONSTANT, ENOENT, "no such constant set in this layout")	\
	X(PARSE_KEY, EINVAL, "could not parse dispatch key")		\
	X(PARSE_BACKEND, EINVAL, "could not parse backend")		\
	X(PARSE_SET, EINVAL, "could not parse keyset")			\
	X(BAD_KEY, EINVAL, "no dispatch key of this layout has this number") \
	X(BAD_BACKEND, EINVAL, "no backend of this layout has this number") \
	X(NOT_RUNTIME_KEY, EINVAL,					\
	  "a backend fallback needs a runtime key or an alias key")	\
	X(BUILDING_BLOCK, EINVAL,					\
	  "a building block belongs in the table of a backend or a device: use a key such as CPU") \
	X(TABLE_SIZE, ENOSPC, "a table has at most 524288 functions")	\
	X(TABLE_REGISTERED, EEXIST, "the provider has registered this table already") \
	X(ALIAS_KEY, EINVAL, "an alias key has no table entry of its own") \
	X(NO_IMPL, ENOENT, "nothing is registered at this key")		\
	X(NO_HOOK, EINVAL, "neither a function before calls nor one behind") \
	X(HOOKED, EEXIST, "the hooks are registered already")		\
	X(CHANGED, EAGAIN, "the registry has changed since")		\
	X(NOT_COUNTED, ENODATA, "the counters are off")			\
	X(NO_TABLE, EOPNOTSUPP, "this layout has names and bits, but no tables") \
	X(ABI, EPROTO, "built for another ABI of dispatchkey")		\
	X(LAYOUT, EPROTO, "built for another layout than the registry has") \
	X(REGISTERED, EEXIST, "the provider is registered already")	\
	X(UNREGISTERED, EINVAL, "the provider is not registered")	\
	X(SHUTDOWN, ESHUTDOWN, "the registry is being torn down")	\
	X(IN_USE, EBUSY, "the registry has providers, listeners or held operators") \
	X(INSIDE, EDEADLK, "called from inside a function of the same provider") \
	X(INSIDE_BACKEND, EDEADLK,					\
	  "called from inside a function at a key of the backend")	\
	X(ATOMIC, EDEADLK, "called where it must not wait, such as in an RCU read section") \
	X(STILL_INSIDE, ETIMEDOUT, "this call has been inside for at least so long") \
	X(GRACE, ETIMEDOUT,						\
	  "waiting for a grace period: an RCU read section has not ended") \
	X(NO_DEADLINE, ETIMEDOUT, "there is no memory to wait with a deadline") \
	X(CANCELED, ECANCELED,						\
	  "it was brought online again before the calls inside had returned") \
	X(DEFINED, EEXIST, "the operator is defined already")		\
	X(CLASS, EBUSY,							\
	  "callers rely on the operator's being atomic, or sleepable, as before") \
	X(NOT_DEFINED, ENOENT, "the operator is not defined")		\
	X(NO_OPERATOR, ENOENT, "no such operator")			\
	X(DANGLING, ENOENT,						\
	  "the operator has functions and no definition; was it forgotten?") \
	X(NOT_THERE, ENOENT, "the provider did not register this")	\
	X(SIGNATURE, EPROTOTYPE, "the signature differs from the operator's") \
	X(NOT_ATOMIC, EINVAL,						\
	  "a function of an atomic operator has to be declared atomic")	\
	X(NO_FUNCTION, EINVAL,						\
	  "neither a function nor a fallthrough, or both at once")	\
	X(FALLBACK_EXISTS, EEXIST,					\
	  "the dispatch key has a backend fallback already")		\
	X(BACKENDS_TAKEN, ENOSPC,					\
	  "all private backends are taken; drivers of one kind share a name and differ by device") \
	X(NAME_TAKEN, EINVAL, "a key or a backend has this name already") \
	X(NOT_PRIVATE, EINVAL, "only a private backend can be bound to a name") \
	X(BACKEND_SHARED, EBUSY, "another provider has joined the backend") \
	X(BACKEND_OWNED, EBUSY, "a provider has the backend for itself")	\
	X(BACKEND_PINNED, EBUSY, "the name or the backend is bound already") \
	X(BACKEND_USED, EBUSY, "a provider or a device uses the backend's name")	\
	X(NO_BACKEND, ENOENT, "no backend is bound to this name")	\
	X(DEVICE_EXISTS, EEXIST, "a device has this name already")	\
	X(NO_DEVICE, ENODEV, "no such device")				\
	X(TOO_MANY_DEVICES, ENOSPC, "a registry has at most 4095 devices") \
	X(DEVICE_KEY, EINVAL,						\
	  "a device registers at runtime keys of its own backend only")	\
	X(MISSING, ENOSYS, "nothing serves this route")			\
	X(AMBIGUOUS, ENOTUNIQ,						\
	  "CompositeImplicitAutograd and a backend of AutogradOther both serve this route") \
	X(DEVICE_GONE, ENODEV,						\
	  "the device is gone or offline and nothing else serves")	\
	X(NO_PARAM, ENOENT, "the operator has no such parameter")	\
	X(ARG_KIND, EPROTOTYPE, "the value is not of the parameter's kind") \
	X(ARG_RANGE, EINVAL, "the value does not fit the parameter")	\
	X(ARG_COUNT, EPROTOTYPE,					\
	  "the operator has another number of parameters, or none is described") \
	X(TWO_DEVICES, EXDEV, "the operator wants all arguments on one device") \
	X(LISTENING, EEXIST, "the listener is registered already")	\
	X(NO_LISTENER, EINVAL, "the listener has no function")		\
	X(SCHEMA, EINVAL, "could not parse schema")			\
	X(SCHEMA_NAME, EINVAL, "the schema has another name than the operator") \
	X(SCHEMA_INFER, EINVAL,						\
	  "neither a schema nor the function tells what the operator takes") \
	X(LIBRARY_KIND, EINVAL, "a library is a DEF, a FRAGMENT or an IMPL")	\
	X(LIBRARY_NAMESPACE, EINVAL,					\
	  "a library that defines operators needs a namespace")		\
	X(LIBRARY_KEY, EINVAL,						\
	  "a library that defines operators has no dispatch key")	\
	X(LIBRARY_EXISTS, EEXIST,					\
	  "the namespace has a DEF library already; others are FRAGMENTs") \
	X(LIBRARY_REGISTERED, EEXIST, "the library is registered already") \
	X(LIBRARY_UNREGISTERED, EINVAL, "the library is not registered")	\
	X(LIBRARY_IMPL, EINVAL, "an IMPL library defines no operators")	\
	X(LIBRARY_FN_KEY, EINVAL,					\
	  "the function has another dispatch key than its library")	\
	X(LIBRARY_FALLBACK, EINVAL,					\
	  "a backend fallback belongs in an IMPL library")		\
	X(FALLBACK_NAMESPACE, EINVAL,					\
	  "a backend fallback is not for one namespace")		\
	X(NAMESPACE, EINVAL, "the name has another namespace than its library") \
	X(HANDLE, EEXIST, "the handle holds a registration already")	\
	X(SCHEMA_ARGS, EINVAL, "a boxed call has at most 64 arguments")	\
	X(SCHEMA_NUM_ARGS, EPROTOTYPE,					\
	  "the schema of the function has another number of arguments")	\
	X(SCHEMA_NUM_RETURNS, EPROTOTYPE,				\
	  "the schema of the function has another number of returns")	\
	X(SCHEMA_ARG, EPROTOTYPE,					\
	  "the schema of the function has another type of an argument")	\
	X(SCHEMA_RETURN, EPROTOTYPE,					\
	  "the schema of the function has another type of a return")	\
	X(SCHEMA_PARAMS, EPROTOTYPE,					\
	  "the C parameters are not the objects and lists of the schema") \
	X(OPTION, EINVAL, "this option does not apply here")		\
	X(ROW, EILSEQ, "a published entry differs from what the rules say")

/* Why something was refused. */
enum dk_reason {
#define DK__REASON(R, e, text) DK_WHY_##R,
	DK_REASONS(DK__REASON)
#undef DK__REASON
	DK_NUM_REASONS
};

/**
 * struct dk_diag - the reason of a refusal, filled where there is one
 * @size: sizeof(struct dk_diag), or 0 for the first published size
 * @reason: one of enum dk_reason
 * @text: its sentence, constant, without a full stop; set with @reason
 * @name: copy of the offending name or names; empty if there is none
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
 * Return: A constant string, "unknown reason" for a number that is none.
 */
const char *dk_reason_text(unsigned int reason);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_BASE_H */
