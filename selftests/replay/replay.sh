#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Replays the recorded transcripts inside the kernel, through dk_replay_test.ko, and checks that
# a wrong answer is detected.
#
# With DK_BRIEF=1, replays only the transcripts of the project, and those of the newest PyTorch that
# print routes. Of these, only the transcripts of the project are also replayed without tables.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

dev=/dev/dk_replay_test
vectors=$st_here/vectors
[ -d "$vectors" ] || vectors=$st_here/../vectors

need_root
need_command insmod rmmod dmesg awk dd
need_module dispatchkey dk_replay_test
mapfile -t files < <(cd "$vectors" && printf '%s\n' */*.dkt)
[ -f "$vectors/${files[0]}" ] || skip_all "no transcripts at $vectors"
# Transcripts that print routes and tables.
mapfile -t routed < <(cd "$vectors" && grep -El '^> (table|route|call)' -- */*.dkt)
falsified=(pytorch-2.14/keysets.dkt pytorch-2.14/routes.dkt pytorch-1.13/operators.dkt)
if [ -n "${DK_BRIEF-}" ]; then
	mapfile -t files < <(printf '%s\n' "${files[@]}" | grep '^own/' &&
		printf '%s\n' "${routed[@]}" | grep '^pytorch-2.14/')
	mapfile -t routed < <(printf '%s\n' "${routed[@]}" | grep '^own/')
	falsified=(pytorch-2.14/operators.dkt)
fi
if [ ${#files[@]} -le 3 ] || [ ${#routed[@]} -eq 0 ]; then
	fail "there are transcripts" "${files[*]} ${routed[*]}"
	finish
fi
plan $((${#files[@]} + ${#routed[@]} + ${#falsified[@]} + 13))
must_load dispatchkey dk_replay_test
resolve=/sys/module/dk_replay_test/parameters/force_resolve

# verdict FILE... - replays the files through one open file, and prints a verdict for each
verdict() {
	local file
	exec 3<>$dev
	for file; do
		cat -- "$file" >&3
		cat <&3
	done
	exec 3>&-
}

commands() { grep -c '^> ' "$1"; }

# The number of commands of each file, from one grep, because starting programs is slow in an
# emulated machine.
declare -A num_commands
while IFS=: read -r file n; do
	num_commands[$file]=$n
done < <(cd "$vectors" && grep -c '^> ' "${files[@]}" /dev/null)

check_all() { # REMARK FILE...
	local remark=$1 file want lines
	shift
	for file; do
		want="ok ${num_commands[$file]} commands checked"
		mapfile lines <"$vectors/$file"
		exec 3<>$dev
		printf '%s' "${lines[@]}" >&3
		mapfile -t lines <&3
		exec 3>&-
		if [ "${lines[*]}" = "$want" ]; then
			pass "$file: all ${num_commands[$file]} commands give \
the recorded answers$remark"
		else
			fail "$file: all commands give the recorded answers$remark" "${lines[*]}"
		fi
	done
}
check_all '' "${files[@]}"

# Replays a transcript that registers operators from PyTorch's dumps, and dumps them.
check_dumps() { # REMARK
	local want got
	want="ok $(commands "$st_tmp/dumps.dkt") commands checked"
	got=$(verdict "$st_tmp/dumps.dkt")
	is "operators are dumped as by PyTorch$1" "$want" "$got"
}
awk -f "$vectors/dumps.awk" "$vectors/pytorch-2.14/dumps.txt" >"$st_tmp/dumps.dkt"
check_dumps ''

# The rule evaluator computes every route; no published table is used.
echo 1 >$resolve
check_dumps ', by the rules alone'
check_all ', by the rules alone' "${routed[@]}"
echo 0 >$resolve

# falsify FILE N - prints the transcript with one wrong answer: the last character of the first
# answer after the N-th command is replaced. Writes the number of its line to $st_tmp/line
falsify() {
	awk -v n="$2" -v told="$st_tmp/line" -f "$vectors/falsify.awk" "$vectors/$1"
}

for file in "${falsified[@]}"; do
	n=$(($(commands "$vectors/$file") / 2))
	falsify "$file" $n >"$st_tmp/false.dkt"
	line=$(cat "$st_tmp/line")
	like "$file: a wrong answer in line $line is found" "not ok line $line: expected *, got *" \
		"$(verdict "$st_tmp/false.dkt")"
done

# Transcripts in pieces of different sizes, and after other transcripts.
small=$vectors/pytorch-2.14/constants.dkt
want="ok $(commands "$small") commands checked"
for size in 1 7 4097; do
	exec 3<>$dev
	dd if="$small" bs=$size status=none >&3
	is "a transcript can be written in pieces of $size bytes" "$want" "$(cat <&3)"
	exec 3>&-
done
is "several transcripts can be checked, one after the other" \
	"$want|not ok line 2: expected \"0x1\", got \"0x3800000000\"|$want|" \
	"$(printf '> constant autograd_dispatch_keyset\n0x1\n' >"$st_tmp/wrong.dkt"
	verdict "$small" "$st_tmp/wrong.dkt" "$small" | tr '\n' '|')"

# Text that is not a transcript.
exec 3<>$dev
is "an empty transcript is refused" "not ok there was no command" "$(cat <&3)"
exec 3>&-
is "a missing answer is reported" 'not ok line 2: expected no more lines, got "0x3800000000"' \
	"$(printf '> constant autograd_dispatch_keyset\n' >"$st_tmp/t"; verdict "$st_tmp/t")"
is "an unknown command has the answer \"error\"" "ok 1 commands checked" \
	"$(printf '> nonsense\nerror\n' >"$st_tmp/t"; verdict "$st_tmp/t")"
head -c 300000 /dev/zero | tr '\0' 'x' >"$st_tmp/t"
like "a line without an end is reported" 'not ok line 1: expected "xxx*, got no more lines' \
	"$(verdict "$st_tmp/t")"

# Registers all operators of PyTorch, and unregisters them.
registrations=$vectors/pytorch-2.14/registrations.txt
awk -f "$vectors/registrations.awk" "$registrations" >"$st_tmp/all.dkt"
is "$(wc -l <"$registrations") operators of PyTorch are registered and unregistered" \
	"ok $(commands "$st_tmp/all.dkt") commands checked" "$(verdict "$st_tmp/all.dkt")"

# Only root may use the device.
is "only root can open the device" "600 0:0" "$(stat -c '%a %u:%g' $dev)"

finish
