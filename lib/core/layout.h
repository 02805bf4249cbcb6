/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A layout as a value: names, flags, offsets, masks, alias sets. The first part
 * is read from a text (describe.c), the rest follows from it (derive.c).
 */
#ifndef _DKC_LAYOUT_H
#define _DKC_LAYOUT_H

#include "deps.h"
#include <dispatchkey.h>

#define DKC_MAX_BACKENDS	16
#define DKC_MAX_FUNCTIONALITIES	64
#define DKC_MAX_ENTRIES		768	/* of 16 backends and 48 functionalities */
#define DKC_MAX_FUNCTIONS	250	/* that a byte of a row can name */
#define DKC_MAX_ALIASES		8
#define DKC_TRIMMED_ENTRIES	8
#define DKC_NO_ENTRY		DKC_TRIMMED_ENTRIES	/* in a trimmed table */

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
	/* what its text says, see describe.c */
	const char *name;
	const char *backend_names[DKC_MAX_BACKENDS + 1];	/* "CPU" */
	const char *backend_bits[DKC_MAX_BACKENDS + 1];	/* "CPUBit" */
	const char *functionality_names[DKC_MAX_FUNCTIONALITIES];
	const char *functionality_prints[DKC_MAX_FUNCTIONALITIES];
	const char *alias_names[DKC_MAX_ALIASES];	/* in the order of their keys */
	u64 per_backend;		/* bit f: functionality f is per backend */
	u16 nb;				/* backends, 1..nb */
	u16 nf;				/* functionalities, 0..nf-1 */
	u16 num_aliases;
	const char *sentinel;		/* how a StartOf key prints its backend */
	const char *unnamed;		/* how it prints as a whole, or NULL */
	u16 strict[DKC_MAX_FUNCTIONALITIES];	/* backends, of a building block */
	u64 legacy_dropped;		/* bit f: see dk_legacy_extract() */
	u64 implicit_also;		/* bit f: of CompositeImplicitAutograd */
	u32 other_autograd;		/* bit b - 1: backends with AutogradOther */
	bool has_strict;		/* it is known what PyTorch's parser takes */
	bool has_legacy;
	bool has_sets;			/* it has alias sets and maps */
	bool batched_empty;		/* FuncTorchBatchedDecomposition's set is */
	bool privateuseone;		/* PRIVATEUSEONE parses as PrivateUse1 */
	bool trimmed;			/* SEMANTICS 1.8 */

	bool counted;			/* it was made by dk_layout_parse() */
	struct dkc_counter users;	/* who made it, and the registries of it */

	/* derived */
	bool has_tables;		/* a registry can have it */
	u16 num_entries;
	u16 first_alias;		/* key number */
	u16 num_blocks;
	u8 block[DKC_MAX_FUNCTIONALITIES];	/* functionality, by block */
	u16 start[DKC_MAX_FUNCTIONALITIES];	/* StartOf key, by functionality */
	u16 offset[DKC_MAX_FUNCTIONALITIES];	/* table entry, by functionality */
	u8 slot_functionality[DKC_MAX_ENTRIES];
	/* of a trimmed table: the entry of a functionality, on the one backend
	 * that has any, and the slot that an entry stands for
	 */
	u8 trimmed_entry[DKC_MAX_FUNCTIONALITIES];
	u8 trimmed_backend;
	u16 trimmed_slot[DKC_TRIMMED_ENTRIES];
	u64 backend_mask;
	u64 full;
	u64 default_included;		/* the set, not XORed */
	u64 default_excluded;
	u16 role[DKC_NUM_ROLES];	/* functionality, 0 where there is none */
	u16 alias_key[DKC_NUM_ALIASES];	/* key number, 0 where there is none */
	u64 alias_set[DKC_NUM_ALIASES];		/* what the rules go by */
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
 * Read and derive all layouts; before it no layout may be used. Once is enough,
 * again does no harm. -EINVAL if one of them breaks a rule.
 */
int dkc_layouts_init(void);
/* describe.c: who uses one that can go, and who does no more. */
void dkc_layout_get(const struct dk_layout *l);
void dkc_layout_put(const struct dk_layout *l);
/* describe.c: read a text into @l, whose names go into @pool. */
int dkc_layout_read(struct dk_layout *l, const char *text, char *pool, size_t room,
		    struct dk_diag *why);
/* derive.c: all that follows from what was read. */
void dkc_layout_derive(struct dk_layout *l);
/* The same of the table of one that is trimmed. */
void dkc_layout_trim(struct dk_layout *l);
/* Name of what a layout with tables needs and this one has not, or NULL. */
const char *dkc_layout_lacks(const struct dk_layout *l);
/* Name of an alias key that no rule for tables knows, or NULL. */
const char *dkc_layout_stranger(const struct dk_layout *l);
const char *dkc_constant_name(enum dkc_constant constant);

/* names.c: the functionality or backend of this name, 0 if there is none. */
/* What the runtime keys of a per-backend functionality begin with. */
const char *dkc_key_prefix(const struct dk_layout *l, unsigned int f);
unsigned int dkc_find_functionality(const struct dk_layout *l, const char *name);
unsigned int dkc_find_backend(const struct dk_layout *l, const char *name);
/* The key of this name, as PyTorch's source has it; false if there is none. */
bool dkc_find_key(const struct dk_layout *l, const char *name, unsigned int *key);
/* As PyTorch's own parser does, where no backend was renamed. */
bool dkc_key_parse_strict(const struct dk_layout *l, const char *name, unsigned int *key);
/* The name of a key in PyTorch's source; printed, a few differ. */
char *dkc_key_name(const struct dk_layout *l, unsigned int key, char buf[DK_NAME_MAX]);
/* Replace every @from in @name by @to; what does not fit is cut off. */
void dkc_replace(char buf[DK_NAME_MAX], const char *name, const char *from,
		 const char *to);

#define DKC_COUNT(array)	(sizeof(array) / sizeof((array)[0]))

/* compute.c: the device type that PyTorch's users write so ("cuda"), or NULL. */
const char *dkc_device_written(const struct dk_layout *l, const char *word, size_t len);

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

/* The functionality and the backend of a key; 0 for what it has not. */
struct dkc_place {
	unsigned int f;
	unsigned int b;
};

/* The end sentinel behind the functionality keys maps to itself. */
static inline struct dkc_place dkc_key_place(const struct dk_layout *l, unsigned int key)
{
	unsigned int n = key - l->nf - 1, block = n / (l->nb + 1);

	if (key <= l->nf)
		return (struct dkc_place){ .f = key };
	if (key >= l->first_alias)
		return (struct dkc_place){ .f = 0 };
	return (struct dkc_place){ .f = l->block[block], .b = n - block * (l->nb + 1) };
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

/*
 * Slots count all runtime keys. A table has an entry for each of them, in the
 * same order, unless it is trimmed: then it has those of SEMANTICS 1.8.
 */
static inline unsigned int dkc_slot(const struct dk_layout *l, unsigned int f,
				    unsigned int b)
{
	return l->offset[f] + (dkc_is_per_backend(l, f) ? b - 1 : 0);
}

static inline unsigned int dkc_table_size(const struct dk_layout *l)
{
	return l->trimmed ? DKC_TRIMMED_ENTRIES : l->num_entries;
}

/* The entry of a functionality on backend @b; DKC_NO_ENTRY if there is none. */
static inline unsigned int dkc_trimmed_entry(const struct dk_layout *l,
					     unsigned int f, unsigned int b)
{
	return dkc_is_per_backend(l, f) && b != l->trimmed_backend ?
	       DKC_NO_ENTRY : l->trimmed_entry[f];
}

static inline bool dkc_has_entry(const struct dk_layout *l, unsigned int f,
				 unsigned int b)
{
	return !l->trimmed || dkc_trimmed_entry(l, f, b) != DKC_NO_ENTRY;
}

/* The slot of an entry; past all slots for a key that the layout has not. */
static inline unsigned int dkc_entry_slot(const struct dk_layout *l,
					  unsigned int entry)
{
	return l->trimmed ? l->trimmed_slot[entry] : entry;
}

/* The alias that a key is, or DKC_NUM_ALIASES. */
enum dkc_alias dkc_key_alias(const struct dk_layout *l, unsigned int key);

bool dkc_streq(const char *a, const char *b);
char dkc_lower(char c);
#ifndef dkc_strlen
size_t dkc_strlen(const char *s);
#endif
/* Is @word in a list of words; one that ends in '*' stands for all it begins. */
bool dkc_has_word(const char *list, const char *word);
/* Copy; one that does not fit ends in "...", and always in NUL. */
void dkc_strcpy(char *dst, const char *src, size_t size);
/* The same of the first @n characters. */
void dkc_strncpy(char *dst, const char *src, size_t n, size_t size);
/* All parts as one text; one that does not fit ends at a word, in "...". */
void dkc_join(char *text, size_t size, const char *const *part, unsigned int n);
bool dkc_strcaseeq(const char *a, const char *b);

/* Where text goes that may not fit; @len counts on as snprintf() does. */
struct dkc_text {
	char *buf;
	size_t size;
	size_t len;
};

void dkc_put(struct dkc_text *t, const char *s);
void dkc_put_dec(struct dkc_text *t, unsigned int n);
/* End the text with NUL; its length, had it all fitted. */
size_t dkc_put_end(struct dkc_text *t);

/* Fill @why, if there is one, and give back the reason's negative errno. */
int dkc_refuse(struct dk_diag *why, enum dk_reason reason, const char *name);
int dkc_refuse_number(struct dk_diag *why, enum dk_reason reason, unsigned int n);
void dkc_remark(struct dk_diag *why, enum dk_reason reason, const char *name);
/* The same of a key, for whose name nobody else then needs room on the stack. */
void dkc_remark_key(struct dk_diag *why, enum dk_reason reason,
		    const struct dk_layout *l, unsigned int key);
int dkc_refuse_key(struct dk_diag *why, enum dk_reason reason,
		   const struct dk_layout *l, unsigned int key);

#endif /* _DKC_LAYOUT_H */
