# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Defines routes of calls, and their explanations."""
from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import TYPE_CHECKING, Iterator, Optional

from . import _abi
from ._keys import Key, Layout
from ._keyset import KeySet
from ._library import lib

if TYPE_CHECKING:
    from ._registry import Registry

_COLUMNS, _WHAT, _KEY = 100, 13, 39
_NAMES = {prefix: {v: n[len(prefix):] for n, v in vars(_abi).items() if n.startswith(prefix)}
          for prefix in ("DK_VERDICT_", "DK_BEARING_", "DK_STEP_")}
_BEARINGS = {"NONE": "not used", "OVERRIDDEN": "overridden", "SERVES": "used",
             "DECIDES": "not used, but decides the route",
             "SET": "not used, but changes the set", "OFFLINE": "offline"}


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


@dataclass(frozen=True)
class Entry:
    """The function of a table entry or a route.

    label           the function's name, or ""
    provider        the provider that registered it, such as "python"
    rule            the rule that selected it, in PyTorch's words: "kernel", "math kernel",
                    "default backend kernel", "backend fallback", "missing", ...
    is_fallthrough  calls are routed as if the key were not in their set
    """

    label: str
    provider: str
    rule: str
    is_fallthrough: bool
    device: str = ""
    provenance: int = 0

    @classmethod
    def _of(cls, e: _abi.dk_entry) -> Entry:
        return cls(_text(e.label), _text(e.provider),
                   _text(lib.dk_provenance_name(e.provenance)), bool(e.is_fallthrough),
                   _text(e.device_name), e.provenance)

    @property
    def is_served(self) -> bool:
        """Whether there is a function, or a fallthrough."""
        return self.provenance not in (_abi.DK_PROV_MISSING, _abi.DK_PROV_NO_ENTRY,
                                       _abi.DK_PROV_AMBIGUOUS)

    @property
    def is_ambiguous(self) -> bool:
        """Whether CompositeImplicitAutograd and a backend of AutogradOther have functions."""
        return self.provenance == _abi.DK_PROV_AMBIGUOUS

    def in_dump(self) -> str:
        """The entry as PyTorch's _dispatch_dump_table() prints it."""
        at = f"@{self.device}" if self.device else ""
        what = "ambiguous_autogradother" if self.is_ambiguous else self.label + at
        return f"{'fallthrough ' if self.is_fallthrough else ''}{what} [{self.rule}]"

    def __bool__(self) -> bool:
        return self.is_served

    def __str__(self) -> str:
        if self.is_ambiguous:
            return ("ambiguous: both CompositeImplicitAutograd and a backend of AutogradOther have "
                    "a function")
        if not self.is_served:
            return "nothing serves it"
        at = f"@{self.device}" if self.device else ""
        of = f" of {self.provider}" if self.provider else ""
        passed = ", calls skip it" if self.is_fallthrough else ""
        return f"{self.label}{at}{of} [{self.rule}]{passed}"


@dataclass(frozen=True)
class Route:
    """The route of a call: the function that serves it.

    arguments  the union of the keysets of the arguments
    effective  that set with the local state applied, without fallthrough keys
    key        the key that the call is routed by, the highest in effective
    entry      the function
    error      0, or the errno that the call would fail with
    """

    operator: str
    arguments: KeySet
    effective: KeySet
    key: Key
    entry: Entry
    error: int

    def __bool__(self) -> bool:
        return self.error == 0

    def __str__(self) -> str:
        keys = ", ".join(key.name for key in self.arguments)
        return f"{self.operator}({keys}) goes to {self.entry}" if self else \
            f"{self.operator}({keys}) has no function at {self.key}: {self.entry}"


@dataclass(frozen=True)
class Step:
    """One step of an explanation: a key that falls through, a rule, or a registration.

    kind      "mask", "rule" or "impl"
    rule      the number of the rule (Documentation/semantics.rst, 7.2)
    key       the key removed, the key of the rule, or the key that the function is registered at
    verdict   for a rule, its result, such as "SERVES" or "BARRED" (enum dk_verdict)
    bearing   for a registration, its effect, such as "SERVES" or "NONE" (enum dk_bearing)
    function  the function that the step is about, or ""; impl_key is its key
    """

    kind: str
    rule: int
    key: Key
    verdict: str
    bearing: str
    function: str
    impl_key: Key
    is_fallthrough: bool
    is_fallback: bool
    provider: str

    @classmethod
    def _of(cls, s: _abi.dk_step, registry: Registry) -> Step:
        device = f"@{_text(s.device_name)}" if s.device else ""
        is_rule, is_impl = s.kind == _abi.DK_STEP_RULE, s.kind == _abi.DK_STEP_IMPL
        return cls(_NAMES["DK_STEP_"][s.kind].lower(), s.rule, Key(s.key, registry.layout),
                   _NAMES["DK_VERDICT_"].get(s.verdict, "unknown") if is_rule else "",
                   _NAMES["DK_BEARING_"].get(s.bearing, "unknown") if is_impl else "",
                   _text(s.label) + device if s.has_impl else "",
                   Key(s.impl_key, registry.layout), bool(s.is_fallthrough),
                   bool(s.is_fallback), _text(s.provider))


class Explanation:
    """An explanation of a call's route. print() writes all steps; a notebook shows a picture.

    route      the route
    objects    the keysets of the arguments
    included   the included set of the thread
    excluded   the excluded set
    merged     the arguments with both sets applied, before fallthrough keys are removed
    steps      the keys that fall through, the eleven rules, and the registrations
    """

    def __init__(self, registry: Registry, route: Route, ex: _abi.dk_explain,
                 objects: list[_abi.dk_obj], steps: list[Step]):
        self.route, self.steps = route, steps
        self.objects = [registry._keyset(obj.ks.bits) for obj in objects]
        self._devices = [registry._device_text(obj.device) for obj in objects]
        self._device = registry._device_text(ex.device)
        self.included = registry._keyset(ex.included.bits)
        self.excluded = registry._keyset(ex.excluded.bits)
        self.merged = registry._keyset(ex.merged.bits)
        self.trimmed_index = lib.dk_table_index(registry.layout._ptr, route.effective.bits)
        backend = self.entry_key.backend
        self.backend_name = registry._backend_name(backend) if backend else ""

    @property
    def layout(self) -> Layout:
        """The layout of the sets."""
        return self.merged.layout

    @property
    def entry_key(self) -> Key:
        """The key of the table entry, which a trimmed table may lack."""
        if self.trimmed_index < 0:
            return self.route.key
        return Key(lib.dk_slot_key(self.layout._ptr, self.route.effective.entry), self.layout)

    def svg(self) -> str:
        """The picture, as text of an SVG file without external references."""
        from ._picture import explanation_svg
        return explanation_svg(self)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        from ._picture import as_image
        return as_image(self.svg(), str(self))

    def __repr__(self) -> str:
        return f"<Explanation: {self.route}>"

    def __str__(self) -> str:
        return "\n".join(_Lines(self).all())

    def sets(self) -> list[tuple[str, KeySet]]:
        """Return the sets from the arguments to the merged set, each with its name."""
        found = []
        if len(self.objects) > 1 or any(self._devices):
            found += [("object" if not i else "| object", ks)
                      for i, ks in enumerate(self.objects)]
        return found + [("= arguments" if len(self.objects) > 1 else "arguments",
                         self.route.arguments), ("+ included", self.included),
                        ("- excluded", self.excluded), ("= merged", self.merged)]


def names_of(keys: KeySet) -> list[str]:
    """Return the names of a set's keys, and of functionalities or backends that form no key."""
    names = [key.name for key in keys]
    halves = [f for f in keys.layout.functionalities
              if f.kind == "building-block" and f.keyset.bits & keys.bits]
    backends = [b for b in keys.layout.backends if b.keyset.bits & keys.bits]
    if not backends:
        names += [f.name for f in halves]
    elif not halves:
        names += [b.bit_name for b in backends]
    return names


def verdict_of(step: Step, ex: Explanation) -> str:
    """Return the verdict of a rule in words."""
    what = step.function
    if step.is_fallthrough and what != "fallthrough":
        what += " (fallthrough)"
    words = {
        "SERVES": f"{'no function' if step.is_fallthrough else 'serves'}: {what} "
                  f"[{ex.route.entry.rule}]",
        "AMBIGUOUS": "ambiguous: a backend of AutogradOther also has a function",
        "MISSING": "missing: no rule has a function",
        "NO_IMPL": "no: no usable backend fallback is registered" if step.rule == 10 else
                   "no: nothing is registered",
        "NO_ALIAS": "no: this layout lacks the alias key",
        "OUTSIDE": f"no: does not include {ex.entry_key}",
        "BARS": f"barred by {step.function} at {step.impl_key}",
        "BARS_NOT": "not barred",
        "BARRED": f"no: {what} is registered, but barred by rule 4",
        "HAS_ENTRY": "no: the table has this entry",
        "NO_ENTRY": f"no: the table has no entry for {what}" if what else
                    "missing: the trimmed table has no such entry",
    }
    return words.get(step.verdict, "unknown to this version")


def rule_lines(ex: Explanation) -> list[str]:
    """Return a line for each rule that was evaluated."""
    return [f"rule {s.rule:2}  "
            f"{'-' if s.verdict in ('NO_ALIAS', 'MISSING') else s.key.name:{_KEY}}"
            f"{verdict_of(s, ex)}"
            for s in ex.steps if s.kind == "rule" and s.verdict != "NOT_EVALUATED"]


def bearing_of(step: Step) -> str:
    """Return the effect of a registration in words."""
    what = step.function
    if step.is_fallthrough and what != "fallthrough":
        what += " (fallthrough)"
    kind = ", the backend fallback" if step.is_fallback else ""
    return f"{what}{kind}: {_BEARINGS.get(step.bearing, 'unknown to this version')}"


def mask_of(step: Step) -> str:
    """Return the reason why a key is removed."""
    by = "the backend fallback" if step.is_fallback else f"{step.function} at {step.impl_key}"
    return f"{step.key} falls through: {by}, rule {step.rule}"


class _Lines:
    """The text of an explanation, as dkctl replay prints it."""

    def __init__(self, ex: Explanation):
        self._ex = ex
        bits = ex.route.arguments.bits | ex.included.bits | ex.excluded.bits
        self._width = len(hex(bits))

    def all(self) -> list[str]:
        ex = self._ex
        lines = [self._set(what, ks) for what, ks in ex.sets()]
        # if any object is on a device, sets() lists each object first
        for i, device in enumerate(ex._devices):
            lines[i] += f" on {device}" if device else ""
        lines += [self._head("- mask", s.key.functionality.keyset.bits) + mask_of(s)
                  for s in ex.steps if s.kind == "mask"]
        lines.append(self._set("= effective", ex.route.effective))
        lines += self._entry()
        lines += rule_lines(ex)
        impls = [f"{'':9}{s.impl_key.name:{_KEY}}{bearing_of(s)}"
                 for s in ex.steps if s.kind == "impl"]
        return lines + (["registered at"] + impls if impls else [])

    def _head(self, what: str, bits: int) -> str:
        return f"{what:{_WHAT}}{hex(bits):>{self._width}}  "

    def _set(self, what: str, keys: KeySet) -> str:
        head = self._head(what, keys.bits)
        return head + self._wrap(names_of(keys) or ["nothing"], len(head))

    @staticmethod
    def _wrap(names: list[str], indent: int) -> str:
        text, column = names[0], indent + len(names[0])
        for name in names[1:]:
            if column + 2 + len(name) >= _COLUMNS:
                text += ",\n" + " " * indent + name
                column = indent + len(name)
            else:
                text += ", " + name
                column += 2 + len(name)
        return text

    def _entry(self) -> Iterator[str]:
        ex = self._ex
        yield f"{'top key':{_WHAT}}{ex.route.key}"
        on = f" on {ex.backend_name}" if ex.backend_name else ""
        on += f", for {ex._device}" if ex._device else ""
        yield f"{'table entry':{_WHAT}}{ex.trimmed_index}: {ex.entry_key.functionality}{on}"


def explain(registry: Registry, name: str, objects: list[_abi.dk_obj], pointers: object,
            state: tuple[int, int]) -> Explanation:
    """Query the library; repeat the query if the registry changes during it."""
    while True:
        found = _explain_once(registry, name, objects, pointers, state)
        if found is not None:
            return found


def _explain_once(registry: Registry, name: str, objects: list[_abi.dk_obj], pointers: object,
                  state: tuple[int, int]) -> Optional[Explanation]:
    ex, step = registry._sized(_abi.dk_explain), registry._sized(_abi.dk_step)
    steps: list[Step] = []
    ex.route = registry._sized(_abi.dk_route)
    with registry._operator(name) as op:
        registry._check(lib.dk_op_explain(op, *state, pointers, len(objects), ex), name)
        if ex.error not in (0, -errno.ENOSYS, -errno.ENOTUNIQ):
            registry._check(ex.error, name)
        result = 0
        while True:
            result = lib.dk_explain_step(op, ex, len(steps), step)
            if result:
                break
            steps.append(Step._of(step, registry))
    if result == -errno.EAGAIN:
        return None
    return Explanation(registry, route_of(registry, name, ex.route, ex.error), ex, objects, steps)


def route_of(registry: Registry, name: str, r: _abi.dk_route, result: int) -> Route:
    effective = registry._keyset(r.effective.bits)
    return Route(name, registry._keyset(r.raw.bits), effective, effective.highest,
                 Entry._of(r.entry), -result)
