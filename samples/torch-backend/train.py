#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""
train: trains a small network on a card and, for comparison, on the CPU. During the training
the card is unplugged, and the training continues: the host serves the tensors of the
unplugged card until the network has been moved to the other card.

    train.py --backend build/torch-backend/backend.so [--steps N] [--picture FILE.svg]

--picture needs the Python package dispatchkey.
"""
import argparse
import importlib
import os
import signal
import sys
import threading
import time

# Ctrl-C ends the program at once and without a traceback. This must also work during the seconds
# in which PyTorch is imported, and while C++ code waits for a card.
signal.signal(signal.SIGINT, signal.SIG_DFL)

try:
    import torch
    from torch import nn
except ImportError as e:
    sys.exit(f"train: no PyTorch for {sys.executable} ({e}): install Debian's python3-torch "
             "and use PYTHON=/usr/bin/python3")

PLACES = ("card0", "card1", "host")


class Network(nn.Module):
    """Predicts to which of 10 classes a point in 32 dimensions belongs."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(32, 128), nn.Linear(128, 10)
        self.scale = nn.Parameter(torch.ones(128))

    def forward(self, x):
        return self.last(torch.relu(self.first(x)) * self.scale)


class Trained:
    """A network, its device and its optimizer."""

    def __init__(self, device):
        torch.manual_seed(1)
        self.device = torch.device(device)
        self.network = Network().to(self.device)
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.1)

    def move(self, device):
        self.device = torch.device(device)
        self.network.to(self.device)

    def step(self, points, classes):
        self.optimizer.zero_grad()
        result = self.network(points.to(self.device))
        loss = nn.functional.cross_entropy(result, classes.to(self.device))
        loss.backward()
        self.optimizer.step()
        return loss.item()


class Data:
    """Points around the centre of their class."""

    def __init__(self):
        self.random = torch.Generator().manual_seed(2)
        self.centres = torch.randn(10, 32, generator=self.random)

    def batch(self, size=64):
        classes = torch.randint(10, (size,), generator=self.random)
        noise = torch.randn(size, 32, generator=self.random)
        return self.centres[classes] + 1.5 * noise, classes


def say(text):
    print(text, flush=True)


def served():
    """Returns the number of calls that each place served, in total and for each operator."""
    places, operators = dict.fromkeys(PLACES, 0), {}
    for name, calls in torch.ops.cards.calls().items():
        operator, place = name.split()
        places[place] += calls
        operators.setdefault(operator, dict.fromkeys(PLACES, 0))[place] += calls
    return places, operators


def unplug(index, wanted):
    """Unplug a card in the middle of a step."""
    wanted.wait()
    time.sleep(0.002)
    begin = time.monotonic()
    torch.ops.cards.unplug(index)
    say(f"-- card{index} is unplugged: its queue was empty after "
        f"{1000 * (time.monotonic() - begin):.1f} ms")


def train(steps):
    """Trains on both devices; returns the differences of the losses, relative to the CPU's loss."""
    card, cpu, data = Trained("privateuseone:0"), Trained("cpu"), Data()
    wanted, differences, said = threading.Event(), [], 0.0
    thread = threading.Thread(target=unplug, args=(0, wanted), daemon=True)
    thread.start()
    for step in range(1, steps + 1):
        index = card.device.index
        if not torch.ops.cards.is_plugged(index):
            card.move(f"privateuseone:{1 - index}")
            say(f"-- step {step}: the network has moved to card{1 - index}")
        if step == steps // 2:
            wanted.set()
        points, classes = data.batch()
        loss, expected = card.step(points, classes), cpu.step(points, classes)
        differences.append(abs(loss - expected) / expected)
        if time.monotonic() - said > 1 or step == steps:
            said = time.monotonic()
            counts = "  ".join(f"{place} {n}" for place, n in served()[0].items())
            say(f"step {step:4d}  loss {loss:.5f} (CPU {expected:.5f})  {counts}")
    thread.join()
    if torch.ops.cards.is_plugged(0):
        sys.exit("train: card0 could not be unplugged")
    return differences


def report():
    """Prints what served each operator. Returns the number of calls, and of unserved calls."""
    places, operators = served()
    width = max(map(len, operators))
    say(f"\n{'calls of':{width}}" + "".join(f"{place:>10}" for place in PLACES))
    for operator, by in sorted(operators.items()):
        say(f"{operator:{width}}" + "".join(f"{by[place] or '-':>10}" for place in PLACES))
    total = sum(places.values())
    return total, torch.ops.cards.asked() - torch.ops.cards.refused() - total


def check_picture(path):
    """Ends the program if a picture cannot be written."""
    try:
        importlib.import_module("dispatchkey")
    except ImportError as e:
        sys.exit(f"train: --picture needs the Python package dispatchkey ({e})")
    try:
        open(path, "a", encoding="utf-8").close()
    except OSError as e:
        sys.exit(f"train: {path} cannot be written: {e.strerror}")


def picture(path):
    """Writes a picture of the table of aten::mm for tensors on card 1."""
    import dispatchkey
    with dispatchkey.Registry.default() as registry:
        svg = registry.table("aten::mm", device="card1").svg()
    with open(path, "w", encoding="utf-8") as file:
        file.write(svg)
    say(f"The dispatch table of aten::mm for tensors on card1 is in {path}")


def main():
    parser = argparse.ArgumentParser(description="Train on a card that is unplugged.")
    parser.add_argument("--backend", required=True, metavar="FILE", help="backend.so")
    parser.add_argument("--steps", type=int, default=3000, metavar="N", help="default: 3000")
    parser.add_argument("--picture", metavar="FILE", help="write the table of aten::mm for card 1 "
                        "as SVG")
    args = parser.parse_args()
    if args.steps < 4:
        parser.error("--steps must be 4 or more")
    if not torch.__version__.startswith("1.13."):
        sys.exit(f"train: the backend is for PyTorch 1.13, but this is {torch.__version__}")
    if not os.path.isfile(args.backend):
        sys.exit(f"train: no file {args.backend}: build it with `make demo-torch`")
    try:
        torch.ops.load_library(os.path.abspath(args.backend))
    except OSError as e:
        sys.exit(f"train: {args.backend} cannot be loaded: {e}")
    if args.picture:
        check_picture(args.picture)     # before the training, which takes long

    differences = train(args.steps)
    total, lost = report()
    fallbacks = torch.ops.cards.fallbacks()
    pytorch, ours, both = torch.ops.cards.cost(torch.zeros(1, device="privateuseone:1"), 200000)
    say(f"\nA call that does nothing takes {pytorch:.0f} ns in PyTorch's dispatcher alone,\n"
        f"{ours:.0f} ns in dispatchkey's alone, and {both:.0f} ns through both, with boxed "
        "arguments.")
    if args.picture:
        picture(args.picture)
    is_same = all(d < 1e-3 for d in differences)    # false also for a NaN
    say(f"train: {args.steps} steps, loss {'as' if is_same else 'NOT as'} on the CPU (within "
        f"{max(differences):.1e}), {total} calls, {fallbacks} fallbacks, {lost} lost")
    return 0 if is_same and not lost else 1


if __name__ == "__main__":
    sys.exit(main())
