#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The library has the probes that the guide tells of, with as many arguments,
# and one is one nop. DK_BUILD is the build folder.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

need_command readelf objdump awk cc
[ -n "$st_top" ] || skip_all "no sources of dispatchkey (set DK_TOP)"
lib=${DK_BUILD:-$st_top/build}/libdispatchkey.so
[ -e "$lib" ] || skip_all "no $lib, type make"
echo '#include <sys/sdt.h>' | cc -E - >/dev/null 2>&1 || skip_all "no <sys/sdt.h> here"

# NAME ARGUMENTS, a line each
probes() {
	readelf -n "$lib" | awk '
		/Provider:/ { ours = $2 == "dispatchkey" }
		ours && /Name:/ { name = $2 }
		ours && /Arguments:/ { print name, NF - 1 }' | sort -u
}
documented() {
	awk '/^USDT$/ { inside = 1 }
		inside && /^[a-z_]+ .*,/ { n = gsub(",", ","); print $1, n + 1 }' \
		"$st_top/Documentation/seeing.rst" | sort -u
}
# Bytes of the instruction at each place of a probe.
instructions() {
	local at
	readelf -n "$lib" | awk '/Provider:/ { ours = $2 == "dispatchkey" }
		ours && /Location:/ { sub(",", "", $2); print $2 }' |
		while read -r at; do
			objdump -d --no-show-raw-insn --start-address="$at" \
				--stop-address=$((at + 1)) "$lib" | awk '/^ *[0-9a-f]+:/ { print $2 }'
		done | sort -u
}

plan 3
like "the guide tells of probes" '*call_enter 5*missing 3*' "$(documented)"
is "the library has these" "$(documented)" "$(probes)"
is "each is a nop" nop "$(instructions)"

finish
