/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Included first of all in every file of the library, which hides what it
 * defines: what the public header declares is to be seen.
 */
#pragma GCC visibility push(default)
#include <dispatchkey.h>
#pragma GCC visibility pop
