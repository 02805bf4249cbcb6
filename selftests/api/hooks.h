/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In test builds, every file of dispatchkey.ko includes this first. Its macros replace functions of
 * the kernel. So the tests can make allocations fail and count them (alloc.h), and count the work
 * done in one hold of a lock, or without letting other tasks run (work.h). Each inline function
 * calls the function that it replaces.
 */
#ifndef _SELFTESTS_API_HOOKS_H
#define _SELFTESTS_API_HOOKS_H

/* as in the files that print; must precede the kernel's headers, which define a default */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kmemleak.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "alloc.h"

/* The lock whose holds are measured, or NULL; see work.h. The functions are called only for it. */
extern struct mutex *dk_test_watched;

void dk_test_hold_begins(void);
void dk_test_hold_ends(void);
void dk_test_work(unsigned int kind, unsigned int n);
void dk_test_others_may_run(void);

#define dkc_work(kind, n)						\
do {									\
	if (READ_ONCE(dk_test_watched))					\
		dk_test_work(kind, n);					\
} while (0)

static inline void *dk_test_kvzalloc(size_t size, gfp_t gfp)
{
	return dk_test_taken(dk_test_alloc_fails() ? NULL : kvzalloc(size, gfp));
}

#undef kvzalloc
#define kvzalloc(size, gfp)	dk_test_kvzalloc(size, gfp)

static inline void *dk_test_kvcalloc(size_t n, size_t size, gfp_t gfp)
{
	return dk_test_taken(dk_test_alloc_fails() ? NULL : kvcalloc(n, size, gfp));
}

#undef kvcalloc
#define kvcalloc(n, size, gfp)	dk_test_kvcalloc(n, size, gfp)

static inline void *dk_test_kvmalloc_array(size_t n, size_t size, gfp_t gfp)
{
	return dk_test_taken(dk_test_alloc_fails() ? NULL : kvmalloc_array(n, size, gfp));
}

#undef kvmalloc_array
#define kvmalloc_array(n, size, gfp) dk_test_kvmalloc_array(n, size, gfp)

static inline void dk_test_kvfree(const void *p)
{
	kvfree(dk_test_given_back((void *)p));
}

#undef kvfree
#define kvfree(p)		dk_test_kvfree(p)

/* Only test builds have the layouts of PyTorch's releases, which are never freed. */
static inline void *dk_test_kept(void *p)
{
	kmemleak_not_leak(p);
	return p;
}

#define dkc_kept_alloc(size)	dk_test_kept(dk_test_kvzalloc(size, GFP_KERNEL))
#define dkc_kept_free(p)	dk_test_kvfree(p)

struct dk_test_object {
	struct rcu_head rcu;
};

static inline void dk_test_kvfree_rcu(struct dk_test_object *o)
{
	(void)dk_test_given_back(o);
	kvfree_rcu(o, rcu);
}

#undef kvfree_rcu
#define kvfree_rcu(p, member)						\
	dk_test_kvfree_rcu(container_of(&(p)->member, struct dk_test_object, rcu))

static inline void __percpu *dk_test_alloc_percpu(size_t size, size_t align, gfp_t gfp)
{
	void __percpu *p = dk_test_alloc_fails() ? NULL :
			   __alloc_percpu_gfp(size, align, gfp);

	(void)dk_test_taken((void *)(__force unsigned long)p);
	return p;
}

#undef __alloc_percpu_gfp
#define __alloc_percpu_gfp(size, align, gfp) dk_test_alloc_percpu(size, align, gfp)

static inline void dk_test_free_percpu(void __percpu *p)
{
	(void)dk_test_given_back((void *)(__force unsigned long)p);
	free_percpu(p);
}

#undef free_percpu
#define free_percpu(p)		dk_test_free_percpu(p)

static inline void dk_test_mutex_lock(struct mutex *lock)
{
	mutex_lock(lock);
	if (lock == READ_ONCE(dk_test_watched))
		dk_test_hold_begins();
}

#undef mutex_lock
#define mutex_lock(lock)	dk_test_mutex_lock(lock)

static inline void dk_test_mutex_unlock(struct mutex *lock)
{
	if (lock == READ_ONCE(dk_test_watched))
		dk_test_hold_ends();
	mutex_unlock(lock);
}

#undef mutex_unlock
#define mutex_unlock(lock)	dk_test_mutex_unlock(lock)

static inline void dk_test_cond_resched(void)
{
	if (READ_ONCE(dk_test_watched))
		dk_test_others_may_run();
	cond_resched();
}

#undef cond_resched
#define cond_resched()		dk_test_cond_resched()

#endif /* _SELFTESTS_API_HOOKS_H */
