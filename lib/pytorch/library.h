/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Declares what library.c and handle.c share: libraries and their registrations. */
#ifndef _DKC_LIBRARY_H
#define _DKC_LIBRARY_H

#include "pytorch.h"

/*
 * One registration of a library. The declarations and @impl are copies, because the library's
 * namespace is added to their names. If a function is registered together with a definition, but
 * has a declaration of its own, @fn_decl is the copy of the function's declaration.
 */
struct dkc_entry {
	struct rcu_head rcu;
	struct dkc_entry *next;
	struct dkc_entry **link;
	struct dkc_library *lib;
	struct dk_handle *handle;	/* the caller's handle, or NULL */
	struct dkc_block *block;	/* the block of the function, or NULL */
	bool defines;
	struct dk_op_decl decl;
	struct dk_op_decl fn_decl;
	struct dk_impl impl;
	char text[];
};

struct dkc_library {
	struct dkc_library *next;	/* the next library of the provider */
	struct dkc_provider *prov;
	struct dk_library *pub;
	struct dkc_entry *first;
	struct dkc_entry **last;
	u32 kind;
	u32 key;
	const char *debug;
	char ns[DK_NAME_MAX];		/* empty: none */
};

/* Fails with a reason, a name and a description of the library. */
int dkc_lib_refuse(struct dk_diag *why, enum dk_reason reason, const char *name,
		   const struct dk_library *lib);
/* Unregisters one entry in @ch, which the caller must pass to dkc_change_force(). */
void dkc_entry_withdraw(struct dkc_entry *e, struct dkc_change *ch);

#endif /* _DKC_LIBRARY_H */
