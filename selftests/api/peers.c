// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests for bugs that other projects had. The numbers of the bugs are from scripts/peer-bugs, which
 * also lists the tests in other files.
 */
#include "test.h"

DK_OP(again, "peers::again", (struct dk_obj *x, int *trace), (x, trace), (x));
DK_OP(inside, "peers::inside",
	(struct dk_obj *x, int (*what)(void)), (x, what), (x));

static struct dk_provider a, b;
static struct dk_op_decl decl;
static struct dk_op *op;

static void setup(unsigned int flags)
{
	t_open("v1", flags);
	t_join(&a, "a");
	t_join(&b, "b");
	decl = t_decl("peers::op");
	CHECK_OK(dk_op_define(&a, &decl, 0, &t_why));
	op = t_get("peers::op");
}

/*
 * 1: local state is merged with the objects' keys first; the backend of the result decides which
 * keys fall through.
 */
static void mask_uses_the_merged_keyset(void)
{
	static struct dk_impl impls[4];
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_AUTOGRAD_CPU) | DK_KEY_BITS(DK_CPU));
	struct dk_local local;
	int served_by = -1;

	setup(0);
	impls[0] = t_impl(&decl, DK_CPU, 0);
	impls[1] = t_impl(&decl, DK_CUDA, 1);
	impls[2] = t_impl(&decl, DK_AUTOGRAD_CPU, 2);
	impls[3] = t_fallthrough(&decl, DK_AUTOGRAD_CUDA);
	CHECK_OK(dk_impls_register(&a, impls, 4, &t_why));
	CHECK_INT(t_call(op, &cpu, NULL), 2);
	/* the local state includes CUDA, so the fallthrough of CUDA applies */
	dk_local_set(&local, DK_KEYSET(DK_BACKEND_BIT(DK_BACKEND_CUDA)),
		     DK_KEYSET(0));
	CHECK_OK(t_op_at(op, &local, &cpu, NULL, &served_by));
	CHECK_INT(served_by, 1);
	/* excluding a backend bit does not remove the backend, so the same keys fall through */
	dk_local_set(&local, DK_KEYSET(DK_BACKEND_BIT(DK_BACKEND_CUDA)),
		     DK_KEYSET(DK_BACKEND_BIT(DK_BACKEND_CUDA)));
	CHECK_OK(t_op_at(op, &local, &cpu, NULL, &served_by));
	CHECK_INT(served_by, 1);
	/* now the object's own backend has the fallthrough */
	CHECK_OK(dk_impls_unregister(&a, impls, &t_why));
	impls[2] = t_fallthrough(&decl, DK_AUTOGRAD_CPU);
	impls[3] = t_impl(&decl, DK_AUTOGRAD_CUDA, 3);
	CHECK_OK(dk_impls_register(&a, impls, 4, &t_why));
	CHECK_INT(t_call(op, &cpu, NULL), 0);
	CHECK_OK(t_op_at(op, &local, &cpu, NULL, &served_by));
	CHECK_INT(served_by, 3);
}

static int again_tracer(struct dk_call *c, struct dk_obj *x, int *trace)
{
	*trace += 100;
	if (*trace > 1000)
		return -ELOOP;
	return again_below(c, x, trace);
}

static int again_autograd(struct dk_call *c, struct dk_obj *x, int *trace)
{
	*trace += 10;
	if (*trace > 1000)
		return -ELOOP;
	/* a redispatch can also use keys above that of the calling function */
	if (*trace < 200)
		return again_redispatch(c, dk_keyset_or(dk_call_below(c),
							DK_SET(DK_TRACER)),
					x, trace);
	return again_below(c, x, trace);
}

static int again_cpu(struct dk_call *c, struct dk_obj *x, int *trace)
{
	*trace += 1;
	return 0;
}

/*
 * 2: a redispatch uses its keyset as it is. Keys of the local state or of the object are not added
 * again.
 */
static void no_endless_redispatch(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(again, DK_TRACER, again_tracer),
		DK_IMPL(again, DK_AUTOGRAD, again_autograd),
		DK_IMPL(again, DK_CPU, again_cpu),
	};
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER) |
				DK_KEY_BITS(DK_AUTOGRAD_CPU));
	struct dk_local local;
	struct dk_op *handle;
	int trace = 0;

	setup(0);
	CHECK_OK(dk_op_define(&a, &again_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&a, impls, ARRAY_SIZE(impls), &t_why));
	handle = dk_op_get(t_reg, "peers::again");
	dk_local_set(&local, dk_keyset_or(DK_SET(DK_TRACER), DK_SET(DK_AUTOGRAD_CPU)),
		     DK_KEYSET(0));
	CHECK_OK(again_at(handle, &local, &x, &trace));
	/* Tracer, Autograd, Tracer again because the Autograd function added it, and CPU */
	CHECK_INT(trace, 211);
	dk_op_put(handle);
}

/* 3: a call by the handle of an undefined operator fails, and succeeds after a new definition. */
static void handle_of_an_undefined_operator(void)
{
	static struct dk_impl impls[1];
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));
	struct dk_op *second;

	setup(0);
	impls[0] = t_impl(&decl, DK_CPU, 1);
	CHECK_OK(dk_impls_register(&b, impls, 1, &t_why));
	CHECK_INT(t_call(op, &cpu, NULL), 1);
	CHECK_OK(dk_op_undefine(&a, "peers::op", &t_why));
	/* refuses: dk_op_get ENOENT NOT_DEFINED */
	CHECK_INT(t_call(op, &cpu, NULL), -ENOENT);
	CHECK_OK(dk_impls_unregister(&b, impls, &t_why));
	CHECK_INT(t_call(op, &cpu, NULL), -ENOENT);
	CHECK_STR(dk_op_name(op), "peers::op");
	CHECK_OK(dk_op_define(&b, &decl, 0, &t_why));
	CHECK_INT(t_call(op, &cpu, NULL), -ENOSYS);
	second = dk_op_get(t_reg, "peers::op");
	CHECK(second == op);
	dk_op_put(second);
	CHECK_OK(dk_impls_register(&b, impls, 1, &t_why));
	CHECK_INT(t_call(op, &cpu, NULL), 1);
	t_unregister(&b);
	CHECK_INT(t_call(op, &cpu, NULL), -ENOENT);
}

/* 4: registrations made for another layout or ABI are refused. */
static void other_layouts_are_refused(void)
{
	struct dk_provider other = DK_PROVIDER("other");

	setup(0);
	other.registry = t_reg;
	other.layout = "pytorch-1.13";
	CHECK_INT(dk_provider_register(&other, &t_why), -EPROTO);
	CHECK_INT(t_why.reason, DK_WHY_LAYOUT);
	other.layout = "v1";
	other.abi = 0;
	CHECK_INT(dk_provider_register(&other, &t_why), -EPROTO);
	CHECK_INT(t_why.reason, DK_WHY_ABI);
	t_close();
	t_open("pytorch-1.13", 0);
	other.registry = t_reg;
	other.abi = DK_ABI_VERSION;
	CHECK_INT(dk_provider_register(&other, &t_why), -EPROTO);
	CHECK_INT(t_why.reason, DK_WHY_LAYOUT);
	CHECK(!other.core);
	t_close();
}

/* 5: a driver fails to load after it has made some of its registrations. */
static void half_registered_driver_unregisters(void)
{
	static struct dk_op_decl mine;
	static struct dk_impl good[2], bad[3], card[1];
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));
	struct dk_obj none;
	unsigned int backend;
	struct dk_op *handle;
	u32 device = 0;

	setup(0);
	good[0] = t_impl(&decl, DK_CPU, 1);
	CHECK_OK(dk_impls_register(&a, good, 1, &t_why));
	/* the last function of an array is refused, so none of the array is registered */
	mine = t_decl("peers::half");
	CHECK_OK(dk_op_define(&b, &mine, 0, &t_why));
	good[1] = t_impl(&decl, DK_CPU, 2);
	CHECK_OK(dk_impls_register(&b, good + 1, 1, &t_why));
	CHECK_OK(dk_backend_join(&b, "half", 0, 0, &backend, &t_why));
	bad[0] = t_impl(&mine, DK_CPU, 3);
	bad[1] = t_impl(&decl, DK_CPU, 4);
	bad[2] = t_impl(&decl, 0xffff, 5);
	CHECK_INT(dk_impls_register(&b, bad, 3, &t_why), -EINVAL);
	CHECK_INT(t_call(op, &cpu, NULL), 2);
	handle = dk_op_get(t_reg, "peers::half");
	CHECK_INT(t_call(handle, &cpu, NULL), -ENOSYS);
	card[0] = t_impl(&decl, DK_CPU, 6);
	CHECK_INT(dk_device_register(&b, backend, "half", NULL, card, 1, &device,
				     &t_why), -EINVAL);
	CHECK_INT(dk_device_find(t_reg, "half", &none, &t_why), -ENODEV);
	/* one call removes all registrations of the driver */
	t_unregister(&b);
	CHECK_INT(t_call(op, &cpu, NULL), 1);
	CHECK_INT(t_call(handle, &cpu, NULL), -ENOENT);
	CHECK_OK(dk_backend_release(t_reg, "half", &t_why));
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	t_join(&b, "b");
	CHECK_OK(dk_op_define(&b, &mine, 0, &t_why));
	CHECK_OK(dk_impls_register(&b, bad, 1, &t_why));
	CHECK_INT(t_call(handle, &cpu, NULL), 3);
	dk_op_put(handle);
}

/* 5: two copies of one driver have the same names, and each has its own functions. */
static void same_driver_registers_twice(void)
{
	static struct dk_provider copy[2];
	static struct dk_impl impls[2];
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));
	unsigned int first, i;

	setup(0);
	for (first = 0; first < 2; first++) {
		for (i = 0; i < 2; i++) {
			t_join(&copy[i], "copy");
			impls[i] = t_impl(&decl, DK_CPU, i + 1);
			CHECK_OK(dk_impls_register(&copy[i], &impls[i], 1, &t_why));
		}
		CHECK_INT(t_why.reason, DK_WHY_OVERRIDE);
		CHECK_INT(t_call(op, &cpu, NULL), 2);
		CHECK_INT(dk_provider_register(&copy[0], &t_why), -EEXIST);
		CHECK_INT(dk_op_define(&copy[1], &decl, 0, &t_why), -EEXIST);
		/* a copy cannot remove registrations of the other copy */
		CHECK_INT(dk_impls_unregister(&copy[0], &impls[1], &t_why), -ENOENT);
		CHECK_OK(dk_provider_unregister(&copy[first]));
		CHECK_INT(t_call(op, &cpu, NULL), 2 - first);
		/* unregistering again does nothing */
		CHECK_OK(dk_provider_unregister(&copy[first]));
		CHECK_INT(t_call(op, &cpu, NULL), 2 - first);
		CHECK_OK(dk_provider_unregister(&copy[!first]));
		CHECK_INT(t_call(op, &cpu, NULL), -ENOSYS);
	}
}

/* 9: if no argument has a keyset, the call uses entry 0, that of Undefined. */
static void no_argument_with_a_keyset(void)
{
	static struct dk_impl impls[2];
	const struct dk_obj *none = NULL;
	struct dk_obj empty = t_obj(0);
	int served_by = -1;

	setup(DK_REGISTRY_BUILTINS);
	CHECK_INT(t_call(op, NULL, NULL), -ENOSYS);
	CHECK_INT(t_call(op, &empty, NULL), -ENOSYS);
	t_answer.size = sizeof(t_answer);
	CHECK_INT(dk_op_route(op, DK_KEYSET(0), DK_KEYSET(0), NULL, 0, &t_answer),
		  -ENOSYS);
	CHECK_INT(t_answer.slot, 0);
	CHECK_INT(dk_op_route(op, DK_KEYSET(0), DK_KEYSET(0), &none, 1, &t_answer),
		  -ENOSYS);
	impls[0] = t_impl(&decl, DK_CPU, 1);
	CHECK_OK(dk_impls_register(&a, impls, 1, &t_why));
	CHECK_INT(t_call(op, NULL, NULL), -ENOSYS);
	impls[1] = t_impl(&decl, DK_COMPOSITE_EXPLICIT_AUTOGRAD, 2);
	CHECK_OK(dk_impls_register(&a, impls + 1, 1, &t_why));
	CHECK_INT(t_call(op, NULL, NULL), 2);
	/* the default local state includes two keys, which fall through */
	CHECK_OK(t_op_at(op, &dk_local_default, NULL, NULL, &served_by));
	CHECK_INT(served_by, 2);
}

/* ---- 11: keys above 255 ---------------------------------------------------- */

static unsigned int event_key, hooked_key;

static void on_event_key(struct dk_listener *self, const struct dk_event *event)
{
	event_key = event->key;
}

static void hook_key(struct dk_hooks *h, const struct dk_hook_info *info)
{
	hooked_key = info->key;
}

/* Returns a layout of four backends and 57 functionalities, with keys far above 255. */
static struct dk_layout *many_keys(void)
{
	static char text[1024];
	size_t n;
	int i;

	n = snprintf(text, sizeof(text),
		     "layout many\nbackends CUDA CPU XPU XLA\ntables\n"
		     "aliases Autograd CompositeImplicitAutograd "
		     "CompositeImplicitAutogradNestedTensor "
		     "CompositeExplicitAutograd "
		     "CompositeExplicitAutogradNonFunctional\n"
		     "functionalities Undefined Dense* Sparse* BackendSelect "
		     "ADInplaceOrView AutogradOther AutogradFunctionality* "
		     "AutogradNestedTensor NestedTensor* Tracer");
	for (i = 0; i < 46; i++)
		n += snprintf(text + n, sizeof(text) - n, " X%d*", i);
	snprintf(text + n, sizeof(text) - n, " PythonDispatcher\n");
	return dk_layout_parse(text, &t_why);
}

/* Registers a function at @key, and another one at the key with the same low eight bits. */
static void key_above_255(const struct dk_layout *l, unsigned int key)
{
	struct dk_impl above = t_impl(&decl, key, 1);
	struct dk_impl below = t_impl(&decl, key & 0xff, 2);
	struct dk_obj x = t_obj(dk_key_set(l, key).bits);
	bool alias = dk_key_kind(l, key) == DK_KIND_ALIAS;
	char name[DK_NAME_MAX];
	unsigned int parsed = 0;

	CHECK_OK(dk_key_parse(l, dk_key_name(l, key, name), 0, &parsed, &t_why));
	CHECK_INT(parsed, key);
	CHECK_OK(dk_impls_register(&a, &above, 1, &t_why));
	CHECK_INT(event_key, key);
	CHECK_INT(dk_op_has_impl(op, key, &t_why), 1);
	CHECK_INT(dk_op_has_impl(op, key & 0xff, &t_why), 0);
	if (!alias) {
		CHECK_STR(t_serves(op, 0, key), "f1");
		CHECK_INT(t_call(op, &x, NULL), 1);
		CHECK_INT(hooked_key, key);
	}
	if (!dk_impls_register(&b, &below, 1, &t_why)) {
		CHECK(dk_op_has_impl(op, key, &t_why));
		if (!alias)
			CHECK_INT(t_call(op, &x, NULL), 1);
		CHECK_OK(dk_impls_unregister(&b, &below, &t_why));
	}
	CHECK_OK(dk_impls_unregister(&a, &above, &t_why));
	CHECK_INT(dk_op_has_impl(op, key, &t_why), 0);
}

static void keys_above_255(void)
{
	struct dk_listener l = { .size = sizeof(l), .notify = on_event_key };
	struct dk_hooks h = { .size = sizeof(h), .before = hook_key };
	struct dk_layout *many = many_keys();
	unsigned int key, seen = 0;

	if (!CHECK(many))
		return;
	t_reg = dk_registry_alloc(many, 0, &t_why);
	if (!CHECK(t_reg))
		goto out;
	t_join(&a, "a");
	t_join(&b, "b");
	decl = t_decl("peers::op");
	CHECK_OK(dk_op_define(&a, &decl, 0, &t_why));
	op = t_get("peers::op");
	l.registry = t_reg;
	CHECK_OK(dk_listener_register(&l, &t_why));
	CHECK_OK(dk_hooks_register(t_reg, &h, &t_why));
	for (key = 256; key < 400; key++) {
		unsigned int kind = dk_key_kind(many, key);

		if (kind != DK_KIND_PER_BACKEND && kind != DK_KIND_ALIAS)
			continue;
		key_above_255(many, key);
		seen |= 1u << kind;
		t_pause();
	}
	/* per-backend keys and alias keys were tested */
	CHECK_INT(seen, 1u << DK_KIND_PER_BACKEND | 1u << DK_KIND_ALIAS);
	CHECK_OK(dk_hooks_unregister(&h, &t_why));
	CHECK_OK(dk_listener_unregister(&l));
	t_close();
out:
	dk_layout_free(many);
}

/* 12: unknown bits and numbers cause no read out of bounds. */
static void bits_and_numbers_out_of_bounds(void)
{
	static const char *const layouts[] = { "v1", "pytorch-1.13" };
	static const u64 bits[] = {
		~0ULL, 1ULL << 63, 3ULL << 62, 0xffffULL << 48, ~0ULL << 32,
	};
	static struct dk_entry e;
	static struct dk_impl impls[1];
	unsigned int i, k;

	for (k = 0; k < ARRAY_SIZE(layouts); k++) {
		const struct dk_layout *l = dk_layout_find(layouts[k], NULL);
		const u64 full = dk_layout_full(l).bits;

		t_open(layouts[k], 0);
		t_join(&a, "a");
		decl = t_decl("peers::op");
		impls[0] = t_impl(&decl, 2 + dk_layout_functionalities(l), 1);
		CHECK_OK(dk_op_define(&a, &decl, 0, &t_why));
		CHECK_OK(dk_impls_register(&a, impls, 1, &t_why));
		op = t_get("peers::op");
		for (i = 0; i < ARRAY_SIZE(bits); i++) {
			struct dk_obj x = t_obj(bits[i]);
			struct dk_obj within = t_obj(bits[i] & full);
			int err = t_route(op, &x, NULL);
			unsigned int slot = t_answer.slot;

			CHECK(slot < dk_layout_entries(l));
			CHECK_INT(err, t_route(op, &within, NULL));
			CHECK_INT(slot, t_answer.slot);
			x.device = ~0u;
			if (err && dk_keyset_backend(l, x.ks))
				err = -ENODEV;
			CHECK_INT(t_route(op, &x, &x), err);
		}
		e.size = sizeof(e);
		for (i = dk_layout_entries(l); i < 70000; i += 137)
			CHECK_INT(dk_op_entry(op, 0, i, &e), -EINVAL);
		for (i = 0; i < 70000; i += 37) {
			char name[DK_NAME_MAX];

			dk_key_slot(l, i);
			CHECK(dk_key_name(l, i, name));
		}
		t_put(op);
		t_unregister(&a);
		t_close();
	}
}

/*
 * 13: without tables, calls are routed by the rules. unregister_nomem.c tests that unregistering
 * without memory leads to this state.
 */
static void unregister_without_tables(void)
{
	static struct dk_impl base[2], over[2];
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));
	struct dk_obj traced = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER));

	setup(DK_REGISTRY_FORCE_RESOLVE);
	base[0] = t_impl(&decl, DK_CPU, 1);
	base[1] = t_fallthrough(&decl, DK_TRACER);
	over[0] = t_impl(&decl, DK_CPU, 2);
	over[1] = t_impl(&decl, DK_TRACER, 3);
	CHECK_OK(dk_impls_register(&a, base, 2, &t_why));
	CHECK_OK(dk_impls_register(&b, over, 2, &t_why));
	CHECK_INT(t_call(op, &cpu, NULL), 2);
	CHECK_INT(t_call(op, &traced, NULL), 3);
	CHECK_OK(dk_impls_withdraw(&b, over, &t_why));
	CHECK_INT(t_call(op, &cpu, NULL), 1);
	CHECK_INT(t_call(op, &traced, NULL), 1);
	CHECK_OK(dk_provider_unregister(&b));
	CHECK_INT(t_call(op, &traced, NULL), 1);
	CHECK_OK(dk_provider_unregister(&a));
	CHECK_INT(t_call(op, &cpu, NULL), -ENOENT);
}

/* 14: a driver is unbound and bound again while all its handles are held. */
static void handles_outlive_driver_and_device(void)
{
	static struct dk_op_decl mine;
	static struct dk_impl card[1];
	struct dk_obj before, after;
	struct dk_op *handle;
	unsigned int backend, round;
	u32 device = 0;

	setup(0);
	mine = t_decl("peers::card");
	card[0] = t_impl(&mine, DK_DENSE, 1);
	CHECK_OK(dk_op_define(&b, &mine, 0, &t_why));
	CHECK_OK(dk_backend_join(&b, "card", 0, 0, &backend, &t_why));
	CHECK_OK(dk_device_register(&b, backend, "card", NULL, card, 1, &device,
				    &t_why));
	handle = dk_op_get(t_reg, "peers::card");
	after = dk_obj_on(backend, device);
	for (round = 0; round < 3; round++) {
		before = after;
		CHECK_INT(t_call(handle, &before, NULL), 1);
		CHECK_OK(dk_device_unregister(&b, before.device, &t_why));
		CHECK_INT(t_call(handle, &before, NULL), -ENODEV);
		CHECK_INT(dk_device_set_online(t_reg, before.device, 1, &t_why),
			  -ENODEV);
		CHECK_INT(dk_device_unregister(&b, before.device, &t_why), -ENODEV);
		t_unregister(&b);
		CHECK_INT(t_call(handle, &before, NULL), -ENOENT);
		/* the handle is valid with the new driver, but the old object is not */
		t_join(&b, "b");
		CHECK_OK(dk_op_define(&b, &mine, 0, &t_why));
		CHECK_OK(dk_backend_join(&b, "card", 0, 0, &backend, &t_why));
		CHECK_OK(dk_device_register(&b, backend, "card", NULL, card, 1,
					    &device, &t_why));
		after = dk_obj_on(backend, device);
		CHECK_INT(t_call(handle, &after, NULL), 1);
		CHECK_INT(t_call(handle, &before, NULL), -ENODEV);
	}
	t_unregister(&b);
	/* only the handle still refers to the operator */
	CHECK_STR(dk_op_name(handle), "peers::card");
	CHECK_INT(t_call(handle, &after, NULL), -ENOENT);
	dk_op_put(handle);
	CHECK(!dk_op_get(t_reg, "peers::card"));
}

/* ---- 17: functions that dispatch, register and unregister from inside ----- */

static struct dk_impl late[1], later[1];
static struct dk_obj cpu_obj;
static u32 device;

static int calls_again(void)
{
	return t_call(op, &cpu_obj, NULL) == 1 ? 0 : -EIO;
}

static int registers(void)
{
	unsigned int backend;
	int err;

	late[0] = t_impl(&decl, DK_CPU, 2);
	err = dk_impls_register(&a, late, 1, &t_why);
	if (!err)
		err = dk_backend_join(&a, "peers", 0, 0, &backend, &t_why);
	if (!err)
		err = dk_device_register(&a, backend, "dev", NULL, NULL, 0, &device,
					 &t_why);
	return err ? err : t_call(op, &cpu_obj, NULL) == 2 ? 0 : -EIO;
}

/* A function may withdraw functions of its own provider, but must not wait for their calls. */
static int withdraws(void)
{
	int err = dk_impls_withdraw(&a, late, &t_why);

	if (err)
		return err;
	if (dk_device_unregister(&a, device, &t_why) != -EDEADLK)
		return -EIO;
	return t_call(op, &cpu_obj, NULL) == 1 ? 0 : -EIO;
}

static int defines(void)
{
	static struct dk_op_decl more;
	int err;

	more = t_decl("peers::more");
	err = dk_op_define(&a, &more, 0, &t_why);
	if (!err)
		err = dk_op_undefine(&a, "peers::more", &t_why);
	return err;
}

/* Another provider registers, is called, and unregisters. */
static int unregisters_another(void)
{
	int err;

	later[0] = t_impl(&decl, DK_CPU, 3);
	err = dk_impls_register(&b, later, 1, &t_why);
	if (err)
		return err;
	if (t_call(op, &cpu_obj, NULL) != 3)
		return -EIO;
	err = dk_impls_unregister(&b, later, &t_why);
	if (!err)
		err = dk_provider_unregister(&b);
	return err ? err : t_call(op, &cpu_obj, NULL) == 1 ? 0 : -EIO;
}

static int inside_cpu(struct dk_call *c, struct dk_obj *x, int (*what)(void))
{
	return what();
}

/* Redispatches, so that the tested function runs inside of two functions. */
static int inside_tracer(struct dk_call *c, struct dk_obj *x, int (*what)(void))
{
	return inside_below(c, x, what);
}

static void functions_change_the_registry_from_inside(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(inside, DK_CPU, inside_cpu),
		DK_IMPL(inside, DK_TRACER, inside_tracer),
	};
	static int (*const what[])(void) = {
		calls_again, registers, withdraws, defines, unregisters_another,
	};
	static struct dk_impl base[1];
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER));
	struct dk_local local = t_no_local();
	struct dk_op *handle;
	unsigned int i;

	setup(0);
	cpu_obj = t_obj(DK_KEY_BITS(DK_CPU));
	base[0] = t_impl(&decl, DK_CPU, 1);
	CHECK_OK(dk_impls_register(&a, base, 1, &t_why));
	CHECK_OK(dk_op_define(&a, &inside_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&a, impls, ARRAY_SIZE(impls), &t_why));
	handle = dk_op_get(t_reg, "peers::inside");
	for (i = 0; i < ARRAY_SIZE(what); i++) {
		CHECK_OK(inside_at(handle, &local, &x, what[i]));
		CHECK_OK(dk_registry_check(t_reg, &t_why));
	}
	CHECK(!b.core);
	CHECK_OK(dk_provider_drain(&a));
	dk_op_put(handle);
}

T_SUITE(peers,
	T_PEER(1, mask_uses_the_merged_keyset),
	T_PEER(2, no_endless_redispatch),
	T_PEER(3, handle_of_an_undefined_operator),
	T_PEER(4, other_layouts_are_refused),
	T_PEER(5, half_registered_driver_unregisters),
	T_PEER(5, same_driver_registers_twice),
	T_PEER(9, no_argument_with_a_keyset),
	T_PEER(11, keys_above_255),
	T_PEER(12, bits_and_numbers_out_of_bounds),
	T_PEER(13, unregister_without_tables),
	T_PEER(14, handles_outlive_driver_and_device),
	T_PEER(17, functions_change_the_registry_from_inside));
