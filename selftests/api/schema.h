/* SPDX-License-Identifier: GPL-2.0-only */
/* Declares a function that the suites of schemas share. */
#ifndef _SELFTESTS_API_SCHEMA_H
#define _SELFTESTS_API_SCHEMA_H

#include "test.h"

/* Parses a schema. On failure, the test fails and the error is printed. */
static inline struct dk_schema *parse(const char *text)
{
	struct dk_schema *s;

	if (!CHECK_OK(dk_schema_parse(text, &s, &t_why)))
		t_note("%s: %s", text, t_why.name);
	return s;
}

#endif /* _SELFTESTS_API_SCHEMA_H */
