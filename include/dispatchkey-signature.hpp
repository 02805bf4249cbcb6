/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Writes the types of functions as text. Operators and their callers compare these texts.
 * Included by <dispatchkey.hpp>.
 */
#ifndef _DISPATCHKEY_SIGNATURE_HPP
#define _DISPATCHKEY_SIGNATURE_HPP

#include <dispatchkey-args.hpp>

#include <array>
#include <cstddef>
#include <type_traits>

namespace dk::detail {

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

/*
 * Returns the text of a function, which writes it to @at and returns its length. If @at is NULL,
 * the function only returns the length.
 */
template <std::size_t write(char *at)> constexpr auto written()
{
	std::array<char, write(nullptr) + 1> a{};

	write(a.data());
	return a;
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
	static constexpr auto chars = written<spelled>();
};

} /* namespace dk::detail */

#endif /* _DISPATCHKEY_SIGNATURE_HPP */
