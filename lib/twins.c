// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The inline functions of the public headers as functions, for languages that
 * cannot read those: with an empty DK_INLINE the headers define them, which the
 * Makefile sees to.
 */
#include <dispatchkey.h>
