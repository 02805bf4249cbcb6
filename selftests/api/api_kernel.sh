#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the API tests inside the kernel. dk_api_test.ko runs them when it is loaded. The suite
# with all operators of PyTorch runs when their list is written to a file of the module.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

debugfs=/sys/kernel/debug
vectors=$st_here/vectors
[ -d "$vectors" ] || vectors=$st_here/../vectors

need_root
need_command insmod rmmod dmesg
need_module dispatchkey dk_api_test
grep -q " $debugfs debugfs " /proc/mounts || mount -t debugfs debugfs $debugfs 2>/dev/null ||
	skip_all "no debugfs"
registrations=$vectors/pytorch-2.14/registrations.txt
[ -f "$registrations" ] || skip_all "no $registrations"

echo "TAP version 13"
must_load dispatchkey
# Unload the module first if it is loaded, because it runs its tests when it is loaded.
! is_loaded dk_api_test || rmmod dk_api_test
# As in userspace: the largest number of registrations of which all orders are tried, and the
# chosen suites.
options=(${DK_MOST:+most="$DK_MOST"} ${DK_SUITES:+only="${DK_SUITES// /,}"})
load dk_api_test "${options[@]}" || {
	fail "dk_api_test loads" "${options[*]}" "$(cat "$st_log")"
	finish
}
run_tap cat $debugfs/dk_api_test/results
cat "$registrations" >$debugfs/dk_api_test/registrations
run_tap cat $debugfs/dk_api_test/registrations
ok "dk_api_test unloads" unload dk_api_test

finish
