#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Loads and unloads a module with functions repeatedly, while threads call the functions. Each
# call must be served by a function that is loaded. Then dispatchkey.ko itself is loaded and
# unloaded repeatedly. DK_CYCLES= is the number of times (100; at most 5 for dispatchkey.ko).

# shellcheck disable=SC2317 # functions are called by ok
# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

cycles=${DK_CYCLES:-100}
calls=/sys/module/dk_cycle_calls/parameters

need_root
need_command insmod rmmod dmesg
need_module dispatchkey dk_cycle dk_cycle_calls
! is_loaded dispatchkey || skip_all "dispatchkey is loaded already, and this test has to load it"
guest=$(ko dk_cycle) || skip_all "no dk_cycle.ko is built (make modules DK_SELFTESTS=1)"
plan 10
must_load dispatchkey dk_cycle_calls

# Loads dk_cycle, waits until it has served a call, and unloads it.
cycle() {
	local before now tries=0
	insmod "$guest" || return
	read -r before <"$calls"/guest
	now=$before
	while [ "$now" = "$before" ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 100000 ] || { echo "dk_cycle was never called" && return 1; }
		read -r now <"$calls"/guest
	done
	rmmod dk_cycle
}
cycle_all() {
	local i
	for ((i = 1; i <= cycles; i++)); do
		cycle || { echo "in cycle $i" && return 1; }
	done
}
ok "dk_cycle is loaded, called and unloaded $cycles times" cycle_all
is "no call has a wrong result" 0 "$(cat "$calls"/wrong)"
ok "dk_cycle serves a call in each cycle" test "$(cat "$calls"/guest)" -ge "$cycles"
ok "some calls are made while dk_cycle is not loaded" test "$(cat "$calls"/absent)" -gt 0
diag "$(cat "$calls"/calls) calls, $(cat "$calls"/guest) served by dk_cycle," \
	"$(cat "$calls"/absent) made while dk_cycle was not loaded"
ok "dk_cycle_calls unloads" unload dk_cycle_calls
again() {
	local i
	for ((i = 0; i < cycles && i < 5; i++)); do
		unload dispatchkey && load dispatchkey && load dk_cycle_calls &&
			cycle && unload dk_cycle_calls || return
	done
}
ok "dispatchkey unloads and loads repeatedly, and calls are served each time" again
ok "dispatchkey unloads at the end" unload dispatchkey
ok "no dispatchkey module is loaded at the end" test ! -e /sys/module/dispatchkey
is "no module was unloaded with a registered provider" 0 "$(klog 'was unloaded with' | wc -l)"

finish
