#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests calls with two edu accelerators and the CPU. Each call must go to the device of its objects,
# even while a card is unbound under load and while the driver is unloaded.
#
# shellcheck disable=SC2317 # no_registers is called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

driver=/sys/bus/pci/drivers/dk_edu
cpu=/sys/module/dk_cpu/parameters
rule="default backend kernel"

need_root
need_command insmod rmmod dmesg awk
need_module dispatchkey dk_cpu dk_edu dk_client
found=0
for path in /sys/bus/pci/devices/*; do
	[ "$(cat "$path/vendor" "$path/device" 2>/dev/null | tr '\n' ' ')" = "0x1234 0x11e8 " ] &&
		found=$((found + 1))
done
[ $found -ge 2 ] || skip_all "$found edu accelerators here, two are needed (QEMU: -device edu, twice)"
client=$(program samples/dk_client) || skip_all "no dk_client is built (make)"
plan 78
must_load dispatchkey dk_cpu dk_edu dk_client

cards=()
for path in "$driver"/????:*; do
	[ -e "$path" ] && cards+=("${path##*/}")
done
[ ${#cards[@]} -ge 2 ] || skip_all "dk_edu has ${#cards[@]} cards, two are needed"
card0=${cards[0]} card1=${cards[1]}

# count DEVICE COUNTER - prints a counter of a card
count() { cat "$driver/$1/$2"; }
add() { # FILE... - prints the sum of the numbers in these files
	cat "$@" | awk '{ sum += $1 } END { print sum + 0 }'
}
# Prints the number of interrupts of a card, on all CPUs.
interrupts() {
	awk -v name="dk_edu:$1" 'index($0, name) {
		for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++)
			sum += $i
	} END { print sum + 0 }' /proc/interrupts
}

# served WHAT BY COMMAND... - the client's result must be right, and BY must have served the call
served() {
	local what=$1 by=$2 out
	shift 2
	if out=$("$client" "$@" 2>&1); then
		like "$what" "*served by $by*" "$out"
	else
		fail "$what" "dk_client $*: $out"
	fi
}

# ---- factorials -------------------------------------------------------------------

for n in 0 1 12 13 33 34 4294967295; do
	served "$n! on the CPU" "cpu_factorial of dk_cpu" factorial --on cpu $n
done
for card in "$card0" "$card1"; do
	before=$(count "$card" served_factorial)
	irqs=$(interrupts "$card")
	for n in 0 1 12 13 33 34; do
		served "$n! on $card" "edu_factorial of dk_edu on $card" factorial --on "$card" $n
	done
	is "$card counts its factorials" $((before + 6)) "$(count "$card" served_factorial)"
	ok "$card raises an interrupt for each factorial" \
		test "$(interrupts "$card")" -ge $((irqs + 6))
done
served "a factorial of an object on the backend, but on no card" \
	"cpu_factorial of dk_cpu" factorial --on edu 12
like "the rule for such an object is: $rule" "*rule *$rule*" \
	"$("$client" route -v sample::factorial --on edu)"

# ---- copies -----------------------------------------------------------------------

# The client compares every byte. One transfer has at most 4095 bytes.
for n in 0 1 4095 4096 9000; do
	served "$n bytes to $card0" "edu_copy of dk_edu on $card0" copy --to "$card0" $n
done
served "9000 bytes on the CPU" "cpu_copy of dk_cpu" copy 9000
dma=$(count "$card1" dma_bytes)
served "5000 bytes from $card1 to the CPU" "edu_copy of dk_edu on $card1" copy --from "$card1" 5000
served "5000 bytes on $card1" "edu_copy of dk_edu on $card1" copy --to "$card1" --from "$card1" 5000
ok "$card1 copies by DMA" test "$(count "$card1" dma_bytes)" -ge $((dma + 10000))

# Queued copies: the call returns, and the interrupt completes it.
served "3 copies in the queue of $card0" "edu_queue_copy of dk_edu on $card0" \
	copy --to "$card0" --queue 3 5000
served "16 copies in a queue on the CPU" "cpu_queue_copy of dk_cpu" copy --queue 16 100
served "5 empty copies in the queue of $card0" "edu_queue_copy of dk_edu on $card0" \
	copy --to "$card0" --queue 5 0

# Arguments on several devices: the first one on the highest backend decides.
served "a copy from $card0 to $card1" "edu_copy of dk_edu on $card1" \
	copy --to "$card1" --from "$card0" 5000
served "a copy from $card1 to $card0" "edu_copy of dk_edu on $card0" \
	copy --to "$card0" --from "$card1" 5000
served "a copy from a card to an object on the backend, but on no card" "cpu_copy of dk_cpu" \
	copy --to edu --from "$card0" 5000
served "a copy from the CPU to a backend without functions" "cpu_copy of dk_cpu" \
	copy --to CUDA --from cpu 5000
like "a call for a card and the CPU is routed to the card" "*edu_copy of dk_edu on $card0*" \
	"$("$client" route sample::copy --on "$card0" --on cpu)"
like "a call for the CPU and a card is routed to the card" "*edu_copy of dk_edu on $card0*" \
	"$("$client" route sample::copy --on cpu --on "$card0")"

# ---- a card is unbound under load ---------------------------------------------------

"$client" load --on "$card0" --on "$card1" --threads 4 --seconds 7 >"$st_tmp/load" 2>&1 &
load=$!
sleep 2
before=$(count "$card1" served_factorial)
ok "$card1 serves calls" test "$before" -gt 8
ok "peer bug 14: a card can be unbound while calls go to it" eval "echo $card1 >$driver/unbind"
wait $load
is "peer bug 14: no call of that load has failed or was lost" 0 $?
sed 's/^/#   /' "$st_tmp/load"
like "the client reports no failed, wrong or lost call" \
	'*, 0 failed, 0 wrong, 0 lost*' "$(tail -n 1 "$st_tmp/load")"
sum=$(tail -n 1 "$st_tmp/load")
ok "after $card1 is unbound, the CPU serves its objects" \
	grep -q "are now served by cpu_factorial of dk_cpu, $rule" "$st_tmp/load"
like "$card0 serves calls during the load" "* sent, [1-9]* on $card0,*" "$sum"

sent=$(add /sys/module/dk_client/parameters/sent*)
is "as many calls are served as were sent" "$sent" "$(add $driver/served_* $cpu/served_*)"
like "after the load, the CPU serves objects on the backend" "*$rule*" \
	"$("$client" route -v sample::factorial --on edu)"
refused "a call for an unbound card fails" "$client" factorial --on "$card1" 5
like "its message names the card" "*unknown device or backend '$card1'*" "$(cat "$st_log")"
served "a factorial on $card0 after the other card was unbound" \
	"edu_factorial of dk_edu on $card0" factorial --on "$card0" 5

ok "$card1 can be bound again" eval "echo $card1 >$driver/bind"
served "a factorial on $card1 after it was bound again" \
	"edu_factorial of dk_edu on $card1" factorial --on "$card1" 12
served "a copy between the cards after $card1 was bound again" \
	"edu_copy of dk_edu on $card1" copy --to "$card1" --from "$card0" 5000

# ---- a card is unbound with copies in its queue --------------------------------------

# Each copy takes 200 ms on the card.
before=$(add $driver/served_copy)
"$client" copy --to "$card1" --queue 10 >"$st_tmp/queue" 2>&1 &
queue=$!
sleep 0.5
begin=${EPOCHREALTIME/[.,]/}
ok "$card1 can be unbound with copies in its queue" eval "echo $card1 >$driver/unbind"
took=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
is "all queued copies are made" $((before + 10)) "$(add $driver/served_copy)"
wait $queue
is "no queued copy fails" 0 $?
like "$card1 serves the queued copies" "*10 copies of *edu_queue_copy of dk_edu on $card1*" \
	"$(cat "$st_tmp/queue")"
ok "unbinding waits for the queued copies" test $took -ge 800
diag "$(cat "$st_tmp/queue"); unbound after $took ms"
ok "$card1 can be bound once more" eval "echo $card1 >$driver/bind"
sent=$(add /sys/module/dk_client/parameters/sent*)
is "as many calls are served as were sent, including queued copies" \
	"$sent" "$(add $driver/served_* $cpu/served_*)"

# ---- the driver is unloaded with a call inside ---------------------------------------

# 40 000 bytes take two seconds of DMA.
begin=${EPOCHREALTIME/[.,]/}
"$client" copy --to "$card0" 40000 >"$st_tmp/copy" 2>&1 &
copy=$!
sleep 0.5
ok "dk_edu unloads with a call inside" unload dk_edu
took=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
wait $copy
is "the call inside dk_edu succeeds" 0 $?
like "the card serves the call inside dk_edu" "*40000 bytes*served by *" "$(cat "$st_tmp/copy")"
ok "unloading waits for the call inside" test $took -ge 1500
diag "$(cat "$st_tmp/copy"); unloaded $took ms after the call began"
like "without dk_edu, the CPU serves objects on the backend" \
	"*$rule*" "$("$client" route -v sample::factorial --on edu)"

ok "dk_edu can be loaded again" load dk_edu
served "a factorial on $card0 after dk_edu was loaded again" \
	"edu_factorial of dk_edu on $card0" factorial --on "$card0" 12

# ---- a card that must not read memory -------------------------------------------------

# The register of commands is at offset 4 of the configuration space; bit 2 allows DMA.
set_master() { # DEVICE 0|1
	local config=/sys/bus/pci/devices/$1/config byte
	byte=$(od -An -tu1 -j4 -N1 "$config")
	printf '%b' "\\x$(printf %x $((byte & ~4 | $2 << 2)))" |
		dd of="$config" bs=1 seek=4 conv=notrunc status=none
}
ok "DMA of $card0 can be disabled" set_master "$card0" 0
# Such a transfer ends without an error or an interrupt.
refused "a copy without DMA fails" "$client" copy --to "$card0" 100
like "its error is EIO" "*nput/output error*" "$(cat "$st_log")"
ok "DMA of $card0 can be enabled again" set_master "$card0" 1
served "100 bytes to $card0 after that" "edu_copy of dk_edu on $card0" copy --to "$card0" 100

# ---- another device ------------------------------------------------------------------

# io_device - prints the first PCI device without a driver whose BAR 0 consists of ports
io_device() {
	local device flags
	for device in /sys/bus/pci/devices/*; do
		read -r _ _ flags <"$device/resource"
		[ -e "$device/driver" ] || ! ((flags & 0x100)) || { echo "$device" && return; }
	done
}
no_registers() {
	[ ! -e "$other/driver" ] &&
		klog 'BAR 0 does not contain the registers|cannot enable the device'
}
what="the driver refuses a device whose registers are not in memory"
other=$(io_device)
if [ -n "$other" ]; then
	id="$(cat "$other/vendor") $(cat "$other/device")"
	echo "$id" >$driver/new_id
	ok "$what" no_registers
	echo "$id" >$driver/remove_id
else
	skip "$what" "no such device"
fi

finish
