/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Defines operators by their function type, and DK_CXX_OP().
 * Included by <dispatchkey.hpp>.
 */
#ifndef _DISPATCHKEY_OP_HPP
#define _DISPATCHKEY_OP_HPP

#include <dispatchkey-local.hpp>
#include <dispatchkey-registry.hpp>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace dk {

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

#endif /* _DISPATCHKEY_OP_HPP */
