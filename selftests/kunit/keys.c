// SPDX-License-Identifier: GPL-2.0-only
#include "../unit/keys_test.c"
#include "keys_tests.h"

TAP_SUITE("keys", TESTS);
