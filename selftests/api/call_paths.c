// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls on the fast path must reach the function that the slow path finds: by name, by
 * handle, inside an RCU section, counted, and from inside another call; with objects of
 * every kind, with lists, and with devices that have functions, have none, are offline, or
 * are unregistered.
 */
#include "test.h"

struct seen {
	long card;
	u32 device;
	u32 calls;
};

#define PARAMS	(const struct dk_obj *x, const struct dk_obj *y, struct seen *seen)

DK_OP(ways_sleepable, "call_paths::sleepable", PARAMS, (x, y, seen), (x, y));
DK_OP(ways_atomic, "call_paths::atomic", PARAMS, (x, y, seen), (x, y));
/*
 * All calls by these two declarations take the slow path, because they are not made by name and
 * agree() removes the signatures.
 */
DK_OP(slow_sleepable, "call_paths::sleepable", PARAMS, (x, y, seen), (x, y));
DK_OP(slow_atomic, "call_paths::atomic", PARAMS, (x, y, seen), (x, y));

static int serve(struct dk_call *c, const struct dk_obj *x, const struct dk_obj *y,
		 struct seen *seen)
{
	seen->card = (long)dk_call_priv(c);
	seen->device = dk_call_device(c);
	seen->calls++;
	return 0;
}

static int sleepable_above(struct dk_call *c, const struct dk_obj *x,
			   const struct dk_obj *y, struct seen *seen)
{
	seen->calls += 100;
	return ways_sleepable_below(c, x, y, seen);
}

static int atomic_above(struct dk_call *c, const struct dk_obj *x,
			const struct dk_obj *y, struct seen *seen)
{
	seen->calls += 100;
	return ways_atomic_below(c, x, y, seen);
}

static const struct dk_impl host[] = {
	DK_IMPL(ways_sleepable, DK_CPU, serve),
	DK_IMPL(ways_sleepable, DK_AUTOGRAD_CPU, sleepable_above),
	DK_IMPL_ATOMIC(ways_atomic, DK_CPU, serve),
	DK_IMPL_ATOMIC(ways_atomic, DK_AUTOGRAD_CPU, atomic_above),
};

static const struct dk_impl card[] = {
	DK_IMPL(ways_sleepable, DK_DENSE, serve),
	DK_IMPL(ways_sleepable, DK_AUTOGRAD_FUNCTIONALITY, sleepable_above),
	DK_IMPL_ATOMIC(ways_atomic, DK_DENSE, serve),
	DK_IMPL_ATOMIC(ways_atomic, DK_AUTOGRAD_FUNCTIONALITY, atomic_above),
};

static struct dk_provider prov;
static unsigned int backend;
static struct dk_op *sleepable, *atomic;
static struct dk_obj objs[10];
static struct dk_list lists[3];
static const struct dk_obj *all[14];
static unsigned int num;

static u32 plug(const char *name, long number, const struct dk_impl *impls)
{
	u32 device = 0;

	CHECK_OK(dk_device_register(&prov, backend, name, (void *)number, impls,
				    impls ? ARRAY_SIZE(card) : 0, &device, &t_why));
	return device;
}

/* Adds an object of backend @b, with its Autograd key if it is @tracked. */
static void add(unsigned int b, u32 device, bool tracked)
{
	struct dk_obj *o = &objs[num];

	*o = dk_obj_on(b, device);
	if (tracked)
		o->ks.bits |= DK_FUNCTIONALITY_BIT(DK_AUTOGRAD_FUNCTIONALITY);
	all[num++] = o;
}

static void add_list(unsigned int i, const struct dk_obj **items, unsigned int n)
{
	all[num++] = dk_list_init(&lists[i], items, n, 0);
}

/* Makes objects of every kind. The last pointer is NULL, an absent object. */
static void make_objects(const struct dk_impl *impls)
{
	static const struct dk_obj *mixed[3], *absent[2];
	u32 d0 = plug("ways0", 100, impls), d1 = plug("ways1", 101, impls), off, gone;

	off = plug("ways2", 102, impls);
	CHECK_OK(dk_device_set_online(NULL, off, 0, &t_why));
	gone = plug("ways3", 103, impls);
	CHECK_OK(dk_device_unregister(&prov, gone, &t_why));
	num = 0;
	add(DK_BACKEND_CPU, 0, false);
	add(DK_BACKEND_CPU, 0, true);
	add(DK_BACKEND_CUDA, 0, false);
	add(backend, 0, false);
	add(backend, d0, false);
	add(backend, d0, true);
	add(backend, d1, false);
	add(backend, plug("ways4", 104, NULL), false);
	add(backend, off, false);
	add(backend, gone, true);
	mixed[0] = &objs[0];
	mixed[2] = &objs[6];
	absent[1] = &objs[5];
	add_list(0, mixed, 3);
	add_list(1, absent, 2);
	add_list(2, absent, 1);
	all[num++] = NULL;
}

/*
 * Defines the operators. Registers @impls for each device, and @base for objects on no device.
 * Each may be NULL.
 */
static void setup(const struct dk_impl *impls, const struct dk_impl *base,
		  unsigned int op_flags)
{
	prov = (struct dk_provider)DK_PROVIDER("ways");
	t_register(&prov);
	CHECK_OK(dk_op_define(&prov, &ways_sleepable_op, op_flags, &t_why));
	CHECK_OK(dk_op_define(&prov, &ways_atomic_op, op_flags | DK_OP_ATOMIC,
			      &t_why));
	CHECK_OK(dk_impls_register(&prov, host, ARRAY_SIZE(host), &t_why));
	CHECK_OK(dk_backend_join(&prov, "ways", 0, 0, &backend, &t_why));
	make_objects(impls);
	if (base)
		CHECK_OK(dk_backend_impls_register(&prov, backend, base, ARRAY_SIZE(card),
						   &t_why));
	sleepable = t_get("call_paths::sleepable");
	atomic = t_get("call_paths::atomic");
}

/* ---- the call paths --------------------------------------------------------- */

struct ask {
	const struct dk_local *local;
	const struct dk_obj *x, *y;
	struct seen *seen;
};

static int slowly(const struct ask *a)
{
	return slow_sleepable_at(sleepable, a->local, a->x, a->y, a->seen);
}

static int by_name(const struct ask *a)
{
	return ways_sleepable_in(a->local, a->x, a->y, a->seen);
}

static int by_handle(const struct ask *a)
{
	return ways_sleepable_at(sleepable, a->local, a->x, a->y, a->seen);
}

/*
 * Returns the keyset for a redispatch: that of the call, without the default included keys,
 * which fall through.
 */
static struct dk_keyset set_of(const struct ask *a)
{
	const struct dk_obj *const two[] = { a->x, a->y };
	unsigned int i;
	u64 bits = 0;

	for (i = 0; i < 2; i++)
		bits |= two[i] ? two[i]->ks.bits : 0;
	bits |= dk_local_included(a->local).bits & ~DK_DEFAULT_INCLUDED;
	return DK_KEYSET(bits & (DK_BACKEND_MASK | ~dk_local_excluded(a->local).bits));
}

static int from_sleepable(const struct ask *a)
{
	const struct dk_obj *const first[] = { all[0], NULL };
	struct dk_frame c;
	int err;

	CHECK_OK(dk_call_enter(&c, &ways_sleepable_op, &dk_local_default, first, 2));
	err = ways_sleepable_redispatch(&c.call, set_of(a), a->x, a->y, a->seen);
	dk_call_leave(&c);
	return err;
}

static int atomic_slowly(const struct ask *a)
{
	return slow_atomic_at(atomic, a->local, a->x, a->y, a->seen);
}

static int atomic_by_name(const struct ask *a)
{
	return ways_atomic_in(a->local, a->x, a->y, a->seen);
}

static int atomic_by_handle(const struct ask *a)
{
	return ways_atomic_at(atomic, a->local, a->x, a->y, a->seen);
}

#if T_KERNEL
static int in_rcu(const struct ask *a)
{
	int err;

	rcu_read_lock();
	err = ways_atomic_rcu(a->local, a->x, a->y, a->seen);
	rcu_read_unlock();
	return err;
}
#endif

static int from_atomic(const struct ask *a)
{
	const struct dk_obj *const first[] = { all[0], NULL };
	struct dk_frame c;
	int err;

	CHECK_OK(dk_call_enter(&c, &ways_atomic_op, &dk_local_default, first, 2));
	err = ways_atomic_redispatch(&c.call, set_of(a), a->x, a->y, a->seen);
	dk_call_leave(&c);
	return err;
}

/* ---- all call paths, with all pairs of objects ------------------------------- */

#define WAY(req)	{ #req, req }

struct req {
	const char *name;
	int (*call)(const struct ask *a);
};

/* In each array, all paths must have the same result as the first one. */
static const struct req sleepable_ways[] = {
	WAY(slowly), WAY(by_name), WAY(by_handle), WAY(from_sleepable),
};

static const struct req atomic_ways[] = {
	WAY(atomic_slowly), WAY(atomic_by_name), WAY(atomic_by_handle),
	WAY(from_atomic),
#if T_KERNEL
	WAY(in_rcu),
#endif
};

static int call(const struct req *req, const struct dk_local *local, unsigned int x,
		unsigned int y, struct seen *seen)
{
	const struct ask a = { local, all[x], all[y], seen };

	*seen = (struct seen){ -1, 0, 0 };
	return req->call(&a);
}

/* Compares all paths. Adds the number of served calls to @ok, and that of others to @none. */
static void compare(const struct req *ways, unsigned int num_ways,
		    const struct dk_local *local, unsigned int *ok, unsigned int *none)
{
	struct seen want, got;
	unsigned int x, y, w;
	int err, other;

	for (x = 0; x < num; x++)
		for (y = 0; y < num; y++) {
			err = call(&ways[0], local, x, y, &want);
			++*(err ? none : ok);
			for (w = 1; w < num_ways; w++) {
				other = call(&ways[w], local, x, y, &got);
				if (other == err && got.card == want.card &&
				    got.device == want.device && got.calls == want.calls)
					continue;
				t_note("%s of objects %u and %u: %d, card %ld, %u calls",
				       ways[w].name, x, y, other, got.card, got.calls);
				t_note("slowly: %d, card %ld, %u calls", err,
				       want.card, want.calls);
				CHECK(0);
			}
			t_pause();
		}
}

static void compare_all(const struct dk_local *local, unsigned int *ok, unsigned int *none)
{
	compare(sleepable_ways, ARRAY_SIZE(sleepable_ways), local, ok, none);
	compare(atomic_ways, ARRAY_SIZE(atomic_ways), local, ok, none);
}

static void agree(const struct dk_impl *impls, const struct dk_impl *base,
		  unsigned int op_flags)
{
	struct dk_local untracked = dk_local_default;
	struct dk_local added[] = { dk_local_default, dk_local_default };
	unsigned int ok = 0, none = 0;

	setup(impls, base, op_flags);
	slow_sleepable_op.sig = NULL;
	slow_atomic_op.sig = NULL;
	/* a backend that not all objects have, and one that is higher than that of any object */
	dk_local_include(&added[0], DK_KEYSET(DK_BACKEND_BIT(backend)));
	dk_local_include(&added[1], DK_KEYSET(DK_BACKEND_BIT(DK_BACKEND_PRIVATEUSE3)));
	dk_local_exclude(&untracked,
			 DK_KEYSET(DK_FUNCTIONALITY_BIT(DK_AUTOGRAD_FUNCTIONALITY)));
	/* the first calls by name find the operators */
	compare_all(&dk_local_default, &ok, &none);
	compare_all(&untracked, &ok, &none);
	compare_all(&added[0], &ok, &none);
	compare_all(&added[1], &ok, &none);
	CHECK_OK(dk_stats_enable(NULL, &t_why));
	compare_all(&dk_local_default, &ok, &none);
	CHECK_OK(dk_stats_disable(NULL, &t_why));
	CHECK(ok > 20);
	CHECK(none > 20);
	t_close();
	CHECK_OK(dk_backend_release(NULL, "ways", &t_why));
}

static void where_no_device_has_functions(void)
{
	agree(NULL, card, 0);
}

static void where_devices_have_functions(void)
{
	agree(card, NULL, 0);
}

static void where_their_backend_has_some_too(void)
{
	static struct dk_impl base[ARRAY_SIZE(card)];

	memcpy(base, card, sizeof(card));
	agree(card, base, 0);
}

static void where_all_have_to_be_on_one_device(void)
{
	agree(card, NULL, DK_OP_SAME_DEVICE);
}

T_SUITE(call_paths,
	T(where_no_device_has_functions),
	T(where_devices_have_functions),
	T(where_their_backend_has_some_too),
	T(where_all_have_to_be_on_one_device));
