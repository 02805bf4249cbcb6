// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests local state: single keys, guards and modes (SEMANTICS 5). The expected sets are those that
 * PyTorch 2.14.1 prints.
 */
#include "test.h"

#define INCLUDED	0x404000000ULL
#define EXCLUDED	0x1ff8000000000ULL

static struct dk_local local;

/* Checks that the two sets are exactly these. */
static bool words(const struct dk_local *l, u64 included, u64 excluded)
{
	bool same = CHECK_INT(dk_local_included(l).bits, included);

	return CHECK_INT(dk_local_excluded(l).bits, excluded) && same;
}

static void check_default(void)
{
	words(&local, INCLUDED, EXCLUDED);
}

static void setup(void)
{
	local = dk_local_default;
	check_default();
}

static void stored_words(void)
{
	CHECK_INT(local.included, 0);
	CHECK_INT(local.excluded, 0);
	dk_local_set(&local, DK_KEYSET(0), DK_KEYSET(0));
	CHECK_INT(local.included, INCLUDED);
	CHECK_INT(local.excluded, EXCLUDED);
	words(&local, 0, 0);
}

static void single_keys(void)
{
	const u64 cpu = DK_KEY_BITS(DK_CPU), cuda_bit = DK_BACKEND_BIT(DK_BACKEND_CUDA);

	CHECK_INT(dk_local_is_included(&local, DK_BACKEND_SELECT), 1);
	CHECK_INT(dk_local_is_included(&local, DK_TRACER), 0);
	CHECK_INT(dk_local_is_excluded(&local, DK_AUTOCAST_CPU), 1);
	CHECK_INT(dk_local_is_excluded(&local, DK_AUTOGRAD_CPU), 0);
	/* the keysets of these keys are empty, and every set contains the empty set */
	CHECK_INT(dk_local_is_included(&local, DK_UNDEFINED), 1);
	CHECK_INT(dk_local_is_excluded(&local, DK_AUTOGRAD), 1);

	/* a per-backend key needs two bits, and a building block one */
	dk_local_set(&local, DK_KEYSET(DK_FUNCTIONALITY_BIT(DK_DENSE) | cuda_bit),
		     DK_KEYSET(cpu));
	CHECK_INT(dk_local_is_included(&local, DK_CPU), 0);
	CHECK_INT(dk_local_is_included(&local, DK_CUDA), 1);
	CHECK_INT(dk_local_is_included(&local, DK_DENSE), 1);
	CHECK_INT(dk_local_is_excluded(&local, DK_CPU), 1);
	CHECK_INT(dk_local_is_excluded(&local, DK_CUDA), 0);

	/* if the set has CPU and CUDA, removing CUDA removes the bit Dense, so CPU is gone, too */
	dk_local_set_included(&local, DK_CPU, 1);
	CHECK_INT(dk_local_is_included(&local, DK_CPU), 1);
	dk_local_set_included(&local, DK_CUDA, 0);
	CHECK_INT(dk_local_is_included(&local, DK_CPU), 0);
	words(&local, 3, cpu);
	/* the set does not have CPU, so removing CPU changes nothing */
	dk_local_set_included(&local, DK_CPU, 0);
	words(&local, 3, cpu);
	dk_local_set_excluded(&local, DK_CUDA, 0);
	words(&local, 3, cpu);
	dk_local_set_excluded(&local, DK_CPU, 0);
	words(&local, 3, 1);
	/* these keys have no bit to set or clear */
	dk_local_set_included(&local, DK_UNDEFINED, 0);
	dk_local_set_included(&local, DK_AUTOGRAD, 1);
	dk_local_set_excluded(&local, DK_COMPOSITE_IMPLICIT_AUTOGRAD, 0);
	words(&local, 3, 1);
}

/* PyTorch issue 145108: MetaBit stays in the set, in every version of PyTorch. */
static void meta_bit_stays(void)
{
	dk_local_set_included(&local, DK_META, 1);
	words(&local, INCLUDED | DK_KEY_BITS(DK_META), EXCLUDED);
	dk_local_set_included(&local, DK_META, 0);
	words(&local, INCLUDED | 0x8000, EXCLUDED);
}

static void whole_sets(void)
{
	CHECK_INT(dk_local_keyset_included(&local, DK_KEYSET(0)), 1);
	CHECK_INT(dk_local_keyset_excluded(&local, DK_KEYSET(0)), 1);
	CHECK_INT(dk_local_keyset_included(&local, DK_KEYSET(INCLUDED)), 1);
	CHECK_INT(dk_local_keyset_included(&local, DK_KEYSET(INCLUDED | 1)), 0);
	CHECK_INT(dk_local_keyset_excluded(&local, DK_KEYSET(EXCLUDED)), 1);
	CHECK_INT(dk_local_keyset_excluded(&local, DK_KEYSET(INCLUDED)), 0);
}

/* SEMANTICS 5.3: the end of a guard restores the whole set, including backend bits. */
static void guards_restore_backend_bits(void)
{
	{
		DK_LOCAL_INCLUDE(&local, DK_SET(DK_META));
		DK_LOCAL_EXCLUDE(&local, DK_SET(DK_AUTOGRAD_CPU));

		words(&local, INCLUDED | DK_KEY_BITS(DK_META),
		      EXCLUDED | DK_KEY_BITS(DK_AUTOGRAD_CPU));
	}
	check_default();
}

/* The end of an inner guard keeps a key that was in the set before. */
static void guards_of_one_key_nest(void)
{
	const u64 in = INCLUDED | DK_KEY_BITS(DK_META);
	const u64 out = EXCLUDED | DK_KEY_BITS(DK_TRACER);

	{
		DK_LOCAL_INCLUDE(&local, DK_SET(DK_META));
		DK_LOCAL_EXCLUDE(&local, DK_SET(DK_TRACER));
		{
			DK_LOCAL_INCLUDE(&local, DK_SET(DK_META));
			DK_LOCAL_EXCLUDE(&local, DK_SET(DK_TRACER));

			words(&local, in, out);
		}
		words(&local, in, out);
	}
	check_default();
}

/*
 * The end of a guard undoes all changes to the guard's set inside the block. The other set keeps
 * its changes.
 */
static void guards_restore_their_own_set(void)
{
	const u64 tracer = DK_KEY_BITS(DK_TRACER), python = DK_KEY_BITS(DK_PYTHON);

	{
		DK_LOCAL_INCLUDE(&local, DK_SET(DK_META));

		dk_local_include(&local, DK_KEYSET(tracer));
		dk_local_set_included(&local, DK_BACKEND_SELECT, 0);
		dk_local_exclude(&local, DK_KEYSET(python));
	}
	words(&local, INCLUDED, EXCLUDED | python);
	{
		DK_LOCAL_EXCLUDE(&local, DK_SET(DK_FUNCTIONALIZE));

		dk_local_exclude(&local, DK_KEYSET(tracer));
		dk_local_set_excluded(&local, DK_PYTHON, 0);
		dk_local_include(&local, DK_KEYSET(tracer));
	}
	words(&local, INCLUDED | tracer, EXCLUDED | python);
}

/* Guards with keys that are already in the set, or have no bit, change nothing. */
static void guards_without_effect(void)
{
	{
		DK_LOCAL_INCLUDE(&local, DK_SET(DK_BACKEND_SELECT));
		DK_LOCAL_EXCLUDE(&local, DK_SET(DK_AUTOCAST_CUDA));
		DK_LOCAL_INCLUDE(&local, DK_SET(DK_UNDEFINED));
		DK_LOCAL_INCLUDE(&local, DK_SET(DK_AUTOGRAD));
		DK_LOCAL_EXCLUDE(&local, DK_SET(DK_UNDEFINED));
		DK_LOCAL_EXCLUDE(&local, DK_SET(DK_AUTOGRAD));

		check_default();
	}
	check_default();
}

/* Ending guards in the wrong order leaves a stale set. */
static void guards_out_of_order(void)
{
	struct dk__guard first, second;

	first = dk__guard_include(&local, DK_SET(DK_TRACER));
	second = dk__guard_include(&local, DK_SET(DK_PYTHON));
	dk__guard_leave_included(&first);
	words(&local, INCLUDED, EXCLUDED);
	dk__guard_leave_included(&second);
	words(&local, INCLUDED | DK_KEY_BITS(DK_TRACER), EXCLUDED);
}

static void force_and_preserve(void)
{
	{
		DK_LOCAL_FORCE(&local, DK_SET(DK_CPU), DK_SET(DK_TRACER));

		words(&local, DK_KEY_BITS(DK_CPU), DK_KEY_BITS(DK_TRACER));
		{
			DK_LOCAL_PRESERVE(&local);

			words(&local, DK_KEY_BITS(DK_CPU), DK_KEY_BITS(DK_TRACER));
			dk_local_set(&local, DK_KEYSET(7), DK_KEYSET(8));
		}
		words(&local, DK_KEY_BITS(DK_CPU), DK_KEY_BITS(DK_TRACER));
		dk_local_include(&local, DK_SET(DK_PYTHON));
		dk_local_exclude(&local, DK_SET(DK_PYTHON));
	}
	check_default();
}

/* The end of a guard of one key restores only this key. */
static void guard_of_a_single_key(void)
{
	{
		DK_LOCAL_SET_EXCLUDED(&local, DK_AUTOGRAD_CPU, 1);

		words(&local, INCLUDED, EXCLUDED | DK_KEY_BITS(DK_AUTOGRAD_CPU));
		dk_local_exclude(&local, DK_SET(DK_TRACER));
	}
	words(&local, INCLUDED, EXCLUDED | DK_KEY_BITS(DK_TRACER) | 1);
	{
		DK_LOCAL_SET_EXCLUDED(&local, DK_TRACER, 0);

		words(&local, INCLUDED, EXCLUDED | 1);
	}
	words(&local, INCLUDED, EXCLUDED | DK_KEY_BITS(DK_TRACER) | 1);
}

/* SEMANTICS 5.4: the sets observed in PyTorch 2.14.1. */
static void composite_guards(void)
{
	struct dk_keyset ks;

	CHECK_OK(dk_constant_set(NULL, "autograd_dispatch_keyset", &ks, &t_why));
	CHECK_INT(DK_AUTOGRAD_BITS, ks.bits);
	CHECK_OK(dk_constant_set(NULL, "autograd_dispatch_keyset_with_ADInplaceOrView",
				 &ks, &t_why));
	CHECK_INT(DK_AUTOGRAD_ADINPLACE_OR_VIEW_BITS, ks.bits);

	{
		DK_LOCAL_BELOW_AUTOGRAD(&local);

		words(&local, INCLUDED, 0x1ffb800000000ULL);
	}
	check_default();
	{
		DK_LOCAL_BELOW_ADINPLACE_OR_VIEW(&local);

		words(&local, INCLUDED, 0x1ffbc00000000ULL);
	}
	check_default();
	{
		DK_LOCAL_SKIP_FUNCTIONALIZE(&local);

		words(&local, INCLUDED, EXCLUDED | DK_KEY_BITS(DK_FUNCTIONALIZE));
	}
	check_default();
}

static void inference_mode(void)
{
	{
		DK_LOCAL_INFERENCE_MODE(&local, 1);

		words(&local, 0x4000000ULL, 0x1ffb800000000ULL);
		{
			DK_LOCAL_INFERENCE_MODE(&local, 0);

			words(&local, INCLUDED, EXCLUDED);
			dk_local_include(&local, DK_SET(DK_TRACER));
			dk_local_exclude(&local, DK_SET(DK_TRACER));
		}
		words(&local, 0x4000000ULL, 0x1ffb800000000ULL);
	}
	check_default();
	dk_local_set_inference(&local, 1);
	words(&local, 0x4000000ULL, 0x1ffb800000000ULL);
	dk_local_set_inference(&local, 0);
	check_default();
}

static void autocast(void)
{
	const u64 without_cpu = EXCLUDED & ~DK_KEY_BITS(DK_AUTOCAST_CPU);

	{
		DK_LOCAL_AUTOCAST(&local, DK_BACKEND_CPU, 1);

		words(&local, INCLUDED, without_cpu);
		{
			DK_LOCAL_AUTOCAST(&local, DK_BACKEND_CPU, 0);

			words(&local, INCLUDED, EXCLUDED);
			/* a backend without an autocast key */
			DK_LOCAL_AUTOCAST(&local, DK_BACKEND_META, 1);

			words(&local, INCLUDED, EXCLUDED);
		}
		words(&local, INCLUDED, without_cpu);
	}
	check_default();
	CHECK_OK(dk_local_set_autocast(&local, DK_BACKEND_CPU, 1));
	words(&local, INCLUDED, without_cpu);
	CHECK_OK(dk_local_set_autocast(&local, DK_BACKEND_CPU, 0));
	/* refuses: dk_local_set_autocast EINVAL BAD_BACKEND */
	CHECK_INT(dk_local_set_autocast(&local, DK_BACKEND_META, 1), -EINVAL);
	CHECK_INT(dk_local_set_autocast(&local, DK_NUM_BACKENDS + 1, 1), -EINVAL);
	check_default();
}

/* ---- calls with a mode key: SEMANTICS 11.3 -------------------------------- */

DK_OP(plain, "local::plain", (struct dk_obj *x, int *num_served), (x, num_served), (x));
DK_OP(composite, "local::composite", (struct dk_obj *x, int *num_served), (x, num_served), (x));

static unsigned int seen;

/* Makes the same call without this mode. */
static int generic_mode(struct dk_call *c, void *args)
{
	struct dk_local without = *dk_call_local(c);
	struct dk_frame again;
	int err;

	DK_LOCAL_EXCLUDE(&without, DK_SET(DK_TESTING_ONLY_GENERIC_MODE));
	seen++;
	err = dk_call_enter(&again, (struct dk_op_decl *)dk_call_decl(c), &without,
			    dk_call_frame(c)->objs, dk_call_frame(c)->n);
	if (err)
		return err;
	err = again.boxed ? again.boxed(&again.call, args) :
			    dk_call_decl(&again.call)->unbox(&again.call, args);
	dk_call_leave(&again);
	return err;
}

static int plain_cpu(struct dk_call *c, struct dk_obj *x, int *num_served)
{
	*num_served += 1;
	return 0;
}

/*
 * Calls "plain" with the local state of this call, and with that of the test, in which the mode may
 * be on.
 */
static int composite_any(struct dk_call *c, struct dk_obj *x, int *num_served)
{
	return plain_in(dk_call_local(c), x, num_served) ?: plain_in(&local, x, num_served);
}

static void mode_key(void)
{
	static const struct dk_impl mode =
		DK_FALLBACK(DK_TESTING_ONLY_GENERIC_MODE, generic_mode);
	static const struct dk_impl impls[] = {
		DK_IMPL(plain, DK_CPU, plain_cpu),
		DK_IMPL(composite, DK_COMPOSITE_IMPLICIT_AUTOGRAD, composite_any),
	};
	static struct dk_provider provider = DK_PROVIDER("local");
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	int num_served = 0;

	seen = 0;
	CHECK_OK(dk_provider_register(&provider, &t_why));
	CHECK_OK(dk_op_define(&provider, &plain_op, 0, &t_why));
	CHECK_OK(dk_op_define(&provider, &composite_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&provider, impls, ARRAY_SIZE(impls), &t_why));
	CHECK_OK(dk_fallback_register(&provider, &mode, &t_why));

	CHECK_OK(plain_in(&local, &x, &num_served));
	CHECK_INT(seen, 0);
	{
		DK_LOCAL_INCLUDE(&local, DK_SET(DK_TESTING_ONLY_GENERIC_MODE));

		CHECK_OK(plain_in(&local, &x, &num_served));
		CHECK_INT(seen, 1);
		/* the mode's function serves this call, and the inner call in the mode */
		CHECK_OK(composite_in(&local, &x, &num_served));
		CHECK_INT(seen, 3);
	}
	CHECK_OK(plain_in(&local, &x, &num_served));
	CHECK_INT(seen, 3);
	CHECK_INT(num_served, 5);
	check_default();
	CHECK_OK(dk_provider_unregister(&provider));
}

#if !T_KERNEL
/* Uses the guards of the tests above on the local state of the thread. */
static void guards_of_the_thread(void)
{
	struct dk_local *own = dk_local_current();
	const u64 tracer = DK_KEY_BITS(DK_TRACER), python = DK_KEY_BITS(DK_PYTHON);

	words(own, INCLUDED, EXCLUDED);
	{
		DK_INCLUDE(DK_SET(DK_META));

		words(own, INCLUDED | DK_KEY_BITS(DK_META), EXCLUDED);
		dk_local_exclude(own, DK_KEYSET(python));
	}
	words(own, INCLUDED, EXCLUDED | python);
	{
		DK_PRESERVE();

		dk_local_set(own, DK_KEYSET(tracer), DK_KEYSET(0));
	}
	words(own, INCLUDED, EXCLUDED | python);
	dk_local_set_excluded(own, DK_PYTHON, 0);
	{
		DK_EXCLUDE(DK_KEYSET(tracer));

		words(own, INCLUDED, EXCLUDED | tracer);
		{
			DK_FORCE(DK_KEYSET(tracer), DK_KEYSET(python));

			words(own, tracer, python);
		}
		dk_local_include(own, DK_KEYSET(python));
	}
	words(own, INCLUDED | python, EXCLUDED);
	dk_local_set_included(own, DK_PYTHON, 0);
	{
		DK_BELOW_AUTOGRAD();

		words(own, INCLUDED, 0x1ffb800000000ULL);
	}
	{
		DK_BELOW_ADINPLACE_OR_VIEW();

		words(own, INCLUDED, 0x1ffbc00000000ULL);
	}
	{
		DK_SKIP_FUNCTIONALIZE();

		words(own, INCLUDED, EXCLUDED | DK_KEY_BITS(DK_FUNCTIONALIZE));
	}
	{
		DK_INFERENCE_MODE(1);

		words(own, 0x4000000ULL, 0x1ffb800000000ULL);
	}
	{
		DK_AUTOCAST(DK_BACKEND_CPU, 1);

		words(own, INCLUDED, EXCLUDED & ~DK_KEY_BITS(DK_AUTOCAST_CPU));
	}
	{
		DK_SET_EXCLUDED(DK_TRACER, 1);

		words(own, INCLUDED, EXCLUDED | tracer);
	}
	words(own, INCLUDED, EXCLUDED);
}
#endif

/* ---- another layout ------------------------------------------------------------ */

/*
 * Regression test: in a registry with another layout, calls merged the local state as if its
 * backend bits were those of v1.
 */
static void local_state_of_another_layout(void)
{
	static struct dk_op_decl decl;
	static struct dk_impl impls[3];
	static struct dk_provider prov;
	const struct dk_layout *l = dk_layout_find("pytorch-1.13", NULL);
	struct dk_keyset on_cpu;
	struct dk_op *op;
	unsigned int cpu = 0, fpga = 0, f;

	t_open("pytorch-1.13", 0);
	t_join(&prov, "local");
	CHECK_OK(dk_key_parse(l, "CPU", 0, &cpu, &t_why));
	CHECK_OK(dk_key_parse(l, "FPGA", 0, &fpga, &t_why));
	decl = t_decl("local::layout");
	impls[0] = t_impl(&decl, DK_UNDEFINED, 0);
	impls[1] = t_impl(&decl, cpu, 1);
	impls[2] = t_impl(&decl, fpga, 2);
	CHECK_OK(dk_op_define(&prov, &decl, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, impls, 3, &t_why));
	op = t_get(decl.name);
	on_cpu = dk_key_set(l, cpu);
	for (f = 1; f < dk_layout_functionalities(l); f++) {
		struct dk_keyset set = dk_key_set(l, f), none = DK_KEYSET(0);
		struct dk_obj x = t_obj(dk_keyset_or(on_cpu, set).bits);
		const struct dk_obj *objs[] = { &x };
		struct dk_local merged;
		struct dk_frame c;
		int err, req;

		for (req = 0; req < 2; req++) {
			struct dk_keyset in = req ? set : none, out = req ? none : set;

			if (req)
				x.ks = on_cpu;
			dk_local_set(&merged, in, out);
			memset(&t_answer, 0, sizeof(t_answer));
			t_answer.size = sizeof(t_answer);
			err = dk_call_enter_op(&c, op, &decl, &merged, objs, 1);
			CHECK_INT(dk_op_route(op, in, out, objs, 1, &t_answer), err);
			if (err)
				continue;
			CHECK_INT(c.call.ks.bits, t_answer.effective.bits);
			CHECK(dk_call_fn(&c.call) ==
			      (dk_fn_t)t_functions[t_answer.entry.label[1] - '0']);
			if (!req && f == fpga)
				CHECK_STR(t_answer.entry.label, "f1");
			if (req && f == fpga)
				CHECK_STR(t_answer.entry.label, "f2");
			dk_call_leave(&c);
		}
	}
}

T_SUITE_WITH(local, setup,
	T(stored_words), T(single_keys), T(meta_bit_stays), T(whole_sets),
	T(guards_restore_backend_bits), T(guards_of_one_key_nest),
	T(guards_restore_their_own_set), T(guards_without_effect),
	T(guards_out_of_order), T(force_and_preserve), T(guard_of_a_single_key),
	T(composite_guards), T(inference_mode), T(autocast), T(mode_key),
	T(local_state_of_another_layout),
#if !T_KERNEL
	T(guards_of_the_thread),
#endif
);
