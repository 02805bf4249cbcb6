# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # st_here and st_tmp are of lib.sh
#
# Sourced by the scripts of this directory after lib.sh. Builds the library unless
# DK_PREBUILT=1. O= is the output folder, CC= the compiler.

top=${DK_TOP:-$(cd "$st_here/../.." && pwd)}
cc=${CC:-cc}
case ${O:-build} in
/*) lib=$O ;;
*) lib=$top/${O:-build} ;;
esac

# c OPTION... - compiles C with the library
c() {
	$cc -std=gnu11 -g -Wall -Wextra -Wno-unused-parameter -Werror -I"$top/include" \
		-I"$top/uapi" "$@" -L"$lib" -Wl,-rpath,"$lib" -ldispatchkey -ldl
}

# says_as_hello COMMAND... - true if the command prints the same as hello.c
says_as_hello() {
	"$lib/samples/hello" >"$st_tmp/want" && "$@" >"$st_tmp/got" && diff "$st_tmp/want" "$st_tmp/got" &&
		grep -qx "21 42 63" "$st_tmp/got"
}

[ -e "$top/lib/libdispatchkey.map" ] ||
	skip_all "the library's sources are not beside the tests"
[ "${DK_PREBUILT:-}" = 1 ] ||
	MAKEFLAGS='' make -s -C "$top" O="$lib" lib "$lib/samples/hello" >&2 || exit 1
