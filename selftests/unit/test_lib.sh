#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests lib.sh's check of the kernel log, with a function dmesg that prints a given log.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"
plan 4

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
finish
