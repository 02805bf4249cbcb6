// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Finds out which replaced tables calls still use. A slot of a thread's record shows the table in
 * which the thread is looking up an entry, or the entry of the function that it is inside. A table
 * that is in use is kept until a later grace period.
 */
#include "thread.h"
#include "core/change/change.h"

#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Protected by the gate's lock. */
static struct dkc_replaced *replacing;	/* tables whose grace period has not ended */
static struct dkc_replaced in_use;	/* tables that calls still used after the grace period */

/*
 * Moves the list of tables at @from to @tables. Takes the lock, because is_replaced() requires that
 * each table that has left @from is in one of the lists of this file.
 */
void dkc_replaced_begin(struct dkc_replaced *tables, struct rcu_head **from)
{
	sigset_t mask;

	dkc_gate_lock(&mask);
	/* pairs with the release in retire() in lib/rcu.c */
	tables->first = __atomic_exchange_n(from, NULL, __ATOMIC_ACQUIRE);
	tables->next = replacing;
	replacing = tables;
	dkc_gate_unlock(&mask);
}

/* Returns the table in this list whose memory contains an address, or NULL. */
static struct dkc_table *table_at(struct rcu_head *r, uintptr_t address)
{
	for (; r; r = r->next) {
		struct dkc_table *table = (struct dkc_table *)r;

		if (address - (uintptr_t)table <
		    sizeof(*table) + table->n * sizeof(table->entry[0]))
			return table;
	}
	return NULL;
}

/*
 * Called with the lock held. True if @marked, which was read from a slot, points to a replaced
 * table.
 */
static bool is_replaced(const void *marked)
{
	const struct dkc_replaced *tables;

	for (tables = replacing; tables; tables = tables->next)
		if (table_at(tables->first, (uintptr_t)marked))
			return true;
	return table_at(in_use.first, (uintptr_t)marked);
}

/* True if another thread is still looking up an entry in a replaced table. */
static bool any_lookup(void)
{
	const struct gate_record *r;
	const void *slot;
	bool found = false;
	sigset_t mask;
	unsigned int i;

	dkc_gate_lock(&mask);
	for (r = dkc_records; r && !found; r = r->next)
		for (i = 0; r != dkc_gate_self && i < GATE_SLOTS && !found; i++) {
			/* pairs with the release in dk__enter() and dk__give_back() */
			slot = smp_load_acquire(&r->slots[i]);
			found = is_table_slot(slot) && is_replaced(slot);
		}
	dkc_gate_unlock(&mask);
	return found;
}

/* Called with the lock held. Marks the tables that are in use. */
static void replaced_mark(const struct dkc_replaced *tables)
{
	const struct gate_record *r;
	struct dkc_table *table;
	const void *slot;
	unsigned int i;

	for (r = dkc_records; r; r = r->next)
		for (i = 0; i < GATE_SLOTS; i++) {
			/* pairs with the release in dkc_gate_leave() and dk__give_back() */
			slot = smp_load_acquire(&r->slots[i]);
			table = slot ? table_at(tables->first, (uintptr_t)slot) : NULL;
			if (table)
				table->kind = DKC_TABLE_IN_USE;
		}
}

/*
 * Called with the lock held. Moves the tables that are marked to @kept, and removes their marks.
 * Moves the others to @unused. Returns the number of all tables.
 */
static unsigned int replaced_sweep(struct dkc_replaced *tables, struct rcu_head **kept,
				   unsigned int *num_kept, struct rcu_head **unused)
{
	struct rcu_head *r = tables->first, *next, **to;
	unsigned int n = 0;

	for (tables->first = NULL; r; r = next, n++) {
		struct dkc_table *table = (struct dkc_table *)r;
		bool used = table->kind == DKC_TABLE_IN_USE;

		if (used)
			table->kind = DKC_TABLE_FULL;
		*num_kept += used;
		to = used ? kept : unused;
		next = r->next;
		r->next = *to;
		*to = r;
	}
	return n;
}

/*
 * Called after a liburcu grace period that began after dkc_replaced_begin(). Waits until no call is
 * looking up an entry in one of @tables: each call that has read such a table has then ended or is
 * inside a function. Then moves the tables that no call uses to @unused.
 */
unsigned int dkc_replaced_end(struct dkc_replaced *tables, unsigned int *num_kept,
			      struct rcu_head **unused)
{
	struct rcu_head *kept = NULL;
	/* sleep: sched_yield() by a real-time thread would not let threads of lower priority run */
	const struct timespec pause = { 0, 10000 };
	struct dkc_replaced **p = &replacing;
	unsigned int n;
	sigset_t mask;

	/* pairs with dk__barrier() in dk__keep(), between its store and its second load */
	if (dkc_fences && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		abort();	/* membarrier() worked before; liburcu would also abort */
	while (any_lookup())
		nanosleep(&pause, NULL);
	dkc_gate_lock(&mask);
	replaced_mark(tables);
	replaced_mark(&in_use);
	*num_kept = 0;
	n = replaced_sweep(tables, &kept, num_kept, unused);
	replaced_sweep(&in_use, &kept, num_kept, unused);
	in_use.first = kept;
	while (*p != tables)
		p = &(*p)->next;
	*p = tables->next;
	dkc_gate_unlock(&mask);
	return n;
}

/* Other threads may have changed these lists during fork(). */
COLD void dkc_replaced_after_fork(void)
{
	replacing = NULL;	/* the threads that would free these tables do not exist */
	in_use.first = NULL;
}
