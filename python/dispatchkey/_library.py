# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Finds and loads libdispatchkey."""
from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any, Callable

from . import _abi, _command

SONAME = f"libdispatchkey.so.{_abi.VERSION.split('.', maxsplit=1)[0]}"
VARIABLE = "DISPATCHKEY_LIBRARY"
_BESIDE = Path(__file__).parent / "lib"

# Made only once: if a subinterpreter imports ctypes, ctypes.POINTER() forgets the types that it
# has made, and then makes others, which the functions of the library do not take.
DECL_POINTER = ctypes.POINTER(_abi.dk_op_decl)
GENERATOR_POINTER = ctypes.POINTER(_abi.dk_generator)
OBJ_POINTER = ctypes.POINTER(_abi.dk_obj)
PROVIDER_POINTER = ctypes.POINTER(_abi.dk_provider)


def _find() -> str:
    """Return the library's path: from the environment, else in the wheel, else the system's."""
    given = os.environ.get(VARIABLE)
    if given:
        return given
    beside = _BESIDE / SONAME
    return str(beside) if beside.exists() else SONAME


def _open(path: str) -> ctypes.CDLL:
    try:
        # A wheel contains liburcu, too. Load it first: then the library, which needs it,
        # finds it.
        if Path(path).parent == _BESIDE:
            for urcu in _BESIDE.glob("liburcu-*.so.*"):
                ctypes.CDLL(str(urcu))
        return ctypes.CDLL(path)
    except OSError as e:
        raise ImportError(
            f"{path} cannot be loaded ({e}): install the package libdispatchkey0, or set "
            f"{VARIABLE} to the path of {SONAME}") from None


class _Bits:
    """Allows passing an int to functions that take a struct dk_keyset.

    from_param() is not written in Python: ctypes would replace the exception of a signal handler
    in it, such as that of Ctrl-C, by an ArgumentError.
    """

    from_param = _abi.dk_keyset


def _numbers(version: str) -> list[int]:
    return [int(n) for n in version.split(".")]


def _check_interpreter() -> None:
    """Refuse subinterpreters whose ctypes makes callbacks in the main interpreter instead."""
    api = getattr(ctypes, "pythonapi", None)        # PyPy has none
    if api and sys.version_info < (3, 12):
        api.PyInterpreterState_Get.restype = ctypes.c_void_p
        api.PyInterpreterState_Main.restype = ctypes.c_void_p
        if api.PyInterpreterState_Get() != api.PyInterpreterState_Main():
            raise ImportError("dispatchkey cannot be imported in a subinterpreter of Python "
                              f"{sys.version_info[0]}.{sys.version_info[1]}: its ctypes calls "
                              "functions in the main interpreter")


def _load() -> ctypes.CDLL:
    _check_interpreter()
    path = _find()
    library = _open(path)
    try:
        library.dk_version.restype = ctypes.c_char_p
        version = library.dk_version().decode()
    except AttributeError:
        raise ImportError(f"{path} is not libdispatchkey: set {VARIABLE} to the path of "
                          f"{SONAME}") from None
    if _numbers(version) < _numbers(_abi.VERSION):
        raise ImportError(f"{path} is version {version}: dispatchkey {_abi.VERSION} for Python "
                          f"needs libdispatchkey {_abi.VERSION} or later")
    for name, (returns, takes) in _abi.FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = returns
        function.argtypes = [_Bits if t is _abi.dk_keyset else t for t in takes]
    return library


def c_text(text: str, what: str = "a name") -> bytes:
    """Return a string for C; refuse a NUL, which would end the string early."""
    if not isinstance(text, str):
        raise TypeError(f"expected {what} as a str, not {type(text).__name__}")
    if "\0" in text:
        raise ValueError(f"{what} must not contain a NUL: {text!r}")
    return text.encode()


def c_bool(value: bool, what: str) -> bool:
    """Return a bool for C; refuse other values, such as a function that a guard decorates."""
    if not isinstance(value, bool):
        raise TypeError(f"{what}: expected True or False, not {type(value).__name__}")
    return value


def _load_or_exit() -> ctypes.CDLL:
    """Load the library. If this fails, a command ends with one sentence, without a traceback."""
    try:
        return _load()
    except ImportError as e:
        command = _command.name()
        if not command:
            raise
        sys.exit(_command.fail(command, _command.NOT_LOADED, e))


class Owned:
    """An object of the library, which is freed with its owner. C functions take it as a pointer.

    It is not freed when the interpreter ends: a running call may still use it.
    weakref.finalize() does not suit: at exit it walks through all its objects, and fails if
    another thread is adding or removing one.
    """

    __slots__ = ("_as_parameter_", "_free")

    def __init__(self, ptr: Any, free: Callable[[Any], object]):
        self._as_parameter_, self._free = ptr, free

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # Ctrl-C may have ended __init__().
        if hasattr(self, "_free") and not is_finalizing():
            self._free(self._as_parameter_)


# Calls into a CDLL release the GIL. So a function that waits for calls, such as
# dk_provider_unregister(), does not keep these calls from running Python code.
lib = _load_or_exit()
