// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Memory of the bare-metal world where all of it is given by the caller: pieces
 * one behind the other, of which the first that is large enough is taken. Who
 * looks for one joins the free ones that lie together.
 */
#include "registry.h"

struct dkc_piece {
	u32 size;		/* with this, a multiple of 8 */
	u32 used;
};

static struct dkc_piece *dkc_arena;
static u32 dkc_arena_size;
static size_t dkc_arena_used;
static bool dkc_arena_sealed;

static struct dkc_piece *dkc_behind(struct dkc_piece *p)
{
	struct dkc_piece *next = (struct dkc_piece *)((char *)p + p->size);

	return (char *)next < (char *)dkc_arena + dkc_arena_size ? next : NULL;
}

static void dkc_unite(struct dkc_piece *p)
{
	struct dkc_piece *next = dkc_behind(p);

	for (; next && !next->used; next = dkc_behind(p))
		p->size += next->size;
}

/* Take the beginning of a free piece; the rest is another one. */
static void *dkc_take(struct dkc_piece *p, u32 size)
{
	struct dkc_piece *rest = (struct dkc_piece *)((char *)p + size);

	if (p->size > size) {
		rest->size = p->size - size;
		rest->used = false;
		p->size = size;
	}
	p->used = true;
	dkc_arena_used += size;
	return p + 1;
}

static void *dkc_arena_alloc(size_t size)
{
	struct dkc_piece *p;

	if (dkc_arena_sealed || size > dkc_arena_size)
		return NULL;
	size = (size + sizeof(*p) + 7) & ~(size_t)7;
	for (p = dkc_arena; p; p = dkc_behind(p)) {
		if (p->used)
			continue;
		dkc_unite(p);
		if (p->size >= size)
			return dkc_take(p, size);
	}
	return NULL;
}

static void dkc_arena_free(void *at)
{
	struct dkc_piece *p = (struct dkc_piece *)at - 1;

	p->used = false;
	dkc_arena_used -= p->size;
}

int dk_bare_arena(void *memory, size_t size)
{
	size_t skip = -(uintptr_t)memory & 7;

	if (!memory || size > 0xffffffff || size < skip + 2 * sizeof(struct dkc_piece))
		return -EINVAL;
	dkc_arena = (struct dkc_piece *)((char *)memory + skip);
	dkc_arena_size = (size - skip) & ~7u;
	dkc_arena->size = dkc_arena_size;
	dkc_arena->used = false;
	dkc_arena_used = 0;
	dkc_arena_sealed = false;
	dk_bare_memory(dkc_arena_alloc, dkc_arena_free);
	return 0;
}

void dk_bare_arena_seal(void)
{
	dkc_arena_sealed = true;
}

size_t dk_bare_arena_used(void)
{
	return dkc_arena_used;
}
