// SPDX-License-Identifier: GPL-2.0-only
/*
 * dk_kunit: runs the unit tests of selftests/unit as suites of KUnit when the module is loaded.
 * index_test is not included: the API tests compute the same digests
 * (selftests/api/table_indexes.c).
 */
#include <linux/module.h>

#include <dispatchkey.h>

MODULE_DESCRIPTION("dispatchkey's unit tests, in KUnit");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
