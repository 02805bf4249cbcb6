// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Registries: made bare or stocked, checked, shut down, given back.
 */
#include "registry.h"

/* Leaves no key of a set, and has nothing for any: dk__look_up() may ask for all. */
const struct dkc_shape dkc_shape_of_none = {
	.entries = DK_NUM_ENTRIES + 1,
	.index = { [DK_NUM_ENTRIES] = DKC_ID_MISSING },
};

/* The rows that stand for something else than a table. */
#define NO_TABLE(row_kind)						\
	.shape = &dkc_shape_of_none, .kind = (row_kind), .direct = DK__NOT_DIRECT

const struct dkc_row dkc_row_undefined = { NO_TABLE(DKC_ROW_UNDEFINED) };
const struct dkc_row dkc_row_gone = { NO_TABLE(DKC_ROW_GONE) };

/* The class of the call is that of its row. */
#define BY_FLAGS(name, kind)						\
	static const struct dkc_row name##_0 = { NO_TABLE(kind) };	\
	static const struct dkc_row name##_1 = { NO_TABLE(kind), .op_flags = 1 }; \
	static const struct dkc_row name##_2 = { NO_TABLE(kind), .op_flags = 2 }; \
	static const struct dkc_row name##_3 = { NO_TABLE(kind), .op_flags = 3 }; \
									\
	const struct dkc_row *dkc_row_##name(unsigned int flags)	\
	{								\
		static const struct dkc_row *const rows[] = {		\
			&name##_0, &name##_1, &name##_2, &name##_3,	\
		};							\
									\
		return rows[flags & (DK_OP_ATOMIC | DK_OP_SAME_DEVICE)]; \
	}

/* The one that asks the evaluator, for an operator of these flags. */
BY_FLAGS(resolve, DKC_ROW_RESOLVE)
/* And the one by which calls take the slow path. */
BY_FLAGS(aside, DKC_ROW_ASIDE)

struct dk_op dk__unbound = { .row = DKC_RCU_INIT(&dkc_row_undefined) };

static const struct dk_impl dkc_stock_impl = {
	.label = "fallthrough",
	.flags = DK_IMPL_F_FALLTHROUGH | DK_IMPL_F_ATOMIC,
	.size = sizeof(struct dk_impl),
};

static void dkc_registry_release(struct dk_registry *reg)
{
	dkc_layout_put(reg->layout);
	dkc_free(reg->stock_block);
	dkc_free(reg->easel);
	dkc_free(reg->stock);
	dkc_free((void *)reg->fallback);
	dkc_free(dkc_deref_locked(reg->devmap));
	dkc_order_free(reg);
	dkc_free(reg);
}

/* Are there hooks besides those of its world? */
static bool dkc_has_hooks(const struct dk_registry *reg)
{
	const struct dk_hooks *h = dkc_deref_locked(reg->hooks);

	if (h == &reg->trace)
		h = dkc_deref_locked(h->next);
	return h;
}

/* What a call needs to get past under the default local state. */
static u64 dkc_stock_set(const struct dk_layout *l)
{
	static const char * const names[] = {
		"BackendSelect", "ADInplaceOrView", "AutogradOther",
		"AutogradNestedTensor", "FuncTorchVmapMode", "VmapMode",
	};
	u64 set = l->autocast_set | l->backend_mask |
		  dkc_functionality_bit(l, l->role[DKC_ROLE_AUTOGRAD]);
	unsigned int f, i;

	for (f = 1; f < l->nf; f++)
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (dkc_streq(l->functionality_names[f], names[i]))
				set |= dkc_functionality_bit(l, f);
	return set;
}

static int dkc_registry_stock(struct dk_registry *reg)
{
	struct dk_keyset set = { dkc_stock_set(reg->layout) };
	struct dkc_block *b;
	unsigned int slot = 0;

	b = dkc_block_alloc(NULL, NULL, NULL, reg->layout->num_entries);
	if (!b)
		return -ENOMEM;
	b->state = DKC_LIVE;
	b->fallback = true;
	b->impls = &dkc_stock_impl;
	while ((slot = dk_keyset_next(reg->layout, set, slot))) {
		unsigned int key = dk_slot_key(reg->layout, slot);
		struct dkc_reg *r;

		if (dk_table_index(reg->layout, dk_key_set(reg->layout, key)) < 0)
			continue;
		r = &b->regs[b->n];
		r->place = b->n++;
		r->key = key;
		r->slot = slot;
		r->group = DKC_FALLS_THROUGH;
		reg->stock[slot] = r;
	}
	reg->stock_block = b;
	return 0;
}

struct dk_registry *dk_registry_alloc(const struct dk_layout *l, unsigned int flags,
				      struct dk_diag *why)
{
	struct dk_registry *reg;
	u32 entries;

	l = dkc_layout(l);
	if (!l->has_tables) {
		dkc_refuse(why, DK_WHY_NO_TABLE, l->name);
		return NULL;
	}
	if (flags & ~(DK_REGISTRY_STOCKED | DK_REGISTRY_FORCE_RESOLVE)) {
		dkc_refuse(why, DK_WHY_BAD_FLAGS, NULL);
		return NULL;
	}
	entries = l->num_entries;
	reg = dkc_alloc(sizeof(*reg));
	if (!reg)
		goto no_memory;
	dkc_layout_get(l);
	reg->layout = l;
	reg->flags = flags;
	reg->v1 = !l->trimmed && l->nb == DK_NUM_BACKENDS && l->full == DK_FULL &&
		  l->role[DKC_ROLE_PYTHON_DISPATCHER] == DK_PYTHON_DISPATCHER &&
		  l->per_backend == DK_PER_BACKEND_MASK >> (DK_NUM_BACKENDS - 1);
	reg->easel = dkc_easel_make(l);
	reg->stock = dkc_alloc(entries * sizeof(*reg->stock));
	reg->fallback = dkc_alloc(entries * sizeof(*reg->fallback));
	/* behind those of a trimmed table is one for all that have none */
	reg->shape_entries = dkc_table_size(l) + l->trimmed;
	/* dk__look_up() looks before it knows of which layout the row is */
	if (reg->shape_entries <= DK_NUM_ENTRIES)
		reg->shape_entries = DK_NUM_ENTRIES + 1;
	if (!reg->easel || !reg->stock || !reg->fallback)
		goto no_tables;
	if ((flags & DK_REGISTRY_STOCKED) && dkc_registry_stock(reg))
		goto no_tables;
	dkc_fallbacks_changed(reg);
	dkc_mutex_init(&reg->lock);
	reg->tables = dkc_has_fast_calls() ? DKC_TABLES_PLAIN : DKC_TABLES_ASIDE;
	dkc_change_traced(reg);
	dkc_registry_born(reg);
	dkc_remark(why, DK_WHY_NONE, NULL);
	return reg;

no_tables:
	dkc_registry_release(reg);
no_memory:
	dkc_refuse(why, DK_WHY_NO_MEMORY, NULL);
	return NULL;
}

bool dkc_visit(struct dk_registry *reg, dkc_owns_fn owns, const void *object,
	       const void *owner)
{
	bool has;

	dkc_mutex_lock(&reg->lock);
	has = dkc_listener_of(reg, owns, object) || dkc_hooks_of(reg, owns, object) ||
	      dkc_provider_of(reg, owner);
	reg->visitors += has;
	dkc_mutex_unlock(&reg->lock);
	return has;
}

void dkc_visit_end(struct dk_registry *reg)
{
	dkc_mutex_lock(&reg->lock);
	reg->visitors--;
	dkc_mutex_unlock(&reg->lock);
}

int dk_registry_free(struct dk_registry *reg, struct dk_diag *why)
{
	dkc_remark(why, DK_WHY_NONE, NULL);
	if (!reg)
		return 0;
	dkc_mutex_lock(&reg->lock);
	if (reg->is_default || reg->visitors || reg->providers || reg->num_held ||
	    reg->listeners || reg->teller || dkc_has_hooks(reg)) {
		dkc_refuse(why, DK_WHY_IN_USE,
			   reg->providers ? reg->providers->name : NULL);
		dkc_mutex_unlock(&reg->lock);
		return -EBUSY;
	}
	dkc_mutex_unlock(&reg->lock);
	dkc_registry_dies(reg);
	/* a call may just be reading the last row */
	dkc_synchronize();
	dkc_news_free(reg->news);
	dkc_stats_end(reg);
	dkc_ops_free(reg);
	dkc_mutex_destroy(&reg->lock);
	dkc_registry_release(reg);
	return 0;
}

const struct dk_layout *dk_registry_layout(const struct dk_registry *reg)
{
	return reg ? reg->layout : dkc_layout(NULL);
}

void dkc_registry_shutdown(struct dk_registry *reg)
{
	struct dk_op *op;
	u32 pos = 0;

	dkc_mutex_lock(&reg->lock);
	dkc_store(reg->shutdown, true);
	while ((op = dkc_op_next(reg, &pos)))
		dkc_op_set_table(op, &dkc_row_gone);
	dkc_mutex_unlock(&reg->lock);
}

__u64 dk_registry_generation(struct dk_registry *reg)
{
	u64 generation = 0;

	reg = dkc_registry(reg);
	if (reg) {
		dkc_mutex_lock(&reg->lock);
		generation = reg->generation;
		dkc_mutex_unlock(&reg->lock);
	}
	return generation;
}

/* Does one entry of a published row say what the rules say? */
static bool dkc_entry_right(const struct dk_op *op, const struct dkc_row *row,
			    const struct dkc_device *dev, unsigned int f,
			    unsigned int b)
{
	const struct dk_layout *l = op->reg->layout;
	struct dkc_pick pick = dkc_evaluate(op, dev, f, b, NULL);
	bool masked = f && !(row->shape->mask[b ? b - 1 : 0] &
			     dkc_functionality_bit(l, f));
	unsigned int id;
	bool falls;

	if (!dkc_has_entry(l, f, b))
		return !masked;
	id = dkc_row_id(l, row, f, b);
	if (pick.prov == DK_PROV_AMBIGUOUS)
		return id == DKC_ID_AMBIGUOUS && !masked;
	falls = pick.prov == DK_PROV_FALLBACK && dkc_is_fallthrough(pick.reg);
	if (id == DKC_ID_FALLTHROUGH ? !falls : falls)
		return false;
	return dkc_row_reg(op, row, f, b) == pick.reg &&
	       masked == (f && dkc_is_fallthrough(pick.reg));
}

static bool dkc_row_right(const struct dk_op *op, const struct dkc_row *row,
			  const struct dkc_device *dev)
{
	const struct dk_layout *l = op->reg->layout;
	unsigned int f, b;

	for (f = 0; f < l->nf; f++)
		for (b = 1; b <= dkc_width(l, f); b++)
			if (!dkc_entry_right(op, row, dev, f, b))
				return false;
	return true;
}

bool dkc_op_right(const struct dk_op *op)
{
	const struct dkc_row *row = dkc_deref_locked(op->base);
	const struct dkc_devtab *tab;
	u32 i;

	if (!row)
		return true;
	if (!dkc_row_right(op, row, NULL))
		return false;
	tab = row->devs;
	for (i = 0; tab && i <= tab->mask; i++) {
		u32 number = tab->slot[i].number;

		if (!dkc_row_right(op, tab->slot[i].row,
				   number ? dkc_device_at(op->reg, number) : NULL))
			return false;
	}
	return true;
}

int dk_registry_check(struct dk_registry *reg, struct dk_diag *why)
{
	struct dk_op *op;
	u32 pos = 0;
	int err = 0;

	reg = dkc_registry(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, NULL);
	dkc_remark(why, DK_WHY_NONE, NULL);
	dkc_mutex_lock(&reg->lock);
	while (!err && (op = dkc_op_next(reg, &pos)))
		if (!dkc_op_right(op))
			err = dkc_refuse(why, DK_WHY_ROW, op->name);
	dkc_mutex_unlock(&reg->lock);
	return err;
}
