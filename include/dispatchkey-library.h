/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Declares libraries: definitions and functions of one namespace, which can be
 * released one by one. Included by <dispatchkey.h>.
 *
 * These functions exist in userspace and on bare metal, but not in the kernel module.
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
 * enum dk_library_kind - the kind of a library
 * @DK_LIBRARY_DEF: defines operators of a namespace; a namespace can have only one
 *	such library
 * @DK_LIBRARY_FRAGMENT: defines operators of a namespace; other libraries may define
 *	operators of the same namespace
 * @DK_LIBRARY_IMPL: registers functions, usually at one dispatch key
 *
 * Correspond to PyTorch's TORCH_LIBRARY, TORCH_LIBRARY_FRAGMENT and TORCH_LIBRARY_IMPL.
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
 * @ns: the namespace, such as "sample", which contains neither a colon nor a
 *	parenthesis; NULL or "_" in an IMPL library without one
 * @key: for an IMPL library, the key of its functions; DK_UNDEFINED for none
 * @debug: human-readable place of the library in the source
 * @prov: the provider, which must be registered first
 * @core: private; NULL while it is not registered
 *
 * The caller provides the storage, which must stay valid until the library is
 * unregistered.
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
 * @core: private; NULL if it has no registration
 *
 * The caller provides the storage, which must be zeroed and stay valid until the
 * registration is released or its library or provider is unregistered.
 */
struct dk_handle {
	struct dkc_entry *core;
};

#define DK__TEXT(x) DK__TEXT2(x)
#define DK__TEXT2(x) #x
/**
 * DK_HERE - the current place in the source, for members named debug
 */
#define DK_HERE "registered at " __FILE__ ":" DK__TEXT(__LINE__)

#ifdef __cplusplus
/* C++17 cannot name members here. All members are listed, so that compilers do not warn. */
#define DK_LIBRARY(provider, what, name, at) {				\
	sizeof(struct dk_library), DK_LIBRARY_##what, (name), (at), DK_HERE, (provider), nullptr, \
}
#else
/**
 * DK_LIBRARY() - initialiser of a struct dk_library
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
#endif

/**
 * dk_library_register() - register a library
 * @lib: from DK_LIBRARY()
 * @why: filled on failure, with the library's kind and place; may be NULL
 *
 * DEF and FRAGMENT libraries need a namespace and must have no key. A namespace can
 * have one DEF library (SEMANTICS 8.2).
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return:
 * * 0: success
 * * -EINVAL: the size, kind, namespace, key or provider is invalid
 * * -EEXIST: the namespace has a DEF library, or @lib is registered already
 * * -EBUSY: the provider is being unregistered
 * * -ENOMEM, -ESHUTDOWN
 */
int dk_library_register(struct dk_library *lib, struct dk_diag *why);

/**
 * dk_library_unregister() - unregister a library and release all its registrations
 * @lib: the library; may be NULL or not registered
 *
 * Releases all registrations at once. The library may be registered again. Unregistering
 * the provider also unregisters the library.
 *
 * Context: Process context, sleeps until the running calls return. Not in the kernel module.
 * Return: 0, -EDEADLK or -ESHUTDOWN as dk_provider_unregister().
 */
int dk_library_unregister(struct dk_library *lib);

/**
 * dk_library_def() - define an operator
 * @lib: a DEF or FRAGMENT library
 * @decl: its declaration. The struct, its name and its schema are copied. Everything else
 *	to which it points must stay valid. A name or schema without a namespace gets the
 *	namespace of the library. If @decl->name is NULL, the name is taken from the schema
 *	and ends before its parenthesis. A given name is not cut
 * @flags: of enum dk_op_flags
 * @h: set to a handle that releases the definition; may be NULL
 * @why: filled on failure; may be NULL
 *
 * In userspace the schema is parsed, and @why has the column of an error in the given
 * text. On bare metal only the name of the schema is read.
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return:
 * * 0: success
 * * -EINVAL: @lib is an IMPL library, @decl has a namespace other than the library's, or as
 *   dk_op_define()
 * * -EEXIST: the operator is defined already, or @h is in use
 * * -EBUSY, -EPROTOTYPE, -EPROTO, -ENOMEM, -ESHUTDOWN
 */
int dk_library_def(struct dk_library *lib, const struct dk_op_decl *decl,
		   unsigned int flags, struct dk_handle *h, struct dk_diag *why);

/**
 * dk_library_def_impl() - define an operator and register its function, both or none
 * @lib: a DEF or FRAGMENT library
 * @decl: its declaration, copied as in dk_library_def(). If it has no schema, it gets the
 *	schema of the function, @impl->schema, and alias analysis CONSERVATIVE. If
 *	@impl->schema is NULL, too, the declaration must have a signature
 * @flags: of enum dk_op_flags
 * @impl: the function, copied as in dk_library_impl(). It is registered at its own key or as
 *	the catch-all. Its operator is that of @decl, so the name in @impl->op is ignored, and
 *	@impl->op may be NULL. Its signature must be that of @decl
 * @h: set to a handle that releases both; may be NULL
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: 0, -EINVAL, -EEXIST, -EBUSY, -EPROTOTYPE, -EPROTO, -ENOMEM or -ESHUTDOWN as
 * dk_library_def() and dk_library_impl().
 */
int dk_library_def_impl(struct dk_library *lib, const struct dk_op_decl *decl,
			unsigned int flags, const struct dk_impl *impl,
			struct dk_handle *h, struct dk_diag *why);

/**
 * dk_library_impl() - register a function
 * @lib: the library
 * @impl: the function. The struct is copied, and everything to which it points must stay
 *	valid. A name without a namespace gets the namespace of the library. If the
 *	function has no key, the library's key is used. If the library has no key either,
 *	the function becomes the catch-all (SEMANTICS 7.1)
 * @h: set to a handle that unregisters the function; may be NULL
 * @why: filled on failure, and on success with reason OVERRIDE as in
 *	dk_impls_register(); may be NULL
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return:
 * * 0: success
 * * -EINVAL: the namespace or the key differs from the library's, a schema cannot have
 *   the name, or as dk_impls_register()
 * * -EEXIST: @h is in use
 * * -EBUSY: the provider is being unregistered
 * * -EPROTOTYPE, -EPROTO, -ENOMEM, -ESHUTDOWN
 */
int dk_library_impl(struct dk_library *lib, const struct dk_impl *impl,
		    struct dk_handle *h, struct dk_diag *why);

/**
 * dk_library_fallback() - register a backend fallback
 * @lib: an IMPL library without a namespace
 * @impl: the fallback, copied as in dk_library_impl(). If it has no key, the library's key is
 *	used
 * @h: set to a handle that unregisters the fallback; may be NULL
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return:
 * * 0: success
 * * -EINVAL: the library is of another kind, there is no key, or as
 *   dk_fallback_register()
 * * -EEXIST: the key has a fallback other than a builtin one, or @h is in use
 * * -EBUSY: the provider is being unregistered
 * * -ENOMEM, -ESHUTDOWN
 */
int dk_library_fallback(struct dk_library *lib, const struct dk_impl *impl,
			struct dk_handle *h, struct dk_diag *why);

/**
 * dk_handle_release() - release one registration and wait for its running calls
 * @lib: its library; does nothing if NULL
 * @h: the handle; does nothing if NULL
 *
 * Registrations may be released in any order (SEMANTICS 8.1). Succeeds even if no memory
 * can be allocated. If another thread has released @h, it may still be waiting for running
 * calls. So if @h has no registration, this function waits for the running calls of all
 * functions that the library's provider has unregistered.
 *
 * Context: Process context, sleeps until the running calls return. Not in the kernel module.
 * Return: 0, -ENOENT (a registration of another library), -EDEADLK or -ESHUTDOWN as
 * dk_provider_unregister().
 */
int dk_handle_release(struct dk_library *lib, struct dk_handle *h);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_LIBRARY_H */
