// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks that calls on the fast path reach the function that the slow path finds. Calls are made by
 * name, by handle, inside an RCU section, with counters, and from inside another call. They have
 * objects of every kind, lists, and devices that have functions, have none, are offline, or are
 * unregistered.
 */
#include "test.h"

struct result {
	long card;
	u32 device;
	u32 calls;
};

#define PARAMS	(const struct dk_obj *x, const struct dk_obj *y, struct result *result)

DK_OP(path_sleepable, "call_paths::sleepable", PARAMS, (x, y, result), (x, y));
DK_OP(path_atomic, "call_paths::atomic", PARAMS, (x, y, result), (x, y));
/*
 * All calls by these two declarations take the slow path, because they are not made by name and
 * check_paths_agree() removes the signatures.
 */
DK_OP(slow_sleepable, "call_paths::sleepable", PARAMS, (x, y, result), (x, y));
DK_OP(slow_atomic, "call_paths::atomic", PARAMS, (x, y, result), (x, y));

static int serve(struct dk_call *c, const struct dk_obj *x, const struct dk_obj *y,
		 struct result *result)
{
	result->card = (long)dk_call_priv(c);
	result->device = dk_call_device(c);
	result->calls++;
	return 0;
}

static int sleepable_above(struct dk_call *c, const struct dk_obj *x,
			   const struct dk_obj *y, struct result *result)
{
	result->calls += 100;
	return path_sleepable_below(c, x, y, result);
}

static int atomic_above(struct dk_call *c, const struct dk_obj *x,
			const struct dk_obj *y, struct result *result)
{
	result->calls += 100;
	return path_atomic_below(c, x, y, result);
}

static const struct dk_impl host[] = {
	DK_IMPL(path_sleepable, DK_CPU, serve),
	DK_IMPL(path_sleepable, DK_AUTOGRAD_CPU, sleepable_above),
	DK_IMPL_ATOMIC(path_atomic, DK_CPU, serve),
	DK_IMPL_ATOMIC(path_atomic, DK_AUTOGRAD_CPU, atomic_above),
};

static const struct dk_impl card[] = {
	DK_IMPL(path_sleepable, DK_DENSE, serve),
	DK_IMPL(path_sleepable, DK_AUTOGRAD_FUNCTIONALITY, sleepable_above),
	DK_IMPL_ATOMIC(path_atomic, DK_DENSE, serve),
	DK_IMPL_ATOMIC(path_atomic, DK_AUTOGRAD_FUNCTIONALITY, atomic_above),
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
	CHECK_OK(dk_op_define(&prov, &path_sleepable_op, op_flags, &t_why));
	CHECK_OK(dk_op_define(&prov, &path_atomic_op, op_flags | DK_OP_ATOMIC,
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

struct call_args {
	const struct dk_local *local;
	const struct dk_obj *x, *y;
	struct result *result;
};

static int by_slow_path(const struct call_args *a)
{
	return slow_sleepable_at(sleepable, a->local, a->x, a->y, a->result);
}

static int by_name(const struct call_args *a)
{
	return path_sleepable_in(a->local, a->x, a->y, a->result);
}

static int by_handle(const struct call_args *a)
{
	return path_sleepable_at(sleepable, a->local, a->x, a->y, a->result);
}

/*
 * Returns the keyset for a redispatch: that of the call, without the default included keys,
 * which fall through.
 */
static struct dk_keyset redispatch_keyset(const struct call_args *a)
{
	const struct dk_obj *const two[] = { a->x, a->y };
	unsigned int i;
	u64 bits = 0;

	for (i = 0; i < 2; i++)
		bits |= two[i] ? two[i]->ks.bits : 0;
	bits |= dk_local_included(a->local).bits & ~DK_DEFAULT_INCLUDED;
	return DK_KEYSET(bits & (DK_BACKEND_MASK | ~dk_local_excluded(a->local).bits));
}

static int from_sleepable(const struct call_args *a)
{
	const struct dk_obj *const first[] = { all[0], NULL };
	struct dk_frame c;
	int err;

	CHECK_OK(dk_call_enter(&c, &path_sleepable_op, &dk_local_default, first, 2));
	err = path_sleepable_redispatch(&c.call, redispatch_keyset(a), a->x, a->y, a->result);
	dk_call_leave(&c);
	return err;
}

static int atomic_by_slow_path(const struct call_args *a)
{
	return slow_atomic_at(atomic, a->local, a->x, a->y, a->result);
}

static int atomic_by_name(const struct call_args *a)
{
	return path_atomic_in(a->local, a->x, a->y, a->result);
}

static int atomic_by_handle(const struct call_args *a)
{
	return path_atomic_at(atomic, a->local, a->x, a->y, a->result);
}

#if T_KERNEL
static int in_rcu(const struct call_args *a)
{
	int err;

	rcu_read_lock();
	err = path_atomic_rcu(a->local, a->x, a->y, a->result);
	rcu_read_unlock();
	return err;
}
#endif

static int from_atomic(const struct call_args *a)
{
	const struct dk_obj *const first[] = { all[0], NULL };
	struct dk_frame c;
	int err;

	CHECK_OK(dk_call_enter(&c, &path_atomic_op, &dk_local_default, first, 2));
	err = path_atomic_redispatch(&c.call, redispatch_keyset(a), a->x, a->y, a->result);
	dk_call_leave(&c);
	return err;
}

/* ---- all call paths, with all pairs of objects ------------------------------- */

#define PATH(path)	{ #path, path }

struct call_path {
	const char *name;
	int (*call)(const struct call_args *a);
};

/* In each array, all paths must have the same result as the first one. */
static const struct call_path sleepable_paths[] = {
	PATH(by_slow_path), PATH(by_name), PATH(by_handle), PATH(from_sleepable),
};

static const struct call_path atomic_paths[] = {
	PATH(atomic_by_slow_path), PATH(atomic_by_name), PATH(atomic_by_handle),
	PATH(from_atomic),
#if T_KERNEL
	PATH(in_rcu),
#endif
};

static int call(const struct call_path *path, const struct dk_local *local, unsigned int x,
		unsigned int y, struct result *result)
{
	const struct call_args a = { local, all[x], all[y], result };

	*result = (struct result){ -1, 0, 0 };
	return path->call(&a);
}

/* Compares all paths. Adds the number of served calls to @ok, and that of others to @none. */
static void compare(const struct call_path *paths, unsigned int num_paths,
		    const struct dk_local *local, unsigned int *ok, unsigned int *none)
{
	struct result want, got;
	unsigned int x, y, w;
	int err, other;

	for (x = 0; x < num; x++)
		for (y = 0; y < num; y++) {
			err = call(&paths[0], local, x, y, &want);
			++*(err ? none : ok);
			for (w = 1; w < num_paths; w++) {
				other = call(&paths[w], local, x, y, &got);
				if (other == err && got.card == want.card &&
				    got.device == want.device && got.calls == want.calls)
					continue;
				t_note("%s of objects %u and %u: %d, card %ld, %u calls",
				       paths[w].name, x, y, other, got.card, got.calls);
				t_note("slowly: %d, card %ld, %u calls", err,
				       want.card, want.calls);
				CHECK(0);
			}
			t_pause();
		}
}

static void compare_all(const struct dk_local *local, unsigned int *ok, unsigned int *none)
{
	compare(sleepable_paths, ARRAY_SIZE(sleepable_paths), local, ok, none);
	compare(atomic_paths, ARRAY_SIZE(atomic_paths), local, ok, none);
}

static void check_paths_agree(const struct dk_impl *impls, const struct dk_impl *base,
			      unsigned int op_flags)
{
	struct dk_local untracked = dk_local_default;
	struct dk_local added[] = { dk_local_default, dk_local_default };
	unsigned int ok = 0, none = 0;

	setup(impls, base, op_flags);
	slow_sleepable_op.sig = NULL;
	slow_atomic_op.sig = NULL;
	/* a backend that only some objects have, and a backend higher than any object's */
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

static void paths_agree_without_device_functions(void)
{
	check_paths_agree(NULL, card, 0);
}

static void paths_agree_with_device_functions(void)
{
	check_paths_agree(card, NULL, 0);
}

static void paths_agree_with_backend_functions(void)
{
	static struct dk_impl base[ARRAY_SIZE(card)];

	memcpy(base, card, sizeof(card));
	check_paths_agree(card, base, 0);
}

static void paths_agree_for_same_device_operators(void)
{
	check_paths_agree(card, NULL, DK_OP_SAME_DEVICE);
}

T_SUITE(call_paths,
	T(paths_agree_without_device_functions),
	T(paths_agree_with_device_functions),
	T(paths_agree_with_backend_functions),
	T(paths_agree_for_same_device_operators));
