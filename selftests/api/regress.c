// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bugs that a review found, one test each, so that they stay away. Those that
 * need threads are in regress_threads.c.
 */
#include "alloc.h"
#include "test.h"

DK_OP(typed, "regress::typed", (struct dk_obj *x, int *who), (x, who), (x));
DK_OP(retyped, "regress::typed", (struct dk_obj *x, long *who), (x, who), (x));
DK_OP(first_sig, "regress::first_sig", (struct dk_obj *x, int *who), (x, who), (x));
DK_OP(wrong_sig, "regress::first_sig", (struct dk_obj *x, long *who), (x, who), (x));
DK_OP(stranger, "regress::stranger", (struct dk_obj *x, long *who), (x, who), (x));
DK_OP(on, "regress::on",
	(struct dk_obj *x, void **priv, u32 *device), (x, priv, device), (x));
DK_OP(change, "regress::change",
	(struct dk_obj *x, int (*what)(void), int *who), (x, what, who), (x));

/* Most bugs were in one of the two ways to serve a call. */
static const unsigned int ways[] = {
	DK_REGISTRY_STOCKED, DK_REGISTRY_STOCKED | DK_REGISTRY_FORCE_RESOLVE,
};

static struct dk_provider a, b;
static struct dk_op *op;
static unsigned int ran;

static struct dk_op *held(const struct dk_op_decl *decl)
{
	struct dk_op *found = dk_op_get(t_reg, decl->name);

	CHECK(found);
	return found;
}

static void begin(unsigned int flags)
{
	t_open("v1", flags);
	t_join(&a, "a");
	t_join(&b, "b");
	ran = 0;
}

static void end(void)
{
	dk_op_put(op);
	op = NULL;
	if (b.core)
		t_leave(&b);
	t_leave(&a);
	t_close();
}

/* ---- fallbacks ------------------------------------------------------------ */

static int boxed_counts(struct dk_call *c, void *args)
{
	ran++;
	return 0;
}

static const struct dk_impl sleepable_xla = DK_FALLBACK(DK_XLA, boxed_counts);
static const struct dk_impl sleepable_select =
	DK_FALLBACK(DK_BACKEND_SELECT, boxed_counts);
static const struct dk_impl atomic_xla = DK_FALLBACK_ATOMIC(DK_XLA, boxed_counts);
static const struct dk_impl atomic_select =
	DK_FALLBACK_ATOMIC(DK_BACKEND_SELECT, boxed_counts);

/* One that may sleep does not serve an operator that must not. */
static void sleepable_fallback_and_atomic_operator(void)
{
	static struct dk_op_decl early, late;
	static struct dk_impl cpu[2];
	struct dk_obj xla = t_obj(DK_KEY_BITS(DK_XLA));
	struct dk_obj select = t_obj(DK_KEY_BITS(DK_CPU) |
				     DK_KEY_BITS(DK_BACKEND_SELECT));
	struct dk_op *ops[2];
	unsigned int w, i;

	early = t_decl("regress::early");
	late = t_decl("regress::late");
	for (w = 0; w < ARRAY_SIZE(ways); w++) {
		begin(ways[w]);
		cpu[0] = t_impl(&early, DK_CPU, 1);
		cpu[1] = t_impl(&late, DK_CPU, 1);
		cpu[0].flags = DK_IMPL_F_ATOMIC;
		cpu[1].flags = DK_IMPL_F_ATOMIC;
		CHECK_OK(dk_op_define(&a, &early, DK_OP_ATOMIC, &t_why));
		CHECK_OK(dk_fallback_register(&b, &sleepable_xla, &t_why));
		CHECK_OK(dk_fallback_register(&b, &sleepable_select, &t_why));
		CHECK_OK(dk_op_define(&a, &late, DK_OP_ATOMIC, &t_why));
		CHECK_OK(dk_impls_register(&a, cpu, 2, &t_why));
		ops[0] = held(&early);
		ops[1] = held(&late);
		for (i = 0; i < 2; i++) {
			CHECK_INT(t_call(ops[i], &xla, NULL), -ENOSYS);
			CHECK_STR(t_serves(ops[i], 0, DK_XLA), "missing");
			/* the stock fallthrough stays */
			CHECK_INT(t_call(ops[i], &select, NULL), 1);
			CHECK_STR(t_serves(ops[i], 0, DK_BACKEND_SELECT),
				  "fallthrough");
		}
		CHECK_INT(ran, 0);
		CHECK_OK(dk_registry_check(t_reg, &t_why));
		CHECK_OK(dk_impls_unregister(&b, &sleepable_xla, &t_why));
		CHECK_OK(dk_impls_unregister(&b, &sleepable_select, &t_why));
		CHECK_OK(dk_fallback_register(&b, &atomic_xla, &t_why));
		CHECK_OK(dk_fallback_register(&b, &atomic_select, &t_why));
		for (i = 0; i < 2; i++) {
			ran = 0;
			/* they leave alone what says who was called */
			CHECK_INT(t_call(ops[i], &xla, NULL), -1);
			CHECK_INT(t_call(ops[i], &select, NULL), -1);
			CHECK_INT(ran, 2);
			dk_op_put(ops[i]);
		}
		end();
	}
}

/* ---- types ---------------------------------------------------------------- */

static int typed_1(struct dk_call *c, struct dk_obj *x, int *who)
{
	ran++;
	*who = 1;
	return 0;
}

static int typed_2(struct dk_call *c, struct dk_obj *x, int *who)
{
	ran++;
	*who = 2;
	return 0;
}

static int retyped_3(struct dk_call *c, struct dk_obj *x, long *who)
{
	ran++;
	*who = 3;
	return 0;
}

static int stranger_4(struct dk_call *c, struct dk_obj *x, long *who)
{
	ran++;
	*who = 4;
	return 0;
}

static int stranger_err, retyped_err;

/* Goes on by the macros of other operators, and then by its own. */
static int typed_astray(struct dk_call *c, struct dk_obj *x, int *who)
{
	long other = 0;

	stranger_err = stranger_below(c, x, &other);
	retyped_err = retyped_below(c, x, &other);
	CHECK_INT(other, 0);
	CHECK_INT(ran, 0);
	return typed_below(c, x, who);
}

/* A redispatch through another operator's macro called this one's function. */
static void redispatch_through_another_operator(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(typed, DK_AUTOGRAD_CPU, typed_astray),
		DK_IMPL(typed, DK_CPU, typed_1),
		DK_IMPL(stranger, DK_CPU, stranger_4),
	};
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU));
	struct dk_local local = t_no_local();
	unsigned int w;

	for (w = 0; w < ARRAY_SIZE(ways); w++) {
		int who = 0;

		begin(ways[w]);
		CHECK_OK(dk_op_define(&a, &typed_op, 0, &t_why));
		CHECK_OK(dk_op_define(&a, &stranger_op, 0, &t_why));
		CHECK_OK(dk_impls_register(&a, impls, 3, &t_why));
		op = held(&typed_op);
		CHECK_OK(typed_at(op, &local, &x, &who));
		CHECK_INT(stranger_err, -EPROTOTYPE);
		CHECK_INT(retyped_err, -EPROTOTYPE);
		CHECK_INT(who, 1);
		CHECK_INT(ran, 1);
		end();
	}
}

/* Of the default registry, whose callers find an operator once for all. */
static struct dk_provider me;

static void begin_default(void)
{
	static struct dk_provider provider = DK_PROVIDER("regress");

	me = provider;
	CHECK_OK(dk_provider_register(&me, &t_why));
	ran = 0;
}

static void end_default(void)
{
	CHECK_OK(dk_registry_check(dk_registry_default(), &t_why));
	CHECK_OK(dk_provider_unregister(&me));
}

static struct dk_op_decl untyped;

static void define_untyped(const struct dk_op_decl *decl)
{
	untyped = *decl;
	untyped.sig = NULL;
	untyped.op = NULL;
	CHECK_OK(dk_op_define(&me, &untyped, 0, &t_why));
}

/* A caller was there before the first who told a signature. */
static void signature_that_comes_late(void)
{
	static const struct dk_impl of_no_type[] = {
		{ .op = &untyped, .fn = (dk_fn_t)typed_1, .label = "typed_1",
		  .key = DK_CUDA, .size = sizeof(struct dk_impl) },
	};
	static const struct dk_impl of_another[] = {
		DK_IMPL(retyped, DK_CPU, retyped_3),
	};
	static const struct dk_impl of_the_first[] = {
		DK_IMPL(typed, DK_CPU, typed_2),
	};
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_obj cuda = dk_obj_on(DK_BACKEND_CUDA, 0);
	long other = 0;
	int who = 0;

	begin_default();
	define_untyped(&typed_op);
	CHECK_INT(typed(&cpu, &who), -ENOSYS);
	CHECK_OK(dk_impls_register(&me, of_no_type, 1, &t_why));
	CHECK_OK(typed(&cuda, &who));
	CHECK_INT(who, 1);
	CHECK_OK(dk_impls_register(&me, of_another, 1, &t_why));
	ran = 0;
	CHECK_INT(typed(&cpu, &who), -EPROTOTYPE);
	CHECK_INT(typed(&cuda, &who), -EPROTOTYPE);
	CHECK_INT(ran, 0);
	CHECK_OK(retyped(&cpu, &other));
	CHECK_INT(other, 3);
	CHECK_INT(dk_impls_register(&me, of_the_first, 1, &t_why), -EPROTOTYPE);
	CHECK_OK(dk_impls_unregister(&me, of_another, &t_why));
	CHECK_INT(typed(&cuda, &who), -EPROTOTYPE);
	end_default();
}

static int enter_by_handle(struct dk_op_decl *decl, struct dk_obj *x)
{
	const struct dk_obj *const objs[] = { x };
	struct dk_local local = t_no_local();
	struct dk_frame c;
	int err = dk_call_enter_op(&c, op, decl, &local, objs, 1);

	if (!err)
		dk_call_leave(&c);
	return err;
}

/* What a declaration was found to fit, it keeps; a row and a copy may be others. */
static void types_are_compared_by_handle(void)
{
	static const struct dk_impl first[] = { DK_IMPL(typed, DK_CPU, typed_1) };
	static const struct dk_impl second[] = { DK_IMPL(retyped, DK_CPU, retyped_3) };
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_op_decl copy;
	unsigned int w, i;

	for (w = 0; w < ARRAY_SIZE(ways); w++) {
		begin(ways[w]);
		CHECK_OK(dk_op_define(&a, &typed_op, 0, &t_why));
		CHECK_OK(dk_impls_register(&a, first, 1, &t_why));
		op = held(&typed_op);
		for (i = 0; i < 3; i++) {
			CHECK_OK(enter_by_handle(&typed_op, &x));
			CHECK_INT(enter_by_handle(&retyped_op, &x), -EPROTOTYPE);
		}
		copy = typed_op;
		CHECK_OK(enter_by_handle(&copy, &x));
		copy.sig = retyped_op.sig;
		CHECK_INT(enter_by_handle(&copy, &x), -EPROTOTYPE);
		CHECK_OK(dk_stats_enable(t_reg, &t_why));
		CHECK_OK(enter_by_handle(&typed_op, &x));
		CHECK_INT(enter_by_handle(&copy, &x), -EPROTOTYPE);
		CHECK_OK(dk_stats_disable(t_reg, &t_why));

		CHECK_OK(dk_impls_withdraw(&a, first, &t_why));
		CHECK_OK(dk_op_undefine(&a, typed_op.name, &t_why));
		dk_op_put(op);
		CHECK_OK(dk_op_define(&a, &retyped_op, 0, &t_why));
		CHECK_OK(dk_impls_register(&a, second, 1, &t_why));
		op = held(&retyped_op);
		for (i = 0; i < 3; i++) {
			CHECK_INT(enter_by_handle(&typed_op, &x), -EPROTOTYPE);
			CHECK_OK(enter_by_handle(&retyped_op, &x));
		}
		CHECK_OK(enter_by_handle(&copy, &x));
		end();
	}
}

static void refused_table_gives_no_signature(void)
{
	static const struct dk_impl good[] = { DK_IMPL(first_sig, DK_CPU, typed_2) };
	static struct dk_impl bad[] = {
		DK_IMPL(wrong_sig, DK_CPU, retyped_3),
		DK_IMPL(wrong_sig, 0xffff, retyped_3),
	};
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	long other = 0;
	int who = 0;

	begin_default();
	define_untyped(&first_sig_op);
	CHECK_INT(dk_impls_register(&me, bad, 2, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_KEY);
	CHECK_INT(first_sig(&cpu, &who), -ENOSYS);
	CHECK_INT(wrong_sig(&cpu, &other), -ENOSYS);
	CHECK_OK(dk_impls_register(&me, good, 1, &t_why));
	CHECK_OK(first_sig(&cpu, &who));
	CHECK_INT(who, 2);
	CHECK_INT(wrong_sig(&cpu, &other), -EPROTOTYPE);
	CHECK_INT(ran, 1);
	end_default();
}

/* When all have left, the name is free for another type, or another class. */
static void name_is_free_when_all_have_left(void)
{
	static const struct dk_impl first[] = { DK_IMPL(typed, DK_CPU, typed_1) };
	static const struct dk_impl second[] = { DK_IMPL(retyped, DK_CPU, retyped_3) };
	static const struct dk_impl third[] = { DK_IMPL_ATOMIC(typed, DK_CPU, typed_2) };
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	long other = 0;
	int who = 0;

	begin_default();
	CHECK_OK(dk_op_define(&me, &typed_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, first, 1, &t_why));
	CHECK_OK(typed(&cpu, &who));
	CHECK_INT(who, 1);
	CHECK_INT(retyped(&cpu, &other), -EPROTOTYPE);
	end_default();
	CHECK_INT(typed(&cpu, &who), -ENOENT);

	begin_default();
	CHECK_OK(dk_op_define(&me, &retyped_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, second, 1, &t_why));
	CHECK_OK(retyped(&cpu, &other));
	CHECK_INT(other, 3);
	CHECK_INT(typed(&cpu, &who), -EPROTOTYPE);
	CHECK_INT(ran, 1);
	end_default();

	/* both have found it now: the first type again, and atomic */
	begin_default();
	CHECK_OK(dk_op_define(&me, &typed_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&me, third, 1, &t_why));
	CHECK_OK(typed(&cpu, &who));
	CHECK_INT(who, 2);
	CHECK_INT(retyped(&cpu, &other), -EPROTOTYPE);
	CHECK_INT(ran, 1);
	end_default();

	/* only the class changes */
	begin_default();
	CHECK_OK(dk_op_define(&me, &typed_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, first, 1, &t_why));
	CHECK_OK(typed(&cpu, &who));
	CHECK_INT(who, 1);
	end_default();
	CHECK_INT(typed(&cpu, &who), -ENOENT);
	CHECK_INT(retyped(&cpu, &other), -ENOENT);

	/* functions come first: one that may sleep is none of the atomic operator */
	begin_default();
	CHECK_OK(dk_op_define(&me, &typed_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&me, third, 1, &t_why));
	CHECK_OK(typed(&cpu, &who));
	end_default();
	begin_default();
	CHECK_OK(dk_impls_register(&me, first, 1, &t_why));
	CHECK_OK(dk_op_define(&me, &typed_op, 0, &t_why));
	CHECK_OK(typed(&cpu, &who));
	CHECK_INT(who, 1);
	end_default();

	/* and the other one may be of both classes: it takes the last one */
	begin_default();
	CHECK_OK(dk_impls_register(&me, third, 1, &t_why));
	CHECK_INT(dk_op_define(&me, &typed_op, DK_OP_ATOMIC, &t_why), -EBUSY);
	CHECK_INT(t_why.reason, DK_WHY_CLASS);
	CHECK_OK(dk_op_define(&me, &typed_op, 0, &t_why));
	CHECK_OK(typed(&cpu, &who));
	CHECK_INT(who, 2);
	end_default();

	/* one without a signature does not get that of its namesake */
	begin_default();
	define_untyped(&typed_op);
	CHECK_OK(dk_impls_register(&me, second, 1, &t_why));
	CHECK_OK(retyped(&cpu, &other));
	CHECK_INT(typed(&cpu, &who), -EPROTOTYPE);
	end_default();
}

/* An operator that was replaced is there for the next one that fits, whoever came between. */
static void replaced_operators_are_used_again(void)
{
	static const struct dk_impl first[] = { DK_IMPL(typed, DK_CPU, typed_1) };
	static const struct dk_impl second[] = { DK_IMPL(retyped, DK_CPU, retyped_3) };
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	long allocs = 0;
	int who = 0, i;

	for (i = 0; i < 4; i++) {
		begin_default();
		CHECK_OK(dk_op_define(&me, &typed_op, 0, &t_why));
		CHECK_OK(dk_impls_register(&me, first, 1, &t_why));
		CHECK_OK(typed(&cpu, &who));
		end_default();
		begin_default();
		CHECK_OK(dk_impls_register(&me, second, 1, &t_why));
		end_default();
		if (i > 1)
			CHECK_INT(dk_test_allocs(), allocs);
		allocs = dk_test_allocs();
	}
}

/* ---- layouts -------------------------------------------------------------- */

/* A call merged the local state with the backend bits of v1. */
static void local_state_of_another_layout(void)
{
	static struct dk_op_decl decl;
	static struct dk_impl impls[3];
	const struct dk_layout *l = dk_layout_find("pytorch-1.13", NULL);
	struct dk_keyset on_cpu;
	unsigned int cpu = 0, fpga = 0, f;

	t_open("pytorch-1.13", 0);
	t_join(&a, "a");
	CHECK_OK(dk_key_parse(l, "CPU", 0, &cpu, &t_why));
	CHECK_OK(dk_key_parse(l, "FPGA", 0, &fpga, &t_why));
	decl = t_decl("regress::layout");
	impls[0] = t_impl(&decl, DK_UNDEFINED, 0);
	impls[1] = t_impl(&decl, cpu, 1);
	impls[2] = t_impl(&decl, fpga, 2);
	CHECK_OK(dk_op_define(&a, &decl, 0, &t_why));
	CHECK_OK(dk_impls_register(&a, impls, 3, &t_why));
	op = held(&decl);
	on_cpu = dk_key_set(l, cpu);
	for (f = 1; f < dk_layout_functionalities(l); f++) {
		struct dk_keyset set = dk_key_set(l, f), none = DK_KEYSET(0);
		struct dk_obj x = t_obj(dk_keyset_or(on_cpu, set).bits);
		const struct dk_obj *objs[] = { &x };
		struct dk_local local;
		struct dk_frame c;
		int err, way;

		for (way = 0; way < 2; way++) {
			struct dk_keyset in = way ? set : none, out = way ? none : set;

			if (way)
				x.ks = on_cpu;
			dk_local_set(&local, in, out);
			memset(&t_answer, 0, sizeof(t_answer));
			t_answer.size = sizeof(t_answer);
			err = dk_call_enter_op(&c, op, &decl, &local, objs, 1);
			CHECK_INT(dk_op_route(op, in, out, objs, 1, &t_answer), err);
			if (err)
				continue;
			CHECK_INT(c.call.ks.bits, t_answer.effective.bits);
			CHECK(dk_call_fn(&c.call) ==
			      (dk_fn_t)t_functions[t_answer.entry.label[1] - '0']);
			if (!way && f == fpga)
				CHECK_STR(t_answer.entry.label, "f1");
			if (way && f == fpga)
				CHECK_STR(t_answer.entry.label, "f2");
			dk_call_leave(&c);
		}
	}
	dk_op_put(op);
	op = NULL;
	t_leave(&a);
	t_close();
}

/* ---- registries ----------------------------------------------------------- */

static void default_registry_is_not_freed(void)
{
	struct dk_registry *reg = dk_registry_default();

	CHECK_INT(dk_registry_free(reg, &t_why), -EBUSY);
	CHECK_INT(t_why.reason, DK_WHY_IN_USE);
	CHECK(dk_registry_default() == reg);
	begin_default();
	end_default();
}

static void unknown_flags_of_a_registry(void)
{
	unsigned int bit;

	for (bit = 2; bit < 32; bit++) {
		memset(&t_why, 0, sizeof(t_why));
		/* refuses: dk_registry_alloc EINVAL BAD_FLAGS */
		CHECK(!dk_registry_alloc(NULL, 1u << bit, &t_why));
		CHECK_INT(t_why.reason, DK_WHY_BAD_FLAGS);
	}
	CHECK(!dk_registry_alloc(NULL, DK_REGISTRY_STOCKED | 1u << 31, &t_why));
}

static u64 generation(void)
{
	return dk_registry_generation(t_reg);
}

#define GROWS(call)							\
	do {								\
		u64 before = generation();				\
									\
		CHECK_OK(call);						\
		t_check(generation() > before, __FILE__, __LINE__,	\
			#call " moves the generation, which");		\
	} while (0)

#define REFUSED(call, errno)						\
	do {								\
		u64 before = generation();				\
									\
		CHECK_INT(call, errno);					\
		CHECK_INT(generation(), before);			\
	} while (0)

static void generation_grows_with_every_change(void)
{
	static struct dk_op_decl decl;
	static struct dk_impl impls[1], fallback, bad[1];
	unsigned int backend = 0;
	u32 device = 0, more;

	begin(DK_REGISTRY_STOCKED);
	decl = t_decl("regress::generation");
	impls[0] = t_impl(&decl, DK_CPU, 1);
	bad[0] = t_impl(&decl, 0xffff, 2);
	fallback = t_fallthrough(NULL, DK_TRACER);

	REFUSED(dk_fallback_register(&a, bad, &t_why), -EINVAL);
	GROWS(dk_fallback_register(&a, &fallback, &t_why));
	REFUSED(dk_fallback_register(&b, &fallback, &t_why), -EEXIST);
	REFUSED(dk_impls_unregister(&b, &fallback, &t_why), -ENOENT);
	GROWS(dk_impls_unregister(&a, &fallback, &t_why));

	GROWS(dk_backend_join(&a, "regress", 0, 0, &backend, &t_why));
	REFUSED(dk_backend_join(&b, "Autograd", 0, 0, &backend, &t_why), -EINVAL);
	REFUSED(dk_backend_release(t_reg, "regress", &t_why), -EBUSY);

	GROWS(dk_device_register(&a, backend, "card", NULL, NULL, 0, &device, &t_why));
	REFUSED(dk_device_register(&a, backend, "card", NULL, NULL, 0, &more, &t_why),
		-EEXIST);
	REFUSED(dk_device_register(&a, backend, "bad", NULL, bad, 1, &more, &t_why),
		-EINVAL);
	GROWS(dk_device_set_online(t_reg, device, 0, &t_why));
	GROWS(dk_device_set_online(t_reg, device, 1, &t_why));
	REFUSED(dk_device_set_online(t_reg, device + 1, 0, &t_why), -ENODEV);
	REFUSED(dk_device_unregister(&b, device, &t_why), -ENODEV);
	GROWS(dk_device_unregister(&a, device, &t_why));
	REFUSED(dk_device_unregister(&a, device, &t_why), -ENODEV);
	GROWS(dk_device_register(&a, backend, "card", NULL, NULL, 0, &device, &t_why));

	REFUSED(dk_op_undefine(&a, decl.name, &t_why), -ENOENT);
	GROWS(dk_op_define(&a, &decl, 0, &t_why));
	REFUSED(dk_op_define(&b, &decl, 0, &t_why), -EEXIST);
	REFUSED(dk_op_undefine(&b, decl.name, &t_why), -ENOENT);
	REFUSED(dk_impls_register(&a, bad, 1, &t_why), -EINVAL);
	GROWS(dk_impls_register(&a, impls, 1, &t_why));
	GROWS(dk_op_undefine(&a, decl.name, &t_why));
	GROWS(dk_impls_withdraw(&a, impls, &t_why));

	GROWS(dk_provider_unregister(&a));
	GROWS(dk_backend_release(t_reg, "regress", &t_why));
	REFUSED(dk_backend_release(t_reg, "regress", &t_why), -ENOENT);
	t_leave(&b);
	t_close();
}

/* ---- names and numbers ---------------------------------------------------- */

static u32 number_of_the_first(bool bad_ones_before)
{
	static struct dk_op_decl decl, other_type;
	static struct dk_impl other_key[1], wrong_type[2];
	u32 device = 0;

	begin(DK_REGISTRY_STOCKED);
	decl = t_decl("regress::number");
	other_type = t_decl("regress::number");
	other_type.sig = "(float)";
	other_key[0] = t_impl(&decl, DK_CUDA, 1);
	wrong_type[0] = t_impl(&decl, DK_DENSE, 1);
	wrong_type[1] = t_impl(&other_type, DK_SPARSE, 2);
	if (bad_ones_before) {
		CHECK_INT(dk_device_register(&a, DK_BACKEND_PRIVATEUSE1, "bad", NULL,
					     other_key, 1, &device, &t_why), -EINVAL);
		CHECK_INT(t_why.reason, DK_WHY_DEVICE_KEY);
		CHECK_INT(dk_device_register(&a, DK_BACKEND_PRIVATEUSE1, "bad", NULL,
					     wrong_type, 2, &device, &t_why),
			  -EPROTOTYPE);
		CHECK_INT(dk_device_register(&a, DK_NUM_BACKENDS + 1, "bad", NULL,
					     NULL, 0, &device, &t_why), -EINVAL);
		CHECK_INT(device, 0);
	}
	CHECK_OK(dk_device_register(&a, DK_BACKEND_PRIVATEUSE1, "good", NULL, NULL, 0,
				    &device, &t_why));
	end();
	return device;
}

static void refused_device_uses_up_no_number(void)
{
	CHECK_INT(number_of_the_first(true), number_of_the_first(false));
}

/* What a parser would take for something else cannot be a backend's name. */
static void names_of_keys_are_taken(void)
{
	static const char *const names[] = {
		"Autograd", "autograd", "Sparse", "Dense", "cpu", "CPUBit",
		"AutogradCPU", "Undefined", "CompositeImplicitAutograd", "Tracer",
		"PrivateUse1",
	};
	unsigned int i, backend = 0, key = 0;

	begin(DK_REGISTRY_STOCKED);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		CHECK_INT(dk_backend_join(&a, names[i], 0, 0, &backend, &t_why),
			  -EINVAL);
		CHECK_INT(t_why.reason, DK_WHY_NAME_TAKEN);
		CHECK_STR(t_why.name, names[i]);
		CHECK_INT(backend, 0);
	}
	CHECK_OK(dk_backend_join(&a, "Sparse2", 0, 0, &backend, &t_why));
	CHECK_OK(dk_registry_key_parse(t_reg, "Autograd", &key, &t_why));
	CHECK_INT(key, DK_AUTOGRAD);
	CHECK_OK(dk_registry_key_parse(t_reg, "Sparse", &key, &t_why));
	CHECK_INT(key, DK_SPARSE);
	end();
}

/* ---- devices -------------------------------------------------------------- */

static int on_here(struct dk_call *c, struct dk_obj *x, void **priv, u32 *device)
{
	*priv = dk_call_priv(c);
	*device = dk_call_device(c);
	return 0;
}

static int boxed_goes_on(struct dk_call *c, void *args)
{
	ran++;
	return dk_redispatch_boxed(c, dk_call_below(c), args);
}

static const struct dk_impl on_backend[] = {
	DK_IMPL(on, DK_PRIVATEUSE1, on_here), DK_IMPL(on, DK_CPU, on_here),
};

static const struct dk_impl on_card[] = { DK_IMPL(on, DK_DENSE, on_here) };
static const struct dk_impl tracer = DK_FALLBACK(DK_TRACER, boxed_goes_on);
static int of_provider, of_card[2];
static u32 card[2];

static void begin_cards(unsigned int flags)
{
	static struct dk_provider with_priv = DK_PROVIDER("cards");

	begin(flags);
	t_leave(&b);
	b = with_priv;
	b.registry = t_reg;
	b.priv = &of_provider;
	CHECK_OK(dk_provider_register(&b, &t_why));
	CHECK_OK(dk_op_define(&a, &on_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&b, on_backend, 2, &t_why));
	CHECK_OK(dk_device_register(&b, DK_BACKEND_PRIVATEUSE1, "card0", &of_card[0],
				    on_card, 1, &card[0], &t_why));
	CHECK_OK(dk_device_register(&b, DK_BACKEND_PRIVATEUSE1, "card1", &of_card[1],
				    on_card, 1, &card[1], &t_why));
	op = held(&on_op);
}

/* An object with these bits runs the function of this device. */
static void lands(u64 bits, u32 device, u32 want, const void *want_priv)
{
	struct dk_obj x = t_obj(bits);
	struct dk_local local = t_no_local();
	void *priv = NULL;
	u32 served = ~0u;

	x.device = device;
	CHECK_OK(on_at(op, &local, &x, &priv, &served));
	CHECK_INT(served, want);
	CHECK(priv == want_priv);
}

/* A boxed function cannot name the objects, and lost their device. */
static void boxed_redispatch_keeps_the_device(void)
{
	const u64 bits = DK_KEY_BITS(DK_PRIVATEUSE1) | DK_KEY_BITS(DK_TRACER);
	unsigned int w;

	for (w = 0; w < ARRAY_SIZE(ways); w++) {
		begin_cards(ways[w]);
		CHECK_OK(dk_fallback_register(&a, &tracer, &t_why));
		lands(bits, card[0], card[0], &of_card[0]);
		lands(bits, card[1], card[1], &of_card[1]);
		lands(bits, 0, 0, &of_provider);
		CHECK_INT(ran, 3);
		end();
	}
}

/* See also regress_threads.c. */
static void device_functions_get_its_priv(void)
{
	const u64 bits = DK_KEY_BITS(DK_PRIVATEUSE1);
	unsigned int w;

	for (w = 0; w < ARRAY_SIZE(ways); w++) {
		begin_cards(ways[w]);
		lands(bits, card[0], card[0], &of_card[0]);
		lands(bits, card[1], card[1], &of_card[1]);
		lands(bits, 0, 0, &of_provider);
		lands(DK_KEY_BITS(DK_CPU), card[0], 0, &of_provider);
		CHECK_OK(dk_device_set_online(t_reg, card[0], 0, &t_why));
		lands(bits, card[0], 0, &of_provider);
		CHECK_OK(dk_device_set_online(t_reg, card[0], 1, &t_why));
		lands(bits, card[0], card[0], &of_card[0]);
		CHECK_OK(dk_device_unregister(&b, card[0], &t_why));
		lands(bits, card[0], 0, &of_provider);
		end();
	}
}

/* An emulated machine is slow, and so is ThreadSanitizer. */
#if T_KERNEL || defined(__SANITIZE_THREAD__)
#define MANY		300
#define ONE_BY_ONE	10
#else
#define MANY		1000
#define ONE_BY_ONE	400
#endif

/* The time went with the square of the number of devices, for each of them. */
static void many_devices_of_one_operator(void)
{
	const u64 bits = DK_KEY_BITS(DK_PRIVATEUSE1);
	u32 *devices = t_alloc(MANY * sizeof(*devices));
	char name[16];
	unsigned int i;

	begin_cards(DK_REGISTRY_STOCKED);
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "many%u", i);
		if (!CHECK_OK(dk_device_register(&b, DK_BACKEND_PRIVATEUSE1, name,
						 &devices[i], on_card, 1, &devices[i],
						 &t_why)))
			break;
		t_pause();
	}
	for (i = 0; i < MANY; i++)
		lands(bits, devices[i], devices[i], &devices[i]);
	for (i = 0; i < ONE_BY_ONE; i++) {
		CHECK_OK(dk_device_unregister(&b, devices[i * 2], &t_why));
		t_pause();
	}
	lands(bits, devices[0], 0, &of_provider);
	lands(bits, devices[1], devices[1], &devices[1]);
	end();
	t_free(devices);
}

/* ---- entries -------------------------------------------------------------- */

static u64 effective(u64 bits)
{
	struct dk_obj x = t_obj(bits);

	t_route(op, &x, NULL);
	return t_answer.effective.bits;
}

static const char *goes(u64 bits)
{
	struct dk_obj x = t_obj(bits);

	return t_goes(op, &x, NULL);
}

/* The masks are made of a paint where an entry serves nobody. */
static void ambiguous_entry_beside_fallthroughs(void)
{
	const u64 other = DK_KEY_BITS(DK_FPGA) | DK_KEY_BITS(DK_AUTOGRAD_OTHER);
	const u64 select = DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_BACKEND_SELECT);
	const u64 grad = DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU);
	static struct dk_op_decl decl;
	static struct dk_impl impls[2];
	unsigned int w, first;

	decl = t_decl("regress::ambiguous");
	impls[0] = t_impl(&decl, DK_COMPOSITE_IMPLICIT_AUTOGRAD, 0);
	impls[1] = t_impl(&decl, DK_FPGA, 1);
	for (w = 0; w < ARRAY_SIZE(ways); w++)
		for (first = 0; first < 2; first++) {
			begin(ways[w]);
			CHECK_OK(dk_op_define(&a, &decl, 0, &t_why));
			op = held(&decl);
			CHECK_OK(dk_impls_register(&a, &impls[first], 1, &t_why));
			CHECK_OK(dk_impls_register(&a, &impls[!first], 1, &t_why));
			CHECK_OK(dk_registry_check(t_reg, &t_why));
			CHECK_STR(goes(other), "-ENOTUNIQ");
			CHECK_INT(t_answer.effective.bits, other);
			CHECK_STR(goes(DK_KEY_BITS(DK_FPGA)), "f1");
			CHECK_STR(goes(select), "f0");
			CHECK_INT(t_answer.effective.bits, DK_KEY_BITS(DK_CPU));
			CHECK_STR(goes(grad), "f0");
			CHECK_INT(t_answer.effective.bits, grad);
			/* without the one or the other it is not ambiguous */
			CHECK_OK(dk_impls_unregister(&a, &impls[first], &t_why));
			CHECK_OK(dk_registry_check(t_reg, &t_why));
			CHECK_STR(goes(other), first ? "f0" : "f1");
			CHECK_INT(effective(other),
				  first ? other : DK_KEY_BITS(DK_FPGA));
			CHECK_INT(effective(select), DK_KEY_BITS(DK_CPU));
			end();
		}
}

/* What serves nobody was told without its name by the evaluator. */
static void fallthrough_in_entry_0_has_a_name(void)
{
	static const unsigned int at[] = {
		DK_COMPOSITE_EXPLICIT_AUTOGRAD, DK_COMPOSITE_IMPLICIT_AUTOGRAD,
	};
	static struct dk_op_decl decl;
	static struct dk_impl impls[1];
	unsigned int w, i;

	decl = t_decl("regress::entry0");
	for (w = 0; w < ARRAY_SIZE(ways); w++)
		for (i = 0; i < ARRAY_SIZE(at); i++) {
			begin(ways[w]);
			impls[0] = t_fallthrough(&decl, at[i]);
			CHECK_OK(dk_op_define(&a, &decl, 0, &t_why));
			CHECK_OK(dk_impls_register(&a, impls, 1, &t_why));
			op = held(&decl);
			CHECK_INT(t_route(op, NULL, NULL), -ENOSYS);
			CHECK_INT(t_answer.slot, 0);
			CHECK_STR(t_answer.entry.label, "fallthrough");
			CHECK_INT(t_answer.entry.is_fallthrough, 1);
			CHECK_STR(t_answer.entry.provider, "a");
			CHECK_INT(t_call(op, NULL, NULL), -ENOSYS);
			end();
		}
}

/* ---- a function that leaves on the way ------------------------------------ */

static int change_cpu(struct dk_call *c, struct dk_obj *x, int (*what)(void), int *who)
{
	*who = *who * 10 + 1;
	return 0;
}

static int change_autograd(struct dk_call *c, struct dk_obj *x, int (*what)(void),
			   int *who)
{
	*who = *who * 10 + 2;
	return change_below(c, x, what, who);
}

/* Changes who comes next, after the mask of its call was made. */
static int change_tracer(struct dk_call *c, struct dk_obj *x, int (*what)(void),
			 int *who)
{
	int err = what();

	*who = *who * 10 + 3;
	return err ? err : change_below(c, x, what, who);
}

static const struct dk_impl change_base[] = {
	DK_IMPL(change, DK_CPU, change_cpu),
	DK_IMPL(change, DK_TRACER, change_tracer),
};

static const struct dk_impl change_guest[] = {
	DK_IMPL(change, DK_AUTOGRAD_CPU, change_autograd),
};

static const struct dk_impl change_through[] = {
	DK_IMPL_FALLTHROUGH(change, DK_AUTOGRAD_CPU),
};

static int nothing(void)
{
	return 0;
}

static int withdraw_guest(void)
{
	return dk_impls_withdraw(&b, change_guest, &t_why);
}

static int unregister_guest(void)
{
	return dk_impls_unregister(&b, change_guest, &t_why);
}

static int unregister_provider(void)
{
	return dk_provider_unregister(&b);
}

static int cover_guest(void)
{
	return dk_impls_register(&b, change_through, 1, &t_why);
}

/* It answered -ENOSYS: the entry was a fallthrough, and the mask was older. */
static void redispatch_to_what_became_a_fallthrough(void)
{
	static int (*const what[])(void) = {
		withdraw_guest, unregister_guest, unregister_provider, cover_guest,
	};
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU) |
				DK_KEY_BITS(DK_TRACER));
	struct dk_local local = t_no_local();
	unsigned int w, i;
	int who;

	for (w = 0; w < ARRAY_SIZE(ways); w++)
		for (i = 0; i < ARRAY_SIZE(what); i++) {
			begin(ways[w]);
			CHECK_OK(dk_op_define(&a, &change_op, 0, &t_why));
			CHECK_OK(dk_impls_register(&a, change_base, 2, &t_why));
			CHECK_OK(dk_impls_register(&b, change_guest, 1, &t_why));
			op = held(&change_op);
			who = 0;
			CHECK_OK(change_at(op, &local, &x, nothing, &who));
			CHECK_INT(who, 321);
			who = 0;
			CHECK_OK(change_at(op, &local, &x, what[i], &who));
			CHECK_INT(who, 31);
			end();
		}
}

T_SUITE(regress,
	T(sleepable_fallback_and_atomic_operator),
	T(redispatch_through_another_operator),
	T(signature_that_comes_late),
	T(types_are_compared_by_handle),
	T(refused_table_gives_no_signature),
	T(name_is_free_when_all_have_left),
	T(replaced_operators_are_used_again),
	T(local_state_of_another_layout),
	T(default_registry_is_not_freed),
	T(unknown_flags_of_a_registry),
	T(generation_grows_with_every_change),
	T(refused_device_uses_up_no_number),
	T(names_of_keys_are_taken),
	T(boxed_redispatch_keeps_the_device),
	T(device_functions_get_its_priv),
	T(many_devices_of_one_operator),
	T(ambiguous_entry_beside_fallthroughs),
	T(fallthrough_in_entry_0_has_a_name),
	T(redispatch_to_what_became_a_fallthrough));
