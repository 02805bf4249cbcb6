#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Suspends and resumes an edu accelerator while calls go to it. No call may fail or be lost, and a
# card that an administrator has taken offline must stay offline.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

driver=/sys/bus/pci/drivers/dk_edu
cards=/sys/module/dk_sleeper/parameters/cards

need_root
need_command insmod rmmod dmesg
need_module dispatchkey dk_cpu dk_edu dk_client dk_sleeper
client=$(program samples/dk_client) || skip_all "no dk_client is built (make)"
dkctl=$(program dkctl) || skip_all "no dkctl is built (make)"
plan 22
must_load dispatchkey dk_cpu dk_edu dk_client dk_sleeper
card=
for path in "$driver"/????:*; do
	[ ! -e "$path" ] || card=${path##*/}
done
[ -n "$card" ] || skip_all "no edu accelerator here (QEMU: -device edu)"

served() { # WHAT BY - BY must serve a call for the card
	like "$1" "*5! = 120, served by $2*" "$("$client" factorial --on "$card" 5 2>&1)"
}
is_state() { # WHAT STATE
	like "$1" "*$card * $2*" "$("$dkctl" device show "$card" 2>&1)"
}
by_card="edu_factorial of dk_edu on $card"
by_cpu="cpu_factorial of dk_cpu"

served "before the system sleeps, the card serves its calls" "$by_card"
ok "a card that nobody calls can be suspended" eval "echo suspend >$cards"
is_state "while the system sleeps, the card is offline" offline
served "while the system sleeps, the CPU serves calls for the card" "$by_cpu"
ok "the card can be resumed" eval "echo resume >$cards"
is_state "after the system has woken up, the card is online" online
served "after the system has woken up, the card serves its calls" "$by_card"

"$client" load --on "$card" --threads 4 --seconds 2 >"$st_tmp/load" 2>&1 &
load=$!
sleep 0.5
ok "the card can be suspended while calls go to it" eval "echo suspend >$cards"
like "while the card is suspended, the calls of the load are routed to the CPU" "*$by_cpu*" \
	"$("$client" route sample::factorial --on "$card" 2>&1)"
sleep 0.5
ok "the card can be resumed while calls are made" eval "echo resume >$cards"
wait $load
is "no call of the load has failed or was lost" 0 $?
like "the client reports no failed, wrong or lost call" \
	'*, 0 failed, 0 wrong, 0 lost*' "$(tail -n 1 "$st_tmp/load")"
sed 's/^/#   /' "$st_tmp/load"

ok "an administrator takes the card offline" "$dkctl" device set "$card" offline
ok "a card that is offline can be suspended" eval "echo suspend >$cards"
ok "a card that is offline can be resumed" eval "echo resume >$cards"
is_state "the card is still offline" offline
ok "the administrator switches the card on" "$dkctl" device set "$card" online
served "the card serves its calls again" "$by_card"

# 30 000 bytes take 1.5 seconds of DMA, longer than dk_edu waits.
"$client" copy --to "$card" 30000 >"$st_tmp/copy" 2>&1 &
copy=$!
sleep 0.3
refused "a card is not suspended while a call takes longer than the driver waits" \
	eval "echo suspend >$cards"
wait $copy
is "that call succeeds" 0 $?
is_state "the card is online after the failed suspend" online
finish
