// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Lists of objects. A list is itself an object, and has the keys of all its items. */
#include "layout.h"

const struct dk_obj *dk_list_at(const struct dk_list *list, unsigned long i)
{
	const char *item;

	if (!list->items || i >= list->n)
		return NULL;
	/* the items are pointers of any object type */
	memcpy(&item, (const char *)list->items + i * sizeof(item), sizeof(item));
	return item ? (const struct dk_obj *)(item + list->offset) : NULL;
}

const struct dk_obj *dk_list_obj(struct dk_list *list)
{
	const struct dk_obj *o;
	unsigned long i;
	u64 bits = 0;

	for (i = 0; list->items && i < list->n; i++) {
		o = dk_list_at(list, i);
		if (o)
			bits |= o->ks.bits;
	}
	list->n = i;	/* 0 if the list is absent */
	list->head.ks.bits = bits;
	list->head.device = DK_DEVICE_LIST;
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
