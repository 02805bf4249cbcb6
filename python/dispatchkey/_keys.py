# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Defines layouts, keys and backends."""
from __future__ import annotations

import ctypes
import errno
import re
import weakref
from typing import Any, Callable, Iterator, Optional, Union

from . import _abi, _keyset
from ._error import did_you_mean, error, from_diag, from_reason, new_diag, shown
from ._library import Owned, c_text, lib

_KNOWLEDGE = {"tables": _abi.DK_KNOWS_TABLES, "sets": _abi.DK_KNOWS_SETS,
              "strict": _abi.DK_KNOWS_STRICT, "legacy": _abi.DK_KNOWS_LEGACY}


def text_of(function: Callable[..., int], *args: Any) -> str:
    """Return the text that a C function prints to a buffer of a given size."""
    size = 1024
    while True:
        buf = ctypes.create_string_buffer(size)
        length = function(*args, buf, size)
        if length < size:
            return buf.value.decode(errors="replace")
        size = length + 1


class Layout:
    """The keys of a PyTorch release: their names, numbers and bits.

    >>> Layout("pytorch-1.13").name
    'pytorch-1.13'
    >>> [layout.name for layout in Layout.all()][:2]
    ['v1', 'pytorch-2.14']

    A patch release has the layout of its minor release. "v1" is dispatchkey's own
    layout, and the default everywhere. Add "+trimmed" for the tables of a PyTorch
    build for small devices.
    """

    __slots__ = ("_ptr", "_owned", "name", "__weakref__")
    _ptr: int
    _owned: Owned               # only of a layout that parse() made
    name: str
    _known: weakref.WeakValueDictionary[int, Layout] = weakref.WeakValueDictionary()

    def __new__(cls, name: Union[str, "Layout"] = "v1") -> Layout:
        if isinstance(name, Layout):
            return name
        why = new_diag()
        ptr = lib.dk_layout_find(c_text(name), why)
        if not ptr:
            raise from_diag(why, hint=cls._hint(name))
        return cls._of(ptr)

    @classmethod
    def _hint(cls, name: str) -> str:
        """Return a hint for an unknown name. Never suggests another release: its numbers differ."""
        names, release = [layout.name for layout in cls.all()], re.search(r"\d.*", name)
        if name.endswith("+trimmed"):
            found = [n for n in names if lib.dk_layout_find(f"{n}+trimmed".encode(), None)]
            return f"layouts with a trimmed table are {', '.join(found)}"
        same = [n for n in names if release and re.sub(r"^\D*", "", n) == release[0]]
        known = "" if not re.match(r"(pytorch-|v?\d+\.)\d", name) else \
            "the keys of this release are not known; "
        return did_you_mean(name, same) or f"{known}layouts are {', '.join(names)}"

    @classmethod
    def _of(cls, ptr: int) -> Layout:
        """Return the object of a layout. Equal pointers give the same object."""
        self = cls._known.get(ptr)
        if self is None:
            self = object.__new__(cls)
            self._ptr = ptr
            self.name = lib.dk_layout_name(ptr).decode()
            cls._known[ptr] = self
        return self

    @classmethod
    def all(cls) -> list[Layout]:
        """Return the layouts that the library has, without those with a trimmed table."""
        found, name = [], lib.dk_layout_next(None)
        while name:
            found.append(cls(name.decode()))
            name = lib.dk_layout_next(name)
        return found

    @classmethod
    def parse(cls, text: str) -> Layout:
        """Return a layout from text in the format that describe() writes."""
        why = new_diag()
        ptr = lib.dk_layout_parse(c_text(text, "a layout"), why)
        if not ptr:
            raise from_diag(why)
        self = cls._of(ptr)
        self._owned = Owned(ptr, lib.dk_layout_free)
        return self

    def describe(self) -> str:
        """Return the layout as text, for parse()."""
        return text_of(lib.dk_layout_describe, self._ptr)

    @property
    def knows(self) -> frozenset[str]:
        """What the library knows besides names and bits: "tables", "sets", "strict", "legacy"."""
        flags = lib.dk_layout_knows(self._ptr)
        return frozenset(word for word, flag in _KNOWLEDGE.items() if flags & flag)

    def _check_sets(self) -> None:
        """Raise an error if the library does not know PyTorch's sets of this layout."""
        if "sets" not in self.knows:
            raise from_reason(errno.EOPNOTSUPP, _abi.DK_WHY_NO_SETS, self.name)

    @property
    def entries(self) -> int:
        """The number of entries of a dispatch table, if it is not trimmed."""
        return int(lib.dk_layout_entries(self._ptr))

    @property
    def backends(self) -> list[Backend]:
        """All backends, lowest priority first."""
        return [Backend(n, self) for n in range(1, lib.dk_layout_backends(self._ptr) + 1)]

    @property
    def functionalities(self) -> list[Key]:
        """All functionality keys, lowest priority first, without Undefined."""
        return [Key(n, self) for n in range(1, lib.dk_layout_functionalities(self._ptr))]

    @property
    def keys(self) -> list[Key]:
        """All keys, including alias keys, sorted by number."""
        return [key for key in (Key(n, self) for n in range(lib.dk_layout_keys(self._ptr)))
                if key.kind not in ("none", "sentinel")]

    @property
    def full(self) -> _keyset.KeySet:
        """The set of all backends and functionalities."""
        return _keyset.KeySet(lib.dk_layout_full(self._ptr).bits, layout=self)

    def constant(self, name: str) -> _keyset.KeySet:
        """Return one of PyTorch's named sets, such as "autograd_dispatch_keyset"."""
        bits, why = _abi.dk_keyset(), new_diag()
        result = lib.dk_constant_set(self._ptr, c_text(name), bits, why)
        if result < 0:
            raise from_diag(why, result)
        return _keyset.KeySet(bits.bits, layout=self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self._ptr == other._ptr

    def __hash__(self) -> int:
        return hash(self._ptr)

    def __copy__(self) -> Layout:
        return self

    def __deepcopy__(self, _memo: object) -> Layout:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        if hasattr(self, "_owned"):
            return _restore, (self.describe(),)
        return Layout, (self.name,)

    def __repr__(self) -> str:
        return f"Layout({self.name!r})"

    def __str__(self) -> str:
        return self.name


def _restore(text: str) -> Layout:
    """Return the layout that parse() has made from this text, or a new one."""
    for made in list(Layout._known.values()):
        if hasattr(made, "_owned") and made.describe() == text:
            return made
    return Layout.parse(text)


class Backend:
    """A backend component, such as that of CPU: a bit of a keyset, but not a key.

    >>> Backend("CUDA").bit_name
    'CUDABit'
    >>> print(Backend("CUDA").autograd)
    DispatchKeySet(ADInplaceOrView, AutogradCUDA)
    """

    __slots__ = ("layout", "number")
    layout: Layout
    number: int

    def __init__(self, name: Union[str, int, "Backend"], layout: Union[str, Layout, None] = None):
        if isinstance(name, Backend):
            self.layout, self.number = _layout_of(name, "backend", layout), name.number
            return
        self.layout = Layout("v1" if layout is None else layout)
        if isinstance(name, int):
            if not 0 < name <= lib.dk_layout_backends(self.layout._ptr):
                raise error(errno.EINVAL, f"no backend of layout {self.layout} has this number",
                            "BAD_BACKEND", str(name))
            self.number = name
            return
        number, why = ctypes.c_uint(), new_diag()
        result = lib.dk_backend_bit_parse(self.layout._ptr, c_text(name), number, why)
        if result < 0:
            raise from_diag(why, result,
                            did_you_mean(name, (b.name for b in self.layout.backends)))
        if not number.value:        # InvalidBit, which is no bit of a set
            raise error(errno.EINVAL, f"no backend of layout {self.layout} has this name",
                        "BAD_BACKEND", name)
        self.number = number.value

    @property
    def name(self) -> str:
        """The name without "Bit", such as "CPU"."""
        return self.bit_name[:-3] if self.bit_name.endswith("Bit") else self.bit_name

    @property
    def bit_name(self) -> str:
        """The name as PyTorch prints it, such as "CPUBit"."""
        return str(lib.dk_backend_bit_name(self.layout._ptr, self.number).decode())

    @property
    def keyset(self) -> _keyset.KeySet:
        """The set of this bit alone, which contains no key."""
        return self._set(lib.dk_backend_set)

    @property
    def autograd(self) -> _keyset.KeySet:
        """ADInplaceOrView, and the autograd key of the backend's tensors."""
        self.layout._check_sets()
        return self._set(lib.dk_autograd_of_backend)

    @property
    def autocast(self) -> _keyset.KeySet:
        """The autocast key of the backend's tensors, or the empty set."""
        self.layout._check_sets()
        return self._set(lib.dk_autocast_of_backend)

    def _set(self, function: Callable[..., Any]) -> _keyset.KeySet:
        return _keyset.KeySet(function(self.layout._ptr, self.number).bits, layout=self.layout)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Backend) and \
            (self.layout, self.number) == (other.layout, other.number)

    def __hash__(self) -> int:
        return hash((self.layout, self.number))

    def __reduce__(self) -> tuple[object, ...]:
        return Backend, (self.name, self.layout)

    def __repr__(self) -> str:
        return f"Backend({self.name!r}{_other(self.layout)})"

    def __str__(self) -> str:
        return self.bit_name


class _KeyNames(type):
    """Makes Key.CPU an alias of Key("CPU"), with completion in an interactive shell."""

    def __getattr__(cls, name: str) -> Key:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return Key(name)
        except LookupError as e:
            raise AttributeError(str(e)) from None

    def __dir__(cls) -> list[str]:
        return [*super().__dir__(), *(key.name for key in Layout().keys)]


class Key(metaclass=_KeyNames):
    """A dispatch key: Key("AutogradCPU"), or Key.AutogradCPU for one of layout v1.

    >>> key = Key.AutogradCUDA
    >>> key.kind, key.functionality, key.backend
    ('per-backend', Key('AutogradFunctionality'), Backend('CUDA'))
    >>> print(key.keyset | "CPU")
    DispatchKeySet(CPU, CUDA, AutogradCPU, AutogradCUDA)
    >>> "CPU" in Key.CompositeExplicitAutograd.stands_for
    True
    """

    __slots__ = ("layout", "number")
    layout: Layout
    number: int

    def __init__(self, name: Union[str, int, "Key"], layout: Union[str, Layout, None] = None):
        if isinstance(name, Key):
            self.layout, self.number = _layout_of(name, "key", layout), name.number
            return
        self.layout = Layout("v1" if layout is None else layout)
        if isinstance(name, int):
            if not 0 <= name < lib.dk_layout_keys(self.layout._ptr):
                raise error(errno.EINVAL,
                            f"no dispatch key of layout {self.layout} has this number",
                            "BAD_KEY", str(name))
            self.number = name
            return
        if not isinstance(name, str):
            raise TypeError(f"expected a Key or the name of a key, not {shown(name)}")
        if not name:
            raise error(errno.EINVAL, "the name of a dispatch key is empty", "PARSE_KEY", "",
                        'names are "CPU", "Autograd" and so on')
        number, why = ctypes.c_uint(), new_diag()
        result = lib.dk_key_parse(self.layout._ptr, c_text(name), 0, number, why)
        if result < 0:
            raise from_diag(why, result, did_you_mean(name, (k.name for k in self.layout.keys)))
        self.number = number.value

    @property
    def name(self) -> str:
        """The name that PyTorch prints."""
        buf = ctypes.create_string_buffer(_abi.NAME_MAX)
        return str(lib.dk_key_name(self.layout._ptr, self.number, buf).decode())

    @property
    def kind(self) -> str:
        """ "functionality", "building-block", "per-backend", "alias", or "undefined"."""
        return str(lib.dk_kind_name(lib.dk_key_kind(self.layout._ptr, self.number)).decode())

    @property
    def functionality(self) -> Key:
        """The functionality of the key; for AutogradCPU, it is AutogradFunctionality."""
        return Key(lib.dk_key_functionality(self.layout._ptr, self.number), self.layout)

    @property
    def backend(self) -> Optional[Backend]:
        """The backend of a per-backend key, or None."""
        number = lib.dk_key_backend(self.layout._ptr, self.number)
        return Backend(number, self.layout) if number else None

    @property
    def keyset(self) -> _keyset.KeySet:
        """The bits of the key. Undefined and alias keys have none."""
        return self._set(lib.dk_key_set)

    @property
    def stands_for(self) -> _keyset.KeySet:
        """The runtime keys that an alias key stands for; for any other key, its keyset."""
        if self.kind == "alias":
            self.layout._check_sets()
        return self._set(lib.dk_alias_set)

    @property
    def below(self) -> _keyset.KeySet:
        """All keys of lower priority, to mask a redispatch."""
        return self._set(lib.dk_keyset_after)

    @property
    def entry(self) -> int:
        """The index of the key's entry in a table that is not trimmed.

        0 for Undefined, and for a key without an entry.
        """
        return int(lib.dk_key_slot(self.layout._ptr, self.number))

    @property
    def device_type(self) -> str:
        """The device type of the key's tensors, such as "CUDA"."""
        return self._text(lib.dk_key_device_type)

    @property
    def tensor_layout(self) -> str:
        """The layout of the key's tensors: "Strided", "Sparse" or "Mkldnn"."""
        return self._text(lib.dk_key_tensor_layout)

    def _set(self, function: Callable[..., Any]) -> _keyset.KeySet:
        return _keyset.KeySet(function(self.layout._ptr, self.number).bits, layout=self.layout)

    def _text(self, function: Callable[..., int]) -> str:
        text, why = ctypes.c_char_p(), new_diag()
        result = function(self.layout._ptr, self.number, text, why)
        if result < 0:
            raise from_diag(why, result)
        return (text.value or b"").decode()

    def __or__(self, other: _keyset.Keys) -> _keyset.KeySet:
        return _keyset.KeySet(self) | other

    def __ror__(self, other: _keyset.Keys) -> _keyset.KeySet:
        return _keyset.KeySet(self) | other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and \
            (self.layout, self.number) == (other.layout, other.number)

    def __hash__(self) -> int:
        return hash((self.layout, self.number))

    def _word(self) -> Union[str, int]:
        """Return what Key() makes this key of."""
        # a sentinel has the name of another key, or a name of no key
        return self.number if self.kind in ("none", "sentinel") else self.name

    def __reduce__(self) -> tuple[object, ...]:
        return Key, (self._word(), self.layout)

    def __repr__(self) -> str:
        return f"Key({self._word()!r}{_other(self.layout)})"

    def __str__(self) -> str:
        return self.name


def _layout_of(given: Union[Key, Backend], what: str, wanted: Union[str, Layout, None]) -> Layout:
    """Return the layout of a key or backend; refuse another layout than the wanted one."""
    if wanted is not None and Layout(wanted) != given.layout:
        raise ValueError(f"{given.name} is a {what} of layout {given.layout}, not of {wanted}")
    return given.layout


def _other(layout: Layout) -> str:
    """Return the argument that names a layout, or "" for v1."""
    return "" if layout.name == "v1" else f", layout={layout.name!r}"


def runtime_keys(layout: Layout, bits: int) -> Iterator[Key]:
    """Return the keys of a set, lowest priority first."""
    entry = lib.dk_keyset_next(layout._ptr, bits, 0)
    while entry:
        yield Key(lib.dk_slot_key(layout._ptr, entry), layout)
        entry = lib.dk_keyset_next(layout._ptr, bits, entry)


def compute_key(dtype: Optional[str] = None, tensor_layout: Optional[str] = None,
                device: Optional[str] = None, *, layout: Union[str, Layout] = "v1") -> Key:
    """Return the key of a tensor with this dtype, layout and device (computeDispatchKey()).

    >>> compute_key("float32", "SparseCsr", "CUDA")
    Key('SparseCsrCUDA')
    >>> compute_key("qint8")
    Key('QuantizedCPU')

    None stands for float32, Strided or CPU. PyTorch's own words are accepted, too:

    >>> compute_key(tensor_layout="sparse_coo", device="cuda:0")
    Key('SparseCUDA')
    """
    layout, number, why = Layout(layout), ctypes.c_uint(), new_diag()
    words = (c_text(w) if w is not None else None for w in (dtype, tensor_layout, device))
    result = lib.dk_compute_key(layout._ptr, *words, number, why)
    if result < 0:
        raise from_diag(why, result)
    return Key(number.value, layout)


# KeySet's annotations use this name, too. typing.get_type_hints() looks for it in that module.
Keys = Union[_keyset.KeySet, Key, Backend, str]
setattr(_keyset, "Keys", Keys)
