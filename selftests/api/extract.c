// SPDX-License-Identifier: GPL-2.0-only
/* From arguments to objects (SEMANTICS 6.1), and arguments as values. */
#include "test.h"

struct tensor {
	int data;
	struct dk_obj dk;
};

#define DK_OBJECT_TYPES_OF_TEST(X)	X(struct tensor, dk)
#undef DK_OBJECT_TYPES
#define DK_OBJECT_TYPES(X)	DK_OBJECT_TYPES_OF_TEST(X)

DK_OP(cat, "extract::cat",
	(struct tensor **ts, unsigned int n, struct tensor *out, u32 *device),
	(ts, n, out, device), (DK_LIST_OF(ts, n, dk)));
DK_OP(listed, "extract::listed",
	(struct dk_list ts, struct dk_obj *more, u32 *device), (ts, more, device),
	(dk_list_obj(&ts), more));
DK_OP(randn, "extract::randn",
	(struct dk_generator *g, struct dk_obj *x, u64 *ks), (g, x, ks),
	(DK_GENERATOR(g), x));
DK_OP(kinds, "extract::kinds",
	(struct tensor *t, bool b, __s8 i8, u16 u16_, s64 i64, const char *s,
	 int *result), (t, b, i8, u16_, i64, s, result), (t ? &t->dk : NULL));

static struct dk_provider prov;
static struct dk_local local;

static int cat_on(struct dk_call *c, struct tensor **ts, unsigned int n,
		  struct tensor *out, u32 *device)
{
	*device = c->device;
	return 0;
}

static int listed_on(struct dk_call *c, struct dk_list ts, struct dk_obj *more,
		     u32 *device)
{
	*device = c->device;
	return 0;
}

static int randn_ks(struct dk_call *c, struct dk_generator *g, struct dk_obj *x,
		    u64 *ks)
{
	*ks = c->ks.bits;
	return 0;
}

static void begin(const struct dk_op_decl *decl, unsigned int flags)
{
	t_open("v1", 0);
	t_join(&prov, "extract");
	local = t_no_local();
	CHECK_OK(dk_op_define(&prov, decl, flags, &t_why));
}

static void end(struct dk_op *op)
{
	dk_op_put(op);
	t_leave(&prov);
	t_close();
}

/* All elements count, absent ones add nothing, and the count has no limit. */
static void lists_of_own_objects(void)
{
	static const struct dk_impl impls[] = { DK_IMPL(cat, DK_CUDA, cat_on) };
	static const struct dk_impl card[] = { DK_IMPL(cat, DK_DENSE, cat_on) };
	static struct tensor *many[5000];
	struct tensor cpu = { 1, dk_obj_on(DK_BACKEND_CPU, 0) }, cuda = cpu;
	u32 number, device = 99;
	struct cat_args args;
	struct dk_op *op;

	begin(&cat_op, 0);
	CHECK_OK(dk_impls_register(&prov, impls, 1, &t_why));
	CHECK_OK(dk_device_register(&prov, DK_BACKEND_CUDA, "card", NULL, card, 1,
				    &number, &t_why));
	op = dk_op_get(t_reg, "extract::cat");
	cuda.dk = dk_obj_on(DK_BACKEND_CUDA, number);
	many[0] = &cpu;
	CHECK_INT(cat_at(op, &local, many, ARRAY_SIZE(many), NULL, &device), -ENOSYS);
	CHECK_INT(cat_at(op, &local, NULL, 0, NULL, &device), -ENOSYS);
	/* the last one decides, also about the device */
	many[ARRAY_SIZE(many) - 1] = &cuda;
	CHECK_OK(cat_at(op, &local, many, ARRAY_SIZE(many), NULL, &device));
	CHECK_INT(device, number);
	CHECK_INT(cat_at(op, &local, many, ARRAY_SIZE(many) - 1, NULL, &device),
		  -ENOSYS);
	args = (struct cat_args){ many, ARRAY_SIZE(many), NULL, &device };
	device = 99;
	CHECK_OK(dk_call_boxed(op, &cat_op, &local, &args));
	CHECK_INT(device, number);
	end(op);
}

static void lists_as_parameters(void)
{
	static const struct dk_impl impls[] = { DK_IMPL(listed, DK_DENSE, listed_on) };
	struct dk_obj a, b;
	struct dk_obj *both[] = { &a, NULL, &b };
	struct listed_args args = { .more = NULL };
	struct dk_op_decl described = listed_op;
	u32 d0, d1, device = 99;
	struct dk_op *op;

	begin(&listed_op, DK_OP_SAME_DEVICE);
	CHECK_OK(dk_device_register(&prov, DK_BACKEND_CUDA, "d0", NULL, impls, 1, &d0,
				    &t_why));
	CHECK_OK(dk_device_register(&prov, DK_BACKEND_CUDA, "d1", NULL, impls, 1, &d1,
				    &t_why));
	op = dk_op_get(t_reg, "extract::listed");
	/* whoever fills an object says that it is no list */
	a.flags = b.flags = DK_OBJ_LIST;
	CHECK_OK(dk_device_find(t_reg, "d0", &b, &t_why));
	CHECK_INT(b.flags, 0);
	a = dk_obj_on(DK_BACKEND_CPU, 0);
	CHECK_INT(a.flags, 0);
	b = dk_obj_on(DK_BACKEND_CUDA, d0);
	dk_list_init(&args.ts, both, 3, 0);
	CHECK(!dk_list_at(&args.ts, 1));
	CHECK(dk_list_at(&args.ts, 2) == &b);
	CHECK(!dk_list_at(&args.ts, 3));
	CHECK_INT(args.ts.head.ks.bits, a.ks.bits | b.ks.bits);
	CHECK_OK(listed_at(op, &local, args.ts, NULL, &device));
	CHECK_INT(device, d0);
	/* boxed, by the DK_OP() line and by the description alone */
	args.device = &device;
	device = 99;
	CHECK_OK(dk_call_boxed(op, &listed_op, &local, &args));
	CHECK_INT(device, d0);
	described.extract = NULL;
	device = 99;
	CHECK_OK(dk_call_boxed(op, &described, &local, &args));
	CHECK_INT(device, d0);
	/* elements live on two devices */
	a = dk_obj_on(DK_BACKEND_CUDA, d1);
	/* refuses: dk_call_boxed EXDEV TWO_DEVICES */
	CHECK_INT(dk_call_boxed(op, &listed_op, &local, &args), -EXDEV);
	CHECK_INT(listed_at(op, &local, args.ts, NULL, &device), -EXDEV);
	/* what the list says of its elements is what they are now */
	a = b = dk_obj_on(DK_BACKEND_CPU, 0);
	CHECK_INT(listed_at(op, &local, args.ts, NULL, &device), -ENOSYS);
	/* refuses: dk_call_boxed ENOSYS MISSING */
	CHECK_INT(dk_call_boxed(op, &described, &local, &args), -ENOSYS);
	/* refuses: dk_call_boxed EPROTOTYPE SIGNATURE */
	described.param = NULL;
	CHECK_INT(dk_call_boxed(op, &described, &local, &args), -EPROTOTYPE);
	end(op);
}

/* Generators count in unboxed calls only, in what comes behind those too. */
static void generators_in_unboxed_calls(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(randn, DK_CPU, randn_ks),
		DK_IMPL(randn, DK_CUSTOM_RNG_KEY_ID, randn_ks),
	};
	struct dk_generator g = { t_obj(DK_KEY_BITS(DK_CUSTOM_RNG_KEY_ID)) };
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU));
	struct dk_op_decl described = randn_op;
	u64 ks = 0;
	struct randn_args args = { &g, &x, &ks };
	struct dk_op *op;

	begin(&randn_op, 0);
	CHECK_OK(dk_impls_register(&prov, impls, 2, &t_why));
	op = dk_op_get(t_reg, "extract::randn");
	CHECK_OK(randn_at(op, &local, &g, &x, &ks));
	CHECK_INT(ks, g.dk.ks.bits | x.ks.bits);
	CHECK_OK(randn_at(op, &local, NULL, &x, &ks));
	CHECK_INT(ks, x.ks.bits);
	CHECK_OK(randn_at(op, &local, &g, &x, &ks));
	CHECK_OK(dk_call_boxed(op, &randn_op, &local, &args));
	CHECK_INT(ks, x.ks.bits);
	described.extract = NULL;
	ks = 0;
	CHECK_OK(dk_call_boxed(op, &described, &local, &args));
	CHECK_INT(ks, x.ks.bits);
	end(op);
}

static void values_in_and_out(void)
{
	struct tensor t = { 1, t_obj(0) };
	int result;
	struct dk_value v[7] = {
		{ .kind = DK_ARG_OBJECT, .obj = &t.dk },
		{ .kind = DK_ARG_BOOL, .i = 1 },
		{ .kind = DK_ARG_INT, .i = -128 },
		{ .kind = DK_ARG_INT, .i = 65535 },
		{ .kind = DK_ARG_INT, .i = -5 },
		{ .kind = DK_ARG_STRING, .str = "text" },
		{ .kind = DK_ARG_POINTER, .ptr = &result },
	};
	struct dk_value got;
	struct kinds_args a;
	unsigned int i;

	CHECK_OK(dk_args_pack(&kinds_op, v, 7, &a, sizeof(a), &t_why));
	CHECK(a.t == &t && a.b && a.i8 == -128 && a.u16_ == 65535 && a.i64 == -5 &&
	      a.result == &result);
	CHECK_STR(a.s, "text");
	for (i = 0; i < 7; i++) {
		CHECK_OK(dk_arg_get(&kinds_op, &a, i, &got));
		CHECK_INT(got.kind, i == 3 ? DK_ARG_UINT : v[i].kind);
		CHECK_INT(got.u, v[i].u);
	}
	CHECK_INT(dk_arg_find(&kinds_op, "i64"), 4);
	/* refuses: dk_arg_find ENOENT NO_PARAM */
	CHECK_INT(dk_arg_find(&kinds_op, "j"), -ENOENT);
	/* refuses: dk_arg_get ENOENT NO_PARAM */
	CHECK_INT(dk_arg_get(&kinds_op, &a, 7, &got), -ENOENT);
	/* refuses: dk_arg_set ENOENT NO_PARAM */
	CHECK_INT(dk_arg_set(&kinds_op, &a, 7, v, &t_why), -ENOENT);
	CHECK_INT(t_why.reason, DK_WHY_NO_PARAM);
	/* refuses: dk_arg_set EPROTOTYPE ARG_KIND */
	CHECK_INT(dk_arg_set(&kinds_op, &a, 5, v, &t_why), -EPROTOTYPE);
	CHECK_INT(t_why.reason, DK_WHY_ARG_KIND);
	CHECK_STR(t_why.name, "s");
	v[2].i = -129;
	/* refuses: dk_arg_set EINVAL ARG_RANGE */
	CHECK_INT(dk_arg_set(&kinds_op, &a, 2, v + 2, &t_why), -EINVAL);
	/* refuses: dk_args_pack EINVAL ARG_RANGE */
	CHECK_INT(dk_args_pack(&kinds_op, v, 7, &a, sizeof(a), &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_ARG_RANGE);
	CHECK_STR(t_why.name, "i8");
	/* refuses: dk_args_pack EPROTOTYPE ARG_COUNT */
	CHECK_INT(dk_args_pack(&kinds_op, v, 6, &a, sizeof(a), &t_why), -EPROTOTYPE);
	CHECK_INT(t_why.reason, DK_WHY_ARG_COUNT);
	/* refuses: dk_args_pack EINVAL BAD_SIZE */
	CHECK_INT(dk_args_pack(&kinds_op, v, 7, &a, sizeof(a) - 1, &t_why), -EINVAL);
}

T_SUITE(extract,
	T(lists_of_own_objects),
	T(lists_as_parameters),
	T(generators_in_unboxed_calls),
	T(values_in_and_out));
