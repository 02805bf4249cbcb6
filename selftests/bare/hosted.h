/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of the host that the test calls. It includes no header of the host. */
int printf(const char *format, ...);
int atoi(const char *text);
