/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a registry is made of.
 *
 * Writers hold the registry's lock. Readers are in a read section, or have a slot that
 * protects the row: they read the row of an operator, and on the slow path, where a row
 * could not be built, the registrations themselves. A row is never written after it was
 * published, but for its kind when it is replaced (DKC_ROW_IN_USE). Of a registration
 * only four things change: its place in its operator's list, the state of its block,
 * and whether its device and its backend are online.
 */
#ifndef _DKC_REGISTRY_H
#define _DKC_REGISTRY_H

#include "layout.h"

#define DKC_MAX_PARAMS		64	/* of a declaration that DK_OP() did not make */
#define DKC_MAX_DEVICES		4095	/* of the low bits of a device number */
#define DKC_DEVICE_BITS		12
#define DKC_SLOT_WORDS		(DKC_MAX_ENTRIES / 64)	/* of a set of slots */
#define DKC_SHAPE_BUCKETS	256
#define DKC_BLOCK_BUCKETS	256

struct dkc_block;
struct dkc_device;

/* In the order of their ids in a row. */
enum dkc_group {
	DKC_FALLS_THROUGH,
	DKC_PACKED,		/* not called with the operator's own type */
	DKC_DIRECT,
	DKC_GROUPS
};

/* One function at one key of one operator, or one backend fallback. */
struct dkc_reg {
	u64 place : 19;		/* in its block */
	u64 run : 19;		/* of its block */
	u64 key : 11;
	u64 slot : 10;		/* that it fills by itself, 0 for none */
	u64 group : 2;		/* enum dkc_group, as it was registered */
	u64 of_device : 1;
	u64 follows : 1;	/* the one before it in the block is of the same run */
};

#define DKC_MAX_TABLE	524288	/* functions of a block */

_Static_assert(DKC_MAX_ENTRIES <= 1024 && DKC_GROUPS <= 4 &&
	       DKC_MAX_FUNCTIONALITIES * (DKC_MAX_BACKENDS + 2) + DKC_MAX_ALIASES < 2048,
	       "they fit");

/* Functions of one operator that have neighbouring places in their block. */
struct dkc_run {
	struct dkc_reg __rcu *next;	/* of the operator: the newest one of the next run */
	struct dk_op *op;
};

enum dkc_state {
	DKC_PENDING,	/* only the writer sees it */
	DKC_COMING,	/* live from the change in progress on */
	DKC_LIVE,
	DKC_LEAVING,	/* gone from the change in progress on */
	DKC_GOING,	/* unpublished */
};

/* What listeners are to be told. */
struct dkc_news {
	struct dkc_news *next;
	const struct dk_listener *only;	/* the one who is to know, or NULL */
	u64 number;
	u32 kind;
	u32 key;
	char name[];
};

/* What one call registered: a table, a device's functions, or a fallback. */
struct dkc_block {
	struct dkc_retired retired;
	struct dkc_block *next;		/* of its provider */
	struct dkc_block **link;	/* what points to it there */
	struct dkc_block *hash_next;
	struct dkc_provider *prov;
	const struct dk_impl *impls;	/* the caller's, which names the block */
	struct dkc_device *dev;
	void *priv;
	void *owned;			/* goes with the block, or NULL */
	struct dkc_run *runs;		/* none of a fallback; after @regs */
	struct dkc_numbers __rcu *numbers;	/* of the counters of @regs, or NULL */
	u32 device;			/* number, 0 for none */
	u32 n;
	u8 state;			/* of enum dkc_state */
	bool fallback;
	bool drained;			/* nobody is inside any more */
	struct dkc_reg regs[];		/* of @impls in their order, or of a fallback */
};

static inline struct dkc_block *dkc_block_of(const struct dkc_reg *r)
{
	return (struct dkc_block *)((char *)(r - r->place) - offsetof(struct dkc_block, regs));
}

static inline struct dkc_run *dkc_run_of(const struct dkc_reg *r)
{
	return &dkc_block_of(r)->runs[r->run];
}

/* NULL: it is a backend fallback. */
static inline struct dk_op *dkc_reg_op(const struct dkc_reg *r)
{
	return dkc_block_of(r)->fallback ? NULL : dkc_run_of(r)->op;
}

/*
 * The next one of its operator: newest first, and after all of them those of devices. Under
 * the lock or in a read section.
 */
static inline struct dkc_reg *dkc_next_reg(const struct dkc_reg *r)
{
	return r->follows ? (struct dkc_reg *)r - 1 : dkc_deref(dkc_run_of(r)->next);
}

static inline const struct dk_impl *dkc_impl_of(const struct dkc_reg *r)
{
	const struct dkc_block *b = dkc_block_of(r);

	return &b->impls[b->fallback ? 0 : r->place];
}

/* Of a list of functions, what is left of those without a device. */
static inline struct dkc_reg *dkc_without_device(struct dkc_reg *r)
{
	return r && !r->of_device ? r : NULL;
}

/* For people; empty where it has none. */
static inline const char *dkc_label_of(const struct dkc_reg *r)
{
	const char *label = dkc_impl_of(r)->label;

	return label ? label : "";
}

/* How something was switched for the last time. Waits for an older switch are canceled. */
struct dkc_offline {
	unsigned long switches;		/* how often, online and offline */
	u64 over;			/* when a grace period was seen to be, or 0 */
};

struct dkc_device {
	struct dkc_retired retired;
	struct dkc_provider *prov;
	struct dkc_block *block;
	struct dkc_offline since;
	u32 number;
	u8 backend;
	bool online;			/* as readers see it */
	bool want_online;		/* as the writer sees it */
	char name[DK_NAME_MAX];
};

/* Devices by the low bits of their number. */
struct dkc_devmap {
	struct dkc_retired retired;
	u32 size;
	struct {
		struct dkc_device __rcu *dev;
		u32 generation;
	} slot[];
};

/* Sets of slots: those at which each group is registered, and those of backend fallbacks. */
enum dkc_set {
	DKC_FALLBACK_FUNCTIONS = DKC_GROUPS,
	DKC_FALLBACK_THROUGH,	/* fallthroughs */
	DKC_SETS
};

/* All that decides how a row looks; rows of equal looks share a shape. */
struct dkc_look {
	u32 barred;		/* from Autograd of these backends, rule 4 */
	u16 aliases;		/* at which something is, and of which group */
	bool ambiguous;		/* AutogradOther is, rule 6 */
	bool nested;		/* AutogradNestedTensor is barred */
	/* sets of slots, see enum dkc_set; so many words as they take */
	u64 slots[DKC_SETS * DKC_SLOT_WORDS];
};

#define DKC_LOOK_ALIAS(alias, group)	((1 + (group)) << 2 * (alias))

/* The index part and the masks of a row, shared by all rows that look alike. */
struct dkc_shape {
	struct dkc_retired retired;
	struct dkc_shape *next;
	struct dkc_look *look;
	u64 *open;		/* the slots that only fallbacks may serve */
	u32 hash;
	u32 users;
	u16 entries;
	u8 n;			/* functions that it names */
	u8 lowest;		/* the first id of those that are called as they are */
	u8 used;		/* aliases that serve anywhere */
	/* the rest is what inlined code reads: struct dk__shape */
	__aligned_u64 mask[DKC_MAX_BACKENDS];
	u8 index[];
};

_Static_assert(offsetof(struct dkc_shape, mask) == offsetof(struct dk__shape, mask), "ABI");
_Static_assert(offsetof(struct dkc_shape, index) == sizeof(struct dk__shape), "ABI");

/* What rows are painted on, one at a time and under the lock. */
struct dkc_easel {
	u32 words;				/* of a set of slots */
	u64 in_table[DKC_SLOT_WORDS];		/* slots that have an entry */
	u64 alias_slots[DKC_NUM_ALIASES][DKC_SLOT_WORDS];
	/* backend fallbacks for sleepable and for atomic operators */
	struct dkc_fallbacks {
		u64 functions[DKC_SLOT_WORDS];
		u64 through[DKC_SLOT_WORDS];	/* fallthroughs */
		u64 changed[DKC_SLOT_WORDS];	/* by the last change */
	} fallbacks[2];
	/* the facts about the row that is built, the look behind the others */
	const struct dkc_reg *alias[DKC_NUM_ALIASES];
	u64 functionalities;			/* at which something is registered */
	u64 dense;				/* backends, with Dense */
	u64 noted[DKC_SLOT_WORDS];		/* slots that have a function */
	struct dkc_look look;
	/* and, where it has no shape yet, the painting */
	u64 left[DKC_SLOT_WORDS];		/* slots that nothing has taken */
	u64 falls[DKC_SLOT_WORDS];		/* those that are fallthroughs */
	u64 alias_took[DKC_NUM_ALIASES][DKC_SLOT_WORDS];
	u8 *canvas;				/* ids, of a trimmed layout */
	const struct dkc_reg *slot[];		/* of those that are noted */
};

/* What an index byte names. The first ones have no entry. */
enum dkc_entry_id {
	DKC_ID_MISSING,		/* nothing serves, not even a fallback */
	DKC_ID_AMBIGUOUS,
	DKC_ID_FALLTHROUGH,	/* a backend fallback that is one */
	DKC_ID_FIRST
};

enum dkc_row_kind {
	DKC_ROW_FULL,
	DKC_ROW_UNDEFINED,	/* nobody defines the operator */
	DKC_ROW_RESOLVE,	/* ask the evaluator */
	DKC_ROW_GONE,		/* the registry is shut down */
	DKC_ROW_ASIDE,		/* all calls take the slow path; @base has the functions */
	DKC_ROW_IN_USE,		/* replaced, and a call is inside: lib/gate.c */
};

/*
 * The rows of the devices that have functions of their own, by number: open addressing.
 * A free slot has number 0, as an object on no device, and a copy of the operator's own row.
 * The first slot is always such a one, and another ends each search.
 */
struct dkc_devtab {
	union {
		struct dkc_retired retired;
		const void *pointers[DK__RETIRED];	/* as struct dk__devices has them */
	};
	u32 mask;
	struct {
		u32 number;
		const struct dkc_row *row;
	} slot[];
};

_Static_assert(offsetof(struct dkc_devtab, mask) == offsetof(struct dk__devices, mask), "ABI");
_Static_assert(offsetof(struct dkc_devtab, slot) == sizeof(struct dk__devices), "ABI");
_Static_assert(sizeof(((struct dkc_devtab *)0)->slot[0]) == sizeof(struct dk__device_table),
	       "ABI");

/*
 * The ids of a row come in order: those without an entry, functions of backend fallbacks,
 * the operator's fallthroughs, its boxed and plain functions, and from @lowest on those that
 * are called as they are.
 */
struct dkc_row {
	union {
		struct dkc_retired retired;
		struct dkc_row *next;	/* of a change that has not published it */
	};
	const struct dkc_shape *shape;
	const struct dkc_devtab *devs;	/* whose rows go before this one, or NULL */
	u32 direct;		/* or DK__BY_DEVICE and so on */
	u8 n;
	u8 lowest;		/* the first id of those that are called as they are */
	u8 kind;
	u8 op_flags;		/* the class of the call is that of its row */
	__aligned_u64 sig;	/* hash of the functions' signature, 0: unknown */
	struct dk__entry ent[];	/* from DKC_ID_FIRST on */
};

_Static_assert(offsetof(struct dkc_row, shape) == offsetof(struct dk__table, shape), "ABI");
_Static_assert(offsetof(struct dkc_row, devs) == offsetof(struct dk__table, devices), "ABI");
_Static_assert(offsetof(struct dkc_row, direct) == offsetof(struct dk__table, first_direct),
	       "ABI");
_Static_assert(offsetof(struct dkc_row, n) == offsetof(struct dk__table, num), "ABI");
_Static_assert(offsetof(struct dkc_row, lowest) == offsetof(struct dk__table, lowest), "ABI");
_Static_assert(offsetof(struct dkc_row, op_flags) == offsetof(struct dk__table, flags), "ABI");
_Static_assert(offsetof(struct dkc_row, sig) == offsetof(struct dk__table, sig), "ABI");
_Static_assert(offsetof(struct dkc_row, ent) == sizeof(struct dk__table), "ABI");
_Static_assert(DKC_ID_FIRST == DK__FIRST_ENTRY, "ABI");
_Static_assert(DKC_ID_FALLTHROUGH == DK__FOR_SLOW_PATH, "dk__find() serves neither");

/*
 * How a definition of an operator describes the arguments: its copy, for boxed functions,
 * lives as long as the operator, because a call may still be inside of one when the
 * definition is gone.
 */
struct dkc_args {
	struct dkc_retired retired;
	struct dkc_args *next;		/* of the operator's other definitions */
	size_t size;			/* bytes, with the names */
	struct dk_op_decl decl;		/* without @sig; its hash is in @sig_mark */
	struct dk_param param[];	/* and then their names */
};

#define DKC_NOT_COUNTED	255	/* objects, from the definition on until somebody asks */

struct dk_op {
	union {
		struct dkc_retired retired;
		struct {			/* for writers, until it is retired */
			struct dk_op *next;	/* of a change, or of those replaced */
			const struct dk_op_decl *decl;	/* the definer's, which may be
							 * about to define it
							 */
		};
	};
	const struct dkc_row __rcu *row;	/* for calls */
	const struct dkc_row __rcu *base;	/* full; NULL: not built */
	struct dk_registry *reg;
	struct dkc_reg __rcu *regs;
	u64 sig;			/* hash of the signature, 0: unknown */
	struct dkc_numbers __rcu *numbers;	/* of the counters of fallbacks, or NULL */
	struct dkc_args __rcu *args;	/* of the last definition, or NULL: none has any */
	struct dkc_provider *definer;
	u32 holders;			/* the greatest number stays */
	u32 num_regs;
	u32 missing;			/* the counter of what nothing served */
	u8 flags;
	bool changing : 1;
	bool classed : 1;		/* it was defined: its class is known */
	bool pinned;			/* a struct dk_op_decl points here for ever */
	bool dead;
	bool stale;			/* replaced by another of the same name */
	u8 max_objs;			/* as dkc_max_objs() counted them, or DKC_NOT_COUNTED */
	u8 name_len;
	char name[];
};

_Static_assert(offsetof(struct dk_op, row) == offsetof(struct dk__op, table), "ABI");

/*
 * The counters of the functions of a block, by their place, or of the fallbacks that serve
 * an operator, by their slot: see stats.c.
 */
struct dkc_numbers {
	struct dkc_retired retired;
	u32 of[];
};

/* What the tables that calls read are: plain ones, counted ones, or none. */
enum dkc_tables {
	DKC_TABLES_PLAIN,
	DKC_TABLES_COUNTED,
	DKC_TABLES_ASIDE,
};

/* Counters by their number, in blocks; see stats.c. */
struct dkc_stats {
	struct dkc_retired retired;
	u32 num;
	struct dkc_stat_block *block[];
};

/* Operators by name: open addressing, so that readers need no lock. */
struct dkc_optab {
	struct dkc_retired retired;
	u32 size;
	u32 used;			/* with the removed ones */
	struct dk_op __rcu *slot[];
};

struct dkc_provider {
	struct dkc_provider *next;
	u64 number;			/* in the order of their coming */
	struct dk_registry *reg;
	struct dk_provider *pub;	/* NULL: do not touch it */
	void *priv;
	void *owner;
	struct dkc_block *blocks;
	struct dkc_block *withdrawn;	/* unpublished, calls may be inside */
	u32 waiters;			/* who wait for them */
	bool gone;			/* unpublished; calls may be inside */
	bool left;			/* none is: the last waiter frees the provider */
	bool grace_begun;		/* that of @grace, by a waiter with a deadline */
	struct dkc_grace grace;
	u64 grace_over;			/* when it was seen to be, or 0 */
	struct dkc_library *libraries;
	u32 joined;			/* bit b: has joined backend b */
	u32 num_ops;			/* that it defines */
	u32 num_impls;
	u32 num_devices;
	char name[DK_NAME_MAX];
};

struct dkc_private_backend {
	char name[DK_NAME_MAX];		/* empty: not bound */
	u32 users;
	struct dkc_provider *alone;
};

/* What a watcher sees. */
enum dkc_seen {
	DKC_OP_CAME,
	DKC_OP_WENT,
	DKC_IMPL_CAME,
	DKC_IMPL_WENT,
	DKC_BACKEND_CAME,
	DKC_BACKEND_WENT,
	DKC_BACKEND_STATE,
	DKC_DEVICE_CAME,
	DKC_DEVICE_WENT,
	DKC_DEVICE_STATE,
};

struct dkc_sight {
	const struct dk_registry *reg;
	enum dkc_seen kind;
	const char *name;		/* NULL: of a backend fallback */
	u32 number;			/* of a backend or device */
	u32 key;			/* of a function */
	const char *provider;		/* whose doing it is, or NULL */
	bool online;			/* a backend or device */
};

/*
 * Who sees every change, under the lock and when nothing can stop it any more.
 * He may neither wait nor call what takes the lock.
 */
struct dkc_watcher {
	void (*saw)(struct dkc_watcher *self, const struct dkc_sight *sight);
};

struct dk_registry {
	/* what calls read, apart from what others write */
	const struct dk_layout *layout;
	struct dk_hooks __rcu *hooks;	/* newest first */
	struct dkc_stats __rcu *stats;	/* NULL: calls are not counted */
	bool v1;			/* the call path that was compiled for v1 */
	bool shutdown;
	u8 tables;		/* for calls, as published: of enum dkc_tables */
	bool traced;
	u32 watched;		/* by hooks, counters and the world's tracers */
	bool is_default;		/* its world made it, and keeps it */
	u32 visitors;			/* who look for what a module left */
	struct dk_registry *next_born;	/* its world's */
	u32 offline;			/* backends, as readers see it */
	u32 want_offline;		/* backends, as the writer sees it */
	struct dkc_offline since[DKC_MAX_BACKENDS];
	u32 changes;			/* two a change; see struct dkc_view */
	const struct dkc_reg *aside;	/* as if it were not there, for whoever
					 * explains and holds the lock, or NULL
					 */
	u32 flags;
	u32 unbuilt;			/* from this slot of @ops on, counted from 1, operators
					 * have no table for lack of memory; 0: all have one
					 */
	struct dkc_optab __rcu *ops;
	struct dkc_devmap __rcu *devmap;
	struct dkc_reg **stock;		/* fallbacks that it was born with */
	struct dkc_reg __rcu **fallback;	/* the providers' */
	struct dkc_private_backend private_backend[DKC_MAX_BACKENDS + 1];
	struct dkc_mutex lock;
	struct dkc_order *order;	/* by name; NULL: nothing has listed them */
	u32 moves;			/* grows when one has another place there */
	u32 num_ops;
	u32 num_there;			/* that are defined or have functions */
	u32 num_impls;			/* of operators */
	u32 num_devices;
	u32 impls_at[DKC_MAX_BACKENDS + 1];	/* its keys, fallbacks, too */
	u32 devices_of[DKC_MAX_BACKENDS + 1];
	u64 providers_so_far;
	struct dkc_watcher *watcher;	/* its world's, or NULL */
	u64 num_held;
	u64 generation;
	struct dkc_stats *counters;	/* of @stats, for writers */
	u32 free_counter;		/* the first, 0: none */
	u32 used_counters;
	u64 lost_counts;		/* the world's, when counting began */
	u64 gone_counts;		/* of what was unregistered since the last reset */
	u64 past_counts;		/* of calls before the last reset */
	u64 times_counted;		/* how often counters were switched on */
	struct dkc_calls *sums;		/* that are not complete */
	u32 fallbacks_leaving;		/* blocks of them that calls may be inside of */
	u64 hooks_so_far;
	struct dkc_counter sequence;	/* of hooked calls with an autograd key */
	struct dk_hooks trace;		/* its world's */
	struct dk_listener *listeners;
	struct dkc_news *news;		/* to be told, oldest first */
	struct dkc_news *last_news;
	u64 news_number;
	u32 news_lost;			/* found no memory, and are not told yet */
	const void *teller;		/* who is telling, or NULL */
	struct dk_listener *told;	/* whom, or NULL */
	struct dk_op *stale;		/* those that others have replaced */
	struct dkc_provider *providers;
	struct dkc_block *stock_block;
	struct dkc_shape *shapes[DKC_SHAPE_BUCKETS];
	struct dkc_block *blocks[DKC_BLOCK_BUCKETS];	/* by the caller's table */
	u32 shape_entries;
	struct dkc_easel *easel;
};

/* A set of operators that one change touches. */
struct dkc_change {
	struct dk_op *ops;
	struct dkc_row *rows;		/* prepared, of @ops in their order */
	struct dkc_news *news;		/* newest first */
	u32 news_lost;			/* that found no memory */
};

/* What the rules choose for one runtime key. */
struct dkc_pick {
	const struct dkc_reg *reg;	/* NULL: missing or ambiguous */
	enum dk_provenance prov;
};

static inline struct dk_registry *dkc_registry(struct dk_registry *reg)
{
	return reg ? reg : dk_registry_default();
}

static inline void *dkc_get(size_t size, bool may_sleep)
{
	return may_sleep ? dkc_alloc(size) : dkc_try_alloc(size);
}

/* What a row has for a functionality on a backend, where it has an entry. */
static inline unsigned int dkc_row_id(const struct dk_layout *l,
				      const struct dkc_row *row, unsigned int f,
				      unsigned int b)
{
	return row->shape->index[l->trimmed ? dkc_trimmed_entry(l, f, b) :
					      dkc_slot(l, f, b)];
}

/* The set of its key, empty for an alias key. */
static inline u64 dkc_reg_bits(const struct dkc_reg *r, const struct dk_layout *l)
{
	unsigned int f;
	u64 bits;

	if (!r->slot)
		return dk_key_set(l, r->key).bits;
	f = l->slot_functionality[r->slot];
	bits = dkc_functionality_bit(l, f);
	return dkc_is_per_backend(l, f) ? bits | 1ULL << (r->slot - l->offset[f]) : bits;
}

/* The entry of a set in a table of v1. */
static inline unsigned int dkc_v1_index(u64 ks)
{
	return dk__place(ks, dk__top_backend(ks));
}

/* All bits of backends that the layout has. */
static inline u64 dkc_backend_mask(const struct dk_registry *reg)
{
	return dkc_likely(reg->v1) ? DK_BACKEND_MASK : reg->layout->backend_mask;
}

static inline const struct dkc_row *dkc_devtab_row(const struct dkc_devtab *tab, u32 device)
{
	u32 i = device & tab->mask;

	while (dkc_unlikely(tab->slot[i].number != device) && (tab->slot[i].number || !i))
		i = (i + 1) & tab->mask;
	return tab->slot[i].row;
}

/* Its own, or that of a device. */
static inline const struct dkc_row *dkc_row_of_device(const struct dkc_row *row,
						      u32 device)
{
	return row->devs ? dkc_devtab_row(row->devs, device) : row;
}

static inline const struct dk__count *dkc_row_counters(const struct dkc_row *row)
{
	return dk__counters((const struct dk__table *)row);
}

static inline bool dkc_is_counted(const struct dkc_row *row)
{
	return row->direct == DK__COUNTED || row->direct == DK__SLEEPS_COUNTED;
}

/* The slots from 64 * @word on that functions of fallbacks serve, one bit each. */
static inline u64 dkc_served(const struct dk_registry *reg, const struct dkc_shape *s,
			     u32 word)
{
	return s->open[word] &
	       s->look->slots[DKC_FALLBACK_FUNCTIONS * reg->easel->words + word];
}

/* From DKC_ID_FIRST on. */
static inline const struct dk__entry *dkc_row_ent(const struct dkc_row *row, unsigned long id)
{
	return dk__entry_of((const struct dk__table *)row, id);
}

/*
 * What a reader without a table goes by: all changes of the registry up to one, and none
 * after it. Where a pointer to a view is NULL, it is that of the writer, which includes the
 * change that it makes.
 */
struct dkc_view {
	u32 changes;		/* of struct dk_registry */
	u32 offline;		/* backends */
};

static inline void dkc_view_begin(struct dkc_view *v, const struct dk_registry *reg)
{
	/* pairs with dkc_changed(): includes all that was stored before it: view.pml */
	v->changes = dkc_load_acquire(reg->changes);
	v->offline = dkc_load(reg->offline);
}

/* Has nothing changed since? If it has, what was read is to be read again. */
static inline bool dkc_view_holds(const struct dkc_view *v, const struct dk_registry *reg)
{
	/* pairs with dkc_changed(): what a later change stored is not in the view: view.pml */
	dkc_read_barrier();
	return dkc_load(reg->changes) == v->changes;
}

/*
 * Under the lock, after what readers see has changed: half of a change if blocks come or
 * leave, else all of it. Pairs with dkc_view_begin() and dkc_view_holds():
 * selftests/model/view.pml.
 */
static inline void dkc_changed(struct dk_registry *reg, u32 halves)
{
	dkc_store_release(reg->changes, reg->changes + halves);
}

#define DKC_HALF_CHANGE		1
#define DKC_WHOLE_CHANGE	2

/* A block comes or leaves between the two halves of a change, at one instant. */
static inline bool dkc_block_in_view(const struct dkc_block *b, const struct dkc_view *v)
{
	switch (dkc_load(b->state)) {
	case DKC_COMING:
		return v->changes & DKC_HALF_CHANGE;
	case DKC_LIVE:
		return true;
	case DKC_LEAVING:
		return !(v->changes & DKC_HALF_CHANGE);
	default:
		return false;
	}
}

/* Is a registration there? A reader has found its device online, if it has one. */
static inline bool dkc_visible(const struct dkc_reg *r, const struct dkc_view *view)
{
	const struct dkc_block *b = dkc_block_of(r);
	const struct dk_registry *reg = b->prov->reg;
	u32 offline = view ? view->offline : reg->want_offline;

	if (dkc_unlikely(offline) && (dkc_reg_bits(r, reg->layout) & offline))
		return false;
	if (view)
		return dkc_block_in_view(b, view);
	return b->state < DKC_LEAVING && r != reg->aside && (!b->dev || b->dev->want_online);
}

/* Does something keep an operator besides declarations that point to it? Under the lock. */
static inline bool dkc_op_alive(const struct dk_op *op)
{
	return op->definer || op->num_regs || op->holders;
}

/*
 * Somebody defines it or has functions for it; one that is only there because a
 * declaration points to it is not there. Under the lock.
 */
static inline bool dkc_op_is_there(const struct dk_op *op)
{
	return op->definer || op->num_regs;
}

/* Has it functions and no definition? Under the lock. */
static inline bool dkc_op_dangles(const struct dk_op *op)
{
	return !op->definer && op->num_regs;
}

static inline bool dkc_is_fallthrough(const struct dkc_reg *r)
{
	return r && (dkc_impl_of(r)->flags & DK_IMPL_F_FALLTHROUGH);
}

/* rules.c: a runtime key by the rules; under the lock or in a read section. The
 * device is NULL for the table without one.
 */
struct dkc_pick dkc_evaluate(const struct dk_op *op, const struct dkc_device *dev,
			     unsigned int f, unsigned int b, const struct dkc_view *view);
/* The same of the entry of a set, which a trimmed table may not have. */
struct dkc_pick dkc_serving(const struct dk_op *op, const struct dkc_device *dev,
			    u64 ks, const struct dkc_view *view);
/* Does a call's set lose functionality @f, where its backend is @b? */
bool dkc_falls_through(const struct dk_op *op, const struct dkc_device *dev,
		       unsigned int f, unsigned int b, const struct dkc_view *view);
struct dkc_reg *dkc_fallback_at(const struct dk_op *op, unsigned int slot,
				const struct dkc_view *view);
struct dkc_reg *dkc_fallback_of(const struct dk_registry *reg, bool atomic,
				unsigned int slot, const struct dkc_view *view);
/* The newest registration at a key, or NULL. */
struct dkc_reg *dkc_top(const struct dk_op *op, const struct dkc_device *dev,
			unsigned int key, const struct dkc_view *view);
bool dkc_any_in(const struct dk_op *op, const struct dkc_device *dev, u64 set,
		const struct dkc_view *view);
u64 dkc_autograd_backends(const struct dk_layout *l, unsigned int f, unsigned int b);

/* paint.c: how rows look; under the lock. */
struct dkc_easel *dkc_easel_make(const struct dk_layout *l);
/* Read the fallbacks again: has anything of them changed? */
bool dkc_fallbacks_changed(struct dk_registry *reg);
/* Does a row, or one of its devices', show anything of the last change of fallbacks? */
bool dkc_row_shows_change(const struct dk_registry *reg, const struct dkc_row *row);
struct dkc_shape *dkc_shape_get(const struct dk_op *op, const struct dkc_device *dev,
				bool may_sleep);
void dkc_shape_put(struct dk_registry *reg, const struct dkc_shape *shape);

/*
 * row.c: rows, and back to memory; under the lock. dkc_row_build() makes that of an
 * operator with those of its devices; NULL for lack of memory.
 */
struct dkc_row *dkc_row_build(struct dk_op *op, bool may_sleep);
/* What serves by an entry of a row, or NULL. */
const struct dkc_reg *dkc_row_reg(const struct dk_op *op, const struct dkc_row *row,
				  unsigned int f, unsigned int b);
void dkc_row_discard(struct dk_registry *reg, const struct dkc_row *row);
void dkc_row_retire(struct dk_registry *reg, const struct dkc_row *row);
/* A copy by which calls are counted, with the counters that there are; NULL for lack of memory. */
struct dkc_row *dkc_row_count(const struct dk_op *op, const struct dkc_row *full, bool may_sleep);

/* change.c: every change of a registry; under the lock. */
/* Publish the table that calls read. The one before is retired if it is a counted copy. */
void dkc_op_set_table(struct dk_op *op, const struct dkc_row *row);
/* The same for all operators; counted tables are copied again, with the counters of now. */
void dkc_change_tables(struct dk_registry *reg, bool may_sleep);
/* What calls are to see now that calls are watched, or are not any more. */
void dkc_change_watched(struct dk_registry *reg, bool more);
/* Tracers of calls have come or gone. */
void dkc_change_traced(struct dk_registry *reg);
/* A block that only the writer has seen is live, or a live one is unpublished. */
void dkc_block_turn(struct dkc_block *b, bool live);
void dkc_change_add(struct dkc_change *ch, struct dk_op *op);
/* A fallback is registered or unregistered, or its backend is switched online or offline. */
void dkc_change_add_fallbacks(struct dkc_change *ch, struct dk_registry *reg);
int dkc_change_prepare(struct dkc_change *ch);
void dkc_change_commit(struct dkc_change *ch);
void dkc_change_cancel(struct dkc_change *ch);
void dkc_change_force(struct dkc_change *ch);
/*
 * Build some of the tables that dkc_change_force() found no memory for, in a bounded time.
 * True if there are more and there is memory.
 */
bool dkc_change_rebuild(struct dk_registry *reg, bool may_sleep);

/* operator.c */
u64 dkc_sig_hash(const char *sig);
struct dk_op *dkc_op_find(struct dk_registry *reg, const char *name);
/* For a definition of these flags, or a function that may be of either class. */
#define DKC_ANY_CLASS	(~0u)
struct dk_op *dkc_op_obtain(struct dk_registry *reg, const struct dk_op_decl *decl,
			    struct dk_op *found, unsigned int flags);
void dkc_op_settle(struct dk_op *op);
/* Does a definition fit the operator's signature, or a function at @key? */
int dkc_op_check_sig(const struct dk_op *op, const struct dk_op_decl *decl,
		     const struct dk_impl *impl, unsigned int key,
		     const struct dkc_provider *core, struct dk_diag *why);
u64 dkc_op_sig(const struct dk_op *op);
void dkc_op_undefine(struct dk_op *op);
/* A definition that is being made, and what was there before. */
struct dkc_op_def {
	struct dk_op *op;
	struct dkc_args *args;		/* as the definition describes them, or NULL */
	struct dkc_news *news;		/* to be put when all is well, or NULL */
	u32 flags;
};

int dkc_check_decl(const struct dk_op_decl *decl, unsigned int flags,
		   struct dk_diag *why);
int dkc_op_define_begin(struct dkc_provider *core, const struct dk_op_decl *decl,
			unsigned int flags, struct dkc_op_def *def,
			struct dkc_change *ch, struct dk_diag *why);
void dkc_op_define_end(struct dkc_provider *core, struct dkc_op_def *def);
void dkc_op_define_cancel(struct dkc_op_def *def);
/* Has a function the class and the schema of a definition? */
int dkc_check_suits(const struct dk_op_decl *decl, unsigned int flags,
		    const struct dk_impl *impl, struct dk_diag *why);
/* After a definition or a function has left. */
void dkc_op_left(struct dk_op *op);
int dkc_op_pin(struct dk_op_decl *decl, struct dk_op **op);
struct dk_op *dkc_op_next(struct dk_registry *reg, u32 *pos);
/*
 * The same, past no more than *@left slots, empty ones too, by which it is reduced: after
 * NULL, 0 means that there may be more operators.
 */
struct dk_op *dkc_op_next_of(struct dk_registry *reg, u32 *pos, u32 *left);
void dkc_ops_free(struct dk_registry *reg);
bool dkc_name_ok(const char *name);

/*
 * order.c: all operators by name; under the lock. dkc_order_some() puts them into order by
 * moving up to @work pointers, or a few more: 0, -EAGAIN if that is not all, or -ENOMEM. The
 * operators at and after a place are those that were in order then.
 */
int dkc_order_some(struct dk_registry *reg, u32 work);
/* An operator comes, or leaves, at this slot of the table of names. */
void dkc_order_add(struct dk_op *op, u32 slot);
void dkc_order_remove(const struct dk_op *op, u32 slot);
/* The operators have other slots. */
void dkc_order_new_slots(struct dk_registry *reg);
void dkc_order_free(struct dk_registry *reg);
/* The one that @n are before, or NULL. */
struct dk_op *dkc_op_at(const struct dk_registry *reg, u32 n);
/* How many are before @name. */
u32 dkc_op_place(const struct dk_registry *reg, const char *name);

/* registry.c */
extern const struct dkc_shape dkc_shape_of_none;
extern const struct dkc_row dkc_row_undefined;
const struct dkc_row *dkc_row_resolve(unsigned int flags);
extern const struct dkc_row dkc_row_gone;
/* The row by which calls leave the fast path, for an operator of these flags. */
const struct dkc_row *dkc_row_aside(unsigned int flags);
/* All rows to "gone"; nothing is freed. For the end of a process. */
void dkc_registry_shutdown(struct dk_registry *reg);
/* Do the published rows of an operator say what the rules say? */
bool dkc_op_right(const struct dk_op *op);

/* provider.c */
int dkc_provider_lock(struct dk_provider *prov, struct dkc_provider **core,
		      struct dk_diag *why);
int dkc_provider_lock_to_leave(struct dk_provider *prov, struct dkc_provider **core,
			       struct dk_diag *why);
/*
 * The same for one who is already on his way out, also by another caller. Where
 * he is gone, or never came, *@core is NULL, 0 is returned and no lock held.
 */
int dkc_provider_lock_leaving(struct dk_provider *prov, struct dkc_provider **core,
			      struct dk_diag *why);
/*
 * What a call may be inside of, and is waited for. Of what was taken offline @since
 * is written under the lock, while somebody waits.
 */
struct dkc_target {
	const struct dkc_provider *core;
	const struct dkc_block *block;	/* this one, also if it is published */
	u32 backends;			/* else what is at keys of these, also then */
	struct dkc_offline *since;	/* what was taken offline, or NULL */
	unsigned long switches;		/* of @since, when the wait began */
	bool past_grace;		/* one is over since */
	bool canceled;			/* it was online again meanwhile */
	u64 over;			/* when one was first seen to be */
	u64 deadline;			/* for who is inside then, or 0 */
};

/* All that was withdrawn. */
#define dkc_all		((struct dkc_target){ .backends = 0 })

/*
 * Give the lock back and wait until no call is inside; with neither block nor
 * backends, inside of what was withdrawn. May the caller? That is asked before.
 */
void dkc_provider_wait(struct dkc_provider *core, struct dkc_target target);
/*
 * The same, and take the lock again; @next is the provider behind it in the list.
 * -ETIMEDOUT if somebody is inside at the deadline, whom @why tells.
 */
int dkc_provider_wait_locked(struct dkc_provider *core, struct dkc_target *target,
			     struct dkc_provider **next, struct dk_diag *why);
int dkc_may_leave(const struct dkc_provider *core, struct dk_diag *why);
/* In the child of a fork, which has the lock from before it. */
void dkc_providers_after_fork(struct dk_registry *reg);
/*
 * Take out a provider that its module left behind, and say which; false if
 * there is none. It does not look at the struct dk_provider, whose memory the
 * module may have given back.
 */
struct dkc_provider *dkc_provider_of(struct dk_registry *reg, const void *owner);
bool dkc_owner_leave(struct dk_registry *reg, const void *owner,
		     char name[DK_NAME_MAX]);

/*
 * listener.c, hook.c: the same for a listener and for hooks, which name no
 * owner: they, or their functions, are at an address of his.
 */
typedef bool (*dkc_owns_fn)(const void *owner, uintptr_t address);
struct dk_listener *dkc_listener_of(struct dk_registry *reg, dkc_owns_fn owns,
				    const void *owner);
struct dk_hooks *dkc_hooks_of(struct dk_registry *reg, dkc_owns_fn owns,
			      const void *owner);
bool dkc_listener_leave(struct dk_registry *reg, dkc_owns_fn owns, const void *owner);
/*
 * registry.c: is a listener, are hooks at an address of @object, or is a provider of
 * @owner here? Then the registry is not freed before dkc_visit_end().
 */
bool dkc_visit(struct dk_registry *reg, dkc_owns_fn owns, const void *object,
	       const void *owner);
void dkc_visit_end(struct dk_registry *reg);
bool dkc_hooks_leave(struct dk_registry *reg, dkc_owns_fn owns, const void *owner);

/*
 * impl.c: blocks of registrations; under the lock. dkc_block_alloc() makes an empty one
 * for @n functions, DKC_MAX_TABLE at most, of a fallback if @impls is NULL; NULL for lack of
 * memory.
 */
struct dkc_block *dkc_block_alloc(struct dkc_provider *prov, void *priv,
				  const struct dk_impl *impls, unsigned int n);
struct dkc_block *dkc_block_make(struct dkc_provider *prov,
				 const struct dk_impl *impls, unsigned int n,
				 unsigned int backend, struct dkc_device *dev,
				 void *priv, struct dkc_change *ch, struct dk_diag *why,
				 int *err);
void dkc_block_undo(struct dkc_block *b);
void dkc_block_publish(struct dkc_block *b, struct dkc_change *ch);
void dkc_block_withdraw(struct dkc_block *b, struct dkc_change *ch);
void dkc_tell_override(const struct dkc_block *b, struct dk_diag *why);
struct dkc_block *dkc_table_add(struct dkc_provider *core, unsigned int backend,
				const struct dk_impl *impls, unsigned int n,
				struct dk_diag *why, int *err);
struct dkc_block *dkc_fallback_add(struct dkc_provider *core,
				   const struct dk_impl *impl, struct dk_diag *why,
				   int *err);
/* A function for people: "label (provider)". */
void dkc_who(char text[DK_NAME_MAX], const struct dk_impl *impl,
	     const struct dkc_provider *prov);
/*
 * Walk all registrations of an operator, those of devices last; NULL begins. Under the
 * lock.
 */
static inline const struct dkc_reg *dkc_reg_walk(const struct dk_op *op,
						 const struct dkc_reg *r)
{
	return r ? dkc_next_reg(r) : dkc_deref_locked(op->regs);
}

/* The same of those of devices. */
const struct dkc_reg *dkc_device_reg_walk(const struct dk_op *op, const struct dkc_reg *r);

/* listener.c: news are made and put under the lock, and told without one. */
struct dkc_news *dkc_news_make(const char *name, u32 kind, u32 key, bool may_sleep);
void dkc_news_put(struct dk_registry *reg, struct dkc_news *newest);
void dkc_news_lose(struct dk_registry *reg, u32 n);
void dkc_news_free(struct dkc_news *n);
void dkc_news_tell(struct dk_registry *reg);
/* In the child of a fork, which has the lock from before it. */
void dkc_news_after_fork(struct dk_registry *reg);

/* watch.c: what changes, when the generation has grown for it; under the lock. */
void dkc_saw_op(const struct dk_op *op, struct dkc_provider *core, bool came);
void dkc_saw_block(const struct dkc_block *b, bool came);
void dkc_saw_device(const struct dkc_device *dev, enum dkc_seen kind);
void dkc_saw_backend(const struct dk_registry *reg, unsigned int backend,
		     const struct dkc_provider *core, enum dkc_seen kind);
/* Watch, or with NULL no more: then nobody is inside of the watcher. */
void dkc_watch(struct dk_registry *reg, struct dkc_watcher *watcher);

/* library.c */
void dkc_libraries_withdraw(struct dkc_provider *prov, struct dkc_change *ch);

/* backend.c and device.c */
struct dkc_device *dkc_device_at(const struct dk_registry *reg, u32 number);
void dkc_device_remove(struct dk_registry *reg, struct dkc_device *dev);
void dkc_backends_leave(struct dkc_provider *prov);
/* As dk_registry_key_name(); under the lock. */
void dkc_key_text(const struct dk_registry *reg, unsigned int key,
		  char buf[DK_NAME_MAX]);
/*
 * offline.c: as dk_device_set_online_timeout(), where there is a deadline, but who is
 * inside then has a place of its own beside what is left unserved.
 */
int dkc_device_set_online(struct dk_registry *reg, u32 device, bool online,
			  u64 deadline, struct dk_diag *why, struct dk_diag *inside);
int dkc_backend_set_online(struct dk_registry *reg, unsigned int backend, bool online,
			   u64 deadline, struct dk_diag *why, struct dk_diag *inside);
/* Under the lock. */
int dkc_backend_online(struct dk_registry *reg, unsigned int backend,
		       struct dk_diag *why);
bool dkc_is_private(const struct dk_layout *l, unsigned int b);
/* The name that people know a backend by; under the lock. */
void dkc_backend_text(const struct dk_registry *reg, unsigned int backend,
		      char buf[DK_NAME_MAX]);
/* The name of a key with the private name of its backend; is there one? Under
 * the lock.
 */
bool dkc_key_private_name(const struct dk_registry *reg, unsigned int key,
			  char name[DK_NAME_MAX]);

/*
 * stats.c. Under the lock: give an operator and what serves it by @row, which
 * may be NULL, the counters that they lack; false where one got none.
 */
bool dkc_stats_give(struct dk_op *op, const struct dkc_row *row, bool may_sleep);

static inline bool dkc_stats_cover(struct dk_op *op, const struct dkc_row *row,
				   bool may_sleep)
{
	return !op->reg->counters || dkc_stats_give(op, row, may_sleep);
}

/* What the functions of a block, or an operator, have counted is of what is gone now. */
void dkc_stats_withdraw_block(const struct dkc_block *b);
void dkc_stats_withdraw_op(const struct dk_op *op);
/* Take back those of a block, or an operator, that no call is inside of. */
void dkc_stats_forget_block(struct dkc_block *b);
void dkc_stats_forget_op(struct dk_op *op);
/* Take back all, of a registry that nobody uses any more. */
void dkc_stats_end(struct dk_registry *reg);
/*
 * The counter of a function of an operator, or of a fallback that serves it, or 0; under
 * the lock.
 */
u32 dkc_reg_counter(const struct dk_op *op, const struct dkc_reg *r);
/* Where a counter counts; 0 is that of calls without one. */
struct dk__count dkc_stats_at(const struct dk_registry *reg, u32 n);
/*
 * Walk the backend fallbacks that an operator has counters of, by slot; NULL begins.
 * Under the lock.
 */
const struct dkc_reg *dkc_next_fallback(const struct dk_op *op, const struct dkc_reg *r);
/* What counter @n has counted since it was given, or reset; under the lock. */
u64 dkc_counted(const struct dk_registry *reg, u32 n);
/*
 * All calls that were counted since the reset before the sum. @gone: of these, calls counted by
 * functions and operators that have left. Zero-initialise before the first call.
 */
struct dkc_total {
	u64 count;
	u64 gone;
	u64 times_counted;		/* the registry's; the sum restarts if it differs */
	u32 starts;
	u32 counter;			/* where it continues */
};

/*
 * Add up to @n counters; true if there are more. Under the lock, which may be given back
 * between two calls, where counters are on.
 */
bool dkc_total_add(struct dk_registry *reg, struct dkc_total *t, u32 n);
/* The calls that a provider, by its number, served. */
struct dkc_calls {
	struct dkc_calls *next;		/* of the registry */
	u64 provider;
	u64 sum;
	/* where it continues: in this block, at this function, ... */
	const struct dkc_block *block;
	u32 place;
	u32 left;			/* counters, before the lock is given back */
	bool has_fallbacks;
	u32 op;				/* ... and then at this slot of the table of names */
	u64 of_ops;			/* the sum of what it is at */
};

/* Under the lock. What is begun is ended. */
void dkc_calls_begin(struct dk_registry *reg, struct dkc_calls *c, u64 number);
void dkc_calls_end(struct dk_registry *reg, struct dkc_calls *c);
/*
 * Add up to @n counters; true if there are more. Under the lock, which may be given
 * back between two calls: what is there all the time is in the sum once.
 */
bool dkc_calls_sum(struct dk_registry *reg, struct dkc_calls *c, u32 n);
/* The operators have other slots: sums begin with them again. */
void dkc_calls_restart_ops(struct dk_registry *reg);
/* Before a block leaves its provider: sums continue after it. */
void dkc_calls_leave_block(const struct dkc_block *b);
/* Count a call that @r serves, or NULL: that nothing serves. The call keeps both. */
void dkc_stats_count(const struct dk_op *op, const struct dkc_reg *r);

/* call.c and hook.c: state of a struct dk_frame */
enum dkc_call_state {
	DKC_CALL_IN_GATE,	/* it is in its provider's gate */
	DKC_CALL_IN_SECTION,	/* a read section of its own lasts until it is left */
	DKC_CALL_IN_CALLERS,	/* a read section of its caller's */
	DKC_CALL_HOOKED = 4,	/* a flag: hooks were told that it began */
	DKC_CALL_TRACED = 8,	/* a flag: tracers are told that it ends */
};

#define DKC_CALL_FLAGS	(DKC_CALL_HOOKED | DKC_CALL_TRACED)

/* Is a declaration of this version, and of the calls that are made through it? */
static inline bool dkc_decl_fits(const struct dk_op_decl *decl)
{
	return decl->size == sizeof(*decl) && decl->call_abi == DK__CALL_ABI;
}

/* Does a declaration point to an operator of a registry? */
static inline bool dkc_is_bound(const struct dk_op *op)
{
	return op && op != &dk__unbound;
}

/* call.c and find.c: a call on its way: what was asked, and what was found. */
struct dkc_way {
	const struct dk_obj *const *objs;
	unsigned int n;
	bool mask;		/* a call, and not a redispatch */
	bool boxed;		/* how the caller has the arguments */
	bool in_rcu;		/* the caller is in a read section */
	struct dk_op_decl *decl;	/* to be compared, or NULL */
	u64 ks;
	dk_fn_t fn;
	const struct dkc_reg *reg;
	const struct dkc_args *args;	/* for a boxed function */
	bool at_key;		/* what is registered at @key, not what the table says */
	unsigned int key;
};

/*
 * args.c: how a definition describes the arguments of its operator. Under the lock: what
 * dkc_args_give() gives the operator next, made or found; what becomes of it otherwise.
 */
int dkc_args_make(struct dk_op *op, const struct dk_op_decl *decl, struct dkc_args **args);
void dkc_args_give(struct dk_op *op, struct dkc_args *args);
void dkc_args_cancel(const struct dk_op *op, struct dkc_args *args);
/* Nobody reads them any more, or will soon. */
void dkc_args_free(struct dk_op *op);
void dkc_args_retire(struct dk_op *op);
/*
 * The declaration that describes what a caller with @decl has packed: the definition's if
 * the caller describes nothing, or if their signatures were compared.
 */
const struct dk_op_decl *dkc_args_decl(const struct dkc_args *args,
				       const struct dk_op_decl *decl);

/* dk__begin() of a request, and dk__find(): 0, a negative errno, or DK__SLOWLY. */
static dkc_always_inline int dkc_fast_find(struct dk_call *c, struct dk__slot *slot,
					   struct dk__request *rq, struct dk_op *op,
					   unsigned long flags, const struct dk_local *local,
					   u64 ks, int how, const struct dk_obj *const *objs,
					   unsigned int n)
{
	struct dk__found found DK__NOT_SET;

	if (dkc_likely(dk__begin(c, slot, &found, op, rq->decl, flags, local, ks, how,
				 n ? objs[0] : NULL)))
		return 0;
	found.entry = dk__find(c, *slot, found.table, found.ks, objs,
			       dk__ask(found.byte, how, n));
	if (dk__is_entry(found.entry))
		return 0;
	rq->flags |= DK__ASKED;
	return dk__no_entry_err(found.entry);
}

/* call.c: a redispatch by dkc_fast_call(). */
int dkc_fast_redispatch(struct dk_call *c, struct dk__slot *slot, struct dk__request *rq,
			unsigned long flags, const struct dk_obj *const *objs, unsigned int n);

/*
 * Take the fast path from inside of the library: 0, a negative errno, or DK__SLOWLY. A
 * request for which it has no answer says that it was asked.
 */
static dkc_always_inline int dkc_fast_call(struct dk_call *c, struct dk__slot *slot,
					   struct dk__request *rq, unsigned long flags,
					   const struct dk_obj *const *objs, unsigned int n)
{
	struct dk_op *op = rq->op;
	int how = DK__HOW_MASKED;

	if (rq->flags & (DK__ASKED | DK__BY_KEY | DK__BY_KEYSET))
		return DK__SLOWLY;
	if (rq->from)
		return dkc_fast_redispatch(c, slot, rq, flags, objs, n);
	if (!op)
		op = dkc_load(rq->decl->op);
	else if (rq->decl->sig)		/* otherwise there is nothing to compare */
		how |= DK__HOW_TYPED;
	else
		return DK__SLOWLY;
	if (!op)
		return DK__SLOWLY;
	if (DK__GATED)
		how |= rq->how;
	return dkc_fast_find(c, slot, rq, op, flags, rq->local,
			     dk__merge(dk__raw(objs, n), rq->local), how, objs, n);
}

/* hook.c: tell of a call that was entered, or that nothing serves. */
void dkc_hooks_before(struct dk_frame *f, struct dk_op *op, struct dkc_way *way, int err);
/* The same, before it is left. */
void dkc_hooks_after(struct dk_frame *f);
/*
 * find.c, in a read section, or under the lock: what serves, by the row; dkc_find_typed() also
 * compares the type, and looks at one key if the call does.
 */
const struct dkc_row *dkc_row_of_op(const struct dk_op *op);
int dkc_find(struct dk_op *op, const struct dkc_row *row, struct dkc_way *way);
int dkc_find_typed(struct dk_op *op, const struct dkc_row *row, struct dkc_way *way);
u32 dkc_device_of(const struct dk_layout *l, u64 ks, const struct dk_obj *const *objs,
		  unsigned int n);
u64 dkc_merge(u64 raw, u64 included, u64 excluded, u64 backend_mask);
void dkc_split(const struct dk_registry *reg, u64 ks, unsigned int *f,
	       unsigned int *b);
const struct dkc_device *dkc_device_online(const struct dk_registry *reg,
					   u32 number);
/* Do they live on two that are online, or @serves on another one? It may be NULL. */
bool dkc_on_two_devices(const struct dk_registry *reg, const struct dkc_reg *serves,
			const struct dk_obj *const *objs, unsigned int n);

/*
 * What tracers are told, by dkc_trace(): a function came or went, a row was
 * published, a call was entered, is left, or found nothing, and somebody begins
 * or ends to wait for the calls inside of a provider.
 */
void dkc_trace_register(const struct dkc_reg *r);
void dkc_trace_unregister(const struct dkc_reg *r);
void dkc_trace_publish(const struct dk_op *op, const struct dkc_row *row);
void dkc_trace_call_enter(const struct dk_frame *f, const struct dkc_way *way);
void dkc_trace_call_exit(const struct dk_frame *f);
void dkc_trace_missing(const struct dk_op *op, u64 ks, int error);
void dkc_trace_drain(const struct dkc_provider *prov, bool begin, bool leaves, bool empty);

#endif /* _DKC_REGISTRY_H */
