/* SPDX-License-Identifier: GPL-2.0-only */
/* What the unit tests take from a libc, where there is the kernel instead. */
#ifndef _SELFTESTS_KUNIT_STDLIB_H
#define _SELFTESTS_KUNIT_STDLIB_H

/* first, as a member there is called free */
#include <kunit/test.h>
#include <linux/slab.h>

#define malloc(size)	kmalloc(size, GFP_KERNEL)
#define free(p)		kfree(p)

#endif
