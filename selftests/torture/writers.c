// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes changes. Each writer repeatedly registers a provider, makes random changes, and unregisters
 * the provider. A call to the writer's backend, to its devices or to the operators that it defines
 * has only one right function. A sequence counter marks changes of that function.
 */
#include "torture.h"

/* ---- writers -------------------------------------------------------------------- */

/* Arrays of registrations, each for all operators. */
enum { ON_BACKEND, ON_CPU, EXPLICIT, NONFUNCTIONAL, IMPLICIT, AUTOGRAD, AUTOGRAD_CPU,
	VMAP, VMAP_THROUGH, CUDA_THROUGH, NUM_ARRAYS };

static const struct {
	torture_fn fn;
	const char *label;
	unsigned int key;
	unsigned int change;
} kinds[NUM_ARRAYS] = {
	[ON_BACKEND] = { serve_backend, "serve_backend", DK_DENSE, C_IMPLS },
	[ON_CPU] = { serve_cpu, "serve_cpu", DK_CPU, C_IMPLS },
	[EXPLICIT] = { serve_base, "serve_base", DK_COMPOSITE_EXPLICIT_AUTOGRAD, C_ALIAS },
	[NONFUNCTIONAL] = { serve_base, "serve_base",
		DK_COMPOSITE_EXPLICIT_AUTOGRAD_NON_FUNCTIONAL, C_ALIAS },
	/*
	 * never called: the resident provider's CompositeExplicitAutograd function has precedence
	 */
	[IMPLICIT] = { serve_never, "serve_never", DK_COMPOSITE_IMPLICIT_AUTOGRAD, C_ALIAS },
	[AUTOGRAD] = { pass, "pass", DK_AUTOGRAD, C_ALIAS },
	[AUTOGRAD_CPU] = { pass, "pass", DK_AUTOGRAD_CPU, C_IMPLS },
	[VMAP] = { pass, "pass", DK_VMAP_MODE, C_IMPLS },
	[VMAP_THROUGH] = { NULL, "fallthrough", DK_VMAP_MODE, C_FALLTHROUGH },
	[CUDA_THROUGH] = { NULL, "fallthrough", DK_AUTOGRAD_CUDA, C_FALLTHROUGH },
};

static struct dk_impl card_impls[NUM_OPS];

/* Fallbacks, at keys that have builtin fallbacks. */
static const struct dk_impl fallbacks[] = {
	DK_FALLBACK_ATOMIC(DK_FUNCTORCH_VMAP_MODE, pass_boxed),
	DK_FALLBACK_ATOMIC(DK_ADINPLACE_OR_VIEW, pass_boxed),
	DK_FALLBACK_ATOMIC(DK_AUTOGRAD_CPU, pass_boxed),
	DK_FALLTHROUGH(DK_VMAP_MODE),
};

static const unsigned int backends[MAX_WRITERS] = {
	DK_BACKEND_CUDA, DK_BACKEND_HIP, DK_BACKEND_XLA, DK_BACKEND_MPS,
	DK_BACKEND_IPU, DK_BACKEND_XPU, DK_BACKEND_HPU, DK_BACKEND_VE,
};

struct card {
	struct context *ctx;	/* NULL if it is not registered */
	u32 number;
	bool online;
};

struct writer {
	struct actor *a;
	unsigned int number;
	struct dk_provider prov;
	struct context *ctx;
	struct dk_impl impls[NUM_ARRAYS][NUM_OPS];
	bool has[NUM_ARRAYS];
	bool has_fallback[ARRAY_SIZE(fallbacks)];
	bool offline;		/* its backend is offline; unregistering leaves it offline */
	struct card cards[CARDS];
	char card_names[CARDS][32];
	struct dk_diag why;
	struct target *targets;	/* of the backend, then of the cards */
};

static unsigned int backend_of_card(unsigned int i)
{
	return i & 1 ? torture.toggled.backend : torture.cards;
}

struct writer *writer_new(struct actor *a, unsigned int number)
{
	struct writer *w = w_alloc(sizeof(*w));
	unsigned int i;

	if (!w)
		return NULL;
	w->a = a;
	w->number = number;
	w->targets = &torture.targets[TARGET_WRITERS + number * TARGETS_PER_WRITER];
	w->targets[0].bits = DK_FUNCTIONALITY_BIT(DK_DENSE) |
			   DK_BACKEND_BIT(backends[number]);
	w->targets[0].kind = K_BACKEND;
	for (i = 0; i < CARDS; i++) {
		w->targets[1 + i].bits = DK_FUNCTIONALITY_BIT(DK_DENSE) |
				       DK_BACKEND_BIT(backend_of_card(i));
		w->targets[1 + i].toggled = i & 1 ? &torture.toggled : NULL;
		w->targets[1 + i].kind = K_UNREGISTERED;
		snprintf(w->card_names[i], sizeof(w->card_names[i]), "torture-%u-%u",
			 number, i);
	}
	for (i = 0; i < NUM_ARRAYS; i++)
		torture_impls(w->impls[i], kinds[i].fn, kinds[i].label, kinds[i].key);
	torture_impls(card_impls, serve_card, "serve_card", DK_DENSE);
	return w;
}

/* ---- changes ---------------------------------------------------------------------- */

void change_begin(struct window *w)
{
	w_store(w->seq, w->seq + 1);
	/*
	 * a reader that loads a part of the change, and @seq after that, loads the odd @seq or a
	 * later one
	 */
	w_fence();
}

void change_end(struct window *w)
{
	/* a reader that loads the new @seq, and the state after that, loads the whole change */
	w_store_release(w->seq, w->seq + 1);
}

static void target_set(struct target *s, u32 by, u32 kind)
{
	w_store(s->by, by);
	w_store(s->kind, kind);
	change_end(&s->window);
}

/* Counts a change, which must succeed. Returns true if it did. */
static bool done(struct writer *w, int err, unsigned int change, const char *what)
{
	if (err)
		torture_error(w->a, E_REFUSED, what, w->why.text, -err, 0);
	else
		bump(w->a->changes[change]);
	return !err;
}

/* ---- functions ---------------------------------------------------------------------- */

static int impls_remove(struct writer *w, const struct dk_impl *impls)
{
	bool wait = w_random(&w->a->random) & 1;
	int err = wait ? dk_impls_unregister(&w->prov, impls, &w->why) :
			 dk_impls_withdraw(&w->prov, impls, &w->why);

	done(w, err, wait ? C_IMPLS_UNREGISTER : C_IMPLS_WITHDRAW, "functions were removed");
	return err;
}

/* The writer's own functions serve its backend if they are registered and online. */
static void backend_target_set(struct writer *w)
{
	target_set(&w->targets[0], w->has[ON_BACKEND] && !w->offline ? w->ctx->id : BY_BASE,
		   K_BACKEND);
}

static void impls_toggle(struct writer *w, unsigned int kind)
{
	struct target *mine = kind == ON_BACKEND ? &w->targets[0] : NULL;
	const struct dk_impl *impls = w->impls[kind];
	int err;

	if (mine)
		change_begin(&mine->window);
	if (w->has[kind])
		err = impls_remove(w, impls);
	else if (mine)
		err = dk_backend_impls_register(&w->prov, backends[w->number], impls,
						NUM_OPS, &w->why);
	else
		err = dk_impls_register(&w->prov, impls, NUM_OPS, &w->why);
	if (!w->has[kind])
		done(w, err, kinds[kind].change, "functions were registered");
	if (!err)
		w->has[kind] = !w->has[kind];
	if (mine)
		backend_target_set(w);
}

/* If another provider has a fallback at the key, registering is refused, which is no error. */
static void fallback_toggle(struct writer *w, unsigned int i)
{
	int err;

	if (w->has_fallback[i]) {
		err = impls_remove(w, &fallbacks[i]);
	} else {
		err = dk_fallback_register(&w->prov, &fallbacks[i], &w->why);
		if (err == -EEXIST)
			return;
		done(w, err, C_FALLBACK, "a backend fallback was registered");
	}
	if (!err)
		w->has_fallback[i] = !w->has_fallback[i];
}

/* ---- devices ------------------------------------------------------------------------ */

static void card_register(struct writer *w, unsigned int i)
{
	struct target *s = &w->targets[1 + i];
	struct card *card = &w->cards[i];
	void *priv;

	card->ctx = context_new(&w->prov, backend_of_card(i), true);
	if (!card->ctx)
		return;
	priv = torture.set.breaks == BREAK_WRONG ? torture_resident_card() : card->ctx;
	change_begin(&s->window);
	if (done(w, dk_device_register(&w->prov, backend_of_card(i), w->card_names[i],
				       priv, card_impls, NUM_OPS, &card->number, &w->why),
		 C_DEVICE, "a device was registered")) {
		card->online = true;
		w_store(s->device, card->number);
		target_set(s, card->ctx->id, K_CARD);
		return;
	}
	context_end(card->ctx);
	card->ctx = NULL;
	target_set(s, BY_BASE, K_UNREGISTERED);
}

static void card_unregister(struct writer *w, unsigned int i)
{
	struct target *s = &w->targets[1 + i];
	struct card *card = &w->cards[i];

	change_begin(&s->window);
	if (done(w, dk_device_unregister(&w->prov, card->number, &w->why), C_DEVICE_UNREGISTER,
		 "a device was unregistered")) {
		context_end(card->ctx);
		card->ctx = NULL;
	}
	target_set(s, BY_BASE, K_UNREGISTERED);
}

/*
 * Switches the device or, if @device is 0, the backend. A request with a deadline takes the device
 * or backend offline at once, and is repeated until no call is inside.
 */
static int set_online(struct writer *w, u32 device, unsigned int backend, bool online)
{
	struct dk_registry *reg = torture.reg;
	unsigned int ms = w_one_of(&w->a->random, 6);
	int err;

	if (ms == 5)
		return device ? dk_device_set_online(reg, device, online, &w->why) :
				dk_backend_set_online(reg, backend, online, &w->why);
	do {
		err = device ?
			dk_device_set_online_timeout(reg, device, online, ms, &w->why) :
			dk_backend_set_online_timeout(reg, backend, online, ms, &w->why);
		ms++;
		if (err == -ETIMEDOUT)
			bump(w->a->changes[C_TIMEOUT]);
	} while (err == -ETIMEDOUT);
	return err;
}

static void card_toggle(struct writer *w, unsigned int i)
{
	struct target *s = &w->targets[1 + i];
	struct card *card = &w->cards[i];
	bool online = !card->online;

	if (torture.set.breaks == BREAK_IDLE)
		return;
	change_begin(&s->window);
	if (done(w, set_online(w, card->number, 0, online), online ? C_ON : C_OFF,
		 "a device was switched"))
		card->online = online;
	target_set(s, card->online ? card->ctx->id : BY_BASE,
		   card->online ? K_CARD : K_OFFLINE);
}

static void card_change(struct writer *w)
{
	unsigned int i = w_one_of(&w->a->random, CARDS);

	if (!w->cards[i].ctx)
		card_register(w, i);
	else if (w_random(&w->a->random) & 3)
		card_toggle(w, i);
	else
		card_unregister(w, i);
}

/* ---- backends ------------------------------------------------------------------------ */

static bool backend_set_online(struct writer *w, unsigned int backend, bool online)
{
	return done(w, set_online(w, 0, backend, online),
		    online ? C_BACKEND_ON : C_BACKEND_OFF, "a backend was switched");
}

static void own_backend_toggle(struct writer *w)
{
	change_begin(&w->targets[0].window);
	if (backend_set_online(w, backends[w->number], w->offline))
		w->offline = !w->offline;
	backend_target_set(w);
}

/* All writers have devices on this backend; the first writer switches it. */
static void shared_backend_toggle(struct writer *w)
{
	struct toggled_backend *f = &torture.toggled;

	change_begin(&f->window);
	if (backend_set_online(w, f->backend, !f->online))
		w_store(f->online, !f->online);
	change_end(&f->window);
}

static void backend_toggle(struct writer *w)
{
	if (torture.set.breaks == BREAK_IDLE)
		return;
	if (!w->number && (w_random(&w->a->random) & 1))
		shared_backend_toggle(w);
	else
		own_backend_toggle(w);
}

/* At the end all backends must be online. */
static void backends_online(struct writer *w)
{
	if (w->offline)
		own_backend_toggle(w);
	if (!w->number && !w_load(torture.toggled.online))
		shared_backend_toggle(w);
}

/* ---- operators ----------------------------------------------------------------------- */

/* Each transient operator has one writer that defines it. */
static bool defines(const struct writer *w, const struct torture_op *op)
{
	return (op->work & TRANSIENT) &&
	       (op - torture.ops) % torture.set.writers == w->number;
}

static void definition_toggle(struct writer *w, struct torture_op *op)
{
	unsigned int flags = op->flags;
	int err;

	if (w_random(&w->a->random) & 1)
		flags |= DK_OP_SAME_DEVICE;
	change_begin(&op->window);
	if (op->defined)
		err = dk_op_undefine(&w->prov, op->decl->name, &w->why);
	else
		err = dk_op_define(&w->prov, op->decl, flags, &w->why);
	if (done(w, err, op->defined ? C_UNDEFINE : C_DEFINE, "a definition was changed"))
		w_store(op->defined, !op->defined);
	change_end(&op->window);
}

static void definitions_change(struct writer *w)
{
	unsigned int i;

	for (i = 0; i < NUM_OPS; i++)
		if (defines(w, &torture.ops[i]))
			definition_toggle(w, &torture.ops[i]);
}

/* ---- other changes -------------------------------------------------------------------- */

/* Joins a private backend, leaves it, and releases it if no other provider has joined. */
static void churn(struct writer *w)
{
	struct dk_provider temporary = DK_PROVIDER("torture-temporary");
	unsigned int backend;
	int err;

	temporary.registry = torture.reg;
	err = dk_provider_register(&temporary, &w->why);
	if (!err)
		err = dk_backend_join(&temporary, TORTURE_CHURN, 0, 0, &backend, &w->why);
	done(w, err, C_JOIN, "a backend was joined");
	done(w, dk_provider_unregister(&temporary), C_UNREGISTER, "a provider was unregistered");
	if (!dk_backend_release(torture.reg, TORTURE_CHURN, &w->why))
		bump(w->a->changes[C_RELEASE]);
}

static void handle(struct writer *w)
{
	const struct torture_op *op = &torture.ops[w_one_of(&w->a->random, NUM_OPS)];
	struct dk_op *held = dk_op_get(torture.reg, op->decl->name);

	/* the resident provider has defined this operator */
	if (torture.set.breaks == BREAK_REFUSED)
		done(w, dk_op_define(&w->prov, torture.ops[0].decl, 0, &w->why), C_DEFINE,
		     "an operator was defined");
	done(w, held == op->handle ? 0 : -ENOENT, C_HANDLE, "a handle was taken");
	dk_op_put(held);
}

void torture_change_inside(struct actor *a, struct dk_provider *prov)
{
	/*
	 * Functions of this operator make neither calls nor changes. Otherwise two threads in this
	 * function could wait for each other.
	 */
	static const struct dk_impl little[] = { DK_IMPL(tt_quick, DK_AUTOGRAD_CPU, pass) };
	struct dk_provider inner = DK_PROVIDER("torture-inside");
	int err = dk_provider_unregister(prov);

	if (err != -EDEADLK)
		torture_error(a, E_REFUSED, "a function unregistered its provider",
			      NULL, -err, EDEADLK);
	inner.registry = torture.reg;
	inner.priv = context_new(&inner, 0, false);
	if (!inner.priv)
		return;
	err = dk_provider_register(&inner, NULL);
	err = err ? err : dk_impls_register(&inner, little, 1, NULL);
	err = err ? err : dk_provider_unregister(&inner);
	if (err)
		torture_error(a, E_REFUSED, "a change was made inside a function",
			      NULL, -err, 0);
	else
		bump(a->changes[C_FROM_INSIDE]);
	context_end(inner.priv);
}

/* BREAK_LOST: undefines an operator that must always be defined. */
static void undefine_briefly(void)
{
	struct torture_op *op = &torture.ops[0];

	if (torture.set.breaks != BREAK_LOST)
		return;
	dk_op_undefine(torture_resident(), op->decl->name, NULL);
	w_sleep_us(1000);
	dk_op_define(torture_resident(), op->decl, op->flags, NULL);
}

/* ---- the provider ----------------------------------------------------------------------- */

static bool writer_register(struct writer *w)
{
	static const struct dk_provider unregistered = DK_PROVIDER("torture-writer");

	w->prov = unregistered;
	w->prov.registry = torture.reg;
	w->ctx = context_new(&w->prov, backends[w->number], false);
	if (!w->ctx)
		return false;
	w->prov.priv = w->ctx;
	return done(w, dk_provider_register(&w->prov, &w->why), C_REGISTER,
		    "a provider was registered");
}

/* While the provider is being unregistered, several functions may serve its targets. */
static void unregister_begin(struct writer *w)
{
	unsigned int i;

	for (i = 0; i < TARGETS_PER_WRITER; i++)
		change_begin(&w->targets[i].window);
	for (i = 0; i < NUM_OPS; i++)
		if (defines(w, &torture.ops[i]))
			change_begin(&torture.ops[i].window);
}

static void contexts_end(struct writer *w)
{
	unsigned int i;

	context_end(w->ctx);
	for (i = 0; i < CARDS; i++)
		if (w->cards[i].ctx)
			context_end(w->cards[i].ctx);
}

/* BREAK_STALE: poisons the contexts while calls are inside. */
static void poison_too_early(struct writer *w)
{
	unsigned int i;

	if (torture.set.breaks != BREAK_STALE)
		return;
	w_store(w->ctx->alive, POISON);
	for (i = 0; i < CARDS; i++)
		if (w->cards[i].ctx)
			w_store(w->cards[i].ctx->alive, POISON);
	w_sleep_us(1000);
}

static void unregister_end(struct writer *w)
{
	unsigned int i;

	memset(w->cards, 0, sizeof(w->cards));
	memset(w->has, 0, sizeof(w->has));
	memset(w->has_fallback, 0, sizeof(w->has_fallback));
	backend_target_set(w);
	for (i = 0; i < CARDS; i++)
		target_set(&w->targets[1 + i], BY_BASE, K_UNREGISTERED);
	for (i = 0; i < NUM_OPS; i++)
		if (defines(w, &torture.ops[i])) {
			w_store(torture.ops[i].defined, 0);
			change_end(&torture.ops[i].window);
		}
}

static void list_inside(struct writer *w)
{
	struct dk_inside in = { .size = sizeof(in) };
	unsigned int i;
	int err = 0;

	for (i = 0; i < 8 && !err; i++)
		err = dk_provider_inside(&w->prov, i, &in);
	done(w, err == -ENOENT ? 0 : err, C_LIST_INSIDE, "calls inside were listed");
}

/* Unregisters the provider. A request with a deadline is repeated until no call is inside. */
static int unregister(struct writer *w)
{
	unsigned int ms = w_one_of(&w->a->random, 6);
	int err;

	if (ms == 5)
		return dk_provider_unregister(&w->prov);
	do {
		err = dk_provider_unregister_timeout(&w->prov, ms++, &w->why);
		if (err == -ETIMEDOUT) {
			bump(w->a->changes[C_TIMEOUT]);
			list_inside(w);
		}
	} while (err == -ETIMEDOUT);
	return done(w, err, C_DEADLINE, "a provider was unregistered before a deadline") ?
	       0 : err;
}

static void writer_unregister(struct writer *w)
{
	unregister_begin(w);
	poison_too_early(w);
	done(w, unregister(w), C_UNREGISTER, "a provider was unregistered");
	contexts_end(w);
	unregister_end(w);
}

/* ---- the loop ------------------------------------------------------------------------------ */

static void step(struct writer *w)
{
	u64 *random = &w->a->random;

	switch (w_one_of(random, 18)) {
	case 0:
		churn(w);
		break;
	case 1:
		handle(w);
		break;
	case 2:
		done(w, dk_provider_drain(&w->prov), C_DRAIN, "a provider was drained");
		break;
	case 3:
		definitions_change(w);
		undefine_briefly();
		break;
	case 4:
	case 5:
		fallback_toggle(w, w_one_of(random, ARRAY_SIZE(fallbacks)));
		break;
	case 6:
	case 7:
	case 8:
	case 9:
	case 10:
		card_change(w);
		break;
	case 11:
		backend_toggle(w);
		break;
	case 12:
		list_inside(w);
		break;
	default:
		impls_toggle(w, w_one_of(random, NUM_ARRAYS));
	}
}

void torture_write(void *writer)
{
	struct writer *w = writer;
	unsigned int n;

	while (!w_load(torture.stop)) {
		if (!writer_register(w))
			break;
		for (n = w_one_of(&w->a->random, 32); n && !w_load(torture.stop); n--) {
			step(w);
			w_pause();
		}
		writer_unregister(w);
	}
	backends_online(w);
}
