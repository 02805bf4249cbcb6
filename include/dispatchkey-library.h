/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Libraries: blocks of definitions and functions of one namespace, each of
 * which can be released by itself. Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_LIBRARY_H
#define _DISPATCHKEY_LIBRARY_H

#include <dispatchkey-operator.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dkc_entry;
struct dkc_library;

/**
 * enum dk_library_kind - what a library is for
 * @DK_LIBRARY_DEF: it defines the operators of a namespace, alone
 * @DK_LIBRARY_FRAGMENT: it defines operators of a namespace beside others
 * @DK_LIBRARY_IMPL: it has functions, usually of one dispatch key
 *
 * PyTorch's TORCH_LIBRARY, TORCH_LIBRARY_FRAGMENT and TORCH_LIBRARY_IMPL.
 */
enum dk_library_kind {
	DK_LIBRARY_DEF = 1,
	DK_LIBRARY_FRAGMENT,
	DK_LIBRARY_IMPL,
};

/**
 * struct dk_library - definitions and functions of one namespace
 * @size: sizeof(struct dk_library)
 * @kind: of enum dk_library_kind
 * @ns: the namespace; NULL or "_" for none, in an IMPL library
 * @key: of an IMPL library, the key of its functions; DK_UNDEFINED for none
 * @debug: where it is, for people
 * @prov: who registers; registered before
 * @core: NULL while it is not registered
 *
 * The storage is the caller's, and has to stay until it is unregistered.
 */
struct dk_library {
	__u32 size;
	__u32 kind;
	const char *ns;
	__u32 key;
	const char *debug;
	struct dk_provider *prov;
	struct dkc_library *core;
};

/**
 * struct dk_handle - one registration of a library
 * @core: NULL if it holds none
 *
 * The storage is the caller's, zeroed, and has to stay until the registration
 * is released or its library or provider is unregistered.
 */
struct dk_handle {
	struct dkc_entry *core;
};

#define DK__TEXT(x) DK__TEXT2(x)
#define DK__TEXT2(x) #x
/**
 * DK_HERE - where this is, for @debug of definitions, functions and libraries
 */
#define DK_HERE "registered at " __FILE__ ":" DK__TEXT(__LINE__)

/**
 * DK_LIBRARY() - what a struct dk_library is initialised with
 * @provider: the struct dk_provider
 * @what: DEF, FRAGMENT or IMPL
 * @name: the namespace
 * @at: the key, DK_UNDEFINED for none
 */
#define DK_LIBRARY(provider, what, name, at) {				\
	.size = sizeof(struct dk_library),				\
	.kind = DK_LIBRARY_##what,					\
	.ns = (name),							\
	.key = (at),							\
	.debug = DK_HERE,						\
	.prov = (provider),						\
}

/**
 * dk_library_register() - begin a library
 * @lib: from DK_LIBRARY()
 * @why: filled on failure, with the library's kind and where it is; may be NULL
 *
 * SEMANTICS 8.2: what defines needs a namespace and has no key, and a namespace
 * has one DEF library.
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL (size, kind, namespace, key, provider), -EEXIST (the
 * namespace has a DEF library, or this one is registered), -ENOMEM, -ESHUTDOWN.
 */
int dk_library_register(struct dk_library *lib, struct dk_diag *why);

/**
 * dk_library_unregister() - release all that a library holds
 * @lib: the library; one that is not registered is fine
 *
 * In the order in which it was registered, in one change. The library may be
 * registered again. Unregistering its provider does the same.
 *
 * Context: Process context, sleeps until the calls inside have returned.
 * Return: 0, -EDEADLK or -ESHUTDOWN as dk_provider_unregister().
 */
int dk_library_unregister(struct dk_library *lib);

/**
 * dk_library_def() - define an operator
 * @lib: a DEF or FRAGMENT library
 * @decl: its declaration. A name or schema without a namespace gets that of the
 *	library; where @name is NULL, the schema has it.
 * @flags: of enum dk_op_flags
 * @h: set to what releases it; may be NULL
 * @why: filled on failure; may be NULL
 *
 * In userspace the schema is parsed, in the kernel only its name is read.
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL (an IMPL library, the namespace, or as dk_op_define()),
 * -EEXIST (defined already, or @h is in use), -EBUSY, -EPROTOTYPE, -ENOMEM,
 * -ESHUTDOWN.
 */
int dk_library_def(struct dk_library *lib, const struct dk_op_decl *decl,
		   unsigned int flags, struct dk_handle *h, struct dk_diag *why);

/**
 * dk_library_def_impl() - define an operator with a function: both or none
 * @lib: a DEF or FRAGMENT library
 * @decl: its declaration; without a schema it gets the schema that was inferred
 *	from the function, @impl->schema, and alias analysis CONSERVATIVE. Where
 *	that is unknown, too, its signature says what it takes; one without is
 *	refused.
 * @flags: of enum dk_op_flags
 * @impl: the function, at its key or for all; its operator is @decl
 * @h: set to what releases both; may be NULL
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL, -EEXIST, -EBUSY, -EPROTOTYPE, -ENOMEM or -ESHUTDOWN, for
 * the reasons of dk_library_def() and dk_library_impl().
 */
int dk_library_def_impl(struct dk_library *lib, const struct dk_op_decl *decl,
			unsigned int flags, const struct dk_impl *impl,
			struct dk_handle *h, struct dk_diag *why);

/**
 * dk_library_impl() - register a function
 * @lib: the library
 * @impl: the function, which is copied; what it points to stays. Its key is its
 *	own, else the library's, else the catch-all.
 * @h: set to what releases it; may be NULL
 * @why: filled on failure, and with reason OVERRIDE; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL (another namespace or key than the library's, or as
 * dk_impls_register()), -EEXIST (@h is in use), -EPROTOTYPE, -ENOMEM,
 * -ESHUTDOWN.
 */
int dk_library_impl(struct dk_library *lib, const struct dk_impl *impl,
		    struct dk_handle *h, struct dk_diag *why);

/**
 * dk_library_fallback() - register a function for all operators
 * @lib: an IMPL library without a namespace
 * @impl: the fallback, which is copied; its key is its own or the library's
 * @h: set to what releases it; may be NULL
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL (another library, no key, or as
 * dk_fallback_register()), -EEXIST (the key has one, or @h is in use), -ENOMEM,
 * -ESHUTDOWN.
 */
int dk_library_fallback(struct dk_library *lib, const struct dk_impl *impl,
			struct dk_handle *h, struct dk_diag *why);

/**
 * dk_handle_release() - undo one registration, and wait for the calls inside
 * @lib: its library
 * @h: the handle; one that holds nothing is fine
 *
 * In any order (SEMANTICS 8.1). It works when every allocation fails.
 *
 * Context: Process context, sleeps until the calls inside have returned.
 * Return: 0, -ENOENT (another library's), -EDEADLK or -ESHUTDOWN as
 * dk_provider_unregister().
 */
int dk_handle_release(struct dk_library *lib, struct dk_handle *h);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_LIBRARY_H */
