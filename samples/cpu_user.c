// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * cpu_user: runs the operators and CPU functions of dk_cpu.ko in a program. The CPU functions serve
 * objects of several backends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_impls.h"

static unsigned int served[CPU_NUM_OPS];

static void cpu_served(enum cpu_op op)
{
	served[op]++;
}

static int say(int err, const char *what, const struct dk_diag *why)
{
	if (err)
		fprintf(stderr, "cpu_user: %s: %s (%s)\n", what,
			why ? why->text : "the call failed", strerror(-err));
	return err;
}

/* Call both operators on objects of a backend, and print which function ran. */
static int run_on(const char *name)
{
	char text[] = "routed by a keyset", copy[sizeof(text)] = "";
	struct dk_diag why = { .size = sizeof(why) };
	struct dk_route route = { .size = sizeof(route) };
	const struct dk_obj *objs[1];
	struct sample_buf dst, src;
	unsigned int backend;
	struct dk_op *op;
	__u32 res;

	if (say(dk_backend_find(NULL, name, &backend, &why), name, &why))
		return EXIT_FAILURE;
	dst = (struct sample_buf){ dk_obj_on(backend, 0), sizeof(copy), copy };
	src = (struct sample_buf){ dk_obj_on(DK_BACKEND_CPU, 0), sizeof(text), text };

	if (say(sample_factorial(&dst.dk, 10, &res), "sample::factorial", NULL) ||
	    say(sample_copy(&dst, &src), "sample::copy", NULL))
		return EXIT_FAILURE;
	printf("%-5s 10! = %u, \"%s\"", name, res, copy);

	op = dk_op_get(NULL, "sample::factorial");
	objs[0] = &dst.dk;
	if (op && !dk_op_route(op, dk_local_included(dk_local_current()),
			       dk_local_excluded(dk_local_current()), objs, 1, &route))
		printf(" by %s (%s)", route.entry.label,
		       dk_provenance_name((enum dk_provenance)route.entry.provenance));
	if (op)
		dk_op_put(op);
	putchar('\n');
	return res == 3628800 && !strcmp(text, copy) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(void)
{
	static struct dk_provider cpu = DK_PROVIDER("cpu_user");
	struct dk_diag why = { .size = sizeof(why) };
	int status = EXIT_FAILURE;

	if (!say(dk_provider_register(&cpu, &why), "dk_provider_register", &why) &&
	    !say(dk_op_define(&cpu, &sample_factorial_op, 0, &why), "dk_op_define", &why) &&
	    !say(dk_op_define(&cpu, &sample_copy_op, 0, &why), "dk_op_define", &why) &&
	    !say(dk_op_define(&cpu, &sample_queue_copy_op, 0, &why), "dk_op_define", &why) &&
	    !say(dk_impls_register(&cpu, cpu_impls, sizeof(cpu_impls) / sizeof(*cpu_impls),
				   &why), "dk_impls_register", &why)) {
		status = run_on("CPU") | run_on("CUDA") | run_on("XPU");
		printf("served: %u factorials, %u copies\n",
		       served[CPU_FACTORIAL], served[CPU_COPY]);
	}
	dk_provider_unregister(&cpu);
	return status;
}
