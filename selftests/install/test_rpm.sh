#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the RPM packages in DK_RPMS, a folder that "make rpm" has filled, or builds them here:
# their files, their dependencies, and that the unpacked files work. The packages are not
# installed, because rpm on Debian does not know Debian's packages. Prints TAP.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

[ -n "$st_top" ] || skip_all "the project is not here"
need_command rpmbuild rpm rpm2cpio cpio make cc python3
version=$(cat "$st_top/VERSION")
packages=(dispatchkey dispatchkey-libs dispatchkey-devel dispatchkey-dkms python3-dispatchkey)
rpms=${DK_RPMS:-}

echo "TAP version 13"

# A PATH without rpmbuild, but with everything else.
mkdir "$st_tmp/bin"
ln -s /usr/bin/* /bin/* "$st_tmp/bin" 2>/dev/null
rm "$st_tmp/bin/rpmbuild"
said=$(PATH=$st_tmp/bin DK_INSTALL=no O=$st_tmp/none "$st_top/scripts/rpm" 2>&1)
is "make rpm without rpmbuild ends with 3" 3 $?
like "make rpm without rpmbuild names the missing package" \
	"*missing packages:*rpm *builds RPM packages*" "$said"
rm -r "${st_tmp:?}/bin"

if [ -z "$rpms" ]; then
	rpms=$st_tmp/rpm
	ok "make rpm succeeds" env MAKEFLAGS='' make -s -C "$st_top" O="$st_tmp" rpm || finish
fi

file_of() { find "$rpms/RPMS" -name "$1-$version-*.rpm"; }
query() { # PACKAGE OPTION...
	local file
	file=$(file_of "$1") && [ -n "$file" ] && rpm -qp "${@:2}" "$file" 2>/dev/null
}
# has PACKAGE PATTERN... - checks that each pattern matches a file of the package
has() {
	local list pattern name=$1
	list=$(query "$name" --list) || return
	shift
	for pattern; do
		grep -qE "^$pattern\$" <<<"$list" || { echo "no $pattern in $name" && return 1; }
	done
}
# Prints the files that are in more than one package, except the folders of build IDs.
twice() {
	local name
	for name in "${packages[@]}"; do
		query "$name" --list
	done | grep -v '/\.build-id\(/..\)\?$' | sort | uniq -d
}

for name in "${packages[@]}"; do
	is "$name has the version of VERSION" "$version" "$(query "$name" --queryformat '%{VERSION}')"
done
like "the newest entry of the changelog has the version of VERSION" "*- $version-1" \
	"$(query dispatchkey --changelog | head -n 1)"
ok "package dispatchkey has dkctl, its manual pages and its completions" \
	has dispatchkey /usr/bin/dkctl \
	'.*/man4/dispatchkey\.4.*' '.*/man7/dispatchkey-netlink\.7.*' '.*/man8/dkctl-key\.8.*' \
	'.*/bash-completion/completions/dkctl' '.*/zsh/site-functions/_dkctl' \
	'.*/fish/vendor_completions.d/dkctl\.fish' '.*/GPL-2\.0' '.*/BSD-3-Clause'
ok "package dispatchkey-libs has both libraries" has dispatchkey-libs '.*/libdispatchkey\.so\.0' \
	".*/libdispatchkey\\.so\\.$version" '.*/libdispatchkey-nl\.so\.0'
ok "package dispatchkey-devel has headers and static libraries" has dispatchkey-devel \
	'/usr/include/dispatchkey/dispatchkey\.hpp' '.*/linux/dispatchkey\.h' \
	'.*/libdispatchkey\.so' '.*/libdispatchkey\.a' '.*/pkgconfig/dispatchkey-nl\.pc' \
	'.*/cmake/dispatchkey/dispatchkeyConfig\.cmake' 	'.*/man3/dk_op_define\.3.*' '.*/samples/outside/Makefile'
ok "package dispatchkey-dkms has the module's sources" \
	has dispatchkey-dkms "/usr/src/dispatchkey-$version/dkms\\.conf" \
	"/usr/src/dispatchkey-$version/kmod/exports\\.c" '/usr/src/dispatchkey/include/dispatchkey\.h'
ok "package python3-dispatchkey has the modules and their metadata" has python3-dispatchkey \
	'.*/dispatchkey/_abi\.py' '.*/dispatchkey/torch/__main__\.py' \
	".*/dispatchkey-$version\\.dist-info/METADATA"
is "no file is in more than one package" "" "$(twice)"
for name in dispatchkey-devel python3-dispatchkey; do
	like "package $name requires the libraries" "*dispatchkey-libs*= $version*" \
		"$(query $name --requires)"
done
is "package dispatchkey does not require the libraries" \
	"" "$(query dispatchkey --requires | grep libdispatchkey)"
like "installing package dispatchkey-dkms builds the module" \
	"*dkms install -m dispatchkey -v $version*" \
	"$(query dispatchkey-dkms --scripts)"

root=$st_tmp/root
mkdir "$root"
unpack() { (cd "$root" && rpm2cpio "$(file_of "$1")" | cpio -idm --quiet); }
for name in dispatchkey dispatchkey-libs dispatchkey-devel python3-dispatchkey; do
	ok "$name unpacks" unpack $name
done
like "the unpacked dkctl runs" "dkctl $version *" "$("$root/usr/bin/dkctl" --version)"
lib=$(dirname "$(find "$root/usr" -name libdispatchkey.so)")
ok "a program builds with the unpacked headers" \
	cc -I"$root/usr/include/dispatchkey" "$st_top/samples/hello.c" \
	-o "$st_tmp/hello" -L"$lib" -ldispatchkey
is "a program runs with the unpacked libraries" \
	"21 42 63" "$(LD_LIBRARY_PATH=$lib "$st_tmp/hello" | tail -n 1)"
is "the unpacked Python package runs with the unpacked libraries" "21 42 63" \
	"$(PYTHONPATH=$(dirname "$(find "$root/usr" -path '*/dispatchkey-*.dist-info')") \
		LD_LIBRARY_PATH=$lib python3 -B "$st_top/samples/hello.py" | tail -n 1)"

finish
