/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Included first in each file of the library. The library is compiled with hidden visibility; this
 * header exports what the public headers declare.
 */
#pragma GCC visibility push(default)
#include <dispatchkey.h>
#pragma GCC visibility pop
