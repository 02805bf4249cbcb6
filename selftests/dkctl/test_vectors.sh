#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests that dkctl replays the recorded transcripts with tables, by the rules alone, and with one
# falsified answer, whose line number it must report. DKCTL is the path of the tool.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

DKCTL=${DKCTL:-${DK_BUILD:-$st_here/../../build}/dkctl}
vectors=$st_here/vectors
[ -d "$vectors" ] || vectors=$st_here/../vectors

[ -x "$DKCTL" ] || skip_all "no dkctl at $DKCTL, type make or set DKCTL"
mapfile -t files < <(cd "$vectors" && printf '%s\n' */*.dkt)
[ -f "$vectors/${files[0]}" ] || skip_all "no transcripts at $vectors"
plan $((3 * ${#files[@]} + 2))

replay() { "$DKCTL" replay --check "$@"; }

# right FILE N [OPTION] - all N answers of the transcript must be right
right() {
	replay "${@:3}" "$1" >"$st_tmp/out" 2>&1 && grep -q "[^0-9]$2 commands" "$st_tmp/out" && return
	cat "$st_tmp/out"
	return 1
}

# found FILE LINE - replay must report a wrong answer in that line, and no other one
found() {
	local status=0
	replay "$1" >"$st_tmp/out" 2>&1 || status=$?
	[ "$status" -eq 1 ] && grep -qF "$1:$2: expected " "$st_tmp/out" &&
		grep -q ' commands, 1 wrong answer$' "$st_tmp/out" && return
	cat "$st_tmp/out"
	return 1
}

all_registered() {
	[ "$(grep -c '^> op ' "$st_tmp/all.dkt")" -eq "$(wc -l <"$registrations")" ] &&
		right "$st_tmp/all.dkt" "$(grep -c '^> ' "$st_tmp/all.dkt")"
}

for file in "${files[@]}"; do
	commands=$(grep -c '^> ' "$vectors/$file")
	ok "$file: all $commands commands give the recorded answers" \
		right "$vectors/$file" "$commands"
	ok "$file: the rules without tables give the recorded answers" \
		right "$vectors/$file" "$commands" --force-resolve
done

# Replaces the last character of the first answer after the middle of the file.
for file in "${files[@]}"; do
	awk -v n=$(($(grep -c '^> ' "$vectors/$file") / 2)) -v told="$st_tmp/line" \
		-f "$vectors/falsify.awk" "$vectors/$file" >"$st_tmp/false.dkt"
	line=$(cat "$st_tmp/line")
	ok "$file: a wrong answer in line $line is found" found "$st_tmp/false.dkt" "$line"
done

# Registers all operators of PyTorch, and unregisters them. In a build with
# sanitizers this detects memory leaks.
registrations=$vectors/pytorch-2.14/registrations.txt
awk -f "$vectors/registrations.awk" "$registrations" >"$st_tmp/all.dkt"
ok "$(wc -l <"$registrations") operators of PyTorch are registered and unregistered" \
	all_registered

# Registers operators from PyTorch's dumps, and dumps them. The result must be
# the same file, byte for byte.
dumps=$vectors/pytorch-2.14/dumps.txt
awk -f "$vectors/dumps.awk" "$dumps" >"$st_tmp/dumps.dkt"
"$DKCTL" replay --transcript "$st_tmp/dumps.dkt" 2>&1 |
	sed -n '/^> /!{p;d}; s/^> \(dump\|table\) /==== \1 /p' >"$st_tmp/dumps.txt"
ok "$(grep -c '^==== dump ' "$dumps") operators are dumped as by PyTorch" \
	cmp "$dumps" "$st_tmp/dumps.txt"

finish
