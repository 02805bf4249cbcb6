/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Represents the computed table of an operator as a grid. Rows are backends, and columns are the
 * functionalities with one entry per backend. Each other functionality has one cell. The letter of
 * a cell refers to a function in the legend.
 */
#ifndef DKCTL_GRID_H
#define DKCTL_GRID_H

#include "dkctl.h"

#include <dispatchkey-nl.h>

/* An entry of the legend: a function and the rule that selected it, or nothing. */
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
	const char *device;		/* the device of the table, or NULL */
	const struct dk_nl_layout *layout;
	const struct dk_nl_backend *backends;
	unsigned int num_entries;
	const struct grid_function **entries;	/* by table entry */
	struct grid_function *functions;	/* [0] stands for no function */
	unsigned int num_functions;
};

/* Returns false if allocation fails. */
bool grid_begin(struct grid *g, const struct dk_nl_layout *layout,
		const struct dk_nl_backend *backends, const struct dk_nl_run *runs);
void grid_end(struct grid *g);

const struct grid_function *grid_cell(const struct grid *g, const struct dk_nl_layout_key *f,
				      unsigned int backend);
/* Returns "edu (PrivateUse1)" for a private backend with a name, otherwise only the name. */
const char *grid_backend(const struct grid *g, unsigned int backend, char *buf, size_t size);
/* Returns the name of a rule, or "unknown rule" for a rule that only a newer module has. */
const char *rule_word(__u32 provenance);
/* Returns the text of the legend in @buf: "add_edu@edu0 of dk_edu [kernel]" */
void grid_describe(const struct grid_function *fn, char *buf, size_t size);
/*
 * Returns the @i-th functionality, highest priority first, or NULL. Counts only functionalities
 * with one entry per backend if @per_backend is true, and only the others if it is false.
 */
const struct dk_nl_layout_key *grid_functionality(const struct grid *g, unsigned int i,
						  bool per_backend);

/* table_text.c: returns a status */
int grid_print(struct request *q, const struct grid *g);
/* table_svg.c */
void grid_svg(FILE *f, const struct grid *g);

#endif /* DKCTL_GRID_H */
