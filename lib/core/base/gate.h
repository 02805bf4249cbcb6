/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The gate records calls in flight: the function and the provider of each call. Unregistering
 * reads the records to find the calls that it must wait for. A call enters the gate inside its
 * read-side critical section, and ends the section before the function runs. Calls of atomic
 * operators in the kernel and on bare metal do not enter the gate. Their section lasts until the
 * function returns, and protects the provider. The gate is in kmod/gate.c for the kernel,
 * lib/gate.c for userspace and lib/compat/bare/bare.c for bare metal.
 *
 * Each world.h defines:
 *
 * dkc_section_is_gate() Takes the operator's flags. True if calls stay in their read-side
 *			critical section instead of entering the gate.
 * dkc_slots_are_gate()	True in userspace: the slot that dk__begin() reserves also records the
 *			call in the gate.
 * dkc_slot_of()	Returns a slot for dk__begin(). In the kernel the slot points to the
 *			storage that is passed.
 * dkc_gate_owns()	False if another thread has entered the call with this storage. Always
 *			true in the kernel and on bare metal, which do not record the thread.
 * dkc_num_forks()	A number that is incremented in each child of fork().
 * dkc_is_out()		True for the placeholder that dk__begin() passes instead of a table if
 *			the call has neither a slot nor a read-side critical section.
 * dkc_has_fast_calls()	True if calls can take the fast path at all.
 */
#ifndef _DKC_GATE_H
#define _DKC_GATE_H

#include "world.h"
#include <dispatchkey-defer.h>

/* A call in flight, as passed to a dkc_inside_fn. */
struct dkc_inside {
	const void *prov;		/* the provider */
	const struct dkc_reg *reg;	/* the function that runs */
	const void *op;			/* the operator that was called, or NULL */
	const void *task;		/* the task or thread; private to the gate */
	const struct dk_deferred *deferred;	/* the token of a deferred call, or NULL */
};

/* If this returns false, the token is not in use: its memory may be freed or used again. */
static inline bool dkc_is_deferred(const struct dk_deferred *d)
{
	/* pairs with the release in dkc_deferred_unlink() */
	return smp_load_acquire(&d->prov) && d->forks == dkc_num_forks();
}

/*
 * Called with the list's lock held. Returns -EBUSY if a call is already deferred with @d. If a
 * caller has initialized @d again by mistake, @d looks unused. The mistake is then noticed only if
 * @d is still first in the list, because no other call was deferred since. @d stays in the list,
 * and -EBUSY is returned.
 */
static inline int dkc_deferred_link(struct dk_deferred *d, struct dk_deferred **list,
				    const void *prov, const struct dkc_reg *reg, u32 thread)
{
	bool is_first = *list == d;

	if (dkc_is_deferred(d))
		return -EBUSY;
	d->reg = reg;
	d->thread = thread;
	d->since = dkc_now();
	d->forks = dkc_num_forks();
	d->next = is_first ? NULL : *list;
	d->link = list;
	if (d->next)
		d->next->link = &d->next;
	*list = d;
	WRITE_ONCE(d->prov, prov);
	return is_first ? -EBUSY : 0;
}

static inline void dkc_deferred_unlink(struct dk_deferred *d)
{
	*d->link = d->next;
	if (d->next)
		d->next->link = d->link;
	/* the last access to @d; pairs with the acquire in dkc_is_deferred() */
	smp_store_release(&d->prov, NULL);
}

/*
 * Called under the gate's lock or, in the kernel, in a read-side critical section. Must not block,
 * and must not enter or leave the gate. The call may return at any time. So @in->reg and @in->op
 * may be used only if something keeps them from being freed, such as the registry's lock.
 */
typedef bool (*dkc_inside_fn)(const struct dkc_inside *in, void *data);

/*
 * Called with the list's lock held. If a caller has initialized a token in the list by mistake, and
 * used it again, the list may be a cycle. So this function remembers every element whose number is
 * a power of two, and ends when it meets the last one again.
 */
static inline bool dkc_deferred_any(const struct dk_deferred *list, dkc_inside_fn match, void *data)
{
	const struct dk_deferred *d, *last = NULL;
	bool found = false;
	u32 n = 1;

	for (d = list; d && d != last && !found; d = d->next, n++) {
		const struct dkc_inside in = { .prov = d->prov, .reg = d->reg, .deferred = d };

		found = match(&in, data);
		if (!(n & (n - 1)))
			last = d;
	}
	return found;
}

#define DKC_GATE_SIZE	8	/* words of storage for one call */

/*
 * Records a call of the calling thread until dkc_gate_leave() with the same @storage. Fails with
 * -ENOMEM if the thread's slots cannot be allocated or, on bare metal, are all in use.
 */
#ifndef dkc_gate_enter
int dkc_gate_enter(u64 *storage, const struct dkc_reg *reg, const void *op);
#endif
void dkc_gate_leave(u64 *storage);
/* True if @match returns true for a call in flight of the calling thread. */
bool dkc_gate_mine(dkc_inside_fn match, void *data);
/* True if @match returns true for any call in flight, or for a deferred call of @prov. */
bool dkc_gate_any(const void *prov, dkc_inside_fn match, void *data);
/*
 * dkc_gate_defer() adds the call of the running function to the deferred calls. It fails with
 * -EBUSY if a deferred call already uses @d. dkc_gate_complete() traces @result and then removes
 * @d; from then on the function may be freed. dkc_gate_complete() returns false if @d was removed
 * before. In the kernel it may be called in any context but NMI.
 */
int dkc_gate_defer(struct dk_deferred *d, const void *prov, const struct dkc_reg *reg);
bool dkc_gate_complete(struct dk_deferred *d, int result);
/*
 * Waits until @match returns false for all calls. Returns false if the deadline passes first; a
 * @deadline of 0 means none. In the kernel, calls @match again when a call of @prov returns or is
 * completed, and on dkc_gate_wake(). Elsewhere, polls.
 */
bool dkc_gate_wait(const void *prov, dkc_inside_fn match, void *data, u64 deadline);
/* Makes all waiters call @match again. Called after a change that can affect @match. */
void dkc_gate_wake(void);
/*
 * Returns the ID of a task or thread, which may have ended, and copies its name to @name. Must not
 * be called in a dkc_inside_fn.
 */
u32 dkc_inside_task(const void *task, char *name, size_t size);

#endif /* _DKC_GATE_H */
