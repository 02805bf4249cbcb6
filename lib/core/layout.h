/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A layout as a value: names, flags, offsets, masks, alias sets. Everything
 * behind the first part is derived from it by dkc_layouts_init().
 */
#ifndef _DKC_LAYOUT_H
#define _DKC_LAYOUT_H

#include "deps.h"
#include <dispatchkey.h>

#define DKC_MAX_BACKENDS	16
#define DKC_MAX_FUNCTIONALITIES	64
#define DKC_MAX_ENTRIES		1024
#define DKC_MAX_FUNCTIONS	250	/* that a byte of a row can name */
#define DKC_MAX_ALIASES		8

/* What an alias key does in the rules, whatever its number. */
enum dkc_alias {
	DKC_ALIAS_AUTOGRAD,
	DKC_ALIAS_IMPLICIT,
	DKC_ALIAS_BATCHED,
	DKC_ALIAS_NESTED,
	DKC_ALIAS_EXPLICIT,
	DKC_ALIAS_NON_FUNCTIONAL,
	DKC_NUM_ALIASES
};

/* Functionalities that a rule names. */
enum dkc_role {
	DKC_ROLE_DENSE,
	DKC_ROLE_NESTED_TENSOR,
	DKC_ROLE_AUTOGRAD,		/* AutogradFunctionality */
	DKC_ROLE_AUTOGRAD_OTHER,
	DKC_ROLE_AUTOGRAD_NESTED,
	DKC_ROLE_BACKEND_SELECT,
	DKC_ROLE_ADINPLACE_OR_VIEW,
	DKC_ROLE_PYTHON_DISPATCHER,
	DKC_NUM_ROLES
};

/* The named sets of dk_constant_set(). */
enum dkc_constant {
	DKC_CONST_AUTOGRAD,
	DKC_CONST_AUTOGRAD_ADINPLACE,	/* and ADInplaceOrView */
	DKC_CONST_AUTOCAST,
	DKC_CONST_DEFAULT_INCLUDED,
	DKC_CONST_DEFAULT_EXCLUDED,
	DKC_CONST_PYTHON,
	DKC_CONST_SPARSE,
	DKC_CONST_SPARSE_CSR,
	DKC_CONST_MKLDNN,
	DKC_CONST_AUTOGRADOTHER_BACKENDS,
	DKC_CONST_AFTER_AUTOGRAD,
	DKC_CONST_AFTER_ADINPLACE,
	DKC_CONST_AFTER_FUNC,
	DKC_CONST_BACKENDS,
	DKC_CONST_FUNCTORCH_TRANSFORMS,
	DKC_CONST_FUNCTORCH_BATCHED,
	DKC_CONST_BACKEND_FUNCTIONALITIES,
	DKC_NUM_CONSTANTS
};

struct dk_layout {
	/* the short table that a layout is written as */
	const char *name;
	const char *const *backend_names;	/* "CPU", by backend; [0] unused */
	const char *const *backend_bits;	/* "CPUBit", by backend */
	const char *const *functionality_names;
	const char *const *alias_names;		/* by alias key, in their order */
	const u8 *per_backend_flags;		/* by functionality */
	u16 nb;					/* backends, 1..nb */
	u16 nf;					/* functionalities, 0..nf-1 */
	u16 num_aliases;
	/* where the versions differ in more than their lists */
	const char *sentinel;		/* how a StartOf key prints its backend */
	const char *legacy_dropped;	/* functionalities, see dk_legacy_extract() */
	const char *const *strict;	/* backends that parse strictly, by block */
	bool privateuseone;		/* PRIVATEUSEONE parses as PrivateUse1 */

	/* derived */
	bool has_tables;		/* it has alias sets and maps */
	u16 num_entries;
	u16 first_alias;		/* key number */
	u16 num_blocks;
	u8 block[DKC_MAX_FUNCTIONALITIES];	/* functionality, by block */
	u16 start[DKC_MAX_FUNCTIONALITIES];	/* StartOf key, by functionality */
	u16 offset[DKC_MAX_FUNCTIONALITIES];	/* table entry, by functionality */
	u8 slot_functionality[DKC_MAX_ENTRIES];
	u64 per_backend;		/* bit f: functionality f is per backend */
	u64 backend_mask;
	u64 full;
	u64 default_included;		/* the set, not XORed */
	u64 default_excluded;
	u16 role[DKC_NUM_ROLES];	/* functionality, 0 where there is none */
	u16 alias_key[DKC_NUM_ALIASES];	/* key number, 0 where there is none */
	u64 alias_set[DKC_NUM_ALIASES];
	u64 constant[DKC_NUM_CONSTANTS];	/* 0 where there is none */
	u64 legacy_set;			/* what dk_legacy_extract() takes away */
	u64 autogradother_backends;	/* with all backend bits */
	u64 autocast_set;
	u16 autocast[DKC_MAX_BACKENDS + 1];	/* functionality, by backend */
	/* backends whose autograd key is their own, and those to which
	 * getBackendKeySetFromAutograd() leads: bit b - 1 for backend b
	 */
	u64 own_autograd;
	u64 from_autograd;
};

/*
 * Derive all layouts; before it no layout may be used. Once is enough, again
 * does no harm. -EINVAL if a table breaks the limits of a keyset.
 */
int dkc_layouts_init(void);

#define DKC_COUNT(array)	(sizeof(array) / sizeof((array)[0]))

/* NULL is v1. */
const struct dk_layout *dkc_layout(const struct dk_layout *l);

/*
 * 1-based position of the highest set bit, 0 for none. In halves where a word
 * has 32 bits: there the builtin would call into libgcc.
 */
static inline unsigned int dkc_fls64(u64 x)
{
	if (!x)
		return 0;
	if (sizeof(long) == 8)
		return 64 - __builtin_clzll(x);
	return x >> 32 ? 64 - __builtin_clz(x >> 32) : 32 - __builtin_clz(x);
}

/* 0-based position of the lowest set bit; @x is not 0. */
static inline unsigned int dkc_ffs64(u64 x)
{
	if (sizeof(long) == 8)
		return __builtin_ctzll(x);
	return (u32)x ? __builtin_ctz(x) : 32 + __builtin_ctz(x >> 32);
}

static inline u64 dkc_functionality_bit(const struct dk_layout *l, unsigned int f)
{
	return 1ULL << (l->nb + f - 1);
}

static inline u64 dkc_backend_bit(unsigned int b)
{
	return b ? 1ULL << (b - 1) : 0;
}

static inline bool dkc_is_per_backend(const struct dk_layout *l, unsigned int f)
{
	return l->per_backend >> f & 1;
}

/* The bit of the functionality in a role; no bit if the layout has none. */
static inline u64 dkc_role_bit(const struct dk_layout *l, enum dkc_role role)
{
	return l->role[role] ? dkc_functionality_bit(l, l->role[role]) : 0;
}

/* Table entries of a functionality. */
static inline unsigned int dkc_width(const struct dk_layout *l, unsigned int f)
{
	return dkc_is_per_backend(l, f) ? l->nb : 1;
}

/* The alias that a key is, or DKC_NUM_ALIASES. */
enum dkc_alias dkc_key_alias(const struct dk_layout *l, unsigned int key);

bool dkc_streq(const char *a, const char *b);
size_t dkc_strlen(const char *s);
/* Is @word in a list of words; one that ends in '*' stands for all it begins. */
bool dkc_has_word(const char *list, const char *word);
/* Copy; one that does not fit ends in "...", and always in NUL. */
void dkc_strcpy(char *dst, const char *src, size_t size);
/* The same of the first @n characters. */
void dkc_strncpy(char *dst, const char *src, size_t n, size_t size);
bool dkc_strcaseeq(const char *a, const char *b);

/* Fill @why, if there is one, and give back the reason's negative errno. */
int dkc_refuse(struct dk_diag *why, enum dk_reason reason, const char *name);
void dkc_remark(struct dk_diag *why, enum dk_reason reason, const char *name);

#endif /* _DKC_LAYOUT_H */
