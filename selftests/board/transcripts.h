/* SPDX-License-Identifier: GPL-2.0-only */
/* Declares the transcripts of transcripts.S, which are linked into the program. */
#include <stddef.h>

struct transcript {
	const char *name;
	const char *text;
	size_t size;
};

extern const struct transcript transcripts[], transcripts_end[];
