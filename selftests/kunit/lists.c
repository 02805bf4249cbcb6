// SPDX-License-Identifier: GPL-2.0-only
#include "../unit/lists_test.c"
#include "lists_tests.h"

TAP_SUITE("lists", TESTS);
