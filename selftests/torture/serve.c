// SPDX-License-Identifier: GPL-2.0-only
/*
 * Defines the functions of the operators. Each function checks at its beginning and at its end that
 * its provider is registered, and that it is the right function for the call.
 */
#include "torture.h"

/* ---- errors ------------------------------------------------------------------ */

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

/* Contexts stay poisoned for a while before they are freed. KASAN and ASan find later uses. */
static struct context *poisoned[16];
static unsigned int num_poisoned;
static struct w_count last_id;

struct context *context_new(struct dk_provider *prov, unsigned int backend,
			    bool is_card)
{
	struct context *ctx = w_alloc(sizeof(*ctx));

	if (!ctx)
		return NULL;
	ctx->alive = ALIVE;
	ctx->id = w_next(&last_id);
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
		w_add(&torture.served_by_unregistered, served_by(ctx));
	/* plain stores, so that KCSAN and TSan report concurrent readers as races */
	memset(ctx, POISON, sizeof(*ctx));
	w_mutex_lock(&torture_lock);
	oldest = poisoned[num_poisoned % ARRAY_SIZE(poisoned)];
	poisoned[num_poisoned++ % ARRAY_SIZE(poisoned)] = ctx;
	w_mutex_unlock(&torture_lock);
	w_free(oldest);
}

void contexts_free(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(poisoned); i++) {
		w_free(poisoned[i]);
		poisoned[i] = NULL;
	}
}

/* ---- checks -------------------------------------------------------------------- */

static bool is_alive(const struct context *me, const struct call_record *t, const char *when)
{
	u32 alive = w_load(me->alive);

	if (alive != ALIVE)
		torture_error(t->actor, E_STALE, when, t->op->decl->name, alive, ALIVE);
	return alive == ALIVE;
}

/* Returns true if a function of this role may serve a call with the object. */
static bool matches_role(const struct dk_call *c, const struct context *me,
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

/* Returns true if the functionality by which the call was routed is in t->keys. */
static bool has_key(const struct dk_call *c, const struct call_record *t)
{
	return DK_FUNCTIONALITY_BIT(dk_keyset_functionality(NULL, c->ks)) & t->keys;
}

/* ---- functions ----------------------------------------------------------------- */

/* Does what the operator's functions do besides counting the call: see enum work. */
static void do_work(const struct context *me, struct call_record *t)
{
	struct actor *a = t->actor;
	u32 work = t->op->work;

	if ((work & SLEEPS) && !w_one_of(&a->random, 16))
		w_sleep_us(1 + w_one_of(&a->random, 200));
	if (work & SPINS)
		w_spin_us(w_one_of(&a->random, 4));
	if ((work & CALLS) && t->depth < 2)
		torture_call(a, t->op->flags & DK_OP_ATOMIC, t->depth + 1);
	if ((work & CHANGES) && !a->interrupts && !w_one_of(&a->random, 256) &&
	    is_alive(me, t, "a function was inside"))
		torture_change_inside(a, me->prov);
}

int torture_serve(struct dk_call *c, struct dk_obj *x, struct call_record *t,
		  enum role role)
{
	struct context *me = dk_call_priv(c);

	t->served++;
	if (!is_alive(me, t, "a function was entered")) {
		w_add(&torture.served_by_unregistered, 1);
		return 0;
	}
	if (!matches_role(c, me, x, role) || !has_key(c, t))
		torture_error(t->actor, E_WRONG, "a function was called for another object",
			      t->op->decl->name, x->ks.bits, role);
	t->by = me->id;
	t->role = role;
	w_add(&me->slot[t->actor->slot % SLOTS].served, 1);
	do_work(me, t);
	is_alive(me, t, "a function was inside");
	torture_submit(c, me, t);
	return 0;
}

int serve_base(struct dk_call *c, struct dk_obj *x, struct call_record *t)
{
	return torture_serve(c, x, t, ROLE_BASE);
}

int serve_cpu(struct dk_call *c, struct dk_obj *x, struct call_record *t)
{
	return torture_serve(c, x, t, ROLE_CPU);
}

int serve_backend(struct dk_call *c, struct dk_obj *x, struct call_record *t)
{
	return torture_serve(c, x, t, ROLE_BACKEND);
}

int serve_card(struct dk_call *c, struct dk_obj *x, struct call_record *t)
{
	return torture_serve(c, x, t, ROLE_CARD);
}

int serve_never(struct dk_call *c, struct dk_obj *x, struct call_record *t)
{
	return torture_serve(c, x, t, ROLE_NEVER);
}

static int redispatch(struct dk_call *c, struct dk_obj *x, struct call_record *t)
{
	const struct dk_obj *const objs[] = { x };
	struct dk_frame next;
	int err;

	/* the call can be of another operator: the functions of all have the same type */
	err = dk_call_redispatch(&next, c, dk_call_decl(c), dk_call_below(c), objs, 1);
	if (err)
		return err;
	err = tt_quick_run(&next, x, t);
	dk_call_leave(&next);
	return err;
}

static void redispatch_begin(struct dk_call *c, struct call_record *t)
{
	is_alive(dk_call_priv(c), t, "a redispatching function was entered");
	if (!has_key(c, t))
		torture_error(t->actor, E_WRONG,
			      "a function was called for a key that the call lacks",
			      t->op->decl->name, c->ks.bits, t->keys);
	t->redispatched++;
}

int pass(struct dk_call *c, struct dk_obj *x, struct call_record *t)
{
	int err;

	redispatch_begin(c, t);
	if (torture.set.breaks == BREAK_DOUBLE)
		redispatch(c, x, t);
	err = redispatch(c, x, t);
	is_alive(dk_call_priv(c), t, "a redispatched call returned");
	return err;
}

/* A backend fallback also gets calls of other operators. */
int pass_boxed(struct dk_call *c, void *args)
{
	struct tt_quick_args *mine = dk_call_takes(c, &tt_quick_op) ? NULL : args;
	int err;

	if (mine)
		redispatch_begin(c, mine->t);
	err = dk_redispatch_boxed(c, dk_call_below(c), args);
	if (mine)
		is_alive(dk_call_priv(c), mine->t, "a redispatched call returned");
	return err;
}

/* ---- arrays --------------------------------------------------------------------- */

void torture_impls(struct dk_impl impls[NUM_OPS], torture_fn fn, const char *label,
		   unsigned int key)
{
	const struct dk_impl like = DK_IMPL(tt_quick, key, serve_base);
	unsigned int i;

	for (i = 0; i < NUM_OPS; i++) {
		impls[i] = like;
		impls[i].op = torture.ops[i].decl;
		impls[i].fn = (dk_fn_t)fn;
		impls[i].label = label;
		if (torture.ops[i].flags & DK_OP_ATOMIC)
			impls[i].flags = DK_IMPL_F_ATOMIC;
		if (!fn)
			impls[i].flags = DK_IMPL_F_FALLTHROUGH | DK_IMPL_F_ATOMIC;
	}
}
