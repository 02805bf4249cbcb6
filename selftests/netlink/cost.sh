#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What requests of the netlink family cost, in instructions, with all operators
# of PyTorch: in a machine that counts them, selftests/vm/run --icount. How they
# are counted is told in nl_cost.c.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

need_root
need_command insmod rmmod dmesg awk
need_module dispatchkey dk_many
[ -n "${DK_ICOUNT:-}" ] || skip_all "this machine does not count instructions (selftests/vm/run --icount)"
nl_cost=$st_here/nl_cost
[ -x "$nl_cost" ] || nl_cost=${OUTPUT:-$st_here}/nl_cost
[ -x "$nl_cost" ] || skip_all "no nl_cost is built"

# The gates: instructions an operator of a dump, and hundredths of a GETFAMILY.
most_dump=2500
most_get=130
# The PyTorch operators, and as many as the family has to bear.
many=3640
most=65536
# With 1 function, 6, 17 and the most, which is 19; most have 3 to 7.
ops=(_c10d_functional::all_reduce aten::_empty_affine_quantized aten::add.Tensor aten::mm)
plan $((${#ops[@]} + 5))

# cost REQUEST... - sets instructions, messages and bytes; a refusal tells why
cost() {
	local figures
	figures=$("$nl_cost" "$@" 2>&1) || { diag "$figures"; figures='0 0 0'; }
	read -r instructions messages bytes <<<"$figures"
}

# at_most WHAT MOST GOT - passes if there is something, and not too much
at_most() {
	if [ "$3" -gt 0 ] && [ "$3" -le "$2" ]; then
		pass "$1: $3, at most $2"
	else
		fail "$1" "$3, at most $2"
	fi
}

must_load dispatchkey
ok "all operators of PyTorch" load dk_many count=$many
cost getfamily
family=$instructions
diag "GETFAMILY of this family: $instructions instructions, $bytes bytes"
for op in "${ops[@]}"; do
	cost get "$op"
	diag "$op: $instructions instructions, $bytes bytes"
	at_most "$op in hundredths of a GETFAMILY" $most_get \
		$((family ? instructions * 100 / family : 0))
done
cost dump
is "all operators of a dump" $many "$messages"
diag "a dump: $instructions instructions, $bytes bytes"
at_most "instructions an operator" $most_dump $((messages ? instructions / messages : 0))
unload dk_many

load dk_many count=$most
cost dump
is "$most operators" $most "$messages"
at_most "instructions an operator" $most_dump $((messages ? instructions / messages : 0))
unload dk_many

finish
