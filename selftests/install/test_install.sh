#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Installs the library under a PREFIX into a DESTDIR, and finds it by pkg-config there and in
# the build tree. Uninstalling must leave no file. Prints TAP. O= is the output folder, CC=
# the compiler.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

top=$(cd "$st_here/../.." && pwd)
cc=${CC:-cc}
cxx=${CXX:-c++}

run_make() {
	MAKEFLAGS='' make -s -C "$top" O="${O:-build}" "$@"
}

# pc FOLDER ARGUMENT... - runs pkg-config with the .pc files of FOLDER and of the system
pc() {
	folder=$1
	shift
	PKG_CONFIG_PATH=$folder pkg-config "$@" dispatchkey
}

# build_samples FOLDER - builds hello, and host and plugin, in $st_tmp/bin as a user would
build_samples() {
	rm -rf "${st_tmp:?}/bin"
	mkdir -p "$st_tmp/bin"
	# a user's own folder, so nothing of the surrounding tree is found by accident
	cp -R "$top/samples/hello.c" "$top/samples/plugin" "$st_tmp/bin" || return
	cflags=$(pc "$1" --cflags) && libs=$(pc "$1" --libs) || return
	# shellcheck disable=SC2086 # options are words
	(cd "$st_tmp/bin" &&
		$cc -Wall -Werror hello.c -o hello $cflags $libs &&
		$cc -Wall -Werror plugin/host.c -o host -pthread $cflags $libs -ldl &&
		$cc -Wall -Werror -shared -fPIC plugin/plugin.c -o plugin.so $cflags $libs)
}

reports_idle() {
	timeout 60 "$st_tmp/bin/host" "$1" 2>&1 >/dev/null | grep "ran the wrong function"
}

hello_says() {
	"$@" >"$st_tmp/hello.out" && cat "$st_tmp/hello.out" &&
		[ "$(tail -n 1 "$st_tmp/hello.out")" = "21 42 63" ]
}

build_static() {
	cflags=$(pc "$1" --cflags) || return
	# shellcheck disable=SC2046,SC2086
	$cc "$top/samples/hello.c" -o "$st_tmp/static" $cflags \
		"$2/libdispatchkey.a" $(pc "$1" --static --libs-only-l |
			sed 's/-ldispatchkey//') -pthread
}

build_cxx() {
	# shellcheck disable=SC2046
	$cxx -std=c++17 -Wall -Werror "$top/samples/hello.cpp" -o "$st_tmp/cxx" \
		$(pc "$1" --cflags --libs)
}

# build_client FOLDER - builds a program that uses the client library
build_client() {
	cat >"$st_tmp/client.c" <<-END
		#include <dispatchkey-nl.h>
		#include <stdio.h>

		int main(void)
		{
			struct dk_nl_error why = { .size = sizeof(why) };
			struct dk_nl *nl;
			int err = dk_nl_open(NULL, &nl, &why);

			printf("%s\n", err ? why.sentence : "open");
			dk_nl_close(nl);
			return 0;
		}
	END
	# shellcheck disable=SC2046
	$cc -Wall -Werror "$st_tmp/client.c" -o "$st_tmp/client" $(PKG_CONFIG_PATH=$1 \
		pkg-config --cflags --libs dispatchkey-nl)
}

# The client's output depends on the running kernel, but the client must print something.
client_says() {
	"$@" | grep .
}

client_needs() {
	readelf -d "$st_tmp/client" | grep -q "NEEDED.*libdispatchkey-nl.so.0\]" &&
		! readelf -d "$st_tmp/client" | grep -q "NEEDED.*libdispatchkey.so"
}

# client_tests FOLDER COMMAND... - tests the client library if make has found libnl; COMMAND runs
# programs
client_tests() {
	local folder=$1
	shift
	if grep -qx 'have_nl := 1' "$out/config.mk"; then
		ok "a client program builds" build_client "$folder"
		ok "the client program is linked with the client library only" client_needs
		ok "the client program runs" client_says "$@" "$st_tmp/client"
	else
		skip "a client program builds" "no libnl-3 here"
		skip "the client program is linked with the client library only" "no libnl-3 here"
		skip "the client program runs" "no libnl-3 here"
	fi
}

version_is() {
	[ "$(pc "$1" --modversion)" = "$(cat "$top/VERSION")" ]
}

needs_soname() {
	readelf -d "$st_tmp/bin/hello" | grep -q "NEEDED.*libdispatchkey.so.0\]"
}

# bound FOLDER - checks that the tool and the libraries in FOLDER are linked with BIND_NOW
bound() {
	local file
	for file in "$1"/bin/dkctl "$1"/lib/libdispatchkey*.so; do
		readelf -d "$file" | grep -q 'FLAGS_1.*NOW' || { echo "$file"; return 1; }
	done
}

same_samples() (
	cd "$doc/dispatchkey" && find samples -type f >"$st_tmp/samples" || return
	[ -s "$st_tmp/samples" ] && while read -r file; do
		cmp "$file" "$top/$file" || return
	done <"$st_tmp/samples"
)

# in_default_folders PREFIX - lists what is installed in the default folders below PREFIX/share
in_default_folders() {
	(cd "$st_tmp/dest$1" && find . -path './share/*' \( -name doc -o -name man \
		-o -name bash-completion -o -name fish -o -name zsh \) | sort)
}

# Lists all files, and the folders that no other package uses.
tree() {
	(cd "$st_tmp/dest" && find . ! -type d -o -path '*dispatchkey*' -o -path '*/doc/*') | sort
}

[ -e "$top/lib/dispatchkey.pc.in" ] ||
	skip_all "the library's sources are not beside the tests"
need_command pkg-config

echo "TAP version 13"
ok "the library builds" run_make lib nl dkctl
out=$(cd "$top" && realpath "${O:-build}")
for path in "$out" "$out/" "$(realpath --relative-to="$top" "$out")"; do
	is "make with the same O=$path builds nothing again" "made" \
		"$(MAKEFLAGS='' make -C "$top" O="$path" lib nl dkctl >"$st_tmp/again" && echo made
		grep -E '^  (AR|CC|LD) ' "$st_tmp/again")"
	like "make O=$path rebuilds what includes a changed header" "*CC lib/core/call/call.c*" \
		"$(MAKEFLAGS='' make -n -W include/dispatchkey-inline.h -C "$top" O="$path" lib)"
done
like "without <sys/sdt.h>, make prints that probes are left out" \
	"*probes for tracers are left out*" \
	"$(run_make -n have_sdt= lib)"
is "make -s prints only what is left out" "made" \
	"$(run_make lib nl dkctl >"$st_tmp/again" 2>&1 && echo made; grep -v ' no: ' "$st_tmp/again")"

like "make with an empty O= uses the folder build" "* -o build/lib/core/call/call.o*" \
	"$(MAKEFLAGS='' make -n -W lib/core/call/call.c -C "$top" O= lib)"

# the library is installed in a folder other than the final one
prefix=/opt/dk
lib=$st_tmp/dest$prefix/lib
pcdir=$lib/pkgconfig
doc=$st_tmp/dest$prefix/share/doc
mkdir -p "$lib" "$doc"
touch "$lib/another.so"
before=$(tree)
ok "make install succeeds" run_make install "DESTDIR=$st_tmp/dest" PREFIX=$prefix
folders="./share/bash-completion ./share/doc ./share/fish ./share/man ./share/zsh"
command -v python3 >/dev/null || folders=${folders/ .\/share\/man/}
is "files are installed in the default folders" "$folders" \
	"$(in_default_folders $prefix | paste -sd ' ')"
ok "the .pc file names the prefix" grep -qx "prefix=$prefix" "$pcdir/dispatchkey.pc"
ok "pkg-config reports the version of VERSION" version_is "$pcdir"
# changed as by a package manager that unpacks into another folder
sed -i "s|^prefix=.*|prefix=$st_tmp/dest$prefix|" "$pcdir/dispatchkey.pc"
ok "hello and plugin build against the installed library" build_samples "$pcdir"
ok "hello and plugin are linked with the library's soname" needs_soname
ok "hello runs with the installed library" hello_says env "LD_LIBRARY_PATH=$lib" "$st_tmp/bin/hello"
ok "host and plugin run with the installed library" env "LD_LIBRARY_PATH=$lib" "$st_tmp/bin/host"
ok "hello builds with the static library" build_static "$pcdir" "$lib"
ok "static hello runs" hello_says "$st_tmp/static"
if command -v "$cxx" >/dev/null; then
	ok "a C++ program builds" build_cxx "$pcdir"
	ok "a C++ program runs" hello_says env "LD_LIBRARY_PATH=$lib" "$st_tmp/cxx"
else
	skip "a C++ program builds" "no $cxx"
	skip "a C++ program runs" "no $cxx"
fi
[ ! -e "$pcdir/dispatchkey-nl.pc" ] ||
	sed -i "s|^prefix=.*|prefix=$st_tmp/dest$prefix|" "$pcdir/dispatchkey-nl.pc"
client_tests "$pcdir" env "LD_LIBRARY_PATH=$lib"
ok "the installed tool runs" "$st_tmp/dest$prefix/bin/dkctl" version
ok "tool and libraries are linked with BIND_NOW" bound "$st_tmp/dest$prefix"
ok "the completion for bash is installed" test -f \
	"$st_tmp/dest$prefix/share/bash-completion/completions/dkctl"
ok "the completions for zsh and fish are installed" \
	test -f "$st_tmp/dest$prefix/share/zsh/site-functions/_dkctl" \
	-a -f "$st_tmp/dest$prefix/share/fish/vendor_completions.d/dkctl.fish"
if command -v python3 >/dev/null; then
	man=$st_tmp/dest$prefix/share/man
	ok "the manual pages of dkctl are installed" \
		test -f "$man/man8/dkctl.8" -a -f "$man/man8/dkctl-keyset.8"
	ok "the manual pages of the module and the library are installed" \
		test -f "$man/man4/dispatchkey.4" -a \
		-f "$man/man7/dispatchkey-netlink.7" -a -f "$man/man3/dk_op_define.3"
else
	skip "manual pages are installed" "no python3"
fi
ok "the installed README equals that of the sources" \
	cmp "$top/README.md" "$doc/dispatchkey/README.md"
ok "the installed samples equal those of the sources" same_samples
ok "the specification of the netlink family is installed" \
	cmp "$top/Documentation/netlink/specs/dispatchkey.yaml" "$doc/dispatchkey/dispatchkey.yaml"
is "all samples are installed" \
	"$(cd "$top" && find samples \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.py' \
	-o -name '*.sh' -o -name '*.hpp' -o -name '*.ld' -o -name run -o -name Makefile \) ! -name '*.mod.c' | sort)" \
	"$(cd "$doc/dispatchkey" && find samples -type f | sort)"
like "the installed sample for a board is refused in one sentence" \
	"*no lib/core in *: build samples/board in the source tree of dispatchkey.*" \
	"$(make -C "$doc/dispatchkey/samples/board" 2>&1 | grep lib/core)"
touch "$doc/dispatchkey/samples/mine.c" "$st_tmp/dest$prefix/include/dispatchkey/mine.h"
ok "make uninstall succeeds" run_make uninstall "DESTDIR=$st_tmp/dest" PREFIX=$prefix
is "make uninstall leaves files that it did not install" "$(sort <<<"$before
./${prefix#/}/include/dispatchkey
./${prefix#/}/include/dispatchkey/mine.h
./${prefix#/}/share/doc/dispatchkey
./${prefix#/}/share/doc/dispatchkey/samples
./${prefix#/}/share/doc/dispatchkey/samples/mine.c")" "$(tree)"
rm "$doc/dispatchkey/samples/mine.c" "$st_tmp/dest$prefix/include/dispatchkey/mine.h"
ok "make uninstall succeeds a second time" run_make uninstall "DESTDIR=$st_tmp/dest" PREFIX=$prefix
is "after the second make uninstall, no file is left" "$before" "$(tree)"

# folders other than the default ones
run_make help >"$st_tmp/help"
grep -oE '^[A-Z]+DIR\b' "$top/Makefile" | grep -v KDIR >"$st_tmp/names"
ok "the Makefile has variables of folders" grep -qx DOCDIR "$st_tmp/names"
is "make help lists the variables of all folders" "" "$(while read -r name; do
		grep -q "\b$name=" "$st_tmp/help" || echo "$name"
	done <"$st_tmp/names")"
ok "make install with other folders succeeds" run_make install "DESTDIR=$st_tmp/dest" PREFIX=/usr \
	LIBDIR=/usr/lib/somewhere MANDIR=/usr/man COMPLETIONSDIR=/etc/completions \
	ZSHCOMPLETIONSDIR=/etc/zsh FISHCOMPLETIONSDIR=/etc/fish DOCDIR=/etc/doc/dk
ok "the library is installed in LIBDIR" test -e \
	"$st_tmp/dest/usr/lib/somewhere/libdispatchkey.so"
# shellcheck disable=SC2016 # pkg-config expands it
ok "the .pc file names LIBDIR" grep -qx 'libdir=${prefix}/lib/somewhere' \
	"$st_tmp/dest/usr/lib/somewhere/pkgconfig/dispatchkey.pc"
ok "the completion for bash is installed in COMPLETIONSDIR" \
	test -f "$st_tmp/dest/etc/completions/dkctl"
ok "the other completions are installed in ZSHCOMPLETIONSDIR and FISHCOMPLETIONSDIR" \
	test -f "$st_tmp/dest/etc/zsh/_dkctl" \
	-a -f "$st_tmp/dest/etc/fish/dkctl.fish"
ok "README and samples are installed in DOCDIR" test -f "$st_tmp/dest/etc/doc/dk/README.md" -a \
	-f "$st_tmp/dest/etc/doc/dk/samples/plugin/host.c"
is "nothing is installed in the default folders" "" "$(mkdir -p "$st_tmp/dest/usr/share" &&
	in_default_folders /usr 2>&1)"
ok "make uninstall with other folders succeeds" \
	run_make uninstall "DESTDIR=$st_tmp/dest" PREFIX=/usr \
	LIBDIR=/usr/lib/somewhere MANDIR=/usr/man COMPLETIONSDIR=/etc/completions \
	ZSHCOMPLETIONSDIR=/etc/zsh FISHCOMPLETIONSDIR=/etc/fish DOCDIR=/etc/doc/dk
is "make uninstall with other folders leaves no file" "$before" "$(tree)"

case ${O:-build} in
/*) tree=$O ;;
*) tree=$top/${O:-build} ;;
esac

# sudo make install, with an output folder that belongs to a user
their=$st_tmp/their
if [ "$(id -u)" = 0 ] && command -v python3 >/dev/null; then
	mkdir "$their" && chown nobody "$their"
	run_make "O=$their" config
	cp "$tree/dkctl" "$their" && chown nobody "$their/dkctl"
	ok "root makes the manual pages in a folder of another user" \
		run_make -o "$their/dkctl" "O=$their" man
	is "the manual pages in another user's folder belong to that user" \
		nobody "$(find "$their" -printf '%u\n' | sort -u)"
else
	skip "root makes the manual pages in a folder of another user" "not root, or no python3"
fi

# straight from the build tree, which was moved
sed -i 's|^[a-z]*dir=|&/another|' "$tree"/dispatchkey*-uninstalled.pc
ok "the folders in a .pc file are changed" grep another "$tree/dispatchkey-uninstalled.pc"
ok "make succeeds after the folders were moved" run_make lib nl
lacks "no .pc file names the old folders" another "$tree"/dispatchkey*-uninstalled.pc
ok "hello and plugin build against the build tree" build_samples "$tree"
ok "hello runs with the library of the build tree" hello_says "$st_tmp/bin/hello"
ok "host and plugin run with the library of the build tree" "$st_tmp/bin/host"
ok "a plugin without functions compiles" "$cc" -shared -fPIC -x c - -o "$st_tmp/bin/idle.so" <<-'END'
	int plugin_begin(void *why) { return 0; }
	int plugin_end(void) { return 0; }
END
ok "host reports that a plugin serves nothing" reports_idle "$st_tmp/bin/idle.so"
client_tests "$tree"

finish
