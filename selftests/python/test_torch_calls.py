# SPDX-License-Identifier: GPL-2.0-only
"""What is explained is what PyTorch calls: functions are registered, and real calls enter them."""
import os

from test_torch import needs_pytorch_1_13, program

# make() registers functions in this order, each of which notes its key and ends the call.
OPERATORS = """
import itertools, torch, torch.library, torch.nested, warnings
import dispatchkey.torch as dt
warnings.simplefilter("ignore")
libraries, entered = [], []
def make(order, schema="(Tensor a) -> Tensor"):
    space = f"made{len(libraries)}"
    library = torch.library.Library(space, "DEF")
    libraries.append(library)
    library.define("f" + schema)
    for key in order:
        def function(*args, key=key):
            entered.append(key)
            return torch.ones(1)
        library.impl("f", function, key)
    return space
def first_of(space, *args):
    entered.clear()
    try:
        getattr(torch.ops, space).f(*args)
    except RuntimeError as e:
        return "ambiguous" if "a backend mapped to AutogradOther" in str(e) else "nothing"
    return entered[0]
def explained(call):
    entry = call.hops[0].why.route.entry
    return "ambiguous" if entry.is_ambiguous else call.hops[0].registered_at or "nothing"
IMPLICIT, EXPLICIT = "CompositeImplicitAutograd", "CompositeExplicitAutograd"
TENSORS = {"cpu": torch.ones(2), "mkldnn": torch.ones(2).to_mkldnn(),
           "sparse": torch.ones(2).to_sparse(), "meta": torch.ones(2, device="meta"),
           "nested": torch.nested.nested_tensor([torch.ones(2)])}
with torch.inference_mode():
    TENSORS["inference"] = torch.ones(2)
"""


@needs_pytorch_1_13
def test_the_order_of_registrations():
    """Registrations in every order: what calls enter is explained, or that it is not known."""
    assert program(OPERATORS + """
stale = open = number = 0
for keys in ([IMPLICIT, EXPLICIT], [IMPLICIT, EXPLICIT, "Autograd"], [IMPLICIT, "SparseCPU"],
             [IMPLICIT, EXPLICIT, "AutogradCPU"], [IMPLICIT, EXPLICIT, "CPU"],
             [IMPLICIT, "NestedTensorCPU"], [IMPLICIT, EXPLICIT, "SparseCPU"], [EXPLICIT, "CPU"],
             [IMPLICIT, "QuantizedCPU", "SparseCPU"], [EXPLICIT, "Autograd", "CPU"],
             [IMPLICIT, EXPLICIT, "CompositeExplicitAutogradNonFunctional"],
             [IMPLICIT, "CPU", "Autograd"], [IMPLICIT, EXPLICIT, "NestedTensorCPU"],
             [IMPLICIT, EXPLICIT, "Autograd", "CPU"], [IMPLICIT, "Autograd"]):
    for order in itertools.permutations(keys):
        space = make(order)
        for what, tensor in TENSORS.items():
            number += 1
            call = dt.explain(f"{space}::f", tensor)
            real, found = first_of(space, tensor), explained(call)
            may = [s for s in call.stale if " may still call " in s]
            if may:
                open += 1
                if real != found and not any(f" at {real} " in s for s in may):
                    print("neither", order, what, real, found, may)
            elif real != found:
                print(order, what, "enters", real, "explained", found, call.stale)
            elif call.hops[0].stale:
                stale += 1
                if not call.differences or not any(f" at {real} " in s for s in call.stale) or \\
                        "<p>PyTorch 1.13 calls " not in call._repr_html_() or \\
                        f"at {real}, stale" not in call._repr_html_() or \\
                    "afterwards" not in str(call):
                    print("not shown", order, what)
print(number > 500, stale > 50, open < number / 7)
""") == "True True True\n"


@needs_pytorch_1_13
def test_a_function_that_was_unregistered():
    """An entry can be stale because of a function that is gone: PyTorch's check reports it."""
    assert program(OPERATORS + """
space = make([IMPLICIT])
explicit, autograd = (torch.library.Library(space, "IMPL") for _ in range(2))
explicit.impl("f", lambda a: a, EXPLICIT)
autograd.impl("f", lambda a: a, "AutogradCPU")
del autograd        # refreshes AutogradCPU
del explicit        # does not
call = dt.explain(f"{space}::f", TENSORS["cpu"])
print(len(call.differences), "was unregistered" in "".join(call.differences).replace("\\n", ""))
torch.library.Library(space, "IMPL").impl("f", lambda a: a, "AutogradCPU")
print(dt.explain(f"{space}::f", TENSORS["cpu"]).differences, first_of(space, TENSORS["cpu"]))
""") == "1 True\n() CompositeImplicitAutograd\n"


@needs_pytorch_1_13
def test_functions_in_python():
    """PyTorch 1.13 prints a place that is none for them."""
    text = program(OPERATORS + "print(dt.explain(make(['CPU']) + '::f', TENSORS['cpu']))")
    assert "/dev/null" not in text
    assert "  1.  CPU: a Python function [kernel]\n" in text
