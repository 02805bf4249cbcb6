# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Follows a call in PyTorch from key to key."""
from __future__ import annotations

import errno
import textwrap
from collections import defaultdict
from dataclasses import dataclass
from html import escape
from typing import Any, Optional, Sequence, Union

from .._error import error
from .._explain import Explanation, rule_lines
from .._keys import Key, compute_key
from .._keyset import KeySet
from .._library import lib
from .._local import force
from .._registry import Registry
from . import _live, _mask, _stale, _which
from ._check import differences
from ._words import key_of_options

_COLUMNS = 100
PATH_HEADING = "path, if each function redispatches as PyTorch's generated ones do:"


@dataclass(frozen=True)
class Hop:
    """One function on the path of a call.

    key    the key that the call is routed by
    where  the place in the sources where the function is registered; "" if there is none
    rule   the rule that selected it, in PyTorch's words; begins with "stale" if PyTorch
           did not update the entry after later registrations
    why    the explanation of this step
    stale  of a stale entry, the key that the function is registered at; else ""
    """

    key: Key
    where: str
    rule: str
    why: Explanation
    stale: str = ""

    @property
    def registered_at(self) -> str:
        """The key, or alias key, that the function is registered at; "" if there is none."""
        keys = [s.impl_key.name for s in self.why.steps
                if s.kind == "rule" and s.verdict == "SERVES"]
        return self.stale or (keys[0] if keys else "")

    @property
    def function(self) -> tuple[str, str]:
        """The identity of the function: the key that it is registered at, and its place."""
        return self.registered_at, self.where

    def __str__(self) -> str:
        return "\n".join([self.summary, *self.rules])

    @property
    def summary(self) -> str:
        """The step in one line, without the rules."""
        return f"{self.key}: {self.where or 'no function'} [{self.rule}]"

    @property
    def rules(self) -> list[str]:
        """Return a line for each rule that was evaluated."""
        return [f"       {line}" for line in rule_lines(self.why)]


@dataclass(frozen=True)
class TorchCall:
    """A call in PyTorch, explained. print() writes all of it; a notebook shows a picture.

    operator     the operator's name
    version      of PyTorch
    explanation  the first step, with all sets
    hops         the path, if each function redispatches as PyTorch's generated ones do
    differences  entries of PyTorch's table that differ from the rules; normally none
    entries      the number of entries that were compared
    under        the modes of PyTorch that the call is made under, such as "autocast"
    stale        sentences about stale entries of PyTorch's table: the functions that calls
                 with these keys reach, or can reach, instead of those by the rules, and why
    made_on      the key that a function at BackendSelect computes from the arguments dtype,
                 layout and device, as a set; the default is CPU's
    masked       the keys that PyTorch up to 2.4 skips but the library does not, or the reverse;
                 none unless the local state includes a backend

    If a stale entry is certain, it is among the differences, and the path and the
    explanation are those of the real call.
    """

    operator: str
    version: str
    explanation: Explanation
    hops: tuple[Hop, ...]
    differences: tuple[str, ...]
    entries: int
    under: tuple[str, ...] = ()
    words: str = ""
    stale: tuple[str, ...] = ()
    made_on: Optional[KeySet] = None
    masked: tuple[_mask.Masked, ...] = ()

    @property
    def note(self) -> str:
        """A sentence if the path ends at a function that calls others with other keys; or ""."""
        end = self.hops[-1]
        calls = _CALLS.get(end.key.name)
        return f"{end.key} calls {calls}, which this path does not follow." \
            if calls and end.why.route.entry else ""

    @property
    def description(self) -> str:
        """The arguments and the modes in a few words."""
        on = self.words or "; ".join(key.name for ks in self.explanation.objects
                                     for key in list(ks)[:1])
        return (on or "no tensor") + (f" under {', '.join(self.under)}" if self.under else "")

    def _repr_svg_(self) -> str:
        return self.explanation._repr_svg_()

    def _repr_html_(self) -> str:
        return self.explanation._repr_html_() + "".join(
            f"<p>{escape(s)}</p>" for s in (self.note, *self.stale) if s)

    def __str__(self) -> str:
        layout = self.explanation.layout
        under = f", under {', '.join(self.under)}" if self.under else ""
        lines = [f"{self.operator} in PyTorch {self.version}, layout {layout}{under}", "",
                 str(self.explanation), "",
                 PATH_HEADING]
        # The rules of the first step are already printed above.
        lines += [f"  {i}.  {hop if i > 1 else hop.summary}" for i, hop in enumerate(self.hops, 1)]
        if any(hop.key.name == "BackendSelect" for hop in self.hops[:-1]):
            lines += ["", "BackendSelect continues with the backend that the arguments dtype, "
                      f"layout and device select: {next(iter(self.made_on or ()), 'CPU')}."]
        if self.note:
            lines += ["", self.note]
        for masked in self.masked:
            lines += ["", f"{masked}: PyTorch {self.version} decides by the arguments' backend."]
        for sentence in self.stale:
            lines += ["", textwrap.fill(sentence, _COLUMNS, break_on_hyphens=False)]
        if self.differences:
            lines += ["", "PyTorch's table differs from the rules:", *self.differences]
        else:
            lines += ["", f"PyTorch's table agrees with the rules in {self.entries} entries."]
        return "\n".join(lines)


def _differences(registry: Registry, name: str, live: _live.Operator,
                 stale: _stale.Found) -> list[str]:
    """Compare the table of our registry with PyTorch's table."""
    found = [f"  {d.key}: PyTorch has {d.pytorch}, the rules give {d.rules}"
             for d in differences(registry, name, live)]
    same: dict[tuple[str, str], list[str]] = defaultdict(list)
    for entry in stale.certain:
        real = _stale.named(entry.functions[0], entry.sources[0])
        same[real, _stale.named(entry.fresh)].append(entry.key.name)
    found += [textwrap.fill(f"{', '.join(keys)}: calls reach {real}, which is stale. By the rules "
                            f"they should reach {fresh}", _COLUMNS, initial_indent="  ",
                            subsequent_indent="    ", break_on_hyphens=False)
              for (real, fresh), keys in same.items()]
    if stale.is_unexplained:
        found.append("  an entry is stale: PyTorch's own check of its table fails. No order of the "
                     "registered\n    functions explains it, so a function was unregistered")
    return found


def _sentences(stale: _stale.Found, keys: KeySet) -> list[str]:
    """Describe the stale entries of these keys, in one sentence for each set of functions."""
    same: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for entry in stale.entries:
        if entry.key in keys:
            what = " or ".join(_stale.named(*f) for f in zip(entry.functions, entry.sources))
            same["" if entry.is_certain else "may", what, _stale.named(entry.fresh),
                 " and ".join(entry.unnoticed)].append(entry.key.name)
    version = ".".join(str(_live.pytorch().__version__).split(".")[:2])
    found = []
    for (may, what, fresh, later), at in same.items():
        where = " and ".join(at)
        if may:
            found.append(
                f"PyTorch {version} may still call {what} at {where}, and not {fresh}, because a "
                f"registration at {later} does not refresh this entry. PyTorch does not record "
                "whether that registration was the last one.")
        else:
            found.append(
                f"PyTorch {version} calls {what} at {where}, and not {fresh}, because "
                f"registering a function at {later} afterwards does not refresh this entry.")
    return found


# The keys whose functions do not redispatch, and what they call instead.
_CALLS = {
    "Python": "__torch_dispatch__ of the mode or of the tensor's class",
    "PreDispatch": "the mode that traces before autograd",
    **dict.fromkeys(("FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode",
                     "FuncTorchGradWrapper", "FuncTorchBatched", "Batched", "BatchedNestedTensor",
                     "Functionalize"), "operators with other keys")}


# The rules for CompositeImplicitAutograd and CompositeImplicitAutogradNestedTensor.
_COMPOSITE = ("math kernel", "nested kernel")


def _ends(hop: Hop) -> bool:
    """Return whether the call ends here, at a backend or a function that calls operators."""
    key, entry = hop.key, hop.why.route.entry
    return not entry or not key.number or entry.label == _mask.CALLED or \
        hop.rule.endswith(_COMPOSITE) or key.name in _CALLS or \
        key.functionality.name == "NestedTensor" or \
        bool(lib.dk_is_backend_key(key.layout._ptr, key.number))


def _hop(why: Explanation, stale: dict[str, _stale.StaleEntry]) -> Hop:
    """Make one step; stale has the stale entries by the labels of their functions."""
    entry = why.route.entry
    real = stale.get(entry.label)
    if real is None:
        return Hop(why.route.key, entry.label, entry.rule, why)
    return Hop(why.route.key, entry.label, f"stale {real.functions[0].rule}", why, real.sources[0])


def _after(key: Key) -> KeySet:
    """Return the keys that a function at this key redispatches to."""
    # Functions of autograd skip the other autograd keys.
    is_autograd = key.functionality in key.layout.constant("autograd_dispatch_keyset")
    return key.layout.constant("after_autograd_keyset") if is_autograd else key.below


# The operators whose functions at BackendSelect redispatch without the keys of the tensors.
_PINNED = ("aten::is_pinned", "aten::_pin_memory")


def _path(registry: Registry, name: str, first: Explanation, takes_any: bool,
          stale: dict[str, _stale.StaleEntry], made_on: KeySet) -> tuple[Hop, ...]:
    """Return the path; takes_any: whether the operator dispatches on any of its arguments."""
    hops = [_hop(first, stale)]
    while not _ends(hops[-1]):
        left = hops[-1].why.route.effective & _after(hops[-1].key)
        if hops[-1].key in left:       # PythonDispatcher stays in the set
            left -= hops[-1].key
        if hops[-1].key.name == "BackendSelect":
            # without tensors, the function at BackendSelect does not add the local state either
            left = left | made_on if takes_any and name not in _PINNED else made_on
        # Pass the remaining keys as an argument or, if the operator dispatches on no argument, as
        # the included set.
        nothing = KeySet(layout=registry.layout)
        with force(nothing if takes_any else left, nothing):
            hops.append(_hop(registry.explain(name, *([left] if takes_any else [])), stale))
    return tuple(hops)


def check_call(call: object) -> None:
    """Raise TypeError unless this is a call that was explained."""
    if not isinstance(call, TorchCall):
        raise TypeError(f"expected a call from explain(), not {type(call).__name__}")


def explain_keys(operator: str, keys: Sequence[KeySet],
                 state: Optional[tuple[KeySet, KeySet]] = None,
                 under: Sequence[str] = (), made_on: Optional[KeySet] = None) -> TorchCall:
    """Explain a call of an operator, named with its overload, with these sets of keys.

    state    the included and the excluded set; by default those of this thread in PyTorch
    under    names of the modes under which the sets were read; they are only printed
    made_on  the key for the arguments dtype, layout and device, as a set; by default CPU's
    """
    layout = _live.layout()
    if made_on is None:
        device = "CUDA" if operator in _PINNED else "CPU"
        made_on = compute_key(device=device, layout=layout).keyset
    live = _live.Operator.read(operator)
    schema = live.parsed_schema
    try:
        schema.check_dispatched(len(keys), operator)
    except TypeError as e:
        raise error(errno.EINVAL, str(e), "ARG_COUNT") from None
    included, excluded = state or _live.local_state(layout)
    with _live.new_registry(layout) as registry:
        name = live.mirror(registry)
        stale = _stale.find(live, layout)
        found = _differences(registry, name, live, stale)
        with force(included, excluded):
            first = registry.explain(name, *keys)
            applied = _stale.apply(stale, registry, name, first.merged)
            if applied:
                first = registry.explain(name, *keys)
            masked = _mask.apply(registry, name, first)
            if masked:
                first = registry.explain(name, *keys)
        return TorchCall(name, str(_live.pytorch().__version__), first,
                         _path(registry, name, first, schema.dispatched != 0, applied, made_on),
                         tuple(found), len(live.entries), tuple(under),
                         stale=tuple(_sentences(stale, first.merged)), made_on=made_on,
                         masked=masked)


def explain(operator: Union[str, Any], /, *args: Any, **kwargs: Any) -> TorchCall:
    """Explain the call operator(*args, **kwargs), which is not made.

    operator  a name with its overload such as "aten::add.Tensor", an operator of
              torch.ops, or a function or method of PyTorch such as torch.add. A function
              is run with copies of the tensors, without data, up to the first operator
              that it calls
    """
    layout, torch = _live.layout(), _live.pytorch()
    state = _live.local_state(layout)
    kwargs = _which.with_default_device(operator, kwargs)
    with _live.without_modes():
        name, values = _which.call_of(operator, args, kwargs)
        schema = _live.Operator.read(name).parsed_schema
        values = [torch.tensor(value) if a.type == "Tensor" and isinstance(value, _which.NUMBER)
                  else value for a, value in zip(schema.arguments, values)]
        options = {a.name: value for a, value in zip(schema.arguments, values)}
        dispatched = [v for a, v in zip(schema.arguments, values) if a.is_dispatched]
        keys = [_live.keys_of(t, layout) for t in _live.tensors(dispatched)]
    return explain_keys(name, keys, state, made_on=key_of_options(options, layout))
