// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who calls. What may serve a call is looked up before it is made, and again
 * after: where nothing has changed in between, there is one right answer.
 */
#include "torture.h"

/* ---- what is called, and how ---------------------------------------------------- */

/* A spot as it was before the call. */
struct look {
	const struct spot *spot;
	u32 seq, flip_seq, op_seq;
	u32 by, kind, online, defined;
};

struct plan {
	const struct torture_op *op;
	struct dk_obj x;
	struct dk_local local;
	struct look before;
	bool boxed;
	bool named;
};

static u32 seq_of(const struct window *w)
{
	return w_load_acquire(w->seq);
}

static struct look look_at(const struct spot *s, const struct torture_op *op)
{
	struct look l = { .spot = s, .online = 1 };

	l.seq = seq_of(&s->window);
	l.op_seq = seq_of(&op->window);
	if (s->flip) {
		l.flip_seq = seq_of(&s->flip->window);
		l.online = w_load(s->flip->online);
	}
	l.by = w_load(s->by);
	l.kind = w_load(s->kind);
	l.defined = w_load(op->defined);
	return l;
}

static bool stayed(u32 seq, const struct window *w)
{
	return !(seq & 1) && seq_of(w) == seq;
}

static const struct torture_op *some_op(struct actor *a, bool atomic)
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

/* An object, and a local state that has nothing but fallthroughs without us. */
static void make_plan(struct actor *a, bool atomic, struct plan *p)
{
	const struct spot *s = &torture.spots[w_one_of(&a->random, torture.num_spots)];
	u64 dice = w_random(&a->random);

	p->op = some_op(a, atomic);
	p->before = look_at(s, p->op);
	p->x = (struct dk_obj){ { w_load(s->bits) }, w_load(s->device), 0 };
	/* a number of another backend's device is none */
	if (s == &torture.spots[SPOT_CPU] && !(dice & 7))
		p->x.device = w_load(torture.spots[SPOT_RESIDENT].device);
	if (dice & 8)
		p->x.ks.bits |= DK_FUNCTIONALITY_BIT(DK_AUTOGRAD_FUNCTIONALITY);
	p->local = dk_local_default;
	if (dice & 16)
		dk_local_include(&p->local, DK_KEYSET(modes[dice >> 5 & 1]));
	p->named = p->op->named && (dice & 64);
	p->boxed = !(dice >> 7 & 7);
}

static int make_call(struct actor *a, struct plan *p, struct ticket *t)
{
	struct tt_quick_args args = { &p->x, t };

	if (p->boxed)
		return dk_call_boxed(p->named ? NULL : p->op->handle, p->op->decl,
				     &p->local, &args);
	if (p->named)
		return p->op->named(&p->local, &p->x, t);
	return p->op->at(p->op->handle, &p->local, &p->x, t);
}

/* ---- what came of it --------------------------------------------------------------- */

static void judge_refused(struct actor *a, const struct plan *p, int err)
{
	bool fleeting = p->op->does & FLEETING;

	if (!fleeting || err != -ENOENT ||
	    (stayed(p->before.op_seq, &p->op->window) && p->before.defined)) {
		torture_error(a, E_LOST, "a call got an error", p->op->decl->name,
			      -err, 0);
		return;
	}
	bump(a->unserved);
	bump(a->calls[K_UNDEFINED]);
}

/* Nothing has changed since before the call: who must have served it? */
static void judge_exactly(struct actor *a, const struct plan *p, const struct ticket *t)
{
	const struct look *l = &p->before;
	u32 by = l->online ? l->by : BY_BASE;
	bool right = by == BY_BASE ? t->role == ROLE_BASE : t->by == by;

	if (!stayed(l->seq, &l->spot->window) ||
	    (l->spot->flip && !stayed(l->flip_seq, &l->spot->flip->window)))
		return;
	if (stayed(l->op_seq, &p->op->window) && !l->defined)
		torture_error(a, E_WRONG, "an undefined operator was called",
			      p->op->decl->name, t->by, 0);
	bump(a->calls[l->kind == K_CARD && !l->online ? K_OFFLINE : l->kind]);
	if (by == BY_ANY)
		return;
	bump(a->calls[K_EXACT]);
	if (!right)
		torture_error(a, E_WRONG, "a call did not reach whom it had to",
			      p->op->decl->name, t->by, by);
}

static void judge(struct actor *a, const struct plan *p, const struct ticket *t, int err)
{
	/* what we looked at before is looked at again behind the call */
	w_fence();
	if (t->served > 1)
		torture_error(a, E_DOUBLE, "a call was served more than once",
			      p->op->decl->name, t->served, 1);
	else if (err)
		judge_refused(a, p, err);
	else if (!t->served)
		torture_error(a, E_LOST, "a call was served by nobody",
			      p->op->decl->name, 0, 1);
	else
		judge_exactly(a, p, t);
}

/* ---- calls ------------------------------------------------------------------------- */

static void count(struct actor *a, const struct plan *p, const struct ticket *t)
{
	bump(a->calls[p->op->flags & DK_OP_ATOMIC ? K_ATOMIC : K_SLEEPABLE]);
	bump(a->calls[p->named ? K_BY_NAME : K_BY_HANDLE]);
	if (p->boxed)
		bump(a->calls[K_BOXED]);
	if (dk_local_included(&p->local).bits != DK_DEFAULT_INCLUDED)
		bump(a->calls[K_LOCAL]);
	if (p->x.ks.bits & DK_FUNCTIONALITY_BIT(DK_AUTOGRAD_FUNCTIONALITY))
		bump(a->calls[K_AUTOGRAD]);
	if (t->passed)
		bump(a->calls[K_PASSED]);
	if (t->depth)
		bump(a->calls[K_NESTED]);
	if (a->interrupts)
		bump(a->calls[K_INTERRUPT]);
}

void torture_call(struct actor *a, bool atomic, unsigned int depth)
{
	struct ticket t = { .who = a, .depth = depth };
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

/* Enter once, run some times, leave: what served the first serves them all. */
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
		struct ticket t = { .who = a, .op = p.op };

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
