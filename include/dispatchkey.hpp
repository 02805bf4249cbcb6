/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Defines the C++17 interface of dispatchkey, on top of <dispatchkey.h>: keysets,
 * guards, operators by function type, functions with state, libraries, listeners
 * and registries. The header does not throw, and needs neither exceptions nor RTTI.
 * Functions that can fail return a dk::result.
 */
#ifndef _DISPATCHKEY_HPP
#define _DISPATCHKEY_HPP

#if __cplusplus < 201703L
#error <dispatchkey.hpp> needs C++17 or later: compile with -std=c++17
#elif defined(DK_BARE)
#error <dispatchkey.hpp> is for userspace: include <dispatchkey.h>, and call operators in a C file
#else

#include <dispatchkey-keyset.hpp>
#include <dispatchkey-local.hpp>
#include <dispatchkey-objects.hpp>
#include <dispatchkey-args.hpp>
#include <dispatchkey-signature.hpp>
#include <dispatchkey-function.hpp>
#include <dispatchkey-registry.hpp>
#include <dispatchkey-op.hpp>
#include <dispatchkey-library.hpp>

#endif /* C++17 */

#endif /* _DISPATCHKEY_HPP */
