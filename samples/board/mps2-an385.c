// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Supports Arm's board MPS2 with a Cortex-M3 (AN385), which QEMU emulates. */
#include "board.h"

#define UART_DATA	0x40004000
#define UART_STATE	0x40004004
#define UART_CONTROL	0x40004008
#define UART_DIVIDER	0x40004010
#define UART_FULL	1		/* a bit of the state */
#define UART_SENDS	1		/* a bit of the control register */
#define SYSTICK_CONTROL	0xe000e010
#define SYSTICK_RELOAD	0xe000e014
#define SYSTICK_NOW	0xe000e018
#define SYSTICK_ON	7		/* on, with interrupts, driven by the processor's clock */
#define TICKS_PER_MS	25000		/* the counter has 24 bits, so at most 671 ms */

/* Semihosting: the debugger, or QEMU, ends the program. */
#define SYS_EXIT_EXTENDED	0x20
#define APPLICATION_EXIT	0x20026

void board_putc(char c)
{
	while (REGISTER(UART_STATE) & UART_FULL)
		;
	REGISTER(UART_DATA) = c;
}

void board_exit(int status)
{
	const uint32_t reason[] = { APPLICATION_EXIT, status };

	asm volatile("mov r0, %0\n\t"
		     "mov r1, %1\n\t"
		     "bkpt 0xab"
		     : : "i"(SYS_EXIT_EXTENDED), "r"(reason) : "r0", "r1", "memory");
	for (;;)
		asm volatile("wfi");
}

unsigned long board_interrupts_off(void)
{
	unsigned long flags;

	asm volatile("mrs %0, primask\n\t"
		     "cpsid i" : "=r"(flags) : : "memory");
	return flags;
}

void board_interrupts_restore(unsigned long flags)
{
	asm volatile("msr primask, %0" : : "r"(flags) : "memory");
}

void board_timer_start(unsigned int ms)
{
	REGISTER(SYSTICK_RELOAD) = ms * TICKS_PER_MS;
	REGISTER(SYSTICK_NOW) = 0;
	REGISTER(SYSTICK_CONTROL) = SYSTICK_ON;
}

static void systick(void)
{
	REGISTER(SYSTICK_CONTROL) = 0;
	board_timer_expired();
}

static void fault(void)
{
	print("fault\n");
	board_exit(1);
}

static void __attribute__((noreturn)) start(void)
{
	const char *from = data_image;
	char *to;

	for (to = data_begin; to < data_end; to++)
		*to = *from++;
	for (to = bss_begin; to < bss_end; to++)
		*to = 0;
	REGISTER(UART_DIVIDER) = 16;
	REGISTER(UART_CONTROL) = UART_SENDS;
	board_exit(main());
}

/* The processor reads the addresses of its stack and of its first instruction from here. */
static const void *const vectors[] __attribute__((used, section(".vectors"))) = {
	stack_end, start,
	[2 ... 6] = fault,	/* NMI, hard fault, memory, bus, usage */
	[11 ... 14] = fault,	/* SVCall, debug monitor, PendSV */
	systick,
};
