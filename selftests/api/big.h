/* SPDX-License-Identifier: GPL-2.0-only */
/* The text of registrations.txt for big.c, which splits it up; or NULL. */
#ifndef _SELFTESTS_API_BIG_H
#define _SELFTESTS_API_BIG_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stddef.h>
#endif

extern char *t_big_text;
extern size_t t_big_size;

#endif
