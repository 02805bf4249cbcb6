#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The library as its users get it: installed under a PREFIX into a DESTDIR,
# found by pkg-config, and the same from the build tree; uninstall leaves
# nothing. Prints TAP. O= is the output folder, CC= the compiler.
set -u

top=$(cd "$(dirname -- "$0")/../.." && pwd)
cc=${CC:-cc}
cxx=${CXX:-c++}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0
failures=0

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

skip() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

run_make() {
	MAKEFLAGS='' make -s -C "$top" O="${O:-build}" "$@"
}

# pc FOLDER ARGUMENT... - pkg-config that knows one folder of .pc files beside
# the system's
pc() {
	folder=$1
	shift
	PKG_CONFIG_PATH=$folder pkg-config "$@" dispatchkey
}

# build_samples FOLDER - hello and the plugin pair in $tmp/bin, as a user would
build_samples() {
	rm -rf "${tmp:?}/bin"
	mkdir -p "$tmp/bin"
	# a user's own folder: nothing of the tree around it is found by accident
	cp -R "$top/samples/hello.c" "$top/samples/plugin" "$tmp/bin" || return
	cflags=$(pc "$1" --cflags) && libs=$(pc "$1" --libs) || return
	# shellcheck disable=SC2086 # options are words
	(cd "$tmp/bin" &&
		$cc -Wall -Werror hello.c -o hello $cflags $libs &&
		$cc -Wall -Werror plugin/host.c -o host -pthread $cflags $libs -ldl &&
		$cc -Wall -Werror -shared -fPIC plugin/plugin.c -o plugin.so $cflags $libs)
}

hello_says() {
	"$@" >"$tmp/hello.out" && cat "$tmp/hello.out" &&
		[ "$(tail -n 1 "$tmp/hello.out")" = "21 42 63" ]
}

build_static() {
	cflags=$(pc "$1" --cflags) || return
	# shellcheck disable=SC2046,SC2086
	$cc "$top/samples/hello.c" -o "$tmp/static" $cflags \
		"$2/libdispatchkey.a" $(pc "$1" --static --libs-only-l |
			sed 's/-ldispatchkey//') -pthread
}

build_cxx() {
	# shellcheck disable=SC2046
	$cxx -std=c++17 -Wall -Werror "$top/samples/hello.cpp" -o "$tmp/cxx" \
		$(pc "$1" --cflags --libs)
}

version_is() {
	[ "$(pc "$1" --modversion)" = "$(cat "$top/VERSION")" ]
}

needs_soname() {
	readelf -d "$tmp/bin/hello" | grep -q "NEEDED.*libdispatchkey.so.0\]"
}

nothing_left() {
	left=$(find "$tmp/dest" ! -type d)
	ours=$(find "$tmp/dest" -name '*dispatchkey*')
	echo "$left $ours"
	[ -z "$left$ours" ]
}

if [ ! -e "$top/lib/dispatchkey.pc.in" ]; then
	echo "1..0 # SKIP the library's sources are not beside the tests"
	exit 4
fi
if ! command -v pkg-config >/dev/null; then
	echo "1..0 # SKIP no pkg-config"
	exit 4
fi

echo "TAP version 13"
try "the library builds" run_make lib dkctl

# installed, in a folder that is not where it will be in the end
prefix=/opt/dk
lib=$tmp/dest$prefix/lib
pcdir=$lib/pkgconfig
try "make install" run_make install "DESTDIR=$tmp/dest" PREFIX=$prefix
try "the .pc file names the prefix" grep -qx "prefix=$prefix" "$pcdir/dispatchkey.pc"
try "pkg-config knows the version" version_is "$pcdir"
# what a package manager does when it unpacks there
sed -i "s|^prefix=.*|prefix=$tmp/dest$prefix|" "$pcdir/dispatchkey.pc"
try "hello and plugin build against the installed library" build_samples "$pcdir"
try "they need the soname" needs_soname
try "hello runs" hello_says env "LD_LIBRARY_PATH=$lib" "$tmp/bin/hello"
try "host and plugin run" env "LD_LIBRARY_PATH=$lib" "$tmp/bin/host"
try "hello builds with the static library" build_static "$pcdir" "$lib"
try "static hello runs" hello_says "$tmp/static"
if command -v "$cxx" >/dev/null; then
	try "a C++ program builds" build_cxx "$pcdir"
	try "a C++ program runs" hello_says env "LD_LIBRARY_PATH=$lib" "$tmp/cxx"
else
	skip "a C++ program builds" "no $cxx"
	skip "a C++ program runs" "no $cxx"
fi
try "the installed tool runs" "$tmp/dest$prefix/bin/dkctl" version
try "make uninstall" run_make uninstall "DESTDIR=$tmp/dest" PREFIX=$prefix
try "it leaves nothing" nothing_left

# other folders than the usual ones
try "make install with LIBDIR" run_make install "DESTDIR=$tmp/dest" PREFIX=/usr \
	LIBDIR=/usr/lib/somewhere
try "LIBDIR is where the library is" test -e \
	"$tmp/dest/usr/lib/somewhere/libdispatchkey.so"
# shellcheck disable=SC2016 # pkg-config expands it
try "the .pc file says so" grep -qx 'libdir=${prefix}/lib/somewhere' \
	"$tmp/dest/usr/lib/somewhere/pkgconfig/dispatchkey.pc"
try "make uninstall with LIBDIR" run_make uninstall "DESTDIR=$tmp/dest" PREFIX=/usr \
	LIBDIR=/usr/lib/somewhere
try "it leaves nothing" nothing_left

# straight from the build tree
case ${O:-build} in
/*) tree=$O ;;
*) tree=$top/${O:-build} ;;
esac
try "hello and plugin build against the build tree" build_samples "$tree"
try "hello runs" hello_says "$tmp/bin/hello"
try "host and plugin run" "$tmp/bin/host"

echo "1..$n"
[ $failures -eq 0 ]
