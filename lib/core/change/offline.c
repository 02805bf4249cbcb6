// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Takes devices and backends offline, and brings them online. The functions of an offline device or
 * backend stay registered, but calls are routed as if they were not.
 */
#include "change.h"

static void set_wanted(const struct dkc_switch *s, bool online)
{
	if (s->dev)
		s->dev->want_online = online;
	else if (online)
		s->reg->want_offline &= ~s->backends;
	else
		s->reg->want_offline |= s->backends;
}

static bool is_online(const struct dkc_switch *s)
{
	return s->dev ? s->dev->online : !(s->reg->offline & s->backends);
}

/*
 * Stores the state for readers. A reader that loads this state also loads everything that was
 * stored before it: selftests/model/view.pml.
 */
static void set_visible(const struct dkc_switch *s)
{
	if (s->dev)
		/* pairs with smp_rmb() in dkc_view_holds() and is_replaced() */
		smp_store_release(&s->dev->online, s->online);
	else
		/* pairs with smp_rmb() in dkc_view_holds() and is_replaced() */
		smp_store_release(&s->reg->offline, s->reg->want_offline);
	dkc_changed(s->reg, DKC_WHOLE_CHANGE);
}

/* Walks the published blocks of a registry. Starts and ends with NULL. */
static struct dkc_block *next_block(const struct dk_registry *reg, const struct dkc_block *b)
{
	const struct dkc_provider *core = b ? b->prov->next : reg->providers;

	if (b && b->next)
		return b->next;
	while (core && !core->blocks)
		core = core->next;
	return core ? core->blocks : NULL;
}

/* Walks the registrations of the device or backend. Starts and ends with NULL. */
static const struct dkc_reg *next_switched(const struct dkc_switch *s, const struct dkc_reg *r)
{
	const struct dkc_block *b;
	u32 i = 0;

	if (r) {
		b = dkc_block_of(r);
		i = r->place + 1;
	} else {
		b = s->dev ? s->dev->block : next_block(s->reg, NULL);
	}
	for (; b; b = s->dev ? NULL : next_block(s->reg, b), i = 0)
		for (; i < b->n; i++)
			if (s->dev || (dkc_reg_bits(&b->regs[i], s->reg->layout) & s->backends))
				return &b->regs[i];
	return NULL;
}

/*
 * True if no other function serves the key of @r, which goes offline. If @r belongs to a device,
 * all functions of the device go offline, so that only functions without a device may serve.
 */
static bool is_unserved(const struct dk_op *op, const struct dkc_reg *r)
{
	const struct dk_layout *l = op->reg->layout;
	struct dkc_pick now;

	cond_resched();
	if (!op->definer || dkc_is_fallthrough(r) ||
	    ((op->flags & DK_OP_ATOMIC) && !(dkc_impl_of(r)->flags & DK_IMPL_F_ATOMIC)))
		return false;
	now = dkc_evaluate(op, NULL, r->slot, NULL);
	if (!now.reg || !dkc_is_fallthrough(now.reg))
		return now.prov == DK_PROV_MISSING;
	if (l->slot_functionality[r->slot] != l->role[DKC_ROLE_DENSE])
		return false;
	/* a call that falls through at Dense is routed by Undefined */
	now = dkc_evaluate(op, NULL, 0, NULL);
	return !now.reg || dkc_is_fallthrough(now.reg);
}

/*
 * Returns an operator that nothing serves any more at the key of @r, or NULL. If @r is a function,
 * only its operator is tested. If @r is a fallback, all operators of the registry are tested.
 */
static const struct dk_op *unserved_op(struct dk_registry *reg, const struct dkc_reg *r)
{
	const struct dk_op *op = dkc_reg_op(r);
	u32 pos = 0;

	if (op)
		return is_unserved(op, r) ? op : NULL;
	while ((op = dkc_op_next(reg, &pos)) && !is_unserved(op, r))
		;
	return op;
}

/* Names an operator that is no longer served: "operator at key". */
static void remark_unserved(const struct dkc_switch *s)
{
	const struct dkc_reg *r = NULL;
	const struct dk_op *op = NULL;
	char key[DK_NAME_MAX];

	while (!op && (r = next_switched(s, r)))
		op = unserved_op(s->reg, r);
	if (op) {
		const char *const part[] = { op->name, " at ", key };

		dkc_key_text(s->reg, r->key, key);
		dkc_refuse_joined(s->why, DK_WHY_UNSERVED, part, ARRAY_SIZE(part));
	}
}

/* Publishes the tables for the new state, or fails and changes nothing. */
static int switch_tables(const struct dkc_switch *s)
{
	struct dkc_offline *since = s->since;
	struct dkc_change ch = { .ops = NULL };
	const struct dkc_reg *r = NULL;

	set_wanted(s, s->online);
	/* a device has no fallbacks */
	if (!s->dev)
		dkc_change_add_fallbacks(&ch, s->reg);
	while ((r = next_switched(s, r)))
		if (dkc_reg_op(r))
			dkc_change_add(&ch, dkc_reg_op(r));
	if (dkc_change_prepare(&ch)) {
		set_wanted(s, !s->online);
		dkc_fallbacks_changed(s->reg);
		return dkc_refuse(s->why, DK_WHY_NO_MEMORY, s->name);
	}
	if (!s->online)
		set_visible(s);
	s->reg->generation++;
	if (s->dev)
		dkc_notify_device(s->dev, DKC_DEVICE_STATE);
	else
		dkc_notify_backend(s->reg, s->number, NULL, DKC_BACKEND_STATE);
	dkc_change_commit(&ch);
	/* only now, so that readers of the lists do not use the functions before the tables do */
	if (s->online)
		set_visible(s);
	since->over = 0;
	/* cancel the waits of callers that took the device or backend offline before */
	WRITE_ONCE(since->switches, since->switches + 1);
	dkc_gate_wake();
	return 0;
}

static bool is_in_backend(const struct dkc_inside *in, void *data)
{
	const struct dkc_switch *s = data;

	return dkc_block_of(in->reg)->prov->reg == s->reg &&
	       (dkc_reg_bits(in->reg, s->reg->layout) & s->backends);
}

/* The caller must not be inside a call that it will wait for. */
static int may_wait(struct dkc_switch *s)
{
	if (s->dev)
		return dkc_may_unregister(s->dev->prov, s->why);
	if (dkc_gate_mine(is_in_backend, s))
		return dkc_refuse(s->why, DK_WHY_INSIDE_BACKEND, s->name);
	return 0;
}

/*
 * Waits for the running calls, with the lock released. For a backend, waits for the calls of each
 * provider in turn. One grace period is enough for all providers, because functions that are
 * registered during the wait are offline from the start. Fails with -ECANCELED if another caller
 * has brought the device or backend online again.
 */
static int wait_switched(const struct dkc_switch *s)
	__must_hold(&s->reg->lock)
{
	struct dkc_provider *core = s->dev ? s->dev->prov : s->reg->providers;
	struct dkc_target target = {
		.backends = s->backends, .block = s->dev ? s->dev->block : NULL,
		.since = s->since, .switches = s->since->switches, .over = s->since->over,
		.deadline = s->deadline,
	};
	int err = 0;

	while (core && !err && !target.canceled) {
		u64 number = core->number;

		err = dkc_wait(core, &target, s->inside);
		/* the list may have changed: find the next older provider */
		core = s->is_device ? NULL : s->reg->providers;
		while (core && core->number >= number)
			core = core->next;
	}
	return target.canceled ? dkc_refuse(s->why, DK_WHY_CANCELED, s->name) : err;
}

/* Switches to the new state. Waits for running calls even if the state was already offline. */
static int set_online(struct dkc_switch *s)
	__must_hold(&s->reg->lock)
{
	int err = 0;

	dkc_assert_writer(s->reg);
	if (s->reg->shutdown)
		return dkc_refuse(s->why, DK_WHY_SHUTDOWN, NULL);
	if (!s->online)
		err = may_wait(s);
	if (!err && is_online(s) != s->online)
		err = switch_tables(s);
	if (err || s->online)
		return err;
	if (s->why)
		remark_unserved(s);
	return wait_switched(s);
}

static int find_switched(struct dkc_switch *s)
{
	if (s->is_device) {
		s->dev = dkc_device_at(s->reg, s->number);
		if (!s->dev)
			return dkc_refuse_number(s->why, DK_WHY_NO_DEVICE, s->number);
		s->since = &s->dev->since;
		dkc_strcpy(s->name, s->dev->name, sizeof(s->name));
		return 0;
	}
	if (!s->number || s->number > s->reg->layout->nb)
		return dkc_refuse_number(s->why, DK_WHY_BAD_BACKEND, s->number);
	if (s->backend_name && dkc_backend_named(s->reg, s->backend_name) != s->number)
		return dkc_refuse(s->why, DK_WHY_NO_BACKEND, s->backend_name);
	s->backends = dkc_backend_bit(s->number);
	s->since = &s->reg->since[s->number - 1];
	dkc_backend_text(s->reg, s->number, s->name);
	return 0;
}

int dkc_backend_online(struct dk_registry *reg, unsigned int backend, struct dk_diag *why)
{
	struct dkc_switch s = { .reg = reg, .number = backend, .online = true, .why = why };
	int err = find_switched(&s);

	dkc_assert_writer(reg);
	return err || is_online(&s) ? err : switch_tables(&s);
}

int dkc_set_online(struct dkc_switch *s)
{
	int err;

	if (dkc_in_atomic())
		return dkc_refuse(s->why, DK_WHY_ATOMIC, NULL);
	s->reg = dkc_registry_locked(s->reg);
	if (!s->reg)
		return dkc_refuse(s->why, DK_WHY_NO_MEMORY, NULL);
	dkc_accept(s->why);
	err = find_switched(s);
	if (!err)
		err = set_online(s);
	dkc_registry_unlock(s->reg);
	return err;
}

static int set_online_timeout(struct dk_registry *reg, bool is_device, u32 number, bool online,
			      unsigned int ms, struct dk_diag *why)
{
	struct dkc_switch s = {
		.reg = reg, .is_device = is_device, .number = number, .online = online,
		.deadline = dkc_deadline(ms), .why = why, .inside = why,
	};

	return dkc_set_online(&s);
}

int dk_device_set_online_timeout(struct dk_registry *reg, __u32 device, int online,
				 unsigned int ms, struct dk_diag *why)
{
	return set_online_timeout(reg, true, device, online, ms, why);
}

int dk_backend_set_online_timeout(struct dk_registry *reg, unsigned int backend,
				  int online, unsigned int ms, struct dk_diag *why)
{
	return set_online_timeout(reg, false, backend, online, ms, why);
}

int dk_backend_is_online(struct dk_registry *reg, unsigned int backend)
{
	reg = dkc_registry(reg);
	if (!reg || !backend || backend > reg->layout->nb)
		return 0;
	return !(READ_ONCE(reg->offline) >> (backend - 1) & 1);
}
