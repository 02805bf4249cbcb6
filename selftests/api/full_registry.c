// SPDX-License-Identifier: GPL-2.0-only
/* See full_registry.h. */
#include "alloc.h"
#include "full_registry.h"

struct dk_provider r_a, r_b, r_none;
struct dk_op_decl r_def, r_atomic, r_impl, r_early, r_new, r_other_sig;
unsigned int r_edu, r_solo;
u32 r_card, r_unregistered_card;
struct dk_impl r_table[3], r_fallback, r_device_table[1];
struct dk_obj r_cpu;

static struct dk_impl impl_only[2], early[1], through, boxed;
static u64 hash_before, generation_before;

/*
 * A function for each operator. Registering and unregistering these functions builds all tables
 * again.
 */
static struct dk_provider prober;
static struct dk_impl probe[4];

static int serve_boxed(struct dk_call *c, void *args)
{
	return 0;
}

/*
 * Registers fallbacks and functions that affect operators' tables, and whether operators are
 * atomic. If an undone change leaves something in the registry, these registrations make it
 * visible.
 */
static void open_beside(void)
{
	const struct dk_impl fallback = DK_FALLBACK(DK_NEGATIVE, serve_boxed);
	static const struct dk_op_decl *const ops[] = { &r_def, &r_atomic, &r_impl, &r_early };
	unsigned int i;

	boxed = fallback;
	CHECK_OK(dk_fallback_register(&r_b, &boxed, &t_why));
	through = t_fallthrough(NULL, dk_runtime_key(NULL, DK_NESTED_TENSOR, r_edu));
	CHECK_OK(dk_fallback_register(&r_b, &through, &t_why));
	r_early = t_decl("r::early");
	early[0] = t_impl(&r_early, DK_CPU, 17);
	early[0].flags = DK_IMPL_F_ATOMIC;
	CHECK_OK(dk_impls_register(&r_b, early, 1, &t_why));
	t_join(&prober, "prober");
	for (i = 0; i < ARRAY_SIZE(probe); i++) {
		probe[i] = t_impl(ops[i], DK_META, 18);
		probe[i].flags = DK_IMPL_F_ATOMIC;
	}
}

void r_open(void)
{
	static struct dk_provider none = DK_PROVIDER("none");

	t_open("v1", DK_REGISTRY_BUILTINS);
	r_cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	r_none = none;
	r_none.registry = t_reg;
	t_join(&r_a, "a");
	t_join(&r_b, "b");
	r_def = t_decl("r::op");
	r_atomic = t_decl("r::atomic");
	r_impl = t_decl("r::impl");
	r_new = t_decl("r::new");
	r_other_sig = t_decl("r::op");
	r_other_sig.sig = "(float)";
	CHECK_OK(dk_op_define(&r_a, &r_def, 0, &t_why));
	CHECK_OK(dk_op_define(&r_a, &r_atomic, DK_OP_ATOMIC, &t_why));
	r_table[0] = t_impl(&r_def, DK_CPU, 1);
	r_table[1] = t_impl(&r_def, DK_AUTOGRAD_CPU, 2);
	r_table[2] = t_impl(&r_atomic, DK_SPARSE_CPU, 3);
	r_table[2].flags = DK_IMPL_F_ATOMIC;
	CHECK_OK(dk_impls_register(&r_a, r_table, 3, &t_why));
	impl_only[0] = t_impl(&r_impl, DK_COMPOSITE_IMPLICIT_AUTOGRAD, 4);
	impl_only[1] = t_impl(&r_def, DK_COMPOSITE_EXPLICIT_AUTOGRAD, 5);
	CHECK_OK(dk_impls_register(&r_b, impl_only, 2, &t_why));
	r_fallback = t_fallthrough(NULL, DK_TRACER);
	CHECK_OK(dk_fallback_register(&r_a, &r_fallback, &t_why));
	CHECK_OK(dk_backend_join(&r_a, "edu", 0, 0, &r_edu, &t_why));
	CHECK_OK(dk_backend_join(&r_b, "edu", 0, 0, &r_edu, &t_why));
	CHECK_OK(dk_backend_join(&r_a, "solo", 0, DK_JOIN_ALONE, &r_solo, &t_why));
	r_device_table[0] = t_impl(&r_def, DK_DENSE, 6);
	CHECK_OK(dk_device_register(&r_a, r_edu, "card", NULL, r_device_table, 1,
				    &r_card, &t_why));
	CHECK_OK(dk_device_register(&r_a, r_edu, "gone", NULL, NULL, 0, &r_unregistered_card,
				    &t_why));
	CHECK_OK(dk_device_unregister(&r_a, r_unregistered_card, &t_why));
	open_beside();
	r_rebase();
}

void r_close(void)
{
	CHECK(r_hash_queries() == hash_before);
	CHECK_INT(dk_registry_generation(t_reg), generation_before);
	t_unregister(&prober);
	t_unregister(&r_a);
	t_unregister(&r_b);
	t_close();
}

/* FNV-1a */
static u64 mix(u64 hash, const void *data, size_t size)
{
	const unsigned char *p = data;

	while (size--)
		hash = (hash ^ *p++) * 1099511628211ull;
	return hash;
}

/*
 * Adds an integer to a hash in one step. Adding it byte by byte would take a sixth of the suite's
 * time on an emulated machine.
 */
static u64 mix_int(u64 hash, s64 value)
{
	return (hash ^ (u64)value) * 1099511628211ull;
}

static u64 mix_table(u64 hash, struct dk_op *op, u32 device)
{
	static struct dk_entry e;
	unsigned int slot;

	for (slot = 0; slot <= DK_NUM_ENTRIES; slot++) {
		memset(&e, 0, sizeof(e));
		e.size = sizeof(e);
		hash = mix_int(hash, dk_op_entry(op, device, slot, &e));
		hash = mix_int(hash, e.provenance);
		hash = mix_int(hash, e.is_fallthrough);
		hash = mix_int(hash, e.device);
		hash = mix(hash, e.label, strlen(e.label));
		hash = mix(hash, e.provider, strlen(e.provider));
		hash = mix(hash, e.device_name, strlen(e.device_name));
	}
	return hash;
}

/* Adds the functions of an operator to a hash, including inactive functions. */
static u64 mix_impls(u64 hash, struct dk_op *op)
{
	static struct dk_impl_info info;
	unsigned int i;

	info.size = sizeof(info);
	for (i = 0; !dk_op_impl(op, i, &info); i++) {
		hash = mix_int(hash, info.key);
		hash = mix_int(hash, info.is_active);
		hash = mix_int(hash, info.device);
		hash = mix(hash, info.label, strlen(info.label));
		hash = mix(hash, info.provider, strlen(info.provider));
	}
	return mix_int(hash, i);
}

static u64 mix_operator(u64 hash, const char *name)
{
	struct dk_op *op = dk_op_get(t_reg, name);
	struct dk_obj obj = dk_obj_on(r_edu, r_card);

	hash = mix_int(hash, !!op);
	if (!op)
		return hash;
	hash = mix_impls(hash, op);
	hash = mix_table(hash, op, 0);
	hash = mix_table(hash, op, r_card);
	hash = mix_table(hash, op, r_unregistered_card);
	/* routes depend on whether the operator is defined */
	hash = mix_int(hash, t_route(op, &r_cpu, NULL));
	hash = mix_int(hash, t_route(op, &obj, NULL));
	hash = mix_int(hash, t_answer.entry.device);
	dk_op_put(op);
	return hash;
}

u64 r_hash_queries(void)
{
	static const char *const ops[] = {
		"r::op", "r::atomic", "r::impl", "r::early", "r::new", "r::new2",
	};
	static const char *const backends[] = { "edu", "solo", "third", "fourth" };
	static const char *const devices[] = { "card", "gone", "new" };
	u64 hash = 14695981039346656037ull;
	static struct dk_route answer;
	unsigned int i;

	answer = t_answer;
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		hash = mix_operator(hash, ops[i]);
	for (i = 0; i < ARRAY_SIZE(backends); i++) {
		unsigned int b = 0;

		hash = mix_int(hash, dk_backend_find(t_reg, backends[i], &b, NULL));
		hash = mix_int(hash, b);
	}
	for (i = 0; i < ARRAY_SIZE(devices); i++) {
		struct dk_obj obj = { { 0 }, 0, 0 };

		hash = mix_int(hash, dk_device_find(t_reg, devices[i], &obj, NULL));
		hash = mix(hash, &obj, sizeof(obj));
	}
	hash = mix(hash, &r_a, sizeof(r_a));
	hash = mix(hash, &r_b, sizeof(r_b));
	hash = mix_int(hash, !!r_none.core);
	hash = mix_int(hash, dk_registry_check(t_reg, NULL));
	t_answer = answer;
	return hash;
}

void r_rebase(void)
{
	hash_before = r_hash_queries();
	generation_before = dk_registry_generation(t_reg);
}

void r_poison(void)
{
	memset(&t_why, 'x', sizeof(t_why));
	t_why.size = sizeof(t_why);
	t_why.text = NULL;
}

/*
 * Builds all tables again, twice. If a refused request left something in the registry, one of the
 * builds or a query finds it. In the kernel, only every fourth call does this, because an emulated
 * machine is slow.
 */
static void build_tables_again(void)
{
	static unsigned int turn;

	if (T_KERNEL && turn++ % 4)
		return;
	CHECK_OK(dk_impls_register(&prober, probe, ARRAY_SIZE(probe), NULL));
	CHECK_OK(dk_registry_check(t_reg, NULL));
	if (dk_impls_unregister(&prober, probe, NULL))
		CHECK_OK(dk_impls_withdraw(&prober, probe, NULL));
	CHECK(r_hash_queries() == hash_before);
	generation_before = dk_registry_generation(t_reg);
}

static void check_unchanged(const char *file, int line, const char *what)
{
	bool held = r_hash_queries() == hash_before &&
		    dk_registry_generation(t_reg) == generation_before;

	if (!t_check(held, file, line, "that nothing has changed")) {
		t_note("%s", what);
		r_rebase();
	}
	build_tables_again();
}

void r_refused_err(const char *file, int line, const char *what, int err,
		   int want)
{
	if (!t_check_int(err, want, file, line, "the error"))
		t_note("%s", what);
	check_unchanged(file, line, what);
}

void r_refused(const char *file, int line, const char *what, int err, int want,
	       unsigned int reason, const char *name)
{
	static struct dk_diag why;

	why = t_why;
	why.name[DK_NAME_MAX - 1] = 0;
	t_check_int(why.reason, reason, file, line, "the reason");
	t_check_str(why.text, dk_reason_text(reason), file, line, "the sentence");
	if (name)
		t_check_str(why.name, name, file, line, "the name");
	r_refused_err(file, line, what, err, want);
}

unsigned int r_alloc_step(void)
{
	return T_KERNEL && t_most == 1 ? 8 : 1;
}

unsigned int r_each_fails(int (*act)(void), r_refused_fn refused, const char *culprit)
{
	long before = dk_test_allocs();
	unsigned int n, failed = 0;
	int err;

	for (n = 1;; n += r_alloc_step()) {
		dk_test_fail_alloc(n);
		r_poison();
		err = act();
		if (!dk_test_fail_alloc(0))
			break;
		failed++;
		if (refused)
			refused(err, culprit);
		if (!CHECK_INT(err, -ENOMEM) || !CHECK_INT(dk_test_allocs(), before)) {
			t_note("allocation %u", n);
			break;
		}
		t_pause();
	}
	CHECK_OK(err);
	return failed;
}
