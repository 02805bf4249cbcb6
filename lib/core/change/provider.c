// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Registers and unregisters providers. Unregistering withdraws everything under the lock, waits for
 * one grace period and then for running calls, and then frees memory. Without a deadline, it
 * succeeds even if no memory can be allocated.
 */
#include "change.h"

static int check_provider(const struct dk_provider *prov, struct dk_diag *why)
{
	if (!prov)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "prov");
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
	struct dkc_provider *core, *had;
	struct dk_registry *reg;
	int err = check_provider(prov, why);

	if (err)
		return err;
	reg = dkc_registry(prov->registry);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, prov->name);
	if (!prov->layout || !dkc_streq(prov->layout, reg->layout->name))
		return dkc_refuse(why, DK_WHY_LAYOUT, prov->name);
	core = kvzalloc(sizeof(*core), GFP_KERNEL);
	if (!core)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, prov->name);
	dkc_owner_registers(prov->owner);
	mutex_lock(&reg->lock);
	/* @prov may be at the address of a provider that was freed without unregistering it */
	had = dkc_provider_find(reg, prov);
	if (prov->core || had || reg->shutdown) {
		err = dkc_refuse(why, !prov->core && !had ? DK_WHY_SHUTDOWN :
				 had && had->unregistering ? DK_WHY_UNREGISTERING :
				 DK_WHY_REGISTERED, had ? had->name : prov->name);
		mutex_unlock(&reg->lock);
		kvfree(core);
		return err;
	}
	core->reg = reg;
	core->pub = prov;
	core->priv = prov->priv;
	core->owner = prov->owner;
	dkc_strcpy(core->name, prov->name, sizeof(core->name));
	dkc_call_map_init(&core->call_map, core->name);
	core->number = ++reg->providers_so_far;
	core->next = reg->providers;
	reg->providers = core;
	reg->generation++;
	dkc_notify_provider(core, DKC_PROVIDER_ADDED);
	/* pairs with smp_load_acquire() in dkc_provider_lock_unregistering() */
	smp_store_release(&prov->core, core);
	mutex_unlock(&reg->lock);
	return dkc_accept(why);
}

int dkc_provider_lock(struct dk_provider *prov, struct dkc_provider **core, struct dk_diag *why)
{
	struct dk_registry *reg;
	enum dk_reason reason;

	if (!prov)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "prov");
	/* the registry of a provider that is not registered may be freed, or not exist yet */
	if (!READ_ONCE(prov->core))
		return dkc_refuse(why, DK_WHY_UNREGISTERED, prov->name);
	reg = dkc_registry_locked(prov->registry);
	*core = dkc_provider_find(reg, prov);
	if (*core && !(*core)->unregistering && !reg->shutdown)
		return dkc_accept(why);
	reason = reg->shutdown ? DK_WHY_SHUTDOWN :
		 *core ? DK_WHY_UNREGISTERING : DK_WHY_UNREGISTERED;
	mutex_unlock(&reg->lock);
	return dkc_refuse(why, reason, prov->name);
}

struct dkc_provider *dkc_provider_find(struct dk_registry *reg, const struct dk_provider *prov)
{
	struct dkc_provider *core = reg->providers;

	dkc_assert_writer(reg);
	while (core && core->pub != prov)
		core = core->next;
	return core;
}

/* The newest provider is first in the list. */
const struct dkc_provider *dkc_provider_after(const struct dk_registry *reg, u64 after)
{
	const struct dkc_provider *core = reg->providers, *first = NULL;

	dkc_assert_writer(reg);
	for (; core && core->number > after; core = core->next)
		if (!core->drained)
			first = core;
	return first;
}

int dkc_provider_lock_unregistering(struct dk_provider *prov, struct dkc_provider **core,
				    struct dk_diag *why)
{
	struct dk_registry *reg;
	int err = dkc_may_unregister(NULL, why);

	*core = NULL;
	if (err)
		return err;
	dkc_accept(why);
	/*
	 * If prov->core is NULL, the provider is not registered, and its registry may be freed. A
	 * caller that reads NULL also reads everything that the calls of the provider stored. Pairs
	 * with smp_store_release() in unregistered(): selftests/model/message.pml.
	 */
	if (!prov || !smp_load_acquire(&prov->core))
		return 0;
	reg = dkc_registry_locked(prov->registry);
	*core = dkc_provider_find(reg, prov);
	if (reg->shutdown)
		err = dkc_refuse(why, DK_WHY_SHUTDOWN, prov->name);
	else if (*core)
		err = dkc_may_unregister(*core, why);
	if (!*core || err) {
		mutex_unlock(&reg->lock);
		*core = NULL;
	}
	return err;
}

int dkc_provider_lock_to_wait(struct dk_provider *prov, struct dkc_provider **core,
			      struct dk_diag *why)
{
	int err;

	if (!prov)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "prov");
	err = dkc_provider_lock_unregistering(prov, core, why);
	return err || *core ? err : dkc_refuse(why, DK_WHY_UNREGISTERED, prov->name);
}

static void provider_withdraw(struct dkc_provider *core)
{
	struct dkc_change ch = { .ops = NULL };
	struct dk_op *op;
	u32 pos = 0;

	if (core->withdraw_libraries)
		core->withdraw_libraries(core, &ch);
	while (core->num_ops && (op = dkc_op_next(core->reg, &pos)))
		if (op->definer == core)
			dkc_op_undefine(op, &ch);
	while (core->blocks)
		dkc_block_withdraw(core->blocks, &ch);
	dkc_change_force(&ch);
}

/*
 * Unregisters the provider, even if another caller has already begun to do so. On success, the last
 * thread that waits for the provider frees it.
 */
static int unregister(struct dkc_provider *core, u64 deadline, struct dk_diag *why)
	__must_hold(&core->reg->lock)
{
	struct dkc_target target = { .any = true, .deadline = deadline };

	dkc_assert_writer(core->reg);
	if (!core->unregistering) {
		core->unregistering = true;
		core->reg->generation++;
		dkc_notify_provider(core, DKC_PROVIDER_UNREGISTERING);
		provider_withdraw(core);
	}
	return dkc_wait(core, &target, why);
}

static int lock_and_unregister(struct dk_provider *prov, u64 deadline, struct dk_diag *why)
{
	struct dkc_provider *core;
	struct dk_registry *reg;
	int err = dkc_provider_lock_unregistering(prov, &core, why);

	if (!core)
		return err;
	reg = core->reg;
	/* the caller keeps the struct until this returns 0 */
	core->pub_lost = false;
	err = unregister(core, deadline, why);
	dkc_registry_unlock(reg);
	return err;
}

int dk_provider_unregister(struct dk_provider *prov)
{
	return lock_and_unregister(prov, 0, NULL);
}

int dk_provider_unregister_timeout(struct dk_provider *prov, unsigned int ms, struct dk_diag *why)
{
	return lock_and_unregister(prov, dkc_deadline(ms), why);
}

bool dkc_owner_unregister(struct dk_registry *reg, dkc_owns_fn owns, const void *owner)
{
	struct dkc_change ch = { .ops = NULL };
	struct dkc_left left;
	bool found;

	mutex_lock(&reg->lock);
	found = dkc_left_by(reg, owns, owner, &left);
	if (left.block) {
		if (left.block->state <= DKC_LIVE)
			dkc_block_remove(left.block);
		dkc_drain(left.prov, left.block);
	} else if (left.op) {
		dkc_op_undefine(left.op, &ch);
		dkc_change_force(&ch);
	} else if (found) {
		/* a caller that has begun to unregister the provider keeps the struct */
		left.prov->pub_lost |= !left.prov->unregistering;
		unregister(left.prov, 0, NULL);
	}
	dkc_registry_unlock(reg);
	return found;
}

int dk_provider_drain(struct dk_provider *prov)
{
	struct dkc_provider *core;
	struct dk_registry *reg;
	int err = dkc_provider_lock_to_wait(prov, &core, NULL);

	if (err)
		return err;
	reg = core->reg;
	dkc_drain(core, NULL);
	dkc_registry_unlock(reg);
	return 0;
}
