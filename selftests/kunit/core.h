/* SPDX-License-Identifier: GPL-2.0-only */
/* Declares functions of the core that the unit tests call and dispatchkey.ko does not export. */
#ifndef _SELFTESTS_KUNIT_CORE_H
#define _SELFTESTS_KUNIT_CORE_H

#include "../../lib/core/layout/layout.h"

/* The pointers have the types of the core's prototypes, which the header above declares. */
extern const struct dk_test_core {
	const struct dk_layout *v1;
	typeof(dkc_key_alias) *key_alias;
	typeof(dkc_refuse) *refuse;
	typeof(dkc_starts_with) *starts_with;
	typeof(dkc_streq) *streq;
	typeof(dkc_strcaseeq) *strcaseeq;
	typeof(dkc_strcpy) *strcpy;
	typeof(dkc_strncpy) *strncpy;
} dk_test_core;

#endif
