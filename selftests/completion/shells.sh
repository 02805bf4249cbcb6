# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # for the scripts that source this, after lib.sh
#
# Makes two folders with a dkctl: $st_tmp/bin has the dkctl of this build, and $st_tmp/live has a
# dkctl with the registry of registry.fake. If that registry cannot be used, $no_live is the reason.
# $st_tmp/empty is an empty folder.

dkctl=${DKCTL:-${DK_BUILD:-$st_top/build}/dkctl}
completions=${st_top:-$st_here}/tools/dkctl/completion
[ -x "$dkctl" ] || skip_all "no dkctl at $dkctl, type make or set DKCTL"
mkdir "$st_tmp/bin" "$st_tmp/live" "$st_tmp/empty"
ln -s "$(realpath -- "$dkctl")" "$st_tmp/bin/dkctl"

fake=${DK_BUILD:-$st_top/build}/selftests/completion/dkctl_fake
[ -x "$fake" ] || fake=$st_here/dkctl_fake
no_live=
if [ -x "$fake" ]; then
	printf '#!/bin/sh\nDKCTL_FAKE=%q exec %q "$@"\n' "$st_here/registry.fake" \
		"$(realpath -- "$fake")" >"$st_tmp/live/dkctl"
	chmod 755 "$st_tmp/live/dkctl"
else
	no_live="no dkctl_fake is built"
fi

need_completion() { # FILE
	[ -e "$completions/$1" ] || skip_all "the sources of dkctl are not beside the tests"
}

# completes_live - calls the script's completes() with the scripted registry
completes_live() {
	if [ -z "$no_live" ]; then
		completes "$st_tmp/live"
	else
		skip "completion of names in a kernel's registry" "$no_live"
	fi
}

# cases FOLDER COMMAND... - tests each line "TYPED => EXPECTED" of $st_tmp/cases: COMMAND, with
# FOLDER's dkctl, reads the TYPED texts and must print the EXPECTED ones. A "_" at the end of TYPED
# is removed; it marks a blank before it.
cases() {
	local path=$1:$PATH typed expected got
	shift
	sed 's/ => .*//; s/_$//' "$st_tmp/cases" >"$st_tmp/typed"
	(cd "$st_tmp/empty" && PATH=$path timeout 100 "$@") <"$st_tmp/typed" >"$st_tmp/got" \
		2>"$st_tmp/err"
	[ ! -s "$st_tmp/err" ] || diag "$(cat "$st_tmp/err")"
	while IFS= read -r typed && IFS= read -r got <&3; do
		expected=${typed##* => }
		is "completion of: ${typed%% => *}" "$expected" "$got"
	done <"$st_tmp/cases" 3< <(cat "$st_tmp/got" && yes 'no answer')
}
