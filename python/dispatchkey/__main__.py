# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The command python3 -m dispatchkey, which only names the other commands."""
from __future__ import annotations

import sys

from . import __version__, _command

TEXT = """\
dispatchkey is a package with one command, which explains calls in PyTorch:

  python3 -m dispatchkey.torch --help

help(dispatchkey) in Python describes the package.
"""


def main() -> int:
    """Print which commands there are, and return the exit status."""
    if sys.argv[1:] == ["--version"]:
        _command.say(f"dispatchkey {__version__}")
        return _command.OK
    is_help = sys.argv[1:] in (["-h"], ["--help"])
    if sys.argv[1:] and not is_help:
        return _command.fail("dispatchkey", _command.WRONG, f'unexpected word "{sys.argv[-1]}": '
                             "use python3 -m dispatchkey.torch, or --help")
    (_command.say if is_help else _command.tell)(TEXT, end="")
    return _command.OK if is_help else _command.WRONG


if __name__ == "__main__":
    sys.exit(_command.run("dispatchkey", main))
