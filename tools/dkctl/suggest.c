// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Suggests words by their edit distance, in which a swap of neighbours is one edit. */
#include "dkctl.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LONGEST	64

static unsigned int min(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

static int lower(char c)
{
	return tolower((unsigned char)c);
}

/* Returns the edit distance of two words, ignoring case. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int rows[3][LONGEST + 1], n = (unsigned int)strlen(b), i, j, d;
	unsigned int *two = rows[0], *one = rows[1], *now = rows[2], *t;

	for (j = 0; j <= n; j++)
		one[j] = j;
	for (i = 1; a[i - 1]; i++) {
		now[0] = i;
		for (j = 1; j <= n; j++) {
			d = lower(a[i - 1]) != lower(b[j - 1]);
			now[j] = min(one[j - 1] + d, min(one[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
			    lower(a[i - 2]) == lower(b[j - 1]))
				now[j] = min(now[j], two[j - 2] + 1);
		}
		t = two;
		two = one;
		one = now;
		now = t;
	}
	return one[n];
}

void suggest_begin(struct suggestion *s, const char *word)
{
	size_t len = strlen(word);

	s->word = word;
	s->best[0] = '\0';
	/* at most a third of the word may be wrong */
	s->distance = len > LONGEST ? 0 : (unsigned int)len / 3 + 1;
}

/* True if @word is the part of @candidate after a colon: "00:04.0" of "0000:00:04.0". */
static bool is_end(const char *word, const char *candidate)
{
	size_t len = strlen(word), all = strlen(candidate);

	return len && len < all && candidate[all - len - 1] == ':' &&
	       !strcasecmp(candidate + all - len, word);
}

/* Ignores the namespace of the candidate if @word has none. */
static unsigned int distance_of_name(const char *word, const char *candidate)
{
	const char *name = strstr(candidate, "::");

	if (is_end(word, candidate))
		return 0;
	if (!name || strchr(word, ':'))
		return distance(word, candidate);
	return min(distance(word, candidate), distance(word, name + 2));
}

void suggest_try(struct suggestion *s, const char *candidate)
{
	unsigned int d;

	/* never suggest the refused word itself */
	if (!s->distance || strlen(candidate) > LONGEST || !strcmp(s->word, candidate))
		return;
	d = distance_of_name(s->word, candidate);
	if (d >= s->distance)
		return;
	s->distance = d;
	snprintf(s->best, sizeof(s->best), "%s", candidate);
}

void suggest_keys(struct suggestion *s, const struct dk_layout *l, bool aliases)
{
	unsigned int key, n = dk_layout_keys(l);
	char name[DK_NAME_MAX];

	for (key = 0; key < n; key++) {
		switch (dk_key_kind(l, key)) {
		case DK_KIND_NONE:
		case DK_KIND_SENTINEL:
			break;
		case DK_KIND_ALIAS:
			if (!aliases)
				break;
			/* fall through */
		default:
			suggest_try(s, dk_key_name(l, key, name));
		}
	}
}

void suggest_bits(struct suggestion *s, const struct dk_layout *l)
{
	unsigned int b;

	for (b = 1; b <= dk_layout_backends(l); b++)
		suggest_try(s, dk_backend_bit_name(l, b));
}

/*
 * A number without 0x is most likely the bits of a keyset in decimal. Suggests the same number in
 * hexadecimal.
 */
static void suggest_number(struct suggestion *s)
{
	unsigned long long n;
	char *end;

	if (!isdigit((unsigned char)s->word[0]))
		return;
	errno = 0;
	n = strtoull(s->word, &end, 10);
	if (errno || *end)
		return;
	snprintf(s->best, sizeof(s->best), "0x%llx", n);
	s->distance = 0;
}

void suggest_set(struct suggestion *s, const struct dk_layout *l)
{
	suggest_keys(s, l, false);
	suggest_bits(s, l);
	suggest_number(s);
}

/* Never suggests a layout of another release, because its keys have other numbers. */
void suggest_layouts(struct suggestion *s)
{
	const char *digits = "0123456789", *release = strpbrk(s->word, digits), *name = NULL;

	while (release && (name = dk_layout_next(name)))
		if (!strcmp(name + strcspn(name, digits), release))
			suggest_try(s, name);
}

const char *suggest_end(struct suggestion *s)
{
	return s->best[0] ? s->best : NULL;
}
