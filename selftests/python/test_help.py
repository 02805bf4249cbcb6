# SPDX-License-Identifier: GPL-2.0-only
"""Tests that every public name has help with correct examples, and type hints."""
import doctest
import importlib
import inspect
import sys
import typing
from pathlib import Path

import pytest

import dispatchkey as dk
import dispatchkey.torch
from conftest import run

WITH_EXAMPLES = sorted(p.stem for p in Path(dk.__file__).parent.glob("_*.py")
                       if ">>> " in p.read_text())


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_help(name):
    module = dk if name == "__init__" else importlib.import_module(f"dispatchkey.{name}")
    public = {n: getattr(dk, n) for n in dk.__all__}
    result = doctest.testmod(module, extraglobs=public)
    assert result.attempted > 0 and result.failed == 0


def test_main_modules_have_examples():
    assert {"__init__", "_keys", "_keyset", "_local", "_object", "_registry",
            "_schema"} <= set(WITH_EXAMPLES)


def public_names():
    yield from ((name, getattr(dk, name)) for name in dk.__all__)
    yield from ((f"torch.{name}", getattr(dispatchkey.torch, name))
                for name in dispatchkey.torch.__all__)


def public_functions():
    for name, thing in public_names():
        if inspect.isclass(thing):
            yield from ((f"{name}.{n}", f) for n, f in inspect.getmembers(thing)
                        if not n.startswith("_") and inspect.getmodule(f) and
                        inspect.getmodule(f).__name__.startswith("dispatchkey"))
        elif inspect.isfunction(thing):
            yield name, thing


def test_everything_has_help():
    things = dict(public_functions()) | {n: t for n, t in public_names() if inspect.isclass(t)}
    assert len(things) > 60
    assert [name for name, thing in things.items() if not inspect.getdoc(thing)] == []
    assert len(dk.__doc__) > 500


def test_every_argument_has_a_type():
    missing = []
    for name, function in public_functions():
        if not inspect.isroutine(function):
            continue
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name not in ("self", "cls") and \
                    parameter.annotation is inspect.Parameter.empty:
                missing.append(f"{name}({parameter.name})")
    assert missing == []
    assert (Path(dk.__file__).parent / "py.typed").exists()


def test_the_command_names_the_others():
    done = run(sys.executable, "-m", "dispatchkey")
    assert (done.returncode, done.stdout) == (2, "")
    assert "python3 -m dispatchkey.torch --help" in done.stderr
    help_ = run(sys.executable, "-m", "dispatchkey", "--help")
    assert (help_.returncode, help_.stdout, help_.stderr) == (0, done.stderr, "")
    wrong = run(sys.executable, "-m", "dispatchkey", "explain")
    assert (wrong.returncode, wrong.stdout, wrong.stderr) == \
        (2, "", 'dispatchkey: unexpected word "explain": use python3 -m dispatchkey.torch, or '
         "--help\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("module", ["dispatchkey", "dispatchkey.torch"])
def test_output_that_cannot_be_written(module, unbuffered):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = run(sys.executable, "-m", module, "--help", stdout=full,
                   PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == \
        (4, f"{module}: the output cannot be written: No space left on device\n")


def test_a_reader_that_ends():
    done = run("bash", "-c", f"{sys.executable} -m dispatchkey.torch --help | true; "
               "echo ${PIPESTATUS[0]}")
    assert done.stdout in ("0\n", "4\n") and done.stderr == ""


def test_all_names_are_there():
    assert sorted(set(dk.__all__)) == sorted(dk.__all__, key=str)
    for name in dk.__all__:
        assert hasattr(dk, name)


@pytest.mark.parametrize("function", [dk.KeySet.__init__, dk.KeySet.__or__, dk.Key.__or__,
                                      dk.include, dk.exclude, dk.force, dk.Object.__init__,
                                      dk.Registry.route, dk.Call.redispatch])
def test_type_hints_can_be_evaluated(function):
    assert typing.get_type_hints(function)
