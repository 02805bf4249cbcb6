# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Reports how modes, tensor properties and devices would change a call in PyTorch."""
from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Iterator, Optional, Sequence

from .._error import Error
from .._keyset import KeySet
from . import _live, _modes
from ._diff import TorchDiff, diff
from ._path import TorchCall, check_call, explain_keys
from ._words import devices, html_table

_COLUMNS, _PATH = 100, 50
_NOTES = {
    "no_grad": "no_grad changes no key: the autograd functions are called, but record nothing.",
    "requires_grad": "requires_grad changes no key: the autograd functions read it from the "
                     "tensors."}


@dataclass(frozen=True, repr=False)
class WhatIf:
    """The effect of one change on a call.

    change      the change, such as "autocast" or "cuda"
    difference  the call and the changed one, or None if PyTorch refuses the change
    reason      why PyTorch refuses it
    """

    change: str
    difference: Optional[TorchDiff]
    reason: str = ""

    @property
    def path(self) -> str:
        """The path of the changed call."""
        return path_of(self.difference.b) if self.difference else "-"

    def __repr__(self) -> str:
        return f"<WhatIf {self.change}: {self}>"

    def __str__(self) -> str:
        if not self.difference:
            return self.reason
        rows = self.difference.rows
        parts = [("with", [row.b.key for row in rows if row.b and not row.a]),
                 ("without", [row.a.key for row in rows if row.a and not row.b]),
                 ("another function at",
                  [row.b.key for row in rows if row.a and row.b and not row.is_same])]
        return "; ".join(f"{what} {', '.join(k.name for k in keys)}" for what, keys in parts
                         if keys) or "the same functions"


def path_of(call: TorchCall) -> str:
    """Return the keys of a call's path."""
    return " > ".join(f"{hop.key}" if hop.why.route.entry else f"{hop.key} (no function)"
                      for hop in call.hops)


@dataclass(frozen=True, repr=False)
class WhatIfs:
    """The effect of each of several changes on a call. print() and notebooks show a table.

    call     the call
    changes  the effect of each change
    """

    call: TorchCall
    changes: tuple[WhatIf, ...]

    def __iter__(self) -> Iterator[WhatIf]:
        return iter(self.changes)

    def __getitem__(self, change: str) -> WhatIf:
        for found in self.changes:
            if found.change == change:
                return found
        raise KeyError(f"{change}: the changes are {', '.join(w.change for w in self.changes)}")

    def __len__(self) -> int:
        return len(self.changes)

    def __repr__(self) -> str:
        return f"<WhatIfs of {self.call.operator}, {self.call.description}: " \
            f"{', '.join(w.change for w in self.changes) or 'no changes'}>"

    def _repr_html_(self) -> str:
        call = self.call
        rows = [("", path_of(call), ""), *((w.change, w.path, str(w)) for w in self.changes)]
        return f"<p>{escape(call.operator)} in PyTorch {escape(call.version)}: " \
            f"{escape(call.description)}</p>\n" + \
            html_table(["what if", "path", "difference"], rows)

    def __str__(self) -> str:
        call = self.call
        now = path_of(call)
        names = max(len("what if"), *(len(w.change) for w in self.changes), 0)
        paths = max(len(now), *(len(w.path) for w in self.changes if len(w.path) <= _PATH), 0)
        lines = [f"{call.operator} in PyTorch {call.version}: {call.description}", "",
                 f"{'what if':{names}}  {'path':{paths}}  difference", f"{'':{names}}  {now}"]
        for w in self.changes:
            head = f"{w.change:{names}}  {w.path:{paths}}"
            if len(w.path) > paths or len(head) + 2 + len(str(w)) > _COLUMNS:
                lines += [head.rstrip(), f"{'':{names}}    {w}"]
            else:
                lines.append(f"{head}  {w}")
        found = {w.change: w.difference for w in self.changes if w.difference}
        notes = [note for change, note in _NOTES.items() if change in found]
        notes += dict.fromkeys(note for d in found.values() for note in d.notes)
        return "\n".join(lines + ([""] if notes else []) + notes)


def explain_under(operator: str, keys: Sequence[KeySet], modes: Sequence[str],
                  made_on: Optional[KeySet] = None) -> TorchCall:
    """Explain a call under modes of PyTorch. Each mode is entered inside the one before it.

    operator  the operator's name with its overload
    keys      the keys of each tensor
    modes     no_grad, inference_mode, autocast (on the tensors' devices), vmap (of all tensors)
    made_on   see explain_keys()
    """
    _modes.check(modes, list(_modes.MODES), "a mode")
    if not modes:
        return explain_keys(operator, keys, made_on=made_on)
    effect = _modes.effect(modes, _modes.devices_of(keys))
    included, excluded = _live.local_state(_live.layout())
    return explain_keys(operator, [effect.tensors.apply(ks) for ks in keys],
                        (effect.included.apply(included), effect.excluded.apply(excluded)), modes,
                        made_on)


def changed(call: TorchCall, change: str) -> TorchCall:
    """Return the same call after a change; raise an error if PyTorch refuses the change."""
    ex, layout = call.explanation, call.explanation.layout
    names = devices(layout)
    if change in names and change not in _modes.CHANGES:
        keys = [_modes.on_device(ks, names[change]) for ks in ex.objects]
        made_on = call.made_on and \
            next(iter(_modes.on_device(call.made_on, names[change]))).keyset
        return explain_keys(call.operator, keys, (ex.included, ex.excluded), call.under, made_on)
    effect = _modes.effect([change], _modes.devices_of(ex.objects))
    return explain_keys(call.operator, [effect.tensors.apply(ks) for ks in ex.objects],
                        (effect.included.apply(ex.included), effect.excluded.apply(ex.excluded)),
                        (*call.under, change) if change in _modes.MODES else call.under,
                        call.made_on)


def _default(call: TorchCall) -> list[str]:
    present = _modes.devices_of(call.explanation.objects)
    return [*_modes.CHANGES, *(d for d in ("cpu", "cuda", "meta") if d not in present)]


def what_if(call: TorchCall, changes: Optional[Sequence[str]] = None) -> WhatIfs:
    """Report what each of these changes would do to the path of a call.

    call     from explain() or explain_keys()
    changes  modes: no_grad, inference_mode, autocast, vmap; properties of the tensors:
             requires_grad, inference; devices to move the tensors to, such as cuda. By
             default all modes and properties, and a few devices

    Each mode is entered in PyTorch, and the keys are read inside it. The call is not made.
    """
    check_call(call)
    layout = _live.layout()
    wanted = _default(call) if changes is None else changes
    _modes.check(wanted, [*_modes.CHANGES, *devices(layout)], "a mode, a tensor property or a "
                 "device")
    found = []
    for change in wanted:
        try:
            found.append(WhatIf(change, diff(call, changed(call, change))))
        except (Error, ImportError) as e:
            found.append(WhatIf(change, None, str(e)))
    return WhatIfs(call, tuple(found))
