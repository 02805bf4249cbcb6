// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Hooks around calls, which the slow path runs: while a registry has any, its tables are
 * set aside. The list is read in a read section, and unregistering waits for a grace
 * period. The newest is first and has the highest number, so that a call remembers with
 * one number which of them ran when it began.
 */
#include "registry.h"

static bool dkc_is_redispatch(unsigned int kind)
{
	return kind == DK_HOOK_REDISPATCH || kind == DK_HOOK_REDISPATCH_BOXED;
}

/* Operators that PyTorch shows to no profiler. */
static bool dkc_is_observed(const char *name)
{
	static const char *const names[] = {
		"aten::size", "aten::is_leaf", "aten::output_nr", "aten::_version",
		"aten::is_complex", "profiler::_record_function_enter",
		"profiler::_record_function_enter_new",
		"profiler::_record_function_exit",
	};
	unsigned int i;

	for (i = 0; i < DKC_COUNT(names); i++)
		if (dkc_streq(name, names[i]))
			return false;
	return true;
}

/* Tell those who were there when the call began; @stamp is the newest of them. */
static void dkc_tell_hooks(const struct dk_hook_info *info, u64 stamp, bool after)
{
	bool all = !dkc_is_redispatch(info->kind) && dkc_is_observed(info->name);
	struct dk_hooks *h;
	dk_hook_fn_t fn;

	dkc_read_lock();
	for (h = dkc_deref(info->op->reg->hooks); h; h = dkc_deref(h->next)) {
		fn = after ? h->after : h->before;
		if (fn && h->id <= stamp && (all || (h->flags & DK_HOOK_TRACE)))
			fn(h, info);
	}
	dkc_read_unlock();
}

static void dkc_hook_info(struct dk_hook_info *info, const struct dk_frame *f,
			  struct dk_op *op, u64 ks)
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

/* Calls from inside of this one are one deeper. */
static void dkc_nest(struct dk_frame *f)
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

static void dkc_unnest(void)
{
	unsigned int *depth = dkc_thread_depth();

	if (depth)
		--*depth;
}

static s64 dkc_sequence(struct dk_registry *reg, unsigned int kind, u64 ks)
{
	const struct dk_layout *l = reg->layout;
	u64 autograd = l->alias_set[DKC_ALIAS_AUTOGRAD] & ~l->backend_mask;

	if (dkc_is_redispatch(kind) || !(ks & autograd))
		return -1;
	/* behind the greatest long comes 0: a number is never negative */
	return ((unsigned long)dkc_count(&reg->sequence) - 1) & ~0ul >> 1;
}

void dkc_hooks_before(struct dk_frame *f, struct dk_op *op, struct dkc_way *way, int err)
{
	struct dk_registry *reg = op->reg;
	struct dk_hook_info info;
	struct dk_hooks *newest;

	dkc_read_lock();
	newest = dkc_deref(reg->hooks);
	f->hook_stamp = newest ? newest->id : 0;
	dkc_read_unlock();
	if (!newest)
		return;
	f->hook_kind = way->mask ? DK_HOOK_CALL : DK_HOOK_REDISPATCH;
	if (way->boxed)
		f->hook_kind += DK_HOOK_CALL_BOXED;
	f->hook_sequence = dkc_sequence(reg, f->hook_kind, way->ks);
	dkc_nest(f);
	dkc_hook_info(&info, f, op, way->ks);
	if (err)
		info.call = NULL;
	dkc_tell_hooks(&info, f->hook_stamp, false);
	if (!err) {
		f->result = 0;
		f->state |= DKC_CALL_HOOKED;
		return;
	}
	info.result = err;
	dkc_tell_hooks(&info, f->hook_stamp, true);
	dkc_unnest();
}

void dkc_hooks_after(struct dk_frame *f)
{
	struct dk_hook_info info;

	dkc_hook_info(&info, f, f->call.op, f->call.ks.bits);
	info.result = f->result;
	dkc_tell_hooks(&info, f->hook_stamp, true);
	dkc_unnest();
}

/* ---- who is told ---------------------------------------------------------- */

int dk_hooks_register(struct dk_registry *reg, struct dk_hooks *h,
		      struct dk_diag *why)
{
	int err = 0;

	if (h->size != sizeof(*h))
		return dkc_refuse(why, DK_WHY_BAD_SIZE, "struct dk_hooks");
	if (h->flags & ~DK_HOOK_TRACE)
		return dkc_refuse(why, DK_WHY_BAD_FLAGS, "struct dk_hooks");
	if (!h->before && !h->after)
		return dkc_refuse(why, DK_WHY_NO_HOOK, NULL);
	reg = dkc_registry(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, NULL);
	dkc_remark(why, DK_WHY_NONE, NULL);
	dkc_mutex_lock(&reg->lock);
	if (h->reg) {
		err = dkc_refuse(why, DK_WHY_HOOKED, NULL);
	} else if (reg->shutdown) {
		err = dkc_refuse(why, DK_WHY_SHUTDOWN, NULL);
	} else {
		h->reg = reg;
		h->id = ++reg->hooks_so_far;
		dkc_publish(h->next, dkc_deref_locked(reg->hooks));
		dkc_publish(reg->hooks, h);
		dkc_change_watched(reg, true);
	}
	dkc_mutex_unlock(&reg->lock);
	return err;
}

/* Take it out of the list; false if it is not there. */
static bool dkc_hooks_unlink(struct dk_registry *reg, const struct dk_hooks *h)
{
	struct dk_hooks *before = NULL, *at = dkc_deref_locked(reg->hooks);

	while (at && at != h) {
		before = at;
		at = dkc_deref_locked(at->next);
	}
	if (!at)
		return false;
	if (before)
		dkc_publish(before->next, dkc_deref_locked(h->next));
	else
		dkc_publish(reg->hooks, dkc_deref_locked(h->next));
	return true;
}

int dk_hooks_unregister(struct dk_hooks *h, struct dk_diag *why)
{
	struct dk_registry *reg = dkc_load_acquire(h->reg);
	bool found = false;

	if (dkc_in_atomic())
		return dkc_refuse(why, DK_WHY_ATOMIC, NULL);
	if (reg) {
		dkc_mutex_lock(&reg->lock);
		found = dkc_hooks_unlink(reg, h);
		if (found)
			dkc_change_watched(reg, false);
		/*
		 * the last we see of it: another caller may have its memory soon. Pairs with
		 * the load above: selftests/model/message.pml
		 */
		if (found)
			dkc_store_release(h->reg, NULL);
		dkc_mutex_unlock(&reg->lock);
	}
	/* where another caller has taken it out, this one waits, too */
	dkc_synchronize();
	if (!found)
		return dkc_refuse(why, DK_WHY_NOT_THERE, NULL);
	dkc_remark(why, DK_WHY_NONE, NULL);
	return 0;
}

struct dk_hooks *dkc_hooks_of(struct dk_registry *reg, dkc_owns_fn owns,
			      const void *owner)
{
	struct dk_hooks *h = dkc_deref_locked(reg->hooks);

	while (h && !owns(owner, (uintptr_t)h->before) &&
	       !owns(owner, (uintptr_t)h->after) && !owns(owner, (uintptr_t)h))
		h = dkc_deref_locked(h->next);
	return h;
}

bool dkc_hooks_leave(struct dk_registry *reg, dkc_owns_fn owns, const void *owner)
{
	struct dk_hooks *h;

	dkc_mutex_lock(&reg->lock);
	h = dkc_hooks_of(reg, owns, owner);
	dkc_mutex_unlock(&reg->lock);
	return h && !dk_hooks_unregister(h, NULL);
}

/* ---- trace ---------------------------------------------------------------- */

size_t dk_trace_line(const struct dk_hook_info *info, char *buf, size_t size)
{
	static const char *const labels[] = {
		[DK_HOOK_CALL] = "call",
		[DK_HOOK_REDISPATCH] = "redispatch",
		[DK_HOOK_CALL_BOXED] = "callBoxed",
		[DK_HOOK_REDISPATCH_BOXED] = "redispatchBoxed",
	};
	struct dkc_text t = { buf, size, 0 };
	char key[DK_NAME_MAX];
	u32 i;

	for (i = 0; i <= info->depth; i++)
		dkc_put(&t, " ");
	dkc_put(&t, "[");
	dkc_put(&t, labels[info->kind & 3]);
	dkc_put(&t, "] op=[");
	dkc_put(&t, info->name);
	dkc_put(&t, "], key=[");
	dkc_put(&t, dk_key_name(info->op->reg->layout, info->key, key));
	dkc_put(&t, "]");
	return dkc_put_end(&t);
}
