// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the numbers of devices: no number is used twice, refused devices do not use up numbers, and
 * at most 4095 devices can be registered.
 */
#include "../../lib/core/change/change.h"

#include "test.h"

static struct dk_provider edu;

static void setup(void)
{
	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&edu, "edu-driver");
}

static u32 plug(const char *name)
{
	u32 device = 0;

	CHECK_OK(dk_device_register(&edu, DK_BACKEND_PRIVATEUSE1, name, NULL, NULL, 0, &device,
				    &t_why));
	CHECK(device);
	return device;
}

/*
 * A device's number consists of a slot and a generation, which counts the uses of the slot. After
 * the last generation, the slot is not used again. The test sets the generation to one of the last.
 */
static void used_up_slot_is_not_reused(void)
{
	enum { GENERATIONS = (1 << 20) - 1, LEFT = 3 };
	u32 slot, device, last, i;
	struct dkc_devmap *map;

	setup();
	device = plug("first");
	slot = device & 0xfff;
	CHECK_OK(dk_device_unregister(&edu, device, &t_why));
	mutex_lock(&t_reg->lock);
	map = dkc_deref_locked(t_reg->devmap, t_reg);
	map->slot[slot].generation = GENERATIONS - LEFT;
	mutex_unlock(&t_reg->lock);
	for (i = 0; i < LEFT; i++) {
		last = device;
		device = plug("next");
		CHECK_INT(device & 0xfff, slot);
		CHECK(device > last);
		CHECK_OK(dk_device_unregister(&edu, device, &t_why));
	}
	device = plug("another");
	CHECK(device && (device & 0xfff) != slot);
}

/*
 * 4095 devices can be registered, more than the initial size of any map. One more is
 * refused.
 */
static void maximum_number_of_devices(void)
{
	enum { MOST = 4095 };
	char name[16];
	unsigned int i;
	u32 device;

	setup();
	for (i = 0; i < MOST; i++) {
		snprintf(name, sizeof(name), "d%u", i);
		if (!CHECK_OK(dk_device_register(&edu, DK_BACKEND_PRIVATEUSE1, name, NULL, NULL, 0,
						 &device, &t_why)))
			break;
		t_pause();
	}
	CHECK_INT(dk_device_register(&edu, DK_BACKEND_PRIVATEUSE1, "more", NULL, NULL, 0, &device,
				     &t_why), -ENOSPC);
	CHECK_INT(t_why.reason, DK_WHY_TOO_MANY_DEVICES);
	CHECK_STR(t_why.name, "more");
}

static u32 number_of_the_first(bool bad_ones_before)
{
	static struct dk_op_decl decl, other_type;
	static struct dk_impl other_key[1], wrong_type[2];
	u32 device = 0;

	setup();
	decl = t_decl("device_numbers::number");
	other_type = t_decl("device_numbers::number");
	other_type.sig = "(float)";
	other_key[0] = t_impl(&decl, DK_CUDA, 1);
	wrong_type[0] = t_impl(&decl, DK_DENSE, 1);
	wrong_type[1] = t_impl(&other_type, DK_SPARSE, 2);
	if (bad_ones_before) {
		CHECK_INT(dk_device_register(&edu, DK_BACKEND_PRIVATEUSE1, "bad", NULL,
					     other_key, 1, &device, &t_why), -EINVAL);
		CHECK_INT(t_why.reason, DK_WHY_DEVICE_KEY);
		CHECK_INT(dk_device_register(&edu, DK_BACKEND_PRIVATEUSE1, "bad", NULL,
					     wrong_type, 2, &device, &t_why),
			  -EPROTOTYPE);
		CHECK_INT(dk_device_register(&edu, DK_NUM_BACKENDS + 1, "bad", NULL,
					     NULL, 0, &device, &t_why), -EINVAL);
		CHECK_INT(device, 0);
	}
	CHECK_OK(dk_device_register(&edu, DK_BACKEND_PRIVATEUSE1, "good", NULL, NULL, 0,
				    &device, &t_why));
	t_close();
	return device;
}

static void refused_device_uses_up_no_number(void)
{
	CHECK_INT(number_of_the_first(true), number_of_the_first(false));
}

/*
 * An operator's device tables are in a hash table (struct dkc_device_tables). Calls would be slower
 * for a device whose table is not in the first slot that a search visits.
 */
static void call_finds_each_of_few_devices_at_the_first_slot(void)
{
	enum { DEVICES = 12 };
	const struct dkc_device_tables *devices;
	struct dk_op_decl decl;
	struct dk_impl impl;
	unsigned int i, j, k;
	u32 number[2];
	char name[16];
	struct dk_op *op;

	for (i = 0; i < DEVICES; i++) {
		for (j = i + 1; j <= DEVICES; j++) {
			setup();
			decl = t_decl("device_numbers::op");
			impl = t_impl(&decl, DK_PRIVATEUSE1, 1);
			CHECK_OK(dk_op_define(&edu, &decl, 0, &t_why));
			for (k = 0; k <= j; k++) {
				snprintf(name, sizeof(name), "edu%u", k);
				if (k != i && k != j)
					plug(name);
				else
					CHECK_OK(dk_device_register(&edu, DK_BACKEND_PRIVATEUSE1,
								    name, NULL, &impl, 1,
								    &number[k == j], &t_why));
			}
			op = t_get("device_numbers::op");
			mutex_lock(&t_reg->lock);
			devices = dkc_deref_locked(op->base, t_reg)->devices;
			for (k = 0; k < 2; k++)
				CHECK_INT(devices->slot[number[k] & devices->mask].number,
					  number[k]);
			mutex_unlock(&t_reg->lock);
			t_put(op);
			t_close();
		}
	}
}

T_SUITE(device_numbers,
	T(used_up_slot_is_not_reused),
	T(maximum_number_of_devices),
	T(refused_device_uses_up_no_number),
	T(call_finds_each_of_few_devices_at_the_first_slot));
