# SPDX-License-Identifier: GPL-2.0-only
"""Tests the subcommands of dispatchkey.torch, with answers recorded from PyTorch 1.13.1."""
import csv
import io
import os
import pty
import re
import signal
import subprocess
import sys

import pytest

import dispatchkey as dk
from conftest import TOP, run
from torch_helpers import command, program, replayed


def test_explain(fake):
    fake()
    status, out, err = command("explain", "aten::add.Tensor", "--on", "cpu,requires_grad",
                               "--on", "cpu")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "aten::add.Tensor in PyTorch 1.13.1+cpu, layout pytorch-1.13"
    path = out.split("path, if each function redispatches as PyTorch's generated ones do:\n")[1]
    assert [line for line in path.splitlines() if line.startswith("  ") and "rule" not in line] == [
        "  1.  AutogradCPU: ./torch/csrc/autograd/generated/VariableType_2.cpp:16915 "
        "[autograd kernel]",
        "  2.  CPU: ./build/aten/src/ATen/RegisterCPU.cpp:30798 [kernel]"]
    assert "       rule  1  CPU                                    serves: ./build/aten/" in path
    # the rules of each step, once
    assert out.count("rule  7  Autograd                               serves: ./torch/csrc/") == 1
    assert lines[-1] == "PyTorch's table agrees with the rules in 71 entries."
    assert "object       0x" in out and "| object     0x" in out
    status, out, _err = command("explain", "aten::relu", "--on", "privateuseone")
    assert status == 0 and " Undefined " not in out
    assert out.count("       rule  8  -                                      no: this layout lacks "
                     "the alias key\n") == 1


@pytest.mark.parametrize("on, first", [
    (["cpu"], "AutogradCPU"), (["cuda"], "AutogradCUDA"), (["cpu,inference"], "CPU"),
    (["cpu", "cuda"], "AutogradCUDA"), (["cpu,Tracer"], "Tracer"), (["meta,inference"], "Meta"),
    (["cpu,sparse,inference"], "SparseCPU"), (["cpu,zero"], "AutogradCPU"),
    (["cpu,zero,inference"], "ZeroTensor"), (["qint8,inference"], "QuantizedCPU"),
    (["CUDA"], "CUDA"), (["cpu,conj,inference"], "Conjugate"),
    (["cpu,PythonDispatcher"], "PythonDispatcher"),
])
def test_words(fake, on, first):
    fake()
    status, out, _err = command("explain", "aten::add.Tensor",
                                *(word for one in on for word in ("--on", one)))
    assert status == 0
    assert f"\ntop key      {first}\n" in out


@pytest.mark.parametrize("arguments, message", [
    (["aten::ad.Tensor"], "PyTorch has no such operator: aten::ad.Tensor; did you mean "
                          "aten::add.Tensor or aten::add.Scalar?"),
    (["aten::add."], "PyTorch has no such operator: aten::add.; did you mean aten::add.Tensor or "
                     "aten::add.Scalar?"),
    (["aten::add"], "PyTorch has this operator only with an overload: aten::add; its "
                    "overloads are aten::add.Scalar, aten::add.Tensor"),
    (["aten::relu", "--on", "cpuu"],
     "expected a device, a layout, a dtype, a tensor property or a dispatch key: cpuu; "
     "did you mean cpu?"),
    (["aten::relu", "--on", "cpu", "--on", "cpu"],
     "aten::relu dispatches on 1 of its arguments, but 2 are given"),
    (["aten::relu", "--on", "mkldnn,cuda"], "Unsupported device type for mkldnn layout: CUDA"),
    (["aten::relu", "--on", "cpu,cuda"],
     "a tensor has one device, but two are given: CPU and CUDA"),
    (["aten::relu", "--on", "Autograd"], 'an alias key cannot be in a set: Autograd; the keys that it '
                                         'stands for are Key("Autograd").stands_for'),
    (["aten::relu", "--on", "cup"],
     "expected a device, a layout, a dtype, a tensor property or a dispatch key: cup; "
     "did you mean cpu?"),
    (["aten::relu", "--on", "zzzzz"],
     "expected a device, a layout, a dtype, a tensor property or a dispatch key: zzzzz; "
     "devices are cpu, cuda, xpu, mps, meta, privateuseone and 15 others"),
    (["relu"], "PyTorch has no such operator: relu; did you mean aten::relu?"),
    (["torch.add"], "PyTorch has no such operator: torch.add; did you mean aten::add.Tensor or "
                    "aten::add.Scalar?"),
    (["torch::relu"], "PyTorch has no such operator: torch::relu; did you mean aten::relu?"),
    (["torch.nn.functional.relu"], "PyTorch has no such operator: torch.nn.functional.relu; "
                                   "did you mean aten::relu?"),
    ([""], "the name of an operator is empty; use a name such as aten::add.Tensor"),
    (["mine::f"], "PyTorch has no such operator: mine::f; no operator of namespace mine is "
                  "registered: load its library first (on the command line, with --load FILE)"),
    (["atem::relu"], "PyTorch has no such operator: atem::relu; did you mean aten::relu?"),
])
def test_wrong_words(fake, arguments, message):
    fake()
    status, _out, err = command("explain", *arguments)
    assert (status, err) == (2, f"dispatchkey.torch: {message}\n")


@pytest.mark.parametrize("arguments, message", [
    (["diff", "aten::relu", "--on", "cpu"],
     'a second call is missing: use "--to" or "--to-under"'),
    (["diff", "aten::relu", "--on", "cpu", "--to", "cpuu"],
     "expected a device, a layout, a dtype, a tensor property or a dispatch key: cpuu; "
     "did you mean cpu?"),
    (["diff", "aten::relu", "--to-under", "autocst"],
     "expected a mode: autocst; did you mean autocast?"),
    (["explain", "aten::relu", "--under", "cuda"],
     "expected a mode: cuda; use one of no_grad, inference_mode, autocast, vmap"),
    (["what-if", "aten::relu", "--if", "no_gard"],
     "expected a mode, a tensor property or a device: no_gard; did you mean no_grad?"),
    (["what-if", "aten::rel"], "PyTorch has no such operator: aten::rel; did you mean "
                               "aten::relu?"),
])
def test_wrong_words_of_other_commands(fake, arguments, message):
    fake()
    status, out, err = command(*arguments)
    assert (status, out, err) == (2, "", f"dispatchkey.torch: {message}\n")


def rows(out):
    """Returns the lines of a table, by the text in their first column."""
    return {line.split("  ")[0]: line for line in out.splitlines()}


def test_diff_of_devices(fake):
    fake()
    status, out, err = command("diff", "aten::add.Tensor", "--on", "cpu,requires_grad", "--on",
                               "cpu", "--to", "cuda", "--to", "cuda")
    assert (status, err) == (0, "")
    assert out == """\
aten::add.Tensor in PyTorch 1.13.1+cpu
  - a: cpu,requires_grad; cpu
  + b: cuda; cuda

keys that differ:
  arguments  - CPU, AutogradCPU, AutocastCPU
             + CUDA, AutogradCUDA, AutocastCUDA
  effective  - CPU, AutogradCPU
             + CUDA, AutogradCUDA

path, if each function redispatches as PyTorch's generated ones do:
    AutogradCPU, in b AutogradCUDA: ./torch/csrc/autograd/generated/VariableType_2.cpp:16915 \
[autograd kernel]
  - CPU: ./build/aten/src/ATen/RegisterCPU.cpp:30798 [kernel]
  + CUDA: ./build/aten/src/ATen/RegisterCompositeExplicitAutogradNonFunctional.cpp:21389 \
[default backend kernel]

The paths diverge at CPU and CUDA: the functions differ.
"""


@pytest.mark.parametrize("arguments, end", [
    (["--on", "cpu", "--to", "cpu,inference"],
     "The paths diverge at AutogradCPU, which is only in path a."),
    (["--on", "cpu", "--to", "cpu,Tracer"],
     "The paths diverge at Tracer, which is only in path b."),
    (["--on", "cuda", "--to", "hip"], "Both paths have the same functions."),
    (["--to", "cpu,inference"], "The paths diverge at CPU, which is only in path b."),
    (["--to", "cuda,inference"], "Both paths have the same functions."),
])
def test_where_paths_diverge(fake, arguments, end):
    fake()
    status, out, err = command("diff", "aten::add.Tensor", *arguments)
    assert (status, err) == (0, "")
    assert out.splitlines()[-1] == end


def test_diff_of_equal_calls(fake):
    fake()
    status, out, _err = command("diff", "aten::relu", "--on", "cpu", "--to", "cpu,requires_grad")
    assert status == 0 and "\nkeys that differ: none\n" in out


@pytest.mark.parametrize("arguments, redirections, status", [
    ("explain aten::relu --on cpu --svg=", "", 4), ("export aten::relu -o ''", "", 4),
    ("explain aten::relu --on cpu", ">&-", 4), ("--help", ">&-", 4), ("--version", ">&-", 4),
    ("explain aten::nonsense", "2>/dev/full", 2), ("explain --nonsense", "2>/dev/full", 2),
    ("explain aten::nonsense", "2>&-", 2), ("explain --nonsense", "2>&-", 2),
])
def test_files_and_streams_that_cannot_be_written(fake, arguments, redirections, status):
    fake()
    done = subprocess.run(f"{sys.executable} -m dispatchkey.torch {arguments} {redirections}",
                          shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, timeout=120)
    assert done.returncode == status
    if "2>" in redirections:
        assert done.stdout == ""
    elif redirections:
        assert done.stderr == "dispatchkey.torch: the output cannot be written: it is closed\n"


def test_a_property_alone_describes_a_tensor_of_the_cpu(fake):
    fake()
    for words in ("neg", "conj,inference"):
        alone = command("explain", "aten::relu", "--on", words)
        named = command("explain", "aten::relu", "--on", f"cpu,{words}")
        assert alone == named and alone[0] == 0
    # a key may be that of another backend
    _status, out, _err = command("explain", "aten::relu", "--on", "SparseCUDA,neg")
    assert "  SparseCUDA, Negative\n" in out.split("arguments")[1]


def test_what_if_devices(fake):
    fake()
    status, out, err = command("what-if", "aten::add.Tensor", "--on", "cpu", "--if",
                               "cuda,meta,privateuseone,vulkan,cpu")
    assert (status, err) == (0, "")
    assert out == """\
aten::add.Tensor in PyTorch 1.13.1+cpu: cpu

what if        path                               difference
               AutogradCPU > CPU
cuda           AutogradCUDA > CUDA                another function at CUDA
meta           AutogradMeta > Meta                another function at Meta
privateuseone  AutogradPrivateUse1 > PrivateUse1  another function at PrivateUse1
vulkan         AutogradOther > Vulkan             with Vulkan; without CPU
cpu            AutogradCPU > CPU                  the same functions
"""


def test_what_if_pytorch_refuses(fake):
    """For a mode that this PyTorch lacks, what-if prints a line, and --under is an error."""
    fake()
    status, out, err = command("what-if", "aten::relu", "--on", "cpu,sparse", "--if",
                               "no_grad,vulkan")
    assert (status, err) == (0, "")
    assert "\nno_grad  -\n           PyTorch refuses no_grad on cpu: module 'torch' has no " \
        "attribute 'no_grad'\n" in out
    assert "there are no tensors of SparseCPU on this device: Vulkan\n" in out
    status, out, err = command("explain", "aten::relu", "--under", "no_grad")
    assert (status, out, err) == (2, "", "dispatchkey.torch: PyTorch refuses no_grad on cpu: "
                                  "module 'torch' has no attribute 'no_grad'\n")


def test_missing(fake):
    fake()
    status, out, err = command("missing", "privateuseone", "--show", "all")
    assert (status, err) == (0, "")
    assert out == """\
PrivateUse1 in PyTorch 1.13.1+cpu: 4 operators

number  served by                               which
     1  CompositeImplicitAutograd               calls other operators, and needs no function
     1  CompositeExplicitAutograd               one function for all backends
     1  CompositeExplicitAutogradNonFunctional  needs the out variant (*_copy: the view)
     1  nothing                                 calls fail

aten::add.Scalar  CompositeExplicitAutograd               ./build/aten/src/ATen/\
RegisterCompositeExplicitAutograd.cpp:6796
aten::add.Tensor  CompositeExplicitAutogradNonFunctional  ./build/aten/src/ATen/\
RegisterCompositeExplicitAutogradNonFunctional.cpp:21389
aten::matmul      CompositeImplicitAutograd               ./build/aten/src/ATen/\
RegisterCompositeImplicitAutograd.cpp:7023
aten::relu        nothing
"""
    assert command("missing", "privateuseone")[1].endswith("\n\naten::relu\n")


def test_missing_functions_of_meta(fake):
    """In PyTorch 2.14 the fallback at Meta fails, so operators that only this fallback serves are
    missing."""
    fake(version="2.14.1+cpu", file="pytorch-2.14/dumps.txt", layout="pytorch-2.14")
    status, out, _err = command("missing", "meta")
    dump = (TOP / "selftests/vectors/pytorch-2.14/dumps.txt").read_text()
    number = dump.count("\nMeta: registered at ./aten/src/ATen/core/MetaFallbackKernel.cpp:")
    assert number == 5 and status == 0
    assert "  fallback " not in out and f"\n{number:6}  nothing " in out
    assert len(out.split("calls fail\n\n")[1].splitlines()) == number


def test_missing_files(fake, tmp_path):
    fake()
    table, page = tmp_path / "x.csv", tmp_path / "x.html"
    status, out, _err = command("missing", "cpu", "--only", "aten::add.*", "--csv", str(table),
                                "--html", str(page), "--show", "none")
    assert status == 0 and "aten::add." not in out
    lines = list(csv.DictReader(table.open()))
    found = {line["operator"]: line for line in lines}["aten::add.Tensor"]
    assert found["served_by"] == "own" and found["autograd_by"] == "Autograd"
    assert found["where"] == "./build/aten/src/ATen/RegisterCPU.cpp:30798"
    assert found["schema"].startswith("aten::add.Tensor(Tensor self, Tensor other, *, ")
    text = page.read_text()
    assert text.count("<tr data-by=") == len(lines) and "<td>./build/aten/" in text
    assert "http" not in text and "-&gt; Tensor" in text


def test_files_named_with_a_minus_are_the_output(fake, tmp_path, monkeypatch):
    fake()
    monkeypatch.chdir(tmp_path)
    status, out, err = command("missing", "cpu", "--only", "aten::add.*", "--csv", "-")
    assert (status, err) == (0, "")
    assert "aten::add.Tensor" in [line["operator"] for line in csv.DictReader(io.StringIO(out))]
    for arguments in (["missing", "cpu", "--only", "aten::add.*", "--html", "-"],
                      ["explain", "aten::relu", "--on", "cpu", "--svg", "-"]):
        status, out, err = command(*arguments)
        assert (status, err, out[0], out.rstrip()[-1]) == (0, "", "<", ">")
    assert command("export", "aten::relu", "-o", "-") == command("export", "aten::relu")
    assert command("missing", "cpu", "--csv", "-", "--html", "-") == \
        (2, "", 'dispatchkey.torch: "-" can stand for only one file: --csv or --html\n')
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize("words, as_printed", [
    (["aten::relu", "--on", "cpu"], ["aten.relu.default", "--on", "cpu"]),
    (["aten::relu", "--on", "cpu"], ["aten::relu.default", "--on", "cpu:0"]),
    (["aten::add.Tensor", "--on", "cuda", "--on", "cuda,qint8"],
     ["torch.ops.aten.add.Tensor", "--on", "cuda:1", "--on", "torch.qint8,cuda:0"]),
    (["aten::relu", "--on", "cuda,sparse"], ["aten::relu", "--on", "torch.sparse_coo,cuda"]),
    (["aten::relu", "--on", "mkldnn"], ["aten::relu", "--on", "torch._mkldnn"]),
    (["aten::relu", "--on", "strided"], ["aten::relu", "--on", "torch.strided"]),
])
def test_words_as_pytorch_prints_them(fake, words, as_printed):
    fake()
    assert command("export", *words) == command("export", *as_printed)
    assert command("explain", *words)[1] == command("explain", *as_printed)[1]


@pytest.mark.parametrize("arguments, offending", [
    (["aten.nonsense.default"], "aten.nonsense.default"), (["torch.nn.rulu"], "torch.nn.rulu"),
    (["aten::relu", "--on", "cuda:x"], "cuda:x"), (["aten::relu", "--on", "torch.x"], "torch.x"),
    (["aten::relu", "--on", "neg:1"], "neg:1"), (["aten::relu", "--on", "sparse:1"], "sparse:1"),
])
def test_errors_show_the_word_as_it_was_written(fake, arguments, offending):
    fake()
    status, out, err = command("explain", *arguments)
    assert (status, out) == (2, "") and f": {offending}" in err


def test_a_device_with_a_number(fake):
    fake()
    assert command("missing", "cuda:1") == command("missing", "cuda")


def test_load_keeps_modules_of_the_same_name(fake, tmp_path):
    fake()
    mine = tmp_path / "folder" / "json.py"
    mine.parent.mkdir()
    mine.write_text("import json, sys\nassert json.dumps([]) == '[]'\n"
                    "assert sys.modules[__name__].__file__ == __file__\n")
    assert command("explain", "aten::relu", "--on", "cpu", "--load", str(mine)) == \
        command("explain", "aten::relu", "--on", "cpu")


def test_missing_like_another_backend(fake):
    fake()
    all_, like = (command("missing", "privateuseone", "--show", "all", *more)[1]
                  for more in ([], ["--like", "SparseCPU"]))
    assert "aten::relu" in all_ and "aten::add.Tensor" in all_
    assert "aten::relu" not in like and "aten::add.Tensor" in like


@pytest.mark.parametrize("arguments, message", [
    (["cpuu"], "expected a device or the key of a backend: cpuu; did you mean cpu?"),
    (["Tracer"], "expected a device or the key of a backend: Tracer; devices are cpu, cuda, "),
    (["cpu", "--like", "Autograd"], "expected a device or the key of a backend: Autograd; "),
    (["cpu", "--show", "al"], "expected a word of the summary: al; did you mean all?"),
    (["cpu", "--only", "x*"], "no operator of PyTorch matches this pattern: x*"),
])
def test_missing_with_wrong_words(fake, arguments, message):
    fake()
    status, _out, err = command("missing", *arguments)
    assert status == 2 and err.startswith(f"dispatchkey.torch: {message}")
    assert err.count("\n") == 1


def test_missing_for_a_key_or_a_device(fake):
    """A key of another layout stands for the key with its name. A torch.device has a text."""
    fake(more="""
class device:
    def __str__(self):
        return "cpu"
""")
    assert program("""
import torch, dispatchkey as dk, dispatchkey.torch as dt
for backend in dk.Key.CPU, dk.Key.SparseCsrCPU, dk.Key("SparseMeta", dt.layout()), torch.device():
    print(repr(dt.missing(backend, like=dk.Key.CPU).key))
""") == "".join(f"Key('{name}', layout='pytorch-1.13')\n"
                for name in ("CPU", "SparseCsrCPU", "SparseMeta", "CPU"))


@pytest.mark.parametrize("arguments", [["missing", "cpu"], ["check"]])
def test_progress_on_a_terminal(fake, arguments):
    fake()
    terminal, end = pty.openpty()
    done = subprocess.run([sys.executable, "-m", "dispatchkey.torch", *arguments],
                          stdout=subprocess.PIPE, stderr=end, check=True, timeout=120)
    os.close(end)
    text = os.read(terminal, 10000).decode()
    os.close(terminal)
    assert f"\r\x1b[K[{20 * '.'}] 0 of 4 operators" in text and text.endswith("\r\x1b[K")
    assert b"4 operators" in done.stdout


def test_export(fake, tmp_path):
    """dkctl replays the exported transcript without PyTorch, and all answers are right."""
    fake()
    path = tmp_path / "x.dkt"
    status, out, err = command("export", "aten::add.Tensor", "aten::relu", "-o", str(path), "--on",
                               "cpu,requires_grad")
    assert (status, out, err) == (0, "", "")
    status, text = replayed(path)
    assert status == 0 and text.endswith("every answer is right\n")
    text = path.read_text()
    assert "\n> op -s 'aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor' " \
        "-g 'registered at ./build/aten/src/ATen/RegisterSchema.cpp:6' -a FROM_SCHEMA " \
        "aten::add.Tensor\n" in text
    assert "\n> impl -f aten::relu Named ./aten/src/ATen/core/NamedRegistrations.cpp:11\n" in text
    assert text.count("> call -v ") == text.count("> route -v ") == 2
    assert "\n0x12800004001 0x2000004001 AutogradCPU ./torch/csrc/autograd/" in text
    # the answers are compared
    path.write_text(text.replace("CPU: ./build/aten/src/ATen/RegisterCPU.cpp:30798 [kernel]",
                                 "CPU: ./build/aten/src/ATen/Other.cpp:1 [kernel]", 1))
    assert replayed(path)[0] == 1


def test_export_to_standard_output(fake, tmp_path):
    fake()
    status, out, _err = command("export", "aten::matmul")
    assert status == 0 and out.startswith("> layout pytorch-1.13\n> fallback ")
    assert "> call" not in out
    (tmp_path / "x.dkt").write_text(out)
    assert replayed(tmp_path / "x.dkt")[0] == 0


def test_export_of_a_table_that_differs(fake, tmp_path):
    fake(broken='.replace("RegisterCPU.cpp:30798 [kernel]", "Other.cpp:1 [math kernel]")')
    status, out, err = command("export", "aten::add.Tensor", "-o", str(tmp_path / "x.dkt"))
    assert (status, out) == (1, "")
    assert err.startswith("dispatchkey.torch: aten::add.Tensor: PyTorch's table differs from the "
                          "rules:\n  CPU: PyTorch has ./build/aten/src/ATen/Other.cpp:1 ")
    assert replayed(tmp_path / "x.dkt")[0] == 1


@pytest.mark.parametrize("arguments, message", [
    (["aten::add.Tensr"], "PyTorch has no such operator: aten::add.Tensr; did you mean "
                          "aten::add.Tensor or aten::add.Scalar?"),
    (["aten::add.Tensor", "aten::relu", "--on", "cpu", "--on", "cpu"],
     "aten::relu dispatches on 1 of its arguments, but 2 are given"),
])
def test_export_of_what_is_not_there(fake, arguments, message):
    fake()
    assert command("export", *arguments) == (2, "", f"dispatchkey.torch: {message}\n")


def test_watch(fake, tmp_path):
    fake()
    (tmp_path / "backend_of_mine.py").write_text("""
from torch import _C
_C.texts["dump mine::f"] = "name: mine::f\\nschema: mine::f(Tensor a) -> Tensor\\n" \\
    "debug: registered at m.cpp:1\\nalias analysis kind: FROM_SCHEMA\\n" \\
    "CPU: registered at m.cpp:2 :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]\\n" \\
    "Tracer: registered at m.cpp:3 :: (none) [ fallthrough boxed ]\\n"
_C.texts["dump aten::relu"] = _C.texts["dump aten::relu"].replace("RegisterCPU", "Other")
""")
    assert command("watch", "backend_of_mine") == (0, """\
- function of aten::relu at CPU: ./build/aten/src/ATen/RegisterCPU.cpp:30798
+ function of aten::relu at CPU: ./build/aten/src/ATen/Other.cpp:30798
+ operator mine::f: m.cpp:1
+ function of mine::f at CPU: m.cpp:2
+ function of mine::f at Tracer: m.cpp:3, a fallthrough
""", "")
    assert command("watch", "csv")[1] == "nothing was registered\n"
    assert command("watch", "nowhere") == \
        (3, "", "dispatchkey.torch: nowhere cannot be loaded: No module named 'nowhere'\n")


def test_load(fake, tmp_path):
    fake()
    (tmp_path / "backend_of_mine.py").write_text("print('loaded')\n")
    status, out, _err = command("explain", "aten::relu", "--load", "backend_of_mine")
    assert status == 0 and out.startswith("loaded\naten::relu in PyTorch")
    (tmp_path / "backend_that_fails.py").write_text("raise ValueError('no card\\nat all')\n")
    (tmp_path / "ends.py").write_text("raise SystemExit(0)\n")
    for wrong, message in (("nowhere", "No module named 'nowhere'"),
                           ("backend_that_fails", "no card"), ("", "Empty module name"),
                           ("/nowhere.so", "No such file or directory"),
                           ("nowhere.py", "No such file or directory"),
                           (str(TOP / "VERSION"), "module 'torch' has no attribute 'ops'"),
                           (str(tmp_path / "backend_that_fails.py"), "no card"),
                           (str(tmp_path / "ends.py"), "it calls sys.exit(0)")):
        status, out, err = command("explain", "aten::relu", "--load", wrong)
        assert (status, out, err) == \
            (3, "", f"dispatchkey.torch: {wrong} cannot be loaded: {message}\n")


def test_load_by_path(fake, tmp_path, monkeypatch):
    """--load accepts a Python file, which can import files next to it, and a folder."""
    fake()
    folder = tmp_path / "mine"
    (folder / "pack").mkdir(parents=True)
    (folder / "neighbour.py").write_text("NAME = 'neighbour'\n")
    (folder / "my-op.py").write_text("import neighbour\nprint('loaded', neighbour.NAME)\n")
    (folder / "pack/__init__.py").write_text("from . import part\n")
    (folder / "pack/part.py").write_text("print('loaded', __name__)\n")
    monkeypatch.chdir(folder)
    for file, expected in (("./my-op.py", "neighbour"), (str(folder / "my-op.py"), "neighbour"),
                           ("my-op.py", "neighbour"), ("./pack", "pack.part")):
        status, out, err = command("explain", "aten::relu", "--load", file)
        assert (status, err) == (0, "") and out.startswith(f"loaded {expected}\naten::relu ")
    assert command("watch", "./my-op.py")[0] == 0


def test_output_that_cannot_be_written(fake):
    """The status is 4 if the standard output is full, or if a file cannot be created."""
    fake()
    for arguments in (["explain", "aten::relu"], ["--help"], ["--version"], ["missing", "cpu"],
                      ["export", "aten::relu"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = run(sys.executable, "-m", "dispatchkey.torch", *arguments, stdout=full)
        assert (done.returncode, done.stderr) == \
            (4, "dispatchkey.torch: the output cannot be written: No space left on device\n")
    for arguments in (["explain", "aten::relu", "--svg"], ["missing", "cpu", "--csv"],
                      ["missing", "cpu", "--html"], ["export", "aten::relu", "-o"]):
        for file, reason in (("/dev/full", "No space left on device"), ("/", "Is a directory"),
                             ("/nowhere/x", "No such file or directory")):
            status, _out, err = command(*arguments, file)
            assert (status, err) == \
                (4, f"dispatchkey.torch: {file} cannot be written: {reason}\n")


@pytest.mark.parametrize("arguments, message, of", [
    ([], "a command is missing", ""),
    (["explian", "aten::relu"], 'unknown command "explian": did you mean explain?', ""),
    (["zzz"], 'unknown command "zzz": commands are explain, ', ""),
    (["--verison"], 'unknown option "--verison": did you mean --version?', ""),
    (["explain"], "OPERATOR is missing", "explain "),
    (["explain", "aten::relu", "-x"], 'unknown option "-x"', "explain "),
    (["explain", "aten::relu", "--udner=x"], 'unknown option "--udner=x": did you mean --under?',
     "explain "),
    (["explain", "aten::relu", "cpu"], 'unexpected word "cpu"', "explain "),
    (["explain", "aten::relu", "--on"], "--on needs a word", "explain "),
    (["what-if", "aten::relu", "--if"], "--if needs a word", "what-if "),
    (["explain", b"aten::\xff"], r'OPERATOR: "aten::\udcff" is not UTF-8', "explain "),
    (["explain", "aten::relu", "--on", b"\xff"], r'--on: "\udcff" is not UTF-8', "explain "),
    (["what-if", "aten::relu", "--if", b"\xff"], r'--if: "\udcff" is not UTF-8', "what-if "),
    (["missing", b"\xff"], r'BACKEND: "\udcff" is not UTF-8', "missing "),
])
def test_usage(fake, arguments, message, of):
    """An error prints a line with the wrong word, and a line that names the help."""
    fake()
    status, out, err = command(*arguments)
    assert (status, out) == (2, "")
    first, second = err.splitlines()
    assert first.startswith(f"dispatchkey.torch: {message}") and len(first) < 120
    assert second == f"dispatchkey.torch: see python3 -m dispatchkey.torch {of}--help"


def test_help(fake):
    fake()
    status, out, err = command("--help")
    assert status == 0 and "exit status:\n  0  done" in out and err == ""
    for name in re.findall(r"^    ([a-z-]+) +[a-z]", out, re.M):
        status, text, err = command(name, "--help")
        assert status == 0 and err == "" and "exit status:\n  0  done" in text
        assert f"\nexamples:\n  python3 -m dispatchkey.torch {name}" in text
    for module in ("dispatchkey", "dispatchkey.torch"):
        done = run(sys.executable, "-S", "-m", module, "--version")
        assert (done.returncode, done.stdout, done.stderr) == \
            (0, f"dispatchkey {dk.__version__}\n", "")


@pytest.mark.parametrize("arguments", [
    ["explain", "aten::relu"], ["what-if", "aten::relu"], ["diff", "aten::relu", "--to", "cuda"],
    ["missing", "cpu"], ["export", "aten::relu"], ["watch", "csv"], ["check"],
    ["explain", "aten::relu", "--load", "csv"],
])
def test_no_pytorch(arguments):
    status, out, err = command(*arguments, isolated=True)
    assert (status, out) == (3, "")
    assert err == ("dispatchkey.torch: PyTorch cannot be imported (No module named 'torch'): "
                   f"install it for this Python, {sys.executable}\n")


@pytest.mark.parametrize("code, reason", [
    ("raise OSError('libcudart.so: cannot open')", "OSError: libcudart.so: cannot open"),
    ("raise ValueError('two lines\\nof text')", "ValueError: two lines"),
    ("raise ImportError('no numpy.')", "no numpy"),
    ("import a_module_that_is_missing", "No module named 'a_module_that_is_missing'"),
    ("raise RuntimeError", "RuntimeError"),
])
def test_pytorch_that_fails(tmp_path, monkeypatch, code, reason):
    """Any exception of the import is reported in one sentence."""
    (tmp_path / "torch.py").write_text(f"{code}\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{TOP}/python")
    assert command("explain", "aten::relu") == (
        3, "", f"dispatchkey.torch: PyTorch cannot be imported ({reason}): install it again for "
        f"this Python, {sys.executable}\n")


def default_interrupt():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("code", [
    "import time; print('here', flush=True); time.sleep(60)",
    # PyTorch's import replaces KeyboardInterrupt with another exception.
    "import time; print('here', flush=True)\ntry: time.sleep(60)\n"
    "except KeyboardInterrupt: raise RuntimeError('KeyboardInterrupt')",
])
def test_interrupt(tmp_path, monkeypatch, code):
    """Ctrl-C kills a command with SIGINT, without a message. A program gets KeyboardInterrupt."""
    (tmp_path / "torch.py").write_text(f"{code}\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{TOP}/python")
    for arguments, status, message in (
            (["-m", "dispatchkey.torch", "explain", "aten::relu"], -signal.SIGINT, ""),
            (["-c", "import dispatchkey.torch as dt\ntry: dt.operators()\n"
              "except KeyboardInterrupt: print('interrupted')"], 0, "interrupted\n")):
        # a shell without job control starts commands in the background with SIGINT ignored
        # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
        process = subprocess.Popen([sys.executable, *arguments], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=default_interrupt)
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == (message, "")
        assert process.returncode == status
