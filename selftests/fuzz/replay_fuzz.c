// SPDX-License-Identifier: GPL-2.0-only
/* Replays the input as a transcript, in two pieces. */
#include "fuzz.h"
#include <replay/replay.h>

static void differ(void *ctx, const struct dk_replay_diff *diff)
{
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dk_replay_check *c = dk_replay_check_alloc(0, differ, NULL);
	char *text = fuzz_string(data, size);
	struct dk_replay_count count;

	REQUIRE(c);
	dk_replay_check_feed(c, text, size / 2);
	dk_replay_check_feed(c, text + size / 2, size - size / 2);
	dk_replay_check_end(c, &count);
	dk_replay_check_free(c);
	free(text);
	return 0;
}
