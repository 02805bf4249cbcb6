// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bugs that other projects had, by their numbers in the list of PEER-BUGS.
 * 7, 8 and 10 are in stale.c, 13 is in nomem.c.
 */
#include "test.h"

DK_OP(again, "peers::again", (struct dk_obj *x, int *trace), (x, trace), (x));
DK_OP(inside, "peers::inside",
	(struct dk_obj *x, int (*what)(void)), (x, what), (x));

static struct dk_provider a, b;
static struct dk_op_decl decl;
static struct dk_op *op;

static void begin(unsigned int flags)
{
	t_open("v1", flags);
	t_join(&a, "a");
	t_join(&b, "b");
	decl = t_decl("peers::op");
	CHECK_OK(dk_op_define(&a, &decl, 0, &t_why));
	op = dk_op_get(t_reg, "peers::op");
}

static void end(void)
{
	dk_op_put(op);
	t_leave(&a);
	t_leave(&b);
	t_close();
}

/* 1: the mask is that of the backend after the local state was merged. */
static void peer1_mask_behind_local_state(void)
{
	static struct dk_impl impls[4];
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_AUTOGRAD_CPU) | DK_KEY_BITS(DK_CPU));
	struct dk_local local;
	int who = -1;

	begin(0);
	impls[0] = t_impl(&decl, DK_CPU, 0);
	impls[1] = t_impl(&decl, DK_CUDA, 1);
	impls[2] = t_impl(&decl, DK_AUTOGRAD_CPU, 2);
	impls[3] = t_fallthrough(&decl, DK_AUTOGRAD_CUDA);
	CHECK_OK(dk_impls_register(&a, impls, 4, &t_why));
	CHECK_INT(t_call(op, &cpu, NULL), 2);
	/* CUDA comes in by the local state: its fallthrough counts */
	dk_local_set(&local, DK_KEYSET(DK_BACKEND_BIT(DK_BACKEND_CUDA)),
		     DK_KEYSET(0));
	CHECK_OK(t_op_at(op, &local, &cpu, NULL, &who));
	CHECK_INT(who, 1);
	/* exclusion takes no backend away, and so changes no mask */
	dk_local_set(&local, DK_KEYSET(DK_BACKEND_BIT(DK_BACKEND_CUDA)),
		     DK_KEYSET(DK_BACKEND_BIT(DK_BACKEND_CUDA)));
	CHECK_OK(t_op_at(op, &local, &cpu, NULL, &who));
	CHECK_INT(who, 1);
	/* the other way round: the object's own backend has the fallthrough */
	CHECK_OK(dk_impls_unregister(&a, impls, &t_why));
	impls[2] = t_fallthrough(&decl, DK_AUTOGRAD_CPU);
	impls[3] = t_impl(&decl, DK_AUTOGRAD_CUDA, 3);
	CHECK_OK(dk_impls_register(&a, impls, 4, &t_why));
	CHECK_INT(t_call(op, &cpu, NULL), 0);
	CHECK_OK(t_op_at(op, &local, &cpu, NULL, &who));
	CHECK_INT(who, 3);
	end();
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
	/* with keys above one's own again: the caller's choice, and used as it is */
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
 * 2: what a redispatch is given is used as it is. That the local state, or the
 * object itself, has the key still does not bring it back.
 */
static void peer2_no_endless_redispatch(void)
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

	begin(0);
	CHECK_OK(dk_op_define(&a, &again_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&a, impls, ARRAY_SIZE(impls), &t_why));
	handle = dk_op_get(t_reg, "peers::again");
	dk_local_set(&local, dk_keyset_or(DK_SET(DK_TRACER), DK_SET(DK_AUTOGRAD_CPU)),
		     DK_KEYSET(0));
	CHECK_OK(again_at(handle, &local, &x, &trace));
	/* Tracer, Autograd, Tracer once more by choice, CPU */
	CHECK_INT(trace, 211);
	dk_op_put(handle);
	end();
}

/* 3: a handle whose operator is gone answers, and works when it is back. */
static void peer3_handle_of_a_gone_operator(void)
{
	static struct dk_impl impls[1];
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));
	struct dk_op *second;

	begin(0);
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
	t_leave(&b);
	CHECK_INT(t_call(op, &cpu, NULL), -ENOENT);
	end();
}

/* 4: keys of another layout, or of another ABI, do not get in. */
static void peer4_layouts_do_not_meet(void)
{
	struct dk_provider other = DK_PROVIDER("other");

	begin(0);
	other.registry = t_reg;
	other.layout = "pytorch-1.13";
	CHECK_INT(dk_provider_register(&other, &t_why), -EPROTO);
	CHECK_INT(t_why.reason, DK_WHY_LAYOUT);
	other.layout = "v1";
	other.abi = 0;
	CHECK_INT(dk_provider_register(&other, &t_why), -EPROTO);
	CHECK_INT(t_why.reason, DK_WHY_ABI);
	end();
	t_open("pytorch-1.13", 0);
	other.registry = t_reg;
	other.abi = DK_ABI_VERSION;
	CHECK_INT(dk_provider_register(&other, &t_why), -EPROTO);
	CHECK_INT(t_why.reason, DK_WHY_LAYOUT);
	CHECK(!other.core);
	t_close();
}

/* 9: no argument has a keyset: entry 0, the one of Undefined. */
static void peer9_no_argument_with_a_keyset(void)
{
	static struct dk_impl impls[2];
	const struct dk_obj *none = NULL;
	struct dk_obj empty = t_obj(0);
	int who = -1;

	begin(DK_REGISTRY_STOCKED);
	CHECK_INT(t_call(op, NULL, NULL), -ENOSYS);
	CHECK_INT(t_call(op, &empty, NULL), -ENOSYS);
	t_answer.size = sizeof(t_answer);
	CHECK_INT(dk_route(op, DK_KEYSET(0), DK_KEYSET(0), NULL, 0, &t_answer),
		  -ENOSYS);
	CHECK_INT(t_answer.slot, 0);
	CHECK_INT(dk_route(op, DK_KEYSET(0), DK_KEYSET(0), &none, 1, &t_answer),
		  -ENOSYS);
	impls[0] = t_impl(&decl, DK_CPU, 1);
	CHECK_OK(dk_impls_register(&a, impls, 1, &t_why));
	CHECK_INT(t_call(op, NULL, NULL), -ENOSYS);
	impls[1] = t_impl(&decl, DK_COMPOSITE_EXPLICIT_AUTOGRAD, 2);
	CHECK_OK(dk_impls_register(&a, impls + 1, 1, &t_why));
	CHECK_INT(t_call(op, NULL, NULL), 2);
	/* the default local state includes two keys, which fall through */
	CHECK_OK(t_op_at(op, &dk_local_default, NULL, NULL, &who));
	CHECK_INT(who, 2);
	end();
}

/* 12: nothing is read out of bounds, whatever the bits and numbers are. */
static void peer12_bits_and_numbers_out_of_bounds(void)
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
		op = dk_op_get(t_reg, "peers::op");
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
		dk_op_put(op);
		t_leave(&a);
		t_close();
	}
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

/* Its own ones it may withdraw, but not wait for. */
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

/* Another provider comes, is called and goes. */
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

/* Through one more call, from the tracer's function. */
static int inside_tracer(struct dk_call *c, struct dk_obj *x, int (*what)(void))
{
	return inside_below(c, x, what);
}

static void peer17_from_inside(void)
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

	begin(0);
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
	end();
}

T_SUITE(peers,
	T(peer1_mask_behind_local_state),
	T(peer2_no_endless_redispatch),
	T(peer3_handle_of_a_gone_operator),
	T(peer4_layouts_do_not_meet),
	T(peer9_no_argument_with_a_keyset),
	T(peer12_bits_and_numbers_out_of_bounds),
	T(peer17_from_inside));
