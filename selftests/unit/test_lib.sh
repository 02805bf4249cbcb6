#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the parts of lib.sh that must report a failure: the check of the kernel log, with a function
# dmesg that prints a given log; refusals; absent lines; and the exit status of a script.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"
plan 19

mark="dispatchkey selftest that began"

# checked LINE... - prints the output of klog_check for a log of these lines
checked() {
	(
		log=("$@")
		# shellcheck disable=SC2317 # klog_check calls it
		dmesg() { printf '%s\n' "${log[@]}"; }
		# shellcheck disable=SC2034 # klog_check reads it
		st_klog_first=$mark
		klog_check
	) 2>&1
}

like "a log without a problem passes" "ok *" "$(checked older "$mark" newer)"
like "a problem in the log fails" "not ok *sleeping function*" \
	"$(checked "$mark" "BUG: sleeping function")"
like "a problem before the mark passes" "ok *" \
	"$(checked "BUG: sleeping function" "$mark" newer)"
like "a log whose mark was overwritten fails" "not ok *log_buf_len*" "$(checked newer)"

like "a command that fails is refused" "ok *" "$(refused name false)"
like "a command that succeeds is not refused" "not ok *was not refused*" "$(refused name true)"
like "a command that does not exist is not refused" "not ok *status 127*" \
	"$(refused name "$st_tmp/none")"
like "a file that cannot be executed is not refused" "not ok *status 126*" \
	"$(refused name "$st_here")"
# shellcheck disable=SC2016 # the inner shell expands it
like "a command that is killed is not refused" "not ok *status 139*" \
	"$(refused name sh -c 'kill -SEGV $$')"

echo "one line" >"$st_tmp/file"
: >"$st_tmp/empty"
like "a file lacks a line" "ok *" "$(lacks name 'two+' "$st_tmp/file")"
like "a file has the line" "not ok *1:one line*" "$(lacks name 'one .ine' "$st_tmp/file")"
like "an empty file does not pass as one that lacks the line" "not ok *missing or empty*" \
	"$(lacks name two "$st_tmp/file" "$st_tmp/empty")"
like "no file does not pass as one that lacks the line" "not ok *missing or empty*" \
	"$(lacks name two)"
like "a wrong pattern does not pass as an absent line" "not ok *" \
	"$(lacks name '(' "$st_tmp/file")"

lib=$st_here/lib.sh
[ -e "$lib" ] || lib=$st_here/../lib.sh
like "the tests of a program are counted" "ok * - one" "$(run_tap printf '1..1\nok 1 - one\n')"
like "a program without tests fails" "not ok *0 tests were run, 0 were planned*" \
	"$(run_tap echo 1..0)"

# status_of LINE... - prints the exit status of a script with these lines
status_of() {
	printf '%s\n' ". '$lib'" "$@" >"$st_tmp/script"
	bash "$st_tmp/script" >"$st_tmp/said" 2>&1
	echo $?
}
is "a script with a passed test succeeds" 0 "$(status_of 'pass one' finish)"
is "a script that ends without finish fails" 1 "$(status_of 'pass one')"
is "a script that skips tests after a failed one fails" 1 \
	"$(status_of 'plan 2' 'fail one' 'skip_all why')"
finish
