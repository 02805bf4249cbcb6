#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests make's probes of compilers and libraries. make must probe once, probe again if something
# has changed or is missing, and not probe for targets that compile nothing. The compilers are
# scripts that count their calls. Prints TAP.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

[ -n "$st_top" ] || skip_all "the project is not around the tests"
need_command make

# A compiler that fails if the source contains a word of the file "missing", or if its options
# contain -fnosuch. Its programs fail if the file "missing" has the word "running".
bin=$st_tmp/bin calls=$st_tmp/calls missing=$st_tmp/missing
mkdir "$bin"
touch "$calls" "$missing"
cat >"$bin/compiler" <<END
#!/bin/sh
echo "\$0 \$*" >>$calls
case "\$*" in *-fnosuch*) exit 1 ;; esac
! cat | grep -qFf $missing || exit
while [ \$# -gt 1 ]; do
	[ "\$1" != -o ] || { printf '#!/bin/sh\n! grep running $missing\n' >"\$2" && chmod 755 "\$2"; }
	shift
done
END
chmod 755 "$bin/compiler"
for name in one two c++ python3; do
	cp "$bin/compiler" "$bin/$name"
done
ln -s one "$bin/cc"

out=$st_tmp/build
config=$out/config.mk
# run_make ARGUMENT... - runs make, with its output in $st_tmp/out
run_make() {
	: >"$calls"
	env -u CC -u CXX -u CFLAGS -u CXXFLAGS -u CPPFLAGS -u LDFLAGS -u V MAKEFLAGS='' \
		PATH="$bin:$PATH" make -C "$st_top" --no-print-directory O="$out" CXX=c++ "$@" \
		>"$st_tmp/out" 2>&1
}
# Makes the file "flags", on which every object depends, so that nothing is compiled.
flags() { run_make "$@" "$out/flags"; }
probes() { wc -l <"$calls"; }
probed() { [ "$(probes)" -gt 0 ] && cat "$calls"; }
found() { grep -x "$1 := 1" "$config"; }

echo "TAP version 13"
for target in help clean "-n modules"; do
	# shellcheck disable=SC2086 # an option and a target
	run_make $target
	is "make $target does not probe" "0 no folder" \
		"$(probes) $([ -e "$out" ] || echo "no folder")"
done

ok "make succeeds" flags
ok "make probes if config.mk does not exist" probed
for name in "C compiler" liburcu libnl-genl-3 "<sys/sdt.h>" "C++ compiler" python3; do
	ok "make prints that it found: $name" grep -E "^  $name +yes" "$st_tmp/out"
done
for name in nl sdt cxx python; do
	ok "config.mk has have_$name" found have_$name
done
ok "make succeeds a second time" flags
is "make does not probe a second time" 0 "$(probes)"
ok "make -n succeeds" run_make -n "$out/lib/init.o"
is "make -n does not probe" 0 "$(probes)"
ok "make config succeeds" run_make config
ok "make config probes" probed
ok "make config prints the results" grep "libnl-genl-3 *yes" "$st_tmp/out"
ok "make clean removes config.mk" run_make clean
is "make clean removes the folder of config.mk" "" "$(ls "$st_tmp/build" 2>/dev/null)"
ok "make -s succeeds" flags -s
ok "make -s probes if config.mk does not exist" probed
is "make -s prints nothing" "" "$(cat "$st_tmp/out")"

# a package that is installed later
echo netlink >"$missing"
ok "make config succeeds without libnl" run_make config
ok "make config prints that libdispatchkey-nl is left out" \
	grep "libnl-genl-3 *no: libdispatchkey-nl is left out (install" \
	"$st_tmp/out"
lacks "config.mk has no have_nl without libnl" '^have_nl := 1' "$config"
ok "make -s succeeds without libnl" flags -s
ok "make -s prints that libdispatchkey-nl is left out" \
	grep "libdispatchkey-nl is left out" "$st_tmp/out"
is "make -s prints nothing but that line" 1 "$(wc -l <"$st_tmp/out")"
: >"$missing"
ok "make succeeds after libnl was installed" flags
ok "make prints that libnl was found" grep "libnl-genl-3 *yes" "$st_tmp/out"
ok "config.mk has have_nl with libnl" found have_nl
flags
is "make with unchanged results neither probes nor prints" "0 " "$(probes) $(cat "$st_tmp/out")"
ok "make have_nl= succeeds" flags have_nl=
lacks "make have_nl= leaves libnl out" '^have_nl := 1' "$config"
ok "make without have_nl= succeeds" flags
ok "make without have_nl= finds libnl again" found have_nl

# other settings
for setting in CC=two CFLAGS=-O0 "CFLAGS=-DNAME='\"a b\"' -Dx=\\\$\$\$\$" CPPFLAGS=-I. LDFLAGS=-s \
	CXX=two CXXFLAGS=-O0; do
	ok "make $setting succeeds" flags "$setting"
	ok "make $setting probes" probed
	flags "$setting"
	is "make $setting does not probe a second time" 0 "$(probes)"
done
ok "make CC=two succeeds" flags CC=two
is "make CC=two probes with that compiler" "$bin/two" "$(sed -n '1s/ .*//p' "$calls")"
flags
ln -sf two "$bin/cc"
ok "make succeeds with another cc" flags
ok "make probes with another cc" probed

# make install, with what was built
ok "make CFLAGS=-O1 CC=two have_nl= succeeds" flags CFLAGS=-O1 CC=two have_nl=
for goals in install "install dkms_install"; do
	# shellcheck disable=SC2086 # goals are words
	run_make -n $goals
	like "make $goals takes CC and CFLAGS of the build" "*two -std=* -O1 *" "$(cat "$st_tmp/out")"
	lacks "make $goals leaves out what the build has left out" 'nl\.h' "$st_tmp/out"
	is "make $goals does not probe" 0 "$(probes)"
done
run_make -n install CFLAGS=-O3
like "make install CFLAGS=-O3 takes CC of the build, but not CFLAGS" "*two -std=* -O3 *" \
	"$(cat "$st_tmp/out")"
flags
run_make -n install CC=two
like "make install CC=two takes that compiler" "*two -std=*" "$(cat "$st_tmp/out")"
flags

# required headers
before=$(cat "$config")
for name in stdlib urcu; do
	echo $name >"$missing"
	refused "make CFLAGS=-O1 fails if <$name.h> is missing" flags CFLAGS=-O1
	ok "make prints what to install for <$name.h>" grep "no: .*(install" "$st_tmp/out"
	is "config.mk is unchanged if <$name.h> is missing" "$before" "$(cat "$config")"
	run_make clean
	refused "make in a new folder fails if <$name.h> is missing" flags
	is "make in a new folder writes no config.mk if <$name.h> is missing" \
		"" "$(ls "$out" 2>/dev/null)"
	: >"$missing"
	flags
done

# a wrong option
refused "make CFLAGS=-fnosuch fails" flags CFLAGS=-fnosuch
ok "make prints that the compiler works without CFLAGS" \
	grep 'C compiler *no: "cc" works, but not with these CFLAGS or CPPFLAGS' "$st_tmp/out"
lacks "make does not print what to install for a wrong option" '\(install' "$st_tmp/out"

# A cross compiler, with the C++ compiler of this machine.
echo 'extern "C"' >"$missing"
ok "make succeeds if C and C++ do not link" flags CC=one
ok "make prints that the C++ compiler does not link with CC" \
	grep 'C++ compiler *no: .*does not link with "one": set CXX=' "$st_tmp/out"
lacks "config.mk has no have_cxx if C and C++ do not link" '^have_cxx := 1' "$config"

# A cross compiler for C and C++
echo running >"$missing"
ok "make succeeds if programs do not run" flags
ok "make prints that manual pages are left out because programs do not run" \
	grep 'python3 *no: manual pages are left out (programs of "cc" do not run here' "$st_tmp/out"
lacks "config.mk has no have_python if programs do not run" '^have_python := 1' "$config"

# Commands that the pages need. The folder in PATH has links to all other commands.
: >"$missing"
flags
mkdir "$st_tmp/others"
find -H /usr/bin /bin -maxdepth 1 ! -type d ! -name 'python3*' ! -name 'perl*' \
	! -name sphinx-build -exec ln -sf -t "$st_tmp/others" {} +
printf '#!/bin/sh\n' >"$st_tmp/others/sphinx-build" && chmod 755 "$st_tmp/others/sphinx-build"
needs() { ! PATH=$st_tmp/others "$make" -C "$st_top" O="$out" -o "$out/dkctl" "$1" 2>&1; }
make=$(command -v make)
like "make man prints that python3 is missing" "*make man: python3 is missing: *" "$(needs man)"
like "make html prints that perl is missing" "*perl is missing: install perl*" "$(needs html)"

finish
