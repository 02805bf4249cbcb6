/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The core is built for one of three worlds: the kernel, userspace or bare metal. Only the
 * #include lines below depend on the world.
 *
 * The core is written with the kernel's names. In userspace and on bare metal, a file kernel.h
 * defines the names that the core uses: types and errno numbers, kvzalloc() and kvfree(),
 * mutexes, RCU, atomics and barriers, lockdep and sparse annotations.
 *
 * Each world also supplies the services below, in its world.h and in functions of kmod/,
 * lib/ or lib/compat/bare. gate.h describes the services for calls in flight.
 *
 * dkc_free_table_rcu()	Like kvfree_rcu(), for a table. In userspace the table is freed only
 *			when no slot points into it.
 * dkc_flush_retired()	In userspace, frees the memory that kvfree_rcu() has collected, if it is
 *			a lot. The caller must hold no lock. Inside a read-side critical
 *			section it does nothing.
 * dkc_now()		Returns the time in ms, for deadlines; never 0.
 * dkc_notice_wait()	Reports that unregistering or a change of state waits for a call: in
 *			the kernel's log, or on stderr. Called every DKC_NOTICE_MS, with no lock
 *			held. Never called if DKC_NOTICE_MS is 0.
 * dkc_misuse()		Reports a mistake of the caller: in the kernel's log, or on stderr.
 *			Async-signal-safe. Takes the name of an operator, and the text
 *			that follows the name.
 * dkc_call_map_wait()	Called before waiting for the calls of a provider. In the kernel it lets
 *			lockdep report possible deadlocks.
 * dkc_in_atomic()	True if the caller must not wait for a grace period.
 * dkc_self()		The calling task or thread.
 * dkc_wait_zero()	Waits until a number is 0; dkc_clear_and_wake() sets it to 0.
 * dkc_cancel_off()	Defers cancellation of the calling thread until dkc_cancel_on(). Stores
 *			the previous state in an int, to be passed to dkc_cancel_on().
 * dkc_owner_name()	The name of a provider's module, or "".
 * dkc_sees_unloading()	True in the kernel: no owner is unloaded unnoticed, so all arrays that are
 *			registered can be read. In userspace, the library does not notice a
 *			plugin without a provider.
 * dkc_owner_registers()	Called with a provider's owner, before the provider is registered.
 * dkc_registry_created()	Called after a registry was made, before it is returned.
 * dkc_registry_destroyed()	Called for a registry that will be freed, before its last grace
 *			period.
 * dkc_trace()		Calls dkc_trace_POINT(), see state/state.h, if a tracer is
 *			attached. dkc_trace_call() does the same for call tracepoints.
 *			dkc_traced() and dkc_calls_are_traced() test for a tracer.
 * dkc_thread_depth()	Returns the address of the calling thread's nesting depth of hooked
 *			calls, or NULL if the depth is kept in the local state.
 * dkc_schema_check()	Parses a schema. dkc_op_name_check() parses the name of an operator,
 *			which may follow a namespace in a text.
 *			dkc_schema_check_decl() parses the schema of a declaration, in which
 *			any namespace is accepted, and compares it with the parameters.
 *			dkc_schema_compare() compares it with the schema of a function. Only
 *			userspace has the grammar; elsewhere all four return 0.
 * DKC_BUCKETS		The number of buckets in @indexes and in @blocks of a registry.
 * DKC_FIRST_OPS	The number of slots in a registry's first table of operators.
 */
#ifndef _DKC_WORLD_H
#define _DKC_WORLD_H

/* Kinds of work under a lock, which test builds of the module count: selftests/api/work.c. */
enum dkc_work {
	DKC_WORK_EVALUATIONS,	/* table entries evaluated by the rules */
	DKC_WORK_COUNTERS,	/* counters read; each CPU's part counts as one */
	DKC_WORK_FUNCTIONS,	/* functions visited in a list or table */
	DKC_WORK_SLOTS,		/* slots visited in the table of operators' names */
	DKC_WORK_ORDERED,	/* names compared to sort operators */
	DKC_WORK_TABLES,	/* tables built after a drain */
	DKC_WORK_STEPS,		/* steps of a change without cond_resched() between them */
	DKC_NUM_WORK
};

#ifndef dkc_work
#define dkc_work(kind, n)	((void)0)
#endif

#define DKC_COUNTS	512	/* counters of a struct dkc_counts */

struct dkc_reg;
struct dkc_table;
struct dk_diag;
struct dk_op_decl;
struct dk_registry;
struct dk__count;

#if defined(__KERNEL__)
#include "../../../kmod/world.h"
#elif defined(DK_BARE)
#include "../../compat/bare/world.h"
#else
#include "../../compat/user/world.h"
#endif

/* True for a writer, which holds the registry's lock or makes or frees the registry. */
#define dkc_is_writer(reg)	(lockdep_is_held(&(reg)->lock) || (reg)->unpublished)
#define dkc_assert_writer(reg)	lockdep_assert(dkc_is_writer(reg))
/* The caller must be in a read-side critical section or be a writer. */
#define dkc_deref(p, reg)	rcu_dereference_check(p, dkc_is_writer(reg))
/* The caller must be a writer. */
#define dkc_deref_locked(p, reg) rcu_dereference_protected(p, dkc_is_writer(reg))

/*
 * A grace period whose waiters can have deadlines. dkc_grace_begin() is called with the registry's
 * lock held, and returns false if allocation fails; it may then be called again. dkc_grace_wait()
 * returns false if the grace period is not over at @deadline, or at once if dkc_grace_begin()
 * failed. A @deadline of 0 means none. dkc_grace_end() is called when no waiter is left.
 */
bool __must_check dkc_grace_begin(struct dkc_grace *g);
bool __must_check dkc_grace_wait(struct dkc_grace *g, u64 deadline);
void dkc_grace_end(struct dkc_grace *g);

/*
 * A block of DKC_COUNTS counters. dkc_count_add() increments the counter that dkc_count_at()
 * returns, in any context in which calls may be made. It writes no cache line that another CPU or
 * thread writes. dk__add_count() does the same for a call with a slot of dk__begin().
 * dkc_counts_sum() adds up the counts of all CPUs or threads. dkc_counts_init() returns false if
 * allocation fails. dkc_counts_lost() returns how many increments, of any counter, were lost
 * because a thread had no memory for its counters.
 */
bool __must_check dkc_counts_init(struct dkc_counts *c, bool may_sleep);
void dkc_counts_destroy(struct dkc_counts *c);
u64 dkc_counts_sum(const struct dkc_counts *c, unsigned int i);

#endif /* _DKC_WORLD_H */
