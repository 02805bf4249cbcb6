#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the comparison with PyTorch that need no PyTorch: test_units.py DKCTL

Tests shrink.py, with predicates that require some of the commands; the generator;
and the rules of 1.13.1, with examples that were verified with PyTorch 1.13.1.
"""
import itertools
import random
import sys

import compare
import layout
import program
import rules
import shrink
import sides
from tap import Tap


class Predicate:
    """Reports a program as failing if it has all of these commands, in this order."""

    def __init__(self, *wanted):
        self.wanted = wanted
        self.asked = self.batches = 0

    def __call__(self, candidates):
        self.batches += 1
        self.asked += len(candidates)
        return [self.one(c) for c in candidates]

    def one(self, commands):
        rest = iter(commands)
        return all(w in rest for w in self.wanted)


def shrinks_to_what_matters():
    """For any set of required commands, only these are left."""
    rng = random.Random(1)
    for n, size in itertools.product(range(1, 6), (5, 17, 64)):
        commands = [f"drop k{i}" for i in range(size)]
        wanted = sorted(rng.sample(range(size), n))
        predicate = Predicate(*(commands[i] for i in wanted))
        if shrink.shrink(commands, predicate) != [commands[i] for i in wanted]:
            return f"{n} of {size}"
    return None


def shrinks_what_is_not_monotone():
    """A program can pass with fewer commands and fail again with even fewer. No single command
    of the result can be removed."""
    def fails(candidates):
        return ["a" in c and (c.count("x") % 2 == 1) for c in candidates]

    small = shrink.shrink(["x", "a", "x", "b", "x", "b"], fails)
    if not fails([small])[0]:
        return f"{small} does not fail"
    singles = [small[:i] + small[i + 1:] for i in range(len(small))]
    return f"{small} can be smaller" if any(fails(singles)) else None


def shrinks_sets():
    """Names, bits and arguments are also removed."""
    def fails(candidates):
        return [any("CUDA" in c and c.startswith("call") for c in p) and
                any(c.startswith("include") and int(c.split()[1], 16) & 0x10000 for c in p)
                for p in candidates]

    small = shrink.shrink(["op p::a", "include 0x3fffffffffffff",
                           "call p::a CPU|CUDA|Sparse 0x1 FPGA"], fails)
    return None if small == ["include 0x10000", "call p::a CUDA"] else str(small)


def shrinks_in_few_batches():
    """The reduction must need few batches, because each batch starts PyTorch."""
    commands = [f"drop k{i}" for i in range(64)]
    predicate = Predicate(commands[3], commands[40])
    shrink.shrink(commands, predicate)
    return None if predicate.batches < 60 else f"{predicate.batches} batches"


def keeps_what_cannot_shrink():
    commands = ["op p::a", "impl p::a CPU k"]
    return None if shrink.shrink(commands, Predicate(*commands)) == commands else "changed"


def same_seed_same_program(lay):
    first = [program.generate(lay, "7", i) for i in range(50)]
    again = [program.generate(lay, "7", i) for i in range(50)]
    other = [program.generate(lay, "8", i) for i in range(50)]
    if first != again:
        return "the same seed gives another program"
    return "another seed gives the same" if any(a == b for a, b in zip(first, other)) else None


def programs_are_understood(lay, ours):
    """dkctl refuses commands of programs only for their content, never for their syntax."""
    expanded = [[program.header()] + [c for c in program.expand(program.generate(lay, "u", i))
                                      if program.is_for_both(c)] for i in range(200)]
    verbs = set()
    known = ("no such operator", "defined", "already", "label", "no include or exclude")
    for commands, answers in zip(expanded, ours.ask_each(expanded)):
        for c, a in zip(commands, answers):
            verbs.add(c.split()[0])
            if a.startswith("error:") and not any(k in a for k in known):
                return f"> {c}\n{a}"
    missing = set("op undef impl fallback drop local include exclude end tls route call table dump"
                  .split()) - verbs
    return f"never generated: {missing}" if missing else None


def walk(lay, ours, commands):
    """Returns a Comparer after these commands, for which 1.13.1 answers like dkctl."""
    expanded = program.expand(commands)
    own = [c for c in expanded if program.is_for_both(c)]
    answers = iter(ours.ask([program.header()] + own)[1:])
    comparer = compare.Comparer(lay, (0, 0))
    for command in expanded:
        if program.is_for_both(command):
            answer = next(answers)
            if command.split()[0] != "tls":
                found = comparer.one(command, answer, answer)
                assert not found, found
    return comparer


def route(lay, comparer, keys, causes=rules.CAUSES):
    op = comparer.ops["p::a"]
    raw = lay.parse_set(keys)
    return rules.predict(raw, op.fresh, op.stale, comparer.local, causes)


def stale_entries(lay, ours):
    """If a function at SparseCPU is registered after one at CompositeImplicitAutograd, 1.13.1 does
    not refresh AutogradOther."""
    commands = ["op p::a", "impl p::a CompositeImplicitAutograd i", "impl p::a SparseCPU s"]
    late = walk(lay, ours, commands)
    early = walk(lay, ours, [commands[i] for i in (0, 2, 1)])
    got = [route(lay, c, "AutogradOther").split()[-1] for c in (late, early)]
    own = [route(lay, c, "AutogradOther", ()).split()[-1] for c in (late, early)]
    if own != ["ambiguous"] * 2:
        return f"ours: {own}"
    return None if got == ["i", "ambiguous"] else f"1.13.1: {got}"


def refreshed_by_what(lay, ours):
    """Registering at CompositeExplicitAutograd does not refresh the autograd entries of 1.13.1.
    Registering the catch-all refreshes all entries."""
    commands = ["op p::a", "impl p::a CompositeImplicitAutograd i", "impl p::a Autograd a",
                "impl p::a CompositeExplicitAutograd e"]
    got = route(lay, walk(lay, ours, commands), "AutogradCPU").split()[-1]
    then = route(lay, walk(lay, ours, commands + ["impl p::a - c"]), "AutogradCPU").split()[-1]
    return None if (got, then) == ("i", "a") else f"{got}, {then}"


def guards(lay, ours):
    """The end of a guard of 1.13.1 keeps backends and removes functionalities. A nested guard for
    keys that are already in the set changes nothing."""
    comparer = walk(lay, ours, ["include Meta", "include Meta", "end", "end", "exclude CPU", "end"])
    meta, cpu = (1 << lay.bits.index(b) for b in ("MetaBit", "CPUBit"))
    local = comparer.local
    if local.ours != [0, 0]:
        return f"ours {local.ours}"
    return None if local.theirs == [meta, cpu] else f"1.13.1 {local.theirs}"


CUDA_INCLUDED = ["op p::a", "impl -f p::a CUDA f", "impl p::a CPU c", "include CUDA"]


def mask_by_arguments(lay, ours):
    """In a call with a CPU argument, a CUDA fallthrough is removed only if the mask is chosen with
    the local state. 1.13.1 chooses the mask without the local state."""
    comparer = walk(lay, ours, CUDA_INCLUDED)
    got = [route(lay, comparer, "CPU", causes) for causes in (("mask",), ())]
    return None if got == ["0x4003 CUDA fallthrough", "0x3 Undefined missing"] else str(got)


def explains(lay, ours):
    """explain() returns the fewest causes, or None for a difference without a cause."""
    comparer = walk(lay, ours, CUDA_INCLUDED)
    op = comparer.ops["p::a"]
    state = lay.parse_set("CPU"), op.fresh, op.stale, comparer.local
    got = [rules.explain(*state, text) for text in (
        "0x4003 CUDA fallthrough", "0x3 Undefined missing", "0x4001 CPU c")]
    return None if got == [("mask",), (), None] else str(got)


def differences_are_found(lay, ours):
    """A wrong answer of PyTorch to any command is one difference."""
    commands = program.expand(["op p::a", "impl p::a CPU c", "route p::a CPU", "include CUDA"])
    asked = [program.header(), "tls"] + [c for c in commands if program.is_for_both(c)]
    _, tls, *own_only = ours.ask(asked)
    answers = iter(own_only)
    own = [next(answers) if program.is_for_both(c) else None for c in commands]
    told = []
    for c, a in zip(commands, own):
        verb = c.split()[0]
        if verb == "masks":
            a = " ".join([f"{lay.full & ~lay.backend_mask:#x}"] * lay.num_backends)
        elif verb == "actual":
            a = f"0=missing 1=c 2..{lay.num_entries - 1}=missing"
        told.append(a)
    local = tuple(int(w.partition("=")[2], 16) for w in tls.split())

    def first(theirs):
        return compare.Comparer(lay, local).compare(commands, own_only, theirs)

    # as long as the operator has no function, every entry is missing
    at = commands.index("actual p::a")
    told[at] = f"0..{lay.num_entries - 1}=missing"
    found = first(told)
    if found:
        return f"where nothing is wrong: {found}"
    for at, answer in enumerate(told):
        if not answer:
            continue
        wrong = told[:at] + [answer.translate(str.maketrans("0123456789", "1234567890"))] + \
            told[at + 1:]
        if commands[at].startswith("actual"):
            wrong[at] = answer.replace("missing", "fallthrough")
        elif not any(c.isdigit() for c in answer):
            wrong[at] = answer + "x"
        found = first(wrong)
        if not found or found.at != at:
            return f"> {commands[at]}\n{answer}\nwas falsified, and found: {found}"
    return None


ALONE = (shrinks_to_what_matters, shrinks_what_is_not_monotone, shrinks_sets,
         shrinks_in_few_batches, keeps_what_cannot_shrink)
WITH_LAYOUT = (same_seed_same_program,)
WITH_DKCTL = (programs_are_understood, stale_entries, refreshed_by_what, guards, mask_by_arguments,
              explains, differences_are_found)


def main():
    ours = sides.Side("dkctl", [sys.argv[1], "replay", "--transcript", "-"])
    lay = layout.Layout(lambda commands: ours.ask([program.header()] + commands)[1:])
    tap = Tap()
    for tests, args in ((ALONE, ()), (WITH_LAYOUT, (lay,)), (WITH_DKCTL, (lay, ours))):
        for test in tests:
            why = test(*args)
            tap.result(why is None, test.__name__.replace("_", " "), why)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
