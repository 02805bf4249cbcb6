#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the family with the kernel's own client of netlink specifications (tools/net/ynl of 6.12;
# DK_YNL= is its folder), with the sample drivers on two edu cards.

here=$(dirname -- "$0")
# shellcheck source=common.sh
. "$here/common.sh"

need_netlink dk_cpu dk_edu dk_client
need_cards
ynl=${DK_YNL-}
for path in "${KSELFTEST_DIR:+$KSELFTEST_DIR/../../net/ynl}" "$here/../../../net/ynl"; do
	[ -n "$ynl" ] || [ ! -f "$path/cli.py" ] || ynl=$path
done
[ -f "$ynl/cli.py" ] || skip_all "no tools/net/ynl of Linux 6.12 here (DK_YNL=)"
python3 -c 'import yaml' 2>/dev/null || skip_all "no python3-yaml here"
specification=
for path in "$here" "$st_top/Documentation/netlink/specs"; do
	[ ! -f "$path/dispatchkey.yaml" ] || specification=$path/dispatchkey.yaml
done
[ -n "$specification" ] || skip_all "no dispatchkey.yaml here"
DK_CLIENT=$(program samples/dk_client)
export DK_CLIENT
echo "TAP version 13"
must_load dispatchkey dk_cpu dk_edu dk_client
run_tap python_all "$here/ynl_client.py" "$ynl" "$specification"
finish
