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
	dkc_owner_came(prov->owner);
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
	core->number = ++reg->providers_so_far;
	core->next = reg->providers;
	reg->providers = core;
	reg->generation++;
	dkc_store_release(prov->core, core);
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

/* It is in a function of the provider. */
static bool dkc_keeps(const struct dkc_inside *in, void *data)
{
	return in->prov == data;
}

/* May the caller wait for the calls of this provider? Changes nothing. */
int dkc_may_leave(const struct dkc_provider *core, struct dk_diag *why)
{
	void *data = (void *)core;

	if (dkc_in_atomic())
		return dkc_refuse(why, DK_WHY_ATOMIC, NULL);
	if (core && dkc_gate_any(true, dkc_keeps, data))
		return dkc_refuse(why, DK_WHY_INSIDE, core->name);
	return 0;
}

/* The lock, for one who will wait for calls: that is refused before anything. */
int dkc_provider_lock_to_leave(struct dk_provider *prov, struct dkc_provider **core,
			       struct dk_diag *why)
{
	int err = dkc_may_leave(NULL, why);

	if (!err)
		err = dkc_provider_lock(prov, core, why);
	if (err)
		return err;
	err = dkc_may_leave(*core, why);
	if (err)
		dkc_mutex_unlock(&(*core)->reg->lock);
	return err;
}

/* Unpublish all that a provider brought; the lock is held, nothing fails. */
static void dkc_provider_withdraw(struct dkc_provider *core)
{
	struct dkc_change ch = { .ops = NULL };
	struct dk_op *op;
	u32 pos = 0;

	dkc_libraries_withdraw(core, &ch);
	while (core->num_ops && (op = dkc_op_next(core->reg, &pos))) {
		if (op->definer != core)
			continue;
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
	if (core->grace_begun)
		dkc_grace_end(&core->grace);
	dkc_free(core);
}

/* The last who waited frees what is drained, and the provider if it has left. */
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
	if (core->left)
		dkc_provider_free(core);
}

/*
 * Who waited in the parent is not in the child: what they saw drained is freed.
 * A provider that was on its way is for the child to unregister once more.
 */
void dkc_providers_after_fork(struct dk_registry *reg)
{
	struct dkc_provider *core, *next;

	for (core = reg->providers; core; core = next) {
		next = core->next;
		if (core->waiters) {
			core->waiters = 1;
			dkc_wait_end(core);
		}
	}
}

/*
 * True from the first switch to online on, also if it is offline again or unregistered
 * later. A device that is unregistered is not freed while a waiter is counted.
 */
static bool dkc_is_canceled(const struct dkc_target *t)
{
	return t->since && dkc_load(t->since->switches) != t->switches;
}

/* Of a provider whose blocks stay, since somebody waits. */
static bool dkc_is_inside(const struct dkc_inside *in, void *data)
{
	const struct dkc_target *t = data;

	if (in->prov != t->core || dkc_is_canceled(t))
		return false;
	if (!t->block && !t->backends)
		return dkc_load(dkc_block_of(in->reg)->state) == DKC_GOING;
	return t->block ? dkc_block_of(in->reg) == t->block :
			  dkc_reg_bits(in->reg, t->core->reg->layout) & t->backends;
}

/* false: it was not over at the deadline. One that was begun is shared by all. */
static bool dkc_wait_grace(struct dkc_grace *begun, u64 deadline)
{
	if (begun && dkc_grace_wait(begun, deadline))
		return true;
	if (!deadline)
		dkc_synchronize();
	return !deadline;
}

/*
 * What was withdrawn before the wait began, of all or of one block, is drained.
 * The block itself stays as long as anybody waits for the provider, but its table
 * is the caller's again: nothing that reads it may lead to the block any more.
 */
static void dkc_mark_drained(struct dkc_block *list, struct dkc_target target)
{
	struct dkc_block *b;

	for (b = list; b; b = b->next) {
		if (b->drained || (target.block ? b != target.block : target.backends))
			continue;
		b->drained = true;
		b->prov->reg->fallbacks_leaving -= b->fallback;
		dkc_stats_forget_block(b);
	}
}

/* Under the lock: the result of the switch, and the time for the next wait for it. */
static void dkc_keep_since(struct dkc_target *t)
{
	t->canceled = dkc_is_canceled(t);
	if (t->since && !t->canceled)
		t->since->over = t->over;
}

/*
 * Build the tables that found no memory. Under the lock, which is given back from time
 * to time; a caller with a deadline does not wait for memory.
 */
static void dkc_rebuild(struct dk_registry *reg, bool may_sleep)
{
	while (dkc_change_rebuild(reg, may_sleep)) {
		dkc_mutex_unlock(&reg->lock);
		dkc_mutex_lock(&reg->lock);
	}
}

/*
 * Give the lock back and wait; take it again, and say if nobody is inside.
 * Several may wait at once: while one does, nothing that was withdrawn is
 * freed, so that each may look at all of it.
 */
static bool dkc_wait(struct dkc_provider *core, struct dkc_target *t)
{
	struct dkc_block *list = core->withdrawn;
	bool leaves = core->gone && !t->block && !t->backends, empty;
	struct dkc_grace *begun;

	t->core = core;
	core->waiters++;
	if (leaves && t->deadline && !core->grace_begun)
		core->grace_begun = dkc_grace_begin(&core->grace);
	/* it is that of leaving, and may be over long since */
	begun = leaves && core->grace_begun ? &core->grace : NULL;
	dkc_mutex_unlock(&core->reg->lock);
	dkc_trace(drain, core, true, leaves, false);
	/* who only switches waits for one whatever the deadline: it is short */
	if (!t->past_grace)
		t->past_grace = dkc_wait_grace(begun, leaves ? t->deadline : 0);
	if (t->past_grace && !t->over)
		t->over = dkc_now();
	if (t->past_grace && leaves && !dkc_load(core->grace_over))
		dkc_store(core->grace_over, t->over);
	empty = t->past_grace &&
		dkc_gate_wait(core, core->reg, dkc_is_inside, t, t->deadline);
	dkc_mutex_lock(&core->reg->lock);
	/* the last one may have left at the deadline */
	if (t->past_grace && !empty)
		empty = !dkc_gate_any(false, dkc_is_inside, t);
	dkc_trace(drain, core, false, leaves, empty);
	dkc_keep_since(t);
	if (!empty)
		return core->left;
	dkc_mark_drained(list, *t);
	dkc_rebuild(core->reg, !t->deadline);
	/* the caller's, who may give it back when we return: not later */
	if (leaves && core->pub) {
		dkc_store_release(core->pub->core, NULL);
		core->pub = NULL;
	}
	if (leaves && !core->left)
		dkc_backends_leave(core);
	core->left = leaves || core->left;
	return true;
}

void dkc_provider_wait(struct dkc_provider *core, struct dkc_target target)
{
	struct dk_registry *reg = core->reg;

	dkc_wait(core, &target);
	dkc_wait_end(core);
	dkc_mutex_unlock(&reg->lock);
}

/* Under the lock. Another caller may have begun already. */
static void dkc_provider_begin_leaving(struct dkc_provider *core)
{
	if (!core->gone) {
		core->gone = true;
		core->reg->generation++;
		dkc_provider_withdraw(core);
	}
}

static struct dkc_provider *dkc_provider_find(struct dk_registry *reg,
					      const struct dk_provider *prov)
{
	struct dkc_provider *core = reg->providers;

	while (core && core->pub != prov)
		core = core->next;
	return core;
}

/* ---- who is inside -------------------------------------------------------- */

/* The @skip-th that keeps a provider, or only what is waited for there. */
struct dkc_asked {
	const struct dkc_provider *core;
	const struct dkc_target *target;	/* or NULL */
	unsigned int skip;
	struct dk_inside *answer;
};

static bool dkc_is_asked_for(const struct dkc_inside *in, const struct dkc_asked *asked)
{
	const struct dkc_provider *core = asked->core;

	if (asked->target)
		return dkc_is_inside(in, (void *)asked->target);
	return dkc_keeps(in, (void *)core);
}

/* Since when it is known to be inside, or 0. */
static u64 dkc_inside_since(const struct dkc_asked *asked)
{
	if (asked->target)
		return asked->target->over;
	return asked->core->gone ? dkc_load(asked->core->grace_over) : 0;
}

/* Which operator was called, as far as it is known: of a backend fallback its key. */
static void dkc_tell_op(const struct dkc_inside *in, char text[DK_NAME_MAX])
{
	const struct dk_op *op = in->op;
	char key[DK_NAME_MAX];
	const char *const part[] = { "fallback for ", key };

	if (op) {
		dkc_strcpy(text, op->name, DK_NAME_MAX);
		return;
	}
	dkc_key_text(dkc_block_of(in->reg)->prov->reg, in->reg->key, key);
	dkc_join(text, DK_NAME_MAX, part, DKC_COUNT(part));
}

static bool dkc_answer(const struct dkc_inside *in, void *data)
{
	struct dkc_asked *asked = data;
	u64 since = dkc_inside_since(asked);
	struct dk_inside *answer = asked->answer;

	if (!dkc_is_asked_for(in, asked) || asked->skip--)
		return false;
	if (since)
		answer->ms = dkc_now() - since;
	answer->thread = dkc_inside_who(in, answer->thread_name,
					sizeof(answer->thread_name));
	answer->device = dkc_block_of(in->reg)->device;
	dkc_tell_op(in, answer->op);
	dkc_strcpy(answer->label, dkc_label_of(in->reg), sizeof(answer->label));
	return true;
}

/*
 * Under the lock, so that neither operator nor registration of a call that is
 * seen inside can go: who was inside when the grace period was over had entered
 * before its end.
 */
static bool dkc_inside_at(const struct dkc_provider *core,
			  const struct dkc_target *target, unsigned int i,
			  struct dk_inside *answer)
{
	struct dkc_asked asked = { core, target, i, answer };
	u32 size = answer->size;

	memset(answer, 0, sizeof(*answer));
	answer->size = size;
	return dkc_gate_any(false, dkc_answer, &asked);
}

/* -ETIMEDOUT, and for whom: "ns::op function thread[17] 1500 ms" */
static int dkc_tell_inside(const struct dk_inside *in, struct dk_diag *why)
{
	char text[DK_NAME_MAX];
	struct dkc_text t = { text, sizeof(text), 0 };

	dkc_put(&t, in->op);
	dkc_put(&t, " ");
	dkc_put(&t, in->label);
	dkc_put(&t, in->label[0] ? " " : "");
	dkc_put(&t, in->thread_name);
	dkc_put(&t, "[");
	dkc_put_dec(&t, in->thread);
	dkc_put(&t, "] ");
	dkc_put_dec(&t, in->ms);
	dkc_put(&t, " ms");
	dkc_put_end(&t);
	return dkc_refuse(why, DK_WHY_STILL_INSIDE, text);
}

/* The same of whoever comes first; 0 if nobody is inside any more. */
static dkc_noinline int dkc_tell_first(const struct dkc_provider *core,
				       const struct dkc_target *target,
				       struct dk_diag *why)
{
	struct dk_inside in = { .size = sizeof(in) };

	return dkc_inside_at(core, target, 0, &in) ? dkc_tell_inside(&in, why) : 0;
}

/* What keeps a provider from leaving. */
static int dkc_tell_waiting(const struct dkc_provider *core, struct dk_diag *why)
{
	int err;

	if (!core->grace_begun)
		return dkc_refuse(why, DK_WHY_NO_DEADLINE, core->name);
	err = dkc_tell_first(core, NULL, why);
	return err ? err : dkc_refuse(why, DK_WHY_GRACE, core->name);
}

int dkc_provider_wait_locked(struct dkc_provider *core, struct dkc_target *target,
			     struct dkc_provider **next, struct dk_diag *why)
{
	int err = dkc_wait(core, target) ? 0 : dkc_tell_first(core, target, why);

	*next = core->next;
	dkc_wait_end(core);
	return err;
}

int dk_provider_inside(struct dk_provider *prov, unsigned int i, struct dk_inside *in)
{
	struct dkc_provider *core = NULL;
	struct dk_registry *reg;
	int err = -ENOENT;

	if (in->size != sizeof(*in))
		return -EINVAL;
	if (!dkc_load(prov->core))
		return -ENOENT;
	reg = dkc_registry(prov->registry);
	dkc_mutex_lock(&reg->lock);
	core = dkc_provider_find(reg, prov);
	if (core && dkc_inside_at(core, NULL, i, in))
		err = 0;
	dkc_mutex_unlock(&reg->lock);
	return err;
}

/* ---- leaving ---------------------------------------------------------------- */

int dkc_provider_lock_leaving(struct dk_provider *prov, struct dkc_provider **core,
			      struct dk_diag *why)
{
	struct dk_registry *reg;
	int err = dkc_may_leave(NULL, why);

	*core = NULL;
	if (err)
		return err;
	dkc_remark(why, DK_WHY_NONE, NULL);
	/*
	 * One that is not registered may have outlived its registry. Who sees
	 * that it has left sees all that its calls did, too. Pairs with dkc_wait():
	 * selftests/model/message.pml.
	 */
	if (!dkc_load_acquire(prov->core))
		return 0;
	reg = dkc_registry(prov->registry);
	dkc_mutex_lock(&reg->lock);
	*core = dkc_provider_find(reg, prov);
	if (reg->shutdown)
		err = dkc_refuse(why, DK_WHY_SHUTDOWN, prov->name);
	else if (*core)
		err = dkc_may_leave(*core, why);
	if (!*core || err) {
		dkc_mutex_unlock(&reg->lock);
		*core = NULL;
	}
	return err;
}

/* Unpublish, and wait until nobody is inside, or until the deadline, if any. */
static int dkc_unregister(struct dk_provider *prov, u64 deadline, struct dk_diag *why)
{
	struct dkc_target target = { .deadline = deadline };
	struct dkc_provider *core;
	struct dk_registry *reg;
	int err = dkc_provider_lock_leaving(prov, &core, why);

	if (!core)
		return err;
	reg = core->reg;
	dkc_provider_begin_leaving(core);
	if (!dkc_wait(core, &target))
		err = dkc_tell_waiting(core, why);
	dkc_wait_end(core);
	dkc_mutex_unlock(&reg->lock);
	dkc_news_tell(reg);
	return err;
}

int dk_provider_unregister(struct dk_provider *prov)
{
	return dkc_unregister(prov, 0, NULL);
}

int dk_provider_unregister_timeout(struct dk_provider *prov, unsigned int ms,
				   struct dk_diag *why)
{
	return dkc_unregister(prov, dkc_now() + ms, why);
}

int dk_provider_drain(struct dk_provider *prov)
{
	struct dkc_provider *core;
	int err = dkc_provider_lock_to_leave(prov, &core, NULL);

	if (!err)
		dkc_provider_wait(core, dkc_all);
	return err;
}

struct dkc_provider *dkc_provider_of(struct dk_registry *reg, const void *owner)
{
	struct dkc_provider *core = reg->providers;

	while (core && (core->owner != owner || core->left))
		core = core->next;
	return core;
}

bool dkc_owner_leave(struct dk_registry *reg, const void *owner,
		     char name[DK_NAME_MAX])
{
	struct dkc_provider *core;

	dkc_mutex_lock(&reg->lock);
	core = dkc_provider_of(reg, owner);
	if (!core) {
		dkc_mutex_unlock(&reg->lock);
		return false;
	}
	dkc_strcpy(name, core->name, DK_NAME_MAX);
	core->pub = NULL;
	dkc_provider_begin_leaving(core);
	dkc_provider_wait(core, dkc_all);
	dkc_news_tell(reg);
	return true;
}
