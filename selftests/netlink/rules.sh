#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the rules of the family: privileges, refusals with a message, policies equal to the
# specification, and no kernel addresses.

here=$(dirname -- "$0")
# shellcheck source=common.sh
. "$here/common.sh"

need_netlink dk_cpu dk_edu
need_cards
echo "TAP version 13"
must_load dispatchkey dk_cpu dk_edu
for part in policy perm refuse address; do
	run_tap python "$here/$part.py"
done
finish
