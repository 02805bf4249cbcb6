/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declares changes of every kind to the full registry, each with the change that undoes it, for
 * suites in which allocations fail. Each returns 0 or an error, with the reason in t_why.
 */
#ifndef _SELFTESTS_API_FULL_REGISTRY_CHANGES_H
#define _SELFTESTS_API_FULL_REGISTRY_CHANGES_H

#include "full_registry.h"

#define R_MANY	200

/* Opens the full registry, and prepares the changes. A suite may alter them after that. */
void r_prepare(void);

extern struct dk_op_decl r_untyped, r_lib_op;
extern struct dk_op_decl r_many_decl[R_MANY];	/* of r_register_many() */
extern struct dk_impl r_one;			/* of r_register_one() */
extern struct dk_library r_library;
extern struct dk_handle r_handle;		/* of the library's entry */

/* Registrations of providers, operators, functions, fallbacks and devices, and their removal. */
int r_register_provider(void);
int r_unregister_provider(void);
int r_define_new(void);
int r_define_described(void);
int r_undefine_new(void);
int r_define_known(void);
int r_undefine_known(void);
int r_define_early(void);
int r_undefine_early(void);
int r_register_one(void);
int r_unregister_one(void);
int r_register_other(void);
int r_unregister_other(void);
int r_register_table(void);
int r_unregister_table(void);
int r_register_keys(void);
int r_unregister_keys(void);
int r_register_aliases(void);
int r_unregister_aliases(void);
int r_register_backend(void);
int r_register_many(void);
int r_unregister_many(void);
int r_register_fallback(void);
int r_unregister_fallback(void);
int r_register_function(void);
int r_unregister_function(void);
int r_register_alias_fallback(void);
int r_unregister_alias_fallback(void);
int r_register_device(void);
int r_register_bare_device(void);
int r_unregister_device(void);
int r_withdraw_table(void);
int r_register_all(void);

/* Held operators, hooks, listeners, and queries. */
int r_hold_operator(void);
int r_put_operator(void);
int r_register_hooks(void);
int r_unregister_hooks(void);
int r_register_listener(void);
int r_unregister_listener(void);
int r_query(void);
int r_query_again(void);

/* Additional layouts and registries. */
int r_parse_layout(void);
int r_free_layout(void);
int r_make_registry(void);
int r_make_other_registry(void);
int r_free_registry(void);

/* A library with one entry. */
int r_register_library(void);
int r_unregister_library(void);
int r_add_def_impl(void);
int r_library_def(void);
int r_library_def_impl(void);
int r_library_impl(void);
int r_library_fallback(void);
int r_release_and_unregister(void);
int r_unregister_with_entry(void);
int r_unregister_nameless_with_entry(void);

/*
 * Take the device "card" or its backend offline, or bring it online. "soon": without waiting for
 * calls.
 */
int r_card_offline(void);
int r_card_online(void);
int r_card_offline_soon(void);
int r_edu_offline(void);
int r_edu_online(void);
int r_edu_offline_soon(void);

#endif
