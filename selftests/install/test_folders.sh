#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the folders that a user names for make: those that make must refuse before it changes any
# file, and those from which make clean removes files. Prints TAP.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

[ -n "$st_top" ] || skip_all "the project is not around the tests"
need_command make

# run_make ARGUMENT... - runs make, which prints into $st_tmp/said
run_make() { env -u O MAKEFLAGS='' make -C "$st_top" "$@" >"$st_tmp/said" 2>&1; }
# says WHAT PATTERN - tests that the last run_make has printed PATTERN
says() { like "$1" "*$2*" "$(cat "$st_tmp/said")"; }

echo "TAP version 13"

# ---- names that make or the shell would split or interpret
mine="$st_tmp/my prefix"
touch "$st_tmp/my"
refused "make uninstall refuses a PREFIX with a space" run_make uninstall PREFIX="$mine"
says "make names the PREFIX and the space" "PREFIX='$mine' *without space in its name*"
ok "make uninstall does not remove the path before the space" test -e "$st_tmp/my"
for name in 'a&b' "a'b" 'a;b' 'a|b' 'a(b' 'a\b' 'a#b' 'a%b' 'a:b' 'a*b'; do
	refused "make refuses PREFIX=/$name" run_make -n install PREFIX="/$name"
	says "make names the character in PREFIX=/$name" "without \\${name:1:1} in its name"
done
for name in O DESTDIR LIBDIR BINDIR INCLUDEDIR MANDIR COMPLETIONSDIR ZSHCOMPLETIONSDIR \
	FISHCOMPLETIONSDIR DOCDIR KDIR; do
	refused "make refuses a $name with a space" run_make -n install "$name=$mine"
	says "make names $name" "$name='$mine' "
done
for name in O DESTDIR KDIR; do
	refused "make refuses a $name that begins with a ~" run_make -n install "$name=~/out"
	says "make says that $name begins with a ~" "$name='~/out' begins with a ~"
done
ok "make accepts other punctuation in PREFIX" run_make -n uninstall PREFIX=/a.b-1~2+3@4,5=6_7

# ---- names in small letters, as in other projects
for name in prefix libdir bindir includedir mandir docdir; do
	refused "make refuses $name=" run_make -n install "$name=/usr"
	says "make says how to write $name=" "$name= has no effect: write the name in capitals"
done
ok "make ignores an environment variable named prefix" \
	env prefix=/usr MAKEFLAGS='' make -n -C "$st_top" uninstall

# ---- relative names
for name in PREFIX LIBDIR BINDIR INCLUDEDIR MANDIR COMPLETIONSDIR ZSHCOMPLETIONSDIR \
	FISHCOMPLETIONSDIR DOCDIR; do
	refused "make refuses a relative $name" run_make -n install DESTDIR=/stage "$name=lib64"
	says "make says that $name has to begin with a /" "$name='lib64' does not begin with a /"
done
ok "make without installing ignores LIBDIR" env LIBDIR=lib64 MAKEFLAGS='' make -n -C "$st_top" help
ok "make accepts an empty PREFIX" run_make -n uninstall PREFIX=
# kbuild is given the same folder
ok "make accepts a relative DESTDIR" run_make -n dkms_install DESTDIR=stage
says "make installs in a relative DESTDIR below the source folder" "$st_top/stage/usr/src"

mkdir "$st_tmp/a source"
cp "$st_top/Makefile" "$st_tmp/a source"
refused "make refuses a source folder with a space" run_make -C "$st_tmp/a source"
says "make names the source folder" "the source folder '$st_tmp/a source'"

# ---- make clean, in a copy of what make reads before it compiles
tree=$st_tmp/tree
mkdir "$tree"
cp -r "$st_top"/{Makefile,VERSION,lib,samples,scripts,tools} "$tree"
files() { (cd "$st_tmp" && find tree "$@" -type f | sort); }
ok "make clean without an output folder succeeds" run_make -C "$tree" clean
before=$(files)
for folder in . .. "$tree" "$st_tmp/tree/../tree"; do
	for target in lib clean; do
		refused "make $target refuses O=$folder" run_make -C "$tree" O="$folder" $target
		says "make $target says why it refuses O=$folder" "is the source folder or contains it"
	done
done
refused "make refuses a folder of the sources" run_make -C "$tree" O=lib config
says "make names files in the folder of the sources" \
	"O=lib has files *name a new or an empty folder"
run_make -C "$tree" O=lib clean
is "no file of the sources is removed" "$before" "$(files)"

mkdir -p "$st_tmp/theirs"/{lib,samples,src}
touch "$st_tmp/theirs"/{config.mk,{lib,samples,src}/file}
before=$(files theirs)
refused "make refuses a folder with other files" run_make O="$st_tmp/theirs" config
says "make names the other files" "(config.mk lib samples src)"
ok "make clean succeeds in a folder with other files" run_make O="$st_tmp/theirs" clean
says "make clean says that it has removed nothing" "has no config.mk*nothing was removed"
is "make clean removes no other files" "$before" "$(files theirs)"

# what the scripts leave in a folder before make builds there
mkdir -p "$st_tmp/new"/{check,rpm}
ok "make builds in a folder in which only scripts have written" run_make O="$st_tmp/new" config
# the file "flags" is made without compiling
rm -r "$st_tmp/new"/{check,rpm}
ok "make -j2 clean and another target succeeds" \
	run_make -j2 O="$st_tmp/new" clean "$st_tmp/new/flags"
ok "make clean comes before the other target" test -e "$st_tmp/new/flags"
ok "make accepts the folder again" run_make O="$st_tmp/new" config
touch "$st_tmp/new/notes"
ok "make accepts other files in a folder in which it has built" run_make O="$st_tmp/new" config
ok "make clean succeeds" run_make O="$st_tmp/new" clean
is "make clean leaves the other files" notes "$(ls "$st_tmp/new")"

finish
