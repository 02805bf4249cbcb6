/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the files of the userspace world share beside lib/core/deps.h. */
#ifndef _DKC_WORLD_H
#define _DKC_WORLD_H

#include "core/deps.h"

#include <signal.h>

/* Under the gate's lock. */
void dkc_counts_thread_begin(struct dkc_thread_counts *t);
void dkc_counts_thread_end(struct dkc_thread_counts *t);

/* The lock of all threads' records. Who has it is interrupted by no handler. */
void dkc_gate_lock(sigset_t *mask);
void dkc_gate_unlock(const sigset_t *mask);

void dkc_rcu_thread_init(void);

/* lib/gate.c: rows that were replaced, while a grace period is waited for. */
struct dkc_rows {
	struct dkc_retired *first;
	struct dkc_rows *next;
};

#ifdef DKC_FAIL_ALLOC
/* How much waits to be freed? */
unsigned int dk_test_retired(void);
#endif

void dkc_gate_init(void);
void dkc_rows_begin(struct dkc_rows *rows, struct dkc_retired **from);
/* How many were there? And how many are kept, of these and earlier ones? */
unsigned int dkc_rows_end(struct dkc_rows *rows, unsigned int *num_kept);

/* The C++ ABI: no header of the C library declares them. */
int __cxa_atexit(void (*call)(void *data), void *data, void *owner);
void __cxa_finalize(void *owner);

/* lib/unload.c: the object that this library is in is never unloaded. */
void dkc_objects_init(void);
/* All registries are listed, for what an unloaded object has left in them. */
void dkc_registry_list(struct dk_registry *reg);

/* Around fork(): nobody else is in the middle of a change while it happens. */
void dkc_registries_before_fork(void);
void dkc_registries_after_fork(bool child);
void dkc_gate_before_fork(void);
void dkc_gate_after_fork(bool child);
void dkc_rcu_before_fork(void);
void dkc_rcu_after_fork(bool child);
void dkc_grace_after_fork(void);	/* in the child */

#endif /* _DKC_WORLD_H */
