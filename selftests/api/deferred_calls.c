// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests deferred calls of every kind. Each call delays unregistering the provider whose function
 * deferred it.
 */
#include "visit.h"

struct job {
	struct dk_deferred token, second;
	bool defers_twice;
	int err;		/* of dk_call_defer() */
};

DK_OP(queue, "deferred::queue", (struct dk_obj *x, struct job *job), (x, job), (x));
DK_OP(below, "deferred::below", (struct dk_obj *x, struct job *job), (x, job), (x));

static struct dk_op *op_queue, *op_below;
static struct dk_obj cpu, cuda, with_grad;
static struct job job;

static int defer(struct dk_call *c, struct job *j)
{
	j->err = dk_call_defer(c, &j->token);
	if (!j->err && j->defers_twice)
		j->err = dk_call_defer(c, &j->second);
	return j->err;
}

static int queue_guest(struct dk_call *c, struct dk_obj *x, struct job *j)
{
	return defer(c, j);
}

static int queue_boxed(struct dk_call *c, void *args)
{
	struct queue_args *a = args;

	return defer(c, a->job);
}

/* Serves both operators, which have the same arguments. */
static int fallback_guest(struct dk_call *c, void *args)
{
	return queue_boxed(c, args);
}

static int pass(struct dk_call *c, struct dk_obj *x, struct job *j)
{
	return below_below(c, x, j);
}

static int defer_and_pass(struct dk_call *c, struct dk_obj *x, struct job *j)
{
	return defer(c, j) ?: queue_below(c, x, NULL);
}

static int nothing(struct dk_call *c, struct dk_obj *x, struct job *j)
{
	return 0;
}

static const struct dk_impl of_guest[] = {
	DK_IMPL(queue, DK_CPU, queue_guest),
	DK_IMPL(below, DK_CPU, queue_guest),
	DK_IMPL_BOXED(queue, DK_CUDA, queue_boxed),
	DK_IMPL(queue, DK_AUTOGRAD_CUDA, defer_and_pass),
};

static const struct dk_impl of_host[] = {
	DK_IMPL(below, DK_AUTOGRAD_CPU, pass),
	DK_IMPL(queue, DK_XLA, nothing),
};

static const struct dk_impl fallback = DK_FALLBACK(DK_TRACER, fallback_guest);

static void setup(void)
{
	v_open();
	CHECK_OK(dk_op_define(&v_host, &queue_op, 0, &t_why));
	CHECK_OK(dk_op_define(&v_host, &below_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&v_host, of_host, ARRAY_SIZE(of_host), &t_why));
	CHECK_OK(dk_impls_register(&v_guest, of_guest, ARRAY_SIZE(of_guest), &t_why));
	CHECK_OK(dk_fallback_register(&v_guest, &fallback, &t_why));
	op_queue = t_get("deferred::queue");
	op_below = t_get("deferred::below");
	cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	cuda = dk_obj_on(DK_BACKEND_CUDA, 0);
	memset(&job, 0, sizeof(job));
	dk_deferred_init(&job.token);
	dk_deferred_init(&job.second);
}

/*
 * Checks that @n deferred calls of @op delay unregistering the guest until the last of them is
 * completed.
 */
static void check_guest_waits(const char *op, struct dk_deferred *const *tokens, unsigned int n)
{
	unsigned int i;

	CHECK_STR(v_inside_at(0).op, op);
	for (i = 0; i < n; i++) {
		CHECK_INT(t_num_inside(&v_guest), n - i);
		CHECK_INT(t_num_inside(&v_host), 0);
		do
			CHECK_INT(dk_provider_unregister_timeout(&v_guest, 5, &t_why), -ETIMEDOUT);
		while (t_why.reason == DK_WHY_GRACE);
		CHECK_INT(t_why.reason, DK_WHY_STILL_INSIDE);
		CHECK_OK(dk_call_complete(tokens[i], 0));
	}
	CHECK_OK(dk_provider_unregister(&v_guest));
}

static void check_guest_waits_for_job(const char *op)
{
	struct dk_deferred *const token[] = { &job.token };

	CHECK_OK(job.err);
	check_guest_waits(op, token, 1);
}

static void boxed_function_defers(void)
{
	setup();
	CHECK_OK(queue_at(op_queue, &dk_local_default, &cuda, &job));
	check_guest_waits_for_job("deferred::queue");
}

static void call_with_boxed_arguments_is_deferred(void)
{
	struct queue_args args = { .x = &cpu, .job = &job };

	setup();
	CHECK_OK(dk_call_boxed(op_queue, &queue_op, &dk_local_default, &args));
	check_guest_waits_for_job("deferred::queue");
}

/* A fallback belongs to no operator, so its key is reported instead. */
static void fallback_defers(void)
{
	struct dk_local traced = dk_local_default;

	setup();
	dk_local_include(&traced, DK_SET(DK_TRACER));
	CHECK_OK(queue_at(op_queue, &traced, &cpu, &job));
	check_guest_waits_for_job("fallback for Tracer");
}

/* The function that redispatches belongs to another provider and does not defer its call. */
static void function_below_another_defers(void)
{
	setup();
	with_grad = cpu;
	with_grad.ks = dk_keyset_or(with_grad.ks, DK_SET(DK_AUTOGRAD_CPU));
	CHECK_OK(below_at(op_below, &dk_local_default, &with_grad, &job));
	check_guest_waits_for_job("deferred::below");
}

/* The function that redispatches defers; the one below it returns at once. */
static void function_above_another_defers(void)
{
	static const struct dk_impl below_it[] = { DK_IMPL(queue, DK_CUDA, nothing) };

	setup();
	CHECK_OK(dk_impls_register(&v_host, below_it, 1, &t_why));
	with_grad = cuda;
	with_grad.ks = dk_keyset_or(with_grad.ks, DK_SET(DK_AUTOGRAD_CUDA));
	CHECK_OK(queue_at(op_queue, &dk_local_default, &with_grad, &job));
	check_guest_waits_for_job("deferred::queue");
}

static void call_for_one_key_is_deferred(void)
{
	setup();
	CHECK_OK(queue_for_key(op_queue, &dk_local_default, DK_CPU, &cpu, &job));
	check_guest_waits_for_job("deferred::queue");
}

/* Each run of an entered call can be deferred with its own token. */
static void runs_of_a_batch_are_deferred(void)
{
	const struct dk_obj *objs[] = { &cpu };
	static struct job second;
	struct dk_deferred *const tokens[] = { &second.token, &job.token };
	struct dk_frame f;

	setup();
	dk_deferred_init(&second.token);
	CHECK_OK(dk_call_enter_op(&f, op_queue, &queue_op, &dk_local_default, objs, 1));
	CHECK_OK(queue_run(&f, &cpu, &job));
	CHECK_OK(queue_run(&f, &cpu, &second));
	CHECK_INT(t_num_inside(&v_guest), 3);
	dk_call_leave(&f);
	check_guest_waits("deferred::queue", tokens, 2);
}

static void call_is_deferred_by_two_tokens(void)
{
	struct dk_deferred *const tokens[] = { &job.token, &job.second };

	setup();
	job.defers_twice = true;
	CHECK_OK(queue_at(op_queue, &dk_local_default, &cpu, &job));
	check_guest_waits("deferred::queue", tokens, 2);
}

/* The function is overridden and then withdrawn while its call is deferred. */
static void call_of_a_replaced_function_stays_deferred(void)
{
	static const struct dk_impl newer[] = { DK_IMPL(queue, DK_CPU, nothing) };

	setup();
	CHECK_OK(queue_at(op_queue, &dk_local_default, &cpu, &job));
	CHECK_OK(dk_impls_register(&v_host, newer, 1, &t_why));
	CHECK_OK(queue_at(op_queue, &dk_local_default, &cpu, NULL));
	CHECK_OK(dk_impls_withdraw(&v_guest, of_guest, &t_why));
	check_guest_waits_for_job("deferred::queue");
}

static const char long_name[] = "deferred::"
	"an_operator_whose_name_has_as_many_characters_as_the_longest_of_pytorch";

/* Defers a call of an operator and of a function that both have long names. */
static void queue_long_names(const char *device)
{
	struct dk_op_decl decl = queue_op;
	struct dk_impl impl = of_guest[0];
	struct dk_obj x;
	struct dk_op *op;
	u32 number = 0;

	setup();
	decl.name = long_name;
	decl.op = NULL;
	impl.op = &decl;
	/* the label is too long, and would be cut in the middle of a character of two bytes */
	impl.label = "a_function_whose_name_has_\xc3\xa9 more than thirty characters";
	CHECK_OK(dk_op_define(&v_guest, &decl, 0, &t_why));
	if (device) {
		impl.key = DK_DENSE;
		CHECK_OK(dk_device_register(&v_guest, v_backend, device, NULL, &impl, 1, &number,
					    &t_why));
	} else {
		CHECK_OK(dk_impls_register(&v_guest, &impl, 1, &t_why));
	}
	x = dk_obj_on(device ? v_backend : DK_BACKEND_CPU, number);
	op = t_get(long_name);
	CHECK_OK(queue_at(op, &dk_local_default, &x, &job));
	t_put(op);
	check_guest_waits_for_job(long_name);
}

/* The reason is a text of limited length. It names the thread and the time in any case. */
static void report_of_a_long_name_is_cut(void)
{
	queue_long_names(NULL);
	CHECK(!strncmp(t_why.name, long_name, 53));
	CHECK(!strncmp(t_why.name + 53, "... a_function_whose_name_has_... (deferred)[", 45));
	CHECK(strstr(t_why.name, " ms"));
}

/* The time in the reason has 32 bits: a longer one is shown as the largest number. */
static void report_of_a_long_time(void)
{
	setup();
	CHECK_OK(queue_at(op_queue, &dk_local_default, &cpu, &job));
	job.token.since -= 1ULL << 32;
	check_guest_waits_for_job("deferred::queue");
	CHECK(strstr(t_why.name, " 4294967295 ms"));
}

static void report_of_a_long_device_name_is_cut(void)
{
	queue_long_names("a_device_with_a_long_name");
	CHECK(!strncmp(t_why.name, long_name, 44));
	CHECK(!strncmp(t_why.name + 44, "... a_function_whose_n...@a_device_with_... (deferred)[",
		       55));
	CHECK(strstr(t_why.name, " ms"));
}

T_SUITE(deferred_calls,
	T(boxed_function_defers),
	T(call_with_boxed_arguments_is_deferred),
	T(fallback_defers),
	T(function_below_another_defers),
	T(function_above_another_defers),
	T(call_for_one_key_is_deferred),
	T(runs_of_a_batch_are_deferred),
	T(call_is_deferred_by_two_tokens),
	T(call_of_a_replaced_function_stays_deferred),
	T(report_of_a_long_name_is_cut),
	T(report_of_a_long_time),
	T(report_of_a_long_device_name_is_cut));
