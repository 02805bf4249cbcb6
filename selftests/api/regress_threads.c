// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bugs that a review found and that need threads to be seen: userspace only.
 * A test that hangs ends the program after LIMIT seconds.
 */
#include "test.h"

#include "../world.h"
#include "core/registry.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Far more than any of them takes. */
#ifndef LIMIT
#define LIMIT		120
#endif

#ifdef DKC_TSAN
#define SLOWLY		1
#else
#define SLOWLY		0
#endif

#define LOAD(x)		__atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define STORE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELEASE)

static void start(pthread_t *thread, void *(*run)(void *), void *data)
{
	if (CHECK_OK(pthread_create(thread, NULL, run, data)))
		return;
	printf("Bail out! no thread\n");
	exit(1);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t over = PTHREAD_COND_INITIALIZER;
static bool is_over;
static pid_t child;

/* A thread and not SIGALRM: liburcu blocks all signals where it may hang. */
static void *watch(void *data)
{
	static const char text[] = "Bail out! a test of regress_threads hangs\n";
	struct timespec end;
	int err = 0;

	/* not of the time of day, which may be set while a test runs */
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += LIMIT;
	pthread_mutex_lock(&lock);
	while (!is_over && !err)
		err = pthread_cond_clockwait(&over, &lock, CLOCK_MONOTONIC, &end);
	if (!is_over) {
		if (LOAD(child) > 0)
			kill(LOAD(child), SIGKILL);
		_exit(write(STDOUT_FILENO, text, sizeof(text) - 1) < 0 ? 2 : 1);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void bounded(void (*test)(void))
{
	pthread_t watcher;

	is_over = false;
	start(&watcher, watch, NULL);
	test();
	pthread_mutex_lock(&lock);
	is_over = true;
	pthread_cond_signal(&over);
	pthread_mutex_unlock(&lock);
	pthread_join(watcher, NULL);
}

/* ---- a call that stays, and two who wait for it --------------------------- */

DK_OP(hold, "regress::hold", (struct dk_obj *x, int *err), (x, err), (x));

static struct dk_provider prov, host;
static struct dk_op *op;
static struct dk_obj held_on;
static u32 card;
static int inside, let_go, has_left;

static int hold_here(struct dk_call *c, struct dk_obj *x, int *err)
{
	STORE(inside, 1);
	while (!LOAD(let_go))
		usleep(500);
	/* whoever waits for us is still waiting */
	if (err)
		*err = dk_provider_unregister(&prov);
	STORE(has_left, 1);
	return 0;
}

static const struct dk_impl here[] = { DK_IMPL(hold, DK_CPU, hold_here) };
static const struct dk_impl there[] = { DK_IMPL(hold, DK_CUDA, hold_here) };
static const struct dk_impl on_card[] = { DK_IMPL(hold, DK_DENSE, hold_here) };

static void begin(void)
{
	t_open("v1", DK_REGISTRY_STOCKED);
	t_join(&host, "host");
	t_join(&prov, "prov");
	CHECK_OK(dk_op_define(&host, &hold_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, here, 1, &t_why));
	CHECK_OK(dk_impls_register(&prov, there, 1, &t_why));
	CHECK_OK(dk_device_register(&prov, DK_BACKEND_PRIVATEUSE1, "card", NULL,
				    on_card, 1, &card, &t_why));
	op = dk_op_get(t_reg, "regress::hold");
	held_on = dk_obj_on(DK_BACKEND_CPU, 0);
	inside = 0;
	let_go = 0;
	has_left = 0;
}

static void end(void)
{
	dk_op_put(op);
	CHECK_OK(dk_provider_unregister(&prov));
	t_leave(&host);
	t_close();
}

static void *call_and_stay(void *err)
{
	long ret = hold_at(op, &dk_local_default, &held_on, err);

	return (void *)ret;
}

static void enter(pthread_t *caller, int *err)
{
	start(caller, call_and_stay, err);
	while (!LOAD(inside))
		sched_yield();
}

static void leave(pthread_t caller)
{
	void *err;

	STORE(let_go, 1);
	pthread_join(caller, &err);
	CHECK(!err);
}

struct waiter {
	pthread_t thread;
	int (*wait)(void);
	int err;
	int begun, done;
	int had_left;	/* the call, when the wait was over */
};

static void *wait_for_calls(void *data)
{
	struct waiter *me = data;

	STORE(me->begun, 1);
	me->err = me->wait();
	me->had_left = LOAD(has_left);
	STORE(me->done, 1);
	return NULL;
}

/* Two wait at once, and neither is done before the call inside has left. */
static void both_wait(unsigned int backend, int (*before)(void), int (*wait)(void))
{
	struct waiter waiters[2];
	pthread_t caller;
	unsigned int i, ms;

	memset(waiters, 0, sizeof(waiters));
	begin();
	if (backend == DK_BACKEND_PRIVATEUSE1)
		held_on = dk_obj_on(backend, card);
	enter(&caller, NULL);
	if (before)
		CHECK_OK(before());
	for (i = 0; i < 2; i++) {
		waiters[i].wait = wait;
		start(&waiters[i].thread, wait_for_calls, &waiters[i]);
		while (!LOAD(waiters[i].begun))
			sched_yield();
	}
	/* time to be wrong in */
	for (ms = 0; ms < 100; ms++) {
		if (LOAD(waiters[0].done) || LOAD(waiters[1].done))
			break;
		usleep(1000);
	}
	leave(caller);
	for (i = 0; i < 2; i++) {
		pthread_join(waiters[i].thread, NULL);
		CHECK_OK(waiters[i].err);
		CHECK_INT(waiters[i].had_left, 1);
	}
	end();
}

static int withdraw(void)
{
	int err = dk_impls_withdraw(&prov, there, NULL);

	return err ? err : dk_impls_withdraw(&prov, here, NULL);
}

static int drain(void)
{
	return dk_provider_drain(&prov);
}

static int unregister(void)
{
	return dk_provider_unregister(&prov);
}

static int go_offline(void)
{
	return dk_device_set_online(t_reg, card, 0, NULL);
}

static void drains(void)
{
	both_wait(DK_BACKEND_CPU, withdraw, drain);
}

static void two_drain(void)
{
	bounded(drains);
}

static void unregisters(void)
{
	both_wait(DK_BACKEND_CPU, NULL, unregister);
}

static void two_unregister(void)
{
	bounded(unregisters);
}

static void go_offlines(void)
{
	both_wait(DK_BACKEND_PRIVATEUSE1, NULL, go_offline);
}

static void two_take_a_device_offline(void)
{
	bounded(go_offlines);
}

/* Once it has begun to leave, a provider registers and takes out nothing. */
static bool is_leaving(struct dk_provider *p)
{
	return dk_op_undefine(p, "regress::none", NULL) == -EINVAL;
}

/* The one inside may not wait for itself, whoever has begun to. */
static void unregisters_from_inside(void)
{
	struct waiter other = { .wait = unregister };
	pthread_t caller;
	int err = 0;

	begin();
	enter(&caller, &err);
	start(&other.thread, wait_for_calls, &other);
	while (!is_leaving(&prov))
		sched_yield();
	leave(caller);
	pthread_join(other.thread, NULL);
	CHECK_INT(err, -EDEADLK);
	CHECK_OK(other.err);
	CHECK_INT(other.had_left, 1);
	end();
}

static void unregister_from_inside_beside_another(void)
{
	bounded(unregisters_from_inside);
}

/* ---- calls while functions come and go ------------------------------------ */

DK_OP(seen, "regress::seen", (struct dk_obj *x), (x), (x));

static int stop;

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

static void *come_and_go(void *data)
{
	unsigned int *rounds = data;

	while (!LOAD(stop)) {
		/* often: who withdraws waits for no grace period */
		if (dk_impls_register(&prov, autograd_impls, 1, NULL) ||
		    dk_impls_withdraw(&prov, autograd_impls, NULL))
			break;
		if (*rounds % 64 == 63 && dk_provider_drain(&prov))
			break;
		STORE(*rounds, *rounds + 1);
	}
	return NULL;
}

/* Calls were lost between the mask and the choice, and on a redispatch. */
static void calls_beside(unsigned int flags)
{
	const unsigned int calls = 200000, changes = SLOWLY ? 2000 : 20000;
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU));
	unsigned int i, lost = 0, rounds = 0;
	pthread_t thread;
	int err = 0, last = 0;

	t_open("v1", flags);
	t_join(&host, "host");
	t_join(&prov, "prov");
	CHECK_OK(dk_op_define(&host, &seen_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&host, cpu_impls, 1, &t_why));
	op = dk_op_get(t_reg, "regress::seen");
	stop = 0;
	start(&thread, come_and_go, &rounds);
	for (i = 0; i < calls || (LOAD(rounds) < changes && i < 100 * calls); i++) {
		err = seen_at(op, &dk_local_default, &x);
		if (err) {
			lost++;
			last = err;
		}
	}
	STORE(stop, 1);
	pthread_join(thread, NULL);
	CHECK_INT(lost, 0);
	CHECK_INT(last, 0);
	CHECK(rounds);
	end();
}

static void calls_beside_changes(void)
{
	calls_beside(DK_REGISTRY_STOCKED | DK_REGISTRY_FORCE_RESOLVE);
	calls_beside(DK_REGISTRY_STOCKED);
}

static void no_call_is_lost(void)
{
	bounded(calls_beside_changes);
}

/* ---- a device that is just being registered ------------------------------- */

DK_OP(owner, "regress::owner", (struct dk_obj *x, void **priv), (x, priv), (x));

static int of_prov, of_card;
static u32 next_card;

static int owner_here(struct dk_call *c, struct dk_obj *x, void **priv)
{
	*priv = dk_call_priv(c);
	return 0;
}

static const struct dk_impl owner_impls[] = { DK_IMPL(owner, DK_DENSE, owner_here) };

static void *cards_come_and_go(void *data)
{
	const unsigned int cards = SLOWLY ? 1000 : 10000;
	unsigned int i, *failed = data;
	u32 number = 0;

	for (i = 0; i < cards && !*failed; i++) {
		if (dk_device_register(&prov, DK_BACKEND_PRIVATEUSE1, "card", &of_card,
				       owner_impls, 1, &number, NULL))
			++*failed;
		else if (dk_device_unregister(&prov, number, NULL))
			++*failed;
		/* the same slot, and the next generation */
		STORE(next_card, number + (1u << 12));
	}
	STORE(stop, 1);
	return NULL;
}

/* It was seen with its provider's pointer before it had its own. */
static void cards_and_owners(void)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_PRIVATEUSE1));
	static struct dk_provider with_priv = DK_PROVIDER("prov");
	unsigned int failed = 0, wrong = 0, hits = 0;
	pthread_t thread;

	t_open("v1", DK_REGISTRY_STOCKED | DK_REGISTRY_FORCE_RESOLVE);
	t_join(&host, "host");
	prov = with_priv;
	prov.registry = t_reg;
	prov.priv = &of_prov;
	CHECK_OK(dk_provider_register(&prov, &t_why));
	CHECK_OK(dk_op_define(&host, &owner_op, 0, &t_why));
	op = dk_op_get(t_reg, "regress::owner");
	stop = 0;
	next_card = 1;
	start(&thread, cards_come_and_go, &failed);
	while (!LOAD(stop)) {
		void *priv = NULL;

		x.device = LOAD(next_card);
		if (!owner_at(op, &dk_local_default, &x, &priv)) {
			hits++;
			wrong += priv != &of_card;
		}
	}
	pthread_join(thread, NULL);
	CHECK_INT(failed, 0);
	CHECK_INT(wrong, 0);
	t_note("%u calls met a card", hits);
	end();
}

static void new_device_has_its_own_priv(void)
{
	bounded(cards_and_owners);
}

/* ---- fork ----------------------------------------------------------------- */

DK_OP(forked, "regress::forked", (struct dk_obj *x), (x), (x));

static int forked_here(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

static const struct dk_impl forked_impls[] = { DK_IMPL(forked, DK_CPU, forked_here) };
static const struct dk_impl child_impls[] = { DK_IMPL(forked, DK_CUDA, forked_here) };

static void *first_call(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	long err = forked(&x);

	return (void *)err;
}

/* Threads that were not known before, one after the other. */
static void *first_calls(void *data)
{
	unsigned int *failed = data;
	pthread_t threads[8];
	unsigned int i, n;
	void *err;

	while (!LOAD(stop)) {
		for (n = 0; n < 8; n++)
			if (pthread_create(&threads[n], NULL, first_call, NULL))
				break;
		for (i = 0; i < n; i++) {
			pthread_join(threads[i], &err);
			*failed += !!err;
		}
	}
	return NULL;
}

static void *synchronize(void *data)
{
	static const struct dk_provider unregistered = DK_PROVIDER("visitor");
	unsigned int *failed = data;
	struct dk_provider p;

	while (!LOAD(stop)) {
		p = unregistered;
		*failed += !!dk_provider_register(&p, NULL);
		*failed += !!dk_provider_unregister(&p);
	}
	return NULL;
}

static int in_child(void)
{
	static struct dk_provider p = DK_PROVIDER("child");
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_obj cuda = dk_obj_on(DK_BACKEND_CUDA, 0);
	int err = forked(&cpu);

	if (err || forked(&cuda) != -ENOSYS)
		return 1;
	if (dk_provider_register(&p, NULL))
		return 2;
	if (dk_impls_register(&p, child_impls, 1, NULL))
		return 3;
	if (forked(&cuda))
		return 4;
	if (dk_provider_unregister(&p))
		return 5;
	if (forked(&cuda) != -ENOSYS || forked(&cpu))
		return 6;
	return 0;
}

/* One child after the other; the first that goes wrong is the last. */
static void fork_often(unsigned int forks, int (*in_it)(void))
{
	unsigned int i;
	int status;
	pid_t pid;

	fflush(stdout);
	for (i = 0; i < forks; i++) {
		pid = fork();
		if (!pid)
			_exit(in_it());
		if (!CHECK(pid > 0))
			break;
		status = -1;
		STORE(child, pid);
		waitpid(pid, &status, 0);
		STORE(child, 0);
		if (!CHECK_INT(status, 0))
			break;
	}
}

static void forks_beside_threads(void)
{
	static struct dk_provider parent = DK_PROVIDER("parent");
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	unsigned int i, failed[3] = { 0 };
	pthread_t threads[3];

	CHECK_OK(dk_provider_register(&parent, &t_why));
	CHECK_OK(dk_op_define(&parent, &forked_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&parent, forked_impls, 1, &t_why));
	/* found by now: the threads' calls do not all write it */
	CHECK_OK(forked(&x));
	stop = 0;
	start(&threads[0], first_calls, &failed[0]);
	start(&threads[1], first_calls, &failed[1]);
	start(&threads[2], synchronize, &failed[2]);
	fork_often(200, in_child);
	STORE(stop, 1);
	for (i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		CHECK_INT(failed[i], 0);
	}
	CHECK_OK(dk_provider_unregister(&parent));
}

static void fork_beside_threads(void)
{
	if (W_SANITIZED)
		t_skip("with a sanitizer, whose own locks are in a child as they were");
	else
		bounded(forks_beside_threads);
}

/* ---- fork with counters ----------------------------------------------------- */

static u64 count_of_forked(void)
{
	struct dk_op *handle = dk_op_get(NULL, "regress::forked");
	struct dk_stat s = { .size = sizeof(s) };
	int err = dk_op_stat(handle, 0, &s);

	dk_op_put(handle);
	return err || !s.is_counted ? ~0ULL : s.count;
}

static u64 uncounted(void)
{
	struct dk_stats s = { .size = sizeof(s) };

	return dk_stats_get(NULL, &s) || !s.is_enabled ? ~0ULL : s.uncounted;
}

static int count_in_child(void)
{
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	u64 before = count_of_forked(), lost = uncounted();
	pthread_t thread;
	unsigned int i;

	for (i = 0; i < 10; i++)
		if (forked(&cpu))
			return 1;
	if (count_of_forked() != before + 10)
		return 2;
	/* ThreadSanitizer lets a child begin no thread */
	if (SLOWLY)
		first_call(NULL);
	else if (pthread_create(&thread, NULL, first_call, NULL) ||
		 pthread_join(thread, NULL))
		return 3;
	if (count_of_forked() != before + 11 || uncounted() != lost)
		return 4;
	if (dk_stats_reset(NULL, NULL) || count_of_forked())
		return 5;
	if (dk_stats_disable(NULL, NULL) || dk_stats_enable(NULL, NULL))
		return 6;
	if (forked(&cpu) || count_of_forked() != 1 || uncounted())
		return 7;
	return 0;
}

/*
 * Threads that count their first call and end, and one that goes on. (A child has
 * the locks of sanitizers as they were, which who makes a thread has taken.)
 */
static void *count_calls(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	unsigned int *made = data;
	pthread_t thread;

	while (!LOAD(stop)) {
		if (!W_SANITIZED && !pthread_create(&thread, NULL, first_call, NULL)) {
			pthread_join(thread, NULL);
			STORE(*made, *made + 1);
		}
		STORE(*made, *made + !forked(&x));
	}
	return NULL;
}

/* What the parent has counted is the child's, too, and each goes on by itself. */
static void forks_with_counters(void)
{
	static struct dk_provider parent = DK_PROVIDER("parent");
	const unsigned int forks = SLOWLY ? 20 : 100;
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	unsigned int i, made[2] = { 0 };
	pthread_t threads[2];

	CHECK_OK(dk_provider_register(&parent, &t_why));
	CHECK_OK(dk_op_define(&parent, &forked_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&parent, forked_impls, 1, &t_why));
	CHECK_OK(forked(&x));
	CHECK_OK(dk_stats_enable(NULL, &t_why));
	stop = 0;
	start(&threads[0], count_calls, &made[0]);
	start(&threads[1], count_calls, &made[1]);
	/* a first call takes memory, of which a sanitizer's locks are a part */
	while (!LOAD(made[0]) || !LOAD(made[1]))
		sched_yield();
	fork_often(forks, count_in_child);
	STORE(stop, 1);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK(made[0] && made[1]);
	CHECK_INT(count_of_forked(), made[0] + made[1]);
	CHECK_INT(uncounted(), 0);
	CHECK_OK(dk_stats_disable(NULL, &t_why));
	CHECK_OK(dk_provider_unregister(&parent));
}

static void fork_with_counters(void)
{
	bounded(forks_with_counters);
}

/* ---- cancellation --------------------------------------------------------- */

DK_OP(atom, "regress::atom", (struct dk_obj *x), (x), (x));

static int atom_here(struct dk_call *c, struct dk_obj *x)
{
	STORE(inside, 1);
	while (!LOAD(let_go))
		usleep(500);
	return 0;
}

static const struct dk_impl atom_impls[] = { DK_IMPL_ATOMIC(atom, DK_CPU, atom_here) };

static void *call_atom(void *data)
{
	long err = atom_at(op, &dk_local_default, &held_on);

	return (void *)err;
}

static void *unregister_and_end(void *data)
{
	dk_provider_unregister(&prov);
	return NULL;
}

/* It was cancelled where it waits, and took liburcu's lock with it. */
static void cancels_who_waits(void)
{
	pthread_t caller, leaving;

	t_open("v1", DK_REGISTRY_STOCKED);
	t_join(&host, "host");
	t_join(&prov, "prov");
	CHECK_OK(dk_op_define(&host, &atom_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&host, atom_impls, 1, &t_why));
	op = dk_op_get(t_reg, "regress::atom");
	held_on = dk_obj_on(DK_BACKEND_CPU, 0);
	inside = 0;
	let_go = 0;
	start(&caller, call_atom, NULL);
	while (!LOAD(inside))
		sched_yield();
	start(&leaving, unregister_and_end, NULL);
	while (!is_leaving(&prov))
		sched_yield();
	/* the call keeps the grace period from ending */
	usleep(50000);
	CHECK_OK(pthread_cancel(leaving));
	usleep(10000);
	leave(caller);
	pthread_join(leaving, NULL);
	/* these wait for grace periods too */
	t_join(&prov, "again");
	CHECK_OK(dk_provider_drain(&prov));
	end();
}

static void cancelled_while_it_waits(void)
{
	bounded(cancels_who_waits);
}

/* ---- fork while another thread tells listeners ---------------------------- */

DK_OP(news1, "regress::news1", (struct dk_obj *x), (x), (x));
DK_OP(news2, "regress::news2", (struct dk_obj *x), (x), (x));

static unsigned int num_told;

static void stays(struct dk_listener *l, const struct dk_event *event)
{
	num_told++;
	if (strcmp(event->name, "regress::news1"))
		return;
	STORE(inside, 1);
	while (!LOAD(let_go))
		usleep(500);
}

static struct dk_listener slow = { .size = sizeof(slow), .told = stays };
static struct dk_provider teller = DK_PROVIDER("teller");

static void *define_and_tell(void *data)
{
	long err = dk_op_define(&teller, &news1_op, 0, NULL);

	return (void *)err;
}

/* Nobody is telling here, and nobody is inside of the listener. */
static int in_child_of_a_teller(void)
{
	alarm(20);
	if (dk_listener_unregister(&slow))
		return 1;
	if (dk_op_undefine(&teller, "regress::news1", NULL) ||
	    dk_listener_register(&slow, NULL))
		return 2;
	num_told = 0;
	return dk_op_define(&teller, &news2_op, 0, NULL) || num_told != 1 ? 3 : 0;
}

static void forks_beside_a_teller(void)
{
	pthread_t thread;
	int status = -1;
	pid_t pid;

	CHECK_OK(dk_provider_register(&teller, &t_why));
	CHECK_OK(dk_listener_register(&slow, &t_why));
	inside = 0;
	let_go = 0;
	start(&thread, define_and_tell, NULL);
	while (!LOAD(inside))
		sched_yield();
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(in_child_of_a_teller());
	if (CHECK(pid > 0)) {
		STORE(child, pid);
		waitpid(pid, &status, 0);
		STORE(child, 0);
		CHECK_INT(status, 0);
	}
	leave(thread);
	CHECK_OK(dk_listener_unregister(&slow));
	CHECK_OK(dk_provider_unregister(&teller));
}

static void fork_beside_a_teller(void)
{
	bounded(forks_beside_a_teller);
}

/* ---- a thread is cancelled while it tells a listener ------------------------- */

static void *define_and_be_cancelled(void *data)
{
	dk_op_define(&teller, &news1_op, 0, NULL);
	pthread_testcancel();
	return NULL;
}

/* It was telling for ever, and so was whoever it told. */
static void cancels_a_teller(void)
{
	pthread_t thread;
	void *end_of_it = NULL;

	CHECK_OK(dk_provider_register(&teller, &t_why));
	CHECK_OK(dk_listener_register(&slow, &t_why));
	inside = 0;
	let_go = 0;
	start(&thread, define_and_be_cancelled, NULL);
	while (!LOAD(inside))
		sched_yield();
	CHECK_OK(pthread_cancel(thread));
	usleep(20000);
	STORE(let_go, 1);
	pthread_join(thread, &end_of_it);
	CHECK(end_of_it == PTHREAD_CANCELED);
	num_told = 0;
	CHECK_OK(dk_op_define(&teller, &news2_op, 0, &t_why));
	CHECK_INT(num_told, 1);
	CHECK_OK(dk_listener_unregister(&slow));
	CHECK_OK(dk_provider_unregister(&teller));
}

static void cancelled_while_it_tells(void)
{
	bounded(cancels_a_teller);
}

/* ---- fork while other threads are inside, and while one waits for them ------ */

DK_OP(lasts, "regress::lasts", (struct dk_obj *x, int *in), (x, in), (x));
DK_OP(stuck, "regress::stuck", (struct dk_obj *x, int *in), (x, in), (x));

static int lasts_here(struct dk_call *c, struct dk_obj *x, int *in)
{
	STORE(*in, 1);
	while (!LOAD(let_go))
		usleep(500);
	return 0;
}

static const struct dk_impl leaver_impls[] = { DK_IMPL(lasts, DK_CPU, lasts_here) };
static const struct dk_impl stayer_impls[] = {
	DK_IMPL(lasts, DK_CUDA, lasts_here),
};

static const struct dk_impl stuck_impls[] = {
	DK_IMPL_ATOMIC(stuck, DK_CUDA, lasts_here),
};

static struct dk_provider leaver = DK_PROVIDER("leaver");
static struct dk_provider stayer = DK_PROVIDER("stayer");
static int is_in[3];

static void *call_leaver(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	long err = lasts(&x, &is_in[0]);

	return (void *)err;
}

static void *call_stayer(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CUDA, 0);
	long err = lasts(&x, &is_in[1]);

	return (void *)err;
}

/* In a read section for as long as it lasts. */
static void *call_stuck(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CUDA, 0);
	long err = stuck(&x, &is_in[2]);

	return (void *)err;
}

#define NUM_LEAVING	3

static void *leave_and_wait(void *data)
{
	long err = dk_provider_unregister(&leaver);

	return (void *)err;
}

static bool is_listed(const char *name)
{
	const struct dkc_provider *p = dk_registry_default()->providers;

	while (p && strcmp(p->name, name))
		p = p->next;
	return p;
}

/* None of the calls is here, and nobody waits for them: nor does the child. */
static int in_child_of_the_waiting(void)
{
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_obj cuda = dk_obj_on(DK_BACKEND_CUDA, 0);
	int in = 0;

	alarm(20);
	if (!leaver.core || dk_provider_register(&leaver, NULL) != -EEXIST)
		return 1;
	if (dk_provider_unregister(&leaver) || leaver.core || is_listed("leaver"))
		return 2;
	STORE(let_go, 1);
	if (lasts(&cuda, &in) || lasts(&cpu, &in) != -ENOSYS)
		return 3;
	if (dk_provider_register(&leaver, NULL) ||
	    dk_impls_register(&leaver, leaver_impls, 1, NULL) || lasts(&cpu, &in))
		return 4;
	if (dk_provider_unregister(&leaver) || is_listed("leaver"))
		return 5;
	if (dk_impls_unregister(&stayer, stayer_impls, NULL) ||
	    dk_provider_unregister(&stayer) || is_listed("stayer"))
		return 6;
	return dk_registry_check(NULL, NULL) ? 7 : 0;
}

static void in_a_child(int (*what)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(what());
	if (!CHECK(pid > 0))
		return;
	STORE(child, pid);
	waitpid(pid, &status, 0);
	STORE(child, 0);
	CHECK_INT(status, 0);
}

/* How many wait for the calls inside of the leaver. */
static unsigned int num_waiting(void)
{
	struct dk_registry *reg = dk_registry_default();
	unsigned int n;

	dkc_mutex_lock(&reg->lock);
	n = leaver.core->waiters;
	dkc_mutex_unlock(&reg->lock);
	return n;
}

static void forks_beside_the_waiting(void)
{
	static void *(*const calls[])(void *) = { call_leaver, call_stayer };
	pthread_t threads[2], leaving[NUM_LEAVING];
	unsigned int i;
	void *err;

	CHECK_OK(dk_provider_register(&leaver, &t_why));
	CHECK_OK(dk_provider_register(&stayer, &t_why));
	CHECK_OK(dk_op_define(&stayer, &lasts_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&leaver, leaver_impls, 1, &t_why));
	CHECK_OK(dk_impls_register(&stayer, stayer_impls, 1, &t_why));
	let_go = 0;
	for (i = 0; i < 2; i++) {
		is_in[i] = 0;
		start(&threads[i], calls[i], NULL);
		while (!LOAD(is_in[i]))
			sched_yield();
	}
	for (i = 0; i < NUM_LEAVING; i++)
		start(&leaving[i], leave_and_wait, NULL);
	while (num_waiting() < NUM_LEAVING)
		sched_yield();
	in_a_child(in_child_of_the_waiting);
	CHECK(leaver.core);
	STORE(let_go, 1);
	for (i = 0; i < 2; i++) {
		pthread_join(threads[i], &err);
		CHECK(!err);
	}
	for (i = 0; i < NUM_LEAVING; i++) {
		pthread_join(leaving[i], &err);
		CHECK(!err);
	}
	CHECK(!leaver.core && !is_listed("leaver"));
	CHECK_OK(dk_provider_unregister(&stayer));
}

static void fork_beside_the_waiting(void)
{
	bounded(forks_beside_the_waiting);
}

/* A read section of a thread that is not there delays nobody. */
static int in_child_of_a_reader(void)
{
	struct dk_obj cuda = dk_obj_on(DK_BACKEND_CUDA, 0);
	int in = 0;

	alarm(20);
	STORE(let_go, 1);
	if (stuck(&cuda, &in))
		return 1;
	if (dk_impls_unregister(&stayer, stuck_impls, NULL) ||
	    stuck(&cuda, &in) != -ENOSYS)
		return 2;
	return dk_provider_unregister(&stayer) || is_listed("stayer") ? 3 : 0;
}

static void forks_beside_a_reader(void)
{
	pthread_t thread;

	CHECK_OK(dk_provider_register(&stayer, &t_why));
	CHECK_OK(dk_op_define(&stayer, &stuck_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&stayer, stuck_impls, 1, &t_why));
	let_go = 0;
	is_in[2] = 0;
	start(&thread, call_stuck, NULL);
	while (!LOAD(is_in[2]))
		sched_yield();
	in_a_child(in_child_of_a_reader);
	leave(thread);
	CHECK_OK(dk_provider_unregister(&stayer));
}

static void fork_beside_a_reader(void)
{
	bounded(forks_beside_a_reader);
}

/* ---- fork while another thread is in more calls than it has slots for --------- */

DK_OP(nested, "regress::nested", (struct dk_obj *x, int depth), (x, depth), (x));

#define NUM_NESTED	70

static int nested_here(struct dk_call *c, struct dk_obj *x, int depth)
{
	if (depth > 1)
		return nested(x, depth - 1);
	STORE(inside, 1);
	while (!LOAD(let_go))
		usleep(500);
	return 0;
}

static const struct dk_impl nested_impls[] = { DK_IMPL(nested, DK_CPU, nested_here) };

static void *call_nested(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	long err = nested(&x, NUM_NESTED);

	return (void *)err;
}

static unsigned int num_inside(struct dk_provider *p)
{
	struct dk_inside in = { .size = sizeof(in) };
	unsigned int n = 0;

	while (!dk_provider_inside(p, n, &in))
		n++;
	return n;
}

static int in_child_of_the_nested(void)
{
	alarm(20);
	if (num_inside(&stayer))
		return 1;
	return dk_provider_unregister(&stayer) || is_listed("stayer") ? 2 : 0;
}

static void forks_beside_nested_calls(void)
{
	pthread_t thread;

	CHECK_OK(dk_provider_register(&stayer, &t_why));
	CHECK_OK(dk_op_define(&stayer, &nested_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&stayer, nested_impls, 1, &t_why));
	inside = 0;
	let_go = 0;
	start(&thread, call_nested, NULL);
	while (!LOAD(inside))
		sched_yield();
	CHECK_INT(num_inside(&stayer), NUM_NESTED);
	in_a_child(in_child_of_the_nested);
	CHECK_INT(num_inside(&stayer), NUM_NESTED);
	leave(thread);
	CHECK_OK(dk_provider_unregister(&stayer));
}

static void fork_beside_nested_calls(void)
{
	bounded(forks_beside_nested_calls);
}

/* ---- fork from inside a call ---------------------------------------------------- */

DK_OP(forking, "regress::forking", (struct dk_obj *x), (x), (x));
DK_OP(forking_atomic, "regress::forking_atomic", (struct dk_obj *x), (x), (x));

/* The call goes on in the child, on a thread of another number. */
static int in_child_inside(void)
{
	struct dk_inside in = { .size = sizeof(in) };

	alarm(20);
	if (dk_provider_inside(&stayer, 0, &in) || num_inside(&stayer) != 1)
		return 1;
	if (in.thread != (u32)gettid() || !in.thread_name[0])
		return 2;
	return dk_provider_unregister(&stayer) == -EDEADLK ? 0 : 3;
}

static int forking_here(struct dk_call *c, struct dk_obj *x)
{
	in_a_child(in_child_inside);
	return 0;
}

static const struct dk_impl forking_impls[] = {
	DK_IMPL(forking, DK_CPU, forking_here),
	DK_IMPL_ATOMIC(forking_atomic, DK_CPU, forking_here),
};

static void forks_inside(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	CHECK_OK(dk_provider_register(&stayer, &t_why));
	CHECK_OK(dk_op_define(&stayer, &forking_op, 0, &t_why));
	CHECK_OK(dk_op_define(&stayer, &forking_atomic_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&stayer, forking_impls, 2, &t_why));
	CHECK_OK(forking(&x));
	CHECK_OK(forking_atomic(&x));
	CHECK_OK(dk_provider_unregister(&stayer));
}

static void fork_inside(void)
{
	bounded(forks_inside);
}

T_SUITE(regress_threads,
	T(two_drain),
	T(two_unregister),
	T(unregister_from_inside_beside_another),
	T(two_take_a_device_offline),
	T(no_call_is_lost),
	T(new_device_has_its_own_priv),
	T_PEER(15, fork_beside_threads),
	T(fork_with_counters),
	T_PEER(15, fork_beside_a_teller),
	T_PEER(15, fork_beside_the_waiting),
	T_PEER(15, fork_beside_a_reader),
	T_PEER(15, fork_beside_nested_calls),
	T_PEER(15, fork_inside),
	T(cancelled_while_it_waits),
	T(cancelled_while_it_tells));
