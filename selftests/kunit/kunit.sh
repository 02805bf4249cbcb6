#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the unit tests in KUnit, by loading dk_kunit.ko, and reads their results from debugfs.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

results=/sys/kernel/debug/kunit

need_root
need_command insmod rmmod dmesg
[ -d $results ] || skip_all "no KUnit here (CONFIG_KUNIT, CONFIG_KUNIT_DEBUGFS, debugfs)"
need_module dispatchkey dk_kunit

echo "TAP version 13"
must_load dispatchkey dk_kunit
for suite in keyset keys alias names layout lists; do
	# The results of the tests are indented, before one result of the suite.
	run_tap sed -n 's/^    //p' $results/dk_$suite/results
done
ok "dk_kunit unloads" unload dk_kunit

finish
