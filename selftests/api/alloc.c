// SPDX-License-Identifier: GPL-2.0-only
/* See alloc.h. Only one test at a time uses these functions. */
#include "../../lib/core/base/world.h"
#include "alloc.h"

#ifdef __KERNEL__
#include <linux/export.h>
#else
#define EXPORT_SYMBOL_GPL(name)	_Static_assert(sizeof(#name), #name)
#endif

static const void *owner;		/* the task or thread that the settings are for, or NULL */
static unsigned int fail_at, num_failed;
static void (*at_alloc)(void);
static atomic_long_t in_use;

bool dk_test_alloc_fails(void)
{
	bool mine = READ_ONCE(owner) == dkc_self();

	if (mine && at_alloc)
		at_alloc();
	if (mine && fail_at && (fail_at == DK_TEST_EVERY || !--fail_at)) {
		num_failed++;
		return true;
	}
	return false;
}

void *dk_test_taken(void *p)
{
	if (p)
		atomic_long_inc_return(&in_use);
	return p;
}

void *dk_test_given_back(void *p)
{
	if (p)
		atomic_long_dec_return(&in_use);
	return p;
}

#ifndef __KERNEL__
static void (*at_free)(void);

/* The linker's --wrap redirects calls to these functions; in the kernel, hooks.h does this. */
void *__real_dkc_zalloc(size_t size);
void *__wrap_dkc_zalloc(size_t size);
void __real_dkc_free(void *p);
void __wrap_dkc_free(void *p);

void *__wrap_dkc_zalloc(size_t size)
{
	return dk_test_taken(dk_test_alloc_fails() ? NULL : __real_dkc_zalloc(size));
}

void __wrap_dkc_free(void *p)
{
	if (READ_ONCE(owner) == dkc_self() && at_free)
		at_free();
	__real_dkc_free(dk_test_given_back(p));
}
#endif

unsigned int dk_test_fail_alloc(unsigned int nth)
{
	unsigned int n = num_failed;

	WRITE_ONCE(owner, dkc_self());
	fail_at = nth;
	num_failed = 0;
	return n;
}
EXPORT_SYMBOL_GPL(dk_test_fail_alloc);

long dk_test_allocs(void)
{
	long n;

	/* read @in_use with full ordering, by an increment and a decrement */
	atomic_long_inc_return(&in_use);
	n = atomic_long_dec_return(&in_use);
#ifndef __KERNEL__
	/* do not count memory that is freed later; in the kernel, kvfree_rcu() has subtracted it */
	n -= dk_test_retired();
#endif
	return n;
}
EXPORT_SYMBOL_GPL(dk_test_allocs);

void dk_test_at_alloc(void (*look)(void))
{
	WRITE_ONCE(owner, dkc_self());
	at_alloc = look;
}
EXPORT_SYMBOL_GPL(dk_test_at_alloc);

#ifndef __KERNEL__
void dk_test_at_free(void (*look)(void))
{
	WRITE_ONCE(owner, dkc_self());
	at_free = look;
}
#endif
