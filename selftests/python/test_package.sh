#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs all tests of the Python package with pytest, or the tests that are named:
#
#     selftests/python/test_package.sh [PYTEST ARGUMENT...]
#
# Prints TAP. Environment: O, the output folder (build); PYTHON, the interpreter,
# by default Debian's, for which python3-pytest is installed. If no test is named, DK_BRIEF=1 leaves
# out the files of those that need PyTorch.
set -u

here=$(realpath -- "$(dirname -- "$0")")
top=${DK_TOP:-$(cd "$here/../.." && pwd -P)}
build=${O:-$top/build}
python=${PYTHON:-/usr/bin/python3}

skip() {
	echo "TAP version 13"
	echo "1..0 # SKIP $*"
	exit 4
}
[ -e "$top/python/pyproject.toml" ] || skip "no sources of the package (set DK_TOP)"
"$python" -c 'import pytest' 2>/dev/null || skip "no pytest for $python (install python3-pytest)"
make -s -C "$top" O="$build" lib dkctl >&2 || exit

export PYTHONPATH=$top/python PYTHONDONTWRITEBYTECODE=1 DK_TOP=$top DK_BUILD=$build
export DISPATCHKEY_LIBRARY=$build/libdispatchkey.so.0
export DK_TAP_FD=3
[ -z "${DK_BRIEF-}" ] || [ $# -gt 0 ] || set -- --ignore-glob='test_torch*'
cd "$here" && exec "$python" -m pytest -p no:cacheprovider "$@" 3>&1 >/dev/null
