// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests counters that wrap (bug 16 of scripts/peer-bugs). No test can make enough calls for this,
 * so the tests access internal structures and set counters to values close to the maximum.
 */
#include "test.h"

#include "core/change/change.h"

#define LAST_GENERATION	((1u << (32 - DKC_DEVICE_BITS)) - 2)

static struct dk_provider prov;
static struct dk_op_decl decl;
static struct dk_op *op;

static void setup(void)
{
	t_open("v1", 0);
	t_join(&prov, "wrap");
	decl = t_decl("counter_wrap::op");
	CHECK_OK(dk_op_define(&prov, &decl, 0, &t_why));
	op = t_get("counter_wrap::op");
}

/* ---- the number of a call ------------------------------------------------- */

static s64 sequence;

static void record_sequence(struct dk_hooks *h, const struct dk_hook_info *info)
{
	sequence = info->sequence;
}

/* A sequence number of -1 means none, so no call may get -1 as its number. */
static void sequence_numbers_wrap(void)
{
	struct dk_hooks h = { .size = sizeof(h), .before = record_sequence };
	struct dk_obj grad = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU));
	struct dk_obj plain = t_obj(DK_KEY_BITS(DK_CPU));
	static struct dk_impl impl;
	const long last = (long)(~0ul >> 1);
	unsigned int i;

	impl = t_impl(&decl, DK_COMPOSITE_IMPLICIT_AUTOGRAD, 1);
	CHECK_OK(dk_impls_register(&prov, &impl, 1, &t_why));
	CHECK_OK(dk_hooks_register(t_reg, &h, &t_why));
	CHECK_INT(t_call(op, &grad, NULL), 1);
	CHECK_INT(sequence, 0);
	t_reg->sequence.counter = last - 1;
	CHECK_INT(t_call(op, &grad, NULL), 1);
	CHECK_INT(sequence, last - 1);
	CHECK_INT(t_call(op, &grad, NULL), 1);
	CHECK_INT(sequence, last);
	for (i = 0; i < 3; i++) {
		CHECK_INT(t_call(op, &grad, NULL), 1);
		CHECK_INT(sequence, i);
	}
	t_reg->sequence.counter = -1;
	for (i = 0; i < 3; i++) {
		CHECK_INT(t_call(op, &grad, NULL), 1);
		CHECK(sequence >= 0);
	}
	CHECK_INT(t_call(op, &plain, NULL), 1);
	CHECK_INT(sequence, -1);
	CHECK_OK(dk_hooks_unregister(&h, &t_why));
}

/* ---- the number of a device ----------------------------------------------- */

static u32 plug(unsigned int backend)
{
	u32 device = 0;

	CHECK_OK(dk_device_register(&prov, backend, "card", NULL, NULL, 0, &device,
				    &t_why));
	return device;
}

static struct dkc_devmap *devices_by_number(void)
{
	struct dkc_devmap *map;

	mutex_lock(&t_reg->lock);
	map = dkc_deref_locked(t_reg->devmap, t_reg);
	mutex_unlock(&t_reg->lock);
	return map;
}

/*
 * A device's number consists of a slot in the map of devices and a generation, which counts the
 * uses of the slot. After the last generation, the slot is not used again, not even in a larger
 * map.
 */
static void used_up_slot_is_not_reused(void)
{
	unsigned int backend, i;
	struct dkc_devmap *map;
	u32 last, next, some[40];
	struct dk_obj found;

	CHECK_OK(dk_backend_join(&prov, "wrap", 0, 0, &backend, &t_why));
	last = plug(backend);
	CHECK_OK(dk_device_unregister(&prov, last, &t_why));
	map = devices_by_number();
	map->slot[last & DKC_MAX_DEVICES].generation = LAST_GENERATION;
	last = plug(backend);
	CHECK_INT(last >> DKC_DEVICE_BITS, LAST_GENERATION);
	CHECK_OK(dk_device_unregister(&prov, last, &t_why));
	next = plug(backend);
	CHECK((next & DKC_MAX_DEVICES) != (last & DKC_MAX_DEVICES));
	CHECK_OK(dk_device_unregister(&prov, next, &t_why));
	/* more than the map has room for */
	for (i = 0; i < ARRAY_SIZE(some); i++) {
		char name[16];

		snprintf(name, sizeof(name), "card%u", i);
		CHECK_OK(dk_device_register(&prov, backend, name, NULL, NULL, 0,
					    &some[i], &t_why));
		CHECK((some[i] & DKC_MAX_DEVICES) != (last & DKC_MAX_DEVICES));
		CHECK(some[i] != next);
	}
	CHECK(devices_by_number() != map);
	CHECK_INT(dk_device_find(t_reg, "card", &found, &t_why), -ENODEV);
	CHECK_INT(dk_device_set_online(t_reg, last, 0, &t_why), -ENODEV);
}

/* ---- the changes of a registry ------------------------------------------------ */

/*
 * A change increments the number of changes twice. A call that is routed by the rules and begins
 * between the two increments already uses the changed registrations. In this test, the second
 * increment wraps the number.
 */
static void number_of_changes_wraps(void)
{
	static struct dk_impl impl;

	impl = t_impl(&decl, DK_CPU, 1);
	t_reg->changes = -2;
	CHECK_OK(dk_impls_register(&prov, &impl, 1, &t_why));
	CHECK_INT(t_reg->changes, 0);
	CHECK_OK(dk_impls_withdraw(&prov, &impl, &t_why));
	CHECK_INT(t_reg->changes, 2);
}

/* ---- operators that are held ---------------------------------------------- */

/* The number of holders saturates. At the maximum, the operator is held for ever. */
static void number_of_holders_saturates(void)
{
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));

	op->holders += 0xffffffffu - 1;
	t_reg->num_held += 0xffffffffu - 1;
	CHECK(dk_op_get(t_reg, "counter_wrap::op") == op);
	CHECK(dk_op_get(t_reg, "counter_wrap::op") == op);
	if (!CHECK_INT(op->holders, 0xffffffffu))
		return;
	CHECK_OK(dk_op_undefine(&prov, "counter_wrap::op", &t_why));
	CHECK(!op->dead);
	CHECK_INT(t_call(op, &cpu, NULL), -ENOENT);
	t_unregister(&prov);
	CHECK_INT(dk_registry_free(t_reg, &t_why), -EBUSY);
	t_join(&prov, "wrap");
	dk_op_put(op);
	dk_op_put(op);
	CHECK_INT(op->holders, 0xffffffffu);
	op->holders = 1;
	t_reg->num_held -= 0xffffffffu - 1;
}

T_SUITE_WITH(counter_wrap, setup,
	T_PEER(16, sequence_numbers_wrap),
	T_PEER(16, used_up_slot_is_not_reused),
	T_PEER(16, number_of_changes_wraps),
	T_PEER(16, number_of_holders_saturates));
