// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests which objects calls find in their arguments (SEMANTICS 6.1), and arguments as values.
 * full_registry.h explains the comments "refuses:".
 */
#include "test.h"

struct tensor {
	int data;
	struct dk_obj dk;
};

#define DK_OBJECT_TYPES_OF_TEST(X)	X(struct tensor, dk)
#undef DK_OBJECT_TYPES
#define DK_OBJECT_TYPES(X)	DK_OBJECT_TYPES_OF_TEST(X)

DK_OP(cat, "arguments::cat",
	(struct tensor **ts, unsigned int n, struct tensor *out, u32 *device),
	(ts, n, out, device), (DK_LIST_OF(ts, n, dk)));
DK_OP(listed, "arguments::listed",
	(struct dk_list ts, struct dk_obj *more, u32 *device), (ts, more, device),
	(dk_list_obj(&ts), more));
DK_OP(randn, "arguments::randn",
	(struct dk_generator *g, struct dk_obj *x, u64 *ks), (g, x, ks),
	(DK_GENERATOR(g), x));
DK_OP(named, "arguments::named",
	(struct dk_generator *g, struct dk_obj *x, u64 *ks), (g, x, ks),
	(DK_GENERATOR(g), x));
DK_OP(kinds, "arguments::kinds",
	(struct tensor *t, bool b, __s8 i8, u16 u16_, s64 i64, const char *s,
	 int *result), (t, b, i8, u16_, i64, s, result), (t ? &t->dk : NULL));

struct pair {
	int a;
	long b;
};

DK_OP(odd, "arguments::odd", (struct dk_obj *x, struct pair p, u64 *sum), (x, p, sum), (x));

static struct dk_provider prov;
static struct dk_local local;

static int cat_on(struct dk_call *c, struct tensor **ts, unsigned int n,
		  struct tensor *out, u32 *device)
{
	*device = dk_call_device(c);
	return 0;
}

static int listed_on(struct dk_call *c, struct dk_list ts, struct dk_obj *more,
		     u32 *device)
{
	*device = dk_call_device(c);
	return 0;
}

static int randn_ks(struct dk_call *c, struct dk_generator *g, struct dk_obj *x,
		    u64 *ks)
{
	*ks = c->ks.bits;
	return 0;
}

static void setup(const struct dk_op_decl *decl, unsigned int flags)
{
	t_open("v1", 0);
	t_join(&prov, "extract");
	local = t_no_local();
	CHECK_OK(dk_op_define(&prov, decl, flags, &t_why));
}

/* A call uses the keys of all elements of a list of any length. Elements may be NULL. */
static void call_uses_keys_of_all_list_elements(void)
{
	static const struct dk_impl impls[] = { DK_IMPL(cat, DK_CUDA, cat_on) };
	static const struct dk_impl card[] = { DK_IMPL(cat, DK_DENSE, cat_on) };
	static struct tensor *many[5000];
	struct tensor cpu = { 1, dk_obj_on(DK_BACKEND_CPU, 0) }, cuda = cpu;
	u32 number, device = 99;
	struct cat_args args;
	struct dk_op *op;

	setup(&cat_op, 0);
	CHECK_OK(dk_impls_register(&prov, impls, 1, &t_why));
	CHECK_OK(dk_device_register(&prov, DK_BACKEND_CUDA, "card", NULL, card, 1,
				    &number, &t_why));
	op = t_get("arguments::cat");
	cuda.dk = dk_obj_on(DK_BACKEND_CUDA, number);
	many[0] = &cpu;
	many[ARRAY_SIZE(many) - 1] = NULL;	/* an earlier run of this test has set it */
	CHECK_INT(cat_at(op, &local, many, ARRAY_SIZE(many), NULL, &device), -ENOSYS);
	CHECK_INT(cat_at(op, &local, NULL, 0, NULL, &device), -ENOSYS);
	/* the last element also decides the device */
	many[ARRAY_SIZE(many) - 1] = &cuda;
	CHECK_OK(cat_at(op, &local, many, ARRAY_SIZE(many), NULL, &device));
	CHECK_INT(device, number);
	CHECK_INT(cat_at(op, &local, many, ARRAY_SIZE(many) - 1, NULL, &device),
		  -ENOSYS);
	args = (struct cat_args){ many, ARRAY_SIZE(many), NULL, &device };
	device = 99;
	CHECK_OK(dk_call_boxed(op, &cat_op, &local, &args));
	CHECK_INT(device, number);
}

/* A list whose array pointer is NULL counts as absent, even if its length is not 0. */
static void list_without_items_is_absent(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(cat, DK_META, cat_on), DK_IMPL(listed, DK_META, listed_on),
	};
	static const struct dk_impl card[] = { DK_IMPL(listed, DK_DENSE, listed_on) };
	struct dk_obj meta = dk_obj_on(DK_BACKEND_META, 0);
	struct listed_args args = { .more = &meta };
	struct dk_op *by_array, *by_list;
	u32 device = 99, number;

	setup(&cat_op, DK_OP_SAME_DEVICE);
	CHECK_OK(dk_op_define(&prov, &listed_op, DK_OP_SAME_DEVICE, &t_why));
	CHECK_OK(dk_impls_register(&prov, impls, ARRAY_SIZE(impls), &t_why));
	by_array = t_get("arguments::cat");
	by_list = t_get("arguments::listed");
	CHECK_INT(cat_at(by_array, &local, NULL, 3, NULL, &device), -ENOSYS);
	CHECK_INT(dk_list_init(&args.ts, NULL, ~0ul, 0)->ks.bits, 0);
	CHECK(!dk_list_at(&args.ts, 0));
	CHECK_INT(args.ts.n, 0);
	/* a call must not search the items, of which there seem to be very many */
	args.ts.n = ~0ul;
	args.device = &device;
	CHECK_OK(listed_at(by_list, &local, args.ts, &meta, &device));
	CHECK_INT(device, 0);
	device = 99;
	CHECK_OK(dk_call_boxed(by_list, &listed_op, &local, &args));
	CHECK_INT(device, 0);
	CHECK_OK(dk_device_register(&prov, DK_BACKEND_META, "card", NULL, card, 1, &number,
				    &t_why));
	meta.device = number;
	args.ts.n = ~0ul;
	CHECK_OK(listed_at(by_list, &local, args.ts, &meta, &device));
	CHECK_INT(device, number);
	device = 99;
	CHECK_OK(dk_call_boxed(by_list, &listed_op, &local, &args));
	CHECK_INT(device, number);
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

	setup(&listed_op, DK_OP_SAME_DEVICE);
	CHECK_OK(dk_device_register(&prov, DK_BACKEND_CUDA, "d0", NULL, impls, 1, &d0,
				    &t_why));
	CHECK_OK(dk_device_register(&prov, DK_BACKEND_CUDA, "d1", NULL, impls, 1, &d1,
				    &t_why));
	op = t_get("arguments::listed");
	/* functions that fill an object clear this flag */
	a.flags = DK_OBJ_LIST;
	b.flags = DK_OBJ_LIST;
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
	/* boxed calls find the objects by the DK_OP() line or by the description alone */
	args.device = &device;
	device = 99;
	CHECK_OK(dk_call_boxed(op, &listed_op, &local, &args));
	CHECK_INT(device, d0);
	described.extract = NULL;
	device = 99;
	CHECK_OK(dk_call_boxed(op, &described, &local, &args));
	CHECK_INT(device, d0);
	/* the elements are on two devices */
	a = dk_obj_on(DK_BACKEND_CUDA, d1);
	/* refuses: dk_call_boxed EXDEV TWO_DEVICES */
	CHECK_INT(dk_call_boxed(op, &listed_op, &local, &args), -EXDEV);
	CHECK_INT(listed_at(op, &local, args.ts, NULL, &device), -EXDEV);
	/* each call reads the elements again */
	a = dk_obj_on(DK_BACKEND_CPU, 0);
	b = a;
	CHECK_INT(listed_at(op, &local, args.ts, NULL, &device), -ENOSYS);
	/* refuses: dk_call_boxed ENOSYS MISSING */
	CHECK_INT(dk_call_boxed(op, &described, &local, &args), -ENOSYS);
	/* if the caller has no description, that of the definition is used */
	described.param = NULL;
	CHECK_INT(dk_call_boxed(op, &described, &local, &args), -ENOSYS);
}

/* Only unboxed calls and their redispatches use the keys of generators. */
static void unboxed_call_uses_its_generator(void)
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

	setup(&randn_op, 0);
	CHECK_OK(dk_impls_register(&prov, impls, 2, &t_why));
	op = t_get("arguments::randn");
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
}

static void values_are_packed_and_read(void)
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
	struct dk_op_decl other_size = kinds_op, no_params = kinds_op;
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
	/* setting an argument leaves the arguments next to it unchanged */
	v[2].i = 127;
	CHECK_OK(dk_arg_set(&kinds_op, &a, 2, v + 2, &t_why));
	CHECK(a.b && a.i8 == 127 && a.u16_ == 65535 && a.i64 == -5);
	CHECK_INT(dk_arg_find(&kinds_op, "i64"), 4);
	/* refuses: dk_arg_find ENOENT NO_PARAM */
	CHECK_INT(dk_arg_find(&kinds_op, "j"), -ENOENT);
	other_size.size--;
	CHECK_INT(dk_arg_find(&other_size, "i64"), -ENOENT);
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
	v[3].i = 65536;
	CHECK_INT(dk_arg_set(&kinds_op, &a, 3, v + 3, &t_why), -EINVAL);
	v[3].i = -1;
	CHECK_INT(dk_arg_set(&kinds_op, &a, 3, v + 3, &t_why), -EINVAL);
	CHECK_INT(a.u16_, 65535);
	/* refuses: dk_args_pack EINVAL ARG_RANGE */
	CHECK_INT(dk_args_pack(&kinds_op, v, 7, &a, sizeof(a), &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_ARG_RANGE);
	CHECK_STR(t_why.name, "i8");
	/* refuses: dk_args_pack EPROTOTYPE ARG_COUNT */
	CHECK_INT(dk_args_pack(&kinds_op, v, 6, &a, sizeof(a), &t_why), -EPROTOTYPE);
	CHECK_INT(t_why.reason, DK_WHY_ARG_COUNT);
	/* refuses: dk_args_pack EINVAL ARGS_SIZE */
	CHECK_INT(dk_args_pack(&kinds_op, v, 7, &a, sizeof(a) - 1, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_ARGS_SIZE);
	CHECK_STR(t_why.name, "arguments::kinds");
	/* success clears the reason of an earlier failure */
	v[3].i = 1;
	CHECK_OK(dk_arg_set(&kinds_op, &a, 3, v + 3, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_NONE);
	CHECK_STR(t_why.name, "");
	no_params.num_params = 0;
	t_why.reason = DK_WHY_ARGS_SIZE;
	CHECK_OK(dk_args_pack(&no_params, v, 0, &a, sizeof(a), &t_why));
	CHECK_INT(t_why.reason, DK_WHY_NONE);
}

static u32 served_by;

static int randn_served(struct dk_call *c, struct dk_generator *g, struct dk_obj *x,
			u64 *ks)
{
	served_by = dk_call_device(c);
	*ks = c->ks.bits;
	return 0;
}

static int randn_traced(struct dk_call *c, struct dk_generator *g, struct dk_obj *x,
			u64 *ks)
{
	return randn_below(c, g, x, ks);
}

static int randn_traced_boxed(struct dk_call *c, void *args)
{
	return dk_redispatch_boxed(c, dk_call_below(c), args);
}

/* A redispatch uses the keys and the device of a generator only if the call has used them. */
static void redispatch_uses_the_generator_of_its_call(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(randn, DK_CPU, randn_served),
		DK_IMPL(randn, DK_TRACER, randn_traced),
	};
	static const struct dk_impl boxed[] = {
		DK_IMPL_BOXED(randn, DK_TRACER, randn_traced_boxed),
	};
	static const struct dk_impl card[] = { DK_IMPL(randn, DK_DENSE, randn_served) };
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER));
	struct dk_generator g;
	u64 ks = 0;
	struct randn_args args = { &g, &x, &ks };
	unsigned int i;
	struct dk_op *op;
	u32 number;

	setup(&randn_op, 0);
	CHECK_OK(dk_impls_register(&prov, impls, 2, &t_why));
	CHECK_OK(dk_device_register(&prov, DK_BACKEND_CUDA, "card", NULL, card, 1,
				    &number, &t_why));
	g.dk = dk_obj_on(DK_BACKEND_CUDA, number);
	op = t_get("arguments::randn");
	for (i = 0; i < 2; i++) {
		CHECK_OK(randn_at(op, &local, &g, &x, &ks));
		CHECK_INT(served_by, number);
		CHECK_INT(ks, g.dk.ks.bits | DK_KEY_BITS(DK_CPU));
		CHECK_OK(dk_call_boxed(op, &randn_op, &local, &args));
		CHECK_INT(served_by, 0);
		CHECK_INT(ks, DK_KEY_BITS(DK_CPU));
		/* the second time, the redispatching function is boxed */
		if (!i)
			CHECK_OK(dk_impls_register(&prov, boxed, 1, &t_why));
	}
}

static int extract_nothing(struct dk_extract *x, void *args, int generators)
{
	return dk_extracted(x, NULL, 0, DK_KEYSET(0));
}

/* A boxed call without objects is on no device, even if devices have functions. */
static void boxed_call_without_objects(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(randn, DK_COMPOSITE_EXPLICIT_AUTOGRAD, randn_served),
	};
	static const struct dk_impl card[] = { DK_IMPL(randn, DK_DENSE, randn_served) };
	struct dk_op_decl none = randn_op;
	u64 ks = 1;
	struct randn_args args = { NULL, NULL, &ks };
	u32 number;

	setup(&randn_op, 0);
	CHECK_OK(dk_impls_register(&prov, impls, 1, &t_why));
	CHECK_OK(dk_device_register(&prov, DK_BACKEND_CUDA, "card", NULL, card, 1,
				    &number, &t_why));
	none.extract = extract_nothing;
	served_by = number;
	CHECK_OK(dk_call_boxed(t_get("arguments::randn"), &none, &local, &args));
	CHECK_INT(served_by, 0);
	CHECK_INT(ks, 0);
}

static int named_below_it(struct dk_call *c, struct dk_generator *g, struct dk_obj *x, u64 *ks)
{
	return named_below(c, g, x, ks);
}

/* Registers provider @me, which defines the operator and has these functions. */
static void define_named(struct dk_provider *me, const struct dk_impl *impls, unsigned int n)
{
	CHECK_OK(dk_provider_register(me, &t_why));
	CHECK_OK(dk_op_define(me, &named_op, 0, &t_why));
	CHECK_OK(dk_impls_register(me, impls, n, &t_why));
}

static u32 named_on_card(struct dk_provider *me, const char *name)
{
	static const struct dk_impl card[] = { DK_IMPL(named, DK_DENSE, randn_served) };
	u32 number = 0;

	CHECK_OK(dk_device_register(me, DK_BACKEND_CUDA, name, NULL, card, 1, &number,
				    &t_why));
	return number;
}

/* If an unboxed call is redispatched with boxed arguments, its generator is still used. */
static void boxed_redispatch_uses_the_generator(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(named, DK_CPU, randn_served),
		DK_IMPL(named, DK_AUTOGRAD_CUDA, named_below_it),
		DK_IMPL_BOXED(named, DK_TRACER, randn_traced_boxed),
	};
	static struct dk_provider me = DK_PROVIDER("extract_named");
	struct dk_local all = t_no_local();
	struct dk_generator g;
	struct dk_obj x;
	u64 ks = 0;
	u32 number;

	x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU) | DK_KEY_BITS(DK_TRACER));
	define_named(&me, impls, ARRAY_SIZE(impls));
	number = named_on_card(&me, "extract");
	g.dk = dk_obj_on(DK_BACKEND_CUDA, number);
	CHECK_OK(named_in(&all, &g, &x, &ks));
	CHECK_INT(served_by, number);
	CHECK_OK(dk_provider_unregister(&me));
}

/* If a call was made with boxed arguments, its typed redispatches do not use its generator. */
static void boxed_call_ignores_its_generator(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(named, DK_AUTOGRAD_CUDA, named_below_it),
		DK_IMPL(named, DK_TRACER, named_below_it),
	};
	static struct dk_provider me = DK_PROVIDER("extract_named");
	struct dk_local all = t_no_local();
	struct dk_generator g;
	struct dk_obj x;
	u64 ks = 0;
	struct named_args args = { &g, &x, &ks };
	u32 first, second;
	unsigned int i;

	define_named(&me, impls, ARRAY_SIZE(impls));
	first = named_on_card(&me, "extract0");
	second = named_on_card(&me, "extract1");
	/* only the devices differ: both objects have the same backend */
	g.dk = dk_obj_on(DK_BACKEND_CUDA, first);
	x = dk_obj_on(DK_BACKEND_CUDA, second);
	for (i = 0; i < 4; i++) {
		/* the call is redispatched once if i < 2, and otherwise twice */
		x.ks.bits |= DK_KEY_BITS(i < 2 ? DK_AUTOGRAD_CUDA : DK_TRACER);
		CHECK_OK(named_in(&all, &g, &x, &ks));
		CHECK_INT(served_by, first);
		CHECK_OK(dk_call_boxed(NULL, &named_op, &all, &args));
		CHECK_INT(served_by, second);
	}
	/* the signatures were compared, so the boxed calls could take the fast path */
	CHECK(named_op.sig_mark);
	CHECK_OK(dk_provider_unregister(&me));
}

static int how_many(struct dk_call *c, void *args)
{
	served_by = dk_call_frame(c)->n;
	return 0;
}

/* A declaration made by hand may have up to 64 parameters. */
static void many_parameters(void)
{
	static const struct dk_impl impls[] = { DK_IMPL_BOXED(randn, DK_CPU, how_many) };
	static struct dk_param param[65];
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU));
	struct randn_args args = { NULL, &x, NULL };
	struct dk_op_decl many = randn_op;
	struct dk_op *op;
	unsigned int i;

	setup(&randn_op, 0);
	CHECK_OK(dk_impls_register(&prov, impls, 1, &t_why));
	op = t_get("arguments::randn");
	for (i = 0; i < ARRAY_SIZE(param); i++)
		param[i] = randn_op.param[1];
	many.extract = NULL;
	many.param = param;
	many.num_params = 64;
	CHECK_OK(dk_call_boxed(op, &many, &local, &args));
	CHECK_INT(served_by, 64);
	many.num_params = 65;
	CHECK_INT(dk_call_boxed(op, &many, &local, &args), -EPROTOTYPE);
	many.num_params = 1;
	many.size--;
	CHECK_INT(dk_call_boxed(op, &many, &local, &args), -EPROTOTYPE);
}

static void values_of_any_type(void)
{
	struct pair p = { 7, -1 };
	u64 sum;
	struct dk_value v[3] = {
		{ .kind = DK_ARG_POINTER },
		{ .kind = DK_ARG_OTHER, .size = sizeof(p), .ptr = &p },
		{ .kind = DK_ARG_POINTER, .ptr = &sum },
	};
	struct odd_args a;
	struct dk_value got;

	CHECK_INT(odd_op.param[1].kind, DK_ARG_OTHER);
	CHECK_OK(dk_args_pack(&odd_op, v, 3, &a, sizeof(a), &t_why));
	CHECK(!a.x && a.p.a == 7 && a.p.b == -1 && a.sum == &sum);
	CHECK_OK(dk_arg_get(&odd_op, &a, 1, &got));
	CHECK_INT(got.kind, DK_ARG_OTHER);
	CHECK_INT(got.size, sizeof(p));
	/* a pointer to the argument itself, not to a copy */
	CHECK(got.ptr == &a.p);
	v[1].size--;
	CHECK_INT(dk_arg_set(&odd_op, &a, 1, v + 1, &t_why), -EPROTOTYPE);
	CHECK_INT(t_why.reason, DK_WHY_ARG_KIND);
	CHECK_STR(t_why.name, "p");
	v[1] = (struct dk_value){ .kind = DK_ARG_OTHER, .size = sizeof(p) };
	CHECK_INT(dk_arg_set(&odd_op, &a, 1, v + 1, &t_why), -EPROTOTYPE);
	CHECK_INT(t_why.reason, DK_WHY_ARG_KIND);
}

/* Floating-point values are stored as bits, because kernel code must not compute with them. */
static void floating_point(void)
{
	static const struct dk_param param[] = {
		{ .name = "f", .kind = DK_ARG_FLOAT, .offset = 0, .size = 4 },
		{ .name = "d", .kind = DK_ARG_DOUBLE, .offset = 8, .size = 8 },
	};
	struct dk_op_decl decl = t_decl("arguments::floats");
	struct dk_value got, v[2] = {
		{ .kind = DK_ARG_FLOAT, .bits = 0xbfc00000 },		/* -1.5 */
		{ .kind = DK_ARG_DOUBLE, .bits = 0x4004000000000000 },	/* 2.5 */
	};
	u64 args[2] = { ~0ull, ~0ull };
	unsigned int i;
	u32 f;

	decl.param = param;
	decl.num_params = 2;
	decl.args_size = sizeof(args);
	CHECK_OK(dk_args_pack(&decl, v, 2, args, sizeof(args), &t_why));
	memcpy(&f, args, sizeof(f));
	CHECK_INT(f, 0xbfc00000);
	CHECK_INT(args[1], 0x4004000000000000);
	for (i = 0; i < 2; i++) {
		CHECK_OK(dk_arg_get(&decl, args, i, &got));
		CHECK_INT(got.kind, v[i].kind);
		CHECK_INT(got.bits, v[i].bits);
	}
	/* a float is neither a double nor an integer */
	CHECK_INT(dk_arg_set(&decl, args, 0, v + 1, &t_why), -EPROTOTYPE);
	v[0].kind = DK_ARG_INT;
	CHECK_INT(dk_arg_set(&decl, args, 0, v, &t_why), -EPROTOTYPE);
}

/* A number has 1 to 8 bytes. If its description has another size, the core assumes 8 bytes. */
static void number_of_a_wrong_size(void)
{
	static const struct dk_param param[] = {
		{ .name = "none", .kind = DK_ARG_UINT },
		{ .name = "large", .kind = DK_ARG_INT, .offset = 8, .size = 9 },
	};
	struct dk_value v[] = {
		{ .kind = DK_ARG_UINT, .u = ~0ull },
		{ .kind = DK_ARG_INT, .i = -5 },
	};
	struct dk_op_decl decl = t_decl("arguments::sizes");
	u64 args[2];

	decl.param = param;
	decl.num_params = 2;
	decl.args_size = sizeof(args);
	CHECK_OK(dk_args_pack(&decl, v, 2, args, sizeof(args), &t_why));
	CHECK_INT(args[0], ~0ull);
	CHECK_INT(args[1], -5);
}

/* SEMANTICS 6.1: an undefined tensor has two keys, an absent one none. */
static void undefined_and_absent_objects(void)
{
	const struct dk_obj undefined = dk_obj_undefined();

	CHECK_INT(undefined.ks.bits, 0xc00000000);
	CHECK_INT(undefined.ks.bits, DK_KEY_BITS(DK_ADINPLACE_OR_VIEW) |
				     DK_KEY_BITS(DK_AUTOGRAD_OTHER));
	CHECK_INT(undefined.device, 0);
	CHECK_INT(dk_keyset_key(NULL, undefined.ks), DK_AUTOGRAD_OTHER);
}

static u32 max_objs(const struct dk_op_decl *decl, const char *objs)
{
	struct dk_op_info info = { .size = sizeof(info) };
	struct dk_op_decl other = *decl;
	u32 first = 0, i;

	other.dispatched = objs;
	CHECK_OK(dk_op_define(&prov, &other, 0, &t_why));
	for (i = 0; i < 2; i++) {
		CHECK_OK(dk_registry_next_op(t_reg, NULL, &info));
		CHECK_INT(info.max_objs, i ? first : info.max_objs);
		first = info.max_objs;
	}
	CHECK_OK(dk_op_undefine(&prov, decl->name, &t_why));
	return info.max_objs;
}

/* Checks max_objs, the number of objects in the DK_OP() line. */
static void number_of_objects(void)
{
	static const struct dk_impl impls[] = { DK_IMPL_FALLTHROUGH(odd, DK_CPU) };
	struct dk_op_info info = { .size = sizeof(info) };
	char many[512] = "(x";
	struct dk_op *held;

	t_open("v1", 0);
	t_join(&prov, "extract");
	CHECK_INT(max_objs(&odd_op, odd_op.dispatched), 1);
	CHECK_INT(max_objs(&kinds_op, kinds_op.dispatched), 1);
	CHECK_INT(max_objs(&randn_op, randn_op.dispatched), 2);
	/* a list has any number of objects, which is reported as 0 */
	CHECK_INT(max_objs(&cat_op, cat_op.dispatched), 0);
	CHECK_INT(max_objs(&listed_op, listed_op.dispatched), 0);
	CHECK_INT(max_objs(&listed_op, "(&ts.head, more)"), 0);
	CHECK_INT(max_objs(&randn_op, "(x, its_2nd_list(g), x)"), 0);
	CHECK_INT(max_objs(&randn_op, "(x, NOT_DK_GENERATOR(g))"), 0);
	/* these parentheses are not function calls */
	CHECK_INT(max_objs(&randn_op, "( (x), (g, x), g ? (&g->dk) : NULL )"), 3);
	CHECK_INT(max_objs(&randn_op, "( )"), 0);
	/* without the DK_OP() line, the number is unknown and reported as 0 */
	CHECK_INT(max_objs(&randn_op, NULL), 0);
	/* each definition of a held operator sets a new maximum number of objects */
	CHECK_OK(dk_op_define(&prov, &randn_op, 0, &t_why));
	held = dk_op_get(t_reg, randn_op.name);
	CHECK_OK(dk_op_undefine(&prov, randn_op.name, &t_why));
	CHECK_INT(max_objs(&randn_op, "(x, x, x)"), 3);
	CHECK_INT(max_objs(&randn_op, NULL), 0);
	CHECK_INT(max_objs(&randn_op, "(x, x)"), 2);
	while (strlen(many) < 2 * 253)
		strcat(many, ",x");
	CHECK_INT(max_objs(&randn_op, many), 253);
	CHECK_INT(max_objs(&randn_op, strcat(many, ",x")), 254);
	/* 255 and more are reported as 0 */
	CHECK_INT(max_objs(&randn_op, strcat(many, ",x")), 0);
	dk_op_put(held);
	CHECK_OK(dk_op_define(&prov, &odd_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, impls, 1, &t_why));
	CHECK_OK(dk_op_undefine(&prov, odd_op.name, &t_why));
	CHECK_OK(dk_registry_next_op(t_reg, NULL, &info));
	CHECK_INT(info.max_objs, 0);
	t_unregister(&prov);
	t_close();
}

T_SUITE(arguments,
	T(undefined_and_absent_objects),
	T(call_uses_keys_of_all_list_elements),
	T(list_without_items_is_absent),
	T(lists_as_parameters),
	T(unboxed_call_uses_its_generator),
	T(redispatch_uses_the_generator_of_its_call),
	T(boxed_redispatch_uses_the_generator),
	T(boxed_call_without_objects),
	T(boxed_call_ignores_its_generator),
	T(many_parameters),
	T(number_of_objects),
	T(values_are_packed_and_read),
	T(values_of_any_type),
	T(floating_point),
	T(number_of_a_wrong_size));
