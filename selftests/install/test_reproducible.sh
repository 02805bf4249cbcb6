#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds and installs the same sources from two folders, with different times of files, time
# zones, languages and umasks. Every installed file must be the same, byte by byte. The module is
# for the kernel of KDIR. Prints TAP. CC= is the compiler.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

[ -n "$st_top" ] || skip_all "the project is not here"
need_command make diff "${CC:-cc}"
need_headers

one=$st_tmp/one two=$st_tmp/another/folder/of-another-length
copy() { # FOLDER
	mkdir -p "$1" && tar -C "$st_top" -c --exclude=./.git \
		--exclude-from=<(sed -n 's|/$||; s|^/|./|; /^[^#]/p' "$st_top/.gitignore") . | tar -C "$1" -x
}
# in_one, in_two ARGUMENT... - run make in one of the folders, each with its own settings
in_one() { env -u O MAKEFLAGS='' TZ=UTC make -s -j"$(nproc)" -C "$one" "$@"; }
in_two() {
	(umask 077 && env -u O -u LC_ALL MAKEFLAGS='' TZ=Asia/Tokyo LANG=C.UTF-8 \
		make -s -j2 -C "$two" "$@")
}
in_both() { in_one "$@" && in_two "$@"; }
install_both() { # TARGET
	in_one "$1" KDIR="$KDIR" PREFIX=/usr DESTDIR="$one.root" &&
		in_two "$1" KDIR="$KDIR" PREFIX=/usr DESTDIR="$two.root"
}
# Prints the files that only one of the folders has, and those that differ, each with the
# position of its first difference.
differences() { # FOLDER OTHER
	local name
	diff -rq --no-dereference "$1" "$2" | grep -v ' differ$'
	diff -rq --no-dereference "$1" "$2" | sed -n "s|^Files $1/\(.*\) and .* differ\$|\1|p" |
		while read -r name; do cmp "$1/$name" "$2/$name"; done
}
# Modules are left out, because kbuild installs them with the mode of the built file.
modes() { (cd "$1" && find . ! -name '*.ko*' -printf '%M %P %l\n' | sort); } # FOLDER
count() { (cd "$1" && find . -type f | wc -l); }

echo "TAP version 13"
ok "the sources are copied into the first folder" copy "$one"
ok "the sources are copied into the second folder" copy "$two"
ok "the files of the second folder get another time" \
	find "$two" -type f -exec touch -d 2001-01-01 {} +

# First test the comparison itself: it must find objects that contain the name of their folder.
ok "an object that contains the name of its folder is built in both" \
	in_both same_paths= build/lib/init.o
like "the comparison names a file that differs" "*/lib/init.o *differ*" \
	"$(differences "$one/build/lib" "$two/build/lib")"
ok "make clean succeeds in both folders" in_both clean

ok "libraries, tool, samples and manual pages are built in both folders" in_both all man
is "the samples of both folders are equal" \
	"" "$(differences "$one/build/samples" "$two/build/samples")"
ok "make install succeeds in both folders" install_both install
ok "the module is built in both folders" in_both KDIR="$KDIR" modules
ok "make modules_install succeeds in both folders" install_both modules_install
ok "make dkms_install succeeds in both folders" install_both dkms_install
for file in usr/lib/libdispatchkey.a usr/lib/libdispatchkey.so.0 usr/bin/dkctl \
	usr/lib/pkgconfig/dispatchkey.pc lib/modules/*/updates/dispatchkey.ko; do
	ok "$file is installed" compgen -G "$one.root/$file"
done
is "all $(count "$one.root") installed files are equal" "" "$(differences "$one.root" "$two.root")"
is "all installed links and modes are equal" "" "$(diff <(modes "$one.root") <(modes "$two.root"))"
finish
