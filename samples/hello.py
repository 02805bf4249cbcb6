#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""
hello: the Python version of hello.c, a runtime with tensors, an operator, and a tracer.

In this tree, after make:

    PYTHONPATH=python DISPATCHKEY_LIBRARY=build/libdispatchkey.so.0 samples/hello.py
"""
import dispatchkey as dk


class Tensor(dk.Object):
    """An object on the CPU."""

    def __init__(self, *data):
        super().__init__("CPU")
        self.data = list(data)


def main():
    with dk.Registry(name="hello") as registry:
        registry.define("my::add(Tensor(a!) out, Tensor a, Tensor b) -> Tensor(a!)")

        @registry.impl("my::add", "CPU")
        def add_cpu(out, a, b):
            print("add_cpu")
            out.data = [x + y for x, y in zip(a.data, b.data)]
            return out

        @registry.impl("my::add", "Tracer", with_call=True)
        def add_trace(call, out, a, b):
            print(f"traced by key {call.key}, then ", end="")
            return call.redispatch()                # the keys below this one

        a, b, out = Tensor(1, 2, 3), Tensor(10, 20, 30), Tensor(0, 0, 0)
        registry.call("my::add", out, a, b)         # add_cpu
        with dk.include("Tracer"):
            registry.call("my::add", out, out, b)   # add_trace, then add_cpu
        print(*out.data)


if __name__ == "__main__":
    main()
