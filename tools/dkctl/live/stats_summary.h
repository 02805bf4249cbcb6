/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Counts the operators that each backend served, and prints the numbers in one line. */
#ifndef DKCTL_STATS_SUMMARY_H
#define DKCTL_STATS_SUMMARY_H

#include "live.h"

/* Fits the names of a key and a provider. */
#define SERVER_NAME_MAX	(2 * DK_NAME_MAX + 8)

/*
 * What has served calls: a backend, the fallbacks at the keys of a backend, a provider of composite
 * functions, or a provider's functions at another key. Calls that no function serves are counted
 * here, too.
 */
struct stats_server {
	char name[SERVER_NAME_MAX];	/* empty for calls without a function */
	bool is_private;		/* a private backend with a name */
	unsigned long long operators;
	unsigned long long calls;
	const char *last_op;		/* last operator that was counted */
};

struct stats_summary {
	unsigned long long operators;	/* operators that were called */
	struct stats_server *servers;
	unsigned int num;
	unsigned int capacity;
};

int stats_summary_begin(struct live *v, struct stats_summary *u, const struct dk_nl_counter *list);
void stats_summary_end(struct stats_summary *u);
/* Prints the line, optionally with the numbers of calls. */
int stats_summary_print(struct request *q, const struct stats_summary *u, bool with_calls);

#endif /* DKCTL_STATS_SUMMARY_H */
