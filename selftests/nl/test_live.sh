#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the client library with the module. The tests are in live_test.c.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

need_root
need_command insmod rmmod dmesg
need_module dispatchkey dk_cpu dk_edu dk_client
live=
for path in ${DK_LIVE:+"$DK_LIVE"} "$st_here/live_test"; do
	[ ! -x "$path" ] || { live=$path && break; }
done
[ -n "$live" ] || skip_all "no live_test is built (it needs libnl-genl-3-dev)"
echo "TAP version 13"
must_load dispatchkey dk_cpu dk_edu dk_client
[ "$(cat /sys/bus/pci/drivers/dk_edu/????:*/vendor 2>/dev/null | wc -l)" -ge 2 ] ||
	skip_all "two edu accelerators are needed (QEMU: -device edu, twice)"
run_tap "$live"
finish
