/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DK_KMOD_GATE_H
#define _DK_KMOD_GATE_H

#include <dispatchkey.h>
#include "../lib/core/deps.h"

void dkc_gate_init(void);

#endif /* _DK_KMOD_GATE_H */
