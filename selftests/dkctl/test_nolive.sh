#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests that without libnl everything but the client library is built and installed, and that
# dkctl's subcommands for a running kernel print how to enable them. CC= is the compiler.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

top=${st_top:-$st_here/../..}
[ -e "$top/tools/dkctl/main.c" ] || skip_all "the sources of dkctl are not beside the tests"
need_command make
cc=${CC:-cc}
printf '#include <urcu-bp.h>\nint main(void) { urcu_bp_register_thread(); return 0; }\n' >"$st_tmp/runs.c"
# shellcheck disable=SC2086
{ $cc -o "$st_tmp/runs" "$st_tmp/runs.c" -lurcu-bp && "$st_tmp/runs"; } >"$st_log" 2>&1 ||
	skip_all "programs with liburcu, compiled by $cc, do not run here"

run_make() { # TARGET...
	MAKEFLAGS='' make -s -C "$top" O="$st_tmp/build" have_nl= CFLAGS=-O0 \
		PREFIX=/usr DESTDIR="$st_tmp/root" "$@" >"$st_tmp/made" 2>&1 || {
		cat "$st_tmp/made"
		return 1
	}
}
dkctl=$st_tmp/root/usr/bin/dkctl
no_client() { [ -z "$(find "$st_tmp/root" -name '*dispatchkey-nl*' ! -path '*/man/*')" ]; }

# says WHAT STATUS PATTERN WORDS...
says() {
	local what=$1 status=$2 pattern=$3 out got=0
	shift 3
	out=$("$dkctl" "$@" 2>&1) || got=$?
	like "$what" "$pattern" "$out"
	is "$what, by its status" "$status" $got
}

echo "TAP version 13"
ok "make builds without libnl" run_make
like "make prints that libdispatchkey-nl is left out" \
	"*libdispatchkey-nl is left out*" "$(cat "$st_tmp/made")"
ok "make install succeeds without libdispatchkey-nl" run_make install lib dkctl
ok "make install installs no file of the client library" no_client
says "dkctl key works without libnl" 0 "CPU (layout v1)*" key CPU
says "dkctl backend fails without libnl" 4 "dkctl: this dkctl was built without libnl*" backend
says "dkctl stats with options fails without libnl" 4 \
	"dkctl: this dkctl was built without libnl*" stats --used -s
says "dkctl -j op fails without libnl" 4 \
	'{"schema":1,"error":{"message":"this dkctl was built without libnl*' -j op
says "dkctl help says that dkctl was built without libnl" 0 \
	"*on a running kernel (not with this dkctl, which was built without libnl):*" help
says "dkctl version says that dkctl was built without libnl" 0 "dkctl *
this dkctl was built without libnl and cannot query the module" version
says "dkctl -j version has no version of the module" 0 \
	'{"schema":1,"version":*,"library":null,"module":null,"module_error":"*without libnl*",*}' -j version

finish
