/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The torture: readers call without a pause while writers change everything.
 * Every call knows what it may legally get, and every function checks that it
 * is the right one and that its provider has not left.
 *
 * One source for the kernel (dk_torture.ko) and userspace (dk_torture):
 * serve.c has the functions, readers.c the calls, writers.c the changes,
 * torture.c begins, ends and judges; main_kernel.c and main_user.c are what
 * the worlds have of their own; guest.c is a provider that is loaded and
 * unloaded meanwhile.
 */
#ifndef _SELFTESTS_TORTURE_H
#define _SELFTESTS_TORTURE_H

#include "../world.h"

#include <dispatchkey.h>

#define MAX_READERS	64
#define MAX_WRITERS	8
#define MANY_OPS	8	/* that no C name calls */
#define TORTURE_CHURN	"torture-churn"	/* a backend that is joined and released */
#define CARDS		4	/* devices of one writer */
#define SLOTS		16	/* of a context, for who counts in it */

/* ---- what is counted -------------------------------------------------------- */

/* X(NAME, "text") - each a test of its own: it must not happen */
#define TORTURE_ERRORS(X)						\
	X(STALE, "stale entries")					\
	X(LOST, "lost calls")						\
	X(DOUBLE, "double calls")					\
	X(WRONG, "wrong routes")					\
	X(REFUSED, "changes refused, or not refused")

/* X(NAME, "text") - each has to happen */
#define TORTURE_CALLS(X)						\
	X(SLEEPABLE, "sleepable")					\
	X(ATOMIC, "atomic")						\
	X(BY_NAME, "by name")						\
	X(BY_HANDLE, "by handle")					\
	X(BOXED, "boxed")						\
	X(BATCH, "in a batch")						\
	X(LOCAL, "with local state")					\
	X(AUTOGRAD, "with autograd")					\
	X(PASSED, "redispatched")					\
	X(NESTED, "from inside a function")				\
	X(INTERRUPT, "from interrupts")					\
	X(CPU, "to the CPU")						\
	X(BACKEND, "to a backend")					\
	X(CARD, "to a live device")					\
	X(OFFLINE, "to an offline device")				\
	X(GONE, "to a gone device")					\
	X(GUEST, "to a guest")						\
	X(UNDEFINED, "of an operator undefined")			\
	X(EXACT, "with one right answer")

/* X(NAME, "text") - each has to happen */
#define TORTURE_CHANGES(X)						\
	X(COME, "providers came")					\
	X(LEAVE, "providers left")					\
	X(DEADLINE, "providers left by a deadline")			\
	X(TIMEOUT, "deadlines missed")					\
	X(ASK, "asked who is inside")					\
	X(TABLE, "tables of functions")					\
	X(ALIAS, "functions at alias keys")				\
	X(THROUGH, "fallthroughs")					\
	X(FALLBACK, "backend fallbacks")				\
	X(UNREGISTER, "tables unregistered")				\
	X(WITHDRAW, "tables withdrawn")					\
	X(DRAIN, "drained")						\
	X(DEVICE, "devices came")					\
	X(DEVICE_LEFT, "devices left")					\
	X(OFF, "devices offline")					\
	X(ON, "devices online")						\
	X(BACKEND_OFF, "backends offline")				\
	X(BACKEND_ON, "backends online")				\
	X(DEFINE, "operators defined")					\
	X(UNDEFINE, "operators undefined")				\
	X(JOIN, "backends joined")					\
	X(RELEASE, "backends released")					\
	X(HANDLE, "handles held")					\
	X(INSIDE, "from inside a function")				\
	X(GUESTS, "guests loaded")					\
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

/* One that calls or changes. It alone writes what is in here. */
struct actor {
	u64 random;
	unsigned int slot;
	bool interrupts;	/* something: it must not register */
	bool atomic_only;
	u64 sent;
	u64 unserved;		/* refused, and rightly so */
	u64 errors[NUM_ERRORS];
	u64 calls[NUM_CALLS];
	u64 changes[NUM_CHANGES];
};

#define bump(n)		w_store(n, w_load(n) + 1)

/* ---- operators -------------------------------------------------------------- */

/* What the functions of an operator do besides serving. */
enum does {
	SLEEPS = 1,
	SPINS = 2,
	CALLS = 4,		/* another operator */
	CHANGES = 8,		/* the registry */
	FLEETING = 16,		/* is defined and undefined */
};

/* X(id, "name", DK_OP flags, enum does) */
#define TORTURE_OPS(X)							\
	X(tt_quick, "torture::quick", 0, 0)				\
	X(tt_swift, "torture::swift", DK_OP_ATOMIC, 0)			\
	X(tt_sleepy, "torture::sleepy", 0, SLEEPS)			\
	X(tt_busy, "torture::busy", DK_OP_ATOMIC, SPINS)		\
	X(tt_relay, "torture::relay", 0, CALLS)				\
	X(tt_nest, "torture::nest", DK_OP_ATOMIC, CALLS)		\
	X(tt_change, "torture::change", 0, CHANGES)			\
	X(tt_fleeting, "torture::fleeting", 0, FLEETING)		\
	X(tt_flash, "torture::flash", DK_OP_ATOMIC, FLEETING)

/* The account of a call, which its functions write. */
struct ticket {
	struct actor *who;
	const struct torture_op *op;
	u64 keys;		/* functionalities that it may be routed by */
	unsigned int depth;
	unsigned int served;	/* how often */
	unsigned int passed;
	unsigned int visited;	/* text that comes and goes */
	u32 by;			/* id of the context that served */
	u32 role;		/* as what: enum role */
};

#define TORTURE_DECLARE(id, name, flags, does)				\
	DK_OP(id, name, (struct dk_obj *x, struct ticket *t), (x, t), (x));
TORTURE_OPS(TORTURE_DECLARE)
#undef TORTURE_DECLARE
/* A function of any of them. */
typedef int (*torture_fn)(struct dk_call *c, struct dk_obj *x, struct ticket *t);

/* Something that changes: odd while it does; see look_at() and change_begin(). */
struct window {
	u32 seq;
};

struct torture_op {
	struct dk_op_decl *decl;
	struct dk_op *handle;
	/* by its C name; NULL where it has none in this registry */
	int (*named)(const struct dk_local *local, struct dk_obj *x, struct ticket *t);
	int (*at)(struct dk_op *op, const struct dk_local *local, struct dk_obj *x,
		  struct ticket *t);
	u32 flags;
	u32 does;
	struct window window;	/* of its definition */
	u32 defined;
};

#define NAMED_OPS	9
#define NUM_OPS		(NAMED_OPS + MANY_OPS)

/* ---- who serves --------------------------------------------------------------- */

#define ALIVE		0x616c6976u
#define POISON		0x6b

enum role {
	ROLE_BASE,		/* what is always there, and any alias key */
	ROLE_CPU,
	ROLE_BACKEND,		/* of one backend only */
	ROLE_CARD,		/* of one device only */
	ROLE_NEVER,		/* by the rules something else serves */
};

/* What a provider or a device brings along; poisoned when it has left. */
struct context {
	u32 alive;
	u32 id;
	unsigned int backend;	/* of ROLE_BACKEND */
	bool is_card;
	struct dk_provider *prov;
	struct {
		struct w_count served;
		char pad[64 - sizeof(struct w_count)];
	} slot[SLOTS];
};

/* A backend that is taken offline and online again with all its devices. */
struct flip {
	struct window window;
	unsigned int backend;
	u32 online;
};

/* Something to call with, and who has to serve it. */
struct spot {
	struct window window;
	const struct flip *flip;	/* its backend, where that is one, or NULL */
	u64 bits;
	u32 device;
	u32 by;			/* id of a context, or one of these */
	u32 kind;		/* K_CPU ... of the call */
};

#define BY_BASE		0u	/* nobody's own functions */
#define BY_ANY		(~0u)

enum {
	SPOT_RESIDENT,		/* a device that never leaves */
	SPOT_CPU,
	SPOT_BASE,		/* a backend that nobody has */
	SPOT_GUEST,
	SPOT_WRITERS,		/* one for its backend, and its cards */
};

#define SPOTS_A_WRITER	(1 + CARDS)
#define MAX_SPOTS	(SPOT_WRITERS + MAX_WRITERS * SPOTS_A_WRITER)

/* ---- the whole ------------------------------------------------------------------ */

/*
 * Mistakes on purpose, to show that each would be found. Nothing stays of them,
 * and no memory is used that is not ours: a kernel goes on behind them.
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
	X(LEFT, "left")

enum {
#define TORTURE_B(NAME, text) BREAK_##NAME,
	TORTURE_BREAKS(TORTURE_B)
	NUM_BREAKS
};

struct settings {
	unsigned int readers;
	unsigned int writers;
	unsigned int others;	/* actors that the world adds */
	u64 seed;
	bool resolve;		/* no rows: every call by the rules */
	unsigned int breaks;	/* of TORTURE_BREAKS() */
	bool no_guests;		/* nobody loads any */
	bool no_forks;
};

struct torture {
	struct settings set;
	struct dk_registry *reg;
	unsigned int cards;	/* the backend of most devices */
	struct flip flip;	/* and that of the others */
	bool stop;
	struct torture_op ops[NUM_OPS];
	unsigned int num_spots;
	struct spot spots[MAX_SPOTS];
	struct w_count served_by_the_gone;
	struct actor *actors;	/* readers, writers, others */
	unsigned int num_actors, max_actors;
	u64 begin_us, end_us;
};

extern struct torture torture;
/* Of what is left of contexts, the guest, and the end of the actors. */
extern struct w_mutex torture_lock;

/* serve.c */
/* What the functions of a guest do. */
int torture_serve(struct dk_call *c, struct dk_obj *x, struct ticket *t,
		  enum role role);
/* Fill a table: @fn at @key of all operators. */
void torture_table(struct dk_impl table[NUM_OPS], torture_fn fn, const char *label,
		   unsigned int key);
/* The functions of the tables; those that pass hand on to what comes behind. */
int serve_base(struct dk_call *c, struct dk_obj *x, struct ticket *t);
int serve_cpu(struct dk_call *c, struct dk_obj *x, struct ticket *t);
int serve_backend(struct dk_call *c, struct dk_obj *x, struct ticket *t);
int serve_card(struct dk_call *c, struct dk_obj *x, struct ticket *t);
int serve_never(struct dk_call *c, struct dk_obj *x, struct ticket *t);
int pass(struct dk_call *c, struct dk_obj *x, struct ticket *t);
int pass_boxed(struct dk_call *c, void *args);
struct context *context_new(struct dk_provider *prov, unsigned int backend,
			    bool is_card);
/* Nobody is inside of its functions any more. */
void context_end(struct context *ctx);
void contexts_free(void);

/* What was seen first of an error; its texts are constant. */
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

/* readers.c */
/* One call of an operator and an object that chance picks. */
void torture_call(struct actor *a, bool atomic, unsigned int depth);
void torture_read(void *actor);

/* writers.c */
struct writer;
struct writer *writer_new(struct actor *a, unsigned int number);
void torture_write(void *writer);
/* From inside of a function of @prov. */
void torture_change_inside(struct actor *a, struct dk_provider *prov);
void change_begin(struct window *w);
void change_end(struct window *w);

/* torture.c */
int torture_begin(const struct settings *set);
/* Stop, wait for all, tell and judge; the number of tests that failed. */
unsigned int torture_end(void);
/* Who never leaves, and its device's context. */
struct dk_provider *torture_resident(void);
struct context *torture_resident_card(void);
/* Another actor; no more of them than were announced. */
struct actor *torture_actor(bool interrupts, bool atomic_only);

/* A guest comes with functions for all operators on its backend, and goes. */
int torture_guest_begin(struct dk_provider *prov, unsigned int *backend);
void torture_guest_here(struct dk_provider *prov);
void torture_guest_leaves(void);
void torture_guest_left(struct dk_provider *prov);

/* guest.c, for who loads it */
int torture_guest_come(void);
void torture_guest_go(void);

/* report.c */
/* What the end has found. */
struct leaving {
	int unregistered, right, released, freed;
	unsigned int left;
	struct dk_diag why;
};

void torture_progress(void);
/* How many kinds of calls and changes have not happened yet. */
unsigned int torture_missing(void);
unsigned int torture_judge(const struct leaving *l);

/* main_kernel.c, main_user.c: a line of what is told, the newline not in it */
void torture_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* _SELFTESTS_TORTURE_H */
