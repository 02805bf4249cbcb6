// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that call while others register and unregister: userspace only, the
 * kernel's twin is kthreads.c. Every call is counted by the function that
 * served it, in the memory of the provider that brought the function; a
 * provider that has left poisons that memory and frees it.
 */
#include "test.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define CALLERS		2
#define DURATION_MS	1000
#define ALIVE		0x616c6976u

DK_OP(count, "threads::count", (struct dk_obj *x), (x), (x));
DK_OP(swift, "threads::swift", (struct dk_obj *x), (x), (x));
DK_OP(block, "threads::block", (struct dk_obj *x, int *stage), (x, stage), (x));

/* What a provider counts in. */
struct counter {
	u32 alive;
	u64 served;
};

static u64 poisoned, served_by_the_gone;
static bool stop;

static u64 load(u64 *n)
{
	return __atomic_load_n(n, __ATOMIC_RELAXED);
}

static int count_call(struct dk_call *c)
{
	struct counter *me = dk_call_priv(c);

	if (__atomic_load_n(&me->alive, __ATOMIC_RELAXED) != ALIVE)
		__atomic_fetch_add(&poisoned, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&me->served, 1, __ATOMIC_RELAXED);
	return 0;
}

static int count_here(struct dk_call *c, struct dk_obj *x)
{
	return count_call(c);
}

/* Serves by what comes behind, which counts. */
static int count_behind(struct dk_call *c, struct dk_obj *x)
{
	return count_below(c, x);
}

static int swift_here(struct dk_call *c, struct dk_obj *x)
{
	return count_call(c);
}

static const struct dk_impl base_impls[] = {
	DK_IMPL(count, DK_COMPOSITE_EXPLICIT_AUTOGRAD, count_here),
	DK_IMPL_ATOMIC(swift, DK_COMPOSITE_EXPLICIT_AUTOGRAD, swift_here),
};

static const struct dk_impl guest_impls[] = {
	DK_IMPL(count, DK_CPU, count_here),
	DK_IMPL(count, DK_AUTOGRAD_CPU, count_behind),
	DK_IMPL_ATOMIC(swift, DK_CPU, swift_here),
};

static const struct dk_impl card_impls[] = {
	DK_IMPL(count, DK_DENSE, count_here),
	DK_IMPL_ATOMIC(swift, DK_DENSE, swift_here),
};

static const struct dk_impl through[] = {
	DK_IMPL_FALLTHROUGH(count, DK_TRACER),
};

static const struct dk_impl fallback = DK_FALLTHROUGH(DK_TRACER);

static struct dk_op *count_handle, *swift_handle;
static struct dk_obj objects[2];	/* on the CPU, and with autograd */
static unsigned int card_backend;
static u32 card;

struct caller {
	pthread_t thread;
	u64 sent;
	u64 lost;
};

static void *call_all_the_time(void *data)
{
	struct caller *me = data;
	unsigned int i = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		struct dk_obj x = objects[i % 2];

		/* now of a card that is there, and now of one that is gone */
		if (i % 3 == 2)
			x = dk_obj_on(card_backend,
				      __atomic_load_n(&card, __ATOMIC_RELAXED));
		me->lost += !!count_at(count_handle, &dk_local_default, &x);
		me->lost += !!swift_at(swift_handle, &dk_local_default, &x);
		me->sent += 2;
		i++;
	}
	return NULL;
}

static struct counter *counter_new(void)
{
	struct counter *c = t_alloc(sizeof(*c));

	c->alive = ALIVE;
	return c;
}

/* Nobody is inside of who counted here any more. */
static void counter_end(struct counter *c)
{
	served_by_the_gone += load(&c->served);
	c->served = 0;
	c->alive = 0xdeadbeef;
	t_free(c);
}

/* A provider comes with functions and two cards, changes them, and leaves. */
static void visit(unsigned int round)
{
	struct counter *host = counter_new(), *card0 = counter_new(),
		       *card1 = counter_new();
	struct dk_provider guest = DK_PROVIDER("guest");
	unsigned int backend;
	u32 d0, d1;

	guest.registry = t_reg;
	guest.priv = host;
	CHECK_OK(dk_provider_register(&guest, &t_why));
	CHECK_OK(dk_impls_register(&guest, guest_impls, ARRAY_SIZE(guest_impls),
				   &t_why));
	CHECK_OK(dk_backend_join(&guest, "threads", 0, 0, &backend, &t_why));
	CHECK_OK(dk_device_register(&guest, backend, "d0", card0, card_impls,
				    ARRAY_SIZE(card_impls), &d0, &t_why));
	__atomic_store_n(&card, d0, __ATOMIC_RELAXED);
	CHECK_OK(dk_device_register(&guest, backend, "d1", card1, card_impls,
				    ARRAY_SIZE(card_impls), &d1, &t_why));
	CHECK_OK(dk_impls_register(&guest, through, 1, &t_why));
	CHECK_OK(dk_fallback_register(&guest, &fallback, &t_why));
	CHECK_OK(dk_device_set_online(t_reg, d0, 0, &t_why));
	__atomic_store_n(&card, d1, __ATOMIC_RELAXED);
	CHECK_OK(dk_device_set_online(t_reg, d0, 1, &t_why));
	if (round & 1)
		CHECK_OK(dk_impls_unregister(&guest, through, &t_why));
	else
		CHECK_OK(dk_impls_withdraw(&guest, through, &t_why));
	if (round & 2)
		CHECK_OK(dk_provider_drain(&guest));
	if (round & 4) {
		CHECK_OK(dk_device_unregister(&guest, d1, &t_why));
		counter_end(card1);
		card1 = NULL;
	}
	if (round & 8)
		CHECK_OK(dk_impls_unregister(&guest, guest_impls, &t_why));
	CHECK_OK(dk_provider_unregister(&guest));
	counter_end(host);
	counter_end(card0);
	if (card1)
		counter_end(card1);
}

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void call_while_all_changes(void)
{
	struct dk_provider host = DK_PROVIDER("host");
	struct caller callers[CALLERS];
	struct counter *base = counter_new();
	long long end = now_ms() + DURATION_MS;
	unsigned int i, rounds = 0;
	u64 sent = 0, lost = 0;

	t_open("v1", DK_REGISTRY_STOCKED);
	stop = false;
	poisoned = 0;
	served_by_the_gone = 0;
	host.registry = t_reg;
	host.priv = base;
	CHECK_OK(dk_provider_register(&host, &t_why));
	CHECK_OK(dk_op_define(&host, &count_op, 0, &t_why));
	CHECK_OK(dk_op_define(&host, &swift_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&host, base_impls, 2, &t_why));
	CHECK_OK(dk_backend_join(&host, "threads", 0, 0, &card_backend, &t_why));
	count_handle = dk_op_get(t_reg, "threads::count");
	swift_handle = dk_op_get(t_reg, "threads::swift");
	objects[0] = dk_obj_on(DK_BACKEND_CPU, 0);
	objects[1] = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU));
	memset(callers, 0, sizeof(callers));
	for (i = 0; i < CALLERS; i++)
		CHECK_OK(pthread_create(&callers[i].thread, NULL, call_all_the_time,
					&callers[i]));
	while (now_ms() < end)
		visit(rounds++);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < CALLERS; i++) {
		pthread_join(callers[i].thread, NULL);
		sent += callers[i].sent;
		lost += callers[i].lost;
	}
	CHECK_INT(lost, 0);
	CHECK_INT(poisoned, 0);
	CHECK_INT(served_by_the_gone + load(&base->served), sent);
	CHECK(sent);
	CHECK(served_by_the_gone);
	t_note("%u rounds, %llu calls, %llu of them by who left", rounds,
	       (unsigned long long)sent, (unsigned long long)served_by_the_gone);
	dk_op_put(count_handle);
	dk_op_put(swift_handle);
	CHECK_OK(dk_provider_unregister(&host));
	t_free(base);
	t_close();
}

/* ---- operators that come and go ------------------------------------------- */

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
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		struct dk_diag why = { 0 };
		int err = dk_provider_register(&p, &why);

		err = err ? err : dk_impls_register(&p, early, 1, &why);
		err = err ? err : dk_op_define(&p, &count_op, 0, &why);
		err = err ? err : dk_op_undefine(&p, "threads::count", &why);
		err = err ? err : dk_op_define(&p, &count_op, DK_OP_SAME_DEVICE, &why);
		if (err || dk_provider_unregister(&p))
			break;
		++*rounds;
	}
	served_by_the_gone = mine->served;
	t_free(mine);
	return NULL;
}

/* Calls by handle find the operator defined or not, and nothing in between. */
static void call_while_operators_come_and_go(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CUDA, 0);
	struct dk_provider keeper;
	u64 served = 0, refused = 0, wrong = 0;
	long long end = now_ms() + DURATION_MS / 4;
	unsigned int rounds = 0;
	pthread_t thread;

	t_open("v1", DK_REGISTRY_STOCKED);
	t_join(&keeper, "keeper");
	CHECK_OK(dk_op_define(&keeper, &count_op, 0, &t_why));
	count_handle = dk_op_get(t_reg, "threads::count");
	CHECK_OK(dk_op_undefine(&keeper, "threads::count", &t_why));
	stop = false;
	poisoned = 0;
	CHECK_OK(pthread_create(&thread, NULL, define_and_undefine, &rounds));
	while (now_ms() < end) {
		int err = count_at(count_handle, &dk_local_default, &x);

		served += !err;
		refused += err == -ENOENT;
		/* defined, and its provider is on the way out */
		refused += err == -ENOSYS;
		wrong += err && err != -ENOENT && err != -ENOSYS;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CHECK_INT(wrong, 0);
	CHECK_INT(poisoned, 0);
	CHECK_INT(served, served_by_the_gone);
	CHECK(rounds);
	t_note("%u rounds, %llu served, %llu refused", rounds,
	       (unsigned long long)served, (unsigned long long)refused);
	dk_op_put(count_handle);
	t_leave(&keeper);
	t_close();
}

/* ---- a call that stays ---------------------------------------------------- */

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

/* Says that it is inside, and stays until it is let go; without @stage not. */
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

struct leaver {
	struct dk_provider *prov;
	int *stage;
	int stage_when_left;
};

static void *leave(void *data)
{
	struct leaver *me = data;

	t_leave(me->prov);
	pthread_mutex_lock(&lock);
	me->stage_when_left = *me->stage;
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* It delays its own provider's leaving, and nobody else's. */
static void slow_call_delays_its_own_only(void)
{
	static const struct dk_impl slow[] = { DK_IMPL(block, DK_CPU, block_here) };
	static const struct dk_impl of_b[] = {
		DK_IMPL(count, DK_CPU, count_here), DK_IMPL(block, DK_CUDA, block_here),
	};
	static struct dk_provider a, b;
	struct leaver leaver = { .prov = &a };
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	pthread_t caller, leaving;
	int stage = 0;
	void *err;
	u32 device;

	t_open("v1", DK_REGISTRY_STOCKED);
	t_join(&a, "a");
	t_join(&b, "b");
	CHECK_OK(dk_op_define(&b, &count_op, 0, &t_why));
	CHECK_OK(dk_op_define(&a, &block_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&a, slow, 1, &t_why));
	CHECK_OK(dk_impls_register(&b, of_b, 2, &t_why));
	block_handle = dk_op_get(t_reg, "threads::block");
	CHECK_OK(pthread_create(&caller, NULL, call_and_stay, &stage));
	wait_stage(&stage, 1);
	/* if it did delay b, these would never return */
	CHECK_OK(dk_impls_unregister(&b, of_b, &t_why));
	CHECK_OK(dk_device_register(&b, 1, "d", NULL, NULL, 0, &device, &t_why));
	CHECK_OK(dk_device_unregister(&b, device, &t_why));
	CHECK_OK(dk_provider_drain(&b));
	t_leave(&b);
	CHECK_INT(stage, 1);
	/* a waits for it; no later call gets in */
	leaver.stage = &stage;
	CHECK_OK(pthread_create(&leaving, NULL, leave, &leaver));
	while (block_at(block_handle, &dk_local_default, &x, NULL) != -ENOENT)
		sched_yield();
	set_stage(&stage, 2);
	pthread_join(caller, &err);
	pthread_join(leaving, NULL);
	CHECK(!err);
	CHECK_INT(leaver.stage_when_left, 2);
	dk_op_put(block_handle);
	t_close();
}

/* ---- calls within calls --------------------------------------------------- */

DK_OP(nest, "threads::nest",
	(struct dk_obj *x, int depth, int *err), (x, depth, err), (x));

static struct dk_provider nester;
static struct dk_op *nest_handle;

/* More than any record of a thread has room for. */
static int nest_here(struct dk_call *c, struct dk_obj *x, int depth, int *err)
{
	if (depth)
		return nest_at(nest_handle, &dk_local_default, x, depth - 1, err);
	*err = dk_provider_unregister(&nester);
	return 0;
}

static void deep_calls_are_seen(void)
{
	static const struct dk_impl impls[] = { DK_IMPL(nest, DK_CPU, nest_here) };
	static const int depths[] = { 0, 1, 62, 63, 64, 65, 200 };
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	unsigned int i;

	t_open("v1", DK_REGISTRY_STOCKED);
	t_join(&nester, "nester");
	CHECK_OK(dk_op_define(&nester, &nest_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&nester, impls, 1, &t_why));
	nest_handle = dk_op_get(t_reg, "threads::nest");
	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		int err = 0;

		CHECK_OK(nest_at(nest_handle, &dk_local_default, &x, depths[i], &err));
		CHECK_INT(err, -EDEADLK);
	}
	dk_op_put(nest_handle);
	t_leave(&nester);
	t_close();
}

T_SUITE(threads,
	T(call_while_all_changes),
	T(call_while_operators_come_and_go),
	T(slow_call_delays_its_own_only),
	T(deep_calls_are_seen));
