#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Spin explores every state of each model. It must find no error in the model as it is,
# and an error if something is removed that the code relies on. Prints TAP. The test takes
# about three minutes and less than 1 GB, mostly for dispatchkey.pml and slots.pml.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

need_command spin cc

# explore OPTION... - makes and runs the verifier of $model.pml; its output is in pan.out
explore() {
	rm -rf "$st_tmp/pan"
	mkdir "$st_tmp/pan"
	cd "$st_tmp/pan" || return
	spin -a "$@" "$st_here/$model.pml" >spin.out || {
		cat spin.out
		return 1
	}
	# SAFETY checks assertions and end states; COLLAPSE stores states compressed
	cc "$optimize" -w -DSAFETY -DCOLLAPSE -DMEMLIM=3800 -o pan pan.c || return
	./pan -m10000 -w24 >pan.out 2>&1
}

# Checks that every state is explored and none is wrong.
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

# fails WHAT PATTERN OPTION... - checks that the first error matches PATTERN
fails() {
	local what=$1 pattern=$2 got
	shift 2
	explore "$@" || {
		fail "$what" "the model could not be explored"
		return
	}
	got=$(sed -n 's/^pan:[0-9]*: \(.*\) (at depth [0-9]*)$/\1/p' pan.out | tr -s ' ')
	like "$what" "$pattern" "${got:-no error}"
}

# loses MODEL PATTERN OPTION... - checks that the model holds, and that each option leads to an
# error
loses() {
	local option pattern=$2
	model=$1
	holds "$model"
	for option in "${@:3}"; do
		fails "$model $option" "$pattern" "$option"
	done
}

plan 58

# Small models have one or a few pairs of barriers, with steps in any order that these allow.
# They take longer to compile than to run.
optimize=-O0
loses message 'assertion violated*has_data*' -DNO_RELEASE -DNO_ACQUIRE
loses pin 'assertion violated*' -DNO_KEEP_ORDER -DNO_SETTLE_ORDER -DNO_CLASS_ORDER \
	-DNO_SIG_ORDER -DNO_COMPARE_ORDER
loses slot 'assertion violated*' -DNO_COUNT -DNO_COUNT_ORDER -DNO_WORDS_ORDER \
	-DNO_LEAVE_ORDER -DNO_READ_ORDER -DNO_AGAIN_ORDER
loses view 'assertion violated*' -DNO_TURN_ORDER -DNO_CHANGED_ORDER -DNO_VIEW_ORDER \
	-DNO_HOLDS_ORDER -DNO_HOLDS
loses defer 'assertion violated*' -DNO_LEAVE_ORDER -DLIST_FIRST -DNO_LOCK
loses count 'assertion violated*' -DNO_GIVE_ORDER -DNO_GIVEN_ORDER -DNO_TIME_ORDER \
	-DNO_TAKE_ORDER

# The fast path of userspace.
model=slots optimize=-O2
holds "slots: a call, and a call of a signal handler"
holds "slots: two calls, two providers are unregistered" -DCALLS=2 -DHANDLED=0 -DCHANGES=2
freed='assertion violated !((freed&*'
indexes='assertion violated !((indexes_freed&*'
inside='assertion violated !((gone&*'
fails "slots: without reading the table again" "$freed" -DNO_AGAIN
fails "slots: without membarrier()" "$freed" -DNO_BARRIER
fails "slots: with membarrier() before the list is taken" "$freed" -DNO_BARRIER_ORDER
fails "slots: with a table retired before the next one is published" "$freed" -DNO_PUBLISH_ORDER
fails "slots: without a wait for threads that read a replaced table" "$indexes" -DNO_WAIT
fails "slots: without a wait for tables in the other list" "$inside" -DNO_LISTS
fails "slots: with the list of indexes taken after the list of tables" "$indexes" -DNO_INDEX_ORDER
fails "slots: with tables freed without reading the slots" "$freed" -DNO_MARK
fails "slots: without the drain" "$inside" -DNO_DRAIN
fails "slots: with a signal handler that uses the same slot" "$freed" -DNO_RESERVE
fails "slots: with the entry stored in the slot too early" "$indexes" -DNO_ENTRY_ORDER
fails "slots: with the slot freed too early" "$inside" -DNO_LEAVE_ORDER

model=dispatchkey optimize=-O2
freed_code='assertion violated !(gone\[p\])*'
freed_memory='assertion violated !(gone\[buffer*'
freed_table='assertion violated !((freed*'
lost='assertion violated (((p==1)||(p==2))||(p==3))*'
stuck='invalid end state*'

holds "two readers, two writers, userspace's drain"
holds "two readers, two writers, the kernel's drain" -DKERNEL
holds "one reader that calls twice, userspace's drain" -DCALLS_0=2 -DCALLS_1=0
holds "one reader that calls twice, the kernel's drain" -DKERNEL -DCALLS_0=2 -DCALLS_1=0

fails "without the grace period, freed code runs" "$freed_code" -DNO_GRACE
fails "without the barrier at the end of a grace period, freed memory is written" \
	"$freed_memory" -DNO_ORDER
fails "without that barrier, the record of a sleepable call is missed" \
	'assertion violated !(gone*' \
	-DNO_ORDER -DONLY_SLEEPABLE
fails "without the barrier at the beginning of a grace period, a freed table is read" \
	"$freed_table" \
	-DNO_ORDER_BEFORE
fails "without the drain, freed code runs" "$freed_code" -DNO_DRAIN
fails "without release, freed memory is written" "$freed_memory" -DNO_RELEASE
fails "without order in publishing, a call is lost" "$lost" -DNO_PUBLISH_ORDER
fails "without retiring, a freed table is read" "$freed_table" -DNO_RETIRE
fails "without a barrier before waking, unregistering never ends" "$stuck" -DKERNEL -DNO_WAKE_ORDER

finish
