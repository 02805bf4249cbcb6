# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the commands of the package share: exit statuses, and messages of one sentence."""
from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Callable, Optional

OK, DIFFERS, WRONG, NOT_LOADED, NOT_WRITTEN = range(5)


def name() -> str:
    """The module of this package that python3 -m is about to run, or "".

    It imports the package first. During that import, sys.argv[0] is "-m".
    """
    frame: Optional[FrameType] = sys._getframe() if sys.argv[:1] == ["-m"] else None
    while frame:
        module = str(frame.f_locals.get("mod_name", ""))
        if frame.f_globals.get("__name__") == "runpy" and module.split(".")[0] == "dispatchkey":
            return module.replace(".__main__", "")
        frame = frame.f_back
    return ""


def fail(command: str, status: int, message: object) -> int:
    """Print why a command fails; returns its exit status."""
    print(f"{command}: {message}", file=sys.stderr)
    return status


def _flush() -> None:
    """Write what is printed. After a failure, the interpreter must not try it again at its end."""
    try:
        if sys.stdout:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def run(command: str, main: Callable[[], int]) -> int:
    """Run a command; returns its exit status, even if its output cannot be written."""
    try:
        try:
            return main()
        finally:
            _flush()
    except BrokenPipeError:         # its reader has ended
        return NOT_WRITTEN
    except OSError as e:
        if e.filename:
            return fail(command, WRONG, f"{e.filename}: {e.strerror}")
        return fail(command, NOT_WRITTEN, f"the output cannot be written: {e.strerror}")
