#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""
hello: a runtime with tensors, one operator, and a tracer around it; in Python,
with nothing but the shared library, what hello.c is in C.

    hello.py [LIBRARY]
"""
import ctypes as c
import os
import sys
from contextlib import contextmanager

library = sys.argv[1] if len(sys.argv) > 1 else "libdispatchkey.so.0"
try:
    dk = c.CDLL(library)
except OSError as e:
    sys.exit(f"{e}; give its path: hello.py LIBRARY")

# ---- the structs of dispatchkey.h ---------------------------------------------


class Keyset(c.Structure):
    _fields_ = [("bits", c.c_uint64)]


class Obj(c.Structure):
    _fields_ = [("ks", Keyset), ("device", c.c_uint32), ("flags", c.c_uint32)]


class Local(c.Structure):
    _fields_ = [("included", c.c_uint64), ("excluded", c.c_uint64)]


class Diag(c.Structure):
    _fields_ = [("size", c.c_uint32), ("reason", c.c_uint32), ("text", c.c_char_p),
                ("name", c.c_char * 128)]


class Provider(c.Structure):
    _fields_ = [("size", c.c_uint32), ("abi", c.c_uint32), ("layout", c.c_char_p),
                ("name", c.c_char_p), ("registry", c.c_void_p), ("priv", c.c_void_p),
                ("owner", c.c_void_p), ("core", c.c_void_p)]


class OpDecl(c.Structure):
    _fields_ = [("size", c.c_uint32), ("call_abi", c.c_uint32), ("name", c.c_char_p),
                ("sig", c.c_char_p), ("unbox", c.c_void_p), ("op", c.c_void_p),
                ("schema", c.c_char_p), ("debug", c.c_char_p),
                ("alias_analysis", c.c_uint32), ("num_params", c.c_uint32),
                ("param", c.c_void_p), ("dispatched", c.c_char_p),
                ("args_size", c.c_uint64), ("sig_mark", c.c_uint64),
                ("extract", c.c_void_p), ("unbox_plain", c.c_void_p)]


CALL_ABI = 8    # DK__CALL_ABI


class Call(c.Structure):
    """Of a call, what its functions get."""


Boxed = c.CFUNCTYPE(c.c_int, c.POINTER(Call), c.c_void_p)
Call._fields_ = [("ks", Keyset), ("made", c.c_ulong), ("entry", c.c_void_p), ("op", c.c_void_p),
                 ("local", c.c_void_p)]


class Frame(c.Structure):
    """The rest, which is the dispatcher's own, is room for it."""
    _fields_ = [("call", Call), ("objs", c.c_void_p), ("boxed", Boxed), ("n", c.c_uint32),
                ("result", c.c_int), ("own", c.c_uint64 * 20)]


class Impl(c.Structure):
    BOXED = 4
    _fields_ = [("op", c.POINTER(OpDecl)), ("fn", Boxed), ("label", c.c_char_p),
                ("key", c.c_uint16), ("flags", c.c_uint16), ("size", c.c_uint32),
                ("schema", c.c_char_p)]


# ---- its functions: inline ones in C, here the library's ------------------------

for name, returns, *takes in [
        ("dk_call_below", Keyset, c.POINTER(Call)),
        ("dk_call_enter", c.c_int, c.POINTER(Frame), c.POINTER(OpDecl), c.POINTER(Local),
         c.POINTER(c.POINTER(Obj)), c.c_uint),
        ("dk_call_key", c.c_uint, c.POINTER(Call)),
        ("dk_call_leave", None, c.POINTER(Frame)),
        ("dk_key_name", c.c_char_p, c.c_void_p, c.c_uint, c.c_char_p),
        ("dk_key_parse", c.c_int, c.c_void_p, c.c_char_p, c.c_uint, c.POINTER(c.c_uint),
         c.POINTER(Diag)),
        ("dk_key_set", Keyset, c.c_void_p, c.c_uint),
        ("dk_keyset_or", Keyset, Keyset, Keyset),
        ("dk_local_current", c.POINTER(Local)),
        ("dk_local_included", Keyset, c.POINTER(Local)),
        ("dk_local_excluded", Keyset, c.POINTER(Local)),
        ("dk_local_set", None, c.POINTER(Local), Keyset, Keyset),
        ("dk_obj_on", Obj, c.c_uint, c.c_uint32),
        ("dk_redispatch_boxed", c.c_int, c.POINTER(Call), Keyset, c.c_void_p)]:
    function = getattr(dk, name)
    function.restype, function.argtypes = returns, takes

why = Diag(size=c.sizeof(Diag))


def must(error):
    """Registering that is refused says why."""
    if error:
        sys.exit(f"{os.strerror(-error)}: {why.text.decode()} {why.name.decode()}")


def key(text):
    number = c.c_uint()
    must(dk.dk_key_parse(None, text.encode(), 0, number, why))
    return number.value


@contextmanager
def include(keyset):
    """A guard: what it puts back is the included set."""
    local = dk.dk_local_current()
    saved = local.contents.included
    dk.dk_local_set(local, dk.dk_keyset_or(dk.dk_local_included(local), keyset),
                    dk.dk_local_excluded(local))
    try:
        yield
    finally:
        local.contents.included = saved


# ---- an operator ------------------------------------------------------------------


class Tensor(c.Structure):
    _fields_ = [("dk", Obj), ("data", c.c_float * 3)]


class AddArgs(c.Structure):
    _fields_ = [(arg, c.POINTER(Tensor)) for arg in ("out", "a", "b")]


add = OpDecl(size=c.sizeof(OpDecl), call_abi=CALL_ABI, name=b"my::add",
             sig=b"(struct tensor *out, const struct tensor *a, const struct tensor *b)")


def my_add(out, a, b):
    """Calls dispatch on a and b."""
    args = AddArgs(c.pointer(out), c.pointer(a), c.pointer(b))
    objs = (c.POINTER(Obj) * 2)(c.pointer(a.dk), c.pointer(b.dk))
    frame = Frame()
    error = dk.dk_call_enter(frame, add, dk.dk_local_current(), objs, 2)
    if not error:
        error = frame.result = frame.boxed(frame.call, c.addressof(args))
        dk.dk_call_leave(frame)
    return error


@Boxed
def add_cpu(_, args):
    print("add_cpu")
    args = AddArgs.from_address(args)
    out, a, b = (getattr(args, arg).contents.data for arg in ("out", "a", "b"))
    out[:] = [x + y for x, y in zip(a, b)]
    return 0


@Boxed
def add_trace(call, args):
    text = dk.dk_key_name(None, dk.dk_call_key(call), c.create_string_buffer(128)).decode()
    print(f"traced by key {text}, then ", end="")
    # what comes behind our key
    return dk.dk_redispatch_boxed(call, dk.dk_call_below(call), args)


def main():
    cpu = 1  # DK_BACKEND_CPU
    a, b, out = (Tensor(dk.dk_obj_on(cpu, 0), data)
                 for data in ((1, 2, 3), (10, 20, 30), (0, 0, 0)))
    me = Provider(size=c.sizeof(Provider), abi=1, layout=b"v1", name=b"hello")
    impls = (Impl * 2)(*(
        Impl(c.pointer(add), fn, label, key(at), Impl.BOXED, c.sizeof(Impl))
        for fn, label, at in ((add_cpu, b"add_cpu", "CPU"), (add_trace, b"add_trace", "Tracer"))))

    must(dk.dk_provider_register(c.byref(me), c.byref(why)))
    must(dk.dk_op_define(c.byref(me), c.byref(add), 0, c.byref(why)))
    must(dk.dk_impls_register(c.byref(me), impls, 2, c.byref(why)))

    error = my_add(out, a, b)                       # add_cpu
    if not error:
        with include(dk.dk_key_set(None, key("Tracer"))):
            error = my_add(out, out, b)             # add_trace, then add_cpu
    if error:
        sys.exit(f"my::add: {os.strerror(-error)}")
    print("%g %g %g" % tuple(out.data))
    return -dk.dk_provider_unregister(c.byref(me))


if __name__ == "__main__":
    sys.exit(main())
