/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replaces selftests/unit/tap.h in the kernel, where a test is a case of KUnit. A file that
 * includes unit tests must use TAP_SUITE() after them, with the list of tests that kbuild has made.
 */
#ifndef _SELFTESTS_KUNIT_TAP_KUNIT_H
#define _SELFTESTS_KUNIT_TAP_KUNIT_H

#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "core.h"

#define dkc_layout(l)		((l) ? (l) : dk_test_core.v1)
#define dkc_key_alias		dk_test_core.key_alias
#define dkc_refuse		dk_test_core.refuse
#define dkc_starts_with		dk_test_core.starts_with
#define dkc_streq		dk_test_core.streq
#define dkc_strcaseeq		dk_test_core.strcaseeq
#define dkc_strcpy		dk_test_core.strcpy
#define dkc_strncpy		dk_test_core.strncpy

static struct kunit *tap_now;
static bool tap_failed;

#define printf(fmt, ...)	kunit_info(tap_now, fmt, ##__VA_ARGS__)

#define TEST(title)							\
	static void test_##title(void);					\
	static void tap_case_##title(struct kunit *test)		\
	{								\
		tap_now = test;						\
		tap_failed = false;					\
		test_##title();						\
		if (tap_failed)						\
			KUNIT_FAIL(test, "what was expected did not hold"); \
	}								\
	static void test_##title(void)

#define TAP_CASE(title)		{ .run_case = tap_case_##title, .name = #title },
#define TAP_SUITE(title, tests)						\
	static struct kunit_case tap_cases[] = { tests(TAP_CASE) {} };	\
	static struct kunit_suite tap_suite = {				\
		.name = "dk_" title, .test_cases = tap_cases,		\
	};								\
	kunit_test_suite(tap_suite)

#endif
