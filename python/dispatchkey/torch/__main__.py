# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The command python3 -m dispatchkey.torch."""
from __future__ import annotations

import argparse
import dataclasses
import errno
import re
import sys
import time
import warnings
from typing import IO, Any, Callable, NoReturn, Optional, TextIO, Union

from .. import __version__
from .._command import DIFFERS, NOT_LOADED, OK, WRONG, fail, run, say, tell, write
from .._error import Error, did_you_mean, error
from . import _live, _modes
from ._check import check
from ._diff import diff
from ._missing import SERVED_BY, lines_of, missing
from ._path import TorchCall
from ._transcript import transcript
from ._watch import watch
from ._whatif import explain_under, what_if
from ._words import keyset_of

NAME = "dispatchkey.torch"
PROG = f"python3 -m {NAME}"

WORDS = """\
words of --on, separated by commas:
  a device       cpu, cuda, meta, xla, ...; cpu if none is named
  a layout       strided, sparse, sparse_csr, mkldnn, ...
  a dtype        float32, qint8, ...
  a property     requires_grad (changes no key), inference, conj, neg, zero
  dispatch keys  such as Tracer or AutocastCPU, which are added

modes of --under, separated by commas:
  no_grad, inference_mode, autocast (on the tensors' devices), vmap

"""

STATUS = """\
exit status:
  0  done, and PyTorch's table agrees with the rules
  1  PyTorch's table differs from the rules: the table is stale, or the table or a rule
     is wrong; or "check" could not compare an operator
  2  a word is wrong, or PyTorch has no such operator
  3  PyTorch, libdispatchkey or a file of --load cannot be loaded, this PyTorch release is
     unknown, or it lacks a private function that the answer needs
  4  the output or a file cannot be written
Ctrl-C ends a command without a message, with status 130 in a shell.

"""

EXAMPLES = {
    "explain": ["explain aten::add.Tensor --on cpu,requires_grad --on cpu",
                "explain aten::mm --on cpu --on cpu --under autocast"],
    "what-if": ["what-if aten::mm --on cpu --on cpu",
                "what-if aten::mm --on cuda --if autocast,meta"],
    "diff": ["diff aten::mm --on cpu --to cuda",
             "diff aten::mm --on cpu --to-under autocast"],
    "missing": ["missing privateuseone --only 'aten::*' --like cpu",
                "missing privateuseone --load ./backend.so --show own,nothing --html missing.html"],
    "export": ["export aten::mm aten::relu -o operators.dkt",
               "export aten::mm --on cpu,requires_grad --on cpu --under autocast -o mm.dkt"],
    "watch": ["watch ./backend.so"],
    "check": ["check", "check --only 'mine::*' --load ./mine.py"],
}


def _epilog(*commands: str) -> str:
    lines = [f"  {PROG} {line}" for command in commands for line in EXAMPLES[command]]
    words = WORDS if set(commands) - {"missing", "watch", "check"} else ""
    return f"{words}{STATUS}examples:\n" + "\n".join(lines) + "\n"


class _Parser(argparse.ArgumentParser):
    """Reports what is wrong in one line, and refers to the help in another line.

    Fails if the help cannot be written; argparse would ignore the error.
    """

    def _print_message(self, message: str, file: Optional[IO[str]] = None) -> None:
        say(message, end="")        # the help and the version

    def exit(self, status: int = 0, message: Optional[str] = None) -> NoReturn:
        if message:
            tell(message, end="")
        sys.exit(status)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            hint = did_you_mean(str(value), action.choices) or \
                f"commands are {', '.join(action.choices)}"
            self.error(f"unknown command {_quoted(value)}: {hint}")

    def error(self, message: str) -> NoReturn:
        needed = re.match("the following arguments are required: (.*)", message)
        if needed:
            message = f"{needed[1]} is missing"
        message = re.sub("^argument ([^:]*): expected .*argument", r"\1 needs a word", message)
        message = re.sub("^argument ([^:]*): ", r"\1: ", message)
        self.exit(WRONG, f"{NAME}: {message}\n{NAME}: see {self.prog} --help\n")


def _quoted(word: object) -> str:
    return f'"{word}"'


def _parse(arguments: Optional[list[str]]) -> argparse.Namespace:
    """Return the options; end the program if there is an unknown one."""
    parser = _parser()
    options, unknown = parser.parse_known_args(arguments)
    of: _Parser = getattr(options, "parser", parser)
    if unknown:
        word = next((w for w in unknown if w.startswith("-")), unknown[0])
        known = [name for name in of._option_string_actions if name.startswith("--")]
        hint = did_you_mean(word.split("=")[0], known) if word.startswith("-") else ""
        what = "unknown option" if word.startswith("-") else "unexpected word"
        of.error(f"{what} {_quoted(word)}" + (f": {hint}" if hint else ""))
    if not options.command:
        of.error("a command is missing")
    return options


def _text(word: str) -> str:
    """Return a word; refuse one that is not UTF-8. Files may have such names, but no operators."""
    try:
        word.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{_quoted(word)} is not UTF-8") from None
    return word


def _split(text: str) -> list[str]:
    return [word.strip() for word in _text(text).split(",") if word.strip()]


def _add(commands: Any, name: str, text: str, function: Callable[..., int],
         is_call: bool = True, nargs: Any = None) -> _Parser:
    """Return the parser of a command, with the common options and those of a call."""
    parser: _Parser = commands.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + ".", epilog=_epilog(name),
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.set_defaults(function=function, parser=parser)
    if is_call:
        parser.add_argument("operator", type=_text, metavar="OPERATOR", nargs=nargs,
                            help="with its overload, such as aten::add.Tensor, or as PyTorch "
                            "prints it: aten.mm.default")
        parser.add_argument("--on", type=_text, action="append", default=[], metavar="WORDS",
                            help="a tensor argument of the call; repeat --on for each. If the "
                            "operator takes a device but no tensor, --on describes its result")
        parser.add_argument("--under", type=_split, default=[], metavar="MODES",
                            help="PyTorch modes that are active during the call")
    parser.add_argument("--layout", metavar="FILE",
                        help="the keys of an unknown release, or of a build with other "
                        "keys, in the format of dkctl layout --describe")
    parser.add_argument("--load", action="append", default=[], metavar="FILE",
                        help="first load a backend or operators: a shared library, a Python "
                        "file, or the name of a Python module")
    return parser


def _parser() -> _Parser:
    parser = _Parser(prog=PROG, epilog=_epilog(*EXAMPLES),
                     formatter_class=argparse.RawDescriptionHelpFormatter,
                     description="Explain calls in the installed PyTorch.")
    parser.add_argument("--version", action="version", version=f"dispatchkey {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    explain = _add(commands, "explain", "which function serves a call, key by key, and why",
                   _explain)
    explain.add_argument("--svg", metavar="FILE", help="write the picture of the first step; "
                         'with "-", instead of the text')
    whatif = _add(commands, "what-if", "what modes, tensor properties and other devices would "
                  "change", _what_if)
    whatif.add_argument("--if", dest="changes", type=_split, metavar="CHANGES",
                        help="modes, requires_grad, inference and devices, separated by commas; "
                        "by default all of them except some devices")
    compare = _add(commands, "diff", "which keys and functions differ between two calls, and "
                   "where their paths diverge", _diff)
    compare.add_argument("--to", type=_text, action="append", default=[], metavar="WORDS",
                         help="a tensor of the second call, described as for --on; by default the "
                         "tensors of the first call")
    compare.add_argument("--to-under", type=_split, metavar="MODES",
                         help="modes of the second call; by default the modes of the first call")
    lacks = _add(commands, "missing", "which operators a backend lacks, and what serves them "
                 "instead", _missing, is_call=False)
    lacks.add_argument("backend", type=_text, metavar="BACKEND",
                       help="a device, or a key such as SparseCUDA")
    lacks.add_argument("--only", type=_text, default="*", metavar="PATTERN",
                       help="operators, such as 'aten::*'; all by default")
    lacks.add_argument("--like", type=_text, metavar="BACKEND",
                       help="only operators that a function serves on this other backend")
    lacks.add_argument("--show", type=_split, default=["nothing"], metavar="WORDS",
                       help="which operators to list, by what serves them: words from the "
                       'summary, "all" or "none". The default is "nothing": operators that '
                       "nothing serves")
    lacks.add_argument("--csv", metavar="FILE", help="write a CSV line for each operator; with "
                       '"-", instead of the summary')
    lacks.add_argument("--html", metavar="FILE", help="write an HTML page with a table; with "
                       '"-", instead of the summary')
    export = _add(commands, "export", "write operators and calls for dkctl replay, which explains "
                  "them on another machine", _export, nargs="+")
    export.add_argument("-o", "--output", metavar="FILE",
                        help="write the transcript to FILE; by default it is printed")
    watched = _add(commands, "watch", "what a backend registers when it is loaded", _watch,
                   is_call=False)
    watched.add_argument("file", metavar="FILE", nargs="+",
                         help="a shared library, a Python file, or the name of a Python module")
    checked = _add(commands, "check", "compare PyTorch's tables of all operators with the rules",
                   _check, is_call=False)
    checked.add_argument("--only", type=_text, default="*", metavar="PATTERN",
                         help="operators, such as 'aten::*'; all by default")
    return parser


def _call(operator: str, on: list[str], under: list[str]) -> TorchCall:
    operator, layout, made_on = _live.operator_name(operator), _live.layout(), None
    keys = [keyset_of(words, layout) for words in on]
    if len(keys) == 1 and _live.Operator.read(operator).makes_tensors:
        made_on, keys = next(iter(keys[0])).keyset, []
    call = explain_under(operator, keys, under, made_on)
    return dataclasses.replace(call, words="; ".join(on))


def _explain(options: argparse.Namespace) -> int:
    call = _call(options.operator, options.on, options.under)
    if options.svg != "-":
        say(str(call))
    if options.svg is not None:
        write(options.svg, call.explanation.svg())
    return DIFFERS if call.differences else OK


def _what_if(options: argparse.Namespace) -> int:
    call = _call(options.operator, options.on, options.under)
    say(str(what_if(call, options.changes)))
    return DIFFERS if call.differences else OK


def _diff(options: argparse.Namespace) -> int:
    if not options.to and options.to_under is None:
        raise error(errno.EINVAL, 'a second call is missing: use "--to" or "--to-under"')
    a = _call(options.operator, options.on, options.under)
    b = _call(options.operator, options.to or options.on,
              options.under if options.to_under is None else options.to_under)
    say(str(diff(a, b)))
    return DIFFERS if a.differences else OK


def _export(options: argparse.Namespace) -> int:
    calls = [_call(name, options.on, options.under) for name in options.operator]
    # Without tensors and modes, the transcript has only the operators.
    text = transcript(*(calls if options.on or options.under else options.operator))
    if options.output is not None:
        write(options.output, text)
    else:
        say(text, end="")
    for call in calls:
        if call.differences:
            tell("\n".join([f"{NAME}: {call.operator}: PyTorch's table differs from the rules:",
                            *call.differences]))
    return DIFFERS if any(call.differences for call in calls) else OK


def _watch(options: argparse.Namespace) -> int:
    with watch() as found:
        for file in options.file:
            _live.load(file)
    say(str(found))
    return OK


def _check(options: argparse.Namespace) -> int:
    found = check(options.only, _Progress())
    say(str(found))
    return DIFFERS if found.differences or found.skipped else OK


_BAR = 20


class _Progress:
    """Shows on a terminal how many operators have been read."""

    def __init__(self) -> None:
        self._is_on, self._next = sys.stderr.isatty(), 0.0

    def __call__(self, done: int, total: int) -> None:
        if self._is_on and (done == total or time.monotonic() >= self._next):
            self._next = time.monotonic() + 0.1
            bar = "#" * (_BAR * done // total)
            text = "" if done == total else f"[{bar:.<{_BAR}}] {done} of {total} operators"
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def _missing(options: argparse.Namespace) -> int:
    _modes.check(options.show, [*SERVED_BY, "all", "none"], "a word of the summary")
    if options.csv == options.html == "-":
        raise error(errno.EINVAL, '"-" can stand for only one file: --csv or --html')
    found = missing(options.backend, only=options.only, like=options.like, progress=_Progress())
    if "-" in (options.csv, options.html):
        for note in found.notes:
            tell(f"{NAME}: note: {note}")
    else:
        say(str(found))
        shown = found.by(*(SERVED_BY if "all" in options.show else options.show))
        if shown:
            say("\n" + "\n".join(lines_of(shown)))
    if options.csv is not None:
        write(options.csv, found.csv())
    if options.html is not None:
        write(options.html, found.html())
    return OK


def _show_notes() -> None:
    """Print warnings about what an answer omits as messages of the command."""
    before = warnings.showwarning

    def show(message: Union[Warning, str], category: type[Warning], filename: str, lineno: int,
             file: Optional[TextIO] = None, line: Optional[str] = None) -> None:
        if issubclass(category, _live.Incomplete):
            tell(f"{NAME}: note: {message}")
        else:
            before(message, category, filename, lineno, file, line)

    warnings.showwarning = show


def main(arguments: Optional[list[str]] = None) -> int:
    """Run the command, and return the exit status."""
    def command() -> int:
        options = _parse(arguments)
        _show_notes()
        try:
            if options.layout is not None:
                _live.describe(options.layout)
            for file in options.load:
                _live.load(file)
            return int(options.function(options))
        except ImportError as e:
            return fail(NAME, NOT_LOADED, e)
        except Error as e:
            return fail(NAME, WRONG, e)

    return run(NAME, command)


if __name__ == "__main__":
    sys.exit(main())
