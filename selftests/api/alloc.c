// SPDX-License-Identifier: GPL-2.0-only
/* See alloc.h. One test at a time uses this. */
#include "../../lib/core/deps.h"
#include "alloc.h"

#ifdef __KERNEL__
#include <linux/export.h>
#else
#define EXPORT_SYMBOL_GPL(name)	_Static_assert(sizeof(#name), #name)
#endif

static const void *who;		/* fails: a task or a thread, or NULL */
static unsigned int fail_at, num_failed;
static void (*at_alloc)(void);
static struct dkc_counter in_use;

_Bool dkc_fail_alloc(void)
{
	bool mine = dkc_load(who) == dkc_self();

	if (mine && at_alloc)
		at_alloc();
	if (mine && fail_at && (fail_at == DK_TEST_EVERY || !--fail_at)) {
		num_failed++;
		return true;
	}
	return false;
}

void *dkc_taken(void *p)
{
	if (p)
		dkc_count(&in_use);
	return p;
}

void *dkc_given_back(void *p)
{
	if (p)
		dkc_uncount(&in_use);
	return p;
}

unsigned int dk_test_fail_alloc(unsigned int nth)
{
	unsigned int n = num_failed;

	dkc_store(who, dkc_self());
	fail_at = nth;
	num_failed = 0;
	return n;
}
EXPORT_SYMBOL_GPL(dk_test_fail_alloc);

long dk_test_allocs(void)
{
	/* there is no reading without writing */
	dkc_count(&in_use);
	return dkc_uncount(&in_use);
}
EXPORT_SYMBOL_GPL(dk_test_allocs);

void dk_test_at_alloc(void (*look)(void))
{
	dkc_store(who, dkc_self());
	at_alloc = look;
}
EXPORT_SYMBOL_GPL(dk_test_at_alloc);
