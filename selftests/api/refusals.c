// SPDX-License-Identifier: GPL-2.0-only
/* Every refusal of the API that does not need memory to be short: see refuse.h. */
#include "refuse.h"

DK_OP(within, "refusals::within",
	(struct dk_obj *x, int (*what)(void), int *err), (x, what, err), (x));
DK_OP(within_atomic, "refusals::within_atomic",
	(struct dk_obj *x, int (*what)(void), int *err), (x, what, err), (x));

/* Two who do not agree on the type of one operator. */
DK_OP(by_name, "refusals::by_name",
	(struct dk_obj *x, struct dk_obj *y), (x, y), (x, y));
DK_OP(by_name_int, "refusals::by_name", (struct dk_obj *x, int y), (x, y), (x));
DK_OP(same, "refusals::same", (struct dk_obj *x, struct dk_obj *y), (x, y), (x, y));

#define NAME_127 "n23456789012345678901234567890123456789012345678901234567890" \
	"1234567890123456789012345678901234567890123456789012345678901234567"

static unsigned int unsigned_int;
static char key_name[DK_NAME_MAX];
static u32 device;

/* ---- names, layouts, registries ------------------------------------------- */

static const struct dk_layout *no_such_layout(void)
{
	return dk_layout_find("v0", &t_why);
}

static void names_and_sets(void)
{
	struct dk_keyset ks = { 77 };
	unsigned int n = 77;

	r_open();
	/* refuses: dk_layout_find ENOENT BAD_LAYOUT */
	REFUSED(no_such_layout() ? 0 : -ENOENT, ENOENT, BAD_LAYOUT, "v0");
	/* refuses: dk_key_parse EINVAL PARSE_KEY */
	REFUSED(dk_key_parse(NULL, "CPUX", 0, &n, &t_why), EINVAL, PARSE_KEY, "CPUX");
	REFUSED(dk_key_parse(NULL, "", 0, &n, &t_why), EINVAL, PARSE_KEY, "");
	REFUSED(dk_key_parse(NULL, "CatchAll", DK_PARSE_STRICT, &n, &t_why), EINVAL,
		PARSE_KEY, "CatchAll");
	/* refuses: dk_backend_bit_parse EINVAL PARSE_BACKEND */
	REFUSED(dk_backend_bit_parse(NULL, "CPUBits", &n, &t_why), EINVAL,
		PARSE_BACKEND, "CPUBits");
	/* refuses: dk_keyset_parse EINVAL PARSE_SET */
	REFUSED(dk_keyset_parse(NULL, "CPU|nonsense", &ks, &t_why), EINVAL,
		PARSE_SET, "nonsense");
	REFUSED(dk_keyset_parse(NULL, "0x10000000000000000", &ks, &t_why), EINVAL,
		PARSE_SET, "0x10000000000000000");
	/* refuses: dk_constant_set ENOENT BAD_CONSTANT */
	REFUSED(dk_constant_set(NULL, "nonsense_ks", &ks, &t_why), ENOENT,
		BAD_CONSTANT, "nonsense_ks");
	/* refuses: dk_registry_key_parse EINVAL PARSE_KEY */
	REFUSED(dk_registry_key_parse(t_reg, "Autogradnonsense", &n, &t_why), EINVAL,
		PARSE_KEY, "Autogradnonsense");
	CHECK_INT(n, 77);
	CHECK_INT(ks.bits, 77);
	CHECK_STR(dk_reason_text(DK_NUM_REASONS), "unknown reason");
	CHECK_STR(dk_reason_text(~0u), "unknown reason");
	CHECK_STR(dk_call_error_text(0), "no error");
	CHECK_STR(dk_call_error_text(7), "no error");
	CHECK_STR(dk_call_error_text(-ENOSYS), dk_reason_text(DK_WHY_MISSING));
	CHECK_STR(dk_call_error_text(-ENOTUNIQ), dk_reason_text(DK_WHY_AMBIGUOUS));
	CHECK_STR(dk_call_error_text(-ENODEV), dk_reason_text(DK_WHY_DEVICE_GONE));
	CHECK_STR(dk_call_error_text(-EXDEV), dk_reason_text(DK_WHY_TWO_DEVICES));
	CHECK_STR(dk_call_error_text(-ENOENT), dk_reason_text(DK_WHY_NOT_DEFINED));
	CHECK_STR(dk_call_error_text(-EPROTOTYPE), dk_reason_text(DK_WHY_SIGNATURE));
	CHECK_STR(dk_call_error_text(-ESHUTDOWN), dk_reason_text(DK_WHY_SHUTDOWN));
	CHECK_STR(dk_call_error_text(-ENOMEM), dk_reason_text(DK_WHY_NO_MEMORY));
	CHECK_STR(dk_call_error_text(-EINVAL), dk_reason_text(DK_WHY_BAD_KEY));
	CHECK_STR(dk_call_error_text(-EIO), "the function returned an error of its own");
	r_close();
}

static void registries(void)
{
	static struct dk_impl changing;
	struct dk_op *op;

	r_open();
	/* refuses: dk_registry_free EBUSY IN_USE */
	REFUSED(dk_registry_free(t_reg, &t_why), EBUSY, IN_USE, "prober");
	r_close();

	t_open("v1", 0);
	t_join(&r_a, "a");
	r_def = t_decl("r::def");
	CHECK_OK(dk_op_define(&r_a, &r_def, 0, &t_why));
	op = dk_op_get(t_reg, "r::def");
	t_leave(&r_a);
	CHECK_INT(dk_registry_free(t_reg, &t_why), -EBUSY);
	CHECK_INT(t_why.reason, DK_WHY_IN_USE);
	CHECK_STR(t_why.name, "");
	dk_op_put(op);
	t_close();
	CHECK_OK(dk_registry_free(NULL, &t_why));

	/* a table that changes while it is registered is found out */
	t_open("v1", 0);
	t_join(&r_a, "a");
	changing = t_impl(&r_def, DK_CPU, 1);
	CHECK_OK(dk_impls_register(&r_a, &changing, 1, &t_why));
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	changing.flags = DK_IMPL_F_FALLTHROUGH;
	/* refuses: dk_registry_check EILSEQ ROW */
	CHECK_INT(dk_registry_check(t_reg, &t_why), -EILSEQ);
	CHECK_INT(t_why.reason, DK_WHY_ROW);
	CHECK_STR(t_why.name, "r::def");
	changing.flags = 0;
	t_leave(&r_a);
	t_close();
}

/* ---- providers ------------------------------------------------------------ */

static void providers(void)
{
	struct dk_provider p;

	r_open();
	p = r_none;
	p.size = 0;
	/* refuses: dk_provider_register EINVAL BAD_SIZE */
	REFUSED(dk_provider_register(&p, &t_why), EINVAL, BAD_SIZE,
		"struct dk_provider");
	p.size = sizeof(p) + 8;
	REFUSED(dk_provider_register(&p, &t_why), EINVAL, BAD_SIZE,
		"struct dk_provider");
	p = r_none;
	/* refuses: dk_provider_register EINVAL BAD_NAME */
	p.name = NULL;
	REFUSED(dk_provider_register(&p, &t_why), EINVAL, BAD_NAME, "");
	p.name = "";
	REFUSED(dk_provider_register(&p, &t_why), EINVAL, BAD_NAME, "");
	p.name = "a b";
	REFUSED(dk_provider_register(&p, &t_why), EINVAL, BAD_NAME, "a b");
	p.name = "a\n";
	REFUSED(dk_provider_register(&p, &t_why), EINVAL, BAD_NAME, "a\n");
	p.name = NAME_127 "x";
	CHECK_INT(strlen(p.name), 128);
	r_poison();
	CHECK_INT(dk_provider_register(&p, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_NAME);
	CHECK_INT(strlen(t_why.name), 127);
	CHECK_STR(t_why.name + 124, "...");
	p = r_none;
	p.abi++;
	/* refuses: dk_provider_register EPROTO ABI */
	REFUSED(dk_provider_register(&p, &t_why), EPROTO, ABI, "none");
	p = r_none;
	/* refuses: dk_provider_register EPROTO LAYOUT */
	p.layout = "pytorch-1.13";
	REFUSED(dk_provider_register(&p, &t_why), EPROTO, LAYOUT, "none");
	p.layout = "pytorch-2.14";
	REFUSED(dk_provider_register(&p, &t_why), EPROTO, LAYOUT, "none");
	p.layout = NULL;
	REFUSED(dk_provider_register(&p, &t_why), EPROTO, LAYOUT, "none");
	CHECK(!p.core);
	/* refuses: dk_provider_register EEXIST REGISTERED */
	REFUSED(dk_provider_register(&r_a, &t_why), EEXIST, REGISTERED, "a");
	/* refuses: dk_provider_drain EINVAL UNREGISTERED */
	REFUSED_ERR(dk_provider_drain(&r_none), EINVAL);
	/* one that is not registered may be unregistered */
	REFUSED_ERR(dk_provider_unregister(&r_none), 0);
	/* the longest name there is */
	p = r_none;
	p.name = NAME_127;
	CHECK_OK(dk_provider_register(&p, &t_why));
	CHECK_OK(dk_provider_unregister(&p));
	CHECK_OK(dk_provider_unregister(&p));
	r_rebase();
	r_close();
}

/* Control characters would reach logs and terminals, and bidirectional ones mislead. */
static void names_that_mislead(void)
{
	static const char *const bad[] = {
		"a\x01", "\x1b[2J", "a\x7f", "a\xc2\x80", "\xc2\x9fz", "a\xd8\x9c",
		"a\xe2\x80\x8e", "a\xe2\x80\x8f", "a\xe2\x80\xaa", "a\xe2\x80\xaez",
		"a\xe2\x81\xa6", "a\xe2\x81\xa9",
		/* no UTF-8: alone, cut short, overlong, a surrogate, beyond the last */
		"a\x9b", "\xff", "a\xc3", "\xe2\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x82\x80",
		"\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80",
	};
	static const char *const good[] = {
		"r::\xc2\xa0", "r::\xd8\x9b", "r::\xe2\x80\x8d", "r::\xe2\x80\x90",
		"r::\xe2\x80\xa9", "r::\xe2\x80\xaf", "r::\xe2\x81\xa5", "r::\xe2\x81\xaa",
		"r::\xf0\x9f\x9a\x80", "r::\xf4\x8f\xbf\xbf",
	};
	struct dk_op_decl decl = r_new;
	struct dk_impl impl = t_impl(&decl, DK_CPU, 1);
	struct dk_provider p = r_none;
	unsigned int i, n;
	u32 number;

	r_open();
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		p.name = bad[i];
		decl.name = bad[i];
		REFUSED(dk_provider_register(&p, &t_why), EINVAL, BAD_NAME, bad[i]);
		REFUSED(dk_op_define(&r_a, &decl, 0, &t_why), EINVAL, BAD_NAME, bad[i]);
		REFUSED(dk_impls_register(&r_a, &impl, 1, &t_why), EINVAL, BAD_NAME,
			bad[i]);
		REFUSED(dk_backend_join(&r_a, bad[i], 0, 0, &n, &t_why), EINVAL,
			BAD_NAME, bad[i]);
		REFUSED(dk_device_register(&r_a, r_edu, bad[i], NULL, NULL, 0, &number,
					   &t_why), EINVAL, BAD_NAME, bad[i]);
	}
	CHECK(strstr(t_why.text, "control"));
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		decl.name = good[i];
		CHECK_OK(dk_op_define(&r_a, &decl, 0, &t_why));
		CHECK_OK(dk_op_undefine(&r_a, good[i], &t_why));
	}
	r_rebase();
	r_close();
}

/* ---- from inside ---------------------------------------------------------- */

static int within_cpu(struct dk_call *c, struct dk_obj *x, int (*what)(void),
		      int *err)
{
	*err = what();
	return 0;
}

static struct dk_impl within_table[] = {
	DK_IMPL(within, DK_CPU, within_cpu),
	DK_IMPL_ATOMIC(within_atomic, DK_CPU, within_cpu),
};

static int unregister_a(void)
{
	return dk_provider_unregister(&r_a);
}

static int unregister_b(void)
{
	return dk_provider_unregister(&r_b);
}

static int unregister_none(void)
{
	return dk_provider_unregister(&r_none);
}

static int drain_a(void)
{
	return dk_provider_drain(&r_a);
}

static int drain_b(void)
{
	return dk_provider_drain(&r_b);
}

static int unregister_table(void)
{
	return dk_impls_unregister(&r_a, r_table, &t_why);
}

static int unregister_table_of_b(void)
{
	return dk_impls_unregister(&r_b, r_table, &t_why);
}

static int unregister_card(void)
{
	return dk_device_unregister(&r_a, r_card, &t_why);
}

static int unregister_card_of_b(void)
{
	return dk_device_unregister(&r_b, r_card, &t_why);
}

static int card_offline(void)
{
	return dk_device_set_online(t_reg, r_card, 0, &t_why);
}

static int cpu_offline(void)
{
	return dk_backend_set_online(t_reg, DK_BACKEND_CPU, 0, &t_why);
}

static int card_offline_soon(void)
{
	return dk_device_set_online_timeout(t_reg, r_card, 0, 1, &t_why);
}

static int cpu_offline_soon(void)
{
	return dk_backend_set_online_timeout(t_reg, DK_BACKEND_CPU, 0, 1, &t_why);
}

static int inside(struct dk_op *op, const struct dk_op_decl *decl,
		  int (*what)(void))
{
	int err = 1, ret;

	if (decl == &within_op)
		ret = within_at(op, &dk_local_default, &r_cpu, what, &err);
	else
		ret = within_atomic_at(op, &dk_local_default, &r_cpu, what, &err);
	CHECK_OK(ret);
	return err;
}

/* In an RCU read section nobody can be waited for; elsewhere a call is a call. */
static void from_inside_atomic(struct dk_op *atomic)
{
	if (!T_KERNEL) {
		REFUSED(inside(atomic, &within_atomic_op, unregister_table), EDEADLK, INSIDE,
			"a");
		REFUSED(inside(atomic, &within_atomic_op, cpu_offline), EDEADLK,
			INSIDE_BACKEND, "CPU");
		CHECK_OK(inside(atomic, &within_atomic_op, drain_b));
		return;
	}
	/* refuses: dk_provider_unregister EDEADLK ATOMIC */
	REFUSED_ERR(inside(atomic, &within_atomic_op, unregister_a), EDEADLK);
	REFUSED_ERR(inside(atomic, &within_atomic_op, unregister_b), EDEADLK);
	REFUSED_ERR(inside(atomic, &within_atomic_op, unregister_none), EDEADLK);
	/* refuses: dk_provider_drain EDEADLK ATOMIC */
	REFUSED_ERR(inside(atomic, &within_atomic_op, drain_a), EDEADLK);
	REFUSED_ERR(inside(atomic, &within_atomic_op, drain_b), EDEADLK);
	/* refuses: dk_impls_unregister EDEADLK ATOMIC */
	REFUSED(inside(atomic, &within_atomic_op, unregister_table), EDEADLK, ATOMIC,
		"");
	REFUSED(inside(atomic, &within_atomic_op, unregister_table_of_b), EDEADLK,
		ATOMIC, "");
	/* refuses: dk_device_unregister EDEADLK ATOMIC */
	REFUSED(inside(atomic, &within_atomic_op, unregister_card), EDEADLK, ATOMIC,
		"");
	REFUSED(inside(atomic, &within_atomic_op, unregister_card_of_b), EDEADLK,
		ATOMIC, "");
	/* refuses: dk_device_set_online EDEADLK ATOMIC */
	REFUSED(inside(atomic, &within_atomic_op, card_offline), EDEADLK, ATOMIC, "");
	/* refuses: dk_backend_set_online EDEADLK ATOMIC */
	REFUSED(inside(atomic, &within_atomic_op, cpu_offline), EDEADLK, ATOMIC, "");
}

static void from_inside(void)
{
	struct dk_op *op, *atomic;

	r_open();
	CHECK_OK(dk_op_define(&r_a, &within_op, 0, &t_why));
	CHECK_OK(dk_op_define(&r_a, &within_atomic_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&r_a, within_table, 2, &t_why));
	op = dk_op_get(t_reg, "refusals::within");
	atomic = dk_op_get(t_reg, "refusals::within_atomic");
	r_rebase();

	/* refuses: dk_provider_unregister EDEADLK INSIDE */
	REFUSED_ERR(inside(op, &within_op, unregister_a), EDEADLK);
	/* refuses: dk_provider_drain EDEADLK INSIDE */
	REFUSED_ERR(inside(op, &within_op, drain_a), EDEADLK);
	/* refuses: dk_impls_unregister EDEADLK INSIDE */
	REFUSED(inside(op, &within_op, unregister_table), EDEADLK, INSIDE, "a");
	/* refuses: dk_device_unregister EDEADLK INSIDE */
	REFUSED(inside(op, &within_op, unregister_card), EDEADLK, INSIDE, "a");
	/* refuses: dk_device_set_online EDEADLK INSIDE */
	REFUSED(inside(op, &within_op, card_offline), EDEADLK, INSIDE, "a");
	/* refuses: dk_backend_set_online EDEADLK INSIDE_BACKEND */
	REFUSED(inside(op, &within_op, cpu_offline), EDEADLK, INSIDE_BACKEND, "CPU");
	/* refuses: dk_device_set_online_timeout EDEADLK INSIDE */
	REFUSED(inside(op, &within_op, card_offline_soon), EDEADLK, INSIDE, "a");
	/* refuses: dk_backend_set_online_timeout EDEADLK INSIDE_BACKEND */
	REFUSED(inside(op, &within_op, cpu_offline_soon), EDEADLK, INSIDE_BACKEND, "CPU");

	from_inside_atomic(atomic);

	/* another provider can be drained and unregistered */
	CHECK_OK(inside(op, &within_op, drain_b));
	CHECK_OK(inside(op, &within_op, unregister_b));
	CHECK(!r_b.core);
	dk_op_put(op);
	dk_op_put(atomic);
	t_join(&r_b, "b");
	r_rebase();
	r_close();
}

/* ---- operators ------------------------------------------------------------ */

static void operators(void)
{
	static const struct dk_param nameless = { .kind = DK_ARG_OBJECT, .size = sizeof(void *) };
	struct dk_op_decl bad;
	struct dk_op *op;

	r_open();
	bad = r_new;
	bad.size = 0;
	/* refuses: dk_op_define EINVAL BAD_SIZE */
	REFUSED(dk_op_define(&r_a, &bad, 0, &t_why), EINVAL, BAD_SIZE,
		"struct dk_op_decl");
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
	/* refuses: dk_op_define EINVAL SCHEMA_ARGS */
	bad.num_params = 65;
	REFUSED(dk_op_define(&r_a, &bad, 0, &t_why), EINVAL, SCHEMA_ARGS, "r::new");
	/* refuses: dk_op_define EINVAL UNREGISTERED */
	REFUSED(dk_op_define(&r_none, &r_new, 0, &t_why), EINVAL, UNREGISTERED,
		"none");
	/* refuses: dk_op_define EEXIST DEFINED */
	REFUSED(dk_op_define(&r_a, &r_def, 0, &t_why), EEXIST, DEFINED,
		"r::def: a -> a");
	REFUSED(dk_op_define(&r_b, &r_def, 0, &t_why), EEXIST, DEFINED,
		"r::def: a -> b");
	/* refuses: dk_op_define EINVAL NOT_ATOMIC */
	REFUSED(dk_op_define(&r_a, &r_impl, DK_OP_ATOMIC, &t_why), EINVAL,
		NOT_ATOMIC, "r::impl");
	/* who holds it may rely on its class */
	CHECK_OK(dk_op_undefine(&r_a, "r::def", &t_why));
	op = dk_op_get(t_reg, "r::def");
	r_rebase();
	/* refuses: dk_op_define EBUSY CLASS */
	REFUSED(dk_op_define(&r_a, &r_def, DK_OP_ATOMIC, &t_why), EBUSY, CLASS,
		"r::def");
	dk_op_put(op);
	CHECK_OK(dk_op_define(&r_a, &r_def, 0, &t_why));
	r_rebase();
	bad = r_impl;
	bad.sig = "(int)";
	/* refuses: dk_op_define EPROTOTYPE SIGNATURE */
	REFUSED(dk_op_define(&r_b, &bad, 0, &t_why), EPROTOTYPE, SIGNATURE,
		"r::impl: (struct dk_obj *x, struct dk_obj *y,..., f4 (b) at "
		"CompositeImplicitAutograd -> (int), b");

	/* an operator whose schema has another name is none: SEMANTICS 7.6 */
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
	REFUSED(dk_op_undefine(&r_b, "r::def", &t_why), ENOENT, NOT_THERE, "r::def");
	REFUSED(dk_op_undefine(&r_a, "r::impl", &t_why), ENOENT, NOT_THERE,
		"r::impl");
	/* refuses: dk_op_undefine EINVAL UNREGISTERED */
	REFUSED(dk_op_undefine(&r_none, "r::def", &t_why), EINVAL, UNREGISTERED,
		"none");
	CHECK(!dk_op_get(t_reg, "r::new"));
	r_close();
}

/* ---- functions ------------------------------------------------------------ */

/* A good entry and then a bad one: all or none. */
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

/* The refusals that dk_backend_impls_register() shares. */
static void functions_by(register_fn reg)
{
	struct dk_impl good = t_impl(&r_def, DK_CUDA, 8), bad;
	struct dk_op_decl decl;

	bad = good;
	bad.size = 0;
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
	REFUSED(reg(second(bad), 2), EINVAL, BAD_SIZE, "struct dk_op_decl");
	decl = r_def;
	decl.size++;
	bad.op = &decl;
	REFUSED(reg(second(bad), 2), EINVAL, BAD_SIZE, "struct dk_op_decl");
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
		"r::def: (struct dk_obj *x, struct dk_obj *y,..., a -> (float), "
		"f8 (b) at CUDA");
	/* the first one of a table gives a new operator its signature, for now */
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
	/* nothing would be routed there: a building block is for a backend's table */
	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		bad = t_impl(&r_def, blocks[i], 8);
		bad.flags = 0;
		/* refuses: dk_impls_register EINVAL BUILDING_BLOCK */
		REFUSED(plainly(second(bad), 2), EINVAL, BUILDING_BLOCK,
			dk_key_name(NULL, blocks[i], key_name));
	}
	CHECK(strstr(t_why.text, "table of a backend or a device"));
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
	REFUSED(dk_impls_unregister(&r_b, r_table, &t_why), ENOENT, NOT_THERE, "b");
	REFUSED(dk_impls_unregister(&r_a, r_table + 1, &t_why), ENOENT, NOT_THERE,
		"a");
	/* the table of a device goes with the device only */
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

/*
 * A row names active functions only, and a layout has fewer entries than 250:
 * however many an operator has, there is room.
 */
static void functions_without_end(void)
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
	op = dk_op_get(t_reg, "r::def");
	CHECK_STR(t_goes(op, &cpu, NULL),
		  t_labels[(dk_key_slot(NULL, DK_CPU) - 1 + 2 * (DK_NUM_ENTRIES - 1)) %
			   T_FUNCTIONS]);
	CHECK_OK(dk_impls_unregister(&r_b, impls, &t_why));
	CHECK_STR(t_goes(op, &cpu, NULL), "f1");
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
	struct dk_impl bad;

	r_open();
	bad = good;
	bad.key = DK_TRACER;
	/* refuses: dk_fallback_register EEXIST FALLBACK_EXISTS */
	REFUSED(dk_fallback_register(&r_b, &bad, &t_why), EEXIST, FALLBACK_EXISTS,
		"Tracer: fallthrough (a) -> boxed (b)");
	REFUSED(dk_fallback_register(&r_a, &bad, &t_why), EEXIST, FALLBACK_EXISTS,
		"Tracer: fallthrough (a) -> boxed (a)");
	/* one whose backend is offline is still there */
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
	/* refuses: dk_fallback_register EINVAL NO_FUNCTION */
	bad = good;
	bad.flags = 0;
	REFUSED(dk_fallback_register(&r_a, &bad, &t_why), EINVAL, NO_FUNCTION,
		"boxed");
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

	/* at an alias key: all of its entries or none */
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

/* ---- backends and devices ------------------------------------------------- */

static void backends(void)
{
	unsigned int n = 77, third;

	r_open();
	/* refuses: dk_backend_join EINVAL UNREGISTERED */
	REFUSED(dk_backend_join(&r_none, "edu", 0, 0, &n, &t_why), EINVAL,
		UNREGISTERED, "none");
	/* refuses: dk_backend_join EINVAL BAD_NAME */
	REFUSED(dk_backend_join(&r_b, "", 0, 0, &n, &t_why), EINVAL, BAD_NAME, "");
	REFUSED(dk_backend_join(&r_b, "e du", 0, 0, &n, &t_why), EINVAL, BAD_NAME,
		"e du");
	/* refuses: dk_backend_join EINVAL NAME_TAKEN */
	REFUSED(dk_backend_join(&r_b, "cuda", 0, 0, &n, &t_why), EINVAL, NAME_TAKEN,
		"cuda");
	REFUSED(dk_backend_join(&r_b, "autograd", 0, 0, &n, &t_why), EINVAL,
		NAME_TAKEN, "autograd");
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

/* A number in decimal, until the next one. */
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
		"r::def: (struct dk_obj *x, struct dk_obj *y,..., a -> (float), "
		"f8 (a) at SparsePrivateUse1");
	/* refuses: dk_device_register ENOSPC TABLE_SIZE */
	REFUSED(dk_device_register(&r_a, r_edu, "new", NULL, bad, 524289, &n, &t_why),
		ENOSPC, TABLE_SIZE, "a");
	/*
	 * 4095 devices are in devices.c: as_many_as_there_can_be
	 * refuses: dk_device_register ENOSPC TOO_MANY_DEVICES
	 */
	CHECK_INT(n, 77);

	/* refuses: dk_device_unregister EINVAL UNREGISTERED */
	REFUSED(dk_device_unregister(&r_none, r_card, &t_why), EINVAL, UNREGISTERED,
		"none");
	/* refuses: dk_device_unregister ENODEV NO_DEVICE */
	REFUSED(dk_device_unregister(&r_a, 0, &t_why), ENODEV, NO_DEVICE, "0");
	REFUSED(dk_device_unregister(&r_a, r_gone, &t_why), ENODEV, NO_DEVICE,
		number(r_gone));
	REFUSED(dk_device_unregister(&r_a, ~0u, &t_why), ENODEV, NO_DEVICE,
		"4294967295");
	/* another provider's */
	REFUSED(dk_device_unregister(&r_b, r_card, &t_why), ENODEV, NO_DEVICE,
		number(r_card));
	/* refuses: dk_device_find ENODEV NO_DEVICE */
	REFUSED(dk_device_find(t_reg, "gone", &r_cpu, &t_why), ENODEV, NO_DEVICE,
		"gone");
	/* refuses: dk_device_set_online ENODEV NO_DEVICE */
	REFUSED(dk_device_set_online(t_reg, r_gone, 0, &t_why), ENODEV, NO_DEVICE,
		number(r_gone));
	REFUSED(dk_device_set_online(t_reg, 0, 1, &t_why), ENODEV, NO_DEVICE, "0");
	/* refuses: dk_device_set_online_timeout ENODEV NO_DEVICE */
	REFUSED(dk_device_set_online_timeout(t_reg, 0, 0, 1, &t_why), ENODEV, NO_DEVICE,
		"0");
	r_close();
}

/* ---- calls, and seeing ---------------------------------------------------- */

/* By itself and by the keyset of the objects: the same. */
static int enter(struct dk_op *op, struct dk_op_decl *decl, const struct dk_obj *x,
		 const struct dk_obj *y)
{
	const struct dk_obj *const objs[] = { x, y };
	struct dk_op_decl own = *decl;
	struct dk_frame c;
	int err = dk_call_enter_op(&c, op, decl, &dk_local_default, objs, 2);

	if (!err)
		dk_call_leave(&c);
	CHECK_INT(dk_call_enter_keyset(&c, op, &own, &dk_local_default,
				       dk_keyset_or(x->ks, y ? y->ks : x->ks), objs, 2), err);
	if (!err)
		dk_call_leave(&c);
	return err;
}

static int same_0(struct dk_call *c, struct dk_obj *x, struct dk_obj *y)
{
	return 0;
}

/*
 * dk_call_enter() by a declaration is for the default registry; both it and
 * dk_call_enter_op() are the same behind it. What it says of a route, dk_op_route()
 * says too, and dk_call_redispatch(), which asks with a keyset of its own.
 */
static void calls(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(same, DK_DENSE, same_0),
		DK_IMPL(same, DK_COMPOSITE_IMPLICIT_AUTOGRAD, same_0),
		DK_IMPL(same, DK_SPARSE_CPU, same_0),
		DK_IMPL_FALLTHROUGH(same, DK_CONJUGATE),
		DK_IMPL(same, DK_AUTOGRAD_CPU, same_0),
	};
	static const struct dk_impl dense[] = { DK_IMPL(same, DK_DENSE, same_0) };
	struct dk_obj other = t_obj(DK_KEY_BITS(DK_AUTOGRAD_OTHER));
	struct dk_obj python = t_obj(DK_KEY_BITS(DK_PYTHON) | DK_BACKEND_BIT(1));
	struct dk_obj gone, c0, c1;
	struct same_args both = { &c0, &c1 }, one = { &c0, NULL };
	struct same_args left = { &gone, NULL }, unclear = { &other, NULL };
	const struct dk_obj *objs[2];
	struct dk_op_decl wrong = same_op, older = same_op;
	struct dk_frame c, below;
	struct dk_op *op;
	u32 d0, d1;

	r_open();
	gone = dk_obj_on(r_solo, r_gone);
	wrong.sig = "(int)";
	older.size -= sizeof(older.sig_mark);
	CHECK_OK(dk_op_define(&r_a, &same_op, DK_OP_SAME_DEVICE, &t_why));
	CHECK_OK(dk_backend_impls_register(&r_a, DK_BACKEND_CPU, impls,
					   ARRAY_SIZE(impls), &t_why));
	CHECK_OK(dk_device_register(&r_a, r_edu, "c0", NULL, dense, 1, &d0, &t_why));
	CHECK_OK(dk_device_register(&r_a, r_edu, "c1", NULL, dense, 1, &d1, &t_why));
	c0 = dk_obj_on(r_edu, d0);
	c1 = dk_obj_on(r_edu, d1);
	op = dk_op_get(t_reg, "refusals::same");
	r_rebase();

	/* refuses: dk_call_enter_op ENOSYS MISSING */
	/* refuses: dk_op_route ENOSYS MISSING */
	REFUSED_ERR(enter(op, &same_op, &python, NULL), ENOSYS);
	REFUSED_ERR(t_route(op, &python, NULL), ENOSYS);
	CHECK_INT(t_answer.entry.provenance, DK_PROV_MISSING);
	/* refuses: dk_call_enter_op ENOTUNIQ AMBIGUOUS */
	/* refuses: dk_call_enter_keyset ENOTUNIQ AMBIGUOUS */
	/* refuses: dk_op_route ENOTUNIQ AMBIGUOUS */
	/* refuses: dk_call_boxed ENOTUNIQ AMBIGUOUS */
	REFUSED_ERR(enter(op, &same_op, &other, NULL), ENOTUNIQ);
	REFUSED_ERR(t_route(op, &other, NULL), ENOTUNIQ);
	REFUSED_ERR(dk_call_boxed(op, &same_op, &dk_local_default, &unclear), ENOTUNIQ);
	CHECK_INT(t_answer.entry.provenance, DK_PROV_AMBIGUOUS);
	/* refuses: dk_call_enter_op EXDEV TWO_DEVICES */
	/* refuses: dk_call_enter_keyset EXDEV TWO_DEVICES */
	/* refuses: dk_op_route EXDEV TWO_DEVICES */
	REFUSED_ERR(enter(op, &same_op, &c0, &c1), EXDEV);
	REFUSED_ERR(t_route(op, &c0, &c1), EXDEV);
	/* refuses: dk_call_enter_key EXDEV TWO_DEVICES */
	/* refuses: dk_call_boxed_key EXDEV TWO_DEVICES */
	REFUSED_ERR(same_for_key(op, &dk_local_default, DK_SPARSE_CPU, &c0, &c1), EXDEV);
	REFUSED_ERR(dk_call_boxed_key(op, &same_op, &dk_local_default, DK_SPARSE_CPU,
				      &both), EXDEV);
	/* refuses: dk_call_enter_op EPROTOTYPE SIGNATURE */
	/* refuses: dk_call_enter_keyset EPROTOTYPE SIGNATURE */
	REFUSED_ERR(enter(op, &wrong, &r_cpu, NULL), EPROTOTYPE);
	REFUSED_ERR(enter(op, &older, &r_cpu, NULL), EPROTOTYPE);
	/* refuses: dk_call_enter_key EPROTOTYPE SIGNATURE */
	/* refuses: dk_call_boxed_key EPROTOTYPE SIGNATURE */
	objs[0] = &r_cpu;
	REFUSED_ERR(dk_call_enter_key(&c, op, &wrong, &dk_local_default, DK_SPARSE_CPU,
				      objs, 1), EPROTOTYPE);
	REFUSED_ERR(dk_call_boxed_key(op, &wrong, &dk_local_default, DK_SPARSE_CPU, &one),
		    EPROTOTYPE);
	/* cannot: dk_op_route EPROTOTYPE SIGNATURE - it has no declaration */
	/* cannot: dk_op_route ENOMEM NO_MEMORY - it makes no call */
	t_answer.size = 8;
	/* refuses: dk_op_route EINVAL BAD_SIZE */
	REFUSED_ERR(dk_op_route(op, DK_KEYSET(0), DK_KEYSET(0), objs, 1, &t_answer),
		    EINVAL);

	/* from inside of a call */
	objs[1] = NULL;
	CHECK_OK(dk_call_enter_op(&c, op, &same_op, &dk_local_default, objs, 2));
	/* refuses: dk_call_redispatch ENOSYS MISSING */
	REFUSED_ERR(dk_call_redispatch(&below, &c.call, &same_op, DK_SET(DK_PYTHON), objs,
				       1), ENOSYS);
	/* refuses: dk_call_redispatch EPROTOTYPE SIGNATURE */
	REFUSED_ERR(dk_call_redispatch(&below, &c.call, &wrong, DK_SET(DK_CPU), objs, 1),
		    EPROTOTYPE);
	REFUSED_ERR(dk_call_redispatch(&below, &c.call, &by_name_op, DK_SET(DK_CPU), objs,
				       1), EPROTOTYPE);
	/* an entry that is a fallthrough passes on */
	CHECK_OK(dk_call_redispatch(&below, &c.call, &same_op,
				    dk_keyset_or(DK_SET(DK_CONJUGATE),
						 DK_SET(DK_CPU)), objs, 1));
	CHECK_INT(below.call.ks.bits, DK_KEY_BITS(DK_CPU));
	dk_call_leave(&below);
	/* refuses: dk_call_redispatch ENOTUNIQ AMBIGUOUS */
	REFUSED_ERR(dk_call_redispatch(&below, &c.call, &same_op, DK_SET(DK_AUTOGRAD_OTHER),
				       objs, 1), ENOTUNIQ);
	objs[0] = &c0;
	objs[1] = &c1;
	/* refuses: dk_call_redispatch EXDEV TWO_DEVICES */
	REFUSED_ERR(dk_call_redispatch(&below, &c.call, &same_op, c0.ks, objs, 2), EXDEV);
	/* refuses: dk_redispatch_boxed EXDEV TWO_DEVICES */
	REFUSED_ERR(dk_redispatch_boxed(&c.call, c0.ks, &both), EXDEV);
	/* refuses: dk_redispatch_boxed ENOSYS MISSING */
	REFUSED_ERR(dk_redispatch_boxed(&c.call, DK_SET(DK_PYTHON), &one), ENOSYS);
	/* refuses: dk_redispatch_boxed ENOTUNIQ AMBIGUOUS */
	REFUSED_ERR(dk_redispatch_boxed(&c.call, DK_SET(DK_AUTOGRAD_OTHER), &one),
		    ENOTUNIQ);

	/* the device is what is missing */
	CHECK_OK(dk_impls_withdraw(&r_a, impls, &t_why));
	r_rebase();
	/* refuses: dk_call_enter_op ENODEV DEVICE_GONE */
	/* refuses: dk_call_enter_keyset ENODEV DEVICE_GONE */
	/* refuses: dk_op_route ENODEV DEVICE_GONE */
	REFUSED_ERR(enter(op, &same_op, &gone, NULL), ENODEV);
	REFUSED_ERR(t_route(op, &gone, NULL), ENODEV);
	/* refuses: dk_call_boxed ENODEV DEVICE_GONE */
	REFUSED_ERR(dk_call_boxed(op, &same_op, &dk_local_default, &left), ENODEV);
	/* refuses: dk_call_enter_key ENODEV DEVICE_GONE */
	/* refuses: dk_call_boxed_key ENODEV DEVICE_GONE */
	REFUSED_ERR(same_for_key(op, &dk_local_default, DK_CPU, &gone, NULL), ENODEV);
	REFUSED_ERR(dk_call_boxed_key(op, &same_op, &dk_local_default, DK_CPU, &left),
		    ENODEV);
	objs[0] = &gone;
	objs[1] = NULL;
	/* refuses: dk_call_redispatch ENODEV DEVICE_GONE */
	REFUSED_ERR(dk_call_redispatch(&below, &c.call, &same_op, gone.ks, objs, 1),
		    ENODEV);
	/* refuses: dk_redispatch_boxed ENODEV DEVICE_GONE */
	REFUSED_ERR(dk_redispatch_boxed(&c.call, gone.ks, &left), ENODEV);

	CHECK_OK(dk_op_undefine(&r_a, "refusals::same", &t_why));
	r_rebase();
	/* refuses: dk_call_enter_op ENOENT NOT_DEFINED */
	/* refuses: dk_call_enter_keyset ENOENT NOT_DEFINED */
	/* refuses: dk_op_route ENOENT NOT_DEFINED */
	REFUSED_ERR(enter(op, &same_op, &c0, NULL), ENOENT);
	REFUSED_ERR(t_route(op, &c0, NULL), ENOENT);
	objs[0] = &c0;
	/* refuses: dk_call_redispatch ENOENT NOT_DEFINED */
	REFUSED_ERR(dk_call_redispatch(&below, &c.call, &same_op, c0.ks, objs, 1), ENOENT);
	/* refuses: dk_redispatch_boxed ENOENT NOT_DEFINED */
	REFUSED_ERR(dk_redispatch_boxed(&c.call, c0.ks, &one), ENOENT);
	/*
	 * A redispatch is of the thread of the call that it is in, and a boxed
	 * one of its operator.
	 * cannot: dk_redispatch_boxed EPROTOTYPE SIGNATURE
	 * cannot: dk_call_redispatch ENOMEM NO_MEMORY
	 * cannot: dk_redispatch_boxed ENOMEM NO_MEMORY
	 */
	dk_call_leave(&c);
	dk_op_put(op);
	r_close();
}

/* A call of another type is one, whatever its route would be. */
static void wrong_type_first(unsigned int flags)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(same, DK_COMPOSITE_IMPLICIT_AUTOGRAD, same_0),
		DK_IMPL(same, DK_SPARSE_CPU, same_0),
		DK_IMPL_FALLTHROUGH(same, DK_CONJUGATE),
	};
	static const struct dk_impl dense[] = { DK_IMPL(same, DK_DENSE, same_0) };
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU)), c0, c1, gone;
	struct dk_obj other = t_obj(DK_KEY_BITS(DK_AUTOGRAD_OTHER));
	struct dk_obj python = t_obj(DK_KEY_BITS(DK_PYTHON));
	struct dk_op_decl wrong = same_op, right = same_op, older = same_op;
	const struct dk_obj *const first[] = { &cpu, &python, &other, &c0, &gone };
	const struct dk_obj *objs[] = { &cpu, &c1 };
	struct same_args args = { &cpu, &python };
	struct dk_frame c;
	struct dk_op *op;
	unsigned int i;
	u32 d0, d1;

	t_open("v1", flags);
	t_join(&r_a, "a");
	wrong.sig = "(int)";
	older.size -= sizeof(older.sig_mark);
	CHECK_OK(dk_op_define(&r_a, &same_op, DK_OP_SAME_DEVICE, &t_why));
	op = dk_op_get(t_reg, "refusals::same");
	/* nothing serves anything */
	CHECK_INT(dk_call_enter_op(&c, op, &wrong, &dk_local_default, objs, 1), -EPROTOTYPE);
	CHECK_INT(dk_call_enter_op(&c, op, &right, &dk_local_default, objs, 1), -ENOSYS);
	CHECK_OK(dk_impls_register(&r_a, impls, ARRAY_SIZE(impls), &t_why));
	CHECK_OK(dk_device_register(&r_a, DK_BACKEND_CUDA, "c0", NULL, dense, 1, &d0, &t_why));
	CHECK_OK(dk_device_register(&r_a, DK_BACKEND_CUDA, "c1", NULL, dense, 1, &d1, &t_why));
	CHECK_OK(dk_device_unregister(&r_a, d1, &t_why));
	gone = dk_obj_on(DK_BACKEND_CUDA, d1);
	CHECK_OK(dk_device_register(&r_a, DK_BACKEND_CUDA, "c1", NULL, dense, 1, &d1, &t_why));
	c0 = dk_obj_on(DK_BACKEND_CUDA, d0);
	c1 = dk_obj_on(DK_BACKEND_CUDA, d1);
	for (i = 0; i < ARRAY_SIZE(first); i++) {
		objs[0] = first[i];
		CHECK_INT(dk_call_enter_op(&c, op, &wrong, &dk_local_default, objs, 2),
			  -EPROTOTYPE);
		CHECK_INT(dk_call_enter_key(&c, op, &wrong, &dk_local_default, DK_PYTHON,
					    objs, 2), -EPROTOTYPE);
		CHECK_INT(dk_call_enter_key(&c, op, &wrong, &dk_local_default, 9999,
					    objs, 2), -EPROTOTYPE);
	}
	CHECK_INT(dk_call_boxed(op, &wrong, &dk_local_default, &args), -EPROTOTYPE);
	/* refuses: dk_op_takes EPROTOTYPE SIGNATURE */
	CHECK_INT(dk_op_takes(op, &wrong), -EPROTOTYPE);
	CHECK_INT(dk_op_takes(op, &older), -EPROTOTYPE);
	CHECK_INT(dk_op_takes(op, &right), 0);
	right.sig = NULL;
	CHECK_INT(dk_op_takes(op, &right), 0);
	/* its type outlives its definition */
	CHECK_OK(dk_op_undefine(&r_a, "refusals::same", &t_why));
	CHECK_INT(dk_call_enter_op(&c, op, &wrong, &dk_local_default, objs, 2), -EPROTOTYPE);
	CHECK_INT(dk_op_takes(op, &wrong), -EPROTOTYPE);
	right = same_op;
	CHECK_INT(dk_call_enter_op(&c, op, &right, &dk_local_default, objs, 2), -ENOENT);
	dk_op_put(op);
	t_leave(&r_a);
	t_close();
}

static void calls_of_another_type(void)
{
	wrong_type_first(0);
	wrong_type_first(DK_REGISTRY_FORCE_RESOLVE);
}

/* dk_call_enter() itself, on the default registry. */
static void calls_by_name(void)
{
	static struct dk_provider me = DK_PROVIDER("refusals");
	static const struct dk_impl impls[] = {
		DK_IMPL(by_name, DK_COMPOSITE_IMPLICIT_AUTOGRAD, same_0),
		DK_IMPL(by_name, DK_FPGA, same_0),
	};
	static const struct dk_impl dense[] = { DK_IMPL(by_name, DK_DENSE, same_0) };
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_obj other = t_obj(DK_KEY_BITS(DK_AUTOGRAD_OTHER));
	struct dk_obj python = t_obj(DK_KEY_BITS(DK_PYTHON));
	struct dk_local bare = t_no_local();
	struct dk_obj c0, c1;
	u32 d0, d1;

	CHECK_OK(dk_provider_register(&me, &t_why));
	/* refuses: dk_call_enter ENOENT NOT_DEFINED */
	CHECK_INT(by_name(&cpu, &cpu), -ENOENT);
	CHECK_OK(dk_op_define(&me, &by_name_op, DK_OP_SAME_DEVICE, &t_why));
	/* refuses: dk_call_enter EPROTOTYPE SIGNATURE */
	CHECK_INT(by_name_int(&cpu, 1), -EPROTOTYPE);
	/* refuses: dk_call_enter ENOSYS MISSING */
	CHECK_INT(by_name(&cpu, &cpu), -ENOSYS);
	CHECK_OK(dk_device_register(&me, DK_BACKEND_CUDA, "refusals-c0", NULL, dense,
				    1, &d0, &t_why));
	CHECK_OK(dk_device_register(&me, DK_BACKEND_CUDA, "refusals-c1", NULL, dense,
				    1, &d1, &t_why));
	c0 = dk_obj_on(DK_BACKEND_CUDA, d0);
	c1 = dk_obj_on(DK_BACKEND_CUDA, d1);
	/* refuses: dk_call_enter EXDEV TWO_DEVICES */
	CHECK_INT(by_name(&c0, &c1), -EXDEV);
	CHECK_OK(by_name(&c0, &cpu));
	CHECK_OK(dk_device_unregister(&me, d0, &t_why));
	/* refuses: dk_call_enter ENODEV DEVICE_GONE */
	CHECK_INT(by_name(&c0, &c1), -ENODEV);
	CHECK_OK(dk_impls_register(&me, impls, ARRAY_SIZE(impls), &t_why));
	CHECK_OK(by_name(&c0, &c1));
	/* refuses: dk_call_enter ENOTUNIQ AMBIGUOUS */
	CHECK_INT(by_name_in(&bare, &other, &cpu), -ENOTUNIQ);
	CHECK_INT(by_name_in(&bare, &python, &cpu), -ENOSYS);
	CHECK_OK(dk_provider_unregister(&me));
	CHECK_INT(by_name(&cpu, &cpu), -ENOENT);
}

static void entries(void)
{
	static struct dk_impl_info info;
	static struct dk_entry e;
	struct dk_op *op;

	r_open();
	op = dk_op_get(t_reg, "r::def");
	/* refuses: dk_op_impl EINVAL BAD_SIZE */
	REFUSED_ERR(dk_op_impl(op, 0, &info), EINVAL);
	info.size = sizeof(info);
	CHECK_OK(dk_op_impl(op, 3, &info));
	/* refuses: dk_op_impl ENOENT NOT_THERE */
	REFUSED_ERR(dk_op_impl(op, 4, &info), ENOENT);
	REFUSED_ERR(dk_op_impl(op, ~0u, &info), ENOENT);
	e.size = sizeof(e);
	/* refuses: dk_op_entry EINVAL BAD_KEY */
	REFUSED_ERR(dk_op_entry(op, 0, DK_NUM_ENTRIES, &e), EINVAL);
	REFUSED_ERR(dk_op_entry(op, 0, ~0u, &e), EINVAL);
	/* refuses: dk_op_entry ENODEV NO_DEVICE */
	REFUSED_ERR(dk_op_entry(op, r_gone, 0, &e), ENODEV);
	e.size = 0;
	/* refuses: dk_op_entry EINVAL BAD_SIZE */
	REFUSED_ERR(dk_op_entry(op, 0, 0, &e), EINVAL);
	dk_op_put(op);
	r_close();
}

/* ---- reasons -------------------------------------------------------------- */

/* A caller may have a smaller struct dk_diag, or none; what is told fits. */
static void small_and_absent_diag(void)
{
	struct {
		struct dk_diag why;
		char behind[8];
	} room;
	const unsigned int small = offsetof(struct dk_diag, name) + 5;

	r_open();
	memset(&room, 'x', sizeof(room));
	room.why.size = small;
	CHECK_INT(dk_backend_find(t_reg, "a-long-name", &unsigned_int, &room.why),
		  -ENOENT);
	CHECK_INT(room.why.reason, DK_WHY_NO_BACKEND);
	CHECK_STR(room.why.name, "a...");
	CHECK_INT(room.why.name[5], 'x');
	CHECK_INT(dk_backend_find(t_reg, "a-long-name", &unsigned_int, NULL), -ENOENT);
	CHECK_INT(dk_op_define(&r_a, &r_def, 0, NULL), -EEXIST);
	CHECK_INT(dk_impls_unregister(&r_a, two, NULL), -ENOENT);
	CHECK_INT(dk_device_unregister(&r_a, 0, NULL), -ENODEV);
	r_close();
}

/* The call works, and what was told before is not told again. */
#define TELLS_NOTHING(call)						\
	do {								\
		r_poison();						\
		CHECK_OK(call);						\
		CHECK_INT(t_why.reason, DK_WHY_NONE);			\
		CHECK_STR(t_why.text, "no error");			\
		CHECK_STR(t_why.name, "");				\
	} while (0)

static void no_reason_without_refusal(void)
{
	static struct dk_provider p;
	struct dk_registry *reg;
	struct dk_keyset ks;
	struct dk_obj obj;
	unsigned int n;

	r_open();
	two[0] = t_impl(&r_new, DK_CPU, 1);
	p = r_none;
	TELLS_NOTHING(dk_provider_register(&p, &t_why));
	TELLS_NOTHING(dk_op_define(&p, &r_new, 0, &t_why));
	TELLS_NOTHING(dk_impls_register(&p, two, 1, &t_why));
	two[1] = two[0];
	r_poison();
	CHECK_OK(dk_impls_register(&p, &two[1], 1, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_OVERRIDE);
	CHECK_STR(t_why.name, "r::new CPU: f1 (none) -> f1 (none)");
	TELLS_NOTHING(dk_impls_unregister(&p, two, &t_why));
	TELLS_NOTHING(dk_impls_withdraw(&p, &two[1], &t_why));
	TELLS_NOTHING(dk_backend_impls_register(&p, 1, two, 1, &t_why));
	two[1] = t_fallthrough(NULL, DK_PYTHON);
	TELLS_NOTHING(dk_fallback_register(&p, &two[1], &t_why));
	TELLS_NOTHING(dk_backend_join(&p, "third", 0, 0, &n, &t_why));
	TELLS_NOTHING(dk_backend_find(t_reg, "third", &n, &t_why));
	TELLS_NOTHING(dk_registry_key_parse(t_reg, "Autogradthird", &n, &t_why));
	CHECK_INT(n, DK_AUTOGRAD_PRIVATEUSE3);
	TELLS_NOTHING(dk_device_register(&p, n = 15, "new", NULL, NULL, 0, &device,
					 &t_why));
	TELLS_NOTHING(dk_device_find(t_reg, "new", &obj, &t_why));
	TELLS_NOTHING(dk_device_set_online(t_reg, device, 0, &t_why));
	TELLS_NOTHING(dk_device_set_online(t_reg, device, 0, &t_why));
	TELLS_NOTHING(dk_device_unregister(&p, device, &t_why));
	TELLS_NOTHING(dk_op_undefine(&p, "r::new", &t_why));
	CHECK_OK(dk_provider_unregister(&p));
	TELLS_NOTHING(dk_backend_release(t_reg, "third", &t_why));
	TELLS_NOTHING(dk_registry_check(t_reg, &t_why));
	TELLS_NOTHING(dk_layout_find("v1", &t_why) ? 0 : -1);
	TELLS_NOTHING(dk_key_parse(NULL, "CPU", 0, &n, &t_why));
	TELLS_NOTHING(dk_backend_bit_parse(NULL, "CPU", &n, &t_why));
	TELLS_NOTHING(dk_keyset_parse(NULL, "CPU", &ks, &t_why));
	TELLS_NOTHING(dk_constant_set(NULL, "python_ks", &ks, &t_why));
	TELLS_NOTHING((reg = dk_registry_alloc(NULL, 0, &t_why)) ? 0 : -1);
	TELLS_NOTHING(dk_registry_free(reg, &t_why));
	TELLS_NOTHING(dk_registry_free(NULL, &t_why));
	r_rebase();
	r_close();
}

T_SUITE(refusals,
	T(names_and_sets),
	T(registries),
	T(providers),
	T(names_that_mislead),
	T(from_inside),
	T(operators),
	T(functions),
	T(functions_without_end),
	T(fallbacks),
	T(backends),
	T(devices),
	T(calls),
	T(calls_of_another_type),
	T(calls_by_name),
	T(entries),
	T(small_and_absent_diag),
	T(no_reason_without_refusal));
