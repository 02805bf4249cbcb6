// SPDX-License-Identifier: GPL-2.0-only
/* The tests' harness, and what many tests need. */
#include "test.h"

#if T_KERNEL
unsigned int t_most = 2;	/* an emulated machine is slow */
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
unsigned int t_most = 3;
#else
unsigned int t_most = 5;
#endif

static bool failed;
static const char *skipped;

/* ---- telling -------------------------------------------------------------- */

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

/* ---- running -------------------------------------------------------------- */

static bool run(const struct t_suite *suite, const struct t_case *c, unsigned int n)
{
	failed = false;
	skipped = NULL;
	c->run();
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
static int f##n(struct dk_call *c, struct dk_obj *x, struct dk_obj *y, int *who) \
{									\
	*who = n;							\
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
	/* a schema that it may get is about other arguments */
	decl.param = NULL;
	decl.num_params = 0;
	return decl;
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

void t_open(const char *layout, unsigned int flags)
{
	const struct dk_layout *l = dk_layout_find(layout, &t_why);

	CHECK(l);
	t_reg = dk_registry_alloc(l, flags, &t_why);
	CHECK(t_reg);
}

void t_close(void)
{
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	CHECK_OK(dk_registry_free(t_reg, &t_why));
	t_reg = NULL;
}

void t_join(struct dk_provider *prov, const char *name)
{
	struct dk_provider filled = DK_PROVIDER(name);

	filled.registry = t_reg;
	filled.layout = dk_layout_name(dk_registry_layout(t_reg));
	*prov = filled;
	CHECK_OK(dk_provider_register(prov, &t_why));
}

void t_leave(struct dk_provider *prov)
{
	CHECK_OK(dk_provider_unregister(prov));
	CHECK(!prov->core);
}

/* ---- seeing --------------------------------------------------------------- */

static struct dk_entry entry;

static const char *tell(const struct dk_entry *e)
{
	if (e->provenance == DK_PROV_AMBIGUOUS)
		return "ambiguous";
	if (e->provenance == DK_PROV_MISSING || e->provenance == DK_PROV_NO_ENTRY)
		return "missing";
	return e->label;
}

static bool look(struct dk_op *op, u32 device, unsigned int key)
{
	const struct dk_layout *l = dk_registry_layout(t_reg);

	memset(&entry, 0, sizeof(entry));
	entry.size = sizeof(entry);
	return CHECK_OK(dk_op_entry(op, device, dk_key_slot(l, key), &entry));
}

const char *t_serves(struct dk_op *op, u32 device, unsigned int key)
{
	return look(op, device, key) ? tell(&entry) : "error";
}

unsigned int t_rule(struct dk_op *op, u32 device, unsigned int key)
{
	return look(op, device, key) ? entry.provenance : ~0u;
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

const char *t_goes(struct dk_op *op, const struct dk_obj *x,
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

void t_first_call(void)
{
#if !T_KERNEL
	CHECK_OK(dk_thread_init());
#endif
}

int t_call(struct dk_op *op, struct dk_obj *x, struct dk_obj *y)
{
	struct dk_local local = t_no_local();
	int who = -1, err = t_op_at(op, &local, x, y, &who);

	return err ? err : who;
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

/* ---- orders ---------------------------------------------------------------- */

unsigned int t_factorial(unsigned int n)
{
	return n < 2 ? 1 : n == 2 ? 2 : n == 3 ? 6 : n == 4 ? 24 : 120;
}

void t_permute(unsigned int which, unsigned int n, unsigned int *order)
{
	unsigned int i, j, left[T_ORDERED];

	for (i = 0; i < n; i++)
		left[i] = i;
	for (i = 0; i < n; i++) {
		unsigned int f = t_factorial(n - 1 - i), at = which / f;

		which %= f;
		order[i] = left[at];
		for (j = at; j + 1 < n - i; j++)
			left[j] = left[j + 1];
	}
}

/* ---- what the rules say --------------------------------------------------- */

static const struct t_given *newest(const struct t_given *regs, unsigned int n,
				    unsigned int key)
{
	while (n--)
		if (regs[n].key == key)
			return &regs[n];
	return NULL;
}

/* The keys that the rules name, of the layout that was asked for last. */
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

/* Some key with a function, that is no alias, lies in the set. */
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

	*rule = DK_PROV_KERNEL;				/* 1 */
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
