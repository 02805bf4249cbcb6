#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# demo.sh DIR - the script of "make demo". Needs root and two edu cards. DIR contains
# dispatchkey.ko, dk_client and the samples' modules.
#
# Exit status: 0 on success; 1 if anything failed or a call was lost.
set -euo pipefail

dir=${1:?usage: demo.sh DIR}
driver=/sys/bus/pci/drivers/dk_edu
cpu=/sys/module/dk_cpu/parameters

bold='' plain=''
if [ -t 1 ]; then
	bold=$'\e[1m' plain=$'\e[0m'
fi
step() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
fail() { printf 'demo: %s\n' "$*" >&2; exit 1; }
show() { # print a command and run it
	printf '%s# %s%s\n' "$bold" "${*##*/}" "$plain"
	"$@"
}
client() {
	printf '%s# dk_client %s%s\n' "$bold" "$*" "$plain"
	"$dir/dk_client" "$@"
}
add() { # FILE... : print the sum of the numbers in the files
	local file sum=0
	for file; do
		sum=$((sum + $(cat "$file")))
	done
	echo "$sum"
}

[ "$(id -u)" -eq 0 ] || fail "must be run as root"
load=
trap '[ -z "$load" ] || kill "$load" 2>/dev/null || true' EXIT

step "Load the dispatcher, the CPU's functions, the driver and the client"
show insmod "$dir/dispatchkey.ko"
for module in dk_cpu dk_edu dk_client; do
	show insmod "$dir/samples/$module.ko"
done
dmesg | sed -n 's/.*\(dispatchkey: version .*\)/\1/p' | tail -n 1
cards=()
for path in "$driver"/????:*; do
	[ -e "$path" ] && cards+=("${path##*/}")
done
[ ${#cards[@]} -ge 2 ] || fail "found ${#cards[@]} edu cards, but two are needed"
card0=${cards[0]} card1=${cards[1]}

step "What serves sample::factorial, for every functionality and backend"
client table sample::factorial --on "$card0" --on "$card1"

step "The same calls are routed by their objects only"
client factorial --on cpu 12
client factorial --on "$card0" 12
client factorial --on "$card1" 12
client copy
client copy --to "$card0"
client copy --to "$card1" --from "$card0"
client counts

step "Call from four threads on $card1, and unbind $card1 during the calls"
client load --on "$card1" --threads 4 --seconds 8 &
load=$!
sleep 3
client counts
# A copy takes 200 ms on the card, so most of these are in its queue during the unbind.
client copy --to "$card1" --queue 8 &
copy=$!
sleep 0.3
printf '%s# echo %s > %s/unbind%s\n' "$bold" "$card1" "$driver" "$plain"
before=${EPOCHREALTIME/[.,]/}
echo "$card1" >"$driver/unbind"
took=$(((${EPOCHREALTIME/[.,]/} - before) / 1000))
echo "   ! $card1 is unbound, after $took ms: no call for it is running in the driver, and"
echo "     its queue is empty"
wait "$copy" || fail "a copy that was in the queue has failed"
status=0
wait "$load" || status=$?
load=
[ $status -eq 0 ] || fail "the load has failed (exit status $status)"

step "Afterwards the CPU serves objects of the backend edu"
route=$(client route -v sample::factorial --on edu)
printf '%s\n' "$route"
[[ $route == *'default backend kernel'* ]] ||
	fail "the rule \"default backend kernel\" does not select the route"
client counts

sent=$(add /sys/module/dk_client/parameters/sent)
on0=$(add "$driver/$card0"/served_*)
on1=$(($(add "$driver"/served_*) - on0))
on_cpu=$(add "$cpu"/served_*)
lost=$((sent - on0 - on1 - on_cpu))

step "Unload everything"
for module in dk_client dk_edu dk_cpu dispatchkey; do
	show rmmod "$module"
done
! grep -q '^dispatchkey ' /proc/modules || fail "dispatchkey is still loaded"

echo
result="$sent calls, $on0 on card 0, $on1 on card 1, $on_cpu on the CPU, $lost lost"
echo "${bold}demo: $result$plain"
[ "$lost" -eq 0 ]
