/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Tests whether the module is loaded. Used by the client library and by dkctl. */
#ifndef DKN_MODULE_STATE_H
#define DKN_MODULE_STATE_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * True if the module is completely loaded. If a process then finds no netlink family of the module,
 * the process is in a network namespace in which the module does not answer. False while the module
 * is being loaded or unloaded: then there may be no family, either.
 */
static inline bool dkn_module_is_live(void)
{
	FILE *f = fopen("/sys/module/dispatchkey/initstate", "re");
	char state[8] = "";
	bool is_live;

	if (!f)
		return false;
	is_live = fgets(state, sizeof(state), f) && !strcmp(state, "live\n");
	fclose(f);
	return is_live;
}

#endif
