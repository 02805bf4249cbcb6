// SPDX-License-Identifier: GPL-2.0-only
#include "../unit/names_test.c"
#include "names_tests.h"

TAP_SUITE("names", TESTS);
