# SPDX-License-Identifier: GPL-2.0-only
"""
backend FILE: compares the backend of samples/torch-backend with PyTorch's CPU. Prints TAP.
"""
import copy
import os
import subprocess
import sys
import threading
import time

import torch

torch.ops.load_library(sys.argv[1])
CARDS = torch.ops.cards
PLACES = [torch.device("privateuseone", i) for i in range(2)]
FAILED = []


def check(what, is_true, why=""):
    check.n += 1
    print(f"{'ok' if is_true else 'not ok'} {check.n} - {what}")
    if not is_true:
        FAILED.append(what)
        print(f"# {why}")


def skip(what, why):
    check.n += 1
    print(f"ok {check.n} - {what} # SKIP {why}")


check.n = 0


def served(operator, place):
    return CARDS.calls().get(f"{operator} {place}", 0)


def on(place, args):
    return [a.to(place) if isinstance(a, torch.Tensor) and a.dim() else a for a in args]


def same(what, operator, f, *args):
    """Tests that f returns the same on the CPU and on card 0, and that card 0 served `operator`."""
    before = served(operator, "card0") if operator else -1
    expected = f(*args)
    got = f(*on(PLACES[0], args))
    check(f"{what}: the card has the result of the CPU",
          got.device == PLACES[0] and got.dtype == expected.dtype and
          got.shape == expected.shape and got.stride() == expected.stride() and
          torch.allclose(got.cpu(), expected, equal_nan=True),
          f"expected {expected}, got {got.cpu()}")
    if operator:
        check(f"{what}: card 0 serves it", served(operator, "card0") > before)


def refused(what, text, f):
    try:
        f()
    except RuntimeError as e:
        check(f"refused: {what}", text in str(e), str(e))
    else:
        check(f"refused: {what}", False, "not refused")


def functions():
    torch.manual_seed(1)
    a, b, row = torch.randn(5, 4), torch.randn(5, 4), torch.randn(4)
    special = torch.tensor([float("nan"), -1.0, 0.0, 2.0, float("inf")])
    same("a sum", "aten::add.Tensor", torch.add, a, b)
    same("a scaled sum with broadcasting", "aten::add.Tensor",
         lambda x, y: torch.add(x, y, alpha=0.5), a, row)
    same("a sum with a number", "aten::add.Tensor", lambda x: 3 + x, a)
    same("a sum of integers", None, torch.add, torch.arange(4), torch.arange(4))
    same("a sum of float and integer", None, torch.add, a, torch.arange(4))
    same("a product with transposed strides", "aten::mul.Tensor",
         lambda x, y: x.t() * y.t(), a, b)
    same("a product with a tensor of a number", "aten::mul.Tensor", torch.mul, a, torch.tensor(2.0))
    images = torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    same("a sum with the strides of images", "aten::add.Tensor", lambda x: x + 1, images)
    same("a sum with the strides of the second", "aten::add.Tensor", torch.add, row[:, None], a.t())
    same("relu of transposed strides", "aten::relu", lambda x: x.t().relu(), a)
    for what, f in (("the gradient", lambda x, y: (x, y.t().contiguous().t())),
                    ("the operand", lambda x, y: (x.t().contiguous().t(), y))):
        same(f"relu's backward, {what} is transposed", "aten::threshold_backward",
             lambda x, y, f=f: torch.ops.aten.threshold_backward(*f(x, y), 0), a, b)
    same("no elements", "aten::mul.Tensor", torch.mul, torch.empty(0, 4), row)
    same("relu", "aten::relu", torch.relu, special)
    same("a matrix product", "aten::mm", lambda x, y: x @ y.t(), a, b)
    same("an affine map", "aten::addmm",
         lambda r, x, y: torch.addmm(r, x, y.t(), beta=2, alpha=3), torch.randn(5), a, b)
    same("without the bias", "aten::addmm",
         lambda r, x, y: torch.addmm(r, x, y.t(), beta=0), torch.full((5,), float("nan")), a, b)
    same("a sum over rows", "aten::sum.dim_IntList", lambda x: x.sum(0), a)
    same("a sum that keeps dimensions", "aten::sum.dim_IntList",
         lambda x: x.sum((0, -1), keepdim=True), a)
    same("softmax", "aten::_softmax", lambda x: x.softmax(1), a)
    same("softmax's backward", "aten::_softmax_backward_data", lambda g, x:
         torch.ops.aten._softmax_backward_data(g, x.softmax(1), 1, torch.float32), a, b)
    same("log_softmax's backward", "aten::_log_softmax_backward_data", lambda g, result:
         torch.ops.aten._log_softmax_backward_data(g, result, 1, torch.float32),
         a, b.log_softmax(1))
    same("softmax of columns", None, lambda x: x.softmax(0), a)
    same("log_softmax", "aten::_log_softmax", lambda x: x.log_softmax(-1), 100 * a)
    same("what no card has", None, torch.erf, a)
    same("zeroes", "aten::zero_", lambda x: x.clone().zero_(), a)
    same("a fill", "aten::fill_.Scalar", lambda x: x.clone().fill_(7), a)
    same("zeroes for elements that share memory", "aten::zero_",
         lambda x: x[:1].clone().expand(3, 4).zero_(), a)
    same("a fill of elements that share memory", "aten::fill_.Scalar",
         lambda x: x[:1].clone().expand(3, 4).fill_(7), a)
    same("in place", "aten::add_.Tensor", lambda x, y: x.clone().add_(y, alpha=-2), a, row)
    same("a copy to another type", None, lambda x: x.to(torch.int64), 10 * a)
    same("a sum over no dimensions, which are all", "aten::sum.dim_IntList",
         lambda x: x.sum(dim=()), a)
    same("a conjugate", None, lambda x: x.conj().clone(), torch.complex(a, b))
    same("a complex sum", None, lambda x: torch.add(x, x, alpha=1j), torch.complex(a, b))
    same("a complex fill", None, lambda x: x.clone().fill_(1j), torch.complex(a, b))
    same("a number that no float is", None, lambda x: x.clone().fill_(1e300), a.double())
    same("a group norm of no elements", None,
         lambda x: torch.nn.functional.group_norm(x, 2), torch.ones(0, 4, 2))
    same("a conjugate in place", None, lambda x: x.clone().conj_physical_(), torch.complex(a, b))
    same("a negative view", None, lambda x: torch._neg_view(x).clone(), a)
    for what, change in (
            ("a column", lambda x: x[:, 0].mul_(2)), ("erf", lambda x: x[:, 0].erf_()),
            ("transposed", lambda x: x.t().erf_()),
            ("clamped", lambda x: x[:, 1].clamp_(min=0.5)),
            ("a result in a column", lambda x: torch.erf(x[:, 1], out=x[:, 0]))):
        def changed(x, change=change):
            x = x.clone()
            change(x)
            return x

        same(f"in place in a view, {what}", None, changed, a)
    same("indexed by a mask", None, lambda x: x[x > 0], a)
    same("indexed by numbers", None, lambda x, i: x[i, 1], a, torch.tensor([2, 0]))

    def masked(x):
        x = x.clone()
        x[x > 0] = 5
        return x

    same("written by a mask", None, masked, a)
    same("repeated", None, lambda x: x.repeat(2, 1), a)
    same("the real part", None, lambda x: x.real.mul(2), torch.complex(a, b))
    same("a written real part", None, lambda x: x.clone().real.zero_() + 1, torch.complex(a, b))
    same("a result that is given", None,
         lambda x, y: torch.erf(x, out=torch.empty(0, device=y.device)), a, b)
    same("a mean without NaN that is given", None,
         lambda x: torch.nanmean(x, out=torch.empty(0, device=x.device)), special[:4])
    number = torch.tensor(1.0)
    for _ in range(50):
        number.add_(torch.tensor(1.0).to(PLACES[0]))
    check("a number on the CPU has its value at once", number.item() == 51, f"{number}")
    many = torch.ones(1, 17_000_000)    # a float that counts to 2^24 stays there
    ops = torch.ops.aten
    same("a long sum", "aten::sum.dim_IntList", torch.sum, many)
    product = (many.to(PLACES[0]) @ many.t().to(PLACES[0])).item()
    check("a long matrix product", product == many.numel(), product)
    same("a long log_softmax", "aten::_log_softmax", lambda x: x.log_softmax(1), many)
    same("a long softmax's backward", "aten::_softmax_backward_data",
         lambda x: ops._softmax_backward_data(x, x, 1, torch.float32), many)
    same("a long log_softmax's backward", "aten::_log_softmax_backward_data",
         lambda x: ops._log_softmax_backward_data(x, x, 1, torch.float32), many)
    for what, x in (("new sizes", torch.zeros(1)), ("the same sizes", torch.ones(2, 3, 4, 5))):
        same(f"a memory format for {what}", None, lambda x: x.clone().resize_(
            2, 3, 4, 5, memory_format=torch.channels_last).fill_(1), x)
    check("from card to card", torch.equal(a.to(PLACES[0]).to(PLACES[1]).cpu(), a))


def written():
    """Tests operators that write to tensors other than their result, even if their schema does
    not declare it."""
    a, b = torch.randn(3, 2, 4), torch.randn(3, 4)
    for name, module in (("BatchNorm1d", torch.nn.BatchNorm1d(2)),
                         ("InstanceNorm1d", torch.nn.InstanceNorm1d(2, track_running_stats=True))):
        there = copy.deepcopy(module).to(PLACES[0])
        for _ in range(2):
            module(a)
            there(a.to(PLACES[0]))
        check(f"{name} updates its statistics", module.running_mean.abs().min() > 0 and all(
            torch.allclose(e, g.cpu()) for e, g in zip(module.buffers(), there.buffers())),
            f"{list(there.buffers())}")
        module.eval()
        there.eval()
        check(f"{name} uses its statistics",
              torch.allclose(module(a), there(a.to(PLACES[0])).cpu()))

    for name, make in (
            ("SGD", lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, foreach=True)),
            ("Adam", lambda p: torch.optim.Adam(p, lr=0.1, foreach=True))):
        results = []
        for place in ("cpu", PLACES[0]):
            module = torch.nn.Linear(2, 2)
            module.load_state_dict({"weight": torch.ones(2, 2), "bias": torch.ones(2)})
            module.to(place)
            optimizer = make(module.parameters())
            for _ in range(2):
                optimizer.zero_grad(set_to_none=False)
                module(torch.ones(1, 2, device=place)).sum().backward()
                optimizer.step()
            results.append([p.detach().cpu() for p in module.parameters()] +
                           [p.grad.cpu() for p in module.parameters()])
        check(f"{name} with lists of tensors", results[0][0].max() < 0.9 and all(
            torch.allclose(e, g) for e, g in zip(*results)), f"{results}")

    def in_list(f):
        def change(x, y):
            both = [x.clone(), y.clone()]
            f(both)
            return torch.cat([t.flatten() for t in both])

        return change

    for what, f in (("a number", lambda x: torch._foreach_add_(x, 1)),
                    ("zero", torch._foreach_zero_),     # pylint: disable=no-member
                    ("by itself", lambda x: torch._foreach_mul_(x, x)),
                    ("a tensor twice", lambda x: torch._foreach_add_([x[0], x[0]], 1))):
        same(f"a written list, {what}", None, in_list(f), a, b)
    def in_columns(x):
        out = torch.zeros(4, 3, device=x.device)
        torch.erf(x, out=out.t())
        return out

    same("a result with its strides", None, in_columns, b)

    def with_other(x, y):
        x, y = x.clone(), y.clone()
        x.set_(y)
        y.fill_(5)
        return x

    same("the memory of another tensor", None, with_other, a, b)

    def with_part(x, y):
        x, y = x.clone(), y.clone()
        x.set_(y, 1, (2, 2), (4, 1)).fill_(7)
        return y

    same("a part of the memory of another tensor", None, with_part, a, b)
    same("no memory", None, lambda x: x.clone().set_() + 1, b)

    def with_diagonal(x):
        x = x.clone()
        torch.diagonal(x).fill_(3)
        return x

    same("a diagonal", None, with_diagonal, b)
    same("a conjugate result", None, lambda x: torch.linalg.lu_solve(
        *torch.linalg.lu_factor(x), x, left=False, adjoint=True), torch.complex(b[:, :3], b[:, 1:]))
    same("transposed in place", None, lambda x: x.clone().t_(), b)
    refused("the memory of the CPU", "cannot have memory of cpu",
            lambda: b.to(PLACES[0]).set_(torch.ones(2)))
    refused("the memory of another card", "must be on one card",
            lambda: b.to(PLACES[0]).set_(torch.ones(2).to(PLACES[1])))
    refused("a negative size", "sizes must be 0 or more, not [-3]",
            lambda: torch.ones(2).to(PLACES[0]).resize_(-3))
    refused("elements that overlap", "some elements of the input tensor and the written-to",
            lambda x=torch.ones(3, 2).to(PLACES[0]): torch.erf(x[:-1], out=x[1:]))


def gradients():
    x, w = torch.randn(6, 4), torch.randn(3, 4)

    def gradient(place):
        v, u = (t.clone().to(place).requires_grad_() for t in (x, w))
        torch.nn.functional.cross_entropy(torch.relu(v @ u.t()),
                                          torch.arange(6, device=place) % 3).backward()
        return v.grad.cpu(), u.grad.cpu()

    expected, got = gradient("cpu"), gradient(PLACES[1])
    check("gradients", all(torch.allclose(e, g, atol=1e-6) for e, g in zip(expected, got)),
          f"expected {expected}, got {got}")


def networks():
    """Tests a training step of modules that use many operators without a function for the cards."""
    nn = torch.nn
    for name, module, x in (
            ("linear layers", nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8),
                                            nn.Linear(8, 2)), torch.randn(3, 4)),
            ("convolution", nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(),
                                          nn.MaxPool2d(2)), torch.randn(2, 2, 6, 6)),
            ("embedding", nn.Embedding(10, 3), torch.tensor([1, 2, 3])),
            ("LSTM", nn.LSTM(4, 5), torch.randn(3, 2, 4)),
            ("GRU", nn.GRU(4, 5), torch.randn(3, 2, 4)),
            ("attention", nn.TransformerEncoderLayer(8, 2, 16, dropout=0), torch.randn(3, 2, 8))):
        there = copy.deepcopy(module).to(PLACES[1])
        results = [f(v) for f, v in ((module, x), (there, x.to(PLACES[1])))]
        expected, got = (r[0] if isinstance(r, tuple) else r for r in results)
        for result, one in ((expected, module), (got, there)):
            result.pow(2).sum().backward()
            torch.optim.SGD(one.parameters(), lr=0.01).step()
        pairs = [(expected, got), *zip(module.state_dict().values(), there.state_dict().values()),
                 *((p.grad, q.grad) for p, q in zip(module.parameters(), there.parameters()))]
        check(f"a network, {name}", all(torch.allclose(e, g.cpu(), atol=1e-5)
                                        for e, g in pairs), f"{pairs}")


def copies():
    """Tests the ways to copy modules and the state of optimizers, which documentation names."""
    linear = torch.nn.Linear(2, 2).to(PLACES[0])
    check("a module without buffers is copied",
          copy.deepcopy(linear).weight.device == PLACES[0])
    norm = torch.nn.BatchNorm1d(2).to(PLACES[0])
    refused("a copy of a module with buffers", "Storage device not recognized",
            lambda: copy.deepcopy(norm))
    check("a module with buffers is copied on the CPU",
          copy.deepcopy(norm.cpu()).to(PLACES[0]).running_mean.device == PLACES[0])
    optimizer = torch.optim.Adam(linear.parameters())
    linear(torch.ones(1, 2, device=PLACES[0])).sum().backward()
    optimizer.step()
    state = optimizer.state_dict()
    refused("an optimizer's state on a card", "Storage device not recognized",
            lambda: optimizer.load_state_dict(state))
    for one in state["state"].values():
        one.update({name: value.cpu() for name, value in one.items()})
    optimizer.load_state_dict(state)
    check("an optimizer takes its state from the CPU",
          optimizer.state[linear.weight]["exp_avg"].device == PLACES[0])
    refused("Tensor.new()", "new(): expected key", torch.ones(2, device=PLACES[0]).new)


def refusals():
    a = torch.ones(2, 2)
    refused("two cards", "on the same device", lambda: a.to(PLACES[0]) + a.to(PLACES[1]))
    refused("shapes that do not fit", "must match", lambda: a.to(PLACES[0]) + torch.ones(3).to(PLACES[0]))
    refused("factors that do not fit", "cannot be multiplied",
            lambda: a.to(PLACES[0]) @ torch.ones(3, 2).to(PLACES[0]))
    for operator, f in (
            ("add", lambda x, y: x + y), ("add_", lambda x, y: x.add_(y)),
            ("mul", lambda x, y: x * y), ("mm", lambda x, y: x @ y),
            ("addmm", lambda x, y: torch.addmm(x, x, y)),
            ("threshold_backward", lambda x, y: torch.ops.aten.threshold_backward(x, y, 0)),
            ("_softmax_backward_data", lambda x, y: torch.ops.aten._softmax_backward_data(
                x, y, 1, torch.float32)),
            ("_log_softmax_backward_data", lambda x, y: torch.ops.aten._log_softmax_backward_data(
                x, y, 1, torch.float32))):
        refused(f"two cards, {operator}", "on the same device",
                lambda f=f: f(a.to(PLACES[0]), a.to(PLACES[1])))
    for what, f in (
            ("cat", lambda x, y: torch.cat([x, y])),
            ("where", lambda x, y: torch.where(x > 0, x, y)),
            ("a dot product", lambda x, y: x[0].dot(y[0])), ("mv", lambda x, y: x.mv(y[0])),
            ("a given result", lambda x, y: torch.erf(x, out=y)),
            ("a list", lambda x, y: torch._foreach_add_([x, y], 1)),
            ("convolution", lambda x, y: torch.nn.functional.conv1d(x, y.view(2, 2, 1)))):
        refused(f"two cards, {what}", "must be on one card, not on privateuseone:",
                lambda f=f: f(a.to(PLACES[0]), a.to(PLACES[1])))
    refused("a copy of another size", "must match",
            lambda: torch.ones(3).to(PLACES[0]).copy_(torch.ones(4).to(PLACES[0])))
    refused("a copy to elements that it comes from", "refer to a single memory location",
            lambda x=torch.ones(3, 2).to(PLACES[0]): x[1:].copy_(x[:-1]))
    refused("a sum with the elements above", "refer to a single memory location",
            lambda x=torch.ones(3, 2).to(PLACES[0]): x[1:].add_(x[:-1]))
    refused("elements that share memory", "single memory location",
            lambda: torch.ones(1).to(PLACES[0]).expand(3).add_(1))
    refused("a bool as factor", "Boolean alpha only supported for Boolean results",
            lambda: torch.add(a.to(PLACES[0]), 1, alpha=True))
    refused("no such card", "there is no card 2, only 0 to 1", lambda: a.to("privateuseone:2"))
    refused("a card that is plugged in", "card0: a device has this name already", lambda: CARDS.plug(0))
    refused("unplugging no card", "there is no card -1", lambda: CARDS.unplug(-1))
    refused("no calls", "at least 1", lambda: CARDS.cost(a.to(PLACES[0]), 0))


def made():
    """A new tensor is created by the card that is its device."""
    for card in range(2):
        for operator, make in (
                ("aten::empty.memory_format", lambda on: torch.empty(2, 3, device=on)),
                ("aten::empty_strided", lambda on: torch.empty_strided((2, 3), (1, 2), device=on))):
            before = [served(operator, f"card{i}") for i in range(2)]
            t = make(PLACES[card])
            check(f"{operator} makes a tensor on card {card}",
                  t.device == PLACES[card] and t.shape == (2, 3) and
                  t.stride() == make("cpu").stride())
            after = [served(operator, f"card{i}") for i in range(2)]
            check(f"only card {card} serves this {operator}", after[card] == before[card] + 1 and
                  after[1 - card] == before[1 - card], f"{before} {after}")
    check("a tensor on a device without an index is on the current card",
          torch.empty(1, device="privateuseone").device == PLACES[0])
    check("a tensor has the requested memory format", torch.empty(
        1, 2, 3, 4, device=PLACES[0], memory_format=torch.channels_last).stride() == (24, 1, 8, 2))


def unplugging():
    a = torch.randn(3, 3)
    x = a.to(PLACES[0])

    def has_product():
        return torch.allclose((x @ x).cpu(), a @ a, atol=1e-6)

    before = served("aten::mm", "card0")
    CARDS.unplug(0)
    check("an unplugged card is not plugged in", not CARDS.is_plugged(0))
    check("the calls of an unplugged card stay counted", served("aten::mm", "card0") == before)
    check("the host serves tensors of an unplugged card", has_product() and
          served("aten::mm", "host") == 1)
    operator = "aten::empty.memory_format"
    made_by_host = served(operator, "host")
    torch.empty(2, device=PLACES[0])
    check("the host makes tensors on an unplugged card",
          served(operator, "host") == made_by_host + 1)
    y = a.to(PLACES[1])
    refused("two cards, one unplugged", "on one card", lambda: y + x)
    refused("two cards, in the other order", "on one card", lambda: x + y)
    refused("a card that is not plugged in", "card0: no such device", lambda: CARDS.unplug(0))
    CARDS.plug(0)
    check("a card that is plugged in again serves its tensors",
          has_product() and served("aten::mm", "card0") == before + 1)


def while_it_calls(rounds=30):
    """While cards are unplugged and plugged, each result is right, whether a card or the CPU
    computes it. Unplugging completes the queued work."""
    a = torch.randn(16, 16)
    expected = torch.relu(a @ a + a)
    stop, wrong, calls = threading.Event(), [], dict.fromkeys(PLACES, 0)

    def call(place):
        x = a.to(place)
        while not stop.is_set():
            calls[place] += 1
            try:
                if not torch.allclose(torch.relu(x @ x + x).cpu(), expected, atol=1e-5):
                    wrong.append(place)
            except RuntimeError as e:
                wrong.append(e)

    threads = [threading.Thread(target=call, args=(place,), daemon=True) for place in PLACES]
    for thread in threads:
        thread.start()
    for i in range(rounds):
        before = calls[PLACES[i % 2]]
        CARDS.unplug(i % 2)
        CARDS.plug(i % 2)
        while calls[PLACES[i % 2]] == before and thread.is_alive():
            time.sleep(0.001)
    stop.set()
    for thread in threads:
        thread.join()
    check(f"cards come and go {rounds} times", not wrong, f"{wrong}, {calls}")


def unplugged_by_many(rounds=20):
    """Of several threads that unplug or plug a card at the same time, only one succeeds."""
    x, stop = torch.ones(2, 2).to(PLACES[0]), threading.Event()

    def come_and_go():
        for _ in range(rounds):
            for change in (CARDS.unplug, CARDS.plug):
                try:
                    change(0)
                except RuntimeError:
                    pass

    def call():
        while not stop.is_set():
            torch.relu(x)

    caller = threading.Thread(target=call, daemon=True)
    threads = [threading.Thread(target=come_and_go, daemon=True) for _ in range(3)]
    for thread in [caller, *threads]:
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    caller.join()
    if not CARDS.is_plugged(0):
        CARDS.plug(0)


def in_a_child():
    read, write = os.pipe()
    x = torch.ones(2).to(PLACES[0])
    tries = {"a copy": lambda: torch.ones(2).to(PLACES[0]), "resize_": lambda: x.resize_(100),
             "unplug": lambda: CARDS.unplug(0), "plug": lambda: CARDS.plug(0),
             "is_plugged": lambda: CARDS.is_plugged(0), "calls": CARDS.calls,
             "erf": lambda: torch.erf(x), "a list": lambda: torch._foreach_add_([x], 1)}
    child = os.fork()
    if not child:
        for name, f in tries.items():
            try:
                f()
            except RuntimeError as e:
                os.write(write, f"{name}: {e}\n".encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with open(read, encoding="utf-8") as pipe:
        text = pipe.read()
    for name in tries:
        check(f"a child is refused {name}", f"{name}: cards do not work after fork()" in text, text)


def output_of(text):
    """Runs a program. Returns its output and exit status. The word LOAD in its text is
    replaced by code that loads the backend."""
    text = text.replace("LOAD", f"torch.ops.load_library({sys.argv[1]!r})")
    done = subprocess.run([sys.executable, "-c", text], timeout=100, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout, done.returncode


def at_exit():
    """Programs and forked children end even if the cards are working."""
    text, status = output_of("""
import torch
LOAD
x = torch.ones(200, 200, device="privateuseone:0")
for _ in range(20):
    x @ x
""")
    check("a program ends while a card works", (text, status) == ("", 0), f"{status}: {text}")
    if os.environ.get("DK_ASAN") == "1":
        skip("children of fork() end while a card works",
             "ASan of gcc 12 does not release the locks of its allocator in the child")
        return
    text, status = output_of("""
import os, signal, sys, time, torch
LOAD
x = torch.ones(64, 64, device="privateuseone:0")
children = []
for _ in range(20):
    for _ in range(10):
        x @ x
    children.append(os.fork())
    if not children[-1]:
        sys.exit(0)
for _ in range(600):
    children = [c for c in children if os.waitpid(c, os.WNOHANG) == (0, 0)]
    if not children:
        break
    time.sleep(0.1)
for child in children:
    os.kill(child, signal.SIGKILL)
print(f"{len(children)} children hang")
""")
    check("children of fork() end while a card works",
          (text, status) == ("0 children hang\n", 0), f"{status}: {text}")


def load_late():
    """Autograd has no queues for cards that are registered after its first use."""
    backward = "import torch\ntorch.ones(1, requires_grad=True).sum().backward()\n"
    text, _ = output_of(backward + "LOAD")
    check("a backend that is loaded late warns",
          "load the backend before the first backward()" in text, text)


functions()
written()
gradients()
networks()
copies()
refusals()
made()
unplugging()
while_it_calls()
unplugged_by_many()
in_a_child()
at_exit()
load_late()
lost = CARDS.asked() - CARDS.refused() - sum(CARDS.calls().values())
check("every call was served once", lost == 0, f"{lost} lost")
check("the refused calls are counted", CARDS.refused() == 9, f"{CARDS.refused()} refused")
print(f"1..{check.n}")
sys.exit(bool(FAILED))
