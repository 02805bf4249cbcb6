// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Calls the notifiers after changes, and counts operators, functions and devices of a registry. */
#include "state.h"

static void notify_all(const struct dkc_event *event)
{
	struct dkc_notifier *n;

	for (n = event->reg->notifiers; n; n = n->next)
		n->notify(n, event);
}

void dkc_notify_op(const struct dk_op *op, struct dkc_provider *core, bool added)
{
	const struct dkc_event event = {
		.reg = op->reg,
		.kind = added ? DKC_OP_DEFINED : DKC_OP_UNDEFINED,
		.name = op->name,
		.provider = core->name,
	};

	dkc_assert_writer(op->reg);
	core->num_ops += added ? 1 : -1;
	notify_all(&event);
}

static void notify_reg(const struct dkc_reg *r, bool added)
{
	const struct dkc_block *b = dkc_block_of(r);
	const struct dkc_event event = {
		.reg = b->prov->reg,
		.kind = added ? DKC_IMPL_ADDED : DKC_IMPL_REMOVED,
		.name = dkc_reg_op(r) ? dkc_reg_op(r)->name : NULL,
		.number = b->device,
		.key = r->key,
		.provider = b->prov->name,
	};

	notify_all(&event);
}

void dkc_notify_block(const struct dkc_block *b, bool added)
{
	struct dk_registry *reg = b->prov->reg;
	int by = added ? 1 : -1;
	unsigned int i;
	u64 counted = 0;

	dkc_assert_writer(b->prov->reg);
	/* a fallback is one function, even at several keys */
	b->prov->num_impls += by * (b->fallback ? 1 : (int)b->n);
	reg->num_impls += by * (b->fallback ? 0 : (int)b->n);
	for (i = 0; i < b->n; i++) {
		u64 backend = dkc_reg_bits(&b->regs[i], reg->layout) &
			      reg->layout->backend_mask;

		if (backend & ~counted)
			reg->impls_at[__ffs64(backend) + 1] += by;
		if (b->fallback)
			counted |= backend;
		if (reg->notifiers)
			notify_reg(&b->regs[i], added);
	}
}

void dkc_notify_device(const struct dkc_device *dev, enum dkc_event_kind kind)
{
	struct dk_registry *reg = dev->prov->reg;
	const struct dkc_event event = {
		.reg = reg,
		.kind = kind,
		.name = dev->name,
		.number = dev->number,
		.provider = kind == DKC_DEVICE_STATE ? NULL : dev->prov->name,
		.online = dev->want_online,
	};

	dkc_assert_writer(dev->prov->reg);
	if (kind != DKC_DEVICE_STATE) {
		int by = kind == DKC_DEVICE_ADDED ? 1 : -1;

		dev->prov->num_devices += by;
		reg->num_devices += by;
		reg->devices_of[dev->backend] += by;
	}
	notify_all(&event);
}

void dkc_notify_backend(const struct dk_registry *reg, unsigned int backend,
			const struct dkc_provider *core, enum dkc_event_kind kind)
{
	char name[DK_NAME_MAX];
	const struct dkc_event event = {
		.reg = reg,
		.kind = kind,
		.name = name,
		.number = backend,
		.provider = core ? core->name : NULL,
		.online = !(reg->want_offline >> (backend - 1) & 1),
	};

	dkc_assert_writer(reg);
	dkc_backend_text(reg, backend, name);
	notify_all(&event);
}

void dkc_notify_provider(const struct dkc_provider *core, enum dkc_event_kind kind)
{
	const struct dkc_event event = { .reg = core->reg, .kind = kind, .name = core->name };

	dkc_assert_writer(core->reg);
	notify_all(&event);
}

void dkc_providers_free(struct dkc_provider *removed)
{
	struct dkc_provider *core;

	while ((core = removed)) {
		removed = core->next;
		dkc_call_map_destroy(&core->call_map);
		kvfree(core);
	}
}

void dkc_registry_unlock(struct dk_registry *reg)
{
	struct dkc_provider *removed = reg->removed;
	bool visits = reg->notifies_unlocked;
	struct dkc_notifier *n;

	reg->removed = NULL;
	/* count a visit, so that the registry is not freed while its notifiers are called */
	reg->visitors += visits;
	mutex_unlock(&reg->lock);
	dkc_providers_free(removed);
	if (!visits)
		return;
	/* pairs with smp_store_release() in dkc_notifier_add() */
	for (n = smp_load_acquire(&reg->notifiers); n; n = READ_ONCE(n->next))
		if (n->unlocked)
			n->unlocked(n);
	dkc_registry_visit_end(reg);
}

void dkc_registry_unlock_flush(struct dk_registry *reg)
{
	dkc_registry_unlock(reg);
	dkc_flush_retired();
}

void dkc_notifier_add(struct dk_registry *reg, struct dkc_notifier *n)
{
	dkc_assert_writer(reg);
	n->next = reg->notifiers;
	reg->notifies_unlocked |= !!n->unlocked;
	/* pairs with smp_load_acquire() in dkc_registry_unlock() */
	smp_store_release(&reg->notifiers, n);
}

void dkc_notifier_remove(struct dk_registry *reg, struct dkc_notifier *n)
{
	struct dkc_notifier **p = &reg->notifiers;

	dkc_assert_writer(reg);
	while (*p != n)
		p = &(*p)->next;
	WRITE_ONCE(*p, n->next);
}

void dkc_notifiers_release(struct dk_registry *reg)
{
	struct dkc_notifier *n;

	dkc_assert_writer(reg);
	while ((n = reg->notifiers)) {
		reg->notifiers = n->next;
		if (n->release)
			n->release(n);
	}
}
