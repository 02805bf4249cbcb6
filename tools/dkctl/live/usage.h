/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Of how many operators served whom: the one line that tells if a card is used. */
#ifndef DKCTL_USAGE_H
#define DKCTL_USAGE_H

#include "live.h"

/* Of a key and a provider. */
#define USAGE_NAME_MAX	(2 * DK_NAME_MAX + 8)

/* A backend, a provider of composite functions, a key of a provider, or nothing. */
struct usage_who {
	char name[USAGE_NAME_MAX];	/* empty: nothing served */
	bool is_private;		/* a backend of a name of its own */
	unsigned long long operators;
	unsigned long long calls;
	const char *last_op;		/* counted for it already */
};

struct usage {
	unsigned long long operators;	/* that were called */
	struct usage_who *who;
	unsigned int num;
	unsigned int room;
};

int usage_begin(struct live *v, struct usage *u, const struct dk_nl_counter *list);
void usage_end(struct usage *u);
/* One sentence; with how many calls, too. */
void usage_print(const struct usage *u, bool with_calls);

#endif /* DKCTL_USAGE_H */
