# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Parses schemas of operators, in PyTorch's notation."""
from __future__ import annotations

import ast
import ctypes
import re
from dataclasses import dataclass
from typing import Any, Callable, Optional

from . import _abi
from ._error import from_diag, new_diag
from ._keys import text_of
from ._library import DECL_POINTER, Owned, c_text, lib


@dataclass(frozen=True)
class Argument:
    """An argument or a return: name, type, default value as text or None, keyword-only."""

    name: str
    type: str
    default: Optional[str]
    keyword_only: bool

    @property
    def is_dispatched(self) -> bool:
        """Whether a call dispatches on it: on a Tensor, or on each Tensor of a list.

        >>> schema = Schema("f(Tensor? x, Tensor(a!)[] y, Tensor[]? z, Tensor[][] w) -> ()")
        >>> [a.is_dispatched for a in schema.arguments]
        [True, True, False, False]
        """
        kind = re.sub(r"\(.*?\)", "", self.type)
        return re.fullmatch(r"Tensor\??(\[\d*\])?", kind) is not None

    def _takes_name(self, value: object) -> bool:
        """Whether the argument takes this value as the name of an enumerator.

        An int argument takes only the name that is its default value, such as Mean.
        """
        return isinstance(value, str) and (
            self.type in ("ScalarType", "Layout", "MemoryFormat", "QScheme") or
            self.type in ("int", "SymInt") and value == self.default and value.isidentifier())

    def _is_default(self, value: object) -> bool:
        """Whether the value is the default, which need not fit the type: int? x="a"."""
        if self.default is None:
            return False
        default = _value(self.default)
        return type(value) is type(default) and bool(value == default)


def _value(text: str) -> Any:
    """Return the value of a default: a number, string, list or None; else the text itself."""
    if not re.search("[\"']", text):        # like C, Python has no numbers such as 007
        text = re.sub(r"(?<![\w.])0+(?=\d)", "", text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


class Schema:
    """The schema of an operator.

    >>> schema = Schema("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
    >>> schema.name, schema.overload
    ('aten::add', 'Tensor')
    >>> [(a.name, a.type, a.default) for a in schema.arguments][-1]
    ('alpha', 'Scalar', '1')
    >>> print(schema)
    aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    """

    __slots__ = ("_ptr", "name", "overload", "arguments", "returns", "_is_vararg",
                 "__weakref__")

    def __init__(self, text: str):
        ptr, why = ctypes.c_void_p(), new_diag()
        result = lib.dk_schema_parse(c_text(text, "a schema"), ptr, why)
        if result < 0:
            raise from_diag(why, result)
        self._ptr = Owned(ptr, lib.dk_schema_free)
        self.name: str = lib.dk_schema_name(self._ptr).decode()
        self.overload: str = lib.dk_schema_overload(self._ptr).decode()
        self.arguments = self._list(lib.dk_schema_args, lib.dk_schema_argument)
        self._is_vararg = bool(lib.dk_schema_flags(self._ptr) & _abi.DK_SCHEMA_VARARG)
        self.returns = self._list(lib.dk_schema_returns, lib.dk_schema_return)

    def _list(self, count: Callable[..., int], get: Callable[..., Any]) -> tuple[Argument, ...]:
        items = [get(self._ptr, i).contents for i in range(count(self._ptr))]
        return tuple(Argument(a.name.decode(), text_of(lib.dk_type_print, a.type),
                              a.value.decode() if a.value is not None else None,
                              bool(a.keyword_only)) for a in items)

    @property
    def full_name(self) -> str:
        """The operator's name with its overload, such as "aten::add.Tensor"."""
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def dispatched(self) -> Optional[int]:
        """The number of arguments that a call dispatches on; None if one of them is a list.

        >>> Schema("aten::add.Scalar(Tensor self, Scalar other) -> Tensor").dispatched
        1
        """
        types = [a.type for a in self.arguments if a.is_dispatched]
        return None if any("[" in t for t in types) else len(types)

    def check_dispatched(self, number: int, name: str = "") -> None:
        """Raise TypeError if a call of the operator dispatches on fewer arguments than `number`."""
        takes = self.dispatched
        if takes is not None and number > takes:
            raise TypeError(f"{name or self.full_name} dispatches on {takes} of its arguments, but "
                            f"{number} {'is' if number == 1 else 'are'} given")

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the values of all arguments in order, bound as in a call of a function."""
        positional = [a for a in self.arguments if not a.keyword_only]
        if len(args) > len(positional):
            more = ': no value can be passed for "..."' if self._is_vararg else ""
            raise TypeError(f"{self.full_name}() takes {len(positional)} positional arguments "
                            f"but {len(args)} were given{more}")
        values = dict(enumerate(args))      # by position: two arguments may have one name
        for name, value in kwargs.items():
            named = [i for i, a in enumerate(self.arguments) if a.name == name]
            if not named:
                raise TypeError(f"{self.full_name}() has no argument '{name}': its arguments "
                                f"are {', '.join(a.name for a in self.arguments) or 'none'}")
            free = [i for i in named if i not in values]
            if not free:
                raise TypeError(f"{self.full_name}() got two values for argument '{name}'")
            values[free[0]] = value
        for i, a in enumerate(self.arguments):
            if i not in values and a.default is None:
                raise TypeError(f"{self.full_name}() needs a value for argument '{a.name}'")
        return [values[i] if i in values else _value(a.default or "")
                for i, a in enumerate(self.arguments)]

    def declaration(self) -> Any:
        """Return a new struct dk_op_decl, to be freed with dk_schema_decl_free()."""
        decl, why = DECL_POINTER(), new_diag()
        result = lib.dk_schema_decl(self._ptr, decl, why)
        if result < 0:
            raise from_diag(why, result)
        return decl

    def __reduce__(self) -> tuple[object, ...]:
        return Schema, (str(self),)

    def __repr__(self) -> str:
        return f"Schema({str(self)!r})"

    def __str__(self) -> str:
        return text_of(lib.dk_schema_print, self._ptr)
