// SPDX-License-Identifier: GPL-2.0-only
/* This program reports a failure. */
#include "board.h"

void board_timer_expired(void)
{
}

int main(void)
{
	return 3;
}
