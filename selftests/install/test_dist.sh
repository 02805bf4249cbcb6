#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the tarball of "make dist" as a distribution builds it: unpacked outside of git, in
# a home without a cache, and without a network, it must build and pass its tests. "make
# dist" must refuse a version that NEWS does not have, and a checkout that git refuses. Prints TAP.
# CC= is the compiler.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

[ -n "$st_top" ] || skip_all "the project is not here"
need_command make tar gzip "${CC:-cc}"

version=$(cat "$st_top/VERSION")
name=dispatchkey-$version
mkdir "$st_tmp"/{home,first,second,again,unpacked}
# alone COMMAND... - runs COMMAND without the project's git repository and cache and, if unshare
# works here, without a network
alone=(env -i PATH="$PATH" HOME="$st_tmp/home" TMPDIR="$st_tmp" CC="${CC:-cc}"
	GIT_CEILING_DIRECTORIES="$st_tmp")
network="with a network, as unshare fails here"
if unshare -rn true 2>/dev/null; then
	alone=(unshare -rn "${alone[@]}")
	network="without a network"
fi
alone() { "${alone[@]}" "$@"; }
pack() { env MAKEFLAGS='' O="$1" "$2/scripts/dist"; } # FOLDER TREE
files() { tar -tf "$1" | grep -v '/$' | sort; }
counts() { grep -xE '[0-9]+ passed, 0 failed, [0-9]+ skipped' "$1"; }
# passes COMMAND... - checks that the command succeeds, and that its output has a line with at
# least one passed and no failed test
passes() {
	local status=0
	alone "$@" >"$st_tmp/said" 2>&1 || status=$?
	tail -n 40 "$st_tmp/said"
	[ "$status" -eq 0 ] && counts "$st_tmp/said" && ! grep -x '0 passed.*' "$st_tmp/said"
}

echo "TAP version 13"
ok "make dist succeeds" pack "$st_tmp/first" "$st_top"
ok "make dist succeeds a second time" pack "$st_tmp/second" "$st_top"
ok "both tarballs are the same" cmp "$st_tmp"/{first,second}/"$name.tar.gz"

# git refuses the repository in this folder
mkdir -p "$st_tmp/refused/.git"
cp -r "$st_top"/{NEWS,VERSION,scripts} "$st_tmp/refused"
refused "make dist fails if git does not work in a checkout" pack "$st_tmp/third" "$st_tmp/refused"
like "make dist says that git does not work" "*git does not work in $st_tmp/refused*" "$(cat "$st_log")"

tree=$st_tmp/unpacked/$name
ok "the tarball unpacks" tar -C "$st_tmp/unpacked" -xf "$st_tmp/first/$name.tar.gz"
ok "CDPATH has no effect" env -C "$tree" CDPATH=. O=cdpath MAKEFLAGS='' scripts/dist
rm -rf "$tree/cdpath"
# Sources without write permission: modules are built in a folder of links to them.
farm() {
	chmod -R a-w "$tree"
	# shellcheck disable=SC2016 # the inner shell expands it
	(cd "$tree" && bash -c 'me=farm top=$PWD build=$0; . scripts/steps.sh; farm 6.1' "$st_tmp/farm")
	chmod -R u+w "$tree"
}
ok "links can be made to sources without write permission" farm
find "$st_tmp/farm/modules/6.1" -type d >"$st_tmp/folders"
ok "the folder of these links has folders" grep -q "/kmod$" "$st_tmp/folders"
is "modules can be built in the folder of these links" "" \
	"$(find "$st_tmp/farm/modules/6.1" -type d ! -perm -u+w)"
# homeless COMMAND... - runs a command without HOME
homeless() { env -u HOME -u XDG_CACHE_HOME "$@"; }
for words in fetch-kernel "fetch-cpu arm64"; do
	# shellcheck disable=SC2086 # several words
	like "without HOME, ${words%% *} says what to set" \
		"${words%% *}: HOME is not set: set it, or set XDG_CACHE_HOME *" \
		"$(homeless "$tree"/scripts/$words 2>&1)"
done
# shellcheck disable=SC2016 # the inner shell expands it
is "without HOME, a script of tests works" "1 passed, 0 failed, 0 skipped" \
	"$(cd "$tree" && homeless KSELFTEST_DIR=none O="$st_tmp/homeless" \
		bash -uc 'me=homeless; . scripts/steps.sh; setup; step name true; finish' 2>&1 |
		grep -vE '^homeless: (name .* ok |[0-9]+ seconds)')"
ok "the unpacked tree builds, $network" alone make -s -C "$tree" -j"$(nproc)" all
ok "scripts/check --user passes in the unpacked tree, $network" \
	passes "$tree/scripts/check" --user unit nl dkctl
diag "$(tail -n 1 "$st_tmp/said")"
ok "scripts/lint --text passes in the unpacked tree, $network" passes "$tree/scripts/lint" --text
ok "make abi-check succeeds in the unpacked tree" alone make -s -C "$tree" abi-check
ok "make dist succeeds in the unpacked folder" pack "$st_tmp/again" "$tree"
files "$st_tmp/first/$name.tar.gz" >"$st_tmp/files"
ok "the tarball has a README" grep -x "$name/README.md" "$st_tmp/files"
is "the tarball of the unpacked folder has the same files" "$(cat "$st_tmp/files")" \
	"$(files "$st_tmp/again/$name.tar.gz")"

echo 9.9.9 >"$tree/VERSION"
refused "make dist refuses a version that NEWS does not have" pack "$st_tmp/second" "$tree"
like "make dist names both versions" "*NEWS is for $version, but VERSION says 9.9.9*" "$(cat "$st_log")"
like "scripts/lint --text names other files with another version" \
	"*debian/changelog: *for $version, but VERSION says 9.9.9*" \
	"$(alone "$tree/scripts/lint" --text)"
finish
