// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Defines string functions, because the core is built without a libc, and checks names. */
#include "base.h"

bool dkc_streq(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

bool __cold dkc_starts_with(const char *s, const char *start)
{
	while (*start && *s == *start) {
		s++;
		start++;
	}
	return !*start;
}

char __cold dkc_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

bool __cold dkc_strcaseeq(const char *a, const char *b)
{
	while (*a && dkc_lower(*a) == dkc_lower(*b)) {
		a++;
		b++;
	}
	return dkc_lower(*a) == dkc_lower(*b);
}

size_t __cold dkc_end_cut(char *text, size_t len)
{
	size_t at = len > 3 ? len - 3 : 0, end;

	/* the continuation bytes of UTF-8 are 10xxxxxx */
	while (at && (text[at] & 0xc0) == 0x80)
		at--;
	for (end = at; end < len && end < at + 3; end++)
		text[end] = '.';
	text[end] = 0;
	return end;
}

void dkc_strncpy(char *dst, const char *src, size_t n, size_t size)
{
	if (!size)
		return;
	memcpy(dst, src, n < size ? n : size - 1);
	if (n < size)
		dst[n] = 0;
	else
		dkc_end_cut(dst, size - 1);
}

void dkc_strcpy(char *dst, const char *src, size_t size)
{
	dkc_strncpy(dst, src, strlen(src), size);
}

void dkc_put(struct dkc_text *t, const char *s)
{
	for (; *s; s++, t->len++)
		if (t->len + 1 < t->size)
			t->buf[t->len] = *s;
}

char * __cold dkc_number(char buf[DKC_NUMBER_MAX], u32 n)
{
	char *at = buf + DKC_NUMBER_MAX - 1;

	*at = 0;
	do {
		*--at = '0' + n % 10;
		n /= 10;
	} while (n);
	return at;
}

void __cold dkc_put_dec(struct dkc_text *t, u32 n)
{
	char buf[DKC_NUMBER_MAX];

	dkc_put(t, dkc_number(buf, n));
}

size_t dkc_put_end(struct dkc_text *t)
{
	if (t->size)
		t->buf[t->len < t->size ? t->len : t->size - 1] = 0;
	return t->len;
}

void __cold dkc_join(char text[DK_NAME_MAX], const char *const *part, unsigned int n)
{
	struct dkc_text t = { text, DK_NAME_MAX, 0 };
	size_t at;

	while (n--)
		dkc_put(&t, *part++);
	if (dkc_put_end(&t) < DK_NAME_MAX)
		return;
	/* Cut off after the last space, unless there is none in the second half of the buffer. */
	for (at = DK_NAME_MAX - sizeof("..."); at > DK_NAME_MAX / 2 && text[at - 1] != ' '; at--)
		;
	dkc_end_cut(text, at > DK_NAME_MAX / 2 ? at + 3 : DK_NAME_MAX - 1);
}

bool __cold dkc_word_ok(const char *s, size_t n)
{
	size_t i = 0;
	char c;

	for (; i < n; i++) {
		c = dkc_lower(s[i]);
		if ((c < 'a' || c > 'z') && (c < '0' || c > '9') &&
		    c != '_' && c != '-' && c != '.' && c != '+')
			return false;
	}
	/* a prefix and the name of a backend together must fit in DK_NAME_MAX */
	return n && n <= 56 && !(s[0] == '0' && dkc_lower(s[1]) == 'x');
}

/*
 * True for spaces of ASCII, control characters, separators of lines and paragraphs, and characters
 * that change the direction of text.
 */
static bool is_refused(u32 c)
{
	static const struct {
		u32 first, last;
	} refused[] = {
		{ 0, ' ' }, { 0x7f, 0x9f }, { 0x61c, 0x61c }, { 0x200e, 0x200f },
		{ 0x2028, 0x202e }, { 0x2066, 0x2069 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(refused); i++)
		if (c >= refused[i].first && c <= refused[i].last)
			return true;
	return false;
}

/* Decodes the character at @s. Returns its length in bytes, or 0 if it is not UTF-8. */
static unsigned int utf8(const char *s, u32 *c)
{
	static const u32 least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	u8 first = s[0];
	unsigned int n = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 :
			 first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0;
	unsigned int i;

	*c = n > 1 ? first & (0x7f >> n) : first;
	for (i = 1; i < n; i++) {
		if (((u8)s[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | ((u8)s[i] & 0x3f);
	}
	if (*c < least[n] || *c > 0x10ffff || (*c >= 0xd800 && *c <= 0xdfff))
		return 0;
	return n;
}

bool __cold dkc_name_ok(const char *name)
{
	unsigned int len;
	size_t n;
	u32 c;

	if (!name)
		return false;
	for (n = 0; name[n]; n += len) {
		len = 1;
		if (name[n] > ' ' && name[n] < 0x7f)
			continue;
		len = utf8(name + n, &c);
		if (!len || is_refused(c))
			return false;
	}
	return n && n < DK_NAME_MAX;
}
