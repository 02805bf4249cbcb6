/* SPDX-License-Identifier: GPL-2.0-only */
/* Connects a client to the simulated kernel of fake.h and answers.h. */
#ifndef _SELFTESTS_NL_CLIENT_H
#define _SELFTESTS_NL_CLIENT_H

#include <dispatchkey-nl.h>

#include "answers.h"
#include "tap.h"

/* Opens a client. The simulated kernel passes each request to @answer. */
static inline struct dk_nl *open_nl_with(void (*answer)(const struct nlmsghdr *request))
{
	struct dk_nl *nl = NULL;

	fake_reset();
	fake.answer = answer;
	module_version = AS_SPECIFIED;
	elements = 3;
	EXPECT_EQ(dk_nl_open(NULL, &nl, NULL), 0);
	return nl;
}

static inline struct dk_nl *open_nl(void)
{
	return open_nl_with(answer_well);
}

static inline void close_nl(struct dk_nl *nl)
{
	dk_nl_close(nl);
	EXPECT_EQ(fake_sockets, 0);
}

#endif /* _SELFTESTS_NL_CLIENT_H */
