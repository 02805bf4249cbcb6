#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares dkctl with an installed PyTorch 1.13.1. Prints TAP.

Random programs run in dkctl and in PyTorch. Every table entry, printed set, local state
and route is compared. Some rules exist only in 1.13.1 (rules.py). Where such a rule
applies, the answer of 1.13.1 is predicted from dkctl's table, and a route that differs is
counted for this rule. A failing program is reduced, and written as a transcript for dkctl
replay --check.
"""
import argparse
import collections
import multiprocessing
import os
import random
import sys
import time

import compare
import layout
import program
import shrink
import sides
import statements
from tap import Tap

BATCH = 250         # programs that one process runs


# ---- programs ----------------------------------------------------------------------

def differences(pair, lay, programs):
    """Returns the first difference of each program, and the counts."""
    counts = collections.Counter()
    found = []
    expanded = [program.expand(p) for p in programs]
    for e, (ours, theirs) in zip(expanded, pair.run(expanded)):
        comparer = compare.Comparer(lay, pair.local)
        found.append(comparer.compare(e, ours, theirs))
        counts.update(comparer.counts)
        counts["commands"] += len(e)
    return found, counts


def fails(pair, lay, candidates):
    """Returns, for each program, whether it still differs or crashes. Used for the reduction."""
    try:
        return [d is not None for d in differences(pair, lay, candidates)[0]]
    except sides.SideError:
        if len(candidates) == 1:
            return [True]
        half = len(candidates) // 2
        return fails(pair, lay, candidates[:half]) + fails(pair, lay, candidates[half:])


def transcript(pair, lay, commands):
    """Returns the difference of a failing program, and the transcript for dkctl replay --check.

    The last answer of the transcript is that of 1.13.1, the others are dkctl's.
    """
    expanded = program.expand(commands)
    ours, theirs = pair.run([expanded])[0]
    found = compare.Comparer(lay, pair.local).compare(expanded, ours, theirs)
    if not found:
        return None, ""
    answers = iter(ours)
    own = [next(answers) if program.is_for_both(c) else None for c in expanded]
    lines = [f"> {c}" for c in pair.head()]
    rest = collections.deque(commands)
    for at, command in enumerate(expanded[:found.at + 1]):
        is_own = bool(rest) and command == rest[0]
        if is_own:
            rest.popleft()
        if at == found.at and own[at] is not None:
            lines += [f"> {command}"] + [t for t in [theirs[at]] if t]
        elif is_own:
            lines += [f"> {command}"] + [a for a in [own[at]] if a]
    return found, "".join(f"{line}\n" for line in lines)


def shrunk(pair, lay, commands):
    return shrink.shrink(commands, lambda candidates: fails(pair, lay, candidates))


class Worker:
    """Holds the globals of each process of the pool."""
    pair = lay = seed = None


def run_batch(indices):
    """Runs a batch of programs. Returns their number, the counts, and (index, why) of those that
    fail."""
    w = Worker
    programs = [program.generate(w.lay, w.seed, i) for i in indices]
    try:
        found, counts = differences(w.pair, w.lay, programs)
    except sides.SideError as error:
        if len(programs) == 1:
            return 1, collections.Counter(), [(indices[0], str(error))]
        half = len(indices) // 2
        parts = [run_batch(indices[:half]), run_batch(indices[half:])]
        return len(indices), parts[0][1] + parts[1][1], parts[0][2] + parts[1][2]
    return len(indices), counts, [(i, str(d)) for i, d in zip(indices, found) if d]


def check_programs(tap, pair, lay, args):
    Worker.pair, Worker.lay, Worker.seed = pair, lay, args.seed
    first, last = (args.only, args.only + 1) if args.only is not None else (0, args.programs)
    batches = [list(range(i, min(i + BATCH, last))) for i in range(first, last, BATCH)]
    counts, failed, done, begin = collections.Counter(), [], 0, time.monotonic()
    with multiprocessing.get_context("fork").Pool(args.jobs) as pool:
        for n, more, bad in pool.imap_unordered(run_batch, batches):
            done += n
            counts.update(more)
            failed += bad
            tap.progress(f"{done} of {last - first} programs, {len(failed)} differ, "
                         f"{time.monotonic() - begin:.0f} s")
    failed.sort()
    tap.result(not failed, f"{done} random programs, seed {args.seed}",
               f"{len(failed)} differ: {', '.join(str(i) for i, _ in failed[:20])}")
    for key in sorted(counts):
        tap.tell(f"{counts[key]:>12} {key}")
    tap.tell(f"{time.monotonic() - begin:>12.0f} seconds, {args.jobs} processes")
    for index, why in failed[:args.show]:
        show_failure(tap, pair, lay, args, index, why)
    return counts


def show_failure(tap, pair, lay, args, index, why):
    tap.tell(f"program {index} (make check-torch SEED={args.seed} ONLY={index})\n{why}")
    tap.progress(f"program {index} is made smaller")
    small = shrunk(pair, lay, program.generate(lay, args.seed, index))
    try:
        found, text = transcript(pair, lay, small)
    except sides.SideError as error:
        tap.tell(f"{error}\nthe program:\n" + "\n".join(program.expand(small)))
        return
    file = os.path.join(args.out, f"failed-{args.seed}-{index}.dkt")
    with open(file, "w", encoding="ascii") as out:
        out.write(text)
    tap.tell("made smaller:\n" + "".join(f"> {c}\n" for c in small) + str(found))
    tap.tell(f"with the fallbacks of the install: {pair.ours.argv[0]} replay --check {file}")


# ---- sets ---------------------------------------------------------------------------

CONSTANTS = """autograd_dispatch_keyset autograd_dispatch_keyset_with_ADInplaceOrView
    autocast_dispatch_keyset default_included_set default_excluded_set python_ks sparse_ks
    sparse_csr_ks mkldnn_ks autogradother_backends after_autograd_keyset
    after_ADInplaceOrView_keyset after_func_keyset backend_bitset_mask functorch_transforms_ks
    backend_functionality_keys"""


def random_set(rng, lay):
    bits = rng.getrandbits(64)
    for _ in range(rng.randrange(4)):
        bits &= rng.getrandbits(64)
    return bits & lay.full


def keyset_commands(lay, rng, n):
    """Returns commands about all keys, and for random sets commands for printing, iteration, top
    key, index and algebra."""
    keys = lay.slots[1:] + lay.blocks
    out = ["layout-info", "keyset 0x0", f"keyset {lay.full:#x}"]
    out += [f"constant {name}" for name in CONSTANTS.split()]
    for key in ["Undefined"] + lay.keys:
        out += [f"key {key}", f"backends-of-autograd {key}", f"full-after {key}",
                f"parse -s {key}"]
    out += [f"alias {k}" for k in lay.keys] + [f"is-backend-key {k}" for k in keys]
    out += [f"fresh {k}" for k in lay.slots[1:]] + [f"fresh -i {k}" for k in lay.slots[1:]]
    for bit in lay.bits:
        out += [f"autograd-of-backend {bit}", f"autocast-of-backend {bit}"]
    for _ in range(n):
        a, b = random_set(rng, lay), random_set(rng, lay)
        out.append(f"keyset {a:#x}")
        out.append(rng.choice((
            f"or {a:#x} {b:#x}", f"and {a:#x} {b:#x}", f"sub {a:#x} {b:#x}",
            f"xor {a:#x} {b:#x}", f"has-all {a:#x} {b & a:#x}", f"has-all {a:#x} {b:#x}",
            f"remove {a:#x} {rng.choice(keys)}", f"remove-backend {a:#x} {rng.choice(lay.bits)}",
            f"has {a:#x} {rng.choice(keys)}", f"legacy-extract {a:#x}", f"backend-type {a:#x}",
            f"has-any {a:#x} {b & ~lay.backend_mask:#x}")))
    return out


def first_wrong(commands, ours, theirs):
    for command, own, real in zip(commands, ours, theirs):
        # an error is a right answer only for a name that is parsed
        if command.startswith("parse ") and own.startswith("error:") and real.startswith("error:"):
            continue
        if own.startswith("error:"):
            return f"> {command}\n  dkctl {own}"
        if own != real:
            return f"> {command}\n  PyTorch {real}\n  dkctl   {own}"
    return None


def check_sets(tap, pair, lay, args):
    rng = random.Random(f"{args.seed}/sets")
    commands = keyset_commands(lay, rng, args.sets)
    ours = pair.ours.ask([program.header()] + commands)[1:]
    theirs = pair.theirs.ask(commands)
    wrong = first_wrong(commands, ours, theirs)
    tap.result(not wrong, f"the layout, its keys and {args.sets} random sets, "
               f"{len(commands)} answers", wrong)


# ---- PyTorch's own operators ----------------------------------------------------------

def check_installed(tap, pair, lay):
    """Compares the text of every table, and the table that PyTorch's calls read, for all
    operators with all registrations."""
    (stock, text) = pair.imported.ask(["stock", "installed"])
    body = text.splitlines()
    names = [line.split()[1] for line in body if line.startswith("op ")]
    impls = len(body) - len(names)
    queries = [q for name in names for q in (f"table {name}", f"table -c {name}")]
    head = [program.header()] + stock.splitlines() + body
    ours = pair.ours.ask(head + queries)
    theirs = pair.imported.ask(["stock"] + queries +
                               [f"{q} {name}" for name in names for q in program.ORACLE_ONLY])
    refused = [f"{c}: {a}" for c, a in zip(head, ours) if a.startswith("error:")]
    tap.result(not refused, f"{len(names)} operators and their {impls} registrations are taken",
               "\n".join(refused[:10]))
    ours, hidden = ours[len(head):], theirs[1 + len(queries):]
    wrong = first_wrong(queries, ours, theirs[1:])
    tap.result(not wrong and len(names) > 0, f"every entry of every table: {len(names)} operators, "
               f"{len(names) * lay.num_entries} entries", wrong)
    wrong = wrong_hidden(lay, names, ours[1::2], hidden)
    tap.result(not wrong, f"every entry that PyTorch's calls read, and every mask: {len(names)} "
               "operators", wrong)
    return names


def wrong_hidden(lay, names, tables, hidden):
    for i, name in enumerate(names):
        table = compare.rules.Table(lay, compare.rules.parse_runs(tables[i], lay.num_entries))
        actual = compare.rules.parse_runs(hidden[2 * i], lay.num_entries)
        for slot, word in enumerate(table.words):
            label = compare.rules.label(word)
            # functions of libtorch cannot be distinguished
            if actual[slot] not in (label, "(function)") or \
               (actual[slot] == "(function)" and label in ("missing", "fallthrough", "ambiguous")):
                return f"{name} at {lay.slots[slot]}: PyTorch {actual[slot]}, dkctl {label}"
        if hidden[2 * i + 1] != " ".join(f"{m:#x}" for m in table.masks):
            return f"masks of {name}: PyTorch {hidden[2 * i + 1]}"
    return None


# ---- a falsified answer -----------------------------------------------------------------

# Reducing a program starts PyTorch for each step, so short comparisons skip the reduction.
FOR_SHRINKING = 1000


def falsify(command, answer):
    """Changes PyTorch's answers as if it had no ambiguous entries."""
    if command.startswith("table -c"):
        return answer.replace("ambiguous/ambiguous-autogradother", "fallthrough/backend-fallback")
    return answer


def check_shrinking(tap, pair, lay, args):
    """Falsifies answers. The program that detects this must be reduced to a small one, and dkctl
    replay --check must find its transcript wrong."""
    pair.falsify = falsify
    try:
        for index in range(1000):
            commands = program.generate(lay, "falsified", index)
            if len(commands) > 20 and fails(pair, lay, [commands])[0]:
                break
        small = shrunk(pair, lay, commands)
        found, text = transcript(pair, lay, small)
    finally:
        pair.falsify = None
    file = os.path.join(args.out, "falsified.dkt")
    with open(file, "w", encoding="ascii") as out:
        out.write(text)
    check = sides.subprocess.run([pair.ours.argv[0], "replay", "--check", file],
                                 capture_output=True, text=True, check=False)
    # the two remaining commands register CompositeImplicitAutograd and a backend of AutogradOther
    passed = found is not None and len(small) == 2 and check.returncode == 1 and \
        "1 wrong answer" in check.stdout
    tap.result(passed, f"a falsified answer is found, and its program of {len(commands)} "
               f"commands becomes one of {len(small)}", f"{found}\n{text}\n{check.stdout}")


# ---- the program ---------------------------------------------------------------------------

def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dkctl", required=True)
    parser.add_argument("--oracle", required=True, help="the program that is linked with libtorch")
    parser.add_argument("--library", required=True, help="the same program as a library")
    parser.add_argument("--python", default="/usr/bin/python3", help="a Python with torch")
    parser.add_argument("--out", required=True, help="folder for transcripts")
    parser.add_argument("--programs", type=int, default=10000)
    parser.add_argument("--sets", type=int, default=100000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", type=int, help="run only the program with this number")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--show", type=int, default=3, help="number of failing programs to show")
    args = parser.parse_args()
    tap = Tap()
    pair = sides.Pair(args.dkctl, args.oracle, args.python, args.library)
    pair.begin()
    lay = layout.Layout(pair.ask_layout)
    if args.only is None:
        check_sets(tap, pair, lay, args)
        check_installed(tap, pair, lay)
        if args.programs >= FOR_SHRINKING:
            check_shrinking(tap, pair, lay, args)
        statements.check(tap, pair)
    check_programs(tap, pair, lay, args)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
