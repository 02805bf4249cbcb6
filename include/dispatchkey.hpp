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

#include <dispatchkey.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <new>
#include <optional>
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

namespace dk {

/* ---- guards ----------------------------------------------------------------- */

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

/* ---- what arguments dispatch on --------------------------------------------- */

namespace detail {

template <class T, class = void> struct complete : std::false_type {};
template <class T> struct complete<T, std::void_t<decltype(sizeof(T))>> : std::true_type {};

template <class T, class = void> struct usual_object {
	static constexpr bool is = false;
};

template <class T>
struct usual_object<T, std::enable_if_t<std::conjunction_v<complete<T>,
							   std::is_base_of<dk_obj, T>>>> {
	static constexpr bool is = true;
	static const dk_obj *of(const T &x) { return __builtin_addressof(x); }
};

template <class T>
struct usual_object<T,
		    std::enable_if_t<std::is_same_v<std::remove_cv_t<decltype(T::dk)>, dk_obj>>> {
	static constexpr bool is = true;
	static const dk_obj *of(const T &x) { return &x.dk; }
};

} /* namespace detail */

/*
 * Defines which types calls dispatch on: dk_obj, types derived from dk_obj, and types with a
 * public member "dk" of type dk_obj. For other types, specialise this template with is = true
 * and of(). If the specialisation also has offset, the position of the dk_obj in the
 * type, dk_arg_get() returns arguments of the type as objects. For a class that is only
 * declared, and that calls do not dispatch on, specialise this template with is = false.
 */
template <class T, class = void> struct object : detail::usual_object<T> {};

/* A parameter that stands for several objects. */
template <class T> struct list {
	T *items;
	std::size_t count;

	T *data() const { return items; }
	std::size_t size() const { return count; }
};

/*
 * Select the parameters that an operator dispatches on: struct every selects each parameter of
 * a suitable type, and struct on selects those with the indices N.
 */
struct every {
	static constexpr bool has(std::size_t) { return true; }
	static constexpr bool fits(std::initializer_list<bool>) { return true; }
};
template <std::size_t... N> struct on {
	static constexpr bool has(std::size_t i) { return ((i == N) || ...); }
	static constexpr bool fits(std::initializer_list<bool> is)
	{
		return ((N < is.size() && is.begin()[N]) && ...);
	}
};

namespace detail {

template <class T> inline constexpr bool is_class = std::is_class_v<T> || std::is_union_v<T>;
template <class T> constexpr bool is_object()
{
	if constexpr (is_class<T> && complete<T>::value)
		return object<T>::is;
	else
		return false;
}

/*
 * Describes the objects of a parameter. @is is true if the parameter has objects, @many if
 * the objects are in a list. each() passes the objects to a function object.
 */
template <class T, class = void> struct visit {
	static constexpr bool is = false, many = false;
};

template <class T>
inline constexpr bool is_generator =
	std::is_base_of_v<dk_generator, std::remove_cv_t<std::remove_pointer_t<T>>>;
template <class T> inline constexpr bool is_generator<std::optional<T>> = is_generator<T>;
template <class T>
inline constexpr bool is_generator<std::reference_wrapper<T>> = is_generator<T>;

template <> struct visit<dk_list> {
	static constexpr bool is = true, many = false;
	template <class S> static void each(const dk_list &x, S &sink)
	{
		/* the list may be changed, because it is a parameter that was passed by value */
		sink(dk_list_obj(const_cast<dk_list *>(&x)));
	}
};

template <class T> struct visit<T, std::enable_if_t<is_object<T>()>> {
	static constexpr bool is = true, many = false;
	template <class S> static void each(const T &x, S &sink) { sink(object<T>::of(x)); }
};

template <class T> struct visit<T *, std::enable_if_t<is_object<std::remove_cv_t<T>>()>> {
	static constexpr bool is = true, many = false;
	template <class S> static void each(const T *x, S &sink)
	{
		sink(x ? object<std::remove_cv_t<T>>::of(*x) : nullptr);
	}
};

/* A specialisation of dk::object for the type takes precedence over the templates below. */
template <class T> struct visit<std::optional<T>, std::enable_if_t<!is_object<std::optional<T>>() &&
								   visit<T>::is>> {
	static constexpr bool is = true, many = visit<T>::many;
	template <class S> static void each(const std::optional<T> &x, S &sink)
	{
		if (x)
			visit<T>::each(*x, sink);
	}
};

template <class T> struct visit<std::reference_wrapper<T>,
				std::enable_if_t<!is_object<std::reference_wrapper<T>>() &&
						 visit<std::remove_cv_t<T>>::is>> {
	static constexpr bool is = true, many = visit<std::remove_cv_t<T>>::many;
	template <class S> static void each(const std::reference_wrapper<T> &x, S &sink)
	{
		visit<std::remove_cv_t<T>>::each(x.get(), sink);
	}
};

/* The type to which @Pointer points, or void if that type is T: ends recursive types. */
template <class T, class Pointer, class To = std::remove_cv_t<std::remove_pointer_t<Pointer>>>
using target = std::conditional_t<std::is_same_v<To, T>, void, To>;
template <class T> using item = target<T, decltype(std::data(std::declval<const T &>()))>;

template <class T>
struct visit<T, std::enable_if_t<!is_object<T>() && visit<item<T>>::is &&
				 (sizeof(std::size(std::declval<const T &>())) > 0)>> {
	static constexpr bool is = true, many = true;
	template <class S> static void each(const T &x, S &sink)
	{
		for (std::size_t i = 0; i < std::size(x); i++)
			visit<item<T>>::each(std::data(x)[i], sink);
	}
};

template <class T> using pointee = target<T, decltype(std::declval<const T &>().operator->())>;
template <template <class> class Of, class T, class = void> inline constexpr bool has = false;
template <template <class> class Of, class T>
inline constexpr bool has<Of, T, std::void_t<Of<T>>> = true;

/*
 * True for a type from which objects can be reached, but which calls do not dispatch on: smart
 * pointers, pointers to a pointer or to a list, std::pair, and other class templates with an
 * argument that is an object or leads to an object, such as tensor[] in std::unique_ptr<tensor[]>.
 */
template <class T> constexpr bool hides_objects();
template <class T> constexpr bool leads_to_objects() { return visit<T>::is || hides_objects<T>(); }
template <class... A> inline constexpr bool one_leads_to_objects =
	(leads_to_objects<std::remove_cv_t<std::remove_reference_t<A>>>() || ...);
/* The specialisations are tried in the order of @rank. */
template <class T, int rank = 0>
inline constexpr bool is_template_of_objects = is_template_of_objects<T, rank + 1>;
template <class T> inline constexpr bool is_template_of_objects<T, 4> = false;
template <template <class...> class Of, class... A>
inline constexpr bool is_template_of_objects<Of<A...>, 0> = one_leads_to_objects<A...>;
template <template <class, auto...> class Of, class A, auto... N>
inline constexpr bool is_template_of_objects<Of<A, N...>, 1> = one_leads_to_objects<A>;
template <template <auto, class...> class Of, auto N, class... A>
inline constexpr bool is_template_of_objects<Of<N, A...>, 2> = one_leads_to_objects<A...>;
template <template <class, auto, class...> class Of, class A, auto N, class... B>
inline constexpr bool is_template_of_objects<Of<A, N, B...>, 3> = one_leads_to_objects<A, B...>;
template <class T> constexpr bool hides_objects()
{
	if constexpr (visit<T>::is)
		return false;
	else if constexpr (std::is_array_v<T>)
		return leads_to_objects<std::remove_cv_t<std::remove_extent_t<T>>>();
	else if constexpr (std::is_pointer_v<T>)
		return leads_to_objects<std::remove_cv_t<std::remove_pointer_t<T>>>();
	else if constexpr (has<pointee, T>)
		return leads_to_objects<pointee<T>>() || is_template_of_objects<T>;
	else if constexpr (has<item, T>)
		return hides_objects<item<T>>();
	else
		return is_template_of_objects<T>;
}

/*
 * False if a class that is only declared decides whether calls dispatch on a T. Another file may
 * define this class. The two files would have different code for the same functions, and the linker
 * would use the code of one file for both.
 */
template <class T> constexpr bool is_known();
template <class T> struct known : std::true_type {};
template <class T>
struct known<T *>
	: std::bool_constant<!is_class<std::remove_cv_t<T>> || is_known<std::remove_cv_t<T>>()> {};
template <class T> struct known<std::optional<T>> : std::bool_constant<is_known<T>()> {};
template <class T> struct known<std::reference_wrapper<T>>
	: std::bool_constant<is_known<std::remove_cv_t<T>>()> {};
template <class T> constexpr bool is_known()
{
	if constexpr (visit<T>::is)
		return true;
	else if constexpr (std::is_array_v<T>)
		return is_known<std::remove_cv_t<std::remove_all_extents_t<T>>>();
	else if constexpr (!is_class<T>)
		return known<T>::value;
	else if constexpr (!complete<T>::value)
		return !std::is_base_of_v<usual_object<T>, object<T>> && !object<T>::is;
	else if constexpr (has<item, T>)
		return is_known<item<T>>();
	else
		return known<T>::value;
}

/* For visit::each(): computes the union of the objects' keysets, and keeps the first object. */
struct keysets {
	std::uint64_t bits = 0;
	const dk_obj *first = nullptr;

	void operator()(const dk_obj *obj)
	{
		if (obj)
			bits |= obj->ks.bits;
		first = first ? first : obj;
	}
};

/* The objects of a call; they are on the stack unless there are long lists. */
template <std::size_t N> class objects {
public:
	objects() = default;
	objects(const objects &) = delete;
	objects &operator=(const objects &) = delete;
	~objects()
	{
		if (at_ != few_)
			delete[] at_;
	}
	void operator()(const dk_obj *obj)
	{
		if (n_ < room_ || grow())
			at_[n_++] = obj;
	}
	bool failed() const { return failed_; }
	const dk_obj *const *data() const { return at_; }
	unsigned int size() const { return n_; }
	/* The union of the objects' keysets. */
	dk_keyset raw() const
	{
		keysets all;

		for (unsigned int i = 0; i < n_; i++)
			all(at_[i]);
		return dk_keyset{ all.bits };
	}

private:
	bool grow()
	{
		auto **more = failed_ ? nullptr :
					new (std::nothrow) const dk_obj *[2 * room_];

		if (!more) {
			failed_ = true;
			return false;
		}
		for (unsigned int i = 0; i < n_; i++)
			more[i] = at_[i];
		if (at_ != few_)
			delete[] at_;
		at_ = more;
		room_ *= 2;
		return true;
	}

	const dk_obj *few_[N];
	const dk_obj **at_ = few_;
	unsigned int n_ = 0, room_ = N;
	bool failed_ = false;
};

/* ---- arguments as a struct ---------------------------------------------------- */

template <class T>
using stored = std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T> *,
				  std::remove_cv_t<T>>;

/*
 * The argument struct, with the layout that a C compiler gives to a struct with members
 * of these types. A reference is stored as a pointer.
 */
template <class... A> class args {
	static constexpr std::size_t num = sizeof...(A);
	static constexpr std::size_t align_to(std::size_t n, std::size_t align)
	{
		return (n + align - 1) / align * align;
	}
	struct plan {
		std::size_t at[num + 1] = {}, size = 0, align = 1;
	};
	static constexpr plan laid_out()
	{
		const std::size_t sizes[] = { sizeof(stored<A>)..., 1 };
		const std::size_t aligns[] = { alignof(stored<A>)..., 1 };
		plan p;

		for (std::size_t i = 0; i < num; i++) {
			p.at[i] = align_to(p.size, aligns[i]);
			p.size = p.at[i] + sizes[i];
			p.align = aligns[i] > p.align ? aligns[i] : p.align;
		}
		p.size = align_to(p.size ? p.size : 1, p.align);
		return p;
	}

public:
	static constexpr plan layout = laid_out();

	explicit args(A... a) { put(std::index_sequence_for<A...>(), a...); }
	void *data() { return bytes_; }

	/* returns the stored argument; for a T &, the object to which the reference refers */
	template <std::size_t N, class T> static std::remove_reference_t<T> &get(void *at)
	{
		if constexpr (std::is_reference_v<T>)
			return *stored_at<N, T>(at);
		else
			return stored_at<N, T>(at);
	}
	/* false for a reference that is NULL, which a boxed caller can pass */
	template <std::size_t N, class T> static bool has(void *at)
	{
		if constexpr (std::is_reference_v<T>)
			return stored_at<N, T>(at);
		else
			return true;
	}

private:
	template <std::size_t N, class T> static stored<T> &stored_at(void *at)
	{
		return *std::launder(reinterpret_cast<stored<T> *>(
			static_cast<unsigned char *>(at) + layout.at[N]));
	}
	/* copies bytes: with new, the type could have an operator new of its own */
	template <class T> static void store(unsigned char *at, std::remove_reference_t<T> &a)
	{
		if constexpr (std::is_reference_v<T>) {
			const stored<T> to = __builtin_addressof(a);

			std::memcpy(at, &to, sizeof(to));
		} else {
			std::memcpy(at, __builtin_addressof(a), sizeof(a));
		}
	}
	template <std::size_t... N> void put(std::index_sequence<N...>, A... a)
	{
		(store<A>(bytes_ + layout.at[N], a), ...);
	}

	alignas(layout.align) unsigned char bytes_[layout.size];
};

/* ---- the description of parameters ---------------------------------------------- */

template <class T> union unmade {
	char none;
	T made;
	constexpr unmade() : none() {}
	~unmade() {}
};
template <class T> struct DK__LOCAL_TO_OBJECT place {
	static unmade<T> at;
};
template <class T> unmade<T> place<T>::at;

template <class T, class = void> struct has_offset : std::false_type {};
template <class T>
struct has_offset<T, std::void_t<decltype(object<T>::offset)>> : std::true_type {};

/*
 * Offset of the dk_obj in the type of a parameter, or npos if it is unknown. An offset
 * in a specialisation of dk::object takes precedence. Without it, the offset of a base in an
 * abstract class is unknown. To find that offset, an object of the class would have to be made.
 */
inline constexpr std::size_t npos = static_cast<std::size_t>(-1);
template <class T, class = void> struct obj_offset {
	static constexpr std::size_t value = npos;
};
template <class T>
struct obj_offset<T, std::void_t<std::enable_if_t<!has_offset<T>::value && !std::is_abstract_v<T>>,
				 decltype(static_cast<const T *>(
					 std::declval<const dk_obj *>()))>> {
	static constexpr const void *whole = __builtin_addressof(place<T>::at.made);
	/* a reference: g++ would test a pointer for NULL, with some options not as a constant */
	static constexpr const void *base =
		__builtin_addressof(static_cast<const dk_obj &>(place<T>::at.made));
	static constexpr std::size_t value = whole == base ? 0 : npos;
};
/* A pointer to a member of a virtual base is not convertible. Otherwise any layout is supported. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
template <class T>
struct obj_offset<T, std::enable_if_t<!has_offset<T>::value &&
				      std::is_same_v<std::remove_cv_t<decltype(T::dk)>, dk_obj> &&
				      std::is_convertible_v<decltype(&T::dk),
							    decltype(T::dk) T::*>>> {
	static constexpr std::size_t value = offsetof(T, dk);
};
#pragma GCC diagnostic pop
template <class T>
struct obj_offset<T, std::enable_if_t<(object<T>::offset < npos)>> {
	static constexpr std::size_t value = object<T>::offset;
};

/* Describes a parameter that is a pointer or a reference to T. */
template <class T> constexpr dk_param pointer_param()
{
	using to = std::remove_cv_t<T>;
	dk_param p{};

	p.kind = DK_ARG_POINTER;
	p.size = sizeof(void *);
	if constexpr (std::is_same_v<to, dk_generator>) {
		p.kind = DK_ARG_GENERATOR;
	} else if constexpr (is_object<to>()) {
		if constexpr (obj_offset<to>::value != npos) {
			p.kind = DK_ARG_OBJECT;
			p.obj_offset = static_cast<__u32>(obj_offset<to>::value);
		}
	}
	return p;
}

template <class T> constexpr dk_arg_kind value_kind()
{
	if constexpr (std::is_same_v<T, bool>)
		return DK_ARG_BOOL;
	else if constexpr (std::is_enum_v<T>)
		return value_kind<std::underlying_type_t<T>>();
	else if constexpr (std::is_integral_v<T> && sizeof(T) <= sizeof(__u64))
		return std::is_signed_v<T> ? DK_ARG_INT : DK_ARG_UINT;
	else if constexpr (std::is_same_v<T, float>)
		return DK_ARG_FLOAT;
	else if constexpr (std::is_same_v<T, double>)
		return DK_ARG_DOUBLE;
	else if constexpr (std::is_same_v<T, const char *>)
		return DK_ARG_STRING;
	else if constexpr (std::is_same_v<T, dk_list>)
		return DK_ARG_LIST;
	else
		return DK_ARG_OTHER;
}

template <class T> constexpr dk_param param_of()
{
	if constexpr (std::is_reference_v<T>) {
		return pointer_param<std::remove_reference_t<T>>();
	} else if constexpr (std::is_pointer_v<T> && value_kind<T>() != DK_ARG_STRING) {
		return pointer_param<std::remove_pointer_t<T>>();
	} else {
		dk_param p{};

		p.kind = value_kind<T>();
		p.size = sizeof(T);
		return p;
	}
}

/* PyTorch's name for a parameter whose name is unknown, such as "_7". */
template <std::size_t N> struct DK__LOCAL_TO_OBJECT nameless {
	static constexpr char text[] = { '_', N < 10 ? '0' + N : '0' + N / 10,
					 N < 10 ? '\0' : '0' + N % 10, '\0' };
};

template <class Index> struct nameless_params;
template <std::size_t... N> struct nameless_params<std::index_sequence<N...>> {
	static constexpr const char *name(std::size_t i)
	{
		const char *const names[] = { nameless<N>::text..., "" };

		return names[i];
	}
};

constexpr bool is_word(char c)
{
	return c == '_' || c == '$' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80;	/* UTF-8 */
}

/* A part of a text, without a final NUL. */
struct part {
	const char *s;
	std::size_t n;

	constexpr bool is(const char *word) const
	{
		std::size_t i = 0;

		while (i < n && word[i] == s[i])
			i++;
		return i == n && !word[i];
	}
	constexpr part word(std::size_t from) const
	{
		std::size_t to = from;

		while (to < n && is_word(s[to]))
			to++;
		return { s + from, to - from };
	}
	constexpr bool starts(std::size_t from, const char *with) const
	{
		for (; *with; from++, with++)
			if (from >= n || s[from] != *with)
				return false;
		return true;
	}
};

/* Finds the names in a text of C parameters, such as "(struct vec *v, int n)". */
template <class Text> class DK__LOCAL_TO_OBJECT named_params {
	static constexpr std::size_t length = sizeof(Text::text);
	static constexpr part all = { Text::text, length - 1 };
	struct split {
		char text[length] = {};
		std::size_t at[length] = {};
	};
	/* True at the beginning of a declarator in parentheses: "(*", "(&" or "(class::*". */
	static constexpr bool is_pointer(std::size_t i)
	{
		if (Text::text[i] != '*' && Text::text[i] != '&')
			return false;
		do
			i--;
		while (Text::text[i] == ' ');
		return Text::text[i] == '(' || Text::text[i] == ':';
	}
	static constexpr bool is_qualifier(part word)
	{
		return word.is("const") || word.is("volatile") || word.is("__restrict");
	}
	/*
	 * the name of a parameter is its last word or, in a declarator in parentheses, the first
	 * word that is not a qualifier
	 */
	static constexpr split names()
	{
		std::size_t depth = 0, begin = 0, end = 0, used = 0, n = 0;
		bool pointer = false;
		split s;

		for (std::size_t i = 0; i + 1 < length; i++) {
			const char c = Text::text[i];

			if (depth == 2 && !pointer && is_pointer(i)) {
				pointer = true;
				end = 0;
			}
			if (pointer && end == i && !is_word(c) && is_qualifier(all.word(begin)))
				end = 0;
			if (c == '(' || c == '[' || c == '<')
				depth++;
			if (c == ')' || c == ']' || c == '>')
				depth--;
			if (is_word(c) && (pointer ? !end || end == i : depth == 1)) {
				begin = end == i && end ? begin : i;
				end = i + 1;
			}
			if (depth > 1 || (depth == 1 && c != ','))
				continue;
			s.at[n++] = used;
			for (; begin < end; begin++)
				s.text[used++] = Text::text[begin];
			used++;
			begin = end = 0;
			pointer = false;
		}
		return s;
	}
	static constexpr split made = names();

public:
	static constexpr const char *name(std::size_t i) { return made.text + made.at[i]; }
};

/* Describes the parameters. Their types must be complete before the operator is declared. */
template <class Names, class Index, class... A> struct param_tables;
template <class Names, std::size_t... N, class... A>
struct DK__LOCAL_TO_OBJECT param_tables<Names, std::index_sequence<N...>, A...> {
	static constexpr dk_param one(dk_param p, std::size_t i)
	{
		p.name = Names::name(i);
		p.offset = static_cast<__u32>(args<A...>::layout.at[i]);
		return p;
	}
	static const dk_param table[sizeof...(A) + 1];
};
template <class Names, std::size_t... N, class... A>
const dk_param param_tables<Names, std::index_sequence<N...>, A...>::table[] = {
	one(param_of<A>(), N)..., {}
};

/* ---- signatures as text ----------------------------------------------------- */

struct text {
	char *at;
	std::size_t n;

	constexpr void put(const char *s, std::size_t len)
	{
		for (std::size_t i = 0; i < len; i++, n++)
			if (at)
				at[n] = s[i];
	}
	constexpr void put(const char *s)
	{
		while (*s)
			put(s++, 1);
	}
	constexpr void put(__u64 number)
	{
		const char digit = static_cast<char>('0' + number % 10);

		if (number > 9)
			put(number / 10);
		put(&digit, 1);
	}
};

/* The name written for std, so that types of different standard libraries have different names. */
#if defined(_LIBCPP_VERSION)
inline constexpr const char *std_name = "std[libc++]";
#elif defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
inline constexpr const char *std_name = "std[libstdc++98]";
#else
inline constexpr const char *std_name = "std";
#endif

/* Writes "long unsigned int" and "unsigned long" in the same form; returns their end in @p. */
constexpr std::size_t put_integer(text &t, part p, std::size_t i)
{
	unsigned int longs = 0, is_unsigned = 0, is_signed = 0, is_short = 0, is_char = 0;
	unsigned int is_128 = 0;
	std::size_t next = i, end = i;

	for (;; next = end + (end < p.n && p.s[end] == ' ')) {
		const part w = p.word(next);

		longs += w.is("long");
		is_unsigned |= w.is("unsigned");
		is_signed |= w.is("signed");
		is_short |= w.is("short");
		is_char |= w.is("char");
		is_128 |= w.is("__int128");
		if (!w.n || !(w.is("long") || w.is("unsigned") || w.is("signed") ||
			      w.is("short") || w.is("char") || w.is("int") || w.is("__int128")))
			break;
		end = next + w.n;
	}
	if (end == i)
		return i;
	t.put(is_unsigned ? "unsigned " : is_signed && is_char ? "signed " : "");
	t.put(is_128 ? "__int128" : is_char ? "char" : is_short ? "short" :
	      longs > 1 ? "long long" : longs ? "long" : "int");
	return end;
}

/*
 * Writes a name as the compiler spells it, but in one form where compilers differ: inline
 * namespaces of the standard library, white space, integers and the anonymous namespace.
 */
constexpr void put_name(text &t, part p)
{
	std::size_t i = 0;

	while (i < p.n) {
		const part w = p.word(i);
		const std::size_t after = i + w.n;

		if (p.starts(i, "(anonymous namespace)")) {
			t.put("{anonymous}");
			i += 21;
		} else if (!w.n) {
			if (p.s[i] != ' ')
				t.put(p.s + i, 1);
			i++;
		} else if ((w.is("__cxx11") || w.is("__1") || w.is("_V2")) &&
			   p.starts(after, "::")) {
			i = after + 2;
		} else if (w.is("std") && p.starts(after, "::")) {
			t.put(std_name);
			i = after;
		} else {
			i = put_integer(t, p, i);
			if (i != after - w.n)
				continue;
			t.put(w.s, w.n);
			i = after;
		}
	}
}

/* Returns the text between "X = " and "]" in __PRETTY_FUNCTION__. */
constexpr part after_equals(const char *s)
{
	std::size_t n = 0;

	while (s[0] != 'X' || s[1] != ' ' || s[2] != '=')
		s++;
	s += 4;
	while (s[n])
		n++;
	return { s, n - 1 };
}

#define DK__PRETTY(name, ...)						\
	template <__VA_ARGS__ X> constexpr part name()			\
	{								\
		return after_equals(__PRETTY_FUNCTION__);		\
	}
DK__PRETTY(pretty, class)
DK__PRETTY(pretty_value, auto)
DK__PRETTY(pretty_of_types, template <class...> class)
DK__PRETTY(pretty_of_values, template <auto...> class)
DK__PRETTY(pretty_of_type_and_values, template <class, auto...> class)
DK__PRETTY(pretty_of_value_and_types, template <auto, class...> class)
DK__PRETTY(pretty_of_type_value_types, template <class, auto, class...> class)
#undef DK__PRETTY

template <class T> constexpr void spell(text &t);

/* Write a parameter of a function, or an argument of a template. */
template <class T> constexpr void put_one(text &t)
{
	spell<T>(t);
	t.put(",");
}
template <auto N> constexpr void put_one(text &t)
{
	using T = std::remove_const_t<decltype(N)>;

	/* a number alone would not show the type of a parameter "auto" */
	t.put("(");
	spell<T>(t);
	t.put(")");
	if constexpr ((std::is_integral_v<T> || std::is_enum_v<T>) && sizeof(T) <= sizeof(__u64))
		t.put(static_cast<__u64>(N));
	else
		put_name(t, pretty_value<N>());
	t.put(",");
}

/*
 * Writes a type that is not a pointer or reference, and has no const or volatile. Only names are
 * taken from the compiler: in the text of a template's specialisation, g++ shows or omits default
 * arguments as the file's first mention of the specialisation does, and compilers differ. The
 * specialisations of this template are tried in the order of @rank.
 */
template <class T, int rank = 0> struct spelling : spelling<T, rank + 1> {};
template <class T> struct spelling<T, 5> {
	static constexpr void put(text &t) { put_name(t, pretty<T>()); }
};
template <class Put> constexpr void put_specialisation(text &t, part name, Put put_arguments)
{
	put_name(t, name);
	t.put("<");
	put_arguments();
	t.put(">");
}
template <template <class...> class Of, class... A> struct spelling<Of<A...>, 0> {
	static constexpr void put(text &t)
	{
		put_specialisation(t, pretty_of_types<Of>(), [&] { (put_one<A>(t), ...); });
	}
};
template <template <auto...> class Of, auto... N> struct spelling<Of<N...>, 1> {
	static constexpr void put(text &t)
	{
		put_specialisation(t, pretty_of_values<Of>(), [&] { (put_one<N>(t), ...); });
	}
};
template <template <class, auto...> class Of, class A, auto... N>
struct spelling<Of<A, N...>, 2> {
	static constexpr void put(text &t)
	{
		put_specialisation(t, pretty_of_type_and_values<Of>(),
				   [&] { put_one<A>(t); (put_one<N>(t), ...); });
	}
};
template <template <auto, class...> class Of, auto N, class... A>
struct spelling<Of<N, A...>, 3> {
	static constexpr void put(text &t)
	{
		put_specialisation(t, pretty_of_value_and_types<Of>(),
				   [&] { put_one<N>(t); (put_one<A>(t), ...); });
	}
};
template <template <class, auto, class...> class Of, class A, auto N, class... B>
struct spelling<Of<A, N, B...>, 4> {
	static constexpr void put(text &t)
	{
		put_specialisation(t, pretty_of_type_value_types<Of>(),
				   [&] { put_one<A>(t); put_one<N>(t); (put_one<B>(t), ...); });
	}
};
template <class R, class... A> struct spelling<R(A...), 0> {
	static constexpr void put(text &t)
	{
		spell<R>(t);
		t.put("(");
		(put_one<A>(t), ...);
		t.put(")");
	}
};
template <class R, class... A> struct spelling<R(A...) noexcept, 0> {
	static constexpr void put(text &t)
	{
		spelling<R(A...)>::put(t);
		t.put("noexcept");
	}
};
template <class T, std::size_t N> struct spelling<T[N], 0> {
	static constexpr void put(text &t)
	{
		spell<T>(t);
		t.put("[");
		t.put(__u64{ N });
		t.put("]");
	}
};
template <class T, class C> struct spelling<T C::*, 0> {
	static constexpr void put(text &t)
	{
		spell<T>(t);
		t.put(" ");
		spell<C>(t);
		t.put("::*");
	}
};

template <class T> constexpr void spell(text &t)
{
	if constexpr (std::is_reference_v<T>) {
		spell<std::remove_reference_t<T>>(t);
		t.put(std::is_lvalue_reference_v<T> ? "&" : "&&");
	} else if constexpr (std::is_const_v<T>) {
		t.put("const ");
		spell<std::remove_const_t<T>>(t);
	} else if constexpr (std::is_volatile_v<T>) {
		t.put("volatile ");
		spell<std::remove_volatile_t<T>>(t);
	} else if constexpr (std::is_pointer_v<T>) {
		t.put("(");
		spell<std::remove_pointer_t<T>>(t);
		t.put(")*");
	} else if constexpr (type_name<T>::text != nullptr) {
		t.put(type_name<T>::text);
	} else {
		spelling<T>::put(t);
	}
}

template <class... A> struct DK__LOCAL_TO_OBJECT signature {
	static constexpr std::size_t spelled(char *at)
	{
		text t{ at, 0 };

		t.put("C++(");
		(put_one<A>(t), ...);
		t.put(")");
		return t.n;
	}
	static constexpr auto made()
	{
		std::array<char, spelled(nullptr) + 1> a{};

		spelled(a.data());
		return a;
	}
	static constexpr auto chars = made();
};

/* ---- functions --------------------------------------------------------------- */

/*
 * The name of a function, without namespaces and template arguments. It is empty for the
 * function of a lambda, which gcc names _FUN and clang __invoke.
 */
template <auto f> struct DK__LOCAL_TO_OBJECT function_name {
	static constexpr std::size_t cut(char *at)
	{
		const part all = pretty_value<f>();
		std::size_t begin = 0, end = 0, depth = 0;
		text t{ at, 0 };

		for (std::size_t i = 0; i < all.n; i++) {
			if (all.s[i] == '<')
				depth++;
			else if (depth)
				depth -= all.s[i] == '>';
			else if (is_word(all.s[i]))
				end = i + 1;
			else
				begin = end = i + 1;
		}
		const part name = { all.s + begin, end - begin };

		if (!name.is("_FUN") && !name.is("__invoke"))
			t.put(name.s, name.n);
		return t.n;
	}
	static constexpr auto made()
	{
		std::array<char, cut(nullptr) + 1> a{};

		cut(a.data());
		return a;
	}
	static constexpr auto chars = made();
	static constexpr const char *label() { return chars[0] ? chars.data() : nullptr; }
};

/* The parameters of a function, or of an object with one operator(), as a type. */
template <class... P> struct types {};
template <class F, class = void> struct params_of {
	using type = void;			/* operator() is a template or overloaded */
};
template <class R, class... P> struct params_of<R (*)(P...)> {
	using type = types<P...>;
};
template <class R, class... P> struct params_of<R (*)(P...) noexcept> : params_of<R (*)(P...)> {};
template <class F> struct call_operator {
	using type = void;			/* for example with the qualifier && */
};
#define DK__CALL_OPERATOR(how)						\
	template <class C, class R, class... P>				\
	struct call_operator<R (C::*)(P...) how> : params_of<R (*)(P...)> {};
DK__CALL_OPERATOR()
DK__CALL_OPERATOR(const)
DK__CALL_OPERATOR(noexcept)
DK__CALL_OPERATOR(const noexcept)
DK__CALL_OPERATOR(&)
DK__CALL_OPERATOR(const &)
DK__CALL_OPERATOR(& noexcept)
DK__CALL_OPERATOR(const & noexcept)
#undef DK__CALL_OPERATOR
template <class F>
struct params_of<F, std::void_t<decltype(&F::operator())>>
	: call_operator<decltype(&F::operator())> {};

/*
 * takes<P, A>: true if a parameter of type A can be passed as a P, and A and P are the same type.
 * References, const, and const of a pointer's target are ignored in this comparison. But if A is a
 * reference that is not const, P must be a reference: a result in a copy would be lost.
 */
template <class T> struct bare {
	using type = std::remove_cv_t<std::remove_reference_t<T>>;
};
template <class T> using bare_t = typename bare<T>::type;
template <class P, class A>
inline constexpr bool takes =
	std::is_convertible_v<A, P> && std::is_convertible_v<A &, P> &&
	(std::is_reference_v<P> || !std::is_lvalue_reference_v<A> ||
	 std::is_const_v<std::remove_reference_t<A>>) &&
	(std::is_same_v<bare_t<P>, bare_t<A>> ||
	 (std::is_pointer_v<bare_t<P>> && std::is_pointer_v<bare_t<A>> &&
	  std::is_same_v<bare_t<std::remove_pointer_t<bare_t<P>>>,
			 bare_t<std::remove_pointer_t<bare_t<A>>>>));

template <class P, class A> struct all_take : std::false_type {};
template <class... A> struct all_take<void, types<A...>> : std::true_type {};
template <class... P, class... A>
struct all_take<types<P...>, types<A...>> : std::bool_constant<(takes<P, A> && ...)> {};
template <bool same_number, class P, class A> struct all_take_n : std::false_type {};
template <class P, class A> struct all_take_n<true, P, A> : all_take<P, A> {};

template <class P> inline constexpr std::size_t count_of = 0;
template <class... P> inline constexpr std::size_t count_of<types<P...>> = sizeof...(P);

/* Returns whether F can be called with exactly these arguments and returns an int. */
template <class F, class... A> constexpr bool is_for()
{
	using params = typename params_of<F>::type;

	/*
	 * F is called with names of parameters, which are lvalues. std::invoke() accepts a pointer
	 * to a member, but f(a...) does not
	 */
	if constexpr (!std::is_invocable_v<F &, A...> || !std::is_invocable_v<F &, A &...> ||
		      std::is_member_pointer_v<F>)
		return false;
	else if constexpr (!std::is_same_v<std::invoke_result_t<F &, A &...>, int>)
		return false;
	else if constexpr (std::is_void_v<params>)
		return true;
	else
		return all_take_n<count_of<params> == sizeof...(A), params, types<A...>>::value;
}

/* ---- registrations ---------------------------------------------------------- */

/* A provider with one registration. Derived types add the function object or declaration. */
struct entry {
	dk_provider prov = {};
	dk_impl impl = {};
	/* a longer text is cut off */
	char label[DK_NAME_MAX + 1] = {};
	void (*destroy)(entry *) = [](entry *e) { delete e; };
};

template <class F> struct entry_of : entry {
	F f;

	explicit entry_of(F &&from) : f(std::move(from))
	{
		destroy = [](entry *e) { delete static_cast<entry_of *>(e); };
	}
	static F &of(const dk_call *c)
	{
		return static_cast<entry_of *>(static_cast<entry *>(dk_call_priv(c)))->f;
	}
};

/*
 * A definition with a declaration of its own, so that options such as the schema can differ.
 * The default debug text of the definition is the label.
 */
struct definition : entry {
	dk_op_decl decl;

	explicit definition(const dk_op_decl &from) : decl(from)
	{
		destroy = [](entry *e) { delete static_cast<definition *>(e); };
	}
};

/*
 * Makes a provider. Its owner is the shared object that contains the caller; see
 * DK__LOCAL_TO_OBJECT.
 */
DK__LOCAL_TO_OBJECT inline dk_provider named(const char *name, void *priv, dk_registry *reg)
{
	dk_provider p = {};

	p.size = sizeof(p);
	p.abi = DK_ABI_VERSION;
	p.layout = DK_LAYOUT_NAME;
	p.name = name;
	p.registry = reg;
	p.owner = &__dso_handle;
	p.priv = priv;
	return p;
}

inline result refused(dk_reason reason, int error, const char *name = "")
{
	result r;

	r.error = error;
	r.why.reason = reason;
	r.why.text = dk_reason_text(reason);
	std::snprintf(r.why.name, sizeof(r.why.name), "%s", name);
	return r;
}

/*
 * The registry of a request. nullptr and no value mean the default one, but a pointer that is NULL
 * is refused: it can be get() of a dk::registry that was not allocated, was freed, or was moved.
 */
class registry_option {
public:
	constexpr registry_option(std::nullptr_t = nullptr) {}
	constexpr registry_option(dk_registry *reg) : reg_(reg), set_(true) {}
	constexpr dk_registry *get() const { return reg_; }
	constexpr bool is_set() const { return set_; }
	constexpr bool is_missing() const { return set_ && !reg_; }
	result check() const
	{
		return is_missing() ? refused(DK_WHY_NULL_ARGUMENT, -EINVAL, "registry") : result();
	}

private:
	dk_registry *reg_ = nullptr;
	bool set_ = false;
};

/* Returns an error for the first option that is set but not applicable, otherwise success. */
inline result inapplicable(unsigned int flags, dk_backend backend, registry_option registry)
{
	/* the other flags state the kind of function, which the callers derive from its type */
	if (flags & ~static_cast<unsigned int>(DK_IMPL_F_ATOMIC))
		return refused(DK_WHY_OPTION, -EINVAL, "flags");
	if (backend)
		return refused(DK_WHY_OPTION, -EINVAL, "backend");
	if (registry.is_set())
		return refused(DK_WHY_OPTION, -EINVAL, "registry");
	return {};
}

/*
 * The place of a registration in the source. It is the label of a function without a name, and
 * the debug text of a definition.
 */
struct position {
	const char *file;
	int line;

	static constexpr position here(const char *file = __builtin_FILE(),
				       int line = __builtin_LINE())
	{
		return { file, line };
	}
	void print(char *buf, std::size_t size) const
	{
		const char *slash = std::strrchr(file, '/');

		std::snprintf(buf, size, "%s:%d", slash ? slash + 1 : file, line);
	}
};

} /* namespace detail */

/* Options of a function's registration. All have defaults. */
struct impl_options {
	/*
	 * human-readable label, which is copied except by make_impl(); default: the name of the
	 * function, or FILE:LINE without a name
	 */
	const char *label = nullptr;
	/* the arguments and returns, such as "(Tensor _0) -> Tensor _0"; must stay valid */
	const char *schema = nullptr;
	/* DK_IMPL_F_ATOMIC, or 0 */
	unsigned int flags = 0;
	/*
	 * the backend whose runtime key a building block stands for; not for other keys, nor for
	 * fallbacks, libraries or make_impl()
	 */
	dk_backend backend = DK_BACKEND_INVALID;
	/* not for make_impl(), and not for libraries, which have a registry of their own */
	detail::registry_option registry = {};
};

/* Options of an operator's definition. All have defaults. */
struct define_options {
	/* the schema, such as "my::add(Tensor a, Tensor b) -> Tensor"; must stay valid */
	const char *schema = nullptr;
	/* of enum dk_op_flags */
	unsigned int flags = 0;
	/* not for libraries, which have a registry of their own */
	detail::registry_option registry = {};
	dk_alias_analysis alias_analysis = DK_ALIAS_DEFAULT;
	/*
	 * human-readable place in the source, such as DK_HERE; must stay valid. By default
	 * FILE:LINE of the definition or, in a library, of the library
	 */
	const char *debug = nullptr;
};

namespace detail {

inline dk_impl element(const dk_op_decl *op, dk_fn_t fn, dk_key key, const impl_options &how,
		       unsigned int flags)
{
	dk_impl i = {};

	i.op = op;
	i.fn = fn;
	i.label = how.label;
	i.key = key;
	i.flags = static_cast<__u16>(flags | how.flags);
	i.size = sizeof(i);
	i.schema = how.schema;
	return i;
}

inline void fill(entry &e, const dk_op_decl *op, dk_key key, const impl_options &how,
		 unsigned int flags, position at)
{
	if (how.label)
		std::snprintf(e.label, sizeof(e.label), "%s", how.label);
	else
		at.print(e.label, sizeof(e.label));
	e.impl = element(op, e.impl.fn, key, how, flags);
	e.impl.label = e.label;
}

inline void fill(dk_op_decl &decl, const define_options &how)
{
	decl.schema = how.schema;
	decl.debug = how.debug;
	decl.alias_analysis = how.alias_analysis;
}

template <auto f> impl_options with_name(impl_options how)
{
	if (!how.label)
		how.label = function_name<f>::label();
	return how;
}

/* True for a NULL pointer to a function and an empty std::function. Registering these fails. */
template <class F> using null_comparison = decltype(std::declval<const F &>() == nullptr);
template <class F> bool is_null(const F &f)
{
	(void)f;
	if constexpr (std::is_constructible_v<F, std::nullptr_t> && has<null_comparison, F>)
		return f == nullptr;
	else
		return false;
}

/* Returns a boxed function that is known at compile time. */
template <auto f> dk_fn_t boxed_fn()
{
	constexpr bool fits = std::is_convertible_v<decltype(f), dk_boxed_fn_t>;

	static_assert(fits, "a boxed function takes (dk_call *, void *args) and returns int");
	if constexpr (fits) {
		dk_boxed_fn_t fn = f;

		return reinterpret_cast<dk_fn_t>(fn);
	} else {
		return nullptr;
	}
}

/* Returns a boxed function that calls a function object, which may have state. */
template <class F> dk_fn_t boxed_by(const F &f)
{
	constexpr bool fits = is_for<F, dk_call *, void *>();

	static_assert(fits, "a boxed function takes (dk_call *, void *args) and returns int");
	if (detail::is_null(f))
		return nullptr;
	if constexpr (fits) {
		dk_boxed_fn_t fn = [](dk_call *c, void *args) -> int {
			return entry_of<F>::of(c)(c, args);
		};
		return reinterpret_cast<dk_fn_t>(fn);
	} else {
		return nullptr;
	}
}

} /* namespace detail */

/*
 * A registration. The destructor unregisters it, waits for its running calls and
 * destroys the state of its function. Converts to false if registering failed;
 * status() returns the reason. After release() it is false, too, and so are a
 * library and a listener; status() stays what registering returned.
 */
class [[nodiscard]] registration {
public:
	registration() = default;
	registration(registration &&other) noexcept
		: entry_(std::exchange(other.entry_, nullptr)), status_(other.status_) {}
	registration &operator=(registration &&other) noexcept
	{
		if (this != &other) {
			/* ends last: it destroys captures, which may own *this */
			const registration old(std::move(*this));

			entry_ = std::exchange(other.entry_, nullptr);
			status_ = other.status_;
		}
		return *this;
	}
	~registration() { end(); }

	explicit operator bool() const { return entry_; }
	const result &status() const { return status_; }

	/*
	 * Unregisters before the end of the scope, like dk_provider_unregister(). If this
	 * fails, for example from inside the function itself, the function stays registered.
	 * If unregistering fails in the destructor, the function stays registered forever,
	 * and the failure is not reported.
	 */
	int release()
	{
		int err = entry_ ? dk_provider_unregister(&entry_->prov) : 0;

		if (!err)
			drop();
		return err;
	}

	/* Used by op and fallback(). @enter registers the content of the entry. */
	template <class Enter>
	registration(detail::entry *e, const char *name, detail::registry_option reg, Enter enter)
		: entry_(e)
	{
		if (!entry_) {
			status_ = detail::refused(DK_WHY_NO_MEMORY, -ENOMEM);
			return;
		}
		e->prov = detail::named(name, e, reg.get());
		status_ = reg.check();
		if (status_)
			status_.error = dk_provider_register(&e->prov, &status_.why);
		if (status_) {
			status_.error = enter(*e, status_.why);
			if (!status_ && dk_provider_unregister(&e->prov))
				entry_ = nullptr;
		}
		if (!status_)
			drop();
	}

private:
	/* the captures may own *this, so this does not use it after they are destroyed */
	void drop()
	{
		if (detail::entry *e = std::exchange(entry_, nullptr))
			e->destroy(e);
	}
	void end()
	{
		if (release())
			entry_ = nullptr;
	}

	detail::entry *entry_ = nullptr;
	result status_;
};

namespace detail {

inline registration add_fallback(entry *e, dk_key key, const impl_options &how,
				 unsigned int flags, position at)
{
	if (e)
		fill(*e, nullptr, key, how, flags, at);
	return { e, "fallback", how.registry, [&how](entry &added, dk_diag &why) {
		const result r = inapplicable(how.flags, how.backend, nullptr);

		if (r)
			return dk_fallback_register(&added.prov, &added.impl, &why);
		why = r.why;
		return r.error;
	} };
}

} /* namespace detail */

/* Registers a function int(dk_call *, void *args) as the backend fallback of a key. */
template <class F>
registration fallback(dk_key key, F f, const impl_options &how = {},
		      detail::position at = detail::position::here())
{
	auto *e = new (std::nothrow) detail::entry_of<F>(std::move(f));

	if (e)
		e->impl.fn = detail::boxed_by(e->f);
	return detail::add_fallback(e, key, how, DK_IMPL_F_BOXED, at);
}
template <auto f>
registration fallback(dk_key key, const impl_options &how = {},
		      detail::position at = detail::position::here())
{
	return fallback(key, f, detail::with_name<f>(how), at);
}

/* Registers a fallthrough as the backend fallback of a key. */
inline registration fallthrough(dk_key key, impl_options how = {})
{
	how.label = how.label ? how.label : "fallthrough";
	return detail::add_fallback(new (std::nothrow) detail::entry, key, how,
				    DK_IMPL_F_FALLTHROUGH | DK_IMPL_F_ATOMIC, {});
}

/* ---- registries and listeners -------------------------------------------------- */

/* A registry; see dk_registry_alloc(). Converts to false if it was not allocated. */
class registry {
public:
	[[nodiscard]] explicit registry(unsigned int flags = DK_REGISTRY_BUILTINS,
					const dk_layout *layout = nullptr)
		: reg_(dk_registry_alloc(layout, flags, &status_.why))
	{
		if (!reg_)
			status_.error = -error_of(status_.why.reason);
	}
	registry(registry &&other) noexcept
		: status_(other.status_), reg_(std::exchange(other.reg_, nullptr)) {}
	registry &operator=(registry &&other) noexcept
	{
		if (this != &other) {
			(void)free();
			status_ = other.status_;
			reg_ = std::exchange(other.reg_, nullptr);
		}
		return *this;
	}
	/* if free() fails, the registry is never freed */
	~registry() { (void)free(); }

	explicit operator bool() const { return reg_; }
	const result &status() const { return status_; }
	/* NULL if the registry is false. For C functions, NULL is the default registry. */
	dk_registry *get() const { return reg_; }
	/* like dk_registry_free(), which fails while the registry is in use */
	result free()
	{
		result r;

		r.error = dk_registry_free(reg_, &r.why);
		if (r)
			reg_ = nullptr;
		return r;
	}

private:
	static int error_of(unsigned int reason)
	{
		return reason == DK_WHY_NO_TABLE ? EOPNOTSUPP :
		       reason == DK_WHY_BAD_FLAGS ? EINVAL : ENOMEM;
	}

	result status_;
	dk_registry *reg_;
};

/*
 * Calls a function void(const dk_event &) for each definition that is added or removed and
 * each function that is added. The listener lasts until the end of its scope. See
 * dk_listener_register().
 * An exception that leaves the function ends the program.
 */
template <class F> class listener {
	static_assert(std::is_invocable_v<F &, const dk_event &>,
		      "a dk::listener calls its function with a const dk_event &");

public:
	[[nodiscard]] explicit listener(F f, detail::registry_option reg = {})
		: state_(new (std::nothrow) state{ {}, std::move(f) })
	{
		if (!state_) {
			status_ = detail::refused(DK_WHY_NO_MEMORY, -ENOMEM);
			return;
		}
		state_->entry.size = sizeof(state_->entry);
		state_->entry.registry = reg.get();
		state_->entry.priv = state_;
		if (!detail::is_null(state_->f))
			state_->entry.notify = [](dk_listener *self,
						  const dk_event *event) noexcept {
				static_cast<state *>(self->priv)->f(*event);
			};
		status_ = reg.check();
		if (status_)
			status_.error = dk_listener_register(&state_->entry, &status_.why);
	}
	listener(const listener &) = delete;
	listener &operator=(const listener &) = delete;
	/* if release() fails, for example inside the function, the listener stays registered */
	~listener() { release(); }

	explicit operator bool() const { return state_ && !status_.error; }
	const result &status() const { return status_; }
	/* like dk_listener_unregister(); destroys the function */
	int release()
	{
		int err = state_ ? dk_listener_unregister(&state_->entry) : 0;

		if (!err)
			delete std::exchange(state_, nullptr);
		return err;
	}

private:
	struct state {
		dk_listener entry;
		F f;
	};

	state *state_;
	result status_;
};

/* A reference to an operator. Converts to false if there is no such operator. */
class handle {
public:
	[[nodiscard]] explicit handle(const char *name, detail::registry_option reg = {})
		: op_(reg.is_missing() ? nullptr : dk_op_get(reg.get(), name)) {}
	handle(handle &&other) noexcept : op_(std::exchange(other.op_, nullptr)) {}
	handle &operator=(handle &&other) noexcept
	{
		if (this != &other) {
			dk_op_put(op_);
			op_ = std::exchange(other.op_, nullptr);
		}
		return *this;
	}
	~handle() { dk_op_put(op_); }
	explicit operator bool() const { return op_; }
	dk_op *get() const { return op_; }

private:
	dk_op *op_;
};

/* The route of a call. Converts to true if a function serves the call; otherwise error is set. */
struct route : dk_route {
	int error = 0;

	route() : dk_route{}
	{
		size = sizeof(dk_route);
		entry.size = sizeof(entry);
	}
	explicit operator bool() const { return !error; }
};

/* ---- operators ---------------------------------------------------------------- */

/*
 * An operator by its function type: dk::op<int(tensor &, const tensor &)>. The op and its
 * name must stay valid as long as anything is registered for it, so the op should be static,
 * and its name a literal.
 *
 * Its signature is a text made from the types. To share an operator with C, the text
 * must equal that of the DK_OP() line: use DK_CXX_OP(), which makes the type and the
 * text from the same parameters.
 */
template <class F, class On = every> class op {
	static_assert(detail::never<F>, "dk::op needs a function type that returns int and is not noexcept");

public:
	constexpr explicit op(const char *) {}
};

template <class... A, class On> class op<int(A...), On> {
	static_assert((!std::is_rvalue_reference_v<A> && ...),
		      "a redispatch passes the argument again: use a value or &, not &&");
	static_assert(((std::is_trivially_copyable_v<detail::stored<A>> &&
			std::is_copy_constructible_v<detail::stored<A>>) && ...),
		      "C code may copy an argument passed by value: use a pointer or &");

	using pack = detail::args<A...>;
	using all = std::index_sequence_for<A...>;
	template <std::size_t... N> static constexpr bool knows(std::index_sequence<N...>)
	{
		return ((!On::has(N) || detail::is_known<detail::bare_t<A>>()) && ...);
	}
	static_assert(knows(all()),
		      "a class that a parameter points to is only declared here: include its "
		      "definition or, if calls do not dispatch on it, specialise dk::object for it "
		      "with is = false");
	template <class T> using visit = detail::visit<std::remove_cv_t<std::remove_reference_t<T>>>;

public:
	using function = int (*)(dk_call *, A...);
	/* the description of the parameters; Names::name(i) returns the name of parameter i */
	template <class Names> using described = detail::param_tables<Names, all, A...>;

	constexpr explicit op(const char *name,
			      const char *sig = detail::signature<A...>::chars.data(),
			      const dk_param *params =
				      described<detail::nameless_params<all>>::table)
		: decl_(declared(name, sig, params))
	{
		decl_.op = &dk__unbound;
	}
	op(const op &) = delete;
	op &operator=(const op &) = delete;

	dk_op_decl *decl() const { return &decl_; }
	const char *name() const { return decl_.name; }

	/* Calls the operator with the thread's local state; in() uses @l instead. */
	DK__LOCAL_TO_OBJECT int operator()(A... a) const { return in(dk::local(), a...); }
	DK__LOCAL_TO_OBJECT int in(const dk_local &l, A... a) const
	{
		return call<0>(dk__load(decl_.op), request(nullptr, l), a...);
	}
	/* Calls the operator of a handle. */
	DK__LOCAL_TO_OBJECT int at(const handle &h, const dk_local &l, A... a) const
	{
		return h ? call<DK__HOW_TYPED>(h.get(), request(h.get(), l), a...) : -ENOENT;
	}
	/*
	 * Redispatches by a keyset, from outside a call. The keysets of the objects and the
	 * local state are ignored. See dk_call_enter_keyset().
	 */
	DK__LOCAL_TO_OBJECT int by_keyset(keyset ks, A... a) const
	{
		dk__request rq = request_by(ks, nullptr, dk::local());

		return slow(rq, a...);
	}
	DK__LOCAL_TO_OBJECT
	int by_keyset_at(const handle &h, const dk_local &l, keyset ks, A... a) const
	{
		dk__request rq = request_by(ks, h.get(), l);

		return h ? slow(rq, a...) : -ENOENT;
	}
	/*
	 * Redispatches by a keyset, from inside a function. below() redispatches to the keys
	 * below the one that the call was routed by.
	 */
	DK__LOCAL_TO_OBJECT int redispatch(dk_call *from, keyset ks, A... a) const
	{
		const bool may = dk__may_redispatch(from, &decl_);
		dk__found found;
		dk_call c;
		dk__slot slot;

		/*
		 * pass no object: collecting objects may throw, and dk__begin() would not
		 * release the slot. find() collects the objects and looks up the device
		 */
		if (__builtin_expect(!may || !dk__begin(&c, &slot, &found, from->op, &decl_,
							0, from->local, ks.bits, 0, nullptr), 0)) {
			dk__request rq{};

			rq.decl = &decl_;
			rq.from = from;
			rq.ks = ks;
			return may ? find(c, slot, found, rq, a...) : slow(rq, a...);
		}
		end at_end{ &c, slot };
		return reinterpret_cast<function>(found.entry->fn)(&c, a...);
	}
	DK__LOCAL_TO_OBJECT int below(dk_call *from, A... a) const
	{
		return redispatch(from, dk_call_below(from), a...);
	}

	/* Returns the route of a call, or its error, without making the call; see dk_op_route(). */
	dk::route route(A... a) const { return route_at(handle(decl_.name), dk::local(), a...); }
	DK__LOCAL_TO_OBJECT
	dk::route route_at(const handle &h, const dk_local &l, A... a) const
	{
		detail::objects<capacity(all())> objs;
		dk::route r;

		collect(objs, true, all(), a...);
		r.error = !h ? -ENOENT : objs.failed() ? -ENOMEM : dk_op_takes(h.get(), &decl_);
		if (r)
			r.error = dk_op_route(h.get(), dk_local_included(&l),
					      dk_local_excluded(&l), objs.data(),
					      objs.size(), &r);
		return r;
	}

	registration define(const define_options &how = {},
			    detail::position at = detail::position::here()) const
	{
		auto *e = new (std::nothrow) detail::definition(unbound());

		if (e) {
			at.print(e->label, sizeof(e->label));
			detail::fill(e->decl, how);
			e->decl.debug = how.debug ? how.debug : e->label;
		}
		return { e, decl_.name, how.registry, [&](detail::entry &added, dk_diag &why) {
			return dk_op_define(&added.prov,
					    &static_cast<detail::definition &>(added).decl,
					    how.flags, &why);
		} };
	}

	/*
	 * Registers a function object that takes the parameters of the operator, with or
	 * without a dk_call * before them, and returns int. The object lives until the
	 * registration is released. impl<f>(key) registers a named function, whose name is
	 * the default label.
	 */
	template <class F>
	registration impl(dk_key key, F f, const impl_options &how = {},
			  detail::position at = detail::position::here()) const
	{
		auto *e = new (std::nothrow) detail::entry_of<F>(std::move(f));

		if (e)
			e->impl.fn = reinterpret_cast<dk_fn_t>(of<F>(e->f));
		return add(e, key, how, 0, at);
	}
	template <auto f>
	registration impl(dk_key key, const impl_options &how = {},
			  detail::position at = detail::position::here()) const
	{
		return impl(key, f, detail::with_name<f>(how), at);
	}
	/* Registers a function int(dk_call *, void *args) for this operator. */
	template <class F>
	registration boxed(dk_key key, F f, const impl_options &how = {},
			   detail::position at = detail::position::here()) const
	{
		auto *e = new (std::nothrow) detail::entry_of<F>(std::move(f));

		if (e)
			e->impl.fn = detail::boxed_by(e->f);
		return add(e, key, how, DK_IMPL_F_BOXED, at);
	}
	template <auto f>
	registration boxed(dk_key key, const impl_options &how = {},
			   detail::position at = detail::position::here()) const
	{
		return boxed(key, f, detail::with_name<f>(how), at);
	}
	registration fallthrough(dk_key key, impl_options how = {}) const
	{
		how.label = how.label ? how.label : "fallthrough";
		return add(new (std::nothrow) detail::entry, key, how,
			   DK_IMPL_F_FALLTHROUGH | DK_IMPL_F_ATOMIC, {});
	}

	/*
	 * Makes an element of an array of functions, for example for
	 * dk_device_register(). In C, DK_IMPL() does the same. The array, and the texts
	 * of the options, must stay valid until the array is unregistered. A function object
	 * must not have captures, and its parameters must have the operator's types. A function
	 * without a name has no default label. If the options have a backend, a registry or
	 * flags other than DK_IMPL_F_ATOMIC, registering the array fails with -EINVAL.
	 */
	template <class F> dk_impl make_impl(dk_key key, F f, const impl_options &how = {}) const
	{
		constexpr bool with_call = std::is_convertible_v<F, function>;
		constexpr bool fits = with_call || std::is_convertible_v<F, plain>;
		dk_fn_t fn = nullptr;

		static_assert(fits, "the function must have no captures, return int, and take exactly "
				    "the operator's parameters, with or without a dk_call *");
		if constexpr (with_call)
			fn = reinterpret_cast<dk_fn_t>(static_cast<function>(f));
		else if constexpr (fits)
			fn = reinterpret_cast<dk_fn_t>(static_cast<plain>(f));
		dk_impl i = detail::element(&decl_, fn, key, how, with_call ? 0 : DK_IMPL_F_PLAIN);
		if (!detail::inapplicable(how.flags, how.backend, how.registry))
			i.flags = 0xffff;	/* unknown flags, which the library refuses */
		return i;
	}
	template <auto f> dk_impl make_impl(dk_key key, const impl_options &how = {}) const
	{
		using F = decltype(f);
		constexpr bool exact = std::is_convertible_v<F, function> ||
				       std::is_convertible_v<F, plain>;
		const impl_options named = detail::with_name<f>(how);

		if constexpr (!exact && detail::is_for<F, dk_call *, A...>())
			return make_impl(key, [](dk_call *c, A... a) { return f(c, a...); }, named);
		else if constexpr (!exact && detail::is_for<F, A...>())
			return make_impl(key, [](A... a) { return f(a...); }, named);
		else
			return make_impl(key, f, named);
	}

private:
	friend class library;

	static constexpr dk_op_decl declared(const char *name, const char *sig,
					     const dk_param *params)
	{
		dk_op_decl decl{};

		decl.size = sizeof(decl);
		decl.call_abi = DK_ABI_VERSION;
		decl.name = name;
		decl.sig = sig;
		decl.unbox = unbox;
		decl.unbox_plain = unbox_plain;
		decl.pack = &packing;
		decl.extract = extract;
		decl.num_params = sizeof...(A);
		decl.param = params;
		decl.args_size = pack::layout.size;
		return decl;
	}
	/* The declaration without the members that calls write, perhaps in another thread now. */
	dk_op_decl unbound() const { return declared(decl_.name, decl_.sig, decl_.param); }

	template <std::size_t... N> static constexpr std::size_t capacity(std::index_sequence<N...>)
	{
		return (1 + ... + (!visit<A>::is || !On::has(N) ? 0 : visit<A>::many ? 16 : 1));
	}

	/* Passes the objects of a parameter to @sink. Boxed calls ignore generators. */
	template <class T, std::size_t N, class S>
	static void add_objects(const T &a, bool generators, S &sink)
	{
		if constexpr (visit<T>::is && On::has(N))
			if (generators || !detail::is_generator<std::remove_cv_t<T>>)
				visit<T>::each(a, sink);
	}
	template <class S, std::size_t... N>
	static void collect(S &sink, bool generators, std::index_sequence<N...>, const A &...a)
	{
		(void)generators;
		(add_objects<std::remove_reference_t<A>, N>(a, generators, sink), ...);
	}

	dk__request request(dk_op *known, const dk_local &l) const
	{
		dk__request rq{};

		rq.op = known;
		rq.decl = &decl_;
		rq.local = &l;
		return rq;
	}
	dk__request request_by(keyset ks, dk_op *known, const dk_local &l) const
	{
		dk__request rq = request(known, l);

		rq.ks = ks;
		rq.flags = DK__BY_KEYSET;
		return rq;
	}

	/* Ends a call, even if the function throws. */
	struct DK__LOCAL_TO_OBJECT end {
		const dk_call *c;
		dk__slot slot;
		~end() { dk__end(c, slot, 0); }
	};
	/* If dk__begin() reserved a slot, releases it, even if collecting objects throws. */
	struct DK__LOCAL_TO_OBJECT end_of_begun {
		dk__slot slot;
		const dk__table *table;
		~end_of_begun()
		{
			if (table != &dk__no_table)
				dk__give_back(slot, 0);
		}
	};
	struct DK__LOCAL_TO_OBJECT leave {
		dk_frame *f;
		~leave() { dk_call_leave(f); }
	};

	template <int how>
	__attribute__((__always_inline__)) static inline int call(dk_op *known, dk__request rq, A... a)
	{
		detail::keysets raw;
		dk__found found;
		dk_call c;
		dk__slot slot;

		collect(raw, true, all(), a...);
		if (__builtin_expect(!dk__begin(&c, &slot, &found, known, rq.decl,
						0, rq.local,
						dk__merge(raw.bits, rq.local),
						how | DK__HOW_MASKED, raw.first), 0)) {
			rq.how = how | DK__HOW_MASKED;
			return find(c, slot, found, rq, a...);
		}
		end at_end{ &c, slot };
		return reinterpret_cast<function>(found.entry->fn)(&c, a...);
	}

	/* Continues the lookup and makes the call, after dk__begin() found no entry to call. */
	DK__LOCAL_TO_OBJECT __attribute__((__noinline__))
	static int find(dk_call &c, dk__slot slot, const dk__found &found, dk__request &rq, A... a)
	{
		detail::objects<capacity(all())> objs;

		{
			end_of_begun at_end{ slot, found.table };

			collect(objs, true, all(), a...);
			if (objs.failed())
				return -ENOMEM;
			at_end.table = &dk__no_table;
		}
		const dk__entry *entry = dk__find(&c, slot, found.table, found.ks, objs.data(),
						  dk__pack(found.byte, rq.how, objs.size()));
		if (entry == DK__NO_ENTRY(DK__SLOWLY)) {
			rq.flags |= DK__SKIP_FAST;
			return slow(rq, a...);
		}
		if (!dk__is_entry(entry))
			return dk__no_entry_err(entry);
		end at_end{ &c, slot };
		return reinterpret_cast<function>(entry->fn)(&c, a...);
	}

	DK__LOCAL_TO_OBJECT __attribute__((__noinline__))
	static int slow(dk__request &rq, A... a)
	{
		detail::objects<capacity(all())> objs;
		dk_frame f;

		collect(objs, !rq.from || !(rq.from->made & DK__CALL_BOXED), all(), a...);
		if (objs.failed())
			return -ENOMEM;
		if (int err = dk__call_enter(&f, &rq, objs.data(), objs.size()))
			return err;
		f.result = -ECANCELED;	/* the result for hooks if the function throws */
		leave at_end{ &f };
		if (f.boxed) {
			pack p(a...);

			return f.result = f.boxed(&f.call, p.data());
		}
		return f.result = reinterpret_cast<function>(dk_call_fn(&f.call))(&f.call, a...);
	}

	/*
	 * The functions below call a function with boxed arguments, and extract the objects to
	 * dispatch on.
	 */
	template <std::size_t... N> static bool has_all(void *at, std::index_sequence<N...>)
	{
		(void)at;
		return (pack::template has<N, A>(at) && ...);
	}
	template <std::size_t... N>
	static int unpack(dk_call *c, void *at, std::index_sequence<N...> i)
	{
		if (!has_all(at, i))
			return -EINVAL;
		const auto fn = reinterpret_cast<function>(dk_call_fn(c));

		return fn(c, pack::template get<N, A>(at)...);
	}
	DK__LOCAL_TO_OBJECT static int unbox(dk_call *c, void *at) { return unpack(c, at, all()); }

	DK__LOCAL_TO_OBJECT static int take_packed(dk_call *c, A... a)
	{
		detail::objects<capacity(all())> objs;

		collect(objs, true, all(), a...);
		if (objs.failed())
			return -ENOMEM;
		pack p(a...);

		return dk__call_packed(c, objs.data(), objs.size(), p.data());
	}
	/* its address is a constant expression, but not its value, which has a cast */
	DK__LOCAL_TO_OBJECT inline static const dk__entry packing = {
		reinterpret_cast<dk_fn_t>(take_packed), nullptr
	};

	using plain = int (*)(A...);
	template <std::size_t... N>
	static int unpack_plain(dk_call *c, void *at, std::index_sequence<N...> i)
	{
		if (!has_all(at, i))
			return -EINVAL;
		return reinterpret_cast<plain>(dk_call_fn(c))(pack::template get<N, A>(at)...);
	}
	DK__LOCAL_TO_OBJECT static int unbox_plain(dk_call *c, void *at)
	{
		return unpack_plain(c, at, all());
	}

	template <class S, std::size_t... N>
	static void collect_packed(S &sink, bool generators, void *at, std::index_sequence<N...> i)
	{
		(void)at;
		collect(sink, generators, i, pack::template get<N, A>(at)...);
	}
	/*
	 * noexcept: C code between here and a boxed call would not end the call if an exception
	 * left it
	 */
	DK__LOCAL_TO_OBJECT static int extract(dk_extract *x, void *at, int generators) noexcept
	{
		static_assert(On::fits({ visit<A>::is... }),
			      "dk::on names a parameter that calls cannot dispatch on");
		static_assert(!std::is_same_v<On, every> ||
				      !(detail::hides_objects<detail::bare_t<A>>() || ...),
			      "calls do not dispatch on objects in a parameter of this type: "
			      "specialise dk::object for it, or name the other parameters with "
			      "dk::on");
		detail::objects<capacity(all())> objs;

		if (!has_all(at, all()))
			return -EINVAL;
		collect_packed(objs, generators, at, all());
		return objs.failed() ? -ENOMEM :
				       dk_extracted(x, objs.data(), objs.size(), objs.raw());
	}

	/* Examines the second form only if the first one does not fit: it may not compile. */
	template <class F, bool with_call> static constexpr bool accepts()
	{
		if constexpr (with_call)
			return true;
		else
			return detail::is_for<F, A...>();
	}

	/* Returns @f if it is a function; otherwise a function that finds and calls @f. */
	template <class F> static function of(F &f)
	{
		constexpr bool with_call = detail::is_for<F, dk_call *, A...>();
		constexpr bool fits = accepts<F, with_call>();

		static_assert(fits, "the function must return int and take exactly the operator's "
				    "parameters, with or without a dk_call *");
		if (detail::is_null(f))
			return nullptr;
		if constexpr (std::is_convertible_v<F, function>) {
			return f;
		} else if constexpr (fits) {
			return [](dk_call *c, A... a) -> int {
				if constexpr (with_call)
					return detail::entry_of<F>::of(c)(c, a...);
				else
					return detail::entry_of<F>::of(c)(a...);
			};
		} else {
			return nullptr;
		}
	}

	registration add(detail::entry *e, dk_key key, const impl_options &how,
			 unsigned int flags, detail::position at) const
	{
		if (e)
			detail::fill(*e, &decl_, key, how, flags, at);
		return { e, decl_.name, how.registry, [&](detail::entry &added, dk_diag &why) {
			const dk_layout *layout = dk_registry_layout(how.registry.get());
			const bool block = dk_key_kind(layout, key) == DK_KIND_BUILDING_BLOCK;
			const result r = detail::inapplicable(
				how.flags, block ? DK_BACKEND_INVALID : how.backend, nullptr);

			if (!r) {
				why = r.why;
				return r.error;
			}
			if (!how.backend)
				return dk_impls_register(&added.prov, &added.impl, 1, &why);
			return dk_backend_impls_register(&added.prov, how.backend, &added.impl, 1,
							 &why);
		} };
	}

	mutable dk_op_decl decl_;	/* calls store the operator in its member op */
};

/* ---- libraries ------------------------------------------------------------------ */

/*
 * A dk_library and its provider: definitions and functions of one namespace. The
 * destructor releases all of them; release() with a dk_handle releases a single one.
 * Only functions without state, such as named ones, can be registered: impl<f>(op).
 * Converts to false if the library was not registered, or was released.
 */
class library {
public:
	[[nodiscard]] explicit library(dk_library_kind kind, const char *ns,
				       dk_key key = DK_UNDEFINED, detail::registry_option reg = {},
				       detail::position at = detail::position::here())
		: state_(new (std::nothrow) state)
	{
		if (!state_) {
			status_ = detail::refused(DK_WHY_NO_MEMORY, -ENOMEM);
			return;
		}
		at.print(state_->debug, sizeof(state_->debug));
		std::snprintf(state_->ns, sizeof(state_->ns), "%s", ns ? ns : "_");
		state_->prov = detail::named(state_->ns, nullptr, reg.get());
		state_->lib.size = sizeof(state_->lib);
		state_->lib.kind = kind;
		state_->lib.ns = ns ? state_->ns : nullptr;
		state_->lib.key = key;
		state_->lib.debug = state_->debug;
		state_->lib.prov = &state_->prov;
		status_ = reg.check();
		if (status_)
			status_.error = dk_provider_register(&state_->prov, &status_.why);
		if (status_)
			status_.error = dk_library_register(&state_->lib, &status_.why);
	}
	library(const library &) = delete;
	library &operator=(const library &) = delete;
	/* if release() fails, the library stays registered */
	~library()
	{
		if (!release())
			delete state_;
	}

	explicit operator bool() const { return !status_.error && !released_; }
	const result &status() const { return status_; }

	template <class F, class On>
	result def(const op<F, On> &o, const define_options &how = {}, dk_handle *h = nullptr)
	{
		if (const result r = refusal(0, DK_BACKEND_INVALID, how.registry); !r)
			return r;
		dk_op_decl decl = o.unbound();
		result r;

		detail::fill(decl, how);
		r.error = dk_library_def(&state_->lib, &decl, how.flags, h, &r.why);
		return r;
	}
	/* Defines an operator and registers its function, both or none. */
	template <auto f, class F, class On>
	result def(const op<F, On> &o, const define_options &how = {}, const impl_options &by = {},
		   dk_key key = DK_UNDEFINED, dk_handle *h = nullptr)
	{
		if (const result r = refusal(by.flags, by.backend, by.registry); !r)
			return r;
		if (const result r = refusal(0, DK_BACKEND_INVALID, how.registry); !r)
			return r;
		return labelled<f>(by, [&](const char *label, dk_diag &why) {
			dk_impl impl = o.template make_impl<f>(key, by);
			dk_op_decl decl = o.unbound();

			detail::fill(decl, how);
			impl.op = &decl;
			impl.label = label;
			return dk_library_def_impl(&state_->lib, &decl, how.flags, &impl, h, &why);
		});
	}
	/*
	 * Registers a function at @key or, if @key is not set, at the library's key. If that is
	 * not set either, registers the function as the catch-all.
	 */
	template <auto f, class F, class On>
	result impl(const op<F, On> &o, dk_key key = DK_UNDEFINED, const impl_options &how = {},
		    dk_handle *h = nullptr)
	{
		if (const result r = refusal(how.flags, how.backend, how.registry); !r)
			return r;
		return labelled<f>(how, [&](const char *label, dk_diag &why) {
			dk_impl i = o.template make_impl<f>(key, how);
			const dk_op_decl decl = o.unbound();

			i.op = &decl;
			i.label = label;
			return dk_library_impl(&state_->lib, &i, h, &why);
		});
	}
	/* Registers a function int(dk_call *, void *args) as a backend fallback. */
	template <auto f>
	result fallback(dk_key key = DK_UNDEFINED, const impl_options &how = {},
			dk_handle *h = nullptr)
	{
		if (const result r = refusal(how.flags, how.backend, how.registry); !r)
			return r;
		return labelled<f>(how, [&](const char *label, dk_diag &why) {
			dk_impl i = detail::element(nullptr, detail::boxed_fn<f>(), key, how,
						    DK_IMPL_F_BOXED);

			i.label = label;
			return dk_library_fallback(&state_->lib, &i, h, &why);
		});
	}

	/*
	 * release() releases one registration (dk_handle_release()) or all
	 * (dk_library_unregister()).
	 */
	int release(dk_handle &h)
	{
		return state_ ? dk_handle_release(&state_->lib, &h) : 0;
	}
	int release()
	{
		int err = state_ ? dk_library_unregister(&state_->lib) : 0;

		if (!err && state_)
			err = dk_provider_unregister(&state_->prov);
		released_ |= !err;
		return err;
	}

private:
	/* A copy of a label. */
	struct kept {
		kept *next;
		char label[DK_NAME_MAX + 1];
	};
	struct state {
		dk_provider prov = {};
		dk_library lib = {};
		char debug[DK_NAME_MAX];
		char ns[DK_NAME_MAX + 1];	/* the library refuses a namespace that is cut off */
		kept *all = nullptr;

		~state()
		{
			while (all)
				delete std::exchange(all, all->next);
		}
	};

	/* Returns success if a function can be registered with these options, else the error. */
	result refusal(unsigned int flags, dk_backend backend,
		       detail::registry_option registry) const
	{
		if (!state_)
			return status_;
		if (released_)
			return detail::refused(DK_WHY_LIBRARY_UNREGISTERED, -EINVAL,
					       state_->prov.name);
		return detail::inapplicable(flags, backend, registry);
	}

	/*
	 * Registers a function with @add. A label of the options is copied until the library is
	 * destroyed, also if the function is released earlier. The default label is the name of
	 * @f or, without a name, the library's FILE:LINE.
	 */
	template <auto f, class Add> result labelled(const impl_options &how, Add add)
	{
		const char *name = detail::function_name<f>::label();
		const char *label = name ? name : state_->debug;
		kept *k = nullptr;
		result r;

		if (how.label) {
			k = new (std::nothrow) kept{ state_->all, {} };
			if (!k)
				return detail::refused(DK_WHY_NO_MEMORY, -ENOMEM);
			std::snprintf(k->label, sizeof(k->label), "%s", how.label);
			label = k->label;
		}
		r.error = add(label, r.why);
		if (r && k)
			state_->all = k;
		else
			delete k;
		return r;
	}

	state *state_;
	bool released_ = false;
	result status_;
};

/*
 * DK_CXX_OP() - declare the operator of a DK_OP() line in C++
 * @id: its name in C++
 * @op_name: the name of the operator
 * @params: its C parameters in parentheses, with the same words as in DK_OP()
 * @...: dk::every, or dk::on<1, 2> with the indices of the parameters that calls
 *	dispatch on
 *
 * End the line with a semicolon. As in C, each program or plugin has its own copy. The
 * operator is in an inline namespace. Otherwise the linker would take it, at global scope,
 * for a C function or variable of the same name. So @id cannot be declared again, and must not
 * be the name of a class or function in the same namespace.
 */
#define DK_CXX_OP(id, op_name, params, ...)				\
	struct dk__##id##_params {					\
		static constexpr const char text[] = #params;		\
	};								\
	inline namespace dk__ops {					\
	DK__LOCAL_TO_OBJECT						\
	inline ::dk::op<int params, __VA_ARGS__> id{			\
		op_name, #params,					\
		::dk::op<int params, __VA_ARGS__>::described<		\
			::dk::detail::named_params<dk__##id##_params>>::table }; \
	}								\
	static_assert(true, "")

} /* namespace dk */

#endif /* C++17 */

#endif /* _DISPATCHKEY_HPP */
