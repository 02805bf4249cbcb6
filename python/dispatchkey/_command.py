# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Defines what the commands of the package share: exit statuses and messages."""
from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType
from typing import Callable, Optional

OK, DIFFERS, WRONG, NOT_LOADED, NOT_WRITTEN = range(5)


class NotWritten(Exception):
    """A file or the standard output cannot be written. The text states which, and why."""


def name() -> str:
    """Return the module of this package that python3 -m is about to run, or "".

    python3 -m imports the package first. During that import, sys.argv[0] is "-m".
    """
    frame: Optional[FrameType] = sys._getframe() if sys.argv[:1] == ["-m"] else None
    while frame:
        module = str(frame.f_locals.get("mod_name", ""))
        if frame.f_globals.get("__name__") == "runpy" and module.split(".")[0] == "dispatchkey":
            return module.replace(".__main__", "")
        frame = frame.f_back
    return ""


def end_by_interrupt() -> None:
    """Let Ctrl-C end the process without a traceback, even while PyTorch is being imported.

    A SIGINT that is ignored, as in a background job of a shell script, stays ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def fail(command: str, status: int, message: object) -> int:
    """Print why a command fails, and return its exit status."""
    tell(f"{command}: {message}")
    return status


def tell(text: str, end: str = "\n") -> None:
    """Print a message to the standard error, if that can be written. The status tells, too."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(text, end=end, file=sys.stderr, flush=True)


def say(text: str, end: str = "\n") -> None:
    """Print to the standard output."""
    if sys.stdout is None:
        raise NotWritten("the output cannot be written: it is closed")
    try:
        print(text, end=end)
    except BrokenPipeError:
        raise
    except OSError as e:
        raise NotWritten(f"the output cannot be written: {e.strerror}") from None
    except ValueError as e:     # a character that the encoding lacks
        raise NotWritten(f"the output cannot be written: {e}") from None


def write(path: str, text: str) -> None:
    """Write a file, or with "-" the standard output."""
    if path == "-":
        return say(text, end="")
    try:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    except OSError as e:
        raise NotWritten(f"{path or 'a file without a name'} cannot be written: "
                         f"{e.strerror}") from None
    except ValueError as e:
        raise NotWritten(f"{path!r} cannot be written: {e}") from None


def _flush() -> None:
    """Flush the output. After a failure, keep the interpreter from flushing again at exit."""
    try:
        if sys.stdout:
            sys.stdout.flush()
    except OSError as e:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(e, BrokenPipeError):
            raise
        raise NotWritten(f"the output cannot be written: {e.strerror}") from None


def run(command: str, main: Callable[[], int]) -> int:
    """Run a command and return its exit status: NOT_WRITTEN if its output cannot be written."""
    try:
        try:
            return main()
        finally:
            _flush()
    except BrokenPipeError:         # the reader of the output has ended
        return NOT_WRITTEN
    except NotWritten as e:
        return fail(command, NOT_WRITTEN, e)
