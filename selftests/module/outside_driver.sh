#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the driver that README.md shows, which is built outside dispatchkey's tree by a Makefile of
# seven lines. The test builds it with the files of "make modules_install DESTDIR=", loads it and
# calls its function. The two paths in the Makefile are changed to DESTDIR.
#
# DK_OUTSIDE=DIR splits the test into two runs, so that a faster machine can compile. The first
# run builds into DIR and does not need root. The second run loads the result.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

dir=${DK_OUTSIDE:-$st_tmp/outside}
driver=$dir/driver
kver=
[ ! -f "$dir/kver" ] || kver=$(cat "$dir/kver")
build='' load=''
[ -n "$kver" ] || build=1
[ -z "${DK_OUTSIDE-}" ] && load=1
[ -z "$kver" ] || load=1

[ -z "$load" ] || need_root
if [ -n "$build" ]; then
	need_command make gcc
	need_headers
	# In Debian, kernel.release differs from UTS_RELEASE, which uname -r prints.
	utsrelease=$(sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' \
		"$KDIR/include/generated/utsrelease.h" 2>/dev/null)
	[ -n "$utsrelease" ] || skip_all "no utsrelease.h in $KDIR"
	[ -n "$st_top" ] || skip_all "no sources of dispatchkey (set DK_TOP)"
	sample=$st_top/samples/outside
	[ -f "$sample/my.c" ] || skip_all "no sample driver at $sample"
	[ -f "$st_top/Module.symvers" ] || skip_all "no Module.symvers at $st_top (make modules)"
fi
if [ -n "$load" ]; then
	need_command insmod rmmod dmesg
	need_module dispatchkey
fi
tests=0
[ -z "$build" ] || tests=18
[ -z "$load" ] || tests=$((tests + 7))
plan $tests

dest=$dir/dest
# Some kernels have compressed modules.
installed() {
	find "$dest/lib/modules/$kver/updates" -name 'dispatchkey.ko*' 2>/dev/null | head -n 1
}
# shellcheck disable=SC2317 # called by ok and refused
make_in() { MAKEFLAGS='' make -C "$@"; }

if [ -n "$build" ]; then
	kver=$utsrelease
	mkdir -p "$driver"
	ok "make modules_install DESTDIR= succeeds" \
		make_in "$st_top" modules_install DESTDIR="$dest" \
		KDIR="$KDIR" O="$dir/build"
	said=$(cat "$st_log")
	like "make modules_install prints the command to type after it" \
		"*dispatchkey.ko is not signed*depmod $kver*" "$said"
	is "make modules_install prints no error of kbuild" \
		"" "$(grep -E 'SSL error|Skipping depmod' <<<"$said")"
	ok "dispatchkey.ko is installed in updates/" test -f "$(installed)"
	is "no other module is installed" "$(installed)" "$(find "$dest/lib/modules" -name '*.ko*')"
	ok "the headers are installed for drivers" \
		test -f "$dest/usr/src/dispatchkey/include/dispatchkey.h"
	ok "the Module.symvers of this kernel is installed" \
		test -f "$dest/usr/src/dispatchkey/$kver/Module.symvers"

	# Without DESTDIR, make runs depmod. A script replaces depmod here.
	mkdir "$st_tmp/sbin"
	printf '#!/bin/sh\necho "depmod $*" >>%s/depmod\n' "$st_tmp" >"$st_tmp/sbin/depmod"
	chmod 755 "$st_tmp/sbin/depmod"
	place=(MODLIB="$st_tmp/lib" kernel="$st_tmp/src" KDIR="$KDIR" O="$dir/build")
	PATH=$st_tmp/sbin:$PATH ok "make modules_install without DESTDIR= succeeds" \
		make_in "$st_top" modules_install "${place[@]}"
	is "make modules_install runs depmod" "depmod $kver" "$(cat "$st_tmp/depmod")"
	printf '#!/bin/sh\nexit 1\n' >"$st_tmp/sbin/depmod"
	PATH=$st_tmp/sbin:$PATH refused "make modules_install fails if depmod fails" \
		make_in "$st_top" modules_install "${place[@]}"
	like "make modules_install prints the command to type after depmod failed" \
		"*type \"depmod $kver\" as root*" "$(cat "$st_log")"

	# The build folder of another kernel.
	mkdir -p "$st_tmp/other/include/generated"
	: >"$st_tmp/other/Makefile"
	echo '#define UTS_RELEASE "0.1.2-other"' >"$st_tmp/other/include/generated/utsrelease.h"
	refused "make modules_install for another kernel than make modules fails" \
		make_in "$st_top" modules_install DESTDIR="$st_tmp/none" KDIR="$st_tmp/other" \
		O="$dir/build"
	like "make modules_install prints that the module was built for another kernel" \
		"*built for another kernel than 0.1.2-other*make modules KDIR=$st_tmp/other*" \
		"$(cat "$st_log")"

	cp -L "$sample/my.c" "$driver/my.c"
	sed "s|/usr/src/dispatchkey|$dest&|" "$sample/Makefile" >"$driver/Makefile"
	is "the Makefile has seven lines" 7 "$(grep -vc '^#' "$driver/Makefile")"

	# If DK_MODULE_IMPORT() is missing, the build reports that.
	mkdir "$driver/import"
	cp "$driver/Makefile" "$driver/import"
	sed '/DK_MODULE_IMPORT/d' "$driver/my.c" >"$driver/import/my.c"
	refused "a driver without DK_MODULE_IMPORT() does not build" \
		make_in "$driver/import" KDIR="$KDIR" KVER="$kver"
	like "the build prints that DK_MODULE_IMPORT() is missing" \
		'*namespace *DISPATCHKEY*does not import it*' "$(cat "$st_log")"

	# A driver that registers its function at a key other than the key of its call.
	mkdir "$driver/fails"
	cp "$driver/Makefile" "$driver/fails"
	sed 's/DK_IMPL(my_add, DK_DENSE/DK_IMPL(my_add, DK_SPARSE/' "$driver/my.c" >"$driver/fails/my.c"
	ok "a driver whose call fails builds" make_in "$driver/fails" KDIR="$KDIR" KVER="$kver"

	ok "the driver builds" make_in "$driver" KDIR="$KDIR" KVER="$kver" || finish
	echo "$kver" >"$dir/kver"
fi

if [ -n "$load" ]; then
	if is_loaded dispatchkey; then
		pass "the installed module loads"
	else
		ok "the installed module loads" \
			insmod "$(installed)" &&
			st_loaded=(dispatchkey)
	fi
	refused "a driver whose call fails does not load" insmod "$driver/fails/my.ko"
	# After -ENOSYS insmod assumes that the kernel lacks the system call finit_module, and
	# loads the module a second time.
	is "the log contains the reason why the call fails" \
		"my::add: -38, no function serves this route" \
		"$(klog | sed -n 's/.*\(my::add: \)/\1/p' | sort -u)"
	ok "the driver loads" insmod "$driver/my.ko" && st_loaded=(my "${st_loaded[@]}")
	is "the driver's function is called for its card" 1 "$(klog | grep -c 'card 0 adds')"
	ok "the driver can be unloaded" unload my
fi

finish
