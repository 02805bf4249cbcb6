# SPDX-License-Identifier: GPL-2.0-only
"""Tests where the package looks for the library, and the errors if it is missing."""
import os
import subprocess
import sys

import pytest

from conftest import BUILD, TOP, python, run
from dispatchkey import _abi

IMPORT = """
try:
    import dispatchkey
    print("loaded")
except ImportError as e:
    print(e)
"""


def built(tmp_path, source):
    """Compiles a library from this source. Returns its path."""
    path = tmp_path / "libdispatchkey.so.0"
    subprocess.run([*os.environ.get("CC", "cc").split(), "-shared", "-x", "c", "-", "-o",
                    str(path)], input=source, text=True, check=True)
    return str(path)


def copied(tmp_path):
    """Copies the package as a wheel installs it, with a folder for the library."""
    (tmp_path / "dispatchkey" / "lib").mkdir(parents=True)
    for file in (TOP / "python/dispatchkey").glob("*.py"):
        (tmp_path / "dispatchkey" / file.name).write_bytes(file.read_bytes())
    return tmp_path


def test_a_path_that_is_wrong():
    status, out, _err = python(IMPORT, DISPATCHKEY_LIBRARY="/nowhere/libdispatchkey.so.0")
    assert status == 0
    assert out.startswith("/nowhere/libdispatchkey.so.0 cannot be loaded (")
    assert out.rstrip().endswith("install the package libdispatchkey0, or set "
                                 "DISPATCHKEY_LIBRARY to the path of libdispatchkey.so.0")
    assert out.count("\n") == 1


@pytest.mark.parametrize("module", ["dispatchkey", "dispatchkey.torch"])
def test_a_command_without_the_library(module):
    done = run(sys.executable, "-m", module, DISPATCHKEY_LIBRARY="/nowhere/x.so")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"{module}: /nowhere/x.so cannot be loaded (")
    assert done.stderr.count("\n") == 1


def test_a_program_without_the_library(tmp_path):
    """Only the package's own commands exit with a message; a program gets the exception."""
    (tmp_path / "program").mkdir()
    (tmp_path / "program/__init__.py").write_text(IMPORT + "import dispatchkey")
    (tmp_path / "program/__main__.py").write_text("")
    done = run(sys.executable, "-m", "program", DISPATCHKEY_LIBRARY="/nowhere/x.so",
               PYTHONPATH=f"{tmp_path}:{TOP}/python")
    assert done.returncode == 1 and done.stdout.startswith("/nowhere/x.so cannot be loaded (")
    assert "Traceback" in done.stderr and "ImportError: /nowhere/x.so cannot" in done.stderr


def test_a_library_that_is_too_old(tmp_path):
    path = built(tmp_path, 'const char *dk_version(void) { return "0.0.9"; }')
    assert python(IMPORT, DISPATCHKEY_LIBRARY=path)[1] == (
        f"{path} is version 0.0.9: dispatchkey {_abi.VERSION} for Python needs libdispatchkey "
        f"{_abi.VERSION} or later\n")


def test_another_library(tmp_path):
    path = built(tmp_path, "int other;")
    assert python(IMPORT, DISPATCHKEY_LIBRARY=path)[1] == (
        f"{path} is not libdispatchkey: set DISPATCHKEY_LIBRARY to the path of "
        "libdispatchkey.so.0\n")


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="subinterpreters work, or have no ctypes")
def test_a_subinterpreter_is_refused():
    """Its functions would run in the main interpreter, and their results would be lost."""
    code = f"""
import _xxsubinterpreters as interpreters
interpreters.run_string(interpreters.create(), {IMPORT!r})
"""
    version = ".".join(map(str, sys.version_info[:2]))
    assert python(code) == (
        0, f"dispatchkey cannot be imported in a subinterpreter of Python {version}: its ctypes "
        "calls functions in the main interpreter\n", "")


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="subinterpreters work, or have no ctypes")
def test_ctypes_in_a_subinterpreter():
    """It makes ctypes forget its pointer types, but the package keeps those that it uses."""
    assert python("""
import _xxsubinterpreters as interpreters
import dispatchkey as dk
interpreters.run_string(interpreters.create(), "import ctypes")
with dk.Registry() as registry:
    registry.define("a::f(Tensor x, Tensor[] y, Generator? g) -> ()")
    registry.impl("a::g", "CPU", lambda x: x)
    registry.impl("a::f", "CPU", lambda x, y, g: len(y))
    x = dk.Object("CPU")
    print(registry.call("a::f", x, [x, x], x), registry.route("a::f", x, x).key)
    registry.library("b", "DEF").close()
""") == (0, "2 CPU\n", "")


def test_the_system_library():
    assert python(IMPORT, DISPATCHKEY_LIBRARY="", LD_LIBRARY_PATH=str(BUILD))[1] == "loaded\n"


def test_beside_the_package(tmp_path):
    package = copied(tmp_path)
    library = package / "dispatchkey/lib/libdispatchkey.so.0"
    library.symlink_to((BUILD / "libdispatchkey.so.0").resolve())
    code = IMPORT + "print(dispatchkey._library.lib._name)"
    assert python(code, DISPATCHKEY_LIBRARY="", PYTHONPATH=str(package), LD_LIBRARY_PATH="") == \
        (0, f"loaded\n{library}\n", "")


def test_version():
    code = "import dispatchkey as dk; print(dk.__version__)"
    assert python(code)[1] == f"{_abi.VERSION}\n"
