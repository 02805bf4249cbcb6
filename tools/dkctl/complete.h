/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shared by the files of completion. */
#ifndef DKCTL_COMPLETE_H
#define DKCTL_COMPLETE_H

#include "dkctl.h"

struct completion {
	const struct subcommand *subcommand;	/* or NULL */
	const struct dk_layout *layout;
	const char *word;		/* to be completed */
	size_t done;			/* bytes of @word in front of the part to complete */
	bool found;			/* a candidate was printed */
	bool wants_file;
	bool goes_on;			/* the word may have more parts */
};

/* Prints a candidate if @word begins like it; @what, its description, may be NULL. */
void candidate(struct completion *c, const char *value, const char *what);
/* The same with a formatted description. */
void candidate_format(struct completion *c, const char *value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The part of the word to complete. */
static inline const char *typed(const struct completion *c)
{
	return c->word + c->done;
}

/*
 * live/complete.c: the names of "backend", "device", "op", "provider" or "limits" in the
 * kernel; none without the module. nolive/live.c has the stub for builds without libnl.
 */
void live_candidates(struct completion *c, const char *kind);
/* The keys of private backends by the names that these have in the kernel. */
void live_key_candidates(struct completion *c);

#endif /* DKCTL_COMPLETE_H */
