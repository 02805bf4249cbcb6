// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Appends words, numbers and sets to a growing text. */
#include "internal.h"

size_t dk_replay_len(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

bool dk_replay_eq(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* Makes space for @more bytes and a NUL. */
bool dk_replay_text_grow(struct dk_replay_text *t, size_t more)
{
	size_t size = t->size ? t->size : 256;
	char *buf;

	if (t->failed)
		return false;
	if (t->size - t->len > more)
		return true;
	while (size - t->len <= more)
		size *= 2;
	buf = kvzalloc(size, GFP_KERNEL);
	if (!buf) {
		t->failed = true;
		return false;
	}
	if (t->buf) {
		memcpy(buf, t->buf, t->len);
		kvfree(t->buf);
	}
	t->buf = buf;
	t->size = size;
	return true;
}

void dk_replay_text_add(struct dk_replay_text *t, const char *s, size_t len)
{
	if (!dk_replay_text_grow(t, len))
		return;
	memcpy(t->buf + t->len, s, len);
	t->len += len;
	t->buf[t->len] = '\0';
}

void dk_replay_text_free(struct dk_replay_text *t)
{
	kvfree(t->buf);
	memset(t, 0, sizeof(*t));
}

void dk_replay_put(struct dk_replay *r, const char *s)
{
	dk_replay_text_add(&r->answer, s, dk_replay_len(s));
}

void dk_replay_put_dec(struct dk_replay *r, unsigned int n)
{
	char digits[10];
	unsigned int at = sizeof(digits);

	do {
		digits[--at] = '0' + n % 10;
		n /= 10;
	} while (n);
	dk_replay_text_add(&r->answer, digits + at, sizeof(digits) - at);
}

void dk_replay_put_hex(struct dk_replay *r, u64 n)
{
	char digits[18];
	unsigned int at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[n & 15];
		n >>= 4;
	} while (n);
	digits[--at] = 'x';
	digits[--at] = '0';
	dk_replay_text_add(&r->answer, digits + at, sizeof(digits) - at);
}

void dk_replay_put_key(struct dk_replay *r, unsigned int key)
{
	char name[DK_NAME_MAX];

	dk_replay_put(r, dk_key_name(r->layout, key, name));
}

void dk_replay_put_printed(struct dk_replay *r, struct dk_keyset ks)
{
	size_t len = dk_keyset_print(r->layout, ks, NULL, 0);
	struct dk_replay_text *t = &r->answer;

	if (!dk_replay_text_grow(t, len))
		return;
	dk_keyset_print(r->layout, ks, t->buf + t->len, len + 1);
	t->len += len;
}
