// SPDX-License-Identifier: GPL-2.0-only
#include "../unit/keyset_test.c"
#include "keyset_tests.h"

TAP_SUITE("keyset", TESTS);
