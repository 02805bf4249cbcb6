#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sends valid, nearly valid and invalid messages, as an unprivileged user and as root. Messages
# of the unprivileged user must change nothing. After those of root, the registry must be
# consistent, even if operators and devices change while the messages are sent. DK_MESSAGES= is the
# number of messages of each run (50000), DK_SEED= is the seed (1).

# shellcheck disable=SC2317 # functions are called by ok
here=$(dirname -- "$0")
# shellcheck source=common.sh
. "$here/common.sh"

count=${DK_MESSAGES:-50000} seed=${DK_SEED:-1}
crowd=/sys/module/dk_crowd/parameters

need_netlink dk_cpu dk_edu dk_crowd
need_cards
[ -x "$DK_FUZZ" ] || skip_all "no fuzz is built (make -C selftests TARGETS=netlink)"
plan 15
must_load dispatchkey dk_cpu dk_edu dk_crowd
diag "$count messages as each, seed $seed (DK_MESSAGES=, DK_SEED=)"

# The messages use these names, so that some of them are valid.
names=(CPU edu crowd PrivateUse1 sample::copy sample::factorial crowd::one crowd::op65535
	dk_cpu dk_edu crowd v1 devices private-backends 1 2 3 4 4097 4098 8193)
for path in /sys/bus/pci/drivers/dk_edu/????:*; do
	names+=("${path##*/}")
done
messages() { # OPTION... - prints the results
	"$DK_FUZZ" -n "$count" -s "$seed" "$@" "${names[@]}" >"$st_tmp/fuzz"
	local status=$?
	cat "$st_tmp/fuzz"
	return "$status"
}
# churn - registers and unregisters everything until it is killed; prints a line for each time
churn() { while echo 1 >$crowd/churn; do echo; done; }
changed() { # waits for the first line
	local tries
	for ((tries = 0; tries < 600; tries++)); do
		[ ! -s "$st_tmp/rounds" ] || return 0
		sleep 0.1
	done
	cat "$st_tmp/churn"
	return 1
}
# Some messages must succeed, or the others would prove nothing.
some_changes() { grep -q ', [1-9][0-9]* of them changes' "$st_tmp/fuzz"; }
bring_back() {
	python - <<-END
	import sys
	sys.path.insert(0, "$here")
	import genl
	family = genl.Family()
	family.do("stats-set", {"state": 0, "readers": 0})
	for what in ("backend", "device"):
	    for one in family.whole(what + "-get"):
	        family.do(what + "-set", {"number": one["number"], "state": 1})
	END
}

ok "the state before the messages is recorded" python "$here/snapshot.py" "$st_tmp/before"
ok "the kernel answers $count random messages of an unprivileged user" messages -u
cat "$st_tmp/fuzz"
ok "some messages of an unprivileged user are done" grep -q ': [1-9][0-9]* done' "$st_tmp/fuzz"
ok "messages of an unprivileged user change nothing" python "$here/snapshot.py" "$st_tmp/before"
ok "the kernel answers $count random messages of root" messages
cat "$st_tmp/fuzz"
ok "some messages of root are done and are changes" some_changes
ok "every published table is right after messages of root" eval "echo 1 >$crowd/check"
ok "all devices and backends can be brought online after messages of root" bring_back
ok "dk_crowd registers operators and devices" eval "echo 100 >$crowd/ops && echo 8 >$crowd/devices"
churn >"$st_tmp/rounds" 2>"$st_tmp/churn" &
churning=$!
ok "operators and devices are unregistered and registered again" changed
seed=$((seed + 1)) count=$((count / 5))
ok "the kernel answers $count random messages of root while operators and devices change" messages
cat "$st_tmp/fuzz"
ok "operators and devices change until the last message" kill $churning ||
	diag "$(cat "$st_tmp/churn")"
wait $churning 2>/dev/null
diag "they have changed $(wc -l <"$st_tmp/rounds") times"
ok "every published table is right after messages and changes" eval "echo 1 >$crowd/check"
ok "all devices and backends can be brought online after messages and changes" bring_back

finish
