// SPDX-License-Identifier: GPL-2.0-only
/*
 * After a registration, PyTorch refreshes too few entries, so its tables depend on the order
 * of registration (SEMANTICS 7.4). Documentation/deviations.rst lists the cases. Each of them is
 * a test here, with its number: the table must be right in every order of registration and removal.
 */
#include "orders.h"

#define MAX_ITEMS	5

/* A function at this key. It is registered by a request of its own. */
struct item {
	u16 key;
};

struct wanted {
	u16 key;
	const char *serves;
};

static struct dk_provider definer, provider;
static struct dk_op_decl decl;
static struct dk_op *op;
/* For many orders. When all have been used, the provider is drained, and they are used again. */
static struct dk_impl tables[MAX_ITEMS * 128], *impls = tables;
static struct t_given active[MAX_ITEMS];
static unsigned int num_active;

static void setup(void)
{
	t_open("v1", 0);
	t_join(&definer, "definer");
	t_join(&provider, "provider");
	decl = t_decl("stale_entries::op");
	CHECK_OK(dk_op_define(&definer, &decl, 0, &t_why));
	op = t_get("stale_entries::op");
	CHECK(op);
	num_active = 0;
	impls = tables;
}

/*
 * Checks that the entries follow the rules for the active registrations. In the kernel, which the
 * tests run on slow emulated machines, each call checks a third of the entries.
 */
static bool right(void)
{
	static unsigned int turn;
	const struct dk_layout *l = dk_registry_layout(t_reg);
	const unsigned int step = T_KERNEL ? 3 : 1;
	unsigned int slot;

	for (slot = turn++ % step; slot < dk_layout_entries(l); slot += step) {
		unsigned int key = dk_slot_key(l, slot);
		struct t_choice want = t_model(l, active, num_active, key);

		if (!CHECK_STR(t_serves(op, 0, key), want.label) ||
		    !CHECK_INT(t_rule_served(), want.rule)) {
			t_note("entry %u with %u registrations", slot, num_active);
			return false;
		}
	}
	return CHECK_OK(dk_registry_check(t_reg, &t_why));
}

static void add(const struct item *items, unsigned int i)
{
	impls[i] = t_impl(&decl, items[i].key, i);
	CHECK_OK(dk_impls_register(&provider, &impls[i], 1, &t_why));
	active[num_active].key = items[i].key;
	active[num_active].is_fallthrough = false;
	active[num_active++].label = impls[i].label;
}

/* Removes a function. If @wait, waits until no call is inside it. */
static void drop(const struct item *items, unsigned int i, bool wait)
{
	unsigned int at;

	CHECK_OK(wait ? dk_impls_unregister(&provider, &impls[i], &t_why) :
			dk_impls_withdraw(&provider, &impls[i], &t_why));
	for (at = 0; active[at].label != impls[i].label; at++)
		;
	num_active--;
	memmove(&active[at], &active[at + 1],
		(num_active - at) * sizeof(active[0]));
}

static bool one_order(const struct item *items, unsigned int n,
		      const struct wanted *want, unsigned int num_want,
		      unsigned int come, unsigned int go)
{
	unsigned int i, order[MAX_ITEMS];

	t_permute(come, n, order);
	for (i = 0; i < n; i++) {
		add(items, order[i]);
		if (!right())
			goto wrong;
	}
	for (i = 0; i < num_want; i++) {
		const char *goes = !strcmp(want[i].serves, "ambiguous") ?
				   "-ENOTUNIQ" :
				   !strcmp(want[i].serves, "missing") ?
				   "-ENOSYS" : want[i].serves;
		struct dk_obj obj = t_obj(DK_KEY_BITS(want[i].key));

		if (!CHECK_STR(t_serves(op, 0, want[i].key), want[i].serves) ||
		    !CHECK_STR(t_route_label(op, &obj, NULL), goes)) {
			t_note("key %u", want[i].key);
			goto wrong;
		}
	}
	t_permute(go, n, order);
	for (i = 0; i < n; i++) {
		/* do not wait in the kernel: a grace period takes long on an emulated machine */
		drop(items, order[i], !come && !T_KERNEL);
		if (!right())
			goto wrong;
	}
	impls += MAX_ITEMS;
	if (impls == tables + ARRAY_SIZE(tables)) {
		CHECK_OK(dk_provider_drain(&provider));
		impls = tables;
	}
	t_pause();
	return true;
wrong:
	t_note("order of registration %u, of removal %u", come, go);
	while (num_active)
		drop(items, active[num_active - 1].label[1] - '0', true);
	return false;
}

/* Tries all pairs of orders or, for more than three items, each order with three others. */
static void every_order(const struct item *items, unsigned int n,
			const struct wanted *want, unsigned int num_want)
{
	unsigned int come, k, all = t_factorial(n);

	for (come = 0; come < all; come++)
		for (k = 0; k < (n > 3 ? 3 : all); k++)
			if (!one_order(items, n, want, num_want, come,
				       n > 3 ? (come + k * (all / 2 - 1)) % all : k))
				return;
}

/*
 * Registers the items @I in every order. When all are registered, the entries must be those of @W,
 * where the label "fN" stands for item N.
 */
#define EVERY_ORDER(I, W) \
	every_order(I, ARRAY_SIZE(I), W, ARRAY_SIZE(W))

/* ---- the cases, one by one ---------------------------------------------------- */

/* Functions at Sparse<b>, Quantized<b> or SparseCsr<b>, and at CompositeImplicitAutograd. */
static void autogradother_turns_ambiguous(void)
{
	static const u16 functionality[] = {
		DK_QUANTIZED, DK_SPARSE, DK_SPARSE_CSR,
	};
	unsigned int f, b;

	for (f = 0; f < ARRAY_SIZE(functionality); f++)
		for (b = 1; b <= DK_NUM_BACKENDS; b++) {
			u16 key = dk_runtime_key(NULL, functionality[f], b);
			struct item items[] = {
				{ DK_COMPOSITE_IMPLICIT_AUTOGRAD }, { key },
			};
			struct wanted want[] = {
				{ key, "f1" },
				{ DK_AUTOGRAD_OTHER, "ambiguous" },
				{ DK_CPU, "f0" },
				{ DK_AUTOGRAD_CPU, "f0" },
				{ DK_AUTOGRAD_NESTED_TENSOR, "f0" },
			};

			EVERY_ORDER(items, want);
		}
}

/*
 * Like autogradother_turns_ambiguous(), but with keys that are not per backend. For such a key,
 * PyTorch does refresh AutogradOther.
 */
static void autogradother_of_plain_keys(void)
{
	static const u16 keys[] = {
		DK_FPGA, DK_VULKAN, DK_METAL, DK_CUSTOM_RNG_KEY_ID, DK_MKLDNN_CPU,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		struct item items[] = {
			{ DK_COMPOSITE_IMPLICIT_AUTOGRAD }, { keys[i] },
		};
		struct wanted want[] = {
			{ keys[i], "f1" }, { DK_AUTOGRAD_OTHER, "ambiguous" },
			{ DK_CUDA, "f0" },
		};

		EVERY_ORDER(items, want);
	}
}

/* Functions at CompositeExplicitAutograd and at CompositeImplicitAutograd. */
static void explicit_takes_autograd_from_implicit(void)
{
	static const struct item items[] = {
		{ DK_COMPOSITE_IMPLICIT_AUTOGRAD },
		{ DK_COMPOSITE_EXPLICIT_AUTOGRAD },
	};
	static const struct wanted want[] = {
		{ DK_CPU, "f1" }, { DK_FPGA, "f1" }, { DK_UNDEFINED, "f1" },
		{ DK_AUTOGRAD_CPU, "missing" }, { DK_AUTOGRAD_HIP, "missing" },
		{ DK_AUTOGRAD_MTIA, "missing" },
		{ DK_AUTOGRAD_OTHER, "missing" },
		{ DK_AUTOGRAD_NESTED_TENSOR, "missing" },
		{ DK_NESTED_TENSOR_CPU, "missing" },
		{ DK_NESTED_TENSOR_META, "missing" },
	};

	EVERY_ORDER(items, want);
}

/* If @items are registered in the order of the array, PyTorch runs the first one at AutogradCPU. */
static void explicit_leaves_autograd_to_autograd(void)
{
	static const struct item items[] = {
		{ DK_COMPOSITE_IMPLICIT_AUTOGRAD }, { DK_AUTOGRAD },
		{ DK_COMPOSITE_EXPLICIT_AUTOGRAD },
	};
	static const struct wanted want[] = {
		{ DK_CPU, "f2" }, { DK_AUTOGRAD_CPU, "f1" },
		{ DK_AUTOGRAD_CUDA, "f1" }, { DK_AUTOGRAD_VE, "f1" },
		{ DK_AUTOGRAD_OTHER, "f1" }, { DK_AUTOGRAD_NESTED_TENSOR, "f1" },
		{ DK_NESTED_TENSOR_CUDA, "missing" },
	};

	EVERY_ORDER(items, want);
}

static void four_at_once(void)
{
	static const struct item items[] = {
		{ DK_COMPOSITE_IMPLICIT_AUTOGRAD }, { DK_AUTOGRAD },
		{ DK_COMPOSITE_EXPLICIT_AUTOGRAD }, { DK_SPARSE_CPU },
	};
	static const struct wanted want[] = {
		/* ambiguity is checked before CompositeExplicitAutograd */
		{ DK_AUTOGRAD_OTHER, "ambiguous" },
		{ DK_AUTOGRAD_CPU, "f1" }, { DK_SPARSE_CPU, "f3" },
		{ DK_SPARSE_CUDA, "f2" },
	};

	EVERY_ORDER(items, want);
}

/* Functions at NestedTensor<b> and at CompositeImplicitAutograd. */
static void nested_tensor_takes_its_autograd(void)
{
	unsigned int b;

	for (b = 1; b <= DK_NUM_BACKENDS; b++) {
		u16 key = dk_runtime_key(NULL, DK_NESTED_TENSOR, b);
		struct item items[] = {
			{ DK_COMPOSITE_IMPLICIT_AUTOGRAD }, { key },
			{ DK_AUTOGRAD },
		};
		struct wanted without[] = {
			{ key, "f1" }, { DK_AUTOGRAD_NESTED_TENSOR, "missing" },
			{ DK_AUTOGRAD_OTHER, "f0" },
		};
		struct wanted with[] = {
			{ key, "f1" }, { DK_AUTOGRAD_NESTED_TENSOR, "f2" },
			{ DK_AUTOGRAD_OTHER, "f0" },
		};

		every_order(items, 2, without, ARRAY_SIZE(without));
		if (b == DK_BACKEND_CPU || b == DK_BACKEND_META)
			every_order(items, 3, with, ARRAY_SIZE(with));
	}
}

/* A function at a building block serves no entry, but affects the autograd entries. */
static void building_block_counts_for_autograd(void)
{
	static const struct item dense[] = {
		{ DK_COMPOSITE_IMPLICIT_AUTOGRAD }, { DK_DENSE },
	};
	static const struct wanted of_dense[] = {
		{ DK_CPU, "f0" }, { DK_AUTOGRAD_CPU, "missing" },
		{ DK_AUTOGRAD_PRIVATEUSE3, "missing" },
		{ DK_AUTOGRAD_HIP, "f0" }, { DK_AUTOGRAD_MTIA, "f0" },
		{ DK_AUTOGRAD_OTHER, "f0" }, { DK_AUTOGRAD_NESTED_TENSOR, "f0" },
	};
	static const struct item sparse[] = {
		{ DK_COMPOSITE_IMPLICIT_AUTOGRAD }, { DK_SPARSE },
	};
	static const struct item quantized[] = {
		{ DK_COMPOSITE_IMPLICIT_AUTOGRAD }, { DK_QUANTIZED },
	};
	static const struct item csr[] = {
		{ DK_COMPOSITE_IMPLICIT_AUTOGRAD }, { DK_SPARSE_CSR },
	};
	static const struct wanted of_others[] = {
		{ DK_SPARSE_CPU, "f0" }, { DK_AUTOGRAD_CPU, "f0" },
		{ DK_AUTOGRAD_OTHER, "ambiguous" },
	};
	static const struct item nested[] = {
		{ DK_COMPOSITE_IMPLICIT_AUTOGRAD }, { DK_NESTED_TENSOR },
	};
	static const struct wanted of_nested[] = {
		{ DK_NESTED_TENSOR_CPU, "f0" }, { DK_AUTOGRAD_CPU, "f0" },
		{ DK_AUTOGRAD_NESTED_TENSOR, "missing" },
	};

	EVERY_ORDER(dense, of_dense);
	EVERY_ORDER(sparse, of_others);
	EVERY_ORDER(quantized, of_others);
	EVERY_ORDER(csr, of_others);
	EVERY_ORDER(nested, of_nested);
}

static void batched_decomposition_serves_batched(void)
{
	static const struct item items[] = {
		{ DK_FUNCTORCH_BATCHED_DECOMPOSITION },
		{ DK_COMPOSITE_IMPLICIT_AUTOGRAD },
	};
	static const struct wanted want[] = {
		{ DK_FUNCTORCH_BATCHED, "f0" }, { DK_BATCHED, "missing" },
		{ DK_CPU, "f1" },
	};

	EVERY_ORDER(items, want);
}

/* Tests entries that are not stale in PyTorch, but depend on functions at other keys. */
static void nonfunctional_beside_implicit(void)
{
	static const struct item items[] = {
		{ DK_COMPOSITE_IMPLICIT_AUTOGRAD },
		{ DK_COMPOSITE_EXPLICIT_AUTOGRAD_NON_FUNCTIONAL },
		{ DK_SPARSE_XLA },
	};
	static const struct wanted want[] = {
		{ DK_CPU, "f1" }, { DK_XLA, "f0" }, { DK_SPARSE_CPU, "f0" },
		{ DK_SPARSE_XLA, "f2" }, { DK_AUTOGRAD_CPU, "f0" },
		{ DK_AUTOGRAD_OTHER, "ambiguous" }, { DK_UNDEFINED, "f1" },
	};

	EVERY_ORDER(items, want);
}

static void nested_implicit_beside_implicit(void)
{
	static const struct item items[] = {
		{ DK_COMPOSITE_IMPLICIT_AUTOGRAD },
		{ DK_COMPOSITE_IMPLICIT_AUTOGRAD_NESTED_TENSOR },
		{ DK_COMPOSITE_EXPLICIT_AUTOGRAD },
		{ DK_NESTED_TENSOR_CPU },
	};
	static const struct wanted want[] = {
		{ DK_NESTED_TENSOR_CPU, "f3" }, { DK_NESTED_TENSOR_CUDA, "f1" },
		{ DK_AUTOGRAD_NESTED_TENSOR, "f1" }, { DK_AUTOGRAD_CPU, "missing" },
		{ DK_CPU, "f2" },
	};

	EVERY_ORDER(items, want);
}

/* ---- bugs of other projects: scripts/peer-bugs ---------------------------- */

/* 7: overrides at one key are removed in any order. */
static void overrides_are_removed_in_any_order(void)
{
	static const struct item items[] = {
		{ DK_CPU }, { DK_CPU }, { DK_CPU }, { DK_COMPOSITE_EXPLICIT_AUTOGRAD },
	};
	static const struct wanted want[] = { { DK_CUDA, "f3" } };
	static const struct item aliases[] = {
		{ DK_COMPOSITE_IMPLICIT_AUTOGRAD },
		{ DK_COMPOSITE_IMPLICIT_AUTOGRAD }, { DK_UNDEFINED },
	};

	EVERY_ORDER(items, want);
	every_order(items, 3, want, 0);
	/* a function at Undefined is registered at CompositeImplicitAutograd */
	impls[0] = t_impl(&decl, aliases[2].key, 5);
	CHECK_OK(dk_impls_register(&provider, &impls[0], 1, &t_why));
	CHECK_STR(t_serves(op, 0, DK_CPU), "f5");
	CHECK_INT(t_rule(op, 0, DK_CPU), DK_PROV_MATH);
	CHECK_OK(dk_impls_unregister(&provider, &impls[0], &t_why));
	every_order(aliases, 2, want, 0);
}

/* 7: provider b overrides a function of provider a. They are unregistered in both orders. */
static void providers_unregister_in_any_order(void)
{
	static struct dk_provider a, b;
	static struct dk_impl of_a, of_b;
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));
	unsigned int i;

	for (i = 0; i < 2; i++) {
		of_a = t_impl(&decl, DK_CPU, 1);
		of_b = t_impl(&decl, DK_CPU, 2);
		t_join(&a, "a");
		t_join(&b, "b");
		CHECK_OK(dk_impls_register(&a, &of_a, 1, &t_why));
		CHECK_OK(dk_impls_register(&b, &of_b, 1, &t_why));
		CHECK_INT(t_why.reason, DK_WHY_OVERRIDE);
		CHECK_STR(t_why.name, "stale_entries::op CPU: f1 (a) -> f2 (b)");
		CHECK_STR(t_route_label(op, &cpu, NULL), "f2");
		t_unregister(i ? &a : &b);
		CHECK_STR(t_route_label(op, &cpu, NULL), i ? "f2" : "f1");
		CHECK_OK(dk_registry_check(t_reg, &t_why));
		t_unregister(i ? &b : &a);
		CHECK_STR(t_route_label(op, &cpu, NULL), "-ENOSYS");
	}
}

/* 8: a fallback is registered and unregistered while operators are registered and unregistered. */
static void fallback_between_operators(void)
{
	static const char *const names[] = { "p8::a", "p8::b", "p8::c" };
	static struct dk_op_decl decls[3];
	static struct dk_impl fallback, cpu[3];
	struct dk_obj obj = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER));
	struct dk_op *ops[3];
	unsigned int i, when, gone;

	/* the fallback is registered before operator number "when", or after all if it is 3 */
	for (when = 0; when <= 3; when++)
		for (gone = 0; gone <= 3; gone++) {
			for (i = 0; i <= 3; i++) {
				if (i == when) {
					fallback = t_fallthrough(NULL, DK_TRACER);
					CHECK_OK(dk_fallback_register(&provider,
								      &fallback,
								      &t_why));
				}
				if (i == 3)
					break;
				decls[i] = t_decl(names[i]);
				cpu[i] = t_impl(&decls[i], DK_CPU, i);
				CHECK_OK(dk_impls_register(&provider, &cpu[i], 1,
							   &t_why));
				CHECK_OK(dk_op_define(&definer, &decls[i], 0,
						      &t_why));
				ops[i] = dk_op_get(t_reg, names[i]);
				CHECK_STR(t_route_label(ops[i], &obj, NULL),
					  i >= when ? t_labels[i] : "-ENOSYS");
			}
			for (i = 0; i < 3; i++)
				CHECK_STR(t_route_label(ops[i], &obj, NULL), t_labels[i]);
			/* the fallback is unregistered before operator number "gone" */
			for (i = 0; i <= 3; i++) {
				unsigned int k;

				if (i == gone)
					CHECK_OK(dk_impls_unregister(&provider,
								     &fallback,
								     &t_why));
				for (k = i; k < 3; k++)
					CHECK_STR(t_route_label(ops[k], &obj, NULL),
						  i >= gone ? "-ENOSYS" :
							      t_labels[k]);
				CHECK_OK(dk_registry_check(t_reg, &t_why));
				if (i == 3)
					break;
				CHECK_OK(dk_impls_unregister(&provider, &cpu[i],
							     &t_why));
				CHECK_OK(dk_op_undefine(&definer, names[i],
							&t_why));
				dk_op_put(ops[i]);
				CHECK(!dk_op_get(t_reg, names[i]));
			}
		}
}

/* 10: with functions at two aliases and at FPGA, AutogradOther is ambiguous in any order. */
static void alias_on_both_sides(void)
{
	static const struct item items[] = {
		{ DK_COMPOSITE_IMPLICIT_AUTOGRAD }, { DK_FPGA }, { DK_AUTOGRAD },
	};
	static const struct wanted want[] = {
		{ DK_AUTOGRAD_OTHER, "ambiguous" }, { DK_AUTOGRAD_CPU, "f0" },
		{ DK_FPGA, "f1" },
	};
	/* a function at AutogradOther itself ends the ambiguity */
	static const struct item solved[] = {
		{ DK_COMPOSITE_IMPLICIT_AUTOGRAD }, { DK_FPGA }, { DK_AUTOGRAD_OTHER },
	};
	static const struct wanted of_solved[] = {
		{ DK_AUTOGRAD_OTHER, "f2" }, { DK_FPGA, "f1" },
	};

	EVERY_ORDER(items, want);
	EVERY_ORDER(solved, of_solved);
}

T_SUITE_WITH(stale_entries, setup,
	T(autogradother_turns_ambiguous),
	T(autogradother_of_plain_keys),
	T(explicit_takes_autograd_from_implicit),
	T(explicit_leaves_autograd_to_autograd),
	T(four_at_once),
	T(nested_tensor_takes_its_autograd),
	T(building_block_counts_for_autograd),
	T(batched_decomposition_serves_batched),
	T(nonfunctional_beside_implicit),
	T(nested_implicit_beside_implicit),
	T_PEER(7, overrides_are_removed_in_any_order),
	T_PEER(7, providers_unregister_in_any_order),
	T_PEER(8, fallback_between_operators),
	T_PEER(10, alias_on_both_sides));
