// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests hooks around calls, and lines of the trace (SEMANTICS 8.5 and 8.6). full_registry.h
 * explains the comments "refuses:".
 */
#include "test.h"

DK_OP(outer, "hook::outer", (struct dk_obj *x, int *n), (x, n), (x));
DK_OP(inner, "hook::inner", (struct dk_obj *x, int *n), (x, n), (x));
DK_OP(size, "aten::size", (struct dk_obj *x, int *n), (x, n), (x));

#define MOST	16

/* The calls that a hook received. */
static struct runs {
	bool after;
	struct dk_hook_info info;
	char name[32];
	char line[96];
} runs[MOST];
static unsigned int num_runs;
static struct dk_provider me;

static void record(const struct dk_hook_info *info, bool after)
{
	struct runs *t = &runs[num_runs];

	if (num_runs == MOST)
		return;
	num_runs++;
	t->after = after;
	t->info = *info;
	snprintf(t->name, sizeof(t->name), "%s", info->name);
	dk_trace_line(info, t->line, sizeof(t->line));
}

static void before(struct dk_hooks *h, const struct dk_hook_info *info)
{
	CHECK_STR(h->data, "mine");
	record(info, false);
}

static void after(struct dk_hooks *h, const struct dk_hook_info *info)
{
	CHECK_STR(h->data, "mine");
	record(info, true);
}

static struct dk_hooks make_hooks(u32 flags)
{
	struct dk_hooks h = {
		.size = sizeof(h), .flags = flags,
		.before = before, .after = after, .data = "mine",
	};

	num_runs = 0;
	memset(runs, 0, sizeof(runs));
	return h;
}

static int outer_autograd(struct dk_call *c, struct dk_obj *x, int *n)
{
	return outer_below(c, x, n);
}

/* Calls another operator with the local state that this function received. */
static int outer_cpu(struct dk_call *c, struct dk_obj *x, int *n)
{
	++*n;
	return inner_in(dk_call_local(c), x, n) ?: 7;
}

static int inner_autograd(struct dk_call *c, struct dk_obj *x, int *n)
{
	++*n;
	return 0;
}

static int size_cpu(struct dk_call *c, struct dk_obj *x, int *n)
{
	++*n;
	return 0;
}

static const struct dk_impl impls[] = {
	DK_IMPL(outer, DK_AUTOGRAD_CPU, outer_autograd),
	DK_IMPL(outer, DK_CPU, outer_cpu),
	DK_IMPL(inner, DK_AUTOGRAD_CPU, inner_autograd),
	DK_IMPL(size, DK_CPU, size_cpu),
};

static struct dk_obj top;

static void setup(void)
{
	static struct dk_provider provider = DK_PROVIDER("hook");

	me = provider;
	t_register(&me);
	CHECK_OK(dk_op_define(&me, &outer_op, 0, &t_why));
	CHECK_OK(dk_op_define(&me, &inner_op, 0, &t_why));
	CHECK_OK(dk_op_define(&me, &size_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, impls, ARRAY_SIZE(impls), &t_why));
	top = dk_obj_on(DK_BACKEND_CPU, 0);
	top.ks = dk_keyset_or(top.ks, DK_SET(DK_AUTOGRAD_CPU));
}

static void check_run(unsigned int i, bool is_after, const char *line, s64 sequence,
		      int result)
{
	CHECK(i < num_runs);
	CHECK_INT(runs[i].after, is_after);
	CHECK_STR(runs[i].line, line);
	CHECK_INT(runs[i].info.sequence, sequence);
	CHECK_INT(runs[i].info.result, result);
}

/* Hooks run in pairs, nested like the calls. SEMANTICS 8.5 defines the lines. */
static void hooks_nest_like_calls(void)
{
	struct dk_hooks h = make_hooks(DK_HOOK_TRACE);
	s64 first;
	int n = 0;

	CHECK_OK(dk_hooks_register(NULL, &h, &t_why));
	CHECK_INT(outer(&top, &n), 7);
	CHECK_OK(dk_hooks_unregister(&h, &t_why));
	CHECK_INT(n, 2);
	CHECK_INT(num_runs, 6);
	first = runs[0].info.sequence;
	CHECK(first >= 0);
	check_run(0, false, " [call] op=[hook::outer], key=[AutogradCPU]", first, 0);
	check_run(1, false, "  [redispatch] op=[hook::outer], key=[CPU]", -1, 0);
	check_run(2, false, "   [call] op=[hook::inner], key=[AutogradCPU]", first + 1, 0);
	check_run(3, true, "   [call] op=[hook::inner], key=[AutogradCPU]", first + 1, 0);
	check_run(4, true, "  [redispatch] op=[hook::outer], key=[CPU]", -1, 7);
	check_run(5, true, " [call] op=[hook::outer], key=[AutogradCPU]", first, 7);
	/* a call without hooks does not change the depth */
	CHECK_INT(outer(&top, &n), 7);
	CHECK_INT(num_runs, 6);
	CHECK_OK(dk_hooks_register(NULL, &h, &t_why));
	CHECK_OK(inner(&top, &n));
	CHECK_OK(dk_hooks_unregister(&h, &t_why));
	CHECK_STR(runs[6].line, " [call] op=[hook::inner], key=[AutogradCPU]");
	CHECK(runs[6].info.sequence > first + 1);
}

/* Hooks without DK_HOOK_TRACE run neither for redispatches nor for aten::size. */
static void hooks_without_trace_skip_redispatches(void)
{
	struct dk_hooks h = make_hooks(0);
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0), cuda;
	int n = 0;

	CHECK_OK(dk_hooks_register(NULL, &h, &t_why));
	CHECK_INT(outer(&top, &n), 7);
	CHECK_INT(num_runs, 4);
	CHECK_STR(runs[1].name, "hook::inner");
	CHECK_OK(size(&cpu, &n));
	CHECK_INT(num_runs, 4);
	/* a call without an autograd key has no sequence number */
	CHECK_INT(outer(&cpu, &n), -ENOSYS);
	CHECK_INT(runs[4].info.sequence, -1);
	/* both hooks run for an unserved call, which has no struct dk_call */
	num_runs = 0;
	cuda = dk_obj_on(DK_BACKEND_CUDA, 0);
	CHECK_INT(inner(&cuda, &n), -ENOSYS);
	CHECK_INT(num_runs, 2);
	check_run(0, false, " [call] op=[hook::inner], key=[CUDA]", -1, 0);
	check_run(1, true, " [call] op=[hook::inner], key=[CUDA]", -1, -ENOSYS);
	CHECK(!runs[0].info.call && !runs[1].info.call);
	cuda.ks.bits = 0;
	CHECK_INT(inner(&cuda, &n), -ENOSYS);
	check_run(2, false, " [call] op=[hook::inner], key=[Undefined]", -1, 0);
	CHECK_OK(dk_hooks_unregister(&h, &t_why));
}

static u64 redispatched_to;

static int outer_tracer(struct dk_call *c, struct dk_obj *x, int *n)
{
	return outer_redispatch(c, DK_KEYSET(redispatched_to), x, n);
}

/*
 * A redispatch uses its keyset unchanged, unless the highest key in it falls through. Only then are
 * all keys that fall through removed. A redispatch has no sequence number, even with an autograd
 * key.
 */
static void redispatch_keeps_its_keyset(void)
{
	static const struct dk_impl above[] = {
		DK_IMPL(outer, DK_TRACER, outer_tracer),
		DK_IMPL_FALLTHROUGH(outer, DK_PYTHON),
		DK_IMPL_FALLTHROUGH(inner, DK_TRACER),
	};
	struct dk_hooks h = make_hooks(DK_HOOK_TRACE);
	struct dk_obj x;
	s64 first;
	int n = 0;

	CHECK_OK(dk_impls_register(&me, above, ARRAY_SIZE(above), &t_why));
	redispatched_to = top.ks.bits | DK_KEY_BITS(DK_PYTHON);
	x = top;
	x.ks = dk_keyset_or(x.ks, DK_SET(DK_TRACER));
	CHECK_OK(dk_hooks_register(NULL, &h, &t_why));
	CHECK_INT(outer(&x, &n), 7);
	CHECK_OK(dk_hooks_unregister(&h, &t_why));
	first = runs[0].info.sequence;
	check_run(0, false, " [call] op=[hook::outer], key=[Tracer]", first, 0);
	check_run(1, false, "  [redispatch] op=[hook::outer], key=[AutogradCPU]", -1, 0);
	CHECK_INT(runs[1].info.ks.bits, redispatched_to);
	check_run(2, false, "   [redispatch] op=[hook::outer], key=[CPU]", -1, 0);
	check_run(3, false, "    [call] op=[hook::inner], key=[AutogradCPU]", first + 1, 0);
}

/* ---- hooks that are registered and unregistered during a call ------------- */

DK_OP(changes, "hook::changes", (struct dk_obj *x, struct dk_hooks *h), (x, h), (x));

/* Unregisters the hooks if they are registered, and registers them otherwise. */
static int changes_cpu(struct dk_call *c, struct dk_obj *obj, struct dk_hooks *h)
{
	return h->id ? dk_hooks_unregister(h, &t_why) :
		       dk_hooks_register(NULL, h, &t_why);
}

static int calls;

static void count_calls(struct dk_hooks *h, const struct dk_hook_info *info)
{
	calls += info->result == 0;
}

static void hooks_change_during_a_call(void)
{
	static const struct dk_impl impl[] = { DK_IMPL(changes, DK_CPU, changes_cpu) };
	struct dk_hooks h = make_hooks(0), other = {
		.size = sizeof(other), .after = count_calls,
	};
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);

	calls = 0;
	CHECK_OK(dk_op_define(&me, &changes_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, impl, 1, &t_why));
	CHECK_OK(dk_hooks_register(NULL, &other, &t_why));
	/* hooks that are registered during a call run neither before nor after it */
	CHECK_OK(changes(&cpu, &h));
	CHECK_INT(num_runs, 0);
	CHECK_INT(calls, 1);
	/* hooks that are unregistered during a call run only before it */
	CHECK_OK(changes(&cpu, &h));
	CHECK_INT(num_runs, 1);
	CHECK(!runs[0].after);
	CHECK_INT(calls, 2);
	CHECK_OK(dk_hooks_unregister(&other, &t_why));
}

/* ---- refusals ------------------------------------------------------------- */

static struct dk_registry *unused;
static int refused;

static void unregister_itself(struct dk_hooks *h, const struct dk_hook_info *info)
{
	/* refuses: dk_registry_free EDEADLK ATOMIC */
	CHECK_INT(dk_registry_free(unused, &t_why), -EDEADLK);
	CHECK_INT(t_why.reason, DK_WHY_ATOMIC);
	/* refuses: dk_hooks_unregister EDEADLK ATOMIC */
	refused = dk_hooks_unregister(h, &t_why);
}

static void hook_cannot_unregister_itself(void)
{
	struct dk_hooks h = make_hooks(0);
	int n = 0;

	if (t_skip_atomic())
		return;
	unused = dk_registry_alloc(NULL, 0, &t_why);
	h.before = unregister_itself;
	CHECK_OK(dk_hooks_register(NULL, &h, &t_why));
	CHECK_OK(inner(&top, &n));
	CHECK_INT(refused, -EDEADLK);
	CHECK_INT(t_why.reason, DK_WHY_ATOMIC);
	CHECK_OK(dk_hooks_unregister(&h, &t_why));
	CHECK_OK(dk_registry_free(unused, &t_why));
}

/*
 * A line is indented by a blank for each level. It is cut off if it does not fit, but the returned
 * length is that of the whole line.
 */
static void trace_line_of_any_depth(void)
{
	struct dk_hook_info info = { .name = "a::b", .key = DK_CPU };
	char line[8];
	size_t at_0;

	info.op = t_get("hook::inner");
	at_0 = dk_trace_line(&info, line, sizeof(line));
	CHECK_STR(line, " [call]");
	info.depth = 100;
	CHECK_INT(dk_trace_line(&info, line, sizeof(line)), at_0 + 100);
	CHECK_STR(line, "       ");
	info.depth = (u32)-1;
	CHECK_INT(dk_trace_line(&info, line, sizeof(line)), at_0 - 1 + 0x7fffffff);
}

static void refusals(void)
{
	struct dk_hooks h = make_hooks(0), bad;
	struct dk_registry *reg;

	bad = h;
	bad.size = 0;
	/* refuses: dk_hooks_register EINVAL BAD_SIZE */
	CHECK_INT(dk_hooks_register(NULL, &bad, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_SIZE);
	bad = h;
	bad.flags = 2;
	/* refuses: dk_hooks_register EINVAL BAD_FLAGS */
	CHECK_INT(dk_hooks_register(NULL, &bad, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_FLAGS);
	bad = h;
	bad.before = NULL;
	bad.after = NULL;
	/* refuses: dk_hooks_register EINVAL NO_HOOK */
	CHECK_INT(dk_hooks_register(NULL, &bad, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_NO_HOOK);
	/* refuses: dk_hooks_unregister ENOENT NOT_HOOKED */
	CHECK_INT(dk_hooks_unregister(&h, &t_why), -ENOENT);
	CHECK_INT(t_why.reason, DK_WHY_NOT_HOOKED);
	CHECK_OK(dk_hooks_register(NULL, &h, &t_why));
	/* refuses: dk_hooks_register EEXIST HOOKED */
	CHECK_INT(dk_hooks_register(NULL, &h, &t_why), -EEXIST);
	CHECK_INT(t_why.reason, DK_WHY_HOOKED);
	CHECK_OK(dk_hooks_unregister(&h, &t_why));
	t_close();

	/* a registry with hooks cannot be freed */
	reg = dk_registry_alloc(NULL, 0, &t_why);
	CHECK_OK(dk_hooks_register(reg, &h, &t_why));
	CHECK_INT(dk_registry_free(reg, &t_why), -EBUSY);
	CHECK_OK(dk_hooks_unregister(&h, &t_why));
	CHECK_OK(dk_registry_free(reg, &t_why));
}

T_SUITE_WITH(hook, setup,
	T(hooks_nest_like_calls),
	T(hooks_without_trace_skip_redispatches),
	T(redispatch_keeps_its_keyset),
	T(hooks_change_during_a_call),
	T(hook_cannot_unregister_itself),
	T(trace_line_of_any_depth),
	T(refusals));
