// SPDX-License-Identifier: GPL-2.0-only
/* Defines the floor, alone and in read-side critical sections, and calls in libdispatchkey. */
#define _LGPL_SOURCE	/* makes liburcu's functions inline */

#include "bench.h"

#include <dispatchkey.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
/* the public headers of the flavours define the same names, and cannot be used together */
#include <urcu/static/urcu-bp.h>
#include <urcu/static/urcu-memb.h>
#include <urcu/static/urcu-qsbr.h>

#define DEVICES		64
#define BATCH		32

/* DO(family, number) for each operator of a family */
#define EACH(DO, f)							\
	DO(f, 0) DO(f, 1) DO(f, 2) DO(f, 3) DO(f, 4) DO(f, 5) DO(f, 6) DO(f, 7)

/*
 * Families of operators: sleepable; atomic; with functions of one device; with functions of all
 * devices; with functions of one device, and DK_OP_SAME_DEVICE
 */
#define FAMILIES(DO)							\
	EACH(DO, calm) EACH(DO, swift) EACH(DO, one) EACH(DO, many) EACH(DO, same)

#define OPERATOR(f, i)							\
	DK_OP(f##i, "bench::" #f #i, (struct dk_obj *x, struct dk_obj *y), (x, y), (x, y));
FAMILIES(OPERATOR)

static struct dk_op *calm[8], *swift[8], *one[8], *many[8], *same[8];
static struct dk_provider me = DK_PROVIDER("bench");
/* The same operators in a registry other than the default one. */
static struct dk_op *own_calm[8], *own_swift[8];
static struct dk_provider own = DK_PROVIDER("bench");

/* ---- the functions ------------------------------------------------------------ */

static int serve(struct dk_call *c, struct dk_obj *x, struct dk_obj *y)
{
	return 0;
}

static int serve_boxed(struct dk_call *c, void *args)
{
	return 0;
}

static int serve_plain(struct dk_obj *x, struct dk_obj *y)
{
	return 0;
}

static unsigned long inside_calls;

/* Redispatches inside_calls times. */
#define INSIDE(id, by)							\
static int id##_##by##_inside(struct dk_call *c, struct dk_obj *x, struct dk_obj *y) \
{									\
	struct dk_keyset ks __attribute__((unused)) = dk_call_below(c);	\
	unsigned long n;						\
	int bad = 0;							\
									\
	for (n = inside_calls; n; n -= 8) {				\
		bad |= INSIDE_##by(id); bad |= INSIDE_##by(id);		\
		bad |= INSIDE_##by(id); bad |= INSIDE_##by(id);		\
		bad |= INSIDE_##by(id); bad |= INSIDE_##by(id);		\
		bad |= INSIDE_##by(id); bad |= INSIDE_##by(id);		\
	}								\
	return bad;							\
}

#define INSIDE_redispatch(id)	id##_redispatch(c, ks, x, y)
#define INSIDE_below(id)	id##_below(c, x, y)
INSIDE(calm0, redispatch)
INSIDE(swift0, redispatch)
INSIDE(calm1, below)
INSIDE(swift1, below)

#define CPU_IMPL(f, i)	DK_IMPL_ATOMIC(f##i, DK_CPU, serve),		\
	DK_IMPL_ATOMIC(f##i, DK_PRIVATEUSE1, serve),			\
	DK_IMPL_FALLTHROUGH(f##i, DK_TRACER),				\
	DK_IMPL_FALLTHROUGH(f##i, DK_FUNCTIONALIZE),			\
	DK_IMPL_FALLTHROUGH(f##i, DK_CONJUGATE),			\
	DK_IMPL_FALLTHROUGH(f##i, DK_NEGATIVE),				\
	DK_IMPL_FALLTHROUGH(f##i, DK_ZERO_TENSOR),			\
	DK_IMPL_FALLTHROUGH(f##i, DK_FUNCTORCH_BATCHED),		\
	DK_IMPL_FALLTHROUGH(f##i, DK_BATCHED),				\
	DK_IMPL_FALLTHROUGH(f##i, DK_DEFERRED_INIT),
#define PACKED_IMPL(f, i)	DK_IMPL_BOXED(f##i, DK_XLA, serve_boxed), \
	DK_IMPL_PLAIN(f##i, DK_MPS, serve_plain),
static const struct dk_impl impls[] = {
	FAMILIES(CPU_IMPL)
	EACH(PACKED_IMPL, calm)
	DK_IMPL(calm0, DK_AUTOGRAD_CPU, calm0_redispatch_inside),
	DK_IMPL_ATOMIC(swift0, DK_AUTOGRAD_CPU, swift0_redispatch_inside),
	DK_IMPL(calm1, DK_AUTOGRAD_CPU, calm1_below_inside),
	DK_IMPL_ATOMIC(swift1, DK_AUTOGRAD_CPU, swift1_below_inside),
};

static const struct dk_impl of_own[] = { EACH(CPU_IMPL, calm) EACH(CPU_IMPL, swift) };

#define DEVICE_IMPL(f, i)	DK_IMPL(f##i, DK_DENSE, serve),
static const struct dk_impl of_many[] = { EACH(DEVICE_IMPL, many) };
static const struct dk_impl of_first[] = {
	EACH(DEVICE_IMPL, many) EACH(DEVICE_IMPL, one) EACH(DEVICE_IMPL, same)
};

/* ---- the objects -------------------------------------------------------------- */

enum object {
	ON_CPU,			/* followed by eight with 1 to 8 keys that fall through */
	ON_CUDA = ON_CPU + 9,	/* no function serves these */
	ON_XLA,			/* a boxed function serves these */
	ON_MPS,			/* a plain function serves these */
	ON_BACKEND,		/* on the backend of the devices, without a device */
	ON_CARD,
	NUM_OBJECTS,
};

/* two of each kind, because calls take two objects */
static struct dk_obj objects[NUM_OBJECTS][2];

/* The keyset of a tensor: its backend, and autograd keys, which BELOW_AUTOGRAD() excludes. */
static struct dk_keyset tensor(unsigned int backend)
{
	return dk_keyset_or(DK_KEYSET(DK_KEY_BITS(DK_AUTOGRAD_CPU) & ~DK_BACKEND_MASK),
			    dk_keyset_or(DK_SET(DK_ADINPLACE_OR_VIEW),
					 dk_obj_on(backend, 0).ks));
}

static void make_objects(unsigned int backend, __u32 card)
{
	static const unsigned int passed[] = {
		DK_TRACER, DK_FUNCTIONALIZE, DK_CONJUGATE, DK_NEGATIVE, DK_ZERO_TENSOR,
		DK_FUNCTORCH_BATCHED, DK_BATCHED, DK_DEFERRED_INIT,
	};
	struct dk_obj *x = &objects[ON_CPU][0];
	unsigned int i;

	x->ks = tensor(DK_BACKEND_CPU);
	for (i = 0; i < 8; i++)
		objects[ON_CPU + i + 1][0].ks =
			dk_keyset_or(objects[ON_CPU + i][0].ks, DK_SET(passed[i]));
	objects[ON_CUDA][0].ks = tensor(DK_BACKEND_CUDA);
	objects[ON_XLA][0].ks = tensor(DK_BACKEND_XLA);
	objects[ON_MPS][0].ks = tensor(DK_BACKEND_MPS);
	objects[ON_BACKEND][0].ks = tensor(backend);
	objects[ON_CARD][0].ks = tensor(backend);
	objects[ON_CARD][0].device = card;
	for (i = 0; i < NUM_OBJECTS; i++)
		objects[i][1] = objects[i][0];
}

/* ---- the calls ---------------------------------------------------------------- */

/* Excludes the same keys as libtorch. One guard surrounds all calls of a sample. */
#define BELOW_AUTOGRAD()	DK_BELOW_ADINPLACE_OR_VIEW()

static void check(int bad, int expected)
{
	if (bad != expected)
		errx(1, "a call failed: %d", bad);
}

/* Hides from the compiler which object @x is: real callers do not know this. */
#define HIDE(x)								\
	do {								\
		__asm__("" : "+r"(x));					\
		if (!(x))						\
			__builtin_unreachable();			\
	} while (0)

/* Defines a contender: it calls eight operators in turn. @begin and @end surround all calls. */
#define CONTENDER(name, f, call, expected, begin, end)			\
static void name(const struct bench_contender *contender, unsigned long n) \
{									\
	struct dk_obj *x = &objects[contender->object][0];		\
	struct dk_obj *y = &objects[contender->object][1];		\
	int bad = 0;							\
	BELOW_AUTOGRAD();						\
									\
	HIDE(x);							\
	HIDE(y);							\
	begin;								\
	for (; n; n -= 8) {						\
		call(f, 0, bad) call(f, 1, bad) call(f, 2, bad) call(f, 3, bad)	\
		call(f, 4, bad) call(f, 5, bad) call(f, 6, bad) call(f, 7, bad)	\
	}								\
	end;								\
	check(bad, expected);						\
}

#define NONE		(void)0

/*
 * Makes no calls. The instructions of this loop are subtracted from those of the other contenders.
 */
static void loop(const struct bench_contender *contender, unsigned long n)
{
	int bad = 0, answer = 0;

	for (; n; n -= 8) {
#define NOTHING(f, i)	__asm__ volatile("" : "+r"(answer)); bad |= answer;
		EACH(NOTHING, f)
	}
	check(bad, 0);
}

/* Calls through a table whose index is known. */
typedef int (*serve_fn)(struct dk_call *c, struct dk_obj *x, struct dk_obj *y);
static serve_fn table[8];

#define CALL_FLOOR(f, i, bad)	bad |= table[i](NULL, x, y);
CONTENDER(floor_call, none, CALL_FLOOR, 0, NONE, NONE)

/*
 * Like CALL_FLOOR(), but in a read-side critical section, so that a thread that changes the table
 * could wait for the call.
 */
#define IN_SECTION(flavour, f, i, bad)					\
	_urcu_##flavour##_read_lock();					\
	CALL_FLOOR(f, i, bad)						\
	_urcu_##flavour##_read_unlock();
#define CALL_BP(f, i, bad)	IN_SECTION(bp, f, i, bad)
#define CALL_MEMB(f, i, bad)	IN_SECTION(memb, f, i, bad)
#define CALL_QSBR(f, i, bad)	IN_SECTION(qsbr, f, i, bad)
CONTENDER(floor_bp, none, CALL_BP, 0, NONE, NONE)
CONTENDER(floor_memb, none, CALL_MEMB, 0, NONE, NONE)
CONTENDER(floor_qsbr, none, CALL_QSBR, 0, NONE, NONE)

/* Calls by handle, with the thread's local state. */
#define CALL_AT(f, i, bad)	bad |= f##i##_at(f[i], dk_local_current(), x, y);
CONTENDER(sleepable, calm, CALL_AT, 0, NONE, NONE)
CONTENDER(atomic, swift, CALL_AT, 0, NONE, NONE)
CONTENDER(missing_sleepable, calm, CALL_AT, -ENOSYS, NONE, NONE)
CONTENDER(missing_atomic, swift, CALL_AT, -ENOSYS, NONE, NONE)
CONTENDER(device_one, one, CALL_AT, 0, NONE, NONE)
CONTENDER(device_many, many, CALL_AT, 0, NONE, NONE)
CONTENDER(device_same, same, CALL_AT, 0, NONE, NONE)

/* Calls by handle, with a pointer to the local state that is read once. */
#define CALL_GIVEN(f, i, bad)	bad |= f##i##_at(f[i], local, x, y);
#define LOCAL			const struct dk_local *local = dk_local_current()
CONTENDER(sleepable_given, calm, CALL_GIVEN, 0, LOCAL, NONE)
CONTENDER(atomic_given, swift, CALL_GIVEN, 0, LOCAL, NONE)

/* Calls in a registry other than the default one. */
#define CALL_OWN(f, i, bad)	bad |= f##i##_at(own_##f[i], dk_local_current(), x, y);
CONTENDER(sleepable_own, calm, CALL_OWN, 0, NONE, NONE)
CONTENDER(atomic_own, swift, CALL_OWN, 0, NONE, NONE)

/* Calls by the name in C. */
#define CALL_NAMED(f, i, bad)	bad |= f##i(x, y);
CONTENDER(sleepable_named, calm, CALL_NAMED, 0, NONE, NONE)
CONTENDER(atomic_named, swift, CALL_NAMED, 0, NONE, NONE)

#define CALL_BOXED(f, i, bad)						\
	bad |= dk_call_boxed(f[i], &f##i##_op, dk_local_current(),	\
			     &(struct f##i##_args){ x, y });
CONTENDER(boxed_sleepable, calm, CALL_BOXED, 0, NONE, NONE)
CONTENDER(boxed_one, one, CALL_BOXED, 0, NONE, NONE)
CONTENDER(boxed_atomic, swift, CALL_BOXED, 0, NONE, NONE)

/* ---- batches of calls --------------------------------------------------------- */

/* Enters once, runs 32 times, and leaves. */
#define BATCHES(name, f)						\
static void name(const struct bench_contender *contender, unsigned long n) \
{									\
	BELOW_AUTOGRAD();						\
	struct dk_obj *x = &objects[contender->object][0];		\
	struct dk_obj *y = &objects[contender->object][1];		\
	const struct dk_obj *objs[2] = { x, y };			\
	struct dk_frame c;						\
	int bad = 0, i;							\
									\
	for (; n; n -= BATCH) {						\
		check(dk_call_enter_op(&c, f[0], &f##0_op, dk_local_current(), objs, 2), \
		      0);						\
		for (i = 0; i < BATCH; i += 8) {			\
			EACH(AGAIN, f)					\
		}							\
		dk_call_leave(&c);					\
	}								\
	check(bad, 0);							\
}

#define AGAIN(f, i)	bad |= f##i##_run(&c, x, y);
BATCHES(batch, calm)
BATCHES(batch_atomic, swift)

/* ---- redispatches, from inside one call --------------------------------------- */

#define INSIDE_CALL(name, call)						\
static void name(const struct bench_contender *contender, unsigned long n) \
{									\
	struct dk_obj *x = &objects[contender->object][0];		\
	struct dk_obj *y = &objects[contender->object][1];		\
	DK_EXCLUDE(DK_SET(DK_ADINPLACE_OR_VIEW));			\
									\
	inside_calls = n;						\
	check(call, 0);							\
}

INSIDE_CALL(redispatch_sleepable, calm0(x, y))
INSIDE_CALL(redispatch_atomic, swift0(x, y))
INSIDE_CALL(below_sleepable, calm1(x, y))
INSIDE_CALL(below_atomic, swift1(x, y))

/* ---- the list of contenders ---------------------------------------------------- */

static void count(void)
{
	check(dk_stats_enable(NULL, NULL), 0);
}

static void count_no_more(void)
{
	check(dk_stats_disable(NULL, NULL), 0);
}

#define FALLS(n)	{ .id = "fallthrough." #n, .run = sleepable, .object = ON_CPU + n }
static const struct bench_contender contenders[] = {
	{ .id = "loop", .run = loop },
	{ .id = "floor", .run = floor_call, .scales = 1 },
	{ .id = "floor.bp", .run = floor_bp },
	{ .id = "floor.memb", .run = floor_memb },
	{ .id = "floor.qsbr", .run = floor_qsbr },
	{ .id = "redispatch.sleepable", .run = redispatch_sleepable },
	{ .id = "redispatch.atomic", .run = redispatch_atomic },
	{ .id = "below.sleepable", .run = below_sleepable },
	{ .id = "below.atomic", .run = below_atomic },
	{ .id = "call.sleepable", .run = sleepable, .scales = 1 },
	{ .id = "call.sleepable.given", .run = sleepable_given },
	{ .id = "call.sleepable.named", .run = sleepable_named },
	{ .id = "call.sleepable.own", .run = sleepable_own },
	{ .id = "call.atomic", .run = atomic, .scales = 1 },
	{ .id = "call.atomic.given", .run = atomic_given },
	{ .id = "call.atomic.named", .run = atomic_named },
	{ .id = "call.atomic.own", .run = atomic_own },
	{ .id = "boxed.sleepable", .run = boxed_sleepable },
	{ .id = "boxed.atomic", .run = boxed_atomic },
	{ .id = "batch", .run = batch },
	{ .id = "batch.atomic", .run = batch_atomic },
	FALLS(0), FALLS(1), FALLS(2), FALLS(3), FALLS(4), FALLS(5), FALLS(6), FALLS(7),
	FALLS(8),
	{ .id = "missing.sleepable", .run = missing_sleepable, .object = ON_CUDA },
	{ .id = "missing.atomic", .run = missing_atomic, .object = ON_CUDA },
	{ .id = "boxed.device", .run = boxed_one, .object = ON_CARD },
	{ .id = "boxed.counted", .run = boxed_sleepable, .before = count, .after = count_no_more },
	{ .id = "served.boxed", .run = sleepable, .object = ON_XLA },
	{ .id = "served.plain", .run = sleepable, .object = ON_MPS },
	{ .id = "device.none", .run = sleepable, .object = ON_BACKEND },
	{ .id = "device.no-functions", .run = sleepable, .object = ON_CARD },
	{ .id = "device.1", .run = device_one, .object = ON_CARD },
	{ .id = "device.64", .run = device_many, .object = ON_CARD },
	{ .id = "device.same", .run = device_same, .object = ON_CARD },
	{ .id = "counted.sleepable", .run = sleepable, .before = count,
	  .after = count_no_more },
	{ .id = "counted.atomic", .run = atomic, .before = count, .after = count_no_more },
};

static struct dk_diag why = { .size = sizeof(why) };

static void must(int err)
{
	if (err)
		errx(1, "%s: %s", why.name, why.text);
}

static unsigned int flags_of(struct dk_op *const *family)
{
	return family == swift ? DK_OP_ATOMIC : family == same ? DK_OP_SAME_DEVICE : 0;
}

static int set_up(char *const *names)
{
	unsigned int backend, i;
	char card[16];
	__u32 device;

	must(dk_provider_register(&me, &why));
#define DEFINE(f, i)							\
	f##i##_op.name = *names++;					\
	must(dk_op_define(&me, &f##i##_op, flags_of(f), &why));
	FAMILIES(DEFINE)
	must(dk_impls_register(&me, impls, sizeof(impls) / sizeof(impls[0]), &why));
	must(dk_backend_join(&me, "bench", DK_BACKEND_PRIVATEUSE1, 0, &backend, &why));
	for (i = 0; i < DEVICES; i++) {
		snprintf(card, sizeof(card), "card%u", i);
		must(dk_device_register(&me, backend, card, NULL, i ? of_many : of_first,
					i ? 8 : 24, &device, &why));
		if (!i)
			make_objects(backend, device);
	}
	for (i = 0; i < 8; i++)
		table[i] = serve;
	urcu_memb_register_thread();
	urcu_qsbr_register_thread();
	/* the first call by name looks up the operator; later calls use the result */
#define FIND(f, i)							\
	f[i] = dk_op_get(NULL, f##i##_op.name);				\
	check(f##i(&objects[ON_BACKEND][0], &objects[ON_BACKEND][0]), 0);
	BELOW_AUTOGRAD();
	FAMILIES(FIND)
	own.registry = dk_registry_alloc(NULL, DK_REGISTRY_BUILTINS, &why);
	must(own.registry ? dk_provider_register(&own, &why) : -ENOMEM);
#define DEFINE_OWN(f, i)						\
	must(dk_op_define(&own, &f##i##_op, flags_of(f), &why));	\
	own_##f[i] = dk_op_get(own.registry, f##i##_op.name);
	EACH(DEFINE_OWN, calm) EACH(DEFINE_OWN, swift)
	must(dk_impls_register(&own, of_own, sizeof(of_own) / sizeof(of_own[0]), &why));
	return 0;
}

const struct bench_side bench_dk = {
	set_up, contenders, sizeof(contenders) / sizeof(contenders[0]),
};
