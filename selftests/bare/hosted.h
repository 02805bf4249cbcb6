/* SPDX-License-Identifier: GPL-2.0-only */
/* Declares functions of the host that the test calls. The test includes no header of the host. */
int printf(const char *format, ...);
int atoi(const char *text);
