/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Schemas of operators as PyTorch writes them, taken apart and printed back.
 * Userspace only: the kernel carries a schema as text. Included by
 * <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_SCHEMA_H
#define _DISPATCHKEY_SCHEMA_H

#include <dispatchkey-call.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Characters of a schema, and types within types, at most. */
#define DK_SCHEMA_MAX		16384
#define DK_SCHEMA_DEPTH		16

struct dk_schema;

/**
 * enum dk_type_kind - what a type is made of
 * @DK_TYPE_NAME: a name, such as Tensor, int or __torch__.torch.classes.c10d.Work
 * @DK_TYPE_OPTIONAL: ``T?``
 * @DK_TYPE_LIST: ``T[]`` or ``T[3]``
 * @DK_TYPE_TUPLE: ``(T, U)``
 * @DK_TYPE_GENERIC: ``Dict(K, V)``, ``Future(T)``, ``RRef(T)``, ``Await(T)``,
 *	``Union(T, U)``
 */
enum dk_type_kind {
	DK_TYPE_NAME,
	DK_TYPE_OPTIONAL,
	DK_TYPE_LIST,
	DK_TYPE_TUPLE,
	DK_TYPE_GENERIC,
};

/**
 * struct dk_type - a type, or a part of one
 * @kind: of enum dk_type_kind
 * @size: of a list, 0 if it says none
 * @name: of a name or a generic type, or NULL
 * @before: alias sets as in ``(a|b! -> *)``, here "a|b", or NULL without any
 * @after: the sets behind the arrow, here "*", or NULL
 * @write: the annotation has a "!"
 * @first: the type within, the first of several
 * @next: the next one beside it
 */
struct dk_type {
	__u32 kind;
	__u32 size;
	const char *name;
	const char *before;
	const char *after;
	__u32 write;
	const struct dk_type *first;
	const struct dk_type *next;
};

/**
 * struct dk_schema_arg - an argument, or what is returned
 * @type: its type
 * @name: its name; empty where a return has none
 * @value: the default value, the text that it was, or NULL
 * @keyword_only: it stands behind the ``*``
 */
struct dk_schema_arg {
	const struct dk_type *type;
	const char *name;
	const char *value;
	__u32 keyword_only;
};

/**
 * enum dk_schema_flags - what a schema leaves open
 * @DK_SCHEMA_VARARG: more arguments may come: ``...``
 * @DK_SCHEMA_VARRET: more may be returned
 */
enum dk_schema_flags {
	DK_SCHEMA_VARARG = 1,
	DK_SCHEMA_VARRET = 2,
};

/**
 * dk_schema_parse() - take a schema apart
 * @text: such as ``aten::add(Tensor self, *, Scalar alpha=1) -> Tensor``; what was
 *	inferred from a function begins with the parenthesis
 * @s: set to the schema, or to NULL
 * @why: filled on failure, with the column, what stands there, and what should;
 *	may be NULL
 *
 * PyTorch's parseSchema(), with which it shares the rules for overload names
 * and for arguments without a default value behind one with it.
 *
 * Context: Userspace.
 * Return: 0, -EINVAL (reasons SCHEMA, BAD_NAME), -ENOMEM.
 */
int dk_schema_parse(const char *text, struct dk_schema **s, struct dk_diag *why);

/**
 * dk_schema_free() - give a schema back
 * @s: from dk_schema_parse(); NULL is fine
 *
 * Context: Userspace.
 */
void dk_schema_free(struct dk_schema *s);

/**
 * dk_schema_print() - print a schema as PyTorch does
 * @s: the schema
 * @buf: where to; cut if it is too small, and ended with NUL if it has room
 * @size: its size
 *
 * Context: Userspace.
 * Return: The length of the whole text.
 */
size_t dk_schema_print(const struct dk_schema *s, char *buf, size_t size);

/**
 * dk_type_print() - print a type as PyTorch does
 * @t: the type
 * @buf: where to, as in dk_schema_print()
 * @size: its size
 *
 * Context: Userspace.
 * Return: The length of the whole text.
 */
size_t dk_type_print(const struct dk_type *t, char *buf, size_t size);

/**
 * dk_schema_name() - the operator's name, without the overload
 * @s: the schema
 *
 * Context: Userspace.
 * Return: The name, such as "aten::add"; empty if the schema has none.
 */
const char *dk_schema_name(const struct dk_schema *s);

/**
 * dk_schema_overload() - the name behind the dot
 * @s: the schema
 *
 * Context: Userspace.
 * Return: The name, such as "Tensor", or an empty one.
 */
const char *dk_schema_overload(const struct dk_schema *s);

/**
 * dk_schema_flags() - what a schema leaves open
 * @s: the schema
 *
 * Context: Userspace.
 * Return: Of enum dk_schema_flags.
 */
unsigned int dk_schema_flags(const struct dk_schema *s);

/**
 * dk_schema_args() - the number of arguments
 * @s: the schema
 *
 * Context: Userspace.
 * Return: The number, without the ``*`` and the ``...``.
 */
unsigned int dk_schema_args(const struct dk_schema *s);

/**
 * dk_schema_argument() - an argument
 * @s: the schema
 * @i: 0 for the first one
 *
 * Context: Userspace.
 * Return: The argument, which lives as long as the schema, or NULL.
 */
const struct dk_schema_arg *dk_schema_argument(const struct dk_schema *s, unsigned int i);

/**
 * dk_schema_returns() - the number of what is returned
 * @s: the schema
 *
 * Context: Userspace.
 * Return: The number, without the ``...``.
 */
unsigned int dk_schema_returns(const struct dk_schema *s);

/**
 * dk_schema_return() - one of what is returned
 * @s: the schema
 * @i: 0 for the first one
 *
 * Context: Userspace.
 * Return: It, which lives as long as the schema, or NULL.
 */
const struct dk_schema_arg *dk_schema_return(const struct dk_schema *s, unsigned int i);

/**
 * dk_schema_dispatch_mask() - the arguments that a boxed call dispatches on
 * @s: the schema
 * @mask: set to them: bit n-1-j stands for argument j of n
 * @why: filled on failure; may be NULL
 *
 * Those of type Tensor, Tensor?, Tensor[] and Tensor?[] (SEMANTICS 6.1);
 * PyTorch's dispatch_arg_indices_reverse.
 *
 * Context: Userspace.
 * Return: 0, or -EINVAL for more than 64 arguments.
 */
int dk_schema_dispatch_mask(const struct dk_schema *s, __u64 *mask,
			    struct dk_diag *why);

/**
 * dk_schema_compare() - does a function fit what was declared?
 * @declared: the schema of the operator
 * @inferred: that of the function
 * @why: filled on failure, with the first difference; may be NULL
 *
 * Compared are the numbers and types of arguments and of what is returned, and
 * not their names, default values, alias sets or list sizes. A declared SymInt,
 * SymFloat or SymBool fits int, float or bool, too, and ScalarType, Layout,
 * MemoryFormat and QScheme are ints (PyTorch's findSchemaDifferences(),
 * SEMANTICS 7.5 and 11.2).
 *
 * Context: Userspace.
 * Return: 0 or -EPROTOTYPE.
 */
int dk_schema_compare(const struct dk_schema *declared,
		      const struct dk_schema *inferred, struct dk_diag *why);

/**
 * dk_schema_alias_analysis() - what holds where a definition says nothing
 * @s: the schema that it was defined with
 *
 * Context: Userspace.
 * Return: DK_ALIAS_FROM_SCHEMA if the schema was written down, and
 * DK_ALIAS_CONSERVATIVE if it was inferred and has no name (SEMANTICS 11.2).
 */
enum dk_alias_analysis dk_schema_alias_analysis(const struct dk_schema *s);

/**
 * dk_schema_decl() - a declaration for an operator that has a schema only
 * @s: the schema, with a name
 * @decl: set to the declaration, or to NULL
 * @why: filled on failure; may be NULL
 *
 * Its parameters are the arguments of the schema, in order, by their names:
 * Tensor and Tensor? are DK_ARG_OBJECT, lists of them DK_ARG_LIST, Generator and
 * Generator? DK_ARG_GENERATOR, int and the enumerations DK_ARG_INT of 64 bits,
 * bool DK_ARG_BOOL, float DK_ARG_DOUBLE, str and str? DK_ARG_STRING, and all else
 * is a DK_ARG_POINTER to a value that caller and function agree on, NULL for none.
 * dk_args_pack() makes the arguments of dk_call_boxed(), which dispatches on those
 * of dk_schema_dispatch_mask(); its functions are boxed ones and read them by
 * dk_arg_get(). There is no C type to call it by, and no signature to compare.
 *
 * Context: Userspace.
 * Return: 0, -EINVAL (reason SCHEMA_ARGS, more than 64 arguments; reason BAD_NAME,
 * the schema has no name), -ENOMEM.
 */
int dk_schema_decl(const struct dk_schema *s, struct dk_op_decl **decl,
		   struct dk_diag *why);

/**
 * dk_schema_decl_free() - give a declaration back
 * @decl: from dk_schema_decl(), of which no operator is defined any more; NULL is
 *	fine
 *
 * Context: Userspace.
 */
void dk_schema_decl_free(struct dk_op_decl *decl);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_SCHEMA_H */
