// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Devices and backends are taken offline by an administrator, and online again:
 * what is registered for them stays, and is as if absent.
 */
#include "registry.h"

/* What is switched: a device, or else a backend. */
struct dkc_switch {
	struct dk_registry *reg;
	struct dkc_device *dev;
	u32 backend;		/* its bit */
	bool online;
	u64 deadline;		/* for calls inside, or 0 */
	struct dk_diag *inside;	/* takes who is inside then */
};

static bool dkc_is_online(const struct dkc_switch *s)
{
	return s->dev ? s->dev->online : !(s->reg->offline & s->backend);
}

/* As the writer sees it, who computes the rows. */
static void dkc_want(const struct dkc_switch *s, bool online)
{
	if (s->dev)
		s->dev->want_online = online;
	else if (online)
		s->reg->want_offline &= ~s->backend;
	else
		s->reg->want_offline |= s->backend;
}

static struct dkc_offline *dkc_switch_since(const struct dkc_switch *s)
{
	return s->dev ? &s->dev->since : &s->reg->since[dkc_ffs64(s->backend)];
}

/*
 * As readers see it. A reader of the lists that sees this sees the changes before it:
 * selftests/model/view.pml.
 */
static void dkc_show(const struct dkc_switch *s)
{
	if (s->dev)
		dkc_store_release(s->dev->online, s->online);
	else
		dkc_store_release(s->reg->offline, s->reg->want_offline);
	dkc_changed(s->reg, DKC_WHOLE_CHANGE);
}

typedef void (*dkc_switched_fn)(struct dkc_reg *r, void *data);

static void dkc_each_in_block(const struct dkc_switch *s, struct dkc_block *b,
			      dkc_switched_fn f, void *data)
{
	unsigned int i;

	for (i = 0; i < b->n; i++)
		if (s->dev || (dkc_reg_bits(&b->regs[i], s->reg->layout) & s->backend))
			f(&b->regs[i], data);
}

/* Call @f with every registration that is switched. */
static void dkc_each_switched(const struct dkc_switch *s, dkc_switched_fn f,
			      void *data)
{
	struct dkc_provider *core = s->dev ? NULL : s->reg->providers;
	struct dkc_block *b;

	if (s->dev)
		dkc_each_in_block(s, s->dev->block, f, data);
	for (; core; core = core->next)
		for (b = core->blocks; b; b = b->next)
			dkc_each_in_block(s, b, f, data);
}

static void dkc_touch(struct dkc_reg *r, void *data)
{
	if (dkc_reg_op(r))
		dkc_change_add(data, dkc_reg_op(r));
}

/* The first operator that has nothing else for the key of a registration. */
struct dkc_unserved {
	const struct dk_op *op;
	unsigned int key;
};

static void dkc_look_unserved(const struct dk_op *op, const struct dkc_reg *r,
			      struct dkc_unserved *first)
{
	const struct dk_layout *l = op->reg->layout;
	unsigned int f = dk_key_functionality(l, r->key);
	unsigned int b = dk_key_backend(l, r->key);

	if (first->op || !op->definer ||
	    ((op->flags & DK_OP_ATOMIC) && !(dkc_impl_of(r)->flags & DK_IMPL_F_ATOMIC)) ||
	    dkc_evaluate(op, dkc_block_of(r)->dev, f, b, NULL).prov != DK_PROV_MISSING)
		return;
	first->op = op;
	first->key = r->key;
}

static void dkc_find_unserved(struct dkc_reg *r, void *data)
{
	const struct dk_op *op = dkc_reg_op(r);
	u32 pos = 0;

	if (op)
		dkc_look_unserved(op, r, data);
	while (dkc_block_of(r)->fallback && (op = dkc_op_next(dkc_block_of(r)->prov->reg, &pos)))
		dkc_look_unserved(op, r, data);
}

static void dkc_tell_unserved(const struct dkc_switch *s, struct dk_diag *why)
{
	struct dkc_unserved first = { NULL, 0 };
	char key[DK_NAME_MAX], text[DK_NAME_MAX];
	struct dkc_text t = { text, sizeof(text), 0 };

	dkc_each_switched(s, dkc_find_unserved, &first);
	if (!first.op)
		return;
	dkc_put(&t, first.op->name);
	dkc_put(&t, " at ");
	dkc_key_text(s->reg, first.key, key);
	dkc_put(&t, key);
	dkc_put_end(&t);
	dkc_remark(why, DK_WHY_UNSERVED, text);
}

static const char *dkc_switch_name(const struct dkc_switch *s, char buf[DK_NAME_MAX])
{
	if (s->dev)
		dkc_strcpy(buf, s->dev->name, DK_NAME_MAX);
	else
		dkc_backend_text(s->reg, dkc_ffs64(s->backend) + 1, buf);
	return buf;
}

/* Rows with or without them; may fail, and then nothing has changed. */
static int dkc_switch(const struct dkc_switch *s, struct dk_diag *why)
{
	struct dkc_offline *since = dkc_switch_since(s);
	struct dkc_change ch = { .ops = NULL };
	char buf[DK_NAME_MAX];

	dkc_want(s, s->online);
	/* those of a device are no fallbacks */
	if (!s->dev)
		dkc_change_add_fallbacks(&ch, s->reg);
	dkc_each_switched(s, dkc_touch, &ch);
	if (dkc_change_prepare(&ch)) {
		dkc_want(s, !s->online);
		dkc_fallbacks_changed(s->reg);
		return dkc_refuse(why, DK_WHY_NO_MEMORY, dkc_switch_name(s, buf));
	}
	if (!s->online)
		dkc_show(s);
	s->reg->generation++;
	if (s->dev)
		dkc_saw_device(s->dev, DKC_DEVICE_STATE);
	else
		dkc_saw_backend(s->reg, dkc_ffs64(s->backend) + 1, NULL,
				DKC_BACKEND_STATE);
	dkc_change_commit(&ch);
	/* what is seen online is in the rows */
	if (s->online)
		dkc_show(s);
	since->over = 0;
	/* this cancels the waits for it to be offline */
	dkc_store(since->switches, since->switches + 1);
	dkc_gate_wake(s->reg);
	return 0;
}

/* Is a call of the caller's own in a function of the backend? */
static bool dkc_bars_backend(const struct dkc_inside *in, void *data)
{
	const struct dkc_switch *s = data;

	return dkc_block_of(in->reg)->prov->reg == s->reg &&
	       (dkc_reg_bits(in->reg, s->reg->layout) & s->backend);
}

static int dkc_may_switch(struct dkc_switch *s, struct dk_diag *why)
{
	char buf[DK_NAME_MAX];

	if (s->online)
		return 0;
	if (s->dev)
		return dkc_may_leave(s->dev->prov, why);
	if (dkc_gate_any(true, dkc_bars_backend, s))
		return dkc_refuse(why, DK_WHY_INSIDE_BACKEND, dkc_switch_name(s, buf));
	return 0;
}

/* One grace period does for all providers; who registers later is offline at once. */
static int dkc_wait_providers(const struct dkc_switch *s, struct dkc_target *target)
{
	struct dkc_provider *core, *next;
	int err = 0;

	if (s->dev)
		return dkc_provider_wait_locked(s->dev->prov, target, &next, s->inside);
	for (core = s->reg->providers;
	     core && !err && !target->canceled; core = next)
		err = dkc_provider_wait_locked(core, target, &next, s->inside);
	return err;
}

/*
 * Wait for the calls inside, under the lock, which is given back meanwhile. Fails with
 * -ECANCELED if it was online again meanwhile.
 */
static int dkc_wait_switched(const struct dkc_switch *s, struct dk_diag *why)
{
	struct dkc_offline *since = dkc_switch_since(s);
	struct dkc_target target = {
		.backends = s->backend, .block = s->dev ? s->dev->block : NULL,
		.since = since, .switches = since->switches, .over = since->over,
		.deadline = s->deadline,
	};
	char buf[DK_NAME_MAX];
	/* the device may be freed during the wait */
	const char *name = dkc_switch_name(s, buf);
	int err = dkc_wait_providers(s, &target);

	return target.canceled ? dkc_refuse(why, DK_WHY_CANCELED, name) : err;
}

/* Under the lock, which is given back. Also waits when another caller does. */
static int dkc_set_online(struct dkc_switch *s, struct dk_diag *why)
{
	int err = s->reg->shutdown ? dkc_refuse(why, DK_WHY_SHUTDOWN, NULL) :
				     dkc_may_switch(s, why);

	if (!err && dkc_is_online(s) != s->online)
		err = dkc_switch(s, why);
	if (!err && !s->online) {
		dkc_tell_unserved(s, why);
		err = dkc_wait_switched(s, why);
	}
	dkc_mutex_unlock(&s->reg->lock);
	return err;
}

/* When its name is given back. */
int dkc_backend_online(struct dk_registry *reg, unsigned int backend,
		       struct dk_diag *why)
{
	const struct dkc_switch s = {
		.reg = reg, .backend = 1u << (backend - 1), .online = true,
	};

	return dkc_is_online(&s) ? 0 : dkc_switch(&s, why);
}

int dkc_device_set_online(struct dk_registry *reg, u32 device, bool online,
			  u64 deadline, struct dk_diag *why, struct dk_diag *inside)
{
	struct dkc_switch s = {
		.online = online, .deadline = deadline, .inside = inside,
	};

	reg = dkc_registry(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, NULL);
	if (dkc_in_atomic())
		return dkc_refuse(why, DK_WHY_ATOMIC, NULL);
	dkc_remark(why, DK_WHY_NONE, NULL);
	dkc_mutex_lock(&reg->lock);
	s.reg = reg;
	s.dev = dkc_device_at(reg, device);
	if (s.dev)
		return dkc_set_online(&s, why);
	dkc_mutex_unlock(&reg->lock);
	return dkc_refuse_number(why, DK_WHY_NO_DEVICE, device);
}

int dkc_backend_set_online(struct dk_registry *reg, unsigned int backend, bool online,
			   u64 deadline, struct dk_diag *why, struct dk_diag *inside)
{
	struct dkc_switch s = {
		.online = online, .deadline = deadline, .inside = inside,
	};

	reg = dkc_registry(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, NULL);
	if (!backend || backend > reg->layout->nb)
		return dkc_refuse_number(why, DK_WHY_BAD_BACKEND, backend);
	if (dkc_in_atomic())
		return dkc_refuse(why, DK_WHY_ATOMIC, NULL);
	dkc_remark(why, DK_WHY_NONE, NULL);
	dkc_mutex_lock(&reg->lock);
	s.reg = reg;
	s.backend = 1u << (backend - 1);
	return dkc_set_online(&s, why);
}

int dk_device_set_online(struct dk_registry *reg, __u32 device, int online,
			 struct dk_diag *why)
{
	return dkc_device_set_online(reg, device, online, 0, why, NULL);
}

int dk_device_set_online_timeout(struct dk_registry *reg, __u32 device, int online,
				 unsigned int ms, struct dk_diag *why)
{
	return dkc_device_set_online(reg, device, online, dkc_now() + ms, why, why);
}

int dk_backend_set_online(struct dk_registry *reg, unsigned int backend, int online,
			  struct dk_diag *why)
{
	return dkc_backend_set_online(reg, backend, online, 0, why, NULL);
}

int dk_backend_set_online_timeout(struct dk_registry *reg, unsigned int backend,
				  int online, unsigned int ms, struct dk_diag *why)
{
	return dkc_backend_set_online(reg, backend, online, dkc_now() + ms, why, why);
}

int dk_backend_is_online(struct dk_registry *reg, unsigned int backend)
{
	reg = dkc_registry(reg);
	if (!reg || !backend || backend > reg->layout->nb)
		return 0;
	return !(dkc_load(reg->offline) >> (backend - 1) & 1);
}
