#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests that the parts of make bench work: the programs measure for a moment, without libtorch,
# and the report makes a table, JSON and plots. Prints TAP. DK_BUILD is the build folder.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

need_command cc python3
[ -n "$st_top" ] || skip_all "no sources of dispatchkey (set DK_TOP)"
build=${DK_BUILD:-$st_top/build}
lib=$build/libdispatchkey.a
[ -e "$lib" ] || skip_all "no $lib, type make"
vectors=$st_top/selftests/vectors/pytorch-2.14

# shellcheck disable=SC2317 # called by ok
compiles() { # NAME
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -DNDEBUG -Wall -Wextra -Wno-unused-parameter -Werror \
		-I"$st_top/include" -I"$st_top/uapi" -o "$st_tmp/$1" "$st_here/$1.c" \
		"$st_here/$1_dk.c" "$lib" -lurcu-bp -lurcu-memb -lurcu-qsbr -pthread
}
# shellcheck disable=SC2317
measures() { # NAME ARGUMENT...
	local name=$1
	shift
	"$st_tmp/$name" -r 2 "$@" >"$st_tmp/$name.txt"
}
# shellcheck disable=SC2317
reports() {
	printf 'bytes\ttext\t65536\nx  of y  96.5 90 91 12000 3.5\n' >"$st_tmp/more.txt"
	sed 's/\t.*//; s/$/ 7.5/' <(cut -f2- "$st_tmp/calls.txt") >"$st_tmp/counts.txt"
	python3 "$st_here/report.py" --out "$st_tmp" --note "seed=1" "$st_tmp/calls.txt" \
		"$st_tmp/regs.txt" "$st_tmp/counts.txt" "$st_tmp/more.txt" >"$st_tmp/table"
}
# shellcheck disable=SC2317
is_json() {
	python3 -c '
import json, sys
j = json.load(open(sys.argv[1], encoding="utf-8"))
assert j["schema"] == "dispatchkey-bench-1" and j["readers"][0]["kept_percent"] == 96.5
assert {"call.sleepable", "memory"} <= {m["id"] for m in j["measured"]}
compared = [t["measured"] for t in j["targets"] if "libtorch" in t["target"]]
assert compared and set(compared) == {"no libtorch here"}
' "$st_tmp/performance.json"
}
# shellcheck disable=SC2317
are_xml() {
	python3 -c '
import sys, xml.dom.minidom
for path in sys.argv[1:]:
    xml.dom.minidom.parse(path)
' "$st_tmp"/{calls,instructions,registrations}.svg
}

plan 9

ok "the program for calls compiles" compiles calls || skip_all "no program"
ok "the program for calls measures" measures calls "$vectors/registrations.txt"
ok "the program for registrations compiles" compiles regs || skip_all "no program"
ok "the program for registrations measures" \
	measures regs "$vectors/registrations.txt" "$vectors/schemas.txt"
ok "the report is made" reports
lacks "the table of the report fits 100 columns" '.{101}' "$st_tmp/table"
like "the report says that libtorch is missing" \
	"*libtorch is not installed*" "$(cat "$st_tmp/table")"
ok "the JSON has its schema and the measured values" is_json
ok "the plots are well-formed XML" are_xml

finish
