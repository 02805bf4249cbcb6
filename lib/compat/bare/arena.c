// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A first-fit allocator on bare metal, in memory that the caller supplies. The memory is
 * divided into pieces. Allocation merges adjacent free pieces while it searches.
 */
#include "../../core/change/change.h"

struct dkc_piece {
	u32 size;		/* in bytes, with this header; a multiple of 8 */
	u32 used;
};

static struct dkc_piece *arena;
static u32 arena_size;
static size_t arena_used;
static bool arena_sealed;

/*
 * Memory for the built-in layouts, which remain when the arena is replaced. The linker omits it
 * from programs that use only v1.
 */
void *dkc_bare_kept(size_t size)
{
	static u64 kept[DKC_KEPT_MAX / sizeof(u64)];
	static size_t used;		/* elements */
	void *p = &kept[used];
	size_t n = (size + 7) / 8;

	if (n > ARRAY_SIZE(kept) - used)
		return NULL;
	used += n;
	return p;
}

/* Returns the next piece, or NULL at the end of the arena. */
static struct dkc_piece *piece_after(struct dkc_piece *p)
{
	struct dkc_piece *next = (struct dkc_piece *)((char *)p + p->size);

	return (char *)next < (char *)arena + arena_size ? next : NULL;
}

/* Merges a free piece with the free pieces that follow it. */
static void piece_merge(struct dkc_piece *p)
{
	struct dkc_piece *next = piece_after(p);

	for (; next && !next->used; next = piece_after(p))
		p->size += next->size;
}

/* Allocates the first @size bytes of a free piece. The rest becomes a free piece. */
static void *piece_take(struct dkc_piece *p, u32 size)
{
	struct dkc_piece *rest = (struct dkc_piece *)((char *)p + size);

	if (p->size > size) {
		rest->size = p->size - size;
		rest->used = false;
		p->size = size;
	}
	p->used = true;
	arena_used += size;
	return p + 1;
}

static void *arena_alloc(size_t size)
{
	struct dkc_piece *p;

	if (arena_sealed || size > arena_size)
		return NULL;
	size = (size + sizeof(*p) + 7) & ~(size_t)7;
	for (p = arena; p; p = piece_after(p)) {
		if (p->used)
			continue;
		piece_merge(p);
		if (p->size >= size)
			return piece_take(p, size);
	}
	return NULL;
}

static void arena_free(void *at)
{
	struct dkc_piece *p = (struct dkc_piece *)at - 1;

	p->used = false;
	arena_used -= p->size;
}

int dk_bare_arena(void *memory, size_t size)
{
	size_t skip = -(uintptr_t)memory & 7;

	if (!memory || size > 0xffffffff || size < skip + 2 * sizeof(struct dkc_piece))
		return -EINVAL;
	arena = (struct dkc_piece *)((char *)memory + skip);
	arena_size = (size - skip) & ~7u;
	arena->size = arena_size;
	arena->used = false;
	arena_used = 0;
	arena_sealed = false;
	dk_bare_memory(arena_alloc, arena_free);
	return 0;
}

void dk_bare_arena_seal(void)
{
	arena_sealed = true;
}

size_t dk_bare_arena_used(void)
{
	return arena_used;
}
