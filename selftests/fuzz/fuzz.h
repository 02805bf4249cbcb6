/* SPDX-License-Identifier: GPL-2.0-only */
/* Declares what the fuzz targets share: libFuzzer's entry point, and inputs as strings. */
#ifndef _DK_FUZZ_H
#define _DK_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dispatchkey.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts if a condition does not hold, so that the fuzzer reports it like a crash. */
#define REQUIRE(what)							\
	do {								\
		if (!(what)) {						\
			fprintf(stderr, "does not hold: %s\n", #what);		\
			abort();					\
		}							\
	} while (0)

/*
 * Copies the input to a string, which is allocated with its exact size, so that ASan reports
 * reads after its end.
 */
static inline char *fuzz_string(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	REQUIRE(text);
	memcpy(text, data, size);
	text[size] = 0;
	return text;
}

#endif /* _DK_FUZZ_H */
