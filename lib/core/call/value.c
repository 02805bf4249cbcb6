// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Reads and writes values in the struct of an operator's arguments, by the description of
 * its parameters. Floating-point values are copied as bits.
 */
#include "call.h"

static const struct dk_param *param_at(const struct dk_op_decl *decl, unsigned int i)
{
	return decl->size == sizeof(*decl) && decl->param && i < decl->num_params ?
	       &decl->param[i] : NULL;
}

int dk_arg_find(const struct dk_op_decl *decl, const char *name)
{
	const struct dk_param *p;
	unsigned int i;

	for (i = 0; (p = param_at(decl, i)); i++)
		if (dkc_streq(p->name, name))
			return i;
	return -ENOENT;
}

/* Returns the size of a number in bytes: 1 to 8, even if the description is wrong. */
static u32 width(const struct dk_param *p)
{
	return p->size - 1 < sizeof(u64) ? p->size : sizeof(u64);
}

/* Returns the bytes of @d for a number of @size bytes: on a big-endian CPU, the last bytes. */
static u8 *low_bytes(u64 *d, u32 size)
{
	const u16 one = 1;

	return (u8 *)d + (*(const u8 *)&one ? 0 : sizeof(*d) - size);
}

int dk_arg_get(const struct dk_op_decl *decl, const void *args, unsigned int i,
	       struct dk_value *value)
{
	const struct dk_param *p = param_at(decl, i);
	unsigned int shift;
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
	case DK_ARG_INT:
		memcpy(low_bytes(&value->u, width(p)), at, width(p));
		shift = 64 - 8 * width(p);
		if (p->kind == DK_ARG_INT)
			value->i = (__s64)(value->u << shift) >> shift;
		break;
	case DK_ARG_LIST:
		memcpy(&value->list, at, sizeof(value->list));
		break;
	case DK_ARG_OBJECT:
	case DK_ARG_STRING:
	case DK_ARG_GENERATOR:
	case DK_ARG_POINTER:
		memcpy(&value->ptr, at, sizeof(value->ptr));
		if (p->kind == DK_ARG_OBJECT && value->ptr)
			value->ptr = (char *)value->ptr + p->obj_offset;
		break;
	default:
		value->ptr = (void *)at;
	}
	return 0;
}

/* True if the value of an integer, signed or not, can be stored in the parameter. */
static bool fits(const struct dk_param *p, const struct dk_value *v)
{
	bool negative = v->kind == DK_ARG_INT && v->i < 0;
	u64 top = ~0ULL >> (64 - 8 * width(p));

	if (p->kind == DK_ARG_UINT)
		return !negative && v->u <= top;
	return negative ? v->i >= -(__s64)(top >> 1) - 1 : v->u <= top >> 1;
}

static bool is_integer(u32 kind)
{
	return kind == DK_ARG_INT || kind == DK_ARG_UINT;
}

/*
 * True if a value has the kind of the parameter. Treats both integer kinds as the same. A NULL
 * pointer is also accepted for an object or a generator.
 */
static bool same_kind(const struct dk_param *p, const struct dk_value *v)
{
	if (is_integer(p->kind))
		return is_integer(v->kind);
	if (v->kind == DK_ARG_POINTER && !v->ptr)
		return p->kind == DK_ARG_OBJECT || p->kind == DK_ARG_GENERATOR ||
		       p->kind == DK_ARG_POINTER;
	return p->kind == v->kind && (p->kind != DK_ARG_OTHER || (v->ptr && p->size == v->size));
}

static void write_value(const struct dk_param *p, char *at, const struct dk_value *v)
{
	const void *ptr = v->ptr;
	u64 bits = v->u;

	switch (p->kind) {
	case DK_ARG_BOOL:
	case DK_ARG_INT:
	case DK_ARG_UINT:
	case DK_ARG_FLOAT:
	case DK_ARG_DOUBLE:
		memcpy(at, low_bytes(&bits, width(p)), width(p));
		break;
	case DK_ARG_LIST:
		memcpy(at, &v->list, sizeof(v->list));
		break;
	case DK_ARG_OTHER:
		memcpy(at, ptr, p->size);
		break;
	default:
		if (p->kind == DK_ARG_OBJECT && ptr)
			ptr = (const char *)ptr - p->obj_offset;
		memcpy(at, &ptr, sizeof(ptr));
	}
}

int dk_arg_set(const struct dk_op_decl *decl, void *args, unsigned int i,
	       const struct dk_value *value, struct dk_diag *why)
{
	const struct dk_param *p = param_at(decl, i);

	if (!p)
		return dkc_refuse(why, DK_WHY_NO_PARAM, decl->name);
	if (!same_kind(p, value))
		return dkc_refuse(why, DK_WHY_ARG_KIND, p->name);
	if ((is_integer(p->kind) && !fits(p, value)) ||
	    (p->kind == DK_ARG_BOOL && value->u > 1))
		return dkc_refuse(why, DK_WHY_ARG_RANGE, p->name);
	write_value(p, (char *)args + p->offset, value);
	return dkc_accept(why);
}

int dk_args_pack(const struct dk_op_decl *decl, const struct dk_value *values,
		 unsigned int n, void *args, size_t size, struct dk_diag *why)
{
	unsigned int i;
	int err = dkc_accept(why);

	if (decl->size != sizeof(*decl) || n != decl->num_params)
		return dkc_refuse(why, DK_WHY_ARG_COUNT, decl->name);
	if (size < decl->args_size)
		return dkc_refuse(why, DK_WHY_ARGS_SIZE, decl->name);
	memset(args, 0, decl->args_size);
	for (i = 0; i < n && !err; i++)
		err = dk_arg_set(decl, args, i, &values[i], why);
	return err;
}
