// SPDX-License-Identifier: GPL-2.0-only
/*
 * The call path is compiled for layout v1. These tests compare it with the generic functions for
 * keysets, on operators with a function at every runtime key. The sets are those of every single
 * key, and random ones with a fixed seed, with and without local state. Some of the operators have
 * fallthroughs.
 */
#include "test.h"

#define MANY	(T_KERNEL ? 2000 : 20000)
#define SEED	0x9e3779b97f4a7c15ull

DK_OP(slot, "table_slots::slot", (struct dk_obj *x, int *served_by), (x, served_by), (x));
typedef int (*slot_function)(struct dk_call *c, struct dk_obj *x, int *served_by);

/* A function for each of 140 entries: at_0_0() is for entry 0, at_13_9() for entry 139. */
#define AT(tens, ones)							\
static int at_##tens##_##ones(struct dk_call *c, struct dk_obj *x, int *served_by) \
{									\
	*served_by = (tens) * 10 + (ones);				\
	return 0;							\
}

#define NAME(tens, ones)	at_##tens##_##ones,
#define TEN(X, tens)							\
	X(tens, 0) X(tens, 1) X(tens, 2) X(tens, 3) X(tens, 4)		\
	X(tens, 5) X(tens, 6) X(tens, 7) X(tens, 8) X(tens, 9)
#define ALL(X)								\
	TEN(X, 0) TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4) TEN(X, 5)	\
	TEN(X, 6) TEN(X, 7) TEN(X, 8) TEN(X, 9) TEN(X, 10) TEN(X, 11)	\
	TEN(X, 12) TEN(X, 13)

ALL(AT)

static const slot_function functions[] = { ALL(NAME) };

static struct dk_provider prov;
static struct dk_impl impls[ARRAY_SIZE(functions)];
static struct dk_op *op;
static const struct dk_layout *layout;
static unsigned int entries;

/*
 * Registers a function at every runtime key. If @holes is not 0, each @holes-th one is a
 * fallthrough.
 */
static void setup(const char *name, unsigned int holes)
{
	unsigned int i;

	t_open(name, 0);
	layout = dk_registry_layout(t_reg);
	entries = dk_layout_entries(layout);
	t_join(&prov, "slots");
	CHECK(entries <= ARRAY_SIZE(functions));
	CHECK_OK(dk_op_define(&prov, &slot_op, 0, &t_why));
	for (i = 1; i < entries; i++) {
		struct dk_impl impl = {
			.op = &slot_op,
			.key = dk_slot_key(layout, i),
			.size = sizeof(impl),
		};

		if (holes && i % holes == 0)
			impl.flags = DK_IMPL_F_FALLTHROUGH;
		else
			impl.fn = (dk_fn_t)functions[i];
		impls[i - 1] = impl;
	}
	CHECK_OK(dk_impls_register(&prov, impls, entries - 1, &t_why));
	op = t_get("table_slots::slot");
}

static int call(const struct dk_local *local, struct dk_obj *x)
{
	int served_by = -1, err = slot_at(op, local, x, &served_by);

	return err ? err : served_by;
}

static int route(const struct dk_obj *x, struct dk_keyset inc, struct dk_keyset exc)
{
	memset(&t_answer, 0, sizeof(t_answer));
	t_answer.size = sizeof(t_answer);
	return dk_op_route(op, inc, exc, &x, 1, &t_answer);
}

/* Returns @ks without the functionalities whose entry is a fallthrough. */
static struct dk_keyset mask(struct dk_keyset ks, unsigned int holes)
{
	unsigned int f, b = dk_keyset_backend(layout, ks);
	struct dk_keyset all = dk_keyset_and(ks, dk_layout_full(layout));

	for (f = 1; holes && f < dk_layout_functionalities(layout); f++) {
		unsigned int key = dk_is_per_backend(layout, f) ?
				   dk_runtime_key(layout, f, b ? b : 1) : f;

		if (dk_key_slot(layout, key) % holes == 0 &&
		    dk_table_index(layout, dk_key_set(layout, key)) >= 0)
			all = dk_keyset_remove(layout, all, f);
	}
	return all;
}

/* Compares the call and the route for one keyset with the results of the generic functions. */
static bool one(struct dk_keyset ks, struct dk_keyset inc, struct dk_keyset exc,
		unsigned int holes, bool calls)
{
	struct dk_obj x = { ks, 0, 0 };
	struct dk_local local;
	struct dk_keyset effective;
	unsigned int want;
	int err;

	effective = dk_keyset_sub(layout, dk_keyset_or(ks, inc), exc);
	effective = mask(effective, holes);
	want = dk_keyset_slot(layout, effective);
	err = dk_table_index(layout, effective) > 0 ? 0 : -ENOSYS;
	dk_local_set(&local, inc, exc);
	if (calls && !CHECK_INT(call(&local, &x), err ? err : (int)want))
		goto wrong;
	if (!CHECK_INT(route(&x, inc, exc), err) ||
	    !CHECK_INT(t_answer.slot, want) ||
	    !CHECK_INT(t_answer.raw.bits, ks.bits) ||
	    !CHECK_INT(t_answer.effective.bits, effective.bits))
		goto wrong;
	return true;
wrong:
	t_note("set 0x%llx included 0x%llx excluded 0x%llx",
	       (unsigned long long)ks.bits, (unsigned long long)inc.bits,
	       (unsigned long long)exc.bits);
	return false;
}

static void compare(const char *name, unsigned int holes, bool calls)
{
	const struct dk_keyset none = { 0 };
	u64 seed = SEED;
	unsigned int i;

	setup(name, holes);
	for (i = 0; i < entries; i++)
		one(dk_key_set(layout, dk_slot_key(layout, i)), none, none, holes,
		    calls);
	/* every single bit, including those outside of the layout */
	for (i = 0; i < 64; i++)
		one(DK_KEYSET(1ULL << i), none, none, holes, calls);
	one(DK_KEYSET(0), none, none, holes, calls);
	one(DK_KEYSET(~0ULL), none, none, holes, calls);
	t_note("%s: %u random sets, seed 0x%llx", name, MANY, SEED);
	for (i = 0; i < MANY; i++) {
		struct dk_keyset ks = { t_random(&seed) };
		struct dk_keyset inc = { t_random(&seed) & t_random(&seed) };
		struct dk_keyset exc = { t_random(&seed) & t_random(&seed) };

		/* sets with few bits and with many, with and without local state */
		if (i & 1)
			ks.bits &= t_random(&seed) & t_random(&seed);
		if (i & 2)
			ks.bits &= t_random(&seed) & t_random(&seed);
		if (i & 4) {
			inc = none;
			exc = none;
		}
		if (!one(ks, inc, exc, holes, calls))
			break;
		t_pause();
	}
	t_close();
}

static void v1(void)
{
	compare("v1", 0, true);
}

static void v1_with_fallthroughs(void)
{
	compare("v1", 2, true);
	compare("v1", 3, true);
	compare("v1", 7, true);
}

static void pytorch_2_14(void)
{
	compare("pytorch-2.14", 0, true);
	compare("pytorch-2.14", 5, true);
}

/* The local state of a call has the bits of v1, so tests of other layouts only compute routes. */
static void pytorch_1_13(void)
{
	compare("pytorch-1.13", 0, false);
	compare("pytorch-1.13", 5, false);
}

/*
 * SEMANTICS 1.8: a call at a key that the trimmed table lacks has no function. A fallthrough at
 * such a key removes nothing from the call's keyset.
 */
static void trimmed_tables(void)
{
	compare("v1+trimmed", 0, true);
	compare("v1+trimmed", 3, true);
	compare("pytorch-2.14+trimmed", 5, true);
	compare("pytorch-1.13+trimmed", 19, false);
}

/* Checks that calls have the same results when every call uses the rules. */
static void without_tables(void)
{
	const struct dk_keyset none = { 0 };
	u64 seed = SEED;
	unsigned int i;

	t_open("v1", DK_REGISTRY_FORCE_RESOLVE);
	layout = dk_registry_layout(t_reg);
	entries = dk_layout_entries(layout);
	t_join(&prov, "slots");
	CHECK_OK(dk_op_define(&prov, &slot_op, 0, &t_why));
	/* the same functions as those of setup("v1", 3) */
	for (i = 1; i < entries; i++) {
		impls[i - 1].op = &slot_op;
		impls[i - 1].label = NULL;
		impls[i - 1].key = dk_slot_key(layout, i);
		impls[i - 1].size = sizeof(impls[0]);
		impls[i - 1].fn = i % 3 ? (dk_fn_t)functions[i] : NULL;
		impls[i - 1].flags = i % 3 ? 0 : DK_IMPL_F_FALLTHROUGH;
	}
	CHECK_OK(dk_impls_register(&prov, impls, entries - 1, &t_why));
	op = t_get("table_slots::slot");
	for (i = 0; i < entries; i++)
		one(dk_key_set(layout, dk_slot_key(layout, i)), none, none, 3, true);
	for (i = 0; i < MANY / 10; i++) {
		struct dk_keyset ks = { t_random(&seed) & t_random(&seed) };
		struct dk_keyset inc = { t_random(&seed) & t_random(&seed) };
		struct dk_keyset exc = { t_random(&seed) & t_random(&seed) };

		if (!one(ks, inc, exc, 3, true))
			break;
		t_pause();
	}
}

T_SUITE(table_slots,
	T(v1),
	T(v1_with_fallthroughs),
	T(pytorch_2_14),
	T(pytorch_1_13),
	T(trimmed_tables),
	T(without_tables));
