// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * What comes, goes and changes its state is counted, and the world that keeps
 * the registry may watch. All of it under the lock.
 */
#include "registry.h"

static void dkc_show_sight(const struct dkc_sight *sight)
{
	sight->reg->watcher->saw(sight->reg->watcher, sight);
}

void dkc_saw_op(const struct dk_op *op, struct dkc_provider *core, bool came)
{
	const struct dkc_sight sight = {
		.reg = op->reg,
		.kind = came ? DKC_OP_CAME : DKC_OP_WENT,
		.name = op->name,
		.provider = core->name,
	};

	core->num_ops += came ? 1 : -1;
	if (op->reg->watcher)
		dkc_show_sight(&sight);
}

static void dkc_show_reg(const struct dkc_reg *r, bool came)
{
	const struct dkc_block *b = dkc_block_of(r);
	const struct dkc_sight sight = {
		.reg = b->prov->reg,
		.kind = came ? DKC_IMPL_CAME : DKC_IMPL_WENT,
		.name = dkc_reg_op(r) ? dkc_reg_op(r)->name : NULL,
		.number = b->device,
		.key = r->key,
		.provider = b->prov->name,
	};

	dkc_show_sight(&sight);
}

void dkc_saw_block(const struct dkc_block *b, bool came)
{
	struct dk_registry *reg = b->prov->reg;
	int by = came ? 1 : -1;
	unsigned int i;

	/* a fallback is one function, however many keys it is for */
	b->prov->num_impls += by * (b->fallback ? 1 : (int)b->n);
	reg->num_impls += by * (b->fallback ? 0 : (int)b->n);
	for (i = 0; i < b->n; i++) {
		u64 backend = dkc_reg_bits(&b->regs[i], reg->layout) &
			      reg->layout->backend_mask;

		if (backend)
			reg->impls_at[dkc_ffs64(backend) + 1] += by;
		if (reg->watcher)
			dkc_show_reg(&b->regs[i], came);
	}
}

void dkc_saw_device(const struct dkc_device *dev, enum dkc_seen kind)
{
	struct dk_registry *reg = dev->prov->reg;
	const struct dkc_sight sight = {
		.reg = reg,
		.kind = kind,
		.name = dev->name,
		.number = dev->number,
		.provider = kind == DKC_DEVICE_STATE ? NULL : dev->prov->name,
		.online = dev->want_online,
	};

	if (kind != DKC_DEVICE_STATE) {
		int by = kind == DKC_DEVICE_CAME ? 1 : -1;

		dev->prov->num_devices += by;
		reg->num_devices += by;
		reg->devices_of[dev->backend] += by;
	}
	if (reg->watcher)
		dkc_show_sight(&sight);
}

void dkc_saw_backend(const struct dk_registry *reg, unsigned int backend,
		     const struct dkc_provider *core, enum dkc_seen kind)
{
	char name[DK_NAME_MAX];
	const struct dkc_sight sight = {
		.reg = reg,
		.kind = kind,
		.name = name,
		.number = backend,
		.provider = core ? core->name : NULL,
		.online = !(reg->want_offline >> (backend - 1) & 1),
	};

	if (!reg->watcher)
		return;
	dkc_backend_text(reg, backend, name);
	dkc_show_sight(&sight);
}

void dkc_watch(struct dk_registry *reg, struct dkc_watcher *watcher)
{
	dkc_mutex_lock(&reg->lock);
	reg->watcher = watcher;
	dkc_mutex_unlock(&reg->lock);
}
