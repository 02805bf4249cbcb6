#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# <dispatchkey.hpp> with every C++ compiler that there is, without exceptions
# and RTTI and without a warning: cxx_test, and the sample in C++ beside the one
# in C. Prints TAP. CXX= is another compiler.

here=$(cd "$(dirname -- "$0")" && pwd)
# shellcheck source=selftests/cxx/steps.sh
. "$here/steps.sh"

compilers=
for one in ${CXX:-} g++ clang++; do
	command -v "$one" >/dev/null || continue
	case " $compilers " in *" $one "*) ;; *) compilers="$compilers $one" ;; esac
done
[ -n "$compilers" ] || leave "no C++ compiler"

# cxx COMPILER STANDARD FILE... PROGRAM
cxx() {
	compiler=$1 standard=$2
	shift 2
	"$compiler" -std="$standard" -fno-exceptions -fno-rtti -g -O1 -Wall -Wextra -pedantic \
		-Werror -I"$top/include" -I"$top/uapi" "$@" -L"$lib" -Wl,-rpath,"$lib" \
		-ldispatchkey -pthread
}

# A function of another type does not compile, and the compiler says so.
refuses() {
	printf '%s\n' '#include <dispatchkey.hpp>' 'struct tensor { dk_obj dk; };' \
		'static dk::op<int(tensor &, int)> op{ "t::op" };' \
		"int main() { auto r = op.impl(DK_CPU, $2); return !r; }" >"$tmp/refused.cpp"
	if cxx "$1" c++17 "$tmp/refused.cpp" -o "$tmp/refused" 2>"$tmp/said"; then
		return 1
	fi
	cat "$tmp/said"
	grep -q 'does not take the operator' "$tmp/said"
}

compiles() {
	! refuses "$@" && cxx "$1" c++17 "$tmp/refused.cpp" -o "$tmp/refused"
}

echo "TAP version 13"
try "the half in C compiles" c -c "$here/c_half.c" -o "$tmp/c_half.o"
for one in $compilers; do
	for standard in c++17 c++20; do
		try "cxx_test compiles by $one as $standard" cxx "$one" "$standard" \
			"$here/cxx_test.cpp" "$tmp/c_half.o" -o "$tmp/cxx_test"
		try "cxx_test by $one as $standard" "$tmp/cxx_test"
	done
	try "$one takes a function of the right type" compiles "$one" \
		'[](tensor &, int) { return 0; }'
	try "$one takes none of another type" refuses "$one" \
		'[](const char *, int) { return 0; }'
	try "$one takes none that returns nothing" refuses "$one" '[](tensor &, int) {}'
	try "hello.cpp compiles by $one" cxx "$one" c++17 "$top/samples/hello.cpp" -o "$tmp/hello"
	try "it prints what hello.c does" says_as_hello "$tmp/hello"
done

echo "1..$n"
[ $failures -eq 0 ]
