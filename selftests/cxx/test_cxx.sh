#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests <dispatchkey.hpp> with every installed C++ compiler, without exceptions and RTTI, and
# without a warning: runs cxx_test, and compares the output of the sample in C++ with that of
# the sample in C. Prints TAP. CXX= is an additional compiler. DK_BRIEF=1 takes only the first
# compiler, and C++17.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"
# shellcheck source=selftests/cxx/steps.sh
. "$st_here/steps.sh"

compilers=
for one in ${CXX:-} g++ clang++; do
	command -v "$one" >/dev/null || continue
	case " $compilers " in *" $one "*) ;; *) compilers="$compilers $one" ;; esac
done
[ -n "$compilers" ] || skip_all "no C++ compiler"
standards="c++17 c++20"
[ -z "${DK_BRIEF-}" ] || { standards=c++17 && read -r compilers _ <<<"$compilers"; }

# object COMPILER STANDARD OPTION... - compiles; warnings are errors
object() {
	compiler=$1 standard=$2
	shift 2
	case $compiler in *clang*) ;; *) set -- -Wuseless-cast "$@" ;; esac
	"$compiler" -std="$standard" -fno-exceptions -fno-rtti -O1 -Wall -Wextra -Wshadow \
		-Wold-style-cast -Wsign-conversion -pedantic -Werror -I"$top/include" \
		-I"$top/uapi" "$@"
}

# cxx COMPILER STANDARD FILE... - compiles and links
cxx() { object "$@" -L"$lib" -Wl,-rpath,"$lib" -ldispatchkey -pthread; }

# precompile COMPILER - precompiles the headers that code() needs
precompile() {
	mkdir -p "$st_tmp/$1" &&
		printf '#include <%s>\n' dispatchkey.hpp memory vector >"$st_tmp/$1/headers.h" &&
		object "$1" c++17 -Wno-unused -x c++-header "$st_tmp/$1/headers.h" \
			-o "$st_tmp/$1/headers.h.gch"
}

# code TEXT - writes a program with these statements, without its headers
code() {
	cat >"$st_tmp/code.cpp" <<-END
		struct tensor { dk_obj dk; int member(double) { return 0; } };
		static dk::op<int(tensor &, double)> op{ "t::op" };
		static int takes(dk_call *, tensor &, double) { return 0; }
		static int takes_float(dk_call *, tensor &, float) { return 0; }
		static int boxed(dk_call *, void *) { return 0; }
		template <class T> struct node { node *operator->() const { return nullptr; } };
		template <class T, int n> struct small { T item; };
		template <int n, class T> struct counted { T item; };
		template <class T, int n, class A = std::allocator<T>> struct sized {};
		int main() { $1 return 0; }
	END
}

# compiles COMPILER TEXT
compiles() {
	code "$2"
	object "$1" c++17 -Wno-unused -Wunused-value -Winvalid-pch -include "$st_tmp/$1/headers.h" \
		-fsyntax-only "$st_tmp/code.cpp"
}

# refuses COMPILER TEXT SENTENCE - TEXT causes exactly one error, which has this sentence
refuses() {
	if compiles "$1" "$2" 2>"$st_tmp/said"; then
		return 1
	fi
	cat "$st_tmp/said"
	[ "$(grep -c "error:" "$st_tmp/said")" = 1 ] && grep -q "$3" "$st_tmp/said"
}

# after_a_base COMPILER - compiles an operator on a dk_obj that is not the first base of its type,
# with an option under which addresses may be NULL
after_a_base() {
	code 'struct base { virtual ~base() = default; int n; };
		struct second : base, dk_obj {};
		static dk::op<int(second &)> o{ "t::o" };
		second x{};
		return o(x);'
	object "$1" c++17 -Wno-unused -Wconversion -fno-delete-null-pointer-checks \
		-include dispatchkey.hpp -c "$st_tmp/code.cpp" -o "$st_tmp/code.o"
}

# races COMPILER - defines an operator, also in a library, and registers a function in a library,
# while another thread writes to the operator's declaration as calls do; fails if ThreadSanitizer
# reports a race. The program's dk_library_impl() copies the declaration, as the library's does
races() {
	cat >"$st_tmp/copies.hpp" <<-END
		dk_op_decl copied;
		extern "C" int dk_library_impl(dk_library *, const dk_impl *impl, dk_handle *,
					       dk_diag *)
		{
			copied = *impl->op;
			return 0;
		}
	END
	code 'static dk::op<int(tensor &, double)> o{ "t::o" };
		std::thread calls([] {
			for (int i = 0; i < 10000; i++) {
				__atomic_store_n(&o.decl()->op, &dk__unbound, __ATOMIC_RELAXED);
				__atomic_store_n(&o.decl()->sig_mark, 0, __ATOMIC_RELAXED);
			}
		});
		for (int i = 0; i < 100; i++) {
			dk::registration defined = o.define();
			defined = {};
			dk::library library(DK_LIBRARY_DEF, "t");
			if (!library.def(o) || !library.impl<takes>(o))
				return 1;
		}
		calls.join();'
	cxx "$1" c++17 -g -fsanitize=thread -Wno-unused -include dispatchkey.hpp \
		-include thread -include "$st_tmp/copies.hpp" "$st_tmp/code.cpp" \
		-o "$st_tmp/races" && "$st_tmp/races"
}

# pair RIGHT WRONG SENTENCE - checks that RIGHT compiles, and that WRONG does not, with this error
right=
pair() {
	right="$right { $1 }"
	for one in $compilers; do
		ok "$one refuses $2" refuses "$one" "$2" "$3"
	done
}

# plugin COMPILER, host COMPILER - build the two halves of two_compilers.cpp
plugin() {
	cxx "$1" c++17 -DPLUGIN -fPIC -shared "$st_here/two_compilers.cpp" -o "$st_tmp/plugin-$1.so"
}
host() {
	cxx "$1" c++17 "$st_here/two_compilers.cpp" -o "$st_tmp/host-$1" -ldl
}

# unloads COMPILER [OPTION] - builds and runs both halves of unloaded.cpp
unloads() {
	local compiler=$1
	shift
	cxx "$compiler" c++17 -DPLUGIN "$@" -fPIC -shared "$st_here/unloaded.cpp" \
		-o "$st_tmp/unloaded.so" &&
		cxx "$compiler" c++17 "$st_here/unloaded.cpp" -o "$st_tmp/unloads" -ldl &&
		"$st_tmp/unloads" "$st_tmp/unloaded.so" 2>"$st_tmp/said"
}

# is_unloadable COMPILER - true if no data of the header would prevent dlclose() of cxx_test
is_unloadable() {
	cxx "$1" c++17 -O0 -fPIC -shared "$st_here/cxx_test.cpp" -o "$st_tmp/cxx_test.so" &&
		nm -DC "$st_tmp/cxx_test.so" >"$st_tmp/symbols" &&
		! sed -n 's/^[0-9a-f]* u //p' "$st_tmp/symbols" | grep -v '^std::'
}

# hides_calls - true if cxx_test.so does not export functions that make calls: another shared object
# could use them, but may be compiled with other options
hides_calls() {
	[ -s "$st_tmp/symbols" ] && ! grep -E \
		'dk::op<.*>::(operator\(\)|in|at|by_keyset(_at)?|redispatch|below|route_at|find|slow|unbox(_plain)?|extract|(end|end_of_begun|leave)::~[a-z_]+)\(' \
		"$st_tmp/symbols"
}

echo "TAP version 13"
ok "the part in C compiles" c -Wconversion -c "$st_here/c_half.c" -o "$st_tmp/c_half.o"
for one in $compilers; do
	for standard in $standards; do
		ok "$one compiles cxx_test as $standard" cxx "$one" "$standard" \
			"$st_here/cxx_test.cpp" "$st_tmp/c_half.o" -o "$st_tmp/cxx_test"
		ok "cxx_test, compiled by $one as $standard, passes" "$st_tmp/cxx_test"
	done
	ok "$one compiles hello.cpp" cxx "$one" c++17 "$top/samples/hello.cpp" -o "$st_tmp/hello"
	ok "hello.cpp, compiled by $one, prints the same as hello.c" says_as_hello "$st_tmp/hello"
	ok "$one compiles a dk_obj at an offset where addresses may be NULL" after_a_base "$one"
	if echo 'int main() {}' | "$one" -x c++ -fsanitize=thread - -o "$st_tmp/tsan" \
		2>/dev/null && "$st_tmp/tsan"; then
		ok "with $one, definitions do not race with calls" races "$one"
	else
		skip "with $one, definitions do not race with calls" "no ThreadSanitizer"
	fi
	ok "$one compiles a plugin" plugin "$one"
	ok "$one compiles a host" host "$one"
	ok "$one compiles thrown.cpp" cxx "$one" c++17 -fexceptions "$st_here/thrown.cpp" \
		-o "$st_tmp/thrown"
	ok "with $one, hooks are called when an exception leaves a call" "$st_tmp/thrown"
	ok "compiled by $one, the header has no data that is unique in the process" \
		is_unloadable "$one"
	ok "compiled by $one, shared objects do not share the functions of operators" hides_calls
	ok "dlclose() unmaps a plugin compiled by $one and removes its functions" unloads "$one"
	ok "dlclose() unmaps a plugin compiled by $one whose older objects unregister" \
		unloads "$one" -DOLDER
	like "with $one, nothing is reported if older objects unregister" "" "$(cat "$st_tmp/said")"
	ok "dlclose() of a plugin compiled by $one removes what is still registered" \
		unloads "$one" -DLEAKS
	like "with $one, functions that a closed plugin has not unregistered are reported" \
		"dispatchkey: *unloaded.so was unloaded with provider unloaded::op, which was unregistered*" \
		"$(cat "$st_tmp/said")"
done
for one in $compilers; do
	for other in $compilers; do
		ok "a host compiled by $one calls a plugin compiled by $other" "$st_tmp/host-$one" \
			"$st_tmp/plugin-$other.so"
	done
done

for one in $compilers; do
	ok "$one compiles the headers" precompile "$one"
done
exactly="take exactly the operator's parameters"
pair 'auto r = op.impl(DK_CPU, [](tensor &, double) { return 0; });' \
	'auto r = op.impl(DK_CPU, [](tensor &, float) { return 0; });' "$exactly"
pair 'static dk::op<int(const tensor &)> o{ "t::o" };
	auto r = o.impl(DK_CPU, [](tensor) { return 0; });' \
	'auto r = op.impl(DK_CPU, [](tensor, double) { return 0; });' "$exactly"
pair 'auto r = op.impl(DK_CPU, [](const tensor &, double) { return 0; });' \
	'auto r = op.impl(DK_CPU, [](const char *, double) { return 0; });' "$exactly"
pair 'auto r = op.impl(DK_CPU, [](tensor &, const double &) { return 0; });' \
	'auto r = op.impl(DK_CPU, [](tensor &, double &&) { return 0; });' "$exactly"
pair 'auto r = op.impl(DK_CPU, [](tensor &, const auto &) { return 0; });' \
	'auto r = op.impl(DK_CPU, [](tensor &, double &) { return 0; });' "$exactly"
pair 'auto r = op.impl(DK_CPU, [](dk_call *, tensor &, double) { return 0; });' \
	'auto r = op.impl(DK_CPU, [](dk_call *, tensor &, double) {});' "$exactly"
pair 'auto r = op.impl(DK_CPU, [](auto &&...) { return 0; });' \
	'auto r = op.impl(DK_CPU, [](auto &&...) { return 0.5; });' "$exactly"
for how in '&' 'const &' '& noexcept' 'const & noexcept' volatile 'const volatile noexcept'; do
	object="struct { int operator()(tensor &, double) $how { return 0; } } f;"
	pair "$object auto r = op.impl(DK_CPU, f);" \
		"${object/double/float} auto r = op.impl(DK_CPU, f);" "$exactly"
done
pair 'struct { int operator()(tensor &, double) { return 0; } } f; auto r = op.impl(DK_CPU, f);' \
	'struct { int operator()(tensor &, double) && { return 0; } } f; auto r = op.impl(DK_CPU, f);' \
	"$exactly"
pair 'struct { int operator()(tensor &, double) { return 0; } } f; auto r = op.impl(DK_CPU, f);' \
	'struct { int operator()(tensor &, double, ...) { return 0; } } f; auto r = op.impl(DK_CPU, f);' \
	"$exactly"
pair 'auto r = op.impl<takes>(DK_CPU);' 'auto r = op.impl<takes_float>(DK_CPU);' "$exactly"
pair 'int f(tensor &, double); auto r = op.impl<f>(DK_CPU);' \
	'int f(tensor &, float, ...); auto r = op.impl<f>(DK_CPU);' "$exactly"
pair 'auto r = op.impl(DK_CPU, std::mem_fn(&tensor::member));' \
	'auto r = op.impl(DK_CPU, &tensor::member);' "$exactly"
pair 'auto r = op.impl<takes>(DK_CUDA);' 'auto r = op.impl<&tensor::member>(DK_CUDA);' "$exactly"
pair 'dk::library l(DK_LIBRARY_IMPL, "t"); auto r = l.impl<takes>(op);' \
	'dk::library l(DK_LIBRARY_IMPL, "t"); auto r = l.impl<takes_float>(op);' "$exactly"
pair 'auto i = op.make_impl<takes>(DK_CPU);' \
	'auto i = op.make_impl<takes_float>(DK_CPU);' "$exactly"
pair 'auto i = op.make_impl(DK_CPU, [](tensor &, double) { return 0; });' \
	'int n = 0; auto i = op.make_impl(DK_CPU, [n](tensor &, double) { return n; });' \
	'must have no captures'
pair 'auto r = op.boxed(DK_CPU, [](dk_call *, void *) { return 0; });' \
	'auto r = op.boxed(DK_CPU, [](dk_call *, int *) { return 0; });' 'a boxed function takes'
pair 'auto r = dk::fallback(DK_CPU, [](dk_call *, void *) { return 0; });' \
	'auto r = dk::fallback(DK_CPU, [](void *) { return 0; });' 'a boxed function takes'
pair 'dk::library l(DK_LIBRARY_IMPL, "_"); auto r = l.fallback<boxed>(DK_CPU);' \
	'dk::library l(DK_LIBRARY_IMPL, "_"); auto r = l.fallback<takes>(DK_CPU);' \
	'a boxed function takes'
pair 'dk::listener l([](const dk_event &) {});' 'dk::listener l([](int) {});' 'dk::listener calls'

# macros for C name what to use in C++
pair 'auto r = op.impl<takes>(DK_XPU);' 'static const dk_impl i = DK_IMPL(op, DK_CPU, takes);' \
	'DK_IMPL() is for C: use dk::op::impl() or make_impl() of <dispatchkey.hpp>'
pair 'auto r = dk::fallback<boxed>(DK_CPU);' \
	'static const dk_impl i[] = { DK_FALLBACK(DK_CPU, boxed) };' \
	'DK_FALLBACK() is for C: use dk::fallback() of <dispatchkey.hpp>'

pair 'static dk::op<int(int)> o{ "t::o" };' 'static dk::op<void(int)> o{ "t::o" };' 'returns int'
pair 'static dk::op<int(int)> o{ "t::o" };' \
	'static dk::op<int(int) noexcept> o{ "t::o" };' 'is not noexcept'
pair 'static dk::op<int(int, tensor *), dk::on<1>> o{ "t::o" };' \
	'static dk::op<int(int, tensor *), dk::on<0>> o{ "t::o" };' 'dk::on names'
pair 'static dk::op<int(tensor *), dk::on<0>> o{ "t::o" };' \
	'static dk::op<int(tensor *), dk::on<1>> o{ "t::o" };' 'dk::on names'
pair 'static dk::op<int(std::array<char, 2>)> o{ "t::o" };' \
	'static dk::op<int(std::vector<int>)> o{ "t::o" };' 'use a pointer'
pair 'struct copied { int n; }; static dk::op<int(copied)> o{ "t::o" };' \
	'struct moved { moved(moved &&) = default; int n; }; static dk::op<int(moved)> o{ "t::o" };' \
	'use a pointer'
declared='is only declared here'
pair 'struct opaque; static dk::op<int(tensor &, opaque *), dk::on<0>> o{ "t::o" };' \
	'struct opaque; static dk::op<int(tensor &, opaque *)> o{ "t::o" };' "$declared"
for one in 'std::vector<X *>' 'std::optional<X *>' 'std::reference_wrapper<X>'; do
	pair "struct opaque; static dk::op<int(tensor &, ${one/X/opaque} &), dk::on<0>> o{ \"t::o\" };" \
		"struct opaque; static dk::op<int(tensor &, ${one/X/opaque} &)> o{ \"t::o\" };" \
		"$declared"
done
hidden='do not dispatch on objects in a parameter'
pair 'struct opaque; static dk::op<int(tensor &, opaque **)> o{ "t::o" };' \
	'struct opaque; static dk::op<int(tensor &, opaque *(&)[2])> o{ "t::o" };' "$declared"
pair 'static dk::op<int(std::shared_ptr<int> &)> o{ "t::o" };' \
	'static dk::op<int(const std::shared_ptr<tensor> &)> o{ "t::o" };' "$hidden"
pair 'static dk::op<int(const std::vector<tensor> &)> o{ "t::o" };' \
	'static dk::op<int(const std::vector<std::unique_ptr<tensor>> &)> o{ "t::o" };' "$hidden"
pair 'static dk::op<int(tensor &, std::shared_ptr<tensor> &), dk::on<0>> o{ "t::o" };' \
	'static dk::op<int(const std::optional<std::shared_ptr<tensor>> &)> o{ "t::o" };' \
	"$hidden"
pair 'static dk::op<int(char **)> o{ "t::o" };' \
	'static dk::op<int(tensor **)> o{ "t::o" };' "$hidden"
pair 'static dk::op<int(const std::pair<int, char> &)> o{ "t::o" };' \
	'static dk::op<int(const std::pair<tensor, int> &)> o{ "t::o" };' "$hidden"
pair 'static dk::op<int(tensor &, std::vector<tensor> *), dk::on<0>> o{ "t::o" };' \
	'static dk::op<int(tensor &, std::vector<tensor> *)> o{ "t::o" };' "$hidden"
pair 'static dk::op<int(node<int> &)> o{ "t::o" };' \
	'static dk::op<int(node<tensor> &)> o{ "t::o" };' "$hidden"
for one in 'std::unique_ptr<X[]>' 'std::shared_ptr<X[]>' 'std::shared_ptr<X[2]>' 'small<X, 2>' \
	'counted<2, X>' 'sized<X, 2>'; do
	pair "static dk::op<int(${one/X/int} &)> o{ \"t::o\" };" \
		"static dk::op<int(${one/X/tensor} &)> o{ \"t::o\" };" "$hidden"
done

use=from_raw
pair 'auto k = dk::keyset::from_raw(0x33);' 'auto k = dk::keyset(0x33);' "$use"
pair 'auto k = dk::keyset{ DK_BACKEND_CPU, DK_BACKEND_HIP };' \
	'auto k = dk::keyset(DK_BACKEND_CPU | DK_BACKEND_HIP);' "$use"
pair 'auto k = dk::keyset(DK_CPU);' 'auto k = dk::keyset(DK_KIND_ALIAS);' "$use"
pair 'auto k = dk::keyset(DK_CPU) | DK_CUDA;' 'auto k = dk::keyset(DK_CPU) | DK_BACKEND_CUDA;' ''
pair 'auto b = dk::keyset(DK_CPU).has_backend(DK_BACKEND_CPU);' \
	'auto b = dk::keyset(DK_CPU).has_backend(DK_CPU);' ''
pair 'auto b = dk::keyset(DK_CPU).has(DK_CPU);' 'auto b = dk::keyset(DK_CPU).has(DK_BACKEND_CPU);' ''
pair 'dk::include g(DK_CPU);' 'dk::include g(DK_BACKEND_CPU);' ''
pair 'dk::keyset k = DK_CPU;' 'dk::keyset k = 1;' ''
pair 'dk::include g{ DK_CPU };' 'dk::include{ DK_CPU };' nodiscard
pair 'dk::exclude g{ DK_CPU };' 'dk::exclude{ DK_CPU };' nodiscard
pair 'dk::force g(DK_CPU, DK_CUDA);' 'dk::force(DK_CPU, DK_CUDA);' nodiscard
pair 'dk::set_excluded g(DK_CPU, true);' 'dk::set_excluded(DK_CPU, true);' nodiscard
pair 'dk::autocast g(DK_BACKEND_CPU);' 'dk::autocast{ DK_BACKEND_CPU };' nodiscard
pair 'dk::inference_mode g(true);' 'dk::inference_mode(true);' nodiscard
pair 'dk::inference_mode on(true);' 'dk::inference_mode on;' 'no matching'
for guard in preserve below_autograd below_adinplace_or_view skip_functionalize; do
	pair "dk::$guard g;" "dk::$guard();" nodiscard
done
pair 'dk::library l(DK_LIBRARY_IMPL, "t");' 'dk::library(DK_LIBRARY_IMPL, "t");' nodiscard
pair 'dk::listener l([](const dk_event &) {});' 'dk::listener([](const dk_event &) {});' nodiscard
pair 'dk::registry r;' 'dk::registry();' nodiscard
pair 'dk::handle h("t::op");' 'dk::handle("t::op");' nodiscard
for one in $compilers; do
	ok "$one accepts the same statements with the right types" compiles "$one" "$right"
done

finish
