#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests scripts/mutants in a small project, whose only source is also its test program. Prints
# TAP.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

[ -n "$st_top" ] || skip_all "scripts/mutants is not beside the tests"
need_command python3 make

project=$st_tmp/project
mkdir -p "$project"/{include,lib,samples,scripts,tools,uapi,selftests/{api,dkctl,mutants}}
touch "$project/VERSION"
cp "$st_top/scripts/mutants" "$project/scripts/"

# In this program, a test that would wait forever ends after 60 seconds.
cat >"$project/lib/program" <<'END'
#!/bin/bash
over() { [ $SECONDS -ge 60 ]; }
wait_for() {
	case $1 in
	nothing) ;;
	polling) until over; do sleep 0.01; done ;;
	loop) until over; do :; done ;;
	printing) until over; do echo "# waiting"; sleep 0.01; done ;;
	a_slow_machine) touch "$DK_TOP/slow" ;;
	one_pause)
		[ ! -e "$DK_TOP/paused" ] || return
		touch "$DK_TOP/paused"
		wait_for polling
		;;
	esac
	over || [ ! -e "$DK_TOP/slow" ] || wait_for polling
}
nothing_else=1
for suite; do
	echo "ok 1 - $suite.first"
	wait_for nothing
	echo "ok 2 - $suite.second"
done
END
printf '\tuser(%s)\n' one two >"$project/selftests/api/suites.h"
printf '%s\n' '#!/bin/sh' 'echo "ok 1 - transcript"' >"$project/selftests/dkctl/test_vectors.sh"
chmod +x "$project/lib/program" "$project/selftests/dkctl/test_vectors.sh"
cat >"$project/Makefile" <<'END'
$(O)/%: ; @mkdir -p $(@D) && touch $@
END
cat >"$project/selftests/Makefile" <<'END'
all: ; @mkdir -p $(OUTPUT)/api && cp ../lib/program $(OUTPUT)/api/api_test
END

# mutant LINE MUTATED - prints a block of a list
mutant() { printf 'mutant lib/program: %s\n-%s\n+%s' "$2" "$1" "$2"; }

# mutants MUTANT... - runs scripts/mutants, for which a second lasts only a tenth of a second
mutants() {
	printf '%s\n\n' "$@" >"$project/selftests/mutants/some.list"
	rm -rf -- "$project/build"
	JOBS=4 O=$project/build KSELFTEST_DIR=$project python3 -B - \
		"$project/scripts/mutants" >"$st_tmp/out" 2>&1 <<-'END'
		import importlib.machinery
		import importlib.util
		import sys
		loader = importlib.machinery.SourceFileLoader("mutants", sys.argv.pop(1))
		spec = importlib.util.spec_from_loader("mutants", loader)
		mutants = sys.modules["mutants"] = importlib.util.module_from_spec(spec)
		loader.exec_module(mutants)
		mutants.SECOND = 0.1
		sys.exit(mutants.main())
	END
}

# ended STATUS MUTANT... - checks the exit status of scripts/mutants with these mutants
ended() {
	local status=0
	mutants "${@:2}" || status=$?
	[ "$status" -eq "$1" ] && return
	cat "$st_tmp/out"
	return 1
}

# how WORD MUTANT [REASON] - checks the result of the mutant
how() {
	grep -A1 "$1  lib/program: $2  (" "$st_tmp/out" | grep -q "^    | ${3:-}" && return
	cat "$st_tmp/out"
	return 1
}

# counts KILLED SURVIVORS UNDECIDED - checks the counts in the last line
counts() {
	[ "$(tail -n 1 "$st_tmp/out")" = "$1 passed, $2 failed, $3 skipped" ] && return
	cat "$st_tmp/out"
	return 1
}

late='api: one.second: no result after [0-9]* s, [0-9.]* s without the mutant'
killed=("$(mutant "wait_for nothing" "wait_for polling")"
	"$(mutant "wait_for nothing" "wait_for loop")"
	"$(mutant "wait_for nothing" "wait_for printing")"
	"$(mutant "wait_for nothing" "echo not ok 2 - first.second")")
plan 21
ok "scripts/mutants succeeds if all mutants are killed" ended 0 "${killed[@]}"
ok "a mutant with a test that polls forever is killed" how killed "wait_for polling" "$late"
ok "a mutant with a test that loops forever is killed" how killed "wait_for loop" "$late"
ok "a mutant with a test that prints forever is killed" how killed "wait_for printing" "$late"
ok "a mutant with a test that fails is killed" \
	how killed "echo not ok 2 - first.second" "api: first.second"
ok "four killed mutants are counted" counts 4 0 0
ok "scripts/mutants fails if a mutant survives" \
	ended 1 "$(mutant "nothing_else=1" "nothing_else=2")"
ok "a mutant that no test detects is reported as a survivor" \
	how FAILED "nothing_else=2" "no test fails"
ok "a survivor is counted as failed" counts 0 1 0
ok "scripts/mutants succeeds on a slow machine" ended 0 \
	"$(mutant "wait_for nothing" "wait_for a_slow_machine")"
ok "on a slow machine, a mutant with a late test is undecided" \
	how undecided "wait_for a_slow_machine" \
	"api: one.second: no result .*; without the mutant: api: one.second: no result"
ok "an undecided mutant is counted as skipped" counts 0 0 1
ok "an undecided mutant is named" \
	grep -q '^    | skipped: undecided: .*wait_for a_slow_machine' "$st_tmp/out"

ok "scripts/mutants succeeds if a test is late once" ended 0 \
	"$(mutant "wait_for nothing" "wait_for one_pause")"
ok "a mutant with a test that is late once is undecided" how undecided "wait_for one_pause" \
	"api: one.second: no result .*; again with the mutant: not late"

more=("$(mutant "nothing_else=1" "echo ok 0 - zero.more")"
	"$(mutant "nothing_else=1" "echo ok 0 - zero.more; trap 'wait_for polling' EXIT")")
ok "scripts/mutants succeeds if all mutants add a test" ended 0 "${more[@]}"
ok "a mutant that adds a test is killed" \
	how killed "echo ok 0 - zero.more" "api: .*: one test more than 4"
ok "a mutant that adds a test and does not end is killed" \
	how killed "echo ok 0 - zero.more; .*" "api: .*: one test more than 4"
ok "two mutants that add a test are counted as killed" counts 2 0 0

survivor=$(mutant "nothing_else=1" "nothing_else=2")
fails=$(mutant "wait_for nothing" "echo not ok 2 - first.second")
ok "scripts/mutants fails if one mutant survives and another is killed" ended 1 "$survivor" "$fails"
ok "a killed mutant and a survivor are counted" counts 1 1 0
finish
