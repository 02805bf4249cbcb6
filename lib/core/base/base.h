/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * String functions and reasons for failures. The headers world.h and gate.h declare what the core
 * needs from its environment: from the kernel, from userspace or from bare metal.
 */
#ifndef _DKC_BASE_H
#define _DKC_BASE_H

#include "gate.h"
#include <dispatchkey.h>

bool dkc_streq(const char *a, const char *b);
bool dkc_starts_with(const char *s, const char *start);
char dkc_lower(char c);
/*
 * Called for a text that was cut off after @len bytes. Replaces the end of the text by "..." and
 * a NUL. Does not split a UTF-8 character. Returns the new length.
 */
size_t dkc_end_cut(char *text, size_t len);
/* Copies @src and its NUL. A text that does not fit is cut off, and then ends in "...". */
void dkc_strcpy(char *dst, const char *src, size_t size);
/* Like dkc_strcpy(), but copies only the first @n characters of @src. */
void dkc_strncpy(char *dst, const char *src, size_t n, size_t size);
/* Joins the parts. Cuts off a text that does not fit, after a word if possible, and adds "...". */
void dkc_join(char text[DK_NAME_MAX], const char *const *part, unsigned int n);
bool dkc_strcaseeq(const char *a, const char *b);
/* True if the @n characters at @s are a valid name for a key or backend. */
bool dkc_word_ok(const char *s, size_t n);
/* True if @name is a valid name for an operator, a provider and so on. */
bool dkc_name_ok(const char *name);

#define DKC_NUMBER_MAX	11

/* Formats a number in decimal. Returns the text, which is at the end of @buf. */
char *dkc_number(char buf[DKC_NUMBER_MAX], u32 n);

/* A text in a buffer of @size bytes. @len is the length of the whole text, as in snprintf(). */
struct dkc_text {
	char *buf;
	size_t size;
	size_t len;
};

void dkc_put(struct dkc_text *t, const char *s);
void dkc_put_dec(struct dkc_text *t, u32 n);
/* Terminates the text with NUL and returns @len. */
size_t dkc_put_end(struct dkc_text *t);

/*
 * Stores reason and @name in @why, which may be NULL. Returns the reason's negative errno. If the
 * request succeeds and the reason is only a remark, the caller ignores the result.
 */
int dkc_refuse(struct dk_diag *why, enum dk_reason reason, const char *name);
/* Like dkc_refuse(). The name is the text that dkc_join() makes of the parts. */
int dkc_refuse_joined(struct dk_diag *why, enum dk_reason reason,
		      const char *const *part, unsigned int n);
int dkc_refuse_number(struct dk_diag *why, enum dk_reason reason, unsigned int n);
/* Stores DK_WHY_NONE in @why, which may be NULL, and returns 0. */
int dkc_accept(struct dk_diag *why);

#endif /* _DKC_BASE_H */
