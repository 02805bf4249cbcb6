# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Defines the keys that a thread includes and excludes, and guards for `with`."""
from __future__ import annotations

import threading
import weakref
from contextlib import _GeneratorContextManager, contextmanager
from typing import Iterator, NamedTuple, Union

from . import _abi
from ._error import error
from ._keys import Backend, Key, Layout
from ._keyset import Keys, KeySet
from ._library import lib

_threads = threading.local()
# A local state holds each set XORed with that of a new thread in layout v1.
_NEW_INCLUDED, _NEW_EXCLUDED = (Layout().constant(f"default_{which}_set").bits
                                for which in ("included", "excluded"))


class LocalState(NamedTuple):
    """The included and the excluded set of a thread."""

    included: KeySet
    excluded: KeySet


def state_of(layout: Layout) -> _abi.dk_local:
    """Return the thread's state, which the library keeps for v1, and this module otherwise."""
    if layout.name == "v1":
        current: _abi.dk_local = lib.dk_local_current().contents
        return current
    # A state that differs from a new one belongs to a guard, which keeps the layout alive.
    states: weakref.WeakKeyDictionary[Layout, _abi.dk_local] = _threads.__dict__.setdefault(
        "states", weakref.WeakKeyDictionary())
    if layout not in states:
        states[layout] = _abi.dk_local()
        sets = [layout.constant(f"default_{which}_set").bits for which in ("included", "excluded")]
        _set(states[layout], *sets)
    return states[layout]


def _set(state: _abi.dk_local, included: int, excluded: int) -> None:
    state.included, state.excluded = included ^ _NEW_INCLUDED, excluded ^ _NEW_EXCLUDED


def _get(state: _abi.dk_local) -> tuple[int, int]:
    return state.included ^ _NEW_INCLUDED, state.excluded ^ _NEW_EXCLUDED


def local(layout: Union[str, Layout] = "v1") -> LocalState:
    """Return the sets that calls of this thread include and exclude.

    >>> print(local().included)
    DispatchKeySet(BackendSelect, ADInplaceOrView)
    """
    layout = Layout(layout)
    return LocalState(*(KeySet(bits, layout=layout) for bits in _get(state_of(layout))))


def _keyset(keys: tuple[Keys, ...], layout: Union[str, Layout, None]) -> KeySet:
    return KeySet(*keys, layout=layout)


@contextmanager
def include(*keys: Keys, layout: Union[str, Layout, None] = None) -> Iterator[None]:
    """Include keys in calls of this thread, until the end of the `with` block.

    >>> with include("Tracer"):
    ...     "Tracer" in local().included
    True

    At the end of the block the whole included set is restored (IncludeDispatchKeyGuard).
    Guards can also be used as decorators. They change the thread's state, so do not await
    in the block.
    """
    added = _keyset(keys, layout)
    state = state_of(added.layout)
    saved = state.included
    included, excluded = _get(state)
    _set(state, included | added.bits, excluded)
    try:
        yield
    finally:
        state.included = saved


@contextmanager
def exclude(*keys: Keys, layout: Union[str, Layout, None] = None) -> Iterator[None]:
    """Exclude keys from calls of this thread; used like include() (ExcludeDispatchKeyGuard)."""
    added = _keyset(keys, layout)
    state = state_of(added.layout)
    saved = state.excluded
    included, excluded = _get(state)
    _set(state, included, excluded | added.bits)
    try:
        yield
    finally:
        state.excluded = saved


@contextmanager
def preserve(layout: Union[str, Layout] = "v1") -> Iterator[None]:
    """Restore both sets at the end of the block (_PreserveDispatchKeyGuard)."""
    state = state_of(Layout(layout))
    saved = state.included, state.excluded
    try:
        yield
    finally:
        state.included, state.excluded = saved


@contextmanager
def force(included: Keys, excluded: Keys = "",
          layout: Union[str, Layout, None] = None) -> Iterator[None]:
    """Replace both sets (ForceDispatchKeyGuard)."""
    first = _keyset((included,), layout)
    second = _keyset((excluded,), layout or first.layout)
    with preserve(first.layout):
        _set(state_of(first.layout), first.bits, second.bits)
        yield


def below_autograd(layout: Union[str, Layout] = "v1") -> _GeneratorContextManager[None]:
    """Exclude autograd (AutoDispatchBelowAutograd)."""
    return exclude(Layout(layout).constant("autograd_dispatch_keyset"))


def below_adinplace_or_view(
        layout: Union[str, Layout] = "v1") -> _GeneratorContextManager[None]:
    """Exclude autograd and ADInplaceOrView (AutoDispatchBelowADInplaceOrView)."""
    return exclude(Layout(layout).constant("autograd_dispatch_keyset_with_ADInplaceOrView"))


def skip_functionalize(layout: Union[str, Layout] = "v1") -> _GeneratorContextManager[None]:
    """Exclude Functionalize (AutoDispatchSkipFunctionalize)."""
    return exclude("Functionalize", layout=layout)


@contextmanager
def inference_mode(on: bool = True) -> Iterator[None]:
    """Turn inference mode on or off, with the keys of layout v1 (InferenceMode)."""
    with preserve():
        lib.dk_local_set_inference(state_of(Layout()), on)
        yield


@contextmanager
def autocast(backend: Union[str, Backend] = "CUDA", on: bool = True) -> Iterator[None]:
    """Turn autocast on or off for tensors of a backend of layout v1 (autocast())."""
    backend = backend if isinstance(backend, Backend) else Backend(backend)
    state = state_of(Layout())
    saved = state.excluded
    result = lib.dk_local_set_autocast(state, backend.number, on)
    if result < 0:
        raise error(-result, "the backend has no autocast key", "BAD_KEY", backend.name)
    try:
        yield
    finally:
        state.excluded = saved


@contextmanager
def set_excluded(key: Union[str, Key], want: bool = True) -> Iterator[None]:
    """Set whether one key of layout v1 is excluded (_SetExcludeDispatchKeyGuard)."""
    key, state = Key(key), state_of(Layout())
    KeySet(key)     # refuses alias keys
    was = lib.dk_local_is_excluded(state, key.number)
    lib.dk_local_set_excluded(state, key.number, want)
    try:
        yield
    finally:
        lib.dk_local_set_excluded(state, key.number, was)
