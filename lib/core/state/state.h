/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The state of a registry: operators, devices, hooks, counters, and how changes are published. */
#ifndef _DKC_STATE_H
#define _DKC_STATE_H

#include "../table/table.h"

/*
 * registry.c: returns @reg or, if @reg is NULL, the default registry. Returns NULL if there is no
 * default registry. dkc_registry_locked() also takes the lock of the registry.
 */
struct dk_registry *dkc_registry(struct dk_registry *reg);
struct dk_registry *dkc_registry_locked(struct dk_registry *reg);

/* True if an operator is defined, or has functions or references. Declarations do not count. */
static inline bool dkc_op_alive(const struct dk_op *op)
{
	return op->num_regs || op->holders || op->definer;
}

/* True if an operator is defined or has functions. Listings show only these. */
static inline bool dkc_op_is_listed(const struct dk_op *op)
{
	return op->definer || op->num_regs;
}

/* True if an operator has functions but no definition. */
static inline bool dkc_op_dangles(const struct dk_op *op)
{
	return !op->definer && op->num_regs;
}

/* True if a declaration, and the code that calls through it, were compiled for this ABI version. */
static inline bool dkc_decl_fits(const struct dk_op_decl *decl)
{
	return decl->size == sizeof(*decl) && decl->call_abi == DK_ABI_VERSION;
}

/* Returns the operator's name in the caller's declaration, for messages. */
static inline const char *dkc_name_of_call(const struct dk_call *c)
{
	const struct dk_op_decl *decl = dk_call_decl(c);

	return decl && dkc_decl_fits(decl) && decl->name ? decl->name : "a call";
}

/* True if @op, to which a declaration points, is an operator: not NULL, not dk__unbound. */
static inline bool dkc_is_bound(const struct dk_op *op)
{
	return op && op != &dk__unbound;
}

/*
 * change.c: publishing. The caller must hold the lock. dkc_op_set_table() publishes the table that
 * calls use. It retires the previous table if that was a table with counters, but not if it was the
 * full table @base.
 */
void dkc_op_set_table(struct dk_op *op, const struct dkc_table *table);
/*
 * Publishes the table of each operator again: as @tables of the registry requires, a new table with
 * counters, the full table, or a constant table.
 */
void dkc_change_tables(struct dk_registry *reg, bool may_sleep);
/*
 * Called after hooks, counters or tracers were added or removed. Publishes other tables if needed.
 * @may_sleep is false after a removal: then nothing waits for memory, and calls take the slow path
 * if there is none.
 */
void dkc_change_watched(struct dk_registry *reg, bool may_sleep);
/* Called when call tracers may have changed. */
void dkc_change_traced(struct dk_registry *reg);
/* Makes a new block DKC_LIVE, or a live block DKC_REMOVED. */
void dkc_block_set_live(struct dkc_block *b, bool live);

/* The operators that a change affects. */
struct dkc_change {
	struct dk_op *ops;
	struct dkc_table *tables;	/* prepared, in the order of @ops */
};

void dkc_change_add(struct dkc_change *ch, struct dk_op *op);
/* Adds the operators affected by a change of backend fallbacks or of a backend's state. */
void dkc_change_add_fallbacks(struct dkc_change *ch, struct dk_registry *reg);
/* Builds all tables. Then dkc_change_commit() publishes or dkc_change_cancel() frees them. */
int __must_check dkc_change_prepare(struct dkc_change *ch);
void dkc_change_commit(struct dkc_change *ch);
void dkc_change_cancel(struct dkc_change *ch);
/* Builds and publishes the tables. Never fails: publishes constant tables if there is no memory. */
void dkc_change_force(struct dkc_change *ch);
/*
 * Builds, in bounded time, some of the tables for which there was no memory.
 * Returns true if more tables may be missing and no allocation failed.
 */
bool dkc_change_rebuild(struct dk_registry *reg, bool may_sleep);

/*
 * operators.c: binds a declaration to its operator in the default registry. The operator is never
 * freed afterwards. Context: any in which calls may be made; enters a read-side critical section.
 */
int __must_check dkc_op_pin(struct dk_op_decl *decl, struct dk_op **op);
/* Passed instead of flags: the function can serve atomic operators and all others. */
#define DKC_ANY_CLASS	(~0u)
/*
 * The caller of the following functions must hold the lock. dkc_op_obtain() returns the operator
 * for a definition or a function: @found, if it fits, else a replaced or new operator. Returns NULL
 * if allocation fails. If the caller does not use the operator, dkc_op_release() frees it.
 */
struct dk_op * __must_check dkc_op_obtain(struct dk_registry *reg, const struct dk_op_decl *decl,
					  struct dk_op *found, unsigned int flags);
void dkc_op_release(struct dk_op *op);
/* The number of references saturates, so that leaked references never wrap it. */
static inline void dkc_op_hold(struct dk_op *op)
{
	dkc_assert_writer(op->reg);
	op->holders += op->holders != ~0U;
}

static inline void dkc_op_unhold(struct dk_op *op)
{
	dkc_assert_writer(op->reg);
	op->holders -= op->holders != ~0U;
}

/* Frees all operators of a registry that is being freed. */
void dkc_ops_free(struct dk_registry *reg);

/* optab.c: the caller must hold the lock or be in a read-side critical section. */
struct dk_op *dkc_op_find(struct dk_registry *reg, const char *name);
/*
 * The caller of the following functions must hold the lock. dkc_optab_reserve() makes sure that
 * there is a free slot for dkc_optab_add().
 */
int __must_check dkc_optab_reserve(struct dk_registry *reg);
void dkc_optab_add(struct dk_op *op);
void dkc_optab_remove(struct dk_op *op);
/* Walks the operators; *@pos is 0 at the start. May sleep. */
struct dk_op *dkc_op_next(struct dk_registry *reg, u32 *pos);
/*
 * Like dkc_op_next(), but visits at most *@budget slots, including empty ones, and subtracts the
 * number of visited slots. If the result is NULL and *@budget is 0, there may be more operators.
 */
struct dk_op *dkc_op_next_of(struct dk_registry *reg, u32 *pos, u32 *budget);

/*
 * order.c: the operators sorted by name. The caller must hold the lock. dkc_order_some() sorts some
 * of the operators: it visits at most about @work slots and names. It returns 0 if all operators
 * are sorted, else -EAGAIN. The lock may be released between two calls.
 */
int __must_check dkc_order_some(struct dk_registry *reg, u32 work);
/*
 * Returns the first of the sorted operators whose name is @name or later or, if @after is true,
 * later than @name. Returns NULL if there is none.
 */
struct dk_op *dkc_op_from(const struct dk_registry *reg, const char *name, bool after);
/* Called after an operator was added to a slot of the table of names, or removed from it. */
void dkc_order_add(struct dk_op *op, u32 slot);
void dkc_order_remove(struct dk_op *op);

/*
 * notify.c: releases the lock after a change, then frees the providers that the change removed, and
 * calls @unlocked of each notifier.
 */
void dkc_registry_unlock(struct dk_registry *reg);
/* Must be called without a lock: with lockdep, waits for a grace period for each provider. */
void dkc_providers_free(struct dkc_provider *removed);
/*
 * Like dkc_registry_unlock(), but for a change that did not wait for calls: also frees retired
 * memory if there is a lot of it.
 */
void dkc_registry_unlock_flush(struct dk_registry *reg);

/* True if an address is in the memory of @owner, which is a module or a shared object. */
typedef bool (*dkc_owns_fn)(const void *owner, uintptr_t address);

/* What an owner has left: a provider, or an array or a definition of another owner's provider. */
struct dkc_left {
	struct dkc_provider *prov;
	struct dkc_block *block;	/* for which dkc_block_is_owned() is true; or NULL */
	struct dk_op *op;		/* its declaration is in the owner's memory; or NULL */
};

/*
 * registry.c: finds something that an owner has left in a registry. A provider belongs to the owner
 * that it names, and to the owner whose memory contains its struct dk_provider. The caller must
 * hold the lock.
 */
bool dkc_left_by(struct dk_registry *reg, dkc_owns_fn owns, const void *owner,
		 struct dkc_left *left);
/* True if the owner has left the provider, which is not drained yet. */
bool dkc_provider_is_owned(const struct dkc_provider *core, dkc_owns_fn owns, const void *owner);
/*
 * True if the array is in the owner's memory. If dkc_sees_unloading(), also if something is that an
 * element of the array points to.
 */
bool dkc_block_is_owned(const struct dkc_block *b, dkc_owns_fn owns, const void *owner);
/*
 * hook.c: dkc_hooks_of() returns hooks of an owner, or NULL: hooks whose struct or functions are in
 * the owner's memory. The caller must hold the lock.
 */
struct dk_hooks *dkc_hooks_of(struct dk_registry *reg, dkc_owns_fn owns, const void *owner);
/* Unregisters one of the owner's hooks. Returns false if there are none. Takes the lock. */
bool __must_check dkc_hooks_unregister_owned(struct dk_registry *reg, dkc_owns_fn owns,
					     const void *owner);
/*
 * registry.c: returns true if hooks of the owner are registered, or something is that
 * dkc_left_by() finds. In this case the registry cannot be freed before dkc_registry_visit_end().
 * Takes the lock.
 */
bool __must_check dkc_registry_visit(struct dk_registry *reg, dkc_owns_fn owns, const void *owner);
void dkc_registry_visit_end(struct dk_registry *reg);

/* devices.c: returns the device with a number, or NULL. Needs the lock or a read-side section. */
struct dkc_device *dkc_device_at(const struct dk_registry *reg, u32 number);
/* Like dkc_device_at(), but returns NULL if the device or its backend is offline. */
const struct dkc_device *dkc_device_online(const struct dk_registry *reg, u32 number);
/* Like dkc_device_online(), but with another set of offline backends, such as that of a view. */
const struct dkc_device *dkc_device_without(const struct dk_registry *reg, u32 number, u32 offline);
/* Returns the number of the device that a call is on, or 0. */
u32 dkc_device_of(const struct dk_layout *l, u64 ks, const struct dk_obj *const *objs,
		  unsigned int n);
/* True if the objects and the function @serves, if any, are on more than one online device. */
bool dkc_on_two_devices(const struct dk_registry *reg, const struct dkc_reg *serves,
			const struct dk_obj *const *objs, unsigned int n);
/* Copies a backend's private name or, if there is none, its name in the layout. Needs the lock. */
void dkc_backend_text(const struct dk_registry *reg, unsigned int backend, char buf[DK_NAME_MAX]);

enum dkc_event_kind {
	DKC_OP_DEFINED,
	DKC_OP_UNDEFINED,
	DKC_IMPL_ADDED,
	DKC_IMPL_REMOVED,
	DKC_BACKEND_BOUND,
	DKC_BACKEND_RELEASED,
	DKC_BACKEND_STATE,
	DKC_DEVICE_ADDED,
	DKC_DEVICE_REMOVED,
	DKC_DEVICE_STATE,
	DKC_PROVIDER_ADDED,
	DKC_PROVIDER_UNREGISTERING,
	DKC_PROVIDER_REMOVED,
};

struct dkc_event {
	const struct dk_registry *reg;
	enum dkc_event_kind kind;
	const char *name;		/* NULL for a backend fallback */
	u32 number;			/* of a backend or device */
	u32 key;			/* of a function */
	const char *provider;		/* the provider that made the change, or NULL */
	bool online;			/* state of a backend or device */
};

struct dkc_notifier {
	struct dkc_notifier *next;
	/* Called with the lock held for a change that can no longer fail; must not block. */
	void (*notify)(struct dkc_notifier *self, const struct dkc_event *event);
	/* NULL, or called after the lock is released; may sleep. */
	void (*unlocked)(struct dkc_notifier *self);
	/* NULL, or called when the registry is freed. */
	void (*release)(struct dkc_notifier *self);
};

/*
 * notify.c: these functions count what is added and removed, and call the notifiers. The caller
 * must hold the lock, and must already have incremented @generation of the registry.
 */
void dkc_notify_op(const struct dk_op *op, struct dkc_provider *core, bool added);
void dkc_notify_block(const struct dkc_block *b, bool added);
void dkc_notify_device(const struct dkc_device *dev, enum dkc_event_kind kind);
void dkc_notify_backend(const struct dk_registry *reg, unsigned int backend,
			const struct dkc_provider *core, enum dkc_event_kind kind);
void dkc_notify_provider(const struct dkc_provider *core, enum dkc_event_kind kind);
/* The caller must hold the lock. Remove a notifier only while no change is in progress. */
void dkc_notifier_add(struct dk_registry *reg, struct dkc_notifier *n);
void dkc_notifier_remove(struct dk_registry *reg, struct dkc_notifier *n);
/* Called when the registry is freed. Calls @release of each notifier. */
void dkc_notifiers_release(struct dk_registry *reg);

/*
 * counters.c: the caller must hold the lock, except for dkc_stats_count() and dkc_stats_free().
 * dkc_stats_cover() assigns a counter to each of these that has none: @op, its functions, and the
 * fallbacks in @table, which may be NULL. It returns false if an allocation failed.
 */
bool dkc_stats_cover(struct dk_op *op, const struct dkc_table *table, bool may_sleep);
/* Calls dkc_stats_cover() for all operators. Stops if an allocation fails. */
bool __must_check dkc_stats_cover_all(struct dk_registry *reg);
/*
 * If @b is the block of a fallback: all counters of operators at the fallback's slots now count for
 * @prov or, if @prov is NULL, for no provider. Otherwise does nothing.
 */
void dkc_stats_give_block(const struct dkc_block *b, const struct dkc_provider *prov);
/* When a block or operator is removed: add its counters to the registry's withdrawn_counts. */
void dkc_stats_withdraw_block(const struct dkc_block *b);
void dkc_stats_withdraw_op(const struct dk_op *op);
/* Release the counters of a block or operator. None of its calls may be running. */
void dkc_stats_forget_block(struct dkc_block *b);
void dkc_stats_forget_op(struct dk_op *op);
/* Adds a block of counters. Returns false if allocation fails. */
bool __must_check dkc_stats_grow(struct dk_registry *reg, bool may_sleep);
/* Ends counting. The caller must pass the result to dkc_stats_free() after a grace period. */
struct dkc_stats * __must_check dkc_stats_detach(struct dk_registry *reg);
void dkc_stats_free(struct dkc_stats *s);
/* Sets all counters to zero, including those of withdrawn blocks. */
void dkc_stats_zero(struct dk_registry *reg);
/* Returns the number of calls without a counter since the last reset. */
u64 dkc_stats_uncounted(const struct dk_registry *reg);
/* Walks the fallbacks for which @op has counters, by slot. Starts and ends with NULL. */
const struct dkc_reg *dkc_next_fallback(const struct dk_op *op, const struct dkc_reg *r);
/* Returns the value of counter @n: the calls since it was assigned or reset. */
u64 dkc_counted(const struct dk_registry *reg, u32 n);
/*
 * Counts a call that @r serves or, if @r is NULL, a call that no function serves. The caller must
 * make sure that @op and @r are not freed.
 */
void dkc_stats_count(const struct dk_op *op, const struct dkc_reg *r);

/*
 * A sum over counters: the calls that a provider served, or all calls, since the last reset before
 * the sum began. The caller sets @provider, and all other members to 0.
 */
struct dkc_calls {
	u64 provider;		/* number of the provider; 0: all calls */
	u64 count;
	u64 gone;		/* calls of functions and operators that are unregistered */
	u64 uncounted;		/* not in @count: calls of all providers that had no counter */
	u64 times_counted;	/* that of the registry: when it changes, the sum restarts */
	u32 starts;
	u32 counter;		/* the next one to add */
};

/*
 * Adds counters to a sum. Returns true if there are more. Stops when the cost reaches @work:
 * reading a counter costs @each, and skipping another provider's counter costs 1. The lock may be
 * released between two calls. Counting must be enabled. The counter of a function that exists
 * during the whole sum is added exactly once. After a reset, the sum for a provider is invalid.
 */
bool __must_check dkc_calls_add(struct dk_registry *reg, struct dkc_calls *c, u32 work, u32 each);

/* The state of a struct dk_frame. */
enum dkc_call_state {
	DKC_CALL_NOT_ENTERED,	/* dk_call_enter() failed */
	DKC_CALL_IN_GATE,	/* the call is in the gate */
	DKC_CALL_IN_SECTION,	/* in its own read-side critical section */
	DKC_CALL_IN_CALLERS,	/* in a read-side critical section of its caller */
	DKC_CALL_HOOKED = 4,	/* a flag: hooks ran before the call */
	DKC_CALL_TRACED = 8,	/* a flag: tracers are notified after the call */
};

#define DKC_CALL_FLAGS	(DKC_CALL_HOOKED | DKC_CALL_TRACED)

/* A call on the slow path: its arguments and its result. */
struct dkc_request {
	const struct dk_obj *const *objs;
	unsigned int n;
	bool mask;		/* apply the mask: not for a redispatch or a call by keyset */
	bool boxed;		/* the caller has boxed arguments */
	bool in_rcu;		/* the caller is in a read-side critical section */
	struct dk_op_decl *decl;	/* the caller's, to compare the signature; or NULL */
	u64 ks;
	dk_fn_t fn;
	const struct dkc_reg *reg;
	const struct dkc_args *args;	/* for a boxed function */
	bool at_key;		/* use the function at @key instead of the table */
	unsigned int key;
};

/*
 * hook.c: dkc_hooks_before() runs @before of each hook. If @err is not 0, the call fails, so
 * dkc_hooks_before() runs @after, too. Otherwise dkc_hooks_after() runs @after when the call ends.
 */
void dkc_hooks_before(struct dk_frame *f, struct dk_op *op, struct dkc_request *req, int err);
void dkc_hooks_after(struct dk_frame *f);

/*
 * The points of dkc_trace(): a function is registered or unregistered; a table is published; a
 * call begins, ends, or has no function; a deferred call is completed; a wait for the running
 * calls of a provider begins or ends.
 */
void dkc_trace_register(const struct dkc_reg *r);
void dkc_trace_unregister(const struct dkc_reg *r);
void dkc_trace_publish(const struct dk_op *op, const struct dkc_table *table);
void dkc_trace_call_enter(const struct dk_frame *f, const struct dkc_request *req);
void dkc_trace_call_exit(const struct dk_frame *f);
void dkc_trace_missing(const struct dk_op *op, u64 ks, int error);
void dkc_trace_complete(const struct dk_deferred *d, int result);
void dkc_trace_drain(const struct dkc_provider *prov, bool begin, bool unregisters, bool empty);

#endif /* _DKC_STATE_H */
