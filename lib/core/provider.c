// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Providers: who registers, and how one leaves. Leaving unpublishes everything
 * under the lock, waits for one grace period, drains the gate, and only then
 * frees; nothing of it needs memory.
 */
#include "registry.h"

static int dkc_check_provider(const struct dk_provider *prov, struct dk_diag *why)
{
	if (prov->size != sizeof(*prov))
		return dkc_refuse(why, DK_WHY_BAD_SIZE, "struct dk_provider");
	if (!dkc_name_ok(prov->name))
		return dkc_refuse(why, DK_WHY_BAD_NAME, prov->name);
	if (prov->abi != DK_ABI_VERSION)
		return dkc_refuse(why, DK_WHY_ABI, prov->name);
	return 0;
}

int dk_provider_register(struct dk_provider *prov, struct dk_diag *why)
{
	struct dk_registry *reg;
	struct dkc_provider *core;
	int err = dkc_check_provider(prov, why);

	if (err)
		return err;
	reg = dkc_registry(prov->registry);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, prov->name);
	if (!prov->layout || !dkc_streq(prov->layout, reg->layout->name))
		return dkc_refuse(why, DK_WHY_LAYOUT, prov->name);
	core = dkc_alloc(sizeof(*core));
	if (!core)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, prov->name);
	dkc_mutex_lock(&reg->lock);
	if (prov->core || reg->shutdown) {
		err = dkc_refuse(why, prov->core ? DK_WHY_REGISTERED :
						   DK_WHY_SHUTDOWN, prov->name);
		dkc_mutex_unlock(&reg->lock);
		dkc_free(core);
		return err;
	}
	core->reg = reg;
	core->pub = prov;
	core->priv = prov->priv;
	core->owner = prov->owner;
	dkc_strcpy(core->name, prov->name, sizeof(core->name));
	core->next = reg->providers;
	reg->providers = core;
	dkc_store(prov->core, core);
	dkc_mutex_unlock(&reg->lock);
	dkc_remark(why, DK_WHY_NONE, NULL);
	return 0;
}

/* Take the lock of a provider's registry, if it is still registered there. */
int dkc_provider_lock(struct dk_provider *prov, struct dkc_provider **core,
		      struct dk_diag *why)
{
	struct dk_registry *reg = dkc_registry(prov->registry);
	enum dk_reason reason;

	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, prov->name);
	dkc_mutex_lock(&reg->lock);
	*core = prov->core;
	if (*core && !reg->shutdown) {
		dkc_remark(why, DK_WHY_NONE, NULL);
		return 0;
	}
	reason = reg->shutdown ? DK_WHY_SHUTDOWN : DK_WHY_UNREGISTERED;
	dkc_mutex_unlock(&reg->lock);
	return dkc_refuse(why, reason, prov->name);
}

/* May the caller wait for the calls of this provider? Changes nothing. */
int dkc_may_leave(const struct dkc_provider *core, struct dk_diag *why)
{
	if (dkc_in_atomic())
		return dkc_refuse(why, DK_WHY_ATOMIC, NULL);
	if (core && dkc_gate_inside(core))
		return dkc_refuse(why, DK_WHY_INSIDE, core->name);
	return 0;
}

/* Unpublish all that a provider brought; the lock is held, nothing fails. */
static void dkc_provider_withdraw(struct dkc_provider *core)
{
	struct dkc_change ch = { NULL };
	struct dk_op *op;

	while ((op = core->defs)) {
		dkc_op_undefine(op);
		dkc_change_add(&ch, op);
	}
	while (core->blocks) {
		struct dkc_device *dev = core->blocks->dev;

		dkc_block_withdraw(core->blocks, &ch);
		if (dev)
			dkc_device_remove(core->reg, dev);
	}
	dkc_change_force(&ch);
}

static void dkc_provider_unlink(struct dkc_provider *core)
{
	struct dkc_provider **p = &core->reg->providers;

	while (*p != core)
		p = &(*p)->next;
	*p = core->next;
	dkc_backends_leave(core);
}

int dk_provider_unregister(struct dk_provider *prov)
{
	struct dkc_provider *core;
	struct dk_registry *reg;
	int err = dkc_may_leave(dkc_load(prov->core), NULL);

	if (err)
		return err;
	if (!dkc_load(prov->core))
		return 0;
	reg = dkc_registry(prov->registry);
	dkc_mutex_lock(&reg->lock);
	core = reg->shutdown ? NULL : prov->core;
	err = reg->shutdown ? -ESHUTDOWN : 0;
	if (core) {
		dkc_store(prov->core, NULL);
		dkc_provider_withdraw(core);
	}
	dkc_mutex_unlock(&reg->lock);
	if (!core)
		return err;
	dkc_synchronize();
	dkc_gate_drain(core, NULL);
	dkc_mutex_lock(&reg->lock);
	dkc_provider_unlink(core);
	dkc_mutex_unlock(&reg->lock);
	dkc_blocks_free(core->withdrawn);
	dkc_free(core);
	return 0;
}

int dk_provider_drain(struct dk_provider *prov)
{
	struct dkc_provider *core;
	struct dkc_block *list, *b;
	int err = dkc_may_leave(dkc_load(prov->core), NULL);

	if (err)
		return err;
	err = dkc_provider_lock(prov, &core, NULL);
	if (err)
		return err;
	list = core->withdrawn;
	core->withdrawn = NULL;
	dkc_mutex_unlock(&core->reg->lock);
	dkc_synchronize();
	for (b = list; b; b = b->next)
		dkc_gate_drain(core, b);
	dkc_blocks_free(list);
	return 0;
}

struct dk_provider *dkc_provider_of_owner(struct dk_registry *reg,
					  const void *owner)
{
	struct dkc_provider *core;
	struct dk_provider *prov = NULL;

	dkc_mutex_lock(&reg->lock);
	for (core = reg->providers; core && !prov; core = core->next)
		if (core->owner == owner && core->pub->core == core)
			prov = core->pub;
	dkc_mutex_unlock(&reg->lock);
	return prov;
}
