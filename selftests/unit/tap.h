/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs unit tests that print TAP 13. A test is a function, TEST(name) { ... }. If an expectation
 * fails, it is reported, and the test continues. An expectation returns whether it held. Each file
 * is a program; this header defines main(). In the kernel the tests are cases of KUnit.
 */
#ifndef _SELFTESTS_UNIT_TAP_H
#define _SELFTESTS_UNIT_TAP_H

#ifdef __KERNEL__
#include "../kunit/tap_kunit.h"
#else
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct tap_test {
	const char *name;
	void (*run)(void);
	struct tap_test *next;
};

static struct tap_test *tap_first, **tap_last = &tap_first;
static bool tap_failed;

#define TEST(title)							\
	static void test_##title(void);					\
	__attribute__((constructor)) static void tap_add_##title(void)	\
	{								\
		static struct tap_test t = { #title, test_##title, NULL }; \
									\
		*tap_last = &t;						\
		tap_last = &t.next;					\
	}								\
	static void test_##title(void)
#endif

static inline bool tap_expect(bool held, const char *file, int line,
			      const char *what)
{
	if (!held) {
		tap_failed = true;
		printf("# %s:%d: expected %s\n", file, line, what);
	}
	return held;
}

static inline bool tap_compare(bool held, unsigned long long a,
			       unsigned long long b, const char *file, int line,
			       const char *what)
{
	if (!tap_expect(held, file, line, what))
		printf("#   %llu (0x%llx) and %llu (0x%llx)\n", a, a, b, b);
	return held;
}

static inline bool tap_streq(const char *a, const char *b, const char *file,
			     int line, const char *what)
{
	bool held = a && b ? !strcmp(a, b) : a == b;

	if (!tap_expect(held, file, line, what))
		printf("#   \"%s\" and \"%s\"\n", a ? a : "(null)",
		       b ? b : "(null)");
	return held;
}

#define EXPECT(what)	tap_expect((what), __FILE__, __LINE__, #what)
/* for integers, which are compared as 64 bits */
#define EXPECT_EQ(a, b)							\
	({								\
		unsigned long long tap_a = (a), tap_b = (b);		\
									\
		tap_compare(tap_a == tap_b, tap_a, tap_b, __FILE__,	\
			    __LINE__, #a " == " #b);			\
	})
#define EXPECT_NE(a, b)							\
	({								\
		unsigned long long tap_a = (a), tap_b = (b);		\
									\
		tap_compare(tap_a != tap_b, tap_a, tap_b, __FILE__,	\
			    __LINE__, #a " != " #b);			\
	})
#define EXPECT_STREQ(a, b)						\
	tap_streq((a), (b), __FILE__, __LINE__, #a " to be " #b)

#ifndef __KERNEL__
int main(void)
{
	unsigned int n = 0, failed = 0;
	struct tap_test *t;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n");
	for (t = tap_first; t; t = t->next) {
		tap_failed = false;
		t->run();
		failed += tap_failed;
		printf("%sok %u - %s\n", tap_failed ? "not " : "", ++n, t->name);
	}
	printf("1..%u\n", n);
	return failed ? 1 : 0;
}
#endif

#endif /* _SELFTESTS_UNIT_TAP_H */
