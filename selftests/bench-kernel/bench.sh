#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Measures the costs of calls and changes in the kernel, and of primitives of the kernel, in
# instructions. It runs in a machine that counts instructions: selftests/vm/run --icount. Prints
# lines "figure NAME LEAST MEDIAN", in hundredths of an instruction, from which
# scripts/bench-kernel makes the report.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

need_root
need_command insmod rmmod dmesg
need_module dispatchkey dk_many dk_bench
[ -n "${DK_ICOUNT:-}" ] || skip_all "this machine does not count instructions (selftests/vm/run --icount)"

plan 3
must_load dispatchkey
ok "dk_many loads with all operators of PyTorch" load dk_many
ok "dk_bench loads and measures" load dk_bench
sed 's/^/figure /' /proc/dk_bench 2>/dev/null
if [ -x "${DK_COST-}" ] && family=$("$DK_COST" getfamily); then
	echo "figure getfamily ${family%% *}00 ${family%% *}00"
fi
finish
