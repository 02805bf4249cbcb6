/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Declares what the files of completion share. */
#ifndef DKCTL_COMPLETE_H
#define DKCTL_COMPLETE_H

#include "dkctl.h"

struct completion {
	const struct subcommand *subcommand;	/* or NULL */
	const struct dk_layout *layout;
	const char *word;		/* the word to complete */
	size_t done;			/* bytes of @word before the part to complete */
	bool found;			/* a candidate was printed */
	bool wants_file;
	bool goes_on;			/* more parts can be added to the word */
};

/* Prints a candidate if it begins with typed(); @what, its description, may be NULL. */
void candidate(struct completion *c, const char *value, const char *what);
/* Like candidate(), with a formatted description. */
void candidate_format(struct completion *c, const char *value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Returns the part of the word to complete. */
static inline const char *typed(const struct completion *c)
{
	return c->word + c->done;
}

/*
 * live/complete.c: prints names in the kernel. @kind is "backend", "device", "op", "provider",
 * "limits", or "release" (the private names of backends). Without the module, prints nothing.
 * nolive/live.c has the stub for builds without libnl.
 */
void live_candidates(struct completion *c, const char *kind);
/* Prints the keys of private backends, with the names of these backends in the kernel. */
void live_key_candidates(struct completion *c);

#endif /* DKCTL_COMPLETE_H */
