# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Explains calls in the installed PyTorch.

    import torch, dispatchkey.torch
    x = torch.ones(2, requires_grad=True)
    print(dispatchkey.torch.explain(torch.add, x, x))

explain() reads the operator's registrations from PyTorch's dispatcher. It makes the same
registrations in a Registry, whose layout is that of the installed PyTorch. It compares
PyTorch's table of the operator with the Registry's table, entry by entry. Then it follows
the call from key to key, with PyTorch's own local state. print() writes the function of
each key, where it is registered, and the rules that selected it.

diff() compares two calls that were explained, and what_if() reports what modes,
properties of the tensors and other devices would change. missing() lists the operators
that a backend lacks, and what serves them instead. check() compares the tables of all
operators with the rules. transcript() returns a text with which dkctl replay explains
calls on a machine without PyTorch. watch() reports what a block of code registers.

A command does the same in a shell: python3 -m dispatchkey.torch --help
"""
from ._check import Check, Difference, check
from ._diff import Row, TorchDiff, diff
from ._live import Incomplete, layout, operators
from ._mask import Masked
from ._missing import Coverage, Served, missing
from ._path import Hop, TorchCall, explain, explain_keys
from ._transcript import transcript
from ._watch import Event, Watch, watch
from ._whatif import WhatIf, WhatIfs, explain_under, what_if

__all__ = ["Check", "Coverage", "Difference", "Event", "Hop", "Incomplete", "Masked", "Row",
           "Served", "TorchCall", "TorchDiff", "Watch", "WhatIf", "WhatIfs", "check", "diff",
           "explain", "explain_keys", "explain_under", "layout", "missing", "operators",
           "transcript", "watch", "what_if"]


def __dir__() -> list[str]:
    return [name for name in globals() if name in __all__ or name.startswith("__")]
