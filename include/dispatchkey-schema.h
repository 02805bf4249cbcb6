/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Parses and prints operator schemas in PyTorch's notation. Only in userspace: the
 * kernel handles a schema as text. Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_SCHEMA_H
#define _DISPATCHKEY_SCHEMA_H

#include <dispatchkey-call.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Maximum length of a schema in characters, and maximum nesting depth of its types. */
#define DK_SCHEMA_MAX		16384
#define DK_SCHEMA_DEPTH		16

struct dk_schema;

/**
 * enum dk_type_kind - the kind of a type
 * @DK_TYPE_NAME: a name, such as Tensor, int or
 *	__torch__.torch.classes.c10d.Work
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
 * @size: for DK_TYPE_LIST, the size, 0 if it has none
 * @name: for DK_TYPE_NAME and DK_TYPE_GENERIC, the name; otherwise NULL
 * @before: alias sets before the arrow, as "a|b" in ``(a|b! -> *)``, or NULL
 * @after: alias sets after the arrow, here "*", or NULL
 * @write: whether the annotation has a "!"
 * @first: the first type inside this one
 * @next: the next type on the same level
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
 * struct dk_schema_arg - an argument or a return
 * @type: its type
 * @name: its name; empty for a return without one
 * @value: the default value as it is written, except for white space in a list; or NULL
 * @keyword_only: whether it follows the ``*``
 */
struct dk_schema_arg {
	const struct dk_type *type;
	const char *name;
	const char *value;
	__u32 keyword_only;
};

/**
 * enum dk_schema_flags - variable numbers of arguments and returns
 * @DK_SCHEMA_VARARG: more arguments are allowed: ``...``
 * @DK_SCHEMA_VARRET: more returns are allowed
 */
enum dk_schema_flags {
	DK_SCHEMA_VARARG = 1,
	DK_SCHEMA_VARRET = 2,
};

/**
 * dk_schema_parse() - parse a schema
 * @text: such as ``aten::add(Tensor self, *, Scalar alpha=1) -> Tensor``; a
 *	schema inferred from a function begins with the parenthesis
 * @s: set to the schema, or to NULL
 * @why: filled on failure, with the column, the text found there and the text
 *	expected; may be NULL
 *
 * Equivalent to PyTorch's parseSchema(). Refuses overload names that PyTorch forbids. As
 * in PyTorch, arguments after one with a default value need a default value, too, unless
 * they are lists or keyword-only.
 *
 * Context: Userspace.
 * Return: 0, -EINVAL (reasons SCHEMA, BAD_NAME, NULL_ARGUMENT), -ENOMEM.
 */
int dk_schema_parse(const char *text, struct dk_schema **s, struct dk_diag *why);

/**
 * dk_schema_free() - free a schema
 * @s: from dk_schema_parse(), or NULL
 *
 * Context: Userspace.
 */
void dk_schema_free(struct dk_schema *s);

/**
 * dk_schema_print() - print a schema as PyTorch does
 * @s: the schema
 * @buf: filled with the text, truncated to fit, with a final NUL unless @size
 *	is 0
 * @size: size of @buf in bytes
 *
 * Context: Userspace.
 * Return: The length of the whole text.
 */
size_t dk_schema_print(const struct dk_schema *s, char *buf, size_t size);

/**
 * dk_type_print() - print a type as PyTorch does
 * @t: the type
 * @buf: filled with the text, as in dk_schema_print()
 * @size: size of @buf in bytes
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
 * dk_schema_overload() - the overload name, which follows the dot
 * @s: the schema
 *
 * Context: Userspace.
 * Return: The name, such as "Tensor"; empty if there is none.
 */
const char *dk_schema_overload(const struct dk_schema *s);

/**
 * dk_schema_flags() - whether a schema allows more arguments or returns than it lists
 * @s: the schema
 *
 * Context: Userspace.
 * Return: Flags of enum dk_schema_flags.
 */
unsigned int dk_schema_flags(const struct dk_schema *s);

/**
 * dk_schema_args() - the number of arguments
 * @s: the schema
 *
 * Context: Userspace.
 * Return: The number, not counting ``*`` and ``...``.
 */
unsigned int dk_schema_args(const struct dk_schema *s);

/**
 * dk_schema_argument() - get an argument
 * @s: the schema
 * @i: index, from 0
 *
 * Context: Userspace.
 * Return: The argument, valid as long as the schema, or NULL.
 */
const struct dk_schema_arg *dk_schema_argument(const struct dk_schema *s, unsigned int i);

/**
 * dk_schema_returns() - the number of returns
 * @s: the schema
 *
 * Context: Userspace.
 * Return: The number, not counting ``...``.
 */
unsigned int dk_schema_returns(const struct dk_schema *s);

/**
 * dk_schema_return() - get a return
 * @s: the schema
 * @i: index, from 0
 *
 * Context: Userspace.
 * Return: The return, valid as long as the schema, or NULL.
 */
const struct dk_schema_arg *dk_schema_return(const struct dk_schema *s, unsigned int i);

/**
 * dk_schema_dispatch_mask() - the arguments that a boxed call dispatches on
 * @s: the schema
 * @mask: set to the arguments: bit n-1-j stands for argument j of n
 * @why: filled on failure; may be NULL
 *
 * These are the arguments of type Tensor, Tensor?, Tensor[] and Tensor?[] (SEMANTICS
 * 6.1). Equivalent to PyTorch's dispatch_arg_indices_reverse.
 *
 * Context: Userspace.
 * Return: 0, or -EINVAL if there are more than 64 arguments.
 */
int dk_schema_dispatch_mask(const struct dk_schema *s, __u64 *mask,
			    struct dk_diag *why);

/**
 * dk_schema_compare() - compare the schemas of an operator and its function
 * @declared: the schema of the operator
 * @inferred: the schema of the function
 * @why: filled on failure, with the first difference; may be NULL
 *
 * Compares the numbers and types of arguments and returns. Ignores names, default
 * values, alias sets and list sizes. A declared SymInt, SymFloat or SymBool also
 * matches an inferred int, float or bool, respectively. DeviceIndex and ConstQuantizerPtr
 * count as int, Dimname as str, and None as NoneType. ScalarType, Layout, MemoryFormat and
 * QScheme are different types. See the use of PyTorch's findSchemaDifferences() in
 * OperatorEntry, and SEMANTICS 7.5 and 11.2.
 *
 * Context: Userspace.
 * Return: 0 or -EPROTOTYPE.
 */
int dk_schema_compare(const struct dk_schema *declared,
		      const struct dk_schema *inferred, struct dk_diag *why);

/**
 * dk_schema_alias_analysis() - the default alias analysis of a definition
 * @s: the schema of the definition
 *
 * Context: Userspace.
 * Return: DK_ALIAS_FROM_SCHEMA for a written schema, DK_ALIAS_CONSERVATIVE for an
 * inferred one, which has no name (SEMANTICS 11.2).
 */
enum dk_alias_analysis dk_schema_alias_analysis(const struct dk_schema *s);

/**
 * dk_schema_decl() - make a declaration of an operator from its schema
 * @s: the schema, with a name
 * @decl: set to the declaration, or to NULL
 * @why: filled on failure; may be NULL
 *
 * The declaration's parameters have the names and order of the schema's arguments,
 * and these kinds:
 *
 * * Tensor and Tensor?: DK_ARG_OBJECT; lists of them: DK_ARG_LIST
 * * Generator and Generator?: DK_ARG_GENERATOR
 * * int, DeviceIndex and the enumerations: DK_ARG_INT of 64 bits
 * * bool: DK_ARG_BOOL; float: DK_ARG_DOUBLE; str and str?: DK_ARG_STRING
 * * all others: DK_ARG_POINTER, NULL or a pointer whose meaning caller and function
 *   define
 *
 * The operator has no C type, so there is no signature to compare. Call it with
 * dk_args_pack() and dk_call_boxed(), which dispatches on the arguments of
 * dk_schema_dispatch_mask(). Its functions must be boxed and read their arguments
 * with dk_arg_get(). A function that is registered for this declaration but is not boxed
 * is not refused, but its calls fail with -EPROTOTYPE.
 *
 * Context: Userspace.
 * Return: 0, -EINVAL (reason SCHEMA_ARGS, more than 64 arguments; reason BAD_NAME,
 * the schema has no name), -ENOMEM.
 */
int dk_schema_decl(const struct dk_schema *s, struct dk_op_decl **decl,
		   struct dk_diag *why);

/**
 * dk_schema_decl_free() - free a declaration
 * @decl: from dk_schema_decl(), or NULL. The operator that it defines must be
 *	undefined first
 *
 * Context: Userspace.
 */
void dk_schema_decl_free(struct dk_op_decl *decl);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_SCHEMA_H */
