// SPDX-License-Identifier: GPL-2.0-only
/*
 * The operators of samples/opencl, called as a runtime calls them: by a thread that counts
 * nothing, with arguments that are refused, on the CPU and on an OpenCL device alike.
 */
#include <errno.h>
#include <stdint.h>

#include "cl.h"
#include "../unit/tap.h"

static struct dk_obj places[2];	/* the CPU, and the device if there is one */
static unsigned int num_places;
static struct cl_found found[CL_MAX_FOUND];
static unsigned int num_found;
static struct cl_card *card;

TEST(devices_are_registered)
{
	struct dk_diag why = { .size = sizeof(why) };

	EXPECT_EQ(rt_begin(&why), 0);
	EXPECT_EQ(cl_begin(&why), 0);
	places[num_places++] = dk_obj_on(DK_BACKEND_CPU, 0);
	num_found = cl_find(found);
	EXPECT(num_found >= 2);
	card = cl_card_add(&found[0], "cl0", 1, &why);
	if (EXPECT(card))
		places[num_places++] = card->obj;
}

/* Sizes that overflow when they are multiplied or rounded up, and one that does not. */
TEST(too_much_memory_is_refused)
{
	const size_t sizes[] = {
		SIZE_MAX / sizeof(float) + 2, SIZE_MAX, SIZE_MAX / sizeof(float),
		(SIZE_MAX - 4096) / sizeof(float),
	};
	unsigned int i, p;

	for (p = 0; p < num_places; p++) {
		for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			struct buf b = { .dk = places[p] };

			EXPECT_EQ(rt_alloc(&b, sizes[i]), -ENOMEM);
			EXPECT_EQ(b.n, 0);
			EXPECT(!b.data);
			buf_free(&b);
		}
	}
}

TEST(devices_are_unregistered)
{
	struct dk_diag why = { .size = sizeof(why) };

	if (card) {
		EXPECT_EQ(cl_card_remove(card, &why), 0);
		cl_card_put(card);
	}
	cl_release(found, num_found);
	EXPECT_EQ(cl_end(), 0);
	EXPECT_EQ(rt_end(), 0);
}
