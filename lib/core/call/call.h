/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Runs a call: finds its function in the operator's table, enters the call and leaves it.
 *
 * The fast path is inlined in callers, from <dispatchkey-inline.h>. fast.c has its out-of-line
 * part. call.c is the slow path, and find.c its lookup. boxed.c makes calls with packed arguments,
 * which value.c reads and writes.
 */
#ifndef _DKC_CALL_H
#define _DKC_CALL_H

#include "../state/state.h"

/*
 * A flag in what dk__pack() returns: dk__find() must not return @pack of a declaration, because the
 * caller has packed the arguments already, or runs the function later.
 */
#define DKC_DO_NOT_PACK	0x10000ULL

/*
 * Calls dk__find() after dk__begin() has found no entry. Returns 0 if the caller must now run
 * c->entry, a negative errno if the call fails, or DK__SLOWLY if it must take the slow path.
 */
static __always_inline int dkc_fast_continue(struct dk_call *c, struct dk__slot slot,
					     struct dk__request *rq,
					     const struct dk__table *table, u64 ks,
					     const struct dk_obj *const *objs, u64 packed)
{
	const struct dk__entry *entry = dk__find(c, slot, table, ks, objs,
						 packed | DKC_DO_NOT_PACK);

	if (dk__is_entry(entry))
		return 0;
	rq->flags |= DK__SKIP_FAST;
	return dk__no_entry_err(entry);
}

/* Calls dk__begin() and, if needed, dk__find(). Returns what dkc_fast_continue() returns. */
static __always_inline int dkc_fast_find(struct dk_call *c, struct dk__slot *slot,
					 struct dk__request *rq, struct dk_op *op,
					 unsigned long flags, const struct dk_local *local,
					 u64 ks, int how, const struct dk_obj *const *objs,
					 unsigned int n)
{
	struct dk__found found DK__NOT_SET;

	if (likely(dk__begin(c, slot, &found, op, rq->decl, flags, local, ks, how,
			     n ? objs[0] : NULL)))
		return 0;
	return dkc_fast_continue(c, *slot, rq, found.table, found.ks, objs,
				 dk__pack(found.byte, how, n));
}

/*
 * fast.c: like dkc_fast_find(), for a redispatch. Also returns DK__SLOWLY if it is not known that
 * the caller's type and the function's type match.
 */
int dkc_fast_redispatch(struct dk_call *c, struct dk__slot *slot, struct dk__request *rq,
			unsigned long flags, const struct dk_obj *const *objs, unsigned int n);

/*
 * find.c: finds the function of a call and sets @fn, @reg and @ks of @req. Called in a read-side
 * critical section or with the registry's lock held. Returns 0 or a negative errno.
 * dkc_find_typed() first compares the signature. It also handles calls at a given key.
 */
int dkc_find(struct dk_op *op, const struct dkc_table *table, struct dkc_request *req);
int dkc_find_typed(struct dk_op *op, const struct dkc_table *table, struct dkc_request *req);
/* Returns (@raw | @included) without @excluded. Backends cannot be excluded. */
u64 dkc_merge(u64 raw, u64 included, u64 excluded, u64 backend_mask);

#endif /* _DKC_CALL_H */
