/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DK_MANY_H
#define _DK_MANY_H

#include <dispatchkey.h>

/* The texts that are built into the module. */
extern const char dk_many_registrations[];
extern const char dk_many_schemas[];

#endif /* _DK_MANY_H */
