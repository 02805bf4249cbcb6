/* SPDX-License-Identifier: GPL-2.0-only */
/* What the test has of the machine that it runs on, whose headers it has not. */
int printf(const char *format, ...);
int atoi(const char *text);
