// SPDX-License-Identifier: GPL-2.0-only
/* This program causes an exception. */
#include "board.h"

void board_timer_expired(void)
{
}

int main(void)
{
	__builtin_trap();
}
