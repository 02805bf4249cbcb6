#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the wheel of make wheel: pip installs it in a new environment without a network and
# without this tree, the sample runs with the library of the wheel, and pip removes it. Also
# tests make venv and pip install ./python. Prints TAP. Environment: O, the output folder
# (build); PYTHON, an interpreter with venv.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

[ -n "$st_top" ] || skip_all "the project is not here"
export PYTHON=${PYTHON:-/usr/bin/python3}
"$PYTHON" -c 'import ensurepip, setuptools, wheel' 2>/dev/null ||
	skip_all "no venv, setuptools or wheel for $PYTHON"
export O=${O:-$st_top/build}
unset PYTHONPATH DISPATCHKEY_LIBRARY LD_LIBRARY_PATH
plan 20

env=$st_tmp/env
# in_env COMMAND... - runs a command in the environment, outside this tree
in_env() { (cd "$st_tmp" && env -i PATH="$env/bin:$PATH" "$@"); }
pip() { in_env pip --no-cache-dir --disable-pip-version-check -q "$@"; }
loaded() {
	in_env python3 -c "
import dispatchkey
print(*{l.split()[5] for l in open('/proc/self/maps') if '.so' in l and ('dispatchkey' in l or 'urcu' in l)})"
}
inside_only() {
	local file files
	files=$(loaded) && [[ $files == *libdispatchkey* ]] || return
	for file in $files; do
		case $file in "$env"/*) ;; *) echo "loads $file" && return 1 ;; esac
	done
}
hello() { in_env python3 "$st_top/samples/hello.py"; }
typed() { test -e "$env"/lib/python3*/site-packages/dispatchkey/py.typed; }

MAKEFLAGS='' make -s -C "$st_top" wheel >"$st_tmp/wheel" 2>&1 || cat "$st_tmp/wheel"
wheel=$(tail -n 1 "$st_tmp/wheel")
like "make wheel prints its path" "$O/wheel/dispatchkey-$(cat "$st_top/VERSION")-py3-none-linux_*.whl" \
	"$wheel"
# Newer versions of setuptools put the licences into a folder.
licences() {
	local name
	for name in GPL-2.0 BSD-3-Clause liburcu; do
		"$PYTHON" -m zipfile -l "$wheel" | grep -q "dist-info/.*$name " || return
	done
}
ok "the wheel has the licences of both libraries" licences
"$PYTHON" -m zipfile -e "$wheel" "$st_tmp/opened"
like "the wheel is for one platform" "*Root-Is-Purelib: false*Tag: py3-none-linux_*" \
	"$(cat "$st_tmp"/opened/*.dist-info/WHEEL)"
ok "venv makes a new environment" "$PYTHON" -m venv "$env"
ok "pip installs the wheel without a network" pip install --no-index "$wheel"
is "the sample runs with the installed wheel" "21 42 63" "$(hello | tail -n 1)"
ok "the sample uses the libraries of the wheel" inside_only
ok "the installed package has py.typed" typed
is "pip reports the version of VERSION" "$(cat "$st_top/VERSION")" \
	"$(in_env python3 -c 'import importlib.metadata as m; print(m.version("dispatchkey"))')"

pure=$("$st_top/scripts/wheel" --pure)
pip uninstall -y dispatchkey
with_system() {
	pip install --no-index "$pure" && in_env LD_LIBRARY_PATH="$O" python3 "$st_top/samples/hello.py"
}
ok "a wheel without the library uses the system's library" with_system
pip uninstall -y dispatchkey
is "pip uninstall removes all files of the package" "" \
	"$(find "$env" -name '*dispatchkey*' 2>&1)"

# The command of the guide, and then the command that it prints.
MAKEFLAGS='' make -s -C "$st_top" venv >"$st_tmp/venv" 2>&1 || cat "$st_tmp/venv"
like "make venv prints what to type" "*Type:*/venv/bin/python3 -m dispatchkey.torch *" \
	"$(cat "$st_tmp/venv")"
line=$(sed -n 's/^  //p' "$st_tmp/venv")
next() {
	(cd "$st_top" && eval "$line" >"$st_tmp/next" 2>&1) && return
	cat "$st_tmp/next"
	return 1
}
ok "the command that make venv prints works" next
env=$O/venv
case $env in /*) ;; *) env=$st_top/$env ;; esac
ok "the command uses the libraries of the environment" inside_only

# Without build isolation, for which pip would download packages.
env=$st_tmp/other
"$PYTHON" -m venv --system-site-packages "$env"
tree() { find "$st_top/python" -name __pycache__ -prune -o -type f -print | sort | cksum; }
before=$(tree)
ok "pip install ./python builds the package with the library" \
	pip install --no-index --no-build-isolation "$st_top/python"
is "the sample runs, and building has not changed the tree" "21 42 63, $before" \
	"$(hello | tail -n 1), $(tree)"

like "make wheel refuses a PYTHON that is no interpreter" \
	"3 wheel: PYTHON=no_python is not a Python interpreter: use one such as *" \
	"$(out=$(PYTHON=no_python "$st_top/scripts/wheel" --venv 2>&1); echo "$? $out")"
# The copy of the sources must be writable even if the sources are not.
mkdir "$st_tmp/sources"
cp -r "$st_top"/{LICENSES,python,scripts,VERSION} "$st_tmp/sources"
chmod -R a-w "$st_tmp/sources"
ok "a wheel can be built from sources without write permission" \
	env O="$st_tmp/written" "$st_tmp/sources/scripts/wheel" --pure
chmod -R u+w "$st_tmp/sources"
is "make clean can then remove the copy of the sources" "" \
	"$(find "$st_tmp/written" -type d ! -perm -u+w 2>&1)"
cp -r "$st_top/python" "$st_tmp/alone"
like "a folder without the library's sources is refused" \
	"*dispatchkey: the library's sources are not beside this folder*" \
	"$(pip install --no-index --no-build-isolation "$st_tmp/alone" 2>&1)"
finish
