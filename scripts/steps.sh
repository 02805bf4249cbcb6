# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# shellcheck shell=bash
#
# Defines the functions that check, check-all and check-debug share. These scripts run and count
# tests. Each sets "me" to its name, changes to the project's folder, sources this file and calls
# setup.
#
# shellcheck disable=SC2154 # me
# shellcheck disable=SC2034 # variables that the scripts read
# shellcheck disable=SC2317 # functions are called by step and tap

export LC_ALL=C
say() { printf '%s: %s\n' "$me" "$*"; }

jobs=$(nproc)
passed=0 failed=0 skipped=0
failures=()		# lines: the name of each failed step, followed by the reasons
begin=$SECONDS

# setup - sets up the folders build and logs, the environment of make, and the kernel
# sources. It unsets O and SHARE, so call it after everything that reads these.
setup() {
	top=$(pwd -P)
	mkdir -p "${O:-build}"
	build=$(realpath -- "${O:-build}")
	logs=$build/$me
	rm -rf -- "$logs"
	mkdir -p "$logs"
	export CC="${CC:-cc}"
	unset O MAKEFLAGS MAKELEVEL OUTPUT SHARE
	PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
	find_sources
}

# ---- progress ---------------------------------------------------------------------

# A file for each step has the duration of its last successful run. Without HOME, none is kept.
cache=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
cache=${cache:+$cache/dispatchkey}
time_file() { printf '%s/times/%s-%s' "$cache" "$me" "${1//[^a-zA-Z0-9]/-}"; }
last_time() { # NAME
	local seconds
	read -r seconds 2>/dev/null <"$(time_file "$1")" && printf ' (%d s last time)' "$seconds"
}

# On a terminal, prints the name of the step while the step runs. report() overwrites this line.
begin_step() { # NAME
	[ ! -t 1 ] || printf '%s: %-47s ...%s' "$me" "$1" "$(last_time "$1")"
}

# Prints the first failed tests in a log or, if there are none, its last lines.
reasons() { # LOG
	grep -aE '^not ok  |: not killed: ' "$1" | head -n 5 | grep . || tail -n 3 "$1"
}

# Prints the result of a step in one line, and the log only if the step failed.
report() { # NAME LOG PASSED FAILED SKIPPED SECONDS
	local word=ok
	if [ "$4" -eq 0 ] && [ -n "$cache" ]; then
		mkdir -p "$cache/times" && echo "$6" >"$(time_file "$1")"
	fi
	passed=$((passed + $3)) failed=$((failed + $4)) skipped=$((skipped + $5))
	[ "$4" -eq 0 ] || word=FAILED
	[ ! -t 1 ] || printf '\r\033[K'
	printf '%s: %-47s %-6s %4d passed' "$me" "$1" "$word" "$3"
	[ "$4" -eq 0 ] || printf ', %d failed' "$4"
	[ "$5" -eq 0 ] || printf ', %d skipped' "$5"
	printf '  (%d s)\n' "$6"
	[ "$4" -ne 0 ] || return 0
	failures+=("$me: failed: $1")
	mapfile -t -O ${#failures[@]} failures < <(reasons "$2" | sed 's/^/    | /')
	# The log is printed without the tests that passed.
	grep -avE '^[# |]*ok [0-9]' "$2" | tail -n 120 | sed 's/^/    | /'
	say "full log: ${2#"$top/"}"
}

logname() { printf '%s/%s.log' "$logs" "${1//[^a-zA-Z0-9]/-}"; }

# step NAME COMMAND... - runs the command as one test, which passes if the command succeeds
step() {
	local name=$1 log from=$SECONDS
	shift
	log=$(logname "$name")
	begin_step "$name"
	if "$@" >"$log" 2>&1 </dev/null; then
		report "$name" "$log" 1 0 0 $((SECONDS - from))
	else
		echo "[exit status $?]" >>"$log"
		report "$name" "$log" 0 1 0 $((SECONDS - from))
		return 1
	fi
}

# tap NAME COMMAND... - runs the command, and counts the tests that it reports in KTAP
tap() {
	local name=$1 log status=0 from=$SECONDS counts sum
	shift
	log=$(logname "$name")
	begin_step "$name"
	"$@" >"$log" 2>&1 </dev/null || status=$?
	read -r -a counts < <(scripts/ktap-count --brief "$log")
	if [ ${#counts[@]} -ne 3 ]; then
		echo "[the tests in this log could not be counted: no complete KTAP]" >>"$log"
		counts=(0 1 0)
	fi
	# If the command fails but none of its tests did, this is counted as one failure.
	if [ "$status" -ne 0 ] && [ "$status" -ne 4 ] && [ "${counts[1]}" -eq 0 ]; then
		echo "[exit status $status]" >>"$log"
		counts[1]=1
	fi
	if [ "${counts[1]}" -ne 0 ]; then
		sum=$(scripts/ktap-count "$log")
		printf '\n%s\n' "$sum" >>"$log"
	fi
	report "$name" "$log" "${counts[@]}" $((SECONDS - from))
	[ "${counts[2]}" -eq 0 ] || scripts/ktap-count "$log" | sed -n 's/^skipped/    | skipped/p'
}

# tried WHERE HOW NAME COMMAND... - runs HOW, which is tap or counted; with RECORD=1 the counts
# are written to a row of a table in the manual
tried() {
	local where=$1 before=("$passed" "$failed" "$skipped")
	shift
	"$@"
	[ -n "${RECORD-}" ] || return 0
	record "$where,$(date +%F),$(cat VERSION),$((passed - before[0])),$((failed - before[1])),$((skipped - before[2]))"
}
# record ROW - adds a row to the table, or replaces the one with the same first column
record() {
	local table=Documentation/tried.inc
	(
		flock 9
		{
			sed '/^   [^:]/d' "$table"
			{ sed -n '/^   [^:]/p' "$table" | grep -v "^   ${1%%,*},"; echo "   $1"; } | sort
		} >"$table.new"
		mv -f -- "$table.new" "$table"
	) 9>>"$logs/tried.lock"
}

# counted NAME COMMAND... - runs a script whose last line counts its tests
counted() {
	local name=$1 log status=0 from=$SECONDS counts=(0 1 0)
	shift
	log=$(logname "$name")
	begin_step "$name"
	"$@" >"$log" 2>&1 </dev/null || status=$?
	if [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
		counts=("${BASH_REMATCH[@]:1}")
	fi
	if [ "$status" -ne 0 ] && [ "${counts[1]}" -eq 0 ]; then
		echo "[exit status $status]" >>"$log"
		counts[1]=1
	fi
	report "$name" "$log" "${counts[@]}" $((SECONDS - from))
	[ "${counts[2]}" -eq 0 ] || sed -n 's/^ *| skipped/    | skipped/p' "$log"
}

# no_test NAME WHY - reports a test as skipped, because it cannot run here
no_test() {
	skipped=$((skipped + 1))
	printf '%s: %-47s skipped\n    | skipped: %s\n' "$me" "$1" "$2"
}

# lane NAME FUNCTION [ARGUMENT...] - runs steps in the background. Their output is kept
# until join, so the order of the report is always the same.
lanes=()
lane() {
	local name=$1
	shift
	# With job control, the lane has its own process group, so end_lanes can end all of it.
	set -m
	# shellcheck disable=SC2030,SC2031 # the counts reach the parent by a file
	(
		set +m
		trap - EXIT INT TERM HUP
		passed=0 failed=0 skipped=0 failures=()
		"$@"
		printf "%s\n" "$passed $failed $skipped" "${failures[@]}" >"$(logname "lane $name").counts"
	) >"$(logname "lane $name")" 2>&1 </dev/null &
	set +m
	lanes+=("$name $!")
	say "in the background: $name"
}

# join - waits for all lanes, prints their output and adds their counts
# shellcheck disable=SC2031 # they are this shell's
join() {
	local entry name counts sum
	for entry in "${lanes[@]}"; do
		name=${entry% *}
		[ ! -t 1 ] || printf '%s: waiting for: %s' "$me" "$name"
		wait "${entry##* }"
		[ ! -t 1 ] || printf '\r\033[K'
		cat "$(logname "lane $name")"
		counts=$(logname "lane $name").counts
		if [ -s "$counts" ]; then
			read -r -a sum <"$counts"
			mapfile -t -s 1 -O ${#failures[@]} failures <"$counts"
		else
			sum=(0 1 0)
			failures+=("$me: failed: $name: it ended too early")
		fi
		passed=$((passed + sum[0])) failed=$((failed + sum[1])) skipped=$((skipped + sum[2]))
	done
	lanes=()
}

end_lanes() {
	local entry
	for entry in "${lanes[@]}"; do
		kill -TERM -- "-${entry##* }" 2>/dev/null
	done
	for entry in "${lanes[@]}"; do
		wait "${entry##* }" 2>/dev/null
	done
	lanes=()
}
trap end_lanes EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

finish() {
	join
	[ ${#failures[@]} -eq 0 ] || printf '%s\n' "${failures[@]}"
	say "$((SECONDS - begin)) seconds, logs in ${logs#"$top/"}"
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
	exit
}

# ---- commands of several scripts ---------------------------------------------------

with_make() { make -j"$jobs" O="$build" "$@"; }
build_all() { with_make all; }
# Without CC=, kselftest would set another compiler, and make would build everything again with that
# compiler.
selftest() { # TARGET...
	make -s -C selftests run_tests TARGETS="$*" DK_ONLY=user DK_PREBUILT=1 DK_BUILD="$build" \
		CC="$CC"
}

# ---- the kernel's tests -----------------------------------------------------------

# find_kernel SERIES - sets KVER and KDIR to those of a stock kernel
find_kernel() {
	local kernel
	kernel=$(scripts/fetch-kernel --series "$1" --what image,headers) || return
	KVER=$(sed -n 's/^KVER=//p' <<<"$kernel")
	KDIR=$(sed -n 's/^KDIR=//p' <<<"$kernel")
	export KDIR
}
# Finds the parts of the kernel's sources that the tests of all series use: kselftest, and
# ynl, the client for netlink specifications.
find_sources() {
	local kselftest client
	[ "${KSELFTEST_DIR-}" != none ] || return 0
	kselftest=$(scripts/fetch-kernel --what tools) || return
	client=$(scripts/fetch-kernel --series 6.12 --what ynl) || return
	KSELFTEST_DIR=$(sed -n 's/^KTOOLS=//p' <<<"$kselftest")/tools/testing/selftests
	ynl=$(sed -n 's/^KYNL=//p' <<<"$client")/tools/net/ynl
	export KSELFTEST_DIR
}

# Makes a folder of links to the sources: kbuild puts objects next to the sources, and those of
# several kernels must not be mixed. The folders in it are writable even if those of the sources are
# not.
farm() { # KVER
	local dir=$build/modules/$1
	mkdir -p "$dir"
	cp -rsf --no-preserve=mode "$top"/{Kbuild,Makefile,VERSION,Documentation,include,uapi,kmod,lib,samples,selftests,scripts} \
		"$dir/" &&
		find "$dir" -xtype l -delete
}
build_modules() { # KVER KDIR
	farm "$1" && make -j"$jobs" -C "$build/modules/$1" KDIR="$2" DK_SELFTESTS=1 modules
}
# Builds programs of the kernel's tests here, because compiling in a virtual machine is slow.
build_programs() {
	make -s -C selftests all TARGETS="netlink failslab" DK_ONLY=kernel DK_PREBUILT=1 \
		DK_BUILD="$build" CC="$CC"
}

# Runs the first part of outside_driver.sh, which builds a driver, here. The second part, which
# loads the driver, runs in the virtual machine.
outside() { # KVER KDIR
	rm -rf -- "$logs/outside-$1"
	mkdir "$logs/outside-$1"
	env DK_OUTSIDE="$logs/outside-$1" DK_TOP="$build/modules/$1" KDIR="$2" \
		selftests/module/outside_driver.sh
}
kernel_targets="replay api module trace edu netlink nl dkctl guides torture"
# Runs tests in a virtual machine. The OPTIONs are for selftests/vm/run, such as --kernel-series.
in_vm() { # KVER SECONDS TARGETS OPTION...
	local kver=$1 timeout=$2 targets=$3
	shift 3
	selftests/vm/run --timeout "$timeout" --log "$logs/console-$kver.log" "$@" -- \
		env DK_OUTSIDE="$logs/outside-$kver" DK_MOST="${most-}" DK_CYCLES="${cycles-}" \
		DK_SECONDS="${torture-}" DK_YNL="${ynl-}" DK_MESSAGES="${messages-}" \
		DK_OPS="${ops-}" DK_SUITES="${suites-}" DK_SHARE="${share-}" DK_BRIEF="${brief-}" \
		DK_CHURN_SECONDS="${churn-}" \
		make -s -C "$build/modules/$kver/selftests" run_tests TARGETS="$targets" \
		DK_PREBUILT=1 DK_ONLY=kernel DK_BUILD="$build" KSELFTEST_DIR="$KSELFTEST_DIR"
}
