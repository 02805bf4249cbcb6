#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The torture inside the kernel: loads dk_torture.ko, loads and unloads a guest
# of it as long as it runs, unloads it, and prints its verdict from the kernel's
# log. Without options: by rows, by the rules alone, and with a mistake on
# purpose of each kind, which has to be found; with DK_BRIEF=1 of one kind.

usage() {
	cat <<-END
	usage: torture.sh [OPTION...]

	  --duration SECONDS  how long (default 15)
	  --cycles N          load and unload the guest at least so often (default 3)
	  --readers N, --writers N, --seed N
	  --resolve           without rows, every call by the rules
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

need_root
need_command insmod rmmod dmesg
need_module dispatchkey dk_torture dk_torture_guest
! is_loaded dk_torture || skip_all "dk_torture is loaded already"
echo "TAP version 13"
must_load dispatchkey

# What dk_torture has said since the mark.
told() { klog '\] dk_torture: |^dk_torture: ' | sed 's/^.*dk_torture: //'; }

# The last line of its progress, if it is a new one; not so often that it is in
# the way.
progress() {
	local line
	[ $SECONDS -ge "$next" ] || return 0
	next=$((SECONDS + 10))
	line=$(told | grep '^# [0-9 ]* s: ' | tail -n 1)
	[ "$line" = "$last" ] || diag "so far: ${line#\# }"
	last=$line
}

guest_failed=0
guest_cycle() {
	if load dk_torture_guest; then
		sleep 0.1
		unload dk_torture_guest || guest_failed=1
	else
		guest_failed=1
	fi
}

# rare END - is there something that is rare and has not happened yet? Not for ever.
rare() {
	[ $SECONDS -lt "$1" ] && [ "$(cat /sys/module/dk_torture/parameters/missing)" -gt 0 ]
}

# torture SECONDS CYCLES PARAMETER... - its log is what told tells then
torture() {
	local end=$((SECONDS + $1)) least=$2 n=0
	shift 2
	last='' next=$((SECONDS + 10))
	klog_mark
	load dk_torture guests=1 "$@" || {
		fail "dk_torture loads" "$(klog)"
		finish
	}
	while [ $SECONDS -lt $end ] || [ $n -lt "$least" ] || rare $((end + 60)); do
		guest_cycle
		n=$((n + 1))
		progress
		[ $guest_failed -eq 0 ] || break
	done
	unload dk_torture || fail "dk_torture unloads"
	diag "$n guests were loaded and unloaded"
}

# tortured WHAT SECONDS CYCLES PARAMETER... - its tests are ours
tortured() {
	diag "$1"
	torture "${@:2}"
	run_tap told
	is "guests could come and go ($1)" 0 $guest_failed
}

# fails TEST... - have these tests of the last torture failed?
fails() {
	local test
	for test; do
		grep -q "^not ok [0-9]* - $test\$" "$st_tmp/told" || return
	done
}

# found KIND TEST... - with that mistake, these tests fail; soon, or in a kernel
# that is slow after some more time
found() {
	local kind=$1 seconds
	shift
	for seconds in 1 4 16; do
		klog_mark
		load dk_torture break="$kind" || break
		sleep $seconds
		unload dk_torture || break
		told >"$st_tmp/told"
		! fails "$@" || break
	done
	ok "a mistake ($kind) is found: $*" fails "$@" || diag "$(cat "$st_tmp/told")"
}

if [ ${#options[@]} -gt 0 ]; then
	tortured "for $seconds seconds" "$seconds" "$cycles" "${params[@]}"
	finish
fi
tortured "by rows" "$seconds" "$cycles"
tortured "by the rules alone" $((seconds / 2)) 1 resolve=1
found stale "no stale entries"
[ -z "${DK_BRIEF-}" ] || finish
found lost "no lost calls"
found double "no double calls"
found wrong "no wrong routes"
found refused "no changes refused, or not refused"
found sum "every call was served once"
found idle "calls of every kind" "changes of every kind"
found left "nothing is left"
refused "a mistake that it does not know" load dk_torture break=everything
finish
