# SPDX-License-Identifier: GPL-2.0-only
"""Checks the statements of PyTorch's own dispatcher tests with the installed PyTorch.

"statement 13" is test 13 of the 32 tests in test_dispatch.py; other statements are
named by their subject. Both PyTorch and dkctl must give the stated answer, with the same
text.
"""
import json
import os
import subprocess

import program
import sides

OP = "test::foo"

KERNEL, MATH, FALLBACK = "kernel", "math kernel", "backend fallback"
AUTOGRAD, DEFAULT = "autograd kernel", "default backend kernel"
AMBIGUOUS = "ambiguous autogradother"
MISSING = None

IMPLICIT, EXPLICIT = "CompositeImplicitAutograd", "CompositeExplicitAutograd"
NON_FUNCTIONAL = "CompositeExplicitAutogradNonFunctional"


def rows(keys, provenance):
    return dict.fromkeys(keys.split(), provenance)


# (number and name, keys in the order of registration, provenance by key)
TABLES = (
    ("7 test_computed_table", ("-", "CPU", "XLA", "Autograd", "AutogradCPU"),
     {**rows("Undefined CUDA AutogradOther AutogradCUDA", MATH),
      **rows("CPU XLA AutogradCPU", KERNEL), "AutogradXLA": AUTOGRAD}),
    ("8 test_computed_table_with_cpu_math_autogradcpu_fallthrough", ("-", "CPU"),
     {**rows("Undefined CUDA XLA AutogradOther AutogradCUDA AutogradXLA", MATH),
      "CPU": KERNEL, "AutogradCPU": FALLBACK}),
    ("9 test_computed_table_with_math", (IMPLICIT,),
     rows("Undefined CPU CUDA XLA AutogradOther AutogradCPU AutogradCUDA AutogradXLA", MATH)),
    ("10 test_computed_table_with_cpu_math", ("CPU", IMPLICIT),
     {**rows("Undefined CUDA XLA AutogradOther AutogradCUDA AutogradXLA", MATH),
      "CPU": KERNEL, "AutogradCPU": FALLBACK}),
    ("11 test_computed_table_with_autograd", ("Autograd",),
     {**rows("AutogradOther AutogradCPU AutogradCUDA AutogradXLA", AUTOGRAD),
      **rows("Undefined CPU CUDA XLA", MISSING)}),
    ("12 test_computed_table_with_cpu_autograd_math", ("CPU", "Autograd", IMPLICIT),
     {**rows("Undefined CUDA XLA AutogradOther AutogradCUDA AutogradXLA", MATH),
      "CPU": KERNEL, "AutogradCPU": AUTOGRAD}),
    ("13 test_computed_table_with_ambiguous_autogradother", (IMPLICIT, "FPGA"),
     {**rows("Undefined CPU CUDA XLA AutogradCPU AutogradCUDA AutogradXLA", MATH),
      "FPGA": KERNEL, "AutogradOther": AMBIGUOUS}),
    ("14 test_computed_table_with_cpu_defaultbackend", ("CPU", EXPLICIT),
     {**rows("Undefined CUDA XLA", DEFAULT), "CPU": KERNEL,
      **rows("AutogradOther AutogradCPU AutogradCUDA AutogradXLA", FALLBACK)}),
    ("15 test_computed_table_with_cpu_autograd_defaultbackend", ("CPU", "Autograd", EXPLICIT),
     {**rows("Undefined CUDA XLA FPGA", DEFAULT), "CPU": KERNEL,
      **rows("AutogradOther AutogradCPU AutogradCUDA AutogradXLA", AUTOGRAD)}),
    ("16 test_computed_table_with_cpu_autograd_math_defaultbackend",
     ("CPU", "Autograd", IMPLICIT, EXPLICIT),
     {**rows("Undefined CUDA XLA", DEFAULT), "CPU": KERNEL,
      **rows("AutogradOther AutogradCPU AutogradCUDA AutogradXLA", AUTOGRAD)}),
)

# The same for PyTorch's class PythonDispatcher.
PYTHON_TABLES = (
    ("26 test_basic", ("CPU", "XLA", "Lazy", IMPLICIT),
     {**rows("CPU XLA Lazy", KERNEL), **rows("FPGA AutogradOther", MATH),
      **rows("AutogradCPU AutogradXLA AutogradLazy", FALLBACK)}),
    ("27 test_math_autogradcpu", ("CPU", "XLA", "Lazy", IMPLICIT, "AutogradCPU"),
     {**rows("CPU XLA Lazy AutogradCPU", KERNEL), **rows("FPGA AutogradOther", MATH),
      **rows("AutogradXLA AutogradLazy", FALLBACK)}),
    ("28 test_defaultbackend_autogradcpu", ("CPU", "XLA", "Lazy", EXPLICIT, "AutogradCPU"),
     {**rows("CPU XLA Lazy AutogradCPU", KERNEL), "FPGA": DEFAULT,
      **rows("AutogradOther AutogradXLA AutogradLazy", FALLBACK)}),
    ("29 test_autogradother", ("CPU", "FPGA", IMPLICIT),
     {**rows("CPU FPGA", KERNEL), "AutogradOther": AMBIGUOUS, "AutogradCPU": FALLBACK,
      **rows("XLA Lazy AutogradXLA AutogradLazy", MATH)}),
)

# A letter for the rule that chooses the entry, by key, for each list of registrations; "." stands
# for a missing entry.
CLASSES = (
    ((IMPLICIT,), (IMPLICIT, "CPU"), (IMPLICIT, EXPLICIT), (IMPLICIT, NON_FUNCTIONAL),
     ("Autograd", "CPU", EXPLICIT), (IMPLICIT, "SparseCPU")),
    ("Undefined          m m d d d m",
     "CPU                m k d d k m",
     "CUDA               m m d d d m",
     "XLA                m m d m d m",
     "Lazy               m m d m d m",
     "SparseCPU          m m d m d k",
     "SparseCUDA         m m d m d m",
     "FPGA               m m d d d m",
     "AutogradCPU        m f f m a m",
     "AutogradCUDA       m m f m a m",
     "AutogradHIP        m m . m a m",
     "AutogradVE         m m . m a m",
     "AutogradOther      m m f m a x",
     "AutogradNestedTensor m m . m a m",
     "NestedTensorCPU    m m . m . m",
     "Functionalize      f f f f f f",
     "Tracer             f f f f f f"))
LETTERS = {"m": MATH, "k": KERNEL, "d": DEFAULT, "f": FALLBACK, "a": AUTOGRAD, "x": AMBIGUOUS,
           ".": MISSING}

# PyTorch's own backend fallbacks: fallthroughs, and functions.
STOCK_FALLTHROUGHS = """BackendSelect ADInplaceOrView FuncTorchVmapMode VmapMode AutogradOther
    AutogradCPU AutogradCUDA AutogradXLA AutogradMPS AutogradXPU AutogradHPU AutogradLazy
    AutocastCPU AutocastCUDA""".split()
STOCK_KERNELS = """Python FuncTorchDynamicLayerBackMode FuncTorchDynamicLayerFrontMode
    Functionalize Conjugate Negative ZeroTensor Tracer FuncTorchBatched Batched
    FuncTorchGradWrapper PythonTLSSnapshot PythonDispatcher Named""".split()

# The name and location that the library of installed.py uses in its definitions.
ONE, TWO = "(Tensor _0) -> Tensor _0", "(Tensor x, Tensor y) -> Tensor"
NOWHERE = "registered at /dev/null:0"

# At the autograd keys, CompositeExplicitAutograd overrides CompositeImplicitAutograd, but 1.13.1
# does not refresh these entries.
STALE = (f"op {OP}", f"impl {OP} {IMPLICIT} i", f"impl {OP} Autograd a", f"impl {OP} {EXPLICIT} e")

# (name, commands, answer of PyTorch to the last command, answer of dkctl to it)
ANSWERS = (
    ("17 test_multiple_def_error", (f"op {OP}", f"op {OP}"), "error", "error"),
    ("21 test_multiple_fallback", ("fallback XLA a", "fallback XLA b"), "error", "error"),
    ("25 test_dispatch_print_registrations_for_dispatch_key_invalid",
     ("parse -s invalid_key",), "error", "error"),
    ("with only a fallthrough, a call uses the slot of Undefined",
     (f"op {OP}", f"impl -f {OP} CPU f", f"route {OP} CPU"),
     "0x1 Undefined missing", "0x1 Undefined missing"),
    ("stale: implicit, then a sparse function: AutogradOther is not ambiguous",
     (f"op {OP}", f"impl {OP} {IMPLICIT} i", f"impl {OP} SparseCPU s",
      f"route {OP} AutogradOther"),
     "0x1000000000 AutogradOther i", "0x1000000000 AutogradOther ambiguous"),
    ("stale: a sparse function, then implicit: AutogradOther is ambiguous",
     (f"op {OP}", f"impl {OP} SparseCPU s", f"impl {OP} {IMPLICIT} i",
      f"route {OP} AutogradOther"),
     "0x1000000000 AutogradOther ambiguous", "0x1000000000 AutogradOther ambiguous"),
    ("stale: implicit, autograd, then explicit: AutogradCPU runs the implicit one",
     STALE + (f"route {OP} AutogradCPU",),
     "0x2000000001 AutogradCPU i", "0x2000000001 AutogradCPU a"),
    ("stale: a fallback at CPU refreshes AutogradCPU, too",
     STALE + ("fallback CPU b", f"route {OP} AutogradCPU"),
     "0x2000000001 AutogradCPU a", "0x2000000001 AutogradCPU a"),
    ("stale: a fallback at an alias, refused after some keys, also refreshes AutogradCPU",
     STALE + (f"fallback {IMPLICIT} b", f"route {OP} AutogradCPU"),
     "0x2000000001 AutogradCPU a", "0x2000000001 AutogradCPU a"),
    ("guard: in PyTorch, the end of an include keeps the backend",
     ("include Meta", "end", "tls"),
     "included=0x804000400 excluded=0x70000000000", "included=0x804000000 excluded=0x70000000000"),
    ("guard: in PyTorch, the end of an exclude keeps the backend",
     ("exclude AutogradCPU", "end", "tls"),
     "included=0x804000000 excluded=0x70000000001", "included=0x804000000 excluded=0x70000000000"),
    ("mask: the backend is that of the arguments",
     (f"op {OP}", f"impl -f {OP} CUDA f", f"impl {OP} CPU c", "include CUDA",
      f"route {OP} CPU"),
     "0x4003 CUDA fallthrough", "0x3 Undefined missing"),
)


def both(pair, commands):
    """Returns the answers of PyTorch and of dkctl to the last command."""
    ((ours, theirs),) = pair.run([list(commands)])
    return theirs[-1], ours[-1]


def table(pair, keys):
    """Returns the provenances by key if both print the same table, otherwise both outputs."""
    commands = [f"op {OP}"] + [f"impl {OP} {k} fn_{k}" for k in keys]
    ((ours, theirs),) = pair.run([commands + [f"table {OP}", f"dump {OP}"]])
    if ours[-2:] != theirs[-2:]:
        return None, f"PyTorch:\n{theirs[-2]}\n{theirs[-1]}\ndkctl:\n{ours[-2]}\n{ours[-1]}"
    return provenances(ours[-2]), ""


def provenances(text):
    found = {}
    for line in text.splitlines():
        key, _, rest = line.partition(": ")
        found[key] = rest.rpartition(" [")[2].rstrip("]")
    return found


def wrong_rows(expected, found):
    return "; ".join(f"{k}: expected {v}, got {found.get(k)}"
                     for k, v in expected.items() if found.get(k) != v)


# states: 11.2.7, 11.2.8, 11.2.9, 11.2.10, 11.2.11, 11.2.12, 11.2.13, 11.2.14, 11.2.15, 11.2.16
def check_tables(tap, pair):
    for name, keys, expected in TABLES:
        found, why = table(pair, keys)
        why = why or wrong_rows(expected, found)
        tap.result(not why, f"statement {name}", why)
    lists, lines = CLASSES
    why = []
    for column, keys in enumerate(lists):
        found, text = table(pair, keys)
        expected = {line.split()[0]: LETTERS[line.split()[1 + column]] for line in lines}
        wrong = text or wrong_rows(expected, found)
        if wrong:
            why.append(f"{', '.join(keys)}: {wrong}")
    tap.result(not why, "which rule serves, for six lists of registrations", "\n".join(why))


# states: 11.2.17, 11.2.21, 11.2.25
def check_answers(tap, pair):
    for name, commands, expected, expected_ours in ANSWERS:
        theirs, ours = ("error" if a.startswith("error:") else a for a in both(pair, commands))
        what = f"statement {name}" if name[0].isdigit() else name
        tap.result((theirs, ours) == (expected, expected_ours), what,
                   f"PyTorch {theirs}\nexpected {expected}\ndkctl {ours}\nexpected {expected_ours}")


# states: 11.2.2, 11.2.5, 11.2.6, 11.2.22
def check_dumps(tap, pair):
    """Dumps two functions at one key, functions without a definition, and a definition."""
    def dump(*commands):
        theirs, ours = both(pair, commands + (f"dump {OP}",))
        return ours if ours == theirs else f"PyTorch:\n{theirs}\ndkctl:\n{ours}"

    head = f"name: {OP}\nschema: (none)"
    impls = tuple(f"impl {OP} {k} fn" for k in ("-", "CPU", "Autograd", "AutogradCPU"))
    lines = "\n".join(f"{k}: fn :: (none) [ boxed ]" for k in (
        "CPU", "AutogradCPU", "Autograd[alias]", f"{IMPLICIT}[alias]"))
    for name, commands, expected in (
            ("2 test_def", (f"op {OP}",) + impls, f"{head}\n{lines}"),
            ("5 test_def_only", (f"op {OP}",), head),
            ("6 test_impl_only", impls, f"{head}\n{lines}"),
            ("22 test_overwrite_math", (f"op {OP}", f"impl {OP} - fn1", f"impl {OP} - fn2"),
             f"{head}\n{IMPLICIT}[alias]: fn2 :: (none) [ boxed ]\n"
             f"{IMPLICIT}[alias] (inactive): fn1 :: (none) [ boxed ]")):
        got = dump(*commands)
        tap.result(got == expected, f"statement {name}", got)


def check_stock(tap, pair):
    stock = dict(line.split()[1:] for line in pair.stock)
    falls = [k for k, label in stock.items() if label == "fallthrough"]
    kernels = [k for k in stock if k not in falls]
    tap.result(sorted(falls) == sorted(STOCK_FALLTHROUGHS) and
               sorted(kernels) == sorted(STOCK_KERNELS),
               f"the {len(stock)} fallbacks of the install", "\n".join(pair.stock))


# ---- statements about the PyTorch that Python imports --------------------------------------

def ask_installed(pair):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "installed.py")
    done = subprocess.run([pair.imported.argv[0], "-B", script], capture_output=True, text=True,
                          input=json.dumps([list(t[1]) for t in PYTHON_TABLES]), check=False)
    if done.returncode:
        raise sides.SideError(f"{script} ended with status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


# states: 11.2.26, 11.2.27, 11.2.28, 11.2.29
def check_python_table(tap, pair, name, keys, expected, told):
    """Compares the output of PythonDispatcher with dkctl's table of the same registrations."""
    commands = pair.head() + [f"op {OP}"] + [f"impl {OP} {k} fn_{k}" for k in keys]
    ours = pair.ours.ask(commands + [f"table {OP}"])[-1]
    theirs = {}
    for key, text in told["table"]:
        label, _, provenance = text.rpartition(" [")
        theirs[key] = (label.partition(" ")[0], provenance.rstrip("]"))
    mine = {}
    for line in ours.splitlines():
        key, _, rest = line.partition(": ")
        label, _, provenance = rest.rpartition(" [")
        if key in theirs or key in expected:
            mine[key] = (label.partition(" ")[0], provenance.rstrip("]"))
    why = wrong_rows(expected, {k: v[1] for k, v in theirs.items()})
    if theirs != mine:
        why += f"\nPyTorch {theirs}\ndkctl   {mine}"
    listed = [key for key, _ in told["registrations"]]
    if sorted(k.replace("[alias]", "") for k in listed) != sorted(keys) or \
       not listed[-1].endswith("[alias]"):
        why += f"\nregistrations: {listed}"
    tap.result(not why, f"statement {name}", why)


# states: 11.2.32
def check_bmm(tap, pair, told):
    """In PyTorch and in dkctl, bmm has functions, but none for quantized tensors."""
    start = "Could not run 'aten::bmm.out' with arguments from the 'QuantizedCPU' backend."
    stock, text, theirs = pair.imported.ask(["stock", "installed",
                                             "missing aten::bmm.out QuantizedCPU"])
    body = [line for line in text.splitlines() if "aten::bmm.out" in line.split()]
    ours = pair.ours.ask([program.header()] + stock.splitlines() + body + ["local 0x0 0x0",
                          "route aten::bmm.out QuantizedCPU", "route aten::bmm.out CPU"])
    error, raised = told
    tap.result(error == "NotImplementedError" and raised.startswith(start) and
               theirs.strip() == start and ours[-2].endswith(" QuantizedCPU missing") and
               " CPU RegisterCPU.cpp:" in ours[-1],
               "statement 32 test_quantized_structured_not_implemented",
               f"{error}: {raised[:200]}\n{theirs}\n{ours[-2]}\n{ours[-1]}")


# states: 11.2.1
def check_invariants(tap, pair, told):
    (answer,) = pair.imported.ask(["invariants"])
    tap.result(told["invariants"] is None and answer == "",
               f"statement 1 test_all_invariants, {told['operators']} operators of "
               f"PyTorch {told['version']}", f"{told['invariants']}\n{answer}")


# states: 11.2.23, 11.2.24
def check_dangling(tap, pair, told):
    tap.result(told["before"] == [] and pair.imported.ask(["dangling"]) == ["0"],
               "statement 23 test_find_dangling_impls", told["before"])
    own = pair.ours.ask([f'impl -u -s "{ONE}" __dangling__::foo CPU fn_CPU', "dangling"])[-1]
    tap.result(len(told["more"]) == 1 and told["more"][0].strip() == own and
               told["after"] == told["before"],
               "statement 24 test_find_dangling_impls_ext", f"PyTorch {told}\ndkctl {own}")


# states: 11.2.3
def check_misfits(tap, pair, told):
    """A function with one argument does not match a definition with two arguments, whichever is
    registered first."""
    define = [f'op -s "stated::{name}{TWO}" -g "{NOWHERE}" stated::{name}'
              for name in ("first", "second")]
    impl = [f'impl -u -s "{ONE}" stated::{name} - fn' for name in ("first", "second")]
    ours = [pair.ours.ask([define[0], impl[0]]), pair.ours.ask([impl[1], define[1]])]
    for name, (before, answer), (kind, text) in zip(("first", "second"), ours, told):
        facts = (f"stated::{name}", TWO, ONE, "fn", NOWHERE, "2 vs 1")
        tap.result(before == "" and answer.startswith("error: ") and kind == "RuntimeError" and
                   all(fact in answer and fact in text for fact in facts),
                   f"statement 3 test_def_impl_schema_mismatch, {name}", f"{text}\n{answer}")


# states: 11.2.4, 11.2.18
def check_definitions(tap, pair, told):
    """Tests an inferred schema, and the alias analysis of a definition."""
    for name, what, commands in (
            ("4 test_def_with_inference", "inferred",
             (f'op -s "stated::inferred{ONE}" -g "{NOWHERE}" -a CONSERVATIVE stated::inferred',
              f'impl -u -s "{ONE}" stated::inferred - fn')),
            ("18 test_def_with_explicit_alias", "pure",
             (f'op -s "stated::pure{TWO}" -g "{NOWHERE}" -a PURE_FUNCTION stated::pure',))):
        own = pair.ours.ask(commands + (f"dump stated::{what}",))[-1]
        tap.result(told[what].strip() == own, f"statement {name}",
                   f"PyTorch\n{told[what]}\ndkctl\n{own}")


# states: 11.2.17, 11.2.19, 11.2.20
def check_again(tap, pair, told):
    """A second definition is refused, with any alias analysis."""
    first = f'op -s "stated::pure{TWO}" -g "{NOWHERE}" -a PURE_FUNCTION stated::pure'
    for name, alias, (kind, text) in zip(
            ("17 test_multiple_def_error", "19 test_multiple_def_alias_defaulting",
             "20 test_multiple_def_alias_mismatch"),
            (" -a PURE_FUNCTION", "", " -a CONSERVATIVE"), told):
        own = pair.ours.ask([first, f'op -s "stated::pure{TWO}" -g there{alias} stated::pure'])[-1]
        tap.result(kind == "RuntimeError" and f"Original registration: {NOWHERE}" in text and
                   own.startswith("error: ") and
                   own.endswith(f"stated::pure: {NOWHERE} -> there"),
                   f"statement {name}, from Python", f"{text}\n{own}")


def check_installed(tap, pair):
    told = ask_installed(pair)
    check_invariants(tap, pair, told)
    check_dangling(tap, pair, told["dangling"])
    check_misfits(tap, pair, told["stated"]["misfits"])
    check_definitions(tap, pair, told["stated"])
    check_again(tap, pair, told["stated"]["again"])
    for (name, keys, expected), got in zip(PYTHON_TABLES, told["tables"]):
        check_python_table(tap, pair, name, keys, expected, got)
    check_errors(tap, told)
    check_bmm(tap, pair, told["quantized bmm"])


# states: 11.2.25, 11.2.30, 11.2.31
def check_errors(tap, told):
    """Tests registrations that only Python refuses."""
    for name, what, text in (
            ("25 ..._for_dispatch_key_invalid, from Python", "invalid key",
             "could not parse dispatch key: invalid_key"),
            ("30 test_duplicate_registrations", "duplicates",
             " is not allowed but found duplicates"),
            ("31 test_defaultbackend_math", "both composites", "Registration to both ")):
        error = told[what]
        tap.result(error is not None and text in error[1], f"statement {name}", error)


def check(tap, pair):
    check_installed(tap, pair)
    check_dumps(tap, pair)
    check_tables(tap, pair)
    check_answers(tap, pair)
    check_stock(tap, pair)
