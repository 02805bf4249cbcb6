// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Prints text on the board's console. */
#include "board.h"

void print(const char *text)
{
	while (*text)
		board_putc(*text++);
}

void print_number(unsigned long n)
{
	char digits[24];
	unsigned int at = sizeof(digits) - 1;

	digits[at] = '\0';
	do {
		digits[--at] = '0' + n % 10;
		n /= 10;
	} while (n);
	print(digits + at);
}
