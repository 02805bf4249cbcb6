/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Stores the arguments of a call in a struct, and describes the parameters of operators.
 * Included by <dispatchkey.hpp>.
 */
#ifndef _DISPATCHKEY_ARGS_HPP
#define _DISPATCHKEY_ARGS_HPP

#include <dispatchkey-objects.hpp>

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace dk::detail {

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

} /* namespace dk::detail */

#endif /* _DISPATCHKEY_ARGS_HPP */
