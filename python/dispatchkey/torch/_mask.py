# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The keys that PyTorch's older releases skip because they fall through.

A call skips the keys whose functions are fallthroughs for one backend. From 2.6 on, this
is the backend that the call is routed by, as in the library. Up to 2.4, it is the
arguments' backend. The two backends differ if the local state includes another backend.
For example, FakeTensorMode includes Meta in the calls that it makes.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._explain import Explanation
from .._keys import Backend
from .._keyset import KeySet
from .._registry import Registry, fallthrough
from . import _live

_BY_ARGUMENTS = ("1.13", "2.0", "2.1", "2.2", "2.3", "2.4")
# The label of a fallthrough that PyTorch calls. Such a call is an internal error of PyTorch.
CALLED = "a fallthrough, which fails when it is called"


@dataclass(frozen=True)
class Masked:
    """A key that PyTorch skips, or does not skip, because of the arguments' backend.

    key             the key of the backend that the call is routed by
    by              the key of the arguments' backend, which decides
    is_fallthrough  the key is skipped
    """

    key: str
    by: str
    is_fallthrough: bool

    @property
    def label(self) -> str:
        """The function that stands for this key in the explanation."""
        return f"like {self.by}" if self.is_fallthrough else CALLED

    def __str__(self) -> str:
        return f"{self.key} is {'' if self.is_fallthrough else 'not '}skipped, like {self.by}"


def _backend(keys: KeySet) -> Backend:
    """Return the backend whose mask is used; the first one if the set has none."""
    backends = keys.layout.backends
    return next((b for b in reversed(backends) if b.keyset.bits & keys.bits), backends[0])


def apply(registry: Registry, name: str, ex: Explanation) -> tuple[Masked, ...]:
    """Register functions with which the registry skips the same keys as PyTorch."""
    layout = registry.layout
    by, at = _backend(ex.route.arguments), _backend(ex.merged)
    if _live.release() not in _BY_ARGUMENTS or by == at:
        return ()
    table, found = registry.table(name), []
    for functionality in layout.functionalities:
        if functionality.kind == "building-block" and functionality in ex.merged:
            skips = table.entry(functionality, by).is_fallthrough
            if skips != table.entry(functionality, at).is_fallthrough:
                keys = [KeySet(functionality.keyset.bits | b.keyset.bits, layout=layout).highest
                        for b in (at, by)]
                found.append(Masked(keys[0].name, keys[1].name, skips))
    for m in found:
        fn: Any = fallthrough if m.is_fallthrough else _live._never
        registry.impl(name, m.key, fn, label=m.label)
    return tuple(found)
