// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * hello: the C++ version of hello.c, a runtime with tensors, one operator, and a tracer
 * around the operator.
 *
 *	c++ -std=c++17 hello.cpp $(pkg-config --cflags --libs dispatchkey)
 */
#include <dispatchkey.hpp>
#include <cstdio>

struct tensor {
	dk_obj dk;
	float data[3];
};

/* Calls dispatch on parameters 1 and 2. */
using add_type = int(tensor &out, const tensor &a, const tensor &b);
static dk::op<add_type, dk::on<1, 2>> add{ "my::add" };

static int add_cpu(dk_call *, tensor &out, const tensor &a, const tensor &b)
{
	std::puts("add_cpu");
	for (int i = 0; i < 3; i++)
		out.data[i] = a.data[i] + b.data[i];
	return 0;
}

static int fail(const char *what)
{
	std::fprintf(stderr, "%s\n", what);
	return 1;
}

int main()
{
	tensor a{ dk_obj_on(DK_BACKEND_CPU, 0), { 1, 2, 3 } };
	tensor b{ dk_obj_on(DK_BACKEND_CPU, 0), { 10, 20, 30 } };
	tensor c{ dk_obj_on(DK_BACKEND_CPU, 0), {} };
	int traced = 0;

	auto definition = add.define();
	auto cpu = add.impl<add_cpu>(DK_CPU);
	auto tracer = add.impl(DK_TRACER, [&traced](dk_call *call, tensor &out, const tensor &x,
						    const tensor &y) {
		char key[DK_NAME_MAX];

		traced++;
		std::printf("traced by key %s, then ",
			    dk_key_name(nullptr, dk_call_key(call), key));
		return add.below(call, out, x, y);	/* the keys below this one */
	});
	for (const auto *r : { &definition, &cpu, &tracer })
		if (!*r)
			return fail(r->status().text());

	int error = add(c, a, b);			/* add_cpu */
	if (!error) {
		dk::include guard(DK_TRACER);		/* to the end of this block */
		error = add(c, c, b);			/* the tracer, then add_cpu */
	}
	if (error)
		return fail(dk::error_text(error));
	std::printf("%g %g %g\n", c.data[0], c.data[1], c.data[2]);
	return traced != 1;
}
