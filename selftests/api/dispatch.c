// SPDX-License-Identifier: GPL-2.0-only
/*
 * PyTorch's test_dispatch.py (SEMANTICS 11.2) with this API: what registrations
 * make of a table. The statements are those of N; functions of the operator
 * are told by the place of their registration in the test.
 *
 * commute() does what the harness there does, and goes further. It tries the
 * orders of registration and removal, and after every step compares all that
 * can be seen with what was seen when the same registrations were there first:
 * the published table, and not one that is computed anew.
 */
#include "test.h"

#define MOST		5	/* registrations of a test */
#define ENTRIES		DK_NUM_ENTRIES

/* One registration, which may define the operator too. */
struct step {
	bool defines;
	bool has_function;
	u16 key;
};

#define DEF		{ true, false, 0 }
#define DEF_AT(key)	{ true, true, key }
#define AT(key)		{ false, true, key }
#define CATCH_ALL	DK_UNDEFINED

struct want {
	u16 key;
	const char *label;	/* "f2": of step 2 */
	unsigned int rule;
};

#define NOBODY		"missing", DK_PROV_MISSING
#define FALLBACK	"fallthrough", DK_PROV_FALLBACK
#define AMBIGUOUS	"ambiguous", DK_PROV_AMBIGUOUS
#define KERNEL(n)	"f" #n, DK_PROV_KERNEL
#define MATH(n)		"f" #n, DK_PROV_MATH
#define DEFAULT(n)	"f" #n, DK_PROV_DEFAULT_BACKEND
#define AUTOGRAD(n)	"f" #n, DK_PROV_AUTOGRAD

/* All that can be seen of an operator. */
struct state {
	struct {
		u8 function;	/* its number; or one of these */
		u8 rule;
	} entry[ENTRIES];
	struct {
		u16 key;
		u8 function;
		u8 is_active;
	} list[MOST];
	u32 listed;
	int answer;		/* to a call for CPU */
};

#define NO_FUNCTION	0xff
#define FALLTHROUGH	0xfe

static struct dk_provider provider, other;
static struct dk_op_decl decl;
static const char *inferred;	/* from each function, or NULL */
static struct dk_op *op;
/* Withdrawn ones stay until all of them are used up. */
static struct dk_impl pool[1024], *impl_of[MOST];
static unsigned int pool_at;
static struct state seen[1 << MOST];
static bool was_seen[1 << MOST];

static void begin(void)
{
	t_open("v1", DK_REGISTRY_STOCKED);
	t_join(&provider, "dispatch");
	t_join(&other, "other");
	decl = t_decl("dispatch::op");
	inferred = NULL;
	pool_at = 0;
	/* there without a definition, too */
	op = NULL;
	memset(was_seen, 0, sizeof(was_seen));
}

static void end(void)
{
	dk_op_put(op);
	t_leave(&provider);
	t_leave(&other);
	t_close();
}

static u8 number_of(const char *label)
{
	return label[0] != 'f' ? NO_FUNCTION :
	       label[1] == 'a' ? FALLTHROUGH : label[1] - '0';
}

static void look(struct state *s)
{
	const struct dk_layout *l = dk_registry_layout(t_reg);
	struct dk_impl_info info = { .size = sizeof(info) };
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));
	unsigned int i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < ENTRIES; i++) {
		s->entry[i].function = number_of(t_serves(op, 0, dk_slot_key(l, i)));
		s->entry[i].rule = t_rule_served();
	}
	for (i = 0; !dk_op_impl(op, i, &info) && CHECK(i < MOST); i++) {
		s->list[i].key = info.key;
		s->list[i].function = number_of(info.label);
		s->list[i].is_active = info.is_active;
	}
	s->listed = i;
	s->answer = t_call(op, &cpu, NULL);
	CHECK_OK(dk_registry_check(t_reg, &t_why));
}

/* ---- orders ---------------------------------------------------------------- */

static bool put_in(const struct step *s, unsigned int i)
{
	if (s->defines && !CHECK_OK(dk_op_define(&provider, &decl, 0, &t_why)))
		return false;
	if (s->has_function) {
		impl_of[i] = &pool[pool_at++ % ARRAY_SIZE(pool)];
		*impl_of[i] = t_impl(&decl, s->key, i);
		impl_of[i]->schema = inferred;
		if (!CHECK_OK(dk_impls_register(&provider, impl_of[i], 1, &t_why)))
			return false;
	}
	if (!op)
		op = dk_op_get(t_reg, decl.name);
	return CHECK(op);
}

static bool take_out(const struct step *s, unsigned int i)
{
	return (!s->has_function ||
		CHECK_OK(dk_impls_withdraw(&provider, impl_of[i], &t_why))) &&
	       (!s->defines ||
		CHECK_OK(dk_op_undefine(&provider, decl.name, &t_why)));
}

/* As it was when the same steps of @set were active first? */
static bool as_before(unsigned int set)
{
	static struct state now;

	if (!was_seen[set]) {
		look(&seen[set]);
		was_seen[set] = true;
		return true;
	}
	look(&now);
	return CHECK(!memcmp(&now, &seen[set], sizeof(now)));
}

static bool one_order(const struct step *steps, unsigned int n, unsigned int come,
		      unsigned int go)
{
	unsigned int i, set = 0, order[MOST];
	bool ok = true;

	t_permute(come, n, order);
	for (i = 0; ok && i < n; i++) {
		set |= 1U << order[i];
		ok = put_in(&steps[order[i]], order[i]) && as_before(set);
	}
	t_permute(go, n, order);
	for (i = 0; ok && i < n; i++) {
		set &= ~(1U << order[i]);
		ok = take_out(&steps[order[i]], order[i]) && as_before(set);
	}
	if (pool_at >= ARRAY_SIZE(pool) - MOST) {
		CHECK_OK(dk_provider_drain(&provider));
		pool_at = 0;
	}
	t_pause();
	if (!ok)
		t_note("order of registration %u, of removal %u, steps 0x%x", come, go,
		       set);
	return ok;
}

static void check_wants(const struct want *want, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!CHECK_STR(t_serves(op, 0, want[i].key), want[i].label) ||
		    !CHECK_INT(t_rule_served(), want[i].rule))
			t_note("key %u", want[i].key);
}

/* All steps, in their order: what serves. They stay. */
static void all_there(const struct step *steps, unsigned int n,
		      const struct want *want, unsigned int num_want)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		put_in(&steps[i], i);
	check_wants(want, num_want);
}

/*
 * Each order of registration with each of removal; of five, with some. On an
 * emulated machine some of each have to do.
 */
static void commute(const struct step *steps, unsigned int n,
		    const struct want *want, unsigned int num_want)
{
	const unsigned int all = t_factorial(n);
	unsigned int few = T_KERNEL ? 3 : 12, come, k, i;

	if (n < t_most || all < few)
		few = all;
	for (come = 0; come < all; come += T_KERNEL && n > 4 ? 7 : 1)
		for (k = 0; k < few; k++)
			if (!one_order(steps, n, come,
				       few == all ? k : (come + k * (all / 2 - 1)) % all))
				return;
	all_there(steps, n, want, num_want);
	for (i = 0; i < n; i++)
		take_out(&steps[i], i);
}

#define COMMUTE(S, W)	commute(S, ARRAY_SIZE(S), W, ARRAY_SIZE(W))
#define ALL_THERE(S, W)	all_there(S, ARRAY_SIZE(S), W, ARRAY_SIZE(W))

/* The registrations are at these keys, in this order, and all are active. */
static void check_listed(const u16 *keys, unsigned int n)
{
	struct dk_impl_info info = { .size = sizeof(info) };
	unsigned int i;

	for (i = 0; i < n; i++)
		if (CHECK_OK(dk_op_impl(op, i, &info))) {
			CHECK_INT(info.key, keys[i]);
			CHECK(info.is_active);
		}
	CHECK_INT(dk_op_impl(op, n, &info), -ENOENT);
}

#define CHECK_LISTED(...)						\
	check_listed((const u16[]){ __VA_ARGS__ },			\
		     ARRAY_SIZE(((const u16[]){ __VA_ARGS__ })))

/* dumpState, from its second line on. */
static void check_dump(const char *text)
{
	static const char head[] = "name: dispatch::op\n";
	static char dump[1024];

	dk_op_dump(op, dump, sizeof(dump));
	CHECK(!strncmp(dump, head, strlen(head)));
	CHECK_STR(dump + strlen(head), text);
}

#define SCHEMA		"dispatch::op(Tensor x, Tensor y) -> int"
#define INFERRED	"(Tensor _0, Tensor _1) -> int _0"

/* A definition with a schema, of functions with theirs. */
static void begin_with_schema(void)
{
	begin();
	decl.schema = SCHEMA;
	decl.debug = DK_HERE;
	decl.alias_analysis = DK_ALIAS_FROM_SCHEMA;
	inferred = INFERRED;
}

/* A refusal leaves everything as it was: call it before and after. */
static struct state before;

static void note_state(void)
{
	look(&before);
}

static void check_unchanged(void)
{
	static struct state after;

	look(&after);
	CHECK(!memcmp(&before, &after, sizeof(before)));
}

/* ---- TestDispatch ---------------------------------------------------------- */

/* states: 11.2.2 */
static void def(void)
{
	static const struct step steps[] = {
		DEF, AT(CATCH_ALL), AT(DK_CPU), AT(DK_AUTOGRAD), AT(DK_AUTOGRAD_CPU),
	};
	static const struct want want[] = {
		{ DK_CPU, KERNEL(2) }, { DK_AUTOGRAD_CPU, KERNEL(4) },
		{ DK_CUDA, MATH(1) },
	};
	static char want_dump[1024];

	begin_with_schema();
	COMMUTE(steps, want);
	ALL_THERE(steps, want);
	CHECK_LISTED(DK_CPU, DK_AUTOGRAD_CPU, DK_AUTOGRAD,
		     DK_COMPOSITE_IMPLICIT_AUTOGRAD);
	snprintf(want_dump, sizeof(want_dump),
		 "schema: " SCHEMA "\ndebug: %s\nalias analysis kind: FROM_SCHEMA\n"
		 "CPU: f2 :: " INFERRED " [ boxed unboxed ]\n"
		 "AutogradCPU: f4 :: " INFERRED " [ boxed unboxed ]\n"
		 "Autograd[alias]: f3 :: " INFERRED " [ boxed unboxed ]\n"
		 "CompositeImplicitAutograd[alias]: f1 :: " INFERRED " [ boxed unboxed ]\n",
		 decl.debug);
	check_dump(want_dump);
	end();
}

/* states: 11.2.3 */
static void def_impl_schema_mismatch(void)
{
	static const char facts[] =
		"dispatch::op: 2 vs 1: (Tensor x, Tensor y) -> int, registered at here, "
		"vs (Tensor _0) -> int _0, f1";
	static struct dk_impl one;

	begin_with_schema();
	decl.debug = "registered at here";
	one = t_impl(&decl, DK_CPU, 1);
	one.schema = "(Tensor _0) -> int _0";
	CHECK_OK(dk_op_define(&provider, &decl, 0, &t_why));
	op = dk_op_get(t_reg, decl.name);
	if (T_KERNEL) {
		/* schemas are text there, and not compared */
		CHECK_OK(dk_impls_register(&other, &one, 1, &t_why));
		CHECK_STR(t_serves(op, 0, DK_CPU), "f1");
		end();
		return;
	}
	note_state();
	CHECK_INT(dk_impls_register(&other, &one, 1, &t_why), -EPROTOTYPE);
	CHECK_INT(t_why.reason, DK_WHY_SCHEMA_NUM_ARGS);
	CHECK_STR(t_why.name, facts);
	check_unchanged();
	/* the other way round */
	CHECK_OK(dk_op_undefine(&provider, decl.name, &t_why));
	CHECK_OK(dk_impls_register(&other, &one, 1, &t_why));
	note_state();
	CHECK_INT(dk_op_define(&provider, &decl, 0, &t_why), -EPROTOTYPE);
	CHECK_INT(t_why.reason, DK_WHY_SCHEMA_NUM_ARGS);
	CHECK_STR(t_why.name, facts);
	check_unchanged();
	end();
}

/* states: 11.2.4 */
static void def_with_inference(void)
{
	struct dk_library lib = DK_LIBRARY(&provider, DEF, "dispatch", DK_UNDEFINED);
	static struct dk_impl fn;
	struct dk_op_decl bare;

	begin();
	lib.debug = "registered at here";
	bare = t_decl("op");
	fn = t_impl(&bare, DK_UNDEFINED, 1);
	fn.schema = "(Tensor _0) -> Tensor _0";
	CHECK_OK(dk_library_register(&lib, &t_why));
	CHECK_OK(dk_library_def_impl(&lib, &bare, 0, &fn, NULL, &t_why));
	op = dk_op_get(t_reg, "dispatch::op");
	if (CHECK(op))
		check_dump("schema: dispatch::op(Tensor _0) -> Tensor _0\n"
			   "debug: registered at here\nalias analysis kind: CONSERVATIVE\n"
			   "CompositeImplicitAutograd[alias]: f1 :: (Tensor _0) -> Tensor _0 "
			   "[ boxed unboxed ]\n");
	end();
}

/* What says nothing of aliasing has a schema that does. */
static void defined_with_a_schema(void)
{
	struct dk_op_decl fresh;

	begin();
	fresh = t_decl("dispatch::op");
	fresh.schema = "dispatch::op(Tensor(a!) x, Tensor y) -> Tensor(a!)";
	CHECK_OK(dk_op_define(&provider, &fresh, 0, &t_why));
	op = dk_op_get(t_reg, "dispatch::op");
	if (CHECK(op))
		check_dump("schema: dispatch::op(Tensor(a!) x, Tensor y) -> Tensor(a!)\n"
			   "debug:\x20\nalias analysis kind: FROM_SCHEMA\n");
	end();
}

/* states: 11.2.5 */
static void def_only(void)
{
	static const struct step steps[] = { DEF };
	static const struct want want[] = {
		{ DK_UNDEFINED, NOBODY }, { DK_CPU, NOBODY },
		{ DK_AUTOGRAD_CPU, FALLBACK },
	};
	struct dk_impl_info info = { .size = sizeof(info) };
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));

	begin_with_schema();
	decl.debug = "registered at here";
	COMMUTE(steps, want);
	ALL_THERE(steps, want);
	CHECK_INT(dk_op_impl(op, 0, &info), -ENOENT);
	CHECK_INT(t_call(op, &cpu, NULL), -ENOSYS);
	check_dump("schema: " SCHEMA "\ndebug: registered at here\n"
		   "alias analysis kind: FROM_SCHEMA\n");
	end();
}

/* states: 11.2.6 */
static void impl_only(void)
{
	static const struct step steps[] = {
		AT(CATCH_ALL), AT(DK_CPU), AT(DK_AUTOGRAD), AT(DK_AUTOGRAD_CPU),
	};
	static const struct want want[] = {
		{ DK_CPU, KERNEL(1) }, { DK_AUTOGRAD_CPU, KERNEL(3) },
		{ DK_CUDA, MATH(0) },
	};
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));

	begin();
	inferred = INFERRED;
	COMMUTE(steps, want);
	ALL_THERE(steps, want);
	CHECK_LISTED(DK_CPU, DK_AUTOGRAD_CPU, DK_AUTOGRAD,
		     DK_COMPOSITE_IMPLICIT_AUTOGRAD);
	check_dump("schema: (none)\n"
		   "CPU: f1 :: " INFERRED " [ boxed unboxed ]\n"
		   "AutogradCPU: f3 :: " INFERRED " [ boxed unboxed ]\n"
		   "Autograd[alias]: f2 :: " INFERRED " [ boxed unboxed ]\n"
		   "CompositeImplicitAutograd[alias]: f0 :: " INFERRED
		   " [ boxed unboxed ]\n");
	/* it has a table, and nobody defines it */
	CHECK_INT(t_call(op, &cpu, NULL), -ENOENT);
	end();
}

/* states: 11.2.7 */
static void computed_table(void)
{
	static const struct step steps[] = {
		DEF_AT(CATCH_ALL), AT(DK_CPU), AT(DK_XLA), AT(DK_AUTOGRAD),
		AT(DK_AUTOGRAD_CPU),
	};
	static const struct want want[] = {
		{ DK_UNDEFINED, MATH(0) }, { DK_CPU, KERNEL(1) },
		{ DK_CUDA, MATH(0) }, { DK_XLA, KERNEL(2) },
		{ DK_AUTOGRAD_OTHER, MATH(0) }, { DK_AUTOGRAD_CPU, KERNEL(4) },
		{ DK_AUTOGRAD_CUDA, MATH(0) }, { DK_AUTOGRAD_XLA, AUTOGRAD(3) },
	};

	begin();
	COMMUTE(steps, want);
	end();
}

/* states: 11.2.8 */
static void computed_table_with_cpu_math_autogradcpu_fallthrough(void)
{
	static const struct step steps[] = { DEF_AT(CATCH_ALL), AT(DK_CPU) };
	static const struct want want[] = {
		{ DK_UNDEFINED, MATH(0) }, { DK_CPU, KERNEL(1) },
		{ DK_CUDA, MATH(0) }, { DK_XLA, MATH(0) },
		{ DK_AUTOGRAD_OTHER, MATH(0) }, { DK_AUTOGRAD_CPU, FALLBACK },
		{ DK_AUTOGRAD_CUDA, MATH(0) }, { DK_AUTOGRAD_XLA, MATH(0) },
	};

	begin();
	COMMUTE(steps, want);
	end();
}

/* states: 11.2.9 */
static void computed_table_with_math(void)
{
	static const struct step steps[] = {
		DEF, AT(DK_COMPOSITE_IMPLICIT_AUTOGRAD),
	};
	static const struct want want[] = {
		{ DK_UNDEFINED, MATH(1) }, { DK_CPU, MATH(1) }, { DK_CUDA, MATH(1) },
		{ DK_XLA, MATH(1) }, { DK_AUTOGRAD_OTHER, MATH(1) },
		{ DK_AUTOGRAD_CPU, MATH(1) }, { DK_AUTOGRAD_CUDA, MATH(1) },
		{ DK_AUTOGRAD_XLA, MATH(1) },
	};

	begin();
	COMMUTE(steps, want);
	end();
}

/* states: 11.2.10 */
static void computed_table_with_cpu_math(void)
{
	static const struct step steps[] = {
		DEF, AT(DK_CPU), AT(DK_COMPOSITE_IMPLICIT_AUTOGRAD),
	};
	static const struct want want[] = {
		{ DK_UNDEFINED, MATH(2) }, { DK_CPU, KERNEL(1) },
		{ DK_CUDA, MATH(2) }, { DK_XLA, MATH(2) },
		{ DK_AUTOGRAD_OTHER, MATH(2) }, { DK_AUTOGRAD_CPU, FALLBACK },
		{ DK_AUTOGRAD_CUDA, MATH(2) }, { DK_AUTOGRAD_XLA, MATH(2) },
	};

	begin();
	COMMUTE(steps, want);
	end();
}

/* states: 11.2.11 */
static void computed_table_with_autograd(void)
{
	static const struct step steps[] = { DEF, AT(DK_AUTOGRAD) };
	static const struct want want[] = {
		{ DK_UNDEFINED, NOBODY }, { DK_CPU, NOBODY }, { DK_CUDA, NOBODY },
		{ DK_XLA, NOBODY }, { DK_FPGA, NOBODY }, { DK_SPARSE_CPU, NOBODY },
		{ DK_AUTOGRAD_OTHER, AUTOGRAD(1) }, { DK_AUTOGRAD_CPU, AUTOGRAD(1) },
		{ DK_AUTOGRAD_CUDA, AUTOGRAD(1) }, { DK_AUTOGRAD_XLA, AUTOGRAD(1) },
	};

	begin();
	COMMUTE(steps, want);
	end();
}

/* states: 11.2.12 */
static void computed_table_with_cpu_autograd_math(void)
{
	static const struct step steps[] = {
		DEF, AT(DK_CPU), AT(DK_AUTOGRAD), AT(DK_COMPOSITE_IMPLICIT_AUTOGRAD),
	};
	static const struct want want[] = {
		{ DK_UNDEFINED, MATH(3) }, { DK_CPU, KERNEL(1) },
		{ DK_CUDA, MATH(3) }, { DK_XLA, MATH(3) },
		{ DK_AUTOGRAD_OTHER, MATH(3) }, { DK_AUTOGRAD_CPU, AUTOGRAD(2) },
		{ DK_AUTOGRAD_CUDA, MATH(3) }, { DK_AUTOGRAD_XLA, MATH(3) },
	};

	begin();
	COMMUTE(steps, want);
	end();
}

/* states: 11.2.13 */
static void computed_table_with_ambiguous_autogradother(void)
{
	static const struct step steps[] = {
		DEF, AT(DK_COMPOSITE_IMPLICIT_AUTOGRAD), AT(DK_FPGA),
	};
	static const struct want want[] = {
		{ DK_UNDEFINED, MATH(1) }, { DK_CPU, MATH(1) }, { DK_CUDA, MATH(1) },
		{ DK_XLA, MATH(1) }, { DK_AUTOGRAD_OTHER, AMBIGUOUS },
		{ DK_AUTOGRAD_CPU, MATH(1) }, { DK_AUTOGRAD_CUDA, MATH(1) },
		{ DK_AUTOGRAD_XLA, MATH(1) }, { DK_FPGA, KERNEL(2) },
	};

	begin();
	COMMUTE(steps, want);
	end();
}

/* states: 11.2.14 */
static void computed_table_with_cpu_defaultbackend(void)
{
	static const struct step steps[] = {
		DEF, AT(DK_CPU), AT(DK_COMPOSITE_EXPLICIT_AUTOGRAD),
	};
	static const struct want want[] = {
		{ DK_UNDEFINED, DEFAULT(2) }, { DK_CPU, KERNEL(1) },
		{ DK_CUDA, DEFAULT(2) }, { DK_XLA, DEFAULT(2) },
		{ DK_AUTOGRAD_OTHER, FALLBACK }, { DK_AUTOGRAD_CPU, FALLBACK },
		{ DK_AUTOGRAD_CUDA, FALLBACK }, { DK_AUTOGRAD_XLA, FALLBACK },
	};

	begin();
	COMMUTE(steps, want);
	end();
}

/* states: 11.2.15 */
static void computed_table_with_cpu_autograd_defaultbackend(void)
{
	static const struct step steps[] = {
		DEF, AT(DK_CPU), AT(DK_AUTOGRAD), AT(DK_COMPOSITE_EXPLICIT_AUTOGRAD),
	};
	static const struct want want[] = {
		{ DK_UNDEFINED, DEFAULT(3) }, { DK_CPU, KERNEL(1) },
		{ DK_CUDA, DEFAULT(3) }, { DK_XLA, DEFAULT(3) },
		{ DK_AUTOGRAD_OTHER, AUTOGRAD(2) }, { DK_AUTOGRAD_CPU, AUTOGRAD(2) },
		{ DK_AUTOGRAD_CUDA, AUTOGRAD(2) }, { DK_AUTOGRAD_XLA, AUTOGRAD(2) },
		{ DK_FPGA, DEFAULT(3) },
	};

	begin();
	COMMUTE(steps, want);
	end();
}

/* states: 11.2.16 */
static void computed_table_with_cpu_autograd_math_defaultbackend(void)
{
	static const struct step steps[] = {
		DEF, AT(DK_CPU), AT(DK_AUTOGRAD),
		AT(DK_COMPOSITE_IMPLICIT_AUTOGRAD),
		AT(DK_COMPOSITE_EXPLICIT_AUTOGRAD),
	};
	static const struct want want[] = {
		{ DK_UNDEFINED, DEFAULT(4) }, { DK_CPU, KERNEL(1) },
		{ DK_CUDA, DEFAULT(4) }, { DK_XLA, DEFAULT(4) },
		{ DK_AUTOGRAD_OTHER, AUTOGRAD(2) }, { DK_AUTOGRAD_CPU, AUTOGRAD(2) },
		{ DK_AUTOGRAD_CUDA, AUTOGRAD(2) }, { DK_AUTOGRAD_XLA, AUTOGRAD(2) },
		{ DK_FPGA, DEFAULT(4) },
	};

	begin();
	COMMUTE(steps, want);
	end();
}

/* A second definition, and what it says of aliasing, in either order. */
static void define_twice(unsigned int first, unsigned int second)
{
	static struct dk_op_decl again;
	static const struct step steps[] = { DEF_AT(DK_CPU) };

	begin();
	decl.alias_analysis = first;
	decl.schema = "dispatch::op(Tensor x, Tensor y) -> int";
	put_in(steps, 0);
	again = decl;
	decl.debug = "registered at here";
	again.debug = "registered at there";
	again.alias_analysis = second;
	note_state();
	CHECK_INT(dk_op_define(&provider, &again, 0, &t_why), -EEXIST);
	CHECK_INT(t_why.reason, DK_WHY_DEFINED);
	CHECK_STR(t_why.name, "dispatch::op: registered at here -> registered at there");
	check_unchanged();
	again.debug = NULL;
	CHECK_INT(dk_op_define(&other, &again, 0, &t_why), -EEXIST);
	CHECK_INT(t_why.reason, DK_WHY_DEFINED);
	CHECK_STR(t_why.name, "dispatch::op: registered at here -> other");
	check_unchanged();
	/* the second one may, when the first one has gone */
	CHECK_OK(dk_op_undefine(&provider, decl.name, &t_why));
	CHECK_OK(dk_op_define(&other, &again, 0, &t_why));
	check_unchanged();
	end();
}

/* states: 11.2.17 */
static void multiple_def_error(void)
{
	define_twice(DK_ALIAS_PURE_FUNCTION, DK_ALIAS_PURE_FUNCTION);
}

/* states: 11.2.18 */
static void def_with_explicit_alias(void)
{
	begin_with_schema();
	decl.debug = "registered at here";
	decl.alias_analysis = DK_ALIAS_PURE_FUNCTION;
	CHECK_OK(dk_op_define(&provider, &decl, 0, &t_why));
	op = dk_op_get(t_reg, decl.name);
	check_dump("schema: " SCHEMA "\ndebug: registered at here\n"
		   "alias analysis kind: PURE_FUNCTION\n");
	end();
}

/* states: 11.2.19 */
static void multiple_def_alias_defaulting(void)
{
	define_twice(DK_ALIAS_PURE_FUNCTION, DK_ALIAS_DEFAULT);
	define_twice(DK_ALIAS_DEFAULT, DK_ALIAS_PURE_FUNCTION);
}

/* states: 11.2.20 */
static void multiple_def_alias_mismatch(void)
{
	define_twice(DK_ALIAS_PURE_FUNCTION, DK_ALIAS_CONSERVATIVE);
	define_twice(DK_ALIAS_CONSERVATIVE, DK_ALIAS_PURE_FUNCTION);
}

/* states: 11.2.21 */
static void multiple_fallback(void)
{
	static const struct step steps[] = { DEF };
	static struct dk_impl first, second;
	struct dk_obj xla = t_obj(DK_KEY_BITS(DK_XLA) | DK_KEY_BITS(DK_CPU));

	begin();
	put_in(steps, 0);
	first = t_fallthrough(NULL, DK_XLA);
	second = t_fallthrough(NULL, DK_XLA);
	CHECK_OK(dk_fallback_register(&provider, &first, &t_why));
	note_state();
	CHECK_STR(t_serves(op, 0, DK_XLA), "fallthrough");
	CHECK_INT(dk_fallback_register(&provider, &second, &t_why), -EEXIST);
	CHECK_INT(t_why.reason, DK_WHY_FALLBACK_EXISTS);
	CHECK_STR(t_why.name, "XLA: fallthrough (dispatch) -> fallthrough (dispatch)");
	check_unchanged();
	CHECK_INT(dk_fallback_register(&other, &second, &t_why), -EEXIST);
	CHECK_STR(t_why.name, "XLA: fallthrough (dispatch) -> fallthrough (other)");
	check_unchanged();
	CHECK_OK(dk_impls_unregister(&provider, &first, &t_why));
	CHECK_STR(t_goes(op, &xla, NULL), "-ENOSYS");
	CHECK_OK(dk_fallback_register(&other, &second, &t_why));
	check_unchanged();
	end();
}

/* states: 11.2.22 */
static void overwrite_math(void)
{
	static const struct step steps[] = { AT(CATCH_ALL), AT(CATCH_ALL) };
	struct dk_impl_info info = { .size = sizeof(info) };
	unsigned int first, i;

	begin();
	for (first = 0; first < 2; first++) {
		put_in(&steps[first], first);
		put_in(&steps[!first], !first);
		/* the newest is listed first, and serves */
		for (i = 0; i < 2; i++) {
			CHECK_OK(dk_op_impl(op, i, &info));
			CHECK_INT(info.key, DK_COMPOSITE_IMPLICIT_AUTOGRAD);
			CHECK_STR(info.label, t_labels[i ? first : !first]);
			CHECK_INT(info.is_active, !i);
		}
		CHECK_STR(t_serves(op, 0, DK_CPU), t_labels[!first]);
		CHECK_INT(t_rule_served(), DK_PROV_MATH);
		/* either may go */
		take_out(&steps[0], 0);
		CHECK_STR(t_serves(op, 0, DK_CPU), "f1");
		CHECK_OK(dk_op_impl(op, 0, &info));
		CHECK(info.is_active);
		take_out(&steps[1], 1);
		CHECK_STR(t_serves(op, 0, DK_CPU), "missing");
	}
	end();
}

/* states: 11.2.24 */
static void find_dangling_impls_ext(void)
{
	struct dk_op_info info = { .size = sizeof(info) };
	static const struct step steps[] = { DEF_AT(DK_CPU) };
	static struct dk_op_decl foo;
	static struct dk_impl impl;
	static char text[512];

	begin();
	put_in(steps, 0);
	CHECK_INT(dk_registry_list_dangling(t_reg, text, sizeof(text)), 0);
	foo = t_decl("__dangling__::foo");
	impl = t_impl(&foo, DK_CPU, 1);
	impl.label = "registered at dangling_impl_extension.cpp:5";
	impl.schema = "() -> ()";
	CHECK_OK(dk_impls_register(&other, &impl, 1, &t_why));
	dk_registry_list_dangling(t_reg, text, sizeof(text));
	CHECK_STR(text, "name: __dangling__::foo\nschema: (none)\n"
			"CPU: registered at dangling_impl_extension.cpp:5 :: () -> () "
			"[ boxed unboxed ]\n");
	CHECK_OK(dk_registry_next_op(t_reg, NULL, &info));
	CHECK_STR(info.name, "__dangling__::foo");
	CHECK(info.is_dangling && !info.is_defined);
	CHECK_OK(dk_registry_next_op(t_reg, info.name, &info));
	CHECK(!info.is_dangling);
	CHECK_OK(dk_impls_unregister(&other, &impl, &t_why));
	CHECK_INT(dk_registry_list_dangling(t_reg, text, sizeof(text)), 0);
	end();
}

/* states: 11.2.25 */
static void registrations_for_dispatch_key_invalid(void)
{
	unsigned int key = 1234;

	begin();
	CHECK_INT(dk_registry_key_parse(t_reg, "invalid_key", &key, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_PARSE_KEY);
	CHECK_STR(t_why.text, "could not parse dispatch key");
	CHECK_STR(t_why.name, "invalid_key");
	CHECK_INT(key, 1234);
	end();
}

/* ---- TestPythonDispatcher -------------------------------------------------- */

/* states: 11.2.26 */
static void basic(void)
{
	static const struct step steps[] = {
		DEF_AT(DK_CPU), AT(DK_XLA), AT(DK_LAZY),
		AT(DK_COMPOSITE_IMPLICIT_AUTOGRAD),
	};
	static const struct want want[] = {
		{ DK_CPU, KERNEL(0) }, { DK_XLA, KERNEL(1) }, { DK_LAZY, KERNEL(2) },
		{ DK_FPGA, MATH(3) }, { DK_AUTOGRAD_OTHER, MATH(3) },
		{ DK_AUTOGRAD_CPU, FALLBACK }, { DK_AUTOGRAD_XLA, FALLBACK },
		{ DK_AUTOGRAD_LAZY, FALLBACK },
	};

	begin();
	COMMUTE(steps, want);
	end();
}

/* states: 11.2.27 */
static void math_autogradcpu(void)
{
	static const struct step steps[] = {
		DEF_AT(DK_CPU), AT(DK_XLA), AT(DK_LAZY),
		AT(DK_COMPOSITE_IMPLICIT_AUTOGRAD), AT(DK_AUTOGRAD_CPU),
	};
	static const struct want want[] = {
		{ DK_CPU, KERNEL(0) }, { DK_XLA, KERNEL(1) }, { DK_LAZY, KERNEL(2) },
		{ DK_FPGA, MATH(3) }, { DK_AUTOGRAD_OTHER, MATH(3) },
		{ DK_AUTOGRAD_CPU, KERNEL(4) }, { DK_AUTOGRAD_XLA, FALLBACK },
		{ DK_AUTOGRAD_LAZY, FALLBACK },
	};

	begin();
	ALL_THERE(steps, want);
	CHECK_LISTED(DK_CPU, DK_XLA, DK_LAZY, DK_AUTOGRAD_CPU,
		     DK_COMPOSITE_IMPLICIT_AUTOGRAD);
	end();
}

/* states: 11.2.28 */
static void defaultbackend_autogradcpu(void)
{
	static const struct step steps[] = {
		DEF_AT(DK_CPU), AT(DK_XLA), AT(DK_LAZY),
		AT(DK_COMPOSITE_EXPLICIT_AUTOGRAD), AT(DK_AUTOGRAD_CPU),
	};
	static const struct want want[] = {
		{ DK_CPU, KERNEL(0) }, { DK_XLA, KERNEL(1) }, { DK_LAZY, KERNEL(2) },
		{ DK_FPGA, DEFAULT(3) }, { DK_AUTOGRAD_OTHER, FALLBACK },
		{ DK_AUTOGRAD_CPU, KERNEL(4) }, { DK_AUTOGRAD_XLA, FALLBACK },
		{ DK_AUTOGRAD_LAZY, FALLBACK },
	};

	begin();
	ALL_THERE(steps, want);
	CHECK_LISTED(DK_CPU, DK_XLA, DK_LAZY, DK_AUTOGRAD_CPU,
		     DK_COMPOSITE_EXPLICIT_AUTOGRAD);
	end();
}

/* states: 11.2.29 */
static void autogradother(void)
{
	static const struct step steps[] = {
		DEF_AT(DK_CPU), AT(DK_FPGA), AT(DK_COMPOSITE_IMPLICIT_AUTOGRAD),
	};
	static const struct want want[] = {
		{ DK_CPU, KERNEL(0) }, { DK_FPGA, KERNEL(1) },
		{ DK_AUTOGRAD_OTHER, AMBIGUOUS }, { DK_AUTOGRAD_CPU, FALLBACK },
		{ DK_XLA, MATH(2) }, { DK_AUTOGRAD_XLA, MATH(2) },
		{ DK_LAZY, MATH(2) }, { DK_AUTOGRAD_LAZY, MATH(2) },
	};

	begin();
	COMMUTE(steps, want);
	ALL_THERE(steps, want);
	CHECK_LISTED(DK_FPGA, DK_CPU, DK_COMPOSITE_IMPLICIT_AUTOGRAD);
	end();
}

/*
 * states: 11.2.30
 *
 * PyTorch's teaching class refuses one key twice in a list. Its dispatcher and
 * ours do not: the later one has the key, and whoever registers is told.
 */
static void duplicate_registrations(void)
{
	static const struct step steps[] = { DEF };
	static struct dk_impl list[2];

	begin();
	put_in(steps, 0);
	list[0] = t_impl(&decl, DK_CPU, 1);
	list[1] = t_impl(&decl, DK_CPU, 2);
	CHECK_OK(dk_impls_register(&provider, list, 2, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_OVERRIDE);
	CHECK_STR(t_why.name, "dispatch::op CPU: f1 (dispatch) -> f2 (dispatch)");
	CHECK_STR(t_serves(op, 0, DK_CPU), "f2");
	CHECK_OK(dk_impls_unregister(&provider, list, &t_why));
	CHECK_STR(t_serves(op, 0, DK_CPU), "missing");
	end();
}

/*
 * states: 11.2.31
 *
 * The class refuses both of these aliases in a list, too. The dispatchers take
 * them, and Implicit serves nothing of what Explicit does.
 */
static void defaultbackend_math(void)
{
	static const struct step steps[] = { DEF };
	static struct dk_impl list[2];
	const struct dk_layout *l;
	unsigned int slot;

	begin();
	l = dk_registry_layout(t_reg);
	put_in(steps, 0);
	list[0] = t_impl(&decl, DK_COMPOSITE_IMPLICIT_AUTOGRAD, 1);
	list[1] = t_impl(&decl, DK_COMPOSITE_EXPLICIT_AUTOGRAD, 2);
	CHECK_OK(dk_impls_register(&provider, list, 2, &t_why));
	for (slot = 0; slot < dk_layout_entries(l); slot++)
		CHECK(strcmp(t_serves(op, 0, dk_slot_key(l, slot)), "f1"));
	CHECK_STR(t_serves(op, 0, DK_CPU), "f2");
	CHECK_STR(t_serves(op, 0, DK_AUTOGRAD_CPU), "fallthrough");
	end();
}

T_SUITE(dispatch,
	T(def),
	T(def_impl_schema_mismatch),
	T(def_with_inference),
	T(defined_with_a_schema),
	T(def_only),
	T(impl_only),
	T(computed_table),
	T(computed_table_with_cpu_math_autogradcpu_fallthrough),
	T(computed_table_with_math),
	T(computed_table_with_cpu_math),
	T(computed_table_with_autograd),
	T(computed_table_with_cpu_autograd_math),
	T(computed_table_with_ambiguous_autogradother),
	T(computed_table_with_cpu_defaultbackend),
	T(computed_table_with_cpu_autograd_defaultbackend),
	T(computed_table_with_cpu_autograd_math_defaultbackend),
	T(multiple_def_error),
	T(def_with_explicit_alias),
	T(multiple_def_alias_defaulting),
	T(multiple_def_alias_mismatch),
	T(multiple_fallback),
	T(overwrite_math),
	T(find_dangling_impls_ext),
	T(registrations_for_dispatch_key_invalid),
	T(basic),
	T(math_autogradcpu),
	T(defaultbackend_autogradcpu),
	T(autogradother),
	T(duplicate_registrations),
	T(defaultbackend_math));
