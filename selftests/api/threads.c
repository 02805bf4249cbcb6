// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads call operators while others register and unregister. Userspace only; kthreads.c does
 * the same in the kernel.
 */
#include "bounded.h"
#include "churn.h"

#define DURATION_MS	1000

DK_OP(block, "threads::block", (struct dk_obj *x, int *stage), (x, stage), (x));

static void call_while_all_changes(void)
{
	u64 end = w_now_us() + DURATION_MS * 1000;
	unsigned int rounds = 0;

	churn_begin();
	while (w_now_us() < end)
		churn_round(rounds++, NULL);
	churn_end(rounds, 0, 0);
}

/* ---- operators that are defined and undefined ----------------------------- */

static bool stop;

/* Returns true until @end, and for 20 s more if the other thread has not completed a round yet. */
static bool must_continue(u64 end, const unsigned int *rounds)
{
	u64 now = w_now_us();

	return now < end || (!w_load(*rounds) && now < end + 20 * 1000000);
}

static void *define_and_undefine(void *data)
{
	static const struct dk_impl early[] = {
		DK_IMPL(count, DK_CUDA, count_here),
	};
	struct dk_provider p = DK_PROVIDER("definer");
	struct counter *mine = counter_new();
	unsigned int *rounds = data;

	p.registry = t_reg;
	p.priv = mine;
	while (!w_load(stop)) {
		struct dk_diag why = { 0 };
		int err = dk_provider_register(&p, &why);

		err = err ? err : dk_impls_register(&p, early, 1, &why);
		err = err ? err : dk_op_define(&p, &count_op, 0, &why);
		err = err ? err : dk_op_undefine(&p, "churn::count", &why);
		err = err ? err : dk_op_define(&p, &count_op, DK_OP_SAME_DEVICE, &why);
		w_sleep_us(100);
		if (err || dk_provider_unregister(&p))
			break;
		w_store(*rounds, *rounds + 1);
	}
	counter_end(mine);
	return NULL;
}

/* Calls by handle are served, or fail because the operator or its functions are missing. */
static void call_while_operators_are_redefined(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CUDA, 0);
	static struct dk_provider keeper;
	u64 served = 0, refused = 0, wrong = 0;
	u64 end = w_now_us() + DURATION_MS * 1000 / 4;
	struct dk_op *count_handle;
	unsigned int rounds = 0;
	pthread_t thread;

	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&keeper, "keeper");
	CHECK_OK(dk_op_define(&keeper, &count_op, 0, &t_why));
	count_handle = t_get("churn::count");
	CHECK_OK(dk_op_undefine(&keeper, "churn::count", &t_why));
	stop = false;
	counting_begin();
	t_start(&thread, define_and_undefine, &rounds);
	while (must_continue(end, &rounds)) {
		int err = count_at(count_handle, &dk_local_default, &x);

		served += !err;
		refused += err == -ENOENT;
		/* the operator is defined, but its provider is being unregistered */
		refused += err == -ENOSYS;
		wrong += err && err != -ENOENT && err != -ENOSYS;
	}
	w_store(stop, true);
	pthread_join(thread, NULL);
	CHECK_INT(wrong, 0);
	CHECK_INT(w_sum(&churn_poisoned), 0);
	CHECK_INT(served, w_sum(&churn_served_by_unregistered));
	CHECK(served);
	CHECK(rounds);
	t_note("%u rounds, %llu served, %llu refused", rounds,
	       (unsigned long long)served, (unsigned long long)refused);
}

/* ---- names that are looked up ------------------------------------------------ */

DK_OP(fresh, "threads::fresh", (struct dk_obj *x), (x), (x));

static int fresh_here(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

/* Defines the operator alternately as one that may sleep and as an atomic one. */
static void *define_and_unregister(void *data)
{
	static const struct dk_impl sleepable[] = { DK_IMPL(fresh, DK_CPU, fresh_here) };
	static const struct dk_impl atomic[] = { DK_IMPL_ATOMIC(fresh, DK_CPU, fresh_here) };
	struct dk_provider p = DK_PROVIDER("definer");
	unsigned int *rounds = data;

	while (!w_load(stop)) {
		bool is_atomic = *rounds & 1;
		int err = dk_provider_register(&p, NULL);

		err = err ? err : dk_op_define(&p, &fresh_op, is_atomic ? DK_OP_ATOMIC : 0, NULL);
		err = err ? err : dk_impls_register(&p, is_atomic ? atomic : sleepable, 1, NULL);
		w_sleep_us(100);
		if (err || dk_provider_unregister(&p))
			break;
		w_store(*rounds, *rounds + 1);
	}
	return NULL;
}

/* Every call is the first one with its declaration, so it looks up the operator. */
static void look_up_while_operators_are_redefined(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	const struct dk_obj *const objs[] = { &x };
	u64 end = w_now_us() + DURATION_MS * 1000 / 4;
	u64 served = 0, refused = 0, wrong = 0;
	unsigned int rounds = 0;
	pthread_t thread;

	stop = false;
	t_start(&thread, define_and_unregister, &rounds);
	while (must_continue(end, &rounds)) {
		struct dk_op_decl decl = fresh_op;
		struct dk_frame c;
		int err = dk_call_enter(&c, &decl, &dk_local_default, objs, 1);

		if (!err) {
			err = fresh_run(&c, &x);
			dk_call_leave(&c);
		}
		served += !err;
		refused += err == -ENOENT || err == -ENOSYS;
		wrong += err && err != -ENOENT && err != -ENOSYS;
	}
	w_store(stop, true);
	pthread_join(thread, NULL);
	CHECK_INT(wrong, 0);
	CHECK(served);
	CHECK(rounds);
	t_note("%u rounds, %llu served, %llu refused", rounds,
	       (unsigned long long)served, (unsigned long long)refused);
}

/* ---- declarations that libraries copy ------------------------------------------ */

#define DECLS	200

struct copied {
	struct dk_op *op;
	struct dk_op_decl decl[DECLS];
	int error;
};

/* The first call through each declaration writes to it. */
static void *call_through_all(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	const struct dk_obj *const objs[] = { &x };
	struct copied *v = data;
	struct dk_frame f;
	unsigned int i;

	for (i = 0; i < DECLS && !v->error; i++) {
		v->error = dk_call_enter_op(&f, v->op, &v->decl[i], &dk_local_default, objs, 1);
		if (!v->error)
			dk_call_leave(&f);
	}
	return NULL;
}

/* ThreadSanitizer reports a race if a library reads what calls write. */
static void libraries_copy_declarations_that_are_called(void)
{
	static const struct dk_impl impls[] = { DK_IMPL(fresh, DK_CPU, fresh_here) };
	struct dk_impl impl = DK_IMPL(fresh, DK_CUDA, fresh_here);
	static struct dk_provider keeper, guest;
	struct dk_library lib = DK_LIBRARY(&guest, IMPL, "threads", DK_UNDEFINED);
	struct copied *v = t_alloc(sizeof(*v));
	struct dk_handle handle = { 0 };
	pthread_t thread;
	unsigned int i;

	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&keeper, "keeper");
	t_join(&guest, "guest");
	CHECK_OK(dk_op_define(&keeper, &fresh_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&keeper, impls, 1, &t_why));
	CHECK_OK(dk_library_register(&lib, &t_why));
	v->op = t_get("threads::fresh");
	for (i = 0; i < DECLS; i++) {
		v->decl[i] = fresh_op;
		v->decl[i].op = NULL;
		v->decl[i].sig_mark = 0;
	}
	t_start(&thread, call_through_all, v);
	for (i = 0; i < DECLS; i++) {
		impl.op = &v->decl[i];
		CHECK_OK(dk_library_impl(&lib, &impl, &handle, &t_why));
		CHECK_OK(dk_handle_release(&lib, &handle));
	}
	pthread_join(thread, NULL);
	CHECK_OK(v->error);
	CHECK_OK(dk_library_unregister(&lib));
	t_close();
	t_free(v);
}

/* ---- a call that blocks --------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void set_stage(int *stage, int to)
{
	pthread_mutex_lock(&lock);
	*stage = to;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void wait_stage(int *stage, int at_least)
{
	pthread_mutex_lock(&lock);
	while (*stage < at_least)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

/* Sets *@stage to 1 and waits until it is 2. Returns at once if @stage is NULL. */
static int block_here(struct dk_call *c, struct dk_obj *x, int *stage)
{
	if (stage) {
		set_stage(stage, 1);
		wait_stage(stage, 2);
	}
	return 0;
}

static struct dk_op *block_handle;

static void *call_and_stay(void *stage)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	long err = block_at(block_handle, &dk_local_default, &x, stage);

	return (void *)err;
}

struct unregister_request {
	struct dk_provider *prov;
	int *stage;
	int stage_after;
};

static void *unregister_provider(void *data)
{
	struct unregister_request *me = data;

	t_unregister(me->prov);
	pthread_mutex_lock(&lock);
	me->stage_after = *me->stage;
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* A slow call delays only the unregistration of its own provider. */
static void slow_call_delays_only_its_provider(void)
{
	static const struct dk_impl slow[] = { DK_IMPL(block, DK_CPU, block_here) };
	static const struct dk_impl of_b[] = {
		DK_IMPL(count, DK_CPU, count_here), DK_IMPL(block, DK_CUDA, block_here),
	};
	static struct dk_provider a, b;
	struct unregister_request unregister_request = { .prov = &a };
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	pthread_t caller, unregistering;
	int stage = 0;
	u32 device;

	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&a, "a");
	t_join(&b, "b");
	CHECK_OK(dk_op_define(&b, &count_op, 0, &t_why));
	CHECK_OK(dk_op_define(&a, &block_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&a, slow, 1, &t_why));
	CHECK_OK(dk_impls_register(&b, of_b, 2, &t_why));
	block_handle = t_get("threads::block");
	t_start(&caller, call_and_stay, &stage);
	wait_stage(&stage, 1);
	/* if the call delayed provider b, these functions would never return */
	CHECK_OK(dk_impls_unregister(&b, of_b, &t_why));
	CHECK_OK(dk_device_register(&b, 1, "d", NULL, NULL, 0, &device, &t_why));
	CHECK_OK(dk_device_unregister(&b, device, &t_why));
	CHECK_OK(dk_provider_drain(&b));
	t_unregister(&b);
	CHECK_INT(stage, 1);
	/* unregistering provider a waits for the call, and later calls fail */
	unregister_request.stage = &stage;
	t_start(&unregistering, unregister_provider, &unregister_request);
	while (block_at(block_handle, &dk_local_default, &x, NULL) != -ENOENT)
		sched_yield();
	set_stage(&stage, 2);
	t_join_ok(caller);
	pthread_join(unregistering, NULL);
	CHECK_INT(unregister_request.stage_after, 2);
}

/* ---- calls within calls --------------------------------------------------- */

DK_OP(nest, "threads::nest",
	(struct dk_obj *x, int depth, int *err), (x, depth, err), (x));

static struct dk_provider nester;
static struct dk_op *nest_handle;

/* Nests more calls than a thread's record has room for. */
static int nest_here(struct dk_call *c, struct dk_obj *x, int depth, int *err)
{
	if (depth)
		return nest_at(nest_handle, &dk_local_default, x, depth - 1, err);
	*err = dk_provider_unregister(&nester);
	return 0;
}

static void deep_call_cannot_unregister(void)
{
	static const struct dk_impl impls[] = { DK_IMPL(nest, DK_CPU, nest_here) };
	static const int depths[] = { 0, 1, 62, 63, 64, 65, 200 };
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	unsigned int i;

	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&nester, "nester");
	CHECK_OK(dk_op_define(&nester, &nest_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&nester, impls, 1, &t_why));
	nest_handle = t_get("threads::nest");
	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		int err = 0;

		CHECK_OK(nest_at(nest_handle, &dk_local_default, &x, depths[i], &err));
		CHECK_INT(err, -EDEADLK);
	}
}

/* ---- functions that are registered and unregistered ----------------------- */

static struct dk_provider prov, host;
static struct dk_op *op;

DK_OP(seen, "threads::seen", (struct dk_obj *x), (x), (x));

static int seen_cpu(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

static int seen_autograd(struct dk_call *c, struct dk_obj *x)
{
	return seen_below(c, x);
}

static const struct dk_impl cpu_impls[] = { DK_IMPL(seen, DK_CPU, seen_cpu) };
static const struct dk_impl autograd_impls[] = {
	DK_IMPL(seen, DK_AUTOGRAD_CPU, seen_autograd),
};

static void *register_and_withdraw(void *data)
{
	unsigned int *rounds = data;

	while (!w_load(stop)) {
		/* many rounds, since withdrawing does not wait for a grace period */
		if (dk_impls_register(&prov, autograd_impls, 1, NULL) ||
		    dk_impls_withdraw(&prov, autograd_impls, NULL))
			break;
		if (*rounds % 64 == 63 && dk_provider_drain(&prov))
			break;
		w_store_release(*rounds, *rounds + 1);
	}
	return NULL;
}

/*
 * A call first removes keys that fall through from its keyset, and then chooses a function. No call
 * is lost if registrations change in between, or before a redispatch.
 */
static void call_during_changes(unsigned int flags)
{
	const unsigned int calls = 200000, changes = T_TSAN ? 2000 : 20000;
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU));
	unsigned int i, lost = 0, rounds = 0;
	pthread_t thread;
	int err = 0, last = 0;

	t_open("v1", flags);
	t_join(&host, "host");
	t_join(&prov, "prov");
	CHECK_OK(dk_op_define(&host, &seen_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&host, cpu_impls, 1, &t_why));
	op = t_get("threads::seen");
	stop = false;
	t_start(&thread, register_and_withdraw, &rounds);
	for (i = 0; i < calls || (w_load_acquire(rounds) < changes && i < 100 * calls); i++) {
		err = seen_at(op, &dk_local_default, &x);
		if (err) {
			lost++;
			last = err;
		}
	}
	w_store(stop, true);
	pthread_join(thread, NULL);
	CHECK_INT(lost, 0);
	CHECK_INT(last, 0);
	CHECK(rounds);
	t_close();
}

static void no_call_is_lost(void)
{
	unsigned int m;

	for (m = T_MODES; m--; )
		call_during_changes(t_modes[m]);
}

/* ---- a device that is just being registered ------------------------------- */

DK_OP(owner, "threads::owner", (struct dk_obj *x, void **priv), (x, priv), (x));

static int of_prov, of_card;
static u32 next_card;
static unsigned int hits;	/* calls that have found a card */

static int owner_here(struct dk_call *c, struct dk_obj *x, void **priv)
{
	*priv = dk_call_priv(c);
	return 0;
}

static const struct dk_impl owner_impls[] = { DK_IMPL(owner, DK_DENSE, owner_here) };

/* Returns true when a call has found a card since @before, or false after ten seconds. */
static bool wait_for_hit(unsigned int before)
{
	u64 end = w_now_us() + 10 * 1000000;

	w_spin_us(10);
	while (w_load(hits) == before && w_now_us() < end)
		w_sleep_us(10);
	return w_load(hits) != before;
}

static void *register_and_unregister_cards(void *data)
{
	const unsigned int cards = T_TSAN ? 200 : 500;
	unsigned int i, before, *failed = data;
	u32 number = 0;

	for (i = 0; i < cards && !*failed; i++) {
		before = w_load(hits);
		if (dk_device_register(&prov, DK_BACKEND_PRIVATEUSE1, "card", &of_card,
				       owner_impls, 1, &number, NULL))
			++*failed;
		else if (!wait_for_hit(before) || dk_device_unregister(&prov, number, NULL))
			++*failed;
		/* the next device's number: the same slot, and the next generation */
		w_store_release(next_card, number + (1u << 12));
	}
	w_store(stop, true);
	return NULL;
}

/* No call on a new device gets the provider's priv instead of the device's. */
static void new_device_has_its_own_priv(void)
{
	static const struct dk_provider with_priv = DK_PROVIDER("prov");
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_PRIVATEUSE1));
	unsigned int failed = 0, wrong = 0;
	pthread_t thread;

	t_open("v1", DK_REGISTRY_BUILTINS | DK_REGISTRY_FORCE_RESOLVE);
	t_join(&host, "host");
	prov = with_priv;
	prov.registry = t_reg;
	prov.priv = &of_prov;
	t_register(&prov);
	CHECK_OK(dk_op_define(&host, &owner_op, 0, &t_why));
	op = t_get("threads::owner");
	stop = false;
	next_card = 1;
	hits = 0;
	t_start(&thread, register_and_unregister_cards, &failed);
	while (!w_load(stop)) {
		void *priv = NULL;

		x.device = w_load_acquire(next_card);
		if (!owner_at(op, &dk_local_default, &x, &priv)) {
			wrong += priv != &of_card;
			w_store(hits, hits + 1);
		}
	}
	pthread_join(thread, NULL);
	CHECK_INT(failed, 0);
	CHECK_INT(wrong, 0);
	t_note("%u calls found a card", hits);
}

T_SUITE_WITH(threads, t_bound,
	T(call_while_all_changes),
	T(call_while_operators_are_redefined),
	T(libraries_copy_declarations_that_are_called),
	T(look_up_while_operators_are_redefined),
	T(slow_call_delays_only_its_provider),
	T(deep_call_cannot_unregister),
	T(no_call_is_lost),
	T(new_device_has_its_own_priv));
