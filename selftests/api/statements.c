// SPDX-License-Identifier: GPL-2.0-only
/*
 * A statement is what a test of PyTorch checks. Here are the statements about the routes of calls
 * (SEMANTICS 11.3). The comment before each test has the numbers of its statements, which
 * scripts/statements lists.
 */
#include "test.h"

/* Each function appends its digit to *trace. */
DK_OP(noted, "statements::noted", (struct dk_obj *x, int *trace), (x, trace), (x));
/* The function of this operator calls "noted" three times. */
DK_OP(whole, "statements::whole", (struct dk_obj *x, int *trace), (x, trace), (x));

#define MANY		16
#define MODE		DK_TESTING_ONLY_GENERIC_MODE

static struct dk_provider provider;
static struct dk_op_decl decl;
static struct dk_op *op;
static struct dk_impl impls[MANY];
static unsigned int num_impls;

/* The keysets of the objects in these tests. */
#define PLAIN(key)	DK_KEY_BITS(DK_##key)
#define GRAD(key)	(DK_KEY_BITS(DK_##key) | DK_KEY_BITS(DK_AUTOGRAD_##key))
#define OTHER(key)	(DK_KEY_BITS(DK_##key) | DK_KEY_BITS(DK_AUTOGRAD_OTHER))

/* Opens a registry with an operator. Autograd keys without a function fall through. */
static void setup(void)
{
	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&provider, "statements");
	num_impls = 0;
	decl = t_decl("statements::op");
	CHECK_OK(dk_op_define(&provider, &decl, 0, &t_why));
	op = t_get(decl.name);
	CHECK(op);
}

static void add(struct dk_impl impl)
{
	impls[num_impls] = impl;
	if (impl.op)
		CHECK_OK(dk_impls_register(&provider, &impls[num_impls], 1, &t_why));
	else
		CHECK_OK(dk_fallback_register(&provider, &impls[num_impls], &t_why));
	num_impls++;
}

/* Registers function number @n at @key. */
static void at(unsigned int key, unsigned int n)
{
	add(t_impl(&decl, key, n));
}

/* Return the number of the function that serves a call with one object, or with two. */
static int call(u64 bits)
{
	struct dk_obj x = t_obj(bits);

	return t_call(op, &x, NULL);
}

static int call_two(u64 a, u64 b)
{
	struct dk_obj x = t_obj(a), y = t_obj(b);

	return t_call(op, &x, &y);
}

/* A fallback; stores 7 in *served_by. */
static int seven(struct dk_call *c, void *args)
{
	*((struct t_op_args *)args)->served_by = 7;
	return 0;
}

/* states: 11.3.1 */
static void functions_precede_fallbacks(void)
{
	static const struct dk_impl fallback = DK_FALLBACK(DK_CPU, seven);
	static struct dk_op_decl others[2];
	struct dk_obj cpu = t_obj(PLAIN(CPU));
	struct dk_op *catch_all, *nothing;

	setup();
	add(fallback);
	others[0] = t_decl("statements::catch_all");
	others[1] = t_decl("statements::nothing");
	CHECK_OK(dk_op_define(&provider, &others[0], 0, &t_why));
	CHECK_OK(dk_op_define(&provider, &others[1], 0, &t_why));
	catch_all = dk_op_get(t_reg, others[0].name);
	nothing = dk_op_get(t_reg, others[1].name);
	at(DK_CPU, 1);
	add(t_impl(&others[0], DK_UNDEFINED, 2));
	CHECK_INT(t_call(op, &cpu, NULL), 1);
	CHECK_INT(t_call(catch_all, &cpu, NULL), 2);
	CHECK_INT(t_call(nothing, &cpu, NULL), 7);
	dk_op_put(catch_all);
	dk_op_put(nothing);
}

/* states: 11.3.2 */
static void autograd_only_with_autograd_keys(void)
{
	setup();
	at(DK_CPU, 1);
	at(DK_AUTOGRAD, 2);
	CHECK_INT(call(PLAIN(CPU)), 1);
	CHECK_INT(call(GRAD(CPU)), 2);
}

/* states: 11.3.3 */
static void implicit_beside_others(void)
{
	setup();
	at(DK_COMPOSITE_IMPLICIT_AUTOGRAD, 1);
	at(DK_AUTOGRAD, 2);
	CHECK_INT(call(PLAIN(CPU)), 1);
	CHECK_INT(call(GRAD(CPU)), 1);
	t_close();

	setup();
	at(DK_COMPOSITE_IMPLICIT_AUTOGRAD, 1);
	at(DK_AUTOGRAD_CPU, 2);
	CHECK_INT(call(GRAD(CPU)), 2);
	CHECK_INT(call(GRAD(CUDA)), 1);
	t_close();

	setup();
	at(DK_COMPOSITE_IMPLICIT_AUTOGRAD, 1);
	at(DK_CPU, 2);
	CHECK_INT(call(PLAIN(CPU)), 2);
	CHECK_INT(call(GRAD(CPU)), 2);
	CHECK_INT(call(PLAIN(CUDA)), 1);
	CHECK_INT(call(GRAD(CUDA)), 1);
	t_close();
}

/* states: 11.3.4 */
static void explicit_beside_implicit(void)
{
	setup();
	at(DK_COMPOSITE_EXPLICIT_AUTOGRAD, 1);
	at(DK_COMPOSITE_IMPLICIT_AUTOGRAD, 2);
	CHECK_INT(call(PLAIN(CPU)), 1);
	CHECK_INT(call(GRAD(CPU)), 1);
	CHECK_INT(call(PLAIN(XLA)), 1);
	CHECK_INT(call(GRAD(XLA)), 1);
	CHECK_INT(call(PLAIN(LAZY)), 1);
	CHECK_INT(call(GRAD(LAZY)), 1);
	CHECK_INT(call(PLAIN(SPARSE_CPU)), 1);
	CHECK_INT(call(PLAIN(SPARSE_CPU) | GRAD(CPU)), 1);
}

/* states: 11.3.5 */
static void later_registrations_serve_at_once(void)
{
	setup();
	at(DK_COMPOSITE_EXPLICIT_AUTOGRAD, 1);
	CHECK_INT(call(GRAD(CPU)), 1);
	at(DK_AUTOGRAD, 2);
	CHECK_INT(call(GRAD(CPU)), 2);
	CHECK_INT(call(GRAD(XLA)), 2);
	at(DK_AUTOGRAD_CPU, 3);
	CHECK_INT(call(GRAD(CPU)), 3);
	CHECK_INT(call(GRAD(XLA)), 2);
	CHECK_INT(call(PLAIN(CPU)), 1);
}

/* states: 11.3.6 */
static void fpga_beside_implicit(void)
{
	setup();
	at(DK_FPGA, 1);
	at(DK_COMPOSITE_IMPLICIT_AUTOGRAD, 2);
	CHECK_INT(call(PLAIN(FPGA)), 1);
	CHECK_INT(call(OTHER(FPGA)), -ENOTUNIQ);
	CHECK_INT(call(GRAD(CPU)), 2);
}

/* states: 11.3.7 */
static void private_backend_beside_catch_all(void)
{
	setup();
	at(DK_PRIVATEUSE1, 1);
	at(DK_UNDEFINED, 2);
	/* the autograd key falls through by a fallback, and later by a function */
	CHECK_INT(call_two(GRAD(PRIVATEUSE1), GRAD(CPU)), 1);
	add(t_fallthrough(&decl, DK_AUTOGRAD_PRIVATEUSE1));
	CHECK_INT(call_two(GRAD(PRIVATEUSE1), GRAD(CPU)), 1);
	CHECK_INT(call_two(GRAD(CPU), GRAD(PRIVATEUSE1)), 1);
	CHECK_INT(call_two(GRAD(CPU), GRAD(CPU)), 2);
	CHECK_INT(call(GRAD(CPU)), 2);
}

/* states: 11.3.8 */
static void catch_all_skips_autograd_of_served_backends(void)
{
	setup();
	at(DK_CPU, 1);
	at(DK_XLA, 2);
	at(DK_UNDEFINED, 3);
	CHECK_STR(t_serves(op, 0, DK_AUTOGRAD_XLA), "fallthrough");
	CHECK_INT(call(GRAD(XLA)), 2);
	CHECK_INT(call(GRAD(CPU)), 1);
	CHECK_STR(t_serves(op, 0, DK_AUTOGRAD_LAZY), "f3");
	CHECK_INT(call(GRAD(LAZY)), 3);
	at(DK_LAZY, 4);
	CHECK_STR(t_serves(op, 0, DK_AUTOGRAD_LAZY), "fallthrough");
	CHECK_INT(call(GRAD(LAZY)), 4);
}

/* ---- redispatch ------------------------------------------------------------ */

static void note(int *trace, int what)
{
	*trace = *trace * 10 + what;
}

static int noted_cpu(struct dk_call *c, struct dk_obj *x, int *trace)
{
	note(trace, 1);
	return 0;
}

/* Redispatches with its own keyset, like PyTorch's functions that take the keyset. */
static int noted_autograd(struct dk_call *c, struct dk_obj *x, int *trace)
{
	const struct dk_layout *l = dk_registry_layout(t_reg);

	note(trace, 2);
	CHECK_INT(dk_call_key(c), DK_AUTOGRAD_CPU);
	return noted_redispatch(c, dk_keyset_and(c->ks, dk_keyset_after(l, DK_AUTOGRAD_CPU)),
				x, trace);
}

static int noted_tracer(struct dk_call *c, struct dk_obj *x, int *trace)
{
	const struct dk_layout *l = dk_registry_layout(t_reg);

	note(trace, 3);
	CHECK_INT(dk_call_key(c), DK_TRACER);
	CHECK(dk_keyset_has_all(c->ks, DK_SET(DK_AUTOGRAD_CPU)));
	return noted_redispatch(c, dk_keyset_and(c->ks, dk_keyset_after(l, DK_TRACER)), x,
				trace);
}

/* Redispatches like a function of PyTorch that does not take the keyset. */
static int noted_below_tracer(struct dk_call *c, struct dk_obj *x, int *trace)
{
	note(trace, 4);
	return noted_below(c, x, trace);
}

/* Does the same as noted_below_tracer(), but is a boxed fallback. */
static int boxed_below(struct dk_call *c, void *args)
{
	note(((struct noted_args *)args)->trace, 5);
	return dk_redispatch_boxed(c, dk_call_below(c), args);
}

static int noted_select(struct dk_call *c, struct dk_obj *x, int *trace)
{
	note(trace, 6);
	CHECK_INT(dk_call_key(c), DK_BACKEND_SELECT);
	return noted_redispatch(c, DK_SET(DK_CPU), x, trace);
}

/* Returns the trace of a call of "noted". Checks that a boxed call has the same trace. */
static int trace_of(u64 bits)
{
	struct dk_local local = t_no_local();
	struct dk_obj x = t_obj(bits);
	int trace = 0, trace_boxed = 0, err = noted_at(op, &local, &x, &trace);
	struct noted_args args = { &x, &trace_boxed };

	CHECK_INT(dk_call_boxed(op, &noted_op, &local, &args), err);
	CHECK_INT(trace_boxed, trace);
	return err ? err : trace;
}

/* Like setup(), but with the operator "noted". */
static void setup_noted(void)
{
	setup();
	t_put(op);
	CHECK_OK(dk_op_define(&provider, &noted_op, 0, &t_why));
	op = t_get("statements::noted");
	CHECK(op);
}

/* states: 11.3.9 */
static void redispatch_by_keyset(void)
{
	static const struct dk_impl cpu = DK_IMPL(noted, DK_CPU, noted_cpu);
	static const struct dk_impl autograd = DK_IMPL(noted, DK_AUTOGRAD_CPU,
						       noted_autograd);
	static const struct dk_impl tracer = DK_IMPL(noted, DK_TRACER, noted_tracer);
	static const struct dk_impl plain = DK_IMPL(noted, DK_TRACER,
						    noted_below_tracer);
	static const struct dk_impl any = DK_FALLBACK(MODE, boxed_below);
	static const struct dk_impl select = DK_IMPL(noted, DK_BACKEND_SELECT,
						     noted_select);
	const u64 traced = GRAD(CPU) | DK_KEY_BITS(DK_TRACER);

	setup_noted();
	add(cpu);
	add(autograd);
	add(tracer);
	CHECK_INT(trace_of(traced), 321);
	CHECK_INT(trace_of(GRAD(CPU)), 21);
	CHECK_INT(trace_of(PLAIN(CPU)), 1);
	/* a redispatch by a boxed function */
	add(any);
	CHECK_INT(trace_of(traced | DK_KEY_BITS(MODE)), 5321);
	/* one of the functions does not take the keyset */
	add(plain);
	CHECK_INT(trace_of(traced), 421);
	CHECK_INT(trace_of(traced | DK_KEY_BITS(MODE)), 5421);
	/* a redispatch to a key that no argument has */
	add(select);
	CHECK_INT(trace_of(DK_KEY_BITS(DK_BACKEND_SELECT)), 61);
}

/* ---- lists and notifications of registrations --------------------------------- */

/* Returns the number of lines of @list, and checks that @whole has all of them. */
static unsigned int lines_within(const char *list, const char *whole)
{
	unsigned int n = 0;
	const char *line, *end;
	char name[DK_NAME_MAX + 2];

	for (line = list; (end = strchr(line, '\n')); line = end + 1, n++) {
		snprintf(name, sizeof(name), "\n%.*s\n", (int)(end - line), line);
		CHECK(strstr(whole, name));
	}
	return n;
}

/* states: 11.3.10 */
static void registrations_for_a_key(void)
{
	static struct dk_op_decl others[3];
	static char at_cpu[512], all[512];

	setup();
	others[0] = t_decl("statements::cpu");
	others[1] = t_decl("statements::cuda");
	others[2] = t_decl("statements::cpu.out");
	at(DK_CUDA, 0);
	add(t_impl(&others[0], DK_CPU, 1));
	add(t_impl(&others[1], DK_CUDA, 2));
	add(t_impl(&others[2], DK_CPU, 3));
	add(t_impl(&others[2], DK_AUTOGRAD, 4));
	all[0] = '\n';
	dk_registry_list_ops(t_reg, DK_UNDEFINED, all + 1, sizeof(all) - 1);
	dk_registry_list_ops(t_reg, DK_CPU, at_cpu, sizeof(at_cpu));
	CHECK_INT(lines_within(at_cpu, all), 2);
	CHECK_INT(lines_within(all + 1, all), 4);
}

/* The definitions that a listener was notified of; functions are not recorded. */
static char events[128];

static void record_definition(struct dk_listener *l, const struct dk_event *event)
{
	size_t len = strlen(events);

	if (event->kind != DK_EVENT_IMPL)
		snprintf(events + len, sizeof(events) - len, "%c%s ",
			 event->kind == DK_EVENT_DEFINED ? '+' : '-', event->name);
}

/*
 * states: 11.3.11
 *
 * Unlike in PyTorch, listeners are also notified of functions. record_definition() ignores these
 * events.
 */
static void listeners_are_notified_of_definitions(void)
{
	struct dk_listener listener = { .size = sizeof(listener), .notify = record_definition };
	static struct dk_op_decl late;

	setup();
	events[0] = 0;
	listener.registry = t_reg;
	CHECK_OK(dk_listener_register(&listener, &t_why));
	CHECK_STR(events, "+statements::op ");
	events[0] = 0;
	late = t_decl("statements::heard");
	add(t_impl(&late, DK_CPU, 1));
	CHECK_STR(events, "");
	CHECK_OK(dk_op_define(&provider, &late, 0, &t_why));
	CHECK_STR(events, "+statements::heard ");
	events[0] = 0;
	add(t_impl(&late, DK_CUDA, 2));
	CHECK_STR(events, "");
	CHECK_OK(dk_op_undefine(&provider, late.name, &t_why));
	CHECK_STR(events, "-statements::heard ");
	/* the functions of the operator stay registered */
	CHECK(dk_registry_list_dangling(t_reg, NULL, 0) > 0);
	CHECK_OK(dk_listener_unregister(&listener));
}

/* ---- modes ----------------------------------------------------------------- */

static int num_in_mode;

static struct dk_local without_mode(const struct dk_call *c)
{
	struct dk_local local = *dk_call_local(c);

	dk_local_exclude(&local, DK_SET(MODE));
	return local;
}

/* Serves all operators that are called in the mode, and calls them without the mode. */
static int leave_mode(struct dk_call *c, void *args)
{
	struct noted_args *a = args;
	struct dk_local local = without_mode(c);
	struct dk_op *called = dk_op_get(t_reg, dk_call_decl(c)->name);
	int err;

	num_in_mode++;
	err = !strcmp(dk_call_decl(c)->name, "statements::whole") ?
	      whole_at(called, &local, a->x, a->trace) :
	      noted_at(called, &local, a->x, a->trace);
	dk_op_put(called);
	return err;
}

/* A composite function: makes calls with the local state of its own call. */
static int whole_anywhere(struct dk_call *c, struct dk_obj *x, int *trace)
{
	int i, err = 0;

	for (i = 0; i < 3 && !err; i++)
		err = noted_at(op, dk_call_local(c), x, trace);
	return err;
}

static int call_whole(struct dk_op *called, const struct dk_local *local, u64 bits)
{
	struct dk_obj x = t_obj(bits);
	int trace = 0, err;

	num_in_mode = 0;
	err = whole_at(called, local, &x, &trace);
	return err ? err : trace;
}

/* An object inside another object. */
struct wrapper {
	struct dk_obj outside;
	struct dk_obj inside;
};

/* Calls the operator with the object that is inside the argument. */
static int unwrap(struct dk_call *c, void *args)
{
	struct noted_args *a = args;
	struct wrapper *w = (struct wrapper *)a->x;
	struct dk_op *called = dk_op_get(t_reg, dk_call_decl(c)->name);
	int err;

	note(a->trace, 8);
	err = noted_at(called, dk_call_local(c), &w->inside, a->trace);
	dk_op_put(called);
	note(a->trace, 9);
	return err;
}

static int noted_mode(struct dk_call *c, struct dk_obj *x, int *trace)
{
	note(trace, 7);
	return noted_below(c, x, trace);
}

/* states: 11.3.12 */
static void modes_and_wrappers(void)
{
	static const struct dk_impl cpu = DK_IMPL(noted, DK_CPU, noted_cpu);
	static const struct dk_impl composite =
		DK_IMPL(whole, DK_COMPOSITE_IMPLICIT_AUTOGRAD, whole_anywhere);
	static const struct dk_impl mode = DK_FALLBACK(MODE, leave_mode);
	static const struct dk_impl wrapping =
		DK_FALLBACK(DK_TESTING_ONLY_GENERIC_WRAPPER, unwrap);
	static const struct dk_impl pass = DK_FALLTHROUGH(MODE);
	static const struct dk_impl own = DK_IMPL(noted, MODE, noted_mode);
	struct dk_local local = t_no_local(), in_mode = t_no_local();
	struct wrapper w = { t_obj(DK_KEY_BITS(DK_TESTING_ONLY_GENERIC_WRAPPER)),
			     t_obj(PLAIN(CPU)) };
	struct dk_op *both;
	int trace = 0;

	dk_local_include(&in_mode, DK_SET(MODE));
	setup_noted();
	CHECK_OK(dk_op_define(&provider, &whole_op, 0, &t_why));
	both = dk_op_get(t_reg, "statements::whole");
	add(cpu);
	add(composite);
	/* in the mode, its function runs once, because it continues the call without the mode */
	add(mode);
	CHECK_INT(call_whole(both, &local, PLAIN(CPU)), 111);
	CHECK_INT(num_in_mode, 0);
	CHECK_INT(call_whole(both, &in_mode, PLAIN(CPU)), 111);
	CHECK_INT(num_in_mode, 1);
	/* a wrapper's key routes to the function that unwraps it */
	add(wrapping);
	CHECK_OK(noted_at(op, &local, &w.outside, &trace));
	CHECK_INT(trace, 819);
	/* the mode falls through, except at the operator that has a function at its key */
	CHECK_OK(dk_impls_unregister(&provider, &impls[2], &t_why));
	add(pass);
	add(own);
	CHECK_INT(call_whole(both, &local, PLAIN(CPU)), 111);
	CHECK_INT(call_whole(both, &in_mode, PLAIN(CPU)), 717171);
	CHECK_INT(num_in_mode, 0);
	dk_op_put(both);
}

T_SUITE(statements,
	T(functions_precede_fallbacks),
	T(autograd_only_with_autograd_keys),
	T(implicit_beside_others),
	T(explicit_beside_implicit),
	T(later_registrations_serve_at_once),
	T(fpga_beside_implicit),
	T(private_backend_beside_catch_all),
	T(catch_all_skips_autograd_of_served_backends),
	T(redispatch_by_keyset),
	T(registrations_for_a_key),
	T(listeners_are_notified_of_definitions),
	T(modes_and_wrappers));
