/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Declares what users of PyTorch need: other layouts, translation, strict names, libraries,
 * listeners and dumps.
 *
 * The module does not contain this code.
 */
#ifndef _DKC_PYTORCH_H
#define _DKC_PYTORCH_H

#include "../core/observe/observe.h"

/* Memory that is never freed. On bare metal, it is not in the arena, which may be replaced. */
#ifndef dkc_kept_alloc
#define dkc_kept_alloc(size)	kvzalloc(size, GFP_KERNEL)
#define dkc_kept_free(p)	kvfree(p)
#endif

/* Return the functionality or backend with this name, or 0. */
static inline unsigned int dkc_find_functionality(const struct dk_layout *l, const char *name)
{
	return dkc_find_name(l->functionality_names, l->nf, name);
}

static inline unsigned int dkc_find_backend(const struct dk_layout *l, const char *name)
{
	return dkc_find_name(l->backend_names, l->nb + 1, name);
}

/*
 * parse.c: reads the text of a layout into @l, and copies the names to @pool. If @l has a name, the
 * text begins after the line "layout".
 */
__must_check int dkc_layout_read(struct dk_layout *l, const char *text, char *pool,
				 size_t pool_size, struct dk_diag *why);

/*
 * derive.c: true if @word is in @list, whose words are separated by spaces. "abc*" in @list matches
 * all words that begin with "abc".
 */
bool dkc_has_word(const char *list, const char *word);
/* Computes the rest of a layout from what was read. */
void dkc_layout_derive(struct dk_layout *l);
/* Computes the entries of a trimmed table. */
void dkc_layout_trim(struct dk_layout *l);
/*
 * Returns why @l cannot have tables, and sets @name to the name that it lacks, or that must not be
 * a building block.
 */
enum dk_reason dkc_layout_check_tables(const struct dk_layout *l, const char **name);
/* Returns the name of an alias key that no rule for tables uses, or NULL. */
const char *dkc_layout_unknown_alias(const struct dk_layout *l);
/* Looks up the set of dk_constant_set(). Returns 0, or the reason why there is no result. */
enum dk_reason dkc_constant_set(const struct dk_layout *l, const char *name, u64 *set);

/* Returns the bits of functionalities in keysets. Bit f of @set stands for functionality f. */
static inline u64 dkc_functionality_bits(const struct dk_layout *l, u64 set)
{
	return set >> 1 << l->nb;
}

/* compute.c: returns the device type with this name in lower case ("cuda"), or NULL. */
const char *dkc_parse_device_type(const struct dk_layout *l, const char *word, size_t len);

/* White space in a schema, and all control characters. */
static inline bool dkc_is_space(char c)
{
	return c && (u8)c <= ' ';
}

static inline const char *dkc_skip_space(const char *s)
{
	while (dkc_is_space(*s))
		s++;
	return s;
}

/*
 * listener.c: returns true if a listener that is registered or running, or its callback, lies in
 * @owner's memory. If it returns true, the registry cannot be freed before
 * dkc_registry_visit_end().
 */
bool dkc_listener_visit(struct dk_registry *reg, dkc_owns_fn owns, const void *owner);
/*
 * Unregisters one listener of @owner, without waiting for it. Returns 0; -EDEADLK if the caller
 * runs inside it; -EBUSY if none is registered, but one is still running; -ENOENT if there is none.
 */
int dkc_listener_unregister_owned(struct dk_registry *reg, dkc_owns_fn owns, const void *owner);
/*
 * Called in the child of fork(), with the lock held since before the fork. Sets the number of
 * visitors to 1 if the caller has forked in a listener, else to 0.
 */
void dkc_listeners_after_fork(struct dk_registry *reg);

/* query.c: true if the published table has a function, a fallthrough or an ambiguity at a slot. */
bool dkc_is_served(const struct dk_op *op, unsigned int slot);

/* check.c: returns true if the published tables of an operator agree with the rules. */
bool dkc_op_matches_rules(const struct dk_op *op);

/* dump.c: called with the lock held. */
void dkc_put_key(struct dkc_text *t, const struct dk_layout *l, unsigned int key);
void dkc_put_state(struct dkc_text *t, const struct dk_op *op);
void dkc_put_table(struct dkc_text *t, const struct dk_op *op);

#endif /* _DKC_PYTORCH_H */
