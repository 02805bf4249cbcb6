// SPDX-License-Identifier: GPL-2.0-only
/* Implements the test harness, and helpers that many tests use. */
#include "alloc.h"
#include "test.h"

#if T_KERNEL
unsigned int t_most = 2;	/* without KVM, more would take too long */
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
unsigned int t_most = 3;
#else
unsigned int t_most = 5;
#endif

static bool failed;
static const char *skipped;

#define PROVIDERS	32
#define OPS		8

/* The operators, providers and functions that t_close() puts, unregisters and calls. */
static struct {
	struct dk_provider *provs[PROVIDERS];
	struct dk_op *ops[OPS];
	unsigned int num_provs, num_ops;
	void (*teardown)(void);
} env;

static bool keeps;	/* nothing is freed after this test */
static bool grows;	/* this test defines operators that the default registry keeps */

static void reset_env(void)
{
	memset(&env, 0, sizeof(env));
	t_reg = NULL;
}

/* ---- output --------------------------------------------------------------- */

static void __attribute__((format(printf, 1, 2))) print(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	t_vprint(fmt, args);
	va_end(args);
}

void t_note(const char *fmt, ...)
{
	va_list args;

	print("# ");
	va_start(args, fmt);
	t_vprint(fmt, args);
	va_end(args);
	print("\n");
}

void t_skip(const char *reason)
{
	skipped = reason;
}

static const char *basename_of(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

bool t_check(bool held, const char *file, int line, const char *what)
{
	if (!held) {
		failed = true;
		print("# %s:%d: %s does not hold\n", basename_of(file), line, what);
	}
	return held;
}

bool t_check_int(s64 a, s64 b, const char *file, int line, const char *what)
{
	if (a != b) {
		failed = true;
		print("# %s:%d: %s is %lld and not %lld\n", basename_of(file), line,
		      what, (long long)a, (long long)b);
	}
	return a == b;
}

bool t_check_str(const char *a, const char *b, const char *file, int line,
		 const char *what)
{
	bool held = a && b ? !strcmp(a, b) : a == b;

	if (!held) {
		failed = true;
		print("# %s:%d: %s is \"%s\" and not \"%s\"\n", basename_of(file),
		      line, what, a ? a : "(null)", b ? b : "(null)");
	}
	return held;
}

/* ---- running tests -------------------------------------------------------- */

/* Runs a test. Returns how many more allocations the core has after it than before. */
static long run_once(const struct t_suite *suite, const struct t_case *c)
{
	long allocs = dk_test_allocs();

	keeps = false;
	if (suite->setup)
		suite->setup();
	c->run();
	if (!keeps)
		t_close();
	reset_env();
	return keeps ? 0 : dk_test_allocs() - allocs;
}

/*
 * Returns the number of private backends of the default registry that have a name. A name stays
 * bound after its provider is unregistered, and all modules or plugins share three backends.
 */
static unsigned int names_bound(void)
{
	char name[DK_NAME_MAX];
	unsigned int b, n = 0;

	for (b = DK_BACKEND_PRIVATEUSE1; b <= DK_BACKEND_PRIVATEUSE3; b++) {
		dk_backend_name(NULL, b, name);
		n += name[0] && strncmp(name, "PrivateUse", 10);
	}
	return n;
}

static bool run(const struct t_suite *suite, const struct t_case *c, unsigned int n)
{
	/* read after the first test, which can need a process without a default registry */
	static int bound = -1;
	const char *reason;
	int before;

	failed = false;
	skipped = NULL;
	/* operators that the default registry keeps are allocated in the first run only */
	grows = false;
	if (run_once(suite, c) > 0 && !failed && !grows) {
		reason = skipped;
		CHECK_INT(run_once(suite, c), 0);
		skipped = reason;
	}
	before = bound;
	bound = names_bound();
	if (before >= 0)
		CHECK_INT(bound, before);
	print("%sok %u ", failed ? "not " : "", n);
	if (c->peer)
		print("peer bug %02u: ", c->peer);
	print("%s.%s%s%s\n", suite->name, c->name,
	      skipped && !failed ? " # SKIP " : "",
	      skipped && !failed ? skipped : "");
	return !failed;
}

static const struct t_suite *find_suite(const struct t_suite *const *all, unsigned int n,
					const char *name, size_t len)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (strlen(all[i]->name) == len && !strncmp(all[i]->name, name, len))
			return all[i];
	return NULL;
}

unsigned int t_choose(const struct t_suite *const *all, unsigned int n, const char *names,
		      const struct t_suite **chosen, unsigned int num)
{
	const struct t_suite *suite;
	size_t len;

	for (;;) {
		names += strspn(names, " ,");
		len = strcspn(names, " ,");
		if (!len)
			return num;
		suite = find_suite(all, n, names, len);
		if (!suite || num == n)
			return 0;
		chosen[num++] = suite;
		names += len;
	}
}

unsigned int t_run(const struct t_suite *const *suites, unsigned int n)
{
	unsigned int i, c, all = 0, at = 0, bad = 0;

	for (i = 0; i < n; i++)
		all += suites[i]->n;
	print("KTAP version 1\n1..%u\n", all);
	for (i = 0; i < n; i++)
		for (c = 0; c < suites[i]->n; c++) {
			bad += !run(suites[i], &suites[i]->cases[c], ++at);
			t_pause();
		}
	print("# %u passed, %u failed\n", all - bad, bad);
	return bad;
}

/* ---- functions ------------------------------------------------------------ */

#define FUNCTION(n)							\
static int f##n(struct dk_call *c, struct dk_obj *x, struct dk_obj *y, int *served_by) \
{									\
	*served_by = n;							\
	return 0;							\
}

FUNCTION(0)
FUNCTION(1)
FUNCTION(2)
FUNCTION(3)
FUNCTION(4)
FUNCTION(5)
FUNCTION(6)
FUNCTION(7)
FUNCTION(8)
FUNCTION(9)
FUNCTION(10)
FUNCTION(11)
FUNCTION(12)
FUNCTION(13)
FUNCTION(14)
FUNCTION(15)
FUNCTION(16)
FUNCTION(17)
FUNCTION(18)
FUNCTION(19)
FUNCTION(20)
FUNCTION(21)
FUNCTION(22)
FUNCTION(23)
FUNCTION(24)
FUNCTION(25)
FUNCTION(26)
FUNCTION(27)
FUNCTION(28)
FUNCTION(29)
FUNCTION(30)
FUNCTION(31)

const t_function t_functions[T_FUNCTIONS] = {
	f0, f1, f2, f3, f4, f5, f6, f7,
	f8, f9, f10, f11, f12, f13, f14, f15,
	f16, f17, f18, f19, f20, f21, f22, f23,
	f24, f25, f26, f27, f28, f29, f30, f31,
};

const char *const t_labels[T_FUNCTIONS] = {
	"f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7",
	"f8", "f9", "f10", "f11", "f12", "f13", "f14", "f15",
	"f16", "f17", "f18", "f19", "f20", "f21", "f22", "f23",
	"f24", "f25", "f26", "f27", "f28", "f29", "f30", "f31",
};

struct dk_op_decl t_decl(const char *name)
{
	struct dk_op_decl decl = t_op_op;

	decl.name = name;
	decl.op = NULL;
	/* a schema that a test sets can have other arguments than t_op */
	decl.param = NULL;
	decl.num_params = 0;
	return decl;
}

struct dk_library t_library(struct dk_provider *prov, unsigned int kind, const char *ns,
			    unsigned int key)
{
	struct dk_library lib = {
		.size = sizeof(lib), .kind = kind, .ns = ns, .key = key,
		.debug = "registered at here", .prov = prov,
	};

	return lib;
}

struct dk_impl t_impl(const struct dk_op_decl *decl, unsigned int key,
		      unsigned int n)
{
	struct dk_impl impl = {
		.op = decl,
		.fn = (dk_fn_t)t_functions[n],
		.label = t_labels[n],
		.key = key,
		.size = sizeof(impl),
	};

	if (dk_key_kind(NULL, key) == DK_KIND_BUILDING_BLOCK)
		impl.flags = DK_IMPL_F_BLOCK;
	return impl;
}

struct dk_impl t_fallthrough(const struct dk_op_decl *decl, unsigned int key)
{
	struct dk_impl impl = DK_FALLTHROUGH(key);

	impl.op = decl;
	if (dk_key_kind(NULL, key) == DK_KIND_BUILDING_BLOCK)
		impl.flags |= DK_IMPL_F_BLOCK;
	return impl;
}

/* ---- registries ----------------------------------------------------------- */

struct dk_diag t_why;
struct dk_route t_answer;
struct dk_registry *t_reg;

static void remove_provider(const struct dk_provider *prov)
{
	unsigned int i, n = 0;

	for (i = 0; i < env.num_provs; i++)
		if (env.provs[i] != prov)
			env.provs[n++] = env.provs[i];
	env.num_provs = n;
}

const unsigned int t_modes[T_MODES] = {
	DK_REGISTRY_BUILTINS, DK_REGISTRY_BUILTINS | DK_REGISTRY_FORCE_RESOLVE,
};

void t_open(const char *layout, unsigned int flags)
{
	const struct dk_layout *l = dk_layout_find(layout, &t_why);

	CHECK(l);
	t_reg = dk_registry_alloc(l, flags, &t_why);
	CHECK(t_reg);
}

/* Returns the newest provider of the open registry, or of any registry if none is open. */
static struct dk_provider *newest_provider(void)
{
	unsigned int i;

	for (i = env.num_provs; i--; )
		if (!t_reg || env.provs[i]->registry == t_reg)
			return env.provs[i];
	return NULL;
}

void t_close(void)
{
	bool used = env.num_provs;
	struct dk_provider *prov;

	if (env.teardown) {
		void (*teardown)(void) = env.teardown;

		env.teardown = NULL;
		teardown();
	}
	while (env.num_ops)
		dk_op_put(env.ops[--env.num_ops]);
	while ((prov = newest_provider())) {
		if (prov->core)
			t_unregister(prov);
		else
			remove_provider(prov);
	}
	if (t_reg || used)
		CHECK_OK(dk_registry_check(t_reg, &t_why));
	if (t_reg)
		CHECK_OK(dk_registry_free(t_reg, &t_why));
	t_reg = NULL;
}

void t_at_close(void (*teardown)(void))
{
	env.teardown = teardown;
}

void t_keep(void)
{
	keeps = true;
}

void t_grow(void)
{
	grows = true;
}

static unsigned int num_allocs;

static void count_alloc(void)
{
	num_allocs++;
}

int t_count_allocs(int (*act)(void), unsigned int *num)
{
	int err;

	num_allocs = 0;
	dk_test_at_alloc(count_alloc);
	err = act();
	dk_test_at_alloc(NULL);
	*num = num_allocs;
	return err;
}

void t_register(struct dk_provider *prov)
{
	remove_provider(prov);
	if (CHECK_OK(dk_provider_register(prov, &t_why)) && CHECK(env.num_provs < PROVIDERS))
		env.provs[env.num_provs++] = prov;
}

struct dk_op *t_get(const char *name)
{
	struct dk_op *op = dk_op_get(t_reg, name);

	if (CHECK(op) && CHECK(env.num_ops < OPS))
		env.ops[env.num_ops++] = op;
	return op;
}

void t_put(struct dk_op *op)
{
	unsigned int i;

	for (i = 0; i < env.num_ops && env.ops[i] != op; i++)
		;
	if (CHECK(i < env.num_ops))
		env.ops[i] = env.ops[--env.num_ops];
	dk_op_put(op);
}

void t_join(struct dk_provider *prov, const char *name)
{
	struct dk_provider filled = DK_PROVIDER(name);

	filled.registry = t_reg;
	filled.layout = dk_layout_name(dk_registry_layout(t_reg));
	*prov = filled;
	t_register(prov);
}

void t_unregister(struct dk_provider *prov)
{
	remove_provider(prov);
	CHECK_OK(dk_provider_unregister(prov));
	CHECK(!prov->core);
}

/* ---- entries, routes and calls -------------------------------------------- */

static struct dk_entry entry;

static const char *label_of(const struct dk_entry *e)
{
	if (e->provenance == DK_PROV_AMBIGUOUS)
		return "ambiguous";
	if (e->provenance == DK_PROV_MISSING || e->provenance == DK_PROV_NO_ENTRY)
		return "missing";
	return e->label;
}

static bool read_entry(struct dk_op *op, u32 device, unsigned int key)
{
	const struct dk_layout *l = dk_registry_layout(t_reg);

	memset(&entry, 0, sizeof(entry));
	entry.size = sizeof(entry);
	return CHECK_OK(dk_op_entry(op, device, dk_key_slot(l, key), &entry));
}

const char *t_serves(struct dk_op *op, u32 device, unsigned int key)
{
	return read_entry(op, device, key) ? label_of(&entry) : "error";
}

unsigned int t_rule(struct dk_op *op, u32 device, unsigned int key)
{
	return read_entry(op, device, key) ? entry.provenance : ~0u;
}

unsigned int t_rule_served(void)
{
	return entry.provenance;
}

int t_route(struct dk_op *op, const struct dk_obj *x, const struct dk_obj *y)
{
	const struct dk_obj *const objs[] = { x, y };

	memset(&t_answer, 0, sizeof(t_answer));
	t_answer.size = sizeof(t_answer);
	return dk_op_route(op, DK_KEYSET(0), DK_KEYSET(0), objs, 2, &t_answer);
}

const char *t_route_label(struct dk_op *op, const struct dk_obj *x,
			  const struct dk_obj *y)
{
	switch (t_route(op, x, y)) {
	case 0:
		return t_answer.entry.label;
	case -ENOSYS:
		return "-ENOSYS";
	case -ENOTUNIQ:
		return "-ENOTUNIQ";
	case -ENODEV:
		return "-ENODEV";
	case -EXDEV:
		return "-EXDEV";
	case -ENOENT:
		return "-ENOENT";
	default:
		return "another error";
	}
}

struct dk_local t_no_local(void)
{
	struct dk_local local;

	dk_local_set(&local, DK_KEYSET(0), DK_KEYSET(0));
	return local;
}

unsigned int t_num_inside(struct dk_provider *prov)
{
	struct dk_inside in = { .size = sizeof(in) };
	unsigned int n = 0;

	while (!dk_provider_inside(prov, n, &in))
		n++;
	return n;
}

void t_first_call(void)
{
#if !T_KERNEL
	CHECK_OK(dk_thread_init());
#endif
}

int t_call(struct dk_op *op, struct dk_obj *x, struct dk_obj *y)
{
	struct dk_local local = t_no_local();
	int served_by = -1, err = t_op_at(op, &local, x, y, &served_by);

	return err ? err : served_by;
}

struct dk_obj t_obj(u64 bits)
{
	struct dk_obj obj = { { bits }, 0, 0 };

	return obj;
}

/* xorshift64 */
u64 t_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* ---- the rules ------------------------------------------------------------ */

static const struct t_given *newest(const struct t_given *regs, unsigned int n,
				    unsigned int key)
{
	while (n--)
		if (regs[n].key == key)
			return &regs[n];
	return NULL;
}

/* The keys that the rules name, in the layout of the last query. */
static struct {
	const struct dk_layout *l;
	unsigned int implicit, explicit, nonfunctional, nested, autograd, batched;
	unsigned int autogradother;
	struct dk_keyset other;
} named;

static unsigned int key_of(const struct dk_layout *l, const char *name)
{
	unsigned int key;

	return dk_key_parse(l, name, 0, &key, NULL) ? 0 : key;
}

static void find_named(const struct dk_layout *l)
{
	if (named.l == l)
		return;
	named.l = l;
	named.implicit = key_of(l, "CompositeImplicitAutograd");
	named.explicit = key_of(l, "CompositeExplicitAutograd");
	named.nonfunctional = key_of(l, "CompositeExplicitAutogradNonFunctional");
	named.nested = key_of(l, "CompositeImplicitAutogradNestedTensor");
	named.autograd = key_of(l, "Autograd");
	named.batched = key_of(l, "FuncTorchBatchedDecomposition");
	named.autogradother = key_of(l, "AutogradOther");
	CHECK_OK(dk_constant_set(l, "autogradother_backends", &named.other, NULL));
}

/* Returns whether a key in the set, other than an alias, has a function. */
static bool any_in(const struct dk_layout *l, const struct t_given *regs,
		   unsigned int n, struct dk_keyset set)
{
	while (n--) {
		struct dk_keyset q = dk_key_set(l, regs[n].key);

		if (q.bits && dk_keyset_has_all(set, q))
			return true;
	}
	return false;
}

static const struct t_given *by_alias(const struct dk_layout *l,
				      const struct t_given *regs, unsigned int n,
				      unsigned int key, unsigned int alias)
{
	return alias && key && dk_alias_has(l, alias, key) ?
	       newest(regs, n, alias) : NULL;
}

static const struct t_given *by_rule(const struct dk_layout *l,
				     const struct t_given *regs, unsigned int n,
				     unsigned int key, unsigned int *rule)
{
	const struct t_given *r;

	*rule = DK_PROV_KERNEL;				/* rule 1 of SEMANTICS 7.2 */
	r = key ? newest(regs, n, key) : NULL;
	if (r)
		return r;
	*rule = DK_PROV_DEFAULT_BACKEND;		/* 2, 3 */
	if (!key || dk_alias_has(l, named.nonfunctional, key))
		r = newest(regs, n, named.nonfunctional);
	if (!r && (!key || dk_alias_has(l, named.explicit, key)))
		r = newest(regs, n, named.explicit);
	if (r)
		return r;
	*rule = DK_PROV_NESTED;				/* 5 */
	r = by_alias(l, regs, n, key, named.nested);
	if (r)
		return r;
	r = newest(regs, n, named.implicit);		/* 4, 6 */
	if (r && (!key || dk_alias_has(l, named.implicit, key))) {
		*rule = DK_PROV_AMBIGUOUS;
		if (key && key == named.autogradother &&
		    any_in(l, regs, n, named.other))
			return NULL;
		*rule = DK_PROV_MATH;
		if (!newest(regs, n, named.explicit) &&
		    !any_in(l, regs, n, dk_backends_of_autograd(l, key)))
			return r;
	}
	*rule = DK_PROV_AUTOGRAD;			/* 7 */
	r = by_alias(l, regs, n, key, named.autograd);
	if (r)
		return r;
	*rule = DK_PROV_BATCHED;			/* 8 */
	r = by_alias(l, regs, n, key, named.batched);
	if (r)
		return r;
	*rule = DK_PROV_MISSING;			/* 11 */
	return NULL;
}

struct t_choice t_model(const struct dk_layout *l, const struct t_given *regs,
			unsigned int n, unsigned int key)
{
	struct t_choice choice = { "missing", DK_PROV_MISSING, false };
	const struct t_given *r;

	find_named(l);
	r = by_rule(l, regs, n, key, &choice.rule);
	if (choice.rule == DK_PROV_AMBIGUOUS)
		choice.label = "ambiguous";
	if (r) {
		choice.label = r->label;
		choice.is_fallthrough = r->is_fallthrough;
	}
	return choice;
}
