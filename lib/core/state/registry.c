// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Allocates and frees registries, and finds what a module or shared object has left in them. */
#include "state.h"

struct dk_op dk__unbound = { .table = RCU_INITIALIZER(&dkc_table_undefined) };

struct dk_registry *dkc_registry(struct dk_registry *reg)
{
	return reg ? reg : dk_registry_default();
}

struct dk_registry *dkc_registry_locked(struct dk_registry *reg)
{
	reg = dkc_registry(reg);
	if (reg)
		mutex_lock(&reg->lock);
	return reg;
}

static const struct dk_impl builtin_impl = {
	.label = "fallthrough",
	.flags = DK_IMPL_F_FALLTHROUGH | DK_IMPL_F_ATOMIC,
	.size = sizeof(struct dk_impl),
};

static void registry_release(struct dk_registry *reg)
{
	dkc_providers_free(reg->removed);
	dkc_layout_put(reg->layout);
	kvfree(reg->builtin_block);
	kvfree(reg->scratch);
	kvfree(reg->builtin);
	kvfree((void *)reg->fallback);
	kvfree(dkc_deref_locked(reg->devmap, reg));
	kvfree(reg);
}

/* True if any hooks are registered, except @trace, which prints the trace of DK_TRACE. */
static bool has_hooks(const struct dk_registry *reg)
{
	const struct dk_hooks *h = dkc_deref_locked(reg->hooks, reg);

	if (h == &reg->trace)
		h = dkc_deref_locked(h->next, reg);
	return h;
}

static int registry_builtins(struct dk_registry *reg)
{
	const struct dk_layout *l = reg->layout;
	unsigned int slot = 0, n = 0;
	struct dkc_block *b;

	while ((slot = dk_keyset_next(l, DK_KEYSET(l->builtins), slot)))
		n += dkc_has_entry(l, slot);
	b = dkc_block_alloc(&builtin_impl, n, true);
	if (!b)
		return -ENOMEM;
	b->state = DKC_LIVE;
	while ((slot = dk_keyset_next(l, DK_KEYSET(l->builtins), slot)))
		if (dkc_has_entry(l, slot))
			reg->builtin[slot] = dkc_block_add(b, l, &builtin_impl,
							   dk_slot_key(l, slot));
	reg->builtin_block = b;
	return 0;
}

/* Allocates a registry with storage for the names of its private backends. */
static struct dk_registry *registry_make(const struct dk_layout *l)
{
	struct dkc_private_backend *last;
	struct dk_registry *reg;
	unsigned int b, n = 1;

	for (b = 1; b <= l->nb; b++)
		n += dkc_is_private(l, b);
	reg = kvzalloc(offsetof(struct dk_registry, private_backends) +
		       n * sizeof(reg->private_backends[0]), GFP_KERNEL);
	if (!reg)
		return NULL;
	last = reg->private_backends;
	for (b = 0; b <= DKC_MAX_BACKENDS; b++)
		reg->private_backend[b] = dkc_is_private(l, b) ? ++last : reg->private_backends;
	reg->layout = l;
	return reg;
}

struct dk_registry *dk_registry_alloc(const struct dk_layout *l, unsigned int flags,
				      struct dk_diag *why)
{
	struct dk_registry *reg;

	l = dkc_layout(l);
	if (!l->has_tables) {
		dkc_refuse(why, DK_WHY_NO_TABLE, l->name);
		return NULL;
	}
	if (flags & ~(DK_REGISTRY_BUILTINS | DK_REGISTRY_FORCE_RESOLVE)) {
		dkc_refuse(why, DK_WHY_BAD_FLAGS, "enum dk_registry_flags");
		return NULL;
	}
	reg = registry_make(l);
	if (!reg)
		goto no_memory;
	dkc_layout_get(l);
	reg->unpublished = true;
	reg->flags = flags;
	reg->v1 = !l->trimmed && l->nb == DK_NUM_BACKENDS && l->full == DK_FULL &&
		  l->role[DKC_ROLE_PYTHON_DISPATCHER] == DK_PYTHON_DISPATCHER &&
		  l->per_backend == DK_PER_BACKEND_MASK >> (DK_NUM_BACKENDS - 1);
	reg->scratch = dkc_scratch_make(l);
	reg->builtin = kvcalloc(l->num_entries, sizeof(*reg->builtin), GFP_KERNEL);
	reg->fallback = kvcalloc(l->num_entries, sizeof(*reg->fallback), GFP_KERNEL);
	if (!reg->scratch || !reg->builtin || !reg->fallback)
		goto no_tables;
	if ((flags & DK_REGISTRY_BUILTINS) && registry_builtins(reg))
		goto no_tables;
	dkc_fallbacks_changed(reg);
	mutex_init(&reg->lock);
	dkc_change_watched(reg, true);
	reg->unpublished = false;
	dkc_registry_created(reg);
	/* a tracer that attached before dkc_registry_created() has not notified this registry */
	mutex_lock(&reg->lock);
	dkc_change_traced(reg);
	mutex_unlock(&reg->lock);
	dkc_accept(why);
	return reg;

no_tables:
	registry_release(reg);
no_memory:
	dkc_refuse(why, DK_WHY_NO_MEMORY, NULL);
	return NULL;
}

bool dkc_registry_visit(struct dk_registry *reg, dkc_owns_fn owns, const void *owner)
{
	struct dkc_left left;
	bool has;

	mutex_lock(&reg->lock);
	has = dkc_hooks_of(reg, owns, owner) || dkc_left_by(reg, owns, owner, &left);
	reg->visitors += has;
	mutex_unlock(&reg->lock);
	return has;
}

void dkc_registry_visit_end(struct dk_registry *reg)
{
	mutex_lock(&reg->lock);
	reg->visitors--;
	mutex_unlock(&reg->lock);
}

/* Returns the name of a provider, or of an operator with a handle, or NULL if there is neither. */
static const char *user_of(struct dk_registry *reg)
{
	const struct dk_op *op;
	u32 pos = 0;

	if (reg->providers)
		return reg->providers->name;
	/* without providers, operators exist only while handles refer to them */
	op = dkc_op_next(reg, &pos);
	return op ? op->name : NULL;
}

int dk_registry_free(struct dk_registry *reg, struct dk_diag *why)
{
	int err = 0;

	if (dkc_in_atomic())
		return dkc_refuse(why, DK_WHY_ATOMIC, NULL);
	if (!reg)
		return dkc_accept(why);
	mutex_lock(&reg->lock);
	if (reg->is_default)
		err = dkc_refuse(why, DK_WHY_DEFAULT_REGISTRY, NULL);
	else if (reg->visitors || reg->providers || reg->num_held || has_hooks(reg))
		err = dkc_refuse(why, DK_WHY_IN_USE, user_of(reg));
	mutex_unlock(&reg->lock);
	if (err)
		return err;
	dkc_registry_destroyed(reg);
	/* a call may still be reading a table */
	synchronize_rcu();
	reg->unpublished = true;
	dkc_notifiers_release(reg);
	dkc_stats_free(dkc_stats_detach(reg));
	dkc_ops_free(reg);
	mutex_destroy(&reg->lock);
	registry_release(reg);
	return dkc_accept(why);
}

__u64 dk_registry_generation(struct dk_registry *reg)
{
	u64 generation = 0;

	reg = dkc_registry_locked(reg);
	if (reg) {
		generation = reg->generation;
		mutex_unlock(&reg->lock);
	}
	return generation;
}

bool dkc_provider_is_owned(const struct dkc_provider *core, dkc_owns_fn owns, const void *owner)
{
	return !core->drained &&
	       (owns(owner, (uintptr_t)core->owner) || owns(owner, (uintptr_t)core->pub));
}

bool dkc_block_is_owned(const struct dkc_block *b, dkc_owns_fn owns, const void *owner)
{
	bool found = owns(owner, (uintptr_t)b->impls);
	const struct dk_impl *impl;
	u32 i;

	for (i = 0; !found && dkc_sees_unloading() && i < b->n; i++) {
		impl = dkc_impl_of(&b->regs[i]);
		found = owns(owner, (uintptr_t)impl->fn) || owns(owner, (uintptr_t)impl->op) ||
			owns(owner, (uintptr_t)impl->label) ||
			owns(owner, (uintptr_t)impl->schema);
	}
	return found;
}

static struct dkc_block *owned_in(struct dkc_block *b, dkc_owns_fn owns, const void *owner)
{
	while (b && (b->state == DKC_DRAINED || !dkc_block_is_owned(b, owns, owner)))
		b = b->next;
	return b;
}

/*
 * Returns a block of the owner: a published one, or a withdrawn one whose calls may still be
 * running. Returns NULL if there is none.
 */
static struct dkc_block *owned_block(const struct dkc_provider *core, dkc_owns_fn owns,
				     const void *owner)
{
	struct dkc_block *b = owned_in(core->blocks, owns, owner);

	return b ? b : owned_in(core->withdrawn, owns, owner);
}

bool dkc_left_by(struct dk_registry *reg, dkc_owns_fn owns, const void *owner,
		 struct dkc_left *left)
{
	u32 pos = 0;

	dkc_assert_writer(reg);
	*left = (struct dkc_left){ .prov = reg->providers };
	for (; left->prov; left->prov = left->prov->next) {
		if (dkc_provider_is_owned(left->prov, owns, owner))
			return true;
		left->block = owned_block(left->prov, owns, owner);
		if (left->block)
			return true;
	}
	while ((left->op = dkc_op_next(reg, &pos)))
		if (left->op->definer && owns(owner, (uintptr_t)left->op->decl))
			break;
	left->prov = left->op ? left->op->definer : NULL;
	return left->op;
}
