# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Writes PyTorch's operators and calls as a transcript for dkctl replay."""
from __future__ import annotations

import shlex
from typing import Iterator, Union

from .._explain import Explanation
from .._keys import Key
from .._keyset import KeySet
from . import _live, _stale
from ._path import TorchCall


def transcript(*calls: Union[TorchCall, str]) -> str:
    """Return the registrations of operators and the explanations of calls, for dkctl replay.

    calls  calls from explain() or explain_keys(), and names of operators

    The answers to "table" are PyTorch's own; the answers to "call" and "route" are from
    the explanations. On a machine without PyTorch, dkctl replay --check compares them
    with dispatchkey's own answers.
    """
    names = [_live.operator_name(c) if isinstance(c, str) else c.operator for c in calls]
    found = {name: _live.Operator.read(name) for name in names}
    layout = _live.layout()
    lines = [] if _live.is_described() else [f"> layout {layout}"]
    fallbacks = {key: entry for live in found.values()
                 for key, entry in live.fallbacks(layout).items()}
    for key, entry in fallbacks.items():
        lines.append(f"> fallback {'-f ' if entry.is_fallthrough else ''}{key} "
                     f"{shlex.quote(entry.where)}")
    for live in found.values():
        lines += _operator(live)
    for call in calls:
        if isinstance(call, TorchCall):
            lines += [f"> impl {'-f ' if m.is_fallthrough else ''}{call.operator} {m.key} "
                      f"{shlex.quote(m.label)}" for m in call.masked]
            lines += _call(call)
            # a label may occur twice, and "drop" drops all its functions
            lines += [f"> drop {shlex.quote(label)}"
                      for label in dict.fromkeys(m.label for m in call.masked)]
    return "\n".join(lines) + "\n"


def _operator(live: _live.Operator) -> Iterator[str]:
    """Return the definition, the functions, oldest first, and PyTorch's table."""
    options = ""
    for flag, value in (("-g", live.debug), ("-a", live.alias_analysis)):
        options += f" {flag} {shlex.quote(value)}" if value else ""
    yield f"> op -s {shlex.quote(live.readable_schema)}{options} {live.name}"
    for m in reversed(live.impls()):
        flags = m["flags"].split()
        option = "-f " if "fallthrough" in flags else "-u " if "unboxed" in flags else ""
        yield f"> impl {option}{live.name} {m['key']} {shlex.quote(_live.label(m['text']))}"
    yield f"> table {live.name}"
    yield from (f"{key}: {entry}" for key, entry in _entries(live).items())


def _entries(live: _live.Operator) -> dict[str, _live.TableEntry]:
    """Return the entries that calls find, which can be stale, in the order of the table."""
    layout = _live.layout()
    entries = dict(live.entries)
    for stale in _stale.find(live, layout).certain:
        real = stale.functions[0]
        entries.pop(stale.key.name, None)
        if real.is_served:
            entries[stale.key.name] = _live.TableEntry(real.label, real.rule, real.is_fallthrough)
    return dict(sorted(entries.items(), key=lambda item: Key(item[0], layout).entry))


def _hex(keys: KeySet) -> str:
    return hex(keys.bits)


def _served(ex: Explanation) -> str:
    """Return the end of the first line of an answer."""
    entry = ex.route.entry
    what = "ambiguous" if entry.is_ambiguous else "missing" if not entry.is_served else \
        "fallthrough" if entry.is_fallthrough else entry.label
    return f"{_hex(ex.route.effective)} {ex.route.key} {what}"


def _call(call: TorchCall) -> Iterator[str]:
    """Return the call with its local state, then each redispatch."""
    ex = call.explanation
    if ex.objects:
        yield _local(ex)
        yield f"> call -v {call.operator} {' '.join(map(_hex, ex.objects))}"
        yield f"{_hex(ex.route.arguments)} {_served(ex)}"
        yield str(ex)
    else:
        yield from _route(call.operator, ex)
    for hop in call.hops[1:]:
        yield from _route(call.operator, hop.why)


def _local(ex: Explanation) -> str:
    return f"> local {_hex(ex.included)} {_hex(ex.excluded)}"


def _route(name: str, ex: Explanation) -> Iterator[str]:
    yield _local(ex)
    yield f"> route -v {name} {_hex(ex.route.arguments)}"
    yield _served(ex)
    yield str(ex)
