# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # the variables of lib.sh
#
# The deliberate mistakes of dk_torture, and the tests that must detect each of them. The scripts
# for userspace and the kernel source this file, define found(), and write the output of dk_torture
# to $st_tmp/out.

# fails TEST... - true if these tests of the last run failed
fails() {
	local test
	for test; do
		grep -q "^not ok [0-9]* - $test\$" "$st_tmp/out" || return
	done
}

# all_found - calls found() for each mistake, or only for one with DK_BRIEF=1
all_found() {
	found stale "no stale entries"
	[ -z "${DK_BRIEF-}" ] || return 0
	found lost "no lost calls"
	found double "no double calls"
	found wrong "no wrong routes"
	found refused "no unexpected results of changes"
	found sum "every call was served once"
	found idle "calls of every kind" "changes of every kind"
	found early "no unexpected results of changes"
	found left "nothing is left"
}
