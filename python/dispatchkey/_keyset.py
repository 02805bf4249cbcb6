# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Defines sets of keys, and translates them between releases of PyTorch."""
from __future__ import annotations

import ctypes
import errno
from dataclasses import dataclass
from typing import Callable, Iterator, Optional, Union

from . import _abi, _keys
from ._error import did_you_mean, error, from_diag, new_diag, shown
from ._library import c_bool, c_text, lib

Keys = Union["KeySet", "_keys.Key", "_keys.Backend", str]
_ALL = (1 << 64) - 1


class KeySet:
    """A set of dispatch keys, which never changes.

    >>> ks = KeySet("CPU, AutogradCPU") | Key.Tracer
    >>> print(ks)
    DispatchKeySet(CPU, AutogradCPU, Tracer)
    >>> "AutogradCPU" in ks, ks.highest, len(ks)
    (True, Key('Tracer'), 3)
    >>> print(ks & ks.highest.below)
    DispatchKeySet(CPU, AutogradCPU)
    >>> [key.name for key in ks]
    ['CPU', 'AutogradCPU', 'Tracer']

    A set is made from text, keys, backends, other sets, or bits as an int. Text is a list
    of names joined by "|" or ",", a set as PyTorch prints it, or "0x...". Operators take
    the same operands.

    The operators are PyTorch's: | & ^ work on bits of functionalities and backends
    alike, so the union of {AutogradCPU} and {CUDA} has AutogradCUDA. - removes
    functionalities and leaves the backends. <= and >= test for subsets; `in` tests
    whether all bits of a key are set. print() writes as PyTorch does; repr() can be
    evaluated.
    """

    __slots__ = ("layout", "bits")
    layout: _keys.Layout
    bits: int

    def __init__(self, *keys: Union[Keys, int], layout: Union[str, _keys.Layout, None] = None):
        if layout is None:
            layout = next((k.layout for k in keys
                           if isinstance(k, (KeySet, _keys.Key, _keys.Backend))), "v1")
        set_ = object.__setattr__
        set_(self, "layout", _keys.Layout(layout))
        set_(self, "bits", 0)
        for key in keys:
            set_(self, "bits", self.bits | self._bits_of(key))

    def _bits_of(self, keys: Union[Keys, int]) -> int:
        """Return the bits of an operand, in the layout of this set."""
        if isinstance(keys, str):
            return self._parse(keys)
        if isinstance(keys, int):
            if not 0 <= keys <= _ALL:
                number = keys if keys.bit_length() <= 128 else f"{keys.bit_length()} bits"
                raise ValueError(f"the bits of a keyset are 0 to 2**64 - 1, not {number}")
            return keys
        if not isinstance(keys, (KeySet, _keys.Key, _keys.Backend)):
            what = "expected a KeySet, a Key, a Backend or names of keys, "
            if isinstance(keys, (list, tuple, set, frozenset)):
                for key in keys:
                    self._bits_of(key)
                raise TypeError(f"{what}not a {type(keys).__name__} of them: pass each as an "
                                "argument, KeySet(*keys)")
            raise TypeError(f"{what}not {shown(keys)}")
        if keys.layout != self.layout:
            raise ValueError(f"one set has layout {self.layout}, the other {keys.layout}: "
                             "translate() one of them first")
        if isinstance(keys, KeySet):
            return keys.bits
        if isinstance(keys, _keys.Key) and keys.kind == "alias":
            raise self._no_bits(keys.name)
        return keys.keyset.bits

    def _parse(self, text: str) -> int:
        if not text.strip():
            return 0
        bits, why = _abi.dk_keyset(), new_diag()
        result = lib.dk_keyset_parse(self.layout._ptr, c_text(text, "a keyset"), bits, why)
        if result < 0:
            word = why.name.decode(errors="replace")
            if self._is_alias(word):
                raise self._no_bits(word)
            names = [key.name for key in self.layout.keys if key.kind != "alias"]
            hint = "separate keys by a comma" if word in names else did_you_mean(word, names)
            raise from_diag(why, result, hint)
        return int(bits.bits)

    def _is_alias(self, word: str) -> bool:
        try:
            return _keys.Key(word, self.layout).kind == "alias"
        except LookupError:
            return False

    def _no_bits(self, name: str) -> Exception:
        return error(errno.EINVAL, "an alias key cannot be in a set", "ALIAS_KEY", name,
                     f'the keys that it stands for are Key("{name}").stands_for')

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a KeySet is immutable: make another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a KeySet is immutable: make another one")

    # ---- contents ---------------------------------------------------------------------

    @property
    def highest(self) -> _keys.Key:
        """The key of highest priority, by which a call is routed; Undefined if there is none."""
        return self._key(lib.dk_keyset_key)

    @property
    def functionality(self) -> _keys.Key:
        """The highest functionality; Undefined if there is none."""
        return self._key(lib.dk_keyset_functionality)

    @property
    def backend(self) -> Optional[_keys.Backend]:
        """The highest backend, or None."""
        number = lib.dk_keyset_backend(self.layout._ptr, self.bits)
        return _keys.Backend(number, self.layout) if number else None

    @property
    def backend_key(self) -> _keys.Key:
        """The highest key that computes on a backend; Undefined if there is none.

        An error if the backend keys of the layout are not known.
        """
        self.layout.constant("backend_functionality_keys")
        return self._key(lib.dk_backend_type)

    @property
    def entry(self) -> int:
        """The index of the table entry that the set selects."""
        return int(lib.dk_keyset_slot(self.layout._ptr, self.bits))

    def _key(self, function: Callable[..., int]) -> _keys.Key:
        return _keys.Key(function(self.layout._ptr, self.bits), self.layout)

    def __iter__(self) -> Iterator[_keys.Key]:
        return _keys.runtime_keys(self.layout, self.bits)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return self.bits != 0

    def __contains__(self, keys: Keys) -> bool:
        bits = self._bits_of(keys)
        return self.bits & bits == bits

    def isdisjoint(self, other: Keys) -> bool:
        """Return whether the sets have no bit in common, including backend bits."""
        return not self.bits & self._bits_of(other)

    # ---- operators --------------------------------------------------------------------

    def _new(self, bits: int) -> KeySet:
        return KeySet(bits, layout=self.layout)

    def __or__(self, other: Keys) -> KeySet:
        return self._new(self.bits | self._bits_of(other))

    def __and__(self, other: Keys) -> KeySet:
        return self._new(self.bits & self._bits_of(other))

    def __xor__(self, other: Keys) -> KeySet:
        return self._new(self.bits ^ self._bits_of(other))

    def __sub__(self, other: Keys) -> KeySet:
        return self._new(lib.dk_keyset_sub(self.layout._ptr, self.bits,
                                           self._bits_of(other)).bits)

    __ror__, __rand__, __rxor__ = __or__, __and__, __xor__

    def __rsub__(self, other: Keys) -> KeySet:
        return self._new(self._bits_of(other)) - self

    def __le__(self, other: Keys) -> bool:
        return self.bits & ~self._bits_of(other) == 0

    def __ge__(self, other: Keys) -> bool:
        return self._bits_of(other) & ~self.bits == 0

    def __lt__(self, other: Keys) -> bool:
        return self <= other and self.bits != self._bits_of(other)

    def __gt__(self, other: Keys) -> bool:
        return self >= other and self.bits != self._bits_of(other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeySet) and \
            (self.layout, self.bits) == (other.layout, other.bits)

    def __hash__(self) -> int:
        return hash((self.layout, self.bits))

    def without_backend(self, backend: Union[str, _keys.Backend]) -> KeySet:
        """Return the set without the bit of a backend."""
        return self._new(self.bits & ~_keys.Backend(backend, self.layout).keyset.bits)

    def fresh(self, inference: bool = False) -> KeySet:
        """Return the set that PyTorch gives a new tensor, with autocast and autograd keys.

        >>> print(KeySet("CUDA").fresh())
        DispatchKeySet(CUDA, ADInplaceOrView, AutogradCUDA, AutocastCUDA)
        """
        self.layout._check_sets()
        return self._new(lib.dk_fresh_set(
            self.layout._ptr, self.bits, c_bool(inference, "inference")).bits)

    def translate(self, to: Union[str, _keys.Layout]) -> Translation:
        """Translate the set to another layout, by the names of its keys, with notes.

        >>> print(KeySet("CUDA, MTIA").translate("pytorch-1.13"))
        DispatchKeySet(CUDA)
        lost MTIABit
        """
        return Translation._of(self, _keys.Layout(to))

    # ---- text -------------------------------------------------------------------------

    def __str__(self) -> str:
        return _keys.text_of(lib.dk_keyset_print, self.layout._ptr, self.bits)

    def __repr__(self) -> str:
        names = "|".join(key.name for key in self)
        is_all = names and KeySet(names, layout=self.layout).bits == self.bits
        return f"KeySet({repr(names) if is_all else hex(self.bits)}{_keys._other(self.layout)})"

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self.bits, self.layout)


def _restore(bits: int, layout: _keys.Layout) -> KeySet:
    return KeySet(bits, layout=layout)


_NOTES = {_abi.DK_NOTE_LOST: "lost", _abi.DK_NOTE_RENAMED: "renamed",
          _abi.DK_NOTE_CHANGED: "changed", _abi.DK_NOTE_ADDED: "added",
          _abi.DK_NOTE_ALONE: "alone", _abi.DK_NOTE_TOP: "top"}


@dataclass(frozen=True)
class Note:
    """A difference that a translation made.

    kind       "lost" (no counterpart), "renamed", "changed" (another kind of key),
               "added" (each functionality bit is combined with each backend bit),
               "alone" (a functionality without a backend, routed as if on the first one)
               or "top" (another key has the highest priority)
    name       the key in the set; for "added" and "alone", the key in the result;
               for "top", the key of the set with the highest priority that is not lost
    other      the key in the result, for "renamed" and "changed";
               for "top", the key with the highest priority in the result
    from_kind  the kind of the key in the set, such as "per-backend"
    to_kind    the kind of the key in the result
    """

    kind: str
    name: str
    other: str
    from_kind: str
    to_kind: str

    def __str__(self) -> str:
        if self.kind in ("renamed", "top"):
            return f"{self.kind} {self.name} -> {self.other}"
        if self.kind == "changed":
            return f"changed {self.other}: {self.from_kind} -> {self.to_kind}"
        return f"{self.kind} {self.name}"


@dataclass(frozen=True)
class Translation:
    """A set in another layout: source, result, and notes on the differences.

    If there are no notes, translating back gives the same set.
    """

    source: KeySet
    result: KeySet
    notes: tuple[Note, ...]

    @classmethod
    def _of(cls, source: KeySet, to: _keys.Layout) -> Translation:
        t, note, notes = _abi.dk_translation(), _abi.dk_note(), []
        lib.dk_translate(t, source.layout._ptr, to._ptr, source.bits)
        note.size = ctypes.sizeof(note)
        while lib.dk_translation_next(t, note) > 0:
            kinds = [lib.dk_kind_name(k).decode() for k in (note.from_kind, note.to_kind)]
            notes += [Note(word, note.name.decode(), note.other.decode(), *kinds)
                      for flag, word in _NOTES.items() if note.kind & flag]
        return cls(source, KeySet(t.result.bits, layout=to), tuple(notes))

    def __str__(self) -> str:
        return "\n".join([str(self.result), *map(str, self.notes)])
