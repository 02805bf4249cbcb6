/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declares the text of registrations.txt, or NULL. pytorch_operators.c modifies the text.
 */
#ifndef _SELFTESTS_API_PYTORCH_OPERATORS_H
#define _SELFTESTS_API_PYTORCH_OPERATORS_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stddef.h>
#endif

extern char *t_big_text;
extern size_t t_big_size;

#endif
