#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests notifications: their content, and more changes than a listener can read.

here=$(dirname -- "$0")
# shellcheck source=common.sh
. "$here/common.sh"

need_netlink dk_crowd
echo "TAP version 13"
must_load dispatchkey dk_crowd
run_tap python "$here/flood.py"
finish
