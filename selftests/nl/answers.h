/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A module for the tests that replies to every request according to the specification. It has
 * one backend, device, provider, operator and so on.
 */
#ifndef _SELFTESTS_NL_ANSWERS_H
#define _SELFTESTS_NL_ANSWERS_H

#include <stdbool.h>
#include <linux/dispatchkey_netlink.h>

#include "fake.h"

/* Additional attributes of the elements of a reply. */
enum version {
	AS_SPECIFIED,
	OLDER,		/* hardly anything */
	NEWER,		/* and unknown attributes */
};

extern enum version module_version;
extern unsigned int elements;	/* of a dump */
extern uint64_t generation;
extern bool calls_inside;	/* of what is switched */

/* The element that answers @cmd, without its message; @is_dump: as in a dump. */
void put_element(struct fake_msg *m, int cmd, unsigned int i, bool is_dump);

/* For fake.answer: a complete reply. */
void answer_well(const struct nlmsghdr *request);

#endif /* _SELFTESTS_NL_ANSWERS_H */
