# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Makes exceptions from the library's reasons."""
from __future__ import annotations

import ctypes
import difflib
import errno
from typing import Iterable

from . import _abi

_PREFIX = "DK_WHY_"
_REASONS = {number: name[len(_PREFIX):] for name, number in vars(_abi).items()
            if name.startswith(_PREFIX)}


class Error(OSError):
    """The library refused something.

    errno   the number, such as errno.EINVAL
    reason  the reason's name in <dispatchkey-base.h> without DK_WHY_, such as "PARSE_KEY"
    word    the word that the reason refers to, such as one that could not be parsed; may be ""

    str() returns one sentence with the word.
    """

    def __init__(self, number: int, message: str, reason: str = "NONE", word: str = ""):
        super().__init__(number, message)
        self.reason = reason
        self.word = word

    def __str__(self) -> str:
        return str(self.strerror)


class UnknownName(Error, LookupError):
    """There is no key, layout, operator or other thing of this name."""


class NotServed(Error, NotImplementedError):
    """A call has no function, or AutogradOther is ambiguous. The text is like PyTorch's."""


class Timeout(Error, TimeoutError):
    """A call was still running in a function at the end of the given time."""


class OverrideWarning(UserWarning):
    """A function replaces another one at its key."""


_UNKNOWN = {"BAD_LAYOUT", "BAD_DTYPE", "BAD_TENSOR_LAYOUT", "BAD_DEVICE_TYPE", "BAD_CONSTANT",
            "PARSE_KEY", "PARSE_BACKEND", "PARSE_SET", "NO_OPERATOR", "DANGLING", "NOT_DEFINED",
            "NO_DEVICE", "NOT_THERE"}
_CLASSES = {errno.ENOSYS: NotServed, errno.ENOTUNIQ: NotServed, errno.ETIMEDOUT: Timeout}


def new_diag() -> _abi.dk_diag:
    return _abi.dk_diag(size=ctypes.sizeof(_abi.dk_diag))


def error(number: int, text: str, reason: str = "NONE", word: str = "", hint: str = "") -> Error:
    """Return the exception for an errno. The hint states the remedy."""
    cls = UnknownName if reason in _UNKNOWN else _CLASSES.get(number, Error)
    message = text + (f": {word}" if word else "") + (f"; {hint}" if hint else "")
    return cls(number, message, reason, word)


def from_diag(why: _abi.dk_diag, result: int = 0, hint: str = "") -> Error:
    """Return the exception for a filled struct dk_diag and the errno returned with it."""
    number = -result if result < 0 else _abi.ERRNO.get(why.reason, errno.EINVAL)
    text = why.text.decode() if why.text else "the library gave no reason"
    return error(number, text, _REASONS.get(why.reason, "NONE"),
                 why.name.decode(errors="replace"), hint)


def from_reason(number: int, reason: int, word: str, hint: str = "") -> Error:
    """Return the exception for the reason with this number."""
    from ._library import lib
    text = lib.dk_reason_text(reason).decode()
    return error(number, text, _REASONS[reason], word, hint)


def shown(value: object) -> str:
    """Describe a wrong value for a message: its type and, for a string or number, the value."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{name} {value!r}" if isinstance(value, (str, int, float)) else name


def printable(text: str) -> str:
    """Replace characters that cannot be printed: a line break would add a line to a dump."""
    return "".join(c if c.isprintable() else "?" for c in text)


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return a hint with the names that are similar to a word, or ""."""
    lower: dict[str, str] = {}
    for name in names:
        lower.setdefault(name.lower(), name)
    # Two swapped letters change a large part of a short word such as "cup".
    cutoff = 0.65 if len(word) <= 4 else 0.7
    close = difflib.get_close_matches(word.lower(), list(lower), 2, cutoff)
    return f"did you mean {' or '.join(lower[n] for n in close)}?" if close else ""
