#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests failing allocations, with failslab. A module registers something of every kind. Its first
# allocation fails, in the next try its second, and so on, until a try has no more allocations. Then
# the module unregisters while all allocations fail. For kernels with CONFIG_FAILSLAB.

# shellcheck disable=SC2317 # functions are called by ok
# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

faults=/sys/kernel/debug/failslab
cycle=/sys/module/dk_cycle/parameters
nth=/proc/self/fail-nth

need_root
need_command insmod rmmod dmesg
[ -d $faults ] || skip_all "this kernel does not fail allocations on purpose (CONFIG_FAILSLAB, debugfs)"
need_module dispatchkey dk_cycle
plan 10
must_load dispatchkey dk_cycle

# Allocations that may sleep fail, too, and failures are not logged.
echo N >$faults/ignore-gfp-wait
echo 0 >$faults/verbose
at_exit() {
	echo 0 >$faults/probability
	echo N >$faults/task-filter
}

# The files are opened first, because between writing and reading fail-nth only the module may
# allocate.
exec 3>$cycle/again 4>$nth 5>$cycle/unregister_all 6>"$st_tmp/errors" 8>$cycle/register_all ||
	exit 1
failed=0 left=0
for ((n = 1; n < 10000; n++)); do
	status=0
	exec 7<$nth
	echo "$n" >&4
	echo 1 >&3 2>&6 || status=1
	read -r left <&7
	echo 0 >&4
	exec 7<&-
	[ "$left" = 0 ] || break
	failed=$((failed + status))
done
for_memory=$(grep -c 'Cannot allocate memory' "$st_tmp/errors")
diag "$((n - 1)) allocations were made to fail; registering was refused $failed times"
ok "if no allocation fails, everything is registered" test "$status" -eq 0
ok "allocations were made to fail" test "$n" -gt 20
# The number of required allocations depends on the memory that the registry has kept.
ok "registering was refused at least ten times" test "$failed" -ge 10
is "each refusal is for lack of memory, and leaves nothing registered" "$failed of $failed" \
	"$for_memory of $(wc -l <"$st_tmp/errors")"

echo Y >$faults/task-filter
echo -1 >$faults/times
echo 100 >$faults/probability
ok "everything is unregistered while every allocation fails" eval "echo 1 >&5"
ok "unregistering succeeds again when nothing is registered" eval "echo 1 >&5"
# Unregistering never fails, so only registering shows that allocations do fail.
eval "echo 1 >&8" 2>"$st_tmp/errors"
like "registering is refused while every allocation fails" "*Cannot allocate memory" "$(cat "$st_tmp/errors")"
at_exit
ok "registering succeeds again afterwards" eval "echo 1 >&3"
exec 3>&- 4>&- 5>&- 6>&- 8>&-
ok "the modules can be unloaded" eval "unload dk_cycle && unload dispatchkey"

finish
