/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Finds the words that can follow the given words of a subcommand, from the subcommand's usage. */
#ifndef DKCTL_USAGE_H
#define DKCTL_USAGE_H

#include "dkctl.h"

/* A part of a usage text. */
struct usage_word {
	const char *text;		/* a word, or a placeholder in capitals */
	size_t len;
	const char *after;		/* the word before it in the usage, or NULL */
	size_t after_len;
};

bool is_placeholder(const struct usage_word *w);

/* Calls @offer for each word that can follow @words, which end with NULL. */
void usage_next(const struct subcommand *s, char **words,
		void (*offer)(void *ctx, const struct usage_word *w), void *ctx);

#endif /* DKCTL_USAGE_H */
