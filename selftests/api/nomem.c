// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens when memory is short: userspace only, with an allocator that
 * fails on demand. The program is linked with -Wl,--wrap=dkc_alloc.
 */
#include "refuse.h"

#include "core/registry.h"

#include <pthread.h>

void *__real_dkc_alloc(size_t size);
void *__wrap_dkc_alloc(size_t size);

/* Which allocation from now on fails: 0 for none. */
static unsigned int fail_at;
static bool fail_all;
static unsigned int num_failed;
/* Looks at what others see meanwhile. */
static void (*at_alloc)(void);

void *__wrap_dkc_alloc(size_t size)
{
	if (at_alloc)
		at_alloc();
	if (fail_all || (fail_at && !--fail_at)) {
		num_failed++;
		return NULL;
	}
	return __real_dkc_alloc(size);
}

static void short_of_memory(void)
{
	fail_all = true;
	num_failed = 0;
}

static void memory_again(void)
{
	fail_all = false;
	fail_at = 0;
}

DK_OP(nomem, "nomem::op", (struct dk_obj *x, int *who), (x, who), (x));

static int nomem_cpu(struct dk_call *c, struct dk_obj *x, int *who)
{
	*who = 1;
	return 0;
}

static const struct dk_impl nomem_impls[] = { DK_IMPL(nomem, DK_CPU, nomem_cpu) };
static struct dk_provider me = DK_PROVIDER("nomem");

/* A refusal for lack of memory, without the fixture of refuse.h. */
#define NO_MEMORY(call, culprit)					\
	do {								\
		r_poison();						\
		CHECK_INT(call, -ENOMEM);				\
		CHECK_INT(t_why.reason, DK_WHY_NO_MEMORY);		\
		CHECK_STR(t_why.name, culprit);				\
	} while (0)

static void hook(struct dk_hooks *h, const struct dk_hook_info *info)
{
}

static struct dk_hooks hooks = { .size = sizeof(hooks), .before = hook };

/* The first test of the process: the default registry is not made yet. */
static void no_default_registry(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_op_info info = { .size = sizeof(info) };
	struct dk_op *op = (void *)&x;
	unsigned int key, backend;
	int who;

	short_of_memory();
	if (dk_registry_default()) {
		memory_again();
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
	/* refuses: dk_backend_join ENOMEM NO_MEMORY */
	NO_MEMORY(dk_backend_join(&me, "edu", 0, 0, &backend, &t_why), "nomem");
	/* refuses: dk_call_enter ENOMEM NO_MEMORY */
	CHECK_INT(nomem(&x, &who), -ENOMEM);
	/* refuses: dk_thread_init ENOMEM NO_MEMORY */
	CHECK_INT(dk_thread_init(), -ENOMEM);
	CHECK(!dk_op_get(NULL, "nomem::op"));
	/* refuses: dk_op_get_defined ENOMEM NO_MEMORY */
	NO_MEMORY(dk_op_get_defined(NULL, "nomem::op", &op, &t_why), "nomem::op");
	CHECK(!op);
	/* refuses: dk_registry_next_op ENOMEM NO_MEMORY */
	CHECK_INT(dk_registry_next_op(NULL, NULL, &info), -ENOMEM);
	memory_again();
	CHECK(dk_registry_default());
	CHECK_OK(dk_registry_check(NULL, &t_why));
}

static void *first_calls(void *unused)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_op *op = dk_op_get(NULL, "nomem::op");
	int who = 0;
	struct nomem_args boxed = { &x, &who };
	struct dk_hold hold;

	short_of_memory();
	CHECK_INT(nomem(&x, &who), -ENOMEM);
	/* refuses: dk_call_enter_op ENOMEM NO_MEMORY */
	CHECK_INT(nomem_at(op, &dk_local_default, &x, &who), -ENOMEM);
	/* refuses: dk_hold ENOMEM NO_MEMORY */
	CHECK_INT(dk_hold(&hold, NULL), -ENOMEM);
	/* refuses: dk_call_enter_key ENOMEM NO_MEMORY */
	CHECK_INT(nomem_for_key(op, &dk_local_default, DK_CPU, &x, &who), -ENOMEM);
	/* refuses: dk_call_boxed ENOMEM NO_MEMORY */
	CHECK_INT(dk_call_boxed(op, &nomem_op, &dk_local_default, &boxed), -ENOMEM);
	/* refuses: dk_call_boxed_key ENOMEM NO_MEMORY */
	CHECK_INT(dk_call_boxed_key(op, &nomem_op, &dk_local_default, DK_CPU, &boxed),
		  -ENOMEM);
	CHECK_INT(dk_thread_init(), -ENOMEM);
	CHECK_INT(who, 0);
	memory_again();
	CHECK_OK(nomem(&x, &who));
	CHECK_INT(who, 1);
	/* from here on the thread needs none */
	short_of_memory();
	CHECK_OK(nomem(&x, &who));
	CHECK_OK(dk_thread_init());
	memory_again();
	dk_op_put(op);
	return NULL;
}

static void first_call_of_a_thread(void)
{
	pthread_t thread;

	CHECK_OK(dk_provider_register(&me, &t_why));
	CHECK_OK(dk_op_define(&me, &nomem_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, nomem_impls, 1, &t_why));
	CHECK_OK(pthread_create(&thread, NULL, first_calls, NULL));
	pthread_join(thread, NULL);
	CHECK_OK(dk_provider_unregister(&me));
}

/* ---- allocation number 1, 2, ... fails ------------------------------------ */

static struct dk_provider prov;
static struct dk_impl table[3], fallback;
static struct dk_op_decl new2;
static u32 device;

static int register_provider(void)
{
	return dk_provider_register(&prov, &t_why);
}

static int define_new(void)
{
	return dk_op_define(&r_a, &r_new, 0, &t_why);
}

static int define_known(void)
{
	return dk_op_define(&r_a, &r_impl, 0, &t_why);
}

static int register_functions(void)
{
	return dk_impls_register(&r_a, table, 3, &t_why);
}

static int register_backend_functions(void)
{
	return dk_backend_impls_register(&r_a, r_edu, table, 3, &t_why);
}

static int register_fallback(void)
{
	return dk_fallback_register(&r_a, &fallback, &t_why);
}

static int register_device(void)
{
	return dk_device_register(&r_a, r_edu, "new", NULL, table, 3, &device,
				  &t_why);
}

static int card_offline(void)
{
	return dk_device_set_online(t_reg, r_card, 0, &t_why);
}

static int edu_offline(void)
{
	return dk_backend_set_online(t_reg, r_edu, 0, &t_why);
}

static int edu_online(void)
{
	return dk_backend_set_online(t_reg, r_edu, 1, &t_why);
}

static int card_online(void)
{
	return dk_device_set_online(t_reg, r_card, 1, &t_why);
}

/* Fail each of its allocations in turn; the last time it works. */
static void each_fails(int (*what)(void), const char *name)
{
	unsigned int n;
	int err;

	for (n = 1; n < 1000; n++) {
		fail_at = n;
		num_failed = 0;
		r_poison();
		err = what();
		memory_again();
		if (!num_failed)
			break;
		r_refused(__FILE__, __LINE__, "allocation fails", err, -ENOMEM,
			  DK_WHY_NO_MEMORY, name);
	}
	CHECK_OK(err);
	CHECK(n > 1);
}

static void registering_changes_nothing(void)
{
	unsigned int n;

	r_open();
	new2 = t_decl("r::new2");
	table[0] = t_impl(&r_new, DK_SPARSE, 7);
	table[1] = t_impl(&r_def, DK_DENSE, 8);
	table[2] = t_impl(&new2, DK_DENSE, 9);
	fallback = t_fallthrough(NULL, DK_PYTHON);
	prov = r_none;

	each_fails(register_provider, "none");
	CHECK_OK(dk_provider_unregister(&prov));
	/* refuses: dk_op_define ENOMEM NO_MEMORY */
	each_fails(define_new, "r::new");
	CHECK_OK(dk_op_undefine(&r_a, "r::new", &t_why));
	r_rebase();
	each_fails(define_known, "r::impl");
	CHECK_OK(dk_op_undefine(&r_a, "r::impl", &t_why));
	r_rebase();
	/* which name is told depends on what was being made */
	/* refuses: dk_impls_register ENOMEM NO_MEMORY */
	/* refuses: dk_backend_impls_register ENOMEM NO_MEMORY */
	/* refuses: dk_fallback_register ENOMEM NO_MEMORY */
	/* refuses: dk_device_register ENOMEM NO_MEMORY */
	each_fails(register_functions, NULL);
	CHECK_OK(dk_impls_unregister(&r_a, table, &t_why));
	r_rebase();
	each_fails(register_backend_functions, NULL);
	CHECK_OK(dk_impls_unregister(&r_a, table, &t_why));
	r_rebase();
	each_fails(register_fallback, NULL);
	CHECK_OK(dk_impls_unregister(&r_a, &fallback, &t_why));
	r_rebase();
	each_fails(register_device, NULL);
	CHECK_OK(dk_device_unregister(&r_a, device, &t_why));
	r_rebase();
	/* refuses: dk_backend_set_online ENOMEM NO_MEMORY */
	each_fails(edu_offline, "edu");
	r_rebase();
	each_fails(edu_online, "edu");
	r_rebase();
	/* refuses: dk_device_set_online ENOMEM NO_MEMORY */
	each_fails(card_offline, "card");
	r_rebase();
	each_fails(card_online, "card");
	r_rebase();
	r_close();

	for (n = 1; n < 100; n++) {
		fail_at = n;
		num_failed = 0;
		r_poison();
		t_reg = dk_registry_alloc(NULL, DK_REGISTRY_STOCKED, &t_why);
		memory_again();
		if (!num_failed)
			break;
		/* refuses: dk_registry_alloc ENOMEM NO_MEMORY */
		CHECK(!t_reg);
		CHECK_INT(t_why.reason, DK_WHY_NO_MEMORY);
	}
	CHECK(n > 1);
	CHECK(t_reg);
	t_close();
}

/* The table of operators' names grows in the middle of a registration. */
/* It leaves at once, and is waited for when there is memory, or no deadline. */
static void no_memory_for_a_deadline(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	static struct dk_provider host, guest;
	struct dk_op *op;
	int who = 0;

	t_open("v1", DK_REGISTRY_STOCKED);
	t_join(&host, "host");
	t_join(&guest, "guest");
	CHECK_OK(dk_op_define(&host, &nomem_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&guest, nomem_impls, 1, &t_why));
	op = dk_op_get(t_reg, "nomem::op");
	short_of_memory();
	/* refuses: dk_provider_unregister_timeout ETIMEDOUT NO_DEADLINE */
	CHECK_INT(dk_provider_unregister_timeout(&guest, 60000, &t_why), -ETIMEDOUT);
	CHECK_INT(t_why.reason, DK_WHY_NO_DEADLINE);
	CHECK_INT(nomem_at(op, &dk_local_default, &x, &who), -ENOSYS);
	CHECK(guest.core);
	CHECK_OK(dk_provider_unregister(&guest));
	memory_again();
	CHECK(!guest.core);
	dk_op_put(op);
	t_leave(&host);
	t_close();
}

/* A name that is given back brings its backend online, or stays. */
static void no_memory_for_a_name(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(nomem, DK_PRIVATEUSE1, nomem_cpu)
	};
	static struct dk_provider host, guest;
	unsigned int backend, found;

	t_open("v1", DK_REGISTRY_STOCKED);
	t_join(&host, "host");
	t_join(&guest, "guest");
	CHECK_OK(dk_backend_join(&guest, "edu", 0, 0, &backend, &t_why));
	CHECK_OK(dk_op_define(&host, &nomem_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&host, impls, 1, &t_why));
	CHECK_OK(dk_backend_set_online(t_reg, backend, 0, &t_why));
	t_leave(&guest);
	short_of_memory();
	/* refuses: dk_backend_release ENOMEM NO_MEMORY */
	NO_MEMORY(dk_backend_release(t_reg, "edu", &t_why), "edu");
	memory_again();
	CHECK_OK(dk_backend_find(t_reg, "edu", &found, &t_why));
	CHECK_INT(found, backend);
	CHECK_INT(dk_backend_is_online(t_reg, backend), 0);
	CHECK_OK(dk_backend_release(t_reg, "edu", &t_why));
	CHECK_INT(dk_backend_is_online(t_reg, backend), 1);
	t_leave(&host);
	t_close();
}

static void names_grow(void)
{
	enum { MANY = 200 };
	static char names[MANY][16];
	static struct dk_op_decl decls[MANY];
	static struct dk_impl impls[MANY];
	unsigned int i, n;
	int err;

	t_open("v1", 0);
	t_join(&prov, "grow");
	for (i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "grow::%u", i);
		decls[i] = t_decl(names[i]);
		impls[i] = t_impl(&decls[i], DK_CPU, 1);
	}
	for (n = 1;; n++) {
		fail_at = n;
		num_failed = 0;
		err = dk_impls_register(&prov, impls, MANY, &t_why);
		memory_again();
		if (!num_failed)
			break;
		CHECK_INT(err, -ENOMEM);
		for (i = 0; i < MANY; i++)
			if (!CHECK(!dk_op_get(t_reg, names[i])))
				break;
	}
	CHECK_OK(err);
	CHECK(n > MANY);
	t_leave(&prov);
	t_close();
}

/* ---- leaving works without memory ----------------------------------------- */

static struct dk_provider base;
static struct dk_op_decl decl;
static struct dk_op *op;

static bool by_evaluator(void)
{
	return dkc_deref(op->row)->kind == DKC_ROW_RESOLVE && !dkc_deref(op->base);
}

/* Entries and routes are what these registrations say. */
static void serves(const struct t_given *given, unsigned int n)
{
	unsigned int slot;

	for (slot = 0; slot < DK_NUM_ENTRIES; slot++) {
		unsigned int key = dk_slot_key(NULL, slot);
		struct t_choice want = t_model(dk_layout_find("v1", NULL), given, n, key);
		struct dk_obj x = t_obj(DK_KEY_BITS(key));
		const char *goes = want.rule == DK_PROV_MISSING ? "-ENOSYS" :
				   want.rule == DK_PROV_AMBIGUOUS ? "-ENOTUNIQ" :
				   want.label;

		if (!CHECK_STR(t_serves(op, 0, key), want.label) ||
		    !CHECK_INT(t_rule_served(), want.rule))
			break;
		if (!want.is_fallthrough && !CHECK_STR(t_goes(op, &x, NULL), goes))
			break;
	}
	CHECK_OK(dk_registry_check(t_reg, &t_why));
}

/* Change something so that rows are built, or fail to be. */
static struct dk_impl nudge;

static void next_change(void)
{
	nudge = t_impl(&decl, DK_META, 0);
	CHECK_OK(dk_impls_register(&base, &nudge, 1, &t_why));
	CHECK(!by_evaluator());
	CHECK_OK(dk_impls_unregister(&base, &nudge, &t_why));
}

static void leaving_without_memory(void)
{
	static const struct t_given kept[] = {
		{ DK_COMPOSITE_IMPLICIT_AUTOGRAD, false, "f1" },
		{ DK_CPU, false, "f2" },
		{ DK_TRACER, true, "fallthrough" },
	};
	static struct dk_impl of_base[3], of_prov[3], more[1], card[1];
	struct dk_obj traced = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER));
	struct dk_obj x, other;
	unsigned int backend;
	u32 dev0, dev1;

	/* a thread's first call is another matter */
	CHECK_OK(dk_thread_init());
	t_open("v1", 0);
	t_join(&base, "base");
	decl = t_decl("nomem::leaving");
	CHECK_OK(dk_op_define(&base, &decl, 0, &t_why));
	op = dk_op_get(t_reg, "nomem::leaving");
	of_base[0] = t_impl(&decl, DK_COMPOSITE_IMPLICIT_AUTOGRAD, 1);
	of_base[1] = t_impl(&decl, DK_CPU, 2);
	of_base[2] = t_fallthrough(&decl, DK_TRACER);
	CHECK_OK(dk_impls_register(&base, of_base, 3, &t_why));
	serves(kept, 3);

	/* a table */
	t_join(&prov, "leaving");
	of_prov[0] = t_impl(&decl, DK_CPU, 5);
	of_prov[1] = t_impl(&decl, DK_SPARSE_CPU, 6);
	of_prov[2] = t_impl(&decl, DK_TRACER, 7);
	CHECK_OK(dk_impls_register(&prov, of_prov, 3, &t_why));
	CHECK_STR(t_goes(op, &traced, NULL), "f7");
	short_of_memory();
	CHECK_OK(dk_impls_unregister(&prov, of_prov, &t_why));
	CHECK(num_failed);
	CHECK(by_evaluator());
	serves(kept, 3);
	CHECK_STR(t_goes(op, &traced, NULL), "f2");
	CHECK_INT(t_call(op, &traced, NULL), 2);
	memory_again();
	next_change();
	serves(kept, 3);

	/* withdrawn, and drained */
	CHECK_OK(dk_impls_register(&prov, of_prov, 3, &t_why));
	short_of_memory();
	CHECK_OK(dk_impls_withdraw(&prov, of_prov, &t_why));
	CHECK(by_evaluator());
	serves(kept, 3);
	CHECK_OK(dk_provider_drain(&prov));
	serves(kept, 3);
	memory_again();
	next_change();

	/* a fallback */
	fallback = t_fallthrough(NULL, DK_PYTHON);
	CHECK_OK(dk_fallback_register(&prov, &fallback, &t_why));
	CHECK_STR(t_serves(op, 0, DK_PYTHON), "fallthrough");
	short_of_memory();
	CHECK_OK(dk_impls_unregister(&prov, &fallback, &t_why));
	CHECK(by_evaluator());
	serves(kept, 3);
	memory_again();
	next_change();

	/* one card of two, then all of the provider */
	CHECK_OK(dk_backend_join(&prov, "edu", 0, 0, &backend, &t_why));
	card[0] = t_impl(&decl, DK_DENSE, 8);
	CHECK_OK(dk_device_register(&prov, backend, "card0", NULL, card, 1, &dev0,
				    &t_why));
	CHECK_OK(dk_device_register(&prov, backend, "card1", NULL, card, 1, &dev1,
				    &t_why));
	x = dk_obj_on(backend, dev0);
	other = dk_obj_on(backend, dev1);
	short_of_memory();
	CHECK_OK(dk_device_unregister(&prov, dev0, &t_why));
	CHECK(by_evaluator());
	CHECK_INT(t_call(op, &x, &other), 1);
	CHECK_INT(t_call(op, &other, &x), 8);
	serves(kept, 3);
	memory_again();
	next_change();
	CHECK_INT(t_call(op, &other, &x), 8);
	more[0] = t_impl(&decl, DK_AUTOGRAD, 9);
	CHECK_OK(dk_impls_register(&prov, more, 1, &t_why));
	CHECK_OK(dk_impls_register(&prov, of_prov, 3, &t_why));
	CHECK_OK(dk_fallback_register(&prov, &fallback, &t_why));
	short_of_memory();
	t_leave(&prov);
	CHECK(by_evaluator());
	CHECK_INT(t_call(op, &other, &x), 1);
	serves(kept, 3);

	/* further changes without memory: refused, or right all the same */
	CHECK_INT(dk_impls_register(&base, of_prov, 3, &t_why), -ENOMEM);
	serves(kept, 3);
	CHECK_OK(dk_op_undefine(&base, "nomem::leaving", &t_why));
	CHECK_INT(t_call(op, &traced, NULL), -ENOENT);
	memory_again();
	CHECK_OK(dk_op_define(&base, &decl, 0, &t_why));
	CHECK(!by_evaluator());
	serves(kept, 3);

	/* and all at once, with the operator itself */
	short_of_memory();
	t_leave(&base);
	CHECK_INT(t_call(op, &traced, NULL), -ENOENT);
	dk_op_put(op);
	CHECK(!dk_op_get(t_reg, "nomem::leaving"));
	t_close();
	memory_again();
}

/* An atomic operator is one, too, when calls are routed by the evaluator. */
static void atomic_operator_without_rows(void)
{
	static struct dk_impl of_base[2], through[1];
	struct dk_obj traced = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER));
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));
	const struct dk_obj *objs[] = { &cpu };
	struct dk_local local = t_no_local();
	struct dk_call c;

	CHECK_OK(dk_thread_init());
	t_open("v1", 0);
	t_join(&base, "base");
	decl = t_decl("nomem::atomic");
	CHECK_OK(dk_op_define(&base, &decl, DK_OP_ATOMIC | DK_OP_SAME_DEVICE, &t_why));
	op = dk_op_get(t_reg, "nomem::atomic");
	of_base[0] = t_impl(&decl, DK_COMPOSITE_IMPLICIT_AUTOGRAD, 1);
	of_base[1] = t_impl(&decl, DK_CPU, 2);
	of_base[0].flags = DK_IMPL_F_ATOMIC;
	of_base[1].flags = DK_IMPL_F_ATOMIC;
	through[0] = t_fallthrough(&decl, DK_TRACER);
	CHECK_OK(dk_impls_register(&base, of_base, 2, &t_why));
	CHECK_OK(dk_impls_register(&base, through, 1, &t_why));
	CHECK_INT(t_call(op, &traced, NULL), 2);
	short_of_memory();
	CHECK_OK(dk_impls_unregister(&base, through, &t_why));
	CHECK(by_evaluator());
	CHECK_INT(t_call(op, &traced, NULL), -ENOSYS);
	CHECK_INT(t_call(op, &cpu, NULL), 2);
	if (CHECK_OK(dk_call_enter_op(&c, op, &decl, &local, objs, 1))) {
		CHECK(dkc_in_atomic());
		dk_call_leave(&c);
	}
	CHECK(!dkc_in_atomic());
	memory_again();
	dk_op_put(op);
	t_leave(&base);
	t_close();
}

/*
 * A reader that is held up has an old row, and meets what was registered since:
 * a function that may sleep, or one of another type.
 */
static void rules_and_an_old_row(void)
{
	const struct dkc_row *old = dkc_row_resolve(DK_OP_ATOMIC);
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));
	const struct dk_obj *objs[] = { &cpu };
	struct dkc_way way = { .objs = objs, .n = 1, .mask = true };
	struct dk_op_decl other;
	static struct dk_impl late;

	t_open("v1", 0);
	t_join(&base, "base");
	decl = t_decl("nomem::old");
	CHECK_OK(dk_op_define(&base, &decl, DK_OP_ATOMIC, &t_why));
	op = dk_op_get(t_reg, "nomem::old");
	CHECK_OK(dk_op_undefine(&base, "nomem::old", &t_why));
	late = t_impl(&decl, DK_CPU, 1);
	CHECK_OK(dk_impls_register(&base, &late, 1, &t_why));
	way.ks = cpu.ks.bits;
	CHECK_INT(dkc_find(op, old, &way), -ENOENT);
	other = decl;
	other.sig = "(int other)";
	way.ks = cpu.ks.bits;
	way.decl = &other;
	CHECK_INT(dkc_find(op, dkc_row_resolve(0), &way), -EPROTOTYPE);
	way.ks = cpu.ks.bits;
	way.decl = &decl;
	CHECK_OK(dkc_find(op, dkc_row_resolve(0), &way));
	dk_op_put(op);
	t_leave(&base);
	t_close();
}

/* A name that a caller has found, wanted again by another type in vain. */
static void no_new_operator_of_a_name(void)
{
	struct dk_op_decl other = nomem_op;
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU));
	int who = 0, i;

	other.sig = "(int other)";
	other.op = NULL;
	CHECK_OK(dk_provider_register(&me, &t_why));
	CHECK_OK(dk_op_define(&me, &nomem_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, nomem_impls, 1, &t_why));
	CHECK_OK(nomem(&x, &who));
	CHECK_OK(dk_provider_unregister(&me));
	CHECK_OK(dk_provider_register(&me, &t_why));
	/* more often than the table of names has slots */
	for (i = 0; i < 1000; i++) {
		short_of_memory();
		CHECK_INT(dk_op_define(&me, &other, 0, &t_why), -ENOMEM);
		memory_again();
		CHECK_INT(nomem(&x, &who), -ENOENT);
	}
	CHECK_OK(dk_op_define(&me, &other, 0, &t_why));
	CHECK_INT(nomem(&x, &who), -EPROTOTYPE);
	CHECK_OK(dk_provider_unregister(&me));
}

static struct dk_library library = {
	.size = sizeof(library), .kind = DK_LIBRARY_FRAGMENT, .ns = "lib",
	.prov = &r_a, .debug = "here",
};

static struct dk_library nameless = {
	.size = sizeof(nameless), .kind = DK_LIBRARY_IMPL, .prov = &r_a,
};

static struct dk_handle handle;
static struct dk_op_decl lib_op;
static struct dk_impl lib_impl;

static int register_library(void)
{
	return dk_library_register(&library, &t_why);
}

static int library_def(void)
{
	return dk_library_def(&library, &lib_op, 0, &handle, &t_why);
}

static int library_def_impl(void)
{
	return dk_library_def_impl(&library, &lib_op, 0, &lib_impl, &handle, &t_why);
}

static int library_impl(void)
{
	return dk_library_impl(&library, &lib_impl, &handle, &t_why);
}

static int library_fallback(void)
{
	return dk_library_fallback(&nameless, &fallback, &handle, &t_why);
}

/* All or nothing; and releasing needs no memory. */
static void each_of_a_library(int (*what)(void), struct dk_library *lib)
{
	r_rebase();
	each_fails(what, NULL);
	CHECK(handle.core);
	short_of_memory();
	CHECK_OK(dk_handle_release(lib, &handle));
	memory_again();
	CHECK(!handle.core);
}

static void libraries(void)
{
	r_open();
	lib_op = t_decl("op");
	lib_op.schema = "op(Tensor x) -> Tensor";
	lib_impl = t_impl(&lib_op, DK_CPU, 1);
	lib_impl.schema = "(Tensor _0) -> Tensor _0";
	fallback = t_fallthrough(NULL, DK_PYTHON);
	/* refuses: dk_library_register ENOMEM NO_MEMORY */
	each_fails(register_library, "lib");
	CHECK_OK(dk_library_register(&nameless, &t_why));
	/* refuses: dk_library_def ENOMEM NO_MEMORY */
	each_of_a_library(library_def, &library);
	/* refuses: dk_library_def_impl ENOMEM NO_MEMORY */
	each_of_a_library(library_def_impl, &library);
	/* refuses: dk_library_impl ENOMEM NO_MEMORY */
	each_of_a_library(library_impl, &library);
	/* refuses: dk_library_fallback ENOMEM NO_MEMORY */
	each_of_a_library(library_fallback, &nameless);
	CHECK_OK(library_def_impl());
	short_of_memory();
	CHECK_OK(dk_library_unregister(&library));
	memory_again();
	CHECK(!dk_op_get(t_reg, "lib::op"));
	r_rebase();
	r_close();
}

static unsigned int num_seen;

static void call_meanwhile(void)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU));

	num_seen += t_call(op, &x, NULL) != -ENOENT;
}

/* A definition that fails with its function is seen by no call, ever. */
static void half_a_library_entry(void)
{
	static struct dk_impl early;
	u64 before;

	CHECK_OK(dk_thread_init());
	r_open();
	lib_op = t_decl("lib::half");
	early = t_impl(&lib_op, DK_CPU, 1);
	lib_impl = t_impl(&lib_op, DK_CUDA, 2);
	CHECK_OK(dk_library_register(&library, &t_why));
	CHECK_OK(dk_impls_register(&r_a, &early, 1, &t_why));
	op = dk_op_get(t_reg, "lib::half");
	r_rebase();
	num_seen = 0;
	before = dk_registry_generation(t_reg);
	at_alloc = call_meanwhile;
	each_fails(library_def_impl, NULL);
	at_alloc = NULL;
	CHECK_INT(num_seen, 0);
	CHECK_INT(dk_registry_generation(t_reg), before + 2);
	CHECK_OK(dk_handle_release(&library, &handle));
	dk_op_put(op);
	CHECK_OK(dk_impls_unregister(&r_a, &early, &t_why));
	CHECK_OK(dk_library_unregister(&library));
	r_rebase();
	r_close();
}

static void schema(void)
{
	struct dk_schema *s = (void *)&me;
	struct dk_op_decl *made = (void *)&me;

	short_of_memory();
	/* refuses: dk_schema_parse ENOMEM NO_MEMORY */
	NO_MEMORY(dk_schema_parse("f() -> ()", &s, &t_why), "");
	CHECK(!s);
	memory_again();
	CHECK_OK(dk_schema_parse("f() -> ()", &s, &t_why));
	short_of_memory();
	/* refuses: dk_schema_decl ENOMEM NO_MEMORY */
	NO_MEMORY(dk_schema_decl(s, &made, &t_why), "f");
	CHECK(!made);
	memory_again();
	dk_schema_free(s);
}

T_SUITE(nomem,
	T(no_default_registry),
	T(first_call_of_a_thread),
	T(registering_changes_nothing),
	T(no_memory_for_a_deadline),
	T(no_memory_for_a_name),
	T(names_grow),
	T_PEER(13, leaving_without_memory),
	T(atomic_operator_without_rows),
	T(rules_and_an_old_row),
	T(no_new_operator_of_a_name),
	T(libraries),
	T(half_a_library_entry),
	T(schema));
