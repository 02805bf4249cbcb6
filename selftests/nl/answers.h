/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Simulates a module that replies to every request according to the specification. The module has
 * one backend, device, provider, operator and so on.
 */
#ifndef _SELFTESTS_NL_ANSWERS_H
#define _SELFTESTS_NL_ANSWERS_H

#include <stdbool.h>
#include <linux/dispatchkey_netlink.h>

#include "fake.h"

/* The version of the module, which determines the attributes of a reply. */
enum version {
	AS_SPECIFIED,
	OLDER,		/* only a few attributes */
	NEWER,		/* all attributes, and unknown ones */
};

extern enum version module_version;
extern unsigned int elements;	/* number of elements of a dump */
extern uint64_t generation;
extern bool calls_inside;	/* a device or backend that is switched off has calls inside */

/* Appends the attributes of the reply to @cmd, or of an element of a dump. */
void put_element(struct fake_msg *m, int cmd, unsigned int i, bool is_dump);

/* For fake.answer: sends a complete and correct reply. */
void answer_well(const struct nlmsghdr *request);

#endif /* _SELFTESTS_NL_ANSWERS_H */
