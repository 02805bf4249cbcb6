# SPDX-License-Identifier: GPL-2.0-only
"""Reads the layout pytorch-1.13, as dkctl or PyTorch prints it."""

NAME = "pytorch-1.13"
ALIASES = ("Autograd", "CompositeImplicitAutograd", "CompositeImplicitAutogradNestedTensor",
           "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
# Registering a function at these keys changes the entry of the empty keyset.
COMPOSITE = ("CompositeImplicitAutograd", "CompositeExplicitAutograd",
             "CompositeExplicitAutogradNonFunctional")


class Functionality:
    """A line of layout-info."""

    def __init__(self, line):
        word, value, bit, per_backend, offset, self.name = line.split()
        assert word == "functionality"
        self.value = int(value)
        self.bit = int(bit.partition("=")[2])
        self.per_backend = per_backend.endswith("=1")
        self.offset = int(offset.partition("=")[2])


class Layout:
    """Keys, slots, and the slots that 1.13.1 refreshes after a change at each key."""

    def __init__(self, ask):
        """ask(commands) returns the answers to the commands."""
        (info,) = ask(["layout-info"])
        lines = info.splitlines()
        sizes = dict(word.split("=") for word in lines[0].split())
        self.num_backends = int(sizes["backends"])
        self.num_entries = int(sizes["entries"])
        self.full = int(sizes["full"], 16)
        self.backend_mask = (1 << self.num_backends) - 1
        self.bits = [line.split()[-1] for line in lines if line.startswith("backend ")]
        self.functionalities = [Functionality(line) for line in lines
                                if line.startswith("functionality ")]
        (printed,) = ask([f"keyset {self.full:#x}"])
        names = printed[printed.index("DispatchKeySet(") + 15:printed.rindex(")")]
        self.slots = ["Undefined"] + names.split(", ")
        assert len(self.slots) == self.num_entries
        self.slot = {name: i for i, name in enumerate(self.slots)}
        self.blocks = [f.name for f in self.functionalities if f.per_backend]
        self.keys = self.slots[1:] + self.blocks + list(ALIASES)
        self._ask_keys(ask)

    def _ask_keys(self, ask):
        words = self.keys
        texts = ask([f"key {k}" for k in words] + [f"alias {k}" for k in words] +
                    [f"is-backend-key {k}" for k in words])
        n = len(words)
        autograd = self._autograd_slots(ask)
        self.set = {"Undefined": 0}
        self.includes = {}
        self.refreshed = {}
        for i, k in enumerate(words):
            told = dict(word.split("=") for word in texts[i].split())
            self.set[k] = int(told["set"], 16)
            self.includes[k] = [self.slot[name] for name in texts[n + i].split()[1:]]
            slots = set(self.includes[k])
            if k in COMPOSITE:
                slots.add(0)
            if texts[2 * n + i].strip() == "true":
                slots.add(autograd[told["backend"]])
            self.refreshed[k] = frozenset(slots)

    def _autograd_slots(self, ask):
        """Returns the slot of the autograd key of each backend."""
        bits = ["InvalidBit"] + self.bits
        sets = [t.strip() for t in ask([f"autograd-of-backend {b}" for b in bits])]
        tops = ask([f"keyset {s}" for s in sets])
        return {b: self.slot[top.split()[1].partition("=")[2]] for b, top in zip(bits, tops)}

    # ---- sets -------------------------------------------------------------------

    def sub(self, a, b):
        """Removes the functionalities of b from a. As in PyTorch, a keeps its backends."""
        return a & (self.backend_mask | ~b)

    def backend_index(self, ks):
        """Returns the backend whose mask is used: the highest one, or the first if the set
        has no backend."""
        return max((ks & self.backend_mask).bit_length() - 1, 0)

    def top(self, ks):
        """Returns slot and name of the highest key."""
        f = self.functionalities[max(ks.bit_length() - self.num_backends, 0)]
        if not f.value:
            return 0, "Undefined"
        if not f.per_backend:
            return f.offset, f.name
        slot = f.offset + self.backend_index(ks)
        if ks & self.backend_mask:
            return slot, self.slots[slot]
        prefix = self.slots[f.offset][:-len("CPU")]
        return slot, prefix + "Unknown"

    def parse_set(self, word):
        """Parses a set in the forms that programs use."""
        if word.startswith("0x"):
            return int(word, 16)
        bits = 0
        for name in word.split("|"):
            bits |= 1 << self.bits.index(name) if name in self.bits else self.set[name]
        return bits
