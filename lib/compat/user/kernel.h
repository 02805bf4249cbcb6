/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Defines the kernel's names in userspace, with the C library, pthreads, the compiler's atomics
 * and liburcu's bp flavour.
 */
#ifndef _DKC_USER_KERNEL_H
#define _DKC_USER_KERNEL_H

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
 * Inlines urcu_bp_read_lock(), urcu_bp_read_unlock() and urcu_bp_read_ongoing(). They are so short
 * that liburcu's licence permits inlining them into code under any licence. They are not
 * inlined in ThreadSanitizer builds, because TSan must intercept both readers and grace periods.
 * They are not inlined in ASan builds, which include UBSan, because UBSan would report the
 * alignment of liburcu's reader struct in every caller.
 */
#if !defined(DKC_TSAN) && !defined(DKC_ASAN)
#define _LGPL_SOURCE
#endif
#include <urcu-bp.h>
#ifndef _LGPL_SOURCE
#include <urcu/static/urcu-bp.h>	/* urcu_bp_reader */
#endif
#ifdef DKC_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#include <assert.h>
#include <errno.h>
#include <linux/types.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../compiler.h"
#include "../stringhash.h"

/* lib/system.c */
void *dkc_zalloc(size_t size);
void dkc_free(void *p);
#define kvzalloc(size, gfp)	dkc_zalloc(size)
#define kvfree(p)		dkc_free((void *)(p))

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)	/* callers name the pair */
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE) /* callers name the pair */
#define cmpxchg(p, old, new)	__sync_val_compare_and_swap(p, old, new)
/*
 * A store with release semantics, which is atomic for signal handlers of the thread. Other threads
 * may load the value, but must not write it. On x86, no instruction is locked.
 */
#if defined(__x86_64__) && !defined(DKC_TSAN)
#define cmpxchg_local(p, old, new) ({					\
	__typeof__(*(p)) dkc_was = (old);				\
	__asm__ volatile("cmpxchg %2, %1"				\
			 : "+a" (dkc_was), "+m" (*(p)) : "r" (new) : "memory", "cc"); \
	dkc_was;							\
})
#else
#define cmpxchg_local(p, old, new) ({					\
	__typeof__(*(p)) dkc_was = (old);				\
	__atomic_compare_exchange_n(p, &dkc_was, new, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED); \
	dkc_was;							\
})
#endif
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)	/* callers name the pair */
#ifdef DKC_TSAN
#define smp_rmb()		do { } while (0)	/* ThreadSanitizer does not model fences */
#define smp_wmb()		do { } while (0)	/* callers name the pair */
#else
#define smp_rmb()		__atomic_thread_fence(__ATOMIC_ACQUIRE)	/* callers name the pair */
#define smp_wmb()		__atomic_thread_fence(__ATOMIC_RELEASE)	/* callers name the pair */
#endif

typedef struct {
	long counter;
} atomic_long_t;

#define atomic_long_inc_return(v) __atomic_add_fetch(&(v)->counter, 1, __ATOMIC_SEQ_CST)
#define atomic_long_dec_return(v) __atomic_sub_fetch(&(v)->counter, 1, __ATOMIC_SEQ_CST)

struct mutex {
	pthread_mutex_t m;
};

#define DEFINE_MUTEX(name)	struct mutex name = { PTHREAD_MUTEX_INITIALIZER }
#define mutex_init(l)		pthread_mutex_init(&(l)->m, NULL)
#define mutex_destroy(l)	pthread_mutex_destroy(&(l)->m)
#define mutex_lock(l)		pthread_mutex_lock(&(l)->m)
#define mutex_unlock(l)		pthread_mutex_unlock(&(l)->m)
#define lockdep_is_held(l)	((void)(l), 1)
#define lockdep_assert(cond)	((void)(cond))

/*
 * liburcu defines the kernel's names as macros for its own functions. The struct rcu_head below is
 * smaller than liburcu's, which has members for call_rcu(). call_rcu() is not used, because it
 * starts a thread in the user's process.
 */
#undef rcu_read_lock
#undef rcu_read_unlock
#undef rcu_dereference
#undef rcu_assign_pointer
#undef synchronize_rcu
#define rcu_head		dkc_rcu_head

struct rcu_head {
	struct rcu_head *next;
};

/* lib/rcu.c: frees an object after a grace period. The rcu_head must be its first member. */
void dkc_free_rcu(struct rcu_head *r);
void dkc_synchronize_rcu(void);
#define synchronize_rcu()	dkc_synchronize_rcu()

#define rcu_dereference_check(p, cond)		__atomic_load_n(&(p), __ATOMIC_ACQUIRE)
#define rcu_dereference_protected(p, cond)	__atomic_load_n(&(p), __ATOMIC_RELAXED)
#define rcu_assign_pointer(p, v)		__atomic_store_n(&(p), v, __ATOMIC_RELEASE)

/* For variables that are addressed directly and not through the global offset table. */
#define DKC_HIDDEN		__attribute__((visibility("hidden")))
/*
 * Thread-local variables that are addressed without a call of __tls_get_addr(). Libraries loaded
 * with dlopen() share a small space for them: keep them few and small.
 */
#define DKC_INITIAL_EXEC	__attribute__((tls_model("initial-exec")))

/* lib/thread.c: makes the record of the calling thread. Returns 0 or -ENOMEM. */
int dkc_record_make(void);
/* lib/rcu.c: registers the calling thread with liburcu, after dkc_record_make(). */
void dkc_rcu_thread_init(void);
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
 * A thread's first call takes the slow path, which begins a section. The record of the thread is
 * made here, so that later calls of the thread do not allocate. The thread is also registered with
 * liburcu here, because urcu_bp_read_lock() would register it without the lock @registering of
 * lib/rcu.c.
 */
static inline void rcu_read_lock(void)
{
	if (unlikely(!dkc_gate_self))
		dkc_record_make();
	if (unlikely(!URCU_TLS(urcu_bp_reader)))
		dkc_rcu_thread_init();
	urcu_bp_read_lock();
}

static inline void rcu_read_unlock(void)
{
	dkc_reader_ends();
	urcu_bp_read_unlock();
}

#endif /* _DKC_USER_KERNEL_H */
