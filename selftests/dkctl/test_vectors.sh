#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The recorded transcripts, replayed by dkctl, and each of them again with one
# answer falsified, which has to be found, by the number of its line.
# DKCTL names the tool.

here=$(cd "$(dirname -- "$0")" && pwd -P)
DKCTL=${DKCTL:-${DK_BUILD:-$here/../../build}/dkctl}
vectors=$here/vectors
[ -d "$vectors" ] || vectors=$here/../vectors

echo "TAP version 13"
if [ ! -x "$DKCTL" ]; then
	echo "1..0 # SKIP no dkctl at $DKCTL, type make or set DKCTL"
	exit 4
fi
mapfile -t files < <(cd "$vectors" && printf '%s\n' */*.dkt)
if [ ! -f "$vectors/${files[0]}" ]; then
	echo "1..0 # SKIP no transcripts at $vectors"
	exit 4
fi
echo "1..$((2 * ${#files[@]} + 2))"

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0 failed=0

result() { # STATUS WHAT
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
		return
	fi
	failed=1
	echo "not ok $n - $2"
	head -n 20 "$tmp/out" | sed 's/^/#   /'
}

for file in "${files[@]}"; do
	commands=$(grep -c '^> ' "$vectors/$file")
	"$DKCTL" replay --check "$vectors/$file" >"$tmp/out" 2>&1 &&
		grep -q "[^0-9]$commands commands" "$tmp/out"
	result $? "$file, $commands commands"
done

# The first answer behind the middle of the file ends in another character.
for file in "${files[@]}"; do
	awk -v n=$(($(grep -c '^> ' "$vectors/$file") / 2)) -v told="$tmp/line" '
		/^> / { seen++ }
		!/^> / && seen >= n && !hit {
			sub(/.$/, /x$/ ? "y" : "x")
			hit = 1
			print FNR >told
		}
		{ print }' "$vectors/$file" >"$tmp/false.dkt"
	line=$(cat "$tmp/line")
	"$DKCTL" replay --check "$tmp/false.dkt" >"$tmp/out" 2>&1
	[ $? -eq 1 ] && grep -Eq "(^|[^0-9])$line([^0-9]|$)" "$tmp/out"
	result $? "$file with line $line falsified"
done

# All operators of PyTorch at once, and gone again; a build with sanitizers
# sees whether any memory stays behind.
registrations=$vectors/pytorch-2.14/registrations.txt
awk '
	BEGIN { print "> layout v1" }
	{
		print "> op " $1
		for (i = 2; i <= NF; i++) {
			split($i, kv, "=")
			flag = sub(/!$/, "", kv[2]) ? "-f " : ""
			print "> impl " flag $1 " " kv[1] " " kv[2]
		}
	}' "$registrations" >"$tmp/all.dkt"
"$DKCTL" replay --check "$tmp/all.dkt" >"$tmp/out" 2>&1
result $? "$(wc -l <"$registrations") operators of PyTorch"

# Operators of PyTorch made anew from what its dumps say of them, and dumped
# again: the same file, byte for byte.
dumps=$vectors/pytorch-2.14/dumps.txt
awk -f "$vectors/dumps.awk" "$dumps" >"$tmp/dumps.dkt"
"$DKCTL" replay --transcript "$tmp/dumps.dkt" 2>&1 |
	sed -n '/^> /!{p;d}; s/^> \(dump\|table\) /==== \1 /p' >"$tmp/dumps.txt"
cmp "$dumps" "$tmp/dumps.txt" >"$tmp/out" 2>&1
result $? "$(grep -c '^==== dump ' "$dumps") operators dumped as PyTorch does"

exit $failed
