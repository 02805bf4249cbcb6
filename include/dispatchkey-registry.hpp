/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Defines registries, listeners and routes.
 * Included by <dispatchkey.hpp>.
 */
#ifndef _DISPATCHKEY_REGISTRY_HPP
#define _DISPATCHKEY_REGISTRY_HPP

#include <dispatchkey-function.hpp>

#include <new>
#include <type_traits>
#include <utility>

namespace dk {

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

} /* namespace dk */

#endif /* _DISPATCHKEY_REGISTRY_HPP */
