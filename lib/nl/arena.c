// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Allocates the memory of an answer, whose structs and strings are freed together.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN		_Alignof(max_align_t)
#define ALIGN_UP(n)	(((n) + ALIGN - 1) / ALIGN * ALIGN)

/* A single answer fits into the first piece; lists allocate more pieces. */
#define FIRST_PIECE	4000
#define PIECE		(64 * 1024)

struct piece {
	struct piece *next;
};

struct dkn_arena {
	struct piece *pieces;		/* further pieces */
	struct dkn_arena *adopted;
	char *at;
	char *end;
	max_align_t bytes[];		/* begins with the answer */
};

struct dkn_arena *dkn_arena_alloc(void)
{
	struct dkn_arena *a = malloc(FIRST_PIECE);

	if (!a)
		return NULL;
	a->pieces = NULL;
	a->adopted = NULL;
	a->at = (char *)a->bytes;
	a->end = (char *)a + FIRST_PIECE;
	return a;
}

void dkn_arena_free(struct dkn_arena *a)
{
	struct dkn_arena *adopted;
	struct piece *p;

	for (; a; a = adopted) {
		adopted = a->adopted;
		while ((p = a->pieces)) {
			a->pieces = p->next;
			free(p);
		}
		free(a);
	}
}

/* Returns zeroed memory, or NULL if the allocation fails or no answer can be that large. */
void *dkn_arena_get(struct dkn_arena *a, size_t size)
{
	size_t piece = ALIGN_UP(sizeof(struct piece));
	struct piece *p;
	void *got;

	if (size > 4 * DKN_DATAGRAM_MAX)
		return NULL;
	size = ALIGN_UP(size);
	if (size > (size_t)(a->end - a->at)) {
		piece += size > PIECE ? size : PIECE;
		p = malloc(piece);
		if (!p)
			return NULL;
		p->next = a->pieces;
		a->pieces = p;
		a->at = (char *)p + ALIGN_UP(sizeof(*p));
		a->end = (char *)p + piece;
	}
	got = a->at;
	a->at += size;
	return memset(got, 0, size);
}

/* Copies a string of at most @len characters with dkn_copy_text(). */
const char *dkn_arena_text(struct dkn_arena *a, const char *text, size_t len)
{
	size_t size = strnlen(text, len) + 1;
	char *to;

	if (size == 1)
		return "";
	to = dkn_arena_get(a, size);
	if (to)
		dkn_copy_text(to, size, text, size - 1);
	return to;
}

static struct dkn_arena *arena_of(const void *answer)
{
	return (struct dkn_arena *)((char *)answer - offsetof(struct dkn_arena, bytes));
}

void dkn_answer_adopt(const void *answer, const void *other)
{
	struct dkn_arena *a = arena_of(answer);

	while (a->adopted)
		a = a->adopted;
	if (other)
		a->adopted = arena_of(other);
}

void dk_nl_free(const void *answer)
{
	if (answer)
		dkn_arena_free(arena_of(answer));
}
