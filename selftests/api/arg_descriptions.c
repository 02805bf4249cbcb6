// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests which description of the arguments a boxed function receives: the caller's, or that of the
 * operator's definition.
 */
#include "alloc.h"
#include "test.h"

DK_OP(parcel, "arg_descriptions::parcel", (struct dk_obj *x, int *n), (x, n), (x));

static struct dk_provider author, server;
static struct dk_local local;
static struct dk_op *op;

/* Returns a declaration that has a name, but no signature and no description of the arguments. */
static struct dk_op_decl undescribed(void)
{
	return (struct dk_op_decl){
		.size = sizeof(struct dk_op_decl), .call_abi = DK_ABI_VERSION,
		.name = "arg_descriptions::parcel",
	};
}

/* Serves any operator that has a parameter n. */
static int on_all(struct dk_call *c, void *args)
{
	const struct dk_op_decl *decl = dk_call_described(c);
	struct dk_value n;

	CHECK_STR(decl->name, "arg_descriptions::parcel");
	if (!CHECK_OK(dk_arg_get(decl, args, dk_arg_find(decl, "n"), &n)))
		return -EINVAL;
	*(int *)n.ptr += 10;
	return dk_redispatch_boxed(c, dk_call_below(c), args);
}

static int on_cpu(struct dk_call *c, struct dk_obj *x, int *n)
{
	*n += 1;
	return 0;
}

static int on_autograd(struct dk_call *c, struct dk_obj *x, int *n)
{
	struct parcel_args args = { x, n };

	*n += 100;
	return dk_redispatch_boxed(c, dk_call_below(c), &args);
}

DK_BOXED(parcel, on_autograd_boxed, on_autograd);

static const struct dk_impl impls[] = {
	DK_IMPL(parcel, DK_CPU, on_cpu),
	DK_IMPL(parcel, DK_AUTOGRAD, on_autograd),
};

static const struct dk_impl fallback = DK_FALLBACK(DK_TRACER, on_all);

static void setup_in(unsigned int flags, const struct dk_op_decl *decl)
{
	t_open("v1", flags);
	t_join(&author, "author");
	t_join(&server, "server");
	local = t_no_local();
	CHECK_OK(dk_impls_register(&server, impls, ARRAY_SIZE(impls), &t_why));
	CHECK_OK(dk_fallback_register(&server, &fallback, &t_why));
	CHECK_OK(dk_op_define(&author, decl, 0, &t_why));
	op = t_get("arg_descriptions::parcel");
}

/* Enters a call whose function is boxed. @x must stay valid until the call is left. */
static void enter(struct dk_frame *f, struct dk_op_decl *decl, const struct dk_obj *const *x)
{
	CHECK_OK(dk_call_enter_op(f, op, decl, &local, x, 1));
	CHECK(f->boxed);
}

/* Calls the operator without packing the arguments. The memory of the frame is not zeroed. */
static void run_unboxed(struct dk_op_decl *decl, int *n)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU));
	const struct dk_obj *objs[] = { &x };
	struct dk_frame f;

	memset(&f, 0xa5, sizeof(f));
	CHECK_OK(dk_call_enter_op(&f, op, decl, &local, objs, 1));
	CHECK(!f.boxed);
	CHECK_INT(dk_call_described(&f.call)->num_params, 2);
	CHECK_OK(parcel_run(&f, &x, n));
	dk_call_leave(&f);
}

static void call_undescribed(unsigned int flags)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER) |
				DK_KEY_BITS(DK_AUTOGRAD_CPU));
	const struct dk_obj *objs[] = { &x };
	struct dk_op_decl decl = undescribed();
	int n = 0;
	struct parcel_args args = { &x, &n };
	struct dk_frame f;

	setup_in(flags, &parcel_op);
	CHECK_OK(dk_call_boxed(op, &decl, &local, &args));
	CHECK_INT(n, 111);
	CHECK_OK(dk_call_boxed_key(op, &decl, &local, DK_TRACER, &args));
	CHECK_INT(n, 222);
	/* the caller enters the call and runs its function */
	enter(&f, &decl, objs);
	CHECK_OK(f.boxed(&f.call, &args));
	dk_call_leave(&f);
	CHECK_INT(n, 333);
	/* enter again; now parcel_run() packs the arguments, by the declaration of DK_OP() */
	enter(&f, &decl, objs);
	CHECK_OK(parcel_run(&f, &x, &n));
	dk_call_leave(&f);
	CHECK_INT(n, 444);
	/* a function that is not boxed passes its arguments on to a boxed call */
	decl.sig = parcel_op.sig;
	run_unboxed(&decl, &n);
	CHECK_INT(n, 545);
	/* the signature was compared, so the fast path makes the next call */
	run_unboxed(&decl, &n);
	CHECK_INT(n, 646);
	/* another type is refused */
	decl.sig = "(long n)";
	CHECK_INT(dk_call_boxed(op, &decl, &local, &args), -EPROTOTYPE);
	t_close();
}

static void caller_without_a_description(void)
{
	call_undescribed(0);
	call_undescribed(DK_REGISTRY_FORCE_RESOLVE);
}

static int result_of_last;

static void after_call(struct dk_hooks *h, const struct dk_hook_info *info)
{
	result_of_last = info->result;
}

static struct dk_hooks observer = { .size = sizeof(observer), .after = after_call };

static int plain_served(struct dk_obj *x, int *n)
{
	*n += 1000;
	return 0;
}

/* A function that is not boxed must not get a struct of another layout. */
static void struct_of_another_layout_is_refused(void)
{
	static const struct dk_impl plain[] = { DK_IMPL_PLAIN(parcel, DK_CUDA, plain_served) };
	struct {
		struct dk_obj *x;
		long more;
		int *n;
	} args = { .more = 1 };
	struct tensor {
		u64 data[2];
		struct dk_obj x;
	} t = { };
	struct dk_op_decl decl = undescribed();
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU));
	struct dk_param param[2];
	int n = 0;

	setup_in(0, &parcel_op);
	CHECK_OK(dk_impls_register(&server, plain, 1, &t_why));
	args.x = &x;
	args.n = &n;
	memcpy(param, parcel_op.param, sizeof(param));
	param[1].offset += sizeof(args.more);
	decl.param = param;
	decl.num_params = 2;
	decl.args_size = sizeof(args);
	/* refuses: dk_call_boxed EPROTOTYPE SIGNATURE */
	CHECK_INT(dk_call_boxed(op, &decl, &local, &args), -EPROTOTYPE);
	x = t_obj(DK_KEY_BITS(DK_CUDA));
	CHECK_INT(dk_call_boxed(op, &decl, &local, &args), -EPROTOTYPE);
	/* refused even if the signatures are equal, because the struct was packed by @param */
	decl.sig = parcel_op.sig;
	CHECK_INT(dk_call_boxed(op, &decl, &local, &args), -EPROTOTYPE);
	decl.sig = NULL;
	decl.sig_mark = 0;
	param[1] = parcel_op.param[1];
	param[1].size /= 2;
	CHECK_INT(dk_call_boxed(op, &decl, &local, &args), -EPROTOTYPE);
	param[1].size = parcel_op.param[1].size;
	param[1].kind = DK_ARG_INT;
	CHECK_INT(dk_call_boxed(op, &decl, &local, &args), -EPROTOTYPE);
	param[1].kind = DK_ARG_OTHER + 1;
	CHECK_INT(dk_call_boxed(op, &decl, &local, &args), -EPROTOTYPE);
	param[1] = parcel_op.param[1];
	param[0].obj_offset = offsetof(struct tensor, x);
	t.x = x;
	args.x = (void *)&t;
	CHECK_INT(dk_call_boxed(op, &decl, &local, &args), -EPROTOTYPE);
	param[0] = parcel_op.param[0];
	args.x = &x;
	CHECK_INT(n, 0);
	/* the layout of the function's own declaration is accepted; the names do not matter */
	param[1].kind = DK_ARG_STRING;
	param[1].name = "other";
	memcpy(&args.more, &args.n, sizeof(args.n));
	decl.args_size = parcel_op.args_size;
	CHECK_OK(dk_call_boxed(op, &decl, &local, &args));
	CHECK_INT(n, 1000);
	x = t_obj(DK_KEY_BITS(DK_CPU));
	CHECK_OK(dk_call_boxed(op, &decl, &local, &args));
	CHECK_INT(n, 1001);
}

/* Neither the caller nor the function can unpack the arguments. Hooks get the error, too. */
static void nothing_unpacks_the_arguments(void)
{
	struct dk_op_decl decl = undescribed(), packed = parcel_op;
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CUDA));
	struct dk_impl typed = DK_IMPL(parcel, DK_CUDA, on_cpu);
	int n = 0;
	struct parcel_args args = { &x, &n };

	setup_in(0, &parcel_op);
	packed.unbox = NULL;
	typed.op = &packed;
	CHECK_OK(dk_impls_register(&server, &typed, 1, &t_why));
	CHECK_INT(dk_call_boxed(op, &decl, &local, &args), -EPROTOTYPE);
	CHECK_OK(dk_hooks_register(t_reg, &observer, &t_why));
	CHECK_INT(dk_call_boxed(op, &decl, &local, &args), -EPROTOTYPE);
	CHECK_OK(dk_hooks_unregister(&observer, &t_why));
	CHECK_INT(result_of_last, -EPROTOTYPE);
	CHECK_INT(n, 0);
	CHECK_OK(dk_impls_unregister(&server, &typed, &t_why));
}

/*
 * Calls by name: the first call finds the operator. Then the operator is replaced by one of another
 * type, which refuses the call.
 */
static void caller_by_name(void)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU));
	struct dk_op_decl decl = undescribed(), other = parcel_op;
	struct dk_provider me = DK_PROVIDER("described");
	int n = 0;
	struct parcel_args args = { &x, &n };

	local = t_no_local();
	CHECK_OK(dk_provider_register(&me, &t_why));
	CHECK_INT(dk_call_boxed(NULL, &decl, &local, &args), -ENOENT);
	CHECK_OK(dk_op_define(&me, &parcel_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, impls, 1, &t_why));
	CHECK_OK(dk_call_boxed(NULL, &decl, &local, &args));
	CHECK_OK(dk_call_boxed(NULL, &decl, &local, &args));
	CHECK_INT(n, 2);
	CHECK_OK(dk_impls_unregister(&me, impls, &t_why));
	CHECK_OK(dk_op_undefine(&me, "arg_descriptions::parcel", &t_why));
	/* because of its other type, this definition makes a new operator, without a description */
	other.sig = "(struct dk_obj *y)";
	other.param = NULL;
	CHECK_OK(dk_op_define(&me, &other, 0, &t_why));
	/* refuses: dk_call_boxed EPROTOTYPE SIGNATURE */
	CHECK_INT(dk_call_boxed(NULL, &decl, &local, &args), -EPROTOTYPE);
	CHECK_OK(dk_provider_unregister(&me));
}

/* The memory that a definition was made from may be freed while a call is inside. */
struct short_lived {
	struct dk_op_decl decl;
	struct dk_param param[2];
	char names[2][8];
};

static struct short_lived *make(void)
{
	struct short_lived *s = t_alloc(sizeof(*s));
	unsigned int i;

	s->decl = parcel_op;
	s->decl.extract = NULL;
	s->decl.param = s->param;
	for (i = 0; i < 2; i++) {
		strcpy(s->names[i], parcel_op.param[i].name);
		s->param[i] = parcel_op.param[i];
		s->param[i].name = s->names[i];
	}
	return s;
}

static void operator_is_undefined_during_a_call(void)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER));
	const struct dk_obj *objs[] = { &x };
	struct dk_op_decl decl = undescribed();
	struct short_lived *s = make();
	int n = 0;
	struct parcel_args args = { &x, &n };
	struct dk_frame f;

	setup_in(0, &s->decl);
	enter(&f, &decl, objs);
	CHECK_OK(dk_op_undefine(&author, "arg_descriptions::parcel", &t_why));
	memset(s, 0xa5, sizeof(*s));
	t_free(s);
	CHECK_INT(f.boxed(&f.call, &args), -ENOENT);
	CHECK_INT(n, 10);
	/* the next definition has no description; the call keeps the earlier one */
	decl.sig = parcel_op.sig;
	CHECK_OK(dk_op_define(&author, &decl, 0, &t_why));
	CHECK_OK(f.boxed(&f.call, &args));
	CHECK_INT(n, 21);
	dk_call_leave(&f);
	CHECK_INT(dk_call_boxed(op, &decl, &local, &args), -EPROTOTYPE);
	CHECK_OK(dk_op_undefine(&author, "arg_descriptions::parcel", &t_why));
}

static int place_of_n;

static int find_n(struct dk_call *c, void *args)
{
	const struct dk_op_decl *decl = dk_call_described(c);
	struct dk_value x;
	int err = dk_arg_get(decl, args, 0, &x);

	place_of_n = dk_arg_find(decl, "n");
	return err ? err : (int)x.kind;
}

/*
 * Defines @def and enters a call with @decl or, if @decl is NULL, calls parcel_at(). Returns the
 * kind of argument 0 that a boxed function finds.
 */
static int kind_seen(const struct dk_op_decl *def, struct dk_op_decl *decl)
{
	static const struct dk_impl finds = DK_FALLBACK(DK_TRACER, find_n);
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_TRACER));
	const struct dk_obj *objs[] = { &x };
	int n = 0, kind;
	struct parcel_args args = { &x, &n };
	struct dk_frame f;

	CHECK_OK(dk_op_define(&author, def, 0, &t_why));
	CHECK_OK(dk_fallback_register(&author, &finds, &t_why));
	if (decl) {
		CHECK_OK(dk_call_enter_op(&f, op, decl, &local, objs, 1));
		kind = f.boxed(&f.call, &args);
		dk_call_leave(&f);
	} else {
		kind = parcel_at(op, &local, &x, &n);
	}
	CHECK_OK(dk_impls_unregister(&author, &finds, &t_why));
	CHECK_OK(dk_op_undefine(&author, "arg_descriptions::parcel", &t_why));
	return kind;
}

/*
 * A boxed function receives the caller's description. If the caller has none, or if the signatures
 * of the caller and the definition were compared and both describe one struct, it receives the
 * definition's description.
 */
static void boxed_function_gets_matching_description(void)
{
	struct dk_param turned[2] = { parcel_op.param[1], parcel_op.param[0] };
	struct dk_op_decl untyped = undescribed(), bare = undescribed(), own = parcel_op;
	struct dk_op_decl untyped_own = parcel_op, of_another = parcel_op;
	struct dk_param foreign[2] = { parcel_op.param[0], parcel_op.param[1] };
	long before = dk_test_allocs(), round = 0;
	unsigned int i;

	t_open("v1", 0);
	t_join(&author, "author");
	t_join(&server, "server");
	local = t_no_local();
	CHECK_OK(dk_impls_register(&server, impls, 1, &t_why));
	op = t_get("arg_descriptions::parcel");
	/* the caller's description has a pointer where the definition's has an object */
	foreign[0].kind = DK_ARG_POINTER;
	own.param = foreign;
	CHECK_INT(kind_seen(&parcel_op, &own), DK_ARG_OBJECT);
	CHECK_INT(kind_seen(&parcel_op, &bare), DK_ARG_OBJECT);
	/* also in calls by parcel_op, of which only the first one compares the signatures */
	CHECK_INT(kind_seen(&parcel_op, NULL), DK_ARG_OBJECT);
	CHECK_INT(kind_seen(&own, NULL), DK_ARG_POINTER);
	/* a description of another struct is not used, although the signatures are equal */
	of_another.param = turned;
	CHECK_INT(kind_seen(&of_another, &own), DK_ARG_POINTER);
	CHECK_INT(place_of_n, 1);
	CHECK_INT(kind_seen(&of_another, NULL), DK_ARG_OBJECT);
	CHECK_INT(place_of_n, 1);
	/*
	 * if the caller or the definition has no signature, the caller's description is used, if
	 * any
	 */
	untyped_own.param = foreign;
	untyped_own.sig = NULL;
	CHECK_INT(kind_seen(&parcel_op, &untyped_own), DK_ARG_POINTER);
	untyped.param = foreign;
	untyped.num_params = 2;
	untyped.args_size = sizeof(struct parcel_args);
	CHECK_INT(kind_seen(&untyped, NULL), DK_ARG_OBJECT);
	untyped.param = turned;
	for (i = 0; i < 3; i++) {
		CHECK_INT(kind_seen(&untyped, &own), DK_ARG_POINTER);
		CHECK_INT(place_of_n, 1);
		CHECK_INT(kind_seen(&untyped, NULL), DK_ARG_OBJECT);
		CHECK_INT(place_of_n, 1);
		CHECK_INT(kind_seen(&untyped, &bare), DK_ARG_POINTER);
		CHECK_INT(place_of_n, 0);
		CHECK_INT(kind_seen(&parcel_op, &bare), DK_ARG_OBJECT);
		CHECK_INT(place_of_n, 1);
		/* the description of an earlier definition is not used */
		CHECK_INT(kind_seen(&bare, &bare), -ENOENT);
		CHECK_INT(place_of_n, -ENOENT);
		/* this description is neither the first nor the last of the earlier ones */
		CHECK_INT(kind_seen(&parcel_op, &bare), DK_ARG_OBJECT);
		/* a second identical description takes no memory */
		if (i)
			CHECK_INT(dk_test_allocs(), round);
		round = dk_test_allocs();
	}
	t_close();
	CHECK_INT(dk_test_allocs(), before);
}

static struct dk_obj *instead;

static int on_tracer(struct dk_call *c, void *args)
{
	((struct parcel_args *)args)->x = instead;
	return dk_redispatch_boxed(c, dk_call_below(c), args);
}

static int on_card(struct dk_call *c, struct dk_obj *x, int *n)
{
	CHECK(x == instead);
	*n = dk_call_device(c);
	return 0;
}

/* A redispatch uses the arguments as the boxed function has changed them. */
static void redispatch_uses_replaced_arguments(void)
{
	static const struct dk_impl of_card[] = { DK_IMPL(parcel, DK_DENSE, on_card) };
	static const struct dk_impl replaces[] = {
		DK_IMPL_BOXED(parcel, DK_TRACER, on_tracer),
	};
	struct dk_op_decl decl = undescribed();
	unsigned int backend;
	struct dk_obj x, y;
	int n = 0;
	struct parcel_args args = { &x, &n };
	u32 one, two;

	setup_in(0, &parcel_op);
	CHECK_OK(dk_impls_register(&server, replaces, 1, &t_why));
	CHECK_OK(dk_backend_join(&server, "edu", 0, 0, &backend, &t_why));
	CHECK_OK(dk_device_register(&server, backend, "one", NULL, of_card, 1, &one, &t_why));
	CHECK_OK(dk_device_register(&server, backend, "two", NULL, of_card, 1, &two, &t_why));
	x = dk_obj_on(backend, one);
	x.ks.bits |= DK_KEY_BITS(DK_TRACER);
	y = dk_obj_on(backend, two);
	instead = &y;
	CHECK_OK(dk_call_boxed(op, &decl, &local, &args));
	CHECK_INT(n, two);
}

static int on_tracer_unchanged(struct dk_call *c, void *args)
{
	return dk_redispatch_boxed(c, dk_call_below(c), args);
}

static int on_card_boxed(struct dk_call *c, void *args)
{
	*((struct parcel_args *)args)->n = dk_call_device(c);
	return 0;
}

/*
 * If neither the caller nor the definition describes the arguments, a redispatch uses the objects
 * with which the call was entered.
 */
static void redispatch_without_a_description(void)
{
	static const struct dk_impl of_card[] = {
		DK_IMPL_BOXED(parcel, DK_DENSE, on_card_boxed),
	};
	static const struct dk_impl fallbacks[] = { DK_FALLBACK(DK_TRACER, on_tracer_unchanged) };
	struct dk_op_decl decl = undescribed();
	unsigned int backend, i;
	struct dk_frame f;
	u32 card[2];

	t_open("v1", 0);
	t_join(&author, "author");
	t_join(&server, "server");
	local = t_no_local();
	CHECK_OK(dk_op_define(&author, &decl, 0, &t_why));
	CHECK_OK(dk_fallback_register(&server, fallbacks, &t_why));
	CHECK_OK(dk_backend_join(&server, "edu", 0, 0, &backend, &t_why));
	for (i = 0; i < 2; i++)
		CHECK_OK(dk_device_register(&server, backend, i ? "two" : "one", NULL, of_card, 1,
					    &card[i], &t_why));
	op = t_get("arg_descriptions::parcel");
	for (i = 0; i < 2; i++) {
		struct dk_obj x = dk_obj_on(backend, card[i]);
		const struct dk_obj *objs[] = { &x };
		int n = 0;
		struct parcel_args args = { NULL, &n };

		x.ks.bits |= DK_KEY_BITS(DK_TRACER);
		enter(&f, &decl, objs);
		CHECK_OK(f.boxed(&f.call, &args));
		dk_call_leave(&f);
		CHECK_INT(n, card[i]);
	}
}

/*
 * A boxed function that DK_BOXED() defines compares the caller's type, even if the definition
 * describes the arguments.
 */
static void adapter_compares_the_type(void)
{
	static const struct dk_impl adapted[] = {
		DK_IMPL_BOXED(parcel, DK_AUTOGRAD, on_autograd_boxed),
	};
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU));
	int n = 0;

	setup_in(0, &parcel_op);
	CHECK_OK(dk_impls_register(&server, adapted, 1, &t_why));
	CHECK_OK(parcel_at(op, &local, &x, &n));
	CHECK_INT(n, 101);
}

T_SUITE(arg_descriptions,
	T(caller_without_a_description),
	T(struct_of_another_layout_is_refused),
	T(nothing_unpacks_the_arguments),
	T(caller_by_name),
	T(operator_is_undefined_during_a_call),
	T(boxed_function_gets_matching_description),
	T(redispatch_uses_replaced_arguments),
	T(redispatch_without_a_description),
	T(adapter_compares_the_type));
