#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests netlink requests while allocations that the kernel makes for them fail (failslab). For
# kernels with CONFIG_FAILSLAB.

here=$(dirname -- "$0")
# shellcheck source=../netlink/common.sh
. "$here/common.sh" 2>/dev/null || . "$here/../netlink/common.sh"

faults=/sys/kernel/debug/failslab

need_netlink dk_crowd
[ -d $faults ] || skip_all "this kernel does not fail allocations on purpose (CONFIG_FAILSLAB, debugfs)"
echo "TAP version 13"
must_load dispatchkey dk_crowd
# Allocations that may sleep fail, too, and failures are not logged.
echo N >$faults/ignore-gfp-wait
echo 0 >$faults/verbose
export PYTHONPATH=$here:$here/../netlink
run_tap python "$here/requests.py"
finish
