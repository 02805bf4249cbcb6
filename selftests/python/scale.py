# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Defines the operator of Documentation/why.rst."""
from torch.library import Library

library = Library("demo", "DEF")
library.define("scale(Tensor a) -> Tensor")


def scale_all(a):
    return 10 * a


def scale_autograd(a):
    raise NotImplementedError("no gradient of scale")


library.impl("scale", scale_all, "CompositeImplicitAutograd")
library.impl("scale", scale_autograd, "Autograd")
