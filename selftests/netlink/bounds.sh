#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests how much work is done for requests of an unprivileged user in one hold of the registry's
# lock, with many operators, functions and devices. A request must not sleep in such a hold.

here=$(dirname -- "$0")
# shellcheck source=common.sh
. "$here/common.sh"

need_netlink dk_crowd
echo "TAP version 13"
must_load dispatchkey dk_crowd
run_tap python "$here/bounds.py"
run_tap python "$here/throttle.py"
finish
