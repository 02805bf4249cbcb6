// SPDX-License-Identifier: GPL-2.0-only
#include "../unit/layout_test.c"
#include "layout_tests.h"

TAP_SUITE("layout", TESTS);
