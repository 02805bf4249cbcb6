/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Arguments as data: lists and generators among what a call dispatches on, the
 * description of an operator's parameters, and values to fill them from.
 * Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_VALUE_H
#define _DISPATCHKEY_VALUE_H

#include <dispatchkey-base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dk_op_decl;

/* ---- lists and generators ------------------------------------------------- */

/* In dk_obj.flags: this is the head of a struct dk_list. No other value but 0. */
#define DK_OBJ_LIST	0x744c6b64u

/**
 * struct dk_list - a list of objects, as a parameter or of a call
 * @head: the union of the keysets of all that are there
 * @items: array of pointers to what the objects are embedded in; NULL is absent
 * @n: how many
 * @offset: where in it the struct dk_obj lies
 *
 * Made by DK_LIST() or dk_list_init(). The objects are not copied.
 */
struct dk_list {
	struct dk_obj head;
	const void *items;
	unsigned long n;
	unsigned long offset;
};

/**
 * dk_list_init() - a list of objects
 * @list: is filled
 * @items: array of pointers, which stays as long as the list; NULL is absent
 * @n: how many
 * @offset: where in what they point to the struct dk_obj lies
 *
 * Context: Any.
 * Return: What a call dispatches on, @list->head.
 */
const struct dk_obj *dk_list_init(struct dk_list *list, const void *items,
				  unsigned long n, unsigned long offset);

/**
 * dk_list_obj() - a list that is a parameter, in the dispatch list of DK_OP()
 * @list: the list
 *
 * Takes the union of the keysets as they are now.
 *
 * Context: Any.
 * Return: What a call dispatches on, @list->head.
 */
const struct dk_obj *dk_list_obj(struct dk_list *list);

/**
 * dk_list_at() - an object of a list
 * @list: the list
 * @i: which one
 *
 * Context: Any.
 * Return: The object, or NULL where it is absent or @i is behind the end.
 */
const struct dk_obj *dk_list_at(const struct dk_list *list, unsigned long i);

/**
 * struct dk_generator - what makes random numbers; embed it in your own
 * @dk: with a key such as CustomRNGKeyId, or a backend's
 */
struct dk_generator {
	struct dk_obj dk;
};

/* ---- the description of parameters ---------------------------------------- */

/**
 * enum dk_arg_kind - what a parameter of an operator is
 * @DK_ARG_NONE: no value
 * @DK_ARG_BOOL: bool
 * @DK_ARG_INT: a signed integer of any width
 * @DK_ARG_UINT: an unsigned integer of any width, or an enum
 * @DK_ARG_FLOAT: float; carried as its 32 bits
 * @DK_ARG_DOUBLE: double; carried as its 64 bits
 * @DK_ARG_STRING: const char *
 * @DK_ARG_OBJECT: pointer to a struct dk_obj or to a type of DK_OBJECT_TYPES;
 *	NULL is an absent one
 * @DK_ARG_LIST: struct dk_list
 * @DK_ARG_GENERATOR: pointer to a struct dk_generator; NULL is an absent one
 * @DK_ARG_POINTER: any other pointer, such as one to a result
 * @DK_ARG_OTHER: anything else; carried as a pointer to it
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
 * struct dk_param - a parameter of an operator; DK_OP() makes them
 * @name: its name
 * @kind: of enum dk_arg_kind
 * @offset: where in the struct of the arguments it lies
 * @size: its bytes there
 * @obj_offset: of DK_ARG_OBJECT: where in what it points to the struct dk_obj
 *	lies
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
 * @kind: of enum dk_arg_kind; says which member holds
 * @size: of DK_ARG_OTHER: bytes at @ptr
 * @i: DK_ARG_INT, and DK_ARG_BOOL as 0 or 1
 * @u: DK_ARG_UINT
 * @bits: DK_ARG_FLOAT and DK_ARG_DOUBLE
 * @str: DK_ARG_STRING
 * @obj: DK_ARG_OBJECT
 * @gen: DK_ARG_GENERATOR
 * @ptr: DK_ARG_POINTER and DK_ARG_OTHER
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
 * dk_arg_find() - a parameter by name
 * @decl: the operator, as in the declaration of a call
 * @name: the name of the C parameter
 *
 * Context: Any.
 * Return: Its number from 0, or -ENOENT.
 */
int dk_arg_find(const struct dk_op_decl *decl, const char *name);

/**
 * dk_arg_get() - an argument out of the struct of the arguments
 * @decl: the operator; in a boxed function, dk_call_described() of the call
 * @args: the arguments
 * @i: which one
 * @value: takes it
 *
 * Context: Any.
 * Return: 0, or -ENOENT (no such parameter, or none is described).
 */
int dk_arg_get(const struct dk_op_decl *decl, const void *args, unsigned int i,
	       struct dk_value *value);

/**
 * dk_arg_set() - an argument into the struct of the arguments
 * @decl: the operator
 * @args: the arguments
 * @i: which one
 * @value: what it shall be
 * @why: filled on failure; may be NULL
 *
 * An integer may come as DK_ARG_INT or DK_ARG_UINT; NULL of DK_ARG_POINTER is
 * no object.
 *
 * Context: Any.
 * Return: 0, reasons NO_PARAM, ARG_KIND or ARG_RANGE with the parameter's name.
 */
int dk_arg_set(const struct dk_op_decl *decl, void *args, unsigned int i,
	       const struct dk_value *value, struct dk_diag *why);

/**
 * dk_args_pack() - the struct of the arguments from values
 * @decl: the operator
 * @values: one for each parameter, in order
 * @n: how many
 * @args: is filled; on failure in part
 * @size: its bytes, at least @decl->args_size
 * @why: filled on failure; may be NULL
 *
 * Context: Any.
 * Return: 0, reasons ARG_COUNT or BAD_SIZE, or as dk_arg_set().
 */
int dk_args_pack(const struct dk_op_decl *decl, const struct dk_value *values,
		 unsigned int n, void *args, size_t size, struct dk_diag *why);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_VALUE_H */
