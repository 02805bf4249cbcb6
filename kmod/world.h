/* SPDX-License-Identifier: GPL-2.0-only */
/* Supplies the services of lib/core/base/world.h in the kernel. */
#ifndef _DK_KMOD_WORLD_H
#define _DK_KMOD_WORLD_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/stringhash.h>
#include <linux/tracepoint-defs.h>
#include <linux/types.h>
#include <linux/wait_bit.h>

#define DKC_BUCKETS		256
#define DKC_FIRST_OPS		64
#define dkc_free_table_rcu(table)	kvfree_rcu(table, rcu)
#define dkc_flush_retired()	do { } while (0)
#define dkc_now()		((u64)ktime_to_ms(ktime_get()) + 1)
/*
 * While a thread waits for a call to return, dkc_notice_wait() reports the call every DKC_NOTICE_MS
 * milliseconds. The kernel's message "waiting for %s to become free" has the same interval.
 * kmod/gate.c has the two functions below.
 */
#define DKC_NOTICE_MS		10000
void dkc_notice_wait(const char *prov, const char *call);
void dkc_misuse(const char *op, const char *text);
#define dkc_in_atomic()		(rcu_preempt_depth() > 0 || \
				 preempt_count() > 0 || irqs_disabled())
#define dkc_self()		((const void *)current)
#define dkc_wait_zero(p)						\
	wait_var_event(p, !smp_load_acquire(p)) /* pairs with dkc_clear_and_wake() */
/*
 * smp_mb() orders the store before wake_up_var()'s check for waiters. It pairs with
 * set_current_state() in wait_var_event(): compare NO_WAKE_ORDER in
 * selftests/model/dispatchkey.pml.
 */
#define dkc_clear_and_wake(p)						\
	do {								\
		smp_store_release(p, 0);	/* pairs with dkc_wait_zero() */ \
		smp_mb();	/* each waiter is queued, or reads the 0 */ \
		wake_up_var(p);						\
	} while (0)
#define dkc_cancel_off(was)	(*(was) = 0)
#define dkc_cancel_on(was)	((void)(was))
#define dkc_owner_name(mod)	((mod) ? module_name((struct module *)(mod)) : "")
#define dkc_owner_registers(owner)	do { } while (0)
void dkc_registry_created(struct dk_registry *reg);
void dkc_registry_destroyed(struct dk_registry *reg);
#define dkc_thread_depth()	((unsigned int *)NULL)
#define dkc_schema_check(schema, why)	0
#define dkc_op_name_check(text, name, why)	0
#define dkc_schema_check_decl(decl, why)	0
#define dkc_schema_compare(declared, inferred, why)	0

/* kmod/trace.c: number of enabled call tracepoints */
extern u32 dkc_call_tracers;
#define dkc_calls_are_traced()	(READ_ONCE(dkc_call_tracers) != 0)

/* kmod/trace.h. Enabling a call tracepoint replaces tables: see dkc_change_traced(). */
DECLARE_TRACEPOINT(dk_register);
DECLARE_TRACEPOINT(dk_unregister);
DECLARE_TRACEPOINT(dk_publish);
DECLARE_TRACEPOINT(dk_call_enter);
DECLARE_TRACEPOINT(dk_call_exit);
DECLARE_TRACEPOINT(dk_missing);
DECLARE_TRACEPOINT(dk_complete);
DECLARE_TRACEPOINT(dk_drain);
#define dkc_traced(point)	tracepoint_enabled(dk_##point)
#define dkc_num_forks()		0U
#define dkc_trace(point, ...)						\
	do {								\
		if (dkc_traced(point))					\
			dkc_trace_##point(__VA_ARGS__);			\
	} while (0)
#define dkc_trace_call(point, ...)	dkc_trace(point, __VA_ARGS__)

struct dkc_grace {
	unsigned long cookie;
};

/* A map that lockdep treats as a lock: see kmod/gate.c. Empty without CONFIG_LOCKDEP. */
struct dkc_call_map {
	struct lock_class_key key;
	struct lockdep_map map;
};

static inline void dkc_call_map_init(struct dkc_call_map *m, const char *name)
{
	lockdep_register_key(&m->key);
	lockdep_init_map(&m->map, name, &m->key, 0);
}

#define dkc_call_map_destroy(m)	lockdep_unregister_key(&(m)->key)
#define dkc_call_map_wait(m)						\
	do {								\
		lock_map_acquire(&(m)->map);				\
		lock_map_release(&(m)->map);				\
	} while (0)

struct dkc_counts {
	u64 __percpu *n;
};

#define dkc_count_at(c, i)	((struct dk__count){ (c)->n + (i) })
#define dkc_count_add(at)	dk__add_count(at)
#define dkc_counts_lost()	((u64)0)

#define dkc_section_is_gate(flags)	((flags) & DK_OP_ATOMIC)
#define dkc_slots_are_gate()	false
#define dkc_sees_unloading()	true
#define dkc_gate_owns(storage)	true
#define dkc_slot_of(storage)	((struct dk__slot){ storage })
#define dkc_is_out(table)		(!(table))
#define dkc_has_fast_calls()	true

/* kmod/gate.c. dkc_gate_enter() cannot fail here. */
void dkc_gate_take(u64 *storage, const struct dkc_reg *reg, const void *op);
#define dkc_gate_enter(storage, reg, op)	(dkc_gate_take(storage, reg, op), 0)

#endif /* _DK_KMOD_WORLD_H */
