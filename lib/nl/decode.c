// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Decodes the attributes of an answer into a struct. Skips unknown attributes, which a newer module
 * may send, and refuses malformed ones.
 */
#include "internal.h"

#include <errno.h>
#include <netlink/attr.h>
#include <string.h>

/* Checks the length of an attribute, and that a string ends in a NUL. */
bool dkn_attr_is_valid(const struct nlattr *nla, enum dkn_kind kind)
{
	int len = nla_len(nla);

	switch (kind) {
	case DKN_U8:
		return len == 1;
	case DKN_U32:
	case DKN_S32:
		return len == 4;
	case DKN_U64:
		return len == 8;
	case DKN_STRING:
		return len > 0 && !((const char *)nla_data(nla))[len - 1];
	case DKN_FLAG:
		return len == 0;
	case DKN_PAD:
	case DKN_NEST:
		break;
	}
	return true;
}

static uint64_t number(const struct nlattr *nla, enum dkn_kind kind)
{
	switch (kind) {
	case DKN_U8:
		return nla_get_u8(nla);
	case DKN_U32:
		return nla_get_u32(nla);
	case DKN_S32:
		return (uint64_t)(int64_t)nla_get_s32(nla);
	case DKN_U64:
		return nla_get_u64(nla);
	default:
		return 1;		/* a flag is present */
	}
}

static void store(void *at, size_t width, uint64_t v)
{
	uint32_t v32 = (uint32_t)v;
	uint8_t v8 = (uint8_t)v;

	if (width == sizeof(v))
		memcpy(at, &v, sizeof(v));
	else if (width == sizeof(v32))
		memcpy(at, &v32, sizeof(v32));
	else
		memcpy(at, &v8, sizeof(v8));
}

static void store_pointer(void *at, const void *p)
{
	memcpy(at, &p, sizeof(p));
}

/* True if the string is copied into the struct; false if the struct gets a pointer to it. */
static bool is_array(const struct dkn_field *f)
{
	return f->width > sizeof(char *);
}

/* True for the UTF-8 encoding of U+0080 to U+009F, which are control characters. */
static bool is_c1_control(unsigned char first, unsigned char second)
{
	return first == 0xc2 && second >= 0x80 && second < 0xa0;
}

/* Replaces control characters by "?", since callers print these strings to terminals. */
void dkn_copy_text(char *to, size_t size, const char *from, size_t len)
{
	bool is_control;
	size_t i;

	if (len > size - 1)
		len = size - 1;
	for (i = 0; i < len && from[i]; i++) {
		is_control = (unsigned char)from[i] < ' ' || from[i] == 0x7f ||
			     (i + 1 < len && is_c1_control(from[i], from[i + 1])) ||
			     (i && is_c1_control(from[i - 1], from[i]));
		to[i] = is_control ? '?' : from[i];
	}
	to[i] = '\0';
}

static void fill_presets(const struct dkn_shape *shape, char *into)
{
	const struct dkn_field *f;
	unsigned int i;

	for (i = 0; i < shape->num_fields; i++) {
		f = &shape->fields[i];
		if (f->many == DKN_PART)
			fill_presets(f->shape, into + f->at);
		else if (dkn_attr(shape->set, f->attr)->kind == DKN_STRING && f->many == DKN_ONE &&
			 !is_array(f))
			store_pointer(into + f->at, "");
		else if (f->preset)
			store(into + f->at, f->width, f->preset);
	}
}

/* Fills in the defaults for absent attributes. */
void dkn_preset(const struct dkn_shape *shape, void *into)
{
	memset(into, 0, shape->size);
	fill_presets(shape, into);
	store(into, sizeof(uint32_t), shape->size);
}

static void *element(struct dkn_arena *a, const struct dkn_shape *shape)
{
	void *e = dkn_arena_get(a, shape->size);

	if (e)
		dkn_preset(shape, e);
	return e;
}

static void append(struct dkn_list *list, void *e)
{
	if (list->last)
		store_pointer((char *)list->last + list->shape->next, e);
	else
		list->first = e;
	list->last = e;
	list->n++;
}

int dkn_list_decode(struct dkn_arena *a, struct dkn_list *list,
		    const struct nlattr *head, int len, struct dkn_bad_attr *bad)
{
	void *e = element(a, list->shape);

	if (!e)
		return -ENOMEM;
	append(list, e);
	return dkn_decode(a, list->shape, head, len, e, bad);
}

/* Returns a copy without control characters, or NULL if allocation fails. */
static const char *text(struct dkn_arena *a, const struct nlattr *nla)
{
	return dkn_arena_text(a, nla_data(nla), nla_len(nla));
}

/* Decodes the strings of all attributes of type @f->attr. check() has validated them. */
static int decode_strings(struct dkn_arena *a, const struct dkn_field *f,
			  const struct nlattr *first, int len, char *into)
{
	const struct nlattr *nla;
	const char **all;
	uint32_t n = 0;
	int rest;

	for (nla = first, rest = len; dkn_attr_ok(nla, rest); nla = dkn_attr_next(nla, &rest))
		n += nla_type(nla) == (int)f->attr;
	all = dkn_arena_get(a, n * sizeof(*all));
	if (!all)
		return -ENOMEM;
	store_pointer(into + f->at, all);
	store(into + f->count_at, sizeof(n), n);
	n = 0;
	for (nla = first, rest = len; dkn_attr_ok(nla, rest); nla = dkn_attr_next(nla, &rest)) {
		if (nla_type(nla) != (int)f->attr)
			continue;
		all[n] = text(a, nla);
		if (!all[n++])
			return -ENOMEM;
	}
	return 0;
}

/* Decodes the nests of type @f->attr: all of them, or only the first. */
static int decode_nests(struct dkn_arena *a, const struct dkn_field *f,
			const struct nlattr *first, int len, char *into,
			struct dkn_bad_attr *bad)
{
	struct dkn_list list = { .shape = f->shape };
	const struct nlattr *nla;
	int err, rest;

	for (nla = first, rest = len; dkn_attr_ok(nla, rest); nla = dkn_attr_next(nla, &rest)) {
		if (nla_type(nla) != (int)f->attr)
			continue;
		err = dkn_list_decode(a, &list, nla_data(nla), nla_len(nla), bad);
		if (err)
			return err;
		if (f->many == DKN_ONE)
			break;
	}
	store_pointer(into + f->at, list.first);
	if (f->count_at)
		store(into + f->count_at, sizeof(list.n), list.n);
	return 0;
}

static int decode_field(struct dkn_arena *a, const struct dkn_shape *shape,
			const struct dkn_field *f, const struct nlattr *nla, int rest,
			char *into, struct dkn_bad_attr *bad)
{
	enum dkn_kind kind = dkn_attr(shape->set, f->attr)->kind;
	const char *s;

	if (f->has_at)
		store(into + f->has_at, sizeof(uint32_t), 1);
	if (f->many == DKN_PART)
		return dkn_decode(a, f->shape, nla_data(nla), nla_len(nla), into + f->at, bad);
	if (kind == DKN_NEST)
		return decode_nests(a, f, nla, rest, into, bad);
	if (kind != DKN_STRING) {
		store(into + f->at, f->width, number(nla, kind));
		return 0;
	}
	if (f->many == DKN_ALL)
		return decode_strings(a, f, nla, rest, into);
	if (is_array(f)) {
		dkn_copy_text(into + f->at, f->width, nla_data(nla), nla_len(nla));
		return 0;
	}
	s = text(a, nla);
	if (!s)
		return -ENOMEM;
	store_pointer(into + f->at, s);
	return 0;
}

/* Validates all attributes before any of them is decoded. */
static int check(enum dkn_set set, const struct nlattr *head, int len,
		 struct dkn_bad_attr *bad)
{
	const struct dkn_attr *attr;
	const struct nlattr *nla;

	*bad = (struct dkn_bad_attr){ set, 0 };
	for (nla = head; dkn_attr_ok(nla, len); nla = dkn_attr_next(nla, &len)) {
		attr = dkn_attr(set, nla_type(nla));
		if (attr && !dkn_attr_is_valid(nla, attr->kind)) {
			bad->type = nla_type(nla);
			return -EBADMSG;
		}
	}
	return len > 0 ? -EBADMSG : 0;
}

/*
 * Decodes the attributes at @head into a struct that dkn_preset() has filled in.
 * Returns -EBADMSG and fills in @bad if an attribute is malformed.
 */
int dkn_decode(struct dkn_arena *a, const struct dkn_shape *shape,
	       const struct nlattr *head, int len, void *into, struct dkn_bad_attr *bad)
{
	const struct nlattr *nla;
	unsigned int i;
	int rest, err;

	err = check(shape->set, head, len, bad);
	if (err)
		return err;
	for (i = 0; i < shape->num_fields; i++) {
		rest = len;
		for (nla = head; dkn_attr_ok(nla, rest); nla = dkn_attr_next(nla, &rest))
			if (nla_type(nla) == (int)shape->fields[i].attr)
				break;
		if (!dkn_attr_ok(nla, rest))
			continue;
		err = decode_field(a, shape, &shape->fields[i], nla, rest, into, bad);
		if (err)
			return err;
	}
	return 0;
}
