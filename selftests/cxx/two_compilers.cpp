// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plugin (-DPLUGIN) that implements operators with C++ types, and a host that defines and
 * calls them. Different compilers build them. The host returns 0 if all signatures are the
 * same in both, and prints those that differ.
 */
#include <dispatchkey.hpp>

#include <array>
#include <bitset>
#include <chrono>
#include <cstdio>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#ifdef PLUGIN
/* In a file that begins with these lines, g++ writes the allocator in the names of these types. */
template <class T, class A = std::allocator<T>> struct pool {
	std::vector<T, A> free;
};
inline pool<unsigned long> numbers;
inline pool<std::vector<int>> lists;
#endif

namespace shared {
inline namespace v2 {
struct tensor {
	dk_obj dk;
	std::string name;
};
} /* namespace v2 */
enum class color : long { red };
__extension__ typedef unsigned __int128 wide;
template <class T, int n> struct grid {
	struct cell {};
	template <class U> struct part {};
};
template <class T, std::size_t n = static_cast<std::size_t>(-1)> struct span {};
template <class T, unsigned char n, class A = std::allocator<T>> struct small {};
template <short n, class T = int> struct row {};
template <auto... n> struct fixed {};
} /* namespace shared */

template <> struct dk::type_name<shared::tensor> {
	static constexpr const char *text = "shared::tensor";
};

#define OPS(X)								\
	X(strings, const std::string &, std::string *)			\
	X(vectors, const std::vector<std::string> &, const std::vector<unsigned long> &) \
	X(maps, const std::map<long, std::vector<short>> &)		\
	X(arrays, const std::array<unsigned long, 3> &, std::optional<long>) \
	X(shareds, const std::shared_ptr<int> &)			\
	X(enums, shared::color, unsigned char, long long, char16_t)	\
	X(templates, shared::grid<long, 3> *, shared::grid<unsigned, 2>::cell *) \
	X(functions, int (*)(char, unsigned long), int (*)[4])		\
	X(defaults, shared::span<int>, shared::small<int, 200>, shared::row<-3>, std::less<>) \
	X(values, shared::fixed<shared::color::red, 'x', '\n', u'x', true>,	\
	  shared::fixed<static_cast<unsigned char>(200), 2ull>, std::bitset<8>) \
	X(clocks, std::chrono::steady_clock::time_point, shared::grid<long, 3>::part<char>) \
	X(nested, std::vector<std::vector<int>> &, std::function<void(std::vector<int> &)> &) \
	X(members, int shared::tensor::*, const volatile int *, shared::wide)

#define STRINGS(...)	int(const shared::tensor &, __VA_ARGS__)

#define DECLARE(id, ...)						\
	static dk::op<STRINGS(__VA_ARGS__)> id{ "two::" #id };
OPS(DECLARE)

#ifdef PLUGIN
#define STORE(id, ...)	static dk::registration id##_serves;
OPS(STORE)

extern "C" int plugin_begin()
{
	int refused = 0;

#define SERVE(id, ...)							\
	id##_serves = id.impl(DK_CPU, [](const shared::tensor &, auto &&...) { return 7; }); \
	if (!id##_serves) {						\
		std::printf("%s: %s\n", #id, id##_serves.status().name()); \
		refused++;						\
	}
	OPS(SERVE)
	return refused;
}

extern "C" void plugin_end()
{
#define END(id, ...)	id##_serves = {};
	OPS(END)
}
#else
int main(int argc, char **argv)
{
	void *plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW) : nullptr;

	if (!plugin)
		return std::puts(dlerror()), 2;
	auto begin = reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_begin"));
	auto end = reinterpret_cast<void (*)()>(dlsym(plugin, "plugin_end"));
#define DEFINE(id, ...)	auto id##_defined = id.define();
	OPS(DEFINE)
	int bad = begin();

	shared::tensor x{ dk_obj_on(DK_BACKEND_CPU, 0), "x" };
	std::string out;
	bad += strings(x, "in", &out) != 7;
	bad += vectors(x, {}, {}) != 7;
	bad += enums(x, shared::color::red, 1, 2, u'3') != 7;
	end();
	return !!bad;
}
#endif
