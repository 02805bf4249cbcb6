// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * board: uses the dispatcher on a board without an operating system. Two operators have
 * functions for the CPU and for an accelerator "npu0". An interrupt completes the copies of
 * the accelerator.
 */
#include <dispatchkey.h>

#include "board.h"

struct tensor {
	struct dk_obj dk;
	int data[4];
};

/* A copy. An interrupt handler sets @done. */
struct job {
	struct tensor *to;
	const struct tensor *from;
	struct dk_deferred token;
	bool done;
};

DK_OP(my_add, "my::add",
	(struct tensor *out, const struct tensor *a, const struct tensor *b),
	(out, a, b), (&a->dk, &b->dk));
DK_OP(my_copy, "my::copy", (struct job *job), (job), (&job->from->dk));

static void copy(struct tensor *to, const struct tensor *from)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		to->data[i] = from->data[i];
}

static void add(struct tensor *out, const struct tensor *a, const struct tensor *b)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		out->data[i] = a->data[i] + b->data[i];
}

/* ---- functions -------------------------------------------------------------- */

static int add_cpu(struct dk_call *c, struct tensor *out, const struct tensor *a,
		   const struct tensor *b)
{
	print("add_cpu\n");
	add(out, a, b);
	return 0;
}

static int copy_cpu(struct dk_call *c, struct job *job)
{
	print("copy_cpu\n");
	copy(job->to, job->from);
	job->done = true;
	return 0;
}

static int add_npu(struct dk_call *c, struct tensor *out, const struct tensor *a,
		   const struct tensor *b)
{
	print("add_npu on ");
	print(dk_call_priv(c));
	print("\n");
	add(out, a, b);
	return 0;
}

static struct job *running;	/* on the accelerator */

/* Submits the job. Unregistering waits until the interrupt completes it. */
static int copy_npu(struct dk_call *c, struct job *job)
{
	int err = running ? -EBUSY : dk_call_defer(c, &job->token);

	if (err)
		return err;
	print("copy_npu: submitted\n");
	running = job;
	board_timer_start(10);
	return 0;
}

/* Runs in the interrupt handler. */
void board_timer_expired(void)
{
	struct job *job = running;

	copy(job->to, job->from);
	job->done = true;
	running = NULL;
	print("interrupt: completed\n");
	dk_call_complete(&job->token, 0);
}

/* While the key Tracer is included, this runs first, and continues with the keys below Tracer. */
static int add_trace(struct dk_call *c, struct tensor *out, const struct tensor *a,
		     const struct tensor *b)
{
	print("traced, then ");
	return my_add_below(c, out, a, b);
}

static const struct dk_impl cpu_impls[] = {
	DK_IMPL(my_add, DK_CPU, add_cpu),
	DK_IMPL(my_add, DK_TRACER, add_trace),
	DK_IMPL(my_copy, DK_CPU, copy_cpu),
};

static const struct dk_impl npu_impls[] = {
	DK_IMPL(my_add, DK_DENSE, add_npu),
	DK_IMPL(my_copy, DK_DENSE, copy_npu),
};

/* ---- the program ------------------------------------------------------------ */

static char arena[12 * 1024];
static struct dk_provider cpu = DK_PROVIDER("cpu"), npu = DK_PROVIDER("npu");

/* Registers everything, and makes an object on the accelerator. */
static int begin(struct dk_obj *on_npu, struct dk_diag *why)
{
	unsigned int backend = 0;
	int err;

	dk_bare_interrupts(board_interrupts_off, board_interrupts_restore);
	err = dk_bare_arena(arena, sizeof(arena));
	if (!err)
		err = dk_provider_register(&cpu, why);
	if (!err)
		err = dk_op_define(&cpu, &my_add_op, 0, why);
	if (!err)
		err = dk_op_define(&cpu, &my_copy_op, 0, why);
	if (!err)
		err = dk_impls_register(&cpu, cpu_impls, 3, why);
	if (!err)
		err = dk_provider_register(&npu, why);
	if (!err)
		err = dk_backend_join(&npu, "npu", 0, 0, &backend, why);
	if (!err)
		err = dk_device_register(&npu, backend, "npu0", "npu0", npu_impls, 2,
					 &on_npu->device, why);
	return err ? err : dk_device_find(NULL, "npu0", on_npu, why);
}

static int calls(struct dk_obj on_cpu, struct dk_obj on_npu)
{
	struct tensor a = { on_cpu, { 1, 2, 3, 4 } }, b = { on_cpu, { 10, 20, 30, 40 } };
	struct tensor c = { on_npu, { 0 } };
	struct dk_local traced = dk_local_default;
	int err = my_add(&c, &a, &b);			/* add_cpu */

	if (!err)
		err = my_add(&c, &c, &b);		/* add_npu: c is on the highest backend */
	dk_local_include(&traced, DK_SET(DK_TRACER));
	if (!err)
		err = my_add_in(&traced, &c, &a, &c);	/* add_trace, then add_npu */
	print("sums: ");
	print_number(c.data[0]);
	print(" ... ");
	print_number(c.data[3]);
	print("\n");
	return err;
}

/* Prints where a call is routed, and the effect of each registration on the route. */
static int explain(struct dk_op *op, const char *what, struct dk_obj on)
{
	static const char * const bearing[] = {
		"not used", "overridden", "serves", "decides", "changes the set", "offline",
	};
	static struct dk_explain ex = { .size = sizeof(ex) };
	static struct dk_step step = { .size = sizeof(step) };
	const struct dk_obj *objs[] = { &on };
	char key[DK_NAME_MAX];
	unsigned int i;
	int err = dk_op_explain(op, DK_KEYSET(0), DK_KEYSET(0), objs, 1, &ex);

	print("my::add on ");
	print(what);
	print(": ");
	print(err || ex.error ? dk_call_error_text(err ? err : ex.error) : ex.route.entry.label);
	print("\n");
	for (i = 0; !err && !dk_explain_step(op, &ex, i, &step); i++) {
		if (step.kind != DK_STEP_IMPL || step.is_fallback)
			continue;
		print("   ");
		print(step.label);
		print(" at ");
		print(dk_key_name(NULL, step.impl_key, key));
		print(step.device ? ", npu0: " : ": ");
		print(bearing[step.bearing]);
		print("\n");
	}
	return err;
}

static int explanations(struct dk_obj on_cpu, struct dk_obj on_npu)
{
	struct dk_op *op = dk_op_get(NULL, "my::add");
	int err = op ? 0 : -ENOENT;

	if (!err)
		err = explain(op, "the CPU", on_cpu);
	if (!err)
		err = explain(op, "npu0", on_npu);
	if (!err)
		err = explain(op, "CUDA", dk_obj_on(DK_BACKEND_CUDA, 0));
	dk_op_put(op);
	return err;
}

/* Unregisters the accelerator while it copies. */
static int end(struct dk_obj on_cpu, struct dk_obj on_npu)
{
	struct tensor to = { on_cpu, { 0 } }, from = { on_npu, { 5, 6, 7, 8 } };
	struct job job = { .to = &to, .from = &from };
	int err;

	dk_deferred_init(&job.token);
	err = my_copy(&job);			/* copy_npu */
	if (err)
		return err;
	print("npu: unregister\n");
	err = dk_provider_unregister(&npu);	/* waits for the interrupt */
	print("npu: unregistered\n");
	if (!err && (!job.done || to.data[3] != 8))
		err = -EPROTO;
	return err ? err : dk_provider_unregister(&cpu);
}

int main(void)
{
	struct dk_obj on_cpu = dk_obj_on(DK_BACKEND_CPU, 0), on_npu = { 0 };
	struct dk_diag why = { .size = sizeof(why) };
	int err = begin(&on_npu, &why);

	if (err) {
		print(why.text ? why.text : "the arena is too small");
		print("\n");
		return 1;
	}
	dk_bare_arena_seal();		/* from here on nothing is allocated */
	print("dispatchkey without an operating system: 2 operators, 5 functions, 1 device\n");
	print("arena: ");
	print_number(dk_bare_arena_used());
	print(" of ");
	print_number(sizeof(arena));
	print(" bytes hold all registrations\n");
	err = calls(on_cpu, on_npu);
	if (!err)
		err = explanations(on_cpu, on_npu);
	if (!err)
		err = end(on_cpu, on_npu);
	if (err) {
		print(dk_call_error_text(err));
		print("\n");
	}
	return err ? 1 : 0;
}
