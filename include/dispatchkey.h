/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * dispatchkey: route an operation to the right device's function.
 *
 * The prototypes are the same in the kernel, in userspace and on bare metal. But the
 * kernel module exports only the functions that drivers use: the list is kmod/exports.c.
 * It lacks those for other layouts, libraries, listeners and dumps, for example. The
 * Context of each function that it lacks ends with "Not in the kernel module."
 *
 * The API has five terms. Programs call operators. A provider (a driver, runtime or
 * plugin) registers functions for operators. A backend is a kind of device, with a bit in
 * keysets; several providers can share it. A device is one card of a backend. An object
 * carries a keyset and the number of its device.
 *
 * Errors are negative errnos. Most functions that can fail take a pointer to a struct
 * dk_diag, which may be NULL, and fill the struct with the reason. Other pointers must not
 * be NULL, unless the description of the function allows NULL or states an error for it.
 */
#ifndef _DISPATCHKEY_H
#define _DISPATCHKEY_H

#include <dispatchkey-base.h>
#include <dispatchkey-keyset.h>
#include <dispatchkey-translate.h>
#include <dispatchkey-compute.h>
#include <dispatchkey-local.h>
#include <dispatchkey-registry.h>
#include <dispatchkey-value.h>
#include <dispatchkey-operator.h>
#include <dispatchkey-library.h>
#include <dispatchkey-listener.h>
#include <dispatchkey-device.h>
#include <dispatchkey-call.h>
#include <dispatchkey-defer.h>
#include <dispatchkey-hook.h>
#include <dispatchkey-see.h>
#include <dispatchkey-explain.h>
#include <dispatchkey-list.h>
#include <dispatchkey-stats.h>
#if !defined(__KERNEL__) && !defined(DK_BARE)
#include <dispatchkey-schema.h>
#endif
#ifndef __cplusplus
#include <dispatchkey-op.h>
#else
#ifdef DK_BARE
#define DK__ONLY_C(macro, instead)					\
	static_assert(false, macro "() is for C: use it in a C file")
#else
#define DK__ONLY_C(macro, instead)					\
	static_assert(false, macro "() is for C: use " instead " of <dispatchkey.hpp>")
#endif
#define DK__NO_IMPL(macro, instead)					\
	([] { DK__ONLY_C(macro, instead); } (), dk_impl())
#define DK_OP(...)		DK__ONLY_C("DK_OP", "DK_CXX_OP()")
#define DK_IMPL(...)		DK__NO_IMPL("DK_IMPL", "dk::op::impl() or make_impl()")
#define DK_IMPL_ATOMIC(...)	DK__NO_IMPL("DK_IMPL_ATOMIC", "dk::op::impl() or make_impl()")
#define DK_IMPL_PLAIN(...)	DK__NO_IMPL("DK_IMPL_PLAIN", "dk::op::impl() or make_impl()")
#define DK_IMPL_PLAIN_ATOMIC(...)					\
	DK__NO_IMPL("DK_IMPL_PLAIN_ATOMIC", "dk::op::impl() or make_impl()")
#define DK_IMPL_BOXED(...)	DK__NO_IMPL("DK_IMPL_BOXED", "dk::op::boxed()")
#define DK_IMPL_BOXED_ATOMIC(...)					\
	DK__NO_IMPL("DK_IMPL_BOXED_ATOMIC", "dk::op::boxed()")
#define DK_IMPL_FALLTHROUGH(...)					\
	DK__NO_IMPL("DK_IMPL_FALLTHROUGH", "dk::op::fallthrough()")
#define DK_FALLBACK(...)	DK__NO_IMPL("DK_FALLBACK", "dk::fallback()")
#define DK_FALLBACK_ATOMIC(...)	DK__NO_IMPL("DK_FALLBACK_ATOMIC", "dk::fallback()")
#define DK_FALLTHROUGH(...)	DK__NO_IMPL("DK_FALLTHROUGH", "dk::fallthrough()")
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dk_version() - the version of the library or the module
 *
 * Context: Any.
 * Return: A constant string, such as "0.1.0".
 */
const char *dk_version(void);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_H */
