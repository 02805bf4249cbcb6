/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What the core takes from the world that it is built for: kernel, userspace
 * or bare metal. The core includes no other header than this one, the public
 * one and its own; below this line no file asks which world it is in.
 *
 * Every world gives the same things:
 *
 * types		u8 u16 u32 u64 bool size_t, errno numbers
 * memory		dkc_alloc() zeroed, may sleep; dkc_try_alloc() neither
 *			sleeps nor warns; dkc_free()
 * dkc_retire()		frees after a grace period, waits for nothing and
 *			cannot fail; the struct begins with a struct dkc_retired.
 *			dkc_retire_row() frees a row that no slot of a call points
 *			into any more, where slots protect calls
 * dkc_flush_retired()	a good moment to free what was retired: no lock is
 *			held, but the caller may be in a read section
 * struct dkc_mutex	dkc_mutex_init() _destroy() _lock() _unlock(); dkc_assert_held()
 *			is lockdep's, in the kernel
 * RCU			dkc_read_lock() dkc_read_unlock() dkc_deref()
 *			dkc_publish() dkc_synchronize() DKC_RCU_INIT()
 * struct dkc_grace	a grace period that is waited for until a deadline: see below
 * dkc_now()		a clock for deadlines, in ms; it never says 0
 * dkc_in_atomic()	is the caller where it must not wait for a grace period
 * dkc_might_sleep()	tells that a sleepable call is about to be made
 * dkc_section_stays()	tells the checker that a function returns inside of a
 * dkc_section_ends()	read section, and that another one ends it
 * gate			see struct dkc_inside below
 * dkc_section_is_gate()	does the read section of a call protect its provider, for an
 *			operator of these flags; dkc_slots_are_gate() does a slot of
 *			dk__begin(), for every operator
 * dkc_slot_of()		a slot for dk__begin(), in the kernel with its room
 * dkc_is_out()		is this the table of a call that has no slot, or is out of the gate
 * dkc_has_fast_calls()	may calls take the fast path at all
 * dkc_full_barrier()	orders all before it against all behind it;
 *			dkc_read_barrier() loads against loads
 * dkc_counter		dkc_count() adds one and gives the sum; dkc_uncount() takes
 *			one away, gives the rest, and is a full barrier
 * dkc_calls_are_traced()	does a tracer want to see calls
 * struct dkc_counts	see below
 * dkc_trace()		tells a tracer of what happened, by the function
 *			dkc_trace_POINT(), see registry.h
 * dkc_trace_call()	the same of calls that are watched; dkc_traced() is there one
 * dkc_thread_depth()	the calling thread's depth of calls that hooks are told
 *			of, or NULL where local state has it
 * dkc_registry_born()	a registry was made, and nobody knows of it yet;
 *			dkc_registry_dies() nobody uses it any more
 * dkc_owner_came()	a provider of this owner is about to be registered
 * dkc_self()		who is calling: a task or a thread
 * dkc_owner_name()	the name of a provider's module, "" where it is none's
 * dkc_cancel_off()	the thread is not ended by another one until dkc_cancel_on();
 *			they keep in an int what was so before
 * dkc_strlen()		in userspace that of libc, else the core's own
 * dkc_wait_zero()	wait until a number is 0; dkc_clear_and_wake() makes it so
 * dkc_schema_check()	is a schema one; dkc_schema_check_decl() does that of a
 *			declaration dispatch as its parameters do;
 *			dkc_schema_compare() does a function's fit the
 *			operator's. Only userspace has the grammar.
 */
#ifndef _DKC_DEPS_H
#define _DKC_DEPS_H

#define DKC_COUNTS	512	/* counters of a block */

/*
 * Test builds have selftests/api/alloc.c: is this allocation to fail? And how
 * much is in use?
 */
#ifdef DKC_FAIL_ALLOC
_Bool dkc_fail_alloc(void);
void *dkc_taken(void *p);
void *dkc_given_back(void *p);
#else
#define dkc_fail_alloc()	0
#define dkc_taken(p)		(p)
#define dkc_given_back(p)	(p)
#endif

/*
 * Test builds of the module have selftests/api/work.c: how much is done in one hold
 * of a lock?
 */
#if defined(DKC_FAIL_ALLOC) && defined(__KERNEL__)
enum dkc_work {
	DKC_WORK_EVALUATIONS,	/* of a table entry by the rules */
	DKC_WORK_COUNTERS,	/* read, one for each CPU */
	DKC_WORK_FUNCTIONS,	/* looked at in a list or table */
	DKC_WORK_SLOTS,		/* of the table of names passed in parts of a walk */
	DKC_WORK_ORDERED,	/* pointers moved to put operators into order */
	DKC_WORK_TABLES,	/* built after a drain */
	DKC_NUM_WORK
};

struct dkc_mutex;
void dkc_hold_begins(const struct dkc_mutex *lock);
void dkc_hold_ends(const struct dkc_mutex *lock);
void dkc_work(enum dkc_work kind, unsigned int n);
#else
#define dkc_hold_begins(lock)	((void)0)
#define dkc_hold_ends(lock)	((void)0)
#define dkc_work(kind, n)	((void)0)
#endif

struct dkc_reg;

#if defined(__KERNEL__)

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint-defs.h>
#include <linux/types.h>
#include <linux/wait_bit.h>

struct dkc_retired {
	struct rcu_head rcu;
};

struct dkc_counter {
	atomic_long_t n;
};

#define dkc_count(c)		atomic_long_inc_return(&(c)->n)
#define dkc_uncount(c)		atomic_long_dec_return(&(c)->n)

struct dkc_grace {
	unsigned long cookie;
};

/* kmod/trace.c: tracers of calls. */
extern u32 dkc_call_tracers;
#define dkc_calls_are_traced()	(READ_ONCE(dkc_call_tracers) != 0)

/* kmod/trace.h has them; those of calls set tables aside: dkc_change_traced(). */
DECLARE_TRACEPOINT(dk_register);
DECLARE_TRACEPOINT(dk_unregister);
DECLARE_TRACEPOINT(dk_publish);
DECLARE_TRACEPOINT(dk_call_enter);
DECLARE_TRACEPOINT(dk_call_exit);
DECLARE_TRACEPOINT(dk_missing);
DECLARE_TRACEPOINT(dk_drain);
#define dkc_traced(point)	tracepoint_enabled(dk_##point)
#define dkc_trace(point, ...)						\
	do {								\
		if (dkc_traced(point))					\
			dkc_trace_##point(__VA_ARGS__);			\
	} while (0)
#define dkc_trace_call(point, ...)	dkc_trace(point, __VA_ARGS__)

struct dkc_counts {
	u64 __percpu *n;
};

#define dkc_count_at(c, i)	((struct dk__count){ (c)->n + (i) })
#define dkc_count_add(at)	dk__add_count(at)
#define dkc_counts_lost()	((u64)0)

struct dkc_mutex {
	struct mutex m;		/* writers of one registry, one at a time */
};

#define dkc_mutex_init(l)	mutex_init(&(l)->m)
#define dkc_mutex_destroy(l)	mutex_destroy(&(l)->m)
#define dkc_assert_held(l)	lockdep_assert_held(&(l)->m)
#define dkc_mutex_lock(l)						\
	do {								\
		mutex_lock(&(l)->m);					\
		dkc_hold_begins(l);					\
	} while (0)
#define dkc_mutex_unlock(l)						\
	do {								\
		dkc_hold_ends(l);					\
		mutex_unlock(&(l)->m);					\
	} while (0)

/* Almost all is less than a page, which kvzalloc() asks about late. */
static inline void *dkc_get_zeroed(size_t size)
{
	return size <= PAGE_SIZE ? kzalloc(size, GFP_KERNEL) : kvzalloc(size, GFP_KERNEL);
}

#define dkc_alloc(size)							\
	dkc_taken(dkc_fail_alloc() ? NULL : dkc_get_zeroed(size))
#define dkc_try_alloc(size)						\
	dkc_taken(dkc_fail_alloc() ? NULL :				\
		  kzalloc(size, GFP_NOWAIT | __GFP_NOWARN))
#define dkc_free(p)		kvfree(dkc_given_back(p))
#define dkc_retire(p)							\
	do {								\
		(void)dkc_given_back(p);				\
		kvfree_rcu(p, retired.rcu);				\
	} while (0)
#define dkc_retire_row(p)	dkc_retire(p)
#define dkc_flush_retired()	do { } while (0)

#define dkc_section_is_gate(flags)	((flags) & DK_OP_ATOMIC)
#define dkc_slots_are_gate()	false
#define dkc_slot_of(room)	((struct dk__slot){ room })
#define dkc_is_out(row)		(!(row))
#define dkc_has_fast_calls()	true

/* kmod/gate.c: dkc_gate_enter(), which has room for every call. */
void dkc_gate_take(u64 *room, const void *prov, const struct dkc_reg *reg,
		   const void *op);
#define dkc_gate_enter(room, reg, op)					\
	(dkc_gate_take(room, dkc_block_of(reg)->prov, reg, op), 0)

#define dkc_read_lock()		rcu_read_lock()
#define dkc_read_unlock()	rcu_read_unlock()
/* in a read section, or by the writer who holds the registry's lock */
#define dkc_deref(p)		rcu_dereference_check(p, true)
/* by the writer, who holds the registry's lock */
#define dkc_deref_locked(p)	rcu_dereference_protected(p, true)
/* rcu_assign_pointer() of NULL would not order what was stored before it */
#define dkc_publish(p, v)	smp_store_release(&(p), RCU_INITIALIZER(v))
#define DKC_RCU_INIT(p)		RCU_INITIALIZER(p)
#define dkc_synchronize()	synchronize_rcu()
#define dkc_now()		((u64)ktime_to_ms(ktime_get()) + 1)
#define dkc_load(x)		READ_ONCE(x)
#define dkc_store(x, v)		WRITE_ONCE(x, v)
/* who loads so sees what was done before the store */
#define dkc_store_release(x, v)	smp_store_release(&(x), v)
#define dkc_load_acquire(x)	smp_load_acquire(&(x)) /* sees it */
#define dkc_full_barrier()	smp_mb()	/* who uses it says what it orders */
#define dkc_read_barrier()	smp_rmb()	/* likewise */
#define dkc_thread_depth()	((unsigned int *)NULL)
struct dk_registry;
void dkc_registry_born(struct dk_registry *reg);
void dkc_registry_dies(struct dk_registry *reg);
#define dkc_owner_came(owner)	do { } while (0)
#define dkc_in_atomic()		(rcu_preempt_depth() > 0 || \
				 preempt_count() > 0 || irqs_disabled())
/* The check alone: whether others are let run here, is the function's to say. */
#define dkc_might_sleep()	__might_sleep(__FILE__, __LINE__)
#define dkc_section_stays()	__release(RCU)
#define dkc_section_ends()	__acquire(RCU)
#define dkc_likely(x)		likely(x)
#define dkc_unlikely(x)		unlikely(x)
#define dkc_noinline		noinline
#define dkc_always_inline	__always_inline

#define dkc_self()		((const void *)current)
#define dkc_owner_name(mod)	((mod) ? module_name((struct module *)(mod)) : "")
#define dkc_cancel_off(was)	(*(was) = 0)
#define dkc_cancel_on(was)	((void)(was))
#define dkc_wait_zero(p)						\
	wait_var_event(p, !smp_load_acquire(p)) /* dkc_clear_and_wake() */
/* as NO_WAKE_ORDER of selftests/model/dispatchkey.pml */
#define dkc_clear_and_wake(p)						\
	do {								\
		smp_store_release(p, 0);	/* all is done that is waited for */ \
		smp_mb();	/* the waiter is in the queue, or sees the 0 */ \
		wake_up_var(p);						\
	} while (0)
#define dkc_schema_check(schema, why)	0
#define dkc_schema_check_decl(decl, why)	0
#define dkc_schema_compare(declared, inferred, why)	0

#elif defined(DK_BARE)

#include <dispatchkey-bare.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

void *memcpy(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memmove(void *dst, const void *src, size_t n);

/* One thread and no interrupts that call: nothing to lock, nothing to wait for. */
void *dkc_bare_alloc(size_t size);
void dkc_bare_free(void *p);
struct dkc_retired {
	u8 unused;
};

struct dkc_grace {
	u8 unused;
};

struct dkc_mutex {
	u8 unused;
};

struct dkc_counter {
	long n;
};

#define dkc_traced(point)	false
#define dkc_trace(point, ...)	do { } while (0)
#define dkc_trace_call(point, ...)	do { } while (0)

#define dkc_calls_are_traced()	false

struct dkc_counts {
	u64 *n;
};

#define dkc_count_at(c, i)	((struct dk__count){ &(c)->n[i] })
#define dkc_count_add(at)	dk__add_count(at)
#define dkc_counts_lost()	((u64)0)

#define dkc_count(c)		(++(c)->n)
#define dkc_uncount(c)		(--(c)->n)
#define dkc_thread_depth()	((unsigned int *)NULL)
#define dkc_registry_born(reg)	do { } while (0)
#define dkc_registry_dies(reg)	do { } while (0)
#define dkc_owner_came(owner)	do { } while (0)

#define dkc_mutex_init(l)	((void)(l))
#define dkc_mutex_destroy(l)	((void)(l))
#define dkc_assert_held(l)	((void)(l))
#define dkc_mutex_lock(l)	((void)(l))
#define dkc_mutex_unlock(l)	((void)(l))

#define dkc_alloc(size)		dkc_bare_alloc(size)
#define dkc_try_alloc(size)	dkc_bare_alloc(size)
#define dkc_free(p)		dkc_bare_free(p)
#define dkc_retire(p)		dkc_bare_free(p)
#define dkc_retire_row(p)	dkc_bare_free(p)
#define dkc_flush_retired()	do { } while (0)

#define dkc_section_is_gate(flags)	((flags) & DK_OP_ATOMIC)
#define dkc_slots_are_gate()	false
#define dkc_slot_of(room)	((struct dk__slot){ room })
#define dkc_is_out(row)		(!(row))
#define dkc_has_fast_calls()	true

#define dkc_read_lock()		((void)dk__bare_sections++)
#define dkc_read_unlock()	((void)dk__bare_sections--)
#define __rcu
#define DKC_RCU_INIT(p)		(p)
#define dkc_deref(p)		(p)
#define dkc_deref_locked(p)	(p)
#define dkc_publish(p, v)	((p) = (v))
#define dkc_synchronize()	do { } while (0)
#define dkc_now()		((u64)1)
#define dkc_load(x)		(x)
#define dkc_store(x, v)		((x) = (v))
#define dkc_store_release(x, v)	((x) = (v))
#define dkc_load_acquire(x)	(x)
#define dkc_full_barrier()	do { } while (0)
#define dkc_read_barrier()	do { } while (0)
#define dkc_in_atomic()		(dk__bare_sections > 0)
#define dkc_might_sleep()	do { } while (0)
#define dkc_section_stays()	do { } while (0)
#define dkc_section_ends()	do { } while (0)
#define dkc_likely(x)		__builtin_expect(!!(x), 1)
#define dkc_unlikely(x)		__builtin_expect(!!(x), 0)
#define dkc_noinline		__attribute__((noinline))
#define dkc_always_inline	inline __attribute__((always_inline))

#define dkc_self()		((const void *)&dk__bare_sections)
#define dkc_owner_name(mod)	((void)(mod), "")
#define dkc_cancel_off(was)	(*(was) = 0)
#define dkc_cancel_on(was)	((void)(was))
#define dkc_wait_zero(p)	do { } while (0)
#define dkc_clear_and_wake(p)	(*(p) = 0)
#define dkc_schema_check(schema, why)	0
#define dkc_schema_check_decl(decl, why)	0
#define dkc_schema_compare(declared, inferred, why)	0

#else /* userspace */

#ifdef __has_feature
#define dkc_has_feature(x)	__has_feature(x)
#else
#define dkc_has_feature(x)	0
#endif
#if defined(__SANITIZE_THREAD__) || dkc_has_feature(thread_sanitizer)
#define DKC_TSAN 1
#elif defined(__SANITIZE_ADDRESS__) || dkc_has_feature(address_sanitizer)
#define DKC_ASAN 1
#endif

/*
 * Inlines urcu_bp_read_lock(), _unlock() and _ongoing(), which liburcu wrote
 * short enough to be used in code under any licence; nothing else of it is.
 * ThreadSanitizer would see one side only of what they share; and UBSan, which
 * is known by the ASan beside it, by every call anew that liburcu's readers lie
 * where their type does not allow it.
 */
#if !defined(DKC_TSAN) && !defined(DKC_ASAN)
#define _LGPL_SOURCE
#endif
#include <urcu-bp.h>
#ifdef DKC_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#include <errno.h>
#include <linux/types.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#define dkc_strlen(s)		strlen(s)

struct dkc_retired {
	struct dkc_retired *next;
};

struct dkc_grace {
	struct dkc_grace_thread *thread;
};

struct dkc_mutex {
	pthread_mutex_t m;
};

struct dkc_counter {
	long n;
};

/* A variable that is reached without a table of addresses. */
#define DKC_HIDDEN	__attribute__((visibility("hidden")))
/* No call into the dynamic linker on the call path; keep these few and small. */
#define DKC_INITIAL_EXEC	__attribute__((tls_model("initial-exec")))

/* lib/probe.c; a tracer that comes counts itself. */
#ifdef DKC_PROBES
extern u32 dkc_call_probes DKC_HIDDEN;
extern u32 dkc_change_probes DKC_HIDDEN;
#else
#define dkc_call_probes		0
#define dkc_change_probes	0
#endif
#define dkc_traced(point)	(dkc_call_probes != 0)
#define dkc_trace(point, ...)						\
	do {								\
		if (dkc_change_probes)					\
			dkc_trace_##point(__VA_ARGS__);			\
	} while (0)
#define dkc_trace_call(point, ...)					\
	do {								\
		if (dkc_traced(point))					\
			dkc_trace_##point(__VA_ARGS__);			\
	} while (0)

#define dkc_calls_are_traced()	(dkc_call_probes != 0)

#define dkc_count(c)		__atomic_add_fetch(&(c)->n, 1, __ATOMIC_RELAXED)
#define dkc_uncount(c)		__atomic_sub_fetch(&(c)->n, 1, __ATOMIC_SEQ_CST)

#define dkc_mutex_init(l)	pthread_mutex_init(&(l)->m, NULL)
#define dkc_mutex_destroy(l)	pthread_mutex_destroy(&(l)->m)
#define dkc_assert_held(l)	((void)(l))
#define dkc_mutex_lock(l)	pthread_mutex_lock(&(l)->m)
#define dkc_mutex_unlock(l)	pthread_mutex_unlock(&(l)->m)

/* lib/gate.c: makes the calling thread known; 0 or -ENOMEM. */
int dkc_gate_thread_init(void);
extern __thread DKC_INITIAL_EXEC struct gate_record *dkc_gate_self DKC_HIDDEN;

#ifdef DKC_TSAN
extern char dkc_grace_period;
#define dkc_reader_ends()	__tsan_release(&dkc_grace_period)
#define dkc_readers_ended()	__tsan_acquire(&dkc_grace_period)
#else
#define dkc_reader_ends()	do { } while (0)
#define dkc_readers_ended()	do { } while (0)
#endif

/*
 * A thread's first call takes the slow path and begins a section: the record of the
 * thread is made now, so that no later call allocates.
 */
static inline void dkc_read_lock(void)
{
	if (__builtin_expect(!dkc_gate_self, 0))
		dkc_gate_thread_init();
	urcu_bp_read_lock();
}

static inline void dkc_read_unlock(void)
{
	dkc_reader_ends();
	urcu_bp_read_unlock();
}

/* lib/world.c */
void *dkc_alloc(size_t size);
void dkc_free(void *p);
#define dkc_try_alloc(size)	dkc_alloc(size)
void dkc_retire_node(struct dkc_retired *r);
#define dkc_retire(p)		dkc_retire_node(&(p)->retired)
void dkc_flush_retired(void);
struct dkc_row;
void dkc_retire_row(struct dkc_row *row);
void dkc_synchronize(void);
#define dkc_section_is_gate(flags)	((void)(flags), false)
#define dkc_slots_are_gate()	true
#define dkc_slot_of(room)	((void)(room), (struct dk__slot){ NULL })
#define dkc_is_out(row)		((const struct dk__table *)(row) == &dk__no_table)
extern bool dkc_fences DKC_HIDDEN;	/* lib/gate.c: there is membarrier() */
#define dkc_has_fast_calls()	dkc_fences
u64 dkc_now(void);
bool dkc_in_atomic(void);
unsigned int *dkc_thread_depth(void);
struct dk_registry;
void dkc_registry_born(struct dk_registry *reg);
void dkc_registry_dies(struct dk_registry *reg);
void dkc_owner_came(void *owner);

#define __rcu
#define DKC_RCU_INIT(p)		(p)
#define dkc_deref(p)		__atomic_load_n(&(p), __ATOMIC_ACQUIRE)
#define dkc_deref_locked(p)	__atomic_load_n(&(p), __ATOMIC_RELAXED)
#define dkc_publish(p, v)	__atomic_store_n(&(p), v, __ATOMIC_RELEASE)
#define dkc_load(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define dkc_store(x, v)		__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define dkc_store_release(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELEASE)
#define dkc_load_acquire(x)	__atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define dkc_full_barrier()	__atomic_thread_fence(__ATOMIC_SEQ_CST)
#ifdef DKC_TSAN
#define dkc_read_barrier()	do { } while (0)	/* it knows no fences */
#else
#define dkc_read_barrier()	__atomic_thread_fence(__ATOMIC_ACQUIRE)
#endif
#define dkc_might_sleep()	do { } while (0)
#define dkc_section_stays()	do { } while (0)
#define dkc_section_ends()	do { } while (0)
#define dkc_likely(x)		__builtin_expect(!!(x), 1)
#define dkc_unlikely(x)		__builtin_expect(!!(x), 0)
#define dkc_noinline		__attribute__((noinline))
#define dkc_always_inline	inline __attribute__((always_inline))

#define dkc_self()		((const void *)pthread_self())
#define dkc_owner_name(mod)	((void)(mod), "")
#define dkc_cancel_off(was)	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, was)
#define dkc_cancel_on(was)	pthread_setcancelstate(was, NULL)
void dkc_wait_zero(const __u32 *p);
#define dkc_clear_and_wake(p)	__atomic_store_n(p, 0, __ATOMIC_RELEASE)

/* lib/grammar.c */
struct dk_diag;
struct dk_op_decl;
int dkc_schema_check(const char *schema, struct dk_diag *why);
int dkc_schema_check_decl(const struct dk_op_decl *decl, struct dk_diag *why);
int dkc_schema_compare(const char *declared, const char *inferred,
		       struct dk_diag *why);

/* lib/count.c: every thread has counters of its own for the calls that it makes. */
struct dkc_counts {
	struct dkc_ended *block;
	u32 id;				/* its own */
};

#define dkc_count_at(c, i)	((struct dk__count){ (c)->id, (i) })

/* A thread's parts, by the number of their block. */
struct dkc_parts {
	struct dkc_parts *before;	/* what it has replaced: the thread may still read it */
	u32 size;
	u64 *part[];
};

struct dkc_thread_counts {
	u64 **by_block;			/* of @parts: what dk__add_count() reads */
	struct dkc_parts *parts;	/* replaced by others, under the gate's lock */
	bool incomplete;		/* lacks parts, and so it has no slots */
	u64 lost;			/* for lack of memory */
	struct dkc_thread_counts *next;
	struct dkc_thread_counts **link;
};

/* Of any thread; the count is lost if it has no part of the block, for lack of memory. */
struct dk__count;
void dkc_count_add(const struct dk__count *at);
u64 dkc_counts_lost(void);

#endif

/*
 * A grace period that one may stop waiting for. It is begun under the
 * registry's lock, once, and ended when nobody waits for it any more.
 * dkc_grace_begin() is false where there is no memory to begin with, and
 * dkc_grace_wait() when it was not over at the deadline, or at once if it has
 * not begun; a deadline of 0 is none.
 */
bool dkc_grace_begin(struct dkc_grace *g);
bool dkc_grace_wait(struct dkc_grace *g, u64 deadline);
void dkc_grace_end(struct dkc_grace *g);

/*
 * A block of DKC_COUNTS counters. dkc_count_add() adds one where dkc_count_at() has it,
 * writes nothing that another CPU or thread writes, and may be called wherever a call may
 * be made while the block is there; dk__add_count() does the same for a call that has a slot of
 * dk__begin(). dkc_counts_sum() is what all have added.
 * dkc_counts_init() is false where there is no memory. dkc_counts_lost() is what threads
 * could not add for lack of memory, to any counter.
 */
bool dkc_counts_init(struct dkc_counts *c, bool may_sleep);
void dkc_counts_destroy(struct dkc_counts *c);
u64 dkc_counts_sum(const struct dkc_counts *c, unsigned int i);

/*
 * The gate records the function and the provider of each call in flight. A call enters the
 * gate in its read section, and ends the section before the function runs, unless the
 * section itself protects the provider. In userspace the slot of a fast call is such a
 * record, too. Draining, dk_provider_inside() and the test for -EDEADLK read the same
 * records. Kernel: kmod/gate.c; userspace: lib/gate.c; bare metal: lib/core/bare.c.
 */

/* A call in flight, as it is shown to a dkc_inside_fn. */
struct dkc_inside {
	const void *prov;		/* the provider */
	const struct dkc_reg *reg;	/* whose function it is in */
	const void *op;			/* which was called */
	const void *who;		/* the world's own */
};

/*
 * The call may leave while this runs, so that @reg and @op are valid only if the
 * caller keeps them. Under the gate's lock or, in the kernel, in a read section: it may
 * read and copy, and no more.
 */
typedef bool (*dkc_inside_fn)(const struct dkc_inside *in, void *data);

#define DKC_GATE_ROOM	8	/* words, of which the gate makes a record */

/*
 * The calling thread is inside, until it leaves with the same @room. Returns 0, or
 * -ENOMEM where it cannot make a record for this thread.
 */
#ifndef dkc_gate_enter
int dkc_gate_enter(u64 *room, const struct dkc_reg *reg, const void *op);
#endif
void dkc_gate_leave(u64 *room);
/* Is @is true of any, or of any of the calling thread's? */
bool dkc_gate_any(bool mine, dkc_inside_fn is, void *data);
/*
 * Wait until it is true of none; false if it was still at the deadline, if any. It is
 * evaluated again after a call leaves @prov and after dkc_gate_wake(@reg).
 */
bool dkc_gate_wait(const void *prov, const void *reg, dkc_inside_fn is, void *data,
		   u64 deadline);
/* Something else changed that decides what a waiter of the registry waits for. */
void dkc_gate_wake(const void *reg);
/* Who it is, from a dkc_inside_fn: number and name of the task or thread. */
u32 dkc_inside_who(const struct dkc_inside *in, char *name, size_t size);

#endif /* _DKC_DEPS_H */
