// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes calls. The state of the target is read before and after each call. If the state has not
 * changed, exactly one function is the right one for the call.
 */
#include "torture.h"

/* ---- operators and targets ------------------------------------------------------- */

/* The state of a target and of an operator before the call. */
struct snapshot {
	const struct target *target;
	u32 seq, toggled_seq, op_seq;
	u32 by, kind, online, defined;
};

struct plan {
	const struct torture_op *op;
	struct dk_obj x;
	struct dk_local local;
	struct snapshot before;
	bool boxed;
	bool named;
};

static u32 seq_of(const struct window *w)
{
	return w_load_acquire(w->seq);
}

static struct snapshot take_snapshot(const struct target *s, const struct torture_op *op)
{
	struct snapshot l = { .target = s, .online = 1 };

	l.seq = seq_of(&s->window);
	l.op_seq = seq_of(&op->window);
	if (s->toggled) {
		l.toggled_seq = seq_of(&s->toggled->window);
		l.online = w_load(s->toggled->online);
	}
	l.by = w_load(s->by);
	l.kind = w_load(s->kind);
	l.defined = w_load(op->defined);
	return l;
}

static bool unchanged(u32 seq, const struct window *w)
{
	return !(seq & 1) && seq_of(w) == seq;
}

static const struct torture_op *random_op(struct actor *a, bool atomic)
{
	const struct torture_op *op;

	do {
		op = &torture.ops[w_one_of(&a->random, NUM_OPS)];
	} while (atomic && !(op->flags & DK_OP_ATOMIC));
	return op;
}

static const u64 modes[] = {
	DK_FUNCTIONALITY_BIT(DK_VMAP_MODE),
	DK_FUNCTIONALITY_BIT(DK_FUNCTORCH_VMAP_MODE),
};

/* Chooses an operator, a target and a local state, sometimes with a key that falls through. */
static void make_plan(struct actor *a, bool atomic, struct plan *p)
{
	const struct target *s = &torture.targets[w_one_of(&a->random, torture.num_targets)];
	u64 dice = w_random(&a->random);

	p->op = random_op(a, atomic);
	p->before = take_snapshot(s, p->op);
	p->x = (struct dk_obj){ { w_load(s->bits) }, w_load(s->device), 0 };
	/* the number of another backend's device is ignored */
	if (s == &torture.targets[TARGET_CPU] && !(dice & 7))
		p->x.device = w_load(torture.targets[TARGET_RESIDENT].device);
	if (dice & 8)
		p->x.ks.bits |= DK_FUNCTIONALITY_BIT(DK_AUTOGRAD_FUNCTIONALITY);
	p->local = dk_local_default;
	if (dice & 16)
		dk_local_include(&p->local, DK_KEYSET(modes[dice >> 5 & 1]));
	p->named = p->op->named && (dice & 64);
	p->boxed = !(dice >> 7 & 7);
}

static int make_call(struct actor *a, struct plan *p, struct call_record *t)
{
	struct tt_quick_args args = { &p->x, t };

	if (p->boxed)
		return dk_call_boxed(p->named ? NULL : p->op->handle, p->op->decl,
				     &p->local, &args);
	if (p->named)
		return p->op->named(&p->local, &p->x, t);
	return p->op->at(p->op->handle, &p->local, &p->x, t);
}

/* ---- results ---------------------------------------------------------------------- */

static void judge_refused(struct actor *a, const struct plan *p, int err)
{
	bool transient = p->op->work & TRANSIENT;

	if (!transient || err != -ENOENT ||
	    (unchanged(p->before.op_seq, &p->op->window) && p->before.defined)) {
		torture_error(a, E_LOST, "a call got an error", p->op->decl->name,
			      -err, 0);
		return;
	}
	bump(a->unserved);
	bump(a->calls[K_UNDEFINED]);
}

/* If the target has not changed since the snapshot, only one context may have served the call. */
static void judge_exactly(struct actor *a, const struct plan *p, const struct call_record *t)
{
	const struct snapshot *l = &p->before;
	u32 by = l->online ? l->by : BY_BASE;
	bool right = by == BY_BASE ? t->role == ROLE_BASE : t->by == by;

	if (!unchanged(l->seq, &l->target->window) ||
	    (l->target->toggled && !unchanged(l->toggled_seq, &l->target->toggled->window)))
		return;
	if (unchanged(l->op_seq, &p->op->window) && !l->defined)
		torture_error(a, E_WRONG, "an undefined operator was called",
			      p->op->decl->name, t->by, 0);
	bump(a->calls[l->kind == K_CARD && !l->online ? K_OFFLINE : l->kind]);
	if (by == BY_ANY)
		return;
	bump(a->calls[K_EXACT]);
	if (!right)
		torture_error(a, E_WRONG, "a call was served by another function",
			      p->op->decl->name, t->by, by);
}

static void judge(struct actor *a, const struct plan *p, const struct call_record *t, int err)
{
	/* the call is complete before the state is read again */
	w_fence();
	if (t->served > 1)
		torture_error(a, E_DOUBLE, "a call was served more than once",
			      p->op->decl->name, t->served, 1);
	else if (err)
		judge_refused(a, p, err);
	else if (!t->served)
		torture_error(a, E_LOST, "a call was not served",
			      p->op->decl->name, 0, 1);
	else
		judge_exactly(a, p, t);
}

/* ---- calls ------------------------------------------------------------------------- */

static void count(struct actor *a, const struct plan *p, const struct call_record *t)
{
	bump(a->calls[p->op->flags & DK_OP_ATOMIC ? K_ATOMIC : K_SLEEPABLE]);
	bump(a->calls[p->named ? K_BY_NAME : K_BY_HANDLE]);
	if (p->boxed)
		bump(a->calls[K_BOXED]);
	if (dk_local_included(&p->local).bits != DK_DEFAULT_INCLUDED)
		bump(a->calls[K_LOCAL]);
	if (p->x.ks.bits & DK_FUNCTIONALITY_BIT(DK_AUTOGRAD_FUNCTIONALITY))
		bump(a->calls[K_AUTOGRAD]);
	if (t->redispatched)
		bump(a->calls[K_REDISPATCHED]);
	if (t->depth)
		bump(a->calls[K_NESTED]);
	if (a->interrupts)
		bump(a->calls[K_INTERRUPT]);
}

void torture_call(struct actor *a, bool atomic, unsigned int depth)
{
	struct call_record t = { .actor = a, .depth = depth };
	struct plan p;
	int err;

	make_plan(a, atomic || a->atomic_only, &p);
	t.op = p.op;
	t.keys = p.x.ks.bits | dk_local_included(&p.local).bits;
	bump(a->sent);
	err = make_call(a, &p, &t);
	judge(a, &p, &t, err);
	count(a, &p, &t);
}

/* Enters an operator, runs it several times and leaves. One function must serve all calls. */
static void torture_batch(struct actor *a)
{
	const struct dk_obj *objs[1];
	struct dk_frame c;
	struct plan p;
	unsigned int n;
	int err;

	make_plan(a, a->atomic_only, &p);
	p.boxed = false;
	p.named = false;
	objs[0] = &p.x;
	err = dk_call_enter_op(&c, p.op->handle, p.op->decl, &p.local, objs, 1);
	for (n = err ? 1 : w_one_of(&a->random, 16); n; n--) {
		struct call_record t = { .actor = a, .op = p.op };

		t.keys = p.x.ks.bits | dk_local_included(&p.local).bits;
		bump(a->sent);
		judge(a, &p, &t, err ? err : tt_quick_run(&c, &p.x, &t));
		count(a, &p, &t);
		bump(a->calls[K_BATCH]);
	}
	if (!err)
		dk_call_leave(&c);
}

void torture_read(void *actor)
{
	struct actor *a = actor;

	w_yield_to_all();
	while (!w_load(torture.stop)) {
		if (w_one_of(&a->random, 64))
			torture_call(a, false, 0);
		else
			torture_batch(a);
		w_pause();
	}
}
