/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Declares what the files of lib/ share, in addition to the services of compat/user/world.h. */
#ifndef _DKC_PRIVATE_H
#define _DKC_PRIVATE_H

#include "core/base/gate.h"

#include <signal.h>

/* A thread's parts of all blocks of counters, by the id of the block. */
struct dkc_parts {
	struct dkc_parts *before;	/* the array before this one; may still be read */
	u32 size;
	u64 *part[];
};

struct dkc_thread_counts {
	u64 **by_block;			/* &parts->part[0], for dk__add_count() */
	struct dkc_parts *parts;	/* replaced with the lock of the threads held */
	bool incomplete;		/* the thread lacks parts, so it has no slots */
	u64 lost;			/* calls that were not counted */
};

/* Allocates the counters of a new thread, and frees those of one that has ended. */
void dkc_counts_alloc(struct dkc_thread_counts *t);
void dkc_counts_free(struct dkc_thread_counts *t);
/* Adds the counts of an ended thread to those of the blocks. Called with both locks held. */
void dkc_counts_thread_end(const struct dkc_thread_counts *t);

/* lib/thread.c: the counters of the calling thread, or NULL if it has no record. */
struct dkc_thread_counts *dkc_counts_self(void);
/* Walks the counters of all threads with one of the two locks held. Starts and ends with NULL. */
struct dkc_thread_counts *dkc_counts_next(const struct dkc_thread_counts *t);

/*
 * Signals are blocked while one of these locks is held. The gate's lock protects what calls write.
 * It must not be held while memory is allocated or freed. The lock of the threads is taken first,
 * to begin or end a thread, or to make or destroy counters.
 */
void dkc_gate_lock(sigset_t *mask);
void dkc_gate_unlock(const sigset_t *mask);
void dkc_threads_lock(sigset_t *mask);
void dkc_threads_unlock(const sigset_t *mask);

/* Writes to stderr. Async-signal-safe; keeps errno. */
void dkc_write_stderr(const char *text, size_t len);

/*
 * Stores @reader in the calling thread's record. @reader is the address of the variable in which
 * liburcu stores a pointer to its data for the thread. When liburcu begins to remove the thread, it
 * sets this variable to NULL. While liburcu registers the thread, @reader itself is NULL.
 */
void dkc_thread_set_reader(struct urcu_bp_reader *const *reader);
/* Returns true if liburcu may be removing a thread. Called with liburcu's locks held. */
bool dkc_threads_any_removed(void);

/* lib/replaced.c: replaced tables that wait for a grace period. */
struct dkc_replaced {
	struct rcu_head *first;
	struct dkc_replaced *next;
};

#ifdef DK_TEST_RETIRED
/* The number of retired objects. */
unsigned int dk_test_retired(void);
#endif

void dkc_gate_init(void);
void dkc_replaced_begin(struct dkc_replaced *tables, struct rcu_head **from);
/*
 * Returns the number of @tables. Sets *@num_kept to the number of replaced tables that calls still
 * use. Adds the others to the list @unused, to be freed.
 */
unsigned int dkc_replaced_end(struct dkc_replaced *tables, unsigned int *num_kept,
			      struct rcu_head **unused);

/* Functions of the C++ ABI, which no header of the C library declares. */
int __cxa_atexit(void (*call)(void *data), void *data, void *owner);
void __cxa_finalize(void *owner);

/* lib/unload.c: pins the shared object that contains this library. */
void dkc_objects_init(void);
/* Adds @reg to the list of registries that are cleaned up when an object is unloaded. */
void dkc_registry_list(struct dk_registry *reg);
/* Makes all calls in a registry fail with -ESHUTDOWN, and frees nothing. */
void dkc_registry_shutdown(struct dk_registry *reg);
/* Shuts down all registries. From then on, each new one is shut down when it is made. */
void dkc_registries_shutdown(void);

/* Fork handlers. Locks are held during fork(), so that no change is half done in the child. */
void dkc_registries_before_fork(void);
void dkc_registries_after_fork(bool child);
void dkc_threads_before_fork(void);
void dkc_threads_after_fork(bool child);
void dkc_rcu_before_fork(void);
void dkc_rcu_after_fork(bool child);
/* lib/grace.c: in a child of fork(), in which no thread waits for the end of @g */
void dkc_grace_forget(struct dkc_grace *g);

#endif /* _DKC_PRIVATE_H */
