/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Registers functions, with and without state, and backend fallbacks.
 * Included by <dispatchkey.hpp>.
 */
#ifndef _DISPATCHKEY_FUNCTION_HPP
#define _DISPATCHKEY_FUNCTION_HPP

#include <dispatchkey-signature.hpp>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

namespace dk {

namespace detail {

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
	static constexpr auto chars = written<cut>();
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
struct ellipsis;				/* no parameter of an operator has this type */
template <class R, class... P> struct params_of<R (*)(P..., ...)> {
	using type = types<P..., ellipsis>;
};
template <class R, class... P>
struct params_of<R (*)(P..., ...) noexcept> : params_of<R (*)(P..., ...)> {};
/* A pointer to a static operator() is one to a function. */
template <class F> struct call_operator : params_of<F> {};
#define DK__CALL_OPERATOR(how)						\
	template <class C, class R, class... P>				\
	struct call_operator<R (C::*)(P...) how> : params_of<R (*)(P...)> {}; \
	template <class C, class R, class... P>				\
	struct call_operator<R (C::*)(P..., ...) how> : params_of<R (*)(P..., ...)> {};
#define DK__CALL_OPERATORS(how)						\
	DK__CALL_OPERATOR(how)						\
	DK__CALL_OPERATOR(const how)					\
	DK__CALL_OPERATOR(volatile how)					\
	DK__CALL_OPERATOR(const volatile how)
DK__CALL_OPERATORS()
DK__CALL_OPERATORS(noexcept)
DK__CALL_OPERATORS(&)
DK__CALL_OPERATORS(& noexcept)
#undef DK__CALL_OPERATORS
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

} /* namespace dk */

#endif /* _DISPATCHKEY_FUNCTION_HPP */
