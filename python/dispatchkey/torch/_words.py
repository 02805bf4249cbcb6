# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Computes the keysets of tensors that are described in words, such as "cuda,sparse"."""
from __future__ import annotations

import errno
import re
from html import escape
from typing import Any, Iterable, Optional, Sequence

from .._error import Error, UnknownName, did_you_mean, error
from .._keys import Key, Layout, compute_key
from .._keyset import KeySet
from .._library import lib
from . import _live

_LAYOUTS = {"strided": "Strided", "jagged": "Jagged", "sparse": "Sparse",
            "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc", "sparse_bsr": "SparseBsr",
            "sparse_bsc": "SparseBsc", "mkldnn": "Mkldnn"}
_PROPERTIES = {"requires_grad": "", "conj": "Conjugate", "neg": "Negative", "zero": "ZeroTensor",
               "inference": ""}


def number_of(n: int, what: str, many: str = "") -> str:
    """Return a number and a noun: "1 operator", "2 operators"."""
    return f"{n} {what if n == 1 else many or what + 's'}"


def html_table(heading: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return a table for notebooks, as HTML."""
    def line(cells: Sequence[object], tag: str) -> str:
        style = ' style="text-align:left"'
        return "<tr>" + "".join(f"<{tag}{style}>{escape(str(c))}</{tag}>" for c in cells) + "</tr>"

    return "\n".join(["<table>", line(heading, "th"), *(line(row, "td") for row in rows),
                      "</table>"])


def devices(layout: Layout) -> dict[str, str]:
    """Return the device types as PyTorch writes them, with their names in the library."""
    names = (lib.dk_device_type_name(layout._ptr, n) for n in range(64))
    found = {n.decode().lower(): n.decode() for n in names if n}
    if "privateuse1" in found:
        found.update(dict.fromkeys(("privateuseone", _live.private_name()), "PrivateUse1"))
    return found


def key_of_options(options: dict[str, Any], layout: Layout) -> Optional[KeySet]:
    """Return the key of a tensor with the arguments dtype, layout and device, as a set.

    Returns None if there are no such arguments, or if PyTorch refuses the combination.
    """
    device, of, dtype = (_plain(str(options.get(word) or ""))
                         for word in ("device", "layout", "dtype"))
    if not (device or of or dtype):
        return None
    try:
        return compute_key(_dtype(dtype, layout), _LAYOUTS.get(of),
                           devices(layout)[_without_number(device) or "cpu"], layout=layout).keyset
    except (Error, KeyError):
        return None


def devices_hint(layout: Layout) -> str:
    """Return a hint with the most common devices and the number of other devices."""
    names = devices(layout)
    common = [d for d in ("cpu", "cuda", "xpu", "mps", "meta", "privateuseone") if d in names]
    return f"devices are {', '.join(common)} and {len(names) - len(common)} others"


def _plain(word: str) -> str:
    """Return a word such as torch.float32, as PyTorch prints it, in the form of --on."""
    word = word.removeprefix("torch.")
    return {"sparse_coo": "sparse", "_mkldnn": "mkldnn"}.get(word, word)


def _without_number(device: str) -> str:
    """Return the type of a device such as cuda:1. The number changes no key."""
    return re.sub(r":\d+$", "", device)


def _dtype(word: str, layout: Layout) -> Optional[str]:
    try:
        compute_key(word, layout=layout)
    except UnknownName:
        return None
    return word


def _key(word: str, layout: Layout) -> Optional[Key]:
    try:
        return Key(word, layout)
    except UnknownName:
        return None


def _unknown(word: str, layout: Layout) -> Exception:
    words = [*devices(layout), *_LAYOUTS, *_PROPERTIES, *(k.name for k in layout.keys)]
    hint = did_you_mean(word, words) or devices_hint(layout)
    return error(errno.EINVAL, "expected a device, a layout, a dtype, a tensor property or a "
                 "dispatch key", "PARSE_SET", word or "an empty word", hint)


def keyset_of(text: str, layout: Layout) -> KeySet:
    """Return the keyset that PyTorch gives a tensor of this description.

    text  words with commas between them: a device such as cpu or cuda; a layout such as
          sparse; a dtype such as float32 or qint8; requires_grad, inference, conj, neg,
          zero; and names of dispatch keys, which are added
    """
    chosen: dict[str, str] = {}
    added, is_inference = KeySet(layout=layout), False
    words = [w.strip() for w in text.split(",")]
    for word in words:
        kind, value = _kind_of(word, layout)
        if kind == "key":
            added |= value
            is_inference = is_inference or word == "inference"
        elif chosen.setdefault(kind, value) != value:
            raise error(errno.EINVAL, f"a tensor has one {kind}, but two are given", "PARSE_SET",
                        f"{chosen[kind]} and {value}")
    if not chosen and added and not all(word in _PROPERTIES for word in words):
        return added
    key = compute_key(chosen.get("dtype"), chosen.get("layout"), chosen.get("device"),
                      layout=layout)
    return key.keyset.fresh(is_inference) | added


def _kind_of(word: str, layout: Layout) -> tuple[str, str]:
    """Return a word's kind and its name in the library. mkldnn is a layout, not the device."""
    given, word, types = word, _plain(word), devices(layout)
    if word in _LAYOUTS:
        return "layout", _LAYOUTS[word]
    device = _without_number(word)
    if device in types:
        return "device", types[device]
    if word in _PROPERTIES:
        return "key", _PROPERTIES[word]
    if _key(word, layout) is not None:
        return "key", word
    if _dtype(word, layout):
        return "dtype", word
    raise _unknown(given, layout)
