# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Finds what a mode of PyTorch changes, by entering it and reading the keys inside it."""
from __future__ import annotations

import errno
import importlib
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Sequence

from .._error import did_you_mean, error, shown
from .._keys import Backend, compute_key
from .._keyset import KeySet
from . import _live

Run = Callable[[Any], Any]


@dataclass(frozen=True)
class Bits:
    """The bits that a change adds to a set, and those that it removes."""

    added: int
    removed: int

    def apply(self, keys: KeySet) -> KeySet:
        """Return the set after the change."""
        return KeySet(keys.bits & ~self.removed | self.added, layout=keys.layout)


@dataclass(frozen=True)
class Effect:
    """What a change adds to tensors' keys and to the local state, and what it removes."""

    tensors: Bits
    included: Bits
    excluded: Bits


def _no_grad(torch: Any, _devices: Sequence[str], run: Run, t: Any) -> None:
    with torch.no_grad():
        run(t)


def _inference_mode(torch: Any, _devices: Sequence[str], run: Run, t: Any) -> None:
    with torch.inference_mode():
        run(t)


@contextmanager
def _autocast_on(torch: Any, device: str) -> Iterator[None]:
    with _live.lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mode = torch.autocast(device)
    if getattr(mode, "_enabled", True):
        with mode:
            yield
        return
    # torch.autocast("cuda") does nothing without a GPU. So call the function that it would call.
    if device != "cuda":
        raise RuntimeError(f"torch.autocast('{device}') is disabled here")
    before = torch.is_autocast_enabled()
    torch.set_autocast_enabled(True)
    try:
        yield
    finally:
        torch.set_autocast_enabled(before)


def _autocast(torch: Any, devices: Sequence[str], run: Run, t: Any) -> None:
    """Enter autocast for the devices of the tensors, as far as it supports them."""
    with ExitStack() as stack:
        refused = []
        for device in devices:
            try:
                stack.enter_context(_autocast_on(torch, device))
            except _CANNOT as e:
                refused.append(e)
        if len(refused) == len(devices):
            raise refused[0]
        run(t)


def _vmap_of(torch: Any, run: Run) -> Run:
    places = (torch, getattr(torch, "func", None))
    vmap = next((p.vmap for p in places if hasattr(p, "vmap")), None) or \
        importlib.import_module("functorch").vmap
    mapped: Run = vmap(run)
    return mapped


def _vmap(torch: Any, _devices: Sequence[str], run: Run, t: Any) -> None:
    _vmap_of(torch, run)(t)


def _requires_grad(torch: Any, _devices: Sequence[str], run: Run, t: Any) -> None:
    run(torch.tensor(t.tolist(), requires_grad=True))


def _inference(torch: Any, _devices: Sequence[str], run: Run, t: Any) -> None:
    with torch.inference_mode():
        made = torch.tensor(t.tolist())
    run(made)


MODES: dict[str, Callable[[Any, Sequence[str], Run, Any], None]] = {
    "no_grad": _no_grad, "inference_mode": _inference_mode, "autocast": _autocast, "vmap": _vmap}
# The modes, and the properties of tensors.
CHANGES = {**MODES, "requires_grad": _requires_grad, "inference": _inference}
_CANNOT = (AssertionError, AttributeError, ImportError, NotImplementedError, RuntimeError,
           TypeError, ValueError)


def check(names: Sequence[str], known: Sequence[str], what: str) -> None:
    """Raise an error for an unknown name."""
    if isinstance(names, str):      # a sequence of letters
        raise TypeError(f'expected a list, such as ["{known[0]}"], not {shown(names)}')
    for name in names:
        if name not in known:
            raise error(errno.EINVAL, f"expected {what}", "NONE", name,
                        did_you_mean(name, known) or f"use one of {', '.join(known)}")


def devices_of(keys: Sequence[KeySet]) -> list[str]:
    """Return the devices of tensors, as PyTorch names them; cpu if there is none."""
    found = [b.name.lower() for ks in keys for b in ks.layout.backends if b.keyset.bits & ks.bits]
    private = {"privateuse1": _live.private_name()}
    return list(dict.fromkeys(private.get(name, name) for name in found)) or ["cpu"]


def _enter(changes: Sequence[str], devices: Sequence[str], enter: Callable[[], Any]) -> None:
    """Enter modes. If PyTorch refuses them, raise an error with its reason."""
    try:
        enter()
    except _CANNOT as e:
        reason = (str(e).splitlines() or [type(e).__name__])[0].rstrip(".: ")
        raise error(errno.EOPNOTSUPP, f"PyTorch refuses {', '.join(changes)} on "
                    f"{', '.join(devices)}", "NONE", reason) from None


def effect(changes: Sequence[str], devices: Sequence[str]) -> Effect:
    """Return the effect of several changes together, each inside the one before it.

    devices  the devices of the tensors, for which autocast is entered
    """
    check(changes, list(CHANGES), "a mode or a tensor property")
    torch, layout = _live.pytorch(), _live.layout()
    seen: list[tuple[int, int, int]] = []

    def run(t: Any, left: Sequence[str]) -> Any:
        if left:
            CHANGES[left[0]](torch, devices, lambda inner: run(inner, left[1:]), t)
        else:
            included, excluded = _live.local_state(layout)
            seen.append((_live.keys_of(t, layout).bits, included.bits, excluded.bits))
        return t

    # Each vmap removes a dimension, so the tensor gets one for each change.
    value: Any = 0.0
    for _ in changes:
        value = [value]
    if "vmap" in changes:
        # In PyTorch 2, the first vmap imports torch._dynamo, which makes calls, and enters a mode
        # of __torch_function__.
        with _live.without_modes(with_function=True):
            _enter(changes, devices, lambda: _vmap_of(torch, lambda t: t))
    with _live.without_modes():
        run(torch.tensor(value), ())
        _enter(changes, devices, lambda: run(torch.tensor(value), changes))
    tensors, *local = (Bits(new & ~old, old & ~new) for old, new in zip(seen[0], seen[-1]))
    autograd = layout.constant("autograd_dispatch_keyset").bits
    if tensors.removed & autograd:
        # The measured tensor is dense. Tensors of other kinds have another autograd key, which is
        # removed, too.
        tensors = Bits(tensors.added, tensors.removed | autograd)
    return Effect(tensors, *local)


def on_device(keys: KeySet, device: str) -> KeySet:
    """Return the keyset of the same tensor on another device.

    device  the device's name in the library, such as "CUDA"
    """
    layout, autograd = keys.layout, keys.layout.constant("autograd_dispatch_keyset")
    old = next(iter(keys), keys.highest)
    if not old.number or old in autograd:
        return keys
    if old.functionality.kind == "building-block" and \
            device in (b.name for b in layout.backends):
        bits = old.functionality.keyset.bits | Backend(device, layout).keyset.bits
        new = KeySet(bits, layout=layout).highest
    elif old.functionality.name == "Dense":
        new = compute_key(device=device, layout=layout)
    else:
        raise error(errno.EINVAL, f"there are no tensors of {old} on this device", "NONE", device)
    is_inference = not keys.bits & autograd.bits
    others = keys.bits & ~old.keyset.fresh(is_inference).bits
    return KeySet(new.keyset.fresh(is_inference).bits | others, layout=layout)
