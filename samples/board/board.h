/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Declares the functions that programs need from a board. One file per board defines them. */
#ifndef _SAMPLES_BOARD_H
#define _SAMPLES_BOARD_H

#include <stddef.h>
#include <stdint.h>

void board_putc(char c);
void __attribute__((noreturn)) board_exit(int status);

/* The next two functions are arguments of dk_bare_interrupts(). */
unsigned long board_interrupts_off(void);
void board_interrupts_restore(unsigned long flags);

/* Starts the timer. Its interrupt handler calls board_timer_expired(), which a program defines. */
void board_timer_start(unsigned int ms);
void board_timer_expired(void);

/* Called after the board is set up; its result is the exit status. */
int main(void);

/* Addresses from the linker script. Only a board with flash memory copies its data. */
extern char bss_begin[], bss_end[], stack_end[];
extern char data_begin[], data_end[], data_image[];

/* print.c */
void print(const char *text);
void print_number(unsigned long n);

/* A register of the board. */
#define REGISTER(address)	(*(volatile uint32_t *)(uintptr_t)(address))

#endif /* _SAMPLES_BOARD_H */
