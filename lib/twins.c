// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Defines out-of-line copies of the inline functions in the public headers, for languages that
 * cannot include these headers. This file is compiled with an empty DK_INLINE, so that the headers
 * define ordinary functions.
 */
#include <dispatchkey.h>
