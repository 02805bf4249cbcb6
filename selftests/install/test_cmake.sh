#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests that a CMake project finds the installed library by its config files, even if the
# installed folders have moved. Prints TAP. O= is the output folder.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

[ -e "$st_top/lib/cmake" ] || skip_all "the library's sources are not beside the tests"
need_command cmake make "${CC:-cc}"

run_make() { MAKEFLAGS='' make -s -C "$st_top" O="${O:-build}" "$@"; }

# The project, in a folder of its own.
project=$st_tmp/project
mkdir "$project"
cp "$st_here/CMakeLists.txt" "$st_top/samples/hello.c" "$project"
cat >"$project/client.c" <<-END
	#include <dispatchkey-nl.h>
	#include <stdio.h>

	int main(void)
	{
		printf("%s\n", dk_nl_version());
		return 0;
	}
END

# configure PREFIX [ARGUMENT...] - configures the project in a new folder $st_tmp/build
configure() {
	local prefix=$1
	shift
	rm -rf "${st_tmp:?}/build"
	cmake -S "$project" -B "$st_tmp/build" -DCMAKE_PREFIX_PATH="$prefix" "$@" &&
		grep "^dispatchkey_DIR:PATH=$prefix/" "$st_tmp/build/CMakeCache.txt"
}
compile() { cmake --build "$st_tmp/build"; }
hello_says() { [ "$("$st_tmp/build/$1" | tail -n 1)" = "21 42 63" ]; }
needed() { readelf -d "$st_tmp/build/$1" | sed -n 's/.*NEEDED.*\[\(libdispatchkey[^]]*\)\]/\1/p'; }
# asks VERSION [WORD...] - configures a project that calls find_package() with these words
asks() {
	cat >"$project/asks.cmake" <<-END
		cmake_minimum_required(VERSION 3.19)
		project(asks C)
		find_package(dispatchkey $*)
		message(STATUS "found: \${dispatchkey_FOUND}")
	END
	mkdir -p "$st_tmp/asks"
	cp "$project/asks.cmake" "$st_tmp/asks/CMakeLists.txt"
	rm -rf "${st_tmp:?}/asked"
	cmake -S "$st_tmp/asks" -B "$st_tmp/asked" -DCMAKE_PREFIX_PATH="$root" 2>&1
}
# found VERSION [WORD...] - prints whether find_package() finds the library
found() { asks "$@" | sed -n 's/.*found: //p'; }
finds() { [ "$(found "$@")" = 1 ]; }

# uses PREFIX WHAT - tests that programs build and run with the files below PREFIX
uses() {
	ok "$2 is configured" configure "$1"
	ok "$2: programs build" compile
	ok "$2: hello runs" hello_says hello
	ok "$2: static hello runs" hello_says hello_static
	is "$2: hello is linked with the shared library, static hello is not" \
		"libdispatchkey.so.0 " "$(needed hello) $(needed hello_static)"
	if [ -n "$nl" ]; then
		is "$2: the client programs run" "$version $version" \
			"$("$st_tmp/build/client") $("$st_tmp/build/client_static")"
		is "$2: the client programs are linked with the client library only" \
			"libdispatchkey-nl.so.0 " \
			"$(needed client) $(needed client_static)"
	else
		skip "$2: the client programs run" "no libnl-3 here"
	fi
}

version=$(cat "$st_top/VERSION")
echo "TAP version 13"
ok "the library builds" run_make lib nl dkctl
nl=$(cd "$st_top" && sed -n 's/^have_nl := 1$/1/p' "${O:-build}/config.mk")

root=$st_tmp/dest/opt/dk
ok "make install succeeds" run_make install DESTDIR="$st_tmp/dest" PREFIX=/opt/dk
uses "$root" "a project"
lacks "the CMake files contain no absolute path" "/opt/dk|$st_tmp" \
	"$root"/lib/cmake/dispatchkey/*.cmake
mkdir "$st_tmp/elsewhere"
mv "$root" "$st_tmp/elsewhere/dk"
uses "$st_tmp/elsewhere/dk" "a project, after the folders have moved,"
mv "$st_tmp/elsewhere/dk" "$root"

# A version also satisfies requests for older versions with the same soname.
ok "find_package() without a version succeeds" finds
ok "find_package() with this version succeeds" finds "$version" EXACT
ok "find_package() with a version range succeeds" finds "0...$version"
major=${version%%.*}
is "find_package() with a newer version fails" 0 "$(found "$major.99")"
is "find_package() with the version of another soname fails" 0 "$(found "$((major + 1))")"
is "find_package() with a range of newer versions fails" \
	0 "$(found "$((major + 1))...<$((major + 2))")"
like "find_package() names an unknown component" '*has no component "nonsense"*' \
	"$(asks REQUIRED COMPONENTS nonsense)"
if [ -n "$nl" ]; then
	ok "find_package() finds the component nl" finds REQUIRED COMPONENTS nl
else
	skip "find_package() finds the component nl" "no libnl-3 here"
fi
like "files are installed" "*/libdispatchkey.so*" "$(find "$st_tmp/dest" -name '*dispatchkey*')"
ok "make uninstall succeeds" run_make uninstall DESTDIR="$st_tmp/dest" PREFIX=/opt/dk
is "make uninstall removes all files" "" "$(find "$st_tmp/dest" ! -type d -o -name '*dispatchkey*')"

# Install into the folders of a distribution, where /lib is a link to /usr/lib.
root=$st_tmp/dest/usr
ok "make install with LIBDIR succeeds" run_make install DESTDIR="$st_tmp/dest" PREFIX=/usr \
	LIBDIR=/usr/lib/x86_64-linux-gnu
ln -s usr/lib "$st_tmp/dest/lib"
ok "a project finds the library by a link to LIBDIR" configure "$st_tmp/dest" \
	-Ddispatchkey_DIR:PATH="$st_tmp/dest/lib/x86_64-linux-gnu/cmake/dispatchkey"
ok "a project builds with the library found by a link" compile

finish
