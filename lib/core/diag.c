// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Reasons, and the few string helpers that the core has instead of a libc.
 */
#include "layout.h"

static const struct {
	int error;
	const char *text;
} reasons[] = {
#define REASON(R, e, t) { (e), (t) },
	DK_REASONS(REASON)
#undef REASON
};

/* Of struct dk_diag when it was first published; never changes. */
#define DIAG_FIRST_SIZE	(offsetof(struct dk_diag, name) + DK_NAME_MAX)

const struct dk_local dk_local_default = { 0, 0, 0, 0 };

const char *dk_reason_text(unsigned int reason)
{
	return reason < DK_NUM_REASONS ? reasons[reason].text : "unknown reason";
}

const char *dk_call_error_text(int error)
{
	static const u8 answers[] = {
		DK_WHY_MISSING, DK_WHY_AMBIGUOUS, DK_WHY_DEVICE_GONE, DK_WHY_TWO_DEVICES,
		DK_WHY_NOT_DEFINED, DK_WHY_SIGNATURE, DK_WHY_SHUTDOWN, DK_WHY_NO_MEMORY,
		DK_WHY_BAD_KEY,
	};
	unsigned int i;

	if (error >= 0)
		return dk_reason_text(DK_WHY_NONE);
	for (i = 0; i < DKC_COUNT(answers); i++)
		if (reasons[answers[i]].error == -error)
			return reasons[answers[i]].text;
	return "the function returned an error of its own";
}

/* A caller of another version has less, or more, room than we know of. */
void dkc_remark(struct dk_diag *why, enum dk_reason reason, const char *name)
{
	size_t size, room;

	if (!why)
		return;
	size = why->size ? why->size : DIAG_FIRST_SIZE;
	if (size < offsetof(struct dk_diag, name))
		return;
	why->reason = reason;
	why->text = dk_reason_text(reason);
	room = size - offsetof(struct dk_diag, name);
	if (!room)
		return;
	dkc_strcpy(why->name, name ? name : "",
		   room < sizeof(why->name) ? room : sizeof(why->name));
}

int dkc_refuse(struct dk_diag *why, enum dk_reason reason, const char *name)
{
	dkc_remark(why, reason, name);
	return -reasons[reason].error;
}

void dkc_remark_key(struct dk_diag *why, enum dk_reason reason,
		    const struct dk_layout *l, unsigned int key)
{
	char name[DK_NAME_MAX];

	dkc_remark(why, reason, dk_key_name(l, key, name));
}

int dkc_refuse_key(struct dk_diag *why, enum dk_reason reason,
		   const struct dk_layout *l, unsigned int key)
{
	dkc_remark_key(why, reason, l, key);
	return -reasons[reason].error;
}

int dkc_refuse_number(struct dk_diag *why, enum dk_reason reason, unsigned int n)
{
	char name[12];
	struct dkc_text t = { name, sizeof(name), 0 };

	dkc_put_dec(&t, n);
	dkc_put_end(&t);
	return dkc_refuse(why, reason, name);
}

#ifndef dkc_strlen
size_t dkc_strlen(const char *s)
{
	size_t n;

	for (n = 0;; n += 4) {
		if (!s[n])
			return n;
		if (!s[n + 1])
			return n + 1;
		if (!s[n + 2])
			return n + 2;
		if (!s[n + 3])
			return n + 3;
	}
}
#endif

bool dkc_streq(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

char dkc_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

bool dkc_strcaseeq(const char *a, const char *b)
{
	while (*a && dkc_lower(*a) == dkc_lower(*b)) {
		a++;
		b++;
	}
	return dkc_lower(*a) == dkc_lower(*b);
}

void dkc_strncpy(char *dst, const char *src, size_t n, size_t size)
{
	size_t i;

	if (!size)
		return;
	if (n < size) {
		memcpy(dst, src, n);
		dst[n] = 0;
		return;
	}
	n = size - 1;
	memcpy(dst, src, n);
	for (i = n > 3 ? n - 3 : 0; i < n; i++)
		dst[i] = '.';
	dst[n] = 0;
}

void dkc_strcpy(char *dst, const char *src, size_t size)
{
	dkc_strncpy(dst, src, dkc_strlen(src), size);
}

void dkc_put(struct dkc_text *t, const char *s)
{
	for (; *s; s++, t->len++)
		if (t->len + 1 < t->size)
			t->buf[t->len] = *s;
}

void dkc_put_dec(struct dkc_text *t, unsigned int n)
{
	char digits[12];
	unsigned int at = sizeof(digits) - 1;

	digits[at] = 0;
	do {
		digits[--at] = '0' + n % 10;
		n /= 10;
	} while (n);
	dkc_put(t, digits + at);
}

size_t dkc_put_end(struct dkc_text *t)
{
	if (t->size)
		t->buf[t->len < t->size ? t->len : t->size - 1] = 0;
	return t->len;
}

void dkc_join(char *text, size_t size, const char *const *part, unsigned int n)
{
	size_t at = 0, len;

	for (; n; n--, part++) {
		len = dkc_strlen(*part);
		dkc_strcpy(text + at, *part, size - at);
		if (at + len >= size)
			break;
		at += len;
	}
	if (!n)
		return;
	/* the word that was cut goes as a whole, unless it is long */
	for (at = size - 1; at > size / 2; at--) {
		if (text[at - 1] == ' ') {
			dkc_strcpy(text + at, "...", size - at);
			return;
		}
	}
}

bool dkc_has_word(const char *list, const char *word)
{
	while (*list) {
		const char *w = word;

		while (*w && *list == *w) {
			list++;
			w++;
		}
		if (*list == '*' || (!*w && (!*list || *list == ' ')))
			return true;
		while (*list && *list != ' ')
			list++;
		while (*list == ' ')
			list++;
	}
	return false;
}
