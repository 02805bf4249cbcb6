# SPDX-License-Identifier: GPL-2.0-only
"""Prints the results as TAP to the file descriptor DK_TAP_FD, and has fixtures and helpers."""
import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dispatchkey as dk
from dispatchkey._library import lib
from dispatchkey._registry import _Kept

TOP = Path(os.environ["DK_TOP"])
BUILD = Path(os.environ["DK_BUILD"])


class Tap:
    """Writes a line for each test, followed by the details of a failure."""

    def __init__(self, descriptor):
        self.done = 0
        self.out = os.fdopen(descriptor, "w")

    def pytest_collection_finish(self, session):
        self.out.write(f"TAP version 13\n1..{len(session.items)}\n")

    def pytest_collectreport(self, report):
        if report.failed:
            self.out.write(f"Bail out! {report.longreprtext}\n")

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            if report.when == "teardown":
                self.say(report)
                return
            self.done += 1
            word = "not ok" if report.failed else "ok"
            name = report.nodeid.replace("::", ": ").replace("#", "")
            skip = f" # SKIP {report.longrepr[2]}" if report.skipped else ""
            self.out.write(f"{word} {self.done} - {name}{skip}\n")
            self.say(report)

    def say(self, report):
        if report.failed:
            self.out.writelines(f"# {line}\n" for line in report.longreprtext.splitlines())

    def pytest_sessionfinish(self):
        self.out.close()


def pytest_configure(config):
    descriptor = os.environ.pop("DK_TAP_FD", None)
    if descriptor:
        config.pluginmanager.register(Tap(int(descriptor)))


@pytest.fixture
def registry():
    """A registry with one operator."""
    with dk.Registry() as reg:
        reg.define("t::f(Tensor a, Tensor b) -> Tensor")
        yield reg


@pytest.fixture
def card(registry):
    """A device with a function for t::f."""
    kept = _Kept(registry, lambda a, b: "card", dk.Key("Dense").number, b"t::f", "card_f", None,
                 False)
    number = ctypes.c_uint32()
    assert lib.dk_device_register(registry._provider, dk.Backend("CUDA").number, b"card1", None,
                                  kept.impl, 1, number, None) == 0
    yield "card1"
    assert lib.dk_device_unregister(registry._provider, number, None) == 0


# A module torch. Its functions return what they returned when the answers were recorded.
FAKE_TORCH = '''
__version__ = "{version}"

class Tensor:
    def __init__(self, keys="CPU, ADInplaceOrView, AutogradCPU, AutocastCPU"):
        self.keys = keys

def tensor(value):
    return Tensor()

def add(*args): "A function whose name is known."

class _C:
    texts = dict(part.split("\\n", 1) for part in open({recorded!r}).read().split("==== ")[1:])

    def _dispatch_dump(name):
        if name.endswith("."):
            raise RuntimeError("expected ident but found 'eof' here")
        return _C.texts.get("dump " + name, "")
    def _dispatch_dump_table(name): return _C.texts["table " + name]{broken}
    def _dispatch_get_registrations_for_dispatch_key(key):
        return [n[5:] for n in _C.texts if n.startswith("dump ")]
    def _dispatch_get_all_op_names(): return [n[5:] for n in _C.texts if n.startswith("dump ")]
    def _dispatch_has_backend_fallback(key): return False
    def _dispatch_key_parse(name): raise RuntimeError("not recorded")
    def _dispatch_key_name(key): raise RuntimeError("not recorded")
    def _dispatch_num_backends(): return {backends}
    def _get_privateuse1_backend_name(): return "privateuseone"
    def _dispatch_keys(t): return f"DispatchKeySet({{t.keys}})"
    def _dispatch_tls_local_include_set():
        return "DispatchKeySet(BackendSelect, ADInplaceOrView)"
    def _dispatch_tls_local_exclude_set():
        return "DispatchKeySet(AutocastCPU, AutocastXPU, AutocastCUDA)"
'''


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Returns a function that makes a module torch whose answers were recorded from PyTorch."""
    def make(version="1.13.1+cpu", broken="", file="pytorch-1.13/live.txt",
             layout="pytorch-1.13", more=""):
        recorded = str(TOP / "selftests/vectors" / file)
        (tmp_path / "torch").mkdir()
        (tmp_path / "torch/__init__.py").write_text(
            FAKE_TORCH.format(version=version, recorded=recorded, broken=broken,
                              backends=len(dk.Layout(layout).backends)) + more)
        monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{TOP}/python")
    return make


@pytest.fixture
def cpu():
    return dk.Object("CPU")


def run(*command, stdout=subprocess.PIPE, timeout=60, **env):
    """Runs a command with these environment variables."""
    return subprocess.run(command, text=True, timeout=timeout, stdout=stdout,
                          stderr=subprocess.PIPE, check=False, env={**os.environ, **env})


def python(code, timeout=60, **env):
    """Runs Python code. Returns its status, its output and its errors."""
    done = run(sys.executable, "-c", code, timeout=timeout, **env)
    return done.returncode, done.stdout, done.stderr
