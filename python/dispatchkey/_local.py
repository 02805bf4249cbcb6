# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Defines the keys that a thread includes and excludes, and guards for `with`."""
from __future__ import annotations

import functools
import inspect
import threading
import weakref
from typing import Any, Callable, NamedTuple, TypeVar, Union, cast

from . import _abi
from ._error import error
from ._keys import Backend, Key, Layout
from ._keyset import Keys, KeySet
from ._library import c_bool, lib

Function = TypeVar("Function", bound=Callable[..., Any])
Restore = Callable[[], object]

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
    # A state may be dropped with its layout. A guard that has changed a state keeps the
    # layout alive.
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


def _saved(state: _abi.dk_local, *sets: str) -> Restore:
    """Return a function that restores these sets of the state."""
    values = [getattr(state, name) for name in sets]

    def restore() -> None:
        for name, value in zip(sets, values):
            setattr(state, name, value)
    return restore


class Guard:
    """Changes the local state of the thread in a `with` block, or in calls of a function.

    A guard can be used more than once, by several threads, and inside itself.
    """

    def __init__(self, layout: Layout, change: Callable[[_abi.dk_local], Restore]):
        """change is called at the start of a block, and returns what is called at its end."""
        self._layout, self._change = layout, change
        self._entered = threading.local()

    def __enter__(self) -> None:
        self._restores().append(self._change(state_of(self._layout)))

    def __exit__(self, *exc: object) -> None:
        if not self._restores():
            raise RuntimeError("this thread has not entered the guard")
        self._restores().pop()()

    def _restores(self) -> list[Restore]:
        """Return what the ends of this thread's blocks call, the innermost last."""
        restores: list[Restore] = self._entered.__dict__.setdefault("restores", [])
        return restores

    def __reduce__(self) -> str:
        raise TypeError("a Guard cannot be copied: make another one, with the same keys")

    def __call__(self, fn: Function) -> Function:
        """Return a function that calls fn in a `with` block of this guard.

        A coroutine or a generator runs after the call that makes it, so fn must not be a
        function that returns one.
        """
        inner: Any = fn
        while isinstance(inner, functools.partial):
            inner = inner.func
        of_type: Any = getattr(type(inner), "__call__", None)   # of an object that is no function
        if any(is_late(f) for f in (inner, of_type) for is_late in (
                inspect.iscoroutinefunction, inspect.isgeneratorfunction,
                inspect.isasyncgenfunction)):
            raise TypeError("a guard cannot decorate a generator or an async function, which "
                            "runs after its call has returned: use `with` inside it, around "
                            "code that neither yields nor awaits")
        @functools.wraps(fn)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            with self:
                return fn(*args, **kwargs)
        return cast(Function, guarded)


def include(*keys: Keys, layout: Union[str, Layout, None] = None) -> Guard:
    """Include keys in calls of this thread, until the end of the `with` block.

    >>> with include("Tracer"):
    ...     "Tracer" in local().included
    True

    At the end of the block the whole included set is restored (IncludeDispatchKeyGuard).
    Guards can also be used as decorators, and more than once. They change the thread's
    state, so do not await in the block.
    """
    added = _keyset(keys, layout)

    def change(state: _abi.dk_local) -> Restore:
        restore = _saved(state, "included")
        included, excluded = _get(state)
        _set(state, included | added.bits, excluded)
        return restore
    return Guard(added.layout, change)


def exclude(*keys: Keys, layout: Union[str, Layout, None] = None) -> Guard:
    """Exclude keys from calls of this thread; used like include() (ExcludeDispatchKeyGuard)."""
    added = _keyset(keys, layout)

    def change(state: _abi.dk_local) -> Restore:
        restore = _saved(state, "excluded")
        included, excluded = _get(state)
        _set(state, included, excluded | added.bits)
        return restore
    return Guard(added.layout, change)


def preserve(layout: Union[str, Layout] = "v1") -> Guard:
    """Restore both sets at the end of the block (_PreserveDispatchKeyGuard)."""
    return Guard(Layout(layout), lambda state: _saved(state, "included", "excluded"))


def force(included: Keys, excluded: Keys = "",
          layout: Union[str, Layout, None] = None) -> Guard:
    """Replace both sets (ForceDispatchKeyGuard)."""
    first = _keyset((included,), layout)
    second = _keyset((excluded,), layout or first.layout)

    def change(state: _abi.dk_local) -> Restore:
        restore = _saved(state, "included", "excluded")
        _set(state, first.bits, second.bits)
        return restore
    return Guard(first.layout, change)


def below_autograd(layout: Union[str, Layout] = "v1") -> Guard:
    """Exclude autograd (AutoDispatchBelowAutograd)."""
    return exclude(Layout(layout).constant("autograd_dispatch_keyset"))


def below_adinplace_or_view(layout: Union[str, Layout] = "v1") -> Guard:
    """Exclude autograd and ADInplaceOrView (AutoDispatchBelowADInplaceOrView)."""
    return exclude(Layout(layout).constant("autograd_dispatch_keyset_with_ADInplaceOrView"))


def skip_functionalize(layout: Union[str, Layout] = "v1") -> Guard:
    """Exclude Functionalize (AutoDispatchSkipFunctionalize)."""
    return exclude("Functionalize", layout=layout)


def inference_mode(on: bool = True) -> Guard:
    """Turn inference mode on or off, with the keys of layout v1 (InferenceMode)."""
    c_bool(on, "inference_mode()")

    def change(state: _abi.dk_local) -> Restore:
        restore = _saved(state, "included", "excluded")
        lib.dk_local_set_inference(state, on)
        return restore
    return Guard(Layout(), change)


def autocast(backend: Union[str, Backend] = "CUDA", on: bool = True) -> Guard:
    """Turn autocast on or off for tensors of a backend of layout v1 (autocast())."""
    backend = Backend(backend, "v1")
    number = backend.number
    result = lib.dk_local_set_autocast(_abi.dk_local(), number, c_bool(on, "autocast()"))
    if result < 0:
        raise error(-result, "the backend has no autocast key", "BAD_KEY", backend.name)

    def change(state: _abi.dk_local) -> Restore:
        restore = _saved(state, "excluded")
        lib.dk_local_set_autocast(state, number, on)
        return restore
    return Guard(Layout(), change)


def set_excluded(key: Union[str, Key], want: bool = True) -> Guard:
    """Set whether one key of layout v1 is excluded (_SetExcludeDispatchKeyGuard)."""
    key = Key(key, "v1")
    number = key.number
    KeySet(key)             # refuses alias keys
    c_bool(want, "set_excluded()")

    def change(state: _abi.dk_local) -> Restore:
        was = lib.dk_local_is_excluded(state, number)
        lib.dk_local_set_excluded(state, number, want)
        return lambda: lib.dk_local_set_excluded(state, number, was)
    return Guard(Layout(), change)
