// SPDX-License-Identifier: GPL-2.0-only
#include "../unit/alias_test.c"
#include "alias_tests.h"

TAP_SUITE("alias", TESTS);
