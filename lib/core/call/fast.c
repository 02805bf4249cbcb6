// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The out-of-line part of the fast path. The rest is in <dispatchkey-inline.h> and is compiled
 * into callers.
 *
 * The fast path takes no lock and writes nothing that another thread or CPU writes. Its
 * cost does not depend on the number of operators, functions or fallthroughs.
 */
#include "call.h"

/* These functions unpack the numbers that dk__pack() has packed. */
static inline unsigned int packed_id(u64 packed)
{
	return packed & 0xff;
}

static inline int packed_how(u64 packed)
{
	return packed >> 8 & 0xff;
}

static inline unsigned int packed_objs(u64 packed)
{
	return packed >> 32;
}

/*
 * Returns an error, for a call that is not made. Undoes dk__keep(): releases the slot, or ends the
 * read-side critical section.
 */
static inline const struct dk__entry *no_entry(struct dk__slot slot, u64 packed, int err)
{
	dk__give_back(slot, packed_how(packed));
	return DK__NO_ENTRY(err);
}

/*
 * Sets *@device to the device of a call, whose highest backend is @b, if the first object alone
 * determines the device. Otherwise returns false. Only for layout v1.
 */
static __always_inline bool device_of_first(u64 ks, unsigned long b,
					    const struct dk_obj *const *objs, u64 packed,
					    u32 *device)
{
	const struct dk_obj *o = packed_objs(packed) ? objs[0] : NULL;

	if (unlikely(!dk__is_on(o, ks, b, 0) || o->device == DK_DEVICE_LIST))
		return false;
	*device = o->device;
	return true;
}

/* Enters the function of c->entry. Counts the call at @at, unless @at is NULL. */
static __always_inline const struct dk__entry *
enter_entry(struct dk_call *c, struct dk__slot slot, const struct dkc_table *table,
	    const struct dk__count *at, int how)
{
#if DK__GATED
	if (table->direct > DK__NOT_DIRECT && (table->direct & DK__GATES))
		return dk__enter_gate(c, &slot, at, how) ? c->entry : DK__NO_ENTRY(DK__SLOWLY);
#endif
	if (at)
		dk__add_count(at);
	dk__enter(&slot, c->entry);
	return c->entry;
}

/*
 * Returns the table of the call's device, which may be the device of any of the objects. Looks up
 * the call's keyset again in this table, because its masks may differ from those of @table.
 */
static __always_inline const struct dkc_table *
find_on_device(const struct dk_call *c, const struct dkc_table *table, u64 *ks,
	       const struct dk_obj *const *objs, u64 packed, unsigned int *id)
{
	u64 all = c->ks.bits;
	unsigned long b = dk__top_backend(all);
	u32 device;

	if (!device_of_first(all, b, objs, packed, &device))
		device = dkc_device_of(c->op->reg->layout, all, objs, packed_objs(packed));
	table = dkc_device_tables_table(table->devices, device);
	*ks = all;
	*id = dk__lookup((const struct dk__table *)table, ks, b, dk__place(all, b),
			 packed_how(packed));
	return table;
}

/*
 * Returns true if two objects are on different devices, or if an object is a list. The slow path
 * then compares the devices again, including those of lists, but without offline devices.
 */
static __always_inline bool may_be_on_two_devices(const struct dk_obj *const *objs, unsigned int n)
{
	u32 device = 0;

	while (n--) {
		const struct dk_obj *o = objs[n];

		if (!o || !o->device)
			continue;
		if (o->device == DK_DEVICE_LIST || (device && o->device != device))
			return true;
		device = o->device;
	}
	return false;
}

/*
 * True if the caller's declaration can pack the arguments for the function with an id below
 * @lowest, which is boxed or plain.
 */
static bool may_pack(const struct dk_call *c, const struct dkc_table *table, unsigned int id,
		     u64 packed)
{
	return id >= DKC_ID_FIRST && dkc_table_entry(table, id)->fn &&
	       !(packed & DKC_DO_NOT_PACK) && READ_ONCE(dk_call_decl(c)->pack);
}

/* The other cases of dk__find(); noinline, so that dk__find() itself saves no registers. */
static noinline const struct dk__entry *
find_specially(struct dk_call *c, struct dk__slot slot, const struct dkc_table *table, u64 ks,
	       const struct dk_obj *const *objs, u64 packed)
{
	unsigned int id = packed_id(packed);
	const struct dk__entry *entry;
	const struct dk__count *at;
	bool packs;

	if (dkc_is_out(table))
		return DK__NO_ENTRY(DK__SLOWLY);
	if (table->direct == DK__NOT_DIRECT || id == DK__FOR_SLOW_PATH ||
	    ((table->op_flags & DK_OP_SAME_DEVICE) &&
	     may_be_on_two_devices(objs, packed_objs(packed))))
		return no_entry(slot, packed, DK__SLOWLY);
	if (dkc_table_devices(table))
		table = find_on_device(c, table, &ks, objs, packed, &id);
	packs = id < table->lowest;
	if (packs && !may_pack(c, table, id, packed))
		return no_entry(slot, packed, DK__SLOWLY);
	at = dkc_is_counted(table) ? dk__counter_of((const struct dk__table *)table, id) : NULL;
	c->ks.bits = ks;
	c->entry = dkc_table_entry(table, id);
	entry = enter_entry(c, slot, table, at, packed_how(packed));
	return packs && dk__is_entry(entry) ? READ_ONCE(dk_call_decl(c)->pack) : entry;
}

/*
 * Finds the entry of an operator with DK_OP_SAME_DEVICE. @table has DK__ONE_DEVICE. Only if the
 * first object is on the call's device, and all other objects are on this device or on none.
 */
static noinline const struct dk__entry *
find_on_one_device(struct dk_call *c, struct dk__slot slot, const struct dk__table *table, u64 ks,
		   const struct dk_obj *const *objs, u64 packed)
{
	const struct dk__table *of_device = table;
	const struct dk__device_table *at;
	unsigned int i;
	u32 device;

	if (!device_of_first(c->ks.bits, dk__top_backend(c->ks.bits), objs, packed, &device))
		goto specially;
	for (i = 1; i < packed_objs(packed); i++)
		if (objs[i] && objs[i]->device && objs[i]->device != device)
			goto specially;
	if (table->devices) {
		at = dk__device_at(table->devices, device);
		if (at->same != device)
			goto specially;
		of_device = at->table;
	}
	if (packed_id(packed) < of_device->lowest)
		goto specially;
	c->ks.bits = ks;
	c->entry = dk__entry_of(of_device, packed_id(packed));
	dk__enter(&slot, c->entry);
	return c->entry;
specially:
	return find_specially(c, slot, (const struct dkc_table *)table, ks, objs, packed);
}

const struct dk__entry *dk__find(struct dk_call *c, struct dk__slot slot,
				 const struct dk__table *table, u64 ks,
				 const struct dk_obj *const *objs, u64 packed)
{
	u32 device;

	/* the most frequent case: nothing serves the call, and the first object has no device */
	if (packed_id(packed) == DKC_ID_MISSING && table->first_direct < DK__NOT_DIRECT &&
	    !(ks & ~DK_FULL) &&
	    device_of_first(c->ks.bits, dk__top_backend(c->ks.bits), objs, packed, &device) &&
	    !device)
		return no_entry(slot, packed, -ENOSYS);
	/* without an entry, @table may be a placeholder: dkc_is_out() */
	if (packed_id(packed) >= DKC_ID_FIRST && table->first_direct == DK__ONE_DEVICE)
		return find_on_one_device(c, slot, table, ks, objs, packed);
	return find_specially(c, slot, (const struct dkc_table *)table, ks, objs, packed);
}

/*
 * A redispatch has DK__CALL_BOXED only if @from has it. Here @from does not have it, because
 * dk__may_redispatch() returns false if it does. But @flags may have it, from boxed.c.
 */
noinline int dkc_fast_redispatch(struct dk_call *c, struct dk__slot *slot,
				 struct dk__request *rq, unsigned long flags,
				 const struct dk_obj *const *objs, unsigned int n)
{
	const struct dk_call *from = rq->from;

	if (!dk__may_redispatch(from, rq->decl))
		return DK__SLOWLY;
	rq->how = dk__how_again(from);
	return dkc_fast_find(c, slot, rq, from->op, flags & ~DK__CALL_BOXED, from->local,
			     rq->ks.bits, rq->how, objs, n);
}
