/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Defines guards, which change the local state of the thread.
 * Included by <dispatchkey.hpp>.
 */
#ifndef _DISPATCHKEY_LOCAL_HPP
#define _DISPATCHKEY_LOCAL_HPP

#include <dispatchkey-keyset.hpp>

namespace dk {

/* The thread's local state. */
inline dk_local &local()
{
	return *dk_local_current();
}

/*
 * Guards, which last until the end of their scope and do the same as the guards in C
 * (DK_LOCAL_INCLUDE() and so on). The last guard that began must end first, so guards
 * cannot be copied or moved. A guard without a name ends at its semicolon; compilers
 * warn of it.
 */
namespace detail {

class guard {
public:
	guard(const guard &) = delete;
	guard &operator=(const guard &) = delete;

protected:
	explicit guard(dk_local &l) : local_(l), saved_(l) {}
	~guard() = default;
	dk_local &local_;
	const dk_local saved_;
};

struct both_sets : guard {
	explicit both_sets(dk_local &l) : guard(l) {}
	~both_sets() { local_ = saved_; }
};

} /* namespace detail */

struct include : detail::guard {
	[[nodiscard]] explicit include(keyset ks, dk_local &l = local()) : guard(l)
	{
		dk_local_include(&l, ks);
	}
	/* without this, ({ DK_CPU }) is ambiguous in g++: it could also be a guard to copy */
	[[nodiscard]] explicit include(const dk_key (&key)[1], dk_local &l = local())
		: include(*key, l) {}
	~include() { local_.included = saved_.included; }
};

struct exclude : detail::guard {
	[[nodiscard]] explicit exclude(keyset ks, dk_local &l = local()) : guard(l)
	{
		dk_local_exclude(&l, ks);
	}
	[[nodiscard]] explicit exclude(const dk_key (&key)[1], dk_local &l = local())
		: exclude(*key, l) {}
	~exclude() { local_.excluded = saved_.excluded; }
};

struct force : detail::both_sets {
	[[nodiscard]] force(keyset included, keyset excluded, dk_local &l = local()) : both_sets(l)
	{
		dk_local_set(&l, included, excluded);
	}
};

struct preserve : detail::both_sets {
	[[nodiscard]] explicit preserve(dk_local &l = local()) : both_sets(l) {}
};

struct inference_mode : detail::both_sets {
	/* no default for @on: with one, dk::inference_mode(on); would declare a guard named "on" */
	[[nodiscard]] explicit inference_mode(bool on, dk_local &l = local()) : both_sets(l)
	{
		dk_local_set_inference(&l, on);
	}
};

struct below_autograd : exclude {
	[[nodiscard]] explicit below_autograd(dk_local &l = local()) : exclude(autograd_keys, l) {}
};

struct below_adinplace_or_view : exclude {
	[[nodiscard]] explicit below_adinplace_or_view(dk_local &l = local())
		: exclude(autograd_adinplace_or_view_keys, l) {}
};

struct skip_functionalize : exclude {
	[[nodiscard]] explicit skip_functionalize(dk_local &l = local())
		: exclude(DK_FUNCTIONALIZE, l) {}
};

/* A guard of one key, like DK_LOCAL_SET_EXCLUDED(). */
class set_excluded {
public:
	[[nodiscard]] set_excluded(dk_key key, bool want, dk_local &l = local())
		: guard_(dk__guard_key(&l, key, want)) {}
	set_excluded(const set_excluded &) = delete;
	set_excluded &operator=(const set_excluded &) = delete;
	~set_excluded() { dk__guard_leave_key(&guard_); }

private:
	dk__key_guard guard_;
};

/* A guard like DK_LOCAL_AUTOCAST(). */
class autocast {
public:
	[[nodiscard]] explicit autocast(dk_backend backend, bool on = true, dk_local &l = local())
		: guard_(dk__guard_autocast(&l, backend, on)) {}
	autocast(const autocast &) = delete;
	autocast &operator=(const autocast &) = delete;
	~autocast() { dk__guard_leave_key(&guard_); }

private:
	dk__key_guard guard_;
};

} /* namespace dk */

#endif /* _DISPATCHKEY_LOCAL_HPP */
