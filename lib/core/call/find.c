// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Finds the function for a keyset and objects: in the table of the operator or device, or by
 * the rules if there is no table.
 *
 * Used by the slow path and by explanations, in a read-side critical section or with the
 * registry's lock held. For layout v1 the table positions and the mask of all backends are
 * compile-time constants. For other layouts they are read from struct dk_layout.
 */
#include "call.h"

static_assert(DK_NUM_BACKENDS == 16, "DKC_PLACES() lists 16 backends");

/*
 * The table positions of a functionality: one for each backend or, if @step is 0, the same for all.
 */
#define DKC_PLACES(bit, first, step)					\
	[0][bit] = (first), [1][bit] = (first) + (step),		\
	[2][bit] = (first) + 2 * (step), [3][bit] = (first) + 3 * (step), \
	[4][bit] = (first) + 4 * (step), [5][bit] = (first) + 5 * (step), \
	[6][bit] = (first) + 6 * (step), [7][bit] = (first) + 7 * (step), \
	[8][bit] = (first) + 8 * (step), [9][bit] = (first) + 9 * (step), \
	[10][bit] = (first) + 10 * (step), [11][bit] = (first) + 11 * (step), \
	[12][bit] = (first) + 12 * (step), [13][bit] = (first) + 13 * (step), \
	[14][bit] = (first) + 14 * (step), [15][bit] = (first) + 15 * (step)
#define DKC_PLACES_OF(U, N, per_backend)				\
	DKC_PLACES(DK_NUM_BACKENDS - 1 + DK_##U, DK_SLOT_##U, per_backend),

const u8 dk__places[DK_NUM_BACKENDS][64] = {
	DK_FUNCTIONALITIES(DKC_PLACES_OF)
	/* bits above the functionalities select the byte after the last entry */
	DKC_PLACES(DK_NUM_BACKENDS - 1 + DK_NUM_FUNCTIONALITIES, DK_NUM_ENTRIES, 0),
	DKC_PLACES(63, DK_NUM_ENTRIES, 0),
};

/*
 * Returns the position of the index byte of a keyset. Ignores bits outside the layout. If a trimmed
 * table has no entry for the keyset, returns that of the byte after the last slot.
 */
static unsigned int place_of(const struct dk_registry *reg, u64 ks)
{
	const struct dk_layout *l = reg->layout;

	if (likely(reg->v1))
		return dk__place(ks & DK_FULL, dk__top_backend(ks & DK_FULL));
	return dk_table_index(l, DK_KEYSET(ks)) < 0 ? l->num_entries :
						      dk_keyset_slot(l, DK_KEYSET(ks));
}

static inline u64 mask_by(const struct dk_registry *reg, const struct dkc_table *table, u64 ks)
{
	/* masks are numbered from 0; a set without a backend has the mask of the first one */
	return ks & table->index->mask[fls64((ks & dkc_backend_mask(reg)) >> 1)];
}

u64 dkc_merge(u64 raw, u64 included, u64 excluded, u64 backend_mask)
{
	return (raw | included) & (backend_mask | ~excluded);
}

static struct dkc_pick route_by_rules(const struct dk_op *op, const struct dkc_device *dev,
				      struct dkc_request *req, const struct dkc_view *view)
{
	const struct dk_layout *l = op->reg->layout;
	bool masked = req->mask;
	struct dkc_pick pick;
	unsigned int f;

	if (masked)
		req->ks = dkc_mask_by_rules(op, dev, req->ks, view);
	for (;; masked = true) {
		f = fls64((req->ks & l->full) >> l->nb);
		pick = dkc_serving(op, dev, req->ks, view);
		if (!f || !dkc_is_fallthrough(pick.reg))
			return pick;
		/* a redispatch is masked only if its set leads to a fallthrough: SEMANTICS 6.3 */
		if (!masked)
			req->ks = dkc_mask_by_rules(op, dev, req->ks, view);
		else
			/* a change has made the entry a fallthrough since @req->ks was masked */
			req->ks &= ~dkc_functionality_bit(l, f);
	}
}

static int unserved_error(const struct dkc_table *table, unsigned int id, bool no_device)
{
	if (table->kind == DKC_TABLE_SHUTDOWN)
		return -ESHUTDOWN;
	if (table->kind == DKC_TABLE_UNDEFINED)
		return -ENOENT;
	if (id == DKC_ID_AMBIGUOUS)
		return -ENOTUNIQ;
	return no_device ? -ENODEV : -ENOSYS;
}

/*
 * Checks @req->reg, which may have been registered after @table was published, and sets @req->fn.
 * Since @table was published, the operator may have been defined again without DK_OP_ATOMIC, or its
 * signature may have become known. So the function may not fit the call.
 */
static int take_found(const struct dkc_table *table, struct dkc_request *req)
{
	const struct dk_impl *impl = dkc_impl_of(req->reg);
	const char *sig = impl->op ? impl->op->sig : NULL;

	if ((table->op_flags & DK_OP_ATOMIC) && !(impl->flags & DK_IMPL_F_ATOMIC))
		return -ENOENT;
	if (req->decl && sig && dkc_is_other_sig(req->decl, dkc_sig_hash(sig)))
		return -EPROTOTYPE;
	req->fn = impl->fn;
	return 0;
}

/*
 * Returns the function at exactly @req->key from the lists of registrations or, if there is none,
 * the backend fallback. Masks @req->ks if no table has masked it.
 */
static const struct dkc_reg *registered_at(const struct dk_op *op, const struct dkc_device *dev,
					   const struct dkc_table *table,
					   struct dkc_request *req, const struct dkc_view *view)
{
	const struct dk_layout *l = op->reg->layout;
	struct dk_keyset ks = dk_key_set(l, req->key);
	const struct dkc_reg *r;

	if (table->kind == DKC_TABLE_BYPASS)
		req->ks = dkc_mask_by_rules(op, dev, req->ks, view);
	r = dkc_top(op, dev, req->key, view);
	/* as in PyTorch, a building block has the fallback of its first backend */
	return r || !ks.bits ? r : dkc_fallback_at(op, dk_keyset_slot(l, ks), view);
}

/* True if @table was replaced before the device of the call was found to be online. */
static bool is_replaced(const struct dk_op *op, const struct dkc_table *table)
{
	/* pairs with smp_store_release() in set_visible(): tables are published before a device */
	smp_rmb();
	return table != dkc_table_of_op(op) && table != dkc_deref(op->base, op->reg);
}

/* True if @table does not decide which function serves the call. */
static bool is_undecided(const struct dk_op *op, const struct dkc_table *table,
			 const struct dkc_device *dev, const struct dkc_request *req)
{
	return table->kind == DKC_TABLE_BYPASS ||
	       (table->kind == DKC_TABLE_FULL &&
		(req->at_key || (dev && is_replaced(op, table))));
}

/*
 * Called if the entry has no function, or if @table is not a full table. If @table does not decide,
 * finds the function by the rules or, for a call at a given key, in the lists of registrations.
 * Everything is read in one view. Otherwise returns the error of the call. @ks is the set of the
 * call before @table has masked it.
 */
static int find_without_entry(struct dk_op *op, const struct dkc_table *table,
			      unsigned int id, struct dkc_request *req, u64 ks)
{
	u32 device = dkc_device_of(op->reg->layout, ks, req->objs, req->n);
	const struct dkc_device *dev = dkc_device_online(op->reg, device);
	struct dkc_pick pick = { .prov = DK_PROV_MISSING };
	struct dkc_view view;

	if (!is_undecided(op, table, dev, req))
		goto unserved;
	do {
		req->ks = ks;
		dkc_view_begin(&view, op->reg);
		dev = dkc_device_without(op->reg, device, view.offline);
		req->args = dkc_deref(op->args, op->reg);
		if (req->at_key)
			pick.reg = registered_at(op, dev, table, req, &view);
		else
			pick = route_by_rules(op, dev, req, &view);
	} while (!dkc_view_holds(&view, op->reg));
	req->reg = pick.reg;
	if (pick.reg && !dkc_is_fallthrough(pick.reg))
		return take_found(table, req);
	id = pick.prov == DK_PROV_AMBIGUOUS ? DKC_ID_AMBIGUOUS : DKC_ID_MISSING;
unserved:
	return unserved_error(table, id, device && !dev);
}

int dkc_find(struct dk_op *op, const struct dkc_table *table, struct dkc_request *req)
{
	const struct dk_registry *reg = op->reg;
	const struct dkc_table *own = table;
	bool masked = req->mask;
	const struct dk__entry *e;
	u64 ks = req->ks;
	unsigned int id;

	if (unlikely(table->kind != DKC_TABLE_FULL))
		return find_without_entry(op, table, DKC_ID_MISSING, req, ks);
	if (unlikely(dkc_table_devices(table)))
		own = dkc_table_of_device(table, dkc_device_of(reg->layout, req->ks,
							       req->objs, req->n));
	if (masked)
		req->ks = mask_by(reg, own, req->ks);
again:
	id = own->index->index[place_of(reg, req->ks)];
	if (likely(id >= DKC_ID_FIRST)) {
		e = dkc_table_entry(own, id);
		req->fn = e->fn;
		req->reg = e->reg;
		if (likely(req->fn))
			return 0;
	} else {
		req->reg = NULL;
	}
	/* a redispatch is masked only if its set leads to a fallthrough: SEMANTICS 6.3 */
	if (!masked && (id == DKC_ID_FALLTHROUGH || dkc_is_fallthrough(req->reg))) {
		req->ks = mask_by(reg, own, req->ks);
		masked = true;
		goto again;
	}
	return find_without_entry(op, table, id, req, ks);
}

/*
 * Returns the function in the table's entry of @key if it is registered at exactly @key. If not,
 * returns NULL. The caller then searches the lists of registrations for the function.
 */
static const struct dkc_reg *table_at_key(const struct dk_layout *l,
					  const struct dkc_table *table, unsigned int key)
{
	struct dkc_place at = dkc_key_place(l, key);
	unsigned int id = table->index->index[dkc_slot(l, at.f, at.b)];
	const struct dkc_reg *r = id >= DKC_ID_FIRST ? dkc_table_entry(table, id)->reg : NULL;

	return r && r->key == key ? r : NULL;
}

/* Finds what is registered at exactly @req->key, without the rules: SEMANTICS 8.3. */
static int find_at_key(struct dk_op *op, const struct dkc_table *table, struct dkc_request *req)
{
	const struct dk_layout *l = op->reg->layout;
	const struct dkc_table *own;

	if (!dkc_is_key(dk_key_kind(l, req->key)))
		return -EINVAL;
	if (table->kind == DKC_TABLE_FULL) {
		own = dkc_table_of_device(table, dkc_device_of(l, req->ks, req->objs, req->n));
		req->ks = mask_by(op->reg, own, req->ks);
		req->reg = table_at_key(l, own, req->key);
		if (req->reg && !dkc_is_fallthrough(req->reg))
			return take_found(table, req);
	}
	return find_without_entry(op, table, DKC_ID_MISSING, req, req->ks);
}

int dkc_find_typed(struct dk_op *op, const struct dkc_table *table, struct dkc_request *req)
{
	u64 sig = table->kind == DKC_TABLE_FULL ? table->sig : DKC_SIG_UNKNOWN;

	/* the table may be older than the operator's signature */
	if (sig == DKC_SIG_UNKNOWN)
		sig = READ_ONCE(op->sig);
	/* -EPROTOTYPE takes precedence over every other error */
	if (req->decl && dkc_is_other_sig(req->decl, sig))
		return -EPROTOTYPE;
	return req->at_key ? find_at_key(op, table, req) : dkc_find(op, table, req);
}
