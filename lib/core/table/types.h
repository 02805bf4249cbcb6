/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The structures of a registry. Writers hold the registry's lock. Readers are in a read-side
 * critical section, or a slot of the gate protects the table. They read the table of an operator
 * or, if there was no memory for a table, the registrations. A published table does not change;
 * only lib/replaced.c changes the kind of replaced tables. A published registration changes only
 * its links in the operator's list. Its block, device and backend have states that change.
 *
 * The slot of a key is the number of its entry in tables that are not trimmed: dkc_slot().
 */
#ifndef _DKC_TYPES_H
#define _DKC_TYPES_H

#include "../layout/layout.h"

#define DKC_MAX_PARAMS		64	/* parameters that a declaration can describe */
#define DKC_MAX_DEVICES		4095	/* also the mask of the low bits of a device number */
#define DKC_DEVICE_BITS		12
#define DKC_SLOT_WORDS		(DKC_MAX_ENTRIES / 64)	/* words of a set of slots */

struct dkc_block;
struct dkc_change;
struct dkc_device;
struct dkc_notifier;

/* The groups of functions, in the order in which they get ids in a table. */
enum dkc_group {
	DKC_FALLS_THROUGH,
	DKC_PACKED,		/* boxed functions, and plain ones, which take no struct dk_call */
	DKC_DIRECT,		/* functions of the operator's own type */
	DKC_GROUPS
};

/* A registration: one function of an operator, or one backend fallback, at one key. */
struct dkc_reg {
	u64 place : 19;		/* position in the block */
	u64 run : 19;		/* index in @runs of the block */
	u64 key : 11;
	u64 slot : 10;		/* slot of the key; 0 for an alias key or a building block */
	u64 group : 2;		/* enum dkc_group */
	u64 of_device : 1;
	u64 follows : 1;	/* the previous registration of the block is in the same run */
};

#define DKC_MAX_BLOCK	524288	/* functions of a block */

static_assert(DKC_MAX_ENTRIES <= 1024 && DKC_GROUPS <= 4 &&
	      DKC_MAX_FUNCTIONALITIES * (DKC_MAX_BACKENDS + 2) + DKC_MAX_ALIASES < 2048,
	      "values must fit into the bit fields of struct dkc_reg");

/* Functions of one operator at consecutive places of a block. */
struct dkc_run {
	struct dkc_reg __rcu *next;	/* where the operator's list continues after this run */
	struct dk_op *op;
};

/* The state of a block. dkc_block_set_live() changes it in two steps. */
enum dkc_state {
	DKC_PENDING,	/* not published */
	DKC_ADDING,	/* live, except in views that began earlier */
	DKC_LIVE,
	DKC_REMOVING,	/* removed, but live in views that began earlier */
	DKC_REMOVED,	/* no longer published */
	DKC_DRAINED,	/* removed, and no function of the block is running */
};

/* The registrations of one API call: of a caller's array, a device's functions, or a fallback. */
struct dkc_block {
	struct rcu_head rcu;
	struct dkc_block *next;		/* the next block of the provider */
	struct dkc_block **link;	/* the pointer to this block in that list */
	struct dkc_block *hash_next;
	struct dkc_provider *prov;
	const struct dk_impl *impls;	/* the caller's array; also identifies the block */
	struct dkc_device *dev;
	void *priv;
	void *owned;			/* freed with the block, or NULL */
	struct dkc_run *runs;		/* follow @regs in memory; a fallback has none */
	struct dkc_numbers __rcu *numbers;	/* numbers of the counters of @regs, or NULL */
	u32 device;			/* the number of @dev, or 0 */
	u32 n;
	u8 state;			/* of enum dkc_state */
	bool fallback;
	struct dkc_reg regs[];		/* in the order of @impls */
};

/* How often a device or backend was taken offline or brought online. */
struct dkc_offline {
	unsigned long switches;		/* each one cancels the waits that began before it */
	u64 over;	/* when a grace period after the last switch ended; 0: not yet */
};

struct dkc_device {
	struct rcu_head rcu;
	struct dkc_provider *prov;
	struct dkc_block *block;
	struct dkc_offline since;
	u32 number;
	u8 backend;
	bool online;			/* state for readers */
	bool want_online;		/* state for the writer, after the change in progress */
	char name[DK_NAME_MAX];
};

/* Devices, by the low bits of their number. The high bits are the generation of the slot. */
struct dkc_devmap {
	struct rcu_head rcu;
	u32 size;
	struct {
		struct dkc_device __rcu *dev;
		u32 generation;
	} slot[];
};

/* The sets of slots of an index key: one for each enum dkc_group, two for backend fallbacks. */
enum dkc_set {
	DKC_FALLBACK_FUNCTIONS = DKC_GROUPS,
	DKC_FALLBACK_THROUGH,	/* fallthroughs */
	DKC_SETS
};

/* All that an index depends on. Tables with equal index keys share an index. */
struct dkc_index_key {
	u32 barred;		/* bit b - 1: rule 4 bars the Autograd key of backend b */
	u16 aliases;		/* for each alias, DKC_INDEX_KEY_ALIAS() or 0 */
	bool ambiguous;		/* AutogradOther is ambiguous by rule 6 */
	bool nested;		/* rule 4 bars AutogradNestedTensor */
	u64 slots[];		/* DKC_SETS sets, in the order of enum dkc_set */
};

#define DKC_INDEX_KEY_ALIAS(alias, group)	((1 + (group)) << 2 * (alias))

/* For each slot, the id of what serves it; for each backend, its mask. Tables share indexes. */
struct dkc_index {
	struct rcu_head rcu;
	struct dkc_index *next;
	struct dkc_index_key *key;
	u64 *open;		/* the slots that only fallbacks can serve */
	u32 hash;
	u32 users;
	u32 n;			/* number of functions */
	u8 lowest;		/* the lowest id in DKC_DIRECT */
	u8 used;		/* bit a: alias a serves an entry */
	/* inlined code reads the members below, as a struct dk__index */
	__aligned_u64 mask[DKC_MAX_BACKENDS];	/* without the keys that fall through */
	u8 index[];
};

static_assert(offsetof(struct dkc_index, mask) == offsetof(struct dk__index, mask), "ABI");
static_assert(offsetof(struct dkc_index, index) == sizeof(struct dk__index), "ABI");

/*
 * Storage for building a table. Each registry has one, and only the writer uses it. The sets follow
 * the struct in memory, and are as large as the layout needs.
 */
struct dkc_scratch {
	u32 words;				/* the length of each set of slots */
	u64 *in_table;				/* slots with an entry */
	u64 *alias_slots[DKC_NUM_ALIASES];
	/* backend fallbacks for sleepable and for atomic operators */
	struct dkc_fallbacks {
		u64 *sets;			/* slots with functions, then with fallthroughs */
		u64 *changed;			/* slots that the last change affects */
	} fallbacks[2];
	/* the registrations of the table that is being built */
	const struct dkc_reg *alias[DKC_NUM_ALIASES];
	u64 functionalities;			/* functionality bits of all their keys */
	u64 dense;				/* backends with a function at Dense */
	u64 *registered;			/* slots with a function */
	struct dkc_index_key *key;
	/* state while a new index is built */
	u64 *unserved;				/* slots that no rule serves so far */
	u64 *fallthroughs;			/* slots served by fallthroughs */
	u64 *alias_serves[DKC_NUM_ALIASES];
	const struct dkc_reg *slot[];		/* valid for @registered slots */
};

/* The meaning of an index byte. Bytes below DKC_ID_FIRST select no entry. */
enum dkc_entry_id {
	DKC_ID_MISSING,		/* nothing serves the entry */
	DKC_ID_AMBIGUOUS,
	DKC_ID_FALLTHROUGH,	/* a backend fallback that is a fallthrough */
	DKC_ID_FIRST
};

enum dkc_table_kind {
	DKC_TABLE_FULL,		/* has the entries that the rules yield */
	DKC_TABLE_UNDEFINED,	/* the operator is not defined */
	DKC_TABLE_BYPASS,	/* the slow path uses @base or, if NULL, evaluates the rules */
	DKC_TABLE_SHUTDOWN,	/* the registry is shut down */
	DKC_TABLE_IN_USE,	/* replaced, but still used by calls: lib/replaced.c */
	DKC_TABLE_PLACEHOLDER,	/* userspace: dk__no_table */
};

/*
 * The tables of the devices that have functions of an operator: a hash table by device number, with
 * open addressing. A free slot has number 0 and the table for objects on no such device. The first
 * slot is always free, and at least one other slot, so that every search ends. If the table of a
 * slot has another index, @same is a number that calls never look for in this slot.
 */
struct dkc_device_tables {
	union {
		struct rcu_head rcu;
		const void *pointers[DK__RETIRED];	/* as in struct dk__devices */
	};
	u32 mask;
	struct {
		u32 number;
		u32 same;	/* @number if @table has the index that the operator's table has */
		const struct dkc_table *table;
	} slot[];
};

static_assert(offsetof(struct dkc_device_tables, mask) == offsetof(struct dk__devices, mask),
	      "ABI");
static_assert(offsetof(struct dkc_device_tables, slot) == sizeof(struct dk__devices), "ABI");
static_assert(sizeof(((struct dkc_device_tables *)0)->slot[0]) == sizeof(struct dk__device_table),
	      "ABI");

/*
 * The signature hash of a table whose functions have no signature. It differs from 0, the mark of a
 * declaration without a signature before its first call. If both were 0, a call by handle would
 * take the fast path, which compares only mark and hash, without checking the declaration.
 */
#define DKC_SIG_UNKNOWN	1

/*
 * The ids of a table are in this order: the ids without an entry, the ids of backend fallbacks, and
 * the ids of the operator's functions by group. The group DKC_DIRECT begins at id @lowest.
 */
struct dkc_table {
	union {
		struct rcu_head rcu;
		struct dkc_table *next;	/* the next table of a change that is not published */
	};
	const struct dkc_index *index;
	union {
		const struct dkc_device_tables *devices; /* used instead of this table; or NULL */
		struct dk__count *counters;	/* if dkc_is_counted(): they follow the entries */
	};
	u32 direct;		/* @lowest, or a constant such as DK__BY_DEVICE */
	u8 n;
	u8 lowest;		/* the lowest id in DKC_DIRECT */
	u8 kind;
	u8 op_flags;		/* flags of the operator, for calls through this table */
	__aligned_u64 sig;	/* hash of the operator's signature, or DKC_SIG_UNKNOWN */
	struct dk__entry entry[];	/* entry[0] has the id DKC_ID_FIRST */
};

static_assert(offsetof(struct dkc_table, index) == offsetof(struct dk__table, index), "ABI");
static_assert(offsetof(struct dkc_table, devices) == offsetof(struct dk__table, devices), "ABI");
static_assert(offsetof(struct dkc_table, counters) == offsetof(struct dk__table, counters), "ABI");
static_assert(offsetof(struct dkc_table, direct) == offsetof(struct dk__table, first_direct),
	      "ABI");
static_assert(offsetof(struct dkc_table, n) == offsetof(struct dk__table, num), "ABI");
static_assert(offsetof(struct dkc_table, lowest) == offsetof(struct dk__table, lowest), "ABI");
static_assert(offsetof(struct dkc_table, op_flags) == offsetof(struct dk__table, flags), "ABI");
static_assert(offsetof(struct dkc_table, sig) == offsetof(struct dk__table, sig), "ABI");
static_assert(offsetof(struct dkc_table, entry) == sizeof(struct dk__table), "ABI");
static_assert(DKC_ID_FIRST == DK__FIRST_ENTRY, "ABI");
static_assert(DKC_ID_FALLTHROUGH == DK__FOR_SLOW_PATH, "dk__find() must not serve fallthroughs");

/*
 * A copy of a definition's argument description, for boxed functions. Calls may use it after the
 * operator is undefined, so it is freed only with the operator.
 */
struct dkc_args {
	struct rcu_head rcu;
	struct dkc_args *next;		/* the copy for an earlier definition */
	struct dk_op_decl decl;		/* without @sig: @sig_mark is the signature's hash */
	struct dk_param param[];	/* followed by the names of the parameters */
};

#define DKC_MAX_OBJS	254	/* the largest value of @max_objs, as struct dk_op_info states */

struct dk_op {
	union {
		struct rcu_head rcu;
		struct {			/* for writers, until the operator is retired */
			struct dk_op *next;	/* in a change, or in @stale of the registry */
			const struct dk_op_decl *decl;	/* the definition, also a pending one */
		};
	};
	const struct dkc_table __rcu *table;	/* that calls use: enum dkc_tables */
	const struct dkc_table __rcu *base;	/* the full table; NULL: not built */
	struct dk_registry *reg;
	struct dkc_reg __rcu *regs;
	u64 sig;			/* hash of the signature, 0: unknown */
	struct dkc_numbers __rcu *numbers;	/* numbers of the counters of fallbacks, or NULL */
	struct dkc_args __rcu *args;	/* describes the arguments; NULL: no definition did */
	struct dkc_provider *definer;
	struct dk_op *child[2];		/* in the tree of names: order.c */
	struct dk_op *after;		/* the next one by name */
	u32 holders, num_regs;		/* @holders: references by dkc_op_hold() */
	u32 missing;			/* number of the counter of calls that no function serves */
	u32 hash;			/* of the name */
	u8 flags;
	bool changing : 1;
	bool classed : 1;		/* was defined, so its class (atomic or not) is known */
	bool sorted : 1;		/* is in the tree of names */
	bool pinned;			/* a struct dk_op_decl may point here: never freed */
	bool dead;			/* set while dkc_op_release() tries to free this operator */
	bool stale;			/* another operator of this name has replaced this one */
	u8 max_objs;			/* of struct dk_op_info */
	u8 name_len;
	char name[];
};

static_assert(offsetof(struct dk_op, table) == offsetof(struct dk__op, table), "ABI");

/*
 * The numbers of counters: those of a block's functions, by place, or those of an operator's
 * backend fallbacks, by slot. See counters.c.
 */
struct dkc_numbers {
	struct rcu_head rcu;
	u32 n;
	u32 of[];
};

/* What @table of the operators is, with the exceptions in table_for_calls(). */
enum dkc_tables {
	DKC_TABLES_PLAIN,	/* @base */
	DKC_TABLES_COUNTED,	/* a copy of @base with counters */
	DKC_TABLES_BYPASSED,	/* dkc_table_bypass(): all calls take the slow path */
};

struct dkc_stat_block {
	struct dkc_counts counts;
	struct dkc_counter {
		u64 base;	/* its sum when assigned or reset; if free, the next free one */
		u64 provider;	/* number of the function's provider; 0 without one */
	} counter[DKC_COUNTS];
};

/* Counters by their number, in blocks; see counters.c. */
struct dkc_stats {
	struct rcu_head rcu;
	u32 num;
	struct dkc_stat_block *block[];
};

/*
 * The table of names: see state/optab.c. After the slots there is a tag for each slot: one byte of
 * the operator's hash. A search compares the tags first, and so rarely reads operators with other
 * names.
 */
struct dkc_optab {
	struct rcu_head rcu;
	u32 size;
	u32 used;			/* slots, including those of removed operators */
	struct dk_op __rcu *slot[];
};

struct dkc_provider {
	struct dkc_provider *next;
	u64 number;			/* in the order of registration */
	struct dk_registry *reg;
	struct dk_provider *pub;	/* NULL after the provider is unregistered */
	void *priv;
	void *owner;
	struct dkc_block *blocks;
	struct dkc_block *withdrawn;	/* unpublished blocks; their calls may still run */
	u32 waiters;			/* number of waits for calls of the provider */
	bool pub_lost;			/* @pub may already be freed: only compare its address */
	bool unregistering;		/* unpublished, but calls may still be running */
	bool drained;			/* no call is running; the last waiter frees the provider */
	bool grace_begun;		/* @grace has begun, for a waiter with a deadline */
	struct dkc_grace grace;
	struct dkc_call_map call_map;
	u64 grace_over;			/* when that of unregistering ended; 0: not yet */
	struct dkc_library *libraries;	/* made by lib/pytorch/library.c, or NULL */
	void (*withdraw_libraries)(struct dkc_provider *prov, struct dkc_change *ch);
	u32 joined;			/* bit b: has joined backend b */
	u32 num_ops;			/* operators that the provider defines */
	u32 num_impls;
	u32 num_devices;
	char name[DK_NAME_MAX];
};

struct dkc_private_backend {
	char name[DK_NAME_MAX];		/* empty: not bound */
	u32 users;
	struct dkc_provider *alone;	/* joined with DK_JOIN_ALONE: no other may join; or NULL */
};

struct dk_registry {
	/* read by calls, so kept apart from fields that are often written */
	const struct dk_layout *layout;
	struct dk_hooks __rcu *hooks;	/* newest first */
	struct dkc_stats __rcu *stats;	/* NULL: calls are not counted */
	bool v1;			/* use the code that is specialized for v1 */
	bool shutdown;
	bool unpublished;	/* being made or freed: no other thread can use it */
	u8 tables;		/* enum dkc_tables */
	bool watched;		/* there are hooks, or calls are counted or traced */
	bool traced;
	bool notifies_unlocked;	/* a notifier has a function @unlocked */
	bool is_default;		/* the default registry, which must not be freed */
	u32 visitors;			/* number of visits: dkc_registry_visit() */
	struct dk_registry *next_registry;	/* in the list of all registries */
	u32 offline;			/* offline backends, for readers */
	u32 want_offline;		/* offline backends after the change in progress */
	struct dkc_offline since[DKC_MAX_BACKENDS];
	u32 changes;			/* incremented by each half of a change: struct dkc_view */
	u32 named;			/* backends with a private name */
	const struct dkc_reg *ignored;	/* regarded as not registered, to explain a call; or NULL */
	u32 flags;
	/* 1 + the first slot of @ops whose operator may lack a table, or 0 if none does */
	u32 unbuilt;
	struct dkc_optab __rcu *ops;
	struct dkc_devmap __rcu *devmap;
	struct dkc_reg **builtin;		/* builtin fallbacks, by slot */
	struct dkc_reg __rcu **fallback;	/* fallbacks of providers, by slot */
	/* by backend; all backends that are not private point to one element, which has no name */
	struct dkc_private_backend *private_backend[DKC_MAX_BACKENDS + 1];
	struct mutex lock;		/* held by writers */
	struct dk_op *order, *first;	/* the tree of names, and the first operator: order.c */
	u32 sorted_slots;		/* operators in later slots of @ops may not be in @order */
	u32 num_ops;
	u32 num_listed;			/* operators with a definition or functions */
	u32 num_impls;			/* functions of operators */
	u32 num_devices;
	u32 impls_at[DKC_MAX_BACKENDS + 1];	/* functions and fallbacks, by backend */
	u32 devices_of[DKC_MAX_BACKENDS + 1];
	u64 providers_so_far;
	struct dkc_notifier *notifiers;
	u64 num_held;	/* handles and listeners, plus 1 for each listener that runs */
	u64 generation;
	struct dkc_stats *counters;	/* for writers; published as @stats */
	u32 free_counter;		/* number of the first free counter, 0: none */
	u32 used_counters;
	u64 lost_counts;		/* dkc_counts_lost() when counting began or was reset */
	u64 withdrawn_counts;		/* calls of functions removed since the last reset */
	u64 past_counts;		/* calls before the last reset */
	u64 times_counted;		/* how often counters were switched on */
	u32 fallbacks_removed;		/* removed fallbacks whose calls may still run */
	u64 hooks_so_far;
	atomic_long_t sequence;	/* numbers hooked calls with an autograd key */
	struct dk_hooks trace;		/* the hooks of DK_TRACE: lib/trace.c */
	struct dk_op *stale;		/* replaced operators */
	struct dkc_provider *providers;
	struct dkc_provider *removed;	/* freed when the lock is released */
	struct dkc_block *builtin_block;
	struct dkc_index *indexes[DKC_BUCKETS];
	struct dkc_block *blocks[DKC_BUCKETS];	/* by the caller's array */
	struct dkc_scratch *scratch;
	struct dkc_private_backend private_backends[];
};

/* What the rules choose for a runtime key. */
struct dkc_pick {
	const struct dkc_reg *reg;	/* NULL: missing or ambiguous */
	enum dk_provenance prov;
};

#endif /* _DKC_TYPES_H */
