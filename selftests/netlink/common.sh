# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Settings for the Python programs. A script of this directory sets here= to the directory, and then
# sources this file. DK_SPEC= is the path of spec.json, DK_YNL= that of the kernel's tools/net/ynl.
#
# shellcheck disable=SC2154

# shellcheck source=../lib.sh
. "$here/lib.sh" 2>/dev/null || . "$here/../lib.sh"

# The Makefile exports the paths of built files. Without these variables, the files are next to the
# script.
DK_SPEC=${DK_SPEC:-$here/spec.json}
DK_FUZZ=${DK_FUZZ:-$here/fuzz}
export DK_SPEC

# Runs Python with only its standard library (-S), so that it starts quickly even in an emulated
# machine.
python() { python_all -S "$@"; }
python_all() { python3 -B "$@" 2> >(sed 's/^/# /' >&2); }

need_netlink() {
	need_root
	need_command insmod rmmod dmesg python3
	need_module dispatchkey "$@"
	[ -f "$DK_SPEC" ] || skip_all "no spec.json is built (make -C selftests TARGETS=netlink)"
	[ -e /proc/net/netlink ] || skip_all "no network in this kernel"
}

# Skips the test without two edu cards of QEMU
need_cards() {
	local path found=0
	for path in /sys/bus/pci/devices/*; do
		[ "$(cat "$path/vendor" "$path/device" 2>/dev/null | tr '\n' ' ')" = "0x1234 0x11e8 " ] &&
			found=$((found + 1))
	done
	[ $found -ge 2 ] || skip_all "$found edu accelerators here, two are needed (QEMU: -device edu, twice)"
}
