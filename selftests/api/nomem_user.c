// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests failures of allocations that exist only in userspace: those of the default registry, of a
 * thread's first call, and of schemas. alloc_failures.c and alloc_tables.c test the others.
 * full_registry.h explains the comments "refuses:".
 */
#include "alloc.h"
#include "full_registry.h"

#include "core/change/change.h"

#include <pthread.h>

DK_OP(nomem, "nomem_user::op", (struct dk_obj *x, int *served_by), (x, served_by), (x));

static bool slow;	/* the last call took the slow path */

static int nomem_cpu(struct dk_call *c, struct dk_obj *x, int *served_by)
{
	slow = dk_call_frame(c);
	*served_by = 1;
	return 0;
}

static const struct dk_impl nomem_impls[] = { DK_IMPL(nomem, DK_CPU, nomem_cpu) };
static struct dk_provider me = DK_PROVIDER("nomem");

/* Checks that a call fails for lack of memory. Unlike REFUSED(), works without r_open(). */
#define NO_MEMORY(call, culprit)					\
	do {								\
		r_poison();						\
		CHECK_INT(call, -ENOMEM);				\
		CHECK_INT(t_why.reason, DK_WHY_NO_MEMORY);		\
		CHECK_STR(t_why.name, culprit);				\
	} while (0)

static void no_memory(int err, const char *culprit)
{
	CHECK_INT(t_why.reason, DK_WHY_NO_MEMORY);
	CHECK_STR(t_why.name, culprit);
}

static void hook(struct dk_hooks *h, const struct dk_hook_info *info)
{
}

static struct dk_hooks hooks = { .size = sizeof(hooks), .before = hook };

/* Functions that list a registry fail if it cannot be allocated. */
static void no_lists(void)
{
	struct dk_counts counts = { .size = sizeof(counts) };
	struct dk_backend_info backend = { .size = sizeof(backend) };
	struct dk_device_info device = { .size = sizeof(device) };
	struct dk_provider_info provider = { .size = sizeof(provider) };
	struct dk_limit limit = { .size = sizeof(limit) };
	char text[8] = "before";

	/* refuses: dk_registry_counts ENOMEM NO_MEMORY */
	CHECK_INT(dk_registry_counts(NULL, &counts), -ENOMEM);
	/* refuses: dk_registry_backend ENOMEM NO_MEMORY */
	CHECK_INT(dk_registry_backend(NULL, 1, &backend), -ENOMEM);
	/* refuses: dk_registry_device ENOMEM NO_MEMORY */
	CHECK_INT(dk_registry_device(NULL, 1, &device), -ENOMEM);
	/* refuses: dk_registry_next_device ENOMEM NO_MEMORY */
	CHECK_INT(dk_registry_next_device(NULL, 0, &device), -ENOMEM);
	/* refuses: dk_registry_next_provider ENOMEM NO_MEMORY */
	CHECK_INT(dk_registry_next_provider(NULL, 0, &provider), -ENOMEM);
	/* refuses: dk_registry_limit ENOMEM NO_MEMORY */
	CHECK_INT(dk_registry_limit(NULL, 0, &limit), -ENOMEM);
	/* refuses: dk_registry_list_ops ENOMEM NO_MEMORY */
	CHECK_INT(dk_registry_list_ops(NULL, DK_UNDEFINED, text, sizeof(text)), -ENOMEM);
	CHECK_STR(text, "");
	/* refuses: dk_registry_list_dangling ENOMEM NO_MEMORY */
	CHECK_INT(dk_registry_list_dangling(NULL, text, sizeof(text)), -ENOMEM);
}

static int make_default(void)
{
	return dk_registry_check(NULL, &t_why);
}

static int first_provider(void)
{
	int err = dk_provider_register(&me, &t_why);

	CHECK(!me.core == !!err);
	return err;
}

/* Must be the first test of the process, before the default registry is allocated. */
static void no_default_registry(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_op_info info = { .size = sizeof(info) };
	const struct dk_impl unused = { .size = sizeof(unused) };
	struct dk_op *op = (void *)&x;
	unsigned int key, backend;
	int served_by;

	dk_test_fail_alloc(DK_TEST_EVERY);
	if (dk_registry_default()) {
		dk_test_fail_alloc(0);
		t_skip("this process has a default registry already");
		return;
	}
	/* refuses: dk_provider_register ENOMEM NO_MEMORY */
	NO_MEMORY(dk_provider_register(&me, &t_why), "nomem");
	CHECK(!me.core);
	/* refuses: dk_registry_check ENOMEM NO_MEMORY */
	NO_MEMORY(dk_registry_check(NULL, &t_why), "");
	/* refuses: dk_hooks_register ENOMEM NO_MEMORY */
	NO_MEMORY(dk_hooks_register(NULL, &hooks, &t_why), "");
	/* refuses: dk_registry_key_parse ENOMEM NO_MEMORY */
	NO_MEMORY(dk_registry_key_parse(NULL, "CPU", &key, &t_why), "CPU");
	/* refuses: dk_registry_key_parse_strict ENOMEM NO_MEMORY */
	NO_MEMORY(dk_registry_key_parse_strict(NULL, "CPU", &key, &t_why), "CPU");
	/* refuses: dk_key_for_device ENOMEM NO_MEMORY */
	NO_MEMORY(dk_key_for_device(NULL, "cpu", &key, &t_why), "cpu");
	/* refuses: dk_layout_parse ENOMEM NO_MEMORY */
	r_poison();
	CHECK(!dk_layout_parse("layout x\nbackends A\nfunctionalities Undefined B* C",
			       &t_why));
	CHECK_INT(t_why.reason, DK_WHY_NO_MEMORY);
	/* a provider that is not registered is refused without a registry */
	CHECK_INT(dk_backend_join(&me, "edu", 0, 0, &backend, &t_why), -EINVAL);
	CHECK_INT(dk_op_undefine(&me, "nomem_user::op", &t_why), -EINVAL);
	CHECK_INT(dk_impls_withdraw(&me, &unused, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_UNREGISTERED);
	/* refuses: dk_call_enter ENOMEM NO_MEMORY */
	CHECK_INT(nomem(&x, &served_by), -ENOMEM);
	/* refuses: dk_thread_init ENOMEM NO_MEMORY */
	CHECK_INT(dk_thread_init(), -ENOMEM);
	CHECK(!dk_op_get(NULL, "nomem_user::op"));
	/* refuses: dk_op_get_defined ENOMEM NO_MEMORY */
	NO_MEMORY(dk_op_get_defined(NULL, "nomem_user::op", &op, &t_why), "nomem_user::op");
	CHECK(!op);
	/* refuses: dk_registry_next_op ENOMEM NO_MEMORY */
	CHECK_INT(dk_registry_next_op(NULL, NULL, &info), -ENOMEM);
	no_lists();
	CHECK(r_each_fails(make_default, no_memory, ""));
	CHECK(dk_registry_default());
	CHECK(r_each_fails(first_provider, no_memory, "nomem"));
	CHECK_OK(dk_provider_unregister(&me));
}

/* ---- the first call of a thread -------------------------------------------------- */

static struct dk_op *first_op;

static int served(int err, int served_by)
{
	CHECK_INT(served_by, !err);
	return err;
}

static int call_by_name(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	int served_by = 0, err = nomem(&x, &served_by);

	return served(err, served_by);
}

static int call_by_handle(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	int served_by = 0, err = nomem_at(first_op, &dk_local_default, &x, &served_by);

	return served(err, served_by);
}

static int call_of_a_key(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	int served_by = 0, err = nomem_for_key(first_op, &dk_local_default, DK_CPU, &x, &served_by);

	return served(err, served_by);
}

static int call_by_keyset(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	int served_by = 0, err = nomem_by_keyset(first_op, &dk_local_default, x.ks, &x, &served_by);

	return served(err, served_by);
}

static int call_boxed(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	int served_by = 0, err;
	struct nomem_args boxed = { &x, &served_by };

	err = dk_call_boxed(first_op, &nomem_op, &dk_local_default, &boxed);
	return served(err, served_by);
}

static int call_boxed_of_a_key(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	int served_by = 0, err;
	struct nomem_args boxed = { &x, &served_by };

	err = dk_call_boxed_key(first_op, &nomem_op, &dk_local_default, DK_CPU, &boxed);
	return served(err, served_by);
}

static int (*const firsts[])(void) = {
	call_by_name,
	/* refuses: dk_call_enter_op ENOMEM NO_MEMORY */
	call_by_handle,
	/* refuses: dk_call_enter_key ENOMEM NO_MEMORY */
	call_of_a_key,
	/* refuses: dk_call_enter_keyset ENOMEM NO_MEMORY */
	call_by_keyset,
	/* refuses: dk_call_boxed ENOMEM NO_MEMORY */
	call_boxed,
	/* refuses: dk_call_boxed_key ENOMEM NO_MEMORY */
	call_boxed_of_a_key,
	dk_thread_init,
};

/*
 * Without memory, a thread's first call fails and keeps no memory. After a first call that
 * succeeds, the thread's calls allocate nothing.
 */
static void *begin_with(void *data)
{
	int (*const *first)(void) = data;
	long before = dk_test_allocs();
	unsigned int i;

	dk_test_fail_alloc(DK_TEST_EVERY);
	if (!CHECK_INT((*first)(), -ENOMEM) || !CHECK(dk_test_fail_alloc(0)) ||
	    !CHECK_INT(dk_test_allocs(), before) || !CHECK_OK((*first)()))
		t_note("first action of a thread, number %d", (int)(first - firsts));
	dk_test_fail_alloc(DK_TEST_EVERY);
	for (i = 0; i < ARRAY_SIZE(firsts); i++)
		CHECK_OK(firsts[i]());
	dk_test_fail_alloc(0);
	return NULL;
}

static void first_call_of_a_thread(void)
{
	pthread_t thread;
	unsigned int i;
	long before;

	CHECK_OK(dk_provider_register(&me, &t_why));
	CHECK_OK(dk_op_define(&me, &nomem_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, nomem_impls, 1, &t_why));
	first_op = dk_op_get(NULL, "nomem_user::op");
	before = dk_test_allocs();
	for (i = 0; i < ARRAY_SIZE(firsts); i++) {
		CHECK_OK(pthread_create(&thread, NULL, begin_with, (void *)&firsts[i]));
		pthread_join(thread, NULL);
		CHECK_INT(dk_test_allocs(), before);
	}
	dk_op_put(first_op);
	CHECK_OK(dk_provider_unregister(&me));
}

/* ---- counters of a thread ----------------------------------------------------------- */

static u64 uncounted(void)
{
	struct dk_stats s = { .size = sizeof(s) };

	CHECK_OK(dk_stats_get(NULL, &s));
	return s.uncounted;
}

/* Makes calls with memory for the thread's record, but not for its counters. */
static void *call_uncounted(void *data)
{
	dk_test_fail_alloc(2);
	CHECK_OK(dk_thread_init());
	CHECK_INT(dk_test_fail_alloc(0), 1);
	/* the first call can take the slow path for other reasons, so the second one is checked */
	CHECK_OK(call_by_handle());
	CHECK_OK(call_by_handle());
	CHECK(slow);
	CHECK_INT(uncounted(), 2);
	return NULL;
}

/* The calls of a thread without counters take the slow path until counters are disabled. */
static void *call_until_uncounted(void *data)
{
	call_uncounted(data);
	CHECK_OK(dk_stats_disable(NULL, &t_why));
	CHECK_OK(call_by_handle());
	CHECK_OK(call_by_handle());
	CHECK(!slow);
	return NULL;
}

static void in_a_thread(void *(*run)(void *data))
{
	pthread_t thread;

	CHECK_OK(dk_provider_register(&me, &t_why));
	CHECK_OK(dk_op_define(&me, &nomem_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, nomem_impls, 1, &t_why));
	CHECK_OK(dk_stats_enable(NULL, &t_why));
	first_op = dk_op_get(NULL, "nomem_user::op");
	CHECK_OK(pthread_create(&thread, NULL, run, NULL));
	pthread_join(thread, NULL);
}

static void end(void)
{
	dk_op_put(first_op);
	CHECK_OK(dk_provider_unregister(&me));
}

/* The thread's calls are reported as uncounted until a reset, even after the thread has ended. */
static void thread_without_counters(void)
{
	in_a_thread(call_uncounted);
	CHECK_INT(uncounted(), 2);
	CHECK_OK(dk_stats_reset(NULL, &t_why));
	CHECK_INT(uncounted(), 0);
	CHECK_OK(dk_stats_disable(NULL, &t_why));
	end();
}

static void thread_that_needs_no_counters(void)
{
	in_a_thread(call_until_uncounted);
	end();
}

/* ---- unregistering --------------------------------------------------------------- */

static struct dk_provider host, guest;
static unsigned int backend;

/*
 * Unregisters the guest while allocation @nth fails. Its functions are removed in any case. If
 * there is no memory for a wait with a deadline, increments *@late and waits without a deadline.
 * Returns the number of allocations that failed.
 */
static unsigned int unregister_guest(struct dk_op *op, unsigned int nth, unsigned int *late)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	unsigned int failed;
	int served_by = 0, err;

	t_join(&guest, "guest");
	CHECK_OK(dk_impls_register(&guest, nomem_impls, 1, &t_why));
	dk_test_fail_alloc(nth);
	r_poison();
	err = dk_provider_unregister_timeout(&guest, 60000, &t_why);
	CHECK_INT(nomem_at(op, &dk_local_default, &x, &served_by), -ENOSYS);
	if (err) {
		/* refuses: dk_provider_unregister_timeout ETIMEDOUT NO_DEADLINE */
		CHECK_INT(err, -ETIMEDOUT);
		CHECK_INT(t_why.reason, DK_WHY_NO_DEADLINE);
		CHECK(guest.core);
		CHECK_OK(dk_provider_unregister(&guest));
		++*late;
	}
	failed = dk_test_fail_alloc(0);
	CHECK(failed || !err);
	CHECK(!guest.core);
	return failed;
}

/* A provider's functions are removed without memory. Only a wait with a deadline needs memory. */
static void wait_with_a_deadline_needs_memory(void)
{
	unsigned int n, late = 0;
	struct dk_op *op;
	long before;

	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&host, "host");
	CHECK_OK(dk_op_define(&host, &nomem_op, 0, &t_why));
	op = dk_op_get(t_reg, "nomem_user::op");
	CHECK(unregister_guest(op, DK_TEST_EVERY, &late));
	CHECK_INT(late, 1);
	/* the next change builds the table whose allocation failed */
	unregister_guest(op, 0, &late);
	before = dk_test_allocs();
	for (n = 1; unregister_guest(op, n, &late); n++) {
		unregister_guest(op, 0, &late);
		CHECK_INT(dk_test_allocs(), before);
	}
	CHECK(late > 1 && late <= n);
	dk_op_put(op);
	t_unregister(&host);
	t_close();
}

static int release_name(void)
{
	unsigned int found = 0;
	int err = dk_backend_release(t_reg, "edu", &t_why);

	if (err) {
		CHECK_OK(dk_backend_find(t_reg, "edu", &found, NULL));
		CHECK_INT(found, backend);
	}
	CHECK_INT(dk_backend_is_online(t_reg, backend), !err);
	return err;
}

/* If releasing a name succeeds, its backend comes online; if it fails, the name stays. */
static void name_is_released_without_memory(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(nomem, DK_PRIVATEUSE1, nomem_cpu)
	};

	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&host, "host");
	t_join(&guest, "guest");
	CHECK_OK(dk_backend_join(&guest, "edu", 0, 0, &backend, &t_why));
	CHECK_OK(dk_op_define(&host, &nomem_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&host, impls, 1, &t_why));
	CHECK_OK(dk_backend_set_online(t_reg, backend, 0, &t_why));
	t_unregister(&guest);
	/* refuses: dk_backend_release ENOMEM NO_MEMORY */
	CHECK(r_each_fails(release_name, no_memory, "edu"));
	t_unregister(&host);
	t_close();
}

/* ---- names and tables -------------------------------------------------------------- */

static struct dk_provider base;
static struct dk_op_decl decl;
static struct dk_op *op;

/*
 * A delayed call has an old table, but finds functions that were registered later. These functions
 * may sleep, or have another type, so the call must not use them.
 */
static void atomic_call_uses_an_old_table(void)
{
	const struct dkc_table *old = dkc_table_bypass(DK_OP_ATOMIC);
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));
	const struct dk_obj *objs[] = { &cpu };
	struct dkc_request req = { .objs = objs, .n = 1, .mask = true };
	static struct dk_impl late;
	struct dk_op_decl other;

	t_open("v1", 0);
	t_join(&base, "base");
	decl = t_decl("nomem_user::old");
	CHECK_OK(dk_op_define(&base, &decl, DK_OP_ATOMIC, &t_why));
	op = dk_op_get(t_reg, "nomem_user::old");
	CHECK_OK(dk_op_undefine(&base, "nomem_user::old", &t_why));
	late = t_impl(&decl, DK_CPU, 1);
	CHECK_OK(dk_impls_register(&base, &late, 1, &t_why));
	req.ks = cpu.ks.bits;
	CHECK_INT(dkc_find(op, old, &req), -ENOENT);
	req.ks = cpu.ks.bits;
	other = decl;
	other.sig = "(int other)";
	req.decl = &other;
	CHECK_INT(dkc_find(op, dkc_table_bypass(0), &req), -EPROTOTYPE);
	req.ks = cpu.ks.bits;
	req.decl = &decl;
	CHECK_OK(dkc_find(op, dkc_table_bypass(0), &req));
	dk_op_put(op);
	t_unregister(&base);
	t_close();
}

/*
 * A call by name has found the operator, whose provider is then unregistered. While allocations
 * fail, definitions of this name with another type fail.
 */
static void bound_name_keeps_its_operator(void)
{
	struct dk_op_decl other = nomem_op;
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU));
	int served_by = 0, i;

	other.sig = "(int other)";
	other.op = NULL;
	CHECK_OK(dk_provider_register(&me, &t_why));
	CHECK_OK(dk_op_define(&me, &nomem_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, nomem_impls, 1, &t_why));
	CHECK_OK(nomem(&x, &served_by));
	CHECK_OK(dk_provider_unregister(&me));
	CHECK_OK(dk_provider_register(&me, &t_why));
	/*
	 * a failed definition must not use up a slot: try more often than the table of names has
	 * slots
	 */
	for (i = 0; i < 1000; i++) {
		dk_test_fail_alloc(DK_TEST_EVERY);
		CHECK_INT(dk_op_define(&me, &other, 0, &t_why), -ENOMEM);
		dk_test_fail_alloc(0);
		CHECK_INT(nomem(&x, &served_by), -ENOENT);
	}
	CHECK_OK(dk_op_define(&me, &other, 0, &t_why));
	CHECK_INT(nomem(&x, &served_by), -EPROTOTYPE);
	CHECK_OK(dk_provider_unregister(&me));
}

/* ---- schemas --------------------------------------------------------------------- */

static struct dk_schema *parsed;
static struct dk_op_decl *made;

static int parse_schema(void)
{
	int err;

	parsed = (void *)&me;
	err = dk_schema_parse("f(int[] a, Tensor? b) -> (int, Tensor)", &parsed, &t_why);
	CHECK(!parsed == !!err);
	return err;
}

static int make_decl(void)
{
	int err;

	made = (void *)&me;
	err = dk_schema_decl(parsed, &made, &t_why);
	CHECK(!made == !!err);
	return err;
}

static void schema_parsing_without_memory(void)
{
	/* refuses: dk_schema_parse ENOMEM NO_MEMORY */
	CHECK(r_each_fails(parse_schema, no_memory, ""));
	/* refuses: dk_schema_decl ENOMEM NO_MEMORY */
	CHECK(r_each_fails(make_decl, no_memory, "f"));
	dk_schema_decl_free(made);
	dk_schema_free(parsed);
}

T_SUITE(nomem_user,
	T(no_default_registry),
	T(first_call_of_a_thread),
	T(thread_without_counters),
	T(thread_that_needs_no_counters),
	T(wait_with_a_deadline_needs_memory),
	T(name_is_released_without_memory),
	T(atomic_call_uses_an_old_table),
	T(bound_name_keeps_its_operator),
	T(schema_parsing_without_memory));
