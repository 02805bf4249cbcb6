#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the module with dkms, in a dkms tree of its own. The module is built for the kernels
# whose headers are in KDIR and DK_KDIRS. A driver is built with the files that dkms installs
# for drivers. Removing the module must leave no file. Nothing is loaded, and root is not
# needed.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

[ -n "$st_top" ] || skip_all "the project is not here"
need_command dkms make gcc
need_headers
read -r -a kdirs <<<"$KDIR ${DK_KDIRS-}"
plan $((5 + 6 * ${#kdirs[@]}))

version=$(cat "$st_top/VERSION")
name=dispatchkey/$version
dest=$st_tmp/dest
mkdir -p "$st_tmp"/{tree,lib}

run_dkms() { # COMMAND ARGUMENT...
	dkms "$1" --dkmstree "$st_tmp/tree" --sourcetree "$dest/usr/src" \
		--installtree "$st_tmp/lib" "${@:2}" </dev/null
}
release() { # KDIR
	sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' "$1/include/generated/utsrelease.h"
}
installed() { # KERNEL
	find "$st_tmp/lib/$1" -name 'dispatchkey.ko*' 2>/dev/null
}

ok "make dkms_install succeeds" env MAKEFLAGS='' make -s -C "$st_top" dkms_install DESTDIR="$dest"
ok "dkms adds the module" run_dkms add "$name"
like "dkms status shows the version of VERSION" "*$name*added*" "$(run_dkms status 2>&1)"

cp -rL "$st_top/samples/outside" "$st_tmp/driver"
sed -i "s|/usr/src/dispatchkey|$dest&|" "$st_tmp/driver/Makefile"
for kdir in "${kdirs[@]}"; do
	kver=$(release "$kdir")
	mkdir -p "$st_tmp/lib/$kver"
	ok "$kver: dkms builds the module" \
		run_dkms build -k "$kver" --kernelsourcedir "$kdir" "$name"
	is "$kver: no Module.symvers is installed before the module" \
		"" "$(find "$dest/usr/src/dispatchkey" -name Module.symvers \
		-path "*/$kver/*" 2>&1)"
	ok "$kver: dkms installs the module" run_dkms install --no-depmod -k "$kver" \
		--kernelsourcedir "$kdir" "$name"
	like "$kver: the module is installed among the updates" \
		"*/$kver/updates/*dispatchkey.ko*" "$(installed "$kver")"
	like "$kver: the module is built for this kernel" "$kver *" \
		"$(modinfo -F vermagic "$(installed "$kver")" 2>/dev/null)"
	ok "$kver: a driver builds with the installed module" \
		env MAKEFLAGS='' make -s -C "$st_tmp/driver" \
		KVER="$kver" KDIR="$kdir"
	find "$st_tmp/driver" -type f ! -name Makefile ! -name my.c -delete
done

ok "dkms removes the module" run_dkms remove --no-depmod --all "$name"
is "dkms remove leaves only the sources" "" "$(find "$st_tmp/tree" "$st_tmp/lib" \
	"$dest/usr/src/dispatchkey" -type f -not -path '*/include/*' -not -name 'dkms_dbversion' 2>&1)"
finish
