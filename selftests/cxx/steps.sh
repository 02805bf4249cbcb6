# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Shared by the scripts of this directory, which source it: it builds the
# library unless DK_PREBUILT=1 says that it is there, and has what prints TAP.
# O= is the output folder, CC= the compiler, $here the script's folder.
set -u

top=${DK_TOP:-$(cd "$here/../.." && pwd)}
cc=${CC:-cc}
case ${O:-build} in
/*) lib=$O ;;
*) lib=$top/${O:-build} ;;
esac
n=0
failures=0

# leave WHY - skip all
leave() {
	echo "TAP version 13"
	echo "1..0 # SKIP $1"
	exit 4
}

# try WHAT COMMAND... - one test; its output is shown when it fails
try() {
	what=$1
	shift
	n=$((n + 1))
	if "$@" >"$tmp/log" 2>&1; then
		echo "ok $n - $what"
	else
		failures=$((failures + 1))
		echo "not ok $n - $what"
		sed 's/^/# /' "$tmp/log"
	fi
}

# c OPTION... - compile C, with the library
c() {
	$cc -std=gnu11 -g -Wall -Wextra -Wno-unused-parameter -Werror -I"$top/include" \
		-I"$top/uapi" "$@" -L"$lib" -Wl,-rpath,"$lib" -ldispatchkey -ldl
}

# says_as_hello COMMAND... - it prints what hello.c does
says_as_hello() {
	"$lib/samples/hello" >"$tmp/want" && "$@" >"$tmp/got" && diff "$tmp/want" "$tmp/got" &&
		grep -qx "21 42 63" "$tmp/got"
}

[ -e "$top/lib/libdispatchkey.map" ] ||
	leave "the library's sources are not beside the tests"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
[ "${DK_PREBUILT:-}" = 1 ] ||
	MAKEFLAGS='' make -s -C "$top" O="$lib" lib "$lib/samples/hello" >&2 || exit 1
