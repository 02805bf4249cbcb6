/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * dispatchkey: route an operation to the right device's function.
 *
 * The same prototypes in the kernel, in userspace and on bare metal. Five
 * nouns: an operator is called; a provider (a driver, a runtime, a plugin)
 * registers functions for it; a backend is a bit of a keyset that providers
 * share; a device is one card of a backend; an object carries a keyset and the
 * device that it lives on.
 *
 * Errors are negative errno. Whatever can be refused takes a struct dk_diag,
 * which may be NULL, and says the reason there.
 */
#ifndef _DISPATCHKEY_H
#define _DISPATCHKEY_H

#include <linux/dispatchkey.h>

#if defined(__KERNEL__)
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/stddef.h>
#define DK__THIS_MODULE		THIS_MODULE
/* What a user of the module's symbols puts beside its MODULE_LICENSE(). */
#define DK_MODULE_IMPORT()	MODULE_INFO(import_ns, "DISPATCHKEY")
#else
#ifndef DK_BARE
#include <errno.h>
#include <stddef.h>
#endif
#define DK__THIS_MODULE		NULL
#endif

#ifdef __cplusplus
extern "C" {
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
 * @reserved: zero
 */
struct dk_obj {
	struct dk_keyset ks;
	__u32 device;
	__u32 reserved;
};

/**
 * struct dk_local - what a thread or a caller includes and excludes
 * @included: the included set, XOR DK_DEFAULT_INCLUDED
 * @excluded: the excluded set, XOR DK_DEFAULT_EXCLUDED
 *
 * Zero is the default state. In userspace every thread has one
 * (dk_local_current()), in the kernel it is an argument.
 */
struct dk_local {
	__u64 included;
	__u64 excluded;
};

/* The default local state, for calls with none of their own. */
extern const struct dk_local dk_local_default;

/* ---- reasons -------------------------------------------------------------- */

/* X(REASON, errno, "sentence") - every refusal, and the one remark, there is. */
#define DK_REASONS(X)							\
	X(NONE, 0, "no error")						\
	X(OVERRIDE, 0, "the key had a function, which is overridden")	\
	X(NO_MEMORY, ENOMEM, "out of memory")				\
	X(BAD_NAME, EINVAL,						\
	  "a name is 1 to 127 printable characters without spaces")	\
	X(BAD_SIZE, EINVAL,						\
	  "a structure has no size, or a larger one than this version knows") \
	X(BAD_FLAGS, EINVAL, "a flag is set that this version does not know") \
	X(BAD_LAYOUT, ENOENT, "no such layout")				\
	X(BAD_CONSTANT, ENOENT, "no such constant set in this layout")	\
	X(PARSE_KEY, EINVAL, "could not parse dispatch key")		\
	X(PARSE_BACKEND, EINVAL, "could not parse backend")		\
	X(PARSE_SET, EINVAL, "could not parse keyset")			\
	X(BAD_KEY, EINVAL, "no dispatch key of this layout has this number") \
	X(BAD_BACKEND, EINVAL, "no backend of this layout has this number") \
	X(NOT_RUNTIME_KEY, EINVAL,					\
	  "a backend fallback needs a runtime key or an alias key")	\
	X(NO_TABLE, EOPNOTSUPP, "this layout has names and bits, but no tables") \
	X(ABI, EPROTO, "built for another ABI of dispatchkey")		\
	X(LAYOUT, EPROTO, "built for another layout than the registry has") \
	X(REGISTERED, EEXIST, "the provider is registered already")	\
	X(UNREGISTERED, EINVAL, "the provider is not registered")	\
	X(SHUTDOWN, ESHUTDOWN, "the registry is being torn down")	\
	X(IN_USE, EBUSY, "the registry has providers or held operators") \
	X(INSIDE, EDEADLK, "called from inside a function of the same provider") \
	X(ATOMIC, EDEADLK, "called from an atomic call")		\
	X(DEFINED, EEXIST, "the operator is defined already")		\
	X(CLASS, EBUSY,							\
	  "callers rely on the operator's being atomic, or sleepable, as before") \
	X(NOT_DEFINED, ENOENT, "the operator is not defined")		\
	X(NO_OPERATOR, ENOENT, "no such operator")			\
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
	X(BACKEND_USED, EBUSY, "a provider uses the backend's name")	\
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
	X(TWO_DEVICES, EXDEV, "the operator wants all arguments on one device") \
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

/* ---- layouts, keys and keysets --------------------------------------------
 * Every function here takes a layout, NULL being v1, changes nothing, and can
 * be called in any context. Rules: SEMANTICS 1 to 4 of PyTorch, see
 * Documentation/semantics.rst.
 */

/**
 * enum dk_key_kind - what a number means as a key
 * @DK_KIND_NONE: not a key of this layout
 * @DK_KIND_UNDEFINED: key 0: table entry 0, the empty set
 * @DK_KIND_FUNCTIONALITY: one bit, one table entry
 * @DK_KIND_BUILDING_BLOCK: a per-backend functionality: one bit, no entry
 * @DK_KIND_PER_BACKEND: functionality and backend: two bits, one entry
 * @DK_KIND_ALIAS: stands for several entries, has no bit
 * @DK_KIND_SENTINEL: marks where a block starts
 */
enum dk_key_kind {
	DK_KIND_NONE,
	DK_KIND_UNDEFINED,
	DK_KIND_FUNCTIONALITY,
	DK_KIND_BUILDING_BLOCK,
	DK_KIND_PER_BACKEND,
	DK_KIND_ALIAS,
	DK_KIND_SENTINEL,
};

/**
 * dk_layout_find() - a layout by name
 * @name: "v1", "pytorch-2.14" or "pytorch-1.13"
 * @why: filled on failure; may be NULL
 *
 * Context: Any.
 * Return: The layout, which lives for ever, or NULL (reason BAD_LAYOUT).
 */
const struct dk_layout *dk_layout_find(const char *name, struct dk_diag *why);

/**
 * dk_layout_next() - walk all layouts
 * @l: the last one, or NULL to begin
 *
 * Context: Any.
 * Return: The next layout, or NULL at the end.
 */
const struct dk_layout *dk_layout_next(const struct dk_layout *l);

/**
 * dk_layout_name() - the name of a layout
 * @l: layout, NULL for v1
 *
 * Context: Any.
 * Return: A constant string, such as "v1".
 */
const char *dk_layout_name(const struct dk_layout *l);

/**
 * dk_layout_backends() - how many backends a layout has
 * @l: layout, NULL for v1
 *
 * Context: Any.
 * Return: Their number; they are numbered from 1.
 */
unsigned int dk_layout_backends(const struct dk_layout *l);

/**
 * dk_layout_functionalities() - how many functionality keys a layout has
 * @l: layout, NULL for v1
 *
 * Context: Any.
 * Return: Their number, with Undefined, which is key 0.
 */
unsigned int dk_layout_functionalities(const struct dk_layout *l);

/**
 * dk_layout_entries() - how many entries a dispatch table has
 * @l: layout, NULL for v1
 *
 * Context: Any.
 * Return: Their number; entry 0 is Undefined's.
 */
unsigned int dk_layout_entries(const struct dk_layout *l);

/**
 * dk_layout_keys() - how far the numbers of keys go
 * @l: layout, NULL for v1
 *
 * Context: Any.
 * Return: The number behind the last key.
 */
unsigned int dk_layout_keys(const struct dk_layout *l);

/**
 * dk_layout_full() - the set of every backend and every functionality
 * @l: layout, NULL for v1
 *
 * Context: Any.
 * Return: The set.
 */
struct dk_keyset dk_layout_full(const struct dk_layout *l);

/**
 * dk_key_functionality() - the functionality of a key
 * @l: layout, NULL for v1
 * @key: any number
 *
 * The rule is PyTorch's toFunctionalityKey().
 *
 * Context: Any.
 * Return: The functionality key: of a per-backend runtime key its building
 * block, of a functionality key itself, and 0 of an alias key.
 */
unsigned int dk_key_functionality(const struct dk_layout *l, unsigned int key);

/**
 * dk_key_backend() - the backend of a key
 * @l: layout, NULL for v1
 * @key: any number
 *
 * The rule is PyTorch's toBackendComponent().
 *
 * Context: Any.
 * Return: The backend of a per-backend runtime key, 0 of every other key.
 */
unsigned int dk_key_backend(const struct dk_layout *l, unsigned int key);

/**
 * dk_key_kind() - what a number means as a key
 * @l: layout, NULL for v1
 * @key: any number
 *
 * Context: Any.
 * Return: Its kind.
 */
enum dk_key_kind dk_key_kind(const struct dk_layout *l, unsigned int key);

/**
 * dk_key_set() - the keyset of a key
 * @l: layout, NULL for v1
 * @key: any number
 *
 * Context: Any.
 * Return: The set: of a per-backend runtime key its functionality's bit and
 * its backend's, of a building block the former only, and of Undefined and of
 * an alias key the empty set (see dk_alias_set()).
 */
struct dk_keyset dk_key_set(const struct dk_layout *l, unsigned int key);

/**
 * dk_key_slot() - the table entry of a key
 * @l: layout, NULL for v1
 * @key: any number
 *
 * Context: Any.
 * Return: The entry of dk_key_set(): 0 of Undefined and of an alias key, and
 * of a building block the entry of its first backend.
 */
unsigned int dk_key_slot(const struct dk_layout *l, unsigned int key);

/**
 * dk_slot_key() - the key of a table entry
 * @l: layout, NULL for v1
 * @slot: the entry
 *
 * Context: Any.
 * Return: The runtime key; 0 for entry 0 and for what is no entry.
 */
unsigned int dk_slot_key(const struct dk_layout *l, unsigned int slot);

/**
 * dk_runtime_key() - the runtime key of a functionality and a backend
 * @l: layout, NULL for v1
 * @functionality: a building block
 * @backend: number of the backend
 *
 * The rule is PyTorch's toRuntimePerBackendFunctionalityKey().
 *
 * Context: Any.
 * Return: The key; 0 if @functionality is not a per-backend one or there is no
 * such backend. Of backend 0 it is the sentinel in front of the block.
 */
unsigned int dk_runtime_key(const struct dk_layout *l, unsigned int functionality,
			    unsigned int backend);

/**
 * dk_is_per_backend() - whether a functionality has an entry for every backend
 * @l: layout, NULL for v1
 * @functionality: a functionality key
 *
 * Context: Any.
 * Return: 1 for a building block, else 0.
 */
int dk_is_per_backend(const struct dk_layout *l, unsigned int functionality);

/**
 * dk_is_backend_key() - whether a key is one that computes on a backend
 * @l: layout, NULL for v1
 * @key: any number
 *
 * It is what CompositeExplicitAutograd stands for, and the building blocks of
 * that; PyTorch's isBackendDispatchKey().
 *
 * Context: Any.
 * Return: 1 or 0.
 */
int dk_is_backend_key(const struct dk_layout *l, unsigned int key);

/**
 * dk_key_name() - the name that PyTorch prints for a key
 * @l: layout, NULL for v1
 * @key: any number
 * @buf: takes the name
 *
 * Context: Any.
 * Return: @buf; "UnknownUnknown" for a number that is no key.
 */
char *dk_key_name(const struct dk_layout *l, unsigned int key,
		  char buf[DK_NAME_MAX]);

/**
 * dk_backend_bit_name() - the name that PyTorch prints for a backend component
 * @l: layout, NULL for v1
 * @backend: its number
 *
 * Context: Any.
 * Return: A constant string, such as "CPUBit" or, as PyTorch has it, "MTIA";
 * "UNKNOWN_BACKEND_BIT" for a number that is none.
 */
const char *dk_backend_bit_name(const struct dk_layout *l, unsigned int backend);

/**
 * enum dk_parse_flags - how dk_key_parse() reads a name
 * @DK_PARSE_STRICT: take exactly what PyTorch's own parser takes
 */
enum dk_parse_flags {
	DK_PARSE_STRICT = 1,
};

/**
 * dk_key_parse() - a key by name
 * @l: layout, NULL for v1
 * @name: every printable name and enumerator alias (CPUTensorId, CatchAll, ...)
 * @flags: DK_PARSE_STRICT or 0
 * @key: takes the key
 * @why: filled on failure; may be NULL
 *
 * Context: Any.
 * Return: 0, or -EINVAL (reason PARSE_KEY).
 */
int dk_key_parse(const struct dk_layout *l, const char *name, unsigned int flags,
		 unsigned int *key, struct dk_diag *why);

/**
 * dk_backend_bit_parse() - a backend component by name
 * @l: layout, NULL for v1
 * @name: "CPUBit" or "CPU"
 * @backend: takes the number
 * @why: filled on failure; may be NULL
 *
 * Context: Any.
 * Return: 0, or -EINVAL (reason PARSE_BACKEND).
 */
int dk_backend_bit_parse(const struct dk_layout *l, const char *name,
			 unsigned int *backend, struct dk_diag *why);

/**
 * dk_keyset_parse() - a keyset from text
 * @l: layout, NULL for v1
 * @text: 0x..., or names joined by | or ',' (keys and backend bits), or what
 *	dk_keyset_print() printed
 * @ks: takes the set
 * @why: filled on failure; may be NULL
 *
 * Context: Any.
 * Return: 0, or -EINVAL (reason PARSE_SET, with the offending word).
 */
int dk_keyset_parse(const struct dk_layout *l, const char *text,
		    struct dk_keyset *ks, struct dk_diag *why);

/**
 * dk_keyset_print() - a keyset as PyTorch prints it
 * @l: layout, NULL for v1
 * @ks: the set
 * @buf: takes the text, cut to fit and ended with NUL; may be NULL if @size is 0
 * @size: bytes at @buf
 *
 * Context: Any.
 * Return: The length of the whole text, as snprintf() counts.
 */
size_t dk_keyset_print(const struct dk_layout *l, struct dk_keyset ks,
		       char *buf, size_t size);

/**
 * dk_keyset_or() - the union of two sets
 * @a: a set
 * @b: another one
 *
 * The bits of backends and of functionalities alike.
 *
 * Context: Any.
 * Return: What is in @a, in @b or in both.
 */
static inline struct dk_keyset dk_keyset_or(struct dk_keyset a, struct dk_keyset b)
{
	struct dk_keyset r = { a.bits | b.bits };
	return r;
}

/**
 * dk_keyset_and() - the intersection of two sets
 * @a: a set
 * @b: another one
 *
 * The bits of backends and of functionalities alike.
 *
 * Context: Any.
 * Return: What is in both.
 */
static inline struct dk_keyset dk_keyset_and(struct dk_keyset a, struct dk_keyset b)
{
	struct dk_keyset r = { a.bits & b.bits };
	return r;
}

/**
 * dk_keyset_xor() - what two sets do not share
 * @a: a set
 * @b: another one
 *
 * The bits of backends and of functionalities alike.
 *
 * Context: Any.
 * Return: What is in one of them only.
 */
static inline struct dk_keyset dk_keyset_xor(struct dk_keyset a, struct dk_keyset b)
{
	struct dk_keyset r = { a.bits ^ b.bits };
	return r;
}

/**
 * dk_keyset_has_all() - whether a set contains another one
 * @a: the set
 * @b: what it may contain
 *
 * Context: Any.
 * Return: 1 if every bit of @b is in @a, else 0; 1 for an empty @b.
 */
static inline int dk_keyset_has_all(struct dk_keyset a, struct dk_keyset b)
{
	return (a.bits & b.bits) == b.bits;
}

/**
 * dk_keyset_has_any() - whether two sets have a bit in common
 * @a: a set
 * @b: another one
 *
 * A common backend is one: {AutogradCPU} and {CPU} share CPU's bit.
 *
 * Context: Any.
 * Return: 1 or 0.
 */
static inline int dk_keyset_has_any(struct dk_keyset a, struct dk_keyset b)
{
	return (a.bits & b.bits) != 0;
}

/**
 * dk_keyset_sub() - take the functionalities of one set out of another
 * @l: layout, NULL for v1
 * @a: the set
 * @b: what to take out
 *
 * The backend bits of @a stay, as in PyTorch.
 *
 * Context: Any.
 * Return: @a without the functionality bits of @b.
 */
struct dk_keyset dk_keyset_sub(const struct dk_layout *l, struct dk_keyset a,
			       struct dk_keyset b);

/**
 * dk_keyset_remove() - take the functionality of a key out of a set
 * @l: layout, NULL for v1
 * @a: the set
 * @key: the key
 *
 * Context: Any.
 * Return: @a without it; the backend bits stay, so {CPU} without CPU is
 * {CPUBit}. Undefined and an alias key take nothing out.
 */
struct dk_keyset dk_keyset_remove(const struct dk_layout *l, struct dk_keyset a,
				  unsigned int key);

/**
 * dk_keyset_remove_backend() - take a backend out of a set
 * @l: layout, NULL for v1
 * @a: the set
 * @backend: its number
 *
 * Context: Any.
 * Return: @a without the backend's bit.
 */
struct dk_keyset dk_keyset_remove_backend(const struct dk_layout *l,
					  struct dk_keyset a, unsigned int backend);

/**
 * dk_keyset_after() - what comes behind a key, to mask a redispatch with
 * @l: layout, NULL for v1
 * @key: the key
 *
 * Context: Any.
 * Return: Every functionality below @key's, every backend, and
 * PythonDispatcher. Behind Undefined and an alias key the highest backend is
 * missing, as in PyTorch's FULL_AFTER.
 */
struct dk_keyset dk_keyset_after(const struct dk_layout *l, unsigned int key);

/**
 * dk_keyset_functionality() - the highest functionality of a set
 * @l: layout, NULL for v1
 * @ks: the set
 *
 * Context: Any.
 * Return: The functionality key, 0 if there is none. Bits outside of the
 * layout are not looked at.
 */
unsigned int dk_keyset_functionality(const struct dk_layout *l, struct dk_keyset ks);

/**
 * dk_keyset_backend() - the highest backend of a set
 * @l: layout, NULL for v1
 * @ks: the set
 *
 * Context: Any.
 * Return: Its number, 0 if there is none.
 */
unsigned int dk_keyset_backend(const struct dk_layout *l, struct dk_keyset ks);

/**
 * dk_keyset_key() - the key of highest priority in a set
 * @l: layout, NULL for v1
 * @ks: the set
 *
 * The rule is PyTorch's highestPriorityTypeId().
 *
 * Context: Any.
 * Return: The runtime key of the highest functionality and, where that is a
 * per-backend one, the highest backend; the sentinel of its block if the set
 * has no backend. 0 if there is no functionality.
 */
unsigned int dk_keyset_key(const struct dk_layout *l, struct dk_keyset ks);

/**
 * dk_keyset_slot() - the table entry that a set is routed by
 * @l: layout, NULL for v1
 * @ks: the set
 *
 * Context: Any.
 * Return: The entry of dk_keyset_key(); where the set has no backend, the
 * entry of the first backend, as in PyTorch.
 */
unsigned int dk_keyset_slot(const struct dk_layout *l, struct dk_keyset ks);

/**
 * dk_keyset_next() - walk the runtime keys of a set, lowest priority first
 * @l: layout, NULL for v1
 * @ks: the set
 * @slot: table entry of the last key, 0 to begin
 *
 * Context: Any.
 * Return: The next table entry (see dk_slot_key()), or 0 at the end.
 */
unsigned int dk_keyset_next(const struct dk_layout *l, struct dk_keyset ks,
			    unsigned int slot);

/**
 * dk_alias_set() - the runtime keys that an alias key stands for
 * @l: layout, NULL for v1
 * @key: any number
 *
 * Undefined is served by some aliases too, without being in their sets. The
 * rule is PyTorch's getRuntimeDispatchKeySet().
 *
 * Context: Any.
 * Return: The set; of a key that is no alias, dk_key_set().
 */
struct dk_keyset dk_alias_set(const struct dk_layout *l, unsigned int key);

/**
 * dk_alias_has() - whether an alias key stands for a key
 * @l: layout, NULL for v1
 * @alias: the alias; another key stands for itself only
 * @key: the key
 *
 * The rule is PyTorch's isIncludedInAlias().
 *
 * Context: Any.
 * Return: 1 or 0; 0 for Undefined.
 */
int dk_alias_has(const struct dk_layout *l, unsigned int alias, unsigned int key);

/**
 * dk_backends_of_autograd() - the backend keys that an autograd key belongs to
 * @l: layout, NULL for v1
 * @key: any number
 *
 * The rule is PyTorch's getBackendKeySetFromAutograd().
 *
 * Context: Any.
 * Return: The set; empty for other keys, and for AutogradHIP, AutogradVE and
 * AutogradMTIA.
 */
struct dk_keyset dk_backends_of_autograd(const struct dk_layout *l, unsigned int key);

/**
 * dk_autograd_of_backend() - the autograd keys of objects of a backend
 * @l: layout, NULL for v1
 * @backend: its number, 0 for none
 *
 * The rule is PyTorch's getAutogradRelatedKeySetFromBackend().
 *
 * Context: Any.
 * Return: ADInplaceOrView, and the backend's autograd key or AutogradOther.
 */
struct dk_keyset dk_autograd_of_backend(const struct dk_layout *l, unsigned int backend);

/**
 * dk_autocast_of_backend() - the autocast key of objects of a backend
 * @l: layout, NULL for v1
 * @backend: its number, 0 for none
 *
 * The rule is PyTorch's getAutocastRelatedKeySetFromBackend().
 *
 * Context: Any.
 * Return: The set of that key, or the empty set.
 */
struct dk_keyset dk_autocast_of_backend(const struct dk_layout *l, unsigned int backend);

/**
 * dk_constant_set() - one of PyTorch's named sets
 * @l: layout, NULL for v1
 * @name: such as "autograd_dispatch_keyset"
 * @ks: takes the set
 * @why: filled on failure; may be NULL
 *
 * Context: Any.
 * Return: 0, or -ENOENT (reason BAD_CONSTANT).
 */
int dk_constant_set(const struct dk_layout *l, const char *name,
		    struct dk_keyset *ks, struct dk_diag *why);

/**
 * dk_fresh_set() - the keyset of a fresh object
 * @l: layout, NULL for v1
 * @ks: what it starts from, usually one backend key
 * @inference: whether inference mode is on: then without autograd keys
 *
 * Context: Any.
 * Return: @ks with the autocast and autograd keys of its highest backend and
 * without the Python keys, as PyTorch gives it to a new tensor (SEMANTICS
 * 4.6).
 */
struct dk_keyset dk_fresh_set(const struct dk_layout *l, struct dk_keyset ks,
			      int inference);
/**
 * dk_backend_type() - the backend key of highest priority in a set
 * @l: layout, NULL for v1
 * @ks: the set
 *
 * The rule is PyTorch's highestPriorityBackendTypeId().
 *
 * Context: Any.
 * Return: The key, 0 if there is none.
 */
unsigned int dk_backend_type(const struct dk_layout *l, struct dk_keyset ks);

/**
 * dk_legacy_extract() - the key of highest priority below autograd and autocast
 * @l: layout, NULL for v1
 * @ks: the set
 *
 * The modes that wrap an object are passed over too. The rule is PyTorch's
 * legacyExtractDispatchKey().
 *
 * Context: Any.
 * Return: The key, 0 if there is none.
 */
unsigned int dk_legacy_extract(const struct dk_layout *l, struct dk_keyset ks);

/* ---- local state ---------------------------------------------------------- */

/**
 * dk_local_included() - the included set of a local state
 * @local: the local state
 *
 * Context: Any.
 * Return: The set.
 */
static inline struct dk_keyset dk_local_included(const struct dk_local *local)
{
	struct dk_keyset r = { local->included ^ DK_DEFAULT_INCLUDED };
	return r;
}

/**
 * dk_local_excluded() - the excluded set of a local state
 * @local: the local state
 *
 * Context: Any.
 * Return: The set.
 */
static inline struct dk_keyset dk_local_excluded(const struct dk_local *local)
{
	struct dk_keyset r = { local->excluded ^ DK_DEFAULT_EXCLUDED };
	return r;
}

/**
 * dk_local_set() - set both sets of a local state
 * @local: the local state
 * @included: the set to include
 * @excluded: the set to exclude
 *
 * Context: Any; the caller's own state only.
 */
static inline void dk_local_set(struct dk_local *local, struct dk_keyset included,
				struct dk_keyset excluded)
{
	local->included = included.bits ^ DK_DEFAULT_INCLUDED;
	local->excluded = excluded.bits ^ DK_DEFAULT_EXCLUDED;
}

/**
 * dk_local_include() - include a set besides what is included
 * @local: the local state
 * @ks: the set
 *
 * Context: Any; the caller's own state only.
 */
static inline void dk_local_include(struct dk_local *local, struct dk_keyset ks)
{
	dk_local_set(local, dk_keyset_or(dk_local_included(local), ks),
		     dk_local_excluded(local));
}

/**
 * dk_local_exclude() - exclude a set besides what is excluded
 * @local: the local state
 * @ks: the set; its backend bits have no effect on a call
 *
 * What is included and excluded is excluded.
 *
 * Context: Any; the caller's own state only.
 */
static inline void dk_local_exclude(struct dk_local *local, struct dk_keyset ks)
{
	dk_local_set(local, dk_local_included(local),
		     dk_keyset_or(dk_local_excluded(local), ks));
}

#if defined(__KERNEL__) || defined(DK_BARE)
/* Here local state is an argument; what a plain call uses is the default. */
static inline const struct dk_local *dk_local_current(void)
{
	return &dk_local_default;
}
#else
/**
 * dk_local_current() - the calling thread's local state
 *
 * Change it with dk_local_include() and so on; a copy of the struct is the
 * snapshot that a guard puts back.
 *
 * Context: Any thread; async-signal-safe.
 * Return: The state, which lives as long as the thread.
 */
struct dk_local *dk_local_current(void);

/**
 * dk_thread_init() - make the calling thread known before its first call
 *
 * A thread's first call does this too, but may allocate; after it, calls of
 * this thread are async-signal-safe.
 *
 * Context: Any thread, not a signal handler.
 * Return: 0, or -ENOMEM.
 */
int dk_thread_init(void);

struct dk__guard {
	struct dk_local *local;
	struct dk_local saved;
};

static inline struct dk__guard dk__guard_enter(struct dk_keyset inc,
					       struct dk_keyset exc)
{
	struct dk__guard g;

	g.local = dk_local_current();
	g.saved = *g.local;
	dk_local_include(g.local, inc);
	dk_local_exclude(g.local, exc);
	return g;
}

static inline void dk__guard_leave(struct dk__guard *g)
{
	*g->local = g->saved;
}

#define DK__GUARD2(line, inc, exc)					\
	struct dk__guard dk__guard_##line				\
	__attribute__((cleanup(dk__guard_leave), unused)) =		\
		dk__guard_enter(inc, exc)
#define DK__GUARD(line, inc, exc) DK__GUARD2(line, inc, exc)
/**
 * DK_INCLUDE() - include a set in this thread, to the end of the block
 * @set: the keyset
 *
 * A guard: what is put back at the end is the whole local state as it was.
 */
#define DK_INCLUDE(set) DK__GUARD(__LINE__, set, DK_KEYSET(0))

/**
 * DK_EXCLUDE() - exclude a set in this thread, to the end of the block
 * @set: the keyset
 *
 * A guard, as DK_INCLUDE().
 */
#define DK_EXCLUDE(set) DK__GUARD(__LINE__, DK_KEYSET(0), set)
#endif

/* ---- registries ----------------------------------------------------------- */

/**
 * enum dk_registry_flags - how a registry begins
 * @DK_REGISTRY_STOCKED: with the fallthroughs that a call needs under the
 *	default local state; without it, bare
 * @DK_REGISTRY_FORCE_RESOLVE: every call goes through the rule evaluator:
 *	slow, for tests
 */
enum dk_registry_flags {
	DK_REGISTRY_STOCKED = 1,
	DK_REGISTRY_FORCE_RESOLVE = 2,
};

/**
 * dk_registry_alloc() - a registry of one's own
 * @l: its layout, NULL for v1
 * @flags: of enum dk_registry_flags
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: The registry, or NULL (reasons NO_MEMORY, NO_TABLE, BAD_FLAGS).
 */
struct dk_registry *dk_registry_alloc(const struct dk_layout *l, unsigned int flags,
				      struct dk_diag *why);

/**
 * dk_registry_free() - give a registry back
 * @reg: from dk_registry_alloc(); NULL is fine
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, or -EBUSY while providers are registered or operators held.
 */
int dk_registry_free(struct dk_registry *reg, struct dk_diag *why);

/**
 * dk_registry_default() - the registry that everybody shares
 *
 * Context: Any; in userspace the first use allocates.
 * Return: The registry, of layout v1 and stocked; in userspace NULL if there
 * was no memory to make it.
 */
struct dk_registry *dk_registry_default(void);

/**
 * dk_registry_layout() - the layout of a registry
 * @reg: registry, NULL for the default one
 *
 * Context: Any.
 * Return: The layout.
 */
const struct dk_layout *dk_registry_layout(const struct dk_registry *reg);

/**
 * dk_registry_generation() - a number that grows with every change
 * @reg: registry, NULL for the default one
 *
 * Read it before and after a walk over several entries: if it is the same, the
 * walk saw one state.
 *
 * Context: Process context, may sleep.
 * Return: The number.
 */
__u64 dk_registry_generation(struct dk_registry *reg);

/**
 * dk_registry_check() - compare every published row with the rules
 * @reg: the registry
 * @why: filled with the operator's name where something is wrong; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, -EILSEQ if an entry differs from what the rules say, or -ENOMEM.
 */
int dk_registry_check(struct dk_registry *reg, struct dk_diag *why);

/* ---- providers ------------------------------------------------------------ */

/**
 * struct dk_provider - who registers: a driver, a runtime, a plugin
 * @size: sizeof(struct dk_provider)
 * @abi: DK_ABI_VERSION
 * @layout: name of the layout that its keys are numbers of
 * @name: for people; 1 to 127 printable characters without spaces
 * @registry: where to register, NULL for the default registry
 * @priv: what dk_call_priv() gives to its functions that have no device
 * @owner: the module
 * @core: NULL while it is not registered, and nobody waits for its calls
 *
 * The storage is the caller's, and has to stay until it is unregistered.
 */
struct dk_provider {
	__u32 size;
	__u32 abi;
	const char *layout;
	const char *name;
	struct dk_registry *registry;
	void *priv;
	void *owner;
	struct dkc_provider *core;
};

/**
 * DK_PROVIDER() - what a struct dk_provider is initialised with
 * @provider_name: its name
 *
 * It notes the module, the ABI and the layout that the caller is built for.
 */
#define DK_PROVIDER(provider_name) {					\
	.size = sizeof(struct dk_provider),				\
	.abi = DK_ABI_VERSION,						\
	.layout = DK_LAYOUT_NAME,					\
	.name = (provider_name),					\
	.owner = DK__THIS_MODULE,					\
}

/**
 * dk_provider_register() - begin to register
 * @prov: from DK_PROVIDER()
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL (size, name), -EPROTO (ABI or layout), -EEXIST (is
 * registered), -ENOMEM, -ESHUTDOWN.
 */
int dk_provider_register(struct dk_provider *prov, struct dk_diag *why);

/**
 * dk_provider_unregister() - take out everything that a provider brought
 * @prov: the provider; one that is not registered is fine
 *
 * When it returns 0, no call is inside the provider's functions and none will
 * enter. It works when every allocation fails. Calls that race go to the next
 * candidate. Several may call it at once, and each waits. Two providers whose
 * functions unregister each other wait for ever.
 *
 * Context: Process context, sleeps until the calls inside have returned.
 * Return: 0, -EDEADLK from inside a function of the same provider or from an
 * atomic call (then nothing has changed), or -ESHUTDOWN at the end of the
 * process, when its functions are no longer called and stay where they are.
 */
int dk_provider_unregister(struct dk_provider *prov);

/**
 * dk_provider_drain() - wait until nothing that was withdrawn is in use
 * @prov: the provider
 *
 * After it, the memory of functions that dk_impls_withdraw() took out may go.
 *
 * Context: Process context, sleeps until the calls inside have returned.
 * Return: 0, -EINVAL if it is not registered, -EDEADLK or -ESHUTDOWN as
 * dk_provider_unregister().
 */
int dk_provider_drain(struct dk_provider *prov);

/* ---- operators ------------------------------------------------------------ */

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

/**
 * struct dk_op_decl - an operator as its callers and implementers know it
 * @size: sizeof(struct dk_op_decl)
 * @call_size: sizeof(struct dk_call) where calls are made through it
 * @name: such as "sample::factorial"
 * @sig: its C parameters as text, or NULL not to compare signatures
 * @unbox: calls the function of a call with boxed arguments; made by DK_OP()
 * @op: the operator in the default registry, once a call has found it
 */
struct dk_op_decl {
	__u32 size;
	__u32 call_size;
	const char *name;
	const char *sig;
	dk_boxed_fn_t unbox;
	struct dk_op *op;
};

/**
 * enum dk_op_flags - what an operator is, told when it is defined
 * @DK_OP_ATOMIC: may be called wherever RCU may read, and its functions do not
 *	sleep; without it, they may
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
 * dk_op_put() - give back what dk_op_get() gave
 * @op: the operator; NULL is fine
 *
 * Context: Process context, may sleep.
 */
void dk_op_put(struct dk_op *op);

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
 */
enum dk_impl_flags {
	DK_IMPL_F_FALLTHROUGH = 1,
	DK_IMPL_F_ATOMIC = 2,
	DK_IMPL_F_BOXED = 4,
};

/**
 * struct dk_impl - a function at a key; usually one of a constant table
 * @op: the operator; NULL in dk_fallback_register()
 * @fn: the function, NULL for a fallthrough
 * @label: its name for people
 * @key: a runtime key, building block or alias key; DK_UNDEFINED is the
 *	catch-all, CompositeImplicitAutograd. Where a backend or a device goes
 *	with the table, a building block means the runtime key of that backend.
 * @flags: of enum dk_impl_flags
 * @size: sizeof(struct dk_impl)
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
};

/**
 * dk_impls_register() - register a table of functions: all or none
 * @prov: the provider
 * @impls: the table
 * @n: its length
 * @why: filled on failure, and with reason OVERRIDE when a function took over
 *	a key from another one; may be NULL
 *
 * Newest at a key wins. It waits for no call; replaced rows are freed behind a
 * grace period, which in userspace every 64th of them waits for at the end,
 * outside of the lock.
 *
 * Context: Process context, may sleep; from inside a function of a sleepable
 * operator too.
 * Return: 0, -EINVAL (provider, size, key, name, function, atomic operator),
 * -EPROTOTYPE, -ENOMEM, -ESHUTDOWN.
 */
int dk_impls_register(struct dk_provider *prov, const struct dk_impl *impls,
		      unsigned int n, struct dk_diag *why);

/**
 * dk_backend_impls_register() - the same for a backend's keys
 * @prov: the provider
 * @backend: whose runtime keys the building blocks of the table mean
 * @impls: the table
 * @n: its length
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
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, -EEXIST (the key has one), -EINVAL (key, function, size,
 * provider), -ENOMEM, -ESHUTDOWN.
 */
int dk_fallback_register(struct dk_provider *prov, const struct dk_impl *impl,
			 struct dk_diag *why);

/* ---- backends and devices ------------------------------------------------- */

/**
 * enum dk_join_flags - how dk_backend_join() binds a name
 * @DK_JOIN_ALONE: nobody else may join, as long as the provider is registered
 */
enum dk_join_flags {
	DK_JOIN_ALONE = 1,
};

/**
 * dk_backend_join() - get the private backend of a name, binding a free one
 * @prov: the provider, which leaves it when it is unregistered
 * @name: such as "edu", in any case
 * @pin: the backend that it has to be, or 0
 * @flags: of enum dk_join_flags
 * @backend: takes its number
 * @why: filled on failure; may be NULL
 *
 * The binding stays for the life of the registry, so that old objects never
 * meet a newcomer.
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOSPC (three names are bound), -EBUSY (had alone, or pinned
 * elsewhere), -EINVAL (provider, name, pin), -ENOMEM, -ESHUTDOWN.
 */
int dk_backend_join(struct dk_provider *prov, const char *name, unsigned int pin,
		    unsigned int flags, unsigned int *backend, struct dk_diag *why);

/**
 * dk_backend_release() - unbind a name that nobody uses
 * @reg: registry, NULL for the default one
 * @name: the name
 * @why: filled on failure; may be NULL
 *
 * Objects of the old name then meet whoever binds the backend next.
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT, -EBUSY.
 */
int dk_backend_release(struct dk_registry *reg, const char *name,
		       struct dk_diag *why);

/**
 * dk_backend_find() - a backend by its private name or its own
 * @reg: registry, NULL for the default one
 * @name: "edu", "PrivateUse1" or "CPU"
 * @backend: takes its number
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, or -ENOENT.
 */
int dk_backend_find(struct dk_registry *reg, const char *name,
		    unsigned int *backend, struct dk_diag *why);

/**
 * dk_backend_name() - the name that people know a backend by
 * @reg: registry, NULL for the default one
 * @backend: its number
 * @buf: takes the name
 *
 * Context: Process context, may sleep.
 * Return: @buf: the private name that the backend is bound to, or its own,
 * such as "CPU"; empty for a number that is none.
 */
char *dk_backend_name(struct dk_registry *reg, unsigned int backend,
		      char buf[DK_NAME_MAX]);

/**
 * dk_registry_key_name() - the name of a key, as people know its backend
 * @reg: registry, NULL for the default one
 * @key: any number
 * @buf: takes the name
 *
 * Context: Process context, may sleep.
 * Return: @buf: "Autogradedu" where dk_key_name() says "AutogradPrivateUse1"
 * and the backend is bound to "edu".
 */
char *dk_registry_key_name(struct dk_registry *reg, unsigned int key,
			   char buf[DK_NAME_MAX]);

/**
 * dk_registry_key_parse() - a key by name, private names of backends included
 * @reg: registry, NULL for the default one
 * @name: what dk_key_parse() takes, or "edu", "Autogradedu" in any case
 * @key: takes the key
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL (reason PARSE_KEY), -ENOMEM.
 */
int dk_registry_key_parse(struct dk_registry *reg, const char *name,
			  unsigned int *key, struct dk_diag *why);

/**
 * dk_device_register() - a device, with its functions: all or nothing
 * @prov: the provider
 * @backend: of which backend it is a device
 * @name: unique in the registry, such as its PCI name
 * @priv: what dk_call_priv() gives to its functions
 * @impls: table of functions at keys of @backend; a building block such as
 *	DK_DENSE means the runtime key of @backend
 * @n: its length, may be 0
 * @device: takes the number
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, -EEXIST (name), -ENOSPC, -EINVAL (provider, backend, key of
 * another backend, ...), -EPROTOTYPE, -ENOMEM, -ESHUTDOWN.
 */
int dk_device_register(struct dk_provider *prov, unsigned int backend,
		       const char *name, void *priv, const struct dk_impl *impls,
		       unsigned int n, __u32 *device, struct dk_diag *why);

/**
 * dk_device_unregister() - take a device out
 * @prov: the provider that registered it
 * @device: its number
 * @why: filled on failure; may be NULL
 *
 * When it returns 0, no call is inside the device's functions and none will
 * enter; its objects are served by whatever else serves their backend. A driver
 * that calls it from its remove function, outside of any call, need not look at
 * the answer.
 *
 * Context: Process context, sleeps until the calls inside have returned.
 * Return: 0, -ENODEV, -EINVAL (the provider is not registered), -EDEADLK or
 * -ESHUTDOWN as dk_provider_unregister().
 */
int dk_device_unregister(struct dk_provider *prov, __u32 device,
			 struct dk_diag *why);

/**
 * dk_device_find() - a device by name
 * @reg: registry, NULL for the default one
 * @name: the name
 * @obj: takes the object on that device: its backend's Dense key and its number
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, or -ENODEV.
 */
int dk_device_find(struct dk_registry *reg, const char *name, struct dk_obj *obj,
		   struct dk_diag *why);

/**
 * dk_device_set_online() - take a device offline or online again
 * @reg: registry, NULL for the default one
 * @device: its number
 * @online: 0 for offline
 * @why: filled on failure; may be NULL
 *
 * Offline, its functions are as if absent, and calls inside have returned.
 *
 * Context: Process context, sleeps until the calls inside have returned.
 * Return: 0, -ENODEV, -ENOMEM (then nothing has changed), -EDEADLK as
 * dk_provider_unregister().
 */
int dk_device_set_online(struct dk_registry *reg, __u32 device, int online,
			 struct dk_diag *why);

/**
 * dk_obj_on() - the object of a backend or of a device
 * @backend: whose Dense key it has
 * @device: number, or 0
 *
 * Context: Any.
 * Return: The object.
 */
static inline struct dk_obj dk_obj_on(unsigned int backend, __u32 device)
{
	struct dk_obj obj = { { DK_FUNCTIONALITY_BIT(DK_DENSE) |
				DK_BACKEND_BIT(backend) }, device, 0 };
	return obj;
}

/* ---- calls ---------------------------------------------------------------- */

/**
 * struct dk_call - a call in flight; its functions get it as first argument
 * @ks: the effective keyset: what redispatching masks
 * @fn: the function to call, through its exact type
 * @boxed: the same where it is a boxed one, else NULL
 * @priv: see dk_call_priv()
 * @device: number of the device whose function it is, 0 for none
 * @n: how many objects it dispatches on
 * @local: the local state that the call was made with
 * @objs: the objects that it dispatches on
 * @decl: the operator, as the caller knows it
 *
 * The rest is the dispatcher's own. Its storage is the caller's, made by
 * DK_OP(), and lives for the call.
 */
struct dk_call {
	struct dk_keyset ks;
	dk_fn_t fn;
	dk_boxed_fn_t boxed;
	void *priv;
	__u32 device;
	__u32 n;
	const struct dk_local *local;
	const struct dk_obj *const *objs;
	const struct dk_op_decl *decl;
	/* private: */
	struct dk_op *op;
	__u64 state;
	__u64 gate[8];
};

/**
 * dk_call_priv() - what belongs to the function that serves a call
 * @c: the call, from inside the function
 *
 * Context: Any.
 * Return: The @priv of dk_device_register() where it is a device's function,
 * else that of its struct dk_provider.
 */
static inline void *dk_call_priv(const struct dk_call *c)
{
	return c->priv;
}

/**
 * dk_call_key() - the key that a call was routed by
 * @c: the call, in a registry of layout v1
 *
 * Context: Any.
 * Return: The key of highest priority in @c->ks.
 */
static inline unsigned int dk_call_key(const struct dk_call *c)
{
	return dk_keyset_key(NULL, c->ks);
}

/**
 * dk_call_enter() - route a call and keep the provider from leaving
 * @c: takes the call; @c->fn, or @c->boxed where that is set, is to be called
 * @decl: the operator, in the default registry
 * @local: local state, never NULL
 * @objs: the arguments that it dispatches on, in order; NULL ones are absent
 * @n: how many
 *
 * DK_OP() makes the function that does this for you. Only when it returns 0,
 * dk_call_leave() has to follow.
 *
 * Context: Of an atomic operator any in which RCU may read, else process
 * context and not from inside an atomic call. Of an atomic operator, an RCU
 * read section lasts until dk_call_leave().
 * Return: 0, -ENOSYS (nothing serves), -ENOTUNIQ (ambiguous AutogradOther),
 * -ENODEV (the device is gone or offline and nothing else serves), -EXDEV,
 * -ENOENT (not defined), -EPROTOTYPE, -ESHUTDOWN, -ENOMEM (userspace: the
 * thread's first call).
 */
int dk_call_enter(struct dk_call *c, struct dk_op_decl *decl,
		  const struct dk_local *local, const struct dk_obj *const *objs,
		  unsigned int n);

/**
 * dk_call_enter_op() - dk_call_enter() by handle, in any registry
 * @c: takes the call
 * @op: the operator, from dk_op_get()
 * @decl: gives its type
 * @local: local state, never NULL; its sets have the bits of the registry's
 * @objs: the arguments that it dispatches on, in order
 * @n: how many
 *
 * Context: As dk_call_enter().
 * Return: As dk_call_enter().
 */
int dk_call_enter_op(struct dk_call *c, struct dk_op *op,
		     const struct dk_op_decl *decl, const struct dk_local *local,
		     const struct dk_obj *const *objs, unsigned int n);

/**
 * dk_call_redispatch() - route the rest of a call from inside a function
 * @c: takes the new call
 * @from: the call that we are inside of
 * @decl: its operator; another one's is -EPROTOTYPE
 * @ks: the keyset, used as it is: no local state, and no mask unless its entry
 *	is a fallthrough, as when a function has left since the call was masked
 * @objs: the arguments that it dispatches on
 * @n: how many
 *
 * Context: As dk_call_enter().
 * Return: As dk_call_enter().
 */
int dk_call_redispatch(struct dk_call *c, const struct dk_call *from,
		       const struct dk_op_decl *decl, struct dk_keyset ks,
		       const struct dk_obj *const *objs, unsigned int n);

/**
 * dk_call_leave() - end a call that was entered
 * @c: from dk_call_enter(), dk_call_enter_op() or dk_call_redispatch()
 *
 * On the task or thread that entered it.
 *
 * Context: As dk_call_enter().
 */
void dk_call_leave(struct dk_call *c);

/**
 * dk_call_below() - the keys behind the one that a call was routed by
 * @c: the call, from inside its function
 *
 * Context: Any.
 * Return: The set to redispatch with.
 */
struct dk_keyset dk_call_below(const struct dk_call *c);

/* ---- seeing --------------------------------------------------------------- */

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

/**
 * dk_version() - the version of the library or the module
 *
 * Context: Any.
 * Return: A constant string, such as "0.1.0".
 */
const char *dk_version(void);

#ifdef __cplusplus
}
#endif

#ifndef __cplusplus
#include <dispatchkey-op.h>
#endif

#endif /* _DISPATCHKEY_H */
