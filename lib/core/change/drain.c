// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Waits for the running calls of a provider's functions, and reports them. */
#include "change.h"

/* Removes the provider from the registry. It is freed when the lock is released. */
static void provider_remove(struct dkc_provider *core)
{
	struct dkc_provider **p = &core->reg->providers;

	dkc_assert_writer(core->reg);
	while (*p != core)
		p = &(*p)->next;
	*p = core->next;
	if (core->grace_begun)
		dkc_grace_end(&core->grace);
	core->next = core->reg->removed;
	core->reg->removed = core;
}

void dkc_wait_end(struct dkc_provider *core)
{
	struct dkc_block **p = &core->withdrawn, *b;

	dkc_assert_writer(core->reg);
	if (--core->waiters)
		return;
	while ((b = *p)) {
		if (b->state != DKC_DRAINED) {
			p = &b->next;
			continue;
		}
		*p = b->next;
		kvfree(b->dev);
		kvfree(b->owned);
		kvfree(b);
	}
	if (core->drained)
		provider_remove(core);
}

/* ---- running calls -------------------------------------------------------------- */

/*
 * True if the device or backend has been brought online since the wait began, even if it is offline
 * again. A device is not freed while a wait is in progress.
 */
static bool is_canceled(const struct dkc_target *t)
{
	return t->since && READ_ONCE(t->since->switches) != t->switches;
}

/*
 * True if a wait for @waited_for also waits for the calls of the withdrawn block @b. An array may
 * be unregistered and registered again while calls of the first registration are running. A wait
 * for the array waits for the calls of all its former registrations.
 */
static bool is_of(const struct dkc_block *b, const struct dkc_block *waited_for)
{
	return b == waited_for || (b->impls == waited_for->impls && !b->dev && !waited_for->dev);
}

/*
 * True if @t selects the call. If the call is inside the provider of @t, its block can be read: no
 * block of a provider is freed while the lock is held or a wait for the provider is in progress.
 * For the same reason the list of blocks in @t does not change.
 */
static bool is_inside(const struct dkc_inside *in, void *data)
{
	const struct dkc_target *t = data;
	const struct dkc_block *b, *withdrawn;

	if (in->prov != t->core || is_canceled(t))
		return false;
	b = dkc_block_of(in->reg);
	if (t->backends)
		return dkc_reg_bits(in->reg, t->core->reg->layout) & t->backends;
	if (t->any || b == t->block)
		return true;
	for (withdrawn = t->withdrawn; withdrawn && withdrawn != b; withdrawn = withdrawn->next)
		;
	return withdrawn && (!t->block || is_of(b, t->block));
}

int dkc_may_unregister(const struct dkc_provider *core, struct dk_diag *why)
{
	struct dkc_target all = { .core = core, .any = true };

	if (dkc_in_atomic())
		return dkc_refuse(why, DK_WHY_ATOMIC, NULL);
	if (core && dkc_gate_mine(is_inside, &all))
		return dkc_refuse(why, DK_WHY_INSIDE, core->name);
	return 0;
}

/*
 * Copies the name of the operator that was called. For a backend fallback the operator may be
 * unknown; then formats the key instead.
 */
static void inside_op_text(const struct dkc_inside *in, char text[DK_NAME_MAX])
{
	const struct dk_op *op = in->op;
	const char *name = dkc_op_name_of(in->reg);
	char key[DK_NAME_MAX];
	const char *const part[] = { "fallback for ", key };

	if (!name[0] && op)
		name = op->name;
	if (name[0]) {
		dkc_strcpy(text, name, DK_NAME_MAX);
		return;
	}
	dkc_key_text(dkc_block_of(in->reg)->prov->reg, in->reg->key, key);
	dkc_join(text, part, ARRAY_SIZE(part));
}

static bool find_inside(const struct dkc_inside *in, void *data)
{
	struct dkc_target *t = data;
	struct dk_inside *found = t->found;
	u64 since = in->deferred ? in->deferred->since : t->over;

	if (!is_inside(in, t) || t->skip--)
		return false;
	t->task = in->task;
	found->ms = since ? dkc_now() - since : 0;
	found->is_deferred = !!in->deferred;
	if (in->deferred) {
		found->thread = in->deferred->thread;
		dkc_strcpy(found->thread_name, "(deferred)", sizeof(found->thread_name));
	}
	found->device = dkc_block_of(in->reg)->device;
	t->dev = dkc_block_of(in->reg)->dev;
	inside_op_text(in, found->op);
	dkc_strcpy(found->label, dkc_label_of(in->reg), sizeof(found->label));
	return true;
}

/* Describes running call @i. The lock protects the operator and the function of the call. */
static bool inside_at(struct dkc_target *t, unsigned int i, struct dk_inside *in)
{
	dkc_assert_writer(t->core->reg);
	*in = (struct dk_inside){ .size = sizeof(*in) };
	t->found = in;
	t->skip = i;
	if (!dkc_gate_any(t->core, find_inside, t))
		return false;
	if (t->task)
		in->thread = dkc_inside_task(t->task, in->thread_name, sizeof(in->thread_name));
	return true;
}

static void shorten(char *name, size_t most)
{
	if (strlen(name) > most)
		dkc_end_cut(name, most);
}

/*
 * With these maximum lengths of names, the text of a call fits in DK_NAME_MAX bytes. If there is a
 * device, "@" and its name take DKC_INSIDE_LESS bytes from each of the other names.
 */
#define DKC_INSIDE_OP		56
#define DKC_INSIDE_LABEL	30
#define DKC_INSIDE_DEVICE	17
#define DKC_INSIDE_LESS		((1 + DKC_INSIDE_DEVICE) / 2)

/*
 * Formats call @i: "ns::op function@device thread[17] 1500 ms", without "@device" if the function
 * belongs to no device. Returns false if there is no such call.
 */
static noinline bool inside_text(struct dkc_target *t, unsigned int i, char text[DK_NAME_MAX])
{
	struct dkc_text put = { text, DK_NAME_MAX, 0 };
	char device[1 + DKC_INSIDE_DEVICE + 1] = "";
	struct dk_inside in;
	unsigned int less;

	if (!inside_at(t, i, &in))
		return false;
	if (t->dev) {
		device[0] = '@';
		dkc_strcpy(device + 1, t->dev->name, sizeof(device) - 1);
	}
	less = t->dev ? DKC_INSIDE_LESS : 0;
	shorten(in.op, DKC_INSIDE_OP - less);
	shorten(in.label, DKC_INSIDE_LABEL - less);
	dkc_put(&put, in.op);
	dkc_put(&put, " ");
	dkc_put(&put, in.label);
	dkc_put(&put, device);
	dkc_put(&put, in.label[0] || device[0] ? " " : "");
	dkc_put(&put, in.thread_name);
	dkc_put(&put, "[");
	dkc_put_dec(&put, in.thread);
	dkc_put(&put, "] ");
	dkc_put_dec(&put, in.ms < ~0U ? in.ms : ~0U);
	dkc_put(&put, " ms");
	dkc_put_end(&put);
	return true;
}

/*
 * Returns 0 if no call is running and the grace period is over. Otherwise returns -ETIMEDOUT, and
 * @why names a call or, if none is found, the provider.
 */
static noinline int report_inside(struct dkc_target *t, struct dk_diag *why)
{
	char text[DK_NAME_MAX];

	if (!t->past_grace && !t->core->grace_begun)
		return dkc_refuse(why, DK_WHY_NO_DEADLINE, t->core->name);
	if (!inside_text(t, 0, text))
		return t->past_grace ? 0 : dkc_refuse(why, DK_WHY_GRACE, t->core->name);
	return dkc_refuse(why, DK_WHY_STILL_INSIDE, text);
}

static struct dkc_target target_all(const struct dkc_provider *core)
{
	return (struct dkc_target){
		.core = core, .any = true, .over = READ_ONCE(core->grace_over),
	};
}

bool dkc_provider_inside_text(struct dk_registry *reg, u64 number, unsigned int i,
			      char text[DK_NAME_MAX])
{
	const struct dkc_provider *core;
	bool found = false;

	reg = dkc_registry_locked(reg);
	core = dkc_provider_after(reg, number - 1);
	if (core && core->number == number) {
		struct dkc_target all = target_all(core);

		found = inside_text(&all, i, text);
	}
	mutex_unlock(&reg->lock);
	return found;
}

int dk_provider_inside(struct dk_provider *prov, unsigned int i, struct dk_inside *in)
{
	struct dkc_provider *core;
	struct dk_registry *reg;
	bool found = false;

	if (in->size != sizeof(*in))
		return -EINVAL;
	if (!prov || !READ_ONCE(prov->core))
		return -ENOENT;
	reg = dkc_registry_locked(prov->registry);
	core = dkc_provider_find(reg, prov);
	if (core) {
		struct dkc_target all = target_all(core);

		found = inside_at(&all, i, in);
	}
	mutex_unlock(&reg->lock);
	return found ? 0 : -ENOENT;
}

/* ---- waits --------------------------------------------------------------------- */

/*
 * Waits for @begun, a grace period that all waiters share. Returns false if it is not over at the
 * deadline, or if there is a deadline but no @begun. With neither, waits for a new grace period.
 */
static bool wait_grace(struct dkc_grace *begun, u64 deadline)
{
	if (begun && dkc_grace_wait(begun, deadline))
		return true;
	if (!deadline)
		synchronize_rcu();
	return !deadline;
}

/*
 * Marks the blocks that @t waited for as drained. A block is freed when the last wait for the
 * provider ends. The caller that unregistered the array may free the array earlier, when its own
 * wait ends. So code that reads the array must skip drained blocks.
 */
static void mark_drained(const struct dkc_target *t)
{
	struct dkc_block *b;

	for (b = t->withdrawn; b; b = b->next) {
		if (b->state == DKC_DRAINED || (t->block ? !is_of(b, t->block) : t->backends))
			continue;
		WRITE_ONCE(b->state, DKC_DRAINED);
		b->prov->reg->fallbacks_removed -= b->fallback;
		dkc_stats_forget_block(b);
	}
}

/*
 * Builds the tables for which there was no memory, and releases the lock from time to time. Without
 * @may_sleep, which is false if the caller has a deadline, does not wait for memory.
 */
static void rebuild(struct dk_registry *reg, bool may_sleep)
	__must_hold(&reg->lock)
{
	while (dkc_change_rebuild(reg, may_sleep)) {
		mutex_unlock(&reg->lock);
		mutex_lock(&reg->lock);
	}
}

/*
 * Called when no call is running. Stores NULL in @core of the public struct dk_provider. A thread
 * that reads this NULL may free the struct.
 */
static void unregistered(struct dkc_provider *core)
{
	if (core->pub && !core->pub_lost)
		/* pairs with smp_load_acquire() in dkc_provider_lock_unregistering() */
		smp_store_release(&core->pub->core, NULL);
	core->pub = NULL;
	if (core->drained)
		return;
	dkc_backends_release(core);
	core->drained = true;
	core->reg->generation++;
	dkc_notify_provider(core, DKC_PROVIDER_REMOVED);
}

/*
 * Waits until the calls have returned. Returns false if the deadline passes first. A call may take
 * very long, or never return, so one that is still running is reported every DKC_NOTICE_MS. In the
 * kernel the task also wakes up then, so that it does not look hung.
 */
static noinline bool wait_empty(struct dkc_provider *core, struct dkc_target *t)
{
	struct dk_registry *reg = core->reg;
	struct dk_diag why = { .size = sizeof(why) };
	int err;

	if (!t->deadline && !t->since)
		dkc_call_map_wait(&core->call_map);
	while (DKC_NOTICE_MS && (!t->deadline || t->deadline > dkc_now() + DKC_NOTICE_MS)) {
		if (dkc_gate_wait(core, is_inside, t, dkc_now() + DKC_NOTICE_MS))
			return true;
		mutex_lock(&reg->lock);
		err = report_inside(t, &why);
		mutex_unlock(&reg->lock);
		if (err)
			dkc_notice_wait(core->name, why.name);
	}
	return dkc_gate_wait(core, is_inside, t, t->deadline);
}

int dkc_wait(struct dkc_provider *core, struct dkc_target *t, struct dk_diag *why)
{
	bool unregisters = core->unregistering && !t->block && !t->backends, empty = false;
	struct dk_registry *reg = core->reg;
	struct dkc_grace *begun = NULL;
	int err = 0;

	dkc_assert_writer(reg);
	t->core = core;
	t->withdrawn = core->withdrawn;
	core->waiters++;
	if (unregisters) {
		if (t->deadline && !core->grace_begun)
			core->grace_begun = dkc_grace_begin(&core->grace);
		/* another caller may have begun this grace period, and it may already be over */
		begun = core->grace_begun ? &core->grace : NULL;
		t->over = READ_ONCE(core->grace_over);
	}
	mutex_unlock(&reg->lock);
	dkc_trace(drain, core, true, unregisters, false);
	/* a grace period is usually short: only unregistering limits this wait by its deadline */
	if (!t->past_grace)
		t->past_grace = wait_grace(begun, unregisters ? t->deadline : 0);
	if (t->past_grace) {
		if (!t->over)
			t->over = dkc_now();
		if (unregisters && !READ_ONCE(core->grace_over))
			WRITE_ONCE(core->grace_over, t->over);
		empty = wait_empty(core, t);
	}
	mutex_lock(&reg->lock);
	/*
	 * check again: since wait_empty(), the last call may have returned, or another waiter may
	 * have unregistered @core
	 */
	if (!empty && !core->drained)
		err = report_inside(t, why);
	t->canceled = is_canceled(t);
	dkc_trace(drain, core, false, unregisters, !err && !t->canceled);
	if (t->since && !t->canceled)
		t->since->over = t->over;
	if (!err) {
		mark_drained(t);
		rebuild(reg, !t->deadline);
		if (unregisters)
			unregistered(core);
	}
	dkc_wait_end(core);
	return err;
}

void dkc_drain(struct dkc_provider *core, const struct dkc_block *block)
{
	struct dkc_target target = { .block = block };

	/* a wait without a deadline does not fail */
	dkc_wait(core, &target, NULL);
}
