// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Arguments as data: lists of objects, and values into and out of the struct
 * of an operator's arguments by the description of its parameters. Floating
 * point is carried as its bits.
 */
#include "registry.h"

/* ---- lists ---------------------------------------------------------------- */

const struct dk_obj *dk_list_at(const struct dk_list *list, unsigned long i)
{
	const char *item;

	if (i >= list->n)
		return NULL;
	/* pointers to objects of any type */
	memcpy(&item, (const char *)list->items + i * sizeof(item), sizeof(item));
	return item ? (const struct dk_obj *)(item + list->offset) : NULL;
}

const struct dk_obj *dk_list_obj(struct dk_list *list)
{
	const struct dk_obj *o;
	unsigned long i;
	u64 bits = 0;

	for (i = 0; i < list->n; i++) {
		o = dk_list_at(list, i);
		if (o)
			bits |= o->ks.bits;
	}
	list->head.ks.bits = bits;
	list->head.device = 0;
	list->head.flags = DK_OBJ_LIST;
	return &list->head;
}

const struct dk_obj *dk_list_init(struct dk_list *list, const void *items,
				  unsigned long n, unsigned long offset)
{
	list->items = items;
	list->n = n;
	list->offset = offset;
	return dk_list_obj(list);
}

/* ---- values --------------------------------------------------------------- */

static const struct dk_param *dkc_param(const struct dk_op_decl *decl, unsigned int i)
{
	return decl->size == sizeof(*decl) && decl->param && i < decl->num_params ?
	       &decl->param[i] : NULL;
}

int dk_arg_find(const struct dk_op_decl *decl, const char *name)
{
	const struct dk_param *p;
	unsigned int i;

	for (i = 0; (p = dkc_param(decl, i)); i++)
		if (dkc_streq(p->name, name))
			return i;
	return -ENOENT;
}

/* An unsigned integer of 1, 2, 4 or 8 bytes. */
static u64 dkc_read_bits(const void *at, u32 size)
{
	u8 b;
	u16 h;
	u32 w;
	u64 d;

	switch (size) {
	case sizeof(b):
		memcpy(&b, at, sizeof(b));
		return b;
	case sizeof(h):
		memcpy(&h, at, sizeof(h));
		return h;
	case sizeof(w):
		memcpy(&w, at, sizeof(w));
		return w;
	default:
		memcpy(&d, at, sizeof(d));
		return d;
	}
}

static void dkc_write_bits(void *at, u32 size, u64 d)
{
	u8 b = d;
	u16 h = d;
	u32 w = d;

	switch (size) {
	case sizeof(b):
		memcpy(at, &b, sizeof(b));
		break;
	case sizeof(h):
		memcpy(at, &h, sizeof(h));
		break;
	case sizeof(w):
		memcpy(at, &w, sizeof(w));
		break;
	default:
		memcpy(at, &d, sizeof(d));
	}
}

static __s64 dkc_sign_extend(u64 bits, u32 size)
{
	unsigned int shift = 64 - 8 * size;

	return (__s64)(bits << shift) >> shift;
}

static void *dkc_read_pointer(const void *at)
{
	void *p;

	memcpy(&p, at, sizeof(p));
	return p;
}

int dk_arg_get(const struct dk_op_decl *decl, const void *args, unsigned int i,
	       struct dk_value *value)
{
	const struct dk_param *p = dkc_param(decl, i);
	const char *at;

	if (!p)
		return -ENOENT;
	at = (const char *)args + p->offset;
	memset(value, 0, sizeof(*value));
	value->kind = p->kind;
	value->size = p->size;
	switch (p->kind) {
	case DK_ARG_BOOL:
	case DK_ARG_UINT:
	case DK_ARG_FLOAT:
	case DK_ARG_DOUBLE:
		value->u = dkc_read_bits(at, p->size);
		break;
	case DK_ARG_INT:
		value->i = dkc_sign_extend(dkc_read_bits(at, p->size), p->size);
		break;
	case DK_ARG_OBJECT:
		value->ptr = dkc_read_pointer(at);
		if (value->ptr)
			value->ptr = (char *)value->ptr + p->obj_offset;
		break;
	case DK_ARG_LIST:
		memcpy(&value->list, at, sizeof(value->list));
		break;
	case DK_ARG_STRING:
	case DK_ARG_GENERATOR:
	case DK_ARG_POINTER:
		value->ptr = dkc_read_pointer(at);
		break;
	default:
		value->ptr = (void *)at;
	}
	return 0;
}

/* Does an integer of either sign fit the parameter? */
static bool dkc_fits(const struct dk_param *p, const struct dk_value *v)
{
	bool negative = v->kind == DK_ARG_INT && v->i < 0;
	u64 top = ~0ULL >> (64 - 8 * p->size);

	if (p->kind == DK_ARG_UINT)
		return !negative && v->u <= top;
	return negative ? v->i >= -(__s64)(top >> 1) - 1 : v->u <= top >> 1;
}

static bool dkc_is_integer(u32 kind)
{
	return kind == DK_ARG_INT || kind == DK_ARG_UINT;
}

/* Is a value of the kind that a parameter wants? */
static bool dkc_same_kind(const struct dk_param *p, const struct dk_value *v)
{
	if (dkc_is_integer(p->kind))
		return dkc_is_integer(v->kind);
	if (v->kind == DK_ARG_POINTER && !v->ptr)
		return p->kind == DK_ARG_OBJECT || p->kind == DK_ARG_GENERATOR ||
		       p->kind == DK_ARG_POINTER;
	return p->kind == v->kind && (p->kind != DK_ARG_OTHER || p->size == v->size);
}

static void dkc_write_value(const struct dk_param *p, char *at,
			    const struct dk_value *v)
{
	const void *ptr = v->ptr;

	switch (p->kind) {
	case DK_ARG_BOOL:
	case DK_ARG_INT:
	case DK_ARG_UINT:
	case DK_ARG_FLOAT:
	case DK_ARG_DOUBLE:
		dkc_write_bits(at, p->size, v->u);
		break;
	case DK_ARG_LIST:
		memcpy(at, &v->list, sizeof(v->list));
		break;
	case DK_ARG_OBJECT:
		if (ptr)
			ptr = (const char *)ptr - p->obj_offset;
		memcpy(at, &ptr, sizeof(ptr));
		break;
	case DK_ARG_OTHER:
		memcpy(at, ptr, p->size);
		break;
	default:
		memcpy(at, &ptr, sizeof(ptr));
	}
}

int dk_arg_set(const struct dk_op_decl *decl, void *args, unsigned int i,
	       const struct dk_value *value, struct dk_diag *why)
{
	const struct dk_param *p = dkc_param(decl, i);

	if (!p)
		return dkc_refuse(why, DK_WHY_NO_PARAM, decl->name);
	if (!dkc_same_kind(p, value))
		return dkc_refuse(why, DK_WHY_ARG_KIND, p->name);
	if ((dkc_is_integer(p->kind) && !dkc_fits(p, value)) ||
	    (p->kind == DK_ARG_BOOL && value->u > 1))
		return dkc_refuse(why, DK_WHY_ARG_RANGE, p->name);
	dkc_write_value(p, (char *)args + p->offset, value);
	return 0;
}

int dk_args_pack(const struct dk_op_decl *decl, const struct dk_value *values,
		 unsigned int n, void *args, size_t size, struct dk_diag *why)
{
	unsigned int i;
	int err = 0;

	if (decl->size != sizeof(*decl) || n != decl->num_params)
		return dkc_refuse(why, DK_WHY_ARG_COUNT, decl->name);
	if (size < decl->args_size)
		return dkc_refuse(why, DK_WHY_BAD_SIZE, decl->name);
	memset(args, 0, decl->args_size);
	for (i = 0; i < n && !err; i++)
		err = dk_arg_set(decl, args, i, &values[i], why);
	return err;
}
