/* SPDX-License-Identifier: GPL-2.0-only */
/* Provides the part of the C library that the unit tests need, in the kernel. */
#ifndef _SELFTESTS_KUNIT_STDLIB_H
#define _SELFTESTS_KUNIT_STDLIB_H

/* first, because a structure there has a member "free" */
#include <kunit/test.h>
#include <linux/slab.h>

#define malloc(size)	kmalloc(size, GFP_KERNEL)
#define free(p)		kfree(p)

#endif
