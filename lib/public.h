/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Included first in each file of the library, which is compiled with hidden visibility:
 * exports what the public headers declare.
 */
#pragma GCC visibility push(default)
#include <dispatchkey.h>
#pragma GCC visibility pop
