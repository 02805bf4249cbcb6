// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the dispatcher without an operating system, with all of its memory in an array. Like the
 * core, the test uses only the compiler's headers and its own. Prints TAP.
 */
#define DK_BARE 1
#include <dispatchkey.h>

#include "hosted.h"
#include "functions.h"

DK_OP(deep, "k::deep", (struct dk_obj *x, int left), (x, left), (x));

#define KERNELS		35
#define ROUNDS		100	/* the table of names has fewer slots */
#define DEPTH		64	/* calls of sleepable operators, one inside the other */

static char memory[256 * 1024] __attribute__((aligned(8)));
static struct dk_op_decl decl[KERNELS];
static struct dk_impl impl[KERNELS];
static char name[KERNELS][16];
static struct dk_provider prov;
static struct dk_diag why;
static unsigned int tests, failures;

static int serve(struct dk_call *c, void *args)
{
	*(int *)args = dk_call_decl(c) - decl;
	return 0;
}

static void test(const char *what, int ok)
{
	printf("%sok %u %s\n", ok ? "" : "not ", ++tests, what);
	failures += !ok;
}

static void make_tables(void)
{
	unsigned int i;

	for (i = 0; i < KERNELS; i++) {
		char *p = name[i];

		*p++ = 'k';
		*p++ = ':';
		*p++ = ':';
		*p++ = 'a' + i / 10;
		*p++ = 'a' + i % 10;
		decl[i] = (struct dk_op_decl){
			.size = sizeof(decl[i]), .call_abi = DK_ABI_VERSION,
			.name = name[i],
		};
		impl[i] = (struct dk_impl){
			.op = &decl[i], .fn = (dk_fn_t)serve, .label = "serve",
			.key = DK_CPU, .size = sizeof(impl[i]),
			.flags = DK_IMPL_F_BOXED | DK_IMPL_F_ATOMIC,
		};
	}
}

static int register_all(void)
{
	unsigned int i;
	int err;

	prov = (struct dk_provider)DK_PROVIDER("kernels");
	err = dk_provider_register(&prov, &why);
	for (i = 0; i < KERNELS && !err; i++)
		err = dk_op_define(&prov, &decl[i], DK_OP_ATOMIC, &why);
	return err ? err : dk_impls_register(&prov, impl, KERNELS, &why);
}

static int call(unsigned int i, unsigned int backend)
{
	struct dk_obj x = dk_obj_on(backend, 0);
	const struct dk_obj *objs[] = { &x };
	struct dk_frame c;
	int err, who = -1;

	err = dk_call_enter(&c, &decl[i], &dk_local_default, objs, 1);
	if (err)
		return err;
	err = c.boxed(&c.call, &who);
	dk_call_leave(&c);
	return err ? err : who == (int)i;
}

static int all_are_served(void)
{
	unsigned int i;

	for (i = 0; i < KERNELS; i++)
		if (call(i, DK_BACKEND_CPU) != 1)
			return 0;
	return 1;
}

/* Registers and unregisters everything. The registry keeps some memory for later. */
static void register_and_unregister(void)
{
	int err = register_all();

	test(err ? "refused" : "served", err ? err == -ENOMEM : all_are_served());
	test("the provider is unregistered", !dk_provider_unregister(&prov));
}

/*
 * Registers and unregisters everything ROUNDS times. Stores the most memory that was in use after a
 * round. Returns 0 if unregistering fails.
 */
static int most_kept(size_t *most)
{
	unsigned int i;

	*most = 0;
	for (i = 0; i < ROUNDS; i++) {
		register_all();
		if (dk_provider_unregister(&prov))
			return 0;
		if (dk_bare_arena_used() > *most)
			*most = dk_bare_arena_used();
	}
	return 1;
}

/*
 * Tests an arena of this size: either all calls are served, or a request is refused and keeps no
 * memory. A registry keeps its table of names, whose size depends on the requests before. So in an
 * arena that is almost large enough, some rounds are served and others are refused.
 */
static void tight(size_t size)
{
	size_t most, later;

	if (dk_bare_arena(memory, size) || !dk_registry_default()) {
		test("no registry fits", 1);
		return;
	}
	register_and_unregister();
	register_and_unregister();
	test("in each round, the provider is unregistered", most_kept(&most) && most_kept(&later));
	test("later rounds keep no more memory", later <= most);
}

static void roomy(void)
{
	size_t registry, all;

	/* refuses: dk_bare_arena EINVAL */
	test("no arena", dk_bare_arena(NULL, 4096) == -EINVAL);
	test("an arena of 15 bytes", dk_bare_arena(memory, 15) == -EINVAL);
	test("an arena that is too large",
	     sizeof(size_t) == 4 || dk_bare_arena(memory, (size_t)1 << 16 << 16) == -EINVAL);
	test("an arena", !dk_bare_arena(memory + 3, sizeof(memory) - 3));
	test("a registry in it", !!dk_registry_default());
	registry = dk_bare_arena_used();
	test("35 kernels", !register_all());
	all = dk_bare_arena_used();
	dk_bare_arena_seal();
	test("all calls are served", all_are_served());
	test("an unserved call fails", call(0, DK_BACKEND_CUDA) == -ENOSYS);
	test("calls allocate nothing", dk_bare_arena_used() == all);
	printf("# %lu bytes: %lu of the registry, %lu of %d kernels\n", (unsigned long)all,
	       (unsigned long)registry, (unsigned long)(all - registry), KERNELS);
	test("registering in a sealed arena is refused",
	     dk_fallback_register(&prov, &impl[0], &why) == -ENOMEM);
	test("the refusal changes nothing", all_are_served() && dk_bare_arena_used() == all);
	test("unregistering needs no memory", !dk_provider_unregister(&prov));
	test("unregistering frees memory", dk_bare_arena_used() < all);
	test("a call after unregistering fails", call(0, DK_BACKEND_CPU) == -ENOENT);
}

static int dive(struct dk_call *c, struct dk_obj *x, int left)
{
	return left > 1 ? deep(x, left - 1) : 0;
}

/* The second call gets the slot of the first one, which is then left again. */
static void leave_twice(struct dk_obj *x)
{
	const struct dk_obj *objs[] = { x };
	struct dk_frame first, second;
	int err;

	err = dk_call_enter(&first, &deep_op, &dk_local_default, objs, 1);
	dk_call_leave(&first);
	err = err ? err : dk_call_enter(&second, &deep_op, &dk_local_default, objs, 1);
	dk_call_leave(&first);
	test("leaving a call twice does not leave another call",
	     !err && dk_provider_unregister(&prov) == -EDEADLK);
	dk_call_leave(&second);
}

/* Tests that a call is refused and not counted if there is no slot left to record it. */
static void nested(void)
{
	static const struct dk_impl dives = DK_IMPL(deep, DK_CPU, dive);
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_stat s = { .size = sizeof(s) };
	int err;

	prov = (struct dk_provider)DK_PROVIDER("nested");
	err = dk_bare_arena(memory, sizeof(memory));
	err = err ? err : dk_provider_register(&prov, &why);
	err = err ? err : dk_op_define(&prov, &deep_op, 0, &why);
	err = err ? err : dk_impls_register(&prov, &dives, 1, &why);
	test("counters are enabled", !(err ? err : dk_stats_enable(NULL, &why)));
	test("calls nest while there are slots", !deep(&x, DEPTH));
	test("a call without a slot is refused", deep(&x, DEPTH + 1) == -ENOMEM);
	test("only calls that ran are counted",
	     !dk_op_stat(deep_op.op, 0, &s) && s.count == 2 * DEPTH);
	leave_twice(&x);
	test("the provider is unregistered",
	     !dk_stats_disable(NULL, &why) && !dk_provider_unregister(&prov));
}

static struct dk_deferred token;

static int submit(struct dk_call *c, struct dk_obj *x, int left)
{
	return dk_call_defer(c, &token);
}

static unsigned int masked;

static unsigned long interrupts_off(void)
{
	return masked++;
}

static void interrupts_restore(unsigned long flags)
{
	masked = flags;
}

static unsigned int polls;

/* Completes the deferred call when it is called for the third time. */
static void poll_hardware(void)
{
	if (++polls == 3)
		dk_call_complete(&token, 0);
}

/* Tests a deferred call that an interrupt would complete, and one that the program completes. */
static void deferred(void)
{
	static const struct dk_impl submits = DK_IMPL(deep, DK_CPU, submit);
	struct dk_inside in = { .size = sizeof(in) };
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	int err;

	dk_bare_interrupts(interrupts_off, interrupts_restore);
	dk_deferred_init(&token);
	prov = (struct dk_provider)DK_PROVIDER("queue");
	err = dk_bare_arena(memory, sizeof(memory));
	err = err ? err : dk_provider_register(&prov, &why);
	err = err ? err : dk_op_define(&prov, &deep_op, 0, &why);
	err = err ? err : dk_impls_register(&prov, &submits, 1, &why);
	test("a call is deferred", !(err ? err : deep(&x, 1)));
	test("it is listed", !dk_provider_inside(&prov, 0, &in) && in.is_deferred);
	test("its provider cannot be unregistered",
	     dk_provider_unregister_timeout(&prov, 0, &why) == -ETIMEDOUT);
	test("a timeout is over at once",
	     dk_provider_unregister_timeout(&prov, 600 * 1000, &why) == -ETIMEDOUT);
	test("it is completed", !dk_call_complete(&token, 0));
	test("it cannot be completed twice", dk_call_complete(&token, 0) == -EINVAL);
	test("its provider is unregistered", !dk_provider_unregister(&prov));
	err = dk_provider_register(&prov, &why);
	err = err ? err : dk_op_define(&prov, &deep_op, 0, &why);
	err = err ? err : dk_impls_register(&prov, &submits, 1, &why);
	test("another call is deferred", !(err ? err : deep(&x, 1)));
	while ((err = dk_provider_unregister_timeout(&prov, 0, &why)) == -ETIMEDOUT)
		poll_hardware();
	test("the program completes it, and its provider is unregistered", !err && polls == 3);
	test("interrupts are restored", !masked);
}

DK_OP(grow, "k::grow", (struct dk_obj *x), (x), (x));

static struct dk_provider grower = DK_PROVIDER("grower");

static int serve_cuda(struct dk_call *c, struct dk_obj *x)
{
	return 7;
}

static int serve_and_register(struct dk_call *c, struct dk_obj *x)
{
	static const struct dk_impl more = DK_IMPL_ATOMIC(grow, DK_CUDA, serve_cuda);
	int err = dk_impls_register(&grower, &more, 1, &why);

	/* in an atomic call, nothing can be unregistered */
	if (dk_provider_unregister(&grower) != -EDEADLK ||
	    dk_stats_disable(NULL, &why) != -EDEADLK ||
	    dk_impls_unregister(&grower, &more, &why) != -EDEADLK)
		return 0;
	return err ? err : dk_call_priv(c) == &masked && !dk_call_device(c);
}

static size_t taken, released;

/* The size is stored before the memory. */
static void *take(size_t size)
{
	size_t *at = (size_t *)(memory + taken);

	size = (size + 7) & ~(size_t)7;
	if (sizeof(memory) - taken < size + 8)
		return 0;
	taken += size + 8;
	*at = size;
	return (char *)at + 8;
}

static void poison(void *p)
{
	size_t size = *(size_t *)((char *)p - 8);
	char *at;

	for (at = p; at < (char *)p + size; at++)
		*at = 0x5a;
	released += size;
}

/* A call of an atomic operator uses one table to its end, whatever its function registers. */
static void changing(void)
{
	static const struct dk_impl impls = DK_IMPL_ATOMIC(grow, DK_CPU, serve_and_register);
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0), y = dk_obj_on(DK_BACKEND_CUDA, 0);
	size_t before;
	int err;

	grower.priv = &masked;
	dk_bare_memory(take, poison);
	err = dk_provider_register(&grower, &why);
	err = err ? err : dk_op_define(&grower, &grow_op, DK_OP_ATOMIC, &why);
	err = err ? err : dk_impls_register(&grower, &impls, 1, &why);
	/* after the first call, calls take the fast path */
	test("there is one function", !err && grow(&y) == -ENOSYS);
	before = released;
	test("the function registers another one", grow(&x) == 1);
	test("the memory of the call is not freed", released == before);
	test("the other one is called", grow(&y) == 7);
	test("the provider is unregistered", !dk_provider_unregister(&grower));
	test("the memory is freed", released > before);
}

static int on_the_card(struct dk_call *c, struct dk_obj *x, int left)
{
	return 5;
}

/* Tests a function of a device. The operator may sleep, so its calls enter the gate. */
static void owned(void)
{
	static const struct dk_impl card = DK_IMPL(deep, DK_DENSE, on_the_card);
	struct dk_stat s = { .size = sizeof(s) };
	unsigned int backend = 0;
	struct dk_obj x;
	__u32 number = 0;
	int err;

	prov = (struct dk_provider)DK_PROVIDER("owned");
	err = dk_bare_arena(memory, sizeof(memory));
	err = err ? err : dk_provider_register(&prov, &why);
	err = err ? err : dk_op_define(&prov, &deep_op, 0, &why);
	err = err ? err : dk_backend_join(&prov, "owned", 0, 0, &backend, &why);
	err = err ? err : dk_device_register(&prov, backend, "card", NULL, &card, 1, &number, &why);
	x = dk_obj_on(backend, number);
	/* after the first call, calls take the fast path */
	test("the function of a device is called",
	     !err && deep(&x, 1) == 5 && deep(&x, 1) == 5);
	test("counters are enabled", !dk_stats_enable(NULL, &why));
	test("its calls are counted",
	     deep(&x, 1) == 5 && !dk_op_stat(deep_op.op, 0, &s) && s.count == 1);
	test("the provider is unregistered",
	     !dk_stats_disable(NULL, &why) && !dk_provider_unregister(&prov));
}

static void small(void)
{
	test("an arena of 12 KiB", !dk_bare_arena(memory, 12 * 1024));
	test("35 functions on 10 operators", !few_register());
	printf("# %lu bytes for 35 functions on 10 operators\n",
	       (unsigned long)dk_bare_arena_used());
	test("they are unregistered", !few_unregister() && !dk_bare_arena_used());
}

/*
 * arena [SIZE | nested | deferred | changing | owned | small] - without an argument, the arena is
 * large enough
 */
int main(int argc, char **argv)
{
	make_tables();
	if (argc > 1 && argv[1][0] == 'n')
		nested();
	else if (argc > 1 && argv[1][0] == 'd')
		deferred();
	else if (argc > 1 && argv[1][0] == 'c')
		changing();
	else if (argc > 1 && argv[1][0] == 'o')
		owned();
	else if (argc > 1 && argv[1][0] == 's')
		small();
	else if (argc > 1)
		tight(atoi(argv[1]));
	else
		roomy();
	printf("1..%u\n", tests);
	return failures != 0;
}
