/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Declares local state: the keys that a thread or a caller includes and excludes.
 * Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_LOCAL_H
#define _DISPATCHKEY_LOCAL_H

#include <dispatchkey-keyset.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dk_local_included() - the included set of a local state
 * @local: the local state
 *
 * Context: Any.
 * Return: The set.
 */
DK_INLINE struct dk_keyset dk_local_included(const struct dk_local *local)
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
DK_INLINE struct dk_keyset dk_local_excluded(const struct dk_local *local)
{
	struct dk_keyset r = { local->excluded ^ DK_DEFAULT_EXCLUDED };
	return r;
}

/**
 * dk_local_set() - replace both sets of a local state
 * @local: the local state
 * @included: the new included set
 * @excluded: the new excluded set
 *
 * Context: Any; the caller's own state only.
 */
DK_INLINE void dk_local_set(struct dk_local *local, struct dk_keyset included,
			    struct dk_keyset excluded)
{
	local->included = included.bits ^ DK_DEFAULT_INCLUDED;
	local->excluded = excluded.bits ^ DK_DEFAULT_EXCLUDED;
}

/**
 * dk_local_include() - add a set to the included set
 * @local: the local state
 * @ks: the set
 *
 * Context: Any; the caller's own state only.
 */
DK_INLINE void dk_local_include(struct dk_local *local, struct dk_keyset ks)
{
	dk_local_set(local, dk_keyset_or(dk_local_included(local), ks),
		     dk_local_excluded(local));
}

/**
 * dk_local_exclude() - add a set to the excluded set
 * @local: the local state
 * @ks: the set; its backend bits have no effect on calls
 *
 * A key that is both included and excluded is excluded.
 *
 * Context: Any; the caller's own state only.
 */
DK_INLINE void dk_local_exclude(struct dk_local *local, struct dk_keyset ks)
{
	dk_local_set(local, dk_local_included(local),
		     dk_keyset_or(dk_local_excluded(local), ks));
}

/**
 * dk_local_keyset_included() - whether all of a set is included
 * @local: the local state
 * @ks: the set
 *
 * Context: Any.
 * Return: 1 or 0; 1 for the empty set.
 */
DK_INLINE int dk_local_keyset_included(const struct dk_local *local,
				       struct dk_keyset ks)
{
	return dk_keyset_has_all(dk_local_included(local), ks);
}

/**
 * dk_local_keyset_excluded() - whether all of a set is excluded
 * @local: the local state
 * @ks: the set
 *
 * Context: Any.
 * Return: 1 or 0; 1 for the empty set.
 */
DK_INLINE int dk_local_keyset_excluded(const struct dk_local *local,
				       struct dk_keyset ks)
{
	return dk_keyset_has_all(dk_local_excluded(local), ks);
}

/* ---- single keys: SEMANTICS 5.2 ------------------------------------------- */

/**
 * dk_local_is_included() - whether a key is included
 * @local: the local state
 * @key: a key of layout v1
 *
 * A per-backend key is included if both its functionality and its backend are included.
 * Equivalent to PyTorch's tls_is_dispatch_key_included().
 *
 * Context: Any.
 * Return: 1 or 0; 1 for Undefined and alias keys, whose set is empty.
 */
int dk_local_is_included(const struct dk_local *local, unsigned int key);

/**
 * dk_local_is_excluded() - whether a key is excluded
 * @local: the local state
 * @key: a key of layout v1
 *
 * Like dk_local_is_included(), for the excluded set. Equivalent to PyTorch's
 * tls_is_dispatch_key_excluded().
 *
 * Context: Any.
 * Return: 1 or 0; 1 for Undefined and alias keys.
 */
int dk_local_is_excluded(const struct dk_local *local, unsigned int key);

/**
 * dk_local_set_included() - add one key to the included set, or remove it
 * @local: the local state
 * @key: a key of layout v1
 * @want: 1 to add the key, 0 to remove it
 *
 * Does nothing if dk_local_is_included() already returns @want. Removing a key clears the
 * bit of its functionality, but not the bit of its backend. So if CPU and CUDA are
 * included, removing CUDA also removes CPU. Equivalent to PyTorch's
 * tls_set_dispatch_key_included().
 *
 * Context: Any; the caller's own state only.
 */
void dk_local_set_included(struct dk_local *local, unsigned int key, int want);

/**
 * dk_local_set_excluded() - add one key to the excluded set, or remove it
 * @local: the local state
 * @key: a key of layout v1
 * @want: 1 to add the key, 0 to remove it
 *
 * Like dk_local_set_included(), for the excluded set. Equivalent to PyTorch's
 * tls_set_dispatch_key_excluded().
 *
 * Context: Any; the caller's own state only.
 */
void dk_local_set_excluded(struct dk_local *local, unsigned int key, int want);

/* ---- modes: SEMANTICS 5.4 ------------------------------------------------- */

/* PyTorch's autograd_dispatch_keyset and autograd_dispatch_keyset_with_ADInplaceOrView. */
#define DK_AUTOGRAD_BITS						\
	(DK_FUNCTIONALITY_BIT(DK_AUTOGRAD_OTHER) |			\
	 DK_FUNCTIONALITY_BIT(DK_AUTOGRAD_FUNCTIONALITY) |		\
	 DK_FUNCTIONALITY_BIT(DK_AUTOGRAD_NESTED_TENSOR))
#define DK_AUTOGRAD_ADINPLACE_OR_VIEW_BITS				\
	(DK_AUTOGRAD_BITS | DK_FUNCTIONALITY_BIT(DK_ADINPLACE_OR_VIEW))

/**
 * dk_local_set_inference() - turn inference mode on or off
 * @local: the local state
 * @on: 1 or 0
 *
 * Turning inference mode on excludes the autograd keys and removes ADInplaceOrView from
 * the included set. Turning it off reverses both. PyTorch's InferenceMode changes the
 * same keys.
 *
 * Context: Any; the caller's own state only.
 */
void dk_local_set_inference(struct dk_local *local, int on);

/**
 * dk_local_set_autocast() - turn autocast on or off for a backend
 * @local: the local state
 * @backend: its number in layout v1
 * @on: 1 or 0
 *
 * While it is on, the backend's autocast key is not excluded. Equivalent to PyTorch's
 * set_autocast_enabled().
 *
 * Context: Any; the caller's own state only.
 * Return: 0, or -EINVAL if the backend has no autocast key.
 */
int dk_local_set_autocast(struct dk_local *local, unsigned int backend, int on);

/* ---- guards: SEMANTICS 5.3 ------------------------------------------------ */

struct dk__guard {
	struct dk_local *local;
	struct dk_local saved;
};

static inline struct dk__guard dk__guard_preserve(struct dk_local *local)
{
	struct dk__guard g = { local, *local };
	return g;
}

static inline struct dk__guard dk__guard_include(struct dk_local *local,
						 struct dk_keyset ks)
{
	struct dk__guard g = dk__guard_preserve(local);

	dk_local_include(local, ks);
	return g;
}

static inline struct dk__guard dk__guard_exclude(struct dk_local *local,
						 struct dk_keyset ks)
{
	struct dk__guard g = dk__guard_preserve(local);

	dk_local_exclude(local, ks);
	return g;
}

static inline struct dk__guard dk__guard_force(struct dk_local *local,
					       struct dk_keyset included,
					       struct dk_keyset excluded)
{
	struct dk__guard g = dk__guard_preserve(local);

	dk_local_set(local, included, excluded);
	return g;
}

static inline struct dk__guard dk__guard_inference(struct dk_local *local, int on)
{
	struct dk__guard g = dk__guard_preserve(local);

	dk_local_set_inference(local, on);
	return g;
}

static inline void dk__guard_leave(struct dk__guard *g)
{
	*g->local = g->saved;
}

static inline void dk__guard_leave_included(struct dk__guard *g)
{
	g->local->included = g->saved.included;
}

static inline void dk__guard_leave_excluded(struct dk__guard *g)
{
	g->local->excluded = g->saved.excluded;
}

/* Records whether one key was excluded. Key 0 stands for none. */
struct dk__key_guard {
	struct dk_local *local;
	unsigned int key;
	int was;
};

static inline struct dk__key_guard dk__guard_key(struct dk_local *local,
						 unsigned int key, int want)
{
	struct dk__key_guard g = { local, key, dk_local_is_excluded(local, key) };

	dk_local_set_excluded(local, key, want);
	return g;
}

static inline struct dk__key_guard dk__guard_autocast(struct dk_local *local,
						      unsigned int backend, int on)
{
	struct dk_local with = *local, without = *local;
	struct dk_keyset differs;

	/* the two states differ in the key: the module exports no function that returns it */
	dk_local_set_autocast(&with, backend, 1);
	dk_local_set_autocast(&without, backend, 0);
	differs.bits = with.excluded ^ without.excluded;
	return dk__guard_key(local, dk_keyset_key(NULL, differs), !on);
}

static inline void dk__guard_leave_key(struct dk__key_guard *g)
{
	dk_local_set_excluded(g->local, g->key, g->was);
}

#define DK__GUARD3(type, n, enter, leave)				\
	struct type dk__guard_##n					\
	__attribute__((__cleanup__(leave), __unused__)) = enter
#define DK__GUARD2(type, n, enter, leave)				\
	DK__GUARD3(type, n, enter, leave)
#define DK__GUARD(enter, leave)						\
	DK__GUARD2(dk__guard, __COUNTER__, enter, leave)
#define DK__KEY_GUARD(enter)						\
	DK__GUARD2(dk__key_guard, __COUNTER__, enter, dk__guard_leave_key)

/**
 * DK_LOCAL_INCLUDE() - include a set until the end of the block
 * @local: the local state
 * @set: the keyset
 *
 * This is a guard: at the end of the block it restores the whole included set, and so also
 * undoes other changes that were made to this set in the block. It does not restore the
 * excluded set. Guards of one local state must end in the reverse order of their declaration.
 * In a switch statement, put a guard and the code of its case into braces: a jump past a guard
 * to a later case would end a guard that has not begun.
 * Equivalent to PyTorch's IncludeDispatchKeyGuard.
 */
#define DK_LOCAL_INCLUDE(local, set)					\
	DK__GUARD(dk__guard_include(local, set), dk__guard_leave_included)

/**
 * DK_LOCAL_EXCLUDE() - exclude a set until the end of the block
 * @local: the local state
 * @set: the keyset
 *
 * Like DK_LOCAL_INCLUDE(), for the excluded set. Equivalent to PyTorch's
 * ExcludeDispatchKeyGuard.
 */
#define DK_LOCAL_EXCLUDE(local, set)					\
	DK__GUARD(dk__guard_exclude(local, set), dk__guard_leave_excluded)

/**
 * DK_LOCAL_FORCE() - replace both sets until the end of the block
 * @local: the local state
 * @included: the new included set
 * @excluded: the new excluded set
 *
 * A guard of both sets. Equivalent to PyTorch's ForceDispatchKeyGuard.
 */
#define DK_LOCAL_FORCE(local, included, excluded)			\
	DK__GUARD(dk__guard_force(local, included, excluded), dk__guard_leave)

/**
 * DK_LOCAL_PRESERVE() - restore both sets at the end of the block
 * @local: the local state
 *
 * A guard of both sets. Equivalent to PyTorch's _PreserveDispatchKeyGuard.
 */
#define DK_LOCAL_PRESERVE(local)					\
	DK__GUARD(dk__guard_preserve(local), dk__guard_leave)

/**
 * DK_LOCAL_SET_EXCLUDED() - dk_local_set_excluded() until the end of the block
 * @local: the local state
 * @key: a key of layout v1
 * @want: 1 to exclude the key, 0 not to
 *
 * A guard of this one key. Equivalent to PyTorch's _SetExcludeDispatchKeyGuard.
 */
#define DK_LOCAL_SET_EXCLUDED(local, key, want)				\
	DK__KEY_GUARD(dk__guard_key(local, key, want))

/**
 * DK_LOCAL_BELOW_AUTOGRAD() - exclude autograd until the end of the block
 * @local: the local state
 *
 * Equivalent to PyTorch's AutoDispatchBelowAutograd.
 */
#define DK_LOCAL_BELOW_AUTOGRAD(local)					\
	DK_LOCAL_EXCLUDE(local, DK_KEYSET(DK_AUTOGRAD_BITS))

/**
 * DK_LOCAL_BELOW_ADINPLACE_OR_VIEW() - exclude autograd and ADInplaceOrView
 * @local: the local state
 *
 * Lasts until the end of the block. Equivalent to PyTorch's
 * AutoDispatchBelowADInplaceOrView.
 */
#define DK_LOCAL_BELOW_ADINPLACE_OR_VIEW(local)				\
	DK_LOCAL_EXCLUDE(local,						\
			 DK_KEYSET(DK_AUTOGRAD_ADINPLACE_OR_VIEW_BITS))

/**
 * DK_LOCAL_SKIP_FUNCTIONALIZE() - exclude Functionalize until the end of the block
 * @local: the local state
 *
 * Equivalent to PyTorch's AutoDispatchSkipFunctionalize.
 */
#define DK_LOCAL_SKIP_FUNCTIONALIZE(local)				\
	DK_LOCAL_EXCLUDE(local, DK_SET(DK_FUNCTIONALIZE))

/**
 * DK_LOCAL_INFERENCE_MODE() - dk_local_set_inference() until the end of the block
 * @local: the local state
 * @on: 1 or 0
 *
 * A guard of both sets. Corresponds to PyTorch's InferenceMode.
 */
#define DK_LOCAL_INFERENCE_MODE(local, on)				\
	DK__GUARD(dk__guard_inference(local, on), dk__guard_leave)

/**
 * DK_LOCAL_AUTOCAST() - dk_local_set_autocast() until the end of the block
 * @local: the local state
 * @backend: its number; nothing changes if the backend has no autocast key
 * @on: 1 or 0
 *
 * A guard of the backend's autocast key, which PyTorch's autocast() also changes.
 */
#define DK_LOCAL_AUTOCAST(local, backend, on)				\
	DK__KEY_GUARD(dk__guard_autocast(local, backend, on))

#if defined(__KERNEL__) || defined(DK_BARE)
/* In the kernel and on bare metal, local state is an argument. Calls without it use the default. */
static inline const struct dk_local *dk_local_current(void)
{
	return &dk_local_default;
}
#else
/**
 * dk_thread_init() - allocate the calling thread's record
 *
 * The record has the slots that show which functions the thread is inside, and its counters.
 * If a thread does not call this function, its first call of an operator allocates the record.
 * Once the thread has the record, its calls of operators are async-signal-safe, except for the
 * first call of an operator, which looks it up. The record is freed when the thread ends: before
 * that, block signals whose handlers call operators.
 *
 * Context: Any thread, not a signal handler. Not in the kernel module.
 * Return: 0, or -ENOMEM.
 */
int dk_thread_init(void);

/**
 * DK_INCLUDE() - include a set in this thread until the end of the block
 * @set: the keyset
 *
 * Like DK_LOCAL_INCLUDE(), for the thread's own local state. All guards whose names do
 * not begin with DK_LOCAL use the thread's own state. The set of an alias key is empty,
 * so including it changes nothing: use dk_alias_set().
 */
#define DK_INCLUDE(set)		DK_LOCAL_INCLUDE(dk_local_current(), set)

/**
 * DK_EXCLUDE() - exclude a set in this thread until the end of the block
 * @set: the keyset
 *
 * The set of an alias key is empty, so excluding it changes nothing: instead of
 * DK_EXCLUDE(DK_SET(DK_AUTOGRAD)) use DK_BELOW_AUTOGRAD() or dk_alias_set().
 */
#define DK_EXCLUDE(set)		DK_LOCAL_EXCLUDE(dk_local_current(), set)

/**
 * DK_FORCE() - replace both sets in this thread until the end of the block
 * @included: the new included set
 * @excluded: the new excluded set
 */
#define DK_FORCE(included, excluded)					\
	DK_LOCAL_FORCE(dk_local_current(), included, excluded)

/**
 * DK_PRESERVE() - restore this thread's local state at the end of the block
 */
#define DK_PRESERVE()		DK_LOCAL_PRESERVE(dk_local_current())

/**
 * DK_SET_EXCLUDED() - set whether one key is excluded until the end of the block
 * @key: a key of layout v1
 * @want: 1 to exclude the key, 0 not to
 */
#define DK_SET_EXCLUDED(key, want)					\
	DK_LOCAL_SET_EXCLUDED(dk_local_current(), key, want)

/**
 * DK_BELOW_AUTOGRAD() - exclude autograd until the end of the block
 */
#define DK_BELOW_AUTOGRAD()	DK_LOCAL_BELOW_AUTOGRAD(dk_local_current())

/**
 * DK_BELOW_ADINPLACE_OR_VIEW() - exclude autograd and ADInplaceOrView
 */
#define DK_BELOW_ADINPLACE_OR_VIEW()					\
	DK_LOCAL_BELOW_ADINPLACE_OR_VIEW(dk_local_current())

/**
 * DK_SKIP_FUNCTIONALIZE() - exclude Functionalize until the end of the block
 */
#define DK_SKIP_FUNCTIONALIZE()						\
	DK_LOCAL_SKIP_FUNCTIONALIZE(dk_local_current())

/**
 * DK_INFERENCE_MODE() - turn inference mode on or off until the end of the block
 * @on: 1 or 0
 */
#define DK_INFERENCE_MODE(on)	DK_LOCAL_INFERENCE_MODE(dk_local_current(), on)

/**
 * DK_AUTOCAST() - turn autocast on or off for a backend until the end of the block
 * @backend: its number; nothing changes if the backend has no autocast key
 * @on: 1 or 0
 */
#define DK_AUTOCAST(backend, on)					\
	DK_LOCAL_AUTOCAST(dk_local_current(), backend, on)
#endif

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_LOCAL_H */
