/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DK_KMOD_GATE_H
#define _DK_KMOD_GATE_H

#include <dispatchkey.h>
#include "../lib/core/base/gate.h"

void dkc_gate_init(void);
void dkc_gate_exit(void);

#endif /* _DK_KMOD_GATE_H */
