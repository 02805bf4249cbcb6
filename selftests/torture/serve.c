// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who serves: the functions, and what they look at. Each of them checks that
 * its provider is there, at its beginning and at its end, and that the call is
 * one for it.
 */
#include "torture.h"

/* ---- what is wrong ------------------------------------------------------------ */

struct finding findings[NUM_ERRORS];

void torture_error(struct actor *a, unsigned int kind, const char *what,
		   const char *of, u64 got, u64 wanted)
{
	struct finding *f = &findings[kind];

	bump(a->errors[kind]);
	if (w_next(&f->seen) != 1)
		return;
	f->what = what;
	f->of = of;
	f->got = got;
	f->wanted = wanted;
}

/* ---- contexts ------------------------------------------------------------------ */

/* Who left stays poisoned for a while; what looks after memory finds the rest. */
static struct context *graves[16];
static unsigned int num_graves;
static struct w_count born;

struct context *context_new(struct dk_provider *prov, unsigned int backend,
			    bool is_card)
{
	struct context *ctx = w_alloc(sizeof(*ctx));

	if (!ctx)
		return NULL;
	ctx->alive = ALIVE;
	ctx->id = w_next(&born);
	ctx->backend = backend;
	ctx->is_card = is_card;
	ctx->prov = prov;
	return ctx;
}

static u64 served_by(struct context *ctx)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < SLOTS; i++)
		sum += w_sum(&ctx->slot[i].served);
	return sum;
}

void context_end(struct context *ctx)
{
	struct context *oldest;

	if (torture.set.breaks != BREAK_SUM)
		w_add(&torture.served_by_the_gone, served_by(ctx));
	/* not by atomic stores: who still reads it races, and is told so */
	memset(ctx, POISON, sizeof(*ctx));
	w_mutex_lock(&torture_lock);
	oldest = graves[num_graves % ARRAY_SIZE(graves)];
	graves[num_graves++ % ARRAY_SIZE(graves)] = ctx;
	w_mutex_unlock(&torture_lock);
	w_free(oldest);
}

void contexts_free(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(graves); i++) {
		w_free(graves[i]);
		graves[i] = NULL;
	}
}

/* ---- checks -------------------------------------------------------------------- */

static bool is_alive(const struct context *me, const struct ticket *t, const char *when)
{
	u32 alive = w_load(me->alive);

	if (alive != ALIVE)
		torture_error(t->who, E_STALE, when, t->op->decl->name, alive, ALIVE);
	return alive == ALIVE;
}

/* Is the object one for a function of this role? */
static bool fits(const struct dk_call *c, const struct context *me,
		 const struct dk_obj *x, enum role role)
{
	if (role == ROLE_CARD)
		return me->is_card && dk_call_device(c) && dk_call_device(c) == x->device &&
		       (x->ks.bits & DK_BACKEND_BIT(me->backend));
	if (me->is_card || dk_call_device(c))
		return false;
	if (role == ROLE_CPU)
		return x->ks.bits & DK_BACKEND_BIT(DK_BACKEND_CPU);
	if (role == ROLE_BACKEND)
		return x->ks.bits & DK_BACKEND_BIT(me->backend);
	return role == ROLE_BASE;
}

/* Is it routed by a functionality that it has? */
static bool has_key(const struct dk_call *c, const struct ticket *t)
{
	return DK_FUNCTIONALITY_BIT(dk_keyset_functionality(NULL, c->ks)) & t->keys;
}

/* ---- functions ----------------------------------------------------------------- */

/* What a function of this operator does besides. */
static void work(const struct context *me, struct ticket *t)
{
	struct actor *a = t->who;
	u32 does = t->op->does;

	if ((does & SLEEPS) && !w_one_of(&a->random, 16))
		w_sleep_us(1 + w_one_of(&a->random, 200));
	if (does & SPINS)
		w_spin_us(w_one_of(&a->random, 4));
	if ((does & CALLS) && t->depth < 2)
		torture_call(a, t->op->flags & DK_OP_ATOMIC, t->depth + 1);
	if ((does & CHANGES) && !a->interrupts && !w_one_of(&a->random, 256) &&
	    is_alive(me, t, "a function was inside"))
		torture_change_inside(a, me->prov);
}

int torture_serve(struct dk_call *c, struct dk_obj *x, struct ticket *t,
		  enum role role)
{
	struct context *me = dk_call_priv(c);

	t->served++;
	if (!is_alive(me, t, "a function was entered")) {
		w_add(&torture.served_by_the_gone, 1);
		return 0;
	}
	if (!fits(c, me, x, role) || !has_key(c, t))
		torture_error(t->who, E_WRONG, "a function got another one's call",
			      t->op->decl->name, x->ks.bits, role);
	t->by = me->id;
	t->role = role;
	w_add(&me->slot[t->who->slot % SLOTS].served, 1);
	work(me, t);
	is_alive(me, t, "a function was inside");
	return 0;
}

int serve_base(struct dk_call *c, struct dk_obj *x, struct ticket *t)
{
	return torture_serve(c, x, t, ROLE_BASE);
}

int serve_cpu(struct dk_call *c, struct dk_obj *x, struct ticket *t)
{
	return torture_serve(c, x, t, ROLE_CPU);
}

int serve_backend(struct dk_call *c, struct dk_obj *x, struct ticket *t)
{
	return torture_serve(c, x, t, ROLE_BACKEND);
}

int serve_card(struct dk_call *c, struct dk_obj *x, struct ticket *t)
{
	return torture_serve(c, x, t, ROLE_CARD);
}

int serve_never(struct dk_call *c, struct dk_obj *x, struct ticket *t)
{
	return torture_serve(c, x, t, ROLE_NEVER);
}

static int hand_on(struct dk_call *c, struct dk_obj *x, struct ticket *t)
{
	const struct dk_obj *const objs[] = { x };
	struct dk_frame next;
	int err;

	/* the operator is any of ours; their functions are of one type */
	err = dk_call_redispatch(&next, c, dk_call_decl(c), dk_call_below(c), objs, 1);
	if (err)
		return err;
	err = tt_quick_run(&next, x, t);
	dk_call_leave(&next);
	return err;
}

static void comes_by(struct dk_call *c, struct ticket *t)
{
	is_alive(dk_call_priv(c), t, "a call came by");
	if (!has_key(c, t))
		torture_error(t->who, E_WRONG, "a call came by that has not this key",
			      t->op->decl->name, c->ks.bits, t->keys);
	t->passed++;
}

int pass(struct dk_call *c, struct dk_obj *x, struct ticket *t)
{
	int err;

	comes_by(c, t);
	if (torture.set.breaks == BREAK_DOUBLE)
		hand_on(c, x, t);
	err = hand_on(c, x, t);
	is_alive(dk_call_priv(c), t, "a call went back");
	return err;
}

/* A backend fallback meets the calls of others, too. */
int pass_boxed(struct dk_call *c, void *args)
{
	struct tt_quick_args *mine = dk_call_takes(c, &tt_quick_op) ? NULL : args;
	int err;

	if (mine)
		comes_by(c, mine->t);
	err = dk_redispatch_boxed(c, dk_call_below(c), args);
	if (mine)
		is_alive(dk_call_priv(c), mine->t, "a call went back");
	return err;
}

/* ---- tables --------------------------------------------------------------------- */

void torture_table(struct dk_impl table[NUM_OPS], torture_fn fn, const char *label,
		   unsigned int key)
{
	const struct dk_impl like = DK_IMPL(tt_quick, key, serve_base);
	unsigned int i;

	for (i = 0; i < NUM_OPS; i++) {
		table[i] = like;
		table[i].op = torture.ops[i].decl;
		table[i].fn = (dk_fn_t)fn;
		table[i].label = label;
		if (torture.ops[i].flags & DK_OP_ATOMIC)
			table[i].flags = DK_IMPL_F_ATOMIC;
		if (!fn)
			table[i].flags = DK_IMPL_F_FALLTHROUGH | DK_IMPL_F_ATOMIC;
	}
}
