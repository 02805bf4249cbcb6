#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the costs of netlink requests in instructions, with all operators of PyTorch, in a machine
# that counts instructions: selftests/vm/run --icount. nl_cost.c describes how they are counted.
# With DK_OPS=, a dump of that many operators is also measured.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

need_root
need_command insmod rmmod dmesg
need_module dispatchkey dk_many
[ -n "${DK_ICOUNT:-}" ] || skip_all "this machine does not count instructions (selftests/vm/run --icount)"
nl_cost=${DK_COST:-$st_here/nl_cost}
[ -x "$nl_cost" ] || skip_all "no nl_cost is built"

# Limits: instructions per operator of a dump, and the cost of op-get in percent of a GETFAMILY.
most_dump=2500
most_get=130
# The number of PyTorch operators.
many=3640
# Operators with 1, 6, 17 and 19 functions. 19 is the maximum; most operators have 3 to 7.
ops=(_c10d_functional::all_reduce aten::_empty_affine_quantized aten::add.Tensor aten::mm)
tests=$((${#ops[@]} + 4))
[ -z "${DK_OPS-}" ] || tests=$((tests + 2))
plan $tests

# cost REQUEST... - sets the variables instructions, messages and bytes; prints the reason of a
# refusal
cost() {
	local figures
	figures=$("$nl_cost" "$@" 2>&1) || { diag "$figures"; figures='0 0 0'; }
	read -r instructions messages bytes <<<"$figures"
}

# at_most WHAT MOST GOT - passes if GOT is above 0 and not above MOST
at_most() {
	if [ "$3" -gt 0 ] && [ "$3" -le "$2" ]; then
		pass "$1: $3, at most $2"
	else
		fail "$1" "$3, at most $2"
	fi
}

# dump HOW-MANY - tests a dump of this many operators
dump() {
	cost dump
	diag "a dump of $1: $instructions instructions, $bytes bytes"
	is "a dump of $1 operators has all of them" "$1" "$messages"
	at_most "instructions an operator" $most_dump $((messages ? instructions / messages : 0))
}

must_load dispatchkey
ok "dk_many loads with all operators of PyTorch" load dk_many count=$many
cost getfamily
family=$instructions
diag "GETFAMILY of this family: $instructions instructions, $bytes bytes"
for op in "${ops[@]}"; do
	cost get "$op"
	diag "$op: $instructions instructions, $bytes bytes"
	at_most "$op in hundredths of a GETFAMILY" $most_get \
		$((family ? instructions * 100 / family : 0))
done
dump $many
unload dk_many
if [ -n "${DK_OPS-}" ]; then
	load dk_many count="$DK_OPS"
	dump "$DK_OPS"
	unload dk_many
fi
finish
