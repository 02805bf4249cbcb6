// SPDX-License-Identifier: GPL-2.0-only
/* A program that does not end. */
#include "board.h"

void board_timer_expired(void)
{
}

int main(void)
{
	for (;;)
		;
}
