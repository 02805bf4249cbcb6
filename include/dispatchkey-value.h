/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Declares arguments as data: lists and generators that calls dispatch on,
 * descriptions of an operator's parameters, and the values of arguments. Included by
 * <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_VALUE_H
#define _DISPATCHKEY_VALUE_H

#include <dispatchkey-base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dk_op_decl;

/* ---- lists and generators ------------------------------------------------- */

/* In dk_obj.flags: marks the head of a struct dk_list. Otherwise the flags are 0. */
#define DK_OBJ_LIST	0x744c6b64u
/* In dk_obj.device of a list's head: use the devices of the items. No device has this number. */
#define DK_DEVICE_LIST	0xffffffffu

/**
 * struct dk_list - a list of objects, as a parameter or for one call
 * @head: an object with the union of the objects' keysets
 * @items: array of pointers to the types that embed the objects; NULL if the list is
 *	absent (@n is then ignored, and dk_list_obj() sets it to 0)
 * @n: number of pointers at @items
 * @offset: offset of the struct dk_obj in the embedding type
 *
 * Initialised by DK_LIST() or dk_list_init(). The objects are not copied.
 */
struct dk_list {
	struct dk_obj head;
	const void *items;
	unsigned long n;
	unsigned long offset;
};

/**
 * dk_list_init() - initialise a list of objects
 * @list: the list
 * @items: array of pointers, which must stay valid as long as the list; NULL if the
 *	list is absent (@n is then ignored)
 * @n: number of pointers at @items
 * @offset: offset of the struct dk_obj in the type that they point to
 *
 * Context: Any.
 * Return: @list->head, for calls to dispatch on.
 */
const struct dk_obj *dk_list_init(struct dk_list *list, const void *items,
				  unsigned long n, unsigned long offset);

/**
 * dk_list_obj() - the object of a list parameter, for the dispatch list of DK_OP()
 * @list: the list
 *
 * Recomputes the union of the objects' keysets. Sets @list->n to 0 if the list is absent.
 *
 * Context: Any.
 * Return: @list->head, for calls to dispatch on.
 */
const struct dk_obj *dk_list_obj(struct dk_list *list);

/**
 * dk_list_at() - get an object of a list
 * @list: the list
 * @i: index, from 0
 *
 * Context: Any.
 * Return: The object; NULL if it is absent or @i is past the end.
 */
const struct dk_obj *dk_list_at(const struct dk_list *list, unsigned long i);

/**
 * struct dk_generator - a random number generator; embed it in your own type
 * @dk: its object, with a key such as CustomRNGKeyId or a key of a backend
 */
struct dk_generator {
	struct dk_obj dk;
};

/* ---- the description of parameters ---------------------------------------- */

/**
 * enum dk_arg_kind - the kind of an operator's parameter
 * @DK_ARG_NONE: no value; no parameter has this kind
 * @DK_ARG_BOOL: bool
 * @DK_ARG_INT: a signed integer of any width, or an enum whose underlying type is signed
 * @DK_ARG_UINT: an unsigned integer of any width, or an enum whose underlying type is
 *	unsigned, as that of an enum without negative values is in GCC and Clang
 * @DK_ARG_FLOAT: float; stored as its 32 bits
 * @DK_ARG_DOUBLE: double; stored as its 64 bits
 * @DK_ARG_STRING: const char *
 * @DK_ARG_OBJECT: pointer to a struct dk_obj or to a type of
 *	DK_OBJECT_TYPES(); NULL if absent
 * @DK_ARG_LIST: struct dk_list
 * @DK_ARG_GENERATOR: pointer to a struct dk_generator; NULL if absent
 * @DK_ARG_POINTER: any other pointer, such as one to a result
 * @DK_ARG_OTHER: a value of any other type; stored as a pointer to the value
 */
enum dk_arg_kind {
	DK_ARG_NONE,
	DK_ARG_BOOL,
	DK_ARG_INT,
	DK_ARG_UINT,
	DK_ARG_FLOAT,
	DK_ARG_DOUBLE,
	DK_ARG_STRING,
	DK_ARG_OBJECT,
	DK_ARG_LIST,
	DK_ARG_GENERATOR,
	DK_ARG_POINTER,
	DK_ARG_OTHER,
};

/**
 * struct dk_param - a parameter of an operator; set by DK_OP()
 * @name: its name
 * @kind: of enum dk_arg_kind
 * @offset: its offset in the argument struct
 * @size: its size in bytes
 * @obj_offset: for DK_ARG_OBJECT, offset of the struct dk_obj in the type
 *	that the parameter points to
 */
struct dk_param {
	const char *name;
	__u32 kind;
	__u32 offset;
	__u32 size;
	__u32 obj_offset;
};

/**
 * struct dk_value - an argument of any kind
 * @kind: of enum dk_arg_kind; selects the valid member
 * @size: for DK_ARG_OTHER, size in bytes at @ptr
 * @i: DK_ARG_INT, and DK_ARG_BOOL as 0 or 1
 * @u: DK_ARG_UINT
 * @bits: DK_ARG_FLOAT and DK_ARG_DOUBLE
 * @str: DK_ARG_STRING
 * @obj: DK_ARG_OBJECT
 * @gen: DK_ARG_GENERATOR
 * @ptr: DK_ARG_POINTER and DK_ARG_OTHER, for which it must not be NULL
 * @list: DK_ARG_LIST
 */
struct dk_value {
	__u32 kind;
	__u32 size;
	union {
		__s64 i;
		__u64 u;
		__u64 bits;
		const char *str;
		struct dk_obj *obj;
		struct dk_generator *gen;
		void *ptr;
		struct dk_list list;
	};
};

/**
 * dk_arg_find() - find a parameter by name
 * @decl: the declaration of the operator, as for a call
 * @name: the name of the C parameter
 *
 * Context: Any.
 * Return: Its index from 0, or -ENOENT.
 */
int dk_arg_find(const struct dk_op_decl *decl, const char *name);

/**
 * dk_arg_get() - read an argument from an argument struct
 * @decl: the declaration; in a boxed function, dk_call_described() of the
 *	call
 * @args: the argument struct
 * @i: index of the parameter
 * @value: filled with the argument
 *
 * Context: Any.
 * Return: 0, or -ENOENT (no such parameter, or @decl describes none).
 */
int dk_arg_get(const struct dk_op_decl *decl, const void *args, unsigned int i,
	       struct dk_value *value);

/**
 * dk_arg_set() - write an argument to an argument struct
 * @decl: the declaration
 * @args: the argument struct
 * @i: index of the parameter
 * @value: the value
 * @why: filled on failure; may be NULL
 *
 * Integers may be passed as DK_ARG_INT or DK_ARG_UINT. A value of kind DK_ARG_POINTER
 * that is NULL is accepted as an absent object or generator.
 *
 * Context: Any.
 * Return: 0, or a negative errno (reasons NO_PARAM, ARG_KIND or ARG_RANGE with the
 * parameter's name).
 */
int dk_arg_set(const struct dk_op_decl *decl, void *args, unsigned int i,
	       const struct dk_value *value, struct dk_diag *why);

/**
 * dk_args_pack() - fill an argument struct from values
 * @decl: the declaration
 * @values: one value for each parameter, in order
 * @n: number of values
 * @args: the argument struct; partly filled on failure
 * @size: its size in bytes, at least @decl->args_size
 * @why: filled on failure; may be NULL
 *
 * Context: Any.
 * Return: 0, or a negative errno (reasons ARG_COUNT, ARGS_SIZE, or as dk_arg_set()).
 */
int dk_args_pack(const struct dk_op_decl *decl, const struct dk_value *values,
		 unsigned int n, void *args, size_t size, struct dk_diag *why);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_VALUE_H */
