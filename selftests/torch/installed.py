#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Prints properties of an imported PyTorch as one JSON object. Run it with a python3
that can import torch; statements.py checks the result.
"""
import json
import sys

import torch
from torch import _C
from torch._python_dispatcher import PythonDispatcher


def error(function, *args):
    """Returns type and text of the error that a call raises, or None."""
    try:
        function(*args)
    except Exception as raised:  # pylint: disable=broad-except
        return [type(raised).__name__, str(raised)]
    return None


def dangling():
    """Adds and removes a dangling function. Returns the dangling functions of the installed PyTorch
    before it is added, the new ones while it exists, and those after it is removed."""
    before = list(_C._dispatch_find_dangling_impls())
    library = _C._dispatch_library("IMPL", "__dangling__", "CPU")
    library.impl_t_t("foo", dispatch="CPU", debug="fn_CPU")
    more = [text for text in _C._dispatch_find_dangling_impls() if text not in before]
    del library
    after = list(_C._dispatch_find_dangling_impls())
    return {"before": before, "more": more, "after": after}


def stated():
    """Registers definitions and functions, and returns PyTorch's messages about them."""
    two, library = "(Tensor x, Tensor y) -> Tensor", _C._dispatch_library("FRAGMENT", "stated", "")
    library.def_("first" + two)
    misfits = [error(lambda: library.impl_t_t("first", debug="fn"))]
    library.impl_t_t("second", debug="fn")
    misfits.append(error(lambda: library.def_("second" + two)))
    library.def_name_t_t("inferred", debug="fn")
    library.def_("pure" + two, alias="PURE_FUNCTION")
    return {
        "misfits": misfits,
        "inferred": _C._dispatch_dump("stated::inferred"),
        "pure": _C._dispatch_dump("stated::pure"),
        "again": [error(lambda: library.def_("pure" + two, alias="PURE_FUNCTION")),
                  error(lambda: library.def_legacy("pure" + two)),
                  error(lambda: library.def_("pure" + two, alias="CONSERVATIVE"))],
    }


def python_dispatcher(keys):
    """Returns the lines of both tables of a PythonDispatcher, without their titles."""
    dispatcher = PythonDispatcher()
    dispatcher.register(keys)

    def rows(text):
        return [line.split(None, 1) for line in text.splitlines()[4:]]
    return {"registrations": rows(dispatcher.registrations()),
            "table": rows(dispatcher.dispatchTable())}


def quantized_bmm():
    """Returns the error of bmm with quantized tensors, for which it has no function."""
    x = torch.quantize_per_tensor(torch.randn(1, 2, 2), 0.1, 0, torch.quint8)
    return error(torch.bmm, x, x)


def main():
    lists = json.load(sys.stdin)
    json.dump({
        "version": torch.__version__,
        "operators": len(_C._dispatch_get_registrations_for_dispatch_key()),
        "invariants": error(_C._dispatch_check_all_invariants),
        "dangling": dangling(),
        "stated": stated(),
        "invalid key": error(_C._dispatch_print_registrations_for_dispatch_key, "invalid_key"),
        "tables": [python_dispatcher(keys) for keys in lists],
        "duplicates": error(PythonDispatcher().register, ["CPU", "CPU"]),
        "both composites": error(PythonDispatcher().register,
                                 ["CompositeExplicitAutograd", "CompositeImplicitAutograd"]),
        "quantized bmm": quantized_bmm(),
    }, sys.stdout)


if __name__ == "__main__":
    main()
