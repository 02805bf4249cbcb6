# SPDX-License-Identifier: GPL-2.0-only
"""Runs the two programs that are compared: dkctl, and the oracle, which is linked with PyTorch."""
import subprocess

import program


class SideError(Exception):
    """Raised if a program does not answer all commands."""


def parse(out):
    """Returns the (command, answer) pairs of a transcript. Answers have no last newline."""
    pairs = []
    for chunk in ("\n" + out.rstrip("\n")).split("\n> ")[1:]:
        command, _, answer = chunk.partition("\n")
        pairs.append((command, answer))
    return pairs


class Side:
    """A program that reads commands and prints a transcript."""

    def __init__(self, name, argv):
        self.name = name
        self.argv = argv

    def ask(self, commands):
        """Runs the commands, and returns the answers."""
        done = subprocess.run(self.argv, input="".join(c + "\n" for c in commands),
                              capture_output=True, text=True, check=False)
        pairs = parse(done.stdout)
        if done.returncode or [c for c, _ in pairs] != list(commands):
            command = commands[min(len(pairs), len(commands)) - 1]
            raise SideError(f"{self.name} ended with status {done.returncode} at or after "
                            f"> {command}\n{done.stderr.strip()[-2000:]}")
        return [answer for _, answer in pairs]

    def ask_each(self, programs):
        """Runs several programs in one process. Returns the answers to each."""
        answers = self.ask([c for p in programs for c in p])
        out, at = [], 0
        for p in programs:
            out.append(answers[at:at + len(p)])
            at += len(p)
        return out


class Pair:
    """dkctl and the oracle, with the same layout and with PyTorch's own fallbacks."""

    def __init__(self, dkctl, oracle, python=None, library=None):
        self.ours = Side("dkctl", [dkctl, "replay", "--transcript", "-"])
        self.theirs = Side("the oracle", [oracle])
        # PyTorch as Python imports it, with the operators that Python adds
        code = f"import torch, ctypes; ctypes.PyDLL({library!r}).oracle()"
        self.imported = Side("python3 with torch", [python, "-c", code]) if python else None
        self.falsify = None
        self.stock = []
        self.local = (0, 0)

    def begin(self):
        """Reads PyTorch's own fallbacks, with which every program begins, and PyTorch's
        local state."""
        stock, _, tls = self.theirs.ask(["stock", program.header(), "tls"])
        self.stock = stock.splitlines()
        self.local = tuple(int(word.partition("=")[2], 16) for word in tls.split())

    def head(self):
        return [program.header()] + self.stock

    def ask_layout(self, commands):
        return self.ours.ask([program.header()] + commands)[1:]

    def run(self, expanded):
        """Returns the answers of dkctl and the oracle to each program."""
        head = self.head()
        ours = [[c for c in e if program.is_for_both(c)] for e in expanded]
        own = self.ours.ask_each([head + o for o in ours])
        # the oracle already has PyTorch's own fallbacks; dkctl must register them
        got = self.theirs.ask_each([["stock", head[0]] + e for e in expanded])
        answers = [(o[len(head):], t[2:]) for o, t in zip(own, got)]
        if self.falsify:
            answers = [(o, [self.falsify(c, a) for c, a in zip(e, t)])
                       for e, (o, t) in zip(expanded, answers)]
        return answers
