#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the torture test in the kernel: loads dk_torture.ko, loads and unloads dk_torture_plugin.ko
# during the test, unloads dk_torture.ko, and prints its tests from the kernel log. Without options,
# it runs with tables, without tables, and with a deliberate mistake of each kind, which must be
# detected. DK_BRIEF=1 tries only one kind of mistake.

usage() {
	cat <<-END
	usage: torture.sh [OPTION...]

	  --duration SECONDS  duration (default 15)
	  --cycles N          load and unload the plugin at least N times (default 3)
	  --readers N, --writers N, --seed N
	  --resolve           without tables: the rules route each call
	END
}

options=("$@") params=() cycles=3 seconds=${DK_SECONDS:-15}
while [ $# -gt 0 ]; do
	case $1 in
	--duration | --cycles | --readers | --writers | --seed)
		[[ ${2-} =~ ^[0-9]{1,9}$ ]] || { usage >&2; exit 2; }
		case $1 in
		--duration) seconds=$2 ;;
		--cycles) cycles=$2 ;;
		*) params+=("${1#--}=$2") ;;
		esac
		shift
		;;
	--resolve) params+=(resolve=1) ;;
	-h | --help) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
	shift
done

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"
# shellcheck source=selftests/torture/mistakes.sh
. "$st_here/mistakes.sh"

need_root
need_command insmod rmmod dmesg
need_module dispatchkey dk_torture dk_torture_plugin
! is_loaded dk_torture || skip_all "dk_torture is loaded already"
echo "TAP version 13"
must_load dispatchkey

# Prints the lines of dk_torture in the kernel log since the mark
torture_log() { klog '\] dk_torture: |^dk_torture: ' | sed 's/^.*dk_torture: //'; }

# Prints the newest line of progress, at most every 10 seconds
progress() {
	local line
	[ $SECONDS -ge "$next" ] || return 0
	next=$((SECONDS + 10))
	line=$(torture_log | grep '^# [0-9 ]* s: ' | tail -n 1)
	[ "$line" = "$last" ] || diag "progress: ${line#\# }"
	last=$line
}

plugin_failed=0
plugin_cycle() {
	if load dk_torture_plugin; then
		sleep 0.1
		unload dk_torture_plugin || plugin_failed=1
	else
		plugin_failed=1
	fi
}

# incomplete END - true until END if some kinds of calls or changes have not happened
incomplete() {
	[ $SECONDS -lt "$1" ] && [ "$(cat /sys/module/dk_torture/parameters/missing)" -gt 0 ]
}

# torture SECONDS CYCLES PARAMETER... - runs dk_torture; torture_log prints its output later
torture() {
	local end=$((SECONDS + $1)) least=$2 n=0
	shift 2
	last='' next=$((SECONDS + 10))
	klog_mark
	load dk_torture plugins=1 "$@" || {
		fail "dk_torture loads" "$(klog)"
		finish
	}
	while [ $SECONDS -lt $end ] || [ $n -lt "$least" ] || incomplete $((end + 60)); do
		plugin_cycle
		n=$((n + 1))
		progress
		[ $plugin_failed -eq 0 ] || break
	done
	unload dk_torture || fail "dk_torture unloads"
	diag "the plugin was loaded and unloaded $n times"
}

# torture_tests WHAT SECONDS CYCLES PARAMETER... - runs dk_torture, and reports its tests as tests
# of this script
torture_tests() {
	diag "$1"
	torture "${@:2}"
	run_tap torture_log
	is "the plugin was loaded and unloaded ($1)" 0 $plugin_failed
}

# found KIND TEST... - with the mistake KIND these tests fail. A slow kernel might need more
# than a second
found() {
	local kind=$1 seconds
	shift
	for seconds in 1 4 16; do
		klog_mark
		load dk_torture break="$kind" || break
		sleep $seconds
		unload dk_torture || break
		torture_log >"$st_tmp/out"
		! fails "$@" || break
	done
	ok "dk_torture with a mistake ($kind) fails the tests: $*" \
		fails "$@" || diag "$(cat "$st_tmp/out")"
}

if [ ${#options[@]} -gt 0 ]; then
	torture_tests "for $seconds seconds" "$seconds" "$cycles" "${params[@]}"
	finish
fi
torture_tests "with tables" "$seconds" "$cycles"
torture_tests "without tables" $((seconds / 2)) 1 resolve=1
all_found
[ -z "${DK_BRIEF-}" ] || finish
refused "dk_torture refuses an unknown mistake" load dk_torture break=everything
finish
