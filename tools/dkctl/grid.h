/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The computed table of an operator as a grid: a row a backend, a column a
 * functionality that has an entry for each, and one cell for each other one. The
 * letter of a cell is that of a function in the legend.
 */
#ifndef DKCTL_GRID_H
#define DKCTL_GRID_H

#include "dkctl.h"

#include <dispatchkey-nl.h>

/* What fills cells: a function by a rule, or that nothing does. */
struct grid_function {
	char letter[4];
	__u32 provenance;
	__u32 flags;			/* of enum dk_nl_impl_flags */
	unsigned int cells;
	const char *label;
	const char *provider;
	const char *device_name;
};

struct grid {
	const char *op;
	const char *device;		/* whose table it is, or NULL */
	const struct dk_nl_layout *layout;
	const struct dk_nl_backend *backends;
	unsigned int num_entries;
	const struct grid_function **entries;	/* by table entry */
	struct grid_function *functions;	/* [0]: nothing serves */
	unsigned int num_functions;
};

/* False without memory. */
bool grid_begin(struct grid *g, const struct dk_nl_layout *layout,
		const struct dk_nl_backend *backends, const struct dk_nl_run *runs);
void grid_end(struct grid *g);

const struct grid_function *grid_cell(const struct grid *g, const struct dk_nl_layout_key *f,
				      unsigned int backend);
/* "edu (PrivateUse1)", and "edu" again where it would be said twice. */
const char *grid_backend(const struct grid *g, unsigned int backend, char *buf, size_t size);
/* The rule that chose a function, also one that only a newer module has. */
const char *rule_word(__u32 provenance);
/* What a function is, for the legend: "add_edu@edu0 of dk_edu [kernel]" */
void grid_describe(const struct grid_function *fn, char *buf, size_t size);
/* Functionalities from the highest priority down; NULL ends. @per_backend ones only, or
 * the others.
 */
const struct dk_nl_layout_key *grid_functionality(const struct grid *g, unsigned int i,
						  bool per_backend);

void grid_print(struct request *q, const struct grid *g);
/* svg.c */
void grid_svg(FILE *f, const struct grid *g);

#endif /* DKCTL_GRID_H */
