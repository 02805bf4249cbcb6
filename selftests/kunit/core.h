/* SPDX-License-Identifier: GPL-2.0-only */
/* What the unit tests call of the core that dispatchkey.ko does not export. */
#ifndef _SELFTESTS_KUNIT_CORE_H
#define _SELFTESTS_KUNIT_CORE_H

#include "../../lib/core/layout.h"

/* Behind the core's prototypes, whose types these are. */
extern const struct dk_test_core {
	typeof(dkc_layouts_init) *layouts_init;
	typeof(dkc_layout) *layout;
	typeof(dkc_key_alias) *key_alias;
	typeof(dkc_refuse) *refuse;
	typeof(dkc_remark) *remark;
	typeof(dkc_has_word) *has_word;
	typeof(dkc_streq) *streq;
	typeof(dkc_strcaseeq) *strcaseeq;
	typeof(dkc_strlen) *strlen;
	typeof(dkc_strcpy) *strcpy;
	typeof(dkc_strncpy) *strncpy;
} dk_test_core;

#endif
