# SPDX-License-Identifier: GPL-2.0-only
"""Generates random programs of transcript commands, and the queries after each command."""
import random

from layout import ALIASES, NAME

OPS = ("p::a", "p::b.out", "q::c")
# An operator without functions. Its table has only the fallbacks.
PROBE = "none::none"


class Generator:
    """Generates a program. The same seed and index give the same program."""

    def __init__(self, layout, seed, index):
        self.layout = layout
        self.rng = random.Random(f"{seed}/{index}")
        self.labels = []        # labels that "drop" can name
        self.used = {}          # label -> operators that have it
        self.next = 0
        self.depth = 0
        self.backends = self.rng.sample(layout.bits, self.rng.randint(1, 3))
        self.ops = self.rng.sample(OPS, self.rng.choice((1, 1, 1, 2, 2, 3)))
        self.keys = [self.key() for _ in range(self.rng.randint(3, 10))]
        self.fallbacks = self.rng.random() < 0.3

    def key(self):
        rng, layout = self.rng, self.layout
        kind = rng.random()
        if kind < 0.40:
            return rng.choice(ALIASES)
        if kind < 0.46:
            return "-"
        if kind < 0.54:
            return rng.choice(layout.blocks)
        if kind < 0.66:
            return rng.choice(layout.slots[1:])
        if kind < 0.74:
            return rng.choice([f.name for f in layout.functionalities[1:] if not f.per_backend])
        f = rng.choice([f for f in layout.functionalities if f.per_backend])
        return layout.slots[f.offset + layout.bits.index(rng.choice(self.backends))]

    def keyset(self):
        """Returns a set that often has keys and backends of the registrations."""
        rng, layout = self.rng, self.layout
        kind = rng.random()
        if kind < 0.02:
            return "0x0"
        if kind < 0.1:
            return f"{rng.getrandbits(64) & layout.full:#x}"
        if kind < 0.2:
            bits = rng.getrandbits(64) & rng.getrandbits(64) & rng.getrandbits(64)
            return f"{bits & layout.full:#x}"
        names = rng.sample(self.backends, rng.randint(0, len(self.backends)))
        for _ in range(rng.randint(0 if names else 1, 3)):
            if rng.random() < 0.5:
                names.append(rng.choice(layout.slots[1:]))
            else:
                names.append(rng.choice(layout.functionalities[1:]).name)
        names += [k for k in rng.sample(self.keys, 1) if k != "-" and k not in ALIASES]
        return "|".join(dict.fromkeys(names))

    def label(self, op):
        """Returns a new label, or sometimes the label of another operator's function, so that both
        functions are dropped at once."""
        if self.rng.random() < 0.15:
            shared = [lb for lb, ops in self.used.items() if op not in ops and None not in ops]
            if shared:
                label = self.rng.choice(shared)
                self.used[label].append(op)
                return label
        label = f"k{self.next}"
        self.next += 1
        self.used[label] = [op]
        self.labels.append(label)
        return label

    def impl(self):
        op = self.rng.choice(self.ops)
        flag = "-f " if self.rng.random() < 0.2 else ""
        key = self.rng.choice(self.keys) if self.rng.random() < 0.85 else self.key()
        return f"impl {flag}{op} {key} {self.label(op)}"

    def drop(self):
        if not self.labels:
            return self.impl()
        label = self.labels.pop(self.rng.randrange(len(self.labels)))
        self.used.pop(label, None)
        return f"drop {label}"

    def fallback(self):
        rng = self.rng
        kind = rng.random()
        if kind < 0.04:
            key = rng.choice(ALIASES)
        elif kind < 0.2:
            key = rng.choice(self.layout.slots[1:])
        else:
            keys = [k for k in self.keys if k in self.layout.slot]
            key = rng.choice(keys or self.layout.slots[1:])
        if rng.random() < 0.4:
            return f"fallback {key} fallthrough"
        label = f"b{self.next}"
        self.next += 1
        self.used[label] = [None]
        self.labels.append(label)
        return f"fallback {key} {label}"

    def local(self):
        kind = self.rng.random()
        if kind < 0.1:
            return f"local {self.keyset()} {self.keyset()}"
        if kind < 0.45 and self.depth:
            self.depth -= 1
            return "end"
        self.depth += 1
        return f"{self.rng.choice(('include', 'exclude'))} {self.keyset()}"

    def call(self):
        op = self.rng.choice(self.ops)
        if self.rng.random() < 0.5:
            return f"route {op} {self.keyset()}"
        sets = [self.keyset() for _ in range(self.rng.randint(1, 4))]
        return " ".join(["call", op] + sets)

    def command(self):
        # rarely, because PyTorch visits all its operators for each fallback
        if self.fallbacks and self.rng.random() < 0.1:
            return self.fallback()
        kind = self.rng.random()
        if kind < 0.40:
            return self.impl()
        if kind < 0.52:
            return self.drop()
        if kind < 0.545:
            return f"op {self.rng.choice(self.ops)}"
        if kind < 0.56:
            return f"undef {self.rng.choice(self.ops)}"
        if kind < 0.66:
            return self.local()
        return self.call()

    def program(self):
        commands = [f"op {op}" for op in self.ops if self.rng.random() < 0.85]
        commands += [self.command() for _ in range(self.rng.randint(6, 45))]
        return commands


def generate(layout, seed, index):
    """Returns the commands of a program, without the line "layout"."""
    return Generator(layout, seed, index).program()


# ---- queries ------------------------------------------------------------------------

# Commands that only the oracle has: the table that calls read, which can differ from the
# computed one, and the masks.
ORACLE_ONLY = ("actual", "masks")


class Watch:
    """Determines the operators that a command might have changed."""

    def __init__(self):
        self.ops = {PROBE: None}        # in order of appearance
        self.owners = {}                # label -> operators; None among them: fallback

    def touched(self, command):
        words = [w for w in command.split() if w != "-f"]
        if words[0] in ("op", "undef"):
            self.ops[words[1]] = None
            return [words[1]]
        if words[0] == "impl":
            self.ops[words[1]] = None
            self.owners.setdefault(words[3], {})[words[1]] = None
            return [words[1]]
        if words[0] == "fallback":
            self.owners.setdefault(words[2], {})[None] = None
            return list(self.ops)
        if words[0] == "drop":
            owners = self.owners.pop(words[1], {})
            return list(self.ops) if None in owners else list(owners)
        return []


def expand(commands):
    """Returns all commands of a run: those of the program, each followed by queries."""
    watch = Watch()
    out = [f"op {PROBE}", f"table -c {PROBE}"]
    for command in commands:
        out.append(command)
        for op in watch.touched(command):
            out.append(f"table -c {op}")
            if op != PROBE:
                out += [f"actual {op}", f"masks {op}"]
        if command.split()[0] in ("local", "include", "exclude", "end"):
            out.append("tls")
    for op in watch.ops:
        if op != PROBE:
            out += [f"table {op}", f"dump {op}"]
    return out


def is_for_both(command):
    return command.split(" ", 1)[0] not in ORACLE_ONLY


def header():
    return f"layout {NAME}"
