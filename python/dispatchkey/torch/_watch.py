# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Reports the registrations that a block of code makes in PyTorch."""
from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Iterator, Optional

from . import _live


@dataclass(frozen=True)
class Event:
    """Something that was registered or unregistered.

    is_added        whether it was registered
    kind            "operator", "function" or "fallback"
    operator        the operator's name, "" for a fallback
    key             the key, "" for an operator
    where           the place in the sources where it is registered, or "unknown"
    is_fallthrough  whether a function or fallback is a fallthrough
    """

    is_added: bool
    kind: str
    operator: str
    key: str
    where: str
    is_fallthrough: bool = False

    def __str__(self) -> str:
        what = {"operator": f"operator {self.operator}",
                "function": f"function of {self.operator} at {self.key}",
                "fallback": f"fallback at {self.key}"}[self.kind]
        passed = ", a fallthrough" if self.is_fallthrough else ""
        return f"{'+' if self.is_added else '-'} {what}: {self.where}{passed}"


# How often each registration exists. A key has the fields of Event, without is_added.
Registrations = Counter[tuple[str, str, str, str, bool]]


def _of_operator(name: str, dump: str) -> Registrations:
    """Return the registrations in a dump, each as the fields of its event."""
    live = _live.Operator(name, dump, "")
    found: Registrations = Counter(
        ("function", name, m["key"], _live.label(m["text"]), "fallthrough" in m["flags"])
        for m in live.impls())
    if live.is_defined:
        found["operator", name, "", _live.label(live.debug), False] += 1
    return found


def _of_fallbacks(entries: dict[str, _live.TableEntry]) -> Registrations:
    return Counter(("fallback", "", key, entry.where, entry.is_fallthrough)
                   for key, entry in entries.items())


@dataclass(frozen=True)
class _State:
    """The dumps of all operators, and the fallbacks."""

    dumps: dict[str, Optional[str]]
    fallbacks: dict[str, _live.TableEntry]

    @classmethod
    def read(cls) -> _State:
        return cls({name: _live.dump_of(name) for name in _live.operators()},
                   _live.all_fallbacks(_live.layout()))

    @property
    def unreadable(self) -> list[str]:
        """The names that PyTorch cannot parse."""
        return [name for name, dump in self.dumps.items() if dump is None]


def _difference(was: Registrations, now: Registrations) -> Iterator[Event]:
    for is_added, some in ((False, was - now), (True, now - was)):
        for fields in sorted(some.elements(), key=lambda f: (f[0] != "operator", f)):
            yield Event(is_added, *fields)


def _events(before: _State, after: _State) -> Iterator[Event]:
    yield from _difference(_of_fallbacks(before.fallbacks), _of_fallbacks(after.fallbacks))
    for name in sorted({*before.dumps, *after.dumps}):
        was, now = before.dumps.get(name) or "", after.dumps.get(name) or ""
        if was != now:
            yield from _difference(_of_operator(name, was), _of_operator(name, now))


class Watch:
    """The registrations made while the block of watch() ran. print() writes a line for each.

    events   what was registered and unregistered; empty until the block has ended
    skipped  the operators that PyTorch lists but cannot read; normally none
    """

    def __init__(self) -> None:
        self.events: tuple[Event, ...] = ()
        self.skipped: tuple[_live.Skipped, ...] = ()

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def __repr__(self) -> str:
        return f"<Watch, {len(self)} events>"

    def __str__(self) -> str:
        lines = [str(event) for event in self.events] or ["nothing was registered"]
        return "\n".join([*lines, *map(str, self.skipped)])


@contextmanager
def watch() -> Iterator[Watch]:
    """Report what a block of code registers in PyTorch's dispatcher, and what it unregisters.

    The registrations of all operators before and after the block are compared. Functions
    that the block both registers and unregisters are not reported. What other threads
    register during the block is reported, too.
    """
    found = Watch()
    before = _State.read()
    try:
        yield found
    finally:
        after = _State.read()
        found.events = tuple(_events(before, after))
        found.skipped = tuple(_live.Skipped(name, str(_live.unreadable(name)))
                              for name in sorted({*before.unreadable, *after.unreadable}))
