/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * DK_OP() and DK_IMPL(): operators and tables of functions, with types.
 * Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_OP_H
#define _DISPATCHKEY_OP_H

#include <dispatchkey-call.h>

#define DK__UNPAREN(...) __VA_ARGS__
#define DK__PASTE(a, b) DK__PASTE2(a, b)
#define DK__PASTE2(a, b) a##b
#define DK__COUNT2(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, n, ...) n
#define DK__COUNT(...)							\
	DK__COUNT2(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define DK__EACH1(m, a) m(a)
#define DK__EACH2(m, a, ...) m(a) DK__EACH1(m, __VA_ARGS__)
#define DK__EACH3(m, a, ...) m(a) DK__EACH2(m, __VA_ARGS__)
#define DK__EACH4(m, a, ...) m(a) DK__EACH3(m, __VA_ARGS__)
#define DK__EACH5(m, a, ...) m(a) DK__EACH4(m, __VA_ARGS__)
#define DK__EACH6(m, a, ...) m(a) DK__EACH5(m, __VA_ARGS__)
#define DK__EACH7(m, a, ...) m(a) DK__EACH6(m, __VA_ARGS__)
#define DK__EACH8(m, a, ...) m(a) DK__EACH7(m, __VA_ARGS__)
#define DK__EACH9(m, a, ...) m(a) DK__EACH8(m, __VA_ARGS__)
#define DK__EACH10(m, a, ...) m(a) DK__EACH9(m, __VA_ARGS__)
#define DK__EACH11(m, a, ...) m(a) DK__EACH10(m, __VA_ARGS__)
#define DK__EACH12(m, a, ...) m(a) DK__EACH11(m, __VA_ARGS__)
#define DK__EACH(m, ...)						\
	DK__PASTE(DK__EACH, DK__COUNT(__VA_ARGS__))(m, __VA_ARGS__)
#define DK__MEMBER(param) param;
#define DK__UNBOXED(arg) , dk__args->arg
#define DK__UNUSED __attribute__((unused))

#ifdef __KERNEL__
#define DK__WEAK __attribute__((weak))
#else
/* One a program or plugin, and never shared between them. */
#define DK__WEAK __attribute__((weak, visibility("hidden")))
#endif

/**
 * DK_OP() - an operator, for all who define, implement or call it
 * @id: what its C names begin with
 * @op_name: its name, such as "sample::factorial"
 * @params: its C parameters in parentheses, 1 to 12 of them
 * @args: their names in parentheses
 * @objs: pointers to the struct dk_obj that it dispatches on, in parentheses,
 *	in order; NULL is an absent one
 *
 * One line in a header, which must be the same in a whole program or module,
 * makes:
 *
 * * ``id(params)`` - call it with the caller's local state
 * * ``id_in(local, params)`` - call it with this local state
 * * ``id_at(op, local, params)`` - call the operator behind a handle
 * * ``id_run(c, params)`` - between a dk_call_enter() of your own, which tells
 *   who serves, and the return: run the function and leave
 * * ``id_below(c, params)`` - from inside a function: call what comes behind
 *   the key of @c
 * * ``id_redispatch(c, ks, params)`` - from inside a function: call by a keyset
 * * ``id_op`` - for dk_op_define() and DK_IMPL()
 *
 * What they return is the function's own answer or one of dk_call_enter(). A
 * semicolon ends it, as a declaration.
 */
#define DK_OP(id, op_name, params, args, objs)				\
struct id##_args {							\
	DK__EACH(DK__MEMBER, DK__UNPAREN params)			\
};									\
typedef int (*id##_fn)(struct dk_call *dk__call, DK__UNPAREN params);	\
static DK__UNUSED int id##_unbox(struct dk_call *dk__call, void *dk__p)	\
{									\
	struct id##_args *dk__args = dk__p;				\
									\
	return ((id##_fn)dk__call->fn)(dk__call				\
				DK__EACH(DK__UNBOXED, DK__UNPAREN args)); \
}									\
extern struct dk_op_decl id##_op;					\
DK__WEAK struct dk_op_decl id##_op = {					\
	.size = sizeof(struct dk_op_decl),				\
	.call_size = sizeof(struct dk_call),				\
	.name = (op_name),						\
	.sig = #params,							\
	.unbox = id##_unbox,						\
};									\
static inline DK__UNUSED int						\
id##_run(struct dk_call *dk__call, DK__UNPAREN params)			\
{									\
	int dk__err;							\
									\
	if (__builtin_expect(!!dk__call->boxed, 0)) {			\
		struct id##_args dk__args = { DK__UNPAREN args };	\
									\
		dk__err = dk__call->boxed(dk__call, &dk__args);		\
	} else {							\
		dk__err = ((id##_fn)dk__call->fn)(dk__call,		\
						  DK__UNPAREN args);	\
	}								\
	dk__call->result = dk__err;					\
	dk_call_leave(dk__call);					\
	return dk__err;							\
}									\
static inline DK__UNUSED int						\
id##_in(const struct dk_local *dk__local, DK__UNPAREN params)		\
{									\
	const struct dk_obj *const dk__objs[] = { NULL, DK__UNPAREN objs }; \
	struct dk_call dk__call;					\
	int dk__err;							\
									\
	dk__err = dk_call_enter(&dk__call, &id##_op, dk__local,		\
				dk__objs + 1, DK__OBJS(dk__objs));	\
	return dk__err ? dk__err :					\
			 id##_run(&dk__call, DK__UNPAREN args);		\
}									\
static inline DK__UNUSED int						\
id##_at(struct dk_op *dk__op, const struct dk_local *dk__local,		\
	DK__UNPAREN params)						\
{									\
	const struct dk_obj *const dk__objs[] = { NULL, DK__UNPAREN objs }; \
	struct dk_call dk__call;					\
	int dk__err;							\
									\
	dk__err = dk_call_enter_op(&dk__call, dk__op, &id##_op, dk__local, \
				   dk__objs + 1, DK__OBJS(dk__objs));	\
	return dk__err ? dk__err :					\
			 id##_run(&dk__call, DK__UNPAREN args);		\
}									\
static inline DK__UNUSED int						\
id(DK__UNPAREN params)							\
{									\
	return id##_in(dk_local_current(), DK__UNPAREN args);		\
}									\
static inline DK__UNUSED int						\
id##_redispatch(struct dk_call *dk__from, struct dk_keyset dk__ks,	\
		DK__UNPAREN params)					\
{									\
	const struct dk_obj *const dk__objs[] = { NULL, DK__UNPAREN objs }; \
	struct dk_call dk__call;					\
	int dk__err;							\
									\
	dk__err = dk_call_redispatch(&dk__call, dk__from, &id##_op, dk__ks, \
				     dk__objs + 1, DK__OBJS(dk__objs));	\
	return dk__err ? dk__err :					\
			 id##_run(&dk__call, DK__UNPAREN args);		\
}									\
static inline DK__UNUSED int						\
id##_below(struct dk_call *dk__from, DK__UNPAREN params)		\
{									\
	return id##_redispatch(dk__from, dk_call_below(dk__from),	\
			       DK__UNPAREN args);			\
}									\
struct id##_args

#define DK__OBJS(objs) (sizeof(objs) / sizeof((objs)[0]) - 1)

/* A function as dk_fn_t; another type than the operator's does not compile. */
#define DK__CHECKED(id, function)					\
	(sizeof(struct {						\
		unsigned int dk__wrong_signature :			\
		__builtin_types_compatible_p(__typeof__(&(function)),	\
					     id##_fn) ? 1 : -1;		\
	}) ? (dk_fn_t)(function) : (dk_fn_t)0)

#define DK__IMPL(id, at, function, how) {				\
	.op = &id##_op,							\
	.fn = DK__CHECKED(id, function),				\
	.label = #function,						\
	.key = (at),							\
	.flags = (how),							\
	.size = sizeof(struct dk_impl),					\
}

/**
 * DK_IMPL() - an entry of a table for dk_impls_register()
 * @id: the operator, as in DK_OP()
 * @at: the key
 * @function: the function; another type than the operator's does not compile
 */
#define DK_IMPL(id, at, function) DK__IMPL(id, at, function, 0)

/**
 * DK_IMPL_ATOMIC() - DK_IMPL() of a function that never sleeps
 * @id: the operator; only such functions are fit for an atomic one
 * @at: the key
 * @function: the function
 */
#define DK_IMPL_ATOMIC(id, at, function)				\
	DK__IMPL(id, at, function, DK_IMPL_F_ATOMIC)

/**
 * DK_IMPL_FALLTHROUGH() - an entry of a table: as if the key were not in the set
 * @id: the operator
 * @at: the key
 */
#define DK_IMPL_FALLTHROUGH(id, at) {					\
	.op = &id##_op,							\
	.label = "fallthrough",						\
	.key = (at),							\
	.flags = DK_IMPL_F_FALLTHROUGH | DK_IMPL_F_ATOMIC,		\
	.size = sizeof(struct dk_impl),					\
}

/**
 * DK_FALLTHROUGH() - a fallthrough for dk_fallback_register()
 * @at: the key
 */
#define DK_FALLTHROUGH(at) {						\
	.label = "fallthrough",						\
	.key = (at),							\
	.flags = DK_IMPL_F_FALLTHROUGH | DK_IMPL_F_ATOMIC,		\
	.size = sizeof(struct dk_impl),					\
}

#define DK__FALLBACK(at, function, how) {				\
	.fn = (dk_fn_t)(1 ? (function) : (dk_boxed_fn_t)0),		\
	.label = #function,						\
	.key = (at),							\
	.flags = DK_IMPL_F_BOXED | (how),				\
	.size = sizeof(struct dk_impl),					\
}

/**
 * DK_FALLBACK() - a function for dk_fallback_register()
 * @at: the key
 * @function: a dk_boxed_fn_t
 *
 * It does not serve atomic operators.
 */
#define DK_FALLBACK(at, function) DK__FALLBACK(at, function, 0)

/**
 * DK_FALLBACK_ATOMIC() - one that never sleeps, and serves all operators
 * @at: the key
 * @function: a dk_boxed_fn_t
 */
#define DK_FALLBACK_ATOMIC(at, function)				\
	DK__FALLBACK(at, function, DK_IMPL_F_ATOMIC)

/**
 * dk_redispatch_boxed() - from inside a boxed function, call what comes behind
 * @from: the call that we are inside of, whose objects it dispatches on
 * @ks: the keyset, such as dk_call_below(@from)
 * @args: the arguments that the boxed function got
 *
 * Context: As dk_call_enter().
 * Return: As dk_call_redispatch(), or the function's own answer.
 */
DK_INLINE int dk_redispatch_boxed(struct dk_call *from, struct dk_keyset ks,
				  void *args)
{
	struct dk_call c;
	int err = dk_call_redispatch(&c, from, from->decl, ks, from->objs,
				     from->n);

	if (err)
		return err;
	err = c.boxed ? c.boxed(&c, args) : c.decl->unbox(&c, args);
	c.result = err;
	dk_call_leave(&c);
	return err;
}

#endif /* _DISPATCHKEY_OP_H */
