/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Defines the kernel's names on bare metal. There is one thread, and interrupt handlers make no
 * calls, so locks and barriers do nothing. A grace period ends with the outermost read-side
 * critical section.
 */
#ifndef _DKC_BARE_KERNEL_H
#define _DKC_BARE_KERNEL_H

#include <dispatchkey-bare.h>

#include "../compiler.h"

#define static_assert		_Static_assert

void *memcpy(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memmove(void *dst, const void *src, size_t n);
#define strlen(s)		dkc_strlen(s)
size_t dkc_strlen(const char *s);

#include "../stringhash.h"

void *dkc_bare_alloc(size_t size);
void dkc_bare_free(void *p);
#define kvzalloc(size, gfp)	dkc_bare_alloc(size)
#define kvfree(p)		dkc_bare_free((void *)(p))
#define DKC_KEPT_MAX	(136 * 1024)	/* bytes, for all layouts */
void *dkc_bare_kept(size_t size);
#define dkc_kept_alloc(size)	dkc_bare_kept(size)
#define dkc_kept_free(p)	((void)(p))

/* There is only one thread, so none of these needs to order anything. */
#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, v)	((x) = (v))
#define smp_load_acquire(p)	(*(p))	/* callers name the pair */
#define smp_store_release(p, v)	(*(p) = (v))	/* callers name the pair */
#define cmpxchg(p, old, new) ({						\
	__typeof__(*(p)) was_ = *(p);					\
									\
	if (was_ == (old))						\
		*(p) = (new);						\
	was_;								\
})
#define smp_mb()		do { } while (0)	/* callers name the pair */
#define smp_rmb()		do { } while (0)	/* callers name the pair */
#define smp_wmb()		do { } while (0)	/* callers name the pair */

typedef struct {
	long counter;
} atomic_long_t;

#define atomic_long_inc_return(v)	(++(v)->counter)
#define atomic_long_dec_return(v)	(--(v)->counter)

struct mutex {
	u8 unused;
};

#define DEFINE_MUTEX(name)	struct mutex name = { 0 }
#define mutex_init(l)		((void)(l))
#define mutex_destroy(l)	((void)(l))
#define mutex_lock(l)		((void)(l))
#define mutex_unlock(l)		((void)(l))
#define lockdep_is_held(l)	((void)(l), 1)
#define lockdep_assert(cond)	((void)(cond))

struct rcu_head {
	struct rcu_head *next;
};

/* The rcu_head must be the first member of the object that is freed. */
void dkc_free_rcu(struct rcu_head *r);

#define rcu_read_lock()		((void)dk__bare_sections++)
#define rcu_read_unlock()	((void)dk__bare_sections--)
#define rcu_dereference_check(p, cond)		(p)
#define rcu_dereference_protected(p, cond)	(p)
#define rcu_assign_pointer(p, v)		((p) = (v))
#define synchronize_rcu()	do { } while (0)

#endif /* _DKC_BARE_KERNEL_H */
