/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Defines results and keysets.
 * Included by <dispatchkey.hpp>.
 */
#ifndef _DISPATCHKEY_KEYSET_HPP
#define _DISPATCHKEY_KEYSET_HPP

#include <dispatchkey.h>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <type_traits>
#include <utility>

/*
 * Marks what must exist once in each shared object:
 * - inline variables, and the static data of templates. With the default visibility, g++ makes such
 *   data unique in the process, and dlclose() never unloads a shared object that has it.
 * - functions that make calls. Shared objects may be compiled with other options, or with another
 *   version of this header.
 */
#define DK__LOCAL_TO_OBJECT	__attribute__((__visibility__("hidden")))

namespace dk {

/* ---- results --------------------------------------------------------------- */

/* 0 or a negative errno, with a reason. Converts to true on success. */
struct [[nodiscard]] result {
	int error = 0;
	dk_diag why = {};

	result() { why.size = sizeof(why); }
	explicit operator bool() const { return !error; }
	const char *text() const { return why.reason ? why.text : ""; }
	const char *name() const { return why.name; }
};

/* Returns a sentence for the result of a call; see dk_call_error_text(). */
inline const char *error_text(int error)
{
	return dk_call_error_text(error);
}

/* ---- keysets of layout v1 --------------------------------------------------- */

/*
 * The name of a type in signatures. Specialise this template, and set text to a name, for a
 * type that plugins share but compilers spell differently, such as a type in an inline
 * namespace of your own. Documentation/runtimes.rst lists these types.
 */
template <class T> struct type_name {
	static constexpr const char *text = nullptr;
};

namespace detail {

constexpr unsigned int fls(__u64 bits)
{
	return bits ? 64 - static_cast<unsigned int>(__builtin_clzll(bits)) : 0;
}

DK__LOCAL_TO_OBJECT inline constexpr unsigned short first_slot[] = {
#define DK__FIRST_SLOT(U, N, P) DK_SLOT_##U,
	DK_FUNCTIONALITIES(DK__FIRST_SLOT)
#undef DK__FIRST_SLOT
};

/* Always false. static_assert(never<T>) fails only when the template around it is instantiated. */
template <class...> inline constexpr bool never = false;

/* Replaces DK_KEY_BITS(), which mixes numbers and enums as only C allows. */
constexpr __u64 key_bits(unsigned int key)
{
	unsigned int n = key - DK_START_OF_DENSE_BACKENDS, backend = 0;

	if (key > DK_END_OF_RUNTIME_BACKEND_KEYS || key == DK_UNDEFINED)
		return 0;
	if (key >= DK_START_OF_DENSE_BACKENDS) {
		backend = n % (DK_NUM_BACKENDS + 1);
		key = DK__BLOCK_FUNCTIONALITY(n / (DK_NUM_BACKENDS + 1));
	}
	return DK_FUNCTIONALITY_BIT(key) | (backend ? DK_BACKEND_BIT(backend) : 0);
}

/* Returns the runtime key of a per-backend functionality; for backend 0 the sentinel. */
constexpr unsigned int runtime_key(unsigned int functionality, unsigned int backend)
{
	unsigned int block = 0;

	while (DK__BLOCK_FUNCTIONALITY(block) != functionality)
		block++;
	return DK_START_OF_DENSE_BACKENDS + block * (DK_NUM_BACKENDS + 1) + backend;
}

} /* namespace detail */

/*
 * A struct dk_keyset with operators that behave like PyTorch's. It is constructed
 * from keys (enum dk_key) or backends (enum dk_backend), and from raw bits only by
 * from_raw(). Convert a backend's number from dk_backend_join() or a similar function
 * with static_cast<dk_backend>().
 */
struct keyset {
	__u64 bits = 0;

	constexpr keyset() = default;
	constexpr keyset(dk_keyset ks) : bits(ks.bits) {}
	constexpr keyset(dk_key key) : bits(detail::key_bits(key)) {}
	/* only the backend's bit, which is not a key */
	constexpr explicit keyset(dk_backend backend)
		: bits(backend && backend <= DK_NUM_BACKENDS ? DK_BACKEND_BIT(backend) : 0) {}
	constexpr keyset(std::initializer_list<dk_key> keys)
	{
		for (dk_key key : keys)
			bits |= keyset(key).bits;
	}
	constexpr explicit keyset(std::initializer_list<dk_backend> backends)
	{
		for (dk_backend backend : backends)
			bits |= keyset(backend).bits;
	}
	template <class T, class = std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>>>
	explicit keyset(T)
	{
		static_assert(detail::never<T>,
			      "dk::keyset is made from keys or backends; use dk::keyset::from_raw() for bits");
	}
	static constexpr keyset from_raw(__u64 raw) { return dk_keyset{ raw }; }
	constexpr operator dk_keyset() const { return dk_keyset{ bits }; }

	static constexpr keyset full() { return from_raw(DK_FULL); }
	/* the keys below a key, to mask a redispatch */
	static constexpr keyset after(dk_key key)
	{
		const unsigned int f = detail::fls(keyset(key).bits >> DK_NUM_BACKENDS);

		return from_raw((f ? DK_FUNCTIONALITY_BIT(f) - 1 : DK_BACKEND_MASK >> 1) |
				DK_FUNCTIONALITY_BIT(DK_PYTHON_DISPATCHER));
	}

	constexpr bool empty() const { return !bits; }
	constexpr bool has(dk_key key) const { return has_all(key); }
	constexpr bool has_backend(dk_backend b) const { return has_all(keyset(b)); }
	constexpr bool has_all(keyset s) const { return (bits & s.bits) == s.bits; }
	constexpr bool has_any(keyset s) const { return bits & s.bits; }
	constexpr keyset add(keyset s) const { return from_raw(bits | s.bits); }
	/* removes functionalities only: the backend bits stay, as with operator - */
	constexpr keyset remove(dk_key key) const { return *this - key; }
	constexpr keyset remove_backend(dk_backend b) const
	{
		return from_raw(bits & ~keyset(b).bits);
	}

	/* the highest functionality, and the highest backend */
	constexpr dk_key functionality() const
	{
		return static_cast<dk_key>(detail::fls((bits & DK_FULL) >> DK_NUM_BACKENDS));
	}
	constexpr dk_backend backend() const
	{
		return static_cast<dk_backend>(detail::fls(bits & DK_BACKEND_MASK));
	}
	constexpr dk_key key() const
	{
		const dk_key f = functionality();

		return per_backend(f) ?
		       static_cast<dk_key>(detail::runtime_key(f, backend())) : f;
	}
	constexpr unsigned int slot() const
	{
		const unsigned int f = functionality();
		const unsigned int b = per_backend(f) ? backend() : DK_BACKEND_INVALID;

		return detail::first_slot[f] + (b ? b - 1 : 0);
	}

	/* the runtime keys, lowest priority first */
	class iterator {
	public:
		using iterator_category = std::input_iterator_tag;
#if __cplusplus >= 202002L
		using iterator_concept = std::forward_iterator_tag;
#endif
		using value_type = dk_key;
		using difference_type = std::ptrdiff_t;
		using pointer = const dk_key *;
		using reference = dk_key;

		iterator() = default;
		iterator(dk_keyset ks, unsigned int slot) : ks_(ks), slot_(slot) {}
		dk_key operator*() const
		{
			return static_cast<dk_key>(dk_slot_key(nullptr, slot_));
		}
		iterator &operator++()
		{
			slot_ = dk_keyset_next(nullptr, ks_, slot_);
			return *this;
		}
		iterator operator++(int)
		{
			iterator old = *this;

			++*this;
			return old;
		}
		bool operator!=(const iterator &other) const { return slot_ != other.slot_; }
		bool operator==(const iterator &other) const { return slot_ == other.slot_; }

	private:
		dk_keyset ks_{};
		unsigned int slot_ = 0;
	};
	iterator begin() const { return { *this, dk_keyset_next(nullptr, *this, 0) }; }
	iterator end() const { return { *this, 0 }; }

	/* buffer size that is sufficient to print() any set */
	static constexpr std::size_t text_max = 2048;
	/* as dk_keyset_print() and dk_keyset_parse() */
	std::size_t print(char *buf, std::size_t size) const
	{
		return dk_keyset_print(nullptr, *this, buf, size);
	}
	static result parse(const char *text, keyset &ks)
	{
		result r;
		dk_keyset got;

		r.error = dk_keyset_parse(nullptr, text, &got, &r.why);
		if (r)
			ks = got;
		return r;
	}

	template <class Traits>
	friend std::basic_ostream<char, Traits> &
	operator<<(std::basic_ostream<char, Traits> &out, keyset ks)
	{
		char text[text_max];

		ks.print(text, sizeof(text));
		return out << text;
	}

	friend constexpr keyset operator|(keyset a, keyset b) { return from_raw(a.bits | b.bits); }
	friend constexpr keyset operator&(keyset a, keyset b) { return from_raw(a.bits & b.bits); }
	friend constexpr keyset operator^(keyset a, keyset b) { return from_raw(a.bits ^ b.bits); }
	friend constexpr keyset operator-(keyset a, keyset b)
	{
		return from_raw(a.bits & (DK_BACKEND_MASK | ~b.bits));
	}
	friend constexpr bool operator==(keyset a, keyset b) { return a.bits == b.bits; }
	friend constexpr bool operator!=(keyset a, keyset b) { return a.bits != b.bits; }
	/* these compare the bits as a number, for sorted containers, and do not test for subsets */
	friend constexpr bool operator<(keyset a, keyset b) { return a.bits < b.bits; }
	friend constexpr bool operator>(keyset a, keyset b) { return b < a; }
	friend constexpr bool operator<=(keyset a, keyset b) { return !(b < a); }
	friend constexpr bool operator>=(keyset a, keyset b) { return !(a < b); }
	constexpr keyset &operator|=(keyset s) { return *this = *this | s; }
	constexpr keyset &operator&=(keyset s) { return *this = *this & s; }
	constexpr keyset &operator^=(keyset s) { return *this = *this ^ s; }
	constexpr keyset &operator-=(keyset s) { return *this = *this - s; }

private:
	static constexpr bool per_backend(unsigned int f)
	{
		return f && (DK_PER_BACKEND_MASK & DK_FUNCTIONALITY_BIT(f));
	}
};

DK__LOCAL_TO_OBJECT inline constexpr keyset autograd_keys = keyset::from_raw(DK_AUTOGRAD_BITS);
DK__LOCAL_TO_OBJECT inline constexpr keyset autograd_adinplace_or_view_keys =
	keyset::from_raw(DK_AUTOGRAD_ADINPLACE_OR_VIEW_BITS);
DK__LOCAL_TO_OBJECT inline constexpr keyset default_included =
	keyset::from_raw(DK_DEFAULT_INCLUDED);
DK__LOCAL_TO_OBJECT inline constexpr keyset default_excluded =
	keyset::from_raw(DK_DEFAULT_EXCLUDED);

} /* namespace dk */

template <> struct std::hash<dk::keyset> {
	std::size_t operator()(dk::keyset ks) const noexcept
	{
		return std::hash<__u64>()(ks.bits);
	}
};

/* Without this operator, the union of two keys would be a number instead of a set. */
constexpr dk::keyset operator|(dk_key a, dk_key b)
{
	return { a, b };
}

#endif /* _DISPATCHKEY_KEYSET_HPP */
