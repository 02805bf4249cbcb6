// SPDX-License-Identifier: GPL-2.0-only
/* Boxed, plain and typed functions in one chain, and calls for one key. */
#include "test.h"

DK_OP(chain, "boxed::chain", (struct dk_obj *x, int *trace), (x, trace), (x));
DK_OP(alien, "boxed::alien", (struct dk_obj *x, long n), (x, n), (x));

static struct dk_provider prov;
static struct dk_local local;
static struct dk_op *op;

static int on_cpu(struct dk_obj *x, int *trace)
{
	*trace = *trace * 10 + 1;
	return 0;
}

static int on_autograd(struct dk_call *c, struct dk_obj *x, int *trace)
{
	*trace = *trace * 10 + 2;
	return chain_below(c, x, trace);
}

static int on_any(struct dk_call *c, void *args)
{
	struct chain_args *a = args;

	*a->trace = *a->trace * 10 + 3;
	return dk_redispatch_boxed(c, dk_call_below(c), args);
}

DK_BOXED(chain, on_autograd_boxed, on_autograd);
DK_UNBOXED(chain, on_any_typed, on_any,
	   (struct dk_obj *x, int *trace), (x, trace));

/* Calls its operator again, to a depth. */
static int deeper(struct dk_call *c, struct dk_obj *x, int *trace)
{
	struct chain_args again = { x, trace };

	if (++*trace >= 16)
		return 0;
	return *trace % 2 ? chain_at(op, &local, x, trace) :
			    dk_call_boxed(op, &chain_op, &local, &again);
}

static const struct dk_impl impls[] = {
	DK_IMPL_PLAIN(chain, DK_CPU, on_cpu),
	DK_IMPL(chain, DK_AUTOGRAD, on_autograd),
	DK_IMPL_BOXED(chain, DK_TRACER, on_any),
};

static void begin(const struct dk_impl *table, unsigned int n)
{
	t_open("v1", 0);
	t_join(&prov, "boxed");
	local = t_no_local();
	CHECK_OK(dk_op_define(&prov, &chain_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, table, n, &t_why));
	op = dk_op_get(t_reg, "boxed::chain");
}

static void end(void)
{
	dk_op_put(op);
	t_leave(&prov);
	t_close();
}

/* SEMANTICS 11.3: functions with and without the keyset, boxed and unboxed. */
static void all_types_in_one_chain(void)
{
	static const struct dk_impl turned[] = {
		DK_IMPL_BOXED(chain, DK_AUTOGRAD, on_autograd_boxed),
		DK_IMPL(chain, DK_TRACER, on_any_typed),
	};
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_TRACER) |
				DK_KEY_BITS(DK_AUTOGRAD_CPU));
	int trace = 0;
	struct chain_args args = { &x, &trace };

	begin(impls, ARRAY_SIZE(impls));
	CHECK_OK(chain_at(op, &local, &x, &trace));
	CHECK_INT(trace, 321);
	trace = 0;
	CHECK_OK(dk_call_boxed(op, &chain_op, &local, &args));
	CHECK_INT(trace, 321);
	CHECK_OK(dk_impls_register(&prov, turned, ARRAY_SIZE(turned), &t_why));
	trace = 0;
	CHECK_OK(chain_at(op, &local, &x, &trace));
	CHECK_INT(trace, 321);
	trace = 0;
	CHECK_OK(dk_call_boxed(op, &chain_op, &local, &args));
	CHECK_INT(trace, 321);
	end();
}

static void calls_from_inside(void)
{
	static const struct dk_impl deep[] = { DK_IMPL(chain, DK_CPU, deeper) };
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU));
	int depth = 0;

	begin(deep, 1);
	CHECK_OK(chain_at(op, &local, &x, &depth));
	CHECK_INT(depth, 16);
	end();
}

/* A function of one operator does not serve another one's arguments. */
static void adapter_checks_the_signature(void)
{
	static const struct dk_impl fallback =
		DK_FALLBACK(DK_TRACER, on_autograd_boxed);
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_TRACER));
	struct dk_op *other;

	begin(impls, 1);
	CHECK_OK(dk_op_define(&prov, &alien_op, 0, &t_why));
	CHECK_OK(dk_fallback_register(&prov, &fallback, &t_why));
	other = dk_op_get(t_reg, "boxed::alien");
	/* refuses: dk_call_takes EPROTOTYPE SIGNATURE */
	CHECK_INT(alien_at(other, &local, &x, 0), -EPROTOTYPE);
	dk_op_put(other);
	end();
}

/* SEMANTICS 8.3: what is at exactly this key, else the fallback of its slot. */
static void call_for_one_key(void)
{
	static const struct dk_impl fallback = DK_FALLBACK(DK_PYTHON, on_any);
	static const struct dk_impl none = DK_FALLTHROUGH(DK_CONJUGATE);
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU));
	int trace = 0;
	struct chain_args args = { &x, &trace };

	begin(impls, ARRAY_SIZE(impls));
	CHECK_OK(dk_fallback_register(&prov, &fallback, &t_why));
	CHECK_OK(dk_fallback_register(&prov, &none, &t_why));
	CHECK_OK(chain_for_key(op, &local, DK_CPU, &x, &trace));
	CHECK_INT(trace, 1);
	/* an alias is a key, and what the table makes of it is not */
	trace = 0;
	CHECK_OK(chain_for_key(op, &local, DK_AUTOGRAD, &x, &trace));
	CHECK_INT(trace, 21);
	CHECK_INT(chain_for_key(op, &local, DK_AUTOGRAD_CPU, &x, &trace), -ENOSYS);
	trace = 0;
	CHECK_OK(dk_call_boxed_key(op, &chain_op, &local, DK_CPU, &args));
	CHECK_INT(trace, 1);
	/* the keyset is that of the arguments: behind Autograd comes CPU */
	trace = 0;
	CHECK_OK(dk_call_boxed_key(op, &chain_op, &local, DK_PYTHON, &args));
	CHECK_INT(trace, 31);
	/* refuses: dk_call_enter_key ENOSYS MISSING */
	CHECK_INT(chain_for_key(op, &local, DK_CONJUGATE, &x, &trace), -ENOSYS);
	CHECK_INT(chain_for_key(op, &local, DK_DENSE, &x, &trace), -ENOSYS);
	CHECK_INT(chain_for_key(op, &local, DK_UNDEFINED, &x, &trace), -ENOSYS);
	/* refuses: dk_call_boxed_key ENOSYS MISSING */
	CHECK_INT(dk_call_boxed_key(op, &chain_op, &local, DK_CUDA, &args), -ENOSYS);
	/* refuses: dk_call_enter_key EINVAL BAD_KEY */
	CHECK_INT(chain_for_key(op, &local, 9999, &x, &trace), -EINVAL);
	/* refuses: dk_call_boxed_key EINVAL BAD_KEY */
	CHECK_INT(dk_call_boxed_key(op, &chain_op, &local, 9999, &args), -EINVAL);
	CHECK_OK(dk_op_undefine(&prov, "boxed::chain", &t_why));
	/* refuses: dk_call_enter_key ENOENT NOT_DEFINED */
	CHECK_INT(chain_for_key(op, &local, DK_CPU, &x, &trace), -ENOENT);
	/* refuses: dk_call_boxed_key ENOENT NOT_DEFINED */
	CHECK_INT(dk_call_boxed_key(op, &chain_op, &local, DK_CPU, &args), -ENOENT);
	/* refuses: dk_call_boxed ENOENT NOT_DEFINED */
	CHECK_INT(dk_call_boxed(op, &chain_op, &local, &args), -ENOENT);
	end();
}

T_SUITE(boxed,
	T(all_types_in_one_chain),
	T(calls_from_inside),
	T(adapter_checks_the_signature),
	T(call_for_one_key));
