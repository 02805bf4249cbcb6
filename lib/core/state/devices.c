// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Finds devices by number, the names of backends, and the device of a call. */
#include "state.h"

struct dkc_device *dkc_device_at(const struct dk_registry *reg, u32 number)
{
	const struct dkc_devmap *map = dkc_deref(reg->devmap, reg);
	u32 slot = number & DKC_MAX_DEVICES;
	struct dkc_device *dev;

	if (!map || !number || slot >= map->size)
		return NULL;
	dev = dkc_deref(map->slot[slot].dev, reg);
	return dev && dev->number == number ? dev : NULL;
}

void dkc_backend_text(const struct dk_registry *reg, unsigned int backend, char buf[DK_NAME_MAX])
{
	const char *name = reg->private_backend[backend]->name;

	dkc_assert_writer(reg);
	dkc_strcpy(buf, name[0] ? name : reg->layout->backend_names[backend], DK_NAME_MAX);
}

static const struct dk_obj *first_on(const struct dk_list *list, u64 backend)
{
	const struct dk_obj *item;
	unsigned long i;

	for (i = 0; i < list->n; i++) {
		item = dk_list_at(list, i);
		if (item && (item->ks.bits & backend))
			return item;
	}
	return NULL;
}

/* Returns the device, or 0, of the first object or list item on the highest backend of @ks. */
u32 dkc_device_of(const struct dk_layout *l, u64 ks, const struct dk_obj *const *objs,
		  unsigned int n)
{
	const struct dk_obj *o;
	unsigned int i;
	u64 top;

	if (!(ks & l->backend_mask))
		return 0;
	top = 1ULL << dk__top_bit(ks & l->backend_mask);
	for (i = 0; i < n; i++) {
		o = objs[i];
		if (o && unlikely(o->flags == DK_OBJ_LIST))
			o = first_on((const struct dk_list *)o, top);
		if (o && (o->ks.bits & top))
			return o->device;
	}
	return 0;
}

const struct dkc_device *dkc_device_without(const struct dk_registry *reg, u32 number, u32 offline)
{
	const struct dkc_device *dev = dkc_device_at(reg, number);

	return dev && READ_ONCE(dev->online) && !(offline >> (dev->backend - 1) & 1) ?
	       dev : NULL;
}

const struct dkc_device *dkc_device_online(const struct dk_registry *reg, u32 number)
{
	return dkc_device_without(reg, number, READ_ONCE(reg->offline));
}

/* The devices of the objects of a call. */
struct dkc_places {
	const struct dk_registry *reg;
	u32 first;		/* the first device, 0: none yet */
	u32 offline;		/* backends whose devices are ignored */
};

/*
 * True if the object is on an online device other than the first one. If there is no first device
 * yet, the object's device becomes the first one.
 */
static bool on_second_device(struct dkc_places *p, const struct dk_obj *o)
{
	u32 number = o ? o->device : 0;

	if (!number || number == p->first || !dkc_device_without(p->reg, number, p->offline))
		return false;
	if (p->first)
		return true;
	p->first = number;
	return false;
}

/*
 * Treats the device and backend of @serves as online, because the call has found @serves. While
 * they are being taken offline or brought online, their stored state may differ.
 */
bool dkc_on_two_devices(const struct dk_registry *reg, const struct dkc_reg *serves,
			const struct dk_obj *const *objs, unsigned int n)
{
	struct dkc_places p = { .reg = reg, .offline = READ_ONCE(reg->offline) };
	const struct dk_list *list;
	unsigned long k;
	unsigned int i;

	if (serves) {
		p.first = dkc_block_of(serves)->device;
		p.offline &= ~dkc_reg_bits(serves, reg->layout);
	}
	for (i = 0; i < n; i++) {
		if (!objs[i] || objs[i]->flags != DK_OBJ_LIST) {
			if (on_second_device(&p, objs[i]))
				return true;
			continue;
		}
		list = (const struct dk_list *)objs[i];
		for (k = 0; k < list->n; k++)
			if (on_second_device(&p, dk_list_at(list, k)))
				return true;
	}
	return false;
}
