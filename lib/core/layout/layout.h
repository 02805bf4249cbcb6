/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Layouts: the names, numbers and sets of the keys, and the algebra of keysets. Layout v1 is a
 * constant. For other layouts, lib/pytorch/ reads the names from a text and computes the rest.
 * "SEMANTICS 1.2" in comments is section 1.2 of Documentation/semantics.rst.
 */
#ifndef _DKC_LAYOUT_H
#define _DKC_LAYOUT_H

#include "../base/base.h"

#define DKC_MAX_BACKENDS	16
#define DKC_MAX_FUNCTIONALITIES	64
#define DKC_MAX_ENTRIES		768	/* 16 backends times 48 functionalities */
#define DKC_MAX_FUNCTIONS	250	/* functions of a table; their ids must fit in a byte */
#define DKC_MAX_ALIASES		8
#define DKC_TRIMMED_ENTRIES	8	/* entries of a trimmed table: SEMANTICS 1.8 */
#define DKC_NO_ENTRY		DKC_TRIMMED_ENTRIES	/* for keys that a trimmed table lacks */

/* The alias keys in the order of precedence; the numbers of the keys depend on the layout. */
enum dkc_alias {
	DKC_ALIAS_NON_FUNCTIONAL,
	DKC_ALIAS_EXPLICIT,
	DKC_ALIAS_NESTED,
	DKC_ALIAS_IMPLICIT,
	DKC_ALIAS_AUTOGRAD,
	DKC_ALIAS_BATCHED,
	DKC_NUM_ALIASES
};

/* True for an alias that also serves Undefined, which has no bit in a keyset. */
static inline bool dkc_alias_has_undefined(enum dkc_alias alias)
{
	return alias == DKC_ALIAS_NON_FUNCTIONAL || alias == DKC_ALIAS_EXPLICIT ||
	       alias == DKC_ALIAS_IMPLICIT;
}

/* The functionalities that the code refers to. Their numbers depend on the layout. */
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

/* The sets that the code refers to. dk_constant_set() finds them and others by name. */
enum dkc_constant {
	DKC_CONST_AUTOGRAD_ADINPLACE,	/* Autograd and ADInplaceOrView */
	DKC_CONST_AUTOCAST,
	DKC_CONST_PYTHON,
	DKC_CONST_AUTOGRADOTHER_BACKENDS,
	DKC_CONST_BACKEND_FUNCTIONALITIES,
	DKC_NUM_CONSTANTS
};

struct dk_layout {
	/* read from the text of the layout by lib/pytorch/parse.c */
	const char *name;
	const char *backend_names[DKC_MAX_BACKENDS + 1];	/* "CPU" */
	const char *backend_bits[DKC_MAX_BACKENDS + 1];	/* "CPUBit" */
	const char *functionality_names[DKC_MAX_FUNCTIONALITIES];
	const char *functionality_prints[DKC_MAX_FUNCTIONALITIES];
	const char *alias_names[DKC_MAX_ALIASES];	/* in the order of the keys' numbers */
	u64 per_backend;		/* bit f: functionality f is per backend */
	u16 nb;				/* backends, 1..nb */
	u16 nf;				/* functionalities, 0..nf-1 */
	u16 num_aliases;
	const char *sentinel;		/* in names of sentinel keys, instead of a backend's name */
	const char *unnamed;		/* if not NULL, all sentinel keys are printed as this */
	u16 strict[DKC_MAX_FUNCTIONALITIES];	/* backends that PyTorch's parser accepts */
	u64 legacy_dropped;		/* bit f: dk_legacy_extract() ignores functionality f */
	u64 implicit_also;		/* bit f: CompositeImplicitAutograd also includes f */
	u32 other_autograd;		/* bit b - 1: backend b uses AutogradOther */
	bool has_strict;		/* @strict is known */
	bool has_legacy;
	bool has_sets;			/* alias sets, and the maps of SEMANTICS 4.4, are known */
	bool batched_empty;		/* FuncTorchBatchedDecomposition stands for no key */
	bool privateuseone;		/* PRIVATEUSEONE parses as PrivateUse1 */
	bool trimmed;			/* tables are trimmed: SEMANTICS 1.8 */

	bool counted;			/* made by dk_layout_parse() */
	atomic_long_t users;		/* references, if @counted */

	/* computed from the members above by lib/pytorch/derive.c */
	bool has_tables;		/* registries may use the layout */
	u16 num_entries;		/* number of slots */
	u16 first_alias;		/* key number */
	u16 num_blocks;			/* blocks: a sentinel key and the runtime keys after it */
	u8 block[DKC_MAX_FUNCTIONALITIES];	/* functionality, by block */
	u16 start[DKC_MAX_FUNCTIONALITIES];	/* sentinel key, by functionality */
	u16 offset[DKC_MAX_FUNCTIONALITIES];	/* first slot, by functionality */
	u8 slot_functionality[DKC_MAX_ENTRIES];
	/*
	 * For a trimmed table: @trimmed_entry is the entry of each functionality. @trimmed_backend
	 * is the only backend on which per-backend functionalities have entries.
	 */
	u8 trimmed_entry[DKC_MAX_FUNCTIONALITIES];
	u8 trimmed_backend;
	u64 backend_mask;
	u64 full;
	u16 role[DKC_NUM_ROLES];	/* the functionality with this role, or 0 */
	u16 alias_key[DKC_NUM_ALIASES];	/* the number of the key, or 0 */
	u64 alias_set[DKC_NUM_ALIASES];		/* the keys that the alias stands for */
	u64 constant[DKC_NUM_CONSTANTS];	/* the set, or 0 if the layout has none */
	u64 builtins;			/* the keys of the builtin fallbacks */
	u16 autocast[DKC_MAX_BACKENDS + 1];	/* functionality, by backend */
	/* bit b - 1: the inverse map of SEMANTICS 4.4 contains the autograd key of backend b */
	u64 from_autograd;
};

extern const struct dk_layout dkc_v1;

/* NULL stands for v1. */
static inline const struct dk_layout *dkc_layout(const struct dk_layout *l)
{
	return l ? l : &dkc_v1;
}

/* layout.c: take or drop a reference. Only layouts of dk_layout_parse() are counted. */
void dkc_layout_get(const struct dk_layout *l);
void dkc_layout_put(const struct dk_layout *l);

/* names.c: returns the prefix of the runtime keys of a per-backend functionality. */
const char *dkc_key_prefix(const struct dk_layout *l, unsigned int f);
/* Returns the index of @name in @names, or 0. Does not compare names[0]. */
unsigned int dkc_find_name(const char *const *names, unsigned int n, const char *name);
/* Finds a key by its name in PyTorch's source. */
bool __must_check dkc_find_key(const struct dk_layout *l, const char *name, unsigned int *key);
/* True if @name is, in upper or lower case, the name of a backend or bit, or an alias of a key. */
bool __must_check dkc_name_parses(const struct dk_layout *l, const char *name);
/* Accepts only the names that PyTorch's own parser accepts, and no private names of backends. */
bool __must_check dkc_key_parse_strict(const struct dk_layout *l, const char *name,
				       unsigned int *key);
/* Formats the name that a key has in PyTorch's source. PyTorch prints a few keys differently. */
char *dkc_key_name(const struct dk_layout *l, unsigned int key, char buf[DK_NAME_MAX]);
/* Replaces every @from in @name with @to and cuts off what does not fit. */
void dkc_replace(char buf[DK_NAME_MAX], const char *name, const char *from, const char *to);

/* False for sentinels and for numbers that the layout does not use. */
static inline bool dkc_is_key(enum dk_key_kind kind)
{
	return kind != DK_KIND_NONE && kind != DK_KIND_SENTINEL;
}

/* In a layout without backends, @f must not be 0. */
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

/* The functionality and the backend of a key. Each is 0 if the key has none. */
struct dkc_place {
	unsigned int f;
	unsigned int b;
};

/*
 * layout.c: returns the functionality and the backend of a key. Key number @nf of a layout is not a
 * functionality but a sentinel; for this key, the function returns @f = @nf.
 */
struct dkc_place dkc_key_place(const struct dk_layout *l, unsigned int key);

/* Returns the bit of the functionality in a role, or 0 if the layout has no such functionality. */
static inline u64 dkc_role_bit(const struct dk_layout *l, enum dkc_role role)
{
	return l->role[role] ? dkc_functionality_bit(l, l->role[role]) : 0;
}

/* Returns the number of slots of a functionality. */
static inline unsigned int dkc_width(const struct dk_layout *l, unsigned int f)
{
	return dkc_is_per_backend(l, f) ? l->nb : 1;
}

/*
 * layout.c: returns the slot of a runtime key: the runtime keys are numbered from 0 in the order of
 * the table's entries (SEMANTICS 3). For @b 0, returns the slot of the first backend. The slots
 * that record calls (lib/gate.c) are something else.
 */
unsigned int dkc_slot(const struct dk_layout *l, unsigned int f, unsigned int b);

static inline unsigned int dkc_table_entries(const struct dk_layout *l)
{
	return l->trimmed ? DKC_TRIMMED_ENTRIES : l->num_entries;
}

/*
 * layout.c: returns the entry of a runtime key. A table has an entry for each slot, in the same
 * order. A trimmed table has only the entries of SEMANTICS 1.8: returns DKC_NO_ENTRY for other
 * keys, and for a per-backend key without a backend.
 */
unsigned int dkc_entry(const struct dk_layout *l, unsigned int f, unsigned int b);

/* True if a table has an entry for the key of a slot. */
bool dkc_has_entry(const struct dk_layout *l, unsigned int slot);

/* True for a backend that can have a private name. */
bool dkc_is_private(const struct dk_layout *l, unsigned int b);
/* Returns the enum dkc_alias of an alias key, or DKC_NUM_ALIASES for other keys. */
enum dkc_alias dkc_key_alias(const struct dk_layout *l, unsigned int key);

/*
 * Like dkc_refuse(), but with the name of a key. The buffer for the name is on this function's
 * stack and not on the caller's.
 */
int dkc_refuse_key(struct dk_diag *why, enum dk_reason reason,
		   const struct dk_layout *l, unsigned int key);

#endif /* _DKC_LAYOUT_H */
