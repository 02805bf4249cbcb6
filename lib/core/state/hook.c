// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Hooks around calls. The slow path runs them: a registry with hooks publishes tables that send all
 * calls to the slow path. The list of hooks is walked in a read-side critical section, and
 * unregistering waits for a grace period. The newest hooks are first and have the highest number. A
 * call stores the number of the newest hooks that ran before the call (hook_stamp).
 */
#include "state.h"

static bool is_redispatch(unsigned int kind)
{
	return kind == DK_HOOK_REDISPATCH || kind == DK_HOOK_REDISPATCH_BOXED;
}

/* False for the operators that PyTorch hides from profilers. */
static bool is_observed(const char *name)
{
	static const char *const names[] = {
		"aten::size", "aten::is_leaf", "aten::output_nr", "aten::_version",
		"aten::is_complex", "profiler::_record_function_enter",
		"profiler::_record_function_enter_new",
		"profiler::_record_function_exit",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (dkc_streq(name, names[i]))
			return false;
	return true;
}

/* Runs only the hooks that were registered when the call began: up to number @stamp. */
static void run_hooks(const struct dk_hook_info *info, u64 stamp, bool after)
{
	bool all = !is_redispatch(info->kind) && is_observed(info->name);
	struct dk_registry *reg = info->op->reg;
	struct dk_hooks *h;
	dk_hook_fn_t fn;

	rcu_read_lock();
	for (h = dkc_deref(reg->hooks, reg); h; h = dkc_deref(h->next, reg)) {
		fn = after ? h->after : h->before;
		if (fn && h->id <= stamp && (all || (h->flags & DK_HOOK_TRACE)))
			fn(h, info);
	}
	rcu_read_unlock();
}

static void hook_info(struct dk_hook_info *info, const struct dk_frame *f, struct dk_op *op, u64 ks)
{
	info->size = sizeof(*info);
	info->kind = f->hook_kind;
	info->depth = f->hook_depth;
	info->key = dk_keyset_key(op->reg->layout, DK_KEYSET(ks));
	info->ks.bits = ks;
	info->name = op->name;
	info->op = op;
	info->call = &f->call;
	info->sequence = f->hook_sequence;
	info->result = 0;
	info->reserved = 0;
}

/* Calls that are made inside this call have a greater depth. */
static void nest(struct dk_frame *f)
{
	unsigned int *depth = dkc_thread_depth();

	if (depth) {
		f->hook_depth = (*depth)++;
		return;
	}
	f->hook_local = *dk_call_local(&f->call);
	f->hook_depth = f->hook_local.depth++;
	f->call.local = &f->hook_local;
}

static void unnest(void)
{
	unsigned int *depth = dkc_thread_depth();

	if (depth)
		--*depth;
}

static s64 next_sequence(struct dk_registry *reg, unsigned int kind, u64 ks)
{
	const struct dk_layout *l = reg->layout;
	u64 autograd = l->alias_set[DKC_ALIAS_AUTOGRAD] & ~l->backend_mask;

	if (is_redispatch(kind) || !(ks & autograd))
		return -1;
	/* wraps to 0 after LONG_MAX; never negative */
	return ((unsigned long)atomic_long_inc_return(&reg->sequence) - 1) & ~0ul >> 1;
}

void dkc_hooks_before(struct dk_frame *f, struct dk_op *op, struct dkc_request *req, int err)
{
	struct dk_registry *reg = op->reg;
	struct dk_hook_info info;
	struct dk_hooks *newest;

	rcu_read_lock();
	newest = dkc_deref(reg->hooks, reg);
	f->hook_stamp = newest ? newest->id : 0;
	rcu_read_unlock();
	if (!newest)
		return;
	f->hook_kind = req->mask ? DK_HOOK_CALL : DK_HOOK_REDISPATCH;
	if (req->boxed)
		f->hook_kind += DK_HOOK_CALL_BOXED;
	f->hook_sequence = next_sequence(reg, f->hook_kind, req->ks);
	nest(f);
	hook_info(&info, f, op, req->ks);
	if (err)
		info.call = NULL;
	run_hooks(&info, f->hook_stamp, false);
	if (!err) {
		f->state |= DKC_CALL_HOOKED;
		return;
	}
	info.result = err;
	run_hooks(&info, f->hook_stamp, true);
	unnest();
}

void dkc_hooks_after(struct dk_frame *f)
{
	struct dk_hook_info info;

	hook_info(&info, f, f->call.op, f->call.ks.bits);
	info.result = f->result;
	run_hooks(&info, f->hook_stamp, true);
	unnest();
}

/* ---- registering ---------------------------------------------------------- */

int dk_hooks_register(struct dk_registry *reg, struct dk_hooks *h, struct dk_diag *why)
{
	int err = 0;

	if (!h)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "h");
	if (h->size != sizeof(*h))
		return dkc_refuse(why, DK_WHY_BAD_SIZE, "struct dk_hooks");
	if (h->flags & ~DK_HOOK_TRACE)
		return dkc_refuse(why, DK_WHY_BAD_FLAGS, "struct dk_hooks");
	if (!h->before && !h->after)
		return dkc_refuse(why, DK_WHY_NO_HOOK, NULL);
	reg = dkc_registry_locked(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, NULL);
	dkc_accept(why);
	if (h->reg) {
		err = dkc_refuse(why, DK_WHY_HOOKED, NULL);
	} else if (reg->shutdown) {
		err = dkc_refuse(why, DK_WHY_SHUTDOWN, NULL);
	} else {
		h->reg = reg;
		h->id = ++reg->hooks_so_far;
		rcu_assign_pointer(h->next, dkc_deref_locked(reg->hooks, reg));
		rcu_assign_pointer(reg->hooks, h);
		dkc_change_watched(reg, true);
	}
	mutex_unlock(&reg->lock);
	return err;
}

/* Returns false if the hooks are not in the list. */
static bool hooks_remove(struct dk_registry *reg, struct dk_hooks *h)
{
	struct dk_hooks __rcu **link = &reg->hooks;
	struct dk_hooks *at;

	while ((at = dkc_deref_locked(*link, reg)) && at != h)
		link = &at->next;
	if (!at)
		return false;
	rcu_assign_pointer(*link, dkc_deref_locked(h->next, reg));
	dkc_change_watched(reg, false);
	/*
	 * The last access to @h: after this store, another caller of dk_hooks_unregister() may load
	 * NULL and free @h. Pairs with smp_load_acquire() in dk_hooks_unregister(). Model:
	 * selftests/model/message.pml.
	 */
	smp_store_release(&h->reg, NULL);
	return true;
}

int dk_hooks_unregister(struct dk_hooks *h, struct dk_diag *why)
{
	struct dk_registry *reg;
	bool found = false;

	if (dkc_in_atomic())
		return dkc_refuse(why, DK_WHY_ATOMIC, NULL);
	if (!h)
		return dkc_accept(why);
	/* Pairs with smp_store_release() in hooks_remove(). */
	reg = smp_load_acquire(&h->reg);
	if (reg) {
		mutex_lock(&reg->lock);
		found = hooks_remove(reg, h);
		mutex_unlock(&reg->lock);
	}
	/* wait until no call uses the hooks, even if another caller unlinked them */
	synchronize_rcu();
	if (!found)
		return dkc_refuse(why, DK_WHY_NOT_HOOKED, NULL);
	return dkc_accept(why);
}

struct dk_hooks *dkc_hooks_of(struct dk_registry *reg, dkc_owns_fn owns, const void *owner)
{
	struct dk_hooks *h = dkc_deref_locked(reg->hooks, reg);

	dkc_assert_writer(reg);
	while (h && !owns(owner, (uintptr_t)h->before) &&
	       !owns(owner, (uintptr_t)h->after) && !owns(owner, (uintptr_t)h))
		h = dkc_deref_locked(h->next, reg);
	return h;
}

bool dkc_hooks_unregister_owned(struct dk_registry *reg, dkc_owns_fn owns, const void *owner)
{
	struct dk_hooks *h;
	bool found;

	mutex_lock(&reg->lock);
	h = dkc_hooks_of(reg, owns, owner);
	/*
	 * remove them with the lock still held: otherwise the owner could unregister and free them
	 */
	found = h && hooks_remove(reg, h);
	mutex_unlock(&reg->lock);
	if (found)
		synchronize_rcu();
	return found;
}
