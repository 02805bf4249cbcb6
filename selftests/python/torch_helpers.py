# SPDX-License-Identifier: GPL-2.0-only
"""Helpers of the tests of dispatchkey.torch, which run commands and programs, and mark the tests
that need an installed PyTorch."""
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys

import pytest

from conftest import BUILD, run

ALL = os.environ.get("DK_TORCH") == "all"   # scripts/check-all tests everything, which takes long


def installed_version():
    """Returns the version of this Python's PyTorch without importing it, or None."""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None


needs_pytorch = pytest.mark.skipif(importlib.util.find_spec("torch") is None,
                                   reason="no PyTorch for this Python")

needs_pytorch_1_13 = pytest.mark.skipif(not (installed_version() or "").startswith("1.13"),
                                        reason="no PyTorch 1.13 for this Python")

needs_pytorch_2 = pytest.mark.skipif((installed_version() or "1").startswith("1."),
                                     reason="no PyTorch 2 for this Python")


def command(*arguments, isolated=False):
    """Runs the command. Returns its status, its output and its messages."""
    done = subprocess.run([sys.executable, *(["-S"] if isolated else []), "-m",
                           "dispatchkey.torch", *arguments], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=120)
    return done.returncode, done.stdout, done.stderr


def program(code):
    done = subprocess.run([sys.executable, "-c", code], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=120)
    # The profiler of PyTorch 2.14 prints lines about its own start and stop.
    assert re.sub(r"^USDT:.* profiler_(start|stop)\n", "", done.stderr, flags=re.M) == ""
    return done.stdout


def replayed(path):
    """Runs dkctl replay --check with a transcript. Returns its status and its output."""
    done = run(str(BUILD / "dkctl"), "replay", "--check", str(path))
    return done.returncode, done.stdout
