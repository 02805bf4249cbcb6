/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replaces liburcu, which is not packaged for musl, in programs with one thread. Read-side critical
 * sections are counted, and a grace period ends at once.
 */
#ifndef _SELFTESTS_UNIT_MUSL_URCU_BP_H
#define _SELFTESTS_UNIT_MUSL_URCU_BP_H

#include <stdlib.h>

struct urcu_bp_reader {
	unsigned int sections;
};

/* The thread's record. As in liburcu, it exists from the first read-side critical section on. */
static struct urcu_bp_reader stub_reader;
#define URCU_TLS(name)		(name)
static struct urcu_bp_reader *urcu_bp_reader;

static inline void urcu_bp_read_lock(void)
{
	urcu_bp_reader = &stub_reader;
	stub_reader.sections++;
}

static inline void urcu_bp_read_unlock(void)
{
	stub_reader.sections--;
}

static inline int urcu_bp_read_ongoing(void)
{
	return stub_reader.sections != 0;
}

static inline void urcu_bp_synchronize_rcu(void)
{
	/* liburcu would wait forever */
	if (stub_reader.sections)
		abort();
}

static inline void urcu_bp_register_thread(void)
{
}

static inline void urcu_bp_before_fork(void)
{
}

static inline void urcu_bp_after_fork_parent(void)
{
}

static inline void urcu_bp_after_fork_child(void)
{
}

#endif /* _SELFTESTS_UNIT_MUSL_URCU_BP_H */
