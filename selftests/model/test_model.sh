#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Spin explores every state of dispatchkey.pml: as it is, and with one thing
# taken away that the code relies on, which has to go wrong. Prints TAP. It takes
# about two minutes and less than 1 GB.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

need_command spin cc

# explore OPTION... - makes and runs the verifier; what it says is in pan.out
explore() {
	rm -rf "$st_tmp/pan"
	mkdir "$st_tmp/pan"
	cd "$st_tmp/pan" || return
	spin -a "$@" "$st_here/dispatchkey.pml" >spin.out || {
		cat spin.out
		return 1
	}
	# SAFETY: assertions and ends; COLLAPSE packs states, and loses none
	cc -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM=3800 -o pan pan.c || return
	./pan -m10000 -w24 >pan.out 2>&1
}

# Every state was seen, and none is wrong.
all_well() {
	explore "$@" || return
	cat pan.out
	grep -q ' errors: 0$' pan.out && ! grep -Eq 'max search depth|hash compaction|bitstate|truncated|out of memory' pan.out &&
		! grep -q '^Warning: Search not completed' pan.out
}

holds() { # WHAT OPTION...
	local what=$1
	shift
	ok "$what" all_well "$@" || return
	diag "$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1 states/p' "$st_tmp/pan/pan.out")$(
		sed -n 's/.*depth reached \([0-9]*\),.*/, depth \1/p' "$st_tmp/pan/pan.out")$(
		sed -n 's/^ *\([0-9.]*\).total actual memory usage.*/, \1 MB/p' "$st_tmp/pan/pan.out")"
}

# fails WHAT PATTERN OPTION... - the first thing that goes wrong is this one
fails() {
	local what=$1 pattern=$2 got
	shift 2
	explore "$@" || {
		fail "$what" "it could not be explored"
		return
	}
	got=$(sed -n 's/^pan:[0-9]*: \(.*\) (at depth [0-9]*)$/\1/p' pan.out | tr -s ' ')
	like "$what" "$pattern" "${got:-nothing goes wrong}"
}

plan 13

freed_code='assertion violated !(gone\[p\])*'
freed_memory='assertion violated !(gone\[buffer*'
freed_row='assertion violated !((freed*'
lost='assertion violated (((p==1)||(p==2))||(p==3))*'
stuck='invalid end state*'

holds "two readers, two writers, userspace's drain"
holds "two readers, two writers, the kernel's drain" -DKERNEL
holds "one reader that calls twice, userspace's drain" -DCALLS_0=2 -DCALLS_1=0
holds "one reader that calls twice, the kernel's drain" -DKERNEL -DCALLS_0=2 -DCALLS_1=0

fails "without the grace period, code is run that was freed" "$freed_code" -DNO_GRACE
fails "without the barrier at its end, memory is written that was freed" "$freed_memory" -DNO_ORDER
fails "of sleepable calls, too: the record is not seen" 'assertion violated !(gone*' \
	-DNO_ORDER -DONLY_SLEEPABLE
fails "without the barrier at its beginning, a row is read that was freed" "$freed_row" \
	-DNO_ORDER_BEFORE
fails "without the drain, code is run that was freed" "$freed_code" -DNO_DRAIN
fails "without release, memory is written that was freed" "$freed_memory" -DNO_RELEASE
fails "without order in publishing, a call is lost" "$lost" -DNO_PUBLISH_ORDER
fails "without retiring, a row is read that was freed" "$freed_row" -DNO_RETIRE
fails "without a barrier before waking, the leave never ends" "$stuck" -DKERNEL -DNO_WAKE_ORDER

finish
