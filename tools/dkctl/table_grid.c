// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Makes the cells and the legend of a grid from the runs of a computed table. */
#include "table_grid.h"

#include <stdlib.h>
#include <string.h>

/* The number of table entries is a 16-bit value. */
#define MOST_ENTRIES	65536u

static void set_letter(struct grid_function *fn, unsigned int n)
{
	if (n < 26)
		snprintf(fn->letter, sizeof(fn->letter), "%c", 'a' + n);
	else
		snprintf(fn->letter, sizeof(fn->letter), "%c%c", 'a' + (n / 26 - 1) % 26,
			 'a' + n % 26);
}

/* Sets the sign of a missing, ambiguous or fallthrough entry; returns false for others. */
static bool set_sign(struct grid_function *fn)
{
	const char *sign = "";

	if (fn->provenance == DK_NL_PROV_MISSING || fn->provenance == DK_NL_PROV_NO_ENTRY)
		sign = ".";
	else if (fn->provenance == DK_NL_PROV_AMBIGUOUS)
		sign = "!";
	else if (fn->flags & DK_NL_IMPL_FALLTHROUGH)
		sign = "-";
	snprintf(fn->letter, sizeof(fn->letter), "%s", sign);
	return *sign;
}

static bool is_same(const struct grid_function *fn, const struct dk_nl_run *run)
{
	if (fn->provenance == DK_NL_PROV_AMBIGUOUS)
		return run->provenance == DK_NL_PROV_AMBIGUOUS;
	return fn->provenance == run->provenance && fn->flags == run->flags &&
	       !strcmp(fn->label, run->label) && !strcmp(fn->provider, run->provider) &&
	       !strcmp(fn->device_name, run->device_name);
}

/* Finds the function of a run, or adds it with a new letter. */
static struct grid_function *function_of(struct grid *g, const struct dk_nl_run *run,
					 unsigned int *letters)
{
	struct grid_function *fn = g->functions;

	for (; fn < g->functions + g->num_functions; fn++) {
		if (is_same(fn, run))
			return fn;
	}
	g->num_functions++;
	fn->provenance = run->provenance;
	fn->flags = run->flags;
	fn->label = run->label;
	fn->provider = run->provider;
	fn->device_name = run->device_name;
	if (!set_sign(fn))
		set_letter(fn, (*letters)++);
	return fn;
}

bool grid_begin(struct grid *g, const struct dk_nl_layout *layout,
		const struct dk_nl_backend *backends, const struct dk_nl_run *runs)
{
	static const struct dk_nl_run nothing = {
		.provenance = DK_NL_PROV_MISSING,
		.label = "", .provider = "", .device_name = "",
	};
	unsigned int n = 1, letters = 0, i;
	const struct dk_nl_run *run;

	g->layout = layout;
	g->backends = backends;
	g->num_entries = layout->entries < MOST_ENTRIES ? layout->entries : MOST_ENTRIES;
	for (run = runs; run; run = run->next)
		n++;
	g->functions = calloc(n, sizeof(*g->functions));
	g->entries = calloc(g->num_entries + 1, sizeof(*g->entries));
	if (!g->functions || !g->entries) {
		grid_end(g);
		return false;
	}
	g->functions[0].cells = g->num_entries;
	function_of(g, &nothing, &letters);
	for (i = 0; i < g->num_entries; i++)
		g->entries[i] = g->functions;
	for (run = runs; run; run = run->next) {
		struct grid_function *fn = function_of(g, run, &letters);

		for (i = run->first; i <= run->last && i < g->num_entries; i++) {
			g->entries[i] = fn;
			fn->cells++;
			g->functions[0].cells--;
		}
	}
	return true;
}

void grid_end(struct grid *g)
{
	free(g->functions);
	free(g->entries);
	g->functions = NULL;
	g->entries = NULL;
}

const struct grid_function *grid_cell(const struct grid *g, const struct dk_nl_layout_key *f,
				      unsigned int backend)
{
	unsigned int slot = f->slot + (f->is_per_backend ? backend - 1 : 0);

	return slot < g->num_entries ? g->entries[slot] : g->functions;
}

const struct dk_nl_layout_key *grid_functionality(const struct grid *g, unsigned int i,
						  bool per_backend)
{
	const struct dk_nl_layout_key *f;
	unsigned int n = 0;

	for (f = g->layout->functionalities; f; f = f->next)
		n += !f->is_per_backend == !per_backend;
	if (i >= n)
		return NULL;
	/* the list starts with the lowest priority */
	for (f = g->layout->functionalities; f; f = f->next) {
		if (!f->is_per_backend == !per_backend && --n == i)
			return f;
	}
	return NULL;
}

const char *grid_backend(const struct grid *g, unsigned int backend, char *buf, size_t size)
{
	const struct dk_nl_backend *b = g->backends;
	const struct dk_nl_layout_key *k = g->layout->backends;

	while (b && b->number != backend)
		b = b->next;
	while (k && k->number != backend)
		k = k->next;
	if (!b)
		snprintf(buf, size, "%s", k ? k->name : "");
	else if (b->is_bound)
		snprintf(buf, size, "%s (%s)", b->name, b->key_name);
	else
		snprintf(buf, size, "%s", b->name);
	return buf;
}

const char *rule_word(__u32 provenance)
{
	return provenance > DK_NL_PROV_NO_ENTRY ? "unknown rule" :
	       dk_provenance_name((enum dk_provenance)provenance);
}

void grid_describe(const struct grid_function *fn, char *buf, size_t size)
{
	int n;

	if (fn->provenance == DK_NL_PROV_MISSING || fn->provenance == DK_NL_PROV_NO_ENTRY) {
		snprintf(buf, size, "nothing serves it");
	} else if (fn->provenance == DK_NL_PROV_AMBIGUOUS) {
		snprintf(buf, size,
			 "ambiguous: both CompositeImplicitAutograd and a backend of AutogradOther have a function");
	} else {
		n = snprintf(buf, size, "%s%s%s%s%s", fn->label, *fn->device_name ? "@" : "",
			     fn->device_name, *fn->provider ? " of " : "", fn->provider);
		if (n > 0 && (size_t)n < size)
			snprintf(buf + n, size - (size_t)n, " [%s]%s%s",
				 rule_word(fn->provenance),
				 fn->flags & DK_NL_IMPL_FALLTHROUGH ?
				 ", calls skip it" : "",
				 fn->flags & DK_NL_IMPL_OFFLINE ? ", offline" : "");
	}
}
