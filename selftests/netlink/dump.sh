#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests dumps of many operators and devices. DK_OPS= is the largest number of operators (65536).

here=$(dirname -- "$0")
# shellcheck source=common.sh
. "$here/common.sh"

need_netlink dk_cpu dk_edu dk_crowd
need_cards
echo "TAP version 13"
must_load dispatchkey dk_cpu dk_edu dk_crowd
run_tap python "$here/dump.py" "${DK_OPS:-65536}"
ok "every published table is right after the dumps" \
	eval 'echo 1 >/sys/module/dk_crowd/parameters/check'
finish
