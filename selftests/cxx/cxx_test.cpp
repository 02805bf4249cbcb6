// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests <dispatchkey.hpp>: keysets, guards, typed operators, functions with state, and operators
 * that are shared by C and C++. Prints TAP. selftests/api/full_registry.h explains the comments
 * "refuses:".
 *
 * This file is longer than others, because it is compiled for each compiler and standard, and most
 * of that time is needed for the headers.
 */
#include <dispatchkey.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <malloc.h>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "shared.h"

static int failures, number;

static bool check(bool held, int line, const char *what)
{
	if (!held) {
		std::printf("# line %d: %s\n", line, what);
		failures++;
	}
	return held;
}

#define CHECK(what) check(!!(what), __LINE__, #what)

/* ---- keysets ----------------------------------------------------------------- */

static_assert(dk::keyset(DK_CPU).bits == 0x10001);
static_assert(dk::keyset{ DK_CPU, DK_AUTOGRAD_CUDA }.bits == 0x1000010003);
static_assert((DK_CPU | DK_CUDA).bits == 0x10003);
static_assert(dk::keyset(DK_BACKEND_HIP).bits == 4);
static_assert(dk::keyset{ DK_BACKEND_CPU, DK_BACKEND_HIP }.bits == 5);
static_assert(dk::keyset::from_raw(0x33).bits == 0x33);
static_assert(dk::keyset(DK_CUDA).has_backend(DK_BACKEND_CUDA));
static_assert(dk::keyset(DK_CPU) < dk::keyset(DK_CUDA) && dk::keyset(DK_CPU) <= DK_CPU);
static_assert(dk::keyset(DK_CUDA) > DK_CPU && dk::keyset(DK_CUDA) >= DK_CPU);
static_assert(!std::is_convertible_v<dk_backend, dk::keyset>);
static_assert((dk::keyset(DK_CPU) | DK_TRACER).key() == DK_TRACER);
static_assert((dk::keyset(DK_CPU) & DK_CUDA).bits == 0x10000);
static_assert((dk::keyset(DK_CPU) ^ DK_CUDA).bits == 3);
static_assert((dk::keyset(DK_CPU) - DK_CPU).bits == 1);
static_assert(dk::keyset(DK_CPU).remove(DK_CPU) != dk::keyset());
static_assert(dk::keyset().add(DK_CPU).remove_backend(DK_BACKEND_CPU).key() ==
	      DK_START_OF_DENSE_BACKENDS);
static_assert(dk::keyset().empty() && !dk::keyset().backend());
static_assert(dk::keyset(DK_CPU).has(DK_DENSE) && !dk::keyset(DK_CPU).has(DK_CUDA));
static_assert(dk::keyset(DK_AUTOGRAD_CPU).has_any(DK_CPU));
static_assert(dk::keyset::after(DK_TRACER).has(DK_CPU));
static_assert(dk::autograd_keys.bits == 0x3800000000);
static_assert(DK_KEY_BITS(DK_QUANTIZED_CUDA) == dk::keyset(DK_QUANTIZED_CUDA).bits);
static_assert(sizeof(dk::keyset) == sizeof(dk_keyset));

/* Compares every key, and sets of all indexes, with the library's functions. */
static void keysets_as_in_c()
{
	__u64 state = 1;

	for (int k = 0; k <= DK_END_OF_ALIAS_KEYS; k++) {
		const dk_key key = static_cast<dk_key>(k);

		CHECK(dk::keyset(key).bits == dk_key_set(nullptr, key).bits);
		CHECK(dk::keyset::after(key).bits == dk_keyset_after(nullptr, key).bits);
	}
	/* also numbers that are not backends, which have no bit */
	for (unsigned int b = 0; b <= DK_NUM_BACKENDS + 2; b++)
		CHECK(dk::keyset(static_cast<dk_backend>(b)).bits ==
		      dk_backend_set(nullptr, b).bits);
	for (int i = 0; i < 20000; i++) {
		dk::keyset sets[2];

		for (auto &s : sets) {
			state = state * 6364136223846793005ULL + 1442695040888963407ULL;
			s.bits = state ^ state >> 29;
			s.bits &= i % 3 ? DK_FULL >> (state >> 58) : ~0ULL;
		}
		const auto a = sets[0], b = sets[1];
		const auto key = static_cast<dk_key>((state >> 33) % (DK_END_OF_ALIAS_KEYS + 1));
		const auto backend = static_cast<dk_backend>(1 + (state >> 40) % DK_NUM_BACKENDS);

		CHECK((a | b).bits == dk_keyset_or(a, b).bits);
		CHECK((a & b).bits == dk_keyset_and(a, b).bits);
		CHECK((a ^ b).bits == dk_keyset_xor(a, b).bits);
		CHECK((a - b).bits == dk_keyset_sub(nullptr, a, b).bits);
		CHECK(a.has_all(b) == !!dk_keyset_has_all(a, b));
		CHECK((a | b).has_all(b));
		CHECK(a.has_any(b) == !!dk_keyset_has_any(a, b));
		CHECK(a.key() == dk_keyset_key(nullptr, a));
		CHECK(a.slot() == dk_keyset_slot(nullptr, a));
		CHECK(a.backend() == dk_keyset_backend(nullptr, a));
		CHECK(a.functionality() == dk_keyset_functionality(nullptr, a));
		CHECK(a.remove(key).bits == dk_keyset_remove(nullptr, a, key).bits);
		CHECK(dk::keyset(backend).bits == dk_backend_set(nullptr, backend).bits);
		CHECK(a.remove_backend(backend).bits ==
		      dk_keyset_remove_backend(nullptr, a, backend).bits);
	}
}

static void keysets_walk_and_print()
{
	const dk::keyset ks{ DK_CUDA, DK_AUTOGRAD_CPU, DK_TRACER };
	const dk_key expected[] = { DK_CPU, DK_CUDA, DK_AUTOGRAD_CPU, DK_AUTOGRAD_CUDA,
				    DK_TRACER };
	char text[256];
	dk::keyset again;
	std::size_t n = 0;

	for (dk_key key : ks)
		CHECK(n < 5 && key == expected[n++]);
	CHECK(n == 5);
	CHECK(ks.print(text, sizeof(text)) < sizeof(text));
	CHECK(dk::keyset::parse(text, again) && again == ks);
	dk::result r = dk::keyset::parse("CPU|Nonsense", again);
	CHECK(!r && r.error == -EINVAL && again == ks);
	CHECK(!std::strcmp(r.name(), "Nonsense") && *r.text());
}

static void keysets_in_containers()
{
	const dk::keyset ks{ DK_CUDA, DK_TRACER };
	const std::vector<dk_key> keys(ks.begin(), ks.end());
	std::unordered_set<dk::keyset> hashed{ ks, DK_CPU, ks };
	std::set<dk::keyset> sorted{ ks, DK_CPU, ks };
	std::ostringstream out, full;

	CHECK(keys.size() == 2 && keys[0] == DK_CUDA && keys[1] == DK_TRACER);
	CHECK(std::count(ks.begin(), ks.end(), DK_TRACER) == 1);
	auto it = ks.begin();
	CHECK(*it++ == DK_CUDA && *it == DK_TRACER && ++it == ks.end());
	CHECK(hashed.size() == 2 && hashed.count(ks) == 1);
	CHECK(sorted.size() == 2 && *sorted.begin() == DK_CPU);
	out << ks << '.';
	CHECK(out.str() == "DispatchKeySet(CUDA, Tracer).");
	full << dk::keyset::from_raw(~0ULL);
	CHECK(full.str().back() == ')');
}

/* ---- guards ------------------------------------------------------------------- */

static bool words(__u64 included, __u64 excluded)
{
	return dk_local_included(&dk::local()).bits == included &&
	       dk_local_excluded(&dk::local()).bits == excluded;
}

static void guards()
{
	const __u64 in = 0x404000000, ex = 0x1ff8000000000;
	const __u64 tracer = dk::keyset(DK_TRACER).bits;

	CHECK(words(in, ex));
	{
		dk::include guard(DK_META);

		CHECK(words(in | dk::keyset(DK_META).bits, ex));
		dk_local_exclude(&dk::local(), dk::keyset(DK_TRACER));
	}
	CHECK(words(in, ex | tracer));		/* the excluded set is not changed */
	dk_local_set_excluded(&dk::local(), DK_TRACER, 0);
	{
		dk::exclude guard(DK_TRACER);

		CHECK(words(in, ex | tracer));
		dk_local_include(&dk::local(), dk::keyset(DK_TRACER));
	}
	CHECK(words(in | tracer, ex));
	{
		dk::force guard(DK_TRACER, DK_CPU);

		CHECK(words(tracer, 0x10001));
	}
	CHECK(words(in | tracer, ex));
	dk_local_set_included(&dk::local(), DK_TRACER, 0);
	{
		dk::include one({ DK_TRACER }), two({ DK_TRACER, DK_META });
		dk::exclude other({ DK_TRACER }), again{ { DK_TRACER } };

		CHECK(words(in | tracer | dk::keyset(DK_META).bits, ex | tracer));
	}
	CHECK(words(in, ex));
	{
		dk::preserve guard;

		dk_local_set(&dk::local(), dk::keyset(), dk::keyset());
		CHECK(words(0, 0));
	}
	CHECK(words(in, ex));
	{
		dk::below_autograd guard;

		CHECK(words(in, 0x1ffb800000000));
	}
	{
		dk::below_adinplace_or_view guard;

		CHECK(words(in, 0x1ffbc00000000));
	}
	{
		dk::skip_functionalize guard;

		CHECK(words(in, ex | dk::keyset(DK_FUNCTIONALIZE).bits));
	}
	{
		dk::inference_mode on(true);

		CHECK(words(0x4000000, 0x1ffb800000000));
		dk::inference_mode off(false);
		CHECK(words(in, ex));
	}
	CHECK(words(in, ex));
	{
		dk::autocast on(DK_BACKEND_CPU);

		CHECK(words(in, ex & ~dk::keyset(DK_AUTOCAST_CPU).bits));
		dk::set_excluded guard(DK_AUTOCAST_CPU, true);
		CHECK(words(in, ex));
	}
	CHECK(words(in, ex));

	dk_local mine = dk_local_default;
	{
		dk::include guard(DK_TRACER, mine);

		CHECK(dk_local_is_included(&mine, DK_TRACER) && words(in, ex));
	}
	CHECK(!dk_local_is_included(&mine, DK_TRACER));
}

/* ---- operators ------------------------------------------------------------------ */

struct tensor : dk_obj {
	int id;
};

struct odd {
	int id;
	dk_obj hidden;
};

template <> struct dk::object<odd> {
	static constexpr bool is = true;
	static const dk_obj *of(const odd &x) { return &x.hidden; }
};

template <> struct dk::object<std::shared_ptr<tensor>> {
	static constexpr bool is = true;
	static const dk_obj *of(const std::shared_ptr<tensor> &x) { return x.get(); }
};

/*
 * Calls with a pair dispatch on its member on_cpu, because dk::object is specialised below. Without
 * that, they would dispatch on the member dk.
 */
struct pair_of {
	dk_obj on_cpu, dk;
};

using pair_reference = std::reference_wrapper<pair_of>;
using maybe_pair = std::optional<pair_of>;

template <> struct dk::object<pair_reference> {
	static constexpr bool is = true;
	static const dk_obj *of(const pair_reference &x) { return &x.get().on_cpu; }
};

template <> struct dk::object<maybe_pair> {
	static constexpr bool is = true;
	static const dk_obj *of(const maybe_pair &x) { return x ? &x->on_cpu : nullptr; }
};

struct opaque;
template <> struct dk::object<opaque> {
	static constexpr bool is = false;
};

/* dk::object is specialised for these types, so the member dk or the base is not used. */
struct with_member {
	dk_obj other;
	dk_obj dk;
};

struct head {
	long id;
};

struct with_base : head, dk_obj {};

template <> struct dk::object<with_member> {
	static constexpr bool is = true;
	static constexpr std::size_t offset = 0;
	static const dk_obj *of(const with_member &x) { return &x.other; }
};

template <> struct dk::object<with_base> {
	static constexpr bool is = true;
	static constexpr std::size_t offset = sizeof(head);
	static const dk_obj *of(const with_base &x) { return &x; }
};

/* An abstract class, from which each backend derives its own tensor class. */
struct any_tensor : dk_obj {
	explicit any_tensor(dk_backend backend) : dk_obj(dk_obj_on(backend, 0)) {}
	virtual int place() const = 0;

protected:
	~any_tensor() = default;
};

struct host_tensor final : any_tensor {
	host_tensor() : any_tensor(DK_BACKEND_CPU) {}
	int place() const override { return 1; }
};

struct card_tensor final : any_tensor {
	card_tensor() : any_tensor(DK_BACKEND_CUDA) {}
	int place() const override { return 2; }
};

static tensor on_cpu(int id)
{
	return { dk_obj_on(DK_BACKEND_CPU, 0), id };
}

static tensor on_cuda(int id)
{
	return { dk_obj_on(DK_BACKEND_CUDA, 0), id };
}

static dk::op<int(tensor &, const tensor &, int *)> add{ "t::add" };
static dk::op<int(tensor &, const tensor &, int *), dk::on<1>> second{ "t::second" };
static dk::op<int(const odd *, std::optional<tensor *>, dk::list<tensor>,
		  const std::vector<tensor *> &, opaque *, int *)> many{ "t::many" };
static dk::op<int()> nothing{ "t::nothing" };

static int add_7(dk_call *, tensor &out, const tensor &a, int *served_by)
{
	*served_by = 7;
	out.id += a.id;
	return 0;
}

static void typed_calls()
{
	tensor x = on_cpu(1), y = on_cpu(2), z = on_cuda(3);
	int served_by = 0, calls = 0;

	CHECK(add(x, y, &served_by) == -ENOENT);
	auto defined = add.define();
	CHECK(defined && defined.status() && !*defined.status().text() && !*dk::result().text());
	CHECK(add(x, y, &served_by) == -ENOSYS);

	auto cpu = add.impl(DK_CPU, add_7);
	auto cuda = add.impl(DK_CUDA, [&calls](tensor &, const tensor &, int *by) {
		*by = 8;
		return ++calls;
	});
	auto tracer = add.impl(DK_TRACER, [&](dk_call *c, tensor &out, const tensor &a, int *by) {
		calls += 10;
		add.below(c, out, a, by);
		return add.redispatch(c, DK_CPU, out, a, by);
	});
	CHECK(cpu && cuda && tracer);
	CHECK(add(x, y, &served_by) == 0 && served_by == 7 && x.id == 3);
	/* the call dispatches on both x and z, and returns the result of the function */
	CHECK(add(x, z, &served_by) == 1 && served_by == 8 && calls == 1);
	{
		dk::include guard(DK_TRACER);

		CHECK(add(x, y, &served_by) == 0 && x.id == 7 && calls == 11);
	}
	dk_local with = dk_local_default;
	dk_local_include(&with, dk::keyset(DK_TRACER));
	CHECK(add.in(with, x, y, &served_by) == 0 && x.id == 11 && calls == 21);

	dk::handle held("t::add"), none("t::nobody");
	CHECK(held && !none);
	CHECK(add.at(held, dk_local_default, x, y, &served_by) == 0 && x.id == 13);
	CHECK(add.at(none, dk_local_default, x, y, &served_by) == -ENOENT);

	auto again = add.define();
	CHECK(!again && again.status().error == -EEXIST && *again.status().text());
	auto bad = add.impl(static_cast<dk_key>(4000), add_7);
	CHECK(!bad && bad.status().error == -EINVAL);

	auto passes = add.fallthrough(DK_TRACER);	/* overrides the tracer, which is older */
	CHECK(passes && add.in(with, x, y, &served_by) == 0 && calls == 21);
	CHECK(passes.release() == 0 && add.in(with, x, y, &served_by) == 0 && calls == 31);
	CHECK(cuda.release() == 0 && add(x, z, &served_by) == -ENOSYS);
	CHECK(cuda.release() == 0);
}

/* Messages and dumps contain the place of a definition. */
static void places_of_definitions()
{
	const int line = __LINE__ + 1;
	auto defined = add.define({ "t::add(Tensor(a!) out, Tensor a) -> int" });
	auto again = add.define();
	char text[1024];

	const std::string at = "cxx_test.cpp:" + std::to_string(line);
	CHECK(again.status().name() ==
	      "t::add: " + at + " -> cxx_test.cpp:" + std::to_string(line + 1));
	dk::handle held("t::add");
	dk_op_dump(held.get(), text, sizeof(text));
	CHECK(std::strstr(text, ("\ndebug: " + at + "\n").c_str()));

	dk::define_options here;
	here.debug = DK_HERE;
	auto other = second.define(here), twice = second.define();
	const std::string expected = std::string("t::second: ") + here.debug;
	CHECK(std::strstr(twice.status().name(), expected.c_str()));
}

static void no_arguments()
{
	auto defined = nothing.define();
	auto any = nothing.impl(DK_UNDEFINED, [] { return 5; });

	CHECK(defined && any && nothing() == 5);
}

/* Operators dispatch on chosen parameters, on optional ones, and on lists. */
static void dispatched_on()
{
	tensor x = on_cpu(1), y = on_cuda(2);
	odd o{ 1, dk_obj_on(DK_BACKEND_XPU, 0) };
	std::vector<tensor *> none, few{ &x, nullptr, &y }, lots(100, &x);
	tensor pair[] = { on_cpu(3), on_cuda(4) };
	int served_by = 0;

	auto defined = second.define();
	auto cpu = second.impl(DK_CPU, add_7);
	CHECK(second(y, x, &served_by) == 0 && served_by == 7);
	CHECK(second(x, y, &served_by) == -ENOSYS);

	auto put = [](int by) {
		return [by](const odd *, std::optional<tensor *>, dk::list<tensor>,
			    const std::vector<tensor *> &, opaque *, int *at) {
			*at = by;
			return 0;
		};
	};
	auto many_defined = many.define();
	auto many_cpu = many.impl(DK_CPU, put(1)), many_cuda = many.impl(DK_CUDA, put(2));
	auto many_xpu = many.impl(DK_XPU, put(3)), many_none = many.impl(DK_UNDEFINED, put(4));
	CHECK(many_cpu && many_cuda && many_xpu && many_none);
	CHECK(!many(nullptr, std::nullopt, {}, none, nullptr, &served_by) && served_by == 4);
	CHECK(!many(nullptr, &x, {}, none, nullptr, &served_by) && served_by == 1);
	CHECK(!many(nullptr, &x, { pair, 1 }, none, nullptr, &served_by) && served_by == 1);
	CHECK(!many(nullptr, &x, { pair, 2 }, none, nullptr, &served_by) && served_by == 2);
	CHECK(!many(nullptr, std::nullopt, {}, few, nullptr, &served_by) && served_by == 2);
	CHECK(!many(nullptr, std::nullopt, {}, lots, nullptr, &served_by) && served_by == 1);
	lots.push_back(&y);	/* decides, although it is the last item of a long list */
	CHECK(!many(nullptr, std::nullopt, {}, lots, nullptr, &served_by) && served_by == 2);
	CHECK(!many(&o, &y, {}, lots, nullptr, &served_by) && served_by == 3);
}

static int passes_on(dk_call *c, void *args)
{
	return dk_redispatch_boxed(c, dk_call_below(c), args);
}

static int four(const tensor &)
{
	return 4;
}

static int reads(const tensor &t, const int &n)
{
	return t.id + n;
}

static int reads_in_call(dk_call *, const tensor &t, int n)
{
	return 10 * (t.id + n);
}

/* An operator may be const, or a member of a const object. */
static void const_operators()
{
	static const dk::op<int(const tensor &)> twice{ "t::twice" };
	static const struct {
		dk::op<int(const tensor &)> half{ "t::half" };
	} ops;
	const tensor x = on_cpu(1), y = on_cuda(2);
	auto twice_defined = twice.define(), half_defined = ops.half.define();
	auto twice_cpu = twice.impl(DK_CPU, [](const tensor &) { return 2; });
	auto twice_below = twice.impl(DK_AUTOGRAD_CPU, [](dk_call *c, const tensor &t) {
		return 10 + twice.below(c, t);
	});
	auto half_cuda = ops.half.boxed(DK_CUDA, [](dk_call *, void *) { return 3; });
	dk::library more(DK_LIBRARY_IMPL, "t");

	CHECK(twice_defined && half_defined && twice_cpu && twice_below && half_cuda);
	for (int i = 0; i < 2; i++) {
		CHECK(twice(x) == 2 && twice(y) == -ENOSYS && ops.half(y) == 3);
		CHECK(twice.by_keyset({ DK_CPU, DK_AUTOGRAD_CPU }, x) == 12);
		CHECK(twice.route(x) && !ops.half.route(x));
	}
	CHECK(more.impl<four>(twice, DK_CUDA) && twice(y) == 4);

	/* as in op::impl(), a parameter may be const although that of the operator is not */
	static const dk::op<int(tensor &, int)> stores{ "t::stores" };
	tensor z = on_cpu(3), on_xpu{ dk_obj_on(DK_BACKEND_XPU, 0), 4 };
	auto stores_defined = stores.define();
	auto stores_cpu = stores.impl<reads>(DK_CPU);
	CHECK(stores_cpu && more.impl<reads>(stores, DK_CUDA) &&
	      more.impl<reads_in_call>(stores, DK_XPU));
	CHECK(stores(z, 2) == 5);
	z.ks = y.ks;
	CHECK(stores(z, 2) == 5 && stores(on_xpu, 2) == 60);
	CHECK(!std::strcmp(stores.make_impl<reads>(DK_CPU).label, "reads"));
	twice_defined = {};
	CHECK(twice(x) == -ENOENT);
}

/* A specialisation of dk::object for a std::optional or std::reference_wrapper is used. */
static void specialised_wrappers()
{
	static dk::op<int(pair_reference, const maybe_pair &)> pairs{ "t::pairs" };
	pair_of x{ dk_obj_on(DK_BACKEND_CPU, 0), dk_obj_on(DK_BACKEND_CUDA, 0) };
	auto defined = pairs.define();
	auto cpu = pairs.impl(DK_CPU, [](pair_reference, const maybe_pair &) { return 1; });

	CHECK(pairs(x, std::nullopt) == 1 && pairs(x, x) == 1);
}

/* Calls dispatch on references in objects, on arrays, and on lists in braces. */
static void references_and_arrays()
{
	using reference = std::reference_wrapper<const tensor>;
	using braces = std::initializer_list<const tensor *>;
	static dk::op<int(std::optional<reference>, const std::vector<reference> &,
			  tensor (&)[2], const braces &)> refer{ "t::refer" };
	const tensor x = on_cpu(1), y = on_cuda(2);
	tensor xs[] = { x, x }, ys[] = { x, y };
	auto defined = refer.define();
	auto cpu = refer.impl(DK_CPU, [](std::optional<reference>, const std::vector<reference> &,
					 tensor (&)[2], const braces &) { return 1; });
	auto cuda = refer.impl(DK_CUDA, [](std::optional<reference>, const std::vector<reference> &,
					   tensor (&)[2], const braces &) { return 2; });

	CHECK(refer(std::nullopt, {}, xs, {}) == 1);
	CHECK(refer(y, {}, xs, {}) == 2);
	CHECK(refer(x, { x, y }, xs, {}) == 2);
	CHECK(refer(x, { x, x }, ys, {}) == 2);
	CHECK(refer(x, { x, x }, xs, { &x, nullptr }) == 1);
	CHECK(refer(x, { x, x }, xs, { &x, &y }) == 2);
}

/* Calls dispatch on a smart pointer if dk::object is specialised for it. */
static void smart_pointers()
{
	using pointer = std::shared_ptr<tensor>;
	static dk::op<int(const pointer &, const std::vector<pointer> &)> smart{ "t::smart" };
	auto x = std::make_shared<tensor>(on_cpu(1)), y = std::make_shared<tensor>(on_cuda(2));
	auto defined = smart.define();
	auto cpu = smart.impl(DK_CPU, [](const pointer &, const std::vector<pointer> &) {
		return 1;
	});
	auto cuda = smart.impl(DK_CUDA, [](const pointer &, const std::vector<pointer> &) {
		return 2;
	});

	CHECK(smart(x, {}) == 1 && smart(y, {}) == 2 && smart(x, { nullptr, y }) == 2);
	CHECK(smart(nullptr, { x }) == 1 && smart(nullptr, {}) == -ENOSYS);
}

static void volatile_parameters()
{
	static dk::op<int(const tensor &, volatile int &)> watches{ "t::watches" };
	volatile int n = 3;
	auto defined = watches.define();
	auto cpu = watches.impl(DK_CPU, [](const tensor &, volatile int &at) {
		at = 4;
		return 4;
	});
	auto boxed = watches.boxed(DK_TRACER, passes_on);
	dk::include guard(DK_TRACER);

	CHECK(watches(on_cpu(1), n) == 4 && n == 4);
}

/* Types that are lists of themselves, or pointers to themselves. */
struct json {
	std::vector<json> kids;
	const json *data() const { return kids.data(); }
	std::size_t size() const { return kids.size(); }
};

template <class T> struct node {
	T value;
	const node *operator->() const { return this; }
};

static void recursive_types()
{
	static dk::op<int(const tensor &, const json &, const node<int> &)> recurse{ "t::recurse" };
	auto defined = recurse.define();
	auto cpu = recurse.impl(DK_CPU, [](const tensor &, const json &j, const node<int> &n) {
		return static_cast<int>(j.size()) + n->value;
	});

	CHECK(recurse(on_cpu(1), { { {}, {} } }, { 3 }) == 5);
}

struct counted {
	static std::atomic<int> alive;

	counted() { alive++; }
	counted(const counted &) { alive++; }
	counted(counted &&) noexcept { alive++; }
	~counted() { alive--; }
};
std::atomic<int> counted::alive;

/* Calls with a given keyset: redispatches from outside a call. */
static void by_keyset()
{
	tensor x = on_cpu(1), y = on_cuda(2);
	int served_by = 0;
	auto defined = add.define();
	auto cpu = add.impl<add_7>(DK_CPU);
	auto cuda = add.impl(DK_CUDA, [](tensor &, const tensor &, int *by) {
		*by = 8;
		return 0;
	});
	auto tracer = add.impl(DK_TRACER, [](dk_call *c, tensor &out, const tensor &a, int *by) {
		CHECK(c->ks.bits == (dk::keyset(DK_CUDA) | DK_TRACER).bits);
		return add.below(c, out, a, by);
	});

	/* neither the objects' keys nor local state is used */
	dk::include guard(DK_TRACER);
	CHECK(add.by_keyset(DK_CPU, y, y, &served_by) == 0 && served_by == 7);
	CHECK(add.by_keyset(DK_CUDA, x, x, &served_by) == 0 && served_by == 8);
	CHECK(add.by_keyset({ DK_CUDA, DK_TRACER }, x, x, &served_by) == 0 && served_by == 8);
	CHECK(add.by_keyset(DK_XPU, x, x, &served_by) == -ENOSYS);
	dk::handle h("t::add"), none("t::nobody");
	CHECK(add.by_keyset_at(h, dk::local(), DK_CPU, y, y, &served_by) == 0 && served_by == 7);
	CHECK(add.by_keyset_at(none, dk::local(), DK_CPU, y, y, &served_by) == -ENOENT);
}

static void error_sentences()
{
	tensor x = on_cpu(1);
	int served_by = 0;

	CHECK(!std::strcmp(dk::error_text(add(x, x, &served_by)), "the operator is not defined"));
	auto defined = add.define();
	CHECK(!std::strcmp(dk::error_text(add(x, x, &served_by)), "no function serves this route"));
	auto cpu = add.impl(DK_CPU, [](tensor &, const tensor &, int *) { return -EIO; });
	CHECK(!std::strcmp(dk::error_text(add(x, x, &served_by)),
			   "the function returned an error of its own"));
	CHECK(!std::strcmp(dk::error_text(0), "no error"));
}

/* The routes of calls, and the labels of functions. */
static void routes_and_labels()
{
	tensor x = on_cpu(1), y = on_cuda(1);
	auto named = [](const dk::route &r, const char *label) {
		return !std::strcmp(r.entry.label, label);
	};

	CHECK(add.route(x, x, nullptr).error == -ENOENT);
	auto defined = add.define();
	auto cpu = add.impl<add_7>(DK_CPU);
	const int line = __LINE__ + 1;
	auto cuda = add.impl(DK_CUDA, [](tensor &, const tensor &, int *) { return 0; });
	auto xpu = add.impl(DK_XPU, add_7, { "seven on XPU" });
	char at[DK_NAME_MAX];

	std::snprintf(at, sizeof(at), "cxx_test.cpp:%d", line);
	dk::route r = add.route(x, x, nullptr);
	CHECK(r && named(r, "add_7") && r.effective == dk::keyset(DK_CPU));
	CHECK(named(add.route(x, y, nullptr), at));
	CHECK(add.route_at(dk::handle("t::add"), dk::local(), x, x, nullptr));
	x.ks = dk::keyset(DK_XPU);
	CHECK(named(add.route(x, x, nullptr), "seven on XPU"));
	x.ks = dk::keyset(DK_VE);
	CHECK(add.route(x, x, nullptr).error == -ENOSYS);
}

/* A long label ends in "..." after a whole character, as in C. */
static void long_labels()
{
	tensor x = on_cpu(1);
	dk::impl_options how;
	std::string label;

	for (int i = 0; i < DK_NAME_MAX; i++)
		label += "\u00e9";
	how.label = label.c_str();
	auto defined = add.define();
	auto cpu = add.impl<add_7>(DK_CPU, how);
	CHECK(add.route(x, x, nullptr).entry.label == label.substr(0, 124) + "...");
	how.label += label.size() - (DK_NAME_MAX - 2);
	cpu = add.impl<add_7>(DK_CPU, how);
	CHECK(!std::strcmp(add.route(x, x, nullptr).entry.label, how.label));
}

/* A NULL pointer to a function and an empty std::function are refused, whatever their types. */
static void null_functions()
{
	int (*plain)(tensor &, const tensor &, int *) = nullptr;
	int (*with_call)(dk_call *, tensor &, const tensor &, int *) = nullptr;
	int (*boxed)(dk_call *, void *) = nullptr;
	std::function<int(tensor &, const tensor &, int *)> empty;
	std::function<int(dk_call *, void *)> empty_boxed;
	dk::listener listens{ std::function<void(const dk_event &)>() };
	auto defined = add.define();
	const dk::registration refused[] = {
		add.impl(DK_CPU, plain), add.impl(DK_CPU, with_call), add.boxed(DK_CPU, boxed),
		dk::fallback(DK_CPU, boxed), add.impl(DK_CPU, empty),
		add.boxed(DK_CPU, empty_boxed), dk::fallback(DK_CPU, empty_boxed),
	};

	CHECK(!listens && listens.status().error == -EINVAL &&
	      listens.status().why.reason == DK_WHY_NO_LISTENER);

	for (const auto &one : refused)
		CHECK(!one && one.status().error == -EINVAL &&
		      one.status().why.reason == DK_WHY_NO_FUNCTION);
}

namespace elsewhere {

template <class T> [[maybe_unused]] bool is_null(const T &) { return true; }

struct answers {
	int operator()(dk_call *, void *) const { return 5; }
	int operator()() const { return 6; }
};

} /* namespace elsewhere */

/* The header does not use functions of the namespace of a function object. */
static void functions_of_other_namespaces()
{
	auto defined = nothing.define();
	auto function = nothing.impl(DK_TRACER, elsewhere::answers());
	auto boxed = nothing.boxed(DK_PYTHON, elsewhere::answers());
	dk::include python(DK_PYTHON);

	CHECK(nothing() == 5);
	dk::include tracer(DK_TRACER);
	CHECK(nothing() == 6);
}

template <class T> struct pack {
	static int of(tensor &, const tensor &, int *) { return 0; }
	template <class U> static int twice(tensor &, const tensor &, int *) { return 0; }
};
inline constexpr int (*nameless)(tensor &, const tensor &, int *) =
	[](tensor &, const tensor &, int *) { return 0; };
inline constexpr int (*nameless_boxed)(dk_call *, void *) = [](dk_call *, void *) { return 0; };

/* The label of a function that is a template argument is its name, and a lambda's is FILE:LINE. */
static void labels_of_templates()
{
	tensor x = on_cpu(1);
	auto label_is = [&](const std::string &label) {
		return CHECK(label == add.route(x, x, nullptr).entry.label);
	};
	auto at = [](int line) { return "cxx_test.cpp:" + std::to_string(line); };
	auto defined = add.define();

	{
		auto cpu = add.impl<&pack<int>::of>(DK_CPU);
		CHECK(label_is("of"));
	}
	{
		auto cpu = add.impl<&pack<pack<int>>::twice<pack<long>>>(DK_CPU);
		CHECK(label_is("twice"));
	}
	{
		auto cpu = add.impl<nameless>(DK_CPU);
		CHECK(label_is(at(__LINE__ - 1)));
	}
	{
		auto cpu = add.boxed<nameless_boxed>(DK_CPU);
		CHECK(label_is(at(__LINE__ - 1)));
	}
	{
		auto cpu = dk::fallback<nameless_boxed>(DK_CPU);
		CHECK(label_is(at(__LINE__ - 1)));
	}
	dk::library l(DK_LIBRARY_IMPL, "t", DK_CPU);
	const int line = __LINE__ - 1;
	CHECK(l.impl<nameless>(add) && label_is(at(line)));
}

/* A route fails with the same error as the call. */
static void routes_of_another_type()
{
	static dk::op<int(tensor &)> other{ "t::add" };
	tensor x = on_cpu(1);
	auto defined = add.define();
	auto cpu = add.impl<add_7>(DK_CPU);
	dk::handle h("t::add");

	CHECK(other.at(h, dk::local(), x) == -EPROTOTYPE);
	CHECK(other.route_at(h, dk::local(), x).error == -EPROTOTYPE);
	CHECK(other.route(x).error == -EPROTOTYPE);
	CHECK(add.route_at(h, dk::local(), x, x, nullptr));
}

/* A class with an operator new that hides placement new. */
struct allocates {
	int n;

	static void *operator new(std::size_t size) { return ::operator new(size); }
};

/* These arguments, too, are passed to boxed functions, and compile without a warning. */
static void copied_arguments()
{
	static dk::op<int(const tensor &, allocates, std::initializer_list<int>)> sums{ "t::sums" };
	const tensor x = on_cpu(1);
	auto defined = sums.define();
	auto cpu = sums.impl(DK_CPU, [](const tensor &t, allocates a, auto numbers) {
		return t.id + a.n + *numbers.begin();
	});
	auto boxed = sums.boxed(DK_TRACER, passes_on);
	dk::include guard(DK_TRACER);

	CHECK(sums(x, { 20 }, { 300 }) == 321);
}

/* Boxed functions read the arguments of C++ callers. */
static void described_arguments()
{
	static dk::op<int(const tensor &, const vec *, const char *, bool, short, unsigned long,
			  float, double, dk_list, dk_generator *, int *)> all{ "t::all" };
	tensor x = on_cpu(1);
	const tensor *items[] = { &x, nullptr };
	vec v{ dk_obj_on(DK_BACKEND_CPU, 0), 0 };
	dk_list list = {};
	int out = 0, seen = 0;

	auto defined = all.define();
	auto cpu = all.impl(DK_CPU, [](const tensor &, const vec *, const char *, bool, short,
				       unsigned long, float, double, dk_list, dk_generator *,
				       int *at) { return ++*at, 0; });
	auto boxed = all.boxed(DK_TRACER, [&](dk_call *c, void *args) {
		const dk_arg_kind kinds[] = {
			DK_ARG_OBJECT, DK_ARG_OBJECT, DK_ARG_STRING, DK_ARG_BOOL, DK_ARG_INT,
			DK_ARG_UINT, DK_ARG_FLOAT, DK_ARG_DOUBLE, DK_ARG_LIST,
			DK_ARG_GENERATOR, DK_ARG_POINTER,
		};
		dk_value value;

		for (unsigned int i = 0; i < 11; i++) {
			CHECK(dk_arg_get(dk_call_described(c), args, i, &value) == 0);
			CHECK(value.kind == static_cast<__u32>(kinds[i]));
			if (i == 0)
				CHECK(value.obj == &x);
			if (i == 1)
				CHECK(value.obj == &v.dk);
			if (i == 2)
				CHECK(!std::strcmp(value.str, "text"));
			if (i == 4)
				CHECK(value.i == -4);
			if (i == 8)
				CHECK(value.list.n == 2 && dk_list_at(&value.list, 0) == &x);
			if (i == 10)
				CHECK(value.ptr == &out);
		}
		CHECK(dk_arg_get(dk_call_described(c), args, 11, &value) == -ENOENT);
		CHECK(dk_arg_find(dk_call_described(c), "_10") == 10);
		seen++;
		return dk_redispatch_boxed(c, dk_call_below(c), args);
	});
	CHECK(defined && cpu && boxed);
	dk_list_init(&list, items, 2, 0);
	dk::include guard(DK_TRACER);
	CHECK(all(x, &v, "text", true, -4, 5, 6.f, 7., list, nullptr, &out) == 0);
	CHECK(seen == 1 && out == 1);

	/* a boxed call with packed arguments, as an interpreter makes it */
	dk_value values[11] = {};
	alignas(16) unsigned char args[256];
	const dk_arg_kind kinds[] = {
		DK_ARG_OBJECT, DK_ARG_OBJECT, DK_ARG_STRING, DK_ARG_BOOL, DK_ARG_INT,
		DK_ARG_UINT, DK_ARG_FLOAT, DK_ARG_DOUBLE, DK_ARG_LIST, DK_ARG_GENERATOR,
		DK_ARG_POINTER,
	};
	for (int i = 0; i < 11; i++)
		values[i].kind = kinds[i];
	values[0].obj = &x;
	values[1].obj = &v.dk;
	values[2].str = "text";
	values[4].i = -4;
	values[8].list = list;
	values[10].ptr = &out;
	CHECK(all.decl()->args_size <= sizeof(args));
	CHECK(dk_args_pack(all.decl(), values, 11, args, sizeof(args), nullptr) == 0);
	CHECK(dk_call_boxed(nullptr, all.decl(), &dk::local(), args) == 0);
	CHECK(seen == 2 && out == 2);
}

/*
 * A boxed call with NULL for a reference fails, whether the functions that read the arguments are
 * those of the caller's declaration or those of the definition's.
 */
static void missing_references()
{
	static dk::op<int(const tensor &, const tensor &, int &)> refers{ "t::refers" };
	tensor x = on_cpu(1);
	int n = 2;
	auto defined = refers.define();
	auto cpu = refers.impl(DK_CPU, [](const tensor &, const tensor &y, int &at) {
		return y.id + at;
	});
	dk_op_decl described = *refers.decl();
	dk::handle h("t::refers");

	described.unbox = nullptr;
	described.extract = nullptr;
	for (dk_op_decl *decl : { refers.decl(), &described }) {
		struct {
			tensor *x, *y;
			int *n;
		} args{ &x, &x, &n };
		auto call = [&] { return dk_call_boxed(h.get(), decl, &dk::local(), &args); };

		CHECK(call() == 3);
		args.y = nullptr;
		CHECK(call() == -EINVAL);
		args = { &x, &x, nullptr };
		CHECK(call() == -EINVAL);
	}
	const dk_impl plain = refers.make_impl(DK_CUDA, [](const tensor &, const tensor &,
							   int &at) { return at; });
	dk_provider prov = DK_PROVIDER("plain");
	struct {
		tensor *x, *y;
		int *n;
	} args{ &x, &x, nullptr };
	CHECK(dk_provider_register(&prov, nullptr) == 0);
	CHECK(dk_impls_register(&prov, &plain, 1, nullptr) == 0);
	x.ks = dk::keyset(DK_CUDA);
	CHECK(dk_call_boxed(h.get(), &described, &dk::local(), &args) == -EINVAL);
	args.n = &n;
	CHECK(dk_call_boxed(h.get(), &described, &dk::local(), &args) == 2);
	CHECK(dk_provider_unregister(&prov) == 0);
}

/* The offset in dk::object is used, not a member or base of the type. */
static void offsets()
{
	static dk::op<int(const with_member *, const with_base &)> both{ "t::both" };
	with_member m{ dk_obj_on(DK_BACKEND_CPU, 0), dk_obj_on(DK_BACKEND_CUDA, 0) };
	with_base b{};
	dk_value value;

	auto defined = both.define();
	auto cpu = both.boxed(DK_CPU, [&](dk_call *c, void *args) {
		CHECK(dk_arg_get(dk_call_described(c), args, 0, &value) == 0 && value.obj == &m.other);
		CHECK(dk_arg_get(dk_call_described(c), args, 1, &value) == 0 && value.obj == &b);
		return 5;
	});
	CHECK(defined && cpu && both(&m, b) == 5);
}

/* Types with a member dk that do not have the layout of a C struct. */
struct with_virtual {
	explicit with_virtual(dk_obj obj) : dk(obj) {}
	virtual void run() = 0;
	const dk_obj dk;

protected:
	~with_virtual() = default;
};

struct with_private : head {
	dk_obj dk;
	int get() const { return secret; }

private:
	int secret = 4;
};

static void offsets_of_members()
{
	static dk::op<int(with_virtual &, const with_private *)> both{ "t::both" };
	struct final : with_virtual {
		using with_virtual::with_virtual;
		void run() override {}
	} v{ dk_obj_on(DK_BACKEND_CPU, 0) };
	with_private p;
	dk_value value;

	p.dk = dk_obj_on(DK_BACKEND_CPU, 0);
	auto defined = both.define();
	auto cpu = both.boxed(DK_CPU, [&](dk_call *c, void *args) {
		CHECK(dk_arg_get(dk_call_described(c), args, 0, &value) == 0 &&
		      value.kind == DK_ARG_OBJECT && value.obj == &v.dk);
		CHECK(dk_arg_get(dk_call_described(c), args, 1, &value) == 0 &&
		      value.kind == DK_ARG_OBJECT && value.obj == &p.dk);
		return p.get();
	});
	CHECK(defined && cpu && both(v, &p) == 4);
}

/* Calls dispatch on an abstract class. Boxed functions get it as a plain pointer. */
static void abstract_types()
{
	static dk::op<int(const any_tensor &, const any_tensor *)> places{ "t::places" };
	host_tensor host;
	card_tensor card;
	const void *ptr = nullptr;

	auto defined = places.define();
	auto cpu = places.impl(DK_CPU, [](const any_tensor &x, const any_tensor *) {
		return x.place();
	});
	auto cuda = places.impl(DK_CUDA, [](const any_tensor &, const any_tensor *x) {
		return 10 * x->place();
	});
	auto boxed = places.boxed(DK_TRACER, [&](dk_call *c, void *args) {
		dk_value value;

		CHECK(dk_arg_get(dk_call_described(c), args, 1, &value) == 0);
		CHECK(value.kind == DK_ARG_POINTER);
		ptr = value.ptr;
		return dk_redispatch_boxed(c, dk_call_below(c), args);
	});
	CHECK(places(host, &host) == 1 && places(host, nullptr) == 1);
	CHECK(places(host, &card) == 20);
	dk::include guard(DK_TRACER);
	CHECK(places(card, &host) == 10 && ptr == &host);
}

/* Calls do not use an overloaded operator &. */
struct addressless : dk_obj {
	int id;

	void operator&() const = delete;
};

static void overloaded_address()
{
	static dk::op<int(addressless &, const addressless *)> addresses{ "t::addresses" };
	addressless x{ { dk_obj_on(DK_BACKEND_CPU, 0) }, 4 };
	auto defined = addresses.define();
	auto cpu = addresses.impl(DK_CPU, [](addressless &a, const addressless *) { return a.id; });
	auto boxed = addresses.boxed(DK_TRACER, passes_on);

	CHECK(addresses(x, nullptr) == 4);
	dk::include guard(DK_TRACER);
	CHECK(addresses(x, nullptr) == 4);
}

/* Objects in unions, and in specialisations of dk::object that are templates. */
union either {
	dk_obj dk;
	long words[8];
};
template <class T> struct wrapped {
	dk_obj dk;		/* not the object that calls dispatch on */
	dk_obj *inner;
};
template <class T> struct dk::object<wrapped<T>> {
	static constexpr bool is = true;
	static const dk_obj *of(const wrapped<T> &x) { return x.inner; }
};

static void unusual_objects()
{
	static dk::op<int(either &)> on_union{ "t::on_union" };
	static dk::op<int(wrapped<int> &)> on_wrapped{ "t::on_wrapped" };
	either x{ dk_obj_on(DK_BACKEND_CPU, 0) };
	wrapped<int> y{ dk_obj_on(DK_BACKEND_CUDA, 0), &x.dk };
	auto defined = on_union.define();
	auto also_defined = on_wrapped.define();
	auto cpu = on_union.impl(DK_CPU, [](either &) { return 1; });
	auto also_cpu = on_wrapped.impl(DK_CPU, [](wrapped<int> &) { return 2; });

	CHECK(on_union(x) == 1);
	CHECK(on_wrapped(y) == 2);
}

/* Types that are only declared, in places on which calls do not dispatch. */
struct undefined;
struct hides_its_parts {
	dk_obj dk;

	undefined *operator->() const { return nullptr; }
	undefined *data() const { return nullptr; }
};

static void undefined_types()
{
	static dk::op<int(tensor &, undefined *), dk::on<0>> takes{ "t::takes_undefined" };
	static dk::op<int(hides_its_parts &, std::optional<hides_its_parts *>, undefined **,
			  std::shared_ptr<undefined> &)> parts{ "t::parts" };
	hides_its_parts whole{ dk_obj_on(DK_BACKEND_CPU, 0) };
	std::shared_ptr<undefined> shared;
	tensor x = on_cpu(1);
	auto defined = takes.define();
	auto cpu = takes.impl(DK_CPU, [](tensor &, undefined *p) { return p ? 2 : 1; });

	auto also_defined = parts.define();
	auto also_cpu = parts.impl(DK_CPU, [](hides_its_parts &, std::optional<hides_its_parts *>,
					      undefined **, std::shared_ptr<undefined> &) {
		return 3;
	});

	CHECK(takes(x, nullptr) == 1);
	CHECK(takes.decl()->param[1].kind == DK_ARG_POINTER);
	CHECK(parts(whole, {}, nullptr, shared) == 3);
}

/* Generic lambdas whose bodies compile only with a dk_call *. */
static void generic_lambdas()
{
	static dk::op<int(tensor &, int)> scale{ "t::generic" };
	tensor x = on_cpu(1);
	auto defined = scale.define();
	auto cpu = scale.impl(DK_CPU, [](tensor &, int n) { return n; });
	auto tracer = scale.impl(DK_TRACER, [](auto c, auto &&...rest) {
		return 10 * scale.below(c, rest...);
	});
	dk::include guard(DK_TRACER);

	CHECK(scale(x, 3) == 30);
}

/* Unboxed calls dispatch on generators, boxed ones do not. */
static void generators_in_boxed_calls()
{
	static dk::op<int(const tensor &, dk_generator *)> random{ "t::random" };
	tensor x = on_cpu(1);
	dk_generator g{ dk_obj_on(DK_BACKEND_CUDA, 0) };
	dk_value values[2] = {};
	alignas(16) unsigned char args[64];

	auto defined = random.define();
	auto cpu = random.impl(DK_CPU, [](const tensor &, dk_generator *) { return 1; });
	auto cuda = random.impl(DK_CUDA, [](const tensor &, dk_generator *) { return 2; });
	values[0].kind = DK_ARG_OBJECT;
	values[0].obj = &x;
	values[1].kind = DK_ARG_GENERATOR;
	values[1].gen = &g;
	CHECK(random(x, &g) == 2);
	CHECK(dk_args_pack(random.decl(), values, 2, args, sizeof(args), nullptr) == 0);
	CHECK(dk_call_boxed(nullptr, random.decl(), &dk::local(), args) == 1);
}

/* Boxed calls also ignore a generator in a std::optional or a std::reference_wrapper. */
static void wrapped_generators_in_boxed_calls()
{
	using reference = std::reference_wrapper<dk_generator>;
	using maybe = std::optional<dk_generator *>;
	using maybe_reference = std::optional<reference>;
	using random_type = int(const tensor &, maybe, maybe_reference, reference);
	static dk::op<random_type> random{ "t::wrapped" };
	tensor x = on_cpu(1);
	dk_generator g{ dk_obj_on(DK_BACKEND_CUDA, 0) }, none{};
	auto put = [](int by) {
		return [by](const tensor &, maybe, maybe_reference, reference) { return by; };
	};
	auto defined = random.define();
	auto cpu = random.impl(DK_CPU, put(1)), cuda = random.impl(DK_CUDA, put(2));
	struct {
		const tensor *x;
		maybe a;
		maybe_reference b;
		dk_generator *c;
	} args{ &x, &g, g, &g };

	static_assert(sizeof(reference) == sizeof(args.c));
	CHECK(random(x, std::nullopt, std::nullopt, none) == 1);
	CHECK(random(x, &g, std::nullopt, none) == 2);
	CHECK(random(x, std::nullopt, g, none) == 2 && random(x, nullptr, std::nullopt, g) == 2);
	CHECK(dk_call_boxed(nullptr, random.decl(), &dk::local(), &args) == 1);
}

static void fallbacks()
{
	tensor x = on_cpu(1);
	int served_by = 0;
	auto defined = add.define();
	auto cpu = add.impl<add_7>(DK_CPU);

	x.ks = dk::keyset{ DK_CPU, DK_TRACER };
	CHECK(add(x, x, &served_by) == -ENOSYS);
	{
		auto through = dk::fallthrough(DK_TRACER);

		CHECK(through && add(x, x, &served_by) == 0);
		auto again = dk::fallthrough(DK_TRACER);
		CHECK(!again && again.status().error == -EEXIST);
	}
	auto passes = dk::fallback<passes_on>(DK_TRACER);
	CHECK(passes && add(x, x, &served_by) == 0);
	CHECK(!std::strcmp(add.route(x, x, nullptr).entry.label, "passes_on"));
}

static void schemas()
{
	auto defined = add.define({ "t::add(Tensor(a!) out, Tensor a) -> int" });
	char text[1024];

	CHECK(defined);
	dk::handle h("t::add");
	dk_op_dump(h.get(), text, sizeof(text));
	CHECK(std::strstr(text, "t::add(Tensor(a!) out, Tensor a) -> int"));
	CHECK(!add.decl()->schema);
	dk::impl_options how;
	how.schema = "(Tensor out, Tensor a) -> int";
	auto cpu = add.impl<add_7>(DK_CPU, how);
	CHECK(cpu);
	how.schema = "(Tensor out) -> int";
	auto cuda = add.impl<add_7>(DK_CUDA, how);
	CHECK(!cuda && cuda.status().why.reason == DK_WHY_SCHEMA_NUM_ARGS);
}

static int plain_7(tensor &out, const tensor &a, int *served_by)
{
	return add_7(nullptr, out, a, served_by);
}

static void libraries()
{
	tensor x = on_cpu(1);
	dk_handle one = {};
	int served_by = 0;

	{
		dk::library defs(DK_LIBRARY_DEF, "t"), cpu(DK_LIBRARY_IMPL, "t", DK_CPU);
		dk::library any(DK_LIBRARY_IMPL, "_", DK_TRACER), twice(DK_LIBRARY_DEF, "t");

		CHECK(defs && cpu && any);
		CHECK(!twice && twice.status().error == -EEXIST);
		CHECK(defs.def(add, { "add(Tensor(a!) out, Tensor a) -> int" }));
		CHECK(defs.def(add).error == -EEXIST);
		CHECK(cpu.impl<add_7>(add));
		CHECK(add(x, x, &served_by) == 0 && served_by == 7);
		CHECK(cpu.impl<plain_7>(add, DK_UNDEFINED, {}, &one));
		served_by = 0;
		CHECK(add(x, x, &served_by) == 0 && served_by == 7);
		CHECK(!std::strcmp(add.route(x, x, nullptr).entry.label, "plain_7"));
		CHECK(cpu.release(one) == 0);
		CHECK(!std::strcmp(add.route(x, x, nullptr).entry.label, "add_7"));
		CHECK(any.fallback<passes_on>());
		dk::include guard(DK_TRACER);
		CHECK(add(x, x, &served_by) == 0);
	}
	CHECK(add(x, x, &served_by) == -ENOENT);
	dk::library both(DK_LIBRARY_FRAGMENT, "t");
	CHECK(both.def<add_7>(add) && add(x, x, &served_by) == 0);
	CHECK(both.release() == 0 && add(x, x, &served_by) == -ENOENT);
	CHECK(!both && both.release() == 0);
}

/* A library has copies of its namespace and of the labels. */
static void texts_of_libraries()
{
	tensor x = on_cpu(1);
	std::string label = "a label that is longer than a short string";
	std::string ns = "t";
	dk::library defs(DK_LIBRARY_DEF, ns.c_str()), impls(DK_LIBRARY_IMPL, ns.c_str(), DK_CPU);
	dk::library any(DK_LIBRARY_IMPL, "_", DK_TRACER);
	dk::library too_long(DK_LIBRARY_DEF, std::string(DK_NAME_MAX, 'n').c_str());
	const std::string expected = label;
	dk::impl_options how;
	auto label_of = [&x](auto &o) -> std::string { return o.route(x, x, nullptr).entry.label; };

	CHECK(!too_long && too_long.status().why.reason == DK_WHY_BAD_NAME);
	how.label = label.c_str();
	CHECK(defs.def(add) && impls.impl<add_7>(add, DK_UNDEFINED, how));
	CHECK(defs.def<plain_7>(second, {}, how, DK_CPU) && any.fallback<passes_on>(DK_TRACER, how));
	label.assign(label.size(), '-');
	ns = "-";
	CHECK(label_of(add) == expected && label_of(second) == expected);
	x.ks = dk::keyset(DK_TRACER);
	CHECK(label_of(add) == expected);

	static dk::op<int(tensor &, const tensor &, int *)> other{ "u::add" };
	const std::string why = impls.impl<add_7>(other).name();
	CHECK(why.find("(IMPL library t, cxx_test.cpp:") != why.npos);
}

/* Functions that a library registers and releases one by one do not take more and more memory. */
static void released_one_by_one()
{
	dk::library defs(DK_LIBRARY_DEF, "t"), any(DK_LIBRARY_IMPL, "_");
	std::size_t used = 0;

	CHECK(defs.def(add));
	for (int i = 0; i < 4000; i++) {
		dk_handle function = {}, fallback = {}, definition = {};

		CHECK(defs.impl<add_7>(add, DK_CPU, {}, &function));
		CHECK(any.fallback<passes_on>(DK_TRACER, {}, &fallback));
		CHECK(defs.def<plain_7>(second, {}, {}, DK_CPU, &definition));
		CHECK(defs.release(definition) == 0 && any.release(fallback) == 0);
		CHECK(defs.release(function) == 0);
		if (i == 2000)
			used = mallinfo2().uordblks;
	}
	CHECK(mallinfo2().uordblks < used + 100000);
}

/* A library that is released, or was not registered, refuses to register anything. */
static void libraries_that_are_not_registered()
{
	dk::library other(DK_LIBRARY_DEF, "t"), failed(DK_LIBRARY_DEF, "t");
	dk::library gone(DK_LIBRARY_FRAGMENT, "t"), any(DK_LIBRARY_IMPL, "_", DK_TRACER);
	auto refused = [](const dk::result &r, const char *word) {
		return r.error == -EINVAL && r.why.reason == DK_WHY_LIBRARY_UNREGISTERED &&
		       !std::strncmp(r.name(), word, std::strlen(word));
	};

	CHECK(gone.release() == 0 && any.release() == 0);
	/* refuses: dk::library::def EINVAL LIBRARY_UNREGISTERED */
	CHECK(refused(gone.def(add), "t") && refused(gone.def<add_7>(add), "t"));
	/* refuses: dk::library::impl EINVAL LIBRARY_UNREGISTERED */
	CHECK(refused(gone.impl<add_7>(add, DK_CPU), "t"));
	/* refuses: dk::library::fallback EINVAL LIBRARY_UNREGISTERED */
	CHECK(refused(any.fallback<passes_on>(), "_"));
	CHECK(refused(failed.def(add), "library (DEF library t, cxx_test.cpp:"));
	CHECK(refused(failed.impl<add_7>(add, DK_CPU), "library (DEF library t, cxx_test.cpp:"));
}

/* An option that would have no effect is refused, and the error names it. */
static void options_that_do_not_apply()
{
	dk::registry mine;
	dk::impl_options with_backend, with_registry;
	dk::define_options in_mine;
	auto refused = [](const dk::result &r, const char *option) {
		return r.error == -EINVAL && r.why.reason == DK_WHY_OPTION && *r.text() &&
		       !std::strcmp(r.name(), option);
	};

	with_backend.backend = DK_BACKEND_CPU;
	with_registry.registry = in_mine.registry = mine.get();
	/* refuses: dk::fallback EINVAL OPTION */
	CHECK(refused(dk::fallback<passes_on>(DK_CPU, with_backend).status(), "backend"));
	/* refuses: dk::fallthrough EINVAL OPTION */
	CHECK(refused(dk::fallthrough(DK_CPU, with_backend).status(), "backend"));
	CHECK(dk::fallthrough(DK_CPU, with_registry));
	for (dk_key key : { DK_CPU, DK_TRACER, DK_UNDEFINED, DK_AUTOGRAD,
			    DK_COMPOSITE_IMPLICIT_AUTOGRAD }) {
		CHECK(refused(add.impl(key, add_7, with_backend).status(), "backend"));
		CHECK(refused(add.boxed<passes_on>(key, with_backend).status(), "backend"));
		CHECK(refused(add.fallthrough(key, with_backend).status(), "backend"));
	}
	CHECK(add.impl(DK_DENSE, add_7, with_backend));
	CHECK(add.impl(DK_AUTOGRAD_FUNCTIONALITY, add_7, with_backend));

	dk::library defs(DK_LIBRARY_DEF, "t"), impls(DK_LIBRARY_IMPL, "_", DK_TRACER);
	/* refuses: dk::library::def EINVAL OPTION */
	CHECK(refused(defs.def(add, in_mine), "registry"));
	CHECK(refused(defs.def<add_7>(add, in_mine), "registry"));
	CHECK(refused(defs.def<add_7>(add, {}, with_backend, DK_CPU), "backend"));
	CHECK(refused(defs.def<add_7>(add, {}, with_registry, DK_CPU), "registry"));
	CHECK(defs.def(add));
	/* refuses: dk::library::impl EINVAL OPTION */
	CHECK(refused(defs.impl<add_7>(add, DK_DENSE, with_backend), "backend"));
	CHECK(refused(defs.impl<add_7>(add, DK_CPU, with_registry), "registry"));
	/* refuses: dk::library::fallback EINVAL OPTION */
	CHECK(refused(impls.fallback<passes_on>(DK_TRACER, with_backend), "backend"));
	CHECK(refused(impls.fallback<passes_on>(DK_TRACER, with_registry), "registry"));
	CHECK(impls.fallback<passes_on>());
}

/* A registry that was not allocated, was freed or was moved is not the default registry. */
static void registries_that_are_missing()
{
	dk::registry failed(1u << 31), freed, moved;
	dk::registry has = std::move(moved);
	auto refused = [](const dk::result &r) {
		return r.error == -EINVAL && r.why.reason == DK_WHY_NULL_ARGUMENT && *r.text() &&
		       !std::strcmp(r.name(), "registry");
	};
	auto defined = add.define();

	CHECK(freed.free() && has && !failed && !freed && !moved);
	for (const dk::registry *one : { &failed, &freed, &moved }) {
		dk::define_options define;
		dk::impl_options how;

		define.registry = how.registry = one->get();
		/* refuses: dk::op::define EINVAL NULL_ARGUMENT */
		CHECK(refused(second.define(define).status()));
		/* refuses: dk::op::impl EINVAL NULL_ARGUMENT */
		CHECK(refused(add.impl(DK_CPU, add_7, how).status()));
		/* refuses: dk::fallback EINVAL NULL_ARGUMENT */
		CHECK(refused(dk::fallback<passes_on>(DK_TRACER, how).status()));
		/* refuses: dk::fallthrough EINVAL NULL_ARGUMENT */
		CHECK(refused(dk::fallthrough(DK_TRACER, how).status()));
		dk::library library(DK_LIBRARY_DEF, "t", DK_UNDEFINED, one->get());
		/* refuses: dk::library EINVAL NULL_ARGUMENT */
		CHECK(!library && refused(library.status()) && library.def(second).error == -EINVAL);
		dk::listener listener([](const dk_event &) {}, one->get());
		/* refuses: dk::listener EINVAL NULL_ARGUMENT */
		CHECK(!listener && refused(listener.status()));
		CHECK(!dk::handle("t::add", one->get()));
		define.registry = how.registry = nullptr;
		CHECK(second.define(define) && add.impl(DK_CPU, add_7, how));
	}
	CHECK(dk::handle("t::add", nullptr) && dk::handle("t::add", dk_registry_default()));

	dk::handle held("t::add"), other("t::add");

	has = dk::registry();
	moved = std::move(has);
	CHECK(moved && !has && !has.get());
	held = std::move(other);
	CHECK(held && !other && !other.get());
}

/* Flags for kinds of functions are refused: the kind follows from the type of the function. */
static void flags_that_do_not_apply()
{
	auto defined = add.define();
	dk::library impls(DK_LIBRARY_IMPL, "t", DK_CPU), defs(DK_LIBRARY_FRAGMENT, "t");
	dk::library any(DK_LIBRARY_IMPL, "_", DK_TRACER);
	dk::impl_options how;
	auto refused = [](const dk::result &r) {
		return r.error == -EINVAL && r.why.reason == DK_WHY_OPTION &&
		       !std::strcmp(r.name(), "flags");
	};

	for (unsigned int flags : { 1u, 4u, 8u, 16u, 6u, 1u << 16, 1u << 31 }) {
		how.flags = flags;
		/* refuses: dk::op::impl EINVAL OPTION */
		CHECK(refused(add.impl(DK_CPU, add_7, how).status()));
		CHECK(refused(add.impl<add_7>(DK_CPU, how).status()));
		/* refuses: dk::op::boxed EINVAL OPTION */
		CHECK(refused(add.boxed<passes_on>(DK_CPU, how).status()));
		/* refuses: dk::op::fallthrough EINVAL OPTION */
		CHECK(refused(add.fallthrough(DK_CPU, how).status()));
		CHECK(refused(dk::fallback<passes_on>(DK_CPU, how).status()));
		CHECK(refused(dk::fallthrough(DK_CPU, how).status()));
		CHECK(refused(impls.impl<add_7>(add, DK_CPU, how)));
		CHECK(refused(defs.def<add_7>(second, {}, how, DK_CPU)));
		CHECK(refused(any.fallback<passes_on>(DK_TRACER, how)));
	}
	how.flags = DK_IMPL_F_ATOMIC;
	CHECK(add.impl<add_7>(DK_CPU, how) && add.boxed<passes_on>(DK_CPU, how));
	CHECK(impls.impl<add_7>(add, DK_CPU, how));
}

/* A listener that is destroyed inside its own function stays registered, with its captures. */
struct ends_itself {
	std::optional<dk::listener<ends_itself>> *self;
	std::shared_ptr<int> events;

	void operator()(const dk_event &)
	{
		if (++*events == 1)
			self->reset();
	}
};

static void listener_ends_inside()
{
	static dk::registry mine;	/* static, because the listener stays registered */
	auto events = std::make_shared<int>(0);
	std::optional<dk::listener<ends_itself>> l;
	dk::define_options in_mine;

	in_mine.registry = mine.get();
	l.emplace(ends_itself{ &l, events }, mine.get());
	CHECK(*l && events.use_count() == 2);
	auto defined = add.define(in_mine);
	CHECK(!l && *events == 1 && events.use_count() == 2);
	CHECK(defined.release() == 0 && *events == 2);
}

static void listeners_and_registries()
{
	dk::registry mine;
	tensor x = on_cpu(1);
	std::string seen;
	int served_by = 0;

	CHECK(mine);
	{
		dk::listener told([&](const dk_event &e) {
			seen += e.kind == DK_EVENT_DEFINED ? '+' :
				e.kind == DK_EVENT_UNDEFINED ? '-' : '.';
		}, mine.get());
		dk::define_options in_mine;
		dk::impl_options on_mine;

		CHECK(told);
		in_mine.registry = on_mine.registry = mine.get();
		auto defined = add.define(in_mine);
		auto cpu = add.impl<add_7>(DK_CPU, on_mine);
		CHECK(defined && cpu && seen == "+.");
		dk::handle h("t::add", mine.get());
		CHECK(add.at(h, dk::local(), x, x, &served_by) == 0 && served_by == 7);
		CHECK(add(x, x, &served_by) == -ENOENT);
		CHECK(mine.free().error == -EBUSY);
		CHECK(defined.release() == 0 && seen == "+.-");
		CHECK(told.release() == 0);
		auto again = add.define(in_mine);
		CHECK(again && seen == "+.-");
	}
	CHECK(mine.free() && !mine);
	dk::registry refused(1u << 31);
	CHECK(!refused && refused.status().error == -EINVAL && *refused.status().text());
}

/* A released object converts to false. Its status stays that of its registration. */
static void released_objects()
{
	auto defined = add.define(), twice = add.define();
	dk::library library(DK_LIBRARY_FRAGMENT, "t");
	dk::listener listener([state = counted()](const dk_event &) {});
	dk::listener failed{ std::function<void(const dk_event &)>() };
	dk::registry mine;

	CHECK(counted::alive == 1 && defined && library && listener && mine);
	for (int i = 0; i < 2; i++) {
		CHECK(defined.release() == 0 && !defined && defined.status());
		CHECK(library.release() == 0 && !library && library.status());
		CHECK(listener.release() == 0 && !listener && listener.status());
		CHECK(counted::alive == 0);
		CHECK(twice.release() == 0 && !twice && twice.status().error == -EEXIST);
		CHECK(failed.release() == 0 && !failed && failed.status().error == -EINVAL);
		CHECK(mine.free() && !mine && mine.status());
	}
}

/* State is destroyed with the registration, after the calls inside have returned. */
static void state_is_drained()
{
	static std::atomic<int> stage;
	tensor x = on_cpu(1);
	int served_by = 0, from_inside = 0;

	auto defined = add.define();
	{
		dk::registration self;
		self = add.impl(DK_CPU, [state = counted(), &self, &from_inside]
				(tensor &, const tensor &, int *by) {
			from_inside = self.release();
			*by = counted::alive;
			return 0;
		});
		CHECK(self && counted::alive == 1);
		CHECK(add(x, x, &served_by) == 0 && served_by == 1);
		CHECK(from_inside == -EDEADLK && counted::alive == 1);
	}
	CHECK(counted::alive == 0);
	CHECK(add(x, x, &served_by) == -ENOSYS);

	/* the destructor of slow waits for the call inside */
	std::thread caller;
	{
		auto slow = add.impl(DK_CPU, [state = counted()](tensor &, const tensor &, int *by) {
			stage = 1;
			std::this_thread::sleep_for(std::chrono::milliseconds(50));
			*by = 100 + counted::alive;
			stage = 2;
			return 0;
		});
		caller = std::thread([&] { CHECK(add(x, x, &served_by) == 0); });
		while (stage < 1)
			std::this_thread::yield();
	}
	CHECK(stage == 2 && counted::alive == 0);
	caller.join();
	CHECK(served_by == 101);

	auto refused = add.impl(static_cast<dk_key>(4000), [state = counted()]
				(tensor &, const tensor &, int *) { return 0; });
	CHECK(!refused && counted::alive == 0);
}

/* A registration that is released may be owned by the captures of its function. */
static void owned_by_its_captures()
{
	struct owner {
		dk::registration mine;
		counted state;

		~owner() { CHECK(mine.release() == 0); }
	};
	auto defined = nothing.define();

	for (bool assigned : { false, true }) {
		auto owned = std::make_shared<owner>();
		owner *const own = owned.get();

		own->mine = nothing.impl(DK_TRACER, [owned] { return 1; });
		owned.reset();
		CHECK(counted::alive == 1);
		if (assigned)
			own->mine = {};
		else
			CHECK(own->mine.release() == 0);
		CHECK(counted::alive == 0);
	}
}

/* The structs of C can be used without "struct": no function has the name of a struct. */
static void structs_of_c()
{
	dk_route route{};
	dk_explain explained{};
	dk_schema_arg arg{};

	route.size = sizeof(route);
	explained.size = sizeof(explained);
	CHECK(!arg.name);
	auto defined = add.define();
	auto cpu = add.impl(DK_CPU, add_7);
	dk::handle held("t::add");
	const tensor x = on_cpu(1);
	const dk_obj *objs[] = { &x };

	CHECK(dk_op_route(held.get(), dk::default_included, dk::default_excluded, objs, 1,
			  &route) == 0);
	CHECK(route.effective.bits == 0x10001);
	CHECK(dk_op_explain(held.get(), dk::default_included, dk::default_excluded, objs, 1,
			    &explained) == 0);
	CHECK(explained.error == 0);
}

/* ---- C and C++ ------------------------------------------------------------------ */

DK_CXX_OP(c_defines, "t::c_defines",
	(struct vec *v, char c, short s, struct pair p, double d, char last,
	 struct seen *seen), dk::every);
DK_CXX_OP(cxx_defines, "t::cxx_defines",
	(struct vec *v, char c, short s, struct pair p, double d, char last,
	 struct seen *seen), dk::every);
DK_CXX_OP(c_mistaken, "t::c_defines",
	(struct vec *v, char c, short s, struct pair p, float d, char last,
	 struct seen *seen), dk::every);
static dk::op<int(vec *, char, short, pair, double, char, struct seen *)> untold{ "t::c_defines" };

static int by_cxx(dk_call *, vec *v, char c, short s, pair p, double d, char last,
		  struct seen *seen)
{
	seen->by_cxx++;
	seen->sum = SHARED_SUM(v, c, s, p, d, last);
	return 0;
}

/* The functions of these names do not replace the operator and the declaration in C. */
DK_CXX_OP(c_function, "t::c_function", (struct vec *v), dk::every);
extern "C" int c_defines_op()
{
	return 1;
}

/* The names of parameters are those of DK_OP(). */
DK_CXX_OP(names, "t::names",
	(dk_obj *gr\u00f6\u00dfe, void (*const done)(int), int ( *one)(int), int (*many)[3]), dk::every);
static int w\u00e4hle(dk_obj *, void (*)(int), int (*)(int), int (*)[3])
{
	return 0;
}

static void names_from_the_source()
{
	const dk_param *p = names.decl()->param;

	CHECK(!std::strcmp(p[1].name, "done") && !std::strcmp(p[2].name, "one"));
	CHECK(!std::strcmp(p[3].name, "many"));
	CHECK(!std::strcmp(p[0].name, "gr\u00f6\u00dfe"));
	CHECK(!std::strcmp(names.make_impl<w\u00e4hle>(DK_CPU).label, "w\u00e4hle"));
}

static void names_of_functions()
{
	vec v{ dk_obj_on(DK_BACKEND_CPU, 0), 1 };
	auto defined = c_function.define();
	auto cpu = c_function.impl(DK_CPU, [](vec *) { return 3; });

	CHECK(c_function(&v) == 3 && c_defines_op() == 1);
}

/* Calls each operator from C++ and from C; each call must return the sum. */
static void call_all_ways(struct seen &seen)
{
	vec v{ dk_obj_on(DK_BACKEND_CPU, 0), 1 };
	const pair p{ 4, 5 };

	seen = {};
	CHECK(c_defines(&v, 2, 3, p, 6, 7, &seen) == 0);
	CHECK(seen.by_cxx == 1 && seen.sum == SHARED_EXPECTED);
	seen.sum = 0;
	CHECK(cxx_defines(&v, 2, 3, p, 6, 7, &seen) == 0);
	CHECK(seen.by_c == 1 && seen.sum == SHARED_EXPECTED);
	seen.sum = 0;
	CHECK(c_calls_own(&v, &seen) == 0);
	CHECK(seen.by_cxx == 2 && seen.sum == SHARED_EXPECTED);
	seen.sum = 0;
	CHECK(c_calls_other(&v, &seen) == 0);
	CHECK(seen.by_c == 2 && seen.sum == SHARED_EXPECTED);
}

static void c_and_cxx()
{
	dk::result r;
	struct seen seen;

	r.error = c_begin(&r.why);
	CHECK(r);
	auto defined = cxx_defines.define();
	auto impl = c_defines.impl(DK_CPU, by_cxx);
	CHECK(defined && impl);
	call_all_ways(seen);

	/* calls through a boxed fallback in C, and then through one in C++ */
	r.error = c_fallback_begin(&r.why);
	CHECK(r);
	{
		dk::include guard(DK_TRACER);

		call_all_ways(seen);
	}
	CHECK(c_fallback_end() == 4);
	{
		int passed = 0;
		auto passes = dk::fallback(DK_TRACER, [&passed](dk_call *c, void *args) {
			passed++;
			return dk_redispatch_boxed(c, dk_call_below(c), args);
		});
		dk::include guard(DK_TRACER);

		CHECK(passes);
		call_all_ways(seen);
		CHECK(passed == 4);
	}
	call_all_ways(seen);
	CHECK(impl.release() == 0 && defined.release() == 0 && c_end() == 0);
	CHECK(dk_arg_find(c_defines.decl(), "v") == 0);
	CHECK(dk_arg_find(c_defines.decl(), "seen") == 6);
}

template <auto number> struct fixed {};

static void wrong_signatures()
{
	vec v{ dk_obj_on(DK_BACKEND_CPU, 0), 1 };
	const pair p{ 4, 5 };
	struct seen seen = {};
	dk::result r;

	r.error = c_begin(&r.why);
	CHECK(r);
	auto impl = c_defines.impl(DK_CPU, by_cxx);
	CHECK(impl);
	CHECK(c_mistaken(&v, 2, 3, p, 6, 7, &seen) == -EPROTOTYPE);
	CHECK(untold(&v, 2, 3, p, 6, 7, &seen) == -EPROTOTYPE);
	auto mistaken = c_mistaken.impl(DK_CUDA, [](vec *, char, short, pair, float, char,
						    struct seen *) { return 0; });
	CHECK(!mistaken && mistaken.status().error == -EPROTOTYPE);
	CHECK(mistaken.status().why.reason == DK_WHY_SIGNATURE);
	CHECK(seen.by_c == 0 && seen.by_cxx == 0);

	/* if both operators are declared in C++, the signatures are texts of the C++ types */
	static dk::op<int(tensor &, const tensor &, long *)> other{ "t::add" };
	static dk::op<int(tensor &, const tensor &, int *)> same{ "t::add" };
	tensor x = on_cpu(1);
	int served_by = 0;
	long more = 0;
	auto defined = add.define();
	auto cpu = add.impl(DK_CPU, add_7);
	CHECK(defined && cpu);
	CHECK(other(x, x, &more) == -EPROTOTYPE && same(x, x, &served_by) == 0 && served_by == 7);
	CHECK(impl.release() == 0 && c_end() == 0);

	static dk::op<int(tensor &, fixed<2>)> as_int{ "t::fixed" };
	static dk::op<int(tensor &, fixed<2ull>)> as_number{ "t::fixed" };
	auto fixed_defined = as_int.define();
	CHECK(as_int(x, {}) == -ENOSYS && as_number(x, {}) == -EPROTOTYPE);
}

/* ---- devices -------------------------------------------------------------------- */

static int add_on_card(dk_call *c, tensor &, const tensor &, int *served_by)
{
	*served_by = *static_cast<int *>(dk_call_priv(c));
	return 0;
}

static int shared_on_card(struct vec *v, char, short, struct pair, double, char, struct seen *)
{
	return static_cast<int>(v->x);
}

/* Devices with functions from make_impl(). */
static void functions_of_devices()
{
	static const dk_impl impls[] = {
		add.make_impl<add_on_card>(DK_DENSE),
		second.make_impl<plain_7>(DK_DENSE, { "labelled", "(Tensor a, Tensor b) -> ()" }),
		c_defines.make_impl(DK_DENSE, shared_on_card, { "shared" }),
		nothing.make_impl(DK_AUTOGRAD_XPU, [] { return 5; }),
	};
	dk_provider cards = DK_PROVIDER("cards");
	int priv[] = { 1, 2 }, served_by = 0;
	__u32 device[2];
	auto add_defined = add.define(), second_defined = second.define();
	auto shared_defined = c_defines.define(), nothing_defined = nothing.define();

	CHECK(cards.size == sizeof(cards) && cards.owner && !cards.registry && !cards.priv);
	CHECK(dk_provider_register(&cards, nullptr) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(dk_device_register(&cards, DK_BACKEND_XPU, i ? "card1" : "card0", &priv[i],
					 impls, 4, &device[i], nullptr) == 0);
	for (int i = 0; i < 2; i++) {
		tensor x{ dk_obj_on(DK_BACKEND_XPU, device[i]), 1 };
		vec v{ dk_obj_on(DK_BACKEND_XPU, device[i]), 3 };

		CHECK(add(x, x, &served_by) == 0 && served_by == priv[i]);
		CHECK(!std::strcmp(add.route(x, x, nullptr).entry.label, "add_on_card"));
		CHECK(second(x, x, &served_by) == 0 && served_by == 7);
		CHECK(!std::strcmp(second.route(x, x, nullptr).entry.label, "labelled"));
		CHECK(c_defines(&v, 0, 0, {}, 0, 0, nullptr) == 3);
	}
	CHECK(impls[0].op == add.decl() && !impls[0].flags && !impls[0].schema);
	CHECK(impls[1].flags == DK_IMPL_F_PLAIN && impls[1].schema);
	CHECK(!impls[3].label);

	/* an option that does not apply is refused when the array is registered */
	dk::impl_options how[3];
	how[0].backend = DK_BACKEND_XPU;
	how[1].registry = dk_registry_default();
	how[2].flags = DK_IMPL_F_BOXED;
	for (const dk::impl_options &one : how) {
		const dk_impl refused = add.make_impl<add_7>(DK_CPU, one);

		CHECK(dk_impls_register(&cards, &refused, 1, nullptr) == -EINVAL);
	}
	how[0] = {};
	how[0].flags = DK_IMPL_F_ATOMIC;
	CHECK(add.make_impl<add_7>(DK_CPU, how[0]).flags == DK_IMPL_F_ATOMIC);
	CHECK(dk_provider_unregister(&cards) == 0);
}

int main()
{
	static const struct {
		const char *name;
		void (*run)();
	} tests[] = {
#define T(test) { #test, test }
		T(keysets_as_in_c), T(keysets_walk_and_print), T(keysets_in_containers),
		T(guards), T(typed_calls), T(places_of_definitions), T(no_arguments),
		T(dispatched_on), T(const_operators), T(specialised_wrappers),
		T(references_and_arrays), T(smart_pointers), T(recursive_types), T(volatile_parameters),
		T(by_keyset), T(error_sentences),
		T(routes_and_labels), T(long_labels), T(null_functions), T(labels_of_templates),
		T(routes_of_another_type), T(described_arguments), T(missing_references),
		T(offsets), T(abstract_types), T(overloaded_address), T(unusual_objects),
		T(undefined_types), T(generic_lambdas),
		T(generators_in_boxed_calls), T(wrapped_generators_in_boxed_calls),
		T(fallbacks), T(schemas), T(libraries), T(texts_of_libraries),
		T(libraries_that_are_not_registered),
		T(options_that_do_not_apply), T(registries_that_are_missing),
		T(flags_that_do_not_apply), T(listener_ends_inside),
		T(listeners_and_registries), T(released_objects), T(state_is_drained),
		T(structs_of_c), T(c_and_cxx), T(names_from_the_source), T(names_of_functions), T(wrong_signatures), T(functions_of_devices),
		T(copied_arguments),
		T(functions_of_other_namespaces),
		T(owned_by_its_captures),
		T(released_one_by_one),
		T(offsets_of_members),
	};
	int failed = 0;

	std::printf("TAP version 13\n1..%zu\n", sizeof(tests) / sizeof(tests[0]));
	for (const auto &test : tests) {
		failures = 0;
		test.run();
		std::printf("%sok %d - %s\n", failures ? "not " : "", ++number, test.name);
		failed += !!failures;
	}
	return !!failed;
}
