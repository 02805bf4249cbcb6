// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Supports QEMU's machine "virt" with a 64-bit RISC-V processor, in machine mode without firmware.
 */
#include "board.h"

#define FINISHER	0x00100000	/* ends the emulator */
#define FINISHER_FAIL	0x3333
#define FINISHER_PASS	0x5555
#define UART_DATA	0x10000000	/* the UART is a 16550 */
#define TIMER_COMPARE	0x02004000	/* for the first core */
#define TIMER_NOW	0x0200bff8
#define TICKS_PER_MS	10000

#define MSTATUS_MIE	0x8		/* enables interrupts */
#define MIE_MTIE	0x80		/* enables the timer's interrupt */
#define MCAUSE_TIMER	0x8000000000000007

#define CSR_READ(csr)							\
({									\
	unsigned long value_;						\
									\
	asm volatile("csrr %0, " csr : "=r"(value_));			\
	value_;								\
})
#define CSR_WRITE(csr, v)	asm volatile("csrw " csr ", %0" : : "r"(v) : "memory")
#define CSR_SET(csr, v)		asm volatile("csrs " csr ", %0" : : "r"(v) : "memory")

void board_putc(char c)
{
	*(volatile uint8_t *)UART_DATA = c;
}

void board_exit(int status)
{
	REGISTER(FINISHER) = status ? status << 16 | FINISHER_FAIL : FINISHER_PASS;
	for (;;)
		asm volatile("wfi");
}

unsigned long board_interrupts_off(void)
{
	unsigned long flags;

	asm volatile("csrrc %0, mstatus, %1" : "=r"(flags) : "r"(MSTATUS_MIE) : "memory");
	return flags & MSTATUS_MIE;
}

void board_interrupts_restore(unsigned long flags)
{
	CSR_SET("mstatus", flags);
}

static void timer_set(uint64_t at)
{
	*(volatile uint64_t *)TIMER_COMPARE = at;
}

void board_timer_start(unsigned int ms)
{
	timer_set(*(volatile uint64_t *)TIMER_NOW + (uint64_t)ms * TICKS_PER_MS);
}

static void __attribute__((interrupt("machine"), aligned(4))) trap(void)
{
	unsigned long cause = CSR_READ("mcause");

	if (cause != MCAUSE_TIMER) {
		print("trap ");
		print_number(cause);
		print("\n");
		board_exit(1);
	}
	timer_set(UINT64_MAX);
	board_timer_expired();
}

/* Called by start(). With -flto a static function may have another name in the assembly. */
void __attribute__((noreturn, used)) board_begin(void);
void board_begin(void)
{
	char *p;

	for (p = bss_begin; p < bss_end; p++)
		*p = 0;
	timer_set(UINT64_MAX);
	CSR_WRITE("mtvec", trap);
	CSR_SET("mie", MIE_MTIE);
	CSR_SET("mstatus", MSTATUS_MIE);
	board_exit(main());
}

/* The first instructions, which set up the stack. */
void __attribute__((naked, noreturn, section(".start"))) start(void)
{
	asm volatile("la sp, stack_end\n\t"
		     "j board_begin");
}
