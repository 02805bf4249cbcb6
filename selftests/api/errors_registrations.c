// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests errors when operators, functions, fallbacks, backends and devices are registered and
 * unregistered. A request that fails must not change a full registry. full_registry.h explains the
 * comments "refuses:".
 */
#include "full_registry.h"

static char key_name[DK_NAME_MAX];

/* ---- operators ----------------------------------------------------------- */

static void operators(void)
{
	static const struct dk_param nameless = { .kind = DK_ARG_OBJECT, .size = sizeof(void *) };
	/* the argument struct has room for two pointers */
	static const struct dk_param params[] = {
		{ "no kind", DK_ARG_NONE, 0, 1, 0 },
		{ "unknown kind", DK_ARG_OTHER + 1, 0, 1, 0 },
		{ "empty", DK_ARG_INT, 0, 0, 0 },
		{ "no room for a pointer", DK_ARG_STRING, 0, sizeof(void *) - 1, 0 },
		{ "no room for a list", DK_ARG_LIST, 0, sizeof(void *), 0 },
		{ "begins outside", DK_ARG_BOOL, 2 * sizeof(void *), 1, 0 },
		{ "ends outside", DK_ARG_OTHER, sizeof(void *) + 1, sizeof(void *), 0 },
		{ "the sum overflows", DK_ARG_OTHER, ~0U, 1, 0 },
	};
	struct dk_op_decl bad;
	struct dk_op *op;
	unsigned int i;

	r_open();
	bad = r_new;
	bad.size = 0;
	/* refuses: dk_op_define EPROTO ABI */
	REFUSED(dk_op_define(&r_a, &bad, 0, &t_why), EPROTO, ABI, "struct dk_op_decl");
	bad = r_new;
	bad.call_abi++;
	REFUSED(dk_op_define(&r_a, &bad, 0, &t_why), EPROTO, ABI, "struct dk_op_decl");
	/* refuses: dk_op_define EINVAL BAD_FLAGS */
	REFUSED(dk_op_define(&r_a, &r_new, 1u << 30, &t_why), EINVAL, BAD_FLAGS,
		"r::new");
	bad = r_new;
	/* refuses: dk_op_define EINVAL BAD_NAME */
	bad.name = "";
	REFUSED(dk_op_define(&r_a, &bad, 0, &t_why), EINVAL, BAD_NAME, "");
	bad.name = "r::new op";
	REFUSED(dk_op_define(&r_a, &bad, 0, &t_why), EINVAL, BAD_NAME, "r::new op");
	bad = r_new;
	bad.param = &nameless;
	bad.num_params = 1;
	REFUSED(dk_op_define(&r_a, &bad, 0, &t_why), EINVAL, BAD_NAME, "");
	/* refuses: dk_op_define EINVAL PARAM */
	bad.args_size = 2 * sizeof(void *);
	for (i = 0; i < ARRAY_SIZE(params); i++) {
		bad.param = &params[i];
		REFUSED(dk_op_define(&r_a, &bad, 0, &t_why), EINVAL, PARAM, params[i].name);
	}
	/* refuses: dk_op_define EINVAL SCHEMA_ARGS */
	bad.num_params = 65;
	REFUSED(dk_op_define(&r_a, &bad, 0, &t_why), EINVAL, SCHEMA_ARGS, "r::new");
	/* refuses: dk_op_define EINVAL UNREGISTERED */
	REFUSED(dk_op_define(&r_none, &r_new, 0, &t_why), EINVAL, UNREGISTERED,
		"none");
	/* refuses: dk_op_define EEXIST DEFINED */
	REFUSED(dk_op_define(&r_a, &r_def, 0, &t_why), EEXIST, DEFINED,
		"r::op: a -> a");
	REFUSED(dk_op_define(&r_b, &r_def, 0, &t_why), EEXIST, DEFINED,
		"r::op: a -> b");
	/* refuses: dk_op_define EINVAL NOT_ATOMIC */
	REFUSED(dk_op_define(&r_a, &r_impl, DK_OP_ATOMIC, &t_why), EINVAL,
		NOT_ATOMIC, "r::impl");
	/* while a caller holds an operator, a definition cannot make it atomic */
	CHECK_OK(dk_op_undefine(&r_a, "r::op", &t_why));
	op = dk_op_get(t_reg, "r::op");
	r_rebase();
	/* refuses: dk_op_define EBUSY CLASS */
	REFUSED(dk_op_define(&r_a, &r_def, DK_OP_ATOMIC, &t_why), EBUSY, CLASS,
		"r::op");
	dk_op_put(op);
	CHECK_OK(dk_op_define(&r_a, &r_def, 0, &t_why));
	r_rebase();
	bad = r_impl;
	bad.sig = "(int)";
	/* refuses: dk_op_define EPROTOTYPE SIGNATURE */
	REFUSED(dk_op_define(&r_b, &bad, 0, &t_why), EPROTOTYPE, SIGNATURE,
		"r::impl: (struct dk_obj *x, struct dk_obj *y,..., f4 (b) at "
		"CompositeImplicitAutograd -> (int), b");

	/* a schema must have the name of its operator: SEMANTICS 7.6 */
	bad = r_new;
	bad.schema = "r::newer(Tensor x) -> ()";
	/* refuses: dk_op_define EINVAL SCHEMA_NAME */
	REFUSED(dk_op_define(&r_a, &bad, 0, &t_why), EINVAL, SCHEMA_NAME,
		"r::newer vs r::new");
	bad.schema = " r::new.out (Tensor x) -> ()";
	REFUSED(dk_op_define(&r_a, &bad, 0, &t_why), EINVAL, SCHEMA_NAME,
		"r::new.out vs r::new");
	bad.schema = "(Tensor x) -> ()";
	REFUSED(dk_op_define(&r_a, &bad, 0, &t_why), EINVAL, SCHEMA_NAME,
		"no name vs r::new");
	/* refuses: dk_op_undefine ENOENT NO_OPERATOR */
	REFUSED(dk_op_undefine(&r_a, "r::new", &t_why), ENOENT, NO_OPERATOR,
		"r::new");
	/* refuses: dk_op_undefine ENOENT NOT_THERE */
	REFUSED(dk_op_undefine(&r_b, "r::op", &t_why), ENOENT, NOT_THERE, "r::op");
	REFUSED(dk_op_undefine(&r_a, "r::impl", &t_why), ENOENT, NOT_THERE,
		"r::impl");
	/* refuses: dk_op_undefine EINVAL UNREGISTERED */
	REFUSED(dk_op_undefine(&r_none, "r::op", &t_why), EINVAL, UNREGISTERED,
		"none");
	CHECK(!dk_op_get(t_reg, "r::new"));
	r_close();
}

/* ---- functions ----------------------------------------------------------- */

/* A valid function, followed by an invalid one. Neither is registered. */
static struct dk_impl two[2];

static struct dk_impl *second(struct dk_impl bad)
{
	two[0] = t_impl(&r_new, DK_CPU, 7);
	two[1] = bad;
	return two;
}

typedef int (*register_fn)(const struct dk_impl *impls, unsigned int n);

static int plainly(const struct dk_impl *impls, unsigned int n)
{
	return dk_impls_register(&r_b, impls, n, &t_why);
}

static int at_backend(const struct dk_impl *impls, unsigned int n)
{
	return dk_backend_impls_register(&r_b, DK_BACKEND_CPU, impls, n, &t_why);
}

/*
 * Checks the refusals that dk_impls_register() and dk_backend_impls_register() have in
 * common.
 */
static void functions_by(register_fn reg)
{
	struct dk_impl good = t_impl(&r_def, DK_CUDA, 8), bad;
	struct dk_op_decl decl;

	bad = good;
	bad.size = 0;
	bad.label = (const char *)1;	/* this field might not be a label in another version */
	bad.op = NULL;
	/* refuses: dk_impls_register EINVAL BAD_SIZE */
	/* refuses: dk_backend_impls_register EINVAL BAD_SIZE */
	REFUSED(reg(second(bad), 2), EINVAL, BAD_SIZE, "struct dk_impl");
	bad = good;
	bad.flags = 0x8000;
	/* refuses: dk_impls_register EINVAL BAD_FLAGS */
	/* refuses: dk_backend_impls_register EINVAL BAD_FLAGS */
	REFUSED(reg(second(bad), 2), EINVAL, BAD_FLAGS, "f8");
	bad = good;
	bad.op = NULL;
	/* refuses: dk_impls_register EINVAL NO_DECL */
	/* refuses: dk_backend_impls_register EINVAL NO_DECL */
	REFUSED(reg(second(bad), 2), EINVAL, NO_DECL, "f8");
	decl = r_def;
	decl.size++;
	bad.op = &decl;
	/* refuses: dk_impls_register EPROTO ABI */
	/* refuses: dk_backend_impls_register EPROTO ABI */
	REFUSED(reg(second(bad), 2), EPROTO, ABI, "struct dk_op_decl");
	/* functions of this declaration read the struct dk_call of another version */
	decl = r_def;
	decl.call_abi++;
	REFUSED(reg(second(bad), 2), EPROTO, ABI, "struct dk_op_decl");
	decl = r_def;
	decl.name = "";
	/* refuses: dk_impls_register EINVAL BAD_NAME */
	/* refuses: dk_backend_impls_register EINVAL BAD_NAME */
	REFUSED(reg(second(bad), 2), EINVAL, BAD_NAME, "");
	bad = good;
	/* refuses: dk_impls_register EINVAL BAD_KEY */
	/* refuses: dk_backend_impls_register EINVAL BAD_KEY */
	bad.key = DK__KEY_END;
	REFUSED(reg(second(bad), 2), EINVAL, BAD_KEY, "156");
	bad.key = DK_END_OF_FUNCTIONALITY_KEYS;
	REFUSED(reg(second(bad), 2), EINVAL, BAD_KEY, "47");
	bad.key = DK_START_OF_SPARSE_BACKENDS;
	REFUSED(reg(second(bad), 2), EINVAL, BAD_KEY, "82");
	bad.key = 0xffff;
	REFUSED(reg(second(bad), 2), EINVAL, BAD_KEY, "65535");
	bad = good;
	bad.fn = NULL;
	/* refuses: dk_impls_register EINVAL NO_FUNCTION */
	/* refuses: dk_backend_impls_register EINVAL NO_FUNCTION */
	REFUSED(reg(second(bad), 2), EINVAL, NO_FUNCTION, "f8");
	/* without a label, the name of the operator is reported */
	bad.label = NULL;
	REFUSED(reg(second(bad), 2), EINVAL, NO_FUNCTION, bad.op->name);
	bad.label = "f8";
	bad.flags = DK_IMPL_F_BOXED;
	REFUSED(reg(second(bad), 2), EINVAL, NO_FUNCTION, "f8");
	bad = good;
	bad.flags = DK_IMPL_F_FALLTHROUGH;
	REFUSED(reg(second(bad), 2), EINVAL, NO_FUNCTION, "f8");
	bad = good;
	bad.op = &r_atomic;
	/* refuses: dk_impls_register EINVAL NOT_ATOMIC */
	/* refuses: dk_backend_impls_register EINVAL NOT_ATOMIC */
	REFUSED(reg(second(bad), 2), EINVAL, NOT_ATOMIC, "f8");
	bad = good;
	bad.op = &r_other_sig;
	/* refuses: dk_impls_register EPROTOTYPE SIGNATURE */
	/* refuses: dk_backend_impls_register EPROTOTYPE SIGNATURE */
	REFUSED(reg(second(bad), 2), EPROTOTYPE, SIGNATURE,
		"r::op: (struct dk_obj *x, struct dk_obj *y,..., a -> (float), "
		"f8 (b) at CUDA");
	/* the first function of an array sets a new operator's signature for the other functions */
	decl = r_new;
	decl.sig = "(float)";
	bad = t_impl(&decl, DK_CUDA, 8);
	REFUSED(reg(second(bad), 2), EPROTOTYPE, SIGNATURE,
		"r::new: (struct dk_obj *x, struct dk_obj *y,..., f7 (b) at CPU -> "
		"(float), f8 (b) at CUDA");
	two[0] = bad;
	two[1] = t_impl(&r_new, DK_CPU, 7);
	REFUSED(reg(two, 2), EPROTOTYPE, SIGNATURE,
		"r::new: (float), f8 (b) at CUDA -> (struct dk_obj *x, "
		"struct dk_obj *y,..., f7 (b) at CPU");
}

static void functions(void)
{
	static const unsigned int blocks[] = {
		DK_DENSE, DK_QUANTIZED, DK_SPARSE, DK_SPARSE_CSR, DK_NESTED_TENSOR,
		DK_AUTOGRAD_FUNCTIONALITY,
	};
	struct dk_impl bad;
	unsigned int i;

	r_open();
	functions_by(plainly);
	functions_by(at_backend);
	/*
	 * a building block needs a backend or a device: without one, it stands for no runtime key
	 */
	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		bad = t_impl(&r_def, blocks[i], 8);
		bad.flags = 0;
		/* refuses: dk_impls_register EINVAL BUILDING_BLOCK */
		REFUSED(plainly(second(bad), 2), EINVAL, BUILDING_BLOCK,
			dk_key_name(NULL, blocks[i], key_name));
	}
	CHECK(strstr(t_why.text, "needs a backend or a device"));
	CHECK_OK(at_backend(second(bad), 2));
	r_rebase();
	/* refuses: dk_impls_register EEXIST TABLE_REGISTERED */
	REFUSED(plainly(two, 2), EEXIST, TABLE_REGISTERED, "f7 (b)");
	/* refuses: dk_backend_impls_register EEXIST TABLE_REGISTERED */
	REFUSED(at_backend(two, 2), EEXIST, TABLE_REGISTERED, "f7 (b)");
	CHECK_OK(dk_impls_unregister(&r_b, two, &t_why));
	r_rebase();
	second(t_impl(&r_def, DK_CUDA, 8));
	/* refuses: dk_impls_register ENOSPC TABLE_SIZE */
	REFUSED(plainly(two, 524289), ENOSPC, TABLE_SIZE, "b");
	/* refuses: dk_backend_impls_register ENOSPC TABLE_SIZE */
	REFUSED(at_backend(two, 524289), ENOSPC, TABLE_SIZE, "b");
	/* refuses: dk_impls_register EINVAL NULL_ARGUMENT */
	REFUSED(plainly(NULL, 1), EINVAL, NULL_ARGUMENT, "impls");
	/* refuses: dk_backend_impls_register EINVAL NULL_ARGUMENT */
	REFUSED(at_backend(NULL, 1), EINVAL, NULL_ARGUMENT, "impls");
	/* refuses: dk_device_register EINVAL NULL_ARGUMENT */
	REFUSED(dk_device_register(&r_a, r_edu, "new", NULL, NULL, 1, NULL, &t_why), EINVAL,
		NULL_ARGUMENT, "impls");
	REFUSED(dk_impls_register(NULL, two, 2, &t_why), EINVAL, NULL_ARGUMENT, "prov");
	/* refuses: dk_impls_unregister EINVAL NULL_ARGUMENT */
	REFUSED(dk_impls_unregister(NULL, two, &t_why), EINVAL, NULL_ARGUMENT, "prov");
	/* refuses: dk_fallback_register EINVAL NULL_ARGUMENT */
	REFUSED(dk_fallback_register(&r_a, NULL, &t_why), EINVAL, NULL_ARGUMENT, "impl");
	/* refuses: dk_impls_register EINVAL UNREGISTERED */
	REFUSED(dk_impls_register(&r_none, two, 2, &t_why), EINVAL, UNREGISTERED,
		"none");
	/* refuses: dk_backend_impls_register EINVAL UNREGISTERED */
	REFUSED(dk_backend_impls_register(&r_none, 1, two, 2, &t_why), EINVAL,
		UNREGISTERED, "none");
	/* refuses: dk_backend_impls_register EINVAL BAD_BACKEND */
	REFUSED(dk_backend_impls_register(&r_b, 0, two, 2, &t_why), EINVAL,
		BAD_BACKEND, "0");
	REFUSED(dk_backend_impls_register(&r_b, DK_NUM_BACKENDS + 1, two, 2, &t_why),
		EINVAL, BAD_BACKEND, "17");
	/* refuses: dk_impls_unregister ENOENT NOT_THERE */
	REFUSED(dk_impls_unregister(&r_a, two, &t_why), ENOENT, NOT_THERE, "a");
	REFUSED(dk_impls_unregister(&r_b, r_table, &t_why), ENOENT, NOT_THERE, "f1 (a)");
	REFUSED(dk_impls_unregister(&r_a, r_table + 1, &t_why), ENOENT, NOT_THERE,
		"a");
	/* the functions of a device are unregistered only with the device */
	REFUSED(dk_impls_unregister(&r_a, r_device_table, &t_why), ENOENT, NOT_THERE,
		"a");
	/* refuses: dk_impls_unregister EINVAL UNREGISTERED */
	REFUSED(dk_impls_unregister(&r_none, two, &t_why), EINVAL, UNREGISTERED,
		"none");
	/* refuses: dk_impls_withdraw ENOENT NOT_THERE */
	REFUSED(dk_impls_withdraw(&r_a, two, &t_why), ENOENT, NOT_THERE, "a");
	REFUSED(dk_impls_withdraw(&r_a, r_device_table, &t_why), ENOENT, NOT_THERE,
		"a");
	/* refuses: dk_impls_withdraw EINVAL UNREGISTERED */
	REFUSED(dk_impls_withdraw(&r_none, two, &t_why), EINVAL, UNREGISTERED,
		"none");
	r_close();
}

static void empty_array_registers_nothing(void)
{
	r_open();
	second(t_impl(&r_def, DK_CUDA, 8));
	CHECK_OK(plainly(two, 0));
	CHECK_OK(at_backend(two, 0));
	CHECK_OK(plainly(NULL, 0));
	REFUSED(dk_impls_unregister(&r_b, two, &t_why), ENOENT, NOT_THERE, "b");
	REFUSED(dk_impls_withdraw(&r_b, two, &t_why), ENOENT, NOT_THERE, "b");
	CHECK_OK(plainly(two, 2));
	CHECK_OK(plainly(two, 0));
	CHECK_OK(dk_impls_unregister(&r_b, two, &t_why));
	r_rebase();
	REFUSED(dk_impls_unregister(&r_b, two, &t_why), ENOENT, NOT_THERE, "b");
	r_close();
}

/*
 * An operator can have any number of functions, because its dispatch table contains only the active
 * ones. A layout has fewer than 250 entries.
 */
static void operator_with_many_functions(void)
{
	enum { MANY = 300 };
	struct dk_impl *impls = t_alloc(MANY * sizeof(*impls));
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));
	struct dk_op *op;
	unsigned int i;

	r_open();
	for (i = 0; i < MANY; i++)
		impls[i] = t_impl(&r_def, dk_slot_key(NULL, 1 + i % (DK_NUM_ENTRIES - 1)),
				  i % T_FUNCTIONS);
	CHECK_OK(dk_impls_register(&r_b, impls, MANY, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_OVERRIDE);
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	op = dk_op_get(t_reg, "r::op");
	CHECK_STR(t_route_label(op, &cpu, NULL),
		  t_labels[(dk_key_slot(NULL, DK_CPU) - 1 + 2 * (DK_NUM_ENTRIES - 1)) %
			   T_FUNCTIONS]);
	CHECK_OK(dk_impls_unregister(&r_b, impls, &t_why));
	CHECK_STR(t_route_label(op, &cpu, NULL), "f1");
	dk_op_put(op);
	t_free(impls);
	r_rebase();
	r_close();
}

static int boxed(struct dk_call *c, void *args)
{
	return 0;
}

static void fallbacks(void)
{
	static struct dk_impl good = DK_FALLBACK(DK_PYTHON, boxed);
	struct dk_op_decl decl = t_decl("errors::one");
	struct dk_impl bad;

	r_open();
	bad = good;
	bad.key = DK_TRACER;
	/* refuses: dk_fallback_register EEXIST FALLBACK_EXISTS */
	REFUSED(dk_fallback_register(&r_b, &bad, &t_why), EEXIST, FALLBACK_EXISTS,
		"Tracer: fallthrough (a) -> boxed (b)");
	REFUSED(dk_fallback_register(&r_a, &bad, &t_why), EEXIST, FALLBACK_EXISTS,
		"Tracer: fallthrough (a) -> boxed (a)");
	/* fallbacks for a backend stay registered while it is offline */
	bad.key = dk_runtime_key(NULL, DK_NESTED_TENSOR, r_edu);
	CHECK_OK(dk_backend_set_online(t_reg, r_edu, 0, &t_why));
	r_rebase();
	REFUSED(dk_fallback_register(&r_a, &bad, &t_why), EEXIST, FALLBACK_EXISTS,
		"NestedTensorPrivateUse1: fallthrough (b) -> boxed (a)");
	CHECK_OK(dk_backend_set_online(t_reg, r_edu, 1, &t_why));
	r_rebase();
	/* refuses: dk_fallback_register EINVAL NOT_RUNTIME_KEY */
	bad.key = DK_DENSE;
	REFUSED(dk_fallback_register(&r_a, &bad, &t_why), EINVAL, NOT_RUNTIME_KEY,
		"Dense");
	bad.key = DK_UNDEFINED;
	REFUSED(dk_fallback_register(&r_a, &bad, &t_why), EINVAL, NOT_RUNTIME_KEY,
		"Undefined");
	/* refuses: dk_fallback_register EINVAL BAD_KEY */
	bad.key = 999;
	REFUSED(dk_fallback_register(&r_a, &bad, &t_why), EINVAL, BAD_KEY, "999");
	bad.key = DK_START_OF_DENSE_BACKENDS;
	REFUSED(dk_fallback_register(&r_a, &bad, &t_why), EINVAL, BAD_KEY, "48");
	/* refuses: dk_fallback_register EINVAL FALLBACK_FUNCTION */
	bad = good;
	bad.flags = 0;
	REFUSED(dk_fallback_register(&r_a, &bad, &t_why), EINVAL, FALLBACK_FUNCTION,
		"boxed");
	bad.label = NULL;
	REFUSED(dk_fallback_register(&r_a, &bad, &t_why), EINVAL, FALLBACK_FUNCTION, "");
	bad = good;
	bad.op = &decl;
	REFUSED(dk_fallback_register(&r_a, &bad, &t_why), EINVAL, FALLBACK_FUNCTION, "boxed");
	/* refuses: dk_fallback_register EINVAL NO_FUNCTION */
	bad = good;
	bad.fn = NULL;
	REFUSED(dk_fallback_register(&r_a, &bad, &t_why), EINVAL, NO_FUNCTION,
		"boxed");
	/* refuses: dk_fallback_register EINVAL BAD_SIZE */
	bad = good;
	bad.size--;
	REFUSED(dk_fallback_register(&r_a, &bad, &t_why), EINVAL, BAD_SIZE,
		"struct dk_impl");
	/* refuses: dk_fallback_register EINVAL UNREGISTERED */
	REFUSED(dk_fallback_register(&r_none, &good, &t_why), EINVAL, UNREGISTERED,
		"none");

	/* a fallback for an alias key is registered at all of its keys or at none */
	bad = good;
	bad.key = DK_AUTOGRAD_META;
	CHECK_OK(dk_fallback_register(&r_b, &bad, &t_why));
	r_rebase();
	good.key = DK_AUTOGRAD;
	REFUSED(dk_fallback_register(&r_a, &good, &t_why), EEXIST, FALLBACK_EXISTS,
		"AutogradMeta: boxed (b) -> boxed (a)");
	good.key = DK_PYTHON;
	CHECK_OK(dk_impls_unregister(&r_b, &bad, &t_why));
	r_rebase();
	r_close();
}

/* ---- backends and devices ------------------------------------------------ */

static void backends(void)
{
	static const char *const words[] = {
		"", "e du", "a|b", "a,b", "a@b", "0x12", "0X", "a::b", "\xc3\xa9",
		"a23456789012345678901234567890123456789012345678901234567",
	};
	unsigned int i, n = 77, third;

	r_open();
	/* refuses: dk_backend_join EINVAL UNREGISTERED */
	REFUSED(dk_backend_join(&r_none, "edu", 0, 0, &n, &t_why), EINVAL,
		UNREGISTERED, "none");
	/* refuses: dk_backend_join EINVAL LAYOUT_NAME */
	for (i = 0; i < ARRAY_SIZE(words); i++)
		REFUSED(dk_backend_join(&r_b, words[i], 0, 0, &n, &t_why), EINVAL, LAYOUT_NAME,
			words[i]);
	REFUSED(dk_backend_join(&r_b, NULL, 0, 0, &n, &t_why), EINVAL, LAYOUT_NAME, "");
	/* refuses: dk_backend_join EINVAL NAME_TAKEN */
	REFUSED(dk_backend_join(&r_b, "cuda", 0, 0, &n, &t_why), EINVAL, NAME_TAKEN,
		"CUDA");
	REFUSED(dk_backend_join(&r_b, "autograd", 0, 0, &n, &t_why), EINVAL,
		NAME_TAKEN, "Autograd");
	REFUSED(dk_backend_join(&r_b, "PrivateUse3", 0, 0, &n, &t_why), EINVAL,
		NAME_TAKEN, "PrivateUse3");
	/* refuses: dk_backend_join EINVAL NOT_PRIVATE */
	REFUSED(dk_backend_join(&r_b, "third", DK_BACKEND_CUDA, 0, &n, &t_why),
		EINVAL, NOT_PRIVATE, "CUDA");
	REFUSED(dk_backend_join(&r_b, "third", DK_NUM_BACKENDS + 1, 0, &n, &t_why),
		EINVAL, NOT_PRIVATE, "17");
	/* refuses: dk_backend_join EINVAL BAD_FLAGS */
	REFUSED(dk_backend_join(&r_b, "third", 0, 1u << 31, &n, &t_why), EINVAL,
		BAD_FLAGS, "third");
	/* refuses: dk_backend_join EBUSY BACKEND_OWNED */
	REFUSED(dk_backend_join(&r_b, "solo", 0, 0, &n, &t_why), EBUSY,
		BACKEND_OWNED, "a");
	/* refuses: dk_backend_join EBUSY BACKEND_SHARED */
	REFUSED(dk_backend_join(&r_a, "edu", 0, DK_JOIN_ALONE, &n, &t_why), EBUSY,
		BACKEND_SHARED, "edu");
	/* refuses: dk_backend_join EBUSY BACKEND_PINNED */
	REFUSED(dk_backend_join(&r_b, "edu", DK_BACKEND_PRIVATEUSE3, 0, &n, &t_why),
		EBUSY, BACKEND_PINNED, "edu");
	REFUSED(dk_backend_join(&r_b, "third", r_edu, 0, &n, &t_why), EBUSY,
		BACKEND_PINNED, "edu");
	/* refuses: dk_backend_release ENOENT NO_BACKEND */
	REFUSED(dk_backend_release(t_reg, "third", &t_why), ENOENT, NO_BACKEND,
		"third");
	REFUSED(dk_backend_release(t_reg, "CPU", &t_why), ENOENT, NO_BACKEND, "CPU");
	/* refuses: dk_backend_release EBUSY BACKEND_USED */
	REFUSED(dk_backend_release(t_reg, "edu", &t_why), EBUSY, BACKEND_USED, "edu");
	/* refuses: dk_backend_find ENOENT NO_BACKEND */
	REFUSED(dk_backend_find(t_reg, "third", &n, &t_why), ENOENT, NO_BACKEND,
		"third");
	CHECK_INT(n, 77);
	CHECK_OK(dk_backend_join(&r_b, "third", 0, 0, &third, &t_why));
	r_rebase();
	/* refuses: dk_backend_join ENOSPC BACKENDS_TAKEN */
	REFUSED(dk_backend_join(&r_b, "fourth", 0, 0, &n, &t_why), ENOSPC,
		BACKENDS_TAKEN, "edu, solo, third");
	r_close();
}

/* Returns @n in decimal. The text is valid until the next call. */
static const char *number(u32 n)
{
	static char text[12];

	snprintf(text, sizeof(text), "%u", n);
	return text;
}

static void devices(void)
{
	static struct dk_impl good[2], bad[2];
	struct dk_op_decl decl;
	u32 n = 77;

	r_open();
	good[0] = t_impl(&r_def, DK_DENSE, 7);
	good[1] = t_impl(&r_new, DK_SPARSE, 8);
	/* refuses: dk_device_register EINVAL UNREGISTERED */
	REFUSED(dk_device_register(&r_none, r_edu, "new", NULL, good, 2, &n, &t_why),
		EINVAL, UNREGISTERED, "none");
	/* refuses: dk_device_register EINVAL BAD_NAME */
	REFUSED(dk_device_register(&r_a, r_edu, "", NULL, good, 2, &n, &t_why),
		EINVAL, BAD_NAME, "");
	REFUSED(dk_device_register(&r_a, r_edu, NULL, NULL, good, 2, &n, &t_why),
		EINVAL, BAD_NAME, "");
	/* refuses: dk_device_register EEXIST DEVICE_EXISTS */
	REFUSED(dk_device_register(&r_b, r_edu, "card", NULL, good, 2, &n, &t_why),
		EEXIST, DEVICE_EXISTS, "card");
	/* refuses: dk_device_register EINVAL BAD_BACKEND */
	REFUSED(dk_device_register(&r_a, 0, "new", NULL, good, 2, &n, &t_why),
		EINVAL, BAD_BACKEND, "0");
	REFUSED(dk_device_register(&r_a, DK_NUM_BACKENDS + 1, "new", NULL, good, 2,
				   &n, &t_why), EINVAL, BAD_BACKEND, "17");
	/* refuses: dk_device_register EINVAL DEVICE_KEY */
	memcpy(bad, good, sizeof(bad));
	bad[1].key = DK_CPU;
	REFUSED(dk_device_register(&r_a, r_edu, "new", NULL, bad, 2, &n, &t_why),
		EINVAL, DEVICE_KEY, "CPU");
	bad[1].key = DK_COMPOSITE_EXPLICIT_AUTOGRAD;
	REFUSED(dk_device_register(&r_a, r_edu, "new", NULL, bad, 2, &n, &t_why),
		EINVAL, DEVICE_KEY, "CompositeExplicitAutograd");
	/* refuses: dk_device_register EINVAL BAD_KEY */
	bad[1].key = DK__KEY_END;
	REFUSED(dk_device_register(&r_a, r_edu, "new", NULL, bad, 2, &n, &t_why),
		EINVAL, BAD_KEY, "156");
	/* refuses: dk_device_register EINVAL NO_FUNCTION */
	memcpy(bad, good, sizeof(bad));
	bad[1].fn = NULL;
	REFUSED(dk_device_register(&r_a, r_edu, "new", NULL, bad, 2, &n, &t_why),
		EINVAL, NO_FUNCTION, "f8");
	/* refuses: dk_device_register EINVAL BAD_SIZE */
	bad[1].size = 0;
	REFUSED(dk_device_register(&r_a, r_edu, "new", NULL, bad, 2, &n, &t_why),
		EINVAL, BAD_SIZE, "struct dk_impl");
	/* refuses: dk_device_register EPROTO ABI */
	memcpy(bad, good, sizeof(bad));
	decl = r_new;
	decl.call_abi++;
	bad[1].op = &decl;
	REFUSED(dk_device_register(&r_a, r_edu, "new", NULL, bad, 2, &n, &t_why),
		EPROTO, ABI, "struct dk_op_decl");
	/* refuses: dk_device_register EINVAL NOT_ATOMIC */
	memcpy(bad, good, sizeof(bad));
	bad[1].op = &r_atomic;
	REFUSED(dk_device_register(&r_a, r_edu, "new", NULL, bad, 2, &n, &t_why),
		EINVAL, NOT_ATOMIC, "f8");
	/* refuses: dk_device_register EPROTOTYPE SIGNATURE */
	decl = r_def;
	decl.sig = "(float)";
	bad[1].op = &decl;
	REFUSED(dk_device_register(&r_a, r_edu, "new", NULL, bad, 2, &n, &t_why),
		EPROTOTYPE, SIGNATURE,
		"r::op: (struct dk_obj *x, struct dk_obj *y,..., a -> (float), "
		"f8 (a) at SparsePrivateUse1");
	/* refuses: dk_device_register ENOSPC TABLE_SIZE */
	REFUSED(dk_device_register(&r_a, r_edu, "new", NULL, bad, 524289, &n, &t_why),
		ENOSPC, TABLE_SIZE, "a");
	/*
	 * maximum_number_of_devices() in device_numbers.c registers 4095 devices.
	 * refuses: dk_device_register ENOSPC TOO_MANY_DEVICES
	 */
	CHECK_INT(n, 77);

	/* refuses: dk_device_unregister EINVAL UNREGISTERED */
	REFUSED(dk_device_unregister(&r_none, r_card, &t_why), EINVAL, UNREGISTERED,
		"none");
	/* refuses: dk_device_unregister ENODEV NO_DEVICE */
	REFUSED(dk_device_unregister(&r_a, 0, &t_why), ENODEV, NO_DEVICE, "0");
	REFUSED(dk_device_unregister(&r_a, r_unregistered_card, &t_why), ENODEV, NO_DEVICE,
		number(r_unregistered_card));
	REFUSED(dk_device_unregister(&r_a, ~0u, &t_why), ENODEV, NO_DEVICE,
		"4294967295");
	/* refuses: dk_device_unregister ENOENT NOT_THERE */
	REFUSED(dk_device_unregister(&r_b, r_card, &t_why), ENOENT, NOT_THERE, "card");
	/* refuses: dk_device_find ENODEV NO_DEVICE */
	REFUSED(dk_device_find(t_reg, "gone", &r_cpu, &t_why), ENODEV, NO_DEVICE,
		"gone");
	/* refuses: dk_device_set_online ENODEV NO_DEVICE */
	REFUSED(dk_device_set_online(t_reg, r_unregistered_card, 0, &t_why), ENODEV, NO_DEVICE,
		number(r_unregistered_card));
	REFUSED(dk_device_set_online(t_reg, 0, 1, &t_why), ENODEV, NO_DEVICE, "0");
	/* refuses: dk_device_set_online_timeout ENODEV NO_DEVICE */
	REFUSED(dk_device_set_online_timeout(t_reg, 0, 0, 1, &t_why), ENODEV, NO_DEVICE,
		"0");
	r_close();
}

T_SUITE(errors_registrations,
	T(operators),
	T(functions),
	T(empty_array_registers_nothing),
	T(operator_with_many_functions),
	T(fallbacks),
	T(backends),
	T(devices));
