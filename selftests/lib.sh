# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Functions for test scripts, which source this file: KTAP, requirements of a test, loading and
# unloading of modules, and the kernel's log. A script looks like this:
#
#   plan 3
#   need_root
#   need_module dispatchkey
#   load dispatchkey
#   ok "something holds" test 1 = 1
#   ...
#   finish
#
# If a requirement is missing, the script exits with 4, which kselftest counts as skipped.

set -u
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export LC_ALL=C

st_script=${0##*/}
st_here=$(realpath -- "$(dirname -- "$0")")
st_planned='' st_done=0 st_failed=0 st_finished=''
st_loaded=()
st_tmp=$(mktemp -d "${TMPDIR:-/tmp}/dkst.XXXXXX")
st_log=$st_tmp/log
st_klog_marks=0 st_klog_first='' st_klog_from=''

# The project that contains these tests; empty if the tests were copied elsewhere.
st_top=${DK_TOP:-$(cd "$st_here/../.." && pwd -P)}
[ -e "$st_top/include/dispatchkey.h" ] || st_top=

# ---- KTAP ----------------------------------------------------------------------

diag() { printf '# %s\n' "${*//$'\n'/$'\n# '}"; }

# plan N - sets the number of tests. In scripts that load modules, N includes the last test, that of
# the kernel log.
plan() {
	st_planned=$1
	echo "TAP version 13"
	echo "1..$st_planned"
}

# skip_all WHY - skips all remaining tests and ends the script
skip_all() {
	if [ -z "$st_planned" ]; then
		echo "TAP version 13"
		echo "1..0 # SKIP $*"
	else
		while [ $st_done -lt "$st_planned" ]; do
			skip "not run" "$*"
		done
	fi
	[ $st_failed -eq 0 ] || exit 1
	exit 4
}

pass() {
	st_done=$((st_done + 1))
	echo "ok $st_done - $1"
}

# fail WHAT [WHY...]
fail() {
	st_done=$((st_done + 1))
	st_failed=$((st_failed + 1))
	echo "not ok $st_done - $1"
	shift
	[ $# -eq 0 ] || diag "$*"
}

# skip WHAT WHY
skip() {
	st_done=$((st_done + 1))
	echo "ok $st_done - $1 # SKIP $2"
}

# ok WHAT COMMAND... - passes if the command succeeds; otherwise its output is printed
ok() {
	local what=$1 status=0
	shift
	"$@" >"$st_log" 2>&1 || status=$?
	if [ $status -eq 0 ]; then
		pass "$what"
	else
		fail "$what" "$* (status $status)"
		sed 's/^/#   /' "$st_log" | head -n 30
	fi
	return $status
}

# refused WHAT COMMAND... - passes if the command fails, but not if it cannot be executed or is
# killed by a signal. Any other error counts as a refusal, so test the message in $st_log, too.
refused() {
	local what=$1 status=0
	shift
	"$@" >"$st_log" 2>&1 || status=$?
	if [ $status -eq 0 ]; then
		fail "$what" "$* was not refused"
	elif [ $status -ge 126 ]; then
		fail "$what" "$* (status $status)"$'\n'"$(head -n 30 "$st_log")"
	else
		pass "$what"
	fi
}

# lacks WHAT PATTERN FILE... - passes if no line of the files matches the extended regular
# expression. Fails if a file is missing or empty.
lacks() {
	local what=$1 pattern=$2 file status=0
	shift 2
	for file in "${@:-no file}"; do
		[ -s "$file" ] || {
			fail "$what" "$file is missing or empty"
			return
		}
	done
	grep -nE -- "$pattern" "$@" >"$st_log" 2>&1 || status=$?
	case $status in
	0) fail "$what" "found '$pattern':"$'\n'"$(head -n 30 "$st_log")" ;;
	1) pass "$what" ;;
	*) fail "$what" "$(cat "$st_log")" ;;
	esac
}

# is WHAT EXPECTED GOT - passes if both are equal
is() {
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1" "expected '$2', got '$3'"
	fi
}

# like WHAT PATTERN GOT - passes if GOT matches the shell pattern
like() {
	# shellcheck disable=SC2254 # $2 is a pattern
	case $3 in
	$2) pass "$1" ;;
	*) fail "$1" "expected '$2', got '$3'" ;;
	esac
}

# run_tap COMMAND... - runs a command that prints TAP, and adds its tests to those of the script
run_tap() {
	local line plan='' n=0 status failed=$st_failed
	while IFS= read -r line; do
		[[ ! $line =~ ^1\.\.([0-9]+) ]] || plan=${BASH_REMATCH[1]}
		if [[ $line =~ ^(not )?ok\ [0-9]+(.*) ]]; then
			n=$((n + 1)) st_done=$((st_done + 1))
			[ -z "${BASH_REMATCH[1]}" ] || st_failed=$((st_failed + 1))
			echo "${BASH_REMATCH[1]}ok $st_done${BASH_REMATCH[2]}"
		elif [[ $line == "#"* ]]; then
			echo "$line"
		fi
	done < <("$@" 2>&1; echo $? >"$st_tmp/status")
	status=$(cat "$st_tmp/status")
	if [ "$plan" != $n ] || [ $n -eq 0 ]; then
		fail "all tests of $*" "$n tests were run, ${plan:-none} were planned, status $status"
	elif [ "$status" -ne 0 ] && [ $st_failed -eq "$failed" ]; then
		fail "all tests of $*" "the tests passed, but the exit status is $status"
	fi
}

# finish - unloads modules, checks the kernel log, and ends the script
finish() {
	st_finished=1
	st_unload_all
	klog_check
	if [ -n "$st_planned" ] && [ $st_done -ne "$st_planned" ]; then
		diag "$st_done tests were run, $st_planned were planned"
		exit 1
	fi
	[ -n "$st_planned" ] || echo "1..$st_done"
	[ $st_failed -eq 0 ]
	exit
}

# However the script ends, the modules that it has loaded are unloaded.
# shellcheck disable=SC2317 # called by the trap
st_cleanup() {
	local status=$?
	trap - EXIT
	if [ "$(type -t at_exit)" = function ]; then at_exit; fi
	st_unload_all
	rm -rf -- "$st_tmp"
	# a script that ends early must not pass
	if [ $status -eq 0 ] && [ -z "$st_finished" ]; then
		diag "the script ended without finish"
		status=1
	fi
	exit $status
}
trap st_cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# ---- requirements ----------------------------------------------------------------

need_root() { [ "$(id -u)" -eq 0 ] || skip_all "not root"; }

need_command() {
	local tool
	for tool; do
		command -v "$tool" >/dev/null || skip_all "no $tool here"
	done
}

# need_headers - sets KDIR, the kernel's build folder
need_headers() {
	KDIR=${KDIR:-/lib/modules/$(uname -r)/build}
	[ -e "$KDIR/Makefile" ] || skip_all "no kernel headers at $KDIR"
}

# ko NAME - prints the path of a built module
ko() {
	local dir
	for dir in ${DK_MODULES_DIR:+"$DK_MODULES_DIR"} "$st_here" \
		${st_top:+"$st_top" "$st_top/samples" "$st_top"/selftests/*}; do
		[ -f "$dir/$1.ko" ] || continue
		echo "$dir/$1.ko"
		return 0
	done
	return 1
}

# program PATH - prints the path of a program: in the build folder, next to this script, or installed
program() {
	local path
	for path in "${DK_BUILD:-$st_top/build}/$1" "$st_here/${1##*/}" "$(command -v "${1##*/}")"; do
		[ -x "$path" ] || continue
		echo "$path"
		return 0
	done
	return 1
}

# need_module NAME... - skips all tests unless each module is loaded, built for this kernel, or
# installed
need_module() {
	local name file magic
	for name; do
		[ ! -d "/sys/module/$name" ] || continue
		if ! file=$(ko "$name"); then
			modinfo "$name" >/dev/null 2>&1 && continue
			if [ ! -e "${KDIR:-/lib/modules/$(uname -r)/build}/Makefile" ]; then
				skip_all "no $name.ko is built, and no kernel headers are here to build it"
			fi
			skip_all "no $name.ko is built (make modules DK_SELFTESTS=1)"
		fi
		magic=$(modinfo -F vermagic "$file" 2>/dev/null || true)
		[ -z "$magic" ] || [ "${magic%% *}" = "$(uname -r)" ] ||
			skip_all "$name.ko is built for ${magic%% *}, and this is $(uname -r)"
	done
	[ -e /proc/modules ] || skip_all "this kernel loads no modules"
	[ "$(cat /proc/sys/kernel/modules_disabled 2>/dev/null || echo 0)" = 0 ] ||
		skip_all "loading of modules is disabled (kernel.modules_disabled)"
	[ -n "$st_klog_first" ] || klog_mark
}

is_loaded() { [ -d "/sys/module/$1" ]; }

# load NAME [PARAMETER...] - loads a module unless it is loaded. At the end of the script,
# modules are unloaded in reverse order. Skips all tests if loading is not permitted.
load() {
	local name=$1 file
	shift
	is_loaded "$name" && return
	if file=$(ko "$name"); then
		insmod "$file" "$@" 2>"$st_log"
	else
		modprobe "$name" "$@" 2>"$st_log"
	fi || {
		case $(cat "$st_log") in
		*"not permitted"* | *"Key was rejected"*)
			skip_all "loading modules is not permitted here: $(cat "$st_log")"
			;;
		esac
		diag "$(cat "$st_log")"
		return 1
	}
	st_loaded=("$name" "${st_loaded[@]}")
}

# must_load NAME... - loads modules; if this fails, the script fails and ends
must_load() {
	local name
	for name; do
		load "$name" || {
			fail "$name loads"
			st_planned=
			finish
		}
	done
}

# unload NAME
unload() {
	local name kept=()
	rmmod "$1" || return
	for name in "${st_loaded[@]}"; do
		[ "$name" = "$1" ] || kept+=("$name")
	done
	st_loaded=("${kept[@]}")
}

st_unload_all() {
	local name
	for name in "${st_loaded[@]}"; do
		is_loaded "$name" || continue
		rmmod "$name" 2>"$st_log" || diag "$(cat "$st_log")"
	done
	st_loaded=()
}

# ---- the kernel's log --------------------------------------------------------------

st_trouble='(WARNING|BUG): |Oops[: ]|general protection fault|Call Trace:|Kernel panic'
st_trouble+='|(KASAN|KCSAN|KFENCE|UBSAN|ODEBUG|kmemleak): |INFO: (task|rcu_|possible|suspicious)'
st_trouble+='|scheduling while atomic|sleeping function called|refcount_t: |nobody cared'
st_trouble+='|list_(add|del) corruption|soft lockup|hard LOCKUP|Objects remaining'

# klog_mark - marks the place in the log from which klog prints
klog_mark() {
	st_klog_marks=$((st_klog_marks + 1))
	st_klog_from="dispatchkey selftest $st_script, process $$, mark $st_klog_marks;"
	if ! echo "$st_klog_from" 2>/dev/null >/dev/kmsg || ! dmesg >/dev/null 2>&1; then
		st_klog_from=none
	fi
	st_klog_first=${st_klog_first:-$st_klog_from}
}

# klog [PATTERN] - prints the kernel log since the mark, or its lines that match the pattern
klog() {
	[ "$st_klog_from" != none ] || return 1
	dmesg | sed "0,/$st_klog_from/d" | grep -E -- "${1:-}"
}

# klog_check - adds a test, which fails if the kernel has reported a problem since the first mark
klog_check() {
	local test="the kernel log reports no problem"
	case $st_klog_first in
	'') return ;;
	none)
		skip "$test" "the kernel log cannot be read"
		return
		;;
	esac
	st_klog_from=$st_klog_first
	# search for the mark last: if the log still contains it, nothing after it was
	# overwritten
	if klog "$st_trouble" >"$st_log"; then
		fail "$test"
		sed 's/^/#   /' "$st_log"
	elif ! dmesg | grep -qF -- "$st_klog_from"; then
		fail "$test" "the log's beginning was overwritten: boot with a larger log_buf_len="
	else
		pass "$test"
	fi
}
