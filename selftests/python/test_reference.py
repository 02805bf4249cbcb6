# SPDX-License-Identifier: GPL-2.0-only
"""Tests that the reference page lists every public name of the package."""
import importlib
import inspect
import re
import sys

import pytest

from conftest import TOP

sys.path.insert(0, str(TOP / "scripts"))
pydoc = pytest.importorskip("pages.pydoc", reason="no scripts/pages (set DK_TOP)")


@pytest.mark.parametrize("name", ["dispatchkey", "dispatchkey.torch"])
def test_every_public_name(name):
    text = pydoc.Package(TOP, name).rst().partition("\n")[2]
    package = importlib.import_module(name)
    found = set(re.findall(r"^\.\. py:\w+:: (\w+)", text, re.M))
    assert found == {n for n in package.__all__ if not n.startswith("__")}
    parts = re.split(r"^\.\. py:\w+:: (\w+).*\n", text, flags=re.M)
    for n, body in zip(parts[1::2], parts[2::2]):
        thing = getattr(package, n)
        assert body.strip(), f"{n} has no docstring"
        if inspect.isclass(thing):
            members = set(re.findall(r"^   \.\. py:\w+:: (\w+)", body, re.M))
            public = {m for c in thing.__mro__ if c.__module__.startswith("dispatchkey") and
                      (c is thing or c.__name__.startswith("_"))
                      for m, value in vars(c).items() if not m.startswith("_") and
                      (inspect.isfunction(value) or
                       isinstance(value, (property, classmethod, staticmethod)))
                      and (getattr(value, "__func__", value).__doc__)}
            assert members == public, n


def test_signatures_and_blocks():
    text = pydoc.Package(TOP, "dispatchkey").rst()
    assert "\n.. py:function:: compute_key(dtype: Optional[str]=None, " in text
    assert "\n.. py:exception:: UnknownName" in text
    assert "\n   .. py:method:: of(name: str)" not in text
    assert "\n   .. code-block:: pycon\n\n      >>> key = Key.AutogradCUDA\n" in text
    assert "\n   * ``errno``: the number, such as errno.EINVAL\n" in text
