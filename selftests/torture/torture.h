/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declares the torture test, in which readers call operators without a pause while writers change
 * the registry. The expected result of each call is known. Each function checks that it is the
 * right function for the call, and that its provider is still registered.
 *
 * The same sources are built for the kernel (dk_torture.ko) and for userspace
 * (dk_torture): serve.c has the functions, jobs.c deferred calls, readers.c the
 * calls, writers.c the changes, torture.c the setup and the end, report.c the
 * output. main_kernel.c and main_user.c have the parts that differ. plugin.c is a
 * provider that is loaded and unloaded during the test, as a module or as a shared
 * object.
 */
#ifndef _SELFTESTS_TORTURE_H
#define _SELFTESTS_TORTURE_H

#include "../world.h"

#include <dispatchkey.h>

#define MAX_READERS	64
#define MAX_WRITERS	8
#define MANY_OPS	8	/* operators that are called by handle only */
#define TORTURE_CHURN	"torture-churn"	/* a backend that is joined and released */
#define CARDS		4	/* devices of one writer */
#define SLOTS		16	/* counters of a context */

/* ---- counters ---------------------------------------------------------------- */

/* X(NAME, "text") - errors; for each there is a test that it has not happened */
#define TORTURE_ERRORS(X)						\
	X(STALE, "stale entries")					\
	X(LOST, "lost calls")						\
	X(DOUBLE, "double calls")					\
	X(WRONG, "wrong routes")					\
	X(REFUSED, "unexpected results of changes")

/* X(NAME, "text") - kinds of calls, each of which must happen */
#define TORTURE_CALLS(X)						\
	X(SLEEPABLE, "sleepable")					\
	X(ATOMIC, "atomic")						\
	X(BY_NAME, "by name")						\
	X(BY_HANDLE, "by handle")					\
	X(BOXED, "boxed")						\
	X(BATCH, "in a batch")						\
	X(LOCAL, "with local state")					\
	X(AUTOGRAD, "with autograd")					\
	X(REDISPATCHED, "redispatched")					\
	X(NESTED, "from inside a function")				\
	X(INTERRUPT, "from interrupts")					\
	X(DEFERRED, "deferred")						\
	X(CPU, "to the CPU")						\
	X(BACKEND, "to a backend")					\
	X(CARD, "to an online device")					\
	X(OFFLINE, "to an offline device")				\
	X(UNREGISTERED, "to an unregistered device")			\
	X(PLUGIN, "to a plugin")					\
	X(UNDEFINED, "of an undefined operator")			\
	X(EXACT, "with only one right function")

/* X(NAME, "text") - kinds of changes, each of which must happen */
#define TORTURE_CHANGES(X)						\
	X(REGISTER, "providers registered")				\
	X(UNREGISTER, "providers unregistered")				\
	X(DEADLINE, "providers unregistered before a deadline")		\
	X(TIMEOUT, "deadlines missed")					\
	X(LIST_INSIDE, "calls inside a provider listed")		\
	X(IMPLS, "functions at runtime keys")				\
	X(ALIAS, "functions at alias keys")				\
	X(FALLTHROUGH, "fallthroughs")					\
	X(FALLBACK, "backend fallbacks")				\
	X(IMPLS_UNREGISTER, "functions unregistered")			\
	X(IMPLS_WITHDRAW, "functions withdrawn")			\
	X(DRAIN, "providers drained")					\
	X(DEVICE, "devices registered")					\
	X(DEVICE_UNREGISTER, "devices unregistered")			\
	X(OFF, "devices set offline")					\
	X(ON, "devices set online")					\
	X(BACKEND_OFF, "backends set offline")				\
	X(BACKEND_ON, "backends set online")				\
	X(DEFINE, "operators defined")					\
	X(UNDEFINE, "operators undefined")				\
	X(JOIN, "backends joined")					\
	X(RELEASE, "backends released")					\
	X(HANDLE, "handles taken")					\
	X(FROM_INSIDE, "changes from inside a function")		\
	X(PLUGIN, "plugins loaded")					\
	X(FORK, "children forked")

enum {
#define TORTURE_E(NAME, text) E_##NAME,
#define TORTURE_K(NAME, text) K_##NAME,
#define TORTURE_C(NAME, text) C_##NAME,
	TORTURE_ERRORS(TORTURE_E)
	NUM_ERRORS
};

enum { TORTURE_CALLS(TORTURE_K) NUM_CALLS };
enum { TORTURE_CHANGES(TORTURE_C) NUM_CHANGES };

#define JOBS		4	/* per actor */

struct context;

/* A deferred call. */
struct job {
	struct dk_deferred token;
	const struct context *me;	/* of the function that deferred it */
	const char *op;
	u32 state;
};

/*
 * A thread or handler that makes calls or changes. No other thread writes to its struct, except
 * to the jobs.
 */
struct actor {
	u64 random;
	unsigned int slot;
	bool interrupts;	/* the actor interrupts a thread, so it must not register */
	bool atomic_only;
	bool submits;		/* functions defer some of its calls */
	struct job jobs[JOBS];
	u64 sent;
	u64 unserved;		/* calls that were refused, as expected */
	u64 errors[NUM_ERRORS];
	u64 calls[NUM_CALLS];
	u64 changes[NUM_CHANGES];
};

#define bump(n)		w_store(n, w_load(n) + 1)

/* ---- operators -------------------------------------------------------------- */

/* What the functions of an operator do besides counting the call. */
enum work {
	SLEEPS = 1,
	SPINS = 2,
	CALLS = 4,		/* call another operator */
	CHANGES = 8,		/* change the registry */
	TRANSIENT = 16,		/* writers define and undefine the operator */
};

/* X(id, "name", DK_OP flags, enum work) */
#define TORTURE_OPS(X)							\
	X(tt_quick, "torture::quick", 0, 0)				\
	X(tt_swift, "torture::swift", DK_OP_ATOMIC, 0)			\
	X(tt_sleepy, "torture::sleepy", 0, SLEEPS)			\
	X(tt_busy, "torture::busy", DK_OP_ATOMIC, SPINS)		\
	X(tt_relay, "torture::relay", 0, CALLS)				\
	X(tt_nest, "torture::nest", DK_OP_ATOMIC, CALLS)		\
	X(tt_change, "torture::change", 0, CHANGES)			\
	X(tt_transient, "torture::transient", 0, TRANSIENT)		\
	X(tt_transient_atomic, "torture::transient_atomic", DK_OP_ATOMIC, TRANSIENT)

/* Record of a call, written by the functions that serve it. */
struct call_record {
	struct actor *actor;
	const struct torture_op *op;
	u64 keys;		/* functionalities of the object and of local state */
	unsigned int depth;
	unsigned int served;	/* number of functions that served it */
	unsigned int redispatched;
	unsigned int in_plugin;	/* written after torture_serve() returned to a plugin */
	u32 by;			/* id of the context that served it */
	u32 role;		/* enum role of the function */
};

#define TORTURE_DECLARE(id, name, flags, work)				\
	DK_OP(id, name, (struct dk_obj *x, struct call_record *t), (x, t), (x));
TORTURE_OPS(TORTURE_DECLARE)
#undef TORTURE_DECLARE
/* The type of the functions of all these operators. */
typedef int (*torture_fn)(struct dk_call *c, struct dk_obj *x, struct call_record *t);

/* Sequence counter: odd during a change. See take_snapshot() and change_begin(). */
struct window {
	u32 seq;
};

struct torture_op {
	struct dk_op_decl *decl;
	struct dk_op *handle;
	/* call by name; NULL if only handles can call it in this registry */
	int (*named)(const struct dk_local *local, struct dk_obj *x, struct call_record *t);
	int (*at)(struct dk_op *op, const struct dk_local *local, struct dk_obj *x,
		  struct call_record *t);
	u32 flags;
	u32 work;
	struct window window;	/* of its definition */
	u32 defined;
};

#define NAMED_OPS	9
#define NUM_OPS		(NAMED_OPS + MANY_OPS)

/* ---- providers --------------------------------------------------------------- */

#define ALIVE		0x616c6976u
#define POISON		0x6b

enum role {
	ROLE_BASE,		/* always registered, or at an alias key */
	ROLE_CPU,
	ROLE_BACKEND,		/* for one backend */
	ROLE_CARD,		/* for one device */
	ROLE_NEVER,		/* never called: another function has precedence */
};

/* Private data of a provider or a device; poisoned after it is unregistered. */
struct context {
	u32 alive;
	u32 id;
	unsigned int backend;	/* for ROLE_BACKEND and ROLE_CARD */
	bool is_card;
	struct dk_provider *prov;
	struct {
		struct w_count served;
		char pad[64 - sizeof(struct w_count)];
	} slot[SLOTS];
};

/* A backend that is taken offline and online again with all its devices. */
struct toggled_backend {
	struct window window;
	unsigned int backend;
	u32 online;
};

/* An object for calls, and the context that must serve them. */
struct target {
	struct window window;
	const struct toggled_backend *toggled;	/* its backend, or NULL if no thread toggles that */
	u64 bits;
	u32 device;
	u32 by;			/* id of a context, BY_BASE or BY_ANY */
	u32 kind;		/* kind of the call, such as K_CPU */
};

#define BY_BASE		0u	/* a function of ROLE_BASE, of any provider */
#define BY_ANY		(~0u)

enum {
	TARGET_RESIDENT,	/* a device that stays registered */
	TARGET_CPU,
	TARGET_BASE,		/* a backend without functions */
	TARGET_PLUGIN,
	TARGET_WRITERS,		/* for each writer: its backend, then its cards */
};

#define TARGETS_PER_WRITER	(1 + CARDS)
#define MAX_TARGETS	(TARGET_WRITERS + MAX_WRITERS * TARGETS_PER_WRITER)

/* ---- the test ------------------------------------------------------------------ */

/*
 * Deliberate mistakes, to show that the test detects each. They have no lasting effect and access
 * only memory of the test, because the kernel continues to run after the test.
 */
#define TORTURE_BREAKS(X)						\
	X(NOTHING, "nothing")						\
	X(STALE, "stale")						\
	X(LOST, "lost")							\
	X(DOUBLE, "double")						\
	X(WRONG, "wrong")						\
	X(REFUSED, "refused")						\
	X(SUM, "sum")							\
	X(IDLE, "idle")							\
	X(EARLY, "early")						\
	X(LEFT, "left")

enum {
#define TORTURE_B(NAME, text) BREAK_##NAME,
	TORTURE_BREAKS(TORTURE_B)
	NUM_BREAKS
};

struct settings {
	unsigned int readers;
	unsigned int writers;
	unsigned int others;	/* number of actors that main_kernel.c or main_user.c adds */
	u64 seed;
	bool resolve;		/* use no tables: the rules route each call */
	unsigned int breaks;	/* BREAK_... */
	bool no_plugins;
	bool no_forks;
};

struct torture {
	struct settings set;
	struct dk_registry *reg;
	unsigned int cards;	/* the backend of the resident device and half of the others */
	struct toggled_backend toggled;	/* the backend of the other half */
	bool stop;
	struct torture_op ops[NUM_OPS];
	unsigned int num_targets;
	struct target targets[MAX_TARGETS];
	struct w_count served_by_unregistered;
	struct actor *actors;	/* readers, writers, others */
	unsigned int num_actors, max_actors;
	u64 begin_us, end_us;
};

extern struct torture torture;
/* Protects poisoned contexts, the plugin's context, and the actors while they end. */
extern struct w_mutex torture_lock;

/* serve.c */
/* Called by every function, including those of the plugin. */
int torture_serve(struct dk_call *c, struct dk_obj *x, struct call_record *t,
		  enum role role);
/* Fills an array of registrations: @fn at @key of all operators. */
void torture_impls(struct dk_impl impls[NUM_OPS], torture_fn fn, const char *label,
		   unsigned int key);
/* Functions for these arrays. pass() and pass_boxed() redispatch to the keys below. */
int serve_base(struct dk_call *c, struct dk_obj *x, struct call_record *t);
int serve_cpu(struct dk_call *c, struct dk_obj *x, struct call_record *t);
int serve_backend(struct dk_call *c, struct dk_obj *x, struct call_record *t);
int serve_card(struct dk_call *c, struct dk_obj *x, struct call_record *t);
int serve_never(struct dk_call *c, struct dk_obj *x, struct call_record *t);
int pass(struct dk_call *c, struct dk_obj *x, struct call_record *t);
int pass_boxed(struct dk_call *c, void *args);
struct context *context_new(struct dk_provider *prov, unsigned int backend,
			    bool is_card);
/* Called when no call is inside the functions of the context. */
void context_end(struct context *ctx);
void contexts_free(void);

/* The first error of a kind. The strings are constants. */
struct finding {
	struct w_count seen;
	const char *what;
	const char *of;
	u64 got;
	u64 wanted;
};

extern struct finding findings[NUM_ERRORS];
void torture_error(struct actor *a, unsigned int kind, const char *what,
		   const char *of, u64 got, u64 wanted);

/* jobs.c */
/* Called inside a function of @me. Might defer the call. */
void torture_submit(const struct dk_call *c, const struct context *me,
		    const struct call_record *t);
int torture_jobs_begin(void);
/* Called after the last job was submitted. */
void torture_jobs_end(void);

/* readers.c */
/* Calls a random operator with a random target. */
void torture_call(struct actor *a, bool atomic, unsigned int depth);
void torture_read(void *actor);

/* writers.c */
struct writer;
struct writer *writer_new(struct actor *a, unsigned int number);
void torture_write(void *writer);
/* Called inside a function of @prov. */
void torture_change_inside(struct actor *a, struct dk_provider *prov);
void change_begin(struct window *w);
void change_end(struct window *w);

/* torture.c */
int torture_begin(const struct settings *set);
/* Stops all threads and prints the report. Returns the number of failed tests. */
unsigned int torture_end(void);
/* The provider that stays registered, and the context of its device. */
struct dk_provider *torture_resident(void);
struct context *torture_resident_card(void);
/* Adds an actor. main_kernel.c and main_user.c may add settings.others actors. */
struct actor *torture_actor(bool interrupts, bool atomic_only);

/* The plugin registers functions for all operators on its backend. */
int torture_plugin_begin(struct dk_provider *prov, unsigned int *backend);
void torture_plugin_registered(struct dk_provider *prov);
void torture_plugin_unregisters(void);
void torture_plugin_unregistered(struct dk_provider *prov);

/* plugin.c, called when it is loaded and before it is unloaded */
int torture_plugin_load(void);
void torture_plugin_unload(void);

/* report.c */
/* Results of the teardown. */
struct teardown {
	int unregistered, checked, released, freed;	/* 0 or negative errno */
	unsigned int num_ops;	/* operators that still exist */
	struct dk_diag why;
};

void torture_progress(void);
/* The number of kinds of calls and changes that have not happened yet. */
unsigned int torture_missing(void);
unsigned int torture_judge(const struct teardown *l);

/* main_kernel.c, main_user.c: prints a line; @fmt has no newline */
void torture_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* _SELFTESTS_TORTURE_H */
