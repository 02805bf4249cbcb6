/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a thread or a caller includes and excludes. Included by <dispatchkey.h>.
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

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_LOCAL_H */
