#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# <dispatchkey.hpp> with every C++ compiler that there is, without exceptions
# and RTTI and without a warning: cxx_test, and the sample in C++ beside the one
# in C. Prints TAP. CXX= is another compiler.
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
		"int main() { auto r = op.impl(DK_CPU, $2); return !r; }" >"$st_tmp/refused.cpp"
	if cxx "$1" c++17 "$st_tmp/refused.cpp" -o "$st_tmp/refused" 2>"$st_tmp/said"; then
		return 1
	fi
	cat "$st_tmp/said"
	grep -q 'does not take the operator' "$st_tmp/said"
}

compiles() {
	! refuses "$@" && cxx "$1" c++17 "$st_tmp/refused.cpp" -o "$st_tmp/refused"
}

echo "TAP version 13"
ok "the half in C compiles" c -c "$st_here/c_half.c" -o "$st_tmp/c_half.o"
for one in $compilers; do
	for standard in c++17 c++20; do
		ok "cxx_test compiles by $one as $standard" cxx "$one" "$standard" \
			"$st_here/cxx_test.cpp" "$st_tmp/c_half.o" -o "$st_tmp/cxx_test"
		ok "cxx_test by $one as $standard" "$st_tmp/cxx_test"
	done
	ok "$one takes a function of the right type" compiles "$one" \
		'[](tensor &, int) { return 0; }'
	ok "$one takes none of another type" refuses "$one" \
		'[](const char *, int) { return 0; }'
	ok "$one takes none that returns nothing" refuses "$one" '[](tensor &, int) {}'
	ok "hello.cpp compiles by $one" cxx "$one" c++17 "$top/samples/hello.cpp" -o "$st_tmp/hello"
	ok "it prints what hello.c does" says_as_hello "$st_tmp/hello"
done

finish
