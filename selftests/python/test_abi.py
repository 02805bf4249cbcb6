# SPDX-License-Identifier: GPL-2.0-only
"""Tests that the generated structures have the layout that a compiler gives the headers'
structures."""
import ctypes
import os
import re
import subprocess

from conftest import BUILD, TOP
from dispatchkey import _abi


def compiled(body, tmp_path):
    """Compiles and runs a C program with the headers. Returns the printed lines."""
    source, program = tmp_path / "abi.c", tmp_path / "abi"
    source.write_text("#include <dispatchkey.h>\n#include <stdio.h>\n"
                      "int main(void)\n{\n" + body + "return 0;\n}\n")
    subprocess.run([*os.environ.get("CC", "cc").split(), "-std=gnu11", f"-I{TOP}/include",
                    f"-I{TOP}/uapi", str(source), "-o", str(program), f"-L{BUILD}",
                    f"-Wl,-rpath,{BUILD}", "-ldispatchkey"], check=True)
    return subprocess.run([str(program)], text=True, stdout=subprocess.PIPE,
                          check=True).stdout.splitlines()


def fields(struct):
    """Yields names, offsets and sizes of the fields, including those of the union."""
    for name, kind in struct._fields_:
        if name == "_union":
            at = getattr(struct, name).offset
            yield from ((n, at, ctypes.sizeof(t)) for n, t in kind._fields_)
        else:
            member = getattr(struct, name)
            yield name, member.offset, member.size


def test_structures(tmp_path):
    body, expected = "", []
    for struct in _abi.STRUCTS:
        name = struct.__name__
        body += f'printf("{name} %zu\\n", sizeof(struct {name}));\n'
        expected.append(f"{name} {ctypes.sizeof(struct)}")
        for field, offset, size in fields(struct):
            body += (f'printf("{name}.{field} %zu %zu\\n", '
                     f"__builtin_offsetof(struct {name}, {field}), "
                     f"sizeof(((struct {name} *)0)->{field}));\n")
            expected.append(f"{name}.{field} {offset} {size}")
    assert len(expected) > 200
    assert compiled(body, tmp_path) == expected


def test_constants(tmp_path):
    names = [n for n in vars(_abi) if re.match("DK_[A-Z]", n)]
    assert len(names) > 300
    body = "".join(f'printf("{n} %lld\\n", (long long){n});\n' for n in names)
    assert compiled(body, tmp_path) == [f"{n} {getattr(_abi, n)}" for n in names]


def test_errnos(tmp_path):
    body = ('#define SAY(R, e, t) printf("%d %d\\n", DK_WHY_##R, (e));\n'
            "DK_REASONS(SAY)\n")
    assert compiled(body, tmp_path) == [f"{r} {e}" for r, e in _abi.ERRNO.items()]


def test_every_exported_function():
    exported = re.findall(r"^\t(dk_(?!_)\w+);", (TOP / "lib/libdispatchkey.map").read_text(),
                          re.M)
    variables = {"dk_local_default"}
    assert set(exported) - variables == set(_abi.FUNCTIONS)


def test_version():
    assert _abi.VERSION == (TOP / "VERSION").read_text().strip()
