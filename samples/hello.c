// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * hello: a runtime with tensors, one operator, and a tracer around the operator.
 *
 *	cc hello.c $(pkg-config --cflags --libs dispatchkey)
 */
#include <dispatchkey.h>
#include <err.h>
#include <stdio.h>
#include <string.h>

struct tensor {
	struct dk_obj dk;
	float data[3];
};

DK_OP(my_add, "my::add",
	(struct tensor *out, const struct tensor *a, const struct tensor *b),
	(out, a, b), (&a->dk, &b->dk));

static int add_cpu(struct dk_call *c, struct tensor *out, const struct tensor *a,
		   const struct tensor *b)
{
	puts("add_cpu");
	for (int i = 0; i < 3; i++)
		out->data[i] = a->data[i] + b->data[i];
	return 0;
}

static int add_trace(struct dk_call *c, struct tensor *out, const struct tensor *a,
		     const struct tensor *b)
{
	char key[DK_NAME_MAX];

	printf("traced by key %s, then ", dk_key_name(NULL, dk_call_key(c), key));
	return my_add_below(c, out, a, b);	/* the keys below this one */
}

static const struct dk_impl impls[] = {
	DK_IMPL(my_add, DK_CPU, add_cpu),
	DK_IMPL(my_add, DK_TRACER, add_trace),
};

int main(void)
{
	struct tensor a = { dk_obj_on(DK_BACKEND_CPU, 0), { 1, 2, 3 } };
	struct tensor b = { dk_obj_on(DK_BACKEND_CPU, 0), { 10, 20, 30 } };
	struct tensor c = { dk_obj_on(DK_BACKEND_CPU, 0), { 0 } };
	static struct dk_provider me = DK_PROVIDER("hello");
	struct dk_diag why = { .size = sizeof(why) };
	int error;

	if (dk_provider_register(&me, &why) || dk_op_define(&me, &my_add_op, 0, &why) ||
	    dk_impls_register(&me, impls, 2, &why))
		errx(1, "%s", why.text);

	error = my_add(&c, &a, &b);		/* add_cpu */
	if (!error) {
		DK_INCLUDE(DK_SET(DK_TRACER));	/* to the end of this block */
		error = my_add(&c, &c, &b);	/* add_trace, then add_cpu */
	}
	if (error)
		errx(1, "my::add: %s", strerror(-error));
	printf("%g %g %g\n", c.data[0], c.data[1], c.data[2]);
	return dk_provider_unregister(&me);
}
