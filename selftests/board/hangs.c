// SPDX-License-Identifier: GPL-2.0-only
/* This program does not end. */
#include "board.h"

void board_timer_expired(void)
{
}

int main(void)
{
	for (;;)
		;
}
