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
	if (*core && !(*core)->gone && !reg->shutdown) {
		dkc_remark(why, DK_WHY_NONE, NULL);
		return 0;
	}
	reason = reg->shutdown ? DK_WHY_SHUTDOWN : DK_WHY_UNREGISTERED;
	dkc_mutex_unlock(&reg->lock);
	return dkc_refuse(why, reason, prov->name);
}

/* May the caller wait for the calls of this provider? Changes nothing. */
static int dkc_may_leave(const struct dkc_provider *core, struct dk_diag *why)
{
	if (dkc_in_atomic())
		return dkc_refuse(why, DK_WHY_ATOMIC, NULL);
	if (core && dkc_gate_inside(core))
		return dkc_refuse(why, DK_WHY_INSIDE, core->name);
	return 0;
}

/* The lock, for one who will wait for calls: that is refused before anything. */
int dkc_provider_lock_to_leave(struct dk_provider *prov, struct dkc_provider **core,
			       struct dk_diag *why)
{
	int err = dkc_may_leave(dkc_load(prov->core), why);

	return err ? err : dkc_provider_lock(prov, core, why);
}

/* Unpublish all that a provider brought; the lock is held, nothing fails. */
static void dkc_provider_withdraw(struct dkc_provider *core)
{
	struct dkc_change ch = { NULL };
	struct dk_op *op;

	dkc_libraries_withdraw(core, &ch);
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

static void dkc_provider_free(struct dkc_provider *core)
{
	struct dkc_provider **p = &core->reg->providers;

	while (*p != core)
		p = &(*p)->next;
	*p = core->next;
	dkc_backends_leave(core);
	dkc_free(core);
}

/* The last who waited frees what is drained, and the provider if it has gone. */
static void dkc_wait_end(struct dkc_provider *core)
{
	struct dkc_block **p = &core->withdrawn, *b;

	if (--core->waiters)
		return;
	while ((b = *p)) {
		if (!b->drained) {
			p = &b->next;
			continue;
		}
		*p = b->next;
		dkc_free(b->dev);
		dkc_free(b->owned);
		dkc_free(b);
	}
	if (core->gone)
		dkc_provider_free(core);
}

/*
 * Give the lock back and wait until nobody is inside of @only, or of all that
 * was withdrawn by now. Several may wait at once: while one does, nothing that
 * was withdrawn is freed, so that each may look at all of it.
 */
void dkc_provider_wait(struct dkc_provider *core, struct dkc_block *only)
{
	struct dk_registry *reg = core->reg;
	struct dkc_block *list = only ? only : core->withdrawn, *b;
	bool leaves = core->gone;

	core->waiters++;
	dkc_mutex_unlock(&reg->lock);
	dkc_synchronize();
	for (b = list; b; b = only ? NULL : b->next)
		dkc_gate_drain(core, b);
	dkc_mutex_lock(&reg->lock);
	for (b = list; b; b = only ? NULL : b->next)
		b->drained = true;
	/* the caller's, who may give it back when we return: not later */
	if (leaves && core->pub) {
		dkc_store(core->pub->core, NULL);
		core->pub = NULL;
	}
	dkc_wait_end(core);
	dkc_mutex_unlock(&reg->lock);
}

/* Under the lock, which is given back. Another caller may have begun already. */
static void dkc_provider_leave(struct dkc_provider *core)
{
	if (!core->gone) {
		core->gone = true;
		dkc_provider_withdraw(core);
	}
	dkc_provider_wait(core, NULL);
}

static struct dkc_provider *dkc_provider_find(struct dk_registry *reg,
					      const struct dk_provider *prov)
{
	struct dkc_provider *core = reg->providers;

	while (core && core->pub != prov)
		core = core->next;
	return core;
}

int dk_provider_unregister(struct dk_provider *prov)
{
	struct dkc_provider *core;
	struct dk_registry *reg;
	int err = dkc_may_leave(NULL, NULL);

	/* one that is not registered may have outlived its registry */
	if (err || !dkc_load(prov->core))
		return err;
	reg = dkc_registry(prov->registry);
	dkc_mutex_lock(&reg->lock);
	core = dkc_provider_find(reg, prov);
	if (reg->shutdown)
		err = -ESHUTDOWN;
	else if (core)
		err = dkc_may_leave(core, NULL);
	if (!core || err) {
		dkc_mutex_unlock(&reg->lock);
		return err;
	}
	dkc_provider_leave(core);
	dkc_news_tell(reg);
	return 0;
}

int dk_provider_drain(struct dk_provider *prov)
{
	struct dkc_provider *core;
	int err = dkc_provider_lock_to_leave(prov, &core, NULL);

	if (!err)
		dkc_provider_wait(core, NULL);
	return err;
}

bool dkc_owner_leave(struct dk_registry *reg, const void *owner,
		     char name[DK_NAME_MAX])
{
	struct dkc_provider *core;

	dkc_mutex_lock(&reg->lock);
	core = reg->providers;
	while (core && (core->owner != owner || core->gone))
		core = core->next;
	if (!core) {
		dkc_mutex_unlock(&reg->lock);
		return false;
	}
	dkc_strcpy(name, core->name, DK_NAME_MAX);
	core->pub = NULL;
	dkc_provider_leave(core);
	dkc_news_tell(reg);
	return true;
}
