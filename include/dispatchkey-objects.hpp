/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Selects and collects the objects that a call dispatches on.
 * Included by <dispatchkey.hpp>.
 */
#ifndef _DISPATCHKEY_OBJECTS_HPP
#define _DISPATCHKEY_OBJECTS_HPP

#include <dispatchkey-keyset.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace dk {

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

} /* namespace detail */

} /* namespace dk */

#endif /* _DISPATCHKEY_OBJECTS_HPP */
