/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * dispatchkey for C++17, over <dispatchkey.h>: keysets, guards, operators by
 * function type, functions with state. Nothing here throws or needs exceptions
 * or RTTI; what can be refused gives a dk::result.
 */
#ifndef _DISPATCHKEY_HPP
#define _DISPATCHKEY_HPP

#include <dispatchkey.h>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace dk {

/* ---- results --------------------------------------------------------------- */

/* 0 or a negative errno, with the reason in words. True is success. */
struct [[nodiscard]] result {
	int error = 0;
	dk_diag why = {};

	result() { why.size = sizeof(why); }
	explicit operator bool() const { return !error; }
	const char *text() const { return why.text ? why.text : ""; }
	const char *name() const { return why.name; }
};

/* ---- keysets of layout v1 --------------------------------------------------- */

namespace detail {

constexpr unsigned int fls(__u64 bits)
{
	return bits ? 64 - static_cast<unsigned int>(__builtin_clzll(bits)) : 0;
}

inline constexpr unsigned short first_slot[] = {
#define DK__FIRST_SLOT(U, N, P) DK_SLOT_##U,
	DK_FUNCTIONALITIES(DK__FIRST_SLOT)
#undef DK__FIRST_SLOT
};

/* DK_KEY_BITS(), whose mixture of numbers and enums is C */
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

/* The runtime key of a per-backend functionality; of backend 0 its sentinel. */
constexpr unsigned int runtime_key(unsigned int functionality, unsigned int backend)
{
	unsigned int block = 0;

	while (DK__BLOCK_FUNCTIONALITY(block) != functionality)
		block++;
	return DK_START_OF_DENSE_BACKENDS + block * (DK_NUM_BACKENDS + 1) + backend;
}

} /* namespace detail */

/* A struct dk_keyset with operators; what they do is what PyTorch's do. */
struct keyset {
	__u64 bits = 0;

	constexpr keyset() = default;
	constexpr explicit keyset(__u64 raw) : bits(raw) {}
	constexpr keyset(dk_keyset ks) : bits(ks.bits) {}
	constexpr keyset(dk_key key) : bits(detail::key_bits(key)) {}
	constexpr keyset(std::initializer_list<dk_key> keys)
	{
		for (dk_key key : keys)
			bits |= detail::key_bits(key);
	}
	constexpr operator dk_keyset() const { return dk_keyset{ bits }; }

	static constexpr keyset full() { return keyset(DK_FULL); }
	static constexpr keyset of_backend(unsigned int backend)
	{
		return keyset(backend ? DK_BACKEND_BIT(backend) : 0);
	}
	/* what comes behind a key, to mask a redispatch with */
	static constexpr keyset after(dk_key key)
	{
		const unsigned int f = detail::fls(keyset(key).bits >> DK_NUM_BACKENDS);

		return keyset((f ? DK_FUNCTIONALITY_BIT(f) - 1 : DK_BACKEND_MASK >> 1) |
			      DK_FUNCTIONALITY_BIT(DK_PYTHON_DISPATCHER));
	}

	constexpr bool empty() const { return !bits; }
	constexpr bool has(dk_key key) const { return has_all(key); }
	constexpr bool has_backend(unsigned int b) const { return has_all(of_backend(b)); }
	constexpr bool has_all(keyset s) const { return (bits & s.bits) == s.bits; }
	constexpr bool has_any(keyset s) const { return bits & s.bits; }
	constexpr keyset add(keyset s) const { return keyset(bits | s.bits); }
	/* functionalities only: the backend bits stay, as with operator - */
	constexpr keyset remove(dk_key key) const { return *this - key; }
	constexpr keyset remove_backend(unsigned int b) const
	{
		return keyset(bits & ~of_backend(b).bits);
	}

	/* of highest priority */
	constexpr unsigned int functionality() const
	{
		return detail::fls((bits & DK_FULL) >> DK_NUM_BACKENDS);
	}
	constexpr unsigned int backend() const { return detail::fls(bits & DK_BACKEND_MASK); }
	constexpr dk_key key() const
	{
		const unsigned int f = functionality();

		return static_cast<dk_key>(per_backend(f) ?
					   detail::runtime_key(f, backend()) : f);
	}
	constexpr unsigned int slot() const
	{
		const unsigned int f = functionality(), b = per_backend(f) ? backend() : 0;

		return detail::first_slot[f] + (b ? b - 1 : 0);
	}

	/* the runtime keys, lowest priority first */
	class iterator {
	public:
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
		bool operator!=(const iterator &other) const { return slot_ != other.slot_; }
		bool operator==(const iterator &other) const { return slot_ == other.slot_; }

	private:
		dk_keyset ks_;
		unsigned int slot_;
	};
	iterator begin() const { return { *this, dk_keyset_next(nullptr, *this, 0) }; }
	iterator end() const { return { *this, 0 }; }

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

	friend constexpr keyset operator|(keyset a, keyset b) { return keyset(a.bits | b.bits); }
	friend constexpr keyset operator&(keyset a, keyset b) { return keyset(a.bits & b.bits); }
	friend constexpr keyset operator^(keyset a, keyset b) { return keyset(a.bits ^ b.bits); }
	friend constexpr keyset operator-(keyset a, keyset b)
	{
		return keyset(a.bits & (DK_BACKEND_MASK | ~b.bits));
	}
	friend constexpr bool operator==(keyset a, keyset b) { return a.bits == b.bits; }
	friend constexpr bool operator!=(keyset a, keyset b) { return a.bits != b.bits; }
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

inline constexpr keyset autograd_keys{ __u64{ DK_AUTOGRAD_BITS } };
inline constexpr keyset autograd_adinplace_or_view_keys{
	__u64{ DK_AUTOGRAD_ADINPLACE_OR_VIEW_BITS } };
inline constexpr keyset default_included{ __u64{ DK_DEFAULT_INCLUDED } };
inline constexpr keyset default_excluded{ __u64{ DK_DEFAULT_EXCLUDED } };

/* ---- guards ----------------------------------------------------------------- */

/* The thread's local state. */
inline dk_local &local()
{
	return *dk_local_current();
}

/*
 * Guards are the C ones (DK_LOCAL_INCLUDE() and so on), to the end of their
 * scope; in the order of scopes only, so they cannot be copied or moved.
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
	explicit include(keyset ks, dk_local &l = local()) : guard(l)
	{
		dk_local_include(&l, ks);
	}
	~include() { local_.included = saved_.included; }
};

struct exclude : detail::guard {
	explicit exclude(keyset ks, dk_local &l = local()) : guard(l)
	{
		dk_local_exclude(&l, ks);
	}
	~exclude() { local_.excluded = saved_.excluded; }
};

struct force : detail::both_sets {
	force(keyset included, keyset excluded, dk_local &l = local()) : both_sets(l)
	{
		dk_local_set(&l, included, excluded);
	}
};

struct preserve : detail::both_sets {
	explicit preserve(dk_local &l = local()) : both_sets(l) {}
};

struct inference_mode : detail::both_sets {
	explicit inference_mode(bool on = true, dk_local &l = local()) : both_sets(l)
	{
		dk_local_set_inference(&l, on);
	}
};

struct below_autograd : exclude {
	explicit below_autograd(dk_local &l = local()) : exclude(autograd_keys, l) {}
};

struct below_adinplace_or_view : exclude {
	explicit below_adinplace_or_view(dk_local &l = local())
		: exclude(autograd_adinplace_or_view_keys, l) {}
};

struct skip_functionalize : exclude {
	explicit skip_functionalize(dk_local &l = local()) : exclude(DK_FUNCTIONALIZE, l) {}
};

/* Of this one key, as DK_LOCAL_SET_EXCLUDED(). */
class set_excluded {
public:
	set_excluded(dk_key key, bool want, dk_local &l = local())
		: guard_(dk__guard_key(&l, key, want)) {}
	set_excluded(const set_excluded &) = delete;
	set_excluded &operator=(const set_excluded &) = delete;
	~set_excluded() { dk__guard_leave_key(&guard_); }

private:
	dk__key_guard guard_;
};

/* As DK_LOCAL_AUTOCAST(). */
class autocast {
public:
	explicit autocast(dk_backend backend, bool on = true, dk_local &l = local())
		: guard_(dk__guard_autocast(&l, backend, on)) {}
	autocast(const autocast &) = delete;
	autocast &operator=(const autocast &) = delete;
	~autocast() { dk__guard_leave_key(&guard_); }

private:
	dk__key_guard guard_;
};

/* ---- what arguments dispatch on --------------------------------------------- */

/*
 * Types that calls dispatch on: dk_obj, what derives from it, and what has a
 * member "dk" of it. Specialise it for your own, with is = true and of().
 */
template <class T, class = void> struct object {
	static constexpr bool is = false;
};

template <class T> struct object<T, std::enable_if_t<std::is_base_of_v<dk_obj, T>>> {
	static constexpr bool is = true;
	static const dk_obj *of(const T &x) { return &x; }
};

template <class T>
struct object<T, std::enable_if_t<std::is_same_v<std::remove_cv_t<decltype(T::dk)>, dk_obj>>> {
	static constexpr bool is = true;
	static const dk_obj *of(const T &x) { return &x.dk; }
};

/* Several objects as one parameter. */
template <class T> struct list {
	T *items;
	std::size_t count;

	T *data() const { return items; }
	std::size_t size() const { return count; }
};

/* What an operator dispatches on: every parameter that is fit, or these only. */
struct every {
	static constexpr bool has(std::size_t) { return true; }
};
template <std::size_t... I> struct on {
	static constexpr bool has(std::size_t i) { return ((i == I) || ...); }
};

namespace detail {

template <class T, class = void> struct complete : std::false_type {};
template <class T> struct complete<T, std::void_t<decltype(sizeof(T))>> : std::true_type {};

template <class T> constexpr bool is_object()
{
	if constexpr (std::is_class_v<T> && complete<T>::value)
		return object<T>::is;
	else
		return false;
}

/* each() hands the objects in a parameter to a function; many: by a list */
template <class T, class = void> struct visit {
	static constexpr bool is = false, many = false;
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

template <class T> struct visit<std::optional<T>, std::enable_if_t<visit<T>::is>> {
	static constexpr bool is = true, many = visit<T>::many;
	template <class S> static void each(const std::optional<T> &x, S &sink)
	{
		if (x)
			visit<T>::each(*x, sink);
	}
};

template <class T>
using item = std::remove_cv_t<std::remove_pointer_t<decltype(std::declval<const T &>().data())>>;

template <class T>
struct visit<T, std::enable_if_t<!is_object<T>() && visit<item<T>>::is &&
				 (sizeof(std::declval<const T &>().size()) > 0)>> {
	static constexpr bool is = true, many = true;
	template <class S> static void each(const T &x, S &sink)
	{
		for (std::size_t i = 0; i < x.size(); i++)
			visit<item<T>>::each(x.data()[i], sink);
	}
};

/* The objects of a call, on the stack unless lists are long. */
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
 * The struct of the arguments, laid out as a C compiler would lay out one with
 * these members; a reference is a pointer there.
 */
template <class... A> class args {
	static_assert((!std::is_rvalue_reference_v<A> && ...),
		      "a call may be made again below: take it by value or &");
	static_assert((std::is_trivially_copyable_v<stored<A>> && ...),
		      "C code may copy what is passed by value: pass a pointer or &");

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

	template <std::size_t I, class T> static T get(void *at)
	{
		auto *p = std::launder(reinterpret_cast<stored<T> *>(
			static_cast<unsigned char *>(at) + layout.at[I]));

		if constexpr (std::is_reference_v<T>)
			return **p;
		else
			return *p;
	}

private:
	template <class T> static stored<T> store(T a)
	{
		if constexpr (std::is_reference_v<T>)
			return &a;
		else
			return a;
	}
	template <std::size_t... I> void put(std::index_sequence<I...>, A... a)
	{
		((void)new (bytes_ + layout.at[I]) stored<A>(store<A>(a)), ...);
	}

	alignas(layout.align) unsigned char bytes_[layout.size];
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
	template <std::size_t N> constexpr void put(const char (&s)[N]) { put(s, N - 1); }
};

template <class T> constexpr void pretty(text &t)
{
	const char *s = __PRETTY_FUNCTION__;
	std::size_t len = 0;

	/* ... [with T = NAME] or ... [T = NAME] */
	while (s[0] != 'T' || s[1] != ' ' || s[2] != '=')
		s++;
	s += 4;
	while (s[len])
		len++;
	t.put(s, len - 1);
}

/* The types that compilers spell in different ways, in one way. */
#define DK__SPELLED(X)							\
	X(bool) X(char) X(signed char) X(unsigned char) X(short)	\
	X(unsigned short) X(int) X(unsigned int) X(long) X(unsigned long) \
	X(long long) X(unsigned long long) X(float) X(double)		\
	X(long double) X(void)

template <class T> constexpr void spell(text &t)
{
	if constexpr (std::is_lvalue_reference_v<T>) {
		spell<std::remove_reference_t<T>>(t);
		t.put("&");
	} else if constexpr (std::is_const_v<T>) {
		t.put("const ");
		spell<std::remove_const_t<T>>(t);
	} else if constexpr (std::is_pointer_v<T>) {
		t.put("(");
		spell<std::remove_pointer_t<T>>(t);
		t.put(")*");
#define DK__SPELL(type)							\
	} else if constexpr (std::is_same_v<T, type>) {			\
		t.put(#type);
	DK__SPELLED(DK__SPELL)
#undef DK__SPELL
	} else {
		pretty<T>(t);
	}
}
#undef DK__SPELLED

template <class... A> struct signature {
	static constexpr std::size_t spelled(char *at)
	{
		text t{ at, 0 };

		t.put("C++(");
		((spell<A>(t), t.put(",")), ...);
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

/* ---- what is registered ----------------------------------------------------- */

/* A provider for one registration, with the function's state behind it. */
struct entry {
	dk_provider prov = {};
	dk_impl impl = {};
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

inline dk_provider named(const char *name, void *priv, dk_registry *reg)
{
	dk_provider p = {};

	p.size = sizeof(p);
	p.abi = DK_ABI_VERSION;
	p.layout = DK_LAYOUT_NAME;
	p.name = name;
	p.registry = reg;
	p.priv = priv;
	return p;
}

} /* namespace detail */

/*
 * Something that is registered, until it is destroyed: then it is taken out, no
 * call is inside of it any more, and its state is gone. False where it was
 * refused; status() tells why.
 */
class [[nodiscard]] registration {
public:
	registration() = default;
	registration(registration &&other) noexcept
		: entry_(std::exchange(other.entry_, nullptr)), status_(other.status_) {}
	registration &operator=(registration &&other) noexcept
	{
		if (this != &other) {
			end();
			entry_ = std::exchange(other.entry_, nullptr);
			status_ = other.status_;
		}
		return *this;
	}
	~registration() { end(); }

	explicit operator bool() const { return entry_; }
	const result &status() const { return status_; }

	/*
	 * Sooner; as dk_provider_unregister(). Where that fails, as from inside
	 * of the function itself, it stays registered. The destructor cannot
	 * tell: there it then stays for ever.
	 */
	int release()
	{
		int err = entry_ ? dk_provider_unregister(&entry_->prov) : 0;

		if (!err)
			drop();
		return err;
	}

	/* For op and fallback(): @add registers what is in the entry. */
	template <class Add>
	registration(detail::entry *e, const char *name, dk_registry *reg, Add add) : entry_(e)
	{
		if (!entry_) {
			status_.error = -ENOMEM;
			status_.why.reason = DK_WHY_NO_MEMORY;
			status_.why.text = dk_reason_text(DK_WHY_NO_MEMORY);
			return;
		}
		e->prov = detail::named(name, e, reg);
		status_.error = dk_provider_register(&e->prov, &status_.why);
		if (status_) {
			status_.error = add(*e, status_.why);
			if (!status_ && dk_provider_unregister(&e->prov))
				entry_ = nullptr;
		}
		if (!status_)
			drop();
	}

private:
	void drop()
	{
		if (entry_)
			entry_->destroy(entry_);
		entry_ = nullptr;
	}
	void end()
	{
		if (release())
			entry_ = nullptr;
	}

	detail::entry *entry_ = nullptr;
	result status_;
};

/* A function int(dk_call *, void *args) at a key, for operators that have none. */
template <class F>
registration fallback(dk_key key, F f, const char *label = "fallback",
		      unsigned int flags = 0, dk_registry *reg = nullptr)
{
	using entry = detail::entry_of<F>;
	auto *e = new (std::nothrow) entry(std::move(f));

	if (e) {
		e->impl.size = sizeof(e->impl);
		e->impl.label = label;
		e->impl.key = key;
		e->impl.flags = DK_IMPL_F_BOXED | flags;
		dk_boxed_fn_t fn = [](dk_call *c, void *args) -> int {
			return entry::of(c)(c, args);
		};
		e->impl.fn = reinterpret_cast<dk_fn_t>(fn);
	}
	return { e, label, reg, [](detail::entry &at, dk_diag &why) {
		return dk_fallback_register(&at.prov, &at.impl, &why); } };
}

/* An operator, held. False where there is none. */
class handle {
public:
	explicit handle(const char *name, dk_registry *reg = nullptr)
		: op_(dk_op_get(reg, name)) {}
	handle(handle &&other) noexcept : op_(std::exchange(other.op_, nullptr)) {}
	handle &operator=(handle &&other) noexcept
	{
		std::swap(op_, other.op_);
		return *this;
	}
	~handle() { dk_op_put(op_); }
	explicit operator bool() const { return op_; }
	dk_op *get() const { return op_; }

private:
	dk_op *op_;
};

/* ---- operators ---------------------------------------------------------------- */

/*
 * An operator by its function type: dk::op<int(tensor &, const tensor &)>. It
 * lives as long as anything is registered for it, and best for ever.
 *
 * Its signature is text made from the types. To share an operator with C, the
 * text has to be that of the DK_OP() line: DK_CXX_OP() takes type and text from
 * the same parameters.
 */
template <class F, class On = every> class op;

template <class... A, class On> class op<int(A...), On> {
	using pack = detail::args<A...>;
	template <class T> using visit = detail::visit<std::remove_cv_t<std::remove_reference_t<T>>>;

public:
	using function = int (*)(dk_call *, A...);

	constexpr explicit op(const char *name,
			      const char *sig = detail::signature<A...>::chars.data())
		: decl_{}
	{
		decl_.size = sizeof(decl_);
		decl_.call_size = sizeof(dk_call);
		decl_.name = name;
		decl_.sig = sig;
		decl_.unbox = unbox;
	}
	op(const op &) = delete;
	op &operator=(const op &) = delete;

	dk_op_decl *decl() { return &decl_; }
	const char *name() const { return decl_.name; }

	/* Call it, with the thread's local state or with this one. */
	int operator()(A... a) { return in(dk::local(), a...); }
	int in(const dk_local &l, A... a)
	{
		return enter([&](dk_call *c, auto *objs, unsigned int n) {
			return dk_call_enter(c, &decl_, &l, objs, n);
		}, a...);
	}
	/* Call the operator behind a handle. */
	int at(const handle &h, const dk_local &l, A... a)
	{
		if (!h)
			return -ENOENT;
		return enter([&](dk_call *c, auto *objs, unsigned int n) {
			return dk_call_enter_op(c, h.get(), &decl_, &l, objs, n);
		}, a...);
	}
	/* From inside a function: call by a keyset, or what comes behind its key. */
	int redispatch(dk_call *from, keyset ks, A... a)
	{
		return enter([&](dk_call *c, auto *objs, unsigned int n) {
			return dk_call_redispatch(c, from, &decl_, ks, objs, n);
		}, a...);
	}
	int below(dk_call *from, A... a)
	{
		return redispatch(from, dk_call_below(from), a...);
	}

	registration define(unsigned int flags = 0, dk_registry *reg = nullptr)
	{
		return { new (std::nothrow) detail::entry, decl_.name, reg,
			 [&](detail::entry &e, dk_diag &why) {
				 return dk_op_define(&e.prov, &decl_, flags, &why);
			 } };
	}

	/*
	 * Register a function: anything that is called with the arguments, the
	 * dk_call in front of them if it takes it, and returns int. What it
	 * captures lives until it is released. Where a backend is given, a
	 * building block means its runtime key. @label has to last as long.
	 */
	template <class F>
	registration impl(dk_key key, F f, const char *label = nullptr, unsigned int flags = 0,
			  unsigned int backend = 0, dk_registry *reg = nullptr)
	{
		using entry = detail::entry_of<F>;
		auto *e = new (std::nothrow) entry(std::move(f));

		if (e)
			e->impl.fn = reinterpret_cast<dk_fn_t>(of<F>(e->f));
		return add(e, key, label, flags, backend, reg);
	}
	registration fallthrough(dk_key key, dk_registry *reg = nullptr)
	{
		return add(new (std::nothrow) detail::entry, key, "fallthrough",
			   DK_IMPL_F_FALLTHROUGH | DK_IMPL_F_ATOMIC, 0, reg);
	}

private:
	template <std::size_t... I> static constexpr std::size_t room(std::index_sequence<I...>)
	{
		return (1 + ... + (!visit<A>::is || !On::has(I) ? 0 : visit<A>::many ? 16 : 1));
	}

	template <class T, std::size_t I, class S> static void add_objects(const T &a, S &sink)
	{
		if constexpr (visit<T>::is && On::has(I))
			visit<T>::each(a, sink);
	}
	template <class S, std::size_t... I>
	static void collect(S &sink, std::index_sequence<I...>, const A &...a)
	{
		(add_objects<std::remove_cv_t<std::remove_reference_t<A>>, I>(a, sink), ...);
	}

	struct leave {
		dk_call *c;
		~leave() { dk_call_leave(c); }
	};

	template <class Enter> static int enter(Enter how, A... a)
	{
		constexpr auto all = std::index_sequence_for<A...>();
		detail::objects<room(all)> objs;
		dk_call c;

		collect(objs, all, a...);
		if (objs.failed())
			return -ENOMEM;
		if (int err = how(&c, objs.data(), objs.size()))
			return err;
		leave at_end{ &c };
		if (__builtin_expect(!!(c.flags & DK_CALL_PACKED), 0)) {
			pack p(a...);

			return c.result = c.boxed(&c, p.data());
		}
		return c.result = reinterpret_cast<function>(c.fn)(&c, a...);
	}

	template <std::size_t... I>
	static int unpack(dk_call *c, void *at, std::index_sequence<I...>)
	{
		(void)at;
		return reinterpret_cast<function>(c->fn)(c, pack::template get<I, A>(at)...);
	}
	static int unbox(dk_call *c, void *at)
	{
		return unpack(c, at, std::index_sequence_for<A...>());
	}

	/* The function itself where it is one, else one that finds it by the call. */
	template <class F> static function of(F &f)
	{
		(void)f;
		if constexpr (std::is_convertible_v<F, function>) {
			return f;
		} else {
			static_assert(std::is_invocable_r_v<int, F &, dk_call *, A...> ||
				      std::is_invocable_r_v<int, F &, A...>,
				      "the function does not take the operator's parameters");
			return [](dk_call *c, A... a) -> int {
				if constexpr (std::is_invocable_v<F &, dk_call *, A...>)
					return detail::entry_of<F>::of(c)(c, a...);
				else
					return detail::entry_of<F>::of(c)(a...);
			};
		}
	}

	registration add(detail::entry *e, dk_key key, const char *label, unsigned int flags,
			 unsigned int backend, dk_registry *reg)
	{
		label = label ? label : decl_.name;
		if (e) {
			e->impl.op = &decl_;
			e->impl.size = sizeof(e->impl);
			e->impl.label = label;
			e->impl.key = key;
			e->impl.flags = static_cast<__u16>(flags);
		}
		return { e, label, reg, [&](detail::entry &entry, dk_diag &why) {
			if (!backend)
				return dk_impls_register(&entry.prov, &entry.impl, 1, &why);
			return dk_backend_impls_register(&entry.prov, backend, &entry.impl, 1,
							 &why);
		} };
	}

	dk_op_decl decl_;
};

/*
 * DK_CXX_OP() - the C++ twin of a DK_OP() line
 * @id: what it is called in C++
 * @op_name: its name
 * @params: its C parameters in parentheses, word by word as in DK_OP()
 * @...: dk::every, or dk::on<1, 2> with the parameters that it dispatches on
 *
 * A semicolon ends it. One a program or plugin, as in C.
 */
#define DK_CXX_OP(id, op_name, params, ...)				\
	__attribute__((visibility("hidden")))				\
	inline ::dk::op<int params, __VA_ARGS__> id{ op_name, #params }

} /* namespace dk */

#endif /* _DISPATCHKEY_HPP */
