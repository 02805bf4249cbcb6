# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""PyTorch's DispatchKey system: keys, keysets, registries, and where calls go.

Keys and sets:

    >>> import dispatchkey as dk
    >>> ks = dk.KeySet("CPU, AutogradCPU") | dk.Key.Tracer
    >>> print(ks, ks.highest)
    DispatchKeySet(CPU, AutogradCPU, Tracer) Tracer
    >>> print(ks.translate("pytorch-1.13").result.bits == ks.bits)
    False

Operators and functions:

    >>> registry = dk.Registry()
    >>> registry.define("demo::add(Tensor a, Tensor b) -> Tensor")
    'demo::add'
    >>> @registry.impl("demo::add", "CPU")
    ... def add_cpu(a, b):
    ...     return "added"
    >>> @registry.impl("demo::add", "Tracer", with_call=True)
    ... def trace(call, a, b):
    ...     return f"traced, then {call.redispatch()}"
    >>> cpu = dk.Object("CPU")
    >>> with dk.include("Tracer"):
    ...     registry.call("demo::add", cpu, cpu)
    'traced, then added'

Routes of calls, and explanations of them:

    >>> print(registry.route("demo::add", "CPU"))
    demo::add(CPU) goes to add_cpu of python [kernel]
    >>> text = str(registry.explain("demo::add", "CPU"))
    >>> table = registry.table("demo::add")
    >>> registry.close()

A notebook shows tables and explanations as pictures. Wrong input raises Error, whose
text names the wrong word.

For more, see help(dk.KeySet), help(dk.Registry) and help(dk.include), and the guide
Documentation/python.rst.
"""
from . import _command

# Ctrl-C must also work while the other modules are imported, which takes time.
if _command.name():
    _command.end_by_interrupt()

# pylint: disable=wrong-import-position
from ._abi import VERSION as __version__
from ._call import Call
from ._error import Error, NotServed, OverrideWarning, Timeout, UnknownName
from ._explain import Entry, Explanation, Route, Step
from ._keys import Backend, Key, Layout, compute_key
from ._keyset import KeySet, Note, Translation
from ._local import (LocalState, autocast, below_adinplace_or_view, below_autograd, exclude,
                     force, include, inference_mode, local, preserve, set_excluded,
                     skip_functionalize)
from ._object import Object
from ._registry import Library, Operator, Registration, Registry, fallthrough
from ._schema import Argument, Schema
from ._table import Table

__all__ = [
    "Argument", "Backend", "Call", "Entry", "Error", "Explanation", "Key", "KeySet", "Layout",
    "Library", "LocalState", "NotServed", "Note", "Object", "Operator", "OverrideWarning",
    "Registration", "Registry", "Route", "Schema", "Step", "Table", "Timeout", "Translation",
    "UnknownName", "autocast", "below_adinplace_or_view", "below_autograd", "compute_key",
    "exclude", "fallthrough", "force", "include", "inference_mode", "local", "preserve",
    "set_excluded", "skip_functionalize", "__version__",
]


def __dir__() -> list[str]:
    return [name for name in globals() if name in (*__all__, "torch") or name.startswith("__")]
