/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Declares layouts, keys and keysets. Included by <dispatchkey.h>.
 *
 * Functions that take a layout use v1 if it is NULL. Unless their Context states
 * otherwise, the functions have no side effects and can be called in any context.
 * Rules: SEMANTICS 1 to 4, see Documentation/semantics.rst.
 */
#ifndef _DISPATCHKEY_KEYSET_H
#define _DISPATCHKEY_KEYSET_H

#include <dispatchkey-base.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum dk_key_kind - the kind of key that a number stands for
 * @DK_KIND_NONE: not a key of this layout
 * @DK_KIND_UNDEFINED: key 0, with table entry 0 and the empty set
 * @DK_KIND_FUNCTIONALITY: one bit, one table entry
 * @DK_KIND_BUILDING_BLOCK: a per-backend functionality: one bit, no entry
 * @DK_KIND_PER_BACKEND: a functionality on a backend: two bits, one entry
 * @DK_KIND_ALIAS: stands for several entries, has no bit
 * @DK_KIND_SENTINEL: not a key: the number before the runtime keys of a building block
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
 * dk_layout_find() - look up a layout by name
 * @name: such as "v1", "pytorch-2.14" or "pytorch-1.13"
 * @why: filled on failure; may be NULL
 *
 * A patch release has the layout of its minor release, so "pytorch-2.14.1" finds
 * "pytorch-2.14", as do "2.14.1" and the tag "v2.14.1". The name of a minor release
 * without a layout is rejected, because its keys may have other numbers. dk_layout_next()
 * lists the layouts. "v1+trimmed", "pytorch-2.14+trimmed" and "pytorch-1.13+trimmed" are
 * the same layouts with a trimmed table (see dk_table_index()).
 *
 * Context: Process context; the first use of a layout other than v1 allocates memory. Not in the
 * kernel module.
 * Return: The layout, which is never freed, or NULL (reasons BAD_LAYOUT, NULL_ARGUMENT,
 * NO_MEMORY).
 */
const struct dk_layout *dk_layout_find(const char *name, struct dk_diag *why);

/**
 * dk_layout_next() - walk the names of the built-in layouts
 * @name: the previous name, or NULL to begin
 *
 * dk_layout_find() finds a layout by its name. Layouts with a trimmed table are skipped.
 *
 * Context: Any. Not in the kernel module.
 * Return: The next name, a constant string; NULL after the last name and for other names.
 */
const char *dk_layout_next(const char *name);

/**
 * dk_layout_parse() - parse a layout from text
 * @text: in the format of Documentation/layouts.rst, which
 *	dk_layout_describe() writes
 * @why: filled on failure; may be NULL. @why->name is then "line N: WORD", where N is the
 *	line at which the text ends if its lists do not suit its other lines. For a name that
 *	several lines make together, and for the name of another layout, it is only WORD
 *
 * Use it for a build of PyTorch that has no built-in layout. A text with the name of a
 * built-in layout must have the same keys as that layout.
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: The layout, to be freed with dk_layout_free(); or NULL (reasons
 * LAYOUT_LINE, LAYOUT_WORD, LAYOUT_NAME, LAYOUT_TWICE, LAYOUT_LACKS, LAYOUT_SIZE,
 * LAYOUT_BLOCK, LAYOUT_TAKEN, NULL_ARGUMENT, NO_MEMORY).
 */
struct dk_layout *dk_layout_parse(const char *text, struct dk_diag *why);

/**
 * dk_layout_free() - free a layout from dk_layout_parse()
 * @l: the layout, or NULL; built-in layouts are not freed
 *
 * A registry that uses the layout keeps it until the registry is freed.
 *
 * Context: Process context, may sleep. Not in the kernel module.
 */
void dk_layout_free(struct dk_layout *l);

/**
 * dk_layout_describe() - print a layout as text for dk_layout_parse()
 * @l: layout, NULL for v1
 * @buf: filled with the text, truncated to fit, with a final NUL; may be NULL
 *	if @size is 0
 * @size: size of @buf in bytes
 *
 * Context: Any. Not in the kernel module.
 * Return: The length of the whole text, as snprintf().
 */
size_t dk_layout_describe(const struct dk_layout *l, char *buf, size_t size);

/**
 * enum dk_layout_knowledge - what is known of a layout besides its bits and names
 * @DK_KNOWS_TABLES: its tables; a registry needs such a layout
 * @DK_KNOWS_SETS: alias sets, and the autograd and autocast keys of backends. If
 *	unknown, the functions that return them return the empty set, or 0
 * @DK_KNOWS_STRICT: the names that PyTorch's own parser accepts
 * @DK_KNOWS_LEGACY: the keys that dk_legacy_extract() skips. If unknown,
 *	dk_legacy_extract() returns 0
 */
enum dk_layout_knowledge {
	DK_KNOWS_TABLES = 1,
	DK_KNOWS_SETS = 2,
	DK_KNOWS_STRICT = 4,
	DK_KNOWS_LEGACY = 8,
};

/**
 * dk_layout_knows() - what is known of a layout besides its bits and names
 * @l: layout, NULL for v1
 *
 * Context: Any. Not in the kernel module.
 * Return: Flags of enum dk_layout_knowledge.
 */
unsigned int dk_layout_knows(const struct dk_layout *l);

/**
 * dk_layout_name() - the name of a layout
 * @l: layout, NULL for v1
 *
 * Context: Any. Not in the kernel module.
 * Return: A constant string, such as "v1".
 */
const char *dk_layout_name(const struct dk_layout *l);

/**
 * dk_layout_backends() - the number of backends of a layout
 * @l: layout, NULL for v1
 *
 * Context: Any. Not in the kernel module.
 * Return: The number; backends are numbered from 1. 0 for the layouts of PyTorch before 1.12: there
 * CPU, SparseCPU and AutogradCPU are three functionalities.
 */
unsigned int dk_layout_backends(const struct dk_layout *l);

/**
 * dk_layout_functionalities() - the number of functionality keys of a layout
 * @l: layout, NULL for v1
 *
 * Context: Any. Not in the kernel module.
 * Return: The number, including Undefined, which is key 0.
 */
unsigned int dk_layout_functionalities(const struct dk_layout *l);

/**
 * dk_layout_entries() - the number of entries of a dispatch table
 * @l: layout, NULL for v1
 *
 * Context: Any. Not in the kernel module.
 * Return: The number, even if the table is trimmed (dk_table_size()). Entry 0 is Undefined's.
 */
unsigned int dk_layout_entries(const struct dk_layout *l);

/**
 * dk_table_size() - the number of entries of PyTorch's own table
 * @l: layout, NULL for v1
 *
 * Context: Any. Not in the kernel module.
 * Return: dk_layout_entries(), or 8 if the table is trimmed.
 */
unsigned int dk_table_size(const struct dk_layout *l);

/**
 * dk_layout_keys() - the end of a layout's key numbers
 * @l: layout, NULL for v1
 *
 * Context: Any. Not in the kernel module.
 * Return: The number of the last key, plus 1.
 */
unsigned int dk_layout_keys(const struct dk_layout *l);

/**
 * dk_layout_full() - the set of all backends and all functionalities
 * @l: layout, NULL for v1
 *
 * Context: Any. Not in the kernel module.
 * Return: The set.
 */
struct dk_keyset dk_layout_full(const struct dk_layout *l);

/**
 * dk_key_functionality() - the functionality of a key
 * @l: layout, NULL for v1
 * @key: any number
 *
 * Equivalent to PyTorch's toFunctionalityKey().
 *
 * Context: Any. Not in the kernel module.
 * Return: The functionality key: the building block for a per-backend runtime key,
 * the key itself for a functionality key, 0 for an alias key.
 */
unsigned int dk_key_functionality(const struct dk_layout *l, unsigned int key);

/**
 * dk_key_backend() - the backend of a key
 * @l: layout, NULL for v1
 * @key: any number
 *
 * Equivalent to PyTorch's toBackendComponent().
 *
 * Context: Any. Not in the kernel module.
 * Return: The backend of a per-backend runtime key, 0 for any other key.
 */
unsigned int dk_key_backend(const struct dk_layout *l, unsigned int key);

/**
 * dk_key_kind() - the kind of key that a number stands for
 * @l: layout, NULL for v1
 * @key: any number
 *
 * Context: Any. Not in the kernel module.
 * Return: Its kind.
 */
enum dk_key_kind dk_key_kind(const struct dk_layout *l, unsigned int key);

/**
 * dk_kind_name() - the name of a kind of key
 * @kind: one of enum dk_key_kind
 *
 * Context: Any. Not in the kernel module.
 * Return: A constant string, such as "building-block".
 */
const char *dk_kind_name(unsigned int kind);

/**
 * dk_key_set() - the keyset of a key
 * @l: layout, NULL for v1
 * @key: any number
 *
 * Context: Any.
 * Return: The set. A per-backend runtime key has the bits of its functionality and
 * its backend. A building block has only the bit of its functionality. Undefined
 * and alias keys have none (see dk_alias_set(), which is not in the kernel module).
 */
struct dk_keyset dk_key_set(const struct dk_layout *l, unsigned int key);

/**
 * dk_backend_set() - the keyset with the bit of a backend only
 * @l: layout, NULL for v1
 * @backend: its number
 *
 * Like DK_BACKEND_BIT(), but for any layout.
 *
 * Context: Any. Not in the kernel module.
 * Return: The set with only this bit. It contains no key, because it has no
 * functionality. The empty set for an invalid number.
 */
struct dk_keyset dk_backend_set(const struct dk_layout *l, unsigned int backend);

/**
 * dk_key_slot() - the table entry of a key
 * @l: layout, NULL for v1
 * @key: any number
 *
 * Context: Any. Not in the kernel module.
 * Return: The entry; 0 for Undefined and alias keys; the entry of the first backend for
 * a building block.
 */
unsigned int dk_key_slot(const struct dk_layout *l, unsigned int key);

/**
 * dk_slot_key() - the key of a table entry
 * @l: layout, NULL for v1
 * @slot: the entry
 *
 * Context: Any.
 * Return: The runtime key; 0 for entry 0 and for an invalid entry.
 */
unsigned int dk_slot_key(const struct dk_layout *l, unsigned int slot);

/**
 * dk_runtime_key() - the runtime key of a functionality and a backend
 * @l: layout, NULL for v1
 * @functionality: a building block
 * @backend: number of the backend
 *
 * Equivalent to PyTorch's toRuntimePerBackendFunctionalityKey().
 *
 * Context: Any.
 * Return: The key; 0 if @functionality is not a building block or the backend does not exist;
 * for backend 0 the sentinel (DK_KIND_SENTINEL) before the keys of @functionality.
 */
unsigned int dk_runtime_key(const struct dk_layout *l, unsigned int functionality,
			    unsigned int backend);

/**
 * dk_is_per_backend() - whether a functionality has an entry for every backend
 * @l: layout, NULL for v1
 * @functionality: a functionality key
 *
 * Context: Any. Not in the kernel module.
 * Return: 1 for a building block, else 0.
 */
int dk_is_per_backend(const struct dk_layout *l, unsigned int functionality);

/**
 * dk_is_backend_key() - whether a key is a backend key
 * @l: layout, NULL for v1
 * @key: any number
 *
 * True for the runtime keys that the alias key CompositeExplicitAutograd stands for, and
 * for the building blocks of these keys (DK_KIND_BUILDING_BLOCK). Equivalent to PyTorch's
 * isBackendDispatchKey().
 *
 * Context: Any. Not in the kernel module.
 * Return: 1 or 0.
 */
int dk_is_backend_key(const struct dk_layout *l, unsigned int key);

/**
 * dk_key_name() - the name that PyTorch prints for a key
 * @l: layout, NULL for v1
 * @key: any number
 * @buf: filled with the name
 *
 * Context: Any.
 * Return: @buf; "UnknownUnknown" for an invalid number.
 */
char *dk_key_name(const struct dk_layout *l, unsigned int key,
		  char buf[DK_NAME_MAX]);

/**
 * dk_backend_bit_name() - the name that PyTorch prints for a backend component
 * @l: layout, NULL for v1
 * @backend: its number
 *
 * Context: Any. Not in the kernel module.
 * Return: A constant string such as "CPUBit". A few names have no "Bit" at the end
 * ("MTIA"), as in PyTorch. "UNKNOWN_BACKEND_BIT" for an invalid number.
 */
const char *dk_backend_bit_name(const struct dk_layout *l, unsigned int backend);

/**
 * enum dk_parse_flags - flags of dk_key_parse()
 * @DK_PARSE_STRICT: accept exactly the names that PyTorch's own parser
 *	accepts
 */
enum dk_parse_flags {
	DK_PARSE_STRICT = 1,
};

/**
 * dk_key_parse() - parse the name of a key
 * @l: layout, NULL for v1
 * @name: the printed name of a key, or an enumerator alias (CPUTensorId, CatchAll, ...)
 * @flags: DK_PARSE_STRICT or 0
 * @key: set to the key
 * @why: filled on failure; may be NULL
 *
 * Case matters: "CPU" is a key, "cpu" is not.
 *
 * Context: Any.
 * Return: 0; -EINVAL (reasons PARSE_KEY, NULL_ARGUMENT, BAD_FLAGS); with DK_PARSE_STRICT
 * -EOPNOTSUPP (reason NO_STRICT) if the names that PyTorch's parser accepts are unknown.
 */
int dk_key_parse(const struct dk_layout *l, const char *name, unsigned int flags,
		 unsigned int *key, struct dk_diag *why);

/**
 * dk_backend_bit_parse() - parse the name of a backend component
 * @l: layout, NULL for v1
 * @name: "CPUBit" or "CPU"
 * @backend: set to the number
 * @why: filled on failure; may be NULL
 *
 * Context: Any. Not in the kernel module.
 * Return: 0, or -EINVAL (reason PARSE_BACKEND).
 */
int dk_backend_bit_parse(const struct dk_layout *l, const char *name,
			 unsigned int *backend, struct dk_diag *why);

/**
 * dk_keyset_parse() - parse a keyset
 * @l: layout, NULL for v1
 * @text: 0x..., or names of keys (not alias keys) and backend bits, joined by '|' or
 *	',', or the output of dk_keyset_print()
 * @ks: set to the keyset
 * @why: filled on failure; may be NULL
 *
 * Context: Any.
 * Return: 0, or -EINVAL (reason PARSE_SET with the invalid word).
 */
int dk_keyset_parse(const struct dk_layout *l, const char *text,
		    struct dk_keyset *ks, struct dk_diag *why);

/**
 * dk_keyset_print() - print a keyset as PyTorch does
 * @l: layout, NULL for v1
 * @ks: the set
 * @buf: filled with the text, truncated to fit, with a final NUL; may be NULL
 *	if @size is 0
 * @size: size of @buf in bytes
 *
 * Context: Any.
 * Return: The length of the whole text, as snprintf().
 */
size_t dk_keyset_print(const struct dk_layout *l, struct dk_keyset ks,
		       char *buf, size_t size);

/**
 * dk_keyset_or() - the union of two sets
 * @a: a set
 * @b: the other set
 *
 * Applies to backend bits and functionality bits alike.
 *
 * Context: Any.
 * Return: The bits in @a, in @b or in both.
 */
DK_INLINE struct dk_keyset dk_keyset_or(struct dk_keyset a, struct dk_keyset b)
{
	struct dk_keyset r = { a.bits | b.bits };
	return r;
}

/**
 * dk_keyset_and() - the intersection of two sets
 * @a: a set
 * @b: the other set
 *
 * Applies to backend bits and functionality bits alike.
 *
 * Context: Any.
 * Return: The bits in both.
 */
DK_INLINE struct dk_keyset dk_keyset_and(struct dk_keyset a, struct dk_keyset b)
{
	struct dk_keyset r = { a.bits & b.bits };
	return r;
}

/**
 * dk_keyset_xor() - the symmetric difference of two sets
 * @a: a set
 * @b: the other set
 *
 * Applies to backend bits and functionality bits alike.
 *
 * Context: Any.
 * Return: The bits in exactly one of them.
 */
DK_INLINE struct dk_keyset dk_keyset_xor(struct dk_keyset a, struct dk_keyset b)
{
	struct dk_keyset r = { a.bits ^ b.bits };
	return r;
}

/**
 * dk_keyset_of() - the keyset of several keys
 * @l: layout, NULL for v1
 * @keys: the keys
 * @n: number of keys
 *
 * Context: Any. Not in the kernel module.
 * Return: The union of their dk_key_set(); the empty set if @n is 0.
 */
struct dk_keyset dk_keyset_of(const struct dk_layout *l, const unsigned int *keys,
			      unsigned int n);

/**
 * dk_keyset_has() - whether a set has a key
 * @l: layout, NULL for v1
 * @ks: the set
 * @key: the key
 *
 * Context: Any.
 * Return: 1 if all bits of the key are in the set, else 0. Always 1 for Undefined
 * and for alias keys, which have no bits, as in PyTorch's release builds.
 */
int dk_keyset_has(const struct dk_layout *l, struct dk_keyset ks, unsigned int key);

/**
 * dk_keyset_highest_bit() - the position of the highest bit of a set
 * @ks: the set
 *
 * Equivalent to PyTorch's indexOfHighestBit().
 *
 * Context: Any. Not in the kernel module.
 * Return: The position, counted from 1; 0 if the set is empty.
 */
unsigned int dk_keyset_highest_bit(struct dk_keyset ks);

/**
 * dk_keyset_has_all() - whether a set contains another set
 * @a: the set
 * @b: the set to look for
 *
 * Context: Any.
 * Return: 1 if every bit of @b is in @a, else 0; 1 for an empty @b.
 */
DK_INLINE int dk_keyset_has_all(struct dk_keyset a, struct dk_keyset b)
{
	return (a.bits & b.bits) == b.bits;
}

/**
 * dk_keyset_has_any() - whether two sets have a bit in common
 * @a: a set
 * @b: the other set
 *
 * Backend bits count, too: {CPU, Tracer} has a bit in common with the set that contains only
 * the bit of backend CPU. The result is meaningful only if dk_keyset_has_any_valid() is true
 * for @b: @b must not have both a backend and a building block other than NestedTensor. The
 * kernel module does not have dk_keyset_has_any_valid().
 *
 * Context: Any.
 * Return: 1 or 0.
 */
DK_INLINE int dk_keyset_has_any(struct dk_keyset a, struct dk_keyset b)
{
	return (a.bits & b.bits) != 0;
}

/**
 * dk_keyset_has_any_valid() - whether dk_keyset_has_any() is meaningful for a set
 * @l: layout, NULL for v1
 * @b: the second argument of dk_keyset_has_any()
 *
 * False if @b has both a backend and a building block other than NestedTensor, otherwise true.
 * PyTorch's debug builds assert that it is true.
 *
 * Context: Any. Not in the kernel module.
 * Return: 1 or 0.
 */
int dk_keyset_has_any_valid(const struct dk_layout *l, struct dk_keyset b);

/**
 * dk_keyset_sub() - remove the functionalities of one set from another
 * @l: layout, NULL for v1
 * @a: the set
 * @b: the set to remove
 *
 * The backend bits of @a stay, as in PyTorch.
 *
 * Context: Any.
 * Return: @a without the functionality bits of @b.
 */
struct dk_keyset dk_keyset_sub(const struct dk_layout *l, struct dk_keyset a,
			       struct dk_keyset b);

/**
 * dk_keyset_remove() - remove the functionality of a key from a set
 * @l: layout, NULL for v1
 * @a: the set
 * @key: the key
 *
 * Context: Any.
 * Return: @a without the functionality bit. The backend bits stay, so {CPU} without
 * CPU is {CPUBit}. Undefined and alias keys remove nothing.
 */
struct dk_keyset dk_keyset_remove(const struct dk_layout *l, struct dk_keyset a,
				  unsigned int key);

/**
 * dk_keyset_remove_backend() - remove a backend from a set
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
 * dk_keyset_after() - the keys of lower priority than a key
 * @l: layout, NULL for v1
 * @key: the key
 *
 * Context: Any. Not in the kernel module.
 * Return: All functionalities below @key's, all backends, and PythonDispatcher. For
 * Undefined and alias keys the highest backend is missing, as in PyTorch's
 * FULL_AFTER; if the layout has no backends, the set is empty.
 */
struct dk_keyset dk_keyset_after(const struct dk_layout *l, unsigned int key);

/**
 * dk_keyset_functionality() - the highest functionality of a set
 * @l: layout, NULL for v1
 * @ks: the set
 *
 * Context: Any. Not in the kernel module.
 * Return: The functionality key, 0 if there is none. Bits outside of the layout are
 * ignored.
 */
unsigned int dk_keyset_functionality(const struct dk_layout *l, struct dk_keyset ks);

/**
 * dk_keyset_backend() - the highest backend of a set
 * @l: layout, NULL for v1
 * @ks: the set
 *
 * Context: Any. Not in the kernel module.
 * Return: Its number, 0 if there is none.
 */
unsigned int dk_keyset_backend(const struct dk_layout *l, struct dk_keyset ks);

/**
 * dk_keyset_key() - the key of highest priority in a set
 * @l: layout, NULL for v1
 * @ks: the set
 *
 * Equivalent to PyTorch's highestPriorityTypeId().
 *
 * Context: Any.
 * Return: The highest functionality as a runtime key. A per-backend functionality is
 * combined with the highest backend. If the set has no backend, the result is the
 * sentinel (DK_KIND_SENTINEL) that precedes the runtime keys of the functionality.
 * 0 if there is no functionality.
 */
unsigned int dk_keyset_key(const struct dk_layout *l, struct dk_keyset ks);

/**
 * dk_keyset_slot() - the table entry that a set selects
 * @l: layout, NULL for v1
 * @ks: the set
 *
 * Context: Any. Not in the kernel module.
 * Return: The entry of dk_keyset_key(). For a per-backend functionality without a
 * backend it is the entry of the first backend, as in PyTorch.
 */
unsigned int dk_keyset_slot(const struct dk_layout *l, struct dk_keyset ks);

/**
 * dk_table_index() - the entry of PyTorch's own table that a set selects
 * @l: layout, NULL for v1
 * @ks: the set
 *
 * A trimmed table, as in PyTorch's build for mobile devices, has eight entries, selected
 * by the key of highest priority: Undefined, CPU, QuantizedCPU, SparseCPU, BackendSelect,
 * ADInplaceOrView, AutogradOther, AutogradCPU. A call with any other key fails with
 * -ENOSYS. Trimming does not change sets, names, dk_keyset_slot() or dk_keyset_next().
 *
 * Context: Any. Not in the kernel module.
 * Return: dk_keyset_slot() if the table is not trimmed. Otherwise 0 to 7, or -1 if the
 * table has no entry for the set.
 */
int dk_table_index(const struct dk_layout *l, struct dk_keyset ks);

/**
 * dk_keyset_next() - walk the runtime keys of a set, lowest priority first
 * @l: layout, NULL for v1
 * @ks: the set
 * @slot: table entry of the previous key, 0 to begin
 *
 * Context: Any. Not in the kernel module.
 * Return: The next table entry (see dk_slot_key()), or 0 at the end.
 */
unsigned int dk_keyset_next(const struct dk_layout *l, struct dk_keyset ks,
			    unsigned int slot);

/**
 * dk_alias_set() - the runtime keys that an alias key stands for
 * @l: layout, NULL for v1
 * @key: any number
 *
 * Functions at some alias keys also serve Undefined. Undefined has no bit, so the set does not
 * show this. Equivalent to PyTorch's getRuntimeDispatchKeySet().
 *
 * Context: Any. Not in the kernel module.
 * Return: The set; dk_key_set() for a key that is not an alias.
 */
struct dk_keyset dk_alias_set(const struct dk_layout *l, unsigned int key);

/**
 * dk_alias_has() - whether an alias key stands for a key
 * @l: layout, NULL for v1
 * @alias: the alias; any other key stands for itself only
 * @key: the key
 *
 * If both keys are alias keys of the layout, the result is 1: @key has no bits, and every
 * set contains the empty set. Equivalent to PyTorch's isIncludedInAlias().
 *
 * Context: Any. Not in the kernel module.
 * Return: 1 or 0; 0 for Undefined.
 */
int dk_alias_has(const struct dk_layout *l, unsigned int alias, unsigned int key);

/**
 * dk_backends_of_autograd() - the backend keys of an autograd key
 * @l: layout, NULL for v1
 * @key: any number
 *
 * Equivalent to PyTorch's getBackendKeySetFromAutograd().
 *
 * Context: Any. Not in the kernel module.
 * Return: The set; empty for other keys, and for AutogradHIP, AutogradVE and
 * AutogradMTIA.
 */
struct dk_keyset dk_backends_of_autograd(const struct dk_layout *l, unsigned int key);

/**
 * dk_autograd_of_backend() - the autograd-related keys of a backend's objects
 * @l: layout, NULL for v1
 * @backend: its number, 0 for none
 *
 * Equivalent to PyTorch's getAutogradRelatedKeySetFromBackend().
 *
 * Context: Any. Not in the kernel module.
 * Return: ADInplaceOrView, and the backend's autograd key or AutogradOther.
 */
struct dk_keyset dk_autograd_of_backend(const struct dk_layout *l, unsigned int backend);

/**
 * dk_autocast_of_backend() - the autocast key of a backend's objects
 * @l: layout, NULL for v1
 * @backend: its number, 0 for none
 *
 * Equivalent to PyTorch's getAutocastRelatedKeySetFromBackend().
 *
 * Context: Any. Not in the kernel module.
 * Return: The set of the autocast key, or the empty set if there is none.
 */
struct dk_keyset dk_autocast_of_backend(const struct dk_layout *l, unsigned int backend);

/**
 * dk_constant_set() - look up one of PyTorch's named sets
 * @l: layout, NULL for v1
 * @name: such as "autograd_dispatch_keyset"
 * @ks: set to the keyset
 * @why: filled on failure; may be NULL
 *
 * Context: Any. Not in the kernel module.
 * Return: 0; -ENOENT (reason BAD_CONSTANT); -EINVAL (reason NULL_ARGUMENT); -EOPNOTSUPP
 * (reason NO_SETS) if it is not known which keys the set has in the layout: autogradother_backends
 * of a layout without DK_KNOWS_SETS, and all sets of a layout without backends.
 */
int dk_constant_set(const struct dk_layout *l, const char *name,
		    struct dk_keyset *ks, struct dk_diag *why);

/**
 * dk_fresh_set() - the keyset of a new object
 * @l: layout, NULL for v1
 * @ks: the set to begin with, usually one backend key
 * @inference: 1 for inference mode, which removes the autograd keys and
 *	ADInplaceOrView; otherwise 0
 *
 * Context: Any. Not in the kernel module.
 * Return: The keyset that PyTorch gives a new tensor (SEMANTICS 4.6). It is @ks without
 * the Python keys, and with the autocast key of its highest backend. Outside of inference
 * mode it also has ADInplaceOrView and the autograd keys of that backend.
 */
struct dk_keyset dk_fresh_set(const struct dk_layout *l, struct dk_keyset ks,
			      int inference);
/**
 * dk_backend_type() - the backend key of highest priority in a set
 * @l: layout, NULL for v1
 * @ks: the set
 *
 * Equivalent to PyTorch's highestPriorityBackendTypeId().
 *
 * Context: Any. Not in the kernel module.
 * Return: The key. 0 if there is none, or if dk_constant_set() does not know the set
 * "backend_functionality_keys" of the layout.
 */
unsigned int dk_backend_type(const struct dk_layout *l, struct dk_keyset ks);

/**
 * dk_legacy_extract() - the key of highest priority below autograd and autocast
 * @l: layout, NULL for v1
 * @ks: the set
 *
 * Also skips Python, PythonTLSSnapshot and, in some layouts, more keys (SEMANTICS 4.5).
 * Equivalent to PyTorch's legacyExtractDispatchKey().
 *
 * Context: Any. Not in the kernel module.
 * Return: The key, 0 if there is none.
 */
unsigned int dk_legacy_extract(const struct dk_layout *l, struct dk_keyset ks);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_KEYSET_H */
