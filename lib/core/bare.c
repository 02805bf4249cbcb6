// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The bare-metal world: one thread, memory from two functions of the user.
 */
#include "registry.h"

#define DKC_BARE_MAX_DEPTH	64	/* nested calls */

static void *(*dkc_bare_get)(size_t size);
static void (*dkc_bare_put)(void *p);
static struct dk_registry *dkc_bare_default;
unsigned int dkc_bare_sections;
static unsigned int dkc_bare_depth;
static const void *dkc_bare_inside[DKC_BARE_MAX_DEPTH];

void dk_bare_memory(void *(*alloc)(size_t size), void (*release)(void *p))
{
	dkc_bare_get = alloc;
	dkc_bare_put = release;
	dkc_layouts_init();
}

void *dkc_bare_alloc(size_t size)
{
	void *p = dkc_bare_get ? dkc_bare_get(size) : NULL;

	if (p)
		memset(p, 0, size);
	return p;
}

void dkc_bare_free(void *p)
{
	if (p)
		dkc_bare_put(p);
}

struct dk_registry *dk_registry_default(void)
{
	if (!dkc_bare_default)
		dkc_bare_default = dk_registry_alloc(NULL, DK_REGISTRY_STOCKED, NULL);
	if (dkc_bare_default)
		dkc_bare_default->is_default = true;
	return dkc_bare_default;
}

const char *dk_version(void)
{
	return DK_VERSION;
}

int dkc_gate_enter(struct dk_call *c, const void *prov, const void *block)
{
	(void)c;
	(void)block;
	if (dkc_bare_depth == DKC_BARE_MAX_DEPTH)
		return -ENOMEM;
	dkc_bare_inside[dkc_bare_depth++] = prov;
	return 0;
}

void dkc_gate_leave(struct dk_call *c)
{
	(void)c;
	dkc_bare_depth--;
}

bool dkc_gate_inside(const void *prov)
{
	unsigned int i;

	for (i = 0; i < dkc_bare_depth; i++)
		if (dkc_bare_inside[i] == prov)
			return true;
	return false;
}

/* With one thread, whoever is inside is below us on the stack. */
void dkc_gate_drain(const void *prov, const void *block)
{
	(void)prov;
	(void)block;
}
