/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Defines DK_OP() and DK_IMPL(), for typed operators and typed arrays of functions.
 * Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_OP_H
#define _DISPATCHKEY_OP_H

#include <dispatchkey-call.h>

#define DK__UNPAREN(...) __VA_ARGS__
/* 1 if the argument begins with a parenthesis, otherwise 0. */
#define DK__IN_PARENTHESES(x) DK__SECOND(DK__ZERO_ONE x, 0, 0)
#define DK__ZERO_ONE(...) 0, 1
#define DK__SECOND(...) DK__SECOND2(__VA_ARGS__)
#define DK__SECOND2(a, b, ...) b
#define DK__PASTE(a, b) DK__PASTE2(a, b)
#define DK__PASTE2(a, b) a##b
#define DK__COUNT2(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, \
		   a16, a17, a18, a19, a20, a21, a22, a23, a24, n, ...) n
#define DK__COUNT(...)							\
	DK__COUNT2(__VA_ARGS__, TOO_MANY, TOO_MANY, TOO_MANY, TOO_MANY,	\
		   TOO_MANY, TOO_MANY, TOO_MANY, TOO_MANY, TOO_MANY,	\
		   TOO_MANY, TOO_MANY, TOO_MANY, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define DK__EACHTOO_MANY(m, id, ...)					\
	_Static_assert(0, "DK_OP(" #id "): an operator has at most 12 parameters");
#define DK__EACH1(m, id, a) m(id, a)
#define DK__EACH2(m, id, a, ...)					\
	m(id, a) DK__EACH1(m, id, __VA_ARGS__)
#define DK__EACH3(m, id, a, ...)					\
	m(id, a) DK__EACH2(m, id, __VA_ARGS__)
#define DK__EACH4(m, id, a, ...)					\
	m(id, a) DK__EACH3(m, id, __VA_ARGS__)
#define DK__EACH5(m, id, a, ...)					\
	m(id, a) DK__EACH4(m, id, __VA_ARGS__)
#define DK__EACH6(m, id, a, ...)					\
	m(id, a) DK__EACH5(m, id, __VA_ARGS__)
#define DK__EACH7(m, id, a, ...)					\
	m(id, a) DK__EACH6(m, id, __VA_ARGS__)
#define DK__EACH8(m, id, a, ...)					\
	m(id, a) DK__EACH7(m, id, __VA_ARGS__)
#define DK__EACH9(m, id, a, ...)					\
	m(id, a) DK__EACH8(m, id, __VA_ARGS__)
#define DK__EACH10(m, id, a, ...)					\
	m(id, a) DK__EACH9(m, id, __VA_ARGS__)
#define DK__EACH11(m, id, a, ...)					\
	m(id, a) DK__EACH10(m, id, __VA_ARGS__)
#define DK__EACH12(m, id, a, ...)					\
	m(id, a) DK__EACH11(m, id, __VA_ARGS__)
#define DK__EACH(m, id, ...)						\
	DK__PASTE(DK__EACH, DK__COUNT(__VA_ARGS__))(m, id, __VA_ARGS__)
#define DK__MEMBER(id, param) param;
#define DK__LOCAL(id, arg)						\
	__typeof__(dk__args->arg) DK__UNUSED arg = dk__args->arg;
#define DK__UNUSED __attribute__((__unused__))
#ifndef DK_OBJECT_TYPES
/**
 * DK_OBJECT_TYPES() - the program's types that contain a struct dk_obj
 * @X: a macro, used as X(TYPE, MEMBER) for each type, without separators
 *
 * Define DK_OBJECT_TYPES() before you include <dispatchkey.h>, which otherwise defines it
 * without types. The types themselves may follow, before the first DK_OP() line. dk_arg_get()
 * and dk_arg_set() treat only these types, and struct dk_obj, as objects. The macro does not
 * change what calls dispatch on.
 */
#define DK_OBJECT_TYPES(X)
#endif

#define DK__OBJECT_KIND(type, member)					\
	type *: DK_ARG_OBJECT,						\
	const type *: DK_ARG_OBJECT,
#define DK__OBJECT_OFFSET(type, member)					\
	type *: __builtin_offsetof(type, member),			\
	const type *: __builtin_offsetof(type, member),

#ifdef __CHECKER__			/* sparse has no __builtin_classify_type() */
#define DK__IS_POINTER(x)	0
#else
/* 0 replaces a float, because gcc would warn that the float is promoted to double */
#define DK__IS_POINTER(x)						\
	(__builtin_classify_type(_Generic((x), float: 0, default: (x))) == 5)
#endif
#define DK__KIND(x)							\
	_Generic((x),							\
		DK_OBJECT_TYPES(DK__OBJECT_KIND)			\
		struct dk_obj *: DK_ARG_OBJECT,				\
		const struct dk_obj *: DK_ARG_OBJECT,			\
		struct dk_generator *: DK_ARG_GENERATOR,		\
		const struct dk_generator *: DK_ARG_GENERATOR,		\
		struct dk_list: DK_ARG_LIST,				\
		_Bool: DK_ARG_BOOL,					\
		char: (char)-1 < 0 ? DK_ARG_INT : DK_ARG_UINT,		\
		signed char: DK_ARG_INT,				\
		short: DK_ARG_INT,					\
		int: DK_ARG_INT,					\
		long: DK_ARG_INT,					\
		long long: DK_ARG_INT,					\
		unsigned char: DK_ARG_UINT,				\
		unsigned short: DK_ARG_UINT,				\
		unsigned int: DK_ARG_UINT,				\
		unsigned long: DK_ARG_UINT,				\
		unsigned long long: DK_ARG_UINT,			\
		float: DK_ARG_FLOAT,					\
		double: DK_ARG_DOUBLE,					\
		const char *: DK_ARG_STRING,				\
		default: DK__IS_POINTER(x) ?				\
			 DK_ARG_POINTER : DK_ARG_OTHER)
#define DK__ARG(id, arg) (((struct id##_args *)0)->arg)
#define DK__PARAM(id, arg) {						\
	.name = #arg,							\
	.kind = DK__KIND(DK__ARG(id, arg)),				\
	.offset = __builtin_offsetof(struct id##_args, arg),		\
	.size = sizeof(DK__ARG(id, arg)),				\
	.obj_offset = _Generic(DK__ARG(id, arg),			\
			       DK_OBJECT_TYPES(DK__OBJECT_OFFSET)	\
			       default: 0),				\
},

/*
 * DK_OP() declares two structs: struct id##_args has the parameters in the order of @params, and
 * struct dk__##id##_named in the order of @args. The orders are the same if each parameter has the
 * same offset in both: DK__SAME_PLACE().
 */
#define DK__NAMED(id, arg) __typeof__(DK__ARG(id, arg)) arg;
/* The comma operator turns an array into a pointer. */
#define DK__NO_ARRAY(id, arg)						\
	_Static_assert(__builtin_types_compatible_p(			\
				__typeof__(DK__ARG(id, arg)),		\
				__typeof__(((void)0, DK__ARG(id, arg)))), \
		       "DK_OP(" #id "): " #arg " must not be an array: use a pointer");
#define DK__SAME_PLACE(id, arg)						\
	_Static_assert(__builtin_offsetof(struct id##_args, arg) ==	\
		       __builtin_offsetof(struct dk__##id##_named, arg), \
		       "DK_OP(" #id "): " #arg					\
		       " is not named in the order of the parameters");

/**
 * DK_LIST() - a list of objects, for the dispatch list of DK_OP()
 * @items: array of pointers to struct dk_obj; NULL for an absent object
 * @n: number of pointers at @items
 */
#define DK_LIST(items, n)						\
	dk_list_init(&(struct dk_list){ .offset = 0 },			\
		     _Generic(*(items), struct dk_obj *: (items),	\
			      const struct dk_obj *: (items)), n, 0)

/**
 * DK_LIST_OF() - a list of objects of another type, for the dispatch list of DK_OP()
 * @items: array of pointers to a type that embeds a struct dk_obj; NULL for an
 *	absent object
 * @n: number of pointers at @items
 * @member: name of the embedded struct dk_obj
 */
#define DK_LIST_OF(items, n, member)					\
	dk_list_init(&(struct dk_list){ .offset = 0 },			\
		     _Generic(&(*(items))->member, struct dk_obj *: (items), \
			      const struct dk_obj *: (items)), n,	\
		     __builtin_offsetof(__typeof__(**(items)), member))

/**
 * DK_GENERATOR() - a generator, for the dispatch list of DK_OP()
 * @g: pointer to a struct dk_generator; NULL if absent
 *
 * Boxed calls ignore generators.
 */
#define DK_GENERATOR(g)							\
	(dk__generators && (g) ? &_Generic((g), struct dk_generator *: (g), \
		const struct dk_generator *: (g))->dk : NULL)

#ifdef __KERNEL__
#define DK__WEAK __attribute__((__weak__))
#else
/* Each program or plugin has its own copy of a declaration. */
#define DK__WEAK __attribute__((__weak__, __visibility__("hidden")))
#endif

/**
 * DK_OP() - declare an operator
 * @id: prefix of the C names that the line declares
 * @op_name: name of the operator, such as "sample::factorial"
 * @params: its C parameters in parentheses, 1 to 12 of any type except arrays; objects
 *	are passed as pointers
 * @args: the names of the parameters in parentheses, in the same order
 * @objs: what calls dispatch on, in order and in parentheses: pointers to struct dk_obj
 *	(NULL if absent), DK_LIST(), DK_LIST_OF(), DK_GENERATOR(), and dk_list_obj() of a
 *	struct dk_list. For an optional pointer to a struct that contains the object, write
 *	(opt ? &opt->dk : NULL). A call may evaluate these expressions more than once. They must
 *	neither sleep nor call the dispatcher.
 *
 * Write one line, which ends with a semicolon, in a header. Include this header in all files
 * that define, implement or call the operator. All DK_OP() lines with the same @id in a program
 * or module must be identical. If two differ, the linker picks one of them without a warning.
 * To avoid this, choose an @id that is as specific as @op_name.
 *
 * The line declares:
 *
 * * ``id(params)`` - call the operator with the caller's local state
 * * ``id_in(local, params)`` - call it with the local state @local
 * * ``id_rcu(local, params)`` - kernel only: as id_in(), from inside an RCU read-side
 *   critical section, which must last until the call returns. The operator must be
 *   atomic, which only might_sleep() in debug kernels checks
 * * ``id_at(op, local, params)`` - call the operator of a handle from dk_op_get(), which
 *   must not be NULL
 * * ``id_run(f, params)`` - run the function that dk_call_enter() found, any number
 *   of times before dk_call_leave()
 * * ``id_below(c, params)`` - from inside a function: redispatch to the keys below the
 *   key by which @c was routed
 * * ``id_redispatch(c, ks, params)`` - from inside a function: redispatch by a
 *   keyset
 * * ``id_for_key(op, local, key, params)`` - call the function at a given key; see
 *   dk_call_enter_key()
 * * ``id_by_keyset(op, local, ks, params)`` - redispatch by a keyset, from outside a
 *   call; see dk_call_enter_keyset()
 * * ``id_pack(fn, c, params)`` - from inside a function: call a boxed function with
 *   these arguments
 * * ``id_unpack(fn, c, args)`` - from inside a boxed function: call a function of
 *   the operator's type with the same arguments
 * * ``id_op`` - the declaration, for dk_op_define() and DK_IMPL(). Do not declare it in
 *   another way: its symbol has another name
 * * ``struct id_args`` - the parameters, as boxed functions take them
 *
 * These functions return what the operator's function returns, or an error of
 * dk_call_enter().
 */
#define DK_OP(id, op_name, params, args, objs)				\
_Static_assert(DK__IN_PARENTHESES(objs),				\
	       "DK_OP(" #id "): put the objects to dispatch on in parentheses"); \
_Static_assert(sizeof(#args) > sizeof("()"),				\
	       "DK_OP(" #id "): an operator has at least 1 parameter");	\
struct id##_args {							\
	DK__EACH(DK__MEMBER, id, DK__UNPAREN params)			\
};									\
struct dk__##id##_named {						\
	DK__EACH(DK__NAMED, id, DK__UNPAREN args)			\
};									\
_Static_assert(DK__COUNT params == DK__COUNT args,			\
	       "DK_OP(" #id "): each parameter must have a name in the list of names"); \
DK__EACH(DK__NO_ARRAY, id, DK__UNPAREN args)				\
DK__EACH(DK__SAME_PLACE, id, DK__UNPAREN args)				\
typedef int (*dk__##id##_fn)(struct dk_call *dk__call, DK__UNPAREN params); \
typedef int (*dk__##id##_plain_fn)(DK__UNPAREN params);			\
static const struct dk_param dk__##id##_params[] = {			\
	DK__EACH(DK__PARAM, id, DK__UNPAREN args)			\
};									\
static inline DK__UNUSED int						\
id##_unpack(dk__##id##_fn dk__fn, struct dk_call *dk__call,		\
	    const struct id##_args *dk__args)				\
{									\
	DK__EACH(DK__LOCAL, id, DK__UNPAREN args)			\
									\
	return dk__fn(dk__call, DK__UNPAREN args);			\
}									\
static inline DK__UNUSED int						\
id##_pack(dk_boxed_fn_t dk__fn, struct dk_call *dk__call,		\
	  DK__UNPAREN params)						\
{									\
	struct id##_args dk__args = { DK__UNPAREN args };		\
									\
	return dk__fn(dk__call, &dk__args);				\
}									\
static DK__UNUSED int dk__##id##_unbox(struct dk_call *dk__call, void *dk__args) \
{									\
	return id##_unpack((dk__##id##_fn)dk__call->entry->fn, dk__call, \
			   dk__args);					\
}									\
static DK__UNUSED int							\
dk__##id##_unbox_plain(struct dk_call *dk__call, void *dk__p)		\
{									\
	const struct id##_args *dk__args = dk__p;			\
	DK__EACH(DK__LOCAL, id, DK__UNPAREN args)			\
									\
	return ((dk__##id##_plain_fn)dk__call->entry->fn)(DK__UNPAREN args); \
}									\
static DK__UNUSED int							\
dk__##id##_extract(struct dk_extract *dk__x, void *dk__p,		\
		   int dk__generators DK__UNUSED)			\
{									\
	struct id##_args *dk__args = dk__p;				\
	DK__EACH(DK__LOCAL, id, DK__UNPAREN args)			\
	const struct dk_obj *const dk__objs[] = { NULL, DK__UNPAREN objs }; \
									\
	return dk_extracted(dk__x, dk__objs + 1, DK__OBJS(dk__objs),	\
			    DK_KEYSET(DK__RAW(dk__objs)));		\
}									\
static DK__UNUSED int							\
dk__##id##_packed(struct dk_call *dk__call, DK__UNPAREN params)		\
{									\
	enum { dk__generators = 1 };					\
	const struct dk_obj *const dk__objs[] = { NULL, DK__UNPAREN objs }; \
	struct id##_args dk__args = { DK__UNPAREN args };		\
									\
	return dk__call_packed(dk__call, dk__objs + 1, DK__OBJS(dk__objs), \
			       &dk__args);				\
}									\
static const struct dk__entry dk__##id##_pack = { (dk_fn_t)dk__##id##_packed, NULL }; \
extern struct dk_op_decl id##_op __asm__("dk__" #id "_op");		\
DK__WEAK struct dk_op_decl id##_op = {					\
	.size = sizeof(struct dk_op_decl),				\
	.call_abi = DK_ABI_VERSION,					\
	.name = (op_name),						\
	.sig = #params,							\
	.unbox = dk__##id##_unbox,					\
	.op = &dk__unbound,						\
	.num_params = DK__COUNT args,					\
	.param = dk__##id##_params,					\
	.args_size = sizeof(struct id##_args),				\
	.extract = dk__##id##_extract,					\
	.unbox_plain = dk__##id##_unbox_plain,				\
	.pack = &dk__##id##_pack,					\
	.dispatched = #objs,						\
};									\
static __attribute__((__noinline__)) DK__UNUSED int			\
dk__##id##_run_framed(struct dk_frame *dk__frame, DK__UNPAREN params)	\
{									\
	struct dk_call *dk__call = &dk__frame->call;			\
	int dk__err;							\
									\
	if (dk__frame->boxed)						\
		dk__err = id##_pack(dk__frame->boxed, dk__call,		\
				    DK__UNPAREN args);			\
	else								\
		dk__err = ((dk__##id##_fn)dk__call->entry->fn)(dk__call, \
						  DK__UNPAREN args);	\
	dk__frame->result = dk__err;					\
	return dk__err;							\
}									\
DK__ALWAYS_INLINE int							\
id##_run(struct dk_frame *dk__frame, DK__UNPAREN params)		\
{									\
	dk__##id##_fn dk__fn = (dk__##id##_fn)dk__frame->alone;		\
									\
	if (DK__UNLIKELY(!dk__fn))					\
		return dk__##id##_run_framed(dk__frame, DK__UNPAREN args); \
	return dk__fn(&dk__frame->call, DK__UNPAREN args);		\
}									\
static __attribute__((__noinline__)) DK__UNUSED int				\
dk__##id##_slow(struct dk__request *dk__rq, DK__UNPAREN params)		\
{									\
	const int dk__generators DK__UNUSED = !dk__rq->from ||		\
		!(dk__rq->from->made & DK__CALL_BOXED);		\
	const struct dk_obj *const dk__objs[] = { NULL, DK__UNPAREN objs }; \
	struct dk_frame dk__frame DK__NOT_SET;				\
	int dk__err;							\
									\
	dk__err = dk__call_enter(&dk__frame, dk__rq, dk__objs + 1,	\
				 DK__OBJS(dk__objs));			\
	if (dk__err)							\
		return dk__err;						\
	dk__err = dk__##id##_run_framed(&dk__frame, DK__UNPAREN args);	\
	dk_call_leave(&dk__frame);					\
	return dk__err;							\
}									\
DK__ALWAYS_INLINE int							\
dk__##id##_call(struct dk_op *dk__op, const struct dk_local *dk__local,	\
		const struct dk_local *dk__kept, const int dk__how,	\
		DK__UNPAREN params)					\
{									\
	enum { dk__generators = 1 };					\
	const struct dk_obj *const dk__objs[] = { NULL, DK__UNPAREN objs }; \
	struct dk_op *dk__known = dk__how & DK__HOW_TYPED ? dk__op :	\
						dk__load(id##_op.op);	\
	struct dk__found dk__found DK__NOT_SET;				\
	struct dk_call dk__call DK__NOT_SET;				\
	DK__SLOT(dk__slot);						\
	int dk__err;							\
									\
	if (DK__UNLIKELY(!dk__begin(&dk__call, &dk__slot, &dk__found,	\
				    dk__known, &id##_op, 0, dk__kept,	\
				    dk__merge(DK__RAW(dk__objs), dk__local), \
				    dk__how, DK__FIRST(dk__objs))))	\
		DK__FIND(id, args, objs, DK__ASK_SLOWLY(		\
			.op = dk__op, .decl = &id##_op, .local = dk__local, \
			.flags = DK__SKIP_FAST, .how = (__u16)dk__how))		\
	dk__err = ((dk__##id##_fn)dk__found.entry->fn)(&dk__call, DK__UNPAREN args); \
	dk__end(&dk__call, dk__slot, dk__how);				\
	return dk__err;							\
}									\
DK__ALWAYS_INLINE int							\
id##_in(const struct dk_local *dk__local, DK__UNPAREN params)		\
{									\
	return dk__##id##_call(NULL, dk__local, dk__local, DK__HOW_MASKED, \
			       DK__UNPAREN args);			\
}									\
DK__ALWAYS_INLINE int							\
id(DK__UNPAREN params)							\
{									\
	return dk__##id##_call(NULL, dk__local(), DK__OWN_LOCAL, DK__HOW_MASKED, \
			       DK__UNPAREN args);			\
}									\
DK__ALWAYS_INLINE __attribute__((__nonnull__(1))) int			\
id##_at(struct dk_op *dk__op, const struct dk_local *dk__local,		\
	DK__UNPAREN params)						\
{									\
	return dk__##id##_call(dk__op, dk__local, dk__local,		\
			       DK__HOW_MASKED | DK__HOW_TYPED, DK__UNPAREN args); \
}									\
DK__OP_RCU(id, params, args)						\
DK__ALWAYS_INLINE int							\
dk__##id##_next(struct dk_call *dk__from, struct dk_keyset dk__ks,	\
		const int dk__how, DK__UNPAREN params)			\
{									\
	enum { dk__generators = 1 };					\
	const struct dk_obj *const dk__objs[] = { NULL, DK__UNPAREN objs }; \
	struct dk__found dk__found DK__NOT_SET;				\
	struct dk_call dk__call DK__NOT_SET;				\
	DK__SLOT(dk__slot);						\
	int dk__err;							\
									\
	if (DK__UNLIKELY(!dk__begin(&dk__call, &dk__slot, &dk__found,	\
				    dk__from->op, &id##_op, 0, dk__from->local, \
				    dk__ks.bits, dk__how, DK__FIRST(dk__objs)))) \
		DK__FIND(id, args, objs, DK__ASK_SLOWLY(		\
			.decl = &id##_op, .from = dk__from, .ks = dk__ks, \
			.flags = DK__SKIP_FAST))				\
	dk__err = ((dk__##id##_fn)dk__found.entry->fn)(&dk__call, DK__UNPAREN args); \
	dk__end(&dk__call, dk__slot, dk__how);				\
	return dk__err;							\
}									\
static __attribute__((__noinline__)) DK__UNUSED int			\
dk__##id##_next_slowly(struct dk_call *dk__from, struct dk_keyset dk__ks, \
		       DK__UNPAREN params)				\
{									\
	if (!dk__may_redispatch(dk__from, &id##_op)) {			\
		struct dk__request dk__rq = {				\
			.decl = &id##_op, .from = dk__from, .ks = dk__ks, \
			.flags = DK__SKIP_FAST,				\
		};							\
									\
		return dk__##id##_slow(&dk__rq, DK__UNPAREN args);	\
	}								\
	return dk__##id##_next(dk__from, dk__ks, dk__how_again(dk__from), \
			       DK__UNPAREN args);			\
}									\
DK__ALWAYS_INLINE int							\
id##_redispatch(struct dk_call *dk__from, struct dk_keyset dk__ks,	\
		DK__UNPAREN params)					\
{									\
	if (!DK__UNLIKELY(dk__from->made != dk__made(&id##_op, DK__FLAGS))) \
		return dk__##id##_next(dk__from, dk__ks, DK__FLAGS,	\
				       DK__UNPAREN args);		\
	if (DK__GATED && dk__from->made == dk__made(&id##_op, 0))	\
		return dk__##id##_next(dk__from, dk__ks, 0, DK__UNPAREN args); \
	return dk__##id##_next_slowly(dk__from, dk__ks, DK__UNPAREN args); \
}									\
DK__ALWAYS_INLINE int							\
id##_below(struct dk_call *dk__from, DK__UNPAREN params)		\
{									\
	return id##_redispatch(dk__from, dk_call_below(dk__from),	\
			       DK__UNPAREN args);			\
}									\
static inline DK__UNUSED int						\
id##_for_key(struct dk_op *dk__op, const struct dk_local *dk__local,	\
	     unsigned int dk__key, DK__UNPAREN params)			\
{									\
	struct dk__request dk__rq = {					\
		.op = dk__op, .decl = &id##_op, .local = dk__local,	\
		.key = dk__key, .flags = DK__BY_KEY,			\
	};								\
									\
	return dk__##id##_slow(&dk__rq, DK__UNPAREN args);		\
}									\
static inline DK__UNUSED int						\
id##_by_keyset(struct dk_op *dk__op, const struct dk_local *dk__local,	\
	       struct dk_keyset dk__ks, DK__UNPAREN params)		\
{									\
	struct dk__request dk__rq = {					\
		.op = dk__op, .decl = &id##_op, .local = dk__local,	\
		.ks = dk__ks, .flags = DK__BY_KEYSET,			\
	};								\
									\
	return dk__##id##_slow(&dk__rq, DK__UNPAREN args);		\
}									\
struct id##_args

/*
 * Looks the entry up with dk__find() after dk__begin() did not find it. If dk__find()
 * fails, returns its error or takes the slow path. The objects are listed here and not
 * earlier, so that calls that do not come here need not store them in memory.
 */
#define DK__FIND(id, args, objs, ask)					\
	{								\
		const struct dk_obj *const dk__these[] = {		\
			NULL, DK__UNPAREN objs				\
		};							\
									\
		dk__found.entry =					\
			dk__find(&dk__call, dk__slot, dk__found.table,	\
				 dk__found.ks, dk__these + 1,		\
				 dk__pack(dk__found.byte, (__u64)dk__how,	\
					  DK__OBJS(dk__these)));	\
		if (DK__UNLIKELY(dk__found.entry == DK__NO_ENTRY(DK__SLOWLY))) { \
			struct dk__request dk__rq = ask;		\
									\
			return dk__##id##_slow(&dk__rq, DK__UNPAREN args); \
		}							\
		if (DK__UNLIKELY(!dk__is_entry(dk__found.entry)))	\
			return dk__no_entry_err(dk__found.entry);	\
	}
#define DK__ASK_SLOWLY(...)	{ __VA_ARGS__ }

#ifdef __KERNEL__
#define DK__OP_RCU(id, params, args)					\
DK__ALWAYS_INLINE int							\
id##_rcu(const struct dk_local *dk__local, DK__UNPAREN params)		\
{									\
	return dk__##id##_call(NULL, dk__local, dk__local,		\
			       DK__HOW_MASKED | DK__HOW_IN_RCU, DK__UNPAREN args); \
}
#else
#define DK__OP_RCU(id, params, args)
#endif

#define DK__OBJS(objs) (sizeof(objs) / sizeof((objs)[0]) - 1)
/* The union of the objects' keysets. objs[0] is always NULL. */
#define DK__RAW(objs)							\
	(DK__OBJS(objs) > 8 ? dk__raw((objs) + 1, DK__OBJS(objs)) :	\
	 DK__RAW1(objs, 1) | DK__RAW1(objs, 2) | DK__RAW1(objs, 3) |	\
	 DK__RAW1(objs, 4) | DK__RAW1(objs, 5) | DK__RAW1(objs, 6) |	\
	 DK__RAW1(objs, 7) | DK__RAW1(objs, 8))
#define DK__RAW1(objs, i)						\
	(DK__OBJS(objs) >= (i) && (objs)[DK__AT(objs, i)] ?		\
	 (objs)[DK__AT(objs, i)]->ks.bits : 0)
#define DK__AT(objs, i) (DK__OBJS(objs) >= (i) ? (i) : 0)
#define DK__FIRST(objs) ((objs)[DK__AT(objs, 1)])

static inline DK__UNUSED __u64 dk__raw(const struct dk_obj *const *objs, unsigned int n)
{
	__u64 raw = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		raw |= objs[i] ? objs[i]->ks.bits : 0;
	return raw;
}

/* The error message for a function of the wrong type; all arguments are strings. */
#define DK__WRONG(macro, function, type)				\
	macro ": " function " is not of the type " type
#define DK__TYPED "int (struct dk_call *, parameters of the operator)"
#define DK__PLAIN "int (parameters of the operator)"
#define DK__BOXED "int (struct dk_call *, void *args)"

/* Has the value 1; does not compile if the function has another type. */
#define DK__IS(function, type, wrong)					\
	(sizeof(struct {						\
		int dk__unused;						\
		_Static_assert(__builtin_types_compatible_p(		\
				       __typeof__(&(function)), type),	\
			       wrong);					\
	}) > 0)
/* Use after DK__IS(), so that a wrong function causes only one error. */
#define DK__AS_TYPE(type, function)	((type)(dk_fn_t)(function))
#define DK__CHECKED(function, type, wrong)				\
	(DK__IS(function, type, wrong) ? (dk_fn_t)(function) : (dk_fn_t)0)

/* Returns @at. gcc warns if @at is of an enum other than dk_key, such as enum dk_backend. */
#define DK__KEY(at)		((at) <= DK_UNDEFINED ? DK_UNDEFINED : (at))

#define DK__IMPL(id, at, function, type, how, wrong) {			\
	.op = &id##_op,							\
	.fn = DK__CHECKED(function, type, wrong),			\
	.label = #function,						\
	.key = DK__KEY(at),						\
	.flags = (how),							\
	.size = sizeof(struct dk_impl),					\
}

/**
 * DK_IMPL() - an element of an array for dk_impls_register()
 * @id: the operator, as in DK_OP()
 * @at: the key
 * @function: the function; a function of another type does not compile
 */
#define DK_IMPL(id, at, function)					\
	DK__IMPL(id, at, function, dk__##id##_fn, 0,			\
		 DK__WRONG("DK_IMPL(" #id ")", #function, DK__TYPED))

/**
 * DK_IMPL_ATOMIC() - DK_IMPL() for a function that never sleeps
 * @id: the operator; atomic operators take only such functions
 * @at: the key
 * @function: the function
 */
#define DK_IMPL_ATOMIC(id, at, function)				\
	DK__IMPL(id, at, function, dk__##id##_fn, DK_IMPL_F_ATOMIC,	\
		 DK__WRONG("DK_IMPL_ATOMIC(" #id ")", #function, DK__TYPED))

/**
 * DK_IMPL_PLAIN() - DK_IMPL() for a function without a struct dk_call parameter
 * @id: the operator
 * @at: the key
 * @function: any C function of type int (params)
 *
 * The function cannot redispatch.
 */
#define DK_IMPL_PLAIN(id, at, function)					\
	DK__IMPL(id, at, function, dk__##id##_plain_fn, DK_IMPL_F_PLAIN, \
		 DK__WRONG("DK_IMPL_PLAIN(" #id ")", #function, DK__PLAIN))

/**
 * DK_IMPL_PLAIN_ATOMIC() - DK_IMPL_PLAIN() for a function that never sleeps
 * @id: the operator
 * @at: the key
 * @function: the function
 */
#define DK_IMPL_PLAIN_ATOMIC(id, at, function)				\
	DK__IMPL(id, at, function, dk__##id##_plain_fn,			\
		 DK_IMPL_F_PLAIN | DK_IMPL_F_ATOMIC,			\
		 DK__WRONG("DK_IMPL_PLAIN_ATOMIC(" #id ")", #function, DK__PLAIN))

/**
 * DK_IMPL_BOXED() - DK_IMPL() for a boxed function
 * @id: the operator
 * @at: the key
 * @function: a dk_boxed_fn_t
 */
#define DK_IMPL_BOXED(id, at, function)					\
	DK__IMPL(id, at, function, dk_boxed_fn_t, DK_IMPL_F_BOXED,	\
		 DK__WRONG("DK_IMPL_BOXED(" #id ")", #function, DK__BOXED))

/**
 * DK_IMPL_BOXED_ATOMIC() - DK_IMPL_BOXED() for a function that never sleeps
 * @id: the operator
 * @at: the key
 * @function: the function
 */
#define DK_IMPL_BOXED_ATOMIC(id, at, function)				\
	DK__IMPL(id, at, function, dk_boxed_fn_t,			\
		 DK_IMPL_F_BOXED | DK_IMPL_F_ATOMIC,			\
		 DK__WRONG("DK_IMPL_BOXED_ATOMIC(" #id ")", #function, DK__BOXED))

/**
 * DK_BOXED() - define a boxed function that calls a function of an operator's type
 * @id: the operator
 * @boxed_name: name of the boxed function, which is static
 * @function: the function; a function of another type does not compile
 *
 * The boxed function returns -EPROTOTYPE if it is called for an operator with another
 * signature. This can happen if the function is registered as a backend fallback.
 */
#define DK_BOXED(id, boxed_name, function)				\
static int boxed_name(struct dk_call *dk__call, void *dk__args)		\
{									\
	int dk__err = dk_call_takes(dk__call, &id##_op);		\
									\
	if (!dk__err && DK__IS(function, dk__##id##_fn,			\
			       DK__WRONG("DK_BOXED(" #id ")", #function, \
					 DK__TYPED)))			\
		dk__err = id##_unpack(DK__AS_TYPE(dk__##id##_fn, function), \
				      dk__call, dk__args);		\
	return dk__err;							\
}									\
struct id##_args

/**
 * DK_UNBOXED() - define a function of an operator's type that calls a boxed one
 * @id: the operator
 * @name: name of the function, which is static
 * @function: a dk_boxed_fn_t
 * @params: the operator's parameters; others do not compile
 * @args: the names of the parameters
 */
#define DK_UNBOXED(id, name, function, params, args)			\
static int name(struct dk_call *dk__call, DK__UNPAREN params)		\
{									\
	return DK__IS(name, dk__##id##_fn,				\
		      DK__WRONG("DK_UNBOXED(" #id ")", #name, DK__TYPED)) && \
	       DK__IS(function, dk_boxed_fn_t,				\
		      DK__WRONG("DK_UNBOXED(" #id ")", #function, DK__BOXED)) ? \
	       id##_pack(DK__AS_TYPE(dk_boxed_fn_t, function), dk__call,	\
			 DK__UNPAREN args) : 0;				\
}									\
struct id##_args

/**
 * DK_IMPL_FALLTHROUGH() - an array element that makes calls skip a key
 * @id: the operator
 * @at: the key; calls are routed as if the key were not in their keyset
 */
#define DK_IMPL_FALLTHROUGH(id, at) {					\
	.op = &id##_op,							\
	.label = "fallthrough",						\
	.key = DK__KEY(at),						\
	.flags = DK_IMPL_F_FALLTHROUGH | DK_IMPL_F_ATOMIC,		\
	.size = sizeof(struct dk_impl),					\
}

/**
 * DK_FALLTHROUGH() - a fallthrough for dk_fallback_register()
 * @at: the key; calls are routed as if the key were not in their keyset
 */
#define DK_FALLTHROUGH(at) {						\
	.label = "fallthrough",						\
	.key = DK__KEY(at),						\
	.flags = DK_IMPL_F_FALLTHROUGH | DK_IMPL_F_ATOMIC,		\
	.size = sizeof(struct dk_impl),					\
}

#define DK__FALLBACK(at, function, how, wrong) {			\
	.fn = DK__CHECKED(function, dk_boxed_fn_t, wrong),		\
	.label = #function,						\
	.key = DK__KEY(at),						\
	.flags = DK_IMPL_F_BOXED | (how),				\
	.size = sizeof(struct dk_impl),					\
}

/**
 * DK_FALLBACK() - a function for dk_fallback_register()
 * @at: the key
 * @function: a dk_boxed_fn_t
 *
 * Atomic operators do not use this fallback; see DK_FALLBACK_ATOMIC().
 */
#define DK_FALLBACK(at, function)					\
	DK__FALLBACK(at, function, 0,					\
		     DK__WRONG("DK_FALLBACK(" #at ")", #function, DK__BOXED))

/**
 * DK_FALLBACK_ATOMIC() - DK_FALLBACK() for a function that never sleeps
 * @at: the key
 * @function: a dk_boxed_fn_t
 */
#define DK_FALLBACK_ATOMIC(at, function)				\
	DK__FALLBACK(at, function, DK_IMPL_F_ATOMIC,			\
		     DK__WRONG("DK_FALLBACK_ATOMIC(" #at ")", #function, DK__BOXED))

#endif /* _DISPATCHKEY_OP_H */
