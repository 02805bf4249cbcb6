/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Layouts, keys and keysets. Included by <dispatchkey.h>.
 *
 * Every function here takes a layout, NULL being v1, changes nothing, and can
 * be called in any context. Rules: SEMANTICS 1 to 4 of PyTorch, see
 * Documentation/semantics.rst.
 */
#ifndef _DISPATCHKEY_KEYSET_H
#define _DISPATCHKEY_KEYSET_H

#include <dispatchkey-base.h>

#ifdef __cplusplus
extern "C" {
#endif

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
 * @name: such as "v1", "pytorch-2.14" or "pytorch-1.13"
 * @why: filled on failure; may be NULL
 *
 * A patch release is numbered like its minor one, so "pytorch-2.14.1" is
 * "pytorch-2.14". A release that no layout is named after is refused: its keys
 * may have other numbers. dk_layout_next() tells which there are. "v1+trimmed",
 * and likewise "pytorch-2.14" and "pytorch-1.13", is the layout with a trimmed
 * table (see dk_table_index()).
 *
 * Context: Any.
 * Return: The layout, which lives for ever, or NULL (reason BAD_LAYOUT).
 */
const struct dk_layout *dk_layout_find(const char *name, struct dk_diag *why);

/**
 * dk_layout_next() - walk all layouts that are built in
 * @l: the last one, or NULL to begin
 *
 * Those with a trimmed table are left out.
 *
 * Context: Any.
 * Return: The next layout, or NULL at the end.
 */
const struct dk_layout *dk_layout_next(const struct dk_layout *l);

/**
 * dk_layout_parse() - a layout from a text
 * @text: as Documentation/layouts.rst says, and as dk_layout_describe() writes it
 * @why: filled on failure; may be NULL. Its name is "line N: WORD".
 *
 * For a build of PyTorch that nobody has listed. A text that is named like a
 * built-in layout has to have its keys.
 *
 * Context: Process context, may sleep.
 * Return: The layout, to be given to dk_layout_free(); or NULL (reasons
 * LAYOUT_LINE, LAYOUT_WORD, LAYOUT_NAME, LAYOUT_TWICE, LAYOUT_LACKS,
 * LAYOUT_SIZE, LAYOUT_BLOCK, LAYOUT_TAKEN, NO_MEMORY).
 */
struct dk_layout *dk_layout_parse(const char *text, struct dk_diag *why);

/**
 * dk_layout_free() - forget a layout that was read from a text
 * @l: the layout; NULL does nothing
 *
 * Registries of it keep it until they are given back. A built-in one stays.
 *
 * Context: Process context, may sleep.
 */
void dk_layout_free(struct dk_layout *l);

/**
 * dk_layout_describe() - a layout as the text that it could be read from
 * @l: layout, NULL for v1
 * @buf: takes the text, cut to fit and ended with NUL; may be NULL if @size is 0
 * @size: bytes at @buf
 *
 * Context: Any.
 * Return: The length of the whole text, as snprintf() counts.
 */
size_t dk_layout_describe(const struct dk_layout *l, char *buf, size_t size);

/**
 * enum dk_layout_knowledge - what is known of a layout beside bits and names
 * @DK_KNOWS_TABLES: a registry can have it
 * @DK_KNOWS_SETS: alias sets, and the maps between backends and their autograd
 *	and autocast keys; without them the functions for these give the empty
 *	set, or 0
 * @DK_KNOWS_STRICT: what PyTorch's own parser takes
 * @DK_KNOWS_LEGACY: what dk_legacy_extract() passes over; without it that is 0
 */
enum dk_layout_knowledge {
	DK_KNOWS_TABLES = 1,
	DK_KNOWS_SETS = 2,
	DK_KNOWS_STRICT = 4,
	DK_KNOWS_LEGACY = 8,
};

/**
 * dk_layout_knows() - what is known of a layout beside bits and names
 * @l: layout, NULL for v1
 *
 * Context: Any.
 * Return: Flags of enum dk_layout_knowledge.
 */
unsigned int dk_layout_knows(const struct dk_layout *l);

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
 * dk_table_size() - how many entries PyTorch's own table has
 * @l: layout, NULL for v1
 *
 * Context: Any.
 * Return: dk_layout_entries(), or 8 where the table is trimmed.
 */
unsigned int dk_table_size(const struct dk_layout *l);

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
 * dk_kind_name() - what a kind of key is called
 * @kind: one of enum dk_key_kind
 *
 * Context: Any.
 * Return: A constant string, such as "building-block".
 */
const char *dk_kind_name(unsigned int kind);

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
 * dk_backend_set() - the bit of a backend
 * @l: layout, NULL for v1
 * @backend: its number
 *
 * DK_BACKEND_BIT() under any layout.
 *
 * Context: Any.
 * Return: The set of that bit, which has no key; the empty set for a number that
 * is no backend of the layout.
 */
struct dk_keyset dk_backend_set(const struct dk_layout *l, unsigned int backend);

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
 * Return: 0; -EINVAL (reason PARSE_KEY); with DK_PARSE_STRICT -EOPNOTSUPP
 * (reason NO_STRICT) where that parser is not known.
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
DK_INLINE struct dk_keyset dk_keyset_or(struct dk_keyset a, struct dk_keyset b)
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
DK_INLINE struct dk_keyset dk_keyset_and(struct dk_keyset a, struct dk_keyset b)
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
DK_INLINE struct dk_keyset dk_keyset_xor(struct dk_keyset a, struct dk_keyset b)
{
	struct dk_keyset r = { a.bits ^ b.bits };
	return r;
}

/**
 * dk_keyset_of() - the keyset of several keys
 * @l: layout, NULL for v1
 * @keys: the keys
 * @n: how many
 *
 * Context: Any.
 * Return: The union of their dk_key_set(); empty for none.
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
 * Return: 1 if all bits of the key are in it, else 0. Every set has Undefined,
 * and every alias key: they have no bits (PyTorch, in its release builds).
 */
int dk_keyset_has(const struct dk_layout *l, struct dk_keyset ks, unsigned int key);

/**
 * dk_keyset_highest_bit() - the position of the highest bit of a set
 * @ks: the set
 *
 * The rule is PyTorch's indexOfHighestBit().
 *
 * Context: Any.
 * Return: The position, counted from 1; 0 if the set is empty.
 */
unsigned int dk_keyset_highest_bit(struct dk_keyset ks);

/**
 * dk_keyset_has_all() - whether a set contains another one
 * @a: the set
 * @b: what it may contain
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
 * @b: another one
 *
 * A common backend is one: {AutogradCPU} and {CPU} share CPU's bit, so the
 * answer says something only for a @b that dk_keyset_has_any_valid() takes.
 *
 * Context: Any.
 * Return: 1 or 0.
 */
DK_INLINE int dk_keyset_has_any(struct dk_keyset a, struct dk_keyset b)
{
	return (a.bits & b.bits) != 0;
}

/**
 * dk_keyset_has_any_valid() - whether a set is one to ask dk_keyset_has_any() for
 * @l: layout, NULL for v1
 * @b: the set that would be its second argument
 *
 * What PyTorch asserts in its debug builds: @b has no backend, or it has none
 * of the building blocks but NestedTensor.
 *
 * Context: Any.
 * Return: 1 or 0.
 */
int dk_keyset_has_any_valid(const struct dk_layout *l, struct dk_keyset b);

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
 * dk_table_index() - the entry of PyTorch's own table that a set is routed by
 * @l: layout, NULL for v1
 * @ks: the set
 *
 * Where the table is trimmed (a build of PyTorch for small devices) it has
 * eight entries, chosen by the key of highest priority: Undefined, CPU,
 * QuantizedCPU, SparseCPU, BackendSelect, ADInplaceOrView, AutogradOther,
 * AutogradCPU. A call whose set has no entry finds nothing there, -ENOSYS. Sets,
 * names, dk_keyset_slot() and dk_keyset_next() know nothing of that.
 *
 * Context: Any.
 * Return: dk_keyset_slot(); where the table is trimmed 0 to 7, or -1 if it has
 * no such entry.
 */
int dk_table_index(const struct dk_layout *l, struct dk_keyset ks);

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
 * The rule is PyTorch's isIncludedInAlias(). An alias key has no bits, so that it is
 * included in every alias, itself among them.
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
 * Return: 0; -ENOENT (reason BAD_CONSTANT); -EOPNOTSUPP (reason NO_SETS) for
 * autogradother_backends where it is not known which these are.
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

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_KEYSET_H */
