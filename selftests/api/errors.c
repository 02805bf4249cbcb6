// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests errors for names, layouts, registries and providers, errors inside a call, and the reasons
 * that errors report. A request that fails must not change a full registry. full_registry.h
 * explains the comments "refuses:".
 */
#include "full_registry.h"

DK_OP(within, "errors::within",
	(struct dk_obj *x, int (*what)(void), int *err), (x, what, err), (x));
DK_OP(within_atomic, "errors::within_atomic",
	(struct dk_obj *x, int (*what)(void), int *err), (x, what, err), (x));

#define NAME_127 "n23456789012345678901234567890123456789012345678901234567890" \
	"1234567890123456789012345678901234567890123456789012345678901234567"

static unsigned int unsigned_int;
static u32 device;

/* ---- names, layouts, registries ------------------------------------------ */

static int find_layout(const char *name)
{
	return dk_layout_find(name, &t_why) ? 0 : -ENOENT;
}

static void names_and_sets(void)
{
	struct dk_keyset ks = { 77 };
	unsigned int n = 77;

	r_open();
	/* refuses: dk_layout_find ENOENT BAD_LAYOUT */
	REFUSED(find_layout("v0"), ENOENT, BAD_LAYOUT, "v0");
	/* refuses: dk_layout_find EINVAL NULL_ARGUMENT */
	REFUSED(find_layout(NULL), ENOENT, NULL_ARGUMENT, "name");
	/* refuses: dk_key_parse EINVAL PARSE_KEY */
	REFUSED(dk_key_parse(NULL, "CPUX", 0, &n, &t_why), EINVAL, PARSE_KEY, "CPUX");
	REFUSED(dk_key_parse(NULL, "", 0, &n, &t_why), EINVAL, PARSE_KEY, "");
	REFUSED(dk_key_parse(NULL, "CatchAll", DK_PARSE_STRICT, &n, &t_why), EINVAL,
		PARSE_KEY, "CatchAll");
	/* refuses: dk_key_parse EINVAL BAD_FLAGS */
	REFUSED(dk_key_parse(NULL, "CPU", DK_PARSE_STRICT << 1, &n, &t_why), EINVAL,
		BAD_FLAGS, "CPU");
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
	/* refuses: dk_constant_set EINVAL NULL_ARGUMENT */
	REFUSED(dk_constant_set(NULL, NULL, &ks, &t_why), EINVAL, NULL_ARGUMENT, "name");
	/* refuses: dk_registry_key_parse EINVAL PARSE_KEY */
	REFUSED(dk_registry_key_parse(t_reg, "Autogradnonsense", &n, &t_why), EINVAL,
		PARSE_KEY, "Autogradnonsense");
	CHECK_INT(n, 77);
	CHECK_INT(ks.bits, 77);
	CHECK_STR(dk_reason_text(DK_NUM_REASONS), "unknown reason");
	CHECK_STR(dk_reason_text(~0u), "unknown reason");
	CHECK_STR(dk_call_error_text(0), "no error");
	CHECK_STR(dk_call_error_text(7), "no error");
	CHECK_STR(dk_call_error_text(-0x7fffffff - 1),
		  "the function returned an error of its own");
	CHECK_STR(dk_call_error_text(-ENOSYS), dk_reason_text(DK_WHY_MISSING));
	CHECK_STR(dk_call_error_text(-ENOTUNIQ), dk_reason_text(DK_WHY_AMBIGUOUS));
	CHECK_STR(dk_call_error_text(-ENODEV), dk_reason_text(DK_WHY_DEVICE_GONE));
	CHECK_STR(dk_call_error_text(-EXDEV), dk_reason_text(DK_WHY_TWO_DEVICES));
	CHECK_STR(dk_call_error_text(-ENOENT), dk_reason_text(DK_WHY_NOT_DEFINED));
	CHECK_STR(dk_call_error_text(-EPROTOTYPE), dk_reason_text(DK_WHY_SIGNATURE));
	CHECK_STR(dk_call_error_text(-ESHUTDOWN), dk_reason_text(DK_WHY_SHUTDOWN));
	CHECK_STR(dk_call_error_text(-ENOMEM), dk_reason_text(DK_WHY_NO_MEMORY));
	CHECK_STR(dk_call_error_text(-EINVAL),
		  "the function returned -EINVAL, or the call was made at an unknown key");
	CHECK_STR(dk_call_error_text(-EIO), "the function returned an error of its own");
	r_close();
}

static int serve_all(struct dk_call *c, void *args)
{
	return 0;
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
	r_def = t_decl("r::op");
	CHECK_OK(dk_op_define(&r_a, &r_def, 0, &t_why));
	op = dk_op_get(t_reg, "r::op");
	t_unregister(&r_a);
	CHECK_INT(dk_registry_free(t_reg, &t_why), -EBUSY);
	CHECK_INT(t_why.reason, DK_WHY_IN_USE);
	CHECK_STR(t_why.name, "r::op");
	dk_op_put(op);
	t_close();
	CHECK_OK(dk_registry_free(NULL, &t_why));

	/* dk_registry_check() detects that a registered array was changed */
	t_open("v1", 0);
	t_join(&r_a, "a");
	changing = t_impl(&r_def, DK_CPU, 1);
	CHECK_OK(dk_impls_register(&r_a, &changing, 1, &t_why));
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	changing.flags = DK_IMPL_F_FALLTHROUGH;
	/* refuses: dk_registry_check EILSEQ TABLE */
	CHECK_INT(dk_registry_check(t_reg, &t_why), -EILSEQ);
	CHECK_INT(t_why.reason, DK_WHY_TABLE);
	CHECK_STR(t_why.name, "r::op");
	changing.flags = 0;
	CHECK_OK(dk_impls_unregister(&r_a, &changing, &t_why));
	/* a fallback without the flag of atomic functions does not serve an atomic operator */
	r_atomic = t_decl("r::atomic");
	CHECK_OK(dk_op_define(&r_a, &r_atomic, DK_OP_ATOMIC, &t_why));
	changing = (struct dk_impl)DK_FALLBACK(DK_CPU, serve_all);
	changing.flags |= DK_IMPL_F_ATOMIC;
	CHECK_OK(dk_fallback_register(&r_a, &changing, &t_why));
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	changing.flags &= ~DK_IMPL_F_ATOMIC;
	CHECK_INT(dk_registry_check(t_reg, &t_why), -EILSEQ);
	CHECK_STR(t_why.name, "r::atomic");
	changing.flags |= DK_IMPL_F_ATOMIC;
	t_unregister(&r_a);
	t_close();
}

/*
 * Functions that register something refuse NULL. Functions that unregister, free or complete
 * something do nothing for NULL.
 */
static void null_arguments(void)
{
	struct dk_library lib;
	struct dk_stat s = { .size = sizeof(s) };
	struct dk_keyset ks;
	unsigned int key;

	r_open();
	lib = t_library(&r_a, DK_LIBRARY_FRAGMENT, "x", 0);
	CHECK_OK(dk_library_register(&lib, &t_why));
	r_rebase();
	REFUSED(dk_hooks_register(t_reg, NULL, &t_why), EINVAL, NULL_ARGUMENT, "h");
	REFUSED(dk_listener_register(NULL, &t_why), EINVAL, NULL_ARGUMENT, "listener");
	REFUSED(dk_library_register(NULL, &t_why), EINVAL, NULL_ARGUMENT, "lib");
	REFUSED(dk_library_def(&lib, NULL, 0, NULL, &t_why), EINVAL, NULL_ARGUMENT, "decl");
	REFUSED(dk_library_def(NULL, &r_def, 0, NULL, &t_why), EINVAL, NULL_ARGUMENT, "lib");
	REFUSED(dk_library_impl(&lib, NULL, NULL, &t_why), EINVAL, NULL_ARGUMENT, "impl");
	REFUSED(dk_library_impl(NULL, r_table, NULL, &t_why), EINVAL, NULL_ARGUMENT, "lib");
	/* refuses: dk_key_parse EINVAL NULL_ARGUMENT */
	REFUSED(dk_key_parse(NULL, NULL, 0, &key, &t_why), EINVAL, NULL_ARGUMENT, "name");
	/* refuses: dk_backend_bit_parse EINVAL NULL_ARGUMENT */
	REFUSED(dk_backend_bit_parse(NULL, NULL, &key, &t_why), EINVAL, NULL_ARGUMENT, "name");
	/* refuses: dk_keyset_parse EINVAL NULL_ARGUMENT */
	REFUSED(dk_keyset_parse(NULL, NULL, &ks, &t_why), EINVAL, NULL_ARGUMENT, "text");
	REFUSED_ERR(dk_provider_stat(t_reg, NULL, &s), EINVAL);
	REFUSED_ERR(dk_call_complete(NULL, 0), EINVAL);
	REFUSED_ERR(dk_hooks_unregister(NULL, &t_why), 0);
	CHECK_INT(t_why.reason, DK_WHY_NONE);
	REFUSED_ERR(dk_listener_unregister(NULL), 0);
	REFUSED_ERR(dk_library_unregister(NULL), 0);
	REFUSED_ERR(dk_handle_release(&lib, NULL), 0);
	CHECK_OK(dk_library_unregister(&lib));
	r_rebase();
	r_close();
}

/* ---- providers ----------------------------------------------------------- */

static void providers(void)
{
	struct dkc_provider *core;
	struct dk_provider p;
	const char *name;

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
	/* the memory of a registered provider was freed and is used again for a new provider */
	core = r_a.core;
	name = r_a.name;
	r_a.core = NULL;
	r_a.name = "later";
	CHECK_INT(dk_provider_register(&r_a, &t_why), -EEXIST);
	CHECK_INT(t_why.reason, DK_WHY_REGISTERED);
	CHECK_STR(t_why.name, "a");
	r_a.name = name;
	r_a.core = core;
	/* refuses: dk_provider_register EINVAL NULL_ARGUMENT */
	REFUSED(dk_provider_register(NULL, &t_why), EINVAL, NULL_ARGUMENT, "prov");
	CHECK_OK(dk_provider_unregister(NULL));
	CHECK_OK(dk_provider_unregister_timeout(NULL, 0, &t_why));
	CHECK_INT(dk_provider_drain(NULL), -EINVAL);
	/* refuses: dk_provider_drain EINVAL UNREGISTERED */
	REFUSED_ERR(dk_provider_drain(&r_none), EINVAL);
	/* unregistering a provider that is not registered succeeds */
	REFUSED_ERR(dk_provider_unregister(&r_none), 0);
	/* the longest name that is allowed */
	p = r_none;
	p.name = NAME_127;
	CHECK_OK(dk_provider_register(&p, &t_why));
	CHECK_OK(dk_provider_unregister(&p));
	CHECK_OK(dk_provider_unregister(&p));
	r_rebase();
	r_close();
}

/*
 * Control characters would reach logs and terminals. Bidirectional characters and invalid UTF-8 can
 * mislead readers.
 */
static void misleading_names_are_refused(void)
{
	static const char *const bad[] = {
		"a\x01", "\x1b[2J", "a\x7f", "a\xc2\x80", "\xc2\x9fz", "a\xd8\x9c",
		"a\xe2\x80\x8e", "a\xe2\x80\x8f", "a\xe2\x80\xaa", "a\xe2\x80\xaez",
		"a\xe2\x81\xa6", "a\xe2\x81\xa9",
		/* separators of lines and paragraphs */
		"a\xe2\x80\xa8", "a\xe2\x80\xa9",
		/*
		 * invalid UTF-8: single bytes, truncated sequences, overlong sequences, a
		 * surrogate, and code points beyond the last one
		 */
		"a\x9b", "\xff", "a\xc3", "\xe2\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x82\x80",
		"\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80",
	};
	static const char *const good[] = {
		"r::\xc2\xa0", "r::\xd8\x9b", "r::\xe2\x80\x8d", "r::\xe2\x80\x90",
		"r::\xe2\x80\xa7", "r::\xe2\x80\xaf", "r::\xe2\x81\xa5", "r::\xe2\x81\xaa",
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
			LAYOUT_NAME, bad[i]);
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

/* ---- requests from inside a call ----------------------------------------- */

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

/* In userspace, the same requests are refused inside an atomic call as inside any other. */
static void refused_inside(struct dk_op *atomic)
{
	REFUSED(inside(atomic, &within_atomic_op, unregister_table), EDEADLK, INSIDE, "a");
	REFUSED(inside(atomic, &within_atomic_op, cpu_offline), EDEADLK, INSIDE_BACKEND, "CPU");
	CHECK_OK(inside(atomic, &within_atomic_op, drain_b));
}

/*
 * In the kernel, an atomic call is an RCU read-side critical section, so all requests that wait are
 * refused.
 */
static void refused_in_section(struct dk_op *atomic)
{
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

static void open_within(void)
{
	r_open();
	CHECK_OK(dk_op_define(&r_a, &within_op, 0, &t_why));
	CHECK_OK(dk_op_define(&r_a, &within_atomic_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&r_a, within_table, 2, &t_why));
}

static void call_cannot_wait_for_its_provider(void)
{
	struct dk_op *op;

	open_within();
	op = dk_op_get(t_reg, "errors::within");
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

	/* another provider can be drained and unregistered */
	CHECK_OK(inside(op, &within_op, drain_b));
	CHECK_OK(inside(op, &within_op, unregister_b));
	CHECK(!r_b.core);
	dk_op_put(op);
	t_join(&r_b, "b");
	r_rebase();
	r_close();
}

static void atomic_call_cannot_wait(void)
{
	struct dk_op *op;

	if (t_skip_atomic())
		return;
	open_within();
	op = dk_op_get(t_reg, "errors::within_atomic");
	r_rebase();
	if (T_KERNEL)
		refused_in_section(op);
	else
		refused_inside(op);
	dk_op_put(op);
	r_rebase();
	r_close();
}

/* ---- functions ----------------------------------------------------------- */

static struct dk_impl two[2];

/* ---- reasons ------------------------------------------------------------- */

/* A caller may pass a smaller struct dk_diag, or NULL. The report is cut to fit. */
static void small_and_absent_diag(void)
{
	struct {
		struct dk_diag why;
		char after[8];
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

/* Checks that the call succeeds and removes an earlier reason from t_why. */
#define REPORTS_NOTHING(call)						\
	do {								\
		r_poison();						\
		CHECK_OK(call);						\
		CHECK_INT(t_why.reason, DK_WHY_NONE);			\
		CHECK_STR(t_why.text, "no error");			\
		CHECK_STR(t_why.name, "");				\
	} while (0)

static void success_reports_no_reason(void)
{
	static struct dk_provider p;
	struct dk_registry *reg;
	struct dk_keyset ks;
	struct dk_obj obj;
	unsigned int n;

	r_open();
	two[0] = t_impl(&r_new, DK_CPU, 1);
	p = r_none;
	REPORTS_NOTHING(dk_provider_register(&p, &t_why));
	REPORTS_NOTHING(dk_op_define(&p, &r_new, 0, &t_why));
	REPORTS_NOTHING(dk_impls_register(&p, two, 1, &t_why));
	two[1] = two[0];
	r_poison();
	CHECK_OK(dk_impls_register(&p, &two[1], 1, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_OVERRIDE);
	CHECK_STR(t_why.name, "r::new CPU: f1 (none) -> f1 (none)");
	REPORTS_NOTHING(dk_impls_unregister(&p, two, &t_why));
	REPORTS_NOTHING(dk_impls_withdraw(&p, &two[1], &t_why));
	REPORTS_NOTHING(dk_backend_impls_register(&p, 1, two, 1, &t_why));
	two[1] = t_fallthrough(NULL, DK_PYTHON);
	REPORTS_NOTHING(dk_fallback_register(&p, &two[1], &t_why));
	REPORTS_NOTHING(dk_backend_join(&p, "third", 0, 0, &n, &t_why));
	REPORTS_NOTHING(dk_backend_find(t_reg, "third", &n, &t_why));
	REPORTS_NOTHING(dk_registry_key_parse(t_reg, "Autogradthird", &n, &t_why));
	CHECK_INT(n, DK_AUTOGRAD_PRIVATEUSE3);
	REPORTS_NOTHING(dk_device_register(&p, n = 15, "new", NULL, NULL, 0, &device,
					   &t_why));
	REPORTS_NOTHING(dk_device_find(t_reg, "new", &obj, &t_why));
	REPORTS_NOTHING(dk_device_set_online(t_reg, device, 0, &t_why));
	REPORTS_NOTHING(dk_device_set_online(t_reg, device, 0, &t_why));
	REPORTS_NOTHING(dk_device_unregister(&p, device, &t_why));
	REPORTS_NOTHING(dk_op_undefine(&p, "r::new", &t_why));
	CHECK_OK(dk_provider_unregister(&p));
	REPORTS_NOTHING(dk_backend_release(t_reg, "third", &t_why));
	REPORTS_NOTHING(dk_registry_check(t_reg, &t_why));
	REPORTS_NOTHING(dk_layout_find("v1", &t_why) ? 0 : -1);
	REPORTS_NOTHING(dk_key_parse(NULL, "CPU", 0, &n, &t_why));
	REPORTS_NOTHING(dk_backend_bit_parse(NULL, "CPU", &n, &t_why));
	REPORTS_NOTHING(dk_keyset_parse(NULL, "CPU", &ks, &t_why));
	REPORTS_NOTHING(dk_constant_set(NULL, "python_ks", &ks, &t_why));
	REPORTS_NOTHING((reg = dk_registry_alloc(NULL, 0, &t_why)) ? 0 : -1);
	REPORTS_NOTHING(dk_registry_free(reg, &t_why));
	REPORTS_NOTHING(dk_registry_free(NULL, &t_why));
	r_rebase();
	r_close();
}

T_SUITE(errors,
	T(names_and_sets),
	T(registries),
	T(null_arguments),
	T(providers),
	T(misleading_names_are_refused),
	T(call_cannot_wait_for_its_provider),
	T(atomic_call_cannot_wait),
	T(small_and_absent_diag),
	T(success_reports_no_reason));
