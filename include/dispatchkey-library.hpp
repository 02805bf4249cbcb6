/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Defines libraries: the definitions and functions of one namespace.
 * Included by <dispatchkey.hpp>.
 */
#ifndef _DISPATCHKEY_LIBRARY_HPP
#define _DISPATCHKEY_LIBRARY_HPP

#include <dispatchkey-op.hpp>

#include <cstdio>
#include <new>
#include <utility>

namespace dk {

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

} /* namespace dk */

#endif /* _DISPATCHKEY_LIBRARY_HPP */
