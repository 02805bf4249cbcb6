#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests that the library has the probes that the guide lists, with the same numbers of arguments,
# and that each is a single nop. Calls reach a probe only if a tracer has incremented its semaphore.
# DK_BUILD is the build folder.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

need_command readelf objdump awk cc
[ -n "$st_top" ] || skip_all "no sources of dispatchkey (set DK_TOP)"
lib=${DK_BUILD:-$st_top/build}/libdispatchkey.so
[ -e "$lib" ] || skip_all "no $lib, type make"
echo '#include <sys/sdt.h>' | cc -E - >/dev/null 2>&1 || skip_all "no <sys/sdt.h> here"

# Prints a line "NAME NUMBER-OF-ARGUMENTS" for each probe
probes() {
	readelf -n "$lib" | awk '
		/Provider:/ { ours = $2 == "dispatchkey" }
		ours && /Name:/ { name = $2 }
		ours && /Arguments:/ { print name, NF - 1 }' | sort -u
}
documented() {
	awk '/^USDT$/ { inside = 1 }
		inside && /^[a-z_]+  +[^ ].*,/ { n = gsub(",", ","); print $1, n + 1 }' \
		"$st_top/Documentation/seeing.rst" | sort -u
}
# Prints the instructions at the locations of probes, each once
instructions() {
	local at
	readelf -n "$lib" | awk '/Provider:/ { ours = $2 == "dispatchkey" }
		ours && /Location:/ { sub(",", "", $2); print $2 }' |
		while read -r at; do
			objdump -d --no-show-raw-insn --start-address="$at" \
				--stop-address=$((at + 1)) "$lib" | awk '/^ *[0-9a-f]+:/ { print $2 }'
		done | sort -u
}

# Prints a line NAME:LOCATION:SEMAPHORE for each location of a probe
# shellcheck disable=SC2317 # called by traces_itself, which ok calls
places() {
	readelf -n "$lib" | awk '
		/Provider:/ { ours = $2 == "dispatchkey" }
		ours && /Name:/ { name = $2 }
		ours && /Location:/ { sub(",", "", $2); print name ":" $2 ":" $6 }'
}
# shellcheck disable=SC2317,SC2046 # called by ok; each place is a word
traces_itself() {
	cc -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Wno-unused-parameter -Werror \
		-I"$st_top/include" -I"$st_top/uapi" -o "$st_tmp/tracer" "$st_here/tracer.c" \
		"$lib" -Wl,-rpath,"${lib%/*}" &&
		"$st_tmp/tracer" $(places) >"$st_tmp/hits"
}
# hits PHASE - prints the probes that were reached; a probe can have several locations
hits() {
	awk -v phase="$1" '$1 == phase { n[$2] += $3 }
		END { for (name in n) print name, n[name] }' "$st_tmp/hits" | sort
}

plan 7
like "the guide has a table of probes" '*call_enter 5*missing 3*' "$(documented)"
is "the library has the documented probes" "$(documented)" "$(probes)"
is "each probe is a nop instruction" nop "$(instructions)"

if [ "$(uname -m)" != x86_64 ]; then
	for what in "a process traces itself" "without a tracer, no probe is hit" \
		"with a tracer, a probe is hit for every call and change" \
		"after the tracer has detached, no probe is hit"; do
		skip "$what" "the tracer has breakpoints only for x86-64"
	done
	finish
fi
ok "a process traces itself" traces_itself
none=$(probes | sed 's/ .*/ 0/')
is "without a tracer, no probe is hit" "$none" "$(hits before)"
# the number of published tables is not specified
is "with a tracer, a probe is hit for every call and change" \
	"call_enter 2 call_exit 2 complete 1 drain 2 missing 2 publish N register 2 unregister 2" \
	"$(hits traced | sed 's/^publish [1-9][0-9]*$/publish N/' | paste -sd ' ')"
is "after the tracer has detached, no probe is hit" "$none" "$(hits after)"

finish
