// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets up and ends the torture test: the operators, the resident provider, threads, and the
 * plugin's registration.
 */
#include "torture.h"

#define CARDS_BACKEND	"torture"
#define TOGGLED_BACKEND	"torture-toggled"
#define PLUGIN_BACKEND	DK_BACKEND_MAIA
#define UNUSED_BACKEND	DK_BACKEND_MTIA

struct torture torture;
struct w_mutex torture_lock = W_MUTEX(torture_lock);

/* ---- operators --------------------------------------------------------------------- */

static const struct {
	struct dk_op_decl *decl;
	int (*named)(const struct dk_local *local, struct dk_obj *x, struct call_record *t);
	int (*at)(struct dk_op *op, const struct dk_local *local, struct dk_obj *x,
		  struct call_record *t);
	u32 flags, work;
} named[] = {
#define TORTURE_NAMED(id, name, flags, work)				\
	{ &id##_op, id##_in, id##_at, flags, work },
	TORTURE_OPS(TORTURE_NAMED)
#undef TORTURE_NAMED
};

static struct dk_op_decl many_decls[MANY_OPS];
static char many_names[MANY_OPS][32];

static void ops_init(void)
{
	struct torture_op *op = torture.ops;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(named); i++, op++) {
		op->decl = named[i].decl;
		op->named = torture.reg == dk_registry_default() ? named[i].named : NULL;
		op->at = named[i].at;
		op->flags = named[i].flags;
		op->work = named[i].work;
	}
	for (i = 0; i < MANY_OPS; i++, op++) {
		snprintf(many_names[i], sizeof(many_names[i]), "torture::many.%u", i);
		many_decls[i] = tt_quick_op;
		many_decls[i].name = many_names[i];
		many_decls[i].op = NULL;
		op->decl = &many_decls[i];
		op->at = tt_quick_at;
		op->flags = i & 1 ? DK_OP_ATOMIC : 0;
	}
}

static void handle_put(struct torture_op *op)
{
	dk_op_put(op->handle);
	op->handle = NULL;
}

static void handles_put(void)
{
	unsigned int i;

	for (i = torture.set.breaks == BREAK_LEFT; i < NUM_OPS; i++)
		handle_put(&torture.ops[i]);
}

/* ---- the resident provider ------------------------------------------------------------ */

static struct dk_provider resident;
static struct context *resident_ctx, *card_ctx;
static struct dk_impl base_impls[NUM_OPS], card_impls[NUM_OPS];

struct dk_provider *torture_resident(void)
{
	return &resident;
}

struct context *torture_resident_card(void)
{
	return card_ctx;
}

static int ops_define(struct dk_diag *why)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < NUM_OPS && !err; i++) {
		struct torture_op *op = &torture.ops[i];

		op->defined = 1;
		err = dk_op_define(&resident, op->decl, op->flags, why);
		op->handle = err ? NULL : dk_op_get(torture.reg, op->decl->name);
		if (err || !(op->work & TRANSIENT))
			continue;
		/* writers define this operator later */
		op->defined = 0;
		err = dk_op_undefine(&resident, op->decl->name, why);
	}
	return err;
}

static void targets_init(u32 card)
{
	static const unsigned int backend[TARGET_WRITERS] = {
		[TARGET_CPU] = DK_BACKEND_CPU,
		[TARGET_BASE] = UNUSED_BACKEND,
		[TARGET_PLUGIN] = PLUGIN_BACKEND,
	};
	struct target *s = torture.targets;
	unsigned int i;

	for (i = 0; i < TARGET_WRITERS; i++) {
		s[i].bits = DK_FUNCTIONALITY_BIT(DK_DENSE) |
			    DK_BACKEND_BIT(backend[i] ? backend[i] : torture.cards);
		s[i].kind = K_BACKEND;
	}
	s[TARGET_RESIDENT].device = card;
	s[TARGET_RESIDENT].by = card_ctx->id;
	s[TARGET_RESIDENT].kind = K_CARD;
	s[TARGET_CPU].by = BY_ANY;
	s[TARGET_CPU].kind = K_CPU;
	torture.num_targets = TARGET_WRITERS + torture.set.writers * TARGETS_PER_WRITER;
}

static int resident_begin(struct dk_diag *why)
{
	static const struct dk_provider unregistered = DK_PROVIDER("torture");
	u32 card = 0;
	int err;

	resident = unregistered;
	resident.registry = torture.reg;
	resident_ctx = context_new(&resident, 0, false);
	card_ctx = context_new(&resident, 0, true);
	if (!resident_ctx || !card_ctx)
		return -ENOMEM;
	resident.priv = resident_ctx;
	torture_impls(base_impls, serve_base, "serve_base", DK_COMPOSITE_EXPLICIT_AUTOGRAD);
	torture_impls(card_impls, serve_card, "serve_card", DK_DENSE);
	err = dk_provider_register(&resident, why);
	err = err ? err : ops_define(why);
	err = err ? err : dk_impls_register(&resident, base_impls, NUM_OPS, why);
	err = err ? err : dk_backend_join(&resident, CARDS_BACKEND, 0, 0, &torture.cards, why);
	err = err ? err : dk_backend_join(&resident, TOGGLED_BACKEND, 0, 0,
					  &torture.toggled.backend, why);
	torture.toggled.online = 1;
	card_ctx->backend = torture.cards;
	err = err ? err : dk_device_register(&resident, torture.cards, "torture-resident",
					     card_ctx, card_impls, NUM_OPS, &card, why);
	targets_init(card);
	return err;
}

static int resident_end(void)
{
	int err = dk_provider_unregister(&resident);

	if (resident_ctx)
		context_end(resident_ctx);
	if (card_ctx)
		context_end(card_ctx);
	resident_ctx = NULL;
	card_ctx = NULL;
	return err;
}

/* ---- threads --------------------------------------------------------------------------- */

static struct w_thread threads[MAX_READERS + MAX_WRITERS];
static struct writer *writers[MAX_WRITERS];
static unsigned int num_threads;

struct actor *torture_actor(bool interrupts, bool atomic_only)
{
	struct actor *a = &torture.actors[torture.num_actors];

	a->slot = torture.num_actors;
	a->random = torture.set.seed + torture.num_actors;
	a->interrupts = interrupts;
	a->atomic_only = atomic_only;
	w_store(torture.num_actors, torture.num_actors + 1);
	return a;
}

static void actors_free(void)
{
	struct actor *actors = torture.actors;

	w_mutex_lock(&torture_lock);
	torture.actors = NULL;
	torture.num_actors = 0;
	w_mutex_unlock(&torture_lock);
	w_free(actors);
}

static int thread_start(const char *name, void (*run)(void *data), void *data)
{
	int err = w_start(&threads[num_threads], name, run, data);

	if (!err)
		num_threads++;
	return err;
}

static int threads_start(void)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < torture.set.writers && !err; i++) {
		writers[i] = writer_new(torture_actor(false, false), i);
		err = writers[i] ? 0 : -ENOMEM;
	}
	if (!err)
		err = torture_jobs_begin();
	for (i = 0; i < torture.set.readers && !err; i++) {
		struct actor *a = torture_actor(false, false);

		a->submits = true;
		err = thread_start("dk_torture_read", torture_read, a);
	}
	for (i = 0; i < torture.set.writers && !err; i++)
		err = thread_start("dk_torture_write", torture_write, writers[i]);
	return err;
}

static void threads_stop(void)
{
	unsigned int i;

	w_store(torture.stop, true);
	while (num_threads)
		w_join(&threads[--num_threads]);
	torture_jobs_end();
	for (i = 0; i < MAX_WRITERS; i++) {
		w_free(writers[i]);
		writers[i] = NULL;
	}
}

/* ---- the plugin ---------------------------------------------------------------------------- */

static struct actor *plugin_actor;
static struct context *plugin_ctx;

int torture_plugin_begin(struct dk_provider *prov, unsigned int *backend)
{
	struct context *ctx;
	int err = 0;

	w_mutex_lock(&torture_lock);
	if (w_load(torture.stop) || plugin_ctx) {
		err = plugin_ctx ? -EBUSY : -ESHUTDOWN;
	} else {
		ctx = context_new(prov, PLUGIN_BACKEND, false);
		err = ctx ? 0 : -ENOMEM;
		w_store(plugin_ctx, ctx);
	}
	w_mutex_unlock(&torture_lock);
	if (err)
		return err;
	prov->registry = torture.reg;
	prov->priv = plugin_ctx;
	*backend = PLUGIN_BACKEND;
	change_begin(&torture.targets[TARGET_PLUGIN].window);
	return 0;
}

static void plugin_target_set(u32 by, u32 kind)
{
	struct target *s = &torture.targets[TARGET_PLUGIN];

	w_store(s->by, by);
	w_store(s->kind, kind);
	change_end(&s->window);
}

void torture_plugin_registered(struct dk_provider *prov)
{
	plugin_target_set(plugin_ctx->id, K_PLUGIN);
	bump(plugin_actor->changes[C_PLUGIN]);
}

void torture_plugin_unregisters(void)
{
	change_begin(&torture.targets[TARGET_PLUGIN].window);
}

void torture_plugin_unregistered(struct dk_provider *prov)
{
	plugin_target_set(BY_BASE, K_BACKEND);
	context_end(plugin_ctx);
	w_store_release(plugin_ctx, NULL);
}

/* dk_torture.ko cannot be unloaded before the module that uses its symbols. */
static void plugin_wait(void)
{
	if (w_load_acquire(plugin_ctx))
		torture_print("# waiting until the plugin is unloaded");
	while (w_load_acquire(plugin_ctx))
		w_sleep_us(10000);
}

/* ---- beginning and end -------------------------------------------------------------------- */

static int registry_open(struct dk_diag *why)
{
	torture.reg = torture.set.resolve ?
		      dk_registry_alloc(NULL, DK_REGISTRY_BUILTINS |
					DK_REGISTRY_FORCE_RESOLVE, why) :
		      dk_registry_default();
	return torture.reg ? 0 : -ENOMEM;
}

/*
 * The number of operators that still exist, because they are defined, or have functions or handles.
 */
static unsigned int count_ops(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < NUM_OPS; i++) {
		struct dk_op *op = dk_op_get(torture.reg, torture.ops[i].decl->name);

		n += !!op;
		dk_op_put(op);
	}
	return n;
}

/* The first call by name binds the name, which must not happen in an interrupt. */
static void names_bind(struct actor *a)
{
	struct dk_obj x = dk_obj_on(UNUSED_BACKEND, 0);
	unsigned int i;

	for (i = 0; i < NUM_OPS; i++) {
		struct call_record t = {
			.actor = a, .op = &torture.ops[NUM_OPS - 1], .keys = ~0ULL,
		};

		if (!torture.ops[i].named)
			continue;
		bump(a->sent);
		if (torture.ops[i].named(&dk_local_default, &x, &t))
			bump(a->unserved);
	}
}

static int begin(struct dk_diag *why)
{
	int err;

	torture.max_actors = torture.set.readers + torture.set.writers +
			     torture.set.others + 2;
	torture.actors = w_alloc(torture.max_actors * sizeof(*torture.actors));
	if (!torture.actors)
		return -ENOMEM;
	err = registry_open(why);
	if (err)
		return err;
	ops_init();
	err = resident_begin(why);
	if (err)
		return err;
	plugin_actor = torture_actor(false, false);
	names_bind(plugin_actor);
	return threads_start();
}

int torture_begin(const struct settings *set)
{
	struct dk_diag why = { .text = "no reason" };
	int err;

	torture.set = *set;
	torture.begin_us = w_now_us();
	err = begin(&why);
	if (!err)
		return 0;
	torture_print("# cannot begin: error %d: %s: %s", err, why.text, why.name);
	threads_stop();
	if (torture.reg) {
		handles_put();
		resident_end();
		dk_backend_release(torture.reg, CARDS_BACKEND, NULL);
		dk_backend_release(torture.reg, TOGGLED_BACKEND, NULL);
	}
	if (torture.set.resolve)
		dk_registry_free(torture.reg, NULL);
	contexts_free();
	actors_free();
	return err;
}

/* Called after all threads have ended. */
static void tear_down(struct teardown *l)
{
	plugin_wait();
	l->checked = dk_registry_check(torture.reg, &l->why);
	l->unregistered = resident_end();
	handles_put();
	l->released = dk_backend_release(torture.reg, CARDS_BACKEND, NULL);
	if (!l->released)
		l->released = dk_backend_release(torture.reg, TOGGLED_BACKEND, NULL);
	dk_backend_release(torture.reg, TORTURE_CHURN, NULL);
	l->num_ops = count_ops();
	if (torture.set.resolve)
		l->freed = dk_registry_free(torture.reg, &l->why);
	contexts_free();
}

/* Undoes BREAK_LEFT. */
static void release_leftovers(const struct teardown *l)
{
	handle_put(&torture.ops[0]);
	if (l->freed)
		dk_registry_free(torture.reg, NULL);
}

unsigned int torture_end(void)
{
	struct teardown l = { 0 };
	unsigned int failed;

	threads_stop();
	torture.end_us = w_now_us();
	tear_down(&l);
	failed = torture_judge(&l);
	release_leftovers(&l);
	actors_free();
	return failed;
}
