#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the parts of the comparison with PyTorch that need no PyTorch: reduction, generator, rules.
# DKCTL is the path of the tool.

here=$(realpath -- "$(dirname -- "$0")")
DKCTL=${DKCTL:-${DK_BUILD:-$here/../../build}/dkctl}

skip() {
	echo "TAP version 13"
	echo "1..0 # SKIP $*"
	exit 4
}
[ -x "$DKCTL" ] || skip "no dkctl at $DKCTL, type make or set DKCTL"
command -v python3 >/dev/null || skip "no python3 here"
exec python3 -B "$here/test_units.py" "$DKCTL"
