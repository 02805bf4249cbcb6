// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Unregisters definitions, arrays of functions and fallbacks. Needs no free memory. */
#include "change.h"

/* Called after a definition or a function was removed. */
static void op_removed(struct dk_op *op)
{
	if (dkc_op_is_listed(op))
		return;
	op->reg->num_listed--;
	dkc_stats_withdraw_op(op);
}

void dkc_op_undefine(struct dk_op *op, struct dkc_change *ch)
{
	dkc_assert_writer(op->reg);
	op->reg->generation++;
	dkc_notify_op(op, op->definer, false);
	WRITE_ONCE(op->definer, NULL);
	op_removed(op);
	op->decl = NULL;
	op->max_objs = 0;
	dkc_change_add(ch, op);
}

int dk_op_undefine(struct dk_provider *prov, const char *name, struct dk_diag *why)
{
	struct dkc_change ch = { .ops = NULL };
	struct dkc_provider *core;
	struct dk_registry *reg;
	struct dk_op *op;
	int err = dkc_provider_lock(prov, &core, why);

	if (err)
		return err;
	reg = core->reg;
	op = dkc_op_find(reg, name);
	if (!op || op->definer != core) {
		err = dkc_refuse(why, op ? DK_WHY_NOT_THERE : DK_WHY_NO_OPERATOR, name);
	} else {
		dkc_op_undefine(op, &ch);
		dkc_change_force(&ch);
		dkc_change_rebuild(reg, true);
	}
	dkc_registry_unlock_flush(reg);
	return err;
}

/* Unlinks a registration. Those of a run must be unlinked from the last to the first. */
static void reg_unlink(struct dkc_reg *r)
{
	struct dk_op *op = dkc_reg_op(r);
	struct dkc_reg __rcu **at = &op->regs;

	while (dkc_deref_locked(*at, op->reg) != r)
		at = &dkc_run_of(dkc_deref_locked(*at, op->reg))->next;
	/* @r keeps its own link, so readers that are at @r can still go on */
	rcu_assign_pointer(*at, dkc_next_reg(r));
	op->num_regs--;
	op_removed(op);
}

void dkc_block_unlink(struct dkc_block *b, struct dkc_change *ch)
{
	struct dk_registry *reg = b->prov->reg;
	unsigned int i;

	dkc_assert_writer(reg);
	for (i = b->n; i; i--) {
		struct dkc_reg *r = &b->regs[i - 1];

		/* reg_unlink() may walk over many newer functions */
		cond_resched();
		if (b->fallback) {
			rcu_assign_pointer(reg->fallback[r->slot], NULL);
		} else {
			reg_unlink(r);
			dkc_change_add(ch, dkc_reg_op(r));
		}
	}
	if (b->fallback)
		dkc_change_add_fallbacks(ch, reg);
}

void dkc_block_withdraw(struct dkc_block *b, struct dkc_change *ch)
{
	struct dk_registry *reg = b->prov->reg;
	struct dkc_block **p = dkc_bucket(reg, b->impls);
	unsigned int i;

	dkc_assert_writer(reg);
	while (*p != b)
		p = &(*p)->hash_next;
	*p = b->hash_next;
	*b->link = b->next;
	if (b->next)
		b->next->link = b->link;
	b->next = b->prov->withdrawn;
	b->prov->withdrawn = b;
	reg->generation++;
	dkc_notify_block(b, false);
	dkc_stats_withdraw_block(b);
	reg->fallbacks_removed += b->fallback;
	dkc_block_set_live(b, false);
	for (i = b->n; i; i--)
		dkc_trace(unregister, &b->regs[i - 1]);
	dkc_block_unlink(b, ch);
	if (b->dev)
		dkc_device_remove(b->dev);
}

/* Skips the blocks of devices, which may have been registered with the same array. */
struct dkc_block *dkc_block_find(const struct dkc_provider *prov, const struct dk_impl *impls)
{
	struct dkc_block *b = *dkc_bucket(prov->reg, impls);

	dkc_assert_writer(prov->reg);
	while (b && (b->impls != impls || b->prov != prov || b->dev))
		b = b->hash_next;
	return b;
}

struct dkc_block *dkc_block_find_withdrawn(const struct dkc_provider *prov,
					   const struct dk_impl *impls, u32 device)
{
	struct dkc_block *b = prov->withdrawn;

	dkc_assert_writer(prov->reg);
	while (b && (b->state == DKC_DRAINED || b->device != device ||
		     (!device && b->impls != impls)))
		b = b->next;
	return b;
}

/*
 * If another provider has registered the array, the message names the other provider and the first
 * function. Otherwise the message names @prov.
 */
static noinline int refuse_table(const struct dkc_provider *prov, const struct dk_impl *impls,
				 struct dk_diag *why)
{
	const struct dkc_block *b = *dkc_bucket(prov->reg, impls);
	char text[DK_NAME_MAX];

	while (b && (b->impls != impls || b->prov == prov))
		b = b->hash_next;
	if (!b || !b->n)
		return dkc_refuse(why, DK_WHY_NOT_THERE, prov->name);
	dkc_impl_text(text, b->impls, b->prov);
	return dkc_refuse(why, DK_WHY_NOT_THERE, text);
}

struct dkc_block *dkc_block_remove(struct dkc_block *b)
{
	struct dkc_change ch = { .ops = NULL };

	if (b) {
		dkc_block_withdraw(b, &ch);
		dkc_change_force(&ch);
	}
	return b;
}

int dk_impls_withdraw(struct dk_provider *prov, const struct dk_impl *impls, struct dk_diag *why)
{
	struct dkc_provider *core;
	int err = dkc_provider_lock(prov, &core, why);

	if (err)
		return err;
	if (!dkc_block_remove(dkc_block_find(core, impls)))
		err = refuse_table(core, impls, why);
	dkc_registry_unlock_flush(core->reg);
	return err;
}

int dk_impls_unregister(struct dk_provider *prov, const struct dk_impl *impls, struct dk_diag *why)
{
	struct dkc_provider *core;
	struct dk_registry *reg;
	struct dkc_block *b;
	int err = dkc_provider_lock_to_wait(prov, &core, why);

	if (err)
		return err;
	reg = core->reg;
	b = dkc_block_remove(dkc_block_find(core, impls));
	/* another caller may have withdrawn the array */
	if (!b)
		b = dkc_block_find_withdrawn(core, impls, 0);
	if (b)
		dkc_drain(core, b);
	else
		err = refuse_table(core, impls, why);
	dkc_registry_unlock(reg);
	return err;
}
