/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Registrations, the rules that choose a function for a key, and the tables built from both. */
#ifndef _DKC_TABLE_H
#define _DKC_TABLE_H

#include "types.h"

static inline struct dkc_block *dkc_block_of(const struct dkc_reg *r)
{
	return (struct dkc_block *)((char *)(r - r->place) - offsetof(struct dkc_block, regs));
}

/* block.c: return the run of a registration, its operator, or its element of the caller's array. */
struct dkc_run *dkc_run_of(const struct dkc_reg *r);
/* Returns NULL for a backend fallback. */
struct dk_op *dkc_reg_op(const struct dkc_reg *r);
const struct dk_impl *dkc_impl_of(const struct dkc_reg *r);
/*
 * Returns the next registration of the operator. Registrations without a device come first, then
 * those of devices. Both parts are sorted from newest to oldest. The caller must hold the lock or
 * be in a read-side critical section.
 */
struct dkc_reg *dkc_next_reg(const struct dkc_reg *r);
/* Returns the keyset of the key of @r; 0 for an alias key. */
u64 dkc_reg_bits(const struct dkc_reg *r, const struct dk_layout *l);

/*
 * Returns where a struct dkc_numbers has the number of the counter of @r. The struct is @numbers of
 * the block or, if @r is a fallback, @numbers of the operator that is called.
 */
static inline u32 dkc_place_of(const struct dkc_reg *r)
{
	return dkc_block_of(r)->fallback ? r->slot : r->place;
}

/* Ends a walk before the registrations of devices: returns NULL if @r is one of these, else @r. */
static inline struct dkc_reg *dkc_without_device(struct dkc_reg *r)
{
	return r && !r->of_device ? r : NULL;
}

/*
 * Returns the name of the operator, or "" for a backend fallback. The name is read from the
 * declaration, because the operator may be freed while a call is deferred.
 */
static inline const char *dkc_op_name_of(const struct dkc_reg *r)
{
	return dkc_block_of(r)->fallback ? "" : dkc_impl_of(r)->op->name;
}

/* Returns the label to print, or "" if there is none. */
static inline const char *dkc_label_of(const struct dkc_reg *r)
{
	const char *label = dkc_impl_of(r)->label;

	return label ? label : "";
}

/* Copies the names of a registration. A name that the registration lacks is an empty string. */
void dkc_reg_names(const struct dkc_reg *r, char label[DK_NAME_MAX],
		   char provider[DK_NAME_MAX], char device_name[DK_NAME_MAX]);

static inline bool dkc_is_fallthrough(const struct dkc_reg *r)
{
	return r && (dkc_impl_of(r)->flags & DK_IMPL_F_FALLTHROUGH);
}

static inline void *dkc_alloc(size_t size, bool may_sleep)
{
	return kvzalloc(size, may_sleep ? GFP_KERNEL : GFP_NOWAIT | __GFP_NOWARN);
}

static inline u64 dkc_backend_mask(const struct dk_registry *reg)
{
	return likely(reg->v1) ? DK_BACKEND_MASK : reg->layout->backend_mask;
}

/*
 * Returns the table of a device. The first slot is always free, and the search passes over it. The
 * search ends at the slot of the device, or at another free slot: its table is for other objects.
 */
static inline const struct dkc_table *
dkc_device_tables_table(const struct dkc_device_tables *tab, u32 device)
{
	u32 i = device & tab->mask;

	while (unlikely(tab->slot[i].number != device) && (tab->slot[i].number || !i))
		i = (i + 1) & tab->mask;
	return tab->slot[i].table;
}

/* True if dk__find() counts the calls that use a table. */
static inline bool dkc_is_counted(const struct dkc_table *table)
{
	return table->direct > DK__NOT_DIRECT && (table->direct & DK__COUNTS);
}

/* @devices and @counters share memory. @direct is odd if @counters is valid. */
static inline const struct dkc_device_tables *dkc_table_devices(const struct dkc_table *table)
{
	return table->direct & DK__COUNTS ? NULL : table->devices;
}

/* Returns the table for objects on @device. Devices without functions share one table. */
const struct dkc_table *dkc_table_of_device(const struct dkc_table *table, u32 device);

/* @id must be at least DKC_ID_FIRST. */
static inline const struct dk__entry *dkc_table_entry(const struct dkc_table *table,
						      unsigned long id)
{
	return dk__entry_of((const struct dk__table *)table, id);
}

/*
 * A view of the registry, for readers that evaluate the rules: the state that belongs to one value
 * of @changes. A NULL pointer stands for the view of the writer, which includes the change in
 * progress.
 */
struct dkc_view {
	u32 changes;		/* @changes of the registry */
	u32 offline;		/* offline backends */
};

static inline void dkc_view_begin(struct dkc_view *v, const struct dk_registry *reg)
{
	/*
	 * Pairs with smp_store_release() in dkc_changed(): the view includes everything that was
	 * stored before @changes got the value that is read here. Model: selftests/model/view.pml.
	 */
	v->changes = smp_load_acquire(&reg->changes);
	v->offline = READ_ONCE(reg->offline);
}

/* Returns false if a change was counted since dkc_view_begin(). The caller must then read again. */
static inline bool __must_check dkc_view_holds(const struct dkc_view *v,
					       const struct dk_registry *reg)
{
	/*
	 * Pairs with smp_wmb() in dkc_changed(): if @changes is still the same, the caller has read
	 * nothing that was stored after @changes got its next value. Model:
	 * selftests/model/view.pml.
	 */
	smp_rmb();
	return READ_ONCE(reg->changes) == v->changes;
}

#define DKC_HALF_CHANGE		1
#define DKC_WHOLE_CHANGE	2

/*
 * Counts a change. Called after the change has stored everything that readers can load. Changing
 * the state of a block takes two steps, which are counted as one half each: dkc_block_set_live().
 */
static inline void dkc_changed(struct dk_registry *reg, u32 halves)
{
	/* Pairs with smp_load_acquire() in dkc_view_begin(). */
	smp_store_release(&reg->changes, reg->changes + halves);
	/* Pairs with smp_rmb() in dkc_view_holds(): stores of later changes follow the count. */
	smp_wmb();
}

/* rules.c: true if a registration may serve after the change in progress. Only for the writer. */
bool dkc_may_serve(const struct dkc_reg *r);
/*
 * Returns the function that the rules choose for the key of a slot. @dev is NULL for objects on no
 * device. The caller must hold the lock or be in a read-side critical section.
 */
struct dkc_pick dkc_evaluate(const struct dk_op *op, const struct dkc_device *dev,
			     unsigned int slot, const struct dkc_view *view);
/*
 * Like dkc_evaluate(), but for a keyset. If a trimmed table lacks the entry, @prov of the result is
 * DK_PROV_NO_ENTRY.
 */
struct dkc_pick dkc_serving(const struct dk_op *op, const struct dkc_device *dev,
			    u64 ks, const struct dkc_view *view);
/* True if the entry of a slot is a fallthrough. */
bool dkc_falls_through(const struct dk_op *op, const struct dkc_device *dev,
		       unsigned int slot, const struct dkc_view *view);
/* Returns @ks without the functionalities that fall through at its highest backend. */
u64 dkc_mask_by_rules(const struct dk_op *op, const struct dkc_device *dev, u64 ks,
		      const struct dkc_view *view);
struct dkc_reg *dkc_fallback_at(const struct dk_op *op, unsigned int slot,
				const struct dkc_view *view);
struct dkc_reg *dkc_fallback_of(const struct dk_registry *reg, bool atomic,
				unsigned int slot, const struct dkc_view *view);
/* Returns the newest visible registration at a key, or NULL. */
struct dkc_reg *dkc_top(const struct dk_op *op, const struct dkc_device *dev,
			unsigned int key, const struct dkc_view *view);
/* Returns the first registration for objects on @dev whose key is in @set, or NULL. */
const struct dkc_reg *dkc_one_in(const struct dk_op *op, const struct dkc_device *dev, u64 set,
				 const struct dkc_view *view);
/* Like PyTorch's getBackendKeySetFromAutograd(), for the key of functionality @f on backend @b. */
u64 dkc_autograd_backends(const struct dk_layout *l, unsigned int f, unsigned int b);

/* Walks a set of slots, in order. */
#define dkc_for_each_slot(slot, slots, words)					\
	for (unsigned int word_ = 0; word_ < (words); word_++)			\
		for (u64 bits_ = (slots)[word_];				\
		     bits_ && ((slot) = 64 * word_ + __ffs64(bits_), true);	\
		     bits_ &= bits_ - 1)

/*
 * build.c: indexes. The caller must hold the lock. dkc_fallback_slots() sets @slots to the slots of
 * the keys that backend fallbacks serve in a table with @index. Fallthroughs do not count.
 */
void dkc_fallback_slots(const struct dk_registry *reg, const struct dkc_index *index, u64 *slots);
struct dkc_scratch *dkc_scratch_make(const struct dk_layout *l);
/* Copies the current backend fallbacks to the scratch area. Returns true if one has changed. */
bool dkc_fallbacks_changed(struct dk_registry *reg);
/* True if the change that dkc_fallbacks_changed() found may affect a table or its device tables. */
bool dkc_table_shows_change(const struct dk_registry *reg, const struct dkc_table *table);
/*
 * Returns the index for a table of an operator: if @first is the first registration of a device,
 * for the table of that device; if @first is NULL, for the table of all other objects. Returns NULL
 * if allocation fails.
 */
struct dkc_index * __must_check dkc_index_get(const struct dk_op *op,
					      const struct dkc_reg *first, bool may_sleep);
void dkc_index_put(struct dk_registry *reg, const struct dkc_index *shared);

/*
 * table.c: builds a table with its device tables. If @counted, the table has a counter for each
 * function, and the fast path counts the calls. Functions without a counter share counter 0.
 * Returns NULL if allocation fails. The caller must hold the lock.
 */
struct dkc_table * __must_check dkc_table_build(struct dk_op *op, bool counted, bool may_sleep);
/*
 * Free a table, which may be NULL. dkc_table_discard() is for a table that was not published.
 * dkc_table_retire() is for a replaced table, and frees it after a grace period.
 */
void dkc_table_discard(struct dk_registry *reg, const struct dkc_table *table);
void dkc_table_retire(struct dk_registry *reg, const struct dkc_table *table);
/* Returns the function or fallthrough in the entry of a slot, or NULL. */
const struct dkc_reg *dkc_table_reg(const struct dk_op *op, const struct dkc_table *table,
				    unsigned int slot);
/*
 * Returns the number of a counter, or 0 if there is none. It counts the calls of @op that @r serves
 * or, if @r is NULL, those that no function serves. @op is not used if @r is a function of an
 * operator. The caller must hold the lock or be in a read-side critical section.
 */
u32 dkc_reg_counter(const struct dk_op *op, const struct dkc_reg *r);

/*
 * Returns the table that the slow path uses: the published table or, if that is of kind
 * DKC_TABLE_BYPASS, the full table. If there is no full table, or the registry does not use it,
 * returns the published table: the slow path then evaluates the rules. The caller must hold the
 * lock or be in a read-side critical section.
 */
const struct dkc_table *dkc_table_of_op(const struct dk_op *op);

/* constant.c: constant tables. */
extern const struct dkc_index dkc_index_of_none;
extern const struct dkc_table dkc_table_undefined;
extern const struct dkc_table dkc_table_shutdown;
/* Returns a table that sends all calls to the slow path. @flags are the operator's flags. */
const struct dkc_table *dkc_table_bypass(unsigned int flags);

/*
 * block.c: blocks of registrations. The caller must hold the lock. dkc_block_alloc() makes an empty
 * block. It has space for the @n functions in @impls, at most DKC_MAX_BLOCK, or for one fallback at
 * up to @n keys.
 */
struct dkc_block * __must_check dkc_block_alloc(const struct dk_impl *impls, unsigned int n,
						bool fallback);
/* Adds the registration of @impl at @key to a block of a registry with layout @l. */
struct dkc_reg *dkc_block_add(struct dkc_block *b, const struct dk_layout *l,
			      const struct dk_impl *impl, unsigned int key);
/* Walks the registrations by key, newest first at each key. Starts and ends with NULL. */
const struct dkc_reg *dkc_reg_sorted(const struct dk_op *op, const struct dkc_reg *r);
/* Returns registration number @i, from 0, of a walk with dkc_reg_sorted(), or NULL. */
const struct dkc_reg *dkc_reg_at(const struct dk_op *op, unsigned int i);

/* Walks all registrations of an operator, those of devices last. Starts and ends with NULL. */
static inline const struct dkc_reg *dkc_reg_walk(const struct dk_op *op, const struct dkc_reg *r)
{
	return r ? dkc_next_reg(r) : dkc_deref_locked(op->regs, op->reg);
}

/* Walks only the registrations of devices. Starts and ends with NULL. */
const struct dkc_reg *dkc_device_reg_walk(const struct dk_op *op, const struct dkc_reg *r);

/*
 * args.c: argument descriptions of definitions. The caller must hold the lock, except for
 * dkc_args_of() and dkc_args_decl(). dkc_args_make() finds or makes the copy of a description, and
 * sets *@out to NULL if no copy is needed. Then dkc_args_give() publishes the copy, or
 * dkc_args_cancel() frees a new copy.
 */
int __must_check dkc_args_make(struct dk_op *op, const struct dk_op_decl *decl,
			       struct dkc_args **out);
void dkc_args_give(struct dk_op *op, struct dkc_args *args);
void dkc_args_cancel(const struct dk_op *op, struct dkc_args *args);
/* Frees all copies of an operator, after a grace period if they were @published. */
void dkc_args_free(struct dk_op *op, bool published);
/* Returns the last description, which stays valid as long as the operator, or NULL. */
const struct dkc_args *dkc_args_of(const struct dk_op *op);
/*
 * Returns the declaration that describes the arguments of a call through @decl: usually the one in
 * @args. Returns @decl if @args describes no arguments. Also returns @decl if both describe
 * arguments, but not of one struct, or if one has no signature, so they cannot be compared.
 */
const struct dk_op_decl *dkc_args_decl(const struct dkc_args *args, const struct dk_op_decl *decl);
/*
 * True if both declarations describe the same struct of arguments: a function for one of them can
 * read the arguments that were stored by the other. The names of the parameters may differ.
 */
bool dkc_same_struct(const struct dk_op_decl *a, const struct dk_op_decl *b);
/* Returns the hash of a signature, ignoring white space; 0 only for NULL. */
u64 dkc_sig_hash(const char *sig);
/*
 * True if @decl has a signature whose hash is not @sig. False if @sig is 0: unknown. If the hash is
 * @sig, stores a mark in decl->sig_mark: then calls by handle take the fast path. The mark includes
 * the address of the signature's text. So if a program copies the declaration and gives the copy
 * another signature, the copied mark does not match.
 */
bool dkc_is_other_sig(struct dk_op_decl *decl, u64 sig);
/* Returns the hash of an operator's signature, from its definition or functions; 0 if unknown. */
u64 dkc_op_sig(const struct dk_op *op);

#endif /* _DKC_TABLE_H */
